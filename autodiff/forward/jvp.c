/* jvp.c - forward mode: a function and the tangents of its results, in one walk
 * over its instructions.
 *
 * Method: a rule per primitive and symbolic zeros, as in "Autodidax" in the JAX
 * documentation. A fixed point over loops finds which values have tangents
 * before anything is emitted, so that regions know what they carry.
 *
 * Needs: transform_cache.h, rules.h, and the derivative rules through
 * ir_services.
 *
 * Contract:
 * - The new function computes the results as the old one does, in the same
 *   order and with the same checks.
 * - A structurally zero tangent costs nothing.
 * - Every tangent is linear in the tangent parameters.
 * - A recursive call refers to the function under construction, which then has
 *   tangents for all inexact results.
 */
#include "autodiff/taylor/nested_jets.h"
#include "autodiff/core/rules.h"

/* In an entry's order: derivatives of functions as they were before
 * ad_optimise. */
enum { AS_WRITTEN = 1 };

typedef struct Jvp {
	Ctx *c;
	Builder *b;
	const Fn *f;
	Transform *d;
	RefMap map;   /* primal values */
	Ref *tangent; /* by value of f; REF_NONE: zero */
	/* By value of f: may have a tangent; for a dyn: the value inside may have
	 * one. */
	bool *active;
	Fn **rule; /* by instruction: the user's or the library's rule, once looked up */
	bool *asked;
	const char *transform;
} Jvp;

static void make_jvp(Ctx *c, Transform *d);

static const Region *region_of(const Jvp *j, const Inst *in, uint32_t k) {
	return inst_region(j->f, in, k);
}

static bool has_tangent(const Jvp *j, Ref r) { return type_has_tangent(j->c, ref_type(j->f, r)); }

static bool is_active(const Jvp *j, Ref r) { return ref_is_value(r) && j->active[REF_INDEX(r)]; }

/* Active, and an array: a tangent is emitted for it. */
static bool carries(const Jvp *j, Ref r) { return is_active(j, r) && has_tangent(j, r); }

static bool any_active(const Jvp *j, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (is_active(j, inst_arg(j->f, in, k))) return true;
	return false;
}

/* A rule written in the language for this instruction, or NULL. */
static Fn *written_rule(Jvp *j, const Inst *in) {
	InstId id = (InstId)(in - j->f->insts.at);
	if (!j->asked[id]) {
		const IrServices *s = ir_services(j->c);
		j->asked[id] = true;
		if (s->structural_rule) j->rule[id] = s->structural_rule(j->c, j->f, in);
		if (j->rule[id]) transform_own(j->d, j->rule[id]);
	}
	return j->rule[id];
}

static Fn *callee_of(const Jvp *j, const Inst *in) { return inst_callee(j->c, in); }

static Transform *jvp_of_callee(Jvp *j, const Inst *in) {
	bool *mask = ARENA_ARRAY(j->d->scratch, bool, in->nargs + 1u);
	for (uint32_t k = 0; k < in->nargs; k++) mask[k] = carries(j, inst_arg(j->f, in, k));
	Fn *callee = callee_of(j, in);
	return transform_get(j->c, j->d->order == AS_WRITTEN ? unoptimised_of(callee) : callee, TR_JVP,
	                     j->d->order, mask, make_jvp);
}

/* Whether the call is to an expansion along a scalar, differentiated again with
 * respect to that scalar alone. */
static bool calls_nested_jet(Jvp *j, const Inst *in, NestedJet *nested) {
	bool *active = ARENA_ARRAY(j->d->scratch, bool, in->nargs + 1u);
	for (uint32_t k = 0; k < in->nargs; k++) active[k] = carries(j, inst_arg(j->f, in, k));
	return nested_jet_match(j->c, in, active, 1, nested);
}

/* ---- which values have tangents ------------------------------------------ */

static void find_active(Jvp *j, const Region *g);

static bool raise_active(Jvp *j, Ref r) {
	bool was = j->active[REF_INDEX(r)];
	j->active[REF_INDEX(r)] = true;
	return !was;
}

static Ref region_result(const Jvp *j, const Region *g, uint32_t k) {
	return j->f->args.at[g->results + k];
}

/* A carried value is active when its initial value or its value after an
 * iteration is. */
static void find_active_loop(Jvp *j, const Inst *in, const Region *body, uint32_t skip) {
	uint32_t n = in->nresults;
	Ref first = ref_value(body->params + skip);
	for (uint32_t k = 0; k < n; k++)
		if (is_active(j, inst_arg(j->f, in, k + skip))) raise_active(j, first + k);
	for (bool more = true; more;) {
		more = false;
		find_active(j, body);
		for (uint32_t k = 0; k < n; k++)
			if (is_active(j, region_result(j, body, k))) more |= raise_active(j, first + k);
	}
	for (uint32_t k = 0; k < n; k++)
		if (is_active(j, first + k)) raise_active(j, inst_result(in, k));
}

static void all_results_active(Jvp *j, const Inst *in) {
	for (uint32_t k = 0; k < in->nresults; k++)
		if (has_tangent(j, inst_result(in, k))) raise_active(j, inst_result(in, k));
}

static void find_active_call(Jvp *j, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (is_active(j, inst_arg(j->f, in, k)) && !has_tangent(j, inst_arg(j->f, in, k)))
			no_rule(j->c, j->f, in, j->transform,
			        "is given a dynamic value that depends on what is differentiated");
	if (written_rule(j, in)) {
		all_results_active(j, in);
		return;
	}
	NestedJet nested;
	if (calls_nested_jet(j, in, &nested)) {
		for (uint32_t k = 0; k < in->nresults; k++)
			if ((k >= fn_nresults(nested.f) || nested.moves[k]) &&
			    has_tangent(j, inst_result(in, k)))
				raise_active(j, inst_result(in, k));
		return;
	}
	const Transform *d = jvp_of_callee(j, in);
	if (!d->done) all_results_active(j, in);
	for (uint32_t k = 0; d->done && k < in->nresults; k++)
		if (d->result_active[k]) raise_active(j, inst_result(in, k));
}

static void find_active_inst(Jvp *j, const Inst *in) {
	Op op = (Op)in->op;
	if (op == OP_IF || op == OP_TRY) {
		for (uint32_t i = 0; i < 2; i++) {
			const Region *g = region_of(j, in, i);
			find_active(j, g);
			for (uint32_t k = 0; k < in->nresults; k++)
				if (is_active(j, region_result(j, g, k))) raise_active(j, inst_result(in, k));
		}
		return;
	}
	if (op == OP_FOR || op == OP_WHILE) {
		find_active_loop(j, in, region_of(j, in, op == OP_WHILE), op == OP_FOR);
		return;
	}
	if (!any_active(j, in)) return;
	switch (op) {
	case OP_CALL: find_active_call(j, in); return;
	case OP_BOX: raise_active(j, inst_result(in, 0)); return;
	case OP_UNBOX:
	case OP_DYNAMIC:
		no_rule(j->c, j->f, in, j->transform,
		        "takes a value that depends on what is differentiated through a dynamic value, "
		        "where derivatives do not follow");
	default:
		if (prims[op].deriv != DERIV_ZERO) all_results_active(j, in);
	}
}

static void find_active(Jvp *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		find_active_inst(j, &j->f->insts.at[j->f->inst_order.at[g->insts + i]]);
}

/* ---- element-wise rules -------------------------------------------------- */

typedef struct Expansion { /* a scalar function being inlined at another shape */
	Ctx *c;
	Builder *b;
	const Fn *rule;
	TypeId like;
	Ref *values;
} Expansion;

static bool is_number(Builder *b, Ref r, double want) {
	Value v;
	if (!ref_splat(build_fn(b), r, &v)) return false;
	switch ((Dtype)v.dtype) {
	case DT_F32: return (double)v.f32 == want;
	case DT_F64: return v.f == want;
	case DT_C64: return v.c64 == want;
	case DT_C128: return v.c == want;
	default: return false;
	}
}

/* x / y, with x * x for x = 1 / y: the derivative of a reciprocal needs no
 * second division, and no y. */
static Ref quotient(Builder *b, Ref x, Ref y) {
	const Inst *in = ref_inst(build_fn(b), x);
	const bool reciprocal = in && in->op == OP_DIV && inst_arg(build_fn(b), in, 1) == y &&
	                        is_number(b, inst_arg(build_fn(b), in, 0), 1);
	return reciprocal ? build2(b, OP_MUL, x, x) : build2(b, OP_DIV, x, y);
}

static Ref expand(Expansion *e, Ref r) {
	if (ref_is_const(r)) {
		Ref k = build_const(e->b, ref_constant(e->rule, r)->value);
		return build_broadcast_scalar(e->b, k, e->like);
	}
	Ref *at = &e->values[REF_INDEX(r)];
	if (*at != REF_NONE) return *at;
	const Inst *in = ref_inst(e->rule, r);
	if (!in || !(prims[in->op].elementwise || in->op == OP_SELECT || in->op == OP_CONVERT ||
	             in->op == OP_STOP)) {
		diag_error(e->c, E_RULE, span_of(e->c, in ? in->span : e->rule->span),
		           "the rule `%s` is not one expression of arithmetic: it uses `%s`",
		           atom_text(e->c, e->rule->name),
		           in ? prims[in->op].name : "a parameter that it does not have");
		ctx_throw(e->c, ST_ERROR);
	}
	Ref args[3];
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = expand(e, inst_arg(e->rule, in, k));
	return *at = in->op == OP_DIV ? quotient(e->b, args[0], args[1])
	                              : build(e->b, (Op)in->op, in->nargs, args, in->attr, NULL);
}

/* Element-wise derivatives: the partials (x.., y) -> d y / d x_k of a RULE
 * primitive, at the operands' shape. wanted[k] selects which to emit; the
 * others are REF_NONE, as are those that are zero. */
static void elementwise_partials(Builder *b, const Fn *f, const Inst *in, const char *transform,
                                 const Ref *x, Ref y, const bool *wanted, Ref *partials) {
	Ctx *c = build_ctx(b);
	const IrServices *s = ir_services(c);
	Dtype d = dtype_in(b, x[0]);
	const Fn *rule = s->elementwise_rule ? s->elementwise_rule(c, (Op)in->op, d) : NULL;
	if (!rule) no_rule(c, f, in, transform, "has no line of calculus, so there is no derivative");
	if (fn_nparams(rule) != in->nargs + 1 || fn_nresults(rule) != in->nargs) {
		diag_error(c, E_RULE, span_of(c, rule->span),
		           "the rule of `%s` takes its %u operands and the result, and gives %u values",
		           prims[in->op].name, in->nargs, in->nargs);
		ctx_throw(c, ST_ERROR);
	}
	Arena *scratch = arena_new(c);
	Expansion e = {.c = c, .b = b, .rule = rule, .like = type_id_in(b, x[0])};
	e.values = ARENA_ARRAY(scratch, Ref, rule->vals.n + 1u);
	for (uint32_t k = 0; k < in->nargs; k++) e.values[REF_INDEX(fn_param(rule, k))] = x[k];
	e.values[REF_INDEX(fn_param(rule, in->nargs))] = y;
	for (uint32_t k = 0; k < in->nargs; k++) {
		partials[k] = wanted[k] ? expand(&e, fn_result(rule, k)) : REF_NONE;
		if (partials[k] != REF_NONE && is_number(b, partials[k], 0)) partials[k] = REF_NONE;
	}
	arena_free(scratch);
}

/* ---- emitting ------------------------------------------------------------ */

static void emit_region(Jvp *j, const Region *g);

static Ref primal(Jvp *j, Ref r) { return refmap_get(j->b, &j->map, r); }

static Ref tangent(const Jvp *j, Ref r) {
	return ref_is_value(r) ? j->tangent[REF_INDEX(r)] : REF_NONE;
}

static Ref tangent_or_zeros(Jvp *j, Ref r) {
	Ref t = tangent(j, r);
	return t != REF_NONE ? t : build_zeros(j->b, type_id_in(j->b, primal(j, r)));
}

/* A tangent has its value's type; extents that differ in their symbols are
 * unified. */
static void set_tangent(Jvp *j, Ref r, Ref t) {
	if (t == REF_NONE || !has_tangent(j, r)) return;
	Type mine = type_in(j->b, t), value = type_in(j->b, primal(j, r));
	for (uint32_t k = 0; k < mine.rank && k < value.rank; k++)
		build_unify(j->b, value.dims[k], mine.dims[k], atom(j->c, "a value and its tangent"));
	j->tangent[REF_INDEX(r)] = t;
}

static void set_results(Jvp *j, const Inst *in, const Ref *results) {
	uint32_t at = in->nresults;
	for (uint32_t k = 0; k < in->nresults; k++) {
		refmap_set(&j->map, inst_result(in, k), results[k]);
		if (ref_is_value(results[k]))
			build_name(j->b, results[k], j->f->vals.at[in->results + k].name);
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		if (carries(j, inst_result(in, k))) set_tangent(j, inst_result(in, k), results[at++]);
}

/* Closes a region. Its results are followed by the tangents of those flagged
 * active at `like` (results or parameters). */
static RegionId close_region(Jvp *j, OpenRegion *open, const Region *g, Ref like) {
	Ref *results = ARENA_ARRAY(j->d->scratch, Ref, 2 * g->nresults + 1u);
	uint32_t n = g->nresults;
	for (uint32_t k = 0; k < g->nresults; k++) results[k] = primal(j, region_result(j, g, k));
	for (uint32_t k = 0; k < g->nresults; k++)
		if (carries(j, like + k)) results[n++] = tangent_or_zeros(j, region_result(j, g, k));
	return build_region_end(j->b, open, n, results);
}

static void emit_branches(Jvp *j, const Inst *in) {
	RegionId regions[2];
	for (uint32_t i = 0; i < 2; i++) {
		const Region *g = region_of(j, in, i);
		TypeId message = type_dyn(j->c);
		Ref param;
		OpenRegion *open = build_region_begin(j->b, g->nparams, &message, &param);
		if (g->nparams) refmap_set(&j->map, ref_value(g->params), param);
		emit_region(j, g);
		regions[i] = close_region(j, open, g, inst_result(in, 0));
	}
	Ref *results = ARENA_ARRAY(j->d->scratch, Ref, 2 * in->nresults + 1u);
	if (in->op == OP_IF)
		build_if(j->b, primal(j, inst_arg(j->f, in, 0)), regions[0], regions[1], results);
	else build_try(j->b, regions[0], regions[1], results);
	set_results(j, in, results);
}

/* The parameters are the old ones, then the tangents of the active carried
 * ones. */
static OpenRegion *open_loop_region(Jvp *j, const Region *g, uint32_t skip) {
	uint32_t n = g->nparams;
	TypeId *types = ARENA_ARRAY(j->d->scratch, TypeId, 2 * n + 1u);
	Ref *params = ARENA_ARRAY(j->d->scratch, Ref, 2 * n + 1u);
	for (uint32_t k = 0; k < g->nparams; k++)
		types[k] = refmap_type(j->b, &j->map, j->f->vals.at[g->params + k].type);
	for (uint32_t k = skip; k < g->nparams; k++)
		if (carries(j, ref_value(g->params + k))) types[n++] = types[k];
	OpenRegion *open = build_region_begin(j->b, n, types, params);
	uint32_t at = g->nparams;
	for (uint32_t k = 0; k < g->nparams; k++) {
		refmap_set(&j->map, ref_value(g->params + k), params[k]);
		build_name(j->b, params[k], j->f->vals.at[g->params + k].name);
	}
	for (uint32_t k = skip; k < g->nparams; k++)
		if (carries(j, ref_value(g->params + k))) j->tangent[g->params + k] = params[at++];
	return open;
}

static void emit_loop(Jvp *j, const Inst *in) {
	bool counted = in->op == OP_FOR;
	const Region *body = region_of(j, in, !counted);
	uint32_t skip = counted, n = in->nresults;
	Ref *init = ARENA_ARRAY(j->d->scratch, Ref, 2 * n + 1u),
		*results = ARENA_ARRAY(j->d->scratch, Ref, 2 * n + 1u);
	uint32_t at = n;
	for (uint32_t k = 0; k < n; k++) init[k] = primal(j, inst_arg(j->f, in, k + skip));
	for (uint32_t k = 0; k < n; k++)
		if (carries(j, ref_value(body->params + skip + k)))
			init[at++] = tangent_or_zeros(j, inst_arg(j->f, in, k + skip));
	RegionId condition = 0;
	if (!counted) {
		/* The condition has the tangents as parameters but does not use them,
		 * so it is copied. A parameter of the condition is active where the
		 * body's is. */
		const Region *g = region_of(j, in, 0);
		for (uint32_t k = 0; k < n; k++) j->active[g->params + k] = j->active[body->params + k];
		OpenRegion *open = open_loop_region(j, g, 0);
		for (uint32_t i = 0; i < g->ninsts; i++)
			build_copy_inst(j->b, &j->map, &j->f->insts.at[j->f->inst_order.at[g->insts + i]]);
		Ref go_on = primal(j, region_result(j, g, 0));
		condition = build_region_end(j->b, open, 1, &go_on);
	}
	OpenRegion *open = open_loop_region(j, body, skip);
	emit_region(j, body);
	RegionId turn = close_region(j, open, body, ref_value(body->params + skip));
	if (counted) build_for(j->b, primal(j, inst_arg(j->f, in, 0)), at, init, turn, results);
	else build_while(j->b, at, init, condition, turn, results);
	set_results(j, in, results);
}

/* Calls a rule written in the language. It takes the operands, the results, and
 * a tangent for each operand that can have one. */
static void emit_written_rule(Jvp *j, const Inst *in, const Fn *rule) {
	Ref *args = ARENA_ARRAY(j->d->scratch, Ref, 2 * in->nargs + in->nresults + 1u);
	Ref *results = ARENA_ARRAY(j->d->scratch, Ref, in->nresults + 1u);
	uint32_t n = 0, m = 0;
	for (uint32_t k = 0; k < in->nargs; k++) args[n++] = primal(j, inst_arg(j->f, in, k));
	for (uint32_t k = 0; k < in->nresults; k++) args[n++] = primal(j, inst_result(in, k));
	for (uint32_t k = 0; k < in->nargs; k++)
		if (has_tangent(j, inst_arg(j->f, in, k)))
			args[n++] = tangent_or_zeros(j, inst_arg(j->f, in, k));
	for (uint32_t k = 0; k < in->nresults; k++) m += has_tangent(j, inst_result(in, k));
	if (fn_nparams(rule) != n || fn_nresults(rule) != m) {
		diag_error(j->c, E_RULE, span_of(j->c, in->span),
		           "the rule `%s` takes %u values and gives %u; it should take %u and give %u",
		           atom_text(j->c, rule->name), fn_nparams(rule), fn_nresults(rule), n, m);
		ctx_throw(j->c, ST_ERROR);
	}
	build_inline(j->b, rule, args, results);
	m = 0;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (has_tangent(j, inst_result(in, k))) set_tangent(j, inst_result(in, k), results[m++]);
}

static void emit_longer_jet(Jvp *j, const Inst *in, const NestedJet *nested) {
	Arena *a = j->d->scratch;
	Ref *args = ARENA_ARRAY(a, Ref, in->nargs + 1u),
		*results = ARENA_ARRAY(a, Ref, 2 * in->nresults + 1u),
		*further = ARENA_ARRAY(a, Ref, in->nresults + 1u);
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = primal(j, inst_arg(j->f, in, k));
	nested_jet_expand(j->c, j->b, a, nested, args, tangent(j, inst_arg(j->f, in, nested->param)), 1,
	                  results, further);
	uint32_t n = in->nresults;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (carries(j, inst_result(in, k)))
			results[n++] = or_zeros(j->b, further[k], type_id_in(j->b, results[k]));
	set_results(j, in, results);
}

static void emit_call(Jvp *j, const Inst *in) {
	const Fn *rule = written_rule(j, in);
	if (rule) {
		build_copy_inst(j->b, &j->map, in);
		emit_written_rule(j, in, rule);
		return;
	}
	NestedJet nested;
	if (calls_nested_jet(j, in, &nested)) {
		emit_longer_jet(j, in, &nested);
		return;
	}
	const Transform *d = jvp_of_callee(j, in);
	Arena *a = j->d->scratch;
	Ref *args = ARENA_ARRAY(a, Ref, 2 * in->nargs + 1u),
		*results = ARENA_ARRAY(a, Ref, 2 * in->nresults + 1u);
	uint32_t n = in->nargs, m = in->nresults;
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = primal(j, inst_arg(j->f, in, k));
	for (uint32_t k = 0; k < in->nargs; k++)
		if (d->mask[k]) args[n++] = tangent_or_zeros(j, inst_arg(j->f, in, k));
	if (d->done) build_call(j->b, d->fn, n, args, results);
	else {
		TypeId *types = ARENA_ARRAY(a, TypeId, 2 * in->nresults + 1u);
		for (uint32_t k = 0; k < in->nresults; k++)
			types[k] = refmap_type(j->b, &j->map, j->f->vals.at[in->results + k].type);
		for (uint32_t k = 0; k < in->nresults; k++)
			if (carries(j, inst_result(in, k))) types[m++] = types[k];
		int64_t word = d->fn->id;
		build_typed(j->b, OP_CALL, n, args, attr_intern(j->c, &word, 1), m, types, results);
	}
	set_results(j, in, results);
}

static void emit_host(Jvp *j, const Inst *in, const Ref *x, const Ref *y, const Ref *dx, Ref *dy) {
	const HostCall *h = host_call(j->c, (HostId)attr_int(j->c, OP_HOST, in->attr, 0));
	if (!h->def->jvp) no_rule(j->c, j->f, in, j->transform, "has no derivative");
	h->def->jvp(j->b, h, in->nargs, x, y, dx, dy);
}

static Ref emit_linear(Jvp *j, const Inst *in, AttrId attr, const Ref *x, const Ref *dx) {
	Builder *b = j->b;
	if (in->op == OP_ADD) return sum_of(b, dx[0], dx[1]);
	if (in->op == OP_SUB) {
		if (dx[1] == REF_NONE) return dx[0];
		return dx[0] == REF_NONE ? build1(b, OP_NEG, dx[1]) : build2(b, OP_SUB, dx[0], dx[1]);
	}
	Ref *full = ARENA_ARRAY(j->d->scratch, Ref, in->nargs + 1u);
	for (uint32_t k = 0; k < in->nargs; k++) full[k] = or_zeros(b, dx[k], type_id_in(b, x[k]));
	return build(b, (Op)in->op, in->nargs, full, attr, NULL);
}

static Ref emit_bilinear(Jvp *j, const Inst *in, AttrId attr, const Ref *x, const Ref *dx) {
	Ref left =
		dx[0] == REF_NONE ? REF_NONE : build(j->b, (Op)in->op, 2, (Ref[]){dx[0], x[1]}, attr, NULL);
	Ref right =
		dx[1] == REF_NONE ? REF_NONE : build(j->b, (Op)in->op, 2, (Ref[]){x[0], dx[1]}, attr, NULL);
	return sum_of(j->b, left, right);
}

static Ref emit_elementwise(Jvp *j, const Inst *in, const Ref *x, Ref y, const Ref *dx) {
	bool wanted[2] = {false};
	Ref partials[2], sum = REF_NONE;
	for (uint32_t k = 0; k < in->nargs; k++) wanted[k] = dx[k] != REF_NONE;
	elementwise_partials(j->b, j->f, in, j->transform, x, y, wanted, partials);
	for (uint32_t k = 0; k < in->nargs; k++)
		if (wanted[k] && partials[k] != REF_NONE)
			sum = sum_of(j->b, sum, build2(j->b, OP_MUL, partials[k], dx[k]));
	return sum;
}

typedef void (*JvpRuleFn)(JvpRule *r);
static const JvpRuleFn structural[OP_COUNT] = {
#define EW1(ID, ...)
#define EW2(ID, ...)
#define ST(ID, name, NARGS, NRES, attr, DERIV, EFFECT, WORK, doc) JVP_BIND_##DERIV(ID)
#define JVP_BIND_RULE(ID) [OP_##ID] = jvp_##ID,
#define JVP_BIND_NONLINEAR(ID) [OP_##ID] = jvp_##ID,
#define JVP_BIND_LINEAR(ID)
#define JVP_BIND_BILINEAR(ID)
#define JVP_BIND_ZERO(ID)
#define JVP_BIND_STRUCT(ID)
#include "lang/ir/prims.def"
};

/* An instruction without regions: the primal, then the tangents of its
 * results. */
static void emit_plain(Jvp *j, const Inst *in) {
	Op op = (Op)in->op;
	Arena *a = j->d->scratch;
	build_copy_inst(j->b, &j->map, in);
	if (prims[op].deriv == DERIV_ZERO) return;
	Ref *x = ARENA_ARRAY(a, Ref, in->nargs + 1u), *dx = ARENA_ARRAY(a, Ref, in->nargs + 1u);
	Ref *y = ARENA_ARRAY(a, Ref, in->nresults + 1u), *dy = ARENA_ARRAY(a, Ref, in->nresults + 1u);
	bool some = false, wanted = false;
	for (uint32_t k = 0; k < in->nargs; k++) {
		x[k] = primal(j, inst_arg(j->f, in, k));
		dx[k] = tangent(j, inst_arg(j->f, in, k));
		some |= dx[k] != REF_NONE;
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		y[k] = primal(j, inst_result(in, k));
		wanted |= has_tangent(j, inst_result(in, k));
	}
	if (!some || !wanted) return;
	AttrId attr = attr_subst(j->c, op, in->attr, j->map.dims, j->map.ndims);
	const Fn *rule;
	switch ((DerivKind)prims[op].deriv) {
	case DERIV_LINEAR: dy[0] = emit_linear(j, in, attr, x, dx); break;
	case DERIV_BILINEAR: dy[0] = emit_bilinear(j, in, attr, x, dx); break;
	case DERIV_STRUCT: emit_host(j, in, x, y, dx, dy); break;
	case DERIV_RULE:
		if (prims[op].elementwise) dy[0] = emit_elementwise(j, in, x, y[0], dx);
		else if ((rule = written_rule(j, in))) emit_written_rule(j, in, rule);
		else structural[op](&(JvpRule){j->c, j->b, j->f, in, attr, x, y, dx, dy});
		break;
	default: break;
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		if (dy[k] != REF_NONE) set_tangent(j, inst_result(in, k), dy[k]);
}

static void emit_inst(Jvp *j, const Inst *in) {
	bool some = any_active(j, in);
	for (uint32_t k = 0; k < in->nresults; k++) some |= is_active(j, inst_result(in, k));
	if (!some) {
		build_copy_inst(j->b, &j->map, in);
		return;
	}
	build_at(j->b, in->span);
	build_chain(j->b, chain_push(j->c, in->chain, j->transform));
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: emit_branches(j, in); break;
	case OP_FOR:
	case OP_WHILE: emit_loop(j, in); break;
	case OP_CALL: emit_call(j, in); break;
	default: emit_plain(j, in);
	}
}

static void emit_region(Jvp *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		emit_inst(j, &j->f->insts.at[j->f->inst_order.at[g->insts + i]]);
}

/* ---- the transform ------------------------------------------------------- */

static void make_jvp(Ctx *c, Transform *d) {
	Fn *f = d->from;
	Arena *a = d->scratch;
	uint32_t nparams = fn_nparams(f), nresults = fn_nresults(f);
	Jvp j = {.c = c, .f = f, .d = d, .transform = "jvp"};
	j.b = build_begin(c, transform_name(c, f, "jvp"), f->span, f);
	j.map = refmap_new(j.b, f, true);
	j.tangent = ARENA_ARRAY(a, Ref, f->vals.n + 1u);
	j.active = ARENA_ARRAY(a, bool, f->vals.n + 1u);
	j.rule = ARENA_ARRAY(a, Fn *, f->insts.n + 1u);
	j.asked = ARENA_ARRAY(a, bool, f->insts.n + 1u);
	for (uint32_t k = 0; k < nparams; k++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		refmap_set(&j.map, fn_param(f, k), build_param(j.b, v->type, v->name));
	}
	for (uint32_t k = 0; k < nparams; k++) {
		if (!d->mask[k]) continue;
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		Atom name = v->name ? atom_f(c, "d%s", atom_text(c, v->name)) : 0;
		j.tangent[REF_INDEX(fn_param(f, k))] = build_param(j.b, v->type, name);
		raise_active(&j, fn_param(f, k));
	}
	d->fn = build_fn(j.b);
	find_active(&j, &f->regions.at[0]);
	emit_region(&j, &f->regions.at[0]);

	Ref *results = ARENA_ARRAY(a, Ref, 2 * nresults + 1u);
	uint32_t n = nresults;
	for (uint32_t k = 0; k < nresults; k++) results[k] = primal(&j, fn_result(f, k));
	for (uint32_t k = 0; k < nresults; k++) {
		/* A recursive call assumes a tangent for every result that can have
		 * one. */
		d->result_active[k] = tangent(&j, fn_result(f, k)) != REF_NONE ||
		                      (d->recursive && has_tangent(&j, fn_result(f, k)));
		if (d->result_active[k]) results[n++] = tangent_or_zeros(&j, fn_result(f, k));
	}
	d->fn = transform_own(d, build_end(j.b, n, results));
	TransformInfo origin = {.is_jvp = true, .jvp_params = nparams, .jvp_results = nresults};
	nested_jet_mark(d, 1, &origin);
	transform_info_set(c, d->fn, origin);
}

static Fn *jvp_of(Ctx *c, Fn *f, uint32_t order, const bool *active, bool *result_active) {
	const Transform *d = transform_get(c, f, TR_JVP, order, active, make_jvp);
	if (result_active)
		memcpy(result_active, d->result_active, fn_nresults(f) * sizeof *result_active);
	return d->fn;
}

Fn *ad_jvp(Ctx *c, Fn *f, const bool *active, bool *result_active) {
	return jvp_of(c, f, 0, active, result_active);
}

Fn *ad_forward(Ctx *c, Fn *f, const bool *active, bool *result_active) {
	return jvp_of(c, unoptimised_of(f), AS_WRITTEN, active, result_active);
}
