/* simplify.h - the rewrite rules, and how they inspect and make expressions.
 *
 * Needs: builder/internal.h. Private to simplify.c and simplify_*.c.
 */
#ifndef ATLED_LANG_BUILDER_SIMPLIFY_H
#define ATLED_LANG_BUILDER_SIMPLIFY_H

#include "lang/builder/internal.h"

/* ---- the rules ----------------------------------------------------------- */

/* Returns a simpler equal expression, or REF_NONE. simplify.c states the
 * contract and the order. */
typedef Ref RewriteRule(Builder *b, const Expr *e);

/* simplify_arith.c */
RewriteRule rule_add_zero, rule_add_neg, rule_gather_constants, rule_sub_zero, rule_zero_sub,
	rule_sub_neg, rule_sub_same, rule_sub_constant, rule_neg_neg, rule_neg_mul_constant,
	rule_mul_one, rule_mul_minus_one, rule_mul_zero, rule_zero_div, rule_mul_neg, rule_div_one,
	rule_div_neg, rule_div_power_of_two, rule_mul_abs, rule_pow_whole, rule_floordiv_one,
	rule_mod_one, rule_same_operands, rule_bool_constant, rule_same_is_equal, rule_same_is_not_less,
	rule_eq_true, rule_not_not, rule_select_constant, rule_select_same, rule_select_not,
	rule_select_bools, rule_abs_neg, rule_twice_is_once, rule_round_whole, rule_conj_conj,
	rule_conj_real, rule_real_of, rule_imag_of, rule_stop_constant, rule_convert_same,
	rule_convert_chain;
/* simplify_shape.c */
RewriteRule rule_broadcast_same, rule_broadcast_broadcast, rule_broadcast_out, rule_reshape_same,
	rule_reshape_reshape, rule_moves_spread, rule_reshape_broadcast, rule_transpose_identity,
	rule_transpose_transpose, rule_transpose_broadcast, rule_strided_nothing, rule_slice_slice,
	rule_slice_broadcast, rule_slice_concat, rule_concat_one, rule_concat_empty, rule_unbox_box;
/* simplify_update.c */
RewriteRule rule_slice_update, rule_update_all, rule_update_again, rule_update_own, rule_slice_pad,
	rule_add_pad, rule_add_scattered, rule_pad_zero;
/* simplify_dot.c */
RewriteRule rule_dot_zero, rule_solve_zero, rule_reduce_nothing, rule_reduce_unit_axes,
	rule_sum_of_broadcast, rule_reduce_reduce, rule_dot_of_broadcast, rule_dot_along_broadcast;

/* ---- inspection ---------------------------------------------------------- */

static inline const Inst *made_by(Builder *b, Ref r, Op op) {
	const Inst *in = ref_inst(b->fn, r);
	return in && in->op == op ? in : NULL;
}

/* The only operand of the instruction that defines r, when its primitive is op;
 * REF_NONE otherwise. */
static inline Ref under(Builder *b, Op op, Ref r) {
	const Inst *in = made_by(b, r, op);
	return in ? inst_arg(b->fn, in, 0) : REF_NONE;
}

static inline TypeId type_at(Builder *b, Ref r) { return build_canon_type(b, ref_type(b->fn, r)); }

static inline bool splat_complex(Builder *b, Ref r, double _Complex *out) {
	Value v;
	if (!ref_splat(b->fn, r, &v)) return false;
	scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), DT_C128, out);
	return true;
}

static inline bool splat_is(Builder *b, Ref r, double x) {
	double _Complex v;
	return splat_complex(b, r, &v) && creal(v) == x && cimag(v) == 0;
}

static inline const int64_t *field(Builder *b, const Inst *in, uint32_t k, uint32_t *n) {
	return attr_field(b->ctx, (Op)in->op, in->attr, k, n);
}

static inline const int64_t *expr_field(Builder *b, const Expr *e, uint32_t k, uint32_t *n) {
	return attr_field(b->ctx, e->op, e->attr, k, n);
}

static inline bool dim_is(Builder *b, int64_t word, int64_t value) {
	int64_t v;
	return dim_is_const(b->ctx, build_canon(b, (Dim)word), &v) && v == value;
}

static inline bool same_words(Builder *b, int64_t x, int64_t y) {
	return build_same_dim(b, (Dim)x, (Dim)y);
}

/* ---- construction -------------------------------------------------------- */

static inline Ref full(Builder *b, const Expr *e, double x) { return build_full(b, e->type, x); }

static inline Ref spread(Builder *b, Ref scalar, TypeId like) {
	return build_broadcast_scalar(b, scalar, like);
}

#endif
