/* dae.c - the host function "dae": F(t, y, y') = 0 by IDAS.
 *
 * Needs: dae.h; SUNDIALS' IDAS. Guarantees: as solvers.h describes it, for
 * systems of index 1 (and implicit ones of index 0).
 *
 * Consistent initial values: Brown, Hindmarsh and Petzold, SIAM J. Sci. Comput.
 * 19 (1998) 1495: the differential part of y0 is kept, its algebraic part and
 * y' of the differential part are solved for.
 */
#include "solvers/sundials/dae.h"
#include "solvers/sundials/ivp.h"
#include <math.h>

static const GivenAt WHERE = {DAE_Y0, DAE_T0, DAE_T1, DAE_RTOL, DAE_ATOL, DAE_SAVEAT, DAE_MAX_STEP};

/* ---- callbacks ----------------------------------------------------------- */

static int call_residual(double t, N_Vector y, N_Vector yp, N_Vector r, void *dae) {
	Dae *o = dae;
	Value *args = o->f.args + o->f.ncaptured;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	args[2] = value_tensor(vector_tensor(yp));
	return routine_into(&o->s, &o->f, 0, t, r);
}

static int call_jacobian(double t, double cj, N_Vector y, N_Vector yp, N_Vector r, SUNMatrix m,
                         void *dae, N_Vector x1, N_Vector x2, N_Vector x3) {
	(void)r;
	(void)x1;
	(void)x2;
	(void)x3;
	Dae *o = dae;
	Value *args = o->jac.args + o->jac.ncaptured;
	const double *values;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	args[2] = value_tensor(vector_tensor(yp));
	args[3] = value_f64(cj);
	if (routine_run(&o->s, &o->jac)) return -1;
	int flag = routine_numbers(&o->s, &o->jac, 0, o->pattern.nvalues, t, &values);
	if (!flag) {
		pattern_fill(&o->pattern, values, 1, false, m);
		pattern_row_sizes(&o->pattern, values, m, vector_data(y), o->newton.sizes);
	}
	routine_drop(&o->jac);
	return flag;
}

/* ---- a system from its operands ------------------------------------------ */

static Status read_operands(Dae *o, const Value *args) {
	Solve *s = &o->s;
	Status st = given_read(s, &o->in, &WHERE, args);
	if (st != ST_OK) return st;
	if (!solve_numbers(s, args[DAE_YP0], "the initial time derivative", o->in.n, &o->yp0))
		return s->status;
	if (!solve_numbers(s, args[DAE_ID], "the list of differential unknowns", o->in.n, &o->id))
		return s->status;
	for (int64_t i = 0; i < o->in.n; i++) {
		if (isfinite(o->yp0[i])) continue;
		diag_error(s->c, E_VALUE, NO_SPAN, "initial time derivative %lld is %g", (long long)i,
		           o->yp0[i]);
		return ST_ERROR;
	}
	return pattern_begin(s, &o->pattern, o->in.n, o->call->options[DAE_LINEAR], args[DAE_COLPTR],
	                     args[DAE_ROWIND]);
}

Status dae_begin(Dae *o, Ctx *c, const HostCall *call, const Value *args) {
	const int64_t *options = call->options;
	*o = (Dae){.call = call,
	           .captured = args + DAE_OPERANDS,
	           .fix_initial = options[DAE_FIX_INITIAL] != 0};
	o->in.dense = options[DAE_LINEAR] == 0;
	o->in.degree = options[DAE_DEGREE] > 0 ? (uint32_t)options[DAE_DEGREE] : 5;
	o->in.max_steps = options[DAE_MAX_STEPS] > 0 ? options[DAE_MAX_STEPS] : DEFAULT_MAX_STEPS;
	Status st = solve_begin(&o->s, c);
	if (st == ST_OK) st = read_operands(o, args);
	const uint32_t nf = (uint32_t)options[1], njac = (uint32_t)options[2];
	if (st == ST_OK)
		st = routine_begin(&o->s, &o->f, call->fns[DAE_F], "the residual", nf, o->captured);
	if (st == ST_OK)
		st = routine_begin(&o->s, &o->jac, call->fns[DAE_JAC], "the Jacobian of the residual", njac,
		                   o->captured + nf);
	if (st != ST_OK) return st;
	o->f.of = 'e';
	o->y = solve_vector_of(&o->s, o->in.n, o->in.y0);
	o->yp = solve_vector_of(&o->s, o->in.n, o->yp0);
	o->id_vector = solve_vector_of(&o->s, o->in.n, o->id);
	o->atol_vector = solve_vector_of(&o->s, o->in.n, o->in.atol);
	o->t = o->in.t0;
	return o->y && o->yp && o->id_vector && o->atol_vector ? ST_OK : ST_NOMEM;
}

/* Which equations have no y' in them: rows of F_y + c F_y' that are the same
 * for every c. NULL: not known. */
static bool *algebraic_rows(Dae *o, N_Vector y, N_Vector yp, bool *rows) {
	const int64_t n = o->in.n;
	Value *args = o->jac.args + o->jac.ncaptured;
	N_Vector kept = o->in.dense ? solve_vector(&o->s, n * n) : NULL;
	if (!kept) return NULL;
	for (int64_t i = 0; i < n; i++) rows[i] = true;
	for (int c = 0; c < 2; c++) {
		const double *values;
		args[0] = value_f64(o->in.t0);
		args[1] = value_tensor(vector_tensor(y));
		args[2] = value_tensor(vector_tensor(yp));
		args[3] = value_f64(c);
		if (routine_run(&o->s, &o->jac)) return NULL;
		const int flag = routine_numbers(&o->s, &o->jac, 0, n * n, o->in.t0, &values);
		for (int64_t k = 0; !flag && k < n * n; k++) {
			if (c && values[k] != vector_data(kept)[k]) rows[k / n] = false;
			vector_data(kept)[k] = values[k];
		}
		routine_drop(&o->jac);
		if (flag) return NULL;
	}
	return rows;
}

/* Equation `equation` is off by `off` at the initial values given. */
static Status not_consistent(Dae *o) {
	Solve *s = &o->s;
	FailureState at = {.t = o->in.t0};
	N_Vector y = solve_vector_of(s, o->in.n, o->in.y0), yp = solve_vector_of(s, o->in.n, o->yp0),
			 r = solve_vector(s, o->in.n);
	if (!y || !yp || !r) return ST_NOMEM;
	int flag = call_residual(o->in.t0, y, yp, r, o);
	if (s->status != ST_OK) return s->status;
	if (flag) return solve_report_failure(s, &o->in, FAILED_NOT_FINITE, &at);
	/* one without y' first: the others can be met by y' */
	bool *rows = heap_alloc(s->c, (size_t)o->in.n * sizeof *rows),
		 *algebraic = rows ? algebraic_rows(o, y, yp, rows) : NULL;
	for (int pass = algebraic ? 0 : 1; pass < 2 && !(at.off > 0); pass++)
		for (int64_t i = 0; i < o->in.n; i++) {
			if (fabs(vector_data(r)[i]) <= at.off || (!pass && !algebraic[i])) continue;
			at.off = fabs(vector_data(r)[i]);
			at.equation = i;
		}
	if (rows) heap_free(s->c, rows, (size_t)o->in.n * sizeof *rows);
	if (s->status != ST_OK) return s->status;
	return solve_report_failure(s, &o->in, FAILED_START, &at);
}

/* y and y' that fit each other at t: the given values of the differential
 * unknowns stay. Gives IDAS's flag. */
static int consistent_values(Dae *o, double t) {
	/* IDAS takes its first step length from the next time of interest */
	const double next = o->in.t1 != t ? o->in.t1 : t + fmax(1, fabs(t));
	/* its Newton matrix is right for a short first step only */
	int flag = IDA_CONV_FAIL;
	const char *before = o->s.bad;
	for (double part = 1; part > 1e-19 && (flag == IDA_LINESEARCH_FAIL || flag == IDA_CONV_FAIL);
	     part *= 1e-3) {
		o->s.bad = before;
		flag = sundials.IDACalcIC(o->mem, IDA_YA_YDP_INIT, t + part * (next - t));
		if (o->s.status != ST_OK) return flag;
		if (flag == IDA_ILL_INPUT && part < 1) flag = IDA_CONV_FAIL; /* too close to the start */
	}
	if (flag == IDA_LINESEARCH_FAIL || flag == IDA_CONV_FAIL) {
		/* the Jacobian of a doubled system lacks a block: Newton's method gets
		 * there in a few more steps, but the residual may grow on the way */
		const char *bad = o->s.bad;
		sundials.IDASetLineSearchOffIC(o->mem, SUNTRUE);
		sundials.IDASetMaxNumItersIC(o->mem, 40);
		sundials.IDASetMaxNumJacsIC(o->mem, 20);
		flag = sundials.IDACalcIC(o->mem, IDA_YA_YDP_INIT, next);
		if (o->s.status != ST_OK) return flag;
		if (flag != IDA_SUCCESS) o->s.bad = bad; /* where it ran to is no news */
	}
	return flag == IDA_SUCCESS ? sundials.IDAGetConsistentIC(o->mem, o->y, o->yp) : flag;
}

static Status make_consistent(Dae *o) {
	int flag = consistent_values(o, o->in.t0);
	if (o->s.status != ST_OK) return o->s.status;
	if (flag == IDA_SUCCESS && o->sensitivity)
		flag = sundials.IDAGetSensConsistentIC(o->mem, o->sensitivity->s, o->sensitivity->sp);
	if (flag == IDA_SUCCESS) {
		o->consistent = true;
		return ST_OK;
	}
	return flag == IDA_MEM_FAIL || flag == IDA_ILL_INPUT ? dae_fail(o, flag, o->in.t0)
	                                                     : not_consistent(o);
}

static Status attach_solvers(Dae *o) {
	o->matrix = pattern_matrix(&o->s, &o->pattern);
	o->linear = o->matrix ? pattern_solver(&o->s, &o->pattern, o->y, o->matrix) : NULL;
	if (!o->linear || sundials.IDASetLinearSolver(o->mem, o->linear, o->matrix) != IDALS_SUCCESS)
		return ST_NOMEM;
	if (sundials.IDASetJacFn(o->mem, call_jacobian) != IDALS_SUCCESS) return ST_NOMEM;
	if (!newton_begin(&o->newton, &o->s, o->in.n, o->in.rtol, true)) return ST_NOMEM;
	return sundials.IDASetNonlinearSolver(o->mem, o->newton.solver) == IDA_SUCCESS ? o->s.status
	                                                                               : ST_NOMEM;
}

Status dae_start(Dae *o) {
	o->mem = sundials.IDACreate(o->s.sun);
	if (!o->mem) return ST_NOMEM;
	solve_listen_to(&o->s, o->mem, sundials.IDASetErrHandlerFn);
	int flag = sundials.IDAInit(o->mem, call_residual, o->in.t0, o->y, o->yp);
	if (flag == IDA_SUCCESS) flag = sundials.IDASVtolerances(o->mem, o->in.rtol, o->atol_vector);
	if (flag == IDA_SUCCESS) flag = sundials.IDASetUserData(o->mem, o);
	if (flag == IDA_SUCCESS) flag = sundials.IDASetId(o->mem, o->id_vector);
	if (flag == IDA_SUCCESS && o->in.max_step > 0)
		flag = sundials.IDASetMaxStep(o->mem, o->in.max_step);
	if (flag == IDA_SUCCESS && o->in.t1 != o->in.t0)
		flag = sundials.IDASetStopTime(o->mem, o->in.t1);
	if (flag != IDA_SUCCESS) return dae_fail(o, flag, o->in.t0);
	Status st = attach_solvers(o);
	if (st == ST_OK && o->sensitivity) st = dae_sensitivity_attach(o);
	/* with sensitivities always: theirs must be consistent, and the library
	 * makes both together */
	return st == ST_OK && (o->fix_initial || o->sensitivity) ? make_consistent(o) : st;
}

static void detach(Dae *o) {
	if (o->mem) sundials.IDAFree(&o->mem);
	if (o->linear) sundials.SUNLinSolFree(o->linear);
	if (o->matrix) sundials.SUNMatDestroy(o->matrix);
	newton_end(&o->newton);
	o->linear = NULL;
	o->matrix = NULL;
}

void dae_rewind(Dae *o) {
	detach(o);
	memcpy(vector_data(o->y), o->in.y0, (size_t)o->in.n * sizeof *o->in.y0);
	memcpy(vector_data(o->yp), o->yp0, (size_t)o->in.n * sizeof *o->yp0);
	o->t = o->in.t0;
}

void dae_end(Dae *o) {
	detach(o);
	pattern_end(&o->s, &o->pattern);
	routine_end(&o->s, &o->f);
	routine_end(&o->s, &o->jac);
	solve_end(&o->s);
}

/* ---- failures ------------------------------------------------------------ */

static FailureReason failure_reason(int flag) {
	switch (flag) {
	case TIME_LOOP_STUCK: return FAILED_STUCK;
	case TIME_LOOP_STEPS:
	case IDA_TOO_MUCH_WORK: return FAILED_STEPS;
	case IDA_TOO_MUCH_ACC: return FAILED_ACCURACY;
	case IDA_ERR_FAIL: return FAILED_ERROR_TEST;
	case IDA_CONV_FAIL: return FAILED_CONVERGENCE;
	case IDA_LSETUP_FAIL:
	case IDA_LSOLVE_FAIL: return FAILED_LINEAR;
	case TIME_LOOP_EVENTS:
	case IDA_RES_FAIL:
	case IDA_REP_RES_ERR:
	case IDA_FIRST_RES_FAIL:
	case IDA_SRES_FAIL:
	case IDA_REP_SRES_ERR: return FAILED_NOT_FINITE;
	case IDA_ILL_INPUT: return FAILED_INPUT;
	default: return FAILED_OTHER;
	}
}

Status dae_fail(Dae *o, int flag, double t) {
	Solve *s = &o->s;
	if (s->status != ST_OK) return s->status;
	if (flag == IDA_MEM_FAIL) return ST_NOMEM;
	if (t == o->in.t0 && !o->consistent && (flag == IDA_ERR_FAIL || flag == IDA_CONV_FAIL))
		return not_consistent(o);
	FailureState at = {.t = t, .y = o->y};
	if (o->sensitivity) at.what = "solution with its derivatives";
	if (t != o->in.t0) {
		const Status st = failure_errors(s, o->in.n, &at, o->mem, sundials.IDAGetEstLocalErrors,
		                                 sundials.IDAGetErrWeights);
		if (st != ST_OK) return st;
	}
	sundials.IDAGetCurrentStep(o->mem, &at.step);
	sundials.IDAGetTolScaleFactor(o->mem, &at.factor);
	/* it has no code of its own */
	const bool too_close = flag == IDA_ILL_INPUT && strstr(s->said, "too close");
	return solve_report_failure(s, &o->in, too_close ? FAILED_TOO_CLOSE : failure_reason(flag),
	                            &at);
}

/* ---- the value ----------------------------------------------------------- */

static void add_counts(Dae *o, int64_t counted[6]) {
	long n[6] = {0};
	sundials.IDAGetNumSteps(o->mem, &n[0]);
	sundials.IDAGetNumResEvals(o->mem, &n[1]);
	sundials.IDAGetNumLinSolvSetups(o->mem, &n[2]);
	sundials.IDAGetNumErrTestFails(o->mem, &n[3]);
	sundials.IDAGetNumNonlinSolvIters(o->mem, &n[4]);
	sundials.IDAGetNumNonlinSolvConvFails(o->mem, &n[5]);
	for (int k = 0; k < 6; k++) counted[k] = o->counted[k] + n[k];
}

/* Where an equation has a corner IDAS may take a step whose algebraic unknowns
 * are off by more than it believes, since its rate of convergence is that of
 * the side it comes from. No step is short enough then: Newton's matrix, of
 * one side, leads past the solution on the other. So the integration begins
 * anew with values that fit, unless it did so at this very time. */
static bool begin_anew(Dae *o) {
	if (o->sensitivity || !o->fix_initial || o->t == o->begun) return false;
	const char *bad = o->s.bad;
	const double t = o->begun = o->t;
	add_counts(o, o->counted);
	if (sundials.IDAReInit(o->mem, t, o->y, o->yp) != IDA_SUCCESS) return false;
	if (consistent_values(o, t) == IDA_SUCCESS &&
	    sundials.IDASetStopTime(o->mem, o->in.t1) == IDA_SUCCESS) {
		o->s.bad = bad;
		return o->s.status == ST_OK;
	}
	return false;
}

static int dae_step(void *dae, double *t) {
	Dae *o = dae;
	int flag = sundials.IDASolve(o->mem, o->in.t1, &o->t, o->y, o->yp, IDA_ONE_STEP);
	if (o->s.status == ST_OK && (flag == IDA_CONV_FAIL || flag == IDA_ERR_FAIL) && begin_anew(o))
		flag = sundials.IDASolve(o->mem, o->in.t1, &o->t, o->y, o->yp, IDA_ONE_STEP);
	/* a vector could not be cloned, or a callback refused */
	if (o->s.status != ST_OK) return IDA_MEM_FAIL;
	if (flag >= 0) *t = o->t;
	return flag;
}

static Status time_loop_failed(void *dae, int flag, double t) { return dae_fail(dae, flag, t); }

TimeLoop dae_time_loop(Dae *o) {
	return time_loop_over(o->s.c, &o->in, o, dae_step, time_loop_failed);
}

/* ---- as ivp.h wants it --------------------------------------------------- */

static Status begin(void *problem, Ctx *c, const HostCall *call, const Value *args) {
	return dae_begin(problem, c, call, args);
}
static Status start(void *problem) { return dae_start(problem); }
static void end(void *problem) { dae_end(problem); }
static void close_integrator(void *problem) { detach(problem); }
static int state_at(void *problem, double t, N_Vector y) {
	return sundials.IDAGetDky(((Dae *)problem)->mem, t, 0, y);
}

static void counts_of(void *problem, int64_t counts[SOLVER_COUNTS]) {
	Dae *o = problem;
	int order = 0;
	int64_t n[6];
	add_counts(o, n);
	sundials.IDAGetLastOrder(o->mem, &order);
	memcpy(counts, (int64_t[]){n[0], n[1], o->jac.calls, n[2], n[3], n[4], n[5], order},
	       SOLVER_COUNTS * sizeof *counts);
}

static const OperandForm operands[DAE_OPERANDS] = {
	[DAE_Y0] = {"the initial value", DT_F64, 1},
	[DAE_YP0] = {"the initial time derivative", DT_F64, 1},
	[DAE_ID] = {"the list of differential unknowns", DT_F64, 1},
	[DAE_T0] = {"the first time", DT_F64, 0},
	[DAE_T1] = {"the last time", DT_F64, 0},
	[DAE_RTOL] = {"rtol", DT_F64, 0},
	[DAE_ATOL] = {"atol", DT_F64, 1},
	[DAE_COLPTR] = {"the column pointers", DT_I64, 1},
	[DAE_ROWIND] = {"the row indices", DT_I64, 1},
	[DAE_SAVEAT] = {"saveat", DT_F64, 1},
	[DAE_MAX_STEP] = {"the largest step", DT_F64, 0},
};

static const Integrator integrator = {.bytes = sizeof(Dae),
                                      .s = offsetof(Dae, s),
                                      .in = offsetof(Dae, in),
                                      .y = offsetof(Dae, y),
                                      .t = offsetof(Dae, t),
                                      .noperands = DAE_OPERANDS,
                                      .nfns = DAE_NFNS,
                                      .noptions = DAE_OPTIONS,
                                      .operands = operands,
                                      .parameters = {"t, y, y'", "t, y, y', cj"},
                                      .nparameters = {3, 4},
                                      .family = &dae_family,
                                      .begin = begin,
                                      .start = start,
                                      .step = dae_step,
                                      .state = state_at,
                                      .counts = counts_of,
                                      .fail = time_loop_failed,
                                      .close = close_integrator,
                                      .end = end};
_Static_assert((int)DAE_NFNS == (int)SOLVER_FNS, "ivp.c knows of two functions");
_Static_assert((int)DAE_OPTIONS <= (int)SOLVER_OPTIONS, "ivp.c has room for so many options");

const Family dae_family = {.name = "dae",
                           .by = &integrator,
                           .tangent = "dae_tangent",
                           .adjoint = "dae_adjoint",
                           .curvature = "dae_curvature",
                           .operands = DAE_OPERANDS,
                           .noptions = DAE_OPTIONS,
                           .y0 = DAE_Y0,
                           .t0 = DAE_T0,
                           .t1 = DAE_T1,
                           .saveat = DAE_SAVEAT,
                           .rtol = DAE_RTOL,
                           .atol = DAE_ATOL,
                           .colptr = DAE_COLPTR,
                           .rowind = DAE_ROWIND,
                           .yp0 = DAE_YP0,
                           .id = DAE_ID,
                           .linear = DAE_LINEAR,
                           .implicit = true};

const HostDef dae_host = {.name = "dae",
                          .ud = (void *)(uintptr_t)&dae_family,
                          .types = ivp_types,
                          .eval = ivp_eval,
                          .jvp = solver_jvp,
                          .may_store = dae_may_store};
const HostDef dae_until_host = {.name = "dae_until",
                                .ud = (void *)(uintptr_t)&dae_family,
                                .types = ivp_until_types,
                                .eval = ivp_until_eval,
                                .jvp = events_jvp};
