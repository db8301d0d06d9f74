/* array.c - array arithmetic: promotion of dtypes, NumPy broadcasting, stacking
 * and concatenation.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - Operands passed to the builder obey the strict contract of the primitives:
 *   one dtype, one shape.
 * - Every mismatch is an error with both types and the origin of each operand.
 */
#include "parser/specialise/internal.h"

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

Av *sp_want_array(Sp *sp, Av *v, Span at, const char *what) {
	if (v->kind == AV_ARRAY) return v;
	if (v->kind == AV_RANGE) return sp_call_args(sp, av_builtin(sp, "collect", 0, NULL), 1, &v, at);
	if (v->kind == AV_LIST || v->kind == AV_TUPLE) {
		for (uint32_t i = 0; i < v->n; i++)
			if (v->items[i]->kind != AV_ARRAY)
				sp_fail(sp, E_TYPE, at, "%s takes an array, not %s of unlike things",
				        what + (*what == '_'), av_kind_text(v));
		return sp_stack(sp, v->n, v->items, at);
	}
	if (v->kind == AV_DYN) {
		Diag *d = diag_error(
			sp->c, E_NOT_STATIC, at,
			"%s takes an array, and the type of this value is known only when it runs", what);
		diag_hint(sp->c, d,
		          "hand it to a function that declares what it is, f(x: f64[n]); a name at top "
		          "level has its type in the next statement");
		sp_throw(sp);
	}
	/* Private functions of the library have a `_` before their name, which is
	 * not shown. */
	sp_fail(sp, E_TYPE, at, "%s takes an array, not %s", what + (*what == '_'),
	        sp_type_text(sp, v));
}

/* The dtype in which two operands meet. A weak one (made of literals) adopts
 * the dtype of the other where it can. */
Dtype sp_common_dtype(Sp *sp, const Av *x, const Av *y) {
	Dtype dx = ty(sp, x->ref)->dtype, dy = ty(sp, y->ref)->dtype;
	if (x->weak != y->weak) {
		Dtype w = x->weak ? dx : dy, s = x->weak ? dy : dx;
		if (w == DT_F64 && (s == DT_F32 || s == DT_C64)) ++*session_yielded(sp->session);
		if (s == DT_BOOL) return w;
		if (dtype_is_int(w)) return s;
		if (dtype_is_real(w)) return dtype_is_inexact(s) ? s : DT_F64;
		if (dtype_is_complex(w)) return dtype_is_inexact(s) ? dtype_complex_of(s) : DT_C128;
	}
	return dtype_promote(dx, dy);
}

Ref sp_to_dtype(Sp *sp, Av *v, Dtype d) {
	return ty(sp, v->ref)->dtype == d ? v->ref : build_convert(sp->b, v->ref, d);
}

Ref sp_scalar(Sp *sp, Av *v, Dtype d, Span at, const char *what) {
	if (v->kind == AV_DYN) {
		Ref r = build_typed(sp->b, OP_UNBOX, 1, &v->ref,
		                    attr_intern(sp->c, (int64_t[]){type_scalar(sp->c, d)}, 1), 1,
		                    (TypeId[]){type_scalar(sp->c, d)}, NULL);
		return r;
	}
	if (v->kind != AV_ARRAY)
		sp_fail(sp, E_TYPE, at, "%s must be a number, not %s", what, sp_type_text(sp, v));
	const Type *t = ty(sp, v->ref);
	bool fits = t->rank == 0 && (!dtype_is_complex(t->dtype) || dtype_is_complex(d)) &&
	            (dtype_is_inexact(d) || !dtype_is_inexact(t->dtype));
	if (!fits)
		sp_fail(sp, E_TYPE, at, "%s must be %s number, not %s", what,
		        dtype_is_inexact(d) ? "a" : "a whole", sp_type_text(sp, v));
	return sp_to_dtype(sp, v, d);
}

/* Adds a second label with the origin of an operand that was made outside
 * `at`. */
static void sp_second_origin(Sp *sp, Diag *d, Span at, const Av *x, const Av *y) {
	const Av *v[2] = {x, y};
	for (int i = 0; i < 2; i++) {
		Span o = v[i] ? v[i]->origin : NO_SPAN;
		if (!o.source || source_is_library(sp->c, o.source) ||
		    (o.source == at.source && o.start >= at.start && o.end <= at.end))
			continue;
		diag_second(sp->c, d, o, "%s came from here", sp_type_text(sp, v[i]));
		return;
	}
}

static _Noreturn void shape_error(Sp *sp, const Av *x, const Av *y, Span at, const char *verb) {
	Diag *d = diag_error(sp->c, E_SHAPE, at, "cannot %s %s and %s", verb, sp_type_text(sp, x),
	                     sp_type_text(sp, y));
	sp_second_origin(sp, d, at, x, y);
	/* `@` would accept these operands. */
	if (!strcmp(verb, "multiply") && x->kind == AV_ARRAY && y->kind == AV_ARRAY) {
		Type s = *ty(sp, x->ref), t = *ty(sp, y->ref);
		bool inner = s.rank == 2 && (t.rank == 1 || t.rank == 2) &&
		             build_canon(sp->b, s.dims[1]) == build_canon(sp->b, t.dims[0]);
		if (inner)
			diag_hint(sp->c, d,
			          "`*` works element by element; the product of matrices is written `@`");
	}
	sp_throw(sp);
}

Ref sp_broadcast_into(Sp *sp, Ref x, uint32_t rank, const Dim *shape, Span at,
                      const char *message) {
	Type t = *ty(sp, x);
	bool fits = t.rank <= rank;
	for (uint32_t i = 0; fits && i < t.rank; i++) {
		int64_t one;
		Dim d = build_canon(sp->b, t.dims[i]), want = build_canon(sp->b, shape[rank - t.rank + i]);
		if (d == want || (dim_is_const(sp->c, d, &one) && one == 1)) continue;
		fits = build_unify(sp->b, d, want, atom(sp->c, message));
	}
	if (!fits) sp_fail(sp, E_SHAPE, at, "%s", message);
	return sp_broadcast_to(sp, x, rank, shape, at, "write");
}

Ref sp_broadcast_to(Sp *sp, Ref x, uint32_t rank, const Dim *shape, Span at, const char *verb) {
	const Type *t = ty(sp, x);
	bool same = t->rank == rank;
	for (uint32_t i = 0; same && i < rank; i++)
		same = build_canon(sp->b, t->dims[i]) == build_canon(sp->b, shape[i]);
	if (same) return x;
	if (t->rank > rank)
		sp_fail(sp, E_RANK, at, "cannot %s: %u axes do not fit into %u", verb, t->rank, rank);
	int axes[MAX_RANK];
	for (uint32_t i = 0; i < t->rank; i++) axes[i] = (int)(rank - t->rank + i);
	return build_broadcast(sp->b, x, rank, shape, axes);
}

void sp_broadcast_pair(Sp *sp, Ref *x, Ref *y, const Av *ax, const Av *ay, Span at,
                       const char *verb) {
	Type tx = *ty(sp, *x), t_y = *ty(sp, *y);
	uint32_t rank = tx.rank > t_y.rank ? tx.rank : t_y.rank;
	Dim shape[MAX_RANK];
	for (uint32_t i = 0; i < rank; i++) {
		int kx = (int)i - (int)(rank - tx.rank), ky = (int)i - (int)(rank - t_y.rank);
		if (kx < 0 || ky < 0) {
			shape[i] = kx < 0 ? t_y.dims[ky] : tx.dims[kx];
			continue;
		}
		Dim dx = build_canon(sp->b, tx.dims[kx]), dy = build_canon(sp->b, t_y.dims[ky]);
		int64_t v;
		if (dx == dy) shape[i] = dx;
		else if (dim_is_const(sp->c, dx, &v) && v == 1) shape[i] = dy;
		else if (dim_is_const(sp->c, dy, &v) && v == 1) shape[i] = dx;
		else {
			Atom what = atom_f(sp->c, "cannot %s %s and %s", verb, sp_type_text(sp, ax),
			                   sp_type_text(sp, ay));
			if (!build_unify(sp->b, dx, dy, what)) shape_error(sp, ax, ay, at, verb);
			shape[i] = build_canon(sp->b, dx);
		}
	}
	*x = sp_broadcast_to(sp, *x, rank, shape, at, verb);
	*y = sp_broadcast_to(sp, *y, rank, shape, at, verb);
}

static const char *verb_of(Op op) {
	switch (op) {
	case OP_ADD: return "add";
	case OP_SUB: return "subtract";
	case OP_MUL: return "multiply";
	case OP_DIV: return "divide";
	case OP_POW: return "raise to a power";
	case OP_EQ:
	case OP_LT:
	case OP_LE: return "compare";
	default: return "combine";
	}
}

/* The dtype in which an element-wise primitive computes for operands that meet
 * in d; DT_COUNT: none. */
static Dtype working_dtype(Op op, Dtype d) {
	if (prims[op].kinds & dtype_kind(d)) return d;
	if (d == DT_BOOL && (prims[op].kinds & KIND_I)) return DT_I64;
	if (!dtype_is_inexact(d) && (prims[op].kinds & KIND_R)) return DT_F64;
	return DT_COUNT;
}

/* ---- the modulus of complex numbers -------------------------------------- */

/* |z| is not holomorphic, so it is built from real operations. The squares are
 * scaled by the larger of |re| and |im|, which derivatives do not see, so that
 * none overflows or underflows. At 0 the derivatives are 0, as for abs of real
 * numbers. */
static Ref modulus(Sp *sp, Ref z) {
	Builder *b = sp->b;
	Ref re = build1(b, OP_REAL, z), im = build1(b, OP_IMAG, z);
	TypeId t = ref_type(build_fn(b), re);
	Ref zero = build_zeros(b, t), one = build_full(b, t, 1);
	Ref size = build1(b, OP_STOP, build2(b, OP_MAX, build1(b, OP_ABS, re), build1(b, OP_ABS, im)));
	Ref is_zero = build2(b, OP_EQ, size, zero);
	Ref is_finite = build2(b, OP_LT, size, build_full(b, t, __builtin_inf()));
	Ref scale = build_select(b, is_zero, one, build_select(b, is_finite, size, one));
	re = build2(b, OP_DIV, re, scale);
	im = build2(b, OP_DIV, im, scale);
	Ref square = build2(b, OP_ADD, build2(b, OP_MUL, re, re), build2(b, OP_MUL, im, im));
	Ref root = build1(b, OP_SQRT, build_select(b, is_zero, one, square));
	return build_select(b, is_zero, zero, build2(b, OP_MUL, scale, root));
}

static const Inst *made_by(Sp *sp, Ref r, Op op) {
	const Inst *in = ref_is_value(r) ? ref_inst(build_fn(sp->b), r) : NULL;
	return in && in->op == op ? in : NULL;
}

static Ref operand(Sp *sp, const Inst *in, uint32_t k) { return inst_arg(build_fn(sp->b), in, k); }

/* |z|^2 as re^2 + im^2 when r is a result of `modulus`, or elements of one,
 * moved or repeated; else REF_NONE. It is a polynomial and has all its
 * derivatives at 0. */
static Ref squared_modulus(Sp *sp, Ref r) {
	const Inst *in = ref_is_value(r) ? ref_inst(build_fn(sp->b), r) : NULL;
	if (!in) return REF_NONE;
	switch ((Op)in->op) {
	case OP_SLICE:
	case OP_GATHER:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_BROADCAST: {
		const AttrId attr = in->attr;
		const uint32_t nargs = in->nargs;
		const Op op = (Op)in->op;
		Ref x[2] = {operand(sp, in, 0), nargs > 1 ? operand(sp, in, 1) : REF_NONE};
		x[0] = squared_modulus(sp, x[0]);
		return x[0] != REF_NONE ? build(sp->b, op, nargs, x, attr, NULL) : REF_NONE;
	}
	case OP_SELECT: break;
	default: return REF_NONE;
	}
	const Ref condition = operand(sp, in, 0);
	const Inst *product = made_by(sp, operand(sp, in, 2), OP_MUL),
			   *is_zero = made_by(sp, condition, OP_EQ), *root = NULL;
	for (uint32_t k = 0; product && !root && k < 2; k++)
		root = made_by(sp, operand(sp, product, k), OP_SQRT);
	const Inst *guarded = root ? made_by(sp, operand(sp, root, 0), OP_SELECT) : NULL;
	if (!guarded || !is_zero || operand(sp, guarded, 0) != condition) return REF_NONE;
	const Inst *size = made_by(sp, operand(sp, is_zero, 0), OP_STOP);
	const Inst *larger = size ? made_by(sp, operand(sp, size, 0), OP_MAX) : NULL;
	if (!larger) return REF_NONE;
	Ref part[2] = {operand(sp, larger, 0), operand(sp, larger, 1)};
	for (uint32_t k = 0; k < 2; k++) {
		const Inst *bare = made_by(sp, part[k], OP_ABS);
		Value constant;
		if (bare) part[k] = operand(sp, bare, 0);
		else if (!ref_splat(build_fn(sp->b), part[k], &constant)) return REF_NONE;
	}
	Ref re = build2(sp->b, OP_MUL, part[0], part[0]);
	return build2(sp->b, OP_ADD, re, build2(sp->b, OP_MUL, part[1], part[1]));
}

/* A product of a modulus with itself, or an even power of one, without the
 * root; else NULL. */
static Av *power_of_modulus(Sp *sp, Op op, Av *const *args, Span at) {
	int64_t exponent = 2;
	if (args[0]->kind != AV_ARRAY || args[1]->kind != AV_ARRAY) return NULL;
	if (op == OP_MUL ? args[0]->ref != args[1]->ref
	                 : op != OP_POW || !av_static_int(sp, args[1], &exponent))
		return NULL;
	Ref square = exponent % 2 == 0 ? squared_modulus(sp, args[0]->ref) : REF_NONE;
	if (square == REF_NONE) return NULL;
	return sp_elementwise(sp, OP_POW, 2, (Av *[]){av_array(sp, square), av_int(sp, exponent / 2)},
	                      at);
}

Av *sp_elementwise(Sp *sp, Op op, uint32_t n, Av *const *args, Span at) {
	Av *plain = n == 2 ? power_of_modulus(sp, op, args, at) : NULL;
	if (plain) return plain;
	Ref r[2];
	bool weak = true;
	Dtype d = DT_BOOL;
	Av *a[2];
	for (uint32_t i = 0; i < n; i++) {
		a[i] = sp_want_array(sp, args[i], at, prim_spelling(op));
		weak &= a[i]->weak;
	}
	d = n == 2 ? sp_common_dtype(sp, a[0], a[1]) : ty(sp, a[0]->ref)->dtype;
	/* An integer already. */
	if ((op == OP_FLOOR || op == OP_ROUND) && !dtype_is_inexact(d)) return a[0];
	Dtype w = working_dtype(op, d);
	if (w == DT_COUNT) {
		if (op == OP_ABS && dtype_is_complex(d)) return av_array(sp, modulus(sp, a[0]->ref));
		if ((op == OP_REAL || op == OP_CONJ) && !dtype_is_complex(d)) return a[0];
		/* The library builds these from real functions
		 * (stdlib/core/complex.dsl). */
		const char *of_parts = op == OP_ASIN    ? "_complex_asin"
		                       : op == OP_ACOS  ? "_complex_acos"
		                       : op == OP_ATAN  ? "_complex_atan"
		                       : op == OP_LOG1P ? "_complex_log1p"
		                       : op == OP_EXPM1 ? "_complex_expm1"
		                                        : NULL;
		if (of_parts && dtype_is_complex(d)) return sp_call_library(sp, of_parts, 1, a, at);
		if (dtype_is_complex(d) && (op == OP_LT || op == OP_LE || op == OP_MAX || op == OP_MIN ||
		                            op == OP_SIGN || op == OP_FLOOR || op == OP_ROUND))
			sp_fail(sp, E_DTYPE, at, "`%s` has no meaning for %s: complex numbers have no order",
			        prim_spelling(op), dtype_name(d));
		if (op == OP_IMAG)
			return av_array(
				sp, build_zeros(sp->b,
			                    type_with_dtype(sp->c, ref_type(build_fn(sp->b), a[0]->ref), d)));
		sp_fail(sp, E_DTYPE, at, "`%s` has no meaning for %s", prim_spelling(op), dtype_name(d));
	}
	for (uint32_t i = 0; i < n; i++) r[i] = sp_to_dtype(sp, a[i], w);
	if (n == 1) {
		Av *v = av_array(sp, build1(sp->b, op, r[0]));
		v->weak = weak && !dtype_is_complex(w);
		return v;
	}
	sp_broadcast_pair(sp, &r[0], &r[1], a[0], a[1], at, verb_of(op));
	Av *v = av_array(sp, build2(sp->b, op, r[0], r[1]));
	/* An integer implies no precision, so a real literal combined with one
	 * stays weak. */
	if (a[0]->weak != a[1]->weak)
		weak = w == DT_F64 && !dtype_is_inexact(ty(sp, (a[0]->weak ? a[1] : a[0])->ref)->dtype);
	v->weak = weak && prims[op].result == RESULT_SAME;
	return v;
}

/* ---- operators ----------------------------------------------------------- */

static bool is_bool_array(Sp *sp, const Av *v) {
	return v->kind == AV_ARRAY && ty(sp, v->ref)->dtype == DT_BOOL;
}

static Av *sp_dynamic_operator(Sp *sp, const char *name, uint32_t n, Av *const *args, Span at);

Av *sp_unary(Sp *sp, AstOp op, Av *x, Span at) {
	if (x->kind == AV_UNSET) return x;
	if (x->kind == AV_DYN)
		return sp_dynamic_operator(sp,
		                           op == AO_NOT   ? "not"
		                           : op == AO_NEG ? "neg"
		                                          : "pos",
		                           1, &x, at);
	if (x->kind == AV_FUNCTION && op == AO_NEG) return av_builtin(sp, "_negated", 1, &x);
	if (op == AO_NEG && av_is_sparse(sp->c, x))
		return sp_call_library(sp, "_sparse_scaled", 2, (Av *[]){x, av_int(sp, -1)}, at);
	if (op == AO_POS) return sp_want_array(sp, x, at, "+");
	if (op == AO_NOT) {
		if (!is_bool_array(sp, x))
			sp_fail(sp, E_TYPE, at, "`not` takes a condition, not %s", sp_type_text(sp, x));
		return sp_elementwise(sp, OP_EQ, 2, (Av *[]){x, av_bool(sp, false)}, at);
	}
	return sp_elementwise(sp, OP_NEG, 1, &x, at);
}

/* In an equation a number that is no field has no ': its transpose would be the
 * number itself, and who writes one means a derivative. */
Av *sp_prime(Sp *sp, Av *v, uint32_t count, Span at) {
	if (sp->problem && v->kind == AV_ARRAY && !ty(sp, v->ref)->rank)
		sp_fail(sp, E_PROBLEM_COORD, at,
		        "' of a number does not say with respect to which coordinate; write d(..., x)");
	for (uint32_t i = 0; i < count; i++) {
		if (v->kind == AV_FUNCTION) v = av_builtin(sp, "_derivative", 1, (Av *[]){v});
		else if (v->kind == AV_ARRAY)
			v = sp_call_args(sp, av_builtin(sp, "adjoint", 0, NULL), 1, (Av *[]){v}, at);
		else if (av_is_sparse(sp->c, v)) v = sp_call_library(sp, "_sparse_adjoint", 1, &v, at);
		else
			sp_fail(sp, E_TYPE, at,
			        "' is the derivative of a function or the transpose of a matrix, not of %s",
			        sp_type_text(sp, v));
	}
	return v;
}

static Av *power(Sp *sp, Av *x, Av *y, Span at) {
	x = sp_want_array(sp, x, at, "^");
	y = sp_want_array(sp, y, at, "^");
	Dtype dx = ty(sp, x->ref)->dtype, dy = ty(sp, y->ref)->dtype;
	int64_t e;
	/* 2^-1 with a literal exponent is a float. */
	if (dtype_is_int(dx) && dtype_is_int(dy) && y->weak && av_static_int(sp, y, &e) && e < 0) {
		Av *f = av_array(sp, build_convert(sp->b, x->ref, DT_F64));
		f->weak = x->weak;
		return sp_elementwise(sp, OP_POW, 2, (Av *[]){f, y}, at);
	}
	/* x^n keeps x's dtype. */
	if (dtype_is_real(dx) && dtype_is_int(dy) && !y->weak) y = av_weak(sp, y->ref);
	return sp_elementwise(sp, OP_POW, 2, (Av *[]){x, y}, at);
}

static Av *matmul(Sp *sp, Av *x, Av *y, Span at) {
	x = sp_want_array(sp, x, at, "@");
	y = sp_want_array(sp, y, at, "@");
	Dtype d = sp_common_dtype(sp, x, y);
	if (d == DT_BOOL) d = DT_I64;
	Ref rx = sp_to_dtype(sp, x, d), ry = sp_to_dtype(sp, y, d);
	Type tx = *ty(sp, rx), t_y = *ty(sp, ry);
	if (!tx.rank || !t_y.rank) {
		Diag *e = diag_error(sp->c, E_RANK, at, "@ multiplies vectors and matrices, not %s by %s",
		                     sp_type_text(sp, x), sp_type_text(sp, y));
		diag_hint(sp->c, e, "write * for a product with a number");
		sp_throw(sp);
	}
	Dim inner_x = tx.dims[tx.rank - 1], inner_y = t_y.dims[t_y.rank == 1 ? 0 : t_y.rank - 2];
	Atom what = atom_f(sp->c, "cannot multiply %s by %s", sp_type_text(sp, x), sp_type_text(sp, y));
	if (!build_unify(sp->b, inner_x, inner_y, what)) {
		Diag *e = diag_error(sp->c, E_SHAPE, at, "%s", atom_text(sp->c, what));
		sp_second_origin(sp, e, at, x, y);
		sp_throw(sp);
	}
	if (tx.rank <= 2 && t_y.rank <= 2) return av_array(sp, build_matmul(sp->b, rx, ry));
	/* Stacks of matrices: both have the same leading axes, or one of them has
	 * none. */
	uint32_t bx = tx.rank > 2 ? tx.rank - 2 : 0, by = t_y.rank > 2 ? t_y.rank - 2 : 0;
	int cx = (int)tx.rank - 1, cy = t_y.rank == 1 ? 0 : (int)t_y.rank - 2;
	if (bx && by) {
		if (bx != by)
			sp_fail(sp, E_RANK, at, "%s: the stacks of matrices differ in rank",
			        atom_text(sp->c, what));
		int batch[MAX_RANK];
		for (uint32_t i = 0; i < bx; i++) {
			batch[i] = (int)i;
			if (!build_unify(sp->b, tx.dims[i], t_y.dims[i], what))
				sp_fail(sp, E_SHAPE, at, "%s", atom_text(sp->c, what));
		}
		return av_array(sp, build_dot(sp->b, rx, ry, 1, &cx, &cy, bx, batch, batch));
	}
	if (bx) return av_array(sp, build_dot(sp->b, rx, ry, 1, &cx, &cy, 0, NULL, NULL));
	/* [m, k] @ [b.., k, n] -> [b.., m, n]: contract, then move m after the
	 * batch axes. */
	Ref r = build_dot(sp->b, rx, ry, 1, &cx, &cy, 0, NULL, NULL);
	if (tx.rank == 2) {
		int perm[MAX_RANK];
		uint32_t k = 0;
		for (uint32_t i = 0; i < by; i++) perm[k++] = (int)(1 + i);
		perm[k++] = 0;
		perm[k] = (int)(1 + by);
		r = build_transpose(sp->b, r, perm);
	}
	return av_array(sp, r);
}

static const char *operator_text(AstOp op) {
	static const char *const text[] = {
		[AO_ADD] = "+",       [AO_SUB] = "-",   [AO_MUL] = "*", [AO_DIV] = "/",
		[AO_FLOORDIV] = "//", [AO_MOD] = "%",   [AO_POW] = "^", [AO_MATMUL] = "@",
		[AO_DOT] = "·",       [AO_CROSS] = "×", [AO_EQ] = "==", [AO_NE] = "!=",
		[AO_LT] = "<",        [AO_LE] = "<=",   [AO_GT] = ">",  [AO_GE] = ">="};
	return (size_t)op < sizeof text / sizeof text[0] && text[op] ? text[op] : "?";
}

static Av *sp_dynamic_operator(Sp *sp, const char *name, uint32_t n, Av *const *args, Span at) {
	return sp_call_dynamic(sp, av_builtin(sp, "_operator", 1, (Av *[]){av_string(sp, name)}), n,
	                       args, at);
}

/* Whether two leaves of one kind are the same. */
static Av *same_leaves(Sp *sp, Av *x, Av *y, Span at) {
	if (x->kind == AV_ARRAY)
		return sp_call_args(sp, av_builtin(sp, "_same", 0, NULL), 2, (Av *[]){x, y}, at);
	Av *same = sp_dynamic_operator(sp, "==", 2, (Av *[]){x, y}, at);
	return av_array(sp, sp_scalar(sp, same, DT_BOOL, at, "a comparison"));
}

static Av *compare(Sp *sp, AstOp op, Av *x, Av *y, Span at) {
	bool structural = x->kind != AV_ARRAY || y->kind != AV_ARRAY;
	bool arrayish = (x->kind == AV_ARRAY || x->kind == AV_RANGE) &&
	                (y->kind == AV_ARRAY || y->kind == AV_RANGE);
	if (x->kind == AV_STRING && y->kind == AV_STRING && op != AO_EQ && op != AO_NE) {
		/* By code points: the bytes of UTF-8 have the same order. */
		const size_t n = atom_length(sp->c, x->text), m = atom_length(sp->c, y->text);
		int order = memcmp(atom_text(sp->c, x->text), atom_text(sp->c, y->text), n < m ? n : m);
		if (!order) order = n < m ? -1 : n > m;
		return av_bool(sp, op == AO_LT   ? order < 0
		                   : op == AO_LE ? order <= 0
		                   : op == AO_GT ? order > 0
		                                 : order >= 0);
	}
	if (structural && !arrayish) {
		if (op != AO_EQ && op != AO_NE)
			sp_fail(sp, E_TYPE, at, "cannot order %s and %s", sp_type_text(sp, x),
			        sp_type_text(sp, y));
		/* Only the run shows whether a dynamic part is an array, a string or
		 * none. */
		if (av_has_dynamic(x) || av_has_dynamic(y))
			return sp_dynamic_operator(sp, operator_text(op), 2, (Av *[]){x, y}, at);
		bool equal = av_same_structure(x, y);
		Av *all = NULL;
		if (equal) {
			uint32_t n = av_count_leaves(x), k = 0, m = 0;
			Av **lx = ARENA_ARRAY(sp->a, Av *, n + 1), **ly = ARENA_ARRAY(sp->a, Av *, n + 1);
			av_leaf_values(x, lx, &k);
			av_leaf_values(y, ly, &m);
			for (uint32_t i = 0; i < n; i++) {
				Av *same = same_leaves(sp, lx[i], ly[i], at);
				all = all ? sp_elementwise(sp, OP_MIN, 2, (Av *[]){all, same}, at) : same;
			}
		}
		Av *r = all ? all : av_bool(sp, equal);
		return op == AO_NE ? sp_elementwise(sp, OP_EQ, 2, (Av *[]){r, av_bool(sp, false)}, at) : r;
	}
	switch (op) {
	case AO_EQ: return sp_elementwise(sp, OP_EQ, 2, (Av *[]){x, y}, at);
	case AO_NE:
		return sp_elementwise(
			sp, OP_EQ, 2,
			(Av *[]){sp_elementwise(sp, OP_EQ, 2, (Av *[]){x, y}, at), av_bool(sp, false)}, at);
	case AO_LT: return sp_elementwise(sp, OP_LT, 2, (Av *[]){x, y}, at);
	case AO_LE: return sp_elementwise(sp, OP_LE, 2, (Av *[]){x, y}, at);
	case AO_GT: return sp_elementwise(sp, OP_LT, 2, (Av *[]){y, x}, at);
	default: return sp_elementwise(sp, OP_LE, 2, (Av *[]){y, x}, at);
	}
}

/* y's fields in the order of x's. */
static Av *in_order_of(Sp *sp, AstOp op, const Av *x, Av *y, Span at) {
	Av **items = ARENA_ARRAY(sp->a, Av *, x->n + 1);
	bool same = x->n == y->n;
	for (uint32_t i = 0; same && i < x->n; i++)
		same = (items[i] = av_field(y, x->names[i])) != NULL;
	if (!same)
		sp_fail(sp, E_TYPE, at, "`%s` needs records of the same fields, not %s and %s",
		        operator_text(op), sp_type_text(sp, x), sp_type_text(sp, y));
	return av_record(sp, x->n, x->names, items);
}

/* The library function for an operator with a sparse matrix, or NULL. */
static const char *sparse_operator(AstOp op) {
	switch (op) {
	case AO_MATMUL: return "_sparse_times";
	case AO_ADD: return "_sparse_plus";
	case AO_SUB: return "_sparse_minus";
	case AO_MUL: return "_sparse_scaled";
	case AO_DIV: return "_sparse_over";
	default: return NULL;
	}
}

static Av *join_strings(Sp *sp, Av *x, Av *y, Span at) {
	const size_t n = atom_length(sp->c, x->text), m = atom_length(sp->c, y->text);
	if (n + m > TEXT_STATIC_MOST) return sp_dynamic_operator(sp, "+", 2, (Av *[]){x, y}, at);
	char *text = ARENA_ARRAY(sp->a, char, n + m + 1);
	memcpy(text, atom_text(sp->c, x->text), n);
	memcpy(text + n, atom_text(sp->c, y->text), m);
	Av *both = av_new(sp, AV_STRING);
	both->text = atom_n(sp->c, text, n + m);
	return both;
}

static bool power_overflows(int64_t base, int64_t exponent, int64_t *out) {
	bool over = false;
	*out = 1;
	if (base == 0 || base == 1 || base == -1) exponent = exponent ? 2 - exponent % 2 : 0;
	for (; exponent > 0 && !over; exponent--) over = __builtin_mul_overflow(*out, base, out);
	return over;
}

/* Refuses integer arithmetic that is known to overflow. With numbers that only
 * the run shows it wraps. */
static void refuse_overflow(Sp *sp, AstOp op, const Av *x, const Av *y, Span at) {
	int64_t a, b, r = 0;
	bool over;
	if (!av_static_int(sp, x, &a) || !av_static_int(sp, y, &b)) return;
	switch (op) {
	case AO_ADD: over = __builtin_add_overflow(a, b, &r); break;
	case AO_SUB: over = __builtin_sub_overflow(a, b, &r); break;
	case AO_MUL: over = __builtin_mul_overflow(a, b, &r); break;
	case AO_POW: over = power_overflows(a, b, &r); break;
	default: return;
	}
	const Dtype d = sp_common_dtype(sp, x, y);
	over |= d == DT_I32 && (r < INT32_MIN || r > INT32_MAX);
	if (!over) return;
	Diag *e = diag_error(sp->c, E_ARITH, at, "%lld %s %lld does not fit in an integer of type %s",
	                     (long long)a, operator_text(op), (long long)b, dtype_name(d));
	diag_hint(sp->c, e, "real numbers reach further: %lld.0 %s %lld", (long long)a,
	          operator_text(op), (long long)b);
	sp_throw(sp);
}

Av *sp_binary(Sp *sp, AstOp op, Av *x, Av *y, Span at, Span xs, Span ys) {
	/* No value: an earlier failure is certain. */
	if (x->kind == AV_UNSET || y->kind == AV_UNSET) return av_new(sp, AV_UNSET);
	if (x->kind == AV_DYN || y->kind == AV_DYN)
		return sp_dynamic_operator(sp, operator_text(op), 2, (Av *[]){x, y}, at);
	if (!x->origin.source) x = av_with_origin(sp, x, xs);
	if (!y->origin.source) y = av_with_origin(sp, y, ys);
	if (op >= AO_EQ && op <= AO_GE) return compare(sp, op, x, y, at);
	if (x->kind == AV_STRING && y->kind == AV_STRING && op == AO_ADD)
		return join_strings(sp, x, y, at);
	if (x->kind == AV_FUNCTION || y->kind == AV_FUNCTION) {
		/* f + g, 2f: pointwise arithmetic of functions. */
		if (op == AO_ADD || op == AO_SUB || op == AO_MUL || op == AO_DIV || op == AO_POW) {
			if (x->kind == AV_FUNCTION || x->kind == AV_ARRAY)
				return av_builtin(sp, "_pointwise", 3,
				                  (Av *[]){av_string(sp, operator_text(op)), x, y});
		}
		sp_fail(sp, E_TYPE, at, "`%s` has no meaning for %s and %s", operator_text(op),
		        sp_type_text(sp, x), sp_type_text(sp, y));
	}
	if ((av_is_sparse(sp->c, x) || av_is_sparse(sp->c, y)) && sparse_operator(op))
		return sp_call_library(sp, sparse_operator(op), 2, (Av *[]){x, y}, at);
	bool aggregate = x->kind == AV_RECORD || x->kind == AV_TUPLE || x->kind == AV_LIST ||
	                 y->kind == AV_RECORD || y->kind == AV_TUPLE || y->kind == AV_LIST;
	if (aggregate && (op == AO_ADD || op == AO_SUB || op == AO_MUL || op == AO_DIV)) {
		/* Parameters are vectors: records, tuples and lists of arrays add and
		 * scale leaf by leaf. */
		if ((x->kind == AV_LIST || x->kind == AV_TUPLE) && x->kind == y->kind && op == AO_ADD &&
		    x->n != y->n) {
			Av **items = ARENA_ARRAY(sp->a, Av *, x->n + y->n + 1);
			for (uint32_t i = 0; i < x->n; i++) items[i] = x->items[i];
			for (uint32_t i = 0; i < y->n; i++) items[x->n + i] = y->items[i];
			return av_seq(sp, (AvKind)x->kind, x->n + y->n, items);
		}
		if (x->kind == AV_RECORD && y->kind == AV_RECORD) y = in_order_of(sp, op, x, y, at);
		const Av *shape = x->kind == AV_ARRAY ? y : x;
		if (x->kind != AV_ARRAY && y->kind != AV_ARRAY && !(x->kind == y->kind && x->n == y->n))
			sp_fail(sp, E_TYPE, at, "`%s` needs two %ss of one length, not %s of %u and %s of %u",
			        operator_text(op), x->kind == AV_LIST ? "list" : "tuple", av_kind_text(x), x->n,
			        av_kind_text(y), y->n);
		Av **items = ARENA_ARRAY(sp->a, Av *, shape->n ? shape->n : 1);
		for (uint32_t i = 0; i < shape->n; i++)
			items[i] = sp_binary(sp, op, x->kind == AV_ARRAY ? x : x->items[i],
			                     y->kind == AV_ARRAY ? y : y->items[i], at, xs, ys);
		return shape->kind == AV_RECORD ? av_record(sp, shape->n, shape->names, items)
		                                : av_seq(sp, (AvKind)shape->kind, shape->n, items);
	}
	if (x->kind == AV_STRING || y->kind == AV_STRING) { /* "a" + 1, "%d" % x */
		Diag *d = diag_error(sp->c, E_TYPE, at, "`%s` has no meaning for %s and %s",
		                     operator_text(op), sp_type_text(sp, x), sp_type_text(sp, y));
		if (op == AO_ADD || op == AO_MOD)
			diag_hint(sp->c, d,
			          "a value is put into a string as in \"x is {x}\", or {x:.3f} with a format");
		sp_throw(sp);
	}
	if ((x->kind != AV_ARRAY && x->kind != AV_RANGE) ||
	    (y->kind != AV_ARRAY && y->kind != AV_RANGE))
		sp_fail(sp, E_TYPE, at, "`%s` has no meaning for %s and %s", operator_text(op),
		        sp_type_text(sp, x), sp_type_text(sp, y));
	refuse_overflow(sp, op, x, y, at);
	Av *pair[2] = {x, y};
	switch (op) {
	case AO_ADD: return sp_elementwise(sp, OP_ADD, 2, pair, at);
	case AO_SUB: return sp_elementwise(sp, OP_SUB, 2, pair, at);
	case AO_MUL: return sp_elementwise(sp, OP_MUL, 2, pair, at);
	case AO_DIV: return sp_elementwise(sp, OP_DIV, 2, pair, at);
	case AO_FLOORDIV: return sp_elementwise(sp, OP_FLOORDIV, 2, pair, at);
	case AO_MOD: return sp_elementwise(sp, OP_MOD, 2, pair, at);
	case AO_POW: return power(sp, x, y, at);
	case AO_MATMUL: return matmul(sp, x, y, at);
	case AO_DOT: return sp_call_args(sp, sp_lookup(sp, atom(sp->c, "dot"), at), 2, pair, at);
	case AO_CROSS: return sp_call_args(sp, sp_lookup(sp, atom(sp->c, "cross"), at), 2, pair, at);
	default: sp_fail(sp, E_INTERNAL, at, "an unknown operator");
	}
}

/* ---- stacking and concatenation ------------------------------------------ */

/* All items are constant scalars: one constant tensor instead of reshapes and a
 * concat. */
static Ref constant_vector(Sp *sp, uint32_t n, Av *const *items, Dtype d) {
	Fn *f = build_fn(sp->b);
	for (uint32_t i = 0; i < n; i++) {
		const Const *k = ref_constant(f, items[i]->ref);
		if (!k || k->value.kind != V_SCALAR) return REF_NONE;
	}
	int64_t shape = n;
	Tensor *t = tensor_new(sp->c, d, 1, &shape);
	if (!t) ctx_throw(sp->c, ST_NOMEM);
	for (uint32_t i = 0; i < n; i++) {
		Value v = ref_constant(f, items[i]->ref)->value;
		scalar_convert(v.dtype, value_scalar_bytes(&v), d, t->data + i * dtype_size(d));
	}
	Value v = value_tensor(t);
	return sp_const(sp, v);
}

/* All items are constant tensors of one shape: the rows of a matrix literal. */
static Ref constant_rows(Sp *sp, uint32_t n, Av *const *items, Dtype d) {
	Fn *f = build_fn(sp->b);
	const Tensor *first = NULL;
	for (uint32_t i = 0; i < n; i++) {
		const Const *k = ref_constant(f, items[i]->ref);
		if (!k || k->value.kind != V_TENSOR) return REF_NONE;
		if (!first) first = k->value.tensor;
		if (!tensor_same_shape(first, k->value.tensor)) return REF_NONE;
	}
	if (!first || first->rank + 1 > MAX_RANK) return REF_NONE;
	int64_t shape[MAX_RANK] = {n};
	for (uint32_t k = 0; k < first->rank; k++) shape[1 + k] = first->shape[k];
	Tensor *t = tensor_new(sp->c, d, first->rank + 1u, shape);
	if (!t) ctx_throw(sp->c, ST_NOMEM);
	for (uint32_t i = 0; i < n; i++) {
		Tensor *row =
			tensor_view(sp->c, t, first->rank, shape + 1, t->stride + 1, (int64_t)i * t->stride[0]);
		if (!row) {
			tensor_unref(t);
			ctx_throw(sp->c, ST_NOMEM);
		}
		tensor_convert_into(row, ref_constant(f, items[i]->ref)->value.tensor);
		tensor_unref(row);
	}
	Value v = value_tensor(t);
	return sp_const(sp, v);
}

Av *sp_stack(Sp *sp, uint32_t n, Av *const *items, Span at) {
	if (n == 0) {
		Dim zero = dim_const(sp->c, 0);
		return av_array(sp, build_zeros(sp->b, type_tensor(sp->c, DT_F64, 1, &zero)));
	}
	Av **a = ARENA_ARRAY(sp->a, Av *, n);
	for (uint32_t i = 0; i < n; i++)
		a[i] = sp_want_array(sp, items[i], items[i]->origin.source ? items[i]->origin : at,
		                     "an entry of [ ]");
	Av *meet = a[0];
	Dtype d = ty(sp, a[0]->ref)->dtype;
	for (uint32_t i = 1; i < n; i++) {
		d = sp_common_dtype(sp, meet, a[i]);
		if (a[i]->weak < meet->weak || ty(sp, meet->ref)->dtype != d) {
			Av *m = av_array(sp, build_scalar(sp->b, d, 0));
			m->weak = meet->weak && a[i]->weak;
			meet = m;
		}
	}
	Ref constant = constant_vector(sp, n, a, d);
	if (constant == REF_NONE) constant = constant_rows(sp, n, a, d);
	if (constant != REF_NONE) return av_array(sp, constant);
	Ref *parts = ARENA_ARRAY(sp->a, Ref, n);
	Type first = *ty(sp, a[0]->ref);
	if (first.rank + 1 > MAX_RANK)
		sp_fail(sp, E_RANK, at, "an array has at most %d axes", MAX_RANK);
	for (uint32_t i = 0; i < n; i++) {
		Type t = *ty(sp, a[i]->ref);
		bool fits = t.rank == first.rank;
		Atom what = atom_f(sp->c, "entries of [ ] must have one shape: %s and %s",
		                   sp_type_text(sp, a[0]), sp_type_text(sp, a[i]));
		for (uint32_t k = 0; fits && k < t.rank; k++)
			fits = build_unify(sp->b, first.dims[k], t.dims[k], what);
		if (!fits) {
			Diag *e = diag_error(sp->c, E_SHAPE, a[i]->origin.source ? a[i]->origin : at, "%s",
			                     atom_text(sp->c, what));
			if (a[0]->origin.source)
				diag_second(sp->c, e, a[0]->origin, "the first is %s", sp_type_text(sp, a[0]));
			sp_throw(sp);
		}
		Dim shape[MAX_RANK] = {dim_const(sp->c, 1)};
		for (uint32_t k = 0; k < first.rank; k++) shape[1 + k] = build_canon(sp->b, first.dims[k]);
		parts[i] = build_reshape(sp->b, sp_to_dtype(sp, a[i], d), first.rank + 1u, shape);
	}
	return av_array(sp, n == 1 ? parts[0] : build_concat(sp->b, n, parts, 0));
}

Av *sp_concat(Sp *sp, uint32_t n, Av *const *items, int axis, Span at) {
	if (n == 0) sp_fail(sp, E_ARITY, at, "nothing to join");
	Ref *parts = ARENA_ARRAY(sp->a, Ref, n);
	Dtype d = DT_BOOL;
	Av **a = ARENA_ARRAY(sp->a, Av *, n);
	for (uint32_t i = 0; i < n; i++) {
		a[i] = sp_want_array(sp, items[i], at, "concat");
		d = i ? dtype_promote(d, ty(sp, a[i]->ref)->dtype) : ty(sp, a[i]->ref)->dtype;
	}
	Type first = *ty(sp, a[0]->ref);
	if (axis < 0) axis += (int)first.rank;
	if (!first.rank || axis < 0 || axis >= (int)first.rank)
		sp_fail(sp, E_RANK, at, "%s has no axis %d to join along", sp_type_text(sp, a[0]), axis);
	for (uint32_t i = 0; i < n; i++) {
		Type t = *ty(sp, a[i]->ref);
		bool fits = t.rank == first.rank;
		Atom what = atom_f(sp->c, "cannot join %s and %s along axis %d", sp_type_text(sp, a[0]),
		                   sp_type_text(sp, a[i]), axis);
		for (uint32_t k = 0; fits && k < t.rank; k++)
			if ((int)k != axis) fits = build_unify(sp->b, first.dims[k], t.dims[k], what);
		if (!fits) sp_fail(sp, E_SHAPE, at, "%s", atom_text(sp->c, what));
		parts[i] = sp_to_dtype(sp, a[i], d);
	}
	return av_array(sp, n == 1 ? parts[0] : build_concat(sp->b, n, parts, axis));
}

bool sp_static_items(Sp *sp, Av *v, uint32_t *n, Av ***items) {
	if (v->kind == AV_TUPLE || v->kind == AV_LIST) {
		*n = v->n;
		*items = v->items;
		return true;
	}
	if (v->kind == AV_RANGE) {
		int64_t start, stop, step;
		if (!av_static_int(sp, v->items[0], &start) || !av_static_int(sp, v->items[1], &stop) ||
		    !av_static_int(sp, v->items[2], &step) || step == 0)
			return false;
		int64_t count =
			step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
		if (count < 0) count = 0;
		if (count > 100000) return false;
		*n = (uint32_t)count;
		*items = ARENA_ARRAY(sp->a, Av *, count ? count : 1);
		for (int64_t i = 0; i < count; i++) (*items)[i] = av_int(sp, start + i * step);
		return true;
	}
	if (v->kind != AV_ARRAY) return false;
	Type t = *ty(sp, v->ref);
	int64_t len;
	if (t.rank == 0 || !dim_is_const(sp->c, t.dims[0], &len) || len > 4096) return false;
	*n = (uint32_t)len;
	*items = ARENA_ARRAY(sp->a, Av *, len ? len : 1);
	Span none[1] = {NO_SPAN};
	for (int64_t i = 0; i < len; i++)
		(*items)[i] = sp_index_values(sp, v, 1, (Av *[]){av_int(sp, i)}, none, NO_SPAN);
	return true;
}
