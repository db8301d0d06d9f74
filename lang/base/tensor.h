/* tensor.h - reference-counted immutable n-d arrays over shared, padded
 * buffers.
 *
 * Needs: context.h, type.h (dtypes only).
 *
 * Contract:
 * - An owned buffer starts on a 64-byte boundary and is padded to a multiple of
 *   64 bytes. So an unmasked vector loop may run past its end.
 * - Views (slices, transposes, broadcasts with stride 0) share the buffer.
 * - Counts are atomic: a tensor may cross threads and outlive its context. Its
 *   memory returns to that context's allocator, which must live on.
 * - Ownership: functions borrow their tensor arguments and return an owned
 *   result (NULL when memory fails).
 */
#ifndef ATLED_LANG_BASE_TENSOR_H
#define ATLED_LANG_BASE_TENSOR_H

#include "lang/base/type.h"
#include <stdatomic.h>

typedef struct Buffer {
	atomic_int refs;
	void *data;
	size_t bytes;        /* usable bytes; at least what its tensors need */
	HostAllocator alloc; /* the allocator that gets the memory back */
	void *block;         /* the block to free; NULL for wrapped memory */
	size_t block_bytes;
	/* For wrapped host memory: called instead of freeing it; may be NULL. */
	void (*release)(void *ud, void *data);
	void *release_ud;
	/* The account of this record, its tensors and owned data. */
	struct HeapAccount *account;
} Buffer;

typedef struct Tensor {
	atomic_int refs;
	uint8_t dtype, rank;
	bool contiguous;          /* row-major without gaps */
	bool read_only;           /* wraps memory that must not be written in place */
	int64_t count;            /* product of shape */
	int64_t shape[MAX_RANK];  /* undefined beyond the rank */
	int64_t stride[MAX_RANK]; /* in elements; 0 for broadcast axes */
	char *data;               /* first element */
	Buffer *buffer;
} Tensor;

/* Contents undefined; returns NULL also on size overflow. */
Tensor *tensor_new(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape);
Tensor *tensor_zeros(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape);
/* A tensor whose elements are all *number: strides 0. */
Tensor *tensor_repeated(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape,
                        const void *number);
/* Wraps host memory without copying. strides NULL: row-major. release may be
 * NULL (the host keeps the memory alive). */
Tensor *tensor_wrap(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape,
                    const int64_t *strides, void *data, bool read_only,
                    void (*release)(void *ud, void *data), void *ud);
Tensor *tensor_ref(Tensor *t);
void tensor_unref(Tensor *t); /* NULL is allowed */
/* A view with its own shape and strides over t's buffer, which starts `offset`
 * elements from t->data. */
Tensor *tensor_view(Ctx *c, Tensor *t, uint32_t rank, const int64_t *shape, const int64_t *strides,
                    int64_t offset);
/* t itself, with one more reference, when it is contiguous; else a copy. */
Tensor *tensor_contiguous(Ctx *c, Tensor *t);
/* Fresh, contiguous, unshared. NULL when memory fails or the context must stop:
 * ctx_failure says which. */
Tensor *tensor_copy(Ctx *c, const Tensor *t);
/* Appends an undefined row along axis 0 to a contiguous tensor. Works in place
 * when the tensor is unshared and its buffer has capacity, which doubles on
 * growth. Consumes t. */
Tensor *tensor_push_row(Ctx *c, Tensor *t);
/* Whether the tensor may be overwritten: single owner of tensor and buffer, not
 * read-only, no stride-0 axis. */
bool tensor_is_unshared(const Tensor *t);
bool tensor_same_shape(const Tensor *a, const Tensor *b);
/* Copies src into dst (same shape and dtype), for any strides. */
void tensor_assign(Tensor *dst, const Tensor *src);
/* Copies src into dst with conversion: float -> int truncates, complex -> real
 * drops the imaginary part. Same shape. */
void tensor_convert_into(Tensor *dst, const Tensor *src);
/* The element at a multi-index as double (real part). */
double tensor_get(const Tensor *t, const int64_t *index);

/* Walks any number of equally shaped tensors, with the innermost axis as one
 * call of body(ud, n, ptrs, strides_in_bytes). Axes are merged where all
 * strides allow it, so contiguous tensors need one call. */
typedef void (*StridedBody)(void *ud, int64_t n, char **ptr, const int64_t *stride);
void tensor_walk(uint32_t ntensors, Tensor *const *t, StridedBody body, void *ud);

#endif
