/* elementwise.c - element-wise primitives as loops.
 *
 * Method: the loops are generated from the expressions in prims.def.
 *
 * Contract: kernels.h.
 *
 * There is one function for each dtype with a switch inside, so that few
 * functions are resolved at start-up.
 */
#include "backend/kernels/options.h"
#include "backend/kernels/kernels.h"
#include "backend/kernels/minmax.h"
#include "backend/kernels/vector_math.h"
#include "lang/ir/scalar_expr.h"

#define B KIND_B
#define I KIND_I
#define R KIND_R
#define C KIND_C

#undef F_MAX
#undef F_MIN
#define F_MAX(x, y) FLOAT_MAX(x, y)
#define F_MIN(x, y) FLOAT_MIN(x, y)

#define LOOP(T, RES, X, Y, expr)                                                                   \
	EACH_INDEPENDENT                                                                               \
	for (int64_t i = 0; i < n; i++) {                                                              \
		X;                                                                                         \
		Y;                                                                                         \
		((RES *)o)[i] = (RES)(expr);                                                               \
	}

#define CASE1(T, RES, K, ID, KINDS, expr)                                                          \
	case OP_##ID: {                                                                                \
		typedef EXPR_TYPE(KINDS, K, T) Elem;                                                       \
		if (!((KINDS) & (K))) return 0;                                                            \
		const T *px = vx;                                                                          \
		if (splats & KERNEL_X_SPLAT) {                                                             \
			const Elem x = px[0];                                                                  \
			const RES r = (RES)(expr);                                                             \
			for (int64_t i = 0; i < n; i++) ((RES *)o)[i] = r;                                     \
		} else {                                                                                   \
			LOOP(T, RES, const Elem x = px[i], (void)0, expr)                                      \
		}                                                                                          \
		return -1;                                                                                 \
	}
#define CASE2(T, RES, K, ID, KINDS, expr)                                                          \
	case OP_##ID: {                                                                                \
		typedef EXPR_TYPE(KINDS, K, T) Elem;                                                       \
		if (!((KINDS) & (K))) return 0;                                                            \
		const T *px = vx, *py = vy;                                                                \
		if (!splats) {                                                                             \
			LOOP(T, RES, const Elem x = px[i], const Elem y = py[i], expr)                         \
		} else if (splats == KERNEL_X_SPLAT) {                                                     \
			const Elem x = px[0];                                                                  \
			LOOP(T, RES, (void)0, const Elem y = py[i], expr)                                      \
		} else if (splats == KERNEL_Y_SPLAT) {                                                     \
			const Elem y = py[0];                                                                  \
			LOOP(T, RES, const Elem x = px[i], (void)0, expr)                                      \
		} else {                                                                                   \
			const Elem x = px[0], y = py[0];                                                       \
			const RES r = (RES)(expr);                                                             \
			for (int64_t i = 0; i < n; i++) ((RES *)o)[i] = r;                                     \
		}                                                                                          \
		return -1;                                                                                 \
	}

CLONES static int64_t ew_f32(Op op, int64_t n, void *o, const void *vx, const void *vy,
                             int splats) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE1(float, OUT_##RESULT(float, float), KIND_R, ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE2(float, OUT_##RESULT(float, float), KIND_R, ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: return 0;
	}
}

CLONES static int64_t ew_f64(Op op, int64_t n, void *o, const void *vx, const void *vy,
                             int splats) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE1(double, OUT_##RESULT(double, double), KIND_R, ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE2(double, OUT_##RESULT(double, double), KIND_R, ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: return 0;
	}
}

CLONES static int64_t ew_c64(Op op, int64_t n, void *o, const void *vx, const void *vy,
                             int splats) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE1(float _Complex, OUT_##RESULT(float _Complex, float), KIND_C, ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE2(float _Complex, OUT_##RESULT(float _Complex, float), KIND_C, ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: return 0;
	}
}

CLONES static int64_t ew_c128(Op op, int64_t n, void *o, const void *vx, const void *vy,
                              int splats) {
	switch (op) {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE1(double _Complex, OUT_##RESULT(double _Complex, double), KIND_C, ID, KINDS, expr)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	CASE2(double _Complex, OUT_##RESULT(double _Complex, double), KIND_C, ID, KINDS, expr)
#include "lang/ir/prims.def"
	default: return 0;
	}
}

/* Invalid divisors are searched for first, so that the loops themselves have no
 * checks. */
#define REFUSED(INT)                                                                               \
	if (op == OP_POW || op == OP_MOD || op == OP_FLOORDIV) {                                       \
		const INT *py = vy;                                                                        \
		for (int64_t i = 0; i < (splats & KERNEL_Y_SPLAT ? 1 : n); i++)                            \
			if (int_fails(op, (int64_t)py[i])) return i;                                           \
	}
#define INT_CASE1(ID, RESULT, expr) CASE1(INT, OUT_##RESULT(INT, INT), KIND_I, ID, KIND_I, expr)
#define INT_CASE2(ID, RESULT, expr) CASE2(INT, OUT_##RESULT(INT, INT), KIND_I, ID, KIND_I, expr)
#define BOOL_CASE2(ID, RESULT, expr) CASE2(bool, bool, KIND_B, ID, KIND_B, expr)

CLONES static int64_t ew_i32(Op op, int64_t n, void *o, const void *vx, const void *vy,
                             int splats) {
	typedef int32_t INT;
	REFUSED(INT)
	switch (op) {
		INT_ROWS1(INT_CASE1, int32_t, uint32_t)
		INT_ROWS2(INT_CASE2, int32_t, uint32_t)
	default: return 0;
	}
}

CLONES static int64_t ew_i64(Op op, int64_t n, void *o, const void *vx, const void *vy,
                             int splats) {
	typedef int64_t INT;
	REFUSED(INT)
	switch (op) {
		INT_ROWS1(INT_CASE1, int64_t, uint64_t)
		INT_ROWS2(INT_CASE2, int64_t, uint64_t)
	default: return 0;
	}
}

CLONES static int64_t ew_bool(Op op, int64_t n, void *o, const void *vx, const void *vy,
                              int splats) {
	switch (op) {
		BOOL_ROWS2(BOOL_CASE2)
	default: return 0;
	}
}

/* backend/vmath has precedence over the expressions of prims.def. */
static int64_t real_f32(Op op, int64_t n, void *o, const void *vx, const void *vy, int splats) {
	return kernel_maths_f32(op, n, o, vx, vy, splats) ? -1 : ew_f32(op, n, o, vx, vy, splats);
}
static int64_t real_f64(Op op, int64_t n, void *o, const void *vx, const void *vy, int splats) {
	return kernel_maths_f64(op, n, o, vx, vy, splats) ? -1 : ew_f64(op, n, o, vx, vy, splats);
}

EwKernel ew_kernel(Dtype d) {
	switch (d) {
	case DT_BOOL: return ew_bool;
	case DT_I32: return ew_i32;
	case DT_I64: return ew_i64;
	case DT_F32: return real_f32;
	case DT_F64: return real_f64;
	case DT_C64: return ew_c64;
	default: return ew_c128;
	}
}

/* ---- select -------------------------------------------------------------- */

/* The condition as a mask of all ones or zeros: gcc does not vectorise a choice
 * between wide elements by narrow bools. */
#define CHOOSE_MASK(U, x, y) ((U)(((x) & (U) - (U)c[i]) | ((y) & ~((U) - (U)c[i]))))
#define CHOOSE_WHOLE(U, x, y) (c[i] ? (x) : (y))
#define SELECT(U, CHOOSE)                                                                          \
	do {                                                                                           \
		const U *px = vx, *py = vy;                                                                \
		U *po = o;                                                                                 \
		const U x0 = px[0], y0 = py[0];                                                            \
		if (!splats) {                                                                             \
			EACH_INDEPENDENT                                                                       \
			for (int64_t i = 0; i < n; i++) po[i] = CHOOSE(U, px[i], py[i]);                       \
		} else if (splats == KERNEL_Y_SPLAT) {                                                     \
			EACH_INDEPENDENT                                                                       \
			for (int64_t i = 0; i < n; i++) po[i] = CHOOSE(U, px[i], y0);                          \
		} else if (splats == KERNEL_X_SPLAT) {                                                     \
			EACH_INDEPENDENT                                                                       \
			for (int64_t i = 0; i < n; i++) po[i] = CHOOSE(U, x0, py[i]);                          \
		} else {                                                                                   \
			EACH_INDEPENDENT                                                                       \
			for (int64_t i = 0; i < n; i++) po[i] = CHOOSE(U, x0, y0);                             \
		}                                                                                          \
	} while (0)

CLONES void kernel_select(uint32_t size, int64_t n, void *o, const bool *condition, const void *vx,
                          const void *vy, int splats) {
	const uint8_t *c = (const uint8_t *)condition;
	if (!n) return;
	switch (size) {
	case 1: SELECT(uint8_t, CHOOSE_MASK); break;
	case 4: SELECT(Bits4, CHOOSE_MASK); break;
	case 8: SELECT(Bits8, CHOOSE_MASK); break;
	default: SELECT(Bits16, CHOOSE_WHOLE); break;
	}
}
