/* may_fail.c - the analysis of which operations may fail, or not terminate.
 *
 * Needs: ir.h, host.h.
 *
 * Contract:
 * - Every pass that removes, moves or tries operations uses this analysis.
 * - The answer "no" is a proof, from the primitive's row in prims.def (CHECK,
 *   EFFECT, FAILS), constant operands and constant extents.
 * - Limits of time and memory do not count as failures, since no `try` catches
 *   them.
 */
#include "lang/ir/host.h"
#include <string.h>

static bool whole_splat(const Fn *f, Ref r, int64_t *out) {
	Value v;
	return ref_splat(f, r, &v) && value_as_i64(v, out);
}

/* Integer failures: division by zero, a negative exponent. */
static bool arithmetic_fails(const Fn *f, Op op, Ref y) {
	int64_t k;
	if (!(prims[op].traits & TRAIT_FAILS) || !dtype_is_int((Dtype)ref_ty(f, y)->dtype))
		return false;
	return !whole_splat(f, y, &k) || (op == OP_POW ? k < 0 : k == 0);
}

/* A maximum over no elements fails. */
static bool may_be_empty(const Fn *f, Op op, Ref x, AttrId attr) {
	uint32_t n;
	const int64_t *axes = attr_field(f->ctx, op, attr, 0, &n);
	const Type t = *ref_ty(f, x);
	for (uint32_t k = 0; k < n; k++) {
		int64_t length;
		if (!dim_is_const(f->ctx, t.dims[axes[k]], &length) || length < 1) return true;
	}
	return false;
}

static bool may_be_outside(const Fn *f, Op op, Ref x, Ref index, AttrId attr) {
	int64_t k, length;
	const Dim d = ref_ty(f, x)->dims[attr_int(f->ctx, op, attr, 0)];
	return !whole_splat(f, index, &k) || !dim_is_const(f->ctx, d, &length) || k < 0 || k >= length;
}

/* Not negative, whatever the extents of its symbols. */
static bool surely_length(const Ctx *c, Dim d) {
	for (uint32_t i = 0; i < dim_term_count(c, d); i++) {
		DimPart part[DIM_DEGREE];
		uint32_t n;
		if (dim_term(c, d, i, part, &n) < 0) return false;
		for (uint32_t k = 0; k < n; k++)
			if (part[k].by > 0 && !surely_length(c, part[k].inner)) return false;
	}
	return true;
}

/* A box of these extents fits into an array of the type. */
static bool surely_fits(Ctx *c, const Type *t, const int64_t *start, const Dim *length,
                        const int64_t *stride) {
	for (uint32_t k = 0; k < t->rank; k++) {
		const Dim from = (Dim)start[k];
		int64_t first, n, whole;
		if (!surely_length(c, from) || !surely_length(c, length[k])) return false;
		if (stride[k] == 1) {
			if (!surely_length(c, dim_sub(c, dim_sub(c, t->dims[k], from), length[k])))
				return false;
		} else if (!dim_is_const(c, from, &first) || !dim_is_const(c, length[k], &n) ||
		           !dim_is_const(c, t->dims[k], &whole)) {
			return false;
		} else if (n) {
			const int64_t last = first + stride[k] * (n - 1);
			if (first >= whole || last < 0 || last >= whole) return false;
		}
	}
	return true;
}

/* Failures of operations that only move or create elements: an extent may be
 * negative, or a box may exceed the array. */
static bool lengths_fail(const Fn *f, Op op, const Ref *args, AttrId attr) {
	Ctx *c = f->ctx;
	uint32_t n;
	if (op == OP_SLICE || op == OP_UPDATE) {
		const Type t = *ref_ty(f, args[0]);
		const int64_t *start = attr_field(c, op, attr, 0, &n),
					  *stride = attr_field(c, op, attr, op == OP_SLICE ? 2 : 1, &n);
		Dim length[MAX_RANK];
		if (op == OP_UPDATE) memcpy(length, ref_ty(f, args[1])->dims, sizeof length);
		for (uint32_t k = 0; op == OP_SLICE && k < t.rank; k++)
			length[k] = (Dim)attr_field(c, op, attr, 1, &n)[k];
		return !surely_fits(c, &t, start, length, stride);
	}
	if (op != OP_BROADCAST && op != OP_RESHAPE && op != OP_IOTA && op != OP_RANDOM) return false;
	const int64_t *shape = attr_field(c, op, attr, op == OP_IOTA, &n);
	for (uint32_t k = 0; k < n; k++)
		if (!surely_length(c, (Dim)shape[k])) return true;
	return false;
}

bool fails_alone(const Fn *f, Op op, const Ref *args, AttrId attr) {
	if (prims[op].elementwise) return arithmetic_fails(f, op, args[prims[op].nargs - 1]);
	switch (op) {
	case OP_GATHER:
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: return may_be_outside(f, op, args[0], args[1], attr);
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX: return may_be_empty(f, op, args[0], attr);
	case OP_PROGRESS: return false;
	default: return prims[op].effect != EFFECT_PURE || lengths_fail(f, op, args, attr);
	}
}

static bool region_may_fail(const Fn *f, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (inst_may_fail(f, &f->insts.at[f->inst_order.at[g->insts + i]])) return true;
	return false;
}

bool inst_may_fail(const Fn *f, const Inst *in) {
	switch ((Op)in->op) {
	case OP_IF:
		return region_may_fail(f, inst_region(f, in, 0)) ||
		       region_may_fail(f, inst_region(f, in, 1));
	case OP_FOR: return region_may_fail(f, inst_region(f, in, 0));
	case OP_TRY: return region_may_fail(f, inst_region(f, in, 1));
	case OP_CALL: {
		const Fn *callee = inst_callee(f->ctx, in);
		return !callee->finished || callee->may_fail;
	}
	case OP_HOST: {
		const HostCall *call = host_call(f->ctx, (HostId)attr_int(f->ctx, OP_HOST, in->attr, 0));
		return !host_is_pure(call) || (call->def->written && call->fns[0]->may_fail);
	}
	default: return fails_alone(f, (Op)in->op, in->nargs ? &f->args.at[in->args] : NULL, in->attr);
	}
}
