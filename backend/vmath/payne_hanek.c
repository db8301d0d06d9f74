/* payne_hanek.c - reduction of huge angles modulo pi.
 *
 * Method: Payne and Hanek, "Radian reduction for trigonometric functions",
 * SIGNUM Newsletter 18, 1983: multiplication by as many bits of 2/pi as needed.
 *
 * Contract:
 * - Needs backend/vmath/payne_hanek.h and coefficients.h.
 * - Every operation is exact or rounded as IEEE 754 says, so all machines give
 *   the same bits, with an FMA instruction or with the C library's fma.
 */
#include "backend/vmath/payne_hanek.h"
#include <math.h>

#pragma GCC diagnostic push
/* only two of the constants are used here */
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#include "backend/vmath/coefficients.h"
#pragma GCC diagnostic pop

/* Words of 32 bits: 53 bits for x, 62 that may cancel, and more than 64 that
 * remain. */
#define WINDOW 6

void atled_rt_huge_angle(double *x, double *lo, double *odd, int32_t n, int32_t kind) {
	for (int32_t i = 0; i < n; i++) {
		lo[i] = odd[i] = 0;
		if (x[i] < HUGE_LEAST) continue;
		union {
			double f;
			uint64_t i;
		} u = {.f = x[i]};
		int32_t e = (int32_t)(u.i >> 52 & 0x7ff) - 1075; /* x = m 2^e with an integer m */
		if (e == 0x7ff - 1075) {
			x[i] = __builtin_nan("");
			continue;
		}
		uint64_t m = (u.i & 0xfffffffffffff) | 0x10000000000000;

		/* Bits of 2/pi worth 4 or more, after multiplication by x, vanish
		 * modulo 4 quarter turns. The window starts with the bit whose product
		 * with x is 2 m. It is 64 bits further on in the table, which starts
		 * with zeros. */
		int32_t start = e - 2 + 64, word = start >> 5, shift = start & 31;
		uint32_t w[WINDOW], p[WINDOW] = {0}; /* most significant first */
		for (int32_t k = 0; k < WINDOW; k++) {
			uint64_t two = (uint64_t)two_over_pi[word + k] << 32 | two_over_pi[word + k + 1];
			w[k] = (uint32_t)(two << shift >> 32);
		}
		/* p = m * w modulo 2^192 */
		for (int32_t part = 0; part < 2; part++) {
			uint64_t digit = part ? m >> 32 : m & 0xffffffff, carry = 0;
			for (int32_t k = WINDOW - 1; k - part >= 0; k--) {
				carry += digit * w[k] + p[k - part];
				p[k - part] = (uint32_t)carry;
				carry >>= 32;
			}
		}
		/* p / 2^190 is x / (pi/2) modulo 4; q is its nearest integer, nearest
		 * even integer, or nearest odd integer. */
		uint32_t q = kind == ANGLE_TAN   ? (p[0] + 0x20000000u) >> 30
		             : kind == ANGLE_SIN ? (p[0] + 0x40000000u) >> 31 << 1
		                                 : p[0] >> 31 << 1 | 1;
		p[0] -= q << 30;
		/* one's complement; the error of 2^-190 does not matter */
		uint32_t flip = p[0] >> 31 ? 0xffffffffu : 0;
		double scale = 0x1p-30, digit[WINDOW];
		for (int32_t k = 0; k < WINDOW; k++, scale *= 0x1p-32)
			digit[k] = (double)(p[k] ^ flip) * scale;
		double tail = digit[2] + (digit[3] + (digit[4] + digit[5]));
		double h = digit[0] + (digit[1] + tail);
		double l = ((digit[0] - h) + digit[1]) + tail;

		double product = h * half_pi_f64[0];
		double rest = fma(h, half_pi_f64[0], -product) + (h * half_pi_f64[1] + l * half_pi_f64[0]);
		double r = product + rest;
		rest += product - r;
		/* sin(pi + r) = sin(-r), cos(pi/2 + r) = sin(-r) */
		int negative = (flip != 0) ^ (kind == ANGLE_SIN ? q == 2 : kind == ANGLE_COS ? q == 1 : 0);
		x[i] = negative ? -r : r;
		lo[i] = negative ? -rest : rest;
		odd[i] = q & 1;
	}
}
