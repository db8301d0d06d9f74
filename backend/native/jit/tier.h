/* tier.h - the two tiers of a function: which of its instructions run as
 * machine code, when that is made, and how it is run as steps.
 *
 * Needs: frame.h, unit.h, compile_service.h. Guarantees: a function runs in the
 * evaluator until its machine code is there, and for good where there is none;
 * which tier ran shows in nothing but speed and the last bits of sums. Code
 * serves all lengths: a call with others compiles nothing.
 *
 *     tier.c      when: estimates, counts, the settings
 *     osr.c       a loop under way as a function of its own
 *     partition.c      which instructions go together
 *     unit_step.c      a unit as a step of a prepared block
 *     direct_call.c    a function that is one unit, called without a frame (code.h)
 */
#ifndef ATLED_BACKEND_NATIVE_JIT_TIER_H
#define ATLED_BACKEND_NATIVE_JIT_TIER_H

#include "backend/eval/core/frame.h"
#include "backend/native/jit/compile_service.h"
#include "backend/native/unit.h"

/* ---- partition.c --------------------------------------------------------- */

/* A unit on its way to code, then as part of it. */
typedef struct NativeUnit {
	Unit *unit;             /* its module is freed when it has been compiled */
	NativeRequest *request; /* in the background */
	NativeCode *code;
	NativeEntry entry;
	/* decoded for running, by prepare */
	const int32_t *words;  /* operands */
	const DimRef *lengths; /* symbols, then polynomials */
	const TypeRef *outputs;
	const Dtype *result_dtypes;
	struct Figure *figure; /* of the profile; NULL: not timed yet */
	Tensor **constants;    /* by input: an array constant without gaps, or NULL. Owned */
} NativeUnit;

/* One step of a block: an instruction for the evaluator, or a unit. */
typedef struct NativeItem {
	NativeUnit *unit; /* NULL: inst */
	InstId inst;
} NativeItem;

typedef struct NativeItems {
	uint32_t n;
	const NativeItem *at;
} NativeItems;

typedef struct NativePlan {
	Ctx *c;
	const Fn *f;
	Arena *keep;
	NativeItems *regions; /* by region; at NULL: every instruction for itself */
	VEC(NativeUnit *) units;
	uint32_t ninsts; /* in units, inner ones included */
} NativePlan;

/* Throws when memory fails. hints: lower/context.h. describe: units have notes.
 */
NativePlan *native_plan(Ctx *c, const Fn *f, const int64_t *hints, Arena *keep, bool describe);
/* Gives back code, requests and constants; the arena is the caller's. */
void native_plan_drop(NativePlan *p);

/* ---- unit_step.c --------------------------------------------------------- */

/* s->site is the NativeUnit; s->args are its arrays. */
Status eval_native(Frame *f, const Step *s);
/* How a scalar travels, and back. */
int64_t unit_word(const Value *v);
Value unit_number(Dtype d, int64_t word);
/* A length that the unit wants; false: a diagnostic. */
bool unit_length(Frame *f, const Step *s, const DimRef *d, int64_t *out);
/* May machine code read the array where it lies? */
bool unit_reads(const Tensor *t);

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

/* ---- profile.c ----------------------------------------------------------- */

typedef struct Profile Profile;
/* One call of the unit; while be->profile. */
void profile_add(Backend *be, NativeUnit *u, double seconds);
void profile_free(Ctx *c, Profile *p);
/* While be->dump. */
void dump_units(Backend *be, const NativePlan *p);

/* ---- show.c -------------------------------------------------------------- */

/* Appends what f would become at these lengths (by symbol, -1 unknown): the
 * plan in words, or assembly. ST_NOMEM, or a failure of the plan. */
Status native_show(Ctx *c, Fn *f, const int64_t *lengths, uint32_t nlengths, bool assembly,
                   Text *out);

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
/* Of a code that is freed. */
void tier_drop(Ctx *c, struct Tier *t);
void tier_state_free(Ctx *c, struct TierState *s);

#endif
