/* custom_derivatives.c - builtins for functions that state their own
 * derivatives: tangents of functions, linear functions with an adjoint, another
 * form for reverse mode.
 *
 * Needs: derivative_site.h, the transforms of ir_services.
 *
 * Contract: as forward_mode.c. specialise/custom_rule.c calls the rules; these
 * builtins are what a rule and the library call.
 */
#include "parser/builtins/derivative_site.h"

/* ---- tangents of functions ----------------------------------------------- */

/* _change: the tangent of a function, as a rule sees it (custom_rule.c). It is
 * the change of f's result at these arguments when f's captured values change.
 * Captured: f, and for each of its leaves the tangent or none. */
BUILTIN(change) {
	(void)self, (void)ncaptured;
	Site s = {.sp = sp, .f = sp_keep_rule(sp, captured[0])};
	s.spec = sp_specialise(sp, s.f, call);
	s.nresults = av_count_leaves(s.spec.result);
	s.nargs = s.spec.nargs;
	s.args = s.spec.args;
	sp_no_effects(sp, &s.spec, E_RULE, call->span,
	              "a function that is differentiated by what it captures cannot print or draw "
	              "random numbers");
	s.active = ARENA_ARRAY(sp->a, bool, s.nargs + 1);
	const uint32_t n = captured[1]->n;
	Ref *by_param = ARENA_ARRAY(sp->a, Ref, s.nargs + 1),
		*tangents = ARENA_ARRAY(sp->a, Ref, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const Av *t = captured[1]->items[i];
		const int p = s.spec.param_of_leaf[i];
		if (p < 0 || t->kind != AV_ARRAY || !inexact(sp, t->ref)) continue;
		s.active[p] = true;
		by_param[p] = t->ref;
	}
	for (uint32_t p = 0; p < s.nargs; p++)
		if (s.active[p]) tangents[s.nactive++] = by_param[p];
	Av *dy;
	site_forward(&s, tangents, &dy, call->span);
	return dy;
}

/* True when a tangent is statically zero. */
static bool is_absent(Sp *sp, const Av *dx) {
	if (dx->kind == AV_ARRAY) return is_static_zero(sp, dx->ref);
	const Av *const *items = (const Av *const *)dx->items;
	uint32_t n = dx->n;
	if (dx->kind == AV_FUNCTION) { /* a change: all tangents of its captured values, or none */
		if (dx->code_kind != CODE_BUILTIN || strcmp(((const Builtin *)dx->code)->name, "_change"))
			return false;
		n = dx->items[1]->n;
		items = (const Av *const *)dx->items[1]->items;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!is_absent(sp, items[i])) return false;
	return true;
}

BUILTIN(absent) {
	UNUSED;
	return av_bool(sp, is_absent(sp, call->args[0]));
}

/* _moves(df): the tangents of a change as a tuple, and zeros like them. */
BUILTIN(moves) {
	UNUSED;
	const Av *df = call->args[0];
	const bool change = df->kind == AV_FUNCTION && df->code_kind == CODE_BUILTIN &&
	                    !strcmp(((const Builtin *)df->code)->name, "_change");
	if (!change)
		sp_fail(sp, E_TYPE, call->spans[0], "the tangent of a function is wanted, not %s",
		        sp_type_text(sp, df));
	const Av *t = df->items[1];
	Av **items = ARENA_ARRAY(sp->a, Av *, t->n + 1), **zeros = ARENA_ARRAY(sp->a, Av *, t->n + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->items[i]->kind != AV_ARRAY || !inexact(sp, t->items[i]->ref)) continue;
		items[n] = t->items[i];
		zeros[n++] = av_array(sp, zeros_like(sp, t->items[i]->ref));
	}
	return av_seq(sp, AV_TUPLE, 2,
	              (Av *[]){av_seq(sp, AV_TUPLE, n, items), av_seq(sp, AV_TUPLE, n, zeros)});
}

/* _moved(df, t): the change df with other tangents, in the form of _moves. */
BUILTIN(moved) {
	UNUSED;
	const Av *df = call->args[0], *given = call->args[1], *t = df->items[1];
	Av **items = ARENA_ARRAY(sp->a, Av *, t->n + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const bool takes = t->items[i]->kind == AV_ARRAY && inexact(sp, t->items[i]->ref);
		items[i] = takes && n < given->n ? given->items[n++] : av_none(sp);
	}
	return av_builtin(sp, "_change", 2, (Av *[]){df->items[0], av_seq(sp, AV_TUPLE, t->n, items)});
}

/* ---- linear functions ---------------------------------------------------- */

BUILTIN(linear_map) {
	UNUSED;
	Av *f = want_function(sp, call->args[0], call->spans[0], "linear_map"),
	   *adjoint = want_function(sp, call->args[1], call->spans[1], "linear_map");
	return sp_call_linear(sp, f, adjoint, differentiable(sp, call->args[2]), call->span);
}

BUILTIN(call_linear) {
	UNUSED;
	return sp_call_args(sp, call->args[0], 1, &call->args[2], call->span);
}

/* ---- reverse mode -------------------------------------------------------- */

/* _in_reverse(f, g): f, for which reverse mode uses g. g takes the same
 * arguments and has the same values and derivatives. */
BUILTIN(in_reverse) {
	UNUSED;
	Av *items[2] = {want_function(sp, call->args[0], call->spans[0], "_in_reverse"),
	                want_function(sp, call->args[1], call->spans[1], "_in_reverse")};
	return av_builtin(sp, "_with_reverse", 2, items);
}

BUILTIN(with_reverse) {
	UNUSED;
	Av *f = sp_keep_rule(sp, captured[0]);
	Specialisation s =
		sp->underived ? sp_specialise_underived(sp, f, call) : sp_specialise(sp, f, call);
	/* Recursive, or always fails. */
	if (s.promised || s.result->kind == AV_UNSET) return sp_call(sp, captured[0], call);
	Fn *fn = s.fn;
	if (sp->underived) ++*session_left_out(sp->session);
	else {
		const Specialisation other = sp_specialise(sp, sp_keep_rule(sp, captured[1]), call);
		bool same = !other.promised && s.nargs == other.nargs && s.effects == other.effects &&
		            av_count_leaves(s.result) == av_count_leaves(other.result);
		for (uint32_t i = 0; same && i < s.nargs; i++) same = s.args[i] == other.args[i];
		if (same) fn = ir_services(sp->c)->reverse_override(sp->c, s.fn, other.fn);
	}
	uint32_t n = av_count_leaves(s.result), k = 0;
	Ref *results = ARENA_ARRAY(sp->a, Ref, n + 2);
	sp_at(sp, call->span);
	sp_emit_call(sp, fn, s.nargs, s.args, s.effects, results);
	if (s.effects) sp_set_effects(sp, results[n], results[n + 1]);
	return av_rebuild(sp, s.result, results, &k);
}

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_custom[] = {
	{.name = "linear_map",
     .min_args = 3,
     .max_args = 3,
     .run = linear_map,
     .doc = "linear_map(f, adjoint, x): f(x) of a linear f; reverse mode takes adjoint(w), the "
            "adjoint of f at w, and differentiates neither's steps"},
	{.name = "_apply_linear", .min_args = 3, .max_args = 3, .run = call_linear},
	{.name = "_moves", .min_args = 1, .max_args = 1, .run = moves},
	{.name = "_moved", .min_args = 2, .max_args = 2, .run = moved},
	{.name = "_absent", .min_args = 1, .max_args = 1, .run = absent},
	{.name = "_change", .min_args = -1, .max_args = -1, .named = "*", .run = change},
	{.name = "_in_reverse", .min_args = 2, .max_args = 2, .run = in_reverse},
	{.name = "_with_reverse", .min_args = -1, .max_args = -1, .named = "*", .run = with_reverse},
	{.name = NULL},
};
