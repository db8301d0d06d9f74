/* print.h - numbers and labels for what is written of a function, shared by the
 * text form and by the records that programs look at.
 *
 * Needs: ir.h. Guarantees: a printer gives the values of its function the
 * numbers, and its symbols the labels, that fn_print shows. Private to lang/.
 */
#ifndef ATLED_LANG_TEXT_PRINT_H
#define ATLED_LANG_TEXT_PRINT_H

#include "lang/ir/ir.h"

typedef struct Callee { /* a function and the label it goes by */
	const Fn *fn;
	uint32_t place;  /* in the text */
	uint32_t suffix; /* how many of its name stand before it; 0: the name alone */
} Callee;

typedef struct Callees {
	Ctx *ctx;
	Callee *at;
	uint32_t n, cap;
	bool failed;
} Callees;

typedef struct Printer {
	Text *out;
	Ctx *c;
	const Fn *f;
	/* NULL: a lone instruction is printed, callees go by their plain name */
	const Callees *callees;
	uint32_t *number; /* by value */
	uint32_t next;
	Text labels;   /* the symbols' labels, each with its NUL */
	size_t *label; /* by symbol: where its label starts */
} Printer;

/* Both ends of a printer's life; false (and the text says so) when memory
 * fails. printer_close is called either way. `callees` as in Printer. */
bool printer_open(Printer *p, Text *out, const Fn *f, const Callees *callees);
void printer_close(Printer *p);

/* A value's number or a constant; a type; one word of an attribute by its
 * schema's letter. */
void print_ref(Printer *p, Ref r);
void print_type(Printer *p, TypeId t);
void print_attr_word(Printer *p, char letter, int64_t word);
/* f and the functions that it calls, near or far, each with its place in the
 * text, callees before callers, and the label it goes by. callees_free is
 * called in any case. */
void callees_collect(Callees *all, const Fn *f);
void callees_free(Callees *all);
uint32_t callees_add(Callees *all, const Fn *f); /* at the end, without a place yet; its index */

#endif
