/* blas.h - OpenBLAS for comparison, loaded as a shared library at first use. */
#ifndef BENCH_BLAS_H
#define BENCH_BLAS_H

/* Constants of the C interface for order, transposition and triangle. */
enum { BLAS_ROWS = 101, BLAS_PLAIN = 111, BLAS_TRANSPOSED = 112, BLAS_UPPER = 121 };

typedef struct Blas {
	void *handle;
	void (*vd_gemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
	                int lda, const double *b, int ldb, double beta, double *c, int ldc);
	void (*vf_gemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
	                int lda, const float *b, int ldb, float beta, float *c, int ldc);
	void (*vd_syrk)(int order, int triangle, int t, int n, int k, double alpha, const double *a,
	                int lda, double beta, double *c, int ldc);
} Blas;

/* Returns OpenBLAS with its best core type for this machine and the given
 * number of threads, which sleep soon after a call. Must not be called in
 * setup, which also runs where Atled loads its own OpenBLAS. Ends by limit_stop
 * if OpenBLAS is not installed. */
const Blas *limit_blas(int threads);

#endif
