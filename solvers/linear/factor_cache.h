/* factor_cache.h - factorisations of sparse matrices, and a store in which the
 * next right-hand side finds them again.
 *
 * Needs: lang/, SuiteSparse: KLU, which is linked, and UMFPACK, CHOLMOD and
 * SPQR, which are opened when one is first wanted. Guarantees: used only by
 * solvers/; may be called from any thread. The store belongs to the process,
 * holds a few factorisations, and forgets the oldest.
 */
#ifndef ATLED_SOLVERS_LINEAR_FACTOR_CACHE_H
#define ATLED_SOLVERS_LINEAR_FACTOR_CACHE_H

#include "lang/ir/host.h"

/* By which method: what suits the matrix, or one in particular. The numbers are
 * those of stdlib/linalg/sparse.dsl. */
typedef enum FactorMethod {
	FACTOR_AUTO,
	FACTOR_KLU,     /* LU in blocks, without BLAS: sparse factors */
	FACTOR_UMFPACK, /* LU by fronts: factors that fill in */
	FACTOR_CHOLMOD, /* Cholesky: symmetric and positive definite */
	FACTOR_QR,      /* orthogonal, of a matrix with at least as many rows as columns */
} FactorMethod;

/* An m by n matrix in compressed columns, rows ascending within each; checked
 * by the caller. */
typedef struct SparseMatrix {
	int64_t m, n;
	int64_t *start, *row; /* not changed */
	double *values;
} SparseMatrix;

/* Square: x becomes A^-1 x, or A^-T x; n by nright, column after column.
 * FACTOR_QR: of b, m by nright, the least-squares solution x, or with
 * `transposed` of x the solution b of least norm of A^T b = x. */
Status factors_solve(Ctx *c, const SparseMatrix *a, FactorMethod method, bool transposed,
                     int64_t nright, double *x, double *b);

/* Factors of one's own, apart from the store, of square matrices with one
 * pattern: LU by the method asked for. NULL: memory. */
typedef struct Factors Factors;
bool factors_by_fronts(void); /* whether UMFPACK is there */
Factors *factors_begin(const SparseMatrix *a, FactorMethod method);
/* of the matrix; to be written before factors_renew */
double *factors_values(Factors *f);
Status factors_renew(Ctx *c, Factors *f, bool *singular); /* nothing is said of a singular one */
Status factors_apply(Factors *f, bool transposed, double *x);
void factors_end(Factors *f);

/* Factorisations made since the process began, and how often one was found
 * again. */
void factors_count(int64_t *made, int64_t *found);

#endif
