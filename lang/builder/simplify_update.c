/* simplify_update.c - rewrite rules of boxes in arrays: updates, padding, and
 * sums with an array that is zero outside a box or outside indices.
 *
 * Needs: builder/simplify.h.
 *
 * Contract: as simplify.c.
 *
 * Method: two boxes are compared axis by axis. They are equal, one is inside
 * the other, or they are disjoint, for all extents.
 */
#include "lang/builder/simplify.h"

/* ---- updates of a box ---------------------------------------------------- */

/* One axis of a box in an array: `length` elements from `start` with a stride.
 */
typedef struct BoxAxis {
	Dim start, length;
	int64_t stride;
} BoxAxis;

static BoxAxis slice_side(Builder *b, const Expr *e, uint32_t k) {
	uint32_t n;
	return (BoxAxis){(Dim)expr_field(b, e, 0, &n)[k], (Dim)expr_field(b, e, 1, &n)[k],
	                 expr_field(b, e, 2, &n)[k]};
}

static BoxAxis update_side(Builder *b, AttrId attr, Ref v, uint32_t k) {
	uint32_t n;
	return (BoxAxis){(Dim)attr_field(b->ctx, OP_UPDATE, attr, 0, &n)[k], ref_ty(b->fn, v)->dims[k],
	                 attr_field(b->ctx, OP_UPDATE, attr, 1, &n)[k]};
}

static bool same_side(Builder *b, BoxAxis x, BoxAxis y) {
	return build_same_dim(b, x.start, y.start) && build_same_dim(b, x.length, y.length) &&
	       (x.stride == y.stride || dim_is(b, x.length, 1));
}

/* Whether x - y is a known constant, returned in *out. */
static bool dim_difference(Builder *b, Dim x, Dim y, int64_t *out) {
	return dim_is_const(b->ctx,
	                    build_canon(b, dim_sub(b->ctx, build_canon(b, x), build_canon(b, y))), out);
}

static Dim side_end(Builder *b, BoxAxis x) { return dim_add(b->ctx, x.start, x.length); }

/* Whether the two sides are disjoint for all extents. Decided only for stride
 * 1, for which dims can be compared. */
static bool apart(Builder *b, BoxAxis x, BoxAxis y) {
	int64_t gap;
	if (dim_is(b, x.length, 1)) x.stride = 1;
	if (dim_is(b, y.length, 1)) y.stride = 1;
	if (x.stride != 1 || y.stride != 1) return false;
	return (dim_difference(b, x.start, side_end(b, y), &gap) && gap >= 0) ||
	       (dim_difference(b, y.start, side_end(b, x), &gap) && gap >= 0);
}

static bool within(Builder *b, BoxAxis inner, BoxAxis outer) {
	int64_t before, after;
	return inner.stride == 1 && outer.stride == 1 &&
	       dim_difference(b, inner.start, outer.start, &before) && before >= 0 &&
	       dim_difference(b, side_end(b, outer), side_end(b, inner), &after) && after >= 0;
}

/* A slice inside the box is a slice of the written values; a slice outside it
 * is one of the original array. */
Ref rule_slice_update(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_UPDATE);
	if (!in) return REF_NONE;
	Ref x = inst_arg(b->fn, in, 0), v = inst_arg(b->fn, in, 1);
	AttrId box = in->attr;
	uint32_t rank = ref_ty(b->fn, x)->rank;
	bool same = true, inside = true, beside = false;
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	for (uint32_t k = 0; k < rank; k++) {
		BoxAxis s = slice_side(b, e, k), u = update_side(b, box, v, k);
		same = same && same_side(b, s, u);
		inside = inside && within(b, s, u);
		beside = beside || apart(b, s, u);
		start[k] = s.start;
		length[k] = s.length;
		stride[k] = s.stride;
	}
	if (same) return v;
	if (beside) return build_slice(b, x, start, length, stride);
	if (!inside) return REF_NONE;
	for (uint32_t k = 0; k < rank; k++)
		start[k] = dim_sub(b->ctx, start[k], update_side(b, box, v, k).start);
	return build_slice(b, v, start, length, NULL);
}

/* An empty box changes nothing; a box that covers the array replaces all of it.
 */
Ref rule_update_all(Builder *b, const Expr *e) {
	Type t = *ref_ty(b->fn, e->args[0]);
	bool all = true;
	for (uint32_t k = 0; k < t.rank; k++) {
		BoxAxis u = update_side(b, e->attr, e->args[1], k);
		if (dim_is(b, u.length, 0)) return e->args[0];
		all =
			all && dim_is(b, u.start, 0) && build_same_dim(b, u.length, t.dims[k]) && u.stride == 1;
	}
	return all ? e->args[1] : REF_NONE;
}

/* The second write to the same box overwrites the first. */
Ref rule_update_again(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_UPDATE);
	if (!in || in->attr != e->attr) return REF_NONE;
	Ref before = inst_arg(b->fn, in, 1), x = inst_arg(b->fn, in, 0);
	if (type_at(b, before) != type_at(b, e->args[1])) return REF_NONE;
	return build(b, OP_UPDATE, 2, (Ref[]){x, e->args[1]}, e->attr, NULL);
}

/* Writing an array's own elements back where they were changes nothing. */
Ref rule_update_own(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[1], OP_SLICE);
	if (!in || inst_arg(b->fn, in, 0) != e->args[0]) return REF_NONE;
	Expr s = {.op = OP_SLICE, .attr = in->attr};
	for (uint32_t k = 0; k < ref_ty(b->fn, e->args[0])->rank; k++)
		if (!same_side(b, slice_side(b, &s, k), update_side(b, e->attr, e->args[1], k)))
			return REF_NONE;
	return e->args[0];
}

/* ---- padded arrays ------------------------------------------------------- */

static BoxAxis pad_side(Builder *b, AttrId attr, Ref v, uint32_t k) {
	uint32_t n;
	return (BoxAxis){(Dim)attr_field(b->ctx, OP_PAD, attr, 0, &n)[k], ref_ty(b->fn, v)->dims[k],
	                 attr_field(b->ctx, OP_PAD, attr, 2, &n)[k]};
}

/* A slice of the whole box is the operand; one outside the box is zero; one
 * inside it is a slice of the operand. */
Ref rule_slice_pad(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_PAD);
	if (!in) return REF_NONE;
	const Ref v = inst_arg(b->fn, in, 0);
	const AttrId box = in->attr;
	const uint32_t rank = ref_ty(b->fn, v)->rank;
	bool same = true, inside = true, beside = false;
	Dim start[MAX_RANK], length[MAX_RANK];
	for (uint32_t k = 0; k < rank; k++) {
		BoxAxis s = slice_side(b, e, k), u = pad_side(b, box, v, k);
		same = same && same_side(b, s, u);
		inside = inside && within(b, s, u);
		beside = beside || apart(b, s, u);
		start[k] = dim_sub(b->ctx, s.start, u.start);
		length[k] = s.length;
	}
	if (same) return v;
	if (beside) return full(b, e, 0);
	return inside ? build_slice(b, v, start, length, NULL) : REF_NONE;
}

/* Whether the box is known to cover at most half of the array. A constant
 * extent counts as small compared with a symbolic one, which is assumed to be
 * large. */
static bool is_small_box(Builder *b, Ref v, const Type *whole) {
	double share = 1;
	for (uint32_t k = 0; k < whole->rank; k++) {
		int64_t part, all;
		if (!dim_is_const(b->ctx, build_canon(b, ref_ty(b->fn, v)->dims[k]), &part)) {
			if (!build_same_dim(b, ref_ty(b->fn, v)->dims[k], whole->dims[k])) return false;
		} else if (!dim_is_const(b->ctx, build_canon(b, whole->dims[k]), &all)) share = 0;
		else if (all > 0) share *= (double)part / (double)all;
	}
	return share <= 0.5;
}

/* x + (zeros with a small box) becomes an addition within the box. This
 * accumulates cotangents of slices of one array. */
Ref rule_add_pad(Builder *b, const Expr *e) {
	for (uint32_t side = 2; side-- > 0;) {
		const Inst *in = made_by(b, e->args[side], OP_PAD);
		if (!in) continue;
		const Ref v = inst_arg(b->fn, in, 0), x = e->args[1 - side];
		const AttrId box = in->attr;
		const Type t = *type_of(b->ctx, e->type);
		if (!is_small_box(b, v, &t)) continue;
		Dim start[MAX_RANK], length[MAX_RANK];
		int64_t stride[MAX_RANK];
		for (uint32_t k = 0; k < t.rank; k++) {
			const BoxAxis s = pad_side(b, box, v, k);
			start[k] = s.start;
			length[k] = s.length;
			stride[k] = s.stride;
		}
		return build_update(b, x, build2(b, OP_ADD, build_slice(b, x, start, length, stride), v),
		                    start, stride);
	}
	return REF_NONE;
}

/* x + (zeros with u added at indices), possibly reshaped, becomes a scatter-add
 * into x. */
Ref rule_add_scattered(Builder *b, const Expr *e) {
	for (uint32_t side = 2; side-- > 0;) {
		const Ref flat = under(b, OP_RESHAPE, e->args[side]),
				  r = flat != REF_NONE ? flat : e->args[side];
		const Inst *in = made_by(b, r, OP_SCATTER_ADD);
		if (!in || !splat_is(b, inst_arg(b->fn, in, 0), 0)) continue;
		const Ref index = inst_arg(b->fn, in, 1), u = inst_arg(b->fn, in, 2);
		const int axis = (int)attr_int(b->ctx, OP_SCATTER_ADD, in->attr, 0),
				  batch = (int)attr_int(b->ctx, OP_SCATTER_ADD, in->attr, 1);
		const Type t = *type_of(b->ctx, e->type), inner = *ref_ty(b->fn, r);
		Ref x = e->args[1 - side];
		if (flat != REF_NONE) x = build_reshape(b, x, inner.rank, inner.dims);
		x = build_scatter(b, OP_SCATTER_ADD, x, index, u, axis, batch);
		return flat != REF_NONE ? build_reshape(b, x, t.rank, t.dims) : x;
	}
	return REF_NONE;
}

Ref rule_pad_zero(Builder *b, const Expr *e) {
	return splat_is(b, e->args[0], 0) ? full(b, e, 0) : REF_NONE;
}
