/* internal.h - the inside of the builder, for the files that make, check, copy
 * and read functions.
 *
 * Needs: ir.h, host.h. Guarantees: used only by lang/builder/ and the files of
 * the IR; other rooms see Builder as opaque. The type rules here serve the
 * builder (which asks for result types) and the verifier (which states them and
 * asks whether they are right).
 */
#ifndef ATLED_LANG_BUILDER_INTERNAL_H
#define ATLED_LANG_BUILDER_INTERNAL_H

#include "lang/ir/host.h"

#define NO_DIM UINT32_MAX
#define NO_REGION UINT32_MAX
#define FOLD_LIMIT 64 /* constants of up to this many elements are computed with while building */

/* ---- the context's IR state (ir.c) --------------------------------------- */

#define MAX_FIELDS 6
typedef struct AttrSchema {
	uint8_t n;
	char letter[MAX_FIELDS]; /* D i t a f h y */
	bool list[MAX_FIELDS];
} AttrSchema;

typedef struct AttrWords {
	const int64_t *words;
	uint32_t n, hash;
} AttrWords;

typedef struct IrState {
	Ctx *ctx;
	AttrSchema schema[OP_COUNT];
	VEC(AttrWords) attrs;                  /* 0: none */
	uint32_t *attr_slots, attr_slot_count; /* open addressing */
	VEC(Fn *) fns;                         /* by id; NULL: gone; 0 is nobody */
	VEC(HostDef *) host_defs;
	VEC(HostCall *) hosts; /* by id; 0 is nobody */
	FnHooks hooks;
	IrServices services;
	Builder *open;   /* innermost open builder */
	uint32_t serial; /* of the next builder */
	uint32_t broken; /* functions that were found wrong when verified */
} IrState;
IrState *ir_state(Ctx *c);       /* made on first use */
void fn_register(Ctx *c, Fn *f); /* gives f its id */

/* ---- the builder --------------------------------------------------------- */

struct OpenRegion {
	OpenRegion *outer;
	RegionId id;
	VEC(InstId) order;
	uint32_t shared_mark, bound_mark, trail_mark, meant_mark;
	SpanId span; /* as they were when it was opened, and are again when it is closed */
	ChainId chain;
};

typedef struct Shared { /* an expression that may be met again */
	uint32_t hash;
	InstId inst;
	uint32_t next; /* in the same bucket; UINT32_MAX ends */
} Shared;

typedef struct Meant { /* what a symbol stood for in a RefMap before it got another meaning */
	Dim *place, old;
} Meant;

typedef struct Bound { /* bind_dim once for each scalar */
	Ref scalar;
	Dim dim;
} Bound;

typedef struct DimUndo { /* index UINT32_MAX: the last whole-dim equality goes */
	SymId sym;
	Dim old;
} DimUndo;

struct Builder {
	Ctx *ctx;
	Fn *fn; /* its arrays grow in `scratch` and move to fn->arena at the end */
	Arena *scratch;
	Builder *outer; /* the builder opened before this one */
	uint32_t serial;
	bool checking; /* belongs to a verifier: nothing may be emitted */
	bool unasked;  /* what is emitted is no text's: see build_unasked */
	/* what is multiplied by a constant 0 is 0, whatever it is: see
	 * build_zeros_absorb */
	bool zeros_absorb;
	/* what a reader of text wants: nothing folded, shared, reordered,
	 * renamed or dropped */
	bool verbatim;
	SpanId span;
	ChainId chain;
	OpenRegion *region; /* innermost open region */

	VEC(Shared) shared;
	uint32_t *shared_heads, shared_head_count;
	VEC(Bound) bound;
	VEC(Meant) meant; /* in the open regions: taken back when each is closed */
	uint32_t *const_heads, const_head_count; /* chains over fn->consts */
	VEC(uint32_t) const_next;
	VEC(uint32_t) const_hash;

	/* Equalities of lengths in force. equal[s] NO_DIM: the symbol stands for
	 * itself. */
	VEC(Dim) equal;
	uint32_t nequal;
	VEC(Dim) same_from;
	VEC(Dim) same_to;
	VEC(DimUndo) trail;
	/* open addressing: lengths, and the last question (may_be_equal) that
	 * found each not negative */
	struct Asked *asked;
	uint32_t nasked, asked_slots, question;
	/* by symbol: the region where it was last born; NO_REGION: not yet */
	VEC(RegionId) home;
	VEC(RegionId) region_parent; /* by region; NO_REGION: the body, or not known */

	Tensor *pending;               /* made by folding, not yet a constant */
	uint16_t rule_first[OP_COUNT]; /* bucket of each op in the table of rewrite rules */
	uint32_t *rule_hits;
	uint32_t depth; /* of rewrites inside rewrites */
};

/* ---- type rules (infer.c, infer_control.c) ------------------------------- */

/* The question put to a type rule. Where `stated` is NULL the rule gives the
 * result types; else it says whether the stated ones are right. Control flow,
 * calls and host calls only check: their builders know the types. */
typedef struct TypeQuery {
	Builder *b;
	Op op;
	uint32_t nargs;
	const Ref *args;
	AttrId attr;
	uint32_t nregions;
	const RegionId *regions;
	RegionId here; /* the region the instruction stands in */
	const TypeId *stated;
	uint32_t nstated;
	TypeId out[4]; /* when nothing was stated */
	uint32_t nout;
	const char *why; /* what is wrong, in words; lives as long as the builder */
} TypeQuery;
/* Checks arity, attribute layout, operands and regions. false: q->why. Never
 * throws for wrong operands, only for lack of memory. */
bool infer_types(TypeQuery *q);
bool type_wrong(TypeQuery *q, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* sets why, returns false */
#define EW1(ID, ...)
#define EW2(ID, ...)
#define ST(ID, ...) bool type_rule_##ID(TypeQuery *q);
#include "lang/ir/prims.def"

/* Dims of carried values against the loop's parameter types: init_map and
 * body_map (fn->syms.n entries each) say what each symbol born in the parameter
 * list is at the start, and after one turn of `body` (NO_DIM: no axis
 * determines it); symbols that exist outside stand for themselves. `skip`
 * parameters come before the carried ones. */
bool loop_maps(TypeQuery *q, RegionId body, uint32_t skip, uint32_t ncarried, const Ref *init,
               Dim *init_map, Dim *body_map);
/* Types of n consecutive parameters from `first`, or of the results of a
 * region, in scratch memory. */
const TypeId *param_types(Builder *b, RegionId r, uint32_t first, uint32_t n);

/* "f64[n, 3]" with the symbols' names, in scratch memory. */
const char *type_words(Builder *b, TypeId t);
const char *dim_words(Builder *b, Dim d);
/* An internal error that names the operation, what is wrong, and the operands'
 * types. */
_Noreturn void build_breach(Builder *b, Op op, uint32_t nargs, const Ref *args, const char *why);

/* ---- a builder that only checks, for the verifier ------------------------ */

/* Over a finished function; nothing is assumed yet: the verifier walks in
 * program order and calls dims_enter for the types of region parameters and
 * results, dims_assume at guards, dims_mark before and dims_undo after a
 * region. */
Builder *checker_begin(const Fn *f);
void checker_end(Builder *b);

/* ---- equalities and homes of symbols (dim_equalities.c) ------------------ */

uint32_t dims_mark(const Builder *b);
void dims_undo(Builder *b, uint32_t mark);
/* From now on x and y are the same length. No guard. */
void dims_assume(Builder *b, Dim x, Dim y);
/* An unborn symbol is another name for value. */
void dims_define(Builder *b, SymId s, Dim value);
/* Assumes what the guards that stand directly in a closed region say: for
 * comparing the types of its results with others. */
void dims_assume_region(Builder *b, RegionId r);
/* Symbols of t that are not visible in region r are born there. */
void dims_enter(Builder *b, RegionId r, TypeId t);
void dims_enter_dim(Builder *b, RegionId r, Dim d);
bool sym_visible(const Builder *b, SymId s, RegionId r);
bool dim_visible(Builder *b, Dim d, RegionId r);
bool build_same_dim(Builder *b, Dim x, Dim y);
AttrId build_canon_attr(Builder *b, Op op, AttrId a);

/* Matches patterns (types with symbols to be found) against actual types. A
 * symbol s of the patterns is to be found where map[s] == NO_DIM on entry and s
 * < nmap; it is bound by an axis that is s alone, or by one that is linear in
 * it. Dims are compared after substitution; those that differ go to `differ`
 * (which may unify them, and returns whether all is well; NULL: a difference is
 * a failure). false and *why when dtypes, ranks or dims cannot agree. Symbols
 * that no axis determines stay NO_DIM. */
typedef bool (*DimsDiffer)(Builder *b, Dim wanted, Dim found, void *ud);
bool dims_match(Builder *b, uint32_t n, const TypeId *patterns, const TypeId *actual, Dim *map,
                uint32_t nmap, DimsDiffer differ, void *ud, const char **why);
/* What f's symbols are when its parameters are given args: map has f->syms.n
 * entries and is filled here (NO_DIM: data-dependent). Lengths that must be
 * equal for that are unified with guards. Throws E_INTERNAL when args do not
 * fit.
 */
void dims_bind_params(Builder *b, const Fn *f, uint32_t nargs, const Ref *args, Dim *map);
/* The n result types of a callee, in its symbols, as they are here: by map
 * where its parameters determine them, else by fresh symbols, each of which is
 * an axis of some result. */
void dims_bear_results(Builder *b, const Fn *callee, uint32_t n, TypeId *types, Dim *map);

/* ---- emitting (builder/builder.c) ---------------------------------------- */

/* Appends an instruction as it stands: no folding, no sharing. Operands must
 * have been checked. Takes a reference to a callee. */
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
/* Appends a closed region's instructions to the open one: what becomes of an
 * `if` whose condition is known. */
void splice_region(Builder *b, RegionId r);
/* The dim of a scalar when it can be said without a new symbol; NO_DIM
 * otherwise. */
Dim dim_known(Builder *b, Ref scalar);

/* ---- the end of a build (finish.c) --------------------------------------- */

/* Drops what is not needed and moves the function's arrays into its own arena.
 * The body must be closed. */
void compact(Builder *b);

/* ---- folding and rewriting (constant_fold.c, simplify.c) ----------------- */

typedef struct Expr { /* what is about to be emitted; one result */
	Op op;
	uint32_t nargs;
	const Ref *args;
	AttrId attr;
	TypeId type;
} Expr;
/* Something equal and simpler, or REF_NONE. */
Ref fold_constants(Builder *b, const Expr *e);
Ref rewrite(Builder *b, const Expr *e);
void rules_setup(Builder *b);
uint32_t rule_hits(const Builder *b, const char *name); /* summed over rows of that name */

/* Attribute words in pieces: lists are preceded by their count. */
typedef struct Words {
	int64_t at[8 + 4 * MAX_RANK];
	uint32_t n;
} Words;
void words_ints(Words *w, uint32_t n, const int *x);

#endif
