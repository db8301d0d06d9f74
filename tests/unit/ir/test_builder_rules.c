/* test_builder_rules.c - unit tests of the builder's rewrite rules.
 *
 * Needs: builder_help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/ir/builder_help.h"

static void test_number_rules(T *t) {
	Builder *b = t->b;
	Ref x = param(t, num(t, DT_F64)), y = param(t, num(t, DT_F64)), i = param(t, num(t, DT_I64)),
		c = param(t, num(t, DT_BOOL));
	Ref z = param(t, num(t, DT_C128)), h = param(t, num(t, DT_F32));
	Ref zero = build_f64(b, 0), one = build_f64(b, 1), neg_x = build1(b, OP_NEG, x);
	CHECK(build2(b, OP_ADD, x, zero) == x && build2(b, OP_ADD, zero, x) == x &&
	      rule_hits(b, "add_zero") == 2);
	CHECK(build2(b, OP_SUB, x, zero) == x && build2(b, OP_MUL, x, one) == x &&
	      build2(b, OP_DIV, x, one) == x);
	CHECK(is_op(t, build2(b, OP_MUL, x, zero), OP_MUL));
	CHECK(is_i64(t, build2(b, OP_MUL, i, build_i64(b, 0)), 0));
	CHECK(build2(b, OP_SUB, zero, x) == neg_x && build1(b, OP_NEG, neg_x) == x);
	CHECK(build2(b, OP_ADD, y, neg_x) == build2(b, OP_SUB, y, x));
	CHECK(build2(b, OP_SUB, y, neg_x) == build2(b, OP_ADD, x, y));
	CHECK(build2(b, OP_MUL, x, build_f64(b, -1)) == neg_x);
	CHECK(build2(b, OP_MUL, neg_x, y) == build1(b, OP_NEG, build2(b, OP_MUL, x, y)));
	CHECK(build2(b, OP_DIV, y, neg_x) == build1(b, OP_NEG, build2(b, OP_DIV, y, x)));
	CHECK(build2(b, OP_MUL, neg_x, build_f64(b, 3)) == build2(b, OP_MUL, x, build_f64(b, -3)));
	CHECK(build1(b, OP_NEG, build2(b, OP_MUL, x, build_f64(b, 3))) ==
	      build2(b, OP_MUL, x, build_f64(b, -3)));
	CHECK(build2(b, OP_DIV, x, build_f64(b, 4)) == build2(b, OP_MUL, x, build_f64(b, 0.25)));
	CHECK(is_op(t, build2(b, OP_DIV, x, build_f64(b, 3)), OP_DIV));
	Ref square = build2(b, OP_MUL, x, x);
	CHECK(is_f64(t, build2(b, OP_POW, x, zero), 1) && build2(b, OP_POW, x, one) == x);
	CHECK(build2(b, OP_POW, x, build_f64(b, 2)) == square);
	CHECK(build2(b, OP_POW, x, build_f64(b, 3)) == build2(b, OP_MUL, square, x));
	CHECK(build2(b, OP_POW, x, build_f64(b, 4)) == build2(b, OP_MUL, square, square));
	CHECK(build2(b, OP_POW, x, build_f64(b, -1)) == build2(b, OP_DIV, one, x));
	CHECK(is_op(t, build2(b, OP_POW, x, build_f64(b, 0.5)), OP_POW));
	CHECK(is_op(t, build2(b, OP_POW, i, build_i64(b, -1)), OP_POW));
	Ref i3 = build2(b, OP_SUB, build2(b, OP_ADD, i, build_i64(b, 5)), build_i64(b, 2));
	CHECK(i3 == build2(b, OP_ADD, i, build_i64(b, 3)) && is_i64(t, build2(b, OP_SUB, i, i), 0));
	CHECK(build2(b, OP_MUL, build2(b, OP_MUL, i, build_i64(b, 5)), build_i64(b, 2)) ==
	      build2(b, OP_MUL, i, build_i64(b, 10)));
	CHECK(build2(b, OP_FLOORDIV, i, build_i64(b, 1)) == i &&
	      is_i64(t, build2(b, OP_MOD, i, build_i64(b, 1)), 0));
	CHECK(build2(b, OP_MAX, x, x) == x && build2(b, OP_MAX, c, build_bool(b, false)) == c);
	CHECK(build2(b, OP_MIN, c, build_bool(b, false)) == build_bool(b, false));
	CHECK(build2(b, OP_EQ, i, i) == build_bool(b, true) && is_op(t, build2(b, OP_EQ, x, x), OP_EQ));
	CHECK(build2(b, OP_LT, x, x) == build_bool(b, false) &&
	      build2(b, OP_LE, i, i) == build_bool(b, true));
	Ref not_c = build2(b, OP_EQ, c, build_bool(b, false));
	CHECK(build2(b, OP_EQ, not_c, build_bool(b, false)) == c &&
	      build2(b, OP_EQ, c, build_bool(b, true)) == c);
	CHECK(build_select(b, c, x, x) == x &&
	      build_select(b, not_c, x, y) == build_select(b, c, y, x));
	CHECK(build_select(b, c, build_bool(b, true), build_bool(b, false)) == c);
	CHECK(build1(b, OP_CONJ, build1(b, OP_CONJ, z)) == z);
	CHECK(build1(b, OP_REAL, build_convert(b, x, DT_C128)) == x);
	CHECK(is_f64(t, build1(b, OP_IMAG, build_convert(b, x, DT_C128)), 0));
	CHECK(build_convert(b, x, DT_F64) == x);
	CHECK(build_convert(b, build_convert(b, c, DT_I64), DT_F64) == build_convert(b, c, DT_F64));
	CHECK(build_convert(b, build_convert(b, h, DT_F64), DT_F32) == h);
	CHECK(
		is_op(t, arg_of(t, build_convert(b, build_convert(b, x, DT_F32), DT_F64), 0), OP_CONVERT));
	CHECK(build1(b, OP_ABS, neg_x) == build1(b, OP_ABS, x));
}

static void test_shape_rules(T *t) {
	Builder *b = t->b;
	Ctx *c = t->c;
	Dim n = sym(t, "n"), m = sym(t, "m"), nm = dim_mul(c, n, m), zero = len(t, 0);
	TypeId tnm = mat(t, DT_F64, n, m);
	Ref x = param(t, tnm), v = param(t, vec(t, DT_F64, m)), s = param(t, num(t, DT_F64)),
		u = param(t, vec(t, DT_F64, m));
	int swap[2] = {1, 0};
	CHECK(build_transpose(b, build_transpose(b, x, swap), swap) == x &&
	      build_transpose(b, x, (int[]){0, 1}) == x);
	CHECK(build_reshape(b, build_reshape(b, x, 1, &nm), 2, (Dim[]){n, m}) == x);
	Ref bs = build_broadcast_scalar(b, s, tnm);
	CHECK(build_transpose(b, bs, swap) == build_broadcast_scalar(b, s, mat(t, DT_F64, m, n)));
	CHECK(build_reshape(b, bs, 1, &nm) == build_broadcast_scalar(b, s, vec(t, DT_F64, nm)));
	Ref bv = build_broadcast(b, v, 2, (Dim[]){n, m}, (int[]){1}),
		bu = build_broadcast(b, u, 2, (Dim[]){n, m}, (int[]){1});
	Ref first = build_broadcast(b, v, 2, (Dim[]){m, n}, (int[]){0});
	CHECK(build_transpose(b, bv, swap) == first);
	CHECK(build_broadcast(b, build_broadcast_scalar(b, s, vec(t, DT_F64, m)), 2, (Dim[]){n, m},
	                      (int[]){1}) == bs);
	/* Computation precedes copying. */
	CHECK(build1(b, OP_EXP, bv) ==
	      build_broadcast(b, build1(b, OP_EXP, v), 2, (Dim[]){n, m}, (int[]){1}));
	CHECK(build2(b, OP_ADD, bv, bu) ==
	      build_broadcast(b, build2(b, OP_ADD, v, u), 2, (Dim[]){n, m}, (int[]){1}));
	Ref scaled = build2(b, OP_MUL, bv, bs);
	CHECK(is_op(t, scaled, OP_BROADCAST) && is_op(t, arg_of(t, scaled, 0), OP_MUL));
	CHECK(is_op(t, build2(b, OP_ADD, bs, bs), OP_BROADCAST) &&
	      is_op(t, build2(b, OP_MUL, x, bs), OP_MUL));
	/* Slices. */
	Dim two = len(t, 2), less = dim_sub(c, n, two), less4 = dim_sub(c, n, len(t, 4)),
		start[2] = {two, zero};
	CHECK(build_slice(b, x, (Dim[]){zero, zero}, (Dim[]){n, m}, NULL) == x);
	CHECK(build_pad(b, x, (Dim[]){zero, zero}, (Dim[]){n, m}, NULL) == x);
	Ref tail = build_slice(b, x, start, (Dim[]){less, m}, NULL);
	CHECK(build_slice(b, tail, start, (Dim[]){less4, m}, NULL) ==
	      build_slice(b, x, (Dim[]){len(t, 4), zero}, (Dim[]){less4, m}, NULL));
	CHECK(build_slice(b, bs, start, (Dim[]){less, m}, NULL) ==
	      build_broadcast_scalar(b, s, mat(t, DT_F64, less, m)));
	CHECK(build_slice(b, bv, start, (Dim[]){less, m}, NULL) ==
	      build_broadcast(b, v, 2, (Dim[]){less, m}, (int[]){1}));
	Ref joined = build_concat(b, 2, (Ref[]){x, tail}, 0);
	CHECK(build_slice(b, joined, (Dim[]){n, zero}, (Dim[]){less, m}, NULL) == tail);
	CHECK(build_concat(b, 1, &x, 0) == x);
	CHECK(build_concat(b, 2, (Ref[]){x, build_zeros(b, mat(t, DT_F64, zero, m))}, 0) == x);
	CHECK(is_f64(t, build_pad(b, build_zeros(b, tnm), start, (Dim[]){dim_add(c, n, two), m}, NULL),
	             0));
	/* Updates of a box. */
	Dim one = len(t, 1), six = dim_sub(c, n, len(t, 6)), four[2] = {len(t, 4), zero};
	Ref own = build_slice(b, x, start, (Dim[]){less4, m}, NULL), part = build1(b, OP_SIN, own),
		w = build_update(b, x, part, start, NULL);
	CHECK(is_op(t, w, OP_UPDATE) && build_slice(b, w, start, (Dim[]){less4, m}, NULL) == part);
	CHECK(build_slice(b, w, (Dim[]){zero, zero}, (Dim[]){two, m}, NULL) ==
	      build_slice(b, x, (Dim[]){zero, zero}, (Dim[]){two, m}, NULL));
	CHECK(build_slice(b, w, (Dim[]){dim_sub(c, n, one), zero}, (Dim[]){one, m}, NULL) ==
	      build_slice(b, x, (Dim[]){dim_sub(c, n, one), zero}, (Dim[]){one, m}, NULL));
	CHECK(build_slice(b, w, four, (Dim[]){six, m}, NULL) ==
	      build_slice(b, part, start, (Dim[]){six, m}, NULL));
	/* Two rows more than the box. */
	CHECK(arg_of(t, build_slice(b, w, start, (Dim[]){less, m}, NULL), 0) == w);
	CHECK(rule_hits(b, "slice_update") == 4);
	CHECK(build_update(b, x, own, start, NULL) == x && build_update(b, w, own, start, NULL) == x &&
	      build_update(b, x, bs, (Dim[]){zero, zero}, NULL) == bs);
	CHECK(build_update(b, x, build_zeros(b, mat(t, DT_F64, zero, m)), start, NULL) == x);
	CHECK(arg_of(t, build_update(b, w, build_zeros(b, mat(t, DT_F64, less4, m)), start, NULL), 0) ==
	      x);
	CHECK(arg_of(t, build_update(b, w, part, four, NULL), 0) == w);
	/* Reductions. */
	CHECK(build_reduce(b, OP_REDUCE_SUM, x, 0, NULL) == x);
	Ref total = build_reduce(b, OP_REDUCE_SUM, x, 2, (int[]){1, 0});
	CHECK(build_reduce(b, OP_REDUCE_SUM, build_reduce(b, OP_REDUCE_SUM, x, 1, (int[]){0}), 1,
	                   (int[]){0}) == total);
	Ref times = build_convert(b, build_extent(b, n), DT_F64);
	CHECK(build_reduce(b, OP_REDUCE_SUM, bv, 1, (int[]){0}) ==
	      build2(b, OP_MUL, v, build_broadcast_scalar(b, times, ref_type(b->fn, v))));
	CHECK(build_reduce(b, OP_REDUCE_SUM, bv, 2, (int[]){0, 1}) ==
	      build2(b, OP_MUL, build_reduce(b, OP_REDUCE_SUM, v, 1, (int[]){0}), times));
	Ref ones = build_full(b, mat(t, DT_F64, len(t, 3), len(t, 5)), 1);
	CHECK(is_f64(t, build_reduce(b, OP_REDUCE_SUM, ones, 2, (int[]){0, 1}), 15));
	Ref unit = build_reshape(b, v, 2, (Dim[]){len(t, 1), m});
	CHECK(build_reduce(b, OP_REDUCE_MAX, unit, 1, (int[]){0}) == v);
	/* Unboxing a value that was boxed unchanged gives the value itself and its
	 * extents. */
	Dim fresh = sym(t, "fresh");
	int64_t word = vec(t, DT_F64, fresh);
	Ref boxed = build(b, OP_BOX, 2, (Ref[]){build_const(b, (Value){.kind = V_UNSET}), v}, 0, NULL);
	CHECK(build(b, OP_UNBOX, 1, &boxed, attr_intern(c, &word, 1), NULL) == v &&
	      build_canon(b, fresh) == m);
}

/* Axes made by a broadcast are added as late as possible. */
static void test_broadcast_rules(T *t) {
	Builder *b = t->b;
	Ctx *c = t->c;
	Dim n = sym(t, "n"), m = sym(t, "m"), k = sym(t, "k"), two = len(t, 2), one = len(t, 1),
		left[] = {n, two, k}, right[] = {n, m, k};
	Ref x = param(t, mat(t, DT_F64, n, m)), w = param(t, mat(t, DT_F64, m, k)),
		a = param(t, vec(t, DT_F64, n)), z = param(t, mat(t, DT_F64, two, k));
	Ref y = param(t, type_tensor(c, DT_F64, 3, left)),
		y2 = param(t, type_tensor(c, DT_F64, 3, right));
	Ref bx = build_broadcast(b, x, 3, (Dim[]){n, two, m}, (int[]){0, 2}),
		first = build_broadcast(b, x, 3, (Dim[]){two, n, m}, (int[]){1, 2});
	/* Free axes of the first operand, of the second, and with a batch axis. */
	Ref xw = build_dot(b, x, w, 1, (int[]){1}, (int[]){0}, 0, NULL, NULL),
		wx = build_dot(b, w, x, 1, (int[]){0}, (int[]){1}, 0, NULL, NULL);
	Ref each = build_dot(b, x, y2, 1, (int[]){1}, (int[]){1}, 1, (int[]){0}, (int[]){0});
	CHECK(build_dot(b, bx, w, 1, (int[]){2}, (int[]){0}, 0, NULL, NULL) ==
	      build_broadcast(b, xw, 3, left, (int[]){0, 2}));
	CHECK(build_dot(b, w, bx, 1, (int[]){0}, (int[]){2}, 0, NULL, NULL) ==
	      build_broadcast(b, wx, 3, (Dim[]){k, n, two}, (int[]){0, 1}));
	CHECK(build_dot(b, first, y2, 1, (int[]){2}, (int[]){1}, 1, (int[]){1}, (int[]){0}) ==
	      build_broadcast(b, each, 3, left, (int[]){0, 2}));
	CHECK(rule_hits(b, "dot_of_broadcast") == 3);
	/* Contracted axes, while at least one other remains. */
	Ref sum = build_reduce(b, OP_REDUCE_SUM, y, 1, (int[]){1});
	CHECK(build_dot(b, bx, y, 2, (int[]){0, 1}, (int[]){0, 1}, 0, NULL, NULL) ==
	      build_dot(b, x, sum, 1, (int[]){0}, (int[]){0}, 0, NULL, NULL));
	CHECK(build_dot(b, y, first, 2, (int[]){1, 0}, (int[]){0, 1}, 0, NULL, NULL) ==
	      build_dot(b, sum, x, 1, (int[]){0}, (int[]){0}, 0, NULL, NULL));
	CHECK(rule_hits(b, "dot_along_broadcast") == 2);
	CHECK(is_op(t, build_dot(b, bx, z, 1, (int[]){1}, (int[]){0}, 0, NULL, NULL), OP_DOT));
	/* Two broadcasts with a common axis; unit axes. */
	Ref ba = build_broadcast(b, a, 3, (Dim[]){n, two, m}, (int[]){0}),
		spread = build_broadcast(b, a, 2, (Dim[]){n, m}, (int[]){0});
	CHECK(build2(b, OP_MUL, ba, bx) ==
	      build_broadcast(b, build2(b, OP_MUL, spread, x), 3, (Dim[]){n, two, m}, (int[]){0, 2}));
	CHECK(build_reshape(b, bx, 4, (Dim[]){n, two, one, m}) ==
	      build_broadcast(b, x, 4, (Dim[]){n, two, one, m}, (int[]){0, 3}));
	Ref column = build_reshape(b, a, 2, (Dim[]){n, one}),
		bc = build_broadcast(b, column, 3, (Dim[]){n, two, one}, (int[]){0, 2});
	CHECK(build_reshape(b, bc, 2, (Dim[]){n, two}) ==
	      build_broadcast(b, a, 2, (Dim[]){n, two}, (int[]){0}));
	CHECK(
		is_op(t, build_reshape(b, bx, 1, (Dim[]){dim_mul(c, dim_mul(c, n, two), m)}), OP_RESHAPE));
}

int main(void) {
	void (*const tests[])(T * t) = {test_number_rules, test_shape_rules, test_broadcast_rules};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) run(tests[i]);
	return check_end();
}
