/* kernels_reduce.c - sums, products, extremes and running totals over contiguous runs.
 *
 * Needs: kernels.h. Guarantees: what kernels.h says. A float sum is taken in blocks of 1024 elements over 16
 * interleaved partial sums, and the blocks pairwise: the error grows with the logarithm of the length, and the order
 * depends on the length alone.
 */
#include "backend/kernels_options.h"
#include "backend/kernels.h"
#include "backend/kernels_extremes.h"
#include <complex.h>
#undef I

enum { LANES = 16, BLOCK = 1024 };

#define DO_ADD(a, x) ((a) + (x))
#define DO_MUL(a, x) ((a) * (x))
/* As scalar_expr.h has them: NaN wins, +0 is above -0. */
#define DO_MAX(a, x) FLOAT_MAX(a, x)
#define DO_MIN(a, x) FLOAT_MIN(a, x)
#define INT_MAX_OF(a, x) ((a) > (x) ? (a) : (x))
#define INT_MIN_OF(a, x) ((a) < (x) ? (a) : (x))
#define BOOL_OR(a, x) ((a) | (x))
#define BOOL_AND(a, x) ((a) & (x))

/* One block: lane l takes elements l, l + LANES, ...; then the lanes are joined in a tree. */
#define BLOCK_OF(NAME, T, OP)                                                              \
	CLONES static T NAME(int64_t n, const T *x) {                                          \
		if (n < 2 * LANES) {                                                               \
			T a = x[0];                                                                    \
			for (int64_t i = 1; i < n; i++) a = OP(a, x[i]);                               \
			return a;                                                                      \
		}                                                                                  \
		T lane[LANES];                                                                     \
		for (int l = 0; l < LANES; l++) lane[l] = x[l];                                    \
		int64_t i = LANES;                                                                 \
		for (; i + LANES <= n; i += LANES)                                                 \
			for (int l = 0; l < LANES; l++) lane[l] = OP(lane[l], x[i + l]);               \
		for (int l = 0; i < n; i++, l++) lane[l] = OP(lane[l], x[i]);                      \
		for (int half = LANES / 2; half; half /= 2)                                        \
			for (int l = 0; l < half; l++) lane[l] = OP(lane[l], lane[l + half]);          \
		return lane[0];                                                                    \
	}
#define RUN_OF(NAME, T, OP)                                                                \
	BLOCK_OF(NAME##_block, T, OP)                                                          \
	static T NAME(int64_t n, const T *x) {                                                 \
		if (n <= BLOCK) return NAME##_block(n, x);                                         \
		int64_t half = (n / BLOCK + 1) / 2 * BLOCK;                                        \
		T a = NAME(half, x), b = NAME(n - half, x + half);                                 \
		return OP(a, b);                                                                   \
	}
#define SHORT_OF(NAME, T, OP)                                                              \
	CLONES static void NAME(int64_t n, int64_t length, const T *x, T *o) {                 \
		for (int64_t i = 0; i < n; i++, x += length) {                                     \
			T a = x[0];                                                                    \
			for (int64_t k = 1; k < length; k++) a = OP(a, x[k]);                          \
			o[i] = a;                                                                      \
		}                                                                                  \
	}
#define BOTH(NAME, T, OP) RUN_OF(NAME, T, OP) SHORT_OF(NAME##_short, T, OP)

/* Integers compute unsigned, so they wrap. */
#define REAL_ROWS(X) X(f32, float, float) X(f64, double, double)
#define INT_ROWS(X) X(i32, uint32_t, int32_t) X(i64, uint64_t, int64_t)
#define COMPLEX_ROWS(X) X(c64, float _Complex, float _Complex) X(c128, double _Complex, double _Complex)

#define SUMS(N, U, T) BOTH(add_##N, U, DO_ADD) BOTH(mul_##N, U, DO_MUL)
#define EXTREMES(N, U, T) BOTH(max_##N, T, DO_MAX) BOTH(min_##N, T, DO_MIN)
#define INT_EXTREMES(N, U, T) BOTH(max_##N, T, INT_MAX_OF) BOTH(min_##N, T, INT_MIN_OF)
REAL_ROWS(SUMS)
INT_ROWS(SUMS)
COMPLEX_ROWS(SUMS)
REAL_ROWS(EXTREMES)
INT_ROWS(INT_EXTREMES)
BOTH(max_bool, uint8_t, BOOL_OR)
BOTH(min_bool, uint8_t, BOOL_AND)

#define RUN_CASE(OP, fn, T) \
	case OP: *(T *)out = fn(n, x); break;
#define SUM_CASES(N, T) RUN_CASE(OP_ADD, add_##N, T) RUN_CASE(OP_MUL, mul_##N, T)
#define EXTREME_CASES(N, T) RUN_CASE(OP_MAX, max_##N, T) RUN_CASE(OP_MIN, min_##N, T)

void kernel_reduce_run(Op op, Dtype d, int64_t n, const void *x, void *out) {
	switch (d) {
	case DT_BOOL: switch (op) { EXTREME_CASES(bool, uint8_t) default: break; } break;
	case DT_I32: switch (op) { SUM_CASES(i32, uint32_t) EXTREME_CASES(i32, int32_t) default: break; } break;
	case DT_I64: switch (op) { SUM_CASES(i64, uint64_t) EXTREME_CASES(i64, int64_t) default: break; } break;
	case DT_F32: switch (op) { SUM_CASES(f32, float) EXTREME_CASES(f32, float) default: break; } break;
	case DT_F64: switch (op) { SUM_CASES(f64, double) EXTREME_CASES(f64, double) default: break; } break;
	case DT_C64: switch (op) { SUM_CASES(c64, float _Complex) default: break; } break;
	default: switch (op) { SUM_CASES(c128, double _Complex) default: break; } break;
	}
}

#define SHORT_CASE(OP, fn) \
	case OP: fn##_short(n, length, x, out); break;
#define SHORT_SUMS(N) SHORT_CASE(OP_ADD, add_##N) SHORT_CASE(OP_MUL, mul_##N)
#define SHORT_EXTREMES(N) SHORT_CASE(OP_MAX, max_##N) SHORT_CASE(OP_MIN, min_##N)

void kernel_reduce_short(Op op, Dtype d, int64_t n, int64_t length, const void *x, void *out) {
	switch (d) {
	case DT_BOOL: switch (op) { SHORT_EXTREMES(bool) default: break; } break;
	case DT_I32: switch (op) { SHORT_SUMS(i32) SHORT_EXTREMES(i32) default: break; } break;
	case DT_I64: switch (op) { SHORT_SUMS(i64) SHORT_EXTREMES(i64) default: break; } break;
	case DT_F32: switch (op) { SHORT_SUMS(f32) SHORT_EXTREMES(f32) default: break; } break;
	case DT_F64: switch (op) { SHORT_SUMS(f64) SHORT_EXTREMES(f64) default: break; } break;
	case DT_C64: switch (op) { SHORT_SUMS(c64) default: break; } break;
	default: switch (op) { SHORT_SUMS(c128) default: break; } break;
	}
}

/* ---- running totals, argmax -------------------------------------------------------------------------------------- */

#define SCAN(T)                                                                          \
	do {                                                                                 \
		T *p = x, a;                                                                     \
		if (reverse) {                                                                   \
			a = p[n - 1];                                                                \
			if (op == OP_ADD) for (int64_t i = n - 1; i-- > 0;) p[i] = a = p[i] + a;     \
			else for (int64_t i = n - 1; i-- > 0;) p[i] = a = p[i] * a;                  \
		} else {                                                                         \
			a = p[0];                                                                    \
			if (op == OP_ADD) for (int64_t i = 1; i < n; i++) p[i] = a = a + p[i];       \
			else for (int64_t i = 1; i < n; i++) p[i] = a = a * p[i];                    \
		}                                                                                \
	} while (0)

void kernel_scan(Op op, Dtype d, int64_t n, void *x, bool reverse) {
	if (!n) return;
	switch (d) {
	case DT_I32: SCAN(uint32_t); break;
	case DT_I64: SCAN(uint64_t); break;
	case DT_F32: SCAN(float); break;
	case DT_F64: SCAN(double); break;
	case DT_C64: SCAN(float _Complex); break;
	case DT_C128: SCAN(double _Complex); break;
	default: break;
	}
}

#define ARGMAX(T)                                            \
	do {                                                     \
		const T *p = x;                                      \
		int64_t best = 0;                                    \
		T a = p[0];                                          \
		for (int64_t i = 1; i < n && a == a; i++) {          \
			const T v = p[i * stride];                       \
			if (v <= a) continue;                            \
			a = v;                                           \
			best = i;                                        \
		}                                                    \
		return best;                                         \
	} while (0)

int64_t kernel_argmax(Dtype d, int64_t n, const void *x, int64_t stride) {
	switch (d) {
	case DT_BOOL: ARGMAX(uint8_t);
	case DT_I32: ARGMAX(int32_t);
	case DT_I64: ARGMAX(int64_t);
	case DT_F32: ARGMAX(float);
	default: ARGMAX(double);
	}
}
