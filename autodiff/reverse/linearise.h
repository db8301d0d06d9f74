/* linearise.h - the plan for splitting a function, made by linearise_plan.c and
 * followed by linearise_emit.c.
 *
 * Needs: primal_linear.h. Used only by autodiff/reverse/linearise*.c and
 * checkpoint.c.
 *
 * A *saved value* is a value that one region of the primal part passes to the
 * linear part. It is a value that a linear instruction uses, a saved value
 * passed out of an inner region or a callee, or the value of a symbol. Saved
 * values leave a branch as results of the `if`. They leave a loop on tapes, one
 * row for each iteration. The saved values of the body are the residuals.
 *
 * Types in a plan use the source function's symbols. Further symbols, numbered
 * after them, stand for extents that only the split introduces: of tapes, and
 * of saved values of a branch or a callee. Both new functions bind these
 * symbols when they encounter the saved values.
 */
#ifndef ATLED_AUTODIFF_REVERSE_LINEARISE_H
#define ATLED_AUTODIFF_REVERSE_LINEARISE_H

#include "autodiff/reverse/primal_linear.h"

typedef enum SavedKind {
	SAVED_VALUE,  /* value `id` of the source function */
	SAVED_INST,   /* number k of those that instruction `id` passes on */
	SAVED_EXTENT, /* in a loop: the value of symbol `id`, which varies between iterations */
	SAVED_WITNESS /* elsewhere: an empty array whose shape gives symbols their values */
} SavedKind;

typedef struct SavedValue {
	uint8_t kind;
	/* In a loop: the shape varies between iterations, so the elements are on a
	 * flat tape. */
	bool ragged;
	uint32_t id, k;
	TypeId type;
} SavedValue;

typedef struct RegionSymbol {
	SymId sym;
	bool needed; /* the linear part mentions it */
} RegionSymbol;

typedef struct RegionPlan {
	VEC(RegionSymbol) defined;
	VEC(SavedValue) saved;
} RegionPlan;

typedef enum CallMode {
	CALL_PLAIN, /* no operand is linear: it belongs to the primal part */
	CALL_SPLIT, /* the callee's primal part passes residuals to its linear part */
	/* One function of all operands, linear in some: linear by construction, or
	 * recursive. */
	CALL_JOINT
} CallMode;

/* Why a loop that should use checkpoints uses tapes; `explain` has the wording
 * (_tape_reasons in prelude.dsl). */
typedef enum TapeReason {
	TAPE_NONE,
	TAPE_EFFECTS,
	TAPE_RECURSION,
	TAPE_SHAPES,
	TAPE_VALUES
} TapeReason;

typedef struct InstPlan {
	CallMode mode;
	bool *places, *results; /* of a call: the linear operands and results */
	const Transform *split; /* of the callee; NULL when it is linear by construction */
	Dim turns;              /* of a `for` that passes on saved values: the rows of its tapes */
	bool turns_known;       /* ... is known before the loop without reading a value */
	VEC(TypeId) given;      /* types of the saved values passed on to the region around it */
	const struct SnapshotPlan *snapshots; /* of a checkpointed loop: it has no tapes */
	TapeReason tapes;                     /* of a loop that has no checkpoints although it should */
	Ref *primal, *linear;                 /* these saved values, in each new function */
} InstPlan;

enum { KEPT_NOT, KEPT_SAVED, KEPT_REMADE };

typedef struct LinearisePlan {
	Ctx *c;
	const Fn *f;
	Transform *d;
	Arena *a;
	LinearValues dep;
	bool *live; /* by value: linear, and a linear result depends on it */
	/* By symbol of f: a value that is not linear has it in its shape, or it is
	 * bound. */
	bool *shown;
	bool *brought;  /* by symbol of f: a live linear value has it in its shape */
	uint8_t *kept;  /* by value: not linear, and the linear part uses it */
	uint32_t marks; /* number of values marked live or kept so far */
	RegionPlan *regions;
	InstPlan *insts;
	VEC(InstId) guards;
	uint32_t nsyms;      /* of f, and further ones */
	bool *linear_result; /* by result of f */
	bool plain;          /* emit only the primal part, without saved values */
	bool report;         /* ... and return the report of ad_checkpoint_report */
} LinearisePlan;

/* linearise_plan.c */
void plan_split(LinearisePlan *p);
/* Whether t mentions a symbol defined in r. */
bool type_varies_in(const LinearisePlan *p, TypeId t, RegionId r);
bool known_outside(const LinearisePlan *p, SymId s, RegionId r); /* defined in r or around it */
bool encloses(const LinearisePlan *p, RegionId outer, RegionId r);
/* Whether saved value k is the first on its flat tape. */
bool opens_flat_tape(const LinearisePlan *p, const RegionPlan *g, uint32_t k);
static inline const Inst *plan_inst(const LinearisePlan *p, const Region *g, uint32_t i) {
	return &p->f->insts.at[p->f->inst_order.at[g->insts + i]];
}
static inline InstPlan *plan_of(const LinearisePlan *p, const Inst *in) {
	return &p->insts[in - p->f->insts.at];
}
static inline RegionId region_id(const LinearisePlan *p, const Inst *in, uint32_t k) {
	return p->f->region_ids.at[in->regions + k];
}
static inline Ref plan_result(const LinearisePlan *p, const Region *g, uint32_t k) {
	return p->f->args.at[g->results + k];
}
static inline bool is_linear(const LinearisePlan *p, Ref r) { return depends_on(&p->dep, r); }
static inline bool is_live(const LinearisePlan *p, Ref r) {
	return ref_is_value(r) && p->live[REF_INDEX(r)];
}
static inline bool any_live_result(const LinearisePlan *p, const Inst *in) {
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_live(p, inst_result(in, k))) return true;
	return false;
}

/* linearise_emit.c */
Fn *emit_primal_part(LinearisePlan *p);
Fn *emit_linear_part(LinearisePlan *p, const Fn *primal);

#endif
