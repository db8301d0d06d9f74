/* parse_literal.c - literals: numbers, and strings with their interpolations.
 *
 * Needs: parser.h.
 *
 * Contract: as parse_expr.c. The lexer has checked the form of a number and
 * found the parts of a string. Values, escapes and formats are read here.
 */
#include "lang/base/value.h"
#include "parser/syntax/parser.h"
#include <math.h>
#include <stdlib.h>

/* ---- numbers ------------------------------------------------------------- */

/* Copies the digits of `text` without underscores to `out`; returns how
 * many. */
static size_t plain_digits(const char *text, size_t n, char *out) {
	size_t written = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] != '_') out[written++] = text[i];
	}
	return written;
}

/* Reads 1.25e-3 with strtod in any locale, as digits without a point:
 * 125e-5. */
static double read_float(Parser *p, const char *digits, size_t n) {
	char *plain = arena_alloc(p->scratch, n + 32);
	size_t written = 0, i = 0;
	int64_t exponent = 0, given = 0;
	bool fraction = false;
	for (; i < n && digits[i] != 'e' && digits[i] != 'E'; i++) {
		if (digits[i] == '.') {
			fraction = true;
		} else {
			plain[written++] = digits[i];
			exponent -= fraction;
		}
	}
	if (i < n) {
		bool negative = digits[i + 1] == '-';
		for (i += 1 + (negative || digits[i + 1] == '+'); i < n; i++) {
			if (given < INT32_MAX) given = given * 10 + (digits[i] - '0');
		}
		if (negative) given = -given;
	}
	snprintf(plain + written, 32, "e%lld", (long long)(exponent + given));
	return strtod(plain, NULL);
}

/* NUMBER: the lexer has checked its form and reported errors. */
Ast *parse_number(Parser *p) {
	uint32_t first = p->at;
	const Token *t = token_now(p);
	const char *text = p->text + t->start;
	size_t n = t->end - t->start;
	advance(p);
	Ast *a = node_new(p, A_CONST);
	a->weak = true;
	if (t->error) {
		a->constant.value = value_i64(0);
		return node_done(p, a, first);
	}
	bool imaginary = n > 2 && !memcmp(text + n - 2, "im", 2);
	if (imaginary) n -= 2;
	char *digits = arena_alloc(p->scratch, n + 1);
	n = plain_digits(text, n, digits);
	digits[n] = '\0';
	char letter = n > 1 && digits[0] == '0' ? digits[1] : '0';
	int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
	bool is_float = base == 10 && strpbrk(digits, ".eE");
	uint64_t whole = 0;
	bool overflow = false;
	if (!is_float) {
		for (size_t i = base == 10 ? 0 : 2; i < n; i++) {
			int digit = digits[i] <= '9' ? digits[i] - '0' : (digits[i] | 0x20) - 'a' + 10;
			overflow |= __builtin_mul_overflow(whole, (uint64_t)base, &whole);
			overflow |= __builtin_add_overflow(whole, (uint64_t)digit, &whole);
		}
	}
	const bool is_least = !overflow && whole == (uint64_t)1 << 63;
	overflow |= whole > INT64_MAX;
	const int64_t integer = (int64_t)whole;
	double real =
		is_float || (imaginary && base == 10) ? read_float(p, digits, n) : (double)integer;
	/* 2^63 is allowed when nothing but a `-` applies to it: as wrapped here, it
	 * equals its own negative. */
	const TokenKind next = kind_now(p);
	const bool only_negated =
		first == p->negated && next != TK_CARET && next != TK_SUPER && !at_juxtaposed(p);
	if (is_least && only_negated) overflow = false;
	if (overflow && (!imaginary || base != 10)) {
		const char *hint =
			base == 10 ? "a float is written with a point" : "the largest is 0x7fffffffffffffff";
		FAIL_HINT(p, E_NUMBER, token_span(p, first), hint, "this integer does not fit in 64 bits");
	}
	if (isinf(real)) {
		FAIL_HINT(p, E_NUMBER, token_span(p, first), "infinity is written inf",
		          "this number is too large for an f64");
	}
	if (imaginary) a->constant.value = value_c128(real * I);
	else a->constant.value = is_float ? value_f64(real) : value_i64(integer);
	return node_done(p, a, first);
}

/* ---- strings ------------------------------------------------------------- */

/* The length of \u{3b1} after its backslash; 0 when it is malformed. */
static uint32_t unicode_escape(const char *text, uint32_t n, uint32_t *out) {
	uint32_t i = 2, u = 0;
	if (n < 4 || text[1] != '{') return 0;
	for (; i < n && i < 9 && text[i] != '}'; i++) {
		char ch = text[i];
		char low = ch | 0x20;
		if (!(ch >= '0' && ch <= '9') && !(low >= 'a' && low <= 'f')) return 0;
		u = u * 16 + (uint32_t)(ch <= '9' ? ch - '0' : low - 'a' + 10);
	}
	if (i == 2 || i >= n || text[i] != '}' || u > 0x10ffff || (u >= 0xd800 && u < 0xe000)) return 0;
	*out = u;
	return i + 1;
}

/* Returns the text of one TK_STR_TEXT without its escapes. Invalid ones are
 * reported and left out. */
static const char *unescape(Parser *p, uint32_t token, uint32_t *n) {
	const Token *t = &p->tokens[token];
	const char *text = p->text + t->start;
	uint32_t length = t->end - t->start, written = 0, good = 0;
	char *out = arena_alloc(p->arena, (size_t)length + 1);
	for (uint32_t i = 0; i < length;) {
		uint32_t u;
		if (text[i] != '\\') {
			uint32_t bytes = (uint32_t)lex_decode(text + i, length - i, &u);
			if (!bytes) {
				Span at = span_made(p->source, t->start + i, t->start + i + 1);
				if (!p->stopped && good++ < 1)
					diag_error(p->ctx, E_CHAR, at, "these bytes are not UTF-8 text");
				i++;
				continue;
			}
			memcpy(out + written, text + i, bytes);
			written += bytes;
			i += bytes;
			continue;
		}
		i++;
		static const char from[] = "nrte\"\\{}'", to[] = "\n\r\t\033\"\\{}'";
		const char *known = i < length && text[i] ? strchr(from, text[i]) : NULL;
		uint32_t escape =
			i < length && text[i] == 'u' ? unicode_escape(text + i, length - i, &u) : 0;
		if (known) {
			out[written++] = to[known - from];
			i++;
		} else if (escape) {
			written += (uint32_t)lex_encode(u, out + written);
			i += escape;
		} else if (i < length && text[i] == '\n') {
			i++; /* a backslash at the end of a line joins it to the next */
		} else {
			uint32_t bytes = i < length ? (uint32_t)lex_decode(text + i, length - i, &u) : 0;
			bool unicode = length - i > 2 && text[i] == 'u' && text[i + 1] == '{';
			const char *brace = unicode ? memchr(text + i, '}', length - i) : NULL;
			if (brace && brace - (text + i) < 20) bytes = (uint32_t)(brace - (text + i)) + 1;
			Span at = span_made(p->source, t->start + i - 1, t->start + i + bytes);
			if (!p->stopped) {
				Diag *d = diag_error(p->ctx, E_STRING, at, "an unknown escape in a string");
				diag_hint(p->ctx, d,
				          "the escapes are \\n \\t \\r \\e \\\" \\\\ \\{ \\} and \\u{3b1}");
			}
			i += bytes;
		}
	}
	out[written] = '\0';
	*n = written;
	return out;
}

/* interpolation = "{" expression-list [ "=" ] [ ":" SPEC ] "}" */
static void parse_interpolation(Parser *p, StringPiece *piece) {
	uint32_t open = p->at;
	uint32_t joined = p->joined;
	bool in_index = p->in_index;
	advance(p);
	p->joined++;
	p->in_index = false;
	if (kind_now(p) == TK_INTERP_CLOSE || kind_now(p) == TK_INTERP_SPEC) {
		Span at = span_join(token_span(p, open), token_span(p, p->at));
		FAIL_HINT(p, E_STRING, at, "write \\{ for a brace", "an interpolation needs an expression");
	}
	uint32_t from = token_now(p)->start;
	piece->value = parse_expression_list(p);
	if (kind_now(p) == TK_INTERP_DEBUG) {
		piece->debug = true;
		piece->source = arena_copy(p->arena, p->text + from, token_now(p)->start - from);
		advance(p);
	}
	if (kind_now(p) == TK_INTERP_SPEC) {
		const Token *t = token_now(p);
		piece->spec = arena_copy(p->arena, p->text + t->start + 1, t->end - t->start - 1);
		if (!value_spec_valid(piece->spec))
			FAIL_HINT(p, E_STRING, token_span(p, p->at),
			          "a format is a width, a precision and one of e f g d x s: {x:8.3f}; in front "
			          "of it may stand - + 0 # or a blank",
			          "`%s` is no format", piece->spec);
		advance(p);
	}
	expect(p, TK_INTERP_CLOSE, "`:` or `}` behind an interpolated expression");
	p->joined = joined;
	p->in_index = in_index;
}

typedef VEC(char) TextBytes;

/* Moves the text of the literals so far into the piece. */
static void end_piece(Parser *p, StringPiece *piece, TextBytes *text) {
	piece->n = text->n;
	PUSH(p, text, '\0');
	piece->text = KEEP(p, *text);
	text->n = 0;
}

/* string = literal { literal }
 * literal = STR_OPEN { TEXT | interpolation } STR_CLOSE
 * Adjacent literals are one string. */
Ast *parse_string(Parser *p) {
	uint32_t first = p->at;
	VEC(StringPiece) pieces = {0}; /* the last one has no value */
	StringPiece piece = {0};
	TextBytes text = {0};
	descend(p);
	do {
		advance(p);
		uint32_t joined = p->joined++; /* a string may span lines */
		while (kind_now(p) != TK_STR_CLOSE) {
			if (kind_now(p) == TK_STR_TEXT) {
				uint32_t n;
				const char *more = unescape(p, p->at, &n);
				for (uint32_t k = 0; k < n; k++) PUSH(p, &text, more[k]);
				advance(p);
			} else if (kind_now(p) == TK_INTERP_OPEN) {
				end_piece(p, &piece, &text);
				parse_interpolation(p, &piece);
				PUSH(p, &pieces, piece);
				piece = (StringPiece){0};
			} else {
				unexpected(p, "the end of the string");
			}
		}
		advance(p);
		p->joined = joined;
	} while (kind_now(p) == TK_STR_OPEN);
	end_piece(p, &piece, &text);
	PUSH(p, &pieces, piece);
	p->depth--;
	Ast *a = node_new(p, A_STRING);
	a->string.n = pieces.n;
	a->string.pieces = KEEP(p, pieces);
	return node_done(p, a, first);
}
