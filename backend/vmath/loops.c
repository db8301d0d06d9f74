/* loops.c - the vector maths of one width as loops over arrays: see loops.h.
 *
 * Needs: clang, LANES64. Guarantees: loops.h. vmath.mk takes it the way that
 * generated code goes: to bitcode, through finish_bitcode, and then to an
 * object for the machine at hand.
 */
#include "backend/vmath/vmath.c"
#include "backend/vmath/loops.h"

/* vectors in arrays that know of no alignment but the element's */
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
