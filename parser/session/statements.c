/* statements.c - the running of a text, statement by statement.
 *
 * Needs: state.h.
 *
 * Contract:
 * - A statement is one function: it is specialised as a whole and run, and only
 *   then do its names change.
 * - A definition runs nothing. It captures the data that it mentions.
 * - The first failure ends the text. The statements before it keep their
 *   effects.
 */
#include "parser/session/state.h"

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
				session_set_global(s, m, st.assigned.at[i].name, made[i], e->span);
			const Value *rng = &results[n - 2];
			if (rng->kind == V_TENSOR) {
				const int64_t *state = (const int64_t *)(const void *)rng->tensor->data;
				s->random_key = state[0];
				s->random_counter = state[rng->tensor->stride[0]];
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
	session_set_global(s, m, own, v, e->span);
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
		session_set_global(
			s, m, atom(s->c, arena_printf(s->a, "region of %s", atom_text(s->c, e->problem->name))),
			run_statement(s, m, value), region->span);
		region->kind = A_NAME;
		region->name.name =
			atom(s->c, arena_printf(s->a, "region of %s", atom_text(s->c, e->problem->name)));
	}
}

void session_run_statements(Session *s, Module *m, const Program *p, ResultSink show, void *ud,
                            Value *last) {
	for (uint32_t i = 0; i < p->n; i++) {
		const Ast *e = p->items[i];
		Value v = value_none();
		bool shows = false;
		switch ((AstKind)e->kind) {
		case A_USE: session_use(s, m, e); break;
		case A_DERIVATIVE:
			if (!m->library) session_check_rule(s, m, e);
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
		shows &= v.kind != V_NONE;
		if (shows && show) show(ud, v, e);
		if (last) {
			value_unref(*last);
			*last = v;
		} else value_unref(v);
		if (m == s->main)
			VEC_PUSH(s->a, &s->done, ((StatementDone){e->span.start, e->span.end, shows}));
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
	Session *s = r->s;
	const SourceId source = session_begin_program(s, r->name, r->text, r->n);
	bool ok;
	const Program p = session_parse_program(s, source, &ok);
	if (!ok) ctx_throw(c, ST_ERROR);
	session_run_statements(s, s->main, &p, r->show, r->ud, r->last);
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
