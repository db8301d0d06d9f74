/* simplify_dot.c - rewrite rules of reductions, contractions and solves.
 *
 * Needs: builder/simplify.h.
 *
 * Contract: as simplify.c.
 *
 * Method: an axis that a broadcast creates leaves a reduction or contraction.
 * It becomes a factor, or is created after the operation.
 */
#include "lang/builder/simplify.h"

/* ---- zeros --------------------------------------------------------------- */

Ref rule_dot_zero(Builder *b, const Expr *e) {
	return b->zeros_absorb && (splat_is(b, e->args[0], 0) || splat_is(b, e->args[1], 0))
	           ? full(b, e, 0)
	           : REF_NONE;
}

Ref rule_solve_zero(Builder *b, const Expr *e) {
	return b->zeros_absorb && splat_is(b, e->args[1], 0) ? e->args[1] : REF_NONE;
}

/* ---- reductions ---------------------------------------------------------- */

Ref rule_reduce_nothing(Builder *b, const Expr *e) {
	uint32_t n;
	expr_field(b, e, 0, &n);
	return n ? REF_NONE : e->args[0];
}

Ref rule_reduce_unit_axes(Builder *b, const Expr *e) {
	uint32_t n;
	const int64_t *axes = expr_field(b, e, 0, &n);
	for (uint32_t k = 0; k < n; k++)
		if (!dim_is(b, ref_ty(b->fn, e->args[0])->dims[axes[k]], 1)) return REF_NONE;
	Type t = *type_of(b->ctx, e->type);
	return build_reshape(b, e->args[0], t.rank, t.dims);
}

/* Over axes that a broadcast creates, a sum is a multiple. */
Ref rule_sum_of_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	uint32_t n, naxes, nkept = 0, nleft = 0;
	const int64_t *axes = expr_field(b, e, 0, &n), *placed = field(b, &outer, 1, &naxes);
	Ref x = inst_arg(b->fn, &outer, 0);
	Type from = *ref_ty(b->fn, x), t = *ref_ty(b->fn, e->args[0]);
	bool summed[MAX_RANK] = {false}, made[MAX_RANK];
	int place[MAX_RANK], kept[MAX_RANK], left[MAX_RANK];
	for (uint32_t k = 0; k < n; k++) summed[axes[k]] = true;
	for (uint32_t k = 0; k < t.rank; k++) made[k] = true;
	for (uint32_t k = 0; k < naxes; k++) made[placed[k]] = false;
	Dim copies = dim_const(b->ctx, 1);
	bool any = false;
	for (uint32_t k = 0, at = 0; k < t.rank; k++) {
		place[k] = (int)at;
		if (!summed[k]) at++;
		if (!summed[k] || !made[k]) continue;
		copies = dim_mul(b->ctx, copies, t.dims[k]);
		any = true;
	}
	if (!any) return REF_NONE;
	for (uint32_t k = 0; k < naxes; k++) {
		if (!summed[placed[k]]) left[nleft++] = place[placed[k]];
		else if (same_words(b, from.dims[k], t.dims[placed[k]])) kept[nkept++] = (int)k;
		else return REF_NONE; /* stretched from 1 and then summed */
	}
	x = build_reduce(b, OP_REDUCE_SUM, x, nkept, kept);
	Ref times = build_convert(b, build_extent(b, copies), (Dtype)t.dtype);
	x = build2(b, OP_MUL, x, spread(b, times, ref_type(b->fn, x)));
	Type result = *type_of(b->ctx, e->type);
	return build_broadcast(b, x, result.rank, result.dims, left);
}

Ref rule_reduce_reduce(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], e->op);
	if (!in) return REF_NONE;
	uint32_t n, inner_n, rank = 0;
	int axes[MAX_RANK], from[MAX_RANK];
	const int64_t *inner = field(b, in, 0, &inner_n), *outer = expr_field(b, e, 0, &n);
	Ref x = inst_arg(b->fn, in, 0);
	for (uint32_t k = 0, at = 0; k < ref_ty(b->fn, x)->rank; k++) {
		if (at < inner_n && inner[at] == k) at++;
		else from[rank++] = (int)k;
	}
	for (uint32_t k = 0; k < inner_n; k++) axes[k] = (int)inner[k];
	for (uint32_t k = 0; k < n; k++) axes[inner_n + k] = from[outer[k]];
	return build_reduce(b, e->op, x, inner_n + n, axes);
}

/* ---- contractions of broadcasts ------------------------------------------ */

/* The operands of a contraction, from which axes are being removed. */
typedef struct DotParts {
	Ref arg[2];
	uint32_t rank[2], nc, nb;
	int contract[2][MAX_RANK], batch[2][MAX_RANK];
	bool made[2][MAX_RANK]; /* the operand is a broadcast that creates this axis */
} DotParts;

static DotParts dot_parts(Builder *b, const Expr *e) {
	DotParts d = {.nc = 0};
	for (uint32_t s = 0; s < 2; s++) {
		const int64_t *c = expr_field(b, e, s, &d.nc), *batch = expr_field(b, e, 2 + s, &d.nb);
		for (uint32_t k = 0; k < d.nc; k++) d.contract[s][k] = (int)c[k];
		for (uint32_t k = 0; k < d.nb; k++) d.batch[s][k] = (int)batch[k];
		d.arg[s] = e->args[s];
		d.rank[s] = ref_ty(b->fn, d.arg[s])->rank;
		const Inst *in = made_by(b, d.arg[s], OP_BROADCAST);
		uint32_t n;
		const int64_t *placed = in ? field(b, in, 1, &n) : NULL;
		for (uint32_t k = 0; in && k < d.rank[s]; k++) d.made[s][k] = true;
		for (uint32_t k = 0; in && k < n; k++) d.made[s][placed[k]] = false;
	}
	return d;
}

static bool is_listed(const int *axes, uint32_t n, uint32_t axis) {
	for (uint32_t k = 0; k < n; k++)
		if (axes[k] == (int)axis) return true;
	return false;
}

/* Removes from operand s, a broadcast, an axis that it creates. */
static void drop_made_axis(Builder *b, DotParts *d, uint32_t s, uint32_t axis) {
	Inst in = *made_by(b, d->arg[s], OP_BROADCAST);
	Type t = *ref_ty(b->fn, d->arg[s]);
	Dim dims[MAX_RANK];
	int axes[MAX_RANK];
	uint32_t n, rank = 0;
	const int64_t *placed = field(b, &in, 1, &n);
	for (uint32_t k = 0; k < n; k++) axes[k] = (int)placed[k] - (placed[k] > axis);
	for (uint32_t k = 0; k < t.rank; k++)
		if (k != axis) dims[rank++] = t.dims[k];
	d->arg[s] = build_broadcast(b, inst_arg(b->fn, &in, 0), rank, dims, axes);
}

static void renumber(DotParts *d, uint32_t s, uint32_t axis) {
	for (uint32_t k = 0; k < d->nc; k++) d->contract[s][k] -= d->contract[s][k] > (int)axis;
	for (uint32_t k = 0; k < d->nb; k++) d->batch[s][k] -= d->batch[s][k] > (int)axis;
	d->rank[s]--;
}

static Ref dot_again(Builder *b, const DotParts *d) {
	return build_dot(b, d->arg[0], d->arg[1], d->nc, d->contract[0], d->contract[1], d->nb,
	                 d->batch[0], d->batch[1]);
}

/* A free axis that a broadcast creates is created after the contraction. The
 * cotangent of a sum over directions is such an operand throughout the reverse
 * sweep. */
Ref rule_dot_of_broadcast(Builder *b, const Expr *e) {
	DotParts d = dot_parts(b, e);
	uint32_t at = d.nb;
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t k = 0; k < d.rank[s]; k++) {
			if (is_listed(d.contract[s], d.nc, k) || is_listed(d.batch[s], d.nb, k)) continue;
			if (!d.made[s][k] || d.rank[s] < 2) {
				at++;
				continue;
			}
			drop_made_axis(b, &d, s, k);
			renumber(&d, s, k);
			Ref r = dot_again(b, &d);
			Type t = *type_of(b->ctx, e->type);
			int axes[MAX_RANK];
			uint32_t n = 0;
			for (uint32_t i = 0; i < t.rank; i++)
				if (i != at) axes[n++] = (int)i;
			return build_broadcast(b, r, t.rank, t.dims, axes);
		}
	return REF_NONE;
}

/* Along an axis that a broadcast creates, the other operand is summed first; at
 * least one contracted axis must remain. */
Ref rule_dot_along_broadcast(Builder *b, const Expr *e) {
	DotParts d = dot_parts(b, e);
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t k = 0; k < d.nc && d.nc > 1; k++) {
			uint32_t axis = (uint32_t)d.contract[s][k];
			int other = d.contract[1 - s][k];
			if (!d.made[s][axis]) continue;
			drop_made_axis(b, &d, s, axis);
			d.arg[1 - s] = build_reduce(b, OP_REDUCE_SUM, d.arg[1 - s], 1, &other);
			d.nc--;
			for (uint32_t side = 0; side < 2; side++)
				memmove(d.contract[side] + k, d.contract[side] + k + 1,
				        (d.nc - k) * sizeof **d.contract);
			renumber(&d, s, axis);
			renumber(&d, 1 - s, (uint32_t)other);
			return dot_again(b, &d);
		}
	return REF_NONE;
}
