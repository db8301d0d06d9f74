/* half_complex.h - waves of real lines as real numbers, where the numbers of a
 * line lie without gaps.
 *
 * Needs: nothing. Of a line of n numbers the real parts of the waves 0 .. n/2
 * stand first, behind them the imaginary ones backwards (fftw.h, FFT_HALF).
 */
#ifndef ATLED_BACKEND_KERNELS_HALF_COMPLEX_H
#define ATLED_BACKEND_KERNELS_HALF_COMPLEX_H

#include <stdint.h>

/* From complex numbers, the waves 0 .. n/2, to where the halves stand. */
void halves_spread(int64_t n, const double *z, double *o);
/* The n waves of x + i y, divided by n, from the halves of both. */
void halves_interleave_pair(int64_t n, const double *x, const double *y, double *z);
/* The real and the imaginary parts of n numbers. */
void halves_split(int64_t n, const double *z, double *a, double *b);

#endif
