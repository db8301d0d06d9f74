/* ode.c - C reference: CVODE with BDF and exact Jacobians.
 *
 * Solves the stiff van der Pol oscillator, and the 1-D Brusselator, whose
 * Jacobian is banded.
 *
 * Method: as in the library's examples, with serial vectors and dense or banded
 * matrices. The rows show the overhead of calling our compiled right-hand side
 * and Jacobian, compared with C functions. Compiled with -O2.
 *
 * Needs: limit.h, SUNDIALS.
 */
#include "limit.h"
#include "solvers/sundials/modules/versions.h"

#include <cvodes/cvodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <string.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>

#define MU 1000.0

static int slope(double t, N_Vector y, N_Vector ydot, void *ud) {
	(void)t, (void)ud;
	const double *u = NV_DATA_S(y);
	NV_DATA_S(ydot)[0] = u[1];
	NV_DATA_S(ydot)[1] = MU * (1 - u[0] * u[0]) * u[1] - u[0];
	return 0;
}

static int jacobian(double t, N_Vector y, N_Vector fy, SUNMatrix m, void *ud, N_Vector a,
                    N_Vector b, N_Vector c) {
	(void)t, (void)fy, (void)ud, (void)a, (void)b, (void)c;
	const double *u = NV_DATA_S(y);
	SM_ELEMENT_D(m, 0, 0) = 0;
	SM_ELEMENT_D(m, 0, 1) = 1;
	SM_ELEMENT_D(m, 1, 0) = -2 * MU * u[0] * u[1] - 1;
	SM_ELEMENT_D(m, 1, 1) = MU * (1 - u[0] * u[0]);
	return 0;
}

static void oscillator_setup(Case *c) {
	c->in[0] = limit_array(REAL64, 1, 0, 0);
	c->in[0].rank = 0;
	*(double *)c->in[0].data = (double)c->n;
	c->out[0] = limit_array(REAL64, 2, 0, 0);
	c->ins = c->outs = 1;
}

static void oscillator_run(Case *c) {
	const double t1 = *(const double *)c->in[0].data;
	SUNContext sun;
	if (SUNContext_Create(SUN_COMM_NULL, &sun)) limit_stop("SUNDIALS has no memory");
	N_Vector y = N_VNew_Serial(2, sun);
	NV_DATA_S(y)[0] = 2;
	NV_DATA_S(y)[1] = 0;
	void *mem = CVodeCreate(CV_BDF, sun);
	SUNMatrix m = SUNDenseMatrix(2, 2, sun);
	SUNLinearSolver ls = SUNLinSol_Dense(y, m, sun);
	double at;
	if (CVodeInit(mem, slope, 0, y) || CVodeSStolerances(mem, 1e-8, 1e-10) ||
	    CVodeSetLinearSolver(mem, ls, m) || CVodeSetJacFn(mem, jacobian) ||
	    CVodeSetStopTime(mem, t1))
		limit_stop("CVODE does not start");
	do {
		if (CVode(mem, t1, y, &at, CV_ONE_STEP) < 0) limit_stop("CVODE gave up");
	} while (at < t1);
	double *out = c->out[0].data;
	out[0] = NV_DATA_S(y)[0], out[1] = NV_DATA_S(y)[1];
	CVodeFree(&mem);
	SUNLinSolFree(ls);
	SUNMatDestroy(m);
	N_VDestroy(y);
	SUNContext_Free(&sun);
}

/* ---- 1-D Brusselator (Hairer and Wanner II, IV.10): u, v adjacent ------- */

static int line_slope(double t, N_Vector y, N_Vector ydot, void *ud) {
	(void)t;
	const int64_t cells = *(const int64_t *)ud;
	const double between = 0.02 * (double)(cells + 1) * (double)(cells + 1), *x = NV_DATA_S(y);
	double *f = NV_DATA_S(ydot);
	for (int64_t i = 0; i < cells; i++) {
		const double u = x[2 * i], v = x[2 * i + 1], left = i ? x[2 * i - 2] : 1,
					 right = i < cells - 1 ? x[2 * i + 2] : 1;
		const double below = i ? x[2 * i - 1] : 3, above = i < cells - 1 ? x[2 * i + 3] : 3;
		f[2 * i] = 1 + u * u * v - 4 * u + between * (left - 2 * u + right);
		f[2 * i + 1] = 3 * u - u * u * v + between * (below - 2 * v + above);
	}
	return 0;
}

static int line_jacobian(double t, N_Vector y, N_Vector fy, SUNMatrix m, void *ud, N_Vector a,
                         N_Vector b, N_Vector c) {
	(void)t, (void)fy, (void)a, (void)b, (void)c;
	const int64_t cells = *(const int64_t *)ud;
	const double between = 0.02 * (double)(cells + 1) * (double)(cells + 1), *x = NV_DATA_S(y);
	for (int64_t i = 0; i < cells; i++) {
		const double u = x[2 * i], v = x[2 * i + 1];
		sunrealtype *first = SM_COLUMN_B(m, 2 * i), *second = SM_COLUMN_B(m, 2 * i + 1);
		SM_COLUMN_ELEMENT_B(first, 2 * i, 2 * i) = 2 * u * v - 4 - 2 * between;
		SM_COLUMN_ELEMENT_B(first, 2 * i + 1, 2 * i) = 3 - 2 * u * v;
		SM_COLUMN_ELEMENT_B(second, 2 * i, 2 * i + 1) = u * u;
		SM_COLUMN_ELEMENT_B(second, 2 * i + 1, 2 * i + 1) = -u * u - 2 * between;
		if (i > 0) {
			SM_COLUMN_ELEMENT_B(first, 2 * i - 2, 2 * i) = between;
			SM_COLUMN_ELEMENT_B(second, 2 * i - 1, 2 * i + 1) = between;
		}
		if (i < cells - 1) {
			SM_COLUMN_ELEMENT_B(first, 2 * i + 2, 2 * i) = between;
			SM_COLUMN_ELEMENT_B(second, 2 * i + 3, 2 * i + 1) = between;
		}
	}
	return 0;
}

static void line_setup(Case *c) {
	const int64_t cells = c->n;
	c->lengths[0] = 2 * cells;
	c->in[0] = limit_array(REAL64, 2 * cells, 0, 0);
	double *y = c->in[0].data;
	for (int64_t i = 0; i < cells; i++) {
		y[2 * i] =
			1 + 0.5 * sin(2 * 3.14159265358979323846 * (double)(i + 1) / (double)(cells + 1));
		y[2 * i + 1] = 3;
	}
	c->out[0] = limit_array(REAL64, 2 * cells, 0, 0);
	c->ins = c->outs = 1;
}

static void line_run(Case *c) {
	int64_t cells = c->n;
	SUNContext sun;
	if (SUNContext_Create(SUN_COMM_NULL, &sun)) limit_stop("SUNDIALS has no memory");
	N_Vector y = N_VNew_Serial(2 * cells, sun);
	memcpy(NV_DATA_S(y), c->in[0].data, (size_t)(2 * cells) * sizeof(double));
	void *mem = CVodeCreate(CV_BDF, sun);
	SUNMatrix m = SUNBandMatrix(2 * cells, 2, 2, sun);
	SUNLinearSolver ls = SUNLinSol_Band(y, m, sun);
	double at;
	if (CVodeInit(mem, line_slope, 0, y) || CVodeSStolerances(mem, 1e-7, 1e-10) ||
	    CVodeSetUserData(mem, &cells) || CVodeSetLinearSolver(mem, ls, m) ||
	    CVodeSetJacFn(mem, line_jacobian) || CVodeSetStopTime(mem, 10))
		limit_stop("CVODE does not start");
	do {
		if (CVode(mem, 10, y, &at, CV_ONE_STEP) < 0) limit_stop("CVODE gave up");
	} while (at < 10);
	memcpy(c->out[0].data, NV_DATA_S(y), (size_t)(2 * cells) * sizeof(double));
	CVodeFree(&mem);
	SUNLinSolFree(ls);
	SUNMatDestroy(m);
	N_VDestroy(y);
	SUNContext_Free(&sun);
}

const Row ode_rows[] = {
	{.name = "vdp",
     .title = "van der Pol by BDF to t = 1e5, mu = 1000 (CVODE on both sides)",
     .program = "ode",
     .function = "oscillator",
     .type = "(f64) -> f64[2]",
     .goal = 1.3,
     .tolerance = 1e-3,
     .full = 100000,
     .quick = 1000,
     .setup = oscillator_setup,
     .run = oscillator_run},
	{.name = "line500",
     .title = "Brusselator on a line by BDF, 500 cells, to t = 10 (CVODE on both sides, banded)",
     .program = "ode",
     .function = "line",
     .type = "(f64[n]) -> f64[n]",
     .goal = 1.1,
     .tolerance = 1e-5,
     .full = 500,
     .quick = 100,
     .setup = line_setup,
     .run = line_run},
	{.name = "line10000",
     .title = "Brusselator on a line by BDF, 10,000 cells, to t = 10 (CVODE on both sides, banded)",
     .program = "ode",
     .function = "line",
     .type = "(f64[n]) -> f64[n]",
     .goal = 1.1,
     .tolerance = 1e-5,
     .full = 10000,
     .quick = 200,
     .setup = line_setup,
     .run = line_run},
	{0},
};
