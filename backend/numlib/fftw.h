/* fftw.h - Fourier and sine transforms by FFTW.
 *
 * Contract:
 * - Needs type.h.
 * - The library of a dtype is opened at its first transform.
 * - Plans are made once for each size and cached in the context.
 * - A transform runs on the calling thread, except long complex lines.
 */
#ifndef ATLED_BACKEND_NUMLIB_FFTW_H
#define ATLED_BACKEND_NUMLIB_FFTW_H

#include "lang/base/tensor.h"

struct FftPlans;

/* Transforms `inner` interleaved lines of n elements (element i of line k at
 * i*inner + k), `outer` times in a row, from x to o without a factor. ST_ERROR
 * with *why: the library cannot be loaded. Long lines are transformed on
 * another thread while this one polls. If cancelled, x and o stay referenced
 * until the transform has ended (detached_call.h). */
Status fft_lines(Ctx *c, struct FftPlans **plans, Dtype d, bool inverse, int64_t outer, int64_t n,
                 int64_t inner, Tensor *x, Tensor *o, const char **why);

/* Transforms of n real elements, in f64, into as many. */
typedef enum FftReal {
	/* sum_j x_j e^(-2 pi i j k/n) in half-complex layout: the real parts for k
	 * = 0 .. n/2, then the imaginary parts for k from below n/2 down to 1 */
	FFT_HALF,
	FFT_FROM_HALF,   /* its inverse, with 1/n */
	FFT_DST,         /* DST: 2 sum_j x_j sin(pi (j + 1)(k + 1)/(n + 1)) */
	FFT_INVERSE_DST, /* its inverse: the same divided by 2 (n + 1) */
	FFT_REALS
} FftReal;
enum { FFT_GROUP = 8 }; /* most lines at a time */

typedef struct FftRealPlan FftRealPlan;
/* Returns a plan for transforms of `lines` lines. It is cached until enough
 * other plans have been used. NULL: out of memory, or *why reports that the
 * library cannot be loaded. */
const FftRealPlan *fft_real_plan(Ctx *c, struct FftPlans **plans, FftReal kind, int64_t n,
                                 int64_t lines, const char **why);
/* fft_real_workspace: the size, in doubles, of the workspace of a group of
 * lines, which begins on a multiple of 64 bytes. fft_real_own: the plan's own
 * workspace, for the calling thread. */
size_t fft_real_workspace(const FftRealPlan *p);
double *fft_real_own(const FftRealPlan *p);
/* Transforms `lines` <= FFT_GROUP lines that begin `apart` elements after each
 * other, with `step` between the elements of each. Any
 * thread may call it. */
void fft_real_lines(const FftRealPlan *p, int lines, int64_t step, int64_t apart, const double *x,
                    double *o, double *workspace);

void fft_plans_free(Ctx *c, struct FftPlans *plans);

#endif
