/* display.c - growable strings and the display of results.
 *
 * Needs: program.h.
 *
 * Guarantees:
 * - A value is written in one line, with two exceptions. Rows of a matrix are
 *   on separate lines. So are the elements of a record, tuple or list that
 *   contains a matrix or a large array.
 * - A large array is written as a header and corners. The limit is WHOLE_MOST
 *   elements, PART_MOST inside another value.
 * - Inside such a value, a long string of several lines is cut after its first
 *   line.
 * - Lines are wrapped to the width of the terminal.
 */
#include "repl/core/program.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- strings ------------------------------------------------------------- */

static bool reserve(StringBuffer *b, size_t n) {
	if (b->failed) return false;
	if (b->n + n + 1 <= b->cap) return true;
	size_t cap = b->cap ? b->cap * 2 : 256;
	while (cap < b->n + n + 1) cap *= 2;
	char *at = realloc(b->at, cap);
	if (!at) {
		b->failed = true;
		return false;
	}
	b->at = at;
	b->cap = cap;
	return true;
}

void buffer_add(StringBuffer *b, const char *text, size_t n) {
	if (!reserve(b, n)) return;
	memcpy(b->at + b->n, text, n);
	b->n += n;
	b->at[b->n] = 0;
}

void buffer_str(StringBuffer *b, const char *text) { buffer_add(b, text, strlen(text)); }

void buffer_format(StringBuffer *b, const char *format, ...) {
	va_list args;
	va_start(args, format);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !reserve(b, (size_t)n)) return;
	va_start(args, format);
	vsnprintf(b->at + b->n, (size_t)n + 1, format, args);
	va_end(args);
	b->n += (size_t)n;
}

void buffer_free(StringBuffer *b) {
	free(b->at);
	*b = (StringBuffer){0};
}

void buffer_sink(void *ud, const char *text, size_t n) { buffer_add(ud, text, n); }

bool buffer_read_file(StringBuffer *b, const char *path, const char **why) {
	bool standard = !strcmp(path, "-");
	struct stat st;
	if (!standard && !stat(path, &st) && S_ISDIR(st.st_mode)) {
		*why = "is a folder";
		return false;
	}
	FILE *f = standard ? stdin : fopen(path, "rb");
	if (!f) {
		*why = strerror(errno);
		return false;
	}
	char piece[16384];
	size_t n;
	while ((n = fread(piece, 1, sizeof piece, f)) > 0) buffer_add(b, piece, n);
	bool bad = ferror(f) != 0;
	if (!standard) fclose(f);
	*why = bad ? "cannot be read" : "does not fit into memory";
	/* Terminates the buffer with a zero byte even when the file is empty. */
	if (!bad) buffer_add(b, "", 0);
	return !bad && !b->failed;
}

/* ---- values -------------------------------------------------------------- */

#define WHOLE_MOST 200 /* largest array that is shown whole */
/* The limit inside a record, tuple or list. It is small because a solution
 * holds hundreds of elements, which would hide its other fields. */
#define PART_MOST 16
/* largest string of several lines that is shown whole inside another value, in
 * bytes */
#define TEXT_MOST 60
#define EDGE 3

/* Puts each row on its own line: a newline after each "],", then one space for
 * each open bracket. */
static void put_rows(const char *text, size_t n, atled_sink sink, void *ud) {
	size_t from = 0;
	int depth = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '[') depth++;
		if (text[i] == ']') depth--;
		if (text[i] != ',' || !i ||
		    (text[i - 1] != ']' && (i < 4 || strncmp(text + i - 3, "...", 3))))
			continue;
		/* an ellipsis inside a row */
		if (text[i - 1] != ']' && i + 2 < n && text[i + 2] != '[') continue;
		sink(ud, text + from, i + 1 - from);
		sink(ud, "\n", 1);
		for (int k = 0; k < depth; k++) sink(ud, " ", 1);
		from = i + 1;
		while (from < n && text[from] == ' ') from++;
		i = from - 1;
	}
	sink(ud, text + from, n - from);
}

/* Returns whether the elements of a value are written on separate lines. This
 * holds when it contains a matrix, or an array of more than `most` elements. */
static bool is_tall(const atled_value *v, int64_t most) {
	const atled_kind kind = atled_value_kind(v);
	bool tall = false;
	if (kind == ATLED_ARRAY) {
		atled_array a = {.size = sizeof a};
		atled_tensor *t = atled_value_tensor(v);
		tall = t && atled_tensor_view(t, &a) == ATLED_OK &&
		       (a.count > most || (a.rank >= 2 && a.count > 0));
		atled_tensor_free(t);
	} else if (kind == ATLED_TUPLE || kind == ATLED_LIST || kind == ATLED_RECORD) {
		for (size_t i = 0; i < atled_value_count(v) && !tall; i++) {
			atled_value *part = atled_value_item(v, i);
			tall = part && is_tall(part, PART_MOST);
			atled_value_free(part);
		}
	}
	return tall;
}

static void put_array(const atled_value *v, int64_t most, StringBuffer *out) {
	atled_array a = {.size = sizeof a};
	atled_tensor *t = atled_value_tensor(v);
	if (!t || atled_tensor_view(t, &a) != ATLED_OK) a.rank = 0;
	int edge = t && a.count > most ? EDGE : 0;
	if (edge) {
		atled_value_describe(v, 1, buffer_sink, out);
		buffer_str(out, "\n");
	}
	StringBuffer text = {0};
	if (a.rank >= 2 && a.count > 0) {
		atled_value_write(v, NULL, edge, buffer_sink, &text);
		if (!text.failed) put_rows(text.at, text.n, buffer_sink, out);
	} else atled_value_write(v, NULL, edge, buffer_sink, out);
	buffer_free(&text);
	atled_tensor_free(t);
}

/* Indents all lines of an element to the column where the element begins. */
static void put_indented(const StringBuffer *part, size_t in, StringBuffer *out) {
	for (size_t i = 0; i < part->n; i++) {
		buffer_add(out, part->at + i, 1);
		for (size_t k = 0; part->at[i] == '\n' && k < in; k++) buffer_str(out, " ");
	}
}

/* Writes a string inside another value, quoted as print does. A long string of
 * several lines is cut after the first. */
static void put_quoted(const atled_value *v, StringBuffer *out) {
	size_t n = 0;
	const char *text = atled_value_string(v, &n);
	const char *end = text && n > TEXT_MOST ? memchr(text, '\n', n) : NULL;
	if (end && end + 1 < text + n) n = (size_t)(end - text);
	else end = NULL;
	buffer_str(out, "\"");
	for (size_t i = 0; text && i < n; i++) {
		const unsigned char ch = (unsigned char)text[i];
		if (ch == '"' || ch == '\\') buffer_format(out, "\\%c", ch);
		else if (ch == '\n' || ch == '\t' || ch == '\r')
			buffer_format(out, "\\%c", ch == '\n' ? 'n' : ch == '\t' ? 't' : 'r');
		else if (ch < 0x20 || ch == 0x7f) buffer_format(out, "\\u{%x}", ch);
		else buffer_add(out, text + i, 1);
	}
	buffer_str(out, end ? " ...\"" : "\"");
}

static void put_value(const atled_value *v, int64_t most, StringBuffer *out) {
	const atled_kind kind = atled_value_kind(v);
	if (kind == ATLED_ARRAY) {
		put_array(v, most, out);
		return;
	}
	if (!is_tall(v, most)) {
		atled_value_write(v, NULL, 2 * EDGE, buffer_sink, out);
		return;
	}
	const size_t n = atled_value_count(v);
	buffer_str(out, kind == ATLED_LIST ? "list(" : "(");
	const size_t in = kind == ATLED_LIST ? 5 : 1;
	for (size_t i = 0; i < n && !out->failed; i++) {
		StringBuffer part = {0};
		atled_value *item = atled_value_item(v, i);
		size_t name = 0;
		if (i) buffer_format(out, ",\n%*s", (int)in, "");
		if (kind == ATLED_RECORD) {
			const char *field = atled_value_field_name(v, i);
			buffer_format(out, "%s = ", field);
			for (name = 3; *field; field++) name += ((unsigned char)*field & 0xc0) != 0x80;
		}
		if (item && atled_value_kind(item) == ATLED_STRING) put_quoted(item, &part);
		else if (item) put_value(item, PART_MOST, &part);
		if (!part.failed) put_indented(&part, in + name, out);
		buffer_free(&part);
		atled_value_free(item);
	}
	buffer_str(out, kind == ATLED_TUPLE && n == 1 ? ",)" : ")");
}

/* Wraps a line that is wider than the terminal after a comma. The continuation
 * is aligned with the contents of the innermost bracket. */
static void put_line(const char *line, size_t n, int columns, FILE *out) {
	size_t in = 0;
	for (;;) {
		size_t seen = in, cut = 0, depth = 0, i = 0, open[64], under = 0;
		bool quoted = false;
		for (; i < n; i++) {
			if (((unsigned char)line[i] & 0xc0) == 0x80) continue;
			if (++seen >= (size_t)columns && cut) break;
			if (line[i] == '"' && (!i || line[i - 1] != '\\')) quoted = !quoted;
			if (quoted) continue;
			if (strchr("[(", line[i]) && depth < 64) open[depth++] = seen;
			if (strchr("])", line[i]) && depth) depth--;
			if (line[i] == ',' && i + 1 < n && line[i + 1] == ' ') {
				cut = i + 1;
				under = depth ? open[depth - 1] : in;
			}
		}
		fprintf(out, "%*s", (int)in, "");
		if (i == n || !cut) {
			fwrite(line, 1, n, out);
			return;
		}
		fwrite(line, 1, cut, out);
		putc('\n', out);
		line += cut + 1;
		n -= cut + 1;
		in = under < (size_t)columns / 2 ? under : 1;
	}
}

void display_value(const atled_value *v, atled_sink sink, void *ud) {
	FILE *file = sink == file_sink ? ud : NULL;
	if (atled_value_kind(v) == ATLED_RECORD && plot_show(v, file, sink, ud)) return;
	StringBuffer text = {0};
	put_value(v, WHOLE_MOST, &text);
	int columns, rows;
	if (text.failed) {
		atled_value_write(v, NULL, EDGE, sink, ud);
	} else if (!file || atled_value_kind(v) == ATLED_STRING ||
	           !terminal_size(file, &columns, &rows) || columns < 20) {
		sink(ud, text.at ? text.at : "", text.n);
	} else {
		for (const char *p = text.at, *end = p + text.n; p && p < end;) {
			const char *stop = memchr(p, '\n', (size_t)(end - p));
			put_line(p, (size_t)((stop ? stop : end) - p), columns, file);
			if (!stop) break;
			putc('\n', file);
			p = stop + 1;
		}
	}
	buffer_free(&text);
}

/* ---- prose --------------------------------------------------------------- */

bool terminal_size(FILE *f, int *columns, int *rows) {
	struct winsize w;
	if (!isatty(fileno(f)) || ioctl(fileno(f), TIOCGWINSZ, &w) || !w.ws_col || !w.ws_row)
		return false;
	*columns = w.ws_col;
	*rows = w.ws_row;
	return true;
}

/* Returns where a line of at most `width` characters ends: before the last
 * blank that fits, or at the end of the text. */
static size_t break_at(const char *line, size_t n, size_t from, size_t width) {
	size_t seen = 0, blank = 0;
	for (size_t i = 0; i < n; i++) {
		if (((unsigned char)line[i] & 0xc0) == 0x80) continue;
		if (line[i] == ' ' && i > from) blank = i;
		if (++seen > width) return blank ? blank : n;
	}
	return n;
}

void print_text(const char *text, size_t n, int code) {
	int columns = 0, rows;
	if (!terminal_size(stdout, &columns, &rows) || columns < 30) columns = 0;
	for (const char *p = text, *end = text + n; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		if (!stop) stop = end;
		const size_t indent = strspn(p, " ");
		size_t left = (size_t)(stop - p), in = 0, from = indent;
		while (columns && (int)indent < code && in + left > (size_t)columns - 1) {
			const size_t cut = break_at(p, left, from, (size_t)columns - 1 - in);
			if (cut == left) break;
			printf("%*s%.*s\n", (int)in, "", (int)cut, p);
			left -= cut + 1;
			p += cut + 1;
			in = indent ? indent : 2;
			from = 0;
		}
		printf("%*s%.*s", (int)in, "", (int)left, p);
		if (stop < end) putchar('\n');
		p = stop + 1;
	}
}
