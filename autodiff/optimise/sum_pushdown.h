/* sum_pushdown.h - the passes of optimise.c.
 *
 * Needs: autodiff.h. Used only by autodiff/.
 */
#ifndef ATLED_AUTODIFF_OPTIMISE_SUM_PUSHDOWN_H
#define ATLED_AUTODIFF_OPTIMISE_SUM_PUSHDOWN_H

#include "autodiff/autodiff.h"

/* The forward-mode form of a gradient made by ad_gradient. NULL when `gradient`
 * is no such function, or its source has been freed. Borrowed. */
Fn *gradient_forward(Ctx *c, Fn *gradient);
bool is_gradient(const Fn *f);

/* f, already inlined, with its sums moved below its contractions. NULL: there
 * are none to move. Owned by the caller. */
Fn *push_sums_down(Ctx *c, const Fn *f, Arena *scratch);

#endif
