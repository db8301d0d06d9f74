/* minmax.h - max and min of floats in a form that gcc vectorises.
 *
 * Contract:
 * - The same bits as F_MAX and F_MIN of scalar_expr.h: NaN wins, and +0 is
 *   above -0. The tests compare them.
 *
 * Method: scalar_expr.h tests an operand's sign bit, which prevents
 * vectorisation. Here equal operands are combined by `and` (max) or `or` (min)
 * of their bits: the only operands equal but not identical are zeros, which
 * differ in the sign bit.
 */
#ifndef ATLED_BACKEND_KERNELS_MINMAX_H
#define ATLED_BACKEND_KERNELS_MINMAX_H

#include <stdint.h>

#define JOIN_BITS(NAME, T, U, OP)                                                                  \
	static inline T NAME(T x, T y) {                                                               \
		union {                                                                                    \
			T f;                                                                                   \
			U u;                                                                                   \
		} a = {x}, b = {y};                                                                        \
		a.u = a.u OP b.u;                                                                          \
		return a.f;                                                                                \
	}
JOIN_BITS(f32_bits_and, float, uint32_t, &)
JOIN_BITS(f32_bits_or, float, uint32_t, |)
JOIN_BITS(f64_bits_and, double, uint64_t, &)
JOIN_BITS(f64_bits_or, double, uint64_t, |)

#define FLOAT_MAX(x, y)                                                                            \
	((x) == (y)                ? _Generic((x), float                                               \
                           : f32_bits_and, default                                  \
                           : f64_bits_and)((x), (y))                                \
	 : (x) > (y) || (x) != (x) ? (x)                                                               \
	                           : (y))
#define FLOAT_MIN(x, y)                                                                            \
	((x) == (y)                ? _Generic((x), float                                               \
                           : f32_bits_or, default                                   \
                           : f64_bits_or)((x), (y))                                 \
	 : (x) < (y) || (x) != (x) ? (x)                                                               \
	                           : (y))

#endif
