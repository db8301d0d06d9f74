/* diag.c - the recording and rendering of diagnostics.
 *
 * Needs: diag.h; the counted heap for messages.
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
typedef struct DiagState {
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

static void free_state(Ctx *c, void *state) { /* allocated in the context's arena */
	(void)state;
	diag_clear(c);
}

void diag_setup(Ctx *c) {
	DiagState *st = ARENA_NEW(ctx_arena(c), DiagState);
	strcpy(st->no_memory, "out of memory");
	st->spill.message = st->no_memory;
	ctx_set_slot(c, SLOT_DIAG, st, free_state);
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

bool diag_lacks_memory(const Ctx *c) {
	const DiagState *st = state_of(c);
	return st->n && st->kept[st->n - 1].code == E_MEMORY;
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
		put(o, text_width(u) ? " " : "");
	else if (u == 0xfffd) put(o, "\xef\xbf\xbd");
	else put_n(o, p, n);
}

static void put_clean(OutputBuffer *o, const char *s, size_t length) {
	uint32_t u;
	for (const char *p = s, *end = s + length; p < end;) {
		size_t n = text_decode(p, end, &u);
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
	SourceLine l;
	if (!source_line(c, at, &l)) return;
	const char *from = l.text, *to = l.text + l.n;
	size_t line_bytes = l.n, first = l.before,
		   last = at.end > at.start ? first + (at.end - at.start) : first;
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
	int digits = snprintf(number, sizeof number, "%u", l.number);
	put(o, "  ");
	style(o, FAINT);
	put(o, number);
	put(o, " | ");
	plain(o);
	uint32_t column = 0, shown_low = UINT32_MAX, shown_high = low, u;
	if (low) put(o, "...");
	for (const char *p = from; p < to;) {
		size_t n = text_decode(p, to, &u);
		uint32_t w = text_width(u);
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
		size_t n = text_decode(s, end, &u);
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
		s += text_decode(s, end, &u);
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
