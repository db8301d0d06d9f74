/* reader.h - the state of the reader of the text form, and what it shares.
 *
 * Needs: builder/internal.h, syntax.h.
 *
 * Contract: what cannot be read is an error at its place in the text. A
 * function that accepts something returns false, and moves nothing, where it
 * does not stand.
 */
#ifndef ATLED_LANG_TEXT_READER_H
#define ATLED_LANG_TEXT_READER_H

#include "lang/builder/internal.h"
#include "lang/text/syntax.h"

typedef struct Label { /* the label of a function: @name or @name.suffix */
	Atom name;
	uint32_t suffix;
} Label;

typedef enum ParsedFnState { FN_UNREAD, FN_OPEN, FN_READ } ParsedFnState;

typedef struct ParsedFn { /* a function header, found by looking ahead */
	Label label;
	ParsedFnState state;
	size_t start, end; /* end: valid once it has been read */
	FnId id;           /* valid once it is open */
	Fn *fn;            /* owned, valid once it has been read */
} ParsedFn;

typedef struct SymLabel {
	Atom name;
	uint32_t suffix; /* NO_SUFFIX: none */
} SymLabel;
#define NO_SUFFIX UINT32_MAX

typedef struct IrReader {
	Ctx *c;
	Arena *arena;
	SourceId source;
	const char *text;
	size_t n, at;
	VEC(ParsedFn) fns;
	VEC(Value) owned; /* values without another owner yet */
	uint32_t last;    /* index of the function read last */
	bool recursive;   /* a function calls one that is being read */
	/* The function being read: */
	Builder *b;
	VEC(SymLabel) syms;
	VEC(Ref) numbered; /* by number in the text; REF_NONE: undefined, or out of scope */
	/* Numbers in the order of their definition; those of a closed region go out
	 * of scope. */
	VEC(uint32_t) trail;
	uint32_t depth;
} IrReader;

/* ---- words.c: characters, words, extents, types -------------------------- */

_Noreturn void form_wrong(IrReader *r, size_t start, size_t end, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void form_enter(IrReader *r);
void form_leave(IrReader *r);
int form_peek_raw(const IrReader *r);
void form_skip_blanks(IrReader *r);
int form_peek(IrReader *r);
bool form_accept(IrReader *r, const char *text);
void form_expect(IrReader *r, const char *text);
size_t form_ident_length(IrReader *r);
bool form_at_word(IrReader *r, const char *word);
bool form_accept_word(IrReader *r, const char *word);
Atom form_read_ident(IrReader *r, const char *what);
char *form_read_string(IrReader *r, size_t *length);
Atom form_read_name(IrReader *r, const char *what);
int64_t form_read_int(IrReader *r);
uint32_t form_read_u32(IrReader *r);
SymLabel form_read_sym_label(IrReader *r);
Dim form_read_dim(IrReader *r);
Dtype form_read_dtype(IrReader *r);
TypeId form_read_type(IrReader *r);

/* ---- values.c ------------------------------------------------------------ */

void form_release_owned(IrReader *r);
Value form_read_value(IrReader *r);
Value form_read_scalar(IrReader *r);
bool form_at_tensor(IrReader *r);
Value form_read_tensor(IrReader *r);

#endif
