/* small_jacobian.c - the matrix of a small linear function, column by column,
 * without structural zeros.
 *
 * Method: each linear value is a list of scalars, one for each element; most
 * are absent. Forward mode omits zero tangents; here the same holds for each
 * element. The function is walked twice: first to count, then to emit.
 *
 * Needs: primal_linear.h.
 *
 * Contract:
 * - (residuals) -> the images of the unit vectors along a leading axis, as a
 *   batch of the linear function over the identity returns them.
 * - NULL when the code would be too large or an instruction is not supported.
 * - An element that no element of the unit vector reaches is a zero and is
 *   never computed.
 */
#include "autodiff/reverse/primal_linear.h"

enum { INPUTS_MOST = 16, ELEMENTS_MOST = 32, OPS_MOST = 160 };

typedef struct SmallJacobian {
	Ctx *c;
	const Fn *f;
	Builder *b; /* NULL: only counts */
	Arena *a;
	RefMap map;
	LinearValues dep;
	/* By value of f: the elements, REF_NONE where they are zero; NULL: not
	 * linear. */
	Ref **at;
	Ref seed; /* the constant 1 */
	uint32_t ops;
	bool open; /* a factor's shape is not constant */
} SmallJacobian;

/* ---- elements ------------------------------------------------------------ */

/* A constant shape, row-major. */
typedef struct Fixed {
	uint32_t rank, count;
	int64_t n[MAX_RANK];
} Fixed;

static bool fixed_lengths(const SmallJacobian *w, Ref r, Fixed *s) {
	const Type *t = ref_ty(w->f, r);
	*s = (Fixed){.rank = t->rank, .count = 1};
	if (t->kind != TY_TENSOR) return false;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (!dim_is_const(w->c, t->dims[i], &s->n[i]) || s->n[i] > ELEMENTS_MOST) return false;
		s->count *= (uint32_t)s->n[i];
		if (s->count > ELEMENTS_MOST) return false;
	}
	return true;
}

/* Also requires a real dtype, as every linear value has. */
static bool fixed_shape(const SmallJacobian *w, Ref r, Fixed *s) {
	return fixed_lengths(w, r, s) && dtype_is_real((Dtype)ref_ty(w->f, r)->dtype);
}

static void coordinates(const Fixed *s, uint32_t at, int64_t *x) {
	for (uint32_t i = s->rank; i-- > 0;) {
		x[i] = at % s->n[i];
		at = (uint32_t)(at / s->n[i]);
	}
}

/* The row-major index of x; UINT32_MAX outside. */
static uint32_t position(const Fixed *s, const int64_t *x) {
	int64_t at = 0;
	for (uint32_t i = 0; i < s->rank; i++) {
		if (x[i] < 0 || x[i] >= s->n[i]) return UINT32_MAX;
		at = at * s->n[i] + x[i];
	}
	return (uint32_t)at;
}

/* Stands for any element other than zero and 1 during counting. */
static Ref some(void) { return ref_value(0); }

static Ref op1(SmallJacobian *w, Op op, Ref x) {
	w->ops++;
	return w->b ? build1(w->b, op, x) : some();
}

static Ref op2(SmallJacobian *w, Op op, Ref x, Ref y) {
	w->ops++;
	return w->b ? build2(w->b, op, x, y) : some();
}

static Ref zero_of(SmallJacobian *w, Dtype d) { return w->b ? build_scalar(w->b, d, 0) : some(); }

/* Element i of an operand that is not linear. */
static Ref coefficient(SmallJacobian *w, Ref r, uint32_t i) {
	Fixed s;
	const bool fixed = fixed_lengths(w, r, &s);
	w->open |= !fixed;
	if (!w->b || !fixed) return some();
	Ref x = refmap_get(w->b, &w->map, r);
	const Fn *f = build_fn(w->b);
	const Type *t = ref_ty(f, x);
	if (!t->rank) return x;
	const Inst *in = ref_inst(f, x);
	if (in && in->op == OP_BROADCAST && !ref_ty(f, inst_arg(f, in, 0))->rank)
		return inst_arg(f, in, 0);
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t at[MAX_RANK];
	coordinates(&s, i, at);
	for (uint32_t k = 0; k < s.rank; k++) {
		start[k] = dim_const(w->c, at[k]);
		length[k] = dim_const(w->c, 1);
	}
	return build_reshape(w->b, build_slice(w->b, x, start, length, NULL), 0, NULL);
}

static Ref sum(SmallJacobian *w, Ref x, Ref y) { return !x ? y : !y ? x : op2(w, OP_ADD, x, y); }

/* ---- instructions -------------------------------------------------------- */

static Ref *elements(const SmallJacobian *w, Ref r) {
	return ref_is_value(r) ? w->at[REF_INDEX(r)] : NULL;
}

/* Element-wise instructions. Returns false when an operand that must be linear
 * is not, or when the instruction is not supported. */
static bool pointwise(SmallJacobian *w, const Inst *in, uint32_t n, Ref *out) {
	const Fn *f = w->f;
	const Op op = (Op)in->op;
	const Ref p = inst_arg(f, in, 0), q = in->nargs > 1 ? inst_arg(f, in, 1) : REF_NONE,
			  r = in->nargs > 2 ? inst_arg(f, in, 2) : REF_NONE;
	const Ref *x = elements(w, p), *y = q ? elements(w, q) : NULL, *z = r ? elements(w, r) : NULL;
	for (uint32_t i = 0; i < n; i++) {
		switch (op) {
		case OP_ADD:
			if (!x || !y) return false;
			out[i] = sum(w, x[i], y[i]);
			break;
		case OP_SUB:
			if (!x || !y) return false;
			out[i] = !y[i] ? x[i] : x[i] ? op2(w, op, x[i], y[i]) : op1(w, OP_NEG, y[i]);
			break;
		case OP_NEG: out[i] = x[i] ? op1(w, op, x[i]) : REF_NONE; break;
		case OP_MUL: {
			if (x && y) return false;
			const Ref l = x ? x[i] : y[i];
			if (l)
				out[i] = l == w->seed ? coefficient(w, x ? q : p, i)
				                      : op2(w, op, l, coefficient(w, x ? q : p, i));
			break;
		}
		case OP_DIV:
			if (!x || y) return false;
			if (x[i]) out[i] = op2(w, op, x[i], coefficient(w, q, i));
			break;
		case OP_SELECT:
			if (x || (!y && !z)) return false;
			if ((y && y[i]) || (z && z[i])) {
				const Dtype d = (Dtype)ref_ty(f, q)->dtype;
				const Ref a = y ? y[i] : coefficient(w, q, i), b = z ? z[i] : coefficient(w, r, i);
				w->ops++;
				out[i] = w->b ? build_select(w->b, coefficient(w, p, i), a ? a : zero_of(w, d),
				                             b ? b : zero_of(w, d))
				              : some();
			}
			break;
		default: return false;
		}
	}
	return true;
}

static bool known(Ctx *c, int64_t dim, int64_t *v) { return dim_is_const(c, (Dim)dim, v); }

/* Instructions that move elements: finds the source or target of each. */
static bool move(SmallJacobian *w, const Inst *in, const Fixed *from, const Fixed *to, Ref *out) {
	const Ref *x = elements(w, inst_arg(w->f, in, 0));
	uint32_t n;
	const int64_t *list =
		attr_field(w->c, (Op)in->op, in->attr, in->op == OP_BROADCAST ? 1 : 0, &n);
	const int64_t *stride = in->op == OP_SLICE || in->op == OP_PAD
	                            ? attr_field(w->c, (Op)in->op, in->attr, 2, &n)
	                            : NULL;
	int64_t at[MAX_RANK], other[MAX_RANK] = {0}, start = 0;
	const bool pads = in->op == OP_PAD;
	for (uint32_t i = 0; i < (pads ? from : to)->count; i++) {
		coordinates(pads ? from : to, i, at);
		for (uint32_t k = 0; k < from->rank; k++) {
			switch (in->op) {
			case OP_BROADCAST: other[k] = from->n[k] == 1 ? 0 : at[list[k]]; break;
			case OP_TRANSPOSE: other[list[k]] = at[k]; break;
			default:
				if (!known(w->c, list[k], &start)) return false;
				other[k] = start + stride[k] * at[k];
			}
		}
		const uint32_t there = position(pads ? to : from, other);
		if (there == UINT32_MAX) return false;
		if (pads) out[there] = x[i];
		else out[i] = x[there];
	}
	return true;
}

static bool reduce(SmallJacobian *w, const Inst *in, const Fixed *from, const Fixed *to, Ref *out) {
	const Ref *x = elements(w, inst_arg(w->f, in, 0));
	uint32_t n;
	const int64_t *axes = attr_field(w->c, OP_REDUCE_SUM, in->attr, 0, &n);
	for (uint32_t i = 0; i < from->count; i++) {
		int64_t at[MAX_RANK], kept[MAX_RANK];
		uint32_t rank = 0;
		coordinates(from, i, at);
		for (uint32_t k = 0; k < from->rank; k++) {
			bool gone = false;
			for (uint32_t j = 0; j < n; j++) gone = gone || axes[j] == k;
			if (!gone) kept[rank++] = at[k];
		}
		Ref *sum_of = &out[position(to, kept)];
		*sum_of = sum(w, *sum_of, x[i]);
	}
	return true;
}

static bool concat(SmallJacobian *w, const Inst *in, const Fixed *to, Ref *out) {
	const int64_t axis = attr_int(w->c, OP_CONCAT, in->attr, 0);
	int64_t offset = 0, at[MAX_RANK];
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref r = inst_arg(w->f, in, k), *x = elements(w, r);
		Fixed from;
		Value v;
		if (!fixed_shape(w, r, &from)) return false;
		/* An operand that is not linear must be a literal array of zeros. */
		if (!x && (!ref_splat(w->f, r, &v) ||
		           (v.dtype == DT_F64 ? v.f != 0 : v.dtype != DT_F32 || v.f32 != 0)))
			return false;
		for (uint32_t i = 0; x && i < from.count; i++) {
			coordinates(&from, i, at);
			at[axis] += offset;
			out[position(to, at)] = x[i];
		}
		offset += from.n[axis];
	}
	return true;
}

/* The row at one constant index. */
static bool pick(SmallJacobian *w, const Inst *in, const Fixed *from, const Fixed *to, Ref *out) {
	const Ref *x = elements(w, inst_arg(w->f, in, 0));
	const Const *k = ref_constant(w->f, inst_arg(w->f, in, 1));
	const int64_t axis = attr_int(w->c, OP_GATHER, in->attr, 0);
	int64_t index, at[MAX_RANK], other[MAX_RANK] = {0};
	if (!x || !k || k->value.kind != V_SCALAR || !value_as_i64(k->value, &index)) return false;
	for (uint32_t i = 0; i < to->count; i++) {
		coordinates(to, i, at);
		for (uint32_t a = 0, b = 0; a < from->rank; a++)
			other[a] = (int64_t)a == axis ? index : at[b++];
		const uint32_t there = position(from, other);
		if (there == UINT32_MAX) return false;
		out[i] = x[there];
	}
	return true;
}

static bool apply(SmallJacobian *w, const Inst *in) {
	Fixed from, to;
	if (in->nresults != 1 || in->nregions || !fixed_shape(w, inst_result(in, 0), &to)) return false;
	Ref *out = w->at[in->results] = ARENA_ARRAY(w->a, Ref, to.count + 1);
	for (uint32_t i = 0; i < to.count; i++) out[i] = REF_NONE;
	const bool same = in->op == OP_SELECT || prims[in->op].elementwise;
	if (w->b) {
		build_at(w->b, in->span);
		build_chain(w->b, in->chain);
	}
	if (same) return pointwise(w, in, to.count, out);
	if (in->op == OP_CONCAT) return concat(w, in, &to, out);
	if (!elements(w, inst_arg(w->f, in, 0)) || !fixed_shape(w, inst_arg(w->f, in, 0), &from))
		return false;
	switch ((Op)in->op) {
	case OP_RESHAPE:
		memcpy(out, elements(w, inst_arg(w->f, in, 0)), to.count * sizeof *out);
		return true;
	case OP_BROADCAST:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_PAD: return move(w, in, &from, &to, out);
	case OP_GATHER: return pick(w, in, &from, &to, out);
	case OP_REDUCE_SUM: return reduce(w, in, &from, &to, out);
	default: return false;
	}
}

/* ---- the function -------------------------------------------------------- */

static const Inst *inst_at(const SmallJacobian *w, uint32_t i) {
	const Region *body = &w->f->regions.at[0];
	return &w->f->insts.at[w->f->inst_order.at[body->insts + i]];
}

/* Computes the images of all unit vectors, one after the other. Returns false
 * when an instruction is not supported. */
static bool walk(SmallJacobian *w, uint32_t n, uint32_t m, Ref *out) {
	const Region *body = &w->f->regions.at[0];
	const Ref x = fn_param(w->f, fn_nparams(w->f) - 1u);
	for (uint32_t k = 0; k < n; k++) {
		Ref *unit = w->at[REF_INDEX(x)] = ARENA_ARRAY(w->a, Ref, n + 1);
		for (uint32_t i = 0; i < n; i++) unit[i] = i == k ? w->seed : REF_NONE;
		for (uint32_t i = 0; i < body->ninsts; i++)
			if (any_linear_operand(&w->dep, inst_at(w, i)) && !apply(w, inst_at(w, i)))
				return false;
		const Ref *y = elements(w, fn_result(w->f, 0));
		if (!y) return false;
		memcpy(out + k * m, y, m * sizeof *out);
	}
	return true;
}

static void make_small_jacobian(Ctx *c, Transform *d) {
	Fn *f = d->from;
	const uint32_t np = fn_nparams(f), residuals = d->order;
	SmallJacobian w = {.c = c, .f = f, .a = d->scratch, .seed = ref_value(1)};
	Fixed from, to;
	if (np != residuals + 1 || fn_nresults(f) != 1 || !ref_is_value(fn_result(f, 0))) return;
	const Ref x = fn_param(f, residuals), result = fn_result(f, 0);
	if (!fixed_shape(&w, x, &from) || !fixed_shape(&w, result, &to) || !from.count || !to.count ||
	    from.count > INPUTS_MOST)
		return;
	const Region *body = &f->regions.at[0];
	w.dep = (LinearValues){.c = c,
	                       .f = f,
	                       .scratch = w.a,
	                       .transform = "jacobian",
	                       .linear = ARENA_ARRAY(w.a, bool, f->vals.n + 1u)};
	w.dep.linear[REF_INDEX(x)] = true;
	mark_linear(&w.dep);
	for (uint32_t i = 0; i < body->ninsts; i++) {
		const Inst *in = inst_at(&w, i);
		if (in->op == OP_CALL || (in->nregions && touches_linear(&w.dep, in))) return;
	}
	w.at = ARENA_ARRAY(w.a, Ref *, f->vals.n + 1u);
	Ref *all = ARENA_ARRAY(w.a, Ref, from.count * to.count + 1);
	if (!walk(&w, from.count, to.count, all) || w.open || w.ops > OPS_MOST) return;

	memset(w.at, 0, f->vals.n * sizeof *w.at);
	w.b = build_begin(c, transform_name(c, f, "columns"), f->span, f);
	w.map = refmap_new(w.b, f, true);
	for (uint32_t k = 0; k < residuals; k++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		refmap_set(&w.map, fn_param(f, k), build_param(w.b, v->type, v->name));
	}
	for (uint32_t i = 0; i < body->ninsts; i++)
		if (!any_linear_operand(&w.dep, inst_at(&w, i)))
			build_copy_inst(w.b, &w.map, inst_at(&w, i));
	const Dtype dx = (Dtype)ref_ty(f, x)->dtype, dy = (Dtype)ref_ty(f, result)->dtype;
	w.seed = build_scalar(w.b, dx, 1);
	walk(&w, from.count, to.count, all);
	Type t = *ref_ty(f, result);
	Dim one = dim_const(c, 1), shape[MAX_RANK] = {dim_const(c, from.count)};
	for (uint32_t i = 0; i < from.count * to.count; i++)
		all[i] = build_reshape(w.b, all[i] ? all[i] : build_scalar(w.b, dy, 0), 1, &one);
	for (uint32_t i = 0; i < t.rank; i++) shape[i + 1] = t.dims[i];
	Ref matrix =
		build_reshape(w.b, build_concat(w.b, from.count * to.count, all, 0), t.rank + 1u, shape);
	d->fn = transform_own(d, build_end(w.b, 1, &matrix));
}

Fn *ad_small_jacobian(Ctx *c, Fn *linear, uint32_t nresiduals) {
	return transform_get(c, linear, TR_SMALL_JACOBIAN, nresiduals, NULL, make_small_jacobian)->fn;
}
