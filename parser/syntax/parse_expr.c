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
 */
#include "lang/base/value.h"
#include "parser/syntax/parser.h"
#include <math.h>
#include <stdlib.h>

static Ast *parse_or(Parser *p);
static Ast *parse_comparison(Parser *p);
static Ast *parse_unary(Parser *p);
static Ast *parse_power(Parser *p);
static Ast *parse_primary(Parser *p);

static Ast *binary(Parser *p, AstKind kind, AstOp op, Ast *left, Span op_span, Ast *right,
                   uint32_t first) {
	Ast *a = node_new(p, kind);
	a->op = (uint8_t)op;
	a->binary.left = left;
	a->binary.right = right;
	a->binary.op_span = op_span;
	return node_done(p, a, first);
}

static Ast *unary(Parser *p, AstOp op, Ast *operand, uint32_t first) {
	Ast *a = node_new(p, A_UNARY);
	a->op = (uint8_t)op;
	a->unary.operand = operand;
	return node_done(p, a, first);
}

static Ast *name_node(Parser *p, Atom name, uint32_t first) {
	Ast *a = node_new(p, A_NAME);
	a->name.name = name;
	return node_done(p, a, first);
}

/* A name node for one token of the text. */
static Ast *token_name(Parser *p, Atom name, uint32_t token) {
	Ast *a = name_node(p, name, token);
	a->span = token_span(p, token);
	return a;
}

static Ast *integer_node(Parser *p, int64_t value, uint32_t first) {
	Ast *a = node_new(p, A_CONST);
	a->weak = true;
	a->constant.value = value_i64(value);
	return node_done(p, a, first);
}

static Ast *call_node(Parser *p, Ast *callee, uint32_t n, const Arg *args, uint32_t first) {
	Ast *a = node_new(p, A_CALL);
	a->call.callee = callee;
	a->call.n = n;
	a->call.args = keep(p, args, sizeof *args * n);
	return node_done(p, a, first);
}

static Arg positional(Ast *value) { return (Arg){.value = value, .span = value->span}; }

/* Consumes the current operator; its operand may be on the next line. */
static Span take_operator(Parser *p) {
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
		left = binary(p, A_BINARY, AO_PIPE, left, at, parse_lambda(p), first);
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
	return unary(p, AO_NOT, operand, first);
}

/* and = not { "and" not } */
static Ast *parse_and(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_not(p);
	while (kind_now(p) == TK_AND) {
		Span at = take_operator(p);
		left = binary(p, A_LOGIC, AO_AND, left, at, parse_not(p), first);
	}
	return left;
}

/* or = and { "or" and } */
static Ast *parse_or(Parser *p) {
	uint32_t first = p->at;
	Ast *left = parse_and(p);
	while (kind_now(p) == TK_OR) {
		Span at = take_operator(p);
		left = binary(p, A_LOGIC, AO_OR, left, at, parse_and(p), first);
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
	if (!at_comparison(p)) return binary(p, A_BINARY, op, left, at, right, first);
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
		left = binary(p, A_BINARY, op_of(k), left, at, parse_unary(p), first);
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
		left = binary(p, A_BINARY, op_of(k), left, at, parse_product(p), first);
	}
}

/* True when the token before is a number and the current token, directly after
 * it, multiplies it. */
static bool at_juxtaposed(const Parser *p) {
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
	Ast *a = binary(p, A_BINARY, AO_MUL, left, between, right, first);
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
		return unary(p, k == TK_MINUS ? AO_NEG : AO_POS, operand, first);
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
		left = binary(p, A_BINARY, AO_COMPOSE, left, at, parse_postfix(p), first);
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
	return binary(p, A_BINARY, AO_POW, left, at, right, first);
}

/* ---- calls, indices, fields ---------------------------------------------- */

/* True at a name or a keyword before `=` (`==` is another token). */
static bool at_field_name(const Parser *p) {
	TokenKind k = kind_now(p);
	return (k == TK_NAME || token_is_keyword(k)) && p->tokens[p->at + 1].kind == TK_ASSIGN;
}

Atom parse_name(Parser *p, const char *what, Span *span) {
	if (kind_now(p) != TK_NAME) unexpected(p, what);
	Atom name = token_now(p)->name;
	if (span) *span = token_span(p, p->at);
	advance(p);
	return name;
}

/* for-target = NAME | "(" for-target { "," for-target } ")" */
Ast *parse_for_target(Parser *p) {
	uint32_t first = p->at;
	if (kind_now(p) != TK_LPAREN) {
		Atom name = parse_name(p, "a name behind `for`", NULL);
		return name_node(p, name, first);
	}
	descend(p);
	AstList items = {0};
	Bracket b = open_bracket(p);
	while (kind_now(p) != TK_RPAREN) {
		PUSH(p, &items, parse_for_target(p));
		if (!accept(p, TK_COMMA)) break;
	}
	close_bracket(p, b, "`,` or `)` after a name");
	p->depth--;
	Ast *a = node_new(p, A_TUPLE);
	a->tuple.n = items.n;
	a->tuple.items = KEEP(p, items);
	return node_done(p, a, first);
}

/* clauses = "for" clause { ( "for" | "," ) clause }
 * clause = for-target { "," for-target } [ "in" expression ]
 * A comma before NAME = belongs to the enclosing call: sum(e for i, axis = 0).
 * After an expression, only a comma before NAME in continues the clauses:
 * [e for i in a, j in b]. */
void parse_clauses(Parser *p, ClauseList *out) {
	for (;;) {
		TokenKind k = kind_now(p);
		bool another = k == TK_COMMA && out->n && p->at + 1 < p->ntokens &&
		               p->tokens[p->at + 1].kind == TK_NAME && kind_after(p, 2) == TK_IN;
		if (k != TK_FOR && !another) return;
		take_operator(p);
		AstList names = {0};
		for (;;) {
			PUSH(p, &names, parse_for_target(p));
			if (kind_now(p) != TK_COMMA || kind_after(p, 2) == TK_ASSIGN) break;
			take_operator(p);
		}
		Ast *range = NULL;
		if (kind_now(p) == TK_IN) {
			take_operator(p);
			range = parse_expression(p);
		}
		PUSH(p, out, ((ForClause){names.n, KEEP(p, names), range}));
	}
}

/* comprehension = expression clauses [ "if" expression ]
 * The first expression is `body`. */
static Ast *comprehension(Parser *p, Ast *body, bool generator, uint32_t first) {
	ClauseList clauses = {0};
	parse_clauses(p, &clauses);
	Ast *a = node_new(p, A_COMPREHENSION);
	a->generator = generator;
	a->comprehension.body = body;
	a->comprehension.n = clauses.n;
	a->comprehension.clauses = KEEP(p, clauses);
	if (accept(p, TK_IF)) a->comprehension.filter = parse_condition(p);
	return node_done(p, a, first);
}

/* A string node with the name of a parameter. */
static Ast *name_as_string(Parser *p, const Ast *name) {
	Ast *a = node_new(p, A_STRING);
	VEC(StringPiece) pieces = {0};
	const char *text = atom_text(p->ctx, name->name.name);
	PUSH(p, &pieces, ((StringPiece){.text = text, .n = (uint32_t)strlen(text)}));
	a->span = name->span;
	a->string.n = pieces.n;
	a->string.pieces = KEEP(p, pieces);
	return a;
}

/* names = NAME | STRING | "(" names { "," names } ")"
 * After "for" "=" the names are quoted: their strings are the argument
 * `unknowns`. NULL: something else was written. */
static Ast *names_as_strings(Parser *p, Ast *value) {
	AstList items = {0};
	const bool many = value->kind == A_TUPLE;
	for (uint32_t i = 0; i < (many ? value->tuple.n : 1); i++) {
		Ast *item = many ? value->tuple.items[i] : value;
		if (item->kind != A_NAME && item->kind != A_STRING) return NULL;
		PUSH(p, &items, item->kind == A_NAME ? name_as_string(p, item) : item);
	}
	Ast *a = node_new(p, A_TUPLE);
	a->span = value->span;
	a->tuple.n = items.n;
	a->tuple.items = KEEP(p, items);
	return a;
}

/* argument = [ NAME "=" ] expression | "..." expression
 *          | expression clauses | "for" "=" names */
static Arg parse_arg(Parser *p, bool of_call, bool must_name, bool first_of_call) {
	uint32_t first = p->at;
	Arg arg = {0};
	if (kind_now(p) == TK_ELLIPSIS) {
		take_operator(p);
		arg.spread = true;
		arg.value = parse_expression(p);
	} else if (at_field_name(p)) {
		const bool quoted = of_call && kind_now(p) == TK_FOR;
		arg.name = token_now(p)->name;
		advance(p);
		take_operator(p);
		arg.value = parse_expression(p);
		Ast *names = quoted ? names_as_strings(p, arg.value) : NULL;
		if (names) {
			arg.name = p->unknowns;
			arg.value = names;
		}
	} else {
		arg.value = parse_expression(p);
		if (kind_now(p) == TK_FOR) {
			if (!first_of_call)
				FAIL(p, E_SYNTAX, token_span(p, p->at),
				     "`for` belongs to the only argument of a call");
			arg.value = comprehension(p, arg.value, true, first);
		}
		if (must_name) {
			FAIL_HINT(p, E_SYNTAX, arg.value->span, "write name = value",
			          "an argument behind `;` needs its name");
		}
	}
	arg.span = span_from(p, first);
	return arg;
}

/* arguments = "(" [ argument { ( "," | ";" ) argument } ] ")" */
static Ast *parse_call(Parser *p, Ast *callee, uint32_t first) {
	ArgList args = {0};
	bool must_name = false, generator = false;
	Bracket b = open_bracket(p);
	must_name = accept(p, TK_SEMICOLON);
	while (kind_now(p) != TK_RPAREN) {
		swallow_newline(p);
		Arg arg = parse_arg(p, true, must_name, !args.n);
		if (generator && !arg.name)
			FAIL(p, E_SYNTAX, arg.span, "beside `for`, the arguments of a call need names");
		generator |= arg.value->kind == A_COMPREHENSION && arg.value->generator;
		PUSH(p, &args, arg);
		if (kind_now(p) == TK_SEMICOLON && !must_name) must_name = true;
		else if (kind_now(p) != TK_COMMA) break;
		advance(p);
		swallow_newline(p);
	}
	close_bracket(p, b, "`,` or `)` after an argument");
	if (callee->kind == A_NAME && callee->name.name == p->delta) callee->name.name = p->lap;
	return call_node(p, callee, args.n, args.at, first);
}

/* index-item = "..." | range with optional ends | expression */
static Ast *parse_index_item(Parser *p) {
	uint32_t first = p->at;
	if (accept(p, TK_ELLIPSIS)) return node_done(p, node_new(p, A_ELLIPSIS), first);
	return parse_expression(p);
}

/* index = "[" index-item { "," index-item } "]" */
static Ast *parse_index(Parser *p, Ast *base, uint32_t first) {
	AstList items = {0};
	Span opened = token_span(p, p->at);
	Bracket b = open_bracket(p);
	p->in_index = true;
	while (kind_now(p) != TK_RBRACKET) {
		swallow_newline(p);
		PUSH(p, &items, parse_index_item(p));
		if (!accept(p, TK_COMMA)) break;
	}
	close_bracket(p, b, "`,` or `]` after an index");
	if (!items.n) {
		Span brackets = span_join(opened, token_span(p, p->at - 1));
		FAIL_HINT(p, E_SYNTAX, brackets, "all elements are x[..]", "an index is missing");
	}
	Ast *a = node_new(p, A_INDEX);
	a->index.base = base;
	a->index.n = items.n;
	a->index.items = KEEP(p, items);
	return node_done(p, a, first);
}

static Ast *parse_field(Parser *p, Ast *base, uint32_t first) {
	advance(p);
	if (kind_now(p) != TK_NAME && !token_is_keyword(kind_now(p)))
		unexpected(p, "the name of a field behind `.`");
	Ast *a = node_new(p, A_FIELD);
	a->field.base = base;
	a->field.name = token_now(p)->name;
	a->field.name_span = token_span(p, p->at);
	advance(p);
	return node_done(p, a, first);
}

/* x² x⁻¹ */
static Ast *parse_superscript(Parser *p, Ast *base, uint32_t first) {
	int64_t value;
	uint32_t token = p->at;
	Span at = token_span(p, token);
	if (!lex_superscript(p->text + at.start, at.end - at.start, &value)) {
		FAIL(p, E_NUMBER, at, "the exponent %s is not a number", token_called(p, token));
	}
	advance(p);
	if (kind_now(p) == TK_LPAREN && base->kind == A_NAME && !base->paren) {
		const char *hint = "write the power behind the call, sin(x)², or a product with `*`";
		FAIL_HINT(p, E_SYNTAX, at, hint, "a power cannot be called");
	}
	return binary(p, A_BINARY, AO_POW, base, at, integer_node(p, value, token), first);
}

/* postfix = primary { arguments | index | "." NAME | "'" | SUPERSCRIPT } */
Ast *parse_postfix(Parser *p) {
	uint32_t first = p->at;
	Ast *e = parse_primary(p);
	for (;;) {
		TokenKind k = kind_now(p);
		bool number = p->tokens[p->at - 1].kind == TK_NUMBER;
		if (k == TK_LPAREN && !number) {
			e = parse_call(p, e, first);
		} else if (k == TK_LBRACKET && !number) {
			e = parse_index(p, e, first);
		} else if (k == TK_DOT) {
			e = parse_field(p, e, first);
		} else if (k == TK_SUPER && !token_now(p)->space) {
			e = parse_superscript(p, e, first);
		} else if (k == TK_PRIME) {
			uint32_t count = 0;
			while (accept(p, TK_PRIME)) count++;
			Ast *a = node_new(p, A_PRIME);
			a->prime.operand = e;
			a->prime.count = count;
			e = node_done(p, a, first);
		} else {
			return e;
		}
	}
}

/* ---- derivatives in their own notation ----------------------------------- */

static Ast *parse_call(Parser *p, Ast *callee, uint32_t first);

/* operand = "(" expression ")" | NAME | derivative | nabla | ( "∂" | "∇" ) arguments
 * ∇·∇(u) is ∇·(∇(u)). */
static Ast *parse_operand(Parser *p, const char *what) {
	TokenKind k = kind_now(p);
	if (k == TK_LPAREN) {
		Bracket b = open_bracket(p);
		Ast *e = parse_expression(p);
		close_bracket(p, b, "`)`");
		return e;
	}
	if (k == TK_NAME) return parse_primary(p);
	if (k == TK_PARTIAL || k == TK_NABLA) {
		uint32_t first = p->at;
		Ast *e = parse_primary(p);
		return e->kind == A_NAME && kind_now(p) == TK_LPAREN ? parse_call(p, e, first) : e;
	}
	unexpected(p, what);
}

/* Consumes a superscript as the order of a derivative and returns it; 1 when
 * there is none. *token: the superscript's index, or 0. */
static int64_t parse_order(Parser *p, uint32_t *token) {
	*token = 0;
	if (kind_now(p) != TK_SUPER) return 1;
	Span at = token_span(p, p->at);
	int64_t order;
	if (!lex_superscript(p->text + at.start, at.end - at.start, &order) || order < 1) {
		FAIL(p, E_NUMBER, at, "the order of a derivative is 1, 2, ..., not %s",
		     token_called(p, p->at));
	}
	*token = p->at;
	advance(p);
	return order;
}

/* derivative = "∂" NAME [ SUPERSCRIPT ] operand | "∂"
 * ∂x²(u) is d(u, x, 2), ∂n(u) is dn(u), ∂(f, i) calls ∂. */
static Ast *parse_partial(Parser *p) {
	uint32_t first = p->at;
	descend(p);
	advance(p);
	Ast *result;
	if (kind_now(p) != TK_NAME || token_now(p)->space) {
		result = name_node(p, atom(p->ctx, "∂"), first);
	} else {
		uint32_t coordinate = p->at, order_token;
		Atom x = token_now(p)->name;
		advance(p);
		Ast *head = token_name(p, atom(p->ctx, x == atom(p->ctx, "n") ? "dn" : "d"), first);
		Ast *coord = token_name(p, x, coordinate);
		int64_t order = parse_order(p, &order_token);
		Ast *degree = order_token ? integer_node(p, order, order_token) : NULL;
		if (kind_now(p) == TK_SLASH) {
			Span quotient = span_from(p, first);
			FAIL_HINT(p, E_SYNTAX, quotient, "write ∂x(u) or d(u, x)",
			          "a derivative is not a quotient here");
		}
		Arg args[3] = {positional(parse_operand(p, "what to differentiate, in parentheses"))};
		uint32_t n = 1;
		if (x != atom(p->ctx, "n")) args[n++] = positional(coord);
		if (degree) args[n++] = positional(degree);
		result = call_node(p, head, n, args, first);
	}
	p->depth--;
	return result;
}

/* nabla = "∇" [ NAME ] | ( "∇·" | "∇×" | "∇²" ) operand
 * They are grad, div, curl and lap. */
static Ast *parse_nabla(Parser *p) {
	uint32_t first = p->at;
	descend(p);
	advance(p);
	TokenKind k = kind_now(p);
	bool close = !token_now(p)->space;
	const char *name = "grad";
	bool applied = k == TK_NAME && close;
	if (close && (k == TK_INNER || k == TK_CROSS || k == TK_SUPER)) {
		uint32_t token;
		if (k == TK_SUPER && parse_order(p, &token) != 2) {
			FAIL(p, E_SYNTAX, span_from(p, first), "of the powers of ∇ only ∇² is defined");
		}
		if (k != TK_SUPER) advance(p);
		name = k == TK_INNER ? "div" : k == TK_CROSS ? "curl" : "lap";
		applied = true;
	}
	Ast *result = name_node(p, atom(p->ctx, name), first);
	if (applied) {
		Arg arg = positional(parse_operand(p, "what to differentiate"));
		result = call_node(p, result, 1, &arg, first);
	}
	p->depth--;
	return result;
}

/* ---- primary expressions ------------------------------------------------- */

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
static Ast *parse_number(Parser *p) {
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

static Ast *constant(Parser *p, Value v) {
	uint32_t first = p->at;
	advance(p);
	Ast *a = node_new(p, A_CONST);
	a->constant.value = v;
	return node_done(p, a, first);
}

/* tensor = "[" [ row { ";" row } ] "]" | "[" comprehension "]"
 * row = expression { "," expression } */
static Ast *parse_tensor(Parser *p) {
	uint32_t first = p->at;
	AstList items = {0};
	VEC(uint32_t) lengths = {0};
	uint32_t row = 0;
	Bracket b = open_bracket(p);
	while (kind_now(p) != TK_RBRACKET) {
		swallow_newline(p);
		uint32_t item = p->at;
		if (kind_now(p) == TK_ELLIPSIS) {
			const char *hint = "tensors are joined by concat(a, b)";
			FAIL_HINT(p, E_SYNTAX, token_span(p, p->at), hint, "`...` has no meaning in a tensor");
		}
		Ast *e = parse_expression(p);
		if (kind_now(p) == TK_FOR && !items.n) {
			e = comprehension(p, e, false, item);
			close_bracket(p, b, "`]` after the comprehension");
			e->span = span_from(p, first);
			return e;
		}
		PUSH(p, &items, e);
		row++;
		if (accept(p, TK_COMMA)) continue;
		if (kind_now(p) != TK_SEMICOLON) break;
		PUSH(p, &lengths, row);
		row = 0;
		Span semicolon = token_span(p, p->at);
		advance(p);
		swallow_newline(p);
		if (kind_now(p) == TK_RBRACKET && lengths.n == 1) {
			FAIL_HINT(p, E_SYNTAX, semicolon, "a matrix of one row is written [[a, b]]",
			          "a row is missing behind `;`");
		}
	}
	if (row || !lengths.n) PUSH(p, &lengths, row);
	close_bracket(p, b, "`,`, `;` or `]` after an element");
	Ast *a = node_new(p, A_TENSOR);
	a->tensor.n = items.n;
	a->tensor.items = KEEP(p, items);
	a->tensor.nrows = items.n ? lengths.n : 0;
	a->tensor.row_lengths = KEEP(p, lengths);
	return node_done(p, a, first);
}

static Ast *record_node(Parser *p, const ArgList *fields, uint32_t first) {
	for (uint32_t i = 0; i < fields->n; i++) {
		const Arg *f = &fields->at[i];
		if (f->name || f->spread) continue;
		const char *hint = "a record is (name = value, ...), a tuple (a, b)";
		FAIL_HINT(p, E_SYNTAX, f->span, hint, "a field of a record needs its name");
	}
	Ast *a = node_new(p, A_RECORD);
	a->record.n = fields->n;
	a->record.fields = KEEP(p, *fields);
	return node_done(p, a, first);
}

static Ast *tuple_node(Parser *p, const ArgList *fields, const uint32_t *tokens, uint32_t first) {
	AstList items = {0};
	for (uint32_t i = 0; i < fields->n; i++) {
		const Arg *f = &fields->at[i];
		Ast *item = f->value;
		if (f->spread) {
			item = unary(p, AO_SPREAD, item, tokens[i]);
			item->span = f->span;
		}
		PUSH(p, &items, item);
	}
	Ast *a = node_new(p, A_TUPLE);
	a->tuple.n = items.n;
	a->tuple.items = KEEP(p, items);
	return node_done(p, a, first);
}

/* parenthesised = "(" expression ")"
 *               | "(" [ item { "," item } [ "," ] ] ")"
 * item = expression | NAME "=" expression | "..." expression
 * A named item makes it a record, and so do items that are all spread.
 * Otherwise it is a tuple. */
static Ast *parse_parenthesised(Parser *p) {
	uint32_t first = p->at;
	ArgList fields = {0};
	VEC(uint32_t) tokens = {0};
	bool named = false, all_spread = true, comma = false;
	Bracket b = open_bracket(p);
	while (kind_now(p) != TK_RPAREN) {
		swallow_newline(p);
		PUSH(p, &tokens, p->at);
		Arg f = parse_arg(p, false, false, false);
		PUSH(p, &fields, f);
		named |= f.name != 0;
		all_spread &= f.spread;
		comma = accept(p, TK_COMMA);
		if (!comma) break;
	}
	close_bracket(p, b, "`,` or `)`");
	if (named || (all_spread && fields.n)) return record_node(p, &fields, first);
	if (fields.n == 1 && !comma) {
		fields.at[0].value->paren = true;
		return fields.at[0].value;
	}
	return tuple_node(p, &fields, tokens.at, first);
}

/* if = "if" condition block { "else" "if" condition block } [ "else" block ] */
static Ast *parse_if(Parser *p) {
	uint32_t first = p->at;
	take_operator(p);
	Ast *a = node_new(p, A_IF);
	a->if_.cond = parse_condition(p);
	a->if_.then_ = parse_block(p, "the condition of `if`");
	if (token_now(p)->kind == TK_ELSE) {
		swallow_newline(p);
		take_operator(p);
		if (kind_now(p) == TK_IF) {
			descend(p);
			a->if_.else_ = parse_if(p);
			p->depth--;
		} else {
			a->if_.else_ = parse_block(p, "`else`");
		}
	}
	return node_done(p, a, first);
}

/* try = "try" block "catch" [ NAME ] block */
static Ast *parse_try(Parser *p) {
	uint32_t first = p->at;
	advance(p);
	Ast *a = node_new(p, A_TRY);
	a->try_.body = parse_block(p, "`try`");
	if (token_now(p)->kind == TK_CATCH) swallow_newline(p);
	expect(p, TK_CATCH, "`catch` behind the block of `try`");
	if (kind_now(p) == TK_NAME) a->try_.name = parse_name(p, "a name", NULL);
	a->try_.handler = parse_block(p, "`catch`");
	return node_done(p, a, first);
}

/* A block counts as one level of nesting, although it is an expression as
 * well. */
static Ast *parse_block_expression(Parser *p) {
	p->depth--;
	Ast *a = parse_block(p, NULL);
	p->depth++;
	return a;
}

/* primary = NUMBER | string | NAME | "true" | "false" | "none"
 *         | parenthesised | tensor | block | if | try | derivative | nabla */
static Ast *parse_primary(Parser *p) {
	TokenKind k = kind_now(p);
	switch (k) {
	case TK_NUMBER: return parse_number(p);
	case TK_STR_OPEN: return parse_string(p);
	case TK_NAME: advance(p); return name_node(p, p->tokens[p->at - 1].name, p->at - 1);
	case TK_TRUE: return constant(p, value_bool(true));
	case TK_FALSE: return constant(p, value_bool(false));
	case TK_NONE: return constant(p, value_none());
	case TK_LPAREN: return parse_parenthesised(p);
	case TK_LBRACKET: return parse_tensor(p);
	case TK_LBRACE: return parse_block_expression(p);
	case TK_IF: return parse_if(p);
	case TK_TRY: return parse_try(p);
	case TK_PARTIAL: return parse_partial(p);
	case TK_NABLA: return parse_nabla(p);
	default: break;
	}
	if (token_is_keyword(k)) {
		bool statement =
			k == TK_FOR || k == TK_WHILE || k == TK_BREAK || k == TK_CONTINUE || k == TK_RETURN;
		const char *word = token_called(p, p->at);
		if (statement)
			FAIL(p, E_SYNTAX, token_span(p, p->at), "%s is a statement and has no value", word);
		if (kind_after(p, 1) == TK_ASSIGN) unexpected(p, "a name");
	}
	unexpected(p, "an expression");
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
