/* describe.h - native code in words, for plan(f, x) and native(f, x).
 *
 * Needs: schedule.h, tier.h. The text is for users: one or two lines for each
 * loop, with their line numbers.
 */
#ifndef ATLED_BACKEND_NATIVE_UNIT_DESCRIBE_H
#define ATLED_BACKEND_NATIVE_UNIT_DESCRIBE_H

#include "backend/native/lower/schedule.h"

/* Describes a unit: its cost under the hints, then its loops. Must be called
 * after lowering, while `l` is still in memory. A tab in each line marks the
 * place for further indentation. */
void describe_unit(Text *out, const Lower *l);

/* ---- parts of the text, shared ------------------------------------------- */

/* The source lines of instructions. A call into the library counts as the
 * user's line that calls it. */
typedef struct SourceLines {
	SourceId source; /* of the first line */
	uint32_t n, at[12];
	bool more;
} SourceLines;
void lines_add(SourceLines *lines, const Fn *f, const Inst *in);
/* Prints lines: "3", "3-5, 9". */
void lines_print(Text *out, const SourceLines *lines);
/* Prints the lines in a column, then two spaces for each level. */
void describe_margin(Text *out, uint32_t depth, const SourceLines *lines);
/* Prints an amount: "12 kB", "3.4 Mflop". */
void describe_amount(Text *out, double n, const char *unit);

#endif
