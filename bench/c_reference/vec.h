/* vec.h - SIMD vectors of the target's width.
 *
 * Method: the vector extensions of gcc and clang. With AVX or AVX-512 the
 * operations that the extensions lack are intrinsics; otherwise they are loops.
 *
 * Guarantees:
 * - vd and vf are vectors of VD doubles and VF floats.
 * - A product followed by a sum is fused when the target can
 *   (-ffp-contract=fast).
 * - Loads and stores accept any address; streaming stores need one aligned to
 *   VECTOR_BYTES.
 */
#ifndef BENCH_LIMIT_VEC_H
#define BENCH_LIMIT_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#define VD (VECTOR_BYTES / 8)
#define VF (VECTOR_BYTES / 4)

typedef double vd __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef int64_t vl __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef float vf __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef int32_t vi __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef double vd_any __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(8)));
typedef float vf_any __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(4)));

#define INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#define UNROLL_4 _Pragma("clang loop unroll_count(4)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_4 _Pragma("GCC unroll 4")
#endif

/* Keeps a value in a register. Otherwise gcc reloads it at each use, which
 * saturates the load units. */
#if defined(__x86_64__)
#define KEEP(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__)
#define KEEP(x) __asm__("" : "+w"(x))
#else
#define KEEP(x) (void)(x)
#endif

INLINE vd vd_load(const double *p) { return *(const vd_any *)p; }
INLINE vf vf_load(const float *p) { return *(const vf_any *)p; }
INLINE void vd_store(double *p, vd x) { *(vd_any *)p = x; }
INLINE void vf_store(float *p, vf x) { *(vf_any *)p = x; }
/* x - 0 is x for every x, so this is only a broadcast */
INLINE vd vd_set(double x) { return x - (vd){0}; }
INLINE vf vf_set(float x) { return x - (vf){0}; }
INLINE vd vd_zero(void) { return (vd){0}; }
INLINE vf vf_zero(void) { return (vf){0}; }
INLINE vd vd_if(vl mask, vd a, vd b) { return (vd)((mask & (vl)a) | (~mask & (vl)b)); }
INLINE vf vf_if(vi mask, vf a, vf b) { return (vf)((mask & (vi)a) | (~mask & (vi)b)); }

#if defined(__AVX512F__)
INLINE vd vd_max(vd a, vd b) { return (vd)_mm512_max_pd((__m512d)a, (__m512d)b); }
INLINE vd vd_min(vd a, vd b) { return (vd)_mm512_min_pd((__m512d)a, (__m512d)b); }
INLINE vd vd_sqrt(vd a) { return (vd)_mm512_sqrt_pd((__m512d)a); }
INLINE void vd_stream(double *p, vd x) { _mm512_stream_pd(p, (__m512d)x); }
INLINE vf vf_max(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vf vf_min(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined(__AVX__)
INLINE vd vd_max(vd a, vd b) { return (vd)_mm256_max_pd((__m256d)a, (__m256d)b); }
INLINE vd vd_min(vd a, vd b) { return (vd)_mm256_min_pd((__m256d)a, (__m256d)b); }
INLINE vd vd_sqrt(vd a) { return (vd)_mm256_sqrt_pd((__m256d)a); }
INLINE void vd_stream(double *p, vd x) { _mm256_stream_pd(p, (__m256d)x); }
INLINE vf vf_max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf vf_min(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
#else
INLINE vd vd_max(vd a, vd b) { return vd_if(a > b, a, b); }
INLINE vd vd_min(vd a, vd b) { return vd_if(a < b, a, b); }
INLINE vd vd_sqrt(vd a) {
	for (int i = 0; i < VD; i++) a[i] = sqrt(a[i]);
	return a;
}
INLINE void vd_stream(double *p, vd x) { vd_store(p, x); }
INLINE vf vf_max(vf a, vf b) { return vf_if(a > b, a, b); }
INLINE vf vf_min(vf a, vf b) { return vf_if(a < b, a, b); }
#endif

/* Called after streaming stores, before another thread or process reads. */
INLINE void stream_end(void) {
#ifdef __SSE2__
	_mm_sfence();
#endif
}
INLINE void relax(void) {
#ifdef __SSE2__
	_mm_pause();
#endif
}

INLINE double vd_sum(vd a) {
	double s = 0;
	for (int i = 0; i < VD; i++) s += a[i];
	return s;
}
INLINE float vf_sum(vf a) {
	float s = 0;
	for (int i = 0; i < VF; i++) s += a[i];
	return s;
}
INLINE double vd_largest(vd a) {
	double s = a[0];
	for (int i = 1; i < VD; i++) s = a[i] > s ? a[i] : s;
	return s;
}

#endif
