/* simplify.c - rewriting of expressions (peephole simplification): the table of
 * rules.
 *
 * Needs: builder/simplify.h. The rules are in simplify_*.c.
 *
 * Contract:
 * - A rule returns a simpler equal expression, or declines. It inspects only
 *   the expression and the definitions of its operands.
 * - The first row that applies wins; the builder counts the uses of each row.
 * - Values are unchanged except for: the sign of zero in sums and differences,
 *   the last bit of a sum of equal terms, and the rounding of small integer
 *   powers.
 */
#include "lang/builder/simplify.h"

typedef struct SimplifyRule {
	uint16_t op; /* OP_NONE: every element-wise primitive */
	const char *name;
	RewriteRule *apply;
} SimplifyRule;

/* The rows of one op are adjacent; they are tried in order. */
static const SimplifyRule rules[] = {
	{OP_NONE, "broadcast_out", rule_broadcast_out},
	{OP_ADD, "add_zero", rule_add_zero},
	{OP_ADD, "add_neg", rule_add_neg},
	{OP_ADD, "gather_constants", rule_gather_constants},
	{OP_ADD, "add_pad", rule_add_pad},
	{OP_ADD, "add_scattered", rule_add_scattered},
	{OP_SUB, "sub_zero", rule_sub_zero},
	{OP_SUB, "zero_sub", rule_zero_sub},
	{OP_SUB, "sub_neg", rule_sub_neg},
	{OP_SUB, "sub_same", rule_sub_same},
	{OP_SUB, "sub_constant", rule_sub_constant},
	{OP_NEG, "neg_neg", rule_neg_neg},
	{OP_NEG, "neg_mul_constant", rule_neg_mul_constant},
	{OP_MUL, "mul_one", rule_mul_one},
	{OP_MUL, "mul_minus_one", rule_mul_minus_one},
	{OP_MUL, "mul_zero", rule_mul_zero},
	{OP_MUL, "mul_neg", rule_mul_neg},
	{OP_MUL, "mul_abs", rule_mul_abs},
	{OP_MUL, "gather_constants", rule_gather_constants},
	{OP_DIV, "zero_div", rule_zero_div},
	{OP_DIV, "div_one", rule_div_one},
	{OP_DIV, "div_neg", rule_div_neg},
	{OP_DIV, "div_power_of_two", rule_div_power_of_two},
	{OP_POW, "pow_whole", rule_pow_whole},
	{OP_FLOORDIV, "floordiv_one", rule_floordiv_one},
	{OP_MOD, "mod_one", rule_mod_one},
	{OP_MAX, "same_operands", rule_same_operands},
	{OP_MAX, "bool_constant", rule_bool_constant},
	{OP_MIN, "same_operands", rule_same_operands},
	{OP_MIN, "bool_constant", rule_bool_constant},
	{OP_EQ, "same_is_equal", rule_same_is_equal},
	{OP_EQ, "eq_true", rule_eq_true},
	{OP_EQ, "not_not", rule_not_not},
	{OP_LE, "same_is_equal", rule_same_is_equal},
	{OP_LT, "same_is_not_less", rule_same_is_not_less},
	{OP_SELECT, "select_constant", rule_select_constant},
	{OP_SELECT, "select_same", rule_select_same},
	{OP_SELECT, "select_not", rule_select_not},
	{OP_SELECT, "select_bools", rule_select_bools},
	{OP_ABS, "abs_neg", rule_abs_neg},
	{OP_ABS, "twice_is_once", rule_twice_is_once},
	{OP_FLOOR, "round_whole", rule_round_whole},
	{OP_ROUND, "round_whole", rule_round_whole},
	{OP_CONJ, "conj_conj", rule_conj_conj},
	{OP_CONJ, "conj_real", rule_conj_real},
	{OP_REAL, "real_of", rule_real_of},
	{OP_IMAG, "imag_of", rule_imag_of},
	{OP_STOP, "twice_is_once", rule_twice_is_once},
	{OP_STOP, "stop_constant", rule_stop_constant},
	{OP_CONVERT, "convert_same", rule_convert_same},
	{OP_CONVERT, "convert_chain", rule_convert_chain},
	{OP_CONVERT, "broadcast_out", rule_broadcast_out},
	{OP_BROADCAST, "broadcast_same", rule_broadcast_same},
	{OP_BROADCAST, "broadcast_broadcast", rule_broadcast_broadcast},
	{OP_RESHAPE, "reshape_same", rule_reshape_same},
	{OP_RESHAPE, "reshape_reshape", rule_reshape_reshape},
	{OP_RESHAPE, "moves_spread", rule_moves_spread},
	{OP_RESHAPE, "reshape_broadcast", rule_reshape_broadcast},
	{OP_TRANSPOSE, "transpose_identity", rule_transpose_identity},
	{OP_TRANSPOSE, "transpose_transpose", rule_transpose_transpose},
	{OP_TRANSPOSE, "transpose_broadcast", rule_transpose_broadcast},
	{OP_SLICE, "strided_nothing", rule_strided_nothing},
	{OP_SLICE, "slice_slice", rule_slice_slice},
	{OP_SLICE, "slice_broadcast", rule_slice_broadcast},
	{OP_SLICE, "slice_concat", rule_slice_concat},
	{OP_SLICE, "slice_update", rule_slice_update},
	{OP_SLICE, "slice_pad", rule_slice_pad},
	{OP_PAD, "strided_nothing", rule_strided_nothing},
	{OP_PAD, "pad_zero", rule_pad_zero},
	{OP_UPDATE, "update_all", rule_update_all},
	{OP_UPDATE, "update_again", rule_update_again},
	{OP_UPDATE, "update_own", rule_update_own},
	{OP_CONCAT, "concat_one", rule_concat_one},
	{OP_CONCAT, "concat_empty", rule_concat_empty},
	{OP_REDUCE_SUM, "reduce_nothing", rule_reduce_nothing},
	{OP_REDUCE_SUM, "reduce_unit_axes", rule_reduce_unit_axes},
	{OP_REDUCE_SUM, "sum_of_broadcast", rule_sum_of_broadcast},
	{OP_REDUCE_SUM, "reduce_reduce", rule_reduce_reduce},
	{OP_REDUCE_PROD, "reduce_nothing", rule_reduce_nothing},
	{OP_REDUCE_PROD, "reduce_unit_axes", rule_reduce_unit_axes},
	{OP_REDUCE_PROD, "reduce_reduce", rule_reduce_reduce},
	{OP_REDUCE_MAX, "reduce_nothing", rule_reduce_nothing},
	{OP_REDUCE_MAX, "reduce_unit_axes", rule_reduce_unit_axes},
	{OP_REDUCE_MIN, "reduce_nothing", rule_reduce_nothing},
	{OP_REDUCE_MIN, "reduce_unit_axes", rule_reduce_unit_axes},
	{OP_DOT, "dot_zero", rule_dot_zero},
	{OP_DOT, "dot_along_broadcast", rule_dot_along_broadcast},
	{OP_DOT, "dot_of_broadcast", rule_dot_of_broadcast},
	{OP_TRISOLVE, "solve_zero", rule_solve_zero},
	{OP_UNBOX, "unbox_box", rule_unbox_box},
};

static uint32_t rule_count(void) { return (uint32_t)(sizeof rules / sizeof *rules); }

uint32_t rule_hits(const Builder *b, const char *name) {
	uint32_t hits = 0;
	for (uint32_t i = 0; i < rule_count(); i++)
		if (!strcmp(rules[i].name, name)) hits += b->rule_hits[i];
	return hits;
}

void rules_setup(Builder *b) {
	for (uint32_t op = 0; op < OP_COUNT; op++) b->rule_first[op] = UINT16_MAX;
	for (uint32_t i = rule_count(); i-- > 0;) b->rule_first[rules[i].op] = (uint16_t)i;
	b->rule_hits = ARENA_ARRAY(b->scratch, uint32_t, rule_count());
}

static Ref try_bucket(Builder *b, Op bucket, const Expr *e) {
	for (uint32_t i = b->rule_first[bucket]; i < rule_count() && rules[i].op == bucket; i++) {
		Ref r = rules[i].apply(b, e);
		if (r == REF_NONE) continue;
		b->rule_hits[i]++;
		return r;
	}
	return REF_NONE;
}

Ref rewrite(Builder *b, const Expr *e) {
	Ref r = try_bucket(b, e->op, e);
	return r == REF_NONE && prims[e->op].elementwise ? try_bucket(b, OP_NONE, e) : r;
}
