/* table.h - the tables of builtins, one for each file, and what their functions
 * share.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - Names are unique over all tables.
 * - Each table ends with a name NULL.
 */
#ifndef ATLED_PARSER_BUILTINS_TABLE_H
#define ATLED_PARSER_BUILTINS_TABLE_H

#include "parser/specialise/internal.h"

/* The head of a builtin's function, and those of its parameters that it does
 * not use. */
#define BUILTIN(fname)                                                                             \
	static Av *fname(Sp *sp, const Builtin *self, uint32_t ncaptured, Av *const *captured,         \
	                 const CallArguments *call)
#define UNUSED (void)self, (void)ncaptured, (void)captured

static inline const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

extern const Builtin builtins_elementwise[]; /* elementwise.c */
extern const Builtin builtins_array[];       /* arrays.c */
extern const Builtin builtins_reduction[];   /* reductions.c */
extern const Builtin builtins_linear[];      /* linear_algebra.c */
extern const Builtin builtins_random[];      /* random.c */
extern const Builtin builtins_axes[];        /* axes.c */
extern const Builtin builtins_jumps[];       /* jumps.c */
extern const Builtin builtins_forward[];     /* forward_mode.c */
extern const Builtin builtins_reverse[];     /* reverse_mode.c */
extern const Builtin builtins_map[];         /* map.c */
extern const Builtin builtins_flatten[];     /* derivative_site.c */
extern const Builtin builtins_custom[];      /* custom_derivatives.c */
extern const Builtin builtins_flow[];        /* effects.c */
extern const Builtin builtins_ir[];          /* ir_values.c */
extern const Builtin builtins_text[];        /* text.c */
extern const Builtin builtins_problem[];     /* problem/residual.c */

/* Dims from the arguments from `first` on: integers, or one tuple or vector of
 * them. */
void builtin_dims(Sp *sp, const CallArguments *call, uint32_t first, uint32_t *rank, Dim *dims);
/* A named argument as an axis number, counted from 0; `fallback` when it is not
 * given. Negative ones count from the last of `rank` axes. */
int builtin_axis(Sp *sp, const CallArguments *call, const char *name, int rank, int fallback);

/* The number of characters of a string. */
int64_t text_length(const char *text, size_t n);
/* len, push, x[i], x[i] = y and operators on strings and lists whose kind is
 * known at run time, without specialising anything. */
bool quick_len(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result);
bool quick_item(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result);
bool quick_item_set(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result);
bool quick_push(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result);
bool quick_part(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result);
bool quick_operator(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result);
/* A string, or a value of unknown type, as a number. An impossible conversion
 * fails at run time. */
Av *sp_number_of(Sp *sp, Av *v, Dtype d, Span at);

/* The call of the function in a call's first argument, with the n arguments
 * that follow. */
static inline CallArguments builtin_inner_call(const CallArguments *call, uint32_t n) {
	return (CallArguments){.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = n,
	                       .args = call->args + 1,
	                       .spans = call->spans + 1};
}
/* The function in a call's first argument, specialised for the others. A piece
 * of IR without arguments is used as it is. */
Specialisation builtin_spec_of(Sp *sp, const CallArguments *call);
Av *builtin_ir_text(Sp *sp, const Av *f); /* the text of a piece of IR, a string */

#endif
