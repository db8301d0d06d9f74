/* test_api_host_value.c - unit tests of the public interface: pointers of the
 * host as values.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"
#include <pthread.h>
#include <unistd.h>

/* A resource of the host. */
typedef struct Door {
	int opened; /* number of uses */
	bool gone;
} Door;

static int made, gone, twice;

static void finalise(void *pointer) {
	Door *d = pointer;
	twice += d->gone;
	d->gone = true;
	gone++;
}

/* Doors are kept after their end, so that a second finaliser would be seen. */
static Door *new_door(void) {
	static Door doors[200000];
	return made < (int)(sizeof doors / sizeof *doors) ? &doors[made++] : NULL;
}

static atled_value *door_value(atled_context *x) {
	Door *d = new_door();
	atled_value *v = atled_value_of_host(x, "door", d, finalise);
	if (!v) made--;
	return v;
}

/* make(): a door. */
static atled_status native_make(void *ud, atled_context *x, uint32_t n,
                                const atled_value *const *args, atled_value **result) {
	(void)ud;
	(void)n;
	(void)args;
	*result = door_value(x);
	return *result ? ATLED_OK : atled_last_error(x) ? atled_last_error(x)->status : ATLED_NOMEM;
}

/* use(door): how often it was used. */
static atled_status native_use(void *ud, atled_context *x, uint32_t n,
                               const atled_value *const *args, atled_value **result) {
	(void)ud;
	Door *d = n == 1 ? atled_value_host(args[0], "door") : NULL;
	if (!d) {
		atled_raise(x, "use takes a door");
		return ATLED_ERROR;
	}
	*result = atled_value_of_i64(x, ++d->opened);
	return *result ? ATLED_OK : ATLED_NOMEM;
}

/* same(v): v */
static atled_status native_same(void *ud, atled_context *x, uint32_t n,
                                const atled_value *const *args, atled_value **result) {
	(void)ud;
	(void)x;
	*result = n ? atled_value_copy(args[0]) : NULL;
	return ATLED_OK;
}

static atled_context *open_context(void) {
	atled_context *x = atled_context_new(NULL);
	if (x && atled_define_native(x, "make", native_make, NULL) == ATLED_OK &&
	    atled_define_native(x, "use", native_use, NULL) == ATLED_OK &&
	    atled_define_native(x, "same", native_same, NULL) == ATLED_OK)
		return x;
	atled_context_free(x);
	return NULL;
}

/* ---- handles ------------------------------------------------------------- */

static void test_handle(T *t) {
	Door d = {0};
	atled_value *v = atled_value_of_host(t->x, "door", &d, finalise);
	Said said = {.n = 0}, described = {.n = 0};
	CHECK(v && atled_value_kind(v) == ATLED_HOST);
	CHECK(atled_value_host(v, "door") == &d && atled_value_host(v, NULL) == &d);
	CHECK(!atled_value_host(v, "window") && !atled_value_host(NULL, NULL));
	CHECK(!strcmp(atled_value_host_type(v), "door") && !atled_value_host_type(NULL));
	FINE(t, atled_value_write(v, NULL, 0, hear, &said));
	FINE(t, atled_value_describe(v, 1, hear, &described));
	CHECK(!strcmp(said.text, "<host door>") && !strcmp(described.text, "host door"));
	double f;
	int64_t i;
	int b;
	CHECK(!atled_value_f64(v, &f) && !atled_value_i64(v, &i) && !atled_value_bool(v, &b));
	CHECK(!atled_value_tensor(v) && !atled_value_string(v, NULL) && atled_value_count(v) == 0);
	CHECK(!atled_value_item(v, 0) && !atled_value_field(v, "x"));
	atled_value *copy = atled_value_copy(v);
	atled_value_free(v);
	CHECK(!d.gone && atled_value_host(copy, "door") == &d);
	atled_value_free(copy);
	CHECK(d.gone);
	gone--;
	atled_value *number = atled_value_of_f64(t->x, 1);
	CHECK(!atled_value_host(number, NULL) && !atled_value_host_type(number));
	atled_value_free(number);
	/* Without a finaliser. */
	v = atled_value_of_host(t->x, "Tür", &d, NULL);
	CHECK(v && atled_value_host(v, "Tür") == &d);
	atled_value_free(v);
}

static void test_misuse(T *t) {
	Door d = {0};
	char longest[102];
	memset(longest, 'a', sizeof longest);
	longest[101] = 0;
	const struct {
		const char *type, *message;
		void *pointer;
	} bad[] = {
		{NULL, "type is NULL", &d},        {"door", "pointer is NULL", NULL},
		{"", "1 to 100 bytes", &d},        {longest, "1 to 100 bytes", &d},
		{"a\nb", "control character", &d}, {"a\xff", "not UTF-8", &d},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CHECK(!atled_value_of_host(t->x, bad[i].type, bad[i].pointer, finalise));
		const atled_error *e = atled_last_error(t->x);
		CHECK(e && e->status == ATLED_MISUSE && strstr(e->message, bad[i].message));
	}
	CHECK(!atled_value_of_host(NULL, "door", &d, finalise) && !d.gone);
	longest[100] = 0;
	atled_value *v = atled_value_of_host(t->x, longest, &d, NULL);
	CHECK(v && !strcmp(atled_value_host_type(v), longest));
	atled_value_free(v);
}

/* ---- programs ------------------------------------------------------------ */

static void test_programs(T *t) {
	atled_value *v = door_value(t->x), *w = NULL;
	void *pointer = atled_value_host(v, "door");
	FINE(t, atled_set(t->x, "d", v));
	atled_value_free(v);
	static const struct {
		const char *text;
		double value;
	} programs[] = {
		{"use(d)", 1},
		{"e = d\nuse(e)", 2},
		{"l = list(d, 1.0, d)\nuse(l[2])", 3},
		{"r = (door = d, size = 2)\nuse(r.door) + r.size", 6},
		{"(a, b) = (d, 1)\nuse(a)", 5},
		{"f(x) = use(x)\nf(d)", 6},
		{"g = x -> use(d) + x\ng(10)", 17},
		{"use(same(d))", 8},
		{"use(d)\nuse(if true { d } else { make() })", 10},
		{"h(k) = if k > 0 { d } else { make() }\nuse(h(1))", 11},
		{"h(k) = if k > 0 { d } else { 3.0 }\nuse(h(1))", 12},
		{"s = 0\nx = d\nfor i in 0..3 { x = same(x); s = s + use(x) }\ns", 13 + 14 + 15},
		{"s = 0\nfor x in list(d, d) { s = use(x) }\ns", 17},
		{"q(x, n) = if n == 0 { use(x) } else { q(x, n - 1) }\nq(d, 40)", 18},
		{"sum(map(x -> 1.0, list(d, d)))", 2},
		{"grad((x, y) -> x^2)(3.0, d)", 6},
		{"w = make()\nuse(w)", 1},
		{"use(make())", 1},
		{"i64(kind(d) == \"host\") + i64(\"{d}\" == \"<host door>\")", 2},
		{"i64(kind(make()) == \"host\") + i64(\"{make()}\" == \"<host door>\")", 2},
		{"i64(d == d) + i64(d == same(d)) + i64(list(d, 1) == list(d, 1)) + i64(d != make())", 4},
		{"i64(d != d) + i64(d == make()) + i64(d == \"door\") + i64(list(d) == list(make()))", 0},
	};
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		const double have = number(t, programs[i].text);
		check_msg_at(have == programs[i].value, programs[i].text, __FILE__, __LINE__,
		             "gives %g, not %g", have, programs[i].value);
	}
	/* The host gets back what it gave. */
	FINE(t, atled_get(t->x, "d", &w));
	CHECK(atled_value_host(w, "door") == pointer);
	atled_value_free(w);
	FINE(t, atled_eval(t->x, "(l[0], r)", ATLED_ZERO, NULL, &w));
	atled_value *first = atled_value_item(w, 0), *record = atled_value_item(w, 1),
				*field = atled_value_field(record, "door");
	CHECK(atled_value_host(first, "door") == pointer && atled_value_host(field, NULL) == pointer);
	Said said = {.n = 0};
	FINE(t, atled_value_describe(record, 0, hear, &said));
	CHECK(!strcmp(said.text, "record (door: host door, size: i64)"));
	atled_value *f = NULL, *out = NULL;
	int64_t n = 0;
	FINE(t, atled_get(t->x, "f", &f));
	FINE(t, atled_value_call(t->x, f, 1, (const atled_value *[]){first}, &out));
	CHECK(atled_value_i64(out, &n) && n == 19);
	atled_value_free(out);
	atled_value_free(f);
	atled_value_free(field);
	atled_value_free(record);
	atled_value_free(first);
	atled_value_free(w);
}

static void test_errors(T *t) {
	atled_value *v = door_value(t->x);
	FINE(t, atled_set(t->x, "d", v));
	atled_value_free(v);
	/* Each program with a value of known kind, and with one that appears at
	 * run time. */
	static const char *const programs[] = {
		"D + 1",
		"1 - D",
		"-D",
		"D * D",
		"D @ [1.0]",
		"D < D",
		"sin(D)",
		"sum(D)",
		"D.x",
		"D[0]",
		"D(1)",
		"[D, 1.0]",
		"max(D, 1)",
		"0..D",
		"size(D)",
		"if D { 1 } else { 2 }",
		"D and true",
		"not D",

		"while D { x = 1 }",
		"for x in D { x }",
		"map(D, [1.0])",
		"map(x -> x, D)",
		"grad(D)(1.0)",
		"grad(x -> 1.0)(D)",
		"grad(x -> D)(1.0)",
		"jvp(x -> x, D, 1.0)",
		"f(x: f64) = x\nf(D)",
		"f(x: f64[n]) = x\nf(D)",

		"f64(D)",
		"[1.0, 2.0][D]",
		"linsolve(D, [1.0])",
		"len(D)",
		"D'",
		"sort(D)",
		"use(list(D))",

		"collect(D)",
		"zeros(D)",
		"ode((t, y) -> y, D, (0, 1))",
		"(a, b) = D",

		"assert(D)",
		"exit(D)",
		"seed(D)",

		"1.0 + D.x",
		"ir(D)",

		"x = D\nx = x + 1",
	};
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		for (int late = 0; late < 3; late++) {
			char text[200];
			size_t n = 0;
			static const char *const names[] = {"d", "make()", "(1 < 2 ? d : 3)"};
			for (const char *p = programs[i]; *p; p++) {
				if (*p != 'D') text[n++] = *p;
				else n += (size_t)snprintf(text + n, sizeof text - n, "%s", names[late]);
			}
			text[n] = 0;
			const atled_status st = atled_eval(t->x, text, ATLED_ZERO, "p", NULL);
			const atled_error *e = atled_last_error(t->x);
			check_msg_at(st == ATLED_ERROR && e && strcmp(e->code, "E0901"), text, __FILE__,
			             __LINE__, "status %d, %s", (int)st, e ? e->message : "");
		}
	CHECK(number(t, "use(d)") == 1);
}

static void test_saving(T *t) {
	char path[] = "/tmp/atled-host-XXXXXX", text[200];
	if (!mkdtemp(path)) return;
	atled_context *x = open_context();
	T own = {.x = x};
	FINE(&own, atled_grant(x, ATLED_GRANT_FILES));
	FINE(&own, atled_compile(x, "d = make()\nf(x) = use(d) + x", ATLED_ZERO, NULL));
	static const char *const kinds[] = {"npz", "h5", "json", "air", "csv", "npy", "txt"};
	static const char *const values[] = {"d", "list(1.0, d)", "(a = d, b = 2)", "x -> use(d) + x"};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
			snprintf(text, sizeof text, "save(\"%s/file.%s\", %s)", path, kinds[k], values[i]);
			const atled_status st = atled_eval(x, text, ATLED_ZERO, NULL, NULL);
			const atled_error *e = atled_last_error(x);
			check_msg_at(st == ATLED_ERROR && e, text, __FILE__, __LINE__, "status %d", (int)st);
			snprintf(text, sizeof text, "%s/file.%s", path, kinds[k]);
			CHECK(unlink(text)); /* no file was left */
		}
	atled_function *f = NULL;
	CHECK(atled_lookup(x, "f", "(f64) -> f64", &f) != ATLED_OK && !f && atled_last_error(x));
	atled_context_free(x);
	rmdir(path);
	(void)t;
}

/* ---- the finaliser ------------------------------------------------------- */

static void *free_elsewhere(void *v) {
	atled_value_free(v);
	return NULL;
}

static void test_life(T *t) {
	(void)t;
	const int made_before = made, gone_before = gone;
	atled_context *x = open_context();
	T own = {.x = x};
	/* A variable keeps it, until another value takes its place. */
	FINE(&own,
	     atled_compile(x, "d = make()\nl = list(d, d)\nf(k) = use(d) + k\nf(1)", ATLED_ZERO, NULL));
	FINE(&own, atled_compile(x, "y = 1", ATLED_ZERO, NULL));
	CHECK(made == made_before + 1 && gone == gone_before);
	FINE(&own, atled_compile(x, "d = 0\nl = 0\nf = 0", ATLED_ZERO, NULL));
	FINE(&own, atled_compile(x, "y = 2", ATLED_ZERO, NULL));
	CHECK(gone == gone_before + 1);
	/* On another thread, while the context is idle. */
	pthread_t thread;
	atled_value *v = door_value(x);
	CHECK(!pthread_create(&thread, NULL, free_elsewhere, v) && !pthread_join(thread, NULL));
	CHECK(gone == gone_before + 2);
	/* A handle that outlives the context: the context's end is the value's. */
	v = door_value(x);
	atled_value *copy = atled_value_copy(v);
	FINE(&own, atled_set(x, "d", v));
	FINE(&own, atled_compile(x, "r = (a = list(d), b = make())\nk = x -> use(r.b) + x", ATLED_ZERO,
	                         NULL));
	atled_context_free(x);
	CHECK(gone == gone_before + 4 && made == made_before + 4);
	CHECK(atled_value_kind(v) == ATLED_NONE && !atled_value_host(v, NULL));
	CHECK(!atled_value_host_type(v));
	atled_value_free(v);
	atled_value_free(copy);
	CHECK(gone == gone_before + 4 && !twice);
}

/* A context that lives long keeps no old values. */
static void test_steady(T *t) {
	(void)t;
	atled_context *x = open_context();
	T own = {.x = x};
	const int before = made - gone;
	FINE(&own, atled_compile(x, "f(x, n) = use(x) + n", ATLED_ZERO, NULL));
	atled_stat early = {.size = sizeof early}, late = early;
	for (int i = 0; i < 400; i++) {
		CHECK(number(&own, i < 50 ? "d = make()\nf(d, 2)" : "f(make(), 2)") == 3);
		CHECK(made - gone - before <= 3);
		if (i == 100) FINE(&own, atled_stats(x, &early));
	}
	FINE(&own, atled_stats(x, &late));
	CHECK(late.memory < early.memory + 65536);
	atled_context_free(x);
	CHECK(made - gone == before && !twice);
}

/* The same with machine code around them. */
static void test_machine(T *t) {
	(void)t;
	atled_context *x = open_context();
	T own = {.x = x};
	FINE(&own, atled_machine(x, ATLED_MACHINE_ALWAYS));
	FINE(&own,
	     atled_compile(x,
	                   "f(x, n) = {\n  s = 0.0\n  for i in 0..n { s = s + sin(1.0 * i) }\n"
	                   "  y = if s > 100 { make() } else { x }\n  use(y) + 0 * s\n}\nd = make()",
	                   ATLED_ZERO, NULL));
	for (int i = 1; i < 4; i++) CHECK(number(&own, "f(d, 10)") == i);
	CHECK(number(&own, "f(make(), 10)") == 1);
	atled_context_free(x);
	CHECK(!twice);
}

/* ---- failing allocations ------------------------------------------------- */

static void test_failing_memory(T *t) {
	(void)t;
	static const char program[] =
		"d = make()\nl = list(d, make())\nf(x, n) = if n > 0 { use(x) } else { use(make()) }\n"
		"f(l[1], 0) + f(d, 1) + i64(d == l[0])";
	for (int forever = 0; forever < 2; forever++) {
		unsigned refused = 0, bad = 0, lost = 0;
		for (unsigned n = 1; n < 20000; n += n < 200 ? 1 : n / 37) {
			const int before = made - gone;
			atled_context *x = open_context();
			if (!x) return;
			atled_fail_allocation(x, n, forever);
			atled_value *v = NULL, *own = door_value(x);
			const atled_status st = atled_eval(x, program, ATLED_ZERO, "p", &v);
			atled_fail_allocation(x, 0, 0);
			refused += st == ATLED_NOMEM || !own;
			bad += st != ATLED_NOMEM && st != ATLED_OK;
			atled_value_free(v);
			atled_value_free(own);
			T again = {.x = x};
			bad += number(&again, program) != 3;
			atled_context_free(x);
			lost += made - gone != before;
		}
		CHECK(refused && !bad && !lost && !twice);
		if (bad || lost) printf("  %u refused, %u bad, %u lost\n", refused, bad, lost);
	}
}

int main(void) {
	T t = {.x = open_context()};
	if (!t.x) return 1;
	static const TestCase tests[] = {
		{"handle", test_handle},
		{"misuse", test_misuse},
		{"programs", test_programs},
		{"errors", test_errors},
		{"saving", test_saving},
		{"life", test_life},
		{"steady", test_steady},
		{"machine code", test_machine},
		{"failing memory", test_failing_memory},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	atled_context_free(t.x);
	CHECK(made == gone && !twice);
	return check_end();
}
