/* code.h - compiled functions: a handle with an entry point, for either tier.
 *
 * Needs: lang/ir/ir.h.
 *
 * Contract:
 * - code_call is re-entrant (a solver's right-hand side inside a program).
 * - Arguments are borrowed, results are owned by the caller.
 * - On failure no result is set, and a diagnostic with the user's span is
 *   recorded.
 * - The context is polled about once for every 1,024 elements of work.
 */
#ifndef ATLED_BACKEND_EVAL_CODE_H
#define ATLED_BACKEND_EVAL_CODE_H

#include "lang/ir/host.h"

typedef struct Code Code;

/* The code of a function, prepared at the first call and owned by the Fn. NULL
 * when it fails; ctx_failure says why. */
Code *code_of(Ctx *c, Fn *f);

/* Calls the function. args has fn_nparams entries, results fn_nresults. */
Status code_call(Ctx *c, Code *code, const Value *args, Value *results);
/* The same for a caller that provides memory for results. places[k], if not
 * NULL, must share no memory with arguments or other places. If result k has
 * its type and shape and can be computed in it, it is that tensor; otherwise it
 * is another one. A failed call may have written there. */
Status code_call_into(Ctx *c, Code *code, const Value *args, Tensor *const *places, Value *results);

/* Repeated calls of a function that is a single unit, with arrays of the same
 * extents, such as an integrator's right-hand side. Everything except the
 * values is prepared in advance; a call allocates and converts nothing. */
typedef struct DirectCall DirectCall;
/* Prepares such calls. args: those of a call, for the extents. Returns NULL
 * when this is not possible (yet), and sets *never when it never will be. Costs
 * almost nothing while there is no machine code. */
DirectCall *direct_begin(Ctx *c, Code *code, const Value *args, bool *never);
/* Calls the function.
 *
 * - args: as for code_call, with the same extents.
 * - results: borrowed until the next call.
 * - into: the array that receives result 0, or NULL. It must have its extent,
 *   be contiguous, and be none of the arguments. Its memory must be this
 *   library's own, or direct_can_fill must hold.
 *
 * Failures are reported as by code_call.
 */
Status direct_call(DirectCall *d, const Value *args, Tensor *into, const Value **results);
/* Whether memory that is not this library's may be `into`. */
bool direct_can_fill(const DirectCall *d, const Tensor *into);
void direct_end(DirectCall *d);

/* Counters for tests and `:time`: instructions executed and scalar operations
 * (as counted by fn_cost) since the last reset. */
typedef struct RunCounters {
	uint64_t instructions;
	double scalar_operations;
	uint64_t calls;
	uint64_t native_calls;   /* of units of machine code */
	uint64_t units_compiled; /* or taken from a cache: code that this context requested */
	double run_seconds;      /* of calls from outside */
	double compile_seconds;  /* spent waiting for machine code */
} RunCounters;
RunCounters *run_counters(Ctx *c);

/* When machine code is used.
 *
 * - NATIVE_OFF: never.
 * - NATIVE_ON: when it pays.
 * - NATIVE_ALWAYS: for each function at its first call, and for as many
 *   instructions as possible; for tests. Code that will not run for long is
 *   compiled quickly.
 * - NATIVE_WELL: as NATIVE_ALWAYS, but optimised fully.
 *
 * The initial mode follows from the policy.
 */
typedef enum NativeMode { NATIVE_OFF, NATIVE_ON, NATIVE_ALWAYS, NATIVE_WELL } NativeMode;
void backend_set_native(Ctx *c, NativeMode mode);

/* What an engine decides about machine code for all its contexts. All fields
 * zero: the defaults. */
typedef struct NativePolicy {
	bool never;          /* none is made or loaded; the mode stays NATIVE_OFF */
	bool background;     /* nobody waits for the code generator */
	double wait_seconds; /* the longest wait for one function; 0: no limit */
	/* The folder of the cache on disk, see native_cache_open; "": no files. */
	const char *cache;
	/* ATLED_NATIVE (off, on, always) is the initial mode, and ATLED_CACHE (a
	 * folder, or off) the folder where `cache` is NULL. */
	bool environment;
} NativePolicy;
/* Sets the policy, before anything runs. It must outlive the context. Without a
 * call the context follows the environment. */
void backend_set_policy(Ctx *c, const NativePolicy *policy);

/* The numbers of units that were found compiled, in memory or on disk, and of
 * those that were compiled. */
void backend_native_sources(Ctx *c, uint64_t *found, uint64_t *made);
/* The number of unfinished background compilations. */
uint64_t backend_native_pending(Ctx *c);

/* The profile of a unit of the function `name` ("" for a statement), at the
 * lines `place`, "file:3-5, 9". */
typedef struct ProfileFigure {
	const char *name, *place;
	uint64_t calls;
	double seconds;
} ProfileFigure;
/* Starts timing units. False when memory fails. */
bool backend_profile(Ctx *c);
/* Calls visit for each figure, in no particular order. */
void backend_profile_read(Ctx *c, void (*visit)(void *ud, const ProfileFigure *figure), void *ud);

/* Sets the function that receives the kernel IR of new units; NULL for none. */
void backend_set_dump(Ctx *c, void (*write)(void *ud, const char *text, size_t n), void *ud);

#endif
