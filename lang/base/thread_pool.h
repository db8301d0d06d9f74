/* thread_pool.h - worker threads that share the parts of one job.
 *
 * Needs: context.h.
 *
 * Contract:
 * - The caller fixes the parts, so results do not depend on the number of
 *   threads, nor on their scheduling.
 * - The threads belong to the process; its contexts share them. A job runs on
 *   the calling thread alone when the threads are busy, inside another job, and
 *   in a forked process.
 * - Idle threads spin briefly, then sleep.
 * - The calling thread checks for interrupts between parts.
 * - Every part runs with the rounding and denormal modes of the calling thread.
 */
#ifndef ATLED_LANG_BASE_THREAD_POOL_H
#define ATLED_LANG_BASE_THREAD_POOL_H

#include "lang/base/context.h"

typedef struct Pool Pool; /* a context's handle on the threads */

/* threads: the number including the caller; 0: one for each processor. NULL
 * when memory fails. */
Pool *pool_new(Ctx *c, int threads);
void pool_free(Ctx *c, Pool *p); /* freeing the last pool ends the threads */

/* The number of threads that a job of this pool may use, including the caller.
 * Larger than any pool_worker() inside its parts. */
int pool_width(const Pool *p);
/* The index of the thread that runs the part: 0 the calling thread, else 1 ..
 * width-1. 0 outside of parts. */
int pool_worker(void);

/* Runs body(ud, part) for part = 0 .. parts-1, on any thread. Parts start in
 * order and finish in any order. The calling thread calls poll (may be NULL)
 * once for each part. When poll fails, parts that have not started are skipped,
 * and its status is returned. */
Status pool_run(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud,
                Status (*poll)(void *ud));
/* The same with a fixed range of parts for each thread, when there are at least
 * as many parts as threads. The ranges are the same in each job with as many
 * parts, so a thread finds its data in its own processor's cache. A thread that
 * has finished its range takes parts of others. Parts must not wait for each
 * other. `watch` is called after each part of the calling thread and, while
 * that waits for other threads, about once a millisecond. It cannot count work;
 * bodies that count their own use this function. */
Status pool_run_watched(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud,
                        Status (*watch)(void *ud));

/* Statistics of the jobs over the life of the process, without those of the
 * calling thread alone. With ATLED_POOL in the environment, they are written to
 * stderr when the threads end. */
typedef struct PoolCounters {
	uint64_t jobs;
	/* jobs at whose start a worker slept; jobs at whose start a worker was last
	 * seen on the caller's processor */
	uint64_t asleep, shared;
	uint64_t alone; /* jobs whose parts the caller did all itself */
	/* The caller's waiting time after its own parts; intervals below a
	 * microsecond are not counted. */
	int64_t waited_ns;
	uint64_t slept; /* times that the caller slept while waiting */
	uint64_t moved; /* times that workers were moved off its processor */
	/* Times that a worker delayed a job for long, or joined none for long, as
	 * happens to a thread that is not scheduled. */
	uint64_t stalled;
	/* Jobs that the caller did alone in the pause after that; not counted in
	 * `jobs`. */
	uint64_t paused;
} PoolCounters;
PoolCounters pool_counters(void);

/* For a part that waits for the result of an earlier part: pauses after the
 * spins-th unsuccessful check. */
void pool_wait_briefly(unsigned spins);

/* The processors that this process may use: its affinity mask, limited by the
 * CPU quota of its control group. */
int pool_processors(void);
/* For tests: pretends that there are n processors (0: off). Only while no pool
 * exists. */
void pool_pretend_processors(int n);

#endif
