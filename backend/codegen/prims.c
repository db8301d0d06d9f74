/* prims.c - element-wise primitives, conversions, and reductions over lanes.
 *
 * Contract:
 * - Needs emit.h. Covers every element-wise primitive of prims.def, on scalars
 *   and vectors.
 * - Results equal those of lang/ir/scalar_expr.h, to the bit for arithmetic.
 * - No operand traps or has undefined behaviour.
 * - A primitive new in prims.def does not compile until it has an emit_ID here.
 */
#include "backend/codegen/emit.h"
#include <math.h>

#define PRIM1(ID)                                                                                  \
	static LLVMValueRef emit_##ID(Emitter *e, KType t, LLVMValueRef x,                             \
	                              LLVMValueRef y __attribute__((unused)))
#define PRIM2(ID) static LLVMValueRef emit_##ID(Emitter *e, KType t, LLVMValueRef x, LLVMValueRef y)

static bool real(KType t) { return t == KT_F32 || t == KT_F64; }

static LLVMValueRef number(Emitter *e, KType t, LLVMValueRef like, double v) {
	return emit_number(e, t, emit_lanes(like), v);
}

/* The element that all lanes of a constant share; NULL when there is none. */
static LLVMValueRef constant_of(LLVMValueRef x) {
	if (!LLVMIsConstant(x)) return NULL;
	uint32_t n = emit_lanes(x);
	if (n == 1) return x;
	LLVMValueRef first = LLVMGetAggregateElement(x, 0);
	for (uint32_t i = 1; first && i < n; i++)
		if (LLVMGetAggregateElement(x, i) != first) return NULL;
	return first;
}

static bool real_constant(LLVMValueRef x, double *v) {
	LLVMValueRef c = constant_of(x);
	LLVMBool lossy;
	if (!c || !LLVMIsAConstantFP(c)) return false;
	*v = LLVMConstRealGetDouble(c, &lossy);
	return true;
}

/* i1: does the condition hold in some lane? */
static LLVMValueRef any_lane(Emitter *e, LLVMValueRef c) {
	uint32_t lanes = emit_lanes(c);
	if (lanes == 1) return c;
	LLVMTypeRef bits = LLVMIntTypeInContext(e->context, lanes);
	return LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildBitCast(e->b, c, bits, ""), LLVMConstNull(bits),
	                     "");
}

/* ---- signs, rounding ----------------------------------------------------- */

PRIM1(NEG) { return real(t) ? LLVMBuildFNeg(e->b, x, "") : LLVMBuildNeg(e->b, x, ""); }

PRIM1(ABS) {
	if (real(t)) return emit_intrinsic1(e, "llvm.fabs", x);
	LLVMTypeRef type = LLVMTypeOf(x);
	return emit_intrinsic(e, "llvm.abs", 1, &type, 2,
	                      (LLVMValueRef[]){x, LLVMConstInt(e->i1, 0, 0)});
}

PRIM1(SIGN) {
	LLVMValueRef zero = number(e, t, x, 0), one = number(e, t, x, 1), less = number(e, t, x, -1);
	if (!real(t)) {
		LLVMValueRef below =
			LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, x, zero, ""), less, zero, "");
		return LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntSGT, x, zero, ""), one, below, "");
	}
	LLVMValueRef rest =
		LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, x, zero, ""), x, zero, "");
	rest = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealOLT, x, zero, ""), less, rest, "");
	return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealOGT, x, zero, ""), one, rest, "");
}

/* Rounds to the nearest integer, ties to even, where the processor has no
 * instruction for it: adding and subtracting 2^52 (2^23 for f32) with x's sign
 * rounds. */
static LLVMValueRef round_by_adding(Emitter *e, KType t, LLVMValueRef x) {
	double edge = t == KT_F32 ? 8388608.0 : 4503599627370496.0;
	LLVMValueRef big = emit_intrinsic2(e, "llvm.copysign", number(e, t, x, edge), x);
	LLVMValueRef r = LLVMBuildFSub(e->b, LLVMBuildFAdd(e->b, x, big, ""), big, "");
	r = emit_intrinsic2(e, "llvm.copysign", r, x);
	LLVMValueRef small = LLVMBuildFCmp(e->b, LLVMRealOLT, emit_intrinsic1(e, "llvm.fabs", x),
	                                   number(e, t, x, edge), "");
	return LLVMBuildSelect(e->b, small, r, x, "");
}

PRIM1(FLOOR) {
	if (target_rounds(e)) return emit_intrinsic1(e, "llvm.floor", x);
	LLVMValueRef r = round_by_adding(e, t, x), above = LLVMBuildFCmp(e->b, LLVMRealOGT, r, x, "");
	LLVMValueRef less = LLVMBuildFSub(e->b, r, number(e, t, x, 1), "");
	return LLVMBuildSelect(e->b, above, less, r, "");
}

PRIM1(ROUND) {
	return target_rounds(e) ? emit_intrinsic1(e, "llvm.roundeven", x) : round_by_adding(e, t, x);
}

/* ---- transcendental functions -------------------------------------------- */

PRIM1(SQRT) {
	(void)t;
	return emit_intrinsic1(e, "llvm.sqrt", x);
}

#define MATHS1(ID, name)                                                                           \
	PRIM1(ID) { return emit_math(e, name, t, x, NULL); }
MATHS1(CBRT, "cbrt")
MATHS1(EXP, "exp")
MATHS1(EXPM1, "expm1")
MATHS1(LOG, "log")
MATHS1(LOG1P, "log1p")
MATHS1(SIN, "sin")
MATHS1(COS, "cos")
MATHS1(TAN, "tan")
MATHS1(ASIN, "asin")
MATHS1(ACOS, "acos")
MATHS1(ATAN, "atan")
MATHS1(SINH, "sinh")
MATHS1(COSH, "cosh")
MATHS1(TANH, "tanh")
MATHS1(ERF, "erf")

/* Kernel code has no complex scalars; they are pairs of reals. */
#define COMPLEX_ONLY(ID, name)                                                                     \
	PRIM1(ID) {                                                                                    \
		(void)t, (void)x;                                                                          \
		emit_stop(e, name " of a number that is not complex");                                     \
	}
COMPLEX_ONLY(REAL, "real")
COMPLEX_ONLY(IMAG, "imag")
COMPLEX_ONLY(CONJ, "conj")

/* ---- arithmetic ---------------------------------------------------------- */

/* Is x a product c*u with c = 2^k, k > 0, or its negative? Such a product is
 * exact (but for overflow), so a sum with it may be fused without changing the
 * rounding. Only in vectors: scalar code is bound by latency, and an addition
 * has less than a fused operation. */
static bool exact_product(const Emitter *e, LLVMValueRef x, LLVMValueRef *u, double *c) {
	if (!e->m->target.has_fma || emit_lanes(x) == 1 || !LLVMIsAInstruction(x) ||
	    LLVMGetInstructionOpcode(x) != LLVMFMul)
		return false;
	for (unsigned k = 0; k < 2; k++) {
		int power;
		if (!real_constant(LLVMGetOperand(x, k), c) || fabs(frexp(*c, &power)) != 0.5 || power < 2)
			continue;
		*u = LLVMGetOperand(x, 1 - k);
		return true;
	}
	return false;
}

/* x + y or x - y, fused where one of them is an exact product. */
static LLVMValueRef real_sum(Emitter *e, KType t, LLVMValueRef x, LLVMValueRef y, bool minus) {
	LLVMValueRef u;
	double c;
	if (exact_product(e, y, &u, &c)) return emit_muladd(e, number(e, t, u, minus ? -c : c), u, x);
	if (exact_product(e, x, &u, &c))
		return emit_muladd(e, number(e, t, u, c), u, minus ? LLVMBuildFNeg(e->b, y, "") : y);
	return minus ? LLVMBuildFSub(e->b, x, y, "") : LLVMBuildFAdd(e->b, x, y, "");
}

PRIM2(ADD) { return real(t) ? real_sum(e, t, x, y, false) : LLVMBuildAdd(e->b, x, y, ""); }

PRIM2(SUB) { return real(t) ? real_sum(e, t, x, y, true) : LLVMBuildSub(e->b, x, y, ""); }

PRIM2(MUL) { return real(t) ? LLVMBuildFMul(e->b, x, y, "") : LLVMBuildMul(e->b, x, y, ""); }

PRIM2(DIV) {
	(void)t;
	return LLVMBuildFDiv(e->b, x, y, "");
}

/* By binary powering, as u64_pow does; exponents below 1 give 1. */
static LLVMValueRef integer_pow(Emitter *e, KType t, LLVMValueRef x, LLVMValueRef y) {
	LLVMValueRef zero = number(e, t, x, 0), one = number(e, t, x, 1), c = constant_of(y);
	if (c && LLVMIsAConstantInt(c)) {
		LLVMValueRef r = NULL;
		for (int64_t n = LLVMConstIntGetSExtValue(c); n > 0; n >>= 1) {
			if (n & 1) r = r ? LLVMBuildMul(e->b, r, x, "") : x;
			if (n > 1) x = LLVMBuildMul(e->b, x, x, "");
		}
		return r ? r : one;
	}
	LLVMTypeRef type = LLVMTypeOf(x);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), head = emit_block(e, "pow"),
					  body = emit_block(e, ""), after = emit_block(e, "");
	LLVMBuildBr(e->b, head);
	emit_enter(e, head);
	LLVMValueRef r = LLVMBuildPhi(e->b, type, ""), s = LLVMBuildPhi(e->b, type, ""),
				 n = LLVMBuildPhi(e->b, type, "");
	LLVMBuildCondBr(e->b, any_lane(e, LLVMBuildICmp(e->b, LLVMIntSGT, n, zero, "")), body, after);
	emit_enter(e, body);
	LLVMValueRef odd = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, n, one, ""), zero, "");
	odd = LLVMBuildAnd(e->b, odd, LLVMBuildICmp(e->b, LLVMIntSGT, n, zero, ""), "");
	LLVMValueRef r1 = LLVMBuildSelect(e->b, odd, LLVMBuildMul(e->b, r, s, ""), r, "");
	LLVMValueRef s1 = LLVMBuildMul(e->b, s, s, ""), n1 = LLVMBuildAShr(e->b, n, one, "");
	LLVMBuildBr(e->b, head);
	LLVMAddIncoming(r, (LLVMValueRef[]){one, r1}, (LLVMBasicBlockRef[]){before, body}, 2);
	LLVMAddIncoming(s, (LLVMValueRef[]){x, s1}, (LLVMBasicBlockRef[]){before, body}, 2);
	LLVMAddIncoming(n, (LLVMValueRef[]){y, n1}, (LLVMBasicBlockRef[]){before, body}, 2);
	emit_enter(e, after);
	return r;
}

/* Powers with constant exponents that take a few exact or nearly exact
 * operations; NULL for others. */
static LLVMValueRef plain_pow(Emitter *e, KType t, LLVMValueRef x, double p) {
	LLVMValueRef one = number(e, t, x, 1);
	if (p == 0) return one;
	if (p == 1) return x;
	if (p == -1) return LLVMBuildFDiv(e->b, one, x, "");
	if (p == 0.5) {
		/* -0 gives +0 and the infinities give +infinity, unlike sqrt alone */
		LLVMValueRef root =
			emit_intrinsic1(e, "llvm.sqrt", LLVMBuildFAdd(e->b, x, number(e, t, x, 0), ""));
		LLVMValueRef low = LLVMBuildFCmp(e->b, LLVMRealOEQ, x, number(e, t, x, -INFINITY), "");
		return LLVMBuildSelect(e->b, low, number(e, t, x, INFINITY), root, "");
	}
	if (p == -2) x = LLVMBuildFDiv(e->b, one, x, "");
	else if (p != 2 && p != 3 && p != 4) return NULL;
	LLVMValueRef square = LLVMBuildFMul(e->b, x, x, "");
	if (p == 3) return LLVMBuildFMul(e->b, square, x, "");
	return p == 4 ? LLVMBuildFMul(e->b, square, square, "") : square;
}

PRIM2(POW) {
	if (!real(t)) return integer_pow(e, t, x, y);
	double p;
	LLVMValueRef plain = real_constant(y, &p) ? plain_pow(e, t, x, p) : NULL;
	return plain ? plain : emit_math(e, "pow", t, x, y);
}

PRIM2(ATAN2) { return emit_math(e, "atan2", t, x, y); }

/* The larger (or smaller) of two; NaN wins, +0 is above -0. One comparison
 * suffices when y is a constant and, if it is a zero, the one that wins a tie
 * of zeros. */
static LLVMValueRef extreme(Emitter *e, LLVMValueRef x, LLVMValueRef y, bool max) {
	double v;
	if (real_constant(x, &v) && !real_constant(y, &v)) {
		LLVMValueRef swap = x;
		x = y;
		y = swap;
	}
	if (real_constant(y, &v) && v == v && (v != 0 || !signbit(v) == max))
		return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, max ? LLVMRealUGT : LLVMRealULT, x, y, ""),
		                       x, y, "");
	return emit_intrinsic2(e, max ? "llvm.maximum" : "llvm.minimum", x, y);
}

PRIM2(MAX) {
	if (t == KT_BOOL) return LLVMBuildOr(e->b, x, y, "");
	return real(t) ? extreme(e, x, y, true) : emit_intrinsic2(e, "llvm.smax", x, y);
}

PRIM2(MIN) {
	if (t == KT_BOOL) return LLVMBuildAnd(e->b, x, y, "");
	return real(t) ? extreme(e, x, y, false) : emit_intrinsic2(e, "llvm.smin", x, y);
}

/* x/y and x%y rounded down. The divisors 0 and -1, which would trap or
 * overflow, are replaced; their results are selected afterwards. */
static LLVMValueRef integer_divide(Emitter *e, KType t, LLVMValueRef x, LLVMValueRef y,
                                   bool remainder) {
	LLVMValueRef zero = number(e, t, x, 0), one = number(e, t, x, 1), less = number(e, t, x, -1);
	LLVMValueRef none = LLVMBuildICmp(e->b, LLVMIntEQ, y, zero, ""),
				 minus = LLVMBuildICmp(e->b, LLVMIntEQ, y, less, "");
	LLVMValueRef special = LLVMBuildOr(e->b, none, minus, "");
	LLVMValueRef d = LLVMBuildSelect(e->b, special, one, y, "");
	LLVMValueRef q = LLVMBuildSDiv(e->b, x, d, ""),
				 r = LLVMBuildSub(e->b, x, LLVMBuildMul(e->b, q, d, ""), "");
	LLVMValueRef apart = LLVMBuildICmp(e->b, LLVMIntSLT, LLVMBuildXor(e->b, r, d, ""), zero, "");
	LLVMValueRef down = LLVMBuildAnd(e->b, apart, LLVMBuildICmp(e->b, LLVMIntNE, r, zero, ""), "");
	if (remainder) {
		LLVMValueRef m = LLVMBuildAdd(e->b, r, LLVMBuildSelect(e->b, down, d, zero, ""), "");
		return LLVMBuildSelect(e->b, special, zero, m, "");
	}
	q = LLVMBuildAdd(e->b, q, LLVMBuildSExt(e->b, down, LLVMTypeOf(x), ""), "");
	q = LLVMBuildSelect(e->b, minus, LLVMBuildNeg(e->b, x, ""), q, "");
	return LLVMBuildSelect(e->b, none, zero, q, "");
}

PRIM2(MOD) { return real(t) ? emit_real_mod(e, t, x, y) : integer_divide(e, t, x, y, true); }

PRIM2(FLOORDIV) {
	return real(t) ? emit_FLOOR(e, t, LLVMBuildFDiv(e->b, x, y, ""), NULL)
	               : integer_divide(e, t, x, y, false);
}

/* ---- bits ---------------------------------------------------------------- */

PRIM2(BITAND) {
	(void)t;
	return LLVMBuildAnd(e->b, x, y, "");
}

PRIM2(BITXOR) {
	(void)t;
	return LLVMBuildXor(e->b, x, y, "");
}

/* A shift by the width or more, in either direction, gives 0. */
PRIM2(SHIFT) {
	const int64_t width = t == KT_I32 ? 32 : 64;
	LLVMValueRef zero = number(e, t, x, 0), c = constant_of(y);
	if (c && LLVMIsAConstantInt(c)) {
		const int64_t by = LLVMConstIntGetSExtValue(c);
		if (by >= width || by <= -width) return zero;
		return by >= 0 ? LLVMBuildShl(e->b, x, y, "")
		               : LLVMBuildLShr(e->b, x, number(e, t, x, (double)-by), "");
	}
	LLVMValueRef down = LLVMBuildICmp(e->b, LLVMIntSLT, y, zero, ""),
				 by = LLVMBuildSelect(e->b, down, LLVMBuildNeg(e->b, y, ""), y, "");
	LLVMValueRef most = number(e, t, x, (double)width),
				 out = LLVMBuildICmp(e->b, LLVMIntUGE, by, most, "");
	by = LLVMBuildSelect(e->b, out, zero, by, "");
	LLVMValueRef moved = LLVMBuildSelect(e->b, down, LLVMBuildLShr(e->b, x, by, ""),
	                                     LLVMBuildShl(e->b, x, by, ""), "");
	return LLVMBuildSelect(e->b, out, zero, moved, "");
}

/* ---- comparisons: bools compare as unsigned integers --------------------- */

PRIM2(EQ) {
	return real(t) ? LLVMBuildFCmp(e->b, LLVMRealOEQ, x, y, "")
	               : LLVMBuildICmp(e->b, LLVMIntEQ, x, y, "");
}

PRIM2(LT) {
	return real(t) ? LLVMBuildFCmp(e->b, LLVMRealOLT, x, y, "")
	               : LLVMBuildICmp(e->b, t == KT_BOOL ? LLVMIntULT : LLVMIntSLT, x, y, "");
}

PRIM2(LE) {
	return real(t) ? LLVMBuildFCmp(e->b, LLVMRealOLE, x, y, "")
	               : LLVMBuildICmp(e->b, t == KT_BOOL ? LLVMIntULE : LLVMIntSLE, x, y, "");
}

/* ---- the table ----------------------------------------------------------- */

typedef struct PrimRow {
	LLVMValueRef (*emit)(Emitter *e, KType t, LLVMValueRef x, LLVMValueRef y);
	const char *name;
	uint8_t kinds, nargs, traits, code;
} PrimRow;

#undef I /* from <complex.h> */
enum {
	COMMUTES = TRAIT_COMMUTES,
	ASSOCIATES = TRAIT_ASSOCIATES,
	FAILS = TRAIT_FAILS,
	MATHS = TRAIT_MATHS
};
#define B KIND_B
#define I KIND_I
#define R KIND_R
#define C KIND_C
static const PrimRow rows[OP_COUNT] = {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	[OP_##ID] = {emit_##ID, name, KINDS, 1, TRAITS, CODE},
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	[OP_##ID] = {emit_##ID, name, KINDS, 2, TRAITS, CODE},
#include "lang/ir/prims.def"
};
#undef B
#undef I
#undef R
#undef C

bool emit_prim_has(Op prim, uint32_t traits) { return rows[prim].traits & traits; }

uint32_t emit_prim_size(Op prim) { return rows[prim].code; }

LLVMValueRef emit_prim(Emitter *e, Op prim, KType t, LLVMValueRef x, LLVMValueRef y) {
	const PrimRow *row = prim < OP_COUNT ? &rows[prim] : &rows[OP_NONE];
	if (!row->emit) emit_stop(e, "primitive %d is not element-wise", (int)prim);
	int kind = t == KT_BOOL ? KIND_B : t == KT_I32 || t == KT_I64 ? KIND_I : real(t) ? KIND_R : 0;
	if (!(row->kinds & kind)) emit_stop(e, "%s does not take this type", row->name);
	if ((y != NULL) != (row->nargs == 2))
		emit_stop(e, "%s takes %d operands", row->name, row->nargs);
	return row->emit(e, t, x, y);
}

/* ---- conversion ---------------------------------------------------------- */

LLVMValueRef emit_convert(Emitter *e, KType from, KType to, LLVMValueRef x) {
	if (from == to) return x;
	LLVMTypeRef type = emit_type(e, to, emit_lanes(x));
	if (from == KT_PTR || to == KT_PTR) emit_stop(e, "a conversion of a pointer");
	if (to == KT_BOOL) {
		LLVMValueRef zero = number(e, from, x, 0);
		return real(from) ? LLVMBuildFCmp(e->b, LLVMRealUNE, x, zero, "")
		                  : LLVMBuildICmp(e->b, LLVMIntNE, x, zero, "");
	}
	if (from == KT_BOOL)
		return real(to) ? LLVMBuildUIToFP(e->b, x, type, "") : LLVMBuildZExt(e->b, x, type, "");
	if (!real(from) && real(to)) return LLVMBuildSIToFP(e->b, x, type, "");
	if (real(from) && real(to)) return LLVMBuildFPCast(e->b, x, type, "");
	/* Values out of range saturate, NaN gives 0. */
	if (from == KT_I64 && to == KT_I32) {
		x = emit_intrinsic2(e, "llvm.smin", x, number(e, from, x, INT32_MAX));
		x = emit_intrinsic2(e, "llvm.smax", x, number(e, from, x, INT32_MIN));
	}
	if (!real(from)) return LLVMBuildIntCast2(e->b, x, type, 1, "");
	LLVMTypeRef types[2] = {type, LLVMTypeOf(x)};
	return emit_intrinsic(e, "llvm.fptosi.sat", 2, types, 1, &x);
}

/* ---- reductions over lanes ----------------------------------------------- */

LLVMValueRef emit_reduce_lanes(Emitter *e, Op prim, KType t, LLVMValueRef x) {
	uint32_t n = emit_lanes(x);
	if (prim != OP_ADD && prim != OP_MUL && prim != OP_MAX && prim != OP_MIN)
		emit_stop(e, "a fold by primitive %d", (int)prim);
	if (n > 1 && t == KT_BOOL && prim != OP_ADD && prim != OP_MUL) {
		LLVMTypeRef bits = LLVMIntTypeInContext(e->context, n);
		LLVMValueRef all = LLVMBuildBitCast(e->b, x, bits, "");
		return LLVMBuildICmp(e->b, prim == OP_MAX ? LLVMIntNE : LLVMIntEQ, all,
		                     prim == OP_MAX ? LLVMConstNull(bits) : LLVMConstAllOnes(bits), "");
	}
	for (; n > 1; n /= 2) {
		if (n & 1) emit_stop(e, "a fold of %u lanes", n);
		x = emit_prim(e, prim, t, emit_part(e, x, 0, n / 2), emit_part(e, x, n / 2, n / 2));
	}
	return x;
}
