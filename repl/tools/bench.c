/* bench.c - timing of expressions and programs.
 *
 * Implements `:time` and `:bench` of the prompt, and `atled bench FILE`.
 *
 * Needs: program.h.
 *
 * Guarantees:
 * - Compile time is reported apart from run time.
 * - `atled bench` runs the whole program several times, each time in a new
 *   context, so that runs are independent. The program's output is discarded.
 * - A program is cut into statements as at the prompt: a line, and the lines
 *   after it until all brackets are closed.
 */
#define _GNU_SOURCE
#include "repl/core/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_SECONDS 1.0 /* of :bench, after the first run */
/* Runs in this first part are not measured: the compiler works in the
 * background. */
#define WARM_SECONDS 0.25
#define FILE_SECONDS 5.0 /* `atled bench` starts no run after this */
enum { RUNS_LEAST = 3, RUNS_MOST = 100000, FILE_RUNS_MOST = 20 };

double seconds_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static const char *duration(double t, char out[32]) {
	const double unit = t < 1e-6 ? 1e9 : t < 1e-3 ? 1e6 : t < 1 ? 1e3 : 1;
	snprintf(out, 32, "%.3g %s", t * unit,
	         unit == 1     ? "s"
	         : unit == 1e3 ? "ms"
	         : unit == 1e6 ? "µs"
	                       : "ns");
	return out;
}

static void look(atled_context *ctx, atled_stat *s) {
	*s = (atled_stat){.size = sizeof *s};
	atled_stats(ctx, s);
}

/* ---- one expression ------------------------------------------------------ */

void clock_start(Clock *k, atled_context *ctx) {
	look(ctx, &k->stat);
	k->from = seconds_now();
}

/* Writes which tier ran: the evaluator, or machine code, and whether that was
 * compiled or cached. */
static void tell_tier(const atled_stat *a, const atled_stat *b, FILE *out) {
	const unsigned long long calls = b->native_calls - a->native_calls,
							 made = b->units_compiled - a->units_compiled,
							 found = b->units_found - a->units_found;
	if (!calls) fputs("evaluator", out);
	else fprintf(out, "machine code called %llu time%s", calls, calls == 1 ? "" : "s");
	if (made) fprintf(out, ", %llu unit%s compiled", made, made == 1 ? "" : "s");
	if (found) fprintf(out, ", %llu unit%s from the cache", found, found == 1 ? "" : "s");
}

void clock_tell(const Clock *k, atled_context *ctx, FILE *out) {
	const double took = seconds_now() - k->from;
	atled_stat s;
	look(ctx, &s);
	const double run = s.run_seconds - k->stat.run_seconds,
				 wait = s.compile_seconds - k->stat.compile_seconds;
	char all[32], compiling[32], running[32];
	fprintf(out, "%s: compiling %s, running %s; ", duration(took, all),
	        duration(fmax(took - run + wait, 0), compiling),
	        duration(fmax(run - wait, 0), running));
	tell_tier(&k->stat, &s, out);
	fprintf(out, "; %.0f scalar operations by the evaluator, %.0f allocations\n",
	        s.scalar_operations - k->stat.scalar_operations,
	        (double)(s.allocations - k->stat.allocations));
}

static int by_size(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* `t` is sorted. */
static double quantile(const double *t, size_t n, double q) {
	const double at = q * (double)(n - 1);
	const size_t k = (size_t)at;
	return k + 1 < n ? t[k] + (at - (double)k) * (t[k + 1] - t[k]) : t[n - 1];
}

static atled_status time_call(atled_context *ctx, const atled_value *fn, double *took) {
	const double from = seconds_now();
	atled_value *result = NULL;
	const atled_status st = atled_value_call(ctx, fn, 0, NULL, &result);
	*took = seconds_now() - from;
	atled_value_free(result);
	return st;
}

atled_status bench_function(atled_context *ctx, const atled_value *fn, FILE *out) {
	Clock first;
	double took, *times = malloc(RUNS_MOST * sizeof *times);
	if (!times) return ATLED_NOMEM;
	size_t n = 0, runs = 0;
	clock_start(&first, ctx);
	atled_status st = time_call(ctx, fn, &took);
	const double first_took = took, start = seconds_now();
	atled_stat before, after;
	look(ctx, &before);
	while (st == ATLED_OK && n < RUNS_MOST &&
	       (n < RUNS_LEAST || seconds_now() - start < BENCH_SECONDS)) {
		st = time_call(ctx, fn, &took);
		runs++;
		/* A single long run is measured even during the warm-up. */
		if (seconds_now() - start > WARM_SECONDS || took > WARM_SECONDS / 4) times[n++] = took;
	}
	if (st == ATLED_OK) {
		look(ctx, &after);
		qsort(times, n, sizeof *times, by_size);
		char a[32], b[32], c[32], d[32];
		fprintf(out, "median %s, quartiles %s to %s, least %s, of %zu runs; the first %s\n",
		        duration(quantile(times, n, 0.5), a), duration(quantile(times, n, 0.25), b),
		        duration(quantile(times, n, 0.75), c), duration(times[0], d), n,
		        duration(first_took, (char[32]){0}));
		tell_tier(&first.stat, &after, out);
		fprintf(out, "; in each run %.0f allocations\n",
		        (double)(after.allocations - before.allocations) / (double)runs);
	}
	free(times);
	return st;
}

/* ---- a program ----------------------------------------------------------- */

typedef struct BenchPart {
	unsigned line;
	const char *text; /* points into the file */
	size_t n;
	double compiling; /* of the first run */
	double run[FILE_RUNS_MOST];
	uint64_t native_calls; /* of the last run */
} BenchPart;

typedef struct Parts {
	BenchPart *at;
	size_t n;
	bool failed;
} Parts;

static bool is_blank(const char *p, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '#') {
			const char *end = memchr(p + i, '\n', n - i);
			if (!end) return true;
			i = (size_t)(end - p);
		} else if (!strchr(" \t\r\n", p[i])) {
			return false;
		}
	}
	return true;
}

static Parts cut(const StringBuffer *text) {
	Parts parts = {0};
	unsigned line = 1;
	for (size_t at = 0; at < text->n;) {
		size_t end = at;
		unsigned lines = 0;
		do {
			const char *next = memchr(text->at + end, '\n', text->n - end);
			end = next ? (size_t)(next - text->at) + 1 : text->n;
			lines++;
		} while (end < text->n && atled_incomplete(text->at + at, end - at));
		if (!is_blank(text->at + at, end - at)) {
			BenchPart *more = realloc(parts.at, (parts.n + 1) * sizeof *more);
			if (!more) {
				parts.failed = true;
				break;
			}
			parts.at = more;
			parts.at[parts.n++] = (BenchPart){.line = line, .text = text->at + at, .n = end - at};
		}
		at = end;
		line += lines;
	}
	return parts;
}

static void nowhere(void *ud, const char *text, size_t n) {
	(void)ud;
	(void)text;
	(void)n;
}

static atled_status run_part(atled_context *ctx, BenchPart *p, size_t run, const char *name) {
	StringBuffer text = {0};
	/* Messages and profiles then give line numbers of the file. */
	for (unsigned i = 1; i < p->line; i++) buffer_add(&text, "\n", 1);
	buffer_add(&text, p->text, p->n);
	Clock k;
	clock_start(&k, ctx);
	const atled_status st =
		text.failed ? ATLED_NOMEM : atled_run(ctx, text.at, text.n, name, NULL, NULL);
	const double took = seconds_now() - k.from;
	atled_stat s;
	if (st == ATLED_OK) look(ctx, &s);
	else s = k.stat;
	const double ran = s.run_seconds - k.stat.run_seconds,
				 wait = s.compile_seconds - k.stat.compile_seconds;
	p->run[run] = fmax(ran - wait, 0);
	if (!run) p->compiling = fmax(took - p->run[run], 0);
	p->native_calls = s.native_calls - k.stat.native_calls;
	buffer_free(&text);
	return st;
}

/* Runs the whole program once and returns the exit code. Its context replaces
 * *kept. */
static int run_parts(const Options *o, Parts *parts, size_t run, atled_context **kept) {
	atled_context *ctx = session_open(o);
	if (!ctx) return EXIT_LIMIT;
	session_catch_interrupts(ctx);
	atled_status st = set_folder(ctx, o->args[0]);
	if (st == ATLED_OK) st = atled_output(ctx, nowhere, NULL);
	if (st == ATLED_OK && o->profile) st = atled_profile(ctx);
	for (size_t i = 0; i < parts->n && st == ATLED_OK; i++)
		st = run_part(ctx, &parts->at[i], run, o->args[0]);
	if (st != ATLED_OK) session_report(ctx, o);
	const int code = session_exit_code(ctx, st);
	if (*kept) session_close(*kept);
	*kept = ctx;
	return code;
}

static void print_start(const BenchPart *p) {
	size_t n = 0;
	while (n < p->n && n < 48 && p->text[n] != '\n') n++;
	/* complete UTF-8 characters only */
	while (n && ((unsigned char)p->text[n - 1] & 0xc0) == 0x80) n--;
	if (n && n < p->n && ((unsigned char)p->text[n] & 0xc0) == 0x80) n--;
	printf("%.*s%s\n", (int)n, p->text, n + 1 < p->n ? " ..." : "");
}

/* Writes one object for each statement, then one for the whole program. Times
 * are in seconds. */
static void tell_parts_json(const Parts *parts, size_t runs, double all, double compiling) {
	for (size_t i = 0; i < parts->n; i++) {
		const BenchPart *p = &parts->at[i];
		size_t n = p->n;
		while (n && p->text[n - 1] == '\n') n--;
		printf("{\"line\":%u,\"text\":", p->line);
		put_json(p->text, n);
		printf(",\"running\":%.6g,\"spread\":%.6g,\"compiling\":%.6g,\"native\":%s}\n",
		       quantile(p->run, runs, 0.5),
		       quantile(p->run, runs, 0.75) - quantile(p->run, runs, 0.25), p->compiling,
		       p->native_calls ? "true" : "false");
	}
	printf("{\"running\":%.6g,\"compiling\":%.6g,\"runs\":%zu}\n", all, compiling, runs);
}

static void tell_parts(Parts *parts, size_t runs, bool json) {
	double all = 0, compiling = 0;
	char a[32], b[32], c[32];
	for (size_t i = 0; i < parts->n; i++) {
		BenchPart *p = &parts->at[i];
		qsort(p->run, runs, sizeof *p->run, by_size);
		all += quantile(p->run, runs, 0.5);
		compiling += p->compiling;
	}
	if (json) {
		tell_parts_json(parts, runs, all, compiling);
		return;
	}
	printf("%6s  %10s  %10s  %10s\n", "line", "running", "spread", "compiling");
	for (size_t i = 0; i < parts->n; i++) {
		const BenchPart *p = &parts->at[i];
		const double spread = quantile(p->run, runs, 0.75) - quantile(p->run, runs, 0.25);
		printf("%6u  %10s  %10s  %10s %c ", p->line, duration(quantile(p->run, runs, 0.5), a),
		       duration(spread, b), duration(p->compiling, c), p->native_calls ? '*' : ' ');
		print_start(p);
	}
	printf("%6s  %10s  %10s  %10s    median of %zu run%s; * machine code ran; compiling is the "
	       "first run's\n",
	       "all", duration(all, a), "", duration(compiling, c), runs, runs == 1 ? "" : "s");
}

/* ---- the profile --------------------------------------------------------- */

typedef struct ProfileRow {
	char *what;
	uint64_t calls;
	double seconds;
} ProfileRow;

typedef struct ProfileRows {
	ProfileRow *at;
	size_t n;
	double seconds;
	bool failed;
} ProfileRows;

static void note_row(void *ud, const char *function, const char *place, uint64_t calls,
                     double seconds) {
	ProfileRows *r = ud;
	ProfileRow *more = realloc(r->at, (r->n + 1) * sizeof *more);
	char *what = NULL;
	if (more) r->at = more;
	if (!more || asprintf(&what, "%s%s%s", place, *function ? "  " : "", function) < 0) {
		r->failed = true;
		return;
	}
	r->at[r->n++] = (ProfileRow){what, calls, seconds};
	r->seconds += seconds;
}

static int by_seconds(const void *a, const void *b) {
	const double x = ((const ProfileRow *)a)->seconds, y = ((const ProfileRow *)b)->seconds;
	return (x < y) - (x > y);
}

static void tell_profile(atled_context *ctx, bool json) {
	ProfileRows rows = {0};
	atled_stat s;
	look(ctx, &s);
	atled_profile_read(ctx, note_row, &rows);
	qsort(rows.at, rows.n, sizeof *rows.at, by_seconds);
	char a[32];
	const double ran = fmax(s.run_seconds - s.compile_seconds, 1e-12);
	if (!json)
		printf("\n%10s  %6s  %10s  machine code of the last run, by lines\n", "seconds", "share",
		       "calls");
	for (size_t i = 0; i < rows.n; i++) {
		if (json) {
			fputs("{\"profile\":", stdout);
			put_json(rows.at[i].what, strlen(rows.at[i].what));
			printf(",\"seconds\":%.6g,\"calls\":%llu}\n", rows.at[i].seconds,
			       (unsigned long long)rows.at[i].calls);
		} else
			printf("%10s  %5.1f%%  %10llu  %s\n", duration(rows.at[i].seconds, a),
			       100 * rows.at[i].seconds / ran, (unsigned long long)rows.at[i].calls,
			       rows.at[i].what);
		free(rows.at[i].what);
	}
	const double rest = fmax(ran - rows.seconds, 0);
	if (json) printf("{\"profile\":\"evaluator\",\"seconds\":%.6g}\n", rest);
	else
		printf("%10s  %5.1f%%  %10s  the evaluator and what it calls\n", duration(rest, a),
		       100 * rest / ran, "");
	if (rows.failed) fputs("some rows are missing: out of memory\n", stderr);
	free(rows.at);
}

int command_bench(const Options *o) {
	StringBuffer text = {0};
	const char *why = NULL;
	if (!buffer_read_file(&text, o->args[0], &why)) {
		buffer_free(&text);
		return cannot_read(o->args[0], why);
	}
	Parts parts = cut(&text);
	atled_context *kept = NULL;
	int code = parts.failed ? EXIT_LIMIT : EXIT_OK;
	size_t runs = 0;
	const double start = seconds_now();
	while (code == EXIT_OK && runs < FILE_RUNS_MOST &&
	       (runs < RUNS_LEAST || seconds_now() - start < FILE_SECONDS)) {
		code = run_parts(o, &parts, runs, &kept);
		if (code != EXIT_OK) break;
		runs++;
		/* a long program runs only once or twice */
		if (seconds_now() - start > 2 * FILE_SECONDS) break;
	}
	if (code == EXIT_OK) {
		tell_parts(&parts, runs, o->json);
		if (o->profile) tell_profile(kept, o->json);
	}
	if (kept) session_close(kept);
	free(parts.at);
	buffer_free(&text);
	return code;
}
