/* blas.c - implementation of blas.h. Needs the shared library of OpenBLAS. */
#define _GNU_SOURCE
#include "blas.h"
#include "limit.h"

#include <dlfcn.h>
#include <stdlib.h>

const Blas *limit_blas(int threads) {
	static Blas blas;
	if (blas.handle) return &blas;
#ifdef __AVX512F__
	/* OpenBLAS 0.3.21 does not recognise some of these machines. */
	setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
	/* Its threads sleep early, so that they do not run while the other side is
	 * measured. */
	setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);
	blas.handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!blas.handle) blas.handle = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
	if (!blas.handle)
		limit_stop("OpenBLAS, which these rows are measured against, is not installed");
	void (*set_threads)(int);
	/* The conversion that POSIX recommends: C has none from data to function
	 * pointers. */
	*(void **)&blas.vd_gemm = dlsym(blas.handle, "cblas_dgemm");
	*(void **)&blas.vf_gemm = dlsym(blas.handle, "cblas_sgemm");
	*(void **)&blas.vd_syrk = dlsym(blas.handle, "cblas_dsyrk");
	*(void **)&set_threads = dlsym(blas.handle, "openblas_set_num_threads");
	if (!blas.vd_gemm || !blas.vf_gemm || !blas.vd_syrk || !set_threads)
		limit_stop("this OpenBLAS lacks a function");
	set_threads(threads);
	return &blas;
}
