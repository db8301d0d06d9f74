/* newton.h - Newton's method for the steps of CVODES and IDAS
 *
 * Method: simplified Newton iterations (Hairer and Wanner, Solving ODEs II,
 * IV.8). Under a matrix that is not of this very step a first correction is
 * never the last: two corrections, and of each equation two residuals, say
 * together whether they shrink.
 * Contract:
 * - newton_begin, then the integrator takes `solver`.
 * - newton_end comes after the integrator is freed.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_MODULES_NEWTON_H
#define ATLED_SOLVERS_SUNDIALS_MODULES_NEWTON_H

#include "solvers/sundials/sundials.h"

typedef struct Newton {
	SUNNonlinearSolver solver;
	SUNNonlinSolSysFn equations;
	SUNNonlinSolLSetupFn prepare;
	SUNNonlinSolLSolveFn correct;
	Solve *s;
	N_Vector *vectors;
	/* a correction; what was left of the equations before it, and before the
	 * last one */
	N_Vector now, left, before;
	int64_t n;
	double rounding; /* corrections below it say nothing; in units of the tolerances */
	/* of the parts of each equation, written with each matrix; NULL:
	 * equations are in units of the unknowns, as those of CVODES are */
	double *sizes;
	int most;                  /* iterations */
	long iterations, failures; /* of the last step */
} Newton;

/* For n unknowns. sized: whether w->sizes are wanted. false: no memory */
bool newton_begin(Newton *w, Solve *s, int64_t n, double rtol, bool sized);
void newton_end(Newton *w);

#endif
