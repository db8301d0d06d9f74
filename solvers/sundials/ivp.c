/* ivp.c - driver of "ode" and "dae" with any integrator: rows and events.
 *
 * Needs: ivp.h. Contract: as in ivp.h.
 */
#include "solvers/sundials/ivp.h"

TimeLoop time_loop_over(Ctx *c, const IvpInput *in, void *ud, int (*step)(void *ud, double *t),
                        Status (*fail)(void *ud, int flag, double t)) {
	return (TimeLoop){.c = c,
	                  .t0 = in->t0,
	                  .t1 = in->t1,
	                  .max_steps = in->max_steps,
	                  .degree = in->degree,
	                  .at = in->at,
	                  .nat = in->nat,
	                  .ud = ud,
	                  .step = step,
	                  .fail = fail};
}

/* ---- callbacks of time_loop_run ------------------------------------------ */

static int take_step(void *run, double *t) {
	Integration *r = run;
	return r->by->step(r->problem, t);
}

static Status time_loop_failed(void *run, int flag, double t) {
	Integration *r = run;
	return r->by->fail(r->problem, flag, t);
}

static Status store_row(void *run, int64_t k, double t) {
	(void)k;
	Integration *r = run;
	double *out = rows_next(r->s, &r->rows, t);
	if (!out) return ST_NOMEM;
	N_Vector y = *r->y;
	if (t != *r->t) {
		y = r->between;
		int flag = r->by->state(r->problem, t, y);
		if (flag) return r->by->fail(r->problem, flag, *r->t);
	}
	memcpy(out, vector_data(y), (size_t)r->in->n * sizeof *out);
	return ST_OK;
}

static Status cut_at_event(void *run, int64_t k, double a, double *b, bool *found) {
	Integration *r = run;
	const int64_t n = r->in->n;
	const double *times = (const double *)(const void *)r->rows.times->data,
				 *values = (const double *)(const void *)r->rows.values->data;
	int flag = events_look(r->events, a, (uint32_t)(r->rows.used - k), times + k, values + k * n,
	                       found, b);
	if (flag) return r->by->fail(r->problem, TIME_LOOP_EVENTS, a);
	if (*found) r->rows.used = k;
	return ST_OK;
}

static Status note_event(void *run, int64_t k, bool *stop) {
	Events *e = ((Integration *)run)->events;
	Status st = events_record(e, k);
	*stop = e->stopped;
	return st;
}

/* ---- a whole call -------------------------------------------------------- */

/* The counters; with events a ninth: whether the solution is complete. */
static Value stats_of(Integration *r) {
	int64_t counts[SOLVER_COUNTS + 1] = {0}, n = SOLVER_COUNTS + (r->events != NULL);
	r->by->counts(r->problem, counts);
	counts[SOLVER_COUNTS] = !r->s->failed;
	Tensor *t = tensor_new(r->s->c, DT_I64, 1, &n);
	if (!t) return (Value){.kind = V_UNSET};
	memcpy(t->data, counts, (size_t)n * sizeof *counts);
	return value_tensor(t);
}

/* Merges the first steps, up to the first event. */
static Status join_first(Integration *r) {
	int64_t less;
	const int64_t until = r->events ? events_first(r->events, r->rows.used - 1) : r->rows.used - 1;
	const Status st =
		rows_join_first(r->s, &r->rows, r->in->degree, r->in->rtol, r->in->atol, until, &less);
	if (st == ST_OK && r->events) events_move(r->events, less);
	return st;
}

static Status run_whole(Integration *r, Status st, Value *results) {
	Solve *s = r->s;
	if (st == ST_OK) st = r->by->start(r->problem);
	if (st == ST_OK) st = rows_begin(s, &r->rows, r->in->n, r->in->at, r->in->nat);
	if (st == ST_OK) st = (r->between = solve_vector(s, r->in->n)) ? ST_OK : ST_NOMEM;
	if (st == ST_OK) {
		TimeLoop m = time_loop_over(s->c, r->in, r, take_step, time_loop_failed);
		m.row = store_row;
		if (r->events) {
			m.cut = cut_at_event;
			m.noted = note_event;
			r->events->y = r->between;
			r->events->state = r->by->state;
			r->events->ud = r->problem;
		}
		s->partial = r->events && r->events->partial;
		st = time_loop_run(&m);
		if (st == ST_ERROR && s->partial && s->failed) st = ST_OK;
	}
	if (st == ST_OK) st = s->status; /* a clone may have failed unnoticed */
	if (st == ST_OK) st = join_first(r);
	Value stats = st == ST_OK ? stats_of(r) : (Value){.kind = V_UNSET};
	if (st == ST_OK && stats.kind == V_UNSET) st = ST_NOMEM;
	if (st == ST_OK) rows_results(&r->rows, stats, results);
	return st;
}

static Status integrate(Integration *r, Ctx *c, const HostCall *call, const Value *args,
                        Value *results) {
	Status st = r->by->begin(r->problem, c, call, args);
	solve_names(r->s, call, r->by->noptions);
	st = run_whole(r, st, results);
	rows_end(&r->rows);
	r->by->end(r->problem);
	return st;
}

static Status integrate_until(Integration *r, Ctx *c, const HostCall *call, const Value *args,
                              Value *results) {
	const uint32_t noptions = r->by->noptions, noperands = r->by->noperands, nfns = r->by->nfns;
	int64_t words[SOLVER_OPTIONS];
	const HostCall plain = events_plain_call(call, nfns, noptions, words);
	const uint32_t nf = (uint32_t)call->options[1], njac = (uint32_t)call->options[2],
				   ng = (uint32_t)call->options[3];
	const uint32_t nplain = noperands + nf + njac;
	Events e = {0};
	Value *operands = events_plain_operands(c, args, noperands, nplain);
	if (!operands) return ST_NOMEM;
	Status st = r->by->begin(r->problem, c, &plain, operands);
	if (st == ST_OK)
		st = events_begin(&e, r->s, call->fns[nfns], call->options + noptions + 1, args[noperands],
		                  ng, args + nplain + 1);
	r->events = &e;
	solve_names(
		r->s, call,
		(uint32_t)(noptions + 1 + EVENTS_WORDS + 2 * call->options[noptions + 1 + EVENTS_COUNT]));
	st = run_whole(r, st, results);
	if (st == ST_OK) events_results(&e, results);
	rows_end(&r->rows);
	r->by->close(r->problem);
	events_end(&e);
	heap_free(c, operands, nplain * sizeof *operands);
	r->by->end(r->problem);
	return st;
}

static const Integrator *integrator_of(const HostCall *call) {
	return ((const Family *)call->def->ud)->by;
}

/* Evaluates the call with a zeroed record of its problem. */
static Status eval(Ctx *c, const HostCall *call, const Value *args, Value *results,
                   Status (*run)(Integration *r, Ctx *c, const HostCall *call, const Value *args,
                                 Value *results)) {
	const Integrator *by = integrator_of(call);
	char *problem = heap_alloc(c, by->bytes);
	if (!problem) return ST_NOMEM;
	memset(problem, 0, by->bytes);
	Integration r = {.by = by,
	                 .problem = problem,
	                 .s = (void *)(problem + by->s),
	                 .in = (void *)(problem + by->in),
	                 .y = (void *)(problem + by->y),
	                 .t = (void *)(problem + by->t)};
	const Status st = run(&r, c, call, args, results);
	heap_free(c, problem, by->bytes);
	return st;
}

Status ivp_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults,
                Value *results) {
	(void)nargs;
	(void)nresults;
	return eval(c, call, args, results, integrate);
}

Status ivp_until_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                      uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	return eval(c, call, args, results, integrate_until);
}

/* Whether a call with events has the right numbers of functions, operands,
 * options and results. */
static bool until_is_whole(const Integrator *by, const HostCall *call, uint32_t nargs,
                           uint32_t cap) {
	const int64_t *w = call->options;
	/* the events' options begin after one more capture count */
	const uint32_t events = by->noptions + 1;
	return cap >= 5 && call->nfns == by->nfns + 1 && call->noptions >= events + EVENTS_WORDS &&
	       w[0] == by->nfns + 1 &&
	       call->noptions >= events + EVENTS_WORDS + 2 * w[events + EVENTS_COUNT] &&
	       nargs == by->noperands + 1 + w[1] + w[2] + w[3] &&
	       fn_nparams(call->fns[by->nfns]) == (uint32_t)w[3] + 2 &&
	       fn_nresults(call->fns[by->nfns]) == 1;
}

static void check_operands(const Integrator *by, Builder *b, const HostCall *call,
                           const Ref *args) {
	const char *name = call->def->name;
	for (uint32_t k = 0; k < by->noperands; k++)
		want_operand(b, name, by->operands[k].what, args[k], (Dtype)by->operands[k].dtype,
		             by->operands[k].rank);
	for (uint32_t k = 0; k < by->nfns; k++)
		if (fn_nparams(call->fns[k]) != (uint32_t)call->options[1 + k] + by->nparameters[k] ||
		    fn_nresults(call->fns[k]) != 1)
			host_misuse(b, name, "function %u must take (%s) and give one array", k,
			            by->parameters[k]);
}

uint32_t ivp_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out,
                   uint32_t cap) {
	const Integrator *by = integrator_of(call);
	if (cap < 3 || call->nfns != by->nfns || call->noptions < by->noptions ||
	    call->options[0] != by->nfns || nargs != family_base(by->family, call))
		host_misuse(b, call->def->name, "wants %u functions, %u operands and %u options", by->nfns,
		            by->noperands, by->noptions - 1 - by->nfns);
	check_operands(by, b, call, args);
	return solution_types(b, args[by->family->y0], args[by->family->saveat], out);
}

uint32_t ivp_until_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                         TypeId *out, uint32_t cap) {
	const Integrator *by = integrator_of(call);
	if (!until_is_whole(by, call, nargs, cap))
		host_misuse(
			b, call->def->name,
			"wants %u functions, %u operands and %u options, and what is said of the events",
			by->nfns + 1, by->noperands, by->noptions - 1 - by->nfns);
	check_operands(by, b, call, args);
	want_operand(b, call->def->name, "the signs of the events", args[by->noperands], DT_I64, 1);
	return event_types(b, args[by->family->y0], args[by->family->saveat], out);
}

Status failure_errors(Solve *s, int64_t n, FailureState *at, void *mem,
                      int (*errors)(void *, N_Vector), int (*weights)(void *, N_Vector)) {
	at->errors = solve_vector(s, n);
	at->weights = solve_vector(s, n);
	if (!at->errors || !at->weights) return ST_NOMEM;
	/* success is 0 in both libraries */
	if (errors(mem, at->errors) || weights(mem, at->weights)) at->errors = NULL;
	return ST_OK;
}
