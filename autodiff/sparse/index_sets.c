/* index_sets.c - interned sets of input indices, and the operations on arrays
 * of them.
 *
 * Method: a hash table with open addressing finds a set by its members. A union
 * is linear in the members of its operands; a cache answers recent unions.
 *
 * Needs: index_sets.h.
 *
 * Contract:
 * - As in index_sets.h.
 */
#include "autodiff/sparse/index_sets.h"
#include <stdlib.h>

enum { RECENT = 1 << 12, POLL_EVERY = 4096, FEW = 32 };

typedef struct Set {
	int64_t at;
	int32_t count;
	uint32_t hash;
} Set;

typedef struct Recent {
	int32_t a, b, sum;
} Recent;

struct IndexSets {
	Ctx *c;
	int64_t n;
	int32_t *items;
	int64_t nitems, cap_items;
	Set *sets; /* those with two or more members: sets[k] has id k + n + 1 */
	int64_t nsets, cap_sets;
	int32_t *slots; /* k + 1; 0: free */
	int64_t nslots;
	uint32_t *stamp; /* by input: the last union of many in which it occurred */
	uint32_t stamps;
	Recent *recent;
};

static bool grow(Ctx *c, void **p, int64_t *cap, int64_t want, size_t size) {
	if (want <= *cap) return true;
	int64_t next = *cap ? *cap * 2 : 256;
	while (next < want) next *= 2;
	void *q = heap_resize(c, *p, (size_t)*cap * size, (size_t)next * size);
	if (!q) return false;
	*p = q;
	*cap = next;
	return true;
}

static void release(Ctx *c, void *p, int64_t n, size_t size) {
	if (p) heap_free(c, p, (size_t)n * size);
}

void index_sets_free(IndexSets *s) {
	if (!s) return;
	Ctx *c = s->c;
	release(c, s->items, s->cap_items, sizeof *s->items);
	release(c, s->sets, s->cap_sets, sizeof *s->sets);
	release(c, s->slots, s->nslots, sizeof *s->slots);
	release(c, s->stamp, s->n + 1, sizeof *s->stamp);
	release(c, s->recent, RECENT, sizeof *s->recent);
	heap_free(c, s, sizeof *s);
}

IndexSets *index_sets_new(Ctx *c, int64_t ninputs) {
	IndexSets *s = heap_alloc(c, sizeof *s);
	if (!s) return NULL;
	*s = (IndexSets){.c = c, .n = ninputs, .nslots = 1024};
	s->slots = heap_alloc(c, (size_t)s->nslots * sizeof *s->slots);
	s->stamp = heap_alloc(c, (size_t)(s->n + 1) * sizeof *s->stamp);
	s->recent = heap_alloc(c, RECENT * sizeof *s->recent);
	if (!s->slots || !s->stamp || !s->recent) {
		index_sets_free(s);
		return NULL;
	}
	memset(s->slots, 0, (size_t)s->nslots * sizeof *s->slots);
	memset(s->stamp, 0, (size_t)(s->n + 1) * sizeof *s->stamp);
	memset(s->recent, 0, RECENT * sizeof *s->recent);
	return s;
}

SetView index_sets_view(const IndexSets *s, int32_t set) {
	if (set <= 0) return (SetView){0};
	if (set <= s->n) return (SetView){.count = 1, .single = set - 1};
	const Set *k = &s->sets[set - s->n - 1];
	return (SetView){.at = s->items + k->at, .count = k->count};
}

/* FNV-1a over the members, with the finaliser of MurmurHash3. */
static uint32_t hash_of(const int32_t *at, int64_t count) {
	uint64_t h = 1469598103934665603u;
	for (int64_t k = 0; k < count; k++) h = (h ^ (uint32_t)at[k]) * 1099511628211u;
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdu;
	return (uint32_t)(h >> 32);
}

static bool more_slots(IndexSets *s) {
	if (s->nsets * 2 < s->nslots) return true;
	int64_t n = s->nslots * 2;
	int32_t *slots = heap_alloc(s->c, (size_t)n * sizeof *slots);
	if (!slots) return false;
	memset(slots, 0, (size_t)n * sizeof *slots);
	for (int64_t k = 0; k < s->nsets; k++) {
		int64_t i = s->sets[k].hash & (n - 1);
		while (slots[i]) i = (i + 1) & (n - 1);
		slots[i] = (int32_t)k + 1;
	}
	heap_free(s->c, s->slots, (size_t)s->nslots * sizeof *s->slots);
	s->slots = slots;
	s->nslots = n;
	return true;
}

/* Interns the set whose `count` members are stored after those of the last set,
 * and returns its id. */
static int32_t number_of(IndexSets *s, int64_t count) {
	const int32_t *at = s->items + s->nitems;
	if (!count) return 0;
	if (count == 1) return at[0] + 1;
	if (!more_slots(s) || s->nsets + s->n + 2 >= INT32_MAX) return -1;
	const uint32_t hash = hash_of(at, count);
	int64_t i = hash & (s->nslots - 1);
	for (; s->slots[i]; i = (i + 1) & (s->nslots - 1)) {
		const Set *k = &s->sets[s->slots[i] - 1];
		if (k->hash == hash && k->count == count &&
		    !memcmp(s->items + k->at, at, (size_t)count * sizeof *at))
			return (int32_t)(s->slots[i] + s->n);
	}
	if (!grow(s->c, (void **)&s->sets, &s->cap_sets, s->nsets + 1, sizeof *s->sets)) return -1;
	s->sets[s->nsets++] = (Set){s->nitems, (int32_t)count, hash};
	s->slots[i] = (int32_t)s->nsets;
	s->nitems += count;
	return (int32_t)(s->nsets + s->n);
}

int32_t index_sets_union(IndexSets *s, int32_t a, int32_t b) {
	if (a == b || !b) return a;
	if (!a) return b;
	Recent *r = &s->recent[((uint32_t)a * 2654435761u ^ (uint32_t)b * 40503u) % RECENT];
	if (r->a == a && r->b == b) return r->sum;
	SetView x = index_sets_view(s, a), y = index_sets_view(s, b);
	if (!grow(s->c, (void **)&s->items, &s->cap_items, s->nitems + x.count + y.count,
	          sizeof *s->items))
		return -1;
	x = index_sets_view(s, a);
	y = index_sets_view(s, b);
	int32_t *out = s->items + s->nitems, i = 0, j = 0;
	int64_t n = 0;
	while (i < x.count && j < y.count) {
		const int32_t p = set_member(x, i), q = set_member(y, j);
		out[n++] = p < q ? p : q;
		i += p <= q;
		j += q <= p;
	}
	for (; i < x.count; i++) out[n++] = set_member(x, i);
	for (; j < y.count; j++) out[n++] = set_member(y, j);
	const int32_t sum = n == x.count ? a : n == y.count ? b : number_of(s, n);
	*r = (Recent){a, b, sum};
	return sum;
}

static int ascending(const void *x, const void *y) {
	const int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
	return (a > b) - (a < b);
}

int32_t index_sets_union_of(IndexSets *s, int64_t n, const int32_t *sets) {
	int64_t some = 0, first = -1, second = -1;
	for (int64_t k = 0; k < n; k++) {
		if (!sets[k] || (first >= 0 && sets[k] == sets[first])) continue;
		if (first < 0) first = k;
		else if (second < 0) second = k;
		some++;
	}
	if (!some) return first < 0 ? 0 : sets[first];
	if (first >= 0 && second < 0) return sets[first];
	if (!++s->stamps) {
		memset(s->stamp, 0, (size_t)(s->n + 1) * sizeof *s->stamp);
		s->stamps = 1;
	}
	int64_t count = 0;
	int32_t low = INT32_MAX, high = 0, last = 0;
	for (int64_t k = 0; k < n; k++) {
		if (sets[k] == last) continue;
		last = sets[k];
		SetView v = index_sets_view(s, last);
		if (!grow(s->c, (void **)&s->items, &s->cap_items, s->nitems + count + v.count,
		          sizeof *s->items))
			return -1;
		v = index_sets_view(s, last);
		for (int32_t i = 0; i < v.count; i++) {
			const int32_t m = set_member(v, i);
			if (s->stamp[m] == s->stamps) continue;
			s->stamp[m] = s->stamps;
			s->items[s->nitems + count++] = m;
			low = m < low ? m : low;
			high = m > high ? m : high;
		}
	}
	int32_t *out = s->items + s->nitems;
	if (count <= FEW) { /* insertion sort */
		for (int64_t k = 1; k < count; k++) {
			const int32_t m = out[k];
			int64_t i = k;
			for (; i > 0 && out[i - 1] > m; i--) out[i] = out[i - 1];
			out[i] = m;
		}
	} else if ((int64_t)high - low < 16 * count) {
		int64_t k = 0;
		for (int64_t m = low; m <= high && count; m++)
			if (s->stamp[m] == s->stamps) out[k++] = (int32_t)m;
	} else qsort(out, (size_t)count, sizeof *out, ascending);
	return number_of(s, count);
}

/* ---- arrays of sets ------------------------------------------------------ */

typedef struct Work {
	Ctx *c;
	IndexSets *s;
	Status status;
	uint32_t n;
	Tensor *t[SETS_TERMS]; /* contiguous */
	const int32_t *x[SETS_TERMS];
	Tensor *result;
	int32_t *out;
	int64_t done;
} Work;

/* Stores a result. Returns false if the operation must stop. */
static bool put(Work *w, int64_t at, int32_t set) {
	if (set < 0) {
		w->status = ST_NOMEM;
		return false;
	}
	w->out[at] = set;
	if (++w->done % POLL_EVERY == 0) w->status = ctx_poll(w->c, POLL_EVERY);
	return w->status == ST_OK;
}

static void do_union(Work *w) {
	for (int64_t k = 0; k < w->result->count; k++) {
		int32_t terms[SETS_TERMS];
		for (uint32_t i = 0; i < w->n; i++) terms[i] = w->x[i][k];
		if (!put(w, k,
		         w->n == 2 ? index_sets_union(w->s, terms[0], terms[1])
		                   : index_sets_union_of(w->s, w->n, terms)))
			return;
	}
}

static void do_any(Work *w) {
	const int64_t n = w->t[0]->shape[0], m = w->t[0]->shape[1];
	for (int64_t i = 0; i < n; i++)
		if (!put(w, i, index_sets_union_of(w->s, m, w->x[0] + i * m))) return;
}

static void do_cumulate(Work *w, bool back) {
	const int64_t n = w->t[0]->shape[0], m = w->t[0]->shape[1];
	for (int64_t i = 0; i < n; i++) {
		int32_t sum = 0;
		for (int64_t k = 0; k < m; k++) {
			const int64_t at = i * m + (back ? m - 1 - k : k);
			if (!put(w, at, sum = index_sets_union(w->s, sum, w->x[0][at]))) return;
		}
	}
}

static void do_dot(Work *w) {
	const int64_t *a = w->t[0]->shape, nj = w->t[1]->shape[1], ni = a[1], nk = a[2];
	const bool *weight = (const bool *)w->t[1]->data;
	const size_t room = (size_t)(nk + 1) * sizeof(int32_t);
	int32_t *some = heap_alloc(w->c, room);
	if (!some) {
		w->status = ST_NOMEM;
		return;
	}
	for (int64_t b = 0; b < a[0] && w->status == ST_OK; b++) {
		for (int64_t i = 0; i < ni && w->status == ST_OK; i++) {
			const int32_t *row = w->x[0] + (b * ni + i) * nk;
			for (int64_t j = 0; j < nj; j++) {
				const bool *on = weight + (b * nj + j) * nk;
				int64_t n = 0;
				for (int64_t k = 0; k < nk; k++)
					if (on[k] && row[k]) some[n++] = row[k];
				if (!put(w, (b * ni + i) * nj + j, index_sets_union_of(w->s, n, some))) break;
			}
		}
	}
	heap_free(w->c, some, room);
}

/* A counting sort of the updates by index: those of index i are order[where[i]]
 * .. order[where[i + 1] - 1]. Returns false for an index out of range. */
static bool by_place(Work *w, const int64_t *index, int64_t q, int64_t n, int64_t *where,
                     int64_t *order) {
	memset(where, 0, (size_t)(n + 2) * sizeof *where);
	for (int64_t k = 0; k < q; k++) {
		if (index[k] < 0 || index[k] >= n) {
			diag_error(w->c, E_INDEX, NO_SPAN, "the index %lld is out of range for length %lld",
			           (long long)index[k], (long long)n);
			w->status = ST_ERROR;
			return false;
		}
		where[index[k] + 2]++;
	}
	for (int64_t i = 0; i < n; i++) where[i + 2] += where[i + 1];
	for (int64_t k = 0; k < q; k++) order[where[index[k] + 1]++] = k;
	return true;
}

static void do_scatter(Work *w) {
	const int64_t *s = w->t[0]->shape, p = s[1], n = s[2], r = s[3], q = w->t[1]->shape[1];
	const int64_t *index = (const int64_t *)(const void *)w->t[1]->data;
	const size_t room = (size_t)(n + 2 + q + q + 1) * sizeof(int64_t);
	int64_t *where = heap_alloc(w->c, room), *order = where + n + 2;
	if (!where) {
		w->status = ST_NOMEM;
		return;
	}
	int32_t *some = (int32_t *)(void *)(order + q);
	for (int64_t a = 0; a < s[0] && by_place(w, index + a * q, q, n, where, order); a++) {
		for (int64_t o = a * p; o < (a + 1) * p; o++) {
			for (int64_t e = 0; e < n * r; e++) {
				const int64_t i = e / r, k = e % r, at = (o * n + i) * r + k;
				int64_t m = 0;
				some[m++] = w->x[0][at];
				for (int64_t g = where[i]; g < where[i + 1]; g++)
					some[m++] = w->x[2][(o * q + order[g]) * r + k];
				if (!put(w, at, index_sets_union_of(w->s, m, some))) goto out;
			}
		}
	}
out:
	heap_free(w->c, where, room);
}

static Status run_op(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                     uint32_t nresults, Value *results) {
	(void)nresults;
	const SetsOp op = (SetsOp)call->options[0];
	Work w = {.c = c, .s = *(IndexSets **)call->def->ud, .n = nargs};
	for (uint32_t k = 0; k < nargs && w.status == ST_OK; k++) {
		Tensor *t = value_to_tensor(c, args[k]);
		w.t[k] = t ? tensor_contiguous(c, t) : NULL;
		tensor_unref(t);
		if (!w.t[k]) w.status = ST_NOMEM;
		else w.x[k] = (const int32_t *)(const void *)w.t[k]->data;
	}
	if (w.status == ST_OK && op == SETS_DIFFER) {
		results[0] =
			value_bool(memcmp(w.x[0], w.x[1], (size_t)w.t[0]->count * sizeof(int32_t)) != 0);
	} else if (w.status == ST_OK) {
		int64_t shape[MAX_RANK];
		uint32_t rank = w.t[0]->rank;
		memcpy(shape, w.t[0]->shape, sizeof shape);
		if (op == SETS_ANY) rank--;
		if (op == SETS_DOT) shape[2] = w.t[1]->shape[1];
		w.result = tensor_new(c, DT_I32, rank, shape);
		w.out = w.result ? (int32_t *)(void *)w.result->data : NULL;
		if (!w.result) w.status = ST_NOMEM;
		else switch (op) {
			case SETS_UNION: do_union(&w); break;
			case SETS_ANY: do_any(&w); break;
			case SETS_CUMULATE: do_cumulate(&w, false); break;
			case SETS_CUMULATE_BACK: do_cumulate(&w, true); break;
			case SETS_DOT: do_dot(&w); break;
			default: do_scatter(&w);
			}
		if (w.status == ST_OK) results[0] = value_from_tensor(w.result);
		else tensor_unref(w.result);
	}
	for (uint32_t k = 0; k < nargs; k++) tensor_unref(w.t[k]);
	return w.status;
}

static uint32_t type_of_op(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)nargs, (void)cap;
	Ctx *c = build_ctx(b);
	const SetsOp op = (SetsOp)call->options[0];
	Type t = *ref_ty(build_fn(b), args[0]);
	if (op == SETS_DIFFER) *out = type_scalar(c, DT_BOOL);
	else {
		if (op == SETS_DOT) t.dims[2] = ref_ty(build_fn(b), args[1])->dims[1];
		*out = type_tensor(c, DT_I32, t.rank - (op == SETS_ANY), t.dims);
	}
	return 1;
}

void index_sets_register(Ctx *c, IndexSets **in_use) {
	host_register(c,
	              &(HostDef){.name = "_sets", .ud = in_use, .types = type_of_op, .eval = run_op});
}

Ref index_sets_build(Builder *b, SetsOp op, uint32_t nargs, const Ref *args) {
	Ctx *c = build_ctx(b);
	const int64_t option = op;
	Ref result;
	build_host(b, host_call_intern(c, host_find(c, "_sets"), 0, NULL, 1, &option), nargs, args,
	           &result, 1);
	return result;
}
