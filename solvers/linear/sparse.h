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

/* "sparse_eigs": k eigenvalues and eigenvectors of A, or of its inverse
 *   operands   column_start, rows, columns, values as sparse_solve, k i64
 *   options    0 functions, inverse, symmetric,
 *              which (LM SM LA SA LR SR LI SI)
 *   results    values [k], vectors [n, k], f64 when symmetric, else c128
 * Its derivatives are rules of stdlib/linalg/sparse.dsl. */
extern const HostDef sparse_eigs_host;

/* Checks that the columns of `a`, whose pattern has nnz elements, are valid for
 * SuiteSparse. Reports what is wrong. */
Status sparse_check(Ctx *c, const SparseMatrix *a, int64_t nnz);

#endif
