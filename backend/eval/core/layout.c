/* layout.c - shapes and strides: views of operands, row-major streams.
 *
 * Needs: frame.h.
 *
 * Contract:
 * - Only stream_read accesses elements, and it only reads.
 */
#include "backend/eval/core/frame.h"
#include "backend/kernels/kernels.h"

void set_layout(Tensor *t, uint32_t rank, const int64_t *shape, const int64_t *strides,
                char *data) {
	int64_t step = 1, kept_shape[MAX_RANK], kept_stride[MAX_RANK];
	bool contiguous = true, empty = false;
	for (uint32_t i = rank; i-- > 0;) {
		int64_t stride = strides ? strides[i] : step;
		contiguous &= shape[i] == 1 || stride == step;
		kept_shape[i] = shape[i];
		kept_stride[i] = stride;
		empty |= !shape[i];
		step *= shape[i] ? shape[i] : 1;
	}
	memcpy(t->shape, kept_shape, rank * sizeof *kept_shape); /* may be t's own */
	memcpy(t->stride, kept_stride, rank * sizeof *kept_stride);
	t->rank = (uint8_t)rank;
	t->count = empty ? 0 : step;
	t->contiguous = contiguous || empty;
	t->data = data;
}

Tensor *operand_view(Frame *f, const Step *s, uint32_t k, uint32_t rank, const int64_t *shape,
                     const int64_t *strides, int64_t offset) {
	const Value *v = operand(f, s, k);
	int64_t own[MAX_RANK], step = 1;
	if (!strides) {
		for (uint32_t i = rank; i-- > 0;) {
			own[i] = step;
			step *= shape[i] ? shape[i] : 1;
		}
		strides = own;
	}
	if (v->kind == V_TENSOR && s->dies[k] &&
	    atomic_load_explicit(&v->tensor->refs, memory_order_acquire) == 1) {
		Tensor *t = take_operand(f, s, k).tensor;
		bool empty = false;
		for (uint32_t i = 0; i < rank; i++) empty |= !shape[i];
		set_layout(t, rank, shape, strides,
		           empty ? t->data : t->data + offset * (int64_t)dtype_size((Dtype)t->dtype));
		return t;
	}
	if (v->kind == V_SCALAR)
		return tensor_repeated(f->ctx, (Dtype)v->dtype, rank, shape, value_scalar_bytes(v));
	return tensor_view(f->ctx, v->tensor, rank, shape, strides, offset);
}

/* ---- streams ------------------------------------------------------------- */

void stream_open(ElementStream *st, const Tensor *t) {
	st->data = t->data;
	st->size = (uint32_t)dtype_size((Dtype)t->dtype);
	st->mode = STREAM_FLAT;
	st->rank = 0;
	if (t->contiguous) return;
	bool splat = true;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (t->shape[i] == 1) continue;
		int64_t stride = t->stride[i] * (int64_t)st->size;
		splat &= !stride;
		if (st->rank && st->stride[st->rank - 1] == stride * t->shape[i]) {
			st->shape[st->rank - 1] *= t->shape[i];
			st->stride[st->rank - 1] = stride;
		} else {
			st->shape[st->rank] = t->shape[i];
			st->stride[st->rank++] = stride;
		}
	}
	st->mode = splat ? STREAM_SPLAT : STREAM_STRIDED;
}

#define COPY_RUN(T)                                                                                \
	do {                                                                                           \
		T *to_ = (T *)(void *)to;                                                                  \
		for (int64_t i = 0; i < n; i++, from += stride) to_[i] = *(const T *)(const void *)from;   \
	} while (0)

static void copy_run(char *to, const char *from, int64_t n, int64_t stride, uint32_t size) {
	if (stride == (int64_t)size) {
		memcpy(to, from, (size_t)n * size);
		return;
	}
	switch (size) {
	case 1: COPY_RUN(uint8_t); break;
	case 4: COPY_RUN(Bits4); break;
	case 8: COPY_RUN(Bits8); break;
	default: COPY_RUN(Bits16); break;
	}
}

const void *stream_read(const ElementStream *st, int64_t pos, int64_t n, void *buffer) {
	if (st->mode == STREAM_FLAT) return st->data + pos * st->size;
	if (st->mode == STREAM_SPLAT) return st->data;
	int64_t index[MAX_RANK];
	const char *from = st->data;
	uint32_t inner = st->rank - 1;
	for (uint32_t i = st->rank; i-- > 0;) {
		index[i] = pos % st->shape[i];
		pos /= st->shape[i];
		from += index[i] * st->stride[i];
	}
	char *to = buffer;
	for (;;) {
		int64_t run = st->shape[inner] - index[inner];
		if (run > n) run = n;
		copy_run(to, from, run, st->stride[inner], st->size);
		to += run * st->size;
		n -= run;
		if (!n) return buffer;
		from -= index[inner] * st->stride[inner];
		index[inner] = 0;
		for (uint32_t i = inner; i-- > 0;) {
			from += st->stride[i];
			if (++index[i] < st->shape[i]) break;
			from -= st->stride[i] * st->shape[i];
			index[i] = 0;
		}
	}
}
