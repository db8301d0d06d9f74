/* derive.h - the functions that come from one program: itself and its
 * transforms, with arguments for each.
 *
 * Needs: generate.h, compare.h, autodiff/autodiff.h. Guarantees: which
 * transforms are taken, and of what, follows from the seed alone. A transform
 * that has no rule for something is left out and counted; any other failure of
 * one is told in `trouble`.
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
	Value *args[SETS];  /* NULL: there are none for this set, because what they come from fails */
	Outcome want[SETS]; /* of the reference, where there are arguments */
} Case;

typedef struct Cases {
	uint32_t n;
	Case at[CASES_MOST];
	uint32_t without_rule;
	char trouble[400]; /* empty: none */
} Cases;

/* Status of the evaluator on one thread: what all engines are compared with. */
Status run_reference(Ctx *c, Fn *f, const Value *args, Value *results);

/* (parameters of f, a cotangent for each active result) -> results of f,
 * gradients: by calls of the two parts, or with them written out. */
Fn *vjp_function(Ctx *c, Fn *f, const Linearised *l, Fn *back, bool calls);
/* Lengths that only the run of f knows cannot be those of a parameter; false
 * where a result has such a length. */
bool lengths_are_known(Ctx *c, const Fn *f);

void derive_cases(Ctx *c, const Sample *p, uint64_t seed, Cases *out);
void cases_free(Cases *cs);

#endif
