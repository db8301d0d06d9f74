/* programs.c - the programs that a host runs, and what is left of them.
 *
 * Needs: state.h.
 *
 * Method: a long-lived host evaluates many programs. Before the next one runs,
 * the last is forgotten: its specialisations; the functions of the IR that only
 * reference each other; its tree, spans and attributes. What lives longer has a
 * record. When there are many, all are looked through: those of which nothing
 * lives any more are forgotten, with what only they mention.
 *
 * Contract:
 * - A tree lives as long as a function value has code of it, a derivative rule
 *   in it holds, or a function of the IR needs it to be derived.
 * - A text lives as long as its tree, a place in it, or a name that it bound.
 * - The diagnostics of the last program have been read when the next begins.
 */
#include "parser/session/state.h"

enum { MANY_PROGRAMS = 64, MUCH_MEMORY = 8 << 20 };

static bool has(const ProgramRecord *p, uint32_t node) { return node >= p->first && node < p->end; }

/* Whether it states a derivative rule that holds. */
static bool rules(const Session *s, const ProgramRecord *p) {
	for (uint32_t i = 0; p->rules && i < s->rules.n; i++)
		if (has(p, s->rules.at[i].e->id)) return true;
	return false;
}

/* Whether its functions can be called or derived by name or value. */
static bool is_used(const Session *s, const ProgramRecord *p) {
	return atomic_load(&p->values->values) || rules(s, p);
}

/* The same, or a function of the IR that has been made needs its tree. */
static bool tree_is_used(const Session *s, const ProgramRecord *p) {
	return is_used(s, p) || atomic_load(&p->values->records);
}

static void free_tree(Session *s, ProgramRecord *p) {
	session_forget_syntax(s, p->first, p->end);
	arena_free(p->tree);
	p->tree = NULL;
}

static void forget_text(Session *s, const ProgramRecord *p) {
	source_drop(s->c, p->source);
	code_owner_remove(s->c, p->values);
}

static bool made_closures(const ProgramRecord *p) { return atomic_load(&p->values->others); }

static void forget_last(Session *s) {
	Ctx *c = s->c;
	ProgramRecord *p = &s->programs.at[s->programs.n - 1];
	s->last.any = false;
	/* The specialisations of a module that it loaded are for later programs. */
	if (rules(s, p) || sources_added(c) != s->last.added) {
		session_free_retired(s);
		return;
	}
	session_forget_wholes(s, s->last.first);
	if (!p->binds) session_forget_code(s, p->first);
	if (!made_closures(p)) session_forget_numbered(s, p->first);
	session_free_retired(s);
	fn_collect(c, s->last.first, s->last.first_host);
	if (!p->binds && !tree_is_used(s, p)) free_tree(s, p);
	if (fn_from(c, s->last.first)) return;
	spans_release(c);
	attrs_release(c);
	if (p->tree || made_closures(p)) return;
	forget_text(s, p);
	s->programs.n--;
	sources_free(c);
}

/* Forgets what no program, value or function mentions. */
static void look_through(Session *s) {
	Ctx *c = s->c;
	uint32_t newest = s->programs.n;
	session_forget_wholes(s, 0);
	session_free_retired(s);
	fn_collect(c, 0, 0); /* their constants may be function values */
	for (uint32_t i = 0; i < s->programs.n; i++)
		s->programs.at[i].unused = s->programs.at[i].tree && !is_used(s, &s->programs.at[i]);
	kept_ir_note_unused(s->kept_ir);
	session_forget_unused(s);
	/* Closures store ids of functions of their program and of earlier ones. */
	while (newest && !made_closures(&s->programs.at[newest - 1])) newest--;
	if (newest < s->programs.n) session_forget_numbered(s, s->programs.at[newest].first);
	session_free_retired(s);
	fn_collect(c, 0, 0);
	kept_ir_free_unused(c, &s->kept_ir);
	fn_collect(c, 0, 0);
	ir_sweep(c);
	const uint32_t n = s->programs.n;
	bool *mentioned = heap_alloc(c, sources_end(c));
	if (mentioned) sources_mentioned(c, mentioned);
	s->programs.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		ProgramRecord p = s->programs.at[i];
		if (p.unused && !tree_is_used(s, &p)) free_tree(s, &p);
		p.unused = false;
		if (p.tree || made_closures(&p) || !mentioned || mentioned[p.source])
			s->programs.at[s->programs.n++] = p;
		else forget_text(s, &p);
	}
	heap_free(c, mentioned, sources_end(c));
	sources_free(c);
	s->many_programs = 2 * s->programs.n + MANY_PROGRAMS;
	s->much_memory = heap_used(c) + heap_used(c) / 2 + MUCH_MEMORY;
}

SourceId session_begin_program(Session *s, const char *name, const char *text, size_t n) {
	Ctx *c = s->c;
	if (s->last.any) forget_last(s);
	if (s->programs.n >= s->many_programs || heap_used(c) >= s->much_memory) look_through(s);
	VEC_RESERVE(s->a, &s->programs, s->programs.n + 1);
	ProgramRecord p = {.first = parse_next_id(c), .end = UINT32_MAX};
	p.source = source_add(c, name, text, n);
	source_count(c, p.source);
	p.values = code_owner_add(c, p.first);
	p.tree = arena_small(c);
	s->programs.at[s->programs.n++] = p;
	s->last.first = fn_next(c);
	s->last.first_host = host_next(c);
	s->last.added = sources_added(c);
	s->last.any = true;
	spans_mark(c);
	attrs_mark(c);
	return p.source;
}

Program session_parse_program(Session *s, SourceId source, bool *ok) {
	ProgramRecord *p = &s->programs.at[s->programs.n - 1];
	const Program out = parse_program(s->c, p->tree, source, ok);
	p->end = p->values->end = parse_next_id(s->c);
	for (uint32_t i = 0; i < out.n; i++) {
		const AstKind kind = (AstKind)out.items[i]->kind;
		if (kind == A_DERIVATIVE) p->rules = true;
	}
	return out;
}

/* The number of programs that begin at the node or before it. */
static uint32_t programs_to(const Session *s, uint32_t node) {
	uint32_t low = 0, high = s->programs.n; /* the answer is in [low, high] */
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (s->programs.at[middle].first <= node) low = middle + 1;
		else high = middle;
	}
	return low;
}

bool session_any_unused(const Session *s, uint32_t oldest, uint32_t newest) {
	if (oldest > newest) return false;
	for (uint32_t i = programs_to(s, newest); i-- > 0 && s->programs.at[i].end > oldest;)
		if (s->programs.at[i].unused) return true;
	return false;
}

Arena *session_tree_of(Session *s, uint32_t node) {
	const uint32_t n = programs_to(s, node);
	const ProgramRecord *p = n ? &s->programs.at[n - 1] : NULL;
	return p && p->tree && node < p->end ? p->tree : s->a;
}

void session_compact(Session *s) {
	if (s->last.any) forget_last(s);
	session_forget_caches(s);
	look_through(s);
}
