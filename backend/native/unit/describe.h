/* describe.h - native code in words, for plan(f, x) and native(f, x).
 *
 * Needs: schedule.h, tier.h. The text is for people: one or two lines for each
 * loop, with the user's line numbers.
 */
#ifndef ATLED_BACKEND_NATIVE_EXPLAIN_DESCRIBE_H
#define ATLED_BACKEND_NATIVE_EXPLAIN_DESCRIBE_H

#include "backend/native/lower/schedule.h"

/* A unit that has just been lowered, while everything its lowering knew is
 * there: what it costs under the hints, then its loops. Each line has a tab
 * where it may be indented further. */
void describe_unit(Text *out, const Lower *l);

/* ---- pieces of text, shared ---------------------------------------------- */

/* The lines of the user's program that instructions came from, calls into the
 * library as the user's line that calls. */
typedef struct Lines {
	SourceId source; /* of the first */
	uint32_t n, at[12];
	bool more;
} Lines;
void lines_add(Lines *lines, const Fn *f, const Inst *in);
/* "3", "3-5, 9" */
void lines_print(Text *out, const Lines *lines);
/* The lines in a column, then two spaces for each level. */
void describe_margin(Text *out, uint32_t depth, const Lines *lines);
/* "12 kB", "3.4 Mflop" */
void describe_amount(Text *out, double n, const char *unit);

#endif
