/* complex_step.h - a function of real numbers at complex arguments, for
 * derivatives that owe nothing to the rules of differentiation.
 *
 * Needs: lang/ir/ir.h. Guarantees: with the active parameters x + i h t, h =
 * COMPLEX_STEP, every result that depends on them has the imaginary part h J t,
 * with no truncation error that a double could hold, and the real part that the
 * function gives for x. Only the arithmetic of the engine is used: no line of
 * calculus, no transform.
 */
#ifndef ATLED_TESTS_RANDOM_COMPLEX_STEP_H
#define ATLED_TESTS_RANDOM_COMPLEX_STEP_H

#include "lang/ir/ir.h"

/* Its square is zero in a double, so that a real part is what it is without the
 * step: one that is zero stays zero, and ties stay ties. */
#define COMPLEX_STEP 1e-170

/* f with c128 in place of f64 for the parameters flagged in `active` (of f64
 * only) and for all that depends on them; `complex_results` (one per result of
 * f) says which results those are. One reference. NULL when it cannot be made:
 * then *why is the operation that has no form at complex arguments, OP_NONE
 * when it is something else (a throw). */
Fn *at_complex_arguments(Ctx *c, Fn *f, const bool *active, bool *complex_results, Op *why);

#endif
