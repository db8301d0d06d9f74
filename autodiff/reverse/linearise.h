/* linearise.h - the plan by which a function is split, between the file that
 * makes it and the file that follows it.
 *
 * Needs: primal_linear.h. Guarantees: used only by
 * autodiff/reverse/linearise*.c.
 *
 * An *item* is a value that the primal part hands to the linear part from one
 * region: a value that a linear instruction uses, what an instruction with
 * regions (or a callee) hands on from inside, the length a symbol stands for.
 * From a branch items leave as results of the `if`; from a loop they leave on
 * tapes, one row for each turn; from the body they are the residuals.
 *
 * Types in a plan are in the source function's symbols and in further ones,
 * numbered after them, for lengths that only the split brings: of tapes, of
 * items of a branch or a callee. Both new functions learn what these stand for
 * when they meet the items.
 */
#ifndef ATLED_AUTODIFF_REVERSE_LINEARISE_H
#define ATLED_AUTODIFF_REVERSE_LINEARISE_H

#include "autodiff/reverse/primal_linear.h"

typedef enum ItemKind {
	ITEM_VALUE,  /* of the source function: `id` */
	ITEM_INST,   /* number k of those that instruction `id` hands on */
	ITEM_EXTENT, /* in a loop: the length of symbol `id`, which is not the same in all turns */
	ITEM_WITNESS /* elsewhere: an empty array whose shape gives symbols their lengths */
} ItemKind;

typedef struct Item {
	uint8_t kind;
	/* in a loop: the shape is not the same in all turns, so the elements lie
	 * on a flat tape */
	bool ragged;
	uint32_t id, k;
	TypeId type;
} Item;

typedef struct SymBorn {
	SymId sym;
	bool needed; /* the linear part mentions it */
} SymBorn;

typedef struct RegionPlan {
	VEC(SymBorn) born;
	VEC(Item) items;
} RegionPlan;

typedef enum CallMode {
	CALL_PLAIN, /* no operand is linear: it belongs to the primal part */
	CALL_SPLIT, /* the callee's primal part hands residuals to its linear part */
	/* one function of all operands, linear in some: linear by its making, or
	 * recursive */
	CALL_JOINT
} CallMode;

/* Why a loop that should keep snapshots keeps tapes; `explain` has words for
 * them (_tape_reasons in prelude.dsl). */
typedef enum TapeReason {
	TAPE_NONE,
	TAPE_EFFECTS,
	TAPE_RECURSION,
	TAPE_SHAPES,
	TAPE_VALUES
} TapeReason;

typedef struct InstPlan {
	CallMode mode;
	bool *places, *results; /* of a call: which operands and results are linear */
	const Derived *split;   /* of the callee; NULL when it is linear by its making */
	Dim turns;              /* of a `for` that hands on items: the rows of its tapes */
	bool turns_known;       /* ... can be said before the loop without looking at a value */
	VEC(TypeId) given;      /* what it hands on to its region */
	const struct SnapshotPlan *snapshots; /* of a loop: it hands on no tapes */
	TapeReason tapes;                     /* of a loop that keeps none where it should */
	Ref *primal, *linear;                 /* the same, in each new function */
} InstPlan;

enum { KEPT_NOT, KEPT_SAVED, KEPT_REMADE };

typedef struct Plan {
	Ctx *c;
	const Fn *f;
	Derived *d;
	Arena *a;
	Depends dep;
	bool *live; /* by value: linear, and a linear result depends on it */
	/* by symbol of f: a value that is not linear shows it, or a length is
	 * bound to it */
	bool *shown;
	bool *brought;  /* by symbol of f: one that is linear, and live, shows it */
	uint8_t *kept;  /* by value: not linear, and the linear part uses it */
	uint32_t marks; /* live and kept ones so far */
	RegionPlan *regions;
	InstPlan *insts;
	VEC(InstId) guards;
	uint32_t nsyms;      /* of f, and further ones */
	bool *linear_result; /* by result of f */
	bool plain;          /* only the primal part is wanted, and hands on nothing */
	bool report;         /* ... and gives what ad_checkpoint_report says */
} Plan;

/* linearise_plan.c */
void plan_split(Plan *p);
/* mentions a symbol born in r */
bool type_varies_in(const Plan *p, TypeId t, RegionId r);
bool known_outside(const Plan *p, SymId s, RegionId r); /* born in r or around it */
bool encloses(const Plan *p, RegionId outer, RegionId r);
/* item k is the first on its flat tape */
bool opens_flat_tape(const Plan *p, const RegionPlan *g, uint32_t k);
static inline const Inst *plan_inst(const Plan *p, const Region *g, uint32_t i) {
	return &p->f->insts.at[p->f->inst_order.at[g->insts + i]];
}
static inline InstPlan *plan_of(const Plan *p, const Inst *in) {
	return &p->insts[in - p->f->insts.at];
}
static inline RegionId region_id(const Plan *p, const Inst *in, uint32_t k) {
	return p->f->region_ids.at[in->regions + k];
}
static inline Ref plan_result(const Plan *p, const Region *g, uint32_t k) {
	return p->f->args.at[g->results + k];
}
static inline bool is_linear(const Plan *p, Ref r) { return depends_on(&p->dep, r); }
static inline bool is_live(const Plan *p, Ref r) {
	return ref_is_value(r) && p->live[REF_INDEX(r)];
}
static inline bool any_live_result(const Plan *p, const Inst *in) {
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_live(p, inst_result(in, k))) return true;
	return false;
}

/* linearise_emit.c */
Fn *emit_primal_part(Plan *p);
Fn *emit_linear_part(Plan *p, const Fn *primal);

#endif
