/* fft.c - FFTW 3, double and single, opened at run time; transforms of complex lines, and of real ones in double precision.
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
	/* of real lines; double precision alone has them here */
	void *(*plan_half)(int n, double *in, fftw_complex *out, unsigned flags);
	void *(*plan_from_half)(int n, fftw_complex *in, double *out, unsigned flags);
	void (*half)(void *plan, double *in, fftw_complex *out);
	void (*from_half)(void *plan, fftw_complex *in, double *out);
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
	if (l != &libraries[0]) return;
	*(void **)&l->plan_half = dlsym(library, "fftw_plan_dft_r2c_1d");
	*(void **)&l->plan_from_half = dlsym(library, "fftw_plan_dft_c2r_1d");
	*(void **)&l->half = dlsym(library, "fftw_execute_dft_r2c");
	*(void **)&l->from_half = dlsym(library, "fftw_execute_dft_c2r");
	l->ready = l->ready && l->plan_half && l->plan_from_half && l->half && l->from_half;
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

struct FftRealPlan {
	void *plan;
	void *pair;      /* FFT_FROM_HALF: of two lines as the parts of a complex one */
	FftReal kind;
	int64_t n;
	const Library *library;
	size_t room;     /* numbers that a group takes */
	size_t line;     /* of them, one line's reals, or one pair's complex numbers */
	void *memory;    /* a group's, and what it takes to begin it on 64 bytes */
	uint64_t used;
};

struct FftPlans {
	Plan at[KEPT];
	FftRealPlan real[KEPT];
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

static size_t memory_of(const FftRealPlan *p) {
	return p->room * sizeof(double) + 64;
}

static void destroy_real(Ctx *c, FftRealPlan *p) {
	if (p->plan) {
		pthread_mutex_lock(&planner);
		p->library->destroy(p->plan);
		pthread_mutex_unlock(&planner);
	}
	if (p->pair) {
		pthread_mutex_lock(&planner);
		p->library->destroy(p->pair);
		pthread_mutex_unlock(&planner);
	}
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

/* ---- real lines ----------------------------------------------------------------------------------------------------- */

/* Of a group: FFT_GROUP lines of reals, each on a cache line of its own, and room for one transform's complex numbers; for sums of sines, two lines as the
 * parts of one complex line, continued as an odd one. */
static void lay_out(FftRealPlan *p) {
	p->line = p->kind == FFT_SINES ? 4 * (size_t)(p->n + 1) : (size_t)(p->n + 7) / 8 * 8;
	p->line = (p->line + 7) / 8 * 8;
	p->room = p->kind == FFT_SINES ? FFT_GROUP / 2 * p->line : FFT_GROUP * p->line + 2 * p->line + 8;
}

double *fft_real_own(const FftRealPlan *p) {
	return (double *)(((uintptr_t)p->memory + 63) & ~(uintptr_t)63);
}
size_t fft_real_room(const FftRealPlan *p) {
	return p->room;
}

static bool make_real(Ctx *c, FftRealPlan *p) {
	lay_out(p);
	p->memory = heap_alloc(c, memory_of(p));
	if (!p->memory) return false;
	double *room = fft_real_own(p);
	fftw_complex *z = (fftw_complex *)(void *)(room + (p->kind == FFT_SINES ? 0 : FFT_GROUP * p->line));
	const unsigned flags = FFTW_ESTIMATE | FFTW_DESTROY_INPUT;
	pthread_mutex_lock(&planner);
	switch (p->kind) {
	case FFT_HALF: p->plan = p->library->plan_half((int)p->n, room, z, flags); break;
	case FFT_FROM_HALF: {
		const fftw_iodim64 dims = {.n = p->n, .is = 1, .os = 1};
		p->plan = p->library->plan_from_half((int)p->n, z, room, flags);
		p->pair = p->library->plan(1, &dims, 0, NULL, z, room, FFTW_BACKWARD, flags);
		break;
	}
	default: {
		const fftw_iodim64 dims = {.n = 2 * (p->n + 1), .is = 1, .os = 1};
		p->plan = p->library->plan(1, &dims, 0, NULL, z, z, FFTW_FORWARD, flags);
	}
	}
	pthread_mutex_unlock(&planner);
	return p->plan && (p->pair || p->kind != FFT_FROM_HALF);
}

const FftRealPlan *fft_real_plan(Ctx *c, struct FftPlans **plans, FftReal kind, int64_t n, const char **why) {
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
	FftRealPlan *oldest = &(*plans)->real[0];
	for (int i = 0; i < KEPT; i++) {
		FftRealPlan *p = &(*plans)->real[i];
		if (p->plan && p->kind == kind && p->n == n) {
			p->used = ++(*plans)->clock;
			return p;
		}
		if (!p->plan || (oldest->plan && p->used < oldest->used)) oldest = p;
	}
	destroy_real(c, oldest);
	*oldest = (FftRealPlan){.kind = kind, .n = n, .library = l, .used = ++(*plans)->clock};
	if (make_real(c, oldest)) return oldest;
	destroy_real(c, oldest);
	return NULL;
}

/* Two numbers at a time, where lines lie without gaps: compilers do not find the exchanges by themselves. */
typedef double Two __attribute__((vector_size(16), aligned(8), may_alias));
#define TWO(p) (*(const Two *)(const void *)(p))
#define PUT_TWO(p, x) (*(Two *)(void *)(p) = (x))
#define FIRSTS(x, y) __builtin_shufflevector(x, y, 0, 2)
#define SECONDS(x, y) __builtin_shufflevector(x, y, 1, 3)
#define TURNED(x) __builtin_shufflevector(x, x, 1, 0)

static void spread_line(int64_t n, const double *restrict z, double *restrict o) {
	double *restrict back = o + n;
	int64_t k = 1;
	o[0] = z[0];
	for (; 2 * (k + 1) < n; k += 2) {
		const Two x = TWO(z + 2 * k), y = TWO(z + 2 * k + 2);
		PUT_TWO(o + k, FIRSTS(x, y));
		PUT_TWO(back - k - 1, SECONDS(y, x));
	}
	for (; 2 * k < n; k++) {
		o[k] = z[2 * k];
		back[-k] = z[2 * k + 1];
	}
	if (n % 2 == 0) o[n / 2] = z[n];
}

/* From re, im, re, im ... to where the halves stand, and back. */
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

static void split(int64_t n, const double *restrict z, double *restrict a, double *restrict b) {
	int64_t j = 0;
	for (; j + 1 < n; j += 2) {
		const Two x = TWO(z + 2 * j), y = TWO(z + 2 * j + 2);
		PUT_TWO(a + j, FIRSTS(x, y));
		PUT_TWO(b + j, SECONDS(x, y));
	}
	for (; j < n; j++) {
		a[j] = z[2 * j];
		b[j] = z[2 * j + 1];
	}
}

/* The waves of x + i y from the halves of both. */
static void interleave_pair(int64_t n, const double *restrict x, const double *restrict y, int64_t step, double *restrict z) {
	const double by = 1.0 / (double)n;
	int64_t k = 1;
	z[0] = by * x[0];
	z[1] = by * y[0];
	for (; step == 1 && 2 * (k + 1) < n; k += 2) {
		const Two a = by * TWO(x + k), b = by * TURNED(TWO(x + n - k - 1)), c = by * TWO(y + k), d = by * TURNED(TWO(y + n - k - 1));
		const Two re = a - d, im = b + c, mirror_re = a + d, mirror_im = c - b;
		PUT_TWO(z + 2 * k, FIRSTS(re, im));
		PUT_TWO(z + 2 * k + 2, SECONDS(re, im));
		PUT_TWO(z + 2 * (n - k), FIRSTS(mirror_re, mirror_im));
		PUT_TWO(z + 2 * (n - k - 1), SECONDS(mirror_re, mirror_im));
	}
	for (; 2 * k < n; k++) {
		const double a = by * x[k * step], b = by * x[(n - k) * step], c = by * y[k * step], d = by * y[(n - k) * step];
		z[2 * k] = a - d;
		z[2 * k + 1] = b + c;
		z[2 * (n - k)] = a + d;
		z[2 * (n - k) + 1] = c - b;
	}
	if (n % 2) return;
	z[n] = by * x[n / 2 * step];
	z[n + 1] = by * y[n / 2 * step];
}

/* Lines 2 i and 2 i + 1 are the real and imaginary parts of z, whose second half is the first one backwards with the other sign. */
static void fill_odd(const FftRealPlan *p, int lines, int64_t step, int64_t apart, const double *x, double *room) {
	const int64_t n = p->n, length = 2 * (n + 1);
	for (int i = 0; i < lines; i += 2) {
		double *z = room + (size_t)(i / 2) * p->line;
		z[0] = z[1] = z[length] = z[length + 1] = 0;
	}
	for (int64_t j = 0; j < n; j++) {
		const double *row = x + j * step;
		for (int i = 0; i < lines; i += 2) {
			double *z = room + (size_t)(i / 2) * p->line, *mirror = z + 2 * (length - 1 - j);
			const double a = row[i * apart], b = i + 1 < lines ? row[(i + 1) * apart] : 0;
			z[2 + 2 * j] = a;
			z[3 + 2 * j] = b;
			mirror[0] = -a;
			mirror[1] = -b;
		}
	}
}

static void sines(const FftRealPlan *p, int lines, int64_t step, int64_t apart, const double *x, double *o, double *room) {
	fill_odd(p, lines, step, apart, x, room);
	for (int i = 0; i < lines; i += 2) {
		double *z = room + (size_t)(i / 2) * p->line;
		p->library->execute(p->plan, z, z);
	}
	/* (i/2) Z: the real part belongs to the first line, the imaginary one to the second */
	for (int64_t j = 0; j < p->n; j++) {
		double *row = o + j * step;
		for (int i = 0; i < lines; i += 2) {
			const double *z = room + (size_t)(i / 2) * p->line + 2 + 2 * j;
			row[i * apart] = -0.5 * z[1];
			if (i + 1 < lines) row[(i + 1) * apart] = 0.5 * z[0];
		}
	}
}

void fft_real_lines(const FftRealPlan *p, int lines, int64_t step, int64_t apart, const double *x, double *o, double *room) {
	const int64_t n = p->n;
	double *z = room + FFT_GROUP * p->line;
	if (p->kind == FFT_SINES) {
		sines(p, lines, step, apart, x, o, room);
		return;
	}
	const size_t line = p->line, bytes = (size_t)n * sizeof *x;
	if (p->kind == FFT_HALF) {
		if (step == 1) for (int i = 0; i < lines; i++) memcpy(room + (size_t)i * line, x + i * apart, bytes);
		else
			for (int64_t j = 0; j < n; j++)
				for (int i = 0; i < lines; i++) room[(size_t)i * line + (size_t)j] = x[j * step + i * apart];
		for (int i = 0; i < lines; i++) {
			p->library->half(p->plan, room + (size_t)i * line, (fftw_complex *)(void *)z);
			if (step == 1) spread_line(n, z, o + i * apart);
			else spread(n, z, o + i * apart, step);
		}
		return;
	}
	/* two lines are the real and the imaginary part of one in room, one behind the last by itself; a step of 1 that is written out lets the compiler drop the other case */
	for (int i = 0; i < lines; i += 2) {
		double *to = room + (size_t)i * line;
		const double *from = x + i * apart;
		if (i + 1 == lines) {
			if (step == 1) interleave(n, from, 1, z);
			else interleave(n, from, step, z);
			p->library->from_half(p->plan, (fftw_complex *)(void *)z, to);
			continue;
		}
		if (step == 1) interleave_pair(n, from, from + apart, 1, z);
		else interleave_pair(n, from, from + apart, step, z);
		p->library->execute(p->pair, z, to);
	}
	for (int i = 0; i < lines; i += 2) {
		const double *from = room + (size_t)i * line;
		double *a = o + i * apart, *b = a + apart;
		if (i + 1 == lines && step == 1) memcpy(a, from, bytes);
		else if (i + 1 == lines) for (int64_t j = 0; j < n; j++) a[j * step] = from[j];
		else if (step == 1) split(n, from, a, b);
		else
			for (int64_t j = 0; j < n; j++) {
				a[j * step] = from[2 * j];
				b[j * step] = from[2 * j + 1];
			}
	}
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
