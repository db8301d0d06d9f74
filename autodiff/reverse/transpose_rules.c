/* transpose_rules.c - the adjoint of each primitive that can be linear in an
 * operand.
 *
 * Needs: rules.h.
 *
 * Contract:
 * - The pairing is <a, b> = Re sum conj(a) b. Each rule adds F^T w to the
 *   cotangent of an operand, with <w, F x> = <F^T w, x>.
 * - An operand that the tangents do not reach receives nothing.
 * - The adjoint of a gather updates the accumulated cotangent in place instead
 *   of adding a whole array of zeros.
 */
#include "autodiff/core/rules.h"
#include <stdlib.h>

static int attr_axis(const TransposeRule *r, uint32_t k) {
	return (int)attr_int(r->c, (Op)r->in->op, r->attr, k);
}

static const int64_t *attr_list(const TransposeRule *r, uint32_t k, uint32_t *n) {
	return attr_field(r->c, (Op)r->in->op, r->attr, k, n);
}

static Type operand_type(const TransposeRule *r, uint32_t k) { return *type_of(r->c, r->types[k]); }

/* ---- element-wise -------------------------------------------------------- */

void transpose_NEG(TransposeRule *r) { cotangent_add(r, 0, build1(r->b, OP_NEG, r->w[0])); }

void transpose_ADD(TransposeRule *r) {
	for (uint32_t k = 0; k < 2; k++)
		if (r->linear[k]) cotangent_add(r, k, r->w[0]);
}

void transpose_SUB(TransposeRule *r) {
	if (r->linear[0]) cotangent_add(r, 0, r->w[0]);
	if (r->linear[1]) cotangent_add(r, 1, build1(r->b, OP_NEG, r->w[0]));
}

/* y = c x: <w, c x> = <conj(c) w, x>. */
void transpose_MUL(TransposeRule *r) {
	if (r->linear[0] && r->linear[1]) not_linear(r);
	uint32_t k = r->linear[0] ? 0 : 1;
	cotangent_add(r, k, cotangent_scaled(r->b, OP_MUL, r->w[0], conjugate(r->b, r->x[1 - k])));
}

void transpose_DIV(TransposeRule *r) {
	if (r->linear[1]) not_linear(r);
	cotangent_add(r, 0, cotangent_scaled(r->b, OP_DIV, r->w[0], conjugate(r->b, r->x[1])));
}

void transpose_REAL(TransposeRule *r) {
	cotangent_add(r, 0, build_convert(r->b, r->w[0], (Dtype)operand_type(r, 0).dtype));
}

/* Im x = Re (-i x), so the adjoint multiplies by i. */
void transpose_IMAG(TransposeRule *r) {
	Dtype d = (Dtype)operand_type(r, 0).dtype;
	Ref unit = build_convert(r->b, build_const(r->b, value_c128(I)), d),
		z = build_convert(r->b, r->w[0], d);
	cotangent_add(
		r, 0,
		cotangent_scaled(r->b, OP_MUL, z, build_broadcast_scalar(r->b, unit, type_id_in(r->b, z))));
}

void transpose_CONJ(TransposeRule *r) { cotangent_add(r, 0, build1(r->b, OP_CONJ, r->w[0])); }

void transpose_SELECT(TransposeRule *r) {
	Builder *b = r->b;
	if (r->linear[0]) not_linear(r);
	Ref zeros = build_zeros(b, type_id_in(b, r->w[0]));
	if (r->linear[1]) cotangent_add(r, 1, build_select(b, r->x[0], r->w[0], zeros));
	if (r->linear[2]) cotangent_add(r, 2, build_select(b, r->x[0], zeros, r->w[0]));
}

/* Real to real and complex to complex: converts back. Real to complex: takes
 * the real part. Complex to real: embeds the real cotangent in the complex
 * numbers. build_convert does all of these. */
void transpose_CONVERT(TransposeRule *r) {
	cotangent_add(r, 0, build_convert(r->b, r->w[0], (Dtype)operand_type(r, 0).dtype));
}

/* ---- shapes -------------------------------------------------------------- */

/* Sums over the new axes, and over those stretched from extent 1, which
 * remain. */
void transpose_BROADCAST(TransposeRule *r) {
	Builder *b = r->b;
	Type x = operand_type(r, 0), y = type_in(b, r->w[0]);
	uint32_t placed;
	const int64_t *axes = attr_list(r, 1, &placed);
	bool kept[MAX_RANK] = {false}, stretched = false;
	for (uint32_t k = 0; k < placed; k++) {
		bool same = build_canon(b, x.dims[k]) == build_canon(b, y.dims[axes[k]]);
		kept[axes[k]] = same;
		stretched |= !same;
	}
	int summed[MAX_RANK];
	uint32_t n = 0;
	for (int k = 0; k < y.rank; k++)
		if (!kept[k]) summed[n++] = k;
	Ref w = n ? cotangent_summed(b, r->w[0], n, summed) : r->w[0];
	cotangent_add(r, 0, stretched ? build_reshape(b, w, x.rank, x.dims) : w);
}

void transpose_RESHAPE(TransposeRule *r) {
	Type x = operand_type(r, 0);
	cotangent_add(r, 0, build_reshape(r->b, r->w[0], x.rank, x.dims));
}

void transpose_TRANSPOSE(TransposeRule *r) {
	uint32_t n;
	const int64_t *perm = attr_list(r, 0, &n);
	int back[MAX_RANK];
	for (uint32_t k = 0; k < n; k++) back[perm[k]] = (int)k;
	cotangent_add(r, 0, build_transpose(r->b, r->w[0], back));
}

static void read_window(const TransposeRule *r, Dim *start, int64_t *stride) {
	uint32_t n;
	const int64_t *words = attr_list(r, 0, &n);
	for (uint32_t k = 0; k < n; k++) start[k] = (Dim)words[k];
	words = attr_list(r, 2, &n);
	for (uint32_t k = 0; k < n; k++) stride[k] = words[k];
}

void transpose_SLICE(TransposeRule *r) {
	Type x = operand_type(r, 0);
	Dim start[MAX_RANK];
	int64_t stride[MAX_RANK];
	read_window(r, start, stride);
	cotangent_add(r, 0, build_pad(r->b, r->w[0], start, x.dims, stride));
}

void transpose_PAD(TransposeRule *r) {
	Type x = operand_type(r, 0);
	Dim low[MAX_RANK];
	int64_t stride[MAX_RANK];
	read_window(r, low, stride);
	cotangent_add(r, 0, build_slice(r->b, r->w[0], low, x.dims, stride));
}

/* The overwritten box receives nothing; the update receives the box of w. */
void transpose_UPDATE(TransposeRule *r) {
	Dim start[MAX_RANK];
	int64_t stride[MAX_RANK];
	uint32_t n;
	const int64_t *words = attr_list(r, 0, &n);
	for (uint32_t k = 0; k < n; k++) start[k] = (Dim)words[k];
	words = attr_list(r, 1, &n);
	for (uint32_t k = 0; k < n; k++) stride[k] = words[k];
	Type v = operand_type(r, 1);
	if (r->linear[1]) cotangent_add(r, 1, build_slice(r->b, r->w[0], start, v.dims, stride));
	if (r->linear[0])
		cotangent_add(r, 0,
		              build_update(r->b, r->w[0], build_zeros(r->b, r->types[1]), start, stride));
}

/* The section of w of the given extent along an axis, from `start`. */
static Ref part_along(Builder *b, Ref w, int axis, Dim start, Dim length) {
	Type t = type_in(b, w);
	Dim low[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) low[k] = dim_const(build_ctx(b), 0);
	low[axis] = start;
	t.dims[axis] = length;
	return build_slice(b, w, low, t.dims, NULL);
}

void transpose_CONCAT(TransposeRule *r) {
	int axis = attr_axis(r, 0);
	Dim at = dim_const(r->c, 0);
	for (uint32_t k = 0; k < r->in->nargs; k++) {
		Dim length = operand_type(r, k).dims[axis];
		if (r->linear[k]) cotangent_add(r, k, part_along(r->b, r->w[0], axis, at, length));
		at = dim_add(r->c, at, length);
	}
}

void transpose_PUSH(TransposeRule *r) {
	Builder *b = r->b;
	Type x = operand_type(r, 0), row = operand_type(r, 1);
	if (r->linear[1]) {
		Ref last = part_along(b, r->w[0], 0, x.dims[0], dim_const(r->c, 1));
		cotangent_add(r, 1, build_reshape(b, last, row.rank, row.dims));
	}
	if (r->linear[0]) cotangent_add(r, 0, part_along(b, r->w[0], 0, dim_const(r->c, 0), x.dims[0]));
}

/* ---- indexing ------------------------------------------------------------ */

void transpose_GATHER(TransposeRule *r) {
	Ref so_far = cotangent_take(r, 0);
	cotangent_put(r, 0,
	              build_scatter(r->b, OP_SCATTER_ADD, so_far, r->x[1], r->w[0], attr_axis(r, 0),
	                            attr_axis(r, 1)));
}

void transpose_SCATTER_ADD(TransposeRule *r) {
	if (r->linear[2])
		cotangent_add(r, 2, build_gather(r->b, r->w[0], r->x[1], attr_axis(r, 0), attr_axis(r, 1)));
	if (r->linear[0]) cotangent_add(r, 0, r->w[0]);
}

/* Where several updates have the same index only the last counts. Each update
 * writes its number; those that read their own number back are the ones that
 * count. */
static Ref winners(TransposeRule *r, Ref w_at) {
	Builder *b = r->b;
	int axis = attr_axis(r, 0), batch = attr_axis(r, 1);
	Type i = type_in(b, r->x[1]), x = operand_type(r, 0), u = type_in(b, w_at);
	if (i.rank == batch) return w_at; /* one index for each batch element */
	/* This needs only the batch axes and the indexed axis. */
	Dim dims[MAX_RANK], size = dim_const(r->c, 1);
	for (int k = 0; k < batch; k++) dims[k] = x.dims[k];
	dims[batch] = x.dims[axis];
	Ref places = build_zeros(b, type_tensor(r->c, DT_I64, (uint32_t)batch + 1, dims));
	for (int k = batch; k < i.rank; k++) size = dim_mul(r->c, size, i.dims[k]);
	int axes[MAX_RANK];
	for (int k = batch; k < i.rank; k++) axes[k - batch] = k;
	Ref number =
		build_reshape(b, build_iota(b, DT_I64, size), i.rank - (uint32_t)batch, i.dims + batch);
	number = build_broadcast(b, number, i.rank, i.dims, axes);
	Ref last = build_scatter(b, OP_SCATTER_SET, places, r->x[1], number, batch, batch);
	Ref won = build2(b, OP_EQ, build_gather(b, last, r->x[1], batch, batch), number);
	/* `won` has the index's axes; the update has x[..axis), i[batch..),
	 * x(axis+1..]. */
	for (int k = 0; k < i.rank; k++) axes[k] = k < batch ? k : k - batch + axis;
	return where(b, build_broadcast(b, won, u.rank, u.dims, axes), w_at);
}

void transpose_SCATTER_SET(TransposeRule *r) {
	Builder *b = r->b;
	int axis = attr_axis(r, 0), batch = attr_axis(r, 1);
	if (r->linear[2])
		cotangent_add(r, 2, winners(r, build_gather(b, r->w[0], r->x[1], axis, batch)));
	if (r->linear[0]) {
		Ref none = build_zeros(b, r->types[2]);
		cotangent_add(r, 0, build_scatter(b, OP_SCATTER_SET, r->w[0], r->x[1], none, axis, batch));
	}
}

/* ---- sums, contractions, transforms -------------------------------------- */

void transpose_REDUCE_SUM(TransposeRule *r) {
	uint32_t n;
	const int64_t *words = attr_list(r, 0, &n);
	int axes[MAX_RANK];
	for (uint32_t k = 0; k < n; k++) axes[k] = (int)words[k];
	cotangent_add(r, 0, repeat_along(r->b, r->w[0], r->types[0], n, axes));
}

void transpose_CUMSUM(TransposeRule *r) {
	int64_t words[2] = {attr_axis(r, 0), !attr_axis(r, 1)};
	cotangent_add(r, 0, build(r->b, OP_CUMSUM, 1, &r->w[0], attr_intern(r->c, words, 2), NULL));
}

typedef struct DotAxes {
	uint32_t n, nb;
	int contract[2][MAX_RANK], batch[2][MAX_RANK]; /* by operand */
} DotAxes;

static void read_axes(const TransposeRule *r, uint32_t k, int *out, uint32_t *n) {
	const int64_t *words = attr_list(r, k, n);
	for (uint32_t i = 0; i < *n; i++) out[i] = (int)words[i];
}

static int compare_int(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* z = dot(x, y): z has the batch axes, then the free axes of x, then those of
 * y. The cotangent of x contracts w with conj(y) over the free axes of y. It
 * has the batch axes, then x's free axes, then x's contracted axes in the order
 * of their partners in y; a transposition restores x's order. The same holds
 * with the roles exchanged. */
void transpose_DOT(TransposeRule *r) {
	Builder *b = r->b;
	if (r->linear[0] && r->linear[1]) not_linear(r);
	uint32_t k = r->linear[0] ? 0 : 1, other = 1 - k;
	DotAxes a;
	read_axes(r, 0, a.contract[0], &a.n);
	read_axes(r, 1, a.contract[1], &a.n);
	read_axes(r, 2, a.batch[0], &a.nb);
	read_axes(r, 3, a.batch[1], &a.nb);
	uint32_t rank[2] = {operand_type(r, 0).rank, operand_type(r, 1).rank};
	/* The axis of the operand for each axis of the contraction's result. */
	int where_in_x[MAX_RANK];
	int free_w[MAX_RANK], free_other[MAX_RANK], batch_w[MAX_RANK];
	uint32_t nfree = 0, at = 0;

	bool used[2][MAX_RANK] = {{false}};
	for (uint32_t side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < a.n; i++) used[side][a.contract[side][i]] = true;
		for (uint32_t i = 0; i < a.nb; i++) used[side][a.batch[side][i]] = true;
	}
	/* The first axis in w that is free in each operand. */
	uint32_t first[2] = {a.nb, a.nb + rank[0] - a.n - a.nb};
	for (uint32_t i = 0; i < a.nb; i++) {
		batch_w[i] = (int)i;
		where_in_x[at++] = a.batch[k][i];
	}
	for (uint32_t i = 0; i < rank[other]; i++)
		if (!used[other][i]) {
			free_w[nfree] = (int)(first[other] + nfree);
			free_other[nfree++] = (int)i;
		}
	for (uint32_t i = 0; i < rank[k]; i++)
		if (!used[k][i]) where_in_x[at++] = (int)i;
	int partners[MAX_RANK];
	memcpy(partners, a.contract[other], sizeof partners);
	qsort(partners, a.n, sizeof *partners, compare_int);
	for (uint32_t i = 0; i < a.n; i++)
		for (uint32_t j = 0; j < a.n; j++)
			if (a.contract[other][j] == partners[i]) where_in_x[at++] = a.contract[k][j];

	/* An outer product is element-wise in w: elements masked out of w are
	 * masked out of the result, whose axes begin with those of w. */
	Ref part = r->w[0], condition = nfree ? REF_NONE : cotangent_condition(b, &part);
	Ref w = build_dot(b, part, conjugate(b, r->x[other]), nfree, free_w, free_other, a.nb, batch_w,
	                  a.batch[other]);
	if (condition != REF_NONE) {
		const Type t = type_in(b, w);
		int axes[MAX_RANK];
		for (int i = 0; i < t.rank; i++) axes[i] = i;
		w = where(b, build_broadcast(b, condition, t.rank, t.dims, axes), w);
	}
	int perm[MAX_RANK];
	bool moved = false;
	for (uint32_t i = 0; i < at; i++) {
		perm[where_in_x[i]] = (int)i;
		moved |= where_in_x[i] != (int)i;
	}
	cotangent_add(r, k, moved ? build_transpose(b, w, perm) : w);
}

/* The forward transform is F, the inverse F^H / n. */
void transpose_FFT(TransposeRule *r) {
	Builder *b = r->b;
	int axis = attr_axis(r, 0), inverse = attr_axis(r, 1);
	int64_t words[2] = {axis, !inverse};
	Ref w = build(b, OP_FFT, 1, &r->w[0], attr_intern(r->c, words, 2), NULL);
	TypeId t = type_id_in(b, w);
	Dtype real = dtype_real_of((Dtype)type_of(r->c, t)->dtype);
	Ref n = build_convert(b, build_extent(b, type_of(r->c, t)->dims[axis]), real);
	if (inverse) n = build2(b, OP_DIV, build_scalar(b, real, 1), n);
	n = build_convert(b, n, (Dtype)type_of(r->c, t)->dtype);
	cotangent_add(r, 0, build2(b, OP_MUL, w, build_broadcast_scalar(b, n, t)));
}

void transpose_TRISOLVE(TransposeRule *r) {
	if (r->linear[0]) not_linear(r);
	bool lower = attr_axis(r, 0), adjoint = attr_axis(r, 1), unit = attr_axis(r, 2);
	cotangent_add(r, 1, mat_solve_triangular(r->b, r->x[0], r->w[0], lower, !adjoint, unit));
}

/* The operands B and X carry the same dependence; only B receives a
 * cotangent. */
void transpose_SOLVED(TransposeRule *r) {
	if (r->linear[0] || r->linear[1]) not_linear(r);
	if (r->linear[3])
		cotangent_add(r, 3, mat_solve_factored(r->b, r->x, r->w[0], !attr_axis(r, 0)));
}
