/* test_ode_derivatives.c - unit tests of the derivatives of ODE solutions.
 *
 * Covers forward and adjoint sensitivities, second derivatives, interrupts and
 * allocation failure in solutions and their derivatives.
 *
 * Oracle: reference values, all printed digits of which are correct, the
 * transpose identity, and finite differences of gradients. A Radau IIA method
 * of order 13 in quadruple precision computed the sensitivities of Robertson's
 * and the Lotka-Volterra equations.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/solvers/help.h"

/* ---- problems ------------------------------------------------------------ */

/* Three copies of Lotka-Volterra with the same parameters. There are so many
 * unknowns and parameters that the adjoint method is chosen over forward
 * columns. */
static void herds(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	for (int k = 0; k < 6; k += 2) SV_LOTKA_VOLTERRA.f(t, p, time, y + k, out + k);
}
static void herds_jacobian(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	for (int k = 0; k < 6; k += 2) {
		Ref block[4];
		SV_LOTKA_VOLTERRA.jacobian(t, p, time, y + k, block);
		for (int i = 0; i < 4; i++) out[(k + i / 2) * 6 + k + i % 2] = block[i];
	}
}

/* Robertson's y and the integrals of its three components. */
static void reservoir(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	SV_ROBERTSON.f(t, p, time, y, out);
	for (int i = 0; i < 3; i++) out[3 + i] = y[i];
}
static void reservoir_jacobian(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	Ref block[9] = {REF_NONE};
	SV_ROBERTSON.jacobian(t, p, time, y, block);
	for (int i = 0; i < 9; i++) out[i / 3 * 6 + i % 3] = block[i];
	for (int i = 0; i < 3; i++) out[(3 + i) * 6 + i] = K(t, 1);
}

/* y' = p t: nothing depends on y. */
static void wave(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	(void)y;
	out[0] = mul(t, p[0], time);
}
static void wave_jacobian(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	(void)p;
	(void)time;
	(void)y;
	out[0] = K(t, 0);
}

static const Problem HERDS = {"herds",        6,  4,     {1, 1, 1.5, 0.7, 0.8, 2},
                              {1.5, 1, 3, 1}, 10, herds, herds_jacobian};
static const Problem RESERVOIR = {"reservoir",      6,  3,         {1, 0, 0, 0, 0, 0},
                                  {0.04, 1e4, 3e7}, 50, reservoir, reservoir_jacobian};
static const Problem WAVE = {"wave", 1, 1, {1}, {2}, 3, wave, wave_jacobian};

/* ---- derivatives --------------------------------------------------------- */

/* A solve that is prepared for differentiation with respect to y0, t0 and the
 * parameters. */
typedef struct Diff {
	const Problem *p;
	const Setting *w;
	Fn *f, *jvp, *linear_primal, *back;
	uint32_t n, nresiduals;
	bool moves; /* the first time is the integrator's own, and has a tangent */
	Value args[16];
} Diff;

static void transform(Ctx *c, void *arg) {
	Diff *d = arg;
	bool active[16] = {[0] = true, [1] = true}, results[3];
	for (uint32_t k = 7; k < d->n; k++) active[k] = true;
	d->jvp = ad_jvp(c, d->f, active, results);
	d->moves = results[0];
	if (results[0] == (d->w->nat > 0) || !results[1] || results[2]) return;
	const Linearised *l = ad_linearise(c, d->f, active);
	d->linear_primal = l->primal;
	d->nresiduals = l->nresiduals;
	d->back = ad_transpose(c, l->linear, l->nresiduals);
}

static bool diff_begin(T *t, Diff *d, const Problem *p, const Setting *w) {
	*d = (Diff){.p = p, .w = w};
	d->f = sv_make_solve(t, p, w);
	if (!d->f) return false;
	d->n = sv_solve_args(t, p, w, d->args);
	uint32_t mark = build_mark(t->c);
	if (ctx_protect(t->c, transform, d) == ST_OK && d->back) return true;
	build_unwind(t->c, mark);
	CHECK_MSG(false, "%s: no derivative", p->name);
	sv_show_diags(t);
	diag_clear(t->c);
	drop(d->args, d->n);
	fn_unref(d->f);
	return false;
}

static void diff_end(Diff *d) {
	drop(d->args, d->n);
	fn_unref(d->f);
}

/* Returns dY in the direction (dy0, dt0, dp); NULL: zero. *times receives the
 * times when `times` is not NULL. */
static Value push(T *t, Diff *d, const double *dy0, double dt0, const double *dp, Value *times) {
	Value in[32], out[5];
	memcpy(in, d->args, d->n * sizeof *in);
	uint32_t n = d->n;
	in[n++] = dy0 ? vector(t, d->p->n, dy0) : filled(t, d->p->n, 0);
	in[n++] = value_f64(dt0);
	for (uint32_t k = 0; k < d->p->np; k++) in[n++] = value_f64(dp ? dp[k] : 0);
	Status st = sv_run(t, d->jvp, in, out);
	value_unref(in[d->n]);
	if (!sv_told(t, st, d->p->name)) return (Value){.kind = V_UNSET};
	if (times) *times = value_ref(out[0]);
	Value dy = value_ref(out[3 + d->moves]);
	drop(out, 4 + d->moves);
	return dy;
}

/* Computes cotangents of y0 (out[0], n reals), t0 (out[1]) and the parameters
 * from w (K n reals). w NULL: 1 for component `unit` of the last row. Returns
 * false on failure. */
static bool pull(T *t, Diff *d, const double *w, uint32_t unit, Value *out) {
	Value first[64], in[64];
	if (!sv_told(t, sv_run(t, d->linear_primal, d->args, first), d->p->name)) return false;
	const int64_t rows = first[1].tensor->shape[0], n = d->p->n;
	memcpy(in, first + 3, d->nresiduals * sizeof *in);
	Tensor *ct = tensor_zeros(t->c, DT_F64, 2, (int64_t[]){rows, n});
	for (int64_t i = 0; w && i < rows * n; i++) ((double *)(void *)ct->data)[i] = w[i];
	if (!w) ((double *)(void *)ct->data)[(rows - 1) * n + unit] = 1;
	Tensor *none = tensor_zeros(t->c, DT_F64, 1, &rows); /* cotangents of the times */
	if (d->moves) in[d->nresiduals] = value_tensor(none);
	in[d->nresiduals + d->moves] = value_tensor(ct);
	Status st = sv_run(t, d->back, in, out);
	tensor_unref(ct);
	tensor_unref(none);
	drop(first, 3 + d->nresiduals);
	return sv_told(t, st, d->p->name);
}

/* d(x, y)/d(a, b, c, d, x0, y0) of Lotka-Volterra at t = 10. */
static const double LV_END[] = {1.026344767575089319, 9.096910781360416175e-01};
static const double LV[6][2] = {{2.160557523562618032, -6.256770517220815998},
                                {1.885687770780593063e-01, -6.979775889893584813e-01},
                                {5.631827941681977204e-01, -1.709017680597934827},
                                {9.396512871530797615e-01, -2.743979155920181058},
                                {1.965996054728169081, -2.743979155920181058},
                                {1.885687770780593063e-01, 2.117134891466831363e-01}};

static void check_lv_forward(T *t, Diff *d, double tolerance) {
	const int64_t n = d->p->n;
	for (int k = 0; k < 6; k++) {
		double dp[4] = {0}, dy0[6] = {0};
		if (k < 4) dp[k] = 1;
		else dy0[k - 4] = 1;
		Value v = push(t, d, dy0, 0, dp, NULL);
		if (v.kind == V_UNSET) continue;
		for (int i = 0; i < 2; i++)
			NEAR(number(v, (v.tensor->shape[0] - 1) * n + i), LV[k][i], tolerance);
		value_unref(v);
	}
}

static void check_lv_adjoint(T *t, Diff *d, double tolerance) {
	for (uint32_t i = 0; i < 2; i++) {
		Value g[6];
		if (!pull(t, d, NULL, i, g)) continue;
		for (int k = 0; k < 4; k++) NEAR(g[2 + k].f, LV[k][i], tolerance);
		for (int k = 4; k < 6; k++) NEAR(number(g[0], k - 4), LV[k][i], tolerance);
		/* An earlier t0 equals a start moved along the flow: x' = 0.5, y' = -2
		 * at (1, 1). */
		NEAR(g[1].f, -(0.5 * LV[4][i] - 2 * LV[5][i]), 20 * tolerance);
		drop(g, 6);
	}
}

static void test_sensitivities(T *t) {
	Diff d;
	for (int way = 0; way < 3; way++) {
		Setting w = {.sparse = way == 1,
		             .adams = way == 2,
		             .degree = way == 2 ? 12 : 5,
		             .t1 = 10,
		             .rtol = 1e-10,
		             .atol = 1e-13};
		Value r[3];
		if (sv_solved(t, &SV_LOTKA_VOLTERRA, &w, r)) {
			for (int i = 0; i < 2; i++) NEAR(last(r[1], i), LV_END[i], 1e-7);
			drop(r, 3);
		}
		if (diff_begin(t, &d, &SV_LOTKA_VOLTERRA, &w)) {
			check_lv_forward(t, &d, 1e-6);
			check_lv_adjoint(t, &d, 1e-6);
			diff_end(&d);
		}
		if (diff_begin(t, &d, &HERDS, &w)) { /* too many for columns: backward in time */
			if (way < 2) check_lv_forward(t, &d, 1e-6);
			check_lv_adjoint(t, &d, 1e-6);
			diff_end(&d);
		}
	}
	/* Linear in the direction, for every magnitude. */
	Setting w = {.degree = 5, .t1 = 10, .rtol = 1e-8, .atol = 1e-10};
	if (diff_begin(t, &d, &SV_LOTKA_VOLTERRA, &w)) {
		for (int k = 0; k < 3; k++) {
			const double size = k == 0 ? 1 : k == 1 ? 1e30 : -1e-30;
			Value v = push(t, &d, NULL, 0, (double[]){size, 0, 0, 0}, NULL);
			if (v.kind == V_UNSET) continue;
			NEAR(number(v, 2 * v.tensor->shape[0] - 2) / size, LV[0][0], 1e-4);
			value_unref(v);
		}
		Value v = push(t, &d, NULL, 0, NULL, NULL);
		bool zero = v.kind != V_UNSET;
		for (int64_t i = 0; zero && i < v.tensor->count; i++) zero = number(v, i) == 0;
		CHECK(zero);
		value_unref(v);
		diff_end(&d);
	}
}

/* <w, dY> = <w pulled back, direction> with given times and all rows: jumps,
 * forward and backward. */
static void test_dot_product(T *t) {
	static const double at[] = {0, 0.5, 0.5, 1.7, 4.2, 6, 9, 9.5};
	const Problem *problems[] = {&SV_LOTKA_VOLTERRA, &HERDS};
	for (int k = 0; k < 4; k++) {
		const Problem *p = problems[k % 2];
		Setting w = {.degree = 5,
		             .sparse = k >= 2,
		             .t1 = 10,
		             .rtol = 1e-10,
		             .atol = 1e-13,
		             .at = at,
		             .nat = 8};
		Diff d;
		if (!diff_begin(t, &d, p, &w)) continue;
		double weights[8 * MOST], dy0[MOST], dp[4], left = 0, right = 0, dt0 = 0.3;
		for (uint32_t i = 0; i < 8 * p->n; i++) weights[i] = sin(1 + 3.0 * i);
		for (uint32_t i = 0; i < p->n; i++) dy0[i] = cos(2.0 * i);
		for (uint32_t i = 0; i < 4; i++) dp[i] = sin(5.0 * i + 1);
		Value v = push(t, &d, dy0, dt0, dp, NULL), g[6];
		if (v.kind != V_UNSET && pull(t, &d, weights, 0, g)) {
			for (uint32_t i = 0; i < 8 * p->n; i++) left += weights[i] * number(v, i);
			for (uint32_t i = 0; i < p->n; i++) right += dy0[i] * number(g[0], i);
			for (uint32_t i = 0; i < 4; i++) right += dp[i] * g[2 + i].f;
			NEAR(right + dt0 * g[1].f, left, 1e-7);
			drop(g, 6);
		}
		value_unref(v);
		diff_end(&d);
	}
}

static void test_stiff_sensitivities(T *t) {
	static const double forward[3][3] = {
		{-3.559525659828555673e-01, 3.902544053818218536e-04, 3.555623115774737454e-01},
		{9.542381427849768570e-08, -2.130961030193646397e-10, -9.521071817547832105e-08},
		{-1.583176635557634939e-11, -5.290041093214814328e-13, 1.636077046489783082e-11}};
	static const double late[3][3] = {
		{-2.363337329023166419e-01, -4.584078560621531164e-07, 2.363341913101727040e-01},
		{9.450271940430043973e-07, 1.832507152873991819e-12, -9.450290265501572713e-07},
		{-1.575048453535638869e-10, -6.362514778422549911e-16, 1.575054816050417291e-10}};
	static const double integral[] = {1.734140891449772886e+02, -5.059191405586188276e-04,
	                                  8.432346465422596833e-08};
	static const double fine[] = {1e-12, 1e-16, 1e-12, 1e-10, 1e-14, 1e-10};
	Diff d;
	for (int k = 0; k < 4; k++) {
		const bool is_late = k >= 2;
		Setting w = {
			.sparse = k % 2, .degree = 5, .t1 = is_late ? 4e5 : 0.4, .rtol = 1e-10, .atols = fine};
		if (!diff_begin(t, &d, &SV_ROBERTSON, &w)) continue;
		for (int j = 0; j < 3; j++) {
			double dp[3] = {0};
			dp[j] = 1;
			Value v = push(t, &d, NULL, 0, dp, NULL);
			if (v.kind == V_UNSET) continue;
			for (int i = 0; i < 3; i++)
				NEAR(number(v, 3 * v.tensor->shape[0] - 3 + i),
				     is_late ? late[j][i] : forward[j][i], 1e-6);
			value_unref(v);
		}
		diff_end(&d);
	}
	for (int sparse = 0; sparse < 2; sparse++) {
		Setting w = {.sparse = sparse, .degree = 5, .t1 = 50, .rtol = 1e-10, .atols = fine};
		if (!diff_begin(t, &d, &RESERVOIR, &w)) continue;
		Value g[5];
		if (pull(t, &d, NULL, 5, g)) {
			for (int j = 0; j < 3; j++) NEAR(g[2 + j].f, integral[j], 1e-6);
			drop(g, 5);
		}
		diff_end(&d);
	}
}

/* Simple or empty derivatives: y = y0 + p (t^2 - t0^2)/2. */
static void test_flat_derivatives(T *t) {
	Setting w = {.degree = 5, .t0 = 0.5, .t1 = 3, .rtol = 1e-9, .atol = 1e-12};
	Diff d;
	if (!diff_begin(t, &d, &WAVE, &w)) return;
	Value times, v = push(t, &d, (double[]){1}, 0, NULL, &times);
	if (v.kind != V_UNSET) {
		for (int64_t k = 0; k < v.tensor->count; k++) CHECK(number(v, k) == 1);
		value_unref(v);
		value_unref(times);
	}
	v = push(t, &d, NULL, 1, (double[]){1}, &times);
	if (v.kind != V_UNSET) {
		double worst = fabs(number(v, 0)); /* the first row moves with t0 */
		for (int64_t k = 1; k < v.tensor->count; k++) {
			double at = number(times, k);
			worst = fmax(worst, fabs(number(v, k) - ((at * at - 0.25) / 2 - 2 * 0.5)));
		}
		CHECK(worst < 1e-8);
		value_unref(v);
		value_unref(times);
	}
	Value g[3];
	if (pull(t, &d, NULL, 0, g)) {
		NEAR(number(g[0], 0), 1, 1e-14);
		NEAR(g[1].f, -1, 1e-9);
		NEAR(g[2].f, (9 - 0.25) / 2, 1e-9);
		drop(g, 3);
	}
	diff_end(&d);
}

/* Arguments of a solve -> cotangents of y0, t0 and the parameters for w all
 * ones: the gradient of the sum of all values. */
typedef struct Gradient {
	T *t;
	Diff *d;
	Fn *f, *jvp, *back, *primal, *second;
	uint32_t nresiduals;
} Gradient;

static void make_gradient(Ctx *c, void *arg) {
	Gradient *g = arg;
	Diff *d = g->d;
	const Fn *p = d->linear_primal;
	Builder *b = build_begin(c, atom(c, "gradient"), 0, p);
	Ref in[16], mid[64], out[8];
	for (uint32_t k = 0; k < d->n; k++) in[k] = build_param(b, ref_type(p, fn_param(p, k)), 0);
	build_call(b, d->linear_primal, d->n, in, mid);
	mid[3 + d->nresiduals] = build_full(b, ref_type(build_fn(b), mid[1]), 1);
	build_call(b, d->back, d->nresiduals + 1, mid + 3, out);
	g->f = build_end(b, 2 + d->p->np, out);
	bool active[16] = {[0] = true}, results[8];
	for (uint32_t k = 7; k < d->n; k++) active[k] = true;
	g->jvp = ad_jvp(c, g->f, active, results); /* forward over reverse */
	const Linearised *l = ad_linearise(c, g->f, active);
	g->primal = l->primal;
	g->nresiduals = l->nresiduals;
	g->back = ad_transpose(c, l->linear, l->nresiduals); /* reverse over reverse */
	bool twice[32] = {[0] = true}, more[8];
	for (uint32_t k = 7; k < d->n; k++) twice[k] = true;
	g->second = ad_jvp(c, d->jvp, twice, more); /* forward over forward */
}

/* The derivative with respect to y0[0] and the last parameter of a derivative
 * with respect to p[0], in four ways: differences of the gradient, and the
 * three modes. */
static void test_second_derivatives(T *t) {
	static const double at[] = {1, 2, 4};
	for (int k = 0; k < 6; k++) {
		const Problem *p =
			k % 2 ? &HERDS : &SV_LOTKA_VOLTERRA; /* forward columns; backward in time */
		Setting w = {.sparse = k / 2 == 1,
		             .adams = k / 2 == 2,
		             .degree = 5,
		             .t1 = 4,
		             .rtol = 1e-10,
		             .atol = 1e-12,
		             .at = at,
		             .nat = 3};
		Diff d;
		if (!diff_begin(t, &d, p, &w)) continue;
		Gradient g = {.t = t, .d = &d};
		uint32_t mark = build_mark(t->c);
		Status st = ctx_protect(t->c, make_gradient, &g);
		build_unwind(t->c, mark);
		if (!sv_told(t, st, "second derivative")) {
			diff_end(&d);
			continue;
		}
		Value in[64], out[96], lower[8], upper[8];
		const uint32_t n = d.n, np = p->np;
		/* Direction: y0[0] and the last parameter. */
		double dy0[MOST] = {1}, want[2 + 4];
		const double e = 1e-4;
		for (int sign = -1; sign < 2; sign += 2) {
			memcpy(in, d.args, n * sizeof *in);
			double moved[MOST];
			for (uint32_t i = 0; i < p->n; i++) moved[i] = p->y0[i] + sign * e * dy0[i];
			in[0] = vector(t, p->n, moved);
			in[7 + np - 1] = value_f64(p->p[np - 1] + sign * e);
			CHECK(sv_told(t, sv_run(t, g.f, in, sign < 0 ? lower : upper), "gradient"));
			value_unref(in[0]);
		}
		/* With respect to y0[1], and to p[0] */
		want[0] = (number(upper[0], 1) - number(lower[0], 1)) / (2 * e);
		want[1] = (upper[2].f - lower[2].f) / (2 * e);
		drop(lower, 2 + np);
		drop(upper, 2 + np);
		/* Forward over reverse. */
		memcpy(in, d.args, n * sizeof *in);
		in[n] = vector(t, p->n, dy0);
		for (uint32_t i = 0; i < np; i++) in[n + 1 + i] = value_f64(i == np - 1);
		if (sv_told(t, sv_run(t, g.jvp, in, out), "forward over reverse")) {
			NEAR(number(out[2 + np], 1), want[0], 1e-5);
			NEAR(out[2 + np + 2].f, want[1], 1e-5);
			drop(out, 2 * (2 + np));
			if (k == 2) {
				Value rtol = in[3];
				in[3] = value_f64(1e-3);
				sv_interrupt_everywhere(t, g.jvp, in, 2 * (2 + np));
				sv_fail_allocations(t, g.jvp, in, 2 * (2 + np));
				in[3] = rtol;
			}
		}
		/* Reverse over reverse: the Hessian is symmetric, so the cotangent
		 * (e_0, 0, e_last) gives the same values. */
		if (sv_told(t, sv_run(t, g.primal, d.args, out), "primal")) {
			Value back[8], cts[96];
			memcpy(cts, out + 2 + np, g.nresiduals * sizeof *cts);
			cts[g.nresiduals] = in[n];
			cts[g.nresiduals + 1] = value_f64(0);
			for (uint32_t i = 0; i < np; i++) cts[g.nresiduals + 2 + i] = value_f64(i == np - 1);
			if (sv_told(t, sv_run(t, g.back, cts, back), "reverse over reverse")) {
				NEAR(number(back[0], 1), want[0], 1e-5);
				NEAR(back[1].f, want[1], 1e-5);
				drop(back, 1 + np);
			}
			drop(out, 2 + np + g.nresiduals);
		}
		/* Forward over forward: args, first tangents (p[0]), second
		 * tangents. */
		memcpy(in + n + 2 + np, (Value[]){in[n]}, sizeof *in);
		Value second = in[n];
		in[n] = filled(t, p->n, 0);
		in[n + 1] = value_f64(0);
		for (uint32_t i = 0; i < np; i++) in[n + 2 + i] = value_f64(i == 0);
		in[n + 2 + np] = second;
		for (uint32_t i = 0; i < np; i++) in[n + 3 + np + i] = value_f64(i == np - 1);
		if (sv_told(t, sv_run(t, g.second, in, out), "forward over forward")) {
			double sum = 0; /* results: times, Y, stats, dY, and the tangents of Y and dY */
			for (int64_t i = 0; i < out[5].tensor->count; i++)
				sum += tensor_get(out[5].tensor, (int64_t[]){i / p->n, i % p->n});
			NEAR(sum, want[1], 1e-5);
			drop(out, 6);
		}
		value_unref(in[n]);
		value_unref(second);
		fn_unref(g.f);
		diff_end(&d);
	}
}

/* ---- interrupts and allocation failure ----------------------------------- */

static void test_interrupts_and_memory(T *t) {
	for (int way = 0; way < 3; way++) {
		Setting w = {.sparse = way == 1,
		             .adams = way == 2,
		             .degree = 5,
		             .t1 = 1,
		             .rtol = 1e-5,
		             .atol = 1e-7};
		Fn *f = sv_make_solve(t, &SV_LOTKA_VOLTERRA, &w);
		if (!f) continue;
		Value args[16];
		uint32_t n = sv_solve_args(t, &SV_LOTKA_VOLTERRA, &w, args);
		sv_interrupt_everywhere(t, f, args, 3);
		sv_fail_allocations(t, f, args, 3);
		drop(args, n);
		fn_unref(f);
	}
	/* Both modes of a gradient, and a tangent. */
	for (int k = 0; k < 2; k++) {
		Setting w = {.sparse = k, .degree = 5, .t1 = 1, .rtol = 1e-4, .atol = 1e-6};
		const Problem *p = k ? &HERDS : &SV_LOTKA_VOLTERRA;
		Diff d;
		if (!diff_begin(t, &d, p, &w)) continue;
		Value in[64], first[64];
		uint32_t n = d.n;
		memcpy(in, d.args, n * sizeof *in);
		in[n++] = filled(t, p->n, 1);
		in[n++] = value_f64(0.1);
		for (uint32_t i = 0; i < p->np; i++) in[n++] = value_f64(i);
		sv_interrupt_everywhere(t, d.jvp, in, 5);
		sv_fail_allocations(t, d.jvp, in, 5);
		value_unref(in[d.n]);
		if (sv_told(t, sv_run(t, d.linear_primal, d.args, first), p->name)) {
			memcpy(in, first + 3, d.nresiduals * sizeof *in);
			/* Cotangents like times and values. */
			for (uint32_t i = 0; i < 2; i++) in[d.nresiduals + i] = value_ref(first[i]);
			sv_interrupt_everywhere(t, d.back, in, 2 + p->np);
			sv_fail_allocations(t, d.back, in, 2 + p->np);
			drop(in + d.nresiduals, 2);
			drop(first, 3 + d.nresiduals);
		}
		diff_end(&d);
	}
}

int main(void) {
	static const TestCase tests[] = {
		{"sensitivities", test_sensitivities},
		{"dot product", test_dot_product},
		{"stiff sensitivities", test_stiff_sensitivities},
		{"flat derivatives", test_flat_derivatives},
		{"second derivatives", test_second_derivatives},
		{"interrupts and memory", test_interrupts_and_memory},
	};
	return sv_run_tests(sizeof tests / sizeof *tests, tests);
}
