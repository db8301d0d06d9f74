/* diag.h - diagnostics for the user.
 *
 * Needs: source.h, text_width.h.
 *
 * Contract:
 * - A diagnostic owns its text.
 * - Rendering shows file:line:col, the source line, a caret range and, where
 *   present, a second label and a hint. The range is by display width, so that
 *   Greek and CJK line up.
 * - At most 20 of each severity are stored; later ones are only counted.
 */
#ifndef ATLED_LANG_BASE_DIAG_H
#define ATLED_LANG_BASE_DIAG_H

#include "lang/base/source.h"
#include "lang/base/text_width.h"

void diag_setup(Ctx *c); /* called by ctx_new; throws when memory fails */

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
	char *message; /* one line, in terms of the program */
	Span span;
	char *label; /* next to the caret; may be NULL */
	/* The origin of the conflicting shape or type; source 0: none. */
	Span second;
	char *second_label;
	char *hint; /* the suggested correction; may be NULL */
	/* Call path or transform chain, separated by newlines; may be NULL. */
	char *trace;
	bool told; /* to the function of diag_on_warning */
} Diag;

const char *diag_code_id(DiagCode code); /* "E0302" */
const char *diag_code_title(DiagCode code);

/* Starts a diagnostic and records it. The calls below may refine the returned
 * pointer until the next diag_*. Never throws: when memory fails, the
 * diagnostic becomes a static one. */
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
uint32_t diag_total(const Ctx *c); /* number stored, of all severities */
const Diag *diag_at(const Ctx *c, uint32_t i);
/* Whether the last diagnostic says that memory was short, in place of what
 * should have been said. */
bool diag_lacks_memory(const Ctx *c);
void diag_clear(Ctx *c);
/* Discards the diagnostics after the first `total`: a caught error, or an
 * attempt to be repeated. */
void diag_truncate(Ctx *c, uint32_t total);

/* Sets the function that receives the place of each stored warning; NULL:
 * none. */
typedef void (*WarningTell)(void *ud, uint32_t i);
void diag_on_warning(Ctx *c, WarningTell tell, void *ud);
/* Tells the stored warnings that were not told yet. The caller has completed
 * them. */
void diag_tell_warnings(Ctx *c);

/* Sorts by location, diagnostics without one last; stable. */
void diag_sort(Ctx *c);

/* Renders one diagnostic into the sink, coloured on request. */
void diag_render(const Ctx *c, const Diag *d, bool colour, OutputSink sink, void *ud);
/* Renders it as one JSON object on one line. */
void diag_render_json(const Ctx *c, const Diag *d, OutputSink sink, void *ud);

/* The candidate with the smallest edit distance to `name`, or NULL when none is
 * near, for "did you mean". */
const char *diag_nearest(const char *name, const char *const *candidates, size_t n);
/* The same among the candidates that fit; `fits` is called for near ones only.
 */
const char *diag_nearest_of(const char *name, const char *const *candidates, size_t n,
                            bool (*fits)(void *ud, const char *candidate), void *ud);

#endif
