/* batch.h - batching: the transform's state, and how rules access operands and
 * results.
 *
 * Needs: transform_cache.h. Used only by autodiff/batch/.
 *
 * A value is *batched* (it "has lanes") when it differs between batch elements.
 * It then has the batch axis in front; all batch elements share every other
 * value. An *effect chain* is a token or a random state. It
 * belongs to the whole program and is never batched: all batch elements share
 * it. Where a function starts a random state of its own, its batch elements run
 * sequentially.
 */
#ifndef ATLED_AUTODIFF_BATCH_BATCH_H
#define ATLED_AUTODIFF_BATCH_BATCH_H

#include "autodiff/core/transform_cache.h"

typedef struct EffectChains EffectChains; /* the effect chains of a function */

typedef struct BatchUndo { /* the old mapping of a value that is temporarily replaced */
	uint32_t value;
	Ref old;
} BatchUndo;

typedef struct Batcher {
	Ctx *c;
	Builder *b;
	const Fn *f;
	Arena *scratch;
	Transform *entry;
	RefMap map;
	Dim n;        /* the extent of the batch axis */
	bool *lanes;  /* by value of f: it is batched */
	bool *effect; /* by value of f: it is a token or a random state */
	/* f starts a random state of its own (a seed), so its batch elements run
	 * sequentially, as in a loop. */
	bool starts;
	/* By symbol of f: the instruction that defines it, directly or in one of
	 * its regions; NO_INST: a parameter. */
	InstId *defined_by;
	/* By symbol of f: the extent of a tape, which differs between batch
	 * elements. The tape is as long as the longest element needs; nothing reads
	 * beyond an element's own part. */
	bool *tape_extent;
	/* By value of f: a parameter of a `while` that is such a tape, or its value
	 * after an iteration. */
	bool *tape;
	/* By symbol of f: an extent that differs between batch elements, so that
	 * the instructions using it run sequentially. */
	bool *ragged, any_ragged;
	EffectChains *known;
	VEC(BatchUndo) trail;
} Batcher;

/* Analysis (analysis.c): fills lanes, effect and defined_by. */
void batch_analyse(Batcher *s);
bool batch_lanes(const Batcher *s, Ref r);
bool batch_is_effect(const Batcher *s, Ref r);
/* The random state among the results (or parameters) of a function that the
 * specialiser made: it precedes the token. REF_NONE if there is none. */
Ref batch_state_of(Ctx *c, const Fn *f, bool result);
/* Whether all extents in the type are known before the instruction runs. */
bool batch_dims_before(const Batcher *s, const Inst *in, TypeId t);
/* Whether the instruction uses or defines a batched value, directly or in its
 * regions. */
bool batch_involved(const Batcher *s, const Inst *in);
/* Some instructions of one region, in order. */
typedef struct BatchGroup {
	const Inst **at;
	uint32_t n;
} BatchGroup;
/* Whether r is a result of one of them, or defined in one of their regions. */
bool batch_within(const Batcher *s, Ref r, const BatchGroup *g);
/* The value with which an effect chain that leaves as r entered the regions of
 * owner, or the group; REF_NONE when it starts inside. */
Ref batch_effect_entry(const Batcher *s, Ref r, const Inst *owner);
Ref batch_effect_into(const Batcher *s, Ref r, const BatchGroup *g);
/* Whether extents in the callee would differ between batch elements. */
bool batch_one_by_one(const Batcher *s, const Inst *call);
/* The entry of the callee's batch for the operands that are batched. */
Transform *batch_callee(const Batcher *s, const Inst *in);

/* Whether a function that f calls, directly or indirectly, stores tapes for a
 * derivative. Such calls are inlined: batch elements may have tapes of
 * different extents only if every reader is visible too. */
bool batch_calls_keep_tapes(Ctx *c, Arena *scratch, const Fn *f);

/* Extents that differ between batch elements (ragged.c). Marks those present so
 * far and marks as batched the results that use them. Returns whether anything
 * has changed. */
bool batch_find_ragged(Batcher *s);
/* The instructions [from, end) of the region that run in one sequential loop
 * over the batch elements. `sequential` flags, by index in the region, those
 * inside the loop; the others precede it. end = from: the instruction runs for
 * all batch elements at once. */
typedef struct RaggedRange {
	uint32_t from, end;
	bool *sequential;
} RaggedRange;
RaggedRange batch_ragged_range(const Batcher *s, const Region *r, uint32_t from);
bool batch_calls_give_lengths(Ctx *c, const Fn *f);

/* Operands and results. */
Ref batch_get(Batcher *s, Ref r); /* as it is, batched or not */
void batch_set(Batcher *s, Ref result, Ref x);
Ref batch_arg(Batcher *s, const Inst *in, uint32_t k);
Ref batch_full_arg(Batcher *s, const Inst *in, uint32_t k);
AttrId batch_attr(Batcher *s, const Inst *in); /* with the new function's dims */
/* The same for a type, with the batch axis if `lanes`. */
TypeId batch_type(Batcher *s, TypeId t, bool lanes);
_Noreturn void batch_no_rule(const Batcher *s, const Inst *in, const char *why);

typedef void (*BatchRule)(Batcher *s, const Inst *in);
BatchRule batch_rule(Op op);

#define ST(ID, ...) void batch_##ID(Batcher *s, const Inst *in);
#include "lang/ir/prims.def"

/* Makes the entry (TR_BATCH, order 0). result_active flags the batched
 * results. */
void batch_make(Ctx *c, Transform *d);

#endif
