/* fft.c - FFTW 3, double and single, opened at run time.
 *
 * Needs: fftw3.h for types. FFTW's planner is a thing of the process and not re-entrant, so the handles and the
 * planner's lock are process-wide (filled under pthread_once); plans belong to a context. Plans are estimated, not
 * measured: a measurement would make results depend on the machine's mood.
 */
#include "backend/fft.h"
#include "backend/apart.h"
#include <dlfcn.h>
#include <fftw3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* One precision: the same entry points under two prefixes. */
typedef struct Library {
	bool ready;
	const char *why;
	void *(*plan)(int rank, const fftw_iodim64 *dims, int howmany_rank, const fftw_iodim64 *howmany, void *in, void *out,
	              int sign, unsigned flags);
	void (*execute)(void *plan, void *in, void *out);
	void (*destroy)(void *plan);
} Library;

static Library libraries[2]; /* double, single */
static pthread_once_t once[2] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void open_library(Library *l, const char *file, const char *why, const char *plan, const char *execute, const char *destroy) {
	l->why = why;
	void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
	if (!library) return;
	*(void **)&l->plan = dlsym(library, plan);
	*(void **)&l->execute = dlsym(library, execute);
	*(void **)&l->destroy = dlsym(library, destroy);
	l->ready = l->plan && l->execute && l->destroy;
}

static void open_double(void) {
	open_library(&libraries[0], "libfftw3.so.3", "FFTW (libfftw3.so.3) cannot be loaded; the Debian package is libfftw3-double3",
	             "fftw_plan_guru64_dft", "fftw_execute_dft", "fftw_destroy_plan");
}

static void open_single(void) {
	open_library(&libraries[1], "libfftw3f.so.3", "FFTW (libfftw3f.so.3) cannot be loaded; the Debian package is libfftw3-single3",
	             "fftwf_plan_guru64_dft", "fftwf_execute_dft", "fftwf_destroy_plan");
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

enum { KEPT = 32 };

typedef struct Plan {
	void *plan;
	bool single, inverse;
	int64_t n, inner, lines;
	uint64_t used; /* when, to know the oldest */
} Plan;

struct FftPlans {
	Plan at[KEPT];
	uint64_t clock;
	bool failed; /* the last transform that ran apart */
};

static void destroy(Plan *p) {
	if (!p->plan) return;
	pthread_mutex_lock(&planner);
	libraries[p->single].destroy(p->plan);
	pthread_mutex_unlock(&planner);
	p->plan = NULL;
}

void fft_plans_free(Ctx *c, struct FftPlans *plans) {
	if (!plans) return;
	for (int i = 0; i < KEPT; i++) destroy(&plans->at[i]);
	heap_free(c, plans, sizeof *plans);
}

/* A plan for all lines of one outer position; when inner is 1, for all outer positions at once. */
static void *find_plan(struct FftPlans *plans, const Library *l, bool single, bool inverse, int64_t n, int64_t inner, int64_t lines,
                       const void *x, void *o) {
	Plan *oldest = &plans->at[0];
	for (int i = 0; i < KEPT; i++) {
		Plan *p = &plans->at[i];
		if (p->plan && p->single == single && p->inverse == inverse && p->n == n && p->inner == inner && p->lines == lines) {
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
	/* Estimated plans do not touch the arrays; x is not written to. */
	void *plan = l->plan(1, &dims, 1, &many, (void *)(uintptr_t)x, o, inverse ? FFTW_BACKWARD : FFTW_FORWARD,
	                     FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT);
	pthread_mutex_unlock(&planner);
	*oldest = (Plan){.plan = plan, .single = single, .inverse = inverse, .n = n, .inner = inner, .lines = lines, .used = ++plans->clock};
	return plan;
}

/* ---- long lines, apart ------------------------------------------------------------------------------------------- */

enum { APART_FROM = 1 << 18, PIECE_POINTS = 1 << 18 };

typedef struct Job {
	const Library *library;
	bool inverse, failed;
	int64_t outer, n, inner;
	Tensor *x, *o;
	size_t size;
	atomic_bool stop;
	struct FftPlans *plans;
} Job;

/* One line after another, with a plan of its own: planning takes long, too. It stops between lines where it can. */
static void transform_apart(void *ud) {
	Job *j = ud;
	const fftw_iodim64 dims = {.n = j->n, .is = j->inner, .os = j->inner};
	pthread_mutex_lock(&planner);
	void *plan = j->library->plan(1, &dims, 0, NULL, j->x->data, j->o->data, j->inverse ? FFTW_BACKWARD : FFTW_FORWARD,
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
	Job *j = ud;
	j->plans->failed = j->failed;
	tensor_unref(j->x);
	tensor_unref(j->o);
	heap_free(c, j, sizeof *j);
}

Status fft_lines(Ctx *c, struct FftPlans **plans, struct Apart **apart, Dtype d, bool inverse, int64_t outer, int64_t n, int64_t inner,
                 Tensor *x, Tensor *o, const char **why) {
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
		Job *j = heap_alloc(c, sizeof *j);
		if (!j) return ST_NOMEM;
		*j = (Job){.library = l, .inverse = inverse, .outer = outer, .n = n, .inner = inner, .x = tensor_ref(x), .o = tensor_ref(o), .size = size, .plans = *plans};
		const Status st = apart_run(c, apart, transform_apart, j, &j->stop, release_job);
		return st == ST_OK && (*plans)->failed ? ST_NOMEM : st;
	}
	/* so many lines at a time as make up a piece, between which there are polls */
	const int64_t lines = inner == 1 ? outer : inner, turns = inner == 1 ? 1 : outer, step = inner == 1 ? n : 1;
	const int64_t most = PIECE_POINTS / n < lines ? PIECE_POINTS / n : lines;
	for (int64_t i = 0; i < turns; i++)
		for (int64_t k = 0; k < lines; k += most) {
			const int64_t now = lines - k < most ? lines - k : most;
			const size_t from = (size_t)(i * n * inner + k * step) * size;
			void *plan = find_plan(*plans, l, single, inverse, n, inner, now, x->data, o->data);
			if (!plan) return ST_NOMEM;
			l->execute(plan, (char *)x->data + from, (char *)o->data + from);
			const Status st = lines * turns > most ? ctx_poll(c, 0) : ST_OK;
			if (st != ST_OK) return st;
		}
	return ST_OK;
}
