/* vector_math.h - element-wise transcendental functions of backend/vmath.
 *
 * Contract:
 * - Needs kernels.h.
 * - Returns false, without any effect, for operations and machines that it does
 *   not support; otherwise it acts as an EwKernel.
 * - o may be exactly x or y. With KERNEL_X_SPLAT it may not be x, and with
 *   KERNEL_Y_SPLAT not y, unless n is 1.
 */
#ifndef ATLED_BACKEND_KERNELS_VECTOR_MATH_H
#define ATLED_BACKEND_KERNELS_VECTOR_MATH_H

#include "backend/kernels/kernels.h"

bool kernel_maths_f64(Op op, int64_t n, double *o, const double *x, const double *y, int splats);
bool kernel_maths_f32(Op op, int64_t n, float *o, const float *x, const float *y, int splats);

#endif
