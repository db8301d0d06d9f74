/* runtime.h - calls of generated code, and their scratch memory.
 *
 * Needs: abi.h, frame.h.
 *
 * Contract:
 * - Scratch memory is charged to the context and obeys its limits. It stays
 *   allocated between calls, up to a bound.
 * - A call that returns, with whatever status, releases the scratch it took.
 * - Calls nest (a solver's right-hand side inside a program).
 */
#ifndef ATLED_BACKEND_NATIVE_RUN_RUNTIME_H
#define ATLED_BACKEND_NATIVE_RUN_RUNTIME_H

#include "backend/eval/core/frame.h"
#include "backend/native/kir/abi.h"

/* Units of work between two polls of generated code. */
#define NATIVE_POLL_EVERY 16384

/* Zeros, read in place of an array without elements, at any index that its
 * other axes allow. Read-only; one reserve for the process. */
void *native_nowhere(void);

/* Runs the entry. The caller sets buffers, words and results of the record;
 * native_run sets all other fields.
 *
 * - ST_ERROR with call->site >= 0: that check failed, for the reason in fail_a
 *   and fail_b. No diagnostic is recorded yet.
 * - Any other failure: call->site is -1. A diagnostic without a place is
 *   recorded, except for ST_NOMEM.
 */
Status native_run(Backend *be, NativeEntry entry, NativeCall *call);

/* The calls by machine code that the last failure passed on its way out, by
 * their sites, innermost first. Messages show fewer. */
enum { NATIVE_TRACE = 12 };
typedef struct NativeTrace {
	uint32_t n, sites[NATIVE_TRACE];
} NativeTrace;
const NativeTrace *native_trace(const Backend *be);

/* The address of a runtime function by its name in abi.h, or NULL. For the
 * loader. */
void *native_runtime_symbol(const char *name);

/* Bytes of scratch that stay allocated; for tests. */
size_t native_state_bytes(const Backend *be);
/* Frees that memory; s may be NULL. */
void native_state_free(Ctx *c, struct NativeState *s);

#endif
