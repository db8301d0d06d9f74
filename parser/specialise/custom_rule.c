/* custom_rule.c - functions with a derivative rule of the user.
 *
 * Needs: specialise/internal.h, lang/ir/host.h.
 *
 * Contract:
 * - A call of such a function stays one instruction, a host call. Its value is
 *   the specialised function; its tangent is the rule, specialised on demand.
 * - A rule may therefore mention its own function, and higher derivatives
 *   differentiate the rule.
 * - The batched call is again one instruction, with the batched rule.
 * - A missing tangent is zero in the rule, and products with it are not
 *   computed.
 *
 * linear_map(f, adjoint, x) is such a call with a known rule: f dx + df x. Its
 * transpose is linear_map(adjoint, f, w). A linear function whose steps have no
 * transpose, such as an adaptive method, therefore has reverse derivatives of
 * every order.
 */
#include "lang/passes/rule_check.h"
#include "parser/specialise/internal.h"

/* The batched rule of a batched function, for one set of operands with
 * tangents. */
typedef struct BatchedRule {
	bool *tangent; /* by operand */
	bool *has;     /* by result: true when it has a tangent */
	Fn *from, *fn; /* `fn` is `from`, batched, and lives as long */
} BatchedRule;

/* The function of one host call: a function for one kind of arguments, or the
 * batched form of one. */
typedef struct Ruled Ruled;
struct Ruled {
	HashLink link; /* of the session's table, by id */
	Session *session;
	Arena *a; /* holds all of it */
	Fn *fn;
	FnId id; /* of fn */
	/* Of a batched form: the next one of `parent`, which may be freed first:
	 * then it is NULL. */
	Ruled *next, *parent;
	/* A function of the user: */
	/* The derivative statement (NULL for linear_map), and its right side as a
	 * function of arguments, result and tangents. */
	const Ast *rule, *lambda;
	Module *module;
	const Param *params;                    /* of the function; a rule may name them differently */
	uint32_t nargs, nnamed, nleaves, first; /* leaves before `first` are captured by the function */
	Atom *names;                            /* of named arguments */
	const Av *args;   /* template: captured values, arguments, named arguments */
	const Av *result; /* template */
	int *param_of_leaf;
	/* By leaf: the value where param_of_leaf is -1. Lives in the arena and
	 * holds one reference. */
	Value *baked;
	HeldCode held;
	Span call;
	/* A batched function: */
	const HostCall *inner;
	bool *lanes; /* by operand */
	Ruled *batched;
	VEC(BatchedRule) made;
};

/* ---- the tangent --------------------------------------------------------- */

typedef struct Tangent {
	const Ruled *r;
	Builder *b;
	uint32_t nargs;
	const Ref *args, *results, *tangents;
	Ref *out;
	Arena *a;
} Tangent;

static bool has_slope(Sp *sp, Ref r) {
	const Type *t = ref_ty(build_fn(sp->b), r);
	return t->kind == TY_TENSOR && dtype_is_inexact((Dtype)t->dtype);
}

/* The tangent of one argument, with the argument's structure. The tangent of a
 * function is the change of its result at fixed arguments caused by its
 * captured values. A value without a tangent is `none` in the rule; inside a
 * structure it is zero or itself. */
static Av *tangent_of(Sp *sp, Av *x, const Ref *tangents, uint32_t *leaf, bool inside) {
	const uint32_t n = av_count_leaves(x), from = *leaf;
	switch (x->kind) {
	case AV_ARRAY:
		++*leaf;
		return av_array(sp, tangents[from] != REF_NONE
		                        ? tangents[from]
		                        : build_zeros(sp->b, ref_type(build_fn(sp->b), x->ref)));
	case AV_TUPLE:
	case AV_LIST:
	case AV_RECORD: {
		Av **items = ARENA_ARRAY(sp->a, Av *, x->n + 1);
		for (uint32_t i = 0; i < x->n; i++)
			items[i] = tangent_of(sp, x->items[i], tangents, leaf, true);
		return x->kind == AV_RECORD ? av_record(sp, x->n, x->names, items)
		                            : av_seq(sp, (AvKind)x->kind, x->n, items);
	}
	case AV_FUNCTION: {
		Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
		for (uint32_t i = 0; i < n; i++)
			items[i] =
				tangents[from + i] != REF_NONE ? av_array(sp, tangents[from + i]) : av_none(sp);
		*leaf += n;
		return av_builtin(sp, "_change", 2, (Av *[]){x, av_seq(sp, AV_TUPLE, n, items)});
	}
	default: *leaf += n; return inside ? x : av_none(sp);
	}
}

static const char *rule_name(Ctx *c, const Ruled *r) {
	return r->rule ? atom_text(c, r->rule->derivative.name) : "linear_map";
}

static _Noreturn void misfit(Sp *sp, const Ruled *r, Av *dy, const Av *y) {
	if (!r->rule)
		sp_fail(sp, E_RULE, r->call, "linear_map: its function gives %s where %s is wanted",
		        sp_type_text(sp, dy), sp_type_text(sp, y));
	Diag *d = diag_error(sp->c, E_RULE, r->rule->derivative.body->span,
	                     "the rule of `%s` gives %s for a result that is %s",
	                     atom_text(sp->c, r->rule->derivative.name), sp_type_text(sp, dy),
	                     sp_type_text(sp, y));
	diag_second(sp->c, d, r->call, "`%s` is called here",
	            atom_text(sp->c, r->rule->derivative.name));
	sp_throw(sp);
}

/* Stores the tangents of the result's leaves, taken from the value of the
 * rule. */
static void take_tangents(Sp *sp, const Ruled *r, Av *dy, const Av *y, uint32_t *k, Ref *out) {
	if (av_is_leaf(y)) {
		out[*k] = REF_NONE;
		if (y->kind == AV_ARRAY && has_slope(sp, y->ref)) {
			if (dy->kind != AV_ARRAY) misfit(sp, r, dy, y);
			Type t = *ref_ty(build_fn(sp->b), y->ref), td = *ref_ty(build_fn(sp->b), dy->ref);
			if (td.rank > t.rank ||
			    (dtype_is_complex((Dtype)td.dtype) && !dtype_is_complex((Dtype)t.dtype)))
				misfit(sp, r, dy, y);
			for (uint32_t i = 0; i < td.rank; i++) {
				int64_t one;
				Dim d = build_canon(sp->b, td.dims[i]),
					want = build_canon(sp->b, t.dims[t.rank - td.rank + i]);
				if (d == want || (dim_is_const(sp->c, d, &one) && one == 1)) continue;
				if (!build_unify(sp->b, d, want,
				                 atom_f(sp->c, "the rule of `%s` gives a tangent of another length",
				                        rule_name(sp->c, r))))
					misfit(sp, r, dy, y);
			}
			out[*k] = sp_broadcast_to(sp, sp_to_dtype(sp, dy, (Dtype)t.dtype), t.rank, t.dims,
			                          r->call, "match");
		}
		++*k;
		return;
	}
	if (dy->kind != y->kind || dy->n != y->n) misfit(sp, r, dy, y);
	for (uint32_t i = 0; i < y->n; i++) take_tangents(sp, r, dy->items[i], y->items[i], k, out);
}

/* The rule's parameter for the i-th argument; positional ones come first. One
 * past the last parameter: collected arguments. */
static uint32_t param_of(const Ruled *r, uint32_t i) {
	const Ast *e = r->rule;
	uint32_t place = 0;
	for (uint32_t p = 0; p < e->derivative.nparams; p++) {
		bool by_name = false;
		for (uint32_t k = 0; k < r->nnamed; k++) {
			if (r->names[k] != r->params[p].name) continue;
			by_name = true;
			if (i == r->nargs + k) return p;
		}
		if (!by_name && !r->params[p].named && place++ == i) return p;
	}
	return e->derivative.nparams;
}

/* Σ partial * tangent of an element-wise rule, by parameter; NULL: omitted.
 * Options may have no partial as long as they have no tangent. */
static Av *weighted_sum(Sp *sp, const Ruled *r, Av *partials, Av *const *dx, const bool *moves) {
	const Ast *e = r->rule;
	const char *name = atom_text(sp->c, e->derivative.name);
	Span at = e->derivative.body->span;
	const uint32_t np = e->derivative.nparams, given = partials->kind == AV_TUPLE ? partials->n : 1;
	/* Collected arguments have no tangent. */
	const uint32_t n = np - (np && e->derivative.params[np - 1].rest);
	uint32_t plain = 0, q = 0;
	for (uint32_t i = 0; i < n; i++) plain += !e->derivative.params[i].named;
	if (n && given != n && given != plain)
		sp_fail(sp, E_RULE, at,
		        "the rule of `%s` gives %u partial derivatives, one for each argument, as a tuple",
		        name, n);
	Av *sum = NULL;
	for (uint32_t i = 0; i < n; i++) {
		const bool has = given == n || !e->derivative.params[i].named;
		Av *partial = partials->kind == AV_TUPLE && has ? partials->items[q++] : partials;
		if (!dx[i] || dx[i]->kind != AV_ARRAY || !has_slope(sp, dx[i]->ref)) continue;
		if (!has && moves[i]) {
			Diag *d =
				diag_error(sp->c, E_RULE, at, "the rule of `%s` has no partial derivative for `%s`",
			               name, atom_text(sp->c, e->derivative.params[i].name));
			diag_second(sp->c, d, r->call, "a derivative goes through it here");
			diag_hint(sp->c, d, "give one for each argument, as a tuple");
			sp_throw(sp);
		}
		if (!has) continue;
		Av *term = sp_binary(sp, AO_MUL, partial, dx[i], at, at, at);
		sum = sum ? sp_binary(sp, AO_ADD, sum, term, at, at, at) : term;
	}
	return sum ? sum : av_array(sp, build_f64(sp->b, 0));
}

/* The arguments, rebuilt from the operands and the baked values. */
static Av *arguments(Sp *sp, const Ruled *r, const Ref *args) {
	Ref *leaf = ARENA_ARRAY(sp->a, Ref, r->nleaves + 1);
	for (uint32_t i = 0; i < r->nleaves; i++)
		leaf[i] =
			r->param_of_leaf[i] < 0 ? build_const(sp->b, r->baked[i]) : args[r->param_of_leaf[i]];
	uint32_t k = 0;
	return av_rebuild(sp, r->args, leaf, &k);
}

/* linear_map(f, adjoint, x): f dx + df x. */
static void tangent_of_linear(Sp *sp, const Tangent *t, Av *const *args, const Ref *dleaf) {
	const Ruled *r = t->r;
	uint32_t at = r->first, k = 0, n = av_count_leaves(r->result);
	const uint32_t nf = av_count_leaves(args[0]), from_x = r->first + nf + av_count_leaves(args[1]);
	bool f_moves = false, x_moves = false;
	for (uint32_t i = 0; i < nf; i++) f_moves |= dleaf[at + i] != REF_NONE;
	for (uint32_t i = from_x; i < r->nleaves; i++) x_moves |= dleaf[i] != REF_NONE;
	Av *df = tangent_of(sp, args[0], dleaf, &at, false),
	   *y = av_rebuild(sp, r->result, t->results, &k);
	at = from_x;
	Av *dx = tangent_of(sp, args[2], dleaf, &at, true);
	Ref *more = ARENA_ARRAY(sp->a, Ref, n + 1);
	for (uint32_t i = 0; i < n; i++) t->out[i] = REF_NONE;
	k = 0;
	if (x_moves)
		take_tangents(sp, r, sp_call_linear(sp, args[0], args[1], dx, r->call), y, &k, t->out);
	k = 0;
	if (f_moves) take_tangents(sp, r, sp_call_args(sp, df, 1, &args[2], r->call), y, &k, more);
	for (uint32_t i = 0; f_moves && i < n; i++)
		if (more[i] != REF_NONE)
			t->out[i] = t->out[i] == REF_NONE ? more[i] : build2(sp->b, OP_ADD, t->out[i], more[i]);
}

/* The user's call of the differentiated code. A rule of the library has no
 * other location in the user's text. */
static Span user_place(Ctx *c, Builder *b) {
	const Span at = span_of(c, build_span(b));
	return at.source && !source_is_library(c, at.source) ? at : NO_SPAN;
}

static void emit_tangent(Ctx *c, void *arg) {
	Tangent *t = arg;
	const Ruled *r = t->r;
	const Ast *e = r->rule;
	FunctionFrame frame = {.b = t->b, .fixed = true};
	const bool ours = e && source_is_library(c, e->span.source);
	/* The following code is the user's text, not a derivative of it. */
	if (!ours) build_chain(t->b, chain_push(c, build_get_chain(t->b), "rule"));
	Sp sp = {.c = c,
	         .session = r->session,
	         .a = t->a,
	         .b = t->b,
	         .module = r->module,
	         .frame = &frame,
	         .place = user_place(c, t->b)};
	sp.env = env_new(&sp, NULL);
	static const Av self = {.kind = AV_FUNCTION};
	sp.self = (Av *)&self;
	Ref *dleaf = ARENA_ARRAY(t->a, Ref, r->nleaves + 1);
	for (uint32_t i = 0; i < r->nleaves; i++)
		dleaf[i] = r->param_of_leaf[i] < 0 ? REF_NONE : t->tangents[r->param_of_leaf[i]];
	Av *all = arguments(&sp, r, t->args);
	if (!e) {
		tangent_of_linear(&sp, t, all->items + (all->n - 3), dleaf);
		return;
	}
	uint32_t k = 0, at = r->first, n = r->nargs, nd = e->derivative.ntangents;
	Av *y = av_rebuild(&sp, r->result, t->results, &k);
	Av **args = all->items + (all->n - n - r->nnamed);
	const uint32_t np = e->derivative.nparams;
	Av **dparam = ARENA_ARRAY(t->a, Av *, np + 1);
	bool *moves = ARENA_ARRAY(t->a, bool, np + 1);
	for (uint32_t i = 0; i < n + r->nnamed; i++) {
		const uint32_t p = param_of(r, i), from = at;
		dparam[p] = tangent_of(&sp, args[i], dleaf, &at, false);
		for (uint32_t q = from; q < at; q++) moves[p] |= dleaf[q] != REF_NONE;
	}
	/* Named arguments: those of the call, the result, the tangents. */
	Atom *names = ARENA_ARRAY(t->a, Atom, r->nnamed + nd + 2);
	Av **named = ARENA_ARRAY(t->a, Av *, r->nnamed + nd + 2);
	uint32_t m = 0;
	for (uint32_t i = 0; i < r->nnamed; i++, m++) {
		const uint32_t p = param_of(r, n + i);
		names[m] = p < np ? e->derivative.params[p].name : r->names[i];
		named[m] = args[n + i];
	}
	const Param *last = r->lambda->function.nparams
	                        ? &r->lambda->function.params[r->lambda->function.nparams - 1]
	                        : NULL;
	if (last && last->name == atom(c, "y") &&
	    r->lambda->function.nparams == e->derivative.nparams + nd + 1) {
		names[m] = last->name;
		named[m++] = y;
	}
	for (uint32_t i = 0; i < nd; i++) {
		names[m] = e->derivative.tangents[i];
		/* The tangent of an omitted argument is 0. */
		named[m++] = dparam[i] ? dparam[i] : av_array(&sp, build_f64(t->b, 0));
	}
	Span *spans = ARENA_ARRAY(t->a, Span, n + m + 1);
	for (uint32_t i = 0; i < n + m; i++) spans[i] = r->call;
	CallArguments call = {.span = r->call,
	                      .callee_span = e->derivative.name_span,
	                      .n = n,
	                      .args = args,
	                      .spans = spans,
	                      .nnamed = m,
	                      .names = names,
	                      .named = named,
	                      .named_spans = spans};
	/* No name: inside the rule, the name means the function. */
	Av *f = av_function(&sp, CODE_AST, r->lambda->id, r->lambda, 0, 0, NULL, NULL);
	Av *v = sp_call(&sp, f, &call);
	if (!nd) v = weighted_sum(&sp, r, v, dparam, moves);
	k = 0;
	take_tangents(&sp, r, v, y, &k, t->out);
}

static void ruled_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      const Ref *results, const Ref *tangents, Ref *out) {
	Ctx *c = build_ctx(b);
	Tangent t = {call->def->ud, b, nargs, args, results, tangents, out, arena_new(c)};
	SpanId span = build_span(b);
	const bool absorbed = build_zeros_absorb(b, true);
	ChainId chain = build_get_chain(b);
	Status s = ctx_protect(c, emit_tangent, &t);
	build_zeros_absorb(b, absorbed);
	arena_free(t.a);
	if (s != ST_OK) ctx_throw(c, s);
	build_at(b, span);
	build_chain(b, chain);
}

/* ---- the transpose of linear_map ----------------------------------------- */

typedef struct Transposed {
	const Ruled *r;
	Builder *b;
	const Ref *args, *cotangents;
	const bool *linear;
	Ref *out;
	Arena *a;
} Transposed;

static void emit_transpose(Ctx *c, void *arg) {
	Transposed *t = arg;
	const Ruled *r = t->r;
	FunctionFrame frame = {.b = t->b, .fixed = true};
	Sp sp = {.c = c,
	         .session = r->session,
	         .a = t->a,
	         .b = t->b,
	         .module = r->module,
	         .frame = &frame,
	         .place = user_place(c, t->b)};
	sp.env = env_new(&sp, NULL);
	static const Av self = {.kind = AV_FUNCTION};
	sp.self = (Av *)&self;
	Av *all = arguments(&sp, r, t->args), **args = all->items + (all->n - 3);
	const uint32_t nx = av_count_leaves(args[2]), first = r->nleaves - nx;
	for (uint32_t i = 0; i < first; i++)
		if (r->param_of_leaf[i] >= 0 && t->linear[r->param_of_leaf[i]])
			sp_fail(
				&sp, E_NO_RULE, r->call,
				"linear_map: its function itself depends on a tangent, so there is no transpose");
	uint32_t k = 0, n = 0;
	Av *w = av_rebuild(&sp, r->result, t->cotangents, &k);
	Av *v = sp_call_linear(&sp, args[1], args[0], w, r->call);
	if (av_count_leaves(v) != nx)
		sp_fail(&sp, E_RULE, r->call, "linear_map: its adjoint gives %s where %s is wanted",
		        sp_type_text(&sp, v), sp_type_text(&sp, r->args->items[r->args->n - 1]));
	Ref *leaf = ARENA_ARRAY(t->a, Ref, nx + 1);
	av_leaves(v, leaf, &n);
	for (uint32_t i = 0; i < nx; i++) {
		const int p = r->param_of_leaf[first + i];
		if (p < 0 || !t->linear[p]) continue;
		const Type *want = ref_ty(r->fn, fn_param(r->fn, (uint32_t)p)),
				   *got = ref_ty(build_fn(t->b), leaf[i]);
		if (got->kind != TY_TENSOR || got->rank != want->rank)
			sp_fail(&sp, E_RULE, r->call,
			        "linear_map: its adjoint gives %s where an array of rank %u is wanted",
			        sp_type_text(&sp, v), want->rank);
		t->out[p] = sp_to_dtype(&sp, av_array(&sp, leaf[i]), (Dtype)want->dtype);
	}
}

static void linear_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                             const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	Ctx *c = build_ctx(b);
	Transposed t = {call->def->ud, b, args, result_cotangents, linear, cotangents, arena_new(c)};
	for (uint32_t i = 0; i < nargs; i++) cotangents[i] = REF_NONE;
	SpanId span = build_span(b);
	Status s = ctx_protect(c, emit_transpose, &t);
	arena_free(t.a);
	if (s != ST_OK) ctx_throw(c, s);
	build_at(b, span);
}

/* ---- batching ------------------------------------------------------------ */

/* Batches the rule of the function that was batched: (operands, results,
 * tangents) -> tangents of results. */
static BatchedRule *batched_rule(Ctx *c, Ruled *r, const bool *tangent) {
	const HostCall *in = r->inner;
	const Fn *f = in->fns[0];
	uint32_t nargs = fn_nparams(f), nres = fn_nresults(f);
	for (uint32_t i = 0; i < r->made.n; i++)
		if (!memcmp(r->made.at[i].tangent, tangent, nargs * sizeof *tangent)) return &r->made.at[i];
	Builder *b = build_begin(c, atom_f(c, "%s.jvp", in->def->name), 0, f);
	Arena *a = r->a;
	Ref *x = ARENA_ARRAY(a, Ref, nargs + 1), *dx = ARENA_ARRAY(a, Ref, nargs + 1),
		*y = ARENA_ARRAY(a, Ref, nres + 1), *dy = ARENA_ARRAY(a, Ref, nres + 1);
	bool *lanes = ARENA_ARRAY(a, bool, 2 * nargs + nres + 1);
	uint32_t n = 0, m = 0;
	for (uint32_t i = 0; i < nargs; i++) {
		x[i] = build_param(b, ref_type(f, fn_param(f, i)), 0);
		lanes[n++] = r->lanes[i];
	}
	for (uint32_t i = 0; i < nres; i++) {
		y[i] = build_param(b, ref_type(f, fn_result(f, i)), 0);
		lanes[n++] = ref_ty(f, fn_result(f, i))->kind == TY_TENSOR;
	}
	for (uint32_t i = 0; i < nargs; i++) {
		if (!tangent[i]) continue;
		dx[i] = build_param(b, ref_type(f, fn_param(f, i)), 0);
		lanes[n++] = r->lanes[i];
	}
	in->def->jvp(b, in, nargs, x, y, dx, dy);
	BatchedRule made = {.tangent = ARENA_ARRAY(a, bool, nargs + 1),
	                    .has = ARENA_ARRAY(a, bool, nres + 1)};
	for (uint32_t i = 0; i < nargs; i++) made.tangent[i] = tangent[i];
	for (uint32_t i = 0; i < nres; i++)
		if ((made.has[i] = dy[i] != REF_NONE)) dy[m++] = dy[i];
	made.from = build_end(b, m, dy);
	made.fn = ir_services(c)->batch(c, made.from, lanes);
	VEC_PUSH(a, &r->made, made);
	return &r->made.at[r->made.n - 1];
}

static void batched_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                        const Ref *results, const Ref *tangents, Ref *out) {
	Ctx *c = build_ctx(b);
	Ruled *r = call->def->ud;
	Arena *a = arena_new(c);
	uint32_t nres = fn_nresults(call->fns[0]), n = 0, m = 0;
	bool *tangent = ARENA_ARRAY(a, bool, nargs + 1);
	for (uint32_t i = 0; i < nargs; i++) tangent[i] = tangents[i] != REF_NONE;
	BatchedRule *rule = batched_rule(c, r, tangent);
	Ref *all = ARENA_ARRAY(a, Ref, 2 * nargs + nres + 1), *dy = ARENA_ARRAY(a, Ref, nres + 1);
	for (uint32_t i = 0; i < nargs; i++) all[n++] = args[i];
	for (uint32_t i = 0; i < nres; i++) all[n++] = results[i];
	for (uint32_t i = 0; i < nargs; i++)
		if (tangent[i]) all[n++] = tangents[i];
	build_call(b, rule->fn, n, all, dy);
	for (uint32_t i = 0; i < nres; i++) out[i] = rule->has[i] ? dy[m++] : REF_NONE;
	arena_free(a);
}

/* The batched transpose of the batched function. An operand shared by all batch
 * elements gets the sum of their cotangents. */
static void batched_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                              const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	Ctx *c = build_ctx(b);
	Ruled *r = call->def->ud;
	const HostCall *in = r->inner;
	const Fn *f = in->fns[0];
	const uint32_t nres = fn_nresults(f);
	Arena *a = arena_new(c);
	Ref *x = ARENA_ARRAY(a, Ref, nargs + 1), *w = ARENA_ARRAY(a, Ref, nres + 1),
		*ct = ARENA_ARRAY(a, Ref, nargs + 1), *all = ARENA_ARRAY(a, Ref, nargs + nres + 1);
	bool *lanes = ARENA_ARRAY(a, bool, nargs + nres + 1);
	Builder *one = build_begin(c, atom_f(c, "%s.transpose", in->def->name), 0, f);
	uint32_t n = 0, m = 0;
	for (uint32_t i = 0; i < nargs; i++) {
		if (linear[i]) continue;
		x[i] = build_param(one, ref_type(f, fn_param(f, i)), 0);
		lanes[n] = r->lanes[i];
		all[n++] = args[i];
	}
	for (uint32_t i = 0; i < nres; i++) {
		w[i] = build_param(one, ref_type(f, fn_result(f, i)), 0);
		lanes[n] = ref_ty(f, fn_result(f, i))->kind == TY_TENSOR;
		all[n++] = result_cotangents[i];
	}
	in->def->transpose(one, in, nargs, x, linear, w, ct);
	for (uint32_t i = 0; i < nargs; i++) {
		cotangents[i] = REF_NONE;
		if (linear[i] && ct[i] != REF_NONE) w[m++] = ct[i];
	}
	Fn *single = build_end(one, m, w), *many = ir_services(c)->batch(c, single, lanes);
	build_call(b, many, n, all, w);
	fn_unref(single);
	m = 0;
	for (uint32_t i = 0; i < nargs; i++) {
		if (!linear[i] || ct[i] == REF_NONE) continue;
		const Ref sum = w[m++];
		cotangents[i] = r->lanes[i] ? sum : build_reduce(b, OP_REDUCE_SUM, sum, 1, (int[]){0});
	}
	arena_free(a);
}

static void release_contents(Ruled *r) {
	const uint32_t nleaves = r->baked ? r->nleaves : 0, nmade = r->made.n;
	r->nleaves = r->made.n = 0;
	held_code_release(&r->held);
	for (uint32_t i = 0; i < nleaves; i++) value_unref(r->baked[i]);
	for (uint32_t i = 0; i < nmade; i++) fn_unref(r->made.at[i].from);
}

static void free_ruled(Ctx *c, void *ud) {
	(void)c;
	Ruled *r = ud;
	HashChains *known = session_ruled(r->session);
	/* The table is empty when the session has ended. */
	if (!r->inner && known->n) hash_take(known, &r->link);
	Ruled **at = r->parent ? &r->parent->batched : NULL;
	while (at && *at && *at != r) at = &(*at)->next;
	if (at && *at) *at = r->next;
	for (Ruled *k = r->batched; k; k = k->next) k->parent = NULL;
	release_contents(r);
	arena_free(r->a);
}

static void each_ruled(const void *ud, const RefVisitor *v) {
	const Ruled *r = ud;
	if (r->inner) v->host(v->ud, r->inner->id);
	for (uint32_t i = 0; i < r->made.n; i++) v->fn(v->ud, r->made.at[i].from);
}

static void ruled_batch(Builder *b, const HostCall *call, Dim length, uint32_t nargs,
                        const Ref *args, const bool *batched, Ref *results) {
	(void)length;
	Ctx *c = build_ctx(b);
	Ruled *from = call->def->ud, *r = from->batched;
	while (r && (r->inner != call || memcmp(r->lanes, batched, nargs * sizeof *batched)))
		r = r->next;
	if (!r) {
		Fn *fn = ir_services(c)->batch(c, call->fns[0], batched);
		Arena *a = arena_small(c);
		r = ARENA_NEW(a, Ruled);
		*r = (Ruled){.session = from->session,
		             .a = a,
		             .fn = fn,
		             .id = fn->id,
		             .next = from->batched,
		             .parent = from,
		             .inner = call,
		             .lanes = ARENA_ARRAY(a, bool, nargs + 1)};
		for (uint32_t i = 0; i < nargs; i++) r->lanes[i] = batched[i];
	}
	HostDef def = {.name = call->def->name,
	               .ud = r,
	               .types = host_value_types,
	               .eval = host_value_eval,
	               .jvp = batched_jvp,
	               .transpose = call->def->transpose ? batched_transpose : NULL,
	               .batch = ruled_batch,
	               .written = call->def->written,
	               .free_ud = free_ruled,
	               .each_ud = each_ruled};
	const HostId id = host_call_intern(c, &def, 1, &r->fn, 0, NULL);
	/* Only now is there a call whose end removes it. */
	if (r->next == from->batched) from->batched = r;
	build_host(b, id, nargs, args, results, fn_nresults(r->fn));
}

/* ---- calls --------------------------------------------------------------- */

static bool stands_alone(const Ast *fallback, uint32_t n, const Param *params) {
	for (uint32_t i = 0; i < n; i++)
		if (ast_mentions(fallback, params[i].name)) return false;
	return true;
}

/* The rule's right side as a function: its parameters, then by name the
 * tangents and the result, which is called y. The default of an omitted
 * argument is that of the function. A default that depends on other arguments
 * would have a tangent, so the rule must state it. */
static const Ast *rule_lambda(Sp *sp, const Ast *e, const Param *params, uint32_t function) {
	const Ast **known = session_rule_lambda(sp->session, e, params, function);
	if (*known) return *known;
	Arena *a = session_tree_of(sp->session, e->id);
	Ast *l = ARENA_NEW(a, Ast);
	uint32_t np = e->derivative.nparams, nd = e->derivative.ntangents, n = np + nd;
	Atom y = atom(sp->c, "y");
	bool own_y = false;
	l->kind = A_LAMBDA;
	l->id = e->id;
	l->span = e->span;
	l->function.params = ARENA_ARRAY(a, Param, n + 1);
	for (uint32_t i = 0; i < np; i++) {
		Param *p = &l->function.params[i];
		*p = e->derivative.params[i];
		if (!p->fallback && params[i].fallback && stands_alone(params[i].fallback, np, params))
			p->fallback = params[i].fallback;
		own_y |= e->derivative.params[i].name == y;
	}
	for (uint32_t i = 0; i < nd; i++) {
		l->function.params[np + i] = (Param){
			.name = e->derivative.tangents[i], .span = e->derivative.name_span, .named = true};
		own_y |= e->derivative.tangents[i] == y;
	}
	if (!own_y)
		l->function.params[n++] =
			(Param){.name = y, .span = e->derivative.name_span, .named = true};
	l->function.nparams = n;
	l->function.body = e->derivative.body;
	return *known = l;
}

/* By operand: the rule's name of its argument. */
static const Atom *operand_names(Sp *sp, const Ruled *r, const Av *f) {
	Atom *names = ARENA_ARRAY(sp->a, Atom, r->nleaves + 1);
	uint32_t leaf = r->first;
	for (uint32_t i = 0; i < r->nargs + r->nnamed; i++)
		for (uint32_t n = av_count_leaves(r->args->items[f->n + i]); n; n--, leaf++)
			if (r->param_of_leaf[leaf] >= 0)
				names[r->param_of_leaf[leaf]] =
					i < r->nargs ? r->rule->derivative.params[param_of(r, i)].name
								 : r->names[i - r->nargs];
	return names;
}

static Av *call_ruled(Sp *sp, Av *f, const CallArguments *call, const Ast *rule) {
	const uint32_t left_out = *session_left_out(sp->session);
	Specialisation s = sp_specialise_underived(sp, f, call); /* the rule gives the derivatives */
	*session_left_out(sp->session) = left_out;
	if (!s.promised && s.result->kind == AV_UNSET) return sp_failed(sp, &s, call->span);
	const char *name = rule ? atom_text(sp->c, f->text) : "linear_map";
	sp_no_effects(
		sp, &s, E_RULE, call->span,
		name[0] == '_'
			? "what is handed to this function of the library cannot print or draw random numbers"
			: arena_printf(sp->a,
	                       "`%s` has a derivative rule, so it cannot print or draw random numbers",
	                       name));
	HashChains *known = session_ruled(sp->session);
	const uint32_t hash = hash_word(0, s.fn->id);
	Ruled *r = (Ruled *)(void *)hash_chain(known, hash);
	while (r && (r->id != s.fn->id || r->rule != rule)) r = (Ruled *)(void *)r->link.next;
	if (!r) {
		hash_reserve(sp->c, known);
		Arena *a = arena_small(sp->c);
		r = ARENA_NEW(a, Ruled);
		uint32_t n = f->n + call->n + call->nnamed, k = 0;
		Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
		const Ast *fn = f->code_kind == CODE_AST ? f->code : NULL;
		const Param *params = fn && rule && fn->function.nparams == rule->derivative.nparams
		                          ? fn->function.params
		                      : rule ? rule->derivative.params
		                             : NULL;
		for (uint32_t i = 0; i < f->n; i++) items[k++] = f->items[i];
		for (uint32_t i = 0; i < call->n; i++) items[k++] = call->args[i];
		for (uint32_t i = 0; i < call->nnamed; i++) items[k++] = call->named[i];
		Av *all = av_seq(sp, AV_TUPLE, n, items);
		Ref *leaves = ARENA_ARRAY(sp->a, Ref, s.nleaves + 1);
		k = 0;
		av_leaves(all, leaves, &k);
		*r =
			(Ruled){.link.hash = hash,
		            .session = sp->session,
		            .a = a,
		            .fn = s.fn,
		            .id = s.fn->id,
		            .rule = rule,
		            .lambda = rule ? rule_lambda(sp, rule, params, fn ? fn->id : rule->id) : NULL,
		            .params = params,
		            .module = rule ? session_module_of(sp->session, rule->span.source) : sp->module,
		            .nargs = call->n,
		            .nnamed = call->nnamed,
		            .nleaves = s.nleaves,
		            .args = av_keep(a, all),
		            .result = av_keep(a, s.result),
		            .call = call->span};
		if (rule) held_code_node(sp->c, a, &r->held, rule->id);
		if (fn) held_code_node(sp->c, a, &r->held, fn->id);
		held_code_functions(sp->c, a, &r->held, r->args);
		held_code_functions(sp->c, a, &r->held, r->result);
		for (uint32_t i = 0; i < f->n; i++) r->first += av_count_leaves(f->items[i]);
		r->names = ARENA_ARRAY(a, Atom, call->nnamed + 1);
		for (uint32_t i = 0; i < call->nnamed; i++) r->names[i] = call->names[i];
		r->param_of_leaf = ARENA_ARRAY(a, int, s.nleaves + 1);
		r->baked = ARENA_ARRAY(a, Value, s.nleaves + 1);
		for (uint32_t i = 0; i < s.nleaves; i++) {
			r->param_of_leaf[i] = s.param_of_leaf[i];
			r->baked[i].kind = V_UNSET;
			if (s.param_of_leaf[i] < 0)
				r->baked[i] = value_ref(ref_constant(build_fn(sp->b), leaves[i])->value);
		}
		hash_put(known, &r->link);
	}
	uint32_t n = fn_nresults(s.fn), k = 0;
	Ref *results = ARENA_ARRAY(sp->a, Ref, n + 1);
	HostDef def = {.name = name,
	               .ud = r,
	               .types = host_value_types,
	               .eval = host_value_eval,
	               .jvp = ruled_jvp,
	               .transpose = rule ? NULL : linear_transpose,
	               .batch = ruled_batch,
	               .written = true,
	               .free_ud = free_ruled,
	               .each_ud = each_ruled};
	sp_at(sp, call->span);
	const HostId id = host_call_intern(sp->c, &def, 1, &s.fn, 0, NULL);
	if (rule && rule_check_mode(sp->c) != RULES_TRUSTED)
		rule_check_emit(sp->b, id, s.nargs, s.args, operand_names(sp, r, f),
		                rule->derivative.body->span);
	build_host(sp->b, id, s.nargs, s.args, results, n);
	return av_rebuild(sp, s.result, results, &k);
}

Av *sp_call_ruled(Sp *sp, Av *f, const CallArguments *call, const Ast *rule) {
	return call_ruled(sp, f, call, rule);
}

Av *sp_call_linear(Sp *sp, Av *f, Av *adjoint, Av *x, Span at) {
	CallArguments call = {.span = at,
	                      .callee_span = at,
	                      .n = 3,
	                      .args = (Av *[]){f, adjoint, x},
	                      .spans = (Span[]){at, at, at}};
	return call_ruled(sp, av_builtin(sp, "_apply_linear", 0, NULL), &call, NULL);
}

static void release_all(Ruled *r) {
	for (; r; r = r->next) {
		release_contents(r);
		release_all(r->batched);
	}
}

void ruled_release(Ctx *c, HashChains *t) {
	for (uint32_t i = 0; i < t->count; i++)
		for (HashLink *l = t->chains[i]; l; l = l->next) {
			Ruled *r = (Ruled *)(void *)l;
			release_contents(r);
			release_all(r->batched);
		}
	hash_free(c, t);
}
