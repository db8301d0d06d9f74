/* test_autodiff_calls.c - unit tests of derivatives of calls.
 *
 * Covers calls, recursion, host functions, user-defined rules, dynamic values,
 * and code that cannot be differentiated, to third order.
 * Oracle: finite differences and the transpose identity (derivative_check.h).
 *
 * Needs: derivative_check.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "tests/unit/autodiff/derivative_check.h"
#include <math.h>

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

int main(int argc, char **argv) {
	static const Named tests[] = {
		{"calls", test_calls}, {"recursion", test_recursion}, {"host", test_host},
		{"rules", test_rules}, {"dynamic", test_dynamic},     {"failures", test_failures},
	};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
