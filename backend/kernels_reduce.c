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
#include <math.h>
#include <string.h>
#undef I
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

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
#define RUN_OF(NAME, T, OP) BLOCK_OF(NAME##_block, T, OP) TREE_OF(NAME, T, OP)
#define TREE_OF(NAME, T, OP)                                                               \
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
/* The largest (smallest) of a block of floats, the same bits: a plain comparison, and what it leaves open, NaN and the sign of a zero, kept apart for the
 * end. The sign bits of all are joined, of which only a result of zero needs any. */
typedef double V64 __attribute__((vector_size(32), may_alias, aligned(8)));
typedef float V32 __attribute__((vector_size(32), may_alias, aligned(4)));
typedef int64_t M64 __attribute__((vector_size(32)));
typedef int32_t M32 __attribute__((vector_size(32)));
#define EXTREME_BLOCK(NAME, T, V, M, BEFORE, NONE, JOIN)                                              \
	CLONES static T NAME(int64_t n, const T *x) {                                                     \
		enum { WIDTH = sizeof(V) / sizeof(T), SIDE = 4 };                                             \
		V best[SIDE];                                                                                 \
		M signs[SIDE], odd[SIDE];                                                                     \
		for (int l = 0; l < SIDE; l++) {                                                              \
			best[l] = (V){0} + ((T)INFINITY BEFORE 0 ? -(T)INFINITY : (T)INFINITY);                   \
			signs[l] = (M){0} + (NONE);                                                               \
			odd[l] = (M){0};                                                                          \
		}                                                                                             \
		T last[SIDE * WIDTH]; /* what is left, and twice what is there already */                     \
		for (int64_t i = 0; i < n; i += SIDE * WIDTH) {                                               \
			const T *p = x + i;                                                                       \
			if (n - i < SIDE * WIDTH) {                                                               \
				for (int k = 0; k < SIDE * WIDTH; k++) last[k] = x[i + k < n ? i + k : n - 1];        \
				p = last;                                                                             \
			}                                                                                         \
			for (int l = 0; l < SIDE; l++) {                                                          \
				const V v = *(const V *)(const void *)(p + l * WIDTH);                                \
				const M take = (M)(v BEFORE best[l]);                                                 \
				signs[l] = signs[l] JOIN(M) v;                                                        \
				odd[l] |= (M)(v != v);                                                                \
				best[l] = (V)(((M)v & take) | ((M)best[l] & ~take));                                  \
			}                                                                                         \
		}                                                                                             \
		T result = best[0][0];                                                                        \
		bool sign = signs[0][0] < 0, nan = false;                                                     \
		for (int l = 0; l < SIDE; l++)                                                                \
			for (int k = 0; k < (int)WIDTH; k++) {                                                    \
				result = best[l][k] BEFORE result ? best[l][k] : result;                              \
				sign = sign JOIN(signs[l][k] < 0);                                                    \
				nan |= odd[l][k] != 0;                                                                \
			}                                                                                         \
		if (nan) return (T)NAN;                                                                       \
		if (result == 0) return sign ? -(T)0 : (T)0;                                                  \
		return result;                                                                                \
	}
#define EXTREME_OF(NAME, T, V, M, OP, BEFORE, NONE, JOIN) EXTREME_BLOCK(NAME##_block, T, V, M, BEFORE, NONE, JOIN) TREE_OF(NAME, T, OP) SHORT_OF(NAME##_short, T, OP)
EXTREME_OF(max_f32, float, V32, M32, DO_MAX, >, -1, &)
EXTREME_OF(max_f64, double, V64, M64, DO_MAX, >, -1, &)
EXTREME_OF(min_f32, float, V32, M32, DO_MIN, <, 0, |)
EXTREME_OF(min_f64, double, V64, M64, DO_MIN, <, 0, |)

#define BOTH(NAME, T, OP) RUN_OF(NAME, T, OP) SHORT_OF(NAME##_short, T, OP)

/* Integers compute unsigned, so they wrap. */
#define REAL_ROWS(X) X(f32, float, float) X(f64, double, double)
#define INT_ROWS(X) X(i32, uint32_t, int32_t) X(i64, uint64_t, int64_t)
#define COMPLEX_ROWS(X) X(c64, float _Complex, float _Complex) X(c128, double _Complex, double _Complex)

#define SUMS(N, U, T) BOTH(add_##N, U, DO_ADD) BOTH(mul_##N, U, DO_MUL)
#define INT_EXTREMES(N, U, T) BOTH(max_##N, T, INT_MAX_OF) BOTH(min_##N, T, INT_MIN_OF)
REAL_ROWS(SUMS)
INT_ROWS(SUMS)
COMPLEX_ROWS(SUMS)
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

/* Runs of RUN elements are summed one after the other, each from its own first element; those of a whole part side by side, since each sum waits for
 * the one before it. (RUN is not a multiple of a page, or the runs would fight for the same lines of the cache.) Then what came before is added to each. */
enum { RUN = SCAN_PART / 8 };
#define SCAN_OF(NAME, T)                                                                                         \
	static inline __attribute__((always_inline)) void NAME##_by(int64_t n, const T *x, T *o, const int64_t step) { \
		int64_t done = 0;                                                                                        \
		if (n == SCAN_PART) {                                                                                    \
			T a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;                                            \
			for (int64_t i = 0; i < RUN; i++) {                                                                  \
				const T *p = x + i * step;                                                                       \
				T *q = o + i * step;                                                                             \
				q[0] = a = i ? a + p[0] : p[0];                                                                  \
				q[1 * RUN * step] = b = i ? b + p[1 * RUN * step] : p[1 * RUN * step];                           \
				q[2 * RUN * step] = c = i ? c + p[2 * RUN * step] : p[2 * RUN * step];                           \
				q[3 * RUN * step] = d = i ? d + p[3 * RUN * step] : p[3 * RUN * step];                           \
				q[4 * RUN * step] = e = i ? e + p[4 * RUN * step] : p[4 * RUN * step];                           \
				q[5 * RUN * step] = f = i ? f + p[5 * RUN * step] : p[5 * RUN * step];                           \
				q[6 * RUN * step] = g = i ? g + p[6 * RUN * step] : p[6 * RUN * step];                           \
				q[7 * RUN * step] = h = i ? h + p[7 * RUN * step] : p[7 * RUN * step];                           \
			}                                                                                                    \
			done = n;                                                                                            \
		}                                                                                                        \
		for (int64_t from = 0; from < n; from += RUN) {                                                          \
			const int64_t to = n - from < RUN ? n : from + RUN;                                                  \
			if (from >= done) {                                                                                  \
				T a = o[from * step] = x[from * step];                                                           \
				for (int64_t i = from + 1; i < to; i++) o[i * step] = a = a + x[i * step];                       \
			}                                                                                                    \
			if (!from) continue;                                                                                 \
			const T before = o[(from - 1) * step];                                                               \
			for (int64_t i = from; i < to; i++) o[i * step] = before + o[i * step];                              \
		}                                                                                                        \
	}                                                                                                            \
	CLONES static void NAME(int64_t n, const T *x, T *o, bool reverse) {                                         \
		if (reverse) NAME##_by(n, x + n - 1, o + n - 1, -1);                                                     \
		else NAME##_by(n, x, o, 1);                                                                              \
	}
SCAN_OF(scan_i32, uint32_t)
SCAN_OF(scan_i64, uint64_t)
SCAN_OF(scan_f32, float)
SCAN_OF(scan_f64, double)
SCAN_OF(scan_c64, float _Complex)
SCAN_OF(scan_c128, double _Complex)

void kernel_scan_sums(Dtype d, int64_t n, const void *x, void *o, bool reverse) {
	if (!n) return;
	switch (d) {
	case DT_I32: scan_i32(n, x, o, reverse); break;
	case DT_I64: scan_i64(n, x, o, reverse); break;
	case DT_F32: scan_f32(n, x, o, reverse); break;
	case DT_F64: scan_f64(n, x, o, reverse); break;
	case DT_C64: scan_c64(n, x, o, reverse); break;
	case DT_C128: scan_c128(n, x, o, reverse); break;
	default: break;
	}
}

/* Products are never taken in another order: what is too large or too small on the way would differ. */
#define PRODUCTS(T)                                                      \
	do {                                                                 \
		T *p = x;                                                        \
		if (reverse)                                                     \
			for (int64_t i = n - 1; i-- > 0;) p[i] = p[i] * p[i + 1];    \
		else                                                             \
			for (int64_t i = 1; i < n; i++) p[i] = p[i - 1] * p[i];      \
	} while (0)

void kernel_scan_products(Dtype d, int64_t n, void *x, bool reverse) {
	switch (d) {
	case DT_I32: PRODUCTS(uint32_t); break;
	case DT_I64: PRODUCTS(uint64_t); break;
	case DT_F32: PRODUCTS(float); break;
	case DT_F64: PRODUCTS(double); break;
	case DT_C64: PRODUCTS(float _Complex); break;
	case DT_C128: PRODUCTS(double _Complex); break;
	default: break;
	}
}

void kernel_copy_past(void *o, const void *x, size_t bytes) {
#if defined(__x86_64__)
	const size_t head = -(size_t)o & 15;
	if (bytes >= 256) {
		memcpy(o, x, head);
		char *to = (char *)o + head;
		const char *from = (const char *)x + head;
		size_t i = 0;
		for (; i + 64 <= bytes - head; i += 64)
			for (int k = 0; k < 64; k += 16) _mm_stream_si128((__m128i *)(void *)(to + i + k), _mm_loadu_si128((const __m128i *)(const void *)(from + i + k)));
		memcpy(to + i, from + i, bytes - head - i);
		_mm_sfence();
		return;
	}
#endif
	memcpy(o, x, bytes);
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
