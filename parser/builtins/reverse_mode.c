/* reverse_mode.c - builtins for derivatives in reverse mode: grad, vjp,
 * linearize, and checkpoints of loops.
 *
 * Needs: derivative_site.h, the transforms of ir_services.
 *
 * Contract: as forward_mode.c. A linear map is a function value, which captures
 * the residuals of the primal function.
 */
#include "parser/builtins/derivative_site.h"

/* ---- linear maps --------------------------------------------------------- */

static Av *mask_tuple(Sp *sp, const bool *mask, uint32_t n) {
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++) items[i] = av_string(sp, mask[i] ? "1" : "0");
	return av_seq(sp, AV_TUPLE, n, items);
}

/* Closures have the functions of a linearisation. The session keeps them
 * alive. */
static Av *kept_fn(Sp *sp, Fn *f, uint32_t newest) {
	session_keep_numbered(sp->session, f, newest);
	return av_function(sp, CODE_FN, f->id, f, 0, 0, NULL, NULL);
}

static Fn *fn_kept(Sp *sp, const Av *v) { return fn_get(sp->c, v->code_id); }

/* Returns y and stores the linear map, or its transpose, as a closure.
 * Captured: the linear function, x, y, the masks of active leaves
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
	site_keep_effects(s, results);
	uint32_t k = 0, nf = fn_nresults(s->spec.fn);
	Av *y = av_rebuild(sp, s->spec.result, results, &k);
	bool *x_mask = ARENA_ARRAY(sp->a, bool, s->nx + 1);
	for (uint32_t i = 0; i < s->nactive; i++) x_mask[s->active_leaf[i]] = true;
	Av **res = ARENA_ARRAY(sp->a, Av *, nres + 1);
	for (uint32_t i = 0; i < nres; i++)
		res[i] = ty(sp, results[nf + i])->kind == TY_DYN ? av_dyn(sp, results[nf + i])
		                                                 : av_array(sp, results[nf + i]);
	Av *items[6] = {kept_fn(sp, linear, s->spec.newest),
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
	Fn *linear = fn_kept(sp, captured[0]);
	const Av *res = captured[5];
	Av *given = call->args[0];
	if (in->kind == AV_ARRAY) given = sp_want_array(sp, given, call->spans[0], what);
	uint32_t n = av_count_leaves(in), m = av_count_leaves(out), k = 0, j = 0, nargs = 0;
	if (av_count_leaves(given) != n || given->kind != in->kind)
		sp_fail(sp, E_TYPE, call->spans[0], "%s must be made like the value: %s for %s", what,
		        sp_type_text(sp, given), sp_type_text(sp, in));
	Av **gl = ARENA_ARRAY(sp->a, Av *, n + 1);
	Ref *il = ARENA_ARRAY(sp->a, Ref, n + 1), *ol = ARENA_ARRAY(sp->a, Ref, m + 1);
	av_leaf_values(given, gl, &k);
	k = 0;
	av_leaves(in, il, &k);
	av_leaves(out, ol, &j);
	Ref *args = ARENA_ARRAY(sp->a, Ref, res->n + n + 1);
	for (uint32_t i = 0; i < res->n; i++) args[nargs++] = res->items[i]->ref;
	for (uint32_t i = 0; i < n; i++)
		if (mask_bit(sp->c, in_mask, i))
			args[nargs++] = site_leaf(sp, gl[i], il[i], call->spans[0], what, "a value");
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
	Fn *matrix = ir_services(sp->c)->small_jacobian(sp->c, fn_kept(sp, held[0]), res->n);
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
	CallArguments inner = builtin_inner_call(call, call->n - 1);
	if (call->n == 2) {
		Site s = site_of(sp, f, &inner, 0);
		if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
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
	Site s = site_of(sp, spreader, &one, 0);
	if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
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

/* ---- gradients ----------------------------------------------------------- */

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
		Site s = site_of(sp, captured[0], call, (uint32_t)which);
		if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
		Ref one = build_full(sp->b, ref_type(build_fn(sp->b), s.x->ref), 1);
		Av *dy;
		site_forward(&s, &one, &dy, call->span);
		return dy;
	}
	Site s = site_of(sp, captured[0], call, (uint32_t)which);
	if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
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

/* _checkpoints(f, x, ...): a list with one vector for each loop of a function
 * made by `checkpoint`, differentiated with respect to x. A loop with
 * checkpoints: line, trip count, bytes of a checkpoint, rows for checkpoints, 1
 * or 0. 1: the checkpoints are stored in the forward sweep, and one row is for
 * the state before the last iteration. A loop with tapes: line, -1, reason, 0,
 * 0. */
BUILTIN(checkpoints) {
	UNUSED;
	Av *f = call->args[0];
	CallArguments inner = builtin_inner_call(call, call->n - 1);
	if (f->kind != AV_FUNCTION || f->code_kind != CODE_BUILTIN ||
	    ((const Builtin *)f->code)->run != checkpointed) {
		Diag *d = diag_error(sp->c, E_TYPE, call->spans[0],
		                     "what a loop keeps for its derivative is explained of a function that "
		                     "`checkpoint` gives, not of %s",
		                     sp_type_text(sp, f));
		diag_hint(sp->c, d, "explain(checkpoint(f; snapshots = 20), x)");
		sp_throw(sp);
	}
	Site s = site_of(sp, f->items[0], &inner, 0);
	if (site_fails(&s)) return sp_failed(sp, &s.spec, call->span);
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

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_reverse[] = {
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
	{.name = "_grad_at", .min_args = -1, .max_args = -1, .named = "*", .run = grad_at},
	{.name = "_value_and_grad_at", .min_args = -1, .max_args = -1, .named = "*", .run = grad_at},
	{.name = "_partial_at", .min_args = -1, .max_args = -1, .named = "*", .run = grad_at},
	{.name = "_checkpointed", .min_args = -1, .max_args = -1, .named = "*", .run = checkpointed},
	{.name = "_checkpoints", .min_args = 2, .max_args = -1, .run = checkpoints},
	{.name = "_pullback", .min_args = 1, .max_args = 1, .run = pullback},
	{.name = "_pushforward", .min_args = 1, .max_args = 1, .run = pushforward},
	{.name = "_columns", .min_args = 1, .max_args = 1, .run = columns},
	{.name = "_spread", .min_args = 1, .max_args = 1, .run = spread},
	{.name = NULL},
};
