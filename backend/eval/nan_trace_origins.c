/* nan_trace_origins.c - origins: ids in payloads, infinities by slot, places.
 *
 * Needs: nan_trace.h.
 *
 * Contract:
 * - Elements of strided values are read in place. Only writable, contiguous
 *   values are tagged.
 * - A lost origin, for lack of memory, makes the message less precise only.
 * - An origin's place is in the user's source where one of its calls is.
 */
#include "backend/eval/nan_trace.h"
#include <stdio.h>

enum { ORIGINS = 4096, PAYLOAD_SHIFT = 29 };

/* ---- elements ------------------------------------------------------------ */

bool view_elements(const Value *v, ArrayView *e) {
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

void view_index(const ArrayView *e, int64_t at, int64_t *index) {
	for (uint32_t k = e->rank; k-- > 0;) {
		index[k] = at % e->shape[k];
		at /= e->shape[k];
	}
}

char *view_element_at(const ArrayView *e, const int64_t *index) {
	int64_t offset = 0;
	for (uint32_t k = 0; k < e->rank; k++) offset += index[k] * e->stride[k];
	return e->data + offset * (int64_t)dtype_size(e->dtype);
}

char *view_element(const ArrayView *e, int64_t at) {
	if (e->contiguous) return e->data + at * (int64_t)dtype_size(e->dtype);
	int64_t index[MAX_RANK];
	view_index(e, at, index);
	return view_element_at(e, index);
}

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

int element_class(const Watch *w, Dtype d, const char *p, uint32_t *origin) {
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

void tag_element(Dtype d, char *p, uint32_t origin) {
	const bool wide = d == DT_F64 || d == DT_C128;
	tag_part(wide, p, origin);
	if (dtype_is_complex(d)) tag_part(wide, p + (wide ? 8 : 4), origin);
}

int64_t first_of_class(const Watch *w, const ArrayView *e, int which, bool untagged) {
	for (int64_t i = 0; i < e->count; i++) {
		uint32_t origin;
		if (element_class(w, e->dtype, view_element(e, i), &origin) == which &&
		    !(untagged && origin))
			return i;
	}
	return -1;
}

/* ---- infinities: origins by value ---------------------------------------- */

SlotOrigin *infinity_place(Watch *w, const Code *code, const Value *slot) {
	uint32_t at = (uint32_t)((uintptr_t)slot / sizeof *slot * 2654435761u) & (w->room - 1);
	while (w->places[at].slot && (w->places[at].slot != slot || w->places[at].code != code))
		at = (at + 1) & (w->room - 1);
	return &w->places[at];
}

void set_infinity(Watch *w, const Frame *f, const Value *slot, uint32_t origin) {
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
			if (old[i].slot) *infinity_place(w, old[i].code, old[i].slot) = old[i];
		heap_free(w->c, old, room * sizeof *old);
	}
	SlotOrigin *p = infinity_place(w, f->code, slot);
	if (!p->slot) {
		if (!origin) return;
		w->nplaces++;
	}
	*p = (SlotOrigin){slot, f->code, origin};
}

uint32_t infinity_in(const Watch *w, const Frame *f, int32_t operand) {
	if (operand < 0) return 0;
	const Value *slot = f->slots + operand;
	const Block *body = &f->code->body;
	if (f == w->root && (uint32_t)operand >= body->params &&
	    (uint32_t)operand < body->params + body->nparams)
		return w->of_parameter[(uint32_t)operand - body->params];
	if (w->room) {
		const SlotOrigin *p = infinity_place((Watch *)(uintptr_t)w, f->code, slot);
		if (p->slot && p->origin) return p->origin;
	}
	return w->last_infinity; /* it came through a loop or a call */
}

/* ---- origins ------------------------------------------------------------- */

bool span_of_user(const Ctx *c, SpanId span) {
	const Span s = span_of(c, span);
	return s.source && !source_is_library(c, s.source);
}

/* The transforms of the instruction itself. They follow the inlined calls of
 * the user's functions, whose own transforms come first. Calls in the library,
 * such as in a derivative rule, belong to the instruction. */
const char *own_transforms(const Ctx *c, ChainId chain) {
	const char *text = chain ? chain_text(c, chain) : "", *own = text;
	for (const char *word = text; *word;) {
		const size_t n = strcspn(word, " ");
		unsigned name, defined;
		const bool call = *word == '@' && sscanf(word, "@%u:%u:", &name, &defined) == 2;
		word += n + (word[n] == ' ');
		if (call && span_of_user(c, (SpanId)defined)) own = word;
	}
	return own;
}

bool chain_is_backwards(const Ctx *c, ChainId chain) {
	return strstr(own_transforms(c, chain), "transpose") != NULL;
}

bool chain_is_derived(const Ctx *c, ChainId chain) {
	const char *t = own_transforms(c, chain);
	return strstr(t, "jvp") || strstr(t, "jet") || strstr(t, "linearise") || strstr(t, "transpose");
}

size_t plain_name(const Ctx *c, Atom name, const char **text) {
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
	if (!span_of_user(c, at)) return;
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
				            chain_is_backwards(c, s->chain) ? ", going backwards," : "");
				if (span_of_user(c, s->span)) {
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
			if ((!t->placed || s->span == t->o->span) && !chain_is_derived(c, t->o->chain) &&
			    chain_is_derived(c, s->chain))
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

uint32_t origin_new(Watch *w, OriginKind kind, bool infinite, const Step *s) {
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
		TraceReport t = {w, o, span_of_user(c, s->span)};
		/* Names are interned, which may allocate. */
		if (ctx_protect(c, report_enclosing_protected, &t) != ST_OK) o->trace.n = 0;
	}
	if (!s && kind == FROM_CONSTANT && span_of_user(c, w->fn->span)) o->span = w->fn->span;
	if (infinite) w->last_infinity = w->norigins;
	return w->norigins++;
}
