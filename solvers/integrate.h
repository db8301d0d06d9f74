/* integrate.h - what the host functions "ode" and "dae", with events and without, have in common behind their integrators: the rows of the solution,
 * events on the way, counts at the end, the operands and types of a call with events.
 *
 * Needs: events.h. Guarantees: whatever fails in between, what was begun is ended; the results are those that solvers.h and events.h describe.
 */
#ifndef ATLED_SOLVERS_INTEGRATE_H
#define ATLED_SOLVERS_INTEGRATE_H

#include "solvers/events.h"

enum { SOLVER_OPTIONS = 8 }; /* at most, of an integrator */
enum { SOLVER_COUNTS = 8 };  /* steps, evaluations, Jacobians, set-ups, failed error tests, Newton iterations and their failures, last order */

/* An integrator of SUNDIALS; `problem` is an Ode or a Dae. */
typedef struct Integrator {
	uint32_t noperands, nfns, noptions; /* of the call without events */
	Status (*begin)(void *problem, Ctx *c, const HostCall *call, const Value *args);
	Status (*start)(void *problem);
	int (*step)(void *problem, double *t);
	int (*state)(void *problem, double t, N_Vector y); /* the solution inside the last step */
	void (*counts)(void *problem, int64_t counts[SOLVER_COUNTS]);
	Status (*fail)(void *problem, int flag, double t);
	void (*close)(void *problem); /* gives up the integrator, and with it what refers to the events */
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
March march_over(Ctx *c, const Given *in, void *ud, int (*step)(void *ud, double *t), Status (*fail)(void *ud, int flag, double t));

/* The evaluations of "ode" and "dae", and of "ode_until" and "dae_until". */
Status integrate(Integration *r, Ctx *c, const HostCall *call, const Value *args, Value *results);
Status integrate_until(Integration *r, Ctx *c, const HostCall *call, const Value *args, Value *results);

/* Whether a call with events has as many functions, operands and options as it must, and room for five results. */
bool until_is_whole(const Integrator *by, const HostCall *call, uint32_t nargs, uint32_t cap);

#endif
