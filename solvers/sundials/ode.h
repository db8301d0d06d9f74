/* ode.h - an initial value problem in CVODES, for "ode" and its derivatives.
 *
 * Needs: sundials.h.
 *
 * Contract: ode_begin reads and checks the operands. ode_start creates the
 * integrator. ode_end releases both, whatever failed before.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_ODE_H
#define ATLED_SOLVERS_SUNDIALS_ODE_H

#include "solvers/sundials/sensitivity_directions.h"
#include "solvers/sundials/modules/newton.h"

enum {
	ODE_Y0,
	ODE_T0,
	ODE_T1,
	ODE_RTOL,
	ODE_ATOL,
	ODE_COLPTR,
	ODE_ROWIND,
	ODE_SAVEAT,
	ODE_MAX_STEP,
	ODE_OPERANDS
};
enum { ODE_F, ODE_JAC, ODE_NFNS };
enum {
	ODE_METHOD = 1 + ODE_NFNS,
	ODE_LINEAR,
	ODE_DEGREE,
	ODE_MAX_STEPS,
	ODE_OPTIONS
}; /* after the number of captured values of each function */

typedef struct Ode {
	Solve s;
	const HostCall *call;
	const Value *captured; /* of f */
	IvpInput in;
	bool adams;
	Pattern pattern;
	Callback f, jac;
	void *mem; /* CVODES memory */
	N_Vector y, atol_vector;
	double t; /* time of y */
	SUNMatrix matrix;
	SUNLinearSolver linear;
	SUNNonlinearSolver nonlinear;    /* of Adams */
	Newton newton;                   /* of BDF */
	struct Sensitivity *sensitivity; /* integrated with the state; NULL: none */
} Ode;

/* call->options begin with those of "ode", and args with the operands of "ode"
 * and the values that its functions capture. */
Status ode_begin(Ode *o, Ctx *c, const HostCall *call, const Value *args);
Status ode_start(Ode *o);
/* frees the integrator and returns to (t0, y0); ode_start may be called
 * again */
void ode_rewind(Ode *o);
void ode_end(Ode *o);
/* reports a failure; returns the status of the callback that stopped the run */
Status ode_fail(Ode *o, int flag, double t);
Status ode_fail_backward(Ode *o, int flag, double t); /* the same for the adjoint */
int ode_step(void *ode, double *t);                   /* one step, for time_loop_run */
/* sign * df/dy at (t, y) into m, on the pattern p of df/dy or of its transpose.
 * Returns the status of a CVODES callback. */
int ode_jacobian(Ode *o, double t, N_Vector y, const Pattern *p, double sign, bool transposed,
                 SUNMatrix m);
TimeLoop ode_time_loop(Ode *o); /* without `row` */

/* ---- forward sensitivities ----------------------------------------------- */

/* The sensitivities s_k = dy/dp_k in directions k < ns: s' = J s + f_p dp.
 * CVODES integrates them with y under its error control. */
typedef struct Sensitivity {
	Ode *o;
	Directions d;
	/* parameters: captured..., t, y, tangents of the active captured values,
	 * tangent of y */
	Callback jvp;
	bool flat; /* f depends on nothing active: s' = 0 */
	N_Vector *s, *atol;
	SUNNonlinearSolver nonlinear;
} Sensitivity;
/* Then set the directions in w->d, and call ode_start and sensitivity_start, in
 * that order. */
Status sensitivity_begin(Sensitivity *w, Ode *o, Active active, Fn *jvp, uint32_t ns);
Status sensitivity_start(Sensitivity *w);
/* s at t, which is in the last step or the initial time */
int sensitivity_at(Sensitivity *w, double t);
void sensitivity_end(Sensitivity *w);

/* storable.c */
bool ode_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                   uint32_t nresults, const TypeId *stated);
bool ode_tangent_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                           uint32_t nresults, const TypeId *stated);
extern const Family ode_family;
extern const HostDef ode_host, ode_until_host, ode_tangent_host, ode_adjoint_host,
	ode_curvature_host;

#endif
