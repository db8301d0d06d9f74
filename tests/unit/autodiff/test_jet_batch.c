/* test_jet_batch.c - unit tests of Taylor jets and of batching.
 *
 * Oracle: jets against contour integrals and nested jvp; batches against one
 * call for each batch element.
 *
 * Needs: lang/, autodiff/, backend/. A small service in the test provides
 * element-wise derivative rules.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "tests/unit/autodiff/taylor_batch_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- jets against contour integrals -------------------------------------- */

typedef long double complex Z;
#define ORDER 8u
#define POINTS 64

/* Coefficients of f(x(s), y(s)) by Cauchy's integral over |s| = r, exact to
 * r^(POINTS - ORDER). */
static void contour(Z (*f)(Z x, Z y), const double *x, const double *y, double *out) {
	const long double pi = acosl(-1), r = 0.25L;
	Z at[POINTS];
	for (int i = 0; i < POINTS; i++) {
		Z s = r * cexpl(2 * pi * I * i / POINTS), a = 0, b = 0;
		for (uint32_t k = ORDER + 1; k-- > 0;) {
			a = a * s + x[k];
			b = b * s + y[k];
		}
		at[i] = f(a, b);
	}
	for (uint32_t k = 0; k <= ORDER; k++) {
		Z sum = 0;
		for (int i = 0; i < POINTS; i++) sum += at[i] * cexpl(-2 * pi * I * (int)k * i / POINTS);
		out[k] = (double)(creall(sum) / POINTS / powl(r, k));
	}
}

/* Compares f of one or two scalars (f64) with its contour integral. `moving`
 * selects the operands that have a series. */
static void scalar_jet(Test *t, const char *name, Fn *f, Z (*want)(Z, Z), double x0, double y0,
                       unsigned moving, double tolerance) {
	uint32_t n = fn_nparams(f);
	double x[ORDER + 1] = {x0}, y[ORDER + 1] = {y0}, expect[ORDER + 1];
	for (uint32_t k = 1; k <= ORDER; k++) {
		if (moving & 1) x[k] = jb_random_in(t, -0.2, 0.2);
		if (moving & 2) y[k] = jb_random_in(t, -0.2, 0.2);
	}
	contour(want, x, y, expect);
	bool active[2] = {moving & 1, moving & 2}, flag = false;
	Fn *jet = jb_jet_of(t, f, ORDER, active, &flag);
	CHECK(jet && flag);
	if (!jet) return;
	Value args[2 + 2 * ORDER], results[ORDER + 1];
	uint32_t at = n;
	args[0] = value_f64(x0);
	args[1] = value_f64(y0);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 1; active[i] && k <= ORDER; k++) args[at++] = value_f64(i ? y[k] : x[k]);
	if (!jb_run(t, jet, args, results)) {
		CHECK(false);
		return;
	}
	for (uint32_t k = 0; k <= ORDER; k++) {
		double got = jb_number(results[k]);
		bool good = fabs(got - expect[k]) <= tolerance * fmax(1, fabs(expect[k]));
		if (!good)
			printf("  %s(%g, %g) moving %u: coefficient %u is %.15g, not %.15g\n", name, x0, y0,
			       moving, k, got, expect[k]);
		CHECK(good);
	}
}

static Z z_sqrt(Z x, Z y) { return (void)y, csqrtl(x); }
static Z z_cbrt(Z x, Z y) { return (void)y, cpowl(x, 1.0L / 3); }
static Z z_exp(Z x, Z y) { return (void)y, cexpl(x); }
static Z z_expm1(Z x, Z y) { return (void)y, cexpl(x) - 1; }
static Z z_log(Z x, Z y) { return (void)y, clogl(x); }
static Z z_log1p(Z x, Z y) { return (void)y, clogl(1 + x); }
static Z z_sin(Z x, Z y) { return (void)y, csinl(x); }
static Z z_cos(Z x, Z y) { return (void)y, ccosl(x); }
static Z z_tan(Z x, Z y) { return (void)y, ctanl(x); }
static Z z_asin(Z x, Z y) { return (void)y, casinl(x); }
static Z z_acos(Z x, Z y) { return (void)y, cacosl(x); }
static Z z_atan(Z x, Z y) { return (void)y, catanl(x); }
static Z z_sinh(Z x, Z y) { return (void)y, csinhl(x); }
static Z z_cosh(Z x, Z y) { return (void)y, ccoshl(x); }
static Z z_tanh(Z x, Z y) { return (void)y, ctanhl(x); }
static Z z_erf(Z x, Z y) { /* the series about 0 converges everywhere */
	Z sum = 0, term = x;
	for (int n = 0; n < 80; n++) {
		sum += term / (2 * n + 1);
		term *= -x * x / (n + 1);
	}
	return (void)y, sum * 2 / sqrtl(acosl(-1));
}
static Z z_neg(Z x, Z y) { return (void)y, -x; }
static Z z_add(Z x, Z y) { return x + y; }
static Z z_sub(Z x, Z y) { return x - y; }
static Z z_mul(Z x, Z y) { return x * y; }
static Z z_div(Z x, Z y) { return x / y; }
static Z z_pow(Z x, Z y) { return cpowl(x, y); }
static Z z_atan2(Z x, Z y) { return catanl(x / y); }
static Z z_mod(Z x, Z y) { return x - y * floorl(creall(x) / creall(y)); }

static const struct Analytic {
	Op op;
	Z (*f)(Z, Z);
	double x, y;
} analytic[] = {
	{OP_NEG, z_neg, 0.7, 0},     {OP_SQRT, z_sqrt, 1.3, 0},   {OP_CBRT, z_cbrt, 1.2, 0},
	{OP_EXP, z_exp, 0.4, 0},     {OP_EXPM1, z_expm1, 0.1, 0}, {OP_LOG, z_log, 1.4, 0},
	{OP_LOG1P, z_log1p, 0.3, 0}, {OP_SIN, z_sin, 0.8, 0},     {OP_COS, z_cos, -0.6, 0},
	{OP_TAN, z_tan, 0.5, 0},     {OP_ASIN, z_asin, 0.3, 0},   {OP_ACOS, z_acos, -0.2, 0},
	{OP_ATAN, z_atan, 0.4, 0},   {OP_SINH, z_sinh, 0.7, 0},   {OP_COSH, z_cosh, 0.5, 0},
	{OP_TANH, z_tanh, 0.6, 0},   {OP_ERF, z_erf, 0.5, 0},     {OP_ADD, z_add, 0.5, 1.5},
	{OP_SUB, z_sub, 0.5, 1.5},   {OP_MUL, z_mul, 0.5, 1.5},   {OP_DIV, z_div, 0.7, 1.3},
	{OP_POW, z_pow, 1.3, 2.6},   {OP_POW, z_pow, 1.3, 0.4},   {OP_POW, z_pow, 0.9, -1.5},
	{OP_POW, z_pow, 1.4, 3},     {OP_ATAN2, z_atan2, 0.7, 1}, {OP_MOD, z_mod, 5.5, 2.1},
};

static void test_elementwise(Test *t) {
	for (size_t i = 0; i < sizeof analytic / sizeof *analytic; i++) {
		const struct Analytic *a = &analytic[i];
		const Prim *p = &prims[a->op];
		char text[200];
		snprintf(text, sizeof text, "fn @f(%%0: f64%s) -> (f64) { %%2: f64 = %s %%0%s return %%2 }",
		         p->nargs == 2 ? ", %1: f64" : "", p->name, p->nargs == 2 ? ", %1" : "");
		Fn *f = jb_source(t, text);
		for (unsigned moving = 1; moving < 1u << p->nargs; moving++)
			scalar_jet(t, p->name, f, a->f, a->x, a->y, moving, 1e-12);
		fn_unref(f);
	}
}

/* Powers with constant exponents: each form of the series. */
static Z z_pow3(Z x, Z y) { return (void)y, x * x * x; }
static Z z_pow7(Z x, Z y) { return (void)y, x * x * x * x * x * x * x; }
static Z z_powm2(Z x, Z y) { return (void)y, 1 / (x * x); }
static Z z_pow25(Z x, Z y) { return (void)y, cpowl(x, 2.5L); }
static Z z_pow07(Z x, Z y) { return (void)y, cpowl(x, 0.7L); }
static Z z_powm13(Z x, Z y) { return (void)y, cpowl(x, -1.3L); }
static Z z_2pow(Z x, Z y) { return (void)y, cpowl(2, x); }
static Z z_square(Z x, Z y) { return (void)y, x * x; }

static void test_powers(Test *t) {
	static const struct {
		const char *exponent;
		Z (*f)(Z, Z);
		double x;
	} rows[] = {
		{"%0, 3.0", z_pow3, 1.2},  {"%0, 3.0", z_pow3, 0},    {"%0, 3.0", z_pow3, -0.8},
		{"%0, 7.0", z_pow7, 0},    {"%0, 7.0", z_pow7, -0.7}, {"%0, -2.0", z_powm2, -0.9},
		{"%0, 2.5", z_pow25, 1.1}, {"%0, 0.7", z_pow07, 1.1}, {"%0, -1.3", z_powm13, 1},
		{"2.0, %0", z_2pow, 0.7},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[200];
		snprintf(text, sizeof text, "fn @f(%%0: f64) -> (f64) { %%2: f64 = pow %s return %%2 }",
		         rows[i].exponent);
		Fn *f = jb_source(t, text);
		scalar_jet(t, rows[i].exponent, f, rows[i].f, rows[i].x, 0, 1, 1e-12);
		fn_unref(f);
	}
	/* An exponent known only at run time, at a base of 0. */
	Fn *f = jb_source(t, "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = pow %0, %1 return %2 }");
	scalar_jet(t, "pow(0, 3)", f, z_pow, 0, 3, 1, 1e-12);
	scalar_jet(t, "pow(0, 2)", f, z_pow, 0, 2, 1, 1e-12);
	scalar_jet(t, "pow(-1.1, 3)", f, z_pow, -1.1, 3, 1, 1e-11);
	fn_unref(f);
	/* x^2.5 at 0 has two derivatives, and both are 0. */
	f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: f64 = pow %0, 2.5 return %1 }");
	bool on = true, flag;
	Fn *jet = jb_jet_of(t, f, 3, &on, &flag);
	Value results[4];
	CHECK(jet && jb_run(t, jet, (Value[]){value_f64(0), value_f64(1), value_f64(0.5), value_f64(0)},
	                    results));
	CHECK(jb_number(results[1]) == 0 && jb_number(results[2]) == 0 &&
	      !(fabs(jb_number(results[3])) < 1e300));
	fn_unref(f);
	/* x*x is a square. */
	f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: f64 = mul %0, %0 return %1 }");
	scalar_jet(t, "x*x", f, z_square, 0.6, 0, 1, 1e-14);
	fn_unref(f);
}

/* Piecewise primitives follow the operand that provides the value; ties
 * share. */
static void test_piecewise(Test *t) {
	static const struct {
		const char *text;
		double x, y, dx[3], dy[3], want[3];
	} rows[] = {
		{"abs %0", -2, 0, {1, 2, 3}, {0}, {-1, -2, -3}},
		{"abs %0", 0, 0, {1, 2, 3}, {0}, {0, 0, 0}},
		{"max %0, %1", 1, 2, {1, 2, 3}, {4, 5, 6}, {4, 5, 6}},
		{"max %0, %1", 2, 1, {1, 2, 3}, {4, 5, 6}, {1, 2, 3}},
		{"max %0, %1", 1, 1, {1, 2, 3}, {4, 5, 7}, {2.5, 3.5, 5}},
		{"min %0, %1", 1, 2, {1, 2, 3}, {4, 5, 6}, {1, 2, 3}},
		{"min %0, %1", 3, 3, {1, 2, 3}, {4, 5, 7}, {2.5, 3.5, 5}},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[200];
		snprintf(text, sizeof text,
		         "fn @f(%%0: f64, %%1: f64) -> (f64) { %%2: f64 = %s return %%2 }", rows[i].text);
		Fn *f = jb_source(t, text);
		bool active[2] = {true, true}, flag = false;
		Fn *jet = jb_jet_of(t, f, 3, active, &flag);
		Value args[8] = {value_f64(rows[i].x), value_f64(rows[i].y)}, results[4];
		for (int k = 0; k < 3; k++) {
			args[2 + k] = value_f64(rows[i].dx[k]);
			args[5 + k] = value_f64(rows[i].dy[k]);
		}
		CHECK(jet && flag && jb_run(t, jet, args, results));
		for (int k = 0; k < 3; k++) CHECK(jb_number(results[1 + k]) == rows[i].want[k]);
		fn_unref(f);
	}
	/* Step functions have no series: no coefficients are returned. */
	static const char *const steps[] = {"floor %0", "round %0", "sign %0", "stop_gradient %0"};
	for (size_t i = 0; i < 4; i++) {
		char text[200];
		snprintf(text, sizeof text, "fn @f(%%0: f64) -> (f64) { %%2: f64 = %s return %%2 }",
		         steps[i]);
		Fn *f = jb_source(t, text);
		bool on = true, flag = true;
		Fn *jet = jb_jet_of(t, f, 3, &on, &flag);
		CHECK(jet && !flag && fn_nresults(jet) == 1);
		fn_unref(f);
	}
}

/* ---- programs with control flow against contour integrals ---------------- */

static Z z_composition(Z x, Z y) {
	return csinl(x * cexpl(y)) / (1 + x * x) + clogl(2 + y) * ctanhl(x - y);
}
static Z z_if(Z x, Z y) { return creall(x) > 0 ? csinl(x) * y : cexpl(x) - y; }
static Z z_still(Z x, Z y) { return creall(x) > 0 ? x + y : x * y + y; }
static Z z_for(Z x, Z y) {
	Z s = 1;
	for (int i = 0; i < 5; i++) s = s * x + csinl(y + i);
	return s;
}
static Z z_while(Z x, Z y) {
	Z s = x;
	while (creall(s) < 20) s = s * s + y;
	return s;
}
static Z z_call(Z x, Z y) { return csinl(cexpl(x) * y) + cexpl(x * y); }
static Z z_recursion(Z x, Z y) {
	Z s = 1;
	for (int i = 0; i < 6; i++) s = x * s + y;
	return s;
}
static Z z_newton(Z x, Z y) { /* the square root of x by Newton iteration from y */
	Z s = y;
	for (int i = 0; i < 60; i++) s = (s + x / s) / 2;
	return s;
}

static const struct Program {
	const char *name, *text;
	Z (*f)(Z, Z);
	double x, y, tolerance;
} programs[] = {
	{"composition",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = exp %1 %3: f64 = mul %0, %2 %4: f64 = sin %3 "
     "%5: f64 = mul %0, %0 "
     "%6: f64 = add %5, 1.0 "
     "%7: f64 = div %4, %6 %8: f64 = add %1, 2.0 %9: f64 = log %8 %10: f64 = sub %0, %1 %11: f64 = "
     "tanh %10 %12: f64 = "
     "mul %9, %11 "
     "%13: f64 = add %7, %12 return %13 }",
     z_composition, 0.4, 0.3, 1e-12},
	{"if, first branch",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: bool = lt 0.0, %0 %3: f64 = if %2 { %4: f64 = sin %0 "
     "%5: f64 = mul %4, %1 "
     "yield %5 } "
     "{ %6: f64 = exp %0 %7: f64 = sub %6, %1 yield %7 } return %3 }",
     z_if, 0.6, 0.7, 1e-12},
	{"if, second branch",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: bool = lt 0.0, %0 %3: f64 = if %2 { %4: f64 = sin %0 "
     "%5: f64 = mul %4, %1 "
     "yield %5 } "
     "{ %6: f64 = exp %0 %7: f64 = sub %6, %1 yield %7 } return %3 }",
     z_if, -0.6, 0.7, 1e-12},
	{"if with a branch that stands still",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: bool = lt 0.0, %0 %3: f64 = if %2 { yield 1.0 } { "
     "yield %1 } %4: f64 = "
     "mul %3, %0 "
     "%5: f64 = add %4, %1 return %5 }",
     z_still, 0.6, 0.7, 1e-12},
	{"for",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = for 5, 1.0 { (%3: i64, %4: f64): %5: f64 = "
     "convert %3 {to: f64} %6: "
     "f64 = add %1, %5 "
     "%7: f64 = sin %6 %8: f64 = mul %4, %0 %9: f64 = add %8, %7 yield %9 } return %2 }",
     z_for, 0.8, 0.5, 1e-12},
	{"while",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = while %0 { (%3: f64): %4: bool = lt %3, 20.0 "
     "yield %4 } { (%5: "
     "f64): "
     "%6: f64 = mul %5, %5 %7: f64 = add %6, %1 yield %7 } return %2 }",
     z_while, 1.4, 0.3, 1e-10},
	{"call",
     "fn @g(%0: f64, %1: f64) -> (f64, f64) { %2: f64 = exp %0 %3: f64 = mul %2, %1 %4: f64 = sin "
     "%3 return %4, %2 } "
     "\nfn @f(%0: f64, %1: f64) -> (f64) { %2: f64, %3: f64 = call %0, %1 {callee: @g} %4: f64 = "
     "mul %0, %1 "
     "%5: f64, %6: f64 = call %4, 2.0 {callee: @g} %7: f64 = add %2, %6 return %7 }",
     z_call, 0.3, 0.8, 1e-12},
	{"recursion",
     "fn @p(%0: f64, %1: f64, %2: i64) -> (f64) { %3: bool = le %2, 0 %4: f64 = if %3 { yield 1.0 "
     "} { %5: i64 = sub "
     "%2, 1 "
     "%6: f64 = call %0, %1, %5 {callee: @p} %7: f64 = mul %0, %6 %8: f64 = add %7, %1 yield %8 } "
     "return %4 } "
     "\nfn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = call %0, %1, 6 {callee: @p} return %2 }",
     z_recursion, 0.9, 0.2, 1e-12},
	{"try",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = try { %3: bool = lt 0.0, %0 %4: f64 = if %3 { "
     "fail dyn \"no\" "
     "{code: 1} yield %0 } "
     "{ yield %1 } yield %4 } { (%5: dyn): %6: f64 = sin %0 %7: f64 = mul %6, %1 yield %7 } return "
     "%2 }",
     z_if, 0.6, 0.7, 1e-12},
	{"newton",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = for 12, %1 { (%3: i64, %4: f64): %5: f64 = div "
     "%0, %4 %6: f64 = add "
     "%4, %5 "
     "%7: f64 = mul %6, 0.5 yield %7 } return %2 }",
     z_newton, 1.7, 1.2, 1e-12},
};

static void test_programs(Test *t) {
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		Fn *f = jb_source(t, programs[i].text);
		if (!f) {
			CHECK(false);
			continue;
		}
		for (unsigned moving = 1; moving < 4; moving++)
			scalar_jet(t, programs[i].name, f, programs[i].f, programs[i].x, programs[i].y, moving,
			           programs[i].tolerance);
		fn_unref(f);
	}
}

/* ---- jets against nested jvp --------------------------------------------- */

#define NEST 3u

typedef struct Nest {
	/* at[k]: (s, coefficients, others) -> k-th derivatives of the results along
	 * the path, at s */
	Fn *f, *at[NEST + 1];
	const bool *active;
	bool *flags[NEST + 1]; /* for each result of f: whether at[k] returns it */
} Nest;

/* s -> f(sum x_k s^k), where the x_k of active parameters are consecutive. */
static void nest_begin(Ctx *c, void *ud) {
	Nest *n = ud;
	Builder *b = build_begin(c, atom(c, "path"), n->f->span, n->f);
	Ref s = build_param(b, type_scalar(c, DT_F64), 0), x[16][NEST + 1], args[16], results[16];
	uint32_t nparams = fn_nparams(n->f);
	for (uint32_t i = 0; i < nparams; i++)
		for (uint32_t k = 0; k <= (n->active[i] ? NEST : 0); k++)
			x[i][k] = build_param(b, ref_type(n->f, fn_param(n->f, i)), 0);
	for (uint32_t i = 0; i < nparams; i++) {
		args[i] = x[i][n->active[i] ? NEST : 0];
		TypeId type = ref_type(n->f, fn_param(n->f, i));
		for (uint32_t k = NEST; n->active[i] && k-- > 0;) {
			Ref wide = build_broadcast_scalar(
				b, build_convert(b, s, (Dtype)type_of(c, type)->dtype), type);
			args[i] = build2(b, OP_ADD, x[i][k], build2(b, OP_MUL, args[i], wide));
		}
	}
	build_inline(b, n->f, args, results);
	n->at[0] = build_end(b, fn_nresults(n->f), results);
	for (uint32_t i = 0; i < fn_nresults(n->f); i++) n->flags[0][i] = true;
}

/* The derivative of at[k-1] with respect to s. */
static void nest_step(Ctx *c, void *ud) {
	Nest *n = ud;
	uint32_t k = 1;
	while (n->at[k]) k++;
	Fn *f = n->at[k - 1];
	bool active[64] = {true}, moves[16] = {false};
	Fn *jvp = ad_jvp(c, f, active, moves);
	Builder *b = build_begin(c, atom(c, "nested"), f->span, f);
	Ref args[65], results[40];
	uint32_t nparams = fn_nparams(f), at = 0, from = fn_nresults(f);
	for (uint32_t i = 0; i < nparams; i++) args[i] = build_param(b, ref_type(f, fn_param(f, i)), 0);
	args[nparams] = build_f64(b, 1);
	build_inline(b, jvp, args, results);
	for (uint32_t i = 0, old = 0; i < fn_nresults(n->f); i++) {
		n->flags[k][i] = n->flags[k - 1][i] && moves[old];
		if (n->flags[k][i]) results[at++] = results[from++];
		if (n->flags[k - 1][i]) old++;
	}
	n->at[k] = build_end(b, at, results);
}

static void jet_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f), at = 0, from = 1;
	bool active[16], flags[16] = {false}, storage[NEST + 1][16] = {{false}};
	Value args[64], path[64], jet_results[64], nested[16];
	for (uint32_t i = 0; i < n; i++)
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
	for (uint32_t i = 0; i < n; i++)
		args[at++] = jb_random_value(t, &k->fill, ref_ty(f, fn_param(f, i)), -1);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 1; active[i] && j <= NEST; j++)
			args[at++] =
				jb_random_value(t, &(Fill){-0.3, 0.3, 1, 0}, ref_ty(f, fn_param(f, i)), -1);
	path[0] = value_f64(0);
	for (uint32_t i = 0, series = n; i < n; i++) {
		path[from++] = args[i];
		for (uint32_t j = 1; active[i] && j <= NEST; j++) path[from++] = args[series++];
	}
	Fn *jet = jb_jet_of(t, f, NEST, active, flags);
	Nest nest = {.f = f, .active = active};
	for (uint32_t i = 0; i <= NEST; i++) nest.flags[i] = storage[i];
	uint32_t mark = build_mark(t->c);
	bool good = jet && ctx_protect(t->c, nest_begin, &nest) == ST_OK;
	for (uint32_t i = 1; good && i <= NEST; i++)
		good = ctx_protect(t->c, nest_step, &nest) == ST_OK;
	if (!good) {
		build_unwind(t->c, mark);
		printf("  %s\n", k->name);
		jb_show_diags(t);
	}
	CHECK(good);
	good = good && jb_run(t, jet, args, jet_results);
	CHECK(good);
	double factorial = 1;
	for (uint32_t order = 0; good && order <= NEST; order++) {
		if (order) factorial *= order;
		if (!jb_run(t, nest.at[order], path, nested)) {
			CHECK(false);
			break;
		}
		for (uint32_t i = 0, old = 0, place = m; i < m; i++) {
			Value *mine =
				order ? flags[i] ? &jet_results[place + order - 1] : NULL : &jet_results[i];
			if (flags[i]) place += NEST;
			if (!storage[order][i]) {
				CHECK(!mine || jb_difference(t, *mine, *mine) == 0);
				continue;
			}
			Tensor *derivative = value_to_tensor(t->c, nested[old++]),
				   *scaled = tensor_copy(t->c, derivative);
			for (int64_t e = 0; order && e < scaled->count; e++) {
				if (scaled->dtype == DT_F64) ((double *)scaled->data)[e] /= factorial;
				else if (scaled->dtype == DT_F32) ((float *)scaled->data)[e] /= (float)factorial;
				else if (scaled->dtype == DT_C128) ((double complex *)scaled->data)[e] /= factorial;
			}
			Value want = value_from_tensor(scaled), zero = value_f64(0);
			double far = mine ? jb_difference(t, want, *mine) : 0;
			if (!mine) /* no series: the nested derivative must be zero */
				for (int64_t e = 0; e < derivative->count; e++)
					far = fmax(far, fabs(tensor_get(derivative, (int64_t[MAX_RANK]){0})));
			if (!(far <= k->jet))
				printf("  %s: coefficient %u of result %u is %g off\n", k->name, order, i, far);
			CHECK(far <= k->jet);
			tensor_unref(derivative);
			value_unref(want);
			value_unref(zero);
		}
		uint32_t given = 0;
		for (uint32_t i = 0; i < m; i++) given += storage[order][i];
		jb_drop(given, nested);
	}
	if (good) jb_drop(fn_nresults(jet), jet_results);
	jb_drop(at, args);
	for (uint32_t i = 0; i <= NEST; i++)
		if (nest.at[i]) fn_unref(nest.at[i]);
}

/* ---- batches against single calls ---------------------------------------- */

/* Runs `batched` and, for each batch element, f. `mask` selects the batched
 * parameters. Every result must agree. */
static bool same_as_single_calls(Test *t, const char *name, Fn *f, Fn *batched, const bool *mask,
                                 const Fill *fill, int64_t lanes, double tolerance) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f);
	Value args[80], single[80], all[80], one[80];
	bool good = true;
	for (uint32_t i = 0; i < n; i++)
		args[i] = jb_random_value(t, fill, ref_ty(f, fn_param(f, i)), mask[i] ? lanes : -1);
	if (!jb_run(t, batched, args, all)) {
		printf("  %s: the batch does not run\n", name);
		jb_drop(n, args);
		return false;
	}
	for (int64_t lane = 0; lane < lanes; lane++) {
		for (uint32_t i = 0; i < n; i++)
			single[i] = mask[i] ? jb_lane_of(t, args[i], lane) : value_ref(args[i]);
		if (!jb_run(t, f, single, one)) {
			printf("  %s: lane %d does not run\n", name, (int)lane);
			jb_drop(n, single);
			good = false;
			break;
		}
		for (uint32_t i = 0; i < m; i++) {
			if (!value_is_array(one[i])) continue;
			Value mine = jb_lane_of(t, all[i], lane);
			double far = jb_difference(t, one[i], mine);
			if (!(far <= tolerance))
				printf("  %s: lane %d of result %u is %g off\n", name, (int)lane, i, far);
			good &= far <= tolerance;
			value_unref(mine);
		}
		jb_drop(m, one);
		jb_drop(n, single);
	}
	jb_drop(m, all);
	jb_drop(n, args);
	return good;
}

static void batch_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f);
	for (unsigned set = 1; set < 1u << n; set++) {
		bool mask[16], allowed = true;
		for (uint32_t i = 0; i < n; i++) {
			mask[i] = set >> i & 1;
			allowed &= !mask[i] || k->map[i] == 'b';
		}
		if (!allowed) continue;
		Fn *batched = jb_batch_of(t, f, mask);
		CHECK(batched);
		if (!batched) {
			printf("  %s, mask %u\n", k->name, set);
			continue;
		}
		for (int64_t lanes = 0; lanes <= 5; lanes = lanes ? lanes * 2 + 1 : 1) {
			bool good =
				same_as_single_calls(t, k->name, f, batched, mask, &k->fill, lanes, k->batch);
			if (!good) printf("  %s, mask %u, %d lanes\n", k->name, set, (int)lanes);
			CHECK(good);
		}
	}
}

/* The batch of the jet and the jet of the batch both equal one jet for each
 * batch element. */
static void both_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f);
	bool active[16] = {false}, mask[16] = {false}, wide[80] = {false}, flags[16] = {false},
		 batch_flags[16] = {false}, any = false;
	for (uint32_t i = 0; i < n; i++) {
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
		mask[i] = k->map[i] == 'b' && i != 1; /* one parameter that all elements share */
		any |= active[i];
	}
	Fn *jet = jb_jet_of(t, f, 2, active, flags), *batched = jb_batch_of(t, f, mask);
	CHECK(any && jet && batched);
	if (!jet || !batched) return;
	uint32_t at = n;
	for (uint32_t i = 0; i < n; i++) {
		wide[i] = mask[i];
		for (uint32_t j = 0; active[i] && j < 2; j++) wide[at++] = mask[i];
	}
	Fn *batch_of_jet = jb_batch_of(t, jet, wide),
	   *jet_of_batch = jb_jet_of(t, batched, 2, active, batch_flags);
	CHECK(batch_of_jet && jet_of_batch && !memcmp(flags, batch_flags, sizeof flags));
	if (!batch_of_jet || !jet_of_batch) {
		printf("  %s\n", k->name);
		return;
	}
	double tolerance = fmax(k->jet, k->batch);
	bool first = same_as_single_calls(t, k->name, jet, batch_of_jet, wide, &k->fill, 3, tolerance);
	bool second = same_as_single_calls(t, k->name, jet, jet_of_batch, wide, &k->fill, 3, tolerance);
	if (!first || !second) printf("  %s: %s\n", k->name, first ? "jet of batch" : "batch of jet");
	CHECK(first && second);
}

/* A batch of a batch equals one batch for each outer element. The tangent of a
 * batch equals one tangent for each element. */
static void ask_jvp(Ctx *c, void *ud) {
	Ask *q = ud;
	q->out = ad_jvp(c, q->f, q->mask, q->flags);
	q->verified = fn_verify(q->out, "ad_jvp");
}

static void nested_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f), at = n;
	bool mask[16] = {false}, again[16] = {false}, active[16] = {false}, wide[32] = {false},
		 flags[16] = {false};
	for (uint32_t i = 0; i < n; i++) {
		mask[i] = k->map[i] == 'b' && i != 1;
		again[i] = k->map[i] == 'b' && (i == 0 || i == 2 || n == 2);
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
		wide[i] = mask[i];
	}
	for (uint32_t i = 0; i < n; i++)
		if (active[i]) wide[at++] = mask[i];
	Fn *batched = jb_batch_of(t, f, mask), *twice = batched ? jb_batch_of(t, batched, again) : NULL;
	CHECK(twice && same_as_single_calls(t, k->name, batched, twice, again, &k->fill, 3, k->batch));
	if (k->jet == 0 || !batched) return;
	Fn *jvp = jb_protected(t, ask_jvp, &(Ask){.f = f, .mask = active, .flags = flags});
	Fn *jvp_of_batch =
		jb_protected(t, ask_jvp, &(Ask){.f = batched, .mask = active, .flags = flags});
	jb_show_diags(t);
	bool good = jvp && jvp_of_batch &&
	            same_as_single_calls(t, k->name, jvp, jvp_of_batch, wide, &k->fill, 3,
	                                 fmax(k->jet, k->batch));
	if (!good) printf("  %s: jvp of batch\n", k->name);
	CHECK(good);
}

typedef struct Adjoint {
	Fn *f, *jvp, *back;
	const Linearised *l;
	const bool *active;
	bool *flags;
} Adjoint;

static void ask_adjoint(Ctx *c, void *ud) {
	Adjoint *q = ud;
	q->jvp = ad_jvp(c, q->f, q->active, q->flags);
	q->l = ad_linearise(c, q->f, q->active);
	q->back = ad_transpose(c, q->l->linear, q->l->nresiduals);
}

static double inner_product(Test *t, Value a, Value b) {
	Tensor *x = value_to_tensor(t->c, a), *y = value_to_tensor(t->c, b);
	double sum = 0;
	int64_t index[MAX_RANK] = {0};
	for (int64_t i = 0; i < x->count; i++) {
		sum += creal(conj(jb_element(x, index)) * jb_element(y, index));
		for (uint32_t k = x->rank; k-- > 0;) {
			if (++index[k] < x->shape[k]) break;
			index[k] = 0;
		}
	}
	tensor_unref(x);
	tensor_unref(y);
	return sum;
}

/* Checks <w, J v> = <J* w, v> for a function made by batching or Taylor
 * mode. */
static void adjoint_case(Test *t, const char *name, Fn *f, const Fill *fill, double tolerance) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f);
	bool active[80] = {false}, flags[80] = {false};
	for (uint32_t i = 0; i < n; i++)
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
	Adjoint q = {.f = f, .active = active, .flags = flags};
	uint32_t mark = build_mark(t->c);
	if (ctx_protect(t->c, ask_adjoint, &q) != ST_OK) {
		build_unwind(t->c, mark);
		printf("  %s: no adjoint\n", name);
		jb_show_diags(t);
		CHECK(false);
		return;
	}
	Value args[160], forward[160], primal[400], back_args[400], back[80];
	uint32_t at = n;
	for (uint32_t i = 0; i < n; i++)
		args[i] = jb_random_value(t, fill, ref_ty(f, fn_param(f, i)), -1);
	for (uint32_t i = 0; i < n; i++) {
		if (!active[i]) continue;
		Tensor *x = value_to_tensor(t->c, args[i]);
		args[at++] = value_from_tensor(
			jb_random_tensor(t, &(Fill){-1, 1, 1, 0}, (Dtype)x->dtype, x->rank, x->shape));
		tensor_unref(x);
	}
	bool good = jb_run(t, q.jvp, args, forward);
	CHECK(good);
	if (good && !jb_run(t, q.l->primal, args, primal)) {
		CHECK(false);
		good = false;
	}
	double left = 0, right = 0, size = 0;
	if (good) {
		uint32_t nback = q.l->nresiduals, tangent = m;
		for (uint32_t i = 0; i < nback; i++) back_args[i] = value_ref(primal[m + i]);
		for (uint32_t i = 0; i < m; i++) {
			Tensor *y = flags[i] || q.l->result_active[i] ? value_to_tensor(t->c, primal[i]) : NULL;
			Value w = {0};
			if (y)
				w = value_from_tensor(
					jb_random_tensor(t, &(Fill){-1, 1, 1, 0}, (Dtype)y->dtype, y->rank, y->shape));
			if (flags[i]) left += inner_product(t, w, forward[tangent]);
			if (flags[i]) size += sqrt(inner_product(t, forward[tangent], forward[tangent]));
			if (flags[i]) tangent++;
			if (q.l->result_active[i]) back_args[nback++] = value_ref(w);
			value_unref(w);
			tensor_unref(y);
		}
		if (jb_run(t, q.back, back_args, back)) {
			for (uint32_t i = 0; i < fn_nresults(q.back); i++)
				right += inner_product(t, back[i], args[n + i]);
			jb_drop(fn_nresults(q.back), back);
		} else {
			right = NAN;
		}
		jb_drop(nback, back_args);
		jb_drop(fn_nresults(q.l->primal), primal);
		jb_drop(fn_nresults(q.jvp), forward);
	}
	good = good && fabs(left - right) <= tolerance * (1 + size);
	if (!good) printf("  %s: <w, Jv> = %.15g, <J*w, v> = %.15g\n", name, left, right);
	CHECK(good);
	jb_drop(at, args);
}

static void adjoints(Test *t, const Case *k, Fn *f) {
	bool mask[16] = {false}, active[16] = {false}, flags[16];
	for (uint32_t i = 0; i < fn_nparams(f); i++) {
		mask[i] = k->map[i] == 'b' && i != 1;
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
	}
	char name[200];
	Fn *batched = jb_batch_of(t, f, mask), *jet = jb_jet_of(t, f, 2, active, flags);
	CHECK(batched && jet);
	snprintf(name, sizeof name, "%s, batched", k->name);
	if (batched) adjoint_case(t, name, batched, &k->fill, fmax(1e-9, k->jet));
	snprintf(name, sizeof name, "%s, jet", k->name);
	if (jet) adjoint_case(t, name, jet, &k->fill, fmax(1e-9, k->jet));
}

static void test_cases(Test *t) {
	for (size_t i = 0; i < NCASES; i++) {
		Fn *f = jb_source(t, cases[i].text);
		CHECK(f);
		if (!f) continue;
		if (cases[i].jet != 0) jet_case(t, &cases[i], f);
		if (cases[i].batch != 0) batch_case(t, &cases[i], f);
		if (cases[i].jet != 0 && cases[i].batch != 0) both_case(t, &cases[i], f);
		if (cases[i].batch != 0) nested_case(t, &cases[i], f);
		if (cases[i].jet != 0) adjoints(t, &cases[i], f);
		fn_unref(f);
	}
}

/* ---- operation counts ---------------------------------------------------- */

/* A tanh network 1-20-20-20-1 at one point, to order 10 in x. */
static void test_cost(Test *t) {
	Fn *f = jb_source(
		t, "fn @mlp(%0: f64[1], %1: f64[1, 20], %2: f64[20], %3: f64[20, 20], %4: f64[20], %5: "
		   "f64[20, 20], %6: f64[20], "
		   "%7: f64[20, 1], %8: f64[1]) -> (f64[1]) {\n"
		   "%9: f64[20] = dot %0, %1 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n"
		   "%10: f64[20] = add %9, %2\n%11: f64[20] = tanh %10\n"
		   "%12: f64[20] = dot %11, %3 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n"
		   "%13: f64[20] = add %12, %4\n%14: f64[20] = tanh %13\n"
		   "%15: f64[20] = dot %14, %5 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n"
		   "%16: f64[20] = add %15, %6\n%17: f64[20] = tanh %16\n"
		   "%18: f64[1] = dot %17, %7 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n"
		   "%19: f64[1] = add %18, %8\nreturn %19\n}\n");
	bool active[9] = {true}, flag;
	Fn *jet = jb_jet_of(t, f, 10, active, &flag);
	double one = fn_cost(f, NULL, 0), all = jet ? fn_cost(jet, NULL, 0) : INFINITY;
	printf(
		"order 10 of a 1-20-20-20-1 network: %.0f operations, %.2f times the %.0f of the network\n",
		all, all / one, one);
	CHECK(one == 1801 && all <= 18 * one);
	fn_unref(f);
	/* A sine needs its cosine too: (K+1)(K+2)/2 products and sums for each,
	 * less the shared ones. */
	f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: f64 = sin %0 return %1 }");
	jet = jb_jet_of(t, f, 10, active, &flag);
	CHECK(jet && fn_cost(jet, NULL, 0) <= 260);
	fn_unref(f);
	/* A linear argument needs no sums: k y_k = x_1 g_{k-1}. */
	f = jb_source(t,
	              "fn @f(%0: f64) -> (f64) { %1: f64 = mul %0, 3.0 %2: f64 = exp %1 return %2 }");
	jet = jb_jet_of(t, f, 2, active, &flag);
	CHECK(jet && fn_cost(jet, NULL, 0) <= 10);
	fn_unref(f);
}

static uint32_t count_op(const Fn *f, Op op) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->insts.n; i++) n += f->insts.at[i].op == op;
	return n;
}

/* Zero coefficients are not carried: they take no operand and no result of a
 * loop. */
static void test_zero_patterns(Test *t) {
	bool active[3] = {true}, flags[3];
	Fn *f = jb_source(t, "fn @f(%0: f64, %1: f64) -> (f64, f64, f64) { %2: f64, %3: f64, %4: f64 = "
	                     "for 3, %0, %1, 1.0 { (%5: i64, "
	                     "%6: f64, "
	                     "%7: f64, %8: f64): %9: f64 = mul %6, %7 %10: f64 = mul %7, %7 %11: f64 = "
	                     "add %8, %7 yield %9, %10, %11 } "
	                     "return %2, %3, %4 }");
	Fn *jet = jb_jet_of(t, f, 4, active, flags);
	CHECK(jet && flags[0] && !flags[1] && !flags[2] && fn_nresults(jet) == 3 + 4);
	for (uint32_t i = 0; jet && i < jet->insts.n; i++)
		if (jet->insts.at[i].op == OP_FOR) CHECK(jet->insts.at[i].nresults == 3 + 4);
	fn_unref(f);
	/* A result whose `if` has constant values in both branches has no
	 * series. */
	f = jb_source(t, "fn @f(%0: f64, %1: bool) -> (f64, f64) { %2: f64, %3: f64 = if %1 { yield "
	                 "%0, 1.0 } { %4: f64 = sin "
	                 "%0 yield %4, 2.0 } "
	                 "return %2, %3 }");
	jet = jb_jet_of(t, f, 3, active, flags);
	CHECK(jet && flags[0] && !flags[1]);
	fn_unref(f);
	/* The condition of a loop depends on values only. */
	f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: f64 = while %0 { (%2: f64): %3: f64 = sin %2 "
	                 "%4: bool = lt %3, 0.9 "
	                 "yield %4 } { (%5: f64): "
	                 "%6: f64 = mul %5, 1.5 yield %6 } return %1 }");
	jet = jb_jet_of(t, f, 3, active, flags);
	CHECK(jet && count_op(jet, OP_SIN) == 1 && count_op(jet, OP_COS) == 0);
	fn_unref(f);
}

static void test_orders_and_dtypes(Test *t) {
	bool on = true, off = false, flag;
	Fn *f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: f64 = exp %0 return %1 }");
	Fn *jet = jb_jet_of(t, f, 63, &on, &flag);
	Value args[64] = {value_f64(0.5), value_f64(1)}, results[64];
	for (int k = 2; k < 64; k++) args[k] = value_f64(0);
	CHECK(jet && jb_run(t, jet, args, results));
	double want = exp(0.5);
	for (int k = 0; jet && k < 64; k++) {
		CHECK(fabs(jb_number(results[k]) - want) <= 1e-13 * want);
		want /= k + 1;
	}
	CHECK(jb_jet_of(t, f, 1, &on, &flag) && flag);
	CHECK(jb_jet_of(t, f, 2, &off, &flag) && !flag);
	CHECK(!jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = 64, .mask = &on, .flags = &flag}));
	CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_VALUE);
	CHECK(jb_jet_of(t, f, 0, &on, &flag) == f && !flag);
	diag_clear(t->c);
	fn_unref(f);
	f = jb_source(t, "fn @f(%0: f32, %1: i64) -> (f32) { %2: f32 = convert %1 {to: f32} %3: f32 = "
	                 "sin %0 %4: f32 = mul "
	                 "%3, %2 return %4 }");
	bool both[2] = {true, true};
	jet = jb_jet_of(t, f, 3, both, &flag);
	CHECK(jet && fn_nparams(jet) == 2 + 3); /* integers have no series */
	Value one = {.kind = V_SCALAR, .dtype = DT_F32, .f32 = 1},
		  zero = {.kind = V_SCALAR, .dtype = DT_F32, .f32 = 0};
	CHECK(jet && jb_run(t, jet, (Value[]){zero, value_i64(2), one, zero, zero}, results));
	CHECK(jet && results[1].f32 == 2 && results[2].f32 == 0 &&
	      fabsf(results[3].f32 + 2.0f / 6) < 1e-6f);
	fn_unref(f);
}

/* ---- effects: random bits and output under map --------------------------- */

typedef struct Output {
	char text[2000];
	size_t n;
} Output;

static void collect(void *ud, const char *text, size_t n) {
	Output *o = ud;
	if (n > sizeof o->text - 1 - o->n) n = sizeof o->text - 1 - o->n;
	memcpy(o->text + o->n, text, n);
	o->n += n;
	o->text[o->n] = 0;
}

static Value state_of(Test *t, int64_t key, int64_t counter) {
	Tensor *x = tensor_new(t->c, DT_I64, 1, (int64_t[]){2});
	((int64_t *)x->data)[0] = key;
	((int64_t *)x->data)[1] = counter;
	return value_tensor(x);
}

static Value vector(Test *t, uint32_t n, const double *x) {
	Tensor *v = tensor_new(t->c, DT_F64, 1, (int64_t[]){n});
	memcpy(v->data, x, n * sizeof *x);
	return value_tensor(v);
}

static void test_random(Test *t) {
	static const double xs[4] = {1, -1, 2, -2};
	bool mask[2] = {false, true}, flags[3] = {false};
	/* Straight-line code, a branch that some elements take, a loop that
	 * elements leave at different times, and a callee. */
	static const char *const texts[] = {
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64, %3: i64[2] = random_bits %0 "
		"{shape: []} return "
		"%3, %2, %1 }",
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: bool = lt 0.0, %1 %3: i64[2], %4: "
		"i64 = if %2 { "
		"%5: i64, %6: i64[2] = random_bits %0 {shape: []} yield %6, %5 } { %7: i64, %8: i64[2] = "
		"random_bits %0 "
		"{shape: []} "
		"%9: i64 = add %7, 1 yield %8, %9 } return %3, %4, %1 }",
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64[2], %3: i64, %4: f64 = while "
		"%0, 0, %1 { (%5: "
		"i64[2], %6: i64, %7: f64): "
		"%8: bool = lt %7, 3.5 yield %8 } { (%9: i64[2], %10: i64, %11: f64): %12: i64, %13: "
		"i64[2] = random_bits %9 "
		"{shape: []} "
		"%14: f64 = add %11, 1.0 yield %13, %12, %14 } return %2, %3, %4 }",
		/* A loop, a branch, a `try`, and a loop inside a branch. */
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: bool = lt 0.0, %1 %3: i64[2], %4: "
		"i64 = if %2 { "
		"%5: i64[2], %6: i64 = for 2, %0, 0 { (%7: i64, %8: i64[2], %9: i64): %10: i64, %11: "
		"i64[2] = random_bits %8 "
		"{shape: []} "
		"yield %11, %10 } yield %5, %6 } { %12: bool = lt %1, -1.5 %13: i64[2], %14: i64 = if %12 "
		"{ %15: i64, %16: "
		"i64[2] = random_bits %0 "
		"{shape: []} yield %16, %15 } { %17: i64[2], %18: i64 = try { %19: i64, %20: i64[2] = "
		"random_bits %0 {shape: "
		"[]} yield %20, %19 } "
		"{ (%21: dyn): yield %0, 7 } yield %17, %18 } %22: i64[2], %23: i64, %24: i64 = while %13, "
		"%14, 0 { (%25: "
		"i64[2], %26: i64, "
		"%27: i64): %28: bool = lt %27, 2 yield %28 } { (%29: i64[2], %30: i64, %31: i64): %32: "
		"i64, %33: i64[2] = "
		"random_bits %29 "
		"{shape: []} %34: i64 = add %31, 1 yield %33, %32, %34 } yield %22, %23 } return %3, %4, "
		"%1 }",
		/* Each element draws its own number of random bits. */
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64 = convert %1 {to: i64} %3: i64 "
		"= add %2, 3 "
		"%4: i64[2], %5: i64 = for %3, %0, 7 { (%6: i64, %7: i64[2], %8: i64): %9: i64, %10: "
		"i64[2] = random_bits %7 "
		"{shape: []} yield %10, %9 } return %4, %5, %1 }",
		"fn @g(%0: i64[2]) -> (i64[2], i64) { %1: i64, %2: i64[2] = random_bits %0 {shape: []} "
		"return %2, %1 }\n"
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64[2], %3: i64 = call %0 {callee: "
		"@g} return %2, %3, "
		"%1 }",
		"fn @g(%0: i64[2], %1: f64) -> (i64[2], i64) { %2: bool = lt 0.0, %1 %3: i64[2], %4: i64 = "
		"if %2 { "
		"%5: i64, %6: i64[2] = random_bits %0 {shape: []} yield %6, %5 } { yield %0, 7 } return "
		"%3, %4 }\n"
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: bool = lt %1, 1.5 %3: i64[2], %4: "
		"i64 = if %2 { "
		"%5: i64[2], %6: i64 = call %0, %1 {callee: @g} yield %5, %6 } { %7: i64, %8: i64[2] = "
		"random_bits %0 {shape: "
		"[]} yield %8, %7 } "
		"return %3, %4, %1 }",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		Fn *f = jb_source(t, texts[i]);
		Ask q = {.f = f, .mask = mask, .flags = flags, .partly = true};
		Fn *batched = jb_protected(t, jb_ask_batch, &q);
		jb_show_diags(t);
		CHECK(batched && !flags[0] && flags[1] && flags[2]);
		Value args[2] = {state_of(t, 5, 0), vector(t, 4, xs)}, results[3];
		if (batched && jb_run(t, batched, args, results)) {
			const int64_t *bits = (const int64_t *)results[1].tensor->data,
						  *state = (const int64_t *)results[0].tensor->data;
			for (int a = 0; a < 4; a++)
				for (int b = 0; b < a; b++) CHECK(bits[a] != bits[b] || bits[a] == 7);
			CHECK(results[0].tensor->count == 2 && state[0] == 5 && state[1] > 0);
			jb_drop(3, results);
		} else {
			CHECK(false);
		}
		jb_drop(2, args);
		/* ad_batch adds the batch axis to every array except the state. */
		batched = jb_batch_of(t, f, mask);
		CHECK(batched && ref_ty(batched, fn_result(batched, 0))->rank == 1 &&
		      ref_ty(batched, fn_result(batched, 2))->rank == 1);
		fn_unref(f);
	}
}

static void test_output(Test *t) {
	static const double xs[3] = {1, -2, 3}, positive[2] = {4, 5};
	Fn *f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: bool = lt 0.0, %1 %3: "
	                     "token, %4: f64 = if %2 { "
	                     "%5: dyn = format %1 {template: \"positive {0}\"} %6: token = print %0, "
	                     "%5 %7: f64 = sqrt %1 yield %6, %7 } { "
	                     "%8: token = print %0, dyn \"negative\" %9: f64 = neg %1 yield %8, %9 } "
	                     "%10: token = print %3, dyn \"end\" return %10, %4 }");
	bool mask[2] = {false, true};
	Fn *batched = jb_batch_of(t, f, mask);
	CHECK(batched);
	Output out = {.n = 0};
	ctx_set_output(t->c, collect, &out);
	Value args[2] = {{.kind = V_TOKEN}, vector(t, 3, xs)}, results[2];
	CHECK(batched && jb_run(t, batched, args, results));
	if (batched) {
		CHECK(results[1].kind == V_TENSOR && ((double *)results[1].tensor->data)[1] == 2);
		jb_drop(2, results);
	}
	jb_drop(2, args);
	char *first = strstr(out.text, "positive"), *second = strstr(out.text, "negative"),
		 *third = strstr(out.text, "end");
	CHECK(first && second && third && first < second && second < third);
	/* A branch that no element takes prints nothing. */
	out.n = 0;
	args[1] = vector(t, 2, positive);
	CHECK(batched && jb_run(t, batched, args, results));
	CHECK(strstr(out.text, "positive") && !strstr(out.text, "negative"));
	if (batched) jb_drop(2, results);
	jb_drop(2, args);
	fn_unref(f);
	/* A `try` with output runs one element after the other. */
	f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: token, %3: f64 = try { %4: "
	                 "dyn = format %1 "
	                 "{template: \"x {0}\"} "
	                 "%5: token = print %0, %4 %6: bool = lt %1, 0.0 if %6 { fail dyn \"no\" "
	                 "{code: 1} yield } { yield } "
	                 "yield %5, %1 } "
	                 "{ (%7: dyn): yield %0, 9.0 } return %2, %3 }");
	batched = jb_batch_of(t, f, mask);
	out.n = 0;
	args[1] = vector(t, 3, xs);
	CHECK(batched && jb_run(t, batched, args, results));
	if (batched) {
		const double *y = (const double *)results[1].tensor->data;
		CHECK(y[0] == 1 && y[1] == 9 && y[2] == 3);
		jb_drop(2, results);
	}
	CHECK(strstr(out.text, "x 1") && strstr(out.text, "x 3"));
	jb_drop(2, args);
	fn_unref(f);
	/* A dynamic value carries the arrays of all elements into the output and
	 * into a message. */
	f = jb_source(
		t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: dyn = box dyn (_, 1), %1 %3: token = "
		   "print %0, %2 "
		   "%4: dyn = format %2 {template: \"{0}\"} %5: token = print %3, %4 return %5, %1 }");
	batched = jb_batch_of(t, f, mask);
	out.n = 0;
	args[1] = vector(t, 3, xs);
	CHECK(batched && jb_run(t, batched, args, results));
	if (batched) jb_drop(2, results);
	CHECK(strstr(out.text, "-2") && strstr(out.text, "3"));
	fn_unref(f);
	f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: dyn = box dyn _, %1 %3: bool "
	                 "= lt %1, -1.5 if %3 { "
	                 "fail %2 {code: 1} yield } "
	                 "{ yield } return %0, %1 }");
	batched = jb_protected(t, jb_ask_batch, &(Ask){.f = f, .mask = mask});
	CHECK(batched == NULL && diag_at(t->c, 0)->code ==
	                             /* inside the branch the message would
	                                 * differ between elements */
	                             E_NO_RULE);
	diag_clear(t->c);
	fn_unref(f);
	f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: dyn = box dyn _, %1 fail %2 "
	                 "{code: 1} return %0, %1 }");
	batched = jb_batch_of(t, f, mask);
	Code *code = batched ? code_of(t->c, batched) : NULL;
	CHECK(code && code_call(t->c, code, args, results) == ST_ERROR);
	diag_clear(t->c);
	jb_drop(2, args);
	fn_unref(f);
	ctx_set_output(t->c, NULL, NULL);
}

/* ---- host functions and user-defined rules ------------------------------- */

/* y = sin(x) z, z a scalar; its jvp is cos(x) z dx + sin(x) dz, with a host
 * call for the sine. */
static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)call, (void)nargs, (void)cap;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}

static Status host_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)call, (void)nargs, (void)nresults;
	double z;
	value_as_f64(args[1], &z);
	Tensor *x = value_to_tensor(c, args[0]), *dense = tensor_contiguous(c, x),
		   *y = tensor_new(c, DT_F64, x->rank, x->shape);
	for (int64_t i = 0; i < x->count; i++)
		((double *)y->data)[i] = sin(((double *)dense->data)[i]) * z;
	tensor_unref(x);
	tensor_unref(dense);
	results[0] = value_from_tensor(y);
	return ST_OK;
}

static HostDef host_def(bool derivative, bool batch);

static void host_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                     const Ref *results, const Ref *tangents, Ref *out) {
	(void)results;
	Ctx *c = build_ctx(b);
	TypeId type = ref_type(build_fn(b), args[0]);
	Ref moved = REF_NONE, sine;
	if (tangents[0]) {
		Ref z = build_broadcast_scalar(b, args[1], type);
		moved = build2(b, OP_MUL, build2(b, OP_MUL, build1(b, OP_COS, args[0]), z), tangents[0]);
	}
	if (tangents[1]) {
		build_host(b, host_call_intern(c, call->def, 0, NULL, 0, NULL), nargs,
		           (Ref[]){args[0], build_f64(b, 1)}, &sine, 1);
		Ref by_z = build2(b, OP_MUL, sine, build_broadcast_scalar(b, tangents[1], type));
		moved = moved ? build2(b, OP_ADD, moved, by_z) : by_z;
	}
	out[0] = moved;
}

static void host_batch(Builder *b, const HostCall *call, Dim n, uint32_t nargs, const Ref *args,
                       const bool *batched, Ref *results) {
	(void)call, (void)nargs;
	Type t = *ref_ty(build_fn(b), args[0]);
	Dim shape[2] = {n, batched[0] ? t.dims[1] : t.dims[0]};
	Ref x = batched[0] ? args[0] : build_broadcast(b, args[0], 2, shape, (int[]){1});
	Ref z = build_broadcast(b, args[1], 2, shape, batched[1] ? (int[]){0} : NULL);
	results[0] = build2(b, OP_MUL, build1(b, OP_SIN, x), z);
}

static HostDef host_def(bool derivative, bool batch) {
	return (HostDef){.name = "wave",
	                 .types = host_types,
	                 .eval = host_eval,
	                 .jvp = derivative ? host_jvp : NULL,
	                 .batch = batch ? host_batch : NULL};
}

static Fn *host_fn(Test *t, bool derivative, bool batch, bool scalar) {
	HostDef def = host_def(derivative, batch);
	Builder *b = build_begin(t->c, atom(t->c, "f"), 0, NULL);
	Dim n = build_fresh_dim(b, 0, 0);
	Ref x = build_param(b, type_tensor(t->c, DT_F64, scalar ? 0 : 1, &n), 0),
		z = build_param(b, type_scalar(t->c, DT_F64), 0), y;
	build_host(b, host_call_intern(t->c, &def, 0, NULL, 0, NULL), 2, (Ref[]){x, z}, &y, 1);
	return build_end(b, 1, &y);
}

static Z z_wave(Z x, Z y) { return csinl(x) * y; }

static void make_host_fn(Ctx *c, void *ud) {
	(void)c;
	struct HostAsk {
		Test *t;
		bool derivative, batch, scalar;
		Fn *out;
	} *q = ud;
	q->out = host_fn(q->t, q->derivative, q->batch, q->scalar);
}

static Fn *host_fn_protected(Test *t, bool derivative, bool batch, bool scalar) {
	struct HostAsk {
		Test *t;
		bool derivative, batch, scalar;
		Fn *out;
	} q = {t, derivative, batch, scalar, NULL};
	CHECK(ctx_protect(t->c, make_host_fn, &q) == ST_OK);
	return q.out;
}

static void test_hosts(Test *t) {
	Fill fill = {-1, 1, 3, 0};
	for (unsigned batch = 0; batch < 2; batch++) {
		Fn *f = host_fn_protected(t, true, batch, false);
		for (unsigned set = 1; f && set < 4; set++) {
			bool mask[2] = {set & 1, set & 2};
			Fn *batched = jb_batch_of(t, f, mask);
			CHECK(batched && count_op(batched, OP_FOR) == 1 - batch);
			for (int64_t lanes = 0; batched && lanes < 4; lanes++)
				CHECK(same_as_single_calls(t, "host", f, batched, mask, &fill, lanes, 1e-15));
		}
		fn_unref(f);
	}
	Fn *f = host_fn_protected(t, true, false, true);
	for (unsigned moving = 1; f && moving < 4; moving++)
		scalar_jet(t, "host", f, z_wave, 0.4, 0.7, moving, 1e-12);
	fn_unref(f);
	f = host_fn_protected(t, false, false, true);
	bool active[2] = {true, false}, flag;
	CHECK(f &&
	      !jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = 2, .mask = active, .flags = &flag}));
	CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_NO_RULE &&
	      strstr(diag_at(t->c, 0)->message, "wave"));
	diag_clear(t->c);
	fn_unref(f);
}

/* The callee hides its derivative. The rule (x, z, y, dx, dz) -> dy restores
 * it: y = tanh(x) z. */
static Fn *rule_service(Ctx *c, const Fn *f, const Inst *in) {
	if (in->op == OP_REDUCE_PROD) /* of two scalars */
		return jb_read_fn(c, "fn @prod_rule(%0: f64[2], %1: f64, %2: f64[2]) -> (f64) { %3: f64[2] "
		                     "= slice %0 {start: [1], length: "
		                     "[2], stride: "
		                     "[-1]} %4: f64 = dot %3, %2 {lcontract: [0], rcontract: [0], lbatch: "
		                     "[], rbatch: []} return %4 }");
	if (in->op == OP_REDUCE_MAX) return jb_read_fn(c, "fn @wrong() -> () { return }");
	if (in->op != OP_CALL) return NULL;
	const Fn *callee = inst_callee(c, in);
	(void)f;
	if (strcmp(atom_text(c, callee->name), "soft") != 0) return NULL;
	return jb_read_fn(c, "fn @soft_rule(%0: f64, %1: f64, %2: f64, %3: f64, %4: f64) -> (f64) { "
	                     "%5: f64 = tanh %0 %6: f64 = mul %5, %5 "
	                     "%7: f64 = sub 1.0, %6 %8: f64 = mul %7, %3 %9: f64 = mul %8, %1 %10: f64 "
	                     "= mul %5, %4 %11: f64 = add %9, %10 "
	                     "return %11 }");
}

static Z z_soft(Z x, Z y) { return ctanhl(x) * y + x; }

static void test_written_rules(Test *t) {
	ir_services(t->c)->structural_rule = rule_service;
	Fn *f = jb_source(t, "fn @soft(%0: f64, %1: f64) -> (f64) { %2: f64 = tanh %0 %3: f64 = mul "
	                     "%2, %1 %4: f64 = stop_gradient %3 "
	                     "return %4 }\n"
	                     "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = call %0, %1 {callee: @soft} "
	                     "%3: f64 = add %2, %0 return %3 }");
	for (unsigned moving = 1; f && moving < 4; moving++)
		scalar_jet(t, "written rule", f, z_soft, 0.4, 0.7, moving, 1e-12);
	fn_unref(f);
	f = jb_source(t, "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64[1] = broadcast %0 {shape: [1], "
	                 "axes: []} %3: f64[1] = "
	                 "broadcast %1 {shape: [1], "
	                 "axes: []} %4: f64[2] = concat %2, %3 {axis: 0} %5: f64 = reduce_prod %4 "
	                 "{axes: [0]} return %5 }");
	for (unsigned moving = 1; f && moving < 4; moving++)
		scalar_jet(t, "rule of a product", f, z_mul, 0.4, 0.7, moving, 1e-13);
	fn_unref(f);
	f = jb_source(t,
	              "fn @f(%0: f64[2]) -> (f64) { %1: f64 = reduce_max %0 {axes: [0]} return %1 }");
	bool on = true, flag;
	CHECK(!jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = 2, .mask = &on, .flags = &flag}));
	CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_RULE);
	diag_clear(t->c);
	fn_unref(f);
	ir_services(t->c)->structural_rule = NULL;
}

/* ---- rejected functions -------------------------------------------------- */

static void test_refusals(Test *t) {
	static const struct {
		const char *text;
		bool mask[3];
		DiagCode code;
		const char *word;
	} rows[] = {
		{"fn @f[n, k](%0: bool[n]) -> (i64[k]) { %1: i64[k] = nonzero %0 {length: k} return %1 }",
	     {true},
	     E_NO_RULE,
	     "nonzero"},
		{"fn @f[k](%0: i64) -> (f64[k]) { bind_dim %0 {dim: k} %1: f64[k] = iota {to: f64, length: "
	     "k} return %1 }",
	     {true},
	     E_NO_RULE,
	     "bind_dim"},
		{"fn @f(%0: i64[2]) -> (i64) { %1: i64, %2: i64[2] = random_bits %0 {shape: []} return %1 "
	     "}",
	     {true},
	     E_NO_RULE,
	     "random state"},
		{"fn @f(%0: token, %1: i64[2], %2: f64) -> (dyn) { %3: dyn = box dyn _, %2 %4: token, %5: "
	     "i64[2], %6: dyn = "
	     "dynamic %0, %1, %3 "
	     "return %6 }",
	     {false, false, true},
	     E_NO_RULE,
	     "known only when it runs"},
		{"fn @f(%0: bool, %1: f64) -> (dyn) { %2: dyn = if %0 { %3: dyn = box dyn _, %1 yield %3 } "
	     "{ yield dyn none } "
	     "return %2 }",
	     {true, false},
	     E_NO_RULE,
	     "dynamic value"},
		{"fn @f(%0: bool, %1: f64) -> (dyn) { %2: dyn = if %0 { %3: dyn = box dyn _, %1 yield %3 } "
	     "{ yield dyn none } "
	     "return %2 }",
	     {false, true},
	     E_NO_RULE,
	     "dynamic value"},
		{"fn @f[k, j, r](%0: i64, %1: f64[1]) -> (f64[r]) { %2: f64[r] = for %0, %1 { (%3: i64, "
	     "%4: f64[k]): %5: f64[k "
	     "+ 1] = push %4, 2.0 "
	     "yield %5 } return %2 }",
	     {true, false},
	     E_NO_RULE,
	     "length differs"},
		{"fn @f[r](%0: bool, %1: f64[2], %2: f64[3]) -> (f64[r]) { %3: f64[r] = if %0 { yield %1 } "
	     "{ yield %2 } return "
	     "%3 }",
	     {true, false, false},
	     E_NO_RULE,
	     "length differs"},
		{"fn @f(%0: f64[1, 1, 1, 1, 1, 1, 1, 1]) -> (f64[1, 1, 1, 1, 1, 1, 1, 1]) { return %0 }",
	     {true},
	     E_RANK,
	     "8 axes"},
		{"fn @f[a](%0: f64[a, 2, 2, 2], %1: f64[a, 2, 2, 2, 2]) -> (f64[2, 2, 2, 2, 2, 2, 2]) { "
	     "%2: f64[2, 2, 2, 2, 2, "
	     "2, 2] = dot %0, %1 "
	     "{lcontract: [0], rcontract: [0], lbatch: [], rbatch: []} %3: f64[2, 2, 2, 2, 2, 2, 2] = "
	     "neg %2 return %3 }",
	     {true, true, false},
	     0,
	     NULL},
		{"fn @f(%0: f64[2, 1, 1, 1, 1, 1, 1], %1: i64[2, 2]) -> (f64[2, 2, 1, 1, 1, 1, 1, 1]) { "
	     "%2: f64[2, 2, 1, 1, 1, "
	     "1, 1, 1] = "
	     "gather %0, %1 {axis: 0, batch: 0} return %2 }",
	     {false, true},
	     E_NO_RULE,
	     "8 axes"},
		{"fn @f(%0: f64) -> (f64) { %1: f64[1, 1, 1, 1, 1, 1, 1, 1] = broadcast %0 {shape: [1, 1, "
	     "1, 1, 1, 1, 1, 1], "
	     "axes: []} "
	     "%2: f64 = reduce_sum %1 {axes: [0, 1, 2, 3, 4, 5, 6, 7]} return %2 }",
	     {true},
	     E_NO_RULE,
	     "8 axes"},
		{"fn @f(%0: f64[2, 2, 2, 2], %1: f64[2, 2, 2, 2]) -> (f64[2, 2, 2, 2, 2, 2, 2, 2]) { %2: "
	     "f64[2, 2, 2, 2, 2, 2, "
	     "2, 2] = dot %0, %1 "
	     "{lcontract: [], rcontract: [], lbatch: [], rbatch: []} return %2 }",
	     {true, false},
	     E_NO_RULE,
	     "8 axes"},
		{"fn @f(%0: bool, %1: i64[2], %2: i64[2]) -> (i64[2]) { %3: i64[2] = if %0 { %4: i64, %5: "
	     "i64[2] = random_bits "
	     "%1 {shape: []} yield "
	     "%5 } { %6: i64, %7: i64[2] = random_bits %2 {shape: []} yield %7 } return %3 }",
	     {true, false, false},
	     E_NO_RULE,
	     "different"},
		{"fn @g(%0: dyn) -> (f64) { %1: f64 = unbox %0 {to: f64} return %1 }\nfn @f(%0: f64) -> "
	     "(f64) { %1: dyn = box "
	     "dyn _, %0 "
	     "%2: f64 = call %1 {callee: @g} return %2 }",
	     {true},
	     E_NO_RULE,
	     "no array"},
		{"fn @f(%0: f64) -> (f64) { return %0 }", {false}, E_INTERNAL, "how many lanes"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Fn *f = jb_source(t, rows[i].text);
		CHECK(f);
		if (!f) continue;
		Fn *out = jb_protected(t, jb_ask_batch, &(Ask){.f = f, .mask = rows[i].mask});
		const Diag *d = diag_total(t->c) ? diag_at(t->c, 0) : NULL;
		bool good = rows[i].word
		                ? !out && d && d->code == rows[i].code && strstr(d->message, rows[i].word)
		                : out && !d;
		if (!good) {
			printf("  %s\n", rows[i].text);
			jb_show_diags(t);
		}
		CHECK(good);
		diag_clear(t->c);
		/* A failed transform leaves nothing behind: it fails again in the same
		 * way. */
		if (rows[i].word)
			CHECK(!jb_protected(t, jb_ask_batch, &(Ask){.f = f, .mask = rows[i].mask}));
		diag_clear(t->c);
		fn_unref(f);
	}
	/* Derivatives do not pass through dynamic values. */
	Fn *f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: dyn = box dyn _, %0 %2: f64 = unbox %1 "
	                     "{to: f64} return %2 }");
	bool on = true, flag;
	CHECK(!jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = 2, .mask = &on, .flags = &flag}));
	CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_NO_RULE);
	diag_clear(t->c);
	fn_unref(f);
	f = jb_source(t, "fn @g(%0: dyn) -> (f64) { %1: f64 = unbox %0 {to: f64} return %1 }\n"
	                 "fn @f(%0: f64) -> (f64) { %1: dyn = box dyn _, %0 %2: f64 = call %1 {callee: "
	                 "@g} return %2 }");
	CHECK(!jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = 2, .mask = &on, .flags = &flag}));
	CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_NO_RULE);
	diag_clear(t->c);
	fn_unref(f);
	f = jb_source(t, "fn @f[n](%0: f64[n, 2]) -> (f64[n, 2], i64[n]) { %1: f64[n, 2], %2: i64[n] = "
	                 "lu %0 return %1, %2 }");
	bool flags[2];
	CHECK(!jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = 2, .mask = &on, .flags = flags}));
	CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_NO_RULE &&
	      strstr(diag_at(t->c, 0)->message, "lu"));
	diag_clear(t->c);
	fn_unref(f);
}

/* An element-wise primitive without a rule. */
static Fn *no_lines(Ctx *c, Op op, Dtype d) {
	(void)d;
	diag_error(c, E_NO_RULE, NO_SPAN, "`%s` has no rule", prims[op].name);
	return NULL;
}

static Fn *bad_line(Ctx *c, Op op, Dtype d) {
	Lines *all = ctx_slot(c, SLOT_PARSER);
	(void)op, (void)d;
	return all->at[OP_SIN][DT_F64]; /* one partial derivative for a primitive of two operands */
}

static Fn *odd_line(Ctx *c, Op op, Dtype d) {
	Lines *all = ctx_slot(c, SLOT_PARSER);
	(void)d;
	/* Rules with another dtype and with a branch: the first is valid, the
	 * second is not one expression. */
	const char *text = op == OP_TANH ? "fn @tanh(%0: f64, %1: f64) -> (f64) { %2: c128 = convert "
	                                   "%1 {to: c128} %3: c128 = mul %2, %2 "
	                                   "%4: f64 = real %3 %5: f64 = sub 1.0, %4 return %5 }"
	                                 : "fn @sin(%0: f64, %1: f64) -> (f64) { %2: bool = lt %0, 0.0 "
	                                   "%3: f64 = if %2 { yield 0.0 } "
	                                   "{ yield %1 } return %3 }";
	/* A slot that nothing else uses. */
	if (!all->at[op][DT_BOOL]) all->at[op][DT_BOOL] = jb_read_fn(c, text);
	return all->at[op][DT_BOOL];
}

static void test_missing_lines(Test *t) {
	Fn *f = jb_source(t, "fn @f(%0: f64, %1: f64) -> (f64) { %2: f64 = atan2 %0, %1 return %2 }");
	bool active[2] = {true, true}, flag;
	Fn *(*const services[])(Ctx *, Op, Dtype) = {NULL, no_lines, bad_line};
	for (size_t i = 0; i < 3; i++) {
		ir_services(t->c)->elementwise_rule = services[i];
		CHECK(!jb_protected(t, jb_ask_jet,
		                    &(Ask){.f = f, .order = 2, .mask = active, .flags = &flag}));
		CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == (i == 2 ? E_RULE : E_NO_RULE));
		diag_clear(t->c);
	}
	fn_unref(f);
	ir_services(t->c)->elementwise_rule = odd_line;
	f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: f64 = tanh %0 return %1 }");
	scalar_jet(t, "tanh by way of complex numbers", f, z_tanh, 0.4, 0, 1, 1e-12);
	fn_unref(f);
	f = jb_source(t, "fn @f(%0: f64) -> (f64) { %1: f64 = sin %0 return %1 }");
	CHECK(!jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = 2, .mask = active, .flags = &flag}));
	CHECK(diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_RULE);
	diag_clear(t->c);
	fn_unref(f);
	ir_services(t->c)->elementwise_rule = jb_line_of_calculus;
}

/* ---- allocation failure -------------------------------------------------- */

static void test_memory(Test *t) {
	static const char text[] = "fn @f[n](%0: f64[n], %1: f64, %2: i64) -> (f64[n], f64) { %3: "
							   "f64[n], %4: f64 = for %2, %0, %1 { (%5: i64, "
							   "%6: f64[n], %7: f64): %8: f64[n] = tanh %6 %9: bool = lt %7, 0.0 "
							   "%10: f64 = if %9 { %11: f64 = sin %7 yield "
							   "%11 } "
							   "{ %12: f64 = sqrt %7 yield %12 } yield %8, %10 } return %3, %4 }";
	bool mask[3] = {true, true, true}, flags[2];
	for (int what = 0; what < 2; what++) {
		bool done = false;
		for (uint64_t at = 1; !done && at < 4000; at += 1 + at / 16) {
			Fn *f = jb_source(t, text);
			CHECK(f);
			if (!f) return;
			heap_fail_at(t->c, at, true);
			Fn *out = jb_protected(t, what ? jb_ask_batch : jb_ask_jet,
			                       &(Ask){.f = f, .order = 3, .mask = mask, .flags = flags});
			heap_fail_at(t->c, 0, false);
			done = out != NULL;
			/* A transform that failed for lack of memory succeeds when memory
			 * is available again. */
			if (!done)
				CHECK(jb_protected(t, what ? jb_ask_batch : jb_ask_jet,
				                   &(Ask){.f = f, .order = 3, .mask = mask, .flags = flags}));
			diag_clear(t->c);
			fn_unref(f);
		}
		CHECK(done);
	}
}

int main(void) {
	Test t = {.random = 12345};
	setvbuf(stdout, NULL, _IOLBF, 0);
	t.c = ctx_new(NULL);
	if (!t.c || backend_init(t.c) != ST_OK) return 1;
	autodiff_init(t.c);
	ctx_grant(t.c, GRANT_ALL);
	Lines *state = calloc(1, sizeof *state);
	ctx_set_slot(t.c, SLOT_PARSER, state, jb_free_lines);
	ir_services(t.c)->elementwise_rule = jb_line_of_calculus;
	test_elementwise(&t);
	test_powers(&t);
	test_piecewise(&t);
	test_programs(&t);
	test_cases(&t);
	test_cost(&t);
	test_zero_patterns(&t);
	test_orders_and_dtypes(&t);
	test_random(&t);
	test_output(&t);
	test_hosts(&t);
	test_written_rules(&t);
	test_refusals(&t);
	test_missing_lines(&t);
	test_memory(&t);
	jb_show_diags(&t);
	ctx_free(t.c);
	return check_end();
}
