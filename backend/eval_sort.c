/* eval_sort.c - stable sorting permutations.
 *
 * Needs: eval.h. Guarantees: equal elements (-0 and +0 are equal) keep their order, ascending or descending; NaN comes last in both. Linear
 * time: elements become unsigned keys that sort like them, which are then sorted by bytes, those that are all equal left out.
 */
#include "backend/eval.h"

typedef struct Item {
	uint64_t key;
	int64_t index;
} Item;

static uint64_t key_of_double(double x, bool descending) {
	if (x != x) return UINT64_MAX;
	if (x == 0) x = 0; /* -0 too */
	union {
		double f;
		uint64_t u;
	} b = {x};
	uint64_t key = b.u >> 63 ? ~b.u : b.u | (uint64_t)1 << 63;
	return descending ? ~key : key; /* infinities map below UINT64_MAX either way */
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

static void insertion_sort(Item *a, int64_t n) {
	for (int64_t i = 1; i < n; i++) {
		Item x = a[i];
		int64_t k = i;
		for (; k && a[k - 1].key > x.key; k--) a[k] = a[k - 1];
		a[k] = x;
	}
}

/* Sorts a; b is scratch. Returns where the result is. */
static Item *byte_sort(Item *a, Item *b, int64_t n) {
	if (n <= 48) {
		insertion_sort(a, n);
		return a;
	}
	uint64_t differ = 0;
	for (int64_t i = 1; i < n; i++) differ |= a[i].key ^ a[0].key;
	for (int shift = 0; shift < 64; shift += 8) {
		if (!(differ >> shift & 255)) continue;
		int64_t start[256] = {0}, sum = 0;
		for (int64_t i = 0; i < n; i++) start[a[i].key >> shift & 255]++;
		for (int k = 0; k < 256; k++) {
			int64_t count = start[k];
			start[k] = sum;
			sum += count;
		}
		for (int64_t i = 0; i < n; i++) b[start[a[i].key >> shift & 255]++] = a[i];
		Item *swap = a;
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
	const size_t bytes = 2 * (size_t)length * sizeof(Item);
	Tensor *out = tensor_new(f->ctx, DT_I64, x->rank, x->shape);
	Item *items = heap_alloc(f->ctx, bytes);
	Status st = out && items ? ST_OK : ST_NOMEM;
	const int64_t size = (int64_t)dtype_size((Dtype)x->dtype);
	for (int64_t i = 0; st == ST_OK && x->count && i < outer * inner; i++) {
		const int64_t first = i / inner * length * inner + i % inner;
		for (int64_t k = 0; k < length; k++)
			items[k] = (Item){key_at((Dtype)x->dtype, x->data + (first + k * inner) * size, descending), k};
		const Item *sorted = byte_sort(items, items + length, length);
		int64_t *o = (int64_t *)(void *)out->data + first;
		for (int64_t k = 0; k < length; k++) o[k * inner] = sorted[k].index;
		st = spend(f->be, (uint64_t)length * 8);
	}
	if (items) heap_free(f->ctx, items, bytes);
	tensor_unref(x);
	if (st == ST_OK) return put_tensor(f, s, 0, out);
	tensor_unref(out);
	return st;
}
