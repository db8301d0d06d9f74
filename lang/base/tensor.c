/* tensor.c - buffers, tensors, views, strided walks, copies and dtype
 * conversion.
 *
 * Needs: tensor.h and the heap account of context.h.
 *
 * Contract:
 * - An owned buffer is one block: its record, the record of its first tensor,
 *   then data from a 64-byte boundary to a multiple of 64 bytes. The padding is
 *   zero when the buffer is created. Behind complex data is what
 *   dtype_read_behind asks for.
 * - Reference counts are atomic. The last unref may come on any thread and
 *   after ctx_free.
 * - A failed allocation returns NULL and leaves every argument unchanged; only
 *   tensor_push_row consumes its argument.
 */
#include "lang/base/tensor.h"
#include <complex.h>
#include <math.h>
#ifdef ATLED_STRESS
#include <assert.h>
#else
#define assert(x) ((void)0)
#endif

#define LINE ((size_t)64)

/* ---- sizes --------------------------------------------------------------- */

/* The number of elements. Returns false when it or the padded size in bytes
 * exceeds int64, or an extent is negative. An axis of extent 0 does not excuse
 * an overflow of the others, because strides are computed from the same
 * products. */
static bool count_elements(Dtype dtype, uint32_t rank, const int64_t *shape, int64_t *count,
                           size_t *bytes) {
	int64_t product = 1, n = 1, total;
	if (rank > MAX_RANK) return false;
	for (uint32_t i = 0; i < rank; i++) {
		if (shape[i] < 0 || __builtin_mul_overflow(product, shape[i] ? shape[i] : 1, &product))
			return false;
		n *= shape[i] ? 1 : 0;
	}
	if (__builtin_mul_overflow(product, (int64_t)dtype_size(dtype), &total) ||
	    total > INT64_MAX - 1024)
		return false;
	*count = n ? product : 0;
	*bytes = (size_t)*count * dtype_size(dtype);
	return true;
}

static size_t padded(size_t bytes) { return (bytes + LINE - 1) & ~(LINE - 1); }

static void row_major(uint32_t rank, const int64_t *shape, int64_t *stride) {
	int64_t step = 1;
	for (uint32_t i = rank; i-- > 0;) {
		stride[i] = step;
		step *= shape[i] ? shape[i] : 1;
	}
}

static bool is_row_major(uint32_t rank, const int64_t *shape, const int64_t *stride) {
	int64_t step = 1;
	for (uint32_t i = 0; i < rank; i++) {
		if (!shape[i]) return true;
	}
	for (uint32_t i = rank; i-- > 0;) {
		if (shape[i] != 1 && stride[i] != step) return false;
		step *= shape[i];
	}
	return true;
}

/* ---- creation and destruction -------------------------------------------- */

/* A buffer and its first tensor share one allocation, since most tensors have a
 * buffer to themselves. */
typedef struct TensorBlock {
	Buffer buffer;
	Tensor tensor;
} TensorBlock;

/* An owned buffer of at least `bytes`, with one reference. Everything after the
 * first `unset` bytes is zero. `behind` more bytes belong to the block, whose
 * contents do not matter. */
static Buffer *buffer_new(HeapAccount *account, size_t bytes, size_t unset, size_t behind) {
	if (bytes > SIZE_MAX / 2 || behind > SIZE_MAX / 4) return NULL;
	size_t room = padded(bytes), block_bytes = sizeof(TensorBlock) + LINE + room + behind;
	TensorBlock *block = account_alloc(account, block_bytes);
	if (!block) return NULL;
	Buffer *b = &block->buffer;
	char *data = (char *)(block + 1);
	data += -(uintptr_t)data & (LINE - 1);
	*b = (Buffer){.data = data,
	              .bytes = room,
	              .block = block,
	              .block_bytes = block_bytes,
	              .account = account};
	b->alloc = account_allocator(account);
	atomic_init(&b->refs, 1);
	if (unset < room) memset(data + unset, 0, room - unset);
	return b;
}

static size_t behind(Dtype d, uint32_t rank, const int64_t *shape) {
	return dtype_read_behind(d, rank ? shape[rank - 1] : 0);
}

/* Releases one reference; returns true when it was the last. A count of 1
 * belongs to the caller alone, so it needs no atomic exchange. */
static inline bool was_last(atomic_int *refs) {
	return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
	       atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

static void buffer_unref(Buffer *b) {
	if (!was_last(&b->refs)) return;
	if (!b->block && b->release) b->release(b->release_ud, b->data);
	account_free(b->account, b, b->block ? b->block_bytes : sizeof *b);
}

/* Fills the record of a tensor that takes the reference to `b`. `data` points
 * to the first element. Extents beyond the rank stay undefined, because this
 * runs for every value of a loop. */
static Tensor *describe(Tensor *t, Buffer *b, Dtype dtype, uint32_t rank, const int64_t *shape,
                        const int64_t *stride, char *data) {
	atomic_init(&t->refs, 1);
	t->dtype = (uint8_t)dtype;
	t->rank = (uint8_t)rank;
	t->read_only = false;
	t->data = data;
	t->buffer = b;
	int64_t step = 1;
	for (uint32_t i = rank; i-- > 0;) {
		t->shape[i] = shape[i];
		t->stride[i] = stride ? stride[i] : step;
		step *= shape[i] ? shape[i] : 1;
	}
	t->count = step;
	for (uint32_t i = 0; i < rank; i++) t->count = shape[i] ? t->count : 0;
	t->contiguous = !stride || is_row_major(rank, shape, stride);
	return t;
}

/* The tensor in the block of a fresh buffer. */
static Tensor *tensor_of_buffer(Buffer *b, Dtype dtype, uint32_t rank, const int64_t *shape) {
	return b ? describe(&((TensorBlock *)b->block)->tensor, b, dtype, rank, shape, NULL, b->data)
	         : NULL;
}

/* Another tensor over a buffer. Takes the reference to `b`, also on failure. */
static Tensor *tensor_over(Buffer *b, Dtype dtype, uint32_t rank, const int64_t *shape,
                           const int64_t *stride, char *data) {
	Tensor *t = account_alloc(b->account, sizeof *t);
	if (!t) {
		buffer_unref(b);
		return NULL;
	}
	return describe(t, b, dtype, rank, shape, stride, data);
}

static Tensor *tensor_of_account(HeapAccount *account, Dtype dtype, uint32_t rank,
                                 const int64_t *shape, bool clear) {
	int64_t count;
	size_t bytes;
	if (!count_elements(dtype, rank, shape, &count, &bytes)) return NULL;
	Buffer *b = buffer_new(account, bytes, clear ? 0 : bytes, behind(dtype, rank, shape));
	return tensor_of_buffer(b, dtype, rank, shape);
}

Tensor *tensor_new(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape) {
	return tensor_of_account(heap_account(c), dtype, rank, shape, false);
}

Tensor *tensor_zeros(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape) {
	return tensor_of_account(heap_account(c), dtype, rank, shape, true);
}

Tensor *tensor_repeated(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape,
                        const void *number) {
	static const int64_t stays[MAX_RANK];
	int64_t count;
	size_t bytes;
	if (!count_elements(dtype, rank, shape, &count, &bytes)) return NULL;
	Buffer *b = buffer_new(heap_account(c), dtype_size(dtype), dtype_size(dtype), 0);
	if (!b) return NULL;
	memcpy(b->data, number, dtype_size(dtype));
	return describe(&((TensorBlock *)b->block)->tensor, b, dtype, rank, shape, stays, b->data);
}

/* When this fails, `release` is not called: the host still owns the memory. */
Tensor *tensor_wrap(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape,
                    const int64_t *strides, void *data, bool read_only,
                    void (*release)(void *ud, void *data), void *ud) {
	int64_t count;
	size_t bytes;
	if (!count_elements(dtype, rank, shape, &count, &bytes)) return NULL;
	if (strides && count) {
		/* elements reached after the first one; in both directions */
		int64_t after = 0, all = 0, reach, span;
		for (uint32_t i = 0; i < rank; i++) {
			if (__builtin_mul_overflow(strides[i], shape[i] - 1, &reach) || reach == INT64_MIN)
				return NULL;
			if (__builtin_add_overflow(all, reach < 0 ? -reach : reach, &all)) return NULL;
			if (reach > 0) after += reach;
		}
		if (__builtin_mul_overflow(all, (int64_t)dtype_size(dtype), &span) || span > INT64_MAX / 2)
			return NULL;
		bytes = (size_t)(after + 1) * dtype_size(dtype);
	}
	HeapAccount *account = heap_account(c);
	Buffer *b = account_alloc(account, sizeof *b);
	if (!b) return NULL;
	*b = (Buffer){
		.data = data, .bytes = bytes, .alloc = account_allocator(account), .account = account};
	atomic_init(&b->refs, 1);
	Tensor *t = tensor_over(b, dtype, rank, shape, strides, data);
	/* `release` is not set yet, so the failed wrap did not call it. */
	if (!t) return NULL;
	b->release = release;
	b->release_ud = ud;
	t->read_only = read_only;
	return t;
}

Tensor *tensor_ref(Tensor *t) {
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

void tensor_unref(Tensor *t) {
	if (!t || !was_last(&t->refs)) return;
	Buffer *b = t->buffer;
	if (!b->block || t != &((TensorBlock *)b->block)->tensor)
		account_free(b->account, t, sizeof *t);
	buffer_unref(b);
}

Tensor *tensor_view(Ctx *c, Tensor *t, uint32_t rank, const int64_t *shape, const int64_t *strides,
                    int64_t offset) {
	(void)c; /* a view is counted in its buffer's account, and freed with it */
	int64_t count;
	size_t bytes;
	if (!count_elements((Dtype)t->dtype, rank, shape, &count, &bytes)) return NULL;
	char *data = t->data + (count ? offset * (int64_t)dtype_size((Dtype)t->dtype) : 0);
	atomic_fetch_add_explicit(&t->buffer->refs, 1, memory_order_relaxed);
	Tensor *v = tensor_over(t->buffer, (Dtype)t->dtype, rank, shape, strides, data);
	if (v) v->read_only = t->read_only;
	return v;
}

bool tensor_same_shape(const Tensor *a, const Tensor *b) {
	return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* Whether no two indices share an element, as far as the strides sorted by size
 * show: each must step over everything that the smaller ones reach. Broadcast
 * axes and overlapping windows fail. */
static bool has_distinct_elements(const Tensor *t) {
	if (t->contiguous) return true;
	int64_t stride[MAX_RANK], length[MAX_RANK], reach = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (t->shape[i] == 0) return true;
		if (t->shape[i] == 1) continue;
		int64_t s = t->stride[i] < 0 ? -t->stride[i] : t->stride[i];
		uint32_t k = n++;
		for (; k && stride[k - 1] > s; k--) {
			stride[k] = stride[k - 1];
			length[k] = length[k - 1];
		}
		stride[k] = s;
		length[k] = t->shape[i];
	}
	for (uint32_t k = 0; k < n; k++) {
		if (stride[k] <= reach) return false;
		reach += stride[k] * (length[k] - 1);
	}
	return true;
}

bool tensor_is_unshared(const Tensor *t) {
	return !t->read_only && atomic_load_explicit(&t->refs, memory_order_acquire) == 1 &&
	       atomic_load_explicit(&t->buffer->refs, memory_order_acquire) == 1 &&
	       has_distinct_elements(t);
}

/* ---- walking ------------------------------------------------------------- */

/* Whether axis `inner` may move outside its neighbour `outer`: only when every
 * tensor steps at least as far along it. */
static bool steps_further(uint32_t n, const int64_t *outer, const int64_t *inner) {
	bool further = false;
	for (uint32_t k = 0; k < n; k++) {
		int64_t a = outer[k] < 0 ? -outer[k] : outer[k], b = inner[k] < 0 ? -inner[k] : inner[k];
		if (b < a) return false;
		further |= b > a;
	}
	return further;
}

/* The order of visits is row-major when one of the tensors is; otherwise it is
 * any order that suits all of them. */
void tensor_walk(uint32_t ntensors, Tensor *const *t, StridedBody body, void *ud) {
	if (!ntensors || !t[0]->count) return;
	int64_t length[MAX_RANK + 1], stride[MAX_RANK + 1][ntensors], index[MAX_RANK + 1] = {0};
	char *ptr[ntensors];
	uint32_t rank = 0;
	for (uint32_t k = 0; k < ntensors; k++) {
		assert(tensor_same_shape(t[0], t[k]));
		ptr[k] = t[k]->data;
	}
	for (uint32_t i = 0; i < t[0]->rank; i++) {
		if (t[0]->shape[i] == 1) continue;
		length[rank] = t[0]->shape[i];
		for (uint32_t k = 0; k < ntensors; k++)
			stride[rank][k] = t[k]->stride[i] * (int64_t)dtype_size((Dtype)t[k]->dtype);
		rank++;
	}
	/* Insertion sort by a partial order: neighbours are swapped only where all
	 * tensors agree, so each pair is swapped at most once. */
	for (uint32_t i = 1; i < rank; i++) {
		for (uint32_t j = i; j && steps_further(ntensors, stride[j - 1], stride[j]); j--) {
			int64_t swap = length[j];
			length[j] = length[j - 1];
			length[j - 1] = swap;
			for (uint32_t k = 0; k < ntensors; k++) {
				swap = stride[j][k];
				stride[j][k] = stride[j - 1][k];
				stride[j - 1][k] = swap;
			}
		}
	}
	/* An axis merges into the next inner one when every tensor steps along it
	 * as far as the inner one reaches. */
	uint32_t merged = 0;
	for (uint32_t i = 0; i < rank; i++) {
		bool merges = merged > 0;
		for (uint32_t k = 0; k < ntensors && merges; k++)
			merges = stride[merged - 1][k] == stride[i][k] * length[i];
		uint32_t at = merges ? merged - 1 : merged++;
		length[at] = merges ? length[at] * length[i] : length[i];
		memmove(stride[at], stride[i], sizeof stride[at]);
	}
	if (!merged) {
		length[0] = 1;
		memset(stride[0], 0, sizeof stride[0]);
		merged = 1;
	}
	uint32_t inner = merged - 1;
	for (;;) {
		body(ud, length[inner], ptr, stride[inner]);
		uint32_t i = inner;
		while (i-- > 0) {
			if (++index[i] < length[i]) {
				for (uint32_t k = 0; k < ntensors; k++) ptr[k] += stride[i][k];
				break;
			}
			index[i] = 0;
			for (uint32_t k = 0; k < ntensors; k++) ptr[k] -= stride[i][k] * (length[i] - 1);
		}
		if (i == UINT32_MAX) return;
	}
}

/* ---- copying ------------------------------------------------------------- */

/* A copy that looks at limits and interrupts; NULL: it does not. */
typedef struct CopyPace {
	Ctx *c;
	int64_t left; /* elements until the next look */
	bool stopped;
} CopyPace;
enum { COPY_PIECE = 1 << 20 };

static bool copy_goes_on(CopyPace *p, int64_t n) {
	if (p->stopped) return false;
	p->left -= n;
	if (p->left > 0) return true;
	p->left = COPY_PIECE;
	p->stopped = ctx_stops(p->c);
	return !p->stopped;
}

#define COPY_BODY(bytes)                                                                           \
	static void copy_##bytes(void *ud, int64_t n, char **ptr, const int64_t *stride) {             \
		char *to = ptr[0];                                                                         \
		const char *from = ptr[1];                                                                 \
		while (n > 0) {                                                                            \
			int64_t part = ud && n > COPY_PIECE ? COPY_PIECE : n;                                  \
			if (ud && !copy_goes_on(ud, part)) return;                                             \
			n -= part;                                                                             \
			if (stride[0] == bytes && stride[1] == bytes) {                                        \
				memmove(to, from, (size_t)part *bytes);                                            \
				to += part * bytes;                                                                \
				from += part * bytes;                                                              \
				continue;                                                                          \
			}                                                                                      \
			for (; part > 0; part--, to += stride[0], from += stride[1]) memcpy(to, from, bytes);  \
		}                                                                                          \
	}
COPY_BODY(1)
COPY_BODY(4)
COPY_BODY(8)
COPY_BODY(16)

static void assign(Tensor *dst, const Tensor *src, CopyPace *pace) {
	assert(tensor_same_shape(dst, src) && dst->dtype == src->dtype);
	size_t size = dtype_size((Dtype)src->dtype);
	if (!src->count) return;
	if (dst->contiguous && src->contiguous && !pace) {
		memmove(dst->data, src->data, (size_t)src->count * size);
		return;
	}
	/* the walk does not write to tensors, only the body writes to their data */
	Tensor *both[2] = {dst, (Tensor *)src};
	tensor_walk(2, both,
	            size == 1   ? copy_1
	            : size == 4 ? copy_4
	            : size == 8 ? copy_8
	                        : copy_16,
	            pace);
}

void tensor_assign(Tensor *dst, const Tensor *src) { assign(dst, src, NULL); }

Tensor *tensor_copy(Ctx *c, const Tensor *t) {
	Tensor *copy = tensor_new(c, (Dtype)t->dtype, t->rank, t->shape);
	if (!copy) return NULL;
	CopyPace pace = {.c = c, .left = COPY_PIECE};
	assign(copy, t, t->count > COPY_PIECE ? &pace : NULL);
	if (!pace.stopped) return copy;
	tensor_unref(copy);
	return NULL;
}

Tensor *tensor_contiguous(Ctx *c, Tensor *t) {
	return t->contiguous ? tensor_ref(t) : tensor_copy(c, t);
}

/* Zeroes the bytes from the last element to the end of its 64-byte line, within
 * the buffer. */
static void clear_padding(Tensor *t) {
	size_t used = (size_t)t->count * dtype_size((Dtype)t->dtype),
		   offset = (size_t)(t->data - (char *)t->buffer->data);
	size_t end = padded(offset + used);
	if (end > t->buffer->bytes) end = t->buffer->bytes;
	if (end > offset + used) memset(t->data + used, 0, end - offset - used);
}

Tensor *tensor_push_row(Ctx *c, Tensor *t) {
	int64_t shape[MAX_RANK], count;
	size_t bytes;
	memcpy(shape, t->shape, sizeof shape);
	bool possible = t->rank > 0 && shape[0] < INT64_MAX;
	if (possible) {
		shape[0]++;
		possible = count_elements((Dtype)t->dtype, t->rank, shape, &count, &bytes);
	}
	if (!possible) {
		tensor_unref(t);
		return NULL;
	}
	Buffer *b = t->buffer;
	size_t room = b->block ? (size_t)((char *)b->data + b->bytes - t->data) : 0;
	if (t->contiguous && room >= bytes && tensor_is_unshared(t)) {
		t->shape[0]++;
		t->count = count;
		row_major(t->rank, t->shape, t->stride);
		clear_padding(t);
		return t;
	}
	size_t wanted = bytes;
	if (t->shape[0] > 0 && bytes < SIZE_MAX / 4)
		wanted = 2 * (size_t)t->count * dtype_size((Dtype)t->dtype);
	if (wanted < bytes) wanted = bytes;
	const size_t more = behind((Dtype)t->dtype, t->rank, shape);
	Buffer *grown = buffer_new(heap_account(c), wanted, bytes, more);
	if (!grown && wanted > bytes) /* little memory: no spare capacity */
		grown = buffer_new(heap_account(c), bytes, bytes, more);
	Tensor *result = tensor_of_buffer(grown, (Dtype)t->dtype, t->rank, shape);
	if (result) {
		/* a temporary view without a reference, for the copy */
		Tensor old_rows = *result;
		old_rows.shape[0]--;
		old_rows.count = t->count;
		tensor_assign(&old_rows, t);
	}
	tensor_unref(t);
	return result;
}

/* ---- conversion ---------------------------------------------------------- */

/* One loader per source and one storer per target; macros generate the pairs.
 * Integers saturate when narrowed, like floats, so that no conversion changes a
 * sign. */
static inline int64_t int_of_real(double x, int64_t low, int64_t high) {
	/* (double)INT64_MAX rounds up to 2^63, which is out of range too; the
	 * bounds of i32 are exact. */
	if (!(x > (double)low)) return x != x ? 0 : low;
	return x >= (double)high ? high : (int64_t)x;
}
static inline int64_t int_of_int(int64_t x, int64_t low, int64_t high) {
	return x < low ? low : x > high ? high : x;
}

#define TYPE_BOOL uint8_t
#define TYPE_I32 int32_t
#define TYPE_I64 int64_t
#define TYPE_F32 float
#define TYPE_F64 double
#define TYPE_C64 float _Complex
#define TYPE_C128 double _Complex

/* The source's value with its imaginary part, and its real part alone; integers
 * and bools as int64_t. */
#define FROM_BOOL(x) ((int64_t)((x) != 0))
#define FROM_I32(x) ((int64_t)(x))
#define FROM_I64(x) (x)
#define FROM_F32(x) (x)
#define FROM_F64(x) (x)
#define FROM_C64(x) (x)
#define FROM_C128(x) (x)

#define REAL_BOOL(x) FROM_BOOL(x)
#define REAL_I32(x) FROM_I32(x)
#define REAL_I64(x) (x)
#define REAL_F32(x) (x)
#define REAL_F64(x) (x)
#define REAL_C64(x) crealf(x)
#define REAL_C128(x) creal(x)

#define TO_INT(x, low, high)                                                                       \
	_Generic((x), int64_t                                                                          \
	         : int_of_int((int64_t)(x), low, high), default                                        \
	         : int_of_real((double)(x), low, high))

#define STORE_BOOL(S, x) ((uint8_t)(FROM_##S(x) != 0))
#define STORE_I32(S, x) ((int32_t)TO_INT(REAL_##S(x), INT32_MIN, INT32_MAX))
#define STORE_I64(S, x) TO_INT(REAL_##S(x), INT64_MIN, INT64_MAX)
#define STORE_F32(S, x) ((float)REAL_##S(x))
#define STORE_F64(S, x) ((double)REAL_##S(x))
#define STORE_C64(S, x) ((float _Complex)FROM_##S(x))
#define STORE_C128(S, x) ((double _Complex)FROM_##S(x))

#define CONVERT_BODY(S, D)                                                                         \
	static void convert_##S##_##D(void *ud, int64_t n, char **ptr, const int64_t *stride) {        \
		(void)ud;                                                                                  \
		char *to = ptr[0];                                                                         \
		const char *from = ptr[1];                                                                 \
		if (stride[0] == sizeof(TYPE_##D) && stride[1] == sizeof(TYPE_##S)) {                      \
			TYPE_##D *d = (TYPE_##D *)(void *)to;                                                  \
			const TYPE_##S *s = (const TYPE_##S *)(const void *)from;                              \
			for (int64_t i = 0; i < n; i++) d[i] = STORE_##D(S, s[i]);                             \
			return;                                                                                \
		}                                                                                          \
		for (; n > 0; n--, to += stride[0], from += stride[1]) {                                   \
			TYPE_##S x = *(const TYPE_##S *)(const void *)from;                                    \
			*(TYPE_##D *)(void *)to = STORE_##D(S, x);                                             \
		}                                                                                          \
	}
#define CONVERT_BODIES(S)                                                                          \
	CONVERT_BODY(S, BOOL)                                                                          \
	CONVERT_BODY(S, I32)                                                                           \
	CONVERT_BODY(S, I64)                                                                           \
	CONVERT_BODY(S, F32) CONVERT_BODY(S, F64) CONVERT_BODY(S, C64) CONVERT_BODY(S, C128)
CONVERT_BODIES(BOOL)
CONVERT_BODIES(I32)
CONVERT_BODIES(I64)
CONVERT_BODIES(F32)
CONVERT_BODIES(F64)
CONVERT_BODIES(C64)
CONVERT_BODIES(C128)

void tensor_convert_into(Tensor *dst, const Tensor *src) {
#define ROW(S)                                                                                     \
	{                                                                                              \
		convert_##S##_BOOL, convert_##S##_I32, convert_##S##_I64, convert_##S##_F32,               \
			convert_##S##_F64, convert_##S##_C64, convert_##S##_C128                               \
	}
	static const StridedBody bodies[DT_COUNT][DT_COUNT] = {ROW(BOOL), ROW(I32), ROW(I64), ROW(F32),
	                                                       ROW(F64),  ROW(C64), ROW(C128)};
#undef ROW
	if (dst->dtype == src->dtype) {
		tensor_assign(dst, src);
		return;
	}
	Tensor *both[2] = {dst, (Tensor *)src};
	tensor_walk(2, both, bodies[src->dtype][dst->dtype], NULL);
}

double tensor_get(const Tensor *t, const int64_t *index) {
	int64_t offset = 0;
	for (uint32_t i = 0; i < t->rank; i++) offset += index[i] * t->stride[i];
	const void *p = t->data + offset * (int64_t)dtype_size((Dtype)t->dtype);
	switch ((Dtype)t->dtype) {
	case DT_BOOL: return *(const uint8_t *)p != 0;
	case DT_I32: return *(const int32_t *)p;
	case DT_I64: return (double)*(const int64_t *)p;
	case DT_F32:
	case DT_C64: return *(const float *)p;
	case DT_F64:
	case DT_C128: return *(const double *)p;
	case DT_COUNT: break;
	}
	return NAN;
}
