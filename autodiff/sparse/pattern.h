/* pattern.h - which elements of a derivative can be other than zero: the
 * transform that asks, and what its files share.
 *
 * Needs: transform_cache.h, index_sets.h. Guarantees: used only by
 * autodiff/sparse/.
 *
 * The question is put to the jvp of a function, in which tangents meet only
 * linear operations, so that every rule of differentiation is followed and none
 * has to be told again. From it a function is made that computes sets of input
 * indices in place of tangents. What it needs of the program itself (index
 * arrays, trip counts, masks, constant matrices) it computes as the program
 * does; what depends on the point is not computed, and counts as anything.
 */
#ifndef ATLED_AUTODIFF_SPARSE_PATTERN_H
#define ATLED_AUTODIFF_SPARSE_PATTERN_H

#include "autodiff/core/transform_cache.h"
#include "autodiff/sparse/index_sets.h"

/* What is known of a value before the point is. */
typedef enum Level {
	LEVEL_FIXED,   /* all of it: from constants, lengths, captured arrays */
	LEVEL_NUMBER,  /* from captured real numbers: computed, but a zero in it is an accident */
	LEVEL_VARYING, /* nothing: it depends on the point */
	LEVEL_ACTIVE   /* a tangent: the set of inputs that each of its elements depends on */
} Level;

typedef struct Terms { /* of a union */
	uint32_t n;
	Ref at[SETS_TERMS];
} Terms;

typedef struct Sparsity {
	Ctx *c;
	Builder *b;
	const Fn *f; /* a jvp, with its calls written out */
	Arena *a;
	/* what is computed; of tangents the numbers of their sets, absent where
	 * all are empty */
	RefMap map;
	uint8_t *level; /* by value */
	/* by instruction with regions: which of them runs, or how often, depends
	 * on the point */
	bool *uncertain;
	bool *known; /* by symbol: met so far; analysis only */
	/* by symbol: the instruction whose results make it depend on the point,
	 * plus one; 0: it does not */
	InstId *lost;
	uint32_t perhaps; /* emitting what may not be reached */
	uint32_t *uses;   /* by value, and the instruction that is one of them */
	InstId *user;
	Terms **waiting; /* by value: a union that its only user makes; NULL: none */
} Sparsity;

/* binding_time.c: fills level, uncertain and lost; the levels of the parameters
 * are set. */
void sparsity_levels(Sparsity *p);
Level sparsity_level(const Sparsity *p, Ref r);
bool sparsity_is_zero(const Sparsity *p, const Inst *in); /* a product with a constant 0 */
/* A symbol in the type that depends on the point; 0: none, else the instruction
 * that gives birth to it, plus one. */
InstId sparsity_lost(const Sparsity *p, TypeId t);
/* Nothing in the instruction depends on the point, its regions included. */
bool sparsity_plain(const Sparsity *p, const Inst *in);

/* pattern_rules.c: the sets of the results of an instruction without regions
 * that has a tangent among its results. */
void sparsity_rule(Sparsity *p, const Inst *in);
Ref sparsity_sets(const Sparsity *p, Ref r); /* REF_NONE: all empty */
Ref sparsity_full(Sparsity *p, Ref r);       /* an array of them in any case */
Ref sparsity_join(Sparsity *p, Ref a, Ref b);
/* of f, in the function under construction; throws when a length is lost */
TypeId sparsity_type(Sparsity *p, TypeId t);
TypeId sparsity_sets_type(Sparsity *p, Ref r);

/* pattern.c: (parameters of f) -> for each result that has a tangent the sets
 * of its elements, as i32 of its shape. `active` flags the one parameter that
 * is differentiated, of which only the shape is looked at; the first ncaptured
 * parameters are what f captures, all others vary. Borrowed. */
Fn *ad_sparsity(Ctx *c, Fn *f, const bool *active, uint32_t ncaptured);

/* pattern_host.c: registers "sparsity". Throws. */
void sparsity_register(Ctx *c);
/* Runs what ad_sparsity gave, for that many elements of the parameter; *sets,
 * which tell what the numbers mean, are the caller's. */
Status sparsity_run(Ctx *c, Fn *program, int64_t ninputs, const Value *args, Value *results,
                    Sets **sets);

#endif
