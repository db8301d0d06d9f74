/* ode.c - the host function "ode": y' = f(t, y) by CVODES.
 *
 * Needs: ode.h; SUNDIALS' CVODES. Guarantees: as solvers.h describes it. BDF solves its equations by Newton's method with the Jacobian given;
 * Adams, which is for problems that are not stiff, by fixed-point iteration, and never asks for the Jacobian.
 *
 * Method and error control: Hindmarsh et al., "SUNDIALS: Suite of nonlinear and differential/algebraic equation solvers", ACM TOMS 31 (2005).
 */
#include "solvers/ode.h"
#include <cvodes/cvodes.h>
#include <math.h>
#include <stdio.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ---- callbacks ------------------------------------------------------------------------------------------------------------ */

static int call_f(double t, N_Vector y, N_Vector ydot, void *ode) {
	Ode *o = ode;
	Value *args = o->f.args + o->f.ncaptured;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	return routine_into(&o->s, &o->f, 0, t, ydot);
}

static int call_jacobian(double t, N_Vector y, N_Vector fy, SUNMatrix m, void *ode, N_Vector x1, N_Vector x2, N_Vector x3) {
	(void)fy;
	(void)x1;
	(void)x2;
	(void)x3;
	Ode *o = ode;
	Value *args = o->jac.args + o->jac.ncaptured;
	const double *values;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	if (routine_run(&o->s, &o->jac)) return -1;
	int flag = routine_numbers(&o->s, &o->jac, 0, o->pattern.nvalues, t, &values);
	if (!flag) pattern_fill(&o->pattern, values, 1, false, m);
	routine_drop(&o->jac);
	return flag;
}

/* ---- a problem from its operands --------------------------------------------------------------------------------------------- */

static Status bad_value(Solve *s, const char *text) {
	diag_error(s->c, E_VALUE, NO_SPAN, "%s", text);
	return ST_ERROR;
}

static Status read_operands(Ode *o, const Value *args) {
	Solve *s = &o->s;
	const int64_t *options = o->call->options;
	o->n = value_count(args[ODE_Y0]);
	o->nat = value_count(args[ODE_SAVEAT]);
	o->adams = options[ODE_METHOD] == 1;
	o->dense = options[ODE_LINEAR] == 0;
	o->degree = options[ODE_DEGREE] > 0 ? (uint32_t)options[ODE_DEGREE] : o->adams ? 12 : 5;
	o->max_steps = options[ODE_MAX_STEPS] > 0 ? options[ODE_MAX_STEPS] : DEFAULT_MAX_STEPS;
	if (!o->n) return bad_value(s, "a differential equation needs an unknown: the initial value is empty");
	if (!solve_numbers(s, args[ODE_Y0], "the initial value", o->n, &o->y0)) return s->status;
	if (!solve_number(s, args[ODE_T0], "the first time", &o->t0) || !solve_number(s, args[ODE_T1], "the last time", &o->t1)) return s->status;
	if (!solve_number(s, args[ODE_RTOL], "rtol", &o->rtol) || !solve_number(s, args[ODE_MAX_STEP], "the largest step", &o->max_step)) return s->status;
	if (!solve_numbers(s, args[ODE_ATOL], "atol", o->n, &o->atol)) return s->status;
	if (o->rtol < 0 || o->max_step < 0) return bad_value(s, "rtol and the largest step cannot be negative");
	for (int64_t i = 0; i < o->n; i++) {
		if (!isfinite(o->y0[i])) {
			diag_error(s->c, E_VALUE, NO_SPAN, "initial value %lld is %g", (long long)i, o->y0[i]);
			return ST_ERROR;
		}
		if (!(o->atol[i] >= 0)) return bad_value(s, "atol must be zero or more");
		if (o->atol[i] == 0 && (o->rtol == 0 || o->y0[i] == 0)) {
			diag_error(s->c, E_VALUE, NO_SPAN, "y[%lld] has nothing to measure its error by: its atol is 0, and rtol or its initial value too", (long long)i);
			return ST_ERROR;
		}
	}
	if (!o->nat) return ST_OK;
	if (!solve_numbers(s, args[ODE_SAVEAT], "the times at which the solution is wanted", o->nat, &o->at)) return s->status;
	return check_times(s->c, o->t0, o->t1, o->at, o->nat);
}

Status ode_begin(Ode *o, Ctx *c, const HostCall *call, const Value *args) {
	*o = (Ode){.call = call, .captured = args + ODE_OPERANDS};
	Status st = solve_begin(&o->s, c);
	if (st == ST_OK) st = read_operands(o, args);
	if (st == ST_OK && !o->adams) st = pattern_begin(&o->s, &o->pattern, o->n, o->dense, args[ODE_COLPTR], args[ODE_ROWIND]);
	const uint32_t nf = (uint32_t)call->options[1], njac = (uint32_t)call->options[2];
	if (st == ST_OK) st = routine_begin(&o->s, &o->f, call->fns[ODE_F], "the right-hand side", nf, o->captured);
	if (st == ST_OK) st = routine_begin(&o->s, &o->jac, call->fns[ODE_JAC], "the Jacobian of the right-hand side", njac, o->captured + nf);
	if (st != ST_OK) return st;
	o->y = solve_vector_of(&o->s, o->n, o->y0);
	o->atol_vector = solve_vector_of(&o->s, o->n, o->atol);
	o->t = o->t0;
	return o->y && o->atol_vector ? ST_OK : ST_NOMEM;
}

static Status attach_solvers(Ode *o) {
	Solve *s = &o->s;
	if (o->adams) {
		o->nonlinear = SUNNonlinSol_FixedPoint(o->y, 0, s->sun);
		return o->nonlinear && CVodeSetNonlinearSolver(o->mem, o->nonlinear) == CV_SUCCESS ? ST_OK : ST_NOMEM;
	}
	o->matrix = pattern_matrix(s, &o->pattern);
	o->linear = o->matrix ? pattern_solver(s, o->y, o->matrix) : NULL;
	if (!o->linear || CVodeSetLinearSolver(o->mem, o->linear, o->matrix) != CVLS_SUCCESS) return ST_NOMEM;
	return CVodeSetJacFn(o->mem, call_jacobian) == CVLS_SUCCESS ? ST_OK : ST_NOMEM;
}

Status ode_start(Ode *o) {
	o->mem = CVodeCreate(o->adams ? CV_ADAMS : CV_BDF, o->s.sun);
	if (!o->mem) return ST_NOMEM;
	CVodeSetErrHandlerFn(o->mem, solve_listen, &o->s);
	int flag = CVodeInit(o->mem, call_f, o->t0, o->y);
	if (flag == CV_SUCCESS) flag = CVodeSVtolerances(o->mem, o->rtol, o->atol_vector);
	if (flag == CV_SUCCESS) flag = CVodeSetUserData(o->mem, o);
	if (flag == CV_SUCCESS) flag = CVodeSetMaxHnilWarns(o->mem, -1);
	if (flag == CV_SUCCESS && o->max_step > 0) flag = CVodeSetMaxStep(o->mem, o->max_step);
	if (flag == CV_SUCCESS && o->t1 != o->t0) flag = CVodeSetStopTime(o->mem, o->t1);
	if (flag != CV_SUCCESS) return ode_fail(o, flag, o->t0);
	Status st = attach_solvers(o);
	return o->s.status != ST_OK ? o->s.status : st;
}

static void detach(Ode *o) {
	if (o->mem) CVodeFree(&o->mem);
	if (o->linear) SUNLinSolFree(o->linear);
	if (o->matrix) SUNMatDestroy(o->matrix);
	if (o->nonlinear) SUNNonlinSolFree(o->nonlinear);
	o->linear = NULL;
	o->matrix = NULL;
	o->nonlinear = NULL;
}

void ode_rewind(Ode *o) {
	detach(o);
	memcpy(vector_data(o->y), o->y0, (size_t)o->n * sizeof *o->y0);
	o->t = o->t0;
}

void ode_end(Ode *o) {
	detach(o);
	pattern_end(&o->s, &o->pattern);
	routine_end(&o->s, &o->f);
	routine_end(&o->s, &o->jac);
	solve_end(&o->s);
}

/* ---- failures -------------------------------------------------------------------------------------------------------------------- */

static Status not_finite(Ode *o, double t) {
	Solve *s = &o->s;
	const char *what = s->bad ? s->bad : "the right-hand side";
	Diag *d = diag_error(s->c, E_SOLVER, NO_SPAN, "no solution beyond t = %.9g: %s is not finite at t = %.9g (element %lld), whatever the step", t, what,
	                     s->bad_time, (long long)s->bad_at);
	if (t == o->t0) diag_hint(s->c, d, "evaluate it at the initial value: a division by zero, or a root or logarithm of a negative number?");
	else diag_hint(s->c, d, "the solution may leave the domain of the right-hand side there, or grow without bound");
	return ST_ERROR;
}

Status ode_fail(Ode *o, int flag, double t) {
	Solve *s = &o->s;
	if (s->status != ST_OK) return s->status;
	N_Vector errors = NULL, weights = NULL;
	double step = 0, factor = 1;
	char text[240];
	if (flag == CV_MEM_FAIL) return ST_NOMEM;
	if (t != o->t0 && (errors = solve_vector(s, o->n)) && (weights = solve_vector(s, o->n)) &&
	    (CVodeGetEstLocalErrors(o->mem, errors) != CV_SUCCESS || CVodeGetErrWeights(o->mem, weights) != CV_SUCCESS))
		errors = NULL;
	CVodeGetCurrentStep(o->mem, &step);
	switch (flag) {
	case MARCH_STUCK:
		if (s->bad && fabs(s->bad_time - t) <= 1e-8 * fabs(t - o->t0)) return not_finite(o, t);
		return solve_failed(s, E_SOLVER_STEP, t, o->y, errors, weights, "the step became too small to change t",
		                    "the solution seems to grow without bound there: stop before it, or say what happens there");
	case MARCH_STEPS:
		snprintf(text, sizeof text, "%lld steps are used up on the way to t = %.9g; the last was %.3g long", (long long)o->max_steps, o->t1, step);
		return solve_failed(s, E_SOLVER_STEPS, t, o->y, errors, weights, text,
		                    o->adams ? "a stiff method (bdf) may need far fewer; or allow more with max_steps, or loosen rtol and atol"
		                             : "allow more with max_steps, or loosen rtol and atol");
	case CV_ERR_FAILURE:
		snprintf(text, sizeof text, "the step became too small (%.3g) and its error is still too large", step);
		return solve_failed(s, E_SOLVER_STEP, t, o->y, errors, weights, text,
		                    "the solution may jump or grow without bound there; otherwise loosen rtol and atol");
	case CV_CONV_FAILURE:
		snprintf(text, sizeof text, "the step became too small (%.3g) and its equations still cannot be solved", step);
		return solve_failed(s, E_SOLVER_STEP, t, o->y, errors, weights, text,
		                    "the right-hand side may jump there, or its Jacobian be wrong; tighter rtol and atol can help too");
	case CV_TOO_MUCH_ACC:
		CVodeGetTolScaleFactor(o->mem, &factor);
		snprintf(text, sizeof text, "rtol and atol ask for more than 64-bit numbers can hold, by a factor of %.3g", factor);
		return solve_failed(s, E_SOLVER, t, NULL, NULL, NULL, text, "loosen rtol and atol");
	case CV_LSETUP_FAIL: case CV_LSOLVE_FAIL:
		return solve_failed(s, E_SOLVER, t, o->y, errors, weights, "the linear system of a step cannot be factorised",
		                    "check the Jacobian and its sparsity pattern");
	case CV_RHSFUNC_FAIL: case CV_FIRST_RHSFUNC_ERR: case CV_REPTD_RHSFUNC_ERR: case CV_UNREC_RHSFUNC_ERR: case CV_SRHSFUNC_FAIL:
	case CV_FIRST_SRHSFUNC_ERR: case CV_REPTD_SRHSFUNC_ERR: case CV_UNREC_SRHSFUNC_ERR: return not_finite(o, t);
	case CV_TOO_CLOSE:
		diag_error(s->c, E_VALUE, NO_SPAN, "the times %.17g and %.17g are too close to make a step between them", o->t0, o->t1);
		return ST_ERROR;
	default:
		snprintf(text, sizeof text, "%.200s", s->said[0] ? s->said : "CVODES failed");
		return solve_failed(s, flag == CV_ILL_INPUT ? E_VALUE : E_SOLVER, t, NULL, NULL, NULL, text, NULL);
	}
}

/* ---- the value ---------------------------------------------------------------------------------------------------------------------- */

int ode_step(void *ode, double *t) {
	Ode *o = ode;
	int flag = CVode(o->mem, o->t1, o->y, &o->t, CV_ONE_STEP);
	if (o->s.status != ST_OK) return CV_MEM_FAIL; /* a vector could not be cloned, or a callback refused */
	if (flag >= 0) *t = o->t;
	return flag;
}

static Status march_failed(void *ode, int flag, double t) {
	return ode_fail(ode, flag, t);
}

March ode_march(Ode *o) {
	return (March){.t0 = o->t0, .t1 = o->t1, .max_steps = o->max_steps, .degree = o->degree, .at = o->at, .nat = o->nat,
	               .ud = o, .step = ode_step, .fail = march_failed};
}

typedef struct Run {
	Ode o; /* first: march's callbacks that know an Ode only are given the Run */
	Rows rows;
	N_Vector between;
} Run;

static Status store_row(void *run, int64_t k, double t) {
	(void)k;
	Run *r = run;
	Ode *o = &r->o;
	double *out = rows_next(&o->s, &r->rows, t);
	if (!out) return ST_NOMEM;
	N_Vector y = o->y;
	if (t != o->t) {
		y = r->between;
		int flag = CVodeGetDky(o->mem, t, 0, y);
		if (flag != CV_SUCCESS) return ode_fail(o, flag, o->t);
	}
	memcpy(out, vector_data(y), (size_t)o->n * sizeof *out);
	return ST_OK;
}

static Value stats_of(Ode *o) {
	long count[6] = {0};
	int order = 0;
	CVodeGetNumSteps(o->mem, &count[0]);
	CVodeGetNumRhsEvals(o->mem, &count[1]);
	CVodeGetNumLinSolvSetups(o->mem, &count[2]);
	CVodeGetNumErrTestFails(o->mem, &count[3]);
	CVodeGetNumNonlinSolvIters(o->mem, &count[4]);
	CVodeGetNumNonlinSolvConvFails(o->mem, &count[5]);
	CVodeGetLastOrder(o->mem, &order);
	Tensor *t = tensor_new(o->s.c, DT_I64, 1, (int64_t[]){8});
	if (!t) return (Value){.kind = V_UNSET};
	memcpy(t->data, (int64_t[]){count[0], count[1], o->jac.calls, count[2], count[3], count[4], count[5], order}, 8 * sizeof(int64_t));
	return value_tensor(t);
}

static Status ode_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	Run r = {0};
	Status st = ode_begin(&r.o, c, call, args);
	if (st == ST_OK) st = ode_start(&r.o);
	if (st == ST_OK) st = rows_begin(&r.o.s, &r.rows, r.o.n, r.o.at, r.o.nat);
	if (st == ST_OK) st = (r.between = solve_vector(&r.o.s, r.o.n)) ? ST_OK : ST_NOMEM;
	if (st == ST_OK) {
		March m = ode_march(&r.o);
		m.ud = &r;
		m.row = store_row;
		st = march(&m);
	}
	Value stats = st == ST_OK ? stats_of(&r.o) : (Value){.kind = V_UNSET};
	if (st == ST_OK && stats.kind == V_UNSET) st = ST_NOMEM;
	if (st == ST_OK) {
		results[0] = value_tensor(tensor_ref(r.rows.times));
		results[1] = value_tensor(tensor_ref(r.rows.values));
		results[2] = stats;
	}
	rows_end(&r.rows);
	ode_end(&r.o);
	return st;
}

/* ---- types ------------------------------------------------------------------------------------------------------------------------------ */

static uint32_t ode_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const char *name = call->def->name;
	if (cap < 3 || call->nfns != ODE_NFNS || call->noptions < ODE_OPTIONS || call->options[0] != ODE_NFNS || nargs != ODE_OPERANDS + ode_ncaptured(call))
		host_misuse(b, name, "wants two functions, nine operands and four options");
	want_operand(b, name, "the initial value", args[ODE_Y0], DT_F64, 1);
	want_operand(b, name, "the first time", args[ODE_T0], DT_F64, 0);
	want_operand(b, name, "the last time", args[ODE_T1], DT_F64, 0);
	want_operand(b, name, "rtol", args[ODE_RTOL], DT_F64, 0);
	want_operand(b, name, "atol", args[ODE_ATOL], DT_F64, 1);
	want_operand(b, name, "the column pointers", args[ODE_COLPTR], DT_I64, 1);
	want_operand(b, name, "the row indices", args[ODE_ROWIND], DT_I64, 1);
	want_operand(b, name, "saveat", args[ODE_SAVEAT], DT_F64, 1);
	want_operand(b, name, "the largest step", args[ODE_MAX_STEP], DT_F64, 0);
	for (uint32_t k = 0; k < ODE_NFNS; k++) {
		const Fn *f = call->fns[k];
		if (fn_nparams(f) != (uint32_t)call->options[1 + k] + 2 || fn_nresults(f) != 1)
			host_misuse(b, name, "function %u must take (t, y) and give one array", k);
	}
	Dim rows = operand_length(b, args[ODE_SAVEAT]), n = operand_length(b, args[ODE_Y0]);
	int64_t length;
	if (dim_is_const(c, rows, &length) && length == 0) rows = build_fresh_dim(b, atom(c, "times"), build_span(b));
	out[0] = type_tensor(c, DT_F64, 1, &rows);
	out[1] = type_tensor(c, DT_F64, 2, (Dim[]){rows, n});
	const Dim eight = dim_const(c, 8);
	out[2] = type_tensor(c, DT_I64, 1, &eight);
	return 3;
}

const Family ode_family = {.name = "ode", .tangent = "ode_tangent", .adjoint = "ode_adjoint", .operands = ODE_OPERANDS, .noptions = ODE_OPTIONS,
                           .y0 = ODE_Y0, .t0 = ODE_T0, .saveat = ODE_SAVEAT, .nstates = 1, .backward = true};

const HostDef ode_host = {.name = "ode", .ud = (void *)(uintptr_t)&ode_family, .types = ode_types, .eval = ode_eval, .jvp = solver_jvp};
