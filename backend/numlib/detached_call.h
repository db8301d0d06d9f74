/* detached_call.h - uninterruptible library calls on threads of their own.
 *
 * Contract:
 * - Needs context.h.
 * - The caller polls while the call runs. If cancelled, it returns and the call
 *   finishes in the background.
 * - The memory that the call uses lives until it ends.
 */
#ifndef ATLED_BACKEND_NUMLIB_DETACHED_CALL_H
#define ATLED_BACKEND_NUMLIB_DETACHED_CALL_H

#include "lang/base/context.h"
#include <stdatomic.h>

/* Runs body(ud) on another thread. When a poll asks to stop, *stop, a part of
 * ud, is set and the call is left behind; the context waits for it when it is
 * freed. Returns the status of the last poll. release(c, ud) is called once, on
 * a thread that may use the context: before this returns, or, for a call left
 * behind, when it is found to have ended. body must use nothing of the context
 * but what release frees. Without another thread it runs here. */
Status detached_call(Ctx *c, void (*body)(void *ud), void *ud, atomic_bool *stop,
                     void (*release)(Ctx *c, void *ud));

#endif
