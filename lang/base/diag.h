/* diag.h - source texts, spans, and the messages a user reads.
 *
 * Needs: context.h, arena.h. Guarantees: a diagnostic owns its text; rendering
 * shows file:line:col, the source line, a caret range (by display width, so
 * that Greek and CJK line up) and, where there is one, a second label and a
 * hint. At most 20 errors are kept, then a count.
 */
#ifndef ATLED_LANG_BASE_DIAG_H
#define ATLED_LANG_BASE_DIAG_H

#include "lang/base/arena.h"

void diag_setup(Ctx *c); /* called by ctx_new; throws when memory fails */

typedef struct Source Source; /* name + text + line map; lives as long as the context */
typedef uint32_t SourceId;

/* Byte range [start, end) in a source. SourceId 0 means "no place". */
typedef struct Span {
	SourceId source;
	uint32_t start, end;
	bool inside; /* of a call of the library: what it does there, and not the text itself */
} Span;
#define NO_SPAN ((Span){0})
static inline Span span_made(SourceId source, uint32_t start, uint32_t end) {
	return (Span){.source = source, .start = start, .end = end};
}
static inline Span span_join(Span a, Span b) {
	if (!a.source) return b;
	if (!b.source || a.source != b.source) return a;
	return (Span){a.source, a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end,
	              a.inside && b.inside};
}

typedef uint32_t SpanId; /* interned span: what an IR instruction carries */
SpanId span_intern(Ctx *c, Span s);
Span span_of(const Ctx *c, SpanId id);

SourceId source_add(Ctx *c, const char *name, const char *text, size_t n); /* copies both */
/* one that has both; 0: none */
SourceId source_find(const Ctx *c, const char *name, const char *text, size_t n);
bool source_known(const Ctx *c, SourceId s);
const char *source_name(const Ctx *c, SourceId s);
const char *source_text(const Ctx *c, SourceId s, size_t *n);
/* Of the standard library: messages are about the user's text and only mention
 * such places. */
void source_set_library(Ctx *c, SourceId s);
bool source_is_library(const Ctx *c, SourceId s);
/* 1-based; column in characters */
void source_position(const Ctx *c, Span s, uint32_t *line, uint32_t *column);

typedef enum DiagCode {
#define DIAG(id, number, title) id,
#include "lang/base/diag_codes.def"
#undef DIAG
	DIAG_COUNT
} DiagCode;

typedef enum Severity { SEV_ERROR, SEV_WARNING } Severity;

typedef struct Diag {
	DiagCode code;
	Severity severity;
	char *message; /* one line, the program's words */
	Span span;
	char *label; /* beside the caret; may be NULL */
	Span second; /* where the conflicting shape or type came from; source 0 when none */
	char *second_label;
	char *hint;  /* what to write instead; may be NULL */
	char *trace; /* call path or transform chain, newline-separated; may be NULL */
} Diag;

const char *diag_code_id(DiagCode code); /* "E0302" */
const char *diag_code_title(DiagCode code);

/* Starts a diagnostic and records it; the returned pointer may be refined with
 * the calls below until the next diag_*. Never throws: when memory fails the
 * diagnostic degrades to a static one. */
Diag *diag_error(Ctx *c, DiagCode code, Span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
Diag *diag_warning(Ctx *c, DiagCode code, Span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void diag_label(Ctx *c, Diag *d, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_second(Ctx *c, Diag *d, Span at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void diag_hint(Ctx *c, Diag *d, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* appends a line */
void diag_trace(Ctx *c, Diag *d, const char *format, ...) __attribute__((format(printf, 3, 4)));

uint32_t diag_count(const Ctx *c, Severity s);
uint32_t diag_total(const Ctx *c); /* kept ones, all severities */
const Diag *diag_at(const Ctx *c, uint32_t i);
void diag_clear(Ctx *c);
/* forget the ones after the first `total`: a caught error, a retried attempt */
void diag_truncate(Ctx *c, uint32_t total);

/* by the place in the text, those without a place last; otherwise as they
 * came */
void diag_sort(Ctx *c);

/* Renders one diagnostic, with colour when asked, into the sink. */
void diag_render(const Ctx *c, const Diag *d, bool colour, OutputSink sink, void *ud);
/* one object, one line */
void diag_render_json(const Ctx *c, const Diag *d, OutputSink sink, void *ud);

/* Columns a terminal uses for UTF-8 text: East Asian wide 2, combining 0,
 * anything else 1. */
size_t text_columns(const char *text, size_t n);

/* Smallest edit distance match of `name` among candidates, or NULL when none is
 * near: for "did you mean". */
const char *diag_nearest(const char *name, const char *const *candidates, size_t n);
/* The same among those that fit, which is asked of near ones only. */
const char *diag_nearest_of(const char *name, const char *const *candidates, size_t n,
                            bool (*fits)(void *ud, const char *candidate), void *ud);

#endif
