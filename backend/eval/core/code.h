/* code.h - a compiled function is a handle with an entry point, whichever tier
 * stands behind it.
 *
 * Needs: lang/ir/ir.h. Guarantees: code_call may be re-entered (a solver's
 * right-hand side inside a program); arguments are borrowed, results owned; on
 * failure no result is left set and a diagnostic with the user's span is
 * recorded; every 1,024 elements or so of work the context's poll point is
 * served.
 */
#ifndef ATLED_BACKEND_EVAL_CODE_H
#define ATLED_BACKEND_EVAL_CODE_H

#include "lang/ir/host.h"

typedef struct Code Code;

/* The code of a function, made at the first call and kept on the Fn. NULL when
 * memory fails. */
Code *code_of(Ctx *c, Fn *f);

/* The entry point: args has fn_nparams entries, results fn_nresults. */
Status code_call(Ctx *c, Code *code, const Value *args, Value *results);
/* The same for a caller who has memory for results. places[k], when it is not
 * NULL, shares no memory with arguments or other places; if result k has its
 * type and shape, and is computed in one go, it is made there and is that
 * tensor, else it is another one. A call that fails may have written there. */
Status code_call_into(Ctx *c, Code *code, const Value *args, Tensor *const *places, Value *results);

/* A function that is one piece of machine code, called again and again with
 * arrays of the same lengths: an integrator's right-hand side. Everything but
 * the numbers is settled beforehand; a call allocates and converts nothing. */
typedef struct DirectCall DirectCall;
/* args: a call's, for the lengths. NULL: not (yet) possible; *never: no use
 * asking again. Costs next to nothing while there is no machine code. */
DirectCall *direct_begin(Ctx *c, Code *code, const Value *args, bool *never);
/* args: as for code_call, of the same lengths. results: borrowed until the next
 * call. into: the array where result 0 goes instead (of its length, contiguous,
 * in this library's own memory or as direct_can_fill allows, none of the
 * arguments), or NULL. A failure is told as code_call tells it. */
Status direct_call(DirectCall *d, const Value *args, Tensor *into, const Value **results);
/* May memory that is not this library's be `into`? */
bool direct_can_fill(const DirectCall *d, const Tensor *into);
void direct_end(DirectCall *d);

/* Counters for tests and `:time`: instructions executed and scalar operations
 * (as fn_cost counts) since they were last zeroed. */
typedef struct RunCounters {
	uint64_t instructions;
	double scalar_operations;
	uint64_t calls;
	uint64_t native_calls;   /* of units of machine code */
	uint64_t units_compiled; /* or taken from a cache: code that this context asked for */
	double run_seconds;      /* of runs from outside */
	double compile_seconds;  /* that runs waited for machine code */
} RunCounters;
RunCounters *run_counters(Ctx *c);

/* Machine code: never; when it pays; or always, each function at its first call
 * and nothing left to the evaluator that need not be: for tests. Then what will
 * not run for long is compiled quickly, but with NATIVE_WELL as it would be if
 * it did. The environment's ATLED_NATIVE (off, on, always) says what a context
 * begins with; on, when it says nothing. */
typedef enum NativeMode { NATIVE_OFF, NATIVE_ON, NATIVE_ALWAYS, NATIVE_WELL } NativeMode;
void backend_set_native(Ctx *c, NativeMode mode);

/* Units that were found compiled already, in memory or on disk, and those that
 * were not. */
void backend_native_sources(Ctx *c, uint64_t *found, uint64_t *made);
/* requests to the compiler in the background that are not done */
uint64_t backend_native_pending(Ctx *c);

/* What a unit of machine code did: of the function `name` ("": a statement's)
 * at the lines `place`, "file:3-5, 9". */
typedef struct ProfileFigure {
	const char *name, *place;
	uint64_t calls;
	double seconds;
} ProfileFigure;
/* Units are timed from now on. False when memory fails. */
bool backend_profile(Ctx *c);
/* In no particular order. */
void backend_profile_read(Ctx *c, void (*visit)(void *ud, const ProfileFigure *figure), void *ud);

/* From now on the kernel code of units that are made is written. NULL: no more.
 */
void backend_set_dump(Ctx *c, void (*write)(void *ud, const char *text, size_t n), void *ud);

#endif
