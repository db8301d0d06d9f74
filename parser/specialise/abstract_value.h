/* abstract_value.h - abstract values: the specialiser's static knowledge of
 * values.
 *
 * Needs: lang/ir/ir.h, parser/syntax/ast.h.
 *
 * Contract:
 * - Structure (records, tuples, lists, closures, strings, ranges) is static and
 *   leaves no code.
 * - Only arrays and boxed dynamic values are references into the function under
 *   construction.
 * - Abstract values never change after they are made.
 */
#ifndef ATLED_PARSER_SPECIALISE_ABSTRACT_VALUE_H
#define ATLED_PARSER_SPECIALISE_ABSTRACT_VALUE_H

#include "lang/ir/host.h"
#include "parser/syntax/ast.h"

typedef enum AvKind {
	AV_UNSET, /* no value on this path */
	AV_NONE,
	AV_ARRAY,
	AV_DYN, /* a dynamic value: structure unknown until run time */
	AV_STRING,
	AV_RANGE, /* items: start, stop, step (i64 arrays) */
	AV_TUPLE,
	AV_LIST,
	AV_RECORD,
	AV_FUNCTION,
	AV_PROBLEM,
	AV_HOST /* a pointer of the host: a dynamic value of known kind */
} AvKind;

/* The kinds of code that a function can have. */
typedef enum CodeKind {
	CODE_AST = CODE_KIND_AST,
	CODE_BUILTIN,
	CODE_HOST,
	CODE_IR = CODE_KIND_IR,
	CODE_FN /* a function of the IR that a closure of the library has */
} CodeKind;

/* A value is walked part by part; shared parts would take an exponential
 * time. */
#define AV_PARTS_MOST ((uint32_t)1 << 20)

typedef struct Av Av;
struct Av {
	uint8_t kind;   /* AvKind */
	bool weak;      /* ARRAY: made of literals only, adopts the dtype of the other operand */
	Ref ref;        /* ARRAY, DYN, HOST */
	Span origin;    /* where the value came from, for second labels */
	uint32_t n;     /* items: RANGE 3, TUPLE, LIST, RECORD fields, FUNCTION/PROBLEM captured */
	uint32_t parts; /* it and all values in it; a shared one counts each time */
	Av **items;
	Atom *names; /* RECORD fields, FUNCTION/PROBLEM captured */
	Atom text;   /* STRING; FUNCTION and PROBLEM: its name */
	uint8_t code_kind;
	uint32_t code_id;
	/* CODE_AST: Ast (LAMBDA, DEF, PROBLEM); CODE_BUILTIN: Builtin; CODE_HOST:
	 * HostDef; CODE_IR: KeptIr. */
	const void *code;
};

/* Whether it is boxed: a reference of type TY_DYN. */
static inline bool av_is_boxed(const Av *v) { return v->kind == AV_DYN || v->kind == AV_HOST; }
/* Whether it is a reference, without parts. */
static inline bool av_is_leaf(const Av *v) { return v->kind == AV_ARRAY || av_is_boxed(v); }

typedef struct Builtin Builtin;

#endif
