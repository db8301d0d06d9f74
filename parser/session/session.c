/* session.c - the session of a context: its start and end, and the copy of
 * definitions that a check restores.
 *
 * Needs: state.h, the services of higher layers.
 *
 * Contract:
 * - The session lives in the context's arena. Its end releases the values and
 *   functions that it has references to.
 * - session_mark copies what statements change beside values: the rules and the
 *   used modules.
 */
#include "parser/session/state.h"

Session *session_of(const Ctx *c) { return ctx_slot(c, SLOT_PARSER); }
Module *session_main(Session *s) { return s->main; }
const Hidden *session_hidden(Session *s) { return &s->hidden; }

void session_set_folder(Session *s, const char *folder) {
	s->folder = folder ? arena_copy(s->a, folder, strlen(folder)) : NULL;
}
void session_seed(Session *s, int64_t seed) {
	s->random_key = seed;
	s->random_counter = 0;
}

Ctx *ctx_of_session(const Session *s) { return s->c; }

HashChains *session_ruled(Session *s) { return &s->ruled; }
struct KeptIr **session_kept_ir(Session *s) {
	return &s->kept_ir;
}
uint32_t session_number_ir(Session *s) { return ++s->ir_number; }

/* ---- restoring definitions ----------------------------------------------- */

struct SessionMark {
	uint32_t nrules, nused;
	RuleDef *rules;
	Atom *used_names;
	Module **used;
};

SessionMark *session_mark(Session *s, Arena *a) {
	const Module *m = s->main;
	SessionMark *k = ARENA_NEW(a, SessionMark);
	*k = (SessionMark){
		.nrules = s->rules.n, .nused = m->used.n, .rules = ARENA_ARRAY(a, RuleDef, s->rules.n + 1)};
	k->used_names = ARENA_ARRAY(a, Atom, m->used.n + 1);
	k->used = ARENA_ARRAY(a, Module *, m->used.n + 1);
	for (uint32_t i = 0; i < k->nrules; i++) k->rules[i] = s->rules.at[i];
	for (uint32_t i = 0; i < k->nused; i++) {
		k->used_names[i] = m->used_names.at[i];
		k->used[i] = m->used.at[i];
	}
	return k;
}

void session_back_to(Session *s, const SessionMark *k) {
	Module *m = s->main;
	uint32_t n = 0; /* later rules of the library stay, because its modules stay loaded */
	bool changed = false;
	for (uint32_t i = 0; i < s->rules.n; i++) {
		const RuleDef r = s->rules.at[i];
		if (r.module == m) changed |= i >= k->nrules || r.e != k->rules[i].e;
		if (i < k->nrules) s->rules.at[n++] = k->rules[i];
		else if (r.module != m) s->rules.at[n++] = r;
	}
	s->rules.n = n;
	if (changed) session_forget_specialisations(s);
	for (uint32_t i = 0; i < k->nused; i++) {
		m->used_names.at[i] = k->used_names[i];
		m->used.at[i] = k->used[i];
	}
	m->used.n = m->used_names.n = k->nused;
}

/* ---- life cycle ---------------------------------------------------------- */

static void session_free(Ctx *c, void *state) {
	Session *s = state;
	ruled_release(c, &s->ruled);
	kept_ir_release(s->kept_ir);
	for (Module *m = s->modules; m; m = m->next)
		for (uint32_t i = 0; i < m->globals.n; i++) value_unref(m->globals.at[i].value);
	for (uint32_t i = 0; i < s->cached_rules.n; i++) fn_unref(s->cached_rules.at[i].fn);
	for (uint32_t i = 0; i < s->wholes.n; i++) {
		fn_unref(s->wholes.at[i].fn);
		fn_unref(s->wholes.at[i].from);
	}
	session_forget_numbered(s, 0);
	session_forget_specialisations(s);
	bytes_free(c, &s->module_text);
}

static void init_protected(Ctx *c, void *arg) {
	(void)arg;
	Arena *a = ctx_arena(c);
	Session *s = ARENA_NEW(a, Session);
	s->c = c;
	s->a = a;
	s->hidden = (Hidden){.io = atom(c, "$io"),
	                     .rng = atom(c, "$rng"),
	                     .brk = atom(c, "$break"),
	                     .cont = atom(c, "$continue"),
	                     .ret = atom(c, "$return"),
	                     .retval = atom(c, "$value"),
	                     .dead = atom(c, "$dead")};
	s->main = session_new_module(s, atom(c, "main"), 0, false);
	s->given = session_new_module(s, atom(c, "given"), UINT32_MAX, true);
	ir_services(c)->function_out = session_function_out;
	ir_services(c)->function_in = session_function_in;
	ctx_set_slot(c, SLOT_PARSER, s, session_free);
	session_index_library(s);
	ir_services(c)->elementwise_rule = session_elementwise_rule;
	ir_services(c)->call_dynamic = session_call_dynamic;
}

Status session_init(Ctx *c) { return ctx_protect(c, init_protected, NULL); }
