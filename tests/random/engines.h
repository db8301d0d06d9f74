/* engines.h - the table of engines that are compared.
 *
 * Needs: compare.h.
 *
 * Guarantees: a new engine needs only a row of the table. Every row is compared
 * with the reference, the evaluator on one thread (derive.h).
 */
#ifndef ATLED_TESTS_RANDOM_ENGINES_H
#define ATLED_TESTS_RANDOM_ENGINES_H

#include "tests/random/compare.h"

typedef struct Engine {
	const char *name;
	EngineRun run;
	bool exact; /* bit-identical to the reference; else within the tolerance of compare.h */
	/* run once for each number of threads, which must not change the results */
	bool threads;
	bool once;                  /* with the first arguments only, because it is slow */
	uint32_t every;             /* for slow engines: run on every n-th brief program; 0: on all */
	uint32_t derivatives_every; /* the same for derivatives of programs */
} Engine;

extern const Engine engines[]; /* ends with a NULL name */
/* Reads the text form of a function. NULL with a diagnostic; the caller owns
 * one reference. */
Fn *read_text_form(Ctx *c, const char *name, const Text *text);
/* Deliberately wrong, for the self-test: it swaps the operands of every
 * subtraction at top level. */
extern const Engine broken_engine;

#endif
