/* vmath.h - the list of functions that the vector maths has.
 *
 * Needs: nothing. Guarantees: for each name here and each of f64 and f32 there
 * is a function atled_NAME_f64, atled_NAME_f32 of one or two arguments in every
 * bitcode file vmath_L.bc, L = 1, 2, 4, 8. Its type in that file is
 *     <L x double>       for f64, and
 *     <2 L x float>      for f32; for L = 1 plain double and float.
 * They are linkonce_odr and alwaysinline; they read and write no memory of the
 * caller, do not trap on purpose, and give the same bits for the same argument
 * in every lane of every width on every machine that has IEEE arithmetic (the
 * sign and payload of a NaN excepted). Their special values are those of the C
 * standard, annex F.
 *
 * For rare arguments they call functions out of line: atled_rt_huge_angle of
 * the program (backend/vmath/payne_hanek.c), the same for every file, for tan
 * of huge angles; atled_rare_sin_TYPE_L and atled_rare_cos_TYPE_L, which call
 * it, and atled_rare_log_TYPE_L and atled_rare_pow_TYPE_L for zeros, infinities
 * and such (noinline, linkonce_odr). The latter preserve all registers, those
 * of 64 bytes excepted, so that loops need not save theirs.
 */
#ifndef ATLED_BACKEND_VMATH_H
#define ATLED_BACKEND_VMATH_H

/* F1(name) of one argument, F2(name) of two. The order is that of C's
 * arguments: pow(x, y), atan2(y, x). */
#define VMATH_FUNCTIONS(F1, F2)                                                                    \
	F1(sqrt)                                                                                       \
	F1(cbrt)                                                                                       \
	F1(exp)                                                                                        \
	F1(expm1) F1(log) F1(log1p) F1(sin) F1(cos) F1(tan) F1(asin) F1(acos) F1(atan) F1(sinh)        \
		F1(cosh) F1(tanh) F1(erf) F2(pow) F2(atan2)

#endif
