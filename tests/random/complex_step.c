/* complex_step.c - implementation of complex_step.h.
 *
 * Method: complex steps (W. Squire, G. Trapp, "Using complex variables to
 * estimate derivatives of real functions", SIAM Review 40 (1998) 110).
 * - Comparisons, indices, extents and piecewise constant functions use the real
 *   parts, so that the complex form takes the same branches.
 * - Functions without an analytic form (abs, max, mod) are extended along the
 *   branch of the real part; ties share it.
 * - Where a function has no real value (the root of a negative number), its
 *   complex form has none, since the program may go on from there.
 * - Operations that the engine has for reals only are computed in parts, so
 *   that an imaginary part of 1e-170 is never added to a number of size one.
 *
 * Needs: complex_step.h, scalar operations and LAPACK at c128.
 */
#include "tests/random/complex_step.h"
#include <math.h>
#include <stdlib.h>

typedef struct Step {
	Ctx *c;
	Builder *b;
	Fn *f;
	const bool *active;
	bool *flag; /* by value of f: complex in the new function */
	Ref *at;    /* by value of f: its complex form; the map has the real part */
	RefMap map;
	bool *complex_results;
	Op why;
	Fn *out;
} Step;

/* ---- propagation of complex values --------------------------------------- */

static bool is_f64(const Step *s, Ref r) {
	const Type *t = ref_ty(s->f, r);
	return t->kind == TY_TENSOR && t->dtype == DT_F64;
}

static bool flagged(const Step *s, Ref r) { return ref_is_value(r) && s->flag[REF_INDEX(r)]; }

static Ref result_of(const Step *s, const Region *g, uint32_t k) {
	return s->f->args.at[g->results + k];
}

static bool raise_flag(Step *s, Ref r) {
	bool was = flagged(s, r);
	s->flag[REF_INDEX(r)] = true;
	return !was;
}

static bool find_region(Step *s, const Region *g);

static bool has_complex_form(Op op) {
	switch (op) {
	case OP_REAL:
	case OP_IMAG:
	case OP_CONJ:
	case OP_FFT:
	case OP_EIGH:
	case OP_EIG:
	case OP_SVD: return false;
	case OP_CALL:
	case OP_HOST:
	case OP_BOX:
	case OP_UNBOX:
	case OP_DYNAMIC: return false;
	default: return true;
	}
}

/* Returns false when an operation that depends on the arguments has no complex
 * form. */
static bool find_inst(Step *s, const Inst *in) {
	bool some = false, good = true;
	for (uint32_t k = 0; k < in->nargs; k++) some |= flagged(s, inst_arg(s->f, in, k));
	if (in->op == OP_IF || in->op == OP_TRY) {
		for (uint32_t i = 0; i < 2; i++) {
			const Region *g = inst_region(s->f, in, i);
			good &= find_region(s, g);
			for (uint32_t k = 0; k < in->nresults; k++)
				if (flagged(s, result_of(s, g, k))) raise_flag(s, inst_result(in, k));
		}
		return good;
	}
	if (in->op == OP_FOR || in->op == OP_WHILE) {
		const uint32_t skip = in->op == OP_FOR;
		const Region *body = inst_region(s->f, in, !skip);
		Ref first = ref_value(body->params + skip);
		bool more = true;
		for (uint32_t k = 0; k < in->nresults; k++)
			if (flagged(s, inst_arg(s->f, in, k + skip))) raise_flag(s, first + k);
		while (more) {
			more = false;
			good &= find_region(s, body);
			for (uint32_t k = 0; k < in->nresults; k++)
				if (flagged(s, result_of(s, body, k))) more |= raise_flag(s, first + k);
		}
		for (uint32_t k = 0; k < in->nresults; k++) {
			if (!flagged(s, first + k)) continue;
			raise_flag(s, inst_result(in, k));
			if (!skip) raise_flag(s, ref_value(inst_region(s->f, in, 0)->params + k));
		}
		return good;
	}
	if (!some || prims[in->op].deriv == DERIV_ZERO) return true;
	bool whole = has_complex_form((Op)in->op);
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref r = inst_result(in, k);
		if (is_f64(s, r)) raise_flag(s, r);
		/* other precisions, complex values */
		else if (type_has_tangent(s->c, ref_type(s->f, r))) whole = false;
	}
	if (!whole && !s->why) s->why = (Op)in->op;
	return whole;
}

static bool find_region(Step *s, const Region *g) {
	bool good = true;
	for (uint32_t i = 0; i < g->ninsts && good; i++)
		good = find_inst(s, &s->f->insts.at[s->f->inst_order.at[g->insts + i]]);
	return good;
}

/* ---- building blocks ----------------------------------------------------- */

static Ref real_at(Step *s, Ref r) { return refmap_get(s->b, &s->map, r); }

static Ref complex_at(Step *s, Ref r) {
	return flagged(s, r) ? s->at[REF_INDEX(r)] : build_convert(s->b, real_at(s, r), DT_C128);
}

static void set_complex(Step *s, Ref r, Ref z) {
	s->at[REF_INDEX(r)] = z;
	refmap_set(&s->map, r, build1(s->b, OP_REAL, z));
}

static TypeId like(Step *s, Ref x) { return ref_type(build_fn(s->b), x); }

static TypeId complex_type(Step *s, TypeId t) {
	const Type *old = type_of(s->c, t);
	return type_tensor(s->c, DT_C128, old->rank, old->dims);
}

static Ref full(Step *s, Ref x, double value) { return build_full(s->b, like(s, x), value); }

static Ref re(Step *s, Ref z) { return build1(s->b, OP_REAL, z); }

static Ref im(Step *s, Ref z) { return build1(s->b, OP_IMAG, z); }

static Ref add(Step *s, Ref x, Ref y) { return build2(s->b, OP_ADD, x, y); }

static Ref sub(Step *s, Ref x, Ref y) { return build2(s->b, OP_SUB, x, y); }

static Ref mul(Step *s, Ref x, Ref y) { return build2(s->b, OP_MUL, x, y); }

static Ref over(Step *s, Ref x, Ref y) { return build2(s->b, OP_DIV, x, y); }

/* Returns x + iy for two reals. */
static Ref parts(Step *s, Ref x, Ref y) {
	double _Complex unit = __builtin_complex(0.0, 1.0);
	Ref z = build_convert(s->b, y, DT_C128),
		i = build_const(s->b, value_scalar_from_bytes(DT_C128, &unit));
	return add(s, build_convert(s->b, x, DT_C128),
	           mul(s, z, build_broadcast_scalar(s->b, i, like(s, z))));
}

/* Returns z where the condition holds, else w. */
static Ref choose(Step *s, Ref condition, Ref z, Ref w) {
	return build_select(s->b, condition, z, w);
}

/* ---- element-wise operations --------------------------------------------- */

/* d/(x^2 + 1) for the imaginary part d, by the logarithm of
 * |1 + i z|^2 / |1 - i z|^2. */
static Ref imag_of_atan(Step *s, Ref z) {
	Ref x = re(s, z), d = im(s, z), below = sub(s, full(s, d, 1), d);
	Ref q = over(s, mul(s, full(s, d, 4), d), add(s, mul(s, x, x), mul(s, below, below)));
	return mul(s, full(s, d, 0.25), build1(s->b, OP_LOG1P, q));
}

/* W. Kahan, "Branch cuts for complex elementary functions": the parts of arcsin
 * by square roots. */
static Ref complex_asin(Step *s, Ref z) {
	Ref one = full(s, z, 1), low = build1(s->b, OP_SQRT, sub(s, one, z)),
		high = build1(s->b, OP_SQRT, add(s, one, z));
	Ref angle = build2(s->b, OP_ATAN2, re(s, z), re(s, mul(s, low, high)));
	return parts(s, angle, im(s, mul(s, build1(s->b, OP_CONJ, low), high)));
}

static Ref complex_atan2(Step *s, Ref a, Ref b) {
	Ref x = re(s, b), y = re(s, a);
	Ref flat = build2(s->b, OP_LE, build1(s->b, OP_ABS, y), build1(s->b, OP_ABS, x));
	Ref by_x = imag_of_atan(s, over(s, a, choose(s, flat, b, full(s, b, 1)))),
		by_y = imag_of_atan(s, over(s, b, choose(s, flat, full(s, a, 1), a)));
	return parts(s, build2(s->b, OP_ATAN2, y, x),
	             choose(s, flat, by_x, build1(s->b, OP_NEG, by_y)));
}

static double splat_real(Step *s, Ref r) {
	Value v;
	return ref_splat(build_fn(s->b), r, &v) && v.kind == V_SCALAR && v.dtype == DT_F64 ? v.f : NAN;
}

/* Integer powers by products; others for positive bases only, since the
 * logarithm of a negative number has an imaginary part. */
static Ref complex_pow(Step *s, Ref z, Ref w, double exponent) {
	if (exponent == floor(exponent) && fabs(exponent) <= 8) {
		Ref y = full(s, z, 1);
		for (int k = 0; k < (int)fabs(exponent); k++) y = mul(s, y, z);
		return exponent < 0 ? over(s, full(s, z, 1), y) : y;
	}
	Ref y = build1(s->b, OP_EXP, mul(s, w, build1(s->b, OP_LOG, z))), x = re(s, z);
	return choose(s, build2(s->b, OP_LT, full(s, x, 0), x), y, full(s, z, NAN));
}

static Ref complex_cbrt(Step *s, Ref z) {
	Ref sign = build_convert(s->b, build1(s->b, OP_SIGN, re(s, z)), DT_C128);
	Ref root = build1(s->b, OP_EXP, over(s, build1(s->b, OP_LOG, mul(s, z, sign)), full(s, z, 3)));
	return mul(s, sign, root);
}

static Ref complex_extreme(Step *s, Op op, Ref a, Ref b) {
	Ref x = re(s, a), y = re(s, b),
		first = op == OP_MAX ? build2(s->b, OP_LT, y, x) : build2(s->b, OP_LT, x, y);
	Ref both = mul(s, full(s, a, 0.5), add(s, a, b));
	return choose(s, first, a, choose(s, build2(s->b, OP_EQ, x, y), both, b));
}

/* Returns w = op(z) where the real function has a value, else NaN. */
static Ref within_domain(Step *s, Op op, Ref z, Ref w) {
	Ref y = build1(s->b, op, re(s, z));
	return choose(s, build2(s->b, OP_EQ, y, y), w, full(s, z, NAN));
}

static Ref unary(Step *s, Op op, Ref z) {
	Builder *b = s->b;
	switch (op) {
	case OP_SQRT:
	case OP_LOG: return within_domain(s, op, z, build1(b, op, z));
	case OP_ABS: return mul(s, z, build_convert(b, build1(b, OP_SIGN, re(s, z)), DT_C128));
	case OP_CBRT: return complex_cbrt(s, z);
	case OP_EXPM1: { /* 2 sinh(z/2) exp(z/2) */
		Ref half = mul(s, full(s, z, 0.5), z);
		return mul(s, full(s, z, 2), mul(s, build1(b, OP_SINH, half), build1(b, OP_EXP, half)));
	}
	case OP_LOG1P: return within_domain(s, op, z, build1(b, OP_LOG, add(s, full(s, z, 1), z)));
	case OP_ASIN: return within_domain(s, op, z, complex_asin(s, z));
	case OP_ACOS:
		return within_domain(s, op, z, sub(s, full(s, z, 1.5707963267948966), complex_asin(s, z)));
	case OP_ATAN: return parts(s, build1(b, OP_ATAN, re(s, z)), imag_of_atan(s, z));
	/* uses the derivative of erf: no other form is usable on the whole line */
	case OP_ERF: {
		Ref x = re(s, z), bell = build1(b, OP_EXP, build1(b, OP_NEG, mul(s, x, x)));
		return parts(s, build1(b, OP_ERF, x),
		             mul(s, mul(s, full(s, x, 2 / sqrt(3.14159265358979323846)), bell), im(s, z)));
	}
	default: return build1(b, op, z);
	}
}

static Ref binary(Step *s, Op op, Ref a, Ref b, double exponent) {
	switch (op) {
	case OP_POW: return complex_pow(s, a, b, exponent);
	case OP_ATAN2: return complex_atan2(s, a, b);
	case OP_MAX:
	case OP_MIN: return complex_extreme(s, op, a, b);
	case OP_MOD: { /* x - y floor(x/y), with the floor constant */
		Ref x = re(s, a), y = re(s, b);
		Ref turns = build2(s->b, OP_FLOORDIV, x, y);
		return parts(s, build2(s->b, OP_MOD, x, y), sub(s, im(s, a), mul(s, turns, im(s, b))));
	}
	default: return build2(s->b, op, a, b);
	}
}

/* ---- arrays -------------------------------------------------------------- */

/* Elements that tie give their mean. */
static Ref reduced_extreme(Step *s, const Inst *in, Ref z, Ref most) {
	Type t = *type_of(s->c, like(s, z));
	uint32_t n, nkept = 0;
	const int64_t *axes = attr_field(s->c, (Op)in->op, in->attr, 0, &n);
	int kept[MAX_RANK], gone[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) {
		bool reduced = false;
		for (uint32_t i = 0; i < n; i++) reduced |= axes[i] == k;
		if (!reduced) kept[nkept++] = (int)k;
	}
	for (uint32_t i = 0; i < n; i++) gone[i] = (int)axes[i];
	Ref ties = build2(s->b, OP_EQ, re(s, z), build_broadcast(s->b, most, t.rank, t.dims, kept));
	Ref sum = build_reduce(s->b, OP_REDUCE_SUM, choose(s, ties, z, full(s, z, 0)), n, gone);
	return over(s, sum,
	            build_reduce(s->b, OP_REDUCE_SUM, build_convert(s->b, ties, DT_C128), n, gone));
}

static Ref transposed(Step *s, Ref z) {
	int perm[MAX_RANK], rank = type_of(s->c, like(s, z))->rank;
	for (int k = 0; k < rank; k++) perm[k] = k;
	perm[rank - 2] = rank - 1;
	perm[rank - 1] = rank - 2;
	return build_transpose(s->b, z, perm);
}

/* Returns element (i, j) of the last two axes, which stay with extent 1. */
static Ref element(Step *s, Ref z, int64_t i, int64_t j) {
	Type t = *type_of(s->c, like(s, z));
	Dim start[MAX_RANK], length[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) {
		start[k] = dim_const(s->c, k + 2u == t.rank ? i : k + 1u == t.rank ? j : 0);
		length[k] = k + 2u >= t.rank ? dim_const(s->c, 1) : t.dims[k];
	}
	return build_slice(s->b, z, start, length, NULL);
}

/* L L' = A without conjugates, element by element; REF_NONE when the extent is
 * not constant or too large. */
static Ref complex_cholesky(Step *s, Ref a) {
	enum { LONGEST = 8 };
	Type t = *type_of(s->c, like(s, a));
	int64_t n;
	if (!dim_is_const(s->c, t.dims[t.rank - 1], &n) || n > LONGEST || n < 1) return REF_NONE;
	Ref l[LONGEST][LONGEST], rows[LONGEST];
	for (int64_t i = 0; i < n; i++) {
		for (int64_t j = 0; j <= i; j++) {
			Ref x = element(s, a, i, j);
			for (int64_t k = 0; k < j; k++) x = sub(s, x, mul(s, l[i][k], l[j][k]));
			l[i][j] = i == j ? build1(s->b, OP_SQRT, x) : over(s, x, l[j][j]);
		}
		for (int64_t j = i + 1; j < n; j++) l[i][j] = full(s, l[i][i], 0);
		rows[i] = build_concat(s->b, (uint32_t)n, l[i], t.rank - 1);
	}
	return build_concat(s->b, (uint32_t)n, rows, t.rank - 2);
}

static Ref triangular(Step *s, Ref t, Ref rhs, int64_t lower, int64_t adjoint, int64_t unit) {
	/* yields the transpose: conjugates are not analytic */
	if (adjoint) t = build1(s->b, OP_CONJ, t);
	return build(s->b, OP_TRISOLVE, 2, (Ref[]){t, rhs},
	             attr_intern(s->c, (int64_t[]){lower, adjoint, unit}, 3), NULL);
}

/* Solves A X = B, or with the transpose of A. It factors the complex A, because
 * the program's factors are those of the real one. */
static Ref complex_solution(Step *s, Ref a, Ref rhs, bool transpose) {
	const int rows = (int)type_of(s->c, like(s, a))->rank - 2;
	Ref lu[2];
	build(s->b, OP_LU, 1, &a, 0, lu);
	if (!transpose)
		return triangular(
			s, lu[0],
			triangular(s, lu[0], build_gather(s->b, rhs, lu[1], rows, rows), true, false, true),
			false, false, false);
	const Ref x =
		triangular(s, lu[0], triangular(s, lu[0], rhs, false, true, false), true, true, true);
	return build_scatter(s->b, OP_SCATTER_SET, full(s, rhs, 0), lu[1], x, rows, rows);
}

/* Q R = A from the Cholesky factor of A'A. */
static bool complex_qr(Step *s, Ref a, Ref *out) {
	Type t = *type_of(s->c, like(s, a));
	int batch[MAX_RANK], rows = t.rank - 2;
	for (int k = 0; k < rows; k++) batch[k] = k;
	Ref gram = build_dot(s->b, a, a, 1, &rows, &rows, (uint32_t)rows, batch, batch),
		l = complex_cholesky(s, gram);
	if (l == REF_NONE) return false;
	out[0] = transposed(s, triangular(s, l, transposed(s, a), true, false, false));
	out[1] = transposed(s, l);
	return true;
}

/* ---- instructions -------------------------------------------------------- */

static _Noreturn void give_up(Step *s, const Inst *in) {
	s->why = (Op)in->op;
	ctx_throw(s->c, ST_ERROR);
}

static void emit_plain(Step *s, const Inst *in) {
	Op op = (Op)in->op;
	Ref z[16], out[4] = {0};
	if (in->nargs > 16) give_up(s, in);
	const AttrId attr = attr_subst(s->c, op, in->attr, s->map.dims, s->map.ndims);
	for (uint32_t k = 0; k < in->nargs; k++) {
		Ref a = inst_arg(s->f, in, k);
		z[k] = is_f64(s, a) ? complex_at(s, a) : real_at(s, a);
	}
	switch (op) {
	case OP_CONVERT: out[0] = z[0]; break;
	case OP_SELECT: out[0] = choose(s, z[0], z[1], z[2]); break;
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
		build_copy_inst(s->b, &s->map, in);
		out[0] = reduced_extreme(s, in, z[0], real_at(s, inst_result(in, 0)));
		break;
	case OP_TRISOLVE:
		out[0] = triangular(s, z[0], z[1], attr_int(s->c, op, attr, 0), attr_int(s->c, op, attr, 1),
		                    attr_int(s->c, op, attr, 2));
		break;
	case OP_SOLVED: out[0] = complex_solution(s, z[0], z[3], attr_int(s->c, op, attr, 0)); break;
	case OP_CHOLESKY: out[0] = complex_cholesky(s, z[0]); break;
	case OP_QR:
		if (!complex_qr(s, z[0], out)) give_up(s, in);
		break;
	default:
		if (prims[op].elementwise && in->nargs == 1) out[0] = unary(s, op, z[0]);
		else if (prims[op].elementwise)
			out[0] = binary(s, op, z[0], z[1], splat_real(s, real_at(s, inst_arg(s->f, in, 1))));
		else build(s->b, op, in->nargs, z, attr, out);
	}
	if (out[0] == REF_NONE) give_up(s, in);
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref r = inst_result(in, k);
		if (flagged(s, r)) set_complex(s, r, out[k]);
		else refmap_set(&s->map, r, out[k]);
	}
}

static void emit_region(Step *s, const Region *g);

/* Closes a region; its results are complex where the values from `as` on are
 * flagged. */
static RegionId close_region(Step *s, OpenRegion *open, const Region *g, Ref as) {
	Ref *results = ARENA_ARRAY(ctx_arena(s->c), Ref, g->nresults + 1u);
	for (uint32_t k = 0; k < g->nresults; k++)
		results[k] =
			flagged(s, as + k) ? complex_at(s, result_of(s, g, k)) : real_at(s, result_of(s, g, k));
	return build_region_end(s->b, open, g->nresults, results);
}

static OpenRegion *open_region(Step *s, const Region *g) {
	TypeId *types = ARENA_ARRAY(ctx_arena(s->c), TypeId, g->nparams + 1u);
	Ref *params = ARENA_ARRAY(ctx_arena(s->c), Ref, g->nparams + 1u);
	for (uint32_t k = 0; k < g->nparams; k++) {
		types[k] = refmap_type(s->b, &s->map, s->f->vals.at[g->params + k].type);
		if (flagged(s, ref_value(g->params + k))) types[k] = complex_type(s, types[k]);
	}
	OpenRegion *open = build_region_begin(s->b, g->nparams, types, params);
	for (uint32_t k = 0; k < g->nparams; k++) {
		Ref r = ref_value(g->params + k);
		if (flagged(s, r)) set_complex(s, r, params[k]);
		else refmap_set(&s->map, r, params[k]);
	}
	return open;
}

static void set_results(Step *s, const Inst *in, const Ref *results) {
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref r = inst_result(in, k);
		if (flagged(s, r)) set_complex(s, r, results[k]);
		else refmap_set(&s->map, r, results[k]);
	}
}

static void emit_branches(Step *s, const Inst *in) {
	RegionId regions[2];
	Ref *results = ARENA_ARRAY(ctx_arena(s->c), Ref, in->nresults + 1u);
	for (uint32_t i = 0; i < 2; i++) {
		const Region *g = inst_region(s->f, in, i);
		OpenRegion *open = open_region(s, g);
		emit_region(s, g);
		regions[i] = close_region(s, open, g, inst_result(in, 0));
	}
	if (in->op == OP_IF)
		build_if(s->b, real_at(s, inst_arg(s->f, in, 0)), regions[0], regions[1], results);
	else build_try(s->b, regions[0], regions[1], results);
	set_results(s, in, results);
}

static void emit_loop(Step *s, const Inst *in) {
	const uint32_t skip = in->op == OP_FOR, n = in->nresults;
	const Region *body = inst_region(s->f, in, !skip);
	Ref *init = ARENA_ARRAY(ctx_arena(s->c), Ref, n + 1u),
		*results = ARENA_ARRAY(ctx_arena(s->c), Ref, n + 1u);
	for (uint32_t k = 0; k < n; k++) {
		Ref a = inst_arg(s->f, in, k + skip);
		init[k] = flagged(s, ref_value(body->params + skip + k)) ? complex_at(s, a) : real_at(s, a);
	}
	RegionId condition = 0;
	if (!skip) {
		const Region *g = inst_region(s->f, in, 0);
		OpenRegion *open = open_region(s, g);
		for (uint32_t i = 0; i < g->ninsts; i++)
			build_copy_inst(s->b, &s->map, &s->f->insts.at[s->f->inst_order.at[g->insts + i]]);
		Ref go_on = real_at(s, result_of(s, g, 0));
		condition = build_region_end(s->b, open, 1, &go_on);
	}
	OpenRegion *open = open_region(s, body);
	emit_region(s, body);
	RegionId turn = close_region(s, open, body, ref_value(body->params + skip));
	if (skip) build_for(s->b, real_at(s, inst_arg(s->f, in, 0)), n, init, turn, results);
	else build_while(s->b, n, init, condition, turn, results);
	set_results(s, in, results);
}

static void emit_region(Step *s, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &s->f->insts.at[s->f->inst_order.at[g->insts + i]];
		bool some = false; /* otherwise the real parts suffice */
		for (uint32_t k = 0; k < in->nresults; k++) some |= flagged(s, inst_result(in, k));
		if (!some) build_copy_inst(s->b, &s->map, in);
		else if (in->op == OP_IF || in->op == OP_TRY) emit_branches(s, in);
		else if (in->op == OP_FOR || in->op == OP_WHILE) emit_loop(s, in);
		else emit_plain(s, in);
	}
}

static void make(Ctx *c, void *arg) {
	Step *s = arg;
	Fn *f = s->f;
	const uint32_t nparams = fn_nparams(f), nresults = fn_nresults(f);
	s->b = build_begin(c, f->name, f->span, f);
	s->map = refmap_new(s->b, f, true);
	s->flag = ARENA_ARRAY(ctx_arena(c), bool, f->vals.n + 1u);
	s->at = ARENA_ARRAY(ctx_arena(c), Ref, f->vals.n + 1u);
	for (uint32_t k = 0; k < nparams; k++)
		if (s->active[k]) raise_flag(s, fn_param(f, k));
	if (!find_region(s, &f->regions.at[0])) ctx_throw(c, ST_ERROR);
	Ref *params = ARENA_ARRAY(ctx_arena(c), Ref, nparams + 1u),
		*results = ARENA_ARRAY(ctx_arena(c), Ref, nresults + 1u);
	for (uint32_t k = 0; k < nparams; k++) {
		TypeId t = ref_type(f, fn_param(f, k));
		params[k] = build_param(s->b, s->active[k] ? complex_type(s, t) : t, 0);
	}
	for (uint32_t k = 0; k < nparams; k++) {
		if (s->active[k]) set_complex(s, fn_param(f, k), params[k]);
		else refmap_set(&s->map, fn_param(f, k), params[k]);
	}
	emit_region(s, &f->regions.at[0]);
	for (uint32_t k = 0; k < nresults; k++) {
		s->complex_results[k] = flagged(s, fn_result(f, k));
		results[k] =
			s->complex_results[k] ? complex_at(s, fn_result(f, k)) : real_at(s, fn_result(f, k));
	}
	s->out = build_end(s->b, nresults, results);
}

Fn *at_complex_arguments(Ctx *c, Fn *f, const bool *active, bool *complex_results, Op *why) {
	Fn *flat = fn_inline_calls(c, f);
	Step s = {.c = c,
	          .f = flat ? flat : f,
	          .active = active,
	          .complex_results = complex_results,
	          .why = OP_NONE};
	uint32_t mark = build_mark(c);
	if (ctx_protect(c, make, &s) != ST_OK) {
		build_unwind(c, mark);
		s.out = NULL;
	}
	if (flat) fn_unref(flat);
	*why = s.why;
	return s.out;
}
