/* kernels_linalg.c - small dense factorisations by plain loops.
 *
 * Needs: kernels_linalg.h. Guarantees: what it says.
 */
#include "backend/kernels_options.h"
#include "backend/kernels_linalg.h"
#include <complex.h>
#include <math.h>
#undef I

#define SAME(x) (x)
#define SIZE_OF_REAL(x) fabs((double)(x))
#define SIZE_OF_COMPLEX(x) (fabs((double)creal(x)) + fabs((double)cimag(x))) /* as LAPACK chooses pivots */

#define CHOLESKY(N, T, CONJ, REAL, SQRT)                                         \
	static int64_t cholesky_##N(int64_t n, T *a) {                               \
		for (int64_t j = 0; j < n; j++) {                                        \
			for (int64_t i = j; i < n; i++) {                                    \
				T sum = a[i * n + j];                                            \
				for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * CONJ(a[j * n + k]); \
				if (i > j) {                                                     \
					a[i * n + j] = sum / a[j * n + j];                           \
					continue;                                                    \
				}                                                                \
				if (!(REAL(sum) > 0)) return j + 1;                              \
				a[j * n + j] = SQRT(REAL(sum));                                  \
			}                                                                    \
			for (int64_t k = j + 1; k < n; k++) a[j * n + k] = 0;                \
		}                                                                        \
		return 0;                                                                \
	}
#define LU(N, T, SIZE)                                                           \
	static int64_t lu_##N(int64_t n, T *a, int64_t *p) {                         \
		int64_t zero = 0;                                                        \
		for (int64_t i = 0; i < n; i++) p[i] = i;                                \
		for (int64_t j = 0; j < n; j++) {                                        \
			int64_t best = j;                                                    \
			for (int64_t i = j + 1; i < n; i++)                                  \
				if (SIZE(a[i * n + j]) > SIZE(a[best * n + j])) best = i;        \
			if (a[best * n + j] == 0) {                                          \
				if (!zero) zero = j + 1;                                         \
				continue;                                                        \
			}                                                                    \
			if (best != j) {                                                     \
				for (int64_t k = 0; k < n; k++) {                                \
					T swap = a[j * n + k];                                       \
					a[j * n + k] = a[best * n + k];                              \
					a[best * n + k] = swap;                                      \
				}                                                                \
				int64_t row = p[j];                                              \
				p[j] = p[best];                                                  \
				p[best] = row;                                                   \
			}                                                                    \
			for (int64_t i = j + 1; i < n; i++) {                                \
				T factor = a[i * n + j] /= a[j * n + j];                         \
				for (int64_t k = j + 1; k < n; k++) a[i * n + k] -= factor * a[j * n + k]; \
			}                                                                    \
		}                                                                        \
		return zero;                                                             \
	}
/* Row i of X is solved when all rows that it depends on are; which come first depends on the triangle and on the
 * adjoint. */
#define TRISOLVE(N, T, CONJ)                                                                            \
	static void trisolve_##N(int64_t n, int64_t r, bool lower, bool adjoint, bool unit, const T *t, T *b) { \
		const bool forward = lower != adjoint;                                                          \
		for (int64_t step = 0; step < n; step++) {                                                      \
			const int64_t i = forward ? step : n - 1 - step;                                            \
			for (int64_t back = 0; back < step; back++) {                                               \
				const int64_t k = forward ? back : n - 1 - back;                                        \
				const T factor = adjoint ? CONJ(t[k * n + i]) : t[i * n + k];                           \
				for (int64_t j = 0; j < r; j++) b[i * r + j] -= factor * b[k * r + j];                  \
			}                                                                                           \
			if (unit) continue;                                                                         \
			const T pivot = adjoint ? CONJ(t[i * n + i]) : t[i * n + i];                                \
			for (int64_t j = 0; j < r; j++) b[i * r + j] /= pivot;                                      \
		}                                                                                               \
	}
CHOLESKY(f32, float, SAME, SAME, sqrtf)
CHOLESKY(f64, double, SAME, SAME, sqrt)
CHOLESKY(c64, float _Complex, conjf, crealf, sqrtf)
CHOLESKY(c128, double _Complex, conj, creal, sqrt)
LU(f32, float, SIZE_OF_REAL)
LU(f64, double, SIZE_OF_REAL)
LU(c64, float _Complex, SIZE_OF_COMPLEX)
LU(c128, double _Complex, SIZE_OF_COMPLEX)
TRISOLVE(f32, float, SAME)
TRISOLVE(f64, double, SAME)
TRISOLVE(c64, float _Complex, conjf)
TRISOLVE(c128, double _Complex, conj)

int64_t small_cholesky(Dtype d, int64_t n, void *a) {
	switch (d) {
	case DT_F32: return cholesky_f32(n, a);
	case DT_F64: return cholesky_f64(n, a);
	case DT_C64: return cholesky_c64(n, a);
	default: return cholesky_c128(n, a);
	}
}

int64_t small_lu(Dtype d, int64_t n, void *a, int64_t *p) {
	switch (d) {
	case DT_F32: return lu_f32(n, a, p);
	case DT_F64: return lu_f64(n, a, p);
	case DT_C64: return lu_c64(n, a, p);
	default: return lu_c128(n, a, p);
	}
}

void small_trisolve(Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit, const void *t, void *b) {
	switch (d) {
	case DT_F32: trisolve_f32(n, r, lower, adjoint, unit, t, b); break;
	case DT_F64: trisolve_f64(n, r, lower, adjoint, unit, t, b); break;
	case DT_C64: trisolve_c64(n, r, lower, adjoint, unit, t, b); break;
	default: trisolve_c128(n, r, lower, adjoint, unit, t, b); break;
	}
}
