/* sparse.h - linear systems with sparse matrices, as a host function of the language.
 *
 * Needs: lang/host.h. Guarantees: used only by solvers/.
 */
#ifndef ATLED_SOLVERS_SPARSE_H
#define ATLED_SOLVERS_SPARSE_H

#include "lang/host.h"

/* "sparse_solve": x with A x = b, or with its transpose
 *   operands   column_start i64[n+1], rows i64[nnz], columns i64[nnz], values f64[nnz], b f64[n] or f64[n, k]
 *   options    0 functions, transposed
 *   results    x, of b's shape
 * Derivatives by values and b, of any order. */
extern const HostDef sparse_solve_host;

#endif
