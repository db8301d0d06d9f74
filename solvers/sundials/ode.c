/* ode.c - the host function "ode": y' = f(t, y) by CVODES.
 *
 * Needs: ode.h; SUNDIALS' CVODES. Guarantees: as solvers.h describes it. BDF
 * solves its equations by Newton's method with the Jacobian given; Adams, which
 * is for problems that are not stiff, by fixed-point iteration, and never asks
 * for the Jacobian.
 *
 * Method and error control: Hindmarsh et al., "SUNDIALS: Suite of nonlinear and
 * differential/algebraic equation solvers", ACM TOMS 31 (2005).
 */
#include "solvers/sundials/ode.h"
#include "solvers/sundials/ivp.h"

/* ---- callbacks ----------------------------------------------------------- */

static int call_f(double t, N_Vector y, N_Vector ydot, void *ode) {
	Ode *o = ode;
	Value *args = o->f.args + o->f.ncaptured;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	return routine_into(&o->s, &o->f, 0, t, ydot);
}

int ode_jacobian(Ode *o, double t, N_Vector y, const Pattern *p, double sign, bool transposed,
                 SUNMatrix m) {
	Value *args = o->jac.args + o->jac.ncaptured;
	const double *values;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	if (routine_run(&o->s, &o->jac)) return -1;
	int flag = routine_numbers(&o->s, &o->jac, 0, o->pattern.nvalues, t, &values);
	if (!flag) pattern_fill(p, values, sign, transposed, m);
	routine_drop(&o->jac);
	return flag;
}

static int call_jacobian(double t, N_Vector y, N_Vector fy, SUNMatrix m, void *ode, N_Vector x1,
                         N_Vector x2, N_Vector x3) {
	(void)fy;
	(void)x1;
	(void)x2;
	(void)x3;
	Ode *o = ode;
	return ode_jacobian(o, t, y, &o->pattern, 1, false, m);
}

/* ---- a problem from its operands ----------------------------------------- */

static const GivenAt WHERE = {ODE_Y0, ODE_T0, ODE_T1, ODE_RTOL, ODE_ATOL, ODE_SAVEAT, ODE_MAX_STEP};

Status ode_begin(Ode *o, Ctx *c, const HostCall *call, const Value *args) {
	const int64_t *options = call->options;
	*o = (Ode){.call = call, .captured = args + ODE_OPERANDS, .adams = options[ODE_METHOD] == 1};
	o->in.dense = options[ODE_LINEAR] == 0;
	o->in.degree = options[ODE_DEGREE] > 0 ? (uint32_t)options[ODE_DEGREE] : o->adams ? 12 : 5;
	o->in.max_steps = options[ODE_MAX_STEPS] > 0 ? options[ODE_MAX_STEPS] : DEFAULT_MAX_STEPS;
	Status st = solve_begin(&o->s, c);
	if (st == ST_OK) st = given_read(&o->s, &o->in, &WHERE, args);
	if (st == ST_OK && !o->adams)
		st = pattern_begin(&o->s, &o->pattern, o->in.n, options[ODE_LINEAR], args[ODE_COLPTR],
		                   args[ODE_ROWIND]);
	const uint32_t nf = (uint32_t)options[1], njac = (uint32_t)options[2];
	if (st == ST_OK)
		st = routine_begin(&o->s, &o->f, call->fns[ODE_F], "the right-hand side", nf, o->captured);
	if (st == ST_OK)
		st = routine_begin(&o->s, &o->jac, call->fns[ODE_JAC],
		                   "the Jacobian of the right-hand side", njac, o->captured + nf);
	if (st != ST_OK) return st;
	o->f.of = 'y';
	o->y = solve_vector_of(&o->s, o->in.n, o->in.y0);
	o->atol_vector = solve_vector_of(&o->s, o->in.n, o->in.atol);
	o->t = o->in.t0;
	return o->y && o->atol_vector ? ST_OK : ST_NOMEM;
}

static Status attach_solvers(Ode *o) {
	Solve *s = &o->s;
	if (o->adams) {
		o->nonlinear = sundials.SUNNonlinSol_FixedPoint(o->y, 0, s->sun);
		return o->nonlinear && sundials.CVodeSetNonlinearSolver(o->mem, o->nonlinear) == CV_SUCCESS
		           ? ST_OK
		           : ST_NOMEM;
	}
	o->matrix = pattern_matrix(s, &o->pattern);
	o->linear = o->matrix ? pattern_solver(s, &o->pattern, o->y, o->matrix) : NULL;
	if (!o->linear || sundials.CVodeSetLinearSolver(o->mem, o->linear, o->matrix) != CVLS_SUCCESS)
		return ST_NOMEM;
	if (sundials.CVodeSetJacFn(o->mem, call_jacobian) != CVLS_SUCCESS) return ST_NOMEM;
	if (!newton_begin(&o->newton, s, o->in.n, o->in.rtol, false)) return ST_NOMEM;
	return sundials.CVodeSetNonlinearSolver(o->mem, o->newton.solver) == CV_SUCCESS ? ST_OK
	                                                                                : ST_NOMEM;
}

Status ode_start(Ode *o) {
	o->mem = sundials.CVodeCreate(o->adams ? CV_ADAMS : CV_BDF, o->s.sun);
	if (!o->mem) return ST_NOMEM;
	solve_listen_to(&o->s, o->mem, sundials.CVodeSetErrHandlerFn);
	int flag = sundials.CVodeInit(o->mem, call_f, o->in.t0, o->y);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSVtolerances(o->mem, o->in.rtol, o->atol_vector);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSetUserData(o->mem, o);
	if (flag == CV_SUCCESS) flag = sundials.CVodeSetMaxHnilWarns(o->mem, -1);
	/* a step that ends before equations jump may be much shorter than the last,
	 * and each try is a quarter of it */
	if (flag == CV_SUCCESS) flag = sundials.CVodeSetMaxConvFails(o->mem, 30);
	if (flag == CV_SUCCESS && o->in.max_step > 0)
		flag = sundials.CVodeSetMaxStep(o->mem, o->in.max_step);
	if (flag == CV_SUCCESS && o->in.t1 != o->in.t0)
		flag = sundials.CVodeSetStopTime(o->mem, o->in.t1);
	if (flag != CV_SUCCESS) return ode_fail(o, flag, o->in.t0);
	Status st = attach_solvers(o);
	return o->s.status != ST_OK ? o->s.status : st;
}

static void detach(Ode *o) {
	if (o->mem) sundials.CVodeFree(&o->mem);
	if (o->linear) sundials.SUNLinSolFree(o->linear);
	if (o->matrix) sundials.SUNMatDestroy(o->matrix);
	if (o->nonlinear) sundials.SUNNonlinSolFree(o->nonlinear);
	newton_end(&o->newton);
	o->linear = NULL;
	o->matrix = NULL;
	o->nonlinear = NULL;
}

void ode_rewind(Ode *o) {
	detach(o);
	memcpy(vector_data(o->y), o->in.y0, (size_t)o->in.n * sizeof *o->in.y0);
	o->t = o->in.t0;
}

void ode_end(Ode *o) {
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
	case CV_TOO_MUCH_WORK: return FAILED_STEPS;
	case CV_TOO_MUCH_ACC: return FAILED_ACCURACY;
	case CV_ERR_FAILURE: return FAILED_ERROR_TEST;
	case CV_CONV_FAILURE: return FAILED_CONVERGENCE;
	case CV_LSETUP_FAIL:
	case CV_LSOLVE_FAIL: return FAILED_LINEAR;
	case TIME_LOOP_EVENTS:
	case CV_RHSFUNC_FAIL:
	case CV_FIRST_RHSFUNC_ERR:
	case CV_REPTD_RHSFUNC_ERR:
	case CV_UNREC_RHSFUNC_ERR:
	case CV_SRHSFUNC_FAIL:
	case CV_FIRST_SRHSFUNC_ERR:
	case CV_REPTD_SRHSFUNC_ERR:
	case CV_UNREC_SRHSFUNC_ERR:
	case CV_QRHSFUNC_FAIL:
	case CV_FIRST_QRHSFUNC_ERR:
	case CV_REPTD_QRHSFUNC_ERR:
	case CV_UNREC_QRHSFUNC_ERR: return FAILED_NOT_FINITE;
	case CV_TOO_CLOSE: return FAILED_TOO_CLOSE;
	case CV_ILL_INPUT: return FAILED_INPUT;
	default: return FAILED_OTHER;
	}
}

Status ode_fail(Ode *o, int flag, double t) {
	Solve *s = &o->s;
	if (s->status != ST_OK) return s->status;
	if (flag == CV_MEM_FAIL) return ST_NOMEM;
	FailureState at = {.t = t, .y = o->y, .explicit_method = o->adams};
	if (o->sensitivity) at.what = "solution with its derivatives";
	if (t != o->in.t0) {
		const Status st = failure_errors(s, o->in.n, &at, o->mem, sundials.CVodeGetEstLocalErrors,
		                                 sundials.CVodeGetErrWeights);
		if (st != ST_OK) return st;
	}
	sundials.CVodeGetCurrentStep(o->mem, &at.step);
	sundials.CVodeGetTolScaleFactor(o->mem, &at.factor);
	return solve_report_failure(s, &o->in, failure_reason(flag), &at);
}

Status ode_fail_backward(Ode *o, int flag, double t) {
	if (o->s.status != ST_OK) return o->s.status;
	if (flag == CV_MEM_FAIL) return ST_NOMEM;
	const FailureState at = {.t = t,
	                         .explicit_method = o->adams,
	                         .what = "adjoint solution (for a gradient, backward in time)"};
	return solve_report_failure(&o->s, &o->in, failure_reason(flag), &at);
}

/* ---- the value ----------------------------------------------------------- */

int ode_step(void *ode, double *t) {
	Ode *o = ode;
	int flag = sundials.CVode(o->mem, o->in.t1, o->y, &o->t, CV_ONE_STEP);
	/* a vector could not be cloned, or a callback refused */
	if (o->s.status != ST_OK) return CV_MEM_FAIL;
	if (flag >= 0) *t = o->t;
	return flag;
}

static Status time_loop_failed(void *ode, int flag, double t) { return ode_fail(ode, flag, t); }

TimeLoop ode_time_loop(Ode *o) {
	return time_loop_over(o->s.c, &o->in, o, ode_step, time_loop_failed);
}

/* ---- as ivp.h wants it --------------------------------------------------- */

static Status begin(void *problem, Ctx *c, const HostCall *call, const Value *args) {
	return ode_begin(problem, c, call, args);
}
static Status start(void *problem) { return ode_start(problem); }
static void end(void *problem) { ode_end(problem); }
static void close_integrator(void *problem) { detach(problem); }
static int state_at(void *problem, double t, N_Vector y) {
	return sundials.CVodeGetDky(((Ode *)problem)->mem, t, 0, y);
}

static void counts_of(void *problem, int64_t counts[SOLVER_COUNTS]) {
	Ode *o = problem;
	long n[6] = {0};
	int order = 0;
	sundials.CVodeGetNumSteps(o->mem, &n[0]);
	sundials.CVodeGetNumRhsEvals(o->mem, &n[1]);
	sundials.CVodeGetNumLinSolvSetups(o->mem, &n[2]);
	sundials.CVodeGetNumErrTestFails(o->mem, &n[3]);
	sundials.CVodeGetNumNonlinSolvIters(o->mem, &n[4]);
	sundials.CVodeGetNumNonlinSolvConvFails(o->mem, &n[5]);
	sundials.CVodeGetLastOrder(o->mem, &order);
	memcpy(counts, (int64_t[]){n[0], n[1], o->jac.calls, n[2], n[3], n[4], n[5], order},
	       SOLVER_COUNTS * sizeof *counts);
}

static const OperandForm operands[ODE_OPERANDS] = {
	[ODE_Y0] = {"the initial value", DT_F64, 1},
	[ODE_T0] = {"the first time", DT_F64, 0},
	[ODE_T1] = {"the last time", DT_F64, 0},
	[ODE_RTOL] = {"rtol", DT_F64, 0},
	[ODE_ATOL] = {"atol", DT_F64, 1},
	[ODE_COLPTR] = {"the column pointers", DT_I64, 1},
	[ODE_ROWIND] = {"the row indices", DT_I64, 1},
	[ODE_SAVEAT] = {"saveat", DT_F64, 1},
	[ODE_MAX_STEP] = {"the largest step", DT_F64, 0},
};

static const Integrator integrator = {.bytes = sizeof(Ode),
                                      .s = offsetof(Ode, s),
                                      .in = offsetof(Ode, in),
                                      .y = offsetof(Ode, y),
                                      .t = offsetof(Ode, t),
                                      .noperands = ODE_OPERANDS,
                                      .nfns = ODE_NFNS,
                                      .noptions = ODE_OPTIONS,
                                      .operands = operands,
                                      .parameters = {"t, y", "t, y"},
                                      .nparameters = {2, 2},
                                      .family = &ode_family,
                                      .begin = begin,
                                      .start = start,
                                      .step = ode_step,
                                      .state = state_at,
                                      .counts = counts_of,
                                      .fail = time_loop_failed,
                                      .close = close_integrator,
                                      .end = end};
_Static_assert((int)ODE_NFNS == (int)SOLVER_FNS, "ivp.c knows of two functions");
_Static_assert((int)ODE_OPTIONS <= (int)SOLVER_OPTIONS, "ivp.c has room for so many options");

const Family ode_family = {.name = "ode",
                           .by = &integrator,
                           .tangent = "ode_tangent",
                           .adjoint = "ode_adjoint",
                           .curvature = "ode_curvature",
                           .operands = ODE_OPERANDS,
                           .noptions = ODE_OPTIONS,
                           .y0 = ODE_Y0,
                           .t0 = ODE_T0,
                           .t1 = ODE_T1,
                           .saveat = ODE_SAVEAT,
                           .rtol = ODE_RTOL,
                           .atol = ODE_ATOL,
                           .colptr = ODE_COLPTR,
                           .rowind = ODE_ROWIND,
                           .linear = ODE_LINEAR,
                           .backward = true};

const HostDef ode_host = {.name = "ode",
                          .ud = (void *)(uintptr_t)&ode_family,
                          .types = ivp_types,
                          .eval = ivp_eval,
                          .jvp = solver_jvp,
                          .may_store = ode_may_store};
const HostDef ode_until_host = {.name = "ode_until",
                                .ud = (void *)(uintptr_t)&ode_family,
                                .types = ivp_until_types,
                                .eval = ivp_until_eval,
                                .jvp = events_jvp};
