/* gradient.c - the gradient of a scalar with respect to a short vector, in both
 * modes.
 *
 * Method: reverse mode by default, since it costs least on its own. A forward
 * form, with one tangent for each element of the vector, is available to
 * optimise.c. It is cheaper where the program already expands the same function
 * in the same directions: the tangents are then shared.
 *
 * A function with a reverse override (an integration) is run twice in reverse
 * mode: once to find its steps, and once to go back. With respect to one or two
 * variables, tangents in a single run cost less.
 *
 * Needs: transform_cache.h.
 *
 * Contract:
 * - As for ad_gradient in autodiff.h.
 */
#include "autodiff/optimise/sum_pushdown.h"
#include "autodiff/reverse/primal_linear.h"

enum { DIRECTIONS_MOST = 16, FEW = 2 };

static Builder *begin_like(Ctx *c, const Transform *d, const char *name, Ref *params) {
	const Fn *f = d->from;
	Builder *b = build_begin(c, transform_name(c, f, name), f->span, f);
	build_derivative(b);
	for (uint32_t i = 0; i < fn_nparams(f); i++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, i))];
		params[i] = build_param(b, v->type, v->name);
	}
	build_at(b, f->span);
	return b;
}

static void make_reverse(Ctx *c, Transform *d) {
	Fn *f = d->from;
	const uint32_t n = fn_nparams(f);
	const Linearised *l = ad_linearise(c, f, d->mask);
	Fn *back = ad_transpose(c, l->linear, l->nresiduals);
	Ref *args = ARENA_ARRAY(d->scratch, Ref, n + 1),
		*made = ARENA_ARRAY(d->scratch, Ref, l->nresiduals + 3), result[2];
	Builder *b = begin_like(c, d, "grad", args);
	d->fn = build_fn(b);
	build_call(b, l->primal, n, args, made);
	result[0] = made[0];
	made[l->nresiduals + 1] = build_full(b, ref_type(f, fn_result(f, 0)), 1);
	build_call(b, back, l->nresiduals + 1, made + 1, &result[1]);
	transform_own(d, build_end(b, 2, result));
	transform_info_set(c, d->fn, (TransformInfo){.is_gradient = true, .gradient_of = f->id});
}

/* The identity matrix, built exactly as the library's `eye` builds it, so that
 * both are one value in a program that expands along `eye`. */
static Ref unit_vectors(Builder *b, Type x) {
	Ctx *c = build_ctx(b);
	const Dim n = x.dims[0], one = dim_const(c, 1), column[2] = {n, one}, row[2] = {one, n},
			  square[2] = {n, n};
	const Ref i = build_iota(b, DT_I64, n);
	const Ref down = build_broadcast(b, build_reshape(b, i, 2, column), 2, square, (int[]){0, 1});
	const Ref across = build_broadcast(b, build_reshape(b, i, 2, row), 2, square, (int[]){0, 1});
	return build_convert(b, build_convert(b, build2(b, OP_EQ, down, across), DT_F64),
	                     (Dtype)x.dtype);
}

/* With respect to one scalar. */
static void make_derivative(Ctx *c, Transform *d) {
	Fn *f = d->from, *jvp = ad_jvp(c, f, d->mask, NULL);
	const uint32_t n = fn_nparams(f);
	Ref *args = ARENA_ARRAY(d->scratch, Ref, n + 2), result[2];
	Builder *b = begin_like(c, d, "slope", args);
	d->fn = build_fn(b);
	args[n] = build_full(b, ref_type(jvp, fn_param(jvp, n)), 1);
	build_call(b, jvp, n + 1, args, result);
	transform_own(d, build_end(b, 2, result));
	transform_info_set(c, d->fn, (TransformInfo){.is_few = true});
}

static void make_forward(Ctx *c, Transform *d) {
	Fn *f = d->from;
	const uint32_t n = fn_nparams(f);
	bool active[1] = {false}, *batched = ARENA_ARRAY(d->scratch, bool, n + 1), lanes[2];
	Fn *jet = ad_jet(c, f, 1, false, d->mask, active);
	batched[n] = true;
	Fn *batch = ad_batch_partly(c, jet, batched, lanes);
	Ref *args = ARENA_ARRAY(d->scratch, Ref, n + 1), result[2];
	Builder *b = begin_like(c, d, "slopes", args);
	d->fn = build_fn(b);
	for (uint32_t i = 0; i < n; i++)
		if (d->mask[i]) args[n] = unit_vectors(b, *ref_ty(f, fn_param(f, i)));
	build_call(b, batch, n + 1, args, result);
	transform_own(d, build_end(b, 2, result));
	transform_info_set(c, d->fn, (TransformInfo){.is_few = true});
}

Fn *ad_gradient(Ctx *c, Fn *f, const bool *active) {
	const Type y = *ref_ty(f, fn_result(f, 0));
	uint32_t n = 0;
	int64_t length = 0;
	bool number = false;
	if (!f->finished || fn_nresults(f) != 1 || y.kind != TY_TENSOR || y.rank ||
	    !dtype_is_real((Dtype)y.dtype))
		return NULL;
	for (uint32_t i = 0; i < fn_nparams(f); i++) {
		if (!active[i]) continue;
		const Type x = *ref_ty(f, fn_param(f, i));
		number = !x.rank && x.kind == TY_TENSOR && x.dtype == y.dtype;
		if (number && !n++) continue;
		if (++n > 1 || x.rank != 1 || x.dtype != y.dtype || !dim_is_const(c, x.dims[0], &length) ||
		    length < 1 || length > DIRECTIONS_MOST)
			return NULL;
	}
	if (n != 1) return NULL;
	bool moves = false;
	ad_jvp(c, f, active, &moves);
	if (!moves) return NULL;
	const bool few = (number || length <= FEW) && has_reverse_override(c, f);
	if (few)
		return transform_get(c, f, TR_FORWARD_GRADIENT, 0, active,
		                     number ? make_derivative : make_forward)
		    ->fn;
	return number ? NULL : transform_get(c, f, TR_GRADIENT, 0, active, make_reverse)->fn;
}

Fn *gradient_forward(Ctx *c, Fn *gradient) {
	const TransformInfo o = transform_info(gradient);
	const Fn *f = o.is_gradient ? fn_get(c, o.gradient_of) : NULL;
	const Transform *d = f ? transform_that_made(f, gradient) : NULL;
	return d && d->done
	           ? transform_get(c, d->from, TR_FORWARD_GRADIENT, 0, d->mask, make_forward)->fn
	           : NULL;
}

bool is_gradient(const Fn *f) { return transform_info(f).is_gradient; }
