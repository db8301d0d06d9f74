/* pool.h - a few threads that share out the parts of one job.
 *
 * Needs: context.h. Guarantees: the parts are fixed by the caller, so results do not depend on how many threads there
 * are; a pool that cannot start threads runs everything on the caller's. The interrupt is served between parts on the
 * calling thread.
 */
#ifndef ATLED_BACKEND_POOL_H
#define ATLED_BACKEND_POOL_H

#include "lang/context.h"

typedef struct Pool Pool;

Pool *pool_new(Ctx *c, int threads); /* threads: with the caller; NULL when memory fails */
void pool_free(Ctx *c, Pool *p);     /* joins its threads */

/* body(ud, part) for part = 0 .. parts-1, in any order, on any thread. poll (may be NULL) is called on the calling
 * thread, once for each part; when it fails, parts that have not begun are left out and its status comes back. */
Status pool_run(Pool *p, int64_t parts, void (*body)(void *ud, int64_t part), void *ud, Status (*poll)(void *ud));

#endif
