/* loops.h - the vector maths as loops over arrays, one table for each width,
 * for tests and measurements.
 *
 * Needs: the objects that vmath.mk makes of loops.c. Guarantees: vmath_loops_L
 * has an entry for each function of vmath.h, in its order, and then one with
 * name = NULL. The loops work on n elements, n a multiple of 16.
 */
#ifndef ATLED_BACKEND_VMATH_LOOPS_H
#define ATLED_BACKEND_VMATH_LOOPS_H

typedef struct VmathLoop {
	const char *name;
	int args;
	void (*f64)(double *out, const double *x, const double *y, long n);
	void (*f32)(float *out, const float *x, const float *y, long n);
} VmathLoop;

/* weak, so that a test can say that they are not there */
extern const VmathLoop vmath_loops_1[] __attribute__((weak)), vmath_loops_2[] __attribute__((weak));
extern const VmathLoop vmath_loops_4[] __attribute__((weak)), vmath_loops_8[] __attribute__((weak));

#endif
