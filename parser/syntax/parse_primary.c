/* parse_primary.c - primary expressions: names and constants, brackets, blocks,
 * `if`, `try`, and derivatives in their own notation.
 *
 * Needs: parser.h.
 *
 * Contract: as parse_expr.c.
 */
#include "lang/base/value.h"
#include "parser/syntax/parser.h"

/* ---- derivatives in their own notation ----------------------------------- */

/* A name node for one token of the text. */
static Ast *token_name(Parser *p, Atom name, uint32_t token) {
	Ast *a = name_node(p, name, token);
	a->span = token_span(p, token);
	return a;
}

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
			e = parse_comprehension(p, e, false, item);
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
	fields_once(p, fields);
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
			item = unary_node(p, AO_SPREAD, item, tokens[i]);
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
Ast *parse_primary(Parser *p) {
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
