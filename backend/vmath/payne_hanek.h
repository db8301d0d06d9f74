/* payne_hanek.h - interface of the reduction of huge angles.
 *
 * Contract:
 * - Needs <stdint.h>.
 * - The function is compiled with the project (backend/vmath/payne_hanek.c) and
 *   called by generated code, so that kernels need not compile it.
 * - It works on arrays in memory, lane by lane, the same for every width.
 */
#ifndef ATLED_BACKEND_VMATH_PAYNE_HANEK_H
#define ATLED_BACKEND_VMATH_PAYNE_HANEK_H

#include <stdint.h>

enum AngleKind {
	ANGLE_TAN, /* x = odd * pi/2 + a multiple of pi + r, |r| <= pi/4 */
	ANGLE_SIN, /* sin(x) = sin(r), |r| <= pi/2 */
	ANGLE_COS, /* cos(x) = sin(r), |r| <= pi/2 */
};

#define HUGE_LEAST 0x1p12 /* smaller angles are unchanged */

/* Each of the n elements x[i] >= HUGE_LEAST becomes r, with lo[i] to be added
 * to it; odd[i] is 1 or 0. Infinity and NaN become NaN. */
void atled_rt_huge_angle(double *x, double *lo, double *odd, int32_t n, int32_t kind);

#endif
