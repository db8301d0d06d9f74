/* forward_mode.c - builtins for derivatives in forward mode: f', jvp, Taylor
 * coefficients.
 *
 * Needs: derivative_site.h, the transforms of ir_services.
 *
 * Contract:
 * - Each builtin specialises its argument, requests the transform of the
 *   finished function, and emits a call. They therefore nest in any order.
 * - Values keep their structure: a gradient with respect to a record is a
 *   record.
 */
#include "parser/builtins/derivative_site.h"

/* A leaf with a zero tangent becomes inactive: a column of a Jacobian then
 * costs only the code that depends on its variable. */
static void drop_zero_tangents(Site *s, Ref *tangents) {
	uint32_t m = 0;
	for (uint32_t i = 0; i < s->nactive; i++) m += !is_static_zero(s->sp, tangents[i]);
	if (!m) return;
	m = 0;
	for (uint32_t i = 0; i < s->nactive; i++) {
		const uint32_t leaf = s->active_leaf[i];
		if (is_static_zero(s->sp, tangents[i])) {
			s->active[s->spec.param_of_leaf[s->first + leaf]] = false;
			continue;
		}
		s->active_leaf[m] = leaf;
		tangents[m++] = tangents[i];
	}
	s->nactive = m;
}

BUILTIN(jvp) {
	UNUSED;
	Av *f = want_function(sp, call->args[0], call->spans[0], "jvp");
	CallArguments inner = builtin_inner_call(call, 1);
	Site s = site_of(sp, f, &inner, 0);
	if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
	Ref *t = ARENA_ARRAY(sp->a, Ref, s.nactive + 1);
	site_tangents(&s, call->args[2], call->spans[2], "a tangent", t);
	drop_zero_tangents(&s, t);
	Av *dy, *y = site_forward(&s, t, &dy, call->span);
	return av_seq(sp, AV_TUPLE, 2, (Av *[]){y, dy});
}

/* f' as a function: the derivative with respect to the first argument, a
 * scalar. */
BUILTIN(derivative_of) {
	UNUSED;
	if (call->n < 1) sp_fail(sp, E_ARITY, call->span, "a derivative is taken at a point");
	Av *x = call->args[0];
	if (x->kind != AV_ARRAY || ty(sp, x->ref)->rank) {
		Diag *d =
			diag_error(sp->c, E_GRAD_ARG, call->spans[0],
		               "f' is for functions of a number, and this is %s", sp_type_text(sp, x));
		diag_hint(sp->c, d,
		          "grad(f) for a gradient, jacobian(f) for a matrix, map(f', x) for each element");
		sp_throw(sp);
	}
	Site s = site_of(sp, captured[0], call, 0);
	if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
	Ref one = build_full(sp->b, ref_type(build_fn(sp->b), s.x->ref), 1);
	Av *dy;
	site_forward(&s, &one, &dy, call->span);
	return dy;
}

/* True for a scalar and for an array of equal elements. */
static bool is_uniform(const Fn *f, Ref r) {
	Value v;
	if (!ref_ty(f, r)->rank) return true;
	const Inst *in = ref_inst(f, r);
	if (in && in->op == OP_BROADCAST) return !ref_ty(f, inst_arg(f, in, 0))->rank;
	if (!ref_splat(f, r, &v)) return false;
	return true;
}

/* 1 when r is dx, 3 when it is dx times scalars, else 2. */
static int scale_of(const Fn *f, Ref r, Ref dx) {
	int found = 1;
	while (r != dx) {
		const Inst *in = ref_inst(f, r);
		found = 3;
		if (in && in->op == OP_NEG) r = inst_arg(f, in, 0);
		else if (in && (in->op == OP_MUL || in->op == OP_DIV) &&
		         is_uniform(f, inst_arg(f, in, 1)) && ref_ty(f, r)->rank)
			r = inst_arg(f, in, 0);
		else if (in && in->op == OP_MUL && is_uniform(f, inst_arg(f, in, 0)) && ref_ty(f, r)->rank)
			r = inst_arg(f, in, 1);
		else return 2;
	}
	return found;
}

/* _slope(f, x): how x enters f, read from the program. 1: df is dx itself; 3:
 * df is an array, dx times a scalar; 0: x does not enter; 2: anything else. */
BUILTIN(slope) {
	UNUSED;
	Av *f = want_function(sp, call->args[0], call->spans[0], "_slope");
	CallArguments inner = builtin_inner_call(call, 1);
	Site s = site_of(sp, f, &inner, 0);
	if (s.nresults != 1 || s.nactive != 1) return av_int(sp, 2);
	bool active[1] = {false};
	Fn *j = ir_services(sp->c)->jvp(sp->c, s.spec.fn, s.active, active),
	   *flat = active[0] ? fn_inline_calls(sp->c, j) : NULL;
	const Fn *seen = flat ? flat : j;
	const int found = active[0] ? scale_of(seen, fn_result(seen, fn_nresults(seen) - 1),
	                                       fn_param(seen, fn_nparams(seen) - 1))
	                            : 0;
	if (flat) fn_unref(flat);
	return av_int(sp, found);
}

/* ---- Taylor -------------------------------------------------------------- */

/* _jet(f, x, (c1, c2, ...)): the value and Taylor coefficients of f along x +
 * c1 s + c2 s^2 + ... */
BUILTIN(jet) {
	UNUSED;
	Av *f = want_function(sp, call->args[0], call->spans[0], "jet");
	CallArguments inner = builtin_inner_call(call, 1);
	uint32_t order;
	Av **coefs;
	if (!sp_static_items(sp, call->args[2], &order, &coefs) || order == 0)
		sp_fail(sp, E_NOT_STATIC, call->spans[2], "a jet takes a tuple of directions");
	if (order > JET_MAX_ORDER)
		sp_fail(sp, E_VALUE, call->spans[2], "Taylor series go up to order %d, not %u",
		        JET_MAX_ORDER, order);
	Site s = site_of(sp, f, &inner, 0);
	if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
	bool *result_active = ARENA_ARRAY(sp->a, bool, fn_nresults(s.spec.fn) + 1);
	Ref *along = ARENA_ARRAY(sp->a, Ref, (size_t)s.nactive * order + 1),
		*t = ARENA_ARRAY(sp->a, Ref, s.nactive + 1);
	uint32_t given = 1; /* coefficients: 1 when the others are statically zero */
	for (uint32_t k = 0; k < order; k++) {
		site_tangents(&s, coefs[k], call->spans[2], "a direction", t);
		for (uint32_t i = 0; i < s.nactive; i++) {
			along[i * order + k] = t[i];
			if (k && !is_static_zero(sp, t[i])) given = order;
		}
	}
	Fn *j =
		ir_services(sp->c)->jet(sp->c, s.spec.fn, order, given < order, s.active, result_active);
	uint32_t nargs = s.nargs + s.nactive * given;
	Ref *args = ARENA_ARRAY(sp->a, Ref, nargs + 1),
		*results = ARENA_ARRAY(sp->a, Ref, fn_nresults(j) + 1);
	for (uint32_t i = 0; i < s.nargs; i++) args[i] = s.args[i];
	for (uint32_t i = 0; i < s.nactive; i++)
		for (uint32_t k = 0; k < given; k++) args[s.nargs + i * given + k] = along[i * order + k];
	sp_at(sp, call->span);
	build_call(sp->b, j, nargs, args, results);
	site_keep_effects(&s, results);
	uint32_t k = 0, nf = fn_nresults(s.spec.fn);
	Av *y = av_rebuild(sp, s.spec.result, results, &k);
	Av **out = ARENA_ARRAY(sp->a, Av *, order + 1);
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, s.nresults + 1);
	for (uint32_t o = 0; o < order; o++) {
		uint32_t m = 0, n = 0;
		for (uint32_t i = 0; i < s.nresults; i++)
			if (result_active[i]) leaves[n++] = results[nf + m++ * order + o];
		out[o] = fill_structure(sp, s.spec.result, results, s.nresults, result_active, leaves);
	}
	return av_seq(sp, AV_TUPLE, 2, (Av *[]){y, av_seq(sp, AV_TUPLE, order, out)});
}

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_forward[] = {
	{.name = "jvp",
     .min_args = 3,
     .max_args = 3,
     .run = jvp,
     .doc = "jvp(f, x, dx): (f(x), derivative of f at x along dx). What is written as 0 in a tuple "
            "or record dx is not differentiated by: a column of a Jacobian costs no more than what "
            "depends on its variable"},
	{.name = "_slope", .min_args = 2, .max_args = 2, .run = slope},
	{.name = "_jet", .min_args = 3, .max_args = 3, .run = jet},
	{.name = "_derivative", .min_args = -1, .max_args = -1, .named = "*", .run = derivative_of},
	{.name = NULL},
};
