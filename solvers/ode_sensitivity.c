/* ode_sensitivity.c - forward sensitivities by CVODES, and the host function "ode_tangent" that is made of them.
 *
 * Needs: ode.h. Guarantees: y is integrated again together with its sensitivities, under error control of both, and read at the times of the
 * primal solution.
 *
 * Scaling. The error of a sensitivity is measured by rtol and the atol of y, which is right for dy = s dp when dp is of p's own size
 * (Maly and Petzold, Appl. Numer. Math. 20 (1996); CVODES calls that size pbar). A direction is therefore divided, before the integration, by
 * the largest ratio of its elements to the sizes of p, and the result multiplied again: so the answer is linear in the direction
 * though steps are chosen by its error. An element's size is its magnitude, but no less than a hundredth of the largest in its array, and
 * 1 in an array of zeros.
 */
#include "solvers/ode.h"
#include <cvodes/cvodes.h>
#include <math.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ---- directions ------------------------------------------------------------------------------------------------------------- */

static double as_double(Dtype d, const char *p) {
	double x;
	scalar_convert(d, p, DT_F64, &x);
	return x;
}

/* max |dp_i| / size of p_i, over n elements. */
static double relative_size(int64_t n, Dtype d, const char *p, const char *dp) {
	const size_t step = dtype_size(d);
	double largest = 0, ratio = 0;
	for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(as_double(d, p + (size_t)i * step)));
	const double least = largest > 0 ? largest / 100 : 1;
	for (int64_t i = 0; i < n; i++) {
		const double size = fmax(fabs(as_double(d, p + (size_t)i * step)), least);
		ratio = fmax(ratio, fabs(as_double(d, dp + (size_t)i * step)) / size);
	}
	return ratio;
}

/* value / scale as a tensor (a scalar for rank 0) of its own; V_UNSET when memory fails. */
static Value divided(Solve *s, Value v, double scale) {
	Tensor *from = value_to_tensor(s->c, v), *t = from ? tensor_copy(s->c, from) : NULL;
	tensor_unref(from);
	if (!t) return (Value){.kind = V_UNSET};
	const Dtype d = (Dtype)t->dtype;
	for (int64_t i = 0; i < t->count; i++) {
		char *at = t->data + (size_t)i * dtype_size(d);
		const double x = as_double(d, at) / scale;
		scalar_convert(DT_F64, &x, d, at);
	}
	return value_from_tensor(t);
}

Status sensitivity_direction(Sensitivity *w, uint32_t k, const double *dy0, const Value *dp) {
	Ode *o = w->o;
	double scale = dy0 ? relative_size(o->n, DT_F64, (const char *)o->y0, (const char *)dy0) : 0;
	for (uint32_t i = 0; i < w->active.ncaptured; i++) {
		Tensor *p = value_to_tensor(o->s.c, o->captured[w->active.captured[i]]), *flat = p ? tensor_contiguous(o->s.c, p) : NULL;
		Tensor *q = value_to_tensor(o->s.c, dp[i]), *flat_q = q ? tensor_contiguous(o->s.c, q) : NULL;
		const bool have = flat && flat_q;
		if (have) scale = fmax(scale, relative_size(flat->count, (Dtype)flat->dtype, flat->data, flat_q->data));
		tensor_unref(p);
		tensor_unref(q);
		tensor_unref(flat);
		tensor_unref(flat_q);
		if (!have) return ST_NOMEM;
	}
	if (isnan(scale) || isinf(scale)) scale = 1; /* a tangent that is not finite: the solver will say so */
	w->scale[k] = scale;
	const double by = scale > 0 ? scale : 1;
	double *s = vector_data(w->s[k]);
	for (int64_t i = 0; i < o->n; i++) s[i] = dy0 ? dy0[i] / by : 0;
	for (uint32_t i = 0; i < w->active.ncaptured; i++) {
		Value *at = &w->directions[k * w->active.ncaptured + i];
		value_unref(*at);
		*at = divided(&o->s, dp[i], by);
		if (at->kind == V_UNSET) return ST_NOMEM;
	}
	return ST_OK;
}

/* ---- the integration ---------------------------------------------------------------------------------------------------------- */

/* CVODES calls this with its own user data, the Ode. */
static int sensitivity_rhs(int ns, double t, N_Vector y, N_Vector ydot, int k, N_Vector s, N_Vector sdot, void *ode, N_Vector x1, N_Vector x2) {
	(void)ns;
	(void)ydot;
	(void)x1;
	(void)x2;
	Ode *o = ode;
	Sensitivity *w = o->sensitivity;
	if (w->flat) {
		memset(vector_data(sdot), 0, (size_t)o->n * sizeof(double));
		return 0;
	}
	const uint32_t n = w->active.ncaptured;
	Value *args = w->jvp.args + w->jvp.ncaptured;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	for (uint32_t i = 0; i < n; i++) args[2 + i] = w->directions[(uint32_t)k * n + i];
	args[2 + n] = value_tensor(vector_tensor(s));
	return routine_into(&o->s, &w->jvp, 1, t, sdot);
}

Status sensitivity_begin(Sensitivity *w, Ode *o, Active active, Fn *jvp, uint32_t ns) {
	*w = (Sensitivity){.o = o, .active = active, .ns = ns, .flat = fn_nresults(jvp) < 2};
	Status st = routine_begin(&o->s, &w->jvp, jvp, "the derivative of the right-hand side", (uint32_t)o->call->options[1], o->captured);
	if (st != ST_OK) return st;
	const size_t ndirections = (size_t)ns * active.ncaptured;
	w->s = solve_vectors(&o->s, ns, o->n);
	w->atol = solve_vectors(&o->s, ns, o->n);
	w->scale = heap_alloc(o->s.c, ns * sizeof *w->scale);
	w->directions = heap_alloc(o->s.c, (ndirections + 1) * sizeof *w->directions);
	if (w->directions)
		for (size_t i = 0; i < ndirections; i++) w->directions[i] = (Value){.kind = V_UNSET};
	if (!w->s || !w->atol || !w->scale || !w->directions) return ST_NOMEM;
	for (uint32_t k = 0; k < ns; k++) { /* a sensitivity that stays 0 needs some atol */
		double *a = vector_data(w->atol[k]);
		for (int64_t i = 0; i < o->n; i++) a[i] = o->atol[i] > 0 ? o->atol[i] : 1e-3 * o->rtol * fabs(o->y0[i]);
	}
	o->sensitivity = w;
	return ST_OK;
}

Status sensitivity_start(Sensitivity *w) {
	Ode *o = w->o;
	int flag = CVodeSensInit1(o->mem, (int)w->ns, CV_STAGGERED, sensitivity_rhs, w->s);
	if (flag == CV_SUCCESS) flag = CVodeSensSVtolerances(o->mem, o->rtol, w->atol);
	if (flag == CV_SUCCESS) flag = CVodeSetSensErrCon(o->mem, SUNTRUE);
	if (flag != CV_SUCCESS) return ode_fail(o, flag, o->t0);
	if (o->adams && o->s.status == ST_OK) {
		w->nonlinear = SUNNonlinSol_FixedPointSens((int)w->ns, o->y, 0, o->s.sun);
		if (!w->nonlinear || CVodeSetNonlinearSolverSensStg(o->mem, w->nonlinear) != CV_SUCCESS) return ST_NOMEM;
	}
	return o->s.status;
}

int sensitivity_at(Sensitivity *w, double t) {
	return t == w->o->t0 ? CV_SUCCESS : CVodeGetSensDky(w->o->mem, t, 0, w->s);
}

void sensitivity_end(Sensitivity *w) {
	Ode *o = w->o;
	if (!o) return;
	if (o->mem) CVodeFree(&o->mem); /* it refers to what goes now */
	if (w->nonlinear) SUNNonlinSolFree(w->nonlinear);
	solve_vectors_free(&o->s, w->ns, w->s);
	solve_vectors_free(&o->s, w->ns, w->atol);
	const size_t ndirections = (size_t)w->ns * w->active.ncaptured;
	if (w->scale) heap_free(o->s.c, w->scale, w->ns * sizeof *w->scale);
	for (size_t i = 0; w->directions && i < ndirections; i++) value_unref(w->directions[i]);
	if (w->directions) heap_free(o->s.c, w->directions, (ndirections + 1) * sizeof *w->directions);
	routine_end(&o->s, &w->jvp);
	o->sensitivity = NULL;
	*w = (Sensitivity){0};
}

/* ---- the host function ------------------------------------------------------------------------------------------------------------ */

typedef struct Run {
	Ode o;
	Sensitivity w;
	Tensor *out;
} Run;

static int run_step(void *run, double *t) {
	return ode_step(&((Run *)run)->o, t);
}

static Status run_fail(void *run, int flag, double t) {
	return ode_fail(&((Run *)run)->o, flag, t);
}

static Status run_row(void *run, int64_t k, double t) {
	Run *r = run;
	int flag = sensitivity_at(&r->w, t);
	if (flag != CV_SUCCESS) return ode_fail(&r->o, flag, t);
	double *out = (double *)(void *)r->out->data + k * r->o.n;
	const double *s = vector_data(r->w.s[0]);
	for (int64_t i = 0; i < r->o.n; i++) out[i] = r->w.scale[0] * s[i];
	return ST_OK;
}

static Status tangent_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	const uint32_t base = family_base(call->def->ud, call);
	const Active active = active_of(call->def->ud, call);
	const Value *tangents = args + base + 1;
	const double *dy0 = NULL;
	Run r = {0};
	Status st = ode_begin(&r.o, c, call, args);
	r.o.nat = value_count(args[base]);
	if (st == ST_OK && !solve_numbers(&r.o.s, args[base], "the times of the solution", r.o.nat, &r.o.at)) st = r.o.s.status;
	if (st == ST_OK && active.y0 && !solve_numbers(&r.o.s, tangents[0], "the tangent of the initial value", r.o.n, &dy0)) st = r.o.s.status;
	if (st == ST_OK) st = sensitivity_begin(&r.w, &r.o, active, call->fns[ODE_NFNS], 1);
	if (st == ST_OK) st = sensitivity_direction(&r.w, 0, dy0, tangents + active.y0);
	if (st == ST_OK) st = (r.out = tensor_zeros(c, DT_F64, 2, (int64_t[]){r.o.nat, r.o.n})) ? ST_OK : ST_NOMEM;
	if (st == ST_OK && r.w.scale[0] > 0) {
		st = ode_start(&r.o);
		if (st == ST_OK) st = sensitivity_start(&r.w);
		March m = ode_march(&r.o);
		m.ud = &r;
		m.step = run_step;
		m.row = run_row;
		m.fail = run_fail;
		if (st == ST_OK) st = march(&m);
	}
	if (st == ST_OK) results[0] = value_tensor(tensor_ref(r.out));
	tensor_unref(r.out);
	sensitivity_end(&r.w);
	ode_end(&r.o);
	return st;
}

const HostDef ode_tangent_host = {.name = "ode_tangent", .ud = (void *)(uintptr_t)&ode_family, .types = tangent_types, .eval = tangent_eval, .transpose = tangent_transpose};
