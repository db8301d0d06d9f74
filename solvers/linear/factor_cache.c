/* factor_cache.c - sparse factorisations by SuiteSparse, chosen by structure
 * and cached.
 *
 * Method: T. A. Davis, Direct Methods for Sparse Linear Systems, SIAM 2006; ACM
 * TOMS Algorithms 907 (KLU), 832 (UMFPACK), 887 (CHOLMOD) and 915 (SPQR).
 *
 * Needs: factor_cache.h.
 *
 * Contract:
 * - A cached factorisation with equal pattern and values is reused. One with an
 *   equal pattern saves the symbolic analysis.
 * - Results do not depend on the order of calls, because symbolic analysis uses
 *   the pattern alone.
 * - A factorisation is removed from the cache while in use, so no two threads
 *   share it.
 */
#include "solvers/linear/factor_cache.h"
#include "backend/numlib/blas.h"
#include "lang/base/dynlib.h"
#include <SuiteSparseQR_C.h>
#include <cholmod.h>
#include <klu.h>
#include <pthread.h>
#include <sonames.h>
#include <stdlib.h>
#include <string.h>
#include <umfpack.h>

/* ---- libraries loaded on demand ------------------------------------------ */

#define UMFPACK_CALLED(F)                                                                          \
	F(umfpack_dl_defaults)                                                                         \
	F(umfpack_dl_symbolic)                                                                         \
	F(umfpack_dl_numeric) F(umfpack_dl_solve) F(umfpack_dl_free_symbolic) F(umfpack_dl_free_numeric)
#define CHOLMOD_CALLED(F)                                                                          \
	F(cholmod_l_start)                                                                             \
	F(cholmod_l_finish)                                                                            \
	F(cholmod_l_analyze)                                                                           \
	F(cholmod_l_factorize) F(cholmod_l_solve) F(cholmod_l_free_factor) F(cholmod_l_free_dense)
#define SPQR_CALLED(F)                                                                             \
	F(SuiteSparseQR_C_factorize)                                                                   \
	F(SuiteSparseQR_C_solve) F(SuiteSparseQR_C_qmult) F(SuiteSparseQR_C_free)

typedef struct Libraries {
#define DECLARE(f) __typeof__(&f) f;
	UMFPACK_CALLED(DECLARE)
	CHOLMOD_CALLED(DECLARE)
	SPQR_CALLED(DECLARE)
#undef DECLARE
	bool umfpack, cholmod, spqr;
	/* of CHOLMOD's OpenMP runtime; NULL where there is none */
	int (*levels)(void);
	void (*set_levels)(int n);
} Libraries;

static Libraries lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Loads the library versions whose headers were compiled, since struct layouts
 * must agree. */
static void open_libraries(void) {
	const char *why;
	/* first, so that SuiteSparse uses this BLAS with its kernels and without
	 * its threads, which slow down small frontal matrices */
	blas_open(&why);
#define NAME(f) DYN_NAME(lib, f),
	static const DynName of_umfpack[] = {UMFPACK_CALLED(NAME)},
						 of_cholmod[] = {CHOLMOD_CALLED(NAME)}, of_spqr[] = {SPQR_CALLED(NAME)};
#undef NAME
	static const DynName of_gomp[] = {{"omp_get_max_active_levels", &lib.levels},
	                                  {"omp_set_max_active_levels", &lib.set_levels}};
	void *umfpack = dynlib_open(SONAME_UMFPACK), *cholmod = dynlib_open(SONAME_CHOLMOD),
		 *spqr = cholmod ? dynlib_open(SONAME_SPQR) : NULL;
	lib.umfpack = dynlib_find(&umfpack, 1, of_umfpack, sizeof of_umfpack / sizeof *of_umfpack);
	lib.cholmod = dynlib_find(&cholmod, 1, of_cholmod, sizeof of_cholmod / sizeof *of_cholmod);
	lib.spqr = dynlib_find(&spqr, 1, of_spqr, sizeof of_spqr / sizeof *of_spqr) && lib.cholmod;
	void *gomp = lib.cholmod ? dynlib_opened("libgomp.so.1") : NULL;
	dynlib_find(&gomp, 1, of_gomp, sizeof of_gomp / sizeof *of_gomp);
}

/* ---- factorisation ------------------------------------------------------- */

struct Factors {
	FactorMethod asked, method; /* the method requested, and the method used */
	SparseMatrix a;             /* an owned copy */
	bool numeric;               /* the numeric factors exist and belong to a */
	klu_l_common klu;
	klu_l_symbolic *klu_symbolic;
	klu_l_numeric *klu_numeric;
	void *um_symbolic, *um_numeric;
	cholmod_common cholmod;
	bool cholmod_started;
	cholmod_factor *cholesky;
	SuiteSparseQR_C_factorization *qr;
	bool quiet; /* report singularity in `singular` instead of a diagnostic */
	bool singular;
	struct Factors *next;
};

static cholmod_sparse cholmod_view(const SparseMatrix *a, int stype) {
	return (cholmod_sparse){.nrow = (size_t)a->m,
	                        .ncol = (size_t)a->n,
	                        .nzmax = (size_t)a->start[a->n],
	                        .p = a->start,
	                        .i = a->row,
	                        .x = a->values,
	                        .stype = stype,
	                        .itype = CHOLMOD_LONG,
	                        .xtype = CHOLMOD_REAL,
	                        .dtype = CHOLMOD_DOUBLE,
	                        .sorted = 1,
	                        .packed = 1};
}

static cholmod_dense dense_view(int64_t m, int64_t n, double *x) {
	return (cholmod_dense){.nrow = (size_t)m,
	                       .ncol = (size_t)n,
	                       .nzmax = (size_t)(m * n),
	                       .d = (size_t)m,
	                       .x = x,
	                       .xtype = CHOLMOD_REAL,
	                       .dtype = CHOLMOD_DOUBLE};
}

static void drop_numeric(Factors *f) {
	if (f->klu_numeric) klu_l_free_numeric(&f->klu_numeric, &f->klu);
	if (f->um_numeric) lib.umfpack_dl_free_numeric(&f->um_numeric);
	if (f->qr) lib.SuiteSparseQR_C_free(&f->qr, &f->cholmod);
	f->numeric = false;
}

static void drop_analysis(Factors *f) {
	drop_numeric(f);
	if (f->klu_symbolic) klu_l_free_symbolic(&f->klu_symbolic, &f->klu);
	if (f->um_symbolic) lib.umfpack_dl_free_symbolic(&f->um_symbolic);
	if (f->cholesky) lib.cholmod_l_free_factor(&f->cholesky, &f->cholmod);
	if (f->cholmod_started) lib.cholmod_l_finish(&f->cholmod);
	f->cholmod_started = false;
}

static void factors_free(Factors *f) {
	if (!f) return;
	drop_analysis(f);
	free(f->a.start);
	free(f->a.row);
	free(f->a.values);
	free(f);
}

static size_t bytes_of(int64_t count, size_t size) {
	return (size_t)(count > 0 ? count : 1) * size;
}

static Factors *factors_new(const SparseMatrix *a, FactorMethod asked) {
	Factors *f = calloc(1, sizeof *f);
	if (!f) return NULL;
	const int64_t nnz = a->start[a->n];
	f->asked = asked;
	f->a = (SparseMatrix){a->m, a->n, malloc(bytes_of(a->n + 1, sizeof *a->start)),
	                      malloc(bytes_of(nnz, sizeof *a->row)),
	                      malloc(bytes_of(nnz, sizeof *a->values))};
	if (!f->a.start || !f->a.row || !f->a.values) {
		factors_free(f);
		return NULL;
	}
	memcpy(f->a.start, a->start, (size_t)(a->n + 1) * sizeof *a->start);
	memcpy(f->a.row, a->row, (size_t)nnz * sizeof *a->row);
	memcpy(f->a.values, a->values, (size_t)nnz * sizeof *a->values);
	return f;
}

/* Whether the matrix is exactly symmetric with a positive diagonal. Elements
 * below the diagonal, column by column, are matched in the order of those above
 * it. */
static bool may_be_positive(const SparseMatrix *a) {
	int64_t *next = malloc(bytes_of(a->n, sizeof *next));
	bool good = next && a->m == a->n;
	for (int64_t j = 0; good && j < a->n; j++) next[j] = a->start[j];
	for (int64_t j = 0; good && j < a->n; j++) {
		const int64_t d = next[j];
		good = d < a->start[j + 1] && a->row[d] == j && a->values[d] > 0;
		for (int64_t k = d + 1; good && k < a->start[j + 1]; k++) {
			const int64_t i = a->row[k], twin = next[i]++;
			good = twin < a->start[i + 1] && a->row[twin] == j && a->values[twin] == a->values[k];
		}
	}
	free(next);
	return good;
}

static Status unavailable(Ctx *c, const char *what) {
	diag_error(c, E_VALUE, NO_SPAN, "%s cannot be loaded; the Debian package is libsuitesparse-dev",
	           what);
	return ST_ERROR;
}

static Status singular(Ctx *c, Factors *f, int64_t column) {
	f->singular = true;
	if (f->quiet) return ST_ERROR;
	if (column >= 0)
		diag_error(c, E_SINGULAR, NO_SPAN, "the sparse matrix is singular: no pivot in column %lld",
		           (long long)column);
	else diag_error(c, E_SINGULAR, NO_SPAN, "the sparse matrix is singular");
	return ST_ERROR;
}

static Status start_cholmod(Factors *f) {
	if (f->cholmod_started) return ST_OK;
	if (!lib.cholmod_l_start(&f->cholmod)) return ST_NOMEM;
	f->cholmod_started = true;
	f->cholmod.print = 0;
	/* L L^T detects a matrix that is not positive definite; L D L^T would
	 * not */
	f->cholmod.final_ll = 1;
	f->cholmod.quick_return_if_not_posdef = 1;
	return ST_OK;
}

static Status factor_klu(Ctx *c, Factors *f) {
	f->klu_numeric = klu_l_factor(f->a.start, f->a.row, f->a.values, f->klu_symbolic, &f->klu);
	if (f->klu_numeric && f->klu.status != KLU_SINGULAR) return ST_OK;
	return f->klu.status == KLU_OUT_OF_MEMORY ? ST_NOMEM : singular(c, f, f->klu.singular_col);
}

static Status factor_umfpack(Ctx *c, Factors *f) {
	double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
	lib.umfpack_dl_defaults(control);
	/* with UMFPACK's default 0.1, element growth can lose all digits even for a
	 * well-conditioned matrix */
	control[UMFPACK_PIVOT_TOLERANCE] = 1;
	if (!f->um_symbolic && lib.umfpack_dl_symbolic(f->a.n, f->a.n, f->a.start, f->a.row, NULL,
	                                               &f->um_symbolic, control, info) != UMFPACK_OK)
		return ST_NOMEM;
	const int64_t status = lib.umfpack_dl_numeric(f->a.start, f->a.row, f->a.values, f->um_symbolic,
	                                              &f->um_numeric, control, info);
	return status == UMFPACK_OK                        ? ST_OK
	       : status == UMFPACK_WARNING_singular_matrix ? singular(c, f, -1)
	                                                   : ST_NOMEM;
}

/* *positive: whether the matrix is positive definite and was factored. */
static Status factor_cholesky(Factors *f, bool *positive) {
	Status st = start_cholmod(f);
	if (st != ST_OK) return st;
	cholmod_sparse a = cholmod_view(&f->a, -1);
	if (!f->cholesky) f->cholesky = lib.cholmod_l_analyze(&a, &f->cholmod);
	if (!f->cholesky) return ST_NOMEM;
	/* CHOLMOD requests four OpenMP threads for each short loop between its
	 * products, which wakes them very often. Setting OpenMP's maximum number of
	 * active levels to 0 runs those loops on the calling thread. */
	const int levels = lib.levels && lib.set_levels ? lib.levels() : -1;
	if (levels >= 0) lib.set_levels(0);
	lib.cholmod_l_factorize(&a, f->cholesky, &f->cholmod);
	if (levels >= 0) lib.set_levels(levels);
	if (f->cholmod.status == CHOLMOD_OUT_OF_MEMORY) return ST_NOMEM;
	*positive = f->cholmod.status == CHOLMOD_OK && (int64_t)f->cholesky->minor == f->a.n;
	return ST_OK;
}

/* LU by KLU while its factors stay sparse, else by UMFPACK's multifrontal
 * method. The threshold is the ratio at which CHOLMOD switches to
 * supernodes. */
static Status factor_lu(Ctx *c, Factors *f) {
	if (!f->klu_symbolic && f->method != FACTOR_UMFPACK) {
		klu_l_defaults(&f->klu);
		f->klu_symbolic = klu_l_analyze(f->a.n, f->a.start, f->a.row, &f->klu);
		if (!f->klu_symbolic)
			return f->klu.status == KLU_SINGULAR ? singular(c, f, f->klu.singular_col) : ST_NOMEM;
	}
	if (f->asked == FACTOR_AUTO && f->method != FACTOR_UMFPACK && lib.umfpack &&
	    f->klu_symbolic->est_flops > 40 * (f->klu_symbolic->lnz + f->klu_symbolic->unz)) {
		klu_l_free_symbolic(&f->klu_symbolic, &f->klu);
		f->method = FACTOR_UMFPACK;
	} else if (f->method != FACTOR_UMFPACK) f->method = FACTOR_KLU;
	return f->method == FACTOR_UMFPACK ? factor_umfpack(c, f) : factor_klu(c, f);
}

static Status factor_qr(Ctx *c, Factors *f) {
	if (!lib.spqr) return unavailable(c, "SPQR (libspqr.so)");
	Status st = start_cholmod(f);
	if (st != ST_OK) return st;
	cholmod_sparse a = cholmod_view(&f->a, 0);
	f->qr = lib.SuiteSparseQR_C_factorize(SPQR_ORDERING_DEFAULT, SPQR_DEFAULT_TOL, &a, &f->cholmod);
	if (!f->qr) return ST_NOMEM;
	if (f->cholmod.SPQR_istat[4] >= f->a.n) return ST_OK; /* the estimated rank */
	diag_error(c, E_SINGULAR, NO_SPAN,
	           "the columns of the sparse matrix are linearly dependent: its rank is %lld of %lld",
	           (long long)f->cholmod.SPQR_istat[4], (long long)f->a.n);
	return ST_ERROR;
}

static Status make_factors(Ctx *c, Factors *f) {
	pthread_once(&once, open_libraries);
	f->method = f->asked == FACTOR_AUTO && f->um_symbolic ? FACTOR_UMFPACK : f->asked;
	if (f->asked == FACTOR_QR) return factor_qr(c, f);
	if (f->asked == FACTOR_UMFPACK && !lib.umfpack)
		return unavailable(c, "UMFPACK (libumfpack.so)");
	if (f->asked == FACTOR_CHOLMOD && !lib.cholmod)
		return unavailable(c, "CHOLMOD (libcholmod.so)");
	if (f->asked == FACTOR_CHOLMOD ||
	    (f->asked == FACTOR_AUTO && lib.cholmod && may_be_positive(&f->a))) {
		bool positive = false;
		Status st = factor_cholesky(f, &positive);
		if (st != ST_OK || positive) {
			f->method = FACTOR_CHOLMOD;
			return st;
		}
		if (f->asked == FACTOR_CHOLMOD) {
			f->singular = true;
			if (!f->quiet)
				diag_error(c, E_SINGULAR, NO_SPAN,
				           "the sparse matrix is not positive definite: the pivot in column %lld",
				           (long long)f->cholesky->minor);
			return ST_ERROR;
		}
	}
	return factor_lu(c, f);
}

/* ---- the cache ----------------------------------------------------------- */

enum { STORED = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Factors *store; /* most recent first */
static int64_t times_made, times_found;

static bool same_pattern(const SparseMatrix *a, const SparseMatrix *b) {
	return a->m == b->m && a->n == b->n &&
	       !memcmp(a->start, b->start, (size_t)(a->n + 1) * sizeof *a->start) &&
	       !memcmp(a->row, b->row, (size_t)a->start[a->n] * sizeof *a->row);
}

static bool same_values(const SparseMatrix *a, const SparseMatrix *b) {
	return !memcmp(a->values, b->values, (size_t)a->start[a->n] * sizeof *a->values);
}

/* Removes and returns cached factors: those of this matrix, else those of one
 * with its pattern; NULL: neither. */
static Factors *take(const SparseMatrix *a, FactorMethod asked) {
	Factors **near = NULL, *f = NULL;
	pthread_mutex_lock(&lock);
	for (Factors **at = &store; *at; at = &(*at)->next) {
		if ((*at)->asked != asked || !same_pattern(&(*at)->a, a)) continue;
		near = at;
		if (same_values(&(*at)->a, a)) break;
		near = NULL;
		if (!f) f = *at; /* fallback: the most recent with the pattern */
	}
	if (!near && f)
		for (near = &store; *near != f;) near = &(*near)->next;
	f = near ? *near : NULL;
	if (f) *near = f->next;
	pthread_mutex_unlock(&lock);
	return f;
}

static void put(Factors *f) {
	Factors *old = NULL;
	pthread_mutex_lock(&lock);
	f->next = store;
	store = f;
	uint32_t n = 1;
	for (Factors *at = store; at; at = at->next, n++)
		if (n == STORED) {
			old = at->next;
			at->next = NULL;
		}
	pthread_mutex_unlock(&lock);
	while (old) {
		Factors *next = old->next;
		factors_free(old);
		old = next;
	}
}

static void count(int64_t *what) {
	pthread_mutex_lock(&lock);
	++*what;
	pthread_mutex_unlock(&lock);
}

void factors_count(int64_t *made, int64_t *found) {
	pthread_mutex_lock(&lock);
	*made = times_made;
	*found = times_found;
	pthread_mutex_unlock(&lock);
}

/* ---- solving ------------------------------------------------------------- */

static Status copy_dense(Factors *f, cholmod_dense *from, double *to) {
	if (!from) return ST_NOMEM;
	memcpy(to, from->x, from->nrow * from->ncol * sizeof *to);
	lib.cholmod_l_free_dense(&from, &f->cholmod);
	return ST_OK;
}

/* A E = Q R. The least-squares solution is E R^-1 Q^T b. The least-norm
 * solution of A^T b = x is Q R^-T E^T x. */
static Status solve_qr(Factors *f, bool transposed, int64_t nright, double *x, double *b) {
	cholmod_dense from = transposed ? dense_view(f->a.n, nright, x) : dense_view(f->a.m, nright, b);
	cholmod_dense *half =
		transposed ? lib.SuiteSparseQR_C_solve(SPQR_RTX_EQUALS_ETB, f->qr, &from, &f->cholmod)
				   : lib.SuiteSparseQR_C_qmult(SPQR_QTX, f->qr, &from, &f->cholmod);
	if (!half) return ST_NOMEM;
	cholmod_dense *whole =
		transposed ? lib.SuiteSparseQR_C_qmult(SPQR_QX, f->qr, half, &f->cholmod)
				   : lib.SuiteSparseQR_C_solve(SPQR_RETX_EQUALS_B, f->qr, half, &f->cholmod);
	lib.cholmod_l_free_dense(&half, &f->cholmod);
	return copy_dense(f, whole, transposed ? b : x);
}

static Status solve_umfpack(Factors *f, bool transposed, int64_t nright, double *x) {
	double *right = malloc(bytes_of(f->a.n, sizeof *right)), control[UMFPACK_CONTROL];
	lib.umfpack_dl_defaults(control);
	/* Newton iterations correct the error; no refinement */
	if (f->quiet) control[UMFPACK_IRSTEP] = 0;
	Status st = right ? ST_OK : ST_NOMEM;
	for (int64_t k = 0; k < nright && st == ST_OK; k++) {
		memcpy(right, x + k * f->a.n, (size_t)f->a.n * sizeof *x);
		if (lib.umfpack_dl_solve(transposed ? UMFPACK_At : UMFPACK_A, f->a.start, f->a.row,
		                         f->a.values, x + k * f->a.n, right, f->um_numeric, control,
		                         NULL) < 0)
			st = ST_NOMEM;
	}
	free(right);
	return st;
}

static Status solve_with(Factors *f, bool transposed, int64_t nright, double *x, double *b) {
	cholmod_dense right = dense_view(f->a.n, nright, x);
	switch (f->method) {
	case FACTOR_QR: return solve_qr(f, transposed, nright, x, b);
	case FACTOR_CHOLMOD:
		return copy_dense(f, lib.cholmod_l_solve(CHOLMOD_A, f->cholesky, &right, &f->cholmod), x);
	case FACTOR_UMFPACK: return solve_umfpack(f, transposed, nright, x);
	default:
		return (transposed
		            ? klu_l_tsolve(f->klu_symbolic, f->klu_numeric, f->a.n, nright, x, &f->klu)
		            : klu_l_solve(f->klu_symbolic, f->klu_numeric, f->a.n, nright, x, &f->klu))
		           ? ST_OK
		           : ST_NOMEM;
	}
}

Status factors_solve(Ctx *c, const SparseMatrix *a, FactorMethod method, bool transposed,
                     int64_t nright, double *x, double *b) {
	Factors *f = take(a, method);
	Status st = ST_OK;
	if (f && !(f->numeric && same_values(&f->a, a))) {
		drop_numeric(f);
		memcpy(f->a.values, a->values, (size_t)a->start[a->n] * sizeof *a->values);
	}
	if (!f && !(f = factors_new(a, method))) return ST_NOMEM;
	if (f->numeric) count(&times_found);
	else {
		count(&times_made);
		st = make_factors(c, f);
		f->numeric = st == ST_OK;
	}
	if (st == ST_OK) st = solve_with(f, transposed, nright, x, b);
	if (st == ST_OK) put(f);
	else factors_free(f);
	return st;
}

/* ---- uncached factors ---------------------------------------------------- */

bool can_factor_multifrontal(void) {
	pthread_once(&once, open_libraries);
	return lib.umfpack;
}

Factors *factors_begin(const SparseMatrix *a, FactorMethod method) {
	Factors *f = factors_new(a, method);
	if (f) f->quiet = true;
	return f;
}

double *factors_values(Factors *f) { return f->a.values; }

Status factors_renew(Ctx *c, Factors *f, bool *singular) {
	drop_numeric(f);
	f->singular = false;
	const Status st = make_factors(c, f);
	f->numeric = st == ST_OK;
	*singular = f->singular;
	return st == ST_ERROR && f->singular ? ST_OK : st;
}

Status factors_apply(Factors *f, bool transposed, double *x) {
	return solve_with(f, transposed, 1, x, NULL);
}

void factors_end(Factors *f) { factors_free(f); }
