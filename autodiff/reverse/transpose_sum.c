/* transpose_sum.c - sums of cotangents, taken before contractions rather than
 * after them.
 *
 * Method: sum_n sum_i w[n, i] A[i, j] becomes sum_i (sum_n w[n, i]) A[i, j],
 * which saves a factor of n in the contraction. The case arises for values
 * shared by all samples, such as the mean of a distribution. Their cotangents
 * are sums over the samples.
 *
 * Needs: rules.h.
 *
 * Contract:
 * - The value of the plain sum, with rounding in another order. The language
 *   does not specify the order in which derivatives are summed.
 */
#include "autodiff/core/rules.h"

#define DEPTH_MOST 4 /* sums, differences and negations that are looked through */

typedef struct ReducedAxes {
	uint32_t n;
	int at[MAX_RANK];
} ReducedAxes;

static ReducedAxes axes_of(Builder *b, const Inst *in, uint32_t field) {
	ReducedAxes a;
	const int64_t *words = attr_field(build_ctx(b), (Op)in->op, in->attr, field, &a.n);
	for (uint32_t i = 0; i < a.n; i++) a.at[i] = (int)words[i];
	return a;
}

static bool has(const ReducedAxes *a, int axis) {
	for (uint32_t i = 0; i < a->n; i++)
		if (a->at[i] == axis) return true;
	return false;
}

/* The axes of operand `side` that appear in the contraction's result only for
 * it. The result has the shared axes first, then those of each operand. */
static ReducedAxes own_axes(Builder *b, const Inst *dot, uint32_t side) {
	const ReducedAxes contracted = axes_of(b, dot, side), shared = axes_of(b, dot, 2 + side);
	const uint32_t rank = ref_ty(build_fn(b), inst_arg(build_fn(b), dot, side))->rank;
	ReducedAxes own = {0};
	for (uint32_t i = 0; i < rank; i++)
		if (!has(&contracted, (int)i) && !has(&shared, (int)i)) own.at[own.n++] = (int)i;
	return own;
}

/* Whether w is a contraction, below signs and sums, whose summed axes all
 * belong to one operand or the other. */
static bool can_go_before(Builder *b, Ref w, const ReducedAxes *summed, uint32_t depth) {
	const Inst *in = ref_inst(build_fn(b), w);
	if (!in || depth > DEPTH_MOST) return false;
	switch ((Op)in->op) {
	case OP_NEG: return can_go_before(b, inst_arg(build_fn(b), in, 0), summed, depth + 1);
	case OP_ADD:
	case OP_SUB:
		return can_go_before(b, inst_arg(build_fn(b), in, 0), summed, depth + 1) ||
		       can_go_before(b, inst_arg(build_fn(b), in, 1), summed, depth + 1);
	case OP_DOT: {
		const ReducedAxes shared = axes_of(b, in, 2);
		for (uint32_t i = 0; i < summed->n; i++)
			if (summed->at[i] < (int)shared.n) return false;
		return dtype_is_real((Dtype)ref_ty(build_fn(b), w)->dtype);
	}
	default: return false;
	}
}

/* Renumbers the axes of an operand after those in `gone` have been summed. */
static void renumber(ReducedAxes *a, const ReducedAxes *gone) {
	for (uint32_t i = 0; i < a->n; i++) {
		int less = 0;
		for (uint32_t k = 0; k < gone->n; k++) less += gone->at[k] < a->at[i];
		a->at[i] -= less;
	}
}

static Ref sum_dot(Builder *b, const Inst *dot, const ReducedAxes *summed) {
	Ref x[2];
	ReducedAxes contracted[2], shared[2];
	int first = (int)axes_of(b, dot, 2).n; /* of the operand's axes in the result */
	for (uint32_t side = 0; side < 2; side++) {
		const ReducedAxes own = own_axes(b, dot, side);
		ReducedAxes gone = {0};
		for (uint32_t i = 0; i < own.n; i++)
			if (has(summed, first + (int)i)) gone.at[gone.n++] = own.at[i];
		first += (int)own.n;
		contracted[side] = axes_of(b, dot, side);
		shared[side] = axes_of(b, dot, 2 + side);
		renumber(&contracted[side], &gone);
		renumber(&shared[side], &gone);
		x[side] = inst_arg(build_fn(b), dot, side);
		if (gone.n) x[side] = build_reduce(b, OP_REDUCE_SUM, x[side], gone.n, gone.at);
	}
	return build_dot(b, x[0], x[1], contracted[0].n, contracted[0].at, contracted[1].at,
	                 shared[0].n, shared[0].at, shared[1].at);
}

static Ref sum_before(Builder *b, Ref w, const ReducedAxes *summed, uint32_t depth) {
	if (!can_go_before(b, w, summed, depth))
		return build_reduce(b, OP_REDUCE_SUM, w, summed->n, summed->at);
	const Inst in = *ref_inst(build_fn(b), w);
	const Ref x = inst_arg(build_fn(b), &in, 0),
			  y = in.nargs > 1 ? inst_arg(build_fn(b), &in, 1) : REF_NONE;
	if (in.op == OP_NEG) return build1(b, OP_NEG, sum_before(b, x, summed, depth + 1));
	if (in.op == OP_DOT) return sum_dot(b, &in, summed);
	const Ref left = sum_before(b, x, summed, depth + 1);
	return build2(b, (Op)in.op, left, sum_before(b, y, summed, depth + 1));
}

Ref sum_cotangent(Builder *b, Ref w, uint32_t n, const int *axes) {
	ReducedAxes summed = {.n = n};
	for (uint32_t i = 0; i < n; i++) summed.at[i] = axes[i];
	return sum_before(b, w, &summed, 0);
}
