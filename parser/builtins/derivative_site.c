/* derivative_site.c - a function at arguments that it is differentiated by, and
 * such arguments as vectors (flatten).
 *
 * Needs: derivative_site.h, the transforms of ir_services.
 *
 * Method: the function is specialised for the call. The leaves of the argument
 * that are real or complex arrays are the active parameters of the finished
 * function.
 */
#include "parser/builtins/derivative_site.h"

Av *want_function(Sp *sp, Av *f, Span at, const char *what) {
	if (f->kind != AV_FUNCTION) {
		Diag *d = diag_error(sp->c, E_NOT_CALLABLE, at, "`%s` takes a function, not %s", what,
		                     sp_type_text(sp, f));
		if (!strcmp(what, "map")) diag_hint(sp->c, d, "the function comes first: map(f, xs)");
		else if (f->kind == AV_ARRAY && !strcmp(what, "grad"))
			diag_hint(sp->c, d, "the gradient of f at x is grad(f)(x)");
		sp_throw(sp);
	}
	return f;
}

Av *differentiable(Sp *sp, Av *v) {
	if (v->kind == AV_RANGE) v = sp_want_array(sp, v, NO_SPAN, "a derivative");
	if (v->kind == AV_ARRAY) {
		Dtype d = (Dtype)ty(sp, v->ref)->dtype;
		if (!dtype_is_int(d)) return av_strong(sp, v);
		return av_with_origin(sp, av_array(sp, build_convert(sp->b, v->ref, DT_F64)), v->origin);
	}
	if (!v->n || (v->kind != AV_RECORD && v->kind != AV_TUPLE && v->kind != AV_LIST)) return v;
	Av *r = ARENA_NEW(sp->a, Av);
	*r = *v;
	r->items = ARENA_ARRAY(sp->a, Av *, v->n);
	for (uint32_t i = 0; i < v->n; i++) {
		/* Integers inside a record are sizes and counts, not parameters. */
		bool array = v->items[i]->kind == AV_ARRAY;
		r->items[i] =
			array && dtype_is_int((Dtype)ty(sp, v->items[i]->ref)->dtype) && v->kind == AV_RECORD
				? v->items[i]
				: differentiable(sp, v->items[i]);
	}
	return r;
}

Site site_of(Sp *sp, Av *f, const CallArguments *call, uint32_t which) {
	Site s = {.sp = sp, .f = f};
	CallArguments c = *call;
	c.args = ARENA_ARRAY(sp->a, Av *, call->n + 1);
	for (uint32_t i = 0; i < call->n; i++) c.args[i] = call->args[i];
	if (which >= call->n)
		sp_fail(sp, E_ARITY, call->span, "a derivative with respect to argument %u of %u", which,
		        call->n);
	c.derived = true;
	c.args[which] = s.x = differentiable(sp, call->args[which]);
	f = sp_keep_rule(sp, f);
	s.spec = sp_specialise(sp, f, &c);
	for (uint32_t i = 0; i < f->n; i++) s.first += av_count_leaves(f->items[i]);
	for (uint32_t i = 0; i < which; i++) s.first += av_count_leaves(c.args[i]);
	s.nx = av_count_leaves(s.x);
	s.nresults = av_count_leaves(s.spec.result);
	s.active = ARENA_ARRAY(sp->a, bool, s.spec.nargs + 3);
	s.active_leaf = ARENA_ARRAY(sp->a, uint32_t, s.nx + 1);
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, s.nx + 1);
	uint32_t k = 0;
	av_leaves(s.x, leaves, &k);
	for (uint32_t i = 0; i < s.nx; i++) {
		int p = s.spec.param_of_leaf[s.first + i];
		if (p < 0 || !inexact(sp, leaves[i])) continue;
		s.active[p] = true;
		s.active_leaf[s.nactive++] = i;
	}
	if (!s.nactive) {
		Diag *d = diag_error(sp->c, E_GRAD_ARG,
		                     call->spans[which].source ? call->spans[which] : call->span,
		                     "there is no derivative with respect to %s", sp_type_text(sp, s.x));
		diag_hint(
			sp->c, d,
			"real and complex arrays, and records, tuples and lists of them, have derivatives");
		sp_throw(sp);
	}
	if (av_has_dynamic(s.spec.result)) {
		Diag *d = diag_error(
			sp->c, E_NO_RULE, call->span,
			"the type of what %s gives is known only when it runs, so it has no derivative",
			f->text && f->code_kind == CODE_AST
				? arena_printf(sp->a, "`%s`", atom_text(sp->c, f->text))
				: "the function");
		diag_hint(sp->c, d,
		          "branches that give one shape and dtype, or a function that declares it, "
		          "number(x: f64) = x, make it known");
		sp_throw(sp);
	}
	if (!s.spec.effects && !s.spec.promised) s.spec.fn = sp_whole(sp, s.spec.fn, s.active);
	s.nargs = s.spec.nargs;
	s.args = ARENA_ARRAY(sp->a, Ref, s.nargs + 2);
	for (uint32_t i = 0; i < s.spec.nargs; i++) s.args[i] = s.spec.args[i];
	if (s.spec.effects) {
		sp_effects(sp, &s.args[s.nargs], &s.args[s.nargs + 1], call->span);
		s.nargs += 2;
	}
	return s;
}

bool site_fails(const Site *s) { return !s->spec.promised && s->spec.result->kind == AV_UNSET; }

bool is_static_zero(Sp *sp, Ref r) {
	Value v;
	double x;
	return ref_splat(build_fn(sp->b), r, &v) && value_as_f64(v, &x) && x == 0;
}

Ref site_leaf(Sp *sp, Av *v, Ref like, Span at, const char *what, const char *of) {
	v = av_array(sp, sp_want_array(sp, v, at, what)->ref);
	const Type t = *ty(sp, like);
	return sp_broadcast_into(sp, sp_to_dtype(sp, v, (Dtype)t.dtype), t.rank, t.dims, at,
	                         arena_printf(sp->a, "%s is %s for %s that is %s", what,
	                                      sp_type_text(sp, v), of,
	                                      sp_type_text(sp, av_array(sp, like))));
}

void site_tangents(Site *s, Av *dx, Span at, const char *what, Ref *out) {
	Sp *sp = s->sp;
	dx = s->x->kind == AV_ARRAY ? sp_want_array(sp, dx, at, what) : dx;
	Av *x = s->x;
	uint32_t n = av_count_leaves(dx), k = 0, m = 0;
	bool fits = n == s->nx && dx->kind == x->kind;
	if (!fits)
		sp_fail(sp, E_TYPE, at, "%s must be made like the argument: %s for %s", what,
		        sp_type_text(sp, dx), sp_type_text(sp, x));
	Av **leaves = ARENA_ARRAY(sp->a, Av *, n + 1);
	Ref *xs = ARENA_ARRAY(sp->a, Ref, n + 1);
	av_leaf_values(dx, leaves, &k);
	av_leaves(x, xs, &m);
	for (uint32_t i = 0; i < s->nactive; i++) {
		const uint32_t l = s->active_leaf[i];
		out[i] = site_leaf(sp, leaves[l], xs[l], at, what, "an argument");
	}
}

Av *fill_structure(Sp *sp, const Av *like, const Ref *like_leaves, uint32_t n, const bool *given,
                   const Ref *leaves) {
	Ref *all = ARENA_ARRAY(sp->a, Ref, n + 1);
	uint32_t k = 0, m = 0;
	for (uint32_t i = 0; i < n; i++)
		all[i] = given[i]                                    ? leaves[m++]
		         : ty(sp, like_leaves[i])->kind == TY_TENSOR ? zeros_like(sp, like_leaves[i])
		                                                     : like_leaves[i];
	return av_rebuild(sp, like, all, &k);
}

void site_keep_effects(Site *s, const Ref *results) {
	if (s->spec.effects) sp_set_effects(s->sp, results[s->nresults], results[s->nresults + 1]);
}

Av *site_forward(Site *s, const Ref *tangents, Av **dy, Span at) {
	Sp *sp = s->sp;
	bool *result_active = ARENA_ARRAY(sp->a, bool, fn_nresults(s->spec.fn) + 1);
	Fn *j = ir_services(sp->c)->forward(sp->c, s->spec.fn, s->active, result_active);
	Ref *args = ARENA_ARRAY(sp->a, Ref, s->nargs + s->nactive + 1),
		*results = ARENA_ARRAY(sp->a, Ref, fn_nresults(j) + 1);
	for (uint32_t i = 0; i < s->nargs; i++) args[i] = s->args[i];
	for (uint32_t i = 0; i < s->nactive; i++) args[s->nargs + i] = tangents[i];
	sp_at(sp, at);
	build_call(sp->b, j, s->nargs + s->nactive, args, results);
	site_keep_effects(s, results);
	uint32_t k = 0;
	Av *y = av_rebuild(sp, s->spec.result, results, &k);
	*dy = fill_structure(sp, s->spec.result, results, s->nresults, result_active,
	                     results + fn_nresults(s->spec.fn));
	return y;
}

/* ---- parameters as vectors ----------------------------------------------- */

/* flatten(p) -> (vector of all real scalars in p, function that converts a
 * vector back to p's structure). */
BUILTIN(flatten) {
	UNUSED;
	Av *p = differentiable(sp, call->args[0]);
	uint32_t n = av_count_leaves(p), k = 0, m = 0;
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, n + 1);
	Av **parts = ARENA_ARRAY(sp->a, Av *, n + 1);
	av_leaves(p, leaves, &k);
	for (uint32_t i = 0; i < n; i++) {
		Type t = *ty(sp, leaves[i]);
		if (t.kind != TY_TENSOR || !dtype_is_real((Dtype)t.dtype)) continue;
		Dim total = dim_const(sp->c, 1);
		for (uint32_t a = 0; a < t.rank; a++)
			total = dim_mul(sp->c, total, build_canon(sp->b, t.dims[a]));
		parts[m++] = av_array(sp, build_reshape(sp->b, leaves[i], 1, &total));
	}
	if (!m)
		sp_fail(sp, E_TYPE, call->spans[0], "there are no real numbers in %s", sp_type_text(sp, p));
	Av *v = sp_concat(sp, m, parts, 0, call->span);
	return av_seq(sp, AV_TUPLE, 2, (Av *[]){v, av_builtin(sp, "_unflatten", 1, &p)});
}

BUILTIN(unflatten) {
	UNUSED;
	Av *p = captured[0];
	Ref v = sp_want_array(sp, call->args[0], call->spans[0], "an unflattening")->ref;
	uint32_t n = av_count_leaves(p), k = 0;
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, n + 1);
	av_leaves(p, leaves, &k);
	Dim start = dim_const(sp->c, 0);
	if (ty(sp, v)->rank != 1)
		sp_fail(sp, E_RANK, call->spans[0], "a vector of parameters is wanted, not %s",
		        sp_type_text(sp, call->args[0]));
	for (uint32_t i = 0; i < n; i++) {
		Type t = *ty(sp, leaves[i]);
		if (t.kind != TY_TENSOR || !dtype_is_real((Dtype)t.dtype)) continue;
		Dim total = dim_const(sp->c, 1);
		for (uint32_t a = 0; a < t.rank; a++) {
			t.dims[a] = build_canon(sp->b, t.dims[a]);
			total = dim_mul(sp->c, total, t.dims[a]);
		}
		leaves[i] =
			build_reshape(sp->b, build_slice(sp->b, v, &start, &total, NULL), t.rank, t.dims);
		start = dim_add(sp->c, start, total);
	}
	k = 0;
	return av_rebuild(sp, p, leaves, &k);
}

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_flatten[] = {
	{.name = "flatten",
     .min_args = 1,
     .max_args = 1,
     .run = flatten,
     .doc = "flatten(p): (vector of all real numbers in p, function that puts a vector back into "
            "the form of p)"},
	{.name = "_unflatten", .min_args = 1, .max_args = 1, .run = unflatten},
	{.name = NULL},
};
