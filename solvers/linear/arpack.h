/* arpack.h - one run of ARPACK: a basis for the largest eigenvalues of a
 * linear operator.
 *
 * Needs: lang/base/context.h. Only solvers/linear uses it.
 */
#ifndef ATLED_SOLVERS_LINEAR_ARPACK_H
#define ATLED_SOLVERS_LINEAR_ARPACK_H

#include "lang/base/context.h"
#include <complex.h>

typedef enum ArpackKind {
	ARPACK_SYMMETRIC, /* real, and symmetric in the inner product */
	ARPACK_REAL,
	ARPACK_COMPLEX,
} ArpackKind;

typedef struct ArpackRun {
	ArpackKind kind;
	/* whether `weigh` states the inner product, else it is Euclid's; not for
	 * ARPACK_REAL */
	bool weighted;
	/* weighted: the operator is an inverse, whose image may be smaller than the
	 * space; vectors with the weight 0 have the eigenvalue 0 */
	bool inverse;
	const char *which; /* ARPACK's name of the wanted eigenvalues: "LM" */
	int n, wanted;
	int length;   /* of the basis: n >= length >= wanted + 2 */
	int restarts; /* at most */
	double tol;   /* relative error of the eigenvalues; 0: rounding */
	int start;    /* the number of the start vector */

	/* y = the operator times x. bx: the weighted x, or NULL where it is not
	 * known. A weighted symmetric operator without `inverse` also overwrites x
	 * with the weighted y. Complex vectors are pairs of numbers. */
	Status (*apply)(void *ud, double *x, const double *bx, double *y);
	Status (*weigh)(void *ud, const double *x, double *y);
	void *ud;

	/* The results. The caller owns the memory: vectors has room for n by length
	 * elements, values for length + 1. */
	int found;              /* number of converged eigenvalues, possibly more than wanted */
	double *vectors;        /* a basis of their invariant subspace, in columns */
	double complex *values; /* of the operator */
} ArpackRun;

/* Reports that ARPACK cannot be loaded, or what a callback reported. A run that
 * does not converge succeeds with `found` less than `wanted`. */
Status arpack_run(Ctx *c, ArpackRun *r);

#endif
