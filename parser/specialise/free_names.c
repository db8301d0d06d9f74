/* free_names.c - the names that a piece of syntax assigns, mentions or
 * captures.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - The search is purely syntactic.
 * - Each name is reported once.
 */
#include "parser/specialise/internal.h"

typedef struct NameList {
	VEC_ATOMS names;
	AtomMap places;
} NameList;

typedef struct FreeNames {
	Arena *a;
	NameList out;
	NameList bound; /* parameters and locals of the enclosing functions */
} FreeNames;

static bool contains(const NameList *l, Atom name) {
	return ATOM_MAP_FIND(&l->places, &l->names, name) != ATOM_MAP_NONE;
}

static void add(Arena *a, NameList *l, Atom name) {
	if (contains(l, name)) return;
	VEC_PUSH(a, &l->names, name);
	ATOM_MAP_COVER(a, &l->places, &l->names);
}

/* Forgets the names behind the first n. */
static void cut(Arena *a, NameList *l, uint32_t n) {
	l->names.n = n;
	ATOM_MAP_COVER(a, &l->places, &l->names);
}

static void target_names(FreeNames *s, const Ast *t, NameList *into) {
	switch ((AstKind)t->kind) {
	case A_NAME: add(s->a, into, t->name.name); return;
	case A_TUPLE:
		for (uint32_t i = 0; i < t->tuple.n; i++) target_names(s, t->tuple.items[i], into);
		return;
	case A_INDEX: target_names(s, t->index.base, into); return;
	case A_FIELD: target_names(s, t->field.base, into); return;
	default: return;
	}
}

static void assigned_visit(void *ud, const Ast *e) {
	FreeNames *s = ud;
	switch ((AstKind)e->kind) {
	case A_LAMBDA: return;
	case A_DEF: add(s->a, &s->out, e->function.name); return;
	case A_ASSIGN: target_names(s, e->assign.target, &s->out); break;
	case A_INDEX_DEF: add(s->a, &s->out, e->index_def.name); break;
	default: break;
	}
	ast_children(e, assigned_visit, s);
}

void ast_assigned(Sp *sp, const Ast *e, Atom **names, uint32_t *n) {
	FreeNames s = {.a = sp->a};
	assigned_visit(&s, e);
	*names = s.out.names.at;
	*n = s.out.names.n;
}

struct leave_scan {
	bool found;
	bool in_loop;
};

static void leave_visit(void *ud, const Ast *e) {
	struct leave_scan *s = ud;
	if (s->found) return;
	switch ((AstKind)e->kind) {
	case A_LAMBDA:
	case A_DEF: return;
	case A_BREAK:
		if (!s->in_loop) s->found = true;
		return;
	case A_RETURN: s->found = true; return;
	case A_FOR:
	case A_WHILE: {
		struct leave_scan inner = {false, true};
		ast_children(e, leave_visit, &inner);
		s->found |= inner.found;
		return;
	}
	default: ast_children(e, leave_visit, s);
	}
}

bool ast_leaves_loop(const Ast *body) {
	struct leave_scan s = {false, false};
	leave_visit(&s, body);
	return s.found;
}

static void break_visit(void *ud, const Ast *e) {
	bool *found = ud;
	switch ((AstKind)e->kind) {
	case A_LAMBDA:
	case A_DEF:
	case A_FOR:
	case A_WHILE: return;
	case A_BREAK: *found = true; return;
	default: ast_children(e, break_visit, ud);
	}
}

bool ast_breaks(const Ast *body) {
	bool found = false;
	break_visit(&found, body);
	return found;
}

/* ---- mentions ------------------------------------------------------------ */

static bool binds(const Ast *target, Atom name) {
	if (target->kind == A_NAME) return target->name.name == name;
	for (uint32_t i = 0; target->kind == A_TUPLE && i < target->tuple.n; i++)
		if (binds(target->tuple.items[i], name)) return true;
	return false;
}

/* True when later statements of the block refer by `name` to the binding that
 * `e` makes. */
static bool gives(const Ast *e, Atom name) {
	switch ((AstKind)e->kind) {
	case A_ASSIGN: return binds(e->assign.target, name);
	case A_DEF: return e->function.name == name;
	case A_INDEX_DEF: return e->index_def.name == name;
	default: return false;
	}
}

static bool clauses_bind(uint32_t n, const ForClause *clauses, Atom name,
                         void (*visit)(void *ud, const Ast *child), void *ud) {
	bool found = false;
	for (uint32_t i = 0; i < n; i++) {
		if (clauses[i].range) visit(ud, clauses[i].range);
		for (uint32_t k = 0; k < clauses[i].n; k++) found |= binds(clauses[i].names[k], name);
	}
	return found;
}

void ast_children_seeing(const Ast *e, Atom name, void (*visit)(void *ud, const Ast *child),
                         void *ud) {
	switch ((AstKind)e->kind) {
	case A_LAMBDA:
	case A_DEF:
		if (gives(e, name)) return;
		for (uint32_t i = 0; i < e->function.nparams; i++) {
			const Param *p = &e->function.params[i];
			if (p->fallback) visit(ud, p->fallback);
			if (p->name == name || (p->pattern && binds(p->pattern, name))) return;
			if (p->type) visit(ud, p->type);
		}
		if (e->function.result) visit(ud, e->function.result);
		visit(ud, e->function.body);
		return;
	case A_COMPREHENSION:
		if (clauses_bind(e->comprehension.n, e->comprehension.clauses, name, visit, ud)) return;
		visit(ud, e->comprehension.body);
		if (e->comprehension.filter) visit(ud, e->comprehension.filter);
		return;
	case A_INDEX_DEF:
		clauses_bind(e->index_def.nclauses, e->index_def.clauses, name, visit, ud);
		for (uint32_t i = 0; i < e->index_def.nindices; i++)
			if (binds(e->index_def.indices[i], name)) return;
		visit(ud, e->index_def.value);
		return;
	case A_FOR:
		visit(ud, e->for_.iterable);
		if (!binds(e->for_.target, name)) visit(ud, e->for_.body);
		return;
	case A_TRY:
		visit(ud, e->try_.body);
		if (e->try_.name != name) visit(ud, e->try_.handler);
		return;
	case A_ASSIGN:
		visit(ud, e->assign.value);
		if (e->op != AO_NONE || !binds(e->assign.target, name)) visit(ud, e->assign.target);
		return;
	case A_BLOCK:
		for (uint32_t i = 0; i < e->block.n; i++) {
			visit(ud, e->block.items[i]);
			if (gives(e->block.items[i], name)) return;
		}
		return;
	default: ast_children(e, visit, ud);
	}
}

struct mention_scan {
	Atom name;
	bool found;
};

static void mention_visit(void *ud, const Ast *e) {
	struct mention_scan *s = ud;
	if (s->found) return;
	if (e->kind == A_NAME && e->name.name == s->name) {
		s->found = true;
		return;
	}
	ast_children_seeing(e, s->name, mention_visit, s);
}

bool ast_mentions(const Ast *e, Atom name) {
	struct mention_scan s = {name, false};
	mention_visit(&s, e);
	return s.found;
}

/* ---- free names ---------------------------------------------------------- */

static void free_visit(void *ud, const Ast *e);

/* An annotation binds an extent that is a plain name. Other extents are
 * expressions. */
static void bind_dims(FreeNames *s, const Ast *type) {
	for (uint32_t i = 0; i < type->type.nfields; i++)
		if (type->type.fields[i].type) bind_dims(s, type->type.fields[i].type);
	for (uint32_t i = 0;
	     !type->type.is_record && type->type.rank != UINT32_MAX && i < type->type.rank; i++) {
		const Ast *d = type->type.dims[i];
		if (d && d->kind == A_NAME) add(s->a, &s->bound, d->name.name);
		else if (d) free_visit(s, d);
	}
}

static void bind_params(FreeNames *s, uint32_t n, const Param *params) {
	for (uint32_t i = 0; i < n; i++) {
		if (params[i].fallback) free_visit(s, params[i].fallback);
		add(s->a, &s->bound, params[i].name);
		if (params[i].pattern) target_names(s, params[i].pattern, &s->bound);
		if (params[i].type) bind_dims(s, params[i].type);
	}
}

/* An assigned name is local from there on. A target with an index or a field is
 * read first. */
static void bind_target(FreeNames *s, const Ast *t) {
	if (t->kind == A_NAME) add(s->a, &s->bound, t->name.name);
	else if (t->kind == A_TUPLE)
		for (uint32_t i = 0; i < t->tuple.n; i++) bind_target(s, t->tuple.items[i]);
	else free_visit(s, t);
}

static void free_visit(void *ud, const Ast *e) {
	FreeNames *s = ud;
	uint32_t mark = s->bound.names.n;
	switch ((AstKind)e->kind) {
	case A_NAME:
		if (!contains(&s->bound, e->name.name)) add(s->a, &s->out, e->name.name);
		return;
	case A_LAMBDA:
	case A_DEF:
		if (e->kind == A_DEF) {
			add(s->a, &s->bound, e->function.name);
			mark = s->bound.names.n;
		}
		bind_params(s, e->function.nparams, e->function.params);
		free_visit(s, e->function.body);
		cut(s->a, &s->bound, mark);
		return;
	case A_COMPREHENSION:
		for (uint32_t i = 0; i < e->comprehension.n; i++)
			if (e->comprehension.clauses[i].range) free_visit(s, e->comprehension.clauses[i].range);
		for (uint32_t i = 0; i < e->comprehension.n; i++)
			for (uint32_t k = 0; k < e->comprehension.clauses[i].n; k++)
				target_names(s, e->comprehension.clauses[i].names[k], &s->bound);
		free_visit(s, e->comprehension.body);
		if (e->comprehension.filter) free_visit(s, e->comprehension.filter);
		cut(s->a, &s->bound, mark);
		return;
	case A_ASSIGN:
		free_visit(s, e->assign.value);
		if (e->op != AO_NONE) free_visit(s, e->assign.target);
		bind_target(s, e->assign.target);
		return;
	case A_FOR:
		free_visit(s, e->for_.iterable);
		bind_target(s, e->for_.target);
		free_visit(s, e->for_.body);
		return;
	case A_TRY:
		free_visit(s, e->try_.body);
		if (e->try_.name) add(s->a, &s->bound, e->try_.name);
		free_visit(s, e->try_.handler);
		return;
	case A_INDEX_DEF:
		for (uint32_t i = 0; i < e->index_def.nclauses; i++)
			if (e->index_def.clauses[i].range) free_visit(s, e->index_def.clauses[i].range);
		for (uint32_t i = 0; i < e->index_def.nindices; i++)
			target_names(s, e->index_def.indices[i], &s->bound);
		free_visit(s, e->index_def.value);
		cut(s->a, &s->bound, mark);
		add(s->a, &s->bound, e->index_def.name);
		return;
	default: ast_children(e, free_visit, s);
	}
}

void ast_free_names(Sp *sp, const Ast *fn, Atom **names, uint32_t *n) {
	FreeNames s = {.a = sp->a};
	if (fn->kind == A_PROBLEM) {
		bind_params(&s, fn->problem->nparams, fn->problem->params);
		for (uint32_t i = 0; i < fn->problem->ndomains; i++)
			for (uint32_t k = 0; k < fn->problem->domains[i].ncoords; k++)
				add(s.a, &s.bound, fn->problem->domains[i].coords[k]);
		for (uint32_t i = 0; i < fn->problem->nfields; i++)
			add(s.a, &s.bound, fn->problem->fields[i].name);
		ast_children(fn, free_visit, &s);
	} else {
		bind_params(&s, fn->function.nparams, fn->function.params);
		free_visit(&s, fn->function.body);
	}
	*names = s.out.names.at;
	*n = s.out.names.n;
}
