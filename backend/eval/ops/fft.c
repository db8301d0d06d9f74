/* fft.c - the discrete Fourier transform along an axis.
 *
 * Needs: frame.h, fftw.h.
 *
 * Contract:
 * - The forward transform has no factor, the inverse 1/n.
 * - Any strides are allowed.
 */
#include "backend/eval/core/frame.h"
#include "backend/numlib/fftw.h"
#include <math.h>

static void scale(Dtype d, int64_t n, double by, void *x) {
	if (d == DT_C64)
		for (int64_t i = 0; i < 2 * n; i++) ((float *)x)[i] = (float)(((float *)x)[i] * by);
	else
		for (int64_t i = 0; i < 2 * n; i++) ((double *)x)[i] *= by;
}

Status eval_FFT(Frame *f, const Step *s) {
	const uint32_t axis = (uint32_t)s->fields[0].words[0];
	const bool inverse = s->fields[1].words[0] != 0;
	Tensor *x = operand_contiguous(f, s, 0);
	if (!x) return ST_NOMEM;
	Tensor *out = tensor_new(f->ctx, (Dtype)x->dtype, x->rank, x->shape);
	Status st = out ? ST_OK : ST_NOMEM;
	int64_t outer = 1, inner = 1;
	const int64_t n = x->shape[axis];
	for (uint32_t i = 0; i < axis; i++) outer *= x->shape[i];
	for (uint32_t i = axis + 1; i < x->rank; i++) inner *= x->shape[i];
	if (st == ST_OK && x->count) {
		const char *why;
		st = fft_lines(f->ctx, &f->be->fft, (Dtype)x->dtype, inverse, outer, n,
		               inner, x, out, &why);
		if (st == ST_ERROR) st = fail_at(f, s, E_FILE, "%s", why);
		const double work = 5.0 * (double)x->count * (n > 1 ? log2((double)n) : 1);
		if (st == ST_OK && inverse) scale((Dtype)x->dtype, x->count, 1.0 / (double)n, out->data);
		if (st == ST_OK) {
			count_operations(f, work);
			st = spend(f->be, (uint64_t)work);
		}
	}
	tensor_unref(x);
	if (st == ST_OK) return put_tensor(f, s, 0, out);
	tensor_unref(out);
	return st;
}
