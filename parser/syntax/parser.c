/* parser.c - common services of the parser: tokens, brackets, nodes, messages,
 * recovery, the public entry.
 *
 * Needs: parser.h.
 *
 * Contract:
 * - Every error is reported once, with the span of the faulty text.
 * - An error discards the statement it is in, and no other.
 * - NESTING_LIMIT bounds the recursion, HEIGHT_LIMIT the height of the trees.
 * - Time is linear in the length of the text.
 *
 * A line break ends the statement, except:
 * - inside ( and [;
 * - after an operator, comma, colon, `=`, `:=` or `->`;
 * - before a token that cannot start a statement: every binary operator but +
 *   and -, `.name`, `else` and `catch` (and `at` in a problem).
 *
 * A bracket that is never closed joins no lines, so that its error stays on its
 * line.
 */
#include "parser/syntax/parser.h"

/* ---- tokens -------------------------------------------------------------- */

static bool is_opener(uint8_t k) {
	return k == TK_LPAREN || k == TK_LBRACKET || k == TK_LBRACE || k == TK_STR_OPEN ||
	       k == TK_INTERP_OPEN;
}

static uint8_t closer_of(uint8_t k) {
	switch (k) {
	case TK_LPAREN: return TK_RPAREN;
	case TK_LBRACKET: return TK_RBRACKET;
	case TK_LBRACE: return TK_RBRACE;
	case TK_STR_OPEN: return TK_STR_CLOSE;
	default: return TK_INTERP_CLOSE;
	}
}

static bool is_closer(uint8_t k) {
	return k == TK_RPAREN || k == TK_RBRACKET || k == TK_RBRACE || k == TK_STR_CLOSE ||
	       k == TK_INTERP_CLOSE;
}

/* ( and [ never extend beyond the enclosing braces or string. A closing brace
 * closes everything that is open inside. */
static bool is_weak(uint8_t k) { return k == TK_LPAREN || k == TK_LBRACKET; }

typedef VEC(uint32_t) IndexList;

/* Pairs a closing bracket with its opening one; those in between get no
 * partner. A closing bracket without an opening one inside the same braces
 * stays unpaired. `open` lists the open brackets. `weak` has an entry for each
 * open strong bracket: the number of open weak ones of each kind since. */
typedef struct Weak {
	uint32_t parens, brackets;
} Weak;
typedef struct Pairing {
	IndexList open;
	VEC(Weak) weak;
} Pairing;

static void pair_open(Parser *p, Pairing *s, uint32_t i) {
	uint8_t k = p->tokens[i].kind;
	PUSH(p, &s->open, i);
	if (is_weak(k)) {
		Weak *w = &s->weak.at[s->weak.n - 1];
		if (k == TK_LPAREN) w->parens++;
		else w->brackets++;
	} else {
		PUSH(p, &s->weak, (Weak){0});
	}
}

static void pair_close(Parser *p, Pairing *s, uint32_t i) {
	uint8_t k = p->tokens[i].kind;
	Weak *w = &s->weak.at[s->weak.n - 1];
	if (k == TK_RPAREN && !w->parens) return;
	if (k == TK_RBRACKET && !w->brackets) return;
	if (k == TK_RBRACE || k == TK_STR_CLOSE || k == TK_INTERP_CLOSE) {
		uint32_t strong = s->open.n; /* the innermost strong one must be of the same kind */
		while (strong && is_weak(p->tokens[s->open.at[strong - 1]].kind)) strong--;
		bool brace = k == TK_RBRACE;
		if (!strong || (brace && closer_of(p->tokens[s->open.at[strong - 1]].kind) != k)) return;
	}
	while (s->open.n) {
		uint32_t j = s->open.at[--s->open.n];
		uint8_t opened = p->tokens[j].kind;
		w = &s->weak.at[s->weak.n - 1];
		if (opened == TK_LPAREN) w->parens--;
		else if (opened == TK_LBRACKET) w->brackets--;
		else s->weak.n--;
		if (closer_of(opened) != k) continue;
		p->tokens[j].match = i;
		p->tokens[i].match = j;
		return;
	}
}

static void report_character(Parser *p, Span at, const char *text, size_t length) {
	static const struct {
		uint32_t character;
		const char *hint;
	} known[] = {
		{0x2211, "a sum is written sum(e for i)"},
		{0x220f, "a product is written prod(e for i)"},
		{0x222b, "an integral is written integrate(f, a, b)"},
		{0x201c, "text is written between straight quotes: \"...\""},
		{0x201d, "text is written between straight quotes: \"...\""},
		{0x2018, "text is written between straight quotes: \"...\""},
		{0x2019, "text is written between straight quotes: \"...\""},
		{0xf7, "division is written /"},
		{0x2026, "an ellipsis is written ..."},
		{0x2248, "there is no operator for this; compare abs(a - b) with a tolerance"},
		{0xb1, "write the two cases, or a list of them: [a - b, a + b]"},
		{0x1d40, "the transpose is written A'"},
		{'&', "the logical operator is written `and`"},
		{'|', "an absolute value is written abs(x), the logical operator `or`"},
		{'~', "the logical operator is written `not`"},
		{'?', "a choice is written if c { a } else { b }"},
		{'\\', "a linear system is solved by linsolve(A, b)"},
		{'`', "text is written between double quotes: \"...\""},
	};
	uint32_t u;
	lex_decode(text, length, &u);
	const char *format = "the character `%.*s` (U+%04X) has no meaning here";
	Diag *d = diag_error(p->ctx, E_CHAR, at, format, (int)length, text, (unsigned)u);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (known[i].character == u) diag_hint(p->ctx, d, "%s", known[i].hint);
	}
}

static bool is_name_byte(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void report_foreign(Parser *p, Span at, const char *text, size_t length) {
	static const char *const ours[][2] = {
		{"**", "^"}, {"&&", "and"}, {"||", "or"}, {"!", "not"},     {".*", "*"},     {"./", "/"},
		{".^", "^"}, {".+", "+"},   {".-", "-"},  {"++", "x += 1"}, {"--", "x -= 1"}};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		if (strlen(ours[i][0]) != length || memcmp(ours[i][0], text, length)) continue;
		Diag *d = diag_error(p->ctx, E_SYNTAX, at, "`%s` is not an operator here", ours[i][0]);
		if (text[0] == '.')
			diag_hint(p->ctx, d, "write `%s`: it works element by element already", ours[i][1]);
		else if (text[0] == '!' && at.start && is_name_byte(p->text[at.start - 1]))
			diag_hint(p->ctx, d, "values do not change, and names have no `!`: x = f(x)");
		else diag_hint(p->ctx, d, "write `%s`", ours[i][1]);
	}
}

static void report_lexeme(Parser *p, Lexeme t, uint32_t string_start) {
	const char *text = p->text + t.start;
	size_t length = t.end - t.start;
	int shown = (int)(length < 60 ? length : 60);
	Span at = span_made(p->source, t.start, t.end);
	Diag *d;
	switch (t.error) {
	case LEX_OK: return;
	case LEX_NUMBER:
		d = diag_error(p->ctx, E_NUMBER, at, "`%.*s` is not a number", shown, text);
		diag_hint(p->ctx, d, "numbers look like 12, 1_000, 1.5, 1e-3, 0xff, 0b101 or 2im");
		return;
	case LEX_UNITS:
		at.start += (uint32_t)((const char *)memchr(text, '<', length) - text);
		d = diag_error(p->ctx, E_SYNTAX, at, "units are reserved syntax");
		if (t.end - at.start >= 5 && !memcmp((const char *)memchr(text, '<', length), "<deg", 4))
			diag_hint(p->ctx, d, "angles are in radians: 30 degrees are 30π/180");
		else
			diag_hint(p->ctx, d,
			          "numbers have no units: convert them to one system where they enter");
		return;
	case LEX_FOREIGN: report_foreign(p, at, text, length); return;
	case LEX_STRING_END:
	case LEX_INTERP_END: {
		bool interpolation = t.error == LEX_INTERP_END;
		Span whole = span_made(p->source, string_start, t.end);
		const char *what = interpolation ? "ends inside an interpolation" : "has no end";
		d = diag_error(p->ctx, E_STRING, whole, "this string %s", what);
		if (interpolation)
			diag_hint(p->ctx, d, "an interpolation ends with }; write \\{ for a brace");
		else diag_label(p->ctx, d, "the closing \" is missing");
		return;
	}
	case LEX_CHAR: report_character(p, at, text, length); return;
	case LEX_UTF8: diag_error(p->ctx, E_CHAR, at, "these bytes are not UTF-8 text"); return;
	case LEX_CONTROL: {
		uint32_t u;
		lex_decode(text, length, &u);
		diag_error(p->ctx, E_CHAR, at, "a control character (U+%04X) in the text", (unsigned)u);
		return;
	}
	case LEX_SUBSCRIPT:
		d = diag_error(p->ctx, E_CHAR, at, "the subscript `%.*s` stands behind no name", shown,
		               text);
		diag_hint(p->ctx, d,
		          "a name may end with digits and letters below the line, as x₀ does; an element "
		          "is x[0]");
		return;
	case LEX_QUOTE:
		d = diag_error(p->ctx, E_CHAR, at, "a ' that follows neither a name nor a bracket");
		if (length > 1) diag_hint(p->ctx, d, "text is written between double quotes: \"...\"");
		return;
	case LEX_STRING_DEEP:
		diag_error(p->ctx, E_NESTING, at, "strings nested more than %d deep in interpolations",
		           LEX_STRINGS);
		return;
	}
}

static Atom fold_atom(Parser *p, uint32_t start, uint32_t end) {
	const char *text = p->text + start;
	size_t n = end - start;
	bool ascii = true;
	for (size_t i = 0; i < n && ascii; i++) ascii = (unsigned char)text[i] < 0x80;
	if (ascii) return atom_n(p->ctx, text, n);
	if (n == 2 && !memcmp(text, "π", 2)) return p->pi;
	if (n == 3 && !memcmp(text, "∞", 3)) return atom(p->ctx, "inf");
	char *folded = arena_alloc(p->scratch, n);
	return atom_n(p->ctx, folded, lex_fold_name(text, n, folded));
}

enum { TOKENS_POLL = 16384 };

/* True when a string has no end. Strings are then read as ending with their
 * line, to find the one without its quote. */
static bool lacks_quote(const Parser *p) {
	Lexer lx;
	lexer_init(&lx, p->text, p->n, false);
	for (uint32_t n = 1; lexer_next(&lx).kind != TK_EOF; n++)
		if (n % TOKENS_POLL == 0) ctx_poll_throw(p->ctx);
	return lx.unclosed;
}

/* Fills p->tokens. */
static void tokenise(Parser *p) {
	VEC(Token) list = {0};
	Pairing pairing = {0};
	Lexer lx;
	lexer_init(&lx, p->text, p->n, lacks_quote(p));
	PUSH(p, &list, ((Token){.kind = TK_NEWLINE}));
	PUSH(p, &pairing.weak, (Weak){0});
	bool newline = true, space = true, string_reported = false;
	uint32_t string_start = 0;                   /* of the outermost string */
	uint32_t strings[LEX_STRINGS], nstrings = 0; /* tokens of the enclosing strings */
	for (uint32_t n = 1;; n++) {
		if (n % TOKENS_POLL == 0) ctx_poll_throw(p->ctx);
		Lexeme t = lexer_next(&lx);
		if (t.kind == TK_SPACE || t.kind == TK_COMMENT || t.kind == TK_NEWLINE) {
			space = true;
			newline |= t.kind == TK_NEWLINE;
			continue;
		}
		if (t.kind == TK_STR_OPEN && lx.level == 1) string_start = t.start;
		bool string_end = t.error == LEX_STRING_END || t.error == LEX_INTERP_END;
		/* "a {b": the last quote opens a string */
		if (t.error == LEX_STRING_END && lx.level) t.error = LEX_INTERP_END;
		if (!string_end || !string_reported) report_lexeme(p, t, string_start);
		string_reported |= string_end;
		for (uint32_t i = 0; string_end && i < nstrings; i++)
			list.at[strings[i]].error = LEX_STRING_END;
		Token token = {(uint8_t)t.kind, newline, space, (uint8_t)t.error, t.start, t.end, 0, 0};
		if (t.kind == TK_NAME || token_is_keyword(t.kind))
			token.name = fold_atom(p, t.start, t.end);
		if (t.kind == TK_STR_OPEN) strings[nstrings++] = list.n;
		if (t.kind == TK_STR_CLOSE) nstrings--;
		PUSH(p, &list, token);
		p->tokens = list.at;
		if (is_opener(token.kind)) pair_open(p, &pairing, list.n - 1);
		if (is_closer(token.kind)) pair_close(p, &pairing, list.n - 1);
		newline = space = false;
		if (t.kind == TK_EOF) break;
	}
	p->ntokens = list.n;
	p->at = p->swallowed = 1;
}

Token *token_now(const Parser *p) { return &p->tokens[p->at]; }

TokenKind kind_now(const Parser *p) {
	const Token *t = token_now(p);
	TokenKind k = (TokenKind)t->kind;
	if (t->newline && !p->joined && p->swallowed != p->at && k != TK_EOF && !lex_continues_line(k))
		return TK_NEWLINE;
	return k;
}

TokenKind kind_after(const Parser *p, uint32_t k) {
	if (k >= p->ntokens - p->at) return TK_EOF;
	const Token *t = &p->tokens[p->at + k];
	return t->newline && !p->joined ? TK_NEWLINE : (TokenKind)t->kind;
}

void advance(Parser *p) {
	if (p->at + 1 < p->ntokens) p->at++;
}

void swallow_newline(Parser *p) { p->swallowed = p->at; }

bool accept(Parser *p, TokenKind k) {
	if (kind_now(p) != k) return false;
	advance(p);
	return true;
}

void expect(Parser *p, TokenKind k, const char *what) {
	if (!accept(p, k)) unexpected(p, what);
}

static bool is_word(const Parser *p, uint32_t i, const char *word) {
	const Token *t = &p->tokens[i];
	return t->kind == TK_NAME && t->end - t->start == strlen(word) &&
	       !memcmp(p->text + t->start, word, strlen(word));
}

bool at_word(const Parser *p, const char *word) {
	return kind_now(p) == TK_NAME && is_word(p, p->at, word);
}

/* ---- brackets ------------------------------------------------------------ */

Bracket open_bracket(Parser *p) {
	Bracket b = {p->at, p->joined, p->in_index};
	const Token *t = token_now(p);
	p->joined = is_weak(t->kind) && t->match ? p->joined + 1 : 0;
	p->in_index = false;
	advance(p);
	swallow_newline(p);
	return b;
}

static uint32_t line_start(const Parser *p, uint32_t offset) {
	while (offset && p->text[offset - 1] != '\n') offset--;
	return offset;
}

static uint32_t indentation(const Parser *p, uint32_t offset) {
	uint32_t i = line_start(p, offset), columns = 0;
	for (; i < p->n && (p->text[i] == ' ' || p->text[i] == '\t'); i++)
		columns += p->text[i] == '\t' ? 4 : 1;
	return columns;
}

/* The { that probably lacks its }, when the one at `open` found none: the first
 * inside it that has a less indented }. */
static uint32_t suspect_brace(const Parser *p, uint32_t open) {
	for (uint32_t i = open + 1, seen = 0; i < p->ntokens && seen < 200; i++) {
		const Token *t = &p->tokens[i];
		if (t->kind != TK_LBRACE || !t->match || !p->tokens[t->match].newline) continue;
		seen++;
		if (indentation(p, p->tokens[t->match].start) < indentation(p, t->start)) return i;
	}
	return open;
}

void close_bracket(Parser *p, Bracket b, const char *what) {
	const Token *t = token_now(p), *open = &p->tokens[b.open];
	TokenKind closer = (TokenKind)closer_of(open->kind);
	if (t->kind == closer && (kind_now(p) == closer || closer == TK_RBRACE)) {
		advance(p);
		p->joined = b.joined;
		p->in_index = b.in_index;
		return;
	}
	if (open->match) unexpected(p, what);
	if (p->stopped || t->error) give_up(p);
	bool line_ends = t->newline || t->kind == TK_EOF;
	uint32_t before = p->tokens[p->at - 1].end;
	Span at = line_ends ? span_made(p->source, before, before) : token_span(p, p->at);
	uint32_t opened = open->kind == TK_LBRACE ? suspect_brace(p, b.open) : b.open;
	const char *called = lex_kind_called((TokenKind)open->kind);
	const char *wanted = lex_kind_called(closer);
	Diag *d = line_ends
	              ? diag_error(p->ctx, E_UNCLOSED, at, "this %s has no closing %s", called, wanted)
	              : diag_error(p->ctx, E_UNCLOSED, at, "expected %s before %s", wanted,
	                           token_called(p, p->at));
	diag_label(p->ctx, d, "%s expected here", wanted);
	if (opened == b.open) diag_second(p->ctx, d, token_span(p, opened), "the %s is here", called);
	else
		diag_second(p->ctx, d, token_span(p, opened), "this %s may be the one that is not closed",
		            called);
	if (t->kind == TK_EOF) p->stopped = true;
	give_up(p);
}

/* ---- nodes --------------------------------------------------------------- */

void *keep(Parser *p, const void *at, size_t bytes) {
	if (!bytes) return NULL;
	return memcpy(arena_alloc(p->arena, bytes), at, bytes);
}

Ast *node_new(Parser *p, AstKind kind) {
	Ast *a = ARENA_NEW(p->arena, Ast);
	a->kind = (uint8_t)kind;
	a->id = (*p->next_id)++;
	PUSH(p, &p->heights, 0);
	return a;
}

typedef struct Height {
	const Parser *p;
	uint16_t most;
} Height;

static void visit_height(void *ud, const Ast *child) {
	Height *h = ud;
	uint16_t height = h->p->heights.at[child->id - h->p->first_id];
	if (height > h->most) h->most = height;
}

Ast *node_done(Parser *p, Ast *a, uint32_t first) {
	a->span = span_from(p, first);
	Height h = {p, 0};
	ast_children(a, visit_height, &h);
	if (h.most >= HEIGHT_LIMIT) {
		FAIL(p, E_NESTING, a->span, "more than %d operations, each inside the next: split them",
		     HEIGHT_LIMIT);
	}
	p->heights.at[a->id - p->first_id] = (uint16_t)(h.most + 1);
	return a;
}

Span token_span(const Parser *p, uint32_t i) {
	const Token *t = &p->tokens[i];
	uint32_t end = t->kind == TK_STR_OPEN && t->match ? p->tokens[t->match].end : t->end;
	return span_made(p->source, t->start, end);
}

Span span_from(const Parser *p, uint32_t first) {
	uint32_t start = p->tokens[first].start, end = p->tokens[p->at - 1].end;
	return span_made(p->source, start, end > start ? end : start);
}

/* ---- messages ------------------------------------------------------------ */

_Noreturn void give_up(Parser *p) {
	if (diag_count(p->ctx, SEV_ERROR) - p->errors_before >= ERROR_LIMIT) p->stopped = true;
	ctx_throw(p->ctx, ST_ERROR);
}

const char *token_called(const Parser *p, uint32_t i) {
	const Token *t = &p->tokens[i];
	const char *called = lex_kind_called((TokenKind)t->kind);
	if (called) return called;
	size_t n = t->end - t->start, shown = n;
	if (shown > 40) {
		shown = 40;
		while (shown && ((unsigned char)p->text[t->start + shown] & 0xc0) == 0x80) shown--;
	}
	return arena_printf(p->scratch, "`%.*s%s`", (int)shown, p->text + t->start,
	                    shown < n ? "..." : "");
}

/* The text of a token, at most 60 bytes. */
static const char *token_text(const Parser *p, uint32_t i) {
	const Token *t = &p->tokens[i];
	return arena_printf(p->scratch, "%.*s", (int)(t->end - t->start < 60 ? t->end - t->start : 60),
	                    p->text + t->start);
}

/* A hint for two words in a row that have a meaning in another language. */
static const char *hint_for_words(const Parser *p, uint32_t i) {
	static const struct {
		const char *words, *hint;
	} known[] = {
		{" let var const local ", "a name is given a value by `name = value`"},
		{" def function fn func fun ", "a function is written f(x) = ..."},
		{" import using require include ", "a module is loaded by `use name`"},
		{" elif elseif elsif ", "write `else if`"},
		{" print println disp echo ", "a call needs parentheses: print(x)"},
		{" lambda ", "a function without a name is written x -> ..."},
		{" end ", "a block is written { ... }"},
		{" do begin then ", "a block is written { ... }"},
		{" except finally rescue ", "the second block of a `try` is written catch m { ... }"},
		{" mod rem ", "the remainder is written a % b"},
		{" div ", "division is written a / b, and a // b rounds down"},
		{" is ", "to compare, write `==`"},
		{" global nonlocal ",
	     "a function does not change names outside itself: give the value back"},
		{" switch case match ", "a choice is written if a { ... } else if b { ... } else { ... }"},
		{" class struct type ", "a record is written (name = value, ...)"},
		{" foreach parfor ", "a loop is written for x in values { ... }"},
		{" until loop repeat ",
	     "a loop is written while condition { ... } or for i in 0..n { ... }"},
	};
	const Token *t = &p->tokens[i];
	char padded[16];
	if (t->kind != TK_NAME || t->end - t->start > 12) return NULL;
	snprintf(padded, sizeof padded, " %.*s ", (int)(t->end - t->start), p->text + t->start);
	for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
		if (strstr(known[k].words, padded)) return known[k].hint;
	}
	return NULL;
}

static const char *hint_for_unexpected(const Parser *p, TokenKind k, const char *what) {
	const Token *t = token_now(p), *before = &p->tokens[p->at - 1];
	if (k == TK_NEWLINE && strstr(what, "`{`")) return "the `{` of a block stands on the same line";
	const char *hint = k == TK_NEWLINE ? NULL : hint_for_words(p, p->at);
	if (!hint && !t->newline) hint = hint_for_words(p, p->at - 1);
	if (hint) return hint;
	bool operand = k == TK_NAME || k == TK_LPAREN || k == TK_NUMBER;
	bool product = !strcmp(what, "the end of the statement") || strstr(what, "argument") ||
	               strstr(what, "element");
	if (strstr(what, "an element") && operand)
		return "the elements of a row are separated by `,`, rows by `;`";
	if (strstr(what, "what to go through") && k == TK_ASSIGN)
		return "a loop is written for i in a..b { ... }; the end b is left out";
	if (strstr(what, "after a name") && k == TK_ASSIGN)
		return "a loop is written for i in a..b { ... }; the end b is left out";
	if (k == TK_COLON && strstr(what, "index"))
		return "a part of an array is written x[a..b]; the end b is left out";
	if (k == TK_COLON && before->kind == TK_NUMBER && strstr(what, "statement"))
		return "a range is written a..b; the end b is left out";
	if (k == TK_COLON && before->kind == TK_STR_CLOSE && strstr(what, "statement"))
		return "a record is written (name = value, ...)";
	if (k == TK_COLON && p->at > 1 && before->kind == TK_NAME &&
	    p->tokens[p->at - 2].kind == TK_LBRACE)
		return "a record is written (name = value, ...)";
	if (k == TK_FLOORDIV && strstr(what, "an expression") && t->newline)
		return "a comment starts with #";
	if (k == TK_PERCENT && strstr(what, "an expression") && t->newline)
		return "a comment starts with #";
	if (k == TK_SLASH && strstr(what, "an expression") && t->newline)
		return "a comment starts with #";
	if (k == TK_LBRACE && before->kind == TK_RPAREN && strstr(what, "statement"))
		return "a function is written f(x) = { ... }";
	if (k == TK_MATMUL && strstr(what, "an expression"))
		return "a function without a name is written x -> ..., a product of matrices A @ B";
	if (k == TK_LPAREN && strstr(what, "a field"))
		return "functions of numbers work element by element already: f(x); any other by map(f, x)";
	if (k == TK_STR_OPEN && before->kind == TK_NAME && !t->space)
		return "text stands in quotes alone, and {x} in it is the value of x";
	if (k == TK_IF && strstr(what, "statement")) return "a choice is written if c { a } else { b }";
	if (before->kind == TK_NAME && operand && t->space && !t->newline &&
	    strstr(what, "statement")) {
		return arena_printf(p->scratch, "a call is written %s(...), a product with `*`",
		                    token_text(p, p->at - 1));
	}
	if (before->kind == TK_RANGE && !operand)
		return "a range is written a..b; only an index may leave out an end";
	if (k == TK_NUMBER && strstr(what, "parameter"))
		return "f(...) = ... defines a function; to compare, write `==`";
	if (k == TK_NUMBER && p->text[t->start] == '.' && !t->space)
		return "an element is written x[0]";
	if (k == TK_NAME && strstr(what, "`at`")) return "a condition is written u == 0 at x = 1";
	switch (k) {
	case TK_ARROW: return "the parameters of a function are names: x -> ... or (x, y) -> ...";
	case TK_ASSIGN: return "`=` gives a name a value; to compare, write `==`";
	case TK_COLON: return "a block is written { ... }";
	case TK_ELSE: return "`else` stands behind the } of an `if`";
	case TK_RANGE: return "a range is written a..b; only an index may leave out an end";
	case TK_ELLIPSIS:
		return "`...` stands in front of an argument, a field or an item of a tuple, or in an "
			   "index";
	default: break;
	}
	if (operand && before->kind == TK_NUMBER)
		return "a product is written 2 * x, or 2x without a space";
	bool behind = before->kind == TK_RPAREN || before->kind == TK_NAME;
	return product && behind && k == TK_NAME && !t->newline ? "a product is written with `*`"
	                                                        : NULL;
}

_Noreturn void unexpected(Parser *p, const char *what) {
	TokenKind k = kind_now(p);
	const Token *t = token_now(p);
	if (p->stopped || t->error) give_up(p);
	Span at = token_span(p, p->at);
	if (k == TK_NEWLINE || k == TK_EOF) at.start = at.end = p->tokens[p->at - 1].end;
	Diag *d;
	if (is_closer(t->kind) && !t->match && k == (TokenKind)t->kind) {
		d = diag_error(p->ctx, E_UNCLOSED, at, "this %s closes nothing", token_called(p, p->at));
	} else if (token_is_keyword(k) && strstr(what, "name")) {
		d = diag_error(p->ctx, E_SYNTAX, at, "expected %s, but `%s` is a keyword", what,
		               atom_text(p->ctx, t->name));
	} else {
		const char *found = k == TK_NEWLINE ? lex_kind_called(k) : token_called(p, p->at);
		d = diag_error(p->ctx, E_SYNTAX, at, "expected %s, found %s", what, found);
		const char *hint = hint_for_unexpected(p, k, what);
		if (hint) diag_hint(p->ctx, d, "%s", hint);
	}
	if (k == TK_EOF) p->stopped = true;
	give_up(p);
}

void descend(Parser *p) {
	if (++p->depth > NESTING_LIMIT) {
		FAIL(p, E_NESTING, token_span(p, p->at), "nested more than %d levels deep", NESTING_LIMIT);
	}
}

/* ---- sequences of statements, and recovery ------------------------------- */

/* Skips to the statement after a failed one: the first line, `;` or closing
 * brace after the error that is outside the brackets which the failed statement
 * opened. */
static void recover(Parser *p, uint32_t start) {
	uint32_t error = p->at, i = start;
	while (p->tokens[i].kind != TK_EOF) {
		const Token *t = &p->tokens[i];
		if (i > start && i >= error) {
			bool goes_on =
				lex_continues_line((TokenKind)t->kind) || t->kind == TK_ELSE || t->kind == TK_CATCH;
			bool line = t->newline && !goes_on;
			if (line || t->kind == TK_SEMICOLON || (t->kind == TK_RBRACE && t->match)) break;
		}
		i = is_opener(t->kind) && t->match ? t->match + 1 : i + 1;
	}
	p->at = i;
}

typedef struct StatementJob {
	Parser *p;
	void (*one)(Parser *p, void *out);
	void *out;
} StatementJob;

static void run_statement(Ctx *c, void *arg) {
	(void)c;
	StatementJob *job = arg;
	job->one(job->p, job->out);
}

void parse_statements(Parser *p, TokenKind closer, void (*one)(Parser *p, void *out), void *out) {
	for (;;) {
		while (token_now(p)->kind == TK_SEMICOLON) advance(p);
		TokenKind k = (TokenKind)token_now(p)->kind;
		if (k == TK_EOF || k == closer) return;
		uint32_t start = p->at, depth = p->depth, joined = p->joined;
		bool in_index = p->in_index;
		StatementJob job = {p, one, out};
		swallow_newline(p);
		Status s = ctx_protect(p->ctx, run_statement, &job);
		if (s != ST_OK && s != ST_ERROR) ctx_throw(p->ctx, s);
		if (s == ST_ERROR) {
			p->depth = depth;
			p->joined = joined;
			p->in_index = in_index;
			recover(p, start);
			if (p->stopped) p->at = p->ntokens - 1;
		}
		if (p->at == start) advance(p);
	}
}

/* ---- the public entry ---------------------------------------------------- */

static uint32_t *next_id(Ctx *c) {
	uint32_t *next = ctx_slot(c, SLOT_SYNTAX);
	if (!next) {
		next = ARENA_NEW(ctx_arena(c), uint32_t);
		*next = 1;
		ctx_set_slot(c, SLOT_SYNTAX, next, NULL);
	}
	return next;
}

uint32_t parse_next_id(Ctx *c) { return *next_id(c); }

typedef struct ProgramJob {
	Parser p;
	AstList list;
} ProgramJob;

static void run_program(Ctx *c, void *arg) {
	(void)c;
	ProgramJob *job = arg;
	Parser *p = &job->p;
	tokenise(p);
	parse_statements(p, TK_EOF, parse_statement, &job->list);
	job->list.at = KEEP(p, job->list);
}

Program parse_program(Ctx *c, Arena *a, SourceId source, bool *ok) {
	size_t n;
	const char *text = source_text(c, source, &n);
	uint32_t *next = next_id(c);
	ProgramJob job = {.p = {.ctx = c,
	                        .arena = a,
	                        .scratch = arena_new(c),
	                        .source = source,
	                        .text = text,
	                        .n = (uint32_t)n,
	                        .next_id = next,
	                        .first_id = *next,
	                        .errors_before = diag_count(c, SEV_ERROR),
	                        .delta = atom(c, "Δ"),
	                        .lap = atom(c, "lap"),
	                        .pi = atom(c, "pi"),
	                        .unknowns = atom(c, "unknowns")}};
	Status s = ctx_protect(c, run_program, &job);
	arena_free(job.p.scratch);
	if (s != ST_OK) ctx_throw(c, s);
	if (ok) *ok = diag_count(c, SEV_ERROR) == job.p.errors_before;
	return (Program){source, job.list.n, job.list.at};
}
