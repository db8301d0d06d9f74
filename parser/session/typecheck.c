/* typecheck.c - checking of a program without running it: names, types, shapes,
 * derivatives, problems.
 *
 * Needs: state.h; lint.c for checks of the text alone.
 *
 * Contract:
 * - All errors are reported at once.
 * - The session's variables, rules and modules are unchanged afterwards.
 * - Code that depends on a value known only from a run is not judged.
 * - A failed statement affects only the statements that need its result.
 */
#include "parser/session/state.h"

/* The statement being checked. All statements are one function, which never
 * runs. */
typedef struct Checked {
	Session *s;
	const Ast *e;
	/* Or the function that is called with arguments of its declared types. */
	const struct Declared *declared;
	Arena *a;
	Builder *b;
	Sp sp;
} Checked;

static void check_one(Ctx *c, void *arg) {
	Checked *st = arg;
	(void)c;
	if (st->e->kind == A_USE) session_use(st->s, session_main(st->s), st->e);
	else sp_expr(&st->sp, st->e);
}

typedef struct Length { /* an extent that a type names */
	Atom name;
	Dim dim;
} Length;
#define LENGTHS_MOST (MAX_RANK * 4)

/* An array of a declared type, or a record of them. Named extents are
 * arbitrary, one for each name. NULL when the type leaves more open than
 * that. */
static Av *declared_value(Checked *st, const Ast *type, Length *lengths, uint32_t *n) {
	Sp *sp = &st->sp;
	if (type->type.is_record) {
		uint32_t nfields = type->type.nfields;
		Atom *names = ARENA_ARRAY(st->a, Atom, nfields + 1);
		Av **items = ARENA_ARRAY(st->a, Av *, nfields + 1);
		for (uint32_t i = 0; i < nfields; i++) {
			const Param *f = &type->type.fields[i];
			names[i] = f->name;
			if (!f->type || !(items[i] = declared_value(st, f->type, lengths, n))) return NULL;
		}
		return av_record(sp, nfields, names, items);
	}
	if (!type->type.has_dtype || type->type.rank > MAX_RANK) return NULL;
	Dim dims[MAX_RANK];
	for (uint32_t i = 0; i < type->type.rank; i++) {
		const Ast *d = type->type.dims[i];
		int64_t length;
		if (!d) dims[i] = build_fresh_dim(st->b, 0, 0);
		else if (d->kind == A_CONST && value_as_i64(d->constant.value, &length) && length >= 0)
			dims[i] = dim_const(st->sp.c, length);
		else if (d->kind == A_NAME && *n < LENGTHS_MOST) {
			uint32_t k = 0;
			while (k < *n && lengths[k].name != d->name.name) k++;
			if (k == *n)
				lengths[(*n)++] = (Length){d->name.name, build_fresh_dim(st->b, d->name.name, 0)};
			dims[i] = lengths[k].dim;
		} else return NULL;
	}
	TypeId t = type_tensor(st->sp.c, (Dtype)type->type.dtype, type->type.rank, dims);
	return av_array(sp, build_param(st->b, t, 0));
}

/* Arguments for a function whose parameters declare their types: a call with
 * them checks its body. */
typedef struct Declared {
	const Ast *e;
	uint32_t n;
	Av **args;
	Span *spans;
} Declared;

static bool declare_arguments(Checked *st, const Ast *e, Declared *out) {
	uint32_t nlengths = 0;
	Length lengths[LENGTHS_MOST];
	*out = (Declared){.e = e,
	                  .args = ARENA_ARRAY(st->a, Av *, e->function.nparams + 1),
	                  .spans = ARENA_ARRAY(st->a, Span, e->function.nparams + 1)};
	for (uint32_t i = 0; i < e->function.nparams; i++) {
		const Param *p = &e->function.params[i];
		if (p->fallback || p->rest) continue;
		if (p->named || !p->type || out->n < i ||
		    !(out->args[out->n] = declared_value(st, p->type, lengths, &nlengths)))
			return false;
		out->spans[out->n++] = p->span;
	}
	return out->n > 0;
}

static void check_declared(Ctx *c, void *arg) {
	Checked *st = arg;
	const Declared *d = st->declared;
	(void)c;
	Av *f = env_find(st->sp.env, d->e->function.name);
	if (!f || f->kind != AV_FUNCTION || f->code != d->e) return;
	CallArguments call = {
		.span = NO_SPAN, .callee_span = NO_SPAN, .n = d->n, .args = d->args, .spans = d->spans};
	sp_call(&st->sp, f, &call);
}

/* Marks the names that a failed statement would have set as lost, so that their
 * uses report nothing more. */
static void lose_names(Checked *st) {
	const Ast *e = st->e;
	Atom *names;
	uint32_t n = 0;
	if (e->kind == A_PROBLEM) env_set(&st->sp, st->sp.env, e->problem->name, sp_lost());
	else if (e->kind == A_USE)
		env_set(&st->sp, st->sp.env, e->use.alias ? e->use.alias : e->use.module, sp_lost());
	else if (e->kind != A_DERIVATIVE) ast_assigned(&st->sp, e, &names, &n);
	for (uint32_t i = 0; i < n; i++) env_set(&st->sp, st->sp.env, names[i], sp_lost());
}

/* True when the last message repeats an earlier one, found in the text. */
static bool said_before(Ctx *c, uint32_t mark) {
	uint32_t n = diag_total(c);
	const Diag *d = n ? diag_at(c, n - 1) : NULL;
	for (uint32_t i = 0; d && n > mark && i < mark; i++) {
		const Diag *e = diag_at(c, i);
		bool names = (e->code == E_NAME || e->code == E_ARITY || e->code == E_NAMED_ARG) &&
		             d->code == e->code;
		bool same = d->span.source == e->span.source && d->span.start == e->span.start &&
		            d->span.end == e->span.end;
		if (same && (names || !strcmp(d->message, e->message))) return true;
	}
	return false;
}

/* declared: a function is checked by itself. depends: on a value known only
 * from a run. */
static void check_step(Checked *st, void (*body)(Ctx *c, void *arg), bool declared, bool depends) {
	Ctx *c = st->sp.c;
	uint32_t mark = diag_total(c);
	Env *env = st->sp.env;
	Status status = ctx_protect(c, body, st);
	if (status == ST_OK) return;
	build_regions_close(st->b);
	/* Code that depends on values known only from a run cannot be judged
	 * here. */
	const Diag *last = diag_total(c) > mark ? diag_at(c, diag_total(c) - 1) : NULL;
	const char *code = last ? diag_code_id(last->code) : "";
	/* Types, derivatives, problems. A wrong name is wrong in any case. */
	const bool type = *code && depends && code[2] >= '3' && code[2] <= '5';
	if (last && (type || last->code == E_NOT_STATIC || said_before(c, mark)))
		diag_truncate(c, mark);
	session_start_anew(st->s);
	st->sp.env = env;
	st->sp.depth = 0;
	st->sp.inlined = NULL;
	if (status != ST_ERROR) ctx_throw(c, status);
	if (!declared) lose_names(st);
}

/* The names of top level whose values come from ones known only from a run. */
typedef struct LaterNames {
	VEC(Atom) names;
	AtomMap places;
} LaterNames;

static void add_later(Arena *a, LaterNames *l, Atom name) {
	if (ATOM_MAP_FIND(&l->places, &l->names, name) != ATOM_MAP_NONE) return;
	VEC_PUSH(a, &l->names, name);
	ATOM_MAP_COVER(a, &l->places, &l->names);
}

struct taint_scan {
	const Env *env;
	const LaterNames *later;
	const Ast *statement;
	bool found;
};

static void taint_visit(void *ud, const Ast *e) {
	struct taint_scan *s = ud;
	if (s->found) return;
	if (e->kind == A_NAME) {
		const Atom name = e->name.name;
		const uint32_t i = ATOM_MAP_FIND(&s->env->places, &s->env->vars, name);
		s->found = (ATOM_MAP_FIND(&s->later->places, &s->later->names, name) != ATOM_MAP_NONE ||
		            (i != ATOM_MAP_NONE && s->env->vars.at[i].value->kind == AV_DYN)) &&
		           ast_mentions(s->statement, name);
	}
	ast_children(e, taint_visit, s);
}

/* True when a statement's value depends on one known only from a run: dynamic
 * data of top level, or a value made from it. */
static bool is_tainted(const Checked *st, const Ast *e, const LaterNames *later) {
	struct taint_scan s = {st->sp.env, later, e, false};
	taint_visit(&s, e);
	return s.found;
}

typedef struct TypecheckInput {
	Session *s;
	const char *name, *text;
	size_t n;
} TypecheckInput;

static void check_text(Ctx *c, void *arg) {
	const TypecheckInput *r = arg;
	Session *s = r->s;
	const SourceId source = session_begin_program(s, r->name, r->text, r->n);
	bool ok;
	const Program p = session_parse_program(s, source, &ok);
	Checked st = {.s = s, .a = arena_new(c)};
	st.b = build_begin(c, atom(c, "check"), 0, NULL);
	st.sp = (Sp){.c = c, .session = s, .a = st.a, .b = st.b, .module = session_main(s)};
	VEC(Declared) declared = {0}; /* parameters come before the first instruction */
	for (uint32_t i = 0; ok && i < p.n; i++) {
		Declared d;
		if (p.items[i]->kind == A_DEF && declare_arguments(&st, p.items[i], &d))
			VEC_PUSH(st.a, &declared, d);
	}
	st.sp = session_top(s, session_main(s), st.a, st.b);
	st.sp.top = st.sp.env;
	st.sp.top_b = st.b;
	LaterNames later = {0};
	for (uint32_t i = 0; i < p.n; i++) {
		st.sp.statement = st.e = p.items[i];
		if (st.e->kind == A_USE) check_step(&st, check_one, false, false);
	}
	check_program(s, st.a, &p, ok);
	/* If a part of the text could not be parsed, the names that it sets are
	 * unknown. Other errors may only follow from that. */
	for (uint32_t i = 0; ok && i < p.n; i++) {
		const Ast *e = st.sp.statement = st.e = p.items[i];
		if (e->kind == A_USE) continue;
		const bool depends = is_tainted(&st, e, &later);
		Atom *assigned;
		uint32_t nassigned;
		ast_assigned(&st.sp, e, &assigned, &nassigned);
		for (uint32_t k = 0; depends && k < nassigned; k++) add_later(st.a, &later, assigned[k]);
		if (depends && (e->kind == A_DEF || e->kind == A_PROBLEM))
			add_later(st.a, &later, e->kind == A_DEF ? e->function.name : e->problem->name);
		if (e->kind == A_DERIVATIVE) session_define_rule(s, session_main(s), e);
		else check_step(&st, check_one, false, depends);
	}
	for (uint32_t i = 0; i < declared.n; i++) {
		st.declared = &declared.at[i];
		check_step(&st, check_declared, true, false);
	}
	build_abandon(st.b);
	arena_free(st.a);
	diag_sort(c);
	if (!ok || diag_count(c, SEV_ERROR)) ctx_throw(c, ST_ERROR);
}

/* The rules and modules of a checked program are visible to itself only. */
static void check_marked(Ctx *c, void *arg) {
	const TypecheckInput *r = arg;
	Arena *a = arena_new(c);
	const SessionMark *before = session_mark(r->s, a);
	Status st = ctx_protect(c, check_text, arg);
	session_back_to(r->s, before);
	arena_free(a);
	if (st != ST_OK) ctx_throw(c, st);
}

Status session_check(Session *s, const char *name, const char *text, size_t n) {
	Ctx *c = ctx_of_session(s);
	TypecheckInput r = {.s = s, .name = name, .text = text, .n = n};
	uint32_t mark = build_mark(c);
	Status st = ctx_protect(c, check_marked, &r);
	if (st != ST_OK) build_unwind(c, mark);
	return st;
}
