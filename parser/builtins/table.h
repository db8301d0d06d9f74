/* table.h - the tables of builtin functions, one per file.
 *
 * Needs: specialise/internal.h. Guarantees: names are unique over all tables;
 * each table ends with name NULL.
 */
#ifndef ATLED_PARSER_BUILTINS_TABLE_H
#define ATLED_PARSER_BUILTINS_TABLE_H

#include "parser/specialise/internal.h"

extern const Builtin builtins_array[];   /* arrays.c */
extern const Builtin builtins_axes[];    /* builtins/axes.c */
extern const Builtin builtins_jumps[];   /* builtins/jumps.c */
extern const Builtin builtins_deriv[];   /* derivatives.c */
extern const Builtin builtins_flow[];    /* builtins/effects.c */
extern const Builtin builtins_ir[];      /* ir_values.c */
extern const Builtin builtins_text[];    /* builtins/text.c */
extern const Builtin builtins_problem[]; /* residual.c */

/* Characters of a text. */
int64_t text_length(const char *text, size_t n);
/* text[item]: a character or, of a range, characters. */
Av *sp_text_item(Sp *sp, Av *text, Av *item, Span at);
/* Whether a value is a list or tuple of texts, or may be one when the program
 * runs; sort(...) of it. */
bool sp_is_texts(const Av *v);
Av *sp_sort_texts(Sp *sp, const Call *call);
/* len, x[i] and operators on texts and lists whose kind is known when the
 * program runs, without specialising anything. */
bool quick_len(Ctx *c, const FunctionObject *self, uint32_t n, const Value *args, Value *result);
bool quick_item(Ctx *c, const FunctionObject *self, uint32_t n, const Value *args, Value *result);
bool quick_part(Ctx *c, const FunctionObject *self, uint32_t n, const Value *args, Value *result);
bool quick_operator(Ctx *c, const FunctionObject *self, uint32_t n, const Value *args,
                    Value *result);
/* A text, or a value of unknown type, as a number; what it cannot be is found
 * out when the program runs. */
Av *sp_number_of(Sp *sp, Av *v, Dtype d, Span at);

/* The first argument of a call, a function, at the others; a piece of IR alone
 * is what it is. */
Spec builtin_spec_of(Sp *sp, const Call *call);
Av *builtin_ir_text(Sp *sp, const Av *f); /* of a piece of IR: its text, a string */

#endif
