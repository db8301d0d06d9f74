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

Arena *session_family_arena(Session *s, uint32_t newest) {
	return newest >= s->last.first_node ? s->programs : s->a;
}

void session_add_family(Session *s, struct Family *f, const char *key, uint32_t newest) {
	FamilyEntry *e = ARENA_NEW(session_family_arena(s, newest), FamilyEntry);
	*e = (FamilyEntry){.key = key, .hash = hash_text(key), .family = f, .newest = newest};
	if (newest > s->newest_family) s->newest_family = newest;
	e->next = s->families[e->hash % FAMILY_BUCKETS];
	s->families[e->hash % FAMILY_BUCKETS] = e;
}

void session_forget_specialisations(Session *s) {
	for (int i = 0; i < FAMILY_BUCKETS; i++) {
		for (FamilyEntry *e = s->families[i]; e; e = e->next) family_release(e->family);
		s->families[i] = NULL;
	}
}

void session_forget_code(Session *s, uint32_t first, FnId first_fn) {
	while (s->wholes.n && s->wholes.at[s->wholes.n - 1].from->id >= first_fn) {
		const WholeFn *w = &s->wholes.at[--s->wholes.n];
		fn_unref(w->fn);
		fn_unref(w->from);
	}
	while (s->lambdas.n && s->lambdas.at[s->lambdas.n - 1].body->id >= first) s->lambdas.n--;
	if (s->newest_family < first) return;
	s->newest_family = 0;
	for (int i = 0; i < FAMILY_BUCKETS; i++) {
		FamilyEntry **at = &s->families[i];
		while (*at) {
			FamilyEntry *e = *at;
			if (e->newest >= first) {
				*at = e->next;
				family_release(e->family);
				continue;
			}
			if (e->newest > s->newest_family) s->newest_family = e->newest;
			at = &e->next;
		}
	}
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
	WholeFn w = {.from = f, .fn = whole, .active = ARENA_ARRAY(s->a, bool, fn_nparams(f) + 1u)};
	memcpy(w.active, active, fn_nparams(f) * sizeof *active);
	VEC_PUSH(s->a, &s->wholes, w);
	fn_ref(f);
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
	Arena *a = session_family_arena(s, body->id);
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
