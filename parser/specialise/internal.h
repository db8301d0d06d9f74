/* internal.h - inside the specialiser: AST -> typed SSA on dtype, rank and
 * symbolic dims.
 *
 * Needs: abstract_value.h. Private to parser/. A Frame is one function under
 * construction; an Env is a layer of names. Code in this room throws on the
 * user's errors (sp_fail) after recording a diagnostic.
 *
 * How names live. A function's names form one scope; a branch or loop body is a
 * layer over it: what it assigns to a name of the outside is merged or carried,
 * what it assigns first stays inside (but a name assigned on every branch of an
 * `if` comes out). Closures capture local names by value when they are made.
 * Functions, problems and modules at top level are looked up when called, data
 * when the function is defined.
 */
#ifndef ATLED_PARSER_SPECIALISE_INTERNAL_H
#define ATLED_PARSER_SPECIALISE_INTERNAL_H

#include "parser/specialise/abstract_value.h"
#include "parser/session/session.h"

typedef VEC(Atom) VEC_ATOMS;
typedef VEC(Av *) VEC_AVS;
typedef VEC(Span) VEC_SPANS;

typedef struct Binding {
	Atom name;
	Av *value;
} Binding;

/* A layer of names over an outer layer of the same function. */
typedef struct Env Env;
struct Env {
	Env *outer; /* NULL or a layer of the same function */
	VEC(Binding) vars;
};

/* One function under construction, and what it was asked with: its leaves are
 * parameters unless baked in as constants. */
typedef struct Frame Frame;
struct Frame {
	Frame *outer;
	Builder *b;
	uint32_t nleaves;
	Ref *params;     /* in b; REF_NONE when baked */
	const Ref *args; /* in outer->b */
	bool *baked;
	bool *demanded;                /* leaves that must be baked at the next try */
	uint32_t code_id;              /* of the function */
	Span call;                     /* what asked for it, */
	const struct Inlined *inlined; /* and the calls around that, in the outer frame */
	/* leaves that were asked whether they may be negative, and what the call
	 * says */
	const bool *signs, *negative;
	bool *asked; /* ... and those whose answer the next try needs */
	bool trial;  /* recursive calls have no value yet */
	/* cannot be tried again: it stands inside a function that is being
	 * transformed, or its caller fixed its parameters */
	bool fixed;
	bool wants_effects, wants_trial; /* what the next try needs */
};

/* An inlined call on the way down, for recursion and messages. */
typedef struct Inlined {
	struct Inlined *outer;
	uint32_t code_id;
	Atom name;
	Span call;
	const Ast *function;
	const struct Call *asked;
} Inlined;

/* The index of a loop around, which counts from 0. */
typedef struct Counter {
	const struct Counter *outer;
	const Builder *b;
	Ref index;
} Counter;

typedef struct Sp {
	Ctx *c;
	Session *session;
	Arena *a;
	Builder *b;
	Frame *frame;
	Env *env;
	Module *module;
	Inlined *inlined;
	const Counter *counters;
	uint32_t depth, recursion;
	/* nothing differentiates what is specialised: a statement of top level,
	 * or what stands behind a rule */
	bool underived;
	/* set while a rule of calculus is specialised: it must be one straight
	 * line */
	bool session_inline_only;
	/* inside an inlined function of the library: where the user called it;
	 * else NO_SPAN */
	Span place;
	/* the next body is that of a function made once for many calls, none of
	 * whose places it has */
	bool apart;
	Av *self;                           /* the function whose body this is, or NULL at top level */
	const struct ProblemScope *problem; /* inside an equation */
	/* checking only: the program's own names, which no run has put into the
	 * module; else NULL */
	Env *top;
	Builder *top_b;
	const Ast *statement; /* of top level, that is being specialised */
} Sp;

/* Hidden names of the environment: effects, and where control is leaving to. */
typedef struct Hidden {
	Atom io, rng, brk, cont, ret, retval;
	Atom dead; /* bound where a failure is certain: nothing after it runs */
} Hidden;
const Hidden *sp_hidden(Sp *sp);

/* ---- the session's side (session.c) -------------------------------------- */
const Hidden *session_hidden(Session *s);
/* own module, then the library; V_UNSET when unknown; borrowed */
Value session_lookup(Session *s, Module *from, Atom name);
Value session_own_global(Module *m, Atom name);
/* A function's body took in this variable's value: a new value puts the
 * specialisations out of date. */
void session_note_baked(Module *m, Atom name);
bool session_in_library(Session *s, Atom name); /* one of its public names */
/* Where a variable got its value; NO_SPAN for the library's. */
Span session_global_span(Module *from, Atom name);
/* what `use` bound, NULL otherwise */
Module *session_module_named(Session *s, Module *from, Atom name);
Value session_module_get(Module *m, Atom name);
/* NULL: there is none; throws when it does not load */
Module *session_library_module(Session *s, const char *name);
Module *session_module_of(Session *s, SourceId source);
void session_count_specialised(Session *s);
/* the frame to try again; NULL: none */
void session_set_retry(Session *s, Frame *frame);
Frame *session_retry(Session *s);
/* In a trial of a recursive function: this path needs the value of the
 * recursive call, which is not known yet. */
void session_set_bottom(Session *s, const Builder *whose); /* the function that is called again */
const Builder *session_take_bottom(Session *s);            /* NULL: nobody's */
/* how often a form for reverse mode has been left out */
uint32_t *session_left_out(Session *s);
/* how often a number of the text has taken the narrower dtype of its company */
uint32_t *session_yielded(Session *s);
/* the specialisation that was finished last, of those inside of one that is
 * not */
struct Member **session_finished(Session *s);
/* Checks a problem's statement (residual.c): throws after reporting everything
 * found. */
/* around: local names, or NULL */
void session_check_problem(Session *s, Module *m, const struct Env *around, const Ast *problem);
Ctx *ctx_of_session(const Session *s);
/* Syntax that closures name by number. */
uint32_t session_keep_ast(Session *s, const Ast *e);
const Ast *session_kept_ast(const Session *s, uint32_t number);
/* The user's `derivative NAME...` in a module, or NULL. */
const Ast *session_rule_of(Session *s, Module *m, Atom name);
/* All rules of that name, in the library too; at most cap of them. */
uint32_t session_rules_named(const Session *s, const char *name, const Ast **out, uint32_t cap);
/* Statements of top level, for running and for checking them: the specialiser
 * at the beginning of a function without parameters, and the two kinds of
 * statement that define something without a value. */
Sp session_top(Session *s, Module *m, Arena *a, Builder *b);
void session_use(Session *s, Module *m, const Ast *use);
void session_define_rule(Session *s, Module *m, const Ast *derivative);
/* The user's rules and used modules, kept in an arena, and put back. */
typedef struct SessionMark SessionMark;
SessionMark *session_mark(Session *s, Arena *a);
void session_back_to(Session *s, const SessionMark *mark);
/* After a failure: nobody is to be tried again. */
void session_start_anew(Session *s);
/* The last failure asked for a value that only unrolling a loop can make
 * static. */
void session_set_wants_unroll(Session *s, Ref r, const Fn *f);
bool session_take_wants_unroll(Session *s);

/* ---- errors -------------------------------------------------------------- */
_Noreturn void sp_fail(Sp *sp, DiagCode code, Span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
_Noreturn void sp_throw(Sp *sp); /* after diag_error and friends: adds the call path, unwinds */
/* the user's call of the library that `at` lies in, or `at` itself */
Span sp_user_place(Sp *sp, Span at);
/* moves a message later than `mark` out of the library, to where the user
 * came to this call */
void sp_left_library(Sp *sp, uint32_t mark, Span call);
/* The span of what is emitted next: the user's, where the text that is being
 * made into code has it. */
void sp_at(Sp *sp, Span at);
const char *sp_type_text(Sp *sp, const Av *v); /* "f64[n, 3]", "record (W: ..., b: ...)" */
/* Words for a length that the text at `at` gives; 0 when that is long, or not
 * the user's. */
Atom sp_words(Sp *sp, const char *before, Span at, const char *after);
/* "len(x)", "rows of A", "axis 2 of T" */
Atom sp_axis_words(Ctx *c, const char *path, uint32_t rank, uint32_t axis);
/* of an array whose lengths have no words yet */
void sp_word_lengths(Sp *sp, const Av *v, const char *path);
const char *av_kind_text(const Av *v); /* "an array", "a function" */
/* Throws so that the frame is tried again with r's parameters as constants; an
 * error when that is impossible. */
_Noreturn void sp_demand_static(Sp *sp, Ref r, Span at, const char *what);

/* ---- abstract values ----------------------------------------------------- */
Av *av_new(Sp *sp, AvKind kind);
Av *av_array(Sp *sp, Ref r);
Av *av_weak(Sp *sp, Ref r);
Av *av_dyn(Sp *sp, Ref r);
Av *av_none(Sp *sp);
Av *av_bool(Sp *sp, bool x);
Av *av_int(Sp *sp, int64_t x);
Av *av_string(Sp *sp, const char *text);
Av *av_seq(Sp *sp, AvKind kind, uint32_t n, Av *const *items);
Av *av_record(Sp *sp, uint32_t n, const Atom *names, Av *const *items);
Av *av_function(Sp *sp, CodeKind kind, uint32_t code_id, const void *code, Atom name, uint32_t n,
                const Atom *names, Av *const *items);
/* A closure over a builtin: calling it calls `code` with `captured` first. */
Av *av_builtin(Sp *sp, const char *builtin_name, uint32_t n, Av *const *captured);
Av *av_field(const Av *record, Atom name); /* NULL when there is none */
/* A record made like those of stdlib/linalg/sparse.dsl. */
bool av_is_sparse(const Ctx *c, const Av *v);
Av *av_strong(Sp *sp, Av *v);
/* what a name, a field or a parameter keeps: a whole number of the text is
 * i64 from there on, a real one stays weak */
Av *av_named(Sp *sp, Av *v);
Av *av_with_origin(Sp *sp, Av *v, Span origin);
/* Static facts; false when not known now. */
bool av_static_int(Sp *sp, const Av *v, int64_t *out);
bool av_static_bool(Sp *sp, const Av *v, bool *out);
/* The static value, or the frame is tried again with it baked, or an error at
 * `at`: "WHAT must be known before running". */
int64_t sp_want_int(Sp *sp, const Av *v, Span at, const char *what);
bool sp_want_bool(Sp *sp, const Av *v, Span at, const char *what);
const char *sp_want_string(Sp *sp, const Av *v, Span at, const char *what);
/* int, tuple or vector of ints */
void sp_want_ints(Sp *sp, const Av *v, Span at, const char *what, uint32_t *n, int64_t *out,
                  uint32_t cap);

/* The leaves of a value: its refs in a fixed order. */
uint32_t av_count_leaves(const Av *v);
void av_leaves(const Av *v, Ref *out, uint32_t *n);
void av_leaf_values(Av *v, Av **out, uint32_t *n); /* the same leaves, as values */
/* Same structure with other refs, taken from refs[*n] on. */
Av *av_rebuild(Sp *sp, const Av *v, const Ref *refs, uint32_t *n);
/* Whether the type of a part shows only when the program runs. */
bool av_has_dynamic(const Av *v);
/* Whether two values have one structure (kinds, names, code, strings), whatever
 * their refs. */
bool av_same_structure(const Av *x, const Av *y);
/* Values in and out of the session. */
Av *av_of_value(Sp *sp, Value v);
/* The value a template stands for, with the leaves taken from leaf[*n] on.
 * Owned. V_UNSET when memory fails. */
Value av_to_value(Ctx *c, const Av *v, const Value *leaf, uint32_t *n);
/* A template of a value in another arena; its refs are meaningless there. */
const Av *av_keep(Arena *a, const Av *v);
const Av *av_keep_strong(Arena *a, const Av *v); /* with no weak number left */
/* A constant; takes the reference to v, also when it throws. */
Ref sp_const(Sp *sp, Value v);
/* A dyn ref for any value. */
Ref sp_box(Sp *sp, Av *v);

/* ---- environment --------------------------------------------------------- */
Env *env_new(Sp *sp, Env *outer);
Av *env_find(const Env *e, Atom name);          /* NULL: not bound here or in outer layers */
void env_set(Sp *sp, Env *e, Atom name, Av *v); /* in this very layer */
Av *sp_lookup(Sp *sp, Atom name, Span at);      /* error when unknown */
Av *sp_try_lookup(Sp *sp, Atom name);           /* NULL when unknown */
/* What a user of another language means by a name that is none here; NULL. */
const char *sp_foreign_name(const char *name);
/* The hint of a message about an argument that a function does not take: what
 * other languages mean by it, or what the function could still be given. */
/* of too many arguments: those that have names */
void sp_hint_named(Ctx *c, Diag *d, uint32_t nparams, const Param *params);
void sp_hint_argument(Ctx *c, Diag *d, const char *function, const char *wrong, uint32_t n,
                      const char *const *names);
/* Checking only: stands for what a statement with an error would have given.
 * Whatever looks it up fails without a further message. */
Av *sp_lost(void);

/* ---- expressions and statements ------------------------------------------ */
Av *sp_expr(Sp *sp, const Ast *e);
Av *sp_block(Sp *sp, uint32_t n, Ast *const *items, bool own_layer);
void sp_assign(Sp *sp, const Ast *target, Av *value, Span at);
/* The parts of a value that so many names on the left take; an error when it
 * has others. */
Av **sp_take_apart(Sp *sp, Av *v, uint32_t names, Span at);
Av *sp_binary(Sp *sp, AstOp op, Av *x, Av *y, Span at, Span xs, Span ys);
Av *sp_unary(Sp *sp, AstOp op, Av *x, Span at);
Av *sp_if(Sp *sp, const Ast *e);
Av *sp_for(Sp *sp, const Ast *e);
Av *sp_while(Sp *sp, const Ast *e);
Av *sp_try(Sp *sp, const Ast *e);
Av *sp_index(Sp *sp, const Ast *e);
/* item kind NONE means `...` */
Av *sp_index_values(Sp *sp, Av *base, uint32_t n, Av *const *items, const Span *spans, Span at);
Av *sp_index_set(Sp *sp, Av *base, uint32_t n, Av *const *items, const Span *spans, Av *value,
                 bool add, Span at);
/* x[mask]: one index, which says of each element on the first axes whether it
 * is meant. */
bool sp_is_mask(Sp *sp, const Av *base, uint32_t n, Av *const *items);
/* x[mask] op= value, where value has one row for each that the mask takes, as
 * x[mask] has, or the shape of x. */
Av *sp_mask_set(Sp *sp, Av *base, Av *mask, Span mask_at, AstOp op, Av *value, Span at);
Av *sp_index_items(Sp *sp, const Ast *e, Av *base, Av ***items, Span **spans);
Av *sp_comprehension(Sp *sp, const Ast *e);
Av *sp_index_def(Sp *sp, const Ast *e);
/* REDUCE(body for clauses) for sum, prod, max, min, any, all, mean: NULL when
 * the callee is not one of these. */
Av *sp_reduction(Sp *sp, const Ast *call, Op op, const Ast *generator);
Av *sp_problem_value(Sp *sp, const Ast *problem);
/* a name inside an equation: coordinate, field, jet, local or anything else */
Av *sp_problem_name(Sp *sp, const Ast *name);
/* calls whose arguments are not values: d(u, x), lap(u) in equations, and
 * a·grad(u); NULL otherwise */
Av *sp_special_call(Sp *sp, const Ast *call);

/* Two branches of a condition evaluated by callbacks in layers of their own;
 * merges values and names. */
typedef Av *(*SpBranch)(Sp *sp, void *ud);
Av *sp_branch(Sp *sp, Av *cond, SpBranch then_, void *then_ud, SpBranch else_, void *else_ud,
              Span at);

/* ---- calls --------------------------------------------------------------- */
typedef struct Call {
	Span span; /* the whole call */
	Span callee_span;
	uint32_t n; /* positional */
	Av **args;
	Span *spans;
	uint32_t nnamed;
	Atom *names;
	Av **named;
	Span *named_spans;
	/* by named argument: the record of options that it came out of, or NULL;
	 * NULL: none did */
	const Av **named_rest;
	/* the positional arguments stand for any row of an array: what they
	 * happen to be now decides nothing */
	bool rows;
	bool derived; /* the function is differentiated */
} Call;
Av *sp_call(Sp *sp, Av *f, const Call *call);
/* Whether a whole number may be negative when the program runs. Lengths and the
 * counters of loops are not, nor are sums and products of such. Of an argument
 * the function is tried again with the answer as a part of its key. */
bool sp_may_be_negative(const Sp *sp, Ref r);
/* Whether the function f can be called with n arguments without names. */
bool sp_accepts(const Av *f, int64_t n);
/* run-time dispatch: result is dynamic */
Av *sp_call_dynamic(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at);
Av *sp_call_args(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at); /* positional only */
/* the library's own function, whatever the program calls so */
Av *sp_call_library(Sp *sp, const char *name, uint32_t n, Av *const *args, Span at);
/* A finished function of f at these arguments: parameters are the leaves of f,
 * then of the arguments, then (when `effects`) the random state and the token;
 * results the leaves of `result`, then state and token. Cached. */
/* A call of a function that has a derivative rule: one host call
 * (custom_rule.c). */
Av *sp_call_ruled(Sp *sp, Av *f, const Call *call, const Ast *rule);
/* f(x) of an f that is linear, whose adjoint reverse mode is to use: one host
 * call, too. */
Av *sp_call_linear(Sp *sp, Av *f, Av *adjoint, Av *x, Span at);
/* of a host function, whatever rule the program has for it */
Av *sp_call_host(Sp *sp, Av *f, const Call *call);
/* of a function that is a finished piece of IR (ir_values.c) */
Av *sp_call_ir(Sp *sp, Av *f, const Call *call);
struct KeptIr;
struct KeptIr **session_kept_ir(Session *s);
void kept_ir_release(struct KeptIr *k);
uint32_t kept_ir_nargs(const struct KeptIr *k);
/* f itself, or when it has a rule a function that calls it: for what derives a
 * finished function. */
Av *sp_keep_rule(Sp *sp, Av *f);
struct Ruled;
struct Ruled **session_ruled(Session *s);
void ruled_release(struct Ruled *r);
typedef struct Spec {
	Fn *fn;
	const Av *result; /* template: refs are meaningless */
	bool effects;
	uint32_t nleaves;
	Ref *args; /* what to pass for the leaves, in the asking frame */
	uint32_t nargs;
	/* set for a function still under construction: its result types, in its
	 * own symbols */
	const TypeId *promised;
	uint32_t npromised;
	int *param_of_leaf; /* -1: baked into the function */
} Spec;
Spec sp_specialise(Sp *sp, Av *f, const Call *call);
/* The same of what nothing differentiates: forms for reverse mode may be left
 * out of it. */
Spec sp_specialise_underived(Sp *sp, Av *f, const Call *call);
/* f in the form that derivatives by the active parameters are taken of: with a
 * decomposition of a matrix in it, one that has them also where eigenvalues or
 * singular values meet (decompositions.c). Borrowed. */
Fn *sp_whole(Sp *sp, Fn *f, const bool *active);
/* what has been kept; NULL: nothing */
Fn *session_whole(Session *s, const Fn *f, const bool *active);
/* takes the reference to `whole` */
void session_keep_whole(Session *s, Fn *f, const bool *active, Fn *whole);
/* Emits a call to fn (already made from a Spec or transformed): returns its
 * results. Threads the effects when `effects`. */
/* The random state and the token of effects of the present function; a function
 * that turns out to need them is tried again with them. */
void sp_effects(Sp *sp, Ref *rng, Ref *io, Span at);
/* the same of what may print or draw, as its types are not known yet */
void sp_effects_of_dynamic(Sp *sp, Ref *rng, Ref *io, Span at);
/* Fails where s has effects: with the message, or by a call whose types are
 * known only when it runs. */
void sp_no_effects(Sp *sp, const Spec *s, DiagCode code, Span at, const char *message);
void sp_set_effects(Sp *sp, Ref rng, Ref io);
/* The call of a function that always fails: nothing after it runs. */
Av *sp_failed(Sp *sp, const Spec *s, Span at);
struct Family; /* specialisations of one function for one structure of arguments: session's cache */
struct Family *session_find_family(Session *s, const char *key);
void session_add_family(Session *s, struct Family *f, const char *key);
void family_release(struct Family *f);
void sp_emit_call(Sp *sp, Fn *fn, uint32_t nargs, const Ref *args, bool effects, Ref *results);

/* ---- arrays -------------------------------------------------------------- */
/* Array of an argument, boxed values unboxed when the type can be known; error
 * "WHAT expects an array". */
Av *sp_want_array(Sp *sp, Av *v, Span at, const char *what);
Ref sp_scalar(Sp *sp, Av *v, Dtype d, Span at, const char *what); /* rank 0, converted to d */
Ref sp_to_dtype(Sp *sp, Av *v, Dtype d);
Dtype sp_common_dtype(Sp *sp, const Av *x, const Av *y);
/* Brings operands to one shape by NumPy's rules; error at `at` naming what was
 * done ("add"). */
void sp_broadcast_pair(Sp *sp, Ref *x, Ref *y, const Av *ax, const Av *ay, Span at,
                       const char *verb);
/* x stretched to exactly this shape, as what is written into a place must;
 * `message` says of what, when it does not fit. */
Ref sp_broadcast_into(Sp *sp, Ref x, uint32_t rank, const Dim *shape, Span at, const char *message);
Ref sp_broadcast_to(Sp *sp, Ref x, uint32_t rank, const Dim *shape, Span at, const char *verb);
Av *sp_elementwise(Sp *sp, Op op, uint32_t n, Av *const *args, Span at);
/* [x0, x1, ...] with one more leading axis from equally typed parts. */
Av *sp_stack(Sp *sp, uint32_t n, Av *const *items, Span at);
Av *sp_concat(Sp *sp, uint32_t n, Av *const *items, int axis, Span at);
/* The items of a tuple, list, or the rows of an array with constant length;
 * false when unknown. */
bool sp_static_items(Sp *sp, Av *v, uint32_t *n, Av ***items);

/* ---- builtins ------------------------------------------------------------ */
struct Builtin {
	const char *name;
	int min_args, max_args; /* -1: any */
	const char *named;      /* "axis keepdims": allowed named arguments */
	Av *(*run)(Sp *sp, const Builtin *self, uint32_t ncaptured, Av *const *captured,
	           const Call *call);
	Op op;           /* for families that share a function */
	const char *doc; /* signature and meaning; NULL: internal */
	/* Serves a dynamic call by itself, on the values as they are, or says
	 * false: then `run` is specialised for them. */
	bool (*quick)(Ctx *c, const FunctionObject *self, uint32_t n, const Value *args, Value *result);
	/* runs on values when the program runs; then `run` only emits the
	 * dynamic call */
	NativeFn native;
	void *native_ud;
};
const Builtin *builtin_find(const char *name);
bool builtin_derives(const Builtin *b); /* takes a function first, and derives or batches it */
/* takes arrays: with a dynamic value it is called when the program runs */
bool builtin_waits(const Builtin *b);
/* All builtins, for help and completion; NULL-terminated tables concatenated.
 */
void builtin_each(void (*visit)(void *ud, const Builtin *b), void *ud);
Av *call_named(const Call *call, const char *name, Ctx *c); /* NULL when not given */

/* A lambda over the indices around an expression of index notation: one per
 * expression, kept for the session. */
const Ast *session_index_lambda(Session *s, const Ast *body, uint32_t n, const Atom *names);

/* After a failure that is certain: what follows in this block is not run, and
 * has no value. */
void sp_set_dead(Sp *sp);
bool sp_dead(Sp *sp, const Env *e);

/* suggest.c: "did you mean". Names are those in scope and in the library, and
 * what suggest_name adds; `root` is the syntax in which the wrong name stands
 * at `at`, which says what would fit there; NULL: anything fits. */
typedef struct Suggest {
	Sp *sp;
	/* what the caller knows of a name: 1 it fits, 0 it does not, -1 nothing;
	 * may be NULL */
	int (*local)(void *ud, Atom name);
	void *ud;
	const struct NameUse *use;
	VEC(const char *) names;
} Suggest;
void suggest_name(Suggest *s, const char *name);
const char *suggest_best(Suggest *s, const char *text, const Ast *root, Span at);
bool suggest_fits_value(const Suggest *s, const Av *v);
bool suggest_fits_definition(const Suggest *s, const Ast *fn);
/* rest_arguments.c: calls visit for each named argument that fn takes through
 * its `...options`; param NULL: of a builtin. `find` gives the definition that
 * a name stands for in the text of `in`, NULL for none. True when there can be
 * no others. */
typedef const Ast *(*RestFind)(void *ud, const Ast *in, Atom name);
typedef void (*RestVisit)(void *ud, const Param *param, Atom name);
bool rest_each(Ctx *c, const Ast *fn, RestFind find, RestVisit visit, void *ud);
const Ast *rest_find(Session *s, const Ast *in, Atom name); /* where everything has been run */

/* check.c: what the text alone tells: names, calls, and warnings. `whole`: all
 * of it could be read. */
void check_program(Session *s, Arena *a, const Program *p, bool whole);

/* AST utilities. */
/* names a loop body may rebind (not inside closures) */
void ast_assigned(Sp *sp, const Ast *e, Atom **names, uint32_t *n);
void ast_free_names(Sp *sp, const Ast *function, Atom **names, uint32_t *n);
/* break, or return, not inside an inner function (break: nor inner loop) */
bool ast_leaves_loop(const Ast *body);
bool ast_breaks(const Ast *body); /* break of this very loop */
bool ast_mentions(const Ast *e, Atom name);
/* The children in which the name means what it means around e. */
void ast_children_seeing(const Ast *e, Atom name, void (*visit)(void *ud, const Ast *child),
                         void *ud);

#endif
