/* arpack.c - some eigenvalues of a large sparse matrix by ARPACK.
 *
 * Method: implicitly restarted Arnoldi and Lanczos iterations (Lehoucq,
 * Sorensen and Yang, ARPACK Users' Guide, SIAM 1998).
 *
 * Needs: sparse.h; factor_cache.h for the inverse; ARPACK, which is loaded at
 * the first use.
 *
 * Contract:
 * - The start vector is fixed, so results are reproducible.
 * - ARPACK keeps static state between its calls. A lock admits one iteration at
 *   a time.
 */
#include "solvers/linear/factor_cache.h"
#include "solvers/linear/sparse.h"
#include "lang/base/dynlib.h"
#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <sonames.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS, ROWS, COLUMNS, VALUES, COUNT, OPERANDS };
enum { OPTION_INVERSE = 1, OPTION_SYMMETRIC = 2, OPTION_WHICH = 3 };

/* The values of the option `which`, by index. */
static const char *const which_names[] = {"LM", "SM", "LA", "SA", "LR", "SR", "LI", "SI"};

typedef void Iterate(int *ido, const char *bmat, int *n, const char *which, int *nev, double *tol,
                     double *resid, int *ncv, double *v, int *ldv, int *iparam, int *ipntr,
                     double *workd, double *workl, int *lworkl, int *info, size_t, size_t);
typedef void ExtractSymmetric(int *rvec, const char *howmny, int *select, double *d, double *z,
                              int *ldz, double *sigma, const char *bmat, int *n, const char *which,
                              int *nev, double *tol, double *resid, int *ncv, double *v, int *ldv,
                              int *iparam, int *ipntr, double *workd, double *workl, int *lworkl,
                              int *info, size_t, size_t, size_t);
typedef void ExtractGeneral(int *rvec, const char *howmny, int *select, double *dr, double *di,
                            double *z, int *ldz, double *sigmar, double *sigmai, double *workev,
                            const char *bmat, int *n, const char *which, int *nev, double *tol,
                            double *resid, int *ncv, double *v, int *ldv, int *iparam, int *ipntr,
                            double *workd, double *workl, int *lworkl, int *info, size_t, size_t,
                            size_t);

static struct {
	Iterate *dsaupd_, *dnaupd_;
	ExtractSymmetric *dseupd_;
	ExtractGeneral *dneupd_;
	bool ready;
} lib;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the library and its state */

static bool open_library(void) {
	if (lib.ready) return true;
	static const DynName names[] = {DYN_NAME(lib, dsaupd_), DYN_NAME(lib, dnaupd_),
	                                DYN_NAME(lib, dseupd_), DYN_NAME(lib, dneupd_)};
	void *from = dynlib_open(SONAME_ARPACK);
	return lib.ready = dynlib_find(&from, 1, names, sizeof names / sizeof *names);
}

static Status refuse(Ctx *c, const char *format, long long k, long long n) {
	diag_error(c, E_VALUE, NO_SPAN, format, k, n);
	return ST_ERROR;
}

/* y = A x, or A^-1 x */
static Status apply(Ctx *c, const SparseMatrix *a, bool inverse, const double *x, double *y) {
	if (inverse) {
		memcpy(y, x, (size_t)a->n * sizeof *y);
		return factors_solve(c, a, FACTOR_AUTO, false, 1, y, NULL);
	}
	memset(y, 0, (size_t)a->n * sizeof *y);
	for (int64_t j = 0; j < a->n; j++)
		for (int64_t k = a->start[j]; k < a->start[j + 1]; k++) y[a->row[k]] += a->values[k] * x[j];
	return ST_OK;
}

/* Computes `wanted` eigenvalues (re, im) and eigenvectors (columns) in ARPACK's
 * layout. im and pairs of columns are used for complex ones of nonsymmetric
 * matrices. */
static Status iterate(Ctx *c, const SparseMatrix *a, const HostCall *call, const int wanted,
                      double *re, double *im, double *vectors) {
	const bool symmetric = call->options[OPTION_SYMMETRIC], inverse = call->options[OPTION_INVERSE];
	const char *which = which_names[call->options[OPTION_WHICH]];
	int k = wanted; /* ARPACK increments it where it would split a complex pair */
	int n = (int)a->n, ncv = 2 * k + 20 < n ? 2 * k + 20 : n, ido = 0, info = 1, rvec = 1,
		iparam[11] = {1, 0, 3000, 1, 0, 0, 1}, ipntr[14] = {0};
	int lworkl = symmetric ? ncv * (ncv + 8) : 3 * ncv * ncv + 6 * ncv;
	double tol = 0, sigma = 0;
	/* ARPACK writes every converged value, possibly more than wanted */
	const size_t workspace = (size_t)n + (size_t)n * (size_t)ncv + 3 * (size_t)n + (size_t)lworkl +
	                         3 * (size_t)ncv + (size_t)n * (size_t)ncv + 2 * (size_t)ncv;
	double *work = heap_alloc(c, workspace * sizeof *work);
	int *chosen = heap_alloc(c, (size_t)ncv * sizeof *chosen);
	Status st = work && chosen ? ST_OK : ST_NOMEM;
	if (st == ST_OK) {
		double *resid = work, *v = resid + n, *workd = v + (size_t)n * (size_t)ncv,
			   *workl = workd + 3 * (size_t)n, *workev = workl + lworkl, *z = workev + 3 * ncv;
		double *dr = z + (size_t)n * (size_t)ncv, *di = dr + ncv;
		memset(work, 0, workspace * sizeof *work);
		for (int i = 0; i < n; i++) resid[i] = 1 + 0.5 * sin(1.0 + 1.7 * i);
		pthread_mutex_lock(&lock);
		while (st == ST_OK && ido != 99) {
			(symmetric ? lib.dsaupd_ : lib.dnaupd_)(&ido, "I", &n, which, &k, &tol, resid, &ncv, v,
			                                        &n, iparam, ipntr, workd, workl, &lworkl, &info,
			                                        1, 2);
			if (ido == 1 || ido == -1)
				st = apply(c, a, inverse, workd + ipntr[0] - 1, workd + ipntr[1] - 1);
			else if (ido != 99) break;
		}
		if (st == ST_OK && info >= 0) {
			if (symmetric)
				lib.dseupd_(&rvec, "A", chosen, dr, z, &n, &sigma, "I", &n, which, &k, &tol, resid,
				            &ncv, v, &n, iparam, ipntr, workd, workl, &lworkl, &info, 1, 1, 2);
			else
				lib.dneupd_(&rvec, "A", chosen, dr, di, z, &n, &sigma, &sigma, workev, "I", &n,
				            which, &k, &tol, resid, &ncv, v, &n, iparam, ipntr, workd, workl,
				            &lworkl, &info, 1, 1, 2);
		}
		pthread_mutex_unlock(&lock);
		const int found = iparam[4];
		if (st == ST_OK && (info < 0 || found < wanted)) {
			diag_error(c, E_VALUE, NO_SPAN,
			           "only %d of %d eigenvalues have converged; sigma = a number near those "
			           "wanted makes them converge fast",
			           info < 0 ? 0 : found, wanted);
			st = ST_ERROR;
		}
		if (st == ST_OK) {
			memcpy(re, dr, (size_t)wanted * sizeof *re);
			memcpy(im, di, (size_t)wanted * sizeof *im);
			memcpy(vectors, z, (size_t)n * (size_t)(wanted + 1) * sizeof *vectors);
		}
	}
	if (work) heap_free(c, work, workspace * sizeof *work);
	if (chosen) heap_free(c, chosen, (size_t)ncv * sizeof *chosen);
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	const bool symmetric = call->options[OPTION_SYMMETRIC];
	Tensor *t[VALUES + 1] = {0}, *values = NULL, *vectors = NULL;
	Status st = ST_OK;
	for (uint32_t i = 0; i <= VALUES && st == ST_OK; i++) {
		t[i] = args[i].kind == V_TENSOR ? tensor_contiguous(c, args[i].tensor) : NULL;
		if (!t[i]) st = ST_NOMEM;
	}
	const int64_t n = st == ST_OK ? t[STARTS]->shape[0] - 1 : 0,
				  k = args[COUNT].kind == V_SCALAR && args[COUNT].dtype == DT_I64 ? args[COUNT].i
	                                                                              : 0;
	if (st == ST_OK && (k < 1 || k > n - (symmetric ? 1 : 2)))
		st = refuse(c,
		            "%lld eigenvalues of a sparse matrix of %lld rows: there must be fewer of them "
		            "(by one when symmetric, by two else); eig(dense(A)) gives all",
		            (long long)k, (long long)n);
	if (st == ST_OK && n > 1000000000)
		st = refuse(c, "%lld eigenvalues: ARPACK takes fewer than %lld rows", (long long)k,
		            1000000000LL);
	if (st == ST_OK) {
		pthread_mutex_lock(&lock);
		const bool there = open_library();
		pthread_mutex_unlock(&lock);
		if (!there) {
			diag_error(c, E_VALUE, NO_SPAN,
			           "ARPACK (" SONAME_ARPACK ") cannot be loaded; `make deps` installs it");
			st = ST_ERROR;
		}
	}
	SparseMatrix a = {0};
	if (st == ST_OK) {
		a = (SparseMatrix){n, n, (int64_t *)(void *)t[STARTS]->data,
		                   (int64_t *)(void *)t[ROWS]->data, (double *)(void *)t[VALUES]->data};
		st = sparse_check(c, &a, t[VALUES]->count);
	}
	const Dtype d = symmetric ? DT_F64 : DT_C128;
	const int64_t one[1] = {k}, two[2] = {n, k};
	/* one more column for a split complex pair */
	const size_t bytes = (size_t)(n + 2) * ((size_t)(k > 0 ? k : 0) + 1) * sizeof(double);
	double *workspace = NULL;
	if (st == ST_OK &&
	    (!(values = tensor_new(c, d, 1, one)) || !(vectors = tensor_new(c, d, 2, two)) ||
	     !(workspace = heap_alloc(c, bytes))))
		st = ST_NOMEM;
	if (st == ST_OK) {
		double *re = workspace, *im = re + k, *z = im + k;
		st = iterate(c, &a, call, (int)k, re, im, z);
		for (int64_t j = 0; j < k && st == ST_OK; j++) {
			if (symmetric) {
				((double *)(void *)values->data)[j] = re[j];
				for (int64_t i = 0; i < n; i++)
					((double *)(void *)vectors->data)[i * k + j] = z[j * n + i];
				continue;
			}
			/* for a complex pair, columns j and j + 1 are the real and
			 * imaginary part of its first vector */
			const bool second = im[j] != 0 && j > 0 && im[j - 1] == -im[j] && re[j - 1] == re[j];
			((double complex *)(void *)values->data)[j] = re[j] + im[j] * I;
			for (int64_t i = 0; i < n; i++) {
				const double x = z[(second ? j - 1 : j) * n + i],
							 y = im[j] != 0 ? z[(second ? j : j + 1) * n + i] : 0;
				((double complex *)(void *)vectors->data)[i * k + j] =
					second ? x - y * I : x + y * I;
			}
		}
	}
	if (workspace) heap_free(c, workspace, bytes);
	for (uint32_t i = 0; i <= VALUES; i++) tensor_unref(t[i]);
	if (st == ST_OK) {
		results[0] = value_tensor(values);
		results[1] = value_tensor(vectors);
	} else {
		tensor_unref(values);
		tensor_unref(vectors);
	}
	return st;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	(void)nargs, (void)cap;
	const Dtype d = call->options[OPTION_SYMMETRIC] ? DT_F64 : DT_C128;
	const Dim k = build_fresh_dim(b, 0, 0),
			  n = dim_sub(c, ref_ty(build_fn(b), args[STARTS])->dims[0], dim_const(c, 1)),
			  both[2] = {n, k};
	if (ref_ty(build_fn(b), args[VALUES])->dtype != DT_F64) {
		diag_error(c, E_TYPE, span_of(c, build_span(b)),
		           "the eigenvalues of a sparse matrix are computed in f64, of real elements");
		ctx_throw(c, ST_ERROR);
	}
	out[0] = type_tensor(c, d, 1, &k);
	out[1] = type_tensor(c, d, 2, both);
	return 2;
}

const HostDef sparse_eigs_host = {.name = "sparse_eigs", .types = types, .eval = eval};
