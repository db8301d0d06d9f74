/* specialisations.c - the cache of specialisations, requests for another
 * attempt, and syntax that functions refer to.
 *
 * Needs: state.h.
 *
 * Contract:
 * - A family is found by its key until a name that it has looked up gets a new
 *   binding.
 * - A request for another attempt holds until it is taken, or until a text
 *   fails.
 */
#include "parser/session/state.h"

/* ---- the cache ----------------------------------------------------------- */

static uint64_t hash_text(const char *t) {
	uint64_t h = 1469598103934665603u;
	for (; *t; t++) h = (h ^ (unsigned char)*t) * 1099511628211u;
	return h;
}

struct Family *session_find_family(Session *s, const char *key) {
	uint64_t h = hash_text(key);
	for (FamilyEntry *e = s->families[h % FAMILY_BUCKETS]; e; e = e->next)
		if (e->hash == h && !strcmp(e->key, key)) return e->family;
	return NULL;
}

void session_add_family(Session *s, struct Family *f, const char *key, uint32_t newest,
                        uint32_t oldest) {
	FamilyEntry *e = ARENA_NEW(family_arena(f), FamilyEntry);
	/* Room for all of them, so that releasing cannot fail. */
	VEC_RESERVE(s->a, &s->retired, s->retired.n + s->nfamilies + 1);
	s->nfamilies++;
	*e = (FamilyEntry){
		.key = key, .hash = hash_text(key), .family = f, .newest = newest, .oldest = oldest};
	if (newest > s->newest_family) s->newest_family = newest;
	e->next = s->families[e->hash % FAMILY_BUCKETS];
	s->families[e->hash % FAMILY_BUCKETS] = e;
}

/* Its arena stays until no call can be using it. */
static void retire(Session *s, struct Family *f) {
	family_release(f);
	s->retired.at[s->retired.n++] = family_arena(f);
	s->nfamilies--;
}

void session_forget_specialisations(Session *s) {
	for (int i = 0; i < FAMILY_BUCKETS; i++) {
		for (FamilyEntry *e = s->families[i], *next; e; e = next) {
			next = e->next;
			retire(s, e->family);
		}
		s->families[i] = NULL;
	}
}

void session_free_retired(Session *s) {
	session_start_anew(s); /* it may still mention finished members */
	while (s->retired.n) arena_free(s->retired.at[--s->retired.n]);
}

void session_forget_wholes(Session *s, FnId first) {
	const uint32_t nwholes = s->wholes.n;
	s->wholes.n = 0;
	for (uint32_t i = 0; i < nwholes; i++) {
		const WholeFn w = s->wholes.at[i];
		if (w.from->id < first) {
			s->wholes.at[s->wholes.n++] = w;
			continue;
		}
		fn_unref(w.fn);
		fn_unref(w.from);
	}
}

/* Forgets the families with code of the node `first` or a later one, or with
 * programs or IR that nothing else uses. */
static void forget_families(Session *s, uint32_t first) {
	s->newest_family = 0;
	for (int i = 0; i < FAMILY_BUCKETS; i++) {
		FamilyEntry **at = &s->families[i];
		while (*at) {
			FamilyEntry *e = *at;
			if (e->newest < first && !session_any_unused(s, e->oldest, e->newest) &&
			    !family_has_unused_ir(e->family)) {
				if (e->newest > s->newest_family) s->newest_family = e->newest;
				at = &e->next;
				continue;
			}
			*at = e->next;
			retire(s, e->family);
		}
	}
}

void session_forget_code(Session *s, uint32_t first) {
	if (s->newest_family >= first) forget_families(s, first);
}

void session_forget_unused(Session *s) { forget_families(s, UINT32_MAX); }

void session_forget_syntax(Session *s, uint32_t first, uint32_t end) {
	const uint32_t n = s->lambdas.n;
	s->lambdas.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t id = s->lambdas.at[i].body->id;
		if (id < first || id >= end) s->lambdas.at[s->lambdas.n++] = s->lambdas.at[i];
	}
	const uint32_t nrules = s->rule_lambdas.n;
	s->rule_lambdas.n = 0;
	for (uint32_t i = 0; i < nrules; i++) {
		const RuleLambda r = s->rule_lambdas.at[i];
		const uint32_t ids[2] = {r.rule->id, r.function};
		if ((ids[0] < first || ids[0] >= end) && (ids[1] < first || ids[1] >= end))
			s->rule_lambdas.at[s->rule_lambdas.n++] = r;
	}
}

void session_forget_caches(Session *s) {
	session_forget_specialisations(s);
	session_forget_wholes(s, 0);
	session_free_retired(s);
	fn_collect(s->c, 0, 0);
}

void session_count_specialised(Session *s) { s->specialised++; }
uint64_t session_specialised(const Session *s) { return s->specialised; }

Fn *session_whole(Session *s, const Fn *f, const bool *active) {
	for (uint32_t i = 0; i < s->wholes.n; i++)
		if (s->wholes.at[i].from == f &&
		    !memcmp(s->wholes.at[i].active, active, fn_nparams(f) * sizeof *active))
			return s->wholes.at[i].fn;
	return NULL;
}

void session_keep_whole(Session *s, Fn *f, const bool *active, Fn *whole) {
	WholeFn w = {.from = f, .fn = whole, .active = ARENA_ARRAY(f->arena, bool, fn_nparams(f) + 1u)};
	memcpy(w.active, active, fn_nparams(f) * sizeof *active);
	VEC_PUSH(s->a, &s->wholes, w);
	fn_ref(f);
}

void session_keep_numbered(Session *s, Fn *f, uint32_t newest) {
	for (uint32_t i = s->numbered.n; i-- > 0;) {
		NumberedFn *k = &s->numbered.at[i];
		if (k->fn != f) continue;
		if (newest < k->newest) k->newest = newest;
		return;
	}
	VEC_PUSH(s->a, &s->numbered, ((NumberedFn){f, newest}));
	fn_ref(f);
}

void session_forget_numbered(Session *s, uint32_t first) {
	const uint32_t n = s->numbered.n;
	s->numbered.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const NumberedFn k = s->numbered.at[i];
		if (k.newest < first) s->numbered.at[s->numbered.n++] = k;
		else fn_unref(k.fn);
	}
}

/* ---- requests for another attempt ---------------------------------------- */

void session_set_retry(Session *s, FunctionFrame *frame) { s->retry = frame; }
FunctionFrame *session_retry(Session *s) { return s->retry; }
void session_set_wants_unroll(Session *s) { s->wants_unroll = true; }
bool session_take_wants_unroll(Session *s) {
	bool was = s->wants_unroll;
	s->wants_unroll = false;
	return was;
}
void session_set_bottom(Session *s, const Builder *whose) { s->bottom = whose; }
const Builder *session_take_bottom(Session *s) {
	const Builder *was = s->bottom;
	s->bottom = NULL;
	return was;
}
struct FamilyMember **session_finished(Session *s) {
	return &s->finished;
}
uint32_t *session_yielded(Session *s) { return &s->yielded; }
uint32_t *session_left_out(Session *s) { return &s->left_out; }
void session_start_anew(Session *s) {
	s->finished = NULL;
	s->retry = NULL;
	s->bottom = NULL;
	s->wants_unroll = false;
}

/* ---- syntax -------------------------------------------------------------- */

const Ast *session_index_lambda(Session *s, const Ast *body, uint32_t n, const Atom *names) {
	for (uint32_t i = 0; i < s->lambdas.n; i++)
		if (s->lambdas.at[i].body == body && s->lambdas.at[i].n == n)
			return s->lambdas.at[i].lambda;
	Arena *a = session_tree_of(s, body->id);
	Ast *l = ARENA_NEW(a, Ast);
	l->kind = A_LAMBDA;
	l->id = body->id;
	l->span = body->span;
	l->function.nparams = n;
	l->function.params = ARENA_ARRAY(a, Param, n ? n : 1);
	for (uint32_t i = 0; i < n; i++)
		l->function.params[i] = (Param){.name = names[i], .span = body->span};
	l->function.body = (Ast *)body;
	IndexLambda entry = {body, n, l};
	VEC_PUSH(s->a, &s->lambdas, entry);
	return l;
}

const Ast **session_rule_lambda(Session *s, const Ast *e, const Param *params, uint32_t function) {
	for (uint32_t i = 0; i < s->rule_lambdas.n; i++)
		if (s->rule_lambdas.at[i].rule == e && s->rule_lambdas.at[i].params == params)
			return &s->rule_lambdas.at[i].lambda;
	RuleLambda entry = {.rule = e, .params = params, .function = function};
	VEC_PUSH(s->a, &s->rule_lambdas, entry);
	return &s->rule_lambdas.at[s->rule_lambdas.n - 1].lambda;
}
