/* blas.h - OpenBLAS for the rows that are measured against it: as a shared
 * library, opened at the first use. */
#ifndef BENCH_BLAS_H
#define BENCH_BLAS_H

/* The C interface's numbers for order, transposition and triangle. */
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

/* With its best core type for this machine and so many threads, which sleep
 * soon after a call. Not to be called in setup, which also runs where Atled
 * brings its own OpenBLAS. Ends by limit_stop if it is not installed. */
const Blas *limit_blas(int threads);

#endif
