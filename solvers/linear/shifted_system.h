/* shifted_system.h - the linear systems of implicit integrators, (s I - J) x =
 * b with J on a pattern: how they are solved, and as host functions.
 *
 * Needs: band.h, factor_cache.h. Guarantees: what is chosen depends on the
 * pattern and the wish alone.
 */
#ifndef ATLED_SOLVERS_LINEAR_SHIFTED_SYSTEM_H
#define ATLED_SOLVERS_LINEAR_SHIFTED_SYSTEM_H

#include "solvers/linear/band.h"

/* By which factors. The numbers are those of stdlib/ode/ode.dsl. */
typedef enum Way { WAY_AUTO, WAY_BANDED, WAY_SPARSE, WAY_ITERATED } Way;

typedef struct Choice {
	Way way;
	Band band;                   /* in the order of choose's `order` */
	bool ordered;                /* that order is not the one they have */
	double banded_ns, sparse_ns; /* estimates of a factorisation and eight solves */
	bool fronts;                 /* sparse factors by UMFPACK, since they fill in */
	/* of sparse factors: KLU's estimate, or where the matrix is too large to
	 * ask for it what the band lets expect */
	double flops;
} Choice;
/* For a square pattern with its diagonal. order and inverse: n each, filled in
 * any case. WAY_ITERATED, GMRES with incomplete factors, is never chosen here
 * unless it is the wish: who can iterate does so where too_many says that exact
 * factors are out of proportion. */
Status choose_way(Ctx *c, int64_t n, const int64_t *start, const int64_t *row, Way wish,
                  int64_t *order, int64_t *inverse, Choice *out);

bool too_many(const Choice *c);

extern const HostDef shifted_plan_host, shifted_factor_host, shifted_solve_host;

#endif
