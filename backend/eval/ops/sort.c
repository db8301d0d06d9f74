/* sort.c - stable sorting permutations.
 *
 * Needs: frame.h.
 *
 * Contract:
 * - Equal elements (-0 and +0 are equal) keep their order, ascending or
 *   descending.
 * - NaN comes last in both.
 *
 * Method: elements become unsigned keys of the same order. Long lines use radix
 * sort on the keys, short lines merge sort.
 */
#include "backend/eval/core/frame.h"

typedef struct SortEntry {
	uint64_t key;
	int64_t index;
} SortEntry;

static uint64_t key_of_double(double x, bool descending) {
	if (x != x) return UINT64_MAX;
	if (x == 0) x = 0; /* also -0 */
	union {
		double f;
		uint64_t u;
	} b = {x};
	uint64_t key = b.u >> 63 ? ~b.u : b.u | (uint64_t)1 << 63;
	return descending ? ~key : key; /* infinities stay below UINT64_MAX in both orders */
}

static uint64_t key_at(Dtype d, const char *p, bool descending) {
	int64_t i;
	switch (d) {
	case DT_F64: return key_of_double(*(const double *)(const void *)p, descending);
	case DT_F32: return key_of_double(*(const float *)(const void *)p, descending);
	case DT_BOOL: i = *(const bool *)p; break;
	case DT_I32: i = *(const int32_t *)(const void *)p; break;
	default: i = *(const int64_t *)(const void *)p; break;
	}
	uint64_t key = (uint64_t)i ^ (uint64_t)1 << 63;
	return descending ? ~key : key;
}

static void insertion_sort(SortEntry *a, int64_t n) {
	for (int64_t i = 1; i < n; i++) {
		SortEntry x = a[i];
		int64_t k = i;
		for (; k && a[k - 1].key > x.key; k--) a[k] = a[k - 1];
		a[k] = x;
	}
}

enum { DIGIT = 11, DIGITS = 6, VALUES = 1 << DIGIT, COUNTING_FROM = 768, INSERTED = 24 };

/* Sorts a with scratch b; returns the array with the result. Insertion sort of
 * short runs, then merging: for lines that fit the caches. */
static SortEntry *merge_sort(SortEntry *a, SortEntry *b, int64_t n) {
	for (int64_t i = 0; i < n; i += INSERTED)
		insertion_sort(a + i, n - i < INSERTED ? n - i : INSERTED);
	for (int64_t width = INSERTED; width < n; width *= 2) {
		for (int64_t from = 0; from < n; from += 2 * width) {
			int64_t middle = from + width < n ? from + width : n,
					end = middle + width < n ? middle + width : n;
			int64_t i = from, j = middle, k = from;
			while (i < middle && j < end) {
				const bool right = a[j].key < a[i].key; /* equal keys: the left one first */
				b[k++] = right ? a[j] : a[i];
				j += right;
				i += !right;
			}
			memcpy(b + k, a + i, (size_t)(middle - i) * sizeof *a);
			k += middle - i;
			memcpy(b + k, a + j, (size_t)(end - j) * sizeof *a);
		}
		SortEntry *swap = a;
		a = b;
		b = swap;
	}
	return a;
}

/* Items between two checks for an interrupt, which ends the sort early. */
enum { PIECE = 64, PAGE = 4096 };

/* Touches each page of new memory, with a check for interrupts in between.
 * Scattered stores would otherwise fault in many large pages between two
 * checks. */
static void touch_pages(const Ctx *c, void *memory, size_t bytes) {
	volatile char *p = memory;
	for (size_t at = 0; at < bytes && !ctx_interrupted(c); at += PAGE) p[at] = 0;
}

/* Sorts by digits of the key, the lowest first. Skips a digit that is equal in
 * all keys. counts: DIGITS x VALUES. */
static SortEntry *digit_sort(const Ctx *c, SortEntry *a, SortEntry *b, int64_t n, int64_t *counts) {
	memset(counts, 0, DIGITS * VALUES * sizeof *counts);
	for (int64_t i = 0; i < n; i++) {
		if (!(i & (PIECE - 1)) && ctx_interrupted(c)) return a;
		for (int d = 0; d < DIGITS; d++)
			counts[d * VALUES + (int)(a[i].key >> d * DIGIT & (VALUES - 1))]++;
	}
	for (int d = 0; d < DIGITS; d++) {
		int64_t *start = counts + d * VALUES, sum = 0;
		if (start[a[0].key >> d * DIGIT & (VALUES - 1)] == n) continue;
		for (int k = 0; k < VALUES; k++) {
			int64_t count = start[k];
			start[k] = sum;
			sum += count;
		}
		for (int64_t i = 0; i < n; i++) {
			if (!(i & (PIECE - 1)) && ctx_interrupted(c)) return a;
			b[start[a[i].key >> d * DIGIT & (VALUES - 1)]++] = a[i];
		}
		SortEntry *swap = a;
		a = b;
		b = swap;
	}
	return a;
}

Status eval_ARGSORT(Frame *f, const Step *s) {
	const uint32_t axis = (uint32_t)s->fields[0].words[0];
	const bool descending = s->fields[1].words[0] != 0;
	Tensor *x = operand_contiguous(f, s, 0);
	if (!x) return ST_NOMEM;
	int64_t outer = 1, inner = 1, length = x->shape[axis];
	for (uint32_t i = 0; i < axis; i++) outer *= x->shape[i];
	for (uint32_t i = axis + 1; i < x->rank; i++) inner *= x->shape[i];
	const bool by_digits = length >= COUNTING_FROM;
	const size_t item_bytes = 2 * (size_t)length * sizeof(SortEntry),
				 bytes = item_bytes + (by_digits ? DIGITS * VALUES * sizeof(int64_t) : 0);
	Tensor *out = tensor_new(f->ctx, DT_I64, x->rank, x->shape);
	SortEntry *items = heap_alloc(f->ctx, bytes);
	Status st = out && items ? ST_OK : ST_NOMEM;
	const int64_t size = (int64_t)dtype_size((Dtype)x->dtype);
	if (st == ST_OK) {
		touch_pages(f->ctx, items, bytes);
		touch_pages(f->ctx, out->data, (size_t)out->count * sizeof(int64_t));
	}
	for (int64_t i = 0; st == ST_OK && x->count && i < outer * inner; i++) {
		const int64_t first = i / inner * length * inner + i % inner;
		for (int64_t k = 0; k < length && (k & (PIECE - 1) || !ctx_interrupted(f->ctx)); k++)
			items[k] = (SortEntry){
				key_at((Dtype)x->dtype, x->data + (first + k * inner) * size, descending), k};
		SortEntry *spare = items + length;
		const SortEntry *sorted = by_digits
		                              ? digit_sort(f->ctx, items, spare, length,
		                                           (int64_t *)(void *)((char *)items + item_bytes))
		                              : merge_sort(items, spare, length);
		int64_t *o = (int64_t *)(void *)out->data + first;
		for (int64_t k = 0; k < length && (k & (PIECE - 1) || !ctx_interrupted(f->ctx)); k++)
			o[k * inner] = sorted[k].index;
		st = spend(f->be, (uint64_t)length * 8);
	}
	if (items) heap_free(f->ctx, items, bytes);
	tensor_unref(x);
	if (st == ST_OK) return put_tensor(f, s, 0, out);
	tensor_unref(out);
	return st;
}
