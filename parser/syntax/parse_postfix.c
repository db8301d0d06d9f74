/* parse_postfix.c - calls, indices and fields behind a primary expression;
 * arguments and comprehensions.
 *
 * Needs: parser.h.
 *
 * Contract: as parse_expr.c.
 */
#include "parser/syntax/parser.h"

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
Ast *parse_comprehension(Parser *p, Ast *body, bool generator, uint32_t first) {
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
Arg parse_arg(Parser *p, bool of_call, bool must_name, bool first_of_call) {
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
			arg.value = parse_comprehension(p, arg.value, true, first);
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
Ast *parse_call(Parser *p, Ast *callee, uint32_t first) {
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
	return binary_node(p, A_BINARY, AO_POW, base, at, integer_node(p, value, token), first);
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
