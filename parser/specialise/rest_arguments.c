/* rest_arguments.c - the named arguments of a function with `...options`, as
 * far as its text shows them.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - The result is for messages, signatures and completion only; arguments.c
 *   binds calls independently of it.
 * - Collects the named parameters of every function that receives the options,
 *   directly or through other calls, except those passed explicitly.
 * - A function that uses its options in any other way takes unknown arguments.
 */
#include "parser/specialise/internal.h"

#define REST_DEPTH 8 /* longest chain of functions that forward options */

typedef struct RestSearch {
	Ctx *c;
	const Ast *fn;
	Atom rest;
	RestFind find;
	RestVisit visit;
	void *ud;
	uint32_t depth;
	bool known;
} RestSearch;

static const Param *rest_param(const Ast *fn) {
	for (uint32_t i = 0; i < fn->function.nparams; i++)
		if (fn->function.params[i].rest && fn->function.params[i].named)
			return &fn->function.params[i];
	return NULL;
}

static void search(void *ud, const Ast *e);

static bool given(const Ast *call, Atom name) {
	for (uint32_t i = 0; i < call->call.n; i++)
		if (call->call.args[i].name == name) return true;
	return false;
}

/* A call that receives the options: visits its own named parameters, and the
 * functions to which it forwards the remaining options. */
static void receiver(RestSearch *s, const Ast *call) {
	Ctx *c = s->c;
	const Ast *callee = call->call.callee;
	if (callee->kind != A_NAME) {
		s->known = false;
		return;
	}
	const Ast *fn = s->find(s->ud, s->fn, callee->name.name);
	const Builtin *b = fn ? NULL : builtin_find(atom_text(c, callee->name.name));
	for (const char *p = b && b->named ? b->named : ""; *p;) {
		const size_t n = strcspn(p, " ");
		const Atom name = atom_n(c, p, n);
		if (n == 1 && *p == '*') s->known = false;
		else if (!given(call, name)) s->visit(s->ud, NULL, name);
		p += n + (p[n] == ' ');
	}
	if (!fn && !b) s->known = false;
	if (!fn) return;
	for (uint32_t i = 0; i < fn->function.nparams; i++) {
		const Param *p = &fn->function.params[i];
		if (p->named && !p->rest && !given(call, p->name)) s->visit(s->ud, p, p->name);
	}
	if (!rest_param(fn)) return;
	if (s->depth == REST_DEPTH) {
		s->known = false;
		return;
	}
	RestSearch inner = *s;
	inner.fn = fn;
	inner.rest = rest_param(fn)->name;
	inner.depth++;
	search(&inner, fn->function.body);
	s->known = inner.known;
}

static void search(void *ud, const Ast *e) {
	RestSearch *s = ud;
	if (e->kind == A_NAME) {
		if (e->name.name == s->rest) s->known = false; /* used in some other way */
		return;
	}
	if (e->kind != A_CALL) {
		ast_children(e, search, s);
		return;
	}
	search(s, e->call.callee);
	for (uint32_t i = 0; i < e->call.n; i++) {
		const Arg *a = &e->call.args[i];
		if (a->spread && a->value->kind == A_NAME && a->value->name.name == s->rest) receiver(s, e);
		else search(s, a->value);
	}
}

bool rest_each(Ctx *c, const Ast *fn, RestFind find, RestVisit visit, void *ud) {
	const Param *rest = rest_param(fn);
	if (!rest) return true;
	RestSearch all = {.c = c,
	                  .fn = fn,
	                  .rest = rest->name,
	                  .find = find,
	                  .visit = visit,
	                  .ud = ud,
	                  .known = true};
	search(&all, fn->function.body);
	return all.known;
}

const Ast *rest_find(Session *s, const Ast *in, Atom name) {
	const Value v = session_lookup(s, session_module_of(s, in->span.source), name);
	const FunctionObject *f = v.kind == V_FUNCTION ? (const FunctionObject *)v.object : NULL;
	return f && f->code_kind == CODE_AST && ((const Ast *)f->code)->kind == A_DEF ? f->code : NULL;
}
