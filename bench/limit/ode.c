/* ode.c - hand-written use of CVODE: van der Pol's oscillator, stiff, by BDF with the exact Jacobian.
 *
 * Needs: limit.h, SUNDIALS. Guarantees: what the library's own examples do, with its serial vectors and dense matrices: the row shows what calling
 * our compiled right-hand side costs beside a C function. Compiled like any C, with -O2.
 */
#include "limit.h"

#include <cvodes/cvodes.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#define MU 1000.0

static int slope(double t, N_Vector y, N_Vector ydot, void *ud) {
	(void)t, (void)ud;
	const double *u = NV_DATA_S(y);
	NV_DATA_S(ydot)[0] = u[1];
	NV_DATA_S(ydot)[1] = MU * (1 - u[0] * u[0]) * u[1] - u[0];
	return 0;
}

static int jacobian(double t, N_Vector y, N_Vector fy, SUNMatrix m, void *ud, N_Vector a, N_Vector b, N_Vector c) {
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
	if (SUNContext_Create(NULL, &sun)) limit_stop("SUNDIALS has no memory");
	N_Vector y = N_VNew_Serial(2, sun);
	NV_DATA_S(y)[0] = 2;
	NV_DATA_S(y)[1] = 0;
	void *mem = CVodeCreate(CV_BDF, sun);
	SUNMatrix m = SUNDenseMatrix(2, 2, sun);
	SUNLinearSolver ls = SUNLinSol_Dense(y, m, sun);
	double at;
	if (CVodeInit(mem, slope, 0, y) || CVodeSStolerances(mem, 1e-8, 1e-10) || CVodeSetLinearSolver(mem, ls, m) || CVodeSetJacFn(mem, jacobian) || CVodeSetStopTime(mem, t1))
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

const Row ode_rows[] = {
    {.name = "vdp", .title = "van der Pol by BDF to t = 1e5, mu = 1000 (CVODE on both sides)", .program = "ode", .function = "oscillator", .type = "(f64) -> f64[2]", .goal = 1.3, .tolerance = 1e-3, .full = 100000, .quick = 1000, .setup = oscillator_setup, .run = oscillator_run},
    {0},
};
