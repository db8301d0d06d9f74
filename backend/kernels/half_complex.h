/* half_complex.h - conversions of real 1-D transforms in half-complex layout.
 *
 * Contract:
 * - Needs nothing. The elements of a transform are contiguous.
 * - Half-complex layout, as in FFTW (fftw.h, FFT_HALF): of n elements the real
 *   parts of modes 0 .. n/2 come first, then the imaginary parts in reverse
 *   order.
 */
#ifndef ATLED_BACKEND_KERNELS_HALF_COMPLEX_H
#define ATLED_BACKEND_KERNELS_HALF_COMPLEX_H

#include <stdint.h>

/* From the complex modes 0 .. n/2 in z to the half-complex layout in o. */
void half_complex_spread(int64_t n, const double *z, double *o);
/* The n modes of x + i y, divided by n, from the half-complex modes of x and
 * y. */
void half_complex_interleave_pair(int64_t n, const double *x, const double *y, double *z);
/* The real parts (a) and the imaginary parts (b) of n complex values. */
void half_complex_split(int64_t n, const double *z, double *a, double *b);

#endif
