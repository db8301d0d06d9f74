/* events.h - event location: zeros of functions of the solution, found during
 * the integration.
 *
 * Needs: sundials.h.
 *
 * Contract: one search serves CVODES and IDAS, on the dense output of each
 * step. A sign change is detected if it shows at a node of a step, or at an
 * extremum between two nodes. It is located to rounding. "ode_until" and
 * "dae_until" are "ode" and "dae" with events:
 *
 *   functions  those of the solver, then g(t, y) -> f64[m]
 *   operands   those of the solver, then signs i64[m]: the sign of each g just
 *              after the start; 0: unknown
 *   options    those of the solver, then partial, m, for each g its direction
 *              (1 rising, -1 falling, 0 either), and for each whether it is
 *              terminal
 *   results    those of the solver, whose last row is where it stopped, then
 *              for each event its row i64[E] and the index of g i64[E]; stats
 *              has a ninth number: 0 if the integrator failed
 *
 * With partial = 1 a failure is a warning, and the rows so far are the result.
 * These functions have no derivative; stdlib/ode/events.dsl defines the
 * derivative of a solution with events.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_EVENTS_H
#define ATLED_SOLVERS_SUNDIALS_EVENTS_H

#include "lang/ir/host.h"
#include "solvers/sundials/modules/sundials.h"

enum { SINCE_BEGIN = 1, SINCE_EVENT = 2 };
/* after the options of the solver; then directions, then terminal flags */
enum { EVENTS_PARTIAL, EVENTS_COUNT, EVENTS_WORDS };

typedef struct Events {
	Solve *s;
	Callback g;
	bool partial;
	uint32_t m;
	double *value, *root;          /* scratch */
	double *left, *middle, *right; /* g at three successive nodes */
	int *direction, *sign, *crossed;
	int *zeros; /* SINCE_...: g has been zero since then; 0: it has been nonzero */
	bool *stops;
	bool stopped;
	Tensor *row, *which; /* of the events found so far */
	N_Vector y;
	/* evaluates the solution inside the last step; returns 0 on success */
	int (*state)(void *ud, double t, N_Vector y);
	void *ud;
} Events;

/* The solver's own call within a call with events: its functions and options
 * without those of the events. `words` must have room for all options and must
 * outlive the result. */
HostCall events_plain_call(const HostCall *call, uint32_t nfns, uint32_t noptions, int64_t *words);
/* The solver's own operands, `nplain` in all: without the signs, which follow
 * its `noperands` operands. Allocated on the heap; NULL when memory fails. */
Value *events_plain_operands(Ctx *c, const Value *args, uint32_t noperands, uint32_t nplain);
/* options: those after the solver's; signs: the operand. */
Status events_begin(Events *e, Solve *s, Fn *g, const int64_t *options, Value signs,
                    uint32_t ncaptured, const Value *captured);
void events_end(Events *e);
/* Searches the part of a step that begins at a, whose rows (times, values) have
 * just been written. Sets *found and *at, the time at which the part must end.
 * Returns 0, or a SUNDIALS callback status. */
int events_look(Events *e, double a, uint32_t rows, const double *times, const double *values,
                bool *found, double *at);
/* Records the events at the cut; their row is `row`. */
Status events_record(Events *e, int64_t row);
/* The row of the first event; `none` if there is none. */
int64_t events_first(const Events *e, int64_t none);
/* Shifts the recorded rows after `less` rows before the first event were
 * removed. */
void events_move(Events *e, int64_t less);
/* Writes the results that follow the solver's three: rows, which. */
void events_results(const Events *e, Value *results);
/* Result types: those of the solver, the rows, which. */
uint32_t event_types(Builder *b, Ref y0, Ref saveat, TypeId *out);
/* Tangents of a call with events: none. */
void events_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                const Ref *results, const Ref *tangents, Ref *result_tangents);

#endif
