/* call.c - function calls: inlining, calls of specialised functions, dispatch
 * by the kind of function.
 *
 * Needs: call.h.
 *
 * Contract:
 * - Lambdas, functions that take or capture functions, and small functions
 *   called inside another one are inlined. Any other call is one instruction.
 * - A function that is already active is not inlined.
 * - A failure in an inlined function of the library is reported at the user's
 *   call.
 */
#include "lang/passes/rule_check.h"
#include "parser/specialise/call.h"

#define INLINE_NODES 80 /* bodies up to this size are inlined */

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

/* ---- inlining ------------------------------------------------------------ */

static Av *returned_value(Sp *sp, void *ud) {
	(void)ud;
	return env_find(sp->env, sp_hidden(sp)->retval);
}
static Av *given_value(Sp *sp, void *ud) {
	(void)sp;
	return ud;
}

/* Specialises a function's body in the current builder. */
Av *sp_run_body(Sp *outer, Av *f, const CallArguments *call) {
	/* The number of nested inlined calls is unbounded, so interrupts and limits
	 * must end this as well. */
	const Status status = ctx_poll(outer->c, 0);
	if (status != ST_OK) ctx_throw(outer->c, status);
	const Ast *fn = f->code;
	Sp sp = *outer;
	sp.env = env_new(&sp, NULL);
	sp.module = session_module_of(sp.session, fn->span.source);
	sp.self = f;
	sp.problem = NULL;
	bool library = source_is_library(sp.c, fn->span.source);
	sp.apart = false;
	/* A failure in a library function is reported at the user's call. */
	if (!library || outer->apart) sp.place = NO_SPAN;
	else if (!source_is_library(sp.c, call->span.source)) sp.place = call->span;
	Inlined here = {outer->inlined, f->code_id, f->text, call->span, fn, call};
	sp.inlined = &here;
	const Hidden *h = sp_hidden(&sp);
	Atom effects[2] = {h->io, h->rng};
	for (int i = 0; i < 2; i++) {
		Av *v = env_find(outer->env, effects[i]);
		if (v) env_set(&sp, sp.env, effects[i], v);
	}
	for (uint32_t i = 0; i < f->n; i++) env_set(&sp, sp.env, f->names[i], f->items[i]);
	if (f->text) env_set(&sp, sp.env, f->text, f);
	sp_bind_arguments(&sp, f, fn, fn->function.nparams, fn->function.params, call);
	const Ast *body = fn->function.body;
	Av *v = body->kind == A_BLOCK ? sp_block(&sp, body->block.n, body->block.items, false)
	                              : sp_expr(&sp, body);
	Av *left = env_find(sp.env, h->ret);
	bool known;
	if (left) {
		if (av_static_bool(&sp, left, &known)) {
			if (known) v = env_find(sp.env, h->retval);
		} else v = sp_branch(&sp, left, returned_value, NULL, given_value, v, fn->span);
	}
	if (fn->function.result && v->kind != AV_UNSET)
		v = sp_check_type(&sp, "the result", fn->function.result, v,
		                  body->kind == A_BLOCK && body->block.n
		                      ? body->block.items[body->block.n - 1]->span
		                      : body->span);
	for (int i = 0; i < 2; i++) {
		Av *e = env_find(sp.env, effects[i]);
		if (e) env_set(outer, outer->env, effects[i], e);
	}
	if (sp_dead(&sp, sp.env)) {
		sp_set_dead(outer);
		return av_new(outer, AV_UNSET);
	}
	return v;
}

/* ---- calls of specialised functions -------------------------------------- */

/* Emits a call of a function that is still being built. The promised result
 * types are in its own symbols. */
static void emit_recursive_call(Sp *sp, Fn *fn, uint32_t nargs, const Ref *args, uint32_t n,
                                const TypeId *promised, Ref *results) {
	uint32_t nsyms = fn->syms.n;
	Dim *map = ARENA_ARRAY(sp->a, Dim, nsyms + 1);
	for (uint32_t s = 0; s < nsyms; s++) map[s] = UINT32_MAX;
	for (uint32_t i = 0; i < nargs; i++) {
		Type p = *ref_ty(fn, fn_param(fn, i));
		for (uint32_t k = 0; p.kind == TY_TENSOR && k < p.rank; k++) {
			SymId s;
			if (dim_is_sym(sp->c, p.dims[k], &s) && s < nsyms && map[s] == UINT32_MAX)
				map[s] = build_canon(sp->b, ty(sp, args[i])->dims[k]);
		}
	}
	for (uint32_t s = 0; s < nsyms; s++)
		if (map[s] == UINT32_MAX) map[s] = build_fresh_dim(sp->b, 0, build_span(sp->b));
	TypeId *types = ARENA_ARRAY(sp->a, TypeId, n + 1);
	for (uint32_t i = 0; i < n; i++) types[i] = type_subst(sp->c, promised[i], map, nsyms);
	int64_t word = fn->id;
	build_typed(sp->b, OP_CALL, nargs, args, attr_intern(sp->c, &word, 1), n, types, results);
}

void sp_emit_call(Sp *sp, Fn *fn, uint32_t nargs, const Ref *args, bool effects, Ref *results) {
	Ref *all = ARENA_ARRAY(sp->a, Ref, nargs + 2);
	for (uint32_t i = 0; i < nargs; i++) all[i] = args[i];
	if (effects) sp_effects(sp, &all[nargs], &all[nargs + 1], NO_SPAN);
	build_call(sp->b, fn, nargs + (effects ? 2 : 0), all, results);
}

/* Results that are parameters or constants of the function are replaced by the
 * caller's values. */
static void see_through(Sp *sp, const Specialisation *s, uint32_t n, Ref *results) {
	for (uint32_t i = 0; i < n; i++) {
		Ref r = fn_result(s->fn, i);
		const Const *k = ref_constant(s->fn, r);
		if (k && k->value.kind == V_SCALAR) results[i] = build_const(sp->b, k->value);
		for (uint32_t p = 0; p < s->nargs; p++)
			if (r == fn_param(s->fn, p)) results[i] = s->args[p];
	}
}

Av *sp_failed(Sp *sp, const Specialisation *s, Span at) {
	Ref results[2];
	sp_at(sp, at);
	sp_emit_call(sp, s->fn, s->nargs, s->args, s->effects, results);
	if (s->effects) sp_set_effects(sp, results[0], results[1]);
	sp_set_dead(sp);
	return av_new(sp, AV_UNSET);
}

static Av *call_specialised(Sp *sp, Av *f, const CallArguments *call) {
	Specialisation s =
		sp->underived ? sp_specialise_underived(sp, f, call) : sp_specialise(sp, f, call);
	uint32_t n = av_count_leaves(s.result), k = 0;
	Ref *results = ARENA_ARRAY(sp->a, Ref, n + 2);
	sp_at(sp, call->span);
	if (s.promised) {
		Ref *all = ARENA_ARRAY(sp->a, Ref, s.nargs + 2);
		for (uint32_t i = 0; i < s.nargs; i++) all[i] = s.args[i];
		if (s.effects) sp_effects(sp, &all[s.nargs], &all[s.nargs + 1], call->span);
		emit_recursive_call(sp, s.fn, s.nargs + (s.effects ? 2 : 0), all, s.npromised, s.promised,
		                    results);
	} else sp_emit_call(sp, s.fn, s.nargs, s.args, s.effects, results);
	if (s.effects) sp_set_effects(sp, results[n], results[n + 1]);
	if (s.result->kind == AV_UNSET) sp_set_dead(sp);
	if (!s.promised) see_through(sp, &s, n, results);
	return av_rebuild(sp, s.result, results, &k);
}

/* ---- dispatch ------------------------------------------------------------ */

static void count_node(void *ud, const Ast *child) {
	uint32_t *n = ud;
	if (++*n > INLINE_NODES) return;
	ast_children(child, count_node, n);
}

static bool has_code(const Av *v) {
	if (v->kind == AV_FUNCTION || v->kind == AV_PROBLEM) return true;
	for (uint32_t i = 0; i < v->n; i++)
		if (has_code(v->items[i])) return true;
	return false;
}

static bool is_active(const Sp *sp, uint32_t code_id) {
	for (const Inlined *i = sp->inlined; i; i = i->outer)
		if (i->code_id == code_id) return true;
	for (const FunctionFrame *f = sp->frame; f; f = f->outer)
		if (f->code_id == code_id) return true;
	return false;
}

/* The rule that the module defines for exactly this function, or NULL. */
static const Ast *rule_of(Sp *sp, const Av *f) {
	const Ast *fn = f->code;
	if (fn->kind != A_DEF || sp->session_inline_only) return NULL;
	Module *m = session_module_of(sp->session, fn->span.source);
	const Ast *rule = session_rule_of(sp->session, m, f->text);
	if (!rule) return NULL;
	Value g = session_own_global(m, f->text);
	return g.kind == V_FUNCTION && ((const FunctionObject *)g.object)->code == f->code ? rule
	                                                                                   : NULL;
}

Av *sp_keep_rule(Sp *sp, Av *f) {
	if (f->kind != AV_FUNCTION || f->code_kind != CODE_AST || !rule_of(sp, f)) return f;
	Av *call = av_builtin(sp, "_call", 1, &f);
	call->text = f->text;
	return call;
}

static Av *call_ast(Sp *sp, Av *f, const CallArguments *call) {
	const Ast *fn = f->code;
	bool simple = fn->kind == A_DEF && !sp->session_inline_only;
	for (uint32_t i = 0; simple && i < f->n; i++) simple = !has_code(f->items[i]);
	for (uint32_t i = 0; simple && i < call->n; i++) simple = !has_code(call->args[i]);
	for (uint32_t i = 0; simple && i < call->nnamed; i++) simple = !has_code(call->named[i]);
	/* The same code is active in an outer call: a recursion, or a higher-order
	 * function inside its own argument. A separate function serves it. A
	 * function with a rule keeps its rule here, such as an integral of
	 * integrals. */
	const Ast *rule = rule_of(sp, f);
	bool of_functions = false;
	for (uint32_t i = 0; i < call->n; i++) of_functions |= has_code(call->args[i]);
	if (is_active(sp, f->code_id) && !(rule && of_functions)) {
		if (++sp->recursion > 64)
			sp_fail(sp, E_NESTING, call->span, "%s calls itself with ever new kinds of arguments",
			        sp_function_name(sp, f));
		Av *v = call_specialised(sp, f, call);
		sp->recursion--;
		return v;
	}
	if (rule) return sp_call_ruled(sp, f, call, rule);
	uint32_t nodes = 0;
	if (simple) ast_children(fn, count_node, &nodes);
	if (simple && (nodes > INLINE_NODES || !sp->self)) return call_specialised(sp, f, call);
	return sp_run_body(sp, f, call);
}

Av *sp_call_host(Sp *sp, Av *f, const CallArguments *call) {
	const HostDef *def = f->code;
	if (call->nnamed)
		sp_fail(sp, E_NAMED_ARG, call->named_spans[0], "`%s` takes no named arguments", def->name);
	Ref *args = ARENA_ARRAY(sp->a, Ref, call->n + 1), results[8];
	for (uint32_t i = 0; i < call->n; i++) {
		Av *a = sp_want_array(sp, call->args[i], call->spans[i], def->name);
		args[i] = a->ref;
	}
	sp_at(sp, call->span);
	const HostId id = host_call_intern(sp->c, def, 0, NULL, 0, NULL);
	if (def->jvp && rule_check_mode(sp->c) != RULES_TRUSTED)
		rule_check_emit(sp->b, id, call->n, args, NULL, NO_SPAN);
	uint32_t n = build_host(sp->b, id, call->n, args, results, 8);
	if (n == 1) return av_array(sp, results[0]);
	Av *items[8];
	for (uint32_t i = 0; i < n; i++) items[i] = av_array(sp, results[i]);
	return n ? av_seq(sp, AV_TUPLE, n, items) : av_none(sp);
}

/* A host function may have a rule of the program, like any function. It
 * precedes the host's own derivative. */
static Av *call_host(Sp *sp, Av *f, const CallArguments *call) {
	Module *m = session_main(sp->session);
	const Ast *rule = session_rule_of(sp->session, m, f->text);
	Value g = session_own_global(m, f->text);
	if (!rule || g.kind != V_FUNCTION || ((const FunctionObject *)g.object)->code != f->code)
		return sp_call_host(sp, f, call);
	Av *plain = av_builtin(sp, "_without_rule", 1, &f);
	plain->text = f->text;
	return sp_call_ruled(sp, plain, call, rule);
}

Av *sp_call_dynamic(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at) {
	Ref *all = ARENA_ARRAY(sp->a, Ref, n + 3), results[3];
	Ref rng, io;
	sp_effects_of_dynamic(sp, &rng, &io, at);
	all[0] = io;
	all[1] = rng;
	all[2] = sp_box(sp, f);
	for (uint32_t i = 0; i < n; i++) all[3 + i] = sp_box(sp, args[i]);
	Dim two = dim_const(sp->c, 2);
	TypeId types[3] = {type_token(sp->c), type_tensor(sp->c, DT_I64, 1, &two), type_dyn(sp->c)};
	if (at.source) sp_at(sp, at);
	build_typed(sp->b, OP_DYNAMIC, n + 3, all, 0, 3, types, results);
	sp_set_effects(sp, results[1], results[0]);
	return av_dyn(sp, results[2]);
}

static Av *call_problem(Sp *sp, Av *f, const CallArguments *call) {
	const Ast *e = f->code;
	Sp inner = *sp;
	inner.env = env_new(&inner, NULL);
	inner.module = session_module_of(sp->session, e->span.source);
	inner.self = f;
	for (uint32_t i = 0; i < f->n; i++) env_set(&inner, inner.env, f->names[i], f->items[i]);
	sp_bind_arguments(&inner, f, NULL, e->problem->nparams, e->problem->params, call);
	/* The captured values and the bound parameters. */
	Atom *names = ARENA_ARRAY(sp->a, Atom, inner.env->vars.n + 1);
	Av **items = ARENA_ARRAY(sp->a, Av *, inner.env->vars.n + 1);
	for (uint32_t i = 0; i < inner.env->vars.n; i++) {
		names[i] = inner.env->vars.at[i].name;
		items[i] = inner.env->vars.at[i].value;
	}
	Av *r =
		av_function(sp, CODE_AST, f->code_id, f->code, f->text, inner.env->vars.n, names, items);
	r->kind = AV_PROBLEM;
	return r;
}

static _Noreturn void unknown_named(Sp *sp, const Builtin *b, const char *name, Span at) {
	const char *names[16];
	uint32_t n = 0;
	for (const char *p = b->named ? b->named : ""; *p && n < 16;) {
		size_t k = strcspn(p, " ");
		names[n++] = arena_copy(sp->a, p, k);
		p += k + (p[k] == ' ');
	}
	const char *best = diag_nearest(name, names, n);
	if (best)
		sp_fail(sp, E_NAMED_ARG, at, "`%s` has no argument `%s`; did you mean `%s`?", b->name, name,
		        best);
	sp_hint_argument(sp->c,
	                 diag_error(sp->c, E_NAMED_ARG, at, "`%s` has no argument `%s`", b->name, name),
	                 b->name, name, n, names);
	sp_throw(sp);
}

/* A builtin of arrays with a dynamic argument is called at run time. */
static Av *call_builtin_later(Sp *sp, Av *f, const CallArguments *call) {
	if (call->nnamed) {
		Av *named = av_record(sp, call->nnamed, call->names, call->named);
		f = av_builtin(sp, "_with_named", 2, (Av *[]){f, named});
	}
	return sp_call_dynamic(sp, f, call->n, call->args, call->span);
}

void sp_want_function(Sp *sp, const Av *f, const CallArguments *call) {
	if (f->kind == AV_FUNCTION) return;
	Diag *d =
		diag_error(sp->c, E_NOT_CALLABLE, call->callee_span.source ? call->callee_span : call->span,
	               "this is %s, not a function", sp_type_text(sp, f));
	/* sum = 0, and then sum(x) */
	size_t n;
	const char *text = source_text(sp->c, call->callee_span.source, &n);
	Span at = call->callee_span;
	const char *name = at.source && at.end <= n
	                       ? arena_printf(sp->a, "%.*s", (int)(at.end - at.start), text + at.start)
	                       : "";
	const Builtin *b = builtin_find(name);
	bool hides = (b && b->doc) || session_in_library(sp->session, atom(sp->c, name));
	if (hides)
		diag_hint(sp->c, d,
		          "a variable of this program hides the library's `%s`: give it another name",
		          name);
	else if (f->kind == AV_ARRAY)
		diag_hint(sp->c, d, "x[i] takes an element; a product is written with *");
	if (f->origin.source && !source_is_library(sp->c, f->origin.source))
		diag_second(sp->c, d, f->origin, "%s came from here", sp_type_text(sp, f));
	sp_throw(sp);
}

Av *sp_call(Sp *sp, Av *f, const CallArguments *call) {
	/* An argument without a value: an earlier failure is certain. */
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_UNSET) return call->args[i];
	if (f->kind == AV_UNSET) return f;
	if (f->kind == AV_PROBLEM) return call_problem(sp, f, call);
	if (f->kind == AV_DYN) {
		if (call->nnamed)
			sp_fail(sp, E_NAMED_ARG, call->named_spans[0],
			        "a function known only at run time takes positional arguments");
		return sp_call_dynamic(sp, f, call->n, call->args, call->span);
	}
	sp_want_function(sp, f, call);
	switch ((CodeKind)f->code_kind) {
	case CODE_AST: return call_ast(sp, f, call);
	case CODE_HOST: return call_host(sp, f, call);
	case CODE_IR: return sp_call_ir(sp, f, call);
	case CODE_BUILTIN:
	case CODE_FN: break; /* nobody calls a CODE_FN */
	}
	const Builtin *b = f->code;
	if ((b->min_args >= 0 && (int)call->n < b->min_args) ||
	    (b->max_args >= 0 && (int)call->n > b->max_args)) {
		if (b->min_args == b->max_args) {
			Diag *d = diag_error(sp->c, E_ARITY, call->span,
			                     "`%s` takes %d argument%s, and %u %s given", b->name, b->min_args,
			                     b->min_args == 1 ? "" : "s", call->n, call->n == 1 ? "is" : "are");
			if ((int)call->n > b->max_args && b->named && *b->named != '*')
				diag_hint(sp->c, d, "by name it takes %s", b->named);
			sp_throw(sp);
		}
		if (b->max_args < 0)
			sp_fail(sp, E_ARITY, call->span, "`%s` takes at least %d argument%s, and %u %s given",
			        b->name, b->min_args, b->min_args == 1 ? "" : "s", call->n,
			        call->n == 1 ? "is" : "are");
		sp_fail(sp, E_ARITY, call->span, "`%s` takes %d to %d arguments, and %u %s given", b->name,
		        b->min_args, b->max_args, call->n, call->n == 1 ? "is" : "are");
	}
	for (uint32_t i = 0; i < call->nnamed; i++) {
		const char *name = atom_text(sp->c, call->names[i]), *p = b->named ? b->named : "";
		size_t len = strlen(name);
		bool found = *p == '*';
		while (!found && *p) {
			size_t k = strcspn(p, " ");
			found = k == len && !strncmp(p, name, k);
			p += k + (p[k] == ' ');
		}
		if (!found) unknown_named(sp, b, name, call->named_spans[i]);
	}
	if (builtin_waits(b))
		for (uint32_t i = 0; i < call->n; i++)
			if (call->args[i]->kind == AV_DYN) return call_builtin_later(sp, f, call);
	return b->run(sp, b, f->n, f->items, call);
}

Av *sp_call_args(Sp *sp, Av *f, uint32_t n, Av *const *args, Span at) {
	Span *spans = ARENA_ARRAY(sp->a, Span, n + 1);
	for (uint32_t i = 0; i < n; i++) spans[i] = at;
	CallArguments call = {
		.span = at, .callee_span = at, .n = n, .args = (Av **)args, .spans = spans};
	return sp_call(sp, f, &call);
}

Av *sp_call_library(Sp *sp, const char *name, uint32_t n, Av *const *args, Span at) {
	return sp_call_args(sp, av_of_value(sp, session_library(sp->session, atom(sp->c, name))), n,
	                    args, at);
}
