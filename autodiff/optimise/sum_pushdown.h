/* sum_pushdown.h - the passes that make a finished function cheaper, see
 * optimise.c.
 *
 * Needs: autodiff.h. Guarantees: used only by autodiff/.
 */
#ifndef ATLED_AUTODIFF_OPTIMISE_SUM_PUSHDOWN_H
#define ATLED_AUTODIFF_OPTIMISE_SUM_PUSHDOWN_H

#include "autodiff/autodiff.h"

/* What a gradient of ad_gradient becomes when it goes forwards; NULL: it is no
 * such function, or what it is of is gone. Borrowed. */
Fn *gradient_forward(Ctx *c, Fn *gradient);
bool is_gradient(const Fn *f);

/* f, which calls nothing that could be written out, with its sums before its
 * contractions. NULL: there are none to move. Owned. */
Fn *collapse(Ctx *c, const Fn *f, Arena *scratch);

#endif
