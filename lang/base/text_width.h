/* text_width.h - UTF-8 text on a terminal: characters and their columns.
 *
 * Needs: nothing.
 */
#ifndef ATLED_LANG_BASE_TEXT_WIDTH_H
#define ATLED_LANG_BASE_TEXT_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* Decodes one character; returns its length in bytes. Each byte of invalid
 * UTF-8 counts as one U+FFFD. */
size_t text_decode(const char *text, const char *end, uint32_t *out);
/* The columns of a character on a terminal: East Asian wide 2, combining 0, all
 * others 1. */
uint32_t text_width(uint32_t u);
size_t text_columns(const char *text, size_t n);
/* The bytes of its longest prefix that fits into so many columns. */
size_t text_fitting(const char *text, size_t n, size_t columns);

#endif
