/* modules.c - modules and their global names: definition, lookup, `use`, and
 * the library's index.
 *
 * Needs: state.h, the embedded texts of the library.
 *
 * Contract:
 * - A name is searched in the module, in the modules that it uses, the last
 *   first, and then in the library.
 * - The index is made of the library's texts alone. A module of the library
 *   runs when one of its names is first used.
 * - A new binding of a name forgets the specialisations that may have looked it
 *   up.
 */
#include "parser/session/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- global names -------------------------------------------------------- */

static Global *own_global(Module *m, Atom name) {
	const uint32_t i = ATOM_MAP_FIND(&m->places, &m->globals, name);
	return i == ATOM_MAP_NONE ? NULL : &m->globals.at[i];
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

Module *session_module_of(Session *s, SourceId source) {
	for (Module *m = s->modules; m; m = m->next)
		if (m->source == source) return m;
	return s->main;
}

Module *session_new_module(Session *s, Atom name, SourceId source, bool library) {
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

bool session_in_library(Session *s, Atom name) {
	return first_export(s, name) && atom_text(s->c, name)[0] != '_';
}

void session_set_global(Session *s, Module *m, Atom name, Value v, Span span) {
	Global *g = own_global(m, name);
	if (!g) {
		Global fresh = {.name = name, .value = {.kind = V_UNSET}};
		VEC_PUSH(s->a, &m->globals, fresh);
		ATOM_MAP_COVER(s->a, &m->places, &m->globals);
		g = &m->globals.at[m->globals.n - 1];
	}
	bool was_code = g->value.kind == V_FUNCTION || g->value.kind == V_PROBLEM,
		 is_code = v.kind == V_FUNCTION || v.kind == V_PROBLEM;
	if (g->value.kind == V_UNSET) {
		/* A first definition can hide a library name that was looked up
		 * before. */
		if (!m->library && first_export(s, name)) session_forget_specialisations(s);
	} else if (was_code || is_code || g->baked) session_forget_specialisations(s);
	g->baked = false;
	value_unref(g->value);
	g->value = value_ref(v);
	source_hold(s->c, span.source);
	source_drop(s->c, g->span.source);
	g->span = span;
	ProgramRecord *last = s->programs.n ? &s->programs.at[s->programs.n - 1] : NULL;
	if (is_code && last && span.source == last->source) last->binds = true;
}

/* ---- the library --------------------------------------------------------- */

static void index_library(Session *s, uint32_t k) {
	for (const char *name = library_texts[k].names, *end; *name; name = end + 1) {
		end = strchr(name, '\n');
		LibraryExport e = {.name = atom_n(s->c, name, (size_t)(end - name)), .library = k};
		VEC_PUSH(s->a, &s->exports, e);
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

void session_index_library(Session *s) {
	for (uint32_t k = 0; library_texts[k].name; k++) {
		index_library(s, k);
		VEC_PUSH(s->a, &s->loaded, NULL);
	}
	chain_exports(s);
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
	session_run_statements(l->s, l->m, &p, NULL, NULL, NULL);
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
	LibraryText *lib = &library_texts[k];
	const char *text = library_text(lib);
	if (!text) ctx_throw(s->c, ST_NOMEM);
	SourceId source = source_add(s->c, arena_printf(s->a, "<%s>", lib->name), text, lib->size);
	source_set_library(s->c, source);
	Module *m = session_new_module(s, atom(s->c, lib->name), source, true);
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
	{"special", "special_gamma"},
	{"spikes", "narrow_peaks"},
	{"spots", "between_points"},
	{"starts", "initial_values"},
	{"systems", "ode_problems"},
	{"trust", "trust_region"},
};

Module *session_library_module(Session *s, const char *name) {
	for (size_t i = 0; i < sizeof former_names / sizeof *former_names; i++)
		if (!strcmp(former_names[i].before, name)) name = former_names[i].now;
	for (uint32_t k = 0; library_texts[k].name; k++)
		if (!strcmp(library_texts[k].name, name)) return load_library(s, k);
	return NULL;
}

/* ---- lookup and use ------------------------------------------------------ */

/* Modules that have definitions which saved functions and programs may look for
 * in another module. */
static const struct {
	const char *module, *part;
} module_parts[] = {
	{"fem", "fem_adapt"},
	{"fem", "fem_assembly"},
	{"fem", "fem_conditions"},
	{"fem", "fem_steady"},
	{"method_of_lines", "grid_elimination"},
	{"method_of_lines", "grid_jacobian"},
	{"method_of_lines", "grid_residual"},
	{"pinn", "pinn_ansatz"},
	{"pinn", "pinn_network"},
	{"pinn", "pinn_training"},
	{"quad", "gauss_kronrod"},
	{"quad", "oscillatory"},
	{"quad", "tanh_sinh"},
	{"special_gamma", "integers"},
	{"special_gamma", "special_bessel"},
	{"special_gamma", "special_hypergeometric"},
	{"special_gamma", "special_integrals"},
};

Module *session_module_part(Session *s, Module *m, uint32_t k) {
	if (!k) return m;
	for (size_t i = 0; m->library && i < sizeof module_parts / sizeof *module_parts; i++)
		if (!strcmp(module_parts[i].module, atom_text(s->c, m->name)) && !--k)
			return session_library_module(s, module_parts[i].part);
	return NULL;
}

Value session_module_get(Session *s, Module *m, Atom name) {
	uint32_t k = 0;
	for (Module *part = m; part; part = session_module_part(s, m, ++k)) {
		const Global *g = own_global(part, name);
		if (g) return g->value;
	}
	return (Value){.kind = V_UNSET};
}

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
	/* not blocked by a pipe without a writer */
	const int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AllBytes *b = &s->module_text; /* the session's, since a copy of it may throw */
	bytes_free(s->c, b);
	const Status st = fd < 0 ? ST_ERROR : read_all(s->c, fd, 4096, b);
	if (st == ST_ERROR)
		diag_error(s->c, E_MODULE, e->span, "cannot read the module %s: %s", path, strerror(errno));
	if (fd >= 0) close(fd);
	if (st != ST_OK) ctx_throw(s->c, st);
	*text = arena_alloc(s->a, b->n + 1);
	memcpy(*text, b->at, b->n);
	*n = b->n;
	bytes_free(s->c, b);
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
			found = session_new_module(s, name, source, false);
			Status st = load_module(s, found);
			if (st != ST_OK) ctx_throw(s->c, st);
		}
	} else {
		found = session_library_module(s, atom_text(s->c, e->use.module));
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
