/* scalar_expr.h - the C expressions of the element-wise primitives.
 *
 * Needs: ir.h.
 *
 * Contract:
 * - Together with the expr column of prims.def, these are the whole scalar
 *   semantics. scalar.c and the evaluator's vector kernels expand the same
 *   expressions, so folding and running agree bit for bit.
 * - No expression traps or is undefined for any operand. Operands without a
 *   result (int_fails) give 0 here; the caller rejects them.
 *
 * Floats and complex numbers use the expr column, with x and y of the element
 * type. A row that does not accept the type must still compile, so declare x
 * and y with EXPR_TYPE. Integers and bools use INT_ROWS1, INT_ROWS2 and
 * BOOL_ROWS2. T is the element type and U its unsigned counterpart; integers
 * compute in U, so they wrap.
 *
 * Include this header last: <complex.h> defines I as a macro, and prims.def
 * uses I as a kind, so it is undefined here.
 */
#ifndef ATLED_LANG_IR_SCALAR_EXPR_H
#define ATLED_LANG_IR_SCALAR_EXPR_H

#include "lang/ir/ir.h"
#include <tgmath.h>
#undef I

/* The type of x in a row's expression for element type T of kind K: T where the
 * row accepts K, else double. In the second case the code is never reached;
 * double is used because complex numbers have no `<`. */
#define EXPR_TYPE(KINDS, K, T)                                                                     \
	__typeof__(__builtin_choose_expr(((KINDS) & (K)) != 0, (T)0, (double)0))

/* OUT_##RESULT(T, RT): the C type of a row's result, for element type T with
 * real type RT. */
#define OUT_SAME(T, RT) T
#define OUT_BOOL(T, RT) bool
#define OUT_REAL(T, RT) RT

/* ---- floats and complex -------------------------------------------------- */

/* NaN wins and +0 is above -0. The result does not depend on the order of the
 * operands, because the builder may swap them. */
#define F_MAX(x, y) ((x) > (y) || (x) != (x) || ((x) == (y) && !signbit(x)) ? (x) : (y))
#define F_MIN(x, y) ((x) < (y) || (x) != (x) || ((x) == (y) && signbit(x)) ? (x) : (y))
#define F_SIGN(x) ((x) != (x) ? (x) : ((x) > 0) - ((x) < 0))
#define F_WHOLE(x, y) ((void)(y), (x)) /* for integer rows; never evaluated */
#define F_MOD(x, y) _Generic((x), float : f32_mod, default : f64_mod)(x, y)
#define F_POW(x, y)                                                                                \
	_Generic((x), float                                                                            \
	         : powf, double                                                                        \
	         : pow, float _Complex                                                                 \
	         : c64_pow, double _Complex                                                            \
	         : c128_pow)(x, y)

/* The remainder is exact; its sign, also that of a zero, is the divisor's. */
static inline double f64_mod(double x, double y) {
	double r = fmod(x, y);
	if (r != 0) return (r < 0) != (y < 0) ? r + y : r;
	return copysign(r, y);
}
static inline float f32_mod(float x, float y) {
	float r = fmodf(x, y);
	if (r != 0) return (r < 0) != (y < 0) ? r + y : r;
	return copysignf(r, y);
}

/* Small integer exponents use repeated squaring, so that i^2 is exactly -1. 0^0
 * is 1, and 0^y is 0 for a positive real part, where the logarithm of the
 * general formula would give NaN. */
static inline double _Complex c128_pow(double _Complex x, double _Complex y) {
	double p = creal(y);
	if (cimag(y) == 0 && fabs(p) <= 64 && p == floor(p)) {
		double _Complex r = 1, s = x;
		for (unsigned n = (unsigned)fabs(p); n; n >>= 1) {
			if (n & 1) r *= s;
			if (n > 1) s *= s;
		}
		return p < 0 ? 1 / r : r;
	}
	if (x == 0 && p > 0) return 0;
	return cpow(x, y);
}
static inline float _Complex c64_pow(float _Complex x, float _Complex y) {
	return (float _Complex)c128_pow((double _Complex)x, (double _Complex)y);
}

/* ---- integers and bools -------------------------------------------------- */

/* Whether op has no result for the integer divisor or exponent y. */
static inline bool int_fails(Op op, int64_t y) {
	return ((op == OP_MOD || op == OP_FLOORDIV) && y == 0) || (op == OP_POW && y < 0);
}

#define I_SIGN(x) (((x) > 0) - ((x) < 0))
/* Division that rounds down. A divisor of -1 is a special case: the lowest
 * integer divided by it overflows, so it wraps. */
#define I_FLOORDIV(T, U, x, y)                                                                     \
	((y) == 0    ? (T)0                                                                            \
	 : (y) == -1 ? (T)(0 - (U)(x))                                                                 \
	             : (T)((x) / (y) - ((x) % (y) != 0 && ((x) < 0) != ((y) < 0))))
#define I_MOD(T, U, x, y)                                                                          \
	((y) == 0 || (y) == -1                                                                         \
	     ? (T)0                                                                                    \
	     : (T)((x) % (y) + ((x) % (y) != 0 && ((x) < 0) != ((y) < 0) ? (y) : (T)0)))

#define I_SHIFT(T, U, x, y)                                                                        \
	((y) >= (T)(8 * sizeof(T)) || (y) <= -(T)(8 * sizeof(T)) ? (T)0                                \
	 : (y) >= 0                                              ? (T)((U)(x) << (U)(y))               \
	                                                         : (T)((U)(x) >> (U)(-(y))))

static inline uint64_t u64_pow(uint64_t x, int64_t y) {
	uint64_t r = 1;
	for (; y > 0; y >>= 1, x *= x)
		if (y & 1) r *= x;
	return r;
}

/* X(ID, RESULT, expression). Wrapping is modulo a power of two, so a 64-bit
 * power truncated to 32 bits is the 32-bit power. */
#define INT_ROWS1(X, T, U)                                                                         \
	X(NEG, SAME, (T)(0 - (U)x))                                                                    \
	X(ABS, SAME, (T)(x < 0 ? 0 - (U)x : (U)x))                                                     \
	X(SIGN, SAME, (T)I_SIGN(x))
#define INT_ROWS2(X, T, U)                                                                         \
	X(ADD, SAME, (T)((U)x + (U)y))                                                                 \
	X(SUB, SAME, (T)((U)x - (U)y))                                                                 \
	X(MUL, SAME, (T)((U)x * (U)y))                                                                 \
	X(POW, SAME, (T)(U)u64_pow((uint64_t)x, (int64_t)y))                                           \
	X(MAX, SAME, (x > y ? x : y))                                                                  \
	X(MIN, SAME, (x < y ? x : y))                                                                  \
	X(MOD, SAME, I_MOD(T, U, x, y))                                                                \
	X(FLOORDIV, SAME, I_FLOORDIV(T, U, x, y))                                                      \
	X(BITAND, SAME, (T)((U)x & (U)y))                                                              \
	X(BITXOR, SAME, (T)((U)x ^ (U)y))                                                              \
	X(SHIFT, SAME, I_SHIFT(T, U, x, y))                                                            \
	X(EQ, BOOL, x == y)                                                                            \
	X(LT, BOOL, x < y)                                                                             \
	X(LE, BOOL, x <= y)
#define BOOL_ROWS2(X)                                                                              \
	X(MAX, BOOL, x || y)                                                                           \
	X(MIN, BOOL, x &&y)                                                                            \
	X(EQ, BOOL, x == y)                                                                            \
	X(LT, BOOL, !x && y)                                                                           \
	X(LE, BOOL, !x || y)

/* ---- conversion ---------------------------------------------------------- */

/* Truncates; a value out of range saturates, NaN gives 0. */
static inline int64_t f64_to_i64(double x) {
	if (x != x) return 0;
	if (x >= 9223372036854775808.0) return INT64_MAX;
	if (x < -9223372036854775808.0) return INT64_MIN;
	return (int64_t)x;
}
static inline int32_t i64_to_i32(int64_t x) {
	return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}
static inline int32_t f64_to_i32(double x) {
	if (x != x) return 0;
	if (x >= 2147483648.0) return INT32_MAX;
	if (x <= -2147483649.0) return INT32_MIN;
	return (int32_t)x;
}

#endif
