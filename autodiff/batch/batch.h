/* batch.h - what the files of batching share: the transform's state and how
 * rules reach operands and results.
 *
 * Needs: transform_cache.h. Guarantees: used only by autodiff/batch/. A value
 * "has lanes" when it differs from lane to lane: then it carries the batch axis
 * in front; every other value is one for all lanes. Tokens and random states
 * never have lanes: they are threads of the whole program, and all lanes share
 * them. Where a function starts a state of its own, its lanes are done one
 * after the other.
 */
#ifndef ATLED_AUTODIFF_BATCH_BATCH_H
#define ATLED_AUTODIFF_BATCH_BATCH_H

#include "autodiff/core/transform_cache.h"

typedef struct Threads Threads; /* what is known of a function's tokens and random states */

typedef struct BatchUndo { /* what a value was mapped to before it stood for something else */
	uint32_t value;
	Ref old;
} BatchUndo;

typedef struct Batch {
	Ctx *c;
	Builder *b;
	const Fn *f;
	Arena *scratch;
	Derived *entry;
	RefMap map;
	Dim n;        /* the batch length */
	bool *lanes;  /* by value of f */
	bool *thread; /* by value of f: a token or a random state */
	/* f has a random state that it was not given (a seed of its own), so
	 * that it is done one lane after the other, as a loop would */
	bool starts;
	InstId
		/* by symbol of f: the instruction that gives birth to it, or whose
		 * region does; NO_INST: a parameter */
		*born;
	/* By symbol of f: a length of which each lane has its own, of a tape that a
	 * derivative keeps. The tape is as long as the longest lane needs; what is
	 * behind a lane's own part is never read. */
	bool *ragged;
	/* by value of f: a parameter of a `while` that is such a tape, and what
	 * it becomes in a turn */
	bool *tape;
	/* by symbol of f: a length of which each lane has its own, so that what
	 * touches it is done lane by lane */
	bool *apart, any_apart;
	Threads *known;
	VEC(BatchUndo) trail;
} Batch;

/* Analysis (analysis.c): fills lanes, thread and born. */
void batch_analyse(Batch *s);
bool batch_lanes(const Batch *s, Ref r);
bool batch_thread(const Batch *s, Ref r);
/* The state of the random numbers among the results, or parameters, of a
 * function that the specialiser made: it stands before the token. Else
 * REF_NONE. */
Ref batch_state_of(Ctx *c, const Fn *f, bool result);
/* All lengths in the type are known before the instruction runs. */
bool batch_dims_before(const Batch *s, const Inst *in, TypeId t);
/* The instruction touches a value with lanes, directly or in its regions. */
bool batch_involved(const Batch *s, const Inst *in);
/* Some instructions of one region, in order. */
typedef struct BatchGroup {
	const Inst **at;
	uint32_t n;
} BatchGroup;
/* one of its results, or defined in one of its regions */
bool batch_within(const Batch *s, Ref r, const BatchGroup *g);
/* Where a thread that leaves a region of owner, or the group, as r came into
 * it; REF_NONE when it did not. */
Ref batch_thread_entry(const Batch *s, Ref r, const Inst *owner);
Ref batch_thread_into(const Batch *s, Ref r, const BatchGroup *g);
/* Lengths in the callee would differ from lane to lane. */
bool batch_one_by_one(const Batch *s, const Inst *call);
/* The entry of the callee's batch for the operands that have lanes. */
Derived *batch_callee(const Batch *s, const Inst *in);

/* A function that is called, or one that it calls, keeps tapes for a
 * derivative: whether lanes may have their own lengths of those can only be
 * seen where they are read as well. */
bool batch_calls_keep_tapes(Ctx *c, Arena *scratch, const Fn *f);

/* Lengths that lanes do not share (ragged.c). Marks those there are now and
 * gives lanes to what touches them: whether anything has changed. */
bool batch_find_apart(Batch *s);
/* The instructions [from, end) of the region that are done together, one lane
 * after the other: those that wait for the loop over the lanes, by place in the
 * region; the others come before it. end = from: the instruction is done for
 * all lanes at once. */
typedef struct BatchRun {
	uint32_t from, end;
	bool *waits;
} BatchRun;
BatchRun batch_run_at(const Batch *s, const Region *r, uint32_t from);
bool batch_calls_give_lengths(Ctx *c, const Fn *f);

/* Operands and results. */
Ref batch_get(Batch *s, Ref r); /* as it is */
void batch_set(Batch *s, Ref result, Ref x);
Ref batch_arg(Batch *s, const Inst *in, uint32_t k);
Ref batch_full_arg(Batch *s, const Inst *in, uint32_t k);
AttrId batch_attr(Batch *s, const Inst *in); /* in terms of the new function's dims */
/* the same for a type, with the batch axis if wanted */
TypeId batch_type(Batch *s, TypeId t, bool lanes);
_Noreturn void batch_no_rule(const Batch *s, const Inst *in, const char *why);

typedef void (*BatchRule)(Batch *s, const Inst *in);
BatchRule batch_rule(Op op);

#define ST(ID, ...) void batch_##ID(Batch *s, const Inst *in);
#include "lang/ir/prims.def"

/* Makes the entry (TR_BATCH, order 0): result_active says which results have
 * lanes. */
void batch_make(Ctx *c, Derived *d);

#endif
