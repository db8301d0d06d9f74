/* derive.h - a program and its transforms, with arguments for each.
 *
 * Needs: generate.h, compare.h, autodiff/autodiff.h.
 *
 * Guarantees:
 * - The transforms, and the functions that they are applied to, depend on the
 *   seed only.
 * - A transform without a rule for some operation is skipped and counted. Any
 *   other failure is reported in `trouble`.
 */
#ifndef ATLED_TESTS_RANDOM_DERIVE_H
#define ATLED_TESTS_RANDOM_DERIVE_H

#include "autodiff/autodiff.h"
#include "tests/random/compare.h"
#include "tests/random/generate.h"

enum { CASES_MOST = 16 };

typedef struct Case {
	Fn *fn;       /* one reference */
	char how[96]; /* "program", "vjp of jvp of program" */
	uint32_t nargs;
	Value *args[SETS];  /* NULL: no arguments for this set, because the original fails */
	Outcome want[SETS]; /* outcome of the reference, where there are arguments */
} Case;

typedef struct Cases {
	uint32_t n;
	Case at[CASES_MOST];
	uint32_t without_rule;
	char trouble[400]; /* empty: none */
} Cases;

/* The reference for all engines: the evaluator on one thread. */
Status run_reference(Ctx *c, Fn *f, const Value *args, Value *results);

/* Builds the function (parameters of f, a cotangent for each active result) ->
 * (results of f, gradients). With `calls` it calls the two parts, else it
 * inlines them. */
Fn *vjp_function(Ctx *c, Fn *f, const Linearised *l, Fn *back, bool calls);
/* Returns false when a result has an extent that only a run of f determines:
 * such an extent cannot be that of a parameter. */
bool lengths_are_known(Ctx *c, const Fn *f);

void derive_cases(Ctx *c, const Sample *p, uint64_t seed, Cases *out);
void cases_free(Cases *cs);

#endif
