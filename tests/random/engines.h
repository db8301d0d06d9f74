/* engines.h - what runs the same functions, and is compared.
 *
 * Needs: compare.h. Guarantees: a row of the table is all that a new engine
 * takes. The reference, which every row is compared with, is the evaluator on
 * one thread (derive.h).
 */
#ifndef ATLED_TESTS_RANDOM_ENGINES_H
#define ATLED_TESTS_RANDOM_ENGINES_H

#include "tests/random/compare.h"

typedef struct Engine {
	const char *name;
	EngineRun run;
	bool exact; /* bit for bit as the reference; else within the tolerance of compare.h */
	/* run once for each number of threads, which is set before; results do
	 * not depend on it */
	bool threads;
	bool once;      /* with the first arguments only: it takes time */
	uint32_t every; /* it takes much: of so many brief programs with one only; 0: with all */
	uint32_t derivatives_every; /* the same for derivatives of programs */
} Engine;

extern const Engine engines[]; /* ends with a NULL name */
/* Wrong on purpose, for the test of the test: at top level it takes every
 * difference the wrong way round. */
extern const Engine broken_engine;

#endif
