/* dependence.h - the dependence of a function's results on its arguments.
 *
 * Method: dataflow analysis of the IR; nothing is evaluated.
 *
 * Needs: ir.h.
 *
 * Contract: conservative, for all values of the arguments. A dependence
 * reported absent is absent; one that cannot be excluded is reported.
 */
#ifndef ATLED_LANG_PASSES_DEPENDENCE_H
#define ATLED_LANG_PASSES_DEPENDENCE_H

#include "lang/ir/ir.h"

/* The arguments are numbered 0 .. n-1; the results are taken together.
 * - depends[i]: the results may depend on argument i, also through a comparison
 *   or a trip count.
 * - factors[i * n + k]: the derivative with respect to argument i may depend on
 *   argument k.
 *
 * The results are affine in argument i where factors[i * n + i] is false. They
 * are jointly affine in a set of arguments where factors is false for all its
 * pairs. A jump or a kink counts as a varying derivative.
 */
typedef struct Dependence {
	uint32_t n;
	bool *depends, *factors;
} Dependence;

/* number[p]: the argument of which parameter p of f is a part; -1: none. The
 * result is allocated in the arena. */
Dependence fn_dependence(Ctx *c, Arena *a, const Fn *f, const int32_t *number, uint32_t n);

#endif
