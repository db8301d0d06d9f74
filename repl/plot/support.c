/* support.c - memory, byte buffers, UTF-8, markup and files.
 *
 * Needs: internal.h.
 *
 * Guarantees:
 * - Sizes are checked for overflow.
 * - A failed allocation sets a flag and leaves every record consistent.
 * - Numbers do not depend on the locale.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory -------------------------------------------------------------- */

static void *malloc_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	(void)ud;
	(void)old_bytes;
	if (!new_bytes) {
		free(p);
		return NULL;
	}
	return realloc(p, new_bytes);
}

const PlotAllocator plot_malloc = {malloc_resize, NULL};

void *plot_resize(const PlotAllocator *alloc, void *p, size_t old_bytes, size_t new_bytes) {
	if (!new_bytes && !p) return NULL;
	return alloc->resize(alloc->ud, p, old_bytes, new_bytes);
}

typedef struct PlotBlock {
	struct PlotBlock *next;
	size_t bytes, used; /* of the whole block */
} PlotBlock;

#define BLOCK_HEAD ((sizeof(PlotBlock) + 15) & ~(size_t)15)
#define BLOCK_BYTES ((size_t)32768)

void *plot_take(PlotArena *a, size_t count, size_t bytes) {
	if (a->failed) return NULL;
	if (bytes && count > (SIZE_MAX / 4) / bytes) {
		a->failed = true;
		return NULL;
	}
	size_t want = (count * bytes + 15) & ~(size_t)15;
	if (!want) want = 16;
	if (!a->blocks || a->blocks->bytes - a->blocks->used < want) {
		size_t size = BLOCK_HEAD + want > BLOCK_BYTES ? BLOCK_HEAD + want : BLOCK_BYTES;
		PlotBlock *b = plot_resize(a->alloc, NULL, 0, size);
		if (!b) {
			a->failed = true;
			return NULL;
		}
		b->bytes = size;
		b->used = BLOCK_HEAD;
		b->next = a->blocks;
		a->blocks = b;
	}
	void *p = (char *)a->blocks + a->blocks->used;
	a->blocks->used += want;
	return memset(p, 0, want);
}

const char *plot_take_text(PlotArena *a, const char *text, size_t n) {
	char *copy = plot_take(a, n + 1, 1);
	if (!copy) return "";
	if (n) memcpy(copy, text, n);
	return copy;
}

void plot_arena_free(PlotArena *a) {
	while (a->blocks) {
		PlotBlock *b = a->blocks;
		a->blocks = b->next;
		plot_resize(a->alloc, b, b->bytes, 0);
	}
}

/* ---- byte buffers -------------------------------------------------------- */

void plot_put(PlotBuffer *b, const void *bytes, size_t n) {
	if (b->failed || !n) return;
	if (n > SIZE_MAX / 4 - b->n) {
		b->failed = true;
		return;
	}
	if (b->n + n > b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 4096;
		while (cap < b->n + n) cap *= 2;
		char *at = plot_resize(b->alloc, b->at, b->cap, cap);
		if (!at) {
			b->failed = true;
			return;
		}
		b->at = at;
		b->cap = cap;
	}
	memcpy(b->at + b->n, bytes, n);
	b->n += n;
}

void plot_puts(PlotBuffer *b, const char *text) { plot_put(b, text, strlen(text)); }

void plot_put_int(PlotBuffer *b, int64_t v) {
	char digits[24];
	int at = (int)sizeof digits;
	uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	do digits[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (v < 0) digits[--at] = '-';
	plot_put(b, digits + at, sizeof digits - (size_t)at);
}

void plot_put_fixed(PlotBuffer *b, double v, int decimals) {
	if (!(v == v)) v = 0;
	v = plot_clamp(v, -1e9, 1e9);
	int64_t unit = 1;
	for (int i = 0; i < decimals; i++) unit *= 10;
	int64_t q = llround(v * (double)unit);
	if (q < 0) {
		plot_put(b, "-", 1);
		q = -q;
	}
	plot_put_int(b, q / unit);
	int64_t rest = q % unit;
	if (!rest) return;
	plot_put(b, ".", 1);
	while (rest) {
		unit /= 10;
		char digit = (char)('0' + rest / unit);
		plot_put(b, &digit, 1);
		rest %= unit;
	}
}

void plot_buffer_free(PlotBuffer *b) {
	plot_resize(b->alloc, b->at, b->cap, 0);
	b->at = NULL;
	b->n = b->cap = 0;
}

/* ---- characters ---------------------------------------------------------- */

uint32_t plot_utf8(const char **p) {
	static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *s = (const unsigned char *)*p;
	if (!s[0]) return 0;
	if (s[0] < 0x80) {
		(*p)++;
		return s[0];
	}
	int n = s[0] >= 0xf0 && s[0] < 0xf5   ? 4
	        : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
	        : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
	                                      : 0;
	uint32_t c = n ? s[0] & (0xffu >> (n + 1)) : 0;
	for (int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			n = 0;
			break;
		}
		c = c << 6 | (s[i] & 0x3fu);
	}
	if (!n || c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		(*p)++;
		return 0xfffd;
	}
	*p += n;
	return c;
}

size_t plot_utf8_write(uint32_t c, char out[4]) {
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i; i--) {
		out[i] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
	return n;
}

int plot_char_columns(uint32_t c) {
	if ((c >= 0x300 && c < 0x370) || (c >= 0x1ab0 && c < 0x1b00) || (c >= 0x20d0 && c < 0x2100))
		return 0;
	if (c == 0x200b || c == 0x200c || c == 0x200d || c == 0xfeff || (c >= 0xfe00 && c < 0xfe10))
		return 0;
	bool wide = (c >= 0x1100 && c < 0x1160) || (c >= 0x2e80 && c < 0xa4d0 && c != 0x303f) ||
	            (c >= 0xac00 && c < 0xd7a4) || (c >= 0xf900 && c < 0xfb00) ||
	            (c >= 0xfe30 && c < 0xfe70) || (c >= 0xff00 && c < 0xff61) ||
	            (c >= 0xffe0 && c < 0xffe7) || (c >= 0x1f300 && c < 0x1f650) ||
	            (c >= 0x1f680 && c < 0x1f700) || (c >= 0x1f900 && c < 0x1fa00) ||
	            (c >= 0x20000 && c < 0x3fffe);
	return wide ? 2 : 1;
}

uint32_t plot_next(PlotCursor *c, int *level) {
	const int deepest = (int)(sizeof c->level / sizeof *c->level);
	for (;;) {
		*level = c->groups ? c->level[c->groups - 1] : 0;
		const char *before = c->at;
		uint32_t ch = plot_utf8(&c->at);
		if ((ch == '^' || ch == '_') && *c->at == '{' && c->groups < deepest) {
			c->at++;
			c->depth++;
			c->level[c->groups] = ch == '^' ? 1 : -1;
			c->at_depth[c->groups++] = c->depth;
			continue;
		}
		if (ch == '{' && c->groups) c->depth++;
		if (ch == '}' && c->groups) {
			bool closes = c->at_depth[c->groups - 1] == c->depth;
			c->depth--;
			if (closes) {
				c->groups--;
				continue;
			}
		}
		if (!ch) c->at = before;
		return ch;
	}
}

/* Replaces characters that are not allowed in a sanitised string. */
static uint32_t clean(uint32_t c) {
	if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return ' ';
	return c == 0xfffe || c == 0xffff ? 0xfffd : c;
}

char *plot_copy_text(const PlotAllocator *alloc, const char *text) {
	size_t bytes = 1;
	char piece[4];
	int n = 0;
	for (const char *p = text; *p && n < PLOT_LONGEST_TEXT; n++)
		bytes += plot_utf8_write(clean(plot_utf8(&p)), piece);
	char *copy = plot_resize(alloc, NULL, 0, bytes);
	if (!copy) return NULL;
	char *at = copy;
	for (const char *p = text; n > 0; n--) at += plot_utf8_write(clean(plot_utf8(&p)), at);
	*at = 0;
	return copy;
}

void plot_free_text(const PlotAllocator *alloc, char *text) {
	if (text) plot_resize(alloc, text, strlen(text) + 1, 0);
}

/* ---- files --------------------------------------------------------------- */

static PlotStatus said(int failed, const char *path, char *error, size_t error_cap) {
	if (!failed) return PLOT_OK;
	snprintf(error, error_cap, "cannot write \"%.160s\": %s", path, replacement_error(failed));
	return PLOT_IO_ERROR;
}

PlotStatus plot_file_open(FileReplacement *file, const char *path, char *error, size_t error_cap) {
	return said(replacement_open(file, path), path, error, error_cap);
}

PlotStatus plot_file_close(FileReplacement *file, const char *path, int failed, char *error,
                           size_t error_cap) {
	return said(replacement_close(file, failed), path, error, error_cap);
}

PlotStatus plot_write_file(const char *path, const void *bytes, size_t n, char *error,
                           size_t error_cap) {
	return said(replace_file(path, bytes, n), path, error, error_cap);
}
