/* written_out.h - a function whose calls, and loops that compare, are written out, so that what it compares is read off it. */
#ifndef ATLED_PARSER_WRITTEN_OUT_H
#define ATLED_PARSER_WRITTEN_OUT_H

#include "parser/spec.h"

/* f with its calls, and the loops of the text that compare real numbers, written out: of these turn by turn, with the same
 * parameters. One reference, or NULL where there is nothing to write out. A loop that may be left early is one if a counter
 * ends it. Loops in branches, whose turns have no known number, or of more than 4096 instructions in all turns stay. */
Fn *written_out(Sp *sp, Fn *f);
/* Begins a function with the parameters of f, and a map from f's values. What may fail in it is only computed where it is used. */
Builder *written_begin(Sp *sp, const Fn *f, RefMap *map);
/* Whether an instruction is the user's text, and nothing that the library does by itself or inside of a call. */
bool is_own_text(Ctx *c, const Inst *in);
/* Whether a value is an array of real numbers that are no whole ones. */
bool is_real_number(const Fn *f, Ref r);

#endif
