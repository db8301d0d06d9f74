/* shape.c - primitives on shapes and extents.
 *
 * Shapes: broadcast, reshape, transpose, slice, pad, concat, push. Extents:
 * iota, extent, bind_dim, guard.
 *
 * Needs: frame.h.
 *
 * Contract:
 * - broadcast, transpose, slice, and reshape where strides allow, are views.
 * - Positions are checked against the axis before any element is accessed.
 */
#include "backend/eval/core/frame.h"
#include <stdio.h>

/* ---- views --------------------------------------------------------------- */

Status eval_BROADCAST(Frame *f, const Step *s) {
	const AttrField *shape = &s->fields[0], *axes = &s->fields[1];
	int64_t length[MAX_RANK], stride[MAX_RANK] = {0};
	if (!dim_lengths(f, s, shape, length)) return ST_ERROR;
	const Value *v = operand_at(f, s->a);
	for (uint32_t k = 0; k < axes->n; k++) {
		int64_t own = v->tensor->shape[k], to = axes->words[k];
		if (own != 1 && own != length[to]) {
			return fail_at(f, s, E_SHAPE, "an axis of length %lld cannot be broadcast to %lld",
			               (long long)own, (long long)length[to]);
		}
		stride[to] = own == 1 ? 0 : v->tensor->stride[k];
	}
	return put_tensor(f, s, 0, operand_view(f, s, 0, shape->n, length, stride, 0));
}

/* Strides of t under a new shape with the same elements in the same order.
 * False when that needs a copy. */
static bool reshape_strides(const Tensor *t, uint32_t rank, const int64_t *shape, int64_t *stride) {
	int64_t old_shape[MAX_RANK], old_stride[MAX_RANK];
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (t->shape[i] == 1) continue;
		old_shape[n] = t->shape[i];
		old_stride[n++] = t->stride[i];
	}
	uint32_t i = 0, j = 0;
	while (i < n && j < rank) {
		/* The shortest runs of old and new axes of equal size. */
		uint32_t i1 = i + 1, j1 = j + 1;
		int64_t a = old_shape[i], b = shape[j];
		while (a != b) {
			if (a < b) a *= old_shape[i1++];
			else b *= shape[j1++];
		}
		for (uint32_t k = i; k + 1 < i1; k++)
			if (old_stride[k] != old_stride[k + 1] * old_shape[k + 1]) return false;
		int64_t step = old_stride[i1 - 1];
		for (uint32_t k = j1; k-- > j;) {
			stride[k] = step;
			step *= shape[k];
		}
		i = i1;
		j = j1;
	}
	for (; j < rank; j++) stride[j] = 1; /* only axes of extent 1 remain */
	return true;
}

Status eval_RESHAPE(Frame *f, const Step *s) {
	const AttrField *shape = &s->fields[0];
	int64_t length[MAX_RANK], stride[MAX_RANK], count = 1;
	if (!dim_lengths(f, s, shape, length)) return ST_ERROR;
	for (uint32_t i = 0; i < shape->n; i++)
		if (__builtin_mul_overflow(count, length[i], &count)) return ST_NOMEM;
	const Value *v = operand_at(f, s->a);
	const int64_t have = v->kind == V_TENSOR ? v->tensor->count : 1;
	if (count != have) {
		return fail_at(f, s, E_SHAPE, "%lld elements cannot be reshaped to %lld", (long long)have,
		               (long long)count);
	}
	if (v->kind == V_SCALAR && !shape->n) {
		f->slots[s->d] = *v;
		return ST_OK;
	}
	if (v->kind == V_SCALAR || v->tensor->contiguous)
		return put_tensor(f, s, 0, operand_view(f, s, 0, shape->n, length, NULL, 0));
	if (reshape_strides(v->tensor, shape->n, length, stride))
		return put_tensor(f, s, 0, operand_view(f, s, 0, shape->n, length, stride, 0));
	Tensor *t = tensor_copy(f->ctx, v->tensor);
	if (!t) return ST_NOMEM;
	set_layout(t, shape->n, length, NULL, t->data);
	put_tensor(f, s, 0, t);
	return spend(f->be, (uint64_t)count);
}

Status eval_TRANSPOSE(Frame *f, const Step *s) {
	const AttrField *perm = &s->fields[0];
	const Tensor *x = operand_at(f, s->a)->tensor;
	int64_t length[MAX_RANK], stride[MAX_RANK];
	for (uint32_t i = 0; i < perm->n; i++) {
		length[i] = x->shape[perm->words[i]];
		stride[i] = x->stride[perm->words[i]];
	}
	return put_tensor(f, s, 0, operand_view(f, s, 0, perm->n, length, stride, 0));
}

/* Whether the n positions start, start + step, ... are on an axis of the given
 * extent. */
static bool fits(int64_t start, int64_t n, int64_t step, int64_t length) {
	int64_t reach, last;
	if (!n) return true;
	if (__builtin_mul_overflow(n - 1, step, &reach) || __builtin_add_overflow(start, reach, &last))
		return false;
	return start >= 0 && start < length && last >= 0 && last < length;
}

Status fail_slice(Frame *f, const Step *s, int64_t n, int64_t start, int64_t step, int64_t length) {
	if (s->op == OP_PAD)
		return fail_at(f, s, E_INDEX,
		               "%lld elements written from index %lld do not fit an axis of length %lld",
		               (long long)n, (long long)start, (long long)length);
	if (s->op == OP_UPDATE && n == 1) return fail_index(f, s, start, length);
	char by[40] = "";
	if (step != 1) snprintf(by, sizeof by, " by %lld", (long long)step);
	return fail_at(f, s, E_INDEX,
	               "a slice of %lld elements from index %lld%s does not fit an axis of length %lld",
	               (long long)n, (long long)start, by, (long long)length);
}

Status eval_SLICE(Frame *f, const Step *s) {
	const AttrField *starts = &s->fields[0], *lengths = &s->fields[1], *steps = &s->fields[2];
	const Tensor *x = operand_at(f, s->a)->tensor;
	int64_t length[MAX_RANK], stride[MAX_RANK], offset = 0;
	if (!dim_lengths(f, s, lengths, length)) return ST_ERROR;
	for (uint32_t i = 0; i < lengths->n; i++) {
		int64_t start, step = steps->words[i];
		if (!dim_position(f, s, &starts->dims[i], &start)) return ST_ERROR;
		if (UNLIKELY(!fits(start, length[i], step, x->shape[i])))
			return fail_slice(f, s, length[i], start, step, x->shape[i]);
		if (length[i]) offset += start * x->stride[i];
		stride[i] = step * x->stride[i];
	}
	return put_tensor(f, s, 0, operand_view(f, s, 0, lengths->n, length, stride, offset));
}

/* ---- copies -------------------------------------------------------------- */

Status eval_PAD(Frame *f, const Step *s) {
	const AttrField *lows = &s->fields[0], *lengths = &s->fields[1], *steps = &s->fields[2];
	const Tensor *x = operand_at(f, s->a)->tensor;
	int64_t length[MAX_RANK], stride[MAX_RANK], offset = 0;
	if (!dim_lengths(f, s, lengths, length)) return ST_ERROR;
	Tensor *out = tensor_zeros(f->ctx, (Dtype)x->dtype, lengths->n, length);
	if (!out) return ST_NOMEM;
	for (uint32_t i = 0; i < lengths->n; i++) {
		int64_t low, step = steps->words[i];
		bool known = dim_position(f, s, &lows->dims[i], &low);
		if (UNLIKELY(!known || !fits(low, x->shape[i], step, length[i]))) {
			tensor_unref(out);
			if (!known) return ST_ERROR;
			return fail_slice(f, s, x->shape[i], low, step, length[i]);
		}
		if (x->count) offset += low * out->stride[i];
		stride[i] = step * out->stride[i];
	}
	Tensor into = part_of(out, lengths->n, x->shape, stride, offset);
	tensor_assign(&into, x);
	put_tensor(f, s, 0, out);
	return spend(f->be, (uint64_t)out->count);
}

Status eval_UPDATE(Frame *f, const Step *s) {
	const AttrField *starts = &s->fields[0], *steps = &s->fields[1];
	const Tensor *v = operand_at(f, s->b)->tensor;
	int64_t stride[MAX_RANK], start[MAX_RANK], offset = 0;
	for (uint32_t i = 0; i < starts->n; i++) {
		const int64_t length = operand_at(f, s->a)->tensor->shape[i], step = steps->words[i];
		if (!dim_position(f, s, &starts->dims[i], &start[i])) return ST_ERROR;
		if (UNLIKELY(!fits(start[i], v->shape[i], step, length)))
			return fail_slice(f, s, v->shape[i], start[i], step, length);
	}
	/* If v is a part of x, x is shared and therefore copied. Writing in place
	 * is safe. */
	const uint64_t copied =
		operand_is_free(f, s, 0) ? 0 : (uint64_t)operand_at(f, s->a)->tensor->count;
	Tensor *out = operand_writable(f, s, 0);
	if (!out) return ST_NOMEM;
	for (uint32_t i = 0; i < starts->n; i++) {
		if (v->count) offset += start[i] * out->stride[i];
		stride[i] = steps->words[i] * out->stride[i];
	}
	const uint64_t written = (uint64_t)v->count;
	Tensor into = part_of(out, starts->n, v->shape, stride, offset);
	tensor_assign(&into, v);
	put_tensor(f, s, 0, out);
	return spend(f->be, written + copied);
}

Status eval_CONCAT(Frame *f, const Step *s) {
	const uint32_t axis = (uint32_t)s->fields[0].words[0];
	const Tensor *first = operand(f, s, 0)->tensor;
	int64_t length[MAX_RANK];
	memcpy(length, first->shape, sizeof length);
	length[axis] = 0;
	for (uint32_t k = 0; k < s->nargs; k++) {
		const Tensor *t = operand(f, s, k)->tensor;
		for (uint32_t i = 0; i < first->rank; i++)
			if (i != axis && t->shape[i] != first->shape[i])
				return fail_internal(f, s, "operands of different shapes");
		if (__builtin_add_overflow(length[axis], t->shape[axis], &length[axis])) return ST_NOMEM;
	}
	Tensor *out = tensor_new(f->ctx, (Dtype)first->dtype, first->rank, length);
	if (!out) return ST_NOMEM;
	int64_t at = 0;
	for (uint32_t k = 0; k < s->nargs; k++) {
		const Tensor *t = operand(f, s, k)->tensor;
		Tensor into =
			part_of(out, t->rank, t->shape, out->stride, t->count ? at * out->stride[axis] : 0);
		tensor_assign(&into, t);
		at += t->shape[axis];
	}
	put_tensor(f, s, 0, out);
	return spend(f->be, (uint64_t)out->count);
}

Status eval_PUSH(Frame *f, const Step *s) {
	/* The row may be a part of x, which tensor_push_row consumes. */
	Value row = value_ref(*operand_at(f, s->b));
	Value x = take_operand(f, s, 0);
	uint64_t copied = s->dies[0] ? 1 : (uint64_t)x.tensor->count;
	Tensor *t = tensor_push_row(f->ctx, x.tensor);
	if (!t) {
		value_unref(row);
		return ST_NOMEM;
	}
	int64_t last = t->shape[0] - 1;
	if (row.kind == V_SCALAR) {
		size_t size = dtype_size((Dtype)t->dtype);
		memcpy(t->data + last * (int64_t)size, value_scalar_bytes(&row), size);
	} else {
		Tensor into = part_of(t, t->rank - 1u, t->shape + 1, t->stride + 1, last * t->stride[0]);
		copied += (uint64_t)into.count;
		tensor_assign(&into, row.tensor);
		value_unref(row);
	}
	put_tensor(f, s, 0, t);
	return spend(f->be, copied);
}

/* ---- extents ------------------------------------------------------------- */

#define COUNT_UP(T)                                                                                \
	do {                                                                                           \
		T *o = (T *)(void *)out->data;                                                             \
		for (int64_t i = 0; i < n; i++) o[i] = (T)i;                                               \
	} while (0)

Status eval_IOTA(Frame *f, const Step *s) {
	int64_t n;
	if (!dim_length(f, s, &s->fields[1].dims[0], &n)) return ST_ERROR;
	Tensor *out = tensor_new(f->ctx, (Dtype)s->out_dtype, 1, &n);
	if (!out) return ST_NOMEM;
	switch ((Dtype)s->out_dtype) {
	case DT_BOOL: COUNT_UP(bool); break;
	case DT_I32: COUNT_UP(int32_t); break;
	case DT_I64: COUNT_UP(int64_t); break;
	case DT_F32: COUNT_UP(float); break;
	case DT_F64: COUNT_UP(double); break;
	case DT_C64: COUNT_UP(float _Complex); break;
	default: COUNT_UP(double _Complex); break;
	}
	put_tensor(f, s, 0, out);
	return spend(f->be, (uint64_t)n);
}

Status eval_EXTENT(Frame *f, const Step *s) {
	int64_t n;
	if (!dim_length(f, s, &s->fields[0].dims[0], &n)) return ST_ERROR;
	f->slots[s->d] = value_i64(n);
	return ST_OK;
}

Status eval_BIND(Frame *f, const Step *s) {
	int64_t n = operand_at(f, s->a)->i;
	const DimRef *d = &s->fields[0].dims[0];
	if (d->sym >= DIM_GENERAL) return fail_internal(f, s, "a length that is not a symbol");
	if (UNLIKELY(n < 0))
		return fail_at(f, s, E_VALUE, "a length cannot be negative: %lld", (long long)n);
	f->syms[d->sym] = n;
	return ST_OK;
}

/* Prints "n = 20", or "20" for a constant. */
static void describe_length(Frame *f, const DimRef *d, int64_t value, char *out, size_t cap) {
	char text[64];
	if (d->sym == DIM_CONST) {
		snprintf(out, cap, "%lld", (long long)value);
		return;
	}
	dim_print(f->ctx, d->dim, sym_words, &(SymWords){.fn = f->code->fn}, text, sizeof text);
	snprintf(out, cap, "%s = %lld", text, (long long)value);
}

Status fail_guard(Frame *f, const Step *s, const DimRef *left, const DimRef *right, int64_t x,
                  int64_t y, Atom of) {
	char a[96], b[96];
	describe_length(f, left, x, a, sizeof a);
	describe_length(f, right, y, b, sizeof b);
	const char *what = atom_text(f->ctx, of);
	Diag *d = diag_step(f, s, E_GUARD, "%s%s%s and %s differ", what, *what ? ": " : "", a, b);
	/* For two operands, not for a product's inner axes. */
	if ((x == 1 || y == 1) && strstr(what, " and "))
		diag_hint(f->ctx, d,
		          "an axis of length 1 is stretched where its length is known before the program "
		          "runs; v[0] is a number");
	const DimRef *both[2] = {left, right};
	for (uint32_t k = 0; k < 2; k++) {
		if (both[k]->sym >= DIM_GENERAL) continue;
		const Sym *sym = &f->code->fn->syms.at[both[k]->sym];
		Span at = span_of(f->ctx, sym->span);
		if (!at.source) continue;
		diag_second(f->ctx, d, at, "%s is from here", k ? b : a);
		break;
	}
	return ST_ERROR;
}

Status eval_GUARD(Frame *f, const Step *s) {
	const DimRef *left = &s->fields[0].dims[0], *right = &s->fields[1].dims[0];
	int64_t x, y;
	if (!dim_position(f, s, left, &x) || !dim_position(f, s, right, &y)) return ST_ERROR;
	if (LIKELY(x == y)) return ST_OK;
	return fail_guard(f, s, left, right, x, y, (Atom)s->fields[2].words[0]);
}
