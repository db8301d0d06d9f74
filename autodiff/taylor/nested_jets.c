/* nested_jets.c - derivatives of derivatives along one scalar, as one Taylor
 * expansion.
 *
 * Needs: nested_jets.h.
 *
 * Contract:
 * - As in nested_jets.h.
 * - The function's Origin records the expansion. It refers to the expanded
 *   function by id, because that function may have been freed.
 */
#include "autodiff/taylor/nested_jets.h"
#include "autodiff/taylor/jet.h"

/* ---- which functions ----------------------------------------------------- */

/* Solvers have their own second derivatives, and the QR factorisation of a
 * matrix that is not square has no series; these are nested instead. So are
 * recursive functions, whose expansions are not finished when they would be
 * needed. */
static bool has_series_throughout(Arena *scratch, const Fn *f) {
	uint32_t n;
	const Fn **all = fn_callees(scratch, f, false, &n);
	for (uint32_t k = 0; k < n; k++) {
		if (k && !all[k]->finished) return false;
		for (uint32_t i = 0; i < all[k]->insts.n; i++) {
			const Inst *in = &all[k]->insts.at[i];
			if (in->op == OP_HOST || in->op == OP_QR || in->op == OP_DYNAMIC) return false;
			if (in->op == OP_CALL && (!inst_callee(f->ctx, in) || inst_callee(f->ctx, in) == f))
				return false;
		}
	}
	return true;
}

void nested_jet_mark(const Transform *d, uint32_t order, TransformInfo *origin) {
	uint32_t n = 0, param = 0;
	for (uint32_t i = 0; i < d->nmask; i++) {
		if (!d->mask[i]) continue;
		param = i;
		n++;
	}
	if (n != 1 || d->recursive) return;
	const Type *t = ref_ty(d->from, fn_param(d->from, param));
	if (t->kind != TY_TENSOR || t->rank || !dtype_is_real((Dtype)t->dtype)) return;
	if (!has_series_throughout(d->scratch, d->from)) return;
	origin->nested_order = order;
	origin->nested_param = param;
	origin->nested_of = d->from->id;
}

bool nested_jet_match(Ctx *c, const Inst *call, const bool *active, uint32_t more, NestedJet *out) {
	const Fn *g = inst_callee(c, call);
	if (!g || !g->finished) return false;
	const TransformInfo o = transform_info(g);
	Fn *f = o.nested_order ? fn_get(c, o.nested_of) : NULL;
	const Transform *d = f && f->finished ? transform_that_made(f, g) : NULL;
	if (!d || !d->done || o.nested_order + more > JET_MAX_ORDER) return false;
	for (uint32_t i = 0; i < call->nargs; i++)
		if (active[i] != (i == o.nested_param)) return false;
	*out = (NestedJet){f, o.nested_order, o.nested_param, d->result_active};
	return true;
}

/* ---- the nested jet of higher order -------------------------------------- */

/* x may be complex where the scalar is real. */
static Ref times(Builder *b, Ref x, Ref number) {
	const Dtype d = (Dtype)ref_ty(build_fn(b), x)->dtype;
	return build2(b, OP_MUL, x,
	              build_broadcast_scalar(b, build_convert(b, number, d), ref_type(build_fn(b), x)));
}

static double choose(uint32_t n, uint32_t k) {
	double c = 1;
	for (uint32_t i = 0; i < k; i++) c = c * (n - i) / (i + 1);
	return c;
}

void nested_jet_expand(Ctx *c, Builder *b, Arena *scratch, const NestedJet *nested, const Ref *args,
                       Ref t, uint32_t more, Ref *results, Ref *further) {
	const Fn *f = nested->f;
	const uint32_t nparams = fn_nparams(f), nresults = fn_nresults(f), order = nested->order + more;
	bool *mask = ARENA_ARRAY(scratch, bool, nparams + 1),
		 *moves = ARENA_ARRAY(scratch, bool, nresults + 1);
	mask[nested->param] = true;
	Fn *jet = ad_jet(c, nested->f, order, true, mask, moves);
	Ref *along = ARENA_ARRAY(scratch, Ref, nparams + 1),
		*coef = ARENA_ARRAY(scratch, Ref, fn_nresults(jet) + 1);
	memcpy(along, args, nparams * sizeof *along);
	along[nparams] = build_full(b, ref_type(build_fn(b), args[nested->param]), 1);
	build_call(b, jet, nparams + 1, along, coef);

	/* Powers of the direction and of the scalar's change. */
	Ref *v = ARENA_ARRAY(scratch, Ref, order + 1), *u = ARENA_ARRAY(scratch, Ref, order + 1);
	v[0] = u[0] = along[nparams];
	for (uint32_t k = 1; k <= order; k++) {
		v[k] = build2(b, OP_MUL, v[k - 1], args[nparams]);
		u[k] = build2(b, OP_MUL, u[k - 1], t);
	}
	uint32_t at = nresults, out = nresults;
	for (uint32_t i = 0; i < nresults; i++) {
		const Ref *y = moves[i] ? coef + at : NULL; /* y[k - 1] is coefficient k */
		if (moves[i]) at += order;
		results[i] = coef[i];
		for (uint32_t k = 1; k <= more; k++)
			further[i * more + k - 1] = y ? times(b, y[k - 1], u[k]) : REF_NONE;
		if (!nested->moves[i]) continue;
		for (uint32_t m = 1; m <= nested->order; m++, out++) {
			results[out] =
				y ? times(b, y[m - 1], v[m]) : build_zeros(b, ref_type(build_fn(b), coef[i]));
			for (uint32_t k = 1; k <= more; k++) {
				Ref *to = &further[out * more + k - 1];
				*to = REF_NONE;
				if (!y) continue;
				const Ref scale = build2(b, OP_MUL, build2(b, OP_MUL, v[m], u[k]),
				                         build_full(b, ref_type(build_fn(b), t), choose(m + k, k)));
				*to = times(b, y[m + k - 1], scale);
			}
		}
	}
}
