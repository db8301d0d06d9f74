/* call.h - what the files that make calls share: binding, keys, inlining.
 *
 * Needs: specialise/internal.h. Private to arguments.c, call_key.c,
 * specialise.c and call.c.
 */
#ifndef ATLED_PARSER_SPECIALISE_CALL_H
#define ATLED_PARSER_SPECIALISE_CALL_H

#include "parser/specialise/internal.h"

/* ---- arguments.c --------------------------------------------------------- */
/* The value as its annotation declares it, converted where that is implicit;
 * an error otherwise. `who` begins the message. */
Av *sp_check_type(Sp *sp, const char *who, const Ast *type, Av *v, Span at);
/* True for an extent's name from the program. Other names are words for
 * messages, which contain a bracket or a blank. */
bool sp_is_given_length(Ctx *c, Atom name);
/* "`f`", or "this function". */
const char *sp_function_name(Sp *sp, const Av *f);
/* Binds the parameters in the current layer of names. fn is NULL for a
 * problem. */
void sp_bind_arguments(Sp *sp, const Av *f, const Ast *fn, uint32_t nparams, const Param *params,
                       const CallArguments *call);

/* ---- call_key.c ---------------------------------------------------------- */
/* A key while it is written, and what this records. The caller provides the
 * arrays by leaf. */
typedef struct CallKey {
	Sp *sp;
	Text text;
	bool *fixed;    /* by leaf: a constant that is part of the key */
	bool *negative; /* by leaf: not known to be non-negative */
	bool any_row;   /* the current value represents any row of an array */
	uint32_t leaf;
	bool fix_numbers; /* integers and booleans from here on become part of the key */
	/* Of the nodes whose code is part of the key: the largest id, also of the
	 * time of pieces of IR; the smallest of a program of the host, or
	 * UINT32_MAX. */
	uint32_t newest, oldest;
	VEC(const CodeOwner *) pieces; /* of IR whose functions are part of the key */
	VEC(Dim) dims;                 /* caller's dims in order of first appearance */
} CallKey;

/* The number of an extent that is not part of the type. */
uint32_t call_key_dim(CallKey *s, Dim d);
/* True for a constant extent that is part of the type. */
bool sp_dim_is_small(Ctx *c, Dim d, int64_t *v);
/* The key of a call of f. `items` are the values that f captures, then the
 * positional and the named arguments. */
const char *call_key_write(CallKey *key, const Av *f, const CallArguments *call, uint32_t n,
                           Av *const *items);

/* ---- call.c -------------------------------------------------------------- */
/* Specialises a function's body in the current builder. */
Av *sp_run_body(Sp *outer, Av *f, const CallArguments *call);

#endif
