/* syntax.h - definitions shared by the writer and the reader of the text form.
 *
 * Needs: ir.h.
 *
 * Contract: a name is written without quotes exactly when form_is_ident returns
 * true; labels append `.number` to it.
 */
#ifndef ATLED_LANG_TEXT_SYNTAX_H
#define ATLED_LANG_TEXT_SYNTAX_H

#include "lang/ir/ir.h"

/* The limit on nested regions, values and dims when reading, and on nested
 * calls when printing: it bounds the C stack. */
#define FORM_DEPTH 200

/* Letters, digits, _, and any byte of a non-ASCII character. */
static inline bool form_ident_byte(unsigned char ch, bool first) {
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || ch >= 0x80 ||
	       (!first && ch >= '0' && ch <= '9');
}
bool form_is_ident(const char *s, size_t n);

/* Iterates over an attribute schema, "shape:D* axes:i*". */
typedef struct FormField {
	const char *name;
	size_t name_length;
	char letter;
	bool list;
} FormField;
bool form_next_field(const char **schema, FormField *field);

#endif
