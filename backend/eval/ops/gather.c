/* gather.c - gather, scatter_add, scatter_set, nonzero.
 *
 * Needs: frame.h, kernels.h.
 *
 * Contract:
 * - Every index is checked before its element is accessed.
 * - A scatter writes in place if its operand dies.
 * - Equal indices act in row-major order of the index tensor.
 * - A single index is a view (gather) or one row (scatter).
 *
 * A gather of x along `axis` with `batch` common leading axes reads rows x[p,
 * j, ..]. Here p is each position of x's axes before `axis`. The first `batch`
 * coordinates of p select a part of the index tensor, and j is each index in
 * it.
 */
#include "backend/eval/core/frame.h"
#include "backend/kernels/kernels.h"

typedef struct GatherLayout {
	uint32_t axis, batch;
	int64_t length;    /* of the indexed axis */
	int64_t outer;     /* positions before it */
	int64_t per_batch; /* positions for one set of batch coordinates */
	int64_t nindex;    /* indices for each position */
	int64_t row;       /* elements after it */
	const int64_t *index;
	Tensor *index_tensor; /* owned */
} GatherLayout;

__attribute__((cold)) Status fail_index(Frame *f, const Step *s, int64_t index, int64_t length) {
	Diag *d = diag_step(f, s, E_INDEX, "index %lld is out of range for an axis of length %lld",
	                    (long long)index, (long long)length);
	if (length > 0) diag_label(f->ctx, d, "the last index is %lld", (long long)length - 1);
	return ST_ERROR;
}

/* Operand 1 as contiguous i64, with every index checked. */
static Status open_places(Frame *f, const Step *s, const Tensor *x, GatherLayout *p) {
	*p = (GatherLayout){.axis = (uint32_t)s->fields[0].words[0],
	                    .batch = (uint32_t)s->fields[1].words[0]};
	const Value *v = operand_at(f, s->b);
	p->length = x->shape[p->axis];
	p->outer = p->per_batch = p->row = p->nindex = 1;
	for (uint32_t i = 0; i < p->axis; i++) {
		p->outer *= x->shape[i];
		if (i >= p->batch) p->per_batch *= x->shape[i];
	}
	for (uint32_t i = p->axis + 1; i < x->rank; i++) p->row *= x->shape[i];
	Tensor *t;
	if (value_dtype(*v) == DT_I64) {
		t = operand_contiguous(f, s, 1);
	} else {
		Tensor *narrow = operand_tensor(f, s, 1);
		if (!narrow) return ST_NOMEM;
		t = tensor_new(f->ctx, DT_I64, narrow->rank, narrow->shape);
		if (t) tensor_convert_into(t, narrow);
		tensor_unref(narrow);
	}
	if (!t) return ST_NOMEM;
	p->index_tensor = t;
	p->index = (const int64_t *)(const void *)t->data;
	for (uint32_t i = 0; i < p->batch; i++) {
		if (t->shape[i] == x->shape[i]) continue;
		tensor_unref(t);
		return fail_internal(f, s, "batch axes of different lengths");
	}
	for (uint32_t i = p->batch; i < t->rank; i++) p->nindex *= t->shape[i];
	for (int64_t i = 0; i < t->count; i++) {
		if (LIKELY((uint64_t)p->index[i] < (uint64_t)p->length)) continue;
		int64_t bad = p->index[i];
		tensor_unref(t);
		return fail_index(f, s, bad, p->length);
	}
	return ST_OK;
}

static const int64_t *indices_at(const GatherLayout *p, int64_t outer) {
	return p->index + outer / p->per_batch * p->nindex;
}

static inline void copy_row(char *to, const char *from, size_t bytes) {
	switch (bytes) {
	case 4: memcpy(to, from, 4); break;
	case 8: memcpy(to, from, 8); break;
	case 16: memcpy(to, from, 16); break;
	default: memcpy(to, from, bytes);
	}
}

/* Steps to the next position of the axes before `axis`, for any strides. */
static const char *next_outer(const Tensor *x, uint32_t axis, int64_t *at, const char *p) {
	const int64_t size = (int64_t)dtype_size((Dtype)x->dtype);
	for (uint32_t i = axis; i-- > 0;) {
		p += x->stride[i] * size;
		if (++at[i] < x->shape[i]) break;
		p -= x->stride[i] * x->shape[i] * size;
		at[i] = 0;
	}
	return p;
}

static bool rows_are_contiguous(const Tensor *x, uint32_t axis) {
	int64_t step = 1;
	for (uint32_t i = x->rank; i-- > axis + 1u;) {
		if (x->shape[i] != 1 && x->stride[i] != step) return false;
		step *= x->shape[i];
	}
	return true;
}

/* A single index: a view without the axis. */
static Status gather_one(Frame *f, const Step *s, const Tensor *x, uint32_t axis) {
	const Value *v = operand_at(f, s->b);
	const int64_t i = v->dtype == DT_I32 ? v->i32 : v->i;
	if (UNLIKELY((uint64_t)i >= (uint64_t)x->shape[axis]))
		return fail_index(f, s, i, x->shape[axis]);
	if (x->rank == 1) {
		const size_t size = dtype_size((Dtype)x->dtype);
		put_scalar(f, s->d, (Dtype)x->dtype, x->data + i * x->stride[0] * (int64_t)size);
		return ST_OK;
	}
	int64_t length[MAX_RANK], stride[MAX_RANK];
	uint32_t n = 0;
	for (uint32_t k = 0; k < x->rank; k++) {
		if (k == axis) continue;
		length[n] = x->shape[k];
		stride[n++] = x->stride[k];
	}
	return put_tensor(f, s, 0,
	                  operand_view(f, s, 0, n, length, stride, x->count ? i * x->stride[axis] : 0));
}

Status eval_GATHER(Frame *f, const Step *s) {
	const Tensor *x = operand_at(f, s->a)->tensor;
	const uint32_t axis = (uint32_t)s->fields[0].words[0];
	if (operand_at(f, s->b)->kind == V_SCALAR) return gather_one(f, s, x, axis);
	GatherLayout p;
	Status st = open_places(f, s, x, &p);
	if (st != ST_OK) return st;
	int64_t length[2 * MAX_RANK];
	uint32_t n = 0;
	for (uint32_t i = 0; i < axis; i++) length[n++] = x->shape[i];
	for (uint32_t i = p.batch; i < p.index_tensor->rank; i++)
		length[n++] = p.index_tensor->shape[i];
	for (uint32_t i = axis + 1; i < x->rank; i++) length[n++] = x->shape[i];
	Tensor *whole = rows_are_contiguous(x, axis) ? NULL : tensor_copy(f->ctx, x);
	if (!whole && !rows_are_contiguous(x, axis)) {
		tensor_unref(p.index_tensor);
		return ST_NOMEM;
	}
	if (whole) x = whole;
	Tensor *out = n <= MAX_RANK ? tensor_new(f->ctx, (Dtype)x->dtype, n, length) : NULL;
	if (out && out->count) {
		const size_t size = dtype_size((Dtype)x->dtype), bytes = (size_t)p.row * size;
		const int64_t step = x->stride[axis] * (int64_t)size;
		char *to = out->data;
		const char *from = x->data;
		int64_t at[MAX_RANK] = {0};
		for (int64_t k = 0; k < p.outer && st == ST_OK; k++) {
			const int64_t *index = indices_at(&p, k);
			for (int64_t j = 0; j < p.nindex; j++, to += bytes)
				copy_row(to, from + index[j] * step, bytes);
			from = next_outer(x, axis, at, from);
			st = spend(f->be, (uint64_t)(p.nindex * p.row));
		}
	}
	tensor_unref(p.index_tensor);
	tensor_unref(whole);
	if (st == ST_OK) return put_tensor(f, s, 0, out);
	tensor_unref(out);
	return st;
}

/* ---- scatter ------------------------------------------------------------- */

static inline void add_row(Dtype d, int64_t n, char *to, const char *from) {
	if (n == 1 && d == DT_F64) {
		*(double *)(void *)to += *(const double *)(const void *)from;
		return;
	}
	ew_kernel(d)(d == DT_BOOL ? OP_MAX : OP_ADD, n, to, to, from, 0);
}

/* x[i] = u and x[i] += u along the first axis, the most frequent case in
 * loops. */
static Status scatter_one(Frame *f, const Step *s, Tensor *out, bool add) {
	const Value *v = operand_at(f, s->b), *given = operand_at(f, s->c);
	const int64_t i = v->dtype == DT_I32 ? v->i32 : v->i;
	if (UNLIKELY((uint64_t)i >= (uint64_t)out->shape[0])) {
		int64_t length = out->shape[0];
		tensor_unref(out);
		return fail_index(f, s, i, length);
	}
	const int64_t row = out->count / out->shape[0];
	const size_t bytes = (size_t)row * dtype_size((Dtype)out->dtype);
	char *to = out->data + (size_t)i * bytes;
	Tensor *copy = given->kind == V_TENSOR && !given->tensor->contiguous
	                   ? tensor_copy(f->ctx, given->tensor)
	                   : NULL;
	const Tensor *u = copy                                                   ? copy
	                  : given->kind == V_TENSOR && given->tensor->contiguous ? given->tensor
	                                                                         : NULL;
	Status st = ST_OK;
	if (given->kind == V_TENSOR && !u) st = ST_NOMEM;
	else if ((u ? u->count : 1) != row) st = fail_internal(f, s, "an update of another shape");
	else if (add) add_row((Dtype)out->dtype, row, to, u ? u->data : value_scalar_bytes(given));
	else copy_row(to, u ? u->data : value_scalar_bytes(given), bytes);
	tensor_unref(copy);
	if (st == ST_OK && row > 1) st = spend(f->be, (uint64_t)row);
	if (st != ST_OK) {
		tensor_unref(out);
		return st;
	}
	put_owned(f, s->d, out);
	return ST_OK;
}

static Status scatter(Frame *f, const Step *s, bool add) {
	/* If the update is a part of x, x is shared and therefore copied. Writing
	 * in place is safe. */
	const uint64_t copied =
		operand_is_free(f, s, 0) ? 0 : (uint64_t)operand_at(f, s->a)->tensor->count;
	Tensor *out = operand_writable(f, s, 0);
	if (!out) return ST_NOMEM;
	if (!s->fields[0].words[0] && operand_at(f, s->b)->kind == V_SCALAR) {
		Status st = scatter_one(f, s, out, add);
		return st == ST_OK && copied ? spend(f->be, copied) : st;
	}
	GatherLayout p;
	Tensor *u = operand_contiguous(f, s, 2);
	Status st = u ? open_places(f, s, out, &p) : ST_NOMEM;
	if (st != ST_OK) {
		tensor_unref(u);
		tensor_unref(out);
		return st;
	}
	const size_t size = dtype_size((Dtype)out->dtype), bytes = (size_t)p.row * size;
	const int64_t plane = p.length * p.row * (int64_t)size;
	if (u->count != p.outer * p.nindex * p.row)
		st = fail_internal(f, s, "an update of another shape");
	char *to = out->data;
	const char *from = u->data;
	for (int64_t k = 0; k < p.outer && p.row && st == ST_OK; k++, to += plane) {
		const int64_t *index = indices_at(&p, k);
		if (add) {
			for (int64_t j = 0; j < p.nindex; j++, from += bytes)
				add_row((Dtype)out->dtype, p.row, to + index[j] * (int64_t)bytes, from);
		} else {
			for (int64_t j = 0; j < p.nindex; j++, from += bytes)
				copy_row(to + index[j] * (int64_t)bytes, from, bytes);
		}
		st = spend(f->be, (uint64_t)(p.nindex * p.row));
	}
	tensor_unref(p.index_tensor);
	tensor_unref(u);
	if (st == ST_OK && copied) st = spend(f->be, copied);
	if (st != ST_OK) {
		tensor_unref(out);
		return st;
	}
	put_owned(f, s->d, out);
	return ST_OK;
}

Status eval_SCATTER_ADD(Frame *f, const Step *s) { return scatter(f, s, true); }

Status eval_SCATTER_SET(Frame *f, const Step *s) { return scatter(f, s, false); }

Status eval_NONZERO(Frame *f, const Step *s) {
	Tensor *x = operand_contiguous(f, s, 0);
	if (!x) return ST_NOMEM;
	const bool *set = (const bool *)(const void *)x->data;
	int64_t n = 0, k = 0;
	for (int64_t i = 0; i < x->count; i++) n += set[i];
	Tensor *out = tensor_new(f->ctx, DT_I64, 1, &n);
	if (out) {
		int64_t *o = (int64_t *)(void *)out->data;
		for (int64_t i = 0; i < x->count; i++)
			if (set[i]) o[k++] = i;
	}
	uint64_t work = (uint64_t)x->count;
	tensor_unref(x);
	Status st = put_tensor(f, s, 0, out);
	return st == ST_OK ? spend(f->be, work) : st;
}
