/* source.h - source texts, and interned spans of them.
 *
 * Needs: context.h, arena.h.
 */
#ifndef ATLED_LANG_BASE_SOURCE_H
#define ATLED_LANG_BASE_SOURCE_H

#include "lang/base/arena.h"

void sources_setup(Ctx *c); /* called by ctx_new; throws when memory fails */

typedef uint32_t SourceId;

/* A byte range [start, end) in a source. SourceId 0 means "no location". */
typedef struct Span {
	SourceId source;
	uint32_t start, end;
	/* The span of a call of the library: the message is about code inside that
	 * call. */
	bool inside;
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

SourceId source_add(Ctx *c, const char *name, const char *text, size_t n); /* copies both */
/* the source with this name and text; 0: none */
SourceId source_find(const Ctx *c, const char *name, const char *text, size_t n);
/* A source lives as long as the context, unless source_count has begun to count
 * its holders. The caller is the first of them. source_hold and source_drop
 * have no effect on other sources. sources_free frees those without holders;
 * later sources get their ids. */
void source_count(Ctx *c, SourceId s);
void source_hold(Ctx *c, SourceId s);
void source_drop(Ctx *c, SourceId s);
void sources_free(Ctx *c);
uint32_t sources_added(const Ctx *c); /* the number ever added */
SourceId sources_end(const Ctx *c);   /* all ids are below */
/* Sets by source whether an interned span lies in it. */
void sources_mentioned(const Ctx *c, bool *out);
bool source_known(const Ctx *c, SourceId s);
const char *source_name(const Ctx *c, SourceId s);
const char *source_text(const Ctx *c, SourceId s, size_t *n);
/* Marks a source as part of the standard library. Messages point to the user's
 * text and only mention library locations. */
void source_set_library(Ctx *c, SourceId s);
bool source_is_library(const Ctx *c, SourceId s);
/* 1-based; column in characters */
void source_position(const Ctx *c, Span s, uint32_t *line, uint32_t *column);
/* A line of a source. */
typedef struct SourceLine {
	uint32_t number;  /* from 1 */
	const char *text; /* without the end of the line */
	size_t n, before; /* its bytes; those before the place */
} SourceLine;
/* The line where a span begins. Returns false for no location. */
bool source_line(const Ctx *c, Span s, SourceLine *out);

/* An interned span, as stored in an IR instruction; 0: NO_SPAN. The id of a
 * freed span is given to a later one. */
typedef uint32_t SpanId;
SpanId span_intern(Ctx *c, Span s);
Span span_of(const Ctx *c, SpanId id);
/* spans_release frees the spans that are new since the last spans_mark or
 * spans_keep. Nothing may mention them any more. */
void spans_mark(Ctx *c);
void spans_release(Ctx *c);
/* Frees the spans of which used[id] is false; the ids are below spans_end. */
void spans_keep(Ctx *c, const bool *used);
SpanId spans_end(const Ctx *c);

#endif
