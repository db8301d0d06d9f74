/* detached_call.c - uninterruptible library calls on threads of their own.
 *
 * Contract:
 * - detached_call.h. Needs POSIX threads.
 * - The threads block all signals, so those of the process go to others.
 * - A detached call is joined before its context is freed.
 */
#include "backend/numlib/detached_call.h"
#include "lang/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

enum { POLL_NS = 4000000 };

typedef struct DetachedCall {
	struct DetachedCall *next;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done; /* protected by the lock */
	void (*body)(void *ud);
	void (*release)(Ctx *c, void *ud);
	void *ud;
} DetachedCall;

static void *run(void *arg) {
	DetachedCall *a = arg;
	a->body(a->ud);
	pthread_mutex_lock(&a->lock);
	a->done = true;
	pthread_cond_signal(&a->ended);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void finish(Ctx *c, DetachedCall *a) {
	pthread_join(a->thread, NULL);
	a->release(c, a->ud);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->ended);
	heap_free(c, a, sizeof *a);
}

static bool is_done(DetachedCall *a) {
	pthread_mutex_lock(&a->lock);
	const bool done = a->done;
	pthread_mutex_unlock(&a->lock);
	return done;
}

/* The calls of a context that were left behind. */
typedef struct DetachedCalls {
	DetachedCall *first;
} DetachedCalls;

static void free_calls(Ctx *c, void *state) {
	DetachedCalls *calls = state;
	while (calls->first) {
		DetachedCall *a = calls->first;
		calls->first = a->next;
		finish(c, a);
	}
	heap_free(c, calls, sizeof *calls);
}

/* NULL when memory fails. */
static DetachedCalls *calls_of(Ctx *c) {
	DetachedCalls *calls = ctx_slot(c, SLOT_DETACHED);
	if (calls || !(calls = heap_alloc(c, sizeof *calls))) return calls;
	calls->first = NULL;
	ctx_set_slot(c, SLOT_DETACHED, calls, free_calls);
	return calls;
}

/* Releases calls that have ended since they were left. */
static void sweep(Ctx *c, DetachedCalls *calls) {
	for (DetachedCall **list = &calls->first; *list;) {
		DetachedCall *a = *list;
		if (is_done(a)) {
			*list = a->next;
			finish(c, a);
		} else list = &a->next;
	}
}

static bool wait_briefly(DetachedCall *a) {
	const struct timespec t = clock_deadline(POLL_NS);
	pthread_mutex_lock(&a->lock);
	while (!a->done && pthread_cond_timedwait(&a->ended, &a->lock, &t) != ETIMEDOUT) {}
	const bool done = a->done;
	pthread_mutex_unlock(&a->lock);
	return done;
}

Status detached_call(Ctx *c, void (*body)(void *ud), void *ud, atomic_bool *stop,
                     void (*release)(Ctx *c, void *ud)) {
	DetachedCalls *calls = calls_of(c);
	if (calls) sweep(c, calls);
	DetachedCall *a = calls ? heap_alloc(c, sizeof *a) : NULL;
	if (!a) {
		release(c, ud);
		return ST_NOMEM;
	}
	*a = (DetachedCall){.body = body, .release = release, .ud = ud};
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
		a->next = calls->first;
		calls->first = a;
	}
	return st;
}
