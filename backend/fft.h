/* fft.h - FFTW behind two calls.
 *
 * Needs: type.h. Guarantees: the library of the dtype is opened at its first transform; plans are made once for each
 * size and kept per context; a transform runs on the calling thread.
 */
#ifndef ATLED_BACKEND_FFT_H
#define ATLED_BACKEND_FFT_H

#include "lang/tensor.h"

struct FftPlans;

struct Apart;

/* Transforms `inner` interleaved lines of length n (element i of line k at i*inner + k), `outer` times in a row, from
 * x to o without a factor. ST_ERROR with *why: the library cannot be had. Long lines are transformed on another thread
 * while this one polls: when that says to stop, x and o are kept until the transform has ended (apart.h). */
Status fft_lines(Ctx *c, struct FftPlans **plans, struct Apart **apart, Dtype d, bool inverse, int64_t outer, int64_t n, int64_t inner,
                 Tensor *x, Tensor *o, const char **why);
void fft_plans_free(Ctx *c, struct FftPlans *plans);

#endif
