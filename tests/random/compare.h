/* compare.h - do two engines agree on what a function gives?
 *
 * Needs: backend/eval/code.h. Guarantees: an outcome is a status, the code of
 * the first diagnostic, what was printed, and the results; two agree when all
 * of that does. Truth values and integers agree exactly. Floats of an engine
 * that claims to be exact agree bit for bit (any NaN is any other); else within
 *
 *     base * (largest finite magnitude in that result, at least 0.01, f32: 0.1)
 *     + 16 * (what the element moves when roundings do)
 *
 * where base is 1e-11 for f64, and 1e-4 for f32 and for what has been f32 on
 * its way: some thousand roundings; what cancels to nothing is measured against
 * the least. The second term is measured, and only when the first is not
 * enough. The function is copied with every float that an instruction computes,
 * in loops and in what it calls too, multiplied by a number of its own within 1
 * +- 1e-13 (f32: 1e-6). Sixteen copies run at first, up to `batches` times as
 * many before a difference is told: chaos may show in one of a hundred. A
 * result that jumps under that (an integer that changes, a float that moves by
 * more than a thousandth of the largest, an output) hangs on a rounding and is
 * not compared. The verdict says so, and the summary counts how often that was.
 */
#ifndef ATLED_TESTS_RANDOM_COMPARE_H
#define ATLED_TESTS_RANDOM_COMPARE_H

#include "backend/eval/core/code.h"

typedef struct Outcome {
	Status status;
	int code; /* of the first diagnostic; -1: none */
	uint32_t n;
	Value *results;   /* owned; V_UNSET after a failure */
	uint64_t printed; /* hash of the output */
	char message[160];
} Outcome;

/* Gets an outcome from an engine; diagnostics are forgotten again. */
typedef Status (*EngineRun)(Ctx *c, Fn *f, const Value *args, Value *results);
Outcome outcome_of(Ctx *c, EngineRun run, Fn *f, const Value *args);
void outcome_free(Outcome *o);

typedef struct Verdict {
	bool same;
	bool lenient;    /* some result was not compared, see above */
	uint32_t result; /* the one that differs */
	uint32_t jumps;  /* the last one that was not compared */
	char why[420];
} Verdict;
/* Compares two outcomes of f(args). `batches` bounds the shaken runs, 16 each,
 * before a difference is told: COMPARE_BATCHES for a verdict that is reported,
 * 1 while a program is shrunk, which asks thousands of times. */
enum { COMPARE_BATCHES = 64 };
Verdict compare_outcomes(Ctx *c, Fn *f, const Value *args, const Outcome *want, const Outcome *got,
                         bool exact, uint32_t batches);

/* A copy of f whose roundings fall differently, by so much relative to each
 * number: what an engine that is allowed to round might be. The same seed gives
 * the same copy. One reference; NULL when it cannot be made. */
Fn *with_other_roundings(Ctx *c, Fn *f, uint64_t seed, double f64_by, double f32_by);

/* It, or what it calls, has values of half the precision. */
bool holds_f32(const Fn *f);

/* n zeroed elements of that size, and one more; ends the program when there is
 * no memory. */
void *room(size_t n, size_t size);
/* Gives up n values and the room that they are in; v may be NULL. */
void drop(uint32_t n, Value *v);
/* What a transform throws is looked at by derive.c; here it is passed over. */
bool ask(Ctx *c, void *arg, void (*body)(Ctx *c, void *arg));

/* Where print goes while an engine runs. */
void capture_output(Ctx *c);

#endif
