/* expr.c - names, and the traversal of expressions and statements.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - Every instruction carries the span of the expression it was emitted for.
 * - Evaluation is left to right, inside out.
 */
#include "parser/specialise/internal.h"

#include <stdio.h>

#define MAX_DEPTH 600 /* nested expressions and inlined calls: protects the C stack */

const Hidden *sp_hidden(Sp *sp) { return session_hidden(sp->session); }

/* ---- names --------------------------------------------------------------- */

Env *env_new(Sp *sp, Env *outer) {
	Env *e = ARENA_NEW(sp->a, Env);
	e->outer = outer;
	return e;
}

Av *env_find(const Env *e, Atom name) {
	for (; e; e = e->outer) {
		const uint32_t i = ATOM_MAP_FIND(&e->places, &e->vars, name);
		if (i != ATOM_MAP_NONE) return e->vars.at[i].value;
	}
	return NULL;
}

void env_set(Sp *sp, Env *e, Atom name, Av *v) {
	const uint32_t i = ATOM_MAP_FIND(&e->places, &e->vars, name);
	if (i != ATOM_MAP_NONE) {
		e->vars.at[i].value = v;
		return;
	}
	Binding b = {name, v};
	VEC_PUSH(sp->a, &e->vars, b);
	ATOM_MAP_COVER(sp->a, &e->places, &e->vars);
}

Av *sp_try_lookup(Sp *sp, Atom name) {
	Av *v = env_find(sp->env, name);
	if (v) return v;
	if (sp->top && sp->module == session_main(sp->session) && (v = env_find(sp->top, name))) {
		if (sp->b == sp->top_b || !av_count_leaves(v)) return v;
		sp_fail(sp, E_NOT_STATIC, NO_SPAN, "the value of `%s` is known only when the program runs",
		        atom_text(sp->c, name));
	}
	Value g = session_lookup(sp->session, sp->module, name);
	if (g.kind != V_UNSET) {
		if (sp->self && g.kind != V_FUNCTION && g.kind != V_PROBLEM)
			session_note_baked(sp->module, name);
		return av_with_origin(sp, av_of_value(sp, g), session_global_span(sp->module, name));
	}
	const Builtin *b = builtin_find(atom_text(sp->c, name));
	if (b && (b->doc || sp->module->library)) return av_builtin(sp, b->name, 0, NULL);
	return NULL;
}

const char *sp_foreign_name(const char *name) {
	static const char *const known[][2] = {
		{" True TRUE ", "the booleans are written true and false"},
		{" False FALSE ", "the booleans are written true and false"},
		{" None null NULL nil nothing undefined ", "no value is written none"},
		{" range xrange ", "a range is written a..b, or a..b by s; its end is left out"},
		{" np numpy scipy sp jnp jax torch math cmath ",
	     "the names of the library need no prefix: sin(x), zeros(3)"},
		{" plt pyplot ", "the names of the library need no prefix: plot(x, y)"},
		{" i j I J ", "the imaginary unit is written with its number: 1im, 4im"},
		{" printf println disp display echo fprintf ",
	     "text is written by print(x), formatted as in print(\"{x:.3f}\")"},
		{" append ", "values do not change: a list grows by items = push(items, x), arrays are "
	                 "joined by concat"},
		{" numel ", "the number of elements is size(x)"},
		{" fzero fsolve brentq ", "a zero is found by root(f, x0)"},
		{" quad quadgk quadl ", "an integral is integrate(f, a, b)"},
		{" ode45 ode15s ode23 odeint solve_ivp ",
	     "an initial value problem is solved by ode(f, y0, (t0, t1))"},
		{" fminsearch fminunc fmincon fmin ", "a least value is found by minimize(f, x0)"},
		{" derivative deriv ",
	     "the derivative of f at x is f'(x), and of a function of arrays grad(f)(x)"},
		{" end ", "the last element is x[-1], a part up to the end x[a..]"},
		{" length ", "the length of the first axis is len(x)"},
		{" ndims ndim ", "the number of axes is rank(x)"},
		{" matmul mtimes ", "the product of matrices is written A @ B"},
		{" power ", "a power is written x^y"},
		{" mldivide ", "a linear system is solved by linsolve(A, b)"},
		{" raise throw ", "a program is stopped by error(\"message\")"},
		{" isinstance type typeof class ", "kind(x) and dtype(x) say what a value is"},
		{" float double single ", "a real number is made by f64(x) or f32(x)"},
		{" int integer int32 int64 ", "an integer is made by i64(x) or i32(x)"},
		{" complex ", "a complex number is written a + 1im * b, and made by c128(x)"},
		{" ndgrid ", "coordinates of a grid are meshgrid(x, y)"},
		{" isempty empty ", "nothing is in x when size(x) == 0"},
		{" div idiv fld quotient ", "a quotient rounded down is written a // b"},
		{" string sprintf num2str string_of repr ",
	     "the text of a value is str(x), or \"{x:.3f}\" with a format"},
		{" hcat horzcat column_stack ", "arrays are joined by concat(a, b; axis = 1)"},
		{" vcat vertcat cat row_stack ",
	     "arrays are joined by concat(a, b), along another axis by concat(a, b; axis = k)"},
		{" tic toc timeit cputime perf_counter ", "the prompt measures by :time and :bench"},
		{" help doc ", "help is shown by ?name at the prompt, and by `atled doc name`"},
		{" who whos clear clc vars ", "the prompt shows its names by :vars"},
		{" dict struct Dict ", "a record is written (name = value, ...)"},
		{" repmat ", "an array is repeated by tile(x, n)"},
		{" bsxfun arrayfun cellfun vmap vectorize broadcast ",
	     "operators and functions work element by element; others are applied by map(f, xs)"},
		{" ForwardDiff Zygote autograd gradient ", "the gradient of f is grad(f)"},
		{" nonlocal global ",
	     "a function does not change names outside itself: give the value back"},
	};
	char padded[24];
	if (strlen(name) > 20) return NULL;
	snprintf(padded, sizeof padded, " %s ", name);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strstr(known[i][0], padded)) return known[i][1];
	return NULL;
}

void sp_hint_named(Ctx *c, Diag *d, uint32_t nparams, const Param *params) {
	char list[160] = "";
	size_t used = 0;
	for (uint32_t i = 0; i < nparams; i++) {
		const char *name = atom_text(c, params[i].name);
		if (params[i].named && !params[i].rest && used + strlen(name) + 9 < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s = ...",
			                         used ? ", " : "", name);
	}
	if (used) diag_hint(c, d, "the others are given by name: %s", list);
}

void sp_hint_argument(Ctx *c, Diag *d, const char *function, const char *wrong, uint32_t n,
                      const char *const *names) {
	static const char *const known[][3] = {
		{" dim dims axes ", "axis", NULL},
		{" num N count npoints ", "n", NULL},
		{" lw linewidth ", "width", NULL},
		{" c color ", "colour", NULL},
		{" tol ", "rtol", NULL},
		{" rng random_state ", NULL, "random numbers start anew with seed(n)"},
		{" end sep file flush ", NULL,
	     "each print writes a line; a string is put together in quotes, as in print(\"{a}, {b}\")"},
		{" t_eval tspan ", "saveat", NULL},
		{" for ", NULL, "parameters stand there by their names: for = k, or for = (a, b)"},
		{" dtype ", NULL, "the dtype of an array is changed by f32(x), i64(x), c128(x)"},
	};
	char padded[24];
	const bool prints = !strcmp(function, "print");
	snprintf(padded, sizeof padded, " %.20s ", wrong);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (!strstr(known[i][0], padded)) continue;
		if (known[i][2] && (strstr(known[i][0], " end ") != NULL) == prints) {
			diag_hint(c, d, "%s", known[i][2]);
			return;
		}
		for (uint32_t k = 0; k < n && known[i][1]; k++)
			if (!strcmp(names[k], known[i][1])) {
				diag_hint(c, d, "here it is called %s", names[k]);
				return;
			}
	}
	char list[160] = "";
	uint32_t shown = 0;
	for (size_t used = 0; shown < n && shown < 10 && used + strlen(names[shown]) + 3 < sizeof list;
	     shown++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", shown ? ", " : "",
		                         names[shown]);
	if (shown) diag_hint(c, d, "what it can still be given: %s%s", list, shown < n ? ", ..." : "");
}

Av *sp_lost(void) {
	static Av lost = {.kind = AV_UNSET};
	return &lost;
}

Av *sp_lookup(Sp *sp, Atom name, Span at) {
	Av *v = sp_try_lookup(sp, name);
	if (v && v->kind != AV_UNSET) return v;
	if (v == sp_lost()) ctx_throw(sp->c, ST_ERROR);
	const char *text = atom_text(sp->c, name);
	if (v)
		sp_fail(sp, E_NAME, at,
		        "`%s` has no value here: it is set only on some paths before this one", text);
	/* The name is set in this function, but not on the path to here. */
	const Ast *code = sp->self && sp->self->code_kind == CODE_AST && sp->self->kind == AV_FUNCTION
	                      ? sp->self->code
	                      : NULL;
	Atom *set;
	uint32_t nset = 0;
	if (code) ast_assigned(sp, code->function.body, &set, &nset);
	for (uint32_t i = 0; i < nset; i++)
		if (set[i] == name) {
			Diag *d = diag_error(
				sp->c, E_NAME, at,
				"`%s` has no value here: it is set only inside a branch, loop or block", text);
			diag_hint(sp->c, d, "give %s a value before the branch or loop", text);
			sp_throw(sp);
		}
	if (text[0] == '_' && sp->module->library)
		sp_fail(
			sp, E_HOST, at,
			"the library needs `%s` of the program around it, and this program does not offer it",
			text);
	const char *foreign = sp_foreign_name(text);
	if (foreign) {
		diag_hint(sp->c, diag_error(sp->c, E_NAME, at, "no `%s`", text), "%s", foreign);
		sp_throw(sp);
	}
	Suggest suggest = {.sp = sp};
	const Ast *root = sp->self && sp->self->code_kind == CODE_AST ? sp->self->code : sp->statement;
	const char *best = suggest_best(&suggest, text, root, at);
	if (best) sp_fail(sp, E_NAME, at, "no `%s`; did you mean `%s`?", text, best);
	sp_fail(sp, E_NAME, at, "no `%s`", text);
}

/* ---- strings ------------------------------------------------------------- */

typedef VEC(char) Chars;

static void put_chars(Sp *sp, Chars *t, const char *text, size_t n) {
	VEC_RESERVE(sp->a, t, t->n + n);
	if (n) memcpy(t->at + t->n, text, n);
	t->n += (uint32_t)n;
}

static void put_text(Sp *sp, Chars *t, const char *text) { put_chars(sp, t, text, strlen(text)); }

/* Adds literal text to a format; its braces are doubled. */
static void put_literal(Sp *sp, Chars *format, const char *text, size_t n) {
	for (size_t k = 0; k < n; k++) {
		if (text[k] == '{' || text[k] == '}') put_chars(sp, format, &text[k], 1);
		put_chars(sp, format, &text[k], 1);
	}
}

/* The text of a static value, of *n bytes: a string, an integer or a boolean;
 * else NULL. */
static const char *static_text(Sp *sp, const Av *v, const char *spec, size_t *n) {
	if (spec && spec[0]) return NULL;
	if (v->kind == AV_STRING) {
		*n = atom_length(sp->c, v->text);
		return atom_text(sp->c, v->text);
	}
	const Const *k = v->kind == AV_ARRAY ? ref_constant(build_fn(sp->b), v->ref) : NULL;
	if (!k || k->value.kind != V_SCALAR || dtype_is_inexact((Dtype)k->value.dtype)) return NULL;
	int64_t number;
	bool truth;
	const char *text = NULL;
	if (value_as_bool(k->value, &truth)) text = truth ? "true" : "false";
	else if (value_as_i64(k->value, &number)) text = arena_printf(sp->a, "%lld", (long long)number);
	if (text) *n = strlen(text);
	return text;
}

/* A string without holes is a constant; others become a format instruction with
 * {k:spec} holes. */
static Av *string_expr(Sp *sp, const Ast *e) {
	Chars format = {0}, plain = {0};
	VEC(Ref) args = {0};
	bool all_static = true;
	for (uint32_t i = 0; i < e->string.n; i++) {
		const StringPiece *p = &e->string.pieces[i];
		put_chars(sp, &plain, p->text, p->n);
		put_literal(sp, &format, p->text, p->n);
		if (!p->value) continue;
		if (p->debug) {
			put_text(sp, &format, p->source);
			put_text(sp, &format, " = ");
		}
		Av *v = sp_expr(sp, p->value);
		size_t n = 0;
		const char *known = p->debug ? NULL : static_text(sp, v, p->spec, &n);
		if (known && format.n + n <= TEXT_STATIC_MOST) {
			put_chars(sp, &plain, known, n);
			put_literal(sp, &format, known, n);
			continue;
		}
		all_static = false;
		put_text(
			sp, &format,
			arena_printf(sp->a, "{%u%s%s}", args.n, p->spec ? ":" : "", p->spec ? p->spec : ""));
		VEC_PUSH(sp->a, &args, v->kind == AV_ARRAY ? v->ref : sp_box(sp, v));
	}
	if (all_static) {
		Av *r = av_new(sp, AV_STRING);
		r->text = atom_n(sp->c, plain.n ? plain.at : "", plain.n);
		return r;
	}
	int64_t word = atom_n(sp->c, format.at, format.n);
	return av_dyn(sp, build(sp->b, OP_FORMAT, args.n, args.at, attr_intern(sp->c, &word, 1), NULL));
}

/* ---- tensors, tuples, records -------------------------------------------- */

static Av *tensor_expr(Sp *sp, const Ast *e) {
	if (e->tensor.n == 0) {
		Dim zero = dim_const(sp->c, 0);
		return av_array(sp, build_zeros(sp->b, type_tensor(sp->c, DT_F64, 1, &zero)));
	}
	Av **rows = ARENA_ARRAY(sp->a, Av *, e->tensor.nrows);
	uint32_t k = 0;
	for (uint32_t r = 0; r < e->tensor.nrows; r++) {
		uint32_t n = e->tensor.row_lengths[r];
		Av **items = ARENA_ARRAY(sp->a, Av *, n ? n : 1);
		for (uint32_t i = 0; i < n; i++, k++)
			items[i] =
				av_with_origin(sp, sp_expr(sp, e->tensor.items[k]), e->tensor.items[k]->span);
		if (r && n != e->tensor.row_lengths[0]) {
			Span at =
				n ? span_join(e->tensor.items[k - n]->span, e->tensor.items[k - 1]->span) : e->span;
			sp_fail(sp, E_SHAPE, at, "this row has %u entr%s, the first has %u", n,
			        n == 1 ? "y" : "ies", e->tensor.row_lengths[0]);
		}
		rows[r] = sp_stack(sp, n, items, e->span);
	}
	return e->tensor.nrows == 1 ? rows[0] : sp_stack(sp, e->tensor.nrows, rows, e->span);
}

/* The items of ...v. The ends of a range must be static, so they are
 * demanded. */
static void spread_items(Sp *sp, Av *v, Span at, uint32_t *n, Av ***items) {
	if (sp_static_items(sp, v, n, items)) return;
	for (uint32_t i = 0; v->kind == AV_RANGE && i < 3; i++)
		sp_want_int(sp, v->items[i], at, "the length of what is spread");
	sp_fail(sp, E_TYPE, at, "only a tuple, list or range of known length can be spread, not %s",
	        sp_type_text(sp, v));
}

static Av *tuple_expr(Sp *sp, const Ast *e) {
	VEC_AVS items = {0};
	for (uint32_t i = 0; i < e->tuple.n; i++) {
		const Ast *it = e->tuple.items[i];
		if (it->kind != A_UNARY || it->op != AO_SPREAD) {
			Av *v = sp_expr(sp, it);
			VEC_PUSH(sp->a, &items, v);
			continue;
		}
		uint32_t n;
		Av **spread, *v = sp_expr(sp, it->unary.operand);
		spread_items(sp, v, it->span, &n, &spread);
		for (uint32_t k = 0; k < n; k++) VEC_PUSH(sp->a, &items, spread[k]);
	}
	return av_seq(sp, AV_TUPLE, items.n, items.at);
}

/* The fields of a record under construction. */
typedef struct RecordFields {
	VEC_ATOMS names;
	VEC_AVS items;
	AtomMap places; /* of names */
} RecordFields;

static void put_field(Sp *sp, RecordFields *r, Atom name, Av *v) {
	const uint32_t i = ATOM_MAP_FIND(&r->places, &r->names, name);
	if (i != ATOM_MAP_NONE) {
		r->items.at[i] = v;
		return;
	}
	VEC_PUSH(sp->a, &r->names, name);
	VEC_PUSH(sp->a, &r->items, v);
	ATOM_MAP_COVER(sp->a, &r->places, &r->names);
}

static Av *record_expr(Sp *sp, const Ast *e) {
	RecordFields r = {0};
	bool tuple = false, only_spreads = true;
	for (uint32_t i = 0; i < e->record.n; i++) only_spreads &= e->record.fields[i].spread;
	for (uint32_t i = 0; i < e->record.n; i++) {
		const Arg *f = &e->record.fields[i];
		Av *v = sp_expr(sp, f->value);
		if (!f->spread) {
			put_field(sp, &r, f->name, v);
			continue;
		}
		/* (...a, ...b) has the kind of a: only its value distinguishes a tuple
		 * from a record. */
		if (only_spreads && i == 0)
			tuple = v->kind == AV_TUPLE || v->kind == AV_LIST || v->kind == AV_RANGE ||
			        v->kind == AV_ARRAY;
		if (tuple) {
			uint32_t n;
			Av **spread;
			spread_items(sp, v, f->span, &n, &spread);
			for (uint32_t k = 0; k < n; k++) VEC_PUSH(sp->a, &r.items, spread[k]);
			continue;
		}
		if (v->kind != AV_RECORD)
			sp_fail(sp, E_TYPE, f->span, "only a record can be spread into a record, not %s",
			        sp_type_text(sp, v));
		for (uint32_t k = 0; k < v->n; k++) put_field(sp, &r, v->names[k], v->items[k]);
	}
	return tuple ? av_seq(sp, AV_TUPLE, r.items.n, r.items.at)
	             : av_record(sp, r.names.n, r.names.at, r.items.at);
}

static Av *field_expr(Sp *sp, const Ast *e) {
	/* A module's name before the dot is not a value. */
	if (e->field.base->kind == A_NAME && !env_find(sp->env, e->field.base->name.name)) {
		Module *m = session_module_named(sp->session, sp->module, e->field.base->name.name);
		if (m) {
			const char *text = atom_text(sp->c, e->field.name);
			if (text[0] == '_' && !sp->module->library)
				sp_fail(sp, E_PRIVATE, e->field.name_span, "`%s` is private to the module `%s`",
				        text, atom_text(sp->c, m->name));
			Value v = session_module_get(sp->session, m, e->field.name);
			if (v.kind == V_UNSET)
				sp_fail(sp, E_FIELD, e->field.name_span, "the module `%s` has no `%s`",
				        atom_text(sp->c, m->name), text);
			return av_of_value(sp, v);
		}
	}
	Av *base = sp_expr(sp, e->field.base);
	if (base->kind == AV_UNSET) return base;
	if (base->kind == AV_RECORD) {
		Av *v = av_field(base, e->field.name);
		if (v) return v;
		const char **names = ARENA_ARRAY(sp->a, const char *, base->n ? base->n : 1);
		for (uint32_t i = 0; i < base->n; i++) names[i] = atom_text(sp->c, base->names[i]);
		const char *best = diag_nearest(atom_text(sp->c, e->field.name), names, base->n);
		if (best)
			sp_fail(sp, E_FIELD, e->field.name_span, "no field `%s`; did you mean `%s`?",
			        atom_text(sp->c, e->field.name), best);
		sp_fail(sp, E_FIELD, e->field.name_span, "no field `%s` in %s",
		        atom_text(sp->c, e->field.name), sp_type_text(sp, base));
	}
	if (base->kind == AV_DYN)
		return sp_call_args(sp, av_builtin(sp, "_field", 0, NULL), 2,
		                    (Av *[]){base, av_string(sp, atom_text(sp->c, e->field.name))},
		                    e->span);
	if (base->kind == AV_PROBLEM) {
		for (uint32_t i = 0; i < base->n; i++)
			if (base->names[i] == e->field.name) return base->items[i];
	}
	/* x.shape and x.sum() of other languages are functions of the library. */
	const char *name = atom_text(sp->c, e->field.name);
	Diag *d = diag_error(sp->c, E_FIELD, e->field.name_span, "no field `%s`: this is %s", name,
	                     sp_type_text(sp, base));
	Value g = base->kind == AV_ARRAY || base->kind == AV_LIST || base->kind == AV_STRING
	              ? session_lookup(sp->session, sp->module, e->field.name)
	              : (Value){.kind = V_UNSET};
	const Builtin *b = base->kind == AV_FUNCTION ? NULL : builtin_find(name);
	if (base->kind == AV_ARRAY && (!strcmp(name, "T") || !strcmp(name, "H")))
		diag_hint(sp->c, d, "the transpose is written A'");
	else if (g.kind == V_FUNCTION || (b && b->doc))
		diag_hint(sp->c, d, "functions stand before their arguments: %s(x)", name);
	else if (sp_foreign_name(name)) diag_hint(sp->c, d, "%s", sp_foreign_name(name));
	sp_throw(sp);
}

/* ---- functions ----------------------------------------------------------- */

/* A closure captures the local names it mentions by value, and also the data
 * (not the functions) of top level. */
static Av *closure(Sp *sp, const Ast *e, Atom name) {
	Atom *free_names;
	uint32_t nfree;
	ast_free_names(sp, e, &free_names, &nfree);
	VEC_ATOMS names = {0};
	VEC_AVS items = {0};
	for (uint32_t i = 0; i < nfree; i++) {
		if (free_names[i] == name) continue;
		Av *v = env_find(sp->env, free_names[i]);
		if (!v && !sp->self) {
			Value g = session_own_global(sp->module, free_names[i]);
			if (g.kind != V_UNSET && g.kind != V_FUNCTION && g.kind != V_PROBLEM)
				v = av_of_value(sp, g);
		}
		if (!v || v->kind == AV_UNSET) continue;
		VEC_PUSH(sp->a, &names, free_names[i]);
		VEC_PUSH(sp->a, &items, av_named(sp, v));
	}
	return av_function(sp, CODE_AST, e->id, e, name, names.n, names.at, items.at);
}

static Av *prime_expr(Sp *sp, const Ast *e) {
	Av *special = sp_special_call(sp, e); /* u' in an equation */
	return special ? special : sp_prime(sp, sp_expr(sp, e->prime.operand), e->prime.count, e->span);
}

/* ---- logic --------------------------------------------------------------- */

struct lazy {
	const Ast *e;
	Av *v;
};

static Av *lazy_bool(Sp *sp, void *ud) {
	struct lazy *l = ud;
	Av *v = l->v ? l->v : sp_expr(sp, l->e);
	if (v->kind == AV_DYN)
		return av_array(sp, sp_scalar(sp, v, DT_BOOL, l->e->span, "a condition"));
	if (v->kind != AV_ARRAY || ref_ty(build_fn(sp->b), v->ref)->dtype != DT_BOOL)
		sp_fail(sp, E_TYPE, l->e->span, "`and` and `or` join conditions, and this is %s",
		        sp_type_text(sp, v));
	return v;
}

static Av *logic_expr(Sp *sp, const Ast *e) {
	bool is_and = e->op == AO_AND, known;
	Av *x = lazy_bool(sp, &(struct lazy){.e = e->binary.left});
	if (av_static_bool(sp, x, &known))
		return known == is_and ? lazy_bool(sp, &(struct lazy){.e = e->binary.right}) : x;
	if (ref_ty(build_fn(sp->b), x->ref)->rank) {
		Av *y = lazy_bool(sp, &(struct lazy){.e = e->binary.right});
		return sp_elementwise(sp, is_and ? OP_MIN : OP_MAX, 2, (Av *[]){x, y}, e->span);
	}
	struct lazy right = {.e = e->binary.right},
				constant = {.e = e->binary.right, .v = av_bool(sp, !is_and)};
	return is_and ? sp_branch(sp, x, lazy_bool, &right, lazy_bool, &constant, e->span)
	              : sp_branch(sp, x, lazy_bool, &constant, lazy_bool, &right, e->span);
}

static Av *compare_expr(Sp *sp, const Ast *e) {
	Av *result = NULL, *left = sp_expr(sp, e->compare.operands[0]);
	for (uint32_t i = 0; i + 1 < e->compare.n; i++) {
		Av *right = sp_expr(sp, e->compare.operands[i + 1]);
		Span ls = e->compare.operands[i]->span, rs = e->compare.operands[i + 1]->span;
		Av *one = sp_binary(sp, (AstOp)e->compare.ops[i], left, right, span_join(ls, rs), ls, rs);
		if (one->kind == AV_DYN && e->compare.n > 2)
			one = av_array(sp, sp_scalar(sp, one, DT_BOOL, span_join(ls, rs), "a comparison"));
		result = result ? sp_elementwise(sp, OP_MIN, 2, (Av *[]){result, one}, e->span) : one;
		left = right;
	}
	return result;
}

static Av *range_expr(Sp *sp, const Ast *e) {
	if (!e->range.lo || !e->range.hi)
		sp_fail(sp, E_SYNTAX, e->span, "an open range has a meaning only inside an index");
	Av *ends[3] = {sp_expr(sp, e->range.lo), sp_expr(sp, e->range.hi),
	               e->range.step ? sp_expr(sp, e->range.step) : av_int(sp, 1)};
	const Ast *parts[3] = {e->range.lo, e->range.hi, e->range.step};
	for (int i = 0; i < 3; i++) {
		if (ends[i]->kind == AV_DYN)
			ends[i] =
				av_array(sp, sp_scalar(sp, ends[i], DT_I64, parts[i]->span, "the end of a range"));
		if (ends[i]->kind != AV_ARRAY || ref_ty(build_fn(sp->b), ends[i]->ref)->rank ||
		    !dtype_is_int(ref_ty(build_fn(sp->b), ends[i]->ref)->dtype)) {
			Diag *d =
				diag_error(sp->c, E_TYPE, parts[i]->span,
			               "the ends of a range are integers, not %s", sp_type_text(sp, ends[i]));
			diag_hint(sp->c, d, "linspace(a, b, n) makes evenly spaced real numbers");
			sp_throw(sp);
		}
		ends[i] = av_array(sp, build_convert(sp->b, ends[i]->ref, DT_I64));
	}
	return av_seq(sp, AV_RANGE, 3, ends);
}

/* ---- the walk ------------------------------------------------------------ */

static Av *call_expr(Sp *sp, const Ast *e) {
	/* A reduction over a generator is index notation. */
	if (e->call.n == 1 && e->call.args[0].value->kind == A_COMPREHENSION &&
	    e->call.args[0].value->generator && e->call.callee->kind == A_NAME &&
	    !env_find(sp->env, e->call.callee->name.name)) {
		static const struct {
			const char *name;
			Op op;
		} reductions[] = {{"sum", OP_REDUCE_SUM}, {"prod", OP_REDUCE_PROD}, {"max", OP_REDUCE_MAX},
		                  {"min", OP_REDUCE_MIN}, {"any", OP_REDUCE_MAX},   {"all", OP_REDUCE_MIN}};
		for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
			if (!strcmp(atom_text(sp->c, e->call.callee->name.name), reductions[i].name))
				return sp_reduction(sp, e, reductions[i].op, e->call.args[0].value);
	}
	Av *special = sp_special_call(sp, e);
	if (special) return special;
	Av *f = sp_expr(sp, e->call.callee);
	VEC_AVS args = {0}, named = {0}, from = {0};
	VEC_SPANS spans = {0}, named_spans = {0};
	VEC_ATOMS names = {0};
	for (uint32_t i = 0; i < e->call.n; i++) {
		const Arg *a = &e->call.args[i];
		Av *v = av_with_origin(sp, sp_expr(sp, a->value), a->value->span);
		const bool record = a->spread && v->kind == AV_RECORD, rest = record && v->code;
		for (uint32_t k = 0; record ? k < v->n : k < (a->name != 0); k++) {
			const Atom name = record ? v->names[k] : a->name;
			const Span at = rest && v->items[k]->origin.source ? v->items[k]->origin : a->span;
			for (uint32_t m = 0; m < names.n; m++) {
				if (names.at[m] != name) continue;
				const Av *outer = from.at[m] ? from.at[m] : rest ? v : NULL;
				if (outer && outer->text)
					sp_fail(sp, E_NAMED_ARG, from.at[m] ? named_spans.at[m] : at,
					        "`%s` says itself what `%s` is", atom_text(sp->c, outer->text),
					        atom_text(sp->c, name));
				sp_fail(sp, E_NAMED_ARG, at, "the argument `%s` is given twice",
				        atom_text(sp->c, name));
			}
			VEC_PUSH(sp->a, &names, name);
			VEC_PUSH(sp->a, &named, record ? v->items[k] : v);
			VEC_PUSH(sp->a, &named_spans, at);
			VEC_PUSH(sp->a, &from, rest ? v : NULL);
		}
		if (record || a->name) continue;
		if (a->spread) {
			uint32_t n;
			Av **items;
			spread_items(sp, v, a->span, &n, &items);
			for (uint32_t k = 0; k < n; k++) {
				VEC_PUSH(sp->a, &args, items[k]);
				VEC_PUSH(sp->a, &spans, a->span);
			}
		} else {
			VEC_PUSH(sp->a, &args, v);
			VEC_PUSH(sp->a, &spans, a->value->span);
		}
	}
	sp_at(sp, e->span);
	VEC_RESERVE(sp->a, &args, 1); /* at least one, so that the arrays are not NULL */
	VEC_RESERVE(sp->a, &spans, 1);
	CallArguments call = {.span = e->span,
	                      .callee_span = e->call.callee->span,
	                      .n = args.n,
	                      .args = args.at,
	                      .spans = spans.at,
	                      .nnamed = names.n,
	                      .names = names.at,
	                      .named = named.at,
	                      .named_spans = named_spans.at,
	                      .named_rest = (const Av **)from.at};
	return sp_call(sp, f, &call);
}

static Av *binary_expr(Sp *sp, const Ast *e) {
	if (e->op == AO_PIPE) {
		Av *x = sp_expr(sp, e->binary.left), *f = sp_expr(sp, e->binary.right);
		return sp_call_args(sp, f, 1, &x, e->span);
	}
	Av *special = e->op == AO_DOT ? sp_special_call(sp, e) : NULL; /* a·grad(u) in an equation */
	if (special) return special;
	Av *x = sp_expr(sp, e->binary.left), *y = sp_expr(sp, e->binary.right);
	sp_at(sp, e->span);
	if (e->op == AO_COMPOSE) {
		if (x->kind != AV_FUNCTION || y->kind != AV_FUNCTION)
			sp_fail(sp, E_TYPE, e->span, "∘ composes two functions");
		return av_builtin(sp, "_compose", 2, (Av *[]){x, y});
	}
	/* `2(x + 1)` and `2 f(x)` multiply. `2f` with a function is a common
	 * mistake. */
	if (e->juxtaposed && y->kind == AV_FUNCTION)
		sp_fail(sp, E_TYPE, e->span, "a number beside a function: write the function's argument");
	return sp_binary(sp, (AstOp)e->op, x, y, e->span, e->binary.left->span, e->binary.right->span);
}

void sp_set_dead(Sp *sp) { env_set(sp, sp->env, sp_hidden(sp)->dead, av_bool(sp, true)); }
bool sp_dead(Sp *sp, const Env *e) { return env_find(e, sp_hidden(sp)->dead) != NULL; }

static void set_leaving(Sp *sp, Atom flag) { env_set(sp, sp->env, flag, av_bool(sp, true)); }

/* break and continue. Inside a loop, the flag `cont` is always bound. */
static void leave_turn(Sp *sp, const Ast *e) {
	const Hidden *h = sp_hidden(sp);
	if (!env_find(sp->env, h->cont))
		sp_fail(sp, E_SYNTAX, e->span, "`%s` stands outside a loop",
		        e->kind == A_BREAK ? "break" : "continue");
	set_leaving(sp, e->kind == A_BREAK ? h->brk : h->cont);
}

static void define(Sp *sp, const Ast *e) {
	Av *f = closure(sp, e, e->function.name);
	env_set(sp, sp->env, e->function.name, f);
}

/* x[i] op= v, with the index computed once. */
static void update_stmt(Sp *sp, const Ast *e, Av *v) {
	const Ast *t = e->assign.target;
	const AstOp op = (AstOp)e->op;
	Av *base = sp_expr(sp, t->index.base), **items, *after;
	Span *spans;
	sp_index_items(sp, t, base, &items, &spans);
	const uint32_t n = t->index.n;
	/* Updates with equal indices accumulate. */
	const bool counts = (op == AO_ADD || op == AO_SUB) && base->kind == AV_ARRAY &&
	                    ref_ty(build_fn(sp->b), base->ref)->dtype != DT_BOOL;
	sp_at(sp, e->span);
	if (sp_is_mask(sp, base, n, items))
		after = sp_mask_set(sp, base, items[0], spans[0], op, v, e->span);
	else if (counts)
		after = sp_index_set(sp, base, n, items, spans,
		                     op == AO_SUB ? sp_unary(sp, AO_NEG, v, e->span) : v, true, e->span);
	else {
		v = sp_binary(sp, op, sp_index_values(sp, base, n, items, spans, t->span), v, e->span,
		              t->span, e->assign.value->span);
		after = sp_index_set(sp, base, n, items, spans, v, false, e->span);
	}
	sp_assign(sp, t->index.base, after, e->span);
}

static void assign_stmt(Sp *sp, const Ast *e) {
	Av *v = sp_expr(sp, e->assign.value);
	/* The value is a certain failure: there is nothing to destructure. */
	if (v->kind == AV_UNSET && sp_dead(sp, sp->env)) return;
	if (e->op != AO_NONE) {
		const Ast *t = e->assign.target;
		if (t->kind == A_INDEX) {
			update_stmt(sp, e, v);
			return;
		}
		v = sp_binary(sp, (AstOp)e->op, sp_expr(sp, t), v, e->span, t->span, e->assign.value->span);
	}
	sp_assign(sp, e->assign.target, v, e->span);
}

void sp_word_lengths(Sp *sp, const Av *v, const char *path) {
	if (v->kind != AV_ARRAY) return;
	Fn *f = build_fn(sp->b);
	const Type t = *ref_ty(f, v->ref);
	for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++) {
		SymId s;
		if (!dim_is_sym(sp->c, t.dims[k], &s) || s >= f->syms.n || f->syms.at[s].name) continue;
		f->syms.at[s].name = sp_axis_words(sp->c, path, t.rank, k);
	}
}

Atom sp_axis_words(Ctx *c, const char *path, uint32_t rank, uint32_t axis) {
	if (rank == 1) return atom_f(c, "len(%s)", path);
	return rank == 2 ? atom_f(c, "%s of %s", axis ? "columns" : "rows", path)
	                 : atom_f(c, "axis %u of %s", axis, path);
}

Av **sp_take_apart(Sp *sp, Av *v, uint32_t names, Span at) {
	uint32_t n;
	Av **items;
	/* The structure is known only at run time; each part is requested then. */
	if (v->kind == AV_DYN) {
		Av *part = av_builtin(sp, "_part", 0, NULL);
		items = ARENA_ARRAY(sp->a, Av *, names + 1);
		for (uint32_t i = 0; i < names; i++)
			items[i] =
				sp_call_dynamic(sp, part, 3, (Av *[]){v, av_int(sp, i), av_int(sp, names)}, at);
		return items;
	}
	if (v->kind == AV_RECORD) n = v->n, items = v->items;
	else if (!sp_static_items(sp, v, &n, &items))
		sp_fail(sp, E_TYPE, at, "cannot take %s apart into %u names", sp_type_text(sp, v), names);
	if (n != names) sp_fail(sp, E_ARITY, at, "%u values for %u names", n, names);
	return items;
}

void sp_assign(Sp *sp, const Ast *t, Av *v, Span at) {
	switch ((AstKind)t->kind) {
	case A_NAME:
		if (!v->origin.source) v = av_with_origin(sp, v, at);
		v = av_named(sp, v);
		if (v->kind == AV_ARRAY) {
			build_name(sp->b, v->ref, t->name.name);
			sp_word_lengths(sp, v, atom_text(sp->c, t->name.name));
		}
		env_set(sp, sp->env, t->name.name, v);
		return;
	case A_TUPLE: {
		uint32_t n = t->tuple.n;
		Av **items = sp_take_apart(sp, v, n, at);
		for (uint32_t i = 0; i < n; i++) sp_assign(sp, t->tuple.items[i], items[i], at);
		return;
	}
	case A_FIELD: {
		Av *base = sp_expr(sp, t->field.base);
		if (base->kind != AV_RECORD)
			sp_fail(sp, E_TARGET, t->span, "only a record has fields to set, and this is %s",
			        sp_type_text(sp, base));
		RecordFields r = {0};
		for (uint32_t i = 0; i < base->n; i++) put_field(sp, &r, base->names[i], base->items[i]);
		put_field(sp, &r, t->field.name, v);
		sp_assign(sp, t->field.base, av_record(sp, r.names.n, r.names.at, r.items.at), at);
		return;
	}
	case A_INDEX: {
		Av *base = sp_expr(sp, t->index.base), **items;
		Span *spans;
		sp_index_items(sp, t, base, &items, &spans);
		sp_at(sp, at);
		sp_assign(sp, t->index.base, sp_index_set(sp, base, t->index.n, items, spans, v, false, at),
		          at);
		return;
	}
	default: sp_fail(sp, E_TARGET, t->span, "this cannot be assigned to");
	}
}

/* ---- blocks: the remainder after a possible exit is conditional ---------- */

struct rest {
	Ast *const *items;
	uint32_t n;
};

static Av *run_rest(Sp *sp, void *ud) {
	struct rest *r = ud;
	return sp_block(sp, r->n, r->items, false);
}
/* Control has left: there is no value. */
static Av *run_nothing(Sp *sp, void *ud) {
	(void)ud;
	return av_new(sp, AV_UNSET);
}

/* Whether control has left: 0 no, 1 surely, 2 known only at run time (then
 * *flag). */
static int leaving(Sp *sp, Av **flag) {
	const Hidden *h = sp_hidden(sp);
	Atom names[3] = {h->brk, h->cont, h->ret};
	Av *all = NULL;
	for (int i = 0; i < 3; i++) {
		Av *v = env_find(sp->env, names[i]);
		bool known;
		if (!v || v->kind != AV_ARRAY) continue;
		if (av_static_bool(sp, v, &known)) {
			if (known) return 1;
			continue;
		}
		all = all ? sp_elementwise(sp, OP_MAX, 2, (Av *[]){all, v}, NO_SPAN) : v;
	}
	*flag = all;
	return all ? 2 : 0;
}

static bool is_statement(const Ast *e) {
	switch ((AstKind)e->kind) {
	case A_ASSIGN:
	case A_DEF:
	case A_INDEX_DEF:
	case A_DERIVATIVE:
	case A_PROBLEM:
	case A_USE:
	case A_FOR:
	case A_WHILE:
	case A_BREAK:
	case A_CONTINUE:
	case A_RETURN: return true;
	default: return false;
	}
}

Av *sp_block(Sp *sp, uint32_t n, Ast *const *items, bool own_layer) {
	Env *saved = sp->env;
	if (own_layer) sp->env = env_new(sp, saved);
	Av *value = av_none(sp);
	for (uint32_t i = 0; i < n; i++) {
		Av *v = sp_expr(sp, items[i]);
		value = is_statement(items[i]) ? av_none(sp) : v;
		if (sp_dead(sp, sp->env)) {
			value = av_new(sp, AV_UNSET);
			break;
		}
		Av *flag = NULL;
		int left = leaving(sp, &flag);
		if (left == 1) break;
		if (left == 2 && i + 1 < n) {
			struct rest r = {items + i + 1, n - i - 1};
			Av *stay = sp_elementwise(sp, OP_EQ, 2, (Av *[]){flag, av_bool(sp, false)}, NO_SPAN);
			value = sp_branch(sp, stay, run_rest, &r, run_nothing, NULL, items[i + 1]->span);
			break;
		}
	}
	if (own_layer) {
		/* Assignments to outer names leave the layer; the others end here. */
		Env *layer = sp->env;
		sp->env = saved;
		const Hidden *h = sp_hidden(sp);
		for (uint32_t i = 0; i < layer->vars.n; i++) {
			Atom name = layer->vars.at[i].name;
			bool hidden = name == h->io || name == h->rng || name == h->brk || name == h->cont ||
			              name == h->ret || name == h->retval || name == h->dead;
			if (hidden || env_find(saved, name)) env_set(sp, saved, name, layer->vars.at[i].value);
		}
	}
	return value;
}

static Av *sp_expr_inner(Sp *sp, const Ast *e) {
	switch ((AstKind)e->kind) {
	case A_CONST: {
		Av *v = av_of_value(sp, e->constant.value);
		v->weak = e->weak;
		return v;
	}
	case A_STRING: return string_expr(sp, e);
	case A_NAME: return sp->problem ? sp_problem_name(sp, e) : sp_lookup(sp, e->name.name, e->span);
	case A_TENSOR: return tensor_expr(sp, e);
	case A_TUPLE: return tuple_expr(sp, e);
	case A_RECORD: return record_expr(sp, e);
	case A_UNARY: {
		Av *x = sp_expr(sp, e->unary.operand);
		sp_at(sp, e->span);
		return sp_unary(sp, (AstOp)e->op, x, e->span);
	}
	case A_BINARY: return binary_expr(sp, e);
	case A_LOGIC: return logic_expr(sp, e);
	case A_COMPARE: return compare_expr(sp, e);
	case A_PRIME: return prime_expr(sp, e);
	case A_CALL: return call_expr(sp, e);
	case A_INDEX: return sp_index(sp, e);
	case A_FIELD: return field_expr(sp, e);
	case A_RANGE: return range_expr(sp, e);
	case A_ELLIPSIS: sp_fail(sp, E_SYNTAX, e->span, "... has a meaning only inside an index");
	case A_LAMBDA: return closure(sp, e, 0);
	case A_IF: return sp_if(sp, e);
	case A_BLOCK: return sp_block(sp, e->block.n, e->block.items, true);
	case A_FOR: return sp_for(sp, e);
	case A_WHILE: return sp_while(sp, e);
	case A_TRY: return sp_try(sp, e);
	case A_BREAK:
	case A_CONTINUE: leave_turn(sp, e); return av_none(sp);
	case A_RETURN: {
		if (!sp->self) sp_fail(sp, E_SYNTAX, e->span, "`return` stands outside a function");
		env_set(sp, sp->env, sp_hidden(sp)->retval,
		        e->return_.value ? sp_expr(sp, e->return_.value) : av_none(sp));
		set_leaving(sp, sp_hidden(sp)->ret);
		return av_none(sp);
	}
	case A_COMPREHENSION: return sp_comprehension(sp, e);
	case A_ASSIGN: assign_stmt(sp, e); return av_none(sp);
	case A_DEF: define(sp, e); return av_none(sp);
	case A_INDEX_DEF: {
		Av *v = sp_index_def(sp, e);
		env_set(sp, sp->env, e->index_def.name, av_with_origin(sp, v, e->span));
		return av_none(sp);
	}
	case A_PROBLEM:
		env_set(sp, sp->env, e->problem->name, sp_problem_value(sp, e));
		return av_none(sp);
	case A_DERIVATIVE: sp_fail(sp, E_RULE, e->span, "a derivative rule stands at top level");
	case A_USE: sp_fail(sp, E_MODULE, e->span, "`use` stands at top level");
	case A_TYPE:
	case A_EQUATION: break;
	}
	sp_fail(sp, E_INTERNAL, e->span, "an unexpected node");
}

Av *sp_expr(Sp *sp, const Ast *e) {
	if (++sp->depth > MAX_DEPTH) {
		sp->depth = 0;
		sp_fail(sp, E_NESTING, e->span, "this nests too deeply");
	}
	SpanId outer = build_span(sp->b);
	sp_at(sp, e->span);
	Av *v = sp_expr_inner(sp, e);
	build_at(sp->b, outer);
	sp->depth--;
	return v;
}
