/* vector_types.h - vector types of one width and macros for their operations.
 *
 * Contract:
 * - Needs clang and LANES64, the number of doubles in a vector: 1, 2, 4 or 8.
 * - Defines vf64, vi64, vu64 of LANES64 lanes and vf32, vi32, vu32 of LANES32,
 *   twice as many. For LANES64 = 1 all are scalars, also those of f32.
 * - Code in terms of the macros means the same for scalars and vectors.
 *   Comparisons give a mask, an integer of all ones where true.
 */
#ifndef ATLED_BACKEND_VMATH_VECTOR_TYPES_H
#define ATLED_BACKEND_VMATH_VECTOR_TYPES_H

#include <stdint.h>

#if LANES64 == 1
#define LANES32 1
typedef double vf64;
typedef float vf32;
typedef int64_t vi64;
typedef int32_t vi32;
typedef uint64_t vu64;
typedef uint32_t vu32;
typedef double vwide32; /* as many doubles as vf32 has lanes */
#define MASK(I, condition) (-(I)(condition))
#define ANY(mask) ((mask) != 0)
#define ANY_SIGN(x) ((x) < 0)
#define CONVERT(x, V) ((V)(x))
#else
#define LANES32 (2 * LANES64)
typedef double vf64 __attribute__((ext_vector_type(LANES64)));
typedef float vf32 __attribute__((ext_vector_type(LANES32)));
typedef int64_t vi64 __attribute__((ext_vector_type(LANES64)));
typedef int32_t vi32 __attribute__((ext_vector_type(LANES32)));
typedef uint64_t vu64 __attribute__((ext_vector_type(LANES64)));
typedef uint32_t vu32 __attribute__((ext_vector_type(LANES32)));
typedef double vwide32 __attribute__((ext_vector_type(LANES32)));
#define MASK(I, condition) ((I)(condition))
#define ANY(mask) (__builtin_reduce_or(mask) != 0)
#define ANY_SIGN(x) (__builtin_reduce_or((x) < 0) != 0)
#define CONVERT(x, V) __builtin_convertvector(x, V)
#endif
typedef vf64 vwide64;

#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2(a, b)
#define INLINE static inline __attribute__((always_inline))
/* A function for rare arguments. It preserves registers, since its callers are
 * in the middle of a loop. */
#define RARE __attribute__((noinline, cold, preserve_all))
#define RARELY(condition) __builtin_expect(condition, 0)

#define FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#define ABS(x) __builtin_elementwise_abs(x)
#define FLOOR(x) __builtin_elementwise_floor(x)
#define SQRT(x) __builtin_elementwise_sqrt(x)
#define COPYSIGN(x, sign) __builtin_elementwise_copysign(x, sign)
#define SELECT(mask, yes, no) ((mask) ? (yes) : (no))

#endif
