/* detached_call.c - calls that cannot be stopped, on threads of their own: see
 * detached_call.h.
 *
 * Needs: POSIX threads. Guarantees: signals of the process go to other threads;
 * a call that was left behind is joined before its context goes.
 */
#include "backend/numlib/detached_call.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { POLL_NS = 4000000 };

typedef struct Apart {
	struct Apart *next;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done; /* under the lock */
	void (*body)(void *ud);
	void (*release)(Ctx *c, void *ud);
	void *ud;
} Apart;

static void *run(void *arg) {
	Apart *a = arg;
	a->body(a->ud);
	pthread_mutex_lock(&a->lock);
	a->done = true;
	pthread_cond_signal(&a->ended);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void finish(Ctx *c, Apart *a) {
	pthread_join(a->thread, NULL);
	a->release(c, a->ud);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->ended);
	heap_free(c, a, sizeof *a);
}

static bool is_done(Apart *a) {
	pthread_mutex_lock(&a->lock);
	const bool done = a->done;
	pthread_mutex_unlock(&a->lock);
	return done;
}

/* Lets go of calls that have ended since they were left. */
static void sweep(Ctx *c, Apart **list) {
	while (*list) {
		Apart *a = *list;
		if (is_done(a)) {
			*list = a->next;
			finish(c, a);
		} else list = &a->next;
	}
}

static bool wait_briefly(Apart *a) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += POLL_NS;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&a->lock);
	while (!a->done && pthread_cond_timedwait(&a->ended, &a->lock, &t) != ETIMEDOUT) {}
	const bool done = a->done;
	pthread_mutex_unlock(&a->lock);
	return done;
}

Status apart_run(Ctx *c, struct Apart **list, void (*body)(void *ud), void *ud, atomic_bool *stop,
                 void (*release)(Ctx *c, void *ud)) {
	sweep(c, list);
	Apart *a = heap_alloc(c, sizeof *a);
	if (!a) {
		release(c, ud);
		return ST_NOMEM;
	}
	*a = (Apart){.body = body, .release = release, .ud = ud};
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->ended, NULL);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool started = !pthread_create(&a->thread, NULL, run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started) {
		body(ud);
		release(c, ud);
		pthread_mutex_destroy(&a->lock);
		pthread_cond_destroy(&a->ended);
		heap_free(c, a, sizeof *a);
		return ctx_poll(c, 0);
	}
	Status st = ST_OK;
	while (!wait_briefly(a) && (st = ctx_poll(c, 0)) == ST_OK) {}
	if (st == ST_OK) finish(c, a);
	else {
		atomic_store(stop, true);
		a->next = *list;
		*list = a;
	}
	return st;
}

void apart_free(Ctx *c, struct Apart **list) {
	while (*list) {
		Apart *a = *list;
		*list = a->next;
		finish(c, a);
	}
}
