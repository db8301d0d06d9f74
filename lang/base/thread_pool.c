/* thread_pool.c - the process's worker threads.
 *
 * Method: a fixed range of parts for each thread, with work stealing; workers
 * spin before they sleep.
 *
 * Needs: thread_pool.h, pthreads; futexes where available (Linux), else a
 * condition variable.
 *
 * Contract: that of thread_pool.h.
 *
 * One job runs at a time. Its parts are divided into shares, one for each
 * thread. A job whose parts must start in order has one common share. A share
 * occupies its own cache lines: a word with the range of remaining parts, and
 * the job's data.
 *
 *   caller                         worker
 *   pending = parts                spin until its own share or the common one
 *                                  has parts
 *   fill in the shares, word last  take a part: compare-and-swap on the word
 *   (release)                      (acquire, so the job's data beside the word
 *                                  belong to the part)
 *   take parts like a worker       run it; repeat
 *   wait for pending == 0          pending -= parts done; the thread that makes
 *                                  it 0 wakes the caller if that sleeps
 *                                  steal the last parts of others' shares while
 *                                  there are any
 *
 * A worker reads a share's job data only while it holds a part of that share.
 * The caller changes them only when no part is held. So nobody waits for a
 * thread that only looks at a share.
 *
 * Reasons for the design:
 * - The shares are the same in each job with as many parts. A loop that passes
 *   over the same arrays again, such as a stencil, finds a thread's rows in its
 *   own processor's cache. For the same reason, the last part of a share is
 *   left to its owner, unless the owner does not come to it.
 * - A thread that takes or counts its own parts writes only to cache lines that
 *   no other thread touches meanwhile. A single word for all parts would move
 *   between processors with every part.
 * - Waking a sleeping worker takes longer than most jobs. So workers spin for
 *   SPIN_NS of their own time after their last part. The caller never waits for
 *   sleepers: it takes the parts itself until they arrive.
 * - The kernel tends to wake a worker on the caller's own processor, where the
 *   two then alternate. So workers are kept off that processor, and moved when
 *   the caller has migrated: at most every REPIN_NS, or every REPIN_SHARED_NS
 *   when one was seen on the caller's processor. A caller that waits for such a
 *   worker sleeps at once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lang/base/thread_pool.h"
#include "lang/base/clock.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#if defined(__linux__) && !defined(ATLED_NO_FUTEX)
#include <linux/futex.h>
#define HAVE_FUTEX 1
#else
#define HAVE_FUTEX 0
#endif

enum { MOST_WORKERS = 255, MOST_PARTS = (1 << 28) - 1, LOOK_AT_CLOCK = 32, WORTH_TAKING = 2 };
/* The caller takes another thread's last part after it has waited for this
 * fraction of the time of its own parts. */
#define LAST_PART 8
#define SPIN_NS 80000      /* a worker's spinning after its last part */
#define LOOK_NS 5000       /* more than LOOK_AT_CLOCK iterations of spinning take */
#define GONE_NS 1000000    /* shorter than another process's time slice */
#define PATIENCE_NS 200000 /* the caller's spinning while others run their parts */
#define REPIN_NS 2000000
/* when a worker was seen on the caller's own processor, where the two would
 * alternate */
#define REPIN_SHARED_NS 200000
#define WATCH_NS 1000000
#define STALL_NS 1000000
#define MISSED_NS 5000
#define TRY_NS 500000
#define PAUSE_NS 4000000
#define MOST_PAUSE_NS 128000000
#define STACK_BYTES ((size_t)8 * 1024 * 1024)

struct Pool {
	int workers; /* number of workers that may take its parts */
	unsigned generation;
};

/* The parts from .. to - 1 that no thread has taken, for workers up to
 * `allowed` and the caller; and the job's data. Aligned to a pair of cache
 * lines, which are fetched together. */
typedef struct Share {
	_Alignas(128) _Atomic uint64_t left; /* see share_word */
	void (*body)(void *ud, int64_t part);
	void *ud;
	unsigned modes;
} Share;

/* The process's threads. Each cache line has one kind of traffic. */
static struct Crew {
	Share shares[MOST_WORKERS + 1]; /* by pool_worker() */
	Share ordered;                  /* the common share, whose parts start in order */
	_Alignas(64) _Atomic uint32_t pending;
	atomic_bool waiting; /* the caller sleeps until pending is 0 */
	_Alignas(64) union {
		_Atomic uint64_t both;    /* the number of sleepers above, the epoch below */
		_Atomic uint32_t half[2]; /* of these, idle workers sleep on the epoch */
	} rest;
	_Alignas(64) atomic_bool quit; /* read by spinning workers */
	/* Owned by the thread whose job runs: */
	_Alignas(64) atomic_bool taken;
	atomic_int avoid; /* the processor that workers avoid; -1: not yet determined */
	int64_t pinned_at;
	int64_t alone_until, pause_ns; /* see stalled() */
	/* The total time of the jobs, since the last one with a worker, in which no
	 * awake worker took a part. */
	int64_t missed_ns;
	PoolCounters count; /* written by the owner of the job */
	/* Protected by the lock: */
	pthread_mutex_t lock;
	int users, pretended;
	/* Changes in a forked child: earlier pools have no workers there. */
	atomic_uint generation;
	atomic_int started;
	pthread_t threads[MOST_WORKERS];
	_Atomic int ids[MOST_WORKERS]; /* kernel thread ids; 0 until the thread runs */
	struct {
		/* the processor at the start of its last part, plus 1; 0: none yet */
		_Alignas(64) _Atomic int processor;
	} seen[MOST_WORKERS];
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER, .avoid = -1};

static _Thread_local int self;    /* pool_worker() */
static _Thread_local bool inside; /* whether this thread is running a part */

/* ---- machine-specific helpers -------------------------------------------- */

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* This thread's rounding and flush-to-zero modes: mxcsr on x86-64, fpcr on
 * AArch64. */
static unsigned float_modes(void) {
#if defined(__x86_64__)
	return __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
	uint64_t modes;
	__asm__ volatile("mrs %0, fpcr" : "=r"(modes));
	return (unsigned)modes;
#else
	return 0;
#endif
}

static void set_float_modes(unsigned modes) {
#if defined(__x86_64__)
	/* the low bits are status flags */
	if ((__builtin_ia32_stmxcsr() ^ modes) & ~0x3fu) __builtin_ia32_ldmxcsr(modes & ~0x3fu);
#elif defined(__aarch64__)
	if (float_modes() != modes) __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)modes));
#else
	(void)modes;
#endif
}

#if HAVE_FUTEX
/* Returns when the word differs from `seen`, on wake-up, after the time limit,
 * or spuriously. */
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
	const struct timespec t = clock_deadline(ns);
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

/* Reads a CPU quota such as "max 100000" or "150000 100000": microseconds of
 * processor time per period. Threads that spin beyond it would only be
 * throttled. */
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
	n = !sched_getaffinity(0, sizeof set, &set) ? CPU_COUNT(&set)
	                                            : (int)sysconf(_SC_NPROCESSORS_ONLN);
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

static void note_processor(int id) {
#ifdef __linux__
	const int here = sched_getcpu() + 1;
	if (atomic_load_explicit(&crew.seen[id - 1].processor, memory_order_relaxed) != here)
		atomic_store_explicit(&crew.seen[id - 1].processor, here, memory_order_relaxed);
#else
	(void)id;
#endif
}

/* Whether one of the first `workers` was last seen on the calling thread's
 * processor. */
static bool shares_processor(int workers) {
#ifdef __linux__
	const int here = sched_getcpu() + 1,
			  n = atomic_load_explicit(&crew.started, memory_order_relaxed);
	for (int i = 0; i < n && i < workers; i++)
		if (here && atomic_load_explicit(&crew.seen[i].processor, memory_order_relaxed) == here)
			return true;
#else
	(void)workers;
#endif
	return false;
}

/* Keeps workers off the calling thread's processor. Called by the owner of the
 * job. */
static void keep_apart(int workers) {
#ifdef __linux__
	const int here = sched_getcpu();
	const int avoid = atomic_load_explicit(&crew.avoid, memory_order_relaxed);
	if (here < 0 || here == avoid || crew.pretended) return;
	const int64_t t = clock_nanoseconds();
	if (avoid >= 0 && t - crew.pinned_at < (shares_processor(workers) ? REPIN_SHARED_NS : REPIN_NS))
		return;
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set)) return;
	if (here < CPU_SETSIZE) CPU_CLR(here, &set);
	if (!CPU_COUNT(&set)) return;
	bool all = true;
	for (int i = 0; i < atomic_load(&crew.started); i++) {
		const int id = atomic_load(&crew.ids[i]);
		if (id) sched_setaffinity(id, sizeof set, &set);
		else all = false; /* not running yet: try again next time */
	}
	atomic_store(&crew.avoid, all ? here : -1);
	crew.pinned_at = t;
	crew.count.moved++;
#endif
}

/* ---- workers ------------------------------------------------------------- */

#define PART_BITS 28
_Static_assert(MOST_PARTS >> PART_BITS == 0 && MOST_WORKERS >> (64 - 2 * PART_BITS) == 0,
               "the word's fields");

static int64_t part_from(uint64_t word) { return (int64_t)(word & MOST_PARTS); }
static int64_t part_to(uint64_t word) { return (int64_t)(word >> PART_BITS & MOST_PARTS); }
static uint32_t parts_left(uint64_t word) { return (uint32_t)(part_to(word) - part_from(word)); }
static int allowed(uint64_t word) { return (int)(word >> 2 * PART_BITS); }
static uint64_t share_word(int64_t from, int64_t to, int workers) {
	return from < to
	           ? (uint64_t)workers << 2 * PART_BITS | (uint64_t)to << PART_BITS | (uint64_t)from
	           : 0;
}

/* Called before thread `id` can take parts of the share. */
static void fill_share(Share *s, uint64_t word, void (*body)(void *ud, int64_t part), void *ud,
                       unsigned modes) {
	s->body = body;
	s->ud = ud;
	s->modes = modes;
	atomic_store_explicit(&s->left, word, memory_order_release);
}

static bool has_parts(const Share *s, int id) {
	const uint64_t word = atomic_load_explicit(&s->left, memory_order_relaxed);
	return parts_left(word) && id <= allowed(word);
}

/* Takes the share's first or last part for thread `id`; returns its index, or
 * -1. */
static int64_t take_part(Share *s, int id, bool first) {
	uint64_t word = atomic_load_explicit(&s->left, memory_order_relaxed);
	while (parts_left(word) && id <= allowed(word)) {
		const uint64_t less = first ? word + 1 : word - ((uint64_t)1 << PART_BITS);
		if (atomic_compare_exchange_weak_explicit(&s->left, &word, less, memory_order_acquire,
		                                          memory_order_relaxed))
			return first ? part_from(word) : part_to(word) - 1;
	}
	return -1;
}

/* Acquires the cache line for writing, as a thread that takes a part needs it.
 * The caller's next write then moves the line once, without a second transfer
 * to take it from the caller. */
static void own_line(Share *s) {
	uint64_t none = 0;
	atomic_compare_exchange_strong_explicit(&s->left, &none, 0, memory_order_relaxed,
	                                        memory_order_relaxed);
}

/* Takes a part of thread `id`'s own share or of the common one; returns that
 * share, or NULL when there is none. */
static Share *next_part(int id, int64_t *part) {
	Share *own = &crew.shares[id], *all = &crew.ordered;
	if ((*part = take_part(own, id, true)) >= 0) return own;
	return (*part = take_part(all, id, true)) >= 0 ? all : NULL;
}

/* Steals a part of another thread's share that has at least `least` parts left.
 * A thread calls this only after its own parts, because reading a share slows
 * its owner. */
static Share *others_part(int id, uint32_t least, int64_t *part) {
	const int threads = atomic_load_explicit(&crew.started, memory_order_relaxed) + 1;
	for (int k = 1; k < threads; k++) {
		Share *s = &crew.shares[(id + k) % threads];
		if (parts_left(atomic_load_explicit(&s->left, memory_order_relaxed)) >= least &&
		    (*part = take_part(s, id, false)) >= 0)
			return s;
	}
	return NULL;
}

static void parts_done(uint32_t n) {
	if (n && atomic_fetch_sub(&crew.pending, n) == n && atomic_load(&crew.waiting))
		wake(&crew.pending, 1);
}

#define SLEEPER ((uint64_t)1 << 32)
#define SLEEPERS(rest) ((uint32_t)((rest) >> 32))

static _Atomic uint32_t *epoch_word(void) {
	const uint32_t one = 1;
	unsigned char first;
	memcpy(&first, &one, 1);
	return &crew.rest.half[first ? 0 : 1];
}

/* A sleeper counts until it is woken, not until it runs. It may run much later
 * when others use its processor, and each job in between would wake it again.
 * So the waking thread removes it from the count and changes the epoch. */
static void go_to_sleep(int id) {
	const uint32_t epoch = (uint32_t)atomic_fetch_add(&crew.rest.both, SLEEPER);
	/* A thread that fills shares or sets `quit` changes this word afterwards,
	 * or reads it as its last modification. So one of the two sees the other.
	 */
	if (!has_parts(&crew.shares[id], id) && !has_parts(&crew.ordered, id) &&
	    !atomic_load(&crew.quit))
		sleep_on(epoch_word(), epoch, 0);
	uint64_t rest = atomic_load(&crew.rest.both);
	while ((uint32_t)rest == epoch &&
	       !atomic_compare_exchange_weak(&crew.rest.both, &rest, rest - SLEEPER)) {}
}

/* When more sleep than are woken, the count may stay above their number, never
 * below it. */
static void wake_sleepers(uint32_t n) {
	uint64_t rest = atomic_fetch_add(&crew.rest.both, 0), next; /* see go_to_sleep */
	do {
		if (!SLEEPERS(rest)) return;
		const uint32_t left = SLEEPERS(rest) > n ? SLEEPERS(rest) - n : 0;
		next = (uint64_t)left << 32 | (uint32_t)((uint32_t)rest + 1);
	} while (!atomic_compare_exchange_weak(&crew.rest.both, &rest, next));
	wake(epoch_word(), (int)n);
}

static void *worker(void *arg) {
	const int id = (int)(intptr_t)arg;
	self = id;
	inside = true;
#ifdef __linux__
	atomic_store(&crew.ids[id - 1], (int)syscall(SYS_gettid));
#endif
	int64_t spun = 0, looked = 0; /* idle time, and when it was last updated */
	uint32_t done = 0;
	bool helps = false; /* its own parts are done, others' may not be */
	for (unsigned spins = 0;; spins++) {
		int64_t part;
		Share *s = next_part(id, &part);
		if (!s && done) {
			parts_done(done);
			done = 0;
			helps = true;
		}
		if (!s && helps) {
			s = others_part(id, WORTH_TAKING, &part);
			helps = s != NULL;
		}
		if (s) {
			if (!done) note_processor(id);
			set_float_modes(s->modes);
			s->body(s->ud, part);
			done++;
			spun = looked = 0;
			continue;
		}
		pause_briefly();
		own_line(&crew.shares[id]);
		if (spins % LOOK_AT_CLOCK) continue;
		if (atomic_load_explicit(&crew.quit, memory_order_relaxed)) return NULL;
		/* A short time without a processor (taken by a hypervisor or an
		 * interrupt) does not count. Otherwise, in a sequence of jobs, the
		 * worker would sleep as soon as it is back, and need to be woken. After
		 * a long one, others need the processor. */
		const int64_t t = clock_nanoseconds(), gone = looked ? t - looked : 0;
		spun += gone > LOOK_NS && gone < GONE_NS ? LOOK_NS : gone;
		looked = t;
		if (spun < SPIN_NS) continue;
		go_to_sleep(id);
		spun = looked = 0;
	}
}

/* Called under the lock. Signals belong to the host: workers block all of them.
 */
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
		atomic_store(&crew.seen[n].processor, 0);
		if (pthread_create(&crew.threads[n], sized ? &attr : NULL, worker,
		                   (void *)(intptr_t)(n + 1)))
			break;
	}
	if (sized) pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	atomic_store(&crew.started, n);
	atomic_store(&crew.avoid, -1); /* new threads may run anywhere so far */
}

/* Called under the lock, without users and therefore without a job. */
static void end_workers(void) {
	const int n = atomic_load(&crew.started);
	if (!n) return;
	atomic_store(&crew.quit, true);
	wake_sleepers(MOST_WORKERS);
	for (int i = 0; i < n; i++) pthread_join(crew.threads[i], NULL);
	atomic_store(&crew.started, 0);
	atomic_store(&crew.quit, false);
	atomic_store(&crew.avoid, -1);
}

/* ---- fork ---------------------------------------------------------------- */

static void before_fork(void) { pthread_mutex_lock(&crew.lock); }

static void after_fork_parent(void) { pthread_mutex_unlock(&crew.lock); }

/* The child process has only the forking thread. */
static void after_fork_child(void) {
	for (int i = 0; i <= MOST_WORKERS; i++) atomic_store(&crew.shares[i].left, 0);
	atomic_store(&crew.ordered.left, 0);
	atomic_store(&crew.pending, 0);
	atomic_store(&crew.waiting, false);
	atomic_store(&crew.rest.both, 0);
	atomic_store(&crew.taken, false);
	atomic_store(&crew.quit, false);
	atomic_store(&crew.started, 0);
	atomic_fetch_add(&crew.generation, 1);
	atomic_store(&crew.avoid, -1);
	pthread_mutex_init(&crew.lock, NULL);
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork_parent, after_fork_child); }

/* ---- a context's pool ---------------------------------------------------- */

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

/* With ATLED_POOL set: prints the statistics when the threads end. */
static void report_counters(void) {
	const PoolCounters k = crew.count;
	if (!getenv("ATLED_POOL")) return;
	fprintf(stderr,
	        "pool: %" PRIu64 " jobs; at the beginning of %" PRIu64 " a worker slept, of %" PRIu64
	        " it had last been on the caller's processor; %" PRIu64
	        " were done by the caller alone; "
	        "%.3g ms waited for others, %" PRIu64 " times asleep; workers moved %" PRIu64
	        " times; held up %" PRIu64 " times, after which %" PRIu64
	        " more jobs were done without workers\n",
	        k.jobs, k.asleep, k.shared, k.alone, 1e-6 * (double)k.waited_ns, k.slept, k.moved,
	        k.stalled, k.paused);
}

void pool_free(Ctx *c, Pool *p) {
	if (!p) return;
	pthread_mutex_lock(&crew.lock);
	if (!--crew.users) end_workers(), report_counters();
	pthread_mutex_unlock(&crew.lock);
	heap_free(c, p, sizeof *p);
}

int pool_width(const Pool *p) { return p->workers + 1; }

void pool_wait_briefly(unsigned spins) {
	enum { SPINS = 1000 };
	pause_briefly();
	/* The other part's thread may not be scheduled. */
	if (spins >= SPINS) sched_yield();
}

PoolCounters pool_counters(void) { return crew.count; }

int pool_worker(void) { return self; }

/* ---- jobs ---------------------------------------------------------------- */

static Status run_alone(int64_t parts, void (*body)(void *ud, int64_t part), void *ud,
                        Status (*between)(void *ud)) {
	Status st = ST_OK;
	for (int64_t k = 0; k < parts && st == ST_OK; k++) {
		body(ud, k);
		if (between) st = between(ud);
	}
	return st;
}

/* Removes the parts that no thread has started. */
static void leave_out_rest(int workers) {
	uint32_t left = parts_left(atomic_exchange(&crew.ordered.left, 0));
	for (int i = 0; i <= workers; i++) left += parts_left(atomic_exchange(&crew.shares[i].left, 0));
	parts_done(left);
}

/* A worker that holds a part but is not scheduled delays the job for a time
 * slice of another process. That is far longer than a job. A worker without a
 * part and a processor takes none for as long. Such delays repeat, since other
 * processes need the processors, and then two threads are slower than one. So
 * the caller runs its jobs alone for a pause, which doubles when the delay soon
 * recurs. The parts are the same, so the results are too. */
static void stalled(int64_t now) {
	const bool again = crew.alone_until && now - crew.alone_until < crew.pause_ns;
	crew.pause_ns = !again                          ? PAUSE_NS
	                : crew.pause_ns < MOST_PAUSE_NS ? 2 * crew.pause_ns
	                                                : crew.pause_ns;
	crew.alone_until = now + crew.pause_ns;
	crew.missed_ns = 0;
	crew.count.stalled++;
}

/* Adds to *taken the number of parts that the caller takes meanwhile. */
static Status wait_for_others(void *ud, Status (*watch)(void *ud), Status st, int workers,
                              int64_t job_begun, int64_t *taken) {
	int64_t begun = 0, watched = 0, patience = PATIENCE_NS;
	for (unsigned spins = 1;; spins++) {
		uint32_t pending = atomic_load_explicit(&crew.pending, memory_order_acquire);
		if (!pending) {
			if (!begun) return st;
			const int64_t t = clock_nanoseconds(), waited = t - begun;
			crew.count.waited_ns += waited;
			/* Parts may be long. Waiting for another thread's last part is
			 * normal for up to the time of this thread's own parts. */
			if (waited > STALL_NS && waited > 2 * (begun - job_begun)) stalled(t);
			return st;
		}
		pause_briefly();
		if (spins % LOOK_AT_CLOCK) continue;
		const int64_t t = clock_nanoseconds();
		if (!begun) {
			begun = watched = t;
			/* A worker waiting for the processor on which this thread spins
			 * would wait for its whole time slice. */
			if (shares_processor(workers)) patience = 0;
		}
		int64_t part;
		Share *s = st == ST_OK && t - begun > (begun - job_begun) / LAST_PART
		               ? others_part(0, 1, &part)
		               : NULL;
		if (s) {
			s->body(s->ud, part);
			parts_done(1);
			++*taken;
			continue;
		}
		if (watch && st == ST_OK && t - watched >= WATCH_NS) {
			watched = t;
			if ((st = watch(ud)) != ST_OK) leave_out_rest(workers);
		}
		if (t - begun < patience) continue;
		crew.count.slept++;
		atomic_store(&crew.waiting, true);
		pending = atomic_load(&crew.pending);
		if (pending) sleep_on(&crew.pending, pending, WATCH_NS);
		atomic_store(&crew.waiting, false);
		spins = LOOK_AT_CLOCK - 1; /* check again at once */
	}
}

/* own: each thread has a share. Otherwise parts start in order. */
static Status run(Pool *p, int64_t parts, bool own, void (*body)(void *ud, int64_t part), void *ud,
                  Status (*poll)(void *ud), Status (*watch)(void *ud)) {
	Status (*between)(void *ud) = poll ? poll : watch;
	const bool forked =
		p->generation != atomic_load_explicit(&crew.generation, memory_order_relaxed);
	if (parts <= 1 || parts > MOST_PARTS || inside || forked || !p->workers ||
	    !atomic_load_explicit(&crew.started, memory_order_relaxed) ||
	    atomic_exchange_explicit(&crew.taken, true, memory_order_acquire))
		return run_alone(parts, body, ud, between);
	const int64_t job_begun = clock_nanoseconds();
	Status st = ST_OK;
	int64_t done = 0;
	inside = true;
	/* during a pause, a job that turns out to be long is tried with workers */
	while (done < parts && st == ST_OK && job_begun < crew.alone_until &&
	       (!done || clock_nanoseconds() - job_begun < TRY_NS)) {
		body(ud, done++);
		if (between) st = between(ud);
	}
	if (done == parts || st != ST_OK) {
		crew.count.paused++;
		inside = false;
		atomic_store_explicit(&crew.taken, false, memory_order_release);
		return st;
	}
	keep_apart(p->workers);
	const bool slept = SLEEPERS(atomic_load_explicit(&crew.rest.both, memory_order_relaxed)) > 0;
	crew.count.jobs++;
	crew.count.asleep += slept;
	crew.count.shared += shares_processor(p->workers);
	const unsigned modes = float_modes();
	const int threads = p->workers + 1;
	/* with fewer parts than threads, any awake thread should get one */
	own = own && parts >= threads;
	atomic_store_explicit(&crew.pending, (uint32_t)(parts - done), memory_order_relaxed);
	for (int i = threads - 1; own && i >= 0; i--) {
		const int64_t from = parts * i / threads, to = parts * (i + 1) / threads;
		fill_share(&crew.shares[i], share_word(from > done ? from : done, to, p->workers), body, ud,
		           modes);
	}
	if (!own) fill_share(&crew.ordered, share_word(done, parts, p->workers), body, ud, modes);
	wake_sleepers(p->workers < atomic_load_explicit(&crew.started, memory_order_relaxed) ||
	                      parts > p->workers
	                  ? MOST_WORKERS
	                  : (uint32_t)parts - 1);
	int64_t polled = done, part;
	for (Share *s;
	     st == ST_OK && ((s = next_part(0, &part)) || (s = others_part(0, WORTH_TAKING, &part)));) {
		body(ud, part);
		polled++;
		if (between) st = between(ud);
	}
	if (st != ST_OK) leave_out_rest(p->workers);
	parts_done((uint32_t)(polled - done));
	int64_t did = polled;
	st = wait_for_others(ud, watch, st, p->workers, job_begun, &did);
	if (did == parts) {
		const int64_t now = clock_nanoseconds(), took = now - job_begun;
		crew.count.alone++;
		/* A spinning worker would arrive within a fraction of that time; a
		 * woken one may be too late. */
		if (!slept && took > MISSED_NS) crew.missed_ns += took;
		if (crew.missed_ns > STALL_NS) stalled(now);
	} else {
		crew.missed_ns = 0;
	}
	inside = false;
	atomic_store_explicit(&crew.taken, false, memory_order_release);
	/* The parts of other threads are polled too, so that budgets do not depend
	 * on the number of threads. */
	while (poll && st == ST_OK && polled++ < parts) st = poll(ud);
	return st;
}

Status pool_run(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud,
                Status (*poll)(void *ud)) {
	return run(p, parts, false, body, ud, poll, NULL);
}

Status pool_run_watched(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud,
                        Status (*watch)(void *ud)) {
	return run(p, parts, true, body, ud, NULL, watch);
}
