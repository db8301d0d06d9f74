/* blas.h - the few BLAS calls Atled makes, whichever library gives them.
 *
 * Needs: type.h. Guarantees: the library is opened at the first call that needs
 * it, never before; every call runs on the calling thread alone.
 */
#ifndef ATLED_BACKEND_NUMLIB_BLAS_H
#define ATLED_BACKEND_NUMLIB_BLAS_H

#include "lang/base/context.h"
#include "lang/ir/type.h"

/* Opens the library; false and *why (static) when it cannot be had. Cheap when
 * it is open. */
bool blas_open(const char **why);
/* A symbol of the library (LAPACK stands in the same one), or NULL. */
void *blas_symbol(const char *name);

/* A matrix by rows and columns; one of the strides is 1 (or the extent along it
 * is). */
typedef struct BlasMatrix {
	const void *data;
	int64_t row_stride, column_stride;
} BlasMatrix;

/* True when BLAS takes the matrix as it stands. */
bool blas_takes(const BlasMatrix *a, int64_t rows, int64_t columns);
/* o (m x n, rows `leading` >= n apart) = x (m x k) y (k x n); `accumulate`:
 * added to what stands there. Float and complex dtypes; sizes fit int. A large
 * product is made in pieces that its sizes determine, of some ten milliseconds
 * each. When `c` is interrupted between these the rest is left out, and the
 * caller's next poll says so. */
void blas_gemm(const Ctx *c, Dtype d, int64_t m, int64_t n, int64_t k, BlasMatrix x, BlasMatrix y,
               void *o, int64_t leading, bool accumulate);
/* The same without gaps for y = transpose of x (no conjugation), both
 * triangles. */
void blas_syrk(const Ctx *c, Dtype d, int64_t m, int64_t k, BlasMatrix x, void *o);
/* On and below the diagonal only, of an o with gaps; added to what stands there
 * where `accumulate` holds. */
void blas_syrk_lower(const Ctx *c, Dtype d, int64_t m, int64_t k, BlasMatrix x, void *o,
                     int64_t leading, bool accumulate);
/* B (m x n, rows b_leading apart) becomes X of op(T) X = B, or of X op(T) = B
 * (right), by rows; op is the adjoint or nothing. */
void blas_trsm(Dtype d, bool right, int64_t m, int64_t n, bool lower, bool adjoint, bool unit,
               const void *t, int64_t t_leading, void *b, int64_t b_leading);
/* The vector x (elements x_stride apart) becomes the solution of op(T) y = x.
 */
void blas_trsv(Dtype d, int64_t n, bool lower, bool adjoint, bool unit, const void *t,
               int64_t t_leading, void *x, int64_t x_stride);

#endif
