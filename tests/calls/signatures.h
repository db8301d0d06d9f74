/* signatures.h - the functions of the library, their arguments and examples.
 *
 * Needs: docs/reference/library.md with headings "### `f(a, b; c = 1)`".
 * Examples are the blocks between "```dsl" and "```".
 * Needs: docs/reference/library.md. Its headings are "### `f(a, b; c = 1)`".
 */
#ifndef ATLED_TESTS_CALLS_SIGNATURES_H
#define ATLED_TESTS_CALLS_SIGNATURES_H

#include <stdbool.h>
#include <stdint.h>

enum { OPTIONS_MOST = 24, NAME_MOST = 64 };

typedef struct Signature {
	char name[NAME_MOST];
	uint32_t arguments, options;
	char option[OPTIONS_MOST][NAME_MOST];
	char *example; /* a program; NULL: none */
} Signature;

typedef struct Signatures {
	Signature *at;
	uint32_t n;
} Signatures;

/* Reads a page. Returns false when the page cannot be read or has none. */
bool signatures_read(const char *page, Signatures *out);
void signatures_free(Signatures *all);

/* The end of an argument that begins at p: a comma, a semicolon or a closing
 * parenthesis outside nested parentheses, or the end of the text. */
const char *part_end(const char *p, const char *end);

#endif
