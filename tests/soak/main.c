/* main.c - test program: many contexts at work for long.
 *
 * Method: each thread has a context of one common engine and does pieces of
 * mixed work (work.c), while another thread interrupts one context now and
 * then. With --calls one context calls a function again and again, and compiles
 * a new one now and then, as a service does.
 *
 * Guarantees:
 * - Every result is compared with its closed form.
 * - Prints the size of the process in each tenth of the time, its growth after
 *   the first three, and the times of pieces.
 * - The last line is "N passed, N failed", counting pieces or calls. --flat
 *   fails when the process grows by more percent.
 */
#include "lang/base/clock.h"
#include "tests/soak/work.h"
#include "tests/unit/support/draw.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MOST = 64, TENTHS = 10, WARM = 2, BUCKETS = 40 };

typedef struct Options {
	int threads;
	double seconds, flat;
	int64_t calls, every; /* a compilation with every so many calls */
	uint64_t seed;
} Options;

typedef struct Times { /* of pieces: numbers by the binary logarithm of nanoseconds */
	uint64_t in[BUCKETS], n;
} Times;

typedef struct Worker {
	pthread_t thread;
	const Options *o;
	atled_engine *engine;
	_Atomic(atled_context *) ctx;
	pthread_mutex_t lock; /* held to interrupt, and to free the context */
	uint64_t seed;
	int64_t right, stopped, wrong;
	Times times[PIECES];
} Worker;

static double megabytes(void) {
	long all = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f) return NAN;
	if (fscanf(f, "%ld %ld", &all, &resident) != 2) resident = 0;
	fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void times_add(Times *t, double seconds) {
	int k = 0;
	for (double ns = seconds * 1e9; ns >= 2 && k < BUCKETS - 1; ns /= 2) k++;
	t->in[k]++;
	t->n++;
}

/* An upper bound of a quantile, in microseconds. */
static double times_quantile(const Times *t, double q) {
	uint64_t seen = 0;
	for (int k = 0; k < BUCKETS; k++) {
		seen += t->in[k];
		if ((double)seen >= q * (double)t->n) return ldexp(1e-3, k + 1);
	}
	return NAN;
}

/* ---- threads ------------------------------------------------------------- */

enum { PIECES_PER_CONTEXT = 500 };

static bool renew(Worker *w, Work *work) {
	pthread_mutex_lock(&w->lock);
	atled_context_free(work->ctx);
	work->ctx = atled_context_new(w->engine);
	atomic_store(&w->ctx, work->ctx);
	pthread_mutex_unlock(&w->lock);
	return work_prepare(work);
}

static void *work_until(void *arg) {
	Worker *w = arg;
	Work work = {.random = w->seed};
	const double end = clock_seconds() + w->o->seconds;
	for (int64_t k = 0; clock_seconds() < end; k++) {
		if (k % PIECES_PER_CONTEXT == 0 && !renew(w, &work)) abort();
		const uint64_t which = draw(&work.random, PIECES);
		const double start = clock_seconds();
		const WorkResult r = pieces[which].run(&work);
		times_add(&w->times[which], clock_seconds() - start);
		w->right += r == WORK_RIGHT;
		w->stopped += r == WORK_STOPPED;
		if (r == WORK_WRONG && w->wrong++ < 5)
			printf("failed: %s: %s\n", pieces[which].name, work.why);
	}
	pthread_mutex_lock(&w->lock);
	atled_context_free(work.ctx);
	atomic_store(&w->ctx, NULL);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void interrupt_one(Worker *w) {
	pthread_mutex_lock(&w->lock);
	atled_context *x = atomic_load(&w->ctx);
	if (x) atled_interrupt(x);
	pthread_mutex_unlock(&w->lock);
}

static void print_times(const Worker *w, int n) {
	printf("%-12s %10s %12s %12s\n", "piece", "times", "median, us", "p99, us");
	for (int p = 0; p < PIECES; p++) {
		Times t = {.n = 0};
		for (int k = 0; k < n; k++) {
			t.n += w[k].times[p].n;
			for (int b = 0; b < BUCKETS; b++) t.in[b] += w[k].times[p].in[b];
		}
		printf("%-12s %10llu %12.0f %12.0f\n", pieces[p].name, (unsigned long long)t.n,
		       times_quantile(&t, 0.5), times_quantile(&t, 0.99));
	}
}

/* Whether the process grew too much: from the largest size at the tenths in
 * which it warms up to the largest at the last two. */
static bool grew(const Options *o, const double *size) {
	double before = 0;
	for (int k = 0; k <= WARM; k++) before = fmax(before, size[k]);
	const double after = fmax(size[TENTHS - 2], size[TENTHS - 1]);
	const double percent = 100 * (after - before) / before;
	printf("size in MB:");
	for (int k = 0; k < TENTHS; k++) printf(" %.1f", size[k]);
	printf("; growth after the start: %.2f %%\n", percent);
	return o->flat > 0 && percent > o->flat;
}

static int run_threads(const Options *o) {
	atled_engine *engine = atled_engine_new(NULL);
	Worker *w = calloc((size_t)o->threads, sizeof *w);
	if (!engine || !w) abort();
	for (int k = 0; k < o->threads; k++) {
		w[k] = (Worker){.o = o, .engine = engine, .seed = o->seed + (uint64_t)k};
		pthread_mutex_init(&w[k].lock, NULL);
		if (pthread_create(&w[k].thread, NULL, work_until, &w[k])) abort();
	}
	double size[TENTHS] = {0}; /* the largest */
	const double start = clock_seconds();
	uint64_t turn = 0;
	for (int k = 0; k < TENTHS; k++) {
		while (clock_seconds() - start < o->seconds * (k + 1) / TENTHS) {
			usleep(200000);
			interrupt_one(&w[turn++ % (uint64_t)o->threads]);
			size[k] = fmax(size[k], megabytes());
		}
	}
	int64_t right = 0, stopped = 0, wrong = 0;
	for (int k = 0; k < o->threads; k++) {
		pthread_join(w[k].thread, NULL);
		right += w[k].right, stopped += w[k].stopped, wrong += w[k].wrong;
	}
	print_times(w, o->threads);
	printf("%lld pieces in %d threads, %lld stopped\n", (long long)(right + stopped + wrong),
	       o->threads, (long long)stopped);
	wrong += grew(o, size);
	printf("%lld passed, %lld failed\n", (long long)right, (long long)wrong);
	free(w);
	atled_engine_free(engine);
	return wrong > 0 || !right;
}

/* ---- a service ----------------------------------------------------------- */

static atled_status call_once(atled_context *x, const atled_function *f, double a, double *y) {
	atled_tensor *in = NULL, *out = NULL;
	atled_array v = {.size = sizeof v};
	atled_status st = atled_tensor_new(x, ATLED_F64, 0, NULL, &in);
	if (st == ATLED_OK) st = atled_tensor_view(in, &v);
	if (st == ATLED_OK) *(double *)v.data = a;
	if (st == ATLED_OK) st = atled_call(x, f, 1, &in, 1, &out);
	if (st == ATLED_OK) st = atled_tensor_view(out, &v);
	if (st == ATLED_OK) *y = *(const double *)v.data;
	atled_tensor_free(in);
	atled_tensor_free(out);
	return st;
}

static int run_service(const Options *o) {
	Work work = {.ctx = atled_context_new(NULL), .random = o->seed};
	if (!work_prepare(&work) ||
	    atled_compile(work.ctx, "f(x) = x*exp(-x)", ATLED_ZERO, NULL) != ATLED_OK)
		abort();
	atled_function *f = NULL;
	if (atled_lookup(work.ctx, "f", "(f64) -> f64", &f) != ATLED_OK) abort();
	Times calls = {.n = 0}, compilations = {.n = 0};
	double size[TENTHS];
	int64_t right = 0, wrong = 0;
	for (int64_t k = 0; k < o->calls; k++) {
		const double a = (double)(k % 1000) / 100;
		double y = NAN, start = clock_seconds();
		const atled_status st = call_once(work.ctx, f, a, &y);
		times_add(&calls, clock_seconds() - start);
		if (st == ATLED_OK && fabs(y - a * exp(-a)) <= 1e-15) right++;
		else wrong++;
		if (k % o->every == 0) {
			start = clock_seconds();
			const Piece *compile = pieces;
			while (!compile->compiles) compile++;
			if (compile->run(&work) == WORK_RIGHT) right++;
			else if (wrong++ < 5) printf("failed: %s\n", work.why);
			times_add(&compilations, clock_seconds() - start);
		}
		if ((k + 1) * TENTHS / o->calls > k * TENTHS / o->calls)
			size[k * TENTHS / o->calls] = megabytes();
	}
	printf("%llu calls: median %.1f us, p99 %.1f us; %llu compilations: median %.0f us, p99 %.0f "
	       "us\n",
	       (unsigned long long)calls.n, times_quantile(&calls, 0.5), times_quantile(&calls, 0.99),
	       (unsigned long long)compilations.n, times_quantile(&compilations, 0.5),
	       times_quantile(&compilations, 0.99));
	wrong += grew(o, size);
	printf("%lld passed, %lld failed\n", (long long)right, (long long)wrong);
	atled_function_free(f);
	atled_context_free(work.ctx);
	return wrong > 0;
}

/* ---- options ------------------------------------------------------------- */

static const char usage[] =
	"usage: soak_test [OPTION...]\n"
	"  --threads N  contexts at work, each in a thread (8)\n"
	"  --seconds S  how long they work (5)\n"
	"  --calls N    instead: calls of one function in one context\n"
	"  --every N    a new function with every so many calls (10)\n"
	"  --flat P     fail when the process grows by more percent after the start\n"
	"  --seed N     of the random numbers (1)\n";

int main(int argc, char **argv) {
	Options o = {.threads = 8, .seconds = 5, .every = 10, .seed = 1};
	for (int i = 1; i < argc; i += 2) {
		const char *a = argv[i], *b = i + 1 < argc ? argv[i + 1] : "";
		if (!strcmp(a, "--threads")) o.threads = (int)strtol(b, NULL, 10);
		else if (!strcmp(a, "--seconds")) o.seconds = strtod(b, NULL);
		else if (!strcmp(a, "--calls")) o.calls = strtoll(b, NULL, 10);
		else if (!strcmp(a, "--every")) o.every = strtoll(b, NULL, 10);
		else if (!strcmp(a, "--flat")) o.flat = strtod(b, NULL);
		else if (!strcmp(a, "--seed")) o.seed = strtoull(b, NULL, 10);
		else o.threads = 0;
	}
	if (o.threads < 1 || o.threads > THREADS_MOST || o.every < 1 || (o.calls && o.calls < TENTHS)) {
		fputs(usage, stderr);
		return 2;
	}
	return o.calls ? run_service(&o) : run_threads(&o);
}
