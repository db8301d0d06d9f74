/* scalar.c - element-wise primitives on unboxed scalars.
 *
 * There is one small function for each primitive and dtype.
 *
 * Needs: frame.h; the expressions of prims.def through scalar_expr.h, so that
 * loops over scalars, tensors and the folding builder agree bit for bit.
 *
 * Contract:
 * - Allocates nothing.
 * - Fails only in integer arithmetic without a result.
 */
#include "backend/eval/core/frame.h"
#include "lang/ir/scalar_expr.h"

/* The kinds of a row, as in its KINDS column. */
#define B KIND_B
#define I KIND_I
#define R KIND_R
#define C KIND_C

#define PUT(NAME, T, DT, field)                                                                    \
	static inline void put_##NAME(Value *o, T x) {                                                 \
		o->kind = V_SCALAR;                                                                        \
		o->dtype = DT;                                                                             \
		o->field = x;                                                                              \
	}
PUT(bool, bool, DT_BOOL, b)
PUT(i32, int32_t, DT_I32, i32)
PUT(i64, int64_t, DT_I64, i)
PUT(f32, float, DT_F32, f32)
PUT(f64, double, DT_F64, f)
PUT(c64, float _Complex, DT_C64, c64)
PUT(c128, double _Complex, DT_C128, c)

#define PUT_AS(RES, o, x)                                                                          \
	_Generic((RES)0, bool                                                                          \
	         : put_bool, int32_t                                                                   \
	         : put_i32, int64_t                                                                    \
	         : put_i64, float                                                                      \
	         : put_f32, double                                                                     \
	         : put_f64, float _Complex                                                             \
	         : put_c64, double _Complex                                                            \
	         : put_c128)(o, (RES)(x))

Status fail_arithmetic(Frame *f, const Step *s, int64_t y) {
	if (s->op == OP_POW) {
		Diag *d = diag_step(f, s, E_ARITH, "an integer has no integer power %lld", (long long)y);
		diag_hint(f->ctx, d, "make one of them a float");
		return ST_ERROR;
	}
	return fail_at(f, s, E_ARITH,
	               s->op == OP_MOD ? "remainder of an integer division by zero"
	                               : "integer division by zero");
}

/* A row that does not take the type yields a function that is never called. */
#define SCALAR1(NAME, T, RES, K, ID, KINDS, field, expr)                                           \
	static Status ID##_##NAME(Frame *f, const Step *s) {                                           \
		if (!((KINDS) & (K))) return ST_INTERNAL;                                                  \
		const EXPR_TYPE(KINDS, K, T) x = operand_at(f, s->a)->field;                               \
		PUT_AS(RES, &f->slots[s->d], expr);                                                        \
		return ST_OK;                                                                              \
	}
#define SCALAR2(NAME, T, RES, K, ID, KINDS, field, expr)                                           \
	static Status ID##_##NAME(Frame *f, const Step *s) {                                           \
		if (!((KINDS) & (K))) return ST_INTERNAL;                                                  \
		const EXPR_TYPE(KINDS, K, T) x = operand_at(f, s->a)->field;                               \
		const EXPR_TYPE(KINDS, K, T) y = operand_at(f, s->b)->field;                               \
		PUT_AS(RES, &f->slots[s->d], expr);                                                        \
		return ST_OK;                                                                              \
	}

#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	SCALAR1(f32, float, OUT_##RESULT(float, float), KIND_R, ID, KINDS, f32, expr)                  \
	SCALAR1(f64, double, OUT_##RESULT(double, double), KIND_R, ID, KINDS, f, expr)                 \
	SCALAR1(c64, float _Complex, OUT_##RESULT(float _Complex, float), KIND_C, ID, KINDS, c64,      \
	        expr)                                                                                  \
	SCALAR1(c128, double _Complex, OUT_##RESULT(double _Complex, double), KIND_C, ID, KINDS, c,    \
	        expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	SCALAR2(f32, float, OUT_##RESULT(float, float), KIND_R, ID, KINDS, f32, expr)                  \
	SCALAR2(f64, double, OUT_##RESULT(double, double), KIND_R, ID, KINDS, f, expr)                 \
	SCALAR2(c64, float _Complex, OUT_##RESULT(float _Complex, float), KIND_C, ID, KINDS, c64,      \
	        expr)                                                                                  \
	SCALAR2(c128, double _Complex, OUT_##RESULT(double _Complex, double), KIND_C, ID, KINDS, c,    \
	        expr)
#include "lang/ir/prims.def"

#define INT1(NAME, T, field, ID, RESULT, expr)                                                     \
	static Status ID##_##NAME(Frame *f, const Step *s) {                                           \
		const T x = operand_at(f, s->a)->field;                                                    \
		PUT_AS(OUT_##RESULT(T, T), &f->slots[s->d], expr);                                         \
		return ST_OK;                                                                              \
	}
#define INT2(NAME, T, field, ID, RESULT, expr)                                                     \
	static Status ID##_##NAME(Frame *f, const Step *s) {                                           \
		const T x = operand_at(f, s->a)->field, y = operand_at(f, s->b)->field;                    \
		if (int_fails(OP_##ID, (int64_t)y)) return fail_arithmetic(f, s, (int64_t)y);              \
		PUT_AS(OUT_##RESULT(T, T), &f->slots[s->d], expr);                                         \
		return ST_OK;                                                                              \
	}
#define I32_1(ID, RESULT, expr) INT1(i32, int32_t, i32, ID, RESULT, expr)
#define I32_2(ID, RESULT, expr) INT2(i32, int32_t, i32, ID, RESULT, expr)
#define I64_1(ID, RESULT, expr) INT1(i64, int64_t, i, ID, RESULT, expr)
#define I64_2(ID, RESULT, expr) INT2(i64, int64_t, i, ID, RESULT, expr)
#define BOOL_2(ID, RESULT, expr) INT2(bool, bool, b, ID, BOOL, expr)
INT_ROWS1(I32_1, int32_t, uint32_t)
INT_ROWS2(I32_2, int32_t, uint32_t)
INT_ROWS1(I64_1, int64_t, uint64_t)
INT_ROWS2(I64_2, int64_t, uint64_t)
BOOL_ROWS2(BOOL_2)

EvalFn scalar_step(Op op, Dtype d) {
	static const EvalFn floats[OP_COUNT][4] = {
#define EW1(ID, ...) [OP_##ID] = {ID##_f32, ID##_f64, ID##_c64, ID##_c128},
#define EW2(ID, ...) [OP_##ID] = {ID##_f32, ID##_f64, ID##_c64, ID##_c128},
#include "lang/ir/prims.def"
	};
#define I32_ROW(ID, RESULT, expr) [OP_##ID] = ID##_i32,
#define I64_ROW(ID, RESULT, expr) [OP_##ID] = ID##_i64,
#define BOOL_ROW(ID, RESULT, expr) [OP_##ID] = ID##_bool,
	static const EvalFn i32[OP_COUNT] = {INT_ROWS1(I32_ROW, int32_t, uint32_t)
	                                         INT_ROWS2(I32_ROW, int32_t, uint32_t)};
	static const EvalFn i64[OP_COUNT] = {INT_ROWS1(I64_ROW, int64_t, uint64_t)
	                                         INT_ROWS2(I64_ROW, int64_t, uint64_t)};
	static const EvalFn bools[OP_COUNT] = {BOOL_ROWS2(BOOL_ROW)};
	if (!(prims[op].kinds & dtype_kind(d))) return NULL;
	switch (d) {
	case DT_BOOL: return bools[op];
	case DT_I32: return i32[op];
	case DT_I64: return i64[op];
	case DT_F32: return floats[op][0];
	case DT_F64: return floats[op][1];
	case DT_C64: return floats[op][2];
	case DT_C128: return floats[op][3];
	default: return NULL;
	}
}
