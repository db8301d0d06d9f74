/* run.c - work-precision measurements of the integrators of Atled and of CVODE.
 *
 * Use: run [--only WORD]... [--budget SECONDS] [--folder bench], from the
 * project's folder. Prints a line of JSON for each problem, method and
 * tolerance.
 *
 * Method:
 * - Both sides have the same problems and tolerances: rtol from 1e-4 to 1e-12,
 *   atol = rtol times the scale in references.txt.
 * - The time is the processor time of this thread: the minimum of many runs
 *   within the budget. Warm-up runs exclude compilation.
 * - The error is the largest |y - r| / (|r| + atol / rtol) over the references
 *   r at the end.
 * - CVODE is used as in its examples: right-hand sides and Jacobians in C,
 *   dense or banded. For problems that are not stiff it uses Adams methods with
 *   fixed-point iteration.
 *
 * Needs: include/atled.h, SUNDIALS; references.txt and programs/precision.dsl
 * in the folder.
 */
#define _GNU_SOURCE
#include "atled.h"
#include "c_reference/systems.h"
#include "solvers/sundials/modules/versions.h"

#include <cvodes/cvodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <time.h>

enum { MOST = 1000, REFERENCES = 200, FIRST_TOL = 4, LAST_TOL = 12 };

/* ---- the problems in C --------------------------------------------------- */

/* Seven bodies of masses 1 to 7: positions x, y, then velocities (Hairer,
 * Norsett and Wanner I, II.10). */
static void pleiades_f(const double *z, double *f) {
	memcpy(f, z + 14, 14 * sizeof *f);
	for (int i = 0; i < 7; i++) {
		double x = 0, y = 0;
		for (int j = 0; j < 7; j++) {
			if (i == j) continue;
			const double dx = z[j] - z[i], dy = z[7 + j] - z[7 + i], q = dx * dx + dy * dy,
						 pull = (j + 1) / (q * sqrt(q));
			x += pull * dx;
			y += pull * dy;
		}
		f[14 + i] = x;
		f[21 + i] = y;
	}
}
static void lorenz_f(const double *u, double *f) {
	f[0] = 10 * (u[1] - u[0]);
	f[1] = u[0] * (28 - u[2]) - u[1];
	f[2] = u[0] * u[1] - 8.0 / 3 * u[2];
}

static void robertson_0(double *y) { y[0] = 1; }
static void hires_0(double *y) { y[0] = 1, y[7] = 0.0057; }
static void pollution_0(double *y) {
	y[1] = 0.2, y[3] = 0.04, y[6] = 0.1, y[7] = 0.3, y[8] = 0.01, y[16] = 0.007;
}
static void pleiades_0(double *y) {
	memcpy(y, (double[]){3, 3, -1, -3, 2, -2,   2,    3, -3, 2, 0,     0, -4, 4,
	                     0, 0, 0,  0,  0, 1.75, -1.5, 0, 0,  0, -1.25, 1, 0,  0},
	       28 * sizeof *y);
}
static void lorenz_0(double *y) { y[0] = 1; }
static void brusselator_0(double *y) {
	for (int i = 0; i < CELLS; i++) {
		y[2 * i] = 1 + 0.5 * sin(2 * 3.14159265358979323846 * (i + 1) / (CELLS + 1));
		y[2 * i + 1] = 3;
	}
}
static void robertson_slope(const double *y, double *f) { robertson_f(y, f); }
static void robertson_matrix(const double *y, double *j) { robertson_j(y, j); }
static void hires_slope(const double *y, double *f) { hires_f(y, f); }
static void hires_matrix(const double *y, double *j) { hires_j(y, j); }
static void pollution_slope(const double *y, double *f) { pollution_f(y, f); }
static void pollution_matrix(const double *y, double *j) { pollution_j(y, j); }
static void brusselator_slope(const double *y, double *f) { brusselator_f(y, f); }

typedef struct Problem {
	/* Atled's function, its type, and the methods besides the automatic
	 * choice */
	const char *name, *type, *methods;
	int n, every; /* unknowns; every n-th of them has a reference */
	double t1;
	void (*start)(double *y);
	Slope slope;
	Matrix matrix; /* NULL and stiff: banded */
	bool stiff;
} Problem;

static const Problem problems[] = {
	{"robertson", "(f64) -> f64[3]", "rodas5p radau5 radau9 radau13 bdf", 3, 1, 1e5, robertson_0,
     robertson_slope, robertson_matrix, true},
	{"hires", "(f64) -> f64[8]", "rodas5p radau5 radau9 radau13 bdf dop853", 8, 1, 321.8122,
     hires_0, hires_slope, hires_matrix, true},
	{"pollution", "(f64) -> f64[n]", "rodas5p radau5 radau9 radau13 bdf", 20, 1, 60, pollution_0,
     pollution_slope, pollution_matrix, true},
	{"pleiades", "(f64) -> f64[n]", "tsit5 dop853 adams", 28, 1, 3, pleiades_0, pleiades_f, NULL,
     false},
	{"lorenz", "(f64) -> f64[3]", "tsit5 dop853 adams", 3, 1, 10, lorenz_0, lorenz_f, NULL, false},
	{"brusselator", "(f64) -> f64[n]", "bdf", 2 * CELLS, 7, 10, brusselator_0, brusselator_slope,
     NULL, true},
};

typedef struct Reference {
	double floor, end[REFERENCES];
	int n;
} Reference;

static _Noreturn void give_up(const char *why) {
	fprintf(stderr, "precision: %s\n", why);
	exit(1);
}

static Reference reference_of(const char *folder, const char *problem) {
	char path[1000], line[8000];
	snprintf(path, sizeof path, "%s/work_precision/references.txt", folder);
	FILE *file = fopen(path, "r");
	if (!file) give_up("references.txt is not there; --folder says where it is");
	Reference r = {0};
	while (fgets(line, sizeof line, file)) {
		char *end = strchr(line, ' ');
		if (!end || strncmp(line, problem, (size_t)(end - line)) || problem[end - line]) continue;
		r.floor = strtod(end, &end);
		for (char *at = end; r.n < REFERENCES; at = end) {
			const double v = strtod(at, &end);
			if (end == at) break;
			r.end[r.n++] = v;
		}
	}
	fclose(file);
	if (!r.n) give_up("a problem has no reference");
	return r;
}

static double error_of(const Problem *p, const Reference *r, const double *y) {
	double most = 0;
	for (int k = 0; k < r->n; k++) {
		const double e = fabs(y[k * p->every] - r->end[k]) / (fabs(r->end[k]) + r->floor);
		if (!(e <= most)) most = e;
	}
	return most;
}

/* ---- CVODE --------------------------------------------------------------- */

static int call_slope(double t, N_Vector y, N_Vector f, void *ud) {
	(void)t;
	((const Problem *)ud)->slope(NV_DATA_S(y), NV_DATA_S(f));
	return 0;
}
static int call_dense(double t, N_Vector y, N_Vector f, SUNMatrix m, void *ud, N_Vector a,
                      N_Vector b, N_Vector c) {
	(void)t, (void)f, (void)a, (void)b, (void)c;
	((const Problem *)ud)->matrix(NV_DATA_S(y), SM_DATA_D(m));
	return 0;
}
static int brusselator_band(double t, N_Vector y, N_Vector f, SUNMatrix m, void *ud, N_Vector a,
                            N_Vector b, N_Vector c) {
	(void)t, (void)f, (void)ud, (void)a, (void)b, (void)c;
	const double *z = NV_DATA_S(y);
	for (int i = 0; i < 2 * CELLS; i++) {
		double *column = SM_COLUMN_B(m, i);
		const double u = z[i & ~1], v = z[i | 1];
		SM_COLUMN_ELEMENT_B(column, i, i) = (i & 1 ? -u * u : 2 * u * v - 4) - 2 * BETWEEN;
		if (i & 1) SM_COLUMN_ELEMENT_B(column, i - 1, i) = u * u;
		else SM_COLUMN_ELEMENT_B(column, i + 1, i) = 3 - 2 * u * v;
		if (i >= 2) SM_COLUMN_ELEMENT_B(column, i - 2, i) = BETWEEN;
		if (i + 2 < 2 * CELLS) SM_COLUMN_ELEMENT_B(column, i + 2, i) = BETWEEN;
	}
	return 0;
}

static bool by_cvode(const Problem *p, double rtol, double atol, double *out) {
	SUNContext sun;
	if (SUNContext_Create(SUN_COMM_NULL, &sun)) give_up("SUNDIALS has no memory");
	N_Vector y = N_VNew_Serial(p->n, sun);
	memset(NV_DATA_S(y), 0, (size_t)p->n * sizeof(double));
	p->start(NV_DATA_S(y));
	void *mem = CVodeCreate(p->stiff ? CV_BDF : CV_ADAMS, sun);
	SUNMatrix m = NULL;
	SUNLinearSolver ls = NULL;
	SUNNonlinearSolver ns = NULL;
	bool ok = CVodeInit(mem, call_slope, 0, y) == 0 && CVodeSStolerances(mem, rtol, atol) == 0 &&
	          CVodeSetUserData(mem, (void *)(uintptr_t)p) == 0;
	if (p->stiff) {
		m = p->matrix ? SUNDenseMatrix(p->n, p->n, sun) : SUNBandMatrix(p->n, 2, 2, sun);
		ls = p->matrix ? SUNLinSol_Dense(y, m, sun) : SUNLinSol_Band(y, m, sun);
		ok = ok && CVodeSetLinearSolver(mem, ls, m) == 0 &&
		     CVodeSetJacFn(mem, p->matrix ? call_dense : brusselator_band) == 0;
	} else {
		ns = SUNNonlinSol_FixedPoint(y, 0, sun);
		ok = ok && CVodeSetNonlinearSolver(mem, ns) == 0;
	}
	double at;
	ok = ok && CVodeSetMaxNumSteps(mem, 1000000) == 0 && CVodeSetStopTime(mem, p->t1) == 0 &&
	     CVode(mem, p->t1, y, &at, CV_NORMAL) >= 0;
	memcpy(out, NV_DATA_S(y), (size_t)p->n * sizeof *out);
	CVodeFree(&mem);
	if (ls) SUNLinSolFree(ls);
	if (m) SUNMatDestroy(m);
	if (ns) SUNNonlinSolFree(ns);
	N_VDestroy(y);
	SUNContext_Free(&sun);
	return ok;
}

/* ---- Atled --------------------------------------------------------------- */

static void to_stderr(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stderr);
}
static _Noreturn void stop(atled_context *ctx) {
	for (size_t i = 0; i < atled_error_count(ctx); i++)
		atled_error_write(ctx, i, ATLED_ERROR_TEXT, to_stderr, NULL);
	give_up("Atled's side failed");
}

static atled_context *program(const char *folder) {
	char path[1000];
	static char text[1 << 16];
	snprintf(path, sizeof path, "%s/programs/precision.dsl", folder);
	FILE *f = fopen(path, "rb");
	if (!f) give_up("precision.dsl is not there; --folder says where it is");
	const size_t n = fread(text, 1, sizeof text, f);
	fclose(f);
	atled_engine_config config = {.size = sizeof config, .threads = 1, .environment = 1};
	atled_context *ctx = atled_context_new(atled_engine_new(&config));
	if (!ctx) give_up("no memory");
	if (atled_compile(ctx, text, n, "precision.dsl") != ATLED_OK) stop(ctx);
	return ctx;
}

/* ---- time ---------------------------------------------------------------- */

static double spent(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Side {
	const Problem *p;
	atled_raw raw; /* NULL: CVODE */
	void *ud;
	double rtol, atol, y[MOST];
} Side;

static bool run_once(Side *s) {
	if (!s->raw) return by_cvode(s->p, s->rtol, s->atol, s->y);
	return s->raw(s->ud, (int64_t[]){s->p->n}, (const void *[]){&s->rtol}, (void *[]){s->y}) ==
	       ATLED_OK;
}

/* Gets the minimum of many runs, each of at least some microseconds. With
 * `first`, it continues until machine code is in use. */
static bool measure(Side *s, double budget, bool first, double *best) {
	double start = now();
	for (int k = 0; k < 2 || (first && now() - start < 2); k++)
		if (!run_once(s)) return false;
	*best = INFINITY;
	start = now();
	for (int k = 0; k < 5 || now() - start < budget; k++) {
		const double from = spent();
		int times = 0;
		do run_once(s), times++;
		while (spent() - from < 5e-5);
		*best = fmin(*best, (spent() - from) / times);
	}
	return true;
}

static void all_tolerances(const Problem *p, const Reference *r, Side *s, const char *side,
                           const char *method, double budget) {
	for (int tol = FIRST_TOL; tol <= LAST_TOL; tol++) {
		double best;
		s->rtol = pow(10, -tol);
		s->atol = r->floor * s->rtol;
		if (!measure(s, budget, tol == FIRST_TOL && s->raw, &best)) {
			fprintf(stderr, "precision: %s by %s gives up at 1e-%d\n", p->name, method, tol);
			continue;
		}
		printf("{\"problem\":\"%s\",\"side\":\"%s\",\"method\":\"%s\",\"rtol\":%g,\"ms\":%.6g,"
		       "\"error\":%.4g}\n",
		       p->name, side, method, s->rtol, 1e3 * best, error_of(p, r, s->y));
		fflush(stdout);
	}
}

int main(int argc, char **argv) {
	const char *folder = "bench", *only[16];
	int onlys = 0;
	double budget = 0.3;
	for (int k = 1; k < argc; k++) {
		if (!strcmp(argv[k], "--only") && k + 1 < argc && onlys < 16) only[onlys++] = argv[++k];
		else if (!strcmp(argv[k], "--budget") && k + 1 < argc) budget = atof(argv[++k]);
		else if (!strcmp(argv[k], "--folder") && k + 1 < argc) folder = argv[++k];
		else give_up("use: run [--only WORD]... [--budget SECONDS] [--folder FOLDER]");
	}
	atled_context *ctx = program(folder);
	for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
		const Problem *p = &problems[k];
		const Reference r = reference_of(folder, p->name);
		char methods[200], name[200];
		snprintf(methods, sizeof methods, "cvode default %s", p->methods);
		for (char *rest, *m = strtok_r(methods, " ", &rest); m; m = strtok_r(NULL, " ", &rest)) {
			const bool c = !strcmp(m, "cvode");
			snprintf(name, sizeof name, "%s_%s", p->name, m);
			bool wanted = !onlys;
			for (int i = 0; i < onlys; i++) wanted |= strstr(name, only[i]) != NULL;
			if (!wanted) continue;
			Side s = {.p = p};
			atled_function *f = NULL;
			if (!c && (atled_lookup(ctx, name, p->type, &f) != ATLED_OK ||
			           atled_entry(ctx, f, &s.raw, &s.ud) != ATLED_OK))
				stop(ctx);
			all_tolerances(p, &r, &s, c ? "C" : "Atled",
			               c ? (p->stiff ? "CVODE BDF" : "CVODE Adams") : m, budget);
			atled_function_free(f);
		}
	}
	atled_context_free(ctx);
	return 0;
}
