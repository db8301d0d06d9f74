/* runtime.h - running generated code: one call of an entry, and the memory it
 * works in.
 *
 * Needs: abi.h, frame.h. Guarantees: scratch memory is the context's (its
 * limits hold), is kept warm between calls up to a bound, and is given back
 * down to where it was when a call returns, whatever the call did. Calls nest
 * (a solver's right-hand side inside a program).
 */
#ifndef ATLED_BACKEND_NATIVE_RUN_RUNTIME_H
#define ATLED_BACKEND_NATIVE_RUN_RUNTIME_H

#include "backend/eval/core/frame.h"
#include "backend/native/kir/abi.h"

/* Units of work between two polls of generated code. */
#define NATIVE_POLL_EVERY 16384

/* Runs the entry. The caller sets buffers, words and results of the record;
 * everything else is set here. ST_ERROR with call->site >= 0 means that check
 * failed: no diagnostic is recorded yet, site, fail_a and fail_b say which and
 * why. With any other failure call->site is -1, and a diagnostic without a
 * place is recorded, except for ST_NOMEM. */
/* Zeros to read in place of an array without elements, at any index that its
 * other axes allow. Read-only; one reserve for the process. */
void *native_nowhere(void);
Status native_run(Backend *be, NativeEntry entry, NativeCall *call);

/* Calls by machine code that the last failure passed on its way out, by their
 * sites, the innermost first. The messages tell fewer. */
enum { NATIVE_TRACE = 12 };
typedef struct NativeTrace {
	uint32_t n, sites[NATIVE_TRACE];
} NativeTrace;
const NativeTrace *native_trace(const Backend *be);

/* A runtime function's address by name, or NULL: the names of abi.h (for the
 * loader). */
void *native_runtime_symbol(const char *name);

/* Bytes of scratch that are kept, for tests. */
size_t native_state_bytes(const Backend *be);
/* Frees that memory; s may be NULL. */
void native_state_free(Ctx *c, struct NativeState *s);

#endif
