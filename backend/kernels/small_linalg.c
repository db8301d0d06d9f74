/* small_linalg.c - small dense factorisations by plain loops.
 *
 * Contract: small_linalg.h.
 */
#include "backend/kernels/options.h"
#include "backend/kernels/small_linalg.h"
#include <complex.h>
#include <math.h>
#undef I

#define SAME(x) (x)
#define SIZE_OF_REAL(x) fabs((double)(x))
/* LAPACK's norm for choosing pivots */
#define SIZE_OF_COMPLEX(x) (fabs((double)creal(x)) + fabs((double)cimag(x)))

#define CHOLESKY(N, T, CONJ, REAL, SQRT)                                                           \
	static int64_t cholesky_##N(int64_t n, T *a) {                                                 \
		for (int64_t j = 0; j < n; j++) {                                                          \
			for (int64_t i = j; i < n; i++) {                                                      \
				T sum = a[i * n + j];                                                              \
				for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * CONJ(a[j * n + k]);          \
				if (i > j) {                                                                       \
					a[i * n + j] = sum / a[j * n + j];                                             \
					continue;                                                                      \
				}                                                                                  \
				if (!(REAL(sum) > 0)) return j + 1;                                                \
				a[j * n + j] = SQRT(REAL(sum));                                                    \
			}                                                                                      \
			for (int64_t k = j + 1; k < n; k++) a[j * n + k] = 0;                                  \
		}                                                                                          \
		return 0;                                                                                  \
	}
#define LU(N, T, SIZE)                                                                             \
	CLONES static int64_t lu_##N(int64_t n, T *a, int64_t *p) {                                    \
		int64_t zero = 0;                                                                          \
		for (int64_t i = 0; i < n; i++) p[i] = i;                                                  \
		for (int64_t j = 0; j < n; j++) {                                                          \
			int64_t best = j;                                                                      \
			for (int64_t i = j + 1; i < n; i++)                                                    \
				if (SIZE(a[i * n + j]) > SIZE(a[best * n + j])) best = i;                          \
			if (a[best * n + j] == 0) {                                                            \
				if (!zero) zero = j + 1;                                                           \
				continue;                                                                          \
			}                                                                                      \
			if (best != j) {                                                                       \
				for (int64_t k = 0; k < n; k++) {                                                  \
					T swap = a[j * n + k];                                                         \
					a[j * n + k] = a[best * n + k];                                                \
					a[best * n + k] = swap;                                                        \
				}                                                                                  \
				int64_t row = p[j];                                                                \
				p[j] = p[best];                                                                    \
				p[best] = row;                                                                     \
			}                                                                                      \
			for (int64_t i = j + 1; i < n; i++) {                                                  \
				T factor = a[i * n + j] /= a[j * n + j];                                           \
				for (int64_t k = j + 1; k < n; k++) a[i * n + k] -= factor * a[j * n + k];         \
			}                                                                                      \
		}                                                                                          \
		return zero;                                                                               \
	}
/* Substitution: forward or backward, depending on the triangle and the
 * adjoint. */
#define TRISOLVE(N, T, CONJ)                                                                       \
	static void trisolve_##N(int64_t n, int64_t r, bool lower, bool adjoint, bool unit,            \
	                         const T *t, T *b) {                                                   \
		const bool forward = lower != adjoint;                                                     \
		for (int64_t step = 0; step < n; step++) {                                                 \
			const int64_t i = forward ? step : n - 1 - step;                                       \
			for (int64_t back = 0; back < step; back++) {                                          \
				const int64_t k = forward ? back : n - 1 - back;                                   \
				const T factor = adjoint ? CONJ(t[k * n + i]) : t[i * n + k];                      \
				for (int64_t j = 0; j < r; j++) b[i * r + j] -= factor * b[k * r + j];             \
			}                                                                                      \
			if (unit) continue;                                                                    \
			const T pivot = adjoint ? CONJ(t[i * n + i]) : t[i * n + i];                           \
			for (int64_t j = 0; j < r; j++) b[i * r + j] /= pivot;                                 \
		}                                                                                          \
	}
/* One real right-hand side, four rows at a time. Their sums over the known part
 * are computed with vectors of four; the dependences among the four rows are
 * resolved one by one, in registers. A lower triangle is processed from the
 * top, an upper one from the bottom. */
#define VECTOR(N, T)                                                                               \
	typedef T Four_##N __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias))
#define ROW(N, T)                                                                                  \
	VECTOR(N, T);                                                                                  \
	static inline __attribute__((always_inline))                                                   \
	T known_##N(int64_t from, int64_t to, const T *row, const T *b) {                              \
		Four_##N sum = {0};                                                                        \
		int64_t k = from;                                                                          \
		for (; k + 4 <= to; k += 4)                                                                \
			sum += *(const Four_##N *)(row + k) * *(const Four_##N *)(b + k);                      \
		T rest = (sum[0] + sum[1]) + (sum[2] + sum[3]);                                            \
		for (; k < to; k++) rest += row[k] * b[k];                                                 \
		return rest;                                                                               \
	}
#define ONE(N, T)                                                                                  \
	ROW(N, T)                                                                                      \
	CLONES static void forward_##N(int64_t n, bool unit, const T *t, T *b) {                       \
		int64_t i = 0;                                                                             \
		for (; i + 4 <= n; i += 4) {                                                               \
			const T *r0 = t + i * n, *r1 = r0 + n, *r2 = r1 + n, *r3 = r2 + n;                     \
			T x0 = b[i] - known_##N(0, i, r0, b), x1 = b[i + 1] - known_##N(0, i, r1, b);          \
			T x2 = b[i + 2] - known_##N(0, i, r2, b), x3 = b[i + 3] - known_##N(0, i, r3, b);      \
			if (!unit) x0 /= r0[i];                                                                \
			x1 -= r1[i] * x0;                                                                      \
			if (!unit) x1 /= r1[i + 1];                                                            \
			x2 = (x2 - r2[i] * x0) - r2[i + 1] * x1;                                               \
			if (!unit) x2 /= r2[i + 2];                                                            \
			x3 = ((x3 - r3[i] * x0) - r3[i + 1] * x1) - r3[i + 2] * x2;                            \
			if (!unit) x3 /= r3[i + 3];                                                            \
			b[i] = x0, b[i + 1] = x1, b[i + 2] = x2, b[i + 3] = x3;                                \
		}                                                                                          \
		for (; i < n; i++) {                                                                       \
			b[i] -= known_##N(0, i, t + i * n, b);                                                 \
			if (!unit) b[i] /= t[i * (n + 1)];                                                     \
		}                                                                                          \
	}                                                                                              \
	CLONES static void backward_##N(int64_t n, bool unit, const T *t, T *b) {                      \
		int64_t i = n;                                                                             \
		for (; i >= 4; i -= 4) {                                                                   \
			const T *r0 = t + (i - 1) * n, *r1 = r0 - n, *r2 = r1 - n, *r3 = r2 - n;               \
			T x0 = b[i - 1] - known_##N(i, n, r0, b), x1 = b[i - 2] - known_##N(i, n, r1, b);      \
			T x2 = b[i - 3] - known_##N(i, n, r2, b), x3 = b[i - 4] - known_##N(i, n, r3, b);      \
			if (!unit) x0 /= r0[i - 1];                                                            \
			x1 -= r1[i - 1] * x0;                                                                  \
			if (!unit) x1 /= r1[i - 2];                                                            \
			x2 = (x2 - r2[i - 1] * x0) - r2[i - 2] * x1;                                           \
			if (!unit) x2 /= r2[i - 3];                                                            \
			x3 = ((x3 - r3[i - 1] * x0) - r3[i - 2] * x1) - r3[i - 3] * x2;                        \
			if (!unit) x3 /= r3[i - 4];                                                            \
			b[i - 1] = x0, b[i - 2] = x1, b[i - 3] = x2, b[i - 4] = x3;                            \
		}                                                                                          \
		while (i-- > 0) {                                                                          \
			b[i] -= known_##N(i + 1, n, t + i * n, b);                                             \
			if (!unit) b[i] /= t[i * (n + 1)];                                                     \
		}                                                                                          \
	}
/* The same for the adjoint: four solved rows update the others at a time. Each
 * element gets its terms in the order of the one-row loop. */
#define ADJOINT_ONE(N, T)                                                                          \
	CLONES static void adjoint_lower_##N(int64_t n, bool unit, const T *t, T *b) {                 \
		int64_t i = n;                                                                             \
		for (; i >= 4; i -= 4) {                                                                   \
			const T *r0 = t + (i - 1) * n, *r1 = r0 - n, *r2 = r1 - n, *r3 = r2 - n;               \
			const T x0 = unit ? b[i - 1] : b[i - 1] / r0[i - 1];                                   \
			T x1 = b[i - 2] - r0[i - 2] * x0;                                                      \
			if (!unit) x1 /= r1[i - 2];                                                            \
			T x2 = (b[i - 3] - r0[i - 3] * x0) - r1[i - 3] * x1;                                   \
			if (!unit) x2 /= r2[i - 3];                                                            \
			T x3 = ((b[i - 4] - r0[i - 4] * x0) - r1[i - 4] * x1) - r2[i - 4] * x2;                \
			if (!unit) x3 /= r3[i - 4];                                                            \
			b[i - 1] = x0, b[i - 2] = x1, b[i - 3] = x2, b[i - 4] = x3;                            \
			for (int64_t k = 0; k < i - 4; k++)                                                    \
				b[k] = (((b[k] - r0[k] * x0) - r1[k] * x1) - r2[k] * x2) - r3[k] * x3;             \
		}                                                                                          \
		while (i-- > 0) {                                                                          \
			if (!unit) b[i] /= t[i * (n + 1)];                                                     \
			for (int64_t k = 0; k < i; k++) b[k] -= t[i * n + k] * b[i];                           \
		}                                                                                          \
	}                                                                                              \
	CLONES static void adjoint_upper_##N(int64_t n, bool unit, const T *t, T *b) {                 \
		int64_t i = 0;                                                                             \
		for (; i + 4 <= n; i += 4) {                                                               \
			const T *r0 = t + i * n, *r1 = r0 + n, *r2 = r1 + n, *r3 = r2 + n;                     \
			const T x0 = unit ? b[i] : b[i] / r0[i];                                               \
			T x1 = b[i + 1] - r0[i + 1] * x0;                                                      \
			if (!unit) x1 /= r1[i + 1];                                                            \
			T x2 = (b[i + 2] - r0[i + 2] * x0) - r1[i + 2] * x1;                                   \
			if (!unit) x2 /= r2[i + 2];                                                            \
			T x3 = ((b[i + 3] - r0[i + 3] * x0) - r1[i + 3] * x1) - r2[i + 3] * x2;                \
			if (!unit) x3 /= r3[i + 3];                                                            \
			b[i] = x0, b[i + 1] = x1, b[i + 2] = x2, b[i + 3] = x3;                                \
			for (int64_t k = i + 4; k < n; k++)                                                    \
				b[k] = (((b[k] - r0[k] * x0) - r1[k] * x1) - r2[k] * x2) - r3[k] * x3;             \
		}                                                                                          \
		for (; i < n; i++) {                                                                       \
			if (!unit) b[i] /= t[i * (n + 1)];                                                     \
			for (int64_t k = i + 1; k < n; k++) b[k] -= t[i * n + k] * b[i];                       \
		}                                                                                          \
	}
ONE(f32, float)
ONE(f64, double)
ADJOINT_ONE(f32, float)
ADJOINT_ONE(f64, double)
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

void small_trisolve(Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                    const void *t, void *b) {
	if (r == 1 && d == DT_F64) {
		(adjoint ? lower ? adjoint_lower_f64 : adjoint_upper_f64
		 : lower ? forward_f64
		         : backward_f64)(n, unit, t, b);
		return;
	}
	if (r == 1 && d == DT_F32) {
		(adjoint ? lower ? adjoint_lower_f32 : adjoint_upper_f32
		 : lower ? forward_f32
		         : backward_f32)(n, unit, t, b);
		return;
	}
	switch (d) {
	case DT_F32: trisolve_f32(n, r, lower, adjoint, unit, t, b); break;
	case DT_F64: trisolve_f64(n, r, lower, adjoint, unit, t, b); break;
	case DT_C64: trisolve_c64(n, r, lower, adjoint, unit, t, b); break;
	default: trisolve_c128(n, r, lower, adjoint, unit, t, b); break;
	}
}
