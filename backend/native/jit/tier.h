/* tier.h - the tiers of a function: evaluator and machine code.
 *
 * Decides which instructions run as machine code and when it is made.
 *
 * Needs: unit.h, compile_service.h. The evaluator calls these functions through
 * NativeHooks (frame.h).
 *
 * Contract:
 * - A function runs in the evaluator until its machine code is available, and
 *   permanently where there is none.
 * - The tier affects only speed and the last bits of sums.
 * - Code works for all extents: a call with other extents compiles nothing.
 *
 *     tier.c      when: estimates, counts, settings
 *     osr.c       a running loop as a function of its own
 *     partition.c which instructions form a unit
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_TIER_H
#define ATLED_BACKEND_NATIVE_JIT_TIER_H

#include "backend/eval/core/unit.h"
#include "backend/native/jit/compile_service.h"

/* ---- partition.c --------------------------------------------------------- */

/* A bound on the cost of a plan. */
typedef struct PlanLimit {
	double (*cost)(void *ud, const Unit *u); /* of a unit, in seconds */
	void *ud;
	double most; /* for all units together */
} PlanLimit;
/* Partitions f into units. hints: see lower/context.h. describe: units get
 * notes. limit NULL: none. A plan beyond the limit is incomplete (`cut`). The
 * result is in `keep`. Throws when memory fails. */
NativePlan *native_plan(Ctx *c, const Fn *f, const int64_t *hints, Arena *keep, bool describe,
                        const PlanLimit *limit);
/* Releases code, requests and constants. The arena remains the caller's. */
void native_plan_drop(NativePlan *p);

/* ---- osr.c --------------------------------------------------------------- */

/* A loop as a function. Its parameters are (from, to) for a counted loop, the
 * loop-carried values, the values `free` of the surrounding function, and the
 * extents `syms`. */
typedef struct OsrLoop {
	Fn *fn; /* owns one reference */
	uint32_t nfree, nsyms;
	const uint32_t *free, *syms;
} OsrLoop;
/* Makes a function of the loop `inst`; the result is in `keep`. NULL when the
 * loop cannot be separated. */
OsrLoop *native_osr(Ctx *c, const Fn *f, InstId inst, Arena *keep);

/* ---- tier.c -------------------------------------------------------------- */

/* The code to run for a call of `code`: itself, or its machine code when
 * available. args: the call's, for the extents. */
Code *tier_choose(Backend *be, Code *code, const Value *args);
/* The machine code if available; does not count as a call. Sets *never when
 * there will be none. */
Code *tier_ready(const Backend *be, const Code *code, bool *never);
/* Whether its machine code is being compiled. */
bool tier_pending(const Code *code);
/* Asks whether the remainder of a loop may run as machine code. The evaluator's
 * loop has reached iteration `from` of `to` after `seconds`.
 *
 * - Returns true when the remainder has run: *st is its status, and `held` has
 *   the results.
 * - Sets *soon when the code is being compiled: ask again before long.
 */
bool osr_enter(Frame *f, const Step *s, int64_t from, int64_t to, double seconds, Value *held,
               Status *st, bool *soon);
/* The seconds that a compilation may take for a loop that reached iteration
 * `from` of `to` after `seconds`. That is the predicted remaining time. With an
 * unknown trip count (to <= from) it is a multiple of `seconds`. A longer
 * compilation is deferred. */
double osr_budget(int64_t from, int64_t to, double seconds);
/* The predicted compile time of a module, when LLVM is already open. */
double native_module_seconds(const KModule *m);
/* CodegenOptions.level for code worth compiling. Very large modules are
 * compiled quickly rather than optimised fully. */
int native_level(const KModule *m);
/* Frees the tier state of a code that is about to be freed. */
void tier_drop(Ctx *c, Code *code);
/* Visits the functions of which that state holds references. */
void tier_each(const Code *code, const RefVisitor *v);
void tier_state_free(Ctx *c, struct TierState *s);

#endif
