/* ode.h - an initial value problem in CVODES, as "ode" and its derivatives use
 * it.
 *
 * Needs: sundials.h. Guarantees: ode_begin reads the operands and checks them,
 * ode_start makes the integrator, ode_end undoes both whatever failed in
 * between.
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
}; /* after the number captured by each */

typedef struct Ode {
	Solve s;
	const HostCall *call;
	const Value *captured; /* of f */
	Given in;
	bool adams;
	Pattern pattern;
	Routine f, jac;
	void *mem; /* of CVODES */
	N_Vector y, atol_vector;
	double t; /* where y is the solution */
	SUNMatrix matrix;
	SUNLinearSolver linear;
	SUNNonlinearSolver nonlinear;    /* of Adams */
	Newton newton;                   /* of BDF */
	struct Sensitivity *sensitivity; /* integrated along; NULL: not */
} Ode;

/* call->options begin as those of "ode", args with the operands of "ode" and
 * what its functions capture. */
Status ode_begin(Ode *o, Ctx *c, const HostCall *call, const Value *args);
Status ode_start(Ode *o);
/* gives up the integrator and goes back to (t0, y0), so that ode_start may
 * be called again */
void ode_rewind(Ode *o);
void ode_end(Ode *o);
/* in words; the status of the callback where one stopped the run */
Status ode_fail(Ode *o, int flag, double t);
Status ode_fail_backward(Ode *o, int flag, double t); /* the same, of the adjoint */
int ode_step(void *ode, double *t);                   /* for march */
/* df/dy at (t, y) into m, on the pattern p of it or of its transpose, times
 * `sign`; as CVODES wants it of a callback. */
int ode_jacobian(Ode *o, double t, N_Vector y, const Pattern *p, double sign, bool transposed,
                 SUNMatrix m);
March ode_march(Ode *o); /* without its `row` */

/* ---- y and its derivatives together -------------------------------------- */

/* The sensitivities s_k = dy/dp_k in directions k < ns: s' = J s + f_p dp,
 * which CVODES integrates beside y under its error control. */
typedef struct Sensitivity {
	Ode *o;
	Directions d;
	Routine jvp; /* captured..., t, y, tangents of the active captured..., tangent of y */
	bool flat;   /* f depends on nothing that is active: s' = 0 */
	N_Vector *s, *atol;
	SUNNonlinearSolver nonlinear;
} Sensitivity;
/* Then the directions are set in w->d, then ode_start, then sensitivity_start.
 */
Status sensitivity_begin(Sensitivity *w, Ode *o, Active active, Fn *jvp, uint32_t ns);
Status sensitivity_start(Sensitivity *w);
/* s at t, which lies in the last step, or is the start */
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
