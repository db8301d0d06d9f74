/* small_linalg.h - factorisations and triangular solves of small matrices,
 * without LAPACK.
 *
 * Needs: type.h. Guarantees: row-major matrices without gaps; float and complex
 * dtypes; no allocation. Textbook loops: what a small system in a time stepper
 * needs, where a call of LAPACK (or loading it) would cost more than the
 * arithmetic.
 */
#ifndef ATLED_BACKEND_KERNELS_SMALL_LINALG_H
#define ATLED_BACKEND_KERNELS_SMALL_LINALG_H

#include "lang/ir/type.h"

enum { SMALL_MATRIX = 24 }; /* rows up to which these are used */

/* Lower factor in place, zeros above. Returns 0, or the 1-based order of the
 * minor that is not positive. */
int64_t small_cholesky(Dtype d, int64_t n, void *a);
/* Packed L\U in place with partial pivoting; p: the row permutation. Returns 0,
 * or the 1-based zero pivot. */
int64_t small_lu(Dtype d, int64_t n, void *a, int64_t *p);
/* op(T) X = B in place. */
void small_trisolve(Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                    const void *t, void *b);

/* One matrix of any size, where it lies, by these or by LAPACK (linalg.c).
 * failed: the 1-based pivot that fails, which is no error yet; 0: none. An
 * error has left a diagnostic without a place. */
Status matrix_cholesky(Ctx *c, Dtype d, int64_t n, void *a, int64_t *failed);
Status matrix_lu(Ctx *c, Dtype d, int64_t n, void *a, int64_t *p, int64_t *failed);
Status matrix_trisolve(Ctx *c, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                       const void *t, void *x, int64_t *failed);

#endif
