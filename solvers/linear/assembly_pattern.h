/* assembly_pattern.h - the host function cells_pattern(unknowns i64[m, k],
 * coupled i64[k, k], n).
 *
 * It describes an n by n matrix assembled from m element matrices, k by k.
 * Element (i, j) of cell c is added at (unknowns[c, i], unknowns[c, j]). It is
 * skipped if an index is negative or coupled[i, j] is 0.
 *
 * Results:
 * 1. the rows of the stored elements, column by column
 * 2. their columns
 * 3. where each column begins
 * 4. where each row begins in row-major order
 * 5. for each element of the cells its place, or the number of stored elements
 *    if skipped
 * 6. the elements in the order of the transposed matrix
 * 7. 1 if the transpose has the same pattern
 *
 * Needs: host.h.
 *
 * Contract: an index of an unknown that is too large is an error of the
 * program.
 */
#ifndef ATLED_SOLVERS_LINEAR_ASSEMBLY_PATTERN_H
#define ATLED_SOLVERS_LINEAR_ASSEMBLY_PATTERN_H

#include "lang/ir/host.h"

extern const HostDef cells_pattern_host;

#endif
