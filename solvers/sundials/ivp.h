/* ivp.h - what the host functions "ode" and "dae", with events and without,
 * have in common behind their integrators: the rows of the solution, events on
 * the way, counts at the end, where they stood when they gave up, the operands
 * and types of a call.
 *
 * Needs: rules.h, events.h. Guarantees: whatever fails in between, what was
 * begun is ended; the results are those that solvers.h and events.h describe.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_IVP_H
#define ATLED_SOLVERS_SUNDIALS_IVP_H

#include "solvers/sundials/rules.h"
#include "solvers/sundials/events.h"

enum { SOLVER_OPTIONS = 8 }; /* at most, of an integrator */
/* steps, evaluations, Jacobians, set-ups, failed error tests, Newton
 * iterations and their failures, last order */
enum { SOLVER_COUNTS = 8 };

/* What an operand must be. */
typedef struct OperandForm {
	const char *what;
	uint8_t dtype, rank;
} OperandForm;
enum { SOLVER_FNS = 2 }; /* of an integrator: the equations and their Jacobian */

/* An integrator of SUNDIALS; `problem` is an Ode or a Dae. */
typedef struct Integrator {
	uint32_t noperands, nfns, noptions; /* of the call without events */
	const OperandForm *operands;
	const char *parameters[SOLVER_FNS]; /* of the functions, behind what they capture, for words */
	uint32_t nparameters[SOLVER_FNS];
	const Family *family;
	Status (*begin)(void *problem, Ctx *c, const HostCall *call, const Value *args);
	Status (*start)(void *problem);
	int (*step)(void *problem, double *t);
	int (*state)(void *problem, double t, N_Vector y); /* the solution inside the last step */
	void (*counts)(void *problem, int64_t counts[SOLVER_COUNTS]);
	Status (*fail)(void *problem, int flag, double t);
	/* gives up the integrator, and with it what refers to the events */
	void (*close)(void *problem);
	void (*end)(void *problem);
} Integrator;

/* One call: the integrator, its problem, and where in that these stand. */
typedef struct Integration {
	const Integrator *by;
	void *problem;
	Solve *s;
	const Given *in;
	const N_Vector *y;
	const double *t; /* where y is the solution */
	Events *events;  /* looked for; NULL: none */
	Rows rows;
	N_Vector between;
} Integration;

/* The march over an interval, without its `row`. */
March march_over(Ctx *c, const Given *in, void *ud, int (*step)(void *ud, double *t),
                 Status (*fail)(void *ud, int flag, double t));

/* The evaluations of "ode" and "dae", and of "ode_until" and "dae_until". */
Status integrate(Integration *r, Ctx *c, const HostCall *call, const Value *args, Value *results);
Status integrate_until(Integration *r, Ctx *c, const HostCall *call, const Value *args,
                       Value *results);

/* The types of the results without events and with them. Throw unless
 * functions, operands and options are those of the integrator. */
uint32_t integrator_types(const Integrator *by, Builder *b, const HostCall *call, const Ref *args,
                          uint32_t nargs, TypeId *out, uint32_t cap);
uint32_t integrator_until_types(const Integrator *by, Builder *b, const HostCall *call,
                                const Ref *args, uint32_t nargs, TypeId *out, uint32_t cap);

/* Into `at` what the integrator `mem` knows of the errors of its step, by these
 * functions of its library. */
Status stand_errors(Solve *s, int64_t n, Stand *at, void *mem, int (*errors)(void *, N_Vector),
                    int (*weights)(void *, N_Vector));

#endif
