/* sine_transform.h - the arithmetic of sums of sines around Fourier transforms:
 * a group of real lines side by side, as pairs of real and imaginary parts.
 *
 * Needs: nothing. A row is one element of all lines of a group: `lanes`
 * numbers, 8 or 2. Of m - 1 elements the sums S_k = sum_j x_j sin(pi j k/m)
 * with odd k are a cosine transform of m/2 elements, which is one complex
 * transform of that length for each pair of lines, and those with even k are
 * sums of sines of half as many elements (m even): half the work of continuing
 * the lines as odd ones, and as exact. Guarantees: no memory is taken; rows may
 * begin anywhere that a number may.
 */
#ifndef ATLED_BACKEND_KERNELS_SINE_TRANSFORM_H
#define ATLED_BACKEND_KERNELS_SINE_TRANSFORM_H

#include <stdint.h>

/* Rows 1 .. m - 1 of `rows` from lines with `step` between elements and `apart`
 * between lines, times `by`; absent lanes are zeros. */
void sines_load(int lanes, int lines, int64_t m, int64_t step, int64_t apart, const double *x,
                double by, double *rows);
/* The same way back, without a factor. */
void sines_store(int lanes, int lines, int64_t m, int64_t step, int64_t apart, const double *rows,
                 double *o);

/* m even: the m/2 rows `waves`, whose transform (with e^(+...)) gives the odd
 * k, and in rows 1 .. m/2 - 1 what the even k are sums of. turns: cos and sin
 * of pi j/m, halved, j = 1 .. m/4. */
void sines_split(int lanes, int64_t m, double *rows, double *waves, const double *turns);
/* From the transform of `half` rows, S_k to row every*k of `o`, whose rows are
 * `step` apart and begin with 1. */
void sines_odd(int lanes, int64_t half, const double *waves, int64_t every, double *o,
               int64_t step);

/* What is left when m is odd: 2 m rows that are an odd line; from their
 * transform (with e^(-...)) S_k to row every*k of o. */
void sines_continue(int lanes, int64_t m, const double *rows, double *waves);
void sines_from_continued(int lanes, int64_t m, const double *waves, int64_t every, double *o,
                          int64_t step);
/* Or as they are written; table: sin(pi j k/m), (m - 1)^2 numbers. */
void sines_by_table(int lanes, int64_t m, const double *rows, const double *table, int64_t every,
                    double *o, int64_t step);

#endif
