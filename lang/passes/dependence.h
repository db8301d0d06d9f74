/* dependence.h - what a function's results depend on, and how: decided by
 * dataflow over the IR.
 *
 * Needs: ir.h. Guarantees: safe for every value of the arguments. What is said
 * to be absent cannot be there; what cannot be proven absent is said to be
 * there. Nothing is evaluated.
 */
#ifndef ATLED_LANG_PASSES_DEPENDENCE_H
#define ATLED_LANG_PASSES_DEPENDENCE_H

#include "lang/ir/ir.h"

/* The arguments asked about are numbered 0 .. n-1. All results together:
 * depends[i]: they may depend on argument i, be it through a comparison or the
 * course of a loop. factors[i * n + k]: the slope by argument i may depend on
 * argument k. The results are affine in argument i where factors[i * n + i] is
 * false, and jointly affine in a set of arguments where factors is false for
 * all pairs of them. A jump or a kink counts as a slope that changes. */
typedef struct Dependence {
	uint32_t n;
	bool *depends, *factors;
} Dependence;

/* number[p]: which argument parameter p of f is a part of; -1: none. Memory is
 * the arena's. */
Dependence fn_dependence(Ctx *c, Arena *a, const Fn *f, const int32_t *number, uint32_t n);

#endif
