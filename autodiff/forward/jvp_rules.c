/* jvp_rules.c - tangents of the structural primitives that are neither linear
 * nor bilinear, and the algebra that rules share.
 *
 * Needs: rules.h.
 *
 * Contract:
 * - Every rule is linear in the tangents and uses them through primitives that
 *   can be transposed.
 * - None divides by an element of the data, so zeros in it are harmless.
 * - The factorisations are in jvp_linalg.c.
 */
#include "autodiff/core/rules.h"

/* ---- algebra ------------------------------------------------------------- */

Ref sum_of(Builder *b, Ref x, Ref y) {
	return x == REF_NONE ? y : y == REF_NONE ? x : build2(b, OP_ADD, x, y);
}

Ref or_zeros(Builder *b, Ref x, TypeId t) { return x == REF_NONE ? build_zeros(b, t) : x; }

Ref conjugate(Builder *b, Ref x) {
	return dtype_is_complex(dtype_in(b, x)) ? build1(b, OP_CONJ, x) : x;
}

Ref where(Builder *b, Ref condition, Ref x) {
	return build_select(b, condition, x, build_zeros(b, type_id_in(b, x)));
}

Ref scaled(Builder *b, Ref x, double factor) {
	return build2(b, OP_MUL, x, build_full(b, type_id_in(b, x), factor));
}

Ref repeat_along(Builder *b, Ref y, TypeId t, uint32_t naxes, const int *axes) {
	Type ty = *type_of(build_ctx(b), t);
	bool new_axis[MAX_RANK] = {false};
	for (uint32_t k = 0; k < naxes; k++) new_axis[axes[k]] = true;
	int kept[MAX_RANK];
	uint32_t n = 0;
	for (int k = 0; k < ty.rank; k++)
		if (!new_axis[k]) kept[n++] = k;
	return build_broadcast(b, y, ty.rank, ty.dims, kept);
}

Ref row_of(Builder *b, Ref x, Ref index) { return build_gather(b, x, index, 0, 0); }

/* Moves the axis to the front, or back. */
static Ref axis_to_front(Builder *b, Ref x, int axis) {
	uint32_t rank = type_in(b, x).rank;
	int perm[MAX_RANK] = {axis};
	for (int k = 0, n = 1; k < (int)rank; k++)
		if (k != axis) perm[n++] = k;
	return axis ? build_transpose(b, x, perm) : x;
}

static Ref axis_from_front(Builder *b, Ref x, int axis) {
	uint32_t rank = type_in(b, x).rank;
	int perm[MAX_RANK];
	for (int k = 0; k < (int)rank; k++) perm[k] = k < axis ? k + 1 : k == axis ? 0 : k;
	return axis ? build_transpose(b, x, perm) : x;
}

/* ---- selection and indexing ---------------------------------------------- */

static Ref tangent(JvpRule *r, uint32_t k) {
	return or_zeros(r->b, r->dx[k], type_id_in(r->b, r->x[k]));
}

void jvp_SELECT(JvpRule *r) {
	r->dy[0] = build_select(r->b, r->x[0], tangent(r, 1), tangent(r, 2));
}

static int attr_axis(const JvpRule *r, uint32_t k) {
	return (int)attr_int(r->c, (Op)r->in->op, r->attr, k);
}

void jvp_GATHER(JvpRule *r) {
	if (r->dx[0] != REF_NONE)
		r->dy[0] = build_gather(r->b, r->dx[0], r->x[1], attr_axis(r, 0), attr_axis(r, 1));
}

void jvp_SCATTER_ADD(JvpRule *r) {
	r->dy[0] = r->dx[2] == REF_NONE ? r->dx[0]
	                                : build_scatter(r->b, OP_SCATTER_ADD, tangent(r, 0), r->x[1],
	                                                r->dx[2], attr_axis(r, 0), attr_axis(r, 1));
}

void jvp_SCATTER_SET(JvpRule *r) {
	r->dy[0] = build_scatter(r->b, OP_SCATTER_SET, tangent(r, 0), r->x[1], tangent(r, 2),
	                         attr_axis(r, 0), attr_axis(r, 1));
}

/* ---- extrema and products ------------------------------------------------ */

static uint32_t reduced_axes(const JvpRule *r, int *axes) {
	uint32_t n;
	const int64_t *words = attr_field(r->c, (Op)r->in->op, r->attr, 0, &n);
	for (uint32_t k = 0; k < n; k++) axes[k] = (int)words[k];
	return n;
}

/* All elements that attain the extremum share it equally. */
static void jvp_extreme(JvpRule *r) {
	Builder *b = r->b;
	int axes[MAX_RANK];
	uint32_t n = reduced_axes(r, axes);
	TypeId whole = type_id_in(b, r->x[0]);
	Ref mask = build2(b, OP_EQ, r->x[0], repeat_along(b, r->y[0], whole, n, axes));
	Ref count =
		build_reduce(b, OP_REDUCE_SUM, build_convert(b, mask, dtype_in(b, r->x[0])), n, axes);
	Ref sum = build_reduce(b, OP_REDUCE_SUM, where(b, mask, r->dx[0]), n, axes);
	r->dy[0] = build2(b, OP_DIV, sum, count);
}

void jvp_REDUCE_MAX(JvpRule *r) { jvp_extreme(r); }
void jvp_REDUCE_MIN(JvpRule *r) { jvp_extreme(r); }

static Ref running_product(Builder *b, Ref x, int axis, bool reverse) {
	int64_t words[2] = {axis, reverse};
	return build(b, OP_CUMPROD, 1, &x, attr_intern(build_ctx(b), words, 2), NULL);
}

/* The product of the elements before (after) each along the axis, without
 * division: the running product of the data shifted by a one. */
static Ref product_of_others(Builder *b, Ref x, int axis, bool after) {
	Ctx *c = build_ctx(b);
	Type t = type_in(b, x);
	Dim start[MAX_RANK], one[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) {
		start[k] = dim_const(c, 0);
		one[k] = t.dims[k];
	}
	one[axis] = dim_const(c, 1);
	start[axis] = dim_const(c, after ? 1 : 0);
	Ref ones = build_full(b, type_tensor(c, (Dtype)t.dtype, t.rank, one), 1);
	Ref moved = build_concat(b, 2, after ? (Ref[]){x, ones} : (Ref[]){ones, x}, axis);
	return build_slice(b, running_product(b, moved, axis, after), start, t.dims, NULL);
}

/* dy = sum over i of dx_i times the product of all the others. */
void jvp_REDUCE_PROD(JvpRule *r) {
	Builder *b = r->b;
	int axes[MAX_RANK] = {0};
	uint32_t n = reduced_axes(r, axes);
	Ref x = r->x[0], dx = r->dx[0];
	int axis = axes[0];
	/* The reduced axes are moved to the back and merged. */
	if (n != 1) {
		Type t = type_in(b, x);
		bool reduced[MAX_RANK] = {false};
		int perm[MAX_RANK];
		Dim shape[MAX_RANK], size = dim_const(r->c, 1);
		for (uint32_t k = 0; k < n; k++) {
			reduced[axes[k]] = true;
			size = dim_mul(r->c, size, t.dims[axes[k]]);
		}
		axis = 0;
		for (int k = 0; k < t.rank; k++) {
			if (reduced[k]) continue;
			shape[axis] = t.dims[k];
			perm[axis++] = k;
		}
		shape[axis] = size;
		for (uint32_t k = 0; k < n; k++) perm[axis + (int)k] = axes[k];
		x = build_reshape(b, build_transpose(b, x, perm), (uint32_t)axis + 1, shape);
		dx = build_reshape(b, build_transpose(b, dx, perm), (uint32_t)axis + 1, shape);
	}
	Ref others = build2(b, OP_MUL, product_of_others(b, x, axis, false),
	                    product_of_others(b, x, axis, true));
	r->dy[0] = build_reduce(b, OP_REDUCE_SUM, build2(b, OP_MUL, others, dx), 1, &axis);
}

/* y_i = y_(i-1) x_i, so dy_i = dy_(i-1) x_i + y_(i-1) dx_i. This is a loop
 * because the closed form divides by x. y_(i-1) is y shifted by a one; the
 * second term is computed for all i at once. */
void jvp_CUMPROD(JvpRule *r) {
	Builder *b = r->b;
	Ctx *c = r->c;
	int axis = attr_axis(r, 0);
	bool reverse = attr_axis(r, 1) != 0;
	Type t = type_in(b, r->x[0]);
	Dim start[MAX_RANK], one[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) {
		start[k] = dim_const(c, 0);
		one[k] = t.dims[k];
	}
	one[axis] = dim_const(c, 1);
	start[axis] = dim_const(c, reverse ? 1 : 0);
	Ref ones = build_full(b, type_tensor(c, (Dtype)t.dtype, t.rank, one), 1);
	Ref moved = build_concat(b, 2, reverse ? (Ref[]){r->y[0], ones} : (Ref[]){ones, r->y[0]}, axis);
	Ref before = build_slice(b, moved, start, t.dims, NULL);

	Ref x = axis_to_front(b, r->x[0], axis),
		e = axis_to_front(b, build2(b, OP_MUL, before, r->dx[0]), axis);
	Type rows = type_in(b, x);
	TypeId row = type_tensor(c, (Dtype)rows.dtype, rows.rank - 1u, rows.dims + 1);
	Ref count = build_extent(b, rows.dims[0]);
	TypeId types[3] = {type_scalar(c, DT_I64), row, type_id_in(b, x)};
	Ref init[2] = {build_zeros(b, row), build_zeros(b, types[2])}, p[3], results[2];
	OpenRegion *open = build_region_begin(b, 3, types, p);
	Ref i = reverse ? build2(b, OP_SUB, build2(b, OP_SUB, count, build_i64(b, 1)), p[0]) : p[0];
	Ref dy = build2(b, OP_ADD, build2(b, OP_MUL, row_of(b, x, i), p[1]), row_of(b, e, i));
	Ref carried[2] = {dy, build_scatter(b, OP_SCATTER_SET, p[2], i, dy, 0, 0)};
	build_for(b, count, 2, init, build_region_end(b, open, 2, carried), results);
	r->dy[0] = axis_from_front(b, results[1], axis);
}
