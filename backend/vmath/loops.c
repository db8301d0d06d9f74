/* loops.c - the functions of vmath.h, for one width, as loops over arrays.
 *
 * Contract:
 * - Needs clang and LANES64. Guarantees: loops.h.
 * - vmath.mk compiles it as generated code is compiled: to bitcode, through
 *   finish_bitcode, then to an object for the host.
 */
#include "backend/vmath/vmath.c"
#include "backend/vmath/loops.h"

/* Arrays have the alignment of one element only. */
#if LANES64 == 1
#define LOAD(v, p) v = *(p)
#define STORE(p, v) *(p) = (v)
#else
#define LOAD(v, p) __builtin_memcpy(&v, p, sizeof v)
#define STORE(p, v) __builtin_memcpy(p, &v, sizeof v)
#endif

#define LOOP(name, suffix, V, T, LANES, second, call)                                              \
	static void name##_##suffix(T *out, const T *px, const T *py, long n) {                        \
		(void)py;                                                                                  \
		for (long i = 0; i < n; i += LANES) {                                                      \
			V x, r;                                                                                \
			LOAD(x, px + i);                                                                       \
			second;                                                                                \
			r = call;                                                                              \
			STORE(out + i, r);                                                                     \
		}                                                                                          \
	}
#define LOOPS1(name)                                                                               \
	LOOP(name, f64, vf64, double, LANES64, , atled_##name##_f64(x))                                \
	LOOP(name, f32, vf32, float, LANES32, , atled_##name##_f32(x))
#define LOOPS2(name)                                                                               \
	LOOP(name, f64, vf64, double, LANES64, vf64 y; LOAD(y, py + i), atled_##name##_f64(x, y))      \
	LOOP(name, f32, vf32, float, LANES32, vf32 y; LOAD(y, py + i), atled_##name##_f32(x, y))
VMATH_FUNCTIONS(LOOPS1, LOOPS2)

#define ENTRY1(name) {#name, 1, name##_f64, name##_f32},
#define ENTRY2(name) {#name, 2, name##_f64, name##_f32},
const VmathLoop PASTE(vmath_loops, LANES64)[] = {VMATH_FUNCTIONS(ENTRY1, ENTRY2){0}};
