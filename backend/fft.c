/* fft.c - FFTW 3, double and single, opened at run time.
 *
 * Needs: fftw3.h for types. FFTW's planner is a thing of the process and not re-entrant, so the handles and the
 * planner's lock are process-wide (filled under pthread_once); plans belong to a context. Plans are estimated, not
 * measured: a measurement would make results depend on the machine's mood.
 */
#include "backend/fft.h"
#include <dlfcn.h>
#include <fftw3.h>
#include <pthread.h>
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

Status fft_lines(Ctx *c, struct FftPlans **plans, Dtype d, bool inverse, int64_t outer, int64_t n, int64_t inner, const void *x, void *o,
                 const char **why) {
	const bool single = d == DT_C64;
	const Library *l = &libraries[single];
	pthread_once(&once[single], single ? open_single : open_double);
	*why = l->why;
	if (!l->ready) return ST_ERROR;
	if (!*plans) {
		*plans = heap_alloc(c, sizeof **plans);
		if (!*plans) return ST_NOMEM;
		memset(*plans, 0, sizeof **plans);
	}
	const int64_t lines = inner == 1 ? outer : inner, turns = inner == 1 ? 1 : outer;
	void *plan = find_plan(*plans, l, single, inverse, n, inner, lines, x, o);
	if (!plan) return ST_NOMEM;
	const size_t step = (size_t)(n * inner) * dtype_size(d);
	for (int64_t i = 0; i < turns; i++)
		l->execute(plan, (char *)(uintptr_t)x + (size_t)i * step, (char *)o + (size_t)i * step);
	return ST_OK;
}
