/* reverse_override.c - functions with a substitute for reverse mode.
 *
 * Method: a loop over steps whose number and size are not known in advance
 * stores everything on growing tapes. The substitute runs the loop without
 * derivatives, stores where each step began, and runs these steps again one by
 * one. The library's integrators have such substitutes
 * (stdlib/ode/ode_reverse.dsl).
 *
 * Needs: primal_linear.h.
 *
 * Contract:
 * - As for ad_reverse_override in autodiff.h.
 * - Programs call the original, so values, forward derivatives, expansions and
 *   batches cost the same as without a substitute.
 * - Where a caller is linearised, its calls are inlined with the substitute.
 * - In anything derived before that, such as the reverse mode of a forward
 *   derivative, the original is an ordinary function.
 */
#include "autodiff/reverse/primal_linear.h"

static void make_reverse_override(Ctx *c, Transform *d) {
	Fn *f = d->from, *other = fn_get(c, (FnId)d->order);
	transform_wrap(c, d);
	fn_ref(other);
	transform_own(d, other);
	/* The checkpoint attribute prevents inlining before derivatives are
	 * taken. */
	d->fn->checkpoint = attr_intern(c, (int64_t[]){1, 0}, 2);
	transform_info_set(c, d->fn, (TransformInfo){.reverse_override = other, .overridden = f});
}

static bool alike(const Fn *f, const Fn *other, uint32_t n, Ref (*of)(const Fn *f, uint32_t k)) {
	for (uint32_t k = 0; k < n; k++) {
		const Type *x = ref_ty(f, of(f, k)), *y = ref_ty(other, of(other, k));
		if (x->kind != y->kind || x->dtype != y->dtype || x->rank != y->rank) return false;
	}
	return true;
}

static Ref param_of(const Fn *f, uint32_t k) { return fn_param(f, k); }
static Ref result_of(const Fn *f, uint32_t k) { return fn_result(f, k); }

Fn *ad_reverse_override(Ctx *c, Fn *f, Fn *other) {
	if (f == other || fn_nparams(f) != fn_nparams(other) || fn_nresults(f) != fn_nresults(other))
		return f;
	if (!alike(f, other, fn_nparams(f), param_of) || !alike(f, other, fn_nresults(f), result_of))
		return f;
	return transform_get(c, f, TR_REVERSE_OVERRIDE, other->id, NULL, make_reverse_override)->fn;
}

static Fn *instead(void *ud, Fn *g) {
	(void)ud;
	Fn *other = transform_info(g).reverse_override;
	return other ? other : g;
}

static Fn *forward(void *ud, Fn *g) {
	(void)ud;
	Fn *f = transform_info(g).overridden;
	return f ? f : g;
}

Fn *flatten_forward(Ctx *c, Fn *f) { return fn_inline_calls_with(c, f, forward, NULL); }

static void make_reversed(Ctx *c, Transform *d) {
	Fn *f = d->from, *written = fn_inline_calls_with(c, f, instead, NULL);
	TransformInfo o = transform_info(f);
	o.reversed = true;
	if (written) transform_info_set(c, written, o);
	else fn_ref(written = f);
	d->fn = transform_own(d, written);
}

bool has_reverse_override(Ctx *c, const Fn *f) {
	Arena *scratch = arena_new(c);
	uint32_t n;
	const Fn **all = fn_callees(scratch, f, false, &n);
	bool any = false;
	for (uint32_t k = 0; k < n; k++) any |= transform_info(all[k]).reverse_override != NULL;
	arena_free(scratch);
	return any;
}

Fn *apply_reverse_overrides(Ctx *c, Fn *f) {
	return f->finished && has_reverse_override(c, f)
	           ? transform_get(c, f, TR_OVERRIDES_APPLIED, 0, NULL, make_reversed)->fn
	           : f;
}
