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

static void stays(T *t, const char *what, void (*call)(T *t, int i)) {
	for (int i = 0; i < WARM; i++) call(t, i);
	const uint64_t before = held(t);
	for (int i = WARM; i < CALLS; i++) call(t, i);
	const uint64_t after = held(t);
	if (!CHECK(after <= before))
		printf("  %s: %.1f bytes a call\n", what, (double)(after - before) / (CALLS - WARM));
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
	atled_context_free(own.x);
	return check_end();
}
