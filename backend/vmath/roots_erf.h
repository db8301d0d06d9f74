/* roots_erf.h - sqrt, cbrt and erf.
 *
 * Needs: precision.h, which sets the precision, and exp_log.h. Guarantees:
 * vmath.h.
 */

V EXPORT(sqrt)(V x) { return SQRT(x); }

/* |x| = 2^(3 i) X with X = 2^j m, m in [1, 2), j = 0, 1 or 2. From w near
 * X^(-1/3), X w^2 is near the root. One Newton step with the exact remainder X
 * - y^3 makes it precise; w^2 replaces 1/y^2 there, so that no division is
 * needed. */
V EXPORT(cbrt)(V x) {
	V a = ABS(x);
	I small = LT(a, K(MIN_NORMAL));
	a = SELECT(small, a * K(BITS == 64 ? 0x1p54 : 0x1p24), a);
	I i = TO_BITS(a);
	V e =
		FROM_BITS((I)((U)i >> MANTISSA) | TO_BITS(K(POWER2_MANTISSA))) - K(POWER2_MANTISSA + BIAS);
	V m = FROM_BITS((i & KI(((uint64_t)1 << MANTISSA) - 1)) | TO_BITS(K(1)));
	V t = FMA(e, K(1.0 / 3), K(-1.0 / 3)) + K(ROUNDER), third = t - K(ROUNDER);
	V j = FMA(K(-3), third, e);
	I one = EQ(j, K(1)), two = EQ(j, K(2));
	V big = m * SELECT(one, K(2), SELECT(two, K(4), K(1)));
	V w = POLY(m, cbrt_first) *
	      SELECT(one, PIECE(cbrt_two, 0), SELECT(two, PIECE(cbrt_four, 0), K(1)));
#if BITS == 64
	/* Halley's step: the error is cubed, from 2^-14 to 2^-40. */
	V h = FMA(-w * w, big * w, K(1));
	w = FMA(w * h, FMA(h, K(2.0 / 9), K(1.0 / 3)), w);
#endif
	V w2 = w * w, y = big * w2;
	V y2 = y * y, y2_lo = FMA(y, y, -y2);
	V y3 = y2 * y, y3_lo = FMA(y2_lo, y, FMA(y2, y, -y3));
	y = FMA((big - y3) - y3_lo, w2 * K(1.0 / 3), y);
	I shift = TO_BITS(t) - TO_BITS(K(ROUNDER)) + KI(BIAS);
	y *= FROM_BITS((shift - (small & KI(BITS == 64 ? 18 : 8))) << MANTISSA);
	y = SELECT(EQ(x, K(0)) | ~LT(a, K(INF)), a, y);
	return COPYSIGN(y, x);
}

/* A polynomial near 0; further out 1 - erfc(x) with erfc(x) = exp(-P(x - 1)),
 * for which only absolute precision matters. */
V EXPORT(erf)(V x) {
	V a = ABS(x), z = a * a;
	V small = FMA(a, POLY(z, erf_small_tail), a);
	V most = K(BITS == 64 ? 6 : 4);
	V b = SELECT(LT(most, a), most, a);
	V p = POLY(b - K(1), erf_large);
	V large = K(1) - FN(scaled_power)(FN(power_of)(-p));
	return COPYSIGN(SELECT(LT(a, K(0.85)), small, large), x);
}
