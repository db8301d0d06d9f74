/* pool.c - threads that wait for a job, share out its parts, and wait again.
 *
 * Needs: pool.h, pthreads. Guarantees: what pool.h says. A worker spins for some microseconds after a job before it
 * sleeps: programs run kernels in close succession, and waking a sleeper costs as much as a small kernel.
 */
#include "backend/pool.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SPINS = 4000, MOST_THREADS = 256 };

struct Pool {
	int threads; /* with the caller */
	int started;
	size_t bytes;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	atomic_uint job;     /* counts jobs: a new number is the signal */
	atomic_bool quit, stop;
	atomic_int inside;   /* workers that may still look at the job */
	atomic_llong next;   /* first part nobody has taken */
	int64_t parts;
	void (*body)(void *ud, int64_t part);
	void *ud;
	pthread_t ids[];
};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void work(Pool *p) {
	for (;;) {
		if (atomic_load_explicit(&p->stop, memory_order_relaxed)) return;
		int64_t part = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
		if (part >= p->parts) return;
		p->body(p->ud, part);
	}
}

/* `inside` is raised before the job number is read under the lock, so the caller cannot begin another job in between. */
static void *worker(void *arg) {
	Pool *p = arg;
	unsigned seen = 0;
	for (;;) {
		for (int i = 0; i < SPINS && atomic_load_explicit(&p->job, memory_order_relaxed) == seen; i++) pause_briefly();
		pthread_mutex_lock(&p->lock);
		while (atomic_load(&p->job) == seen && !atomic_load(&p->quit)) pthread_cond_wait(&p->wake, &p->lock);
		seen = atomic_load(&p->job);
		bool quit = atomic_load(&p->quit);
		if (!quit) atomic_fetch_add(&p->inside, 1);
		pthread_mutex_unlock(&p->lock);
		if (quit) return NULL;
		work(p);
		atomic_fetch_sub_explicit(&p->inside, 1, memory_order_release);
	}
}

Pool *pool_new(Ctx *c, int threads) {
	if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (threads < 1) threads = 1;
	if (threads > MOST_THREADS) threads = MOST_THREADS;
	size_t bytes = sizeof(Pool) + sizeof(pthread_t) * (size_t)threads;
	Pool *p = heap_alloc(c, bytes);
	if (!p) return NULL;
	*p = (Pool){.threads = threads, .bytes = bytes};
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	while (p->started < threads - 1 && !pthread_create(&p->ids[p->started], NULL, worker, p)) p->started++;
	return p;
}

void pool_free(Ctx *c, Pool *p) {
	if (!p) return;
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->quit, true);
	atomic_fetch_add(&p->job, 1);
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->started; i++) pthread_join(p->ids[i], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	heap_free(c, p, p->bytes);
}

Status pool_run(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud, Status (*poll)(void *ud)) {
	bool shared = p->started && parts > 1;
	pthread_mutex_lock(&p->lock);
	p->body = body;
	p->ud = ud;
	p->parts = parts;
	atomic_store(&p->next, 0);
	atomic_store(&p->stop, false);
	if (shared) {
		atomic_fetch_add(&p->job, 1);
		pthread_cond_broadcast(&p->wake);
	}
	pthread_mutex_unlock(&p->lock);
	Status st = ST_OK;
	int64_t polled = 0;
	for (;;) {
		int64_t part = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
		if (part >= parts) break;
		body(ud, part);
		polled++;
		if (poll && (st = poll(ud)) != ST_OK) {
			atomic_store(&p->stop, true);
			break;
		}
	}
	if (!shared) return st;
	/* A worker that comes late finds no parts left; one that is inside is waited for. Under the lock nobody can be
	 * between the two. */
	atomic_fetch_add(&p->next, parts);
	for (;;) {
		pthread_mutex_lock(&p->lock);
		bool busy = atomic_load_explicit(&p->inside, memory_order_acquire) != 0;
		if (!busy) p->parts = 0;
		pthread_mutex_unlock(&p->lock);
		if (!busy) break;
		pause_briefly();
	}
	/* The parts of the others are accounted for too, so that budgets do not depend on the number of threads. */
	while (poll && st == ST_OK && polled++ < parts) st = poll(ud);
	return st;
}
