/* options.h - compilation options of the kernel files.
 *
 * The files of backend/kernels/, and no others, include it first.
 *
 * - The Makefile gives them -O3 -fno-math-errno -fno-trapping-math, so that
 *   sqrt and comparisons are vectorised: nothing reads errno or the
 *   floating-point flags.
 * - Like all files they get -ffp-contract=off: a*b + c is never fused, since
 *   results must not depend on the machine.
 * - gcc compiles each function marked CLONES for three kinds of machine; one is
 *   chosen when the program starts. The third is named by its feature level:
 *   the name of a processor (skylake-avx512) would exclude other machines with
 *   AVX-512.
 * - gcc 12 fuses complex products there when it vectorises neighbouring
 *   statements. The Makefile disables that; a file that needs it for its speed
 *   has two kinds only (CLONES_WITHOUT_FMA).
 * - Under the sanitizers there is one version, since the choice would run
 *   before they are initialised. So it is with ATLED_ONE_MACHINE, for coverage.
 *   clang follows the command line.
 */
#ifndef ATLED_BACKEND_KERNELS_OPTIONS_H
#define ATLED_BACKEND_KERNELS_OPTIONS_H

#if defined(__GNUC__) && !defined(__clang__)
#define EACH_INDEPENDENT _Pragma("GCC ivdep")
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&      \
	!defined(ATLED_ONE_MACHINE)
#if defined(CLONES_WITHOUT_FMA) || __GNUC__ < 12
#define CLONES __attribute__((target_clones("default", "avx2")))
#else
#define CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#endif
#endif
#else
/* Most loops call libm and are not vectorised, as expected. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define EACH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif
/* Selects lanes of x and y by constant indices; y's follow x's. W: a vector
 * type of as many integers of the same size. gcc has __builtin_shufflevector
 * from version 12, __builtin_shuffle in all. */
#if defined(__clang__)
#define SHUFFLE(W, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SHUFFLE(W, x, y, ...) __builtin_shuffle(x, y, (W){__VA_ARGS__})
#endif
#ifdef CLONES
#define HAVE_CLONES 1
#else
#define CLONES
#endif

#endif
