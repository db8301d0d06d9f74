/* derivative_rules.c - rules `derivative f(x) = ...`: their checks and storage,
 * and the derivatives of primitives.
 *
 * Needs: state.h.
 *
 * Contract:
 * - A rule of the program belongs to a function of the same module that is
 *   defined before it.
 * - The rules of primitives are those of the library's module `calculus`. They
 *   are specialised by dtype to straight-line code.
 */
#include "parser/session/state.h"

/* ---- definition ---------------------------------------------------------- */

/* A rule of the user needs a function of the same module, defined before it. */
void session_check_rule(Session *s, Module *m, const Ast *e) {
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
			session_forget_specialisations(s);
			return;
		}
	VEC_PUSH(s->a, &s->rules, r);
	if (!m->library) session_forget_specialisations(s);
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

/* ---- primitives ---------------------------------------------------------- */

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

Fn *session_elementwise_rule(Ctx *c, Op op, Dtype d) {
	Session *s = session_of(c);
	for (uint32_t i = 0; i < s->cached_rules.n; i++)
		if (s->cached_rules.at[i].op == op && s->cached_rules.at[i].dtype == d)
			return s->cached_rules.at[i].fn;
	Module *calculus = session_library_module(s, "calculus");
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
