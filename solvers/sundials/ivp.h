/* ivp.h - shared driver of "ode" and "dae", with and without events: rows of
 * the solution, events, counters, failure state, operands and types.
 *
 * Needs: rules.h, events.h.
 *
 * Contract: whatever fails, everything begun is ended. Results are as solvers.h
 * and events.h describe.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_IVP_H
#define ATLED_SOLVERS_SUNDIALS_IVP_H

#include "solvers/sundials/rules.h"
#include "solvers/sundials/events.h"

enum { SOLVER_OPTIONS = 8 }; /* limit on an integrator's options */
/* steps, evaluations, Jacobians, set-ups, failed error tests, Newton iterations
 * and their failures, last order */
enum { SOLVER_COUNTS = 8 };

/* The required form of an operand. */
typedef struct OperandForm {
	const char *what;
	uint8_t dtype, rank;
} OperandForm;
enum { SOLVER_FNS = 2 }; /* of an integrator: the equations and their Jacobian */

/* A SUNDIALS integrator; `problem` is an Ode or a Dae. */
typedef struct Integrator {
	/* the record of one problem: its size, and the offsets of its Solve, its
	 * Given, the state and the state's time */
	size_t bytes, s, in, y, t;
	uint32_t noperands, nfns, noptions; /* of the call without events */
	const OperandForm *operands;
	const char *parameters[SOLVER_FNS]; /* parameters after the captured values, for messages */
	uint32_t nparameters[SOLVER_FNS];
	const Family *family;
	Status (*begin)(void *problem, Ctx *c, const HostCall *call, const Value *args);
	Status (*start)(void *problem);
	int (*step)(void *problem, double *t);
	int (*state)(void *problem, double t, N_Vector y); /* the solution inside the last step */
	void (*counts)(void *problem, int64_t counts[SOLVER_COUNTS]);
	Status (*fail)(void *problem, int flag, double t);
	/* frees the integrator, which refers to the events */
	void (*close)(void *problem);
	void (*end)(void *problem);
} Integrator;

/* One call: the integrator, its problem, and pointers into it. */
typedef struct Integration {
	const Integrator *by;
	void *problem;
	Solve *s;
	const IvpInput *in;
	const N_Vector *y;
	const double *t; /* time of y */
	Events *events;  /* NULL: none */
	OutputRows rows;
	N_Vector between;
} Integration;

/* A time loop over the interval, without its `row`. */
TimeLoop time_loop_over(Ctx *c, const IvpInput *in, void *ud, int (*step)(void *ud, double *t),
                        Status (*fail)(void *ud, int flag, double t));

/* The `types` and `eval` of "ode" and "dae", and with events of "ode_until" and
 * "dae_until". HostDef.ud is the Family, whose integrator does the work. The
 * types throw if functions, operands or options do not match the integrator. */
uint32_t ivp_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out,
                   uint32_t cap);
uint32_t ivp_until_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                         TypeId *out, uint32_t cap);
Status ivp_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults,
                Value *results);
Status ivp_until_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                      uint32_t nresults, Value *results);

/* Fills in `at` with the error estimates and weights of the integrator `mem`,
 * which the two library functions return. */
Status failure_errors(Solve *s, int64_t n, FailureState *at, void *mem,
                      int (*errors)(void *, N_Vector), int (*weights)(void *, N_Vector));

#endif
