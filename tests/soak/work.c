/* work.c - pieces of mixed work whose results are known.
 *
 * Method: texts with random parameters, whose results have closed forms;
 * functions that are looked up, differentiated and called through every kind of
 * handle; programs that fail, that never end, and that need more memory than
 * there is.
 */
#include "tests/soak/work.h"
#include "tests/unit/support/draw.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double parameter(Work *w) { return 0.5 + (double)draw(&w->random, 1000) / 1000; }

static WorkResult wrong(Work *w, const char *text, double got, double want) {
	snprintf(w->why, sizeof w->why, "%.150s: %.17g, not %.17g", text, got, want);
	return WORK_WRONG;
}

static WorkResult failed(Work *w, const char *text, atled_status st) {
	if (st == ATLED_INTERRUPTED) return WORK_STOPPED;
	const atled_error *e = atled_last_error(w->ctx);
	snprintf(w->why, sizeof w->why, "%.100s: status %d, %.150s", text, (int)st,
	         e ? e->message : "without a reason");
	return WORK_WRONG;
}

static bool near(double x, double y, double tol) { return fabs(x - y) <= tol * fmax(1, fabs(y)); }

/* Evaluates a text whose value is known. */
static WorkResult gives(Work *w, const char *text, double want, double tol) {
	atled_value *v = NULL;
	double got = NAN;
	const atled_status st = atled_eval(w->ctx, text, ATLED_ZERO, NULL, &v);
	if (st != ATLED_OK) return failed(w, text, st);
	if (!atled_value_f64(v, &got)) got = NAN;
	atled_value_free(v);
	return near(got, want, tol) ? WORK_RIGHT : wrong(w, text, got, want);
}

/* Evaluates a text that must fail with a status. */
static WorkResult fails(Work *w, const char *text, atled_status want) {
	const atled_status st = atled_eval(w->ctx, text, ATLED_ZERO, NULL, NULL);
	return st == want ? WORK_RIGHT : failed(w, text, st);
}

/* ---- texts --------------------------------------------------------------- */

static WorkResult expression(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "%.17g*2 + sum([1, 2, 3])", a);
	return gives(w, text, 2 * a + 6, 1e-15);
}

static WorkResult derivative(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "grad(x -> x^2*sin(x))(%.17g)", a);
	return gives(w, text, 2 * a * sin(a) + a * a * cos(a), 1e-14);
}

static WorkResult integral(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "integrate(x -> x^%.17g, 0, 1)", a);
	return gives(w, text, 1 / (a + 1), 1e-7);
}

static WorkResult equation(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "ode((t, y) -> -%.17g*y, [1.0], (0, 1)).y(1.0)[0]", a);
	return gives(w, text, exp(-a), 1e-4);
}

static WorkResult zero(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "root(x -> x^2 - %.17g, 1.0)", a);
	return gives(w, text, sqrt(a), 1e-8);
}

static WorkResult grid(Work *w) {
	char text[300];
	const double a = parameter(w);
	snprintf(
		text, sizeof text,
		"problem p { domain x in [0, 1]\n field u\n u_xx == -%.17g\n u == 0 at x = 0, x = 1 }\n"
		"solve(p, fd(n = 20)).u(0.5)",
		a);
	return gives(w, text, a / 8, 1e-8);
}

static WorkResult large(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "x = linspace(0, %.17g, 300001)\nsum(x) / 300001", a);
	return gives(w, text, a / 2, 1e-12);
}

static WorkResult system_of_equations(Work *w) {
	char text[200];
	const double a = parameter(w);
	snprintf(text, sizeof text, "A = eye(40)*%.17g + ones(40, 40)\nsum(linsolve(A, A @ ones(40)))",
	         a);
	return gives(w, text, 40, 1e-11);
}

/* ---- what must fail ------------------------------------------------------ */

static WorkResult mistake(Work *w) {
	static const char *const texts[] = {"1 +", "nothing + 1", "[1, 2] + [1, 2, 3]",
	                                    "f(x) = g(x)\nf(1)"};
	return fails(w, texts[draw(&w->random, 4)], ATLED_ERROR);
}

static WorkResult failure(Work *w) {
	char text[100];
	snprintf(text, sizeof text, "k = %llu\nif k > 0 { error(\"no {k}\") }\n[1, 2][k + 7]",
	         (unsigned long long)draw(&w->random, 5));
	return fails(w, text, ATLED_ERROR);
}

static WorkResult what_is_denied(Work *w) { return fails(w, "load(\"x.npy\")", ATLED_DENIED); }

/* A context of its own, since limits can only be lowered. */
static WorkResult limited(Work *w) {
	atled_context *x = atled_context_new(NULL), *own = w->ctx;
	if (!x) return WORK_STOPPED;
	const bool memory = draw(&w->random, 2);
	const atled_limit l = {
		.size = sizeof l, .seconds = 0.02, .memory = memory ? (size_t)16 << 20 : 0};
	atled_limits(x, &l);
	w->ctx = x;
	WorkResult r = memory ? fails(w, "x = 0.5*zeros(10^7) + rand(1)\nsum(x)", ATLED_NOMEM)
	                      : fails(w, "s = 0\nwhile true { s += 1 }", ATLED_LIMIT);
	if (r == WORK_WRONG && memory && strstr(w->why, "status 4")) r = WORK_STOPPED;
	atled_context_free(x);
	w->ctx = own;
	return r;
}

/* ---- functions by handle ------------------------------------------------- */

static WorkResult service(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "served(x) = x^3 + %.17g*x + %llu", a,
	         (unsigned long long)w->changed++ % 1000);
	atled_status st = atled_compile(w->ctx, text, ATLED_ZERO, NULL);
	if (st != ATLED_OK) return failed(w, text, st);
	atled_function *f = NULL, *g = NULL;
	st = atled_lookup(w->ctx, "served", "(f64) -> f64", &f);
	if (st == ATLED_OK) st = atled_derive(w->ctx, f, "grad 0", &g);
	atled_raw raw = NULL;
	void *ud = NULL;
	if (st == ATLED_OK) st = atled_entry(w->ctx, g, &raw, &ud);
	WorkResult r = WORK_RIGHT;
	for (int k = 0; k < 10 && st == ATLED_OK && r == WORK_RIGHT; k++) {
		const double x = k / 10.0;
		double y = NAN;
		st = raw(ud, NULL, (const void *[]){&x}, (void *[]){&y});
		if (st == ATLED_OK && !near(y, 3 * x * x + a, 1e-14)) r = wrong(w, text, y, 3 * x * x + a);
	}
	if (st != ATLED_OK) r = failed(w, text, st);
	atled_function_free(g);
	atled_function_free(f);
	return r;
}

static int halved(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	(void)ctx;
	*(double *)out[0].data = *(const double *)in[0].data * *(const double *)ud;
	return 0;
}

static WorkResult host(Work *w) {
	char text[100];
	const double a = parameter(w);
	snprintf(text, sizeof text, "sum(map(x -> halved(x), [%.17g, 1.0, 2.0]))", a);
	return gives(w, text, (a + 3) / 2, 1e-15);
}

const Piece pieces[PIECES] = {
	{"expression", expression, false},
	{"derivative", derivative, false},
	{"integral", integral, false},
	{"equation", equation, false},
	{"zero", zero, false},
	{"grid", grid, false},
	{"large", large, false},
	{"system", system_of_equations, false},
	{"mistake", mistake, false},
	{"failure", failure, false},
	{"denied", what_is_denied, false},
	{"limited", limited, false},
	{"service", service, true},
	{"host", host, false},
};

bool work_prepare(Work *w) {
	w->captured = 0.5;
	const atled_host h = {.size = sizeof h,
	                      .name = "halved",
	                      .type = "(f64) -> f64",
	                      .ud = &w->captured,
	                      .value = halved};
	return w->ctx && atled_grant(w->ctx, ATLED_GRANT_OUTPUT) == ATLED_OK &&
	       atled_define_host(w->ctx, &h) == ATLED_OK;
}
