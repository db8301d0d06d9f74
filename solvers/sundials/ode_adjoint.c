/* ode_adjoint.c - the host function "ode_adjoint": gradients through an initial
 * value problem.
 *
 * Method: one of two, by estimated cost.
 * - Forward, for few parameters or cotangents at very many times: the
 *   sensitivities of all parameters are integrated, some columns at a time, and
 *   contracted with w.
 * - Backward, otherwise, along the solution, which CVODES stores in checkpoints
 *   (Cao, Li, Petzold, Serban, SIAM J. Sci. Comput. 24, 2003, 1076). Each jump
 *   restarts the integration at order 1, which costs some twenty evaluations.
 *
 *     lambda' = -J^T lambda, lambda jumps by w[k] at t_k, wy0 = lambda(t0),
 *     wp = integral of f_p^T lambda
 *
 * Needs: ode.h; CVODES' adjoint module.
 *
 * Contract: from w[k, i], the cotangents of y_i(t_k), it computes those of y0
 * and of the captured values of f, to the tolerances of the primal solve.
 */
#include "solvers/sundials/ode.h"
#include "solvers/sundials/second_order.h"
#include <math.h>

enum {
	COLUMNS = 16,    /* sensitivities integrated at a time */
	FEW = 8,         /* number of parameters for which forward always wins */
	JUMPS_PER = 10,  /* jumps that make one further parameter worthwhile */
	CHECKPOINT = 250 /* maximum number of steps between checkpoints */
};
#define STORE_BYTES (64 << 20) /* limit on the memory of the steps between checkpoints */

typedef struct AdjointRun {
	Ode o;
	Sensitivity w;
	Active active;
	int64_t count;            /* entries of the gradient */
	double *gradient;         /* of y0, then of the captured values */
	const double *w_rows;     /* f64[nat, n] */
	uint32_t first;           /* the gradient's column of sensitivity 0 */
	Callback state, captured; /* vjps: (captured..., t, y, lambda) */
	/* of the backward problem */
	int which;
	N_Vector lambda, quadrature, lambda_atol, quadrature_atol;
	Pattern transposed;
	SUNMatrix matrix;
	SUNLinearSolver linear;
	SUNNonlinearSolver nonlinear; /* of Adams */
	Newton newton;                /* of BDF */
} AdjointRun;

/* ---- forward, some columns at a time ------------------------------------- */

static int run_step(void *run, double *t) { return ode_step(&((AdjointRun *)run)->o, t); }

static Status run_fail(void *run, int flag, double t) {
	return ode_fail(&((AdjointRun *)run)->o, flag, t);
}

static Status contract_row(void *run, int64_t k, double t) {
	AdjointRun *r = run;
	const double *row = r->w_rows + k * r->o.in.n;
	if (row_is_zero(row, r->o.in.n)) return ST_OK;
	int flag = sensitivity_at(&r->w, t);
	if (flag != CV_SUCCESS) return ode_fail(&r->o, flag, t);
	for (uint32_t j = 0; j < r->w.d.ns; j++) {
		const double *s = vector_data(r->w.s[j]);
		double sum = 0;
		for (int64_t i = 0; i < r->o.in.n; i++) sum += row[i] * s[i];
		r->gradient[r->first + j] += r->w.d.scale[j] * sum;
	}
	return ST_OK;
}

static Status forward_columns(AdjointRun *r, const HostCall *call, uint32_t first, uint32_t ns) {
	Ode *o = &r->o;
	r->first = first;
	Status st = sensitivity_begin(&r->w, o, r->active, call->fns[ODE_NFNS], ns);
	for (uint32_t j = 0; j < ns && st == ST_OK; j++) st = direction_unit(&r->w.d, j, first + j);
	if (st == ST_OK) st = ode_start(o);
	if (st == ST_OK) st = sensitivity_start(&r->w);
	TimeLoop m = ode_time_loop(o);
	m.ud = r;
	m.step = run_step;
	m.row = contract_row;
	m.fail = run_fail;
	if (st == ST_OK) st = time_loop_run(&m);
	sensitivity_end(&r->w);
	return st;
}

/* ---- backward ------------------------------------------------------------ */

static int run_vjp(AdjointRun *r, Callback *f, double t, N_Vector y, N_Vector lambda) {
	Value *args = f->args + f->ncaptured;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	args[2] = value_tensor(vector_tensor(lambda));
	return routine_run(&r->o.s, f);
}

static int adjoint_rhs(double t, N_Vector y, N_Vector lambda, N_Vector out, void *run) {
	AdjointRun *r = run;
	double *to = vector_data(out);
	const int64_t n = r->o.in.n;
	if (!r->active.vjp_state) {
		memset(to, 0, (size_t)n * sizeof *to);
		return 0;
	}
	const double *x;
	if (run_vjp(r, &r->state, t, y, lambda)) return -1;
	int flag = routine_numbers(&r->o.s, &r->state, 0, n, t, &x);
	for (int64_t i = 0; i < n && !flag; i++) to[i] = -x[i];
	routine_drop(&r->state);
	return flag;
}

static int adjoint_quadrature(double t, N_Vector y, N_Vector lambda, N_Vector out, void *run) {
	AdjointRun *r = run;
	double *to = vector_data(out);
	if (run_vjp(r, &r->captured, t, y, lambda)) return -1;
	int flag = 0;
	for (uint32_t i = 0; i < r->active.ncaptured && !flag; i++) {
		const int64_t n = value_count(r->o.captured[r->active.captured[i]]);
		const double *x;
		flag = routine_numbers(&r->o.s, &r->captured, i, n, t, &x);
		for (int64_t j = 0; j < n && !flag; j++) *to++ = -x[j];
	}
	routine_drop(&r->captured);
	return flag;
}

static int adjoint_jacobian(double t, N_Vector y, N_Vector lambda, N_Vector flambda, SUNMatrix m,
                            void *run, N_Vector x1, N_Vector x2, N_Vector x3) {
	(void)lambda;
	(void)flambda;
	(void)x1;
	(void)x2;
	(void)x3;
	AdjointRun *r = run;
	return ode_jacobian(&r->o, t, y, &r->transposed, -1, true, m);
}

static double largest(const double *x, int64_t n) {
	double most = 0;
	for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
	return most;
}

/* Absolute tolerances of lambda and the gradient. Both scale with w, the
 * gradient also with the parameters. */
static void adjoint_tolerances(AdjointRun *r) {
	Ode *o = &r->o;
	const double w = largest(r->w_rows, o->in.nat * o->in.n), small = 1e-3 * o->in.rtol;
	double *a = vector_data(r->lambda_atol),
		   y = fmax(largest(o->in.y0, o->in.n), largest(vector_data(o->y), o->in.n));
	for (int64_t i = 0; i < o->in.n; i++) a[i] = small * w;
	if (!r->quadrature) return;
	double *q = vector_data(r->quadrature_atol);
	/* the size of a zero solution is its permitted error */
	if (y == 0 && o->in.rtol > 0) y = largest(o->in.atol, o->in.n) / o->in.rtol;
	for (uint32_t i = 0; i < r->active.ncaptured; i++) {
		const Value p = o->captured[r->active.captured[i]];
		double size = 0, element = 0;
		/* the largest element */
		for (int64_t j = 0; p.kind == V_TENSOR && j < p.tensor->count; j++) {
			int64_t index[MAX_RANK], rest = j;
			for (uint32_t k = p.tensor->rank; k-- > 0;) {
				index[k] = rest % p.tensor->shape[k];
				rest /= p.tensor->shape[k];
			}
			size = fmax(size, fabs(tensor_get(p.tensor, index)));
		}
		if (p.kind == V_SCALAR && value_as_f64(p, &element)) size = fabs(element);
		for (int64_t j = value_count(p); j > 0; j--) *q++ = small * w * y / (size > 0 ? size : 1);
	}
}

static Status attach_backward(AdjointRun *r) {
	Ode *o = &r->o;
	Solve *s = &o->s;
	if (o->adams) {
		r->nonlinear = sundials.SUNNonlinSol_FixedPoint(r->lambda, 0, s->sun);
		return r->nonlinear && sundials.CVodeSetNonlinearSolverB(o->mem, r->which, r->nonlinear) ==
		                           CV_SUCCESS
		           ? ST_OK
		           : ST_NOMEM;
	}
	Status st = pattern_transposed(s, &r->transposed, &o->pattern);
	if (st != ST_OK) return st;
	r->matrix = pattern_matrix(s, &r->transposed);
	r->linear = r->matrix ? pattern_solver(s, &r->transposed, r->lambda, r->matrix) : NULL;
	if (!r->linear ||
	    sundials.CVodeSetLinearSolverB(o->mem, r->which, r->linear, r->matrix) != CVLS_SUCCESS)
		return ST_NOMEM;
	if (sundials.CVodeSetJacFnB(o->mem, r->which, adjoint_jacobian) != CVLS_SUCCESS)
		return ST_NOMEM;
	if (!newton_begin(&r->newton, s, o->in.n, o->in.rtol, false)) return ST_NOMEM;
	return sundials.CVodeSetNonlinearSolverB(o->mem, r->which, r->newton.solver) == CV_SUCCESS
	           ? ST_OK
	           : ST_NOMEM;
}

static Status backward_start(AdjointRun *r, double t) {
	Ode *o = &r->o;
	int flag = sundials.CVodeCreateB(o->mem, o->adams ? CV_ADAMS : CV_BDF, &r->which);
	if (flag == CV_SUCCESS) flag = sundials.CVodeInitB(o->mem, r->which, adjoint_rhs, t, r->lambda);
	if (flag == CV_SUCCESS)
		flag = sundials.CVodeSVtolerancesB(o->mem, r->which, o->in.rtol, r->lambda_atol);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSetUserDataB(o->mem, r->which, r);
	if (flag == CV_SUCCESS)
		flag = sundials.CVodeSetMaxNumStepsB(o->mem, r->which, (long)o->in.max_steps);
	if (flag != CV_SUCCESS) return ode_fail_backward(o, flag, t);
	Status st = attach_backward(r);
	if (st != ST_OK || !r->quadrature) return st;
	flag = sundials.CVodeQuadInitB(o->mem, r->which, adjoint_quadrature, r->quadrature);
	if (flag == CV_SUCCESS)
		flag = sundials.CVodeQuadSVtolerancesB(o->mem, r->which, o->in.rtol, r->quadrature_atol);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSetQuadErrConB(o->mem, r->which, SUNTRUE);
	return flag == CV_SUCCESS ? o->s.status : ode_fail_backward(o, flag, t);
}

/* Restarts after a jump. */
static Status backward_again(AdjointRun *r, double t) {
	Ode *o = &r->o;
	int flag = sundials.CVodeReInitB(o->mem, r->which, t, r->lambda);
	if (flag == CV_SUCCESS && r->quadrature)
		flag = sundials.CVodeQuadReInitB(o->mem, r->which, r->quadrature);
	return flag == CV_SUCCESS ? o->s.status : ode_fail_backward(o, flag, t);
}

/* Integrates lambda and the quadratures from t to `to`. */
static Status backward_to(AdjointRun *r, double t, double to) {
	Ode *o = &r->o;
	double reached;
	int flag = sundials.CVodeB(o->mem, to, CV_NORMAL);
	if (o->s.status != ST_OK) return o->s.status;
	if (flag >= 0) flag = sundials.CVodeGetB(o->mem, r->which, &reached, r->lambda);
	if (flag >= 0 && r->quadrature)
		flag = sundials.CVodeGetQuadB(o->mem, r->which, &reached, r->quadrature);
	return flag >= 0 ? ST_OK : ode_fail_backward(o, flag, t);
}

static void jump(AdjointRun *r, int64_t k) {
	double *lambda = vector_data(r->lambda);
	for (int64_t i = 0; i < r->o.in.n; i++) lambda[i] += r->w_rows[k * r->o.in.n + i];
}

/* Whether the integrator cannot distinguish two times. */
static bool same_time(double a, double b) { return fabs(a - b) <= 1e-14 * fmax(fabs(a), fabs(b)); }

/* Creates the vjps and vectors of the backward problem. */
static Status backward_begin(AdjointRun *r, const HostCall *call) {
	Ode *o = &r->o;
	Solve *s = &o->s;
	const uint32_t ncaptured = (uint32_t)call->options[1];
	const char *what = "the adjoint of the right-hand side";
	uint32_t fn = ODE_NFNS + 1;
	Status st = ST_OK;
	if (r->active.vjp_state)
		st = routine_begin(s, &r->state, call->fns[fn++], what, ncaptured, o->captured);
	if (r->active.vjp_captured && st == ST_OK)
		st = routine_begin(s, &r->captured, call->fns[fn], what, ncaptured, o->captured);
	if (st != ST_OK) return st;
	r->lambda = solve_vector(s, o->in.n);
	r->lambda_atol = solve_vector(s, o->in.n);
	if (!r->lambda || !r->lambda_atol) return ST_NOMEM;
	if (!r->active.vjp_captured) return ST_OK;
	const int64_t n = r->count - (r->active.y0 ? o->in.n : 0);
	r->quadrature = solve_vector(s, n);
	r->quadrature_atol = solve_vector(s, n);
	return r->quadrature && r->quadrature_atol ? ST_OK : ST_NOMEM;
}

/* Integrates the solution from t0 to t and stores checkpoints. */
static Status keep_solution(AdjointRun *r, double t) {
	Ode *o = &r->o;
	const int64_t fit = STORE_BYTES / (o->in.n * (int64_t)sizeof(double));
	int ncheck;
	o->in.t1 = t;
	Status st = ode_start(o);
	if (st != ST_OK) return st;
	int flag = sundials.CVodeAdjInit(o->mem,
	                                 fit < 16           ? 16
	                                 : fit > CHECKPOINT ? CHECKPOINT
	                                                    : (long)fit,
	                                 CV_POLYNOMIAL);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSetMaxNumSteps(o->mem, (long)o->in.max_steps);
	if (flag == CV_SUCCESS && o->s.status == ST_OK)
		flag = sundials.CVodeF(o->mem, t, o->y, &o->t, CV_NORMAL, &ncheck);
	return o->s.status != ST_OK ? o->s.status : flag < 0 ? ode_fail(o, flag, o->t) : ST_OK;
}

/* The last row up to k that is not zero, or -1. */
static int64_t next_jump(const AdjointRun *r, int64_t k) {
	while (k >= 0 && row_is_zero(r->w_rows + k * r->o.in.n, r->o.in.n)) k--;
	return k;
}

static Status backward(AdjointRun *r, const HostCall *call) {
	Ode *o = &r->o;
	const double *at = o->in.at, t0 = o->in.t0;
	Status st = backward_begin(r, call);
	int64_t k = next_jump(r, o->in.nat - 1);
	if (st == ST_OK && k >= 0 && !same_time(at[k], t0)) {
		st = keep_solution(r, at[k]);
		if (st == ST_OK) adjoint_tolerances(r);
	}
	for (bool begun = false; st == ST_OK && k >= 0 && !same_time(at[k], t0); begun = true) {
		const double t = at[k];
		for (; k >= 0 && same_time(at[k], t); k--) jump(r, k);
		k = next_jump(r, k);
		st = begun ? backward_again(r, t) : backward_start(r, t);
		if (st == ST_OK) st = backward_to(r, t, k < 0 || same_time(at[k], t0) ? t0 : at[k]);
	}
	if (st != ST_OK) return st;
	for (; k >= 0; k--) jump(r, k); /* at t0 */
	double *out = r->gradient;
	if (r->active.y0) {
		memcpy(out, vector_data(r->lambda), (size_t)o->in.n * sizeof *out);
		out += o->in.n;
	}
	if (r->quadrature)
		memcpy(out, vector_data(r->quadrature),
		       (size_t)vector_tensor(r->quadrature)->count * sizeof *out);
	return ST_OK;
}

/* ---- the host function --------------------------------------------------- */

static bool forward_is_cheaper(const AdjointRun *r) {
	int64_t jumps = 0;
	for (int64_t k = 0; k < r->o.in.nat; k++)
		jumps += !row_is_zero(r->w_rows + k * r->o.in.n, r->o.in.n);
	return r->count <= FEW + jumps / JUMPS_PER;
}

static Status adjoint_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                           uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	const uint32_t base = family_base(call->def->ud, call);
	AdjointRun r = {.active = active_of(call->def->ud, call)};
	Status st = ode_begin(&r.o, c, call, args);
	Ode *o = &r.o;
	o->in.nat = value_count(args[base]);
	if (st == ST_OK &&
	    !solve_numbers(&o->s, args[base], "the times of the solution", o->in.nat, &o->in.at))
		st = o->s.status;
	if (st == ST_OK && !solve_numbers(&o->s, args[base + 1], "the cotangents of the solution",
	                                  o->in.nat * o->in.n, &r.w_rows))
		st = o->s.status;
	if (st == ST_OK) {
		r.count = active_count(&o->in, r.active, o->captured);
		r.gradient = heap_alloc(c, (size_t)(r.count + 1) * sizeof *r.gradient);
		if (r.gradient) memset(r.gradient, 0, (size_t)(r.count + 1) * sizeof *r.gradient);
		else st = ST_NOMEM;
	}
	if (st == ST_OK && forward_is_cheaper(&r)) {
		for (uint32_t first = 0; first < r.count && st == ST_OK; first += COLUMNS) {
			uint32_t ns = r.count - first < COLUMNS ? (uint32_t)(r.count - first) : COLUMNS;
			ode_rewind(o);
			st = forward_columns(&r, call, first, ns);
		}
	} else if (st == ST_OK) {
		st = backward(&r, call);
	}
	if (st == ST_OK) st = o->s.status; /* a clone may have failed unnoticed */
	if (st == ST_OK)
		st = gradient_cut(&o->s, r.active, args[ODE_Y0], o->captured, r.gradient, results);
	if (r.gradient) heap_free(c, r.gradient, (size_t)(r.count + 1) * sizeof *r.gradient);
	if (o->mem) sundials.CVodeFree(&o->mem); /* before the objects that it refers to */
	if (r.linear) sundials.SUNLinSolFree(r.linear);
	if (r.matrix) sundials.SUNMatDestroy(r.matrix);
	if (r.nonlinear) sundials.SUNNonlinSolFree(r.nonlinear);
	newton_end(&r.newton);
	pattern_end(&o->s, &r.transposed);
	routine_end(&o->s, &r.state);
	routine_end(&o->s, &r.captured);
	ode_end(o);
	return st;
}

const HostDef ode_adjoint_host = {.name = "ode_adjoint",
                                  .ud = (void *)(uintptr_t)&ode_family,
                                  .types = adjoint_types,
                                  .eval = adjoint_eval,
                                  .jvp = adjoint_jvp,
                                  .transpose = adjoint_transpose};

const HostDef ode_curvature_host = {.name = "ode_curvature",
                                    .ud = (void *)(uintptr_t)&ode_family,
                                    .types = curvature_types,
                                    .eval = curvature_eval,
                                    .jvp = curvature_jvp,
                                    .transpose = curvature_transpose};
