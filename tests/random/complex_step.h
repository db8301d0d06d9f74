/* complex_step.h - complex-step form of a function.
 *
 * It is an independent source of derivatives: it uses only the arithmetic of
 * the engine, no derivative rule and no transform.
 *
 * Needs: lang/ir/ir.h.
 *
 * Guarantees: with the active parameters x + i h t, h = COMPLEX_STEP, every
 * result that depends on them has
 * - the imaginary part h J t, without truncation error in double precision;
 * - the real part of f(x).
 */
#ifndef ATLED_TESTS_RANDOM_COMPLEX_STEP_H
#define ATLED_TESTS_RANDOM_COMPLEX_STEP_H

#include "lang/ir/ir.h"

/* The square of the step underflows to zero, so real parts are unchanged: zeros
 * stay zero, and ties stay ties. */
#define COMPLEX_STEP 1e-170

/* Returns f with c128 instead of f64 for the `active` parameters (f64 only) and
 * everything that depends on them. `complex_results` flags the results that are
 * complex. The caller owns one reference. On failure it returns NULL, and *why
 * is the operation without a complex form, or OP_NONE for another reason (a
 * throw). */
Fn *at_complex_arguments(Ctx *c, Fn *f, const bool *active, bool *complex_results, Op *why);

#endif
