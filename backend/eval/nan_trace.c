/* nan_trace.c - origin of a NaN or infinity in a result.
 *
 * An observer follows it from the operation that made it. The host function
 * `_nan_check` runs a given function under the observer.
 *
 * Needs: frame.h (the observer's hook), lang/ir/host.h.
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
#include "backend/eval/core/frame.h"
#include "lang/ir/host.h"
#include <ctype.h>
#include <stdio.h>

typedef enum OriginKind { FROM_OPERATION, FROM_ARGUMENT, FROM_CONSTANT } OriginKind;

typedef struct NanOrigin {
	uint8_t kind;
	bool infinite, shown; /* an infinity; operands are scalars to be shown */
	uint16_t op;
	SpanId span;
	ChainId chain;
	uint32_t rank, noperands, niterations, parameter;
	int64_t index[MAX_RANK], iterations[MAX_RANK]; /* of the surrounding loops, outermost first */
	Value operands[3];                             /* scalars, for element-wise operations */
	Atom names[3];
	bool has_primal; /* derivative code: the operand of the differentiated operation */
	Value primal;
	Op primal_op;
	Atom primal_name;
	uint32_t infinity; /* origin of an infinity among the operands, or 0 */
	Atom inside;       /* the library function that the user called, or 0 */
	Atom host;
	Text note;  /* about array operands */
	Text trace; /* surrounding loops and calls, one a line */
} NanOrigin;

/* The steps around the current one. */
typedef struct EnclosingStep {
	struct EnclosingStep *outer;
	const Frame *f;
	const Step *s;
	int64_t iteration;
} EnclosingStep;

typedef struct SlotOrigin { /* the origin of the infinity in a slot */
	const Value *slot;
	const Code *code;
	uint32_t origin;
} SlotOrigin;

typedef struct Primal { /* the operand of an operation of the program itself, by source span */
	SpanId span;
	Op op;
	Value operand;
	Atom name;
	struct Primal *next;
} Primal;

enum { ORIGINS = 4096, PAYLOAD_SHIFT = 29, BUCKETS = 256 };

typedef struct Watch {
	Observer observer;
	Ctx *c;
	NanOrigin *origins; /* [0] is unused */
	uint32_t norigins, cap, last_infinity;
	EnclosingStep *around;
	const Frame *root;
	const Value *root_slots; /* identify places after the frame has ended */
	SlotOrigin *places;
	uint32_t nplaces, room; /* a power of two */
	Primal *primals[BUCKETS];
	const HostCall *call;
	Fn *fn;
	uint32_t *of_parameter; /* origin of the infinity in it */
	bool reverse;           /* a transposed operation was met */
} Watch;

/* ---- elements ------------------------------------------------------------ */

typedef struct ArrayView {
	Dtype dtype;
	uint32_t rank;
	int64_t count;
	const int64_t *shape, *stride;
	char *data;
	bool contiguous;
} ArrayView;

static bool elements_of(const Value *v, ArrayView *e) {
	if (v->kind == V_SCALAR)
		*e = (ArrayView){.dtype = v->dtype,
		                 .count = 1,
		                 .data = (char *)(uintptr_t)value_scalar_bytes(v),
		                 .contiguous = true};
	else if (v->kind == V_TENSOR)
		*e = (ArrayView){.dtype = v->tensor->dtype,
		                 .rank = v->tensor->rank,
		                 .count = v->tensor->count,
		                 .shape = v->tensor->shape,
		                 .stride = v->tensor->stride,
		                 .data = v->tensor->data,
		                 .contiguous = v->tensor->contiguous};
	else return false;
	return dtype_is_inexact(e->dtype);
}

static void index_of(const ArrayView *e, int64_t at, int64_t *index) {
	for (uint32_t k = e->rank; k-- > 0;) {
		index[k] = at % e->shape[k];
		at /= e->shape[k];
	}
}

static char *element_at(const ArrayView *e, const int64_t *index) {
	int64_t offset = 0;
	for (uint32_t k = 0; k < e->rank; k++) offset += index[k] * e->stride[k];
	return e->data + offset * (int64_t)dtype_size(e->dtype);
}

static char *element(const ArrayView *e, int64_t at) {
	if (e->contiguous) return e->data + at * (int64_t)dtype_size(e->dtype);
	int64_t index[MAX_RANK];
	index_of(e, at, index);
	return element_at(e, index);
}

enum { FINITE = 0, INFINITE = 1, IS_NAN = 2 };

static int part_class(bool wide, const char *p, uint32_t *origin) {
	if (wide) {
		uint64_t bits;
		memcpy(&bits, p, sizeof bits);
		if ((bits & 0x7ff0000000000000u) != 0x7ff0000000000000u) return FINITE;
		if (!(bits & 0x000fffffffffffffu)) return INFINITE;
		*origin = (uint32_t)(bits >> PAYLOAD_SHIFT) & 0x3fffffu;
		return IS_NAN;
	}
	uint32_t bits;
	memcpy(&bits, p, sizeof bits);
	if ((bits & 0x7f800000u) != 0x7f800000u) return FINITE;
	if (!(bits & 0x007fffffu)) return INFINITE;
	*origin = bits & 0x3fffffu;
	return IS_NAN;
}

/* *origin: the id in a NaN's payload, or 0. */
static int class_of(const Watch *w, Dtype d, const char *p, uint32_t *origin) {
	const bool wide = d == DT_F64 || d == DT_C128;
	*origin = 0;
	int first = part_class(wide, p, origin);
	if (dtype_is_complex(d)) {
		uint32_t other = 0;
		int second = part_class(wide, p + (wide ? 8 : 4), &other);
		if (second == IS_NAN && (first != IS_NAN || !*origin || *origin >= w->norigins))
			*origin = other;
		first = first > second ? first : second;
	}
	if (*origin >= w->norigins) *origin = 0;
	return first;
}

static void tag_part(bool wide, char *p, uint32_t origin) {
	uint32_t before = 0;
	if (part_class(wide, p, &before) != IS_NAN) return;
	if (wide) {
		uint64_t bits;
		memcpy(&bits, p, sizeof bits);
		bits =
			(bits & 0x8000000000000000u) | 0x7ff8000000000000u | (uint64_t)origin << PAYLOAD_SHIFT;
		memcpy(p, &bits, sizeof bits);
	} else {
		uint32_t bits;
		memcpy(&bits, p, sizeof bits);
		bits = (bits & 0x80000000u) | 0x7fc00000u | origin;
		memcpy(p, &bits, sizeof bits);
	}
}

static void tag(Dtype d, char *p, uint32_t origin) {
	const bool wide = d == DT_F64 || d == DT_C128;
	tag_part(wide, p, origin);
	if (dtype_is_complex(d)) tag_part(wide, p + (wide ? 8 : 4), origin);
}

/* The position of the first element of a class, or -1. With untagged, NaNs that
 * have an origin do not count. */
static int64_t first_of(const Watch *w, const ArrayView *e, int which, bool untagged) {
	for (int64_t i = 0; i < e->count; i++) {
		uint32_t origin;
		if (class_of(w, e->dtype, element(e, i), &origin) == which && !(untagged && origin))
			return i;
	}
	return -1;
}

/* ---- infinities: origins by value ---------------------------------------- */

static SlotOrigin *place_for(Watch *w, const Code *code, const Value *slot) {
	uint32_t at = (uint32_t)((uintptr_t)slot / sizeof *slot * 2654435761u) & (w->room - 1);
	while (w->places[at].slot && (w->places[at].slot != slot || w->places[at].code != code))
		at = (at + 1) & (w->room - 1);
	return &w->places[at];
}

static void set_infinity(Watch *w, const Frame *f, const Value *slot, uint32_t origin) {
	if (!origin && !w->nplaces) return;
	if (2 * w->nplaces >= w->room) {
		SlotOrigin *old = w->places;
		const uint32_t room = w->room, more = room ? 2 * room : 64;
		SlotOrigin *made = heap_alloc(w->c, more * sizeof *made);
		if (!made) return; /* the message will be less precise */
		memset(made, 0, more * sizeof *made);
		w->places = made;
		w->room = more;
		for (uint32_t i = 0; i < room; i++)
			if (old[i].slot) *place_for(w, old[i].code, old[i].slot) = old[i];
		heap_free(w->c, old, room * sizeof *old);
	}
	SlotOrigin *p = place_for(w, f->code, slot);
	if (!p->slot) {
		if (!origin) return;
		w->nplaces++;
	}
	*p = (SlotOrigin){slot, f->code, origin};
}

static uint32_t infinity_in(const Watch *w, const Frame *f, int32_t operand) {
	if (operand < 0) return 0;
	const Value *slot = f->slots + operand;
	const Block *body = &f->code->body;
	if (f == w->root && (uint32_t)operand >= body->params &&
	    (uint32_t)operand < body->params + body->nparams)
		return w->of_parameter[(uint32_t)operand - body->params];
	if (w->room) {
		const SlotOrigin *p = place_for((Watch *)(uintptr_t)w, f->code, slot);
		if (p->slot && p->origin) return p->origin;
	}
	return w->last_infinity; /* it came through a loop or a call */
}

/* ---- origins ------------------------------------------------------------- */

static bool of_user(const Ctx *c, SpanId span) {
	const Span s = span_of(c, span);
	return s.source && !source_is_library(c, s.source);
}

/* The transforms of the instruction itself. They follow the inlined calls of
 * the user's functions, whose own transforms come first. Calls in the library,
 * such as in a derivative rule, belong to the instruction. */
static const char *own_transforms(const Ctx *c, ChainId chain) {
	const char *text = chain ? chain_text(c, chain) : "", *own = text;
	for (const char *word = text; *word;) {
		const size_t n = strcspn(word, " ");
		unsigned name, defined;
		const bool call = *word == '@' && sscanf(word, "@%u:%u:", &name, &defined) == 2;
		word += n + (word[n] == ' ');
		if (call && of_user(c, (SpanId)defined)) own = word;
	}
	return own;
}

static bool is_backwards(const Ctx *c, ChainId chain) {
	return strstr(own_transforms(c, chain), "transpose") != NULL;
}

static bool is_derived(const Ctx *c, ChainId chain) {
	const char *t = own_transforms(c, chain);
	return strstr(t, "jvp") || strstr(t, "jet") || strstr(t, "linearise") || strstr(t, "transpose");
}

/* A function's name without suffixes of transforms. Its length is 0 for unnamed
 * functions and private ones of the library. */
static size_t plain_name(const Ctx *c, Atom name, const char **text) {
	*text = name ? atom_text(c, name) : "";
	if (!strncmp(*text, "each.", 5)) *text += 5; /* a scalar function applied to whole arrays */
	const size_t n = strcspn(*text, ".");
	return **text == '_' || (n == 2 && !memcmp(*text, "fn", 2)) ? 0 : n;
}

static void put_place(Text *t, const Ctx *c, SpanId span) {
	uint32_t line, column;
	const Span s = span_of(c, span);
	source_position(c, s, &line, &column);
	text_format(t, "%s:%u:%u", source_name(c, s.source), line, column);
}

typedef struct TraceReport {
	Watch *w;
	NanOrigin *o;
	bool placed; /* the origin has a place in the user's source */
} TraceReport;

static void report_call(void *ud, Atom callee, SpanId defined, SpanId at) {
	TraceReport *t = ud;
	Ctx *c = t->w->c;
	(void)defined;
	if (!of_user(c, at)) return;
	const char *name;
	size_t n = plain_name(c, callee, &name);
	if (!t->placed) {
		t->placed = true;
		t->o->span = at;
		if (n) t->o->inside = atom_n(c, name, n);
		return;
	}
	const Span here = span_of(c, t->o->span), call = span_of(c, at);
	/* A definition, not a call of it. */
	const bool around =
		call.source == here.source && call.start <= here.start && call.end >= here.end;
	if (!n || at == t->w->fn->span || around) return;
	Text *trace = &t->o->trace;
	const size_t start = trace->n;
	if (start) text_str(trace, "\n");
	text_format(trace, "in %.*s, called at ", (int)n, name);
	put_place(trace, c, at);
	if (trace->failed) return;
	/* A call and its function's rule count as one. */
	const char *line = trace->at + start + (start > 0);
	const size_t long_ = strlen(line);
	if (start >= long_ && !memcmp(trace->at + start - long_, line, long_) &&
	    (start == long_ || trace->at[start - long_ - 1] == '\n')) {
		trace->n = start;
		trace->at[start] = 0;
	}
}

static void report_enclosing(TraceReport *t) {
	Watch *w = t->w;
	Ctx *c = w->c;
	uint32_t lines = 0;
	for (const EnclosingStep *a = w->around; a; a = a->outer) {
		Text *out = &t->o->trace;
		const Step *s = a->s;
		if (s->op == OP_FOR || s->op == OP_WHILE) {
			if (a->iteration < 0) continue; /* its condition or initial values */
			t->o->niterations++;
			if (lines++ < 12) {
				if (out->n) text_str(out, "\n");
				text_format(out, "in turn %lld%s of ", (long long)a->iteration,
				            is_backwards(c, s->chain) ? ", going backwards," : "");
				if (of_user(c, s->span)) {
					text_str(out, "the loop at ");
					put_place(out, c, s->span);
				} else text_str(out, "a loop of the library");
			}
		} else if (s->op == OP_CALL && lines < 12) {
			lines++;
			report_call(t, ((const CallSite *)s->site)->fn->name, 0, s->span);
		} else if (s->op == OP_HOST && lines < 12) {
			lines++;
			/* Work inside a library function counts as its call: derivative
			 * code, if the call is. */
			if ((!t->placed || s->span == t->o->span) && !is_derived(c, t->o->chain) &&
			    is_derived(c, s->chain))
				t->o->chain = s->chain;
			report_call(t, atom(c, ((const HostCall *)s->site)->def->name), 0, s->span);
		}
		if (s->chain && s->op != OP_FOR && s->op != OP_WHILE && lines < 12)
			chain_calls(c, s->chain, report_call, t);
	}
	const uint32_t n = t->o->niterations < MAX_RANK ? t->o->niterations : MAX_RANK;
	t->o->niterations = n;
	uint32_t k = n;
	for (const EnclosingStep *a = w->around; a && k; a = a->outer)
		if ((a->s->op == OP_FOR || a->s->op == OP_WHILE) && a->iteration >= 0)
			t->o->iterations[--k] = a->iteration;
}

static void report_enclosing_protected(Ctx *c, void *ud) {
	(void)c;
	TraceReport *t = ud;
	if (t->o->chain) chain_calls(t->w->c, t->o->chain, report_call, t);
	report_enclosing(t);
}

/* Returns 0 when there are too many, or when memory fails. */
static uint32_t origin_new(Watch *w, OriginKind kind, bool infinite, const Step *s) {
	Ctx *c = w->c;
	if (w->norigins >= ORIGINS) return 0;
	if (w->norigins == w->cap) {
		const uint32_t more = w->cap ? 2 * w->cap : 16;
		NanOrigin *made = heap_resize(c, w->origins, w->cap * sizeof *made, more * sizeof *made);
		if (!made) return 0;
		w->origins = made;
		w->cap = more;
	}
	if (!w->norigins) w->origins[w->norigins++] = (NanOrigin){0};
	NanOrigin *o = &w->origins[w->norigins];
	*o = (NanOrigin){.kind = (uint8_t)kind, .infinite = infinite};
	text_init(&o->note, c);
	text_init(&o->trace, c);
	if (s) {
		o->op = s->op;
		o->span = s->span;
		o->chain = s->chain;
		TraceReport t = {w, o, of_user(c, s->span)};
		/* Names are interned, which may allocate. */
		if (ctx_protect(c, report_enclosing_protected, &t) != ST_OK) o->trace.n = 0;
	}
	if (!s && kind == FROM_CONSTANT && of_user(c, w->fn->span)) o->span = w->fn->span;
	if (infinite) w->last_infinity = w->norigins;
	return w->norigins++;
}

static Primal *primal_find(const Watch *w, SpanId span, uint32_t rank, const int64_t *shape) {
	for (Primal *p = w->primals[span % BUCKETS]; p; p = p->next) {
		if (p->span != span) continue;
		ArrayView e;
		if (elements_of(&p->operand, &e) && e.rank == rank &&
		    (!rank || !memcmp(e.shape, shape, rank * sizeof *shape)))
			return p;
	}
	return NULL;
}

/* Saves the operand of an operation for messages about its derivative. Not in
 * loops, whose iterations differ. */
static void primal_keep(Watch *w, const Frame *f, const Step *s, const Value *operand) {
	if (prims[s->op].deriv != DERIV_RULE || s->nargs > 1) return;
	for (const EnclosingStep *a = w->around; a; a = a->outer)
		if (a->s->op == OP_FOR || a->s->op == OP_WHILE) return;
	ArrayView e;
	if (!elements_of(operand, &e)) return;
	Primal *p = primal_find(w, s->span, e.rank, e.shape);
	if (!p) {
		p = heap_alloc(w->c, sizeof *p);
		if (!p) return;
		*p = (Primal){.span = s->span, .next = w->primals[s->span % BUCKETS]};
		w->primals[s->span % BUCKETS] = p;
	}
	value_unref(p->operand);
	p->operand = value_ref(*operand);
	p->op = (Op)s->op;
	p->name = s->args[0] >= 0 ? f->code->fn->vals.at[s->args[0]].name : 0;
}

/* ---- a step under observation -------------------------------------------- */

/* A result's element depends on the operands' elements there. */
static bool is_local(const Step *s) {
	if (s->op == OP_HOST) return !strncmp(((const HostCall *)s->site)->def->name, "each.", 5);
	return prims[s->op].elementwise || s->op == OP_CONVERT || s->op == OP_SELECT;
}

/* Operations that only move elements make no NaN. Holding their operands for
 * inspection would force copies of arrays that are updated in place. */
static bool is_move(const Step *s) {
	switch (s->op) {
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_PAD:
	case OP_UPDATE:
	case OP_CONCAT:
	case OP_GATHER:
	case OP_SCATTER_SET:
	case OP_PUSH:
	case OP_STOP:
	case OP_BOX: return true;
	default: return false;
	}
}

static bool is_around(const Step *s) { return s->nblocks || s->op == OP_CALL; }

/* Notes where an array operand is infinite. */
static void note_operand(Watch *w, NanOrigin *o, const ArrayView *e) {
	static const char *const signs[] = {"inf", "-inf"};
	for (int sign = 0; sign < 2; sign++) {
		for (int64_t i = 0; i < e->count; i++) {
			uint32_t origin;
			const char *p = element(e, i);
			if (class_of(w, e->dtype, p, &origin) != INFINITE) continue;
			Value v = value_scalar_from_bytes(e->dtype, p);
			const bool negative = v.dtype == DT_F64   ? v.f < 0
			                      : v.dtype == DT_F32 ? v.f32 < 0
			                                          : false;
			if (negative != (sign == 1)) continue;
			text_format(&o->note, "%s%s at [", o->note.n ? ", " : "",
			            dtype_is_complex(e->dtype) ? "an infinity" : signs[sign]);
			int64_t index[MAX_RANK];
			index_of(e, i, index);
			for (uint32_t k = 0; k < e->rank; k++)
				text_format(&o->note, "%s%lld", k ? ", " : "", (long long)index[k]);
			text_str(&o->note, "]");
			break;
		}
	}
}

/* Records the operands. */
static void describe(Watch *w, NanOrigin *o, const Frame *f, const Step *s, const Value *args,
                     const ArrayView *result, int64_t at) {
	o->rank = result->rank;
	if (result->rank) index_of(result, at, o->index);
	if (s->op == OP_HOST) o->host = atom(w->c, ((const HostCall *)s->site)->def->name);
	for (uint32_t k = 0; k < s->nargs && k < 3; k++) {
		ArrayView e;
		if (!elements_of(&args[k], &e)) continue;
		uint32_t origin = 0;
		if (is_local(s)) {
			const char *p = element_at(&e, o->index);
			o->operands[o->noperands] = value_scalar_from_bytes(e.dtype, p);
			o->names[o->noperands++] = s->args[k] >= 0 ? f->code->fn->vals.at[s->args[k]].name : 0;
			o->shown = true;
			if (class_of(w, e.dtype, p, &origin) == INFINITE && !o->infinity)
				o->infinity = infinity_in(w, f, s->args[k]);
			continue;
		}
		note_operand(w, o, &e);
		if (!o->infinity && first_of(w, &e, INFINITE, false) >= 0)
			o->infinity = infinity_in(w, f, s->args[k]);
	}
	if (!is_derived(w->c, s->chain)) return;
	const Primal *p = primal_find(w, s->span, result->rank, result->shape);
	ArrayView e;
	if (p && elements_of(&p->operand, &e)) {
		o->has_primal = true;
		o->primal = value_scalar_from_bytes(e.dtype, element_at(&e, o->index));
		o->primal_name = p->name;
		o->primal_op = p->op;
	}
}

static void describe_protected(Ctx *c, void *ud) {
	(void)c;
	void **x = ud;
	describe(x[0], x[1], x[2], x[3], x[4], x[5], *(int64_t *)x[6]);
}

static uint32_t operation(Watch *w, const Frame *f, const Step *s, const Value *args,
                          const ArrayView *result, int64_t at, bool infinite) {
	uint32_t id = origin_new(w, FROM_OPERATION, infinite, s);
	if (!id) return 0;
	void *x[] = {w,
	             &w->origins[id],
	             (void *)(uintptr_t)f,
	             (void *)(uintptr_t)s,
	             (void *)(uintptr_t)args,
	             (void *)(uintptr_t)result,
	             &at};
	if (ctx_protect(w->c, describe_protected, x) != ST_OK) w->origins[id].note.n = 0;
	return id;
}

/* The origin of a NaN among the operands: 0 without a NaN, UINT32_MAX for one
 * without an origin. */
static uint32_t operand_origin(const Watch *w, const Step *s, const Value *args,
                               const ArrayView *result, int64_t at) {
	uint32_t found = 0;
	int64_t index[MAX_RANK];
	if (result->rank) index_of(result, at, index);
	for (uint32_t k = 0; k < s->nargs; k++) {
		ArrayView e;
		uint32_t origin;
		if (!elements_of(&args[k], &e)) continue;
		if (is_local(s)) {
			if (class_of(w, e.dtype, element_at(&e, index), &origin) != IS_NAN) continue;
		} else {
			int64_t i = first_of(w, &e, IS_NAN, false);
			if (i < 0) continue;
			class_of(w, e.dtype, element(&e, i), &origin);
		}
		if (origin) return origin;
		found = UINT32_MAX;
	}
	return found;
}

/* Makes the value's bits writable. */
static Status make_own(Watch *w, Value *v, ArrayView *e) {
	if (v->kind != V_TENSOR || (v->tensor->contiguous && tensor_is_unshared(v->tensor)))
		return ST_OK;
	Tensor *copy = tensor_copy(w->c, v->tensor);
	if (!copy) return ST_NOMEM;
	value_unref(*v);
	*v = value_tensor(copy);
	elements_of(v, e);
	return ST_OK;
}

/* Gives an origin to the NaNs of a value that have none: who(ud, element)
 * returns it. */
typedef uint32_t (*Whose)(void *ud, const ArrayView *e, int64_t at);
static Status mark(Watch *w, Value *v, Whose who, void *ud) {
	ArrayView e;
	if (!elements_of(v, &e)) return ST_OK;
	int64_t first = first_of(w, &e, IS_NAN, true);
	if (first < 0) return ST_OK;
	if (make_own(w, v, &e) != ST_OK) return ST_NOMEM;
	for (int64_t i = first; i < e.count; i++) {
		uint32_t origin;
		char *p = element(&e, i);
		if (class_of(w, e.dtype, p, &origin) == IS_NAN && !origin && (origin = who(ud, &e, i)))
			tag(e.dtype, p, origin);
	}
	return ST_OK;
}

typedef struct Blame {
	Watch *w;
	const Frame *f;
	const Step *s;
	const Value *args; /* NULL: the step only passes values on */
	uint32_t made, constant, inherited;
	bool asked; /* `inherited` is known and the same for all elements */
} Blame;

static uint32_t blame(void *ud, const ArrayView *e, int64_t at) {
	Blame *b = ud;
	uint32_t from = UINT32_MAX;
	if (b->args) {
		from = b->asked ? b->inherited : operand_origin(b->w, b->s, b->args, e, at);
		if (!is_local(b->s)) {
			b->asked = true;
			b->inherited = from;
		}
	}
	if (from && from != UINT32_MAX) return from;
	if (!from && !b->made) b->made = operation(b->w, b->f, b->s, b->args, e, at, false);
	if (from && !b->constant) b->constant = origin_new(b->w, FROM_CONSTANT, false, b->s);
	return from ? b->constant : b->made;
}

/* Of a sum or product of two NaNs the first operand's origin counts, as in a
 * difference. C compilers may exchange the operands on some machines. */
static Status first_stands(Watch *w, const Step *s, const Value *args, Value *v) {
	ArrayView e, x[2];
	if ((s->op != OP_ADD && s->op != OP_MUL) || s->nargs != 2 || !elements_of(v, &e) ||
	    dtype_is_complex(e.dtype))
		return ST_OK;
	for (uint32_t k = 0; k < 2; k++)
		if (!elements_of(&args[k], &x[k]) || first_of(w, &x[k], IS_NAN, false) < 0) return ST_OK;
	if (make_own(w, v, &e) != ST_OK) return ST_NOMEM;
	for (int64_t i = first_of(w, &e, IS_NAN, false); i >= 0 && i < e.count; i++) {
		int64_t index[MAX_RANK];
		uint32_t now, first;
		if (class_of(w, e.dtype, element(&e, i), &now) != IS_NAN) continue;
		if (e.rank) index_of(&e, i, index);
		if (class_of(w, x[0].dtype, element_at(&x[0], index), &first) == IS_NAN && first &&
		    first != now)
			tag(e.dtype, element(&e, i), first);
	}
	return ST_OK;
}

/* The origin of the first infinity in a result, or 0. */
static uint32_t infinity_of(Watch *w, const Frame *f, const Step *s, const Value *args,
                            const Value *v) {
	ArrayView e;
	if (!elements_of(v, &e)) return 0;
	int64_t at = first_of(w, &e, INFINITE, false), index[MAX_RANK];
	if (at < 0) return 0;
	if (e.rank) index_of(&e, at, index);
	for (uint32_t k = 0; k < s->nargs; k++) {
		ArrayView x;
		uint32_t origin;
		if (!elements_of(&args[k], &x)) continue;
		if (is_local(s) ? class_of(w, x.dtype, element_at(&x, index), &origin) != INFINITE
		                : first_of(w, &x, INFINITE, false) < 0)
			continue;
		origin = infinity_in(w, f, s->args[k]);
		return origin ? origin : origin_new(w, FROM_CONSTANT, true, s);
	}
	return operation(w, f, s, args, &e, at, true);
}

static Status look(Watch *w, Frame *f, const Step *s, const Value *args) {
	int64_t seen = 0;
	for (uint32_t k = 0; k < s->nresults; k++) {
		Value *v = &f->slots[s->d + k];
		Blame b = {.w = w, .f = f, .s = s, .args = args};
		Status st = mark(w, v, blame, &b);
		if (st == ST_OK && args) st = first_stands(w, s, args, v);
		if (st != ST_OK) return st;
		if (args) set_infinity(w, f, v, infinity_of(w, f, s, args, v));
		seen += v->kind == V_TENSOR ? v->tensor->count : 1;
	}
	return spend(f->be, (uint64_t)seen);
}

static Status watch_step(Observer *o, Frame *f, const Step *s) {
	Watch *w = (Watch *)o;
	if (!w->root) {
		w->root = f;
		w->root_slots = f->slots;
	}
	w->reverse |= s->chain && is_backwards(w->c, s->chain);
	Status st;
	if (is_around(s)) {
		EnclosingStep a = {w->around, f, s, -1};
		w->around = &a;
		st = s->inner(f, s);
		w->around = a.outer;
		return st == ST_OK ? look(w, f, s, NULL) : st;
	}
	if (is_move(s)) {
		uint32_t infinity = 0;
		for (uint32_t k = 0; k < s->nargs && w->last_infinity && !infinity; k++) {
			ArrayView e;
			if (s->args[k] >= 0 && elements_of(operand(f, s, k), &e) && e.count < POLL_EVERY &&
			    first_of(w, &e, INFINITE, false) >= 0)
				infinity = infinity_in(w, f, s->args[k]);
		}
		st = s->inner(f, s);
		if (st == ST_OK && s->nresults) set_infinity(w, f, &f->slots[s->d], infinity);
		return st;
	}
	Value few[8], *args = few;
	if (s->nargs > 8 && !(args = heap_alloc(w->c, s->nargs * sizeof *args))) return ST_NOMEM;
	for (uint32_t k = 0; k < s->nargs; k++) args[k] = value_ref(*operand(f, s, k));
	if (s->nargs && !is_derived(w->c, s->chain)) primal_keep(w, f, s, &args[0]);
	if (s->op == OP_HOST) {
		EnclosingStep a = {w->around, f, s, -1};
		w->around = &a;
		st = s->inner(f, s);
		w->around = a.outer;
	} else st = s->inner(f, s);
	if (st == ST_OK) st = look(w, f, s, args);
	for (uint32_t k = 0; k < s->nargs; k++) value_unref(args[k]);
	if (s->nargs > 8) heap_free(w->c, args, s->nargs * sizeof *args);
	return st;
}

static void watch_block(Observer *o, Frame *f, const Block *b) {
	Watch *w = (Watch *)o;
	EnclosingStep *a = w->around;
	if (a && a->f == f && (a->s->op == OP_FOR || a->s->op == OP_WHILE) &&
	    b == &a->s->blocks[a->s->nblocks - 1])
		a->iteration++;
}

/* ---- messages ------------------------------------------------------------ */

/* The user's name of an operation. */
static const char *word_of(const NanOrigin *o, const Ctx *c) {
	switch ((Op)o->op) {
	case OP_REDUCE_SUM: return "sum";
	case OP_REDUCE_PROD: return "prod";
	case OP_REDUCE_MAX: return "max";
	case OP_REDUCE_MIN: return "min";
	case OP_SCATTER_ADD: return "sum at indices";
	case OP_TRISOLVE: return "triangular solve";
	case OP_CONVERT: return "conversion";
	case OP_SELECT: return "where";
	case OP_UNBOX: return "dynamic value";
	case OP_HOST: {
		const char *name;
		return plain_name(c, o->host, &name) ? name : "host function";
	}
	case OP_NONE: return "";
	default: return prim_spelling((Op)o->op);
	}
}

typedef struct Derivative {
	const char *mode; /* "", forward, reverse, Taylor */
	uint32_t order;   /* 0: not a derivative, or a Taylor expansion */
	bool rule;        /* inside a user's rule */
} Derivative;

static Derivative derivative_of(const Watch *w, const NanOrigin *o) {
	Derivative d = {.mode = ""};
	for (const char *t = own_transforms(w->c, o->chain); *t;) {
		const size_t n = strcspn(t, " ");
		if (n == 3 && !memcmp(t, "jvp", 3)) d.order++;
		d.rule |= n == 4 && !memcmp(t, "rule", 4);
		if (n == 3 && !memcmp(t, "jet", 3)) d.mode = "Taylor";
		t += n;
		t += *t == ' ';
	}
	if ((d.order || d.rule) && !*d.mode) d.mode = w->reverse ? "reverse" : "forward";
	return d;
}

static void put_number(Text *t, Value v) { value_print(t, v, "", 0); }

/* A scalar next to an operator. Complex ones are printed as sums. */
static void put_factor(Text *t, Value v) {
	const bool sum = dtype_is_complex((Dtype)v.dtype);
	if (sum) text_str(t, "(");
	put_number(t, v);
	if (sum) text_str(t, ")");
}

/* Prints "sqrt(-1.0)", "0.0 / 0.0". */
static void put_operation(Text *t, const NanOrigin *o, const Ctx *c) {
	const char *word = word_of(o, c);
	if (o->noperands == 2 && !isalpha((unsigned char)*word)) {
		put_factor(t, o->operands[0]);
		text_format(t, " %s ", word);
		put_factor(t, o->operands[1]);
		return;
	}
	text_str(t, word);
	for (uint32_t k = 0; k < o->noperands; k++) {
		text_str(t, k ? ", " : "(");
		put_number(t, o->operands[k]);
	}
	text_str(t, ")");
}

static void put_index(Text *t, const NanOrigin *o) {
	text_str(t, "[");
	for (uint32_t k = 0; k < o->rank; k++)
		text_format(t, "%s%lld", k ? ", " : "", (long long)o->index[k]);
	text_str(t, "]");
}

/* The source text at the place if it is short, else the operation. */
static void put_expression(Text *t, const Watch *w, const NanOrigin *o) {
	const Span at = span_of(w->c, o->span);
	size_t n;
	const char *text = at.source ? source_text(w->c, at.source, &n) : NULL;
	if (text && at.end > at.start && at.end - at.start <= 48 &&
	    !memchr(text + at.start, '\n', at.end - at.start))
		text_format(t, "`%.*s`", (int)(at.end - at.start), text + at.start);
	else text_format(t, "`%s`", word_of(o, w->c));
}

/* The library function at the place, such as "norm" for the square root in
 * `norm(x)`; or 0. */
static Atom library_call(const Watch *w, const NanOrigin *o) {
	if (o->inside) return o->inside;
	const Span at = span_of(w->c, o->span);
	size_t n, k = 0;
	const char *text = at.source ? source_text(w->c, at.source, &n) : NULL;
	if (!text || o->kind != FROM_OPERATION) return 0;
	text += at.start;
	while (k < at.end - at.start && (isalnum((unsigned char)text[k]) || text[k] == '_')) k++;
	if (!k || k >= at.end - at.start || text[k] != '(' || isdigit((unsigned char)*text)) return 0;
	const Atom name = atom_n(w->c, text, k);
	text = atom_text(w->c, name);
	if (o->op == OP_HOST || !strcmp(word_of(o, w->c), text) || prim_from_name(text) != OP_NONE ||
	    !strcmp(text, "sum") || !strcmp(text, "prod"))
		return 0;
	return name;
}

static void put_message(Text *t, const Watch *w, const NanOrigin *o, bool first) {
	const char *what = o->infinite ? "infinity" : "NaN";
	const Derivative d = derivative_of(w, o);
	if (o->kind == FROM_ARGUMENT) {
		const HostCall *call = w->call;
		const char *name = o->parameter + 1 < call->noptions
		                       ? atom_text(w->c, (Atom)call->options[o->parameter + 1])
		                       : "an argument";
		text_format(t, "the %s is already in %s", what, name);
		if (o->rank) {
			text_str(t, ", at index ");
			put_index(t, o);
		}
		return;
	}
	if (o->kind == FROM_CONSTANT) {
		text_format(t, "the %s is a constant", what);
		if (o->op && of_user(w->c, o->span)) {
			text_str(t, " that ");
			put_expression(t, w, o);
			text_str(t, " takes in");
		}
		return;
	}
	const bool derived = d.order || *d.mode;
	if (d.rule) text_format(t, "in the rule of a derivative (%s), ", d.mode);
	else if (d.order > 1) text_format(t, "the derivative of order %u (%s) of ", d.order, d.mode);
	else if (derived) text_format(t, "the derivative (%s) of ", d.mode);
	put_expression(t, w, o);
	const Atom inside = library_call(w, o);
	text_format(t, " gives %s %s: ", first ? "the first" : "an", what);
	if (o->shown) put_operation(t, o, w->c);
	else {
		text_str(t, word_of(o, w->c));
		if (o->note.n) text_format(t, " of an array with %.*s", (int)o->note.n, o->note.at);
	}
	if (inside) text_format(t, ", in %s", atom_text(w->c, inside));
	if (o->rank) {
		text_str(t, ", at index ");
		put_index(t, o);
		if (strstr(own_transforms(w->c, o->chain), "map"))
			text_format(t, " (element %lld of a map)", (long long)o->index[0]);
	}
	bool some = false;
	for (uint32_t k = 0; k < o->noperands && o->op != OP_HOST; k++) {
		if (!o->names[k] || *atom_text(w->c, o->names[k]) == '_') continue;
		text_format(t, "%s%s = ", some ? ", " : ", where ", atom_text(w->c, o->names[k]));
		put_number(t, o->operands[k]);
		some = true;
	}
	if (derived && o->has_primal && !some) {
		if (o->primal_name && !inside)
			text_format(t, ", where %s = ", atom_text(w->c, o->primal_name));
		else text_format(t, ", from %s(", prim_spelling(o->primal_op));
		put_number(t, o->primal);
		if (!o->primal_name || inside) text_str(t, ")");
	}
}

static void to_text(void *ud, const char *text, size_t n) { text_add(ud, text, n); }

/* The message, the source line, and the trace. */
static void report_origin(Text *out, Watch *w, const NanOrigin *o, bool first, const char *before) {
	Text message;
	text_init(&message, w->c);
	text_str(&message, before);
	put_message(&message, w, o, first);
	text_add(&message, "", 1);
	text_add((Text *)(uintptr_t)&o->trace, "", 1);
	out->failed |= message.failed || o->trace.failed;
	if (!out->failed) {
		const Span at = o->kind == FROM_ARGUMENT ? NO_SPAN : span_of(w->c, o->span);
		const Diag d = {.code = E_NAN,
		                .severity = SEV_ERROR,
		                .message = message.at,
		                .span = at,
		                .trace = o->trace.at[0] ? o->trace.at : NULL};
		diag_render(w->c, &d, false, to_text, out);
	}
	text_free(&message);
}

/* ---- the host function --------------------------------------------------- */

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
	if (e->rank) index_of(e, at, o->index);
	return g->made;
}

static Status take_arguments(Watch *w, uint32_t n, const Value *args, Value *own) {
	Status st = ST_OK;
	for (uint32_t k = 0; k < n; k++) {
		own[k] = value_ref(args[k]);
		ParameterScan g = {w, k, 0};
		if (st == ST_OK) st = mark(w, &own[k], given, &g);
		ArrayView e;
		int64_t at = elements_of(&own[k], &e) ? first_of(w, &e, INFINITE, false) : -1;
		if (at < 0) continue;
		if (!(w->of_parameter[k] = origin_new(w, FROM_ARGUMENT, true, NULL))) continue;
		NanOrigin *o = &w->origins[w->of_parameter[k]];
		o->parameter = k;
		o->rank = e.rank;
		if (e.rank) index_of(&e, at, o->index);
	}
	w->last_infinity = 0;
	return st;
}

/* The origin of the first NaN (or infinity) in the results, or 0. */
static uint32_t chosen(Watch *w, const Code *code, const Value *results, bool infinities) {
	for (uint32_t k = 0; k < code->body.nresults; k++) {
		ArrayView e;
		uint32_t origin = 0;
		if (!elements_of(&results[k], &e)) continue;
		int64_t nan = first_of(w, &e, IS_NAN, false),
				infinite = infinities ? first_of(w, &e, INFINITE, false) : -1;
		if (nan >= 0) {
			class_of(w, e.dtype, element(&e, nan), &origin);
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
			const SlotOrigin *p = place_for(w, code, w->root_slots + slot);
			origin = p->slot ? p->origin : 0;
		}
		if (!origin) origin = w->last_infinity;
		return origin ? origin : origin_new(w, FROM_CONSTANT, true, NULL);
	}
	return 0;
}

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
	const Derivative d = derivative_of(w, o);
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
		infinite |= elements_of(&a->results[k], &e) && first_of(w, &e, INFINITE, false) >= 0;
	}
	for (uint32_t i = 1; i < w->norigins && !id; i++)
		if (w->origins[i].infinite ? a->infinities : true) id = i;
	a->st = answer(w, id, found, a->infinities, infinite, a->failure, a->out);
}

static Status check_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	Backend *be = backend_of(c);
	Code *code = code_of(c, call->fns[0]);
	if (!code) return ST_NOMEM;
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
