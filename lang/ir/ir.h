/* ir.h - the structured SSA that everything between the parser and the machine
 * is written in.
 *
 * Needs: type.h, value.h. Guarantees: a function (Fn) lives in one arena and
 * dies with it; nothing points into a growable array; passes read one Fn and
 * build another through a Builder that infers types, folds constants,
 * simplifies and shares equal pure expressions on the way in. Every instruction
 * keeps the user's span and the chain of transforms that made it.
 *
 * A function is a region: parameters, instructions, results. Control flow is
 * instructions that own regions, whose loop-carried values are region
 * parameters. An inner region may use any value of the regions around it.
 */
#ifndef ATLED_LANG_IR_IR_H
#define ATLED_LANG_IR_IR_H

#include "lang/base/value.h"

/* ---- primitives ---------------------------------------------------------- */

typedef enum Op {
	OP_NONE,
#define EW1(ID, ...) OP_##ID,
#define EW2(ID, ...) OP_##ID,
#define ST(ID, ...) OP_##ID,
#include "lang/ir/prims.def"
	OP_COUNT
} Op;

enum { KIND_B = 1, KIND_I = 2, KIND_R = 4, KIND_C = 8 };
typedef enum ResultKind { RESULT_SAME, RESULT_BOOL, RESULT_REAL } ResultKind;
typedef enum DerivKind {
	DERIV_RULE,
	DERIV_NONLINEAR = DERIV_RULE /* but for the transpose */,
	DERIV_LINEAR,
	DERIV_BILINEAR,
	DERIV_ZERO,
	DERIV_STRUCT
} DerivKind;
typedef enum EffectKind { EFFECT_PURE, EFFECT_CHECK, EFFECT_EFFECT } EffectKind;
enum { TRAIT_COMMUTES = 1, TRAIT_ASSOCIATES = 2, TRAIT_FAILS = 4, TRAIT_MATHS = 8 };

typedef struct Prim {
	const char *name;
	bool elementwise;
	int8_t nargs, nres; /* -1: varies */
	uint8_t kinds, result, deriv, traits, effect;
	uint8_t work, code; /* to run one element, to compile it */
	double lo, hi;
	const char *attr; /* schema, "" when none */
	const char *doc;
} Prim;
extern const Prim prims[OP_COUNT];
/* As the user writes it where there is an operator: "+" for add. */
const char *prim_spelling(Op op);
Op prim_from_name(const char *name); /* OP_NONE when there is none */
static inline uint8_t dtype_kind(Dtype d) {
	return d == DT_BOOL ? KIND_B : dtype_is_int(d) ? KIND_I : dtype_is_real(d) ? KIND_R : KIND_C;
}

/* ---- references, attributes ---------------------------------------------- */

/* A reference to a value: a tag in the top two bits and an index. */
typedef uint32_t Ref;
#define REF_NONE 0u
#define REF_VALUE_TAG (1u << 30)
#define REF_CONST_TAG (2u << 30)
#define REF_INDEX(r) ((r) & ((1u << 30) - 1u))
static inline bool ref_is_value(Ref r) { return (r >> 30) == 1; }
static inline bool ref_is_const(Ref r) { return (r >> 30) == 2; }
static inline Ref ref_value(uint32_t i) { return REF_VALUE_TAG | i; }
static inline Ref ref_const(uint32_t i) { return REF_CONST_TAG | i; }

/* Attribute words, laid out as the primitive's schema says, lists preceded by
 * their count; interned in the context. 0: none. */
typedef uint32_t AttrId;
AttrId attr_intern(Ctx *c, const int64_t *words, uint32_t n);
/* valid for the life of the context */
const int64_t *attr_words(const Ctx *c, AttrId a, uint32_t *n);
/* The k-th field of op's schema: a single word (count set to 1) or a list. */
const int64_t *attr_field(const Ctx *c, Op op, AttrId a, uint32_t k, uint32_t *count);
int64_t attr_int(const Ctx *c, Op op, AttrId a, uint32_t k);
/* Applies a dim substitution to every D and y word. */
AttrId attr_subst(Ctx *c, Op op, AttrId a, const Dim *map, uint32_t nmap);

/* interned chain of transforms, e.g. "jvp transpose"; 0: written by the user */
typedef uint32_t ChainId;
ChainId chain_push(Ctx *c, ChainId outer, const char *transform);
const char *chain_text(const Ctx *c, ChainId id);
/* The transforms of a chain alone, without the calls that fn_flatten puts in
 * front; "" for none. */
void chain_transforms(const Ctx *c, ChainId chain, char *out, size_t cap);
/* Whether a word of a chain is a call that the chain's instruction came
 * through: of whom, where it is defined and called. */
bool chain_word_call(const char *word, size_t n, Atom *callee, SpanId *defined, SpanId *at);
/* The chain with one more such call around. */
ChainId chain_push_call(Ctx *c, ChainId outer, Atom callee, SpanId defined, SpanId at);
/* Calls visit for these calls, the innermost first. */
void chain_calls(const Ctx *c, ChainId chain,
                 void (*visit)(void *ud, Atom callee, SpanId defined, SpanId at), void *ud);

/* ---- functions ----------------------------------------------------------- */

typedef uint32_t FnId;
typedef uint32_t InstId;
typedef uint32_t RegionId; /* the body is region 0 */

typedef struct Inst {
	uint16_t op; /* Op */
	uint8_t nregions;
	/* no text asks for it: it goes where nobody uses what it gives, even if
	 * it may fail; see build_unasked */
	bool unasked;
	uint32_t nargs, args;       /* in Fn.args */
	uint32_t nresults, results; /* values results .. results+nresults-1 */
	AttrId attr;
	SpanId span;
	ChainId chain;
	uint32_t regions; /* first of nregions consecutive entries in Fn.region_ids */
	RegionId parent;  /* the region it stands in */
} Inst;

#define NO_INST UINT32_MAX
typedef struct Val {
	TypeId type;
	InstId def;      /* NO_INST: a region parameter */
	uint32_t index;  /* which result, or which parameter */
	RegionId region; /* of the parameter, or where the defining instruction stands */
	Atom name;       /* the user's name for it, for messages and the text form; 0: none */
} Val;

typedef struct Const {
	TypeId type;
	/* owned; dyn constants hold any value, V_UNSET inside them marks a hole
	 * (see box) */
	Value value;
} Const;

typedef struct Region {
	uint32_t nparams, params;   /* consecutive values */
	uint32_t ninsts, insts;     /* in Fn.inst_order, execution order */
	uint32_t nresults, results; /* in Fn.args */
	InstId owner;               /* NO_INST: the body */
} Region;

/* Where a symbol's length comes from: the first axis in program order
 * (parameter or result) whose dim is the symbol alone, or a bind_dim. The
 * evaluator finds it by walking; here is what messages need. */
typedef struct Sym {
	/* n, batch; words for messages that are no name: "len(x)", "rows of A";
	 * 0: neither */
	Atom name;
	SpanId span; /* where the user gave it, or where it came from */
} Sym;

typedef struct Fn {
	Ctx *ctx;
	Arena *arena;
	FnId id;
	Atom name;
	SpanId span;
	VEC(Val) vals;
	VEC(Inst) insts;
	VEC(Region) regions;
	VEC(Const) consts;
	VEC(Ref) args;
	VEC(InstId) inst_order;
	VEC(RegionId) region_ids;
	VEC(Sym) syms;
	bool finished;
	bool effects; /* contains an EFFECT primitive, directly or through calls */
	/* contains guards, failures, effects or host calls, so a call stays even
	 * when its results are not used */
	bool must_run;
	/* contains something that may fail, or may not end, outside the body of
	 * a `try` */
	bool may_fail;
	bool derivative; /* all of it was built as a derivative */
	void *derived;   /* autodiff's cache of transforms of this function */
	void *code;      /* backend's compiled form */
	uint32_t refs;   /* who keeps it: specialisation caches, callers, handles */
	/* how its loops keep snapshots when run backwards
	 * (autodiff/reverse/checkpoint.h); a transform that is to see the loops
	 * as its own must not find them elsewhere, so fn_flatten leaves a call
	 * of it alone. 0: they keep tapes */
	AttrId checkpoint;
	/* 1 + the parameter that lengths in it follow from: batching makes a
	 * loop of its call where that differs from lane to lane, and until then
	 * it stays a call. 0: none */
	uint32_t by_lane;
} Fn;

/* A function's id finds it for as long as somebody holds a reference. fn_unref
 * frees the arena, the constants, what it calls (by one reference each), and
 * what `derived` and `code` hold through the hooks below. */
Fn *fn_get(const Ctx *c, FnId id);
/* What a `call` calls; NULL for any other instruction. */
Fn *inst_callee(const Ctx *c, const Inst *in);
/* f and every function that it calls, near or far, each once and f first; what
 * an unfinished one calls is not known. `to_run`: host calls with a value
 * written as a function (host.h) are calls of it. In the arena, *n of them. */
const Fn **fn_reached(Arena *a, const Fn *f, bool to_run, uint32_t *n);
void fn_ref(Fn *f);
void fn_unref(Fn *f);
typedef struct FnHooks {
	void (*free_derived)(Ctx *c, void *derived);
	void (*free_code)(Ctx *c, void *code);
} FnHooks;
FnHooks *fn_hooks(Ctx *c); /* filled by autodiff and backend */

static inline TypeId ref_type(const Fn *f, Ref r) {
	return ref_is_const(r) ? f->consts.at[REF_INDEX(r)].type : f->vals.at[REF_INDEX(r)].type;
}
static inline const Type *ref_ty(const Fn *f, Ref r) { return type_of(f->ctx, ref_type(f, r)); }
static inline uint32_t fn_nparams(const Fn *f) { return f->regions.at[0].nparams; }
static inline Ref fn_param(const Fn *f, uint32_t i) {
	return ref_value(f->regions.at[0].params + i);
}
static inline uint32_t fn_nresults(const Fn *f) { return f->regions.at[0].nresults; }
static inline Ref fn_result(const Fn *f, uint32_t i) {
	return f->args.at[f->regions.at[0].results + i];
}
static inline const Region *inst_region(const Fn *f, const Inst *in, uint32_t k) {
	return &f->regions.at[f->region_ids.at[in->regions + k]];
}
/* A loop, in a turn of which `progress` says how far it is. */
bool loop_reports(const Fn *f, const Inst *in);
static inline Ref inst_arg(const Fn *f, const Inst *in, uint32_t k) {
	return f->args.at[in->args + k];
}
static inline Ref inst_result(const Inst *in, uint32_t k) { return ref_value(in->results + k); }
const Const *ref_constant(const Fn *f, Ref r); /* NULL when r is not a constant */
/* The instruction that makes r, or NULL for parameters and constants. Valid
 * until the next emit into f. */
const Inst *ref_inst(const Fn *f, Ref r);
/* Whether running the instruction may end in a user's error, or not end: by its
 * primitive, its operands and lengths, and what it contains or calls
 * (may_fail.c). `fails_alone` asks this of a primitive without regions or
 * callee. */
bool inst_may_fail(const Fn *f, const Inst *in);
bool fails_alone(const Fn *f, Op op, const Ref *args, AttrId attr);
/* A constant every element of which is the same number (a scalar constant, or a
 * broadcast of one). */
bool ref_splat(const Fn *f, Ref r, Value *scalar);

/* ---- building ------------------------------------------------------------ */

typedef struct Builder Builder;

/* Opens a new function. `like` (may be NULL): its symbols are copied, so dims
 * keep their meaning: what transforms want. */
Builder *build_begin(Ctx *c, Atom name, SpanId span, const Fn *like);
Fn *build_fn(Builder *b); /* the function under construction: read only */
Ctx *build_ctx(Builder *b);
/* Adds a parameter to the body; only before the first instruction. */
Ref build_param(Builder *b, TypeId type, Atom name);
/* Closes the body: drops dead pure instructions, verifies in debug builds,
 * returns the function with one reference. The builder is gone. */
Fn *build_end(Builder *b, uint32_t nresults, const Ref *results);
/* Gives everything up, for error paths. */
void build_abandon(Builder *b);
/* For protected callers: a throw leaves builders open; those begun since the
 * mark are given up. */
uint32_t build_mark(Ctx *c);
void build_unwind(Ctx *c, uint32_t mark);

void build_at(Builder *b, SpanId span); /* span of what is emitted next */
SpanId build_span(const Builder *b);
void build_chain(Builder *b, ChainId chain); /* transform chain of what is emitted next */
/* Whether products with a constant 0 are 0 from now on, even if the other
 * factor may be infinite or NaN: for code in which zeros stand for tangents
 * that are not there. Gives what was so before. */
bool build_zeros_absorb(Builder *b, bool absorb);
ChainId build_get_chain(const Builder *b);
/* What is built from now on, and whatever is built from it, is a derivative: an
 * operation that may fail goes where nobody uses what it gives. In all other
 * functions such an operation stays, for a program's text says that it is done.
 */
void build_derivative(Builder *b);
/* The same for what a transform adds on its own account, until it is turned
 * off. Gives what was so before. */
bool build_unasked(Builder *b, bool unasked);
void build_name(Builder *b, Ref r, Atom name); /* names a value unless it has a name */

/* What messages call a symbol: for dim_print and type_print, with a SymWords as
 * `ud`. One without a name is the length of the text that it came from, when
 * that is short; NULL when there are no words. */
typedef struct SymWords {
	const Fn *fn;
	char text[48];
} SymWords;
const char *sym_words(void *words, SymId s);
/* the user's text there, when that is short */
bool sym_text(const Ctx *c, SpanId span, const char *before, char *out, size_t cap);
SymId build_sym(Builder *b, Atom name, SpanId span); /* a fresh symbol */
Dim build_fresh_dim(Builder *b, Atom name, SpanId span);
/* Records that two lengths are equal: nothing to do when they already are, a
 * type error when they cannot be (returns false; the caller reports), else a
 * guard is emitted and, within the present region, the two are one from now on.
 */
bool build_unify(Builder *b, Dim x, Dim y, Atom what);
Dim build_canon(Builder *b, Dim d); /* the representative under the unifications in force */
TypeId build_canon_type(Builder *b, TypeId t);
bool build_same_type(Builder *b, TypeId x, TypeId y);
/* A dim for a scalar integer: follows extents, constants and + - * and //, else
 * binds a fresh symbol. */
Dim build_dim_of(Builder *b, Ref i64_scalar, Atom name);
/* The length from `from` to `to` where what they have in common cancels: from s
 * to s + n it is n, and 0 where n is negative. False where nothing cancels, or
 * `to` is known. */
bool build_dim_between(Builder *b, Ref from, Ref to, Dim *out);
/* Whether an i64 scalar takes values away from 0 or less, as -k and -k - 1 do.
 */
bool build_counts_down(Builder *b, Ref r);
/* Whether a whole number is a length, so not negative; whether it is made of
 * such and of constants. */
bool build_is_length(const Builder *b, Ref r);
bool build_made_of_lengths(Builder *b, Ref r);
Ref build_extent(Builder *b, Dim d); /* i64 scalar */

/* The general call: operands must obey the primitive's contract (a breach is
 * ST_INTERNAL: the caller checks user input first). results has prims[op].nres
 * (or as many as the regions or callee give) entries; may be NULL. Returns the
 * first result. */
Ref build(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, Ref *results);
Ref build1(Builder *b, Op op, Ref x);
Ref build2(Builder *b, Op op, Ref x, Ref y); /* same type; use build_broadcast first */
/* Like build for CALL, HOST, NONZERO and others whose result types the caller
 * states (`types` may hold fresh symbols). */
Ref build_typed(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, uint32_t nresults,
                const TypeId *types, Ref *results);

/* array value: tensor constant; others: dyn constant. Borrows v. */
Ref build_const(Builder *b, Value v);
Ref build_f64(Builder *b, double x);
Ref build_i64(Builder *b, int64_t x);
Ref build_bool(Builder *b, bool x);
Ref build_scalar(Builder *b, Dtype d, double x); /* x converted to d */
Ref build_full(Builder *b, TypeId t, double x);  /* every element x */
Ref build_zeros(Builder *b, TypeId t);
Ref build_convert(Builder *b, Ref x, Dtype d);
/* axes[k]: result axis of operand axis k */
Ref build_broadcast(Builder *b, Ref x, uint32_t rank, const Dim *shape, const int *axes);
/* rank 0 -> shape of `like`, dtype kept */
Ref build_broadcast_scalar(Builder *b, Ref x, TypeId like);
Ref build_reshape(Builder *b, Ref x, uint32_t rank, const Dim *shape);
Ref build_transpose(Builder *b, Ref x, const int *perm);
/* stride NULL: 1 */
Ref build_slice(Builder *b, Ref x, const Dim *start, const Dim *length, const int64_t *stride);
Ref build_pad(Builder *b, Ref x, const Dim *low, const Dim *length, const int64_t *stride);
/* stride NULL: 1 */
Ref build_update(Builder *b, Ref x, Ref v, const Dim *start, const int64_t *stride);
Ref build_concat(Builder *b, uint32_t n, const Ref *xs, int axis);
Ref build_gather(Builder *b, Ref x, Ref index, int axis, int batch);
Ref build_scatter(Builder *b, Op op, Ref x, Ref index, Ref update, int axis, int batch);
Ref build_reduce(Builder *b, Op op, Ref x, uint32_t naxes, const int *axes);
Ref build_dot(Builder *b, Ref x, Ref y, uint32_t ncontract, const int *xc, const int *yc,
              uint32_t nbatch, const int *xb, const int *yb);
Ref build_matmul(Builder *b, Ref x, Ref y); /* rank 1 or 2 each, as @ */
Ref build_iota(Builder *b, Dtype d, Dim length);
Ref build_select(Builder *b, Ref c, Ref x, Ref y);
/* substitutes dims; keeps a reference */
void build_call(Builder *b, Fn *callee, uint32_t nargs, const Ref *args, Ref *results);
/* its parameters' lengths could be these; else build_call is a breach */
bool build_call_fits(Builder *b, const Fn *callee, uint32_t nargs, const Ref *args);

/* Regions: begin, emit the contents, end with its results; then the instruction
 * that owns the regions. */
typedef struct OpenRegion OpenRegion;
OpenRegion *build_region_begin(Builder *b, uint32_t nparams, const TypeId *types, Ref *params);
RegionId build_region_end(Builder *b, OpenRegion *r, uint32_t nresults, const Ref *results);
/* Result types: for `if`, `try`: the two regions' result types, where a dim
 * that differs becomes a fresh symbol; for loops: the parameter types, which
 * the caller made wide enough (a dim that changes in the loop is a fresh symbol
 * in the parameter type, and another in the result). */
void build_if(Builder *b, Ref cond, RegionId then_region, RegionId else_region, Ref *results);
void build_for(Builder *b, Ref count, uint32_t ncarried, const Ref *init, RegionId body,
               Ref *results);
void build_while(Builder *b, uint32_t ncarried, const Ref *init, RegionId cond, RegionId body,
                 Ref *results);
void build_try(Builder *b, RegionId body, RegionId handler, Ref *results);
/* Gives up an open region with what was emitted in it, and inner ones still
 * open. */
void build_region_abandon(Builder *b, OpenRegion *r);
/* The same for every open region but the body: after a throw that the caller
 * survives. */
void build_regions_close(Builder *b);
/* Opens a closed region that nothing owns yet, to append to it (a conversion of
 * its results); build_region_end closes it again under the same id. `results`
 * (may be NULL) receives the results it had. */
OpenRegion *build_region_reopen(Builder *b, RegionId r, Ref *results);

/* ---- copying and walking ------------------------------------------------- */

/* Copies a function's body into b with its parameters bound to args and its
 * symbols to the arguments' dims (fresh where they are born inside): inlining,
 * and the base of transforms that change only some instructions. */
void build_inline(Builder *b, const Fn *f, const Ref *args, Ref *results);

/* A map from another function's values to refs of the one under construction.
 */
typedef struct RefMap {
	Builder *to;
	const Fn *from;
	Ref *values; /* by value index; REF_NONE: not mapped */
	Dim *dims;   /* by symbol; UINT32_MAX: not mapped */
	uint32_t ndims;
	/* the new function was begun `like` the old one: symbols stand for
	 * themselves */
	bool same_symbols;
	/* Copies of calls are offered to it first (may be NULL); false: it has
	 * built nothing. */
	bool (*call)(Builder *b, struct RefMap *m, const Inst *in, const Ref *args, Ref *results);
	void *call_ud;
	/* Hears of each instruction that has been copied, in regions too, and may
	 * map its results to something else (may be NULL). */
	void (*copied)(Builder *b, struct RefMap *m, const Inst *in);
	void *copied_ud;
	struct {
		ChainId outer, inner, both;
	} joined; /* the last chain that was put behind another: neighbours have the same */
} RefMap;
RefMap refmap_new(Builder *b, const Fn *from, bool same_symbols);
Ref refmap_get(Builder *b, RefMap *m, Ref r); /* constants are copied across */
/* Where the types have equal rank, also learns the symbols that `from` gave
 * birth to: a loop or `if` that is built again has symbols of its own for the
 * lengths that vary, even where the others are the same. */
void refmap_set(RefMap *m, Ref from, Ref to);
TypeId refmap_type(Builder *b, RefMap *m, TypeId t);
/* Copies one instruction (with its regions) through the map. */
void build_copy_inst(Builder *b, RefMap *m, const Inst *in);

/* f with the functions it calls written out in place and equal instructions
 * made one, except for recursive and very large callees and those that say so;
 * NULL when there is nothing to write out, or it fails. Owned. Every
 * instruction's chain of transforms begins with the calls it came through, see
 * chain_calls. */
Fn *fn_flatten(Ctx *c, Fn *f);
/* The same for a function that is only run from now on: what is there for the
 * sake of derivatives goes, too. How loops run backwards is no reason to leave
 * a call, host calls with a value written as a function (host.h) are calls of
 * it, and `solved` is the solution. */
Fn *fn_flatten_to_run(Ctx *c, Fn *f);
/* The same with other functions called: `instead` (may be NULL) gives what a
 * call of g becomes, g itself or one of the same type. */
Fn *fn_flatten_with(Ctx *c, Fn *f, Fn *(*instead)(void *ud, Fn *g), void *ud);

/* How often each value is used (results included), regions and all. uses has
 * f->vals.n entries. */
void fn_count_uses(const Fn *f, uint32_t *uses);

/* ---- text, verification, cost -------------------------------------------- */

/* Appends the text form; fn_read gives back a function that prints identically.
 */
void fn_print(Text *out, const Fn *f);
/* One instruction, without its regions, with the value numbers that fn_print
 * would give: for messages. */
void fn_print_inst(Text *out, const Fn *f, InstId id);
/* The function as records and lists that a program can walk: see inspect.c for
 * their fields. Owned; V_UNSET when memory fails. */
Value fn_inspect(const Fn *f);
/* Reads functions in text form; the last one is returned (with one reference)
 * and the earlier ones are its callees by name. NULL and a diagnostic when
 * malformed. */
Fn *fn_read(Ctx *c, SourceId source);
/* Appends the binary form (docs/internals/binary.md) of f and of what it calls,
 * and a value that goes with them. Functions in values are written as the
 * records that `function_out` of the services makes. A diagnostic E_FILE says
 * what cannot be written. */
Status fn_store(Text *out, const Fn *f, Value about);
/* Reads it back: one reference, and the value, owned. NULL and a diagnostic
 * E_FILE that names the byte when it is malformed; `name` begins its message.
 */
Fn *fn_load(Ctx *c, const char *name, const void *bytes, size_t n, Value *about);
/* Checks single definition, scope, operand contracts, types and regions. false:
 * a diagnostic E_INTERNAL "after PASS: ...". */
bool fn_verify(const Fn *f, const char *after_pass);

/* ---- scalar semantics (folding, the evaluator's generic path, tests) ----- */

/* out = op(x, y) for element-wise primitives on scalars of one dtype; y unused
 * for one operand. ST_ERROR (no diagnostic) when there is no result: integer
 * division by zero, negative integer power. */
Status scalar_apply(Op op, Dtype d, const void *x, const void *y, void *out);
void scalar_convert(Dtype from, const void *x, Dtype to, void *out);

/* ---- services of higher rooms -------------------------------------------- */

/* The line of calculus for an element-wise RULE primitive, as a function (x..,
 * y) -> partials, specialised on dtype: from stdlib/core/calculus.dsl, through
 * the parser. Also general rules of user functions and factorisations. */
typedef struct IrServices {
	/* (x1 [, x2], y): the partial derivatives, all scalars of dtype d. NULL and
	 * a diagnostic when missing. Borrowed. */
	Fn *(*elementwise_rule)(Ctx *c, Op op, Dtype d);
	/* (operands..., results..., operand tangents...) -> result tangents, for
	 * RULE structural primitives written in the language; types as the
	 * instruction's. NULL when there is none. Owned. */
	Fn *(*structural_rule)(Ctx *c, const Fn *f, const Inst *in);
	/* Calls a dynamic function on values: specialises and runs. Results owned.
	 */
	Status (*call_dynamic)(Ctx *c, Value f, uint32_t nargs, const Value *args, Value *random_state,
	                       Value *result, SpanId span);
	/* Runs a function: set by the backend. args borrowed, results owned. */
	Status (*run)(Ctx *c, Fn *f, const Value *args, Value *results);
	/* The transforms, as autodiff/autodiff.h describes them: set by autodiff.
	 */
	Fn *(*jvp)(Ctx *c, Fn *f, const bool *active, bool *result_active);
	Fn *(*forward)(Ctx *c, Fn *f, const bool *active, bool *result_active);
	void (*linearise)(Ctx *c, Fn *f, const bool *active, Fn **primal, Fn **linear,
	                  uint32_t *nresiduals, const bool **result_active);
	Fn *(*transpose)(Ctx *c, Fn *linear, uint32_t nresiduals);
	Fn *(*columns)(Ctx *c, Fn *linear, uint32_t nresiduals);
	Fn *(*jet)(Ctx *c, Fn *f, uint32_t order, bool straight, const bool *active,
	           bool *result_active);
	Fn *(*gradient)(Ctx *c, Fn *f, const bool *active);
	Fn *(*batch)(Ctx *c, Fn *f, const bool *batched);
	Fn *(*checkpoint)(Ctx *c, Fn *f, int64_t snapshots, int64_t bytes);
	Fn *(*checkpoint_report)(Ctx *c, Fn *f, const bool *active);
	Fn *(*in_reverse)(Ctx *c, Fn *f, Fn *other);
	Fn *(*settle)(Ctx *c, Fn *f);
	double (*cost)(const Fn *f, const int64_t *sym_values, uint32_t nsyms);
	void (*explain)(Ctx *c, Fn *f, const int64_t *sym_values, Text *out);
	/* A function value as a record of texts and values, and back, for files:
	 * set by the parser. Owned. */
	Status (*function_out)(Ctx *c, Value f, Value *record);
	Status (*function_in)(Ctx *c, Value record, Value *f);
	void *rule_checks; /* lang/passes/rule_check.c's */
	/* Appends the machine code that f would become at these lengths (-1:
	 * unknown), as a plan in words or as assembly: set by the backend. */
	Status (*show_native)(Ctx *c, Fn *f, const int64_t *sym_values, uint32_t nsyms, bool assembly,
	                      Text *out);
} IrServices;
IrServices *ir_services(Ctx *c);

#endif
