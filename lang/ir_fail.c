/* ir_fail.c - which operations may fail, or not end: the one answer for all who drop, move or try operations.
 *
 * Needs: ir.h, host.h. Guarantees: no for an answer is a proof, from the primitive's row in prims.def (CHECK, EFFECT, FAILS), constant
 * operands and constant lengths. Limits of time and memory are no failures in this sense, since no `try` catches them.
 */
#include "lang/host.h"

static bool whole_splat(const Fn *f, Ref r, int64_t *out) {
	Value v;
	return ref_splat(f, r, &v) && value_as_i64(v, out);
}

/* Of whole numbers: a division by zero, a negative exponent. */
static bool arithmetic_fails(const Fn *f, Op op, Ref y) {
	int64_t k;
	if (!(prims[op].algebra & ALGEBRA_FAILS) || !dtype_is_int((Dtype)ref_ty(f, y)->dtype)) return false;
	return !whole_splat(f, y, &k) || (op == OP_POW ? k < 0 : k == 0);
}

/* Of no elements there is no largest. */
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

bool fails_alone(const Fn *f, Op op, const Ref *args, AttrId attr) {
	if (prims[op].elementwise) return arithmetic_fails(f, op, args[prims[op].nargs - 1]);
	switch (op) {
	case OP_GATHER: case OP_SCATTER_ADD: case OP_SCATTER_SET: return may_be_outside(f, op, args[0], args[1], attr);
	case OP_REDUCE_MAX: case OP_REDUCE_MIN: case OP_ARGMAX: return may_be_empty(f, op, args[0], attr);
	case OP_PROGRESS: return false;
	default: return prims[op].effect != EFFECT_PURE;
	}
}

static bool region_may_fail(const Fn *f, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (inst_may_fail(f, &f->insts.at[f->inst_order.at[g->insts + i]])) return true;
	return false;
}

bool inst_may_fail(const Fn *f, const Inst *in) {
	switch ((Op)in->op) {
	case OP_IF: return region_may_fail(f, inst_region(f, in, 0)) || region_may_fail(f, inst_region(f, in, 1));
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
