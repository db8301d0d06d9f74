/* format.c - the source formatter of `atled fmt`.
 *
 * Needs: lexer.h, ast.h.
 *
 * Contract:
 * - Tokens and comments keep their text and order; only the space between them
 *   changes.
 * - The result is checked before it is returned: it has the same syntax tree,
 *   and formatting it again changes nothing.
 *
 * Layout:
 * - Line breaks are the author's. Each level is indented by 2. At most one
 *   blank line separates two lines.
 * - Operators have one space on each side. There is none inside brackets and
 *   around `^`, `.` and `..`.
 * - Meaningful spacing of the author stays: products without spaces (a*b +
 *   c*d), and sums without spaces in an index or an end of a range (u[i+1],
 *   1..n-1).
 * - Columns that were aligned over neighbouring lines stay aligned.
 * - A line longer than WIDTH is broken where the fewest brackets are open. A
 *   block on such a line gets lines of its own.
 */
#include "parser/syntax/ast.h"
#include "parser/syntax/lexer.h"
#include <string.h>

#define WIDTH 100
#define STEP 2
#define NEAR 100 /* pieces searched on each side of a sum */
/* Breaking a line may shift the columns of others, so the layout is repeated.
 * Two rounds have always been enough. */
#define ROUNDS 8

typedef enum Role {
	ROLE_OPERAND,
	ROLE_WORD /* contextual keyword: at, by, field ... */,
	ROLE_PREFIX,
	ROLE_BINARY,
	ROLE_OTHER
} Role;

typedef struct FormatToken {
	uint8_t kind; /* TokenKind; a whole string is TK_STR_CLOSE */
	uint8_t role;
	bool tight; /* no space between it and the piece before */
	bool call;  /* ( or [ of a call or an index */
	/* Line breaks before it: 0, 1, or 2 for a blank line. First the author's,
	 * later the formatter's. */
	uint8_t lines;
	uint32_t start, end;
	uint32_t match; /* of a bracket: its partner; itself when it has none */
	/* Position of its first character in the source; columns and widths count
	 * characters. */
	uint32_t line, column, width;
	uint32_t after; /* width of its last line, when `multiline` */
	bool multiline;
	uint32_t gap;    /* spaces before it, unless it starts a line */
	uint32_t indent; /* of the line it starts */
} FormatToken;

typedef struct OutLine {
	uint32_t first, last; /* pieces [first, last) without the trailing comment */
	uint32_t indent, width;
	uint32_t comment; /* the piece of the trailing comment; NONE: no comment */
	uint32_t column;  /* of the comment */
	bool blank;       /* a blank line goes before it */
} OutLine;

#define NONE UINT32_MAX

typedef struct SourceFormatter {
	Arena *a;
	const char *text;
	uint32_t n;
	VEC(FormatToken) pieces;
	VEC(OutLine) lines;
} SourceFormatter;

/* ---- pieces -------------------------------------------------------------- */

static uint32_t count_columns(const char *s, size_t n) {
	uint32_t columns = 0, u;
	for (size_t i = 0, length; i < n; i += length) {
		length = lex_decode(s + i, n - i, &u);
		if (!length) length = 1;
		columns += !(u >= 0x300 && u <= 0x36f);
	}
	return columns;
}

static bool is_open(uint8_t k) { return k == TK_LPAREN || k == TK_LBRACKET || k == TK_LBRACE; }
static bool is_close(uint8_t k) { return k == TK_RPAREN || k == TK_RBRACKET || k == TK_RBRACE; }

/* Cuts the text into pieces. A whole string is one piece; trailing space is not
 * part of a comment. */
static void cut(SourceFormatter *f) {
	Lexer lx;
	lexer_init(&lx, f->text, f->n, false);
	uint32_t breaks = 0, line = 0, line_start = 0, end_before = 0;
	uint32_t counted = 0, column = 0; /* a place of the text, and its column */
	for (Lexeme t = lexer_next(&lx); t.kind != TK_EOF; t = lexer_next(&lx)) {
		if (t.kind == TK_SPACE) continue;
		if (t.kind == TK_NEWLINE) {
			breaks++;
			line++;
			line_start = t.end;
			continue;
		}
		FormatToken p = {.kind = (uint8_t)t.kind,
		                 .start = t.start,
		                 .lines = (uint8_t)(breaks > 2 ? 2 : breaks),
		                 .line = line};
		p.tight = t.start == end_before && !breaks;
		if (counted < line_start) counted = line_start, column = 0;
		column += count_columns(f->text + counted, t.start - counted);
		counted = t.start;
		p.column = column;
		if (t.kind == TK_STR_OPEN) {
			uint32_t level = lx.level;
			while (t.kind != TK_EOF && !(t.kind == TK_STR_CLOSE && lx.level < level))
				t = lexer_next(&lx);
			p.kind = TK_STR_CLOSE;
			for (uint32_t i = p.start; i < t.end; i++) {
				if (f->text[i] != '\n') continue;
				p.multiline = true;
				line++;
				line_start = i + 1;
			}
			p.after = count_columns(f->text + line_start, t.end - line_start);
		}
		p.end = t.end;
		if (t.kind == TK_COMMENT) {
			while (p.end > p.start && memchr(" \t\r\v\f", f->text[p.end - 1], 5)) p.end--;
		}
		p.width = count_columns(f->text + p.start, p.end - p.start);
		p.match = f->pieces.n;
		VEC_PUSH(f->a, &f->pieces, p);
		breaks = 0;
		end_before = t.end;
	}
}

static void match_brackets(SourceFormatter *f) {
	VEC(uint32_t) open = {0};
	for (uint32_t i = 0; i < f->pieces.n; i++) {
		uint8_t k = f->pieces.at[i].kind;
		if (is_open(k)) VEC_PUSH(f->a, &open, i);
		else if (is_close(k) && open.n) {
			uint32_t j = open.at[--open.n];
			f->pieces.at[i].match = j;
			f->pieces.at[j].match = i;
		}
	}
}

/* The nearest piece before or after `i` that is not a comment; NONE if there is
 * none. */
static uint32_t piece_before(const SourceFormatter *f, uint32_t i) {
	while (i-- > 0) {
		if (f->pieces.at[i].kind != TK_COMMENT) return i;
	}
	return NONE;
}

static uint32_t piece_after(const SourceFormatter *f, uint32_t i) {
	while (++i < f->pieces.n) {
		if (f->pieces.at[i].kind != TK_COMMENT) return i;
	}
	return NONE;
}

static bool is_text(const SourceFormatter *f, uint32_t i, const char *word) {
	if (i == NONE) return false;
	const FormatToken *p = &f->pieces.at[i];
	return p->end - p->start == strlen(word) &&
	       !memcmp(f->text + p->start, word, p->end - p->start);
}

static bool is_one_of(const SourceFormatter *f, uint32_t i, const char *const *words) {
	for (; *words; words++) {
		if (is_text(f, i, *words)) return true;
	}
	return false;
}

static uint8_t kind_of(const SourceFormatter *f, uint32_t i) {
	return i == NONE ? TK_EOF : f->pieces.at[i].kind;
}

/* True when an operand ends with this piece. A sign after it is then a binary
 * operator, and a bracket after it is a call. */
static bool ends_operand(const SourceFormatter *f, uint32_t i) {
	if (i == NONE) return false;
	const FormatToken *p = &f->pieces.at[i];
	switch (p->kind) {
	case TK_NAME: return p->role == ROLE_OPERAND;
	case TK_NUMBER:
	case TK_STR_CLOSE:
	case TK_RPAREN:
	case TK_RBRACKET:
	case TK_RBRACE:
	case TK_PRIME:
	case TK_SUPER:
	case TK_TRUE:
	case TK_FALSE:
	case TK_NONE: return true;
	default: return token_is_keyword((TokenKind)p->kind) && p->role == ROLE_OPERAND; /* r.for */
	}
}

/* True when a statement starts with this piece, judged by tokens alone.
 * `in_list`: inside ( or [. */
static bool starts_statement(const SourceFormatter *f, uint32_t i, bool in_list) {
	uint32_t before = piece_before(f, i);
	uint8_t k = kind_of(f, before);
	if (before == NONE || k == TK_LBRACE || k == TK_RBRACE) return true;
	if (in_list) return false;
	return k == TK_SEMICOLON || (f->pieces.at[i].lines && ends_operand(f, before));
}

/* True when this name is a contextual keyword here. */
static bool is_word(const SourceFormatter *f, uint32_t i, bool in_list, bool in_problem) {
	static const char *const openers[] = {"use",   "problem", "domain",     "field",
	                                      "eigen", "event",   "derivative", NULL};
	static const char *const between[] = {"at",      "by",     "as",       "periodic",
	                                      "falling", "rising", "terminal", NULL};
	uint32_t before = piece_before(f, i), after = piece_after(f, i);
	uint8_t next = kind_of(f, after);
	if (starts_statement(f, i, in_list) && is_one_of(f, i, openers)) {
		bool region = next == TK_LPAREN && is_text(f, i, "domain") &&
		              kind_of(f, piece_after(f, f->pieces.at[after].match)) == TK_IN;
		if ((next == TK_NAME || next == TK_STR_CLOSE || region) && !f->pieces.at[after].lines)
			return true;
	}
	if (!is_one_of(f, i, between)) return false;
	if (f->pieces.at[i].lines)
		return in_problem && is_text(f, i, "at") && (next == TK_NAME || next == TK_LPAREN);
	if (kind_of(f, before) == TK_RANGE) return is_text(f, i, "by");
	if (kind_of(f, before) == TK_NAME && f->pieces.at[before].role == ROLE_WORD)
		return is_one_of(f, before, between + 3);
	return ends_operand(f, before) && !(f->pieces.at[i].tight && kind_of(f, before) == TK_NUMBER);
}

static void give_roles(SourceFormatter *f) {
	VEC(uint8_t) open = {0}; /* the open brackets; TK_COUNT: the braces of a problem */
	bool problem = false;    /* after the name of a problem, before its braces */
	for (uint32_t i = 0; i < f->pieces.n; i++) {
		FormatToken *p = &f->pieces.at[i];
		uint32_t before = piece_before(f, i), after = piece_after(f, i);
		bool in_list =
			open.n && (open.at[open.n - 1] == TK_LPAREN || open.at[open.n - 1] == TK_LBRACKET);
		p->role = ROLE_OTHER;
		if (p->kind == TK_NAME) {
			p->role = is_word(f, i, in_list, open.n && open.at[open.n - 1] == TK_COUNT)
			              ? ROLE_WORD
			              : ROLE_OPERAND;
			if (p->role == ROLE_WORD && is_text(f, i, "problem")) problem = true;
		} else if (token_is_keyword((TokenKind)p->kind)) {
			bool field =
				kind_of(f, before) == TK_DOT || (in_list && kind_of(f, after) == TK_ASSIGN);
			if (field) p->role = ROLE_OPERAND;
		} else if (p->kind == TK_PLUS || p->kind == TK_MINUS) {
			p->role = ends_operand(f, before) && (in_list || !p->lines) ? ROLE_BINARY : ROLE_PREFIX;
		} else if ((p->kind >= TK_STAR && p->kind <= TK_COMPOSE)) {
			/* ∇·v and ∇×v are prefix operators. */
			p->role = kind_of(f, before) == TK_NABLA && p->tight ? ROLE_PREFIX : ROLE_BINARY;
		} else if (p->kind == TK_ROOT || p->kind == TK_ELLIPSIS) {
			p->role = ROLE_PREFIX;
		}
		if (p->kind == TK_LPAREN || p->kind == TK_LBRACKET) {
			bool number = kind_of(f, before) == TK_NUMBER;
			bool operand = ends_operand(f, before) || kind_of(f, before) == TK_PARTIAL;
			p->call = operand && !number && (in_list || !p->lines);
		}
		bool braces = problem && p->kind == TK_LBRACE && !in_list;
		if (braces) problem = false;
		if (is_open(p->kind)) VEC_PUSH(f->a, &open, (uint8_t)(braces ? TK_COUNT : p->kind));
		else if (is_close(p->kind) && open.n) open.n--;
	}
}

/* ---- spaces -------------------------------------------------------------- */

typedef VEC(uint32_t) BracketStack; /* the enclosing brackets, outermost first */

/* True when the author wrote no space on either side. */
static bool close_on_both_sides(const SourceFormatter *f, uint32_t i) {
	return f->pieces.at[i].tight && i + 1 < f->pieces.n && f->pieces.at[i + 1].tight;
}

/* True when a product next to this sum, at the same depth, is written with
 * spaces. The sum then needs spaces as well. */
static bool beside_wide_product(const SourceFormatter *f, uint32_t i) {
	for (int way = -1; way <= 1; way += 2) {
		uint32_t steps = 0;
		for (uint32_t j = i + (uint32_t)way; j < f->pieces.n && steps < NEAR;
		     j += (uint32_t)way, steps++) {
			const FormatToken *p = &f->pieces.at[j];
			if ((way > 0 && is_open(p->kind)) || (way < 0 && is_close(p->kind))) {
				if (p->match == j) return false;
				j = p->match;
				continue;
			}
			bool product = p->role == ROLE_BINARY && p->kind >= TK_STAR && p->kind <= TK_CROSS;
			if (product && !close_on_both_sides(f, j)) return true;
			bool part = product || p->role == ROLE_OPERAND || p->role == ROLE_PREFIX ||
			            p->kind == TK_NUMBER || p->kind == TK_DOT || p->kind == TK_CARET ||
			            p->kind == TK_PRIME || p->kind == TK_SUPER || p->kind == TK_STR_CLOSE;
			if (!part) break;
		}
	}
	return false;
}

/* True when the sum is part of an index or of an end of a range. */
static bool in_index(const SourceFormatter *f, uint32_t i, const BracketStack *open) {
	for (uint32_t k = open->n; k > 0; k--) { /* also in (i+1) % n */
		const FormatToken *p = &f->pieces.at[open->at[k - 1]];
		if (p->kind == TK_LBRACKET && p->call) return true;
		if (p->kind != TK_LPAREN || p->call) break;
	}
	for (int way = -1; way <= 1; way += 2) {
		uint32_t steps = 0;
		for (uint32_t j = i + (uint32_t)way; j < f->pieces.n && steps < NEAR;
		     j += (uint32_t)way, steps++) {
			const FormatToken *p = &f->pieces.at[j];
			if (p->kind == TK_RANGE) return true;
			if ((way > 0 && is_open(p->kind) && p->kind != TK_LBRACE) ||
			    (way < 0 && is_close(p->kind) && p->kind != TK_RBRACE)) {
				if (p->match == j) break;
				j = p->match;
				continue;
			}
			bool part = p->role == ROLE_BINARY || p->role == ROLE_OPERAND ||
			            p->role == ROLE_PREFIX || p->kind == TK_NUMBER || p->kind == TK_DOT ||
			            p->kind == TK_PRIME || p->kind == TK_SUPER;
			if (!part) break;
		}
	}
	return false;
}

/* True when the operator is written without spaces. */
static bool is_close_operator(const SourceFormatter *f, uint32_t i, const BracketStack *open) {
	const FormatToken *p = &f->pieces.at[i];
	if (p->kind == TK_CARET) return true;
	if (!close_on_both_sides(f, i)) return false;
	if (p->kind >= TK_STAR && p->kind <= TK_COMPOSE) return true;
	return in_index(f, i, open) && !beside_wide_product(f, i);
}

/* True when the lexer would read these two pieces as other tokens if there were
 * no space between them. */
static bool would_merge(const SourceFormatter *f, const FormatToken *a, const FormatToken *b) {
	char pair[64];
	uint32_t n = a->end - a->start, m = b->end - b->start;
	if (a->kind == TK_STR_CLOSE || b->kind == TK_STR_CLOSE || n > 40) return false;
	if (m > 20) m = 20;
	memcpy(pair, f->text + a->start, n);
	memcpy(pair + n, f->text + b->start, m);
	Lexer lx;
	lexer_init(&lx, pair, n + m, false);
	if (a->kind == TK_PRIME || a->kind == TK_SUPER) return false;
	Lexeme first = lexer_next(&lx);
	return first.end != n || first.kind != (TokenKind)a->kind || first.error;
}

static bool wants_space(const SourceFormatter *f, uint32_t i, const BracketStack *open) {
	const FormatToken *a = &f->pieces.at[i - 1], *b = &f->pieces.at[i];
	uint8_t ka = a->kind, kb = b->kind;
	bool operand_a = ends_operand(f, i - 1);
	if (kb == TK_COMMA || kb == TK_SEMICOLON || kb == TK_RPAREN || kb == TK_RBRACKET ||
	    kb == TK_COLON)
		return false;
	if (ka == TK_LPAREN || ka == TK_LBRACKET) return false;
	if (ka == TK_LBRACE) return kb != TK_RBRACE;
	if (kb == TK_RBRACE || ka == TK_COMMA || ka == TK_SEMICOLON || ka == TK_COLON) return true;
	if (ka == TK_DOT || kb == TK_DOT || kb == TK_PRIME || kb == TK_SUPER) return false;
	if (ka == TK_ELLIPSIS) return false;
	if (ka == TK_RANGE) return b->role == ROLE_WORD;
	if (kb == TK_RANGE) return !operand_a;
	if (ka == TK_PARTIAL || ka == TK_NABLA) return !b->tight && b->role != ROLE_PREFIX && !b->call;
	if (a->role == ROLE_PREFIX) return false;
	if (a->role == ROLE_BINARY) return !is_close_operator(f, i - 1, open);
	if (b->role == ROLE_BINARY) return !is_close_operator(f, i, open);
	if (b->call) return false;
	bool factor = b->role == ROLE_OPERAND || kb == TK_LPAREN || kb == TK_ROOT || kb == TK_PARTIAL ||
	              kb == TK_NABLA;
	if (ka == TK_NUMBER && factor) return !b->tight || token_is_keyword((TokenKind)kb); /* 2x */
	return true;
}

static void set_gaps(SourceFormatter *f) {
	BracketStack open = {0};
	for (uint32_t i = 0; i < f->pieces.n; i++) {
		FormatToken *p = &f->pieces.at[i];
		if (is_close(p->kind) && open.n) open.n--;
		if (i) {
			p->gap = wants_space(f, i, &open);
			if (!p->gap && !p->tight && would_merge(f, &f->pieces.at[i - 1], p)) p->gap = 1;
		}
		if (is_open(p->kind)) VEC_PUSH(f->a, &open, i);
	}
}

/* Moves `else` and `catch` onto the line of the closing brace before them. A
 * brace that ends a one-line block is an exception: such branches may be
 * stacked. */
static void join_branches(SourceFormatter *f) {
	for (uint32_t i = 1; i < f->pieces.n; i++) {
		FormatToken *p = &f->pieces.at[i];
		bool branch = (p->kind == TK_ELSE || p->kind == TK_CATCH) && p->role != ROLE_OPERAND;
		if (branch && f->pieces.at[i - 1].kind == TK_RBRACE && f->pieces.at[i - 1].lines)
			p->lines = 0;
	}
}

/* ---- columns ------------------------------------------------------------- */

/* The width that the pieces before `i` on its source line have now. */
static uint32_t width_before(const SourceFormatter *f, uint32_t i) {
	uint32_t first = i;
	while (first && !f->pieces.at[first].lines) first--;
	uint32_t width = f->pieces.at[first].indent;
	for (uint32_t k = first; k < i; k++) {
		const FormatToken *p = &f->pieces.at[k];
		width += (k > first ? p->gap : 0) + p->width;
	}
	return width;
}

/* A piece of line `line` that is in the column of `i` and of the same kind;
 * NONE if there is none. */
static uint32_t in_column(const SourceFormatter *f, uint32_t i, uint32_t line) {
	const FormatToken *p = &f->pieces.at[i];
	uint32_t j = i;
	int way = line < p->line ? -1 : 1;
	while (j < f->pieces.n && (way < 0 ? f->pieces.at[j].line > line : f->pieces.at[j].line < line))
		j += (uint32_t)way;
	for (; j < f->pieces.n && f->pieces.at[j].line == line; j += (uint32_t)way) {
		const FormatToken *q = &f->pieces.at[j];
		bool starts = q->column == p->column,
			 ends = p->kind == TK_NUMBER && q->column + q->width == p->column + p->width;
		bool same = q->kind == p->kind && (q->role != ROLE_WORD || p->role == ROLE_WORD);
		if (same && (starts || ends) && !q->lines && j) return j;
	}
	return NONE;
}

/* A number and its sign move together. Returns the piece that has the space
 * before it. */
static uint32_t lead(const SourceFormatter *f, uint32_t i) {
	const FormatToken *p = &f->pieces.at[i];
	bool sign = i && p->kind == TK_NUMBER && p->tight && f->pieces.at[i - 1].role == ROLE_PREFIX;
	return sign ? i - 1 : i;
}

static bool may_align(const SourceFormatter *f, uint32_t i) {
	const FormatToken *p = &f->pieces.at[i];
	uint32_t first = lead(f, i);
	if (!first || f->pieces.at[first].lines || f->pieces.at[first].tight || p->kind == TK_COMMENT ||
	    p->multiline)
		return false;
	while (first && !f->pieces.at[first].lines) first--;
	if (f->pieces.at[first].line != p->line) return false; /* two source lines that were merged */
	for (uint32_t k = first; k < i; k++) {
		if (f->pieces.at[k].multiline) return false;
	}
	return true;
}

static uint32_t source_gap(const SourceFormatter *f, uint32_t i) {
	return f->pieces.at[i].start - f->pieces.at[i - 1].end;
}

/* Aligns pieces that were aligned over neighbouring lines, if at least one of
 * them followed more than one space. */
static void align_columns(SourceFormatter *f) {
	uint32_t n = f->pieces.n;
	bool *done = arena_zalloc(f->a, n + 1);
	uint32_t *order = ARENA_ARRAY(f->a, uint32_t, n + 1), count = 0, most = 0;
	for (uint32_t i = 1; i < n; i++) {
		if (source_gap(f, i) > 1 && may_align(f, i)) {
			order[count++] = i;
			if (f->pieces.at[i].column > most) most = f->pieces.at[i].column;
		}
	}
	/* From left to right, so that everything before a piece is already placed.
	 * Insertion sort by column, since the order is nearly right. */
	for (uint32_t i = 1; i < count; i++) {
		uint32_t x = order[i], k = i;
		if (count > 4000) break;
		for (; k && f->pieces.at[order[k - 1]].column > f->pieces.at[x].column; k--)
			order[k] = order[k - 1];
		order[k] = x;
	}
	for (uint32_t s = 0; s < count; s++) {
		if (done[order[s]]) continue;
		uint32_t first = order[s], last = first, j;
		VEC(uint32_t) members = {0};
		VEC_PUSH(f->a, &members, first);
		while (f->pieces.at[first].line &&
		       (j = in_column(f, first, f->pieces.at[first].line - 1)) != NONE && may_align(f, j) &&
		       !done[j]) {
			first = j;
			VEC_PUSH(f->a, &members, j);
		}
		while ((j = in_column(f, last, f->pieces.at[last].line + 1)) != NONE && may_align(f, j) &&
		       !done[j]) {
			last = j;
			VEC_PUSH(f->a, &members, j);
		}
		for (uint32_t k = 0; k < members.n; k++) done[members.at[k]] = true;
		if (members.n < 2) continue;
		/* Numbers that ended in one column are right-aligned. */
		bool right = f->pieces.at[members.at[0]].kind == TK_NUMBER;
		for (uint32_t k = 0; k < members.n; k++) {
			const FormatToken *p = &f->pieces.at[members.at[k]], *q = &f->pieces.at[members.at[0]];
			right = right && p->column + p->width == q->column + q->width;
		}
		uint32_t column = 0;
		for (uint32_t k = 0; k < members.n; k++) {
			const FormatToken *p = &f->pieces.at[members.at[k]];
			uint32_t at = width_before(f, members.at[k]) + p->gap + (right ? p->width : 0);
			if (at > column) column = at;
		}
		for (uint32_t k = 0; k < members.n; k++) {
			const FormatToken *p = &f->pieces.at[members.at[k]];
			f->pieces.at[lead(f, members.at[k])].gap +=
				column - (right ? p->width : 0) - width_before(f, members.at[k]) - p->gap;
		}
	}
}

/* ---- lines --------------------------------------------------------------- */

typedef struct OpenBracket {
	uint32_t piece, indent; /* of the line it is on */
	uint32_t inside;        /* column of the piece after it */
} OpenBracket;
typedef VEC(OpenBracket) OpenList;

static bool goes_on(const SourceFormatter *f, uint32_t i) {
	const FormatToken *p = &f->pieces.at[i];
	uint32_t before = piece_before(f, i);
	if (before == NONE) return false;
	if (lex_continues_line((TokenKind)p->kind) && p->role != ROLE_PREFIX) return true;
	if (p->kind == TK_NAME && p->role == ROLE_WORD && is_text(f, i, "at")) return true;
	uint8_t k = f->pieces.at[before].kind;
	if (k == TK_SEMICOLON || is_open(k)) return false;
	return f->pieces.at[before].role == ROLE_BINARY ||
	       (lex_wants_operand((TokenKind)k) && k != TK_PRIME);
}

static uint32_t indentation(const SourceFormatter *f, const OpenList *open, uint32_t i,
                            bool *continued) {
	*continued = false;
	uint32_t top = open->n, next = i;
	while (next < f->pieces.n && is_close(f->pieces.at[next].kind) && top &&
	       (next == i || !f->pieces.at[next].lines)) {
		top--;
		next++;
	}
	if (next > i) return open->at[top].indent;
	if (f->pieces.at[i].kind == TK_COMMENT) { /* indented like the piece that follows */
		next = piece_after(f, i);
		if (next == NONE) return open->n ? open->at[open->n - 1].indent + STEP : 0;
	}
	uint32_t inner = open->n ? open->at[open->n - 1].indent + STEP : 0;
	bool list = open->n && f->pieces.at[open->at[open->n - 1].piece].kind != TK_LBRACE;
	if (list) { /* keep the alignment with the first piece inside the bracket */
		const OpenBracket *o = &open->at[open->n - 1];
		const FormatToken *inside = &f->pieces.at[o->piece + 1];
		const FormatToken *bracket = inside - 1, *p = &f->pieces.at[i];
		bool under = inside->column == p->column || bracket->column + 1 == p->column;
		if (!inside->lines && inside->line < p->line && under) return o->inside;
	}
	if (is_close(f->pieces.at[next].kind)) return inner;
	*continued = !list && goes_on(f, next);
	return inner + (*continued ? STEP : 0);
}

/* The end of the line that starts at `first`: the next piece with a line break
 * before it. */
static uint32_t line_end(const SourceFormatter *f, uint32_t first) {
	uint32_t i = first + 1;
	while (i < f->pieces.n && !f->pieces.at[i].lines) i++;
	return i;
}

/* Puts a block on lines of its own: breaks after {, after its semicolons and
 * before }. Later branches of the same `if` or `try` are expanded as well. */
static void expand_block(SourceFormatter *f, uint32_t brace) {
	for (uint32_t open = brace; open != NONE;) {
		uint32_t close = f->pieces.at[open].match, depth = 0;
		if (close == open) return;
		for (uint32_t i = open + 1; i <= close; i++) {
			FormatToken *p = &f->pieces.at[i];
			if (is_close(p->kind) && i < close) depth--;
			bool after =
				!depth && (i == open + 1 || i == close || f->pieces.at[i - 1].kind == TK_SEMICOLON);
			if (after && !p->lines && p->kind != TK_COMMENT && !(i == close && i == open + 1))
				p->lines = 1;
			if (is_open(p->kind)) depth++;
		}
		/* } else { or } else if c { */
		uint32_t next = close + 1;
		open = NONE;
		if (next < f->pieces.n &&
		    (f->pieces.at[next].kind == TK_ELSE || f->pieces.at[next].kind == TK_CATCH) &&
		    !f->pieces.at[next].lines) {
			uint32_t level = 0;
			for (next++; next < f->pieces.n && !f->pieces.at[next].lines; next++) {
				uint8_t k = f->pieces.at[next].kind;
				if (k == TK_LBRACE && !level) {
					open = next;
					break;
				}
				if (is_close(k)) level--;
				else if (is_open(k)) level++;
			}
		}
	}
}

/* The brace of the first branch of the `if` or `try` that has a later branch at
 * `brace`. */
static uint32_t first_branch(const SourceFormatter *f, uint32_t brace, uint32_t first) {
	for (uint32_t i = brace; i > first;) {
		i--;
		uint8_t k = f->pieces.at[i].kind;
		if (is_close(k) && f->pieces.at[i].match < i && f->pieces.at[i].match >= first) {
			i = f->pieces.at[i].match;
			continue;
		}
		if (is_open(k)) return brace;
		if (k == TK_ELSE || k == TK_CATCH) {
			if (!i || f->pieces.at[i - 1].kind != TK_RBRACE || f->pieces.at[i - 1].match < first)
				return brace;
			brace = f->pieces.at[i - 1].match;
			i = brace;
		} else if (k == TK_SEMICOLON || k == TK_LBRACE) return brace;
	}
	return brace;
}

/* Pieces from `from` on were broken off a line of a list. Merges them with the
 * list's next line, which starts at `end`. */
static void fill_list(SourceFormatter *f, uint32_t from, uint32_t end) {
	if (f->pieces.at[from - 1].kind != TK_COMMA || end >= f->pieces.n ||
	    f->pieces.at[end - 1].kind != TK_COMMA)
		return;
	if (f->pieces.at[end].lines != 1 || f->pieces.at[end].kind == TK_COMMENT ||
	    is_close(f->pieces.at[end].kind))
		return;
	int depth = 0;
	for (uint32_t i = from; i < end; i++) {
		if (is_close(f->pieces.at[i].kind) && --depth < 0) return;
		if (is_open(f->pieces.at[i].kind)) depth++;
	}
	if (!depth) f->pieces.at[end].lines = 0;
}

/* Breaks the overlong line [first, end) at the place of least cost. Returns
 * false when there is none. The cost weighs bracket depth, the kind of place
 * and the unused characters of the line. */
static bool break_line(SourceFormatter *f, uint32_t first, uint32_t end, uint32_t indent,
                       bool in_list) {
	uint32_t depth = 0, column = indent, best = NONE, total = indent;
	double least = 1e9;
	bool best_block = false;
	BracketStack open = {0};
	for (uint32_t i = first; i < end; i++) {
		if (f->pieces.at[i].kind != TK_COMMENT)
			total += (i > first ? f->pieces.at[i].gap : 0) + f->pieces.at[i].width;
	}
	for (uint32_t i = first; i + 1 < end; i++) {
		const FormatToken *p = &f->pieces.at[i], *q = &f->pieces.at[i + 1];
		if (is_close(p->kind) && depth) {
			depth--;
			open.n--;
		}
		bool index = open.n && f->pieces.at[open.at[open.n - 1]].kind == TK_LBRACKET &&
		             f->pieces.at[open.at[open.n - 1]].call;
		column = p->multiline ? p->after : column + (i > first ? p->gap : 0) + p->width;
		if (q->kind == TK_COMMENT) break;
		double kind = -1;
		bool block = false, binary = p->role == ROLE_BINARY;
		uint32_t here = depth;
		switch (p->kind) {
		case TK_COMMA: kind = depth ? 0 : 5; break;
		case TK_SEMICOLON: kind = 0; break;
		case TK_STR_CLOSE: kind = depth && q->kind == TK_STR_CLOSE ? 0 : -1; break;
		case TK_LPAREN:
		case TK_LBRACKET:
			kind = q->kind == TK_RPAREN || q->kind == TK_RBRACKET ? -1
			       : p->kind == TK_LBRACKET && p->call            ? 80
			                                                      : 45;
			break;
		case TK_LBRACE:
			kind = q->kind == TK_RBRACE ? -1 : depth ? 30 : 5;
			block = true;
			break;
		case TK_OR:
		case TK_PIPE: kind = 0; break;
		case TK_AND: kind = 4; break;
		case TK_EQ:
		case TK_NE:
		case TK_LT:
		case TK_LE:
		case TK_GT:
		case TK_GE: kind = 10; break;
		case TK_PLUS:
		case TK_MINUS: kind = binary ? 8 : -1; break;
		case TK_STAR:
		case TK_SLASH:
		case TK_MATMUL:
		case TK_INNER:
		case TK_CROSS: kind = binary && q->gap ? 25 : -1; break;
		case TK_ARROW: kind = 30; break;
		case TK_ASSIGN:
		case TK_DEFINE:
			if (!depth && !in_list && i > first)
				kind = f->pieces.at[i - 1].kind == TK_RPAREN ? 0 : 36;
			break;
		default: break;
		}
		if (index) kind = kind < 0 ? kind : kind + 40; /* keep x[i, j] together */
		if (is_open(p->kind)) {
			depth++;
			VEC_PUSH(f->a, &open, i);
		}
		if (kind < 0 || (!block && column > WIDTH && best != NONE)) continue;
		uint32_t rest = indent + STEP + (total - column) - q->gap;
		double room = column < WIDTH ? WIDTH - column : 0;
		double cost = 30.0 * here + kind;
		if (!block)
			cost += (p->kind == TK_ASSIGN ? 0 : 0.3 * room) + (rest > WIDTH ? 25 : 0) +
			        (column > WIDTH ? 1000 : 0);
		if (cost >= least) continue;
		least = cost;
		best = i + 1;
		best_block = block;
	}
	if (best == NONE) return false;
	if (best_block) expand_block(f, first_branch(f, best - 1, first));
	else f->pieces.at[best].lines = 1;
	if (best < end && !best_block) fill_list(f, best, end);
	return true;
}

/* With `rough`, computes only the indentations, for align_columns. */
static void make_lines(SourceFormatter *f, bool rough) {
	OpenList open = {0};
	for (uint32_t i = 0; i < f->pieces.n;) {
		bool continued;
		uint32_t indent = indentation(f, &open, i, &continued), end, widest, outside = open.n;
		uint8_t before = kind_of(f, piece_before(f, i));
		bool in_list = open.n && f->pieces.at[open.at[open.n - 1].piece].kind != TK_LBRACE;
		/* The block after a condition of several lines is indented relative to
		 * the line where the condition starts. */
		bool condition = continued && before != TK_ASSIGN && before != TK_DEFINE &&
		                 before != TK_COMPOUND && before != TK_ARROW;
		OutLine line;
		f->pieces.at[i].indent = indent;
		for (;;) {
			end = line_end(f, i);
			line = (OutLine){
				.first = i, .last = end, .indent = indent, .comment = NONE, .width = indent};
			if (end - i > 1 && f->pieces.at[end - 1].kind == TK_COMMENT) line.comment = --line.last;
			widest = 0;
			for (uint32_t k = i; k < line.last; k++) {
				const FormatToken *p = &f->pieces.at[k];
				uint32_t start = line.width + (k > i ? p->gap : 0);
				line.width = p->multiline ? p->after : start + p->width;
				if (!p->multiline && line.width > widest) widest = line.width;
			}
			if (rough || widest <= WIDTH || f->pieces.at[i].kind == TK_COMMENT ||
			    !break_line(f, i, end, indent, in_list))
				break;
		}
		line.blank = f->pieces.at[i].lines > 1 && f->lines.n;
		if (line.blank && is_close(f->pieces.at[i].kind)) line.blank = false;
		if (line.blank && is_open(kind_of(f, i - 1))) line.blank = false;
		if (!rough) VEC_PUSH(f->a, &f->lines, line);
		/* After a bracket of an earlier line closes, `base` is that line's
		 * indentation. */
		uint32_t column = indent, base = indent;
		for (uint32_t k = i; k < end; k++) {
			const FormatToken *p = &f->pieces.at[k];
			column = p->multiline ? p->after : column + (k > i ? p->gap : 0) + p->width;
			bool block = condition && p->kind == TK_LBRACE && open.n == outside;
			if (is_open(p->kind))
				VEC_PUSH(f->a, &open, ((OpenBracket){k, block ? base - STEP : base, column}));
			else if (is_close(p->kind) && open.n && open.at[--open.n].indent < base)
				base = open.at[open.n].indent;
		}
		i = end;
	}
}

/* Trailing comments keep their column while they fit. If one does not, the
 * comments of neighbouring lines in the same column move with it. */
static void place_comments(SourceFormatter *f) {
	for (uint32_t i = 0, last; i < f->lines.n; i = last + 1) {
		last = i;
		if (f->lines.at[i].comment == NONE) continue;
		uint32_t first = f->lines.at[i].first;
		/* The source line was broken. */
		if (first && f->pieces.at[first - 1].line == f->pieces.at[first].line) {
			f->lines.at[i].column = f->lines.at[i].width + 2;
			continue;
		}
		uint32_t column = f->pieces.at[f->lines.at[i].comment].column, widest = 0;
		for (uint32_t k = i; k < f->lines.n; k++) {
			const OutLine *line = &f->lines.at[k];
			if (line->comment == NONE || f->pieces.at[line->comment].column != column) break;
			if (line->width > widest) widest = line->width;
			last = k;
		}
		if (widest + 1 > column) column = widest + 2;
		for (uint32_t k = i; k <= last; k++) f->lines.at[k].column = column;
	}
}

static void put_spaces(Text *out, uint32_t n) {
	static const char spaces[] = "                                                                ";
	for (; n > sizeof spaces - 1; n -= sizeof spaces - 1) text_add(out, spaces, sizeof spaces - 1);
	text_add(out, spaces, n);
}

static void put_piece(const SourceFormatter *f, const FormatToken *p, Text *out) {
	text_add(out, f->text + p->start, p->end - p->start);
}

static void put_lines(const SourceFormatter *f, Text *out) {
	for (uint32_t i = 0; i < f->lines.n; i++) {
		const OutLine *line = &f->lines.at[i];
		if (line->blank) text_str(out, "\n");
		put_spaces(out, line->indent);
		for (uint32_t k = line->first; k < line->last; k++) {
			if (k > line->first) put_spaces(out, f->pieces.at[k].gap);
			put_piece(f, &f->pieces.at[k], out);
		}
		if (line->comment != NONE) {
			put_spaces(out, line->column - line->width);
			put_piece(f, &f->pieces.at[line->comment], out);
		}
		text_str(out, "\n");
	}
}

static void lay_out(Arena *a, const char *text, size_t n, Text *out) {
	SourceFormatter f = {.a = a, .text = text, .n = (uint32_t)n};
	cut(&f);
	match_brackets(&f);
	give_roles(&f);
	join_branches(&f);
	set_gaps(&f);
	make_lines(&f, true);
	align_columns(&f);
	make_lines(&f, false);
	place_comments(&f);
	put_lines(&f, out);
}

/* ---- public entry: layout and check -------------------------------------- */

static bool same_pieces(const SourceFormatter *x, const SourceFormatter *y) {
	if (x->pieces.n != y->pieces.n) return false;
	for (uint32_t i = 0; i < x->pieces.n; i++) {
		const FormatToken *p = &x->pieces.at[i], *q = &y->pieces.at[i];
		if (p->kind != q->kind || p->end - p->start != q->end - q->start) return false;
		if (memcmp(x->text + p->start, y->text + q->start, p->end - p->start)) return false;
	}
	return true;
}

static void print_program(Ctx *c, const Program *p, Text *out) {
	for (uint32_t i = 0; i < p->n; i++) {
		ast_print(out, c, p->items[i]);
		text_str(out, "\n");
	}
}

typedef struct FormatJob {
	const char *name, *text;
	size_t n;
	Text *out;
	Arena *a;
	Text before, after, next;
} FormatJob;

static void run_format(Ctx *c, void *arg) {
	FormatJob *job = arg;
	bool ok;
	Program p = parse_program(c, job->a, source_add(c, job->name, job->text, job->n), &ok);
	if (!ok) ctx_throw(c, ST_ERROR);
	print_program(c, &p, &job->before);
	lay_out(job->a, job->text, job->n, job->out);
	bool settled = false;
	uint32_t mark = diag_total(c);
	for (int round = 0; round < ROUNDS && !settled && !job->out->failed; round++) {
		text_free(&job->next);
		text_init(&job->next, c);
		lay_out(job->a, job->out->at ? job->out->at : "", job->out->n, &job->next);
		settled = job->next.n == job->out->n &&
		          (!job->out->n || !memcmp(job->next.at, job->out->at, job->out->n));
		Text t = *job->out;
		*job->out = job->next;
		job->next = t;
	}
	if (job->out->failed || job->next.failed || job->before.failed) ctx_throw(c, ST_NOMEM);
	const char *text = job->out->at ? job->out->at : "";
	Program q = parse_program(c, job->a, source_add(c, job->name, text, job->out->n), &ok);
	if (ok) print_program(c, &q, &job->after);
	else diag_truncate(c, mark);
	if (job->after.failed) ctx_throw(c, ST_NOMEM);
	SourceFormatter x = {.a = job->a, .text = job->text, .n = (uint32_t)job->n},
					y = {.a = job->a, .text = text, .n = (uint32_t)job->out->n};
	cut(&x);
	cut(&y);
	bool tree = ok && job->before.n == job->after.n &&
	            (!job->after.n || !memcmp(job->before.at, job->after.at, job->after.n));
	if (!tree || !same_pieces(&x, &y) || !settled) {
		const char *what = !ok        ? "would no longer be read"
		                   : !tree    ? "would change its meaning"
		                   : !settled ? "does not come to an end"
		                              : "would lose a part of it";
		diag_error(c, E_INTERNAL, NO_SPAN, "formatting %s %s; it is left as it is", job->name,
		           what);
		ctx_throw(c, ST_ERROR);
	}
}

Status format_program(Ctx *c, const char *name, const char *text, size_t n, Text *out) {
	FormatJob job = {.name = name, .text = text, .n = n, .out = out, .a = arena_new(c)};
	text_init(&job.before, c);
	text_init(&job.after, c);
	text_init(&job.next, c);
	Status s = ctx_protect(c, run_format, &job);
	text_free(&job.before);
	text_free(&job.after);
	text_free(&job.next);
	arena_free(job.a);
	return s;
}
