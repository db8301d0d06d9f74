/* elementwise.h - element-wise host functions: the special functions.
 *
 * Needs: lang/ir/host.h, backend/ for threads.
 *
 * Contract:
 * - Each row of the table is a host function of that name. Its operands and
 *   result are f64 arrays of one shape.
 * - It cannot fail, so the compiler may share, remove and move calls.
 * - `map` batches it into one call. Large arrays are divided among threads;
 *   results do not depend on the division.
 * - It has no derivative of its own. stdlib/functions/special_*.dsl give each a
 *   rule. `_each` in parser/builtins/elementwise.c broadcasts and converts.
 */
#ifndef ATLED_SOLVERS_SPECIAL_ELEMENTWISE_H
#define ATLED_SOLVERS_SPECIAL_ELEMENTWISE_H

#include "lang/ir/host.h"

enum { EACH_ARGS = 5 };

typedef struct EachRow {
	const char *name;
	uint32_t nargs;
	double (*value)(const double *x); /* of one element of each operand; any thread may call it */
	bool by_gsl;                      /* GSL must be loaded first */
} EachRow;

extern const EachRow each_rows[]; /* in special.c; the last row has no name */

/* Registers the functions. Throws when memory fails. */
void each_register(Ctx *c);

#endif
