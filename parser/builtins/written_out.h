/* written_out.h - functions whose comparisons can be analysed: inlined calls,
 * unrolled loops.
 *
 * Needs: specialise/internal.h. Private to jumps.c, jump_*.c and written_out.c.
 */
#ifndef ATLED_PARSER_BUILTINS_WRITTEN_OUT_H
#define ATLED_PARSER_BUILTINS_WRITTEN_OUT_H

#include "parser/specialise/internal.h"

/* f with its calls inlined, and with those loops of the text unrolled that
 * compare real numbers. The parameters are those of f. Returns one reference,
 * or NULL when there is nothing to do. A loop that may be left early needs a
 * counter that bounds its trip count. Loops in branches, and loops of more than
 * 4096 instructions over all iterations, are not unrolled. */
Fn *written_out(Sp *sp, Fn *f);
/* Begins a function with the parameters of f, and a map from f's values. An
 * instruction that may fail remains in it only where its result is used. */
Builder *written_begin(Sp *sp, const Fn *f, RefMap *map);
/* True when an instruction comes from the user's text, not from the library or
 * from inside a call of it. */
bool is_own_text(Ctx *c, const Inst *in);
/* True for an array of a real floating-point dtype. */
bool is_real_number(const Fn *f, Ref r);

#endif
