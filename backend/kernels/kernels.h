/* kernels.h - loops over contiguous elements.
 *
 * Needs: ir.h. Guarantees: kernels touch no memory but the elements of their
 * operands; o may be exactly x or y. Their results are the same on every
 * machine: no fast-math, no contraction, sums in a fixed order. Element-wise
 * ones give bit for bit what scalar_apply gives; but sines and their like of
 * floats (vector_math.h) what native code gives, within some units in the last
 * place of it, where the machine has AVX2 or NEON.
 */
#ifndef ATLED_BACKEND_KERNELS_KERNELS_H
#define ATLED_BACKEND_KERNELS_KERNELS_H

#include "lang/ir/ir.h"

/* Elements that are only moved, whatever they are. */
typedef uint32_t __attribute__((may_alias)) Bits4;
typedef uint64_t __attribute__((may_alias)) Bits8;
typedef struct __attribute__((may_alias)) Bits16 {
	uint64_t half[2];
} Bits16;

/* Which operands are a single element for all. */
enum { KERNEL_X_SPLAT = 1, KERNEL_Y_SPLAT = 2 };

/* o[i] = op(x[i], y[i]); y unused for one operand. Returns -1, or the first i
 * without a result (integer division by zero...). */
typedef int64_t (*EwKernel)(Op op, int64_t n, void *o, const void *x, const void *y, int splats);
EwKernel ew_kernel(Dtype d); /* of the operands */

/* o[i] = c[i] ? x[i] : y[i] for elements of 1, 4, 8 or 16 bytes. */
void kernel_select(uint32_t size, int64_t n, void *o, const bool *c, const void *x, const void *y,
                   int splats);

/* Reductions: op is OP_ADD, OP_MUL, OP_MAX or OP_MIN, as the dtype has it
 * (bools: MAX and MIN only). */
/* n >= 1; pairwise */
void kernel_reduce_run(Op op, Dtype d, int64_t n, const void *x, void *out);
/* n short runs, one after the other */
void kernel_reduce_short(Op op, Dtype d, int64_t n, int64_t length, const void *x, void *out);
/* Running sums, o[i] = before + (x[0] + ... + x[i]), of a line or a part of
 * one; before NULL: nothing. o may be x. From left to right up to 1032
 * elements; else by groups. past: past the caches. next: as many elements that
 * will be wanted soon; NULL: none. kernel_scan_total: what a part comes to, by
 * the same additions. Long lines go in parts of SCAN_PART. */
enum { SCAN_PART = 4096 };
void kernel_scan_sums(Dtype d, int64_t n, const void *x, const void *before, void *o,
                      const void *next, bool reverse, bool past);
void kernel_scan_total(Dtype d, int64_t n, const void *x, void *total, bool reverse);
/* in place, from left to right */
void kernel_scan_products(Dtype d, int64_t n, void *x, bool reverse);
/* the first NaN, else the first largest */
int64_t kernel_argmax(Dtype d, int64_t n, const void *x, int64_t stride);

/* Small contractions. out[0] = sum of x[i]*y[i], in the order of
 * kernel_reduce_run; o[i] += a[0]*x[i]. Of bools: any and all. */
void kernel_inner(Dtype d, int64_t n, const void *x, const void *y, void *out);
void kernel_axpy(Dtype d, int64_t n, const void *a, const void *x, void *o);
/* o (m x n, row-major) = x (m x k) y (k x n), any strides, in elements. Made
 * for small sizes, and for dtypes BLAS does not have. */
void kernel_matmul(Dtype d, int64_t m, int64_t n, int64_t k, const void *x, int64_t xm, int64_t xk,
                   const void *y, int64_t yk, int64_t yn, void *o);

#endif
