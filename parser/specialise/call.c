/* call.c - function calls: arguments, annotations, inlining, specialisation,
 * recursion.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - A named function called with the same structure, dtypes, ranks and small
 *   extents is specialised once, whatever the other extents.
 * - A parameter becomes part of the key only when its value determines a shape
 *   or a structure.
 */
#include "lang/passes/rule_check.h"
#include "parser/specialise/internal.h"

#include <stdio.h>

/* Of captured values and arguments, counted through nested tuples and
 * closures. */
#define MAX_PARTS 100000
#define INLINE_NODES 80 /* bodies up to this size are inlined */

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

/* ---- annotations --------------------------------------------------------- */

static _Noreturn void annotation_error(Sp *sp, const char *who, const Ast *type, Av *v, Span at,
                                       const char *why) {
	Diag *d = diag_error(sp->c, E_ANNOTATION, at.source ? at : type->span, "%s is %s%s%s", who,
	                     sp_type_text(sp, v), why[0] ? ", " : "", why);
	diag_second(sp->c, d, type->span, "declared here");
	sp_throw(sp);
}

/* True for an extent's name from the program. Other names are words for
 * messages, which contain a bracket or a blank. */
static bool is_given_length(Ctx *c, Atom name) {
	return name && !strpbrk(atom_text(c, name), " (");
}

static void check_dim(Sp *sp, const char *who, const Ast *type, const Ast *dim, Dim actual, Av *v,
                      Span at) {
	if (!dim) return; /* `_` */
	if (dim->kind == A_NAME && !env_find(sp->env, dim->name.name)) {
		SymId s;
		Fn *f = build_fn(sp->b);
		if (dim_is_sym(sp->c, actual, &s) && s < f->syms.n &&
		    !is_given_length(sp->c, f->syms.at[s].name))
			f->syms.at[s].name = dim->name.name;
		env_set(sp, sp->env, dim->name.name, av_array(sp, build_extent(sp->b, actual)));
		return;
	}
	Av *want = sp_expr(sp, dim);
	Dim wanted = build_dim_of(sp->b, sp_scalar(sp, want, DT_I64, dim->span, "a length"), 0);
	Atom what = atom_f(sp->c, "%s is %s", who, sp_type_text(sp, v));
	if (!build_unify(sp->b, actual, wanted, what)) {
		char text[96];
		dim_print(sp->c, wanted, NULL, NULL, text, sizeof text);
		annotation_error(sp, who, type, v, at,
		                 dim->kind == A_NAME
		                     ? arena_printf(sp->a, "but `%s` stands for %s here",
		                                    atom_text(sp->c, dim->name.name), text)
		                     : arena_printf(sp->a, "but the length is declared as %s", text));
	}
}

/* Unboxes a dynamic value as the declared array. The check, and an implicit
 * conversion, happen at run time. */
static Av *unbox_array(Sp *sp, const char *who, const Ast *type, Av *v, Span at) {
	if (!type->type.has_dtype || type->type.rank == UINT32_MAX) {
		Diag *d = diag_error(sp->c, E_NOT_STATIC, at.source ? at : type->span,
		                     "%s has a type that is known only when it runs, and the declaration "
		                     "leaves dtype or axes open",
		                     who);
		diag_second(sp->c, d, type->span, "declared here");
		diag_hint(sp->c, d, "declare both, as in x: f64[n, m]");
		sp_throw(sp);
	}
	Dim dims[MAX_RANK];
	for (uint32_t i = 0; i < type->type.rank; i++)
		dims[i] = build_fresh_dim(sp->b, 0, build_span(sp->b));
	const TypeId t = type_tensor(sp->c, (Dtype)type->type.dtype, type->type.rank, dims);
	Av *name = av_string(sp, dtype_name((Dtype)type->type.dtype)),
	   *rank = av_int(sp, type->type.rank), *what = av_string(sp, who);
	Av *fit = sp_call_dynamic(sp, av_builtin(sp, "_as_declared", 0, NULL), 4,
	                          (Av *[]){v, name, rank, what}, at);
	sp_at(sp, at);
	return av_array(sp, build_typed(sp->b, OP_UNBOX, 1, &fit->ref,
	                                attr_intern(sp->c, (int64_t[]){t}, 1), 1, &t, NULL));
}

static Av *check_type(Sp *sp, const char *who, const Ast *type, Av *v, Span at) {
	if (type->type.is_function) {
		if (v->kind != AV_FUNCTION) annotation_error(sp, who, type, v, at, "not a function");
		return v;
	}
	if (type->type.is_record) {
		if (v->kind == AV_DYN) { /* field by field */
			Atom *names = ARENA_ARRAY(sp->a, Atom, type->type.nfields + 1);
			Av **fields = ARENA_ARRAY(sp->a, Av *, type->type.nfields + 1);
			for (uint32_t i = 0; i < type->type.nfields; i++) {
				names[i] = type->type.fields[i].name;
				fields[i] =
					sp_call_args(sp, av_builtin(sp, "_field", 0, NULL), 2,
				                 (Av *[]){v, av_string(sp, atom_text(sp->c, names[i]))}, at);
			}
			v = av_record(sp, type->type.nfields, names, fields);
		}
		if (v->kind != AV_RECORD) annotation_error(sp, who, type, v, at, "not a record");
		Av **items = ARENA_ARRAY(sp->a, Av *, v->n ? v->n : 1);
		for (uint32_t i = 0; i < v->n; i++) items[i] = v->items[i];
		for (uint32_t i = 0; i < type->type.nfields; i++) {
			const Param *p = &type->type.fields[i];
			uint32_t k = 0;
			while (k < v->n && v->names[k] != p->name) k++;
			if (k == v->n)
				annotation_error(
					sp, who, type, v, at,
					arena_printf(sp->a, "without the field `%s`", atom_text(sp->c, p->name)));
			if (p->type)
				items[k] =
					check_type(sp, arena_printf(sp->a, "%s.%s", who, atom_text(sp->c, p->name)),
				               p->type, items[k], at);
		}
		return av_record(sp, v->n, v->names, items);
	}
	if (v->kind == AV_DYN && type->type.has_dtype && type->type.rank == 0)
		return av_array(sp, sp_scalar(sp, v, (Dtype)type->type.dtype, at, who));
	if (v->kind == AV_DYN) v = unbox_array(sp, who, type, v, at);
	if (v->kind == AV_RANGE || v->kind == AV_TUPLE || v->kind == AV_LIST)
		v = sp_want_array(sp, v, at, who);
	if (v->kind != AV_ARRAY) annotation_error(sp, who, type, v, at, "not an array");
	Type t = *ty(sp, v->ref);
	if (type->type.rank != UINT32_MAX && t.rank != type->type.rank)
		annotation_error(sp, who, type, v, at,
		                 arena_printf(sp->a, "but %u ax%s wanted", type->type.rank,
		                              type->type.rank == 1 ? "is is" : "es are"));
	if (type->type.has_dtype && t.dtype != type->type.dtype) {
		Dtype want = (Dtype)type->type.dtype;
		const bool yields = v->weak && dtype_kind((Dtype)t.dtype) == dtype_kind(want);
		*session_yielded(sp->session) += yields;
		if (dtype_promote((Dtype)t.dtype, want) != want && !yields)
			annotation_error(
				sp, who, type, v, at,
				arena_printf(sp->a, "which does not become %s by itself", dtype_name(want)));
		v = av_with_origin(sp, av_array(sp, build_convert(sp->b, v->ref, want)), v->origin);
	}
	for (uint32_t i = 0; type->type.rank != UINT32_MAX && i < t.rank; i++)
		check_dim(sp, who, type, type->type.dims[i], build_canon(sp->b, t.dims[i]), v, at);
	return v;
}

/* ---- binding ------------------------------------------------------------- */

static const char *function_name(Sp *sp, const Av *f) {
	return f->text ? arena_printf(sp->a, "`%s`", atom_text(sp->c, f->text)) : "this function";
}

static uint32_t count_required(const Ast *fn) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < fn->function.nparams; i++)
		n += !fn->function.params[i].named && !fn->function.params[i].fallback &&
		     !fn->function.params[i].rest;
	return n;
}
static uint32_t count_positional(const Ast *fn) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < fn->function.nparams; i++) n += !fn->function.params[i].named;
	return n;
}

bool sp_accepts(const Av *f, int64_t n) {
	if (f->code_kind == CODE_BUILTIN) {
		const Builtin *b = f->code;
		/* Derivatives and compositions accept as many arguments as their
		 * function does, at least one. */
		const int64_t least = f->n && b->min_args <= 0 ? 1 : b->min_args;
		return n >= least && (b->max_args < 0 || n <= b->max_args);
	}
	if (f->code_kind == CODE_HOST) return n == ((const HostDef *)f->code)->nargs;
	if (f->code_kind == CODE_IR) return n == kept_ir_nargs(f->code);
	const Ast *fn = f->code;
	bool rest = false;
	for (uint32_t i = 0; i < fn->function.nparams; i++) {
		const Param *p = &fn->function.params[i];
		if (p->named && !p->fallback && !p->rest) return false;
		rest |= p->rest && !p->named;
	}
	return n >= count_required(fn) && (rest || n <= count_positional(fn));
}

static void bind_one(Sp *sp, const Param *p, Av *v, Span at) {
	v = av_named(sp, v);
	if (p->type) v = check_type(sp, atom_text(sp->c, p->name), p->type, v, at);
	if (p->pattern) {
		sp_assign(sp, p->pattern, v, at);
		return;
	}
	if (v->kind == AV_ARRAY && ref_is_value(v->ref)) build_name(sp->b, v->ref, p->name);
	if (at.source) v = av_with_origin(sp, v, at);
	env_set(sp, sp->env, p->name, v);
}

/* Collects the remaining named arguments in a record. It stores the function
 * they were first passed to, because messages name that one. */
static Av *collect_named(Sp *sp, const Av *f, const Ast *fn, const CallArguments *call,
                         bool *used) {
	Av *r = av_record(sp, 0, NULL, NULL);
	r->names = ARENA_ARRAY(sp->a, Atom, call->nnamed + 1);
	r->items = ARENA_ARRAY(sp->a, Av *, call->nnamed + 1);
	r->text = f->text;
	r->code = fn;
	for (uint32_t m = 0; m < call->nnamed; m++) {
		if (used[m]) continue;
		used[m] = true;
		if (call->named_rest && call->named_rest[m]) {
			r->text = call->named_rest[m]->text;
			r->code = call->named_rest[m]->code;
		}
		r->names[r->n] = call->names[m];
		r->items[r->n++] = av_with_origin(sp, av_named(sp, call->named[m]), call->named_spans[m]);
	}
	return r;
}

typedef struct Nearby {
	Sp *sp;
	VEC(const char *) names;
} Nearby;

static const Ast *find_nearby(void *ud, const Ast *in, Atom name) {
	return rest_find(((Nearby *)ud)->sp->session, in, name);
}

static void add_nearby(void *ud, const Param *p, Atom name) {
	Nearby *n = ud;
	(void)p;
	VEC_PUSH(n->sp->a, &n->names, atom_text(n->sp->c, name));
}

/* The message names the function that the argument was first passed to, not the
 * one that it was forwarded to. */
static _Noreturn void unknown_argument(Sp *sp, const Av *f, uint32_t nparams, const Param *params,
                                       const CallArguments *call, uint32_t m) {
	const Av *rest = call->named_rest ? call->named_rest[m] : NULL;
	const Ast *first = rest ? rest->code : NULL;
	Nearby near = {.sp = sp};
	for (uint32_t i = 0; i < nparams; i++) { /* one that has a value is no candidate */
		bool has = params[i].rest || (i < call->n && !params[i].named);
		for (uint32_t k = 0; k < call->nnamed; k++) has |= call->names[k] == params[i].name;
		if (!has) add_nearby(&near, NULL, params[i].name);
	}
	for (uint32_t i = 0; first && i < first->function.nparams; i++)
		if (!first->function.params[i].rest)
			add_nearby(&near, NULL, first->function.params[i].name);
	if (first) rest_each(sp->c, first, find_nearby, add_nearby, &near);
	Av named = *f;
	if (first && rest->text) named.text = rest->text;
	const char *given = atom_text(sp->c, call->names[m]),
			   *best = diag_nearest(given, near.names.at, near.names.n);
	if (best)
		sp_fail(sp, E_NAMED_ARG, call->named_spans[m],
		        "%s has no argument `%s`; did you mean `%s`?", function_name(sp, &named), given,
		        best);
	Diag *d = diag_error(sp->c, E_NAMED_ARG, call->named_spans[m], "%s has no argument `%s`",
	                     function_name(sp, &named), given);
	sp_hint_argument(sp->c, d, named.text ? atom_text(sp->c, named.text) : "", given, near.names.n,
	                 near.names.at);
	sp_throw(sp);
}

/* The arguments from the k-th on, as a tuple. */
static Av *the_others(Sp *sp, const CallArguments *call, uint32_t k) {
	const uint32_t n = call->n > k ? call->n - k : 0;
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		items[i] = av_named(sp, call->args[k + i]);
		if (call->spans[k + i].source) items[i] = av_with_origin(sp, items[i], call->spans[k + i]);
	}
	return av_seq(sp, AV_TUPLE, n, items);
}

/* A function of several arguments is called with one vector, by a derivative or
 * the library. The hint shows how to write it. */
static void hint_one_vector(Sp *sp, Diag *d, const Av *f, const Ast *fn,
                            const CallArguments *call) {
	if (call->n != 1 || !fn) return;
	if (call->rows) diag_hint(sp->c, d, "map takes an array for each argument: map(f, xs, ys)");
	const bool vector = call->args[0]->kind == AV_ARRAY && ty(sp, call->args[0]->ref)->rank == 1;
	if (!call->derived && !(vector && source_is_library(sp->c, call->span.source))) return;
	const char *name = f->text ? atom_text(sp->c, f->text) : "f", *list = "", *values = "";
	for (uint32_t i = 0, k = 0; i < fn->function.nparams; i++) {
		const Param *p = &fn->function.params[i];
		if (p->named || p->rest) continue;
		list = arena_printf(sp->a, "%s%sv[%u]", list, k ? ", " : "", k);
		values = arena_printf(sp->a, "%s%s%s", values, k ? ", " : "",
		                      p->name ? atom_text(sp->c, p->name) : "...");
		k++;
	}
	if (call->derived)
		diag_hint(sp->c, d,
		          "as a function of one vector it is v -> %s(%s); its derivative by one argument "
		          "of several is ∂(%s, i)(%s)",
		          name, list, name, values);
	else diag_hint(sp->c, d, "as a function of one vector it is v -> %s(%s)", name, list);
}

static void bind_arguments(Sp *sp, const Av *f, const Ast *fn, uint32_t nparams,
                           const Param *params, const CallArguments *call) {
	uint32_t k = 0;
	bool *used = ARENA_ARRAY(sp->a, bool, call->nnamed + 1);
	for (uint32_t i = 0; i < nparams; i++) {
		const Param *p = &params[i];
		if (p->rest && p->named) continue;
		if (p->rest) {
			env_set(sp, sp->env, p->name, the_others(sp, call, k));
			k = call->n;
			continue;
		}
		Av *v = NULL;
		Span at = NO_SPAN;
		for (uint32_t m = 0; m < call->nnamed; m++)
			if (call->names[m] == p->name) {
				v = call->named[m];
				at = call->named_spans[m];
				used[m] = true;
			}
		if (!v && !p->named && k < call->n) {
			v = call->args[k];
			at = call->spans[k++];
		}
		if (!v && p->fallback) v = sp_expr(sp, p->fallback);
		if (!v) {
			if (p->named)
				sp_fail(sp, E_ARITY, call->span, "%s needs the named argument `%s`",
				        function_name(sp, f), atom_text(sp->c, p->name));
			uint32_t required = fn ? count_required(fn) : nparams;
			Diag *d = diag_error(
				sp->c, E_ARITY, call->span, "%s takes %s%u argument%s, and %u %s given",
				function_name(sp, f), fn && count_positional(fn) != required ? "at least " : "",
				required, required == 1 ? "" : "s", call->n, call->n == 1 ? "is" : "are");
			if (!source_is_library(sp->c, p->span.source))
				diag_second(sp->c, d, p->span, "`%s` has no value", atom_text(sp->c, p->name));
			for (uint32_t m = 0; m < call->nnamed; m++) {
				bool known = false;
				for (uint32_t j = 0; j < nparams; j++) known |= params[j].name == call->names[m];
				if (known) continue;
				diag_hint(sp->c, d,
				          "there is no argument `%s`; the first ones stand without names: %s, ...",
				          atom_text(sp->c, call->names[m]), atom_text(sp->c, p->name));
				break;
			}
			hint_one_vector(sp, d, f, fn, call);
			sp_throw(sp);
		}
		bind_one(sp, p, v, at);
	}
	if (k < call->n) {
		Diag *d = diag_error(sp->c, E_ARITY, call->spans[k].source ? call->spans[k] : call->span,
		                     "%s takes %u argument%s, and %u are given", function_name(sp, f),
		                     fn ? count_positional(fn) : nparams,
		                     (fn ? count_positional(fn) : nparams) == 1 ? "" : "s", call->n);
		Span head = fn ? fn->function.head : NO_SPAN;
		if (head.source && !source_is_library(sp->c, head.source))
			diag_second(sp->c, d, head, "defined here");
		sp_hint_named(sp->c, d, nparams, params);
		sp_throw(sp);
	}
	for (uint32_t i = 0; i < nparams; i++)
		if (params[i].rest && params[i].named)
			env_set(sp, sp->env, params[i].name, collect_named(sp, f, fn, call, used));
	for (uint32_t m = 0; m < call->nnamed; m++)
		if (!used[m]) unknown_argument(sp, f, nparams, params, call, m);
}

static Av *returned_value(Sp *sp, void *ud) {
	(void)ud;
	return env_find(sp->env, sp_hidden(sp)->retval);
}
static Av *given_value(Sp *sp, void *ud) {
	(void)sp;
	return ud;
}

/* Specialises a function's body in the current builder. */
static Av *run_body(Sp *outer, Av *f, const CallArguments *call) {
	/* The number of nested inlined calls is unbounded, so interrupts and limits
	 * must end this as well. */
	const Status status = ctx_poll(outer->c, 0);
	if (status != ST_OK) ctx_throw(outer->c, status);
	const Ast *fn = f->code;
	Sp sp = *outer;
	sp.env = env_new(&sp, NULL);
	sp.module = session_module_of(sp.session, fn->span.source);
	sp.self = f;
	sp.problem = NULL;
	bool library = source_is_library(sp.c, fn->span.source);
	sp.apart = false;
	/* A failure in a library function is reported at the user's call. */
	if (!library || outer->apart) sp.place = NO_SPAN;
	else if (!source_is_library(sp.c, call->span.source)) sp.place = call->span;
	Inlined here = {outer->inlined, f->code_id, f->text, call->span, fn, call};
	sp.inlined = &here;
	const Hidden *h = sp_hidden(&sp);
	Atom effects[2] = {h->io, h->rng};
	for (int i = 0; i < 2; i++) {
		Av *v = env_find(outer->env, effects[i]);
		if (v) env_set(&sp, sp.env, effects[i], v);
	}
	for (uint32_t i = 0; i < f->n; i++) env_set(&sp, sp.env, f->names[i], f->items[i]);
	if (f->text) env_set(&sp, sp.env, f->text, f);
	bind_arguments(&sp, f, fn, fn->function.nparams, fn->function.params, call);
	const Ast *body = fn->function.body;
	Av *v = body->kind == A_BLOCK ? sp_block(&sp, body->block.n, body->block.items, false)
	                              : sp_expr(&sp, body);
	Av *left = env_find(sp.env, h->ret);
	bool known;
	if (left) {
		if (av_static_bool(&sp, left, &known)) {
			if (known) v = env_find(sp.env, h->retval);
		} else v = sp_branch(&sp, left, returned_value, NULL, given_value, v, fn->span);
	}
	if (fn->function.result && v->kind != AV_UNSET)
		v = check_type(&sp, "the result", fn->function.result, v,
		               body->kind == A_BLOCK && body->block.n
		                   ? body->block.items[body->block.n - 1]->span
		                   : body->span);
	for (int i = 0; i < 2; i++) {
		Av *e = env_find(sp.env, effects[i]);
		if (e) env_set(outer, outer->env, effects[i], e);
	}
	if (sp_dead(&sp, sp.env)) {
		sp_set_dead(outer);
		return av_new(outer, AV_UNSET);
	}
	return v;
}

/* ---- specialisation ------------------------------------------------------ */

/* One function of a family: the values of the demanded leaves are fixed. */
typedef struct FamilyMember {
	const char *baked_key;
	Fn *fn;
	const Av *result;
	bool finished, recursive;
	uint32_t declared_tries;
	Builder *building;
	uint32_t declared_n;
	TypeId *declared; /* result types, known after the trial of a recursive function */
	const Av *declared_result;
	bool yields; /* a literal adopted a narrower dtype in it */
	/* Forms for reverse mode are omitted from it, or may be while it is
	 * built. */
	bool underived;
	bool called_open; /* called in this attempt before it was finished */
	struct Family *family;
	struct FamilyMember *before; /* the member finished before it */
	struct FamilyMember *next;
} FamilyMember;

/* All specialisations for one structure and one set of leaf types. */
struct Family {
	const char *key;
	uint32_t nleaves;
	bool *demanded;
	bool *signs; /* leaves of which it matters whether they may be negative */
	bool effects;
	FamilyMember *members, *forgotten;
	struct Family *next;
};

typedef struct CallKey {
	Sp *sp;
	Text text;
	bool *fixed;    /* by leaf: a constant that is part of the key */
	bool *negative; /* by leaf: not known to be non-negative */
	bool any_row;   /* the current value represents any row of an array */
	uint32_t leaf;
	bool fix_numbers; /* integers and booleans from here on become part of the key */
	VEC(Dim) dims;    /* caller's dims in order of first appearance */
} CallKey;

/* The number of an extent that is not part of the type. */
static uint32_t dim_number(CallKey *s, Dim d) {
	for (uint32_t i = 0; i < s->dims.n; i++)
		if (s->dims.at[i] == d) return i;
	VEC_PUSH(s->sp->a, &s->dims, d);
	return s->dims.n - 1;
}

static bool dim_is_small(Ctx *c, Dim d, int64_t *v) {
	return dim_is_const(c, d, v) && *v <= DIM_SMALL;
}

#define MAX_FOLLOWED 8 /* operations followed from an integer back to its operands */

static bool may_be_negative(const Sp *sp, Ref r, uint32_t depth) {
	const Fn *f = build_fn(sp->b);
	const Const *k = ref_constant(f, r);
	int64_t number;
	if (k) return !(value_as_i64(k->value, &number) && number >= 0);
	if (ref_ty(f, r)->kind != TY_TENSOR || ref_ty(f, r)->dtype == DT_BOOL ||
	    build_is_length(sp->b, r))
		return ref_ty(f, r)->kind != TY_TENSOR;
	for (const Counter *c = sp->counters; c; c = c->outer)
		if (c->b == sp->b && c->index == r) return false;
	const FunctionFrame *fr = sp->frame;
	for (uint32_t i = 0; fr && fr->b == sp->b && i < fr->nleaves; i++)
		if (!fr->baked[i] && fr->params[i] == r) {
			if (!fr->signs[i] && !fr->fixed) {
				fr->asked[i] = true;
				session_set_retry(sp->session, sp->frame);
				ctx_throw(sp->c, ST_ERROR);
			}
			return !fr->signs[i] || fr->negative[i];
		}
	const Inst *in = ref_inst(f, r);
	if (!in || depth > MAX_FOLLOWED) return true;
	const bool first = in->nargs && may_be_negative(sp, inst_arg(f, in, 0), depth + 1);
	switch ((Op)in->op) {
	case OP_ARGMAX:
	case OP_ARGSORT:
	case OP_NONZERO:
	case OP_IOTA:
	case OP_ABS: return false;
	case OP_ADD:
	case OP_MUL:
	case OP_MIN:
	case OP_FLOORDIV: return first || may_be_negative(sp, inst_arg(f, in, 1), depth + 1);
	case OP_MAX: return first && may_be_negative(sp, inst_arg(f, in, 1), depth + 1);
	case OP_MOD: return may_be_negative(sp, inst_arg(f, in, 1), depth + 1);
	case OP_SELECT:
		return may_be_negative(sp, inst_arg(f, in, 1), depth + 1) ||
		       may_be_negative(sp, inst_arg(f, in, 2), depth + 1);
	case OP_CONVERT: return first || dtype_is_inexact((Dtype)ref_ty(f, inst_arg(f, in, 0))->dtype);
	case OP_GATHER:
	case OP_SLICE:
	case OP_RESHAPE:
	case OP_BROADCAST:
	case OP_REDUCE_SUM:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN: return first;
	default: return true;
	}
}

bool sp_may_be_negative(const Sp *sp, Ref r) { return may_be_negative(sp, r, 0); }

/* Adds a character for the kind and then a number, so that adjacent numbers
 * cannot merge. */
static void tag(CallKey *s, char what, uint64_t number) {
	text_add(&s->text, &what, 1);
	text_number(&s->text, number);
}

static void sign_code(CallKey *s, const Av *f) {
	tag(s, 'f', f->code_kind);
	tag(s, '.', f->code_id);
	tag(s, '.', (uint64_t)(uintptr_t)f->code);
}

static void sign(CallKey *s, const Av *v) {
	Sp *sp = s->sp;
	switch ((AvKind)v->kind) {
	case AV_ARRAY: {
		Type t = *ty(sp, v->ref);
		const Const *k = s->fix_numbers && t.rank == 0 && !dtype_is_inexact((Dtype)t.dtype)
		                     ? ref_constant(build_fn(sp->b), v->ref)
		                     : NULL;
		int64_t number = 0;
		bool truth = false;
		if (k && (value_as_bool(k->value, &truth) || value_as_i64(k->value, &number))) {
			s->fixed[s->leaf++] = true;
			text_str(&s->text, dtype_name((Dtype)t.dtype));
			tag(s, '=', t.dtype == DT_BOOL ? truth : (uint64_t)number);
			return;
		}
		const bool whole = t.kind == TY_TENSOR && t.rank == 0 && dtype_is_int((Dtype)t.dtype);
		s->negative[s->leaf] = !whole || s->any_row;
		s->leaf++;
		text_str(&s->text, t.kind == TY_TOKEN ? "token" : dtype_name((Dtype)t.dtype));
		if (v->weak && dtype_is_inexact((Dtype)t.dtype)) text_str(&s->text, "w");
		text_str(&s->text, "[");
		for (uint32_t i = 0; i < t.rank; i++) {
			int64_t k;
			Dim d = build_canon(sp->b, t.dims[i]);
			if (dim_is_small(sp->c, d, &k)) tag(s, ',', (uint64_t)k);
			else tag(s, 'n', dim_number(s, d));
		}
		text_str(&s->text, "]");
		return;
	}
	case AV_DYN:
		s->leaf++;
		text_str(&s->text, "?");
		return;
	case AV_STRING: tag(s, '"', v->text); return;
	case AV_FUNCTION:
	case AV_PROBLEM: sign_code(s, v); break;
	default: tag(s, 'k', v->kind); break;
	}
	text_str(&s->text, "(");
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->names) tag(s, '=', v->names[i]);
		sign(s, v->items[i]);
		text_str(&s->text, ",");
	}
	text_str(&s->text, ")");
}

const Av *av_keep(Arena *a, const Av *v) {
	Av *r = ARENA_NEW(a, Av);
	*r = *v;
	if (v->n) {
		r->items = ARENA_ARRAY(a, Av *, v->n);
		for (uint32_t i = 0; i < v->n; i++) r->items[i] = (Av *)av_keep(a, v->items[i]);
		if (v->names) {
			r->names = ARENA_ARRAY(a, Atom, v->n);
			memcpy(r->names, v->names, sizeof(Atom) * v->n);
		}
	}
	return r;
}

const Av *av_keep_strong(Arena *a, const Av *v) {
	Av *r = (Av *)av_keep(a, v);
	r->weak = false;
	for (uint32_t i = 0; i < v->n; i++) r->items[i] = (Av *)av_keep_strong(a, v->items[i]);
	return r;
}

/* One request: the function and a call, as one list of values. */
typedef struct CallRequest {
	Sp *sp;
	Av *f;
	const CallArguments *call;
	Av *all; /* tuple of f's captured values, positional and named arguments */
	uint32_t nleaves;
	Ref *args;
	struct Family *family;
	FamilyMember *member;
	CallKey sig;
	FunctionFrame frame;
	Builder *b;
	bool trial;
	uint32_t yielded, left_out; /* before this attempt */
	bool underived;             /* nothing differentiates the result */
	Ref *result_refs;
	uint32_t nresults;
	Av *result;
} CallRequest;

static const char *baked_key(CallRequest *j) {
	Sp *sp = j->sp;
	for (uint32_t i = 0; i < j->nleaves; i++)
		if (j->family->signs[i] && !j->family->demanded[i])
			j->sig.negative[i] = j->sig.negative[i] || sp_may_be_negative(sp, j->args[i]);
	Text t;
	text_init(&t, sp->c);
	for (uint32_t i = 0; i < j->nleaves; i++) {
		if (j->family->signs[i] && !j->family->demanded[i]) {
			text_number(&t, i);
			text_str(&t, j->sig.negative[i] ? "-;" : "+;");
		}
		if (!j->family->demanded[i]) continue;
		const Const *k = ref_constant(build_fn(sp->b), j->args[i]);
		if (!k) {
			text_free(&t);
			sp_demand_static(sp, j->args[i], j->call->span, "an argument that decides a shape");
		}
		text_number(&t, i);
		text_str(&t, ":");
		int64_t whole;
		if (value_is_array(k->value) && !dtype_is_inexact(value_dtype(k->value)) &&
		    value_as_i64(k->value, &whole))
			text_number(&t, (uint64_t)whole);
		else value_print(&t, k->value, k->value.kind == V_SCALAR ? "" : ".17g", 0);
		text_str(&t, "/");
		text_number(&t, value_is_array(k->value) ? (uint64_t)value_dtype(k->value) : 99);
		text_str(&t, ";");
	}
	if (t.failed) {
		text_free(&t);
		ctx_throw(sp->c, ST_NOMEM);
	}
	const char *key = arena_copy(ctx_arena(sp->c), t.n ? t.at : "", t.n);
	text_free(&t);
	return key;
}

/* How the program would write a part of an argument: a name, or a field or item
 * of `outer`. Most paths never become text. */
typedef struct Path {
	const struct Path *outer;
	Atom name;
	uint32_t item;
} Path;

static const char *path_text(Arena *a, const Ctx *c, const Path *p) {
	if (!p->outer) return atom_text(c, p->name);
	const char *outer = path_text(a, c, p->outer);
	return p->name ? arena_printf(a, "%s.%s", outer, atom_text(c, p->name))
	               : arena_printf(a, "%s[%u]", outer, p->item);
}

/* Words for the extents of the arguments, for messages when the program gives
 * no names: "len(x)", "rows of p.W". */
typedef struct LengthWords {
	CallRequest *j;
	const Fn *of;
	Atom *words;  /* by number of the extent; 0: none yet */
	Span *places; /* the argument in the call */
	uint32_t leaf;
} LengthWords;

static void word_lengths(LengthWords *w, const Av *v, const Path *path, Span at) {
	Ctx *c = w->j->sp->c;
	if (v->kind == AV_ARRAY || v->kind == AV_DYN) {
		const uint32_t leaf = w->leaf++;
		if (v->kind == AV_DYN || !path || w->j->frame.baked[leaf]) return;
		const Type t = *ref_ty(w->of, w->j->args[leaf]);
		for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++) {
			int64_t small;
			const Dim d = build_canon(w->j->sp->b, t.dims[k]);
			if (dim_is_small(c, d, &small)) continue;
			const uint32_t n = dim_number(&w->j->sig, d);
			if (w->words[n]) continue;
			w->places[n] = at;
			w->words[n] = sp_axis_words(c, path_text(w->j->sp->a, c, path), t.rank, k);
		}
		return;
	}
	for (uint32_t i = 0; i < v->n; i++) {
		const bool part =
			path && (v->kind == AV_RECORD || v->kind == AV_TUPLE || v->kind == AV_LIST);
		const Path inner = {
			.outer = path, .name = part && v->kind == AV_RECORD ? v->names[i] : 0, .item = i};
		word_lengths(w, v->items[i], part ? &inner : path, at);
	}
}

/* The names of a destructured parameter. */
static void word_pattern(LengthWords *w, const Ast *pattern, const Av *v, Span at) {
	const bool fits = pattern->kind == A_TUPLE &&
	                  (v->kind == AV_TUPLE || v->kind == AV_LIST || v->kind == AV_RECORD) &&
	                  pattern->tuple.n == v->n;
	const Path path = {.name = pattern->kind == A_NAME ? pattern->name.name : 0};
	if (!fits) word_lengths(w, v, path.name ? &path : NULL, at);
	for (uint32_t i = 0; fits && i < v->n; i++)
		word_pattern(w, pattern->tuple.items[i], v->items[i], at);
}

static void word_all_lengths(LengthWords *w) {
	const CallRequest *j = w->j;
	const Ast *fn = j->f->kind == AV_FUNCTION && j->f->code_kind == CODE_AST ? j->f->code : NULL;
	for (uint32_t i = 0; i < j->all->n; i++) {
		const uint32_t arg = i - j->f->n;
		Atom name = 0;
		Span at = j->call->span;
		if (i < j->f->n) name = j->f->names[i];
		else if (arg >= j->call->n) {
			name = j->call->names[arg - j->call->n];
			at = j->call->named_spans[arg - j->call->n];
		} else {
			const Param *p = fn && arg < fn->function.nparams && !fn->function.params[arg].named
			                     ? &fn->function.params[arg]
			                     : NULL;
			if (j->call->spans[arg].source) at = j->call->spans[arg];
			if (p && p->pattern) {
				word_pattern(w, p->pattern, j->all->items[i], at);
				continue;
			}
			if (p) name = p->name;
		}
		const Path path = {.name = name};
		word_lengths(w, j->all->items[i], name ? &path : NULL, at);
	}
}

/* Makes parameters of the leaves, then specialises the body. */
static void build_member(Ctx *c, void *arg) {
	CallRequest *j = arg;
	Sp inner = *j->sp;
	Builder *b = inner.b = j->b;
	Sp *outer = j->sp;
	FunctionFrame *fr = &j->frame;
	inner.frame = fr;
	inner.underived = j->underived;
	inner.inlined = NULL;
	inner.place = NO_SPAN;
	inner.apart = true;
	inner.env = env_new(&inner, NULL);
	inner.depth = outer->depth;
	const Fn *of = build_fn(outer->b);
	Ref *refs = ARENA_ARRAY(inner.a, Ref, j->nleaves + 1);
	Dim *map = ARENA_ARRAY(inner.a, Dim, j->sig.dims.n + 1);
	LengthWords words = {.j = j,
	                     .of = of,
	                     .words = ARENA_ARRAY(inner.a, Atom, j->sig.dims.n + 1),
	                     .places = ARENA_ARRAY(inner.a, Span, j->sig.dims.n + 1)};
	word_all_lengths(&words);
	for (uint32_t i = 0; i < j->sig.dims.n; i++) {
		SymId s;
		Atom name =
			dim_is_sym(c, j->sig.dims.at[i], &s) && s < of->syms.n ? of->syms.at[s].name : 0;
		if (!name || !is_given_length(c, name)) name = words.words[i] ? words.words[i] : name;
		map[i] = build_fresh_dim(
			b, name, span_intern(c, words.places[i].source ? words.places[i] : j->call->span));
	}
	for (uint32_t i = 0; i < j->nleaves; i++) {
		if (fr->baked[i]) continue;
		Type t = *ref_ty(of, j->args[i]);
		for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++) {
			int64_t small;
			Dim d = build_canon(outer->b, t.dims[k]);
			t.dims[k] = dim_is_small(c, d, &small) ? d : map[dim_number(&j->sig, d)];
		}
		TypeId type = t.kind == TY_TENSOR ? type_tensor(c, (Dtype)t.dtype, t.rank, t.dims)
		                                  : ref_type(of, j->args[i]);
		refs[i] = fr->params[i] = build_param(b, type, 0);
	}
	const Hidden *h = sp_hidden(outer);
	if (j->family->effects) {
		Dim two = dim_const(c, 2);
		env_set(&inner, inner.env, h->rng,
		        av_array(&inner, build_param(b, type_tensor(c, DT_I64, 1, &two), h->rng)));
		env_set(&inner, inner.env, h->io, av_array(&inner, build_param(b, type_token(c), h->io)));
	}
	for (uint32_t i = 0; i < j->nleaves; i++)
		if (fr->baked[i]) refs[i] = build_const(b, ref_constant(of, j->args[i])->value);
	uint32_t k = 0;
	Av *all = av_rebuild(&inner, j->all, refs, &k);
	for (uint32_t i = 0; i < all->n; i++)
		if (i >= j->f->n && i - j->f->n < j->call->n)
			all->items[i] =
				av_with_origin(&inner, all->items[i], j->call->args[i - j->f->n]->origin);
	Av *f = ARENA_NEW(inner.a, Av);
	*f = *j->f;
	f->items = all->items;
	CallArguments call = *j->call;
	call.args = all->items + j->f->n;
	call.named = all->items + j->f->n + call.n;
	Av *v = f->code_kind == CODE_AST ? run_body(&inner, f, &call) : sp_call(&inner, f, &call);
	j->nresults = av_count_leaves(v);
	j->result_refs = ARENA_ARRAY(inner.a, Ref, j->nresults + 2);
	k = 0;
	av_leaves(v, j->result_refs, &k);
	if (j->family->effects) {
		j->result_refs[j->nresults++] = env_find(inner.env, h->rng)->ref;
		j->result_refs[j->nresults++] = env_find(inner.env, h->io)->ref;
	}
	j->result = v;
}

/* True when the results have the structure and types that a recursive function
 * promised. */
static bool keeps_promise(CallRequest *j) {
	FamilyMember *m = j->member;
	if (m->declared_n != j->nresults || !av_same_structure(m->declared_result, j->result))
		return false;
	for (uint32_t i = 0; i < j->nresults; i++)
		if (!build_same_type(j->b, m->declared[i], ref_type(build_fn(j->b), j->result_refs[i])))
			return false;
	return true;
}

static void make_promise(CallRequest *j) {
	FamilyMember *m = j->member;
	Ctx *c = j->sp->c;
	m->declared_n = j->nresults;
	m->declared = ARENA_ARRAY(ctx_arena(c), TypeId, j->nresults + 1);
	for (uint32_t i = 0; i < j->nresults; i++)
		m->declared[i] = build_canon_type(j->b, ref_type(build_fn(j->b), j->result_refs[i]));
	/* The promise must hold for every call. */
	m->declared_result = av_keep_strong(ctx_arena(c), j->result);
}

static void forget_member(FamilyMember *gone) {
	for (FamilyMember **p = &gone->family->members; *p; p = &(*p)->next)
		if (*p == gone) {
			*p = gone->next;
			return;
		}
}

/* A failed attempt also discards the members finished during it, if its
 * function was called: their calls refer to a function that will not exist. */
static void abandon(CallRequest *j, const FamilyMember *mark) {
	build_abandon(j->b);
	FamilyMember **last = session_finished(j->sp->session);
	for (; j->member->called_open && *last && *last != mark; *last = (*last)->before) {
		FamilyMember *m = *last;
		forget_member(m);
		m->next = m->family->forgotten;
		m->family->forgotten = m;
	}
	j->member->called_open = false;
}

/* One attempt; returns true when the member is finished. */
static bool attempt(CallRequest *j) {
	Sp *sp = j->sp;
	Ctx *c = sp->c;
	const FamilyMember *finished_before = *session_finished(sp->session);
	j->frame = (FunctionFrame){.outer = sp->frame,
	                           .nleaves = j->nleaves,
	                           .args = j->args,
	                           .code_id = j->f->code_id,
	                           .call = j->call->span,
	                           .inlined = sp->inlined,
	                           .signs = j->family->signs,
	                           .negative = j->sig.negative,
	                           .trial = j->trial};
	j->frame.params = ARENA_ARRAY(sp->a, Ref, j->nleaves + 1);
	j->frame.demanded = ARENA_ARRAY(sp->a, bool, j->nleaves + 1);
	j->frame.asked = ARENA_ARRAY(sp->a, bool, j->nleaves + 1);
	j->frame.baked = ARENA_ARRAY(sp->a, bool, j->nleaves + 1);
	for (uint32_t i = 0; i < j->nleaves; i++) j->frame.baked[i] = j->family->demanded[i];
	j->b = build_begin(c, j->f->text,
	                   span_intern(c, j->f->code_kind == CODE_AST ? ((const Ast *)j->f->code)->span
	                                                              : j->call->span),
	                   NULL);
	j->frame.b = j->b;
	j->yielded = *session_yielded(sp->session);
	j->left_out = *session_left_out(sp->session);
	j->member->building = j->b;
	uint32_t mark = diag_total(c);
	Status s = ctx_protect(c, build_member, j);
	j->member->building = NULL;
	if (s != ST_OK) {
		abandon(j, finished_before);
		if (session_retry(sp->session) == &j->frame) {
			session_set_retry(sp->session, NULL);
			diag_truncate(c, mark);
			for (uint32_t i = 0; i < j->nleaves; i++) {
				j->family->demanded[i] |= j->frame.demanded[i];
				j->family->signs[i] |= j->frame.asked[i];
			}
			if (j->frame.wants_effects) {
				j->family->effects = true;
				j->member->declared = NULL; /* the promise without effects has other results */
			}
			if (j->frame.wants_trial) j->member->recursive = true;
			return false;
		}
		const Builder *bottom = session_take_bottom(sp->session);
		if (bottom && bottom == j->b)
			sp_fail(sp, E_DEPTH, j->call->span,
			        "%s calls itself on every path: nothing ends the recursion",
			        function_name(sp, j->f));
		session_set_bottom(sp->session, bottom);
		if (s == ST_ERROR) sp_left_library(sp, mark, j->call->span);
		ctx_throw(c, s);
	}
	if (j->member->recursive) {
		if (!j->member->declared || !keeps_promise(j)) {
			bool first = !j->member->declared;
			if (!first && j->member->declared_n == j->nresults && ++j->member->declared_tries > 3) {
				abandon(j, finished_before);
				sp_fail(sp, E_CARRY, j->call->span,
				        "the type of what %s returns changes from call to call",
				        function_name(sp, j->f));
			}
			make_promise(j);
			abandon(j, finished_before);
			j->trial = false;
			return false;
		}
	}
	FamilyMember *m = j->member;
	m->result =
		m->recursive ? av_keep_strong(ctx_arena(c), j->result) : av_keep(ctx_arena(c), j->result);
	m->yields = *session_yielded(sp->session) != j->yielded;
	m->underived = *session_left_out(sp->session) != j->left_out;
	m->fn = build_end(j->b, j->nresults, j->result_refs);
	if (!m->recursive) {
		Fn *plain = m->fn;
		m->fn = NULL;
		m->fn = ir_services(c)->optimise(c, plain);
	}
	m->finished = true;
	m->called_open = false;
	FamilyMember **last = session_finished(sp->session);
	m->before = *last;
	*last = sp->frame ? m : NULL; /* none is under construction any more */
	session_count_specialised(j->sp->session);
	return true;
}

static FamilyMember *find_member(CallRequest *j, const char *key) {
	for (FamilyMember *m = j->family->members; m; m = m->next)
		if (!strcmp(m->baked_key, key) && (j->underived || !m->underived)) return m;
	return NULL;
}

struct job_run {
	CallRequest *j;
	bool done;
};
static void attempt_protected(Ctx *c, void *arg) {
	(void)c;
	struct job_run *r = arg;
	r->done = attempt(r->j);
}

typedef struct KeyJob {
	CallRequest *j;
	Av *const *items;
	uint32_t n;
	const char *key;
} KeyJob;

static void write_key(Ctx *c, void *arg) {
	KeyJob *k = arg;
	CallKey *sig = &k->j->sig;
	const Av *f = k->j->f;
	const CallArguments *call = k->j->call;
	sign_code(sig, f);
	tag(sig, '/', call->n);
	for (uint32_t i = 0; i < f->n; i++) tag(sig, ',', f->names[i]);
	for (uint32_t i = 0; i < call->nnamed; i++) tag(sig, '=', call->names[i]);
	text_str(&sig->text, ";");
	/* Integers inside structures and closures are sizes, orders and choices:
	 * known ones belong to the key. Integers passed directly to a named
	 * function are data until a shape depends on them. */
	bool named = f->code_kind == CODE_AST && ((const Ast *)f->code)->kind == A_DEF;
	for (uint32_t i = 0; i < k->n; i++) {
		bool row = call->rows && i >= f->n && i < f->n + call->n;
		sig->any_row = row;
		sig->fix_numbers = !row && !(named && i >= f->n && k->items[i]->kind == AV_ARRAY);
		sign(sig, k->items[i]);
		text_str(&sig->text, ";");
	}
	if (sig->text.failed) ctx_throw(c, ST_NOMEM);
	k->key = arena_copy(k->j->sp->a, sig->text.at, sig->text.n);
}

/* Counts the parts of a value up to a limit, because nested closures can refer
 * to more parts than fit in memory. */
static uint32_t count_parts(const Av *v, uint32_t limit) {
	uint32_t n = 1;
	for (uint32_t i = 0; i < v->n && n < limit; i++) n += count_parts(v->items[i], limit - n);
	return n;
}

static void check_parts(Sp *sp, Av *f, const CallArguments *call) {
	uint32_t left = MAX_PARTS;
	for (uint32_t i = 0; i < f->n; i++) left -= left ? count_parts(f->items[i], left) : 0;
	for (uint32_t i = 0; i < call->n; i++) left -= left ? count_parts(call->args[i], left) : 0;
	if (!left)
		sp_fail(sp, E_NESTING, call->span, "the arguments of %s have too many parts",
		        function_name(sp, f));
}

static Specialisation specialise(Sp *sp, Av *f, const CallArguments *call, bool underived) {
	check_parts(sp, f, call);
	CallRequest j = {.sp = sp, .f = f, .call = call, .underived = underived};
	uint32_t n = f->n + call->n + call->nnamed;
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < f->n; i++) items[i] = av_named(sp, f->items[i]);
	for (uint32_t i = 0; i < call->n; i++) items[f->n + i] = av_named(sp, call->args[i]);
	for (uint32_t i = 0; i < call->nnamed; i++)
		items[f->n + call->n + i] = av_named(sp, call->named[i]);
	j.all = av_seq(sp, AV_TUPLE, n, items);
	j.nleaves = av_count_leaves(j.all);
	j.args = ARENA_ARRAY(sp->a, Ref, j.nleaves + 2);
	uint32_t k = 0;
	av_leaves(j.all, j.args, &k);
	j.sig.sp = sp;
	j.sig.fixed = ARENA_ARRAY(sp->a, bool, j.nleaves + 1);
	j.sig.negative = ARENA_ARRAY(sp->a, bool, j.nleaves + 1);
	KeyJob kj = {.j = &j, .items = items, .n = n};
	text_init(&j.sig.text, sp->c);
	Status made = ctx_protect(sp->c, write_key, &kj);
	text_free(&j.sig.text);
	if (made != ST_OK) ctx_throw(sp->c, made);
	const char *key = kj.key;
	struct Family *fam = session_find_family(sp->session, key);
	if (!fam) {
		fam = ARENA_NEW(ctx_arena(sp->c), struct Family);
		fam->key = arena_copy(ctx_arena(sp->c), key, strlen(key));
		fam->nleaves = j.nleaves;
		fam->demanded = ARENA_ARRAY(ctx_arena(sp->c), bool, j.nleaves + 1);
		fam->signs = ARENA_ARRAY(ctx_arena(sp->c), bool, j.nleaves + 1);
		for (uint32_t i = 0; i < j.nleaves; i++) fam->demanded[i] = j.sig.fixed[i];
		session_add_family(sp->session, fam, fam->key);
	}
	j.family = fam;
	for (;;) {
		const char *bk = baked_key(&j);
		FamilyMember *m = find_member(&j, bk);
		if (m && m->finished) {
			j.member = m;
			break;
		}
		if (m) { /* under construction: a recursive call */
			if (!m->recursive) {
				for (FunctionFrame *fr = sp->frame; fr; fr = fr->outer)
					if (fr->b == m->building) {
						fr->wants_trial = true;
						session_set_retry(sp->session, fr);
						ctx_throw(sp->c, ST_ERROR);
					}
				sp_fail(sp, E_INTERNAL, call->span, "a recursive call without its function");
			}
			if (!m->declared) {
				session_set_bottom(sp->session, m->building);
				ctx_throw(sp->c, ST_ERROR);
			}
			m->called_open = true;
			j.member = m;
			break;
		}
		m = ARENA_NEW(ctx_arena(sp->c), FamilyMember);
		m->baked_key = bk;
		m->family = fam;
		m->underived = underived;
		m->next = fam->members;
		fam->members = m;
		j.member = m;
		bool finished = false;
		uint32_t demanded_before = 0, demanded_after = 0;
		for (uint32_t i = 0; i < j.nleaves; i++)
			demanded_before += fam->demanded[i] + fam->signs[i];
		while (!finished) {
			j.trial = m->recursive && !m->declared;
			struct job_run r = {&j, false};
			Status s = ctx_protect(sp->c, attempt_protected, &r);
			if (s != ST_OK) {
				forget_member(m);
				ctx_throw(sp->c, s);
			}
			finished = r.done;
			demanded_after = 0;
			for (uint32_t i = 0; i < j.nleaves; i++)
				demanded_after += fam->demanded[i] + fam->signs[i];
			if (!finished && demanded_after != demanded_before) break; /* another key */
		}
		if (finished) break;
		forget_member(m);
	}
	Specialisation r = {.effects = fam->effects, .nleaves = j.nleaves};
	FamilyMember *m = j.member;
	*session_yielded(sp->session) += m->yields;
	*session_left_out(sp->session) += m->underived;
	r.fn = m->finished ? m->fn : build_fn(m->building);
	r.result = m->finished ? m->result : m->declared_result;
	if (!m->finished) {
		r.promised = m->declared;
		r.npromised = m->declared_n;
	}
	r.args = ARENA_ARRAY(sp->a, Ref, j.nleaves + 2);
	r.param_of_leaf = ARENA_ARRAY(sp->a, int, j.nleaves + 1);
	for (uint32_t i = 0; i < j.nleaves; i++) {
		r.param_of_leaf[i] = fam->demanded[i] ? -1 : (int)r.nargs;
		if (!fam->demanded[i]) r.args[r.nargs++] = j.args[i];
	}
	return r;
}

Specialisation sp_specialise(Sp *sp, Av *f, const CallArguments *call) {
	return specialise(sp, f, call, false);
}

Specialisation sp_specialise_underived(Sp *sp, Av *f, const CallArguments *call) {
	return specialise(sp, f, call, true);
}

void family_release(struct Family *fam) {
	for (FamilyMember *m = fam->members; m; m = m->next)
		if (m->fn) fn_unref(m->fn);
	for (FamilyMember *m = fam->forgotten; m; m = m->next)
		if (m->fn) fn_unref(m->fn);
	fam->members = fam->forgotten = NULL;
}

/* Emits a call of a function that is still being built. The promised result
 * types are in its own symbols. */
static void emit_recursive_call(Sp *sp, Fn *fn, uint32_t nargs, const Ref *args, uint32_t n,
                                const TypeId *promised, Ref *results) {
	uint32_t nsyms = fn->syms.n;
	Dim *map = ARENA_ARRAY(sp->a, Dim, nsyms + 1);
	for (uint32_t s = 0; s < nsyms; s++) map[s] = UINT32_MAX;
	for (uint32_t i = 0; i < nargs; i++) {
		Type p = *ref_ty(fn, fn_param(fn, i));
		for (uint32_t k = 0; p.kind == TY_TENSOR && k < p.rank; k++) {
			SymId s;
			if (dim_is_sym(sp->c, p.dims[k], &s) && s < nsyms && map[s] == UINT32_MAX)
				map[s] = build_canon(sp->b, ty(sp, args[i])->dims[k]);
		}
	}
	for (uint32_t s = 0; s < nsyms; s++)
		if (map[s] == UINT32_MAX) map[s] = build_fresh_dim(sp->b, 0, build_span(sp->b));
	TypeId *types = ARENA_ARRAY(sp->a, TypeId, n + 1);
	for (uint32_t i = 0; i < n; i++) types[i] = type_subst(sp->c, promised[i], map, nsyms);
	int64_t word = fn->id;
	build_typed(sp->b, OP_CALL, nargs, args, attr_intern(sp->c, &word, 1), n, types, results);
}

void sp_emit_call(Sp *sp, Fn *fn, uint32_t nargs, const Ref *args, bool effects, Ref *results) {
	Ref *all = ARENA_ARRAY(sp->a, Ref, nargs + 2);
	for (uint32_t i = 0; i < nargs; i++) all[i] = args[i];
	if (effects) sp_effects(sp, &all[nargs], &all[nargs + 1], NO_SPAN);
	build_call(sp->b, fn, nargs + (effects ? 2 : 0), all, results);
}

/* Results that are parameters or constants of the function are replaced by the
 * caller's values. */
static void see_through(Sp *sp, const Specialisation *s, uint32_t n, Ref *results) {
	for (uint32_t i = 0; i < n; i++) {
		Ref r = fn_result(s->fn, i);
		const Const *k = ref_constant(s->fn, r);
		if (k && k->value.kind == V_SCALAR) results[i] = build_const(sp->b, k->value);
		for (uint32_t p = 0; p < s->nargs; p++)
			if (r == fn_param(s->fn, p)) results[i] = s->args[p];
	}
}

Av *sp_failed(Sp *sp, const Specialisation *s, Span at) {
	Ref results[2];
	sp_at(sp, at);
	sp_emit_call(sp, s->fn, s->nargs, s->args, s->effects, results);
	if (s->effects) sp_set_effects(sp, results[0], results[1]);
	sp_set_dead(sp);
	return av_new(sp, AV_UNSET);
}

static Av *call_specialised(Sp *sp, Av *f, const CallArguments *call) {
	Specialisation s = specialise(sp, f, call, sp->underived);
	uint32_t n = av_count_leaves(s.result), k = 0;
	Ref *results = ARENA_ARRAY(sp->a, Ref, n + 2);
	sp_at(sp, call->span);
	if (s.promised) {
		Ref *all = ARENA_ARRAY(sp->a, Ref, s.nargs + 2);
		for (uint32_t i = 0; i < s.nargs; i++) all[i] = s.args[i];
		if (s.effects) sp_effects(sp, &all[s.nargs], &all[s.nargs + 1], call->span);
		emit_recursive_call(sp, s.fn, s.nargs + (s.effects ? 2 : 0), all, s.npromised, s.promised,
		                    results);
	} else sp_emit_call(sp, s.fn, s.nargs, s.args, s.effects, results);
	if (s.effects) sp_set_effects(sp, results[n], results[n + 1]);
	if (s.result->kind == AV_UNSET) sp_set_dead(sp);
	if (!s.promised) see_through(sp, &s, n, results);
	return av_rebuild(sp, s.result, results, &k);
}

/* ---- calls --------------------------------------------------------------- */

static void count_node(void *ud, const Ast *child) {
	uint32_t *n = ud;
	if (++*n > INLINE_NODES) return;
	ast_children(child, count_node, n);
}

static bool has_code(const Av *v) {
	if (v->kind == AV_FUNCTION || v->kind == AV_PROBLEM) return true;
	for (uint32_t i = 0; i < v->n; i++)
		if (has_code(v->items[i])) return true;
	return false;
}

static bool is_active(const Sp *sp, uint32_t code_id) {
	for (const Inlined *i = sp->inlined; i; i = i->outer)
		if (i->code_id == code_id) return true;
	for (const FunctionFrame *f = sp->frame; f; f = f->outer)
		if (f->code_id == code_id) return true;
	return false;
}

/* The rule that the module defines for exactly this function, or NULL. */
static const Ast *rule_of(Sp *sp, const Av *f) {
	const Ast *fn = f->code;
	if (fn->kind != A_DEF || sp->session_inline_only) return NULL;
	Module *m = session_module_of(sp->session, fn->span.source);
	const Ast *rule = session_rule_of(sp->session, m, f->text);
	if (!rule) return NULL;
	Value g = session_own_global(m, f->text);
	return g.kind == V_FUNCTION && ((const FunctionObject *)g.object)->code == f->code ? rule
	                                                                                   : NULL;
}

Av *sp_keep_rule(Sp *sp, Av *f) {
	if (f->kind != AV_FUNCTION || f->code_kind != CODE_AST || !rule_of(sp, f)) return f;
	Av *call = av_builtin(sp, "_call", 1, &f);
	call->text = f->text;
	return call;
}

static Av *call_ast(Sp *sp, Av *f, const CallArguments *call) {
	const Ast *fn = f->code;
	bool simple = fn->kind == A_DEF && !sp->session_inline_only;
	for (uint32_t i = 0; simple && i < f->n; i++) simple = !has_code(f->items[i]);
	for (uint32_t i = 0; simple && i < call->n; i++) simple = !has_code(call->args[i]);
	for (uint32_t i = 0; simple && i < call->nnamed; i++) simple = !has_code(call->named[i]);
	/* The same code is active in an outer call: a recursion, or a higher-order
	 * function inside its own argument. A separate function serves it. A
	 * function with a rule keeps its rule here, such as an integral of
	 * integrals. */
	const Ast *rule = rule_of(sp, f);
	bool of_functions = false;
	for (uint32_t i = 0; i < call->n; i++) of_functions |= has_code(call->args[i]);
	if (is_active(sp, f->code_id) && !(rule && of_functions)) {
		if (++sp->recursion > 64)
			sp_fail(sp, E_NESTING, call->span, "%s calls itself with ever new kinds of arguments",
			        function_name(sp, f));
		Av *v = call_specialised(sp, f, call);
		sp->recursion--;
		return v;
	}
	if (rule) return sp_call_ruled(sp, f, call, rule);
	uint32_t nodes = 0;
	if (simple) ast_children(fn, count_node, &nodes);
	if (simple && (nodes > INLINE_NODES || !sp->self)) return call_specialised(sp, f, call);
	return run_body(sp, f, call);
}

Av *sp_call_host(Sp *sp, Av *f, const CallArguments *call) {
	const HostDef *def = f->code;
	if (call->nnamed)
		sp_fail(sp, E_NAMED_ARG, call->named_spans[0], "`%s` takes no named arguments", def->name);
	Ref *args = ARENA_ARRAY(sp->a, Ref, call->n + 1), results[8];
	for (uint32_t i = 0; i < call->n; i++) {
		Av *a = sp_want_array(sp, call->args[i], call->spans[i], def->name);
		args[i] = a->ref;
	}
	sp_at(sp, call->span);
	const HostId id = host_call_intern(sp->c, def, 0, NULL, 0, NULL);
	if (def->jvp && rule_check_mode(sp->c) != RULES_TRUSTED)
		rule_check_emit(sp->b, id, call->n, args, NULL, NO_SPAN);
	uint32_t n = build_host(sp->b, id, call->n, args, results, 8);
	if (n == 1) return av_array(sp, results[0]);
	Av *items[8];
	for (uint32_t i = 0; i < n; i++) items[i] = av_array(sp, results[i]);
	return n ? av_seq(sp, AV_TUPLE, n, items) : av_none(sp);
}

/* A host function may have a rule of the program, like any function. It
 * precedes the host's own derivative. */
static Av *call_host(Sp *sp, Av *f, const CallArguments *call) {
	Module *m = session_main(sp->session);
	const Ast *rule = session_rule_of(sp->session, m, f->text);
	Value g = session_own_global(m, f->text);
	if (!rule || g.kind != V_FUNCTION || ((const FunctionObject *)g.object)->code != f->code)
		return sp_call_host(sp, f, call);
	Av *plain = av_builtin(sp, "_without_rule", 1, &f);
	plain->text = f->text;
	return sp_call_ruled(sp, plain, call, rule);
}

Av *sp_call_dynamic(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at) {
	Ref *all = ARENA_ARRAY(sp->a, Ref, n + 3), results[3];
	Ref rng, io;
	sp_effects_of_dynamic(sp, &rng, &io, at);
	all[0] = io;
	all[1] = rng;
	all[2] = sp_box(sp, f);
	for (uint32_t i = 0; i < n; i++) all[3 + i] = sp_box(sp, args[i]);
	Dim two = dim_const(sp->c, 2);
	TypeId types[3] = {type_token(sp->c), type_tensor(sp->c, DT_I64, 1, &two), type_dyn(sp->c)};
	if (at.source) sp_at(sp, at);
	build_typed(sp->b, OP_DYNAMIC, n + 3, all, 0, 3, types, results);
	sp_set_effects(sp, results[1], results[0]);
	return av_dyn(sp, results[2]);
}

static Av *call_problem(Sp *sp, Av *f, const CallArguments *call) {
	const Ast *e = f->code;
	Sp inner = *sp;
	inner.env = env_new(&inner, NULL);
	inner.module = session_module_of(sp->session, e->span.source);
	inner.self = f;
	for (uint32_t i = 0; i < f->n; i++) env_set(&inner, inner.env, f->names[i], f->items[i]);
	bind_arguments(&inner, f, NULL, e->problem->nparams, e->problem->params, call);
	/* The captured values and the bound parameters. */
	Atom *names = ARENA_ARRAY(sp->a, Atom, inner.env->vars.n + 1);
	Av **items = ARENA_ARRAY(sp->a, Av *, inner.env->vars.n + 1);
	for (uint32_t i = 0; i < inner.env->vars.n; i++) {
		names[i] = inner.env->vars.at[i].name;
		items[i] = inner.env->vars.at[i].value;
	}
	Av *r =
		av_function(sp, CODE_AST, f->code_id, f->code, f->text, inner.env->vars.n, names, items);
	r->kind = AV_PROBLEM;
	return r;
}

static _Noreturn void unknown_named(Sp *sp, const Builtin *b, const char *name, Span at) {
	const char *names[16];
	uint32_t n = 0;
	for (const char *p = b->named ? b->named : ""; *p && n < 16;) {
		size_t k = strcspn(p, " ");
		names[n++] = arena_copy(sp->a, p, k);
		p += k + (p[k] == ' ');
	}
	const char *best = diag_nearest(name, names, n);
	if (best)
		sp_fail(sp, E_NAMED_ARG, at, "`%s` has no argument `%s`; did you mean `%s`?", b->name, name,
		        best);
	sp_hint_argument(sp->c,
	                 diag_error(sp->c, E_NAMED_ARG, at, "`%s` has no argument `%s`", b->name, name),
	                 b->name, name, n, names);
	sp_throw(sp);
}

/* A builtin of arrays with a dynamic argument is called at run time. */
static Av *call_builtin_later(Sp *sp, Av *f, const CallArguments *call) {
	if (call->nnamed) {
		Av *named = av_record(sp, call->nnamed, call->names, call->named);
		f = av_builtin(sp, "_with_named", 2, (Av *[]){f, named});
	}
	return sp_call_dynamic(sp, f, call->n, call->args, call->span);
}

Av *sp_call(Sp *sp, Av *f, const CallArguments *call) {
	/* An argument without a value: an earlier failure is certain. */
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_UNSET) return call->args[i];
	if (f->kind == AV_UNSET) return f;
	if (f->kind == AV_PROBLEM) return call_problem(sp, f, call);
	if (f->kind == AV_DYN) {
		if (call->nnamed)
			sp_fail(sp, E_NAMED_ARG, call->named_spans[0],
			        "a function known only at run time takes positional arguments");
		return sp_call_dynamic(sp, f, call->n, call->args, call->span);
	}
	if (f->kind != AV_FUNCTION) {
		Diag *d = diag_error(sp->c, E_NOT_CALLABLE,
		                     call->callee_span.source ? call->callee_span : call->span,
		                     "this is %s, not a function", sp_type_text(sp, f));
		/* sum = 0, and then sum(x) */
		size_t n;
		const char *text = source_text(sp->c, call->callee_span.source, &n);
		Span at = call->callee_span;
		const char *name =
			at.source && at.end <= n
				? arena_printf(sp->a, "%.*s", (int)(at.end - at.start), text + at.start)
				: "";
		const Builtin *b = builtin_find(name);
		bool hides = (b && b->doc) || session_in_library(sp->session, atom(sp->c, name));
		if (hides)
			diag_hint(sp->c, d,
			          "a variable of this program hides the library's `%s`: give it another name",
			          name);
		else if (f->kind == AV_ARRAY)
			diag_hint(sp->c, d, "x[i] takes an element; a product is written with *");
		if (f->origin.source && !source_is_library(sp->c, f->origin.source))
			diag_second(sp->c, d, f->origin, "%s came from here", sp_type_text(sp, f));
		sp_throw(sp);
	}
	switch ((CodeKind)f->code_kind) {
	case CODE_AST: return call_ast(sp, f, call);
	case CODE_HOST: return call_host(sp, f, call);
	case CODE_IR: return sp_call_ir(sp, f, call);
	case CODE_BUILTIN: break;
	}
	const Builtin *b = f->code;
	if ((b->min_args >= 0 && (int)call->n < b->min_args) ||
	    (b->max_args >= 0 && (int)call->n > b->max_args)) {
		if (b->min_args == b->max_args) {
			Diag *d = diag_error(sp->c, E_ARITY, call->span,
			                     "`%s` takes %d argument%s, and %u %s given", b->name, b->min_args,
			                     b->min_args == 1 ? "" : "s", call->n, call->n == 1 ? "is" : "are");
			if ((int)call->n > b->max_args && b->named && *b->named != '*')
				diag_hint(sp->c, d, "by name it takes %s", b->named);
			sp_throw(sp);
		}
		if (b->max_args < 0)
			sp_fail(sp, E_ARITY, call->span, "`%s` takes at least %d argument%s, and %u %s given",
			        b->name, b->min_args, b->min_args == 1 ? "" : "s", call->n,
			        call->n == 1 ? "is" : "are");
		sp_fail(sp, E_ARITY, call->span, "`%s` takes %d to %d arguments, and %u %s given", b->name,
		        b->min_args, b->max_args, call->n, call->n == 1 ? "is" : "are");
	}
	for (uint32_t i = 0; i < call->nnamed; i++) {
		const char *name = atom_text(sp->c, call->names[i]), *p = b->named ? b->named : "";
		size_t len = strlen(name);
		bool found = *p == '*';
		while (!found && *p) {
			size_t k = strcspn(p, " ");
			found = k == len && !strncmp(p, name, k);
			p += k + (p[k] == ' ');
		}
		if (!found) unknown_named(sp, b, name, call->named_spans[i]);
	}
	if (builtin_waits(b))
		for (uint32_t i = 0; i < call->n; i++)
			if (call->args[i]->kind == AV_DYN) return call_builtin_later(sp, f, call);
	return b->run(sp, b, f->n, f->items, call);
}

Av *sp_call_args(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at) {
	Span *spans = ARENA_ARRAY(sp->a, Span, n + 1);
	for (uint32_t i = 0; i < n; i++) spans[i] = at;
	CallArguments call = {
		.span = at, .callee_span = at, .n = n, .args = (Av **)args, .spans = spans};
	return sp_call(sp, f, &call);
}

Av *sp_call_library(Sp *sp, const char *name, uint32_t n, Av *const *args, Span at) {
	return sp_call_args(sp, av_of_value(sp, session_library(sp->session, atom(sp->c, name))), n,
	                    args, at);
}

Av *call_named(const CallArguments *call, const char *name, Ctx *c) {
	for (uint32_t i = 0; i < call->nnamed; i++)
		if (!strcmp(atom_text(c, call->names[i]), name)) return call->named[i];
	return NULL;
}
