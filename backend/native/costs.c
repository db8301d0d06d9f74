/* costs.c - the table of what primitives cost.
 *
 * Needs: costs.h. Guarantees: what costs.h says; a primitive that is not in the table is a function of the vector maths when it is element-wise, else two operations.
 *
 * Compiling was measured on a Zen 5: sums of sixteen such functions of f64 and f32 vectors beside sums without them, divided by the 0.1 ms that an addition takes. Calls
 * of functions compiled elsewhere (level 0) are ordinary instructions.
 */
#include "backend/native/costs.h"

typedef struct OpCost {
	uint8_t op, work, compile;
} OpCost;

static const OpCost costs[] = {
	{OP_BROADCAST, 0, 1}, {OP_RESHAPE, 0, 1}, {OP_TRANSPOSE, 0, 1}, {OP_SLICE, 0, 1}, {OP_STOP, 0, 1}, {OP_IOTA, 0, 1}, {OP_EXTENT, 0, 1},
	{OP_FLOOR, 1, 1}, {OP_ROUND, 1, 1}, {OP_NEG, 1, 1}, {OP_ABS, 1, 1}, {OP_SIGN, 1, 1}, {OP_ADD, 1, 1}, {OP_SUB, 1, 1}, {OP_MUL, 1, 1}, {OP_MAX, 1, 1}, {OP_MIN, 1, 1},
	{OP_EQ, 1, 1}, {OP_LT, 1, 1}, {OP_LE, 1, 1}, {OP_SELECT, 1, 1}, {OP_CONVERT, 1, 1},
	{OP_GATHER, 3, 1}, {OP_PAD, 3, 1}, {OP_UPDATE, 3, 1}, {OP_CONCAT, 3, 1},
	{OP_DIV, 5, 1}, {OP_SQRT, 5, 1},
	{OP_FLOORDIV, 15, 1}, {OP_BITAND, 15, 1}, {OP_BITXOR, 15, 1}, {OP_SHIFT, 15, 1}, {OP_REAL, 15, 1}, {OP_IMAG, 15, 1}, {OP_CONJ, 15, 1},
	{OP_MOD, 15, 9}, {OP_ACOS, 15, 9}, {OP_EXP, 15, 10}, {OP_ASIN, 15, 11}, {OP_COS, 15, 11}, {OP_TANH, 15, 12}, {OP_SIN, 15, 12}, {OP_EXPM1, 15, 13}, {OP_COSH, 15, 13},
	{OP_ATAN, 15, 13}, {OP_LOG, 15, 14}, {OP_CBRT, 15, 16}, {OP_ATAN2, 15, 16}, {OP_SINH, 15, 19}, {OP_LOG1P, 15, 19}, {OP_TAN, 15, 21}, {OP_POW, 15, 27}, {OP_ERF, 15, 30},
};
_Static_assert(OP_COUNT <= UINT8_MAX, "a primitive's number in a byte");

static OpCost cost_of(Op op) {
	for (uint32_t i = 0; i < sizeof costs / sizeof *costs; i++)
		if (costs[i].op == op) return costs[i];
	return prims[op].elementwise ? (OpCost){.work = 15, .compile = 15} : (OpCost){.work = 2, .compile = 1};
}

uint32_t op_cost(Op op) {
	return cost_of(op).work;
}

uint32_t op_compile_cost(Op op) {
	return cost_of(op).compile;
}
