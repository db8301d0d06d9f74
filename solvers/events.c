/* events.c - zeros of functions of the solution: what the searches of CVODE and IDA find, recorded.
 *
 * Needs: events.h. Guarantees: as stated there.
 */
#include "solvers/events.h"
#include <math.h>

HostCall events_plain_call(const HostCall *call, uint32_t nfns, uint32_t noptions, int64_t *words) {
	/* options begin with the number of functions and what each captures: one function less than there */
	words[0] = nfns;
	for (uint32_t k = 0; k < nfns; k++) words[1 + k] = call->options[1 + k];
	for (uint32_t k = 1 + nfns; k < noptions; k++) words[k] = call->options[k + 1];
	HostCall plain = *call;
	plain.nfns = nfns;
	plain.noptions = noptions;
	plain.options = words;
	return plain;
}

Status events_begin(Events *e, Solve *s, Fn *g, const int64_t *options, uint32_t ncaptured, const Value *captured) {
	const uint32_t m = (uint32_t)options[EVENTS_COUNT];
	*e = (Events){.s = s, .m = m, .partial = options[EVENTS_PARTIAL] != 0};
	Status st = routine_begin(s, &e->g, g, "the expression of an event", ncaptured, captured);
	if (st != ST_OK) return st;
	e->direction = heap_alloc(s->c, (m + 1) * (2 * sizeof(int) + sizeof(bool)));
	const int64_t none = 0;
	e->row = tensor_new(s->c, DT_I64, 1, &none);
	e->which = tensor_new(s->c, DT_I64, 1, &none);
	if (!e->direction || !e->row || !e->which) return ST_NOMEM;
	e->fired = e->direction + m + 1;
	e->stops = (bool *)(e->fired + m + 1);
	for (uint32_t k = 0; k < m; k++) {
		e->direction[k] = (int)options[EVENTS_WORDS + k];
		e->stops[k] = options[EVENTS_WORDS + m + k] != 0;
		e->fired[k] = 0;
	}
	return ST_OK;
}

void events_end(Events *e) {
	if (!e->s) return;
	routine_end(e->s, &e->g);
	if (e->direction) heap_free(e->s->c, e->direction, (e->m + 1) * (2 * sizeof(int) + sizeof(bool)));
	tensor_unref(e->row);
	tensor_unref(e->which);
	*e = (Events){0};
}

int events_values(Events *e, double t, N_Vector y, double *out) {
	Value *args = e->g.args + e->g.ncaptured;
	const double *x;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(y));
	if (routine_run(e->s, &e->g)) return -1;
	int flag = routine_numbers(e->s, &e->g, 0, e->m, t, &x);
	if (!flag) memcpy(out, x, e->m * sizeof *out);
	routine_drop(&e->g);
	return flag;
}

static Tensor *pushed(Ctx *c, Tensor *t, int64_t x) {
	t = tensor_push_row(c, t);
	if (t) ((int64_t *)(void *)t->data)[t->count - 1] = x;
	return t;
}

Status events_record(Events *e, int64_t row) {
	for (uint32_t k = 0; k < e->m; k++) {
		if (!e->fired[k]) continue;
		e->row = pushed(e->s->c, e->row, row);
		e->which = e->row ? pushed(e->s->c, e->which, k) : e->which;
		if (!e->row || !e->which) return ST_NOMEM;
		e->stopped |= e->stops[k];
	}
	return ST_OK;
}

uint32_t event_types(Builder *b, Ref y0, Ref saveat, TypeId *out) {
	Ctx *c = build_ctx(b);
	uint32_t n = solution_types(b, y0, saveat, out);
	const Dim nine = dim_const(c, 9), events = build_fresh_dim(b, atom(c, "events"), build_span(b));
	out[n - 1] = type_tensor(c, DT_I64, 1, &nine);
	out[n] = out[n + 1] = type_tensor(c, DT_I64, 1, &events);
	return n + 2;
}

void events_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)b;
	(void)call;
	(void)nargs;
	(void)args;
	(void)results;
	(void)tangents;
	for (int k = 0; k < 5; k++) result_tangents[k] = REF_NONE;
}
