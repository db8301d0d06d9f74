/* dae.h - a differential-algebraic system in IDAS, for "dae" and its
 * derivatives.
 *
 * Needs: sensitivity_directions.h.
 *
 * Contract: dae_begin reads and checks the operands. dae_start creates the
 * integrator and, if requested, consistent initial values. dae_end releases
 * both, whatever failed before.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_DAE_H
#define ATLED_SOLVERS_SUNDIALS_DAE_H

#include "solvers/sundials/sensitivity_directions.h"
#include "solvers/sundials/modules/newton.h"

enum {
	DAE_Y0,
	DAE_YP0,
	DAE_ID,
	DAE_T0,
	DAE_T1,
	DAE_RTOL,
	DAE_ATOL,
	DAE_COLPTR,
	DAE_ROWIND,
	DAE_SAVEAT,
	DAE_MAX_STEP,
	DAE_OPERANDS
};
enum { DAE_F, DAE_JAC, DAE_NFNS };
enum { DAE_LINEAR = 1 + DAE_NFNS, DAE_DEGREE, DAE_MAX_STEPS, DAE_FIX_INITIAL, DAE_OPTIONS };

/* The sensitivities s_k = dy/dp_k: F_y s + F_y' s' + F_p dp = 0. */
typedef struct DaeSensitivity {
	Directions d;
	/* parameters: captured..., t, y, y', tangents of the active captured
	 * values, of y, of y' */
	Callback jvp;
	bool flat; /* F depends on nothing active */
	N_Vector *s, *sp, *atol;
} DaeSensitivity;

typedef struct Dae {
	Solve s;
	const HostCall *call;
	const Value *captured; /* of F */
	IvpInput in;
	const double *yp0, *id;
	bool fix_initial;
	bool consistent; /* y and y' are consistent at t0; later failures have another cause */
	Pattern pattern;
	Callback f, jac;
	void *mem; /* IDAS memory */
	N_Vector y, yp, id_vector, atol_vector;
	double t;           /* time of y */
	double begun;       /* time of the last (re)start */
	int64_t counted[6]; /* IDAS' counters before that */
	SUNMatrix matrix;
	SUNLinearSolver linear;
	Newton newton;
	DaeSensitivity *sensitivity; /* integrated with the state; NULL: none */
} Dae;

Status dae_begin(Dae *o, Ctx *c, const HostCall *call, const Value *args);
Status dae_start(Dae *o);
void dae_rewind(Dae *o); /* frees the integrator and returns to the initial state */
void dae_end(Dae *o);
Status dae_fail(Dae *o, int flag, double t);
TimeLoop dae_time_loop(Dae *o); /* without `row` */

/* Prepares sensitivities in ns directions, which the caller then sets.
 * dae_start integrates them with the state. */
Status dae_sensitivity_begin(DaeSensitivity *w, Dae *o, Active active, Fn *jvp, uint32_t ns);
/* called by dae_start before the initial values are made consistent */
Status dae_sensitivity_attach(Dae *o);
void dae_sensitivity_end(DaeSensitivity *w, Dae *o);

extern const Family dae_family;
/* storable.c */
bool dae_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                   uint32_t nresults, const TypeId *stated);
bool dae_tangent_may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                           uint32_t nresults, const TypeId *stated);
extern const HostDef dae_host, dae_until_host, dae_tangent_host, dae_adjoint_host,
	dae_curvature_host;

#endif
