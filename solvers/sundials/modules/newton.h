/* newton.h - Newton's method for the steps of CVODES and IDAS.
 *
 * Method: simplified Newton iteration (Hairer and Wanner, Solving ODEs II,
 * IV.8). With a matrix from an earlier step the first correction is never
 * accepted alone. Convergence is judged by two corrections and by two residuals
 * of each equation.
 *
 * Contract:
 * - Call newton_begin, then give `solver` to the integrator.
 * - Call newton_end after the integrator is freed.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_MODULES_NEWTON_H
#define ATLED_SOLVERS_SUNDIALS_MODULES_NEWTON_H

#include "solvers/sundials/modules/sundials.h"

typedef struct Newton {
	SUNNonlinearSolver solver;
	SUNNonlinSolSysFn equations;
	SUNNonlinSolLSetupFn prepare;
	SUNNonlinSolLSolveFn correct;
	Solve *s;
	N_Vector *vectors;
	/* the correction; the residual before it; the residual before the previous
	 * correction */
	N_Vector now, left, before;
	int64_t n;
	double rounding; /* corrections below it are rounding, in units of the tolerances */
	/* sums of the absolute terms of each equation, set with each matrix; NULL:
	 * the equations are in units of the unknowns, as in CVODES */
	double *sizes;
	int most;                  /* limit on iterations */
	long iterations, failures; /* of the last step */
} Newton;

/* For n unknowns. sized: whether w->sizes is needed. Returns false when memory
 * fails. */
bool newton_begin(Newton *w, Solve *s, int64_t n, double rtol, bool sized);
void newton_end(Newton *w);

#endif
