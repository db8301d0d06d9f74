/* blocked_factor.h - blocked LU, Cholesky, QR and triangular solves.
 *
 * Contract:
 * - Needs type.h and a backend in the context.
 * - Matrices of any size, row-major and contiguous (QR: column-major), of float
 *   and complex dtypes, in place.
 * - Threads share the work; results do not depend on their number.
 * - The functions stop within some ten milliseconds of an interrupt or a limit.
 *   They return its status and leave the matrix half done.
 * - *info is LAPACK's (lapack.h). The only diagnostics are a poll's.
 */
#ifndef ATLED_BACKEND_NUMLIB_BLOCKED_FACTOR_H
#define ATLED_BACKEND_NUMLIB_BLOCKED_FACTOR_H

#include "lang/base/context.h"
#include "lang/base/type.h"

/* Multiplications that take about ten milliseconds of one processor. */
#define BLOCKS_FROM (1 << 28)

/* L and U packed in place, with partial pivoting. Row k was exchanged with row
 * pivots[k] - 1, in order of k. */
Status blocked_lu(Ctx *c, Dtype d, int64_t n, void *a, int *pivots, int *info);
/* The lower factor; elements above the diagonal stay or are overwritten. */
Status blocked_cholesky(Ctx *c, Dtype d, int64_t n, void *a, int *info);
/* Solves op(T) X = B in place; op is the adjoint or the identity. */
Status blocked_trisolve(Ctx *c, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                        const void *t, void *x);
/* m (rows x columns, rows >= columns, column-major): with form_q it becomes Q,
 * else it is destroyed. r (columns x columns): R, zero below the diagonal, the
 * same to the bit in both cases. */
Status blocked_qr(Ctx *c, Dtype d, int64_t rows, int64_t columns, void *m, void *r, bool form_q,
                  int *info);

#endif
