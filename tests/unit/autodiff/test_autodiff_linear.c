/* test_autodiff_linear.c - unit tests of the linear part of a function and of
 * its transpose.
 *
 * Covers the extents that the linear part receives, functions with little to
 * differentiate, the services that other modules call, and linear functions
 * that linearise did not make.
 * Oracle: finite differences and the transpose identity (derivative_check.h).
 *
 * Needs: derivative_check.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "tests/unit/autodiff/derivative_check.h"
#include <math.h>
#include <stdlib.h>

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

int main(int argc, char **argv) {
	static const Named tests[] = {
		{"lengths", test_lengths},
		{"trivial", test_trivial},
		{"services", test_services},
		{"linear", test_linear},
		{"linear errors", test_linear_errors},
		{"equal later", test_equal_later},
	};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
