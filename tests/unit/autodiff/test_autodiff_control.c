/* test_autodiff_control.c - unit tests of derivatives of control flow.
 *
 * Covers branches, failures, loops, and random bits and output in loops, to
 * third order.
 * Oracle: finite differences and the transpose identity (derivative_check.h).
 *
 * Needs: derivative_check.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "tests/unit/autodiff/derivative_check.h"

static void test_branches(T *t) {
	for (int side = 0; side < 2; side++) {
		begin(t, "if");
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, vec(t, n), "x"), y = param(t, vec(t, n), "y"), s = param(t, num(t), "s"),
			r[3];
		Ref z = mul(b, x, y);
		OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
		Ref big = build1(b, OP_EXP, z);
		RegionId yes = build_region_end(b, open, 3, (Ref[]){mul(b, big, x), total(t, big), x});
		open = build_region_begin(b, 0, NULL, NULL);
		RegionId no =
			build_region_end(b, open, 3, (Ref[]){y, build_f64(b, 2), build1(b, OP_SIN, z)});
		build_if(b, build2(b, OP_LT, s, build_f64(b, 0)), yes, no, r);
		Value args[3] = {vector(t, 3, -1, 1), vector(t, 3, -1, 1), value_f64(side ? 0.7 : -0.7)};
		check_all(t, end(t, 3, (Ref[]){mul(b, r[0], z), mul(b, r[1], s), r[2]}), 3, args, 3,
		          &usual);
	}
	/* An extent that is known only inside the branch. */
	for (int side = 0; side < 2; side++) {
		begin(t, "if, with a length of its own");
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, vec(t, n), "x"), s = param(t, num(t), "s"), r[2];
		OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
		Ref positive = build2(b, OP_LT, build_zeros(b, vec(t, n)), x);
		Ref places = build(b, OP_NONZERO, 1, &positive,
		                   attr_intern(t->c, (int64_t[]){sym(t, "k")}, 1), NULL);
		Ref some = build_gather(b, mul(b, x, x), places, 0, 0);
		RegionId yes = build_region_end(
			b, open, 2,
			(Ref[]){total(t, mul(b, some, build1(b, OP_SIN, some))), mul(b, some, some)});
		open = build_region_begin(b, 0, NULL, NULL);
		RegionId no = build_region_end(b, open, 2, (Ref[]){total(t, x), x});
		build_if(b, build2(b, OP_LT, s, build_f64(b, 0)), yes, no, r);
		Value args[2] = {numbers(t, 5, (double[]){0.5, -1, 0.7, -0.3, 0.9}),
		                 value_f64(side ? 1 : -1)};
		check_all(t, end(t, 2, (Ref[]){mul(b, r[0], s), mul(b, r[1], r[1])}), 2, args, 3, &usual);
	}
	/* An intermediate array of data-dependent extent, outside any region. */
	begin(t, "nonzero");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x");
	Ref positive = build2(b, OP_LT, build_zeros(b, vec(t, n)), x);
	Ref places =
		build(b, OP_NONZERO, 1, &positive, attr_intern(t->c, (int64_t[]){sym(t, "k")}, 1), NULL);
	Ref some = build_gather(b, x, places, 0, 0);
	Value args[1] = {numbers(t, 5, (double[]){0.5, -1, 0.7, -0.3, 0.9})};
	check_all(t, end(t, 2, (Ref[]){mul(b, some, some), total(t, some)}), 1, args, 3, &usual);
}

static void test_try(T *t) {
	for (int fails = 0; fails < 2; fails++) {
		begin(t, "try");
		Builder *b = t->b;
		Ref x = param(t, vec(t, len(t, 3)), "x"), i = param(t, type_scalar(t->c, DT_I64), "i"), r,
			message;
		OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
		Ref picked = element(t, mul(b, x, x), i);
		RegionId body = build_region_end(b, open, 1, (Ref[]){mul(b, picked, total(t, x))});
		TypeId dyn = type_dyn(t->c);
		open = build_region_begin(b, 1, &dyn, &message);
		RegionId handler = build_region_end(b, open, 1, (Ref[]){build1(b, OP_SIN, first_of(t, x))});
		build_try(b, body, handler, &r);
		Value args[2] = {vector(t, 3, -1, 1), value_i64(fails ? 7 : 1)};
		check_all(t, end1(t, mul(b, r, r)), 2, args, 3, &usual);
		diag_clear(t->c);
	}
}

/* x := sin(a x) + x b_i, where b comes from outside and a is exchanged in each
 * iteration. */
static Fn *loop_program(T *t, bool symbolic) {
	begin(t, symbolic ? "for, n turns" : "for, 5 turns");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), a = param(t, vec(t, n), "a"),
		w = param(t, vec(t, len(t, 6)), "w");
	Ref turns = symbolic ? param(t, type_scalar(t->c, DT_I64), "turns") : build_i64(b, 5);
	TypeId types[4] = {type_scalar(t->c, DT_I64), vec(t, n), vec(t, n), num(t)};
	Ref p[4], r[3];
	OpenRegion *open = build_region_begin(b, 4, types, p);
	Ref wi = element(t, w, p[0]);
	Ref next = add(b, build1(b, OP_SIN, mul(b, p[1], p[2])),
	               mul(b, p[1], build_broadcast_scalar(b, wi, vec(t, n))));
	/* The two arrays are exchanged. */
	Ref out[3] = {p[2], next, add(b, p[3], mul(b, wi, total(t, next)))};
	RegionId last = build_region_end(b, open, 3, out);
	build_for(b, turns, 3, (Ref[]){x, a, build_f64(b, 0.5)}, last, r);
	return end(t, 3, r);
}

static void test_for(T *t) {
	Value args[4] = {vector(t, 3, -1, 1), vector(t, 3, -1, 1), vector(t, 6, -1, 1)};
	check_all(t, loop_program(t, false), 3, args, 3, &usual);
	for (int64_t turns = -2; turns < 5; turns += 2) {
		args[0] = vector(t, 3, -1, 1);
		args[1] = vector(t, 3, -1, 1);
		args[2] = vector(t, 6, -1, 1);
		args[3] = value_i64(turns);
		check_all(t, loop_program(t, true), 4, args, 2, &usual);
	}

	begin(t, "for, updating an array");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, mat(t, n, len(t, 2)), "x"), s = param(t, num(t), "s"), p[3], r[2];
	TypeId types[3] = {type_scalar(t->c, DT_I64), mat(t, n, len(t, 2)), num(t)};
	OpenRegion *open = build_region_begin(b, 3, types, p);
	Ref row = element(t, p[1], p[0]), previous = element(t, x, p[0]);
	Ref changed = mul(b, mul(b, row, build1(b, OP_COS, previous)),
	                  build_broadcast_scalar(b, p[2], vec(t, len(t, 2))));
	Ref updated = build_scatter(b, OP_SCATTER_SET, p[1], p[0], changed, 0, 0);
	updated = build_scatter(b, OP_SCATTER_ADD, updated, build_i64(b, 0), row, 0, 0);
	RegionId last = build_region_end(b, open, 2, (Ref[]){updated, mul(b, p[2], s)});
	build_for(b, build_extent(b, n), 2, (Ref[]){x, s}, last, r);
	Value two[2] = {matrix(t, 4, 2), number(t, 0.5, 1)};
	check_all(t, end(t, 2, r), 2, two, 3, &usual);

	/* The inner trip count depends on the outer iteration, so the residuals of
	 * the inner loop change their extent. */
	begin(t, "for in for");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	Ref q[3], inner[1];
	TypeId number_types[2] = {type_scalar(t->c, DT_I64), vec(t, n)};
	open = build_region_begin(b, 2, number_types, p);
	OpenRegion *open_inner = build_region_begin(b, 2, number_types, q);
	Ref scale = build_broadcast_scalar(b, element(t, x, p[0]), vec(t, n));
	RegionId turn = build_region_end(b, open_inner, 1,
	                                 (Ref[]){build1(b, OP_SIN, add(b, mul(b, q[1], q[1]), scale))});
	build_for(b, add(b, p[0], build_i64(b, 1)), 1, &p[1], turn, inner);
	turn = build_region_end(b, open, 1, (Ref[]){mul(b, inner[0], p[1])});
	build_for(b, build_i64(b, 4), 1, &x, turn, r);
	two[0] = vector(t, 4, -1, 1);
	check_all(t, end1(t, r[0]), 1, two, 2, &usual);
}

/* x := tanh(x) / (1 + exp(x)), 5 iterations. Each iteration saves tanh, exp and
 * the quotient. It does not save 1 - tanh^2 or the square of 1/(1 + exp), which
 * are recomputed. */
static void test_tapes(T *t) {
	begin(t, "tapes");
	Builder *b = t->b;
	TypeId three = vec(t, len(t, 3));
	Ref x = param(t, three, "x"), one = build_broadcast_scalar(b, build_f64(b, 1), three), r,
		params[2];
	TypeId types[2] = {type_scalar(t->c, DT_I64), three};
	OpenRegion *open = build_region_begin(b, 2, types, params);
	Ref next = mul(b, build1(b, OP_TANH, params[1]),
	               build2(b, OP_DIV, one, add(b, one, build1(b, OP_EXP, params[1]))));
	RegionId body = build_region_end(b, open, 1, &next);
	build_for(b, build_i64(b, 5), 1, &x, body, &r);
	Fn *f = end1(t, r);
	const Fn *primal = ad_linearise(t->c, f, (bool[]){true})->primal;
	uint32_t tapes = 0;
	for (uint32_t i = 0; i < primal->insts.n; i++)
		tapes += primal->insts.at[i].op == OP_SCATTER_SET;
	CHECK(tapes == 3);
	Value args[1] = {vector(t, 3, -1, 1)};
	check_all(t, f, 1, args, 3, &usual);
}

static void test_while(T *t) {
	Builder *b;
	static const double starts[] = {1.7, 0.1, 0.9};
	for (int k = 0; k < 3; k++) {
		begin(t, "while");
		Ref x = param(t, num(t), "x"), y = param(t, num(t), "y");
		Value args[2] = {value_f64(starts[k]), value_f64(0.4)};
		check_all(t, end1(t, shrink(t, x, y)), 2, args, 3, &usual);
	}
	begin(t, "while in for");
	b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), p[2], r[1];
	TypeId types[2] = {type_scalar(t->c, DT_I64), num(t)};
	OpenRegion *open = build_region_begin(b, 2, types, p);
	Ref small = shrink(t, element(t, x, p[0]), p[1]);
	RegionId last = build_region_end(b, open, 1, (Ref[]){build1(b, OP_SIN, small)});
	build_for(b, build_extent(b, n), 1, (Ref[]){build_f64(b, 0.3)}, last, r);
	Value args[2] = {numbers(t, 5, (double[]){1.3, 0.1, 0.7, 2.2, 0.9})};
	check_all(t, end1(t, r[0]), 1, args, 3, &usual);

	begin(t, "for in while in for");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	Ref q[2], s[2], inner[1], middle[1];
	open = build_region_begin(b, 2, types, p);
	OpenRegion *open_cond = build_region_begin(b, 1, &types[1], q);
	RegionId cond =
		build_region_end(b, open_cond, 1, (Ref[]){build2(b, OP_LT, build_f64(b, 0.5), q[0])});
	OpenRegion *open_body = build_region_begin(b, 1, &types[1], q);
	OpenRegion *open_inner = build_region_begin(b, 2, types, s);
	RegionId turn = build_region_end(
		b, open_inner, 1,
		(Ref[]){mul(b, s[1], build1(b, OP_COS, mul(b, s[1], element(t, x, s[0]))))});
	build_for(b, add(b, p[0], build_i64(b, 1)), 1, &q[0], turn, inner);
	RegionId body = build_region_end(b, open_body, 1, (Ref[]){mul(b, inner[0], build_f64(b, 0.8))});
	build_while(b, 1, (Ref[]){add(b, element(t, x, p[0]), p[1])}, cond, body, middle);
	turn = build_region_end(b, open, 1, (Ref[]){add(b, p[1], middle[0])});
	build_for(b, build_extent(b, n), 1, (Ref[]){build_f64(b, 0.3)}, turn, r);
	args[0] = numbers(t, 4, (double[]){0.9, 0.4, 1.3, 0.2});
	check_all(t, end1(t, r[0]), 1, args, 2, &usual);

	/* A list grows: x, f(x), f(f(x)) ... and is used as a whole after the
	 * loop. */
	begin(t, "while, growing a list");
	b = t->b;
	x = param(t, num(t), "x");
	Dim k = sym(t, "k");
	TypeId growing[2] = {num(t), vec(t, k)};
	open = build_region_begin(b, 2, growing, p);
	cond = build_region_end(b, open, 1, (Ref[]){build2(b, OP_LT, build_f64(b, 0.3), p[0])});
	open = build_region_begin(b, 2, growing, p);
	Ref next = mul(b, p[0], build1(b, OP_COS, p[0]));
	Ref list = build(b, OP_PUSH, 2, (Ref[]){p[1], mul(b, next, next)}, 0, NULL);
	body = build_region_end(b, open, 2, (Ref[]){mul(b, next, build_f64(b, 0.9)), list});
	Ref w[2];
	build_while(b, 2, (Ref[]){x, build_zeros(b, vec(t, len(t, 0)))}, cond, body, w);
	args[0] = value_f64(0.95);
	check_all(t, end(t, 2, (Ref[]){mul(b, w[1], w[1]), total(t, build1(b, OP_SIN, w[1]))}), 1, args,
	          3, &usual);

	/* The list is used as a whole inside the loop, too: the residuals change
	 * their shape with each iteration. */
	begin(t, "for, using a growing list");
	b = t->b;
	x = param(t, num(t), "x");
	k = sym(t, "k");
	TypeId carried[3] = {type_scalar(t->c, DT_I64), vec(t, k), num(t)};
	Ref c[3];
	open = build_region_begin(b, 3, carried, c);
	Ref squares_sum = total(t, mul(b, c[1], build1(b, OP_COS, c[1])));
	next = build1(b, OP_SIN, add(b, mul(b, x, squares_sum), c[2]));
	list = build(b, OP_PUSH, 2, (Ref[]){c[1], next}, 0, NULL);
	turn = build_region_end(b, open, 2, (Ref[]){list, next});
	build_for(b, build_i64(b, 4), 2, (Ref[]){build_zeros(b, vec(t, len(t, 0))), x}, turn, w);
	args[0] = value_f64(0.8);
	check_all(t, end(t, 2, (Ref[]){mul(b, w[0], w[0]), w[1]}), 1, args, 3, &usual);
}

/* ---- random bits and output in loops ------------------------------------- */

static void count_lines(void *ud, const char *text, size_t n) {
	for (size_t i = 0; i < n; i++) *(uint32_t *)ud += text[i] == '\n';
}

static void test_effects(T *t) {
	begin(t, "random numbers in a loop");
	Builder *b = t->b;
	Dim two = len(t, 2), n = sym(t, "n");
	TypeId state = type_tensor(t->c, DT_I64, 1, &two);
	Ref x = param(t, vec(t, n), "x"), seed = param(t, state, "seed"), p[3], r[2], bits[2];
	TypeId types[3] = {type_scalar(t->c, DT_I64), state, vec(t, n)};
	OpenRegion *open = build_region_begin(b, 3, types, p);
	build(b, OP_RANDOM, 1, &p[1], attr_intern(t->c, (int64_t[]){1, n}, 2), bits);
	Ref noise = mul(b, build_convert(b, bits[0], DT_F64), build_full(b, vec(t, n), 0x1p-64));
	RegionId turn =
		build_region_end(b, open, 2, (Ref[]){bits[1], build1(b, OP_SIN, mul(b, p[2], noise))});
	build_for(b, build_i64(b, 3), 2, (Ref[]){seed, x}, turn, r);
	Value args[2] = {vector(t, 3, -1, 1), integers(t, 2, (int64_t[]){7, 0})};
	check_all(t, end(t, 2, (Ref[]){r[1], r[0]}), 2, args, 2, &usual);

	/* The primal part prints each line once. */
	begin(t, "printing in a loop");
	b = t->b;
	x = param(t, num(t), "x");
	Ref tok = build(b, OP_START, 0, NULL, 0, NULL), q[3];
	TypeId carried[3] = {type_scalar(t->c, DT_I64), type_token(t->c), num(t)};
	open = build_region_begin(b, 3, carried, q);
	Ref text =
		build(b, OP_FORMAT, 1, &q[2], attr_intern(t->c, (int64_t[]){atom(t->c, "{0}")}, 1), NULL);
	Ref printed = build(b, OP_PRINT, 2, (Ref[]){q[1], text}, 0, NULL);
	turn = build_region_end(b, open, 2, (Ref[]){printed, mul(b, q[2], build1(b, OP_COS, q[2]))});
	build_for(b, build_i64(b, 3), 2, (Ref[]){tok, x}, turn, r);
	Fn *f = end(t, 2, (Ref[]){r[1], r[0]});
	const Linearised *l = ad_linearise(t->c, f, (bool[]){true});
	CHECK(l->primal->effects && !l->linear->effects);
	CHECK(!ad_transpose(t->c, l->linear, l->nresiduals)->effects);
	Value in[16], y[16];
	uint32_t lines = 0;
	ctx_set_output(t->c, count_lines, &lines);
	ctx_grant(t->c, GRANT_OUTPUT);
	in[0] = value_f64(0.5);
	if (run(t, l->primal, in, y)) {
		CHECK(lines == 3);
		release(2 + l->nresiduals, y);
	}
	ctx_set_output(t->c, NULL, NULL);
	fn_unref(f);
}

int main(int argc, char **argv) {
	static const Named tests[] = {
		{"branches", test_branches}, {"try", test_try},     {"for", test_for},
		{"tapes", test_tapes},       {"while", test_while}, {"effects", test_effects},
	};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
