/* transpose_support.c - products and sums of cotangents with structural zeros.
 *
 * Method: zeros stay outermost. A product with select(c, w, 0) becomes
 * select(c, product with w, 0); one with a padded element becomes the padded
 * product with that element.
 *
 * Needs: rules.h.
 *
 * Contract:
 * - The value is that of the plain product or sum wherever the factors are
 *   finite.
 * - Where a cotangent is zero because a condition masked the element, or
 *   because another element was selected, the product is zero whatever the
 *   other factor is. Example: sum(sqrt(x[i]) for i if x[i] > 0) does not depend
 *   on an element 0, although the derivative of the root is infinite there.
 * - Only structural zeros count. A cotangent whose value merely happens to be
 *   zero is multiplied as usual, so an undefined derivative stays NaN.
 */
#include "autodiff/core/rules.h"

#define DEPTH_MOST 8 /* operations that are looked through */

/* An array that is `value` where a condition holds, else zero. */
typedef struct Masked {
	Ref where, value;
} Masked;

static bool is_zero(Builder *b, Ref r) {
	Value v;
	double complex z = 1;
	if (!ref_splat(build_fn(b), r, &v)) return false;
	scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), DT_C128, &z);
	return z == 0;
}

static Ref operand(Builder *b, const Inst *in, uint32_t k) { return inst_arg(build_fn(b), in, k); }

static bool is_masked(Builder *b, Ref w, Masked *m, uint32_t depth) {
	const Inst *made = ref_is_value(w) ? ref_inst(build_fn(b), w) : NULL;
	if (!made || depth > DEPTH_MOST) return false;
	const Inst in = *made; /* a copy, since the builder may move instructions */
	const Op op = (Op)in.op;
	Masked other;
	switch (op) {
	case OP_SELECT: {
		const Ref c = operand(b, &in, 0), yes = operand(b, &in, 1), no = operand(b, &in, 2);
		if (is_zero(b, no)) *m = (Masked){c, yes};
		else if (is_zero(b, yes))
			*m = (Masked){build2(b, OP_EQ, c, build_zeros(b, type_id_in(b, c))), no};
		else return false;
		return true;
	}
	case OP_NEG:
	case OP_CONJ:
	case OP_REAL:
	case OP_IMAG:
		if (!is_masked(b, operand(b, &in, 0), m, depth + 1)) return false;
		m->value = build1(b, op, m->value);
		return true;
	case OP_CONVERT:
		if (!is_masked(b, operand(b, &in, 0), m, depth + 1)) return false;
		m->value = build_convert(b, m->value, dtype_in(b, w));
		return true;
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
		if (!is_masked(b, operand(b, &in, 0), m, depth + 1)) return false;
		m->where = build(b, op, 1, &m->where, in.attr, NULL);
		m->value = build(b, op, 1, &m->value, in.attr, NULL);
		return true;
	case OP_ADD:
	case OP_SUB:
		if (!is_masked(b, operand(b, &in, 0), m, depth + 1)) return false;
		if (!is_masked(b, operand(b, &in, 1), &other, depth + 1) || m->where != other.where)
			return false;
		m->value = build2(b, op, m->value, other.value);
		return true;
	default: return false;
	}
}

/* Whether the elements are placed into an array of zeros: a padded element, an
 * element written into such an array, or rows added at given indices. Larger
 * boxes, as of stencils, are multiplied as they are. */
static bool is_picked(Builder *b, const Inst *in) {
	if (in->op == OP_SCATTER_ADD) return true;
	if (in->op != OP_PAD && in->op != OP_UPDATE) return false;
	const Type element = type_in(b, operand(b, in, in->op == OP_UPDATE));
	int64_t one;
	for (uint32_t k = 0; k < element.rank; k++)
		if (!dim_is_const(build_ctx(b), element.dims[k], &one) || one != 1) return false;
	return true;
}

/* Whether w consists only of zeros, masked values and selected elements. */
static bool has_support(Builder *b, Ref w, uint32_t depth) {
	Masked m;
	if (is_zero(b, w)) return true;
	const Inst *made = ref_is_value(w) ? ref_inst(build_fn(b), w) : NULL;
	if (!made || depth > DEPTH_MOST) return false;
	const Inst in = *made;
	switch ((Op)in.op) {
	case OP_NEG: return has_support(b, operand(b, &in, 0), depth + 1);
	case OP_PAD: return is_picked(b, &in);
	case OP_UPDATE:
	case OP_SCATTER_ADD: return is_picked(b, &in) && has_support(b, operand(b, &in, 0), depth + 1);
	case OP_ADD:
	case OP_SUB:
		return has_support(b, operand(b, &in, 0), depth + 1) &&
		       has_support(b, operand(b, &in, 1), depth + 1);
	default: return is_masked(b, w, &m, 0);
	}
}

/* The product of an array of selected elements with a factor: each element
 * times its own factor. */
static Ref scaled_within(Builder *b, Op op, Ref w, Ref factor, uint32_t depth);
static Ref scaled_elements(Builder *b, Op op, Ref w, const Inst *in, Ref factor, uint32_t depth) {
	Ctx *c = build_ctx(b);
	if (in->op == OP_SCATTER_ADD) {
		const int axis = (int)attr_int(c, OP_SCATTER_ADD, in->attr, 0);
		const int batch = (int)attr_int(c, OP_SCATTER_ADD, in->attr, 1);
		const Ref to = operand(b, in, 0), at = operand(b, in, 1), rows = operand(b, in, 2);
		Ref base = scaled_within(b, op, to, factor, depth + 1);
		Ref own = build2(b, op, rows, build_gather(b, factor, at, axis, batch));
		return build_scatter(b, OP_SCATTER_ADD, base, at, own, axis, batch);
	}
	Dim start[MAX_RANK];
	uint32_t n;
	const int64_t *words = attr_field(c, (Op)in->op, in->attr, 0, &n);
	for (uint32_t k = 0; k < n; k++) start[k] = (Dim)words[k];
	const Ref element = operand(b, in, in->op == OP_UPDATE), to = operand(b, in, 0);
	const Type small = type_in(b, element), whole = type_in(b, w);
	Ref own = build2(b, op, element, build_slice(b, factor, start, small.dims, NULL));
	if (in->op == OP_PAD) return build_pad(b, own, start, whole.dims, NULL);
	Ref base = scaled_within(b, op, to, factor, depth + 1);
	return build_update(b, base, own, start, NULL);
}

static Ref scaled_within(Builder *b, Op op, Ref w, Ref factor, uint32_t depth) {
	Masked m;
	if (is_zero(b, w)) return w;
	const Inst *made = ref_is_value(w) ? ref_inst(build_fn(b), w) : NULL;
	if (!made || depth > DEPTH_MOST) return build2(b, op, w, factor);
	const Inst in = *made;
	if (is_masked(b, w, &m, 0))
		return where(b, m.where, scaled_within(b, op, m.value, factor, depth + 1));
	if (!has_support(b, w, 0)) return build2(b, op, w, factor);
	if (in.op == OP_NEG)
		return build1(b, OP_NEG, scaled_within(b, op, operand(b, &in, 0), factor, depth + 1));
	if (in.op != OP_ADD && in.op != OP_SUB) return scaled_elements(b, op, w, &in, factor, depth);
	Ref x = scaled_within(b, op, operand(b, &in, 0), factor, depth + 1);
	return build2(b, (Op)in.op, x, scaled_within(b, op, operand(b, &in, 1), factor, depth + 1));
}

Ref cotangent_scaled(Builder *b, Op op, Ref w, Ref factor) {
	return scaled_within(b, op, w, factor, 0);
}

Ref cotangent_condition(Builder *b, Ref *w) {
	Masked m;
	if (!is_masked(b, *w, &m, 0)) return REF_NONE;
	*w = m.value;
	return m.where;
}

/* The condition without the summed axes, when it is constant along them; else
 * REF_NONE. `t` is the type of the sum. */
static Ref condition_of_sum(Builder *b, Ref condition, uint32_t n, const int *axes, const Type *t) {
	const Inst *in = ref_is_value(condition) ? ref_inst(build_fn(b), condition) : NULL;
	if (!in || in->op != OP_BROADCAST) return REF_NONE;
	const Ref narrow = operand(b, in, 0);
	const Type from = type_in(b, narrow), whole = type_in(b, condition);
	uint32_t placed;
	const int64_t *words = attr_field(build_ctx(b), OP_BROADCAST, in->attr, 1, &placed);
	int kept[MAX_RANK];
	for (uint32_t k = 0; k < placed; k++) {
		int before = 0;
		for (uint32_t i = 0; i < n; i++) {
			if (axes[i] == words[k]) return REF_NONE;
			before += axes[i] < words[k];
		}
		if (build_canon(b, from.dims[k]) != build_canon(b, whole.dims[words[k]])) return REF_NONE;
		kept[k] = (int)words[k] - before;
	}
	return build_broadcast(b, narrow, t->rank, t->dims, kept);
}

Ref cotangent_summed(Builder *b, Ref w, uint32_t n, const int *axes) {
	Masked m;
	if (!is_masked(b, w, &m, 0)) return sum_cotangent(b, w, n, axes);
	const Ref plain = build_reduce(b, OP_REDUCE_SUM, m.value, n, axes);
	const Type t = type_in(b, plain);
	const Ref condition = condition_of_sum(b, m.where, n, axes, &t);
	return condition != REF_NONE ? where(b, condition, plain) : sum_cotangent(b, w, n, axes);
}
