/* ode_sensitivity.c - forward sensitivities by CVODES; the host function
 * "ode_tangent".
 *
 * Method: y is integrated again together with its sensitivities, under error
 * control of both, and read at the times of the primal solution.
 *
 * Needs: ode.h.
 */
#include "solvers/sundials/ode.h"
#include "solvers/sundials/second_order.h"
#include <math.h>

/* ---- the integration ----------------------------------------------------- */

/* CVODES passes its own user data, the Ode. */
static int sensitivity_rhs(int ns, double t, N_Vector y, N_Vector ydot, int k, N_Vector s,
                           N_Vector sdot, void *ode, N_Vector x1, N_Vector x2) {
	(void)ns;
	(void)ydot;
	(void)x1;
	(void)x2;
	Ode *o = ode;
	Sensitivity *w = o->sensitivity;
	if (w->flat) {
		memset(vector_data(sdot), 0, (size_t)o->in.n * sizeof(double));
		return 0;
	}
	const uint32_t n = w->d.active.ncaptured;
	Value *args = w->jvp.args + w->jvp.ncaptured;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	for (uint32_t i = 0; i < n; i++) args[2 + i] = w->d.values[(uint32_t)k * n + i];
	args[2 + n] = value_tensor(vector_tensor(s));
	return routine_into(&o->s, &w->jvp, 1, t, sdot);
}

Status sensitivity_begin(Sensitivity *w, Ode *o, Active active, Fn *jvp, uint32_t ns) {
	*w = (Sensitivity){.o = o, .flat = fn_nresults(jvp) < 2};
	const uint32_t ncaptured = (uint32_t)o->call->options[1];
	Status st = directions_begin(&w->d, &o->s, &o->in, active, o->captured, ns);
	if (st == ST_OK)
		st = routine_begin(&o->s, &w->jvp, jvp, "the derivative of the right-hand side", ncaptured,
		                   o->captured);
	if (st != ST_OK) return st;
	w->s = solve_vectors(&o->s, ns, o->in.n);
	w->atol = solve_vectors(&o->s, ns, o->in.n);
	if (!w->s || !w->atol) return ST_NOMEM;
	for (uint32_t k = 0; k < ns; k++) { /* needed where a sensitivity stays 0 */
		double *a = vector_data(w->atol[k]);
		for (int64_t i = 0; i < o->in.n; i++)
			a[i] = o->in.atol[i] > 0 ? o->in.atol[i] : 1e-3 * o->in.rtol * fabs(o->in.y0[i]);
	}
	o->sensitivity = w;
	return ST_OK;
}

Status sensitivity_start(Sensitivity *w) {
	Ode *o = w->o;
	for (uint32_t k = 0; k < w->d.ns; k++)
		memcpy(vector_data(w->s[k]), vector_data(w->d.start[k]), (size_t)o->in.n * sizeof(double));
	int flag = sundials.CVodeSensInit1(o->mem, (int)w->d.ns, CV_STAGGERED, sensitivity_rhs, w->s);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSensSVtolerances(o->mem, o->in.rtol, w->atol);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSetSensErrCon(o->mem, SUNTRUE);
	if (flag != CV_SUCCESS) return ode_fail(o, flag, o->in.t0);
	if (o->adams && o->s.status == ST_OK) {
		w->nonlinear = sundials.SUNNonlinSol_FixedPointSens((int)w->d.ns, o->y, 0, o->s.sun);
		if (!w->nonlinear ||
		    sundials.CVodeSetNonlinearSolverSensStg(o->mem, w->nonlinear) != CV_SUCCESS)
			return ST_NOMEM;
	}
	return o->s.status;
}

int sensitivity_at(Sensitivity *w, double t) {
	return t == w->o->in.t0 ? CV_SUCCESS : sundials.CVodeGetSensDky(w->o->mem, t, 0, w->s);
}

void sensitivity_end(Sensitivity *w) {
	Ode *o = w->o;
	if (!o) return;
	if (o->mem) sundials.CVodeFree(&o->mem); /* it refers to what is freed below */
	if (w->nonlinear) sundials.SUNNonlinSolFree(w->nonlinear);
	solve_vectors_free(&o->s, w->d.ns, w->s);
	solve_vectors_free(&o->s, w->d.ns, w->atol);
	directions_end(&w->d);
	routine_end(&o->s, &w->jvp);
	o->sensitivity = NULL;
	*w = (Sensitivity){0};
}

/* ---- the host function --------------------------------------------------- */

typedef struct TangentRun {
	Ode o;
	Sensitivity w;
	Tensor *out;
} TangentRun;

static int run_step(void *run, double *t) { return ode_step(&((TangentRun *)run)->o, t); }

static Status run_fail(void *run, int flag, double t) {
	return ode_fail(&((TangentRun *)run)->o, flag, t);
}

static Status run_row(void *run, int64_t k, double t) {
	TangentRun *r = run;
	int flag = sensitivity_at(&r->w, t);
	if (flag != CV_SUCCESS) return ode_fail(&r->o, flag, t);
	double *out = (double *)(void *)r->out->data + k * r->o.in.n;
	const double *s = vector_data(r->w.s[0]);
	for (int64_t i = 0; i < r->o.in.n; i++) out[i] = r->w.d.scale[0] * s[i];
	return ST_OK;
}

static Status tangent_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                           uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	const uint32_t base = family_base(call->def->ud, call);
	const Active active = active_of(call->def->ud, call);
	const Value *tangents = args + base + 1;
	const double *dy0 = NULL;
	TangentRun r = {0};
	Status st = ode_begin(&r.o, c, call, args);
	r.o.in.nat = value_count(args[base]);
	if (st == ST_OK &&
	    !solve_numbers(&r.o.s, args[base], "the times of the solution", r.o.in.nat, &r.o.in.at))
		st = r.o.s.status;
	if (st == ST_OK && active.y0 &&
	    !solve_numbers(&r.o.s, tangents[0], "the tangent of the initial value", r.o.in.n, &dy0))
		st = r.o.s.status;
	if (st == ST_OK) st = sensitivity_begin(&r.w, &r.o, active, call->fns[ODE_NFNS], 1);
	if (st == ST_OK) st = direction_set(&r.w.d, 0, dy0, tangents + active.y0);
	if (st == ST_OK)
		st = (r.out = tensor_zeros(c, DT_F64, 2, (int64_t[]){r.o.in.nat, r.o.in.n})) ? ST_OK
		                                                                             : ST_NOMEM;
	if (st == ST_OK && r.w.d.scale[0] > 0) {
		st = ode_start(&r.o);
		if (st == ST_OK) st = sensitivity_start(&r.w);
		TimeLoop m = ode_time_loop(&r.o);
		m.ud = &r;
		m.step = run_step;
		m.row = run_row;
		m.fail = run_fail;
		if (st == ST_OK) st = time_loop_run(&m);
	}
	if (st == ST_OK) st = r.o.s.status; /* a clone may have failed unnoticed */
	if (st == ST_OK) results[0] = value_tensor(tensor_ref(r.out));
	tensor_unref(r.out);
	sensitivity_end(&r.w);
	ode_end(&r.o);
	return st;
}

const HostDef ode_tangent_host = {.name = "ode_tangent",
                                  .ud = (void *)(uintptr_t)&ode_family,
                                  .types = tangent_types,
                                  .eval = tangent_eval,
                                  .jvp = tangent_jvp,
                                  .transpose = tangent_transpose,
                                  .may_store = ode_tangent_may_store};
