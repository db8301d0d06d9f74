/* blocked_factor.h - LU, Cholesky, QR and triangular solves of matrices of any
 * size, by blocks: they stop for an interrupt within some ten milliseconds, and
 * threads share them.
 *
 * Needs: type.h, a backend in the context. Guarantees: row-major matrices
 * without gaps (QR: column-major), float and complex dtypes, worked on where
 * they lie; results do not depend on the number of threads. The status of an
 * interrupt or a limit comes back with the matrix half done. *info is LAPACK's
 * (lapack.h); no diagnostic is recorded but a poll's.
 */
#ifndef ATLED_BACKEND_NUMLIB_BLOCKED_FACTOR_H
#define ATLED_BACKEND_NUMLIB_BLOCKED_FACTOR_H

#include "lang/base/context.h"
#include "lang/ir/type.h"

/* Multiplications that take about ten milliseconds of one processor. */
#define BLOCKS_FROM (1 << 28)

/* Packed L\U with partial pivoting; row k has changed places with row pivots[k]
 * - 1, in turn. */
Status blocked_lu(Ctx *c, Dtype d, int64_t n, void *a, int *pivots, int *info);
/* The lower factor; what stands above the diagonal stays or is overwritten. */
Status blocked_cholesky(Ctx *c, Dtype d, int64_t n, void *a, int *info);
/* op(T) X = B in place; op is the adjoint or nothing. */
Status blocked_trisolve(Ctx *c, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                        const void *t, void *x);
/* m (rows x columns, rows >= columns, by columns, of any size): Q in place
 * where it is wanted, else m is destroyed; r (columns x columns): R, zero below
 * the diagonal, the same to the bit in both cases. */
Status blocked_qr(Ctx *c, Dtype d, int64_t rows, int64_t columns, void *m, void *r, bool form_q,
                  int *info);

#endif
