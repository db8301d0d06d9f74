/* interpreter.c - the runner: frames, blocks of steps, calls, polls, failures.
 *
 * Needs: frame.h.
 *
 * Contract:
 * - Frames are on chunked stacks of the accounted heap. A call allocates
 *   nothing when the stack has grown.
 * - A failed run leaves no reference in any slot.
 * - Recursion ends at the context's depth limit and, for any limit, before the
 *   end of the C stack.
 * - Every failure has the span of the failed step, and the calls that led
 *   there.
 */
#include "backend/numlib/detached_call.h"
#include "backend/eval/core/frame.h"
#include "lang/base/clock.h"
#include <stdarg.h>
#include <stdio.h>

/* A multiple of sizeof(Value): slots of all frames are on one grid. */
#define CHUNK_BYTES ((size_t)48 * 1024)
#define TRACE_LINES 8u
_Static_assert(CHUNK_BYTES % sizeof(Value) == 0, "slots of all frames lie on one grid");

/* ---- memory for frames --------------------------------------------------- */

/* Allocates `bytes` on the stack; *mark_chunk and *mark_used restore it. A new
 * chunk is zeroed, so its slots are V_UNSET. */
static void *stack_push(Ctx *c, FrameStack *st, size_t bytes, FrameChunk **mark_chunk,
                        size_t *mark_used) {
	FrameChunk *k = st->now;
	*mark_chunk = k;
	*mark_used = k ? k->used : 0;
	while (!k || k->room - k->used < bytes) {
		FrameChunk *next = k ? k->next : st->first;
		if (!next) {
			size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
#ifdef ATLED_STRESS
			room = bytes;
#endif
			next = heap_alloc(c, sizeof *next + room);
			if (!next) {
				st->now = *mark_chunk;
				return NULL;
			}
			*next = (FrameChunk){
				.before = k, .room = room, .bytes = sizeof *next + room, .at = (char *)(next + 1)};
			memset(next->at, 0, room);
			if (k) k->next = next;
			else st->first = next;
		}
		k = next;
	}
	st->now = k;
	void *p = k->at + k->used;
	k->used += bytes;
	return p;
}

static void stack_pop(FrameStack *st, size_t bytes, FrameChunk *mark_chunk, size_t mark_used) {
	st->now->used -= bytes;
	st->now = mark_chunk;
	if (mark_chunk) mark_chunk->used = mark_used;
}

static void stack_free(Ctx *c, FrameStack *st) {
	for (FrameChunk *k = st->first; k;) {
		FrameChunk *next = k->next;
		heap_free(c, k, k->bytes);
		k = next;
	}
	*st = (FrameStack){0};
}

typedef struct Activation {
	Frame frame;
	FrameChunk *values_chunk, *syms_chunk;
	size_t values_used, syms_used;
} Activation;

static Status enter(Backend *be, const Code *code, Activation *a) {
	a->frame = (Frame){.consts = code->consts, .be = be, .ctx = be->ctx, .code = code};
	a->frame.slots = stack_push(be->ctx, &be->values, code->nslots * sizeof(Value),
	                            &a->values_chunk, &a->values_used);
	if (!a->frame.slots) return ST_NOMEM;
	if (!code->nsyms) return ST_OK;
	a->frame.syms = stack_push(be->ctx, &be->syms, code->nsyms * sizeof(int64_t), &a->syms_chunk,
	                           &a->syms_used);
	if (!a->frame.syms) {
		stack_pop(&be->values, code->nslots * sizeof(Value), a->values_chunk, a->values_used);
		return ST_NOMEM;
	}
	memset(a->frame.syms, 0xff, code->nsyms * sizeof(int64_t)); /* -1: unknown */
	return ST_OK;
}

/* Leaves a frame. After a failure any slot may still hold a value. */
static void leave(Activation *a, bool failed) {
	const Code *code = a->frame.code;
	Backend *be = a->frame.be;
	for (uint32_t i = 0; failed && i < code->nslots; i++) {
		value_unref(a->frame.slots[i]);
		a->frame.slots[i].kind = V_UNSET;
	}
	stack_pop(&be->values, code->nslots * sizeof(Value), a->values_chunk, a->values_used);
	if (code->nsyms)
		stack_pop(&be->syms, code->nsyms * sizeof(int64_t), a->syms_chunk, a->syms_used);
}

/* ---- failures ------------------------------------------------------------ */

/* The most recent diagnostic, which may be refined. diag.h returns it as const
 * because most callers must not change it. */
static Diag *last_diag(Ctx *c) {
	uint32_t n = diag_total(c);
	return n ? (Diag *)(uintptr_t)diag_at(c, n - 1) : NULL;
}

static Diag *diag_step_v(Frame *f, const Step *s, DiagCode code, const char *format, va_list args) {
	char text[512];
	vsnprintf(text, sizeof text, format, args);
	Diag *d = diag_error(f->ctx, code, span_of(f->ctx, s->span), "%s", text);
	f->be->traced = 0;
	char transforms[256] = "";
	if (s->chain) chain_transforms(f->ctx, s->chain, transforms, sizeof transforms);
	if (*transforms) diag_trace(f->ctx, d, "in derivative code: %s", transforms);
	return d;
}

Diag *diag_step(Frame *f, const Step *s, DiagCode code, const char *format, ...) {
	va_list args;
	va_start(args, format);
	Diag *d = diag_step_v(f, s, code, format, args);
	va_end(args);
	return d;
}

Status fail_at(Frame *f, const Step *s, DiagCode code, const char *format, ...) {
	va_list args;
	va_start(args, format);
	diag_step_v(f, s, code, format, args);
	va_end(args);
	return ST_ERROR;
}

Status fail_internal(Frame *f, const Step *s, const char *what) {
	diag_step(f, s, E_INTERNAL, "%s (%s)", what, prims[s->op].name);
	return ST_INTERNAL;
}

/* Messages refer to the user's source. Moves one inside the library to the
 * place of the call. */
static void leave_library(Ctx *c, Diag *d, Span caller) {
	if (!d->span.source || !source_is_library(c, d->span.source) || !caller.source ||
	    source_is_library(c, caller.source))
		return;
	if (d->code == E_INTERNAL) {
		uint32_t line, column;
		source_position(c, d->span, &line, &column);
		diag_trace(c, d, "in %s:%u:%u", source_name(c, d->span.source), line, column);
	}
	d->span = caller;
}

/* Adds a line to the trace for a call that the failure passes. */
static void trace_line(Backend *be, Atom callee, SpanId defined, SpanId at) {
	Ctx *c = be->ctx;
	Diag *d = last_diag(c);
	if (!d || be->traced > TRACE_LINES) return;
	if (!callee && at == defined) return; /* the program itself has no caller */
	Span caller = span_of(c, at);
	leave_library(c, d, caller);
	if (caller.source && source_is_library(c, caller.source)) return; /* internals of the library */
	const char *name = callee ? atom_text(c, callee) : "a function";
	const Span home = span_of(c, defined);
	/* Private names of the library are not shown. */
	if (*name == '_' && home.source && source_is_library(c, home.source)) return;
	if (be->traced++ == TRACE_LINES) {
		diag_trace(c, d, "... and the calls around it");
		return;
	}
	const int n = (int)strcspn(name, "."); /* transforms append to the user's name */
	if (!caller.source) {
		diag_trace(c, d, "in %.*s", n, name);
		return;
	}
	uint32_t line, column;
	source_position(c, caller, &line, &column);
	diag_trace(c, d, "in %.*s, called at %s:%u:%u", n, name, source_name(c, caller.source), line,
	           column);
}

/* The same for each call, innermost first. */
static void trace_call(Backend *be, const Code *callee, SpanId at, uint32_t diags_before) {
	if (diag_total(be->ctx) > diags_before) trace_line(be, callee->fn->name, callee->fn->span, at);
}

/* Moves warnings inside the library to the place of the call. */
static __attribute__((cold, noinline)) void warnings_called(Ctx *c, SpanId at,
                                                            uint32_t diags_before) {
	const Span caller = span_of(c, at);
	if (!caller.source || source_is_library(c, caller.source)) return;
	for (uint32_t i = diags_before; i < diag_total(c); i++) {
		Diag *d = (Diag *)(uintptr_t)diag_at(c, i);
		if (d->span.source && source_is_library(c, d->span.source)) d->span = caller;
	}
}

struct warned {
	Ctx *c;
	uint32_t before;
};

static void warned_inlined(void *ud, Atom callee, SpanId defined, SpanId at) {
	(void)callee;
	(void)defined;
	const struct warned *w = ud;
	warnings_called(w->c, at, w->before);
}

void step_warned(Frame *f, const Step *s, uint32_t diags_before) {
	warnings_called(f->ctx, s->span, diags_before);
	if (s->chain)
		chain_calls(f->ctx, s->chain, warned_inlined, &(struct warned){f->ctx, diags_before});
	diag_tell_warnings(f->ctx);
}

static void trace_inlined(void *ud, Atom callee, SpanId defined, SpanId at) {
	trace_line(ud, callee, defined, at);
}

void report_call_failure(Backend *be, const Fn *callee, const Inst *in) {
	trace_line(be, callee->name, callee->span, in->span);
	if (in->chain) chain_calls(be->ctx, in->chain, trace_inlined, be);
}

Status report_failure(Frame *f, const Step *s, Status st) {
	Backend *be = f->be;
	const uint32_t total = diag_total(f->ctx);
	/* A step around the failed one, which is reported already. */
	if (be->reported_diags == total && be->reported_depth == be->depth) return st;
	be->reported_diags = total;
	be->reported_depth = be->depth;
	if (s->chain && total) chain_calls(f->ctx, s->chain, trace_inlined, be);
	return st;
}

/* The innermost step gives a place to a diagnostic without one. Outer steps
 * find one there. */
__attribute__((cold, noinline)) Status step_failed(Frame *f, const Step *s, Status st) {
	if (st == ST_NOMEM || (st == ST_ERROR && diag_lacks_memory(f->ctx))) st = ctx_failure(f->ctx);
	Diag *d = last_diag(f->ctx);
	if (st == ST_NOMEM && (!d || d->code != E_MEMORY)) {
		d = diag_error(f->ctx, E_MEMORY, span_of(f->ctx, s->span), "out of memory");
		f->be->traced = 0;
	}
	if (d && !d->span.source &&
	    (st == ST_INTERRUPTED || st == ST_LIMIT || st == ST_NOMEM || s->op == OP_HOST ||
	     s->op == OP_DYNAMIC || d->code == E_HOST)) {
		d->span = span_of(f->ctx, s->span);
		f->be->traced = 0;
	}
	if (d) leave_library(f->ctx, d, span_of(f->ctx, s->span)); /* for functions called by a host */
	return report_failure(f, s, st);
}

Status charge_and_poll(Backend *be) {
	uint64_t units = be->work;
	be->work = 0;
	return ctx_poll(be->ctx, units);
}

/* ---- blocks -------------------------------------------------------------- */

static void release_dead(Frame *f, const Block *b) {
	for (uint32_t i = 0; i < b->ndead; i++) {
		Value *v = &f->slots[b->dead[i]];
		value_unref(*v);
		v->kind = V_UNSET;
	}
}

/* The same with an observer. */
static __attribute__((cold, noinline)) Status run_observed(Frame *f, const Block *b) {
	Observer *o = f->be->observer;
	o->block(o, f, b);
	for (const Step *s = b->steps, *end = s + b->nsteps; s < end; s++) {
		Status st = o->step(o, f, s);
		if (st != ST_OK) return step_failed(f, s, st);
		if (s->nsyms) bind_syms(f, s->nsyms, s->syms);
		for (uint32_t i = 0; i < s->nafter; i++) {
			Value *v = &f->slots[s->after[i]];
			value_unref(*v);
			v->kind = V_UNSET;
		}
	}
	f->be->counters.instructions += b->nsteps;
	f->be->counters.scalar_operations += b->scalar_operations;
	return spend(f->be, b->nsteps + 1u);
}

Status run_block(Frame *f, const Block *b) {
	if (b->nsyms) bind_syms(f, b->nsyms, b->syms);
	if (b->ndead) release_dead(f, b);
	if (UNLIKELY(f->be->observer != NULL)) return run_observed(f, b);
	const Step *s = b->steps, *end = s + b->nsteps;
	for (; s < end; s++) {
		Status st = s->eval(f, s);
		if (UNLIKELY(st != ST_OK)) return step_failed(f, s, st);
	}
	Backend *be = f->be;
	be->counters.instructions += b->nsteps;
	be->counters.scalar_operations += b->scalar_operations;
	be->work += b->nsteps + 1u; /* one for the block: an empty loop is work, too */
	return LIKELY(be->work < POLL_EVERY) ? ST_OK : charge_and_poll(be);
}

void block_results(Frame *f, const Block *b, Value *out) {
	for (uint32_t k = 0; k < b->nresults; k++) {
		const Value *v = operand_at(f, b->results[k]);
		if (b->takes[k]) {
			out[k] = *v;
			f->slots[b->results[k]].kind = V_UNSET;
		} else {
			out[k] = v->kind == V_SCALAR ? *v : value_ref(*v);
		}
	}
}

void bind_syms(Frame *f, uint32_t n, const SymDef *defs) {
	for (uint32_t i = 0; i < n; i++) {
		const SymDef *d = &defs[i];
		const Value *v = &f->slots[d->from];
		int64_t length =
			v->kind == V_TENSOR && d->axis < v->tensor->rank ? v->tensor->shape[d->axis] : -1;
		if (d->factor != 1 || d->offset)
			length = length < d->offset ? -1 : (length - d->offset) / d->factor;
		f->syms[d->sym] = length;
	}
}

void sweep_block(Frame *f, const Block *b) {
	for (uint32_t i = 0; i < b->nowned; i++) {
		Value *v = &f->slots[b->owned[i]];
		value_unref(*v);
		v->kind = V_UNSET;
	}
}

/* ---- types of values from outside ---------------------------------------- */

/* Prints a type: "f64[n, 3]". */
static void describe_type(Frame *f, const TypeRef *t, char *out, size_t cap) {
	const char *name = t->kind == TY_DYN     ? "a dynamic value"
	                   : t->kind == TY_TOKEN ? "a token"
	                                         : dtype_name(t->dtype);
	size_t n = (size_t)snprintf(out, cap, "%s", name);
	for (uint32_t i = 0; i < t->rank && t->kind == TY_TENSOR && n + 40 < cap; i++) {
		char dim[32];
		dim_print(f->ctx, t->dims[i].dim, sym_words, &(SymWords){.fn = f->code->fn}, dim,
		          sizeof dim);
		n += (size_t)snprintf(out + n, cap - n, "%s%s", i ? ", " : "[", dim);
	}
	if (t->rank && n + 2 < cap) snprintf(out + n, cap - n, "]");
}

static bool has_lengths(const Frame *f, const Tensor *x, const TypeRef *t) {
	for (uint32_t i = 0; i < t->rank; i++) {
		const DimRef *d = &t->dims[i];
		int64_t want = d->value;
		if (d->sym == DIM_GENERAL) {
			if (!dim_eval(f->ctx, d->dim, f->syms, f->code->nsyms, &want)) continue;
		} else if (d->sym != DIM_CONST) {
			want = f->syms[d->sym];
			if (want < 0) continue; /* not known yet: any extent fits */
		}
		if (want != x->shape[i]) return false;
	}
	return true;
}

/* Compares everything except extents. */
static bool has_kind(Value v, const TypeRef *t) {
	if (t->kind == TY_TOKEN) return true;
	if (t->kind == TY_DYN) return v.kind != V_UNSET;
	if (!t->rank) return v.kind == V_SCALAR && v.dtype == t->dtype;
	return v.kind == V_TENSOR && v.tensor->dtype == t->dtype && v.tensor->rank == t->rank;
}

bool has_type(const Frame *f, Value v, const TypeRef *t) {
	return has_kind(v, t) && (t->kind != TY_TENSOR || !t->rank || has_lengths(f, v.tensor, t));
}

Status fail_type(Frame *f, Value v, const TypeRef *t, SpanId span, const char *what) {
	char expected[256];
	describe_type(f, t, expected, sizeof expected);
	Text found;
	text_init(&found, f->ctx);
	value_type_print(&found, v);
	diag_error(f->ctx, has_kind(v, t) ? E_SHAPE : E_TYPE, span_of(f->ctx, span),
	           "%s: expected %s, found %.*s", what, expected, found.failed ? 1 : (int)found.n,
	           found.failed ? "?"
	           : found.at   ? found.at
	                        : "");
	text_free(&found);
	f->be->traced = 0;
	return ST_ERROR;
}

/* ---- calls --------------------------------------------------------------- */

static Status too_deep(Backend *be, SpanId at) {
	diag_error(be->ctx, E_DEPTH, span_of(be->ctx, at), "the recursion is more than %u calls deep",
	           be->depth);
	be->traced = 0;
	return ST_LIMIT;
}

/* Runs the body in a frame with its parameters set. */
static Status run_body(Activation *a, Value *results, SpanId span, uint32_t diags) {
	Backend *be = a->frame.be;
	const Code *code = a->frame.code;
	const bool waits = code->hooks->pending(code);
	be->depth++;
	be->waiting += waits;
	be->counters.calls++;
	Status st = run_block(&a->frame, &code->body);
	be->depth--;
	be->waiting -= waits;
	if (LIKELY(st == ST_OK)) block_results(&a->frame, &code->body, results);
	else trace_call(be, code, span, diags);
	if (UNLIKELY(diag_total(be->ctx) > diags)) warnings_called(be->ctx, span, diags);
	leave(a, st != ST_OK);
	return st;
}

Status call_code(Backend *be, Code *callee, uint32_t nargs, Value *args, Tensor *const *places,
                 Value *results, SpanId span) {
	Activation a;
	callee = callee->hooks->choose(be, callee, args);
	Status st = be->depth >= ctx_depth_limit(be->ctx) || c_stack_is_short(be->stack)
	                ? too_deep(be, span)
	                : enter(be, callee, &a);
	if (UNLIKELY(st != ST_OK)) {
		for (uint32_t i = 0; i < nargs; i++) {
			value_unref(args[i]);
			args[i].kind = V_UNSET;
		}
		return st;
	}
	a.frame.places = places;
	Value *params = a.frame.slots + callee->body.params;
	for (uint32_t i = 0; i < nargs; i++) {
		params[i] = args[i];
		args[i].kind = V_UNSET;
	}
	return run_body(&a, results, span, diag_total(be->ctx));
}

Status code_call(Ctx *c, Code *code, const Value *args, Value *results) {
	return code_call_into(c, code, args, NULL, results);
}

Status code_call_into(Ctx *c, Code *code, const Value *args, Tensor *const *places,
                      Value *results) {
	Backend *be = backend_of(c);
	if (!be->depth) be->reported_diags = UINT32_MAX;
	code = code->hooks->choose(be, code, args);
	Fn *fn = code->fn;
	uint32_t nparams = code->body.nparams, diags = diag_total(c);
	for (uint32_t k = 0; k < code->body.nresults; k++) results[k] = (Value){.kind = V_UNSET};
	SpanId span = fn->span;
	Activation a;
	Status st = be->depth >= ctx_depth_limit(c) || c_stack_is_short(be->stack)
	                ? too_deep(be, span)
	                : enter(be, code, &a);
	if (st == ST_NOMEM) {
		diag_error(c, E_MEMORY, span_of(c, span), "out of memory");
		return st;
	}
	if (st != ST_OK) return st;
	fn_ref(fn); /* a callback may release all other references */
	a.frame.places = places;
	Value *params = a.frame.slots + code->body.params;
	for (uint32_t i = 0; i < nparams; i++) { /* a tensor without axes is a scalar here */
		params[i] = value_ref(args[i]);
		if (params[i].kind == V_TENSOR && !params[i].tensor->rank &&
		    code->params[i].kind == TY_TENSOR)
			params[i] = value_from_tensor(params[i].tensor);
	}
	bind_syms(&a.frame, code->body.nsyms, code->body.syms);
	for (uint32_t i = 0; i < nparams && st == ST_OK; i++) {
		if (LIKELY(has_type(&a.frame, params[i], &code->params[i]))) continue;
		char what[80];
		snprintf(what, sizeof what, "argument %u of %.40s", i + 1,
		         fn->name ? atom_text(c, fn->name) : "a function");
		st = fail_type(&a.frame, params[i], &code->params[i], span, what);
	}
	if (st == ST_OK) st = run_body(&a, results, span, diags);
	else leave(&a, true);
	if (st != ST_OK)
		for (uint32_t k = 0; k < code->body.nresults; k++) results[k] = (Value){.kind = V_UNSET};
	fn_unref(fn);
	return st;
}

Tensor *place_of(const Frame *f, uint32_t slot) {
	const Block *body = &f->code->body;
	for (uint32_t r = 0; r < body->nresults; r++)
		if (body->results[r] == (int32_t)slot && body->untouched[r] && body->takes[r])
			return f->places[r];
	return NULL;
}

Tensor *placed_result(Frame *f, const Step *s, Dtype d, uint32_t rank, const int64_t *shape) {
	Tensor *p = f->places ? place_of(f, s->d) : NULL;
	if (!p || p->dtype != d || p->rank != rank || memcmp(p->shape, shape, rank * sizeof *shape) ||
	    !p->contiguous)
		return NULL;
	const char *end = p->data + (size_t)p->count * dtype_size(d);
	for (uint32_t k = 0; k < s->nargs; k++) {
		const Value *v = operand(f, s, k);
		if (v->kind != V_TENSOR) continue;
		const char *from = v->tensor->buffer->data;
		if (from < end && p->data < from + v->tensor->buffer->bytes) return NULL;
	}
	return tensor_ref(p);
}

/* ---- operands, extents, results ------------------------------------------ */

Value take_operand(Frame *f, const Step *s, uint32_t k) {
	const Value *v = operand(f, s, k);
	if (v->kind == V_SCALAR) return *v;
	if (!s->dies[k]) return value_ref(*v);
	Value taken = *v;
	f->slots[s->args[k]].kind = V_UNSET;
	return taken;
}

Tensor *operand_tensor(Frame *f, const Step *s, uint32_t k) {
	const Value *v = operand(f, s, k);
	return v->kind == V_TENSOR ? tensor_ref(v->tensor) : value_to_tensor(f->ctx, *v);
}

Tensor *operand_contiguous(Frame *f, const Step *s, uint32_t k) {
	const Value *v = operand(f, s, k);
	return v->kind == V_TENSOR ? tensor_contiguous(f->ctx, v->tensor) : value_to_tensor(f->ctx, *v);
}

Tensor *operand_writable(Frame *f, const Step *s, uint32_t k) {
	const Value *v = operand(f, s, k);
	if (v->kind != V_TENSOR) return value_to_tensor(f->ctx, *v);
	if (operand_is_free(f, s, k)) return take_operand(f, s, k).tensor;
	return tensor_copy(f->ctx, v->tensor);
}

bool dim_position(Frame *f, const Step *s, const DimRef *d, int64_t *out) {
	if (d->sym == DIM_CONST) {
		*out = d->value;
		return true;
	}
	if (dim_eval(f->ctx, d->dim, f->syms, f->code->nsyms, out)) return true;
	char text[96];
	dim_print(f->ctx, d->dim, sym_words, &(SymWords){.fn = f->code->fn}, text, sizeof text);
	diag_step(f, s, E_SHAPE, "the length %s cannot be worked out here: it is unknown or too large",
	          text);
	return false;
}

bool dim_slow(Frame *f, const Step *s, const DimRef *d, int64_t *out) {
	if (!dim_position(f, s, d, out)) return false;
	if (*out >= 0) return true;
	char text[96];
	dim_print(f->ctx, d->dim, sym_words, &(SymWords){.fn = f->code->fn}, text, sizeof text);
	diag_step(f, s, E_SHAPE, "a length cannot be negative: %s is %lld", text, (long long)*out);
	return false;
}

bool dim_lengths(Frame *f, const Step *s, const AttrField *field, int64_t *out) {
	for (uint32_t i = 0; i < field->n; i++)
		if (!dim_length(f, s, &field->dims[i], &out[i])) return false;
	return true;
}

Status put_tensor(Frame *f, const Step *s, uint32_t k, Tensor *t) {
	if (UNLIKELY(!t)) return ST_NOMEM;
	if (t->rank) put_owned(f, s->d + k, t);
	else f->slots[s->d + k] = value_from_tensor(t);
	return ST_OK;
}

/* ---- the backend's state ------------------------------------------------- */

static void free_code(Ctx *c, void *code) {
	Code *k = code;
	if (!k) return;
	k->hooks->drop(c, k);
	arena_free(k->arena);
}

static void each_code(const void *code, const RefVisitor *v) {
	const Code *k = code;
	k->hooks->each(k, v);
}

Code *code_of(Ctx *c, Fn *f) {
	if (!f->code) f->code = prepare(c, f, NULL);
	return f->code;
}

static Status run_fn(Ctx *c, Fn *f, const Value *args, Value *results) {
	Code *code = code_of(c, f);
	Backend *be = backend_of(c);
	if (code && be->depth) return code_call(c, code, args, results);
	if (code) {
		const double from = clock_seconds();
		const Status st = code_call(c, code, args, results);
		be->counters.run_seconds += clock_seconds() - from;
		return st;
	}
	for (uint32_t k = 0; k < fn_nresults(f); k++) results[k] = (Value){.kind = V_UNSET};
	const Status st = ctx_failure(c);
	if (st == ST_NOMEM) diag_error(c, E_MEMORY, span_of(c, f->span), "out of memory");
	return st;
}

static void free_backend(Ctx *c, void *state) {
	Backend *be = state;
	fft_plans_free(c, be->fft);
	be->hooks->free_state(c, be);
	stack_free(c, &be->values);
	stack_free(c, &be->syms);
	heap_free(c, be, sizeof *be);
}

void eval_trim(Ctx *c) {
	Backend *be = backend_of(c);
	if (be->depth) return;
	fft_plans_free(c, be->fft);
	be->fft = NULL;
	stack_free(c, &be->values);
	stack_free(c, &be->syms);
}

typedef struct Hooks {
	FnHooks *fn;
	IrServices *services;
} Hooks;

static void find_hooks(Ctx *c, void *arg) {
	Hooks *h = arg;
	h->fn = fn_hooks(c);
	h->services = ir_services(c);
	provenance_register(c);
}

Status eval_init(Ctx *c, const NativeHooks *hooks) {
	if (backend_of(c)) return ST_OK;
	Hooks h = {0};
	Status st = ctx_protect(c, find_hooks, &h); /* tables may be created at first use */
	if (st != ST_OK) return st;
	Backend *be = heap_alloc(c, sizeof *be);
	if (!be) return ST_NOMEM;
	*be = (Backend){.ctx = c, .stack = ctx_stack(c), .hooks = hooks};
	ctx_set_slot(c, SLOT_BACKEND, be, free_backend);
	h.fn->free_code = free_code;
	h.fn->each_code = each_code;
	h.services->run = run_fn;
	return ST_OK;
}

RunCounters *run_counters(Ctx *c) { return &backend_of(c)->counters; }
