/* parse_expr.c - expressions, from the loosest operator to the tightest.
 *
 * Needs: parser.h.
 *
 * Contract:
 * - Each function parses the symbol named above it and stops at the first token
 *   that it does not use.
 * - A node's span runs from its first token to its last.
 *
 * One function for each precedence:
 *
 *   |>                      left           expression
 *   ->                      right          lambda
 *   or   and   not                         or, and, not
 *   == != < <= > >=         chain          comparison
 *   a..b by s                              range
 *   + -                     left           sum
 *   * / // % @ · ×          left           product
 *   - + √                   prefix         unary
 *   2x                      a literal before a name or (     juxtaposition
 *   ^                       right          power
 *   ∘                       left           composition
 *   f(x) x[i] r.f f' x²     left           postfix
 *
 * postfix is in parse_postfix.c, what it applies to in parse_primary.c and
 * parse_literal.c.
 */
#include "lang/base/value.h"
#include "parser/syntax/parser.h"

static Ast *parse_or(Parser *p);
static Ast *parse_comparison(Parser *p);
static Ast *parse_unary(Parser *p);
static Ast *parse_power(Parser *p);

/* ---- nodes of expressions ------------------------------------------------ */

Ast *binary_node(Parser *p, AstKind kind, AstOp op, Ast *left, Span op_span, Ast *right,
                 uint32_t first) {
	Ast *a = node_new(p, kind);
	a->op = (uint8_t)op;
	a->binary.left = left;
	a->binary.right = right;
	a->binary.op_span = op_span;
	return node_done(p, a, first);
}

Ast *unary_node(Parser *p, AstOp op, Ast *operand, uint32_t first) {
	Ast *a = node_new(p, A_UNARY);
	a->op = (uint8_t)op;
	a->unary.operand = operand;
	return node_done(p, a, first);
}

Ast *name_node(Parser *p, Atom name, uint32_t first) {
	Ast *a = node_new(p, A_NAME);
	a->name.name = name;
	return node_done(p, a, first);
}

Ast *integer_node(Parser *p, int64_t value, uint32_t first) {
	Ast *a = node_new(p, A_CONST);
	a->weak = true;
	a->constant.value = value_i64(value);
	return node_done(p, a, first);
}

Ast *call_node(Parser *p, Ast *callee, uint32_t n, const Arg *args, uint32_t first) {
	Ast *a = node_new(p, A_CALL);
	a->call.callee = callee;
	a->call.n = n;
	a->call.args = keep(p, args, sizeof *args * n);
	return node_done(p, a, first);
}

/* ---- tokens of operators ------------------------------------------------- */

Span take_operator(Parser *p) {
	Span at = token_span(p, p->at);
	advance(p);
	swallow_newline(p);
	return at;
}

static AstOp op_of(TokenKind k) {
	switch (k) {
	case TK_PLUS: return AO_ADD;
	case TK_MINUS: return AO_SUB;
	case TK_STAR: return AO_MUL;
	case TK_SLASH: return AO_DIV;
	case TK_FLOORDIV: return AO_FLOORDIV;
	case TK_PERCENT: return AO_MOD;
	case TK_MATMUL: return AO_MATMUL;
	case TK_INNER: return AO_DOT;
	case TK_CROSS: return AO_CROSS;
	case TK_EQ: return AO_EQ;
	case TK_NE: return AO_NE;
	case TK_LT: return AO_LT;
	case TK_LE: return AO_LE;
	case TK_GT: return AO_GT;
	case TK_GE: return AO_GE;
	default: return AO_NONE;
	}
}

/* ---- lists of expressions, conditions ------------------------------------ */

/* expression-list = expression { "," expression }
 * More than one is a tuple. */
Ast *parse_expression_list(Parser *p) {
	uint32_t first = p->at;
	Ast *e = parse_expression(p);
	if (kind_now(p) != TK_COMMA) return e;
	AstList items = {0};
	PUSH(p, &items, e);
	while (accept(p, TK_COMMA)) {
		swallow_newline(p);
		PUSH(p, &items, parse_expression(p));
	}
	Ast *a = node_new(p, A_TUPLE);
	a->tuple.n = items.n;
	a->tuple.items = KEEP(p, items);
	return node_done(p, a, first);
}

/* condition = expression
 * It precedes a block. */
Ast *parse_condition(Parser *p) {
	Ast *e = parse_expression(p);
	if (kind_now(p) == TK_ASSIGN) {
		FAIL_HINT(p, E_SYNTAX, token_span(p, p->at), "to compare, write `==`",
		          "`=` does not compare");
	}
	return e;
}

/* ---- operators ----------------------------------------------------------- */

/* True at NAME -> or ( ... ) -> */
static bool at_lambda(const Parser *p) {
	TokenKind k = kind_now(p);
	if (k == TK_NAME) return kind_after(p, 1) == TK_ARROW;
	uint32_t match = token_now(p)->match;
	return k == TK_LPAREN && match && kind_after(p, match - p->at + 1) == TK_ARROW;
}

/* lambda = ( NAME | "(" params ")" ) "->" lambda | or */
static Ast *parse_lambda(Parser *p) {
	if (!at_lambda(p)) return parse_or(p);
	descend(p);
	uint32_t first = p->at;
	ParamList params = {0};
	if (kind_now(p) == TK_NAME) {
		PUSH(p, &params, ((Param){.name = token_now(p)->name, .span = token_span(p, p->at)}));
		advance(p);
	} else {
		Bracket b = open_bracket(p);
		parse_params(p, TK_RPAREN, true, &params);
		close_bracket(p, b, "`,` or `)` after a parameter");
		params_once(p, &params);
	}
	Ast *a = node_new(p, A_LAMBDA);
	a->function.head = span_from(p, first);
	take_operator(p);
	a->function.nparams = params.n;
	a->function.params = KEEP(p, params);
	a->function.body = parse_lambda(p);
	p->depth--;
	return node_done(p, a, first);
}

/* expression = lambda { "|>" lambda } */
Ast *parse_expression(Parser *p) {
	descend(p);
	uint32_t first = p->at;
	Ast *left = parse_lambda(p);
	while (kind_now(p) == TK_PIPE) {
		Span at = take_operator(p);
		left = binary_node(p, A_BINARY, AO_PIPE, left, at, parse_lambda(p), first);
	}
	p->depth--;
	return left;
}

/* not = "not" not | comparison */
static Ast *parse_not(Parser *p) {
	if (kind_now(p) != TK_NOT) return parse_comparison(p);
	descend(p);
	uint32_t first = p->at;
	take_operator(p);
	Ast *operand = parse_not(p);
	p->depth--;
	return unary_node(p, AO_NOT, operand, first);
}

/* and = not { "and" not } */
static Ast *parse_and(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_not(p);
	while (kind_now(p) == TK_AND) {
		Span at = take_operator(p);
		left = binary_node(p, A_LOGIC, AO_AND, left, at, parse_not(p), first);
	}
	return left;
}

/* or = and { "or" and } */
static Ast *parse_or(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_and(p);
	while (kind_now(p) == TK_OR) {
		Span at = take_operator(p);
		left = binary_node(p, A_LOGIC, AO_OR, left, at, parse_and(p), first);
	}
	return left;
}

static bool at_comparison(const Parser *p) {
	TokenKind k = kind_now(p);
	return k >= TK_EQ && k <= TK_GE;
}

/* comparison = range { ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) range }
 * More than one is a chain. */
static Ast *parse_comparison(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_range(p);
	if (!at_comparison(p)) return left;
	AstOp op = op_of(kind_now(p));
	Span at = take_operator(p);
	Ast *right = parse_range(p);
	if (!at_comparison(p)) return binary_node(p, A_BINARY, op, left, at, right, first);
	AstList operands = {0};
	VEC(uint8_t) ops = {0};
	PUSH(p, &operands, left);
	PUSH(p, &ops, (uint8_t)op);
	PUSH(p, &operands, right);
	while (at_comparison(p)) {
		PUSH(p, &ops, (uint8_t)op_of(kind_now(p)));
		take_operator(p);
		PUSH(p, &operands, parse_range(p));
	}
	Ast *a = node_new(p, A_COMPARE);
	a->compare.n = operands.n;
	a->compare.operands = KEEP(p, operands);
	a->compare.ops = KEEP(p, ops);
	return node_done(p, a, first);
}

/* True where an end of a range may be missing: x[1..] x[.. by 2] x[..] */
static bool at_missing_end(const Parser *p) {
	if (!p->in_index) return false;
	TokenKind k = kind_now(p);
	return k == TK_COMMA || k == TK_RBRACKET || at_word(p, "by");
}

/* range = sum [ ".." sum [ "by" sum ] ]
 * In an index both ends may be missing. */
Ast *parse_range(Parser *p) {
	uint32_t first = p->at;
	bool no_start = p->in_index && kind_now(p) == TK_RANGE;
	Ast *lo = no_start ? NULL : parse_sum(p), *hi = NULL, *step = NULL;
	if (kind_now(p) != TK_RANGE) return lo;
	take_operator(p);
	if (!at_missing_end(p)) hi = parse_sum(p);
	if (at_word(p, "by") && kind_after(p, 1) != TK_ASSIGN) {
		take_operator(p);
		step = parse_sum(p);
	}
	Ast *a = node_new(p, A_RANGE);
	a->range.lo = lo;
	a->range.hi = hi;
	a->range.step = step;
	return node_done(p, a, first);
}

/* product = unary { ( "*" | "/" | "//" | "%" | "@" | "·" | "×" ) unary } */
static Ast *parse_product(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_unary(p);
	for (;;) {
		TokenKind k = kind_now(p);
		if (k < TK_STAR || k > TK_CROSS) return left;
		Span at = take_operator(p);
		left = binary_node(p, A_BINARY, op_of(k), left, at, parse_unary(p), first);
	}
}

/* sum = product { ( "+" | "-" ) product } */
Ast *parse_sum(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_product(p);
	for (;;) {
		TokenKind k = kind_now(p);
		if (k != TK_PLUS && k != TK_MINUS) return left;
		Span at = take_operator(p);
		left = binary_node(p, A_BINARY, op_of(k), left, at, parse_product(p), first);
	}
}

bool at_juxtaposed(const Parser *p) {
	const Token *t = token_now(p);
	if (t->space || p->tokens[p->at - 1].kind != TK_NUMBER) return false;
	TokenKind k = (TokenKind)t->kind;
	return k == TK_NAME || k == TK_LPAREN || k == TK_ROOT || k == TK_PARTIAL || k == TK_NABLA;
}

/* Multiplies `left`, which ends with a number, by the power directly after
 * it. */
static Ast *juxtaposed(Parser *p, Ast *left, uint32_t first) {
	Span between = span_made(p->source, token_now(p)->start, token_now(p)->start);
	Ast *right = token_now(p)->kind == TK_ROOT ? parse_unary(p) : parse_power(p);
	Ast *a = binary_node(p, A_BINARY, AO_MUL, left, between, right, first);
	a->juxtaposed = true;
	return a;
}

/* juxtaposition = [ NUMBER ] power
 * The number is directly before the power. */
static Ast *parse_juxtaposition(Parser *p) {
	uint32_t first = p->at;
	bool factor = false;
	if (kind_now(p) == TK_NUMBER) {
		p->at++; /* a number is never the last token */
		factor = at_juxtaposed(p) && kind_now(p) != TK_ROOT;
		p->at--;
	}
	return factor ? juxtaposed(p, parse_postfix(p), first) : parse_power(p);
}

/* unary = ( "-" | "+" ) unary | root | juxtaposition | NUMBER root
 * root = "√" ( root | juxtaposition ) [ root ]
 * The number is directly before its root. A second root is directly after a
 * number: √2√3 is √2*√3. */
static Ast *parse_unary(Parser *p) {
	uint32_t first = p->at;
	TokenKind k = kind_now(p);
	if (k == TK_MINUS || k == TK_PLUS) {
		descend(p);
		take_operator(p);
		if (k == TK_MINUS) p->negated = p->at;
		Ast *operand = parse_unary(p);
		p->depth--;
		return unary_node(p, k == TK_MINUS ? AO_NEG : AO_POS, operand, first);
	}
	if (k == TK_ROOT) {
		descend(p);
		advance(p);
		TokenKind next = kind_now(p);
		bool ends = next == TK_NEWLINE || next == TK_EOF || next == TK_SEMICOLON;
		bool value = ends || next == TK_COMMA || next == TK_RPAREN; /* map(√, x) */
		Ast *root = name_node(p, atom(p->ctx, "sqrt"), first);
		if (!value) {
			Arg arg = positional(next == TK_ROOT ? parse_unary(p) : parse_juxtaposition(p));
			root = call_node(p, root, 1, &arg, first);
		}
		p->depth--;
		return at_juxtaposed(p) ? juxtaposed(p, root, first) : root;
	}
	Ast *a = parse_juxtaposition(p);
	return a->kind == A_CONST && at_juxtaposed(p) ? juxtaposed(p, a, first) : a;
}

/* composition = postfix { "∘" postfix } */
static Ast *parse_composition(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_postfix(p);
	while (kind_now(p) == TK_COMPOSE) {
		Span at = take_operator(p);
		left = binary_node(p, A_BINARY, AO_COMPOSE, left, at, parse_postfix(p), first);
	}
	return left;
}

/* power = composition [ "^" unary ] */
static Ast *parse_power(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_composition(p);
	if (kind_now(p) != TK_CARET) return left;
	descend(p);
	Span at = take_operator(p);
	Ast *right = parse_unary(p);
	p->depth--;
	return binary_node(p, A_BINARY, AO_POW, left, at, right, first);
}
