/* shrink.h - minimisation of a program on which two engines differ.
 *
 * Needs: engines.h, generate.h.
 *
 * Guarantees: the reduced program still differs; it need not be minimal.
 */
#ifndef ATLED_TESTS_RANDOM_SHRINK_H
#define ATLED_TESTS_RANDOM_SHRINK_H

#include "tests/random/engines.h"
#include "tests/random/generate.h"

/* Removes steps of a plan, extents and results as long as `fails` returns true.
 * `skipped` has room for STEPS_MOST names; plan->skipped points to it
 * afterwards. */
void shrink_plan(Plan *plan, uint64_t *skipped, bool (*fails)(void *ud, Plan *plan), void *ud);

/* A function with arguments for which an engine differs from the reference. */
typedef struct Scene {
	Ctx *c;
	const Engine *engine;
	int threads;
	Fn *fn;
	const Value *args;
} Scene;
bool scene_differs(const Scene *s, Verdict *v);

/* Finds the first intermediate value of the body that differs. If a function
 * that returns only this value still differs, continues with that function.
 * Then reduces it: intermediate values become parameters, with the values of
 * the reference, as long as the results differ. Prints the reduced function and
 * its arguments. */
void explain_scene(const Scene *s, Text *out);

#endif
