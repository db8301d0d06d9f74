/* test_api_steady.c - unit tests of the public interface: the memory of a
 * context that lives long stays.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 *
 * Method: the bytes that the context holds are the same after many calls as
 * after a few. Each call has another number in its text, where it has a text.
 */
#include "tests/unit/api/help.h"

enum { WARM = 3000, CALLS = 9000 };

static uint64_t held(T *t) {
	atled_stat s = {.size = sizeof s};
	FINE(t, atled_stats(t->x, &s));
	return s.memory;
}

static void evaluate(T *t, int i) {
	char text[100];
	snprintf(text, sizeof text, "1.0 + f(%d.25) + sum(v[0..4])*%d", i, i);
	atled_value *v = NULL;
	double d = 0;
	const double x = i + 0.25;
	if (!FINE(t, atled_eval(t->x, text, ATLED_ZERO, "service", &v))) return;
	atled_value_f64(v, &d);
	if (!near(d, 1 + x * x + 1 + 10.0 * i, 1e-14)) CHECK(false);
	atled_value_free(v);
}

/* Functions of each program's own, which are specialised. */
static void map_lambda(T *t, int i) {
	char text[200];
	snprintf(text, sizeof text,
	         "sum(map(x -> x*%d.0, v)) + sum([k*%d for k in 0..4]) + (x -> x)(0.5)", i, i);
	atled_value *y = NULL;
	double d = 0;
	if (!FINE(t, atled_eval(t->x, text, ATLED_ZERO, "service", &y))) return;
	atled_value_f64(y, &d);
	if (!near(d, 16.0 * i + 0.5, 1e-14)) CHECK(false);
	atled_value_free(y);
}

/* A function that a program leaves behind works for as long as its handle
 * lives. i < 0: the last call. */
static void keep_lambda(T *t, int i) {
	static atled_value *kept;
	static int before;
	char text[100];
	snprintf(text, sizeof text, "x -> x + %d", i);
	atled_value *f = NULL, *x = atled_value_of_f64(t->x, 1), *y = NULL;
	double d = 0;
	FINE(t, atled_eval(t->x, text, ATLED_ZERO, "service", &f));
	if (kept) {
		FINE(t, atled_value_call(t->x, kept, 1, (const atled_value *[]){x}, &y));
		atled_value_f64(y, &d);
		if (d != before + 1) CHECK(false);
	}
	atled_value_free(kept);
	kept = f;
	before = i;
	if (i < 0) atled_value_free(f), kept = NULL;
	atled_value_free(x);
	atled_value_free(y);
}

/* A failing expression, of which the message must still be right. */
static void fail(T *t, int i) {
	char text[100];
	snprintf(text, sizeof text, "\n  v[%d]", 100 + i);
	if (atled_eval(t->x, text, ATLED_ZERO, "service", NULL) != ATLED_ERROR) CHECK(false);
	const atled_error *e = atled_last_error(t->x);
	if (!e || e->line != 2 || e->column != 5 || strcmp(e->file, "service")) CHECK(false);
}

static void call_value(T *t, int i) {
	atled_value *f = NULL, *x = atled_value_of_f64(t->x, i), *y = NULL;
	double d = 0;
	FINE(t, atled_get(t->x, "f", &f));
	FINE(t, atled_value_call(t->x, f, 1, (const atled_value *[]){x}, &y));
	atled_value_f64(y, &d);
	if (d != (double)i * i + 1) CHECK(false);
	atled_value_free(f);
	atled_value_free(x);
	atled_value_free(y);
}

static void set_and_get(T *t, int i) {
	atled_value *x = atled_value_of_f64(t->x, i), *y = NULL;
	FINE(t, atled_set(t->x, "k", x));
	FINE(t, atled_get(t->x, "k", &y));
	atled_value_free(x);
	atled_value_free(y);
}

static void look_up(T *t, int i) {
	(void)i;
	atled_function *f = NULL;
	FINE(t, atled_lookup(t->x, "f", "(f64) -> f64", &f));
	atled_function_free(f);
}

/* A function of an ever new program, its derivative, and both stored and
 * loaded. */
static void derive(T *t, int i) {
	char text[100];
	snprintf(text, sizeof text, "h(x) = x^2*%d; derivative h(x) = 2x*%d; q(x) = h(x + 1)", i, i);
	atled_function *f[4] = {NULL};
	Bytes stored = {NULL, 0};
	FINE(t, atled_compile(t->x, text, ATLED_ZERO, "service"));
	FINE(t, atled_lookup(t->x, "q", "(f64) -> f64", &f[0]));
	FINE(t, atled_derive(t->x, f[0], "grad", &f[1]));
	FINE(t, atled_store(t->x, f[0], keep_bytes, &stored));
	FINE(t, atled_load(t->x, "loaded", stored.at, stored.n, "(f64) -> f64", &f[2]));
	FINE(t, atled_derive(t->x, f[2], "grad", &f[3]));
	for (int k = 0; k < 4; k++) {
		atled_tensor *in = scalar(t, 2), *out = NULL;
		FINE(t, atled_call(t->x, f[k], 1, &in, 1, &out));
		if (!near(element(out, 0), (k % 2 ? 6.0 : 9.0) * i, 1e-12)) CHECK(false);
		atled_tensor_free(in);
		atled_tensor_free(out);
		atled_function_free(f[k]);
	}
	free(stored.at);
}

static void stays(T *t, const char *what, void (*call)(T *t, int i)) {
	for (int i = 0; i < WARM; i++) call(t, i);
	const uint64_t before = held(t);
	for (int i = WARM; i < CALLS; i++) call(t, i);
	const uint64_t after = held(t);
	if (!CHECK(after <= before))
		printf("  %s: %.1f bytes a call\n", what, (double)(after - before) / (CALLS - WARM));
}

/* ---- texts of every kind ------------------------------------------------- */

/* The text has the number of the call in place of each %d. The context holds
 * the same after `calls` texts as after `warm`. */
typedef struct Kind {
	const char *text;
	int warm, calls;
	bool check; /* it is only checked */
	/* Something may stay once: it makes a new atom, and a table of these has
	 * grown, or it calls the library, a function of which was compiled. */
	bool once;
} Kind;

static const Kind kinds[] = {
	{"grad(x -> x^2*%d.0)(1.5)", 200, 1000, false, true},
	{"grad(x -> sum(tanh(x*%d.0)))([1.5, 2, 3])", 200, 800, false, true},
	{"jacobian(x -> sin(x)*%d.0)([1.5, 2, 3])", 200, 800, false, true},
	{"map(grad(x -> x^3*%d.0), [1.5, 2, 3])", 200, 800, false, true},
	{"integrate(x -> x*%d.0, 0.0, 1.0)", 10, 100, false, true},
	{"root(x -> x^2 - %d.0, 1.0)", 20, 200, false, true},
	{"minimize(x -> sum((x - %d.0)^2), [1.0, 2.0]).x", 10, 100, false, true},
	{"ode((t, y) -> -y*%d.0, [1.0], [0.0, 1.0])", 5, 20, false, true},
	{"n = %d", 200, 3000, false, false},
	{"a = [1.0, %d] * 2", 200, 3000, false, false},
	{"s = 0.0; for k in 0..10 { s = s + k*%d }", 200, 1000, false, false},
	{"B[i] := %d.0*[1.0, 2][i]", 200, 1000, false, false},
	{"f(3.0) + %d", 200, 3000, true, false},
	{"g(x) = x*%d; g(2.0)", 200, 2000, true, false},
};

/* Texts that define. What they defined before is forgotten from time to
 * time. */
static const Kind definitions[] = {
	{"h(x) = x + %d.5", 400, 1200, false, false},
	{"h(x) = x + %d.5; h(1.0)", 400, 1200, false, false},
	{"h(x) = x^2 + %d; q(x) = h(x)*2; grad(q)(1.5)", 400, 1200, false, false},
	{"h(x) = map(y -> y*x, [1.0, 2]); sum(h(%d.0))", 400, 1200, false, false},
	{"h(x) = x^2 + %d; derivative h(x) = 2x; grad(h)(1.5)", 400, 1200, false, false},
	{"h(x) = x^2 + %d; derivative h(x) = 2x; q(x) = h(3x); grad(x -> q(x) + x)(1.5)", 400, 1200,
     false, false},
	{"use stats; k = [%d, 2.0]; mean(k)", 400, 1200, false, false},
	{"p = ir(x -> x*%d.0, 1.0); p(2.0)", 400, 1200, false, false},
	{"p = ir(x -> x*%d.0, 1.0); sum(map(p, [1.0, 2.0])) + grad(p)(2.0)", 400, 1200, false, false},
	{"k = x -> x*%d; k(2.0)", 400, 1200, false, false},
	{"m = %d; k = x -> x*m; k(2.0)", 400, 1200, false, false},
	{"k = (name = \"k\", f = x -> x*%d); k.f(2.0)", 400, 1200, false, false},
	{"problem p { domain x in [0, 1]\n field u\n u_xx == -%d.0\n u == 0 at x = 0, x = 1 }\n"
     "solve(p, fd(n = 12)).u(0.5)",
     80, 240, false, true},
};

static bool run(T *t, const Kind *k, int i) {
	char text[200];
	snprintf(text, sizeof text, k->text, i + 1);
	atled_value *v = NULL;
	const bool fine = k->check ? FINE(t, atled_check(t->x, text, ATLED_ZERO, "service"))
	                           : FINE(t, atled_eval(t->x, text, ATLED_ZERO, "service", &v));
	atled_value_free(v);
	return fine;
}

static void kind_stays(T *t, const Kind *k) {
	int i = 0;
	while (i < k->warm && run(t, k, i)) i++;
	const uint64_t before = held(t);
	while (i < k->calls && run(t, k, i)) i++;
	const uint64_t after = held(t);
	/* The table of functions has a page for some hundred of them. */
	const uint64_t more = 8192 + (k->once ? (uint64_t)1 << 20 : 0);
	if (!CHECK(after <= before + more))
		printf("  %s: %.1f bytes a text\n", k->text,
		       ((double)after - (double)before) / (k->calls - k->warm));
}

typedef struct Range {
	uint64_t least, most;
} Range;

/* The bytes that the context holds at texts from..to-1. */
static Range range_held(T *t, const Kind *k, int from, int to) {
	Range r = {.least = UINT64_MAX};
	for (int i = from; i < to && run(t, k, i); i++) {
		const uint64_t now = held(t);
		if (now > r.most) r.most = now;
		if (now < r.least) r.least = now;
	}
	return r;
}

static void definition_stays(T *t, const Kind *k) {
	const int third = k->warm;
	range_held(t, k, 0, third);
	const Range before = range_held(t, k, third, 2 * third),
				after = range_held(t, k, 2 * third, 3 * third);
	/* What is left when programs are looked through; code of the library is
	 * compiled once. A text that stayed would leave 30 MB. */
	const uint64_t more = 16384 + (k->once ? (uint64_t)4 << 20 : 0);
	if (!CHECK(after.most <= before.most + more))
		printf("  %s: %.1f bytes a text\n", k->text, (double)(after.most - before.most) / third);
	/* Large programs are looked through when they hold half as much again as
	 * what stays, and 8 MB. */
	CHECK(after.most - after.least <= after.least / 2 + ((uint64_t)10 << 20));
}

/* What a host keeps works after the program has been forgotten, and after the
 * context was made compact. */
static void compact(T *t) {
	atled_value *d = NULL, *g = NULL, *x = atled_value_of_f64(t->x, 3), *y = NULL;
	atled_function *h = NULL;
	double r = 0;
	FINE(t, atled_eval(t->x, "grad(x -> x^3)", ATLED_ZERO, "service", &d));
	FINE(t, atled_eval(t->x, "(back = vjp(x -> x^2, 3.0), k = 1)", ATLED_ZERO, "service", &g));
	FINE(t, atled_compile(t->x, "cube(x) = x^3\nkept = 7.5", ATLED_ZERO, "program"));
	FINE(t, atled_lookup(t->x, "cube", "(f64) -> f64", &h));
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 20; i++) run(t, &kinds[i % 8], i);
		const uint64_t before = held(t);
		FINE(t, atled_context_compact(t->x));
		CHECK(held(t) < before);
		FINE(t, atled_value_call(t->x, d, 1, (const atled_value *[]){x}, &y));
		CHECK(atled_value_f64(y, &r) && near(r, 27, 1e-12));
		atled_value_free(y);
		CHECK(near(number(t, "cube(2.0) + kept"), 15.5, 1e-14));
		CHECK(near(number(t, "grad(cube)(2.0)"), 12, 1e-14));
		atled_tensor *in = scalar(t, 2), *out = NULL;
		FINE(t, atled_call(t->x, h, 1, &in, 1, &out));
		CHECK(near(element(out, 0), 8, 1e-14));
		atled_tensor_free(in);
		atled_tensor_free(out);
	}
	atled_function_free(h);
	atled_value_free(d);
	atled_value_free(g);
	atled_value_free(x);
	const Kind *k = &kinds[0];
	uint64_t least = 0;
	for (int round = 0; round < 30; round++) {
		for (int i = 0; i < 10; i++) run(t, k, i);
		FINE(t, atled_context_compact(t->x));
		if (round == 10) least = held(t);
	}
	CHECK(held(t) <= least);
}

/* The place of a definition is reported as long as the name is bound to it. */
static void tell_place(T *t) {
	number(t, "u = [1.0, 2, 3]; 1.0");
	for (int i = 0; i < 50; i++) number(t, i % 2 ? "w = [1.0, 2]; 1.0" : "1.0");
	if (!CHECK(atled_eval(t->x, "\n u + w", ATLED_ZERO, "late", NULL) == ATLED_ERROR)) return;
	const atled_error *e = atled_last_error(t->x);
	CHECK(e && e->line == 2 && !strcmp(e->file, "late"));
}

int main(void) {
	T own = {.x = atled_context_new(NULL)}, *t = &own;
	if (!CHECK(own.x)) return check_end();
	FINE(t, atled_compile(own.x, "f(x) = x^2 + 1\nv = [1.0, 2, 3, 4]", ATLED_ZERO, "program"));
	stays(t, "eval", evaluate);
	stays(t, "lambdas", map_lambda);
	for (int i = 0; i < CALLS; i += CALLS / 60) keep_lambda(t, i);
	keep_lambda(t, -1);
	stays(t, "an error", fail);
	stays(t, "value_call", call_value);
	stays(t, "set and get", set_and_get);
	stays(t, "lookup", look_up);
	stays(t, "derive, store, load", derive);
	tell_place(t);
	compact(t);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) kind_stays(t, &kinds[i]);
	for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++)
		definition_stays(t, &definitions[i]);
	atled_context_free(own.x);
	return check_end();
}
