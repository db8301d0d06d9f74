/* scalar.c - element-wise primitives and conversions on scalars, from the
 * expression column of prims.def.
 *
 * Needs: scalar_expr.h.
 *
 * Contract:
 * - scalar_apply and scalar_convert are total: they never trap and have no
 *   undefined behaviour.
 * - A scalar is computed in its own dtype (f32 in float), so that folding and
 *   running give the same result.
 */
#include "lang/ir/scalar_expr.h"

/* The kinds of a row, as in its KINDS column. */
#define B KIND_B
#define I KIND_I
#define R KIND_R
#define C KIND_C

/* One case of a switch over Op, for element type T of kind K; RES is the C type
 * of the result. */
#define ROW1(T, RES, K, OP, KINDS, expr)                                                           \
	case OP: {                                                                                     \
		if (!((KINDS) & (K))) break;                                                               \
		const EXPR_TYPE(KINDS, K, T) x = *(const T *)px;                                           \
		*(RES *)out = (RES)(expr);                                                                 \
		return ST_OK;                                                                              \
	}
#define ROW2(T, RES, K, OP, KINDS, expr)                                                           \
	case OP: {                                                                                     \
		if (!((KINDS) & (K))) break;                                                               \
		const EXPR_TYPE(KINDS, K, T) x = *(const T *)px;                                           \
		const EXPR_TYPE(KINDS, K, T) y = *(const T *)py;                                           \
		*(RES *)out = (RES)(expr);                                                                 \
		return ST_OK;                                                                              \
	}

static Status apply_f32(Op op, const void *px, const void *py, void *out) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW1(float, OUT_##RESULT(float, float), KIND_R, OP_##ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW2(float, OUT_##RESULT(float, float), KIND_R, OP_##ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: break;
	}
	return ST_INTERNAL;
}

static Status apply_f64(Op op, const void *px, const void *py, void *out) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW1(double, OUT_##RESULT(double, double), KIND_R, OP_##ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW2(double, OUT_##RESULT(double, double), KIND_R, OP_##ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: break;
	}
	return ST_INTERNAL;
}

static Status apply_c64(Op op, const void *px, const void *py, void *out) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW1(float _Complex, OUT_##RESULT(float _Complex, float), KIND_C, OP_##ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW2(float _Complex, OUT_##RESULT(float _Complex, float), KIND_C, OP_##ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: break;
	}
	return ST_INTERNAL;
}

static Status apply_c128(Op op, const void *px, const void *py, void *out) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW1(double _Complex, OUT_##RESULT(double _Complex, double), KIND_C, OP_##ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	ROW2(double _Complex, OUT_##RESULT(double _Complex, double), KIND_C, OP_##ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: break;
	}
	return ST_INTERNAL;
}

#define INT_CASE(ID, RESULT, expr)                                                                 \
	case OP_##ID: *(OUT_##RESULT(INT, INT) *)out = (OUT_##RESULT(INT, INT))(expr); return ST_OK;

static Status apply_i32(Op op, const void *px, const void *py, void *out) {
	typedef int32_t INT;
	const INT x = *(const INT *)px, y = prims[op].nargs == 2 ? *(const INT *)py : 0;
	if (prims[op].nargs == 2 && int_fails(op, y)) return ST_ERROR;
	switch (op) {
		INT_ROWS1(INT_CASE, int32_t, uint32_t)
		INT_ROWS2(INT_CASE, int32_t, uint32_t)
	default: return ST_INTERNAL;
	}
}

static Status apply_i64(Op op, const void *px, const void *py, void *out) {
	typedef int64_t INT;
	const INT x = *(const INT *)px, y = prims[op].nargs == 2 ? *(const INT *)py : 0;
	if (prims[op].nargs == 2 && int_fails(op, y)) return ST_ERROR;
	switch (op) {
		INT_ROWS1(INT_CASE, int64_t, uint64_t)
		INT_ROWS2(INT_CASE, int64_t, uint64_t)
	default: return ST_INTERNAL;
	}
}

#define BOOL_CASE(ID, RESULT, expr)                                                                \
	case OP_##ID: *(bool *)out = (expr); return ST_OK;

static Status apply_bool(Op op, const void *px, const void *py, void *out) {
	if (prims[op].nargs != 2) return ST_INTERNAL;
	const bool x = *(const bool *)px, y = *(const bool *)py;
	switch (op) {
		BOOL_ROWS2(BOOL_CASE)
	default: return ST_INTERNAL;
	}
}

Status scalar_apply(Op op, Dtype d, const void *x, const void *y, void *out) {
	switch (d) {
	case DT_BOOL: return apply_bool(op, x, y, out);
	case DT_I32: return apply_i32(op, x, y, out);
	case DT_I64: return apply_i64(op, x, y, out);
	case DT_F32: return apply_f32(op, x, y, out);
	case DT_F64: return apply_f64(op, x, y, out);
	case DT_C64: return apply_c64(op, x, y, out);
	case DT_C128: return apply_c128(op, x, y, out);
	default: return ST_INTERNAL;
	}
}

/* ---- conversion ---------------------------------------------------------- */

static void from_int(int64_t x, Dtype to, void *out) {
	switch (to) {
	case DT_BOOL: *(bool *)out = x != 0; break;
	case DT_I32: *(int32_t *)out = i64_to_i32(x); break;
	case DT_I64: *(int64_t *)out = x; break;
	case DT_F32: *(float *)out = (float)x; break; /* rounded once, not through double */
	case DT_F64: *(double *)out = (double)x; break;
	case DT_C64: *(float _Complex *)out = (float)x; break;
	case DT_C128: *(double _Complex *)out = (double)x; break;
	default: break;
	}
}

/* f32 widens to double exactly, so one function serves both. Narrowing a
 * widened f32 back is exact too. */
static void from_complex(double _Complex x, Dtype to, void *out) {
	switch (to) {
	case DT_BOOL: *(bool *)out = x != 0; break;
	case DT_I32: *(int32_t *)out = f64_to_i32(creal(x)); break;
	case DT_I64: *(int64_t *)out = f64_to_i64(creal(x)); break;
	case DT_F32: *(float *)out = (float)creal(x); break;
	case DT_F64: *(double *)out = creal(x); break;
	case DT_C64:
		*(float _Complex *)out = __builtin_complex((float)creal(x), (float)cimag(x));
		break;
	case DT_C128: *(double _Complex *)out = x; break;
	default: break;
	}
}

void scalar_convert(Dtype from, const void *x, Dtype to, void *out) {
	switch (from) {
	case DT_BOOL: from_int(*(const bool *)x, to, out); break;
	case DT_I32: from_int(*(const int32_t *)x, to, out); break;
	case DT_I64: from_int(*(const int64_t *)x, to, out); break;
	case DT_F32: from_complex(__builtin_complex((double)*(const float *)x, 0.0), to, out); break;
	case DT_F64: from_complex(__builtin_complex(*(const double *)x, 0.0), to, out); break;
	case DT_C64: {
		float _Complex z = *(const float _Complex *)x;
		from_complex((double _Complex)z, to, out);
		break;
	}
	case DT_C128: from_complex(*(const double _Complex *)x, to, out); break;
	default: break;
	}
}
