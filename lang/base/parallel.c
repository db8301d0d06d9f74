/* parallel.c - loops over parts on the threads of a context.
 *
 * Needs: parallel.h.
 */
#include "lang/base/parallel.h"

enum { PARALLEL_FROM = 64 * 1024 }; /* operations that are worth waking threads for */

typedef struct Threads {
	int asked;  /* 0: one for each processor */
	Pool *pool; /* NULL until a job asks for threads */
} Threads;

static void free_threads(Ctx *c, void *state) {
	Threads *t = state;
	pool_free(c, t->pool);
	heap_free(c, t, sizeof *t);
}

/* NULL when memory fails. */
static Threads *threads_of(Ctx *c) {
	Threads *t = ctx_slot(c, SLOT_THREADS);
	if (t || !(t = heap_alloc(c, sizeof *t))) return t;
	*t = (Threads){0};
	ctx_set_slot(c, SLOT_THREADS, t, free_threads);
	return t;
}

void parallel_set_threads(Ctx *c, int threads) {
	Threads *t = threads_of(c);
	if (!t || t->asked == threads) return;
	pool_free(c, t->pool);
	*t = (Threads){.asked = threads};
}

Pool *parallel_pool(Ctx *c) {
	Threads *t = threads_of(c);
	if (!t || t->asked == 1) return NULL;
	if (!t->pool) t->pool = pool_new(c, t->asked);
	return t->pool;
}

int parallel_width(Ctx *c) {
	const Threads *t = threads_of(c);
	if (!t || t->asked == 1) return 1;
	return t->pool ? pool_width(t->pool) : pool_processors();
}

Status parallel_for(Ctx *c, int64_t work, int64_t parts, void (*body)(void *ud, int64_t part),
                    void *ud, Status (*poll)(void *ud)) {
	Pool *pool = parts > 1 && work >= PARALLEL_FROM ? parallel_pool(c) : NULL;
	if (pool) return pool_run(pool, parts, body, ud, poll);
	for (int64_t k = 0; k < parts; k++) {
		body(ud, k);
		const Status st = poll(ud);
		if (st != ST_OK) return st;
	}
	return ST_OK;
}
