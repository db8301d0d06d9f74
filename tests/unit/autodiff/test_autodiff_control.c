/* test_autodiff_control.c - unit tests of derivatives of control flow.
 *
 * Covers branches, loops, failures, calls, recursion, host functions,
 * user-defined rules, code that cannot be differentiated, and random programs,
 * to third order.
 * Oracle: finite differences and the transpose identity (derivative_check.h).
 *
 * Needs: derivative_check.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "tests/unit/autodiff/derivative_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- control flow -------------------------------------------------------- */

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

/* Halves x until it is small and squares on the way: the trip count depends on
 * the data. */
static Ref shrink(T *t, Ref x, Ref weight) {
	Builder *b = t->b;
	TypeId types[2] = {num(t), num(t)};
	Ref p[2], r[2];
	OpenRegion *open = build_region_begin(b, 2, types, p);
	RegionId cond = build_region_end(
		b, open, 1, (Ref[]){build2(b, OP_LT, build_f64(b, 0.3), build1(b, OP_ABS, p[0]))});
	open = build_region_begin(b, 2, types, p);
	Ref half =
		mul(b, mul(b, p[0], build_f64(b, 0.6)), build1(b, OP_COS, mul(b, p[0], build_f64(b, 0.1))));
	Ref squared = mul(b, mul(b, p[1], p[1]), build_f64(b, 0.25));
	RegionId body =
		build_region_end(b, open, 2, (Ref[]){half, add(b, squared, mul(b, weight, half))});
	build_while(b, 2, (Ref[]){x, weight}, cond, body, r);
	return r[1];
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

/* ---- calls, recursion, host functions, user-defined rules ---------------- */

/* (a: [m], b: [m], turns) -> sin(a) b + a_0, and the sum of b over `turns`
 * iterations of shrink. */
static Fn *make_callee(T *t) {
	begin(t, "callee");
	Builder *b = t->b;
	Dim m = sym(t, "m");
	Ref a = param(t, vec(t, m), "a"), x = param(t, vec(t, m), "b"), s = param(t, num(t), "s");
	Ref first = build_broadcast_scalar(b, first_of(t, a), vec(t, m));
	Ref y = add(b, mul(b, build1(b, OP_SIN, a), x), first);
	return end(t, 2, (Ref[]){y, mul(b, shrink(t, s, first_of(t, x)), total(t, y))});
}

static void test_calls(T *t) {
	Fn *callee = make_callee(t);
	begin(t, "call");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), y = param(t, vec(t, n), "y"), r[2], q[2];
	build_call(b, callee, 3, (Ref[]){mul(b, x, y), y, first_of(t, x)}, r);
	/* Another set of active operands. */
	Ref still = constant(t, numbers(t, 3, (double[]){1, 2, 3}));
	build_call(b, callee, 3,
	           (Ref[]){still, build_slice(b, r[0], (Dim[]){len(t, 0)}, (Dim[]){len(t, 3)}, NULL),
	                   build_f64(b, 0.7)},
	           q);
	Value args[2] = {numbers(t, 4, (double[]){1.1, 0.5, -0.3, 0.2}), vector(t, 4, -1, 1)};
	check_all(t, end(t, 4, (Ref[]){r[0], r[1], mul(b, q[0], q[0]), q[1]}), 2, args, 3, &usual);

	/* The callee's residuals have another extent in each iteration. */
	begin(t, "call of a loop in a loop");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	TypeId types[2] = {type_scalar(t->c, DT_I64), num(t)};
	Ref p[2], s[1];
	OpenRegion *open = build_region_begin(b, 2, types, p);
	build_call(b, callee, 3, (Ref[]){x, x, add(b, element(t, x, p[0]), p[1])}, r);
	RegionId turn = build_region_end(b, open, 1, (Ref[]){build1(b, OP_SIN, r[1])});
	build_for(b, build_extent(b, n), 1, (Ref[]){build_f64(b, 0.4)}, turn, s);
	args[0] = numbers(t, 4, (double[]){0.9, 0.5, 1.1, 0.2});
	/* This function is strongly curved, and the rounding error grows with
	 * 1/step. */
	static const Bounds finer = {5e-4, 2e-11, 1e-13, 1e-13};
	check_all(t, end1(t, s[0]), 1, args, 2, &finer);
	fn_unref(callee);
}

static void call_self(T *t, Fn *f, uint32_t n, const Ref *args, uint32_t m, Ref *results) {
	TypeId types[4];
	for (uint32_t k = 0; k < m; k++) types[k] = num(t);
	int64_t word = f->id;
	build_typed(t->b, OP_CALL, n, args, attr_intern(t->c, &word, 1), m, types, results);
}

static Ref is_done(T *t, Ref n) { return build2(t->b, OP_LE, n, build_i64(t->b, 0)); }
static Ref one_less(T *t, Ref n) { return sub(t->b, n, build_i64(t->b, 1)); }

static void test_recursion(T *t) {
	TypeId whole = type_scalar(t->c, DT_I64);
	/* f(x, a, n) = if n <= 0 then (x, a) else let (y, s) = f(sin(x) a, a x, n -
	 * 1) in (y x, s + y) */
	begin(t, "recursion");
	Builder *b = t->b;
	Ref x = param(t, num(t), "x"), a = param(t, num(t), "a"), n = param(t, whole, "n"), r[2], y[2];
	OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
	RegionId done = build_region_end(b, open, 2, (Ref[]){x, a});
	open = build_region_begin(b, 0, NULL, NULL);
	call_self(t, build_fn(b), 3,
	          (Ref[]){mul(b, build1(b, OP_SIN, x), a), mul(b, a, x), one_less(t, n)}, 2, y);
	RegionId deeper = build_region_end(b, open, 2, (Ref[]){mul(b, y[0], x), add(b, y[1], y[0])});
	build_if(b, is_done(t, n), done, deeper, r);
	Fn *f = end(t, 2, r);
	for (int64_t depth = 0; depth < 5; depth += 2) {
		Value three[3] = {value_f64(0.8), value_f64(1.1), value_i64(depth)};
		fn_ref(f);
		check_all(t, f, 3, three, 3, &usual);
	}
	fn_unref(f);

	/* Two recursive calls; only one operand of the function is active. */
	begin(t, "tree recursion");
	b = t->b;
	x = param(t, num(t), "x");
	n = param(t, whole, "n");
	open = build_region_begin(b, 0, NULL, NULL);
	done = build_region_end(b, open, 1, &x);
	open = build_region_begin(b, 0, NULL, NULL);
	call_self(t, build_fn(b), 2, (Ref[]){build1(b, OP_SIN, x), one_less(t, n)}, 1, y);
	call_self(t, build_fn(b), 2, (Ref[]){mul(b, y[0], x), sub(b, n, build_i64(b, 2))}, 1, y + 1);
	Ref fixed;
	call_self(t, build_fn(b), 2, (Ref[]){build_f64(b, 0.3), one_less(t, n)}, 1, &fixed);
	deeper = build_region_end(b, open, 1, (Ref[]){add(b, mul(b, y[0], y[1]), fixed)});
	build_if(b, is_done(t, n), done, deeper, r);
	Value args[2] = {value_f64(0.8), value_i64(4)};
	check_all(t, end1(t, r[0]), 2, args, 3, &usual);

	/* even(x, n) calls odd(x, n), which calls even: odd is finished before
	 * even. */
	begin(t, "even");
	Builder *even = t->b;
	Ref ex = param(t, num(t), "x"), en = param(t, whole, "n");
	Fn *even_fn = build_fn(even);
	begin(t, "odd");
	x = param(t, num(t), "x");
	n = param(t, whole, "n");
	open = build_region_begin(t->b, 0, NULL, NULL);
	done = build_region_end(t->b, open, 1, (Ref[]){build1(t->b, OP_COS, x)});
	open = build_region_begin(t->b, 0, NULL, NULL);
	call_self(t, even_fn, 2, (Ref[]){build1(t->b, OP_SIN, x), one_less(t, n)}, 1, y);
	deeper = build_region_end(t->b, open, 1, (Ref[]){mul(t->b, y[0], x)});
	build_if(t->b, is_done(t, n), done, deeper, r);
	Fn *odd_fn = end1(t, r[0]);
	t->b = even;
	open = build_region_begin(even, 0, NULL, NULL);
	done = build_region_end(even, open, 1, &ex);
	open = build_region_begin(even, 0, NULL, NULL);
	build_call(even, odd_fn, 2, (Ref[]){mul(even, ex, ex), one_less(t, en)}, y);
	deeper = build_region_end(even, open, 1, (Ref[]){add(even, y[0], ex)});
	build_if(even, is_done(t, en), done, deeper, r);
	args[0] = value_f64(0.9);
	args[1] = value_i64(5);
	t->name = "mutual recursion";
	check_all(t, end1(t, r[0]), 2, args, 3, &usual);
	fn_unref(odd_fn);
}

/* Host function (x, y) -> x^2 y with its rules. Its jvp uses a second one that
 * is linear in its last operand: (a, d) -> a d. */
static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)call;
	(void)nargs;
	(void)cap;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}
static Status host_cube(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)c;
	(void)call;
	(void)nargs;
	(void)nresults;
	results[0] = value_f64(args[0].f * args[0].f * args[1].f);
	return ST_OK;
}
static Status host_scale(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	(void)c;
	(void)call;
	(void)nargs;
	(void)nresults;
	results[0] = value_f64(args[0].f * args[1].f);
	return ST_OK;
}
static const HostDef host_defs[5];
static Ref call_host(Builder *b, int which, Ref x, Ref y) {
	Ref out;
	build_host(b, host_call_intern(build_ctx(b), &host_defs[which], 0, NULL, 0, NULL), 2,
	           (Ref[]){x, y}, &out, 1);
	return out;
}
static void host_cube_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                          const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)call;
	(void)nargs;
	(void)results;
	Ref sum = REF_NONE;
	if (tangents[0])
		sum = call_host(b, 1, mul(b, mul(b, args[0], args[1]), build_f64(b, 2)), tangents[0]);
	if (tangents[1]) {
		Ref part = call_host(b, 1, mul(b, args[0], args[0]), tangents[1]);
		sum = sum ? add(b, sum, part) : part;
	}
	result_tangents[0] = sum;
}
static void host_scale_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                           const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)call;
	(void)nargs;
	(void)results;
	Ref sum = REF_NONE;
	if (tangents[0]) sum = call_host(b, 1, args[1], tangents[0]);
	if (tangents[1]) {
		Ref part = call_host(b, 1, args[0], tangents[1]);
		sum = sum ? add(b, sum, part) : part;
	}
	result_tangents[0] = sum;
}
static void host_scale_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                                 const bool *linear, const Ref *result_cotangents,
                                 Ref *cotangents) {
	(void)call;
	(void)nargs;
	for (int k = 0; k < 2; k++)
		if (linear[k]) cotangents[k] = call_host(b, 1, args[1 - k], result_cotangents[0]);
}
/* (x, label) -> 3 x, linear in x; the label is a dynamic value. */
static Status host_labelled(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                            uint32_t nresults, Value *results) {
	(void)c;
	(void)call;
	(void)nargs;
	(void)nresults;
	results[0] = value_f64(3 * args[0].f);
	return ST_OK;
}
static void host_labelled_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                              const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)call;
	(void)nargs;
	(void)results;
	result_tangents[0] = call_host(b, 3, tangents[0], args[1]);
}
static void host_labelled_transpose(Builder *b, const HostCall *call, uint32_t nargs,
                                    const Ref *args, const bool *linear,
                                    const Ref *result_cotangents, Ref *cotangents) {
	(void)call;
	(void)nargs;
	(void)linear;
	cotangents[0] = call_host(b, 3, result_cotangents[0], args[1]);
}
/* (x, y) -> x y, linear in its tangent, without a transpose. */
static void host_one_way_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                             const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)call;
	(void)nargs;
	(void)results;
	if (tangents[0]) result_tangents[0] = call_host(b, 4, tangents[0], args[1]);
}
static const HostDef host_defs[5] = {
	{.name = "cube", .types = host_types, .eval = host_cube, .jvp = host_cube_jvp},
	{.name = "scale",
     .types = host_types,
     .eval = host_scale,
     .jvp = host_scale_jvp,
     .transpose = host_scale_transpose},
	{.name = "secret", .types = host_types, .eval = host_scale},
	{.name = "labelled",
     .types = host_types,
     .eval = host_labelled,
     .jvp = host_labelled_jvp,
     .transpose = host_labelled_transpose},
	{.name = "one way", .types = host_types, .eval = host_scale, .jvp = host_one_way_jvp},
};

static void test_host(T *t) {
	begin(t, "host");
	Ref x = param(t, num(t), "x"), y = param(t, num(t), "y");
	Ref r = call_host(t->b, 0, build1(t->b, OP_SIN, x), mul(t->b, x, y));
	Value args[2] = {value_f64(0.7), value_f64(-0.4)};
	check_all(t, end1(t, mul(t->b, r, r)), 2, args, 3, &usual);

	begin(t, "host without a derivative");
	x = param(t, num(t), "x");
	expect_error(t, end1(t, call_host(t->b, 2, x, x)), false, E_NO_RULE, "secret", __FILE__,
	             __LINE__);

	begin(t, "host without a way back");
	x = param(t, num(t), "x");
	expect_error(t, end1(t, call_host(t->b, 4, x, build_f64(t->b, 2))), true, E_NO_RULE, "one way",
	             __FILE__, __LINE__);

	/* A dynamic value among the residuals is saved in a branch and across a
	 * call. It cannot be saved for each iteration of a loop. */
	for (int where = 0; where < 3; where++) {
		begin(t, "dynamic residual");
		Builder *b = t->b;
		x = param(t, num(t), "x");
		Ref z, q[2];
		TypeId types[2] = {type_scalar(t->c, DT_I64), num(t)};
		OpenRegion *open = where == 2 ? NULL : build_region_begin(b, where ? 2 : 0, types, q);
		Ref inner = where == 1 ? q[1] : x;
		Ref label = build(b, OP_FORMAT, 1, &inner,
		                  attr_intern(t->c, (int64_t[]){atom(t->c, "{0}")}, 1), NULL);
		z = call_host(b, 3, build1(b, OP_SIN, inner), label);
		if (where == 0) {
			RegionId yes = build_region_end(b, open, 1, &z);
			open = build_region_begin(b, 0, NULL, NULL);
			RegionId last = build_region_end(b, open, 1, &x);
			build_if(b, build2(b, OP_LT, x, build_f64(b, 2)), yes, last, &z);
		}
		if (where == 1) {
			RegionId last = build_region_end(b, open, 1, &z);
			build_for(b, build_i64(b, 3), 1, &x, last, &z);
		}
		Fn *f = end1(t, z);
		if (where == 1) {
			expect_error(t, f, true, E_NO_RULE, "dynamic value from each turn", __FILE__, __LINE__);
			continue;
		}
		if (where == 2) {
			Fn *callee = f;
			begin(t, "dynamic residual of a call");
			x = param(t, num(t), "x");
			build_call(t->b, callee, 1, (Ref[]){mul(t->b, x, x)}, &z);
			f = end1(t, z);
			fn_unref(callee);
		}
		Value arg = value_f64(0.3);
		check_all(t, f, 1, &arg, 2, &usual);
	}
}

static void test_rules(T *t) {
	/* g(x, y) = x y, but its user-defined rule says (dx + dy) sin(result). */
	begin(t, "g");
	Ref x = param(t, num(t), "x"), y = param(t, num(t), "y");
	t->ruled = end1(t, mul(t->b, x, y));
	begin(t, "g.rule");
	Ref p[5];
	for (int k = 0; k < 5; k++) p[k] = param(t, num(t), "p");
	t->rule = end1(t, mul(t->b, add(t->b, p[3], p[4]), build1(t->b, OP_SIN, p[2])));
	begin(t, "written rule");
	x = param(t, num(t), "x");
	y = param(t, num(t), "y");
	Ref r;
	build_call(t->b, t->ruled, 2, (Ref[]){x, mul(t->b, y, y)}, &r);
	Fn *f = end1(t, r), *back = reverse_of(t, f, (bool[]){true, true});
	Value in[3] = {value_f64(0.7), value_f64(1.3), value_f64(1)}, ct[2];
	if (run(t, back, in, ct)) {
		double s = sin(0.7 * 1.3 * 1.3);
		CHECK(fabs(ct[0].f - s) < 1e-15 && fabs(ct[1].f - 2 * 1.3 * s) < 1e-15);
	}
	fn_unref(back);
	fn_unref(f);
	fn_unref(t->rule);

	/* Transposition reports a rule that is not linear in the tangents. */
	begin(t, "g.bad");
	for (int k = 0; k < 5; k++) p[k] = param(t, num(t), "p");
	t->rule = end1(t, build1(t->b, OP_SIN, p[3]));
	begin(t, "not linear");
	x = param(t, num(t), "x");
	build_call(t->b, t->ruled, 2, (Ref[]){x, x}, &r);
	expect_error(t, end1(t, r), true, E_NO_RULE, "not linear", __FILE__, __LINE__);
	fn_unref(t->rule);
	begin(t, "g.bad");
	for (int k = 0; k < 4; k++) p[k] = param(t, num(t), "p");
	t->rule = end1(t, p[3]);
	begin(t, "wrong arity");
	x = param(t, num(t), "x");
	build_call(t->b, t->ruled, 2, (Ref[]){x, x}, &r);
	expect_error(t, end1(t, r), false, E_RULE, "takes 4 values", __FILE__, __LINE__);
	fn_unref(t->rule);

	/* stop_gradient in a rule: the value passes in both directions. Only the
	 * derivative of the rule stops there. */
	begin(t, "g.stopped");
	for (int k = 0; k < 5; k++) p[k] = param(t, num(t), "p");
	t->rule = end1(t, mul(t->b, build1(t->b, OP_STOP, add(t->b, p[3], p[4])), build_f64(t->b, 3)));
	begin(t, "stop in a rule");
	x = param(t, num(t), "x");
	build_call(t->b, t->ruled, 2, (Ref[]){x, x}, &r);
	f = end1(t, r);
	back = reverse_of(t, f, (bool[]){true});
	if (run(t, back, in, ct)) CHECK(fabs(ct[0].f - 7.8) < 1e-14); /* (1 + 1) 3 w, w = 1.3 */
	fn_unref(back);
	fn_unref(f);
	fn_unref(t->rule);
	fn_unref(t->ruled);
	t->rule = t->ruled = NULL;

	/* Invalid element-wise rules. */
	Fn *good = t->rules[OP_SIN][DT_F64];
	begin(t, "line.short");
	t->rules[OP_SIN][DT_F64] = end1(t, param(t, num(t), "x"));
	begin(t, "a line with too few operands");
	expect_error(t, end1(t, build1(t->b, OP_SIN, param(t, num(t), "x"))), false, E_RULE,
	             "takes its 1 operands", __FILE__, __LINE__);
	fn_unref(t->rules[OP_SIN][DT_F64]);
	begin(t, "line.loop");
	x = param(t, num(t), "x");
	y = param(t, num(t), "y");
	TypeId types[2] = {type_scalar(t->c, DT_I64), num(t)};
	OpenRegion *open = build_region_begin(t->b, 2, types, p);
	RegionId last = build_region_end(t->b, open, 1, (Ref[]){mul(t->b, p[1], y)});
	build_for(t->b, build_i64(t->b, 3), 1, &x, last, &r);
	t->rules[OP_SIN][DT_F64] = end1(t, r);
	begin(t, "a line with a loop");
	expect_error(t, end1(t, build1(t->b, OP_SIN, param(t, num(t), "x"))), false, E_RULE, "`for`",
	             __FILE__, __LINE__);
	fn_unref(t->rules[OP_SIN][DT_F64]);
	begin(t, "line.zero");
	param(t, num(t), "x");
	param(t, num(t), "y");
	t->rules[OP_SIN][DT_F64] = end1(t, build_f64(t->b, 0));
	begin(t, "a line that says zero");
	f = end1(t, build1(t->b, OP_SIN, param(t, num(t), "x")));
	bool moves;
	ad_jvp(t->c, f, (bool[]){true}, &moves);
	CHECK(!moves);
	fn_unref(f);
	fn_unref(t->rules[OP_SIN][DT_F64]);
	t->rules[OP_SIN][DT_F64] = good;
}

static void test_dynamic(T *t) {
	TypeId dyn = type_dyn(t->c), token = type_token(t->c);
	begin(t, "printing");
	Builder *b = t->b;
	Ref x = param(t, num(t), "x"), tok = param(t, token, "tok");
	int64_t words = atom(t->c, "x is {0}");
	Ref text = build(b, OP_FORMAT, 1, &x, attr_intern(t->c, &words, 1), NULL);
	tok = build(b, OP_PRINT, 2, (Ref[]){tok, text}, 0, NULL);
	Fn *f = end(t, 2, (Ref[]){mul(b, x, x), tok});
	bool moves[2];
	const Linearised *l = ad_linearise(t->c, f, (bool[]){true, false});
	ad_jvp(t->c, f, (bool[]){true, false}, moves);
	CHECK(moves[0] && !moves[1] && l->primal->effects && !l->linear->effects);
	fn_unref(f);

	begin(t, "through a dynamic value");
	b = t->b;
	x = param(t, num(t), "x");
	Value hole = {0};
	Value list = value_seq(t->c, V_LIST, 1, &hole);
	Ref boxed = build(b, OP_BOX, 2, (Ref[]){constant(t, list), x}, 0, NULL);
	int64_t to = num(t);
	Ref y = build(b, OP_UNBOX, 1, &boxed, attr_intern(t->c, &to, 1), NULL);
	expect_error(t, end1(t, y), false, E_NO_RULE, "dynamic value", __FILE__, __LINE__);

	begin(t, "length of a list");
	b = t->b;
	Ref any = param(t, dyn, "any");
	Fn *callee = end1(t, any);
	begin(t, "a dynamic value handed on");
	b = t->b;
	x = param(t, num(t), "x");
	list = value_seq(t->c, V_LIST, 1, &hole);
	boxed = build(b, OP_BOX, 2, (Ref[]){constant(t, list), x}, 0, NULL);
	Ref handed;
	build_call(b, callee, 1, &boxed, &handed);
	expect_error(t, end1(t, handed), false, E_NO_RULE, "dynamic value", __FILE__, __LINE__);
	fn_unref(callee);

	/* A list of active values may be built if no scalar is read from it. */
	begin(t, "into a dynamic value");
	b = t->b;
	x = param(t, num(t), "x");
	list = value_seq(t->c, V_LIST, 1, &hole);
	boxed = build(b, OP_BOX, 2, (Ref[]){constant(t, list), x}, 0, NULL);
	f = end(t, 2, (Ref[]){mul(b, x, x), boxed});
	CHECK(ref_type(f, fn_result(f, 1)) == dyn);
	ad_jvp(t->c, f, (bool[]){true}, moves);
	CHECK(moves[0] && !moves[1]);
	fn_unref(f);
}

/* A failure deep in mutually recursive transforms leaves no partial result. */
static void test_failures(T *t) {
	TypeId whole = type_scalar(t->c, DT_I64);
	begin(t, "failing");
	Builder *first = t->b;
	Ref x = param(t, num(t), "x"), n = param(t, whole, "n"), y, r;
	Fn *first_fn = build_fn(first);
	begin(t, "helper");
	Ref hx = param(t, num(t), "x"), hn = param(t, whole, "n");
	OpenRegion *open = build_region_begin(t->b, 0, NULL, NULL);
	RegionId done = build_region_end(t->b, open, 1, &hx);
	open = build_region_begin(t->b, 0, NULL, NULL);
	call_self(t, first_fn, 2, (Ref[]){build1(t->b, OP_SIN, hx), one_less(t, hn)}, 1, &y);
	RegionId deeper = build_region_end(t->b, open, 1, &y);
	build_if(t->b, is_done(t, hn), done, deeper, &r);
	Fn *helper = end1(t, r);
	t->b = first;
	build_call(first, helper, 2, (Ref[]){x, n}, &y);
	Fn *f = end1(t, call_host(first, 2, y, y));
	expect_error(t, f, true, E_NO_RULE, "secret", __FILE__, __LINE__);
	fn_unref(helper);

	for (int k = 0; k < 2; k++) { /* a missing rule */
		begin(t, "no line of calculus");
		Fn *(*rule)(Ctx *, Op, Dtype) = ir_services(t->c)->elementwise_rule;
		ir_services(t->c)->elementwise_rule = NULL;
		Ref v = param(t, num(t), "x");
		expect_error(t, end1(t, build1(t->b, OP_TANH, v)), k, E_NO_RULE, "tanh", __FILE__,
		             __LINE__);
		ir_services(t->c)->elementwise_rule = rule;
	}
}

/* ---- extents ------------------------------------------------------------- */

static void test_lengths(T *t) {
	Builder *b;
	/* No residual has the extent: the linear part must still receive it. */
	begin(t, "sum");
	b = t->b;
	Dim n = sym(t, "n"), m = sym(t, "m");
	Ref x = param(t, mat(t, n, m), "x");
	Value args[3] = {matrix(t, 3, 2)};
	check_all(t, end(t, 2, (Ref[]){total(t, x), build_reduce(b, OP_REDUCE_SUM, x, 1, (int[]){0})}),
	          1, args, 3, &usual);

	begin(t, "differences, of n + 1 points");
	b = t->b;
	n = sym(t, "n");
	Dim more = dim_add(t->c, n, len(t, 1));
	x = param(t, vec(t, more), "x");
	Ref low = build_slice(b, x, (Dim[]){len(t, 0)}, &n, NULL),
		high = build_slice(b, x, (Dim[]){len(t, 1)}, &n, NULL);
	Ref d = sub(b, high, low);
	args[0] = vector(t, 5, -1, 1);
	check_all(t, end(t, 2, (Ref[]){mul(b, d, d), total(t, d)}), 1, args, 3, &usual);

	begin(t, "nine lengths");
	Ref nine[9], all = REF_NONE;
	Value shapes[9];
	for (int k = 0; k < 9; k++) {
		nine[k] = param(t, vec(t, sym(t, "n")), "x");
		shapes[k] = vector(t, 2 + k % 3, -1, 1);
	}
	for (int k = 0; k < 9; k++) all = all ? add(t->b, all, total(t, nine[k])) : total(t, nine[k]);
	check_all(t, end1(t, all), 9, shapes, 2, &usual);

	/* Two extents that turn out equal, at top level, in a branch and in a
	 * loop. */
	for (int where = 0; where < 3; where++) {
		begin(t, "guard");
		b = t->b;
		n = sym(t, "n");
		m = sym(t, "m");
		x = param(t, vec(t, n), "x");
		Ref y = param(t, vec(t, m), "y"), s = param(t, num(t), "s"), p[2], r;
		TypeId types[2] = {type_scalar(t->c, DT_I64), num(t)};
		OpenRegion *open = where ? build_region_begin(b, where == 2 ? 2 : 0, types, p) : NULL;
		Atom what = atom(t->c, "x and y");
		if (!build_unify(b, n, m, what)) CHECK(false);
		r = total(t, mul(b, build1(b, OP_SIN, x), mul(b, y, y)));
		if (where == 1) {
			RegionId yes = build_region_end(b, open, 1, &r);
			open = build_region_begin(b, 0, NULL, NULL);
			RegionId last = build_region_end(b, open, 1, &s);
			build_if(b, build2(b, OP_LT, s, build_f64(b, 0)), yes, last, &r);
		}
		if (where == 2) {
			r = mul(b, r, p[1]);
			RegionId last = build_region_end(b, open, 1, &r);
			build_for(b, build_i64(b, 3), 1, &s, last, &r);
		}
		args[0] = vector(t, 3, -1, 1);
		args[1] = vector(t, 3, -1, 1);
		args[2] = value_f64(-0.5);
		check_all(t, end1(t, mul(b, r, r)), 3, args, 3, &usual);
	}

	/* The trip count is computed, and each iteration selects some elements. */
	begin(t, "picking in a loop");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	Ref p[2], r;
	TypeId types[2] = {type_scalar(t->c, DT_I64), vec(t, n)};
	OpenRegion *open = build_region_begin(b, 2, types, p);
	Ref large = build2(b, OP_LT, build_full(b, vec(t, n), 0.2), p[1]);
	Ref places =
		build(b, OP_NONZERO, 1, &large, attr_intern(t->c, (int64_t[]){sym(t, "k")}, 1), NULL);
	Ref some = build_gather(b, p[1], places, 0, 0);
	Ref changed = mul(b, some, build1(b, OP_COS, some));
	RegionId turn = build_region_end(
		b, open, 1, (Ref[]){build_scatter(b, OP_SCATTER_SET, p[1], places, changed, 0, 0)});
	build_for(b, build_i64(b, 4), 1, &x, turn, &r);
	args[0] = numbers(t, 5, (double[]){0.9, -1, 0.7, 0.1, 0.5});
	check_all(t, end(t, 2, (Ref[]){mul(b, r, r), total(t, r)}), 1, args, 2, &usual);

	/* A callee that computes an extent k returns arrays of extent 2k, k + 1 or
	 * both. k itself is not the extent of a result. */
	for (int which = 1; which < 4; which++) {
		begin(t, "doubles");
		b = t->b;
		Ref a = param(t, num(t), "a"), s, given[2];
		Ref k = build1(b, OP_FLOOR, a);
		k = build2(b, OP_ADD, build_convert(b, k, DT_I64), build_i64(b, 2));
		Dim length = sym(t, "k");
		build(b, OP_BIND, 1, &k, attr_intern(t->c, (int64_t[]){length}, 1), NULL);
		Ref steps =
			mul(b, build_iota(b, DT_F64, length), build_broadcast_scalar(b, a, vec(t, length)));
		Ref twice = build_concat(b, 2, (Ref[]){steps, build1(b, OP_SIN, steps)}, 0),
			longer = build_concat(
				b, 2, (Ref[]){steps, build_broadcast_scalar(b, a, vec(t, len(t, 1)))}, 0);
		uint32_t ngiven = 0;
		if (which & 1) given[ngiven++] = twice;
		if (which & 2) given[ngiven++] = longer;
		Fn *doubles = end(t, ngiven, given);
		begin(t, "a callee's lengths");
		b = t->b;
		x = param(t, num(t), "x");
		TypeId one[2] = {type_scalar(t->c, DT_I64), num(t)};
		open = build_region_begin(b, 2, one, p);
		build_call(b, doubles, 1, &p[1], given);
		s = mul(b, p[1], build_f64(b, 0.5));
		for (uint32_t g = 0; g < ngiven; g++)
			s = add(b, s,
			        total(t, build1(b, OP_SIN,
			                        mul(b, given[g],
			                            build_broadcast_scalar(b, p[1],
			                                                   ref_type(build_fn(b), given[g]))))));
		turn = build_region_end(b, open, 1, &s);
		build_for(b, build_i64(b, 2), 1, &x, turn, &r);
		args[0] = value_f64(0.4);
		check_all(t, end1(t, mul(b, r, r)), 1, args, 2, &usual);
		fn_unref(doubles);
	}
}

/* Functions with little or nothing to differentiate. */
static void test_trivial(T *t) {
	begin(t, "identity, constant, twice the same");
	Ref x = param(t, num(t), "x"), i = param(t, type_scalar(t->c, DT_I64), "i");
	Ref y = build1(t->b, OP_SIN, x);
	Value args[2] = {value_f64(0.4), value_i64(3)};
	check_all(t, end(t, 6, (Ref[]){x, build_f64(t->b, 2), i, y, y, x}), 2, args, 3, &usual);
	begin(t, "nothing active");
	i = param(t, type_scalar(t->c, DT_I64), "i");
	args[0] = value_i64(3);
	check_all(t, end1(t, build_convert(t->b, i, DT_F64)), 1, args, 2, &usual);
	begin(t, "an operand without effect");
	x = param(t, vec(t, sym(t, "n")), "x");
	args[0] = vector(t, 3, -1, 1);
	check_all(t, end1(t, build_f64(t->b, 1)), 1, args, 2, &usual);
}

/* The services that other modules call. */
static void test_services(T *t) {
	begin(t, "services");
	Ref x = param(t, num(t), "x");
	Fn *f = end1(t, mul(t->b, x, x)), *primal, *linear;
	const IrServices *s = ir_services(t->c);
	bool active = true, moves = false;
	const bool *result_active;
	uint32_t nresiduals;
	s->linearise(t->c, f, &active, &primal, &linear, &nresiduals, &result_active);
	CHECK(nresiduals == 1 && result_active[0] && fn_nparams(linear) == 2);
	CHECK(s->transpose(t->c, linear, nresiduals) == ad_transpose(t->c, linear, nresiduals));
	CHECK(s->jvp(t->c, f, &active, &moves) == ad_jvp(t->c, f, &active, NULL) && moves);
	CHECK(s->cost(f, NULL, 0) == 1 && s->jet && s->batch);
	fn_unref(f);
}

/* ---- linear functions that linearise did not make ------------------------ */

static void check_transpose(T *t, Fn *f, uint32_t nresiduals, const Value *args) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f);
	Fn *back = ad_transpose(t->c, f, nresiduals);
	Value y[8], in[8], ct[8], w[8];
	double left = 0, right = 0, scale = 1e-300;
	if (!run(t, f, args, y)) return;
	memcpy(in, args, nresiduals * sizeof *in);
	for (uint32_t k = 0; k < m; k++) {
		size_t size = flatten(t, y[k], NULL);
		double *at = malloc((size + 1) * sizeof *at), *by = malloc((size + 1) * sizeof *by);
		for (size_t j = 0; j < size; j++) at[j] = uniform(t, -1, 1);
		in[nresiduals + k] = w[k] = shaped(t, y[k], at);
		flatten(t, y[k], by);
		for (size_t j = 0; j < size; j++) {
			left += at[j] * by[j];
			scale += fabs(at[j] * by[j]);
		}
		free(at);
		free(by);
	}
	if (run(t, back, in, ct)) {
		for (uint32_t k = nresiduals; k < n; k++) {
			double a[16], c[16];
			size_t size = flatten(t, args[k], a);
			flatten(t, ct[k - nresiduals], c);
			for (size_t j = 0; j < size; j++) right += a[j] * c[j];
		}
		CHECK_MSG(fabs(left - right) <= 1e-13 * scale, "<w, F x> = %.17g, <F^T w, x> = %.17g", left,
		          right);
		release(n - nresiduals, ct);
	}
	release(m, y);
	release(m, w);
}

static void test_linear(T *t) {
	Builder *b;
	/* The loop carries a product of residuals as well as the linear value. */
	begin(t, "a loop that carries both kinds");
	b = t->b;
	Ref a = param(t, num(t), "a"), x = param(t, vec(t, len(t, 3)), "x"), p[3], r[2];
	TypeId types[3] = {type_scalar(t->c, DT_I64), num(t), vec(t, len(t, 3))};
	OpenRegion *open = build_region_begin(b, 3, types, p);
	Ref next = mul(b, p[2], build_broadcast_scalar(b, p[1], types[2]));
	RegionId turn =
		build_region_end(b, open, 2, (Ref[]){build1(b, OP_SIN, mul(b, p[1], a)), add(b, next, x)});
	build_for(b, build_i64(b, 4), 2, (Ref[]){a, x}, turn, r);
	Fn *f = end1(t, r[1]);
	Value args[2] = {value_f64(1.3), vector(t, 3, -1, 1)};
	check_transpose(t, f, 1, args);
	CHECK(ad_transpose(t->c, f, 1) == ad_transpose(t->c, f, 1));

	begin(t, "a linear call of it");
	b = t->b;
	x = param(t, vec(t, len(t, 3)), "x");
	a = param(t, num(t), "a");
	build_call(b, f, 2, (Ref[]){a, mul(b, x, x)}, r);
	Fn *g = end1(t, r[0]);
	begin(t, "a linear call of it, turned round");
	b = t->b;
	a = param(t, num(t), "a");
	x = param(t, vec(t, len(t, 3)), "x");
	build_call(b, f, 2, (Ref[]){build1(b, OP_SIN, a), add(b, x, x)}, r);
	Fn *h = end1(t, r[0]);
	check_transpose(t, h, 1, args);
	Value turned[2] = {value_ref(args[1]), value_ref(args[0])};
	check_all(t, g, 2, turned, 2, &usual);

	/* A loop that carries both kinds calls a function made by linearise. */
	Fn *l;
	{
		begin(t, "square");
		x = param(t, vec(t, len(t, 3)), "x");
		Fn *square = end1(t, mul(t->b, x, x));
		const Linearised *s = ad_linearise(t->c, square, (bool[]){true});
		CHECK(s->nresiduals == 1);
		begin(t, "a loop and a linear call");
		b = t->b;
		a = param(t, vec(t, len(t, 3)), "a");
		x = param(t, vec(t, len(t, 3)), "x");
		TypeId both[3] = {type_scalar(t->c, DT_I64), types[2], types[2]};
		open = build_region_begin(b, 3, both, p);
		build_call(b, s->linear, 2, (Ref[]){p[1], p[2]}, r);
		turn = build_region_end(b, open, 2, (Ref[]){build1(b, OP_SIN, p[1]), r[0]});
		build_for(b, build_i64(b, 3), 2, (Ref[]){a, x}, turn, r);
		l = end1(t, r[1]);
		fn_unref(square);
	}
	Value pair[2] = {vector(t, 3, -1, 1), value_ref(args[1])};
	check_transpose(t, l, 1, pair);
	release(2, pair);
	fn_unref(l);

	begin(t, "only a shape");
	x = param(t, vec(t, sym(t, "n")), "x");
	Fn *twice = end1(t, add(t->b, x, x));
	check_transpose(t, twice, 0, args + 1);
	fn_unref(twice);
	release(2, args);
	fn_unref(h);
	fn_unref(f);
}

static void run_transpose(Ctx *c, void *arg) { ad_transpose(c, arg, 0); }

/* Looks linear, but depends on the sign of its operand. */
static Fn *looks_at_sign(T *t) {
	begin(t, "a condition on a tangent");
	Ref x = param(t, num(t), "x");
	Ref negative = build2(t->b, OP_LT, x, build_f64(t->b, 0)), r;
	OpenRegion *open = build_region_begin(t->b, 0, NULL, NULL);
	RegionId yes = build_region_end(t->b, open, 1, (Ref[]){build1(t->b, OP_NEG, x)});
	open = build_region_begin(t->b, 0, NULL, NULL);
	RegionId last = build_region_end(t->b, open, 1, &x);
	build_if(t->b, negative, yes, last, &r);
	return end1(t, r);
}

static void test_linear_errors(T *t) {
	Fn *sign = looks_at_sign(t);
	uint32_t before = build_mark(t->c);
	Status refused = ctx_protect(t->c, run_transpose, sign);
	build_unwind(t->c, before);
	CHECK(refused == ST_ERROR && diag_total(t->c) &&
	      strstr(diag_at(t->c, 0)->message, "not linear"));
	diag_clear(t->c);
	fn_unref(sign);
	begin(t, "an unknown length");
	Ref x = param(t, vec(t, sym(t, "n")), "x");
	Fn *f = end1(t, total(t, x));
	uint32_t mark = build_mark(t->c);
	Status s = ctx_protect(t->c, run_transpose, f);
	build_unwind(t->c, mark);
	CHECK(s == ST_ERROR && diag_total(t->c) && diag_at(t->c, 0)->code == E_NO_RULE &&
	      strstr(diag_at(t->c, 0)->message, "how long"));
	diag_clear(t->c);
	fn_unref(f);
}

/* The residual of y[..by 2] is computed before a guard makes two extents equal.
 * The linear part knows only the other extent. */
static void test_equal_later(T *t) {
	begin(t, "equal later");
	Builder *b = t->b;
	Dim n = sym(t, "n"), m = sym(t, "m"), none = len(t, 0),
		half = dim_floordiv(t->c, dim_add(t->c, m, len(t, 1)), 2);
	Ref x = param(t, vec(t, n), "x"), y = param(t, vec(t, m), "y"),
		part = build_slice(b, y, &none, &half, (int64_t[]){2});
	Ref zero = build_zeros(b, vec(t, half)),
		some = build_select(b, build2(b, OP_LT, zero, part), part, zero);
	CHECK(build_unify(b, n, m, atom(t->c, "x + y")));
	Fn *f = end1(t, mul(b, total(t, some), total(t, build1(b, OP_SIN, add(b, x, y)))));
	Value args[2] = {vector(t, 19, -1, 1), vector(t, 19, -1, 1)}, kept[16] = {{0}}, given[16],
		  gradients[2] = {{0}};
	const Linearised *l = ad_linearise(t->c, f, (bool[]){true, true});
	Fn *back = ad_transpose(t->c, l->linear, l->nresiduals);
	uint32_t r = l->nresiduals;
	CHECK(r < 15 && run(t, l->primal, args, kept));
	memcpy(given, kept + 1, r * sizeof *given);
	given[r] = value_f64(1);
	CHECK(run(t, back, given, gradients) && flatten(t, gradients[0], NULL) == 19 &&
	      flatten(t, gradients[1], NULL) == 19);
	release(r + 1, kept);
	release(2, gradients);
	check_all(t, f, 2, args, 2, &usual);
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

/* ---- random programs ----------------------------------------------------- */

/* Statements over vectors of one extent and scalars. All values stay bounded.
 * Conditions depend only on scalars that are not differentiated, so the central
 * difference never crosses a jump. */
typedef struct Program {
	T *t;
	Dim n;
	Ref vectors[64], numbers[64];
	uint32_t nvectors, nnumbers;
	Ref seeds; /* i64 vector that determines conditions and trip counts */
	uint32_t budget;
	Fn *callee;
} Program;

static uint32_t pick(T *t, uint32_t n) { return (uint32_t)uniform(t, 0, n); }
static Ref some_vector(Program *p) { return p->vectors[pick(p->t, p->nvectors)]; }
static Ref some_number(Program *p) { return p->numbers[pick(p->t, p->nnumbers)]; }
static Ref some_seed(Program *p) {
	return element(p->t, p->seeds, build_i64(p->t->b, pick(p->t, 6)));
}

static void put_vector(Program *p, Ref x) {
	if (p->nvectors < 64) p->vectors[p->nvectors++] = x;
}
static void put_number(Program *p, Ref x) {
	if (p->nnumbers < 64) p->numbers[p->nnumbers++] = x;
}

static void statements(Program *p, uint32_t depth);

static void simple_statement(Program *p) {
	Builder *b = p->t->b;
	Ref x = some_vector(p), y = some_vector(p), s = some_number(p);
	TypeId vectors = vec(p->t, p->n);
	int axis = 0;
	Ref i = build2(b, OP_MOD, some_seed(p), build_extent(b, p->n));
	switch (pick(p->t, 14)) {
	case 0: put_vector(p, build1(b, OP_SIN, add(b, x, y))); break;
	case 1: put_vector(p, mul(b, x, build1(b, OP_COS, y))); break;
	case 2: put_vector(p, sub(b, x, build_broadcast_scalar(b, s, vectors))); break;
	case 3: put_vector(p, build1(b, OP_TANH, mul(b, x, y))); break;
	case 4: put_number(p, build1(b, OP_SIN, total(p->t, mul(b, x, y)))); break;
	case 5: put_number(p, element(p->t, x, i)); break;
	case 6:
		put_vector(p, build_scatter(b, OP_SCATTER_SET, x, i, build1(b, OP_COS, s), 0, 0));
		break;
	case 7:
		put_vector(p, build_scatter(b, OP_SCATTER_ADD, build1(b, OP_SIN, x), i, s, 0, 0));
		break;
	case 8:
		put_vector(
			p, build1(b, OP_TANH,
		              with_ints(p->t, OP_CUMSUM, x, 2, (int64_t[]){0, (int64_t)pick(p->t, 2)})));
		break;
	case 9:
		put_number(p, build1(b, OP_TANH, build_dot(b, x, y, 1, &axis, &axis, 0, NULL, NULL)));
		break;
	case 10:
		put_vector(p, build_slice(b, x, (Dim[]){dim_sub(p->t->c, p->n, len(p->t, 1))}, &p->n,
		                          (int64_t[]){-1}));
		break;
	case 11: {
		Ref less = build2(b, OP_LT, build_convert(b, build_iota(b, DT_I64, p->n), DT_F64),
		                  build_full(b, vectors, 1.5));
		put_vector(p, build_select(b, less, x, y));
		break;
	}
	case 12: put_number(p, mul(b, s, some_number(p))); break;
	case 13:
		put_vector(p, build2(b, OP_DIV, x, add(b, build_full(b, vectors, 2), mul(b, y, y))));
		break;
	}
}

/* The results of a region: a vector and a scalar. */
static void scoped(Program *p, uint32_t depth, Ref *out) {
	uint32_t nv = p->nvectors, nn = p->nnumbers;
	statements(p, depth);
	out[0] = build1(p->t->b, OP_TANH, add(p->t->b, p->vectors[p->nvectors - 1], some_vector(p)));
	out[1] = build1(p->t->b, OP_SIN, add(p->t->b, p->numbers[p->nnumbers - 1], some_number(p)));
	p->nvectors = nv;
	p->nnumbers = nn;
}

static void compound_statement(Program *p, uint32_t depth) {
	T *t = p->t;
	Builder *b = t->b;
	uint32_t nv = p->nvectors, nn = p->nnumbers;
	TypeId whole = type_scalar(t->c, DT_I64), types[4] = {whole, vec(t, p->n), num(t), whole};
	Ref seed = build2(b, OP_MOD, some_seed(p), build_i64(b, 4)), out[3], r[3], q[4],
		init[3] = {some_vector(p), some_number(p), seed};
	OpenRegion *open;
	switch (pick(t, 5)) {
	case 0: { /* if */
		Ref cond = build2(b, OP_LT, seed, build_i64(b, 2));
		open = build_region_begin(b, 0, NULL, NULL);
		scoped(p, depth - 1, out);
		RegionId yes = build_region_end(b, open, 2, out);
		open = build_region_begin(b, 0, NULL, NULL);
		scoped(p, depth - 1, out);
		RegionId last = build_region_end(b, open, 2, out);
		build_if(b, cond, yes, last, r);
		break;
	}
	case 1: /* for */
		open = build_region_begin(b, 3, types, q);
		put_vector(p, q[1]);
		put_number(p, q[2]);
		put_number(p, mul(b, build_convert(b, q[0], DT_F64), build_f64(b, 0.1)));
		scoped(p, depth - 1, out);
		RegionId last = build_region_end(b, open, 2, out);
		build_for(b, seed, 2, init, last, r);
		break;
	case 2: { /* while: counts down */
		TypeId down[3] = {types[1], types[2], whole};
		open = build_region_begin(b, 3, down, q);
		RegionId cond =
			build_region_end(b, open, 1, (Ref[]){build2(b, OP_LT, build_i64(b, 0), q[2])});
		open = build_region_begin(b, 3, down, q);
		put_vector(p, q[0]);
		put_number(p, q[1]);
		scoped(p, depth - 1, out);
		out[2] = sub(b, q[2], build_i64(b, 1));
		RegionId last = build_region_end(b, open, 3, out);
		build_while(b, 3, init, cond, last, r);
		break;
	}
	case 3: { /* try: an index that may be out of range */
		TypeId dyn = type_dyn(t->c);
		Ref message;
		open = build_region_begin(b, 0, NULL, NULL);
		Ref picked = element(t, some_vector(p), seed);
		put_number(p, picked);
		scoped(p, depth - 1, out);
		out[1] = mul(b, out[1], picked); /* unused operations are not checked */
		RegionId body = build_region_end(b, open, 2, out);
		p->nnumbers = nn;
		open = build_region_begin(b, 1, &dyn, &message);
		scoped(p, depth - 1, out);
		RegionId last = build_region_end(b, open, 2, out);
		build_try(b, body, last, r);
		break;
	}
	default:
		if (!p->callee) return;
		build_call(b, p->callee, 4,
		           (Ref[]){some_vector(p), some_vector(p), some_number(p), p->seeds}, r);
	}
	p->nvectors = nv;
	p->nnumbers = nn;
	put_vector(p, r[0]);
	put_number(p, r[1]);
}

static void statements(Program *p, uint32_t depth) {
	uint32_t n = 1 + pick(p->t, 4);
	for (uint32_t k = 0; k < n && p->budget; k++) {
		p->budget--;
		if (depth && pick(p->t, 3) == 0) compound_statement(p, depth);
		else simple_statement(p);
	}
}

static Fn *random_program(T *t, Fn *callee, uint32_t depth) {
	begin(t, callee ? "program" : "callee");
	Program p = {.t = t, .n = sym(t, "n"), .budget = 40, .callee = callee};
	Dim six = len(t, 6);
	put_vector(&p, param(t, vec(t, p.n), "x"));
	put_vector(&p, param(t, vec(t, p.n), "y"));
	put_number(&p, param(t, num(t), "s"));
	p.seeds = param(t, type_tensor(t->c, DT_I64, 1, &six), "seeds");
	Ref out[2];
	scoped(&p, depth, out);
	return end(t, 2, out);
}

static void test_programs(T *t) {
	static const Bounds wide = {1e-3, 1e-9, 1e-12, 1e-12}; /* the programs may be strongly curved */
	for (uint64_t seed = 1; seed <= 150; seed++) {
		char name[32];
		t->random = seed * 0x9e3779b97f4a7c15u;
		Fn *callee = random_program(t, NULL, 2), *f = random_program(t, callee, 3);
		int64_t seeds[6];
		for (int k = 0; k < 6; k++) seeds[k] = pick(t, 9);
		Value args[4] = {vector(t, 3, -1, 1), vector(t, 3, -1, 1), number(t, -1, 1),
		                 integers(t, 6, seeds)};
		snprintf(name, sizeof name, "program %d", (int)seed);
		t->name = name;
		check_all(t, f, 4, args, seed % 5 ? 1 : 2, &wide);
		diag_clear(t->c); /* of failures that a try has caught */
		fn_unref(callee);
	}
}

/* ---- main ---------------------------------------------------------------- */

int main(int argc, char **argv) {
	static const Named tests[] = {
		{"branches", test_branches},
		{"try", test_try},
		{"for", test_for},
		{"tapes", test_tapes},
		{"while", test_while},
		{"calls", test_calls},
		{"recursion", test_recursion},
		{"host", test_host},
		{"rules", test_rules},
		{"dynamic", test_dynamic},
		{"failures", test_failures},
		{"lengths", test_lengths},
		{"trivial", test_trivial},
		{"services", test_services},
		{"linear", test_linear},
		{"linear errors", test_linear_errors},
		{"equal later", test_equal_later},
		{"effects", test_effects},
		{"programs", test_programs},
	};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
