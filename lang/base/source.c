/* source.c - source texts, and interned spans of them.
 *
 * Needs: source.h; the context's arena for tables, its heap for texts.
 */
#include "lang/base/source.h"
#include "lang/base/diag.h"
#include "lang/base/hash_chains.h"

typedef struct Source {
	const char *name, *text;
	uint32_t n;
	uint32_t *line_start; /* byte offset of each line */
	uint32_t lines;
	bool library;
	uint32_t holders; /* of a counted source; 0: it is not counted */
	void *block;      /* of the heap; it holds the lines, the name and the text */
	size_t bytes;
} Source;

typedef struct KnownSpan {
	HashLink link; /* of a free one: the next free one */
	Span span;     /* NO_SPAN: it is free */
	SpanId id;
} KnownSpan;

typedef struct SourceState {
	VEC(Source) sources;           /* at[0] stands for "no location"; without a block: freed */
	uint32_t added;                /* the number of sources ever added */
	VEC(SourceId) dropped, unused; /* without holders: not yet freed, freed */
	VEC(KnownSpan *) spans;        /* by id; 0: none */
	VEC(SpanId) newest;            /* since the mark */
	KnownSpan *free_spans;
	HashChains by_place;
} SourceState;

static SourceState *state_of(const Ctx *c) { return ctx_slot(c, SLOT_SOURCES); }

static void free_source(Ctx *c, Source *s) {
	if (s->block) heap_free(c, s->block, s->bytes);
	s->block = NULL;
}

static void free_state(Ctx *c, void *state) { /* allocated in the context's arena */
	SourceState *st = state;
	for (uint32_t i = 0; i < st->sources.n; i++) free_source(c, &st->sources.at[i]);
	hash_free(c, &st->by_place);
}

void sources_setup(Ctx *c) {
	Arena *a = ctx_arena(c);
	SourceState *st = ARENA_NEW(a, SourceState);
	VEC_PUSH(a, &st->sources, ((Source){.name = "", .text = ""}));
	VEC_PUSH(a, &st->spans, NULL);
	ctx_set_slot(c, SLOT_SOURCES, st, free_state);
}

/* ---- sources ------------------------------------------------------------- */

enum { LINES_POLL = 65536 };

/* The position after the end of the line at i; 0 when no line ends. */
static size_t after_line(const char *text, size_t i, size_t n) {
	const char *end = i < n ? memchr(text + i, '\n', n - i) : NULL;
	return end ? (size_t)(end - text) + 1 : 0;
}

SourceId source_add(Ctx *c, const char *name, const char *text, size_t n) {
	SourceState *st = state_of(c);
	Arena *a = ctx_arena(c);
	if (n >= UINT32_MAX) {
		diag_error(c, E_FILE, NO_SPAN, "%s is larger than 4 GB", name);
		ctx_throw(c, ST_ERROR);
	}
	VEC_RESERVE(a, &st->sources, st->sources.n + 1);
	Source s = {.n = (uint32_t)n, .lines = 1};
	for (size_t i = 0; (i = after_line(text, i, n)); s.lines++)
		if (s.lines % LINES_POLL == 0) ctx_poll_throw(c);
	const size_t starts = sizeof *s.line_start * s.lines, named = strlen(name) + 1;
	s.bytes = starts + named + n + 1;
	s.block = heap_alloc(c, s.bytes);
	if (!s.block) ctx_throw(c, ST_NOMEM);
	s.line_start = s.block;
	s.line_start[0] = 0;
	uint32_t line = 0;
	for (size_t i = 0; (i = after_line(text, i, n));) s.line_start[++line] = (uint32_t)i;
	char *at = (char *)s.block + starts;
	s.name = memcpy(at, name, named);
	s.text = at + named;
	if (n) memcpy(at + named, text, n);
	at[named + n] = 0;
	const SourceId id = st->unused.n ? st->unused.at[--st->unused.n] : st->sources.n++;
	st->added++;
	st->sources.at[id] = s;
	return id;
}

void source_count(Ctx *c, SourceId s) {
	SourceState *st = state_of(c);
	/* The lists have room for all of them, so that dropping cannot fail. */
	VEC_RESERVE(ctx_arena(c), &st->dropped, st->sources.n);
	VEC_RESERVE(ctx_arena(c), &st->unused, st->sources.n);
	st->sources.at[s].holders = 1;
}

void source_hold(Ctx *c, SourceId s) {
	SourceState *st = state_of(c);
	if (s < st->sources.n && st->sources.at[s].holders) st->sources.at[s].holders++;
}

void source_drop(Ctx *c, SourceId s) {
	SourceState *st = state_of(c);
	Source *k = s < st->sources.n ? &st->sources.at[s] : NULL;
	if (k && k->holders && !--k->holders) st->dropped.at[st->dropped.n++] = s;
}

void sources_free(Ctx *c) {
	SourceState *st = state_of(c);
	while (st->dropped.n) {
		const SourceId s = st->dropped.at[--st->dropped.n];
		free_source(c, &st->sources.at[s]);
		st->sources.at[s] = (Source){.name = "", .text = ""};
		st->unused.at[st->unused.n++] = s;
	}
}

SourceId source_find(const Ctx *c, const char *name, const char *text, size_t n) {
	const SourceState *st = state_of(c);
	for (SourceId i = 1; i < st->sources.n; i++) {
		const Source *s = &st->sources.at[i];
		if (s->block && s->n == n && !strcmp(s->name, name) && !memcmp(s->text, text, n)) return i;
	}
	return 0;
}

bool source_known(const Ctx *c, SourceId s) {
	const SourceState *st = state_of(c);
	return s < st->sources.n && st->sources.at[s].block;
}

static const Source *source_of(const Ctx *c, SourceId id) {
	const SourceState *st = state_of(c);
	return &st->sources.at[id < st->sources.n ? id : 0];
}

const char *source_name(const Ctx *c, SourceId s) { return source_of(c, s)->name; }

void source_set_library(Ctx *c, SourceId s) {
	SourceState *st = state_of(c);
	if (s < st->sources.n) st->sources.at[s].library = true;
}

bool source_is_library(const Ctx *c, SourceId s) { return source_of(c, s)->library; }

const char *source_text(const Ctx *c, SourceId s, size_t *n) {
	const Source *src = source_of(c, s);
	if (n) *n = src->n;
	return src->text;
}

uint32_t sources_added(const Ctx *c) { return state_of(c)->added; }

SourceId sources_end(const Ctx *c) { return state_of(c)->sources.n; }

static uint32_t line_index(const Source *s, uint32_t offset) {
	uint32_t low = 0, high = s->lines; /* the answer is in [low, high) */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (s->line_start[middle] <= offset) low = middle;
		else high = middle;
	}
	return low;
}

void source_position(const Ctx *c, Span at, uint32_t *line, uint32_t *column) {
	uint32_t l = 0, col = 0;
	if (at.source) {
		const Source *s = source_of(c, at.source);
		uint32_t start = at.start < s->n ? at.start : s->n;
		if (s->lines) {
			l = line_index(s, start) + 1;
			col = 1;
			uint32_t unused;
			for (const char *p = s->text + s->line_start[l - 1]; p < s->text + start; col++)
				p += text_decode(p, s->text + s->n, &unused);
		}
	}
	if (line) *line = l;
	if (column) *column = col;
}

bool source_line(const Ctx *c, Span at, SourceLine *out) {
	const Source *s = source_of(c, at.source);
	if (!s->lines) return false;
	const uint32_t start = at.start < s->n ? at.start : s->n, line = line_index(s, start);
	const char *from = s->text + s->line_start[line];
	const char *to = s->text + (line + 1 < s->lines ? s->line_start[line + 1] - 1 : s->n);
	if (to > from && to[-1] == '\r') to--;
	*out = (SourceLine){line + 1, from, (size_t)(to - from), start - s->line_start[line]};
	return true;
}

/* ---- spans --------------------------------------------------------------- */

static uint32_t hash_span(Span s) {
	const uint32_t h = hash_word(s.source, (uint64_t)s.start << 32 | s.end);
	return hash_word(h, s.inside);
}

static bool span_equal(Span a, Span b) {
	return a.source == b.source && a.start == b.start && a.end == b.end && a.inside == b.inside;
}

SpanId span_intern(Ctx *c, Span s) {
	if (!s.source) return 0;
	SourceState *st = state_of(c);
	Arena *a = ctx_arena(c);
	const uint32_t hash = hash_span(s);
	for (const HashLink *l = hash_chain(&st->by_place, hash); l; l = l->next)
		if (span_equal(((const KnownSpan *)l)->span, s)) return ((const KnownSpan *)l)->id;
	hash_reserve(c, &st->by_place);
	VEC_RESERVE(a, &st->newest, st->newest.n + 1);
	KnownSpan *k = st->free_spans;
	if (k) {
		st->free_spans = (KnownSpan *)k->link.next;
	} else {
		VEC_RESERVE(a, &st->spans, st->spans.n + 1);
		k = ARENA_NEW(a, KnownSpan);
		k->id = st->spans.n;
		st->spans.at[st->spans.n++] = k;
	}
	k->link.hash = hash;
	k->span = s;
	hash_put(&st->by_place, &k->link);
	st->newest.at[st->newest.n++] = k->id;
	return k->id;
}

static void free_span(SourceState *st, KnownSpan *k) {
	hash_take(&st->by_place, &k->link);
	k->span = NO_SPAN;
	k->link.next = (HashLink *)st->free_spans;
	st->free_spans = k;
}

void spans_mark(Ctx *c) { state_of(c)->newest.n = 0; }

void spans_release(Ctx *c) {
	SourceState *st = state_of(c);
	while (st->newest.n) free_span(st, st->spans.at[st->newest.at[--st->newest.n]]);
}

SpanId spans_end(const Ctx *c) { return state_of(c)->spans.n; }

void spans_keep(Ctx *c, const bool *used) {
	SourceState *st = state_of(c);
	st->newest.n = 0;
	for (SpanId id = 1; id < st->spans.n; id++)
		if (st->spans.at[id]->span.source && !used[id]) free_span(st, st->spans.at[id]);
}

void sources_mentioned(const Ctx *c, bool *out) {
	const SourceState *st = state_of(c);
	memset(out, 0, st->sources.n);
	for (SpanId id = 1; id < st->spans.n; id++) out[st->spans.at[id]->span.source] = true;
}

Span span_of(const Ctx *c, SpanId id) {
	const SourceState *st = state_of(c);
	return id && id < st->spans.n ? st->spans.at[id]->span : NO_SPAN;
}
