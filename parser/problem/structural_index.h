/* structural_index.h - how often each equation of a differential-algebraic
 * system must be differentiated.
 *
 * Needs: lang/base/arena.h.
 *
 * Contract: the analysis works on integers only; the caller interprets the
 * equations.
 */
#ifndef ATLED_PARSER_PROBLEM_STRUCTURAL_INDEX_H
#define ATLED_PARSER_PROBLEM_STRUCTURAL_INDEX_H

#include "lang/base/arena.h"

/* order[i * n + j]: the order of the highest derivative of unknown j in
 * equation i; -1: it does not occur. Stores in c[i] how often equation i must
 * be differentiated, and in d[j] the highest derivative of unknown j that the
 * system then has. They are the smallest integers with d[j] - c[i] >= order[i,
 * j], and equality along an assignment of equations to unknowns. Returns false
 * if there is no such assignment; *left is then an equation without an
 * unknown. */
bool structure_offsets(Arena *a, uint32_t n, const int *order, int *c, int *d, uint32_t *left);

#endif
