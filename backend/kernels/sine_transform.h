/* sine_transform.h - discrete sine transforms (DST) by way of complex FFTs.
 *
 * Method: the DST S_k = sum_j x_j sin(pi j k/m) of m - 1 elements. For odd k it
 * is a cosine transform of m/2 elements, which is one complex transform of that
 * length for each pair of lines. For even k it is a DST of half as many
 * elements (m even). This takes half the work of extending the lines to odd
 * ones and is as accurate.
 *
 * Contract:
 * - Needs nothing. Allocates no memory.
 * - The data are a group of real lines side by side, as pairs of real and
 *   imaginary parts. A row has one element of each line: `lanes` values, 8 or
 *   2.
 * - Rows need only the alignment of a double.
 */
#ifndef ATLED_BACKEND_KERNELS_SINE_TRANSFORM_H
#define ATLED_BACKEND_KERNELS_SINE_TRANSFORM_H

#include <stdint.h>

/* Loads rows 1 .. m - 1 of `rows` from lines with `step` between elements and
 * `apart` between lines, times `by`. Lanes without a line become zeros. */
void dst_load(int lanes, int lines, int64_t m, int64_t step, int64_t apart, const double *x,
              double by, double *rows);
/* The reverse, without a factor. */
void dst_store(int lanes, int lines, int64_t m, int64_t step, int64_t apart, const double *rows,
               double *o);

/* m even. Writes to `waves` the m/2 rows whose transform (with e^(+...)) gives
 * the odd k, and to rows 1 .. m/2 - 1 the input of the DST for the even k.
 * twiddles: cos and sin of pi j/m, halved, j = 1 .. m/4. */
void dst_split(int lanes, int64_t m, double *rows, double *waves, const double *twiddles);
/* Writes S_k, k odd, from the transform of `half` rows to row every*k of `o`.
 * Its rows are `step` apart; the first is row 1. */
void dst_odd(int lanes, int64_t half, const double *waves, int64_t every, double *o, int64_t step);

/* m odd: dst_continue writes 2 m rows, the odd extension of the lines.
 * dst_from_continued writes S_k from their transform (with e^(-...)) to row
 * every*k of o. */
void dst_continue(int lanes, int64_t m, const double *rows, double *waves);
void dst_from_continued(int lanes, int64_t m, const double *waves, int64_t every, double *o,
                        int64_t step);
/* The DST by its definition. table: sin(pi j k/m), (m - 1)^2 values. */
void dst_by_table(int lanes, int64_t m, const double *rows, const double *table, int64_t every,
                  double *o, int64_t step);

#endif
