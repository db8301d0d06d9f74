/* trigonometric.h - sin, cos, tan and their inverses.
 *
 * Needs: precision.h, which sets the precision, and payne_hanek.h. Guarantees:
 * vmath.h.
 *
 * Method: angles up to FAST_ANGLE are reduced with three pieces of pi by fused
 * multiply-adds. The first step is exact, since x, the multiple of pi[0] and
 * their difference have a common last bit. The second is exact when it cancels;
 * the third is far below the result. All three pieces are positive, without
 * which -0 would lose its sign. Larger angles are rare and go through memory to
 * atled_rt_huge_angle. A lane's result does not depend on whether another lane
 * is huge.
 */

#if BITS == 64
#define FAST_ANGLE 0x1p30
#else
/* Limit of f32: up to it the error of x/pi moves r beyond pi/2 by no more than
 * the polynomials allow. */
#define FAST_ANGLE 1e5
#endif

typedef struct FN(angle) {
	V r, lo;
	I odd; /* a mask */
} FN(angle);

INLINE FN(angle) FN(huge_angle)(V a, int32_t kind) {
	WIDE x = CONVERT(a, WIDE), lo, odd;
	double in[LANES], low[LANES], flag[LANES];
	__builtin_memcpy(in, &x, sizeof in);
	atled_rt_huge_angle(in, low, flag, LANES, kind);
	__builtin_memcpy(&x, in, sizeof in);
	__builtin_memcpy(&lo, low, sizeof low);
	__builtin_memcpy(&odd, flag, sizeof flag);
	V r = CONVERT(x, V);
	return (FN(angle)){r, CONVERT(lo + (x - CONVERT(r, WIDE)), V), NE(CONVERT(odd, V), K(0))};
}

/* sin(whole), negated where `sign` is set, for |whole| up to little more than
 * pi/2. r approximates `whole` less accurately but is ready earlier. -0 gives
 * -0. EXACT_ANGLE promises that `whole` has only its own rounding error. The
 * first two terms are then summed separately, so their sum need not wait for
 * the others: faster, for one rounding more. */
enum { FN(EXACT_ANGLE) = 1 };

INLINE V FN(sin_reduced)(V r, V whole, I sign, int how) {
	V z = r * r, zz = z * z, s = FROM_BITS(TO_BITS(whole) ^ sign), rest = POLY_FROM(z, sin_tail, 1);
	if (how & FN(EXACT_ANGLE))
		return FMA(s * zz, rest, FMA(FMA(s, z, K(0)), PIECE(sin_tail, 0), s));
	return FMA(s, FMA(zz, rest, z * PIECE(sin_tail, 0)), s);
}

/* Results for huge |x|; for others they are meaningless. Out-of-line functions
 * need separate names for each width. */
RARE V OUT_OF_LINE(rare_sin)(V x);
RARE V OUT_OF_LINE(rare_sin)(V x) {
	V r = FN(huge_angle)(ABS(x), ANGLE_SIN).r;
	return FN(sin_reduced)(r, r, TO_BITS(x) & TO_BITS(K(-0.0)), FN(EXACT_ANGLE));
}
RARE V OUT_OF_LINE(rare_cos)(V x);
RARE V OUT_OF_LINE(rare_cos)(V x) {
	V r = FN(huge_angle)(ABS(x), ANGLE_COS).r;
	return FN(sin_reduced)(r, r, KI(0), 0);
}

/* sin(x): x = k pi + r, and an odd k negates sin(r). The last piece of pi
 * matters where the others cancel, and then only in the first term of the
 * sine. */
V EXPORT(sin)(V x) {
	V t = FMA(x, PIECE(inverse_pi, 0), K(ROUNDER)), k = t - K(ROUNDER);
	V r = FMA(k, -PIECE(pi_below, 1), FMA(k, -PIECE(pi_below, 0), x)),
	  whole = FMA(k, -PIECE(pi_below, 2), r);
	V y = FN(sin_reduced)(r, whole, TO_BITS(t) << SIGN_SHIFT, FN(EXACT_ANGLE));
	I huge = LT(K(FAST_ANGLE), ABS(x));
	if (RARELY(ANY(huge))) y = SELECT(huge, OUT_OF_LINE(rare_sin)(x), y);
	return y;
}

/* cos(x): |x| = k pi + pi/2 + r, and cos(x) is sin(r), negated for an even
 * k. */
V EXPORT(cos)(V x) {
	V a = ABS(x);
	V t = FMA(a, PIECE(inverse_pi, 0), K(-0.5)) + K(ROUNDER), k = t - K(ROUNDER);
	V j = k + K(0.5);
	V r = FMA(j, -PIECE(pi_below, 1), FMA(j, -PIECE(pi_below, 0), a)),
	  whole = FMA(j, -PIECE(pi_below, 2), r);
	V y = FN(sin_reduced)(r, whole, ~TO_BITS(t) << SIGN_SHIFT, 0);
	I huge = LT(K(FAST_ANGLE), a);
	if (RARELY(ANY(huge))) y = SELECT(huge, OUT_OF_LINE(rare_cos)(x), y);
	return y;
}

/* tan(x): |x| = k pi/2 + r; the result is sin(r)/cos(r), or -cos(r)/sin(r) for
 * an odd k, each with its rounding error. */
V EXPORT(tan)(V x) {
	V a = ABS(x);
	V t = FMA(a, PIECE(inverse_half_pi, 0), K(ROUNDER)), k = t - K(ROUNDER);
	V p = k * PIECE(half_pi, 1);
	PAIR u = FN(exact_sum)(FMA(k, -PIECE(half_pi, 0), a), -p);
	V r = u.hi, lo = FMA(k, -PIECE(half_pi, 2), u.lo - FMA(k, PIECE(half_pi, 1), -p));
	I odd = NE(FMA(K(2), FLOOR(K(0.5) * k), -k), K(0));
	I huge = LT(K(FAST_ANGLE), a);
	if (RARELY(ANY(huge))) {
		FN(angle) h = FN(huge_angle)(a, ANGLE_TAN);
		r = SELECT(huge, h.r, r);
		lo = SELECT(huge, h.lo, lo);
		odd = SELECT(huge, h.odd, odd);
	}
	V z = r * r, h = K(0.5) * z, h_lo = K(0.5) * FMA(r, r, -z);
	PAIR s = FN(quick_sum)(r, FMA(r * z, POLY(z, tan_sin_tail), lo * (K(1) - h)));
	PAIR c = FN(quick_sum)(K(1), -h);
	c = FN(quick_sum)(c.hi, c.lo - h_lo + FMA(z * z, POLY(z, tan_cos_tail), -(r * lo)));
	V n = SELECT(odd, c.hi, s.hi), n_lo = SELECT(odd, c.lo, s.lo);
	V d = SELECT(odd, s.hi, c.hi), d_lo = SELECT(odd, s.lo, c.lo);
	V inverse = K(1) / d;
	V q = n * inverse;
	q = FMA(FMA(-q, d, n) + FMA(-q, d_lo, n_lo), inverse, q);
	return FROM_BITS(TO_BITS(q) ^ ((odd ^ TO_BITS(x)) & TO_BITS(K(-0.0))));
}

/* Inverse sine and cosine. For |x| > 1/2: asin(x) = pi/2 - 2 asin(s), s =
 * sqrt((1 - |x|)/2) <= 1/2. */
typedef struct FN(arc) {
	V a, s, tail; /* |x|, the argument of asin, and asin(s) - s */
	I big;        /* |x| > 1/2 */
} FN(arc);

INLINE FN(arc) FN(arc_of)(V x) {
	V a = ABS(x);
	I big = LT(K(0.5), a);
	V z = SELECT(big, FMA(K(-0.5), a, K(0.5)), a * a);
	V s = SELECT(big, SQRT(z), a);
	return (FN(arc)){a, s, s * (z * POLY(z, asin_tail)), big};
}

V EXPORT(asin)(V x) {
	FN(arc) c = FN(arc_of)(x);
	PAIR d = FN(quick_sum)(PIECE(half_pi, 0), K(-2) * c.s);
	V upper = d.hi + (d.lo + FMA(K(-2), c.tail, PIECE(half_pi, 1)));
	return COPYSIGN(SELECT(c.big, upper, c.s + c.tail), x);
}

V EXPORT(acos)(V x) {
	FN(arc) c = FN(arc_of)(x);
	/* base - sum: pi/2 - asin(x), or 2 asin(s), or pi - 2 asin(s) */
	I negative = LT(x, K(0));
	V factor = SELECT(c.big, SELECT(negative, K(-2), K(2)), SELECT(negative, K(1), K(-1)));
	V base = SELECT(c.big, SELECT(negative, PIECE(pi, 0), K(0)), PIECE(half_pi, 0));
	V base_lo = SELECT(c.big, SELECT(negative, PIECE(pi, 1), K(0)), PIECE(half_pi, 1));
	PAIR d = FN(quick_sum)(base, factor * c.s);
	return d.hi + (d.lo + FMA(factor, c.tail, base_lo));
}

/* atan(q) - q for 0 <= q <= 1. */
INLINE V FN(atan_rest)(V q) {
	V z = q * q;
	return q * z * POLY(z, atan_tail);
}

/* Beyond 1: atan(x) = pi/2 - atan(1/x). */
V EXPORT(atan)(V x) {
	V a = ABS(x);
	I big = LT(K(1), a);
	V q = SELECT(big, K(1) / a, a), rest = FN(atan_rest)(q);
	PAIR d = FN(quick_sum)(PIECE(half_pi, 0), -q);
	V upper = d.hi + (d.lo + (PIECE(half_pi, 1) - rest));
	return COPYSIGN(SELECT(big, upper, q + rest), x);
}

/* The angle of the point (x, y): atan of the smaller over the larger of |x| and
 * |y|, added to or subtracted from 0, pi/2 or pi. */
V EXPORT(atan2)(V y, V x) {
	V ax = ABS(x), ay = ABS(y);
	I steep = LT(ax, ay), left = MASK(I, TO_BITS(x) < KI(0));
	V n = SELECT(steep, ax, ay), d = SELECT(steep, ay, ax);
	V q = n / d;
	q = SELECT(EQ(n, K(0)), K(0), SELECT(EQ(n, K(INF)), K(1), q)); /* 0/0 and infinity/infinity */
	V rest = FN(atan_rest)(q);
	V base = SELECT(steep, PIECE(half_pi, 0), SELECT(left, PIECE(pi, 0), K(0)));
	V base_lo = SELECT(steep, PIECE(half_pi, 1), SELECT(left, PIECE(pi, 1), K(0)));
	I minus = (steep ^ left) & TO_BITS(K(-0.0));
	PAIR s = FN(quick_sum)(base, FROM_BITS(TO_BITS(q) ^ minus));
	V r = s.hi + (s.lo + (base_lo + FROM_BITS(TO_BITS(rest) ^ minus)));
	return SELECT(NE(x, x) | NE(y, y), x + y, COPYSIGN(r, y));
}

#undef FAST_ANGLE
