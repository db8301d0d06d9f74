/* builtins.h - the tables of builtin functions, one per file.
 *
 * Needs: spec.h. Guarantees: names are unique over all tables; each table ends with name NULL.
 */
#ifndef ATLED_PARSER_BUILTINS_H
#define ATLED_PARSER_BUILTINS_H

#include "parser/spec.h"

extern const Builtin builtins_array[]; /* builtins.c */
extern const Builtin builtins_deriv[]; /* builtins_deriv.c */
extern const Builtin builtins_flow[];  /* builtins_flow.c */
extern const Builtin builtins_ir[];    /* builtins_ir.c */
extern const Builtin builtins_problem[]; /* problem.c */

/* The first argument of a call, a function, at the others; a piece of IR alone is what it is. */
Spec builtin_spec_of(Sp *sp, const Call *call);
Av *builtin_ir_text(Sp *sp, const Av *f); /* of a piece of IR: its text, a string */


#endif
