/* smoothness.h - the smoothness of a function in some of its parameters.
 *
 * Method: dataflow analysis of the IR.
 *
 * Needs: ir.h.
 *
 * Contract:
 * - The result is never smoother than the function. A dependence that is not
 *   proven smooth counts as a jump.
 * - A pole or a root of 0 counts as smooth: its derivative shows as an
 *   infinity.
 */
#ifndef ATLED_LANG_PASSES_SMOOTHNESS_H
#define ATLED_LANG_PASSES_SMOOTHNESS_H

#include "lang/ir/ir.h"

typedef enum Smoothness {
	/* May jump at some value of a parameter: a branch, a sign, a rounding, a
	 * table. */
	SMOOTH_JUMPS,
	SMOOTH_BENDS,  /* continuous; its derivative may jump: abs, max, min */
	SMOOTH_ALWAYS, /* smooth of every order */
} Smoothness;

/* The smoothness of all results of f together, in the parameters flagged
 * active[k]. *depends (may be NULL): whether they depend on these at all. */
Smoothness fn_smoothness(const Fn *f, const bool *active, bool *depends);

#endif
