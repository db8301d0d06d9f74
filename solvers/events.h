/* events.h - zeros of functions of the solution, noticed while it is integrated.
 *
 * Needs: sundials.h. Guarantees: the integrator's own search for roots (Hiebert and Shampine 1980, as in CVODE and IDA) locates them; here they are
 * recorded: in which row of the result, and of which function. "ode_until" and "dae_until" are "ode" and "dae" with them.
 *
 *   functions  those of the solver, then g(t, y) -> f64[m]
 *   options    those of the solver, then partial, m, for each g its direction (1 rising, -1 falling, 0 either), and for each whether it stops the
 *              integration there
 *   results    those of the solver, the last row being where it stopped, then for each event i64[E] its row, i64[E] which g;
 *              stats has a ninth number: 0 where the integrator gave up, which with partial = 1 is a warning: the rows up to there are the result
 * They have no derivative; stdlib/events.dsl says what that of a solution with events is.
 */
#ifndef ATLED_SOLVERS_EVENTS_H
#define ATLED_SOLVERS_EVENTS_H

#include "lang/host.h"
#include "solvers/sundials.h"

enum { EVENTS_PARTIAL, EVENTS_COUNT, EVENTS_WORDS }; /* behind the options of the solver; then directions, then stops */

typedef struct Events {
	Solve *s;
	Routine g;
	bool partial;
	uint32_t m;
	int *direction, *fired; /* fired: written by the integrator */
	bool *stops;
	bool stopped;
	int64_t rows;       /* of the result when the last event was seen, and so the row of the event is one less */
	Tensor *row, *which;
} Events;

/* The call of the solver itself that is in a call with events: its functions and options without what the events add. The words live as long as
 * `words`, which has room for all options. */
HostCall events_plain_call(const HostCall *call, uint32_t nfns, uint32_t noptions, int64_t *words);
/* options: those behind the solver's. */
Status events_begin(Events *e, Solve *s, Fn *g, const int64_t *options, uint32_t ncaptured, const Value *captured);
void events_end(Events *e);
int events_values(Events *e, double t, N_Vector y, double *out); /* g; as SUNDIALS wants it of a callback */
/* `fired` has been written: events in row `row`. True when one of them stops the integration. */
Status events_record(Events *e, int64_t row);
/* Result types: those of the solver, the rows, which. */
uint32_t event_types(Builder *b, Ref y0, Ref saveat, TypeId *out);
/* Tangents of a call with events: none. */
void events_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results, const Ref *tangents, Ref *result_tangents);

#endif
