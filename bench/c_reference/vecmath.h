/* vecmath.h - exp, tanh, sin and log for the vectors of vec.h, branch-free.
 *
 * Method: argument reduction, then minimax polynomials (Remez) for the relative
 * error.
 *
 * Needs: vec.h; -ffp-contract=fast.
 *
 * Guarantees:
 * - The error is about 2 ulp for the arguments of the benchmarks: |x| < 1e5 in
 *   sin, normal positive numbers in log.
 * - exp saturates at the ends of its range instead of returning 0 and inf.
 * - NaN, infinities and denormals are not handled: a benchmark does not need
 *   them, a language does.
 */
#ifndef BENCH_LIMIT_VECMATH_H
#define BENCH_LIMIT_VECMATH_H

#include "vec.h"

/* exp(r) - 1 for |r| <= ln(2)/2 */
INLINE vd vd_expm1_small(vd r) {
	vd r2 = r * r, r4 = r2 * r2;
	vd a = 0.16666666666666701 * r + 0.5000000000000012,
	   b = 0.008333333333307092 * r + 0.041666666666515445;
	vd c = 0.00019841269917606098 * r + 0.001388888894701036,
	   d = 2.755721612283961e-06 * r + 2.4801489947375367e-05;
	vd e = 2.5117911083483725e-08 * r + 2.763127868190036e-07;
	vd low = r2 * b + a, high = r4 * e + (r2 * d + c);
	return r2 * (r4 * high + low) + r;
}

INLINE vd vd_exp(vd x) {
	const vd magic = vd_set(6755399441055744.0);
	x = vd_min(vd_max(x, vd_set(-708.0)), vd_set(709.0));
	vd t = x * 1.4426950408889634 + magic, n = t - magic;
	vd r = x - n * 0x1.62e42fee00000p-1;
	r = r - n * 0x1.a39ef35793c76p-33;
	vd scale = (vd)(((vl)t << 52) + 0x3ff0000000000000);
	return scale * vd_expm1_small(r) + scale;
}

INLINE vd vd_tanh(vd x) {
	const vd magic = vd_set(6755399441055744.0);
	x = vd_min(vd_max(x, vd_set(-20.0)), vd_set(20.0));
	x = x + x;
	vd t = x * 1.4426950408889634 + magic, n = t - magic;
	vd r = x - n * 0x1.62e42fee00000p-1;
	r = r - n * 0x1.a39ef35793c76p-33;
	vd scale = (vd)(((vl)t << 52) + 0x3ff0000000000000);
	vd q = scale * vd_expm1_small(r) + (scale - 1.0);
	return q / (q + 2.0);
}

INLINE vd vd_sin(vd x) {
	const vd magic = vd_set(6755399441055744.0);
	vd t = x * 0.31830988618379067 + magic, n = t - magic;
	vd r = x - n * 0x1.921fb54442d18p+1;
	r = r - n * 0x1.1a62633145c07p-53;
	vd s = r * r, s2 = s * s, s4 = s2 * s2;
	vd a = 0.008333333333333212 * s - 0.16666666666666666,
	   b = 2.755731921213149e-06 * s - 0.00019841269841215284;
	vd c = 1.605894392667617e-10 * s - 2.5052106960127078e-08,
	   d = 2.722250762624653e-15 * s - 7.643097327602161e-13;
	vd p = s4 * (s2 * d + c) + (s2 * b + a);
	r = (vd)((vl)r ^ ((vl)t << 63));
	return (r * s) * p + r;
}

INLINE vd vd_log(vd x) {
	/* x = m 2^k, m between sqrt(1/2) and sqrt(2) */
	vl bits = (vl)x + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
	vl k = (bits >> 52) - 0x3ff;
	vd m = (vd)((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
	vd kd = (vd)(k + 0x4338000000000000) - 6755399441055744.0;
	vd f = (m - 1.0) / (m + 1.0), s = f * f, s2 = s * s;
	vd p = 0.1531402070857556 * s + 0.1818356542429857;
	p = s2 * (0.14796265163457925 * s2 + p) + (0.22222198553419312 * s + 0.2857142874256639);
	p = s2 * p + (0.3999999999941394 * s + 0.6666666666666734);
	return kd * 0x1.62e42fefa39efp-1 + (f * s * p + (f + f));
}

INLINE vf vf_expm1_small(vf r) {
	vf r2 = r * r;
	vf a = 0.16666518842201178f * r + 0.5000000095286826f,
	   b = 0.008368889191522729f * r + 0.04166620555395703f;
	return r2 * (r2 * (r2 * 0.0013950504774105288f + b) + a) + r;
}

INLINE vf vf_tanh(vf x) {
	const vf magic = vf_set(12582912.0f);
	x = vf_min(vf_max(x, vf_set(-10.0f)), vf_set(10.0f));
	x = x + x;
	vf t = x * 1.44269504f + magic, n = t - magic;
	vf r = x - n * 0x1.62e4p-1f;
	r = r - n * 0x1.7f7d1cp-20f;
	vf scale = (vf)(((vi)t << 23) + 0x3f800000);
	vf q = scale * vf_expm1_small(r) + (scale - 1.0f);
	return q / (q + 2.0f);
}

#endif
