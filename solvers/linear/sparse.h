/* sparse.h - sparse linear systems as host functions of the language.
 *
 * Needs: lang/ir/host.h. Only solvers/ uses it.
 */
#ifndef ATLED_SOLVERS_LINEAR_SPARSE_H
#define ATLED_SOLVERS_LINEAR_SPARSE_H

#include "solvers/linear/factor_cache.h"

/* "sparse_solve": x with A x = b, or with its transpose
 *   operands   column_start i64[n+1], rows i64[nnz], columns i64[nnz],
 *              values f64[nnz], b f64[n] or f64[n, k]
 *   options    0 functions, transposed, method (FactorMethod)
 *   results    x, of b's shape
 * It has derivatives of any order with respect to values and b. */
/* storable.c */
bool sparse_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      uint32_t nresults, const TypeId *stated);
extern const HostDef sparse_solve_host;

/* "sparse_least": x that minimises |A x - b|, where A has full rank and at
 * least as many rows as columns; transposed: the x of least norm with A^T x = b
 *   operands   as sparse_solve; b with as many rows as A (columns, when
 *              transposed), and row_start i64[m+1]
 *   options    0 functions, transposed
 *   results    x
 * Its derivatives are rules of stdlib/linalg/sparse.dsl. */
extern const HostDef sparse_least_host;

/* "sparse_count": the number of factorisations that this process has made, and
 * of cache hits. */
extern const HostDef sparse_count_host;

/* "sparse_eigs": a basis for k eigenvalues of A x = lambda B x, which are those
 * of the operator (A - sigma B)^-1 B with `inverse`, else of B^-1 A
 *   operands   column_start i64[n+1], rows i64[nnz], values of A; those of B;
 *              sigma [1], k i64; values and sigma are f64 or c128
 *   options    0 functions, inverse, hermitian,
 *              which of the operator (LM SM LA SA LR SR LI SI)
 *   results    Q [n, m] with m >= k orthonormal columns, in the inner product
 *              of B if hermitian; the operator times Q; state i64[1]:
 *              0        good
 *              1        A - sigma B is singular
 *              2        B is singular (hermitian: not positive definite)
 *              3        hermitian: B has a negative eigenvalue
 *              4        good; the operator has no other nonzero eigenvalues, so
 *                       m may be less than k
 *              5        not converged
 * The wanted eigenvalues are those of the operator on the basis. Vectors with
 * B x = 0 may be missing in it. Derivatives are rules of
 * stdlib/linalg/eigs.dsl. */
extern const HostDef sparse_eigs_host;

/* Checks that the columns of `a`, whose pattern has nnz elements, are valid for
 * SuiteSparse. Reports what is wrong. */
Status sparse_check(Ctx *c, const SparseMatrix *a, int64_t nnz);

#endif
