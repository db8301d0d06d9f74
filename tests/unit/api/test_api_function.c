/* test_api_function.c - unit tests of the public interface: functions, their
 * types, derivatives and entries.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "api/api.h"
#include "tests/unit/api/help.h"

#include <time.h>

static void test_calls(T *t) {
	atled_function *f = NULL;
	FINE(t,
	     atled_compile(
			 t->x, "scale(v, a) = v * a\nboth(x) = (x + 1, x * [1.0, 2.0])\nrev(v) = v[.. by -1]",
			 ATLED_ZERO, NULL));
	FINE(t, atled_lookup(t->x, "scale", "(f64[n], f64) -> f64[n]", &f));
	CHECK(f && !strcmp(atled_function_type(f), "(f64[n], f64) -> f64[n]") &&
	      atled_function_inputs(f) == 2 && atled_function_outputs(f) == 1);
	atled_tensor *in[2] = {vector(t, 3, (double[]){1, 2, 3}), scalar(t, 10)},
				 *out[2] = {NULL, NULL};
	FINE(t, atled_call(t->x, f, 2, in, 1, out));
	CHECK(element(out[0], 0) == 10 && element(out[0], 2) == 30);
	/* Longer arguments need no new function. */
	atled_tensor *long_in[2] = {vector(t, 20, (double[20]){[19] = 4}), in[1]},
				 *long_out[1] = {NULL};
	FINE(t, atled_call(t->x, f, 2, long_in, 1, long_out));
	CHECK(element(long_out[0], 19) == 40);
	/* Invalid calls. */
	CHECK(atled_call(t->x, f, 1, in, 1, out) == ATLED_MISUSE);
	CHECK(atled_call(t->x, f, 2, (atled_tensor *[]){in[1], in[1]}, 1, long_out) != ATLED_OK);
	const atled_error *e = atled_last_error(t->x);
	CHECK(e && strstr(e->message, "f64[n]"));
	free_all(1, long_in);
	free_all(1, long_out);
	free_all(1, out);
	/* In place: into wrapped memory, also when it belongs to an argument. */
	double memory[3] = {1, 2, 3};
	int64_t three = 3;
	atled_tensor *place = NULL;
	FINE(t, atled_tensor_wrap(t->x, ATLED_F64, 1, &three, NULL, memory, ATLED_WRITABLE, NULL, NULL,
	                          &place));
	FINE(t, atled_call(t->x, f, 2, (atled_tensor *[]){place, in[1]}, 1, &place));
	CHECK(memory[0] == 10 && memory[1] == 20 && memory[2] == 30);
	atled_function_free(f);
	FINE(t, atled_lookup(t->x, "rev", "(f64[n])", &f));
	CHECK(f && !strcmp(atled_function_type(f), "(f64[n]) -> f64[n]"));
	FINE(t, atled_call(t->x, f, 1, &place, 1, &place));
	CHECK(memory[0] == 30 && memory[1] == 20 && memory[2] == 10);
	atled_tensor *readable = NULL;
	FINE(t, atled_tensor_wrap(t->x, ATLED_F64, 1, &three, NULL, memory, ATLED_READ_ONLY, NULL, NULL,
	                          &readable));
	CHECK(atled_call(t->x, f, 1, &place, 1, &readable) == ATLED_MISUSE && memory[0] == 30);
	atled_tensor *wrong = scalar(t, 0);
	CHECK(atled_call(t->x, f, 1, &place, 1, &wrong) == ATLED_MISUSE);
	atled_tensor *second = atled_tensor_copy(wrong);
	atled_tensor_free(second);
	atled_tensor_free(wrong);
	atled_tensor_free(readable);
	atled_tensor_free(place);
	atled_function_free(f);
	free_all(2, in);
	FINE(t, atled_lookup(t->x, "both", "(f64) -> (f64, f64[2])", &f));
	in[0] = scalar(t, 3);
	FINE(t, atled_call(t->x, f, 1, in, 2, out));
	CHECK(element(out[0], 0) == 4 && element(out[1], 1) == 6);
	atled_function *copy = atled_function_copy(f);
	CHECK(copy && !strcmp(atled_function_type(copy), atled_function_type(f)));
	atled_function_free(f);
	free_all(2, out);
	FINE(t, atled_call(t->x, copy, 1, in, 2, out));
	CHECK(element(out[0], 0) == 4);
	atled_function_free(copy);
	free_all(2, out);
	free_all(1, in);
}

static void test_types(T *t) {
	static const char *const bad[] = {"",
	                                  "f64",
	                                  "(f64",
	                                  "(f65)",
	                                  "(f64[",
	                                  "(f64[n)",
	                                  "(f64) ->",
	                                  "(f64) -> f64 more",
	                                  "(f64[n+1])",
	                                  "(f64[-1])",
	                                  "(f64[1,2,3,4,5,6,7,8,9])",
	                                  "(f64[99999999999999999999])",
	                                  "(f64,)",
	                                  "(f64[n][m])"};
	FINE(t, atled_compile(t->x,
	                      "id(x) = x\nmat(a, b) = a @ b\nannotated(w: f64[m, n], x: f64[n]) = w @ "
	                      "x\nnoisy() = rand()",
	                      ATLED_ZERO, NULL));
	atled_function *f = NULL;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		atled_status st = atled_lookup(t->x, "id", bad[i], &f);
		CHECK(st == ATLED_MISUSE && !f && atled_last_error(t->x));
		if (st != ATLED_MISUSE) printf("  \"%s\" gave %d\n", bad[i], (int)st);
	}
	CHECK(atled_lookup(t->x, "nobody", "()", &f) == ATLED_ERROR &&
	      !strcmp(atled_last_error(t->x)->code, "E0201"));
	CHECK(atled_lookup(t->x, "id", "(f64) -> f32", &f) == ATLED_ERROR);
	CHECK(strstr(atled_last_error(t->x)->message, "f64") &&
	      strstr(atled_last_error(t->x)->message, "f32"));
	CHECK(atled_lookup(t->x, "id", "(f64[3]) -> f64[4]", &f) == ATLED_ERROR);
	CHECK(atled_lookup(t->x, "id", "(f64) -> (f64, f64)", &f) == ATLED_ERROR);
	CHECK(atled_lookup(t->x, "mat", "(f64[2, 3], f64[4, 5])", &f) == ATLED_ERROR);
	CHECK(atled_lookup(t->x, "id", "(f64, f64)", &f) == ATLED_ERROR);
	CHECK(atled_lookup(t->x, "noisy", "()", &f) != ATLED_OK && atled_error_count(t->x) > 0);
	FINE(t, atled_lookup(t->x, "mat", "(f64[n, n + 1], f64[n + 1]) -> f64[n]", &f));
	atled_function_free(f);
	FINE(t, atled_lookup(t->x, "annotated", NULL, &f));
	CHECK(f && !strcmp(atled_function_type(f), "(f64[m, n], f64[n]) -> f64[m]"));
	Said said = {.n = 0};
	FINE(t, atled_ir(t->x, f, NULL, hear, &said));
	CHECK(strstr(said.text, "fn @") && strstr(said.text, "dot"));
	CHECK(atled_ir(t->x, f, "nowhere", hear, &said) == ATLED_MISUSE);
	atled_function_free(f);
	/* Stored as bytes and loaded in a context that has never seen the
	 * program. */
	Said stored = {.n = 0};
	FINE(t, atled_lookup(t->x, "annotated", NULL, &f));
	FINE(t, atled_store(t->x, f, hear, &stored));
	CHECK(stored.n > 100 && stored.n % 8 == 0 &&
	      !memcmp(stored.text,
	              "\x89"
	              "AIR",
	              4));
	atled_function_free(f);
	T fresh = {.x = atled_context_new(NULL)};
	const bool loaded =
		FINE(&fresh, atled_load(fresh.x, "annotated.air", stored.text, stored.n, NULL, &f));
	CHECK(f && fresh.x && loaded && strstr(atled_function_type(f), "f64["));
	atled_function_free(f);
	FINE(&fresh, atled_load(fresh.x, "annotated.air", stored.text, stored.n,
	                        "(f64[2, 2], f64[2]) -> f64[2]", &f));
	atled_function *jac = NULL;
	FINE(&fresh, atled_derive(fresh.x, f, "jacobian 1", &jac));
	atled_raw call = NULL;
	void *ud = NULL;
	double m[4] = {1, 2, 3, 4}, v[2] = {5, 6}, mv[2] = {0}, j[4] = {0};
	FINE(&fresh, atled_entry(fresh.x, f, &call, &ud));
	CHECK(call && call(ud, NULL, (const void *[]){m, v}, (void *[]){mv}) == ATLED_OK &&
	      mv[0] == 17 && mv[1] == 39);
	FINE(&fresh, atled_entry(fresh.x, jac, &call, &ud));
	CHECK(call && call(ud, NULL, (const void *[]){m, v}, (void *[]){j}) == ATLED_OK && j[0] == 1 &&
	      j[1] == 2 && j[2] == 3 && j[3] == 4);
	atled_function_free(jac);
	atled_function_free(f);
	CHECK(atled_load(fresh.x, "it.air", stored.text, stored.n, "(f64[2], f64[2])", &f) ==
	          ATLED_ERROR &&
	      !f);
	CHECK(atled_load(fresh.x, "it.air", stored.text, stored.n - 8, NULL, &f) == ATLED_ERROR &&
	      strstr(atled_last_error(fresh.x)->message, "it.air: byte 16: "));
	CHECK(atled_load(fresh.x, NULL, stored.text, stored.n, NULL, &f) == ATLED_MISUSE);
	atled_context_free(fresh.x);
	/* A result whose extent differs from the declared one. */
	FINE(t, atled_lookup(t->x, "id", "(f64[n]) -> f64[m]", &f));
	atled_function_free(f);
}

static double call1(T *t, const atled_function *f, int n, const double *args, int64_t at) {
	atled_tensor *in[4] = {NULL}, *out[1] = {NULL};
	for (int i = 0; i < n; i++) in[i] = scalar(t, args[i]);
	FINE(t, atled_call(t->x, f, (uint32_t)n, in, 1, out));
	double d = out[0] ? element(out[0], at) : NAN;
	free_all(n, in);
	free_all(1, out);
	return d;
}

static void test_derive(T *t) {
	atled_function *f = NULL, *g = NULL, *h = NULL;
	FINE(t, atled_compile(t->x,
	                      "p(x, y) = x^3 * sin(y)\nr(v) = sum(100(v[1..] - v[..-1]^2)^2 + (1 - "
	                      "v[..-1])^2)\nq(v) = v * v[0]",
	                      ATLED_ZERO, NULL));
	FINE(t, atled_lookup(t->x, "p", "(f64, f64) -> f64", &f));
	double xy[2] = {1.3, 0.7};
	FINE(t, atled_derive(t->x, f, "grad", &g));
	CHECK(near(call1(t, g, 2, xy, 0), 3 * 1.69 * sin(0.7), 1e-14));
	FINE(t, atled_derive(t->x, g, "grad 1", &h)); /* mixed second derivative */
	CHECK(near(call1(t, h, 2, xy, 0), 3 * 1.69 * cos(0.7), 1e-14));
	atled_function_free(h);
	atled_function_free(g);
	FINE(t, atled_derive(t->x, f, "jvp 1", &g));
	CHECK(g && !strcmp(atled_function_type(g), "(f64, f64, f64) -> (f64, f64)"));
	atled_tensor *in[3] = {scalar(t, 1.3), scalar(t, 0.7), scalar(t, 2)}, *out[2] = {NULL, NULL};
	FINE(t, atled_call(t->x, g, 3, in, 2, out));
	CHECK(near(element(out[0], 0), 2.197 * sin(0.7), 1e-14) &&
	      near(element(out[1], 0), 2 * 2.197 * cos(0.7), 1e-14));
	free_all(2, out);
	atled_function_free(g);
	FINE(t, atled_derive(t->x, f, "vjp 0", &g));
	FINE(t, atled_call(t->x, g, 3, in, 2, out));
	CHECK(near(element(out[1], 0), 2 * 3 * 1.69 * sin(0.7), 1e-14));
	free_all(2, out);
	free_all(3, in);
	atled_function_free(g);
	FINE(t, atled_derive(t->x, f, "map", &g));
	CHECK(g && !strcmp(atled_function_type(g), "(f64[batch], f64[batch]) -> f64[batch]"));
	in[0] = vector(t, 3, (double[]){1, 2, 3});
	in[1] = vector(t, 3, (double[]){0.1, 0.2, 0.3});
	FINE(t, atled_call(t->x, g, 2, in, 1, out));
	CHECK(near(element(out[0], 2), 27 * sin(0.3), 1e-14));
	free_all(1, out);
	free_all(2, in);
	atled_function_free(g);
	CHECK(atled_derive(t->x, f, "grad 2", &g) == ATLED_MISUSE && !g);
	CHECK(atled_derive(t->x, f, "grad x", &g) == ATLED_MISUSE &&
	      atled_derive(t->x, f, "gradient", &g) == ATLED_MISUSE);
	atled_function_free(f);
	FINE(t, atled_lookup(t->x, "r", "(f64[n]) -> f64", &f));
	FINE(t, atled_derive(t->x, f, "grad", &g));
	CHECK(g && !strcmp(atled_function_type(g), "(f64[n]) -> f64[n]"));
	in[0] = vector(t, 3, (double[]){1.2, 1, 0.9});
	FINE(t, atled_call(t->x, g, 1, in, 1, out));
	CHECK(near(element(out[0], 0), -400 * 1.2 * (1 - 1.44) - 2 * (1 - 1.2), 1e-12));
	free_all(1, out);
	atled_function_free(g);
	FINE(t, atled_derive(t->x, f, "hvp", &g));
	in[1] = vector(t, 3, (double[]){1, 0, 0});
	FINE(t, atled_call(t->x, g, 2, in, 1, out));
	CHECK(near(element(out[0], 0), 1200 * 1.44 - 400 * 1 + 2, 1e-12) &&
	      near(element(out[0], 1), -400 * 1.2, 1e-12));
	free_all(1, out);
	atled_function_free(g);
	FINE(t, atled_derive(t->x, f, "hessian", &g));
	FINE(t, atled_call(t->x, g, 1, in, 1, out));
	CHECK(near(element(out[0], 1), -400 * 1.2, 1e-12));
	free_all(1, out);
	free_all(2, in);
	atled_function_free(g);
	atled_function_free(f);
	FINE(t, atled_lookup(t->x, "q", "(f64[3])", &f));
	FINE(t, atled_derive(t->x, f, "jacobian", &g));
	in[0] = vector(t, 3, (double[]){2, 3, 4});
	FINE(t, atled_call(t->x, g, 1, in, 1, out));
	atled_array a = {.size = sizeof a};
	CHECK(atled_tensor_view(out[0], &a) == ATLED_OK && a.rank == 2);
	CHECK(a.rank == 2 && ((double *)a.data)[a.strides[0]] == 3 &&
	      ((double *)a.data)[a.strides[0] + a.strides[1]] == 2);
	CHECK(atled_derive(t->x, f, "grad", &h) == ATLED_ERROR && !h); /* not a real scalar */
	free_all(1, out);
	free_all(1, in);
	atled_function_free(g);
	atled_function_free(f);
}

/* ---- functions that outlive their names ---------------------------------- */

static double at2(T *t, const atled_function *f) { return call1(t, f, 1, (double[]){2}, 0); }

/* A handle of g, its derivatives and its stored form belong to the function
 * that it was made for, whatever the names are bound to since. */
static void test_bound_anew(T *unused) {
	const struct {
		const char *texts[2], *anew;
		double value, slope;
	} cases[] = {
		{{"p(x) = x^2", "g(a) = p(3a)"}, "p(x) = x", 36, 36},
		{{"p(x) = x^2", "g(a) = p(3a)"}, "p(x, y) = x", 36, 36},
		{{"p(x) = x^2", "g(a) = p(3a)"}, "p = 0; g = 0", 36, 36},
		{{"p(x) = x^2", "derivative p(x) = 7x; g(a) = p(3a)"}, "p(x) = x; g = 0", 36, 126},
		{{"p(x, f) = f(x)^2; derivative p(x, f), dx, df = 2f(x)*dx", "w(t) = 2t; g(a) = p(3a, w)"},
	     "p = 0; w = 0",
	     144,
	     72},
		{{"p(x, f) = f(x)^2; derivative p(x, f), dx, df = 2f(x)*dx", "g(a) = p(3a, t -> 2t + a)"},
	     "p = 0; g = 0",
	     196,
	     84},
		{{"w(a) = integrate(x -> a*x^2, 0.0, 1.0)", "g(a) = w(a)"}, "w = 0", 2.0 / 3, 1.0 / 3},
		{{"w(a) = root(x -> x^2 - a, 1.0)", "g(a) = w(a)"}, "w = 0", sqrt(2), sqrt(1.0 / 8)},
		{{"v(t, y) = -2y", "g(a) = ode(v, [a], (0, 1), rtol = 1e-12).y(1.0)[0]"},
	     "v = 0; g = 0",
	     2 * exp(-2),
	     exp(-2)},
	};
	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		T own = {.x = atled_context_new(NULL)}, *t = &own;
		atled_function *f[4] = {NULL};
		Bytes stored = {NULL, 0};
		for (int k = 0; k < 2; k++)
			FINE(t, atled_compile(t->x, cases[i].texts[k], ATLED_ZERO, "program"));
		FINE(t, atled_lookup(t->x, "g", "(f64) -> f64", &f[0]));
		FINE(t, atled_compile(t->x, cases[i].anew, ATLED_ZERO, "program"));
		for (int k = 0; k < 200; k++) number(t, k % 2 ? "k(x) = x + 1; k(2)" : "k(x) = x; k(1)");
		FINE(t, atled_context_compact(t->x));
		FINE(t, atled_derive(t->x, f[0], "grad", &f[1]));
		FINE(t, atled_store(t->x, f[0], keep_bytes, &stored));
		FINE(t, atled_load(t->x, "loaded", stored.at, stored.n, "(f64) -> f64", &f[2]));
		FINE(t, atled_derive(t->x, f[2], "grad", &f[3]));
		for (int k = 0; k < 4; k++) {
			const double want = k % 2 ? cases[i].slope : cases[i].value, got = at2(t, f[k]);
			if (!CHECK(near(got, want, 1e-9))) printf("  case %zu, %d: %.17g\n", i, k, got);
			atled_function_free(f[k]);
		}
		free(stored.at);
		atled_context_free(own.x);
	}
}

static void test_entry(T *t) {
	atled_function *f = NULL;
	atled_raw raw;
	void *ud;
	FINE(t, atled_compile(t->x, "g(v, a) = (sum(v) * a, v + a)\nself(v) = v", ATLED_ZERO, NULL));
	FINE(t, atled_lookup(t->x, "g", "(f64[n], f64)", &f));
	FINE(t, atled_entry(t->x, f, &raw, &ud));
	double v[5] = {1, 2, 3, 4, 5}, a = 2, s = 0;
	for (int64_t n = 1; n <= 5; n++) {
		double w[5] = {0};
		CHECK(raw(ud, &n, (const void *[]){v, &a}, (void *[]){&s, w}) == ATLED_OK);
		CHECK(s == (double)(n * (n + 1)) && w[n - 1] == (double)n + 2);
	}
	int64_t five = 5, bad = -1;
	CHECK(raw(ud, &five, (const void *[]){v, &a}, (void *[]){&s, v}) == ATLED_OK && v[0] == 3 &&
	      s == 30); /* over its argument */
	CHECK(raw(ud, &bad, (const void *[]){v, &a}, (void *[]){&s, v}) == ATLED_MISUSE);
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	int rounds = 100000;
	double w[5];
	for (int i = 0; i < rounds; i++) raw(ud, &five, (const void *[]){v, &a}, (void *[]){&s, w});
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("an entry takes %.0f ns\n",
	       ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	           rounds);
	atled_function_free(f);
	FINE(t, atled_lookup(t->x, "self", "(f64[n]) -> f64[n]", &f));
	FINE(t, atled_entry(t->x, f, &raw, &ud));
	CHECK(raw(ud, &five, (const void *[]){v}, (void *[]){w}) == ATLED_OK &&
	      !memcmp(v, w, sizeof v));
	atled_function_free(f);
}

/* The same with machine code, which an entry then calls without a frame: other
 * extents, results over arguments, failures. */
static void test_entry_machine_code(T *unused) {
	(void)unused;
	T fresh = {.x = atled_context_new(NULL)}, *t = &fresh;
	atled_function *f = NULL;
	atled_raw raw;
	void *ud;
	FINE(t, atled_machine(t->x, ATLED_MACHINE_ALWAYS));
	FINE(t, atled_compile(t->x,
	                      "g(v, a) = exp(0v)*a + v\npick(v, i) = v[i]*2 + 1\nproduct(a, b) = a @ b",
	                      ATLED_ZERO, NULL));
	FINE(t, atled_lookup(t->x, "g", "(f64[n], f64) -> f64[n]", &f));
	FINE(t, atled_entry(t->x, f, &raw, &ud));
	static const int64_t lengths[] = {5, 5, 5, 3, 3, 0, 0, 5, 5, 1, 5};
	double v[5] = {1, 2, 3, 4, 5}, w[5];
	for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		const double a = (double)k;
		memset(w, 0, sizeof w);
		CHECK(raw(ud, &lengths[k], (const void *[]){v, &a}, (void *[]){w}) == ATLED_OK);
		for (int64_t i = 0; i < 5; i++) CHECK(w[i] == (i < lengths[k] ? v[i] + a : 0));
	}
	const double one = 1;
	const int64_t five = 5, two = 2, bad = -1;
	for (int k = 0; k < 3; k++)
		CHECK(raw(ud, &five, (const void *[]){v, &one}, (void *[]){v}) == ATLED_OK &&
		      v[0] == 2 + k && v[4] == 6 + k);
	CHECK(raw(ud, &bad, (const void *[]){v, &one}, (void *[]){w}) == ATLED_MISUSE);
	CHECK(raw(ud, &two, (const void *[]){v + 1, &one}, (void *[]){w}) == ATLED_OK && w[0] == 6 &&
	      w[1] == 7);
	atled_function_free(f);
	FINE(t, atled_lookup(t->x, "pick", "(f64[n], i64) -> f64", &f));
	FINE(t, atled_entry(t->x, f, &raw, &ud));
	for (int64_t i = 0; i < 7; i++) {
		double x = 0;
		const atled_status st = raw(ud, &five, (const void *[]){v, &i}, (void *[]){&x});
		CHECK(i < 5 ? st == ATLED_OK && x == 2 * v[i] + 1
		            : st == ATLED_ERROR && strstr(atled_last_error(t->x)->message, "5"));
	}
	atled_function_free(f);
	/* The same number of elements in another shape. */
	FINE(t, atled_lookup(t->x, "product", "(f64[m, k], f64[k, n]) -> f64[m, n]", &f));
	FINE(t, atled_entry(t->x, f, &raw, &ud));
	const double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 2, 1, 0, 3};
	for (int k = 0; k < 6; k++) {
		double c[9] = {0};
		const bool wide = k / 2 % 2;
		CHECK(raw(ud, wide ? (int64_t[]){3, 2, 3} : (int64_t[]){2, 3, 2}, (const void *[]){a, b},
		          (void *[]){c}) == ATLED_OK);
		CHECK(wide ? c[0] == 3 && c[2] == 8 && c[8] == 28
		           : c[0] == 5 && c[1] == 11 && c[2] == 14 && c[3] == 23);
	}
	atled_function_free(f);
	atled_context_free(fresh.x);
}

/* ---- interrupts of what a handle needs ----------------------------------- */

/* Looks a function up, derives it, enters and calls it. */
static atled_status use_handle(atled_context *x, double *y) {
	atled_function *f = NULL, *g = NULL;
	atled_tensor *in = NULL, *out = NULL;
	atled_raw raw = NULL;
	void *ud = NULL;
	double two = 2;
	atled_array a = {.size = sizeof a};
	atled_status st = atled_compile(x, "cube(x) = x^3 + 2*x", ATLED_ZERO, NULL);
	if (st == ATLED_OK) st = atled_lookup(x, "cube", "(f64) -> f64", &f);
	if (st == ATLED_OK) st = atled_derive(x, f, "grad", &g);
	if (st == ATLED_OK) st = atled_entry(x, g, &raw, &ud);
	if (st == ATLED_OK) st = raw(ud, NULL, (const void *[]){&two}, (void *[]){&y[0]});
	if (st == ATLED_OK)
		st = atled_tensor_wrap(x, ATLED_F64, 0, NULL, NULL, &two, ATLED_READ_ONLY, NULL, NULL, &in);
	if (st == ATLED_OK) st = atled_call(x, f, 1, &in, 1, &out);
	if (st == ATLED_OK && atled_tensor_view(out, &a) == ATLED_OK) y[1] = *(const double *)a.data;
	atled_tensor_free(in);
	atled_tensor_free(out);
	atled_function_free(g);
	atled_function_free(f);
	return st;
}

/* At whichever poll the interrupt comes, the status says so. */
static void test_interrupted_handles(T *unused) {
	(void)unused;
	uint64_t most = 1000000, n = 1;
	bool through = false;
	for (; n < most && !through; n++) {
		atled_context *x = atled_context_new(NULL);
		if (!CHECK(x)) return;
		double y[2] = {NAN, NAN};
		ctx_interrupt_at_poll(x->c, n);
		const atled_status st = use_handle(x, y);
		through = ctx_interrupt_at_poll(x->c, 0);
		if (through) CHECK(st == ATLED_OK && y[0] == 14 && y[1] == 12);
		else CHECK_MSG(st == ATLED_INTERRUPTED, "poll %llu: status %d", (unsigned long long)n, st);
		double again[2] = {NAN, NAN};
		CHECK(use_handle(x, again) == ATLED_OK && again[0] == 14 && again[1] == 12);
		atled_context_free(x);
	}
	CHECK(through && n > 3);
}

int main(void) {
	T t = {.x = atled_context_new(NULL)};
	if (!t.x) return 1;
	static const TestCase tests[] = {
		{"calls", test_calls},
		{"types", test_types},
		{"derive", test_derive},
		{"names bound anew", test_bound_anew},
		{"interrupted handles", test_interrupted_handles},
		{"entry", test_entry},
		{"entry, machine code", test_entry_machine_code},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	atled_context_free(t.x);
	return check_end();
}
