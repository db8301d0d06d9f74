/* reduce.c - reductions over axes, argmax, cumulative sums and products.
 *
 * Needs: frame.h, kernels.h.
 *
 * Contract:
 * - The order of a float sum depends on shape and layout alone.
 * - Sums are pairwise, along rows and columns.
 * - NaN wins in max, min and argmax.
 *
 * Method: the operand has kept axes and reduced axes, each list merged as far
 * as strides allow.
 *
 * - Row mode: runs that are contiguous along a reduced axis go to a kernel.
 * - Column mode: whole rows are accumulated when a kept axis is contiguous.
 * - Other layouts are first copied to the order kept, reduced.
 */
#include "backend/eval/core/frame.h"
#include "backend/kernels/kernels.h"

typedef struct AxisList {
	uint32_t n;
	int64_t length[MAX_RANK], stride[MAX_RANK]; /* strides in bytes */
	int64_t count;
} AxisList;

static void axes_add(AxisList *a, int64_t length, int64_t stride) {
	a->count *= length;
	if (length == 1) return;
	if (a->n && a->stride[a->n - 1] == stride * length) {
		a->length[a->n - 1] *= length;
		a->stride[a->n - 1] = stride;
		return;
	}
	a->length[a->n] = length;
	a->stride[a->n++] = stride;
}

/* Steps to the next position of the first n axes; false after the last. */
static bool axes_next(const AxisList *a, uint32_t n, int64_t *at, const char **p) {
	for (uint32_t i = n; i-- > 0;) {
		*p += a->stride[i];
		if (++at[i] < a->length[i]) return true;
		*p -= a->stride[i] * a->length[i];
		at[i] = 0;
	}
	return false;
}

typedef struct AxisReduction {
	Frame *f;
	Op op; /* ADD, MUL, MAX, MIN */
	Dtype d;
	int64_t size;
	AxisList kept, reduced;
	const char *x;
	char *out;
} AxisReduction;

static void combine(const AxisReduction *r, int64_t n, void *into, const void *x) {
	ew_kernel(r->d)(r->op, n, into, into, x, 0);
}

/* ---- row mode ------------------------------------------------------------ */

enum { SHORT_RUN = 32 };

/* Long runs are cut into pieces that threads share. The results of pieces are
 * combined pairwise, like the blocks inside them. */
enum { PIECE = 1 << 16 };
typedef struct ChunkedReduction {
	Backend *be;
	Op op;
	Dtype d;
	int64_t size, n;
	const char *x;
	char *parts;
} ChunkedReduction;

static void reduce_piece(void *ud, int64_t k) {
	const ChunkedReduction *p = ud;
	const int64_t from = k * PIECE;
	kernel_reduce_run(p->op, p->d, p->n - from < PIECE ? p->n - from : PIECE, p->x + from * p->size,
	                  p->parts + k * p->size);
}

static Status poll_piece(void *ud) {
	const ChunkedReduction *p = ud;
	return spend(p->be, PIECE);
}

static Status reduce_run(Backend *be, Op op, Dtype d, int64_t n, const char *x, char *out) {
	const int64_t size = (int64_t)dtype_size(d);
	if (n <= PIECE) {
		kernel_reduce_run(op, d, n, x, out);
		return spend(be, (uint64_t)n);
	}
	int64_t count = (n + PIECE - 1) / PIECE;
	const size_t bytes = (size_t)(count * size);
	ChunkedReduction p = {.be = be,
	                      .op = op,
	                      .d = d,
	                      .size = size,
	                      .n = n,
	                      .x = x,
	                      .parts = heap_alloc(be->ctx, bytes)};
	if (!p.parts) return ST_NOMEM;
	Status st = parallel_for(be->ctx, n, count, reduce_piece, &p, poll_piece);
	if (st == ST_OK) kernel_reduce_run(op, d, count, p.parts, out);
	heap_free(be->ctx, p.parts, bytes);
	return st;
}

static Status reduce_rows(AxisReduction *r) {
	const AxisList *k = &r->kept, *q = &r->reduced;
	const int64_t run = q->length[q->n - 1];
	int64_t at[MAX_RANK] = {0}, deep[MAX_RANK] = {0};
	const char *p = r->x;
	char *o = r->out;
	if (q->n == 1 && run <= SHORT_RUN && k->n == 1 && k->stride[0] == run * r->size) {
		kernel_reduce_short(r->op, r->d, k->count, run, p, o);
		return spend(r->f->be, (uint64_t)(k->count * run));
	}
	do {
		const char *from = p;
		char part[16];
		bool first = true;
		do {
			Status st = reduce_run(r->f->be, r->op, r->d, run, from, first ? o : part);
			if (st != ST_OK) return st;
			if (!first) combine(r, 1, o, part);
			first = false;
		} while (axes_next(q, q->n - 1, deep, &from));
		o += r->size;
	} while (axes_next(k, k->n, at, &p));
	return ST_OK;
}

/* ---- column mode --------------------------------------------------------- */

enum { ROWS_IN_BLOCK = 64, COLUMNS = 1024, LEVELS = 60, FOLDED = 128 };

/* Pairwise summation of rows: rows are added to block sums, and block sums to a
 * binary counter of levels. Scratch has LEVELS + 1 rows. */
typedef struct PairwiseRows {
	int64_t width;
	int64_t rows;    /* in the block */
	uint64_t blocks; /* finished; bit l set: level l holds a sum */
	char *block, *level;
} PairwiseRows;

static void columns_close_block(const AxisReduction *r, PairwiseRows *c) {
	const int64_t bytes = c->width * r->size;
	uint32_t l = 0;
	for (; c->blocks >> l & 1; l++) combine(r, c->width, c->block, c->level + l * bytes);
	memcpy(c->level + l * bytes, c->block, (size_t)bytes);
	c->blocks++;
	c->rows = 0;
}

static void columns_add(const AxisReduction *r, PairwiseRows *c, const char *row) {
	if (!c->rows++) memcpy(c->block, row, (size_t)(c->width * r->size));
	else combine(r, c->width, c->block, row);
	if (c->rows == ROWS_IN_BLOCK) columns_close_block(r, c);
}

static void columns_finish(const AxisReduction *r, PairwiseRows *c, char *out) {
	const int64_t bytes = c->width * r->size;
	bool some = c->rows > 0;
	if (some) memcpy(out, c->block, (size_t)bytes);
	for (uint32_t l = 0; c->blocks >> l; l++) {
		if (!(c->blocks >> l & 1)) continue;
		if (some) combine(r, c->width, out, c->level + l * bytes);
		else memcpy(out, c->level + l * bytes, (size_t)bytes);
		some = true;
	}
}

/* Reduces the rows of width `width` at p. `fold` adjacent rows are treated as
 * one while enough remain, and are then folded together. */
static Status reduce_columns_at(AxisReduction *r, const char *p, int64_t width, int64_t fold,
                                char *scratch, char *out) {
	const AxisList *q = &r->reduced;
	const int64_t wide = width * fold;
	PairwiseRows c = {.width = wide, .block = scratch, .level = scratch + wide * r->size};
	int64_t at[MAX_RANK] = {0};
	Status st = ST_OK;
	if (fold > 1) { /* one reduced axis, contiguous rows */
		const int64_t rows = q->count / fold, rest = q->count % fold;
		for (int64_t i = 0; i < rows && st == ST_OK; i++, p += wide * r->size) {
			columns_add(r, &c, p);
			st = spend(r->f->be, (uint64_t)wide);
		}
		char combined[2 * FOLDED * 16];
		columns_finish(r, &c, combined);
		for (int64_t n = fold; n > 1; n -= n / 2)
			combine(r, n / 2 * width, combined, combined + (n - n / 2) * width * r->size);
		for (int64_t i = 0; i < rest; i++, p += width * r->size) combine(r, width, combined, p);
		memcpy(out, combined, (size_t)(width * r->size));
		return st;
	}
	do {
		columns_add(r, &c, p);
		st = spend(r->f->be, (uint64_t)width);
	} while (st == ST_OK && axes_next(q, q->n, at, &p));
	columns_finish(r, &c, out);
	return st;
}

static Status reduce_columns(AxisReduction *r) {
	const AxisList *k = &r->kept, *q = &r->reduced;
	const int64_t width = k->length[k->n - 1];
	int64_t fold = 1, at[MAX_RANK] = {0};
	if (q->n == 1 && q->stride[0] == width * r->size && width <= FOLDED / 2 && q->count >= FOLDED)
		fold = FOLDED / width;
	const int64_t most = fold > 1 ? width * fold : width < COLUMNS ? width : COLUMNS;
	const size_t bytes = (size_t)(most * r->size) * (LEVELS + 1);
	char *scratch = heap_alloc(r->f->ctx, bytes);
	if (!scratch) return ST_NOMEM;
	const char *p = r->x;
	char *o = r->out;
	Status st = ST_OK;
	do {
		for (int64_t i = 0; i < width && st == ST_OK; i += COLUMNS) {
			int64_t n = width - i < COLUMNS ? width - i : COLUMNS;
			st = reduce_columns_at(r, p + i * r->size, n, fold, scratch, o + i * r->size);
		}
		o += width * r->size;
	} while (st == ST_OK && axes_next(k, k->n - 1, at, &p));
	heap_free(r->f->ctx, scratch, bytes);
	return st;
}

/* ---- any reduction ------------------------------------------------------- */

static void split_axes(AxisReduction *r, const Tensor *t, uint32_t nkept, const uint32_t *kept,
                       uint32_t nreduced, const uint32_t *reduced) {
	r->kept = (AxisList){.count = 1};
	r->reduced = (AxisList){.count = 1};
	for (uint32_t i = 0; i < nkept; i++)
		axes_add(&r->kept, t->shape[kept[i]], t->stride[kept[i]] * r->size);
	for (uint32_t i = 0; i < nreduced; i++)
		axes_add(&r->reduced, t->shape[reduced[i]], t->stride[reduced[i]] * r->size);
	r->x = t->data;
}

/* Writes the result of an empty reduction. For booleans, any is false and all
 * is true. Returns false for maxima and minima of other types. */
static bool neutral(Op op, Dtype d, int64_t n, char *out) {
	const bool extreme = op == OP_MAX || op == OP_MIN;
	if (extreme && d != DT_BOOL) return false;
	const double x = op == OP_MUL || op == OP_MIN;
	const size_t size = dtype_size(d);
	char element[16];
	scalar_convert(DT_F64, &x, d, element);
	for (int64_t i = 0; i < n; i++) memcpy(out + (size_t)i * size, element, size);
	return true;
}

static int64_t size_of_stride(int64_t s) { return s < 0 ? -s : s; }

static Status reduce(Frame *f, const Step *s, Op op, const char *of_nothing) {
	const AttrField *axes = &s->fields[0];
	const Value *v = operand_at(f, s->a);
	if (v->kind == V_SCALAR) {
		f->slots[s->d] = *v;
		return ST_OK;
	}
	const Tensor *x = v->tensor;
	if (x->dtype == DT_BOOL && op == OP_ADD) op = OP_MAX;
	if (x->dtype == DT_BOOL && op == OP_MUL) op = OP_MIN;
	bool gone[MAX_RANK] = {false};
	for (uint32_t i = 0; i < axes->n; i++) gone[axes->words[i]] = true;
	uint32_t kept[MAX_RANK], reduced[MAX_RANK], nkept = 0, nreduced = 0;
	int64_t length[MAX_RANK];
	for (uint32_t i = 0; i < x->rank; i++) {
		if (!gone[i]) {
			length[nkept] = x->shape[i];
			kept[nkept++] = i;
			continue;
		}
		/* Largest strides first, so that runs are along the last axis. */
		uint32_t k = nreduced++;
		for (; k && size_of_stride(x->stride[reduced[k - 1]]) < size_of_stride(x->stride[i]); k--)
			reduced[k] = reduced[k - 1];
		reduced[k] = i;
	}
	_Alignas(16) char scalar[16]; /* a scalar needs no tensor */
	Tensor *out = nkept ? tensor_new(f->ctx, (Dtype)x->dtype, nkept, length) : NULL, *copy = NULL;
	if (nkept && !out) return ST_NOMEM;
	const int64_t out_count = out ? out->count : 1;
	char *out_data = out ? out->data : scalar;
	Status st = ST_OK;
	if (!x->count) {
		if (out_count && !neutral(op, (Dtype)x->dtype, out_count, out_data))
			st = fail_at(f, s, E_VALUE, "%s", of_nothing);
	} else {
		count_operations(f, (double)x->count);
		AxisReduction r = {.f = f,
		                   .op = op,
		                   .d = (Dtype)x->dtype,
		                   .size = (int64_t)dtype_size((Dtype)x->dtype),
		                   .out = out_data};
		split_axes(&r, x, nkept, kept, nreduced, reduced);
		const bool runs = !r.reduced.n || r.reduced.stride[r.reduced.n - 1] == r.size;
		const bool columns = r.kept.n && r.kept.stride[r.kept.n - 1] == r.size;
		if (!runs && !columns) {
			int64_t shape[MAX_RANK], stride[MAX_RANK];
			for (uint32_t i = 0; i < x->rank; i++) {
				uint32_t from = i < nkept ? kept[i] : reduced[i - nkept];
				shape[i] = x->shape[from];
				stride[i] = x->stride[from];
			}
			Tensor ordered = part_of(x, x->rank, shape, stride, 0);
			copy = tensor_copy(f->ctx, &ordered);
			if (copy) {
				for (uint32_t i = 0; i < x->rank; i++) {
					if (i < nkept) kept[i] = i;
					else reduced[i - nkept] = i;
				}
				split_axes(&r, copy, nkept, kept, nreduced, reduced);
			}
		}
		if (!runs && !columns && !copy) {
			st = ST_NOMEM;
		} else if (!r.reduced.n) {
			Tensor same = part_of(copy ? copy : x, nkept, length, NULL, 0);
			for (uint32_t i = 0; i < nkept; i++)
				same.stride[i] = (copy ? copy : x)->stride[kept[i]];
			set_layout(&same, nkept, same.shape, same.stride, same.data);
			if (out) tensor_assign(out, &same);
			else memcpy(scalar, same.data, (size_t)r.size);
		} else if (columns && !runs) {
			st = reduce_columns(&r);
		} else {
			st = reduce_rows(&r);
		}
	}
	const Dtype d = (Dtype)x->dtype;
	tensor_unref(copy);
	if (st == ST_OK && !out) put_scalar(f, s->d, d, scalar);
	if (st == ST_OK) return out ? put_tensor(f, s, 0, out) : ST_OK;
	tensor_unref(out);
	return st;
}

Status eval_REDUCE_SUM(Frame *f, const Step *s) { return reduce(f, s, OP_ADD, ""); }

Status eval_REDUCE_PROD(Frame *f, const Step *s) { return reduce(f, s, OP_MUL, ""); }

Status eval_REDUCE_MAX(Frame *f, const Step *s) {
	return reduce(f, s, OP_MAX, "the largest element of nothing");
}

Status eval_REDUCE_MIN(Frame *f, const Step *s) {
	return reduce(f, s, OP_MIN, "the smallest element of nothing");
}

/* ---- along one axis ------------------------------------------------------ */

/* The extents before, on and after an axis of a contiguous tensor. */
static void around_axis(const Tensor *x, uint32_t axis, int64_t *outer, int64_t *length,
                        int64_t *inner) {
	*outer = *inner = 1;
	*length = x->shape[axis];
	for (uint32_t i = 0; i < axis; i++) *outer *= x->shape[i];
	for (uint32_t i = axis + 1; i < x->rank; i++) *inner *= x->shape[i];
}

Status eval_ARGMAX(Frame *f, const Step *s) {
	const uint32_t axis = (uint32_t)s->fields[0].words[0];
	Tensor *x = operand_contiguous(f, s, 0);
	if (!x) return ST_NOMEM;
	int64_t outer, length, inner, shape[MAX_RANK];
	around_axis(x, axis, &outer, &length, &inner);
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->rank; i++)
		if (i != axis) shape[n++] = x->shape[i];
	Tensor *out = tensor_new(f->ctx, DT_I64, n, shape);
	Status st = out ? ST_OK : ST_NOMEM;
	if (out && out->count && !length) st = fail_at(f, s, E_VALUE, "the largest element of nothing");
	const int64_t size = (int64_t)dtype_size((Dtype)x->dtype);
	for (int64_t i = 0; i < outer && st == ST_OK; i++) {
		for (int64_t k = 0; k < inner && st == ST_OK; k++) {
			const char *line = x->data + (i * length * inner + k) * size;
			((int64_t *)(void *)out->data)[i * inner + k] =
				kernel_argmax((Dtype)x->dtype, length, line, inner);
			st = spend(f->be, (uint64_t)length);
		}
	}
	tensor_unref(x);
	if (st == ST_OK) return put_tensor(f, s, 0, out);
	tensor_unref(out);
	return st;
}

/* Cumulative sums along contiguous lines.
 *
 * Method: lines are cut into chunks of SCAN_PART elements. A chunk first sums
 * its own elements and waits for the end value of the chunk before it. That one
 * is running, because chunks start in order. Then it publishes its own end
 * value and writes its sums. Short lines: several in a chunk.
 */
typedef struct CumulativeSum {
	Backend *be;
	Dtype d;
	int64_t size, length, lines, line_parts, part_lines, threads;
	bool reverse, streaming; /* use non-temporal stores */
	const char *x;
	char *o;
	_Atomic int64_t finished;    /* chunks whose end is known */
	_Alignas(16) char carry[16]; /* the end of the last of them */
} CumulativeSum;

static void scan_lines(const CumulativeSum *s, int64_t part) {
	const int64_t from = part * s->part_lines,
				  to = from + s->part_lines < s->lines ? from + s->part_lines : s->lines;
	for (int64_t i = from; i < to; i++)
		kernel_scan_sums(s->d, s->length, s->x + i * s->length * s->size, NULL,
		                 s->o + i * s->length * s->size, NULL, s->reverse, false);
}

static void scan_part(void *ud, int64_t part) {
	CumulativeSum *s = ud;
	if (s->part_lines) {
		scan_lines(s, part);
		return;
	}
	_Alignas(16) char before[16], end[16];
	const int64_t line = part / s->line_parts, k = part % s->line_parts,
				  rest = s->length - k * SCAN_PART;
	const int64_t n = rest < SCAN_PART ? rest : SCAN_PART,
				  at = (line * s->length + (s->reverse ? rest - n : k * SCAN_PART)) * s->size;
	kernel_scan_total(s->d, n, s->x + at, end, s->reverse);
	for (unsigned spins = 0; atomic_load_explicit(&s->finished, memory_order_acquire) != part;
	     spins++)
		pool_wait_briefly(spins);
	memcpy(before, s->carry, (size_t)s->size);
	if (k) ew_kernel(s->d)(OP_ADD, 1, end, before, end, 0);
	memcpy(s->carry, end, (size_t)s->size);
	atomic_store_explicit(&s->finished, part + 1, memory_order_release);
	/* Prefetch hint: probably this thread's next chunk. */
	const int64_t next = at + (s->reverse ? -SCAN_PART : SCAN_PART) * s->threads * s->size;
	const bool more = next >= 0 && next < s->lines * s->length * s->size;
	kernel_scan_sums(s->d, n, s->x + at, k ? before : NULL, s->o + at, more ? s->x + next : NULL,
	                 s->reverse, s->streaming);
}

static Status poll_scan(void *ud) {
	const CumulativeSum *s = ud;
	return spend(s->be, (uint64_t)(s->part_lines ? s->part_lines * s->length : SCAN_PART));
}

static Status scan_lines_of(Frame *f, const Tensor *x, Tensor *o, int64_t lines, int64_t length,
                            bool reverse) {
	CumulativeSum s = {.be = f->be,
	                   .d = (Dtype)x->dtype,
	                   .size = (int64_t)dtype_size((Dtype)x->dtype),
	                   .length = length,
	                   .lines = lines,
	                   .reverse = reverse};
	s.x = x->data;
	s.o = o->data;
	s.threads = parallel_width(f->ctx);
	s.streaming = o != x && (size_t)(lines * length * s.size) >= STREAM_STORES_FROM;
	s.line_parts = (length + SCAN_PART - 1) / SCAN_PART;
	if (s.line_parts == 1) s.part_lines = SCAN_PART / length;
	const int64_t parts =
		s.part_lines ? (lines + s.part_lines - 1) / s.part_lines : lines * s.line_parts;
	return parallel_for(f->ctx, lines * length, parts, scan_part, &s, poll_scan);
}

static Status running_sum(Frame *f, const Step *s) {
	const uint32_t axis = (uint32_t)s->fields[0].words[0];
	const bool reverse = s->fields[1].words[0] != 0;
	Tensor *x = operand_is_free(f, s, 0) ? operand_writable(f, s, 0) : operand_contiguous(f, s, 0);
	if (!x) return ST_NOMEM;
	const bool own = tensor_is_unshared(x);
	Tensor *o = own ? tensor_ref(x) : placed_result(f, s, (Dtype)x->dtype, x->rank, x->shape);
	if (!o) o = tensor_new(f->ctx, (Dtype)x->dtype, x->rank, x->shape);
	int64_t outer, length, inner;
	around_axis(x, axis, &outer, &length, &inner);
	Status st = o ? ST_OK : ST_NOMEM;
	count_operations(f, (double)x->count);
	if (st == ST_OK && x->count && inner == 1) {
		st = scan_lines_of(f, x, o, outer, length, reverse);
	} else if (st == ST_OK && x->count) {
		const Dtype d = (Dtype)x->dtype;
		const int64_t row = inner * (int64_t)dtype_size(d), back = reverse ? row : -row;
		for (int64_t i = 0; i < outer && st == ST_OK; i++) {
			for (int64_t k = 0; k < length && st == ST_OK; k++) {
				const int64_t at = (i * length + (reverse ? length - 1 - k : k)) * row;
				if (!k) memmove(o->data + at, x->data + at, (size_t)row);
				else
					ew_kernel(d)(OP_ADD, inner, o->data + at, x->data + at, o->data + at + back, 0);
				st = spend(f->be, (uint64_t)inner);
			}
		}
	}
	tensor_unref(x);
	if (st == ST_OK) return put_tensor(f, s, 0, o);
	tensor_unref(o);
	return st;
}

static Status running_product(Frame *f, const Step *s) {
	const uint32_t axis = (uint32_t)s->fields[0].words[0];
	const bool reverse = s->fields[1].words[0] != 0;
	Tensor *t = operand_writable(f, s, 0);
	if (!t) return ST_NOMEM;
	int64_t outer, length, inner;
	around_axis(t, axis, &outer, &length, &inner);
	const Dtype d = (Dtype)t->dtype;
	const int64_t row = inner * (int64_t)dtype_size(d);
	Status st = ST_OK;
	count_operations(f, (double)t->count);
	for (int64_t i = 0; i < outer && length && inner && st == ST_OK; i++) {
		char *x = t->data + i * length * row;
		if (inner == 1) {
			kernel_scan_products(d, length, x, reverse);
			st = spend(f->be, (uint64_t)length);
			continue;
		}
		for (int64_t k = 1; k < length && st == ST_OK; k++) {
			char *to = x + (reverse ? length - 1 - k : k) * row;
			ew_kernel(d)(OP_MUL, inner, to, to, reverse ? to + row : to - row, 0);
			st = spend(f->be, (uint64_t)inner);
		}
	}
	if (st == ST_OK) return put_tensor(f, s, 0, t);
	tensor_unref(t);
	return st;
}

Status eval_CUMSUM(Frame *f, const Step *s) { return running_sum(f, s); }

Status eval_CUMPROD(Frame *f, const Step *s) { return running_product(f, s); }
