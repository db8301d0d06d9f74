/* direct_call.c - calls of a function that is one unit, without a frame.
 *
 * Used for example by integrators for right-hand sides.
 *
 * Needs: tier.h, runtime.h.
 *
 * Contract:
 * - The call's record, its extents and the memory of its results are made once.
 *   A call sets pointers and scalars and enters the code.
 * - Calls that the direct path cannot handle take the ordinary path, with the
 *   same results. Examples are operands of another form and failed checks,
 *   which need a message.
 */
#include "backend/native/run/runtime.h"
#include "backend/native/run/unit_step.h"
#include "lang/base/clock.h"

/* The source of an operand of the unit. */
typedef struct OperandSource {
	const Value *fixed; /* a constant, or NULL: */
	uint32_t param;
} OperandSource;

struct DirectCall {
	Ctx *c;
	Code *code, *hot; /* the function, and its machine code */
	NativeUnit *unit;
	uint32_t nparams, nresults;
	OperandSource *arrays, *words; /* of the unit's inputs and words */
	int64_t *counts;               /* by parameter: elements of an array, or -1 */
	Value *results;                /* by result of the function; arrays are owned */
	int32_t *result_from;          /* >= 0: output of the unit; < 0: its scalar result ~k */
	int32_t first;                 /* the output of the unit that is result 0, or -1 */
	void **buffers;
	int64_t *memory; /* the call's words, then its results */
	Arena *arena;
};

/* The only step of the code, if it is a unit that computes all of the
 * function's results; else NULL. */
static const Step *only_unit(const Code *hot) {
	const Block *b = &hot->body;
	if (b->nsteps != 1 || b->steps->inner != eval_native || b->steps->nsyms) return NULL;
	const NativeUnit *nu = b->steps->site;
	for (uint32_t k = 0; k < b->nresults; k++) {
		bool found = false;
		for (uint32_t i = 0; i < nu->unit->noutputs && b->results[k] >= 0; i++)
			found |= REF_INDEX(nu->unit->outputs[i].ref) == (uint32_t)b->results[k];
		for (uint32_t i = 0; i < nu->unit->nresults && b->results[k] >= 0; i++)
			found |= REF_INDEX(nu->unit->results[i]) == (uint32_t)b->results[k];
		if (!found) return NULL;
	}
	return b->steps;
}

static OperandSource source_of(const DirectCall *d, int32_t operand) {
	if (operand < 0) return (OperandSource){.fixed = d->hot->consts + ~operand};
	return (OperandSource){.param = (uint32_t)operand - d->hot->body.params};
}

static const Value *source_value(OperandSource s, const Value *args) {
	return s.fixed ? s.fixed : &args[s.param];
}

/* Computes extents and allocates results, in a frame with the parameters. */
static bool place_results(DirectCall *d, const Step *s, Frame *f) {
	const Unit *u = d->unit->unit;
	for (uint32_t i = 0; i < u->nsyms + u->ndims; i++)
		if (!unit_length(f, s, &d->unit->lengths[i], &d->memory[u->nwords + i])) return false;
	const Block *b = &d->hot->body;
	for (uint32_t k = 0; k < d->nresults; k++) {
		d->results[k] = (Value){.kind = V_UNSET};
		for (uint32_t i = 0; i < u->nresults; i++)
			if (REF_INDEX(u->results[i]) == (uint32_t)b->results[k])
				d->result_from[k] = ~(int32_t)i;
	}
	for (uint32_t i = 0; i < u->noutputs; i++) {
		const TypeRef *t = &d->unit->outputs[i];
		int64_t shape[MAX_RANK];
		bool wanted = false;
		for (uint32_t a = 0; a < t->rank; a++)
			if (!dim_length(f, s, &t->dims[a], &shape[a])) return false;
		for (uint32_t k = 0; k < d->nresults; k++) {
			if (REF_INDEX(u->outputs[i].ref) != (uint32_t)b->results[k] || wanted) continue;
			Tensor *made = tensor_new(d->c, (Dtype)t->dtype, t->rank, shape);
			if (!made) return false;
			d->results[k] = value_tensor(made);
			d->result_from[k] = (int32_t)i;
			d->buffers[u->ninputs + i] = made->data;
			wanted = true;
		}
		if (!wanted) return false; /* the same array twice, or an unused one: the ordinary path */
	}
	for (uint32_t k = 0; k < d->nresults; k++)
		if (d->result_from[k] >= 0 && d->results[k].kind == V_UNSET) return false;
	return true;
}

static bool place_results_in_frame(DirectCall *d, const Step *s, const Value *args) {
	const Code *hot = d->hot;
	const size_t bytes = hot->nslots * sizeof(Value) + (hot->nsyms + 1) * sizeof(int64_t);
	Value *slots = heap_alloc(d->c, bytes);
	if (!slots) return false;
	int64_t *syms = (int64_t *)(void *)(slots + hot->nslots);
	for (uint32_t i = 0; i < hot->nslots; i++) slots[i] = (Value){.kind = V_UNSET};
	for (uint32_t i = 0; i < hot->nsyms; i++) syms[i] = -1;
	for (uint32_t k = 0; k < d->nparams; k++) slots[hot->body.params + k] = args[k];
	Frame f = {.slots = slots,
	           .consts = hot->consts,
	           .syms = syms,
	           .be = backend_of(d->c),
	           .ctx = d->c,
	           .code = hot};
	bind_syms(&f, hot->body.nsyms, hot->body.syms);
	bool ok = true;
	for (uint32_t k = 0; k < d->nparams && ok; k++) ok = has_type(&f, args[k], &hot->params[k]);
	const uint32_t diags = diag_total(d->c);
	ok = ok && place_results(d, s, &f);
	diag_truncate(d->c, diags); /* the ordinary call reports it */
	heap_free(d->c, slots, bytes);
	return ok;
}

typedef struct DirectCallBuilder {
	Arena *arena;
	DirectCall *made;
	Code *code, *hot;
	const Step *s;
} DirectCallBuilder;

static void make(Ctx *c, void *arg) {
	DirectCallBuilder *m = arg;
	NativeUnit *nu = m->s->site;
	const Unit *u = nu->unit;
	Arena *a = m->arena = arena_new(c);
	DirectCall *d = m->made = ARENA_ARRAY(a, DirectCall, 1);
	*d = (DirectCall){.c = c,
	                  .code = m->code,
	                  .hot = m->hot,
	                  .unit = nu,
	                  .nparams = m->hot->body.nparams,
	                  .nresults = m->hot->body.nresults,
	                  .arena = a};
	d->arrays = ARENA_ARRAY(a, OperandSource, u->ninputs + 1);
	d->words = ARENA_ARRAY(a, OperandSource, u->nwords + 1);
	d->counts = ARENA_ARRAY(a, int64_t, d->nparams + 1);
	d->results = ARENA_ARRAY(a, Value, d->nresults + 1);
	d->result_from = ARENA_ARRAY(a, int32_t, d->nresults + 1);
	d->buffers = ARENA_ARRAY(a, void *, u->ninputs + u->noutputs + 1);
	d->buffers[u->ninputs + u->noutputs] = native_nowhere();
	d->memory = ARENA_ARRAY(a, int64_t, u->nwords + u->nsyms + u->ndims + u->nresults + 1);
	for (uint32_t i = 0; i < u->ninputs; i++) d->arrays[i] = source_of(d, m->s->args[i]);
	for (uint32_t i = 0; i < u->nwords; i++) d->words[i] = source_of(d, nu->words[i]);
}

DirectCall *direct_begin(Ctx *c, Code *code, const Value *args, bool *never) {
	Code *hot = code->hooks->ready(backend_of(c), code, never);
	if (!hot) return NULL;
	const Step *s = only_unit(hot);
	*never = true; /* an obstacle now is permanent */
	if (!s) return NULL;
	DirectCallBuilder m = {.code = code, .hot = hot, .s = s};
	const uint32_t diags = diag_total(c);
	if (ctx_protect(c, make, &m) != ST_OK) {
		arena_free(m.arena);
		diag_truncate(c, diags); /* out of memory: the ordinary path */
		*never = !ctx_stops(c);
		return NULL;
	}
	DirectCall *d = m.made;
	fn_ref(code->fn);
	bool ok = place_results_in_frame(d, s, args);
	for (uint32_t k = 0; k < d->nparams; k++)
		d->counts[k] = args[k].kind == V_TENSOR ? args[k].tensor->count : -1;
	const int32_t first = d->nresults ? d->result_from[0] : -1;
	d->first = first >= 0 ? first : -1;
	if (ok) return d;
	direct_end(d);
	return NULL;
}

void direct_end(DirectCall *d) {
	if (!d) return;
	for (uint32_t k = 0; k < d->nresults; k++) value_unref(d->results[k]);
	Fn *fn = d->code->fn;
	arena_free(d->arena);
	fn_unref(fn);
}

/* An ordinary call, with its results stored where the direct call's are. */
static Status ordinary(DirectCall *d, const Value *args, Tensor *into, const Value **results) {
	Value few[4], *made = d->nresults <= 4 ? few : heap_alloc(d->c, d->nresults * sizeof *made);
	if (!made) return ST_NOMEM;
	Status st = code_call(d->c, d->code, args, made);
	for (uint32_t k = 0; st == ST_OK && k < d->nresults; k++) {
		value_unref(d->results[k]);
		d->results[k] = made[k];
	}
	if (made != few) heap_free(d->c, made, d->nresults * sizeof *made);
	*results = d->results;
	if (st != ST_OK || !into || !d->nresults) return st;
	Tensor *from = value_to_tensor(d->c, d->results[0]);
	if (!from) return ST_NOMEM;
	if (from->count == into->count && from->dtype == into->dtype) tensor_convert_into(into, from);
	else st = ST_INTERNAL;
	tensor_unref(from);
	if (st == ST_INTERNAL)
		diag_error(d->c, E_INTERNAL, NO_SPAN, "a function changed the length of its result");
	return st;
}

/* False when the caller has taken a result's array, or the ordinary path has
 * replaced it by one that cannot be written. */
static bool has_memory(DirectCall *d) {
	for (uint32_t k = 0; k < d->nresults; k++) {
		if (d->result_from[k] < 0) continue;
		const Value *v = &d->results[k];
		if (v->kind != V_TENSOR || !v->tensor->contiguous || !tensor_is_unshared(v->tensor))
			return false;
		d->buffers[d->unit->unit->ninputs + (uint32_t)d->result_from[k]] = v->tensor->data;
	}
	return true;
}

/* False where machine code would read past the end of `into`, or where `into`
 * overlaps a constant that the code reads. */
bool direct_can_fill(const DirectCall *d, const Tensor *into) {
	if (!unit_reads(into)) return false;
	const char *end = into->data + (size_t)into->count * dtype_size((Dtype)into->dtype);
	for (uint32_t i = 0; i < d->unit->unit->ninputs; i++) {
		const Tensor *x = d->unit->constants[i];
		if (x && x->data < end &&
		    into->data < x->data + (size_t)x->count * dtype_size((Dtype)x->dtype))
			return false;
	}
	return true;
}

Status direct_call(DirectCall *d, const Value *args, Tensor *into, const Value **results) {
	const NativeUnit *nu = d->unit;
	const Unit *u = nu->unit;
	Backend *be = backend_of(d->c);
	const uint32_t nwords = u->nwords + u->nsyms + u->ndims;
	bool never;
	/* A call from outside, as in code_call_into. */
	if (!be->depth) be->reported_diags = UINT32_MAX;
	bool direct = d->code->hooks->ready(be, d->code, &never) == d->hot && has_memory(d) &&
	              (!into || (d->first >= 0 && d->results[0].tensor->count == into->count));
	for (uint32_t k = 0; k < d->nparams; k++)
		direct &= d->counts[k] == (args[k].kind == V_TENSOR ? args[k].tensor->count : -1);
	for (uint32_t i = 0; i < u->ninputs && direct; i++) {
		const Value *v = nu->constants[i] ? NULL : source_value(d->arrays[i], args);
		direct = !v || (v->kind == V_TENSOR && unit_reads(v->tensor));
		if (direct) d->buffers[i] = v ? v->tensor->data : nu->constants[i]->data;
	}
	if (UNLIKELY(!direct)) return ordinary(d, args, into, results);
	for (uint32_t i = 0; i < u->nwords; i++)
		d->memory[i] = unit_word(source_value(d->words[i], args));
	if (into && d->first >= 0) d->buffers[u->ninputs + (uint32_t)d->first] = into->data;
	NativeCall call = {.buffers = d->buffers,
	                   .words = d->memory,
	                   .results = d->memory + nwords,
	                   .hosts = u->hosts,
	                   .unit = u};
	const double from = UNLIKELY(be->profile != NULL) ? clock_seconds() : 0;
	Status st = native_run(be, nu->entry, &call);
	if (UNLIKELY(be->profile != NULL)) profile_add(be, d->unit, clock_seconds() - from);
	be->counters.native_calls++;
	be->counters.calls++;
	if (UNLIKELY(st != ST_OK)) return call.site >= 0 ? ordinary(d, args, into, results) : st;
	for (uint32_t k = 0; k < d->nresults; k++)
		if (d->result_from[k] < 0)
			d->results[k] = unit_number(nu->result_dtypes[~d->result_from[k]],
			                            call.results[~d->result_from[k]]);
	*results = d->results;
	return ST_OK;
}
