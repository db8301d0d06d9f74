/* newton.c - Newton iteration for CVODES and IDAS; see newton.h.
 *
 * SUNDIALS' own iteration may accept a first correction by the convergence rate
 * of earlier steps. With a matrix from a stiffer state every correction is
 * small, whatever the residual. Steps would then follow the predictor, and the
 * error test, which measures the same corrections, would not notice.
 */
#include "solvers/sundials/modules/newton.h"
#include <float.h>
#include <math.h>

enum { VECTORS = 4 };

/* Zeroes corrections below rounding, so that an unknown at rest (in contact)
 * stays exactly at rest. */
static void leave_out_rounding(const Newton *w, N_Vector weights, double size) {
	double *now = vector_data(w->now);
	const double *weight = vector_data(weights);
	for (int64_t i = 0; i < w->n; i++)
		if (weight[i] * fabs(now[i]) <= 1e-15 && fabs(now[i]) <= 1e-15 * size) now[i] = 0;
}

/* Whether the residual of every equation shrinks. An equation that the matrix
 * takes for stiffer than it is has small corrections, which a norm does not
 * show, but its residual stays. Residuals within tolerance or rounding pass. */
static bool all_shrink(const Newton *w, N_Vector weights, double enough) {
	const double *left = vector_data(w->left), *before = vector_data(w->before),
				 *now = vector_data(w->now), *weight = vector_data(weights);
	for (int64_t i = 0; i < w->n; i++) {
		const bool none = w->sizes ? fabs(left[i]) <= 100 * DBL_EPSILON * w->sizes[i]
		                           : weight[i] * fabs(left[i]) <= enough || now[i] == 0;
		if (fabs(left[i]) > 0.5 * fabs(before[i]) && !none) return false;
	}
	return true;
}

/* Whether every residual is within the tolerance. At a jump of the equations
 * they cannot shrink further. */
static bool all_small(const Newton *w, N_Vector weights, double enough) {
	const double *left = vector_data(w->left), *weight = vector_data(weights);
	for (int64_t i = 0; i < w->n; i++)
		if (!(weight[i] * fabs(left[i]) <= enough)) return false;
	return true;
}

static int iterate(Newton *w, N_Vector y0, N_Vector y, N_Vector weights, double enough,
                   bool current, void *mem) {
	const double most = sundials.N_VMaxNorm(y0);
	double last = 0;
	for (int k = 0; k < w->most; k++) {
		if (k > 0) {
			const int flag = w->equations(y, w->now, mem);
			if (flag) return flag;
		}
		N_Vector spare = w->before;
		w->before = w->left;
		w->left = spare;
		sundials.N_VScale(1, w->now, w->left);
		sundials.N_VScale(-1, w->now, w->now);
		w->iterations++;
		const int flag = w->correct(w->now, mem);
		if (flag) return flag;
		leave_out_rounding(w, weights, most);
		sundials.N_VLinearSum(1, y, 1, w->now, y);
		const double size = sundials.N_VWrmsNorm(w->now, weights), rate = size / last;
		if (!(size < INFINITY)) return SUN_NLS_CONV_RECVR;
		if (size <= w->rounding) return SUN_NLS_SUCCESS;
		if (k == 0 && current && 3 * size <= enough) return SUN_NLS_SUCCESS;
		if (k > 0) {
			if (!w->sizes && size <= enough && all_small(w, weights, enough))
				return SUN_NLS_SUCCESS;
			if (rate >= 0.9) return SUN_NLS_CONV_RECVR;
			if (size * rate <= enough * (1 - rate) && (current || all_shrink(w, weights, enough)))
				return SUN_NLS_SUCCESS;
		}
		last = size;
	}
	return SUN_NLS_CONV_RECVR;
}

static int solve(SUNNonlinearSolver solver, N_Vector y0, N_Vector y, N_Vector weights,
                 sunrealtype enough, sunbooleantype prepare, void *mem) {
	Newton *w = solver->content;
	bool again = w->prepare && prepare, bad = false;
	w->iterations = w->failures = 0;
	for (;;) {
		sunbooleantype current = SUNFALSE;
		int flag = w->equations(y, w->now, mem);
		if (!flag && again) flag = w->prepare(bad, &current, mem);
		if (flag) return flag;
		flag = iterate(w, y0, y, weights, enough, current, mem);
		if (flag <= 0 || current || !w->prepare) return flag;
		w->failures++;
		again = bad = true;
		sundials.N_VConst(0, y);
	}
}

/* ---- SUNDIALS' interface ------------------------------------------------- */

static SUNNonlinearSolver_Type root_finding(SUNNonlinearSolver solver) {
	(void)solver;
	return SUNNONLINEARSOLVER_ROOTFIND;
}
static int set_equations(SUNNonlinearSolver solver, SUNNonlinSolSysFn f) {
	((Newton *)solver->content)->equations = f;
	return SUN_NLS_SUCCESS;
}
static int set_prepare(SUNNonlinearSolver solver, SUNNonlinSolLSetupFn f) {
	((Newton *)solver->content)->prepare = f;
	return SUN_NLS_SUCCESS;
}
static int set_correct(SUNNonlinearSolver solver, SUNNonlinSolLSolveFn f) {
	((Newton *)solver->content)->correct = f;
	return SUN_NLS_SUCCESS;
}
static int set_most(SUNNonlinearSolver solver, int most) {
	((Newton *)solver->content)->most = most;
	return SUN_NLS_SUCCESS;
}
static int get_iterations(SUNNonlinearSolver solver, long *n) {
	*n = ((Newton *)solver->content)->iterations;
	return SUN_NLS_SUCCESS;
}
static int get_failures(SUNNonlinearSolver solver, long *n) {
	*n = ((Newton *)solver->content)->failures;
	return SUN_NLS_SUCCESS;
}

bool newton_begin(Newton *w, Solve *s, int64_t n, double rtol, bool sized) {
	*w = (Newton){.s = s, .n = n, .rounding = rtol > 0 ? 2 * DBL_EPSILON / rtol : 0, .most = 3};
	w->vectors = solve_vectors(s, VECTORS, n);
	w->solver = w->vectors ? sundials.SUNNonlinSolNewEmpty(s->sun) : NULL;
	if (!w->solver) return false;
	w->now = w->vectors[0];
	w->left = w->vectors[1];
	w->before = w->vectors[2];
	w->sizes = sized ? vector_data(w->vectors[3]) : NULL;
	w->solver->content = w;
	*w->solver->ops = (struct _generic_SUNNonlinearSolver_Ops){.gettype = root_finding,
	                                                           .solve = solve,
	                                                           .setsysfn = set_equations,
	                                                           .setlsetupfn = set_prepare,
	                                                           .setlsolvefn = set_correct,
	                                                           .setmaxiters = set_most,
	                                                           .getnumiters = get_iterations,
	                                                           .getnumconvfails = get_failures};
	return true;
}

void newton_end(Newton *w) {
	if (w->vectors) solve_vectors_free(w->s, VECTORS, w->vectors);
	if (w->solver) sundials.SUNNonlinSolFreeEmpty(w->solver);
	w->vectors = NULL;
	w->solver = NULL;
}
