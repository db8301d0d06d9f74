/* test_api_program.c - unit tests of the public interface: programs, settings
 * and counters, errors.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"

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
	FINE(t, atled_seed(t->x, INT64_MAX));
	a = number(t, "rand()");
	FINE(t, atled_seed(t->x, INT64_MAX));
	CHECK(number(t, "rand()") == a);
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

/* ---- warnings ------------------------------------------------------------ */

typedef struct Heard {
	atled_context *x;
	Said said; /* what print wrote, and the warnings */
	int warnings;
} Heard;

static void hear_print(void *ud, const char *text, size_t n) {
	Heard *h = ud;
	hear(&h->said, text, n);
}

static void hear_warning(void *ud, size_t i, const atled_error *w) {
	Heard *h = ud;
	h->warnings++;
	CHECK(w->warning && w->status == ATLED_OK && w->size == sizeof *w && *w->code);
	hear(&h->said, "!", 1);
	hear(&h->said, w->message, strlen(w->message));
	Said form = {.n = 0};
	CHECK(atled_error_write(h->x, i, ATLED_ERROR_TEXT, hear, &form) == ATLED_OK &&
	      strstr(form.text, w->message));
	CHECK(atled_compile(h->x, "1", ATLED_ZERO, NULL) == ATLED_BUSY);
	CHECK(atled_warnings(h->x, NULL, NULL) == ATLED_BUSY);
}

/* The rule of k is wrong, which its first derivative tells. */
static const char wrong_rule[] =
	"k(x) = x^2\nderivative k(x) = x\nprint(\"before\")\nz = k'(3.0)\nprint(\"after\")\n";

static void test_warnings(T *unused) {
	(void)unused;
	Heard h = {.x = atled_context_new(NULL)};
	T own = {.x = h.x}, *t = &own;
	FINE(t, atled_grant(h.x, ATLED_GRANT_OUTPUT));
	FINE(t, atled_output(h.x, hear_print, &h));
	FINE(t, atled_warnings(h.x, hear_warning, &h));
	FINE(t, atled_check_rules(h.x, ATLED_RULES_WARN));
	FINE(t, atled_eval(h.x, wrong_rule, ATLED_ZERO, "w", NULL));
	const char *before = strstr(h.said.text, "before"), *warning = strchr(h.said.text, '!'),
			   *after = strstr(h.said.text, "after");
	CHECK(h.warnings == 1 && before && warning && after && before < warning && warning < after);
	CHECK(atled_error_count(h.x) == 1); /* still there */
	/* Warnings without a run, at the end of the call. */
	FINE(t, atled_check(h.x, "f(x) = {\n  y = 1\n  x\n}\n", ATLED_ZERO, "c"));
	CHECK(h.warnings == 1 + (int)atled_error_count(h.x) && h.warnings > 1);
	const int so_far = h.warnings;
	FINE(t, atled_eval(h.x, "1 + 1", ATLED_ZERO, NULL, NULL));
	CHECK(h.warnings == so_far);
	FINE(t, atled_warnings(h.x, NULL, NULL));
	FINE(t, atled_check(h.x, "f(x) = {\n  y = 1\n  x\n}\n", ATLED_ZERO, "c"));
	CHECK(h.warnings == so_far && atled_error_count(h.x));
	CHECK(atled_warnings(NULL, hear_warning, &h) == ATLED_MISUSE);
	/* Warnings whose texts find no memory. */
	FINE(t, atled_warnings(h.x, hear_warning, &h));
	for (unsigned n = 1; n < 400; n += 3) {
		atled_fail_allocation(h.x, n, 0);
		const atled_status st = atled_eval(h.x, wrong_rule, ATLED_ZERO, "w", NULL);
		atled_fail_allocation(h.x, 0, 0);
		CHECK(st == ATLED_OK || st == ATLED_NOMEM);
	}
	atled_context_free(h.x);
}

int main(void) {
	T t = {.x = atled_context_new(NULL)};
	if (!t.x) return 1;
	static const TestCase tests[] = {
		{"programs", test_programs},
		{"looking", test_looking},
		{"errors", test_errors},
		{"warnings", test_warnings},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	atled_context_free(t.x);
	return check_end();
}
