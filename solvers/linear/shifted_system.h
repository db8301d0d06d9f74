/* shifted_system.h - linear systems of implicit integrators, (s I - J) x = b
 * with J on a fixed pattern: choice of the solver, and host functions.
 *
 * Needs: band.h, factor_cache.h.
 *
 * Contract: the choice depends on the pattern and the wish alone.
 */
#ifndef ATLED_SOLVERS_LINEAR_SHIFTED_SYSTEM_H
#define ATLED_SOLVERS_LINEAR_SHIFTED_SYSTEM_H

#include "solvers/linear/band.h"

/* The linear solver. The values are those of stdlib/ode/ode.dsl. */
typedef enum LinearSolverKind {
	LINEAR_AUTO,
	LINEAR_BANDED,
	LINEAR_SPARSE,
	LINEAR_ITERATIVE
} LinearSolverKind;

typedef struct LinearSolverChoice {
	LinearSolverKind solver;
	Bandwidth band;              /* in the chosen order */
	bool ordered;                /* the chosen order differs from the given one */
	double banded_ns, sparse_ns; /* estimated time of a factorisation and eight solves */
	bool multifrontal;           /* sparse factors by UMFPACK, because of fill-in */
	/* operations of a sparse factorisation: KLU's estimate, or one from the
	 * bandwidth when the matrix is too large for the analysis */
	double flops;
} LinearSolverChoice;
/* Chooses a linear solver for a square pattern with its diagonal. order and
 * inverse: n each, always filled in. It chooses LINEAR_ITERATIVE (GMRES with
 * incomplete factors) only if that is the wish. Callers that can iterate do so
 * when prefer_iterative reports that exact factors are too expensive. */
Status choose_linear_solver(Ctx *c, int64_t n, const int64_t *start, const int64_t *row,
                            LinearSolverKind wish, int64_t *order, int64_t *inverse,
                            LinearSolverChoice *out);

bool prefer_iterative(const LinearSolverChoice *c);

extern const HostDef shifted_plan_host, shifted_factor_host, shifted_solve_host;

#endif
