/* structural_index.h - how often each equation of a differential-algebraic
 * system must be differentiated.
 *
 * Needs: lang/base/context.h. Guarantees: integers only; what the equations say
 * is the caller's affair.
 */
#ifndef ATLED_PARSER_PROBLEM_STRUCTURAL_INDEX_H
#define ATLED_PARSER_PROBLEM_STRUCTURAL_INDEX_H

#include "lang/base/arena.h"

/* order[i * n + j]: of the highest derivative of unknown j in equation i; -1:
 * it does not occur. Writes how often equation i is to be differentiated
 * (c[i]), and up to which derivative of unknown j the system then has (d[j]):
 * the smallest with d[j] - c[i] >= order[i, j], and equality along an
 * assignment of equations to unknowns. False: there is no such assignment, and
 * an equation that no unknown is left for is *left. */
bool structure_offsets(Arena *a, uint32_t n, const int *order, int *c, int *d, uint32_t *left);

#endif
