/* blas.c - OpenBLAS, opened at run time.
 *
 * Contract: blas.h. Needs cblas.h for the types of its calls; the library
 * itself is needed only by the first large product.
 *
 * The library belongs to the process, not to a context. Its handle is a private
 * struct, filled once under pthread_once and constant afterwards. While the
 * library is loaded, it sees two more environment variables, unless the user
 * has set them or the library is loaded already. setenv is not safe beside
 * getenv on another thread. The library therefore gets a copy of the
 * environment, which is never freed: another thread that reads meanwhile sees
 * the copy or the original.
 *
 * - OPENBLAS_CORETYPE: OpenBLAS 0.3.21 selects Haswell kernels on recent AMD
 *   processors with AVX-512, which are much slower than its SkylakeX kernels.
 *   On AMD processors without AVX-512, Haswell kernels are faster than its Zen
 *   ones. On AArch64 OpenBLAS identifies cores by their identification
 *   register. Version 0.3.29 has kernels for unknown cores with SVE whose
 *   product of an f32 matrix by its own transpose is wrong for vectors over 32
 *   bytes. The A64FX kernels, which are right up to 128 bytes, are selected
 *   there; beyond, ARMV8's, which do not use SVE.
 * - OPENBLAS_NUM_THREADS: OpenBLAS's own threads are disabled and none are
 *   started. It would split sums by the number of threads, on which results may
 *   not depend. Products are split by sizes alone instead, in ops/dot.c and
 *   native/run/runtime.c. A host that loads OpenBLAS later finds it with one
 *   thread and may raise that; one that loaded it before keeps its setting.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* environ */
#endif
#include "backend/numlib/blas.h"
#include "backend/kernels/kernels.h"
#include "lang/base/dynlib.h"
#include <cblas.h>
#include <pthread.h>
#include <sonames.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define CBLAS_CALLED(F)                                                                            \
	F(cblas_sgemm)                                                                                 \
	F(cblas_dgemm)                                                                                 \
	F(cblas_cgemm)                                                                                 \
	F(cblas_zgemm)                                                                                 \
	F(cblas_ssyrk)                                                                                 \
	F(cblas_dsyrk) F(cblas_csyrk) F(cblas_zsyrk) F(cblas_strsm) F(cblas_dtrsm) F(cblas_ctrsm)      \
		F(cblas_ztrsm) F(cblas_strsv) F(cblas_dtrsv) F(cblas_ctrsv) F(cblas_ztrsv)

static struct Blas {
	void *library;
	const char *why; /* reason why it cannot be loaded */
#define DECLARE(f) __typeof__(&f) f;
	CBLAS_CALLED(DECLARE)
#undef DECLARE
} blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define LIBRARY SONAME_OPENBLAS

/* The kernels that OpenBLAS should use here; NULL: its own choice is good. */
static const char *best_core(void) {
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		return "SkylakeX";
	if (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return "Haswell";
#elif defined(__aarch64__) && defined(PR_SVE_GET_VL)
	const int vectors = prctl(PR_SVE_GET_VL, 0, 0, 0, 0); /* < 0: no SVE */
	const int bytes = vectors > 0 ? vectors & PR_SVE_VL_LEN_MASK : 0;
	if (bytes > 32) return bytes <= 128 ? "A64FX" : "ARMV8";
#endif
	return NULL;
}

/* A copy of the environment with n more variables. NULL when memory fails: the
 * library then makes its own choices. */
static char **environment_with(size_t n, char *const *more) {
	__attribute__((used)) static char **copy; /* kept reachable */
	size_t count = 0;
	while (environ && environ[count]) count++;
	copy = malloc((count + n + 1) * sizeof *copy);
	if (!copy) return NULL;
	for (size_t i = 0; i < count; i++) copy[i] = environ[i];
	for (size_t i = 0; i < n; i++) copy[count + i] = more[i];
	copy[count + n] = NULL;
	return copy;
}

static void open_library(void) {
	static const char core[] = "OPENBLAS_CORETYPE", threads[] = "OPENBLAS_NUM_THREADS";
	void *before = dynlib_opened(LIBRARY);
	const char *best = best_core();
	static char core_set[40], threads_set[40];
	char *more[2];
	size_t n = 0;
	if (!before && !getenv(core) && best) {
		snprintf(core_set, sizeof core_set, "%s=%s", core, best);
		more[n++] = core_set;
	}
	if (!before && !getenv(threads)) {
		snprintf(threads_set, sizeof threads_set, "%s=1", threads);
		more[n++] = threads_set;
	}
	char **original = environ, **copy = n ? environment_with(n, more) : NULL;
	if (copy) __atomic_store_n(&environ, copy, __ATOMIC_RELEASE);
	void *library = before ? before : dynlib_open(LIBRARY);
	if (copy) __atomic_store_n(&environ, original, __ATOMIC_RELEASE);
	if (!library) {
		blas.why = "OpenBLAS (" LIBRARY ") cannot be loaded; the Debian package is libopenblas0";
		return;
	}
#define NAME(f) DYN_NAME(blas, f),
	static const DynName names[] = {CBLAS_CALLED(NAME)};
#undef NAME
	if (!dynlib_find(&library, 1, names, sizeof names / sizeof *names)) {
		blas.why = LIBRARY " lacks a CBLAS function; the Debian package is libopenblas0";
		return;
	}
	void (*set_threads)(int) = NULL;
	if (!before) dynlib_find(&library, 1, &(DynName){"openblas_set_num_threads", &set_threads}, 1);
	if (set_threads) set_threads(1);
	blas.library = library;
}

bool blas_open(const char **why) {
	pthread_once(&once, open_library);
	if (blas.library) return true;
	*why = blas.why;
	return false;
}

void *blas_symbol(const char *name) {
	const char *why;
	void *at = NULL;
	if (blas_open(&why)) dynlib_find(&blas.library, 1, &(DynName){name, &at}, 1);
	return at;
}

/* ---- calls --------------------------------------------------------------- */

bool blas_takes(const BlasMatrix *a, int64_t rows, int64_t columns) {
	const bool by_rows =
		(a->column_stride == 1 || columns == 1) && (a->row_stride >= columns || rows == 1);
	const bool by_columns =
		(a->row_stride == 1 || rows == 1) && (a->column_stride >= rows || columns == 1);
	return by_rows || by_columns;
}

/* How BLAS describes the matrix: transposed or not, and the leading
 * dimension. */
static CBLAS_TRANSPOSE layout(const BlasMatrix *a, int64_t rows, int64_t columns, int *leading) {
	const bool by_rows =
		(a->column_stride == 1 || columns == 1) && (a->row_stride >= columns || rows == 1);
	if (by_rows) {
		*leading = (int)(rows == 1 ? columns : a->row_stride);
		return CblasNoTrans;
	}
	*leading = (int)(columns == 1 ? rows : a->column_stride);
	return CblasTrans;
}

static void gemm(Dtype d, int64_t m64, int64_t n64, int64_t k64, BlasMatrix x, BlasMatrix y,
                 void *o, int64_t leading, bool accumulate) {
	static const float one[2] = {1, 0}, zero[2] = {0, 0};
	static const double one64[2] = {1, 0}, zero64[2] = {0, 0};
	const int m = (int)m64, n = (int)n64, k = (int)k64, lo = (int)leading;
	int lx, ly;
	const CBLAS_TRANSPOSE tx = layout(&x, m64, k64, &lx), ty = layout(&y, k64, n64, &ly);
	switch (d) {
	case DT_F32:
		blas.cblas_sgemm(CblasRowMajor, tx, ty, m, n, k, 1, x.data, lx, y.data, ly, accumulate, o,
		                 lo);
		break;
	case DT_F64:
		blas.cblas_dgemm(CblasRowMajor, tx, ty, m, n, k, 1, x.data, lx, y.data, ly, accumulate, o,
		                 lo);
		break;
	case DT_C64:
		blas.cblas_cgemm(CblasRowMajor, tx, ty, m, n, k, one, x.data, lx, y.data, ly,
		                 accumulate ? one : zero, o, lo);
		break;
	default:
		blas.cblas_zgemm(CblasRowMajor, tx, ty, m, n, k, one64, x.data, lx, y.data, ly,
		                 accumulate ? one64 : zero64, o, lo);
		break;
	}
}

/* Pieces of a product. BLAS packs the rows and columns of each piece again, so
 * both should be many; a piece should take some 10 ms of a processor. Complex
 * scalars need four times the work, hence a quarter of the columns. */
enum { PIECE_ROWS = 512, PIECE_DEPTH = 1024, PIECE_WORK = 1 << 28 };
static int64_t piece_work(Dtype d) { return dtype_is_complex(d) ? PIECE_WORK / 4 : PIECE_WORK; }

static const void *at(const void *base, int64_t i, Dtype d) {
	return (const char *)base + i * (int64_t)dtype_size(d);
}

void blas_gemm(const Ctx *c, Dtype d, int64_t m, int64_t n, int64_t k, BlasMatrix x, BlasMatrix y,
               void *o, int64_t leading, bool accumulate) {
	if ((double)m * (double)n * (double)k <= (double)piece_work(d)) {
		gemm(d, m, n, k, x, y, o, leading, accumulate);
		return;
	}
	const int64_t rows = m < PIECE_ROWS ? m : PIECE_ROWS, depth = k < PIECE_DEPTH ? k : PIECE_DEPTH;
	const int64_t columns = (piece_work(d) / (rows * depth) + 63) / 64 * 64;
	for (int64_t i = 0; i < m; i += rows)
		for (int64_t j = 0; j < n; j += columns)
			for (int64_t p = 0; p < k; p += depth) {
				if (ctx_interrupted(c)) return;
				BlasMatrix a = x, b = y;
				a.data = at(x.data, i * x.row_stride + p * x.column_stride, d);
				b.data = at(y.data, p * y.row_stride + j * y.column_stride, d);
				gemm(d, m - i < rows ? m - i : rows, n - j < columns ? n - j : columns,
				     k - p < depth ? k - p : depth, a, b,
				     (char *)o + (i * leading + j) * (int64_t)dtype_size(d), leading,
				     accumulate || p);
			}
}

/* Copies the upper triangle to the lower one, in blocks that stay in L1. */
#define MIRROR(T)                                                                                  \
	do {                                                                                           \
		enum { EDGE = 32 };                                                                        \
		T *a = o;                                                                                  \
		for (int64_t i0 = 0; i0 < m && !ctx_interrupted(c); i0 += EDGE)                            \
			for (int64_t j0 = 0; j0 <= i0; j0 += EDGE)                                             \
				for (int64_t i = i0; i < m && i < i0 + EDGE; i++)                                  \
					for (int64_t j = j0; j < i && j < j0 + EDGE; j++) a[i * m + j] = a[j * m + i]; \
	} while (0)

/* Block rows of the upper triangle, as products. */
static void large_syrk(const Ctx *c, Dtype d, int64_t m, int64_t k, BlasMatrix x, void *o) {
	for (int64_t i = 0; i < m && !ctx_interrupted(c); i += PIECE_ROWS) {
		const BlasMatrix a = {at(x.data, i * x.row_stride, d), x.row_stride, x.column_stride};
		const BlasMatrix b = {a.data, x.column_stride, x.row_stride};
		blas_gemm(c, d, m - i < PIECE_ROWS ? m - i : PIECE_ROWS, m - i, k, a, b,
		          (char *)o + i * (m + 1) * (int64_t)dtype_size(d), m, false);
	}
	switch (dtype_size(d)) {
	case 4: MIRROR(float); break;
	case 8: MIRROR(Bits8); break;
	default: MIRROR(double _Complex); break;
	}
}

void blas_syrk(const Ctx *c, Dtype d, int64_t m, int64_t k64, BlasMatrix x, void *o) {
	if ((double)m * (double)m * (double)k64 > 2.0 * (double)piece_work(d)) {
		large_syrk(c, d, m, k64, x, o);
		return;
	}
	static const float one[2] = {1, 0}, zero[2] = {0, 0};
	static const double one64[2] = {1, 0}, zero64[2] = {0, 0};
	const int n = (int)m, k = (int)k64;
	int lx;
	const CBLAS_TRANSPOSE t = layout(&x, m, k64, &lx);
	switch (d) {
	case DT_F32:
		blas.cblas_ssyrk(CblasRowMajor, CblasUpper, t, n, k, 1, x.data, lx, 0, o, n);
		MIRROR(float);
		break;
	case DT_F64:
		blas.cblas_dsyrk(CblasRowMajor, CblasUpper, t, n, k, 1, x.data, lx, 0, o, n);
		MIRROR(double);
		break;
	case DT_C64:
		blas.cblas_csyrk(CblasRowMajor, CblasUpper, t, n, k, one, x.data, lx, zero, o, n);
		MIRROR(Bits8);
		break;
	default:
		blas.cblas_zsyrk(CblasRowMajor, CblasUpper, t, n, k, one64, x.data, lx, zero64, o, n);
		MIRROR(double _Complex);
		break;
	}
}

void blas_syrk_lower(const Ctx *c, Dtype d, int64_t m, int64_t k64, BlasMatrix x, void *o,
                     int64_t leading, bool accumulate) {
	static const float one[2] = {1, 0}, zero[2] = {0, 0};
	static const double one64[2] = {1, 0}, zero64[2] = {0, 0};
	const int n = (int)m, lo = (int)leading;
	const int64_t depth =
		(double)m * (double)m * (double)k64 <= 2.0 * (double)piece_work(d) ? k64 : PIECE_DEPTH;
	for (int64_t p = 0; p < k64 && !ctx_interrupted(c); p += depth, accumulate = true) {
		const int k = (int)(k64 - p < depth ? k64 - p : depth);
		BlasMatrix a = x;
		a.data = at(x.data, p * x.column_stride, d);
		int lx;
		const CBLAS_TRANSPOSE t = layout(&a, m, k, &lx);
		switch (d) {
		case DT_F32:
			blas.cblas_ssyrk(CblasRowMajor, CblasLower, t, n, k, 1, a.data, lx, accumulate, o, lo);
			break;
		case DT_F64:
			blas.cblas_dsyrk(CblasRowMajor, CblasLower, t, n, k, 1, a.data, lx, accumulate, o, lo);
			break;
		case DT_C64:
			blas.cblas_csyrk(CblasRowMajor, CblasLower, t, n, k, one, a.data, lx,
			                 accumulate ? one : zero, o, lo);
			break;
		default:
			blas.cblas_zsyrk(CblasRowMajor, CblasLower, t, n, k, one64, a.data, lx,
			                 accumulate ? one64 : zero64, o, lo);
			break;
		}
	}
}

void blas_trsv(Dtype d, int64_t n64, bool lower, bool adjoint, bool unit, const void *t,
               int64_t t_leading, void *x, int64_t x_stride) {
	const int n = (int)n64, lt = (int)t_leading, lx = (int)x_stride;
	const CBLAS_UPLO uplo = lower ? CblasLower : CblasUpper;
	const CBLAS_TRANSPOSE trans = adjoint ? CblasConjTrans : CblasNoTrans;
	const CBLAS_DIAG diag = unit ? CblasUnit : CblasNonUnit;
	switch (d) {
	case DT_F32: blas.cblas_strsv(CblasRowMajor, uplo, trans, diag, n, t, lt, x, lx); break;
	case DT_F64: blas.cblas_dtrsv(CblasRowMajor, uplo, trans, diag, n, t, lt, x, lx); break;
	case DT_C64: blas.cblas_ctrsv(CblasRowMajor, uplo, trans, diag, n, t, lt, x, lx); break;
	default: blas.cblas_ztrsv(CblasRowMajor, uplo, trans, diag, n, t, lt, x, lx); break;
	}
}

void blas_trsm(Dtype d, bool right, int64_t m64, int64_t n64, bool lower, bool adjoint, bool unit,
               const void *t, int64_t t_leading, void *b, int64_t b_leading) {
	static const float one[2] = {1, 0};
	static const double one64[2] = {1, 0};
	const int m = (int)m64, n = (int)n64, lt = (int)t_leading, lb = (int)b_leading;
	const CBLAS_SIDE side = right ? CblasRight : CblasLeft;
	const CBLAS_UPLO uplo = lower ? CblasLower : CblasUpper;
	const CBLAS_TRANSPOSE trans = adjoint ? CblasConjTrans : CblasNoTrans;
	const CBLAS_DIAG diag = unit ? CblasUnit : CblasNonUnit;
	switch (d) {
	case DT_F32:
		blas.cblas_strsm(CblasRowMajor, side, uplo, trans, diag, m, n, 1, t, lt, b, lb);
		break;
	case DT_F64:
		blas.cblas_dtrsm(CblasRowMajor, side, uplo, trans, diag, m, n, 1, t, lt, b, lb);
		break;
	case DT_C64:
		blas.cblas_ctrsm(CblasRowMajor, side, uplo, trans, diag, m, n, one, t, lt, b, lb);
		break;
	default:
		blas.cblas_ztrsm(CblasRowMajor, side, uplo, trans, diag, m, n, one64, t, lt, b, lb);
		break;
	}
}
