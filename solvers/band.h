/* band.h - systems whose matrices have their elements near the diagonal: an order of the unknowns that brings them there, factors, solves.
 *
 * Needs: lang/host.h. Guarantees: nothing here allocates but band_order; results depend on the operands alone; a matrix that is singular gives factors with an
 * infinity, and so solutions that are not finite, which is for the caller to see. Sources: Cuthill and McKee, Reducing the bandwidth of sparse symmetric matrices, Proc.
 * 24th ACM National Conf. (1969), turned round as George and Liu do (Computer Solution of Large Sparse Positive Definite Systems, 1981), who also say where to begin.
 */
#ifndef ATLED_SOLVERS_BAND_H
#define ATLED_SOLVERS_BAND_H

#include "lang/host.h"

/* Diagonals with elements, besides the main one. */
typedef struct Band {
	int64_t n, below, above;
} Band;
/* Numbers from one row of storage to the next. Element (i, j) is number i * stride + (j - i) + below. */
static inline int64_t band_stride(Band b) { return 2 * b.below + b.above + 1; }
static inline int64_t band_place(Band b, int64_t i, int64_t j) { return i * band_stride(b) + (j - i) + b.below; }

/* The band of a square pattern by columns, with its diagonal. order: which unknown comes where; NULL: as they are. */
Band band_width(int64_t n, const int64_t *start, const int64_t *row, const int64_t *order_inverse);
/* An order by which the band is narrower, into order[n], and where each unknown comes then, into inverse[n]. */
Status band_order(Ctx *c, int64_t n, const int64_t *start, const int64_t *row, int64_t *order, int64_t *inverse);

/* f[n * stride] becomes the factors; exchanges[n]. Whether rows were exchanged, which the solve must be told. Complex: pairs of numbers. */
bool band_factor(Band b, double *f, double *exchanges);
void band_solve(Band b, bool exchanged, bool transposed, const double *f, const double *exchanges, double *x);
bool band_factor_complex(Band b, double *f, double *exchanges);
void band_solve_complex(Band b, bool exchanged, bool adjoint, const double *f, const double *exchanges, double *x);

#endif
