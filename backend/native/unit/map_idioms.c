/* map_idioms.c - idioms of mapped programs: masks, operations across rows,
 * tapes.
 *
 * Needs: map_vectorise.h.
 *
 * Contract: an idiom is recognised by its instructions, as
 * autodiff/batch/batch.c and the derivatives of loops write them. Others are
 * ordinary instructions, which the callers reject where they read across rows.
 */
#include "backend/native/unit/map_vectorise.h"

#define ROW_COUNT 64 /* elements of one row of a value */

/* ---- masks --------------------------------------------------------------- */

static bool is_mask(const Lower *l, Ref r) {
	const Type *t = ref_ty(l->f, r);
	return ref_is_value(r) && t->kind == TY_TENSOR && t->dtype == DT_BOOL && t->rank == 1 &&
	       t->dims[0] == l->row;
}

/* The mask that r is, without its negations. */
static Mask mask_from(const Lower *l, Ref r) {
	Mask m = {.r = r};
	Value v;
	for (;;) {
		const Inst *in = ref_inst(l->f, m.r);
		if (!in || in->op != OP_EQ || !is_mask(l, inst_arg(l->f, in, 0))) return m;
		if (!ref_splat(l->f, inst_arg(l->f, in, 1), &v) || v.dtype != DT_BOOL || v.b) return m;
		m.r = inst_arg(l->f, in, 0);
		m.off = !m.off;
	}
}

/* ---- operations across rows ---------------------------------------------- */

static bool is_zero(const Lower *l, Ref r) {
	Value v;
	return ref_splat(l->f, r, &v) && v.dtype == DT_I64 && v.i == 0;
}

static bool is_own_number(const Lower *l, Ref r) {
	const Inst *in = ref_inst(l->f, r);
	return in && in->op == OP_IOTA && ref_ty(l->f, r)->dims[0] == l->row;
}

CrossLane cross_lane_idiom(const Lower *l, Ref r, Mask *mask) {
	const Fn *f = l->f;
	const Inst *in = ref_inst(f, r), *x;
	Ref given;
	if (!in || l->row_lanes) return CROSS_LANE_NONE;
	switch ((Op)in->op) {
	case OP_REDUCE_SUM:
		x = ref_inst(f, inst_arg(f, in, 0));
		if (!x || x->op != OP_CONVERT || ref_ty(f, r)->rank || ref_ty(f, r)->dtype != DT_I64)
			return CROSS_LANE_NONE;
		given = inst_arg(f, x, 0);
		if (!is_mask(l, given)) return CROSS_LANE_NONE;
		*mask = mask_from(l, given);
		return CROSS_LANE_COUNT;
	case OP_LT:
		if (!is_zero(l, inst_arg(f, in, 0))) return CROSS_LANE_NONE;
		return cross_lane_idiom(l, inst_arg(f, in, 1), mask) == CROSS_LANE_COUNT ? CROSS_LANE_ANY
		                                                                         : CROSS_LANE_NONE;
	case OP_ARGMAX:
		given = inst_arg(f, in, 0);
		if (!is_mask(l, given)) return CROSS_LANE_NONE;
		*mask = mask_from(l, given);
		return CROSS_LANE_FIRST;
	case OP_BROADCAST:
		return cross_lane_idiom(l, inst_arg(f, in, 0), mask) == CROSS_LANE_FIRST
		           ? CROSS_LANE_BROADCAST
		           : CROSS_LANE_NONE;
	case OP_SELECT:
		if (!is_mask(l, inst_arg(f, in, 0))) return CROSS_LANE_NONE;
		for (uint32_t k = 0; k < 2; k++) { /* the builder removes a negation by swapping */
			Mask own = mask_from(l, inst_arg(f, in, 0));
			own.off ^= k != 0;
			if (!is_own_number(l, inst_arg(f, in, 1 + k)) ||
			    cross_lane_idiom(l, inst_arg(f, in, 2 - k), mask) != CROSS_LANE_BROADCAST)
				continue;
			return same_mask(own, *mask) ? CROSS_LANE_SAFE_INDEX : CROSS_LANE_NONE;
		}
		return CROSS_LANE_NONE;
	default: return CROSS_LANE_NONE;
	}
}

bool is_feed(const Lower *l, const Inst *in, Mask *mask) {
	if (in->op != OP_GATHER || attr_int(l->c, OP_GATHER, in->attr, 0) ||
	    attr_int(l->c, OP_GATHER, in->attr, 1))
		return false;
	return lower_row_axis(l, inst_arg(l->f, in, 0)) == 0 &&
	       cross_lane_idiom(l, inst_arg(l->f, in, 1), mask) == CROSS_LANE_SAFE_INDEX;
}

/* ---- values outside a mask ----------------------------------------------- */

/* The mask from which r, a condition for each element, is broadcast. */
static Mask mask_of(const Lower *l, Ref r) {
	const Inst *in = ref_inst(l->f, r);
	if (is_mask(l, r)) return mask_from(l, r);
	if (in && in->op == OP_BROADCAST && lower_row_axis(l, r) == 0 &&
	    is_mask(l, inst_arg(l->f, in, 0)))
		return mask_from(l, inst_arg(l->f, in, 0));
	return (Mask){.r = REF_NONE};
}

static bool same_value(const Lower *l, Ref x, Ref y) {
	Value p, q;
	if (x == y) return true;
	if (!ref_splat(l->f, x, &p) || !ref_splat(l->f, y, &q) || p.dtype != q.dtype ||
	    dtype_is_complex((Dtype)p.dtype))
		return false;
	return !memcmp(value_scalar_bytes(&p), value_scalar_bytes(&q), dtype_size((Dtype)p.dtype));
}

static bool is_nothing(const Lower *l, Ref r) {
	Value v;
	double x;
	return ref_splat(l->f, r, &v) && !dtype_is_complex((Dtype)v.dtype) && value_as_f64(v, &x) &&
	       x == 0;
}

bool keeps_outside(const Lower *l, Ref next, Ref old, Mask *mask) {
	if (next == old) return true;
	const Inst *in = ref_inst(l->f, next);
	Mask m = {.r = REF_NONE};
	if (in && in->op == OP_SELECT) {
		m = mask_of(l, inst_arg(l->f, in, 0));
		if (!same_value(l, inst_arg(l->f, in, 2), old)) {
			m.off = !m.off;
			if (!same_value(l, inst_arg(l->f, in, 1), old)) return false;
		}
	} else if (in && in->op == OP_ADD &&
	           (inst_arg(l->f, in, 0) == old || inst_arg(l->f, in, 1) == old)) {
		/* The term is zero outside the mask. */
		const Inst *term = ref_inst(l->f, inst_arg(l->f, in, inst_arg(l->f, in, 0) == old));
		if (!term || term->op != OP_SELECT) return false;
		m = mask_of(l, inst_arg(l->f, term, 0));
		if (!is_nothing(l, inst_arg(l->f, term, 2))) {
			m.off = !m.off;
			if (!is_nothing(l, inst_arg(l->f, term, 1))) return false;
		}
	} else if (in && in->op == OP_MIN && is_mask(l, next) &&
	           (inst_arg(l->f, in, 0) == old || inst_arg(l->f, in, 1) == old)) {
		m = mask_from(l, old);
	}
	if (!m.r || (mask->r && !same_mask(*mask, m))) return false;
	*mask = m;
	return true;
}

Mask body_mask(const Lower *l, const Inst *in, const Region *body) {
	Mask mask = {.r = REF_NONE};
	for (uint32_t k = 0; k < in->nresults && !l->row_lanes; k++)
		if (!keeps_outside(l, region_result(l, body, k), ref_value(body->params + first_of(in) + k),
		                   &mask))
			return (Mask){.r = REF_NONE};
	return mask;
}

/* ---- tapes and lookups --------------------------------------------------- */

bool row_type(Ctx *c, TypeId t, Dim row, bool *has_row) {
	const Type *ty = type_of(c, t);
	*has_row = false;
	if (ty->kind != TY_TENSOR || dtype_is_complex((Dtype)ty->dtype)) return false;
	int64_t count = 1, n;
	for (uint32_t i = 0; i < ty->rank; i++) {
		if (ty->dims[i] == row) {
			if (*has_row) return false;
			*has_row = true;
			continue;
		}
		if (!dim_is_const(c, ty->dims[i], &n) || n < 0 || n > ROW_COUNT) return false;
		count *= n;
		if (count > ROW_COUNT) return false;
	}
	return *has_row || type_is_small(c, t, NULL);
}

bool is_tape(const Lower *l, Ref r) {
	bool row;
	const Type *t = ref_ty(l->f, r);
	return (ref_is_value(r) || ref_constant(l->f, r)) && t->kind == TY_TENSOR &&
	       !dtype_is_complex((Dtype)t->dtype) && (l->row_lanes || lower_row_axis(l, r) >= 0) &&
	       !row_type(l->c, ref_type(l->f, r), l->row, &row);
}

bool at_iteration(const Lower *l, const Inst *in) {
	if ((in->op != OP_GATHER && in->op != OP_SCATTER_SET) || !is_tape(l, inst_arg(l->f, in, 0)))
		return false;
	const Type *t = ref_ty(l->f, inst_arg(l->f, in, 0));
	const int axis = (int)attr_int(l->c, (Op)in->op, in->attr, 0),
			  row = lower_row_axis(l, inst_arg(l->f, in, 0));
	int64_t n;
	if (axis == row || attr_int(l->c, (Op)in->op, in->attr, 1) ||
	    ref_ty(l->f, inst_arg(l->f, in, 1))->rank)
		return false;
	for (int i = 0; i < t->rank; i++)
		if (i != row &&
		    (t->dims[i] == l->row || (i != axis && !dim_is_const(l->c, t->dims[i], &n))))
			return false;
	return true;
}

bool carries_tape(const Lower *l, const Inst *in, uint32_t k) {
	if (in->op != OP_FOR || !is_tape(l, inst_result(in, k)) ||
	    !ref_is_value(inst_arg(l->f, in, 1 + k)))
		return false;
	const Region *body = inst_region(l->f, in, 0);
	const Ref param = ref_value(body->params + 1 + k), next = l->f->args.at[body->results + k];
	const Inst *write = ref_inst(l->f, next);
	return write && write->op == OP_SCATTER_SET && at_iteration(l, write) &&
	       inst_arg(l->f, write, 0) == param && l->uses[REF_INDEX(param)] == 1 &&
	       l->uses[REF_INDEX(next)] == 1;
}

bool is_lookup(const Lower *l, const Inst *in) {
	if (in->op != OP_GATHER || attr_int(l->c, OP_GATHER, in->attr, 1)) return false;
	const Ref x = inst_arg(l->f, in, 0);
	const Type *t = ref_ty(l->f, x);
	const int64_t axis = attr_int(l->c, OP_GATHER, in->attr, 0);
	int64_t n;
	if (type_is_small(l->c, ref_type(l->f, x), NULL) || dtype_is_complex((Dtype)t->dtype))
		return false;
	for (uint32_t i = 0; i < t->rank; i++)
		if (t->dims[i] == l->row || (i != axis && !dim_is_const(l->c, t->dims[i], &n)))
			return false;
	return true;
}
