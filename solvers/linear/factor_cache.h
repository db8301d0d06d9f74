/* factor_cache.h - factorisations of sparse matrices, and a cache of them.
 *
 * Needs: lang/; SuiteSparse. KLU is linked; UMFPACK, CHOLMOD and SPQR are
 * loaded at the first use.
 *
 * Contract: only solvers/ uses it. Any thread may call it. The cache belongs to
 * the process, holds a few factorisations and evicts the oldest.
 */
#ifndef ATLED_SOLVERS_LINEAR_FACTOR_CACHE_H
#define ATLED_SOLVERS_LINEAR_FACTOR_CACHE_H

#include "lang/ir/host.h"

/* The factorisation method. The values are those of
 * stdlib/linalg/sparse.dsl. */
typedef enum FactorMethod {
	FACTOR_AUTO,
	FACTOR_KLU,     /* LU by blocks without BLAS, for sparse factors */
	FACTOR_UMFPACK, /* multifrontal LU, for factors with much fill-in */
	FACTOR_CHOLMOD, /* Cholesky, for symmetric positive definite matrices */
	FACTOR_QR,      /* QR, for matrices with at least as many rows as columns */
} FactorMethod;

/* An m by n matrix in compressed column format with ascending rows. The caller
 * has checked it. */
typedef struct SparseMatrix {
	int64_t m, n;
	int64_t *start, *row; /* never modified */
	double *values;
} SparseMatrix;

/* Square systems: overwrites x with A^-1 x, or A^-T x if `transposed`; x is n
 * by nright in column-major order. FACTOR_QR: x is the least-squares solution
 * for b, m by nright. If `transposed`, b is the least-norm solution of A^T b =
 * x. */
Status factors_solve(Ctx *c, const SparseMatrix *a, FactorMethod method, bool transposed,
                     int64_t nright, double *x, double *b);

/* Uncached LU factors of square matrices with one pattern. Returns NULL when
 * memory fails. */
typedef struct Factors Factors;
bool can_factor_multifrontal(void); /* whether UMFPACK can be loaded */
Factors *factors_begin(const SparseMatrix *a, FactorMethod method);
/* values of the matrix; write them before factors_renew */
double *factors_values(Factors *f);
/* Sets *singular without a diagnostic; with FACTOR_CHOLMOD: whether the matrix
 * is not positive definite. */
Status factors_renew(Ctx *c, Factors *f, bool *singular);
Status factors_apply(Factors *f, bool transposed, double *x);
void factors_end(Factors *f);

/* Number of factorisations made by this process, and of those found in the
 * cache. */
void factors_count(int64_t *made, int64_t *found);

#endif
