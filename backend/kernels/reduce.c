/* reduce.c - sums, products, extremes and running sums over contiguous runs.
 *
 * Method: a float sum is taken in blocks of 1024 elements over 16 interleaved
 * partial sums, and the blocks are summed pairwise. The error grows with the
 * logarithm of the length. Long runs are read at four places at a time.
 *
 * Contract: kernels.h. The order of additions depends on the length alone, not
 * on the order in which blocks are read.
 */
#include "backend/kernels/options.h"
#include "backend/kernels/kernels.h"
#include "backend/kernels/minmax.h"
#include <complex.h>
#include <math.h>
#include <string.h>
#undef I
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LANES = 16, BLOCK = 1024 };

/* Vectors with the alignment of an element. */
typedef double V64 __attribute__((vector_size(32), may_alias, aligned(8)));
typedef float V32 __attribute__((vector_size(32), may_alias, aligned(4)));
typedef uint64_t W64 __attribute__((vector_size(32), may_alias, aligned(8)));
typedef uint32_t W32 __attribute__((vector_size(32), may_alias, aligned(4)));

#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* Number of places at which a long run is read at once, each a quarter of it.
 * Several concurrent streams use the memory bandwidth better than one. */
enum { PLACES = 4 };

#define DO_ADD(a, x) ((a) + (x))
#define DO_MUL(a, x) ((a) * (x))
/* As in scalar_expr.h: NaN wins, +0 is above -0. */
#define DO_MAX(a, x) FLOAT_MAX(a, x)
#define DO_MIN(a, x) FLOAT_MIN(a, x)
#define INT_MAX_OF(a, x) ((a) > (x) ? (a) : (x))
#define INT_MIN_OF(a, x) ((a) < (x) ? (a) : (x))
#define BOOL_OR(a, x) ((a) | (x))
#define BOOL_AND(a, x) ((a) & (x))

/* One block: lane l takes elements l, l + LANES, ...; then the lanes are
 * reduced in a tree. */
#define BLOCK_OF(NAME, T, OP)                                                                      \
	CLONES static T NAME(int64_t n, const T *x) {                                                  \
		if (n < 2 * LANES) {                                                                       \
			T a = x[0];                                                                            \
			for (int64_t i = 1; i < n; i++) a = OP(a, x[i]);                                       \
			return a;                                                                              \
		}                                                                                          \
		T lane[LANES];                                                                             \
		for (int l = 0; l < LANES; l++) lane[l] = x[l];                                            \
		int64_t i = LANES;                                                                         \
		for (; i + LANES <= n; i += LANES)                                                         \
			for (int l = 0; l < LANES; l++) lane[l] = OP(lane[l], x[i + l]);                       \
		for (int l = 0; i < n; i++, l++) lane[l] = OP(lane[l], x[i]);                              \
		for (int half = LANES / 2; half; half /= 2)                                                \
			for (int l = 0; l < half; l++) lane[l] = OP(lane[l], lane[l + half]);                  \
		return lane[0];                                                                            \
	}
#define RUN_OF(NAME, T, OP) BLOCK_OF(NAME##_block, T, OP) TREE_OF(NAME, T, OP)
/* Four whole blocks, `apart` elements from each other: the result of
 * NAME##_block for each, by the same operations. */
#define FOUR_OF(NAME, T, V, OP)                                                                    \
	CLONES static void NAME##_four(int64_t apart, const T *x, T *out) {                            \
		enum { WIDTH = sizeof(V) / sizeof(T), VECTORS = LANES / WIDTH };                           \
		V lane[PLACES][VECTORS];                                                                   \
		UNROLLED for (int p = 0; p < PLACES; p++) UNROLLED for (int k = 0; k < VECTORS; k++)       \
			lane[p][k] = *(const V *)(const void *)(x + p * apart + k * WIDTH);                    \
		for (int64_t i = LANES; i < BLOCK; i += LANES)                                             \
			UNROLLED for (int p = 0; p < PLACES; p++) UNROLLED for (int k = 0; k < VECTORS; k++)   \
				lane[p][k] =                                                                       \
					OP(lane[p][k], *(const V *)(const void *)(x + p * apart + i + k * WIDTH));     \
		UNROLLED for (int p = 0; p < PLACES; p++) {                                                \
			UNROLLED for (int half = VECTORS / 2; half; half /= 2)                                 \
				UNROLLED for (int k = 0; k < half; k++) lane[p][k] =                               \
					OP(lane[p][k], lane[p][k + half]);                                             \
			T last[WIDTH];                                                                         \
			memcpy(last, &lane[p][0], sizeof last);                                                \
			for (int half = WIDTH / 2; half; half /= 2)                                            \
				for (int l = 0; l < half; l++) last[l] = OP(last[l], last[l + half]);              \
			out[p] = last[0];                                                                      \
		}                                                                                          \
	}                                                                                              \
	/* The same for four runs of n elements, whole blocks, by the same tree. */                    \
	static void NAME##_fours(int64_t n, int64_t apart, const T *x, T *out) {                       \
		if (n == BLOCK) {                                                                          \
			NAME##_four(apart, x, out);                                                            \
			return;                                                                                \
		}                                                                                          \
		const int64_t half = (n / BLOCK + 1) / 2 * BLOCK;                                          \
		T a[PLACES], b[PLACES];                                                                    \
		NAME##_fours(half, apart, x, a);                                                           \
		NAME##_fours(n - half, apart, x + half, b);                                                \
		for (int p = 0; p < PLACES; p++) out[p] = OP(a[p], b[p]);                                  \
	}
/* The blocks in a tree. If its quarters have equal length, they are processed
 * together. */
#define RUN_OF_FOUR(NAME, T, V, OP)                                                                \
	BLOCK_OF(NAME##_block, T, OP)                                                                  \
	FOUR_OF(NAME, T, V, OP)                                                                        \
	static T NAME(int64_t n, const T *x) {                                                         \
		if (n <= BLOCK) return NAME##_block(n, x);                                                 \
		if (n % (PLACES * BLOCK) == 0) {                                                           \
			T quarter[PLACES];                                                                     \
			NAME##_fours(n / PLACES, n / PLACES, x, quarter);                                      \
			const T a = OP(quarter[0], quarter[1]), b = OP(quarter[2], quarter[3]);                \
			return OP(a, b);                                                                       \
		}                                                                                          \
		int64_t half = (n / BLOCK + 1) / 2 * BLOCK;                                                \
		T a = NAME(half, x), b = NAME(n - half, x + half);                                         \
		return OP(a, b);                                                                           \
	}
#define TREE_OF(NAME, T, OP)                                                                       \
	static T NAME(int64_t n, const T *x) {                                                         \
		if (n <= BLOCK) return NAME##_block(n, x);                                                 \
		int64_t half = (n / BLOCK + 1) / 2 * BLOCK;                                                \
		T a = NAME(half, x), b = NAME(n - half, x + half);                                         \
		return OP(a, b);                                                                           \
	}
#define SHORT_OF(NAME, T, OP)                                                                      \
	CLONES static void NAME(int64_t n, int64_t length, const T *x, T *o) {                         \
		for (int64_t i = 0; i < n; i++, x += length) {                                             \
			T a = x[0];                                                                            \
			for (int64_t k = 1; k < length; k++) a = OP(a, x[k]);                                  \
			o[i] = a;                                                                              \
		}                                                                                          \
	}
/* The largest (smallest) of a block of floats, to the bit.
 * - The loop uses plain comparisons, which are single instructions, and
 *   collects NaNs for the end; one comparison tests two elements for NaN.
 * - The loop body is short: a memory-bound loop issues only the loads within
 *   the reorder buffer.
 * - Sign bits matter only when the result is a zero. Then the block, which is
 *   in the cache, is scanned again.
 * - A block is n elements from x on; with `apart`, n elements (whole vectors)
 *   at each of four places. */
enum { EXTREME_RUN = 8192 };
#define EXTREME_BLOCK(NAME, T, U, OP, BEFORE, JOIN)                                                \
	CLONES static T NAME##_block(int64_t n, int64_t apart, const T *x) {                           \
		enum { SIDE = 64 / sizeof(T) };                                                            \
		const int64_t step = apart ? SIDE : PLACES * SIDE, next = apart ? apart : SIDE;            \
		const int64_t whole = apart ? n : n / (PLACES * SIDE) * (PLACES * SIDE);                   \
		T best[SIDE], second[SIDE], third[SIDE], fourth[SIDE];                                     \
		U odd[SIDE];                                                                               \
		bool nan = false;                                                                          \
		for (int l = 0; l < SIDE; l++) {                                                           \
			best[l] = second[l] = third[l] = fourth[l] =                                           \
				(T)INFINITY BEFORE 0 ? -(T)INFINITY : (T)INFINITY;                                 \
			odd[l] = 0;                                                                            \
		}                                                                                          \
		for (int64_t i = 0; i < whole; i += step)                                                  \
			for (int l = 0; l < SIDE; l++) {                                                       \
				const T a = x[i + l], b = x[i + next + l], c = x[i + 2 * next + l],                \
						d = x[i + 3 * next + l];                                                   \
				best[l] = a BEFORE best[l] ? a : best[l];                                          \
				second[l] = b BEFORE second[l] ? b : second[l];                                    \
				third[l] = c BEFORE third[l] ? c : third[l];                                       \
				fourth[l] = d BEFORE fourth[l] ? d : fourth[l];                                    \
				odd[l] |= (__builtin_isunordered(a, b) ? ~(U)0 : 0) |                              \
				          (__builtin_isunordered(c, d) ? ~(U)0 : 0);                               \
			}                                                                                      \
		int64_t done = whole;                                                                      \
		for (; done + SIDE <= n; done += SIDE)                                                     \
			for (int l = 0; l < SIDE; l++) {                                                       \
				const T a = x[done + l];                                                           \
				best[l] = a BEFORE best[l] ? a : best[l];                                          \
				odd[l] |= a != a ? ~(U)0 : 0;                                                      \
			}                                                                                      \
		for (int l = 0; l < SIDE; l++) {                                                           \
			best[l] = second[l] BEFORE best[l] ? second[l] : best[l];                              \
			third[l] = fourth[l] BEFORE third[l] ? fourth[l] : third[l];                           \
			best[l] = third[l] BEFORE best[l] ? third[l] : best[l];                                \
			nan |= odd[l] != 0;                                                                    \
		}                                                                                          \
		for (int half = SIDE / 2; half; half /= 2)                                                 \
			for (int l = 0; l < half; l++)                                                         \
				best[l] = best[l + half] BEFORE best[l] ? best[l + half] : best[l];                \
		T result = best[0];                                                                        \
		for (int64_t i = done; i < n; i++) {                                                       \
			result = x[i] BEFORE result ? x[i] : result;                                           \
			nan |= x[i] != x[i];                                                                   \
		}                                                                                          \
		if (nan) return (T)NAN;                                                                    \
		if (result != 0) return result;                                                            \
		U signs = 0 JOIN 1 ? 0 : ~(U)0;                                                            \
		for (int p = 0; p < (apart ? PLACES : 1); p++, x += apart)                                 \
			for (int64_t i = 0; i < n; i++) {                                                      \
				U bits;                                                                            \
				memcpy(&bits, &x[i], sizeof bits);                                                 \
				signs = signs JOIN bits;                                                           \
			}                                                                                      \
		return signs >> (8 * sizeof(U) - 1) ? -(T)0 : (T)0;                                        \
	}                                                                                              \
	static T NAME(int64_t n, const T *x) {                                                         \
		enum { EACH = EXTREME_RUN / PLACES };                                                      \
		const int64_t quarter = n / EXTREME_RUN * EACH;                                            \
		if (!quarter) return NAME##_block(n, 0, x);                                                \
		T a = NAME##_block(EACH, quarter, x);                                                      \
		for (int64_t i = EACH; i < quarter; i += EACH) {                                           \
			const T b = NAME##_block(EACH, quarter, x + i);                                        \
			a = OP(a, b);                                                                          \
		}                                                                                          \
		if (n == PLACES * quarter) return a;                                                       \
		const T rest = NAME##_block(n - PLACES * quarter, 0, x + PLACES * quarter);                \
		return OP(a, rest);                                                                        \
	}
#define EXTREME_OF(NAME, T, U, OP, BEFORE, JOIN)                                                   \
	EXTREME_BLOCK(NAME, T, U, OP, BEFORE, JOIN) SHORT_OF(NAME##_short, T, OP)
EXTREME_OF(max_f32, float, uint32_t, DO_MAX, >, &)
EXTREME_OF(max_f64, double, uint64_t, DO_MAX, >, &)
EXTREME_OF(min_f32, float, uint32_t, DO_MIN, <, |)
EXTREME_OF(min_f64, double, uint64_t, DO_MIN, <, |)

#define BOTH(NAME, T, OP) RUN_OF(NAME, T, OP) SHORT_OF(NAME##_short, T, OP)

/* Integers are computed unsigned, so they wrap. */
#define INT_ROWS(X) X(i32, uint32_t, int32_t) X(i64, uint64_t, int64_t)
#define COMPLEX_ROWS(X)                                                                            \
	X(c64, float _Complex, float _Complex) X(c128, double _Complex, double _Complex)

#define SUMS_OF_FOUR(N, U, V)                                                                      \
	RUN_OF_FOUR(add_##N, U, V, DO_ADD)                                                             \
	SHORT_OF(add_##N##_short, U, DO_ADD)                                                           \
	RUN_OF_FOUR(mul_##N, U, V, DO_MUL) SHORT_OF(mul_##N##_short, U, DO_MUL)
#define SUMS(N, U, T) BOTH(add_##N, U, DO_ADD) BOTH(mul_##N, U, DO_MUL)
#define INT_EXTREMES(N, U, T) BOTH(max_##N, T, INT_MAX_OF) BOTH(min_##N, T, INT_MIN_OF)
SUMS_OF_FOUR(f32, float, V32)
SUMS_OF_FOUR(f64, double, V64)
SUMS_OF_FOUR(i32, uint32_t, W32)
SUMS_OF_FOUR(i64, uint64_t, W64)
COMPLEX_ROWS(SUMS)
INT_ROWS(INT_EXTREMES)
BOTH(max_bool, uint8_t, BOOL_OR)
BOTH(min_bool, uint8_t, BOOL_AND)

#define RUN_CASE(OP, fn, T)                                                                        \
	case OP:                                                                                       \
		*(T *)out = fn(n, x);                                                                      \
		break;
#define SUM_CASES(N, T) RUN_CASE(OP_ADD, add_##N, T) RUN_CASE(OP_MUL, mul_##N, T)
#define EXTREME_CASES(N, T) RUN_CASE(OP_MAX, max_##N, T) RUN_CASE(OP_MIN, min_##N, T)

void kernel_reduce_run(Op op, Dtype d, int64_t n, const void *x, void *out) {
	switch (d) {
	case DT_BOOL:
		switch (op) { EXTREME_CASES(bool, uint8_t) default : break; }
		break;
	case DT_I32:
		switch (op) { SUM_CASES(i32, uint32_t) EXTREME_CASES(i32, int32_t) default : break; }
		break;
	case DT_I64:
		switch (op) { SUM_CASES(i64, uint64_t) EXTREME_CASES(i64, int64_t) default : break; }
		break;
	case DT_F32:
		switch (op) { SUM_CASES(f32, float) EXTREME_CASES(f32, float) default : break; }
		break;
	case DT_F64:
		switch (op) { SUM_CASES(f64, double) EXTREME_CASES(f64, double) default : break; }
		break;
	case DT_C64:
		switch (op) { SUM_CASES(c64, float _Complex) default : break; }
		break;
	default:
		switch (op) { SUM_CASES(c128, double _Complex) default : break; }
		break;
	}
}

#define SHORT_CASE(OP, fn)                                                                         \
	case OP:                                                                                       \
		fn##_short(n, length, x, out);                                                             \
		break;
#define SHORT_SUMS(N) SHORT_CASE(OP_ADD, add_##N) SHORT_CASE(OP_MUL, mul_##N)
#define SHORT_EXTREMES(N) SHORT_CASE(OP_MAX, max_##N) SHORT_CASE(OP_MIN, min_##N)

void kernel_reduce_short(Op op, Dtype d, int64_t n, int64_t length, const void *x, void *out) {
	switch (d) {
	case DT_BOOL:
		switch (op) { SHORT_EXTREMES(bool) default : break; }
		break;
	case DT_I32:
		switch (op) { SHORT_SUMS(i32) SHORT_EXTREMES(i32) default : break; }
		break;
	case DT_I64:
		switch (op) { SHORT_SUMS(i64) SHORT_EXTREMES(i64) default : break; }
		break;
	case DT_F32:
		switch (op) { SHORT_SUMS(f32) SHORT_EXTREMES(f32) default : break; }
		break;
	case DT_F64:
		switch (op) { SHORT_SUMS(f64) SHORT_EXTREMES(f64) default : break; }
		break;
	case DT_C64:
		switch (op) { SHORT_SUMS(c64) default : break; }
		break;
	default:
		switch (op) { SHORT_SUMS(c128) default : break; }
		break;
	}
}

/* ---- running sums, argmax ------------------------------------------------ */

/* Running sums: up to SCAN_PLAIN elements are added from left to right. A
 * longer line is cut into groups of SCAN_GROUP bytes.
 * - Within a group the sums are formed by halves: the last sum of the left half
 *   is added to all of the right one. The total before the group is then added.
 *   There is one dependent addition for each group.
 * - Running sums of non-negative values never decrease.
 * - The number of vectors in a group does not affect the results.
 * - The sum before the part is added last, so that the total of a part follows
 *   from the same additions without it.
 * - Adding -0 changes no value. */
/* Lane patterns, in units of `unit` lanes (2 for complex). FROM: the lane added
 * to lane i when halves of h units are combined, or one of the second operand's
 * for none. `back`: from the right. END: the lanes of the last unit, for
 * all. */
#define FROM(n, i, h, unit, back)                                                                  \
	((((i) / (unit)) & (h)) == ((back) ? 0 : (h))                                                  \
	     ? ((((i) / (unit)) & ~(2 * (h)-1)) + (h) - ((back) ? 0 : 1)) * (unit) + (i) % (unit)      \
	     : (n) + (i))
#define END(n, i, h, unit, back) (((back) ? 0 : (n) - (unit)) + (i) % (unit))
#define LANES_2(X, n, i, ...) X(n, i, __VA_ARGS__), X(n, (i) + 1, __VA_ARGS__)
#define LANES_4(X, n, i, ...) LANES_2(X, n, i, __VA_ARGS__), LANES_2(X, n, (i) + 2, __VA_ARGS__)
#define LANES_8(X, n, i, ...) LANES_4(X, n, i, __VA_ARGS__), LANES_4(X, n, (i) + 4, __VA_ARGS__)
#define LANES_16(X, n, i, ...) LANES_8(X, n, i, __VA_ARGS__), LANES_8(X, n, (i) + 8, __VA_ARGS__)

enum { SCAN_PLAIN = 1032, SCAN_GROUP = 128 };
/* Distance of the prefetch, in bytes. Hardware prefetchers stop at page
 * boundaries. While a part's total is computed, elements PREFETCH_BYTES ahead
 * are prefetched; while it is written, the elements of the thread's next part
 * are. */
enum { PREFETCH_BYTES = 1024 };

#define JOIN_HALVES(h, N, W, UNIT, BACK)                                                           \
	if (N / UNIT > h)                                                                              \
	v[k] += SHUFFLE(W, v[k], none, LANES_##N(FROM, N, 0, (N / UNIT > h ? h : 1), UNIT, BACK))

/* count: elements of B, UNIT of which make a value. o NULL: only the total.
 * next: as many elements that are needed soon. */
#define SCAN_BODY(NAME, TARGET, B, V, W, N, UNIT, BACK, STORE)                                     \
	TARGET static inline __attribute__((always_inline)) void NAME(                                 \
		int64_t count, const B *x, const B *before, B *o, const B *next, const bool streaming,     \
		B *total) {                                                                                \
		enum { K = SCAN_GROUP / sizeof(V), GROUP = K * N };                                        \
		const V none = -(V){0};                                                                    \
		V first = none, sum = none;                                                                \
		for (int l = 0; before && l < N; l++) first[l] = before[l % UNIT];                         \
		const int64_t whole = count / UNIT <= SCAN_PLAIN ? 0 : count / GROUP * GROUP,              \
					  prefetch_by =                                                                \
						  next ? next - x                                                          \
							   : (BACK ? -PREFETCH_BYTES : PREFETCH_BYTES) / (int)sizeof(B);       \
		for (int64_t i = 0; i < whole; i += GROUP) {                                               \
			const int64_t at = BACK ? count - N - i : i;                                           \
			V v[K];                                                                                \
			UNROLLED for (int k = 0; k < K; k++) {                                                 \
				const B *p = x + at + (BACK ? -k : k) * N;                                         \
				v[k] = *(const V *)(const void *)p;                                                \
				if (!(k * sizeof(V) % 64)) __builtin_prefetch(p + prefetch_by);                    \
				JOIN_HALVES(1, N, W, UNIT, BACK);                                                  \
				JOIN_HALVES(2, N, W, UNIT, BACK);                                                  \
				JOIN_HALVES(4, N, W, UNIT, BACK);                                                  \
				JOIN_HALVES(8, N, W, UNIT, BACK);                                                  \
			}                                                                                      \
			UNROLLED for (int h = 1; h < K; h *= 2)                                                \
				UNROLLED for (int k = 0; k < K; k++) if (k & h) v[k] += SHUFFLE(                   \
					W, v[(k & ~(2 * h - 1)) + h - 1], none, LANES_##N(END, N, 0, 0, UNIT, BACK));  \
			UNROLLED for (int k = 0; o && k < K; k++) {                                            \
				const V y = first + (v[k] + sum);                                                  \
				B *to = o + at + (BACK ? -k : k) * N;                                              \
				if (streaming) STORE(to, y);                                                       \
				else *(V *)(void *)to = y;                                                         \
			}                                                                                      \
			sum += SHUFFLE(W, v[K - 1], none, LANES_##N(END, N, 0, 0, UNIT, BACK));                \
		}                                                                                          \
		B c[UNIT];                                                                                 \
		for (int l = 0; l < UNIT; l++) c[l] = sum[l];                                              \
		for (int64_t i = whole; i < count; i += UNIT)                                              \
			for (int l = 0; l < UNIT; l++) {                                                       \
				const int64_t at = (BACK ? count - UNIT - i : i) + l;                              \
				c[l] += x[at];                                                                     \
				if (o) o[at] = first[l] + c[l];                                                    \
			}                                                                                      \
		for (int l = 0; total && l < UNIT; l++) total[l] = c[l];                                   \
	}
#define SCAN_FORM(NAME, TARGET, KIND, B, V, W, N, UNIT, STORE)                                     \
	SCAN_BODY(NAME##_forward, TARGET, B, V, W, N, UNIT, 0, STORE)                                  \
	SCAN_BODY(NAME##_back, TARGET, B, V, W, N, UNIT, 1, STORE)                                     \
	KIND static void NAME(int64_t count, const B *x, const B *before, B *o, const B *next,         \
	                      bool reverse, bool streaming, B *total) {                                \
		if (!o && reverse) NAME##_back(count, x, NULL, NULL, NULL, false, total);                  \
		else if (!o) NAME##_forward(count, x, NULL, NULL, NULL, false, total);                     \
		else if (streaming && reverse) NAME##_back(count, x, before, o, next, true, NULL);         \
		else if (streaming) NAME##_forward(count, x, before, o, next, true, NULL);                 \
		else if (reverse) NAME##_back(count, x, before, o, next, false, NULL);                     \
		else NAME##_forward(count, x, before, o, next, false, NULL);                               \
	}

#if defined(__x86_64__)
#define STORE_PAST(to, value)                                                                      \
	do {                                                                                           \
		__m128i half[2];                                                                           \
		memcpy(half, &(value), sizeof half);                                                       \
		_mm_stream_si128((__m128i *)(void *)(to), half[0]);                                        \
		_mm_stream_si128((__m128i *)(void *)(to) + 1, half[1]);                                    \
	} while (0)
#else
#define STORE_PAST(to, value) memcpy(to, &(value), 32)
#endif

/* Vectors of 64 bytes are a separate form: on other machines gcc expands their
 * shuffles element by element. */
#if defined(HAVE_CLONES) && __GNUC__ >= 12
#define WIDE_FORM __attribute__((target("arch=x86-64-v4")))
#define STORE_WIDE(to, value) _mm512_stream_si512((__m512i *)(void *)(to), (__m512i)(value))
typedef double V64X __attribute__((vector_size(64), may_alias, aligned(8)));
typedef float V32X __attribute__((vector_size(64), may_alias, aligned(4)));
typedef uint64_t W64X __attribute__((vector_size(64), may_alias, aligned(8)));
typedef uint32_t W32X __attribute__((vector_size(64), may_alias, aligned(4)));
static bool wide(void) {
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
}
#define SCAN_OF(NAME, B, V, W, N, UNIT, M)                                                         \
	SCAN_FORM(NAME, , CLONES, B, V, W, N, UNIT, STORE_PAST)                                        \
	SCAN_FORM(NAME##_wide, WIDE_FORM, WIDE_FORM, B, V##X, W##X, M, UNIT, STORE_WIDE)
#define SCAN_CALL(NAME, ...)                                                                       \
	(wide() && (!streaming || !(vectors & 63)) ? NAME##_wide(__VA_ARGS__) : NAME(__VA_ARGS__))
#else
#define SCAN_OF(NAME, B, V, W, N, UNIT, M) SCAN_FORM(NAME, , CLONES, B, V, W, N, UNIT, STORE_PAST)
#define SCAN_CALL(NAME, ...) NAME(__VA_ARGS__)
#endif
SCAN_OF(scan_i32, uint32_t, W32, W32, 8, 1, 16)
SCAN_OF(scan_i64, uint64_t, W64, W64, 4, 1, 8)
SCAN_OF(scan_f32, float, V32, W32, 8, 1, 16)
SCAN_OF(scan_f64, double, V64, W64, 4, 1, 8)
SCAN_OF(scan_c64, float, V32, W32, 8, 2, 16)
SCAN_OF(scan_c128, double, V64, W64, 4, 2, 8)

static void scan(Dtype d, int64_t n, const void *x, const void *before, void *o, const void *next,
                 bool reverse, bool streaming, void *total) {
	/* address from which whole vectors are stored */
	const uintptr_t vectors = (uintptr_t)o + (reverse ? (uintptr_t)n * dtype_size(d) : 0);
	streaming = streaming && !(vectors & 15);
	switch (d) {
	case DT_I32: SCAN_CALL(scan_i32, n, x, before, o, next, reverse, streaming, total); break;
	case DT_I64: SCAN_CALL(scan_i64, n, x, before, o, next, reverse, streaming, total); break;
	case DT_F32: SCAN_CALL(scan_f32, n, x, before, o, next, reverse, streaming, total); break;
	case DT_F64: SCAN_CALL(scan_f64, n, x, before, o, next, reverse, streaming, total); break;
	case DT_C64: SCAN_CALL(scan_c64, 2 * n, x, before, o, next, reverse, streaming, total); break;
	case DT_C128: SCAN_CALL(scan_c128, 2 * n, x, before, o, next, reverse, streaming, total); break;
	default: break;
	}
}

void kernel_scan_total(Dtype d, int64_t n, const void *x, void *total, bool reverse) {
	scan(d, n, x, NULL, NULL, NULL, reverse, false, total);
}

void kernel_scan_sums(Dtype d, int64_t n, const void *x, const void *before, void *o,
                      const void *next, bool reverse, bool streaming) {
	scan(d, n, x, before, o, next, reverse, streaming, NULL);
#if defined(__x86_64__)
	if (streaming) _mm_sfence();
#endif
}

/* Products keep their order: overflow and underflow on the way would differ in
 * another. */
#define PRODUCTS(T)                                                                                \
	do {                                                                                           \
		T *p = x;                                                                                  \
		if (reverse)                                                                               \
			for (int64_t i = n - 1; i-- > 0;) p[i] = p[i] * p[i + 1];                              \
		else                                                                                       \
			for (int64_t i = 1; i < n; i++) p[i] = p[i - 1] * p[i];                                \
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

#define ARGMAX(T)                                                                                  \
	do {                                                                                           \
		const T *p = x;                                                                            \
		int64_t best = 0;                                                                          \
		T a = p[0];                                                                                \
		for (int64_t i = 1; i < n && a == a; i++) {                                                \
			const T v = p[i * stride];                                                             \
			if (v <= a) continue;                                                                  \
			a = v;                                                                                 \
			best = i;                                                                              \
		}                                                                                          \
		return best;                                                                               \
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
