/* session.c - modules, global names, the cache of specialisations, and the
 * running of statements.
 *
 * Needs: specialise/internal.h, the services of higher layers.
 *
 * Contract:
 * - A statement is one function: it is specialised as a whole and run, and only
 *   then do its names change.
 * - typecheck.c checks without running; help.c describes names.
 */
#include "parser/session/session.h"
#include "parser/specialise/internal.h"

#include <ctype.h>
#include <stdio.h>

#define FAMILY_BUCKETS 256

typedef struct FamilyEntry {
	const char *key;
	uint64_t hash;
	struct Family *family;
	struct FamilyEntry *next;
} FamilyEntry;

typedef struct LibraryExport {
	Atom name;
	uint32_t library; /* index in library_texts */
	/* The next in the same bucket, in the library's order; NO_EXPORT: the
	 * last. */
	uint32_t next;
} LibraryExport;

#define NO_EXPORT UINT32_MAX
enum { EXPORT_BUCKETS = 1024 };

/* derivative NAME(...) = ..., as written. */
typedef struct RuleDef {
	Atom name;
	const Ast *e;
	Module *module;
} RuleDef;

typedef struct CachedRule {
	Op op;
	Dtype dtype;
	Fn *fn;
} CachedRule;

typedef struct IndexLambda {
	const Ast *body;
	uint32_t n;
	const Ast *lambda;
} IndexLambda;

/* A function and its form with derivatives where eigenvalues coincide; a
 * reference to each. */
typedef struct WholeFn {
	Fn *from, *fn;
	bool *active;
} WholeFn;

struct Session {
	Ctx *c;
	Arena *a;
	Module *modules, *main;
	/* A module without text: values that the host program gives the library
	 * under private names, and builtins that it looked up. */
	Module *given;
	Hidden hidden;
	FunctionFrame *retry;
	const Builder *bottom;
	struct FamilyMember *finished;
	uint32_t yielded, left_out;
	bool wants_unroll;
	uint64_t specialised; /* number of finished functions */
	FamilyEntry *families[FAMILY_BUCKETS];
	VEC(LibraryExport) exports;
	uint32_t export_heads[EXPORT_BUCKETS]; /* by name */
	VEC(Module *) loaded;                  /* by library index */
	VEC(RuleDef) rules;
	struct Ruled *ruled;    /* calls of functions with a rule */
	struct KeptIr *kept_ir; /* the code of functions that are IR */
	VEC(CachedRule) cached_rules;
	VEC(WholeFn) wholes;
	VEC(IndexLambda) lambdas;
	VEC(const Ast *) kept;
	VEC(Builtin *) natives;
	int64_t random_key, random_counter;
	const char *folder;
	uint32_t input_count;
	VEC(StatementDone) done; /* statements of the text that ran last in the user's module */
};

Session *session_of(const Ctx *c) { return ctx_slot(c, SLOT_PARSER); }
Module *session_main(Session *s) { return s->main; }
const Hidden *session_hidden(Session *s) { return &s->hidden; }
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
void session_set_folder(Session *s, const char *folder) {
	s->folder = folder ? arena_copy(s->a, folder, strlen(folder)) : NULL;
}
void session_seed(Session *s, int64_t seed) {
	s->random_key = seed;
	s->random_counter = 0;
}

void session_count_specialised(Session *s) { s->specialised++; }
uint64_t session_specialised(const Session *s) { return s->specialised; }

/* ---- specialisations ----------------------------------------------------- */

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

void session_add_family(Session *s, struct Family *f, const char *key) {
	FamilyEntry *e = ARENA_NEW(s->a, FamilyEntry);
	*e = (FamilyEntry){key, hash_text(key), f, NULL};
	e->next = s->families[e->hash % FAMILY_BUCKETS];
	s->families[e->hash % FAMILY_BUCKETS] = e;
}

/* A function's name has a new binding: everything that looked it up by name is
 * invalid. */
static void forget_specialisations(Session *s) {
	for (int i = 0; i < FAMILY_BUCKETS; i++) {
		for (FamilyEntry *e = s->families[i]; e; e = e->next) family_release(e->family);
		s->families[i] = NULL;
	}
}

const Ast *session_index_lambda(Session *s, const Ast *body, uint32_t n, const Atom *names) {
	for (uint32_t i = 0; i < s->lambdas.n; i++)
		if (s->lambdas.at[i].body == body && s->lambdas.at[i].n == n)
			return s->lambdas.at[i].lambda;
	Ast *l = ARENA_NEW(s->a, Ast);
	l->kind = A_LAMBDA;
	l->id = body->id;
	l->span = body->span;
	l->function.nparams = n;
	l->function.params = ARENA_ARRAY(s->a, Param, n ? n : 1);
	for (uint32_t i = 0; i < n; i++)
		l->function.params[i] = (Param){.name = names[i], .span = body->span};
	l->function.body = (Ast *)body;
	IndexLambda entry = {body, n, l};
	VEC_PUSH(s->a, &s->lambdas, entry);
	return l;
}

Ctx *ctx_of_session(const Session *s) { return s->c; }

uint32_t session_keep_ast(Session *s, const Ast *e) {
	for (uint32_t i = 0; i < s->kept.n; i++)
		if (s->kept.at[i] == e) return i;
	VEC_PUSH(s->a, &s->kept, e);
	return s->kept.n - 1;
}

const Ast *session_kept_ast(const Session *s, uint32_t number) { return s->kept.at[number]; }

/* ---- modules ------------------------------------------------------------- */

static Global *own_global(Module *m, Atom name) {
	for (uint32_t i = 0; i < m->globals.n; i++)
		if (m->globals.at[i].name == name) return &m->globals.at[i];
	return NULL;
}

Value session_own_global(Module *m, Atom name) {
	Global *g = own_global(m, name);
	return g ? g->value : (Value){.kind = V_UNSET};
}

Span session_global_span(Module *from, Atom name) {
	Global *g = from->library ? NULL : own_global(from, name);
	return g ? g->span : NO_SPAN;
}

void session_note_baked(Module *m, Atom name) {
	Global *g = own_global(m, name);
	if (g) g->baked = true;
}

Value session_module_get(Module *m, Atom name) { return session_own_global(m, name); }

Module *session_module_of(Session *s, SourceId source) {
	for (Module *m = s->modules; m; m = m->next)
		if (m->source == source) return m;
	return s->main;
}

static Module *module_new(Session *s, Atom name, SourceId source, bool library) {
	Module *m = ARENA_NEW(s->a, Module);
	m->name = name;
	m->source = source;
	m->library = library;
	m->next = s->modules;
	s->modules = m;
	return m;
}

/* The first export of the name from index `from` of its bucket on, or NULL. */
static const LibraryExport *find_export(const Session *s, Atom name, uint32_t from) {
	while (from != NO_EXPORT && s->exports.at[from].name != name) from = s->exports.at[from].next;
	return from == NO_EXPORT ? NULL : &s->exports.at[from];
}

static const LibraryExport *first_export(const Session *s, Atom name) {
	return find_export(s, name, s->export_heads[name % EXPORT_BUCKETS]);
}

static void set_global(Session *s, Module *m, Atom name, Value v, Span span) {
	Global *g = own_global(m, name);
	if (!g) {
		Global fresh = {.name = name, .value = {.kind = V_UNSET}};
		VEC_PUSH(s->a, &m->globals, fresh);
		g = &m->globals.at[m->globals.n - 1];
	}
	bool was_code = g->value.kind == V_FUNCTION || g->value.kind == V_PROBLEM,
		 is_code = v.kind == V_FUNCTION || v.kind == V_PROBLEM;
	if (g->value.kind == V_UNSET) {
		/* A first definition can hide a library name that was looked up
		 * before. */
		if (!m->library && first_export(s, name)) forget_specialisations(s);
	} else if (was_code || is_code || g->baked) forget_specialisations(s);
	g->baked = false;
	value_unref(g->value);
	g->value = value_ref(v);
	g->span = span;
}

static void run_statements(Session *s, Module *m, const Program *p, ResultSink show, void *ud,
                           Value *last);

/* Indexes the names that a library text defines at the start of a line. */
static void index_library(Session *s, uint32_t k) {
	const char *t = library_texts[k].text, *end = t + library_texts[k].size;
	while (t < end) {
		const char *line_end = memchr(t, '\n', (size_t)(end - t));
		if (!line_end) line_end = end;
		const char *p = t;
		const bool problem = (size_t)(line_end - p) > 8 && !strncmp(p, "problem ", 8);
		if (problem) p += 8;
		const char *name = p;
		while (p < line_end &&
		       (isalnum((unsigned char)*p) || *p == '_' || (unsigned char)*p >= 0x80))
			p++;
		size_t n = (size_t)(p - name);
		if (p + 1 < line_end && *p == ' ') p++;
		bool defines = p < line_end && (*p == '(' || *p == '=' || (problem && *p == '{'));
		if (n && defines && !isdigit((unsigned char)*name) && strncmp(name, "derivative", 10)) {
			LibraryExport e = {.name = atom_n(s->c, name, n), .library = k};
			VEC_PUSH(s->a, &s->exports, e);
		}
		t = line_end + 1;
	}
}

static void chain_exports(Session *s) {
	for (uint32_t i = 0; i < EXPORT_BUCKETS; i++) s->export_heads[i] = NO_EXPORT;
	for (uint32_t i = s->exports.n; i-- > 0;) {
		LibraryExport *e = &s->exports.at[i];
		e->next = s->export_heads[e->name % EXPORT_BUCKETS];
		s->export_heads[e->name % EXPORT_BUCKETS] = i;
	}
}

typedef struct ModuleLoad {
	Session *s;
	Module *m;
} ModuleLoad;

static void load_protected(Ctx *c, void *arg) {
	ModuleLoad *l = arg;
	bool ok;
	Program p = parse_program(c, l->s->a, l->m->source, &ok);
	if (!ok) ctx_throw(c, ST_ERROR);
	run_statements(l->s, l->m, &p, NULL, NULL, NULL);
}

/* Runs a module's text. A module that fails is not found again, so the next use
 * loads it again. */
static Status load_module(Session *s, Module *m) {
	ModuleLoad l = {s, m};
	Status st = ctx_protect(s->c, load_protected, &l);
	if (st != ST_OK) m->source = UINT32_MAX;
	return st;
}

static Module *load_library(Session *s, uint32_t k) {
	if (s->loaded.at[k]) return s->loaded.at[k];
	const LibraryText *lib = &library_texts[k];
	SourceId source = source_add(s->c, arena_printf(s->a, "<%s>", lib->name), lib->text, lib->size);
	source_set_library(s->c, source);
	Module *m = module_new(s, atom(s->c, lib->name), source, true);
	s->loaded.at[k] = m; /* modules may use one another */
	Status st = load_module(s, m);
	if (st == ST_OK) return m;
	s->loaded.at[k] = NULL;
	ctx_throw(s->c, st);
}

/* Former names of modules, which saved functions and programs may contain. */
static const struct {
	const char *before, *now;
} former_names[] = {
	{"bends", "kinks"},
	{"breaks", "breakpoints"},
	{"compare", "compare_solutions"},
	{"corners", "corner_layers"},
	{"descent", "line_search"},
	{"direct", "steady"},
	{"estimates", "error_estimates"},
	{"fluxes", "jump_fluxes"},
	{"fv_ends", "fv_boundaries"},
	{"fv_march", "fv_time_loop"},
	{"lines", "method_of_lines"},
	{"mesher", "mesh_generation"},
	{"ode_replay", "ode_reverse"},
	{"ode_stiff", "ode_rosenbrock"},
	{"operators", "operator_learning"},
	{"problems", "problem_table"},
	{"residuals", "least_squares"},
	{"scales", "nondimensional"},
	{"spikes", "narrow_peaks"},
	{"spots", "between_points"},
	{"starts", "initial_values"},
	{"systems", "ode_problems"},
	{"trust", "trust_region"},
};

static Module *library_named(Session *s, const char *name) {
	for (size_t i = 0; i < sizeof former_names / sizeof *former_names; i++)
		if (!strcmp(former_names[i].before, name)) name = former_names[i].now;
	for (uint32_t k = 0; library_texts[k].name; k++)
		if (!strcmp(library_texts[k].name, name)) return load_library(s, k);
	return NULL;
}

Module *session_library_module(Session *s, const char *name) { return library_named(s, name); }

Value session_library(Session *s, Atom name) {
	for (const LibraryExport *e = first_export(s, name); e; e = find_export(s, name, e->next)) {
		Global *g = own_global(load_library(s, e->library), name);
		if (g) return g->value;
	}
	return (Value){.kind = V_UNSET};
}

Value session_lookup(Session *s, Module *from, Atom name) {
	Global *g = own_global(from, name);
	if (g) return g->value;
	for (uint32_t i = from->used.n; i-- > 0;) {
		g = own_global(from->used.at[i], name);
		if (g && atom_text(s->c, name)[0] != '_') return g->value;
	}
	/* The library's own names, shared among its modules. */
	bool private_name = atom_text(s->c, name)[0] == '_';
	if (from->library || !private_name) {
		Value v = session_library(s, name);
		if (v.kind != V_UNSET) return v;
	}
	/* Values that the host program gave the library under a private name. */
	if (from->library && private_name && (g = own_global(s->given, name))) return g->value;
	return (Value){.kind = V_UNSET};
}

Module *session_module_named(Session *s, Module *from, Atom name) {
	for (uint32_t i = 0; i < from->used_names.n; i++)
		if (from->used_names.at[i] == name) return from->used.at[i];
	(void)s;
	return NULL;
}

static void read_file(Session *s, const Ast *e, const char *path, char **text, size_t *n) {
	if (!ctx_granted(s->c, GRANT_FILES)) {
		diag_error(s->c, E_DENIED, e->span, "reading the file %s is not granted here", path);
		ctx_throw(s->c, ST_DENIED);
	}
	const char *full =
		path[0] == '/' || !s->folder ? path : arena_printf(s->a, "%s/%s", s->folder, path);
	FILE *f = fopen(full, "rb");
	if (!f) {
		diag_error(s->c, E_MODULE, e->span, "cannot read the module %s", path);
		ctx_throw(s->c, ST_ERROR);
	}
	size_t cap = 4096;
	*n = 0;
	*text = arena_alloc(s->a, cap);
	for (;;) {
		size_t got = fread(*text + *n, 1, cap - *n, f);
		*n += got;
		if (got == 0) break;
		if (*n == cap) {
			char *more = arena_alloc(s->a, cap * 2);
			memcpy(more, *text, cap);
			*text = more;
			cap *= 2;
		}
	}
	bool bad = ferror(f) != 0;
	fclose(f);
	if (bad) {
		diag_error(s->c, E_MODULE, e->span, "cannot read the module %s", path);
		ctx_throw(s->c, ST_ERROR);
	}
}

void session_use(Session *s, Module *m, const Ast *e) {
	Module *found = NULL;
	Atom name = e->use.alias ? e->use.alias : e->use.module;
	if (e->use.path) {
		for (Module *x = s->modules; x; x = x->next)
			if (!x->library && x != s->main && !strcmp(source_name(s->c, x->source), e->use.path))
				found = x;
		if (!found) {
			char *text;
			size_t n;
			read_file(s, e, e->use.path, &text, &n);
			SourceId source = source_add(s->c, e->use.path, text, n);
			found = module_new(s, name, source, false);
			Status st = load_module(s, found);
			if (st != ST_OK) ctx_throw(s->c, st);
		}
	} else {
		found = library_named(s, atom_text(s->c, e->use.module));
		if (!found) {
			size_t n = 0;
			while (library_texts[n].name) n++;
			const char **names = ARENA_ARRAY(ctx_arena(s->c), const char *, n);
			for (size_t i = 0; i < n; i++) names[i] = library_texts[i].name;
			const char *best = diag_nearest(atom_text(s->c, e->use.module), names, n);
			Diag *d = diag_error(s->c, E_MODULE, e->span, "no module `%s`%s%s%s",
			                     atom_text(s->c, e->use.module), best ? "; did you mean `" : "",
			                     best ? best : "", best ? "`?" : "");
			diag_hint(s->c, d, "write use \"%s.dsl\" for a file of your own",
			          atom_text(s->c, e->use.module));
			ctx_throw(s->c, ST_ERROR);
		}
	}
	for (uint32_t i = 0; i < m->used_names.n; i++)
		if (m->used_names.at[i] == name) {
			m->used.at[i] = found;
			return;
		}
	VEC_PUSH(s->a, &m->used_names, name);
	VEC_PUSH(s->a, &m->used, found);
}

/* ---- running a statement ------------------------------------------------- */

typedef struct StatementRun {
	Session *s;
	Module *m;
	const Ast *e;
	Arena *a;
	Builder *b;
	Sp sp;
	Av *value;
	VEC(Binding) assigned;
	Fn *fn;
} StatementRun;

Sp session_top(Session *s, Module *m, Arena *a, Builder *b) {
	Sp sp = {.c = s->c, .session = s, .a = a, .b = b, .module = m};
	sp.env = env_new(&sp, NULL);
	int64_t two = 2;
	Tensor *state = tensor_new(s->c, DT_I64, 1, &two);
	if (!state) ctx_throw(s->c, ST_NOMEM);
	((int64_t *)(void *)state->data)[0] = s->random_key;
	((int64_t *)(void *)state->data)[1] = s->random_counter;
	env_set(&sp, sp.env, s->hidden.rng, av_array(&sp, sp_const(&sp, value_tensor(state))));
	TypeId token = type_token(s->c);
	env_set(&sp, sp.env, s->hidden.io,
	        av_array(&sp, build_typed(b, OP_START, 0, NULL, 0, 1, &token, NULL)));
	return sp;
}

static void specialise_statement(Ctx *c, void *arg) {
	StatementRun *st = arg;
	Session *s = st->s;
	(void)c;
	st->sp = session_top(s, st->m, st->a, st->b);
	st->sp.underived = true;
	st->sp.statement = st->e;
	Sp *sp = &st->sp;
	/* A loop carries the module's variables like any others. */
	Atom *names;
	uint32_t nnames;
	ast_assigned(sp, st->e, &names, &nnames);
	for (uint32_t i = 0; i < nnames; i++) {
		Value g = session_own_global(st->m, names[i]);
		if (g.kind != V_UNSET && !env_find(sp->env, names[i]))
			env_set(sp, sp->env, names[i], av_of_value(sp, g));
	}
	st->value = sp_expr(sp, st->e);
	VEC(Ref) results = {0};
	uint32_t n = av_count_leaves(st->value), k = 0;
	VEC_RESERVE(st->a, &results, n + 1);
	av_leaves(st->value, results.at, &k);
	results.n = k;
	for (uint32_t i = 0; i < sp->env->vars.n; i++) {
		Binding b = sp->env->vars.at[i];
		const Hidden *h = &s->hidden;
		if (b.name == h->io || b.name == h->rng || b.name == h->brk || b.name == h->cont ||
		    b.name == h->ret || b.name == h->retval || b.name == h->dead)
			continue;
		if (b.value->kind == AV_UNSET) continue;
		VEC_PUSH(st->a, &st->assigned, b);
		n = av_count_leaves(b.value);
		VEC_RESERVE(st->a, &results, results.n + n + 1);
		av_leaves(b.value, results.at, &results.n);
	}
	VEC_PUSH(st->a, &results, env_find(sp->env, s->hidden.rng)->ref);
	VEC_PUSH(st->a, &results, env_find(sp->env, s->hidden.io)->ref);
	/* Reserve space for new names now: after the statement has run, nothing may
	 * fail. */
	VEC_RESERVE(s->a, &st->m->globals, st->m->globals.n + st->assigned.n);
	Fn *plain = build_end(st->b, results.n, results.at);
	st->b = NULL;
	st->fn = ir_services(sp->c)->optimise(sp->c, plain);
}

/* Specialises, runs, and binds. Throws on failure with nothing bound. */
static Value run_statement(Session *s, Module *m, const Ast *e) {
	Ctx *c = s->c;
	StatementRun st = {.s = s, .m = m, .e = e, .a = arena_new(c)};
	st.b = build_begin(c, 0, span_intern(c, e->span), NULL);
	Builder *b = st.b;
	Status status = ctx_protect(c, specialise_statement, &st);
	Value *results = NULL;
	uint32_t n = 0;
	if (status != ST_OK) {
		if (st.b) build_abandon(b);
		goto out;
	}
	n = fn_nresults(st.fn);
	results = heap_alloc(c, sizeof(Value) * (n ? n : 1));
	if (!results) {
		status = ST_NOMEM;
		goto out;
	}
	for (uint32_t i = 0; i < n; i++) results[i].kind = V_UNSET;
	status = ir_services(c)->run(c, st.fn, NULL, results);
	Value value = value_none();
	if (status == ST_OK) {
		uint32_t k = 0;
		value = av_to_value(c, st.value, results, &k);
		Value *made = heap_alloc(c, sizeof(Value) * (st.assigned.n + 1));
		bool ok = made != NULL && value.kind != V_UNSET;
		uint32_t done = 0;
		for (; made && done < st.assigned.n; done++) {
			made[done] = av_to_value(c, st.assigned.at[done].value, results, &k);
			ok &= made[done].kind != V_UNSET;
		}
		if (ok) {
			for (uint32_t i = 0; i < st.assigned.n; i++)
				set_global(s, m, st.assigned.at[i].name, made[i], e->span);
			const Value *rng = &results[n - 2];
			if (rng->kind == V_TENSOR) {
				s->random_key = (int64_t)tensor_get(rng->tensor, (int64_t[]){0});
				s->random_counter = ((int64_t *)(void *)rng->tensor->data)[rng->tensor->stride[0]];
				s->random_key = ((int64_t *)(void *)rng->tensor->data)[0];
			}
		} else status = ST_NOMEM;
		for (uint32_t i = 0; i < done; i++) value_unref(made[i]);
		if (made) heap_free(c, made, sizeof(Value) * (st.assigned.n + 1));
	}
	for (uint32_t i = 0; i < n; i++) value_unref(results[i]);
	heap_free(c, results, sizeof(Value) * (n ? n : 1));
	fn_unref(st.fn);
	arena_free(st.a);
	if (status != ST_OK) {
		value_unref(value);
		ctx_throw(c, status);
	}
	return value;
out:
	if (st.fn) fn_unref(st.fn);
	arena_free(st.a);
	ctx_throw(c, status);
}

/* A definition needs no run: it is a function value with the data it
 * mentions. */
static Value define_function(Session *s, Module *m, const Ast *e) {
	Ctx *c = s->c;
	VEC_RESERVE(s->a, &m->globals, m->globals.n + 1);
	Arena *a = arena_new(c);
	Sp sp = {.c = c, .session = s, .a = a};
	Atom *names;
	uint32_t n, k = 0;
	ast_free_names(&sp, e, &names, &n);
	Value *items = ARENA_ARRAY(a, Value, n + 1);
	Atom own = e->kind == A_PROBLEM ? e->problem->name : e->function.name;
	for (uint32_t i = 0; i < n; i++) {
		if (names[i] == own) continue;
		Value g = session_own_global(m, names[i]);
		if (g.kind == V_UNSET || g.kind == V_FUNCTION || g.kind == V_PROBLEM) continue;
		names[k] = names[i];
		items[k++] = g;
	}
	Value v = value_function(c, e->kind == A_PROBLEM ? V_PROBLEM : V_FUNCTION, CODE_AST, e->id, e,
	                         own, k, names, items);
	arena_free(a);
	if (v.kind == V_UNSET) ctx_throw(c, ST_NOMEM);
	/* A derivative rule belongs to the function defined before it, not to the
	 * name. */
	for (uint32_t i = 0; i < s->rules.n && !m->library; i++)
		if (s->rules.at[i].name == own && s->rules.at[i].module == m)
			s->rules.at[i] = s->rules.at[--s->rules.n];
	set_global(s, m, own, v, e->span);
	return v;
}

/* Tests an expression: does it call something with a string, such as
 * mesh("part.msh"), and does it name a parameter of the problem? */
typedef struct RegionInputs {
	const Ast *problem;
	bool text, parameter;
} RegionInputs;

static void reads_visit(void *ud, const Ast *e) {
	RegionInputs *r = ud;
	for (uint32_t i = 0; e->kind == A_CALL && i < e->call.n; i++)
		r->text |= !e->call.args[i].name && e->call.args[i].value->kind == A_STRING;
	for (uint32_t i = 0; e->kind == A_NAME && i < r->problem->problem->nparams; i++)
		r->parameter |= r->problem->problem->params[i].name == e->name.name;
	ast_children(e, reads_visit, r);
}

/* Reads a region from a file when the problem is defined, and stores it under a
 * name that no program can have. The contents of a file are static only from
 * the next statement on, but the region is needed within a statement. */
static void read_region(Session *s, Module *m, const Ast *e) {
	for (uint32_t i = 0; i < e->problem->ndomains; i++) {
		Ast *region =
			e->problem->domains[i].kind == DOMAIN_REGION ? e->problem->domains[i].region : NULL;
		RegionInputs r = {.problem = e};
		if (region) reads_visit(&r, region);
		if (!r.text || r.parameter) continue;
		Ast *value = ARENA_NEW(s->a, Ast);
		*value = *region;
		set_global(
			s, m, atom(s->c, arena_printf(s->a, "region of %s", atom_text(s->c, e->problem->name))),
			run_statement(s, m, value), region->span);
		region->kind = A_NAME;
		region->name.name =
			atom(s->c, arena_printf(s->a, "region of %s", atom_text(s->c, e->problem->name)));
	}
}

/* A rule of the user needs a function of the same module, defined before it. */
static void check_rule(Session *s, Module *m, const Ast *e) {
	Ctx *c = s->c;
	const char *name = atom_text(c, e->derivative.name);
	Value g = session_own_global(m, e->derivative.name);
	const FunctionObject *f = g.kind == V_FUNCTION ? (const FunctionObject *)g.object : NULL;
	const Ast *fn = f && f->code_kind == CODE_AST ? f->code : NULL;
	if (f && f->code_kind == CODE_HOST && m == s->main) {
		const uint32_t n = ((const HostDef *)f->code)->nargs;
		if (n != e->derivative.nparams) {
			diag_error(c, E_RULE, e->derivative.name_span,
			           "the host function `%s` has %u parameter%s, its rule %u", name, n,
			           n == 1 ? "" : "s", e->derivative.nparams);
			ctx_throw(c, ST_ERROR);
		}
		return;
	}
	if (!fn || fn->kind != A_DEF) {
		Value other = session_lookup(s, m, e->derivative.name);
		if (g.kind == V_UNSET && (other.kind != V_UNSET || builtin_find(name)))
			diag_error(c, E_RULE, e->derivative.name_span,
			           "`%s` is not a function of this program: it has its derivative", name);
		else if (g.kind == V_UNSET) {
			const char **names = ARENA_ARRAY(s->a, const char *, m->globals.n + 1);
			for (uint32_t i = 0; i < m->globals.n; i++)
				names[i] = m->globals.at[i].value.kind == V_FUNCTION
				               ? atom_text(c, m->globals.at[i].name)
				               : NULL;
			const char *best = diag_nearest(name, names, m->globals.n);
			Diag *d =
				diag_error(c, E_RULE, e->derivative.name_span,
			               "no function `%s` to give a derivative to%s%s%s", name,
			               best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
			diag_hint(c, d, "a rule stands below its function");
		} else {
			Diag *d = diag_error(c, E_RULE, e->derivative.name_span,
			                     "`%s` is not a function defined by an equation", name);
			diag_hint(c, d, "write %s(x) = ... for it", name);
		}
		ctx_throw(c, ST_ERROR);
	}
	if (fn->function.nparams != e->derivative.nparams) {
		Diag *d = diag_error(c, E_RULE, e->derivative.name_span,
		                     "`%s` has %u parameter%s, its rule %u", name, fn->function.nparams,
		                     fn->function.nparams == 1 ? "" : "s", e->derivative.nparams);
		diag_second(c, d, fn->span, "`%s` is defined here", name);
		ctx_throw(c, ST_ERROR);
	}
}

void session_define_rule(Session *s, Module *m, const Ast *e) {
	RuleDef r = {e->derivative.name, e, m};
	for (uint32_t i = 0; i < s->rules.n; i++)
		if (s->rules.at[i].name == r.name && s->rules.at[i].module == m) {
			s->rules.at[i] = r;
			forget_specialisations(s);
			return;
		}
	VEC_PUSH(s->a, &s->rules, r);
	if (!m->library) forget_specialisations(s);
}

static void run_statements(Session *s, Module *m, const Program *p, ResultSink show, void *ud,
                           Value *last) {
	for (uint32_t i = 0; i < p->n; i++) {
		const Ast *e = p->items[i];
		Value v = value_none();
		bool shows = false;
		switch ((AstKind)e->kind) {
		case A_USE: session_use(s, m, e); break;
		case A_DERIVATIVE:
			if (!m->library) check_rule(s, m, e);
			session_define_rule(s, m, e);
			break;
		case A_DEF: value_unref(define_function(s, m, e)); break;
		case A_PROBLEM:
			session_check_problem(s, m, NULL, e);
			read_region(s, m, e);
			value_unref(define_function(s, m, e));
			break;
		case A_ASSIGN:
		case A_INDEX_DEF: value_unref(run_statement(s, m, e)); break;
		default: v = run_statement(s, m, e); shows = !e->hidden;
		}
		if (shows && show && v.kind != V_NONE) show(ud, v, e);
		if (m == s->main)
			VEC_PUSH(s->a, &s->done,
			         ((StatementDone){e->span.start, e->span.end, shows && v.kind != V_NONE}));
		if (last) {
			value_unref(*last);
			*last = value_ref(v);
		}
		value_unref(v);
	}
}

typedef struct ProgramRun {
	Session *s;
	const char *name, *text;
	size_t n;
	ResultSink show;
	void *ud;
	Value *last;
} ProgramRun;

static void run_text(Ctx *c, void *arg) {
	ProgramRun *r = arg;
	SourceId source = source_add(c, r->name, r->text, r->n);
	bool ok;
	Program p = parse_program(c, r->s->a, source, &ok);
	if (!ok) ctx_throw(c, ST_ERROR);
	run_statements(r->s, r->s->main, &p, r->show, r->ud, r->last);
}

Status session_run(Session *s, const char *name, const char *text, size_t n, ResultSink show,
                   void *ud, Value *last) {
	ProgramRun r = {
		.s = s, .name = name, .text = text, .n = n, .show = show, .ud = ud, .last = last};
	if (last) *last = value_none();
	s->done.n = 0;
	uint32_t mark = build_mark(s->c);
	Status st = ctx_protect(s->c, run_text, &r);
	if (st != ST_OK) {
		if (st == ST_NOMEM && !diag_count(s->c, SEV_ERROR))
			diag_error(s->c, E_MEMORY, NO_SPAN, "out of memory");
		build_unwind(s->c, mark);
		session_start_anew(s);
	}
	return st;
}

uint32_t session_done(const Session *s, const StatementDone **at) {
	*at = s->done.at;
	return s->done.n;
}

/* ---- calls by the host --------------------------------------------------- */

typedef struct FunctionCall {
	Session *s;
	Value f;
	uint32_t n;
	const Value *args;
	SpanId span;
	Arena *a;
	Builder *b;
	Specialisation spec;
	Value *leaf; /* borrowed from constants of b */
	uint32_t nleaf;
} FunctionCall;

static void specialise_call(Ctx *c, void *arg) {
	FunctionCall *k = arg;
	Sp top = session_top(k->s, k->s->main, k->a, k->b), *sp = &top;
	Span span = span_of(c, k->span);
	Av *f = av_of_value(sp, k->f);
	Av **args = ARENA_ARRAY(k->a, Av *, k->n + 1);
	Span *spans = ARENA_ARRAY(k->a, Span, k->n + 1);
	for (uint32_t i = 0; i < k->n; i++) {
		args[i] = av_of_value(sp, k->args[i]);
		spans[i] = span;
	}
	CallArguments call = {
		.span = span, .callee_span = span, .n = k->n, .args = args, .spans = spans};
	if (f->kind == AV_PROBLEM) {
		Av *p = sp_call(sp, f, &call);
		(void)p;
	}
	if (f->kind != AV_FUNCTION)
		sp_fail(sp, E_NOT_CALLABLE, span, "this is %s, not a function", av_kind_text(f));
	k->spec = sp_specialise(sp, f, &call);
	fn_ref(k->spec.fn);
	k->leaf = ARENA_ARRAY(k->a, Value, k->spec.nargs + 2);
	for (uint32_t i = 0; i < k->spec.nargs; i++)
		k->leaf[k->nleaf++] = ref_constant(build_fn(k->b), k->spec.args[i])->value;
}

static Status call_values(Session *s, Value f, uint32_t n, const Value *args, Value *random_state,
                          Value *result, SpanId span) {
	Ctx *c = s->c;
	FunctionCall k = {.s = s, .f = f, .n = n, .args = args, .span = span};
	result->kind = V_UNSET;
	uint32_t mark = build_mark(c);
	k.a = arena_new(c);
	k.b = build_begin(c, atom(c, "call"), span, NULL);
	Status st = ctx_protect(c, specialise_call, &k);
	if (st == ST_OK) {
		uint32_t nres = fn_nresults(k.spec.fn), used = 0;
		Value *results = heap_alloc(c, sizeof(Value) * (nres + 1));
		Value token = {.kind = V_TOKEN};
		if (k.spec.effects) {
			k.leaf[k.nleaf++] = *random_state;
			k.leaf[k.nleaf++] = token;
		}
		if (!results) st = ST_NOMEM;
		else {
			for (uint32_t i = 0; i < nres; i++) results[i].kind = V_UNSET;
			st = ir_services(c)->run(c, k.spec.fn, k.leaf, results);
			if (st == ST_OK) {
				*result = av_to_value(c, k.spec.result, results, &used);
				if (result->kind == V_UNSET) st = ST_NOMEM;
				if (k.spec.effects) {
					value_unref(*random_state);
					*random_state = value_ref(results[nres - 2]);
				}
			}
			for (uint32_t i = 0; i < nres; i++) value_unref(results[i]);
			heap_free(c, results, sizeof(Value) * (nres + 1));
		}
		fn_unref(k.spec.fn);
		build_abandon(k.b);
	} else build_unwind(c, mark);
	arena_free(k.a);
	return st;
}

typedef struct DynamicCall {
	Session *s;
	Value f;
	uint32_t n;
	const Value *args;
	Value *random_state, *result;
	SpanId span;
	Status st;
} DynamicCall;

static void boxed_call(Ctx *c, void *arg) {
	DynamicCall *k = arg;
	(void)c;
	k->st = call_values(k->s, k->f, k->n, k->args, k->random_state, k->result, k->span);
}

static Status call_dynamic(Ctx *c, Value f, uint32_t n, const Value *args, Value *random_state,
                           Value *result, SpanId span) {
	DynamicCall k = {session_of(c), f, n, args, random_state, result, span, ST_OK};
	if (f.kind == V_FUNCTION) {
		const FunctionObject *fo = (const FunctionObject *)f.object;
		const Builtin *b = fo->code_kind == CODE_BUILTIN ? fo->code : NULL;
		result->kind = V_UNSET;
		if (b && b->quick && b->quick(c, fo, n, args, result))
			return result->kind == V_UNSET ? ST_NOMEM : ST_OK;
		if (b && b->native) {
			result->kind = V_UNSET;
			Status st = b->native(b->native_ud, c, n, args, result);
			if (st == ST_OK && result->kind == V_UNSET) *result = value_none();
			/* The message of a native function of ours, which has no
			 * location. */
			if (st == ST_ERROR && result->kind == V_STRING) {
				diag_error(c, E_VALUE, span_of(c, span), "%s",
				           ((const StringObject *)result->object)->text);
				value_unref(*result);
				result->kind = V_UNSET;
			}
			return st;
		}
	}
	Status st = ctx_protect(c, boxed_call, &k);
	return st != ST_OK ? st : k.st;
}

Status session_call(Session *s, Value f, uint32_t n, const Value *args, Value *result,
                    SpanId span) {
	int64_t two = 2;
	Tensor *state = tensor_new(s->c, DT_I64, 1, &two);
	if (!state) return ST_NOMEM;
	((int64_t *)(void *)state->data)[0] = s->random_key;
	((int64_t *)(void *)state->data)[1] = s->random_counter;
	Value rng = value_tensor(state);
	Status st = call_dynamic(s->c, f, n, args, &rng, result, span);
	if (st == ST_OK && rng.kind == V_TENSOR) {
		s->random_key = ((int64_t *)(void *)rng.tensor->data)[0];
		s->random_counter = ((int64_t *)(void *)rng.tensor->data)[rng.tensor->stride[0]];
	}
	value_unref(rng);
	return st;
}

typedef struct TypedCall {
	Session *s;
	Value f;
	uint32_t n;
	const TypeId *types;
	Arena *a;
	Builder *b;
	Fn *fn;
	Text *described; /* NULL: not requested */
} TypedCall;

static void describe_parts(const TypedCall *k, const Av *v, uint32_t *leaf);

/* Describes a value in the form of value_type_print. The types of its arrays
 * are those of the finished function's results, which are in the order of the
 * leaves. */
static void describe(const TypedCall *k, const Av *v, uint32_t *leaf) {
	Ctx *c = k->s->c;
	char buf[300];
	switch ((AvKind)v->kind) {
	case AV_ARRAY:
		type_print(c, ref_type(k->fn, fn_result(k->fn, (*leaf)++)), NULL, NULL, buf, sizeof buf);
		text_str(k->described, buf);
		return;
	case AV_DYN:
		(*leaf)++;
		text_str(k->described, "any");
		return;
	case AV_TUPLE:
	case AV_RECORD:
	case AV_LIST: describe_parts(k, v, leaf); return;
	case AV_STRING: text_str(k->described, "string"); break;
	case AV_RANGE: text_str(k->described, "range"); break;
	case AV_FUNCTION: text_str(k->described, "function"); break;
	case AV_PROBLEM: text_str(k->described, "problem"); break;
	case AV_UNSET:
	case AV_NONE: text_str(k->described, "none"); break;
	}
	*leaf += av_count_leaves(v);
}

static void describe_parts(const TypedCall *k, const Av *v, uint32_t *leaf) {
	text_str(k->described, v->kind == AV_RECORD  ? "record ("
	                       : v->kind == AV_TUPLE ? "tuple ("
	                                             : "list (");
	for (uint32_t i = 0; i < v->n; i++) {
		if (i) text_str(k->described, ", ");
		if (v->kind == AV_RECORD)
			text_format(k->described, "%s: ", atom_text(k->s->c, v->names[i]));
		describe(k, v->items[i], leaf);
	}
	text_str(k->described, ")");
}

static void specialise_typed(Ctx *c, void *arg) {
	TypedCall *k = arg;
	Sp sp = {.c = c, .session = k->s, .a = k->a, .b = k->b, .module = k->s->main};
	FunctionFrame frame = {.b = k->b, .fixed = true};
	sp.frame = &frame;
	sp.env = env_new(&sp, NULL);
	Av **args = ARENA_ARRAY(k->a, Av *, k->n + 1);
	Span *spans = ARENA_ARRAY(k->a, Span, k->n + 1);
	Dim *map = ARENA_ARRAY(k->a, Dim, 64);
	for (uint32_t i = 0; i < 64; i++) map[i] = UINT32_MAX;
	for (uint32_t i = 0; i < k->n; i++) {
		Type t = *type_of(c, k->types[i]);
		for (uint32_t d = 0; t.kind == TY_TENSOR && d < t.rank; d++) {
			SymId s;
			if (dim_is_sym(c, t.dims[d], &s) && s < 64 && map[s] == UINT32_MAX)
				map[s] = build_fresh_dim(k->b, 0, 0);
		}
		Ref r = build_param(k->b, type_subst(c, k->types[i], map, 64), 0);
		args[i] = t.kind == TY_TENSOR ? av_array(&sp, r) : av_dyn(&sp, r);
	}
	Av *f = av_of_value(&sp, k->f);
	CallArguments call = {.n = k->n, .args = args, .spans = spans};
	Av *v = sp_call(&sp, f, &call);
	uint32_t n = av_count_leaves(v), m = 0;
	Ref *results = ARENA_ARRAY(k->a, Ref, n + 1);
	av_leaves(v, results, &m);
	Fn *plain = build_end(k->b, n, results);
	k->b = NULL;
	k->fn = ir_services(c)->optimise(c, plain);
	uint32_t leaf = 0;
	if (k->described) describe(k, v, &leaf);
}

static Status specialise(TypedCall *k, Fn **out) {
	Ctx *c = k->s->c;
	*out = NULL;
	uint32_t mark = build_mark(c);
	k->a = arena_new(c);
	const FunctionObject *fo = k->f.kind == V_FUNCTION ? (const FunctionObject *)k->f.object : NULL;
	k->b = build_begin(c, fo ? fo->name : 0, 0, NULL);
	Status st = ctx_protect(c, specialise_typed, k);
	if (st != ST_OK) build_unwind(c, mark);
	else *out = k->fn;
	arena_free(k->a);
	return st;
}

Status session_specialise(Session *s, Value f, uint32_t n, const TypeId *types, Fn **out) {
	return specialise(&(TypedCall){.s = s, .f = f, .n = n, .types = types}, out);
}

Status session_specialise_described(Session *s, Value f, Fn **out, Text *text) {
	return specialise(&(TypedCall){.s = s, .f = f, .described = text}, out);
}

/* ---- names from the host ------------------------------------------------- */

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
			if (f.kind != V_UNSET) set_global(g->s, g->s->given, name, f, NO_SPAN);
			value_unref(f);
			g->v = session_own_global(g->s->given, name);
		}
	}
}

Value session_get(Session *s, const char *name) {
	struct get g = {s, name, {.kind = V_UNSET}};
	if (ctx_protect(s->c, get_protected, &g) != ST_OK) return (Value){.kind = V_UNSET};
	return g.v;
}

struct set {
	Session *s;
	const char *name;
	Value v;
};

static void set_protected(Ctx *c, void *arg) {
	struct set *g = arg;
	set_global(g->s, g->s->main, atom(c, g->name), g->v, NO_SPAN);
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
	set_global(s, n->name[0] == '_' ? s->given : s->main, name, v, NO_SPAN);
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

struct each {
	void (*visit)(void *ud, const char *name, Value v);
	void *ud;
};

static void each_builtin(void *ud, const Builtin *b) {
	struct each *e = ud;
	if (b->doc && b->name[0] != '_') e->visit(e->ud, b->name, (Value){.kind = V_FUNCTION});
}

bool session_in_library(Session *s, Atom name) {
	return first_export(s, name) && atom_text(s->c, name)[0] != '_';
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
		const Module *m = s->main->used.at[i];
		for (uint32_t k = 0; k < m->globals.n; k++) {
			const char *name = atom_text(s->c, m->globals.at[k].name);
			if (name[0] != '_' && m->globals.at[k].value.kind != V_UNSET)
				visit(ud, name, m->globals.at[k].value);
		}
		return;
	}
}

/* ---- derivative rules of primitives -------------------------------------- */

typedef struct RuleJob {
	Session *s;
	Op op;
	Dtype dtype;
	const RuleDef *def;
	Arena *a;
	Builder *b;
	Fn *fn;
} RuleJob;

static void specialise_rule(Ctx *c, void *arg) {
	RuleJob *j = arg;
	const Ast *e = j->def->e;
	Sp sp = {.c = c,
	         .session = j->s,
	         .a = j->a,
	         .b = j->b,
	         .module = j->def->module,
	         .session_inline_only = true};
	FunctionFrame frame = {.b = j->b};
	sp.frame = &frame;
	sp.env = env_new(&sp, NULL);
	uint32_t n = (uint32_t)prims[j->op].nargs;
	TypeId t = type_scalar(c, j->dtype);
	if (e->derivative.nparams != n)
		sp_fail(&sp, E_RULE, e->span, "`%s` takes %u argument%s, its rule %u", prims[j->op].name, n,
		        n == 1 ? "" : "s", e->derivative.nparams);
	Ref x[2], y;
	for (uint32_t i = 0; i < n; i++) {
		x[i] = build_param(j->b, t, e->derivative.params[i].name);
		env_set(&sp, sp.env, e->derivative.params[i].name, av_array(&sp, x[i]));
	}
	y = build_param(j->b, t, atom(c, "y"));
	env_set(&sp, sp.env, atom(c, "y"), av_array(&sp, y));
	static const Av self = {.kind = AV_FUNCTION};
	sp.self = (Av *)&self;
	Av *v = sp_expr(&sp, e->derivative.body);
	Ref results[2];
	if (n == 1) results[0] = sp_scalar(&sp, v, j->dtype, e->span, "a derivative");
	else {
		if (v->kind != AV_TUPLE || v->n != n)
			sp_fail(&sp, E_RULE, e->span, "the rule of `%s` needs %u partial derivatives",
			        prims[j->op].name, n);
		for (uint32_t i = 0; i < n; i++)
			results[i] = sp_scalar(&sp, v->items[i], j->dtype, e->span, "a partial derivative");
	}
	j->fn = build_end(j->b, n, results);
	j->b = NULL;
}

static Fn *elementwise_rule(Ctx *c, Op op, Dtype d) {
	Session *s = session_of(c);
	for (uint32_t i = 0; i < s->cached_rules.n; i++)
		if (s->cached_rules.at[i].op == op && s->cached_rules.at[i].dtype == d)
			return s->cached_rules.at[i].fn;
	Module *calculus = library_named(s, "calculus");
	Atom name = atom(c, prims[op].name);
	RuleJob j = {.s = s, .op = op, .dtype = d};
	for (uint32_t i = 0; i < s->rules.n; i++)
		if (s->rules.at[i].module == calculus && s->rules.at[i].name == name)
			j.def = &s->rules.at[i];
	if (!j.def) {
		diag_error(c, E_NO_RULE, NO_SPAN, "`%s` has no derivative", prims[op].name);
		return NULL;
	}
	RuleDef def = *j.def;
	j.def = &def;
	j.a = arena_new(c);
	j.b = build_begin(c, name, span_intern(c, def.e->span), NULL);
	Builder *b = j.b;
	Status st = ctx_protect(c, specialise_rule, &j);
	if (st != ST_OK && j.b) build_abandon(b);
	arena_free(j.a);
	if (st != ST_OK) ctx_throw(c, st);
	CachedRule r = {op, d, j.fn};
	VEC_PUSH(s->a, &s->cached_rules, r);
	return j.fn;
}

const Ast *session_rule_of(Session *s, Module *m, Atom name) {
	for (uint32_t i = 0; i < s->rules.n; i++)
		if (s->rules.at[i].name == name && s->rules.at[i].module == m) return s->rules.at[i].e;
	return NULL;
}

uint32_t session_rules_named(const Session *s, const char *name, const Ast **out, uint32_t cap) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->rules.n && n < cap; i++)
		if (!strcmp(atom_text(s->c, s->rules.at[i].name), name)) out[n++] = s->rules.at[i].e;
	return n;
}

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
	if (changed) forget_specialisations(s);
	for (uint32_t i = 0; i < k->nused; i++) {
		m->used_names.at[i] = k->used_names[i];
		m->used.at[i] = k->used[i];
	}
	m->used.n = m->used_names.n = k->nused;
}

/* ---- life cycle ---------------------------------------------------------- */

struct Ruled **session_ruled(Session *s) {
	return &s->ruled;
}
struct KeptIr **session_kept_ir(Session *s) {
	return &s->kept_ir;
}

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

static void session_free(Ctx *c, void *state) {
	Session *s = state;
	ruled_release(s->ruled);
	kept_ir_release(s->kept_ir);
	for (Module *m = s->modules; m; m = m->next)
		for (uint32_t i = 0; i < m->globals.n; i++) value_unref(m->globals.at[i].value);
	for (uint32_t i = 0; i < s->cached_rules.n; i++) fn_unref(s->cached_rules.at[i].fn);
	for (uint32_t i = 0; i < s->wholes.n; i++) {
		fn_unref(s->wholes.at[i].fn);
		fn_unref(s->wholes.at[i].from);
	}
	forget_specialisations(s);
	(void)c;
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
	s->main = module_new(s, atom(c, "main"), 0, false);
	s->given = module_new(s, atom(c, "given"), UINT32_MAX, true);
	ir_services(c)->function_out = session_function_out;
	ir_services(c)->function_in = session_function_in;
	ctx_set_slot(c, SLOT_PARSER, s, session_free);
	for (uint32_t k = 0; library_texts[k].name; k++) {
		index_library(s, k);
		VEC_PUSH(a, &s->loaded, NULL);
	}
	chain_exports(s);
	ir_services(c)->elementwise_rule = elementwise_rule;
	ir_services(c)->call_dynamic = call_dynamic;
}

Status session_init(Ctx *c) { return ctx_protect(c, init_protected, NULL); }
