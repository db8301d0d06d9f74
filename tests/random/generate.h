/* generate.h - generator of random well-typed functions from a seed.
 *
 * Needs: lang/ir/ir.h.
 *
 * Guarantees:
 * - A plan gives the same function in every context and on every machine.
 * - The draws of a step depend only on the seed and on the name of the step.
 *   The shrinker can therefore skip steps (`skipped`): steps that do not use
 *   their values stay the same.
 */
#ifndef ATLED_TESTS_RANDOM_GENERATE_H
#define ATLED_TESTS_RANDOM_GENERATE_H

#include "lang/ir/host.h"

enum {
	SETS = 2,        /* sets of extents that each program runs with */
	SYMS_MOST = 256, /* symbols of a function with known extents */
	STEPS_MOST = 1024,
	PARAMS_MOST = 16,
	RESULTS_MOST = 8,
};

typedef struct Plan {
	uint64_t seed;
	bool small;     /* every symbol has the smallest possible extent */
	uint32_t part;  /* this part of the steps, of the same kinds: 3 is a third; 0: all */
	int32_t result; /* the only result that is kept; -1: all */
	const uint64_t *skipped;
	uint32_t nskipped;
	uint64_t visited[STEPS_MOST]; /* out: the steps that were not skipped, in order */
	uint32_t nvisited;
} Plan;

typedef struct Sample {
	Fn *fn;                           /* one reference */
	bool wild;                        /* arguments include infinities and NaN */
	bool prints;                      /* writes output, which belongs to its outcome */
	int64_t lengths[SETS][SYMS_MOST]; /* by symbol; -1: unknown before the run */
} Sample;

/* Throws what the builder throws: a fault of this generator or of the
 * builder. */
void generate(Ctx *c, Plan *plan, Sample *out);

/* ---- random numbers ------------------------------------------------------ */

uint64_t random_mix(uint64_t a, uint64_t b);
uint64_t random_next(uint64_t *state);
int64_t random_below(uint64_t *state, int64_t n); /* 0 when n < 1 */
double random_between(uint64_t *state, double lo, double hi);

/* Returns an array of dtype d, sometimes a view. Integers are in -9 .. 9. Reals
 * are in -2 .. 2 with full precision, with zeros and ones among them. V_UNSET
 * when memory fails. */
Value random_value(Ctx *c, uint64_t *state, Dtype d, uint32_t rank, const int64_t *shape,
                   bool wild);

#endif
