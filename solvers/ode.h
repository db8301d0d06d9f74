/* ode.h - an initial value problem in CVODES, as "ode" and its derivatives use it.
 *
 * Needs: sundials.h. Guarantees: ode_begin reads the operands and checks them, ode_start makes the integrator, ode_end undoes both whatever
 * failed in between.
 */
#ifndef ATLED_SOLVERS_ODE_H
#define ATLED_SOLVERS_ODE_H

#include "solvers/derive.h"
#include "solvers/sundials.h"
#include <sundials/sundials_nonlinearsolver.h>

enum { ODE_Y0, ODE_T0, ODE_T1, ODE_RTOL, ODE_ATOL, ODE_COLPTR, ODE_ROWIND, ODE_SAVEAT, ODE_MAX_STEP, ODE_OPERANDS };
enum { ODE_F, ODE_JAC, ODE_NFNS };
enum { ODE_METHOD = 1 + ODE_NFNS, ODE_LINEAR, ODE_DEGREE, ODE_MAX_STEPS, ODE_OPTIONS }; /* after the number captured by each */

typedef struct Ode {
	Solve s;
	const HostCall *call;
	const Value *captured; /* of f */
	int64_t n, nat, max_steps;
	double t0, t1, rtol, max_step;
	const double *y0, *atol, *at;
	bool adams, dense;
	uint32_t degree;
	Pattern pattern;
	Routine f, jac;
	void *mem; /* of CVODES */
	N_Vector y, atol_vector;
	double t; /* where y is the solution */
	SUNMatrix matrix;
	SUNLinearSolver linear;
	SUNNonlinearSolver nonlinear;
	struct Sensitivity *sensitivity; /* integrated along; NULL: not */
} Ode;

/* call->options begin as those of "ode", args with the operands of "ode" and what its functions capture. */
Status ode_begin(Ode *o, Ctx *c, const HostCall *call, const Value *args);
Status ode_start(Ode *o);
void ode_rewind(Ode *o); /* gives up the integrator and goes back to (t0, y0), so that ode_start may be called again */
void ode_end(Ode *o);
Status ode_fail(Ode *o, int flag, double t); /* in words; the status of the callback where one stopped the run */
int ode_step(void *ode, double *t);          /* for march */
March ode_march(Ode *o);                     /* without its `row` */
static inline uint32_t ode_ncaptured(const HostCall *call) {
	return (uint32_t)(call->options[1] + call->options[2]);
}

/* ---- y and its derivatives together ---------------------------------------------------------------------------------------- */

/* The sensitivities s_k = dy/dp_k in directions k < ns: s' = J s + f_p dp, which CVODES integrates beside y under its error control. */
typedef struct Sensitivity {
	Ode *o;
	Active active;
	Routine jvp; /* captured..., t, y, tangents of the active captured..., tangent of y */
	bool flat;   /* f depends on nothing that is active: s' = 0 */
	uint32_t ns;
	N_Vector *s, *atol;
	Value *directions; /* ns x active.ncaptured, scaled */
	double *scale;     /* the derivative in direction k is scale[k] s_k */
	SUNNonlinearSolver nonlinear;
} Sensitivity;
Status sensitivity_begin(Sensitivity *w, Ode *o, Active active, Fn *jvp, uint32_t ns);
/* Direction k: dy0 (NULL: zero) and one value for each active captured one, of its shape. */
Status sensitivity_direction(Sensitivity *w, uint32_t k, const double *dy0, const Value *dp);
Status sensitivity_start(Sensitivity *w); /* after ode_start */
int sensitivity_at(Sensitivity *w, double t); /* into w->s; t lies in the last step, or is the start */
void sensitivity_end(Sensitivity *w);

/* Unknowns and the numbers of the active captured values, one after the other: what a gradient has an entry for. */
int64_t active_count(const Ode *o, Active active);

extern const Family ode_family;
extern const HostDef ode_host, ode_tangent_host, ode_adjoint_host;

#endif
