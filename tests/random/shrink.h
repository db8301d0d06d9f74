/* shrink.h - from a program on which two engines differ to the little that it
 * takes to show it.
 *
 * Needs: engines.h, generate.h. Guarantees: what is shown still differs;
 * nothing is claimed about being the least.
 */
#ifndef ATLED_TESTS_RANDOM_SHRINK_H
#define ATLED_TESTS_RANDOM_SHRINK_H

#include "tests/random/engines.h"
#include "tests/random/generate.h"

/* Leaves out steps of a plan, lengths and results, as long as `fails` says that
 * it still fails. `skipped` has room for STEPS_MOST names and is what
 * plan->skipped points to afterwards. */
void shrink_plan(Plan *plan, uint64_t *skipped, bool (*fails)(void *ud, Plan *plan), void *ud);

/* A function with arguments, where an engine on some threads differs from the
 * reference. */
typedef struct Scene {
	Ctx *c;
	const Engine *engine;
	int threads;
	Fn *fn;
	const Value *args;
} Scene;
bool scene_differs(const Scene *s, Verdict *v);

/* Says which intermediate value of the body is the first to differ. When it is
 * a result as well, then cuts the function: values become parameters (with what
 * the reference made of them), as long as it still differs. Prints what is
 * left, with short arguments. */
void explain_scene(const Scene *s, Text *out);

#endif
