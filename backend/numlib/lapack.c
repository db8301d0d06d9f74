/* lapack.c - LAPACK's Fortran entry points, from the library of blas.c.
 *
 * Contract: lapack.h. Needs blas.h and detached_call.h. Calls pass Fortran's
 * hidden string lengths, as gfortran's convention requires.
 */
#include "backend/numlib/lapack.h"
#include "backend/numlib/detached_call.h"
#include "backend/numlib/blas.h"
#include <complex.h>
#include <stdlib.h>
#include <string.h>
#undef I

const char *lapack_why(void) {
	const char *why = "the BLAS library has no LAPACK; the Debian package is libopenblas0";
	blas_open(&why);
	return why;
}

/* The entry point for a dtype: s, d, c or z before the name. If it is missing,
 * returns NULL and sets *info. */
static void *entry(Dtype d, const char *real, const char *complex_name, int *info) {
	char name[16];
	name[0] = d == DT_F32 ? 's' : d == DT_F64 ? 'd' : d == DT_C64 ? 'c' : 'z';
	strncpy(name + 1, dtype_is_complex(d) ? complex_name : real, sizeof name - 2);
	name[sizeof name - 1] = 0;
	void *fn = blas_symbol(name);
	*info = fn ? 0 : LAPACK_MISSING;
	return fn;
}

/* The workspace size that a query stored in the first element. */
static int asked(Dtype d, const void *first) {
	const double x = d == DT_F32 || d == DT_C64 ? *(const float *)first : *(const double *)first;
	return x < 1 ? 1 : (int)x;
}

/* On a separate thread (c NULL) a call must not use the context's memory. */
static void *work_space(Ctx *c, size_t bytes) { return c ? heap_alloc(c, bytes) : malloc(bytes); }

static void work_done(Ctx *c, void *work, size_t bytes) {
	if (c) heap_free(c, work, bytes);
	else free(work);
}

static Status outcome(int info) { return info ? ST_ERROR : ST_OK; }

Status lapack_cholesky_upper(Ctx *c, Dtype d, int n, void *m, int *info) {
	(void)c;
	void (*potrf)(const char *, const int *, void *, const int *, int *, size_t) = NULL;
	if (!(*(void **)&potrf = entry(d, "potrf_", "potrf_", info))) return ST_ERROR;
	potrf("U", &n, m, &n, info, 1);
	return outcome(*info);
}

Status lapack_lu(Ctx *c, Dtype d, int rows, int columns, void *m, int *pivots, int *info) {
	(void)c;
	void (*getrf)(const int *, const int *, void *, const int *, int *, int *) = NULL;
	if (!(*(void **)&getrf = entry(d, "getrf_", "getrf_", info))) return ST_ERROR;
	getrf(&rows, &columns, m, &rows, pivots, info);
	return outcome(*info);
}

/* geqrt's panels are recursive, so they consist of matrix products, unlike
 * geqrf's. Its reflectors are those of geqrf, whose factors are on the
 * diagonals of the panels' triangles. */
Status lapack_qr_open(Dtype d, LapackQr *q, int *info) {
	*q = (LapackQr){.d = d};
	if (!(q->geqrt = entry(d, "geqrt_", "geqrt_", info)) ||
	    !(q->larfb = entry(d, "larfb_", "larfb_", info)) ||
	    !(q->orgqr = entry(d, "orgqr_", "ungqr_", info)))
		return ST_ERROR;
	return ST_OK;
}

Status lapack_qr_panel(const LapackQr *q, int rows, int b, void *m, int leading, void *t,
                       void *work, int *info) {
	void (*geqrt)(const int *, const int *, const int *, void *, const int *, void *, const int *,
	              void *, int *) = NULL;
	*(void **)&geqrt = q->geqrt;
	geqrt(&rows, &b, &b, m, &leading, t, &b, work, info);
	return outcome(*info);
}

void lapack_reflect(const LapackQr *q, bool adjoint, int rows, int n, int b, const void *v,
                    const void *t, void *o, int leading, void *work) {
	void (*larfb)(const char *, const char *, const char *, const char *, const int *, const int *,
	              const int *, const void *, const int *, const void *, const int *, void *,
	              const int *, void *, const int *, size_t, size_t, size_t, size_t) = NULL;
	*(void **)&larfb = q->larfb;
	larfb("L",
	      !adjoint                 ? "N"
	      : dtype_is_complex(q->d) ? "C"
	                               : "T",
	      "F", "C", &rows, &n, &b, v, &leading, t, &b, o, &leading, work, &n, 1, 1, 1, 1);
}

Status lapack_form_panel(const LapackQr *q, int rows, int b, void *m, int leading, const void *t,
                         void *work, int *info) {
	void (*orgqr)(const int *, const int *, const int *, void *, const int *, const void *, void *,
	              const int *, int *) = NULL;
	*(void **)&orgqr = q->orgqr;
	const size_t size = dtype_size(q->d);
	char *tau = (char *)work + (size_t)b * (size_t)b * size;
	for (int j = 0; j < b; j++)
		memcpy(tau + (size_t)j * size, (const char *)t + ((size_t)j * (size_t)b + (size_t)j) * size,
		       size);
	const int have = b * b;
	orgqr(&rows, &b, &b, m, &leading, tau, work, &have, info);
	return outcome(*info);
}

static Status eigh_upper(Ctx *c, Dtype d, int n, void *m, void *w, int *info) {
	typedef void (*Syevd)(const char *, const char *, const int *, void *, const int *, void *,
	                      void *, const int *, int *, const int *, int *, size_t, size_t);
	typedef void (*Heevd)(const char *, const char *, const int *, void *, const int *, void *,
	                      void *, const int *, void *, const int *, int *, const int *, int *,
	                      size_t, size_t);
	Syevd syevd = NULL;
	Heevd heevd = NULL;
	const bool is_complex = dtype_is_complex(d);
	void *found = entry(d, "syevd_", "heevd_", info);
	if (!found) return ST_ERROR;
	if (is_complex) *(void **)&heevd = found;
	else *(void **)&syevd = found;
	_Alignas(16) char query[16], query_real[8];
	int want = -1, query_int = 0;
	const Dtype real = dtype_real_of(d);
	if (is_complex)
		heevd("V", "U", &n, m, &n, w, query, &want, query_real, &want, &query_int, &want, info, 1,
		      1);
	else syevd("V", "U", &n, m, &n, w, query, &want, &query_int, &want, info, 1, 1);
	if (*info) return ST_ERROR;
	const int nwork = asked(d, query), nreal = is_complex ? asked(real, query_real) : 0,
			  nint = query_int;
	const size_t bytes = (size_t)nwork * dtype_size(d) + (size_t)nreal * dtype_size(real) +
	                     (size_t)nint * sizeof(int) + dtype_read_behind(d, n);
	char *work = work_space(c, bytes);
	if (!work) return ST_NOMEM;
	char *real_work = work + (size_t)nwork * dtype_size(d);
	int *int_work = (int *)(void *)(real_work + (size_t)nreal * dtype_size(real));
	if (is_complex)
		heevd("V", "U", &n, m, &n, w, work, &nwork, real_work, &nreal, int_work, &nint, info, 1, 1);
	else syevd("V", "U", &n, m, &n, w, work, &nwork, int_work, &nint, info, 1, 1);
	work_done(c, work, bytes);
	return outcome(*info);
}

/* A real matrix has its complex eigenvalues in conjugate pairs. LAPACK returns
 * a pair's vector as its real and imaginary part in two columns. */
#define PAIRS_TO_COMPLEX(T)                                                                        \
	do {                                                                                           \
		const T *re = wr, *im = wi, *vr = real_vectors;                                            \
		T _Complex *values = w, *vectors = v;                                                      \
		for (int j = 0; j < n; j++) {                                                              \
			values[j] = __builtin_complex(re[j], im[j]);                                           \
			const bool pair = im[j] != 0 && j + 1 < n;                                             \
			for (int i = 0; i < n; i++) {                                                          \
				const T a = vr[(size_t)j * (size_t)n + (size_t)i];                                 \
				const T b = pair ? vr[((size_t)j + 1) * (size_t)n + (size_t)i] : 0;                \
				vectors[(size_t)j * (size_t)n + (size_t)i] = __builtin_complex(a, b);              \
				if (pair)                                                                          \
					vectors[((size_t)j + 1) * (size_t)n + (size_t)i] = __builtin_complex(a, -b);   \
			}                                                                                      \
			if (!pair) continue;                                                                   \
			values[j + 1] = __builtin_complex(re[j + 1], im[j + 1]);                               \
			j++;                                                                                   \
		}                                                                                          \
	} while (0)

static Status eig(Ctx *c, Dtype d, int n, void *m, void *w, void *v, int *info) {
	typedef void (*Geev)(const char *, const char *, const int *, void *, const int *, void *,
	                     void *, void *, const int *, void *, const int *, void *, const int *,
	                     int *, size_t, size_t);
	typedef void (*ComplexGeev)(const char *, const char *, const int *, void *, const int *,
	                            void *, void *, const int *, void *, const int *, void *,
	                            const int *, void *, int *, size_t, size_t);
	Geev geev = NULL;
	ComplexGeev complex_geev = NULL;
	const bool is_complex = dtype_is_complex(d);
	void *found = entry(d, "geev_", "geev_", info);
	if (!found) return ST_ERROR;
	if (is_complex) *(void **)&complex_geev = found;
	else *(void **)&geev = found;
	_Alignas(16) char query[16], unused[16]; /* a query may write to any array */
	int want = -1, one = 1;
	if (is_complex)
		complex_geev("N", "V", &n, m, &n, w, unused, &one, v, &n, query, &want, unused, info, 1, 1);
	else geev("N", "V", &n, m, &n, unused, unused, unused, &one, v, &n, query, &want, info, 1, 1);
	if (*info) return ST_ERROR;
	const int nwork = asked(d, query);
	const size_t size = dtype_size(d), count = (size_t)n;
	const size_t extra =
		is_complex ? 2 * count * dtype_size(dtype_real_of(d)) : (2 * count + count * count) * size;
	const size_t bytes = (size_t)nwork * size + extra + dtype_read_behind(d, n);
	char *work = work_space(c, bytes);
	if (!work) return ST_NOMEM;
	if (is_complex) {
		complex_geev("N", "V", &n, m, &n, w, unused, &one, v, &n, work, &nwork,
		             work + (size_t)nwork * size, info, 1, 1);
	} else {
		void *wr = work + (size_t)nwork * size, *wi = (char *)wr + count * size,
			 *real_vectors = (char *)wi + count * size;
		geev("N", "V", &n, m, &n, wr, wi, unused, &one, real_vectors, &n, work, &nwork, info, 1, 1);
		if (!*info && d == DT_F32) PAIRS_TO_COMPLEX(float);
		else if (!*info) PAIRS_TO_COMPLEX(double);
	}
	work_done(c, work, bytes);
	return outcome(*info);
}

static Status svd(Ctx *c, Dtype d, int rows, int columns, void *m, void *u, void *s, void *vh,
                  int *info) {
	typedef void (*Gesdd)(const char *, const int *, const int *, void *, const int *, void *,
	                      void *, const int *, void *, const int *, void *, const int *, int *,
	                      int *, size_t);
	typedef void (*ComplexGesdd)(const char *, const int *, const int *, void *, const int *,
	                             void *, void *, const int *, void *, const int *, void *,
	                             const int *, void *, int *, int *, size_t);
	Gesdd gesdd = NULL;
	ComplexGesdd complex_gesdd = NULL;
	const bool is_complex = dtype_is_complex(d);
	void *found = entry(d, "gesdd_", "gesdd_", info);
	if (!found) return ST_ERROR;
	if (is_complex) *(void **)&complex_gesdd = found;
	else *(void **)&gesdd = found;
	const int k = rows < columns ? rows : columns, most = rows < columns ? columns : rows;
	_Alignas(16) char query[16], unused[16];
	int want = -1;
	if (is_complex)
		complex_gesdd("S", &rows, &columns, m, &rows, s, u, &rows, vh, &k, query, &want, unused,
		              (int *)(void *)unused, info, 1);
	else
		gesdd("S", &rows, &columns, m, &rows, s, u, &rows, vh, &k, query, &want,
		      (int *)(void *)unused, info, 1);
	if (*info) return ST_ERROR;
	const int nwork = asked(d, query);
	/* LAPACK's own bound for the real workspace of the complex routine. */
	const size_t small = (size_t)k, large = (size_t)most;
	const size_t nreal =
		is_complex ? small * (5 * small + 7 > 2 * large + 2 * small + 1 ? 5 * small + 7
	                                                                    : 2 * large + 2 * small + 1)
				   : 0;
	const size_t real_bytes = nreal * dtype_size(dtype_real_of(d));
	const size_t bytes = (size_t)nwork * dtype_size(d) + real_bytes + 8 * small * sizeof(int) +
	                     dtype_read_behind(d, most);
	char *work = work_space(c, bytes);
	if (!work) return ST_NOMEM;
	char *real_work = work + (size_t)nwork * dtype_size(d);
	int *int_work = (int *)(void *)(real_work + real_bytes);
	if (is_complex)
		complex_gesdd("S", &rows, &columns, m, &rows, s, u, &rows, vh, &k, work, &nwork, real_work,
		              int_work, info, 1);
	else
		gesdd("S", &rows, &columns, m, &rows, s, u, &rows, vh, &k, work, &nwork, int_work, info, 1);
	work_done(c, work, bytes);
	return outcome(*info);
}

/* ---- calls on separate threads ------------------------------------------- */

#define APART_FROM (1 << 24) /* multiplications, roughly */
enum { ARRAYS = 4 };

typedef enum LapackRoutine { EIGH, EIG, SVD } LapackRoutine;

/* A call on copies of its arrays, so that it can finish in the background after
 * a cancellation. */
typedef struct LapackCall {
	atomic_bool stop;
	LapackRoutine routine;
	Dtype d;
	int rows, columns, info, *to_info;
	Status st, *to_st;
	void *to[ARRAYS], *array[ARRAYS];
	size_t bytes[ARRAYS], all;
} LapackCall;

static Status make_call(Ctx *c, LapackRoutine routine, Dtype d, int rows, int columns,
                        void *const *a, int *info) {
	switch (routine) {
	case EIGH: return eigh_upper(c, d, rows, a[0], a[1], info);
	case EIG: return eig(c, d, rows, a[0], a[1], a[2], info);
	case SVD: break;
	}
	return svd(c, d, rows, columns, a[0], a[1], a[2], a[3], info);
}

static void call_apart(void *ud) {
	LapackCall *k = ud;
	k->st = make_call(NULL, k->routine, k->d, k->rows, k->columns, k->array, &k->info);
}

static void release_call(Ctx *c, void *ud) {
	LapackCall *k = ud;
	if (!atomic_load(&k->stop)) { /* the caller still waits */
		for (int i = 0; i < ARRAYS; i++)
			if (k->bytes[i]) memcpy(k->to[i], k->array[i], k->bytes[i]);
		*k->to_info = k->info;
		*k->to_st = k->st;
	}
	heap_free(c, k, k->all);
}

/* bytes: sizes of the arrays, 0 where there is none. The first is read and
 * written, the others are only written. */
static Status call(Ctx *c, LapackRoutine routine, Dtype d, int rows, int columns,
                   void *const to[ARRAYS], const size_t bytes[ARRAYS], int *info) {
	const double least = rows < columns ? rows : columns;
	if ((double)rows * (double)columns * least < APART_FROM)
		return make_call(c, routine, d, rows, columns, to, info);
	size_t all = (sizeof(LapackCall) + 63) / 64 * 64, at = all;
	for (int i = 0; i < ARRAYS; i++) all += (bytes[i] + 63) / 64 * 64;
	all += dtype_read_behind(d, rows > columns ? rows : columns);
	LapackCall *k = heap_alloc(c, all);
	if (!k) return ST_NOMEM;
	Status st = ST_OK;
	*k = (LapackCall){.routine = routine,
	                  .d = d,
	                  .rows = rows,
	                  .columns = columns,
	                  .to_info = info,
	                  .to_st = &st,
	                  .all = all};
	for (int i = 0; i < ARRAYS; i++) {
		k->to[i] = to[i];
		k->bytes[i] = bytes[i];
		k->array[i] = (char *)k + at;
		at += (bytes[i] + 63) / 64 * 64;
	}
	memcpy(k->array[0], to[0], bytes[0]);
	const Status polled = detached_call(c, call_apart, k, &k->stop, release_call);
	return polled == ST_OK ? st : polled;
}

static size_t matrix_bytes(Dtype d, int rows, int columns) {
	return (size_t)rows * (size_t)columns * dtype_size(d);
}

Status lapack_eigh_upper(Ctx *c, Dtype d, int n, void *m, void *w, int *info) {
	const size_t bytes[ARRAYS] = {matrix_bytes(d, n, n), matrix_bytes(dtype_real_of(d), n, 1)};
	return call(c, EIGH, d, n, n, (void *[ARRAYS]){m, w}, bytes, info);
}

Status lapack_eig(Ctx *c, Dtype d, int n, void *m, void *w, void *v, int *info) {
	const Dtype of = dtype_real_of(d) == DT_F32 ? DT_C64 : DT_C128;
	const size_t bytes[ARRAYS] = {matrix_bytes(d, n, n), matrix_bytes(of, n, 1),
	                              matrix_bytes(of, n, n)};
	return call(c, EIG, d, n, n, (void *[ARRAYS]){m, w, v}, bytes, info);
}

Status lapack_svd(Ctx *c, Dtype d, int rows, int columns, void *m, void *u, void *s, void *vh,
                  int *info) {
	const int k = rows < columns ? rows : columns;
	const size_t bytes[ARRAYS] = {matrix_bytes(d, rows, columns), matrix_bytes(d, rows, k),
	                              matrix_bytes(dtype_real_of(d), k, 1),
	                              matrix_bytes(d, k, columns)};
	return call(c, SVD, d, rows, columns, (void *[ARRAYS]){m, u, s, vh}, bytes, info);
}
