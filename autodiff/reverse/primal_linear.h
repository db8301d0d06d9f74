/* primal_linear.h - declarations shared by the files of reverse mode: which
 * values are linear in some parameters, and a function split into its primal
 * and its linear part.
 *
 * Needs: rules.h. Used only by autodiff/reverse, optimise and explain.c.
 */
#ifndef ATLED_AUTODIFF_REVERSE_PRIMAL_LINEAR_H
#define ATLED_AUTODIFF_REVERSE_PRIMAL_LINEAR_H

#include "autodiff/core/rules.h"

/* ---- which values are linear (linear_dependence.c) ----------------------- */

/* The values of f that depend on the flagged parameters. */
typedef struct LinearValues {
	Ctx *c;
	const Fn *f;
	Arena *scratch;
	const char *transform; /* for messages */
	bool *linear;          /* by value */
} LinearValues;
/* Marks the dependent values. On entry `linear` flags the parameters. Throws
 * when an operation that cannot be linear is applied to such a value. */
void mark_linear(LinearValues *p);
static inline bool depends_on(const LinearValues *p, Ref r) {
	return ref_is_value(r) && p->linear[REF_INDEX(r)];
}
bool any_linear_operand(const LinearValues *p, const Inst *in);
/* Whether the instruction has a linear operand or result, or its regions
 * contain such an instruction. */
bool touches_linear(const LinearValues *p, const Inst *in);

/* For a call with linear operands: which parameters of the callee and which of
 * its results are linear. Returns false when no operand is linear. Both arrays
 * are the caller's, with an entry for each operand and each result. */
bool linear_call(LinearValues *p, const Inst *in, bool *places, bool *results);

/* ---- a function in two parts (linearise.c) ------------------------------- */

/* Data of a TR_SPLIT entry, whose mask flags the linear parameters. `primal`:
 * the others -> results that are not linear, residuals. `linear`: residuals,
 * linear parameters -> linear results. Recursive calls, made while the split is
 * under construction, use `values` and `joint` instead; these are built last,
 * from the other two. */
typedef struct LinearSplit {
	Fn *primal, *linear;
	uint32_t nresiduals;
	bool *linear_result; /* by result of the function */
	uint32_t nplain_results, nlinear_results;
	Fn *values; /* the other parameters -> results that are not linear */
	Fn *joint;  /* the other parameters, the linear ones -> linear results */
	Builder *values_builder, *joint_builder;
	/* For a jvp: the cached result of ad_linearise for the original
	 * function. */
	const Linearised *of;
} LinearSplit;
Transform *split_of(Ctx *c, Fn *f, const bool *linear);

/* f with the reverse overrides of its callees substituted (reverse_override.c);
 * f itself where there are none. Borrowed. */
Fn *apply_reverse_overrides(Ctx *c, Fn *f);
bool has_reverse_override(Ctx *c, const Fn *f);

/* Makes the transpose of a loop that uses checkpoints (checkpoint.c). */
void snapshot_transpose(Ctx *c, Transform *d);
static inline LinearSplit *split_data(const Transform *d) { return d->data; }

#endif
