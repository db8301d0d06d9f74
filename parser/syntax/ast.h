/* ast.h - the syntax tree: the program's text before any interpretation.
 *
 * Needs: lang/.
 *
 * Contract:
 * - Nodes live in the arena they were parsed into; for a session, the
 *   context's.
 * - Nodes never change after parsing.
 * - A node's span covers exactly its own text.
 */
#ifndef ATLED_PARSER_SYNTAX_AST_H
#define ATLED_PARSER_SYNTAX_AST_H

#include "lang/base/value.h"

typedef struct Ast Ast;

typedef enum AstKind {
	/* expressions */
	A_CONST,  /* number, true, false, none */
	A_STRING, /* pieces, some of them interpolated */
	A_NAME,
	A_TENSOR,  /* [a, b; c, d]; one row when no ';' */
	A_TUPLE,   /* (a, b), (a,), () */
	A_RECORD,  /* (a = 1, ...r) */
	A_UNARY,   /* - + not */
	A_BINARY,  /* arithmetic, comparison of two */
	A_LOGIC,   /* and, or: short-circuit on scalars, element-wise on arrays */
	A_COMPARE, /* chain a < b <= c: each operand evaluated once */
	A_PRIME,   /* postfix ' (count: how many) */
	A_CALL,
	A_INDEX,    /* base[...] */
	A_FIELD,    /* base.name */
	A_RANGE,    /* a..b by s; inside an index each part may be missing */
	A_ELLIPSIS, /* ... inside an index */
	A_LAMBDA,   /* x -> e, (x, y; k = 1) -> e */
	A_IF,       /* with or without else */
	A_BLOCK,    /* { ... }: value of the last statement */
	A_FOR,
	A_WHILE,
	A_TRY,
	A_BREAK,
	A_CONTINUE,
	A_RETURN,
	/* [e for i, j in r]. As the positional argument of a call, sum(e for i), it
	 * needs no brackets; `generator` is then set. */
	A_COMPREHENSION,
	/* statements */
	A_ASSIGN,     /* pattern = e; also += -= *= /= ^= @= */
	A_DEF,        /* f(x, y = 2; k = 1) -> type = body */
	A_INDEX_DEF,  /* C[i, k] := e for j in r */
	A_DERIVATIVE, /* derivative f(x) = e;  derivative f(x, p), dx, dp = e */
	A_PROBLEM,
	A_USE,
	/* shapes in annotations */
	A_TYPE,
	/* only inside a problem */
	A_EQUATION
} AstKind;

typedef enum AstOp {
	AO_NONE,
	AO_NEG,
	AO_POS,
	AO_NOT,
	AO_ADD,
	AO_SUB,
	AO_MUL,
	AO_DIV,
	AO_FLOORDIV,
	AO_MOD,
	AO_POW,
	AO_MATMUL,
	AO_DOT /* · */,
	AO_CROSS /* × */,
	AO_EQ,
	AO_NE,
	AO_LT,
	AO_LE,
	AO_GT,
	AO_GE,
	AO_AND,
	AO_OR,
	AO_COMPOSE /* ∘ */,
	AO_PIPE /* |> */,
	AO_SPREAD /* UNARY as an item of an A_TUPLE: (...t, x) */
} AstOp;

typedef struct Param {
	Atom name;
	Span span;
	Ast *type;     /* A_TYPE or NULL */
	Ast *fallback; /* default value or NULL */
	bool named;    /* after ';' */
	/* `...name` collects the remaining arguments. With `named` it is the last
	 * parameter and a record of named arguments. Otherwise it is the last
	 * before `;` and a tuple. */
	bool rest;
	/* For destructuring lambda parameters ((a, b) -> ...): A_TUPLE of A_NAME,
	 * else NULL. */
	Ast *pattern;
} Param;

typedef struct Arg {
	Atom name; /* 0: positional */
	Span span; /* of name and value */
	Ast *value;
	bool spread; /* ...e */
} Arg;

typedef struct ForClause { /* for i, j in range; range NULL: inferred from how the index is used */
	uint32_t n;
	Ast **names; /* A_NAME, or A_TUPLE of A_NAME for destructuring */
	Ast *range;
} ForClause;

typedef struct StringPiece {
	const char *text; /* already unescaped */
	uint32_t n;
	Ast *value;         /* after the text; NULL at the end */
	const char *spec;   /* ".3e"; NULL when none */
	bool debug;         /* {x=}: the expression's text is shown as well */
	const char *source; /* text of the expression, for debug */
} StringPiece;

typedef enum DomainKind { DOMAIN_INTERVAL, DOMAIN_REGION } DomainKind;
typedef struct Domain {
	DomainKind kind;
	uint32_t ncoords;
	Atom *coords;
	Span *spans; /* of the coordinates */
	Span span;
	Ast *lo, *hi; /* DOMAIN_INTERVAL: one coordinate */
	bool periodic;
	Ast *region; /* DOMAIN_REGION: an expression, box([0, 1], [0, 1]) */
} Domain;
typedef struct UnknownField {
	Atom name;
	Span span;
	Ast *size; /* v[2]; NULL: scalar */
} UnknownField;
/* One location after `at`: coordinate = value, a name (left, boundary, a name
 * of the region), or a point (0, 0). */
typedef struct At {
	Atom name;
	Span span;
	Ast *value; /* NULL for a name; for a point the A_TUPLE, with name 0 */
} At;
typedef struct Event {
	Atom name;
	Span span;
	Ast *expr;
	int direction; /* -1 falling, +1 rising, 0 both */
	Ast *body;     /* A_BLOCK of assignments, or NULL: only recorded */
	bool terminal;
} Event;

struct Ast {
	uint8_t kind;    /* AstKind */
	uint8_t op;      /* AstOp of UNARY, BINARY, LOGIC; the compound operator of ASSIGN */
	bool weak;       /* CONST: a numeric literal; it adopts the dtype of the other operand */
	bool hidden;     /* statement ended with ';': its result is not shown */
	bool generator;  /* COMPREHENSION: an argument of a call without brackets */
	bool juxtaposed; /* BINARY MUL written 2x */
	bool paren;      /* written in parentheses (span excludes them) */
	uint32_t id;     /* unique in the session: identifies code in caches */
	Span span;
	union {
		struct {
			Value value;
		} constant;
		struct {
			uint32_t n;
			StringPiece *pieces;
		} string;
		struct {
			Atom name;
		} name;
		/* Items row by row. */
		struct {
			uint32_t nrows;
			uint32_t *row_lengths;
			Ast **items;
			uint32_t n;
		} tensor;
		struct {
			uint32_t n;
			Ast **items;
		} tuple;
		struct {
			uint32_t n;
			Arg *fields;
		} record;
		struct {
			Ast *operand;
		} unary;
		struct {
			Ast *left, *right;
			Span op_span;
		} binary; /* and LOGIC */
		struct {
			uint32_t n;
			Ast **operands;
			uint8_t *ops;
		} compare; /* n operands, n-1 ops */
		struct {
			Ast *operand;
			uint32_t count;
		} prime;
		struct {
			Ast *callee;
			uint32_t n;
			Arg *args;
		} call;
		struct {
			Ast *base;
			uint32_t n;
			Ast **items;
		} index;
		struct {
			Ast *base;
			Atom name;
			Span name_span;
		} field;
		struct {
			Ast *lo, *hi, *step;
		} range;
		/* LAMBDA and DEF (name, result type). */
		struct {
			uint32_t nparams;
			Param *params;
			Ast *body;
			Atom name;
			Ast *result;
			Span head;
		} function;
		struct {
			Ast *cond, *then_, *else_;
		} if_;
		struct {
			uint32_t n;
			Ast **items;
		} block;
		struct {
			Ast *target, *iterable, *body;
		} for_; /* target: A_NAME or A_TUPLE of names */
		struct {
			Ast *cond, *body;
		} while_;
		struct {
			Ast *body;
			Atom name;
			Ast *handler;
		} try_;
		struct {
			Ast *value;
		} return_; /* NULL: none */
		struct {
			Ast *body;
			uint32_t n;
			ForClause *clauses;
			Ast *filter;
		} comprehension;
		struct {
			Ast *target, *value;
		} assign; /* target: NAME, TUPLE, INDEX, FIELD */
		struct {
			Atom name;
			Span name_span;
			uint32_t nindices;
			Ast **indices;
			Ast *value;
			uint32_t nclauses;
			ForClause *clauses;
		} index_def;
		/* ntangents 0: element-wise. */
		struct {
			Atom name;
			Span name_span;
			uint32_t nparams;
			Param *params;
			uint32_t ntangents;
			Atom *tangents;
			Ast *body;
		} derivative;
		struct {
			Atom name;
			Span name_span;
			uint32_t nparams;
			Param *params;
			uint32_t ndomains;
			Domain *domains;
			uint32_t nfields;
			UnknownField *fields;
			uint32_t nlocals;
			Ast **locals; /* A_ASSIGN of a name, or A_DEF */
			uint32_t nequations;
			Ast **equations; /* A_EQUATION, conditions among them */
			uint32_t nevents;
			Event *events;
			Atom eigen;
			Span eigen_span;  /* `eigen λ`; 0: none */
			bool eigen_apart; /* the eigenvalue is the last field and has no equation */
		} * problem;
		/* nats 0: holds in the interior. */
		struct {
			Ast *left, *right;
			uint32_t nats;
			At *ats;
			Span op_span;
		} equation;
		struct {
			Atom module;
			const char *path;
			Atom alias;
		} use; /* path for use "my.dsl" as my */
		struct {
			bool is_record, is_function, has_dtype;
			uint8_t dtype;
			/* Expressions over names and integers. A NULL entry (written _):
			 * any extent. Rank UINT32_MAX: any shape (dtype only,
			 * `f64[...]`). */
			uint32_t rank;
			Ast **dims;
			uint32_t nfields;
			Param *fields; /* record: names and their types */
		} type;
	};
};

/* A parsed text: statements in order. */
typedef struct Program {
	SourceId source;
	uint32_t n;
	Ast **items;
} Program;

/* Parses a whole source into the arena `a` and returns the statements that
 * parsed. Reports as many errors as are useful and sets *ok to whether there
 * were none. Throws only when memory runs out. */
Program parse_program(Ctx *c, Arena *a, SourceId source, bool *ok);
uint32_t parse_next_id(Ctx *c); /* all later nodes have this id or larger ones */

/* For the REPL: true when the text needs more lines, because it ends inside an
 * open bracket, block or string, or after an operator. */
bool parse_is_incomplete(const char *text, size_t n);

/* Tokens for highlighting and completion. */
typedef enum TokenClass {
	TC_SPACE,
	TC_COMMENT,
	TC_NUMBER,
	TC_STRING,
	TC_NAME,
	TC_KEYWORD,
	TC_OPERATOR,
	TC_BRACKET,
	TC_ERROR
} TokenClass;
void parse_tokens(const char *text, size_t n,
                  void (*visit)(void *ud, TokenClass cls, size_t start, size_t end), void *ud);

/* The keywords, which cannot be names; NULL-terminated. */
extern const char *const parse_keywords[];

/* Writes the tree as an s-expression: for tests and `atled check --ast`. */
void ast_print(Text *out, Ctx *c, const Ast *a);

/* format.c: writes the text to `out` in the standard layout, with the same
 * tokens, comments and tree. The caller initialises `out`. Returns ST_ERROR
 * with diagnostics when the text has syntax errors. */
Status format_program(Ctx *c, const char *name, const char *text, size_t n, Text *out);

/* Calls visit on each direct child. */
void ast_children(const Ast *a, void (*visit)(void *ud, const Ast *child), void *ud);

#endif
