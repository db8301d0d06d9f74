/* compare.h - comparison of the outcomes of a function on two engines.
 *
 * Needs: backend/eval/code.h.
 *
 * Method: an outcome is a status, the code of the first diagnostic, the output,
 * and the results. Two outcomes agree when all of these do.
 * - Booleans and integers must be equal.
 * - Floats of an engine declared exact must be equal bit for bit (all NaNs are
 *   equal).
 * - Other floats must agree within
 *
 *     base * (largest finite magnitude in that result, at least 0.01, f32: 0.1)
 *     + 16 * (change of the element when roundings change)
 *     + 64 roundings of the terms whose difference the element is, if any
 *
 * The base is 1e-11 for f64, and 1e-4 for f32 and for values computed from f32:
 * some thousand roundings. The lower bounds apply to results that cancel.
 *
 * The second term is measured, and only when the first is not enough. A copy of
 * the function multiplies every computed float by a factor within 1 +- 1e-13
 * (f32: 1e-6), also in loops and callees. Sixteen copies run at first, and up
 * to `batches` times as many before a difference is reported: in a chaotic
 * program one copy in a hundred may show the sensitivity.
 *
 * A result that jumps under these changes depends on a rounding and is not
 * compared. A jump is a changed integer or output, or a float that moves by
 * more than a thousandth of the largest. The verdict reports it, and the
 * summary counts such results.
 */
#ifndef ATLED_TESTS_RANDOM_COMPARE_H
#define ATLED_TESTS_RANDOM_COMPARE_H

#include "backend/eval/core/code.h"

typedef struct Outcome {
	Status status;
	int code; /* of the first diagnostic; -1: none */
	uint32_t n;
	Value *results; /* owned; V_UNSET after a failure */
	Value *terms;   /* NULL, or by result: the sum of two terms that were subtracted, or V_UNSET */
	uint64_t printed; /* hash of the output */
	char message[160];
} Outcome;

/* Runs an engine and returns its outcome; its diagnostics are cleared. */
typedef Status (*EngineRun)(Ctx *c, Fn *f, const Value *args, Value *results);
Outcome outcome_of(Ctx *c, EngineRun run, Fn *f, const Value *args);
void outcome_free(Outcome *o);

typedef struct Verdict {
	bool same;
	bool lenient;    /* some result was not compared, see above */
	uint32_t result; /* index of the result that differs */
	uint32_t jumps;  /* index of the last result that was not compared */
	char why[420];
} Verdict;
/* Compares two outcomes of f(args). `batches` limits the perturbed runs, 16
 * each, before a difference is reported: COMPARE_BATCHES for a reported
 * verdict, 1 for the shrinker, which compares thousands of times. */
enum { COMPARE_BATCHES = 64 };
Verdict compare_outcomes(Ctx *c, Fn *f, const Value *args, const Outcome *want, const Outcome *got,
                         bool exact, uint32_t batches);

/* Returns a copy of f with perturbed roundings, of relative size f64_by and
 * f32_by: it represents an engine that rounds differently. The same seed gives
 * the same copy. The caller owns one reference; NULL when the copy cannot be
 * made. */
Fn *with_other_roundings(Ctx *c, Fn *f, uint64_t seed, double f64_by, double f32_by);

/* Whether f, or a function that it calls, has single-precision values. */
bool holds_f32(const Fn *f);

/* Returns n + 1 zeroed elements of the given size; ends the program when memory
 * fails. */
void *room(size_t n, size_t size);
/* Releases n values and their array; v may be NULL. */
void drop(uint32_t n, Value *v);
/* Runs a body and returns false when it throws. derive.c reports failures of
 * transforms; here they are ignored. */
bool ask(Ctx *c, void *arg, void (*body)(Ctx *c, void *arg));

/* Redirects output of engines to a hash. */
void capture_output(Ctx *c);

#endif
