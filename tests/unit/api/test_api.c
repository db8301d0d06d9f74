/* test_api.c - unit tests of the public interface.
 *
 * Covers lifetimes, programs, functions, derivatives, callbacks, tensors,
 * limits, errors, threads and allocation failure.
 *
 * Needs: atled.h only.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "atled.h"
#include "tests/unit/support/check.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct T { /* the state of a test */
	atled_context *x;
} T;

static void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

static bool fine_at(T *t, atled_status st, const char *what, int line) {
	if (check_msg_at(st == ATLED_OK, what, __FILE__, line, "status %d", (int)st)) return true;
	for (size_t i = 0; i < atled_error_count(t->x); i++)
		atled_error_write(t->x, i, ATLED_ERROR_TEXT, to_stdout, NULL);
	return false;
}
#define FINE(t, x) fine_at((t), (x), #x, __LINE__)

typedef struct Said {
	char text[4096];
	size_t n;
} Said;

static void hear(void *ud, const char *text, size_t n) {
	Said *s = ud;
	if (n > sizeof s->text - 1 - s->n) n = sizeof s->text - 1 - s->n;
	memcpy(s->text + s->n, text, n);
	s->n += n;
	s->text[s->n] = 0;
}

static bool near(double x, double y, double tol) { return fabs(x - y) <= tol * fmax(1, fabs(y)); }

static double number(T *t, const char *text) {
	atled_value *v = NULL;
	double d = NAN;
	FINE(t, atled_eval(t->x, text, ATLED_ZERO, "test", &v));
	if (v && !atled_value_f64(v, &d)) d = NAN;
	atled_value_free(v);
	return d;
}

static atled_tensor *scalar(T *t, double d) {
	atled_tensor *s = NULL;
	atled_array a = {.size = sizeof a};
	if (atled_tensor_new(t->x, ATLED_F64, 0, NULL, &s) != ATLED_OK ||
	    atled_tensor_view(s, &a) != ATLED_OK)
		return NULL;
	*(double *)a.data = d;
	return s;
}

static atled_tensor *vector(T *t, int64_t n, const double *from) {
	atled_tensor *s = NULL;
	atled_array a = {.size = sizeof a};
	if (atled_tensor_new(t->x, ATLED_F64, 1, &n, &s) != ATLED_OK ||
	    atled_tensor_view(s, &a) != ATLED_OK)
		return NULL;
	memcpy(a.data, from, (size_t)n * sizeof *from);
	return s;
}

static double element(const atled_tensor *s, int64_t i) {
	atled_array a = {.size = sizeof a};
	if (atled_tensor_view(s, &a) != ATLED_OK) return NAN;
	return ((double *)a.data)[a.rank ? i * a.strides[a.rank - 1] : 0];
}

static void free_all(int n, atled_tensor **s) {
	for (int i = 0; i < n; i++) {
		atled_tensor_free(s[i]);
		s[i] = NULL;
	}
}

/* ---- lifetimes and programs ---------------------------------------------- */

static void test_life(T *t) {
	CHECK(atled_version() == ATLED_VERSION);
	atled_engine_config config = {.size = sizeof config, .threads = 2};
	atled_engine *e = atled_engine_new(&config);
	atled_context *a = atled_context_new(e), *b = atled_context_new(e);
	atled_engine_free(e); /* the contexts keep it alive */
	CHECK(a && b);
	CHECK(atled_compile(a, "x = 1", ATLED_ZERO, "a") == ATLED_OK);
	CHECK(atled_compile(b, "x = 2", ATLED_ZERO, "b") == ATLED_OK);
	atled_value *v = NULL, *w = NULL;
	int64_t i = 0;
	CHECK(atled_get(a, "x", &v) == ATLED_OK && atled_value_i64(v, &i) && i == 1);
	CHECK(atled_get(a, "nowhere", &w) == ATLED_ERROR && !w);
	atled_tensor *s = atled_value_tensor(v);
	atled_function *f = NULL;
	CHECK(atled_compile(a, "f(x) = x + 1", ATLED_ZERO, "a") == ATLED_OK &&
	      atled_lookup(a, "f", "(f64) -> f64", &f) == ATLED_OK);
	atled_context_free(a);
	CHECK(atled_value_kind(v) == ATLED_NONE); /* handles outlive their context */
	CHECK(!strcmp(atled_function_type(f), "(f64) -> f64"));
	atled_tensor *out = NULL;
	CHECK(atled_call(b, f, 1, &s, 1, &out) == ATLED_MISUSE && !out);
	atled_array view = {.size = sizeof view};
	CHECK(atled_tensor_view(s, &view) == ATLED_OK && view.count == 1 && *(int64_t *)view.data == 1);
	atled_tensor_free(s);
	atled_value_free(v);
	atled_function_free(f);
	atled_context_free(b);
	atled_context_free(NULL);
	atled_engine_free(NULL);
	atled_value_free(NULL);
	atled_function_free(NULL);
	atled_tensor_free(NULL);
	CHECK(atled_compile(NULL, "", 0, NULL) == ATLED_MISUSE &&
	      atled_compile(t->x, NULL, 0, NULL) == ATLED_MISUSE);
}

static void count_results(void *ud, const atled_value *v, uint32_t line) {
	int *n = ud;
	(void)v;
	*n = *n * 10 + (int)line;
}

typedef struct Profiled {
	uint64_t calls;
	bool placed;
} Profiled;

static void note_figure(void *ud, const char *function, const char *place, uint64_t calls,
                        double seconds) {
	Profiled *p = ud;
	p->calls += calls;
	p->placed |= !strcmp(function, "sines") && !strcmp(place, "here.dsl:2") && calls && seconds > 0;
}

/* Settings and counters of machine code. Where machine code is unavailable, the
 * counters are zero. */
static void machine_code(T *t) {
	Said said = {.n = 0};
	Profiled profile = {0};
	atled_stat before = {.size = sizeof before}, after = {.size = sizeof after};
	FINE(t, atled_machine(t->x, ATLED_MACHINE_ALWAYS));
	FINE(t, atled_profile(t->x));
	FINE(t, atled_dump(t->x, "kir", hear, &said));
	FINE(t, atled_stats(t->x, &before));
	FINE(t, atled_eval(t->x, "\nsines(x) = sum(sin(x) * x)\nsines(ones(50)) + sines(ones(60))",
	                   ATLED_ZERO, "here.dsl", NULL));
	FINE(t, atled_stats(t->x, &after));
	FINE(t, atled_profile_read(t->x, note_figure, &profile));
	const bool native = after.native_calls > before.native_calls;
	CHECK(native == (after.native_units > before.native_units) && native == (profile.calls > 0));
	CHECK(!native ||
	      (after.units_compiled + after.units_found > before.units_compiled + before.units_found &&
	       said.n > 0));
	CHECK(after.compile_seconds >= before.compile_seconds);
	FINE(t, atled_dump(t->x, "kir", NULL, NULL));
	FINE(t, atled_machine(t->x, ATLED_MACHINE_NEVER));
	FINE(t, atled_stats(t->x, &before));
	FINE(t, atled_eval(t->x, "sum(sin(ones(70)))", ATLED_ZERO, NULL, NULL));
	FINE(t, atled_stats(t->x, &after));
	CHECK(after.native_calls == before.native_calls);
	FINE(t, atled_machine(t->x, ATLED_MACHINE_WHEN_WORTH));
	CHECK(atled_machine(t->x, (atled_machine_mode)7) == ATLED_MISUSE);
	CHECK(atled_dump(t->x, "llvm", hear, &said) == ATLED_MISUSE);
	CHECK(atled_profile_read(t->x, NULL, NULL) == ATLED_MISUSE);
}

static void test_programs(T *t) {
	int shown = 0;
	CHECK(number(t, "x = 2.5; x^2") == 6.25);
	FINE(t, atled_run(t->x, "1\n2;\n3\ny = 4\n", ATLED_ZERO, NULL, count_results, &shown));
	CHECK(shown == 13);
	FINE(t, atled_run(t->x, "7 and text that is not read", 1, NULL, NULL, NULL));
	/* A failed statement changes nothing; earlier ones keep their effect. */
	CHECK(atled_compile(t->x, "y = 5\nx = x + [1, 2] + [1, 2, 3]", ATLED_ZERO, NULL) ==
	      ATLED_ERROR);
	CHECK(number(t, "10 * y + x") == 52.5);
	CHECK(atled_check(t->x, "a = 1 + 2\nnope(3)", ATLED_ZERO, "c") == ATLED_ERROR);
	CHECK(atled_check(t->x, "a = 1 + 2", ATLED_ZERO, "c") == ATLED_OK);
	CHECK(atled_incomplete("f(x) = {", ATLED_ZERO) && !atled_incomplete("f(x) = {}", ATLED_ZERO) &&
	      atled_incomplete("[1,", 3));
	FINE(t, atled_seed(t->x, 7));
	double a = number(t, "rand()"), b = number(t, "rand()");
	FINE(t, atled_seed(t->x, 7));
	CHECK(number(t, "rand()") == a && a != b);
	Said said = {.n = 0};
	FINE(t, atled_type(t->x, "[1.0, 2.0] * 3", ATLED_ZERO, hear, &said));
	CHECK(!strncmp(said.text, "f64[2]", 6));
	said.n = 0;
	FINE(t, atled_help(t->x, "sin", 0, hear, &said));
	CHECK(strstr(said.text, "sine"));
	CHECK(atled_help(t->x, "sinn", 0, hear, &said) == ATLED_ERROR);
	said.n = 0;
	FINE(t, atled_compile(t->x, "# twice(x): double\ntwice(x) = x + x", ATLED_ZERO, NULL));
	FINE(t, atled_help(t->x, "twice", 1, hear, &said));
	CHECK(strstr(said.text, "x + x"));
	atled_stat stat = {.size = sizeof stat};
	FINE(t, atled_stats(t->x, &stat));
	CHECK(stat.memory > 0 && stat.memory_peak >= stat.memory && stat.allocations > 0 &&
	      stat.calls > 0);
	CHECK(stat.run_seconds > 0 && stat.run_seconds >= stat.compile_seconds);
	machine_code(t);
	const char *code, *title;
	CHECK(atled_error_kind(0, &code, &title) && code[0] == 'E' && *title &&
	      !atled_error_kind(100000, &code, &title));
	CHECK(atled_keyword(0) && !atled_keyword(10000));
}

static void note_token(void *ud, atled_token kind, size_t start, size_t end) {
	char *out = ud;
	out[strlen(out)] = "_#9\"nko[!"[kind];
	(void)start;
	(void)end;
}

static void note_name(void *ud, const char *name, const atled_value *v) {
	int *found = ud;
	if (!strcmp(name, "mine") && v && atled_value_kind(v) == ATLED_ARRAY) *found += 1;
	if (!strcmp(name, "sin") && !v) *found += 10;
}

static void test_looking(T *t) {
	char kinds[64] = "";
	atled_tokens("if x1 { 2 } # c", ATLED_ZERO, note_token, kinds);
	CHECK(!strcmp(kinds, "k_n_[_9_[_#"));
	int found = 0;
	FINE(t, atled_compile(t->x, "mine = 3", ATLED_ZERO, NULL));
	FINE(t, atled_variables(t->x, note_name, &found));
	FINE(t, atled_library_names(t->x, note_name, &found));
	CHECK(found == 11);
}

/* ---- errors -------------------------------------------------------------- */

static void test_errors(T *t) {
	CHECK(atled_compile(t->x, "a = [1, 2, 3]\nb = [1, 2, 3, 4]\na + b", ATLED_ZERO, "shapes.dsl") ==
	      ATLED_ERROR);
	const atled_error *e = atled_last_error(t->x);
	CHECK(e && !strcmp(e->code, "E0302") && !strcmp(e->file, "shapes.dsl") && e->line == 3 &&
	      e->column == 1);
	CHECK(e && e->end_line == 3 && e->end_column == 6 && strstr(e->message, "i64[3]") &&
	      strstr(e->message, "i64[4]"));
	CHECK(e && e->status == ATLED_ERROR && !e->warning && *e->title);
	Said said = {.n = 0};
	CHECK(atled_error_write(t->x, 0, ATLED_ERROR_TEXT, hear, &said) == ATLED_OK);
	CHECK(strstr(said.text, "shapes.dsl:3:1") && strstr(said.text, "^^^^^"));
	said.n = 0;
	CHECK(atled_error_write(t->x, 0, ATLED_ERROR_JSON, hear, &said) == ATLED_OK);
	CHECK(said.text[0] == '{' && strstr(said.text, "\"code\":\"E0302\"") &&
	      said.text[said.n - 1] == '\n');
	atled_error small = {.size = offsetof(atled_error, code)};
	CHECK(atled_error_at(t->x, 0, &small) == ATLED_OK && !small.code &&
	      small.status == ATLED_ERROR);
	CHECK(atled_error_at(t->x, 99, &small) == ATLED_MISUSE &&
	      atled_error_write(t->x, 99, 0, hear, &said) == ATLED_MISUSE);
	FINE(t, atled_compile(t->x, "1", ATLED_ZERO, NULL));
	CHECK(!atled_last_error(t->x) && atled_error_count(t->x) == 0);
	CHECK(atled_compile(t->x, "(1\n[2", ATLED_ZERO, NULL) == ATLED_ERROR &&
	      atled_error_count(t->x) >= 1);
	CHECK(atled_compile(t->x, "error(\"so it is\")", ATLED_ZERO, NULL) == ATLED_ERROR);
	CHECK((e = atled_last_error(t->x)) && !strcmp(e->code, "E0604") &&
	      strstr(e->message, "so it is"));
}

/* ---- functions ----------------------------------------------------------- */

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
	const char *before = getenv("ATLED_NATIVE");
	char kept[32];
	snprintf(kept, sizeof kept, "%s", before ? before : "");
	setenv("ATLED_NATIVE", "always", 1);
	T fresh = {.x = atled_context_new(NULL)}, *t = &fresh;
	atled_function *f = NULL;
	atled_raw raw;
	void *ud;
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
	if (before) setenv("ATLED_NATIVE", kept, 1);
	else unsetenv("ATLED_NATIVE");
}

/* ---- host functions ------------------------------------------------------ */

/* y[i] = x[i]^2 * a */
static int square_value(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	const double *x = in[0].data, a = *(double *)in[1].data;
	(void)ctx;
	++*(int *)ud;
	for (int64_t i = 0; i < in[0].count; i++) ((double *)out[0].data)[i] = x[i] * x[i] * a;
	return 0;
}

static int square_jvp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                      const atled_array *dx, atled_array *out) {
	const double *x = in[0].data, a = *(double *)in[1].data, *d = dx[0].data,
				 da = *(double *)dx[1].data;
	(void)ctx;
	(void)ud;
	(void)y;
	for (int64_t i = 0; i < in[0].count; i++)
		((double *)out[0].data)[i] = 2 * x[i] * d[i] * a + x[i] * x[i] * da;
	return 0;
}

static int square_vjp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                      const atled_array *w, atled_array *out) {
	const double *x = in[0].data, a = *(double *)in[1].data, *c = w[0].data;
	(void)ctx;
	(void)ud;
	(void)y;
	if (out[0].data)
		for (int64_t i = 0; i < in[0].count; i++) ((double *)out[0].data)[i] = 2 * x[i] * a * c[i];
	if (out[1].data)
		for (int64_t i = 0; i < in[0].count; i++) *(double *)out[1].data += x[i] * x[i] * c[i];
	return 0;
}

static int failing(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	(void)ud;
	(void)out;
	if (*(double *)in[0].data > 0) {
		atled_value *v = NULL;
		if (atled_eval(ctx, "1", 1, NULL, &v) != ATLED_BUSY)
			atled_raise(ctx, "the context could be entered twice");
		else atled_raise(ctx, "the pump is off");
	}
	return 1;
}

static int freed;
static void count_free(void *ud) {
	(void)ud;
	freed++;
}

static atled_status define(T *t, const char *name, bool jvp, bool vjp, int *calls) {
	atled_host h = {.size = sizeof h,
	                .name = name,
	                .type = "(f64[n], f64) -> f64[n]",
	                .ud = calls,
	                .value = square_value};
	if (jvp) h.jvp = square_jvp;
	if (vjp) h.vjp = square_vjp;
	return atled_define_host(t->x, &h);
}

static void test_host(T *t) {
	int calls = 0;
	FINE(t, define(t, "sq", true, true, &calls));
	FINE(t, define(t, "sqj", true, false, &calls));
	FINE(t, define(t, "sqv", false, true, &calls));
	FINE(t, define(t, "sq0", false, false, &calls));
	CHECK(number(t, "sum(sq([1.0, 2, 3], 2.0))") == 28 && calls > 0);
	CHECK(number(t, "sum(sq([1, 2, 3], 2))") == 28); /* integers are converted to reals */
	CHECK(number(t, "jvp(x -> sq(x, 2.0), [1.0, 2.0], [1.0, 0.5])[1][1]") == 4);
	CHECK(number(t, "grad(x -> sum(sq(x, 3.0)))([1.0, 2.0])[1]") == 12);
	CHECK(number(t, "grad(a -> sum(sq([1.0, 2.0], a)))(3.0)") == 5);
	CHECK(fabs(number(t, "grad(x -> sum(sq(sin(x), 3.0)))([0.5])[0]") - 6 * sin(0.5) * cos(0.5)) <
	      1e-15);
	CHECK(number(t, "sum(map(x -> sq([x, 1.0], 1.0), [1.0, 2.0, 3.0]))") == 17);
	CHECK(number(t, "jvp(x -> sqj(x, 2.0), [1.0, 2.0], [1.0, 0.5])[1][1]") == 4);
	CHECK(number(t, "grad(x -> sum(sqv(x, 3.0)))([1.0, 2.0])[1]") == 12);
	static const char *const missing[] = {
		"grad(x -> sum(sqj(x, 3.0)))([1.0, 2.0])", "jvp(x -> sqv(x, 2.0), [1.0], [1.0])",
		"grad(x -> sum(sq0(x, 3.0)))([1.0])", "jvp(x -> sq0(x, 2.0), [1.0], [1.0])",
		"grad(y -> grad(x -> sum(sq([x], 3.0)))(y))(1.0)"};
	static const char *const named[] = {"sqj", "sqv", "sq0", "sq0", "sq"};
	for (size_t i = 0; i < 5; i++) {
		CHECK(atled_compile(t->x, missing[i], ATLED_ZERO, NULL) == ATLED_ERROR);
		const atled_error *e = atled_last_error(t->x);
		CHECK(e && !strcmp(e->code, "E0401") && strstr(e->message, named[i]));
		if (e && strcmp(e->code, "E0401")) printf("  %s: %s\n", missing[i], e->message);
	}
	/* Derivatives through the interface. */
	atled_function *f = NULL, *g = NULL;
	FINE(t, atled_compile(t->x, "through(x) = sum(sq(x, 0.5)) + 1", ATLED_ZERO, NULL));
	FINE(t, atled_lookup(t->x, "through", "(f64[n]) -> f64", &f));
	FINE(t, atled_derive(t->x, f, "grad 0", &g));
	atled_tensor *in[1] = {vector(t, 2, (double[]){3, 4})}, *out[1] = {NULL};
	FINE(t, atled_call(t->x, g, 1, in, 1, out));
	CHECK(element(out[0], 0) == 3 && element(out[0], 1) == 4);
	free_all(1, out);
	free_all(1, in);
	atled_function_free(g);
	atled_function_free(f);
	/* Invalid definitions and uses. */
	atled_host bad = {
		.size = sizeof bad, .name = "bad", .type = "(f64[n]) -> f64[m]", .value = square_value};
	CHECK(atled_define_host(t->x, &bad) == ATLED_MISUSE);
	bad.type = "(f64)";
	CHECK(atled_define_host(t->x, &bad) == ATLED_MISUSE);
	bad.type = "(f64) -> f64";
	bad.name = "not a name";
	CHECK(atled_define_host(t->x, &bad) == ATLED_MISUSE);
	CHECK(atled_compile(t->x, "sq([1.0])", ATLED_ZERO, NULL) == ATLED_ERROR &&
	      !strcmp(atled_last_error(t->x)->code, "E0202"));
	CHECK(atled_compile(t->x, "sq(1.0, 2.0)", ATLED_ZERO, NULL) == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "f64[n]"));
	bad = (atled_host){.size = sizeof bad,
	                   .name = "fails",
	                   .type = "(f64) -> f64",
	                   .value = failing,
	                   .free_ud = count_free};
	FINE(t, atled_define_host(t->x, &bad));
	CHECK(atled_compile(t->x, "fails(1.0)", ATLED_ZERO, "f") == ATLED_ERROR);
	CHECK(strstr(atled_last_error(t->x)->message, "the pump is off") &&
	      atled_last_error(t->x)->line == 1);
	CHECK(atled_compile(t->x, "fails(-1.0)", ATLED_ZERO, NULL) == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "fails"));
	CHECK(number(t, "try { fails(1.0) } catch e { 7.0 }") == 7 && !atled_last_error(t->x));
}

/* c x^p, element-wise. */
typedef struct Power {
	double c;
	int p;
} Power;
static int power_value(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	const Power *f = ud;
	(void)ctx;
	for (int64_t i = 0; i < in[0].count; i++)
		((double *)out[0].data)[i] = f->c * pow(((const double *)in[0].data)[i], f->p);
	return 0;
}
static int power_jvp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                     const atled_array *dx, atled_array *out) {
	const Power *f = ud;
	(void)ctx, (void)y;
	for (int64_t i = 0; i < in[0].count; i++)
		((double *)out[0].data)[i] = f->p * f->c * pow(((const double *)in[0].data)[i], f->p - 1) *
		                             ((const double *)dx[0].data)[i];
	return 0;
}
static int power_vjp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                     const atled_array *w, atled_array *out) {
	return power_jvp(ud, ctx, in, y, w, out);
}
/* Wrong in the last element. */
static int wrong_jvp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                     const atled_array *dx, atled_array *out) {
	power_jvp(ud, ctx, in, y, dx, out);
	((double *)out[0].data)[in[0].count - 1] *= 1.5;
	return 0;
}

static atled_status define_power(T *t, const char *name, Power *f, bool jvp, bool vjp, bool wrong) {
	atled_host h = {.size = sizeof h,
	                .name = name,
	                .type = "(f64[n]) -> f64[n]",
	                .ud = f,
	                .value = power_value};
	if (jvp) h.jvp = wrong ? wrong_jvp : power_jvp;
	if (vjp) h.vjp = wrong ? wrong_jvp : power_vjp;
	return atled_define_host(t->x, &h);
}

static bool gives_error(T *t, const char *text, const char *code, const char *part) {
	if (atled_compile(t->x, text, ATLED_ZERO, "rules.dsl") != ATLED_ERROR) return false;
	const atled_error *e = atled_last_error(t->x);
	bool good = e && !strcmp(e->code, code) && strstr(e->message, part);
	if (!good && e) printf("  %s: %s %s\n", text, e->code, e->message);
	return good;
}

/* Rules that the program defines for host functions, in terms of other host
 * functions. */
static void test_host_rules(T *t) {
	static Power cube = {1, 3}, slope = {3, 2}, curve = {6, 1};
	FINE(t, define_power(t, "cube", &cube, false, false, false));
	FINE(t, define_power(t, "cube_slope", &slope, false, false, false));
	FINE(t, define_power(t, "cube_curve", &curve, true, true, false));
	CHECK(gives_error(t, "grad(x -> sum(cube(x)))([2.0])", "E0401", "cube"));
	FINE(t, atled_compile(t->x,
	                      "derivative cube(x) = cube_slope(x)\nderivative cube_slope(x), dx = dx * "
	                      "cube_curve(x)\n",
	                      ATLED_ZERO, NULL));
	CHECK(number(t, "sum(cube([1.0, 2]))") == 9);
	CHECK(number(t, "jvp(cube, [1.0, 2], [1.0, 10])[1][1]") == 120);
	CHECK(number(t, "grad(x -> sum(cube(x)))([1.0, 2])[1]") == 12);
	CHECK(number(t, "hessian(x -> sum(cube(x)))([1.0, 2])[1, 1]") == 12);
	CHECK(number(t, "hessian(x -> sum(cube(x)))([1.0, 2])[0, 1]") == 0);
	CHECK(number(t, "hvp(x -> sum(cube(2x)), [1.0, 2], [0.0, 1])[1]") == 96);
	/* The third derivative uses the host's own rule of cube_curve; the fourth
	 * has no rule. */
	CHECK(number(t, "grad(y -> hessian(x -> sum(cube(x)))(y)[0, 0])([2.0])[0]") == 6);
	CHECK(gives_error(t, "grad(z -> grad(y -> hessian(x -> sum(cube(x)))(y)[0, 0])(z)[0])([2.0])",
	                  "E0401", "cube_curve"));
	CHECK(number(t, "sum(map(x -> cube(x), [1.0, 2; 3, 4]))") == 100);
	CHECK(number(t, "map(grad(x -> sum(cube(x))), [1.0, 2; 3, 4])[1, 0]") == 27);
	CHECK(number(t, "map(x -> hessian(y -> sum(cube(y)))(x), [1.0, 2; 3, 4])[1, 0, 0]") == 18);
	CHECK(number(t, "grad(x -> sum(map(y -> sum(cube(y)), x)))([1.0, 2; 3, 4])[1, 1]") == 48);
	CHECK(number(t, "taylor(x -> sum(cube([x])), 2.0, 3)[2]") == 6);
	CHECK(gives_error(t, "derivative cube(x, k) = k", "E0404", "cube"));
	/* A new function of the same name has no rule. */
	FINE(t, define_power(t, "cube", &cube, false, false, false));
	CHECK(gives_error(t, "grad(x -> sum(cube(x)))([2.0])", "E0401", "cube"));
}

static void test_rule_checks(T *t) {
	static Power cube = {1, 3}, slope = {3, 2};
	CHECK(atled_check_rules(t->x, (atled_rule_check)7) == ATLED_MISUSE);
	FINE(t, define_power(t, "wrong", &cube, true, false, true));
	FINE(t, define_power(t, "wrong_back", &cube, false, true, true));
	FINE(t, define_power(t, "right", &cube, true, true, false));
	FINE(t, define_power(t, "cube", &cube, false, false, false));
	FINE(t, define_power(t, "cube_slope", &slope, false, false, false));
	CHECK(number(t, "sum(wrong([1.0, 2]))") == 9); /* not checked yet */
	FINE(t, atled_check_rules(t->x, ATLED_RULES_FAIL));
	CHECK(number(t, "sum(right([1.0, 2]))") == 9);
	CHECK(number(t, "grad(x -> sum(right(x)))([1.0, 2])[1]") == 12);
	CHECK(number(t, "sum(map(x -> sum(right(x)), [1.0, 2; 3, 4]))") == 100);
	for (int again = 0; again < 2; again++)
		CHECK(gives_error(t, "wrong([1.0, 2])", "E0405", "the jvp of `wrong`"));
	const atled_error *told = atled_last_error(t->x);
	CHECK(told && strstr(told->message, "of y[1] by argument 0[1]") && told->line == 1);
	CHECK(gives_error(t, "sum(wrong_back(linspace(1.0, 2, 50)))", "E0405",
	                  "the vjp of `wrong_back`"));
	CHECK(gives_error(t, "map(x -> grad(y -> sum(wrong_back(y)))(x), [1.0, 2; 3, 4])", "E0405",
	                  "wrong_back"));
	FINE(t, atled_compile(t->x, "derivative cube(x) = 2 * cube_slope(x)", ATLED_ZERO, "rules.dsl"));
	CHECK(gives_error(t, "grad(x -> sum(cube(x)))([1.0, 2])", "E0405",
	                  "the derivative rule of `cube`"));
	CHECK(number(t, "try { sum(cube([1.0])) } catch e { 7.0 }") == 7);
	FINE(t, atled_compile(t->x, "derivative cube(x) = cube_slope(x)", ATLED_ZERO, NULL));
	CHECK(number(t, "grad(x -> sum(cube(x)))([1.0, 2])[1]") == 12);
	/* A warning. */
	FINE(t, atled_check_rules(t->x, ATLED_RULES_WARN));
	FINE(t, atled_compile(t->x, "half(x) = x^2\nderivative half(x) = x\n", ATLED_ZERO, NULL));
	CHECK(number(t, "half'(3.0)") == 3);
	FINE(t, atled_compile(t->x, "half(x) = x^2\nderivative half(x) = x\nz = half'(3.0)", ATLED_ZERO,
	                      NULL));
	atled_error e = {.size = sizeof e};
	CHECK(atled_error_count(t->x) == 1 && atled_error_at(t->x, 0, &e) == ATLED_OK && e.warning &&
	      !strcmp(e.code, "E0405"));
	FINE(t, atled_check_rules(t->x, ATLED_RULES_TRUSTED));
	FINE(t, atled_compile(t->x, "third(x) = x^2\nderivative third(x) = x\nz = third'(3.0)",
	                      ATLED_ZERO, NULL));
	CHECK(atled_error_count(t->x) == 0);
}

static atled_status native_pair(void *ud, atled_context *ctx, uint32_t nargs,
                                const atled_value *const *args, atled_value **result) {
	Said *said = ud;
	for (uint32_t i = 0; i < nargs; i++) {
		atled_value_describe(args[i], 0, hear, said);
		hear(said, ";", 1);
	}
	if (nargs == 0) {
		atled_raise(ctx, "nothing to pair");
		return ATLED_ERROR;
	}
	if (atled_value_kind(args[0]) == ATLED_FUNCTION) {
		atled_value *three = atled_value_of_f64(ctx, 3);
		atled_status st =
			atled_value_call(ctx, args[0], 1, (const atled_value *const[]){three}, result);
		atled_value_free(three);
		return st;
	}
	atled_value *items[2] = {atled_value_of_i64(ctx, nargs), atled_value_copy(args[0])};
	*result = atled_value_of_fields(ctx, 2, (const char *const[]){"n", "first"},
	                                (const atled_value *const *)items);
	atled_value_free(items[0]);
	atled_value_free(items[1]);
	return *result ? ATLED_OK : ATLED_NOMEM;
}

/* Gives a value of the context in ud, which is not the caller's. */
static atled_status native_foreign(void *ud, atled_context *ctx, uint32_t nargs,
                                   const atled_value *const *args, atled_value **result) {
	(void)ctx;
	(void)nargs;
	(void)args;
	*result = atled_value_of_f64(ud, 3);
	return *result ? ATLED_OK : ATLED_ERROR;
}

static void test_native(T *t) {
	Said said = {.n = 0};
	FINE(t, atled_define_native(t->x, "pair", native_pair, &said));
	CHECK(number(t, "pair((a = 1, b = [1.0, 2.0]), \"text\", 0..3).n") == 3);
	CHECK(!strcmp(said.text, "record (a: i64, b: f64[2]);string;range;"));
	CHECK(number(t, "pair(2.5).first") == 2.5);
	CHECK(number(t, "pair(x -> x^2)") == 9);
	CHECK(atled_compile(t->x, "pair()", ATLED_ZERO, "n") == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "nothing to pair"));
	CHECK(atled_compile(t->x, "pair(x -> error(\"inner\"))", ATLED_ZERO, "n") == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "inner"));
	CHECK(atled_define_native(t->x, "1x", native_pair, NULL) == ATLED_MISUSE);
	atled_context *other = atled_context_new(NULL);
	FINE(t, atled_define_native(t->x, "foreign", native_foreign, other));
	CHECK(atled_compile(t->x, "foreign()", ATLED_ZERO, "n") == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "a value of another context"));
	atled_context_free(other);
	/* The library requests functions of the embedding program by name; here
	 * they are missing. */
	CHECK(atled_eval(t->x, "plot([1, 2])", ATLED_ZERO, "test", NULL) == ATLED_ERROR);
	const atled_error *missing = atled_last_error(t->x);
	CHECK(missing && !strcmp(missing->code, "E0803") &&
	      strstr(missing->message, "of the program around it"));
}

/* ---- values -------------------------------------------------------------- */

static void test_values(T *t) {
	atled_value *v = NULL;
	FINE(t,
	     atled_eval(
			 t->x,
			 "(a = [1.0, 2.0], b = \"hé\", c = (1, true), d = list(none, 2..9 by 3), f = x -> x)",
			 ATLED_ZERO, NULL, &v));
	CHECK(atled_value_kind(v) == ATLED_RECORD && atled_value_count(v) == 5 &&
	      !strcmp(atled_value_field_name(v, 1), "b"));
	atled_value *b = atled_value_field(v, "b"), *c = atled_value_field(v, "c"),
				*d = atled_value_item(v, 3), *f = atled_value_field(v, "f");
	size_t n = 0;
	const char *text = atled_value_string(b, &n);
	CHECK(text && n == 3 && !strcmp(text, "hé"));
	CHECK(atled_value_kind(c) == ATLED_TUPLE && atled_value_kind(d) == ATLED_LIST &&
	      atled_value_kind(f) == ATLED_FUNCTION);
	atled_value *yes = atled_value_item(c, 1), *range = atled_value_item(d, 1),
				*none = atled_value_item(d, 0);
	int flag = 0;
	int64_t start, stop, step;
	double x;
	CHECK(atled_value_bool(yes, &flag) && flag == 1 && atled_value_kind(none) == ATLED_NONE);
	CHECK(atled_value_range(range, &start, &stop, &step) && start == 2 && stop == 9 && step == 3);
	CHECK(!atled_value_f64(b, &x) && !atled_value_string(c, NULL) && !atled_value_tensor(b) &&
	      !atled_value_item(v, 9) && !atled_value_field(v, "z"));
	Said said = {.n = 0};
	FINE(t, atled_value_write(v, NULL, 0, hear, &said));
	CHECK(strstr(said.text, "a = [1, 2]") && strstr(said.text, "\"hé\""));
	said.n = 0;
	atled_value *a = atled_value_field(v, "a");
	FINE(t, atled_value_write(a, ".2f", 0, hear, &said));
	CHECK(!strcmp(said.text, "[1.00, 2.00]"));
	said.n = 0;
	FINE(t, atled_value_describe(a, 1, hear, &said));
	CHECK(strstr(said.text, "f64[2]") && strstr(said.text, "max 2"));
	/* Constructing values and calling with them. */
	atled_value *made[3] = {atled_value_of_string(t->x, "abc", 2), atled_value_of_bool(t->x, 1),
	                        atled_value_of_none(t->x)};
	atled_value *list = atled_value_of_items(t->x, ATLED_LIST, 3, (const atled_value *const *)made);
	FINE(t, atled_set(t->x, "given", list));
	CHECK(number(t, "len(given[0]) + len(given)") == 5);
	CHECK(atled_set(t->x, "for", list) == ATLED_MISUSE &&
	      atled_set(t->x, "", list) == ATLED_MISUSE);
	CHECK(!atled_value_of_items(t->x, ATLED_RECORD, 0, NULL) &&
	      !atled_value_of_items(t->x, ATLED_LIST, 1, NULL));
	atled_value *five = atled_value_of_f64(t->x, 5), *result = NULL;
	FINE(t, atled_value_call(t->x, f, 1, (const atled_value *const *)&five, &result));
	CHECK(atled_value_f64(result, &x) && x == 5);
	CHECK(atled_value_call(t->x, five, 0, NULL, NULL) == ATLED_ERROR);
	atled_function *fn = NULL;
	FINE(t, atled_function_of(t->x, f, "(f64) -> f64", &fn));
	CHECK(fn != NULL);
	atled_function_free(fn);
	atled_value *all[] = {v,    a,       b,       c,       d,    f,    yes,   range,
	                      none, made[0], made[1], made[2], list, five, result};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) atled_value_free(all[i]);
}

/* ---- tensors ------------------------------------------------------------- */

static void note_release(void *ud, void *data) { *(void **)ud = data; }

static void test_tensors(T *t) {
	double memory[6] = {1, 2, 3, 4, 5, 6};
	void *released = NULL;
	atled_tensor *s = NULL;
	/* The transpose of a 2 x 3 matrix, and every second element in reverse
	 * order. */
	FINE(t, atled_tensor_wrap(t->x, ATLED_F64, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, memory,
	                          ATLED_READ_ONLY, note_release, &released, &s));
	atled_value *v = atled_value_of_tensor(t->x, s);
	FINE(t, atled_set(t->x, "w", v));
	CHECK(number(t, "w[2, 1] * 10 + w[1, 0]") == 62);
	/* The host's memory does not change. */
	CHECK(number(t, "w[0, 0] = 100\nw[0, 0]") == 100 && memory[0] == 1);
	atled_tensor_free(s);
	atled_value_free(v);
	FINE(t, atled_compile(t->x, "w = 0", ATLED_ZERO, NULL));
	CHECK(released == memory);
	FINE(t, atled_tensor_wrap(t->x, ATLED_F64, 1, (int64_t[]){3}, (int64_t[]){-2}, memory + 4,
	                          ATLED_READ_ONLY, NULL, NULL, &s));
	v = atled_value_of_tensor(t->x, s);
	FINE(t, atled_set(t->x, "w", v));
	CHECK(number(t, "w[0] * 100 + w[1] * 10 + w[2]") == 531);
	FINE(t, atled_compile(t->x, "w = 0", ATLED_ZERO, NULL));
	atled_value_free(v);
	/* A DLPack round trip. */
	struct DLManagedTensor *dl = NULL;
	FINE(t, atled_tensor_to_dlpack(t->x, s, &dl));
	CHECK(dl && dl->dl_tensor.ndim == 1 && dl->dl_tensor.dtype.code == 2 &&
	      dl->dl_tensor.dtype.bits == 64 && dl->dl_tensor.data == memory + 4);
	atled_tensor_free(s);
	atled_tensor *back = NULL;
	FINE(t, atled_tensor_from_dlpack(t->x, dl, &back));
	atled_array a = {.size = sizeof a};
	CHECK(atled_tensor_view(back, &a) == ATLED_OK && a.data == memory + 4 && a.strides[0] == -2 &&
	      a.shape[0] == 3 && !a.writable);
	atled_tensor_free(back);
	DLManagedTensor foreign = {
		.dl_tensor = {.data = memory, .device = {2, 0}, .ndim = 0, .dtype = {2, 64, 1}}};
	CHECK(atled_tensor_from_dlpack(t->x, &foreign, &back) == ATLED_MISUSE && !back);
	foreign.dl_tensor.device.device_type = 1;
	foreign.dl_tensor.dtype.bits = 16;
	CHECK(atled_tensor_from_dlpack(t->x, &foreign, &back) == ATLED_MISUSE);
	CHECK(atled_tensor_new(t->x, (atled_dtype)99, 0, NULL, &s) == ATLED_MISUSE && !s);
	CHECK(atled_tensor_new(t->x, ATLED_F64, 9, (int64_t[9]){0}, &s) == ATLED_MISUSE);
	CHECK(atled_tensor_new(t->x, ATLED_F64, 1, (int64_t[]){-1}, &s) == ATLED_MISUSE);
	CHECK(atled_tensor_new(t->x, ATLED_F64, 2, (int64_t[]){INT64_MAX, INT64_MAX}, &s) ==
	      ATLED_NOMEM);
	FINE(t, atled_tensor_new(t->x, ATLED_C128, 2, (int64_t[]){0, 3}, &s));
	atled_tensor_free(s);
}

/* ---- limits, grants, interrupts, threads --------------------------------- */

#define ENDLESS "k = 1.0\nwhile k > 0 { k = k + 1 }\nk"

static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *interrupter(void *ud) {
	usleep(50000);
	atled_interrupt(ud);
	return NULL;
}

static void test_limits(T *t) {
	(void)t;
	atled_context *x = atled_context_new(NULL);
	T own = {.x = x}, *o = &own;
	atled_limit l = {.size = sizeof l, .seconds = 0.1};
	FINE(o, atled_limits(x, &l));
	FINE(o, atled_compile(x, "a = 1", ATLED_ZERO, NULL));
	double from = seconds();
	CHECK(atled_compile(x, "a = 2\n" ENDLESS, ATLED_ZERO, NULL) == ATLED_LIMIT &&
	      seconds() - from < 5);
	CHECK(atled_last_error(x) && !strcmp(atled_last_error(x)->code, "E0903"));
	CHECK(number(o, "a") == 2); /* each call has its own time limit */
	l.seconds = 1e6;            /* a wider limit has no effect */
	l.steps = 10000;
	FINE(o, atled_limits(x, &l));
	CHECK(atled_compile(x, ENDLESS, ATLED_ZERO, NULL) == ATLED_LIMIT);
	CHECK(number(o, "a + 1") == 3);
	l = (atled_limit){.size = sizeof l, .memory = 8 << 20};
	FINE(o, atled_limits(x, &l));
	CHECK(atled_compile(x, "big = zeros(100) + randn(1000, 1000, 10)[0, 0, 0]", ATLED_ZERO, NULL) !=
	      ATLED_OK);
	const atled_error *e = atled_last_error(x);
	CHECK(e && (e->status == ATLED_NOMEM || e->status == ATLED_LIMIT));
	CHECK(number(o, "a") == 2);
	CHECK(atled_compile(x, "f(n) = f(n + 1)\nf(1)", ATLED_ZERO, NULL) != ATLED_OK);
	CHECK(number(o, "a") == 2);
	/* Nothing is granted. */
	CHECK(atled_compile(x, "print(1)", ATLED_ZERO, NULL) == ATLED_DENIED);
	CHECK(atled_compile(x, "use \"x.dsl\"", ATLED_ZERO, NULL) == ATLED_DENIED &&
	      !strcmp(atled_last_error(x)->code, "E0802"));
	Said said = {.n = 0};
	FINE(o, atled_grant(x, ATLED_GRANT_OUTPUT));
	FINE(o, atled_output(x, hear, &said));
	FINE(o, atled_compile(x, "print(\"a\", 1)", ATLED_ZERO, NULL));
	CHECK(!strcmp(said.text, "a 1\n"));
	FINE(o, atled_grant(x, ATLED_GRANT_ALL)); /* a grant cannot be widened afterwards */
	CHECK(atled_compile(x, "use \"x.dsl\"", ATLED_ZERO, NULL) == ATLED_DENIED);
	atled_context_free(x);
}

typedef struct Heard {
	int calls, inside;
	int64_t most, steps;
	double loss, time;
	const char *last;
	atled_context *x;
} Heard;

/* Interrupts the call once a report shows progress. */
static void hear_progress(void *ud, const atled_progress_state *s) {
	Heard *h = ud;
	h->calls++;
	for (const atled_progress_state *i = s; i; i = i->inside) {
		h->inside += i != s;
		if (i->steps != 1000000000 && i->from == i->to) continue;
		if (i->step > h->most) h->most = i->step;
		h->steps = i->steps;
		if (i->to > i->from) h->time = i->time;
		for (uint32_t k = 0; k < i->count; k++)
			if (!strcmp(i->names[k], "loss")) h->loss = i->values[k];
	}
	if (h->most > 0 || h->time > 0) atled_interrupt(h->x);
}

static void test_progress(T *t) {
	/* The evaluator, machine code, an integrator of the library and one of
	 * SUNDIALS: each reports progress and can be stopped by its callback. */
	static const struct {
		const char *mode, *text;
		bool loss, time;
	} cases[] = {
		{"off", "f(1000000000)", true, false},
		{"always", "f(1000000000)", true, false},
		{"off", "for i in 0..2 { progress(i, 2); f(1000000000) }", true, false},
		{"always", "g(1000000000)", false, false},
		{"off", "s = 0.0; for i in 0..1000000000 { s = s + sin(f64(i)) }", false, false},
		{"on",
	     "ode((t, y) -> [y[1], -y[0]], [1.0, 0], (0.0, 1e9); method = tsit5(max_steps = "
	     "1000000000), saveat = [1e9]).times",
	     false, true},
		{"on",
	     "ode((t, y) -> [y[1], -y[0]], [1.0, 0], (0.0, 1e9); method = adams(max_steps = "
	     "1000000000), saveat = [1e9]).times",
	     false, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Heard h = {.x = t->x, .loss = NAN};
		FINE(t, atled_machine(t->x, !strcmp(cases[i].mode, "off")  ? ATLED_MACHINE_NEVER
		                            : !strcmp(cases[i].mode, "on") ? ATLED_MACHINE_WHEN_WORTH
		                                                           : ATLED_MACHINE_ALWAYS));
		FINE(t, atled_compile(t->x,
		                      "f(n) = { x = 0.0; for k in 0..n { x = 0.5*x + sin(f64(k)); "
		                      "progress(k + 1, n; loss = abs(x)) }; x }\n"
		                      "g(n) = { x = 0.0; for k in 0..n { x = 0.5*x + sin(f64(k)) }; x }\n",
		                      ATLED_ZERO, "p.dsl"));
		FINE(t, atled_progress(t->x, hear_progress, &h));
		const atled_status st = atled_eval(t->x, cases[i].text, ATLED_ZERO, "p", NULL);
		CHECK(st == ATLED_INTERRUPTED);
		atled_clear_interrupt(t->x);
		CHECK(h.calls > 0 &&
		      (cases[i].time ? h.time > 0 && h.time < 1e9
		                     : h.most > 0 && h.most < h.steps && h.steps == 1000000000));
		CHECK(cases[i].loss == (h.loss >= 0 && h.loss <= 2));
		CHECK((h.inside > 0) == (i == 2));
		/* A failed call leaves no progress state behind. */
		h = (Heard){.x = t->x};
		FINE(t, atled_eval(t->x, "s = 0.0; for i in 0..10 { s = s + 1.0 }", ATLED_ZERO, "p", NULL));
		CHECK(!h.inside && !h.most);
		FINE(t, atled_progress(t->x, NULL, NULL));
	}
	FINE(t, atled_machine(t->x, ATLED_MACHINE_WHEN_WORTH));
}

static void test_interrupt(T *t) {
	pthread_t thread;
	pthread_create(&thread, NULL, interrupter, t->x);
	double from = seconds();
	CHECK(atled_compile(t->x, "kept = 5\n" ENDLESS, ATLED_ZERO, NULL) == ATLED_INTERRUPTED);
	CHECK(seconds() - from < 2);
	pthread_join(thread, NULL);
	CHECK(atled_last_error(t->x) && !strcmp(atled_last_error(t->x)->code, "E0902"));
	CHECK(number(t, "kept") == 5);
	atled_interrupt(t->x); /* no call is running: interrupts the next one */
	CHECK(atled_compile(t->x, ENDLESS, ATLED_ZERO, NULL) == ATLED_INTERRUPTED);
	atled_interrupt(t->x);
	atled_clear_interrupt(t->x);
	CHECK(number(t, "kept") == 5);
}

static void *busy_body(void *ud) {
	return (void *)(intptr_t)atled_compile(ud, ENDLESS, ATLED_ZERO, NULL);
}

static void *own_context(void *ud) {
	atled_context *x = atled_context_new(ud);
	intptr_t good = 0;
	for (int i = 0; x && i < 20; i++) {
		char text[200];
		double d;
		atled_value *v = NULL;
		snprintf(text, sizeof text, "f(x) = x^3 + %d\ngrad(f)(2.0) + sum([i * 1.0 for i in 0..%d])",
		         i, i + 2);
		if (atled_eval(x, text, ATLED_ZERO, NULL, &v) == ATLED_OK && atled_value_f64(v, &d) &&
		    d == 12 + (i + 2) * (i + 1) / 2)
			good++;
		atled_value_free(v);
	}
	atled_context_free(x);
	return (void *)good;
}

static void test_threads(T *t) {
	pthread_t thread;
	void *st;
	atled_value *v = NULL;
	FINE(t, atled_eval(t->x, "[1.0, 2.0]", ATLED_ZERO, NULL, &v));
	atled_tensor *s = atled_value_tensor(v);
	pthread_create(&thread, NULL, busy_body, t->x);
	usleep(30000);
	CHECK(atled_compile(t->x, "1", 1, NULL) == ATLED_BUSY); /* rejected */
	atled_value_free(v);                                    /* but handles can be freed */
	atled_tensor_free(s);
	atled_interrupt(t->x);
	pthread_join(thread, &st);
	CHECK((intptr_t)st == ATLED_INTERRUPTED);
	FINE(t, atled_compile(t->x, "1", 1, NULL)); /* and the context can move between threads */
	atled_engine *e = atled_engine_new(NULL);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, own_context, e);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &st);
		CHECK((intptr_t)st == 20);
	}
	atled_engine_free(e);
}

static void test_float_environment(T *t) {
	fenv_t env;
	fegetenv(&env);
	fesetround(FE_UPWARD);
	feclearexcept(FE_ALL_EXCEPT);
	/* Rounding to nearest, whatever mode the host has. */
	CHECK(number(t, "1.0 / 3.0") == 0x1.5555555555555p-2);
	CHECK(fegetround() == FE_UPWARD && !fetestexcept(FE_ALL_EXCEPT));
	fesetenv(&env);
}

/* ---- allocation failure -------------------------------------------------- */

static const char *const programs[] = {
	"x = [1.0, 2.0]\ny = x * 2 + 1\nsum(y)",
	"f(x) = x^2 * sin(x)\nf'(1.0)",
	"g(v) = sum(v^2)\ngrad(g)([1.0, 2.0, 3.0])",
	"r = (a = 1, b = [1.0, 2.0], c = \"text\")\n\"{r.a} {r.c}\"",
	"[1, 2] + [1, 2, 3]",
	"s = 0.0\nfor i in 0..5 { s = s + i }\ns",
	"h(x",
	"sq([1.0, 2.0], 3.0)",
	("n(x) = { for i in 0..3 { x = sqrt(x - 1) / 0 }\nx }\nnan_check(grad(x -> sum(n(x))), [1.0, "
     "3.0]).message"),
	"k(x) = x^2\nderivative k(x) = 2x\nk'(2.0) + sum(sq([1.0], 2.0))",
};

/* Uses the interface once, and frees everything however far it got. */
static atled_status use(atled_context *x, int which) {
	atled_value *v = NULL;
	if (which == 9) atled_check_rules(x, ATLED_RULES_FAIL);
	atled_status st = atled_eval(x, programs[which], ATLED_ZERO, "p", &v);
	if (st == ATLED_OK && which == 1) {
		atled_function *f = NULL, *g = NULL;
		atled_tensor *in = NULL, *out = NULL;
		st = atled_lookup(x, "f", "(f64) -> f64", &f);
		if (st == ATLED_OK) st = atled_derive(x, f, "grad", &g);
		if (st == ATLED_OK) st = atled_tensor_new(x, ATLED_F64, 0, NULL, &in);
		if (st == ATLED_OK) st = atled_call(x, g, 1, &in, 1, &out);
		atled_tensor_free(in);
		atled_tensor_free(out);
		atled_function_free(f);
		atled_function_free(g);
	}
	atled_value_free(v);
	return st;
}

static void test_failing_memory(T *t) {
	(void)t;
	int calls = 0;
	for (int forever = 0; forever < 2; forever++) {
		for (int which = 0; which < (int)(sizeof programs / sizeof *programs); which++) {
			unsigned n, bad = 0, unusable = 0, refused = 0;
			atled_status clean = ATLED_OK;
			for (n = 1; n < 20000; n += n < 400 ? 1 : n / 97) {
				atled_context *x = atled_context_new(NULL);
				T own = {.x = x};
				if (!x || define(&own, "sq", true, true, &calls) != ATLED_OK ||
				    atled_compile(x, "kept = 42", ATLED_ZERO, NULL) != ATLED_OK)
					break;
				atled_fail_allocation(x, n, forever);
				atled_status st = use(x, which);
				atled_stat stat = {.size = sizeof stat};
				atled_fail_allocation(x, 0, 0);
				atled_stats(x, &stat);
				if (st == ATLED_NOMEM) refused++;
				else if (st != ATLED_OK && st != ATLED_ERROR) bad++;
				atled_value *v = NULL;
				int64_t i = 0;
				if (atled_eval(x, "kept", ATLED_ZERO, NULL, &v) != ATLED_OK ||
				    !atled_value_i64(v, &i) || i != 42)
					unusable++;
				atled_value_free(v);
				st = use(x, which);
				clean = which == 4 || which == 6 ? ATLED_ERROR : ATLED_OK;
				if (st != clean) unusable++;
				atled_context_free(x);
				if (n > 3000) break;
			}
			CHECK(bad == 0 && unusable == 0 && refused > 0);
			if (bad || unusable || !refused)
				printf("  program %d, forever %d: %u strange, %u unusable, %u refused of %u\n",
				       which, forever, bad, unusable, refused, n);
		}
	}
	/* Creation of a context. */
	CHECK(calls > 0);
}

typedef struct Miser {
	long left, balance;
} Miser;

static void *miser_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	Miser *m = ud;
	if (!new_bytes) {
		m->balance -= (long)old_bytes;
		free(p);
		return NULL;
	}
	if (m->left == 0) return NULL;
	if (m->left > 0) m->left--;
	void *q = realloc(p, new_bytes);
	if (q) m->balance += (long)new_bytes - (p ? (long)old_bytes : 0);
	return q;
}

static void test_allocator(T *t) {
	(void)t;
	unsigned made = 0, lost = 0;
	for (long n = 0; n < 100000; n = n < 200 ? n + 1 : n + n / 10) {
		Miser m = {.left = n};
		atled_engine_config config = {.size = sizeof config, .resize = miser_resize, .ud = &m};
		atled_engine *e = atled_engine_new(&config);
		atled_context *x = e ? atled_context_new(e) : NULL;
		if (x) {
			made++;
			m.left = -1;
			if (atled_compile(x, "f(x) = x * 2\nf([1.0, 2.0])\nmissing", ATLED_ZERO, NULL) !=
			    ATLED_ERROR)
				lost++;
		}
		atled_context_free(x);
		atled_engine_free(e);
		if (m.balance) lost++;
		if (made > 3) break;
	}
	CHECK(made > 0 && lost == 0);
}

int main(void) {
	T t = {.x = atled_context_new(NULL)};
	if (!t.x) return 1;
	static const struct {
		const char *name;
		void (*run)(T *t);
	} tests[] = {
		{"life", test_life},
		{"programs", test_programs},
		{"looking", test_looking},
		{"errors", test_errors},
		{"calls", test_calls},
		{"types", test_types},
		{"derive", test_derive},
		{"entry", test_entry},
		{"entry, machine code", test_entry_machine_code},
		{"host", test_host},
		{"host-rules", test_host_rules},
		{"rule-checks", test_rule_checks},
		{"native", test_native},
		{"values", test_values},
		{"tensors", test_tensors},
		{"limits", test_limits},
		{"progress", test_progress},
		{"interrupt", test_interrupt},
		{"threads", test_threads},
		{"float environment", test_float_environment},
		{"failing memory", test_failing_memory},
		{"allocator", test_allocator},
	};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		check_in(tests[i].name);
		tests[i].run(&t);
	}
	int before = freed;
	atled_context_free(t.x);
	CHECK(freed == before + 1); /* free_ud is called with the context */
	return check_end();
}
