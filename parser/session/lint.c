/* lint.c - undefined names, calls with wrong arguments, unused results.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - Inspects every function, called or not, and runs nothing.
 * - An unknown name or a wrong call is reported once, in the words of the
 *   specialiser. It must be wrong whatever the remaining program means.
 * - A warning never concerns anything intended: names that start with `_`, and
 *   results of statements at top level. Only calls of library functions without
 *   effects are reported as unused.
 */
#include "parser/session/session.h"
#include "parser/specialise/internal.h"

typedef struct Local {
	Atom name;
	Span span;
	bool plain; /* set by `name = ...` in a function: warn if it is never read */
	bool used;
} Local;

/* The names of a function, or of a construct inside it with names of its own.
 * The outermost scope is the program. */
typedef struct LintScope {
	struct LintScope *outer;
	VEC(Local) locals;
	AtomMap places; /* of locals */
} LintScope;

typedef struct Checker {
	Ctx *c;
	Session *s;
	Sp sp;
	LintScope *scope, *program;
	const Program *p;
	bool problem; /* inside a problem: coordinates, fields and their derivatives are names */
	bool indices; /* inside index notation: a name that is only an index has its own message */
	const Ast *statement; /* the current statement of top level */
	bool broken;          /* syntax errors: a name may be set in a part that was not parsed */
} Checker;

/* ---- bindings ------------------------------------------------------------ */

static Local *find(const LintScope *s, Atom name) {
	const uint32_t i = ATOM_MAP_FIND(&s->places, &s->locals, name);
	return i == ATOM_MAP_NONE ? NULL : &s->locals.at[i];
}

static void bind(Checker *k, Atom name, Span span, bool plain) {
	if (!name) return;
	Local *l = find(k->scope, name);
	if (l) l->plain &= plain;
	else {
		Local local = {name, span, plain, false};
		VEC_PUSH(k->sp.a, &k->scope->locals, local);
		ATOM_MAP_COVER(k->sp.a, &k->scope->places, &k->scope->locals);
	}
}

static void bind_target(Checker *k, const Ast *t, bool plain) {
	if (t->kind == A_NAME) bind(k, t->name.name, t->span, plain);
	for (uint32_t i = 0; t->kind == A_TUPLE && i < t->tuple.n; i++)
		bind_target(k, t->tuple.items[i], false);
}

/* Binds the names that a function's body sets, except those in inner
 * functions. */
static void bind_body(void *ud, const Ast *e) {
	Checker *k = ud;
	switch ((AstKind)e->kind) {
	case A_LAMBDA:
	case A_COMPREHENSION: return;
	case A_DEF: bind(k, e->function.name, e->span, false); return;
	case A_PROBLEM: bind(k, e->problem->name, e->problem->name_span, false); return;
	case A_DERIVATIVE: return;
	case A_USE: bind(k, e->use.alias ? e->use.alias : e->use.module, e->span, false); return;
	case A_ASSIGN: bind_target(k, e->assign.target, e->op == AO_NONE); break;
	case A_INDEX_DEF: bind(k, e->index_def.name, e->index_def.name_span, false); return;
	case A_FOR: bind_target(k, e->for_.target, false); break;
	case A_TRY: bind(k, e->try_.name, e->span, false); break;
	default: break;
	}
	ast_children(e, bind_body, k);
}

static void walk(void *ud, const Ast *e);
static void walk_value(Checker *k, const Ast *e, bool used);

static void bind_lengths(void *ud, const Ast *d) {
	if (d->kind == A_NAME) bind(ud, d->name.name, d->span, false);
	else ast_children(d, bind_lengths, ud);
}

static void bind_type(Checker *k, const Ast *type) {
	for (uint32_t i = 0; i < type->type.nfields; i++)
		if (type->type.fields[i].type) bind_type(k, type->type.fields[i].type);
	for (uint32_t i = 0;
	     !type->type.is_record && type->type.rank != UINT32_MAX && i < type->type.rank; i++) {
		if (type->type.dims[i]) bind_lengths(k, type->type.dims[i]);
	}
}

static void bind_params(Checker *k, uint32_t n, const Param *params) {
	for (uint32_t i = 0; i < n; i++) {
		bind(k, params[i].name, params[i].span, false);
		if (params[i].pattern) bind_target(k, params[i].pattern, false);
		if (params[i].type) bind_type(k, params[i].type);
	}
	for (uint32_t i = 0; i < n; i++)
		if (params[i].fallback) walk(k, params[i].fallback);
}

/* ---- uses ---------------------------------------------------------------- */

static Local *resolve(Checker *k, Atom name) {
	for (LintScope *s = k->scope; s; s = s->outer) {
		Local *l = find(s, name);
		if (l) return l;
	}
	return NULL;
}

static bool in_library(Checker *k, Atom name) {
	const char *text = atom_text(k->c, name);
	if (session_lookup(k->s, session_main(k->s), name).kind != V_UNSET) return true;
	if (session_module_named(k->s, session_main(k->s), name)) return true;
	const Builtin *b = builtin_find(text);
	return (b && b->doc) || !strcmp(text, "args") || !strcmp(text, "ans");
}

/* The definition that a name refers to wherever it is called: the only one of
 * the program, or the library's. */
static const Ast *definition(Checker *k, Atom name) {
	const Ast *found = NULL;
	for (LintScope *s = k->scope; s->outer; s = s->outer)
		if (find(s, name)) return NULL;
	for (uint32_t i = 0; i < k->p->n; i++) {
		const Ast *e = k->p->items[i];
		if (e->kind != A_DEF || e->function.name != name) continue;
		if (found) return NULL;
		found = e;
	}
	if (find(k->program, name)) {
		for (uint32_t i = 0; found && i < k->p->n; i++) { /* a variable also has this name */
			Atom *names;
			uint32_t n;
			if (k->p->items[i]->kind == A_DEF) continue;
			ast_assigned(&k->sp, k->p->items[i], &names, &n);
			for (uint32_t m = 0; m < n; m++)
				if (names[m] == name) return NULL;
		}
		return found;
	}
	Value v = session_lookup(k->s, session_main(k->s), name);
	if (v.kind != V_FUNCTION) return NULL;
	const FunctionObject *f = (const FunctionObject *)v.object;
	return f->code_kind == CODE_AST && ((const Ast *)f->code)->kind == A_DEF ? f->code : NULL;
}

struct text_names {
	Checker *k;
	Suggest suggest;
};

struct given_values {
	Atom name;
	const Ast *value;
	uint32_t n;
};

static void given_visit(void *ud, const Ast *e) {
	struct given_values *g = ud;
	if (e->kind == A_ASSIGN && e->assign.target->kind == A_NAME &&
	    e->assign.target->name.name == g->name) {
		g->value = e->assign.value;
		g->n++;
	}
	ast_children(e, given_visit, g);
}

/* Tests the kind of value that a name has wherever it is set, if the text shows
 * it. */
static int given_fits(const struct text_names *t, Atom name) {
	struct given_values g = {.name = name};
	for (uint32_t i = 0; i < t->k->p->n; i++) given_visit(&g, t->k->p->items[i]);
	if (g.n != 1) return true;
	const Ast *e = g.value;
	Av v = {.kind = AV_UNSET};
	switch ((AstKind)e->kind) {
	case A_CONST: v.kind = e->constant.value.kind == V_NONE ? AV_UNSET : AV_ARRAY; break;
	case A_TENSOR:
	case A_COMPREHENSION: v.kind = AV_ARRAY; break;
	case A_STRING: v.kind = AV_STRING; break;
	case A_TUPLE: v.kind = AV_TUPLE; break;
	case A_LAMBDA: return suggest_fits_definition(&t->suggest, e);
	case A_RECORD: {
		v.kind = AV_RECORD;
		v.names = ARENA_ARRAY(t->k->sp.a, Atom, e->record.n + 1);
		v.items = ARENA_ARRAY(t->k->sp.a, Av *, e->record.n + 1);
		for (uint32_t i = 0; i < e->record.n; i++) {
			if (e->record.fields[i].spread) return true;
			v.items[v.n] = sp_lost();
			v.names[v.n++] = e->record.fields[i].name;
		}
		break;
	}
	default: break;
	}
	return suggest_fits_value(&t->suggest, &v);
}

/* The text's knowledge of a name that it binds: a function's parameters, or the
 * kind of a value. */
static int text_fits(void *ud, Atom name) {
	struct text_names *t = ud;
	if (!resolve(t->k, name)) return -1;
	const Ast *fn = definition(t->k, name);
	return fn ? suggest_fits_definition(&t->suggest, fn) : given_fits(t, name);
}

static void use_name(Checker *k, const Ast *e) {
	Local *l = resolve(k, e->name.name);
	if (l) l->used = true;
	if (l || k->problem || k->broken || in_library(k, e->name.name)) return;
	const char *text = atom_text(k->c, e->name.name);
	if (k->indices && strlen(text) <= 2) return;
	const char *foreign = sp_foreign_name(text);
	if (foreign) {
		diag_hint(k->c, diag_error(k->c, E_NAME, e->span, "no `%s`", text), "%s", foreign);
		return;
	}
	struct text_names names = {.k = k, .suggest = {.sp = &k->sp, .local = text_fits, .ud = &names}};
	for (LintScope *s = k->scope; s; s = s->outer)
		for (uint32_t i = 0; i < s->locals.n; i++)
			suggest_name(&names.suggest, atom_text(k->c, s->locals.at[i].name));
	const char *best = suggest_best(&names.suggest, text, k->statement, e->span);
	if (best) diag_error(k->c, E_NAME, e->span, "no `%s`; did you mean `%s`?", text, best);
	else diag_error(k->c, E_NAME, e->span, "no `%s`", text);
}

typedef struct NamedParameters { /* the named arguments that a function takes */
	Checker *k;
	VEC(const char *) names;
} NamedParameters;

static const Ast *find_taken(void *ud, const Ast *in, Atom name) {
	Checker *k = ((NamedParameters *)ud)->k;
	return source_is_library(k->c, in->span.source) ? rest_find(k->s, in, name)
	                                                : definition(k, name);
}

static void add_taken(void *ud, const Param *p, Atom name) {
	NamedParameters *t = ud;
	(void)p;
	VEC_PUSH(t->k->sp.a, &t->names, atom_text(t->k->c, name));
}

/* Checks the number and names of a call's arguments, if the function is known
 * by its name. The messages are those of arguments.c. */
static void check_call(Checker *k, const Ast *e) {
	if (k->problem || k->broken || e->call.callee->kind != A_NAME) return;
	const Ast *fn = definition(k, e->call.callee->name.name);
	if (!fn) return;
	const char *name = atom_text(k->c, fn->function.name);
	uint32_t positional = 0, required = 0, given = 0, first_extra = 0;
	for (uint32_t i = 0; i < fn->function.nparams; i++) {
		if (fn->function.params[i].named) continue;
		positional = fn->function.params[i].rest ? UINT32_MAX : positional + 1;
		required += !fn->function.params[i].rest && !fn->function.params[i].fallback;
	}
	for (uint32_t i = 0; i < e->call.n; i++) {
		const Arg *a = &e->call.args[i];
		if (a->spread) return;
		if (a->name) {
			bool known = false;
			for (uint32_t m = 0; m < fn->function.nparams; m++) {
				const Param *p = &fn->function.params[m];
				known |= p->name == a->name && !p->rest;
				/* Passed by name. */
				if (p->name == a->name && !p->named && !p->rest && !p->fallback) required--;
			}
			if (known) continue;
			NamedParameters t = {.k = k};
			const char *wrong = atom_text(k->c, a->name);
			if (!rest_each(k->c, fn, find_taken, add_taken, &t)) continue;
			for (uint32_t m = 0; m < t.names.n; m++) known |= !strcmp(t.names.at[m], wrong);
			if (known) continue;
			/* A parameter that has a value is no candidate. */
			for (uint32_t m = 0; m < fn->function.nparams; m++) {
				const Param *p = &fn->function.params[m];
				bool has = p->rest || (m < given && !p->named);
				for (uint32_t q = 0; q < e->call.n; q++) has |= e->call.args[q].name == p->name;
				if (!has) add_taken(&t, NULL, p->name);
			}
			const char *best = diag_nearest(wrong, t.names.at, t.names.n);
			if (best)
				diag_error(k->c, E_NAMED_ARG, a->span,
				           "`%s` has no argument `%s`; did you mean `%s`?", name, wrong, best);
			else
				sp_hint_argument(k->c,
				                 diag_error(k->c, E_NAMED_ARG, a->span, "`%s` has no argument `%s`",
				                            name, wrong),
				                 name, wrong, t.names.n, t.names.at);
			return;
		}
		if (given++ == positional) first_extra = i;
	}
	if (given > positional) {
		Diag *d = diag_error(k->c, E_ARITY, e->call.args[first_extra].span,
		                     "`%s` takes %u argument%s, and %u are given", name, positional,
		                     positional == 1 ? "" : "s", given);
		if (!source_is_library(k->c, fn->span.source))
			diag_second(k->c, d, fn->function.head, "defined here");
		sp_hint_named(k->c, d, fn->function.nparams, fn->function.params);
	} else if (given < required && given == e->call.n) {
		Diag *d = diag_error(k->c, E_ARITY, e->span, "`%s` takes %s%u argument%s, and %u %s given",
		                     name, positional != required ? "at least " : "", required,
		                     required == 1 ? "" : "s", given, given == 1 ? "is" : "are");
		const Param *p = &fn->function.params[given];
		if (!source_is_library(k->c, p->span.source))
			diag_second(k->c, d, p->span, "`%s` has no value", atom_text(k->c, p->name));
	}
}

/* ---- unused results ------------------------------------------------------ */

static bool library_call(Checker *k, const Ast *e, const char *const *names) {
	if (e->kind != A_CALL || e->call.callee->kind != A_NAME ||
	    resolve(k, e->call.callee->name.name))
		return false;
	const char *name = atom_text(k->c, e->call.callee->name.name);
	for (; *names; names++)
		if (!strcmp(*names, name)) return true;
	return false;
}

/* True when an expression only produces a value: it has no effects and cannot
 * fail on purpose. */
static bool only_a_value(Checker *k, const Ast *e) {
	static const char *const pure[] = {"push",   "sort",  "flip", "reshape", "transpose",
	                                   "concat", "stack", "sin",  "cos",     "exp",
	                                   "sqrt",   "abs",   "sum",  NULL};
	switch ((AstKind)e->kind) {
	case A_CONST:
	case A_NAME:
	case A_LAMBDA: return true;
	case A_BINARY:
		return e->op != AO_PIPE && only_a_value(k, e->binary.left) &&
		       only_a_value(k, e->binary.right);
	case A_COMPARE: return true;
	case A_UNARY: return only_a_value(k, e->unary.operand);
	case A_STRING:
		for (uint32_t i = 0; i < e->string.n; i++) {
			const Ast *value = e->string.pieces[i].value;
			if (value && !only_a_value(k, value)) return false;
		}
		return true;
	case A_TUPLE:
		for (uint32_t i = 0; i < e->tuple.n; i++)
			if (!only_a_value(k, e->tuple.items[i])) return false;
		return true;
	case A_CALL: return library_call(k, e, pure);
	default: return false;
	}
}

static void warn_thrown_away(Checker *k, const Ast *e) {
	if (k->problem || k->broken || !only_a_value(k, e) ||
	    (e->kind == A_CONST && e->constant.value.kind == V_NONE))
		return;
	Diag *d = diag_warning(k->c, W_THROWN_AWAY, e->span, "the value of this is thrown away");
	bool equal = e->kind == A_BINARY && e->op == AO_EQ;
	if (equal) diag_hint(k->c, d, "`==` compares; a name is given a value by `=`");
	else if (e->kind == A_CALL && e->call.n && !e->call.args[0].name &&
	         e->call.args[0].value->kind == A_NAME)
		diag_hint(k->c, d, "values do not change: write %s = %s(...)",
		          atom_text(k->c, e->call.args[0].value->name.name),
		          atom_text(k->c, e->call.callee->name.name));
}

/* Consecutive statements. `used`: the value of the last one is needed.
 * `inside`: in a function or loop, where results are not shown. */
static void walk_statements(Checker *k, uint32_t n, Ast *const *items, bool used, bool inside) {
	static const char *const fails[] = {"error", "exit", NULL};
	for (uint32_t i = 0; i < n; i++) {
		const Ast *e = items[i];
		bool wanted = used && i + 1 == n;
		if (!inside) k->statement = e;
		if (inside && !wanted) warn_thrown_away(k, e);
		if (inside || e->kind == A_FOR || e->kind == A_WHILE) walk_value(k, e, wanted);
		else walk(k, e);
		bool leaves = e->kind == A_RETURN || e->kind == A_BREAK || e->kind == A_CONTINUE ||
		              library_call(k, e, fails);
		if (leaves && i + 1 < n && !k->broken) {
			Span rest = span_join(items[i + 1]->span, items[i + 1]->span);
			Diag *d = diag_warning(k->c, W_UNREACHABLE, rest, "this is never reached");
			diag_second(k->c, d, e->span, "what comes before it leaves here");
			inside = false; /* report once */
		}
	}
}

/* An expression whose value is needed or not (`used`). */
static void walk_value(Checker *k, const Ast *e, bool used) {
	switch ((AstKind)e->kind) {
	case A_BLOCK: walk_statements(k, e->block.n, e->block.items, used, true); return;
	case A_IF:
		walk(k, e->if_.cond);
		walk_value(k, e->if_.then_, used);
		if (e->if_.else_) walk_value(k, e->if_.else_, used);
		return;
	case A_TRY:
		walk_value(k, e->try_.body, used);
		walk_value(k, e->try_.handler, used);
		return;
	case A_FOR:
		walk(k, e->for_.iterable);
		walk_value(k, e->for_.body, false);
		return;
	case A_WHILE:
		walk(k, e->while_.cond);
		walk_value(k, e->while_.body, false);
		return;
	default: walk(k, e);
	}
}

/* ---- traversal ----------------------------------------------------------- */

static void open_scope(Checker *k, LintScope *s) {
	*s = (LintScope){.outer = k->scope};
	k->scope = s;
}

static void close_scope(Checker *k) {
	const LintScope *s = k->scope;
	k->scope = s->outer;
	for (uint32_t i = 0; i < s->locals.n; i++) {
		const Local *l = &s->locals.at[i];
		const char *name = atom_text(k->c, l->name);
		if (!l->plain || l->used || k->problem || k->broken || name[0] == '_') continue;
		Diag *d =
			diag_warning(k->c, W_UNUSED, l->span, "`%s` is given a value that nothing uses", name);
		diag_hint(k->c, d, "a name that starts with `_` says that this is meant");
	}
}

static void walk_function(Checker *k, const Ast *e) {
	LintScope scope;
	bool indices = k->indices;
	open_scope(k, &scope);
	bind_params(k, e->function.nparams, e->function.params);
	bind_body(k, e->function.body);
	walk_value(k, e->function.body, true);
	k->indices = indices;
	close_scope(k);
}

static void bind_clauses(Checker *k, uint32_t n, const ForClause *clauses) {
	for (uint32_t i = 0; i < n; i++) {
		if (clauses[i].range) walk(k, clauses[i].range);
		for (uint32_t m = 0; m < clauses[i].n; m++) bind_target(k, clauses[i].names[m], false);
	}
}

static void walk(void *ud, const Ast *e) {
	Checker *k = ud;
	LintScope scope;
	bool indices = k->indices, problem = k->problem;
	switch ((AstKind)e->kind) {
	case A_NAME: use_name(k, e); return;
	case A_LAMBDA:
	case A_DEF: walk_function(k, e); return;
	case A_COMPREHENSION:
		open_scope(k, &scope);
		bind_clauses(k, e->comprehension.n, e->comprehension.clauses);
		k->indices = true;
		walk(k, e->comprehension.body);
		if (e->comprehension.filter) walk(k, e->comprehension.filter);
		k->indices = indices;
		close_scope(k);
		return;
	case A_INDEX_DEF:
		open_scope(k, &scope);
		bind_clauses(k, e->index_def.nclauses, e->index_def.clauses);
		for (uint32_t i = 0; i < e->index_def.nindices; i++)
			bind_target(k, e->index_def.indices[i], false);
		k->indices = true;
		walk(k, e->index_def.value);
		k->indices = indices;
		close_scope(k);
		return;
	case A_ASSIGN:
		walk(k, e->assign.value);
		if (e->op != AO_NONE ||
		    (e->assign.target->kind != A_NAME && e->assign.target->kind != A_TUPLE))
			walk(k, e->assign.target);
		for (uint32_t i = 0; e->assign.target->kind == A_TUPLE && i < e->assign.target->tuple.n;
		     i++) {
			const Ast *t = e->assign.target->tuple.items[i];
			if (t->kind != A_NAME && t->kind != A_TUPLE) walk(k, t);
		}
		return;
	case A_CALL:
		ast_children(e, walk, k);
		check_call(k, e);
		return;
	case A_IF:
	case A_TRY:
	case A_FOR:
	case A_WHILE:
	case A_BLOCK: walk_value(k, e, true); return;
	case A_DERIVATIVE:
		open_scope(k, &scope);
		bind_params(k, e->derivative.nparams, e->derivative.params);
		for (uint32_t i = 0; i < e->derivative.ntangents; i++)
			bind(k, e->derivative.tangents[i], e->span, false);
		bind(k, atom(k->c, "y"), e->span, false);
		bind_body(k, e->derivative.body);
		walk_value(k, e->derivative.body, true);
		close_scope(k);
		return;
	case A_PROBLEM:
		open_scope(k, &scope);
		k->problem = true;
		bind_params(k, e->problem->nparams, e->problem->params);
		ast_children(e, walk, k);
		close_scope(k);
		k->problem = problem;
		return;
	case A_TYPE:
	case A_USE: return;
	default: ast_children(e, walk, k);
	}
}

void check_program(Session *s, Arena *a, const Program *p, bool whole) {
	LintScope scope;
	Checker k = {.c = ctx_of_session(s), .s = s, .p = p, .broken = !whole};
	k.sp = (Sp){.c = k.c, .session = s, .a = a, .module = session_main(s)};
	open_scope(&k, &scope);
	k.program = &scope;
	for (uint32_t i = 0; i < p->n; i++) bind_body(&k, p->items[i]);
	/* The names that a program sets are available to its users. */
	for (uint32_t i = 0; i < scope.locals.n; i++) scope.locals.at[i].plain = false;
	walk_statements(&k, p->n, p->items, true, false);
	for (uint32_t i = 0; i < p->n && whole; i++) {
		const Ast *e = p->items[i];
		if (e->kind != A_USE || (e->use.path && !e->use.alias)) continue;
		Atom name = e->use.alias ? e->use.alias : e->use.module;
		const Local *l = find(&scope, name);
		if (l && !l->used && session_module_named(s, session_main(s), name)) {
			Diag *d = diag_warning(k.c, W_UNUSED_MODULE, e->span, "nothing of `%s` is used",
			                       atom_text(k.c, name));
			if (!e->use.path) diag_hint(k.c, d, "the names of the library are there without `use`");
		}
	}
}
