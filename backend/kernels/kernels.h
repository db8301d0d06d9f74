/* kernels.h - loops over contiguous elements.
 *
 * Contract:
 * - Needs ir.h.
 * - Kernels access no memory but the elements of their operands; o may be
 *   exactly x or y.
 * - Results are the same on every machine: no fast-math, no contraction, sums
 *   in a fixed order.
 * - Element-wise results equal scalar_apply's, bit for bit. The exception are
 *   transcendental functions of floats (vector_math.h) on machines with AVX2 or
 *   NEON: they equal native code's, which are within a few units in the last
 *   place of scalar_apply's.
 */
#ifndef ATLED_BACKEND_KERNELS_KERNELS_H
#define ATLED_BACKEND_KERNELS_KERNELS_H

#include "lang/ir/ir.h"

/* Elements that are only moved, whatever their type. */
typedef uint32_t __attribute__((may_alias)) Bits4;
typedef uint64_t __attribute__((may_alias)) Bits8;
typedef struct __attribute__((may_alias)) Bits16 {
	uint64_t half[2];
} Bits16;

/* Operands that are a single element, used for all i. */
enum { KERNEL_X_SPLAT = 1, KERNEL_Y_SPLAT = 2 };

/* o[i] = op(x[i], y[i]); y is unused for one operand. Returns -1, or the first
 * i without a result (for example integer division by zero). */
typedef int64_t (*EwKernel)(Op op, int64_t n, void *o, const void *x, const void *y, int splats);
EwKernel ew_kernel(Dtype d); /* d: type of the operands */

/* o[i] = c[i] ? x[i] : y[i] for elements of 1, 4, 8 or 16 bytes. */
void kernel_select(uint32_t size, int64_t n, void *o, const bool *c, const void *x, const void *y,
                   int splats);

/* Reductions: op is OP_ADD, OP_MUL, OP_MAX or OP_MIN, as far as the dtype has
 * it (bools: MAX and MIN only). */
/* n >= 1; pairwise */
void kernel_reduce_run(Op op, Dtype d, int64_t n, const void *x, void *out);
/* n short runs of `length` elements, one after the other */
void kernel_reduce_short(Op op, Dtype d, int64_t n, int64_t length, const void *x, void *out);
/* Running sums, o[i] = before + (x[0] + ... + x[i]), of a line or a part of
 * one.
 * - Long lines are processed in parts of SCAN_PART. Up to 1032 elements are
 *   added from left to right, more by groups.
 * - before: the sum of the preceding parts; NULL: none. o may be x.
 * - streaming: non-temporal stores. next: as many elements that are needed
 *   soon, to prefetch; NULL: none.
 * - kernel_scan_total gives the total of a part, by the same additions. */
enum { SCAN_PART = 4096 };
void kernel_scan_sums(Dtype d, int64_t n, const void *x, const void *before, void *o,
                      const void *next, bool reverse, bool streaming);
void kernel_scan_total(Dtype d, int64_t n, const void *x, void *total, bool reverse);
/* in place, from left to right */
void kernel_scan_products(Dtype d, int64_t n, void *x, bool reverse);
/* Index of the first NaN, else of the first largest element. */
int64_t kernel_argmax(Dtype d, int64_t n, const void *x, int64_t stride);

/* Small contractions. kernel_inner: out[0] = sum of x[i]*y[i], in an order that
 * depends on n alone. kernel_axpy: o[i] += a[0]*x[i]. Of bools: `or` of
 * `and`. */
void kernel_inner(Dtype d, int64_t n, const void *x, const void *y, void *out);
void kernel_axpy(Dtype d, int64_t n, const void *a, const void *x, void *o);
/* o (m x n, row-major) = x (m x k) y (k x n), any strides, in elements. For
 * small sizes, and for dtypes that BLAS does not have. */
void kernel_matmul(Dtype d, int64_t m, int64_t n, int64_t k, const void *x, int64_t xm, int64_t xk,
                   const void *y, int64_t yk, int64_t yn, void *o);

#endif
