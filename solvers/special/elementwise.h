/* elementwise.h - host functions that give each element its own number: the
 * special functions.
 *
 * Needs: lang/ir/host.h, backend/ for the threads. Guarantees: a row of the
 * table is a host function of that name whose operands and result are f64
 * arrays of one shape. It cannot fail, so that the compiler may share, drop and
 * move it; `map` batches it into one call; large arrays are shared out among
 * threads, each element the same whoever computes it. It has no derivative of
 * its own: the library gives each a rule (stdlib/functions/special.dsl), and
 * broadcasting and conversion are the specialiser's (`_each` in
 * parser/builtins/arrays.c).
 */
#ifndef ATLED_SOLVERS_SPECIAL_ELEMENTWISE_H
#define ATLED_SOLVERS_SPECIAL_ELEMENTWISE_H

#include "lang/ir/host.h"

enum { EACH_ARGS = 5 };

typedef struct EachRow {
	const char *name;
	uint32_t nargs;
	double (*value)(const double *x); /* of one element of each operand; on any thread */
	bool by_gsl;                      /* GSL must be loaded first */
} EachRow;

extern const EachRow each_rows[]; /* ends with a row without a name (special.c) */

/* Registers them; throws when memory fails. */
void each_register(Ctx *c);

#endif
