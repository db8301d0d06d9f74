/* lapack.h - the LAPACK factorisations Atled uses, one function each for all four float dtypes.
 *
 * Needs: context.h, type.h. Guarantees: matrices are column-major without gaps; the library is opened at the first
 * call (blas.h). Workspace comes from the context's heap.
 *
 * Each returns ST_OK, ST_NOMEM, or ST_ERROR with *info as LAPACK sets it (positive: the pivot or what did not
 * converge; negative: it refuses an argument), or LAPACK_MISSING: the library cannot be had, and lapack_why says so.
 * No diagnostic is recorded here. Numbers that are not finite must be kept from the functions for eigenvalues and
 * singular values: given one, LAPACK writes to the terminal or does not come back.
 */
#ifndef ATLED_BACKEND_LAPACK_H
#define ATLED_BACKEND_LAPACK_H

#include "lang/type.h"
#include <limits.h>

enum { LAPACK_MISSING = INT_MIN };
const char *lapack_why(void);

/* Upper triangle in place: M = Uᴴ U; only the upper triangle is read. */
Status lapack_cholesky_upper(Ctx *c, Dtype d, int n, void *m, int *info);
/* In place, pivots 1-based. */
Status lapack_lu(Ctx *c, Dtype d, int n, void *m, int *pivots, int *info);
/* m (rows x columns, rows >= columns): Q in place where it is wanted, else m is destroyed; r (columns x columns): R, zero below the diagonal. */
Status lapack_qr(Ctx *c, Dtype d, int rows, int columns, void *m, void *r, bool form_q, int *info);
/* Eigenvectors in place of m (upper triangle read), ascending real eigenvalues in w. */
Status lapack_eigh_upper(Ctx *c, Dtype d, int n, void *m, void *w, int *info);
/* m is destroyed; eigenvalues w and eigenvectors v (columns) of the complex dtype. */
Status lapack_eig(Ctx *c, Dtype d, int n, void *m, void *w, void *v, int *info);
/* m (rows x columns) is destroyed; k = min: u (rows x k), s (k, real), vh (k x columns). */
Status lapack_svd(Ctx *c, Dtype d, int rows, int columns, void *m, void *u, void *s, void *vh, int *info);

#endif
