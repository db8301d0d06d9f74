/* fourier.c - C reference: spectral programs with FFTW.
 *
 * The Kuramoto-Sivashinsky equation by Crank-Nicolson and Adams-Bashforth, with
 * complex transforms of u^2 as in many textbooks. The Poisson equation on a
 * square by FFTW's two-dimensional DST, with a division between the forward and
 * the inverse transform.
 *
 * Needs: limit.h, FFTW 3 with threads (loaded at the first use).
 *
 * Guarantees: plans are measured, made once and used for all runs.
 */
#define _GNU_SOURCE
#include "limit.h"

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD = -1, BACKWARD = 1, MEASURE = 0, SINES = 7 }; /* constants of FFTW */
#define PI 3.14159265358979323846

typedef struct Fftw {
	void *(*line)(int n, double complex *in, double complex *out, int sign, unsigned flags);
	void *(*sines)(int m, int n, double *in, double *out, int kind0, int kind1, unsigned flags);
	void (*execute)(void *plan);
} Fftw;

static Fftw open_fftw(int threads) {
	Fftw f = {0};
	void *library = dlopen("libfftw3_threads.so.3", RTLD_NOW | RTLD_LOCAL),
		 *own = dlopen("libfftw3.so.3", RTLD_NOW | RTLD_LOCAL);
	if (!library || !own)
		limit_stop("FFTW with threads, which these rows are measured against, is not installed");
	int (*start)(void);
	void (*share)(int);
	*(void **)&start = dlsym(library, "fftw_init_threads");
	*(void **)&share = dlsym(library, "fftw_plan_with_nthreads");
	*(void **)&f.line = dlsym(own, "fftw_plan_dft_1d");
	*(void **)&f.sines = dlsym(own, "fftw_plan_r2r_2d");
	*(void **)&f.execute = dlsym(own, "fftw_execute");
	if (!start || !share || !f.line || !f.sines || !f.execute || !start())
		limit_stop("this FFTW lacks a function");
	share(threads);
	return f;
}

/* ---- Kuramoto-Sivashinsky: u_t + u u_x + u_xx + u_xxxx = 0 on [0, 128] --- */

enum { WAVES = 1024 };
#define LENGTH 128.0
#define STEP (1.0 / 16)

typedef struct Flame {
	Fftw lib;
	void *forth, *back;
	double complex *u, *v, *rest, *before, *square;
	double up[WAVES], down[WAVES];
	double complex slope[WAVES];
} Flame;

static void flame_setup(Case *c) {
	c->lengths[0] = WAVES;
	c->in[0] = limit_array(REAL64, 1, 0, 0);
	c->in[0].rank = 0;
	*(double *)c->in[0].data = (double)c->n * STEP;
	c->out[0] = limit_array(REAL64, WAVES, 0, 0);
	c->ins = c->outs = 1;
}

static Flame *flame_begin(void) {
	Flame *g = limit_memory(sizeof *g);
	g->lib = open_fftw(1);
	for (int k = 0; k < 5; k++) (&g->u)[k] = limit_memory(WAVES * sizeof(double complex));
	g->forth = g->lib.line(WAVES, g->square, g->square, FORWARD, MEASURE);
	g->back = g->lib.line(WAVES, g->square, g->square, BACKWARD, MEASURE);
	for (int k = 0; k < WAVES; k++) {
		const double wave = 2 * PI / LENGTH * (k > WAVES / 2 ? k - WAVES : k),
					 l = wave * wave - wave * wave * wave * wave;
		g->down[k] = 1 / (1 - 0.5 * STEP * l);
		g->up[k] = (1 + 0.5 * STEP * l) * g->down[k];
		g->slope[k] = k == WAVES / 2 ? 0 : -0.5 * I * wave / WAVES;
	}
	return g;
}

/* Computes rest = -(u²)_x/2. u is stored without the factor 1/n of its
 * transform. */
static void flame_rest(Flame *g) {
	const double by = 1.0 / WAVES;
	memcpy(g->square, g->u, WAVES * sizeof *g->square);
	g->lib.execute(g->back);
	for (int k = 0; k < WAVES; k++) {
		const double x = creal(g->square[k]) * by;
		g->square[k] = x * x;
	}
	g->lib.execute(g->forth);
	for (int k = 0; k < WAVES; k++) g->rest[k] = g->slope[k] * WAVES * g->square[k];
}

static void flame_run(Case *c) {
	if (!c->own) c->own = flame_begin();
	Flame *g = c->own;
	const int64_t steps = c->n;
	for (int k = 0; k < WAVES; k++) {
		const double x = 2 * PI * k / WAVES;
		g->square[k] = cos(x) * (1 + sin(x));
	}
	g->lib.execute(g->forth);
	memcpy(g->u, g->square, WAVES * sizeof *g->u);
	flame_rest(g);
	memcpy(g->before, g->rest, WAVES * sizeof *g->before);
	for (int64_t s = 0; s < steps; s++) {
		if (s) {
			flame_rest(g);
			for (int k = 0; k < WAVES; k++)
				g->u[k] = g->up[k] * g->u[k] +
				          STEP * g->down[k] * (1.5 * g->rest[k] - 0.5 * g->before[k]);
		} else { /* Iterates twice; the second time with the mean of both ends. */
			memcpy(g->v, g->u, WAVES * sizeof *g->v);
			for (int k = 0; k < WAVES; k++)
				g->u[k] = g->up[k] * g->v[k] + STEP * g->down[k] * g->before[k];
			flame_rest(g);
			for (int k = 0; k < WAVES; k++)
				g->u[k] =
					g->up[k] * g->v[k] + STEP * g->down[k] * 0.5 * (g->before[k] + g->rest[k]);
			continue; /* `before` belongs to the first step */
		}
		double complex *t = g->before;
		g->before = g->rest, g->rest = t;
	}
	memcpy(g->square, g->u, WAVES * sizeof *g->square);
	g->lib.execute(g->back);
	for (int k = 0; k < WAVES; k++) ((double *)c->out[0].data)[k] = creal(g->square[k]) / WAVES;
}

/* ---- Poisson: -u_xx - u_yy = f on the unit square, u = 0 on its boundary - */

typedef struct Square {
	void *there, *back;
	Fftw lib;
	double *values, *spectrum, *eigenvalues;
} Square;

static void square_outputs(Case *c) {
	c->lengths[0] = c->n;
	c->out[0] = limit_array(REAL64, c->n, c->n, 0);
	c->outs = c->ins = 1;
}

static void square_setup(Case *c) {
	square_outputs(c);
	c->in[0] = limit_array(REAL64, c->n, c->n, 0);
	limit_fill(&c->in[0], 41, -1, 1);
}

/* A constant source. */
static void stated_setup(Case *c) {
	square_outputs(c);
	c->lengths[1] = c->n;
	c->in[0] = limit_array(WHOLE64, 1, 0, 0);
	c->in[0].rank = 0;
	*(int64_t *)c->in[0].data = c->n;
}

typedef struct Division {
	const Square *g;
	int64_t n;
} Division;

static void divide(int part, int parts, void *ud) {
	const Division *d = ud;
	const double *l = d->g->eigenvalues, by = 0.25 / (double)((d->n + 1) * (d->n + 1));
	int64_t from, to;
	limit_share(d->n, 1, part, parts, &from, &to);
	for (int64_t i = from; i < to; i++) {
		double *row = d->g->spectrum + i * d->n;
		for (int64_t j = 0; j < d->n; j++) row[j] *= by / (l[i] + l[j]);
	}
}

static void square_run(Case *c) {
	const int64_t n = c->n;
	if (!c->own) {
		Square *g = c->own = limit_memory(sizeof *g);
		g->lib = open_fftw(c->threads);
		g->values = limit_memory((size_t)(n * n) * 8),
		g->spectrum = limit_memory((size_t)(n * n) * 8),
		g->eigenvalues = limit_memory((size_t)n * 8);
		g->there = g->lib.sines((int)n, (int)n, g->values, g->spectrum, SINES, SINES, MEASURE);
		g->back = g->lib.sines((int)n, (int)n, g->spectrum, c->out[0].data, SINES, SINES, MEASURE);
		for (int64_t k = 0; k < n; k++)
			g->eigenvalues[k] =
				pow(2 * sin(0.5 * PI * (double)(k + 1) / (double)(n + 1)) * (double)(n + 1), 2);
		for (int64_t k = 0; k < n * n; k++)
			g->values[k] = c->in[0].rank ? ((const double *)c->in[0].data)[k] : 1.25;
	}
	const Square *g = c->own;
	g->lib.execute(g->there);
	limit_parallel(c->threads, divide, &(Division){g, n});
	g->lib.execute(g->back);
}

const Row fourier_rows[] = {
	{.name = "kuramoto",
     .title = "Kuramoto-Sivashinsky, 1024 waves, CNAB2, 3200 steps",
     .program = "fourier",
     .function = "flame",
     .type = "(f64) -> f64[n]",
     .goal = 1,
     .tolerance = 1e-3,
     .full = 3200,
     .quick = 320,
     .setup = flame_setup,
     .run = flame_run},
	{.name = "poisson",
     .title = "Poisson on a square, 1023 x 1023, by sums of sines (C: FFTW's)",
     .program = "fourier",
     .function = "poisson",
     .type = "(f64[n, n]) -> f64[n, n]",
     .goal = 1.1,
     .tolerance = 1e-11,
     .full = 1023,
     .quick = 127,
     .setup = square_setup,
     .run = square_run},
	{.name = "poisson-stated",
     .title = "the same as a problem, by solve (C: the transforms)",
     .program = "fourier",
     .function = "membrane",
     .type = "(i64) -> f64[m, n]",
     .goal = 1.1,
     .tolerance = 1e-11,
     .full = 1023,
     .quick = 127,
     .setup = stated_setup,
     .run = square_run},
	{0},
};
