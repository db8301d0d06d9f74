/* vmath.h - list of the vectorised transcendental functions.
 *
 * Contract:
 * - For each name here, the bitcode files vmath_L.bc (L = 1, 2, 4, 8) define
 *   atled_NAME_f64 and atled_NAME_f32, of one or two arguments.
 * - The type is <L x double> for f64 and <2 L x float> for f32; for L = 1 plain
 *   double and float.
 * - The functions are linkonce_odr and alwaysinline. They access no memory of
 *   the caller and do not trap on purpose.
 * - An argument gives the same bits in every lane of every width, on every
 *   machine with IEEE arithmetic. The sign and payload of a NaN are excepted.
 * - Special values are those of the C standard, annex F.
 *
 * Rare arguments call functions out of line:
 * - atled_rt_huge_angle of the program (backend/vmath/payne_hanek.c), the same
 *   for every width, for tan of huge angles.
 * - atled_rare_sin_TYPE_L and atled_rare_cos_TYPE_L, which call it.
 * - atled_rare_log_TYPE_L and atled_rare_pow_TYPE_L, for zeros, infinities and
 *   the like.
 *
 * The atled_rare functions are noinline and linkonce_odr. They preserve all
 * registers but those of 64 bytes, so loops need not save theirs.
 */
#ifndef ATLED_BACKEND_VMATH_H
#define ATLED_BACKEND_VMATH_H

/* F1(name) of one argument, F2(name) of two, in the order of C's arguments:
 * pow(x, y), atan2(y, x). */
#define VMATH_FUNCTIONS(F1, F2)                                                                    \
	F1(sqrt)                                                                                       \
	F1(cbrt)                                                                                       \
	F1(exp)                                                                                        \
	F1(expm1) F1(log) F1(log1p) F1(sin) F1(cos) F1(tan) F1(asin) F1(acos) F1(atan) F1(sinh)        \
		F1(cosh) F1(tanh) F1(erf) F2(pow) F2(atan2)

#endif
