/* parse_stmt.c - statements, blocks, definitions, parameters, types in
 * annotations.
 *
 * Needs: parser.h.
 *
 * Contract:
 * - A contextual keyword (use, problem, derivative) starts a statement only
 *   when the next word makes it one. Elsewhere these words are names.
 * - f(...) = and f(...) -> are definitions. The token after the closing bracket
 *   distinguishes them from a call.
 */
#include "parser/syntax/parser.h"

/* Ends a statement: true when a `;` hides its result. */
static bool end_statement(Parser *p) {
	TokenKind k = kind_now(p);
	if (k == TK_SEMICOLON) {
		advance(p);
		return true;
	}
	bool block_ends = k == TK_RBRACE && token_now(p)->match;
	if (k != TK_NEWLINE && k != TK_EOF && !block_ends) unexpected(p, "the end of the statement");
	return false;
}

/* ---- types --------------------------------------------------------------- */

/* dims = "[" ( "..." | dim { "," dim } ) "]"
 * dim = sum | "_" */
static void parse_dims(Parser *p, Ast *type) {
	AstList dims = {0};
	Bracket b = open_bracket(p);
	bool any = accept(p, TK_ELLIPSIS);
	while (!any && kind_now(p) != TK_RBRACKET) {
		swallow_newline(p);
		if (at_word(p, "_")) {
			advance(p);
			PUSH(p, &dims, NULL);
		} else {
			PUSH(p, &dims, parse_sum(p));
		}
		if (!accept(p, TK_COMMA)) break;
	}
	close_bracket(p, b, "`,` or `]` after a length");
	if (dims.n > MAX_RANK) {
		FAIL(p, E_SYNTAX, token_span(p, b.open), "a tensor has at most %d axes, this type has %u",
		     MAX_RANK, dims.n);
	}
	type->type.rank = any ? UINT32_MAX : dims.n;
	type->type.dims = KEEP(p, dims);
}

/* type = DTYPE [ dims ] | dims | "function"
 *      | "(" NAME ":" type { "," NAME ":" type } ")" */
static Ast *parse_type(Parser *p) {
	uint32_t first = p->at;
	descend(p);
	Ast *a = node_new(p, A_TYPE);
	TokenKind k = kind_now(p);
	if (k == TK_LPAREN) {
		ParamList fields = {0};
		Bracket b = open_bracket(p);
		while (kind_now(p) != TK_RPAREN) {
			swallow_newline(p);
			uint32_t from = p->at;
			Param f = {.name = parse_name(p, "the name of a field", NULL)};
			expect(p, TK_COLON, "`:` and the type of the field");
			f.type = parse_type(p);
			f.span = span_from(p, from);
			PUSH(p, &fields, f);
			if (!accept(p, TK_COMMA)) break;
		}
		close_bracket(p, b, "`,` or `)` after a field");
		a->type.is_record = true;
		a->type.nfields = fields.n;
		a->type.fields = KEEP(p, fields);
	} else if (k == TK_LBRACKET) {
		parse_dims(p, a);
	} else if (k == TK_NAME) {
		const char *name = atom_text(p->ctx, token_now(p)->name);
		Dtype dtype;
		if (!strcmp(name, "function")) {
			a->type.is_function = true;
		} else if (dtype_from_name(name, &dtype)) {
			a->type.has_dtype = true;
			a->type.dtype = (uint8_t)dtype;
		} else {
			if (p->stopped) give_up(p);
			const char *names[DT_COUNT + 1];
			for (int d = 0; d < DT_COUNT; d++) names[d] = dtype_name((Dtype)d);
			names[DT_COUNT] = "function";
			const char *near = diag_nearest(name, names, DT_COUNT + 1);
			Diag *d =
				diag_error(p->ctx, E_SYNTAX, token_span(p, p->at), "`%s` is not a type", name);
			if (near) diag_hint(p->ctx, d, "did you mean `%s`?", near);
			else
				diag_hint(
					p->ctx, d,
					"types look like f64, f64[m, n], f64[...], function, (W: f64[n], b: f64)");
			give_up(p);
		}
		advance(p);
		if (a->type.has_dtype && kind_now(p) == TK_LBRACKET) parse_dims(p, a);
	} else {
		unexpected(p, "a type");
	}
	p->depth--;
	return node_done(p, a, first);
}

/* ---- parameters, definitions --------------------------------------------- */

/* pattern = "(" ( NAME | pattern ) { "," ( NAME | pattern ) } ")"
 * The tuple of a destructured parameter. */
static Param parse_param(Parser *p, bool named) {
	uint32_t first = p->at;
	Param param = {.named = named};
	if (accept(p, TK_ELLIPSIS)) {
		param.rest = true;
		param.name = parse_name(p, "a name for the arguments that are left over", NULL);
		param.span = span_from(p, first);
		return param;
	}
	if (kind_now(p) == TK_LPAREN) param.pattern = parse_for_target(p);
	else param.name = parse_name(p, "the name of a parameter", NULL);
	if (accept(p, TK_COLON)) {
		swallow_newline(p);
		param.type = parse_type(p);
	}
	if (accept(p, TK_ASSIGN)) {
		swallow_newline(p);
		param.fallback = parse_expression(p);
	}
	param.span = span_from(p, first);
	return param;
}

/* params = [ { param "," } ( param | "..." NAME ) ]
 *          [ ";" { param "," } ( param | "..." NAME ) ]
 * param = ( NAME | pattern ) [ ":" type ] [ "=" expression ] */
void parse_params(Parser *p, TokenKind closer, bool named_too, ParamList *out) {
	bool named = named_too && accept(p, TK_SEMICOLON);
	while (kind_now(p) != closer) {
		swallow_newline(p);
		if (kind_now(p) == closer) return;
		if (out->n && out->at[out->n - 1].rest && (out->at[out->n - 1].named || !named))
			FAIL(p, E_SYNTAX, token_span(p, p->at),
			     "nothing stands behind `...%s`, which takes what is left over",
			     atom_text(p->ctx, out->at[out->n - 1].name));
		PUSH(p, out, parse_param(p, named));
		if (kind_now(p) == TK_SEMICOLON && named_too && !named) named = true;
		else if (kind_now(p) != TK_COMMA) return;
		advance(p);
		swallow_newline(p);
	}
}

bool at_definition(const Parser *p) {
	if (kind_now(p) != TK_NAME || kind_after(p, 1) != TK_LPAREN) return false;
	uint32_t match = p->tokens[p->at + 1].match;
	if (!match) return false;
	TokenKind k = kind_after(p, match - p->at + 1);
	return k == TK_ASSIGN || k == TK_ARROW;
}

/* definition = NAME "(" params ")" [ "->" type ] "=" expression-list */
Ast *parse_definition(Parser *p) {
	uint32_t first = p->at;
	ParamList params = {0};
	Ast *a = node_new(p, A_DEF);
	a->function.name = parse_name(p, "the name of a function", NULL);
	if (a->function.name == p->delta) a->function.name = p->lap;
	Bracket b = open_bracket(p);
	parse_params(p, TK_RPAREN, true, &params);
	close_bracket(p, b, "`,` or `)` after a parameter");
	params_once(p, &params);
	a->function.nparams = params.n;
	a->function.params = KEEP(p, params);
	if (accept(p, TK_ARROW)) {
		swallow_newline(p);
		a->function.result = parse_type(p);
	}
	a->function.head = span_from(p, first);
	expect(p, TK_ASSIGN, "`=` and the body of the function");
	swallow_newline(p);
	a->function.body = parse_expression_list(p);
	return node_done(p, a, first);
}

/* derivative = "derivative" NAME "(" params ")" { "," NAME }
 *              "=" expression-list */
static Ast *parse_derivative(Parser *p) {
	uint32_t first = p->at;
	ParamList params = {0};
	VEC(Atom) tangents = {0};
	advance(p);
	Ast *a = node_new(p, A_DERIVATIVE);
	a->derivative.name = parse_name(p, "the name of a function", &a->derivative.name_span);
	Bracket b = open_bracket(p);
	parse_params(p, TK_RPAREN, true, &params);
	close_bracket(p, b, "`,` or `)` after a parameter");
	params_once(p, &params);
	while (accept(p, TK_COMMA)) {
		swallow_newline(p);
		PUSH(p, &tangents, parse_name(p, "the name of a tangent, such as dx", NULL));
	}
	for (uint32_t i = 0; i < params.n; i++)
		if (params.at[i].rest && !params.at[i].named)
			FAIL_HINT(p, E_RULE, params.at[i].span,
			          "a function of a tuple may have a rule, and be called by the one with `...`",
			          "a rule names each argument");
	/* Collected arguments have no tangent. */
	const uint32_t moving = params.n - (params.n && params.at[params.n - 1].rest);
	if (tangents.n && tangents.n != moving) {
		FAIL(p, E_RULE, span_from(p, first), "this rule names %u tangent%s for %u parameter%s",
		     tangents.n, tangents.n == 1 ? "" : "s", moving, moving == 1 ? "" : "s");
	}
	expect(p, TK_ASSIGN, "`=` and the rule");
	swallow_newline(p);
	a->derivative.nparams = params.n;
	a->derivative.params = KEEP(p, params);
	a->derivative.ntangents = tangents.n;
	a->derivative.tangents = KEEP(p, tangents);
	a->derivative.body = parse_expression_list(p);
	return node_done(p, a, first);
}

/* ---- assignments --------------------------------------------------------- */

static void check_target(Parser *p, const Ast *a, bool compound) {
	const Ast *base = a;
	while (base->kind == A_INDEX || base->kind == A_FIELD) {
		base = base->kind == A_INDEX ? base->index.base : base->field.base;
	}
	if (base->kind == A_NAME) return;
	if (a->kind == A_TUPLE && !compound && a->tuple.n) {
		for (uint32_t i = 0; i < a->tuple.n; i++) check_target(p, a->tuple.items[i], false);
		return;
	}
	const char *hint =
		"a target is a name, x[i], r.field or a tuple of them; to compare, write `==`";
	if (a->kind == A_CALL)
		hint = "a function is defined by f(x) = ..., an element is set by x[i] = ...";
	bool primed = a->kind == A_PRIME || (a->kind == A_CALL && a->call.callee->kind == A_PRIME);
	if (primed) hint = "the derivative of a function is given by `derivative f(x) = ...`";
	FAIL_HINT(p, E_TARGET, a->span, hint, "this cannot be assigned to");
}

static AstOp compound_op(const Parser *p) {
	switch (p->text[token_now(p)->start]) {
	case '+': return AO_ADD;
	case '-': return AO_SUB;
	case '*': return AO_MUL;
	case '%': return AO_MOD;
	case '^': return AO_POW;
	case '@': return AO_MATMUL;
	default: return token_now(p)->end - token_now(p)->start == 3 ? AO_FLOORDIV : AO_DIV;
	}
}

/* index-definition = NAME "[" NAME { "," NAME } "]" ":="
 *                    expression [ clauses ] */
static bool at_index_definition(const Parser *p) {
	if (kind_now(p) != TK_NAME || kind_after(p, 1) != TK_LBRACKET) return false;
	uint32_t match = p->tokens[p->at + 1].match;
	return match && kind_after(p, match - p->at + 1) == TK_DEFINE;
}

static Ast *parse_index_definition(Parser *p) {
	uint32_t first = p->at;
	AstList indices = {0};
	ClauseList clauses = {0};
	Ast *a = node_new(p, A_INDEX_DEF);
	a->index_def.name = parse_name(p, "a name", &a->index_def.name_span);
	Bracket b = open_bracket(p);
	while (kind_now(p) != TK_RBRACKET) {
		uint32_t at = p->at;
		if (kind_now(p) == TK_NUMBER) {
			const char *hint = "one element is set by x[0] = ...";
			FAIL_HINT(p, E_TARGET, token_span(p, at), hint,
			          "an index on the left of `:=` is a name");
		}
		Ast *index = node_new(p, A_NAME);
		index->name.name = parse_name(p, "the name of an index", NULL);
		PUSH(p, &indices, node_done(p, index, at));
		if (!accept(p, TK_COMMA)) break;
	}
	close_bracket(p, b, "`,` or `]` after an index");
	if (!indices.n) FAIL(p, E_SYNTAX, token_span(p, b.open), "expected the name of an index");
	expect(p, TK_DEFINE, "`:=`");
	swallow_newline(p);
	a->index_def.nindices = indices.n;
	a->index_def.indices = KEEP(p, indices);
	a->index_def.value = parse_expression(p);
	parse_clauses(p, &clauses);
	a->index_def.nclauses = clauses.n;
	a->index_def.clauses = KEEP(p, clauses);
	return node_done(p, a, first);
}

/* assignment = expression-list [ ( "=" | "+=" | ... ) expression-list ] */
static Ast *parse_assignment(Parser *p) {
	uint32_t first = p->at;
	Ast *target = parse_expression_list(p);
	TokenKind k = kind_now(p);
	if (k == TK_DEFINE) {
		const char *hint = "write T[i, j] := ...; a name is given a value by `=`";
		FAIL_HINT(p, E_TARGET, token_span(p, p->at), hint, "`:=` defines a tensor by its indices");
	}
	if (k != TK_ASSIGN && k != TK_COMPOUND) return target;
	check_target(p, target, k == TK_COMPOUND);
	targets_once(p, target);
	Ast *a = node_new(p, A_ASSIGN);
	a->op = (uint8_t)(k == TK_COMPOUND ? compound_op(p) : AO_NONE);
	advance(p);
	swallow_newline(p);
	a->assign.target = target;
	a->assign.value = parse_expression_list(p);
	if (kind_now(p) == TK_ASSIGN) {
		const char *hint = kind_after(p, 1) == TK_GT
		                       ? "a function without a name is written x -> ..."
		                       : "write one assignment on each line; to compare, write `==`";
		FAIL_HINT(p, E_SYNTAX, token_span(p, p->at), hint, "an assignment has one `=`");
	}
	return node_done(p, a, first);
}

/* ---- the other statements ------------------------------------------------ */

/* block = "{" { statement } "}" */
Ast *parse_block(Parser *p, const char *after) {
	uint32_t first = p->at;
	if (kind_now(p) != TK_LBRACE) {
		unexpected(p, after ? arena_printf(p->scratch, "`{` after %s", after) : "`{`");
	}
	descend(p);
	AstList items = {0};
	Bracket b = open_bracket(p);
	parse_statements(p, TK_RBRACE, parse_statement, &items);
	close_bracket(p, b, "`}`");
	p->depth--;
	Ast *a = node_new(p, A_BLOCK);
	a->block.n = items.n;
	a->block.items = KEEP(p, items);
	return node_done(p, a, first);
}

/* for = "for" for-target { "," for-target } "in" expression block
 * Several names form a tuple. */
static Ast *parse_for(Parser *p) {
	advance(p);
	uint32_t first = p->at;
	Ast *target = parse_for_target(p);
	if (kind_now(p) == TK_COMMA) {
		AstList names = {0};
		PUSH(p, &names, target);
		while (accept(p, TK_COMMA)) PUSH(p, &names, parse_for_target(p));
		target = node_new(p, A_TUPLE);
		target->tuple.n = names.n;
		target->tuple.items = KEEP(p, names);
		node_done(p, target, first);
	}
	targets_once(p, target);
	expect(p, TK_IN, "`in` and what to go through");
	swallow_newline(p);
	Ast *a = node_new(p, A_FOR);
	a->for_.target = target;
	a->for_.iterable = parse_expression(p);
	a->for_.body = parse_block(p, "what the loop goes through");
	return node_done(p, a, first - 1);
}

/* while = "while" condition block */
static Ast *parse_while(Parser *p) {
	uint32_t first = p->at;
	advance(p);
	Ast *a = node_new(p, A_WHILE);
	a->while_.cond = parse_condition(p);
	a->while_.body = parse_block(p, "the condition of `while`");
	return node_done(p, a, first);
}

/* return = "return" [ expression-list ] */
static Ast *parse_return(Parser *p) {
	uint32_t first = p->at;
	advance(p);
	Ast *a = node_new(p, A_RETURN);
	TokenKind k = kind_now(p);
	bool alone = k == TK_NEWLINE || k == TK_EOF || k == TK_SEMICOLON || k == TK_RBRACE;
	if (!alone) a->return_.value = parse_expression_list(p);
	return node_done(p, a, first);
}

static Ast *parse_word(Parser *p, AstKind kind) {
	uint32_t first = p->at;
	advance(p);
	return node_done(p, node_new(p, kind), first);
}

/* use = "use" module { "," module }
 * module = ( NAME | STRING ) [ "as" NAME ]
 * One statement for each module. */
static void parse_use(Parser *p, AstList *out) {
	uint32_t first = p->at;
	advance(p);
	do {
		swallow_newline(p);
		Ast *a = node_new(p, A_USE);
		if (kind_now(p) == TK_STR_OPEN) {
			uint32_t from = p->at;
			Ast *path = parse_string(p);
			if (path->string.n != 1 || !path->string.pieces[0].n) {
				FAIL(p, E_SYNTAX, span_from(p, from),
				     "the path of a module is a plain text, without interpolation");
			}
			a->use.path = path->string.pieces[0].text;
		} else {
			a->use.module = parse_name(p, "the name of a module or its path", NULL);
			if (kind_now(p) == TK_DOT)
				unexpected(p, "`,`, `as` or the end of the line after a module");
		}
		if (at_word(p, "as")) {
			advance(p);
			a->use.alias = parse_name(p, "a name for the module", NULL);
		}
		PUSH(p, out, node_done(p, a, first));
		first = p->at + 1;
	} while (accept(p, TK_COMMA));
}

/* statement = definition | index-definition | assignment | for | while
 *           | "break" | "continue" | return | use | problem | derivative */
void parse_statement(Parser *p, void *list) {
	AstList *out = list;
	Ast *a = NULL;
	if (token_is_keyword(kind_now(p)) && kind_after(p, 1) == TK_ASSIGN) {
		FAIL(p, E_SYNTAX, token_span(p, p->at), "%s is a keyword and cannot be a name",
		     token_called(p, p->at));
	}
	switch (kind_now(p)) {
	case TK_FOR: a = parse_for(p); break;
	case TK_WHILE: a = parse_while(p); break;
	case TK_BREAK: a = parse_word(p, A_BREAK); break;
	case TK_CONTINUE: a = parse_word(p, A_CONTINUE); break;
	case TK_RETURN: a = parse_return(p); break;
	case TK_NAME: {
		TokenKind next = kind_after(p, 1);
		if (at_definition(p)) a = parse_definition(p);
		else if (at_index_definition(p)) a = parse_index_definition(p);
		else if (at_word(p, "problem") && next == TK_NAME) a = parse_problem(p);
		else if (at_word(p, "derivative") && next == TK_NAME && kind_after(p, 2) == TK_LPAREN)
			a = parse_derivative(p);
		else if (at_word(p, "use") && (next == TK_NAME || next == TK_STR_OPEN)) parse_use(p, out);
		else a = parse_assignment(p);
		break;
	}
	default: a = parse_assignment(p);
	}
	bool hidden = end_statement(p);
	if (a) PUSH(p, out, a);
	out->at[out->n - 1]->hidden = hidden;
}
