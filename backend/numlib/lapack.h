/* lapack.h - the LAPACK factorisations that Atled uses.
 *
 * Each has one function for all four float dtypes.
 *
 * Contract:
 * - Needs context.h and type.h.
 * - Matrices are column-major and contiguous.
 * - The library is opened at the first call (blas.h).
 * - Workspace comes from the context's heap.
 * - Long calls of the last three can be interrupted; long computations with the
 *   others are made of short calls (blocked_factor.h).
 * - Each returns ST_OK, ST_NOMEM, or ST_ERROR with *info as LAPACK sets it:
 *   positive, the pivot or what did not converge; negative, a refused argument.
 *   LAPACK_MISSING: the library cannot be loaded, for the reason in
 *   lapack_why().
 * - No diagnostic is recorded.
 * - The caller keeps non-finite values from the functions for eigenvalues and
 *   singular values: LAPACK would write to the terminal or not return.
 */
#ifndef ATLED_BACKEND_NUMLIB_LAPACK_H
#define ATLED_BACKEND_NUMLIB_LAPACK_H

#include "lang/base/type.h"
#include <limits.h>

enum { LAPACK_MISSING = INT_MIN };
const char *lapack_why(void);

/* M = Uᴴ U: the upper triangle becomes U; only the upper triangle is read. */
Status lapack_cholesky_upper(Ctx *c, Dtype d, int n, void *m, int *info);
/* LU in place, rows >= columns; pivots: 1-based, one for each column. */
Status lapack_lu(Ctx *c, Dtype d, int rows, int columns, void *m, int *pivots, int *info);

/* The routines for the QR of a panel, looked up once. */
typedef struct LapackQr {
	Dtype d;
	void *geqrt, *larfb, *orgqr;
} LapackQr;
Status lapack_qr_open(Dtype d, LapackQr *q, int *info);
/* A panel m (rows x b, columns `leading` apart) becomes its reflectors V below
 * the diagonal and R above. t (b x b): the upper triangle T of I - V T Vᴴ.
 * work: b x b. */
Status lapack_qr_panel(const LapackQr *q, int rows, int b, void *m, int leading, void *t,
                       void *work, int *info);
/* o (rows x n, columns `leading` apart) = (I - V T Vᴴ) o, or with the adjoint
 * of the factor. work: n x b. */
void lapack_reflect(const LapackQr *q, bool adjoint, int rows, int n, int b, const void *v,
                    const void *t, void *o, int leading, void *work);
/* V of a panel becomes the first b columns of I - V T Vᴴ. work: b columns of T,
 * t's size, plus b more elements. */
Status lapack_form_panel(const LapackQr *q, int rows, int b, void *m, int leading, const void *t,
                         void *work, int *info);

/* m (upper triangle read) becomes the eigenvectors; w: the real eigenvalues,
 * ascending. */
Status lapack_eigh_upper(Ctx *c, Dtype d, int n, void *m, void *w, int *info);
/* m is destroyed; w: eigenvalues, v: eigenvectors (columns), both of the
 * complex dtype. */
Status lapack_eig(Ctx *c, Dtype d, int n, void *m, void *w, void *v, int *info);
/* m (rows x columns) is destroyed. With k = min(rows, columns): u (rows x k), s
 * (k, real), vh (k x columns). */
Status lapack_svd(Ctx *c, Dtype d, int rows, int columns, void *m, void *u, void *s, void *vh,
                  int *info);

#endif
