/* screen.c - painting of the prompt, the input and the lines below it.
 *
 * Method: the picture is laid out in rows twice, first to find the cursor's
 * position, then to make the bytes of the visible rows. The last column stays
 * empty, so that line wrapping of the terminal does not matter.
 *
 * Needs: repl.h, a terminal that moves its cursor (ECMA-48).
 *
 * Guarantees:
 * - Only changed rows are written, in one write.
 * - Of an input higher than the terminal, the rows around the cursor are shown.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

typedef enum Style {
	STYLE_PLAIN,
	STYLE_PROMPT,
	STYLE_MORE,
	STYLE_KEYWORD,
	STYLE_NUMBER,
	STYLE_STRING,
	STYLE_COMMENT,
	STYLE_ERROR,
	STYLE_COMMAND,
	STYLE_PAIR,
	STYLE_GHOST,
	STYLE_BELOW
} Style;

/* Colours of the terminal's palette that are readable on light and dark
 * backgrounds. */
static const char *const styles[] = {
	[STYLE_PLAIN] = "",           [STYLE_PROMPT] = "\033[1;34m", [STYLE_MORE] = "\033[34m",
	[STYLE_KEYWORD] = "\033[35m", [STYLE_NUMBER] = "\033[36m",   [STYLE_STRING] = "\033[32m",
	[STYLE_COMMENT] = "\033[90m", [STYLE_ERROR] = "\033[31m",    [STYLE_COMMAND] = "\033[35m",
	[STYLE_PAIR] = "\033[1;4m",   [STYLE_GHOST] = "\033[90m",    [STYLE_BELOW] = ""};

typedef struct ScreenRow {
	StringBuffer text;
	int width;
} ScreenRow;

typedef struct ScreenRows {
	ScreenRow *at;
	int n, cap;
} ScreenRows;

static ScreenRows shown, next;        /* on the terminal, and about to be */
static int cursor_row, cursor_column; /* relative to the first row shown */
static int columns_then;

/* ---- layout -------------------------------------------------------------- */

typedef struct ScreenLayout {
	int limit, row, column;
	int from, to; /* rows that are written into `next` */
	bool colour;
	Style style; /* of the row's last bytes */
} ScreenLayout;

static ScreenRow *row_at(ScreenLayout *l) {
	if (l->row < l->from || l->row >= l->to) return NULL;
	const int i = l->row - l->from;
	while (next.n <= i) {
		if (next.n == next.cap) {
			const int cap = next.cap ? 2 * next.cap : 32;
			ScreenRow *at = realloc(next.at, (size_t)cap * sizeof *at);
			if (!at) return NULL;
			memset(at + next.cap, 0, (size_t)(cap - next.cap) * sizeof *at);
			next.at = at;
			next.cap = cap;
		}
		ScreenRow *r = &next.at[next.n++];
		r->text.n = 0;
		r->width = 0;
		if (r->text.at) r->text.at[0] = 0;
	}
	return &next.at[i];
}

static void end_style(ScreenLayout *l) {
	ScreenRow *r = l->style != STYLE_PLAIN && l->colour ? row_at(l) : NULL;
	if (r && *styles[l->style]) buffer_str(&r->text, "\033[0m");
	l->style = STYLE_PLAIN;
}

static void new_row(ScreenLayout *l) {
	end_style(l);
	row_at(l);
	l->row++;
	l->column = 0;
	row_at(l);
}

static void put(ScreenLayout *l, const char *bytes, size_t n, int width, Style style) {
	if (l->column + width > l->limit) new_row(l);
	ScreenRow *r = row_at(l);
	if (r) {
		if (style != l->style && l->colour) {
			end_style(l);
			buffer_str(&r->text, styles[style]);
			l->style = style;
		}
		buffer_add(&r->text, bytes, n);
		r->width = l->column + width;
	}
	l->column += width;
}

/* Decodes one UTF-8 character. Returns its bytes; *width is its columns. */
static size_t character(const char *p, const char *end, int *width) {
	const unsigned char first = (unsigned char)*p;
	*width = 1;
	size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
	if (n == 1 || (size_t)(end - p) < n) return 1;
	uint32_t code = first & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)p[i] & 0xc0) != 0x80) return 1;
		code = code << 6 | ((unsigned char)p[i] & 0x3f);
	}
	const int w = wcwidth((wchar_t)code);
	*width = w < 0 ? 1 : w;
	return n;
}

/* Only counts printable ASCII on rows that are not visible, which makes long
 * inputs cheap. Returns false when the text must be laid out. */
static bool skip_text(ScreenLayout *l, const char *p, size_t n) {
	const long last = l->row + (long)(n / (size_t)l->limit) + 1;
	if (last >= l->from && l->row < l->to) return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] - 32u >= 95) return false;
	const size_t room = (size_t)(l->limit - l->column);
	if (n > room) {
		const size_t rest = n - room, rows = (rest - 1) / (size_t)l->limit;
		l->row += 1 + (int)rows;
		l->column = (int)(rest - rows * (size_t)l->limit);
	} else l->column += (int)n;
	return true;
}

static void put_text(ScreenLayout *l, const char *p, size_t n, const unsigned char *style,
                     Style all) {
	if (skip_text(l, p, n)) return;
	for (size_t i = 0, k; i < n; i += k) {
		const unsigned char ch = (unsigned char)p[i];
		const Style s = style ? (Style)style[i] : all;
		int width;
		k = 1;
		if (ch == '\t') {
			do put(l, " ", 1, 1, s);
			while (l->column % 4);
		} else if (ch < 32 || ch == 127) {
			const char form[2] = {'^', (char)(ch ^ 64)};
			put(l, form, 2, 2, s);
		} else {
			k = character(p + i, p + n, &width);
			put(l, k == 1 && ch >= 128 ? "?" : p + i, k, width, s);
		}
	}
}

/* Lays out the input with its prompts. *row and *column are the position of the
 * byte `point`. */
static void put_lines(ScreenLayout *l, const ScreenContents *p, const char *text, size_t n,
                      const unsigned char *style, size_t point, int *row, int *column) {
	for (size_t from = 0;;) {
		const char *end = memchr(text + from, '\n', n - from);
		const size_t to = end ? (size_t)(end - text) : n;
		if (point >= from && point <= to) {
			put_text(l, text + from, point - from, style ? style + from : NULL, STYLE_GHOST);
			/* A character that does not fit goes to the next row, and the
			 * cursor with it. */
			*row = l->row;
			*column = l->column;
			if (l->column >= l->limit && point < to) {
				*row = l->row + 1;
				*column = 0;
			}
			put_text(l, text + point, to - point, style ? style + point : NULL, STYLE_GHOST);
		} else put_text(l, text + from, to - from, style ? style + from : NULL, STYLE_GHOST);
		if (!end) break;
		new_row(l);
		put_text(l, p->more, strlen(p->more), NULL, style ? STYLE_MORE : STYLE_GHOST);
		from = to + 1;
	}
}

/* Lays out the prompt, the input and the suggestion. Returns the number of
 * rows; *row and *column are the cursor's position. */
static int lay_out(ScreenLayout *l, const ScreenContents *p, const unsigned char *style, int *row,
                   int *column) {
	int none[2];
	put_text(l, p->prompt, strlen(p->prompt), NULL, STYLE_PROMPT);
	put_lines(l, p, p->text, p->n, style, p->point, row, column);
	if (p->ghost) put_lines(l, p, p->ghost, strlen(p->ghost), NULL, (size_t)-1, &none[0], &none[1]);
	end_style(l);
	row_at(l);
	return l->row + 1;
}

/* Lays out the lines below the input, one row each; long lines are cut. */
static void lay_out_below(ScreenLayout *l, const char *below) {
	while (*below && l->row < l->to) {
		const char *end = strchrnul(below, '\n');
		row_at(l);
		for (const char *q = below; q < end;) {
			int width;
			const size_t k = character(q, end, &width);
			if (l->column + width > l->limit) break;
			put(l, q, k, width, STYLE_BELOW);
			q += k;
		}
		end_style(l);
		l->row++;
		l->column = 0;
		below = *end ? end + 1 : end;
	}
}

/* ---- colours of the input ------------------------------------------------ */

enum { STRINGS_MOST = 16 };

typedef struct Painter {
	const char *text;
	unsigned char *style;
	size_t shift;
	/* the strings around the token; STRINGS_MOST: too many to follow */
	uint32_t strings;
	bool in_text;                  /* of the innermost string, not in its code */
	uint32_t braces[STRINGS_MOST]; /* open in the code of each string */
} Painter;

/* Follows strings, whose text may hold code in braces, and that strings. */
static void follow_strings(Painter *p, atled_token kind, char first) {
	if (p->strings == STRINGS_MOST) return;
	uint32_t *braces = &p->braces[p->strings];
	if (kind == ATLED_TOKEN_BRACKET) {
		if (first == '{' && !p->in_text) ++*braces;
		else if (first == '}' && *braces) --*braces;
		else if (first == '{' || first == '}') p->in_text = first == '}' && p->strings;
	} else if ((kind == ATLED_TOKEN_STRING || kind == ATLED_TOKEN_ERROR) && first == '"') {
		if (p->in_text) p->strings--;
		else if (++p->strings < STRINGS_MOST) p->braces[p->strings] = 0;
		p->in_text = !p->in_text;
	}
}

static void paint_token(void *ud, atled_token kind, size_t start, size_t end) {
	static const unsigned char of[] = {[ATLED_TOKEN_COMMENT] = STYLE_COMMENT,
	                                   [ATLED_TOKEN_NUMBER] = STYLE_NUMBER,
	                                   [ATLED_TOKEN_STRING] = STYLE_STRING,
	                                   [ATLED_TOKEN_KEYWORD] = STYLE_KEYWORD,
	                                   [ATLED_TOKEN_ERROR] = STYLE_ERROR};
	Painter *p = ud;
	const char *text = p->text + p->shift;
	unsigned char s = (size_t)kind < sizeof of ? of[kind] : STYLE_PLAIN;
	/* an unclosed string */
	if (s == STYLE_ERROR && text[start] == '"') s = STYLE_STRING;
	memset(p->style + p->shift + start, s, end - start);
	follow_strings(p, kind, text[start]);
	/* for fresh_line */
	for (size_t i = start; p->strings && i < end; i++)
		if (text[i] == '\n') p->style[p->shift + i] = STYLE_STRING;
}

/* Returns the matching bracket of the one at `at`, or -1. Brackets in strings
 * and comments do not count. */
static long partner(const char *text, size_t n, const unsigned char *style, size_t at) {
	static const char opening[] = "([{", closing[] = ")]}";
	const bool forward = text[at] && strchr(opening, text[at]);
	if (!text[at] || (!forward && !strchr(closing, text[at])) || style[at] != STYLE_PLAIN)
		return -1;
	long depth = 0;
	for (long i = (long)at; i >= 0 && i < (long)n; i += forward ? 1 : -1) {
		if (style[i] != STYLE_PLAIN || !text[i]) continue;
		if (strchr(opening, text[i])) depth += forward ? 1 : -1;
		else if (strchr(closing, text[i])) depth += forward ? -1 : 1;
		if (!depth) return i;
	}
	return -1;
}

/* The input coloured last. It is cached so that a key does not tokenise a long
 * input from its beginning. */
static struct {
	char *text;
	unsigned char *style;
	size_t n, to; /* length in bytes, and how many bytes have colours */
} last;

/* Returns the start of the last line before `limit` that begins outside
 * strings and the code in them. Tokenising can restart there. */
static size_t fresh_line(size_t limit) {
	size_t i = limit;
	while (i > 0 && !(last.text[i - 1] == '\n' && last.style[i - 1] != STYLE_STRING)) i--;
	return i;
}

/* Returns the colours of the input up to `to`; later bytes are unspecified. */
static const unsigned char *style_text(const ScreenContents *p, size_t to) {
	size_t skip = strspn(p->text, " "), same = 0, from;
	const bool command = p->text[skip] == ':' || p->text[skip] == '?';
	char *text = malloc(p->n + 1);
	unsigned char *style = calloc(p->n + 1, 1);
	if (!text || !style) {
		free(text);
		free(style);
		return NULL;
	}
	memcpy(text, p->text, p->n);
	text[p->n] = 0;
	const size_t most = last.to < p->n ? last.to : p->n;
	while (!command && same < most && last.text[same] == text[same]) same++;
	from = fresh_line(same);
	if (from && last.style) memcpy(style, last.style, from);
	if (command) {
		skip += p->text[skip] == '?' ? strspn(p->text + skip, "?") : strcspn(p->text + skip, " ");
		memset(style, STYLE_COMMAND, skip);
		from = skip;
	}
	if (to < from) to = from;
	atled_tokens(text + from, to - from, paint_token,
	             &(Painter){.text = text, .style = style, .shift = from});
	free(last.text);
	free(last.style);
	last.text = text;
	last.style = style;
	last.n = p->n;
	last.to = command ? 0 : to;
	return style;
}

/* Marks the brackets at the cursor, or with `on` false removes the marks. */
static void mark_pair(const ScreenContents *p, long at[2], bool on) {
	if (on) {
		at[0] = at[1] = -1;
		if (!p->pairs) return;
		size_t k = p->point;
		long other = k < p->n ? partner(p->text, p->n, last.style, k) : -1;
		if (other < 0 && k) other = partner(p->text, p->n, last.style, --k);
		if (other < 0) return;
		at[0] = (long)k;
		at[1] = other;
	}
	for (int i = 0; i < 2; i++)
		if (at[i] >= 0) last.style[at[i]] = on ? STYLE_PAIR : STYLE_PLAIN;
}

/* Returns the end of the last line that can be visible with the cursor. */
static size_t visible_end(const ScreenContents *p, int height) {
	size_t i = p->point;
	for (int lines = 0; i < p->n; i++)
		if (p->text[i] == '\n' && ++lines > height) break;
	return i;
}

/* ---- painting ------------------------------------------------------------ */

void screen_size(int *rows, int *columns) {
	struct winsize w;
	const bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	*rows = known && w.ws_row > 1 ? w.ws_row : 24;
	*columns = known && w.ws_col > 7 ? w.ws_col : known && w.ws_col ? 8 : 80;
}

static void write_all(const char *at, size_t n) {
	fflush(stdout);
	while (n) {
		const ssize_t k = write(STDOUT_FILENO, at, n);
		if (k <= 0) return;
		at += k;
		n -= (size_t)k;
	}
}

/* Moves the cursor to a row of those shown, or to the row after them, which is
 * then added. */
static void go(StringBuffer *out, int row) {
	buffer_str(out, "\r");
	if (row < cursor_row) buffer_format(out, "\033[%dA", cursor_row - row);
	else if (row > cursor_row) {
		const int last = shown.n > 0 ? shown.n - 1 : 0,
				  down = (row < last ? row : last) - cursor_row;
		if (down > 0) buffer_format(out, "\033[%dB", down);
		for (int i = last > cursor_row ? last : cursor_row; i < row; i++) buffer_str(out, "\n");
	}
	cursor_row = row;
}

/* After a change of width, the terminal has rewrapped the old rows. Erases them
 * from where they began. */
static void after_resize(StringBuffer *out, int columns) {
	int up = cursor_column / columns;
	for (int i = 0; i < cursor_row && i < shown.n; i++)
		up += shown.at[i].width ? (shown.at[i].width + columns - 1) / columns : 1;
	buffer_str(out, "\r");
	if (up) buffer_format(out, "\033[%dA", up);
	buffer_str(out, "\033[J");
	shown.n = 0;
	cursor_row = cursor_column = 0;
}

void screen_paint(const ScreenContents *p) {
	static StringBuffer out;
	int height, columns, row = 0, column = 0;
	screen_size(&height, &columns);
	out.n = 0;
	if (columns_then && columns != columns_then && shown.n) after_resize(&out, columns);
	columns_then = columns;

	const unsigned char *style = style_text(p, visible_end(p, height));
	if (!style) return;
	long pair[2];
	mark_pair(p, pair, true);
	ScreenLayout l = {.limit = columns - 1, .colour = p->colour};
	const int rows = lay_out(&l, p, style, &row, &column);
	/* The visible rows: all, or as many as fit, with the cursor among them. */
	static int top; /* does not change while the cursor is visible */
	int below = 0;
	for (const char *q = p->below; q && *q; q = *(q = strchrnul(q, '\n')) ? q + 1 : q) below++;
	if (below > height / 2) below = height / 2;
	const int room = height - below;
	if (row < top) top = row;
	if (row >= top + room) top = row - room + 1;
	if (top > rows - room) top = rows > room ? rows - room : 0;
	next.n = 0;
	l = (ScreenLayout){.limit = columns - 1, .colour = p->colour, .from = top, .to = top + room};
	lay_out(&l, p, style, &row, &column);
	if (below) {
		l = (ScreenLayout){.limit = columns - 1,
		                   .colour = p->colour,
		                   .from = 0,
		                   .row = next.n,
		                   .to = next.n + below};
		lay_out_below(&l, p->below);
	}
	mark_pair(p, pair, false);

	for (int i = 0; i < next.n; i++) {
		const ScreenRow *r = &next.at[i];
		if (i < shown.n && shown.at[i].text.n == r->text.n &&
		    (!r->text.n || !memcmp(shown.at[i].text.at, r->text.at, r->text.n)))
			continue;
		go(&out, i);
		if (r->text.n) buffer_add(&out, r->text.at, r->text.n);
		buffer_str(&out, "\033[K");
		if (i >= shown.n) { /* now it is one of the rows shown */
			cursor_row = i;
			shown.n = i + 1;
		}
	}
	if (shown.n > next.n) {
		go(&out, next.n);
		buffer_str(&out, "\033[J");
	}
	const ScreenRows swap = shown;
	shown = next;
	next = swap;
	go(&out, row - top);
	if (column) buffer_format(&out, "\033[%dC", column);
	cursor_column = column;
	if (!out.failed) write_all(out.at, out.n);
	out.failed = false;
}

void screen_leave(void) {
	StringBuffer out = {0};
	if (shown.n) go(&out, shown.n - 1);
	buffer_str(&out, "\r\n");
	if (!out.failed) write_all(out.at, out.n);
	buffer_free(&out);
	shown.n = 0;
	cursor_row = cursor_column = 0;
}

void screen_clear(void) {
	write_all("\033[H\033[2J", 7);
	shown.n = 0;
	cursor_row = cursor_column = 0;
}
