/* fftw.c - FFTW 3, double and single precision, opened at run time.
 *
 * Transforms complex lines, and real lines in double precision.
 *
 * Contract:
 * - fftw.h. Needs fftw3.h for types.
 * - FFTW's planner belongs to the process and is not re-entrant. The handles
 *   and the planner's lock are therefore process-wide (filled under
 *   pthread_once). Plans belong to a context.
 * - Plans are estimated, not measured: results would otherwise depend on
 *   timings.
 */
#include "backend/numlib/fftw.h"
#include "backend/numlib/detached_call.h"
#include "backend/kernels/half_complex.h"
#include "backend/kernels/sine_transform.h"
#include "lang/base/dynlib.h"
#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <sonames.h>
#include <stdatomic.h>
#include <string.h>

/* One precision: the same entry points under two prefixes. */
typedef struct Library {
	bool ready;
	const char *why;
	void *(*plan)(int rank, const fftw_iodim64 *dims, int howmany_rank, const fftw_iodim64 *howmany,
	              void *in, void *out, int sign, unsigned flags);
	void (*execute)(void *plan, void *in, void *out);
	void (*destroy)(void *plan);
	/* for real lines; only in double precision */
	void *(*plan_half)(int n, double *in, fftw_complex *out, unsigned flags);
	void *(*plan_from_half)(int n, fftw_complex *in, double *out, unsigned flags);
	void (*half)(void *plan, double *in, fftw_complex *out);
	void (*from_half)(void *plan, fftw_complex *in, double *out);
} Library;

static Library libraries[2]; /* double, single */
static pthread_once_t once[2] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void open_library(Library *l, const char *file, const char *why, const char *plan,
                         const char *execute, const char *destroy) {
	l->why = why;
	const DynName names[] = {
		{plan, &l->plan},
		{execute, &l->execute},
		{destroy, &l->destroy},
		{"fftw_plan_dft_r2c_1d", &l->plan_half},
		{"fftw_plan_dft_c2r_1d", &l->plan_from_half},
		{"fftw_execute_dft_r2c", &l->half},
		{"fftw_execute_dft_c2r", &l->from_half},
	};
	enum { COMPLEX = 3, ALL = sizeof names / sizeof *names };
	void *library = dynlib_open(file);
	l->ready = dynlib_find(&library, 1, names, l == &libraries[0] ? ALL : COMPLEX);
}

static void open_double(void) {
	open_library(&libraries[0], SONAME_FFTW,
	             "FFTW (" SONAME_FFTW ") cannot be loaded; the Debian package is libfftw3-double3",
	             "fftw_plan_guru64_dft", "fftw_execute_dft", "fftw_destroy_plan");
}

static void open_single(void) {
	open_library(&libraries[1], SONAME_FFTWF,
	             "FFTW (" SONAME_FFTWF ") cannot be loaded; the Debian package is libfftw3-single3",
	             "fftwf_plan_guru64_dft", "fftwf_execute_dft", "fftwf_destroy_plan");
}

/* ---- plans --------------------------------------------------------------- */

enum { KEPT = 32 };

typedef struct FftPlan {
	void *plan;
	bool single, inverse;
	int64_t n, inner, lines;
	uint64_t used; /* time of the last use, for eviction */
} FftPlan;

/* DST of n = m - 1 elements. m is halved while it is even and above TABLE; each
 * time one transform gives the odd k (sine_transform.h). */
typedef struct DstPlan {
	int lanes, splits;
	int64_t left;    /* m after all halvings */
	void **halves;   /* one transform for each halving, of m/2, m/4 ... */
	double *numbers; /* twiddle factors of the halvings in order, then the table */
} DstPlan;

struct FftRealPlan {
	void *plan;         /* DST: the transform of the remaining m, if any */
	void *complex_pair; /* FFT_FROM_HALF: transform of two lines as one complex line */
	FftReal kind;
	int64_t n;
	const Library *library;
	DstPlan dst;
	size_t workspace; /* workspace of a group, in doubles */
	size_t line;      /* part of it: one line's reals; for a DST, the rows */
	void *memory;     /* workspace of one group, with padding to align it to 64 bytes */
	uint64_t used;
};

struct FftPlans {
	FftPlan at[KEPT];
	FftRealPlan real[KEPT];
	uint64_t clock;
	bool failed; /* the last transform on a separate thread failed */
};

static void destroy(FftPlan *p) {
	if (!p->plan) return;
	pthread_mutex_lock(&planner);
	libraries[p->single].destroy(p->plan);
	pthread_mutex_unlock(&planner);
	p->plan = NULL;
}

static size_t memory_of(const FftRealPlan *p) { return p->workspace * sizeof(double) + 64; }

enum { TABLE = 8 }; /* a DST of fewer elements is computed by its definition */

static bool is_sines(const FftRealPlan *p) {
	return p->kind == FFT_DST || p->kind == FFT_INVERSE_DST;
}

/* Doubles for a DST: the twiddle factors take at most m/2 for the first
 * halving, m/4 for the next ... */
static size_t numbers_of(const FftRealPlan *p) { return (size_t)p->n + 1 + TABLE * TABLE; }

static void destroy_real(Ctx *c, FftRealPlan *p) {
	if (p->plan) {
		pthread_mutex_lock(&planner);
		p->library->destroy(p->plan);
		pthread_mutex_unlock(&planner);
	}
	if (p->complex_pair) {
		pthread_mutex_lock(&planner);
		p->library->destroy(p->complex_pair);
		pthread_mutex_unlock(&planner);
	}
	if (p->dst.halves) {
		pthread_mutex_lock(&planner);
		for (int k = 0; k < p->dst.splits; k++)
			if (p->dst.halves[k]) p->library->destroy(p->dst.halves[k]);
		pthread_mutex_unlock(&planner);
		heap_free(c, p->dst.halves, (size_t)p->dst.splits * sizeof(void *));
	}
	if (p->dst.numbers) heap_free(c, p->dst.numbers, numbers_of(p) * sizeof(double));
	if (p->memory) heap_free(c, p->memory, memory_of(p));
	*p = (FftRealPlan){0};
}

void fft_plans_free(Ctx *c, struct FftPlans *plans) {
	if (!plans) return;
	for (int i = 0; i < KEPT; i++) {
		destroy(&plans->at[i]);
		destroy_real(c, &plans->real[i]);
	}
	heap_free(c, plans, sizeof *plans);
}

/* A plan for all lines of one outer position; when inner is 1, for all outer
 * positions at once. */
static void *find_plan(struct FftPlans *plans, const Library *l, bool single, bool inverse,
                       int64_t n, int64_t inner, int64_t lines, const void *x, void *o) {
	FftPlan *oldest = &plans->at[0];
	for (int i = 0; i < KEPT; i++) {
		FftPlan *p = &plans->at[i];
		if (p->plan && p->single == single && p->inverse == inverse && p->n == n &&
		    p->inner == inner && p->lines == lines) {
			p->used = ++plans->clock;
			return p->plan;
		}
		if (!p->plan || (oldest->plan && p->used < oldest->used)) oldest = p;
	}
	destroy(oldest);
	const fftw_iodim64 dims = {.n = n, .is = inner, .os = inner};
	const int64_t step = inner == 1 ? n : 1;
	const fftw_iodim64 many = {.n = lines, .is = step, .os = step};
	pthread_mutex_lock(&planner);
	/* Estimating a plan does not access the arrays, and x is not written to. */
	void *plan =
		l->plan(1, &dims, 1, &many, (void *)(uintptr_t)x, o, inverse ? FFTW_BACKWARD : FFTW_FORWARD,
	            FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT);
	pthread_mutex_unlock(&planner);
	*oldest = (FftPlan){.plan = plan,
	                    .single = single,
	                    .inverse = inverse,
	                    .n = n,
	                    .inner = inner,
	                    .lines = lines,
	                    .used = ++plans->clock};
	return plan;
}

/* ---- long lines, on a separate thread ------------------------------------ */

enum { APART_FROM = 1 << 18, PIECE_POINTS = 1 << 18 };

typedef struct FftJob {
	const Library *library;
	bool inverse, failed;
	int64_t outer, n, inner;
	Tensor *x, *o;
	size_t size;
	atomic_bool stop;
	struct FftPlans *plans;
} FftJob;

/* Transforms one line after another, with a plan of its own, since planning
 * takes long too. It checks for cancellation between lines. */
static void transform_apart(void *ud) {
	FftJob *j = ud;
	const fftw_iodim64 dims = {.n = j->n, .is = j->inner, .os = j->inner};
	pthread_mutex_lock(&planner);
	void *plan = j->library->plan(1, &dims, 0, NULL, j->x->data, j->o->data,
	                              j->inverse ? FFTW_BACKWARD : FFTW_FORWARD,
	                              FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT);
	pthread_mutex_unlock(&planner);
	j->failed = !plan;
	for (int64_t i = 0; plan && i < j->outer; i++)
		for (int64_t k = 0; k < j->inner && !atomic_load(&j->stop); k++) {
			const size_t from = (size_t)(i * j->n * j->inner + k) * j->size;
			j->library->execute(plan, (char *)j->x->data + from, (char *)j->o->data + from);
		}
	pthread_mutex_lock(&planner);
	if (plan) j->library->destroy(plan);
	pthread_mutex_unlock(&planner);
}

static void release_job(Ctx *c, void *ud) {
	FftJob *j = ud;
	j->plans->failed = j->failed;
	tensor_unref(j->x);
	tensor_unref(j->o);
	heap_free(c, j, sizeof *j);
}

/* ---- real lines ---------------------------------------------------------- */

/* Workspace of a group: FFT_GROUP lines of reals, each on its own cache lines,
 * and the complex values of one transform. For a DST: m rows, the rows of a
 * transform, and m rows of results. */
static void lay_out(FftRealPlan *p) {
	const int64_t m = p->n + 1, left = p->dst.left;
	if (is_sines(p)) {
		const int64_t wide = p->dst.splits && m > 4 * left ? m / 2 : 2 * left;
		p->line = (size_t)(m * p->dst.lanes);
		p->workspace = 2 * p->line + (size_t)(wide * p->dst.lanes);
		return;
	}
	p->line = (size_t)(p->n + 7) / 8 * 8;
	p->workspace = FFT_GROUP * p->line + 2 * p->line + 8;
}

double *fft_real_own(const FftRealPlan *p) {
	return (double *)(((uintptr_t)p->memory + 63) & ~(uintptr_t)63);
}
size_t fft_real_workspace(const FftRealPlan *p) { return p->workspace; }

/* A plan for rows, whose pairs of lanes are complex values. */
static void *plan_rows(const FftRealPlan *p, int64_t n, double *x, double *o, int sign) {
	const int pairs = p->dst.lanes / 2;
	const fftw_iodim64 dims = {.n = n, .is = pairs, .os = pairs},
					   many = {.n = pairs, .is = 1, .os = 1};
	return p->library->plan(1, &dims, pairs > 1, &many, x, o, sign,
	                        FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
}

static bool make_sines(Ctx *c, FftRealPlan *p) {
	DstPlan *s = &p->dst;
	const double pi = 3.14159265358979323846;
	if (s->splits) {
		s->halves = heap_alloc(c, (size_t)s->splits * sizeof(void *));
		if (!s->halves) return false;
		memset(s->halves, 0, (size_t)s->splits * sizeof(void *));
	}
	s->numbers = heap_alloc(c, numbers_of(p) * sizeof(double));
	if (!s->numbers) return false;
	double *at = s->numbers, *rows = fft_real_own(p), *waves = rows + p->line;
	int64_t m = p->n + 1;
	bool fine = true;
	for (int k = 0; k < s->splits; k++, m /= 2) {
		for (int64_t j = 1; 4 * j <= m; j++) {
			*at++ = 0.5 * cos(pi * (double)j / (double)m);
			*at++ = 0.5 * sin(pi * (double)j / (double)m);
		}
		pthread_mutex_lock(&planner);
		s->halves[k] = plan_rows(p, m / 2, waves, rows + m / 2 * s->lanes, FFTW_BACKWARD);
		pthread_mutex_unlock(&planner);
		fine = fine && s->halves[k];
	}
	if (m <= TABLE) {
		for (int64_t k = 1; k < m; k++)
			for (int64_t j = 1; j < m; j++) *at++ = sin(pi * (double)(j * k % (2 * m)) / (double)m);
		return fine;
	}
	pthread_mutex_lock(&planner);
	p->plan = plan_rows(p, 2 * m, waves, waves, FFTW_FORWARD);
	pthread_mutex_unlock(&planner);
	return fine && p->plan;
}

static bool make_real(Ctx *c, FftRealPlan *p) {
	p->memory = NULL;
	lay_out(p);
	p->memory = heap_alloc(c, memory_of(p));
	if (!p->memory) return false;
	if (is_sines(p)) return make_sines(c, p);
	double *workspace = fft_real_own(p);
	fftw_complex *z = (fftw_complex *)(void *)(workspace + FFT_GROUP * p->line);
	const unsigned flags = FFTW_ESTIMATE | FFTW_DESTROY_INPUT;
	pthread_mutex_lock(&planner);
	if (p->kind == FFT_HALF) p->plan = p->library->plan_half((int)p->n, workspace, z, flags);
	else {
		const fftw_iodim64 dims = {.n = p->n, .is = 1, .os = 1};
		p->plan = p->library->plan_from_half((int)p->n, z, workspace, flags);
		p->complex_pair = p->library->plan(1, &dims, 0, NULL, z, workspace, FFTW_BACKWARD, flags);
	}
	pthread_mutex_unlock(&planner);
	return p->plan && (p->complex_pair || p->kind != FFT_FROM_HALF);
}

const FftRealPlan *fft_real_plan(Ctx *c, struct FftPlans **plans, FftReal kind, int64_t n,
                                 int64_t lines, const char **why) {
	const Library *l = &libraries[0];
	pthread_once(&once[0], open_double);
	*why = NULL;
	if (!l->ready) {
		*why = l->why;
		return NULL;
	}
	if (n > INT32_MAX / 4) {
		*why = "a line is too long for a transform of real numbers";
		return NULL;
	}
	if (!*plans) {
		*plans = heap_alloc(c, sizeof **plans);
		if (!*plans) return NULL;
		memset(*plans, 0, sizeof **plans);
	}
	const bool dst = kind == FFT_DST || kind == FFT_INVERSE_DST;
	const int lanes = !dst ? 0 : lines > 2 ? FFT_GROUP : 2;
	FftRealPlan *oldest = &(*plans)->real[0];
	for (int i = 0; i < KEPT; i++) {
		FftRealPlan *p = &(*plans)->real[i];
		if (p->memory && p->kind == kind && p->n == n && p->dst.lanes == lanes) {
			p->used = ++(*plans)->clock;
			return p;
		}
		if (!p->memory || (oldest->memory && p->used < oldest->used)) oldest = p;
	}
	destroy_real(c, oldest);
	*oldest = (FftRealPlan){.kind = kind,
	                        .n = n,
	                        .library = l,
	                        .used = ++(*plans)->clock,
	                        .dst.lanes = lanes,
	                        .dst.left = n + 1};
	for (; dst && oldest->dst.left > TABLE && oldest->dst.left % 2 == 0; oldest->dst.left /= 2)
		oldest->dst.splits++;
	if (make_real(c, oldest)) return oldest;
	destroy_real(c, oldest);
	return NULL;
}

/* From re, im, re, im ... to half-complex layout, and back. */
static void spread(int64_t n, const double *restrict z, double *restrict o, int64_t step) {
	for (int64_t k = 0; k <= n / 2; k++) o[k * step] = z[2 * k];
	double *restrict back = o + n * step;
	for (int64_t k = 1; 2 * k < n; k++) back[-k * step] = z[2 * k + 1];
}

static void interleave(int64_t n, const double *restrict x, int64_t step, double *restrict z) {
	const double by = 1.0 / (double)n;
	const double *back = x + n * step;
	z[0] = by * x[0];
	z[1] = 0;
	for (int64_t k = 1; 2 * k < n; k++) {
		z[2 * k] = by * x[k * step];
		z[2 * k + 1] = by * back[-k * step];
	}
	if (n % 2) return;
	z[n] = by * x[n / 2 * step];
	z[n + 1] = 0;
}

/* The modes of x + i y from the half-complex modes of both. */
static void interleave_pair(int64_t n, const double *restrict x, const double *restrict y,
                            int64_t step, double *restrict z) {
	const double by = 1.0 / (double)n;
	z[0] = by * x[0];
	z[1] = by * y[0];
	for (int64_t k = 1; 2 * k < n; k++) {
		const double a = by * x[k * step], b = by * x[(n - k) * step], c = by * y[k * step],
					 d = by * y[(n - k) * step];
		z[2 * k] = a - d;
		z[2 * k + 1] = b + c;
		z[2 * (n - k)] = a + d;
		z[2 * (n - k) + 1] = c - b;
	}
	if (n % 2) return;
	z[n] = by * x[n / 2 * step];
	z[n + 1] = by * y[n / 2 * step];
}

/* Results are written in place when the lines of a full group are adjacent;
 * otherwise to separate rows, from which they are copied. */
static void dst(const FftRealPlan *p, int lines, int64_t step, int64_t apart, const double *x,
                double *o, double *workspace) {
	const DstPlan *s = &p->dst;
	const bool placed = lines == s->lanes && apart == 1;
	double *rows = workspace, *waves = rows + p->line,
		   *results = workspace + p->workspace - p->line, *to = placed ? o : results + s->lanes;
	const double *numbers = s->numbers;
	const int64_t to_step = placed ? step : s->lanes;
	int64_t m = p->n + 1, every = 1;
	dst_load(s->lanes, lines, m, step, apart, x, p->kind == FFT_DST ? 2 : 1.0 / (double)m, rows);
	for (int k = 0; k < s->splits; k++, m /= 2, every *= 2) {
		double *back = rows + m / 2 * s->lanes;
		dst_split(s->lanes, m, rows, waves, numbers);
		p->library->execute(s->halves[k], waves, back);
		dst_odd(s->lanes, m / 2, back, every, to, to_step);
		numbers += m / 4 * 2;
	}
	if (m <= TABLE) dst_by_table(s->lanes, m, rows, numbers, every, to, to_step);
	else {
		dst_continue(s->lanes, m, rows, waves);
		p->library->execute(p->plan, waves, waves);
		dst_from_continued(s->lanes, m, waves, every, to, to_step);
	}
	if (!placed) dst_store(s->lanes, lines, p->n + 1, step, apart, results, o);
}

void fft_real_lines(const FftRealPlan *p, int lines, int64_t step, int64_t apart, const double *x,
                    double *o, double *workspace) {
	const int64_t n = p->n;
	double *z = workspace + FFT_GROUP * p->line;
	if (is_sines(p)) {
		dst(p, lines, step, apart, x, o, workspace);
		return;
	}
	const size_t line = p->line, bytes = (size_t)n * sizeof *x;
	if (p->kind == FFT_HALF) {
		if (step == 1)
			for (int i = 0; i < lines; i++)
				memcpy(workspace + (size_t)i * line, x + i * apart, bytes);
		else
			for (int64_t j = 0; j < n; j++)
				for (int i = 0; i < lines; i++)
					workspace[(size_t)i * line + (size_t)j] = x[j * step + i * apart];
		for (int i = 0; i < lines; i++) {
			p->library->half(p->plan, workspace + (size_t)i * line, (fftw_complex *)(void *)z);
			if (step == 1) half_complex_spread(n, z, o + i * apart);
			else spread(n, z, o + i * apart, step);
		}
		return;
	}
	/* Two lines are the real and imaginary part of one complex line in
	 * workspace; an odd last line is transformed alone. The literal step of 1
	 * lets the compiler specialise the call. */
	for (int i = 0; i < lines; i += 2) {
		double *to = workspace + (size_t)i * line;
		const double *from = x + i * apart;
		if (i + 1 == lines) {
			if (step == 1) interleave(n, from, 1, z);
			else interleave(n, from, step, z);
			p->library->from_half(p->plan, (fftw_complex *)(void *)z, to);
			continue;
		}
		if (step == 1) half_complex_interleave_pair(n, from, from + apart, z);
		else interleave_pair(n, from, from + apart, step, z);
		p->library->execute(p->complex_pair, z, to);
	}
	for (int i = 0; i < lines; i += 2) {
		const double *from = workspace + (size_t)i * line;
		double *a = o + i * apart, *b = a + apart;
		if (i + 1 == lines && step == 1) memcpy(a, from, bytes);
		else if (i + 1 == lines)
			for (int64_t j = 0; j < n; j++) a[j * step] = from[j];
		else if (step == 1) half_complex_split(n, from, a, b);
		else
			for (int64_t j = 0; j < n; j++) {
				a[j * step] = from[2 * j];
				b[j * step] = from[2 * j + 1];
			}
	}
}

Status fft_lines(Ctx *c, struct FftPlans **plans, Dtype d, bool inverse, int64_t outer, int64_t n,
                 int64_t inner, Tensor *x, Tensor *o, const char **why) {
	const bool single = d == DT_C64;
	const Library *l = &libraries[single];
	const size_t size = dtype_size(d);
	pthread_once(&once[single], single ? open_single : open_double);
	*why = l->why;
	if (!l->ready) return ST_ERROR;
	if (!*plans) {
		*plans = heap_alloc(c, sizeof **plans);
		if (!*plans) return ST_NOMEM;
		memset(*plans, 0, sizeof **plans);
	}
	if (n >= APART_FROM) {
		FftJob *j = heap_alloc(c, sizeof *j);
		if (!j) return ST_NOMEM;
		*j = (FftJob){.library = l,
		              .inverse = inverse,
		              .outer = outer,
		              .n = n,
		              .inner = inner,
		              .x = tensor_ref(x),
		              .o = tensor_ref(o),
		              .size = size,
		              .plans = *plans};
		const Status st = detached_call(c, transform_apart, j, &j->stop, release_job);
		return st == ST_OK && (*plans)->failed ? ST_NOMEM : st;
	}
	/* As many lines at a time as make a piece; a poll between pieces. */
	const int64_t lines = inner == 1 ? outer : inner, batches = inner == 1 ? 1 : outer,
				  step = inner == 1 ? n : 1;
	const int64_t most = PIECE_POINTS / n < lines ? PIECE_POINTS / n : lines;
	for (int64_t i = 0; i < batches; i++)
		for (int64_t k = 0; k < lines; k += most) {
			const int64_t now = lines - k < most ? lines - k : most;
			const size_t from = (size_t)(i * n * inner + k * step) * size;
			void *plan = find_plan(*plans, l, single, inverse, n, inner, now, x->data, o->data);
			if (!plan) return ST_NOMEM;
			l->execute(plan, (char *)x->data + from, (char *)o->data + from);
			const Status st = lines * batches > most ? ctx_poll(c, 0) : ST_OK;
			if (st != ST_OK) return st;
		}
	return ST_OK;
}
