/* smoothness.h - how smooth a function is in some of its parameters, by the
 * dataflow of its instructions.
 *
 * Needs: ir.h. Guarantees: never smoother than the function is; what is not
 * proven is taken for a jump. A pole or a root of 0 counts as smooth: what it
 * does to a derivative is seen as an infinity.
 */
#ifndef ATLED_LANG_PASSES_SMOOTHNESS_H
#define ATLED_LANG_PASSES_SMOOTHNESS_H

#include "lang/ir/ir.h"

typedef enum Smoothness {
	/* may jump where a parameter passes a value: a branch, a sign, a
	 * rounding, a table */
	SMOOTH_JUMPS,
	SMOOTH_BENDS,  /* continuous, its derivative may jump: abs, max, min */
	SMOOTH_ALWAYS, /* as often as wanted */
} Smoothness;

/* Of all results of f together, in the parameters flagged active[k]; *depends
 * (may be NULL): whether they depend on these at all. */
Smoothness fn_smoothness(const Fn *f, const bool *active, bool *depends);

#endif
