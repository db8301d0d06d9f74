/* lexer.h - a lexer that produces tokens on demand, without allocation.
 *
 * Needs: libc only, so that highlighting and parse_is_incomplete work without a
 * context.
 *
 * Contract:
 * - The tokens cover the text without gaps or overlaps; space and comments are
 *   tokens as well. Only the closing tokens that complete an unclosed string
 *   have zero width.
 * - Every call advances or closes a string. The end is therefore reached in
 *   linear time for any bytes.
 * - A string yields several pieces, and its interpolations yield ordinary
 *   tokens. TK_STR_OPEN and TK_INTERP_OPEN always have their closing token.
 */
#ifndef ATLED_PARSER_SYNTAX_LEXER_H
#define ATLED_PARSER_SYNTAX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TOKEN(kind, its name in messages, or NULL for its own text). Operators follow
 * the other tokens; keywords come last. */
#define LEX_TOKENS(TOKEN)                                                                          \
	TOKEN(TK_EOF, "the end of the text")                                                           \
	TOKEN(TK_NEWLINE, "the end of the line")                                                       \
	TOKEN(TK_SPACE, "a space")                                                                     \
	TOKEN(TK_COMMENT, "a comment")                                                                 \
	TOKEN(TK_ERROR, NULL)                                                                          \
	TOKEN(TK_NUMBER, NULL)                                                                         \
	TOKEN(TK_NAME, NULL)                                                                           \
	TOKEN(TK_STR_OPEN, "a string")                                                                 \
	TOKEN(TK_STR_TEXT, "a string")                                                                 \
	TOKEN(TK_STR_CLOSE, "the end of the string")                                                   \
	TOKEN(TK_INTERP_OPEN, "`{`")                                                                   \
	TOKEN(TK_INTERP_DEBUG, "`=`")                                                                  \
	TOKEN(TK_INTERP_SPEC, "`:`")                                                                   \
	TOKEN(TK_INTERP_CLOSE, "the `}` that ends the interpolation")                                  \
	TOKEN(TK_LPAREN, "`(`")                                                                        \
	TOKEN(TK_RPAREN, "`)`")                                                                        \
	TOKEN(TK_LBRACKET, "`[`")                                                                      \
	TOKEN(TK_RBRACKET, "`]`")                                                                      \
	TOKEN(TK_LBRACE, "`{`")                                                                        \
	TOKEN(TK_RBRACE, "`}`")                                                                        \
	TOKEN(TK_PLUS, NULL)                                                                           \
	TOKEN(TK_MINUS, NULL)                                                                          \
	TOKEN(TK_STAR, NULL)                                                                           \
	TOKEN(TK_SLASH, NULL)                                                                          \
	TOKEN(TK_FLOORDIV, NULL)                                                                       \
	TOKEN(TK_PERCENT, NULL)                                                                        \
	TOKEN(TK_MATMUL, NULL)                                                                         \
	TOKEN(TK_INNER, NULL) /* · */                                                                 \
	TOKEN(TK_CROSS, NULL) /* × */                                                                 \
	TOKEN(TK_CARET, NULL)                                                                          \
	TOKEN(TK_COMPOSE, NULL) /* ∘ */                                                              \
	TOKEN(TK_PIPE, NULL)                                                                           \
	TOKEN(TK_EQ, NULL)                                                                             \
	TOKEN(TK_NE, NULL)                                                                             \
	TOKEN(TK_LT, NULL)                                                                             \
	TOKEN(TK_LE, NULL)                                                                             \
	TOKEN(TK_GT, NULL)                                                                             \
	TOKEN(TK_GE, NULL)                                                                             \
	TOKEN(TK_ASSIGN, NULL)                                                                         \
	TOKEN(TK_DEFINE, NULL)   /* := */                                                              \
	TOKEN(TK_COMPOUND, NULL) /* += -= *= /= //= %= ^= @= */                                        \
	TOKEN(TK_ARROW, NULL)                                                                          \
	TOKEN(TK_RANGE, NULL)                                                                          \
	TOKEN(TK_ELLIPSIS, NULL)                                                                       \
	TOKEN(TK_DOT, NULL)                                                                            \
	TOKEN(TK_COMMA, NULL)                                                                          \
	TOKEN(TK_SEMICOLON, NULL)                                                                      \
	TOKEN(TK_COLON, NULL)                                                                          \
	TOKEN(TK_PRIME, NULL)                                                                          \
	TOKEN(TK_SUPER, NULL)   /* a run of superscript digits and signs */                            \
	TOKEN(TK_ROOT, NULL)    /* √ */                                                              \
	TOKEN(TK_PARTIAL, NULL) /* ∂ */                                                              \
	TOKEN(TK_NABLA, NULL)   /* ∇ */                                                              \
	TOKEN(TK_IF, NULL)                                                                             \
	TOKEN(TK_ELSE, NULL)                                                                           \
	TOKEN(TK_FOR, NULL)                                                                            \
	TOKEN(TK_WHILE, NULL)                                                                          \
	TOKEN(TK_IN, NULL) /* in, ∈ */                                                               \
	TOKEN(TK_BREAK, NULL)                                                                          \
	TOKEN(TK_CONTINUE, NULL)                                                                       \
	TOKEN(TK_RETURN, NULL)                                                                         \
	TOKEN(TK_TRY, NULL)                                                                            \
	TOKEN(TK_CATCH, NULL)                                                                          \
	TOKEN(TK_AND, NULL)                                                                            \
	TOKEN(TK_OR, NULL)                                                                             \
	TOKEN(TK_NOT, NULL)                                                                            \
	TOKEN(TK_TRUE, NULL)                                                                           \
	TOKEN(TK_FALSE, NULL)                                                                          \
	TOKEN(TK_NONE, NULL)

typedef enum TokenKind {
#define TOKEN(kind, called) kind,
	LEX_TOKENS(TOKEN)
#undef TOKEN
		TK_COUNT
} TokenKind;
static inline bool token_is_keyword(TokenKind k) { return k >= TK_IF; }

/* Lexical errors. Those before LEX_FATAL leave a token that parses as it was
 * meant. */
typedef enum LexError {
	LEX_OK,
	LEX_NUMBER,     /* 1.2.3, 1__0, 0x */
	LEX_UNITS,      /* 9.81<m/s^2> */
	LEX_FOREIGN,    /* an operator of another language: ** && || .* */
	LEX_STRING_END, /* a string without its closing quote */
	LEX_INTERP_END, /* an interpolation without its } */
	LEX_FATAL,
	LEX_CHAR = LEX_FATAL, /* a character without a meaning */
	LEX_UTF8,             /* bytes that are not UTF-8 */
	LEX_CONTROL,          /* a control character */
	LEX_SUBSCRIPT,        /* ₀ without a name before it, or a sign: x₊ */
	LEX_QUOTE,            /* 'text' */
	LEX_STRING_DEEP       /* more than LEX_STRINGS nested strings */
} LexError;

typedef struct Lexeme {
	TokenKind kind;
	LexError error;
	uint32_t start, end;
} Lexeme;

#define LEX_STRINGS 16 /* maximum nesting of strings inside interpolations */

typedef struct Lexer {
	const char *text;
	uint32_t n, at;
	/* Strings end with their line, to locate a missing quote. */
	bool one_line;
	/* Inside the quotes of the innermost string, outside its interpolations. */
	bool in_text;
	bool unclosed;  /* a string was closed by the end of the text (or of the line) */
	uint32_t level; /* number of enclosing strings */
	/* Open brackets at each level; level 0 is the program. */
	uint32_t parens[LEX_STRINGS + 1], braces[LEX_STRINGS + 1];
	TokenKind before; /* the last token except space; decides what `'` means */
	uint32_t before_end;
} Lexer;

void lexer_init(Lexer *lx, const char *text, uint32_t n, bool one_line);
Lexeme lexer_next(Lexer *lx); /* returns TK_EOF again at the end */

/* Normalises a name: replaces look-alikes and composes combining marks. Writes
 * at most n bytes to `out` and returns how many. */
size_t lex_fold_name(const char *text, size_t n, char *out);
/* Decodes one UTF-8 character. Returns its length in bytes, 0 when it is
 * invalid. */
size_t lex_decode(const char *text, size_t n, uint32_t *out);
/* Encodes one character: writes up to 4 bytes, returns how many. */
size_t lex_encode(uint32_t u, char *out);
/* The value of a run of superscripts: ⁻¹ is -1. Returns false for no digits, a
 * misplaced sign, or overflow. */
bool lex_superscript(const char *text, size_t n, int64_t *out);
/* True when a line that starts with this token continues the line before,
 * because no statement starts with it. */
bool lex_continues_line(TokenKind k);
/* True when the expression or definition needs another token after this one. */
bool lex_wants_operand(TokenKind k);

const char *lex_kind_called(TokenKind k); /* for messages; NULL: use its text */

#endif
