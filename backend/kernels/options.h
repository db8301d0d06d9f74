/* options.h - how kernel files are compiled. Included first, by the files of
 * backend/kernels/ only.
 *
 * The Makefile gives them -O3 -fno-math-errno -fno-trapping-math (sqrt and
 * comparisons may be vectorised: nobody looks at errno or at the floating-point
 * flags) and, like everything, -ffp-contract=off: a*b + c is never fused, since
 * results must not depend on the machine. gcc makes each function marked CLONES
 * for three kinds of machine, chosen when the program starts. The third is
 * asked for by what a machine has: an older name, that of one make of machine
 * (skylake-avx512), leaves all others that have AVX-512 to the second. gcc 12
 * makes fused operations of complex products there, where vectors are made of
 * neighbouring statements: files are compiled without that (the Makefile has
 * the flag), and one that needs it for its speed has two kinds only
 * (CLONES_WITHOUT_FMA). Under the sanitizers there is one version: the choice
 * would run before they are ready. clang (before 14 without the attribute)
 * keeps to the command line.
 */
#ifndef ATLED_BACKEND_KERNELS_OPTIONS_H
#define ATLED_BACKEND_KERNELS_OPTIONS_H

#if defined(__GNUC__) && !defined(__clang__)
#define EACH_INDEPENDENT _Pragma("GCC ivdep")
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(CLONES_WITHOUT_FMA) || __GNUC__ < 12
#define CLONES __attribute__((target_clones("default", "avx2")))
#else
#define CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#endif
#endif
#else
/* most rows call libm and are not vectorised: that is fine */
#pragma clang diagnostic ignored "-Wpass-failed"
#define EACH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif
/* Lanes of x and y by constant numbers: those of y go on after those of x. W:
 * a vector of as many integers of the same size. gcc has the first form from 12
 * on, the second in all versions. */
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
