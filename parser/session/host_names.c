/* host_names.c - names for the host: values, host functions, lists for
 * completion.
 *
 * Needs: state.h.
 *
 * Contract:
 * - A function whose name starts with `_` is for the library, any other belongs
 *   to the user's module.
 * - The definition of a host function removes the rule of the previous function
 *   of that name.
 */
#include "parser/session/state.h"

/* ---- values and functions ------------------------------------------------ */

struct get {
	Session *s;
	const char *name;
	Value v;
};

static void get_protected(Ctx *c, void *arg) {
	struct get *g = arg;
	Atom name = atom(c, g->name);
	g->v = session_lookup(g->s, g->s->main, name);
	if (g->v.kind == V_UNSET) {
		const Builtin *b = builtin_find(g->name);
		if (b && b->doc) {
			Value f = value_function(c, V_FUNCTION, CODE_BUILTIN, name, b, name, 0, NULL, NULL);
			if (f.kind != V_UNSET) session_set_global(g->s, g->s->given, name, f, NO_SPAN);
			value_unref(f);
			g->v = session_own_global(g->s->given, name);
		}
	}
}

Value session_get(Session *s, const char *name) {
	struct get g = {s, name, {.kind = V_UNSET}};
	const Status st = ctx_protect(s->c, get_protected, &g);
	if (st != ST_OK && st != ST_ERROR) ctx_throw(s->c, st);
	return st == ST_OK ? g.v : (Value){.kind = V_UNSET};
}

struct set {
	Session *s;
	const char *name;
	Value v;
};

static void set_protected(Ctx *c, void *arg) {
	struct set *g = arg;
	session_set_global(g->s, g->s->main, atom(c, g->name), g->v, NO_SPAN);
}

Status session_set(Session *s, const char *name, Value v) {
	struct set g = {s, name, v};
	return ctx_protect(s->c, set_protected, &g);
}

struct native {
	Session *s;
	const char *name;
	NativeFn fn;
	void *ud;
	const HostDef *host;
};

static Av *run_native(Sp *sp, const Builtin *self, uint32_t ncaptured, Av *const *captured,
                      const CallArguments *call) {
	(void)ncaptured;
	(void)captured;
	Atom name = atom(sp->c, self->name);
	Av *f = av_function(sp, CODE_BUILTIN, name, self, name, 0, NULL, NULL);
	return sp_call_dynamic(sp, f, call->n, call->args, call->span);
}

static void define_native(Ctx *c, void *arg) {
	struct native *n = arg;
	Session *s = n->s;
	Atom name = atom(c, n->name);
	Value v;
	if (n->host) {
		HostDef *def = ARENA_NEW(s->a, HostDef);
		*def = *n->host;
		def->name = arena_copy(s->a, n->name, strlen(n->name));
		/* A rule belonged to the previous function of that name. */
		for (uint32_t i = 0; i < s->rules.n; i++)
			if (s->rules.at[i].name == name && s->rules.at[i].module == s->main)
				s->rules.at[i] = s->rules.at[--s->rules.n];
		v = value_function(c, V_FUNCTION, CODE_HOST, name, def, name, 0, NULL, NULL);
	} else {
		Builtin *b = ARENA_NEW(s->a, Builtin);
		*b = (Builtin){.name = arena_copy(s->a, n->name, strlen(n->name)),
		               .min_args = -1,
		               .max_args = -1,
		               .run = run_native,
		               .native = n->fn,
		               .native_ud = n->ud};
		v = value_function(c, V_FUNCTION, CODE_BUILTIN, name, b, name, 0, NULL, NULL);
	}
	if (v.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
	session_set_global(s, n->name[0] == '_' ? s->given : s->main, name, v, NO_SPAN);
	value_unref(v);
}

Status session_define_dynamic(Session *s, const char *name, NativeFn fn, void *ud) {
	struct native n = {s, name, fn, ud, NULL};
	return ctx_protect(s->c, define_native, &n);
}

Status session_define_host(Session *s, const char *name, const HostDef *def, int nargs) {
	HostDef with = *def;
	with.nargs = (uint32_t)nargs;
	struct native n = {s, name, NULL, NULL, &with};
	return ctx_protect(s->c, define_native, &n);
}

/* ---- lists of names ------------------------------------------------------ */

struct each {
	void (*visit)(void *ud, const char *name, Value v);
	void *ud;
};

static void each_builtin(void *ud, const Builtin *b) {
	struct each *e = ud;
	if (b->doc && b->name[0] != '_') e->visit(e->ud, b->name, (Value){.kind = V_FUNCTION});
}

void session_each_name(Session *s, void (*visit)(void *ud, const char *name, Value v), void *ud) {
	for (uint32_t i = 0; i < s->main->globals.n; i++)
		visit(ud, atom_text(s->c, s->main->globals.at[i].name), s->main->globals.at[i].value);
	for (uint32_t i = 0; i < s->exports.n; i++)
		if (atom_text(s->c, s->exports.at[i].name)[0] != '_')
			visit(ud, atom_text(s->c, s->exports.at[i].name), (Value){.kind = V_FUNCTION});
	struct each e = {visit, ud};
	builtin_each(each_builtin, &e);
}

void session_each_module(Session *s, void (*visit)(void *ud, const char *name, Value v), void *ud) {
	(void)s;
	for (const LibraryText *t = library_texts; t->name; t++)
		visit(ud, t->name, (Value){.kind = V_NONE});
}

void session_each_in_module(Session *s, const char *module,
                            void (*visit)(void *ud, const char *name, Value v), void *ud) {
	for (uint32_t i = 0; i < s->main->used_names.n; i++) {
		if (strcmp(atom_text(s->c, s->main->used_names.at[i]), module)) continue;
		Module *m = s->main->used.at[i];
		uint32_t n = 0;
		for (const Module *part = m; part; part = session_module_part(s, m, ++n))
			for (uint32_t k = 0; k < part->globals.n; k++) {
				const char *name = atom_text(s->c, part->globals.at[k].name);
				if (name[0] != '_' && part->globals.at[k].value.kind != V_UNSET)
					visit(ud, name, part->globals.at[k].value);
			}
		return;
	}
}
