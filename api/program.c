/* program.c - running, checking and inspecting programs, for tools.
 *
 * Needs: api.h, parser/session/session.h.
 *
 * Contract: visitors and sinks run with the context entered, so they cannot
 * enter it again.
 */
#include "api/api.h"
#include "backend/eval/core/code.h"
#include "lang/passes/rule_check.h"

/* ---- running ------------------------------------------------------------- */

typedef struct RunText {
	const char *text, *name;
	size_t n;
	atled_show show;
	void *ud;
	bool wants_value;
	atled_value *out;
	Ctx *c;
} RunText;

static void show_result(void *ud, Value v, const Ast *statement) {
	RunText *r = ud;
	uint32_t line = 0;
	Span end = statement->span;
	if (end.end > end.start) end.start = end.end - 1;
	source_position(r->c, end, &line, NULL);
	atled_value passing = value_passing(r->c, v);
	api_callback_begin(r->c);
	r->show(r->ud, &passing, line);
	api_callback_end(r->c);
}

static void run_body(Ctx *c, void *arg) {
	RunText *r = arg;
	r->c = c;
	Value last = value_none();
	Status st = session_run(api_of(c)->session, r->name ? r->name : "<text>", r->text, r->n,
	                        r->show ? show_result : NULL, r, r->wants_value ? &last : NULL);
	if (st != ST_OK) {
		value_unref(last);
		ctx_throw(c, st);
	}
	if (r->wants_value && !(r->out = value_handle(api_of(c), last))) ctx_throw(c, ST_NOMEM);
}

static atled_status run_text(atled_context *x, RunText *r, const char *call, const char *text,
                             size_t n, const char *name) {
	if (!text) return api_refuse(x, call, "text is NULL");
	r->text = text;
	r->n = api_length(text, n);
	r->name = name;
	return api_run(x, ENTER_ALONE, run_body, r);
}

atled_status atled_compile(atled_context *x, const char *text, size_t n, const char *name) {
	return run_text(x, &(RunText){0}, __func__, text, n, name);
}

atled_status atled_eval(atled_context *x, const char *text, size_t n, const char *name,
                        atled_value **out) {
	RunText r = {.wants_value = out != NULL};
	atled_status st = run_text(x, &r, __func__, text, n, name);
	if (out) *out = st == ATLED_OK ? r.out : NULL;
	return st;
}

atled_status atled_run(atled_context *x, const char *text, size_t n, const char *name,
                       atled_show show, void *ud) {
	return run_text(x, &(RunText){.show = show, .ud = ud}, __func__, text, n, name);
}

typedef struct Done {
	atled_statement_visit visit;
	void *ud;
} Done;

static void done_body(Ctx *c, void *arg) {
	const Done *d = arg;
	const StatementDone *at;
	const uint32_t n = session_done(api_of(c)->session, &at);
	for (uint32_t i = 0; i < n; i++) {
		api_callback_begin(c);
		d->visit(d->ud, at[i].start, at[i].end, at[i].shown);
		api_callback_end(c);
	}
}

atled_status atled_statements(atled_context *x, atled_statement_visit visit, void *ud) {
	API_WANT(x, visit, "visit is NULL");
	return api_run(x, ENTER_ALONE, done_body, &(Done){visit, ud});
}

static void check_body(Ctx *c, void *arg) {
	RunText *r = arg;
	api_want(c, session_check(api_of(c)->session, r->name ? r->name : "<text>", r->text, r->n));
}

atled_status atled_check(atled_context *x, const char *text, size_t n, const char *name) {
	API_WANT(x, text, "text is NULL");
	RunText r = {.text = text, .n = api_length(text, n), .name = name};
	return api_run(x, ENTER_ALONE, check_body, &r);
}

static void folder_body(Ctx *c, void *arg) { session_set_folder(api_of(c)->session, arg); }

atled_status atled_folder(atled_context *x, const char *path) {
	return api_run(x, ENTER_ALONE, folder_body, (void *)(uintptr_t)path);
}

static void seed_body(Ctx *c, void *arg) { session_seed(api_of(c)->session, *(int64_t *)arg); }

atled_status atled_seed(atled_context *x, int64_t seed) {
	return api_run(x, ENTER_ALONE, seed_body, &seed);
}

/* ---- source text --------------------------------------------------------- */

int atled_incomplete(const char *text, size_t n) {
	return text && parse_is_incomplete(text, api_length(text, n));
}

typedef struct Tokens {
	void (*visit)(void *ud, atled_token kind, size_t start, size_t end);
	void *ud;
} Tokens;

static void pass_token(void *ud, TokenClass cls, size_t start, size_t end) {
	static const atled_token of[] = {
		[TC_SPACE] = ATLED_TOKEN_SPACE,       [TC_COMMENT] = ATLED_TOKEN_COMMENT,
		[TC_NUMBER] = ATLED_TOKEN_NUMBER,     [TC_STRING] = ATLED_TOKEN_STRING,
		[TC_NAME] = ATLED_TOKEN_NAME,         [TC_KEYWORD] = ATLED_TOKEN_KEYWORD,
		[TC_OPERATOR] = ATLED_TOKEN_OPERATOR, [TC_BRACKET] = ATLED_TOKEN_BRACKET,
		[TC_ERROR] = ATLED_TOKEN_ERROR};
	Tokens *t = ud;
	t->visit(t->ud, of[cls], start, end);
}

void atled_tokens(const char *text, size_t n,
                  void (*visit)(void *ud, atled_token kind, size_t start, size_t end), void *ud) {
	if (text && visit) parse_tokens(text, api_length(text, n), pass_token, &(Tokens){visit, ud});
}

const char *atled_keyword(size_t i) {
	for (size_t k = 0; k <= i; k++)
		if (!parse_keywords[k]) return NULL;
	return parse_keywords[i];
}

/* ---- names --------------------------------------------------------------- */

typedef struct NameVisitor {
	Ctx *c;
	atled_name_visit visit;
	void *ud;
	const char *module;
} NameVisitor;

static void variables_body(Ctx *c, void *arg) {
	NameVisitor *k = arg;
	Module *m = session_main(api_of(c)->session);
	for (uint32_t i = 0; i < m->globals.n; i++) {
		const Global *g = &m->globals.at[i];
		if (g->value.kind == V_UNSET) continue;
		atled_value v = value_passing(c, g->value);
		api_callback_begin(c);
		k->visit(k->ud, atom_text(c, g->name), &v);
		api_callback_end(c);
	}
}

static void pass_name(void *ud, const char *name, Value v) {
	NameVisitor *k = ud;
	(void)v;
	const Module *m = session_main(api_of(k->c)->session);
	for (uint32_t i = 0; i < m->globals.n; i++) /* atled_variables visits the user's own */
		if (!strcmp(atom_text(k->c, m->globals.at[i].name), name)) return;
	api_callback_begin(k->c);
	k->visit(k->ud, name, NULL);
	api_callback_end(k->c);
}

static void library_body(Ctx *c, void *arg) {
	NameVisitor *k = arg;
	k->c = c;
	session_each_name(api_of(c)->session, pass_name, k);
}

atled_status atled_variables(atled_context *x, atled_name_visit visit, void *ud) {
	API_WANT(x, visit, "visit is NULL");
	return api_run(x, ENTER_ALONE, variables_body, &(NameVisitor){.visit = visit, .ud = ud});
}

atled_status atled_library_names(atled_context *x, atled_name_visit visit, void *ud) {
	API_WANT(x, visit, "visit is NULL");
	return api_run(x, ENTER_ALONE, library_body, &(NameVisitor){.visit = visit, .ud = ud});
}

static void pass_module(void *ud, const char *name, Value v) {
	NameVisitor *k = ud;
	(void)v;
	if (name[0] == '_') return;
	api_callback_begin(k->c);
	k->visit(k->ud, name, NULL);
	api_callback_end(k->c);
}

static void modules_body(Ctx *c, void *arg) {
	NameVisitor *k = arg;
	k->c = c;
	session_each_module(api_of(c)->session, pass_module, k);
}

static void module_body(Ctx *c, void *arg) {
	NameVisitor *k = arg;
	k->c = c;
	session_each_in_module(api_of(c)->session, k->module, pass_module, k);
}

atled_status atled_modules(atled_context *x, atled_name_visit visit, void *ud) {
	API_WANT(x, visit, "visit is NULL");
	return api_run(x, ENTER_ALONE, modules_body, &(NameVisitor){.visit = visit, .ud = ud});
}

atled_status atled_module_names(atled_context *x, const char *module, atled_name_visit visit,
                                void *ud) {
	API_WANT(x, module, "module is NULL");
	API_WANT(x, visit, "visit is NULL");
	return api_run(x, ENTER_ALONE, module_body,
	               &(NameVisitor){.visit = visit, .ud = ud, .module = module});
}

typedef struct Write {
	const char *name, *program;
	size_t n;
	bool source;
	Text text;
} Write;

static atled_status write_out(atled_context *x, const char *call, ApiBody body, Write *w,
                              atled_sink sink, void *ud) {
	if (!x) return ATLED_MISUSE;
	if (!sink) return api_refuse(x, call, "sink is NULL");
	text_init(&w->text, x->c);
	atled_status st = api_run(x, ENTER_ALONE, body, w);
	if (st == ATLED_OK && w->text.n) sink(ud, w->text.at, w->text.n);
	text_free(&w->text);
	return st;
}

static void want_text(Ctx *c, const Text *t) {
	if (t->failed) ctx_throw(c, ST_NOMEM);
}

static void format_body(Ctx *c, void *arg) {
	Write *w = arg;
	api_want(c, format_program(c, w->name ? w->name : "<text>", w->program, w->n, &w->text));
	want_text(c, &w->text);
}

atled_status atled_format(atled_context *x, const char *text, size_t n, const char *name,
                          atled_sink sink, void *ud) {
	API_WANT(x, text, "text is NULL");
	return write_out(x, __func__, format_body,
	                 &(Write){.program = text, .n = api_length(text, n), .name = name}, sink, ud);
}

static void help_body(Ctx *c, void *arg) {
	Write *w = arg;
	if (!session_help(api_of(c)->session, w->name, &w->text, w->source)) {
		if (!diag_count(c, SEV_ERROR)) diag_error(c, E_NAME, NO_SPAN, "no `%s`", w->name);
		ctx_throw(c, ST_ERROR);
	}
	want_text(c, &w->text);
}

atled_status atled_help(atled_context *x, const char *name, int source, atled_sink sink, void *ud) {
	API_WANT(x, name, "name is NULL");
	return write_out(x, __func__, help_body, &(Write){.name = name, .source = source != 0}, sink,
	                 ud);
}

static void signature_body(Ctx *c, void *arg) {
	Write *w = arg;
	if (!session_signature(api_of(c)->session, w->name, &w->text)) {
		if (!diag_count(c, SEV_ERROR)) diag_error(c, E_NAME, NO_SPAN, "no `%s`", w->name);
		ctx_throw(c, ST_ERROR);
	}
	want_text(c, &w->text);
}

atled_status atled_signature(atled_context *x, const char *name, atled_sink sink, void *ud) {
	API_WANT(x, name, "name is NULL");
	return write_out(x, __func__, signature_body, &(Write){.name = name}, sink, ud);
}

/* The expression becomes the body of a function without arguments, which is
 * specialised and described. */
static void type_body(Ctx *c, void *arg) {
	Write *w = arg;
	Session *s = api_of(c)->session;
	Arena *a = arena_new(c);
	char *text = arena_printf(a, "() -> (%.*s\n)", (int)w->n, w->name);
	Value f = value_none();
	Fn *fn = NULL;
	Status st = session_run(s, "<type>", text, strlen(text), NULL, NULL, &f);
	arena_free(a);
	if (st == ST_OK) st = session_specialise_described(s, f, &fn, &w->text);
	value_unref(f);
	api_want(c, st);
	int64_t syms[1];
	double cost = fn->syms.n ? -1 : ir_services(c)->cost(fn, syms, 0);
	if (cost >= 0) text_format(&w->text, "  %.0f scalar operation%s", cost, cost == 1 ? "" : "s");
	fn_unref(fn);
	want_text(c, &w->text);
}

atled_status atled_type(atled_context *x, const char *expression, size_t n, atled_sink sink,
                        void *ud) {
	API_WANT(x, expression, "expression is NULL");
	n = api_length(expression, n);
	API_WANT(x, n <= INT32_MAX, "expression has more than 2 GB");
	return write_out(x, __func__, type_body, &(Write){.name = expression, .n = n}, sink, ud);
}

/* ---- statistics ---------------------------------------------------------- */

static void stats_body(Ctx *c, void *arg) {
	const RunCounters *r = run_counters(c);
	atled_stat *s = arg;
	s->steps = ctx_steps(c);
	s->instructions = r->instructions;
	s->scalar_operations = r->scalar_operations;
	s->calls = r->calls;
	s->memory = heap_used(c);
	s->memory_peak = heap_peak(c);
	s->allocations = heap_allocation_count(c);
	s->native_calls = r->native_calls;
	s->native_units = r->units_compiled;
	backend_native_sources(c, &s->units_found, &s->units_compiled);
	s->units_pending = backend_native_pending(c);
	s->run_seconds = r->run_seconds;
	s->compile_seconds = r->compile_seconds;
}

atled_status atled_stats(atled_context *x, atled_stat *out) {
	API_WANT(x, out, "out is NULL");
	API_WANT(x, out->size >= sizeof out->size, "out->size is not set");
	atled_stat s = {0};
	atled_status st = api_run(x, ENTER_ALONE, stats_body, &s);
	s.size = out->size < sizeof s ? out->size : sizeof s;
	if (st == ATLED_OK) memcpy(out, &s, s.size);
	return st;
}

/* ---- machine code -------------------------------------------------------- */

static void machine_body(Ctx *c, void *arg) {
	const NativeMode mode = *(NativeMode *)arg;
	if (mode != NATIVE_OFF && api_of(c)->engine->policy.never)
		api_misuse(c, "atled_machine: the engine was created without machine code");
	backend_set_native(c, mode);
}

atled_status atled_machine(atled_context *x, atled_machine_mode mode) {
	API_WANT(x, (unsigned)mode <= ATLED_MACHINE_ALWAYS, "mode is none of atled_machine_mode");
	NativeMode m = mode == ATLED_MACHINE_NEVER    ? NATIVE_OFF
	               : mode == ATLED_MACHINE_ALWAYS ? NATIVE_ALWAYS
	                                              : NATIVE_ON;
	return api_run(x, ENTER_ALONE, machine_body, &m);
}

static void rules_body(Ctx *c, void *arg) { rule_check_set(c, *(RuleCheckMode *)arg); }

atled_status atled_check_rules(atled_context *x, atled_rule_check mode) {
	API_WANT(x, (unsigned)mode <= ATLED_RULES_FAIL, "mode is none of atled_rule_check");
	RuleCheckMode m = mode == ATLED_RULES_FAIL   ? RULES_FAIL
	                  : mode == ATLED_RULES_WARN ? RULES_WARN
	                                             : RULES_TRUSTED;
	return api_run(x, ENTER_ALONE, rules_body, &m);
}

static void profile_body(Ctx *c, void *arg) {
	(void)arg;
	if (!backend_profile(c)) ctx_throw(c, ST_NOMEM);
}

atled_status atled_profile(atled_context *x) { return api_run(x, ENTER_ALONE, profile_body, NULL); }

typedef struct ReadProfile {
	atled_profile_visit visit;
	void *ud;
} ReadProfile;

static void pass_figure(void *ud, const ProfileFigure *f) {
	const ReadProfile *r = ud;
	r->visit(r->ud, f->name, f->place, f->calls, f->seconds);
}

static void read_body(Ctx *c, void *arg) { backend_profile_read(c, pass_figure, arg); }

atled_status atled_profile_read(atled_context *x, atled_profile_visit visit, void *ud) {
	API_WANT(x, visit, "visit is NULL");
	return api_run(x, ENTER_ALONE, read_body, &(ReadProfile){visit, ud});
}

typedef struct Dump {
	atled_sink sink;
	void *ud;
} Dump;

static void dump_body(Ctx *c, void *arg) {
	const Dump *d = arg;
	backend_set_dump(c, d->sink, d->ud);
}

atled_status atled_dump(atled_context *x, const char *stage, atled_sink sink, void *ud) {
	API_WANT(x, stage && !strcmp(stage, "kir"), "stage is not \"kir\"");
	return api_run(x, ENTER_ALONE, dump_body, &(Dump){sink, ud});
}
