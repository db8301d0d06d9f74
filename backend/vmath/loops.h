/* loops.h - the functions of vmath.h as loops over arrays.
 *
 * They serve tests, benchmarks and backend/kernels/vector_math.c.
 *
 * Contract:
 * - Needs the objects that vmath.mk makes of loops.c.
 * - vmath_loops_L has an entry for each function of vmath.h, in its order, then
 *   one with name = NULL.
 * - The loops process n elements; n is a multiple of 16.
 */
#ifndef ATLED_BACKEND_VMATH_LOOPS_H
#define ATLED_BACKEND_VMATH_LOOPS_H

typedef struct VmathLoop {
	const char *name;
	int args;
	void (*f64)(double *out, const double *x, const double *y, long n);
	void (*f32)(float *out, const float *x, const float *y, long n);
} VmathLoop;

/* weak, so that a test can report missing tables */
extern const VmathLoop vmath_loops_1[] __attribute__((weak)), vmath_loops_2[] __attribute__((weak));
extern const VmathLoop vmath_loops_4[] __attribute__((weak)), vmath_loops_8[] __attribute__((weak));

#endif
