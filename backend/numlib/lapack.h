/* lapack.h - the LAPACK factorisations Atled uses, one function each for all
 * four float dtypes.
 *
 * Needs: context.h, type.h. Guarantees: matrices are column-major without gaps;
 * the library is opened at the first call (blas.h). Workspace comes from the
 * context's heap. A long call of the last three can be interrupted; of the
 * others a long one is made of short ones (blocked_factor.h).
 *
 * Each returns ST_OK, ST_NOMEM, or ST_ERROR with *info as LAPACK sets it
 * (positive: the pivot or what did not converge; negative: it refuses an
 * argument), or LAPACK_MISSING: the library cannot be had, and lapack_why says
 * so. No diagnostic is recorded here. Numbers that are not finite must be kept
 * from the functions for eigenvalues and singular values: given one, LAPACK
 * writes to the terminal or does not come back.
 */
#ifndef ATLED_BACKEND_NUMLIB_LAPACK_H
#define ATLED_BACKEND_NUMLIB_LAPACK_H

#include "lang/ir/type.h"
#include <limits.h>

enum { LAPACK_MISSING = INT_MIN };
const char *lapack_why(void);

/* Upper triangle in place: M = Uᴴ U; only the upper triangle is read. */
Status lapack_cholesky_upper(Ctx *c, Dtype d, int n, void *m, int *info);
/* In place, pivots (as many as columns, of which there are no more than rows)
 * 1-based. */
Status lapack_lu(Ctx *c, Dtype d, int rows, int columns, void *m, int *pivots, int *info);

/* The routines of a panel's QR, found once. */
typedef struct LapackQr {
	Dtype d;
	void *geqrt, *larfb, *orgqr;
} LapackQr;
Status lapack_qr_open(Dtype d, LapackQr *q, int *info);
/* A panel m (rows x b, columns `leading` apart) becomes its reflections V below
 * the diagonal and R above; t (b x b): the upper triangle T of I - V T Vᴴ;
 * work: b x b. */
Status lapack_qr_panel(const LapackQr *q, int rows, int b, void *m, int leading, void *t,
                       void *work, int *info);
/* o (rows x n, columns `leading` apart) = (I - V T Vᴴ) o, or with the adjoint
 * of that; work: n x b. */
void lapack_reflect(const LapackQr *q, bool adjoint, int rows, int n, int b, const void *v,
                    const void *t, void *o, int leading, void *work);
/* V of a panel becomes the first b columns of I - V T Vᴴ; work: b of them,
 * behind which there is room for b numbers more. */
Status lapack_form_panel(const LapackQr *q, int rows, int b, void *m, int leading, const void *t,
                         void *work, int *info);

/* Eigenvectors in place of m (upper triangle read), ascending real eigenvalues
 * in w. */
Status lapack_eigh_upper(Ctx *c, Dtype d, int n, void *m, void *w, int *info);
/* m is destroyed; eigenvalues w and eigenvectors v (columns) of the complex
 * dtype. */
Status lapack_eig(Ctx *c, Dtype d, int n, void *m, void *w, void *v, int *info);
/* m (rows x columns) is destroyed; k = min: u (rows x k), s (k, real), vh (k x
 * columns). */
Status lapack_svd(Ctx *c, Dtype d, int rows, int columns, void *m, void *u, void *s, void *vh,
                  int *info);

#endif
