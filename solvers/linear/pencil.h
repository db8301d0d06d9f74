/* pencil.h - the operator of a sparse eigenproblem A x = lambda B x.
 *
 * Needs: factor_cache.h. Only solvers/linear uses it.
 *
 * Contract: vectors are f64, of complex problems pairs of f64.
 */
#ifndef ATLED_SOLVERS_LINEAR_PENCIL_H
#define ATLED_SOLVERS_LINEAR_PENCIL_H

#include "solvers/linear/factor_cache.h"
#include <complex.h>

enum { PENCIL_PARTS = 12 };

typedef struct Pencil {
	Ctx *c;
	int64_t n, unit; /* number of unknowns; 2 if they are complex, else 1 */
	bool hermitian;  /* A and B are symmetric or Hermitian */
	bool inverse;    /* the operator is (A - sigma B)^-1 B, else B^-1 A */
	bool massed;     /* B is not the identity */
	/* A, or A - sigma B with `inverse`; B. A complex matrix is a real one with
	 * two rows and columns for each. */
	SparseMatrix a, b;
	Factors *factors; /* of what the operator inverts; NULL: nothing */
	struct {
		void *memory;
		size_t bytes;
	} owned[PENCIL_PARTS];
	int nowned;
} Pencil;

typedef enum PencilState {
	PENCIL_GOOD,
	PENCIL_SINGULAR_SHIFT, /* A - sigma B is singular */
	PENCIL_SINGULAR_MASS,  /* B is singular, or not positive definite */
	PENCIL_INDEFINITE,     /* B has a negative eigenvalue */
} PencilState;

/* Builds the operator. The caller has set c, n, unit, hermitian and inverse. a
 * and b are the checked matrices, whose values are complex with unit = 2. */
Status pencil_begin(Pencil *p, const SparseMatrix *a, const SparseMatrix *b, double complex sigma,
                    PencilState *state);
void pencil_end(Pencil *p); /* also after a pencil_begin that failed */

/* y = the operator times x. bx: B x, or NULL. Polls for interrupts. */
Status pencil_apply(Pencil *p, const double *x, const double *bx, double *y);
void pencil_weigh(const Pencil *p, const double *x, double *y); /* y = B x */

/* Whether column j of B has nonzero elements. */
bool pencil_has_mass(const Pencil *p, int64_t j);

#endif
