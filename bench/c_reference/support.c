/* support.c - memory, threads, inputs and machine rates for the C references.
 *
 * Needs: vec.h, POSIX threads; uses madvise if available.
 *
 * Guarantees: those of limit.h. Threads spin for about 100 us before they
 * sleep, so that consecutive runs find them awake.
 */
#define _GNU_SOURCE
#include "limit.h"
#include "vec.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* ---- memory -------------------------------------------------------------- */

_Noreturn void limit_stop(const char *why) {
	fprintf(stderr, "bench: %s\n", why);
	exit(1);
}

void *limit_memory(size_t bytes) {
	const size_t page = (size_t)2 << 20;
	size_t align = bytes >= page ? page : 64;
	size_t n = (bytes + align - 1) / align * align;
	void *p = aligned_alloc(align, n ? n : align);
	if (!p) limit_stop("no memory");
#ifdef MADV_HUGEPAGE
	if (align == page) madvise(p, n, MADV_HUGEPAGE);
#endif
	memset(p, 0, n);
	return p;
}

int64_t limit_count(const Array *a) {
	int64_t n = 1;
	for (int i = 0; i < a->rank; i++) n *= a->shape[i];
	return n;
}

Array limit_array(Element element, int64_t n0, int64_t n1, int64_t n2) {
	Array a = {.element = element, .rank = (n0 > 0) + (n1 > 0) + (n2 > 0), .shape = {n0, n1, n2}};
	a.data = limit_memory((size_t)limit_count(&a) * (element == REAL32 ? 4 : 8));
	return a;
}

void limit_fill(Array *a, uint64_t seed, double lo, double hi) {
	/* splitmix64 */
	uint64_t s = seed * 0x9e3779b97f4a7c15u;
	for (int64_t i = 0, n = limit_count(a); i < n; i++) {
		uint64_t z = s += 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		double x = lo + (hi - lo) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
		if (a->element == REAL64) ((double *)a->data)[i] = x;
		if (a->element == REAL32) ((float *)a->data)[i] = (float)x;
		if (a->element == WHOLE64) ((int64_t *)a->data)[i] = (int64_t)x;
	}
}

/* ---- threads ------------------------------------------------------------- */

#define MOST_PARTS 256
#define SPINS 4000

static struct {
	int started;
	Part f;
	void *ud;
	int parts;
	_Atomic unsigned turn, done, waiting;
	_Atomic int sleepers;
	pthread_mutex_t lock;
	pthread_cond_t wake;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void *worker(void *ud) {
	int part = (int)(intptr_t)ud;
	for (unsigned seen = 0;;) {
		for (int spin = 0; atomic_load_explicit(&pool.turn, memory_order_acquire) == seen; spin++) {
			if (spin < SPINS) {
				relax();
				continue;
			}
			pthread_mutex_lock(&pool.lock);
			atomic_fetch_add(&pool.sleepers, 1);
			while (atomic_load(&pool.turn) == seen) pthread_cond_wait(&pool.wake, &pool.lock);
			atomic_fetch_sub(&pool.sleepers, 1);
			pthread_mutex_unlock(&pool.lock);
		}
		seen++;
		if (part < pool.parts) pool.f(part, pool.parts, pool.ud);
		atomic_fetch_add_explicit(&pool.done, 1, memory_order_release);
	}
	return NULL;
}

void limit_parallel(int parts, Part f, void *ud) {
	if (parts < 2) {
		f(0, 1, ud);
		return;
	}
	if (parts > MOST_PARTS) limit_stop("too many threads");
	/* Every worker counts all parallel sections, so none may start late: all
	 * are started at the first use. */
	if (!pool.started) {
		for (int k = 1; k < parts; k++) {
			pthread_t t;
			if (pthread_create(&t, NULL, worker, (void *)(intptr_t)k)) limit_stop("no thread");
		}
		pool.started = parts;
	}
	if (parts > pool.started) limit_stop("more threads than at the first use");
	pool.f = f;
	pool.ud = ud;
	pool.parts = parts;
	atomic_store(&pool.done, 0);
	atomic_fetch_add(&pool.turn, 1);
	if (atomic_load(&pool.sleepers)) {
		pthread_mutex_lock(&pool.lock);
		pthread_cond_broadcast(&pool.wake);
		pthread_mutex_unlock(&pool.lock);
	}
	f(0, parts, ud);
	for (int spin = 0;
	     atomic_load_explicit(&pool.done, memory_order_acquire) != (unsigned)pool.started - 1;
	     spin++) {
		relax();
		if (spin > SPINS) sched_yield();
	}
}

void limit_barrier(int parts) {
	if (parts < 2) return;
	unsigned mine = atomic_fetch_add(&pool.waiting, 1);
	unsigned until = mine / (unsigned)parts * (unsigned)parts + (unsigned)parts;
	for (int spin = 0; (int)(atomic_load_explicit(&pool.waiting, memory_order_acquire) - until) < 0;
	     spin++) {
		relax();
		if (spin > SPINS) sched_yield();
	}
}

/* ---- machine rates ------------------------------------------------------- */

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* enough independent sums to hide the latency of two units; with AVX2 they
 * still fit the 16 registers */
#define SUMS 12
#define TURNS 4000000
static volatile double sink;

static void peak64(int part, int parts, void *ud) {
	(void)part, (void)parts, (void)ud;
	vd m = vd_set(0.999999), c = vd_set(1e-9), a[SUMS];
	UNROLL for (int i = 0; i < SUMS; i++) a[i] = vd_set(i);
	for (int k = 0; k < TURNS; k++) {
		UNROLL for (int i = 0; i < SUMS; i++) a[i] = a[i] * m + c;
		/* keeps the sums separate, so that no compiler re-rolls the loop */
		UNROLL for (int i = 0; i < SUMS; i++) KEEP(a[i]);
	}
	UNROLL for (int i = 1; i < SUMS; i++) a[0] += a[i];
	sink = vd_sum(a[0]);
}
static void peak32(int part, int parts, void *ud) {
	(void)part, (void)parts, (void)ud;
	vf m = vf_set(0.999999f), c = vf_set(1e-9f), a[SUMS];
	UNROLL for (int i = 0; i < SUMS; i++) a[i] = vf_set((float)i);
	for (int k = 0; k < TURNS; k++) {
		UNROLL for (int i = 0; i < SUMS; i++) a[i] = a[i] * m + c;
		UNROLL for (int i = 0; i < SUMS; i++) KEEP(a[i]);
	}
	UNROLL for (int i = 1; i < SUMS; i++) a[0] += a[i];
	sink = vf_sum(a[0]);
}

double limit_peak(Element element, int threads) {
	double best = 0;
	for (int k = 0; k < 7; k++) {
		double start = seconds();
		limit_parallel(threads, element == REAL32 ? peak32 : peak64, NULL);
		double rate =
			2.0 * SUMS * TURNS * (element == REAL32 ? VF : VD) * threads / (seconds() - start);
		if (rate > best) best = rate;
	}
	return best;
}

typedef struct Triad {
	double *a, *b, *c;
	int64_t n;
} Triad;

static void triad(int part, int parts, void *ud) {
	Triad *t = ud;
	int64_t from, to;
	limit_share(t->n, VD, part, parts, &from, &to);
	for (int64_t i = from; i < to; i += VD)
		vd_stream(t->a + i, vd_load(t->b + i) + 3.0 * vd_load(t->c + i));
	stream_end();
}

double limit_bandwidth(int threads) {
	const int64_t n = 10000000 / 64 * 64;
	Triad t = {limit_memory((size_t)n * 8), limit_memory((size_t)n * 8),
	           limit_memory((size_t)n * 8), n};
	double best = 0;
	for (int k = 0; k < 9; k++) {
		double start = seconds();
		limit_parallel(threads, triad, &t);
		double rate = 24.0 * (double)n / (seconds() - start);
		if (rate > best) best = rate;
	}
	free(t.a), free(t.b), free(t.c);
	return best;
}

int limit_vector_bits(void) { return 8 * VECTOR_BYTES; }
