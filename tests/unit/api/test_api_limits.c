/* test_api_limits.c - unit tests of the public interface: limits, grants,
 * progress, interrupts, threads.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

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

/* ---- all contexts of an engine ------------------------------------------- */

enum { RUNNING = 4 };
static atomic_int stopped, over;

static void *endless_context(void *ud) {
	atled_context *x = atled_context_new(ud);
	bool good = x && atled_compile(x, ENDLESS, ATLED_ZERO, NULL) == ATLED_INTERRUPTED &&
	            !strcmp(atled_last_error(x)->code, "E0902");
	atomic_fetch_add(&stopped, 1);
	while (!atomic_load(&over)) usleep(1000);
	/* A call that begins later runs. */
	good = good && atled_compile(x, "a = sum(ones(100))", ATLED_ZERO, NULL) == ATLED_OK;
	atled_context_free(x);
	return (void *)(intptr_t)good;
}

static void test_interrupt_all(T *t) {
	(void)t;
	atled_interrupt_all(NULL);
	atled_engine *e = atled_engine_new(NULL), *other = atled_engine_new(NULL);
	atled_context *idle = atled_context_new(e);
	pthread_t threads[RUNNING];
	for (int i = 0; i < RUNNING; i++) pthread_create(&threads[i], NULL, endless_context, e);
	usleep(200000);
	atled_interrupt_all(other);
	usleep(100000);
	CHECK(!atomic_load(&stopped));
	/* On a slow machine a thread may begin its call later than the first. */
	const double from = seconds();
	while (atomic_load(&stopped) < RUNNING && seconds() - from < 60) {
		atled_interrupt_all(e);
		usleep(20000);
	}
	atomic_store(&over, 1);
	CHECK(atomic_load(&stopped) == RUNNING);
	CHECK(atled_compile(idle, "b = sum(ones(100))", ATLED_ZERO, NULL) == ATLED_OK);
	for (int i = 0; i < RUNNING; i++) {
		void *good = NULL;
		pthread_join(threads[i], &good);
		CHECK(good);
	}
	atled_context_free(idle);
	atled_engine_free(e);
	atled_engine_free(other);
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

/* A program changes nothing of the host's environment, even where a library is
 * loaded with variables of its own. */
extern char **environ;
static void test_environment(T *t) {
	char **before = environ;
	size_t n = 0, after = 0;
	while (environ[n]) n++;
	CHECK(near(number(t, "sum(ones(400, 400) @ ones(400, 400))"), 6.4e7, 1e-12));
	CHECK(near(number(t, "sum(eigvalsh(ones(40, 40)))"), 40, 1e-12));
	while (environ[after]) after++;
	CHECK(environ == before && after == n);
}

int main(void) {
	T t = {.x = atled_context_new(NULL)};
	if (!t.x) return 1;
	static const TestCase tests[] = {
		{"limits", test_limits},           {"progress", test_progress},
		{"interrupt", test_interrupt},     {"interrupt all", test_interrupt_all},
		{"threads", test_threads},         {"float environment", test_float_environment},
		{"environment", test_environment},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	atled_context_free(t.x);
	return check_end();
}
