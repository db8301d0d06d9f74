/* band.h - banded linear systems: bandwidth-reducing order, LU factors, solves.
 *
 * Method: reverse Cuthill-McKee order (Cuthill and McKee, Reducing the
 * bandwidth of sparse symmetric matrices, Proc. 24th ACM National Conf., 1969).
 * The reversal and the choice of the root follow George and Liu, Computer
 * Solution of Large Sparse Positive Definite Systems, 1981.
 *
 * Needs: lang/ir/host.h.
 *
 * Contract:
 * - Only band_order allocates.
 * - Results depend on the operands alone.
 * - Factors of a singular matrix contain an infinity. Solutions are then not
 *   finite; the caller must check them.
 */
#ifndef ATLED_SOLVERS_LINEAR_BAND_H
#define ATLED_SOLVERS_LINEAR_BAND_H

#include "lang/ir/host.h"

/* Numbers of nonzero diagonals below and above the main one. */
typedef struct Bandwidth {
	int64_t n, below, above;
} Bandwidth;
/* Row stride of the storage, in scalars. Element (i, j) is at i * stride + (j -
 * i) + below. */
static inline int64_t band_stride(Bandwidth b) { return 2 * b.below + b.above + 1; }
static inline int64_t band_place(Bandwidth b, int64_t i, int64_t j) {
	return i * band_stride(b) + (j - i) + b.below;
}

/* The band of a square pattern by columns, with its diagonal. order_inverse:
 * the position of each unknown in the new order; NULL: unchanged. */
Bandwidth band_width(int64_t n, const int64_t *start, const int64_t *row,
                     const int64_t *order_inverse);
/* Computes an order that narrows the band into order[n], and the position of
 * each unknown into inverse[n]. */
Status band_order(Ctx *c, int64_t n, const int64_t *start, const int64_t *row, int64_t *order,
                  int64_t *inverse);

/* How a matrix was factored; the solve needs it. */
typedef enum BandForm { BAND_PLAIN, BAND_EXCHANGED, BAND_TWISTED } BandForm;
/* Overwrites f[n * stride] with the factors. exchanges[n]: row interchanges.
 * Complex: pairs of scalars. */
BandForm band_factor(Bandwidth b, double *f, double *exchanges);
BandForm band_factor_complex(Bandwidth b, double *f, double *exchanges);
/* Twisted factorisation, from both ends to the middle, which is faster. Its
 * form is BAND_TWISTED. Returns false when the band is not narrow or a pivot
 * needs an interchange; f is then undefined. */
bool band_twisted(Bandwidth b, double *f);
bool band_twisted_complex(Bandwidth b, double *f);
void band_solve(Bandwidth b, BandForm form, bool transposed, const double *f,
                const double *exchanges, double *x);
void band_solve_complex(Bandwidth b, BandForm form, bool adjoint, const double *f,
                        const double *exchanges, double *x);

#endif
