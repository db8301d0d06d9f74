/* work.h - pieces of mixed work whose results are known.
 *
 * Needs: atled.h.
 * Guarantees: each piece uses one context, frees what it makes, and leaves the
 * context usable. Numbers come from the state of the caller.
 */
#ifndef ATLED_TESTS_SOAK_WORK_H
#define ATLED_TESTS_SOAK_WORK_H

#include "atled.h"
#include <stdbool.h>

typedef enum WorkResult {
	WORK_RIGHT,
	WORK_STOPPED, /* interrupted, or a limit was reached where one may be */
	WORK_WRONG    /* see Work.why */
} WorkResult;

typedef struct Work {
	atled_context *ctx;
	uint64_t random;  /* state */
	uint64_t changed; /* functions defined, so that each text is a new one */
	double captured;  /* of the host function */
	char why[300];    /* of the last wrong result */
} Work;

typedef struct Piece {
	const char *name;
	WorkResult (*run)(Work *w);
	bool compiles; /* defines and compiles a new function */
} Piece;

enum { PIECES = 14 };
extern const Piece pieces[PIECES];

/* Prepares a context: grants, a host function, functions that pieces call. */
bool work_prepare(Work *w);

#endif
