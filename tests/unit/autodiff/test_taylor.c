/* test_taylor.c - unit tests of Taylor jets.
 *
 * Oracle: contour integrals; counts of operations.
 *
 * Needs: taylor_batch_help.h.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "tests/unit/autodiff/taylor_batch_help.h"
#include <math.h>
#include <stdio.h>

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
	CHECK(jet && jb_count_op(jet, OP_SIN) == 1 && jb_count_op(jet, OP_COS) == 0);
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

/* ---- host functions and user-defined rules ------------------------------- */

static Z z_wave(Z x, Z y) { return csinl(x) * y; }

static void test_hosts(Test *t) {
	Fn *f = jb_host_fn(t, true, false, true);
	for (unsigned moving = 1; f && moving < 4; moving++)
		scalar_jet(t, "host", f, z_wave, 0.4, 0.7, moving, 1e-12);
	fn_unref(f);
	f = jb_host_fn(t, false, false, true);
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

/* Derivatives do not pass through dynamic values. */
static void test_refusals(Test *t) {
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

int main(void) {
	static const TestCase tests[] = {
		{"elementwise", test_elementwise},
		{"powers", test_powers},
		{"piecewise", test_piecewise},
		{"programs", test_programs},
		{"cost", test_cost},
		{"zero patterns", test_zero_patterns},
		{"orders and dtypes", test_orders_and_dtypes},
		{"hosts", test_hosts},
		{"written rules", test_written_rules},
		{"refusals", test_refusals},
		{"missing lines", test_missing_lines},
	};
	return jb_run_tests(sizeof tests / sizeof *tests, tests);
}
