/* parser.h - what the files of the parser share: the tokens, the place in them,
 * nodes, messages.
 *
 * Needs: lexer.h, ast.h. Nothing outside parser/ includes this. Guarantees: one
 * Parser per text, on the stack. A function that parses returns a node and
 * stands behind it, or reports and throws ST_ERROR to the statement that it is
 * part of (parse_statements), which goes on with the next one.
 */
#ifndef ATLED_PARSER_SYNTAX_PARSER_H
#define ATLED_PARSER_SYNTAX_PARSER_H

#include "parser/syntax/ast.h"
#include "parser/syntax/lexer.h"
#include <stdio.h>

#define NESTING_LIMIT 400 /* calls of the parser into itself: brackets, blocks, prefixes, powers */
/* of a tree: also bounds a + b + c + ..., which later passes descend into */
#define HEIGHT_LIMIT 2000
#define ERROR_LIMIT 100 /* then the rest of the text is not read */

typedef struct Token {
	uint8_t kind;  /* TokenKind, never TK_SPACE, TK_COMMENT or TK_NEWLINE */
	bool newline;  /* first on its line */
	bool space;    /* space, a comment or a new line lies before it */
	uint8_t error; /* LexError; already reported */
	uint32_t start, end;
	uint32_t match; /* of a bracket or quote: the token of its partner; 0: it has none */
	Atom name;      /* TK_NAME and keywords */
} Token;

typedef struct Parser {
	uint32_t negated; /* the token behind the last sign `-` */
	Ctx *ctx;
	Arena *arena;   /* of the nodes */
	Arena *scratch; /* of the tokens and lists that grow; dies with the parser */
	SourceId source;
	const char *text;
	uint32_t n;
	Token *tokens; /* tokens[0] is a TK_NEWLINE sentinel, the last one TK_EOF */
	uint32_t ntokens;
	uint32_t at; /* the current token */
	/* the token whose line break does not count, since its statement cannot
	 * be over */
	uint32_t swallowed;
	uint32_t joined; /* > 0: inside ( or [, where no line break counts */
	bool in_index;   /* directly inside x[...]: range ends may be missing */
	uint32_t depth;
	uint32_t *next_id;
	uint32_t first_id;
	VEC(uint16_t) heights;  /* of the nodes, by id - first_id */
	uint32_t errors_before; /* diagnostics that were there when we came */
	bool stopped;           /* the end was reported, or too many errors: no further ones */
	Atom delta, lap, pi, unknowns;
} Parser;

typedef VEC(Ast *) AstList;
typedef VEC(Arg) ArgList;
typedef VEC(Param) ParamList;
typedef VEC(ForClause) ClauseList;
typedef VEC(Atom) AtomList;
typedef VEC(Span) SpanList;

/* ---- parser.c: tokens ---------------------------------------------------- */

/* TK_NEWLINE where the line ends the statement */
TokenKind kind_now(const Parser *p);
/* k tokens on; TK_NEWLINE if it starts a line outside ( and [ */
TokenKind kind_after(const Parser *p, uint32_t k);
Token *token_now(const Parser *p);
void advance(Parser *p);
void swallow_newline(Parser *p); /* after an operator: the next line belongs to the statement */
bool accept(Parser *p, TokenKind k);
void expect(Parser *p, TokenKind k, const char *what);
bool at_word(const Parser *p, const char *word); /* a contextual keyword */
/* Opens ( [ or { and returns its token; close_bracket reports the opening one
 * when the partner is not there. */
typedef struct Bracket {
	uint32_t open, joined;
	bool in_index;
} Bracket;
Bracket open_bracket(Parser *p);
void close_bracket(Parser *p, Bracket b, const char *what);

/* ---- parser.c: nodes ----------------------------------------------------- */

Ast *node_new(Parser *p, AstKind kind);
/* Finishes a node: from token `first` to the token before the current one.
 * Throws when the tree becomes too high. */
Ast *node_done(Parser *p, Ast *a, uint32_t first);
Span span_from(const Parser *p, uint32_t first); /* the same, as a span */
Span token_span(const Parser *p, uint32_t i);
void *keep(Parser *p, const void *at, size_t bytes); /* copies out of the scratch arena */
#define KEEP(p, v) keep((p), (v).at, sizeof *(v).at *(size_t)(v).n)
#define PUSH(p, v, x) VEC_PUSH((p)->scratch, (v), (x))

/* ---- parser.c: messages -------------------------------------------------- */

_Noreturn void give_up(Parser *p);
#define FAIL(p, code, span, ...)                                                                   \
	do {                                                                                           \
		if (!(p)->stopped) diag_error((p)->ctx, (code), (span), __VA_ARGS__);                      \
		give_up(p);                                                                                \
	} while (0)
/* The same with a hint. `hint` is text, not a format. */
#define FAIL_HINT(p, code, span, hint, ...)                                                        \
	do {                                                                                           \
		if (!(p)->stopped) {                                                                       \
			diag_hint((p)->ctx, diag_error((p)->ctx, (code), (span), __VA_ARGS__), "%s", (hint));  \
		}                                                                                          \
		give_up(p);                                                                                \
	} while (0)
/* "expected WHAT, found ...", with a hint for the common slips. */
_Noreturn void unexpected(Parser *p, const char *what);
/* The text of a token, in backquotes or described. Lives in the scratch arena.
 */
const char *token_called(const Parser *p, uint32_t i);
void descend(Parser *p); /* throws at the nesting limit; p->depth-- when done */

/* ---- parser.c: statements in a row --------------------------------------- */

/* Statements up to `closer` (not consumed), each protected: `one` parses one
 * and appends to `out`. */
void parse_statements(Parser *p, TokenKind closer, void (*one)(Parser *p, void *out), void *out);

/* ---- parse_expr.c -------------------------------------------------------- */

Ast *parse_expression(Parser *p);      /* everything but the unparenthesised tuple */
Ast *parse_expression_list(Parser *p); /* a, b without parentheses is a tuple */
Ast *parse_range(Parser *p);           /* binds tighter than comparison */
Ast *parse_sum(Parser *p);             /* binds tighter than a range */
Ast *parse_postfix(Parser *p);
Ast *parse_condition(Parser *p);
Ast *parse_string(Parser *p);
void parse_clauses(Parser *p, ClauseList *out); /* for i, j in r for k ... */
Ast *parse_for_target(Parser *p);
Atom parse_name(Parser *p, const char *what, Span *span);

/* ---- parse_stmt.c -------------------------------------------------------- */

void parse_statement(Parser *p, void *list); /* AstList */
Ast *parse_block(Parser *p, const char *after);
/* ( already consumed; up to the closing bracket, which is not. */
void parse_params(Parser *p, TokenKind closer, bool named_too, ParamList *out);
bool at_definition(const Parser *p); /* f(...) = or f(...) -> */
Ast *parse_definition(Parser *p);

/* ---- parse_problem.c ----------------------------------------------------- */

Ast *parse_problem(Parser *p);

#endif
