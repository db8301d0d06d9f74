/* dot.c - small contractions and matrix-vector products.
 *
 * Contract: kernels.h. The order of each sum depends on its length alone.
 */
#define CLONES_WITHOUT_FMA
#include "backend/kernels/options.h"
#include "backend/kernels/kernels.h"
#include <complex.h>
#undef I

enum { LANES = 16, BLOCK = 1024 };

#define INNER_OF(N, T)                                                                             \
	CLONES static T inner_block_##N(int64_t n, const T *x, const T *y) {                           \
		T lane[LANES] = {0};                                                                       \
		int64_t i = 0;                                                                             \
		for (; i + LANES <= n; i += LANES)                                                         \
			for (int l = 0; l < LANES; l++) lane[l] += x[i + l] * y[i + l];                        \
		if (!i) {                                                                                  \
			T a = 0;                                                                               \
			for (; i < n; i++) a += x[i] * y[i];                                                   \
			return a;                                                                              \
		}                                                                                          \
		for (int l = 0; i < n; i++, l++) lane[l] += x[i] * y[i];                                   \
		for (int half = LANES / 2; half; half /= 2)                                                \
			for (int l = 0; l < half; l++) lane[l] += lane[l + half];                              \
		return lane[0];                                                                            \
	}                                                                                              \
	static T inner_##N(int64_t n, const T *x, const T *y) {                                        \
		if (n <= BLOCK) return inner_block_##N(n, x, y);                                           \
		int64_t half = (n / BLOCK + 1) / 2 * BLOCK;                                                \
		T a = inner_##N(half, x, y);                                                               \
		return a + inner_##N(n - half, x + half, y + half);                                        \
	}                                                                                              \
	CLONES static void axpy_##N(int64_t n, const T *a, const T *x, T *o) {                         \
		const T by = a[0];                                                                         \
		EACH_INDEPENDENT                                                                           \
		for (int64_t i = 0; i < n; i++) o[i] += by * x[i];                                         \
	}                                                                                              \
	CLONES static void matmul_##N(int64_t m, int64_t n, int64_t k, const T *x, int64_t xm,         \
	                              int64_t xk, const T *y, int64_t yk, int64_t yn, T *o) {          \
		for (int64_t i = 0; i < m; i++, x += xm, o += n) {                                         \
			if (n < 4 || yn != 1) {                                                                \
				for (int64_t j = 0; j < n; j++) {                                                  \
					T a = 0;                                                                       \
					for (int64_t l = 0; l < k; l++) a += x[l * xk] * y[l * yk + j * yn];           \
					o[j] = a;                                                                      \
				}                                                                                  \
				continue;                                                                          \
			}                                                                                      \
			for (int64_t j = 0; j < n; j++) o[j] = 0;                                              \
			for (int64_t l = 0; l < k; l++) {                                                      \
				const T a = x[l * xk];                                                             \
				const T *row = y + l * yk;                                                         \
				EACH_INDEPENDENT                                                                   \
				for (int64_t j = 0; j < n; j++) o[j] += a * row[j];                                \
			}                                                                                      \
		}                                                                                          \
	}
INNER_OF(i32, uint32_t)
INNER_OF(i64, uint64_t)
INNER_OF(f32, float)
INNER_OF(f64, double)
INNER_OF(c64, float _Complex)
INNER_OF(c128, double _Complex)

void kernel_inner(Dtype d, int64_t n, const void *x, const void *y, void *out) {
	switch (d) {
	case DT_BOOL: {
		const uint8_t *p = x, *q = y;
		uint8_t any = 0;
		for (int64_t i = 0; i < n; i++) any |= p[i] & q[i];
		*(uint8_t *)out = any;
		break;
	}
	case DT_I32: *(uint32_t *)out = inner_i32(n, x, y); break;
	case DT_I64: *(uint64_t *)out = inner_i64(n, x, y); break;
	case DT_F32: *(float *)out = inner_f32(n, x, y); break;
	case DT_F64: *(double *)out = inner_f64(n, x, y); break;
	case DT_C64: *(float _Complex *)out = inner_c64(n, x, y); break;
	default: *(double _Complex *)out = inner_c128(n, x, y); break;
	}
}

void kernel_axpy(Dtype d, int64_t n, const void *a, const void *x, void *o) {
	switch (d) {
	case DT_BOOL: {
		const uint8_t by = *(const uint8_t *)a, *p = x;
		uint8_t *q = o;
		for (int64_t i = 0; i < n; i++) q[i] |= by & p[i];
		break;
	}
	case DT_I32: axpy_i32(n, a, x, o); break;
	case DT_I64: axpy_i64(n, a, x, o); break;
	case DT_F32: axpy_f32(n, a, x, o); break;
	case DT_F64: axpy_f64(n, a, x, o); break;
	case DT_C64: axpy_c64(n, a, x, o); break;
	default: axpy_c128(n, a, x, o); break;
	}
}

static void matmul_bool(int64_t m, int64_t n, int64_t k, const uint8_t *x, int64_t xm, int64_t xk,
                        const uint8_t *y, int64_t yk, int64_t yn, uint8_t *o) {
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			uint8_t any = 0;
			for (int64_t l = 0; l < k; l++) any |= x[i * xm + l * xk] & y[l * yk + j * yn];
			o[i * n + j] = any;
		}
	}
}

void kernel_matmul(Dtype d, int64_t m, int64_t n, int64_t k, const void *x, int64_t xm, int64_t xk,
                   const void *y, int64_t yk, int64_t yn, void *o) {
	switch (d) {
	case DT_BOOL: matmul_bool(m, n, k, x, xm, xk, y, yk, yn, o); break;
	case DT_I32: matmul_i32(m, n, k, x, xm, xk, y, yk, yn, o); break;
	case DT_I64: matmul_i64(m, n, k, x, xm, xk, y, yk, yn, o); break;
	case DT_F32: matmul_f32(m, n, k, x, xm, xk, y, yk, yn, o); break;
	case DT_F64: matmul_f64(m, n, k, x, xm, xk, y, yk, yn, o); break;
	case DT_C64: matmul_c64(m, n, k, x, xm, xk, y, yk, yn, o); break;
	default: matmul_c128(m, n, k, x, xm, xk, y, yk, yn, o); break;
	}
}
