/* test_dae.c - unit tests of differential-algebraic systems.
 *
 * Covers values, consistent initial values, error messages, forward and adjoint
 * sensitivities.
 *
 * Oracle: reference values, all printed digits of which are correct, and
 * solutions in closed form. A Radau IIA method of order 13 in quadruple
 * precision computed the end values and sensitivities of Robertson's problem.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/solvers/help.h"

typedef struct System {
	const char *name;
	uint32_t n, np;
	double y0[MOST], yp0[MOST], id[MOST], p[4];
	void (*f)(T *t, const Ref *p, Ref time, const Ref *y, const Ref *yp, Ref *out);
	void (*jacobian)(T *t, const Ref *p, const Ref *y, Ref cj, Ref *out);
} System;

/* Robertson's problem with conservation in place of the third equation. */
static void robertson_system(T *t, const Ref *p, Ref time, const Ref *y, const Ref *yp, Ref *out) {
	Ref rate[3];
	SV_ROBERTSON.f(t, p, time, y, rate);
	out[0] = sub(t, yp[0], rate[0]);
	out[1] = sub(t, yp[1], rate[1]);
	out[2] = sub(t, add(t, add(t, y[0], y[1]), y[2]), K(t, 1));
}
static void robertson_system_jacobian(T *t, const Ref *p, const Ref *y, Ref cj, Ref *out) {
	Ref j[9] = {REF_NONE};
	SV_ROBERTSON.jacobian(t, p, cj, y, j);
	for (int i = 0; i < 6; i++) out[i] = i == 0 || i == 4 ? sub(t, cj, j[i]) : neg(t, j[i]);
	for (int i = 6; i < 9; i++) out[i] = K(t, 1);
}

/* y' = -p z, z = y^2: y = 1/(1 + p t) from y = 1. The given z is wrong, and the
 * equation is multiplied by 2. */
static void square_system(T *t, const Ref *p, Ref time, const Ref *y, const Ref *yp, Ref *out) {
	(void)time;
	out[0] = mul(t, K(t, 2), add(t, yp[0], mul(t, p[0], y[1])));
	out[1] = sub(t, y[1], mul(t, y[0], y[0]));
}
static void square_system_jacobian(T *t, const Ref *p, const Ref *y, Ref cj, Ref *out) {
	out[0] = mul(t, K(t, 2), cj);
	out[1] = mul(t, K(t, 2), p[0]);
	out[2] = neg(t, mul(t, K(t, 2), y[0]));
	out[3] = K(t, 1);
}

/* y' = z, z^2 = -1 - y^2: no solution. */
static void hopeless_system(T *t, const Ref *p, Ref time, const Ref *y, const Ref *yp, Ref *out) {
	(void)p;
	(void)time;
	out[0] = sub(t, yp[0], y[1]);
	out[1] = add(t, mul(t, y[1], y[1]), add(t, K(t, 1), mul(t, y[0], y[0])));
}
static void hopeless_system_jacobian(T *t, const Ref *p, const Ref *y, Ref cj, Ref *out) {
	(void)p;
	out[0] = cj;
	out[1] = K(t, -1);
	out[2] = mul(t, K(t, 2), y[0]);
	out[3] = mul(t, K(t, 2), y[1]);
}

static const System ROBERTSON_SYSTEM = {"robertson system",
                                        3,
                                        3,
                                        {1, 0, 0},
                                        {-0.04, 0.04, 0},
                                        {1, 1, 0},
                                        {0.04, 1e4, 3e7},
                                        robertson_system,
                                        robertson_system_jacobian};
static const System SQUARE = {
	"square", 2, 1, {1, 0.3}, {0, 0}, {1, 0}, {2}, square_system, square_system_jacobian};
static const System HOPELESS = {
	"hopeless", 2, 0, {1, 1}, {1, 0}, {1, 0}, {0}, hopeless_system, hopeless_system_jacobian};

typedef struct MakingSystem {
	T *t;
	const System *p;
	const Setting *w;
	bool fix;
	Fn *made;
} MakingSystem;

static Fn *make_system_function(T *t, const System *p, int which, bool sparse) {
	t->b = build_begin(t->c, atom_f(t->c, "%s%s", p->name, which ? " jacobian" : ""), 0, NULL);
	Ref caps[4], y[MOST], yp[MOST], out[MOST * MOST] = {REF_NONE}, in[4], r;
	for (uint32_t k = 0; k < p->np; k++) caps[k] = build_param(t->b, scalar(t), 0);
	for (int k = 0; k < 3 + which; k++)
		in[k] = build_param(t->b, k % 3 ? vector_type(t, DT_F64, p->n) : scalar(t), 0);
	for (uint32_t i = 0; i < p->n; i++) y[i] = element(t, in[1], i);
	for (uint32_t i = 0; i < p->n; i++) yp[i] = element(t, in[2], i);
	if (!which) {
		p->f(t, caps, in[0], y, yp, out);
		r = gathered(t, p->n, out);
		return build_end(t->b, 1, &r);
	}
	p->jacobian(t, caps, y, in[3], out);
	Ref some[MOST * MOST];
	uint32_t n = 0;
	for (uint32_t k = 0; k < p->n * p->n;
	     k++) { /* sparse: column-major; the pattern is full, REF_NONE gives 0 */
		uint32_t at = sparse ? k % p->n * p->n + k / p->n : k;
		some[n++] = out[at] == REF_NONE ? K(t, 0) : out[at];
	}
	r = gathered(t, n, some);
	if (!sparse)
		r = build_reshape(t->b, r, 2, (Dim[]){dim_const(t->c, p->n), dim_const(t->c, p->n)});
	return build_end(t->b, 1, &r);
}

static Ref indices(T *t, int64_t n, const int64_t *x) {
	Tensor *v = tensor_new(t->c, DT_I64, 1, &n);
	for (int64_t i = 0; i < n; i++) ((int64_t *)(void *)v->data)[i] = x[i];
	Ref r = build_const(t->b, value_tensor(v));
	tensor_unref(v);
	return r;
}

/* (y0, yp0, id, t0, t1, rtol, atol, saveat, max_step, p...) -> times, values,
 * stats */
static void make_system(Ctx *c, void *arg) {
	MakingSystem *m = arg;
	T *t = m->t;
	const System *p = m->p;
	const Setting *w = m->w;
	const int64_t n = p->n;
	Fn *fns[2] = {make_system_function(t, p, 0, w->sparse),
	              make_system_function(t, p, 1, w->sparse)};
	t->b = build_begin(c, atom(c, "solve"), 0, NULL);
	Ref in[16], operands[11 + 8], results[3];
	for (uint32_t k = 0; k < 9 + p->np; k++) {
		TypeId type = k < 3 || k == 6 ? vector_type(t, DT_F64, n)
		              : k == 7        ? vector_type(t, DT_F64, w->nat)
		                              : scalar(t);
		in[k] = build_param(t->b, type, 0);
	}
	int64_t colptr[MOST + 1], rowind[MOST * MOST];
	for (int64_t j = 0; j <= n; j++) colptr[j] = j * n;
	for (int64_t k = 0; k < n * n; k++) rowind[k] = k % n;
	Ref cp = indices(t, w->sparse ? n + 1 : 0, colptr),
		ri = indices(t, w->sparse ? n * n : 0, rowind);
	memcpy(operands, (Ref[]){in[0], in[1], in[2], in[3], in[4], in[5], in[6], cp, ri, in[7], in[8]},
	       11 * sizeof(Ref));
	for (uint32_t k = 0; k < 2 * p->np; k++) operands[11 + k] = in[9 + k % p->np];
	int64_t options[] = {2, p->np, p->np, w->sparse, w->degree, w->max_steps, m->fix};
	HostId id = host_call_intern(c, host_find(c, "dae"), 2, fns, 7, options);
	fn_unref(fns[0]);
	fn_unref(fns[1]);
	build_host(t->b, id, 11 + 2 * p->np, operands, results, 3);
	m->made = build_end(t->b, 3, results);
}

static uint32_t system_args(T *t, const System *p, const Setting *w, Value *args) {
	args[0] = vector(t, p->n, p->y0);
	args[1] = vector(t, p->n, p->yp0);
	args[2] = vector(t, p->n, p->id);
	args[3] = value_f64(w->t0);
	args[4] = value_f64(w->t1);
	args[5] = value_f64(w->rtol);
	args[6] = w->atols ? vector(t, p->n, w->atols) : filled(t, p->n, w->atol);
	args[7] = vector(t, w->nat, w->at);
	args[8] = value_f64(w->max_step);
	for (uint32_t k = 0; k < p->np; k++) args[9 + k] = value_f64(p->p[k]);
	return 9 + p->np;
}

static Status solve_system(T *t, const System *p, const Setting *w, bool fix, Value *results) {
	Value args[16];
	MakingSystem m = {t, p, w, fix, NULL};
	for (int k = 0; k < 3; k++) results[k] = (Value){.kind = V_UNSET};
	if (ctx_protect(t->c, make_system, &m) != ST_OK) return ST_INTERNAL;
	uint32_t n = system_args(t, p, w, args);
	Status st = sv_run(t, m.made, args, results);
	drop(args, n);
	fn_unref(m.made);
	return st;
}

static void test_systems(T *t) {
	static const double fine[] = {1e-12, 1e-16, 1e-12}, at[] = {0, 40, 1e5, 4e5};
	static const double want[4][3] = {
		{1, 0, 0},
		{7.158270687194050905e-01, 9.185534764557763904e-06, 2.841637457458303518e-01},
		{1.78659211420994648468e-02, 7.27475146843631872263e-08, 9.82134006110385850575e-01},
		{4.938274520979815560e-03, 1.984994087954375437e-08, 9.950617056290793049e-01}};
	Value r[3];
	for (int k = 0; k < 4; k++) {
		Setting w = {.sparse = k % 2,
		             .degree = 5,
		             .t1 = 4e5,
		             .rtol = 1e-8,
		             .atols = fine,
		             .at = at,
		             .nat = k < 2 ? 4 : 0};
		if (!sv_told(t, solve_system(t, &ROBERTSON_SYSTEM, &w, k % 2, r), "robertson system"))
			continue;
		if (w.nat) {
			for (int row = 1; row < 4; row++)
				for (int i = 0; i < 3; i++) NEAR(number(r[1], 3 * row + i), want[row][i], 5e-6);
			CHECK(number(r[0], 0) == 0 && number(r[1], 0) == 1);
		} else {
			CHECK(rows_of_steps(r[0].tensor->count, 5, stat(r[2], 0)));
			for (int i = 0; i < 3; i++) NEAR(last(r[1], i), want[3][i], 5e-6);
		}
		drop(r, 3);
	}
	/* Inconsistent initial values are corrected, and every node of the dense
	 * output is on the solution. */
	Setting w = {.degree = 5, .t1 = 3, .rtol = 1e-8, .atol = 1e-10};
	if (sv_told(t, solve_system(t, &SQUARE, &w, true, r), "square")) {
		double worst = 0;
		for (int64_t k = 0; k < r[0].tensor->count; k++) {
			double y = 1 / (1 + 2 * number(r[0], k));
			worst = fmax(
				worst, fmax(fabs(number(r[1], 2 * k) - y), fabs(number(r[1], 2 * k + 1) - y * y)));
		}
		CHECK(worst < 1e-6);
		drop(r, 3);
	}
	w.t1 = 0; /* consistent initial values only */
	if (sv_told(t, solve_system(t, &SQUARE, &w, true, r), "square at 0")) {
		CHECK(r[0].tensor->count == 1 && fabs(number(r[1], 1) - 1) < 1e-6);
		drop(r, 3);
	}
	w.t1 = 3;
	/* The error names the equation without y', because y' could satisfy the
	 * other. */
	CHECK(sv_failed_with(t, solve_system(t, &SQUARE, &w, false, r), ST_ERROR, E_SOLVER_INIT,
	                     "equation 1 is off by 0.7"));
	CHECK(sv_failed_with(t, solve_system(t, &HOPELESS, &w, true, r), ST_ERROR, E_SOLVER_INIT,
	                     "equation 1 is off by 3"));
	w.max_steps = 3;
	CHECK(sv_failed_with(t, solve_system(t, &SQUARE, &w, true, r), ST_ERROR, E_SOLVER_STEPS,
	                     "3 steps"));
}

typedef struct SystemDiff {
	Fn *f, *jvp, *primal, *back;
	uint32_t n, nresiduals;
} SystemDiff;

static void transform_system(Ctx *c, void *arg) {
	SystemDiff *d = arg;
	bool active[16] = {[0] = true}, results[3];
	for (uint32_t k = 9; k < d->n; k++) active[k] = true;
	d->jvp = ad_jvp(c, d->f, active, results);
	const Linearised *l = ad_linearise(c, d->f, active);
	d->primal = l->primal;
	d->nresiduals = l->nresiduals;
	d->back = ad_transpose(c, l->linear, l->nresiduals);
}

static void transform_system_twice(Ctx *c, void *arg) {
	SystemDiff *d = arg;
	bool active[16] = {[0] = true}, results[8];
	ad_jvp(c, d->jvp, active, results);
}

static void test_system_derivatives(T *t) {
	static const double late[3] = {-2.363337329023166419e-01, -4.584078560621531164e-07,
	                               2.363341913101727040e-01};
	static const double fine[] = {1e-12, 1e-16, 1e-12}, at[] = {0, 1, 3};
	for (int k = 0; k < 2; k++) {
		const System *p = k ? &ROBERTSON_SYSTEM : &SQUARE;
		Setting w = {.degree = 5,
		             .t1 = k ? 4e5 : 3,
		             .rtol = 1e-9,
		             .atol = 1e-12,
		             .atols = k ? fine : NULL,
		             .at = at,
		             .nat = k ? 0 : 3};
		MakingSystem m = {t, p, &w, true, NULL};
		Value args[32], out[4], first[64], g[5];
		if (ctx_protect(t->c, make_system, &m) != ST_OK) {
			CHECK(false);
			continue;
		}
		uint32_t n = system_args(t, p, &w, args), na = n;
		SystemDiff d = {.f = m.made, .n = n};
		if (!sv_told(t, ctx_protect(t->c, transform_system, &d), p->name)) continue;
		args[na++] = filled(t, p->n, 0);
		for (uint32_t i = 0; i < p->np; i++) args[na++] = value_f64(i == 0);
		if (sv_told(t, sv_run(t, d.jvp, args, out), p->name)) {
			const int64_t rows = out[3].tensor->shape[0];
			if (k) {
				for (int i = 0; i < 3; i++) NEAR(number(out[3], 3 * rows - 3 + i), late[i], 1e-5);
			} else {
				for (int i = 1; i < 3; i++) {
					double q = 1 + 2 * at[i];
					NEAR(number(out[3], 2 * i), -at[i] / (q * q), 1e-6);
					NEAR(number(out[3], 2 * i + 1), -2 * at[i] / (q * q * q), 1e-6);
				}
				CHECK(number(out[3], 0) == 0 && fabs(number(out[3], 1)) < 1e-12);
				sv_fail_allocations(t, d.jvp, args, 4);
			}
			drop(out, 4);
		}
		/* Backward: the second component of the last row. */
		if (sv_told(t, sv_run(t, d.primal, args, first), p->name)) {
			Value in[64];
			memcpy(in, first + 3, d.nresiduals * sizeof *in);
			Tensor *ct = tensor_zeros(t->c, DT_F64, 2, first[1].tensor->shape);
			((double *)(void *)ct->data)[ct->count - (int64_t)p->n + 1] = 1;
			in[d.nresiduals] = value_tensor(ct);
			if (sv_told(t, sv_run(t, d.back, in, g), p->name)) {
				NEAR(g[1].f, k ? late[1] : -2 * 3 / (7.0 * 7 * 7), 1e-5);
				/* z = (y0/(1 + y0 p t))^2 */
				if (!k) NEAR(number(g[0], 0), 2 / (7.0 * 7 * 7), 1e-6);
				/* It follows from y0. */
				if (!k) CHECK(number(g[0], 1) == 0 || fabs(number(g[0], 1)) < 1e-12);
				drop(g, 1 + p->np);
			}
			tensor_unref(ct);
			drop(first, 3 + d.nresiduals);
		}
		/* The second derivative exists, too; tests/ode/sensitivity.dsl checks
		 * its values. */
		uint32_t mark = build_mark(t->c);
		Status st = ctx_protect(t->c, transform_system_twice, &d);
		build_unwind(t->c, mark);
		CHECK(st == ST_OK);
		value_unref(args[n]);
		drop(args, n);
		fn_unref(d.f);
	}
}

int main(void) {
	static const TestCase tests[] = {
		{"systems", test_systems},
		{"system derivatives", test_system_derivatives},
	};
	return sv_run_tests(sizeof tests / sizeof *tests, tests);
}
