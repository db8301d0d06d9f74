/* nan_trace.c - origin of a NaN or infinity in a result: the host function.
 *
 * `_nan_check` runs a given function under an observer, which follows the value
 * from the operation that made it (nan_trace_steps.c, nan_trace_origins.c).
 * nan_trace_text.c words the answer.
 *
 * Needs: nan_trace.h.
 *
 * Contract:
 * - Results are the same as without the observer, except for the bits inside a
 *   NaN.
 * - Nothing remains allocated afterwards.
 *
 * Method: NaN payloads. A NaN has 22 bits that arithmetic propagates from
 * operands to the result, also through conversions of precision.
 *
 * - An operation whose result has a NaN where its operands have none gets an
 *   id, its origin. The id is written into those bits.
 * - The NaNs of the result thus identify their origin. A NaN that a `where`
 *   discards is not blamed.
 * - Where a kernel or library returns a NaN of its own, the id is written
 *   again.
 * - Infinities have no such bits. For them, the slot of the value that holds
 *   the first one is recorded.
 */
#include "backend/eval/nan_trace.h"
#include <stdio.h>

/* ---- types --------------------------------------------------------------- */

enum {
	R_FOUND,
	R_KIND,
	R_OPERATION,
	R_OPERANDS,
	R_INDEX,
	R_TURNS,
	R_DERIVATIVE,
	R_ORDER,
	R_FUNCTION,
	R_FILE,
	R_LINE,
	R_COLUMN,
	R_MESSAGE,
	RESULTS
};

/* Whether the observed function draws random numbers or prints. Its last two
 * operands and results are then the random state and the token. */
static bool has_effects(const HostCall *call) {
	const Fn *f = call->fns[0];
	const uint32_t n = fn_nparams(f);
	return n && ref_ty(f, fn_param(f, n - 1))->kind == TY_TOKEN;
}

/* Options: whether infinities count, then a name for each operand. */
static uint32_t check_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                            TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const TypeId dyn = type_dyn(c), whole = type_scalar(c, DT_I64);
	for (uint32_t k = 0; k < RESULTS && k < cap; k++) {
		out[k] = k == R_FOUND                                   ? type_scalar(c, DT_BOOL)
		         : k == R_ORDER || k == R_LINE || k == R_COLUMN ? whole
		                                                        : dyn;
		if (k != R_INDEX && k != R_TURNS) continue;
		Dim n = build_fresh_dim(b, 0, build_span(b));
		out[k] = type_tensor(c, DT_I64, 1, &n);
	}
	const uint32_t effects = has_effects(call) ? 2 : 0;
	for (uint32_t k = 0; k < effects && RESULTS + k < cap; k++)
		out[RESULTS + k] = ref_type(build_fn(b), args[nargs - effects + k]);
	return RESULTS + effects;
}

/* ---- arguments and results ----------------------------------------------- */

typedef struct ParameterScan {
	Watch *w;
	uint32_t parameter, made;
} ParameterScan;

static uint32_t given(void *ud, const ArrayView *e, int64_t at) {
	ParameterScan *g = ud;
	if (g->made) return g->made;
	g->made = origin_new(g->w, FROM_ARGUMENT, false, NULL);
	NanOrigin *o = &g->w->origins[g->made];
	if (!g->made) return 0;
	o->parameter = g->parameter;
	o->rank = e->rank;
	if (e->rank) view_index(e, at, o->index);
	return g->made;
}

static Status take_arguments(Watch *w, uint32_t n, const Value *args, Value *own) {
	Status st = ST_OK;
	for (uint32_t k = 0; k < n; k++) {
		own[k] = value_ref(args[k]);
		ParameterScan g = {w, k, 0};
		if (st == ST_OK) st = mark_origins(w, &own[k], given, &g);
		ArrayView e;
		int64_t at = view_elements(&own[k], &e) ? first_of_class(w, &e, INFINITE, false) : -1;
		if (at < 0) continue;
		if (!(w->of_parameter[k] = origin_new(w, FROM_ARGUMENT, true, NULL))) continue;
		NanOrigin *o = &w->origins[w->of_parameter[k]];
		o->parameter = k;
		o->rank = e.rank;
		if (e.rank) view_index(&e, at, o->index);
	}
	w->last_infinity = 0;
	return st;
}

/* The origin of the first NaN (or infinity) in the results, or 0. */
static uint32_t chosen(Watch *w, const Code *code, const Value *results, bool infinities) {
	for (uint32_t k = 0; k < code->body.nresults; k++) {
		ArrayView e;
		uint32_t origin = 0;
		if (!view_elements(&results[k], &e)) continue;
		int64_t nan = first_of_class(w, &e, IS_NAN, false),
				infinite = infinities ? first_of_class(w, &e, INFINITE, false) : -1;
		if (nan >= 0) {
			element_class(w, e.dtype, view_element(&e, nan), &origin);
			if (!origin) origin = origin_new(w, FROM_CONSTANT, false, NULL);
			if (infinities && origin && w->origins[origin].infinity)
				origin = w->origins[origin].infinity;
			return origin;
		}
		if (infinite < 0) continue;
		const int32_t slot = code->body.results[k];
		if (slot >= 0 && (uint32_t)slot >= code->body.params &&
		    (uint32_t)slot < code->body.params + code->body.nparams)
			origin = w->of_parameter[(uint32_t)slot - code->body.params];
		else if (slot >= 0 && w->room && w->root_slots) {
			const SlotOrigin *p = infinity_place(w, code, w->root_slots + slot);
			origin = p->slot ? p->origin : 0;
		}
		if (!origin) origin = w->last_infinity;
		return origin ? origin : origin_new(w, FROM_CONSTANT, true, NULL);
	}
	return 0;
}

/* ---- the answer ---------------------------------------------------------- */

static Value string_value(Ctx *c, const char *text) { return value_string(c, text, strlen(text)); }

static Value whole_numbers(Ctx *c, uint32_t n, const int64_t *x) {
	Tensor *t = tensor_new(c, DT_I64, 1, (int64_t[]){n});
	if (!t) return (Value){.kind = V_UNSET};
	if (n) memcpy(t->data, x, n * sizeof *x);
	return value_tensor(t);
}

/* Writes the record's fields and the message. found: the origin belongs to a
 * value in the result. */
static Status answer(Watch *w, uint32_t id, bool found, bool infinities, bool infinite_result,
                     const char *failure, Value *out) {
	Ctx *c = w->c;
	Text t;
	text_init(&t, c);
	NanOrigin none = {0};
	NanOrigin *o = id ? &w->origins[id] : &none;
	if (!id) {
		text_format(
			&t, "no NaN%s",
			infinities ? " and no infinity"
			: infinite_result
				? " in the result, but an infinity: nan_check(f, ...; inf = true) says where from"
				: "");
		if (failure) text_format(&t, " before the program fails: %s", failure);
		text_str(&t, "\n");
	} else {
		report_origin(&t, w, o, true,
		              found || failure ? ""
		              : o->infinite    ? "the result is finite; inside, "
		                               : "the result has no NaN; inside, ");
		if (o->infinity && !o->infinite)
			report_origin(&t, w, &w->origins[o->infinity], false, "the infinity in it: ");
		if (failure) text_format(&t, "  then the program fails: %s\n", failure);
	}
	while (t.n && t.at[t.n - 1] == '\n') t.n--;
	const Derivative d = origin_derivative(w, o);
	uint32_t line = 0, column = 0;
	const Span at = id && o->span ? span_of(c, o->span) : NO_SPAN;
	if (at.source) source_position(c, at, &line, &column);
	const Atom inside = id ? library_call(w, o) : 0;
	out[R_FOUND] = value_bool(found);
	out[R_KIND] = string_value(c, !id ? "" : o->infinite ? "infinity" : "NaN");
	out[R_OPERATION] = string_value(c, !id                        ? ""
	                                   : o->kind == FROM_ARGUMENT ? "argument"
	                                   : o->kind == FROM_CONSTANT ? "constant"
	                                                              : word_of(o, c));
	out[R_OPERANDS] = value_seq(c, V_TUPLE, o->noperands, o->operands);
	out[R_INDEX] = whole_numbers(c, o->rank, o->index);
	out[R_TURNS] = whole_numbers(c, o->niterations, o->iterations);
	out[R_DERIVATIVE] = string_value(c, id ? d.mode : "");
	out[R_ORDER] = value_i64(d.order);
	out[R_FUNCTION] = string_value(c, inside ? atom_text(c, inside) : "");
	out[R_FILE] = string_value(c, at.source ? source_name(c, at.source) : "");
	out[R_LINE] = value_i64(line);
	out[R_COLUMN] = value_i64(column);
	out[R_MESSAGE] = t.failed ? (Value){.kind = V_UNSET} : value_string(c, t.at ? t.at : "", t.n);
	text_free(&t);
	for (uint32_t k = 0; k < RESULTS; k++)
		if (out[k].kind == V_UNSET) return ST_NOMEM;
	return ST_OK;
}

/* ---- the run ------------------------------------------------------------- */

static void watch_end(Watch *w) {
	Ctx *c = w->c;
	for (uint32_t i = 1; i < w->norigins; i++) {
		text_free(&w->origins[i].note);
		text_free(&w->origins[i].trace);
	}
	heap_free(c, w->origins, w->cap * sizeof *w->origins);
	heap_free(c, w->places, w->room * sizeof *w->places);
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (Primal *p = w->primals[i], *next; p; p = next) {
			next = p->next;
			value_unref(p->operand);
			heap_free(c, p, sizeof *p);
		}
}

typedef struct Answering {
	Watch *w;
	const Code *code;
	const Value *results;
	bool ran, infinities;
	const char *failure;
	Value *out;
	Status st;
} Answering;

/* Protected, because names are interned. */
static void answer_protected(Ctx *c, void *ud) {
	(void)c;
	Answering *a = ud;
	Watch *w = a->w;
	uint32_t id = a->ran ? chosen(w, a->code, a->results, a->infinities) : 0;
	const bool found = id || (!a->ran && w->norigins > 1);
	bool infinite = false;
	for (uint32_t k = 0; k < a->code->body.nresults && a->ran; k++) {
		ArrayView e;
		infinite |=
			view_elements(&a->results[k], &e) && first_of_class(w, &e, INFINITE, false) >= 0;
	}
	for (uint32_t i = 1; i < w->norigins && !id; i++)
		if (w->origins[i].infinite ? a->infinities : true) id = i;
	a->st = answer(w, id, found, a->infinities, infinite, a->failure, a->out);
}

static Status check_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	Backend *be = backend_of(c);
	Code *code = code_of(c, call->fns[0]);
	if (!code) return ctx_failure(c);
	Watch w = {.observer = {watch_step, watch_block}, .c = c, .call = call, .fn = call->fns[0]};
	const uint32_t nout = code->body.nresults, before = diag_total(c);
	const size_t bytes = (nargs + nout + 1) * sizeof(Value) + (nargs + 1) * sizeof(uint32_t);
	Value *own = heap_alloc(c, bytes), *out = own + nargs;
	if (!own) return ST_NOMEM;
	memset(own, 0, bytes);
	w.of_parameter = (uint32_t *)(out + nout + 1);
	for (uint32_t k = 0; k < nresults; k++) results[k].kind = V_UNSET;
	Status st = take_arguments(&w, nargs, args, own);
	if (st == ST_OK) {
		Observer *around = be->observer;
		be->observer = &w.observer;
		st = code_call(c, code, own, out);
		be->observer = around;
		Answering a = {.w = &w,
		               .code = code,
		               .results = out,
		               .ran = st == ST_OK,
		               .infinities = call->options[0] != 0,
		               .out = results};
		char failure[400] = "";
		if (st == ST_ERROR) {
			if (diag_total(c) > before)
				snprintf(failure, sizeof failure, "%s", diag_at(c, before)->message);
			a.failure = failure;
			diag_truncate(c, before);
			be->reported_diags = UINT32_MAX;
			st = ST_OK;
		}
		if (st == ST_OK) st = ctx_protect(c, answer_protected, &a);
		if (st == ST_OK) st = a.st;
		/* The observed program does not change the random state: the caller
		 * draws what it would have drawn. */
		for (uint32_t k = RESULTS; k < nresults; k++)
			results[k] = value_ref(args[nargs - nresults + k]);
	}
	for (uint32_t k = 0; k < nargs + nout; k++) value_unref(own[k]);
	heap_free(c, own, bytes);
	watch_end(&w);
	if (st != ST_OK)
		for (uint32_t k = 0; k < nresults; k++) {
			value_unref(results[k]);
			results[k].kind = V_UNSET;
		}
	return st;
}

void provenance_register(Ctx *c) {
	host_register(c, &(HostDef){.name = "_nan_check", .types = check_types, .eval = check_eval});
}
