/* thread_pool.h - a few threads that share out the parts of one job.
 *
 * Needs: context.h. Guarantees: the parts are fixed by the caller, so results
 * do not depend on how many threads there are, nor on which runs what. The
 * threads belong to the process and are shared by its contexts: a job that
 * finds them taken, one inside another job, and every job of a process that was
 * forked, runs on the calling thread alone. Idle threads sleep after some 80
 * us. The interrupt is served between parts on the calling thread. Every part
 * runs with the calling thread's rounding and denormal modes.
 */
#ifndef ATLED_LANG_BASE_THREAD_POOL_H
#define ATLED_LANG_BASE_THREAD_POOL_H

#include "lang/base/context.h"

typedef struct Pool Pool; /* a context's claim on the threads */

/* threads: with the caller; 0: one for each processor. NULL when memory
 * fails */
Pool *pool_new(Ctx *c, int threads);
void pool_free(Ctx *c, Pool *p); /* the last one ends the threads */

/* Threads a job of this pool may run on, with the caller's: more than any
 * pool_worker() inside its parts. */
int pool_width(const Pool *p);
/* Number of the thread that runs the part: 0 the calling thread, else 1 ..
 * width-1. 0 outside of parts. */
int pool_worker(void);

/* body(ud, part) for part = 0 .. parts-1, on any thread; parts begin in order,
 * and end in any. poll (may be NULL) is called on the calling thread, once for
 * each part; when it fails, parts that have not begun are left out and its
 * status comes back. */
Status pool_run(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud,
                Status (*poll)(void *ud));
/* The same, but where there are as many parts as threads they are the threads'
 * own shares, the same at each call with as many parts; a thread takes others'
 * when its own are done. So what lies in a processor's cache is found there
 * again. Parts must not wait for each other. `watch` is called after each part
 * that the calling thread has run and, while it waits for other threads, about
 * once a millisecond. (It cannot count work; bodies that count their own use
 * this.) */
Status pool_run_watched(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud,
                        Status (*watch)(void *ud));

/* How jobs met their threads, over the life of the process; jobs of the calling
 * thread alone are not among them. ATLED_POOL in the environment has them
 * written to stderr where the threads end. */
typedef struct PoolCounters {
	uint64_t jobs;
	/* at whose beginning a worker slept; had last been seen on the caller's
	 * processor */
	uint64_t asleep, shared;
	uint64_t alone; /* of which the caller did all parts */
	/* the caller's time, its own parts done (what is below a microsecond is
	 * not counted) */
	int64_t waited_ns;
	uint64_t slept; /* times that it slept meanwhile */
	uint64_t moved; /* times that workers were moved off its processor */
	/* times that a worker held up a job for long, or came to none for long,
	 * as one does that has no processor */
	uint64_t stalled;
	/* jobs that the caller did alone for some time after that; not among
	 * `jobs` */
	uint64_t paused;
} PoolCounters;
PoolCounters pool_counters(void);

/* In a part that waits for what an earlier part will say: the turn-th time it
 * found nothing. */
void pool_wait_briefly(unsigned turn);

/* Processors this process may use: its affinity mask, cut by the share of time
 * its control group grants. */
int pool_processors(void);
/* Test seam: as if there were n processors (0: the truth again). Only while no
 * pool is alive. */
void pool_pretend_processors(int n);

#endif
