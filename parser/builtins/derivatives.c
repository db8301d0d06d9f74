/* derivatives.c - builtins for derivatives and batching: f', grad, jvp, vjp,
 * taylor, map.
 *
 * Needs: specialise/internal.h, the transforms of ir_services.
 *
 * Contract:
 * - Each builtin specialises its argument, requests the transform of the
 *   finished function, and emits a call. They therefore nest in any order.
 * - Values keep their structure: a gradient with respect to a record is a
 *   record.
 */
#include "parser/builtins/table.h"

static bool inexact(Sp *sp, Ref r) {
	return ty(sp, r)->kind == TY_TENSOR && dtype_is_inexact((Dtype)ty(sp, r)->dtype);
}

static Av *want_function(Sp *sp, Av *f, Span at, const char *what) {
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

/* Prepares a value for differentiation with respect to it. Integers become f64;
 * structures keep their form. */
static Av *differentiable(Sp *sp, Av *v) {
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

static bool has_range(const Av *v) {
	if (v->kind == AV_RANGE) return true;
	for (uint32_t i = 0; i < v->n; i++)
		if (has_range(v->items[i])) return true;
	return false;
}

/* A function at its arguments, with one argument (by position) marked for
 * differentiation. */
typedef struct Site {
	Sp *sp;
	Av *f;
	Specialisation spec;
	Av *x;                 /* the marked argument */
	uint32_t first;        /* its first leaf among the leaves of the spec */
	uint32_t nx;           /* number of its leaves */
	bool *active;          /* by parameter of spec.fn */
	uint32_t *active_leaf; /* the active leaves of x, in order */
	uint32_t nactive;
	uint32_t nresults; /* without effects */
	Ref *args;
	uint32_t nargs; /* with effects */
} Site;

static Site site(Sp *sp, Av *f, const CallArguments *call, uint32_t which) {
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

/* A function that always fails has no derivative; the call of it takes its
 * place. */
static bool fails(const Site *s) { return !s->spec.promised && s->spec.result->kind == AV_UNSET; }

static bool is_zero(Sp *sp, Ref r) {
	Value v;
	double x;
	return ref_splat(build_fn(sp->b), r, &v) && value_as_f64(v, &x) && x == 0;
}

static Ref zeros_like(Sp *sp, Ref r) { return build_zeros(sp->b, ref_type(build_fn(sp->b), r)); }

/* The active leaves of a tangent, which must have the structure of x. */
static void tangent_leaves(Site *s, Av *dx, Span at, const char *what, Ref *out) {
	Sp *sp = s->sp;
	dx = s->x->kind == AV_ARRAY ? sp_want_array(sp, dx, at, what) : dx;
	Av *x = s->x;
	uint32_t n = av_count_leaves(dx), k = 0, m = 0;
	bool fits = n == s->nx && dx->kind == x->kind;
	if (!fits)
		sp_fail(sp, E_TYPE, at, "%s must be made like the argument: %s for %s", what,
		        sp_type_text(sp, dx), sp_type_text(sp, x));
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, n + 1), *xs = ARENA_ARRAY(sp->a, Ref, n + 1);
	av_leaves(dx, leaves, &k);
	av_leaves(x, xs, &m);
	for (uint32_t i = 0; i < s->nactive; i++) {
		uint32_t l = s->active_leaf[i];
		Av *v = av_array(sp, leaves[l]), *like = av_array(sp, xs[l]);
		Ref r = sp_to_dtype(sp, v, (Dtype)ty(sp, xs[l])->dtype), same = xs[l];
		Type t = *ty(sp, same);
		out[i] = sp_broadcast_into(sp, r, t.rank, t.dims, at,
		                           arena_printf(sp->a, "%s is %s for an argument that is %s", what,
		                                        sp_type_text(sp, v), sp_type_text(sp, like)));
	}
}

/* A value with the structure of `like`: the given leaves at the flagged places,
 * zeros elsewhere. */
static Av *fill_structure(Sp *sp, const Av *like, const Ref *like_leaves, uint32_t n,
                          const bool *given, const Ref *leaves) {
	Ref *all = ARENA_ARRAY(sp->a, Ref, n + 1);
	uint32_t k = 0, m = 0;
	for (uint32_t i = 0; i < n; i++)
		all[i] = given[i]                                    ? leaves[m++]
		         : ty(sp, like_leaves[i])->kind == TY_TENSOR ? zeros_like(sp, like_leaves[i])
		                                                     : like_leaves[i];
	return av_rebuild(sp, like, all, &k);
}

static void keep_effects(Site *s, const Ref *results) {
	if (s->spec.effects) sp_set_effects(s->sp, results[s->nresults], results[s->nresults + 1]);
}

/* ---- forward ------------------------------------------------------------- */

/* Returns f(x) and stores in *dy the tangent of f at x. */
static Av *forward(Site *s, const Ref *tangents, Av **dy, Span at) {
	Sp *sp = s->sp;
	bool *result_active = ARENA_ARRAY(sp->a, bool, fn_nresults(s->spec.fn) + 1);
	Fn *j = ir_services(sp->c)->forward(sp->c, s->spec.fn, s->active, result_active);
	Ref *args = ARENA_ARRAY(sp->a, Ref, s->nargs + s->nactive + 1),
		*results = ARENA_ARRAY(sp->a, Ref, fn_nresults(j) + 1);
	for (uint32_t i = 0; i < s->nargs; i++) args[i] = s->args[i];
	for (uint32_t i = 0; i < s->nactive; i++) args[s->nargs + i] = tangents[i];
	sp_at(sp, at);
	build_call(sp->b, j, s->nargs + s->nactive, args, results);
	keep_effects(s, results);
	uint32_t k = 0;
	Av *y = av_rebuild(sp, s->spec.result, results, &k);
	*dy = fill_structure(sp, s->spec.result, results, s->nresults, result_active,
	                     results + fn_nresults(s->spec.fn));
	return y;
}

/* A leaf with a zero tangent becomes inactive: a column of a Jacobian then
 * costs only the code that depends on its variable. */
static void drop_zero_tangents(Site *s, Ref *tangents) {
	uint32_t m = 0;
	for (uint32_t i = 0; i < s->nactive; i++) m += !is_zero(s->sp, tangents[i]);
	if (!m) return;
	m = 0;
	for (uint32_t i = 0; i < s->nactive; i++) {
		const uint32_t leaf = s->active_leaf[i];
		if (is_zero(s->sp, tangents[i])) {
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
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = 1,
	                       .args = call->args + 1,
	                       .spans = call->spans + 1};
	Site s = site(sp, f, &inner, 0);
	if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
	Ref *t = ARENA_ARRAY(sp->a, Ref, s.nactive + 1);
	tangent_leaves(&s, call->args[2], call->spans[2], "a tangent", t);
	drop_zero_tangents(&s, t);
	Av *dy, *y = forward(&s, t, &dy, call->span);
	return av_seq(sp, AV_TUPLE, 2, (Av *[]){y, dy});
}

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
	forward(&s, tangents, &dy, call->span);
	return dy;
}

/* True when a tangent is statically zero. */
static bool is_absent(Sp *sp, const Av *dx) {
	if (dx->kind == AV_ARRAY) return is_zero(sp, dx->ref);
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
	Site s = site(sp, captured[0], call, 0);
	if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
	Ref one = build_full(sp->b, ref_type(build_fn(sp->b), s.x->ref), 1);
	Av *dy;
	forward(&s, &one, &dy, call->span);
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
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = 1,
	                       .args = call->args + 1,
	                       .spans = call->spans + 1};
	Site s = site(sp, f, &inner, 0);
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

/* ---- reverse ------------------------------------------------------------- */

static Av *mask_tuple(Sp *sp, const bool *mask, uint32_t n) {
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++) items[i] = av_string(sp, mask[i] ? "1" : "0");
	return av_seq(sp, AV_TUPLE, n, items);
}

/* Closures store the functions of a linearisation by number. A reference keeps
 * them alive for the session. */
static Av *fn_number(Sp *sp, Fn *f) {
	fn_ref(f);
	return av_string(sp, arena_printf(sp->a, "%u", f->id));
}

static Fn *fn_by_number(Sp *sp, const Av *v) {
	uint32_t id = 0;
	for (const char *t = atom_text(sp->c, v->text); *t; t++) id = id * 10 + (uint32_t)(*t - '0');
	return fn_get(sp->c, id);
}

/* Returns y and stores the linear map, or its transpose, as a closure.
 * Captured: the number of the linear function, x, y, the masks of active leaves
 * of x and of y, the residuals. */
static Av *linearised(Site *s, bool backwards, Span at, Av **map) {
	Sp *sp = s->sp;
	Fn *primal, *linear;
	uint32_t nres;
	const bool *result_active;
	ir_services(sp->c)->linearise(sp->c, s->spec.fn, s->active, &primal, &linear, &nres,
	                              &result_active);
	if (backwards) linear = ir_services(sp->c)->transpose(sp->c, linear, nres);
	Ref *results = ARENA_ARRAY(sp->a, Ref, fn_nresults(primal) + 1);
	sp_at(sp, at);
	build_call(sp->b, primal, s->nargs, s->args, results);
	keep_effects(s, results);
	uint32_t k = 0, nf = fn_nresults(s->spec.fn);
	Av *y = av_rebuild(sp, s->spec.result, results, &k);
	bool *x_mask = ARENA_ARRAY(sp->a, bool, s->nx + 1);
	for (uint32_t i = 0; i < s->nactive; i++) x_mask[s->active_leaf[i]] = true;
	Av **res = ARENA_ARRAY(sp->a, Av *, nres + 1);
	for (uint32_t i = 0; i < nres; i++)
		res[i] = ty(sp, results[nf + i])->kind == TY_DYN ? av_dyn(sp, results[nf + i])
		                                                 : av_array(sp, results[nf + i]);
	Av *items[6] = {fn_number(sp, linear),
	                s->x,
	                y,
	                mask_tuple(sp, x_mask, s->nx),
	                mask_tuple(sp, result_active, s->nresults),
	                av_seq(sp, AV_TUPLE, nres, res)};
	*map = av_builtin(sp, backwards ? "_pullback" : "_pushforward", 6, items);
	return y;
}

static bool mask_bit(const Ctx *c, const Av *mask, uint32_t i) {
	return atom_text(c, mask->items[i]->text)[0] == '1';
}

/* Applies the linear map. `in` and `out` are templates of its argument and
 * result. */
static Av *apply_linear(Sp *sp, Av *const *captured, const CallArguments *call, const Av *in,
                        const Av *in_mask, const Av *out, const Av *out_mask, const char *what) {
	Fn *linear = fn_by_number(sp, captured[0]);
	const Av *res = captured[5];
	Av *given = call->args[0];
	if (in->kind == AV_ARRAY) given = sp_want_array(sp, given, call->spans[0], what);
	uint32_t n = av_count_leaves(in), m = av_count_leaves(out), k = 0, j = 0, nargs = 0;
	if (av_count_leaves(given) != n || given->kind != in->kind)
		sp_fail(sp, E_TYPE, call->spans[0], "%s must be made like the value: %s for %s", what,
		        sp_type_text(sp, given), sp_type_text(sp, in));
	Ref *gl = ARENA_ARRAY(sp->a, Ref, n + 1), *il = ARENA_ARRAY(sp->a, Ref, n + 1),
		*ol = ARENA_ARRAY(sp->a, Ref, m + 1);
	av_leaves(given, gl, &k);
	k = 0;
	av_leaves(in, il, &k);
	av_leaves(out, ol, &j);
	Ref *args = ARENA_ARRAY(sp->a, Ref, res->n + n + 1);
	for (uint32_t i = 0; i < res->n; i++) args[nargs++] = res->items[i]->ref;
	for (uint32_t i = 0; i < n; i++) {
		if (!mask_bit(sp->c, in_mask, i)) continue;
		Av *v = av_array(sp, gl[i]), *like = av_array(sp, il[i]);
		Ref r = sp_to_dtype(sp, v, (Dtype)ty(sp, il[i])->dtype), same = il[i];
		Type t = *ty(sp, same);
		args[nargs++] =
			sp_broadcast_into(sp, r, t.rank, t.dims, call->spans[0],
		                      arena_printf(sp->a, "%s is %s for a value that is %s", what,
		                                   sp_type_text(sp, v), sp_type_text(sp, like)));
	}
	Ref *results = ARENA_ARRAY(sp->a, Ref, fn_nresults(linear) + 1);
	sp_at(sp, call->span);
	/* A guard that only the function itself knows fails here: there is no value
	 * to differentiate. */
	if (!build_call_fits(sp->b, linear, nargs, args))
		sp_fail(sp, E_SHAPE, call->span,
		        "no derivative at %s: the function itself fails at these lengths",
		        sp_type_text(sp, captured[1]));
	build_call(sp->b, linear, nargs, args, results);
	bool *mask = ARENA_ARRAY(sp->a, bool, m + 1);
	for (uint32_t i = 0; i < m; i++) mask[i] = mask_bit(sp->c, out_mask, i);
	return fill_structure(sp, out, ol, m, mask, results);
}

BUILTIN(pullback) {
	UNUSED;
	return apply_linear(sp, captured, call, captured[2], captured[4], captured[1], captured[3],
	                    "a cotangent");
}

BUILTIN(pushforward) {
	UNUSED;
	return apply_linear(sp, captured, call, captured[1], captured[3], captured[2], captured[4],
	                    "a tangent");
}

/* _columns(push): the images of the unit vectors, for a linear map of one small
 * array to one array. none: use map instead. */
BUILTIN(columns) {
	UNUSED;
	const Av *push = call->args[0];
	if (push->kind != AV_FUNCTION || push->code_kind != CODE_BUILTIN ||
	    ((const Builtin *)push->code)->run != pushforward)
		return av_none(sp);
	Av *const *held = push->items;
	const Av *in = held[1], *out = held[2], *res = held[5];
	if (in->kind != AV_ARRAY || out->kind != AV_ARRAY || !mask_bit(sp->c, held[3], 0) ||
	    !mask_bit(sp->c, held[4], 0))
		return av_none(sp);
	Fn *matrix = ir_services(sp->c)->small_jacobian(sp->c, fn_by_number(sp, held[0]), res->n);
	if (!matrix) return av_none(sp);
	Ref *args = ARENA_ARRAY(sp->a, Ref, res->n + 1), result;
	for (uint32_t i = 0; i < res->n; i++) args[i] = res->items[i]->ref;
	sp_at(sp, call->span);
	build_call(sp->b, matrix, res->n, args, &result);
	return av_array(sp, result);
}

BUILTIN(vjp) {
	UNUSED;
	bool backwards = self->name[0] == 'v';
	Av *f = want_function(sp, call->args[0], call->spans[0], self->name);
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = call->n - 1,
	                       .args = call->args + 1,
	                       .spans = call->spans + 1};
	if (call->n == 2) {
		Site s = site(sp, f, &inner, 0);
		if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
		Av *map, *y = linearised(&s, backwards, call->span, &map);
		return av_seq(sp, AV_TUPLE, 2, (Av *[]){y, map});
	}
	/* Several arguments: differentiate with respect to their tuple. */
	Av *packed = av_seq(sp, AV_TUPLE, inner.n, inner.args);
	Av *spreader = av_builtin(sp, "_spread", 1, &f);
	CallArguments one = {.span = call->span,
	                     .callee_span = call->spans[0],
	                     .n = 1,
	                     .args = &packed,
	                     .spans = call->spans + 1};
	Site s = site(sp, spreader, &one, 0);
	if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
	Av *map, *y = linearised(&s, backwards, call->span, &map);
	return av_seq(sp, AV_TUPLE, 2, (Av *[]){y, map});
}

BUILTIN(spread) {
	UNUSED;
	Span *spans = ARENA_ARRAY(sp->a, Span, call->args[0]->n + 1);
	for (uint32_t i = 0; i < call->args[0]->n; i++) spans[i] = call->span;
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->span,
	                       .n = call->args[0]->n,
	                       .args = call->args[0]->items,
	                       .spans = spans};
	return sp_call(sp, captured[0], &inner);
}

/* The result must be a real scalar. Gradients of records with auxiliary values
 * are not supported. */
static void want_real_scalar(Sp *sp, const Av *y, const Av *f, Span at) {
	const char *who = f->text && f->code_kind == CODE_AST
	                      ? arena_printf(sp->a, "`%s`", atom_text(sp->c, f->text))
	                      : "the function";
	bool good = y->kind == AV_ARRAY;
	if (good) {
		const Type *t = ty(sp, y->ref);
		good = t->rank == 0 && dtype_is_real((Dtype)t->dtype);
		if (t->rank == 0 && !dtype_is_inexact((Dtype)t->dtype)) {
			Diag *d = diag_error(sp->c, E_GRAD_SCALAR, at,
			                     "a gradient is of a real number, and %s gives %s", who,
			                     sp_type_text(sp, y));
			diag_hint(sp->c, d,
			          "a function of integers has no derivative; f64(...) inside it makes it real");
			sp_throw(sp);
		}
	}
	if (good) return;
	Diag *d =
		diag_error(sp->c, E_GRAD_SCALAR, at, "a gradient is of a real number, and %s gives %s", who,
	               sp_type_text(sp, y));
	if (y->kind == AV_ARRAY && ty(sp, y->ref)->rank)
		diag_hint(sp->c, d,
		          "jacobian(f) is for functions that give arrays; sum(...) makes a number");
	if (y->kind == AV_ARRAY && dtype_is_complex((Dtype)ty(sp, y->ref)->dtype))
		diag_hint(sp->c, d, "real(...) or abs(...) of it is a real number");
	sp_throw(sp);
}

BUILTIN(grad_at) {
	UNUSED;
	int64_t which = 0;
	if (ncaptured > 1)
		which = sp_want_int(sp, captured[1], call->span, "the number of an argument");
	if (call->n == 0) sp_fail(sp, E_ARITY, call->span, "a gradient is taken at a point");
	if (which < 0 || which >= call->n)
		sp_fail(sp, E_ARITY, call->span, "there is no argument %lld: %u %s given, counted from 0",
		        (long long)which, call->n, call->n == 1 ? "is" : "are");
	bool with_value = !strcmp(self->name, "_value_and_grad_at"),
		 partial = !strcmp(self->name, "_partial_at");
	Av *x = call->args[which];
	if (partial && x->kind == AV_ARRAY && ty(sp, x->ref)->rank == 0) {
		Site s = site(sp, captured[0], call, (uint32_t)which);
		if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
		Ref one = build_full(sp->b, ref_type(build_fn(sp->b), s.x->ref), 1);
		Av *dy;
		forward(&s, &one, &dy, call->span);
		return dy;
	}
	Site s = site(sp, captured[0], call, (uint32_t)which);
	if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
	if (x->kind == AV_ARRAY && s.nresults == 1 && !s.spec.effects) {
		Fn *both = ir_services(sp->c)->gradient(sp->c, s.spec.fn, s.active);
		if (both) {
			Ref out[2];
			uint32_t k = 0;
			sp_at(sp, call->span);
			build_call(sp->b, both, s.nargs, s.args, out);
			Av *value = av_rebuild(sp, s.spec.result, out, &k), *slopes = av_array(sp, out[1]);
			return with_value ? av_seq(sp, AV_TUPLE, 2, (Av *[]){value, slopes}) : slopes;
		}
	}
	Av *map, *y = linearised(&s, true, call->span, &map);
	want_real_scalar(sp, y, captured[0], call->span);
	Av *one = av_array(sp, build_full(sp->b, ref_type(build_fn(sp->b), y->ref), 1));
	Av *g = sp_call_args(sp, map, 1, &one, call->span);
	return with_value ? av_seq(sp, AV_TUPLE, 2, (Av *[]){y, g}) : g;
}

BUILTIN(grad) {
	UNUSED;
	Av *f = want_function(sp, call->args[0], call->spans[0], self->name);
	if (call->n > 1 && call->args[1]->kind == AV_ARRAY &&
	    (ty(sp, call->args[1]->ref)->rank ||
	     !dtype_is_int((Dtype)ty(sp, call->args[1]->ref)->dtype))) {
		Diag *d = diag_error(sp->c, E_TYPE, call->spans[1],
		                     "`%s` takes the number of an argument here, not %s", self->name,
		                     sp_type_text(sp, call->args[1]));
		diag_hint(sp->c, d, "at the point x it is %s(f)(x)", self->name);
		sp_throw(sp);
	}
	const char *name = self->name[0] == 'v'   ? "_value_and_grad_at"
	                   : self->name[0] == 'g' ? "_grad_at"
	                                          : "_partial_at";
	Av *items[2] = {f, call->n > 1 ? call->args[1] : NULL};
	return av_builtin(sp, name, call->n > 1 ? 2 : 1, items);
}

/* ---- checkpoints of loops ------------------------------------------------ */

#define SNAPSHOT_BYTES ((int64_t)256 << 20) /* memory for checkpoints when no limit is set */

/* A positive integer among the named arguments; 0 when it is not given. */
static int64_t amount(Sp *sp, const CallArguments *call, const char *name, const char *what) {
	Av *v = call_named(call, name, sp->c);
	if (!v || v->kind == AV_NONE) return 0;
	Span at = call->span;
	for (uint32_t i = 0; i < call->nnamed; i++)
		if (call->named[i] == v) at = call->named_spans[i];
	v = sp_want_array(sp, v, at, what);
	/* Accepts 64e6. */
	if (!ty(sp, v->ref)->rank && dtype_is_real((Dtype)ty(sp, v->ref)->dtype))
		v = av_array(sp, build_convert(sp->b, v->ref, DT_I64));
	int64_t n = sp_want_int(sp, v, at, what);
	if (n < 1) sp_fail(sp, E_VALUE, at, "%s is at least 1, not %lld", what, (long long)n);
	return n;
}

BUILTIN(checkpoint) {
	UNUSED;
	Av *f = want_function(sp, call->args[0], call->spans[0], "checkpoint");
	int64_t snapshots = amount(sp, call, "snapshots", "the number of snapshots"),
			bytes = amount(sp, call, "memory", "the memory for snapshots");
	if (snapshots && bytes)
		sp_fail(sp, E_VALUE, call->span,
		        "`checkpoint` takes a number of snapshots or the memory for them, not both");
	if (!snapshots && !bytes)
		bytes = heap_limit(sp->c) ? (int64_t)(heap_limit(sp->c) / 4) : SNAPSHOT_BYTES;
	Av *items[3] = {f, av_int(sp, snapshots), av_int(sp, bytes)};
	return av_builtin(sp, "_checkpointed", 3, items);
}

BUILTIN(checkpointed) {
	UNUSED;
	Specialisation s = sp_specialise(sp, sp_keep_rule(sp, captured[0]), call);
	/* Recursive: the enclosing call is the one with checkpoints. */
	if (s.promised) return sp_call(sp, captured[0], call);
	int64_t snapshots = sp_want_int(sp, captured[1], call->span, "the number of snapshots"),
			bytes = sp_want_int(sp, captured[2], call->span, "the memory for snapshots");
	uint32_t n = av_count_leaves(s.result), k = 0;
	Ref *results = ARENA_ARRAY(sp->a, Ref, n + 2);
	sp_at(sp, call->span);
	sp_emit_call(sp, ir_services(sp->c)->checkpoint(sp->c, s.fn, snapshots, bytes), s.nargs, s.args,
	             s.effects, results);
	if (s.effects) sp_set_effects(sp, results[n], results[n + 1]);
	return av_rebuild(sp, s.result, results, &k);
}

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

/* _checkpoints(f, x, ...): a list with one vector for each loop of a function
 * made by `checkpoint`, differentiated with respect to x. A loop with
 * checkpoints: line, trip count, bytes of a checkpoint, rows for checkpoints, 1
 * or 0. 1: the checkpoints are stored in the forward sweep, and one row is for
 * the state before the last iteration. A loop with tapes: line, -1, reason, 0,
 * 0. */
BUILTIN(checkpoints) {
	UNUSED;
	Av *f = call->args[0];
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = call->n - 1,
	                       .args = call->args + 1,
	                       .spans = call->spans + 1};
	if (f->kind != AV_FUNCTION || f->code_kind != CODE_BUILTIN ||
	    ((const Builtin *)f->code)->run != checkpointed) {
		Diag *d = diag_error(sp->c, E_TYPE, call->spans[0],
		                     "what a loop keeps for its derivative is explained of a function that "
		                     "`checkpoint` gives, not of %s",
		                     sp_type_text(sp, f));
		diag_hint(sp->c, d, "explain(checkpoint(f; snapshots = 20), x)");
		sp_throw(sp);
	}
	Site s = site(sp, f->items[0], &inner, 0);
	if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
	int64_t snapshots = sp_want_int(sp, f->items[1], call->span, "the number of snapshots"),
			bytes = sp_want_int(sp, f->items[2], call->span, "the memory for snapshots");
	const IrServices *ad = ir_services(sp->c);
	Ref result;
	sp_no_effects(
		sp, &s.spec, E_TYPE, call->span,
		"a function that prints or draws random numbers cannot be explained without doing so");
	sp_at(sp, call->span);
	build_call(
		sp->b,
		ad->checkpoint_report(sp->c, ad->checkpoint(sp->c, s.spec.fn, snapshots, bytes), s.active),
		s.nargs, s.args, &result);
	Dim five = dim_const(sp->c, 5), at = dim_const(sp->c, 0);
	int64_t n = 0;
	dim_is_const(sp->c, ty(sp, result)->dims[0], &n);
	Av **loops = ARENA_ARRAY(sp->a, Av *, (size_t)n / 5 + 1);
	for (int64_t k = 0; k < n / 5; k++, at = dim_const(sp->c, 5 * k))
		loops[k] = av_array(sp, build_slice(sp->b, result, &at, &five, NULL));
	return av_seq(sp, AV_LIST, (uint32_t)(n / 5), loops);
}

/* ---- Taylor -------------------------------------------------------------- */

/* _jet(f, x, (c1, c2, ...)): the value and Taylor coefficients of f along x +
 * c1 s + c2 s^2 + ... */
BUILTIN(jet) {
	UNUSED;
	Av *f = want_function(sp, call->args[0], call->spans[0], "jet");
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = 1,
	                       .args = call->args + 1,
	                       .spans = call->spans + 1};
	uint32_t order;
	Av **coefs;
	if (!sp_static_items(sp, call->args[2], &order, &coefs) || order == 0)
		sp_fail(sp, E_NOT_STATIC, call->spans[2], "a jet takes a tuple of directions");
	if (order > JET_MAX_ORDER)
		sp_fail(sp, E_VALUE, call->spans[2], "Taylor series go up to order %d, not %u",
		        JET_MAX_ORDER, order);
	Site s = site(sp, f, &inner, 0);
	if (fails(&s)) return sp_failed(sp, &s.spec, call->span);
	bool *result_active = ARENA_ARRAY(sp->a, bool, fn_nresults(s.spec.fn) + 1);
	Ref *along = ARENA_ARRAY(sp->a, Ref, (size_t)s.nactive * order + 1),
		*t = ARENA_ARRAY(sp->a, Ref, s.nactive + 1);
	uint32_t given = 1; /* coefficients: 1 when the others are statically zero */
	for (uint32_t k = 0; k < order; k++) {
		tangent_leaves(&s, coefs[k], call->spans[2], "a direction", t);
		for (uint32_t i = 0; i < s.nactive; i++) {
			along[i * order + k] = t[i];
			if (k && !is_zero(sp, t[i])) given = order;
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
	keep_effects(&s, results);
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

/* ---- batching ------------------------------------------------------------ */

/* A value of a row's type that cannot fail, even if there are no rows: the sum
 * of all rows. It is never computed. */
static Ref like_a_row(Sp *sp, Ref x) {
	const Dtype d = (Dtype)ty(sp, x)->dtype;
	const Ref sum = build_reduce(sp->b, OP_REDUCE_SUM,
	                             d == DT_BOOL ? build_convert(sp->b, x, DT_I64) : x, 1, (int[]){0});
	return build_convert(sp->b, sum, d);
}

/* One row of each leaf: the arguments of one call of the mapped function. */
static Av *first_row(Sp *sp, Av *v, Dim *n, const char *name, Span at) {
	uint32_t count = av_count_leaves(v), k = 0;
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, count + 1);
	av_leaves(v, leaves, &k);
	for (uint32_t i = 0; i < count; i++) {
		const Type *t = ty(sp, leaves[i]);
		if (t->kind != TY_TENSOR || t->rank == 0)
			sp_fail(sp, E_RANK, at, "`%s` runs over rows, and %s has none", name,
			        sp_type_text(sp, v));
		Dim d = build_canon(sp->b, t->dims[0]);
		Atom what = atom_f(sp->c, "`%s` runs over arrays of one length", name);
		if (*n == UINT32_MAX) *n = d;
		else if (!build_unify(sp->b, *n, d, what)) {
			char first[64];
			dim_print(sp->c, *n, NULL, NULL, first, sizeof first);
			sp_fail(sp, E_SHAPE, at, "%s: the first has %s, this is %s", atom_text(sp->c, what),
			        first, sp_type_text(sp, v));
		}
		leaves[i] = like_a_row(sp, leaves[i]);
	}
	k = 0;
	return av_rebuild(sp, v, leaves, &k);
}

/* f of each field of records with the same fields, as a record. */
static Av *map_fields(Sp *sp, Av *f, const CallArguments *call) {
	const uint32_t n = call->n - 1;
	const Av *first = call->args[1];
	for (uint32_t i = 0; i < n; i++) {
		const Av *r = call->args[1 + i];
		bool same = r->kind == AV_RECORD && first->kind == AV_RECORD && r->n == first->n;
		for (uint32_t k = 0; same && k < r->n; k++) same = av_field(first, r->names[k]) != NULL;
		if (same) continue;
		Diag *d =
			diag_error(sp->c, E_TYPE, call->spans[1 + i],
		               "`map` over a record takes records with the same fields, not %s beside %s",
		               sp_type_text(sp, r), sp_type_text(sp, first));
		diag_hint(sp->c, d, "map_rows(f, r, ...) runs over the rows of the arrays in a record");
		sp_throw(sp);
	}
	Av **out = ARENA_ARRAY(sp->a, Av *, first->n + 1), **row = ARENA_ARRAY(sp->a, Av *, n);
	for (uint32_t k = 0; k < first->n; k++) {
		for (uint32_t i = 0; i < n; i++) row[i] = av_field(call->args[1 + i], first->names[k]);
		out[k] = sp_call_args(sp, f, n, row, call->span);
	}
	return av_record(sp, first->n, first->names, out);
}

static Av *map_rows_of(Sp *sp, const char *name, Av *f, const CallArguments *call);

BUILTIN(map) {
	UNUSED;
	Av *f = sp_keep_rule(sp, want_function(sp, call->args[0], call->spans[0], "map"));
	uint32_t n = call->n - 1;
	if (n == 0) sp_fail(sp, E_ARITY, call->span, "`map` takes a function and what it runs over");
	bool lists = false;
	for (uint32_t i = 0; i < n; i++) {
		const AvKind kind = call->args[1 + i]->kind;
		if (kind == AV_RECORD) return map_fields(sp, f, call);
		lists |= kind == AV_LIST || kind == AV_TUPLE;
	}
	if (lists) {
		Av **out = NULL;
		Av **row = ARENA_ARRAY(sp->a, Av *, n);
		uint32_t len = UINT32_MAX;
		Av ***items = ARENA_ARRAY(sp->a, Av **, n);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t m;
			if (!sp_static_items(sp, call->args[1 + i], &m, &items[i]))
				sp_fail(sp, E_TYPE, call->spans[1 + i],
				        "`map` over a list needs its other arguments as lists");
			if (len != UINT32_MAX && m != len)
				sp_fail(sp, E_SHAPE, call->spans[1 + i],
				        "`map` runs over lists of one length, and these have %u and %u", len, m);
			len = m;
		}
		out = ARENA_ARRAY(sp->a, Av *, len + 1);
		for (uint32_t k = 0; k < len; k++) {
			for (uint32_t i = 0; i < n; i++) row[i] = items[i][k];
			out[k] = sp_call_args(sp, f, n, row, call->span);
		}
		return av_seq(sp, (AvKind)call->args[1]->kind == AV_TUPLE ? AV_TUPLE : AV_LIST, len, out);
	}
	return map_rows_of(sp, "map", f, call);
}

/* As map, but only over rows: those of an array, or of all arrays in a record
 * or tuple. */
BUILTIN(map_rows) {
	UNUSED;
	return map_rows_of(
		sp, "map_rows",
		sp_keep_rule(sp, want_function(sp, call->args[0], call->spans[0], "map_rows")), call);
}

static Av *map_rows_of(Sp *sp, const char *name, Av *f, const CallArguments *call) {
	const uint32_t n = call->n - 1;
	Dim length = UINT32_MAX;
	Av **xs = ARENA_ARRAY(sp->a, Av *, n), **rows = ARENA_ARRAY(sp->a, Av *, n);
	for (uint32_t i = 0; i < n; i++) {
		xs[i] = call->args[1 + i];
		if (xs[i]->kind != AV_RECORD && xs[i]->kind != AV_TUPLE && xs[i]->kind != AV_LIST)
			xs[i] = sp_want_array(sp, xs[i], call->spans[1 + i], name);
		rows[i] = first_row(sp, av_strong(sp, xs[i]), &length, name, call->spans[1 + i]);
	}
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = n,
	                       .args = rows,
	                       .spans = call->spans + 1,
	                       .rows = true};
	Specialisation s = sp_specialise(sp, f, &inner);
	if (has_range(s.result))
		sp_fail(sp, E_TYPE, call->span,
		        "`map` makes arrays, and the function gives a range for each row");
	uint32_t first = 0;
	for (uint32_t i = 0; i < f->n; i++) first += av_count_leaves(f->items[i]);
	bool *batched = ARENA_ARRAY(sp->a, bool, s.nargs + 3);
	Ref *args = ARENA_ARRAY(sp->a, Ref, s.nargs + 2),
		*leaves = ARENA_ARRAY(sp->a, Ref, s.nleaves + 1);
	for (uint32_t i = 0; i < s.nargs; i++) args[i] = s.args[i];
	uint32_t k = 0;
	for (uint32_t i = 0; i < n; i++) av_leaves(xs[i], leaves, &k);
	for (uint32_t i = 0; i < k; i++) {
		int p = s.param_of_leaf[first + i];
		if (p < 0)
			sp_fail(sp, E_NOT_STATIC, call->span,
			        "the mapped function needs to know an element to know a shape");
		args[p] = leaves[i];
		batched[p] = true;
	}
	uint32_t nargs = s.nargs;
	if (s.effects) {
		sp_effects(sp, &args[nargs], &args[nargs + 1], call->span);
		nargs += 2;
	}
	Fn *b = ir_services(sp->c)->batch(sp->c, s.fn, batched);
	Ref *results = ARENA_ARRAY(sp->a, Ref, fn_nresults(b) + 1);
	sp_at(sp, call->span);
	build_call(sp->b, b, nargs, args, results);
	uint32_t nr = av_count_leaves(s.result);
	if (s.effects) {
		Ref rng = results[nr];
		if (ty(sp, rng)->rank == 2) rng = build_gather(sp->b, rng, build_i64(sp->b, 0), 0, 0);
		sp_set_effects(sp, rng, results[nr + 1]);
	}
	k = 0;
	return av_rebuild(sp, s.result, results, &k);
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

const Builtin builtins_deriv[] = {
	{.name = "jvp",
     .min_args = 3,
     .max_args = 3,
     .run = jvp,
     .doc = "jvp(f, x, dx): (f(x), derivative of f at x along dx). What is written as 0 in a tuple "
            "or record dx is not differentiated by: a column of a Jacobian costs no more than what "
            "depends on its variable"},
	{.name = "vjp",
     .min_args = 2,
     .max_args = -1,
     .run = vjp,
     .doc = "vjp(f, x, ...): (f(x), function from a cotangent of f(x) to a cotangent of x)"},
	{.name = "linearize",
     .min_args = 2,
     .max_args = -1,
     .run = vjp,
     .doc = "linearize(f, x): (f(x), the derivative of f at x as a function)"},
	{.name = "grad",
     .min_args = 1,
     .max_args = 2,
     .run = grad,
     .doc = "grad(f): the gradient of f with respect to its first argument, as a function; grad(f, "
            "i) for argument i"},
	{.name = "value_and_grad",
     .min_args = 1,
     .max_args = 2,
     .run = grad,
     .doc = "value_and_grad(f): x -> (f(x), gradient)"},
	{.name = "∂",
     .min_args = 2,
     .max_args = 2,
     .run = grad,
     .doc = "∂(f, i): the partial derivative of f with respect to argument i, as a function"},
	{.name = "partial",
     .min_args = 2,
     .max_args = 2,
     .run = grad,
     .doc = "partial(f, i): the same as ∂(f, i)"},
	{.name = "checkpoint",
     .min_args = 1,
     .max_args = 1,
     .named = "snapshots memory",
     .run = checkpoint,
     .doc = "checkpoint(f; snapshots, memory): f, whose loops keep so many snapshots, or as many "
            "as fit into so many bytes, when they are differentiated in reverse"},
	{.name = "map_rows",
     .min_args = 2,
     .max_args = -1,
     .run = map_rows,
     .doc = "map_rows(f, r, ...): f of each row of all arrays that a record or tuple r is made of, "
            "which are of one length: f sees a record of rows"},
	{.name = "map",
     .min_args = 2,
     .max_args = -1,
     .run = map,
     .doc = "map(f, xs, ...): f of each row, all at once; over tuples, lists and the fields of "
            "records one by one"},
	{.name = "flatten",
     .min_args = 1,
     .max_args = 1,
     .run = flatten,
     .doc = "flatten(p): (vector of all real numbers in p, function that puts a vector back into "
            "the form of p)"},
	{.name = "_slope", .min_args = 2, .max_args = 2, .run = slope},
	{.name = "_jet", .min_args = 3, .max_args = 3, .run = jet},
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
	{.name = "_derivative", .min_args = -1, .max_args = -1, .named = "*", .run = derivative_of},
	{.name = "_grad_at", .min_args = -1, .max_args = -1, .named = "*", .run = grad_at},
	{.name = "_value_and_grad_at", .min_args = -1, .max_args = -1, .named = "*", .run = grad_at},
	{.name = "_partial_at", .min_args = -1, .max_args = -1, .named = "*", .run = grad_at},
	{.name = "_checkpointed", .min_args = -1, .max_args = -1, .named = "*", .run = checkpointed},
	{.name = "_in_reverse", .min_args = 2, .max_args = 2, .run = in_reverse},
	{.name = "_with_reverse", .min_args = -1, .max_args = -1, .named = "*", .run = with_reverse},
	{.name = "_checkpoints", .min_args = 2, .max_args = -1, .run = checkpoints},
	{.name = "_pullback", .min_args = 1, .max_args = 1, .run = pullback},
	{.name = "_pushforward", .min_args = 1, .max_args = 1, .run = pushforward},
	{.name = "_columns", .min_args = 1, .max_args = 1, .run = columns},
	{.name = "_spread", .min_args = 1, .max_args = 1, .run = spread},
	{.name = "_unflatten", .min_args = 1, .max_args = 1, .run = unflatten},
	{.name = NULL},
};
