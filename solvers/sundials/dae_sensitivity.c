/* dae_sensitivity.c - forward sensitivities by IDAS; the host functions
 * "dae_tangent" and "dae_adjoint".
 *
 * Method: y is integrated again together with its sensitivities, under error
 * control of both, and read at the times of the primal solution. Initial
 * sensitivities of the differential unknowns are given; consistency determines
 * the others. The adjoint integrates the sensitivities of all parameters
 * forward, some columns at a time, and contracts them with the cotangents. Its
 * cost is proportional to the number of parameters. A backward adjoint system
 * of index 1 would need consistent values at every jump.
 *
 * Needs: dae.h.
 */
#include "solvers/sundials/dae.h"
#include "solvers/sundials/second_order.h"
#include <math.h>

enum { COLUMNS = 16 }; /* sensitivities integrated at a time */

/* ---- the integration ----------------------------------------------------- */

static int sensitivity_residual(int ns, double t, N_Vector y, N_Vector yp, N_Vector r, N_Vector *s,
                                N_Vector *sp, N_Vector *out, void *dae, N_Vector x1, N_Vector x2,
                                N_Vector x3) {
	(void)r;
	(void)x1;
	(void)x2;
	(void)x3;
	Dae *o = dae;
	DaeSensitivity *w = o->sensitivity;
	const uint32_t n = w->d.active.ncaptured;
	Value *args = w->jvp.args + w->jvp.ncaptured;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	args[2] = value_tensor(vector_tensor(yp));
	for (uint32_t k = 0; k < (uint32_t)ns; k++) {
		if (w->flat) {
			memset(vector_data(out[k]), 0, (size_t)o->in.n * sizeof(double));
			continue;
		}
		for (uint32_t i = 0; i < n; i++) args[3 + i] = w->d.values[k * n + i];
		args[3 + n] = value_tensor(vector_tensor(s[k]));
		args[4 + n] = value_tensor(vector_tensor(sp[k]));
		int flag = routine_into(&o->s, &w->jvp, 1, t, out[k]);
		if (flag) return flag;
	}
	return 0;
}

Status dae_sensitivity_begin(DaeSensitivity *w, Dae *o, Active active, Fn *jvp, uint32_t ns) {
	*w = (DaeSensitivity){.flat = fn_nresults(jvp) < 2};
	o->sensitivity = w;
	const uint32_t ncaptured = (uint32_t)o->call->options[1];
	Status st = directions_begin(&w->d, &o->s, &o->in, active, o->captured, ns);
	if (st == ST_OK)
		st = routine_begin(&o->s, &w->jvp, jvp, "the derivative of the residual", ncaptured,
		                   o->captured);
	if (st != ST_OK) return st;
	w->s = solve_vectors(&o->s, ns, o->in.n);
	w->sp = solve_vectors(&o->s, ns, o->in.n);
	w->atol = solve_vectors(&o->s, ns, o->in.n);
	if (!w->s || !w->sp || !w->atol) return ST_NOMEM;
	for (uint32_t k = 0; k < ns; k++) { /* needed where a sensitivity stays 0 */
		double *a = vector_data(w->atol[k]);
		for (int64_t i = 0; i < o->in.n; i++)
			a[i] = o->in.atol[i] > 0 ? o->in.atol[i] : 1e-3 * o->in.rtol * fabs(o->in.y0[i]);
	}
	return ST_OK;
}

Status dae_sensitivity_attach(Dae *o) {
	DaeSensitivity *w = o->sensitivity;
	for (uint32_t k = 0; k < w->d.ns; k++)
		memcpy(vector_data(w->s[k]), vector_data(w->d.start[k]), (size_t)o->in.n * sizeof(double));
	int flag = sundials.IDASensInit(o->mem, (int)w->d.ns, IDA_STAGGERED, sensitivity_residual, w->s,
	                                w->sp);
	if (flag == IDA_SUCCESS) flag = sundials.IDASensSVtolerances(o->mem, o->in.rtol, w->atol);
	if (flag == IDA_SUCCESS) flag = sundials.IDASetSensErrCon(o->mem, SUNTRUE);
	return flag == IDA_SUCCESS ? o->s.status : dae_fail(o, flag, o->in.t0);
}

void dae_sensitivity_end(DaeSensitivity *w, Dae *o) {
	if (o->mem) sundials.IDAFree(&o->mem); /* it refers to what is freed below */
	solve_vectors_free(&o->s, w->d.ns, w->s);
	solve_vectors_free(&o->s, w->d.ns, w->sp);
	solve_vectors_free(&o->s, w->d.ns, w->atol);
	directions_end(&w->d);
	routine_end(&o->s, &w->jvp);
	o->sensitivity = NULL;
	*w = (DaeSensitivity){0};
}

/* ---- the host functions -------------------------------------------------- */

typedef struct DaeSensitivityRun {
	Dae o; /* must be first: callbacks for a Dae receive this type */
	DaeSensitivity w;
	double *out;          /* tangent: f64[nat, n]; adjoint: the gradient */
	const double *w_rows; /* adjoint */
	uint32_t first;       /* the gradient's column of sensitivity 0 */
} DaeSensitivityRun;

static int sensitivities_at(DaeSensitivityRun *r, double t) {
	return t == r->o.in.t0 ? IDA_SUCCESS : sundials.IDAGetSensDky(r->o.mem, t, 0, r->w.s);
}

static Status tangent_row(void *run, int64_t k, double t) {
	DaeSensitivityRun *r = run;
	int flag = sensitivities_at(r, t);
	if (flag != IDA_SUCCESS) return dae_fail(&r->o, flag, t);
	const double *s = vector_data(r->w.s[0]);
	for (int64_t i = 0; i < r->o.in.n; i++) r->out[k * r->o.in.n + i] = r->w.d.scale[0] * s[i];
	return ST_OK;
}

static Status adjoint_row(void *run, int64_t k, double t) {
	DaeSensitivityRun *r = run;
	const double *row = r->w_rows + k * r->o.in.n;
	if (row_is_zero(row, r->o.in.n)) return ST_OK;
	int flag = sensitivities_at(r, t);
	if (flag != IDA_SUCCESS) return dae_fail(&r->o, flag, t);
	for (uint32_t j = 0; j < r->w.d.ns; j++) {
		const double *s = vector_data(r->w.s[j]);
		double sum = 0;
		for (int64_t i = 0; i < r->o.in.n; i++) sum += row[i] * s[i];
		r->out[r->first + j] += r->w.d.scale[j] * sum;
	}
	return ST_OK;
}

static Status integrate(DaeSensitivityRun *r, Status (*row)(void *, int64_t, double)) {
	Status st = dae_start(&r->o);
	TimeLoop m = dae_time_loop(&r->o);
	m.ud = r;
	m.row = row;
	return st == ST_OK ? time_loop_run(&m) : st;
}

static Status begin(DaeSensitivityRun *r, Ctx *c, const HostCall *call, const Value *args) {
	const uint32_t base = family_base(&dae_family, call);
	Status st = dae_begin(&r->o, c, call, args);
	r->o.in.nat = value_count(args[base]);
	if (st == ST_OK &&
	    !solve_numbers(&r->o.s, args[base], "the times of the solution", r->o.in.nat, &r->o.in.at))
		st = r->o.s.status;
	return st;
}

static Status tangent_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                           uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	const Active active = active_of(&dae_family, call);
	const Value *tangents = args + family_base(&dae_family, call) + 1;
	const double *dy0 = NULL;
	Tensor *out = NULL;
	DaeSensitivityRun r = {0};
	Status st = begin(&r, c, call, args);
	Dae *o = &r.o;
	if (st == ST_OK && active.y0 &&
	    !solve_numbers(&o->s, tangents[0], "the tangent of the initial value", o->in.n, &dy0))
		st = o->s.status;
	if (st == ST_OK) st = dae_sensitivity_begin(&r.w, o, active, call->fns[DAE_NFNS], 1);
	if (st == ST_OK) st = direction_set(&r.w.d, 0, dy0, tangents + active.y0);
	if (st == ST_OK)
		st = (out = tensor_zeros(c, DT_F64, 2, (int64_t[]){o->in.nat, o->in.n})) ? ST_OK : ST_NOMEM;
	if (st == ST_OK) r.out = (double *)(void *)out->data;
	if (st == ST_OK && r.w.d.scale[0] > 0) st = integrate(&r, tangent_row);
	if (st == ST_OK) st = o->s.status; /* a clone may have failed unnoticed */
	if (st == ST_OK) results[0] = value_tensor(tensor_ref(out));
	tensor_unref(out);
	dae_sensitivity_end(&r.w, o);
	dae_end(o);
	return st;
}

static Status adjoint_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                           uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	const Active active = active_of(&dae_family, call);
	const Value rows = args[family_base(&dae_family, call) + 1];
	DaeSensitivityRun r = {0};
	Status st = begin(&r, c, call, args);
	Dae *o = &r.o;
	if (st == ST_OK && !solve_numbers(&o->s, rows, "the cotangents of the solution",
	                                  o->in.nat * o->in.n, &r.w_rows))
		st = o->s.status;
	const int64_t count = st == ST_OK ? active_count(&o->in, active, o->captured) : 0;
	const size_t bytes = (size_t)(count + 1) * sizeof *r.out;
	if (st == ST_OK && !(r.out = heap_alloc(c, bytes))) st = ST_NOMEM;
	if (st == ST_OK) memset(r.out, 0, bytes);
	for (; r.first < count && st == ST_OK; r.first += COLUMNS) {
		const uint32_t ns = count - r.first < COLUMNS ? (uint32_t)(count - r.first) : COLUMNS;
		dae_rewind(o);
		st = dae_sensitivity_begin(&r.w, o, active, call->fns[DAE_NFNS], ns);
		for (uint32_t j = 0; j < ns && st == ST_OK; j++)
			st = direction_unit(&r.w.d, j, r.first + j);
		if (st == ST_OK) st = integrate(&r, adjoint_row);
		dae_sensitivity_end(&r.w, o);
	}
	if (st == ST_OK) st = o->s.status; /* a clone may have failed unnoticed */
	if (st == ST_OK) st = gradient_cut(&o->s, active, args[DAE_Y0], o->captured, r.out, results);
	if (r.out) heap_free(c, r.out, bytes);
	dae_end(o);
	return st;
}

const HostDef dae_tangent_host = {.name = "dae_tangent",
                                  .ud = (void *)(uintptr_t)&dae_family,
                                  .types = tangent_types,
                                  .eval = tangent_eval,
                                  .jvp = tangent_jvp,
                                  .transpose = tangent_transpose,
                                  .may_store = dae_tangent_may_store};
const HostDef dae_adjoint_host = {.name = "dae_adjoint",
                                  .ud = (void *)(uintptr_t)&dae_family,
                                  .types = adjoint_types,
                                  .eval = adjoint_eval,
                                  .jvp = adjoint_jvp,
                                  .transpose = adjoint_transpose};
const HostDef dae_curvature_host = {.name = "dae_curvature",
                                    .ud = (void *)(uintptr_t)&dae_family,
                                    .types = curvature_types,
                                    .eval = curvature_eval,
                                    .jvp = curvature_jvp,
                                    .transpose = curvature_transpose};
