/* ast.c - traversal and printing of the syntax tree.
 *
 * Needs: ast.h.
 *
 * Contract:
 * - ast_children visits every child once, in source order as far as the tree
 *   records it.
 * - ast_print writes one s-expression without line breaks, also for a problem
 *   and a block. It contains every field of the tree except spans and ids.
 * - The parser's limits bound the recursion of both.
 */
#include "parser/syntax/ast.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- children ------------------------------------------------------------ */

typedef struct Visitor {
	void (*visit)(void *ud, const Ast *child);
	void *ud;
} Visitor;

static void one(Visitor v, const Ast *a) {
	if (a) v.visit(v.ud, a);
}

static void many(Visitor v, uint32_t n, Ast *const *items) {
	for (uint32_t i = 0; i < n; i++) one(v, items[i]);
}

static void children_of_params(Visitor v, uint32_t n, const Param *params) {
	for (uint32_t i = 0; i < n; i++) {
		one(v, params[i].pattern);
		one(v, params[i].type);
		one(v, params[i].fallback);
	}
}

static void children_of_args(Visitor v, uint32_t n, const Arg *args) {
	for (uint32_t i = 0; i < n; i++) one(v, args[i].value);
}

static void children_of_clauses(Visitor v, uint32_t n, const ForClause *clauses) {
	for (uint32_t i = 0; i < n; i++) {
		many(v, clauses[i].n, clauses[i].names);
		one(v, clauses[i].range);
	}
}

static void children_of_problem(Visitor v, const Ast *a) {
	children_of_params(v, a->problem->nparams, a->problem->params);
	for (uint32_t i = 0; i < a->problem->ndomains; i++) {
		const Domain *d = &a->problem->domains[i];
		one(v, d->lo);
		one(v, d->hi);
		one(v, d->region);
	}
	for (uint32_t i = 0; i < a->problem->nfields; i++) one(v, a->problem->fields[i].size);
	many(v, a->problem->nlocals, a->problem->locals);
	many(v, a->problem->nequations, a->problem->equations);
	for (uint32_t i = 0; i < a->problem->nevents; i++) {
		one(v, a->problem->events[i].expr);
		one(v, a->problem->events[i].body);
	}
}

void ast_children(const Ast *a, void (*visit)(void *ud, const Ast *child), void *ud) {
	Visitor v = {visit, ud};
	switch ((AstKind)a->kind) {
	case A_CONST:
	case A_NAME:
	case A_ELLIPSIS:
	case A_BREAK:
	case A_CONTINUE:
	case A_USE: return;
	case A_STRING:
		for (uint32_t i = 0; i < a->string.n; i++) one(v, a->string.pieces[i].value);
		return;
	case A_TENSOR: many(v, a->tensor.n, a->tensor.items); return;
	case A_TUPLE: many(v, a->tuple.n, a->tuple.items); return;
	case A_RECORD: children_of_args(v, a->record.n, a->record.fields); return;
	case A_UNARY: one(v, a->unary.operand); return;
	case A_BINARY:
	case A_LOGIC:
		one(v, a->binary.left);
		one(v, a->binary.right);
		return;
	case A_COMPARE: many(v, a->compare.n, a->compare.operands); return;
	case A_PRIME: one(v, a->prime.operand); return;
	case A_CALL:
		one(v, a->call.callee);
		children_of_args(v, a->call.n, a->call.args);
		return;
	case A_INDEX:
		one(v, a->index.base);
		many(v, a->index.n, a->index.items);
		return;
	case A_FIELD: one(v, a->field.base); return;
	case A_RANGE:
		one(v, a->range.lo);
		one(v, a->range.hi);
		one(v, a->range.step);
		return;
	case A_LAMBDA:
	case A_DEF:
		children_of_params(v, a->function.nparams, a->function.params);
		one(v, a->function.result);
		one(v, a->function.body);
		return;
	case A_IF:
		one(v, a->if_.cond);
		one(v, a->if_.then_);
		one(v, a->if_.else_);
		return;
	case A_BLOCK: many(v, a->block.n, a->block.items); return;
	case A_FOR:
		one(v, a->for_.target);
		one(v, a->for_.iterable);
		one(v, a->for_.body);
		return;
	case A_WHILE:
		one(v, a->while_.cond);
		one(v, a->while_.body);
		return;
	case A_TRY:
		one(v, a->try_.body);
		one(v, a->try_.handler);
		return;
	case A_RETURN: one(v, a->return_.value); return;
	case A_COMPREHENSION:
		one(v, a->comprehension.body);
		children_of_clauses(v, a->comprehension.n, a->comprehension.clauses);
		one(v, a->comprehension.filter);
		return;
	case A_ASSIGN:
		one(v, a->assign.target);
		one(v, a->assign.value);
		return;
	case A_INDEX_DEF:
		many(v, a->index_def.nindices, a->index_def.indices);
		one(v, a->index_def.value);
		children_of_clauses(v, a->index_def.nclauses, a->index_def.clauses);
		return;
	case A_DERIVATIVE:
		children_of_params(v, a->derivative.nparams, a->derivative.params);
		one(v, a->derivative.body);
		return;
	case A_PROBLEM: children_of_problem(v, a); return;
	case A_TYPE:
		many(v, a->type.rank == UINT32_MAX ? 0 : a->type.rank, a->type.dims);
		children_of_params(v, a->type.nfields, a->type.fields);
		return;
	case A_EQUATION:
		one(v, a->equation.left);
		one(v, a->equation.right);
		for (uint32_t i = 0; i < a->equation.nats; i++) one(v, a->equation.ats[i].value);
		return;
	}
}

/* ---- printing ------------------------------------------------------------ */

typedef struct AstPrinter {
	Text *out;
	Ctx *ctx;
} AstPrinter;

static void print_node(AstPrinter w, const Ast *a);

static void put(AstPrinter w, const char *s) { text_str(w.out, s); }

static void put_atom(AstPrinter w, Atom a) { text_str(w.out, atom_text(w.ctx, a)); }

/* Writes " item", or " _" for a missing one. */
static void put_item(AstPrinter w, const Ast *a) {
	put(w, " ");
	if (a) print_node(w, a);
	else put(w, "_");
}

static void put_items(AstPrinter w, uint32_t n, Ast *const *items) {
	for (uint32_t i = 0; i < n; i++) put_item(w, items[i]);
}

static const char *op_text(uint8_t op) {
	static const char *const text[] = {
		[AO_NONE] = "",       [AO_NEG] = "-",   [AO_POS] = "+",     [AO_NOT] = "not",
		[AO_ADD] = "+",       [AO_SUB] = "-",   [AO_MUL] = "*",     [AO_DIV] = "/",
		[AO_FLOORDIV] = "//", [AO_MOD] = "%",   [AO_POW] = "^",     [AO_MATMUL] = "@",
		[AO_DOT] = "·",       [AO_CROSS] = "×", [AO_EQ] = "==",     [AO_NE] = "!=",
		[AO_LT] = "<",        [AO_LE] = "<=",   [AO_GT] = ">",      [AO_GE] = ">=",
		[AO_AND] = "and",     [AO_OR] = "or",   [AO_COMPOSE] = "∘", [AO_PIPE] = "|>",
		[AO_SPREAD] = "...",
	};
	return text[op];
}

/* Writes the shortest form that reads back to the same f64, always with a point
 * or an exponent. */
static void put_float(AstPrinter w, double x) {
	char buf[40];
	int n = 0;
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(buf, sizeof buf, "%.*g", digits, x);
		if (strtod(buf, NULL) == x) break;
	}
	for (int i = 0; i < n; i++) {
		if (buf[i] == ',') buf[i] = '.'; /* the decimal point of some locales */
	}
	text_add(w.out, buf, (size_t)n);
	if (isfinite(x) && !strpbrk(buf, ".e")) put(w, ".0");
}

static void put_value(AstPrinter w, Value v) {
	if (v.kind == V_NONE) {
		put(w, "none");
	} else if (v.dtype == DT_BOOL) {
		put(w, v.b ? "true" : "false");
	} else if (v.dtype == DT_I64) {
		text_format(w.out, "%lld", (long long)v.i);
	} else if (v.dtype == DT_C128) {
		put_float(w, cimag(v.c));
		put(w, "im");
	} else {
		put_float(w, v.f);
	}
}

static void put_quoted(AstPrinter w, const char *text, size_t n) {
	put(w, "\"");
	for (size_t i = 0; i < n; i++) {
		unsigned char ch = (unsigned char)text[i];
		if (ch == '"' || ch == '\\') text_format(w.out, "\\%c", ch);
		else if (ch == '\n') put(w, "\\n");
		else if (ch == '\t') put(w, "\\t");
		else if (ch < 0x20 || ch == 0x7f) text_format(w.out, "\\u{%x}", ch);
		else text_add(w.out, text + i, 1);
	}
	put(w, "\"");
}

/* A string without interpolations is "text", one with them is (str "a " (x
 * ".3e") " b"). For {x=}, the expression's text precedes the spec. */
static void put_string(AstPrinter w, const Ast *a) {
	if (a->string.n == 1) {
		put_quoted(w, a->string.pieces[0].text, a->string.pieces[0].n);
		return;
	}
	put(w, "(str");
	for (uint32_t i = 0; i < a->string.n; i++) {
		const StringPiece *s = &a->string.pieces[i];
		if (s->n) {
			put(w, " ");
			put_quoted(w, s->text, s->n);
		}
		if (!s->value) continue;
		put(w, " (");
		print_node(w, s->value);
		if (s->debug) {
			put(w, " = ");
			put_quoted(w, s->source, strlen(s->source));
		}
		if (s->spec) {
			put(w, " ");
			put_quoted(w, s->spec, strlen(s->spec));
		}
		put(w, ")");
	}
	put(w, ")");
}

static void put_args(AstPrinter w, uint32_t n, const Arg *args) {
	for (uint32_t i = 0; i < n; i++) {
		if (args[i].name) {
			put(w, " (");
			put_atom(w, args[i].name);
			put(w, " =");
			put_item(w, args[i].value);
			put(w, ")");
		} else if (args[i].spread) {
			put(w, " (...");
			put_item(w, args[i].value);
			put(w, ")");
		} else {
			put_item(w, args[i].value);
		}
	}
}

/* Writes (x (y : f64) (k = 1)); named parameters follow a `;`. */
static void put_params(AstPrinter w, uint32_t n, const Param *params) {
	put(w, " (");
	for (uint32_t i = 0; i < n; i++) {
		const Param *q = &params[i];
		bool plain = !q->type && !q->fallback;
		if (i) put(w, " ");
		if (q->named && (!i || !params[i - 1].named)) put(w, "; ");
		if (!plain) put(w, "(");
		if (q->rest) put(w, "...");
		if (q->pattern) print_node(w, q->pattern);
		else put_atom(w, q->name);
		if (q->type) {
			put(w, " :");
			put_item(w, q->type);
		}
		if (q->fallback) {
			put(w, " =");
			put_item(w, q->fallback);
		}
		if (!plain) put(w, ")");
	}
	put(w, ")");
}

static void put_clauses(AstPrinter w, uint32_t n, const ForClause *clauses) {
	for (uint32_t i = 0; i < n; i++) {
		put(w, " (for");
		put_items(w, clauses[i].n, clauses[i].names);
		if (clauses[i].range) {
			put(w, " in");
			put_item(w, clauses[i].range);
		}
		put(w, ")");
	}
}

static void put_type(AstPrinter w, const Ast *a) {
	if (a->type.is_record) {
		put(w, "(record");
		for (uint32_t i = 0; i < a->type.nfields; i++) {
			put(w, " (");
			put_atom(w, a->type.fields[i].name);
			put(w, " :");
			put_item(w, a->type.fields[i].type);
			put(w, ")");
		}
		put(w, ")");
		return;
	}
	if (a->type.is_function) {
		put(w, "function");
		return;
	}
	put(w, a->type.has_dtype ? dtype_name((Dtype)a->type.dtype) : "_");
	if (a->type.rank == UINT32_MAX) {
		put(w, "[...]");
	} else if (a->type.rank || !a->type.has_dtype) {
		put(w, "[");
		for (uint32_t i = 0; i < a->type.rank; i++) {
			if (i) put(w, " ");
			if (a->type.dims[i]) print_node(w, a->type.dims[i]);
			else put(w, "_");
		}
		put(w, "]");
	}
}

static void put_domain(AstPrinter w, const Domain *d) {
	put(w, " (domain");
	for (uint32_t i = 0; i < d->ncoords; i++) {
		put(w, " ");
		put_atom(w, d->coords[i]);
	}
	put(w, " in");
	if (d->kind == DOMAIN_INTERVAL) {
		put_item(w, d->lo);
		put_item(w, d->hi);
	} else {
		put_item(w, d->region);
	}
	put(w, d->periodic ? " periodic)" : ")");
}

static void put_event(AstPrinter w, const Event *e) {
	put(w, " (event ");
	put_atom(w, e->name);
	put_item(w, e->expr);
	if (e->direction) put(w, e->direction < 0 ? " falling" : " rising");
	if (e->terminal) put(w, " terminal");
	if (e->body) put_item(w, e->body);
	put(w, ")");
}

static void put_problem(AstPrinter w, const Ast *a) {
	put(w, "(problem ");
	put_atom(w, a->problem->name);
	put_params(w, a->problem->nparams, a->problem->params);
	for (uint32_t i = 0; i < a->problem->ndomains; i++) put_domain(w, &a->problem->domains[i]);
	for (uint32_t i = 0; i < a->problem->nfields; i++) {
		put(w, " (field ");
		put_atom(w, a->problem->fields[i].name);
		if (a->problem->fields[i].size) put_item(w, a->problem->fields[i].size);
		put(w, ")");
	}
	if (a->problem->eigen) {
		put(w, " (eigen ");
		put_atom(w, a->problem->eigen);
		put(w, ")");
	}
	put_items(w, a->problem->nlocals, a->problem->locals);
	put_items(w, a->problem->nequations, a->problem->equations);
	for (uint32_t i = 0; i < a->problem->nevents; i++) put_event(w, &a->problem->events[i]);
	put(w, ")");
}

static void put_equation(AstPrinter w, const Ast *a) {
	put(w, "(==");
	put_item(w, a->equation.left);
	put_item(w, a->equation.right);
	for (uint32_t i = 0; i < a->equation.nats; i++) {
		const At *at = &a->equation.ats[i];
		put(w, " (at");
		if (at->name) {
			put(w, " ");
			put_atom(w, at->name);
		}
		if (at->value) put_item(w, at->value);
		put(w, ")");
	}
	put(w, ")");
}

static void put_tensor(AstPrinter w, const Ast *a) {
	put(w, "[");
	uint32_t k = 0;
	for (uint32_t row = 0; row < a->tensor.nrows; row++) {
		if (row) put(w, ";");
		for (uint32_t i = 0; i < a->tensor.row_lengths[row]; i++, k++) {
			if (k) put(w, " ");
			print_node(w, a->tensor.items[k]);
		}
	}
	put(w, "]");
}

static void put_index_definition(AstPrinter w, const Ast *a) {
	put(w, "(:= ");
	put_atom(w, a->index_def.name);
	put(w, " [");
	for (uint32_t i = 0; i < a->index_def.nindices; i++) {
		if (i) put(w, " ");
		print_node(w, a->index_def.indices[i]);
	}
	put(w, "]");
	put_item(w, a->index_def.value);
	put_clauses(w, a->index_def.nclauses, a->index_def.clauses);
	put(w, ")");
}

static void put_derivative(AstPrinter w, const Ast *a) {
	put(w, "(derivative ");
	put_atom(w, a->derivative.name);
	put_params(w, a->derivative.nparams, a->derivative.params);
	if (a->derivative.ntangents) {
		put(w, " (");
		for (uint32_t i = 0; i < a->derivative.ntangents; i++) {
			if (i) put(w, " ");
			put_atom(w, a->derivative.tangents[i]);
		}
		put(w, ")");
	}
	put_item(w, a->derivative.body);
	put(w, ")");
}

/* Writes (head item item ...). */
static void put_list(AstPrinter w, const char *head, uint32_t n, Ast *const *items) {
	put(w, "(");
	put(w, head);
	put_items(w, n, items);
	put(w, ")");
}

static void print_expression(AstPrinter w, const Ast *a) {
	switch ((AstKind)a->kind) {
	case A_CONST: put_value(w, a->constant.value); return;
	case A_STRING: put_string(w, a); return;
	case A_NAME: put_atom(w, a->name.name); return;
	case A_TENSOR: put_tensor(w, a); return;
	case A_TUPLE: put_list(w, "tuple", a->tuple.n, a->tuple.items); return;
	case A_RECORD:
		put(w, "(record");
		put_args(w, a->record.n, a->record.fields);
		put(w, ")");
		return;
	case A_UNARY: put_list(w, op_text(a->op), 1, &a->unary.operand); return;
	case A_BINARY:
	case A_LOGIC: {
		Ast *operands[] = {a->binary.left, a->binary.right};
		put_list(w, a->juxtaposed ? "juxt" : op_text(a->op), 2, operands);
		return;
	}
	case A_COMPARE:
		put(w, "(chain");
		for (uint32_t i = 0; i < a->compare.n; i++) {
			if (i) text_format(w.out, " %s", op_text(a->compare.ops[i - 1]));
			put_item(w, a->compare.operands[i]);
		}
		put(w, ")");
		return;
	case A_PRIME:
		put(w, "(prime");
		put_item(w, a->prime.operand);
		text_format(w.out, " %u)", a->prime.count);
		return;
	case A_CALL:
		put(w, "(call");
		put_item(w, a->call.callee);
		put_args(w, a->call.n, a->call.args);
		put(w, ")");
		return;
	case A_INDEX:
		put(w, "(index");
		put_item(w, a->index.base);
		put_items(w, a->index.n, a->index.items);
		put(w, ")");
		return;
	case A_FIELD:
		put(w, "(.");
		put_item(w, a->field.base);
		put(w, " ");
		put_atom(w, a->field.name);
		put(w, ")");
		return;
	case A_RANGE:
		put(w, "(..");
		put_item(w, a->range.lo);
		put_item(w, a->range.hi);
		if (a->range.step) put_item(w, a->range.step);
		put(w, ")");
		return;
	case A_ELLIPSIS: put(w, "..."); return;
	case A_COMPREHENSION:
		put(w, a->generator ? "(gen" : "(comp");
		put_item(w, a->comprehension.body);
		put_clauses(w, a->comprehension.n, a->comprehension.clauses);
		if (a->comprehension.filter) {
			put(w, " ");
			put_list(w, "if", 1, &a->comprehension.filter);
		}
		put(w, ")");
		return;
	case A_TYPE: put_type(w, a); return;
	case A_EQUATION: put_equation(w, a); return;
	default: return;
	}
}

static void print_statement(AstPrinter w, const Ast *a) {
	switch ((AstKind)a->kind) {
	case A_LAMBDA:
		put(w, "(->");
		put_params(w, a->function.nparams, a->function.params);
		put_item(w, a->function.body);
		put(w, ")");
		return;
	case A_IF:
		put_list(w, "if", a->if_.else_ ? 3 : 2, (Ast *[]){a->if_.cond, a->if_.then_, a->if_.else_});
		return;
	case A_BLOCK: put_list(w, "block", a->block.n, a->block.items); return;
	case A_FOR:
		put_list(w, "for", 3, (Ast *[]){a->for_.target, a->for_.iterable, a->for_.body});
		return;
	case A_WHILE: put_list(w, "while", 2, (Ast *[]){a->while_.cond, a->while_.body}); return;
	case A_TRY:
		put(w, "(try");
		put_item(w, a->try_.body);
		put(w, " ");
		put(w, a->try_.name ? atom_text(w.ctx, a->try_.name) : "_");
		put_item(w, a->try_.handler);
		put(w, ")");
		return;
	case A_BREAK: put(w, "(break)"); return;
	case A_CONTINUE: put(w, "(continue)"); return;
	case A_RETURN: put_list(w, "return", a->return_.value ? 1 : 0, &a->return_.value); return;
	case A_ASSIGN:
		text_format(w.out, "(%s=", op_text(a->op));
		put_item(w, a->assign.target);
		put_item(w, a->assign.value);
		put(w, ")");
		return;
	case A_DEF:
		put(w, "(def ");
		put_atom(w, a->function.name);
		put_params(w, a->function.nparams, a->function.params);
		if (a->function.result) {
			put(w, " ->");
			put_item(w, a->function.result);
		}
		put_item(w, a->function.body);
		put(w, ")");
		return;
	case A_INDEX_DEF: put_index_definition(w, a); return;
	case A_DERIVATIVE: put_derivative(w, a); return;
	case A_PROBLEM: put_problem(w, a); return;
	case A_USE:
		put(w, "(use ");
		if (a->use.path) put_quoted(w, a->use.path, strlen(a->use.path));
		else put_atom(w, a->use.module);
		if (a->use.alias) {
			put(w, " as ");
			put_atom(w, a->use.alias);
		}
		put(w, ")");
		return;
	default: print_expression(w, a);
	}
}

static void print_node(AstPrinter w, const Ast *a) {
	print_statement(w, a);
	if (a->hidden) put(w, ";");
}

void ast_print(Text *out, Ctx *c, const Ast *a) { print_node((AstPrinter){out, c}, a); }
