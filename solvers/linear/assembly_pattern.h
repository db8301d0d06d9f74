/* assembly_pattern.h - cells_pattern(unknowns i64[m, k], coupled i64[k, k], n):
 * of an n by n matrix that is the sum of m matrices k by k, where cell c's
 * element (i, j) is at (unknowns[c, i], unknowns[c, j]) if both are not
 * negative and coupled[i, j] is not 0: rows and columns of the elements, column
 * by column; where columns begin; where rows begin, row by row; for each of the
 * cells' elements its place, that behind the last for none; the elements in the
 * order of the transposed matrix; and 1 if that has the same pattern.
 *
 * Needs: host.h. Guarantees: the number of an unknown that is too large is an
 * error of the program.
 */
#ifndef ATLED_SOLVERS_LINEAR_ASSEMBLY_PATTERN_H
#define ATLED_SOLVERS_LINEAR_ASSEMBLY_PATTERN_H

#include "lang/ir/host.h"

extern const HostDef cells_pattern_host;

#endif
