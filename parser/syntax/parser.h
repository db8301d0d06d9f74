/* parser.h - declarations shared by the parser's files: tokens, position,
 * nodes, messages.
 *
 * Needs: lexer.h, ast.h. Nothing outside parser/ includes this file.
 *
 * Contract:
 * - One Parser for each text, on the stack.
 * - A parsing function returns a node and leaves the position after it. On an
 *   error it reports and throws ST_ERROR.
 * - parse_statements catches the error and continues with the next statement.
 */
#ifndef ATLED_PARSER_SYNTAX_PARSER_H
#define ATLED_PARSER_SYNTAX_PARSER_H

#include "parser/syntax/ast.h"
#include "parser/syntax/lexer.h"
#include <stdio.h>

#define NESTING_LIMIT 400 /* recursion of the parser: brackets, blocks, prefixes, powers */
/* Of a tree. It also bounds a + b + c + ..., into which later passes
 * descend. */
#define HEIGHT_LIMIT 2000
#define ERROR_LIMIT 100 /* after that many, the remaining text is not read */

typedef struct Token {
	uint8_t kind;  /* TokenKind, never TK_SPACE, TK_COMMENT or TK_NEWLINE */
	bool newline;  /* first on its line */
	bool space;    /* space, a comment or a line break precedes it */
	uint8_t error; /* LexError; already reported */
	uint32_t start, end;
	uint32_t match; /* of a bracket or quote: its partner's token; 0: it has none */
	Atom name;      /* TK_NAME and keywords */
} Token;

typedef struct Parser {
	uint32_t negated; /* the token after the last sign `-` */
	Ctx *ctx;
	Arena *arena;   /* of the nodes */
	Arena *scratch; /* for tokens and growing lists; freed with the parser */
	SourceId source;
	const char *text;
	uint32_t n;
	Token *tokens; /* tokens[0] is a TK_NEWLINE sentinel, the last one TK_EOF */
	uint32_t ntokens;
	uint32_t at; /* the current token */
	/* A line break before this token does not count, since its statement cannot
	 * be over. */
	uint32_t swallowed;
	uint32_t joined; /* > 0: inside ( or [, where no line break counts */
	bool in_index;   /* directly inside x[...]: range ends may be missing */
	uint32_t depth;
	uint32_t *next_id;
	uint32_t first_id;
	VEC(uint16_t) heights;  /* of the nodes, by id - first_id */
	uint32_t errors_before; /* errors reported before this text */
	bool stopped;           /* no further messages: the end was reported, or too many errors */
	Atom delta, lap, pi, unknowns;
} Parser;

typedef VEC(Ast *) AstList;
typedef VEC(Arg) ArgList;
typedef VEC(Param) ParamList;
typedef VEC(ForClause) ClauseList;
typedef VEC(Atom) AtomList;
typedef VEC(Span) SpanList;

/* ---- parser.c: tokens ---------------------------------------------------- */

/* TK_NEWLINE where the line ends the statement. */
TokenKind kind_now(const Parser *p);
/* The kind k tokens ahead; TK_NEWLINE if that token starts a line outside ( and
 * [. */
TokenKind kind_after(const Parser *p, uint32_t k);
Token *token_now(const Parser *p);
void advance(Parser *p);
void swallow_newline(Parser *p); /* after an operator: the next line belongs to the statement */
bool accept(Parser *p, TokenKind k);
void expect(Parser *p, TokenKind k, const char *what);
bool at_word(const Parser *p, const char *word); /* a contextual keyword */
/* open_bracket consumes ( [ or { and returns its position. close_bracket
 * reports the opening bracket when the partner is missing. */
typedef struct Bracket {
	uint32_t open, joined;
	bool in_index;
} Bracket;
Bracket open_bracket(Parser *p);
void close_bracket(Parser *p, Bracket b, const char *what);

/* ---- parser.c: nodes ----------------------------------------------------- */

Ast *node_new(Parser *p, AstKind kind);
/* Finishes a node, which extends from token `first` to the token before the
 * current one. Throws when the tree becomes too high. */
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
/* The same with a hint, which is a string and not a format. */
#define FAIL_HINT(p, code, span, hint, ...)                                                        \
	do {                                                                                           \
		if (!(p)->stopped) {                                                                       \
			diag_hint((p)->ctx, diag_error((p)->ctx, (code), (span), __VA_ARGS__), "%s", (hint));  \
		}                                                                                          \
		give_up(p);                                                                                \
	} while (0)
/* Reports "expected WHAT, found ...", with a hint for common mistakes, and
 * throws. */
_Noreturn void unexpected(Parser *p, const char *what);
/* The text of a token in backquotes, or its description. Lives in the scratch
 * arena. */
const char *token_called(const Parser *p, uint32_t i);
void descend(Parser *p); /* throws at the nesting limit; the caller does p->depth-- at the end */

/* ---- once.c: fails where a name stands twice ---------------------------- */

void params_once(Parser *p, const ParamList *params);
void targets_once(Parser *p, const Ast *target); /* a name or a tuple, else nothing */
void fields_once(Parser *p, const ArgList *fields);

/* ---- parser.c: sequences of statements ----------------------------------- */

/* Parses statements up to `closer`, which is not consumed. `one` parses one
 * statement and appends it to `out`; an error in it does not affect the
 * others. */
void parse_statements(Parser *p, TokenKind closer, void (*one)(Parser *p, void *out), void *out);

/* ---- parse_expr.c -------------------------------------------------------- */

Ast *parse_expression(Parser *p);      /* everything but the unparenthesised tuple */
Ast *parse_expression_list(Parser *p); /* a, b without parentheses is a tuple */
Ast *parse_range(Parser *p);           /* binds tighter than comparison */
Ast *parse_sum(Parser *p);             /* binds tighter than a range */
Ast *parse_condition(Parser *p);
/* True when the token before is a number and the current token, directly after
 * it, multiplies it. */
bool at_juxtaposed(const Parser *p);
/* Consumes the current operator; its operand may be on the next line. */
Span take_operator(Parser *p);
/* Nodes that extend from token `first` to the token before the current one. */
Ast *binary_node(Parser *p, AstKind kind, AstOp op, Ast *left, Span op_span, Ast *right,
                 uint32_t first);
Ast *unary_node(Parser *p, AstOp op, Ast *operand, uint32_t first);
Ast *name_node(Parser *p, Atom name, uint32_t first);
Ast *integer_node(Parser *p, int64_t value, uint32_t first);
Ast *call_node(Parser *p, Ast *callee, uint32_t n, const Arg *args, uint32_t first);
static inline Arg positional(Ast *value) { return (Arg){.value = value, .span = value->span}; }

/* ---- parse_postfix.c ----------------------------------------------------- */

Ast *parse_postfix(Parser *p);
/* `must_name`: the argument is behind a `;`. `first_of_call`: it may have
 * clauses. */
Arg parse_arg(Parser *p, bool of_call, bool must_name, bool first_of_call);
Ast *parse_call(Parser *p, Ast *callee, uint32_t first); /* the arguments of callee */
void parse_clauses(Parser *p, ClauseList *out);          /* for i, j in r for k ... */
Ast *parse_comprehension(Parser *p, Ast *body, bool generator, uint32_t first);
Ast *parse_for_target(Parser *p);
Atom parse_name(Parser *p, const char *what, Span *span);

/* ---- parse_primary.c ----------------------------------------------------- */

Ast *parse_primary(Parser *p);

/* ---- parse_literal.c ----------------------------------------------------- */

Ast *parse_number(Parser *p);
Ast *parse_string(Parser *p);

/* ---- parse_stmt.c -------------------------------------------------------- */

void parse_statement(Parser *p, void *list); /* AstList */
Ast *parse_block(Parser *p, const char *after);
/* Parses parameters up to the closing bracket, which is not consumed. The
 * caller has consumed the opening one. */
void parse_params(Parser *p, TokenKind closer, bool named_too, ParamList *out);
bool at_definition(const Parser *p); /* f(...) = or f(...) -> */
Ast *parse_definition(Parser *p);

/* ---- parse_problem.c ----------------------------------------------------- */

Ast *parse_problem(Parser *p);

#endif
