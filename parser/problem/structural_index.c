/* structural_index.c - structural analysis of differential-algebraic systems.
 *
 * Needs: structural_index.h.
 *
 * Method: J. D. Pryce, A simple structural analysis method for DAEs, BIT 41
 * (2001) 364: a transversal of highest value in the signature matrix, and the
 * smallest offsets that belong to it. Pantelides' algorithm finds the same
 * offsets. The transversal grows by augmenting paths of highest gain.
 */
#include "parser/problem/structural_index.h"

enum { NONE = -1 };

/* Matches one more equation, along the path of highest gain from a free
 * equation to a free unknown (Bellman and Ford). Returns false when there is
 * none. */
static bool augment(uint32_t n, const int *order, int *unknown_of, int *equation_of, int *gain,
                    int *from) {
	for (uint32_t j = 0; j < n; j++) {
		gain[j] = INT32_MIN;
		from[j] = NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; unknown_of[i] == NONE && j < n; j++)
			if (order[i * n + j] >= 0 && order[i * n + j] > gain[j]) {
				gain[j] = order[i * n + j];
				from[j] = (int)i;
			}
	for (uint32_t round = 0, changed = 1; changed && round < n; round++) {
		changed = 0;
		for (uint32_t j = 0; j < n; j++) {
			const int i = equation_of[j];
			if (gain[j] == INT32_MIN || i == NONE) continue;
			for (uint32_t k = 0; k < n; k++) {
				if (k == j || order[(uint32_t)i * n + k] < 0) continue;
				const int by = gain[j] - order[(uint32_t)i * n + j] + order[(uint32_t)i * n + k];
				if (by <= gain[k]) continue;
				gain[k] = by;
				from[k] = i;
				changed = 1;
			}
		}
	}
	int best = NONE;
	for (uint32_t j = 0; j < n; j++)
		if (equation_of[j] == NONE && gain[j] != INT32_MIN &&
		    (best == NONE || gain[j] > gain[best]))
			best = (int)j;
	for (int j = best; j != NONE;) {
		const int i = from[j], next = unknown_of[i];
		equation_of[j] = i;
		unknown_of[i] = j;
		j = next;
	}
	return best != NONE;
}

bool structure_offsets(Arena *a, uint32_t n, const int *order, int *c, int *d, uint32_t *left) {
	int *unknown_of = ARENA_ARRAY(a, int, 4 * n + 1), *equation_of = unknown_of + n,
		*gain = equation_of + n, *from = gain + n;
	for (uint32_t i = 0; i < 2 * n; i++) unknown_of[i] = NONE;
	for (uint32_t k = 0; k < n; k++) {
		if (augment(n, order, unknown_of, equation_of, gain, from)) continue;
		for (*left = 0; unknown_of[*left] != NONE;) ++*left;
		return false;
	}
	memset(c, 0, n * sizeof *c);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t j = 0; j < n; j++) {
			d[j] = 0;
			for (uint32_t i = 0; i < n; i++)
				if (order[i * n + j] >= 0 && order[i * n + j] + c[i] > d[j])
					d[j] = order[i * n + j] + c[i];
		}
		for (uint32_t i = 0; i < n; i++) {
			const int next = d[unknown_of[i]] - order[i * n + (uint32_t)unknown_of[i]];
			changed |= next != c[i];
			c[i] = next;
		}
	}
	return true;
}
