/* pattern.h - the sparsity pattern of a derivative: the transform, and
 * declarations shared by its files.
 *
 * Method: abstract interpretation of the jvp of a function, in which tangents
 * pass only through linear operations. All differentiation rules are thereby
 * covered. The result is a function that computes sets of input indices in
 * place of tangents. It computes the parts of the program that determine the
 * pattern (index arrays, trip counts, masks, constant matrices) as the program
 * does. Values that depend on the point are not computed and count as
 * arbitrary.
 *
 * Needs: transform_cache.h, index_sets.h. Used only by autodiff/sparse/.
 */
#ifndef ATLED_AUTODIFF_SPARSE_PATTERN_H
#define ATLED_AUTODIFF_SPARSE_PATTERN_H

#include "autodiff/core/transform_cache.h"
#include "autodiff/sparse/index_sets.h"

/* The binding time of a value: how much of it is known before the point is. */
typedef enum BindingTime {
	BT_STATIC,  /* all of it: from constants, extents, captured arrays */
	BT_SCALAR,  /* from captured real scalars: computed, but its zeros are not structural */
	BT_DYNAMIC, /* nothing: it depends on the point */
	BT_ACTIVE   /* a tangent: each element is the set of inputs it depends on */
} BindingTime;

typedef struct UnionOperands { /* the operands of a union */
	uint32_t n;
	Ref at[SETS_TERMS];
} UnionOperands;

typedef struct Sparsity {
	Ctx *c;
	Builder *b;
	const Fn *f; /* a jvp, with its calls inlined */
	Arena *a;
	/* The values computed; for tangents the ids of their sets, absent where all
	 * are empty. */
	RefMap map;
	uint8_t *binding_time; /* by value */
	/* By instruction with regions: the branch taken, or the trip count, depends
	 * on the point. */
	bool *uncertain;
	bool *known; /* by symbol: encountered so far; analysis only */
	/* By symbol: the instruction whose results make it depend on the point,
	 * plus one; 0: it does not. */
	InstId *lost;
	uint32_t perhaps; /* depth of regions that may not be reached */
	uint32_t *uses;   /* by value: the number of uses, and an instruction that uses it */
	InstId *user;
	UnionOperands **waiting; /* by value: a union deferred to its only user; NULL: none */
} Sparsity;

/* binding_time.c: fills binding_time, uncertain and lost. The binding times of
 * the parameters must be set. */
void sparsity_find_binding_times(Sparsity *p);
BindingTime sparsity_binding_time(const Sparsity *p, Ref r);
bool sparsity_is_zero(const Sparsity *p, const Inst *in); /* a product with a constant 0 */
/* The instruction that defines a symbol in the type that depends on the point,
 * plus one; 0: there is none. */
InstId sparsity_lost(const Sparsity *p, TypeId t);
/* Whether nothing in the instruction, its regions included, depends on the
 * point. */
bool sparsity_plain(const Sparsity *p, const Inst *in);

/* pattern_rules.c: the sets of the results of an instruction without regions
 * that has a tangent among its results. */
void sparsity_rule(Sparsity *p, const Inst *in);
Ref sparsity_sets(const Sparsity *p, Ref r); /* REF_NONE: all empty */
Ref sparsity_full(Sparsity *p, Ref r);       /* as sparsity_sets, with empty sets for REF_NONE */
Ref sparsity_join(Sparsity *p, Ref a, Ref b);
/* A type of f, in the function under construction. Throws when an extent
 * depends on the point. */
TypeId sparsity_type(Sparsity *p, TypeId t);
TypeId sparsity_sets_type(Sparsity *p, Ref r);

/* pattern.c: (parameters of f) -> for each result that has a tangent the sets
 * of its elements, as i32 of its shape. `active` flags the one parameter to
 * differentiate with respect to, of which only the shape is used. The first
 * ncaptured parameters are those that f captures; all others vary. Borrowed. */
Fn *ad_sparsity(Ctx *c, Fn *f, const bool *active, uint32_t ncaptured);

/* pattern_host.c: registers "sparsity". Throws. */
void sparsity_register(Ctx *c);
/* Runs the result of ad_sparsity for a parameter of `ninputs` elements. *sets,
 * which resolves the ids in the results, is owned by the caller. */
Status sparsity_run(Ctx *c, Fn *program, int64_t ninputs, const Value *args, Value *results,
                    IndexSets **sets);

#endif
