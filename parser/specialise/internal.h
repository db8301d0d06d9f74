/* internal.h - the specialiser: syntax tree to typed SSA on dtypes, ranks and
 * symbolic dimensions.
 *
 * Needs: abstract_value.h. Private to parser/.
 *
 * Contract:
 * - A FunctionFrame is one function under construction; an Env is a layer of
 *   names.
 * - For an error of the user, code here records a diagnostic and throws
 *   (sp_fail).
 *
 * Scope of names:
 * - The names of a function form one scope. A branch or loop body is a layer
 *   over it.
 * - An assignment in a layer to an outer name is merged or carried.
 * - A name first assigned in a layer stays inside. A name assigned on every
 *   branch of an `if` is visible after it.
 * - Closures capture local names by value when they are made.
 * - Functions, problems and modules of top level are looked up when called,
 *   data when the function is defined.
 */
#ifndef ATLED_PARSER_SPECIALISE_INTERNAL_H
#define ATLED_PARSER_SPECIALISE_INTERNAL_H

#include "lang/base/hash_chains.h"
#include "parser/specialise/abstract_value.h"
#include "parser/scope/module.h"

/* Bytes of a string that is computed before the program runs. A longer one is a
 * run-time value, which counts towards the limits of memory and time. */
#define TEXT_STATIC_MOST ((size_t)1 << 20)

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
	AtomMap places; /* of vars */
};

/* One function under construction and the call it is built for. Its leaves are
 * parameters unless they are baked in as constants. */
typedef struct FunctionFrame FunctionFrame;
struct FunctionFrame {
	FunctionFrame *outer;
	Builder *b;
	uint32_t nleaves;
	Ref *params;     /* in b; REF_NONE when baked */
	const Ref *args; /* in outer->b */
	bool *baked;
	bool *demanded;                /* leaves that the next attempt must bake */
	bool *needed;                  /* those of them without which there is no code */
	bool open;                     /* bakes what is needed only */
	bool in_unrollable;            /* the call is in a loop that may be unrolled */
	uint32_t code_id;              /* of the function */
	Span call;                     /* the call that needs it */
	const struct Inlined *inlined; /* the calls around it, in the outer frame */
	/* Leaves whose sign matters, and those that may be negative in this
	 * call. */
	const bool *signs, *negative;
	bool *asked; /* leaves whose sign the next attempt needs */
	bool trial;  /* recursive calls have no value yet */
	/* Cannot be tried again: it is inside a function that is being transformed,
	 * or its caller fixed its parameters. */
	bool fixed;
	bool wants_effects, wants_trial; /* needed by the next attempt */
};

/* An enclosing inlined call, for recursion and messages. */
typedef struct Inlined {
	struct Inlined *outer;
	uint32_t code_id;
	Atom name;
	Span call;
	const Ast *function;
	const struct CallArguments *asked;
} Inlined;

/* The index of an enclosing loop, which counts from 0. */
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
	FunctionFrame *frame;
	Env *env;
	Module *module;
	Inlined *inlined;
	const Counter *counters;
	uint32_t depth, recursion;
	uint32_t unrollable; /* loops of this function around it that may be unrolled */
	/* Nothing differentiates this code: a statement of top level, or the
	 * function of a derivative rule. */
	bool underived;
	/* Set while the derivative rule of a primitive is specialised, which must
	 * be straight-line code. */
	bool session_inline_only;
	/* Inside an inlined function of the library: the user's call; else
	 * NO_SPAN. */
	Span place;
	/* The next body is that of a function built once for many calls, so it has
	 * no call's location. */
	bool apart;
	Av *self;                           /* the function whose body this is, or NULL at top level */
	const struct ProblemScope *problem; /* inside an equation */
	/* When checking only: the program's own names, which no run has put into
	 * the module; else NULL. */
	Env *top;
	Builder *top_b;
	const Ast *statement; /* the statement of top level being specialised */
} Sp;

/* Hidden names of the environment: effects, and exits by break, continue and
 * return. */
typedef struct Hidden {
	Atom io, rng, brk, cont, ret, retval;
	Atom dead; /* bound where a failure is certain: nothing after it runs */
} Hidden;
const Hidden *sp_hidden(Sp *sp);

/* ---- services of the session (session/) ---------------------------------- */
const Hidden *session_hidden(Session *s);
/* Searches the module, then the library. V_UNSET when unknown; borrowed. */
Value session_lookup(Session *s, Module *from, Atom name);
Value session_own_global(Module *m, Atom name);
/* Records that a function's body has baked in this variable's value. A new
 * value then invalidates the specialisations. */
void session_note_baked(Module *m, Atom name);
bool session_in_library(Session *s, Atom name); /* one of its public names */
/* The location of a variable's value; NO_SPAN for the library's. */
Span session_global_span(Module *from, Atom name);
/* The module that `use` bound to this name, or NULL. */
Module *session_module_named(Session *s, Module *from, Atom name);
/* Searches the module and its parts. V_UNSET when unknown; borrowed. */
Value session_module_get(Session *s, Module *m, Atom name);
/* NULL when there is none; throws when it does not load. */
Module *session_library_module(Session *s, const char *name);
/* The module itself for k = 0, then the modules with definitions that may be
 * looked for in it; NULL at the end. Throws when one does not load. */
Module *session_module_part(Session *s, Module *m, uint32_t k);
Module *session_module_of(Session *s, SourceId source);
void session_count_specialised(Session *s);
/* The frame to try again; NULL: none. */
void session_set_retry(Session *s, FunctionFrame *frame);
FunctionFrame *session_retry(Session *s);
/* In the trial of a recursive function: this path needs the value of the
 * recursive call, which is not known yet. */
void session_set_bottom(Session *s, const Builder *whose); /* the recursive function */
const Builder *session_take_bottom(Session *s);            /* NULL: none */
/* How often a form for reverse mode has been omitted. */
uint32_t *session_left_out(Session *s);
/* How often a literal has adopted a narrower dtype. */
uint32_t *session_yielded(Session *s);
/* The specialisation finished last inside one that is not finished. */
struct FamilyMember **session_finished(Session *s);
/* Checks a problem (problem/check.c). Throws after reporting all errors.
 * `around`: local names, or NULL. */
void session_check_problem(Session *s, Module *m, const struct Env *around, const Ast *problem);
Ctx *ctx_of_session(const Session *s);
/* The user's `derivative NAME...` in a module, or NULL. */
const Ast *session_rule_of(Session *s, Module *m, Atom name);
/* Stores all rules of that name, also those of the library, at most `cap`;
 * returns how many. */
uint32_t session_rules_named(const Session *s, const char *name, const Ast **out, uint32_t cap);
/* Statements of top level, for running and checking: the specialiser at the
 * start of a function without parameters, and the two kinds of statement that
 * define something without a value. */
Sp session_top(Session *s, Module *m, Arena *a, Builder *b);
void session_use(Session *s, Module *m, const Ast *use);
void session_define_rule(Session *s, Module *m, const Ast *derivative);
/* Copies the user's rules and used modules into an arena, and restores them. */
typedef struct SessionMark SessionMark;
SessionMark *session_mark(Session *s, Arena *a);
void session_back_to(Session *s, const SessionMark *mark);
/* After a failure: clears all requests for another attempt. */
void session_start_anew(Session *s);
/* The last failure needed a value that becomes static only when a loop is
 * unrolled. */
void session_set_wants_unroll(Session *s);
bool session_take_wants_unroll(Session *s);

/* ---- errors -------------------------------------------------------------- */
_Noreturn void sp_fail(Sp *sp, DiagCode code, Span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
_Noreturn void sp_throw(Sp *sp); /* after diag_error: adds the call path and unwinds */
/* The user's call of the library that led to `at`, or `at` itself. */
Span sp_user_place(Sp *sp, Span at);
/* Moves the last message, if it is later than `mark`, out of the library to the
 * user's code that led to `call`. */
void sp_left_library(Sp *sp, uint32_t mark, Span call);
/* Sets the span of the instructions emitted next; inside the library, the
 * user's call. */
void sp_at(Sp *sp, Span at);
const char *sp_type_text(Sp *sp, const Av *v); /* "f64[n, 3]", "record (W: ..., b: ...)" */
/* Words for an extent, made of the source text at `at`. 0 when the text is long
 * or not the user's. */
Atom sp_words(Sp *sp, const char *before, Span at, const char *after);
/* "len(x)", "rows of A", "axis 2 of T". */
Atom sp_axis_words(Ctx *c, const char *path, uint32_t rank, uint32_t axis);
/* Names the extents of an array that have no words yet. */
void sp_word_lengths(Sp *sp, const Av *v, const char *path);
const char *av_kind_text(const Av *v); /* "an array", "a function" */
/* Throws so that the frame is tried again with r's parameters as constants. An
 * error when that is impossible. */
_Noreturn void sp_demand_static(Sp *sp, Ref r, Span at, const char *what);
/* As sp_demand_static where r can become a constant, in its function or in a
 * caller; else returns, and the code must do with a value of the run. */
void sp_ask_static(Sp *sp, Ref r, Span at, const char *what);
/* Whether it can: sp is that of the code which has r. */
bool sp_can_be_static(Sp *sp, Ref r);

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
/* A function value of a builtin; its calls receive the `captured` values. */
Av *av_builtin(Sp *sp, const char *builtin_name, uint32_t n, Av *const *captured);
Av *av_field(const Av *record, Atom name); /* NULL when there is none */
/* True for a record with the structure of those in stdlib/linalg/sparse.dsl. */
bool av_is_sparse(const Ctx *c, const Av *v);
Av *av_strong(Sp *sp, Av *v);
/* The value that a name, a field or a parameter stores: an integer literal
 * becomes i64, a real one stays weak. */
Av *av_named(Sp *sp, Av *v);
Av *av_with_origin(Sp *sp, Av *v, Span origin);
/* Static facts; false when not static. */
bool av_static_int(Sp *sp, const Av *v, int64_t *out);
bool av_static_bool(Sp *sp, const Av *v, bool *out);
/* The static value. If there is none, the frame is tried again with the value
 * baked in. If that is impossible, an error at `at` reports that WHAT must be
 * known before running. */
int64_t sp_want_int(Sp *sp, const Av *v, Span at, const char *what);
bool sp_want_bool(Sp *sp, const Av *v, Span at, const char *what);
const char *sp_want_string(Sp *sp, const Av *v, Span at, const char *what); /* without NUL */
Atom sp_want_atom(Sp *sp, const Av *v, Span at, const char *what);          /* of a string */
/* An integer, or a tuple or vector of integers. */
void sp_want_ints(Sp *sp, const Av *v, Span at, const char *what, uint32_t *n, int64_t *out,
                  uint32_t cap);

/* The leaves of a value: its refs in a fixed order. */
uint32_t av_count_leaves(const Av *v);
void av_leaves(const Av *v, Ref *out, uint32_t *n);
void av_leaf_values(Av *v, Av **out, uint32_t *n); /* the same leaves, as values */
/* The same structure with other refs, taken from refs[*n] on. */
Av *av_rebuild(Sp *sp, const Av *v, const Ref *refs, uint32_t *n);
/* True when the type of some part is known only at run time. */
bool av_has_dynamic(const Av *v);
/* True when two values have one structure (kinds, names, code, strings),
 * whatever their refs. */
bool av_same_structure(const Av *x, const Av *y);
/* An abstract value for a value of the session. */
Av *av_of_value(Sp *sp, Value v);
/* The value that a template stands for, with leaves taken from leaf[*n] on.
 * Owned. V_UNSET when memory runs out. */
Value av_to_value(Ctx *c, const Av *v, const Value *leaf, uint32_t *n);
/* A copy of a template in another arena; its refs are meaningless there. */
const Av *av_keep(Arena *a, const Av *v);
const Av *av_keep_strong(Arena *a, const Av *v); /* without weak leaves */
/* What a record that is no value needs of programs and pieces of IR: it counts
 * for their owners until it lets go. Lists live in the record's arena. */
typedef struct HeldCode {
	VEC(_Atomic uint32_t *) counts;
} HeldCode;
void held_code_node(Ctx *c, Arena *a, HeldCode *h, uint32_t node);
void held_code_functions(Ctx *c, Arena *a, HeldCode *h, const Av *v); /* all in v */
void held_code_release(HeldCode *h);
/* A constant. Takes the reference to v, also when it throws. */
Ref sp_const(Sp *sp, Value v);
/* A dynamic ref for any value. */
Ref sp_box(Sp *sp, Av *v);

/* ---- environment --------------------------------------------------------- */
Env *env_new(Sp *sp, Env *outer);
Av *env_find(const Env *e, Atom name);          /* NULL: not bound here or in outer layers */
void env_set(Sp *sp, Env *e, Atom name, Av *v); /* in exactly this layer */
Av *sp_lookup(Sp *sp, Atom name, Span at);      /* error when unknown */
Av *sp_try_lookup(Sp *sp, Atom name);           /* NULL when unknown */
/* A hint for a name of another language that is undefined here, or NULL. */
const char *sp_foreign_name(const char *name);
/* sp_hint_named adds a hint for too many arguments: those that have names.
 * sp_hint_argument adds one for an unknown argument: its meaning in other
 * languages, or the arguments that the function still accepts. */
void sp_hint_named(Ctx *c, Diag *d, uint32_t nparams, const Param *params);
void sp_hint_argument(Ctx *c, Diag *d, const char *function, const char *wrong, uint32_t n,
                      const char *const *names);
/* When checking only: stands for the result of a statement with an error. Any
 * use of it fails without a further message. */
Av *sp_lost(void);

/* ---- expressions and statements ------------------------------------------ */
Av *sp_expr(Sp *sp, const Ast *e);
Av *sp_block(Sp *sp, uint32_t n, Ast *const *items, bool own_layer);
void sp_assign(Sp *sp, const Ast *target, Av *value, Span at);
/* The parts of a value for `names` names on the left; an error when their
 * number differs. */
Av **sp_take_apart(Sp *sp, Av *v, uint32_t names, Span at);
Av *sp_binary(Sp *sp, AstOp op, Av *x, Av *y, Span at, Span xs, Span ys);
Av *sp_unary(Sp *sp, AstOp op, Av *x, Span at);
/* v', v'': of a function the derivative, of a matrix the adjoint. */
Av *sp_prime(Sp *sp, Av *v, uint32_t count, Span at);
Av *sp_if(Sp *sp, const Ast *e);
Av *sp_for(Sp *sp, const Ast *e);
Av *sp_while(Sp *sp, const Ast *e);
Av *sp_try(Sp *sp, const Ast *e);
Av *sp_index(Sp *sp, const Ast *e);
/* An item of kind NONE means `...`. */
Av *sp_index_values(Sp *sp, Av *base, uint32_t n, Av *const *items, const Span *spans, Span at);
Av *sp_index_set(Sp *sp, Av *base, uint32_t n, Av *const *items, const Span *spans, Av *value,
                 bool add, Span at);
/* True for x[mask]: one index, a boolean array over the first axes. */
bool sp_is_mask(Sp *sp, const Av *base, uint32_t n, Av *const *items);
/* x[mask] op= value. `value` has one row for each row selected, as x[mask] has,
 * or the shape of x. */
Av *sp_mask_set(Sp *sp, Av *base, Av *mask, Span mask_at, AstOp op, Av *value, Span at);
Av *sp_index_items(Sp *sp, const Ast *e, Av *base, Av ***items, Span **spans);
Av *sp_comprehension(Sp *sp, const Ast *e);
Av *sp_index_def(Sp *sp, const Ast *e);
/* REDUCE(body for clauses) for sum, prod, max, min, any, all. */
Av *sp_reduction(Sp *sp, const Ast *call, Op op, const Ast *generator);
Av *sp_problem_value(Sp *sp, const Ast *problem);
/* A name inside an equation: coordinate, field, jet, local or anything else. */
Av *sp_problem_name(Sp *sp, const Ast *name);
/* Derivatives in equations, whose operands are not values: d(u, x), lap(u),
 * a·grad(u), u'. NULL for other expressions. */
Av *sp_special_call(Sp *sp, const Ast *call);

/* Evaluates the two branches of a condition by callbacks, each in its own
 * layer; merges values and names. */
typedef Av *(*SpBranch)(Sp *sp, void *ud);
Av *sp_branch(Sp *sp, Av *cond, SpBranch then_, void *then_ud, SpBranch else_, void *else_ud,
              Span at);

/* ---- calls --------------------------------------------------------------- */
typedef struct CallArguments {
	Span span; /* the whole call */
	Span callee_span;
	uint32_t n; /* positional */
	Av **args;
	Span *spans;
	uint32_t nnamed;
	Atom *names;
	Av **named;
	Span *named_spans;
	/* By named argument: the record of options that it was spread from, or
	 * NULL. NULL as a whole: none was. */
	const Av **named_rest;
	/* The positional arguments represent any row of an array, so their current
	 * values decide nothing. */
	bool rows;
	bool derived; /* the function is differentiated */
} CallArguments;
Av *sp_call(Sp *sp, Av *f, const CallArguments *call);
/* True when an integer may be negative at run time. Extents and loop counters
 * are not, nor are their sums and products. For an argument, the function is
 * tried again with the answer in its key. */
bool sp_may_be_negative(const Sp *sp, Ref r);
/* True when f accepts n positional arguments. */
bool sp_accepts(const Av *f, int64_t n);
/* Run-time dispatch: the result is dynamic. */
Av *sp_call_dynamic(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at);
Av *sp_call_args(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at); /* positional only */
/* Calls the library's own function, even if the program redefines the name. */
Av *sp_call_library(Sp *sp, const char *name, uint32_t n, Av *const *args, Span at);
/* A call of a function with a derivative rule: one host call
 * (custom_rule.c). */
Av *sp_call_ruled(Sp *sp, Av *f, const CallArguments *call, const Ast *rule);
/* f(x) of a linear f, with `adjoint` for reverse mode: also one host call. */
Av *sp_call_linear(Sp *sp, Av *f, Av *adjoint, Av *x, Span at);
/* A call of a host function, ignoring any rule of the program for it. */
Av *sp_call_host(Sp *sp, Av *f, const CallArguments *call);
/* A call of a function that is finished IR (ir_values.c). */
Av *sp_call_ir(Sp *sp, Av *f, const CallArguments *call);
struct KeptIr;
struct KeptIr **session_kept_ir(Session *s);
void kept_ir_release(struct KeptIr *k);
/* Notes which pieces nothing uses but specialisations, and frees those that
 * were noted. */
void kept_ir_note_unused(struct KeptIr *k);
void kept_ir_free_unused(Ctx *c, struct KeptIr **list);
uint32_t session_number_ir(Session *s); /* another one at each call */
uint32_t kept_ir_nargs(const struct KeptIr *k);
/* f itself; when it has a rule, a function that calls it. For transforms of a
 * finished function. */
Av *sp_keep_rule(Sp *sp, Av *f);
/* Calls of functions with a rule, by the id of the function. */
HashChains *session_ruled(Session *s);
void ruled_release(Ctx *c, HashChains *t);
/* A finished function of f at the arguments of a call. Its parameters are the
 * leaves of f, then of the arguments, then (with `effects`) the random state
 * and the token. Its results are the leaves of `result`, then state and
 * token. */
typedef struct Specialisation {
	Fn *fn;
	const Av *result; /* template: its refs are meaningless */
	bool effects;
	uint32_t nleaves;
	Ref *args; /* the arguments for the leaves, in the calling frame */
	uint32_t nargs;
	/* Set for a function still under construction: its result types, in its own
	 * symbols. */
	const TypeId *promised;
	uint32_t npromised;
	int *param_of_leaf; /* -1: baked into the function */
	uint32_t newest;    /* the largest id of a node whose code is part of its key */
} Specialisation;
/* Fails, with the call's span, where f is not a function. */
void sp_want_function(Sp *sp, const Av *f, const CallArguments *call);
/* The specialisation of f for a call. Cached. Fails where f is no function. */
Specialisation sp_specialise(Sp *sp, Av *f, const CallArguments *call);
/* The same for code that nothing differentiates: forms for reverse mode may be
 * omitted. */
Specialisation sp_specialise_underived(Sp *sp, Av *f, const CallArguments *call);
/* The form of f for derivatives with respect to the active parameters. If f
 * decomposes a matrix, the form has derivatives also where eigenvalues or
 * singular values coincide (decompositions.c). Borrowed. */
Fn *sp_whole(Sp *sp, Fn *f, const bool *active);
/* Keeps a function of which a closure stores the id, as long as the program
 * that has the node `newest`. */
void session_keep_numbered(Session *s, Fn *f, uint32_t newest);
/* The stored form; NULL: none. */
Fn *session_whole(Session *s, const Fn *f, const bool *active);
/* Stores the form; takes the reference to `whole`. */
void session_keep_whole(Session *s, Fn *f, const bool *active, Fn *whole);
/* The random state and the effect token of the current function. A function
 * that turns out to need them is tried again with them. */
void sp_effects(Sp *sp, Ref *rng, Ref *io, Span at);
/* The same for code that may print or draw, since its types are not known
 * yet. */
void sp_effects_of_dynamic(Sp *sp, Ref *rng, Ref *io, Span at);
/* Fails when s has effects, with `message` or with the call whose types are
 * known only at run time. */
void sp_no_effects(Sp *sp, const Specialisation *s, DiagCode code, Span at, const char *message);
void sp_set_effects(Sp *sp, Ref rng, Ref io);
/* The call of a function that always fails; nothing after it runs. */
Av *sp_failed(Sp *sp, const Specialisation *s, Span at);
/* The specialisations of one function for one structure of arguments, cached by
 * the session. */
struct Family;
struct Family *session_find_family(Session *s, const char *key);
/* newest, oldest: see CallKey. */
void session_add_family(Session *s, struct Family *f, const char *key, uint32_t newest,
                        uint32_t oldest);
/* Releases the functions of the family. What else it has is in its arena. */
void family_release(struct Family *f);
Arena *family_arena(struct Family *f);
/* Whether its key or a result has a piece of IR that was noted as unused. */
bool family_has_unused_ir(const struct Family *f);
/* Emits a call of fn, which comes from a Specialisation or a transform, and
 * stores its results. Threads the effects when `effects`. */
void sp_emit_call(Sp *sp, Fn *fn, uint32_t nargs, const Ref *args, bool effects, Ref *results);

/* ---- arrays -------------------------------------------------------------- */
/* The array of an argument. Boxed values are unboxed when the type can be
 * known. Otherwise the error is "WHAT takes an array". */
Av *sp_want_array(Sp *sp, Av *v, Span at, const char *what);
Ref sp_scalar(Sp *sp, Av *v, Dtype d, Span at, const char *what); /* rank 0, converted to d */
Ref sp_to_dtype(Sp *sp, Av *v, Dtype d);
Dtype sp_common_dtype(Sp *sp, const Av *x, const Av *y);
/* Brings operands to one shape by NumPy's rules. The error at `at` names the
 * operation ("add"). */
void sp_broadcast_pair(Sp *sp, Ref *x, Ref *y, const Av *ax, const Av *ay, Span at,
                       const char *verb);
/* Broadcasts x to exactly this shape, as an assignment to a part requires.
 * `message` is the error when it does not fit. */
Ref sp_broadcast_into(Sp *sp, Ref x, uint32_t rank, const Dim *shape, Span at, const char *message);
Ref sp_broadcast_to(Sp *sp, Ref x, uint32_t rank, const Dim *shape, Span at, const char *verb);
Av *sp_elementwise(Sp *sp, Op op, uint32_t n, Av *const *args, Span at);
/* [x0, x1, ...]: stacks parts of equal type along a new leading axis. */
Av *sp_stack(Sp *sp, uint32_t n, Av *const *items, Span at);
Av *sp_concat(Sp *sp, uint32_t n, Av *const *items, int axis, Span at);
/* The items of a tuple or list, or the rows of an array of constant extent;
 * false when unknown. */
bool sp_static_items(Sp *sp, Av *v, uint32_t *n, Av ***items);

/* ---- builtins ------------------------------------------------------------ */
struct Builtin {
	const char *name;
	int min_args, max_args; /* -1: any */
	const char *named;      /* "axis keepdims": allowed named arguments */
	Av *(*run)(Sp *sp, const Builtin *self, uint32_t ncaptured, Av *const *captured,
	           const CallArguments *call);
	Op op;           /* for builtins that share `run` */
	const char *doc; /* signature and meaning; NULL: internal */
	/* Handles a dynamic call on the values themselves. It may use up the
	 * reference of an argument, which is then V_UNSET. Returns false if it
	 * cannot, with all arguments; `run` is then specialised for them. */
	bool (*quick)(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result);
	/* Computes on values at run time; `run` then only emits the dynamic
	 * call. */
	NativeFn native;
	void *native_ud;
};
const Builtin *builtin_find(const char *name);
/* True when it takes a function first, and differentiates or batches it. */
bool builtin_derives(const Builtin *b);
/* True when it takes arrays: with a dynamic value it is called at run time. */
bool builtin_waits(const Builtin *b);
/* Visits all builtins, for help and completion. */
void builtin_each(void (*visit)(void *ud, const Builtin *b), void *ud);
Av *call_named(const CallArguments *call, const char *name, Ctx *c); /* NULL when not given */

/* A lambda over the indices of an expression of index notation: one for each
 * expression, owned by the session. */
const Ast *session_index_lambda(Session *s, const Ast *body, uint32_t n, const Atom *names);
/* Where the session keeps the right side of the rule `e`, as a function of
 * these parameters; NULL: not made yet. Valid until the next call. */
const Ast **session_rule_lambda(Session *s, const Ast *e, const Param *params, uint32_t function);
/* The arena for syntax that is made of a node and lives as long. */
Arena *session_tree_of(Session *s, uint32_t node);

/* After a certain failure: the remaining statements of the block do not run and
 * have no value. */
void sp_set_dead(Sp *sp);
bool sp_dead(Sp *sp, const Env *e);

/* suggest.c: "did you mean". Candidates are the names in scope, those of the
 * library, and those added by suggest_name. `root` is the syntax that contains
 * the wrong name at `at` and determines what would fit; NULL: anything fits. */
typedef struct Suggest {
	Sp *sp;
	/* The caller's knowledge of a name: 1 it fits, 0 it does not, -1 none. May
	 * be NULL. */
	int (*local)(void *ud, Atom name);
	void *ud;
	const struct NameUse *use;
	VEC(const char *) names;
} Suggest;
void suggest_name(Suggest *s, const char *name);
const char *suggest_best(Suggest *s, const char *text, const Ast *root, Span at);
bool suggest_fits_value(const Suggest *s, const Av *v);
bool suggest_fits_definition(const Suggest *s, const Ast *fn);
/* rest_arguments.c: calls `visit` for each named argument that fn takes through
 * its `...options`; param is NULL for an argument of a builtin. `find` gives
 * the definition of a name in the text of `in`, or NULL. Returns true when
 * there can be no others. */
typedef const Ast *(*RestFind)(void *ud, const Ast *in, Atom name);
typedef void (*RestVisit)(void *ud, const Param *param, Atom name);
bool rest_each(Ctx *c, const Ast *fn, RestFind find, RestVisit visit, void *ud);
const Ast *rest_find(Session *s, const Ast *in, Atom name); /* a RestFind for code that has run */

/* lint.c: checks of the text alone: names, calls, and warnings. `whole`: all of
 * the text could be parsed. */
void check_program(Session *s, Arena *a, const Program *p, bool whole);

/* free_names.c: the names of a tree. */
/* Names that a loop body may rebind (not inside closures). */
void ast_assigned(Sp *sp, const Ast *e, Atom **names, uint32_t *n);
void ast_free_names(Sp *sp, const Ast *function, Atom **names, uint32_t *n);
/* A break or return that is not inside an inner function; for break, nor inside
 * an inner loop. */
bool ast_leaves_loop(const Ast *body);
bool ast_breaks(const Ast *body); /* a break of this loop */
bool ast_mentions(const Ast *e, Atom name);
/* Visits the children in which the name has the same meaning as around e. */
void ast_children_seeing(const Ast *e, Atom name, void (*visit)(void *ud, const Ast *child),
                         void *ud);

/* ---- strings (builtins/text.c) ------------------------------------------- */

/* text[item]: a character; for a range, characters. */
Av *sp_text_item(Sp *sp, Av *text, Av *item, Span at);
/* True when a value is a list or tuple of strings, or may be one at run time.
 * sp_sort_texts: sort(...) of such a value. */
bool sp_is_texts(const Av *v);
Av *sp_sort_texts(Sp *sp, const CallArguments *call);

#endif
