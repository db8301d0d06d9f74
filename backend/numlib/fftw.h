/* fftw.h - FFTW behind two calls.
 *
 * Needs: type.h. Guarantees: the library of the dtype is opened at its first
 * transform; plans are made once for each size and kept per context; a
 * transform runs on the calling thread.
 */
#ifndef ATLED_BACKEND_NUMLIB_FFTW_H
#define ATLED_BACKEND_NUMLIB_FFTW_H

#include "lang/base/tensor.h"

struct FftPlans;

struct Apart;

/* Transforms `inner` interleaved lines of length n (element i of line k at
 * i*inner + k), `outer` times in a row, from x to o without a factor. ST_ERROR
 * with *why: the library cannot be had. Long lines are transformed on another
 * thread while this one polls: when that says to stop, x and o are kept until
 * the transform has ended (detached_call.h). */
Status fft_lines(Ctx *c, struct FftPlans **plans, Dtype d, bool inverse,
                 int64_t outer, int64_t n, int64_t inner, Tensor *x, Tensor *o, const char **why);

/* Transforms of real lines of length n, in f64, into as many numbers. */
typedef enum FftReal {
	/* sum_j x_j e^(-2 pi i j k/n): the real parts for k = 0 .. n/2, then the
	 * imaginary ones for k from below n/2 down to 1 */
	FFT_HALF,
	FFT_FROM_HALF,  /* its inverse, with 1/n */
	FFT_SINES,      /* 2 sum_j x_j sin(pi (j + 1)(k + 1)/(n + 1)) */
	FFT_FROM_SINES, /* its inverse: the same divided by 2 (n + 1) */
	FFT_REALS
} FftReal;
enum { FFT_GROUP = 8 }; /* lines at a time, at most */

typedef struct FftRealPlan FftRealPlan;
/* For transforms of so many lines. Kept like other plans: until so many others
 * have been used. NULL: no memory, or *why says why the library cannot be had.
 */
const FftRealPlan *fft_real_plan(Ctx *c, struct FftPlans **plans, FftReal kind, int64_t n,
                                 int64_t lines, const char **why);
/* Numbers of working memory that a group of lines takes, from an address of 64
 * bytes; the plan has such for the calling thread. */
size_t fft_real_room(const FftRealPlan *p);
double *fft_real_own(const FftRealPlan *p);
/* Transforms `lines` <= FFT_GROUP lines that begin `apart` elements behind each
 * other, each with `step` between its elements. Any thread. */
void fft_real_lines(const FftRealPlan *p, int lines, int64_t step, int64_t apart, const double *x,
                    double *o, double *room);

void fft_plans_free(Ctx *c, struct FftPlans *plans);

#endif
