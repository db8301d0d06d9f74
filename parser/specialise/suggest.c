/* suggest.c - "did you mean": the name in scope with the nearest spelling that
 * fits the use.
 *
 * Needs: specialise/internal.h, diag_nearest.
 *
 * Contract:
 * - A name that is surely no function is not suggested for a call, nor a
 *   function for a number.
 * - A suggested function accepts the number of arguments of the call and its
 *   named arguments. A suggested record has the field.
 * - Whatever only a run can show counts as fitting.
 * - A candidate is looked up only if its spelling is near, because that may
 *   read a module of the library.
 */
#include "parser/specialise/internal.h"

typedef enum UseKind {
	USE_ANY,
	USE_CALL,     /* f(...): `call` */
	USE_FUNCTION, /* passed as an argument, to be called */
	USE_NUMBER,   /* an operand of arithmetic, an index */
	USE_ITEMS,    /* x[...], for i in x */
	USE_FIELD     /* r.name */
} UseKind;

typedef struct NameUse {
	UseKind kind;
	const Ast *at;  /* the call, or the field */
	uint32_t given; /* positional arguments of a call */
	bool open;      /* there may be more: ...items */
} NameUse;

/* ---- the use of the name ------------------------------------------------- */

typedef struct NameSearch {
	Sp *sp;
	Span name;
	const Ast *parent;
	bool found;
	NameUse use;
} NameSearch;

static bool is_name_at(const Ast *e, Span at) {
	return e && e->kind == A_NAME && e->span.source == at.source && e->span.start == at.start &&
	       e->span.end == at.end;
}

struct callee_scan {
	Atom name;
	bool called, taken; /* f(...); f[...], f + ... */
};

static void callee_visit(void *ud, const Ast *e) {
	struct callee_scan *s = ud;
	if (e->kind == A_CALL && e->call.callee->kind == A_NAME && e->call.callee->name.name == s->name)
		s->called = true;
	if (e->kind == A_INDEX && e->index.base->kind == A_NAME && e->index.base->name.name == s->name)
		s->taken = true;
	if (e->kind == A_BINARY && e->op != AO_COMPOSE && e->op != AO_PIPE)
		for (int i = 0; i < 2; i++) {
			const Ast *x = i ? e->binary.right : e->binary.left;
			if (x->kind == A_NAME && x->name.name == s->name) s->taken = true;
		}
	ast_children(e, callee_visit, s);
}

static const Ast *equation_of(Value v) {
	if (v.kind != V_FUNCTION || !v.object) return NULL;
	const FunctionObject *f = (const FunctionObject *)v.object;
	return f->code_kind == CODE_AST ? f->code : NULL;
}

/* How a function uses its k-th argument: it calls it, or computes with it. */
static UseKind use_of_argument(Sp *sp, const Ast *call, uint32_t k) {
	if (call->call.callee->kind != A_NAME) return USE_ANY;
	const Atom name = call->call.callee->name.name;
	const Value v = session_lookup(sp->session, sp->module, name);
	const Ast *fn = equation_of(v);
	const Arg *arg = &call->call.args[k];
	if (fn) {
		uint32_t place = k;
		for (uint32_t i = 0; arg->name && i < fn->function.nparams; i++)
			if (fn->function.params[i].name == arg->name) place = i;
		if (place >= fn->function.nparams ||
		    (arg->name && fn->function.params[place].name != arg->name))
			return USE_ANY;
		const Param *p = &fn->function.params[place];
		if (p->type)
			return p->type->type.is_function ? USE_FUNCTION
			       : p->type->type.is_record ? USE_ANY
			                                 : USE_NUMBER;
		struct callee_scan s = {.name = p->name};
		callee_visit(&s, fn->function.body);
		return s.called ? USE_FUNCTION : s.taken ? USE_NUMBER : USE_ANY;
	}
	const Builtin *b = v.kind == V_UNSET ? builtin_find(atom_text(sp->c, name)) : NULL;
	if (!b) return USE_ANY;
	if (k == 0 && builtin_derives(b)) return USE_FUNCTION;
	return builtin_waits(b) ? USE_ITEMS : USE_ANY;
}

static void search_visit(void *ud, const Ast *e) {
	NameSearch *s = ud;
	if (s->found) return;
	if (is_name_at(e, s->name)) {
		s->found = true;
		return;
	}
	ast_children(e, search_visit, s);
	if (!s->found || s->parent) return;
	s->parent = e;
	NameUse *u = &s->use;
	switch ((AstKind)e->kind) {
	case A_CALL:
		if (is_name_at(e->call.callee, s->name)) {
			*u = (NameUse){.kind = USE_CALL, .at = e};
			for (uint32_t i = 0; i < e->call.n; i++) {
				u->given += !e->call.args[i].name && !e->call.args[i].spread;
				u->open |= e->call.args[i].spread;
			}
			return;
		}
		for (uint32_t i = 0; i < e->call.n; i++)
			if (is_name_at(e->call.args[i].value, s->name) && !e->call.args[i].spread)
				u->kind = use_of_argument(s->sp, e, i);
		return;
	case A_BINARY:
		if (e->op == AO_PIPE) {
			if (is_name_at(e->binary.right, s->name)) *u = (NameUse){.kind = USE_CALL, .given = 1};
		} else if (e->op == AO_COMPOSE) u->kind = USE_FUNCTION;
		else if (e->op != AO_EQ && e->op != AO_NE) u->kind = USE_NUMBER;
		return;
	case A_UNARY:
	case A_LOGIC:
	case A_RANGE:
	case A_TENSOR: u->kind = e->op == AO_SPREAD ? USE_ANY : USE_NUMBER; return;
	case A_INDEX: u->kind = is_name_at(e->index.base, s->name) ? USE_ITEMS : USE_NUMBER; return;
	case A_FIELD: *u = (NameUse){.kind = USE_FIELD, .at = e}; return;
	case A_FOR:
		if (is_name_at(e->for_.iterable, s->name)) u->kind = USE_ITEMS;
		return;
	case A_IF:
		if (is_name_at(e->if_.cond, s->name)) u->kind = USE_NUMBER;
		return;
	case A_WHILE:
		if (is_name_at(e->while_.cond, s->name)) u->kind = USE_NUMBER;
		return;
	case A_ASSIGN:
		if (e->op != AO_NONE) u->kind = USE_NUMBER;
		return;
	default: return;
	}
}

/* ---- fit of a candidate -------------------------------------------------- */

/* True when a function with these parameters accepts this call. */
static bool takes(const NameUse *u, uint32_t n, const Param *params) {
	uint32_t positional = 0, required = 0;
	for (uint32_t i = 0; i < n; i++) {
		positional += !params[i].named;
		required += !params[i].named && !params[i].fallback;
	}
	for (uint32_t k = 0; u->at && k < u->at->call.n; k++) {
		const Atom name = u->at->call.args[k].name;
		bool known = !name;
		for (uint32_t i = 0; name && i < n; i++)
			if (params[i].name == name) {
				known = true;
				required -= !params[i].named && !params[i].fallback;
			}
		if (!known) return false;
	}
	return u->given <= positional && (u->open || u->given >= required);
}

static bool builtin_takes(Ctx *c, const NameUse *u, const Builtin *b) {
	for (uint32_t k = 0; u->at && k < u->at->call.n; k++) {
		const Atom name = u->at->call.args[k].name;
		const char *text = name ? atom_text(c, name) : "";
		const size_t len = strlen(text);
		bool known = !name;
		for (const char *p = b->named ? b->named : ""; !known && *p;) {
			const size_t n = strcspn(p, " ");
			known = *p == '*' || (n == len && !strncmp(p, text, n));
			p += n + (p[n] == ' ');
		}
		if (!known) return false;
	}
	return (b->max_args < 0 || u->given <= (uint32_t)b->max_args) &&
	       (u->open || b->min_args < 0 || u->given >= (uint32_t)b->min_args);
}

static bool function_fits(Ctx *c, const NameUse *u, CodeKind kind, const void *code) {
	if (u->kind == USE_NUMBER || u->kind == USE_ITEMS || u->kind == USE_FIELD) return false;
	if (u->kind != USE_CALL) return true;
	if (kind == CODE_BUILTIN) return builtin_takes(c, u, code);
	const Ast *e = kind == CODE_AST ? code : NULL;
	if (e && e->kind == A_PROBLEM) return takes(u, e->problem->nparams, e->problem->params);
	return !e || takes(u, e->function.nparams, e->function.params);
}

/* True when a value that is no function fits. */
static bool data_fits(const NameUse *u, bool array, bool text, bool record, bool sequence) {
	switch (u->kind) {
	case USE_CALL:
	case USE_FUNCTION: return !array && !text && !record && !sequence;
	/* A sparse matrix can be an operand; the caller passes it as an array. */
	case USE_NUMBER: return !record;
	case USE_ITEMS: return !record;
	case USE_FIELD: return !array && !text && !sequence;
	case USE_ANY: break;
	}
	return true;
}

bool suggest_fits_value(const Suggest *s, const Av *v) {
	Ctx *c = s->sp->c;
	const NameUse *u = s->use;
	if (!u || v->kind == AV_UNSET || v->kind == AV_DYN) return true;
	if (v->kind == AV_FUNCTION) return function_fits(c, u, (CodeKind)v->code_kind, v->code);
	if (v->kind == AV_PROBLEM)
		return u->kind == USE_CALL ? function_fits(c, u, CODE_AST, v->code)
		                           : u->kind == USE_ANY || u->kind == USE_FIELD;
	if (v->kind == AV_NONE || v->kind == AV_HOST) return u->kind == USE_ANY;
	if (v->kind == AV_RECORD && u->kind == USE_FIELD) return av_field(v, u->at->field.name) != NULL;
	const bool record = v->kind == AV_RECORD && !av_is_sparse(c, v);
	return data_fits(u, v->kind == AV_ARRAY || (v->kind == AV_RECORD && !record),
	                 v->kind == AV_STRING, record,
	                 v->kind == AV_TUPLE || v->kind == AV_LIST || v->kind == AV_RANGE);
}

bool suggest_fits_definition(const Suggest *s, const Ast *fn) {
	return !s->use || function_fits(s->sp->c, s->use, CODE_AST, fn);
}

static bool candidate_fits(void *ud, const char *name) {
	Suggest *s = ud;
	Sp *sp = s->sp;
	if (!s->use) return true;
	const Atom a = atom(sp->c, name);
	if (s->local) {
		const int known = s->local(s->ud, a);
		if (known >= 0) return known;
	}
	Av *v = env_find(sp->env, a);
	if (!v && sp->top && sp->module == session_main(sp->session)) v = env_find(sp->top, a);
	if (v) return suggest_fits_value(s, v);
	const Value g = session_lookup(sp->session, sp->module, a);
	if (g.kind == V_FUNCTION && g.object) {
		const FunctionObject *f = (const FunctionObject *)g.object;
		return function_fits(sp->c, s->use, (CodeKind)f->code_kind, f->code);
	}
	/* Only its kind and fields are inspected; its data does not become a
	 * constant. */
	if (g.kind != V_UNSET) {
		Av shape = {.kind = value_is_array(g)                       ? AV_ARRAY
		                    : g.kind == V_STRING                    ? AV_STRING
		                    : g.kind == V_RANGE                     ? AV_RANGE
		                    : g.kind == V_TUPLE || g.kind == V_LIST ? AV_TUPLE
		                    : g.kind == V_NONE                      ? AV_NONE
		                                                            : AV_UNSET};
		if (g.kind == V_PROBLEM) {
			shape.kind = AV_PROBLEM;
			shape.code = ((const FunctionObject *)g.object)->code;
		}
		if (g.kind != V_RECORD) return suggest_fits_value(s, &shape);
		const RecordObject *r = (const RecordObject *)g.object;
		bool has = false, sparse = r->head.n == 5;
		for (uint32_t i = 0; i < r->head.n; i++) {
			has |= s->use->kind == USE_FIELD && r->fields[i].name == s->use->at->field.name;
			sparse &= value_is_array(r->fields[i].value);
		}
		return s->use->kind == USE_FIELD ? has : data_fits(s->use, sparse, false, !sparse, false);
	}
	const Builtin *b = builtin_find(name);
	return !b || function_fits(sp->c, s->use, CODE_BUILTIN, b);
}

/* ---- the suggestion ------------------------------------------------------ */

void suggest_name(Suggest *s, const char *name) { VEC_PUSH(s->sp->a, &s->names, name); }

static void each_name(void *ud, const char *name, Value v) {
	(void)v;
	suggest_name(ud, name);
}

const char *suggest_best(Suggest *s, const char *text, const Ast *root, Span at) {
	Sp *sp = s->sp;
	for (const Env *e = sp->env; e; e = e->outer)
		for (uint32_t i = 0; i < e->vars.n; i++)
			suggest_name(s, atom_text(sp->c, e->vars.at[i].name));
	for (uint32_t i = 0; sp->top && sp->top != sp->env && i < sp->top->vars.n; i++)
		suggest_name(s, atom_text(sp->c, sp->top->vars.at[i].name));
	session_each_name(sp->session, each_name, s);
	NameSearch found = {.sp = sp, .name = at};
	if (root) search_visit(&found, root);
	s->use = found.found && found.use.kind != USE_ANY ? &found.use : NULL;
	const char *best = diag_nearest_of(text, s->names.at, s->names.n, candidate_fits, s);
	s->use = NULL;
	return best;
}
