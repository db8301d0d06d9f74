/* internal.h - the builder's internals, for the files that build, check, copy
 * and read functions.
 *
 * Needs: ir.h, host.h. Used only by lang/builder/ and the other files of the
 * IR; for all other modules Builder is opaque.
 *
 * Contract: the type rules serve the builder, which asks for result types, and
 * the verifier, which states them and asks whether they are right.
 */
#ifndef ATLED_LANG_BUILDER_INTERNAL_H
#define ATLED_LANG_BUILDER_INTERNAL_H

#include "lang/ir/state.h"

#define NO_DIM UINT32_MAX
#define NO_REGION UINT32_MAX

/* ---- the builder --------------------------------------------------------- */

struct OpenRegion {
	OpenRegion *outer;
	RegionId id;
	VEC(InstId) order;
	uint32_t shared_mark, bound_mark, trail_mark, meant_mark;
	/* The builder's span and chain when the region was opened; restored when it
	 * is closed. */
	SpanId span;
	ChainId chain;
};

typedef struct SharedExpr { /* an expression that may occur again */
	uint32_t hash;
	InstId inst;
	uint32_t next; /* next entry in the same bucket; UINT32_MAX: last */
} SharedExpr;

/* The previous meaning of a symbol in a RefMap, to be restored. */
typedef struct Meant {
	Dim *place, old;
} Meant;

typedef struct Bound { /* one bind_dim for each scalar */
	Ref scalar;
	Dim dim;
} Bound;

typedef struct DimUndo { /* sym UINT32_MAX: undo the last equality of whole dims */
	SymId sym;
	Dim old;
} DimUndo;

struct Builder {
	Ctx *ctx;
	Fn *fn; /* its arrays grow in `scratch` and are moved to fn->arena at the end */
	Arena *scratch;
	Builder *outer; /* the builder opened before this one */
	uint32_t serial;
	bool checking; /* used by a verifier: nothing may be emitted */
	bool unasked;  /* marks emitted instructions as not demanded by the text: see build_unasked */
	/* a constant 0 times anything is 0: see build_zeros_absorb */
	bool zeros_absorb;
	/* Set by the reader of the text form: nothing is folded, shared, reordered,
	 * renamed or removed. */
	bool verbatim;
	SpanId span;
	ChainId chain;
	OpenRegion *region; /* innermost open region */

	VEC(SharedExpr) shared;
	uint32_t *shared_heads, shared_head_count;
	VEC(Bound) bound;
	VEC(Meant) meant;                        /* of the open regions; restored when each is closed */
	uint32_t *const_heads, const_head_count; /* hash chains over fn->consts */
	VEC(uint32_t) const_next;
	VEC(uint32_t) const_hash;

	/* The equalities of extents in force. equal[s] == NO_DIM: the symbol is its
	 * own representative. */
	VEC(Dim) equal;
	uint32_t nequal;
	VEC(Dim) same_from;
	VEC(Dim) same_to;
	VEC(DimUndo) trail;
	/* Open addressing. Stores each extent with the last question (may_be_equal)
	 * that found it not negative. */
	struct VisitedDim *asked;
	uint32_t nasked, asked_slots, question;
	/* By symbol: the region that last defined it; NO_REGION: undefined. */
	VEC(RegionId) home;
	VEC(RegionId) region_parent; /* by region; NO_REGION: the body, or unknown */

	Tensor *pending;               /* created by folding, not yet a constant */
	uint16_t rule_first[OP_COUNT]; /* first row of each op in the table of rewrite rules */
	uint32_t *rule_hits;
	uint32_t depth; /* of nested rewrites */
};

/* ---- type rules (infer.c, infer_control.c) ------------------------------- */

/* The input and output of a type rule. With `stated` NULL, the rule infers the
 * result types; else it checks the stated ones. The rules of control flow,
 * calls and host calls only check: their builders know the types. */
typedef struct TypeQuery {
	Builder *b;
	Op op;
	uint32_t nargs;
	const Ref *args;
	AttrId attr;
	uint32_t nregions;
	const RegionId *regions;
	RegionId here; /* the region that contains the instruction */
	const TypeId *stated;
	uint32_t nstated;
	TypeId out[4]; /* the inferred types, when `stated` is NULL */
	uint32_t nout;
	const char *why; /* the error message; lives as long as the builder */
} TypeQuery;
/* Whether an extent is a symbol that nothing at the instruction can mention
 * yet, so that the instruction may define it. */
bool is_new_extent(const TypeQuery *q, Dim d);
/* Checks arity, attribute layout, operands and regions. Returns false and sets
 * q->why on failure. Throws only when memory runs out or the context stops. */
bool infer_types(TypeQuery *q);
bool type_wrong(TypeQuery *q, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* sets why, returns false */
#define EW1(ID, ...)
#define EW2(ID, ...)
#define ST(ID, ...) bool type_rule_##ID(TypeQuery *q);
#include "lang/ir/prims.def"

/* Matches the dims of carried values with the loop's parameter types. init_map
 * and body_map have fn->syms.n entries each. For each symbol defined in the
 * parameter list, they give its value initially, and after one iteration of
 * `body` (NO_DIM: no axis determines it). Symbols defined outside map to
 * themselves. `skip` parameters precede the carried ones. */
bool loop_maps(TypeQuery *q, RegionId body, uint32_t skip, uint32_t ncarried, const Ref *init,
               Dim *init_map, Dim *body_map);
/* Types of n consecutive parameters from `first`, in scratch memory. */
const TypeId *param_types(Builder *b, RegionId r, uint32_t first, uint32_t n);

/* "f64[n, 3]" with the symbols' names, in scratch memory. */
const char *type_words(Builder *b, TypeId t);
const char *dim_words(Builder *b, Dim d);
/* Throws an internal error that names the operation, the fault (`why`), and the
 * operands' types. */
_Noreturn void build_breach(Builder *b, Op op, uint32_t nargs, const Ref *args, const char *why);

/* ---- a checking builder, for the verifier -------------------------------- */

/* A checker over a finished function; it assumes no equalities at first. The
 * verifier walks in program order. It calls dims_enter for the types of region
 * parameters and results, dims_assume at guards, dims_mark before and dims_undo
 * after a region. */
Builder *checker_begin(const Fn *f);
void checker_end(Builder *b);

/* ---- equalities, defining regions (dim_equalities.c) --------------------- */

uint32_t dims_mark(const Builder *b);
void dims_undo(Builder *b, uint32_t mark);
/* Records that x and y are equal, without a guard. */
void dims_assume(Builder *b, Dim x, Dim y);
/* Makes an undefined symbol another name for value. */
void dims_define(Builder *b, SymId s, Dim value);
/* Assumes the guards directly in a closed region, to compare the types of its
 * results with others. */
void dims_assume_region(Builder *b, RegionId r);
/* Defines in region r the symbols of t that are not visible there. */
void dims_enter(Builder *b, RegionId r, TypeId t);
void dims_enter_dim(Builder *b, RegionId r, Dim d);
bool sym_visible(const Builder *b, SymId s, RegionId r);
bool dim_visible(Builder *b, Dim d, RegionId r);
bool build_same_dim(Builder *b, Dim x, Dim y);
AttrId build_canon_attr(Builder *b, Op op, AttrId a);

/* Whether it has a symbol for which the map has NO_DIM. */
bool dim_has_unknown(Ctx *c, Dim d, const Dim *map, uint32_t nmap);
/* Matches patterns (types with unknown symbols) against actual types. A symbol
 * s of the patterns is unknown where s < nmap and map[s] == NO_DIM on entry. It
 * is bound by an axis that is s alone, or by one that is linear in it. Dims are
 * compared after substitution. `differ` handles those that differ: it may unify
 * them, and returns whether that succeeded; NULL: a difference is a failure.
 * Returns false and sets *why when dtypes, ranks or dims cannot agree. Symbols
 * that no axis determines stay NO_DIM. */
typedef bool (*DimsDiffer)(Builder *b, Dim wanted, Dim found, void *ud);
bool dims_match(Builder *b, uint32_t n, const TypeId *patterns, const TypeId *actual, Dim *map,
                uint32_t nmap, DimsDiffer differ, void *ud, const char **why);
/* Computes the dims of f's symbols for the arguments args. map has f->syms.n
 * entries and is filled here (NO_DIM: data-dependent). Extents that must be
 * equal are unified with guards. Throws E_INTERNAL when args do not fit. */
void dims_bind_params(Builder *b, const Fn *f, uint32_t nargs, const Ref *args, Dim *map);
/* Translates the n result types of a callee into the caller's symbols: by map
 * where the parameters determine them, else by fresh symbols, each of which is
 * an axis of some result. */
void dims_define_results(Builder *b, const Fn *callee, uint32_t n, TypeId *types, Dim *map);

/* ---- emitting (builder/builder.c) ---------------------------------------- */

/* Appends an instruction unchanged: no folding, no sharing. The caller must
 * have checked the operands. Takes a reference to a callee. */
InstId emit_inst(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, uint32_t nregions,
                 const RegionId *regions, uint32_t nresults, const TypeId *types);
/* Finds an equal expression that is visible here; NO_INST when there is none.
 */
InstId find_shared(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr);
/* Emits an instruction that owns regions, after checking it against the stated
 * result types. */
InstId build_owner(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr,
                   uint32_t nregions, const RegionId *regions, uint32_t nresults,
                   const TypeId *types, Ref *results);
/* Appends a closed region's instructions to the open region, as for an `if`
 * whose condition is known. */
void splice_region(Builder *b, RegionId r);
/* The dim of a scalar when it needs no new symbol; NO_DIM otherwise. */
Dim dim_known(Builder *b, Ref scalar);

/* ---- the end of a build (finish.c) --------------------------------------- */

/* Eliminates dead code and moves the function's arrays into its own arena. The
 * body must be closed. */
void eliminate_dead_code(Builder *b);

/* ---- folding and rewriting (constant_fold.c, simplify.c) ----------------- */

typedef struct Expr { /* an expression about to be emitted; one result */
	Op op;
	uint32_t nargs;
	const Ref *args;
	AttrId attr;
	TypeId type;
} Expr;
/* Both return an equal and simpler value, or REF_NONE. */
Ref fold_constants(Builder *b, const Expr *e);
Ref rewrite(Builder *b, const Expr *e);
void rules_setup(Builder *b);
uint32_t rule_hits(const Builder *b, const char *name); /* summed over all rows of that name */

/* Attribute words under construction; each list is preceded by its count. */
typedef struct Words {
	int64_t at[8 + 4 * MAX_RANK];
	uint32_t n;
} Words;
void words_ints(Words *w, uint32_t n, const int *x);

#endif
