/* written_out.h - functions whose comparisons can be read
 *
 * Needs: specialise/internal.h. Private to builtins/jumps.c and written_out.c.
 */
#ifndef ATLED_PARSER_BUILTINS_WRITTEN_OUT_H
#define ATLED_PARSER_BUILTINS_WRITTEN_OUT_H

#include "parser/specialise/internal.h"

/* f, of the same parameters, with its calls written out, and turn by turn the
 * loops of the text that compare real numbers. One reference; NULL: there is
 * nothing to write. Of a loop that may be left early a counter must bound the
 * turns. Loops in branches stay, and those of more than 4096 instructions in
 * all turns. */
Fn *written_out(Sp *sp, Fn *f);
/* Begins a function with the parameters of f, and a map from f's values. What
 * may fail in it is computed only where it is used. */
Builder *written_begin(Sp *sp, const Fn *f, RefMap *map);
/* Whether an instruction is the user's text, and nothing that the library does
 * by itself or inside of a call. */
bool is_own_text(Ctx *c, const Inst *in);
/* Whether a value is an array of real numbers that are no whole ones. */
bool is_real_number(const Fn *f, Ref r);

#endif
