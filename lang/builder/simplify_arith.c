/* simplify_arith.c - rewrite rules of arithmetic, comparisons and conversions.
 *
 * Needs: builder/simplify.h.
 *
 * Contract: as simplify.c. Each rule is for element-wise primitives, whose
 * operands and result have one shape.
 */
#include "lang/builder/simplify.h"
#include <math.h>

/* ---- inspection ---------------------------------------------------------- */

static Dtype dtype_at(Builder *b, Ref r) { return (Dtype)ref_ty(b->fn, r)->dtype; }

static bool is_kind(Builder *b, Ref r, uint8_t kinds) {
	return (dtype_kind(dtype_at(b, r)) & kinds) != 0;
}

static bool splat_int(Builder *b, Ref r, int64_t *out) {
	Value v;
	return is_kind(b, r, KIND_I) && ref_splat(b->fn, r, &v) && value_as_i64(v, out);
}

static bool is_splat(Builder *b, Ref r) {
	Value v;
	return ref_splat(b->fn, r, &v);
}

/* ---- sums ---------------------------------------------------------------- */

Ref rule_add_zero(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 0) ? e->args[0] : REF_NONE;
}

Ref rule_add_neg(Builder *b, const Expr *e) {
	Ref y = under(b, OP_NEG, e->args[1]);
	if (y != REF_NONE) return build2(b, OP_SUB, e->args[0], y);
	y = under(b, OP_NEG, e->args[0]);
	return y != REF_NONE ? build2(b, OP_SUB, e->args[1], y) : REF_NONE;
}

/* (x . c1) . c2 -> x . (c1 . c2), for integers, whose sums and products
 * associate. */
Ref rule_gather_constants(Builder *b, const Expr *e) {
	int64_t c1, c2;
	const Inst *in = made_by(b, e->args[0], e->op);
	if (!in || !splat_int(b, e->args[1], &c2) || !splat_int(b, inst_arg(b->fn, in, 1), &c1))
		return REF_NONE;
	Ref x = inst_arg(b->fn, in, 0);
	return build2(b, e->op, x, build2(b, e->op, inst_arg(b->fn, in, 1), e->args[1]));
}

Ref rule_sub_zero(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 0) ? e->args[0] : REF_NONE;
}

Ref rule_zero_sub(Builder *b, const Expr *e) {
	return splat_is(b, e->args[0], 0) ? build1(b, OP_NEG, e->args[1]) : REF_NONE;
}

Ref rule_sub_neg(Builder *b, const Expr *e) {
	Ref y = under(b, OP_NEG, e->args[1]);
	return y != REF_NONE ? build2(b, OP_ADD, e->args[0], y) : REF_NONE;
}

Ref rule_sub_same(Builder *b, const Expr *e) {
	return e->args[0] == e->args[1] && is_kind(b, e->args[0], KIND_I) ? full(b, e, 0) : REF_NONE;
}

/* x - c -> x + (-c), for integers, so that constants can be combined. */
Ref rule_sub_constant(Builder *b, const Expr *e) {
	int64_t c;
	return splat_int(b, e->args[1], &c)
	           ? build2(b, OP_ADD, e->args[0], build1(b, OP_NEG, e->args[1]))
	           : REF_NONE;
}

Ref rule_neg_neg(Builder *b, const Expr *e) { return under(b, OP_NEG, e->args[0]); }

Ref rule_neg_mul_constant(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_MUL);
	if (!in || !is_splat(b, inst_arg(b->fn, in, 1))) return REF_NONE;
	Ref x = inst_arg(b->fn, in, 0);
	return build2(b, OP_MUL, x, build1(b, OP_NEG, inst_arg(b->fn, in, 1)));
}

/* ---- products ------------------------------------------------------------ */

Ref rule_mul_one(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

Ref rule_mul_minus_one(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], -1) ? build1(b, OP_NEG, e->args[0]) : REF_NONE;
}

/* Not for floats, where 0 * inf is NaN, unless zeros stand for absent tangents.
 */
Ref rule_mul_zero(Builder *b, const Expr *e) {
	return (b->zeros_absorb || is_kind(b, e->args[0], KIND_I)) && splat_is(b, e->args[1], 0)
	           ? e->args[1]
	           : REF_NONE;
}

Ref rule_zero_div(Builder *b, const Expr *e) {
	return b->zeros_absorb && splat_is(b, e->args[0], 0) ? e->args[0] : REF_NONE;
}

Ref rule_mul_neg(Builder *b, const Expr *e) {
	Ref x = under(b, OP_NEG, e->args[0]), y = under(b, OP_NEG, e->args[1]);
	if (x == REF_NONE && y == REF_NONE) return REF_NONE;
	if (x != REF_NONE && y != REF_NONE) return build2(b, OP_MUL, x, y);
	if (x != REF_NONE && is_splat(b, e->args[1]))
		return build2(b, OP_MUL, x, build1(b, OP_NEG, e->args[1]));
	return build1(b, OP_NEG,
	              x != REF_NONE ? build2(b, OP_MUL, x, e->args[1])
	                            : build2(b, OP_MUL, e->args[0], y));
}

Ref rule_div_one(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

Ref rule_div_neg(Builder *b, const Expr *e) {
	Ref x = under(b, OP_NEG, e->args[0]), y = under(b, OP_NEG, e->args[1]);
	if (x == REF_NONE && y == REF_NONE) return REF_NONE;
	if (x != REF_NONE && y != REF_NONE) return build2(b, OP_DIV, x, y);
	return build1(b, OP_NEG,
	              x != REF_NONE ? build2(b, OP_DIV, x, e->args[1])
	                            : build2(b, OP_DIV, e->args[0], y));
}

/* x / 2^k -> x * 2^-k: the same bits. */
Ref rule_div_power_of_two(Builder *b, const Expr *e) {
	double _Complex v;
	if (!is_kind(b, e->args[1], KIND_R) || !splat_complex(b, e->args[1], &v)) return REF_NONE;
	double d = creal(v) < 0 ? -creal(v) : creal(v);
	if (!(d >= 0x1p-64 && d <= 0x1p64)) return REF_NONE;
	while (d < 1) d *= 2;
	while (d > 1) d /= 2;
	return d == 1 ? build2(b, OP_MUL, e->args[0], full(b, e, 1 / creal(v))) : REF_NONE;
}

/* |x| |x| -> x x, which has its true derivatives at 0, where those of |x| are
 * a convention. */
Ref rule_mul_abs(Builder *b, const Expr *e) {
	Ref x = e->args[0] == e->args[1] ? under(b, OP_ABS, e->args[0]) : REF_NONE;
	return x != REF_NONE ? build2(b, OP_MUL, x, x) : REF_NONE;
}

Ref rule_pow_whole(Builder *b, const Expr *e) {
	double _Complex v;
	Ref x = e->args[0];
	if (!splat_complex(b, e->args[1], &v) || cimag(v) != 0) return REF_NONE;
	double p = creal(v);
	Ref signed_base = fmod(p, 2) == 0 ? under(b, OP_ABS, x) : REF_NONE;
	if (signed_base != REF_NONE) return build2(b, OP_POW, signed_base, e->args[1]);
	if (p == 0) return full(b, e, 1);
	if (p == 1) return x;
	if (p == -1 && !is_kind(b, x, KIND_I)) return build2(b, OP_DIV, full(b, e, 1), x);
	if (p != 2 && p != 3 && p != 4) return REF_NONE;
	Ref square = build2(b, OP_MUL, x, x);
	return p == 2 ? square : build2(b, OP_MUL, square, p == 3 ? x : square);
}

Ref rule_floordiv_one(Builder *b, const Expr *e) {
	return is_kind(b, e->args[0], KIND_I) && splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

Ref rule_mod_one(Builder *b, const Expr *e) {
	return is_kind(b, e->args[0], KIND_I) && splat_is(b, e->args[1], 1) ? full(b, e, 0) : REF_NONE;
}

/* ---- comparisons --------------------------------------------------------- */

Ref rule_same_operands(Builder *b, const Expr *e) {
	(void)b;
	return e->args[0] == e->args[1] ? e->args[0] : REF_NONE;
}

/* For bools, max is `or` and min is `and`. */
Ref rule_bool_constant(Builder *b, const Expr *e) {
	if (!is_kind(b, e->args[0], KIND_B)) return REF_NONE;
	double absorbs = e->op == OP_MAX ? 1 : 0;
	if (splat_is(b, e->args[1], absorbs)) return e->args[1];
	return splat_is(b, e->args[1], 1 - absorbs) ? e->args[0] : REF_NONE;
}

/* Only for kinds without NaN. */
Ref rule_same_is_equal(Builder *b, const Expr *e) {
	return e->args[0] == e->args[1] && is_kind(b, e->args[0], KIND_B | KIND_I) ? full(b, e, 1)
	                                                                           : REF_NONE;
}

Ref rule_same_is_not_less(Builder *b, const Expr *e) {
	return e->args[0] == e->args[1] ? full(b, e, 0) : REF_NONE;
}

Ref rule_eq_true(Builder *b, const Expr *e) {
	return is_kind(b, e->args[0], KIND_B) && splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

/* The operand of a `not`, represented as x == false. */
static Ref under_not(Builder *b, Ref r) {
	const Inst *in = made_by(b, r, OP_EQ);
	if (!in || !is_kind(b, inst_arg(b->fn, in, 0), KIND_B) ||
	    !splat_is(b, inst_arg(b->fn, in, 1), 0))
		return REF_NONE;
	return inst_arg(b->fn, in, 0);
}

Ref rule_not_not(Builder *b, const Expr *e) {
	if (!is_kind(b, e->args[0], KIND_B) || !splat_is(b, e->args[1], 0)) return REF_NONE;
	return under_not(b, e->args[0]);
}

Ref rule_select_constant(Builder *b, const Expr *e) {
	Value v;
	if (!ref_splat(b->fn, e->args[0], &v)) return REF_NONE;
	return v.b ? e->args[1] : e->args[2];
}

Ref rule_select_same(Builder *b, const Expr *e) {
	(void)b;
	return e->args[1] == e->args[2] ? e->args[1] : REF_NONE;
}

Ref rule_select_not(Builder *b, const Expr *e) {
	Ref c = under_not(b, e->args[0]);
	return c != REF_NONE ? build(b, OP_SELECT, 3, (Ref[]){c, e->args[2], e->args[1]}, 0, NULL)
	                     : REF_NONE;
}

Ref rule_select_bools(Builder *b, const Expr *e) {
	if (!is_kind(b, e->args[1], KIND_B)) return REF_NONE;
	return splat_is(b, e->args[1], 1) && splat_is(b, e->args[2], 0) ? e->args[0] : REF_NONE;
}

/* ---- unary operations ---------------------------------------------------- */

Ref rule_abs_neg(Builder *b, const Expr *e) {
	Ref x = under(b, OP_NEG, e->args[0]);
	return x != REF_NONE ? build1(b, OP_ABS, x) : REF_NONE;
}

/* Idempotent: abs(abs x), floor(floor x), stop(stop x) ... */
Ref rule_twice_is_once(Builder *b, const Expr *e) {
	return made_by(b, e->args[0], e->op) ? e->args[0] : REF_NONE;
}

Ref rule_round_whole(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONVERT, e->args[0]);
	bool whole = (x != REF_NONE && is_kind(b, x, KIND_B | KIND_I)) ||
	             made_by(b, e->args[0], OP_FLOOR) || made_by(b, e->args[0], OP_ROUND);
	return whole ? e->args[0] : REF_NONE;
}

/* The real array whose conversion to complex is r; REF_NONE otherwise. */
static Ref under_real(Builder *b, Ref r) {
	Ref x = under(b, OP_CONVERT, r);
	return x != REF_NONE && !is_kind(b, x, KIND_C) ? x : REF_NONE;
}

Ref rule_conj_conj(Builder *b, const Expr *e) { return under(b, OP_CONJ, e->args[0]); }

Ref rule_conj_real(Builder *b, const Expr *e) {
	return under_real(b, e->args[0]) != REF_NONE ? e->args[0] : REF_NONE;
}

Ref rule_real_of(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONJ, e->args[0]);
	if (x != REF_NONE) return build1(b, OP_REAL, x);
	x = under_real(b, e->args[0]);
	return x != REF_NONE ? build_convert(b, x, (Dtype)type_of(b->ctx, e->type)->dtype) : REF_NONE;
}

Ref rule_imag_of(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONJ, e->args[0]);
	if (x != REF_NONE) return build1(b, OP_NEG, build1(b, OP_IMAG, x));
	return under_real(b, e->args[0]) != REF_NONE ? full(b, e, 0) : REF_NONE;
}

Ref rule_stop_constant(Builder *b, const Expr *e) {
	return is_splat(b, e->args[0]) || ref_is_const(e->args[0]) ? e->args[0] : REF_NONE;
}

/* ---- conversions --------------------------------------------------------- */

/* Whether every value of `from` is a value of `to`. */
static bool widens(Dtype from, Dtype to) {
	switch (from) {
	case DT_BOOL: return true;
	case DT_I32: return to == DT_I32 || to == DT_I64 || to == DT_F64 || to == DT_C128;
	case DT_I64: return to == DT_I64;
	case DT_F32: return to == DT_F32 || to == DT_F64 || to == DT_C64 || to == DT_C128;
	case DT_F64: return to == DT_F64 || to == DT_C128;
	case DT_C64: return to == DT_C64 || to == DT_C128;
	default: return to == DT_C128;
	}
}

Ref rule_convert_same(Builder *b, const Expr *e) {
	return dtype_at(b, e->args[0]) == (Dtype)type_of(b->ctx, e->type)->dtype ? e->args[0]
	                                                                         : REF_NONE;
}

Ref rule_convert_chain(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONVERT, e->args[0]);
	if (x == REF_NONE || !widens(dtype_at(b, x), dtype_at(b, e->args[0]))) return REF_NONE;
	return build_convert(b, x, (Dtype)type_of(b->ctx, e->type)->dtype);
}
