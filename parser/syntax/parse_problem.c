/* parse_problem.c - problem NAME(params) { ... }: domains, unknowns, equations,
 * conditions, events.
 *
 * Needs: parser.h.
 *
 * Contract:
 * - The items are recorded in order and not judged. problem/ checks that
 *   unknowns match equations and that conditions match orders.
 * - `==` in an item of a problem is the equation sign.
 * - A line that starts with `at` continues the equation before it.
 */
#include "parser/syntax/parser.h"

typedef struct Items { /* of the problem being parsed, in the scratch arena */
	VEC(Domain) domains;
	VEC(UnknownField) fields;
	AstList locals, equations;
	VEC(Event) events;
	Atom eigen;
	Span eigen_span;
} Items;

/* An item ends like a statement. It shows no result, so `;` only separates. */
static void end_item(Parser *p, const char *what) {
	TokenKind k = kind_now(p);
	if (k == TK_SEMICOLON || k == TK_NEWLINE || k == TK_EOF ||
	    (k == TK_RBRACE && token_now(p)->match))
		return;
	unexpected(p, what);
}

/* ---- domains and unknowns ------------------------------------------------ */

static void push_coordinate(Parser *p, AtomList *names, SpanList *spans) {
	Span at;
	Atom name = parse_name(p, "the name of a coordinate", &at);
	PUSH(p, names, name);
	PUSH(p, spans, at);
}

/* coordinates = NAME | "(" NAME { "," NAME } ")" */
static void parse_coordinates(Parser *p, Domain *d) {
	AtomList names = {0};
	SpanList spans = {0};
	if (kind_now(p) == TK_LPAREN) {
		Bracket b = open_bracket(p);
		do {
			push_coordinate(p, &names, &spans);
		} while (accept(p, TK_COMMA) && kind_now(p) != TK_RPAREN);
		close_bracket(p, b, "`,` or `)` after a coordinate");
	} else {
		push_coordinate(p, &names, &spans);
	}
	d->ncoords = names.n;
	d->coords = KEEP(p, names);
	d->spans = KEEP(p, spans);
}

/* domain = "domain" part { "," part }
 * part = coordinates "in" ( "[" a "," b "]" | expression ) [ "periodic" ] */
static void parse_domain(Parser *p, Items *items) {
	advance(p);
	do {
		swallow_newline(p);
		uint32_t first = p->at;
		Domain d = {0};
		parse_coordinates(p, &d);
		expect(p, TK_IN, "`in` and the interval or region of the coordinate");
		swallow_newline(p);
		Ast *e = parse_expression(p);
		bool pair = e->kind == A_TENSOR && !e->paren && e->tensor.nrows == 1 && e->tensor.n == 2;
		if (e->kind == A_RANGE) {
			const char *hint = "write [a, b]";
			FAIL_HINT(p, E_PROBLEM, e->span, hint,
			          "a coordinate needs an interval, a range has integers");
		}
		if (pair && d.ncoords > 1) {
			FAIL_HINT(p, E_PROBLEM, e->span, "write box([a, b], [c, d])",
			          "an interval for %u coordinates", d.ncoords);
		}
		if (pair) {
			d.lo = e->tensor.items[0];
			d.hi = e->tensor.items[1];
		} else {
			d.kind = DOMAIN_REGION;
			d.region = e;
		}
		if (at_word(p, "periodic")) {
			d.periodic = true;
			advance(p);
		}
		d.span = span_from(p, first);
		PUSH(p, &items->domains, d);
	} while (accept(p, TK_COMMA));
	end_item(p, "`,`, `periodic` or the end of the line after a domain");
}

/* field = "field" NAME [ "[" expression "]" ]
 *         { "," NAME [ "[" expression "]" ] } */
static void parse_field_item(Parser *p, Items *items) {
	advance(p);
	do {
		swallow_newline(p);
		uint32_t first = p->at;
		UnknownField f = {.name = parse_name(p, "the name of an unknown", NULL)};
		if (kind_now(p) == TK_LBRACKET) {
			Bracket b = open_bracket(p);
			f.size = parse_expression(p);
			close_bracket(p, b, "`]` after the number of components");
		}
		f.span = span_from(p, first);
		PUSH(p, &items->fields, f);
	} while (accept(p, TK_COMMA));
	end_item(p, "`,` or the end of the line after an unknown");
}

/* eigen = "eigen" NAME */
static void parse_eigen(Parser *p, Items *items) {
	uint32_t first = p->at;
	advance(p);
	Span at;
	Atom name = parse_name(p, "the name of the eigenvalue", &at);
	if (items->eigen && !p->stopped) {
		Diag *d =
			diag_error(p->ctx, E_DUPLICATE, span_from(p, first), "a problem has one eigenvalue");
		diag_second(p->ctx, d, items->eigen_span, "the first is here");
		give_up(p);
	}
	items->eigen = name;
	items->eigen_span = at;
	end_item(p, "the end of the line after the eigenvalue");
}

/* ---- equations, conditions, local definitions ---------------------------- */

/* place = NAME [ "=" range ] | "(" expression { "," expression } ")" */
static At parse_place(Parser *p) {
	uint32_t first = p->at;
	At at = {0};
	if (kind_now(p) == TK_LPAREN) {
		at.value = parse_postfix(p);
		if (at.value->kind != A_TUPLE) {
			const char *hint = "a face is written x = 0, a point (0, 0)";
			FAIL_HINT(p, E_PROBLEM, span_from(p, first), hint,
			          "expected the coordinates of a point");
		}
	} else {
		at.name = parse_name(p, "the name of a coordinate or a part of the boundary", NULL);
		if (kind_now(p) == TK_EQ) {
			Span sign = token_span(p, p->at);
			FAIL_HINT(p, E_SYNTAX, sign, "write x = 1",
			          "behind `at`, a coordinate is given its value by `=`");
		}
		if (accept(p, TK_ASSIGN)) {
			swallow_newline(p);
			at.value = parse_range(p);
		}
	}
	at.span = span_from(p, first);
	return at;
}

/* True at the word `at`, also at the start of the next line when a location
 * follows. */
static bool at_places(const Parser *p) {
	if (at_word(p, "at")) return true;
	const Token *t = token_now(p);
	bool word =
		t->kind == TK_NAME && t->end - t->start == 2 && !memcmp(p->text + t->start, "at", 2);
	return word && t->newline && (kind_after(p, 1) == TK_NAME || kind_after(p, 1) == TK_LPAREN);
}

/* equation = range "==" range [ "at" place { "," place } ] */
static void parse_equation(Parser *p, Items *items) {
	uint32_t first = p->at;
	Ast *left = parse_range(p);
	TokenKind k = kind_now(p);
	if (k == TK_ASSIGN) {
		FAIL_HINT(p, E_SYNTAX, token_span(p, p->at), "write `==`",
		          "an equation is written with `==`");
	}
	if (k == TK_NE || k == TK_LT || k == TK_LE || k == TK_GT || k == TK_GE) {
		FAIL(p, E_PROBLEM, token_span(p, p->at), "a problem is made of equations; `%.*s` is none",
		     (int)(token_now(p)->end - token_now(p)->start), p->text + token_now(p)->start);
	}
	Ast *a = node_new(p, A_EQUATION);
	a->equation.left = left;
	a->equation.op_span = token_span(p, p->at);
	expect(p, TK_EQ, "`==` and the right side of the equation");
	swallow_newline(p);
	a->equation.right = parse_range(p);
	if (at_places(p)) {
		VEC(At) places = {0};
		advance(p);
		do {
			swallow_newline(p);
			PUSH(p, &places, parse_place(p));
		} while (accept(p, TK_COMMA));
		a->equation.nats = places.n;
		a->equation.ats = KEEP(p, places);
	}
	node_done(p, a, first);
	if (a->equation.nats) end_item(p, "`,` or the end of the line after a condition");
	else end_item(p, "`at` or the end of the line after an equation");
	PUSH(p, &items->equations, a);
}

/* local = NAME "=" expression | definition */
static void parse_local(Parser *p, Items *items) {
	uint32_t first = p->at;
	Ast *a;
	if (at_definition(p)) {
		a = parse_definition(p);
	} else {
		a = node_new(p, A_ASSIGN);
		Ast *target = node_new(p, A_NAME);
		target->name.name = parse_name(p, "a name", NULL);
		a->assign.target = node_done(p, target, first);
		Span sign = token_span(p, p->at);
		advance(p);
		swallow_newline(p);
		a->assign.value = parse_expression_list(p);
		if (at_places(p))
			FAIL_HINT(p, E_SYNTAX, sign, "write `==`",
			          "a condition is an equation, written with `==`");
		node_done(p, a, first);
	}
	end_item(p, "the end of the line after a definition");
	PUSH(p, &items->locals, a);
}

/* ---- events -------------------------------------------------------------- */

/* event = "event" NAME ":" expression
 *         { "falling" | "rising" | "terminal" } [ block ]
 * An event that is an equation occurs where both sides are equal. */
static void parse_event(Parser *p, Items *items) {
	uint32_t first = p->at;
	advance(p);
	Event e = {.name = parse_name(p, "the name of the event", NULL)};
	expect(p, TK_COLON, "`:` and the expression whose zero is the event");
	swallow_newline(p);
	e.expr = parse_expression(p);
	if (e.expr->kind == A_BINARY && e.expr->op == AO_EQ) e.expr->op = AO_SUB;
	for (;;) {
		if (at_word(p, "falling")) e.direction = -1;
		else if (at_word(p, "rising")) e.direction = 1;
		else if (at_word(p, "terminal")) e.terminal = true;
		else break;
		advance(p);
	}
	if (kind_now(p) == TK_LBRACE) e.body = parse_block(p, NULL);
	e.span = span_from(p, first);
	end_item(p, "`falling`, `rising`, `terminal` or a block { ... }");
	PUSH(p, &items->events, e);
}

/* ---- the whole ----------------------------------------------------------- */

/* item = domain | field | eigen | event | local | equation */
static void parse_item(Parser *p, void *out) {
	Items *items = out;
	TokenKind next = kind_after(p, 1);
	bool region = false; /* domain (x, y) in ... */
	if (at_word(p, "domain") && next == TK_LPAREN) {
		uint32_t match = p->tokens[p->at + 1].match;
		region = match && kind_after(p, match - p->at + 1) == TK_IN;
	}
	if (at_word(p, "domain") && (next == TK_NAME || region)) parse_domain(p, items);
	else if (at_word(p, "field") && next == TK_NAME) parse_field_item(p, items);
	else if (at_word(p, "eigen") && next == TK_NAME) parse_eigen(p, items);
	else if (at_word(p, "event") && next == TK_NAME) parse_event(p, items);
	else if (at_definition(p) || (kind_now(p) == TK_NAME && next == TK_ASSIGN))
		parse_local(p, items);
	else parse_equation(p, items);
}

/* An eigenvalue λ is the last field. With a single coordinate x it is an
 * unknown that does not change, λ_x == 0. Returns true with several
 * coordinates: then it has no equation. */
static bool eigenvalue_as_field(Parser *p, Items *items) {
	const Domain *d = &items->domains.at[0];
	PUSH(p, &items->fields, ((UnknownField){.name = items->eigen, .span = items->eigen_span}));
	if (items->domains.n != 1 || d->kind != DOMAIN_INTERVAL || d->ncoords != 1) return true;
	Ast *rate = node_new(p, A_NAME), *zero = node_new(p, A_CONST), *a = node_new(p, A_EQUATION);
	rate->name.name = atom(p->ctx, arena_printf(p->arena, "%s_%s", atom_text(p->ctx, items->eigen),
	                                            atom_text(p->ctx, d->coords[0])));
	zero->constant.value = value_i64(0);
	zero->weak = true;
	a->equation.left = rate;
	a->equation.right = zero;
	a->equation.op_span = rate->span = zero->span = a->span = items->eigen_span;
	PUSH(p, &items->equations, a);
	return false;
}

/* problem = "problem" NAME [ "(" params ")" ] "{" { item } "}" */
Ast *parse_problem(Parser *p) {
	uint32_t first = p->at;
	ParamList params = {0};
	Items items = {0};
	advance(p);
	descend(p);
	Ast *a = node_new(p, A_PROBLEM);
	a->problem = arena_zalloc(p->arena, sizeof *a->problem);
	a->problem->name = parse_name(p, "the name of the problem", &a->problem->name_span);
	if (kind_now(p) == TK_LPAREN) {
		Bracket b = open_bracket(p);
		parse_params(p, TK_RPAREN, true, &params);
		close_bracket(p, b, "`,` or `)` after a parameter");
		params_once(p, &params);
		if (params.n && params.at[params.n - 1].rest)
			FAIL(p, E_SYNTAX, params.at[params.n - 1].span,
			     "a problem has the parameters that it names, and no others");
	}
	if (kind_now(p) != TK_LBRACE)
		unexpected(p, "`{` and the domain, unknowns and equations of the problem");
	Bracket b = open_bracket(p);
	parse_statements(p, TK_RBRACE, parse_item, &items);
	close_bracket(p, b, "`}`");
	p->depth--;
	a->problem->eigen_apart = items.eigen && items.domains.n && eigenvalue_as_field(p, &items);
	a->problem->nparams = params.n;
	a->problem->params = KEEP(p, params);
	a->problem->ndomains = items.domains.n;
	a->problem->domains = KEEP(p, items.domains);
	a->problem->nfields = items.fields.n;
	a->problem->fields = KEEP(p, items.fields);
	a->problem->nlocals = items.locals.n;
	a->problem->locals = KEEP(p, items.locals);
	a->problem->nequations = items.equations.n;
	a->problem->equations = KEEP(p, items.equations);
	a->problem->nevents = items.events.n;
	a->problem->events = KEEP(p, items.events);
	a->problem->eigen = items.eigen;
	a->problem->eigen_span = items.eigen_span;
	return node_done(p, a, first);
}
