/* blas.h - the BLAS routines that Atled uses.
 *
 * Contract:
 * - Needs type.h.
 * - The library is opened at the first call that needs it, never before.
 * - Every call runs on the calling thread alone.
 */
#ifndef ATLED_BACKEND_NUMLIB_BLAS_H
#define ATLED_BACKEND_NUMLIB_BLAS_H

#include "lang/base/context.h"
#include "lang/base/type.h"

/* Opens the library. Returns false and sets *why (static) if it cannot be
 * loaded. Cheap when it is open. */
bool blas_open(const char **why);
/* Returns a symbol of the library (which includes LAPACK), or NULL. */
void *blas_symbol(const char *name);

/* A matrix by its strides, in elements. One stride is 1, or the extent along it
 * is. */
typedef struct BlasMatrix {
	const void *data;
	int64_t row_stride, column_stride;
} BlasMatrix;

/* Can BLAS read the matrix without a copy? */
bool blas_takes(const BlasMatrix *a, int64_t rows, int64_t columns);
/* o (m x n, rows `leading` >= n apart) = x (m x k) y (k x n); accumulate: added
 * to o. Float and complex dtypes; sizes fit int. A large product is made in
 * pieces of some ten milliseconds, which depend on its sizes alone. When `c` is
 * interrupted between pieces, the remainder is skipped; the caller's next poll
 * reports it. */
void blas_gemm(const Ctx *c, Dtype d, int64_t m, int64_t n, int64_t k, BlasMatrix x, BlasMatrix y,
               void *o, int64_t leading, bool accumulate);
/* The same for y = transpose of x (no conjugation) and a contiguous o; both
 * triangles. */
void blas_syrk(const Ctx *c, Dtype d, int64_t m, int64_t k, BlasMatrix x, void *o);
/* Only on and below the diagonal, of an o with rows `leading` apart;
 * accumulate: added to o. */
void blas_syrk_lower(const Ctx *c, Dtype d, int64_t m, int64_t k, BlasMatrix x, void *o,
                     int64_t leading, bool accumulate);
/* B (m x n, rows b_leading apart) becomes X, the solution of op(T) X = B, or of
 * X op(T) = B (right). Row-major; op is the adjoint or the identity. */
void blas_trsm(Dtype d, bool right, int64_t m, int64_t n, bool lower, bool adjoint, bool unit,
               const void *t, int64_t t_leading, void *b, int64_t b_leading);
/* The vector x (elements x_stride apart) becomes the solution of op(T) y =
 * x. */
void blas_trsv(Dtype d, int64_t n, bool lower, bool adjoint, bool unit, const void *t,
               int64_t t_leading, void *x, int64_t x_stride);

#endif
