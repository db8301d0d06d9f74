/* constant_fold.c - constant folding of scalars and small arrays.
 *
 * Needs: builder/internal.h, scalar_apply.
 *
 * Contract:
 * - Folding gives the same bits as running, because both use the same scalar
 *   functions.
 * - An operation without a result (division by zero, an index out of range) is
 *   not folded; running reports it.
 * - An operation that creates a NaN from other numbers is not folded either, so
 *   that nan_check finds it.
 */
#include "lang/builder/internal.h"

/* Consumes t; returns the constant. */
static Ref constant_from(Builder *b, Tensor *t) {
	if (!t) ctx_throw(b->ctx, ST_NOMEM);
	b->pending = t;
	Ref r = build_const(b, (Value){.kind = V_TENSOR, .tensor = t});
	b->pending = NULL;
	tensor_unref(t);
	return r;
}

/* The array of a constant operand of rank 1 or more; NULL otherwise. With
 * `small`, only a small contiguous one. */
static Tensor *constant_tensor(Builder *b, Ref r, bool small) {
	const Const *k = ref_constant(b->fn, r);
	if (!k || k->value.kind != V_TENSOR ||
	    (small && (k->value.tensor->count > FOLD_LIMIT || !k->value.tensor->contiguous)))
		return NULL;
	return k->value.tensor;
}

static bool constant_scalar(Builder *b, Ref r, Value *out) {
	const Const *k = ref_constant(b->fn, r);
	if (!k || k->value.kind != V_SCALAR) return false;
	*out = k->value;
	return true;
}

static Dtype result_dtype(Builder *b, const Expr *e) {
	return (Dtype)type_of(b->ctx, e->type)->dtype;
}

/* ---- element-wise operations --------------------------------------------- */

static bool is_nan(Dtype d, const void *x) {
	switch (d) {
	case DT_F32: return *(const float *)x != *(const float *)x;
	case DT_F64: return *(const double *)x != *(const double *)x;
	case DT_C64: return is_nan(DT_F32, x) || is_nan(DT_F32, (const float *)x + 1);
	case DT_C128: return is_nan(DT_F64, x) || is_nan(DT_F64, (const double *)x + 1);
	default: return false;
	}
}

/* Whether an operation on operands of dtype `from` returned a NaN although no
 * operand is NaN. */
static bool makes_nan(Dtype to, const void *out, uint32_t n, Dtype from, const void *const *x) {
	bool made = is_nan(to, out);
	for (uint32_t k = 0; k < n && made; k++) made = !is_nan(from, x[k]);
	return made;
}

static Ref fold_scalars(Builder *b, const Expr *e) {
	Value v[2] = {{.kind = V_UNSET}, {.kind = V_UNSET}};
	double _Complex out = 0; /* large enough for every dtype */
	for (uint32_t k = 0; k < e->nargs; k++)
		if (!constant_scalar(b, e->args[k], &v[k])) return REF_NONE;
	if (scalar_apply(e->op, (Dtype)v[0].dtype, value_scalar_bytes(&v[0]), value_scalar_bytes(&v[1]),
	                 &out) != ST_OK)
		return REF_NONE;
	const void *x[2] = {value_scalar_bytes(&v[0]), value_scalar_bytes(&v[1])};
	if (makes_nan(result_dtype(b, e), &out, e->nargs, (Dtype)v[0].dtype, x)) return REF_NONE;
	return build_const(b, value_scalar_from_bytes(result_dtype(b, e), &out));
}

/* Operands are small constant arrays; one of the two may be a splat. */
static Ref fold_arrays(Builder *b, const Expr *e) {
	Tensor *t[2] = {NULL, NULL}, *shape = NULL;
	Value splat[2] = {{.kind = V_UNSET}, {.kind = V_UNSET}};
	for (uint32_t k = 0; k < e->nargs; k++) {
		t[k] = constant_tensor(b, e->args[k], true);
		if (t[k]) shape = t[k];
		else if (!ref_splat(b->fn, e->args[k], &splat[k])) return REF_NONE;
	}
	if (!shape) return REF_NONE;
	Dtype from = (Dtype)shape->dtype, to = result_dtype(b, e);
	Tensor *out = tensor_new(b->ctx, to, shape->rank, shape->shape);
	if (!out) ctx_throw(b->ctx, ST_NOMEM);
	for (int64_t i = 0; i < shape->count; i++) {
		const void *x[2];
		for (uint32_t k = 0; k < 2; k++)
			x[k] = t[k] ? t[k]->data + (size_t)i * dtype_size(from) : value_scalar_bytes(&splat[k]);
		void *y = out->data + (size_t)i * dtype_size(to);
		if (scalar_apply(e->op, from, x[0], x[1], y) == ST_OK &&
		    !makes_nan(to, y, e->nargs, from, x))
			continue;
		tensor_unref(out);
		return REF_NONE;
	}
	return constant_from(b, out);
}

static Ref fold_convert(Builder *b, const Expr *e) {
	Value v;
	Dtype to = result_dtype(b, e);
	if (constant_scalar(b, e->args[0], &v)) {
		double _Complex out = 0;
		scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), to, &out);
		return build_const(b, value_scalar_from_bytes(to, &out));
	}
	Tensor *t = constant_tensor(b, e->args[0], true);
	if (!t || t->dtype == to) return REF_NONE;
	Tensor *out = tensor_new(b->ctx, to, t->rank, t->shape);
	if (out) tensor_convert_into(out, t);
	return constant_from(b, out);
}

/* ---- shapes -------------------------------------------------------------- */

/* The result's shape, when every extent is a constant. */
static bool fixed_shape(Builder *b, const Expr *e, int64_t *shape, int64_t *count) {
	const Type *t = type_of(b->ctx, e->type);
	*count = 1;
	for (uint32_t k = 0; k < t->rank; k++) {
		if (!dim_is_const(b->ctx, t->dims[k], &shape[k]) || shape[k] < 0) return false;
		if (__builtin_mul_overflow(*count, shape[k], count)) return false;
	}
	return true;
}

static Ref view(Builder *b, Tensor *t, uint32_t rank, const int64_t *shape, const int64_t *stride,
                int64_t offset) {
	Tensor *v = tensor_view(b->ctx, t, rank, shape, stride, offset);
	Tensor *dense = v ? tensor_contiguous(b->ctx, v) : NULL;
	tensor_unref(v);
	return constant_from(b, dense);
}

static Ref fold_reshape(Builder *b, const Expr *e) {
	Tensor *t = constant_tensor(b, e->args[0], false);
	int64_t shape[MAX_RANK], stride[MAX_RANK], count;
	if (!t || !t->contiguous || !fixed_shape(b, e, shape, &count) || count != t->count)
		return REF_NONE;
	uint32_t rank = type_of(b->ctx, e->type)->rank;
	for (uint32_t k = rank; k-- > 0;)
		stride[k] = k + 1 == rank ? 1 : stride[k + 1] * (shape[k + 1] ? shape[k + 1] : 1);
	return view(b, t, rank, shape, stride, 0);
}

static Ref fold_transpose(Builder *b, const Expr *e) {
	Tensor *t = constant_tensor(b, e->args[0], true);
	int64_t shape[MAX_RANK], stride[MAX_RANK];
	uint32_t n;
	if (!t) return REF_NONE;
	const int64_t *perm = attr_field(b->ctx, OP_TRANSPOSE, e->attr, 0, &n);
	for (uint32_t k = 0; k < n; k++) {
		shape[k] = t->shape[perm[k]];
		stride[k] = t->stride[perm[k]];
	}
	return view(b, t, n, shape, stride, 0);
}

static Ref fold_slice(Builder *b, const Expr *e) {
	Tensor *t = constant_tensor(b, e->args[0], false);
	int64_t shape[MAX_RANK], stride[MAX_RANK], count, offset = 0;
	uint32_t n;
	if (!t || !fixed_shape(b, e, shape, &count) || count > FOLD_LIMIT) return REF_NONE;
	const int64_t *start = attr_field(b->ctx, OP_SLICE, e->attr, 0, &n);
	const int64_t *step = attr_field(b->ctx, OP_SLICE, e->attr, 2, &n);
	for (uint32_t k = 0; k < t->rank; k++) {
		int64_t first, last;
		if (!dim_is_const(b->ctx, (Dim)start[k], &first)) return REF_NONE;
		if (!shape[k]) continue; /* an empty slice may start anywhere */
		if (__builtin_mul_overflow(shape[k] - 1, step[k], &last) ||
		    __builtin_add_overflow(first, last, &last))
			return REF_NONE;
		if (first < 0 || first >= t->shape[k] || last < 0 || last >= t->shape[k]) return REF_NONE;
		offset += first * t->stride[k];
		stride[k] = step[k] * t->stride[k];
	}
	for (uint32_t k = 0; k < t->rank; k++)
		if (!shape[k]) stride[k] = 1;
	return view(b, t, t->rank, shape, stride, count ? offset : 0);
}

static Ref fold_concat(Builder *b, const Expr *e) {
	int64_t shape[MAX_RANK], count, at = 0, axis = attr_int(b->ctx, OP_CONCAT, e->attr, 0);
	if (e->nargs < 2 || !fixed_shape(b, e, shape, &count) || count > FOLD_LIMIT) return REF_NONE;
	for (uint32_t i = 0; i < e->nargs; i++)
		if (!constant_tensor(b, e->args[i], true)) return REF_NONE;
	Tensor *out = tensor_new(b->ctx, result_dtype(b, e), type_of(b->ctx, e->type)->rank, shape);
	if (!out) ctx_throw(b->ctx, ST_NOMEM);
	for (uint32_t i = 0; i < e->nargs; i++) {
		Tensor *t = constant_tensor(b, e->args[i], true);
		Tensor *part = t->count ? tensor_view(b->ctx, out, out->rank, t->shape, out->stride,
		                                      at * out->stride[axis])
		                        : NULL;
		if (t->count && !part) {
			tensor_unref(out);
			ctx_throw(b->ctx, ST_NOMEM);
		}
		if (part) tensor_assign(part, t);
		tensor_unref(part);
		at += t->shape[axis];
	}
	return constant_from(b, out);
}

/* Folds a gather from a constant by a constant index of any rank, without batch
 * axes. */
static Ref fold_gather(Builder *b, const Expr *e) {
	int64_t shape[MAX_RANK], count, axis = attr_int(b->ctx, OP_GATHER, e->attr, 0);
	Tensor *t = constant_tensor(b, e->args[0], false),
		   *index = constant_tensor(b, e->args[1], true);
	Value scalar;
	bool single = constant_scalar(b, e->args[1], &scalar);
	if (!t || (!index && !single) || attr_int(b->ctx, OP_GATHER, e->attr, 1)) return REF_NONE;
	if (!fixed_shape(b, e, shape, &count) || count > FOLD_LIMIT || !count) return REF_NONE;
	int64_t n = single ? 1 : index->count, at[FOLD_LIMIT];
	for (int64_t i = 0; i < n; i++) {
		Value v = single ? scalar
		                 : value_scalar_from_bytes((Dtype)index->dtype,
		                                           index->data +
		                                               (size_t)i * dtype_size((Dtype)index->dtype));
		if (!value_as_i64(v, &at[i]) || at[i] < 0 || at[i] >= t->shape[axis]) return REF_NONE;
	}
	/* The index axes are flattened into one for the copy. */
	int64_t flat[MAX_RANK];
	uint32_t rank = t->rank;
	for (uint32_t k = 0; k < rank; k++) flat[k] = k == axis ? n : t->shape[k];
	Tensor *out = tensor_new(b->ctx, (Dtype)t->dtype, rank, flat);
	if (!out) ctx_throw(b->ctx, ST_NOMEM);
	flat[axis] = 1;
	for (int64_t i = 0; i < n; i++) {
		Tensor *to = tensor_view(b->ctx, out, rank, flat, out->stride, i * out->stride[axis]);
		Tensor *from = tensor_view(b->ctx, t, rank, flat, t->stride, at[i] * t->stride[axis]);
		bool made = to && from;
		if (made) tensor_assign(to, from);
		tensor_unref(to);
		tensor_unref(from);
		if (!made) {
			tensor_unref(out);
			ctx_throw(b->ctx, ST_NOMEM);
		}
	}
	int64_t stride[MAX_RANK];
	uint32_t out_rank = type_of(b->ctx, e->type)->rank;
	for (uint32_t k = out_rank; k-- > 0;)
		stride[k] = k + 1 == out_rank ? 1 : stride[k + 1] * shape[k + 1];
	Tensor *shaped = tensor_view(b->ctx, out, out_rank, shape, stride, 0);
	tensor_unref(out);
	return constant_from(b, shaped);
}

static Ref fold_extent(Builder *b, const Expr *e) {
	int64_t v;
	return dim_is_const(b->ctx, (Dim)attr_int(b->ctx, OP_EXTENT, e->attr, 0), &v) ? build_i64(b, v)
	                                                                              : REF_NONE;
}

Ref fold_constants(Builder *b, const Expr *e) {
	if (prims[e->op].elementwise) {
		Ref r = fold_scalars(b, e);
		return r != REF_NONE ? r : fold_arrays(b, e);
	}
	switch (e->op) {
	case OP_CONVERT: return fold_convert(b, e);
	case OP_RESHAPE: return fold_reshape(b, e);
	case OP_TRANSPOSE: return fold_transpose(b, e);
	case OP_SLICE: return fold_slice(b, e);
	case OP_CONCAT: return fold_concat(b, e);
	case OP_GATHER: return fold_gather(b, e);
	case OP_EXTENT: return fold_extent(b, e);
	default: return REF_NONE;
	}
}
