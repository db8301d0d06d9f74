/* diag.c - sources, interned spans, and the recording and rendering of
 * diagnostics.
 *
 * Needs: diag.h; the context's arena for sources and spans, the counted heap
 * for messages.
 *
 * Contract:
 * - Recording never throws and never fails. When memory runs out, the message
 *   becomes a fixed text in the state that ctx_new created.
 * - Rendering allocates nothing, and passes no control characters of a program
 *   to the terminal.
 */
#include "lang/base/diag.h"
#include <stdio.h>

#define KEPT_PER_SEVERITY 20
#define KEPT (2 * KEPT_PER_SEVERITY)
#ifdef ATLED_STRESS
#define SPAN_SLOTS_FIRST 2u
#else
#define SPAN_SLOTS_FIRST 256u
#endif

struct Source {
	const char *name, *text;
	uint32_t n;
	uint32_t *line_start; /* byte offset of each line */
	uint32_t lines;
	bool library;
	uint32_t holders; /* of a counted source; 0: it is not counted */
	void *block;      /* of the heap; it holds the lines, the name and the text */
	size_t bytes;
};

typedef struct DiagState {
	VEC(Source) sources;           /* at[0] stands for "no location"; without a block: freed */
	uint32_t added;                /* the number of sources ever added */
	VEC(SourceId) dropped, unused; /* without holders: not yet freed, freed */
	VEC(Span) spans;               /* at[0] is NO_SPAN */
	uint32_t *span_slots;          /* open addressing; SpanId, 0 is free */
	uint32_t span_slot_count;
	Diag kept[KEPT];
	uint32_t n;        /* number stored */
	uint32_t count[2]; /* number recorded, by severity */
	/* Stands for diagnostics beyond the limit; never refined, never shown. */
	Diag spill;
	char no_memory[16];
	WarningTell tell;
	void *tell_ud;
} DiagState;

static DiagState *state_of(const Ctx *c) { return ctx_slot(c, SLOT_DIAG); }

static void free_source(Ctx *c, Source *s) {
	if (s->block) heap_free(c, s->block, s->bytes);
	s->block = NULL;
}

static void free_state(Ctx *c, void *state) { /* allocated in the context's arena */
	DiagState *st = state;
	for (uint32_t i = 0; i < st->sources.n; i++) free_source(c, &st->sources.at[i]);
	diag_clear(c);
}

void diag_setup(Ctx *c) {
	Arena *a = ctx_arena(c);
	DiagState *st = ARENA_NEW(a, DiagState);
	VEC_PUSH(a, &st->sources, ((Source){.name = "", .text = ""}));
	VEC_PUSH(a, &st->spans, NO_SPAN);
	st->span_slots = ARENA_ARRAY(a, uint32_t, SPAN_SLOTS_FIRST);
	st->span_slot_count = SPAN_SLOTS_FIRST;
	strcpy(st->no_memory, "out of memory");
	st->spill.message = st->no_memory;
	ctx_set_slot(c, SLOT_DIAG, st, free_state);
}

/* ---- sources and spans --------------------------------------------------- */

enum { LINES_POLL = 65536 };

/* The position after the end of the line at i; 0 when no line ends. */
static size_t after_line(const char *text, size_t i, size_t n) {
	const char *end = i < n ? memchr(text + i, '\n', n - i) : NULL;
	return end ? (size_t)(end - text) + 1 : 0;
}

SourceId source_add(Ctx *c, const char *name, const char *text, size_t n) {
	DiagState *st = state_of(c);
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
	DiagState *st = state_of(c);
	/* The lists have room for all of them, so that dropping cannot fail. */
	VEC_RESERVE(ctx_arena(c), &st->dropped, st->sources.n);
	VEC_RESERVE(ctx_arena(c), &st->unused, st->sources.n);
	st->sources.at[s].holders = 1;
}

void source_hold(Ctx *c, SourceId s) {
	DiagState *st = state_of(c);
	if (s < st->sources.n && st->sources.at[s].holders) st->sources.at[s].holders++;
}

void source_drop(Ctx *c, SourceId s) {
	DiagState *st = state_of(c);
	Source *k = s < st->sources.n ? &st->sources.at[s] : NULL;
	if (k && k->holders && !--k->holders) st->dropped.at[st->dropped.n++] = s;
}

void sources_free(Ctx *c) {
	DiagState *st = state_of(c);
	while (st->dropped.n) {
		const SourceId s = st->dropped.at[--st->dropped.n];
		free_source(c, &st->sources.at[s]);
		st->sources.at[s] = (Source){.name = "", .text = ""};
		st->unused.at[st->unused.n++] = s;
	}
}

SourceId source_find(const Ctx *c, const char *name, const char *text, size_t n) {
	const DiagState *st = state_of(c);
	for (SourceId i = 1; i < st->sources.n; i++) {
		const Source *s = &st->sources.at[i];
		if (s->block && s->n == n && !strcmp(s->name, name) && !memcmp(s->text, text, n)) return i;
	}
	return 0;
}

bool source_known(const Ctx *c, SourceId s) {
	const DiagState *st = state_of(c);
	return s < st->sources.n && st->sources.at[s].block;
}

static const Source *source_of(const Ctx *c, SourceId id) {
	const DiagState *st = state_of(c);
	return &st->sources.at[id < st->sources.n ? id : 0];
}

const char *source_name(const Ctx *c, SourceId s) { return source_of(c, s)->name; }

void source_set_library(Ctx *c, SourceId s) {
	DiagState *st = state_of(c);
	if (s < st->sources.n) st->sources.at[s].library = true;
}

bool source_is_library(const Ctx *c, SourceId s) { return source_of(c, s)->library; }

const char *source_text(const Ctx *c, SourceId s, size_t *n) {
	const Source *src = source_of(c, s);
	if (n) *n = src->n;
	return src->text;
}

static uint32_t line_index(const Source *s, uint32_t offset) {
	uint32_t low = 0, high = s->lines; /* the answer is in [low, high) */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (s->line_start[middle] <= offset) low = middle;
		else high = middle;
	}
	return low;
}

/* Decodes one character; returns its length in bytes. Each byte of invalid
 * UTF-8 counts as one U+FFFD. */
static size_t decode(const char *text, const char *end, uint32_t *out) {
	const unsigned char *p = (const unsigned char *)text;
	size_t left = (size_t)(end - text);
	uint32_t first = p[0];
	*out = 0xfffd;
	if (first < 0x80) {
		*out = first;
		return 1;
	}
	size_t n = 0; /* stays 0 for bytes that start no character */
	if (first >= 0xc2 && first < 0xe0) n = 2;
	else if (first >= 0xe0 && first < 0xf0) n = 3;
	else if (first >= 0xf0 && first < 0xf5) n = 4;
	if (!n || n > left) return 1;
	uint32_t u = first & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) return 1;
		u = u << 6 | (p[i] & 0x3f);
	}
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	if (u < least[n] || u > 0x10ffff || (u >= 0xd800 && u < 0xe000)) return 1;
	*out = u;
	return n;
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
				p += decode(p, s->text + s->n, &unused);
		}
	}
	if (line) *line = l;
	if (column) *column = col;
}

static uint32_t hash_span(Span s) {
	uint64_t h = s.source * 0x9e3779b97f4a7c15u;
	h = (h ^ s.start) * 0xff51afd7ed558ccdu;
	h = (h ^ h >> 32 ^ s.end ^ (uint64_t)s.inside << 32) * 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(h >> 32);
}

static bool span_equal(Span a, Span b) {
	return a.source == b.source && a.start == b.start && a.end == b.end && a.inside == b.inside;
}

SpanId span_intern(Ctx *c, Span s) {
	if (!s.source) return 0;
	DiagState *st = state_of(c);
	Arena *a = ctx_arena(c);
	uint32_t mask = st->span_slot_count - 1, i = hash_span(s) & mask;
	for (; st->span_slots[i]; i = (i + 1) & mask) {
		if (span_equal(st->spans.at[st->span_slots[i]], s)) return st->span_slots[i];
	}
	VEC_RESERVE(a, &st->spans, st->spans.n + 1);
	if (st->spans.n * 2 >= st->span_slot_count) {
		uint32_t count = st->span_slot_count * 4;
		uint32_t *slots = ARENA_ARRAY(a, uint32_t, count);
		mask = count - 1;
		for (uint32_t k = 1; k < st->spans.n; k++) {
			for (i = hash_span(st->spans.at[k]) & mask; slots[i]; i = (i + 1) & mask)
				;
			slots[i] = k;
		}
		st->span_slots = slots;
		st->span_slot_count = count;
		for (i = hash_span(s) & mask; slots[i]; i = (i + 1) & mask)
			;
	}
	st->spans.at[st->spans.n] = s;
	return st->span_slots[i] = st->spans.n++;
}

SourceMark source_mark(const Ctx *c) {
	const DiagState *st = state_of(c);
	return (SourceMark){st->added, st->spans.n};
}

void spans_release(Ctx *c, SourceMark m) {
	DiagState *st = state_of(c);
	const uint32_t mask = st->span_slot_count - 1;
	/* The newest first: a search for an older span passes no newer one. */
	while (st->spans.n > m.spans) {
		uint32_t i = hash_span(st->spans.at[--st->spans.n]) & mask;
		while (st->span_slots[i] != st->spans.n) i = (i + 1) & mask;
		st->span_slots[i] = 0;
	}
}

Span span_of(const Ctx *c, SpanId id) {
	const DiagState *st = state_of(c);
	return id < st->spans.n ? st->spans.at[id] : NO_SPAN;
}

/* ---- recording ----------------------------------------------------------- */

static const struct {
	const char *id, *title;
} codes[DIAG_COUNT] = {
#define DIAG(id, number, title) {number, title},
#include "lang/base/diag_codes.def"
#undef DIAG
};

const char *diag_code_id(DiagCode code) {
	return (unsigned)code < DIAG_COUNT ? codes[code].id : "E0000";
}

const char *diag_code_title(DiagCode code) {
	return (unsigned)code < DIAG_COUNT ? codes[code].title : "";
}

/* Formats into the heap, after `before` and a newline when `before` is given;
 * NULL when memory fails. Zero bytes from %c are replaced: release_text frees
 * strlen + 1 bytes, so a zero byte must not shorten the text. */
static char *format_text(Ctx *c, const char *before, const char *format, va_list args) {
	va_list again;
	va_copy(again, args);
	int wanted = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (wanted < 0) return NULL;
	size_t lead = before ? strlen(before) + 1 : 0, n = lead + (size_t)wanted;
	char *text = heap_alloc(c, n + 1);
	if (!text) return NULL;
	if (before) {
		memcpy(text, before, lead - 1);
		text[lead - 1] = '\n';
	}
	vsnprintf(text + lead, (size_t)wanted + 1, format, args);
	for (char *zero; (zero = memchr(text, 0, n));) *zero = ' ';
	return text;
}

static void release_text(Ctx *c, char *text) {
	if (text && text != state_of(c)->no_memory) heap_free(c, text, strlen(text) + 1);
}

static void release_diag(Ctx *c, Diag *d) {
	release_text(c, d->message);
	release_text(c, d->label);
	release_text(c, d->second_label);
	release_text(c, d->hint);
	release_text(c, d->trace);
	*d = (Diag){0};
}

static Diag *record(Ctx *c, Severity severity, DiagCode code, Span at, const char *format,
                    va_list args) {
	DiagState *st = state_of(c);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < st->n; i++) kept += st->kept[i].severity == severity;
	st->count[severity]++;
	if (kept >= KEPT_PER_SEVERITY) return &st->spill;
	Diag *d = &st->kept[st->n++];
	*d = (Diag){.code = code, .severity = severity, .span = at};
	d->message = format_text(c, NULL, format, args);
	if (!d->message) {
		d->code = E_MEMORY;
		d->message = st->no_memory;
	}
	return d;
}

Diag *diag_error(Ctx *c, DiagCode code, Span at, const char *format, ...) {
	va_list args;
	va_start(args, format);
	Diag *d = record(c, SEV_ERROR, code, at, format, args);
	va_end(args);
	return d;
}

Diag *diag_warning(Ctx *c, DiagCode code, Span at, const char *format, ...) {
	va_list args;
	va_start(args, format);
	Diag *d = record(c, SEV_WARNING, code, at, format, args);
	va_end(args);
	return d;
}

/* Replaces one text of a diagnostic; when memory fails, the present text stays.
 */
static void refine(Ctx *c, Diag *d, char **field, const char *before, const char *format,
                   va_list args) {
	if (d == &state_of(c)->spill) return;
	char *text = format_text(c, before, format, args);
	if (!text) return;
	release_text(c, *field);
	*field = text;
}

void diag_label(Ctx *c, Diag *d, const char *format, ...) {
	if (!d) return;
	va_list args;
	va_start(args, format);
	refine(c, d, &d->label, NULL, format, args);
	va_end(args);
}

void diag_second(Ctx *c, Diag *d, Span at, const char *format, ...) {
	if (!d) return;
	if (d != &state_of(c)->spill) d->second = at;
	va_list args;
	va_start(args, format);
	refine(c, d, &d->second_label, NULL, format, args);
	va_end(args);
}

void diag_hint(Ctx *c, Diag *d, const char *format, ...) {
	if (!d) return;
	va_list args;
	va_start(args, format);
	refine(c, d, &d->hint, NULL, format, args);
	va_end(args);
}

void diag_trace(Ctx *c, Diag *d, const char *format, ...) {
	if (!d) return;
	va_list args;
	va_start(args, format);
	refine(c, d, &d->trace, d->trace, format, args);
	va_end(args);
}

uint32_t diag_count(const Ctx *c, Severity s) { return state_of(c)->count[s]; }

uint32_t diag_total(const Ctx *c) { return state_of(c)->n; }

const Diag *diag_at(const Ctx *c, uint32_t i) {
	const DiagState *st = state_of(c);
	return i < st->n ? &st->kept[i] : NULL;
}

/* Diagnostics that were counted but not stored came after the stored ones, so
 * they are discarded too. */
void diag_truncate(Ctx *c, uint32_t total) {
	DiagState *st = state_of(c);
	while (st->n > total) release_diag(c, &st->kept[--st->n]);
	st->count[SEV_ERROR] = st->count[SEV_WARNING] = 0;
	for (uint32_t i = 0; i < st->n; i++) st->count[st->kept[i].severity]++;
}

void diag_sort(Ctx *c) {
	DiagState *st = state_of(c);
	for (uint32_t i = 1; i < st->n; i++) {
		Diag d = st->kept[i];
		uint32_t k = i;
		for (; k; k--) {
			const Span *before = &st->kept[k - 1].span;
			bool later = before->source && d.span.source
			                 ? before->source == d.span.source && before->start > d.span.start
			                 : d.span.source && !before->source;
			if (!later) break;
			st->kept[k] = st->kept[k - 1];
		}
		st->kept[k] = d;
	}
}

void diag_on_warning(Ctx *c, WarningTell tell, void *ud) {
	DiagState *st = state_of(c);
	st->tell = tell;
	st->tell_ud = ud;
}

void diag_tell_warnings(Ctx *c) {
	DiagState *st = state_of(c);
	for (uint32_t i = 0; st->tell && i < st->n; i++) {
		if (st->kept[i].severity != SEV_WARNING || st->kept[i].told) continue;
		st->kept[i].told = true;
		st->tell(st->tell_ud, i);
	}
}

void diag_clear(Ctx *c) { diag_truncate(c, 0); }

/* ---- display width ------------------------------------------------------- */

typedef struct Range {
	uint32_t first, last;
} Range;

/* From the Unicode character database: general categories Mn, Me and Cf; East
 * Asian width W and F. Unassigned code points between two members count as
 * members. */
static const Range zero_width[] = {
	{0x300, 0x36f},     {0x483, 0x489},     {0x591, 0x5bd},     {0x5bf, 0x5bf},
	{0x5c1, 0x5c2},     {0x5c4, 0x5c5},     {0x5c7, 0x5c7},     {0x600, 0x605},
	{0x610, 0x61a},     {0x61c, 0x61c},     {0x64b, 0x65f},     {0x670, 0x670},
	{0x6d6, 0x6dd},     {0x6df, 0x6e4},     {0x6e7, 0x6e8},     {0x6ea, 0x6ed},
	{0x70f, 0x70f},     {0x711, 0x711},     {0x730, 0x74a},     {0x7a6, 0x7b0},
	{0x7eb, 0x7f3},     {0x7fd, 0x7fd},     {0x816, 0x819},     {0x81b, 0x823},
	{0x825, 0x827},     {0x829, 0x82d},     {0x859, 0x85b},     {0x890, 0x89f},
	{0x8ca, 0x902},     {0x93a, 0x93a},     {0x93c, 0x93c},     {0x941, 0x948},
	{0x94d, 0x94d},     {0x951, 0x957},     {0x962, 0x963},     {0x981, 0x981},
	{0x9bc, 0x9bc},     {0x9c1, 0x9c4},     {0x9cd, 0x9cd},     {0x9e2, 0x9e3},
	{0x9fe, 0xa02},     {0xa3c, 0xa3c},     {0xa41, 0xa51},     {0xa70, 0xa71},
	{0xa75, 0xa75},     {0xa81, 0xa82},     {0xabc, 0xabc},     {0xac1, 0xac8},
	{0xacd, 0xacd},     {0xae2, 0xae3},     {0xafa, 0xb01},     {0xb3c, 0xb3c},
	{0xb3f, 0xb3f},     {0xb41, 0xb44},     {0xb4d, 0xb56},     {0xb62, 0xb63},
	{0xb82, 0xb82},     {0xbc0, 0xbc0},     {0xbcd, 0xbcd},     {0xc00, 0xc00},
	{0xc04, 0xc04},     {0xc3c, 0xc3c},     {0xc3e, 0xc40},     {0xc46, 0xc56},
	{0xc62, 0xc63},     {0xc81, 0xc81},     {0xcbc, 0xcbc},     {0xcbf, 0xcbf},
	{0xcc6, 0xcc6},     {0xccc, 0xccd},     {0xce2, 0xce3},     {0xd00, 0xd01},
	{0xd3b, 0xd3c},     {0xd41, 0xd44},     {0xd4d, 0xd4d},     {0xd62, 0xd63},
	{0xd81, 0xd81},     {0xdca, 0xdca},     {0xdd2, 0xdd6},     {0xe31, 0xe31},
	{0xe34, 0xe3a},     {0xe47, 0xe4e},     {0xeb1, 0xeb1},     {0xeb4, 0xebc},
	{0xec8, 0xecd},     {0xf18, 0xf19},     {0xf35, 0xf35},     {0xf37, 0xf37},
	{0xf39, 0xf39},     {0xf71, 0xf7e},     {0xf80, 0xf84},     {0xf86, 0xf87},
	{0xf8d, 0xfbc},     {0xfc6, 0xfc6},     {0x102d, 0x1030},   {0x1032, 0x1037},
	{0x1039, 0x103a},   {0x103d, 0x103e},   {0x1058, 0x1059},   {0x105e, 0x1060},
	{0x1071, 0x1074},   {0x1082, 0x1082},   {0x1085, 0x1086},   {0x108d, 0x108d},
	{0x109d, 0x109d},   {0x1160, 0x11ff},   {0x135d, 0x135f},   {0x1712, 0x1714},
	{0x1732, 0x1733},   {0x1752, 0x1753},   {0x1772, 0x1773},   {0x17b4, 0x17b5},
	{0x17b7, 0x17bd},   {0x17c6, 0x17c6},   {0x17c9, 0x17d3},   {0x17dd, 0x17dd},
	{0x180b, 0x180f},   {0x1885, 0x1886},   {0x18a9, 0x18a9},   {0x1920, 0x1922},
	{0x1927, 0x1928},   {0x1932, 0x1932},   {0x1939, 0x193b},   {0x1a17, 0x1a18},
	{0x1a1b, 0x1a1b},   {0x1a56, 0x1a56},   {0x1a58, 0x1a60},   {0x1a62, 0x1a62},
	{0x1a65, 0x1a6c},   {0x1a73, 0x1a7f},   {0x1ab0, 0x1b03},   {0x1b34, 0x1b34},
	{0x1b36, 0x1b3a},   {0x1b3c, 0x1b3c},   {0x1b42, 0x1b42},   {0x1b6b, 0x1b73},
	{0x1b80, 0x1b81},   {0x1ba2, 0x1ba5},   {0x1ba8, 0x1ba9},   {0x1bab, 0x1bad},
	{0x1be6, 0x1be6},   {0x1be8, 0x1be9},   {0x1bed, 0x1bed},   {0x1bef, 0x1bf1},
	{0x1c2c, 0x1c33},   {0x1c36, 0x1c37},   {0x1cd0, 0x1cd2},   {0x1cd4, 0x1ce0},
	{0x1ce2, 0x1ce8},   {0x1ced, 0x1ced},   {0x1cf4, 0x1cf4},   {0x1cf8, 0x1cf9},
	{0x1dc0, 0x1dff},   {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x206f},
	{0x20d0, 0x20f0},   {0x2cef, 0x2cf1},   {0x2d7f, 0x2d7f},   {0x2de0, 0x2dff},
	{0x302a, 0x302d},   {0x3099, 0x309a},   {0xa66f, 0xa672},   {0xa674, 0xa67d},
	{0xa69e, 0xa69f},   {0xa6f0, 0xa6f1},   {0xa802, 0xa802},   {0xa806, 0xa806},
	{0xa80b, 0xa80b},   {0xa825, 0xa826},   {0xa82c, 0xa82c},   {0xa8c4, 0xa8c5},
	{0xa8e0, 0xa8f1},   {0xa8ff, 0xa8ff},   {0xa926, 0xa92d},   {0xa947, 0xa951},
	{0xa980, 0xa982},   {0xa9b3, 0xa9b3},   {0xa9b6, 0xa9b9},   {0xa9bc, 0xa9bd},
	{0xa9e5, 0xa9e5},   {0xaa29, 0xaa2e},   {0xaa31, 0xaa32},   {0xaa35, 0xaa36},
	{0xaa43, 0xaa43},   {0xaa4c, 0xaa4c},   {0xaa7c, 0xaa7c},   {0xaab0, 0xaab0},
	{0xaab2, 0xaab4},   {0xaab7, 0xaab8},   {0xaabe, 0xaabf},   {0xaac1, 0xaac1},
	{0xaaec, 0xaaed},   {0xaaf6, 0xaaf6},   {0xabe5, 0xabe5},   {0xabe8, 0xabe8},
	{0xabed, 0xabed},   {0xfb1e, 0xfb1e},   {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},
	{0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x101fd, 0x101fd}, {0x102e0, 0x102e0},
	{0x10376, 0x1037a}, {0x10a01, 0x10a0f}, {0x10a38, 0x10a3f}, {0x10ae5, 0x10ae6},
	{0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85},
	{0x11001, 0x11001}, {0x11038, 0x11046}, {0x11070, 0x11070}, {0x11073, 0x11074},
	{0x1107f, 0x11081}, {0x110b3, 0x110b6}, {0x110b9, 0x110ba}, {0x110bd, 0x110bd},
	{0x110c2, 0x110cd}, {0x11100, 0x11102}, {0x11127, 0x1112b}, {0x1112d, 0x11134},
	{0x11173, 0x11173}, {0x11180, 0x11181}, {0x111b6, 0x111be}, {0x111c9, 0x111cc},
	{0x111cf, 0x111cf}, {0x1122f, 0x11231}, {0x11234, 0x11234}, {0x11236, 0x11237},
	{0x1123e, 0x1123e}, {0x112df, 0x112df}, {0x112e3, 0x112ea}, {0x11300, 0x11301},
	{0x1133b, 0x1133c}, {0x11340, 0x11340}, {0x11366, 0x11374}, {0x11438, 0x1143f},
	{0x11442, 0x11444}, {0x11446, 0x11446}, {0x1145e, 0x1145e}, {0x114b3, 0x114b8},
	{0x114ba, 0x114ba}, {0x114bf, 0x114c0}, {0x114c2, 0x114c3}, {0x115b2, 0x115b5},
	{0x115bc, 0x115bd}, {0x115bf, 0x115c0}, {0x115dc, 0x115dd}, {0x11633, 0x1163a},
	{0x1163d, 0x1163d}, {0x1163f, 0x11640}, {0x116ab, 0x116ab}, {0x116ad, 0x116ad},
	{0x116b0, 0x116b5}, {0x116b7, 0x116b7}, {0x1171d, 0x1171f}, {0x11722, 0x11725},
	{0x11727, 0x1172b}, {0x1182f, 0x11837}, {0x11839, 0x1183a}, {0x1193b, 0x1193c},
	{0x1193e, 0x1193e}, {0x11943, 0x11943}, {0x119d4, 0x119db}, {0x119e0, 0x119e0},
	{0x11a01, 0x11a0a}, {0x11a33, 0x11a38}, {0x11a3b, 0x11a3e}, {0x11a47, 0x11a47},
	{0x11a51, 0x11a56}, {0x11a59, 0x11a5b}, {0x11a8a, 0x11a96}, {0x11a98, 0x11a99},
	{0x11c30, 0x11c3d}, {0x11c3f, 0x11c3f}, {0x11c92, 0x11ca7}, {0x11caa, 0x11cb0},
	{0x11cb2, 0x11cb3}, {0x11cb5, 0x11cb6}, {0x11d31, 0x11d45}, {0x11d47, 0x11d47},
	{0x11d90, 0x11d91}, {0x11d95, 0x11d95}, {0x11d97, 0x11d97}, {0x11ef3, 0x11ef4},
	{0x13430, 0x13438}, {0x16af0, 0x16af4}, {0x16b30, 0x16b36}, {0x16f4f, 0x16f4f},
	{0x16f8f, 0x16f92}, {0x16fe4, 0x16fe4}, {0x1bc9d, 0x1bc9e}, {0x1bca0, 0x1cf46},
	{0x1d167, 0x1d169}, {0x1d173, 0x1d182}, {0x1d185, 0x1d18b}, {0x1d1aa, 0x1d1ad},
	{0x1d242, 0x1d244}, {0x1da00, 0x1da36}, {0x1da3b, 0x1da6c}, {0x1da75, 0x1da75},
	{0x1da84, 0x1da84}, {0x1da9b, 0x1daaf}, {0x1e000, 0x1e02a}, {0x1e130, 0x1e136},
	{0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e8d0, 0x1e8d6}, {0x1e944, 0x1e94a},
	{0xe0001, 0xe01ef},
};

static const Range double_width[] = {
	{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
	{0x23f0, 0x23f0},   {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
	{0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},
	{0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26ce, 0x26ce},
	{0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
	{0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},
	{0x2728, 0x2728},   {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},
	{0x2757, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27b0},   {0x27bf, 0x27bf},
	{0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},   {0x2e80, 0x303e},
	{0x3041, 0x3247},   {0x3250, 0x4dbf},   {0x4e00, 0xa4c6},   {0xa960, 0xa97c},
	{0xac00, 0xd7a3},   {0xf900, 0xfad9},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6b},
	{0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x1b2fb}, {0x1f004, 0x1f004},
	{0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
	{0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca},
	{0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e},
	{0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e},
	{0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4},
	{0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2},
	{0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7f0},
	{0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faf6},
	{0x20000, 0x3fffd},
};

static bool in_ranges(const Range *r, size_t n, uint32_t u) {
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (u > r[middle].last) low = middle + 1;
		else high = middle;
	}
	return low < n && u >= r[low].first;
}

static uint32_t width_of(uint32_t u) {
	if (u < 0x300) return 1; /* control characters are shown as one space */
	if (in_ranges(zero_width, sizeof zero_width / sizeof *zero_width, u)) return 0;
	return in_ranges(double_width, sizeof double_width / sizeof *double_width, u) ? 2 : 1;
}

size_t text_columns(const char *text, size_t n) {
	size_t columns = 0;
	uint32_t u;
	for (const char *p = text, *end = text + n; p < end; columns += width_of(u))
		p += decode(p, end, &u);
	return columns;
}

size_t text_fitting(const char *text, size_t n, size_t columns) {
	const char *p = text, *const end = text + n;
	for (size_t used = 0; p < end;) {
		uint32_t u;
		const char *next = p + decode(p, end, &u);
		used += width_of(u);
		if (used > columns) break;
		p = next;
	}
	return (size_t)(p - text);
}

/* ---- rendering ----------------------------------------------------------- */

typedef struct OutputBuffer { /* buffers small pieces for the sink */
	OutputSink sink;
	void *ud;
	bool colour;
	size_t n;
	char at[512];
} OutputBuffer;

static void flush(OutputBuffer *o) {
	if (o->n) o->sink(o->ud, o->at, o->n);
	o->n = 0;
}

static void put_n(OutputBuffer *o, const char *s, size_t n) {
	while (n) {
		size_t room = sizeof o->at - o->n, k = n < room ? n : room;
		memcpy(o->at + o->n, s, k);
		o->n += k;
		s += k;
		n -= k;
		if (o->n == sizeof o->at) flush(o);
	}
}

static void put(OutputBuffer *o, const char *s) { put_n(o, s, strlen(s)); }

static void put_times(OutputBuffer *o, char ch, uint32_t times) {
	while (times--) put_n(o, &ch, 1);
}

static void put_number(OutputBuffer *o, uint32_t v) {
	char text[16];
	put_n(o, text, (size_t)snprintf(text, sizeof text, "%u", v));
}

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define YELLOW "\033[1;33m"
#define BLUE "\033[1;34m"
#define CYAN "\033[36m"
#define FAINT "\033[2m"

static void style(OutputBuffer *o, const char *escape) {
	if (o->colour) put(o, escape);
}

static void plain(OutputBuffer *o) { style(o, "\033[0m"); }

/* Writes one character in a form safe for a terminal: nothing moves the cursor
 * or reverses the line. */
static void put_char(OutputBuffer *o, const char *p, size_t n, uint32_t u) {
	if (u < 0x20 || (u >= 0x7f && u < 0xa0) || u == 0x2028 || u == 0x2029 ||
	    (u >= 0x202a && u <= 0x202e) || (u >= 0x2066 && u <= 0x2069))
		put(o, width_of(u) ? " " : "");
	else if (u == 0xfffd) put(o, "\xef\xbf\xbd");
	else put_n(o, p, n);
}

static void put_clean(OutputBuffer *o, const char *s, size_t length) {
	uint32_t u;
	for (const char *p = s, *end = s + length; p < end;) {
		size_t n = decode(p, end, &u);
		put_char(o, p, n, u);
		p += n;
	}
}

static void put_place(OutputBuffer *o, const Ctx *c, Span at) {
	uint32_t line, column;
	source_position(c, at, &line, &column);
	style(o, BOLD);
	put_clean(o, source_name(c, at.source), strlen(source_name(c, at.source)));
	put(o, ":");
	put_number(o, line);
	put(o, ":");
	put_number(o, column);
	put(o, ":");
	plain(o);
	put(o, " ");
}

/* Longer source lines are shown as a window around the caret. */
#define LINE_MOST 160u
#define LINE_BEFORE 60u

/* Shows the source line, with carets below the part of the span on it. */
static void put_excerpt(OutputBuffer *o, const Ctx *c, Span at, const char *label,
                        const char *caret_style) {
	const Source *s = source_of(c, at.source);
	if (!s->lines) return;
	uint32_t start = at.start < s->n ? at.start : s->n;
	uint32_t line = line_index(s, start);
	const char *from = s->text + s->line_start[line];
	const char *to = s->text + (line + 1 < s->lines ? s->line_start[line + 1] - 1 : s->n);
	if (to > from && to[-1] == '\r') to--;
	size_t line_bytes = (size_t)(to - from);
	size_t first = start - s->line_start[line],
		   last = at.end > start ? at.end - s->line_start[line] : first;
	if (first > line_bytes) first = line_bytes;
	if (last > line_bytes) last = line_bytes;

	uint32_t indent = (uint32_t)text_columns(from, first);
	uint32_t carets = (uint32_t)text_columns(from + first, last - first);
	uint32_t total = (uint32_t)text_columns(from, line_bytes);
	if (!carets) carets = 1;
	uint32_t low = 0, high = total;
	if (total > LINE_MOST) {
		low = indent > LINE_BEFORE ? indent - LINE_BEFORE : 0;
		high = low + LINE_MOST - 6;
		if (high > total) high = total;
	}

	char number[16];
	int digits = snprintf(number, sizeof number, "%u", line + 1);
	put(o, "  ");
	style(o, FAINT);
	put(o, number);
	put(o, " | ");
	plain(o);
	uint32_t column = 0, shown_low = UINT32_MAX, shown_high = low, u;
	if (low) put(o, "...");
	for (const char *p = from; p < to;) {
		size_t n = decode(p, to, &u);
		uint32_t w = width_of(u);
		if (column >= low && column + w <= high) {
			if (shown_low == UINT32_MAX) shown_low = column;
			shown_high = column + w;
			put_char(o, p, n, u);
		}
		column += w;
		p += n;
	}
	if (high < total) put(o, "...");
	if (shown_low == UINT32_MAX) shown_low = low;
	put(o, "\n  ");
	put_times(o, ' ', (uint32_t)digits);
	style(o, FAINT);
	put(o, " | ");
	plain(o);
	put_times(o, ' ', indent - shown_low + (low ? 3 : 0));
	if (indent < shown_high && indent + carets > shown_high) carets = shown_high - indent;
	style(o, caret_style);
	put_times(o, '^', carets);
	if (label && *label) {
		put(o, " ");
		put_clean(o, label, strlen(label));
	}
	plain(o);
	put(o, "\n");
}

/* Shows each line of a multi-line text, indented. */
static void put_lines(OutputBuffer *o, const char *text) {
	for (;;) {
		const char *end = strchr(text, '\n');
		put(o, "  ");
		put_clean(o, text, end ? (size_t)(end - text) : strlen(text));
		put(o, "\n");
		if (!end) return;
		text = end + 1;
	}
}

void diag_render(const Ctx *c, const Diag *d, bool colour, OutputSink sink, void *ud) {
	if (!d || !sink) return;
	OutputBuffer out = {.sink = sink, .ud = ud, .colour = colour}, *o = &out;
	const char *tone = d->severity == SEV_WARNING ? YELLOW : RED;
	if (d->span.source) put_place(o, c, d->span);
	if (d->severity == SEV_WARNING) {
		style(o, tone);
		put(o, "warning:");
		plain(o);
		put(o, " ");
	}
	style(o, BOLD);
	put_clean(o, d->message, strlen(d->message));
	plain(o);
	style(o, FAINT);
	put(o, " [");
	put(o, diag_code_id(d->code));
	put(o, "]");
	plain(o);
	put(o, "\n");
	if (d->span.source) put_excerpt(o, c, d->span, d->label, tone);
	if (d->second_label || d->second.source) {
		if (d->second.source) put_place(o, c, d->second);
		else put(o, "  ");
		if (d->second_label) put_clean(o, d->second_label, strlen(d->second_label));
		put(o, "\n");
		if (d->second.source) put_excerpt(o, c, d->second, NULL, BLUE);
	}
	if (d->trace) put_lines(o, d->trace);
	if (d->hint) {
		put(o, "  ");
		style(o, CYAN);
		put(o, "hint:");
		plain(o);
		put(o, " ");
		put_clean(o, d->hint, strlen(d->hint));
		put(o, "\n");
	}
	flush(o);
}

static void put_json_string(OutputBuffer *o, const char *s) {
	put(o, "\"");
	uint32_t u;
	for (const char *end = s + strlen(s); s < end;) {
		size_t n = decode(s, end, &u);
		char escape[8];
		if (u == '"' || u == '\\') {
			put(o, u == '"' ? "\\\"" : "\\\\");
		} else if (u == '\n') {
			put(o, "\\n");
		} else if (u < 0x20 || u == 0x7f || u == 0xfffd) {
			snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(u & 0xffff));
			put(o, escape);
		} else {
			put_n(o, s, n);
		}
		s += n;
	}
	put(o, "\"");
}

static void put_json_place(OutputBuffer *o, const Ctx *c, Span at) {
	uint32_t line, column, end_line, end_column;
	Span end = at;
	end.start = at.end > at.start ? at.end : at.start;
	source_position(c, at, &line, &column);
	source_position(c, end, &end_line, &end_column);
	char text[128];
	put(o, "\"file\":");
	put_json_string(o, source_name(c, at.source));
	snprintf(text, sizeof text, ",\"line\":%u,\"column\":%u,\"end_line\":%u,\"end_column\":%u",
	         line, column, end_line, end_column);
	put(o, text);
}

static void put_json_field(OutputBuffer *o, const char *name, const char *value) {
	if (!value) return;
	put(o, ",\"");
	put(o, name);
	put(o, "\":");
	put_json_string(o, value);
}

void diag_render_json(const Ctx *c, const Diag *d, OutputSink sink, void *ud) {
	if (!d || !sink) return;
	OutputBuffer out = {.sink = sink, .ud = ud}, *o = &out;
	put(o, "{\"code\":\"");
	put(o, diag_code_id(d->code));
	put(o, "\",\"severity\":\"");
	put(o, d->severity == SEV_WARNING ? "warning" : "error");
	put(o, "\",\"message\":");
	put_json_string(o, d->message);
	if (d->span.source) {
		put(o, ",");
		put_json_place(o, c, d->span);
	}
	put_json_field(o, "label", d->label);
	if (d->second.source) {
		put(o, ",\"second\":{");
		put_json_place(o, c, d->second);
		put_json_field(o, "label", d->second_label);
		put(o, "}");
	} else if (d->second_label) {
		put(o, ",\"second\":{\"label\":");
		put_json_string(o, d->second_label);
		put(o, "}");
	}
	put_json_field(o, "trace", d->trace);
	put_json_field(o, "hint", d->hint);
	put(o, "}\n");
	flush(o);
}

/* ---- did you mean -------------------------------------------------------- */

#define NAME_MOST 64

static uint32_t characters(const char *s, uint32_t *out) {
	uint32_t n = 0;
	for (const char *end = s + strlen(s); s < end;) {
		uint32_t u;
		s += decode(s, end, &u);
		if (n == NAME_MOST) return NAME_MOST + 1;
		out[n++] = u;
	}
	return n;
}

/* The Damerau-Levenshtein distance: insertions, deletions, substitutions and
 * swaps of neighbours that lead from a to b. */
static uint32_t edit_distance(const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb) {
	uint32_t rows[3][NAME_MOST + 1];
	uint32_t *two = rows[0], *one = rows[1], *row = rows[2];
	for (uint32_t j = 0; j <= nb; j++) {
		two[j] = 0;
		one[j] = j;
	}
	for (uint32_t i = 1; i <= na; i++) {
		row[0] = i;
		for (uint32_t j = 1; j <= nb; j++) {
			uint32_t best = one[j - 1] + (a[i - 1] != b[j - 1]);
			if (one[j] + 1 < best) best = one[j] + 1;
			if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			row[j] = best;
		}
		uint32_t *spare = two;
		two = one;
		one = row;
		row = spare;
	}
	return one[nb];
}

/* Near means one edit in a short name, two from five characters on, a third of
 * the length from nine on. No name is near to one of a single character. */
const char *diag_nearest_of(const char *name, const char *const *candidates, size_t n,
                            bool (*fits)(void *ud, const char *candidate), void *ud) {
	uint32_t a[NAME_MOST], b[NAME_MOST];
	uint32_t na = characters(name, a);
	if (!na || na > NAME_MOST) return NULL;
	const char *nearest = NULL;
	const uint32_t most = na < 5 ? 2 : na < 9 ? 3 : na / 3 + 1;
	uint32_t least = 2 * most;
	for (size_t i = 0; i < n; i++) {
		if (!candidates[i]) continue;
		uint32_t nb = characters(candidates[i], b);
		if (nb > NAME_MOST || nb >= na + most || na >= nb + most || na < 2) continue;
		uint32_t distance = edit_distance(a, na, b, nb);
		/* Ties prefer a candidate with the same first character, where typing
		 * errors are rare. */
		uint32_t rank = 2 * distance + (a[0] != b[0]);
		if (distance < most && rank < least && distance < (na > nb ? na : nb) &&
		    (!fits || fits(ud, candidates[i]))) {
			least = rank;
			nearest = candidates[i];
		}
	}
	return nearest;
}

const char *diag_nearest(const char *name, const char *const *candidates, size_t n) {
	return diag_nearest_of(name, candidates, n, NULL, NULL);
}
