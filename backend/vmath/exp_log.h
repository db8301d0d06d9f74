/* exp_log.h - exp, log, pow and hyperbolic functions.
 *
 * Needs: precision.h, which sets the precision. Guarantees: vmath.h.
 *
 * Method:
 * - exp: x = k ln 2 + r with |r| <= ln(2)/2, and exp(x) = 2^k exp(r). The first
 *   fused step of the reduction is exact, since x and k ln2[0] have a common
 *   last bit and their difference is small (Cody and Waite's reduction; Muller,
 *   "Elementary Functions", chapter 11).
 * - log: x = 2^k m with m in [sqrt(1/2), sqrt(2)), s = (m - 1)/(m + 1), log(m)
 *   = 2 atanh(s).
 */

#if BITS == 64
/* exp gives 0 below EXP_LEAST and infinity above EXP_MOST */
#define EXP_LEAST -746
#define EXP_MOST 710
#define EXP_INNER 708   /* up to here no overflow and no denormal result */
#define SINH_MOST 710.6 /* above, sinh and cosh give infinity */
#define TANH_ONE 20     /* from here on tanh is 1 */
#define SQRT_HALF_BITS 0x3fe6a09e667f3bcd
#define TINY 0x1p-54 /* |x| below this: sinh(x) = expm1(x) = log1p(x) = x */
#else
#define EXP_LEAST -105
#define EXP_MOST 89
#define EXP_INNER 87
#define SINH_MOST 89.6
#define TANH_ONE 10
#define SQRT_HALF_BITS 0x3f3504f3
#define TINY 0x1p-25
#endif

/* x = k ln 2 + r: exp(r) - 1, and k + BIAS in the lowest bits. The polynomial
 * is split in two, so that its upper half does not wait for the lower. */
typedef struct FN(power) {
	V rest;
	I bits;
} FN(power);

INLINE FN(power) FN(power_of)(V x) {
	V t = FMA(x, PIECE(log2_e, 0), K(ROUNDER + BIAS)), k = t - K(ROUNDER + BIAS);
	V r = FMA(k, -PIECE(ln2, 1), FMA(k, -PIECE(ln2, 0), x));
	const int n = sizeof FN(exp_tail) / sizeof *FN(exp_tail), first = n > 8 ? 4 : 2;
	V z = r * r, low = FN(polynomial)(r, FN(exp_tail), first),
	  high = FN(polynomial)(r, FN(exp_tail) + first, n - first);
	V power = first == 4 ? z * (z * z) : z * z;
	return (FN(power)){FMA(power, high, FMA(z, low, r)), TO_BITS(t)};
}

/* exp(x) where 2^k is a normal float: |x| < EXP_INNER. */
INLINE V FN(scaled_power)(FN(power) p) {
	V scale = FROM_BITS(p.bits << MANTISSA);
	return FMA(scale, p.rest, scale);
}

/* Beyond EXP_INNER the power is the product of two factors, since 2^k itself
 * may overflow (k = 1024) or be denormal. k + 2 BIAS is halved, and the halves
 * are shifted into the exponent field. This path is as short as the other:
 * overflow and underflow are not unusual for an exponential. */
V EXPORT(exp)(V x) {
	FN(power) p = FN(power_of)(x);
	V y = FN(scaled_power)(p);
	I outer = LT(K(EXP_INNER), ABS(x));
	if (RARELY(ANY(outer))) {
		I bits = p.bits + KI(BIAS), half = (I)((U)bits >> 1);
		V scale1 = FROM_BITS(half << MANTISSA), scale2 = FROM_BITS((bits - half) << MANTISSA);
		V z = FMA(scale1, p.rest, scale1) * scale2;
		z = SELECT(LT(x, K(EXP_LEAST)), K(0), SELECT(LT(K(EXP_MOST), x), K(INF), z));
		y = SELECT(outer, z, y);
	}
	return y;
}

/* exp(x + lo), with an error little above half a unit. INNER promises that |x|
 * < EXP_INNER or that the result is not used; otherwise the power is made in
 * two factors as above. */
enum { FN(ANY_SIZE) = 0, FN(INNER) = 1 };

INLINE V FN(exp_sum)(V x, V lo, int inner) {
	if (!inner) {
		V most = K(EXP_MOST), least = K(EXP_LEAST);
		x = SELECT(LT(most, x), most, x); /* comparisons that keep NaN */
		x = SELECT(LT(x, least), least, x);
	}
	V rounder = K(inner ? ROUNDER + BIAS : ROUNDER + 2 * BIAS);
	V t = FMA(x, PIECE(log2_e, 0), rounder);
	V k = t - rounder;
	I bits = TO_BITS(t), half = (I)((U)bits >> 1);
	V scale = FROM_BITS((inner ? bits : half) << MANTISSA),
	  scale2 = FROM_BITS((bits - half) << MANTISSA);
	V r1 = FMA(k, -PIECE(ln2, 0), x), r = FMA(k, -PIECE(ln2, 1), r1);
	PAIR s = FN(quick_sum)(r, FMA(k, -PIECE(ln2, 1), r1 - r) + lo), one = FN(quick_sum)(K(1), s.hi);
	V p =
		scale * (one.hi + (one.lo + FMA(s.hi * s.hi, POLY(s.hi, exp_tail), FMA(s.hi, s.lo, s.lo))));
	return inner ? p : p * scale2;
}

/* |x| = k ln(2)/2 + h, t = tanh(h), s = 2^k = exp(2 (|x| - h)), and tanh |x| =
 * ((s - 1) + (s + 1) t)/((s + 1) + (s - 1) t). For k = 0 this is t itself, so
 * small x keep their precision. For other k a value b near the result, k/4 or
 * 1, is subtracted through the numerator and added to the quotient. The
 * quotient is then small, and so is its rounding error. */
V EXPORT(tanh)(V x) {
	V a = ABS(x), most = K(TANH_ONE);
	a = SELECT(LT(most, a), most, a);
	/* a rounder with two bits after the binary point: quarter = k/4 */
	const double rounder = (ROUNDER + BIAS) * 0.25;
	V sum = FMA(a, K(0.5) * PIECE(log2_e, 0), K(rounder)), quarter = sum - K(rounder);
	V scale = FROM_BITS(TO_BITS(sum) << MANTISSA);
	V h = FMA(quarter, K(-2) * PIECE(ln2, 0), a), z = h * h, cube = h * z;
#if BITS == 64
	/* The second piece of ln 2 would be rounded off if it were added to h. Here
	 * it is multiplied by nearly -1/3, the first coefficient. */
	cube = FMA(quarter, K(6) * PIECE(ln2, 1), cube);
#endif
	V t = FMA(cube, POLY(z, tanh_tail), h);
	V less = scale - K(1), more = scale + K(1), d = FMA(less, t, more);
	V b = SELECT(LT(quarter, K(1)), quarter, K(1));
	V n = FMA(FMA(-b, less, more), t, FMA(-b, more, less));
	return FROM_BITS(TO_BITS(b + n / d) | (TO_BITS(x) & TO_BITS(K(-0.0))));
}

/* expm1(x)/4 for TINY < |x| and x between -40 and SINH_MOST; the error is a
 * small fraction of a unit of hi. The factor 1/4 keeps the largest arguments of
 * sinh and cosh from overflowing. */
INLINE PAIR FN(quarter_expm1)(V x) {
	V t = FMA(x, PIECE(log2_e, 0), K(ROUNDER + BIAS - 2));
	V k = t - K(ROUNDER + BIAS - 2);
	V scale = FROM_BITS(TO_BITS(t) << MANTISSA); /* 2^k / 4 */
	V r1 = FMA(k, -PIECE(ln2, 0), x), r = FMA(k, -PIECE(ln2, 1), r1);
	V rest = FMA(k, -PIECE(ln2, 1), r1 - r);
	/* p = r + r^2/2 + r^3 ... + rest exp(r) */
	V half = K(0.5) * r, square = r * half;
	PAIR p = FN(quick_sum)(r, square);
	p.lo += FMA(r, half, -square) + FMA(square * r, K(2) * POLY(r, expm1_tail), FMA(r, rest, rest));
	/* scale p + (scale - 1/4) */
	V a = scale - K(0.25), a_lo = (scale - a) - K(0.25);
	PAIR e = FN(exact_sum)(a, scale * p.hi);
	e.lo += FMA(scale, p.lo, a_lo);
	return FN(quick_sum)(e.hi, e.lo);
}

V EXPORT(expm1)(V x) {
	V most = K(EXP_MOST), least = K(-40);
	V y = SELECT(LT(most, x), most, x);
	y = SELECT(LT(y, least), least, y);
	V e = K(4) * FN(quarter_expm1)(y).hi;
	return SELECT(LT(ABS(x), K(TINY)), x, e);
}

/* With e = expm1(|x|): sinh |x| = (e + e/(e + 1))/2. */
V EXPORT(sinh)(V x) {
	V a = ABS(x), most = K(SINH_MOST);
	a = SELECT(LT(most, a), most, a);
	PAIR e = FN(quarter_expm1)(a);
	V d = FMA(K(4), e.hi, K(1)), hi = e.hi + e.hi; /* expm1(|x|) + 1, expm1(|x|)/2 */
	V inverse = K(1) / d;
	V u = hi * inverse;
	/* the correction of u: the division's remainder, with the rounding error of
	 * d */
	V d_lo = FMA(K(4), e.hi, K(1) - d) + K(4) * e.lo;
	V rest = (FMA(-u, d, hi) + FMA(-u, d_lo, e.lo + e.lo)) * inverse;
	PAIR s = FN(quick_sum)(hi, u);
	V result = s.hi + (s.lo + (e.lo + e.lo) + rest);
	result = SELECT(LT(hi, K(0x1p60)), result, hi + (e.lo + e.lo));
	return COPYSIGN(SELECT(LT(ABS(x), K(TINY)), a, result), x);
}

/* With g = exp(|x|)/2: cosh x = g + 1/(4 g). */
V EXPORT(cosh)(V x) {
	V a = ABS(x), most = K(SINH_MOST);
	a = SELECT(LT(most, a), most, a);
	PAIR e = FN(quarter_expm1)(a);
	PAIR g = FN(exact_sum)(e.hi + e.hi, K(0.5));
	V inverse = K(0.25) / g.hi;
	V rest = (g.lo + (e.lo + e.lo)) * (K(1) - K(4) * inverse * inverse);
	PAIR s = FN(quick_sum)(g.hi, inverse);
	V result = s.hi + (s.lo + rest);
	return SELECT(LT(g.hi, K(0x1p60)), result, g.hi + (e.lo + e.lo));
}

/* x > 0 is 2^k m with m in [sqrt(1/2), sqrt(2)). For other x, and for infinity,
 * the result is meaningless. */
typedef struct FN(scaled) {
	V m, k;
	/* bits of x 2^(BIAS + 1)/sqrt(1/2) as if the exponent were unbounded; their
	 * exponent field, k + BIAS + 1 */
	I shifted, power;
} FN(scaled);

INLINE FN(scaled) FN(take_apart)(V x) {
	/* k + BIAS + 1 is never negative, so a logical shift suffices. AVX2 has no
	 * other for 64 bits. */
	I i = TO_BITS(x) + KI(((uint64_t)(BIAS + 1) << MANTISSA) - SQRT_HALF_BITS);
	I power = (I)((U)i >> MANTISSA);
	V m = FROM_BITS((i & KI(((uint64_t)1 << MANTISSA) - 1)) + KI(SQRT_HALF_BITS));
	V k = FROM_BITS(power | TO_BITS(K(POWER2_MANTISSA))) - K(POWER2_MANTISSA + BIAS + 1);
	return (FN(scaled)){m, k, i, power};
}

/* The same for denormal x too; k is not `power` then. */
INLINE FN(scaled) FN(take_apart_all)(V x) {
	I small = LT(x, K(MIN_NORMAL));
	FN(scaled) a = FN(take_apart)(SELECT(small, x * K(POWER2_MANTISSA), x));
	a.k -= SELECT(small, K(MANTISSA), K(0));
	return a;
}

/* k ln 2 + log(1 + f). With h = f^2/2 and R = log(m)/s - 2: log(1 + f) = f - (h
 * - s (h + R)), where the large terms are exact. */
INLINE V FN(log_sum)(V k, V f) {
	V s = f / (K(2) + f), z = s * s;
	V h = K(0.5) * f * f;
	V r = FMA(z, POLY(z, log_tail), h);
	V small = FMA(s, r, k * PIECE(ln2, 1));
	return FMA(k, PIECE(ln2, 0), f - (h - small));
}

/* 0 where x has a finite logarithm; otherwise the value that gives the right
 * result when added to any finite one. */
INLINE V FN(log_special)(V x) {
	I not_finite = TO_BITS(x) & ~LT(x, K(INF));
	I zero = EQ(x, K(0)) & TO_BITS(K(-INF)), negative = LT(x, K(0)) & TO_BITS(K(NOT_A_NUMBER));
	return FROM_BITS(not_finite | zero | negative);
}

/* log for any x. An out-of-line function needs a separate name for each
 * width. */
RARE V OUT_OF_LINE(rare_log)(V x);
RARE V OUT_OF_LINE(rare_log)(V x) {
	FN(scaled) a = FN(take_apart_all)(x);
	return FN(log_sum)(a.k, a.m - K(1)) + FN(log_special)(x);
}

V EXPORT(log)(V x) {
	FN(scaled) a = FN(take_apart)(x);
	V y = FN(log_sum)(a.k, a.m - K(1));
	/* The sign of either term is set for all x but positive normal ones. */
	I unusual = a.shifted | (TO_BITS(x) - TO_BITS(K(MIN_NORMAL)));
	if (RARELY(ANY_SIGN(unusual)))
		y = SELECT(MASK(I, unusual < KI(0)), OUT_OF_LINE(rare_log)(x), y);
	return y;
}

/* 1 + x = u + c exactly; c, scaled as u was, is added to f = m - 1. */
V EXPORT(log1p)(V x) {
	PAIR u = FN(exact_sum)(K(1), x);
	FN(scaled) a = FN(take_apart)(u.hi);
	V inverse_power = FROM_BITS((KI(2 * BIAS + 1) - a.power) << MANTISSA);
	V c = SELECT(LT(x, K(0x1p60)), u.lo * inverse_power, K(0));
	V y = FN(log_sum)(a.k, (a.m - K(1)) + c) + FN(log_special)(u.hi);
	return SELECT(LT(ABS(x), K(TINY)), x, y);
}

/* The logarithm of a split x; the relative error is below 2^-(MANTISSA +
 * 12). */
INLINE PAIR FN(precise_log)(FN(scaled) a) {
	/* s = (m - 1)/(m + 1) */
	V n = a.m - K(1), d = a.m + K(1), d_lo = a.m - (d - K(1));
	V inverse = K(1) / d;
	V s = n * inverse;
	V s_lo = FMA(-s, d_lo, FMA(-s, d, n)) * inverse;
	/* c = 2/3 + z p, with p the polynomial in z = s^2; its first step and the
	 * product carry their rounding errors */
	V z = s * s, z_lo = FMA(s, s, -z) + K(2) * s * s_lo;
	PAIR p = FN(quick_sum)(PIECE(pow_tail, 0), z * POLY_FROM(z, pow_tail, 1));
	V zp = z * p.hi, zp_lo = FMA(z, p.hi, -zp) + FMA(z, p.lo, z_lo * p.hi);
	PAIR c = FN(quick_sum)(PIECE(two_thirds, 0), zp);
	c.lo += PIECE(two_thirds, 1) + zp_lo;
	/* w = s^3, t = w c */
	V w = s * z, w_lo = FMA(s, z, -w) + FMA(s, z_lo, s_lo * z);
	V t = w * c.hi, t_lo = FMA(w, c.hi, -t) + FMA(w, c.lo, w_lo * c.hi);
	/* k ln 2 + 2 s + t */
	PAIR l = FN(quick_sum)(s + s, t);
	l.lo += t_lo + (s_lo + s_lo);
	V kl = a.k * PIECE(ln2, 0), kl_lo = FMA(a.k, PIECE(ln2, 1), FMA(a.k, PIECE(ln2, 0), -kl));
	PAIR sum = FN(quick_sum)(kl, l.hi);
	return FN(quick_sum)(sum.hi, sum.lo + (l.lo + kl_lo));
}

/* Turns the result for |x| into that for x: sets the sign, or NaN. */
INLINE V FN(pow_sign)(V x, V y, V r) {
	V half = K(0.5) * y;
	I whole = EQ(FLOOR(y), y), odd = whole & NE(FLOOR(half), half);
	r = SELECT(LT(x, K(0)) & LT(K(-INF), x) & ~whole, K(NOT_A_NUMBER), r);
	return FROM_BITS(TO_BITS(r) ^ (TO_BITS(x) & odd & TO_BITS(K(-0.0))));
}

/* pow for any x and y. */
RARE V OUT_OF_LINE(rare_pow)(V x, V y);
RARE V OUT_OF_LINE(rare_pow)(V x, V y) {
	V a = ABS(x);
	PAIR l = FN(precise_log)(FN(take_apart_all)(a));
	/* 0 and infinity have infinite logarithms, which exp_sum handles; NaN stays
	 * NaN. */
	I special = EQ(a, K(0)) | ~LT(a, K(INF));
	l.hi = SELECT(special, SELECT(EQ(a, K(0)), K(-INF), a), l.hi);
	l.lo = SELECT(special, K(0), l.lo);
	V p = y * l.hi;
	V p_lo = FMA(y, l.lo, FMA(y, l.hi, -p));
	p_lo = SELECT(LT(ABS(p), K(-EXP_LEAST)), p_lo, K(0)); /* avoids infinity - infinity */
	V r = FN(pow_sign)(x, y, FN(exp_sum)(p, p_lo, FN(ANY_SIZE)));
	I one = EQ(y, K(0)) | EQ(x, K(1)) | (EQ(a, K(1)) & EQ(ABS(y), K(INF)));
	return SELECT(one, K(1), r);
}

/* exp(y log |x|), both in more than working precision. */
V EXPORT(pow)(V x, V y) {
	V a = ABS(x);
	PAIR l = FN(precise_log)(FN(take_apart)(a));
	V p = y * l.hi;
	V r = FN(pow_sign)(x, y, FN(exp_sum)(p, FMA(y, l.lo, FMA(y, l.hi, -p)), FN(INNER)));
	I usual = LE(K(MIN_NORMAL), a) & LT(a, K(INF)) & LT(ABS(p), K(EXP_INNER));
	if (RARELY(ANY(~usual))) r = SELECT(usual, r, OUT_OF_LINE(rare_pow)(x, y));
	return r;
}

#undef EXP_LEAST
#undef EXP_MOST
#undef EXP_INNER
#undef SINH_MOST
#undef TANH_ONE
#undef SQRT_HALF_BITS
#undef TINY
