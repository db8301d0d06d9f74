/* precision.h - names for one precision.
 *
 * The file is included for each precision, so that each function is written
 * once.
 *
 * Needs: vector_types.h, coefficients.h, BITS = 64 or 32. Defines:
 *   V I U        vectors of floats, of signed and of unsigned integers
 *   T N          one float, one signed integer
 *   FN(name)     name_f64 or name_f32
 *   EXPORT(name) atled_name_f64 or atled_name_f32
 *   OUT_OF_LINE(name)  the same with the width
 *   K(c)         a constant in all lanes
 *   PIECE(list, i)     a constant from coefficients.h
 *   POLY(x, l)   the polynomial with coefficients l; POLY_FROM skips the first
 *   LT LE EQ NE  comparisons as masks
 *   PAIR         an unevaluated sum hi + lo with |lo| far below |hi|
 * Rounding to nearest is assumed, and that the compiler does not reassociate.
 */
#undef V
#undef I
#undef U
#undef T
#undef N
#undef FN
#undef WIDE
#undef LANES
#undef MANTISSA
#undef BIAS
#undef MIN_NORMAL
#undef ROUNDER
#undef POWER2_MANTISSA
#undef SIGN_SHIFT

#if BITS == 64
#define V vf64
#define I vi64
#define U vu64
#define T double
#define N int64_t
#define WIDE vwide64
#define LANES LANES64
#define FN(name) name##_f64
#define MANTISSA 52
#define BIAS 1023
#define MIN_NORMAL 0x1p-1022
#define POWER2_MANTISSA 0x1p52
/* x + ROUNDER holds x, rounded to an integer, in its lowest bits. */
#define ROUNDER 0x1.8p52
#define SIGN_SHIFT 63
#else
#define V vf32
#define I vi32
#define U vu32
#define T float
#define N int32_t
#define WIDE vwide32
#define LANES LANES32
#define FN(name) name##_f32
#define MANTISSA 23
#define BIAS 127
#define MIN_NORMAL 0x1p-126
#define POWER2_MANTISSA 0x1p23
#define ROUNDER 0x1.8p23
#define SIGN_SHIFT 31
#endif

#ifndef ATLED_VMATH_PRECISION_H
#define ATLED_VMATH_PRECISION_H
#define EXPORT(name) FN(atled_##name)
#define OUT_OF_LINE(name) PASTE(FN(atled_##name), LANES64)
#define K(c) ((V)(T)(c))
#define KI(c) ((I)(N)(c))
#define PIECE(list, i) K(FN(list)[i])
#define POLY(x, list) POLY_FROM(x, list, 0)
#define POLY_FROM(x, list, first)                                                                  \
	FN(polynomial)(x, FN(list) + (first), (int)(sizeof FN(list) / sizeof FN(list)[0]) - (first))
#define LT(x, y) MASK(I, (x) < (y))
#define LE(x, y) MASK(I, (x) <= (y))
#define EQ(x, y) MASK(I, (x) == (y))
#define NE(x, y) MASK(I, (x) != (y))
#define PAIR FN(pair)
#define TO_BITS(x) FN(to_bits)(x)
#define FROM_BITS(x) FN(from_bits)(x)
#define INF __builtin_inf()
#define NOT_A_NUMBER __builtin_nan("")
#endif

typedef struct PAIR {
	V hi, lo;
} PAIR;

INLINE I FN(to_bits)(V x) {
	union {
		V v;
		I i;
	} u = {.v = x};
	return u.i;
}

INLINE V FN(from_bits)(I x) {
	union {
		I i;
		V v;
	} u = {.i = x};
	return u.v;
}

/* Estrin's scheme for one level, or two above six coefficients, then Horner's
 * rule in x^2 or x^4. The latency is at most half of Horner's, for at most two
 * multiplications more. */
INLINE V FN(polynomial)(V x, const T *c, int n) {
	V t[32] = {0};
#pragma unroll
	for (int i = 0; i < n; i++) t[i] = (V)c[i];
	const int levels = n > 6 ? 2 : n > 3 ? 1 : 0;
#pragma unroll
	for (int level = 0; level < levels; level++) {
		int pairs = n / 2;
#pragma unroll
		for (int i = 0; i < pairs; i++) t[i] = FMA(t[2 * i + 1], x, t[2 * i]);
		if (n % 2) t[pairs] = t[n - 1];
		n -= pairs;
		x *= x;
	}
	V sum = t[n - 1];
#pragma unroll
	for (int i = n - 2; i >= 0; i--) sum = FMA(sum, x, t[i]);
	return sum;
}

/* a + b without error; quick_sum needs |a| >= |b| or a = 0. */
INLINE PAIR FN(quick_sum)(V a, V b) {
	V s = a + b;
	return (PAIR){s, b - (s - a)};
}
INLINE PAIR FN(exact_sum)(V a, V b) {
	V s = a + b, bb = s - a;
	return (PAIR){s, (a - (s - bb)) + (b - bb)};
}
