/* main.c - test program: each function of the library with arguments that make
 * no sense.
 *
 * Method: reads signatures and examples from docs/reference/library.md. A
 * process for each function evaluates random calls in one context with limits
 * on time and memory. Arguments are drawn from a list of extreme numbers,
 * arrays, strings, functions and structures. Every second call is an example of
 * the function in which one argument is replaced.
 *
 * Guarantees:
 * - A call is at fault when it ends the process, returns ATLED_INTERNAL or
 *   ATLED_MISUSE, exceeds twice its time limit, leaves the context unusable, or
 *   makes the process larger than the memory limit explains.
 * - The run is determined by --seed and --count, except for what depends on the
 *   speed of the machine.
 * - The last line is "N passed, N failed", counting calls. The exit status is 0
 *   when nothing failed.
 */
#include "atled.h"
#include "lang/base/clock.h"
#include "tests/calls/signatures.h"
#include "tests/unit/support/draw.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MOST = 16, TEXT_MOST = 4000 };
/* Bytes that a context may hold, and bytes of the process beside it: the
 * program, the compiler and libraries. */
static const size_t memory = 192 << 20, beside = 400 << 20;
static const double seconds = 0.25, slack = 3, hopeless = 60;

static const char *const values[] = {
	"0",
	"1",
	"-1",
	"2",
	"3",
	"7",
	"0.5",
	"-0.5",
	"1e-3",
	"1e308",
	"-1e308",
	"5e-324",
	"nan",
	"inf",
	"-inf",
	"9223372036854775807",
	"-9223372036854775807",
	"10^6",
	"10^12",
	"-10^12",
	"2im",
	"(1 + 2im)",
	"true",
	"false",
	"f32(1.5)",
	"i32(2)",
	"zeros(0)",
	"[1.0]",
	"[1, 2, 3]",
	"[3.0, 1, 2]",
	"[1.0, nan, inf]",
	"rand(5)",
	"randn(3, 3)",
	"zeros(3, 3)",
	"ones(2, 3)",
	"zeros(0, 3)",
	"zeros(3, 0)",
	"randn(2, 3, 4)",
	"[1 + 2im, 3]",
	"[true, false]",
	"zeros(10^9)",
	"zeros(10^5, 10^5)",
	"(0..10)",
	"(0..0)",
	"(0..10^12)",
	"eye(4)",
	"[4.0, 1; 1, 3]",
	"[0.0, 1; -1, 0]",
	"[1e300, 1e-300; 1e-300, 1e300]",
	"f32([1, 2, 3])",
	"\"\"",
	"\"abc\"",
	"\"x.svg\"",
	"\"π\\n\"",
	"\"a,b\\n1,2\"",
	"(x -> x)",
	"(x -> x^2 - 2)",
	"((x, y) -> x + y)",
	"((t, y) -> -y)",
	"(x -> nan)",
	"(x -> error(\"no\"))",
	"(x -> [x, x])",
	"(x -> \"a\")",
	"(() -> 1)",
	"(x -> sum(x*x))",
	"sin",
	"((a, b, c) -> a)",
	"()",
	"(1, 2)",
	"(0, 1)",
	"(0.0, 10.0)",
	"(a = 1, b = [2.0])",
	"list()",
	"list(1, \"a\")",
	"list([1.0], [2.0])",
	"(1, (2, \"x\"))",
	"inf*zeros(3)",
	"1e200*randn(4, 4)",
	"linspace(0, 1, 9)",
	"sum",
};
enum { VALUES = sizeof values / sizeof values[0] };

typedef struct Options {
	uint64_t seed;
	int64_t count; /* calls of each function */
	int jobs;
	double slower; /* than a release on a quiet machine */
	bool denied;   /* grants nothing, and prints which functions need a grant */
	const char *only, *page;
	bool list;
} Options;

/* What a process and the one that watches it share. */
typedef struct Watched {
	volatile int64_t next; /* the call that runs, or runs next */
	volatile double since; /* 0: none runs */
	volatile int64_t failed, answered;
	volatile unsigned denied; /* grants */
	bool large;
} Watched;

/* Line number k of an example, from the start again after the last. */
static void write_line(const char *example, int64_t k, char *text) {
	const char *p = example;
	for (; k > 0; k--) {
		p = strchr(p, '\n');
		if (!p || !*++p) p = example;
	}
	snprintf(text, TEXT_MOST, "%.*s", (int)strcspn(p, "\n"), p);
}

/* An example in which a random argument is replaced. */
static void write_example(const char *example, uint64_t *state, char *text) {
	const char *end = example + strlen(example), *from = NULL, *to = NULL;
	uint32_t seen = 0;
	for (const char *p = example; p < end; p++) {
		if (*p != '(' && *p != ',' && *p != '=') continue;
		const char *stop = part_end(p + 1, end), *line = strchr(p, '\n');
		if (line && stop > line) stop = line;
		if (stop == p + 1 || draw(state, ++seen)) continue;
		from = p + 1;
		to = stop;
	}
	if (!from) from = to = end;
	snprintf(text, TEXT_MOST, "%.*s %s%s", (int)(from - example), example,
	         values[draw(state, VALUES)], to);
}

/* The text of call number k of a function. */
static void write_call(const Signature *s, const Options *o, int64_t k, char *text) {
	uint64_t state = o->seed;
	for (const char *p = s->name; *p; p++) state = state * 31 + (unsigned char)*p;
	state += (uint64_t)k * 0x2545f4914f6cdd1d;
	if (s->example && k % 2) {
		if (o->denied) write_line(s->example, k / 2, text);
		else write_example(s->example, &state, text);
		return;
	}
	uint32_t arguments = s->arguments;
	const uint64_t more = draw(&state, 12);
	if (more == 0) arguments++;
	if (more == 1 && arguments) arguments--;
	size_t n = (size_t)snprintf(text, TEXT_MOST, "%s(", s->name);
	for (uint32_t i = 0; i < arguments && n < TEXT_MOST / 4; i++)
		n += (size_t)snprintf(text + n, TEXT_MOST - n, "%s%s", i ? ", " : "",
		                      values[draw(&state, VALUES)]);
	const uint32_t options = s->options ? (uint32_t)draw(&state, 3) : 0;
	for (uint32_t i = 0; i < options && n < TEXT_MOST / 4; i++)
		n += (size_t)snprintf(text + n, TEXT_MOST - n, "%s%s = %s", i ? ", " : "; ",
		                      s->option[draw(&state, s->options)], values[draw(&state, VALUES)]);
	snprintf(text + n, TEXT_MOST - n, ")");
}

/* ---- the process of a function ------------------------------------------- */

static atled_context *new_context(const Options *o) {
	atled_context *x = atled_context_new(NULL);
	if (!x) abort();
	atled_grant(x, o->denied ? 0 : ATLED_GRANT_ALL);
	const atled_limit l = {.size = sizeof l, .memory = memory, .seconds = seconds * o->slower};
	if (atled_limits(x, &l) != ATLED_OK ||
	    atled_compile(x, "kept = [1.5, 2.5]\n", ATLED_ZERO, NULL) != ATLED_OK)
		abort();
	return x;
}

static bool usable(atled_context *x) {
	atled_value *v = NULL;
	double d = 0;
	const bool ok = atled_eval(x, "kept[0] + kept[1] + 1", ATLED_ZERO, NULL, &v) == ATLED_OK && v &&
	                atled_value_f64(v, &d) && d == 5;
	atled_value_free(v);
	return ok;
}

static void fault(Watched *w, const char *text, const char *why) {
	w->failed++;
	printf("failed: %s: %s\n", text, why);
	fflush(stdout);
}

static void judge(atled_context *x, const Options *o, Watched *w, const char *text, atled_status st,
                  double took) {
	char why[400];
	if (st == ATLED_INTERNAL || st == ATLED_MISUSE || st == ATLED_BUSY) {
		const atled_error *e = atled_last_error(x);
		snprintf(why, sizeof why, "status %d: %s", (int)st, e ? e->message : "without a reason");
		fault(w, text, why);
	} else if (st != ATLED_OK && st != ATLED_EXIT && !atled_last_error(x)) {
		snprintf(why, sizeof why, "status %d without a reason", (int)st);
		fault(w, text, why);
	} else if (st == ATLED_DENIED && !o->denied) {
		fault(w, text, "it is denied a grant that the context has");
	} else if (took > (2 * seconds + slack) * o->slower) {
		snprintf(why, sizeof why, "%.1f s with a limit of %.2f s", took, seconds * o->slower);
		fault(w, text, why);
	} else if (!usable(x)) {
		fault(w, text, "the context is unusable after it");
	}
}

static const char *const grant_names[] = {"files", "clock", "output", "environment"};
static const char *const grant_words[] = {"the file ", "the clock", "may not print", "environment"};
enum { GRANTS = 4 };

/* The grant that a call of this function was denied, or 0. */
static unsigned denied(atled_context *x, const char *text, const char *name) {
	const atled_error *e = atled_last_error(x);
	if (!e || !e->line) return 0;
	const char *p = text;
	for (uint32_t line = 1; line < e->line && p; line++) {
		p = strchr(p, '\n');
		if (p) p++;
	}
	for (uint32_t column = 1; p && *p && column < e->column; column++) /* of UTF-8 */
		do p++;
		while ((*p & 0xc0) == 0x80);
	if (!p || strncmp(p, name, strlen(name)) != 0 || p[strlen(name)] != '(') return 0;
	for (unsigned g = 0; g < GRANTS; g++)
		if (strstr(e->message, grant_words[g])) return 1u << g;
	return 0;
}

static void run_calls(const Options *o, const Signature *s, Watched *w) {
	char text[TEXT_MOST];
	atled_context *x = new_context(o);
	while (w->next < o->count) {
		write_call(s, o, w->next, text);
		w->since = clock_seconds();
		atled_value *v = NULL;
		const atled_status st = atled_eval(x, text, ATLED_ZERO, NULL, &v);
		const double took = clock_seconds() - w->since;
		w->answered += st == ATLED_OK;
		if (st == ATLED_DENIED) w->denied |= denied(x, text, s->name);
		if (o->list) printf("%d %.2f %s\n", (int)st, took, text);
		judge(x, o, w, text, st, took);
		atled_value_free(v);
		w->since = 0;
		w->next++;
	}
	atled_context_free(x);
	fflush(stdout);
	_exit(0);
}

/* ---- the process that watches -------------------------------------------- */

typedef struct Job {
	pid_t pid; /* 0: none */
	const Signature *of;
	Watched *w;
} Job;

static void start(Job *j, const Options *o) {
	fflush(stdout);
	j->w->since = 0;
	j->pid = fork();
	if (j->pid < 0) abort();
	if (!j->pid) run_calls(o, j->of, j->w);
}

/* A process ended: starts another one for the calls that remain. */
static void ended(Job *j, const Options *o, int status, const struct rusage *used, bool hung) {
	char text[TEXT_MOST], why[100];
	const size_t most = (size_t)used->ru_maxrss << 10;
	if (o->slower <= 1 && most > memory + beside && !j->w->large) {
		j->w->large = true;
		snprintf(why, sizeof why, "a process of %zu MB", most >> 20);
		fault(j->w, j->of->name, why);
	}
	j->pid = 0;
	if (!status) return;
	write_call(j->of, o, j->w->next, text);
	snprintf(why, sizeof why, hung ? "it does not end" : "signal %d", status & 127);
	fault(j->w, text, why);
	j->w->next++;
	if (j->w->next < o->count) start(j, o);
}

static void watch(Job *jobs, const Options *o) {
	bool none = true;
	for (int k = 0; k < o->jobs; k++) {
		Job *j = &jobs[k];
		if (!j->pid) continue;
		struct rusage used;
		int status;
		const double since = j->w->since;
		const bool hung = since > 0 && clock_seconds() - since > hopeless * o->slower;
		if (hung) kill(j->pid, SIGKILL);
		const pid_t got = wait4(j->pid, &status, hung ? 0 : WNOHANG, &used);
		if (got != j->pid) continue;
		none = false;
		ended(j, o, status, &used, hung);
	}
	if (none) usleep(5000);
}

static bool busy(const Job *jobs, int n) {
	for (int k = 0; k < n; k++)
		if (jobs[k].pid) return true;
	return false;
}

static int check_all(const Options *o, const Signatures *all) {
	Watched *w =
		mmap(NULL, all->n * sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w == MAP_FAILED) abort();
	Job jobs[JOBS_MOST] = {{0}};
	uint32_t next = 0;
	while (next < all->n || busy(jobs, o->jobs)) {
		for (int k = 0; k < o->jobs && next < all->n; k++) {
			if (jobs[k].pid) continue;
			const uint32_t i = next++;
			if (o->only && strcmp(o->only, all->at[i].name)) continue;
			jobs[k] = (Job){.of = &all->at[i], .w = &w[i]};
			start(&jobs[k], o);
		}
		watch(jobs, o);
	}
	int64_t calls = 0, failed = 0, answered = 0;
	for (uint32_t i = 0; i < all->n; i++) {
		for (unsigned g = 0; g < GRANTS; g++)
			if (w[i].denied >> g & 1) printf("%s: %s\n", all->at[i].name, grant_names[g]);
		calls += w[i].next, failed += w[i].failed, answered += w[i].answered;
	}
	printf("%lld of %lld calls have a value\n", (long long)answered, (long long)calls);
	printf("%lld passed, %lld failed\n", (long long)(calls - failed), (long long)failed);
	munmap(w, all->n * sizeof *w);
	return failed > 0 || !calls;
}

/* ---- options ------------------------------------------------------------- */

static const char usage[] =
	"usage: library_calls [OPTION...]\n"
	"  --seed N     first random number (1)\n"
	"  --count N    calls of each function (20)\n"
	"  --jobs N     processes at a time; 0: one for each processor (1)\n"
	"  --only NAME  one function\n"
	"  --page FILE  the page with the signatures (docs/reference/library.md)\n"
	"  --list       also prints each call with its status and its time\n";

static bool read_options(int argc, char **argv, Options *o) {
	*o = (Options){
		.seed = 1, .count = 20, .jobs = 1, .slower = 1, .page = "docs/reference/library.md"};
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i], *b = i + 1 < argc ? argv[i + 1] : NULL;
		if (!strcmp(a, "--list") || !strcmp(a, "--denied")) {
			o->list = o->list || a[2] == 'l';
			o->denied = o->denied || a[2] == 'd';
			continue;
		}
		if (!b) return false;
		i++;
		if (!strcmp(a, "--seed")) o->seed = strtoull(b, NULL, 10);
		else if (!strcmp(a, "--count")) o->count = strtoll(b, NULL, 10);
		else if (!strcmp(a, "--jobs")) o->jobs = (int)strtol(b, NULL, 10);
		else if (!strcmp(a, "--slower")) o->slower = strtod(b, NULL);
		else if (!strcmp(a, "--only")) o->only = b;
		else if (!strcmp(a, "--page")) o->page = b;
		else return false;
	}
	if (!o->jobs) o->jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (o->jobs > JOBS_MOST) o->jobs = JOBS_MOST;
	return o->jobs > 0 && o->count > 0 && o->slower >= 1;
}

int main(int argc, char **argv) {
	Options o;
	if (!read_options(argc, argv, &o)) {
		fputs(usage, stderr);
		return 2;
	}
	Signatures all;
	if (!signatures_read(o.page, &all)) {
		fprintf(stderr, "%s: no signatures\n", o.page);
		return 2;
	}
	const int failed = check_all(&o, &all);
	signatures_free(&all);
	return failed;
}
