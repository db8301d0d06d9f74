/* kinsol.c - the host function "kinsol": f(x) = 0 and x = g(x) by KINSOL.
 *
 * Method: Newton's method with and without line search, Picard and fixed-point
 * iteration with Anderson acceleration (Walker and Ni, SIAM J. Numer. Anal. 49,
 * 2011; Hindmarsh et al., ACM TOMS 31, 2005).
 *
 * Needs: sundials.h; SUNDIALS' KINSOL and its linear solvers.
 *
 * Contract: as in solvers.h. One call is one solve and keeps no state.
 * Derivatives are in stdlib/optim/nonlinear.dsl: they follow from the zero, not
 * from the iterations.
 */
#include "solvers/sundials/modules/sundials.h"
#include <math.h>
#include <stdio.h>

enum { X0, X_SCALE, F_SCALE, TOL, COLPTR, ROWIND, OPERANDS };
enum { F, JAC, NFNS };
enum { STRATEGY = 1 + NFNS, LINEAR, MAX_STEPS, MEMORY, HOLD, OPTIONS };
enum { DENSE, SPARSE, KRYLOV };

typedef struct KinsolRun {
	Solve s;
	int64_t n;
	bool krylov, iteration; /* x = g(x): no linear systems */
	Pattern pattern;
	Callback f, jac; /* jac(x), or the product jac(x, v) */
	void *mem;
	N_Vector x;
	SUNMatrix matrix;
	SUNLinearSolver linear;
} KinsolRun;

static bool finite_vector(N_Vector v) {
	const int64_t n = vector_tensor(v)->count;
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(vector_data(v)[i])) return false;
	return true;
}

/* ---- callbacks ----------------------------------------------------------- */

static int call_f(N_Vector x, N_Vector out, void *run) {
	KinsolRun *r = run;
	if (!finite_vector(x)) return -1;
	r->f.args[r->f.ncaptured] = value_tensor(vector_tensor(x));
	return routine_into(&r->s, &r->f, 0, 0, out);
}

static int call_jacobian(N_Vector x, N_Vector fx, SUNMatrix m, void *run, N_Vector a, N_Vector b) {
	(void)fx, (void)a, (void)b;
	KinsolRun *r = run;
	const double *values;
	r->jac.args[r->jac.ncaptured] = value_tensor(vector_tensor(x));
	if (routine_run(&r->s, &r->jac)) return -1;
	int flag = routine_numbers(&r->s, &r->jac, 0, r->pattern.nvalues, 0, &values);
	if (!flag) pattern_fill(&r->pattern, values, 1, false, m);
	routine_drop(&r->jac);
	return flag;
}

static int call_product(N_Vector v, N_Vector out, N_Vector x, sunbooleantype *new_x, void *run) {
	(void)new_x;
	KinsolRun *r = run;
	r->jac.args[r->jac.ncaptured] = value_tensor(vector_tensor(x));
	r->jac.args[r->jac.ncaptured + 1] = value_tensor(vector_tensor(v));
	return routine_into(&r->s, &r->jac, 0, 0, out);
}

/* ---- failures ------------------------------------------------------------ */

/* The equation with the largest residual in the scale of f. Returns its index,
 * or -1 if f cannot be evaluated; *off: its residual. */
static int64_t worst_equation(KinsolRun *r, const double *scale, double *off) {
	int64_t worst = 0;
	*off = NAN;
	N_Vector f = solve_vector(&r->s, r->n);
	if (!f || call_f(r->x, f, r)) return -1;
	const double *v = vector_data(f);
	for (int64_t i = 1; i < r->n; i++)
		if (fabs(v[i] * scale[i]) > fabs(v[worst] * scale[worst])) worst = i;
	*off = v[worst] - (r->iteration ? vector_data(r->x)[worst] : 0);
	return worst;
}

/* Whether the residuals are within tolerance, up to rounding and the effect of
 * the last step. */
static bool reached(KinsolRun *r, const double *scale, double tol) {
	N_Vector f = finite_vector(r->x) ? solve_vector(&r->s, r->n) : NULL;
	if (!f || call_f(r->x, f, r)) return false;
	for (int64_t i = 0; i < r->n; i++) {
		const double x = vector_data(r->x)[i];
		if (!(fabs(vector_data(f)[i] - (r->iteration ? x : 0)) * scale[i] <=
		      10 * tol + 1e-14 * fabs(x) * scale[i]))
			return false;
	}
	return true;
}

static Status fail(KinsolRun *r, int flag, const double *f_scale, int64_t max_steps) {
	Solve *s = &r->s;
	if (s->status != ST_OK) return s->status;
	if (flag == KIN_MEM_FAIL) return ST_NOMEM;
	long steps = 0;
	sundials.KINGetNumNonlinSolvIters(r->mem, &steps);
	char where[200] = "";
	double off;
	const int64_t i = worst_equation(r, f_scale, &off);
	if (s->status != ST_OK) return s->status;
	if (i >= 0)
		snprintf(where, sizeof where,
		         "; after %ld steps equation %lld is off by %.3g, with x[%lld] = %.6g", steps,
		         (long long)i, off, (long long)i, vector_data(r->x)[i]);
	const char *what = s->said[0] ? s->said : "the iteration failed", *hint = NULL;
	switch (flag) {
	case KIN_MAXITER_REACHED: {
		Diag *d = diag_error(s->c, E_SOLVER, NO_SPAN, "no zero found: %lld steps are used up%s",
		                     (long long)max_steps, where);
		diag_hint(s->c, d,
		          r->iteration ? "allow more with steps, keep more of the past with memory, or "
		                         "solve g(x) - x = 0 by Newton's method"
		                       : "allow more with steps, or begin nearer: follow() leads there "
		                         "from an easier problem");
		return ST_ERROR;
	}
	case KIN_LINESEARCH_NONCONV:
	case KIN_LINESEARCH_BCFAIL:
	case KIN_STEP_LT_STPTOL:
		what = "the steps became too small and f is not zero: this is a minimum of its norm, or "
			   "rounding bars the way";
		hint = "begin elsewhere, loosen tol, or scale the unknowns and equations";
		break;
	case KIN_MXNEWT_5X_EXCEEDED:
		what = "the steps grow without end";
		hint = "begin nearer, or take the line search";
		break;
	case KIN_LSETUP_FAIL:
	case KIN_LSOLVE_FAIL:
	case KIN_LINSOLV_NO_RECOVERY:
		what = "the linear system of a step cannot be solved: the Jacobian is singular, or nearly";
		hint = "begin elsewhere; at a fold follow() goes on along the curve";
		break;
	case KIN_FIRST_SYSFUNC_ERR:
	case KIN_REPTD_SYSFUNC_ERR:
	case KIN_SYSFUNC_FAIL:
		what = "f is not finite there, however short the step";
		hint = "a division by zero, or a root or logarithm of a negative number? nan_check(f, x; "
			   "inf = true) names it";
		break;
	default: break;
	}
	Diag *d = diag_error(s->c, E_SOLVER, NO_SPAN, "no zero found: %s%s", what, where);
	if (hint) diag_hint(s->c, d, "%s", hint);
	return ST_ERROR;
}

/* ---- the solve ----------------------------------------------------------- */

static int attach(KinsolRun *r, int64_t hold) {
	Solve *s = &r->s;
	if (r->iteration) return KIN_SUCCESS;
	if (r->krylov) {
		r->linear =
			sundials.SUNLinSol_SPGMR(r->x, SUN_PREC_NONE, (int)(r->n < 60 ? r->n : 60), s->sun);
		if (!r->linear) return KIN_MEM_FAIL;
		sundials.SUNLinSol_SPGMRSetMaxRestarts(r->linear, 10);
		int flag = sundials.KINSetLinearSolver(r->mem, r->linear, NULL);
		return flag == KIN_SUCCESS ? sundials.KINSetJacTimesVecFn(r->mem, call_product) : flag;
	}
	r->matrix = pattern_matrix(s, &r->pattern);
	r->linear = r->matrix ? pattern_solver(s, &r->pattern, r->x, r->matrix) : NULL;
	if (!r->linear) return KIN_MEM_FAIL;
	int flag = sundials.KINSetLinearSolver(r->mem, r->linear, r->matrix);
	if (flag == KIN_SUCCESS) flag = sundials.KINSetJacFn(r->mem, call_jacobian);
	return flag == KIN_SUCCESS ? sundials.KINSetMaxSetupCalls(r->mem, hold) : flag;
}

static Status result(KinsolRun *r, Value *results) {
	long count[4] = {0};
	sundials.KINGetNumNonlinSolvIters(r->mem, &count[0]);
	sundials.KINGetNumFuncEvals(r->mem, &count[1]);
	if (!r->iteration && !r->krylov) sundials.KINGetNumJacEvals(r->mem, &count[2]);
	if (r->krylov) sundials.KINGetNumLinIters(r->mem, &count[3]);
	Tensor *x = tensor_new(r->s.c, DT_F64, 1, &r->n),
		   *stats = tensor_new(r->s.c, DT_I64, 1, (int64_t[]){4});
	if (!x || !stats) {
		tensor_unref(x);
		tensor_unref(stats);
		return ST_NOMEM;
	}
	memcpy(x->data, vector_data(r->x), (size_t)r->n * sizeof(double));
	memcpy(stats->data, (int64_t[]){count[0], count[1], count[2], count[3]}, 4 * sizeof(int64_t));
	results[0] = value_tensor(x);
	results[1] = value_tensor(stats);
	return ST_OK;
}

static void detach(KinsolRun *r) {
	if (r->mem) sundials.KINFree(&r->mem);
	if (r->linear) sundials.SUNLinSolFree(r->linear);
	if (r->matrix) sundials.SUNMatDestroy(r->matrix);
	r->linear = NULL;
	r->matrix = NULL;
}

static int start(KinsolRun *r, const int64_t *o, int64_t memory, double tol, N_Vector x_scale,
                 N_Vector f_scale) {
	r->mem = sundials.KINCreate(r->s.sun);
	if (!r->mem) return KIN_MEM_FAIL;
	solve_listen_to(&r->s, r->mem, sundials.KINSetErrHandlerFn);
	int flag = KIN_SUCCESS;
	if (o[STRATEGY] == KIN_FP || o[STRATEGY] == KIN_PICARD)
		flag = sundials.KINSetMAA(r->mem, memory);
	/* before KINInit, which allocates accordingly */
	if (flag == KIN_SUCCESS) flag = sundials.KINSetNumMaxIters(r->mem, o[MAX_STEPS]);
	if (flag == KIN_SUCCESS) flag = sundials.KINInit(r->mem, call_f, r->x);
	if (flag == KIN_SUCCESS) flag = sundials.KINSetUserData(r->mem, r);
	if (flag == KIN_SUCCESS) flag = sundials.KINSetFuncNormTol(r->mem, tol);
	/* KINSOL's default depends on the start, which may be 0 */
	if (flag == KIN_SUCCESS) flag = sundials.KINSetMaxNewtonStep(r->mem, 1e100);
	if (flag == KIN_SUCCESS) flag = sundials.KINSetScaledStepTol(r->mem, 1e-15);
	if (flag == KIN_SUCCESS) flag = attach(r, o[HOLD]);
	return flag == KIN_SUCCESS ? sundials.KINSol(r->mem, r->x, (int)o[STRATEGY], x_scale, f_scale)
	                           : flag;
}

static Status solve(KinsolRun *r, const HostCall *call, const Value *args, Value *results) {
	Solve *s = &r->s;
	const int64_t *o = call->options;
	const double *x0, *x_scale, *f_scale;
	double tol;
	r->n = value_count(args[X0]);
	r->iteration = o[STRATEGY] == KIN_FP;
	r->krylov = o[LINEAR] == KRYLOV && !r->iteration;
	if (!r->n) {
		diag_error(s->c, E_VALUE, NO_SPAN,
		           "a system of equations needs an unknown: the start is empty");
		return ST_ERROR;
	}
	if (!solve_can_count(s, r->n, "unknowns")) return s->status;
	if (!solve_numbers(s, args[X0], "the start", r->n, &x0) ||
	    !solve_numbers(s, args[X_SCALE], "the scale of x", r->n, &x_scale) ||
	    !solve_numbers(s, args[F_SCALE], "the scale of f", r->n, &f_scale) ||
	    !solve_number(s, args[TOL], "tol", &tol))
		return s->status;
	for (int64_t i = 0; i < r->n; i++) {
		if (isfinite(x0[i]) && x_scale[i] > 0 && f_scale[i] > 0 && tol > 0) continue;
		diag_error(s->c, E_VALUE, NO_SPAN,
		           isfinite(x0[i])
		               ? "tol and the scales of a system of equations must be more than 0"
		               : "the start must be finite numbers");
		return ST_ERROR;
	}
	Status st = r->iteration || r->krylov
	                ? ST_OK
	                : pattern_begin(s, &r->pattern, r->n, o[LINEAR] == DENSE ? 0 : 3, args[COLPTR],
	                                args[ROWIND]);
	const uint32_t nf = (uint32_t)o[1], njac = (uint32_t)o[2];
	if (st == ST_OK)
		st = routine_begin(s, &r->f, call->fns[F], "the function", nf, args + OPERANDS);
	if (st == ST_OK)
		st = routine_begin(s, &r->jac, call->fns[JAC], "the Jacobian", njac, args + OPERANDS + nf);
	if (st != ST_OK) return st;
	r->x = solve_vector_of(s, r->n, x0);
	N_Vector u = solve_vector_of(s, r->n, x_scale), v = solve_vector_of(s, r->n, f_scale);
	if (!r->x || !u || !v) return ST_NOMEM;
	/* Nearly dependent differences spoil Anderson acceleration without notice
	 * from KINSOL. They occur near convergence, or if all unknowns are equal.
	 * Retry with a smaller depth. */
	int64_t memory = o[STRATEGY] != KIN_FP && o[STRATEGY] != KIN_PICARD ? 0
	                 : o[MEMORY] < r->n                                 ? o[MEMORY]
	                                                                    : r->n - 1;
	int flag = start(r, o, memory, tol, u, v);
	while (memory > 0 && s->status == ST_OK && !reached(r, f_scale, tol)) {
		memory /= 2;
		detach(r);
		memcpy(vector_data(r->x), x0, (size_t)r->n * sizeof *x0);
		flag = start(r, o, memory, tol, u, v);
	}
	if (s->status != ST_OK) return s->status;
	return flag == KIN_SUCCESS || flag == KIN_INITIAL_GUESS_OK
	           ? result(r, results)
	           : fail(r, flag, f_scale, o[MAX_STEPS]);
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	KinsolRun r = {0};
	Status st = solve_begin(&r.s, c);
	if (st == ST_OK) st = solve(&r, call, args, results);
	detach(&r);
	pattern_end(&r.s, &r.pattern);
	routine_end(&r.s, &r.f);
	routine_end(&r.s, &r.jac);
	solve_end(&r.s);
	return st;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	static const struct {
		const char *what;
		uint8_t dtype, rank;
	} wanted[OPERANDS] = {[X0] = {"the start", DT_F64, 1},
	                      [X_SCALE] = {"the scale of x", DT_F64, 1},
	                      [F_SCALE] = {"the scale of f", DT_F64, 1},
	                      [TOL] = {"tol", DT_F64, 0},
	                      [COLPTR] = {"the column pointers", DT_I64, 1},
	                      [ROWIND] = {"the row indices", DT_I64, 1}};
	const int64_t *o = call->options;
	if (cap < 2 || call->nfns != NFNS || call->noptions < OPTIONS || o[0] != NFNS ||
	    nargs != OPERANDS + o[1] + o[2])
		host_misuse(b, call->def->name, "wants two functions, six operands and five options");
	for (uint32_t k = 0; k < OPERANDS; k++)
		want_operand(b, call->def->name, wanted[k].what, args[k], (Dtype)wanted[k].dtype,
		             wanted[k].rank);
	const bool product = o[LINEAR] == KRYLOV;
	if (fn_nparams(call->fns[F]) != (uint32_t)o[1] + 1 || fn_nresults(call->fns[F]) != 1 ||
	    fn_nparams(call->fns[JAC]) != (uint32_t)o[2] + 1 + product ||
	    fn_nresults(call->fns[JAC]) != 1)
		host_misuse(b, call->def->name,
		            "its functions take x, and the product (x, v), and give one array each");
	if (o[STRATEGY] < KIN_NONE || o[STRATEGY] > KIN_FP || o[LINEAR] < DENSE || o[LINEAR] > KRYLOV ||
	    o[MAX_STEPS] < 1 || o[MEMORY] < 0 || o[HOLD] < 1)
		host_misuse(b, call->def->name, "an option is out of range");
	Ctx *c = build_ctx(b);
	Dim n = build_canon(b, ref_ty(build_fn(b), args[X0])->dims[0]), four = dim_const(c, 4);
	out[0] = type_tensor(c, DT_F64, 1, &n);
	out[1] = type_tensor(c, DT_I64, 1, &four);
	return 2;
}

const HostDef kinsol_host = {.name = "kinsol", .types = types, .eval = eval};
