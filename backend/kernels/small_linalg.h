/* small_linalg.h - factorisations and triangular solves of small matrices.
 *
 * Plain loops without LAPACK: for the small system of a time step, calling (or
 * loading) LAPACK costs more than the arithmetic.
 *
 * Contract:
 * - Needs type.h.
 * - Matrices are row-major and contiguous; float and complex dtypes.
 * - The small_ functions do not allocate.
 */
#ifndef ATLED_BACKEND_KERNELS_SMALL_LINALG_H
#define ATLED_BACKEND_KERNELS_SMALL_LINALG_H

#include "lang/base/type.h"

enum { SMALL_MATRIX = 24 }; /* rows up to which these are used */

/* Cholesky factor (lower) in place, zeros above. Returns 0, or the 1-based
 * order of the leading minor that is not positive. */
int64_t small_cholesky(Dtype d, int64_t n, void *a);
/* L and U packed in place, with partial pivoting; p: the row permutation.
 * Returns 0, or the 1-based index of the first zero pivot. */
int64_t small_lu(Dtype d, int64_t n, void *a, int64_t *p);
/* Solves op(T) X = B in place. */
void small_trisolve(Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                    const void *t, void *b);

/* One matrix of any size, in place, by the functions above or by LAPACK
 * (linalg.c). failed: the 1-based index of the pivot that fails, 0 if none; it
 * is not an error. An error leaves a diagnostic without a source location. */
Status matrix_cholesky(Ctx *c, Dtype d, int64_t n, void *a, int64_t *failed);
Status matrix_lu(Ctx *c, Dtype d, int64_t n, void *a, int64_t *p, int64_t *failed);
Status matrix_trisolve(Ctx *c, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                       const void *t, void *x, int64_t *failed);

#endif
