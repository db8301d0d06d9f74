/* band.h - systems whose matrices have their elements near the diagonal: an
 * order of the unknowns that brings them there, factors, solves.
 *
 * Needs: lang/ir/host.h. Guarantees: nothing here allocates but band_order;
 * results depend on the operands alone; a matrix that is singular gives factors
 * with an infinity, and so solutions that are not finite, which is for the
 * caller to see. Sources: Cuthill and McKee, Reducing the bandwidth of sparse
 * symmetric matrices, Proc. 24th ACM National Conf. (1969), turned round as
 * George and Liu do (Computer Solution of Large Sparse Positive Definite
 * Systems, 1981), who also say where to begin.
 */
#ifndef ATLED_SOLVERS_LINEAR_BAND_H
#define ATLED_SOLVERS_LINEAR_BAND_H

#include "lang/ir/host.h"

/* Diagonals with elements, besides the main one. */
typedef struct Band {
	int64_t n, below, above;
} Band;
/* Numbers from one row of storage to the next. Element (i, j) is number i *
 * stride + (j - i) + below. */
static inline int64_t band_stride(Band b) { return 2 * b.below + b.above + 1; }
static inline int64_t band_place(Band b, int64_t i, int64_t j) {
	return i * band_stride(b) + (j - i) + b.below;
}

/* The band of a square pattern by columns, with its diagonal. order: which
 * unknown comes where; NULL: as they are. */
Band band_width(int64_t n, const int64_t *start, const int64_t *row, const int64_t *order_inverse);
/* An order by which the band is narrower, into order[n], and where each unknown
 * comes then, into inverse[n]. */
Status band_order(Ctx *c, int64_t n, const int64_t *start, const int64_t *row, int64_t *order,
                  int64_t *inverse);

/* How a matrix came to be factored, which the solve must be told. */
typedef enum BandForm { BAND_PLAIN, BAND_EXCHANGED, BAND_TWISTED } BandForm;
/* f[n * stride] becomes the factors; exchanges[n]: of rows. Complex: pairs of
 * numbers. */
BandForm band_factor(Band b, double *f, double *exchanges);
BandForm band_factor_complex(Band b, double *f, double *exchanges);
/* From both ends to the middle, which takes half the time: BAND_TWISTED. false:
 * the band is not narrow, or an exchange is wanted; f may be spoilt then. */
bool band_twisted(Band b, double *f);
bool band_twisted_complex(Band b, double *f);
void band_solve(Band b, BandForm form, bool transposed, const double *f, const double *exchanges,
                double *x);
void band_solve_complex(Band b, BandForm form, bool adjoint, const double *f,
                        const double *exchanges, double *x);

#endif
