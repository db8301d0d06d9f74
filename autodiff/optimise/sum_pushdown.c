/* sum_pushdown.c - sums pushed below linear operations.
 *
 * Method: sum_d W x_d becomes W sum_d x_d, where d is an axis or the terms are
 * separate values. The coefficients of highest degree of a Taylor series enter
 * every operation linearly. Where a program sums second derivatives, as a
 * Laplacian does, their propagation therefore collapses into one: the forward
 * Laplacian (Li et al., 2023), the collapsed Taylor mode (Dangel et al., 2025).
 *
 * A sum is a list of terms, each a product of factors, and a set of axes.
 * Whatever all terms of a group have in common is factored out: a factor that
 * is constant along the axes, a contraction with one matrix, a transposition, a
 * slice. The remainder is a sum again. A value is opened only when it has no
 * other use, so that its instruction becomes dead.
 *
 * Needs: autodiff.h; a function with its calls inlined.
 *
 * Contract:
 * - push_sums_down returns a function with the same parameters and results, and
 *   the same values up to rounding.
 * - Control flow, effects and failures do not change.
 * - Only sums whose terms come out of contractions change. A sum of
 *   element-wise terms stays as the program has it.
 */
#include "autodiff/optimise/sum_pushdown.h"

#define FACTORS_MOST 12u
#define TERMS_MOST 64u
/* Depth of element-wise operations between a factor and the broadcasts that
 * show it to be constant along an axis. */
#define REPEAT_DEPTH 6

typedef struct SummedAxes {
	uint32_t n;
	int at[MAX_RANK]; /* ascending */
} SummedAxes;

typedef struct Factor {
	Ref src; /* in the source function; REF_NONE: built here, or of another shape than there */
	Ref ref; /* in the function under construction */
} Factor;

typedef struct ProductTerm {
	uint32_t n;
	bool minus;
	Ref whole; /* the product, where it already exists */
	Factor at[FACTORS_MOST];
} ProductTerm;

typedef struct SumPushdown {
	Ctx *c;
	const Fn *f;
	Builder *b;
	Arena *scratch;
	RefMap map;
	uint32_t *uses;  /* by value of f */
	bool *absorbed;  /* by value of f: it is a term of a larger sum */
	RegionId region; /* of the sum being processed */
	uint32_t saved;  /* contractions that a sum was moved below, or that were merged */
} SumPushdown;

/* ---- axes ---------------------------------------------------------------- */

static bool has(const SummedAxes *a, int axis) {
	for (uint32_t i = 0; i < a->n; i++)
		if (a->at[i] == axis) return true;
	return false;
}

static void insert(SummedAxes *a, int axis) {
	uint32_t i = a->n++;
	for (; i && a->at[i - 1] > axis; i--) a->at[i] = a->at[i - 1];
	a->at[i] = axis;
}

/* The index of an axis after those in `gone` have been summed. */
static int moved(int axis, const SummedAxes *gone) {
	int less = 0;
	for (uint32_t k = 0; k < gone->n; k++) less += gone->at[k] < axis;
	return axis - less;
}

static uint32_t remaining(const Type *t, const SummedAxes *gone, Dim *dims) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->rank; i++)
		if (!has(gone, (int)i)) dims[n++] = t->dims[i];
	return n;
}

static Type type_in(const SumPushdown *k, Ref r) { return *ref_ty(build_fn(k->b), r); }

static TypeId reduced_type(const SumPushdown *k, Ref r, const SummedAxes *gone) {
	Type t = type_in(k, r);
	Dim dims[MAX_RANK];
	const uint32_t n = remaining(&t, gone, dims);
	return type_tensor(k->c, (Dtype)t.dtype, n, dims);
}

static SummedAxes attr_axes(const SumPushdown *k, const Inst *in, uint32_t field) {
	SummedAxes a = {0};
	const int64_t *words = attr_field(k->c, (Op)in->op, in->attr, field, &a.n);
	for (uint32_t i = 0; i < a.n; i++) a.at[i] = (int)words[i];
	return a;
}

/* ---- what can be opened -------------------------------------------------- */

static const Inst *opened(const SumPushdown *k, Ref src) {
	if (!ref_is_value(src) || k->uses[REF_INDEX(src)] != 1) return NULL;
	const Inst *in = ref_inst(k->f, src);
	return in && in->parent == k->region && in->nresults == 1 ? in : NULL;
}

static Factor factor_of(SumPushdown *k, Ref src) {
	return (Factor){src, refmap_get(k->b, &k->map, src)};
}

/* A scalar, or a scalar broadcast to the shape: it commutes with every linear
 * operation. Returns the scalar, else REF_NONE. */
static Ref uniform(const SumPushdown *k, Ref r) {
	const Fn *to = build_fn(k->b);
	if (!ref_ty(to, r)->rank) return r;
	Value v;
	if (ref_splat(to, r, &v)) return build_const(k->b, v);
	const Inst *in = ref_inst(to, r);
	return in && in->op == OP_BROADCAST && !ref_ty(to, inst_arg(to, in, 0))->rank
	           ? inst_arg(to, in, 0)
	           : REF_NONE;
}

/* r without the axes, when it is constant along them; else REF_NONE. */
static Ref along(SumPushdown *k, Ref r, const SummedAxes *gone, int depth) {
	const Fn *to = build_fn(k->b);
	if (!gone->n) return r;
	const TypeId type = reduced_type(k, r, gone);
	Value v;
	if (ref_splat(to, r, &v)) return build_broadcast_scalar(k->b, build_const(k->b, v), type);
	const Inst *found = ref_inst(to, r);
	if (!found || depth > REPEAT_DEPTH) return REF_NONE;
	const Inst in = *found;
	if (in.op == OP_BROADCAST) {
		const SummedAxes axes = attr_axes(k, &in, 1);
		int to_axes[MAX_RANK];
		for (uint32_t i = 0; i < axes.n; i++) {
			if (has(gone, axes.at[i])) return REF_NONE;
			to_axes[i] = moved(axes.at[i], gone);
		}
		const Type t = *type_of(k->c, type);
		return build_broadcast(k->b, inst_arg(to, &in, 0), t.rank, t.dims, to_axes);
	}
	if ((!prims[in.op].elementwise && in.op != OP_SELECT && in.op != OP_CONVERT) ||
	    prims[in.op].effect != EFFECT_PURE)
		return REF_NONE;
	Ref args[3];
	for (uint32_t i = 0; i < in.nargs; i++) {
		args[i] = along(k, inst_arg(build_fn(k->b), &in, i), gone, depth + 1);
		if (args[i] == REF_NONE) return REF_NONE;
	}
	return build(k->b, (Op)in.op, in.nargs, args, in.attr, NULL);
}

/* ---- terms --------------------------------------------------------------- */

typedef VEC(ProductTerm) ProductSum;

static bool is_splat(const SumPushdown *k, Ref r) {
	Value v;
	return ref_splat(build_fn(k->b), r, &v);
}

/* Merges the constants among the factors into one. */
static void join_numbers(SumPushdown *k, ProductTerm *t) {
	uint32_t n = 0, first = FACTORS_MOST;
	for (uint32_t i = 0; i < t->n; i++) {
		if (first < n && is_splat(k, t->at[i].ref))
			t->at[first] = (Factor){REF_NONE, build2(k->b, OP_MUL, t->at[first].ref, t->at[i].ref)};
		else t->at[n++] = t->at[i];
		if (first == FACTORS_MOST && is_splat(k, t->at[n - 1].ref)) first = n - 1;
	}
	t->n = n;
}

/* Opens factors of factors, and signs, while there is space. */
static void open_factors(SumPushdown *k, ProductTerm *t) {
	for (uint32_t i = 0; i < t->n;) {
		const Inst *in = opened(k, t->at[i].src);
		if (in && in->op == OP_NEG) {
			t->minus = !t->minus;
			t->at[i] = factor_of(k, inst_arg(k->f, in, 0));
			t->whole = REF_NONE;
		} else if (in && in->op == OP_MUL && t->n < FACTORS_MOST) {
			t->at[i] = factor_of(k, inst_arg(k->f, in, 0));
			t->at[t->n++] = factor_of(k, inst_arg(k->f, in, 1));
		} else {
			i++;
		}
	}
	join_numbers(k, t);
}

/* The index of the factor that is a sum that can be opened, while all other
 * factors are uniform; -1: none. */
static int sum_in(const SumPushdown *k, const ProductTerm *t) {
	int at = -1;
	for (uint32_t i = 0; i < t->n; i++) {
		const Inst *in = opened(k, t->at[i].src);
		if (at < 0 && in && (in->op == OP_ADD || in->op == OP_SUB || in->op == OP_NEG)) at = (int)i;
		else if (t->n > 1 && uniform(k, t->at[i].ref) == REF_NONE) return -1;
	}
	return at;
}

/* Collects the terms of a sum, each with its uniform factors. Returns false
 * when there are too many. */
static bool open_sum(SumPushdown *k, ProductSum *terms, const ProductTerm *t) {
	const int at = sum_in(k, t);
	if (at >= 0) {
		const Inst *in = opened(k, t->at[at].src);
		for (uint32_t i = 0; i < in->nargs; i++) {
			ProductTerm part = *t;
			part.minus = t->minus != (in->op == OP_NEG || (in->op == OP_SUB && i == 1));
			part.at[at] = factor_of(k, inst_arg(k->f, in, i));
			part.whole = t->n == 1 ? part.at[0].ref : REF_NONE;
			if (!open_sum(k, terms, &part)) return false;
		}
		return true;
	}
	if (terms->n >= TERMS_MOST) return false;
	VEC_PUSH(k->scratch, terms, *t);
	open_factors(k, &terms->at[terms->n - 1]);
	return true;
}

static Ref product(SumPushdown *k, const ProductTerm *t) {
	if (t->whole != REF_NONE) return t->whole;
	Ref r = t->at[0].ref;
	for (uint32_t i = 1; i < t->n; i++) r = build2(k->b, OP_MUL, r, t->at[i].ref);
	return r;
}

static Ref accumulate(SumPushdown *k, Ref sum, Ref x, bool minus) {
	if (sum == REF_NONE) return minus ? build1(k->b, OP_NEG, x) : x;
	return build2(k->b, minus ? OP_SUB : OP_ADD, sum, x);
}

static int factor_at(const ProductTerm *t, Ref ref) {
	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i].ref == ref) return (int)i;
	return -1;
}

static void without(ProductTerm *t, uint32_t i) {
	t->at[i] = t->at[--t->n];
	t->whole = REF_NONE;
	if (t->n == 1) t->whole = t->at[0].ref;
}

static Ref total(SumPushdown *k, const ProductSum *given, const SummedAxes *gone);

/* ---- common factors ------------------------------------------------------ */

/* The factor of term i that most terms share, among those constant along the
 * axes. Each term keeps at least one factor. */
static Ref common_factor(SumPushdown *k, const ProductSum *t, const bool *done, uint32_t i,
                         const SummedAxes *gone, uint32_t *count) {
	Ref best = REF_NONE;
	*count = 0;
	for (uint32_t m = 0; m < t->at[i].n; m++) {
		const Ref r = t->at[i].at[m].ref;
		uint32_t n = 0;
		for (uint32_t j = 0; j < t->n; j++)
			n += !done[j] && t->at[j].n > 1 && factor_at(&t->at[j], r) >= 0;
		if (n <= *count || along(k, r, gone, 0) == REF_NONE) continue;
		*count = n;
		best = r;
	}
	return best;
}

/* The terms that share a factor with term i, as that factor times a sum. */
static Ref by_factor(SumPushdown *k, const ProductSum *t, bool *done, uint32_t i,
                     const SummedAxes *gone) {
	uint32_t count;
	const Ref common = t->at[i].n > 1 ? common_factor(k, t, done, i, gone, &count) : REF_NONE;
	if (common == REF_NONE || (count < 2 && !gone->n)) return REF_NONE;
	ProductSum rest = {0};
	for (uint32_t j = i; j < t->n; j++) {
		const int m = done[j] || t->at[j].n < 2 ? -1 : factor_at(&t->at[j], common);
		if (m < 0) continue;
		done[j] = true;
		ProductTerm left = t->at[j];
		without(&left, (uint32_t)m);
		VEC_PUSH(k->scratch, &rest, left);
	}
	const Ref outer = along(k, common, gone, 0), sum = total(k, &rest, gone);
	return build2(k->b, OP_MUL, sum, outer);
}

/* ---- common operations --------------------------------------------------- */

/* A linear operation that is the outermost of a term: all other factors of the
 * term are uniform. */
typedef struct Outer {
	Inst in;     /* in f; for a contraction perhaps with its operands exchanged */
	Ref arg[3];  /* its operands, in f */
	uint32_t at; /* the index of the factor */
} Outer;

/* Puts the vector first in a contraction of a matrix with a vector, so that
 * both spellings compare equal. */
static void turn_dot(const SumPushdown *k, Outer *o) {
	uint32_t own[2], n = 0;
	int64_t words[4 * (MAX_RANK + 1)];
	for (uint32_t s = 0; s < 2; s++)
		own[s] = ref_ty(k->f, o->arg[s])->rank - attr_axes(k, &o->in, s).n -
		         attr_axes(k, &o->in, 2 + s).n;
	if (own[1] || !own[0]) return;
	/* The fields are: left and right contracted, left and right shared. */
	for (uint32_t field = 0; field < 4; field++) {
		const SummedAxes a = attr_axes(k, &o->in, field ^ 1);
		words[n++] = a.n;
		for (uint32_t i = 0; i < a.n; i++) words[n++] = a.at[i];
	}
	o->in.attr = attr_intern(k->c, words, n);
	const Ref first = o->arg[0];
	o->arg[0] = o->arg[1];
	o->arg[1] = first;
}

static bool outer_of(const SumPushdown *k, const ProductTerm *t, Outer *o) {
	int at = -1;
	for (uint32_t i = 0; i < t->n; i++) {
		const Inst *in = opened(k, t->at[i].src);
		if (in && at < 0) switch ((Op)in->op) {
			case OP_DOT:
			case OP_BROADCAST:
			case OP_RESHAPE:
			case OP_TRANSPOSE:
			case OP_SLICE:
			case OP_GATHER:
			case OP_SELECT:
			case OP_REDUCE_SUM:
				at = (int)i;
				o->in = *in;
				continue;
			default: break;
			}
		if (uniform(k, t->at[i].ref) == REF_NONE) return false;
	}
	if (at < 0) return false;
	o->at = (uint32_t)at;
	for (uint32_t i = 0; i < o->in.nargs && i < 3; i++) o->arg[i] = inst_arg(k->f, &o->in, i);
	if (o->in.op == OP_DOT) turn_dot(k, o);
	return true;
}

/* Whether x and y are the same operation, apart from operand `side`. */
static bool same_outer(const SumPushdown *k, const Outer *x, const Outer *y, uint32_t side) {
	if (x->in.op != y->in.op || x->in.attr != y->in.attr || x->in.nargs != y->in.nargs)
		return false;
	for (uint32_t i = 0; i < x->in.nargs; i++) {
		const Ref p = x->arg[i], q = y->arg[i];
		if (i == side ? ref_type(k->f, p) != ref_type(k->f, q) : p != q) return false;
	}
	return true;
}

/* Finds the axes of operand `side` that are summed, from the axes of the
 * contraction's result. Also returns the contracted and the shared axes as
 * numbered after the sum. */
static bool dot_axes(const SumPushdown *k, const Outer *o, uint32_t side, const SummedAxes *gone,
                     SummedAxes *summed, SummedAxes *contracted, SummedAxes *shared) {
	const Inst *dot = &o->in;
	const SummedAxes own_contracted = attr_axes(k, dot, side),
					 own_shared = attr_axes(k, dot, 2 + side);
	int at = (int)own_shared.n;
	*summed = (SummedAxes){0};
	for (uint32_t i = 0; i < gone->n; i++)
		if (gone->at[i] < at) return false;
	for (uint32_t s = 0; s <= side; s++) {
		const SummedAxes c = attr_axes(k, dot, s), b = attr_axes(k, dot, 2 + s);
		const uint32_t rank = ref_ty(k->f, o->arg[s])->rank;
		for (uint32_t i = 0; i < rank; i++) {
			if (has(&c, (int)i) || has(&b, (int)i)) continue;
			if (has(gone, at++) && s == side) insert(summed, (int)i);
		}
	}
	*contracted = own_contracted;
	*shared = own_shared;
	for (uint32_t i = 0; i < contracted->n; i++)
		contracted->at[i] = moved(contracted->at[i], summed);
	for (uint32_t i = 0; i < shared->n; i++) shared->at[i] = moved(shared->at[i], summed);
	return true;
}

/* Maps the axes of a reshape's result to those of the operand. Each must have
 * the same product of extents before it. */
static bool reshape_axes(const SumPushdown *k, const Type *from, const Type *to,
                         const SummedAxes *gone, SummedAxes *inner) {
	for (uint32_t i = 0; i < gone->n; i++) {
		Dim before = dim_const(k->c, 1), reached = dim_const(k->c, 1);
		for (int a = 0; a < gone->at[i]; a++)
			before = dim_mul(k->c, before, build_canon(k->b, to->dims[a]));
		bool found = false;
		for (uint32_t a = 0; a < from->rank && !found; a++) {
			const Dim d = build_canon(k->b, from->dims[a]);
			if (!has(inner, (int)a) && reached == before &&
			    d == build_canon(k->b, to->dims[gone->at[i]])) {
				insert(inner, (int)a);
				found = true;
			}
			reached = dim_mul(k->c, reached, d);
		}
		if (!found) return false;
	}
	return true;
}

/* Maps the axes of the result to those of the operand. Returns false where the
 * sum cannot pass through. */
static bool inner_axes(const SumPushdown *k, const Outer *o, Ref result, Ref operand,
                       const SummedAxes *gone, SummedAxes *inner) {
	const Type from = type_in(k, operand), to = type_in(k, result);
	*inner = (SummedAxes){0};
	switch ((Op)o->in.op) {
	case OP_TRANSPOSE: {
		const SummedAxes perm = attr_axes(k, &o->in, 0);
		for (uint32_t i = 0; i < gone->n; i++) insert(inner, perm.at[gone->at[i]]);
		return true;
	}
	case OP_REDUCE_SUM: {
		const SummedAxes summed = attr_axes(k, &o->in, 0);
		int at = 0;
		for (uint32_t i = 0; i < from.rank; i++)
			if (!has(&summed, (int)i) && has(gone, at++)) insert(inner, (int)i);
		return true;
	}
	case OP_BROADCAST: {
		const SummedAxes axes = attr_axes(k, &o->in, 1);
		for (uint32_t i = 0; i < axes.n; i++)
			if (has(gone, axes.at[i])) {
				if (build_canon(k->b, from.dims[i]) != build_canon(k->b, to.dims[axes.at[i]]))
					return false;
				insert(inner, (int)i);
			}
		return inner->n == gone->n;
	}
	case OP_RESHAPE: return reshape_axes(k, &from, &to, gone, inner);
	case OP_SLICE: {
		uint32_t n;
		const int64_t *start = attr_field(k->c, OP_SLICE, o->in.attr, 0, &n),
					  *stride = attr_field(k->c, OP_SLICE, o->in.attr, 2, &n);
		for (uint32_t i = 0; i < gone->n; i++) {
			const int a = gone->at[i];
			int64_t first;
			if (!dim_is_const(k->c, (Dim)start[a], &first) || first || stride[a] != 1 ||
			    build_canon(k->b, from.dims[a]) != build_canon(k->b, to.dims[a]))
				return false;
		}
		*inner = *gone;
		return true;
	}
	case OP_GATHER: { /* one row: the indexed axis no longer exists in the result */
		const int axis = (int)attr_int(k->c, OP_GATHER, o->in.attr, 0);
		if (attr_int(k->c, OP_GATHER, o->in.attr, 1) || ref_ty(k->f, o->arg[1])->rank) return false;
		for (uint32_t i = 0; i < gone->n; i++) insert(inner, gone->at[i] + (gone->at[i] >= axis));
		return true;
	}
	default: *inner = *gone; return true;
	}
}

/* Applies the operation to the sum of its operands. `gone` are the axes of its
 * result, `inner` those of the operand. */
static Ref outer_again(SumPushdown *k, const Outer *o, Ref result, Ref x, const SummedAxes *gone,
                       const SummedAxes *inner) {
	Builder *b = k->b;
	const Type t = *type_of(k->c, reduced_type(k, result, gone));
	int axes[MAX_RANK];
	switch ((Op)o->in.op) {
	case OP_TRANSPOSE: {
		const SummedAxes perm = attr_axes(k, &o->in, 0);
		uint32_t n = 0;
		for (uint32_t i = 0; i < perm.n; i++)
			if (!has(inner, perm.at[i])) axes[n++] = moved(perm.at[i], inner);
		return build_transpose(b, x, axes);
	}
	case OP_REDUCE_SUM: {
		const SummedAxes summed = attr_axes(k, &o->in, 0);
		for (uint32_t i = 0; i < summed.n; i++) axes[i] = moved(summed.at[i], inner);
		return build_reduce(b, OP_REDUCE_SUM, x, summed.n, axes);
	}
	case OP_BROADCAST: {
		const SummedAxes to = attr_axes(k, &o->in, 1);
		uint32_t n = 0;
		for (uint32_t i = 0; i < to.n; i++)
			if (!has(gone, to.at[i])) axes[n++] = moved(to.at[i], gone);
		return build_broadcast(b, x, t.rank, t.dims, axes);
	}
	case OP_RESHAPE: return build_reshape(b, x, t.rank, t.dims);
	case OP_SLICE: {
		uint32_t n, m = 0;
		Dim start[MAX_RANK], length[MAX_RANK];
		int64_t stride[MAX_RANK];
		const int64_t *from = attr_field(k->c, OP_SLICE, o->in.attr, 0, &n),
					  *by = attr_field(k->c, OP_SLICE, o->in.attr, 2, &n);
		for (uint32_t i = 0; i < n; i++) {
			if (has(gone, (int)i)) continue;
			start[m] = build_canon(b, dim_subst(k->c, (Dim)from[i], k->map.dims, k->map.ndims));
			stride[m] = by[i];
			length[m] = t.dims[m];
			m++;
		}
		return build_slice(b, x, start, length, stride);
	}
	case OP_GATHER: {
		const int axis = moved((int)attr_int(k->c, OP_GATHER, o->in.attr, 0), inner);
		return build_gather(b, x, refmap_get(b, &k->map, o->arg[1]), axis, 0);
	}
	default: return REF_NONE;
	}
}

/* Whether one side of the selection is zero; *other is the index of the other
 * side. */
static bool zero_side(const SumPushdown *k, const Inst *select, uint32_t *other) {
	Value v;
	for (uint32_t i = 1; i <= 2; i++) {
		if (!ref_splat(k->f, inst_arg(k->f, select, i), &v)) continue;
		double zero;
		if (!value_as_f64(v, &zero) || zero != 0) continue;
		*other = 3 - i;
		return true;
	}
	return false;
}

/* The operands of the group, each times the uniform factors of its term. */
static ProductSum operands(SumPushdown *k, const ProductSum *t, bool *done, const bool *grouped,
                           const Outer *outer, uint32_t side) {
	ProductSum inner = {0};
	for (uint32_t j = 0; j < t->n; j++) {
		if (!grouped[j]) continue;
		done[j] = true;
		ProductTerm x = {.n = 1, .minus = t->at[j].minus};
		x.at[0] = factor_of(k, outer[j].arg[side]);
		for (uint32_t m = 0; m < t->at[j].n; m++) {
			if (m == outer[j].at) continue;
			const Ref scale = uniform(k, t->at[j].at[m].ref);
			x.at[x.n++] =
				(Factor){REF_NONE, build_broadcast_scalar(k->b, scale,
			                                              ref_type(build_fn(k->b), x.at[0].ref))};
		}
		if (x.n == 1) x.whole = x.at[0].ref;
		VEC_PUSH(k->scratch, &inner, x);
	}
	return inner;
}

static uint32_t group(const SumPushdown *k, const ProductSum *t, const bool *done,
                      const bool *has_outer, const Outer *outer, uint32_t i, uint32_t side,
                      bool *grouped) {
	uint32_t n = 0;
	for (uint32_t j = 0; j < t->n; j++) {
		grouped[j] =
			j >= i && !done[j] && has_outer[j] && same_outer(k, &outer[i], &outer[j], side);
		n += grouped[j];
	}
	return n;
}

static Ref by_contraction(SumPushdown *k, const ProductSum *t, bool *done, const bool *has_outer,
                          const Outer *outer, uint32_t i, const SummedAxes *gone) {
	const Inst dot = outer[i].in;
	SummedAxes summed[2], contracted[2], shared[2];
	bool *grouped = ARENA_ARRAY(k->scratch, bool, t->n);
	if (!dtype_is_real((Dtype)ref_ty(k->f, inst_result(&dot, 0))->dtype)) return REF_NONE;
	for (uint32_t s = 0; s < 2; s++)
		if (!dot_axes(k, &outer[i], s, gone, &summed[s], &contracted[s], &shared[s]))
			return REF_NONE;
	uint32_t side = group(k, t, done, has_outer, outer, i, 1, grouped), n;
	side = group(k, t, done, has_outer, outer, i, 0, grouped) < side;
	n = group(k, t, done, has_outer, outer, i, side, grouped);
	if (n < 2 && !gone->n) return REF_NONE;
	if (n < 2) side = summed[0].n == 0; /* the side that varies along the axes */
	ProductSum inner = operands(k, t, done, grouped, outer, side), other = {0};
	ProductTerm rest = {.n = 1};
	rest.at[0] = factor_of(k, outer[i].arg[1 - side]);
	rest.whole = rest.at[0].ref;
	VEC_PUSH(k->scratch, &other, rest);
	Ref x[2];
	x[side] = total(k, &inner, &summed[side]);
	x[1 - side] = total(k, &other, &summed[1 - side]);
	k->saved++;
	return build_dot(k->b, x[0], x[1], contracted[0].n, contracted[0].at, contracted[1].at,
	                 shared[0].n, shared[0].at, shared[1].at);
}

/* The terms with the same outermost linear operation as term i, as that
 * operation of a sum. */
static Ref by_operation(SumPushdown *k, const ProductSum *t, bool *done, uint32_t i,
                        const SummedAxes *gone) {
	bool *has_outer = ARENA_ARRAY(k->scratch, bool, t->n),
		 *grouped = ARENA_ARRAY(k->scratch, bool, t->n);
	Outer *outer = ARENA_ARRAY(k->scratch, Outer, t->n);
	for (uint32_t j = i; j < t->n; j++)
		has_outer[j] = !done[j] && outer_of(k, &t->at[j], &outer[j]);
	if (!has_outer[i]) return REF_NONE;
	const Op op = (Op)outer[i].in.op;
	build_at(k->b, outer[i].in.span); /* the source location and call chain for diagnostics */
	build_chain(k->b, outer[i].in.chain);
	if (op == OP_DOT) return by_contraction(k, t, done, has_outer, outer, i, gone);
	uint32_t side = 0;
	Ref condition = REF_NONE;
	if (op == OP_SELECT) {
		if (!zero_side(k, &outer[i].in, &side)) return REF_NONE;
		condition = along(k, refmap_get(k->b, &k->map, outer[i].arg[0]), gone, 0);
		if (condition == REF_NONE) return REF_NONE;
	}
	if (group(k, t, done, has_outer, outer, i, side, grouped) < 2 && !gone->n) return REF_NONE;
	const Ref result = t->at[i].at[outer[i].at].ref,
			  operand = refmap_get(k->b, &k->map, outer[i].arg[side]);
	SummedAxes inner;
	if (!inner_axes(k, &outer[i], result, operand, gone, &inner)) return REF_NONE;
	const ProductSum xs = operands(k, t, done, grouped, outer, side);
	const Ref x = total(k, &xs, &inner);
	if (op != OP_SELECT) return outer_again(k, &outer[i], result, x, gone, &inner);
	const Ref zero = build_zeros(k->b, ref_type(build_fn(k->b), x));
	return side == 1 ? build_select(k->b, condition, x, zero)
	                 : build_select(k->b, condition, zero, x);
}

/* ---- sums ---------------------------------------------------------------- */

/* The sum of the terms over the axes. */
static Ref total(SumPushdown *k, const ProductSum *given, const SummedAxes *gone) {
	ProductSum t = {0};
	bool few = true;
	for (uint32_t i = 0; i < given->n && few; i++) few = open_sum(k, &t, &given->at[i]);
	if (!few) t = *given;
	bool *done = ARENA_ARRAY(k->scratch, bool, t.n);
	Ref sum = REF_NONE, plain = REF_NONE;
	const SpanId span = build_span(k->b);
	const ChainId chain = build_get_chain(k->b);
	for (uint32_t i = 0; i < t.n; i++) {
		if (done[i]) continue;
		Ref part = by_factor(k, &t, done, i, gone);
		if (part == REF_NONE) part = by_operation(k, &t, done, i, gone);
		build_at(k->b, span);
		build_chain(k->b, chain);
		if (part != REF_NONE) sum = accumulate(k, sum, part, false);
		else plain = accumulate(k, plain, product(k, &t.at[i]), t.at[i].minus);
	}
	if (plain != REF_NONE && gone->n)
		plain = build_reduce(k->b, OP_REDUCE_SUM, plain, gone->n, gone->at);
	return sum == REF_NONE ? plain : plain == REF_NONE ? sum : build2(k->b, OP_ADD, sum, plain);
}

/* Called for each copied sum: replaces it by an equivalent form when that moves
 * it below a contraction. */
static void visit(Builder *b, RefMap *m, const Inst *in) {
	(void)b;
	SumPushdown *k = m->copied_ud;
	if (in->op != OP_REDUCE_SUM && in->op != OP_ADD && in->op != OP_SUB) return;
	const Ref result = inst_result(in, 0);
	if (k->absorbed[REF_INDEX(result)] || !dtype_is_real((Dtype)ref_ty(k->f, result)->dtype))
		return;
	SummedAxes gone = {0};
	if (in->op == OP_REDUCE_SUM) gone = attr_axes(k, in, 0);
	ProductSum terms = {0};
	for (uint32_t i = 0; i < in->nargs; i++) {
		ProductTerm t = {.n = 1, .minus = in->op == OP_SUB && i == 1};
		t.at[0] = factor_of(k, inst_arg(k->f, in, i));
		t.whole = t.at[0].ref;
		VEC_PUSH(k->scratch, &terms, t);
	}
	const uint32_t before = k->saved;
	k->region = in->parent;
	const Ref sum = total(k, &terms, &gone);
	if (k->saved > before) refmap_set(m, result, sum);
}

/* Marks sums that are terms of a larger sum; the larger sum handles them. */
static void find_absorbed(SumPushdown *k) {
	for (uint32_t i = 0; i < k->f->insts.n; i++) {
		const Inst *in = &k->f->insts.at[i];
		if (in->op != OP_ADD && in->op != OP_SUB && in->op != OP_NEG) continue;
		for (uint32_t a = 0; a < in->nargs; a++) {
			const Ref r = inst_arg(k->f, in, a);
			const Inst *from = ref_inst(k->f, r);
			if (from && from->op != OP_REDUCE_SUM && from->parent == in->parent &&
			    k->uses[REF_INDEX(r)] == 1)
				k->absorbed[REF_INDEX(r)] = true;
		}
	}
}

Fn *push_sums_down(Ctx *c, const Fn *f, Arena *scratch) {
	SumPushdown k = {.c = c, .f = f, .scratch = scratch};
	k.uses = ARENA_ARRAY(scratch, uint32_t, f->vals.n + 1);
	k.absorbed = ARENA_ARRAY(scratch, bool, f->vals.n + 1);
	fn_count_uses(f, k.uses);
	find_absorbed(&k);
	k.b = build_begin(c, f->name, f->span, f);
	k.map = refmap_new(k.b, f, true);
	k.map.copied = visit;
	k.map.copied_ud = &k;
	for (uint32_t i = 0; i < fn_nparams(f); i++) {
		const Ref from = fn_param(f, i);
		refmap_set(&k.map, from,
		           build_param(k.b, ref_type(f, from), f->vals.at[REF_INDEX(from)].name));
	}
	const Region body = f->regions.at[0];
	for (uint32_t i = 0; i < body.ninsts; i++)
		build_copy_inst(k.b, &k.map, &f->insts.at[f->inst_order.at[body.insts + i]]);
	Ref *results = ARENA_ARRAY(scratch, Ref, fn_nresults(f) + 1);
	for (uint32_t i = 0; i < fn_nresults(f); i++)
		results[i] = refmap_get(k.b, &k.map, fn_result(f, i));
	Fn *made = build_end(k.b, fn_nresults(f), results);
	if (k.saved) return made;
	fn_unref(made);
	return NULL;
}
