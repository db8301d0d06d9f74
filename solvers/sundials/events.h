/* events.h - zeros of functions of the solution, noticed while it is
 * integrated.
 *
 * Needs: sundials.h. Guarantees: one search for CVODE and IDA, on the dense
 * output of each step: a change of sign is seen wherever it shows at one of the
 * nodes of a step, or at an extremum between two of them, and located to
 * rounding. "ode_until" and "dae_until" are "ode" and "dae" with it.
 *
 *   functions  those of the solver, then g(t, y) -> f64[m]
 *   operands   those of the solver, then signs i64[m]: which sign each g has just behind the start; 0: not known
 *   options    those of the solver, then partial, m, for each g its direction (1 rising, -1 falling, 0 either), and for each whether it stops the
 *              integration there
 *   results    those of the solver, the last row being where it stopped, then for each event i64[E] its row, i64[E] which g;
 *              stats has a ninth number: 0 where the integrator gave up, which
 *              with partial = 1 is a warning: the rows up to there are the
 *              result
 * They have no derivative; stdlib/ode/events.dsl says what that of a solution
 * with events is.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_EVENTS_H
#define ATLED_SOLVERS_SUNDIALS_EVENTS_H

#include "lang/ir/host.h"
#include "solvers/sundials/sundials.h"

enum { SINCE_BEGIN = 1, SINCE_EVENT = 2 };
/* behind the options of the solver; then directions, then stops */
enum { EVENTS_PARTIAL, EVENTS_COUNT, EVENTS_WORDS };

typedef struct Events {
	Solve *s;
	Routine g;
	bool partial;
	uint32_t m;
	double *value, *root;          /* scratch */
	double *left, *middle, *right; /* g at three nodes, one after the other */
	int *direction, *sign, *crossed;
	int *zeros; /* SINCE_...: nothing but zeros were seen since then; 0: something else was */
	bool *stops;
	bool stopped;
	Tensor *row, *which; /* of the events so far */
	N_Vector y;
	/* the solution inside the last step; 0 when that went well */
	int (*state)(void *ud, double t, N_Vector y);
	void *ud;
} Events;

/* The call of the solver itself that is in a call with events: its functions
 * and options without what the events add. The words live as long as `words`,
 * which has room for all options. */
HostCall events_plain_call(const HostCall *call, uint32_t nfns, uint32_t noptions, int64_t *words);
/* Its operands, `nplain` in all: without the signs, which stand behind the
 * solver's own `noperands`. Memory of the heap; NULL when there is none. */
Value *events_plain_operands(Ctx *c, const Value *args, uint32_t noperands, uint32_t nplain);
/* options: those behind the solver's; signs: the operand. */
Status events_begin(Events *e, Solve *s, Fn *g, const int64_t *options, Value signs,
                    uint32_t ncaptured, const Value *captured);
void events_end(Events *e);
/* Looks at the piece of a step from a on, of which the rows (times, values)
 * have just been written. Where there is an event that counts, *found, and its
 * time, at which the piece is to end. 0, or as a callback of SUNDIALS. */
int events_look(Events *e, double a, uint32_t rows, const double *times, const double *values,
                bool *found, double *at);
/* The piece has been cut there: the events of that time are in row `row`. */
Status events_record(Events *e, int64_t row);
/* The row of the first event; `none` where there is none. */
int64_t events_first(const Events *e, int64_t none);
/* There are so many rows less before the first event than when events were
 * recorded. */
void events_move(Events *e, int64_t less);
/* The results behind the solver's own three: rows, which. */
void events_results(const Events *e, Value *results);
/* Result types: those of the solver, the rows, which. */
uint32_t event_types(Builder *b, Ref y0, Ref saveat, TypeId *out);
/* Tangents of a call with events: none. */
void events_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                const Ref *results, const Ref *tangents, Ref *result_tangents);

#endif
