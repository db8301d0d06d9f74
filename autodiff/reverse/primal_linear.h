/* primal_linear.h - what the files of reverse mode share: which values are
 * linear in some parameters, and a function split into its primal and its
 * linear part.
 *
 * Needs: rules.h. Guarantees: used only by
 * autodiff/reverse/linear_dependence.c, linearise*.c and transpose.c.
 */
#ifndef ATLED_AUTODIFF_REVERSE_PRIMAL_LINEAR_H
#define ATLED_AUTODIFF_REVERSE_PRIMAL_LINEAR_H

#include "autodiff/core/rules.h"

/* ---- which values are linear (linear_dependence.c) ----------------------- */

/* Values of f that depend on the parameters flagged. */
typedef struct Depends {
	Ctx *c;
	const Fn *f;
	Arena *scratch;
	const char *transform; /* for messages */
	bool *linear;          /* by value */
} Depends;
/* Throws when something is done with such a value that cannot be linear.
 * `linear` comes with the parameters set. */
void find_linear(Depends *p);
static inline bool depends_on(const Depends *p, Ref r) {
	return ref_is_value(r) && p->linear[REF_INDEX(r)];
}
bool any_linear_operand(const Depends *p, const Inst *in);
/* The instruction has a linear operand or result, or its regions hold such an
 * instruction. */
bool touches_linear(const Depends *p, const Inst *in);

/* A call with linear operands: which places of the callee are linear, and which
 * of its results. False: no operand is linear. Both arrays are the caller's,
 * with an entry for each operand and each result. */
bool linear_call(Depends *p, const Inst *in, bool *places, bool *results);

/* ---- a function in two parts (linearise.c) ------------------------------- */

/* Data of a TR_SPLIT entry, whose mask flags the linear parameters. `primal`:
 * the others -> results that are not linear, residuals. `linear`: residuals,
 * linear parameters -> results that are. A call to a function whose split is
 * being made uses `values` and `joint`, which are made from those two in the
 * end. */
typedef struct Split {
	Fn *primal, *linear;
	uint32_t nresiduals;
	bool *linear_result; /* by result of the function */
	uint32_t nplain_results, nlinear_results;
	Fn *values; /* the other parameters -> results that are not linear */
	Fn *joint;  /* the other parameters, the linear ones -> results that are linear */
	Builder *values_builder, *joint_builder;
	/* of a jvp: what ad_linearise says of the function it was made of, once
	 * it has been asked */
	const Linearised *of;
} Split;
Derived *split_of(Ctx *c, Fn *f, const bool *linear);

/* f with the forms that reverse mode takes of what it calls
 * (reverse_override.c); f itself where there are none. Borrowed. */
Fn *reverse_form(Ctx *c, Fn *f);
bool has_reverse_form(Ctx *c, const Fn *f);

/* Makes the transpose of a loop that keeps snapshots (checkpoint.c). */
void snapshot_transpose(Ctx *c, Derived *d);
static inline Split *split_data(const Derived *d) { return d->data; }

#endif
