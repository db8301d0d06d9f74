/* arpack.c - one run of ARPACK.
 *
 * Method: implicitly restarted Arnoldi and Lanczos iterations (Lehoucq,
 * Sorensen and Yang, ARPACK Users' Guide, SIAM 1998).
 *
 * Needs: arpack.h; ARPACK, which is loaded at the first use.
 *
 * Contract:
 * - The start vectors are fixed, so results are reproducible.
 * - ARPACK keeps static state between its calls. A lock admits one run at a
 *   time.
 */
#include "solvers/linear/arpack.h"
#include "lang/base/diag.h"
#include "lang/base/dynlib.h"
#include <math.h>
#include <pthread.h>
#include <sonames.h>
#include <string.h>

typedef void Iterate(int *ido, const char *bmat, int *n, const char *which, int *nev, double *tol,
                     double *resid, int *ncv, double *v, int *ldv, int *iparam, int *ipntr,
                     double *workd, double *workl, int *lworkl, int *info, size_t, size_t);
typedef void IterateComplex(int *ido, const char *bmat, int *n, const char *which, int *nev,
                            double *tol, double *resid, int *ncv, double *v, int *ldv, int *iparam,
                            int *ipntr, double *workd, double *workl, int *lworkl, double *rwork,
                            int *info, size_t, size_t);
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
typedef void ExtractComplex(int *rvec, const char *howmny, int *select, double *d, double *z,
                            int *ldz, double *sigma, double *workev, const char *bmat, int *n,
                            const char *which, int *nev, double *tol, double *resid, int *ncv,
                            double *v, int *ldv, int *iparam, int *ipntr, double *workd,
                            double *workl, int *lworkl, double *rwork, int *info, size_t, size_t,
                            size_t);

static struct {
	Iterate *dsaupd_, *dnaupd_;
	IterateComplex *znaupd_;
	ExtractSymmetric *dseupd_;
	ExtractGeneral *dneupd_;
	ExtractComplex *zneupd_;
	bool ready;
} lib;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the library and its state */

static bool open_library(void) {
	if (lib.ready) return true;
	static const DynName names[] = {DYN_NAME(lib, dsaupd_), DYN_NAME(lib, dnaupd_),
	                                DYN_NAME(lib, znaupd_), DYN_NAME(lib, dseupd_),
	                                DYN_NAME(lib, dneupd_), DYN_NAME(lib, zneupd_)};
	void *from = dynlib_open(SONAME_ARPACK);
	return lib.ready = dynlib_find(&from, 1, names, sizeof names / sizeof *names);
}

/* ARPACK's arguments, by its names. */
typedef struct Arguments {
	int n, nev, ncv, lworkl, info, iparam[11], ipntr[14];
	double tol, *resid, *workd, *workl, *rwork, *workev, *d;
	int *select;
	const char *bmat, *which;
} Arguments;

/* Vectors without symmetry and with parts in all directions. */
static void start_vector(double *x, int64_t n, int number) {
	for (int64_t i = 0; i < n; i++)
		x[i] = number == 0 ? 1 + 0.5 * sin(1.0 + 1.7 * (double)i)
		                   : sin((double)(i + 1) * (1 + 0.7 * sqrt(number + 1.0))) +
		                         0.3 * cos(0.1 * number + 2.3 * (double)i);
}

static Status iterate(ArpackRun *r, Arguments *a) {
	int ido = 0;
	for (;;) {
		if (r->kind == ARPACK_COMPLEX)
			lib.znaupd_(&ido, a->bmat, &a->n, a->which, &a->nev, &a->tol, a->resid, &a->ncv,
			            r->vectors, &a->n, a->iparam, a->ipntr, a->workd, a->workl, &a->lworkl,
			            a->rwork, &a->info, 1, 2);
		else
			(r->kind == ARPACK_SYMMETRIC ? lib.dsaupd_ : lib.dnaupd_)(
				&ido, a->bmat, &a->n, a->which, &a->nev, &a->tol, a->resid, &a->ncv, r->vectors,
				&a->n, a->iparam, a->ipntr, a->workd, a->workl, &a->lworkl, &a->info, 1, 2);
		/* its pointers are indices of elements, from 1 */
		const size_t unit = r->kind == ARPACK_COMPLEX ? 2 : 1;
		double *x = a->workd + unit * (size_t)(a->ipntr[0] - 1),
			   *y = a->workd + unit * (size_t)(a->ipntr[1] - 1);
		Status st;
		if (ido == 2) st = r->weigh(r->ud, x, y);
		else if (ido == -1 && !r->inverse) {
			/* ARPACK would begin with the operator's image, and then not find
			 * an eigenvalue 0 */
			memcpy(y, x, unit * (size_t)a->n * sizeof *y);
			st = ST_OK;
		} else if (ido == 1 || ido == -1) {
			const bool known = ido == 1 && a->iparam[6] == 3;
			st = r->apply(r->ud, x, known ? a->workd + unit * (size_t)(a->ipntr[2] - 1) : NULL, y);
		} else return ST_OK;
		if (st != ST_OK) return st;
	}
}

/* Moves what has converged to the results. Of a symmetric operator these are
 * its eigenvectors, else Schur vectors. */
static void extract(ArpackRun *r, Arguments *a) {
	int rvec = 1, found = 0;
	double zero[2] = {0, 0}, *im = a->d + a->ncv + 1;
	switch (r->kind) {
	case ARPACK_SYMMETRIC:
		lib.dseupd_(&rvec, "A", a->select, a->d, r->vectors, &a->n, zero, a->bmat, &a->n, a->which,
		            &a->nev, &a->tol, a->resid, &a->ncv, r->vectors, &a->n, a->iparam, a->ipntr,
		            a->workd, a->workl, &a->lworkl, &a->info, 1, 1, 2);
		break;
	case ARPACK_REAL:
		lib.dneupd_(&rvec, "P", a->select, a->d, im, r->vectors, &a->n, zero, zero + 1, a->workev,
		            a->bmat, &a->n, a->which, &a->nev, &a->tol, a->resid, &a->ncv, r->vectors,
		            &a->n, a->iparam, a->ipntr, a->workd, a->workl, &a->lworkl, &a->info, 1, 1, 2);
		break;
	default:
		lib.zneupd_(&rvec, "P", a->select, a->d, r->vectors, &a->n, zero, a->workev, a->bmat, &a->n,
		            a->which, &a->nev, &a->tol, a->resid, &a->ncv, r->vectors, &a->n, a->iparam,
		            a->ipntr, a->workd, a->workl, &a->lworkl, a->rwork, &a->info, 1, 1, 2);
	}
	if (a->info == 0) found = a->iparam[4];
	for (int j = 0; j < found; j++) {
		const double complex d = r->kind == ARPACK_COMPLEX ? a->d[2 * j] + a->d[2 * j + 1] * I
		                         : r->kind == ARPACK_REAL  ? a->d[j] + im[j] * I
		                                                   : a->d[j];
		/* in its mode 3 ARPACK inverts the operator's eigenvalues */
		r->values[j] = a->iparam[6] == 3 ? 1 / d : d;
	}
	r->found = found;
}

Status arpack_run(Ctx *c, ArpackRun *r) {
	const bool complex_ = r->kind == ARPACK_COMPLEX, symmetric = r->kind == ARPACK_SYMMETRIC;
	const size_t unit = complex_ ? 2 : 1, n = unit * (size_t)r->n, m = (size_t)r->length;
	const size_t workl = symmetric ? m * (m + 8) : unit * (3 * m * m + 6 * m);
	const size_t bytes =
		(n + 3 * n + workl + m + unit * 3 * m + 2 * (m + 1)) * sizeof(double) + m * sizeof(int);
	double *work = heap_alloc(c, bytes);
	if (!work) return ST_NOMEM;
	memset(work, 0, bytes);
	Arguments a = {.n = r->n,
	               .nev = r->wanted,
	               .ncv = r->length,
	               .lworkl = (int)(workl / unit),
	               .info = 1, /* the start vector is given */
	               .iparam = {1, 0, r->restarts, 1, 0, 0,
	                          !r->weighted ? 1
	                          : r->inverse ? 3
	                                       : 2},
	               .tol = r->tol,
	               .bmat = r->weighted ? "G" : "I",
	               .which = r->which,
	               .resid = work};
	a.workd = a.resid + n;
	a.workl = a.workd + 3 * n;
	a.rwork = a.workl + workl;
	a.workev = a.rwork + m;
	a.d = a.workev + unit * 3 * m;
	a.select = (int *)(void *)(a.d + 2 * (m + 1));
	start_vector(a.resid, (int64_t)n, r->start);
	r->found = 0;
	Status st = ST_ERROR;
	pthread_mutex_lock(&lock);
	if (!open_library())
		diag_error(c, E_VALUE, NO_SPAN,
		           "ARPACK (" SONAME_ARPACK ") cannot be loaded; `make deps` installs it");
	else if ((st = iterate(r, &a)) == ST_OK) {
		if (a.info >= 0 && a.iparam[4] >= r->wanted) extract(r, &a);
	}
	pthread_mutex_unlock(&lock);
	heap_free(c, work, bytes);
	return st;
}
