/* transpose.c - the transpose of a linear function: cotangents of its results
 * to cotangents of its parameters.
 *
 * Method: one forward walk emits everything that does not depend on the linear
 * parameters; one backward walk applies the adjoint of each linear instruction
 * (Frostig et al., "Decomposing reverse-mode automatic differentiation", 2021).
 * A loop stays a loop, a branch a branch, a call a call. A loop accumulates the
 * cotangents of values captured from outside in carried values, updated in
 * place where the rule allows.
 *
 * A function not in the form of a split's linear part is split first, for
 * example when a loop also carries values that are not linear. checkpoint.c
 * makes the transpose of a checkpointed loop, which is a function of its own
 * here.
 *
 * Needs: primal_linear.h, rules.h.
 *
 * Contract:
 * - As for ad_transpose in autodiff.h.
 */
#include "autodiff/reverse/primal_linear.h"

typedef struct Back {
	Ctx *c;
	Fn *f;
	Builder *b;
	Transform *d;
	Arena *a;
	LinearValues dep;
	RefMap map; /* values that do not depend on the linear parameters */
	/* By value of f: its cotangent accumulated so far; REF_NONE: zero. */
	Ref *ct;
	/* By symbol of f: bound in the new function. Those that only linear values
	 * have in their shape are bound by a guard. */
	bool *born;
} Back;

static void make_transpose(Ctx *c, Transform *d);

static const Inst *inst_at(const Back *t, const Region *g, uint32_t i) {
	return &t->f->insts.at[t->f->inst_order.at[g->insts + i]];
}

static bool is_linear(const Back *t, Ref r) { return depends_on(&t->dep, r); }

static Ref region_result(const Back *t, const Region *g, uint32_t k) {
	return t->f->args.at[g->results + k];
}

static Ref *refs(Back *t, uint32_t n) { return ARENA_ARRAY(t->a, Ref, n + 1u); }

static TypeId type_here(Back *t, Ref r) { return refmap_type(t->b, &t->map, ref_type(t->f, r)); }

static Ref value(Back *t, Ref r) { return refmap_get(t->b, &t->map, r); }

/* ---- extents ------------------------------------------------------------- */

static void visit_birth(void *ud, SymId s) {
	Back *t = ud;
	t->born[s] = true;
}

static void give_birth(Back *t, TypeId type) {
	Type ty = *type_of(t->c, type);
	for (uint32_t k = 0; ty.kind == TY_TENSOR && k < ty.rank; k++)
		dim_each_sym(t->c, ty.dims[k], visit_birth, t);
}

typedef struct AllBorn {
	const Back *t;
	bool all;
} AllBorn;

static void visit_born(void *ud, SymId s) {
	AllBorn *a = ud;
	a->all = a->all && a->t->born[s];
}

static bool all_born(const Back *t, Dim d) {
	AllBorn a = {t, true};
	dim_each_sym(t->c, d, visit_born, &a);
	return a.all;
}

/* ---- cotangents ---------------------------------------------------------- */

static Ref ct_of(const Back *t, Ref r) { return is_linear(t, r) ? t->ct[REF_INDEX(r)] : REF_NONE; }

static Ref ct_or_zeros(Back *t, Ref r) {
	Ref w = ct_of(t, r);
	if (w != REF_NONE) return w;
	const Type *ty = ref_ty(t->f, r);
	for (uint32_t k = 0; k < ty->rank; k++) {
		if (all_born(t, ty->dims[k])) continue;
		diag_error(
			t->c, E_NO_RULE, span_of(t->c, build_span(t->b)),
			"`%s` cannot be run backwards: nothing tells how long axis %u of a value in it is",
			atom_text(t->c, t->f->name), k);
		ctx_throw(t->c, ST_ERROR);
	}
	return build_zeros(t->b, type_here(t, r));
}

/* Unifies extents with different symbols. */
static void agree(Back *t, TypeId x, TypeId y) {
	Type a = *type_of(t->c, x), b = *type_of(t->c, y);
	for (uint32_t k = 0; k < a.rank && k < b.rank; k++)
		build_unify(t->b, a.dims[k], b.dims[k], atom(t->c, "a value and its cotangent"));
}

static void add_ct(Back *t, Ref r, Ref w) {
	if (w == REF_NONE || !is_linear(t, r)) return;
	agree(t, type_here(t, r), type_id_in(t->b, w));
	t->ct[REF_INDEX(r)] = sum_of(t->b, t->ct[REF_INDEX(r)], w);
}

void cotangent_add(TransposeRule *r, uint32_t k, Ref w) {
	add_ct(r->state, inst_arg(r->f, r->in, k), w);
}

Ref cotangent_take(TransposeRule *r, uint32_t k) {
	return ct_or_zeros(r->state, inst_arg(r->f, r->in, k));
}

void cotangent_put(TransposeRule *r, uint32_t k, Ref w) {
	Back *t = r->state;
	t->ct[REF_INDEX(inst_arg(r->f, r->in, k))] = w;
}

void not_linear(TransposeRule *r) {
	no_rule(r->c, r->f, r->in, "transpose",
	        "is applied to a tangent, but is not linear: a rule of differentiation must be");
}

/* ---- forward: values that do not depend on the linear parameters --------- */

/* An extent that only a linear value has (of a loop that changes it, or of an
 * `if` whose branches differ) is unbound here. A guard in the linear part gives
 * the extent it is equal to; it is bound to that. */
static void copy_guard(Back *t, const Inst *in) {
	Dim sides[2] = {(Dim)attr_int(t->c, OP_GUARD, in->attr, 0),
	                (Dim)attr_int(t->c, OP_GUARD, in->attr, 1)};
	for (uint32_t k = 0; k < 2; k++) {
		SymId s;
		if (!dim_is_sym(t->c, sides[k], &s) || t->born[s] || !all_born(t, sides[1 - k])) continue;
		t->map.dims[s] =
			build_canon(t->b, dim_subst(t->c, sides[1 - k], t->map.dims, t->map.ndims));
		t->born[s] = true;
		return;
	}
	if (all_born(t, sides[0]) && all_born(t, sides[1])) build_copy_inst(t->b, &t->map, in);
}

static void copy_plain(Back *t, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = inst_at(t, g, i);
		if (in->op == OP_GUARD) {
			copy_guard(t, in);
			continue;
		}
		if (touches_linear(&t->dep, in)) continue;
		build_copy_inst(t->b, &t->map, in);
		if (in->op == OP_BIND)
			dim_each_sym(t->c, (Dim)attr_int(t->c, OP_BIND, in->attr, 0), visit_birth, t);
		for (uint32_t k = 0; k < in->nresults; k++)
			give_birth(t, t->f->vals.at[in->results + k].type);
	}
}

/* ---- backward ------------------------------------------------------------ */

static void back_region(Back *t, const Region *g);

typedef VEC(Ref) RefList;

/* The linear values from outside that the region uses, without duplicates. */
static void find_captured(Back *t, const Region *g, RegionId inside, RefList *out);

static bool stands_in(const Back *t, RegionId r, RegionId outer) {
	for (;;) {
		if (r == outer) return true;
		InstId owner = t->f->regions.at[r].owner;
		if (owner == NO_INST) return false;
		r = t->f->insts.at[owner].parent;
	}
}

static void note_captured(Back *t, Ref r, RegionId inside, RefList *out) {
	if (!is_linear(t, r) || stands_in(t, t->f->vals.at[REF_INDEX(r)].region, inside)) return;
	for (uint32_t k = 0; k < out->n; k++)
		if (out->at[k] == r) return;
	VEC_PUSH(t->a, out, r);
}

static void find_captured(Back *t, const Region *g, RegionId inside, RefList *out) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = inst_at(t, g, i);
		for (uint32_t k = 0; k < in->nargs; k++)
			note_captured(t, inst_arg(t->f, in, k), inside, out);
		for (uint32_t k = 0; k < in->nregions; k++)
			find_captured(t, inst_region(t->f, in, k), inside, out);
	}
	for (uint32_t k = 0; k < g->nresults; k++)
		note_captured(t, region_result(t, g, k), inside, out);
}

static void back_if(Back *t, const Inst *in) {
	RegionId closed[2];
	RefList captured = {0};
	for (uint32_t i = 0; i < 2; i++)
		find_captured(t, inst_region(t->f, in, i), t->f->region_ids.at[in->regions + i], &captured);
	if (!captured.n) return;
	Ref *before = refs(t, captured.n), *results = refs(t, captured.n);
	for (uint32_t k = 0; k < captured.n; k++) before[k] = t->ct[REF_INDEX(captured.at[k])];
	for (uint32_t i = 0; i < 2; i++) {
		const Region *g = inst_region(t->f, in, i);
		OpenRegion *open = build_region_begin(t->b, 0, NULL, NULL);
		copy_plain(t, g);
		for (uint32_t k = 0; k < in->nresults; k++)
			add_ct(t, region_result(t, g, k), ct_of(t, inst_result(in, k)));
		back_region(t, g);
		for (uint32_t k = 0; k < captured.n; k++) {
			results[k] = ct_or_zeros(t, captured.at[k]);
			t->ct[REF_INDEX(captured.at[k])] = before[k];
		}
		closed[i] = build_region_end(t->b, open, captured.n, results);
	}
	build_if(t->b, value(t, inst_arg(t->f, in, 0)), closed[0], closed[1], results);
	for (uint32_t k = 0; k < captured.n; k++) {
		/* Equalities found in a branch end with it, so the `if` may introduce
		 * an extent of its own. It is equal to the value's. */
		agree(t, type_here(t, captured.at[k]), type_id_in(t->b, results[k]));
		t->ct[REF_INDEX(captured.at[k])] = results[k];
	}
}

/* Symbols defined by the loop's parameters: the varying extents of carried
 * values. The cotangent's parameters get fresh symbols. */
typedef struct Varying {
	Back *t;
	RegionId outside;
	Dim *fresh; /* by symbol; UINT32_MAX: does not vary */
} Varying;

static void visit_varying(void *ud, SymId s) {
	Varying *v = ud;
	if (v->fresh[s] == UINT32_MAX) v->fresh[s] = UINT32_MAX - 1;
}

static bool dim_known_outside(Back *t, const Inst *in, uint32_t k, Dim d, uint32_t axis) {
	/* The loop's result has the parameter's dims wherever no iteration changes
	 * them. */
	return type_of(t->c, ref_type(t->f, inst_result(in, k)))->dims[axis] == d;
}

static void back_for(Back *t, const Inst *in) {
	Builder *b = t->b;
	const Region *g = inst_region(t->f, in, 0);
	RegionId inside = t->f->region_ids.at[in->regions];
	uint32_t n = in->nresults, nsyms = t->f->syms.n;
	RefList captured = {0};
	find_captured(t, g, inside, &captured);
	uint32_t m = n + captured.n;
	Ref *init = refs(t, m), *params = refs(t, m + 1), *out = refs(t, m), *results = refs(t, m);
	TypeId *types = ARENA_ARRAY(t->a, TypeId, m + 2u);

	Varying v = {.t = t, .fresh = ARENA_ARRAY(t->a, Dim, nsyms + 1u)};
	memset(v.fresh, 0xff, nsyms * sizeof *v.fresh);
	for (uint32_t k = 0; k < n; k++) {
		Type p = *ref_ty(t->f, ref_value(g->params + 1 + k));
		for (uint32_t a = 0; a < p.rank; a++)
			if (!dim_known_outside(t, in, k, p.dims[a], a))
				dim_each_sym(t->c, p.dims[a], visit_varying, &v);
	}
	for (SymId s = 0; s < nsyms; s++) {
		if (v.fresh[s] == UINT32_MAX) continue;
		t->map.dims[s] = v.fresh[s] = build_fresh_dim(b, t->f->syms.at[s].name, in->span);
		t->born[s] = false;
	}
	types[0] = type_scalar(t->c, DT_I64);
	for (uint32_t k = 0; k < n; k++) {
		init[k] = ct_or_zeros(t, inst_result(in, k));
		types[k + 1] = type_here(t, ref_value(g->params + 1 + k));
	}
	for (uint32_t k = 0; k < captured.n; k++) {
		init[n + k] = ct_or_zeros(t, captured.at[k]);
		types[n + k + 1] = type_here(t, captured.at[k]);
	}
	Ref count = value(t, inst_arg(t->f, in, 0));
	OpenRegion *open = build_region_begin(b, m + 1, types, params);
	Ref last = build2(b, OP_SUB, count, build_i64(b, 1));
	refmap_set(&t->map, ref_value(g->params), build2(b, OP_SUB, last, params[0]));
	copy_plain(t, g);
	for (uint32_t k = 0; k < n; k++) t->ct[g->params + 1 + k] = REF_NONE;
	for (uint32_t k = 0; k < captured.n; k++) t->ct[REF_INDEX(captured.at[k])] = params[n + 1 + k];
	for (uint32_t k = 0; k < n; k++) add_ct(t, region_result(t, g, k), params[k + 1]);
	back_region(t, g);
	for (uint32_t k = 0; k < n; k++) out[k] = ct_or_zeros(t, ref_value(g->params + 1 + k));
	for (uint32_t k = 0; k < captured.n; k++) out[n + k] = ct_or_zeros(t, captured.at[k]);
	build_for(b, count, m, init, build_region_end(b, open, m, out), results);
	for (uint32_t k = 0; k < captured.n; k++) t->ct[REF_INDEX(captured.at[k])] = results[n + k];
	for (uint32_t k = 0; k < n; k++) add_ct(t, inst_arg(t->f, in, k + 1), results[k]);
}

static void back_call(Back *t, const Inst *in) {
	Fn *callee = inst_callee(t->c, in);
	uint32_t from = transform_info(callee).linear_from, nlinear = in->nargs - from, n = from;
	const Transform *d = transform_get(t->c, callee, TR_TRANSPOSE, from, NULL, make_transpose);
	Ref *args = refs(t, from + in->nresults), *results = refs(t, nlinear);
	for (uint32_t k = 0; k < from; k++) args[k] = value(t, inst_arg(t->f, in, k));
	for (uint32_t k = 0; k < in->nresults; k++) args[n++] = ct_or_zeros(t, inst_result(in, k));
	if (d->done) build_call(t->b, d->fn, n, args, results);
	else {
		TypeId *types = ARENA_ARRAY(t->a, TypeId, nlinear + 1u);
		for (uint32_t k = 0; k < nlinear; k++)
			types[k] = type_here(t, inst_arg(t->f, in, from + k));
		int64_t word = d->fn->id;
		build_typed(t->b, OP_CALL, n, args, attr_intern(t->c, &word, 1), nlinear, types, results);
	}
	for (uint32_t k = 0; k < nlinear; k++) add_ct(t, inst_arg(t->f, in, from + k), results[k]);
}

typedef void (*TransposeRuleFn)(TransposeRule *r);
static const TransposeRuleFn rules[OP_COUNT] = {
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	TRANSPOSE_BIND_##DERIV(ID)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	TRANSPOSE_BIND_##DERIV(ID)
#define ST(ID, name, NARGS, NRES, attr, DERIV, EFFECT, WORK, doc) TRANSPOSE_BIND_##DERIV(ID)
#define TRANSPOSE_BIND_RULE(ID) [OP_##ID] = transpose_##ID,
#define TRANSPOSE_BIND_NONLINEAR(ID) [OP_##ID] = not_linear,
#define TRANSPOSE_BIND_LINEAR(ID) [OP_##ID] = transpose_##ID,
#define TRANSPOSE_BIND_BILINEAR(ID) [OP_##ID] = transpose_##ID,
#define TRANSPOSE_BIND_ZERO(ID)
#define TRANSPOSE_BIND_STRUCT(ID)
#include "lang/ir/prims.def"
};

static void back_plain(Back *t, const Inst *in) {
	uint32_t n = in->nargs;
	Ref *x = refs(t, n), *w = refs(t, in->nresults);
	bool *linear = ARENA_ARRAY(t->a, bool, n + 1u);
	TypeId *types = ARENA_ARRAY(t->a, TypeId, n + 1u);
	for (uint32_t k = 0; k < n; k++) {
		Ref r = inst_arg(t->f, in, k);
		linear[k] = is_linear(t, r);
		x[k] = linear[k] ? REF_NONE : value(t, r);
		types[k] = type_here(t, r);
	}
	for (uint32_t k = 0; k < in->nresults; k++) w[k] = ct_of(t, inst_result(in, k));
	if (in->op == OP_STOP) { /* it affects derivatives of this function, not its values */
		add_ct(t, inst_arg(t->f, in, 0), build1(t->b, OP_STOP, w[0]));
		return;
	}
	if (in->op == OP_HOST) {
		const HostCall *h = host_call(t->c, (HostId)attr_int(t->c, OP_HOST, in->attr, 0));
		Ref *back = refs(t, n);
		if (!h->def->transpose) no_rule(t->c, t->f, in, "transpose", "has no reverse derivative");
		for (uint32_t k = 0; k < in->nresults; k++) {
			const TypeId type = type_here(t, inst_result(in, k));
			if (w[k] == REF_NONE && type_of(t->c, type)->kind == TY_TENSOR)
				w[k] = build_zeros(t->b, type);
		}
		h->def->transpose(t->b, h, n, x, linear, w, back);
		for (uint32_t k = 0; k < n; k++) {
			if (!linear[k] || back[k] == REF_NONE) continue;
			const Type *want = type_of(t->c, types[k]);
			for (uint32_t i = 0; i < want->rank; i++)
				if (!build_unify(
						t->b, type_in(t->b, back[k]).dims[i], want->dims[i],
						atom_f(t->c, "a cotangent that %s gives has another length", h->def->name)))
					no_rule(t->c, t->f, in, "transpose", "gives a cotangent of another shape");
			add_ct(t, inst_arg(t->f, in, k), back[k]);
		}
		return;
	}
	TransposeRule r = {.c = t->c,
	                   .b = t->b,
	                   .f = t->f,
	                   .in = in,
	                   .x = x,
	                   .linear = linear,
	                   .types = types,
	                   .w = w,
	                   .state = t};
	r.attr = attr_subst(t->c, (Op)in->op, in->attr, t->map.dims, t->map.ndims);
	rules[in->op](&r);
}

static void back_inst(Back *t, const Inst *in) {
	bool some = false;
	for (uint32_t k = 0; k < in->nresults; k++) some |= ct_of(t, inst_result(in, k)) != REF_NONE;
	if (!some) return;
	build_at(t->b, in->span);
	build_chain(t->b, chain_push(t->c, in->chain, "transpose"));
	switch ((Op)in->op) {
	case OP_IF: back_if(t, in); break;
	case OP_FOR: back_for(t, in); break;
	case OP_CALL: back_call(t, in); break;
	default: back_plain(t, in);
	}
}

static void back_region(Back *t, const Region *g) {
	for (uint32_t i = g->ninsts; i-- > 0;) {
		const Inst *in = inst_at(t, g, i);
		if (!touches_linear(&t->dep, in)) continue;
		back_inst(t, in);
		for (uint32_t k = 0; k < in->nresults; k++) t->ct[in->results + k] = REF_NONE;
	}
}

/* ---- the transform ------------------------------------------------------- */

/* Whether the backward walk supports the region. Regions that contain linear
 * instructions must have only linear results, and callees must be linear in
 * their last parameters. The linear part of a split satisfies this. */
static bool is_simple(Back *t, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = inst_at(t, g, i);
		if (!touches_linear(&t->dep, in) || (!in->nregions && in->op != OP_CALL)) continue;
		if (in->op == OP_WHILE || in->op == OP_TRY) return false;
		for (uint32_t k = 0; k < in->nresults; k++)
			if (!is_linear(t, inst_result(in, k))) return false;
		for (uint32_t k = 0; k < in->nregions; k++)
			if (!is_simple(t, inst_region(t->f, in, k))) return false;
		if (in->op != OP_CALL) continue;
		TransformInfo o = transform_info(inst_callee(t->c, in));
		for (uint32_t k = 0; k < in->nargs; k++)
			if (!o.is_linear || (k < o.linear_from && is_linear(t, inst_arg(t->f, in, k))))
				return false;
	}
	return true;
}

/* Every extent in the types of the linear parameters must be known from
 * elsewhere, since those parameters do not exist in the transpose. */
static void check_lengths(Back *t) {
	for (uint32_t k = t->d->order; k < fn_nparams(t->f); k++) {
		const Type *ty = ref_ty(t->f, fn_param(t->f, k));
		for (uint32_t a = 0; ty->kind == TY_TENSOR && a < ty->rank; a++) {
			if (all_born(t, ty->dims[a])) continue;
			diag_error(t->c, E_NO_RULE, span_of(t->c, t->f->span),
			           "`%s` cannot be run backwards: nothing else tells how long axis %u of its "
			           "operand %u is",
			           atom_text(t->c, t->f->name), a, k + 1);
			ctx_throw(t->c, ST_ERROR);
		}
	}
}

/* Calls the primal part of the split, then the transpose of its linear part. */
static void back_through_split(Back *t, const Ref *w, Ref *results) {
	Ctx *c = t->c;
	Fn *f = t->f;
	uint32_t nresiduals = t->d->order, n = fn_nparams(f), m = 0;
	bool *linear = ARENA_ARRAY(t->a, bool, n + 1u);
	for (uint32_t k = nresiduals; k < n; k++) linear[k] = true;
	const Transform *split = split_of(c, f, linear);
	const LinearSplit *s = split_data(split);
	/* If repeated splitting does not bring the function into the required form,
	 * further splits cannot either. */
	Fn *back = split->done && transform_info(s->linear).rounds < 4
	               ? ad_transpose(c, s->linear, s->nresiduals)
	               : NULL;
	if (!back) {
		diag_error(c, E_INTERNAL, span_of(c, f->span),
		           "`%s` cannot be brought into a form that runs backwards", atom_text(c, f->name));
		ctx_throw(c, ST_INTERNAL);
	}
	Ref *values = refs(t, fn_nresults(s->primal)), *args = refs(t, s->nresiduals + fn_nresults(f));
	for (uint32_t k = 0; k < nresiduals; k++) args[k] = value(t, fn_param(f, k));
	build_call(t->b, s->primal, nresiduals, args, values);
	for (uint32_t k = 0; k < s->nresiduals; k++) args[m++] = values[s->nplain_results + k];
	for (uint32_t k = 0; k < fn_nresults(f); k++)
		if (s->linear_result[k]) args[m++] = w[k];
	build_call(t->b, back, m, args, results);
}

static void make_transpose(Ctx *c, Transform *d) {
	Fn *f = d->from;
	if (transform_info(f).loop) {
		snapshot_transpose(c, d);
		return;
	}
	Back t = {.c = c, .f = f, .d = d, .a = d->scratch};
	uint32_t nresiduals = d->order, n = fn_nparams(f), nw = fn_nresults(f);
	t.dep = (LinearValues){.c = c,
	                       .f = f,
	                       .scratch = t.a,
	                       .transform = "transpose",
	                       .linear = ARENA_ARRAY(t.a, bool, f->vals.n + 1u)};
	for (uint32_t k = nresiduals; k < n; k++) t.dep.linear[REF_INDEX(fn_param(f, k))] = true;
	t.b = build_begin(c, transform_name(c, f, "transpose"), f->span, f);
	build_derivative(t.b);
	t.map = refmap_new(t.b, f, true);
	t.ct = refs(&t, f->vals.n);
	t.born = ARENA_ARRAY(t.a, bool, f->syms.n + 1u);
	Ref *w = refs(&t, nw), *results = refs(&t, n);
	for (uint32_t k = 0; k < nresiduals; k++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		refmap_set(&t.map, fn_param(f, k), build_param(t.b, v->type, v->name));
		give_birth(&t, v->type);
	}
	for (uint32_t k = 0; k < nw; k++) {
		w[k] = build_param(t.b, ref_type(f, fn_result(f, k)), 0);
		give_birth(&t, ref_type(f, fn_result(f, k)));
	}
	d->fn = build_fn(t.b);
	mark_linear(&t.dep);
	if (is_simple(&t, &f->regions.at[0])) {
		copy_plain(&t, &f->regions.at[0]);
		check_lengths(&t);
		for (uint32_t k = 0; k < nw; k++) add_ct(&t, fn_result(f, k), w[k]);
		back_region(&t, &f->regions.at[0]);
		for (uint32_t k = nresiduals; k < n; k++)
			results[k - nresiduals] = ct_or_zeros(&t, fn_param(f, k));
	} else {
		memset(t.born, 0, f->syms.n * sizeof *t.born);
		for (uint32_t k = 0; k < nresiduals; k++) give_birth(&t, ref_type(f, fn_param(f, k)));
		check_lengths(&t);
		back_through_split(&t, w, results);
	}
	d->fn = transform_own(d, build_end(t.b, n - nresiduals, results));
	transform_info_set(c, d->fn, (TransformInfo){.is_reverse = true});
}

Fn *ad_transpose(Ctx *c, Fn *linear, uint32_t nresiduals) {
	return transform_get(c, linear, TR_TRANSPOSE, nresiduals, NULL, make_transpose)->fn;
}
