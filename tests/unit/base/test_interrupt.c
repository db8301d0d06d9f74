/* test_interrupt.c - latency of ^C at the prompt during each kind of work.
 *
 * Oracle: the prompt returns within 50 ms and variables keep their values. When
 * more threads want to run than there are processors, the limit grows by that
 * ratio. The time is the minimum of a few attempts, because the machine may be
 * busy.
 *
 * Needs: the program that $ATLED names; forkpty.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/support/check.h"
#include "tests/unit/repl/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct T {
	Trial trial;
	Terminal at;
} T;

enum { TRIES = 5 };

typedef struct Work {
	const char *name, *before, *text; /* before: run first */
	double after;                     /* seconds until ^C, so that it arrives during the work */
	/* ^C arrives while the result's summary is computed; the result is then
	 * shown without its range */
	bool shown;
} Work;

static const Work works[] = {
	{"a product of matrices", "a = ones(2500, 2500); c = a + 1",
     "r = a; for i in 0..1000 { r = (r @ c) * 1e-4 }; r[0, 0]", 0.4, false},
	{"one large product", "a = ones(6000, 6000)", "b = a @ (a + 1)", 0.6, false},
	{"a product with its own transpose", "a = ones(5000, 5000)", "b = a @ a'", 0.5, false},
	{"a product of few rows", "a = ones(40, 4000); c = ones(4000, 4000)",
     "r = a; for i in 0..1000 { r = (r @ c) * 2.5e-4 }; r[0, 0]", 0.5, false},
	{"one long FFT", "a = sin(iota(2^23) * 1.0)",
     "r = a; for i in 0..1000 { r = real(fft(r)) * 1e-3 }; r[0]", 0.8, false},
	{"an FFT of prime length", "a = sin(iota(3000017) * 1.0)",
     "r = a; for i in 0..1000 { r = real(fft(r)) * 1e-3 }; r[0]", 0.8, false},
	{"an FFT of many rows", "a = ones(2000, 4096)",
     "r = a; for i in 0..1000 { r = real(fft(r)) * 1e-3 }; r[0, 0]", 0.5, false},
	{"an FFT along columns", "a = ones(4096, 2000)",
     "r = a; for i in 0..1000 { r = real(fft(r; axis = 0)) * 1e-3 }; r[0, 0]", 0.5, false},
	{"an ODE", "", "ode((t, y) -> [y[1], -sin(y[0])], [1.0, 0.0], (0.0, 1e9)).y(1.0)", 0.5, false},
	{"a PDE",
     "problem waves { domain t in [0, 1000], x in [-1, 1]\n field u\n u_t + u*u_x == 0.01*u_xx\n u "
     "== -sin(pi*x) at t = 0\n u == 0 at x = -1, x = 1\n }",
     "s = solve(waves, chebyshev(n = 400), rtol = 1e-10, atol = 1e-12)", 1.0, false},
	{"a network's training",
     "problem waves { domain t in [0, 1], x in [-1, 1]\n field u\n u_t + u*u_x == 0.01*u_xx\n u == "
     "-sin(pi*x) at t = 0\n u == 0 at x = -1, x = 1\n }",
     "s = solve(waves, pinn(hidden = [20, 20, 20], points = 4000, steps = 1000))", 3.0, false},
	{"a loop without end", "k = 1.0", "while k > 0 { k = k + 1 }", 0.3, false},
	{"a loop of arrays", "a = rand(1000)", "while true { a = sin(a) + 1 }", 0.5, false},
	{"a large array", "a = ones(20000000)",
     "r = a; for i in 0..1000 { r = sin(r) * a + exp(r) }; r[0]", 1.0, false},
	{"random numbers", "", "r = 0.0; for i in 0..1000 { r = r + sum(randn(5000000)) }; r", 0.5,
     false},
	{"a triangulation", "a = rand(300000, 2)", "len(delaunay(a))", 0.5, false},
	{"sorting", "a = sin(iota(5000000) * 1.0)", "r = a; for i in 0..1000 { r = sort(-r) }; r[0]",
     0.5, false},
	{"sorting in new memory", "a = sin(iota(20000000) * 1.0)", "r = sort(a); r[0]", 0.4, false},
	{"one large LU", "a = rand(5000, 5000)",
     "r = 0.0; for i in 0..100 { r = r + lu(a + i)[1][0, 0] }; r", 0.8, false},
	{"one large Cholesky", "a = rand(4000, 4000) + 4000*eye(4000)",
     "r = 0.0; for i in 0..100 { r = r + cholesky(a + a' + i)[0, 0] }; r", 0.8, false},
	{"a triangular solve of many columns", "a = rand(3000, 3000) + 3000*eye(3000)",
     "r = a; for i in 0..100 { r = trisolve(a, r; lower = true) }; r[0, 0]", 0.5, false},
	{"a large inverse", "a = rand(2500, 2500)", "r = a; for i in 0..100 { r = inv(r) }; r[0, 0]",
     0.8, false},
	{"an orthogonal factor", "a = rand(2000, 2000)",
     "r = a; for i in 0..100 { r = qr(r)[1] + a }; r[0, 0]", 0.7, false},
	{"an array that is kept from before", "a = rand(10000000)",
     "r = 0.0; for i in 0..1000 { r = r + sum(a[a > 0.5 + i*1e-9]) }; r", 0.5, false},
	{"a linear solve", "a = rand(2000, 2000); c = rand(2000)",
     "r = c; for i in 0..100 { r = linsolve(a + i, r) }; r[0]", 0.7, false},
	{"a decomposition", "a = rand(800, 800)",
     "r = a; for i in 0..100 { r = svd(r)[0] @ a }; r[0, 0]", 0.7, false},
	{"eigenvalues", "a = rand(600, 600)",
     "r = a; for i in 0..100 { r = real(eig(r)[1]) + a }; r[0, 0]", 0.7, false},
	{"eigenvalues of a sparse matrix", "a = spdiags((2.0, -1.0, -1.0), (0, 1, -1), 100000)",
     "r = eigsh(a, 6; which = \"SM\")", 0.7, false},
	{"printing", "", "i = 0; while true { i = i + 1; print(i) }", 0.4, false},
	{"the range of a large array", "a = rand(20000000)", "a", 0.01, true},
	{"measuring", "a = rand(1000, 1000)", ":bench a @ a", 0.4, false},
	{"another program", "", ":sh sleep 20", 0.4, false},
};

/* Returns the milliseconds until the prompt is back, or a negative value when
 * it did not return. */
static double interrupt(T *t, const Work *w) {
	Terminal *at = &t->at;
	terminal_keys(at, "\014");
	terminal_settle(at);
	terminal_keys(at, w->text);
	terminal_keys(at, "\r");
	for (const double end = terminal_seconds() + w->after * at->slower; terminal_seconds() < end;)
		terminal_take(at, 0.01);
	const double pressed = terminal_seconds();
	terminal_keys(at, "\003");
	/* Waits for the prompt alone on the last line. */
	for (;;) {
		terminal_take(at, 0.001);
		const double took = terminal_seconds() - pressed;
		if (at->column == 7 && !strcmp(terminal_row(at, at->row), "atled>") &&
		    (at->row > 0 || at->scrolled))
			return 1e3 * took;
		if (took > 60) return -1;
	}
}

/* Returns the recent number of runnable threads per processor, at least 1. */
static double crowd(void) {
	double load[1];
	const long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 || getloadavg(load, 1) < 1 || load[0] < (double)n ? 1 : load[0] / (double)n;
}

int main(void) {
	static T t;
	const char *only = getenv("TEST_ONLY");
	int status;
	if (!trial_begin(&t.trial, "stop", &status)) return status;
	t.at.slower = t.trial.sanitized ? 4 : 1;
	char setting[80];
	snprintf(setting, sizeof setting, "HOME=%s", t.trial.home);
	const char *environment[] = {
		setting,          "TERM=xterm",      "NO_COLOR=1", "INPUTRC=/dev/null",
		"LC_ALL=C.UTF-8", "-XDG_STATE_HOME", NULL};
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		const Work *w = &works[i];
		if (only && !strstr(w->name, only)) continue;
		terminal_start(&t.at, 30, 200, (const char *const[]){t.trial.program, NULL}, environment);
		CHECK(terminal_ends(&t.at, "atled> "));
		terminal_keys(&t.at, "kept = 4321\r");
		CHECK(terminal_ends(&t.at, "atled> "));
		terminal_settle(&t.at);
		for (const char *p = w->before; *p; p++)
			terminal_keys(&t.at, (char[]){*p == '\n' ? '\r' : *p, 0});
		terminal_keys(&t.at, *w->before && w->before[strlen(w->before) - 1] == '}'
		                         ? "\r\"ready\"\r"
		                         : "; \"ready\"\r");
		CHECK(terminal_sees(&t.at, "\nready"));
		CHECK(terminal_ends(&t.at, "atled> "));
		double least = 1e9;
		for (int k = 0; k < TRIES && least > 25; k++) {
			const double took = interrupt(&t, w);
			if (took < 0) {
				least = -1;
				break;
			}
			if (took < least) least = took;
			/* The work was interrupted: it neither finished nor failed. */
			if (w->text[0] != ':' && !w->shown && !strstr(terminal_text(&t.at), "interrupted")) {
				printf("%s\n", terminal_text(&t.at));
				CHECK_MSG(false, "%s", w->name);
				break;
			}
		}
		printf("test_interrupt: %s: %.0f ms\n", w->name, least);
		fflush(stdout);
		CHECK_MSG(least >= 0 && (t.trial.sanitized || least < 50 * crowd()), "%s", w->name);
		terminal_keys(&t.at, "kept + 1\r");
		CHECK(terminal_sees(&t.at, "\n4322"));
		CHECK(terminal_ends(&t.at, "atled> "));
		terminal_settle(&t.at);
		terminal_keys(&t.at, "\004");
		CHECK(terminal_finish(&t.at) == 0);
	}
	return trial_end(&t.trial);
}
