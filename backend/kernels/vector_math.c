/* vector_math.c - transcendental functions over arrays.
 *
 * Method: the functions of backend/vmath, which native code uses too.
 *
 * Contract:
 * - Needs vector_math.h and backend/vmath, which vmath.mk compiles to loops for
 *   AVX2 and AVX-512, or for NEON (WITH_VMATH). Without it, and on other
 *   machines, the C library's functions are used.
 * - A result equals native code's, bit for bit, whatever the element's
 *   position, the array's extent and the loop that runs.
 */
#include "backend/kernels/vector_math.h"
#include "backend/vmath/loops.h"
#include "backend/vmath/vmath.h"

#ifdef WITH_VMATH

/* Positions in the tables of loops */
enum {
#define PLACE(name) AT_##name,
	VMATH_FUNCTIONS(PLACE, PLACE)
};

/* The loop for an operation, -1 if none. Roots are instructions. Powers have
 * rules for some exponents, and C's function follows them closely enough. */
static int place_of(Op op) {
	switch (op) {
#define ROW(ID, name)                                                                              \
	case OP_##ID: return AT_##name;
		ROW(CBRT, cbrt)
		ROW(EXP, exp)
		ROW(EXPM1, expm1)
		ROW(LOG, log) ROW(LOG1P, log1p) ROW(SIN, sin) ROW(COS, cos) ROW(TAN, tan) ROW(ASIN, asin)
			ROW(ACOS, acos) ROW(ATAN, atan) ROW(SINH, sinh) ROW(COSH, cosh) ROW(TANH, tanh)
				ROW(ERF, erf) ROW(ATAN2, atan2) default : return -1;
	}
}

#if defined(__aarch64__)
extern const VmathLoop vmath_for_neon[];
static const VmathLoop *loops(void) { return vmath_for_neon; }
#else
extern const VmathLoop vmath_for_avx2[], vmath_for_avx512[];
static const VmathLoop *loops(void) {
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		return vmath_for_avx512;
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? vmath_for_avx2 : NULL;
}
#endif

enum {
	WHOLE = 16, /* loops process multiples of it */
	RUN = 256   /* elements at a time when one operand is a scalar */
};

/* Loops over n elements. Those after the last multiple of WHOLE pass through a
 * buffer; a scalar operand is expanded to a run. */
#define MATHS(T, suffix)                                                                           \
	static void over_##suffix(const VmathLoop *f, int64_t n, T *o, const T *x, const T *y) {       \
		const int64_t whole = n - n % WHOLE;                                                       \
		if (whole) f->suffix(o, x, y, whole);                                                      \
		if (whole == n) return;                                                                    \
		T a[WHOLE], b[WHOLE], r[WHOLE];                                                            \
		for (int64_t i = 0; i < WHOLE; i++) {                                                      \
			const int64_t at = whole + i < n ? whole + i : whole;                                  \
			a[i] = x[at];                                                                          \
			b[i] = y ? y[at] : 0;                                                                  \
		}                                                                                          \
		f->suffix(r, a, b, WHOLE);                                                                 \
		for (int64_t i = whole; i < n; i++) o[i] = r[i - whole];                                   \
	}                                                                                              \
	bool kernel_maths_##suffix(Op op, int64_t n, T *o, const T *x, const T *y, int splats) {       \
		const int place = place_of(op);                                                            \
		const VmathLoop *f = place < 0 ? NULL : loops();                                           \
		if (!f) return false;                                                                      \
		f += place;                                                                                \
		if (f->args == 1) {                                                                        \
			y = NULL;                                                                              \
			splats &= KERNEL_X_SPLAT;                                                              \
		}                                                                                          \
		if (!splats) {                                                                             \
			over_##suffix(f, n, o, x, y);                                                          \
			return true;                                                                           \
		}                                                                                          \
		T a[RUN], b[RUN];                                                                          \
		const bool ax = splats & KERNEL_X_SPLAT, by = splats & KERNEL_Y_SPLAT,                     \
				   all = ax && (by || !y);                                                         \
		const int64_t most = all ? 1 : n < RUN ? n : RUN;                                          \
		for (int64_t i = 0; i < most; i++) {                                                       \
			if (ax) a[i] = x[0];                                                                   \
			if (by) b[i] = y[0];                                                                   \
		}                                                                                          \
		if (all) {                                                                                 \
			T r;                                                                                   \
			over_##suffix(f, 1, &r, a, y ? b : NULL);                                              \
			for (int64_t i = 0; i < n; i++) o[i] = r;                                              \
			return true;                                                                           \
		}                                                                                          \
		for (int64_t i = 0; i < n; i += RUN)                                                       \
			over_##suffix(f, n - i < RUN ? n - i : RUN, o + i, ax ? a : x + i, by ? b : y + i);    \
		return true;                                                                               \
	}
MATHS(double, f64)
MATHS(float, f32)

#else

bool kernel_maths_f64(Op op, int64_t n, double *o, const double *x, const double *y, int splats) {
	(void)op, (void)n, (void)o, (void)x, (void)y, (void)splats;
	return false;
}
bool kernel_maths_f32(Op op, int64_t n, float *o, const float *x, const float *y, int splats) {
	(void)op, (void)n, (void)o, (void)x, (void)y, (void)splats;
	return false;
}

#endif
