/* ode.h - an initial value problem in CVODES, as "ode" and its derivatives use it.
 *
 * Needs: sundials.h. Guarantees: ode_begin reads the operands and checks them, ode_start makes the integrator, ode_end undoes both whatever
 * failed in between.
 */
#ifndef ATLED_SOLVERS_ODE_H
#define ATLED_SOLVERS_ODE_H

#include "solvers/sundials.h"
#include <sundials/sundials_nonlinearsolver.h>

enum { ODE_Y0, ODE_T0, ODE_T1, ODE_RTOL, ODE_ATOL, ODE_COLPTR, ODE_ROWIND, ODE_SAVEAT, ODE_MAX_STEP, ODE_OPERANDS };
enum { ODE_F, ODE_JAC };
enum { ODE_NFNS = 2 };                                                                  /* options[0] */
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
} Ode;

/* call->options begin as those of "ode", args with the operands of "ode" and what its functions capture. */
Status ode_begin(Ode *o, Ctx *c, const HostCall *call, const Value *args);
Status ode_start(Ode *o);
void ode_end(Ode *o);
Status ode_fail(Ode *o, int flag, double t); /* in words; the status of the callback where one stopped the run */
int ode_step(void *ode, double *t);          /* for march */
March ode_march(Ode *o);                     /* without its `row` */
static inline uint32_t ode_ncaptured(const HostCall *call) {
	return (uint32_t)(call->options[1] + call->options[2]);
}

/* Which of f's parameters have tangents: appended to the options of the derived calls, after those of "ode". */
typedef struct Active {
	bool y0;
	uint32_t ncaptured;
	const int64_t *captured; /* which, ascending */
} Active;
Active active_of(const HostCall *call, uint32_t noptions);

/* The integrator of y and of s_k = dy/dp_k, k < ns, together: s' = J s + f_p dp. */
typedef struct Sensitivity {
	Ode *o;
	Active active;
	Routine jvp; /* captured..., t, y, tangents of the active captured..., tangent of y */
	bool flat;   /* f does not depend on what is active: s' = 0 */
	uint32_t ns;
	N_Vector *s, *atol;
	Tensor **directions; /* ns x active.ncaptured: dp */
	double *scale;       /* of each direction: s[k] is for direction/scale */
	SUNNonlinearSolver nonlinear;
} Sensitivity;
Status sensitivity_begin(Sensitivity *w, Ode *o, Active active, Fn *jvp, uint32_t ns);
/* Direction k: dy0 (NULL: zero) is copied; dp[i] has the shape of captured value i. Scales it to the size of the values. */
Status sensitivity_direction(Sensitivity *w, uint32_t k, const double *dy0, Tensor *const *dp);
Status sensitivity_start(Sensitivity *w);
/* The sensitivities at t, inside the last step, in w->s. */
int sensitivity_at(Sensitivity *w, double t);
void sensitivity_end(Sensitivity *w);

/* Host functions and what makes them. */
extern const HostDef ode_host, ode_tangent_host, ode_adjoint_host;
void ode_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results, const Ref *tangents, Ref *result_tangents);

#endif
