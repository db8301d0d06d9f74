/* tier.h - the two tiers of a function: which of its instructions run as
 * machine code, when that is made, and how it is run as steps.
 *
 * Needs: unit.h, compile_service.h. The evaluator calls these functions through
 * NativeHooks (frame.h). Guarantees: a function runs in the
 * evaluator until its machine code is there, and for good where there is none;
 * which tier ran shows in nothing but speed and the last bits of sums. Code
 * serves all lengths: a call with others compiles nothing.
 *
 *     tier.c      when: estimates, counts, the settings
 *     osr.c       a loop under way as a function of its own
 *     partition.c which instructions go together
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_TIER_H
#define ATLED_BACKEND_NATIVE_JIT_TIER_H

#include "backend/eval/core/unit.h"
#include "backend/native/jit/compile_service.h"

/* ---- partition.c --------------------------------------------------------- */

/* Throws when memory fails. hints: lower/context.h. describe: units have notes.
 */
NativePlan *native_plan(Ctx *c, const Fn *f, const int64_t *hints, Arena *keep, bool describe);
/* Gives back code, requests and constants; the arena is the caller's. */
void native_plan_drop(NativePlan *p);

/* ---- osr.c --------------------------------------------------------------- */

/* A loop as a function: (from, to) for a counted one, the carried values, the
 * values `free` of the function around it, the lengths `syms`. */
typedef struct OsrLoop {
	Fn *fn; /* one reference */
	uint32_t nfree, nsyms;
	const uint32_t *free, *syms;
} OsrLoop;
/* NULL when the loop cannot stand alone. In keep. */
OsrLoop *native_osr(Ctx *c, const Fn *f, InstId inst, Arena *keep);

/* ---- tier.c -------------------------------------------------------------- */

/* The code to run for a call of `code`: itself, or its machine code when that
 * is there. args: the call's, for lengths. */
Code *tier_choose(Backend *be, Code *code, const Value *args);
/* The machine code if it is there, without counting a call; *never: it will not
 * be. */
Code *tier_ready(const Backend *be, const Code *code, bool *never);
/* Its machine code is being made. */
bool tier_pending(const Code *code);
/* A loop of the evaluator has come to turn `turn` (32, 64, 128 ...), and took
 * so many seconds: may the rest of it run as machine code? If so it has run
 * with status *st, and `held` has its results. *soon: it is being compiled, so
 * ask again before long. */
bool tier_loop(Frame *f, const Step *s, int64_t from, int64_t to, double seconds, Value *held,
               Status *st, bool *soon);
/* What the compiler may take for the rest of a loop that has come to turn
 * `from` of `to` in so many seconds: what is left of it; where nobody knows how
 * many turns there are (to <= from), some times what it has taken. What would
 * take it longer is put off. */
double tier_loop_worth(int64_t from, int64_t to, double seconds);
/* How long the compiler will take for a module, about, once LLVM is open. */
double native_module_seconds(const KModule *m);
/* CodegenOptions.level for code that pays: what is very large is compiled
 * quickly rather than well. */
int native_level(const KModule *m);
/* Frees what the tiers hold of a code that is about to be freed. */
void tier_drop(Ctx *c, Code *code);
void tier_state_free(Ctx *c, struct TierState *s);

#endif
