/* test_thread_pool.c - unit tests of the thread pool.
 *
 * Each chunk runs exactly once, whichever jobs share the threads, and no thread
 * keeps running afterwards. The test pretends four processors, so that workers
 * exist on every machine.
 *
 * Needs: lang/base/thread_pool.h.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lang/base/thread_pool.h"
#include "tests/unit/support/check.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin(double s) {
	const double until = seconds(CLOCK_MONOTONIC) + s;
	while (seconds(CLOCK_MONOTONIC) < until) {}
}

static void doze(double s) {
	struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
	nanosleep(&t, NULL);
}

static int threads_of_process(void) {
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d));) n += *e->d_name != '.';
	if (d) closedir(d);
	return n;
}

/* ---- jobs ---------------------------------------------------------------- */

enum { MOST = 5000 };
typedef struct Job {
	Pool *pool;
	int width;
	atomic_int times[MOST];
	atomic_int ran, strange, polls, watches;
	int fail_at; /* the poll or watch that fails; 0: none */
	double part_seconds;
	unsigned modes;
	_Atomic unsigned wrong_modes;
	int64_t parts; /* of the nested job */
	atomic_llong sum;
} Job;

static void count_part(void *ud, int64_t part) {
	Job *j = ud;
	atomic_fetch_add(&j->times[part], 1);
	atomic_fetch_add(&j->ran, 1);
	if (pool_worker() < 0 || pool_worker() >= j->width) atomic_fetch_add(&j->strange, 1);
	if (j->part_seconds > 0) spin(j->part_seconds);
}

static Status count_poll(void *ud) {
	Job *j = ud;
	if (pool_worker()) atomic_fetch_add(&j->strange, 1);
	const int n = atomic_fetch_add(&j->polls, 1) + 1;
	return n == j->fail_at ? ST_INTERRUPTED : ST_OK;
}

static bool once_each(const Job *j, int64_t parts) {
	for (int64_t k = 0; k < MOST; k++)
		if (atomic_load(&j->times[k]) != (k < parts)) return false;
	return true;
}

static Job *job_new(Pool *p) {
	Job *j = calloc(1, sizeof *j);
	if (!j) exit(2);
	j->pool = p;
	j->width = pool_width(p);
	return j;
}

static void test_parts(Ctx *c) {
	for (int threads = 0; threads <= 5; threads++) {
		Pool *p = pool_new(c, threads);
		CHECK(p && pool_width(p) == (threads && threads < 4 ? threads : 4));
		static const int64_t counts[] = {0, 1, 2, 3, 4, 7, 64, 1000, MOST};
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
			for (int round = 0; round < 5; round++) {
				Job *j = job_new(p);
				CHECK(pool_run(p, counts[i], count_part, j, round & 1 ? count_poll : NULL) ==
				      ST_OK);
				CHECK(once_each(j, counts[i]) && !j->strange);
				CHECK(j->polls == (round & 1 ? counts[i] : 0));
				if (round == 2) doze(0.001); /* lets the workers fall asleep */
				free(j);
			}
		}
		pool_free(c, p);
	}
	CHECK(pool_worker() == 0);
	pool_free(c, NULL);
}

static void test_many_jobs(Ctx *c) {
	Pool *p = pool_new(c, 0);
	Job *j = job_new(p);
	int64_t want = 0;
	for (int i = 0; i < 20000; i++) {
		pool_run(p, 1 + i % 9, count_part, j, NULL);
		want += 1 + i % 9;
	}
	CHECK(j->ran == want && !j->strange);
	free(j);
	pool_free(c, p);
}

/* ---- stopping ------------------------------------------------------------ */

static void test_polls(Ctx *c) {
	Pool *p = pool_new(c, 0);
	Job *j = job_new(p);
	j->fail_at = 3;
	j->part_seconds = 20e-6;
	CHECK(pool_run(p, MOST, count_part, j, count_poll) == ST_INTERRUPTED);
	CHECK(j->ran < MOST && j->polls == 3);
	bool most_once = true;
	for (int k = 0; k < MOST; k++) most_once &= j->times[k] <= 1;
	CHECK(most_once);
	free(j);
	j = job_new(p); /* the next job is complete again */
	CHECK(pool_run(p, MOST, count_part, j, count_poll) == ST_OK && once_each(j, MOST));
	free(j);
	Pool *alone = pool_new(c, 1);
	j = job_new(alone);
	j->fail_at = 3;
	CHECK(pool_run(alone, MOST, count_part, j, count_poll) == ST_INTERRUPTED && j->ran == 3);
	free(j);
	pool_free(c, alone);
	pool_free(c, p);
}

/* A worker's chunk runs until it is told to stop. The caller only waits, so it
 * must call the watch function. */
typedef struct Long {
	atomic_bool stop, began;
	atomic_int watches;
	_Atomic bool on_caller;
} Long;

static void long_part(void *ud, int64_t part) {
	Long *l = ud;
	if (!pool_worker()) { /* the caller leaves the long chunk to a worker */
		const double until = seconds(CLOCK_MONOTONIC) + 2;
		while (!atomic_load(&l->began) && seconds(CLOCK_MONOTONIC) < until) {}
		if (!atomic_load(&l->began)) atomic_store(&l->on_caller, true);
		return;
	}
	(void)part;
	atomic_store(&l->began, true);
	const double until = seconds(CLOCK_MONOTONIC) + 5;
	while (!atomic_load(&l->stop) && seconds(CLOCK_MONOTONIC) < until) {}
}

static Status watch_long(void *ud) {
	Long *l = ud;
	if (atomic_fetch_add(&l->watches, 1) < 5) return ST_OK;
	atomic_store(&l->stop, true);
	return ST_LIMIT;
}

static void test_watch(Ctx *c) {
	Pool *p = pool_new(c, 2);
	Long l = {0};
	const double t = seconds(CLOCK_MONOTONIC);
	const Status st = pool_run_watched(p, 2, long_part, &l, watch_long);
	if (!l.on_caller) CHECK(st == ST_LIMIT && l.watches == 6 && seconds(CLOCK_MONOTONIC) - t < 4);
	Job *j = job_new(p);
	CHECK(pool_run_watched(p, 100, count_part, j, count_poll) == ST_OK && once_each(j, 100) &&
	      j->polls <= 101);
	free(j);
	pool_free(c, p);
}

/* ---- work queues of the threads ------------------------------------------ */

typedef struct Shares {
	atomic_int begun;
	int parts;
	_Atomic int by[64]; /* the thread that ran the chunk, plus 1 */
	_Atomic int order[64];
} Shares;

/* Each chunk waits until every thread has one, so that no thread can steal
 * another's. */
static void share_part(void *ud, int64_t part) {
	Shares *s = ud;
	s->by[part] = pool_worker() + 1;
	s->order[part] = atomic_fetch_add(&s->begun, 1);
	const double until = seconds(CLOCK_MONOTONIC) + 10;
	while (s->begun < s->parts && seconds(CLOCK_MONOTONIC) < until) doze(0.0001);
}

static void quick_part(void *ud, int64_t part) {
	Shares *s = ud;
	s->by[part] = pool_worker() + 1;
	s->order[part] = atomic_fetch_add(&s->begun, 1);
}

static Status no_watch(void *ud) {
	(void)ud;
	return ST_OK;
}

static void test_shares(Ctx *c) {
	Pool *p = pool_new(c, 4);
	const int width = pool_width(p);
	Shares s = {.parts = width};
	doze(0.3); /* longer than a stalled worker is left out */
	CHECK(pool_run_watched(p, width, share_part, &s, no_watch) == ST_OK && s.begun == width);
	for (int k = 0; k < width; k++) CHECK(s.by[k] == k + 1);
	for (int parts = 1; parts <= 40; parts++)
		for (int turn = 0; turn < 20; turn++) {
			memset(&s, 0, sizeof s);
			CHECK(pool_run_watched(p, parts, quick_part, &s, no_watch) == ST_OK &&
			      s.begun == parts);
			bool all = true, ascending = true;
			for (int k = 0; k < parts; k++) all = all && s.by[k];
			/* A thread runs its own queue in ascending order. */
			for (int k = 1; k < parts && parts <= 32; k++) {
				/* The thread that owns the chunk: only chunks of one queue are
				 * compared. */
				const int own = k * width / parts;
				if (parts % width == 0 && own == (k - 1) * width / parts && s.by[k] == own + 1 &&
				    s.by[k - 1] == own + 1)
					ascending = ascending && s.order[k] > s.order[k - 1];
			}
			CHECK(all && ascending);
		}
	pool_free(c, p);
}

/* ---- nested and concurrent jobs ------------------------------------------ */

static void inner_part(void *ud, int64_t part) { atomic_fetch_add(&((Job *)ud)->sum, part + 1); }

static void outer_part(void *ud, int64_t part) {
	Job *j = ud;
	const int me = pool_worker();
	atomic_fetch_add(&j->times[part], 1);
	if (pool_run(j->pool, j->parts, inner_part, j, NULL) != ST_OK || pool_worker() != me)
		atomic_fetch_add(&j->strange, 1);
}

static void test_nested(Ctx *c) {
	Pool *p = pool_new(c, 0);
	Job *j = job_new(p);
	j->parts = 50;
	CHECK(pool_run(p, 200, outer_part, j, NULL) == ST_OK && once_each(j, 200) && !j->strange);
	CHECK(j->sum == 200LL * 50 * 51 / 2);
	free(j);
	pool_free(c, p);
}

static void *one_context(void *unused) {
	Ctx *c = ctx_new(NULL);
	for (int round = 0; round < 10; round++) {
		Pool *p = pool_new(c, round % 4);
		for (int i = 0; i < 50; i++) {
			Job *j = job_new(p);
			const int64_t parts = 1 + (i * 37) % 300;
			CHECK(pool_run(p, parts, count_part, j, i & 1 ? count_poll : NULL) == ST_OK &&
			      once_each(j, parts) && !j->strange);
			free(j);
		}
		pool_free(c, p);
	}
	ctx_free(c);
	return unused;
}

static void test_contexts(void) {
	pthread_t ids[4];
	for (int i = 0; i < 4; i++) pthread_create(&ids[i], NULL, one_context, NULL);
	for (int i = 0; i < 4; i++) pthread_join(ids[i], NULL);
}

/* ---- fork and floating-point modes of the process ------------------------ */

static void test_life(Ctx *c) {
	const int before = threads_of_process();
	Pool *a = pool_new(c, 3), *b = pool_new(c, 4);
	CHECK(threads_of_process() == before + 3); /* shared: as many as the larger pool needs */
	pool_free(c, a);
	CHECK(threads_of_process() == before + 3);
	pool_free(c, b);
	for (int i = 0; i < 1000 && threads_of_process() > before; i++) doze(0.001);
	CHECK(threads_of_process() == before);
	heap_fail_at(c, 1, false);
	CHECK(!pool_new(c, 2));
	heap_fail_at(c, 0, false);
	pool_pretend_processors(1);
	Pool *alone = pool_new(c, 0);
	CHECK(alone && pool_width(alone) == 1 && threads_of_process() == before);
	pool_free(c, alone);
	pool_pretend_processors(4);
}

static void test_idle(Ctx *c) {
	Pool *p = pool_new(c, 0);
	Job *j = job_new(p);
	pool_run(p, 100, count_part, j, NULL);
	doze(0.02);
	const double t = seconds(CLOCK_PROCESS_CPUTIME_ID);
	doze(0.3);
	const double used = seconds(CLOCK_PROCESS_CPUTIME_ID) - t;
	CHECK(used < (SANITIZED ? 0.1 : 0.01));
	free(j);
	pool_free(c, p);
}

static int exit_of(pid_t child) {
	int status = -1;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* A child of fork has one thread and the same pools. */
static void test_fork(Ctx *c) {
	Pool *p = pool_new(c, 0);
	for (int round = 0; round < 10; round++) {
		Job *j = job_new(p);
		pool_run(p, 50, count_part, j, NULL);
		if (round & 1) doze(0.001);
		const pid_t child = fork();
		if (!child) {
			alarm(60);
			Job *k = job_new(p);
			bool good = pool_run(p, 300, count_part, k, count_poll) == ST_OK && once_each(k, 300) &&
			            threads_of_process() == 1;
			pool_free(c, p);
			if (!SANITIZED) { /* New pools of its own, too. The thread sanitizer forbids this. */
				Pool *q = pool_new(c, 3);
				memset(k, 0, sizeof *k);
				k->width = 3;
				good = good && q && threads_of_process() == 3 &&
				       pool_run(q, 300, count_part, k, NULL) == ST_OK && once_each(k, 300);
				pool_free(c, q);
			}
			_exit(good ? 0 : 1);
		}
		CHECK(exit_of(child) == 0);
		pool_run(p, 50, count_part, j, NULL);
		CHECK(j->ran == 100);
		free(j);
	}
	pool_free(c, p);
}

/* Default; denormals flushed to zero; rounding down; default. */
#if defined(__x86_64__)
static const unsigned modes[] = {0x1f80, 0x9fc0, 0x3f80, 0x1f80};
static unsigned get_modes(void) { return __builtin_ia32_stmxcsr(); }
static void set_modes(unsigned to) { __builtin_ia32_ldmxcsr(to); }
enum { MODES = 0xffc0 };
#else
static const unsigned modes[] = {0, 1 << 24, 2 << 22, 0};
static unsigned get_modes(void) {
	uint64_t now;
	__asm__ volatile("mrs %0, fpcr" : "=r"(now));
	return (unsigned)now;
}
static void set_modes(unsigned to) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)to)); }
enum { MODES = -1 };
#endif

static void look_at_modes(void *ud, int64_t part) {
	Job *j = ud;
	(void)part;
	if ((get_modes() & (unsigned)MODES) != j->modes) atomic_fetch_add(&j->wrong_modes, 1);
	spin(5e-6);
}

static void test_modes(Ctx *c) {
	Pool *p = pool_new(c, 0);
	const unsigned before = get_modes();
	for (size_t i = 0; i < 4; i++) {
		Job *j = job_new(p);
		j->modes = modes[i];
		set_modes(modes[i]);
		pool_run(p, 200, look_at_modes, j, NULL);
		set_modes(before);
		CHECK(!j->wrong_modes);
		free(j);
	}
	pool_free(c, p);
}

/* ---- counters ------------------------------------------------------------ */

static void nothing(void *ud, int64_t part) {
	(void)ud;
	(void)part;
}

static void busy(void *ud, int64_t part) {
	volatile double *x = (volatile double *)ud + part * 16;
	for (int i = 0; i < 4000; i++) *x += 1;
}

static int by_size(const void *x, const void *y) {
	const double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

static void measure(Ctx *c) {
	pool_pretend_processors(0);
	static double x[64 * 16], t[2001];
	Pool *p = pool_new(c, 0);
	for (int k = 0; k < 2; k++) {
		void (*body)(void *, int64_t) = k ? busy : nothing;
		const int64_t parts = pool_width(p) < 64 ? pool_width(p) : 64;
		for (int i = 0; i < 2001; i++) {
			const double t0 = seconds(CLOCK_MONOTONIC);
			pool_run(p, parts, body, x, NULL);
			t[i] = seconds(CLOCK_MONOTONIC) - t0;
		}
		qsort(t, 2001, sizeof *t, by_size);
		double alone = seconds(CLOCK_MONOTONIC);
		for (int i = 0; i < 100; i++) body(x, 0);
		alone = (seconds(CLOCK_MONOTONIC) - alone) / 100;
		printf("%d threads, %s: median %.2f us, tenth %.2f us a job; one part alone %.2f us\n",
		       pool_width(p), k ? "parts of some microseconds" : "empty parts", t[1000] * 1e6,
		       t[200] * 1e6, alone * 1e6);
	}
	for (int i = 0; i < 200; i++) {
		doze(0.0005);
		const double t0 = seconds(CLOCK_MONOTONIC);
		pool_run(p, pool_width(p), nothing, NULL, NULL);
		t[i] = seconds(CLOCK_MONOTONIC) - t0;
	}
	qsort(t, 200, sizeof *t, by_size);
	printf("after half a millisecond of sleep, empty parts: median %.2f us\n", t[100] * 1e6);
	pool_free(c, p);
}

#define PAUSE 0.3 /* longer than a stalled worker is left out */

/* Chunk 0 waits for another thread to begin chunk 1, for at most two
 * seconds. */
typedef struct Meeting {
	atomic_int there;
	atomic_bool met;
} Meeting;

static void meet(void *ud, int64_t part) {
	Meeting *m = ud;
	if (part) {
		atomic_store(&m->there, 1 + pool_worker());
		return;
	}
	const double t0 = seconds(CLOCK_MONOTONIC);
	while (!atomic_load(&m->there) && seconds(CLOCK_MONOTONIC) - t0 < 2) doze(1e-5);
	const int other = atomic_load(&m->there);
	if (other && other != 1 + pool_worker()) atomic_store(&m->met, true);
}

/* Each job wakes the sleeping workers it needs, in pools of two to four
 * threads. The counters record it. */
static void test_waking(Ctx *c) {
	for (int threads = 2; threads <= 4; threads++) {
		Pool *p = pool_new(c, threads);
		doze(PAUSE);
		const PoolCounters before = pool_counters();
		uint64_t stalled = before.stalled;
		int met = 0;
		for (int i = 0; i < 40; i++) {
			Meeting m = {0};
			doze(i % 4 ? 0.0005 : 0.02);
			/* A worker stalled because the machine is busy; it may be used
			 * again after the pause. */
			if (pool_counters().stalled != stalled) doze(PAUSE);
			stalled = pool_counters().stalled;
			pool_run(p, 2, meet, &m, NULL);
			met += atomic_load(&m.met);
		}
		CHECK(met == 40);
		const PoolCounters after = pool_counters();
		CHECK(after.jobs - before.jobs == 40 && after.alone == before.alone);
		CHECK(after.asleep > before.asleep);
		pool_free(c, p);
	}
}

/* The caller's chunk 0 is short. A worker's chunk takes as long as if its
 * thread had been preempted. */
static void hold_up(void *ud, int64_t part) {
	atomic_int *by = ud;
	atomic_fetch_add(&by[part], 1);
	if (pool_worker()) doze(0.01);
	else if (!part) doze(0.001);
}

static void share_nothing(void *ud, int64_t part) { atomic_fetch_add((atomic_int *)ud + part, 1); }

static void long_job(void *ud, int64_t part) {
	atomic_int *by = ud;
	atomic_fetch_add(&by[part], 1);
	if (pool_worker()) atomic_store(&by[63], 1);
	doze(0.002);
}

/* The pool leaves out a worker that stalls a job for a while. A long job tries
 * the worker again during that time. Each chunk runs once in every case. */
static void test_held_up(Ctx *c) {
	Pool *p = pool_new(c, 2);
	for (int own = 0; own < 2; own++) {
		bool left_out = false, tried = false;
		/* Tries again when this thread itself was preempted. */
		for (int attempt = 0; attempt < 20 && !left_out; attempt++) {
			doze(PAUSE);
			const PoolCounters before = pool_counters();
			atomic_int by[64] = {0}, alone[2] = {0};
			int jobs = 0;
			while (pool_counters().stalled == before.stalled && jobs < 200) {
				jobs++;
				if (own) CHECK(pool_run_watched(p, 4, hold_up, by, NULL) == ST_OK);
				else CHECK(pool_run(p, 4, hold_up, by, NULL) == ST_OK);
			}
			CHECK(pool_counters().stalled == before.stalled + 1);
			for (int k = 0; k < 4; k++) CHECK(by[k] == jobs);
			if (own) CHECK(pool_run_watched(p, 2, share_nothing, alone, NULL) == ST_OK);
			else CHECK(pool_run(p, 2, share_nothing, alone, NULL) == ST_OK);
			CHECK(alone[0] == 1 && alone[1] == 1);
			left_out = pool_counters().paused == before.paused + 1;
		}
		CHECK(left_out);
		/* The worker takes some of 24 chunks of 2 ms, although the pause may
		 * not be over. */
		for (int attempt = 0; attempt < 20 && !tried; attempt++) {
			atomic_int many[64] = {0};
			if (own) CHECK(pool_run_watched(p, 24, long_job, many, NULL) == ST_OK);
			else CHECK(pool_run(p, 24, long_job, many, NULL) == ST_OK);
			for (int k = 0; k < 24; k++) CHECK(many[k] == 1);
			tried = many[63] == 1;
		}
		CHECK(tried);
	}
	pool_free(c, p);
}

int main(void) {
	Ctx *c = ctx_new(NULL);
	pool_pretend_processors(4);
	test_parts(c);
	test_many_jobs(c);
	test_polls(c);
	test_watch(c);
	test_shares(c);
	test_nested(c);
	test_contexts();
	test_life(c);
	test_idle(c);
	test_waking(c);
	test_held_up(c);
	test_fork(c);
	test_modes(c);
	measure(c);
	CHECK(heap_used(c) > 0);
	ctx_free(c);
	return check_end();
}
