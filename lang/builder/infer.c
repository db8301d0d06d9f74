/* infer.c - the type rules of the array primitives: operand requirements and
 * result types.
 *
 * Needs: builder/internal.h.
 *
 * Contract:
 * - There is one function per structural primitive, bound by name through
 *   prims.def, so a missing rule does not link. Rules of control flow, calls
 *   and dynamic values are in infer_control.c.
 * - Rules emit nothing. Dims are compared under the equalities in force.
 */
#include "lang/builder/internal.h"
#include <stdio.h>

typedef bool (*TypeRule)(TypeQuery *q);
static const TypeRule rules[OP_COUNT] = {
#define EW1(ID, ...)
#define EW2(ID, ...)
#define ST(ID, ...) [OP_##ID] = type_rule_##ID,
#include "lang/ir/prims.def"
};

/* ---- common helpers ------------------------------------------------------ */

bool type_wrong(TypeQuery *q, const char *format, ...) {
	char text[256];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (n < 0) n = 0;
	q->why = arena_copy(q->b->scratch, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
	return false;
}

static Type arg_type(const TypeQuery *q, uint32_t k) {
	return *type_of(q->b->ctx, build_canon_type(q->b, ref_type(q->b->fn, q->args[k])));
}

static const char *arg_words(const TypeQuery *q, uint32_t k) {
	return type_words(q->b, ref_type(q->b->fn, q->args[k]));
}

static bool give(TypeQuery *q, TypeId t) {
	q->out[q->nout++] = t;
	return true;
}

static bool give_tensor(TypeQuery *q, Dtype d, uint32_t rank, const Dim *dims) {
	return give(q, type_tensor(q->b->ctx, d, rank, dims));
}

static bool same(const TypeQuery *q, Dim x, Dim y) { return build_same_dim(q->b, x, y); }

static bool is_one(const TypeQuery *q, Dim d) {
	int64_t v;
	return dim_is_const(q->b->ctx, build_canon(q->b, d), &v) && v == 1;
}

static const int64_t *field(const TypeQuery *q, uint32_t k, uint32_t *n) {
	return attr_field(q->b->ctx, q->op, q->attr, k, n);
}

static int64_t option(const TypeQuery *q, uint32_t k) {
	return attr_int(q->b->ctx, q->op, q->attr, k);
}

/* Requires a tensor of one of the kinds, with at least `rank` axes. */
static bool want_tensor(TypeQuery *q, uint32_t k, uint8_t kinds, uint32_t rank, Type *out) {
	*out = arg_type(q, k);
	if (out->kind != TY_TENSOR)
		return type_wrong(q, "operand %u is %s, not an array", k + 1, arg_words(q, k));
	if (!(dtype_kind((Dtype)out->dtype) & kinds))
		return type_wrong(q, "operand %u is %s, a dtype it does not take", k + 1, arg_words(q, k));
	if (out->rank < rank)
		return type_wrong(q, "operand %u is %s, with fewer than %u axes", k + 1, arg_words(q, k),
		                  rank);
	return true;
}

static bool want_axis(TypeQuery *q, int64_t axis, uint32_t rank) {
	return (axis >= 0 && axis < rank) || type_wrong(q, "there is no axis %lld", (long long)axis);
}

/* Requires attribute words exactly as the schema defines. */
static bool check_layout(TypeQuery *q) {
	const AttrSchema *s = &ir_state(q->b->ctx)->schema[q->op];
	uint32_t n, at = 0;
	const int64_t *w = attr_words(q->b->ctx, q->attr, &n);
	for (uint32_t i = 0; i < s->n && at < n; i++) {
		int64_t take = s->list[i] ? w[at] + 1 : 1;
		if (take < 1 || take > (int64_t)(n - at))
			return type_wrong(q, "its attribute has a wrong layout");
		at += (uint32_t)take;
		if (i + 1 < s->n && at >= n) return type_wrong(q, "its attribute is too short");
	}
	if (at != n || (s->n && !n)) return type_wrong(q, "its attribute has a wrong layout");
	return true;
}

static bool elementwise_types(TypeQuery *q) {
	const Prim *p = &prims[q->op];
	Type x;
	if (!want_tensor(q, 0, p->kinds, 0, &x)) return false;
	TypeId t = build_canon_type(q->b, ref_type(q->b->fn, q->args[0]));
	if (q->nargs == 2 && t != build_canon_type(q->b, ref_type(q->b->fn, q->args[1])))
		return type_wrong(q, "the operands have different types");
	if (p->result == RESULT_BOOL) t = type_with_dtype(q->b->ctx, t, DT_BOOL);
	if (p->result == RESULT_REAL) t = type_with_dtype(q->b->ctx, t, dtype_real_of((Dtype)x.dtype));
	return give(q, t);
}

static bool check_stated(TypeQuery *q) {
	if (q->nout == UINT32_MAX) return true; /* the rule checked them itself */
	if (q->nout != q->nstated)
		return type_wrong(q, "it gives %u results, not %u", q->nout, q->nstated);
	for (uint32_t k = 0; k < q->nout; k++)
		if (!build_same_type(q->b, q->out[k], q->stated[k]))
			return type_wrong(q, "result %u is %s, not %s", k + 1, type_words(q->b, q->out[k]),
			                  type_words(q->b, q->stated[k]));
	return true;
}

bool infer_types(TypeQuery *q) {
	const Fn *f = q->b->fn;
	q->nout = 0;
	q->why = NULL;
	if (q->op <= OP_NONE || q->op >= OP_COUNT) return type_wrong(q, "there is no such primitive");
	const Prim *p = &prims[q->op];
	if (p->nargs >= 0 && q->nargs != (uint32_t)p->nargs)
		return type_wrong(q, "it takes %d operands, not %u", p->nargs, q->nargs);
	for (uint32_t k = 0; k < q->nargs; k++) {
		Ref r = q->args[k];
		bool known = ref_is_value(r) ? REF_INDEX(r) < f->vals.n
		                             : ref_is_const(r) && REF_INDEX(r) < f->consts.n;
		if (!known) return type_wrong(q, "operand %u does not exist", k + 1);
	}
	bool owner = q->op == OP_IF || q->op == OP_FOR || q->op == OP_WHILE || q->op == OP_TRY;
	if (!owner && q->nregions) return type_wrong(q, "it has no regions");
	if (!check_layout(q)) return false;
	if (!(p->elementwise ? elementwise_types(q) : rules[q->op](q))) return false;
	return !q->stated || check_stated(q);
}

/* ---- select, convert, stop ----------------------------------------------- */

bool type_rule_SELECT(TypeQuery *q) {
	Type c, x;
	if (!want_tensor(q, 0, KIND_B, 0, &c) || !want_tensor(q, 1, 15, 0, &x)) return false;
	TypeId t = build_canon_type(q->b, ref_type(q->b->fn, q->args[1]));
	if (t != build_canon_type(q->b, ref_type(q->b->fn, q->args[2])))
		return type_wrong(q, "the two choices have different types");
	TypeId cond = build_canon_type(q->b, ref_type(q->b->fn, q->args[0]));
	if (cond != type_with_dtype(q->b->ctx, t, DT_BOOL))
		return type_wrong(q, "the condition has another shape than the choices");
	return give(q, t);
}

bool type_rule_CONVERT(TypeQuery *q) {
	Type x;
	int64_t to = option(q, 0);
	if (to < 0 || to >= DT_COUNT) return type_wrong(q, "there is no such dtype");
	return want_tensor(q, 0, 15, 0, &x) && give_tensor(q, (Dtype)to, x.rank, x.dims);
}

bool type_rule_STOP(TypeQuery *q) {
	return give(q, build_canon_type(q->b, ref_type(q->b->fn, q->args[0])));
}

/* ---- shapes -------------------------------------------------------------- */

static bool read_shape(TypeQuery *q, uint32_t k, uint32_t *rank, Dim *dims) {
	const int64_t *w = field(q, k, rank);
	if (*rank > MAX_RANK) return type_wrong(q, "more than %d axes", MAX_RANK);
	for (uint32_t i = 0; i < *rank; i++) dims[i] = (Dim)w[i];
	return true;
}

bool type_rule_BROADCAST(TypeQuery *q) {
	Type x;
	uint32_t rank, naxes;
	Dim shape[MAX_RANK];
	if (!want_tensor(q, 0, 15, 0, &x) || !read_shape(q, 0, &rank, shape)) return false;
	const int64_t *axes = field(q, 1, &naxes);
	if (naxes != x.rank)
		return type_wrong(q, "%u axes are placed, the operand has %u", naxes, x.rank);
	for (uint32_t k = 0; k < naxes; k++) {
		if (!want_axis(q, axes[k], rank)) return false;
		if (k && axes[k] <= axes[k - 1]) return type_wrong(q, "the axes are not increasing");
		if (!same(q, x.dims[k], shape[axes[k]]) && !is_one(q, x.dims[k]))
			return type_wrong(q, "axis %u has length %s, not %s or 1", k,
			                  dim_words(q->b, x.dims[k]), dim_words(q->b, shape[axes[k]]));
	}
	return give_tensor(q, (Dtype)x.dtype, rank, shape);
}

static Dim product(const TypeQuery *q, uint32_t rank, const Dim *dims) {
	Dim p = dim_const(q->b->ctx, 1);
	for (uint32_t k = 0; k < rank; k++) p = dim_mul(q->b->ctx, p, build_canon(q->b, dims[k]));
	return p;
}

/* Removes from both shapes the first axis that they share, a leading one before
 * others. Returns false when they share none. */
static bool cancel_axis(TypeQuery *q, uint32_t *n, Dim *a, uint32_t *m, Dim *b) {
	for (uint32_t i = 0; i < *n; i++)
		for (uint32_t k = 0; k < *m; k++) {
			if (!same(q, a[i], b[k])) continue;
			memmove(a + i, a + i + 1, (--*n - i) * sizeof *a);
			memmove(b + k, b + k + 1, (--*m - k) * sizeof *b);
			return true;
		}
	return false;
}

/* Whether both shapes have the same number of elements. The equality may be
 * known of the whole products, or only of the products without the axes that
 * both shapes share. The latter happens when a function is mapped: an equality
 * of the extents of one batch element is not known of their products with the
 * batch size. So each comparison that fails is repeated with one shared axis
 * removed. */
static bool as_many(TypeQuery *q, uint32_t n, const Dim *x, uint32_t m, const Dim *y) {
	Dim a[MAX_RANK], b[MAX_RANK];
	memcpy(a, x, n * sizeof *a);
	memcpy(b, y, m * sizeof *b);
	do {
		if (same(q, product(q, n, a), product(q, m, b))) return true;
	} while (cancel_axis(q, &n, a, &m, b));
	return false;
}

bool type_rule_RESHAPE(TypeQuery *q) {
	Type x;
	uint32_t rank;
	Dim shape[MAX_RANK];
	if (!want_tensor(q, 0, 15, 0, &x) || !read_shape(q, 0, &rank, shape)) return false;
	if (!as_many(q, x.rank, x.dims, rank, shape))
		return type_wrong(q, "%s elements do not make %s",
		                  dim_words(q->b, product(q, x.rank, x.dims)),
		                  dim_words(q->b, product(q, rank, shape)));
	return give_tensor(q, (Dtype)x.dtype, rank, shape);
}

bool type_rule_TRANSPOSE(TypeQuery *q) {
	Type x;
	uint32_t n;
	Dim dims[MAX_RANK];
	unsigned seen = 0;
	if (!want_tensor(q, 0, 15, 0, &x)) return false;
	const int64_t *perm = field(q, 0, &n);
	if (n != x.rank) return type_wrong(q, "a permutation of %u axes for %u", n, x.rank);
	for (uint32_t k = 0; k < n; k++) {
		if (!want_axis(q, perm[k], n)) return false;
		if (seen & 1u << perm[k]) return type_wrong(q, "axis %d appears twice", (int)perm[k]);
		seen |= 1u << perm[k];
		dims[k] = x.dims[perm[k]];
	}
	return give_tensor(q, (Dtype)x.dtype, n, dims);
}

/* slice and pad: three lists with one entry for each axis; no stride is 0. */
static bool strided_types(TypeQuery *q) {
	Type x;
	uint32_t n, rank, nstride;
	Dim length[MAX_RANK];
	if (!want_tensor(q, 0, 15, 0, &x)) return false;
	field(q, 0, &n);
	if (!read_shape(q, 1, &rank, length)) return false;
	const int64_t *stride = field(q, 2, &nstride);
	if (n != x.rank || rank != x.rank || nstride != x.rank)
		return type_wrong(q, "it needs one entry for each axis");
	for (uint32_t k = 0; k < rank; k++)
		if (!stride[k]) return type_wrong(q, "a stride of 0");
	return give_tensor(q, (Dtype)x.dtype, rank, length);
}

bool type_rule_SLICE(TypeQuery *q) { return strided_types(q); }

bool type_rule_PAD(TypeQuery *q) { return strided_types(q); }

bool type_rule_UPDATE(TypeQuery *q) {
	Type x, v;
	uint32_t nstart, nstride;
	if (!want_tensor(q, 0, 15, 1, &x) || !want_tensor(q, 1, 15, 1, &v)) return false;
	field(q, 0, &nstart);
	const int64_t *stride = field(q, 1, &nstride);
	if (nstart != x.rank || nstride != x.rank)
		return type_wrong(q, "it needs one entry for each axis");
	if (v.dtype != x.dtype || v.rank != x.rank)
		return type_wrong(q, "the update is %s, the array %s", arg_words(q, 1), arg_words(q, 0));
	for (uint32_t k = 0; k < x.rank; k++)
		if (!stride[k]) return type_wrong(q, "a stride of 0");
	return give_tensor(q, (Dtype)x.dtype, x.rank, x.dims);
}

bool type_rule_CONCAT(TypeQuery *q) {
	Type first, x;
	int64_t axis = option(q, 0);
	if (!q->nargs) return type_wrong(q, "nothing to join");
	if (!want_tensor(q, 0, 15, 1, &first) || !want_axis(q, axis, first.rank)) return false;
	for (uint32_t i = 1; i < q->nargs; i++) {
		if (!want_tensor(q, i, 15, 1, &x)) return false;
		if (x.dtype != first.dtype || x.rank != first.rank)
			return type_wrong(q, "operand %u is %s, the first is %s", i + 1, arg_words(q, i),
			                  arg_words(q, 0));
		for (uint32_t k = 0; k < x.rank; k++)
			if (k != axis && !same(q, x.dims[k], first.dims[k]))
				return type_wrong(q, "axis %u of operand %u has another length", k, i + 1);
		first.dims[axis] = dim_add(q->b->ctx, first.dims[axis], x.dims[axis]);
	}
	return give_tensor(q, (Dtype)first.dtype, first.rank, first.dims);
}

/* The result dims: x[..axis), i[batch..), x(axis+1..]. */
static bool gathered(TypeQuery *q, Type *x, Type *out) {
	Type i;
	int64_t axis = option(q, 0), batch = option(q, 1);
	if (!want_tensor(q, 0, 15, 1, x) || !want_tensor(q, 1, KIND_I, 0, &i) ||
	    !want_axis(q, axis, x->rank))
		return false;
	if (batch < 0 || batch > axis || batch > i.rank)
		return type_wrong(q, "%lld axes cannot run together", (long long)batch);
	for (uint32_t k = 0; k < batch; k++)
		if (!same(q, x->dims[k], i.dims[k]))
			return type_wrong(q, "axis %u of the index has another length", k);
	if (x->rank - 1u + i.rank - (uint32_t)batch > MAX_RANK)
		return type_wrong(q, "more than %d axes", MAX_RANK);
	*out = *x;
	uint32_t n = 0;
	for (uint32_t k = 0; k < axis; k++) out->dims[n++] = x->dims[k];
	for (uint32_t k = (uint32_t)batch; k < i.rank; k++) out->dims[n++] = i.dims[k];
	for (uint32_t k = (uint32_t)axis + 1; k < x->rank; k++) out->dims[n++] = x->dims[k];
	out->rank = (uint8_t)n;
	return true;
}

bool type_rule_GATHER(TypeQuery *q) {
	Type x, out;
	return gathered(q, &x, &out) && give_tensor(q, (Dtype)out.dtype, out.rank, out.dims);
}

static bool scatter_types(TypeQuery *q, uint8_t kinds) {
	Type x, update, u;
	if (!gathered(q, &x, &update) || !want_tensor(q, 0, kinds, 1, &x) ||
	    !want_tensor(q, 2, 15, 0, &u))
		return false;
	bool fits = u.dtype == update.dtype && u.rank == update.rank;
	for (uint32_t k = 0; fits && k < u.rank; k++) fits = same(q, u.dims[k], update.dims[k]);
	if (!fits) {
		TypeId t = type_tensor(q->b->ctx, (Dtype)update.dtype, update.rank, update.dims);
		return type_wrong(q, "the update is %s, not %s", arg_words(q, 2), type_words(q->b, t));
	}
	return give_tensor(q, (Dtype)x.dtype, x.rank, x.dims);
}

bool type_rule_SCATTER_ADD(TypeQuery *q) { return scatter_types(q, KIND_I | KIND_R | KIND_C); }

bool type_rule_SCATTER_SET(TypeQuery *q) { return scatter_types(q, 15); }

bool type_rule_PUSH(TypeQuery *q) {
	Type x, row;
	if (!want_tensor(q, 0, 15, 1, &x) || !want_tensor(q, 1, 15, 0, &row)) return false;
	bool fits = row.dtype == x.dtype && row.rank + 1 == x.rank;
	for (uint32_t k = 0; fits && k < row.rank; k++) fits = same(q, row.dims[k], x.dims[k + 1]);
	if (!fits)
		return type_wrong(q, "the row is %s, the array %s", arg_words(q, 1), arg_words(q, 0));
	x.dims[0] = dim_add(q->b->ctx, x.dims[0], dim_const(q->b->ctx, 1));
	return give_tensor(q, (Dtype)x.dtype, x.rank, x.dims);
}

/* ---- reductions and scans ------------------------------------------------ */

static bool reduce_types(TypeQuery *q, uint8_t kinds) {
	Type x;
	uint32_t n, rank = 0;
	if (!want_tensor(q, 0, kinds, 0, &x)) return false;
	const int64_t *axes = field(q, 0, &n);
	for (uint32_t k = 0; k < n; k++) {
		if (!want_axis(q, axes[k], x.rank)) return false;
		if (k && axes[k] <= axes[k - 1]) return type_wrong(q, "the axes are not increasing");
	}
	for (uint32_t k = 0, at = 0; k < x.rank; k++) {
		if (at < n && axes[at] == k) at++;
		else x.dims[rank++] = x.dims[k];
	}
	return give_tensor(q, (Dtype)x.dtype, rank, x.dims);
}

bool type_rule_REDUCE_SUM(TypeQuery *q) { return reduce_types(q, KIND_I | KIND_R | KIND_C); }

bool type_rule_REDUCE_PROD(TypeQuery *q) { return reduce_types(q, KIND_I | KIND_R | KIND_C); }

bool type_rule_REDUCE_MAX(TypeQuery *q) { return reduce_types(q, KIND_B | KIND_I | KIND_R); }

bool type_rule_REDUCE_MIN(TypeQuery *q) { return reduce_types(q, KIND_B | KIND_I | KIND_R); }

bool type_rule_ARGMAX(TypeQuery *q) {
	Type x;
	int64_t axis = option(q, 0);
	if (!want_tensor(q, 0, KIND_B | KIND_I | KIND_R, 1, &x) || !want_axis(q, axis, x.rank))
		return false;
	for (uint32_t k = (uint32_t)axis; k + 1 < x.rank; k++) x.dims[k] = x.dims[k + 1];
	return give_tensor(q, DT_I64, x.rank - 1u, x.dims);
}

/* An operation along one axis, which keeps the shape. */
static bool along_axis(TypeQuery *q, uint8_t kinds, int dtype) {
	Type x;
	if (!want_tensor(q, 0, kinds, 1, &x) || !want_axis(q, option(q, 0), x.rank)) return false;
	return give_tensor(q, dtype < 0 ? (Dtype)x.dtype : (Dtype)dtype, x.rank, x.dims);
}

bool type_rule_CUMSUM(TypeQuery *q) { return along_axis(q, KIND_I | KIND_R | KIND_C, -1); }

bool type_rule_CUMPROD(TypeQuery *q) { return along_axis(q, KIND_I | KIND_R | KIND_C, -1); }

bool type_rule_ARGSORT(TypeQuery *q) { return along_axis(q, KIND_B | KIND_I | KIND_R, DT_I64); }

bool type_rule_FFT(TypeQuery *q) { return along_axis(q, KIND_C, -1); }

/* ---- contraction --------------------------------------------------------- */

/* Checks the axes of one operand: each occurs at most once in both lists. */
static bool dot_axes(TypeQuery *q, const Type *x, const int64_t *a, uint32_t na, const int64_t *b,
                     uint32_t nb, unsigned *used) {
	*used = 0;
	for (uint32_t k = 0; k < na + nb; k++) {
		int64_t axis = k < na ? a[k] : b[k - na];
		if (!want_axis(q, axis, x->rank)) return false;
		if (*used & 1u << axis) return type_wrong(q, "axis %d is used twice", (int)axis);
		*used |= 1u << axis;
	}
	return true;
}

bool type_rule_DOT(TypeQuery *q) {
	Type x, y;
	uint32_t nxc, nyc, nxb, nyb, n = 0;
	unsigned used_x, used_y;
	Dim dims[2 * MAX_RANK];
	if (!want_tensor(q, 0, KIND_I | KIND_R | KIND_C, 0, &x) ||
	    !want_tensor(q, 1, KIND_I | KIND_R | KIND_C, 0, &y))
		return false;
	if (x.dtype != y.dtype) return type_wrong(q, "the operands have different dtypes");
	const int64_t *xc = field(q, 0, &nxc), *yc = field(q, 1, &nyc), *xb = field(q, 2, &nxb),
				  *yb = field(q, 3, &nyb);
	if (nxc != nyc || nxb != nyb) return type_wrong(q, "the axes do not come in pairs");
	if (!dot_axes(q, &x, xc, nxc, xb, nxb, &used_x) || !dot_axes(q, &y, yc, nyc, yb, nyb, &used_y))
		return false;
	for (uint32_t k = 0; k < nxc; k++)
		if (!same(q, x.dims[xc[k]], y.dims[yc[k]]))
			return type_wrong(q, "contracted lengths differ");
	for (uint32_t k = 0; k < nxb; k++) {
		if (!same(q, x.dims[xb[k]], y.dims[yb[k]])) return type_wrong(q, "batch lengths differ");
		dims[n++] = x.dims[xb[k]];
	}
	for (uint32_t k = 0; k < x.rank; k++)
		if (!(used_x & 1u << k)) dims[n++] = x.dims[k];
	for (uint32_t k = 0; k < y.rank; k++)
		if (!(used_y & 1u << k)) dims[n++] = y.dims[k];
	if (n > MAX_RANK) return type_wrong(q, "more than %d axes", MAX_RANK);
	return give_tensor(q, (Dtype)x.dtype, n, dims);
}

/* ---- array constructors -------------------------------------------------- */

bool type_rule_NONZERO(TypeQuery *q) {
	Type x;
	Dim length = (Dim)option(q, 0);
	if (!want_tensor(q, 0, KIND_B, 1, &x)) return false;
	if (x.rank != 1) return type_wrong(q, "the operand is not a vector");
	if (!is_new_extent(q, length)) return type_wrong(q, "its length is not a new symbol");
	return give_tensor(q, DT_I64, 1, &length);
}

bool type_rule_IOTA(TypeQuery *q) {
	int64_t to = option(q, 0);
	Dim length = (Dim)option(q, 1);
	if (to <= DT_BOOL || to >= DT_COUNT) return type_wrong(q, "a dtype that cannot count");
	return give_tensor(q, (Dtype)to, 1, &length);
}

bool type_rule_RANDOM(TypeQuery *q) {
	Type state;
	uint32_t rank;
	Dim shape[MAX_RANK], two = dim_const(q->b->ctx, 2);
	if (!want_tensor(q, 0, KIND_I, 1, &state) || !read_shape(q, 0, &rank, shape)) return false;
	if (state.dtype != DT_I64 || state.rank != 1 || !same(q, state.dims[0], two))
		return type_wrong(q, "the state is not i64[2]");
	return give_tensor(q, DT_I64, rank, shape) && give_tensor(q, DT_I64, 1, &two);
}

/* ---- dense linear algebra, over the last two axes ------------------------ */

static bool square(TypeQuery *q, uint32_t k, Type *x) {
	if (!want_tensor(q, k, KIND_R | KIND_C, 2, x)) return false;
	return same(q, x->dims[x->rank - 2], x->dims[x->rank - 1]) ||
	       type_wrong(q, "operand %u is not square", k + 1);
}

/* The type of x with its last two axes replaced by r and c; with c == NO_DIM by
 * r alone. */
static TypeId matrix(const TypeQuery *q, const Type *x, Dtype d, Dim r, Dim c) {
	Type t = *x;
	t.dims[t.rank - 2] = r;
	if (c != NO_DIM) t.dims[t.rank - 1] = c;
	return type_tensor(q->b->ctx, d, c == NO_DIM ? t.rank - 1u : t.rank, t.dims);
}

bool type_rule_CHOLESKY(TypeQuery *q) {
	Type x;
	return square(q, 0, &x) && give_tensor(q, (Dtype)x.dtype, x.rank, x.dims);
}

bool type_rule_LU(TypeQuery *q) {
	Type x;
	if (!want_tensor(q, 0, KIND_R | KIND_C, 2, &x)) return false;
	return give_tensor(q, (Dtype)x.dtype, x.rank, x.dims) &&
	       give(q, matrix(q, &x, DT_I64, x.dims[x.rank - 2], NO_DIM));
}

bool type_rule_QR(TypeQuery *q) {
	Type x;
	int64_t excess;
	if (!want_tensor(q, 0, KIND_R | KIND_C, 2, &x)) return false;
	Dim m = x.dims[x.rank - 2], n = x.dims[x.rank - 1];
	if (dim_is_const(q->b->ctx, dim_sub(q->b->ctx, m, n), &excess) && excess < 0)
		return type_wrong(q, "fewer rows than columns");
	return give_tensor(q, (Dtype)x.dtype, x.rank, x.dims) &&
	       give(q, matrix(q, &x, (Dtype)x.dtype, n, n));
}

bool type_rule_EIGH(TypeQuery *q) {
	Type x;
	if (!square(q, 0, &x)) return false;
	return give(q, matrix(q, &x, dtype_real_of((Dtype)x.dtype), x.dims[x.rank - 1], NO_DIM)) &&
	       give_tensor(q, (Dtype)x.dtype, x.rank, x.dims);
}

bool type_rule_EIG(TypeQuery *q) {
	Type x;
	if (!square(q, 0, &x)) return false;
	Dtype d = dtype_complex_of((Dtype)x.dtype);
	return give(q, matrix(q, &x, d, x.dims[x.rank - 1], NO_DIM)) &&
	       give_tensor(q, d, x.rank, x.dims);
}

/* min(m, n) when it is known; else a symbol of its own: the stated one, or a
 * fresh one. */
static bool smaller(TypeQuery *q, Dim m, Dim n, Dim *out) {
	int64_t difference;
	if (dim_is_const(q->b->ctx, dim_sub(q->b->ctx, m, n), &difference)) {
		*out = difference <= 0 ? m : n;
		return true;
	}
	if (!q->stated) {
		*out = build_fresh_dim(q->b, 0, q->b->span);
		return true;
	}
	/* Which of the two is smaller is not known, so that neither is right. */
	const Type *values = q->nstated == 3 ? type_of(q->b->ctx, q->stated[1]) : NULL;
	if (!values || values->kind != TY_TENSOR || !values->rank)
		return type_wrong(q, "it gives U, s and V");
	*out = values->dims[values->rank - 1];
	return is_new_extent(q, *out) ||
	       type_wrong(q, "the number of singular values is not a new symbol");
}

bool type_rule_SVD(TypeQuery *q) {
	Type x;
	Dim k = NO_DIM;
	if (!want_tensor(q, 0, KIND_R | KIND_C, 2, &x)) return false;
	Dim m = x.dims[x.rank - 2], n = x.dims[x.rank - 1];
	if (!smaller(q, m, n, &k)) return false;
	return give(q, matrix(q, &x, (Dtype)x.dtype, m, k)) &&
	       give(q, matrix(q, &x, dtype_real_of((Dtype)x.dtype), k, NO_DIM)) &&
	       give(q, matrix(q, &x, (Dtype)x.dtype, n, k));
}

/* A, F: f[leading..., n, n]; p: i64[leading..., n]; B, X: f[leading..., n, m]
 */
bool type_rule_SOLVED(TypeQuery *q) {
	Type a, f, p, x, y;
	if (!square(q, 0, &a) || !square(q, 1, &f) || !want_tensor(q, 2, KIND_I, 1, &p) ||
	    !want_tensor(q, 3, KIND_R | KIND_C, 2, &x) || !want_tensor(q, 4, KIND_R | KIND_C, 2, &y))
		return false;
	bool fits = a.dtype == f.dtype && a.dtype == x.dtype && a.dtype == y.dtype &&
	            a.rank == f.rank && a.rank == x.rank && a.rank == y.rank && p.rank + 1 == a.rank &&
	            same(q, a.dims[a.rank - 1], x.dims[a.rank - 2]) &&
	            same(q, a.dims[a.rank - 1], f.dims[a.rank - 1]) &&
	            same(q, a.dims[a.rank - 1], p.dims[p.rank - 1]);
	for (uint32_t k = 0; fits && k + 2 < a.rank; k++)
		fits = same(q, a.dims[k], x.dims[k]) && same(q, a.dims[k], f.dims[k]) &&
		       same(q, a.dims[k], p.dims[k]);
	for (uint32_t k = 0; fits && k < a.rank; k++) fits = same(q, x.dims[k], y.dims[k]);
	if (!fits)
		return type_wrong(q, "the matrix is %s, the right side %s, the solution %s",
		                  arg_words(q, 0), arg_words(q, 3), arg_words(q, 4));
	return give_tensor(q, (Dtype)x.dtype, x.rank, x.dims);
}

bool type_rule_TRISOLVE(TypeQuery *q) {
	Type t, x;
	if (!square(q, 0, &t) || !want_tensor(q, 1, KIND_R | KIND_C, 2, &x)) return false;
	bool fits =
		t.dtype == x.dtype && t.rank == x.rank && same(q, t.dims[t.rank - 1], x.dims[x.rank - 2]);
	for (uint32_t k = 0; fits && k + 2 < t.rank; k++) fits = same(q, t.dims[k], x.dims[k]);
	if (!fits)
		return type_wrong(q, "the matrix is %s, the right side %s", arg_words(q, 0),
		                  arg_words(q, 1));
	return give_tensor(q, (Dtype)x.dtype, x.rank, x.dims);
}
