/* print.h - the numbering of values and labels, for the text form and for the
 * records of inspect.c.
 *
 * Needs: ir.h. Private to lang/.
 *
 * Contract: a printer uses the value numbers and symbol labels of fn_print.
 */
#ifndef ATLED_LANG_TEXT_PRINT_H
#define ATLED_LANG_TEXT_PRINT_H

#include "lang/ir/ir.h"

typedef struct Callee { /* a function and its label */
	const Fn *fn;
	uint32_t place; /* position in the text */
	/* The number of functions with the same name before it; 0: the name alone.
	 */
	uint32_t suffix;
} Callee;

typedef struct Callees {
	Ctx *ctx;
	Callee *at;
	uint32_t n, cap;
	bool failed;
} Callees;

typedef struct FnPrinter {
	Text *out;
	Ctx *c;
	const Fn *f;
	/* NULL: prints a lone instruction; callees appear with their plain name. */
	const Callees *callees;
	uint32_t *number; /* by value */
	uint32_t next;
	Text labels;   /* the labels of the symbols, each with its NUL */
	size_t *label; /* by symbol: offset of its label */
} FnPrinter;

/* Opens and closes a printer. printer_open returns false, and marks `out` as
 * failed, when memory fails. Call printer_close in either case. `callees` as in
 * FnPrinter. */
bool printer_open(FnPrinter *p, Text *out, const Fn *f, const Callees *callees);
void printer_close(FnPrinter *p);

/* Print a value's number or a constant; a type; one word of an attribute by its
 * schema's letter. */
void print_ref(FnPrinter *p, Ref r);
void print_type(FnPrinter *p, TypeId t);
void print_attr_word(FnPrinter *p, char letter, int64_t word);
/* Collects f and its direct and indirect callees, each with its place in the
 * text, callees before callers, and its label. Call callees_free in any case.
 */
void callees_collect(Callees *all, const Fn *f);
void callees_free(Callees *all);
/* Appends f without a place yet; returns its index. */
uint32_t callees_add(Callees *all, const Fn *f);

#endif
