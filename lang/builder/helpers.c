/* helpers.c - one build function for each array primitive, on top of the
 * general emitter.
 *
 * Needs: builder/internal.h.
 *
 * Contract: attribute words have the layout of prims.def; nothing else is
 * added.
 */
#include "lang/builder/internal.h"

/* ---- attribute words ----------------------------------------------------- */

static void words_int(Words *w, int64_t x) { w->at[w->n++] = x; }

static void words_dims(Words *w, uint32_t n, const Dim *d) {
	words_int(w, n);
	for (uint32_t k = 0; k < n; k++) words_int(w, d[k]);
}

void words_ints(Words *w, uint32_t n, const int *x) {
	words_int(w, n);
	for (uint32_t k = 0; k < n; k++) words_int(w, x[k]);
}

static AttrId words_attr(Builder *b, const Words *w) { return attr_intern(b->ctx, w->at, w->n); }

static uint32_t rank_of(const Builder *b, Ref r) { return ref_ty(b->fn, r)->rank; }

/* Prevents overflow of Words; the type rules report errors in the lists. */
static void check_rank(Builder *b, Op op, Ref x, uint32_t n) {
	if (n > MAX_RANK) build_breach(b, op, 1, &x, "too many axes");
}

Ref build1(Builder *b, Op op, Ref x) { return build(b, op, 1, &x, 0, NULL); }

Ref build2(Builder *b, Op op, Ref x, Ref y) { return build(b, op, 2, (Ref[]){x, y}, 0, NULL); }

/* ---- constants ----------------------------------------------------------- */

Ref build_f64(Builder *b, double x) { return build_const(b, value_f64(x)); }

Ref build_i64(Builder *b, int64_t x) { return build_const(b, value_i64(x)); }

Ref build_bool(Builder *b, bool x) { return build_const(b, value_bool(x)); }

Ref build_scalar(Builder *b, Dtype d, double x) {
	double _Complex bytes = 0; /* large enough for every dtype */
	scalar_convert(DT_F64, &x, d, &bytes);
	return build_const(b, value_scalar_from_bytes(d, &bytes));
}

Ref build_full(Builder *b, TypeId t, double x) {
	return build_broadcast_scalar(b, build_scalar(b, (Dtype)type_of(b->ctx, t)->dtype, x), t);
}

Ref build_zeros(Builder *b, TypeId t) { return build_full(b, t, 0); }

/* ---- shapes -------------------------------------------------------------- */

Ref build_convert(Builder *b, Ref x, Dtype d) {
	Words w = {.n = 0};
	words_int(&w, d);
	return build(b, OP_CONVERT, 1, &x, words_attr(b, &w), NULL);
}

Ref build_broadcast(Builder *b, Ref x, uint32_t rank, const Dim *shape, const int *axes) {
	Words w = {.n = 0};
	check_rank(b, OP_BROADCAST, x, rank);
	words_dims(&w, rank, shape);
	words_ints(&w, rank_of(b, x), axes);
	return build(b, OP_BROADCAST, 1, &x, words_attr(b, &w), NULL);
}

Ref build_broadcast_scalar(Builder *b, Ref x, TypeId like) {
	Type t = *type_of(b->ctx, like);
	return build_broadcast(b, x, t.rank, t.dims, NULL);
}

Ref build_reshape(Builder *b, Ref x, uint32_t rank, const Dim *shape) {
	Words w = {.n = 0};
	check_rank(b, OP_RESHAPE, x, rank);
	words_dims(&w, rank, shape);
	return build(b, OP_RESHAPE, 1, &x, words_attr(b, &w), NULL);
}

Ref build_transpose(Builder *b, Ref x, const int *perm) {
	Words w = {.n = 0};
	words_ints(&w, rank_of(b, x), perm);
	return build(b, OP_TRANSPOSE, 1, &x, words_attr(b, &w), NULL);
}

static Ref strided(Builder *b, Op op, Ref x, const Dim *start, const Dim *length,
                   const int64_t *stride) {
	Words w = {.n = 0};
	uint32_t rank = rank_of(b, x);
	words_dims(&w, rank, start);
	words_dims(&w, rank, length);
	words_int(&w, rank);
	for (uint32_t k = 0; k < rank; k++) words_int(&w, stride ? stride[k] : 1);
	return build(b, op, 1, &x, words_attr(b, &w), NULL);
}

Ref build_slice(Builder *b, Ref x, const Dim *start, const Dim *length, const int64_t *stride) {
	return strided(b, OP_SLICE, x, start, length, stride);
}

Ref build_pad(Builder *b, Ref x, const Dim *low, const Dim *length, const int64_t *stride) {
	return strided(b, OP_PAD, x, low, length, stride);
}

Ref build_update(Builder *b, Ref x, Ref v, const Dim *start, const int64_t *stride) {
	Words w = {.n = 0};
	uint32_t rank = rank_of(b, x);
	words_dims(&w, rank, start);
	words_int(&w, rank);
	for (uint32_t k = 0; k < rank; k++) words_int(&w, stride ? stride[k] : 1);
	return build(b, OP_UPDATE, 2, (Ref[]){x, v}, words_attr(b, &w), NULL);
}

Ref build_concat(Builder *b, uint32_t n, const Ref *xs, int axis) {
	Words w = {.n = 0};
	words_int(&w, axis);
	return build(b, OP_CONCAT, n, xs, words_attr(b, &w), NULL);
}

Ref build_gather(Builder *b, Ref x, Ref index, int axis, int batch) {
	Words w = {.n = 0};
	words_int(&w, axis);
	words_int(&w, batch);
	return build(b, OP_GATHER, 2, (Ref[]){x, index}, words_attr(b, &w), NULL);
}

Ref build_scatter(Builder *b, Op op, Ref x, Ref index, Ref update, int axis, int batch) {
	Words w = {.n = 0};
	words_int(&w, axis);
	words_int(&w, batch);
	return build(b, op, 3, (Ref[]){x, index, update}, words_attr(b, &w), NULL);
}

/* ---- reductions, contraction --------------------------------------------- */

Ref build_reduce(Builder *b, Op op, Ref x, uint32_t naxes, const int *axes) {
	Words w = {.n = 0};
	int sorted[MAX_RANK];
	check_rank(b, op, x, naxes);
	for (uint32_t k = 0; k < naxes; k++) {
		uint32_t at = k;
		for (; at && sorted[at - 1] > axes[k]; at--) sorted[at] = sorted[at - 1];
		sorted[at] = axes[k];
	}
	words_ints(&w, naxes, sorted);
	return build(b, op, 1, &x, words_attr(b, &w), NULL);
}

Ref build_dot(Builder *b, Ref x, Ref y, uint32_t ncontract, const int *xc, const int *yc,
              uint32_t nbatch, const int *xb, const int *yb) {
	Words w = {.n = 0};
	check_rank(b, OP_DOT, x, ncontract);
	check_rank(b, OP_DOT, x, nbatch);
	words_ints(&w, ncontract, xc);
	words_ints(&w, ncontract, yc);
	words_ints(&w, nbatch, xb);
	words_ints(&w, nbatch, yb);
	return build(b, OP_DOT, 2, (Ref[]){x, y}, words_attr(b, &w), NULL);
}

Ref build_matmul(Builder *b, Ref x, Ref y) {
	int xc = (int)rank_of(b, x) - 1, yc = 0;
	return build_dot(b, x, y, 1, &xc, &yc, 0, NULL, NULL);
}

Ref build_iota(Builder *b, Dtype d, Dim length) {
	Words w = {.n = 0};
	words_int(&w, d);
	words_int(&w, length);
	return build(b, OP_IOTA, 0, NULL, words_attr(b, &w), NULL);
}

Ref build_select(Builder *b, Ref c, Ref x, Ref y) {
	if (!rank_of(b, c) && rank_of(b, x)) c = build_broadcast_scalar(b, c, ref_type(b->fn, x));
	return build(b, OP_SELECT, 3, (Ref[]){c, x, y}, 0, NULL);
}
