/* arguments.c - binds the arguments of a call to the parameters of a function,
 * and checks them against its annotations.
 *
 * Needs: call.h.
 *
 * Contract:
 * - A name of an extent in an annotation is bound where it first appears. Later
 *   it must be that extent.
 * - A value known only at run time is checked and converted when it runs.
 * - Messages about options name the function that these were first passed to.
 */
#include "parser/specialise/call.h"

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
bool sp_is_given_length(Ctx *c, Atom name) { return name && !strpbrk(atom_text(c, name), " ("); }

static void check_dim(Sp *sp, const char *who, const Ast *type, const Ast *dim, Dim actual, Av *v,
                      Span at) {
	if (!dim) return; /* `_` */
	if (dim->kind == A_NAME && !env_find(sp->env, dim->name.name)) {
		SymId s;
		Fn *f = build_fn(sp->b);
		if (dim_is_sym(sp->c, actual, &s) && s < f->syms.n &&
		    !sp_is_given_length(sp->c, f->syms.at[s].name))
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

Av *sp_check_type(Sp *sp, const char *who, const Ast *type, Av *v, Span at) {
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
					sp_check_type(sp, arena_printf(sp->a, "%s.%s", who, atom_text(sp->c, p->name)),
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

const char *sp_function_name(Sp *sp, const Av *f) {
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

Av *call_named(const CallArguments *call, const char *name, Ctx *c) {
	for (uint32_t i = 0; i < call->nnamed; i++)
		if (!strcmp(atom_text(c, call->names[i]), name)) return call->named[i];
	return NULL;
}

static void bind_one(Sp *sp, const Param *p, Av *v, Span at) {
	v = av_named(sp, v);
	if (p->type) v = sp_check_type(sp, atom_text(sp->c, p->name), p->type, v, at);
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
		        "%s has no argument `%s`; did you mean `%s`?", sp_function_name(sp, &named), given,
		        best);
	Diag *d = diag_error(sp->c, E_NAMED_ARG, call->named_spans[m], "%s has no argument `%s`",
	                     sp_function_name(sp, &named), given);
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

void sp_bind_arguments(Sp *sp, const Av *f, const Ast *fn, uint32_t nparams, const Param *params,
                       const CallArguments *call) {
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
				        sp_function_name(sp, f), atom_text(sp->c, p->name));
			uint32_t required = fn ? count_required(fn) : nparams;
			Diag *d = diag_error(
				sp->c, E_ARITY, call->span, "%s takes %s%u argument%s, and %u %s given",
				sp_function_name(sp, f), fn && count_positional(fn) != required ? "at least " : "",
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
		                     "%s takes %u argument%s, and %u are given", sp_function_name(sp, f),
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
