/* ir.h - the intermediate representation: structured SSA.
 *
 * Needs: type.h, value.h.
 *
 * Contract:
 * - A function (Fn) lives in one arena and dies with it; nothing points into a
 *   growable array.
 * - A pass reads one Fn and builds another through a Builder. The Builder
 *   infers types, folds constants, simplifies, and shares equal pure
 *   expressions.
 * - Every instruction stores the user's span and the chain of transforms that
 *   made it.
 *
 * A function is a region: parameters, instructions, results. Control flow
 * consists of instructions that own regions, whose loop-carried values are
 * region parameters. An inner region may use any value of the enclosing
 * regions.
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
	DERIV_NONLINEAR = DERIV_RULE /* except for the transpose */,
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
	uint8_t work, code; /* cost of one element: to run it, to compile it */
	double lo, hi;
	const char *attr; /* schema of the attribute words; "" when none */
	const char *doc;
} Prim;
extern const Prim prims[OP_COUNT];
/* The user's spelling: the operator where there is one, as "+" for add, else
 * the name. */
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

/* Attribute words, laid out by the primitive's schema, each list preceded by
 * its count. Interned in the context. 0: none. */
typedef uint32_t AttrId;
AttrId attr_intern(Ctx *c, const int64_t *words, uint32_t n);
/* attrs_release frees the attributes that are new since the last attrs_mark or
 * sweep. No function may mention them any more. */
void attrs_mark(Ctx *c);
void attrs_release(Ctx *c);
/* Frees the attributes and spans that no function mentions. Nothing may be
 * running. Does nothing when memory fails. */
void ir_sweep(Ctx *c);
/* The words of a, and their number in *n. Valid as long as a function mentions
 * it; NULL for none. */
const int64_t *attr_words(const Ctx *c, AttrId a, uint32_t *n);
/* The k-th field of op's schema: a single word (*count is set to 1) or a list.
 */
const int64_t *attr_field(const Ctx *c, Op op, AttrId a, uint32_t k, uint32_t *count);
int64_t attr_int(const Ctx *c, Op op, AttrId a, uint32_t k);
/* Applies a dim substitution to every word of type D or y. */
AttrId attr_subst(Ctx *c, Op op, AttrId a, const Dim *map, uint32_t nmap);

/* An interned chain of transforms, e.g. "jvp transpose"; 0: written by the
 * user. */
typedef uint32_t ChainId;
ChainId chain_push(Ctx *c, ChainId outer, const char *transform);
const char *chain_text(const Ctx *c, ChainId id);
/* Writes the transforms of a chain without the calls that fn_inline_calls puts
 * in front; "" for none. */
void chain_transforms(const Ctx *c, ChainId chain, char *out, size_t cap);
/* Parses one word of a chain. Returns true when it is a call through which the
 * chain's instruction was inlined: of which function, where that is defined,
 * and where it is called. */
bool chain_word_call(const char *word, size_t n, Atom *callee, SpanId *defined, SpanId *at);
/* Appends one such call to the chain `outer`. */
ChainId chain_push_call(Ctx *c, ChainId outer, Atom callee, SpanId defined, SpanId at);
/* Passes each such call of the chain to visit, innermost first. */
void chain_calls(const Ctx *c, ChainId chain,
                 void (*visit)(void *ud, Atom callee, SpanId defined, SpanId at), void *ud);

/* ---- functions ----------------------------------------------------------- */

typedef uint32_t FnId;
typedef uint32_t InstId;
typedef uint32_t RegionId; /* the body is region 0 */

typedef struct Inst {
	uint16_t op; /* Op */
	uint8_t nregions;
	/* Added by a transform, not by the program's text: it is removed when its
	 * results are unused, even if it may fail. See build_unasked. */
	bool unasked;
	uint32_t nargs, args;       /* in Fn.args */
	uint32_t nresults, results; /* values results .. results+nresults-1 */
	AttrId attr;
	SpanId span;
	ChainId chain;
	uint32_t regions; /* index of the first of nregions consecutive entries in Fn.region_ids */
	RegionId parent;  /* the region that contains it */
} Inst;

#define NO_INST UINT32_MAX
typedef struct Val {
	TypeId type;
	InstId def;      /* NO_INST: a region parameter */
	uint32_t index;  /* which result or parameter it is */
	RegionId region; /* the region of the parameter, or of the defining instruction */
	/* The user's name for the value, for messages and the text form; 0: none.
	 */
	Atom name;
} Val;

typedef struct Const {
	TypeId type;
	/* Owned. A dyn constant holds any value; V_UNSET inside it marks a hole
	 * (see box). */
	Value value;
} Const;

typedef struct Region {
	uint32_t nparams, params;   /* consecutive values */
	uint32_t ninsts, insts;     /* in Fn.inst_order, execution order */
	uint32_t nresults, results; /* in Fn.args */
	InstId owner;               /* NO_INST: the body */
} Region;

/* A symbol's extent is defined by the first axis in program order (of a
 * parameter or result) whose dim is the symbol alone; else by a bind_dim. The
 * evaluator finds it by walking; this struct holds the data for messages. */
typedef struct Sym {
	/* A name such as n or batch; or a phrase for messages that is no name, such
	 * as "len(x)" or "rows of A"; 0: neither. */
	Atom name;
	SpanId span; /* where the user named it, or where it came from */
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
	/* Contains guards, failures, effects or host calls, so that a call stays
	 * even when its results are unused. */
	bool has_side_effects;
	/* Contains an operation that may fail, or may not terminate, outside the
	 * body of a `try`. */
	bool may_fail;
	bool derivative; /* the whole function was built as a derivative */
	void *derived;   /* autodiff's cache of transforms of this function */
	void *code;      /* the backend's compiled form */
	uint32_t refs;   /* reference count: specialisation caches, callers, handles */
	/* How its loops store checkpoints in reverse mode
	 * (autodiff/reverse/checkpoint.h). Only loops of this function itself have
	 * them, so fn_inline_calls does not inline it. 0: its loops use tapes. */
	AttrId checkpoint;
	/* 1 + the index of a parameter that determines extents inside the function.
	 * Where that parameter differs between batch elements, batching turns the
	 * call into a loop. Until then it stays a call. 0: none. */
	uint32_t batch_sequentially_by;
	uint32_t candidate; /* of fn_collect */
} Fn;

/* Finds a function by its id, as long as it has a reference. fn_unref frees the
 * arena, the constants, one reference to each callee, and, through the hooks
 * below, `derived` and `code`. */
Fn *fn_get(const Ctx *c, FnId id);
FnId fn_next(const Ctx *c); /* the id of the next function */
/* The living function with the smallest id that is not below `first`; NULL:
 * none. */
Fn *fn_from(const Ctx *c, FnId first);
/* The callee of a `call`; NULL for any other instruction. */
Fn *inst_callee(const Ctx *c, const Inst *in);
/* The function that an instruction runs: its callee, or what a host call
 * stands for. NULL: none. */
Fn *inst_callee_to_run(const Fn *f, const Inst *in);
/* f and every function that it calls, directly or indirectly, each once and f
 * first; *n is their number. The callees of an unfinished function are unknown.
 * With `to_run`, a host call whose value is an IR function (HostDef.written)
 * counts as a call of it. Allocated in `a`. */
const Fn **fn_callees(Arena *a, const Fn *f, bool to_run, uint32_t *n);
void fn_ref(Fn *f);
void fn_unref(Fn *f);
/* Frees the functions from `first` on, and the host calls from `first_host` on,
 * that are referenced only by each other. Nothing may be under construction. */
void fn_collect(Ctx *c, FnId first, uint32_t first_host);
/* Receives the references that something holds, each once: to functions, and
 * the ids of host calls. */
typedef struct RefVisitor {
	void *ud;
	void (*fn)(void *ud, Fn *f);
	void (*host)(void *ud, uint32_t host);
} RefVisitor;
typedef struct FnHooks {
	void (*free_derived)(Ctx *c, void *derived);
	void (*free_code)(Ctx *c, void *code);
	void (*each_derived)(const void *derived, const RefVisitor *v);
	void (*each_code)(const void *code, const RefVisitor *v);
} FnHooks;
FnHooks *fn_hooks(Ctx *c); /* filled in by autodiff and the backend */

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
/* Whether `in` is a loop whose body reports its progress (`progress`). */
bool loop_reports(const Fn *f, const Inst *in);
static inline Ref inst_arg(const Fn *f, const Inst *in, uint32_t k) {
	return f->args.at[in->args + k];
}
static inline Ref inst_result(const Inst *in, uint32_t k) { return ref_value(in->results + k); }
const Const *ref_constant(const Fn *f, Ref r); /* NULL when r is not a constant */
/* The instruction that defines r, or NULL for parameters and constants. Valid
 * until the next emit into f. */
const Inst *ref_inst(const Fn *f, Ref r);
/* Whether running the instruction may end in a user's error, or not terminate.
 * Depends on its primitive, its operands and extents, and its regions or callee
 * (may_fail.c). `fails_alone` answers this for a primitive without regions or
 * callee. */
bool inst_may_fail(const Fn *f, const Inst *in);
bool fails_alone(const Fn *f, Op op, const Ref *args, AttrId attr);
/* Whether r is a constant whose elements are all equal (a scalar constant, or a
 * broadcast of one); *scalar receives the element. */
bool ref_splat(const Fn *f, Ref r, Value *scalar);

/* ---- building ------------------------------------------------------------ */

typedef struct Builder Builder;

/* Opens a new function. `like` (may be NULL): its symbols are copied, so that
 * dims keep their meaning; transforms need this. */
Builder *build_begin(Ctx *c, Atom name, SpanId span, const Fn *like);
Fn *build_fn(Builder *b); /* the function under construction: read only */
Ctx *build_ctx(Builder *b);
/* Adds a parameter to the body; allowed only before the first instruction. */
Ref build_param(Builder *b, TypeId type, Atom name);
/* Closes the body: removes dead pure instructions, verifies if ctx_verifies,
 * and returns the function with one reference. Frees the builder. */
Fn *build_end(Builder *b, uint32_t nresults, const Ref *results);
/* Discards the builder and its function, for error paths. */
void build_abandon(Builder *b);
/* For callers of ctx_protect: a throw leaves builders open. build_unwind
 * abandons those begun since the mark. */
uint32_t build_mark(Ctx *c);
void build_unwind(Ctx *c, uint32_t mark);

void build_at(Builder *b, SpanId span); /* span of the instructions emitted next */
SpanId build_span(const Builder *b);
void build_chain(Builder *b, ChainId chain); /* transform chain of the instructions emitted next */
/* Whether, from now on, products with a constant 0 are 0 even if the other
 * factor may be infinite or NaN. Used where zeros stand for absent tangents.
 * Returns the previous setting. */
bool build_zeros_absorb(Builder *b, bool absorb);
ChainId build_get_chain(const Builder *b);
/* Marks the function, and every function begun `like` it, as a derivative. In
 * a derivative, an operation that may fail is removed when its results are
 * unused. In all other functions it stays, because the program's text demands
 * it. */
void build_derivative(Builder *b);
/* The same for the instructions that a transform adds itself, until it is
 * switched off. Returns the previous setting. */
bool build_unasked(Builder *b, bool unasked);
void build_name(Builder *b, Ref r, Atom name); /* names a value that has no name yet */

/* The names of symbols in messages: a callback for dim_print and type_print,
 * with a SymWords as `ud`. A symbol without a name is described as "length of
 * x", where x is its source text, when that is short. Returns NULL when there
 * is no description. */
typedef struct SymWords {
	const Fn *fn;
	char text[48];
} SymWords;
const char *sym_words(void *words, SymId s);
/* Writes `before` and the user's source text at span. Returns false when that
 * text is long, missing, or in the library. */
bool sym_text(const Ctx *c, SpanId span, const char *before, char *out, size_t cap);
SymId build_sym(Builder *b, Atom name, SpanId span); /* a fresh symbol */
Dim build_fresh_dim(Builder *b, Atom name, SpanId span);
/* Records that two extents are equal. When they already are, does nothing. When
 * they cannot be, returns false; the caller reports the type error. Else emits
 * a guard, and treats the two as one until the end of the current region. */
bool build_unify(Builder *b, Dim x, Dim y, Atom what);
Dim build_canon(Builder *b, Dim d); /* the representative under the equalities in force */
TypeId build_canon_type(Builder *b, TypeId t);
bool build_same_type(Builder *b, TypeId x, TypeId y);
/* A dim for a scalar integer: follows extents, constants, +, -, * and //; else
 * binds a fresh symbol. */
Dim build_dim_of(Builder *b, Ref i64_scalar, Atom name);
/* The extent from `from` to `to` where their common terms cancel: from s to s +
 * n it is n, and 0 where n is negative. Returns false where nothing cancels, or
 * where `to` is known. */
bool build_dim_between(Builder *b, Ref from, Ref to, Dim *out);
/* Whether an i64 scalar subtracts values from 0 or less, as -k and -k - 1 do.
 */
bool build_counts_down(Builder *b, Ref r);
/* Whether an integer is an extent, hence not negative; whether it is composed
 * of extents and constants. */
bool build_is_length(const Builder *b, Ref r);
bool build_made_of_lengths(Builder *b, Ref r);
Ref build_extent(Builder *b, Dim d); /* i64 scalar */

/* The general emitter. The operands must obey the primitive's contract; a
 * breach is ST_INTERNAL, so the caller checks user input first. `results` (may
 * be NULL) has prims[op].nres entries, or as many as the regions or callee
 * return. Returns the first result. */
Ref build(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, Ref *results);
Ref build1(Builder *b, Op op, Ref x);
Ref build2(Builder *b, Op op, Ref x, Ref y); /* same type; use build_broadcast first */
/* Like build, for CALL, HOST, NONZERO and others whose result types the caller
 * states. `types` may hold fresh symbols. */
Ref build_typed(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, uint32_t nresults,
                const TypeId *types, Ref *results);

/* An array value becomes a tensor constant, any other value a dyn constant.
 * Borrows v. */
Ref build_const(Builder *b, Value v);
Ref build_f64(Builder *b, double x);
Ref build_i64(Builder *b, int64_t x);
Ref build_bool(Builder *b, bool x);
Ref build_scalar(Builder *b, Dtype d, double x); /* x converted to d */
Ref build_full(Builder *b, TypeId t, double x);  /* every element x */
Ref build_zeros(Builder *b, TypeId t);
Ref build_convert(Builder *b, Ref x, Dtype d);
/* axes[k]: the result axis of operand axis k. */
Ref build_broadcast(Builder *b, Ref x, uint32_t rank, const Dim *shape, const int *axes);
/* Broadcasts a rank-0 value to the shape of `like`; keeps its dtype. */
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
Ref build_matmul(Builder *b, Ref x, Ref y); /* rank 1 or 2 each, as for @ */
Ref build_iota(Builder *b, Dtype d, Dim length);
Ref build_select(Builder *b, Ref c, Ref x, Ref y);
/* Substitutes dims. The call holds a reference to the callee. */
void build_call(Builder *b, Fn *callee, uint32_t nargs, const Ref *args, Ref *results);
/* Whether the extents of callee's parameters could be those of args. Where they
 * cannot, build_call is a breach. */
bool build_call_fits(Builder *b, const Fn *callee, uint32_t nargs, const Ref *args);

/* Regions: begin, emit the contents, end with the results; then emit the
 * instruction that owns them. */
typedef struct OpenRegion OpenRegion;
OpenRegion *build_region_begin(Builder *b, uint32_t nparams, const TypeId *types, Ref *params);
RegionId build_region_end(Builder *b, OpenRegion *r, uint32_t nresults, const Ref *results);
/* Result types. For `if` and `try`: those of the two regions, with a fresh
 * symbol for each dim that differs. For loops: the parameter types. The caller
 * must make them general enough: a dim that changes in the loop is a fresh
 * symbol in the parameter type, and another one in the result. */
void build_if(Builder *b, Ref cond, RegionId then_region, RegionId else_region, Ref *results);
void build_for(Builder *b, Ref count, uint32_t ncarried, const Ref *init, RegionId body,
               Ref *results);
void build_while(Builder *b, uint32_t ncarried, const Ref *init, RegionId cond, RegionId body,
                 Ref *results);
void build_try(Builder *b, RegionId body, RegionId handler, Ref *results);
/* Discards an open region, its contents, and the inner regions still open. */
void build_region_abandon(Builder *b, OpenRegion *r);
/* The same for every open region except the body, after a throw that the caller
 * survives. */
void build_regions_close(Builder *b);
/* Reopens a closed region that no instruction owns yet, so that the caller can
 * append to it (a conversion of its results). build_region_end closes it again
 * under the same id. `results` (may be NULL) receives its previous results. */
OpenRegion *build_region_reopen(Builder *b, RegionId r, Ref *results);

/* ---- copying and walking ------------------------------------------------- */

/* Copies a function's body into b. Its parameters are bound to args and its
 * symbols to the arguments' dims; symbols defined inside it become fresh ones.
 * Used for inlining, and by transforms that change only some instructions. */
void build_inline(Builder *b, const Fn *f, const Ref *args, Ref *results);

/* A map from the values of another function to refs of the one under
 * construction. */
typedef struct RefMap {
	Builder *to;
	const Fn *from;
	Ref *values; /* by value index; REF_NONE: not mapped */
	Dim *dims;   /* by symbol; UINT32_MAX: not mapped */
	uint32_t ndims;
	/* The new function was begun `like` the old one: symbols map to themselves.
	 */
	bool same_symbols;
	/* A hook that may replace the copy of a call (may be NULL). Returns false
	 * when it has built nothing. */
	bool (*call)(Builder *b, struct RefMap *m, const Inst *in, const Ref *args, Ref *results);
	void *call_ud;
	/* A hook called after each copied instruction, in regions too (may be
	 * NULL). It may map the results to other values. */
	void (*copied)(Builder *b, struct RefMap *m, const Inst *in);
	void *copied_ud;
	/* The last concatenation of two chains; neighbouring instructions have the
	 * same one. */
	struct {
		ChainId outer, inner, both;
	} joined;
} RefMap;
RefMap refmap_new(Builder *b, const Fn *from, bool same_symbols);
Ref refmap_get(Builder *b, RefMap *m, Ref r); /* constants are copied to the new function */
/* Maps `from` to `to`. Where their types have equal rank, it also maps the
 * symbols that `from` defines: a rebuilt loop or `if` has symbols of its own
 * for extents that vary, even where the others are the same. */
void refmap_set(RefMap *m, Ref from, Ref to);
TypeId refmap_type(Builder *b, RefMap *m, TypeId t);
/* Copies one instruction, with its regions, through the map. */
void build_copy_inst(Builder *b, RefMap *m, const Inst *in);

/* A copy of f with its calls inlined and common subexpressions eliminated.
 * Calls of recursive functions, of very large ones, and of those with
 * `checkpoint` or `batch_sequentially_by` stay. Each instruction's chain begins
 * with the calls through which it was inlined, see chain_calls. Owned; NULL
 * when there is nothing to inline, or on failure. */
Fn *fn_inline_calls(Ctx *c, Fn *f);
/* The same for a function that will only be executed, not differentiated. Code
 * that serves only derivatives is removed: `checkpoint` and
 * `batch_sequentially_by` do not prevent inlining, a host call whose value is
 * an IR function becomes that function, and `solved` becomes the solution. */
Fn *fn_inline_for_execution(Ctx *c, Fn *f);
/* The same, with some callees replaced. `instead` (may be NULL) returns the
 * replacement of g: g itself or a function of the same type. */
Fn *fn_inline_calls_with(Ctx *c, Fn *f, Fn *(*instead)(void *ud, Fn *g), void *ud);

/* Counts the uses of each value (results included), in all regions. uses has
 * f->vals.n entries. */
void fn_count_uses(const Fn *f, uint32_t *uses);

/* ---- text, verification, cost -------------------------------------------- */

/* Appends the text form; fn_read of it returns a function that prints
 * identically. */
void fn_print(Text *out, const Fn *f);
/* Appends one instruction without its regions, with the value numbers of
 * fn_print, for messages. */
void fn_print_inst(Text *out, const Fn *f, InstId id);
/* The function as records and lists that a program can walk; inspect.c lists
 * their fields. Owned; V_UNSET when memory fails. */
Value fn_inspect(const Fn *f);
/* Reads functions in text form. Returns the last one, with one reference; the
 * earlier ones are its callees by name. NULL and a diagnostic when the text is
 * malformed (*why is ST_ERROR), memory fails, or the context stops. why may be
 * NULL. */
Fn *fn_read(Ctx *c, SourceId source, Status *why);
/* Appends the binary form (docs/internals/binary.md) of f, its callees, and the
 * value `about`. Functions inside values are written as the records that
 * `function_out` of the services returns. Records E_FILE when something cannot
 * be written. */
Status fn_store(Text *out, const Fn *f, Value about);
/* Reads the binary form: returns the function with one reference, and sets
 * *about (owned). When it is malformed, returns NULL and records E_FILE with
 * the byte offset; the message begins with `name`. */
Fn *fn_load(Ctx *c, const char *name, const void *bytes, size_t n, Value *about);
/* Checks single definition, scope, operand contracts, types and regions. On
 * failure returns false and records E_INTERNAL "after PASS: ...". */
bool fn_verify(const Fn *f, const char *after_pass);

/* ---- scalar semantics (folding, the evaluator's generic path, tests) ----- */

/* out = op(x, y) for element-wise primitives on scalars of one dtype; y is
 * unused for one operand. ST_ERROR (no diagnostic) when there is no result:
 * integer division by zero, negative integer power. */
Status scalar_apply(Op op, Dtype d, const void *x, const void *y, void *out);
void scalar_convert(Dtype from, const void *x, Dtype to, void *out);

/* ---- services of higher modules ------------------------------------------ */

/* The highest order of a Taylor expansion, and of a derivative in a problem:
 * coefficients are the bits of a 64-bit mask. */
#define JET_MAX_ORDER 63

/* Services that modules above lang provide; each is set by its module. */
typedef struct IrServices {
	/* The derivative rule of an element-wise RULE primitive from
	 * stdlib/core/calculus.dsl: (x1 [, x2], y) -> partial derivatives, all
	 * scalars of dtype d. NULL and a diagnostic when missing. Borrowed. */
	Fn *(*elementwise_rule)(Ctx *c, Op op, Dtype d);
	/* The rule of a RULE structural primitive written in the language:
	 * (operands..., results..., operand tangents...) -> result tangents, with
	 * the types of the instruction. NULL when there is none. Owned. */
	Fn *(*structural_rule)(Ctx *c, const Fn *f, const Inst *in);
	/* Specialises and runs a dynamic function on values. It may use up the
	 * reference of an argument, which is then V_UNSET. Results owned. */
	Status (*call_dynamic)(Ctx *c, Value f, uint32_t nargs, Value *args, Value *random_state,
	                       Value *result, SpanId span);
	/* Runs a function; set by the backend. args borrowed, results owned. */
	Status (*run)(Ctx *c, Fn *f, const Value *args, Value *results);
	/* The transforms of autodiff/autodiff.h; set by autodiff. */
	Fn *(*jvp)(Ctx *c, Fn *f, const bool *active, bool *result_active);
	Fn *(*forward)(Ctx *c, Fn *f, const bool *active, bool *result_active);
	void (*linearise)(Ctx *c, Fn *f, const bool *active, Fn **primal, Fn **linear,
	                  uint32_t *nresiduals, const bool **result_active);
	Fn *(*transpose)(Ctx *c, Fn *linear, uint32_t nresiduals);
	Fn *(*small_jacobian)(Ctx *c, Fn *linear, uint32_t nresiduals);
	Fn *(*jet)(Ctx *c, Fn *f, uint32_t order, bool straight, const bool *active,
	           bool *result_active);
	Fn *(*gradient)(Ctx *c, Fn *f, const bool *active);
	Fn *(*batch)(Ctx *c, Fn *f, const bool *batched);
	Fn *(*checkpoint)(Ctx *c, Fn *f, int64_t snapshots, int64_t bytes);
	Fn *(*checkpoint_report)(Ctx *c, Fn *f, const bool *active);
	Fn *(*reverse_override)(Ctx *c, Fn *f, Fn *other);
	Fn *(*optimise)(Ctx *c, Fn *f);
	double (*cost)(const Fn *f, const int64_t *sym_values, uint32_t nsyms);
	void (*explain)(Ctx *c, Fn *f, const int64_t *sym_values, Text *out);
	/* Converts a function value to a record of strings and values, and back,
	 * for files; set by the parser. Owned. */
	Status (*function_out)(Ctx *c, Value f, Value *record);
	Status (*function_in)(Ctx *c, Value record, Value *f);
	void *rule_checks; /* state of lang/passes/rule_check.c */
	/* Appends the machine code that f would become at these extents (-1:
	 * unknown), as a plan in words or as assembly; set by the backend. */
	Status (*show_native)(Ctx *c, Fn *f, const int64_t *sym_values, uint32_t nsyms, bool assembly,
	                      Text *out);
} IrServices;
IrServices *ir_services(Ctx *c);

#endif
