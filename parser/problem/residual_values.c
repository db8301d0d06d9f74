/* residual_values.c - numeric residuals of a problem, and the linear algebra of
 * its checks.
 *
 * Needs: residual_values.h; ir_services for running a function.
 *
 * Contract: an evaluation that fails leaves no message.
 */
#include "parser/problem/residual_values.h"

#include <math.h>

static Value vector_value(Ctx *c, uint32_t n, const double *x) {
	Tensor *t = tensor_new(c, DT_F64, 1, &(int64_t){n});
	if (!t) return value_none();
	memcpy(t->data, x, n * sizeof *x);
	return value_tensor(t);
}

static bool numbers_of(Ctx *c, Value v, uint32_t n, double *out) {
	if (v.kind == V_SCALAR) return n == 1 && value_as_f64(v, out);
	if (v.kind != V_TENSOR || value_dtype(v) != DT_F64 || v.tensor->count != n) return false;
	Tensor *t = tensor_contiguous(c, v.tensor);
	if (!t) return false;
	memcpy(out, t->data, n * sizeof *out);
	value_unref(value_tensor(t));
	return true;
}

bool residual_at(const ProblemResiduals *s, const Residual *r, const double *coords,
                 const double *jets, double *out) {
	Sp *sp = s->sp;
	const Layout *l = s->l;
	const Specialisation *spec = &r->spec;
	if (!spec->fn || spec->promised || spec->effects || fn_nresults(spec->fn) != 1) return false;
	const uint32_t captured = spec->nleaves - l->ncoords - l->njets -
	                          (r->boundary.location == LOCATION_PART && r->at ? l->nspace : 0);
	Value *args = ARENA_ARRAY(sp->a, Value, spec->nargs + 1), result = {.kind = V_UNSET};
	bool good = true;
	memset(args, 0, (spec->nargs + 1) * sizeof *args);
	for (uint32_t leaf = 0; leaf < spec->nleaves && good; leaf++) {
		const int k = spec->param_of_leaf[leaf];
		if (leaf < captured) {
			if (k < 0) continue;
			const Const *known =
				ref_is_const(spec->args[k]) ? ref_constant(build_fn(sp->b), spec->args[k]) : NULL;
			good = known != NULL;
			if (good) args[k] = value_ref(known->value);
			continue;
		}
		good = k >= 0;
		if (!good) break;
		const uint32_t i = leaf - captured;
		if (i < l->ncoords) args[k] = value_f64(coords[i]);
		else if (i < l->ncoords + l->njets) {
			const uint32_t j = i - l->ncoords, field = l->jets[j].field;
			args[k] = s->sizes[field]
			              ? vector_value(sp->c, (uint32_t)s->sizes[field], jets + s->offset[j])
			              : value_f64(jets[s->offset[j]]);
		} else args[k] = value_f64(i == l->ncoords + l->njets ? 1 : 0); /* a normal */
	}
	if (good) {
		const uint32_t mark = diag_total(sp->c);
		good = ir_services(sp->c)->run(sp->c, spec->fn, args, &result) == ST_OK &&
		       numbers_of(sp->c, result, residual_rows(r), out);
		diag_truncate(sp->c, mark);
		value_unref(result);
	}
	for (uint32_t k = 0; k < spec->nargs; k++) value_unref(args[k]);
	for (uint32_t i = 0; good && i < residual_rows(r); i++) good = isfinite(out[i]);
	return good;
}

bool residual_slope(const ProblemResiduals *s, const Residual *r, const double *coords,
                    const double *base, uint32_t component, bool any, double *out) {
	const uint32_t n = residual_rows(r);
	double *at = ARENA_ARRAY(s->sp->a, double, s->total + 1),
		   *zero = ARENA_ARRAY(s->sp->a, double, 2 * n + 1), *twice = zero + n;
	memcpy(at, base, s->total * sizeof *at);
	if (!residual_at(s, r, coords, at, zero)) return false;
	at[component] += 1;
	if (!residual_at(s, r, coords, at, out)) return false;
	at[component] += 1;
	if (!any && !residual_at(s, r, coords, at, twice)) return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!any &&
		    fabs(twice[i] - 2 * out[i] + zero[i]) > 1e-9 * (1 + fabs(twice[i]) + fabs(zero[i])))
			return false;
		out[i] -= zero[i];
		if (fabs(out[i]) < 1e-13 * fabs(zero[i])) out[i] = 0;
	}
	return true;
}

static bool derived(const Layout *l, const JetVariable *j) {
	for (uint32_t i = 0; i < l->ncoords; i++)
		if (j->order[i]) return true;
	return false;
}

bool value_given(const ProblemResiduals *s, const Residual *r, const double *coords,
                 uint32_t *field, double *out) {
	const Layout *l = s->l;
	int jet = -1;
	for (uint32_t j = 0; j < l->njets; j++) {
		if (!r->mentions[j]) continue;
		if (jet >= 0 || derived(l, &l->jets[j])) return false;
		jet = (int)j;
	}
	if (jet < 0) return false;
	*field = l->jets[jet].field;
	const uint32_t parts = statement_parts(s, *field);
	if (parts > 64) return false;
	double *zero = ARENA_ARRAY(s->sp->a, double, s->total + 1),
		   *rest = ARENA_ARRAY(s->sp->a, double, 2 * parts + 1), *slope = rest + parts;
	memset(zero, 0, s->total * sizeof *zero);
	if (residual_rows(r) != parts || !residual_at(s, r, coords, zero, rest)) return false;
	for (uint32_t i = 0; i < parts; i++) {
		if (!residual_slope(s, r, coords, zero, s->offset[jet] + i, false, slope)) return false;
		for (uint32_t k = 0; k < parts; k++)
			if (k != i && slope[k] != 0) return false;
		if (slope[i] == 0) return false;
		out[i] = 0 - rest[i] / slope[i];
	}
	return true;
}

void sample_of(const ProblemResiduals *s, uint32_t k, bool rest, double *coords, double *jets) {
	const Layout *l = s->l;
	for (uint32_t i = 0; i < l->ncoords; i++) {
		const double at = fmod(0.5 + 0.6180339887498949 * k * (i + 1) + 0.31 * i * (k > 0), 1);
		coords[i] = s->lo[i] + (0.02 + 0.96 * at) * (s->hi[i] - s->lo[i]);
	}
	for (uint32_t i = 0; i < s->total; i++) jets[i] = rest ? 0 : sin(1.7 * (k + 1) + 2.3 * i);
	for (uint32_t i = 0; i < s->residuals.n && !rest && l->time >= 0; i++) {
		const Residual *r = &s->residuals.at[i];
		double at[MAX_COORDS], value[64];
		uint32_t field;
		if (!r->at || r->boundary.coord != l->time || r->boundary.side < 0) continue;
		memcpy(at, coords, sizeof at);
		at[l->time] = r->boundary.side ? s->hi[l->time] : s->lo[l->time];
		if (!value_given(s, r, at, &field, value)) continue;
		const int j = jet_find(l, &(JetVariable){.field = field});
		if (j >= 0) memcpy(jets + s->offset[j], value, statement_parts(s, field) * sizeof *value);
	}
}

/* The characteristic polynomial by Faddeev and LeVerrier, its roots by Durand
 * and Kerner. For small matrices this is accurate enough for signs. */
bool eigenvalues_of(uint32_t n, const double *a, double *re, double *im) {
	double m[MAX_SYSTEM * MAX_SYSTEM] = {0}, next[MAX_SYSTEM * MAX_SYSTEM], p[MAX_SYSTEM + 1],
						  scale = 0;
	if (n > MAX_SYSTEM) return false;
	for (uint32_t i = 0; i < n * n; i++) scale = fmax(scale, fabs(a[i]));
	for (uint32_t i = 0; i < n; i++) re[i] = im[i] = 0;
	if (scale == 0) return true;
	p[n] = 1;
	for (uint32_t k = 1; k <= n; k++) { /* m = a m / scale + p I */
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++) {
				double sum = i == j ? p[n - k + 1] : 0;
				for (uint32_t l = 0; l < n; l++) sum += a[i * n + l] / scale * m[l * n + j];
				next[i * n + j] = sum;
			}
		memcpy(m, next, sizeof m);
		double trace = 0;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t l = 0; l < n; l++) trace += a[i * n + l] / scale * m[l * n + i];
		p[n - k] = -trace / k;
	}
	double _Complex z[MAX_SYSTEM], w = 1;
	for (uint32_t i = 0; i < n; i++) z[i] = w *= 0.4 + 0.9 * I;
	double moved = 1;
	for (uint32_t turn = 0; turn < 500 && moved > 1e-14; turn++) {
		moved = 0;
		for (uint32_t i = 0; i < n; i++) {
			double _Complex value = 1, others = 1;
			for (uint32_t k = n; k-- > 0;) value = value * z[i] + p[k];
			for (uint32_t k = 0; k < n; k++)
				if (k != i) others *= z[i] - z[k];
			if (cabs(others) < 1e-300) return false;
			z[i] -= value / others;
			moved = fmax(moved, cabs(value / others));
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!isfinite(creal(z[i])) || !isfinite(cimag(z[i]))) return false;
		re[i] = scale * creal(z[i]);
		im[i] = scale * cimag(z[i]);
	}
	return true;
}
