/* parallel.h - loops over parts on the threads of a context.
 *
 * Needs: thread_pool.h. A context claims its threads when a job first asks for
 * them.
 *
 * Contract:
 * - Results do not depend on the number of threads.
 * - Where memory fails, loops run on the calling thread.
 */
#ifndef ATLED_LANG_BASE_PARALLEL_H
#define ATLED_LANG_BASE_PARALLEL_H

#include "lang/base/thread_pool.h"

/* How many threads jobs may use, with the caller's; 0, the default: one for
 * each processor. The next job that asks for threads finds so many. */
void parallel_set_threads(Ctx *c, int threads);
/* The context's threads. NULL: only the calling thread. */
Pool *parallel_pool(Ctx *c);
/* How many threads a job would find, without claiming them. */
int parallel_width(Ctx *c);
/* body(ud, part) for parts 0 .. parts-1, begun in order. The threads share them
 * where `work`, the scalar operations of all parts, is worth it. poll: as
 * pool_run's; its first failure is returned. */
Status parallel_for(Ctx *c, int64_t work, int64_t parts, void (*body)(void *ud, int64_t part),
                    void *ud, Status (*poll)(void *ud));

#endif
