/* generate.h - random well-typed functions, made from a number.
 *
 * Needs: lang/ir/ir.h. Guarantees: a plan gives the same function in every
 * context and on every machine. What each step of a plan draws depends on the
 * seed and on the step's own name alone, so that steps can be left out
 * (`skipped`) and the others stay as they are, as far as they did not use what
 * is gone: that is how the shrinker works.
 */
#ifndef ATLED_TESTS_RANDOM_GENERATE_H
#define ATLED_TESTS_RANDOM_GENERATE_H

#include "lang/ir/host.h"

enum {
	SETS = 2,        /* of lengths that each program is run with */
	SYMS_MOST = 256, /* symbols of one function that lengths are known for */
	STEPS_MOST = 1024,
	PARAMS_MOST = 16,
	RESULTS_MOST = 8,
};

typedef struct Plan {
	uint64_t seed;
	bool small;     /* every symbol has the shortest length there is */
	bool brief;     /* a third of the steps, of the same kinds */
	int32_t result; /* the only one that is kept; -1: all */
	const uint64_t *skipped;
	uint32_t nskipped;
	uint64_t visited[STEPS_MOST]; /* out: the steps that were not skipped, in order */
	uint32_t nvisited;
} Plan;

typedef struct Sample {
	Fn *fn;                           /* one reference */
	bool wild;                        /* arguments hold infinities and NaN */
	bool prints;                      /* writes output, which is a part of what it gives */
	int64_t lengths[SETS][SYMS_MOST]; /* by symbol; -1: not known before it runs */
} Sample;

/* Throws what the builder throws: that is a fault, of this generator or of the
 * builder. */
void generate(Ctx *c, Plan *plan, Sample *out);

/* ---- numbers ------------------------------------------------------------- */

uint64_t random_mix(uint64_t a, uint64_t b);
uint64_t random_next(uint64_t *state);
int64_t random_below(uint64_t *state, int64_t n); /* 0 when n < 1 */
double random_between(uint64_t *state, double lo, double hi);

/* An array of the dtype, with views among the larger ones: integers in -9 .. 9,
 * reals in -2 .. 2 that use all their digits, with zeros and ones among them.
 * V_UNSET when memory fails. */
Value random_value(Ctx *c, uint64_t *state, Dtype d, uint32_t rank, const int64_t *shape,
                   bool wild);

#endif
