/* syntax.h - what the writer and the reader of the text form share.
 *
 * Needs: ir.h. Guarantees: a name is written bare exactly when form_is_ident
 * says so, quoted otherwise; labels add `.number` to it.
 */
#ifndef ATLED_LANG_TEXT_SYNTAX_H
#define ATLED_LANG_TEXT_SYNTAX_H

#include "lang/ir/ir.h"

/* Nesting of regions, values and dims that is read, and calls that are followed
 * when printing: bounds the C stack. */
#define FORM_DEPTH 200

/* Letters, digits, _, and any byte of a character outside ASCII. */
static inline bool form_ident_byte(unsigned char ch, bool first) {
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || ch >= 0x80 ||
	       (!first && ch >= '0' && ch <= '9');
}
bool form_is_ident(const char *s, size_t n);

/* Steps through an attribute schema, "shape:D* axes:i*". */
typedef struct FormField {
	const char *name;
	size_t name_length;
	char letter;
	bool list;
} FormField;
bool form_next_field(const char **schema, FormField *field);

#endif
