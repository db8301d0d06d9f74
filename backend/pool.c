/* pool.c - the process's worker threads: one word that hands out parts, spinning before sleeping, processors apart from the caller's.
 *
 * Needs: pool.h, pthreads; futexes where there are some (Linux), else a condition variable. Guarantees: what pool.h says.
 *
 * One job runs at a time. Its parts are handed out by one atomic word that holds which are left and which workers may take one:
 *
 *     caller                          worker
 *     fill in the job                 spin until the word has parts left
 *     pending = parts                 take one: compare-and-swap the word
 *     word = parts left  (release)    read the job (acquire, so it is the one the part belongs to)
 *     take parts like a worker        run the part
 *     wait for pending == 0           pending -= 1; who makes it 0 wakes the caller if it sleeps
 *
 * Parts that should stay where they were are handed out to their own threads first: a loop that passes the same arrays again and again, as a stencil does,
 * then finds a thread's rows in the caches of its own processor, which matters where processors have no cache in common.
 *
 * A worker reads the job only while it holds a part, and the caller changes the job only when no part is out, so nobody need be waited for
 * who merely looks. Why the rest is as it is, with measurements: a sleeping worker costs 16-50 us to wake, more than most jobs take, so
 * workers spin for SPIN_NS after their last part, and the caller never waits for sleepers: it takes the parts itself until they arrive. The
 * kernel likes to wake a worker on the caller's own processor, where the two then take turns (60 us a job); so workers are kept off it, and
 * moved when the caller is found elsewhere, at most every REPIN_NS.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/pool.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__) && !defined(ATLED_NO_FUTEX)
#include <linux/futex.h>
#include <sys/syscall.h>
#define HAVE_FUTEX 1
#else
#define HAVE_FUTEX 0
#endif

enum { MOST_WORKERS = 255, MOST_PARTS = INT32_MAX / 2, LOOK_AT_CLOCK = 32 };
#define SPIN_NS 80000    /* a worker's, since its last part */
#define PATIENCE_NS 200000 /* the caller's spinning for the parts of others */
#define REPIN_NS 2000000
#define WATCH_NS 1000000
#define STACK_BYTES ((size_t)8 * 1024 * 1024)

struct Pool {
	int workers; /* that may take its parts */
	unsigned generation;
};

/* The process's threads. Each line of the cache has one kind of traffic. */
static struct Crew {
	_Alignas(64) _Atomic uint64_t word; /* see LEFT */
	_Alignas(64) _Atomic uint32_t pending;
	atomic_bool waiting; /* the caller sleeps until pending is 0 */
	_Alignas(64) _Atomic uint32_t epoch; /* what idle workers sleep on */
	_Atomic uint32_t sleepers;
	/* the job: written while no part is out */
	_Alignas(64) void (*body)(void *ud, int64_t part);
	void *ud;
	int64_t parts;
	unsigned modes;
	/* whose job it is */
	_Alignas(64) atomic_bool taken;
	atomic_bool quit;
	atomic_int avoid; /* processor that workers keep off; -1: to be found out */
	int64_t pinned_at;
	/* under the lock */
	pthread_mutex_t lock;
	int users, pretended;
	atomic_uint generation; /* changes in a forked child: pools from before have no workers there */
	atomic_int started;
	pthread_t threads[MOST_WORKERS];
	_Atomic int ids[MOST_WORKERS]; /* the kernel's numbers; 0 until the thread runs */
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER, .avoid = -1};

static _Thread_local int self;    /* pool_worker() */
static _Thread_local bool inside; /* running a part */

/* ---- small things of the machine --------------------------------------------------------------------------------------------------------- */

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static unsigned float_modes(void) {
#if defined(__x86_64__)
	return __builtin_ia32_stmxcsr();
#else
	return 0;
#endif
}

static void set_float_modes(unsigned modes) {
#if defined(__x86_64__)
	if ((__builtin_ia32_stmxcsr() ^ modes) & ~0x3fu) __builtin_ia32_ldmxcsr(modes & ~0x3fu); /* the low bits say what happened so far */
#else
	(void)modes;
#endif
}

#if HAVE_FUTEX
/* Returns when the word is not `seen`, when woken, after the time, or for no reason. */
static void sleep_on(_Atomic uint32_t *word, uint32_t seen, int64_t ns) {
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ns ? &t : NULL, NULL, 0);
}
static void wake(_Atomic uint32_t *word, int n) {
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}
#else
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_wake = PTHREAD_COND_INITIALIZER;
static void sleep_on(_Atomic uint32_t *word, uint32_t seen, int64_t ns) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (t.tv_nsec + ns) / 1000000000;
	t.tv_nsec = (t.tv_nsec + ns) % 1000000000;
	pthread_mutex_lock(&sleep_lock);
	if (atomic_load(word) == seen) {
		if (ns) pthread_cond_timedwait(&sleep_wake, &sleep_lock, &t);
		else pthread_cond_wait(&sleep_wake, &sleep_lock);
	}
	pthread_mutex_unlock(&sleep_lock);
}
static void wake(_Atomic uint32_t *word, int n) {
	(void)word;
	(void)n;
	pthread_mutex_lock(&sleep_lock);
	pthread_cond_broadcast(&sleep_wake);
	pthread_mutex_unlock(&sleep_lock);
}
#endif

/* "max 100000" or "150000 100000": microseconds of processor time in so many. Threads that spin beyond that would only be throttled. */
static int granted_processors(int most) {
	FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
	if (!f) return most;
	long long quota, period;
	const bool limited = fscanf(f, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0;
	fclose(f);
	if (!limited) return most;
	const long long n = (quota + period - 1) / period;
	return n < 1 ? 1 : n < most ? (int)n : most;
}

int pool_processors(void) {
	if (crew.pretended) return crew.pretended;
	int n;
#ifdef __linux__
	cpu_set_t set;
	n = !sched_getaffinity(0, sizeof set, &set) ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
#else
	n = (int)sysconf(_SC_NPROCESSORS_ONLN);
#endif
	return granted_processors(n < 1 ? 1 : n);
}

void pool_pretend_processors(int n) {
	pthread_mutex_lock(&crew.lock);
	crew.pretended = n;
	pthread_mutex_unlock(&crew.lock);
}

/* Keeps workers off the processor that the calling thread is on. The owner of the job calls it. */
static void keep_apart(void) {
#ifdef __linux__
	const int here = sched_getcpu();
	const int avoid = atomic_load_explicit(&crew.avoid, memory_order_relaxed);
	if (here < 0 || here == avoid || crew.pretended) return;
	const int64_t t = now_ns();
	if (avoid >= 0 && t - crew.pinned_at < REPIN_NS) return;
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set)) return;
	if (here < CPU_SETSIZE) CPU_CLR(here, &set);
	if (!CPU_COUNT(&set)) return;
	bool all = true;
	for (int i = 0; i < atomic_load(&crew.started); i++) {
		const int id = atomic_load(&crew.ids[i]);
		if (id) sched_setaffinity(id, sizeof set, &set);
		else all = false; /* not running yet: once more next time */
	}
	atomic_store(&crew.avoid, all ? here : -1);
	crew.pinned_at = t;
#endif
}

/* ---- workers ----------------------------------------------------------------------------------------------------------------------------- */

/* The word: which parts are left, as a count of the last ones or, where threads have parts of their own, as a set; how many workers, from 1 on, may take
 * one; and of how many parts that is a set, 0: it is a count. */
enum { SET_PARTS = 32 };
#define LEFT(word) ((uint32_t)(word))
#define ALLOWED(word) ((int)((word) >> 32 & 0xff))
#define SET_OF(word) ((uint32_t)((word) >> 40))

/* One of the set for thread `id`: of its own share the first, else the last of all, which its owner comes to last. */
static uint32_t choose_part(uint64_t word, int id) {
	const uint32_t parts = SET_OF(word), threads = (uint32_t)ALLOWED(word) + 1;
	const uint32_t from = parts * (uint32_t)id / threads, to = parts * ((uint32_t)id + 1) / threads;
	const uint64_t own = LEFT(word) & (((uint64_t)1 << to) - ((uint64_t)1 << from));
	return own ? (uint32_t)__builtin_ctzll(own) : 31u - (uint32_t)__builtin_clz(LEFT(word));
}

/* Takes a part for worker `id` (0: the caller): its number, or -1. */
static int64_t take_part(int id) {
	uint64_t word = atomic_load_explicit(&crew.word, memory_order_relaxed);
	while (LEFT(word) && id <= ALLOWED(word)) {
		const uint32_t set = SET_OF(word), part = set ? choose_part(word, id) : 0;
		const uint64_t less = set ? word & ~((uint64_t)1 << part) : word - 1;
		if (atomic_compare_exchange_weak_explicit(&crew.word, &word, less, memory_order_acquire, memory_order_relaxed))
			return set ? (int64_t)part : crew.parts - (int64_t)LEFT(word);
	}
	return -1;
}

static void parts_done(uint32_t n) {
	if (atomic_fetch_sub(&crew.pending, n) == n && atomic_load(&crew.waiting)) wake(&crew.pending, 1);
}

static void go_to_sleep(int id) {
	const uint32_t epoch = atomic_load(&crew.epoch);
	atomic_fetch_add(&crew.sleepers, 1);
	/* whoever changes the word or `quit` looks at `sleepers` afterwards: one of the two sees the other */
	const uint64_t word = atomic_load(&crew.word);
	if (!(LEFT(word) && id <= ALLOWED(word)) && !atomic_load(&crew.quit)) sleep_on(&crew.epoch, epoch, 0);
	atomic_fetch_sub(&crew.sleepers, 1);
}

static void wake_sleepers(int n) {
	if (!atomic_load(&crew.sleepers)) return;
	atomic_fetch_add(&crew.epoch, 1);
	wake(&crew.epoch, n);
}

static void *worker(void *arg) {
	const int id = (int)(intptr_t)arg;
	self = id;
	inside = true;
#ifdef __linux__
	atomic_store(&crew.ids[id - 1], (int)syscall(SYS_gettid));
#endif
	int64_t since = 0; /* when it was first seen idle */
	for (unsigned turn = 0;; turn++) {
		const int64_t part = take_part(id);
		if (part >= 0) {
			set_float_modes(crew.modes);
			crew.body(crew.ud, part);
			parts_done(1);
			since = 0;
			continue;
		}
		if (atomic_load_explicit(&crew.quit, memory_order_relaxed)) return NULL;
		pause_briefly();
		if (turn % LOOK_AT_CLOCK) continue;
		if (!since) since = now_ns();
		if (now_ns() - since < SPIN_NS) continue;
		go_to_sleep(id);
		since = 0;
	}
}

/* Under the lock. Signals are the host's business: workers take none. */
static void start_workers(int wanted) {
	if (wanted > MOST_WORKERS) wanted = MOST_WORKERS;
	int n = atomic_load(&crew.started);
	if (n >= wanted) return;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_t attr;
	const bool sized = !pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (; n < wanted; n++) {
		atomic_store(&crew.ids[n], 0);
		if (pthread_create(&crew.threads[n], sized ? &attr : NULL, worker, (void *)(intptr_t)(n + 1))) break;
	}
	if (sized) pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	atomic_store(&crew.started, n);
	atomic_store(&crew.avoid, -1); /* the new ones may run anywhere so far */
}

/* Under the lock, with no user left, so no job. */
static void end_workers(void) {
	const int n = atomic_load(&crew.started);
	if (!n) return;
	atomic_store(&crew.quit, true);
	wake_sleepers(INT_MAX);
	for (int i = 0; i < n; i++) pthread_join(crew.threads[i], NULL);
	atomic_store(&crew.started, 0);
	atomic_store(&crew.quit, false);
	atomic_store(&crew.avoid, -1);
}

/* ---- fork -------------------------------------------------------------------------------------------------------------------------------- */

static void before_fork(void) {
	pthread_mutex_lock(&crew.lock);
}

static void after_fork_parent(void) {
	pthread_mutex_unlock(&crew.lock);
}

/* The child has the forking thread alone. */
static void after_fork_child(void) {
	atomic_store(&crew.word, 0);
	atomic_store(&crew.pending, 0);
	atomic_store(&crew.waiting, false);
	atomic_store(&crew.sleepers, 0);
	atomic_store(&crew.taken, false);
	atomic_store(&crew.quit, false);
	atomic_store(&crew.started, 0);
	atomic_fetch_add(&crew.generation, 1);
	atomic_store(&crew.avoid, -1);
	pthread_mutex_init(&crew.lock, NULL);
}

static void watch_forks(void) {
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- a context's pool -------------------------------------------------------------------------------------------------------------------- */

Pool *pool_new(Ctx *c, int threads) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	Pool *p = heap_alloc(c, sizeof *p);
	if (!p) return NULL;
	pthread_once(&once, watch_forks);
	const int most = pool_processors();
	if (threads <= 0 || threads > most) threads = most;
	if (threads > MOST_WORKERS + 1) threads = MOST_WORKERS + 1;
	pthread_mutex_lock(&crew.lock);
	*p = (Pool){.workers = threads - 1, .generation = atomic_load(&crew.generation)};
	crew.users++;
	start_workers(p->workers);
	pthread_mutex_unlock(&crew.lock);
	return p;
}

void pool_free(Ctx *c, Pool *p) {
	if (!p) return;
	pthread_mutex_lock(&crew.lock);
	if (!--crew.users) end_workers();
	pthread_mutex_unlock(&crew.lock);
	heap_free(c, p, sizeof *p);
}

int pool_width(const Pool *p) {
	return p->workers + 1;
}

void pool_wait_briefly(unsigned turn) {
	enum { TURNS = 1000 };
	pause_briefly();
	if (turn >= TURNS) sched_yield(); /* the other part's thread may have no processor */
}

int pool_worker(void) {
	return self;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------------------------------- */

static Status run_alone(int64_t parts, void (*body)(void *ud, int64_t part), void *ud, Status (*between)(void *ud)) {
	Status st = ST_OK;
	for (int64_t k = 0; k < parts && st == ST_OK; k++) {
		body(ud, k);
		if (between) st = between(ud);
	}
	return st;
}

/* Takes away the parts that nobody has begun. */
static void leave_out_rest(void) {
	const uint64_t word = atomic_exchange(&crew.word, 0);
	const uint32_t left = SET_OF(word) ? (uint32_t)__builtin_popcount(LEFT(word)) : LEFT(word);
	if (left) parts_done(left);
}

static Status wait_for_others(void *ud, Status (*watch)(void *ud), Status st) {
	int64_t begun = 0, watched = 0;
	for (unsigned turn = 1;; turn++) {
		uint32_t pending = atomic_load_explicit(&crew.pending, memory_order_acquire);
		if (!pending) return st;
		pause_briefly();
		if (turn % LOOK_AT_CLOCK) continue;
		const int64_t t = now_ns();
		if (!begun) begun = watched = t;
		if (watch && st == ST_OK && t - watched >= WATCH_NS) {
			watched = t;
			if ((st = watch(ud)) != ST_OK) leave_out_rest();
		}
		if (t - begun < PATIENCE_NS) continue;
		atomic_store(&crew.waiting, true);
		pending = atomic_load(&crew.pending);
		if (pending) sleep_on(&crew.pending, pending, WATCH_NS);
		atomic_store(&crew.waiting, false);
		turn = LOOK_AT_CLOCK - 1; /* look again at once */
	}
}

/* own: threads have parts of their own. Otherwise parts are begun in their order. */
static Status run(Pool *p, int64_t parts, bool own, void (*body)(void *ud, int64_t part), void *ud, Status (*poll)(void *ud), Status (*watch)(void *ud)) {
	Status (*between)(void *ud) = poll ? poll : watch;
	const bool forked = p->generation != atomic_load_explicit(&crew.generation, memory_order_relaxed);
	if (parts <= 1 || parts > MOST_PARTS || inside || forked || !p->workers || !atomic_load_explicit(&crew.started, memory_order_relaxed) ||
	    atomic_exchange_explicit(&crew.taken, true, memory_order_acquire))
		return run_alone(parts, body, ud, between);
	inside = true;
	keep_apart();
	crew.body = body;
	crew.ud = ud;
	crew.parts = parts;
	crew.modes = float_modes();
	atomic_store_explicit(&crew.pending, (uint32_t)parts, memory_order_relaxed);
	own = own && parts <= SET_PARTS;
	const uint64_t all = own ? ((uint64_t)1 << parts) - 1 : (uint64_t)parts;
	atomic_store(&crew.word, (own ? (uint64_t)parts << 40 : 0) | (uint64_t)p->workers << 32 | all);
	wake_sleepers(p->workers < atomic_load_explicit(&crew.started, memory_order_relaxed) || parts > p->workers ? INT_MAX : (int)parts - 1);
	Status st = ST_OK;
	int64_t polled = 0;
	for (int64_t part; st == ST_OK && (part = take_part(0)) >= 0;) {
		body(ud, part);
		parts_done(1);
		polled++;
		if (between) st = between(ud);
	}
	if (st != ST_OK) leave_out_rest();
	st = wait_for_others(ud, watch, st);
	inside = false;
	atomic_store_explicit(&crew.taken, false, memory_order_release);
	/* The parts of the others are accounted for too, so that budgets do not depend on the number of threads. */
	while (poll && st == ST_OK && polled++ < parts) st = poll(ud);
	return st;
}

Status pool_run(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud, Status (*poll)(void *ud)) {
	return run(p, parts, false, body, ud, poll, NULL);
}

Status pool_run_watched(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud, Status (*watch)(void *ud)) {
	return run(p, parts, true, body, ud, NULL, watch);
}
