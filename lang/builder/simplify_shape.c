/* simplify_shape.c - rewrite rules of primitives that only move elements:
 * broadcasts, reshapes, transposes, slices, concatenations, unboxed arrays.
 *
 * Needs: builder/simplify.h.
 *
 * Contract: as simplify.c.
 *
 * Method: broadcasts move outwards, so that the program computes on the smaller
 * operand. Two moves in sequence become one.
 */
#include "lang/builder/simplify.h"

/* ---- broadcasts move outwards -------------------------------------------- */

Ref rule_broadcast_same(Builder *b, const Expr *e) {
	return type_at(b, e->args[0]) == e->type ? e->args[0] : REF_NONE;
}

Ref rule_broadcast_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	uint32_t n, inner_n;
	int axes[MAX_RANK];
	const int64_t *inner = field(b, in, 1, &inner_n), *outer = expr_field(b, e, 1, &n);
	for (uint32_t k = 0; k < inner_n; k++) axes[k] = (int)outer[inner[k]];
	Type t = *type_of(b->ctx, e->type);
	return build_broadcast(b, inst_arg(b->fn, in, 0), t.rank, t.dims, axes);
}

/* Repeats a broadcast, which adds or stretches axes, for another operand. */
static Ref broadcast_again(Builder *b, const Inst *in, Ref x, TypeId shape) {
	uint32_t n;
	int axes[MAX_RANK];
	const int64_t *at = field(b, in, 1, &n);
	for (uint32_t k = 0; k < n; k++) axes[k] = (int)at[k];
	Type t = *type_of(b->ctx, shape);
	return build_broadcast(b, x, t.rank, t.dims, axes);
}

/* Computing before the broadcast must not report an error that no element would
 * have: the broadcast may be empty. */
static bool may_fail(Builder *b, const Expr *e) {
	return fails_alone(b->fn, e->op, e->args, e->attr);
}

static Ref broadcast_out1(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	Ref y = build(b, e->op, 1, (Ref[]){inst_arg(b->fn, &outer, 0)}, e->attr, NULL);
	return broadcast_again(b, &outer, y, e->type);
}

/* op of two broadcasts that create some common axes: these are created after
 * op. */
static Ref broadcast_out_common(Builder *b, const Expr *e, Inst ix, Inst iy) {
	Type t = *type_of(b->ctx, e->type);
	uint32_t nx, ny, rank = 0;
	const int64_t *ax = field(b, &ix, 1, &nx), *ay = field(b, &iy, 1, &ny);
	bool had[MAX_RANK] = {false};
	int place[MAX_RANK], outer[MAX_RANK], axes[MAX_RANK];
	Dim dims[MAX_RANK];
	for (uint32_t k = 0; k < nx; k++) had[ax[k]] = true;
	for (uint32_t k = 0; k < ny; k++) had[ay[k]] = true;
	for (uint32_t k = 0; k < t.rank; k++) {
		place[k] = (int)rank;
		if (!had[k]) continue;
		outer[rank] = (int)k;
		dims[rank++] = t.dims[k];
	}
	if (rank == t.rank) return REF_NONE;
	for (uint32_t k = 0; k < nx; k++) axes[k] = place[ax[k]];
	Ref x = build_broadcast(b, inst_arg(b->fn, &ix, 0), rank, dims, axes);
	for (uint32_t k = 0; k < ny; k++) axes[k] = place[ay[k]];
	Ref y = build_broadcast(b, inst_arg(b->fn, &iy, 0), rank, dims, axes);
	return build_broadcast(b, build2(b, e->op, x, y), t.rank, t.dims, outer);
}

/* op of two broadcasts along the same axes, or of a broadcast and a broadcast
 * scalar. */
static Ref broadcast_out2(Builder *b, const Expr *e) {
	const Inst *ix = made_by(b, e->args[0], OP_BROADCAST),
			   *iy = made_by(b, e->args[1], OP_BROADCAST);
	if (!ix || !iy || may_fail(b, e)) return REF_NONE;
	Inst outer = *ix;
	Ref x = inst_arg(b->fn, ix, 0), y = inst_arg(b->fn, iy, 0);
	bool scalar_x = !ref_ty(b->fn, x)->rank, scalar_y = !ref_ty(b->fn, y)->rank;
	if (scalar_x && !scalar_y) {
		outer = *iy;
		x = spread(b, x, type_at(b, y));
	} else if (scalar_y && !scalar_x) {
		y = spread(b, y, type_at(b, x));
	} else if (!scalar_x) {
		uint32_t nx, ny;
		const int64_t *ax = field(b, ix, 1, &nx), *ay = field(b, iy, 1, &ny);
		if (type_at(b, x) != type_at(b, y) || memcmp(ax, ay, nx * sizeof *ax) != 0)
			return broadcast_out_common(b, e, *ix, *iy);
	}
	return broadcast_again(b, &outer, build2(b, e->op, x, y), e->type);
}

Ref rule_broadcast_out(Builder *b, const Expr *e) {
	return e->nargs == 1 ? broadcast_out1(b, e) : broadcast_out2(b, e);
}

/* ---- shapes -------------------------------------------------------------- */

Ref rule_reshape_same(Builder *b, const Expr *e) {
	return type_at(b, e->args[0]) == e->type ? e->args[0] : REF_NONE;
}

Ref rule_reshape_reshape(Builder *b, const Expr *e) {
	Ref x = under(b, OP_RESHAPE, e->args[0]);
	Type t = *type_of(b->ctx, e->type);
	return x != REF_NONE ? build_reshape(b, x, t.rank, t.dims) : REF_NONE;
}

/* The scalar whose broadcast is r; REF_NONE otherwise. */
static Ref under_spread(Builder *b, Ref r) {
	Ref x = under(b, OP_BROADCAST, r);
	return x != REF_NONE && !ref_ty(b->fn, x)->rank ? x : REF_NONE;
}

/* Reshape and transpose: a broadcast scalar stays a broadcast scalar. */
Ref rule_moves_spread(Builder *b, const Expr *e) {
	Ref x = under_spread(b, e->args[0]);
	return x != REF_NONE ? spread(b, x, e->type) : REF_NONE;
}

/* A reshape that only adds and removes axes of extent 1 is applied before the
 * broadcast. */
Ref rule_reshape_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	Type from = *ref_ty(b->fn, e->args[0]), to = *type_of(b->ctx, e->type),
		 t = *ref_ty(b->fn, inst_arg(b->fn, &outer, 0));
	uint32_t n, rank = 0, i = 0;
	const int64_t *placed = field(b, &outer, 1, &n);
	int axis[MAX_RANK], axes[MAX_RANK];
	Dim dims[MAX_RANK];
	bool makes = false;
	for (uint32_t k = 0; k < from.rank; k++) {
		bool made = true;
		axis[k] = -1;
		if (dim_is(b, from.dims[k], 1)) continue;
		while (i < to.rank && dim_is(b, to.dims[i], 1)) i++;
		if (i == to.rank || !build_same_dim(b, from.dims[k], to.dims[i])) return REF_NONE;
		axis[k] = (int)i++;
		for (uint32_t j = 0; j < n; j++) made = made && placed[j] != k;
		makes = makes || made;
	}
	for (; i < to.rank; i++)
		if (!dim_is(b, to.dims[i], 1)) return REF_NONE;
	if (!makes) return REF_NONE;
	for (uint32_t k = 0; k < n; k++) {
		if (axis[placed[k]] < 0) continue;
		axes[rank] = axis[placed[k]];
		dims[rank++] = t.dims[k];
	}
	return build_broadcast(b, build_reshape(b, inst_arg(b->fn, &outer, 0), rank, dims), to.rank,
	                       to.dims, axes);
}

Ref rule_transpose_identity(Builder *b, const Expr *e) {
	uint32_t n;
	const int64_t *perm = expr_field(b, e, 0, &n);
	for (uint32_t k = 0; k < n; k++)
		if (perm[k] != k) return REF_NONE;
	return e->args[0];
}

Ref rule_transpose_transpose(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_TRANSPOSE);
	if (!in) return REF_NONE;
	uint32_t n;
	int perm[MAX_RANK];
	const int64_t *inner = field(b, in, 0, &n), *outer = expr_field(b, e, 0, &n);
	for (uint32_t k = 0; k < n; k++) perm[k] = (int)inner[outer[k]];
	return build_transpose(b, inst_arg(b->fn, in, 0), perm);
}

/* A transposed broadcast is another broadcast, when the operand's axes keep
 * their order. */
Ref rule_transpose_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	uint32_t n, naxes;
	int axes[MAX_RANK];
	const int64_t *perm = expr_field(b, e, 0, &n), *placed = field(b, in, 1, &naxes);
	for (uint32_t k = 0; k < naxes; k++) {
		for (uint32_t j = 0; j < n; j++)
			if (perm[j] == placed[k]) axes[k] = (int)j;
		if (k && axes[k] <= axes[k - 1]) return REF_NONE;
	}
	Type t = *type_of(b->ctx, e->type);
	return build_broadcast(b, inst_arg(b->fn, in, 0), t.rank, t.dims, axes);
}

/* Whether axis k of e (a slice or pad) selects a whole operand axis of extent
 * `whole`. */
static bool takes_all(Builder *b, const Expr *e, uint32_t k, Dim whole) {
	uint32_t n;
	return dim_is(b, expr_field(b, e, 0, &n)[k], 0) &&
	       same_words(b, expr_field(b, e, 1, &n)[k], whole) && expr_field(b, e, 2, &n)[k] == 1;
}

Ref rule_strided_nothing(Builder *b, const Expr *e) {
	Type t = *ref_ty(b->fn, e->args[0]);
	for (uint32_t k = 0; k < t.rank; k++)
		if (!takes_all(b, e, k, t.dims[k])) return REF_NONE;
	return e->args[0];
}

Ref rule_slice_slice(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_SLICE);
	if (!in) return REF_NONE;
	uint32_t n;
	const int64_t *start1 = field(b, in, 0, &n), *stride1 = field(b, in, 2, &n);
	const int64_t *start2 = expr_field(b, e, 0, &n), *length = expr_field(b, e, 1, &n);
	const int64_t *stride2 = expr_field(b, e, 2, &n);
	Dim start[MAX_RANK], lengths[MAX_RANK];
	int64_t stride[MAX_RANK];
	for (uint32_t k = 0; k < n; k++) {
		if (__builtin_mul_overflow(stride1[k], stride2[k], &stride[k])) return REF_NONE;
		start[k] = dim_add(b->ctx, (Dim)start1[k],
		                   dim_mul(b->ctx, (Dim)start2[k], dim_const(b->ctx, stride1[k])));
		lengths[k] = (Dim)length[k];
	}
	return build_slice(b, inst_arg(b->fn, in, 0), start, lengths, stride);
}

/* Along axes that a broadcast creates, a slice only changes the extent. */
Ref rule_slice_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	uint32_t n;
	const int64_t *placed = field(b, &outer, 1, &n);
	for (uint32_t k = 0; k < n; k++)
		if (!takes_all(b, e, (uint32_t)placed[k], ref_ty(b->fn, e->args[0])->dims[placed[k]]))
			return REF_NONE;
	return broadcast_again(b, &outer, inst_arg(b->fn, &outer, 0), e->type);
}

/* A slice that equals one of the concatenated operands. */
Ref rule_slice_concat(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_CONCAT);
	if (!in) return REF_NONE;
	uint32_t n, axis = (uint32_t)attr_int(b->ctx, OP_CONCAT, in->attr, 0);
	Type t = *ref_ty(b->fn, e->args[0]);
	for (uint32_t k = 0; k < t.rank; k++)
		if (k != axis && !takes_all(b, e, k, t.dims[k])) return REF_NONE;
	if (expr_field(b, e, 2, &n)[axis] != 1) return REF_NONE;
	Dim at = dim_const(b->ctx, 0);
	for (uint32_t i = 0; i < in->nargs; i++) {
		Ref part = inst_arg(b->fn, in, i);
		Dim length = ref_ty(b->fn, part)->dims[axis];
		if (same_words(b, expr_field(b, e, 0, &n)[axis], at) &&
		    same_words(b, expr_field(b, e, 1, &n)[axis], length))
			return part;
		at = dim_add(b->ctx, at, length);
	}
	return REF_NONE;
}

/* ---- concatenations ------------------------------------------------------ */

Ref rule_concat_one(Builder *b, const Expr *e) {
	(void)b;
	return e->nargs == 1 ? e->args[0] : REF_NONE;
}

/* Removes empty operands; keeps one when there is no other. */
Ref rule_concat_empty(Builder *b, const Expr *e) {
	int axis = (int)attr_int(b->ctx, OP_CONCAT, e->attr, 0);
	Ref *parts = arena_alloc(b->scratch, e->nargs * sizeof *parts);
	uint32_t n = 0;
	for (uint32_t i = 0; i < e->nargs; i++)
		if (!dim_is(b, ref_ty(b->fn, e->args[i])->dims[axis], 0)) parts[n++] = e->args[i];
	if (n == e->nargs) return REF_NONE;
	return n ? build_concat(b, n, parts, axis) : e->args[0];
}

/* ---- dynamic values ------------------------------------------------------ */

/* An array that was boxed as it is. Symbols that the unboxing would have
 * defined equal the array's extents. */
Ref rule_unbox_box(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BOX);
	if (!in || in->nargs != 2) return REF_NONE;
	const Const *template = ref_constant(b->fn, inst_arg(b->fn, in, 0));
	Ref x = inst_arg(b->fn, in, 1);
	Type t = *ref_ty(b->fn, x), to = *type_of(b->ctx, e->type);
	if (!template || template->value.kind != V_UNSET || t.kind != TY_TENSOR || to.kind != TY_TENSOR)
		return REF_NONE;
	if (t.dtype != to.dtype || t.rank != to.rank) return REF_NONE;
	SymId s;
	for (uint32_t k = 0; k < t.rank; k++) {
		bool fresh = dim_is_sym(b->ctx, to.dims[k], &s) && !sym_visible(b, s, b->region->id);
		for (uint32_t j = 0; j < k; j++) fresh = fresh && to.dims[j] != to.dims[k];
		if (!fresh && !build_same_dim(b, t.dims[k], to.dims[k])) return REF_NONE;
	}
	for (uint32_t k = 0; k < t.rank; k++)
		if (!build_same_dim(b, t.dims[k], to.dims[k]) && dim_is_sym(b->ctx, to.dims[k], &s))
			dims_define(b, s, t.dims[k]);
	return x;
}
