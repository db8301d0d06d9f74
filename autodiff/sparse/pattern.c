/* pattern.c - the sparsity transform: a function that computes the inputs on
 * which each element of a derivative depends.
 *
 * Method: branches and loops with known control flow run as they are. If a
 * branch depends on the point, the sets of both sides are united. If a trip
 * count depends on the point, the loop runs until no set grows.
 *
 * Needs: pattern.h.
 *
 * Contract:
 * - The pattern holds at every point, for the extents and captured values that
 *   it is run with.
 * - An extent that depends on the point is an error, since there is no pattern
 *   then.
 * - Effects, and operations that may fail only at some points, are omitted.
 */
#include "autodiff/sparse/pattern.h"

static void emit_region(Sparsity *p, const Region *g);

static Ref region_result(const Sparsity *p, const Region *g, uint32_t k) {
	return p->f->args.at[g->results + k];
}

static bool tensor(const Sparsity *p, Ref r) { return ref_ty(p->f, r)->kind == TY_TENSOR; }

/* ---- values that cross the boundary of a region -------------------------- */

/* How a value crosses the boundary of a region. A value that is not computed
 * crosses as zeros if it defines an extent that others may need. */
typedef enum Crossing { CROSS_NOT, CROSS_COMPUTED, CROSS_SETS, CROSS_SHAPE } Crossing;

static Crossing crossing(const Sparsity *p, Ref outside, Ref inside, Ref other) {
	switch (sparsity_binding_time(p, outside)) {
	case BT_STATIC:
	case BT_SCALAR: return CROSS_COMPUTED;
	case BT_ACTIVE: return CROSS_SETS;
	default: break;
	}
	const TypeId t = ref_type(p->f, outside);
	return tensor(p, outside) && (t != ref_type(p->f, inside) || t != ref_type(p->f, other))
	           ? CROSS_SHAPE
	           : CROSS_NOT;
}

static Ref crossed(Sparsity *p, Crossing how, Ref r) {
	switch (how) {
	case CROSS_COMPUTED: return refmap_get(p->b, &p->map, r);
	case CROSS_SETS: return sparsity_full(p, r);
	default: return build_zeros(p->b, sparsity_type(p, ref_type(p->f, r)));
	}
}

static TypeId crossing_type(Sparsity *p, Crossing how, Ref r) {
	return how == CROSS_SETS ? sparsity_sets_type(p, r) : sparsity_type(p, ref_type(p->f, r));
}

static RegionId close_region(Sparsity *p, OpenRegion *open, const Region *g, const Crossing *how) {
	Ref *results = ARENA_ARRAY(p->a, Ref, g->nresults + 1u);
	uint32_t n = 0;
	for (uint32_t k = 0; k < g->nresults; k++)
		if (how[k] != CROSS_NOT) results[n++] = crossed(p, how[k], region_result(p, g, k));
	return build_region_end(p->b, open, n, results);
}

static void set_results(Sparsity *p, const Inst *in, const Crossing *how, const Ref *results) {
	for (uint32_t k = 0, n = 0; k < in->nresults; k++)
		if (how[k] != CROSS_NOT) refmap_set(&p->map, inst_result(in, k), results[n++]);
}

/* ---- branches ------------------------------------------------------------ */

static void emit_if(Sparsity *p, const Inst *in) {
	Crossing *how = ARENA_ARRAY(p->a, Crossing, in->nresults + 1u);
	Ref *results = ARENA_ARRAY(p->a, Ref, in->nresults + 1u);
	RegionId regions[2];
	const Region *g[2] = {inst_region(p->f, in, 0), inst_region(p->f, in, 1)};
	for (uint32_t k = 0; k < in->nresults; k++)
		how[k] =
			crossing(p, inst_result(in, k), region_result(p, g[0], k), region_result(p, g[1], k));
	for (uint32_t i = 0; i < 2; i++) {
		OpenRegion *open = build_region_begin(p->b, 0, NULL, NULL);
		emit_region(p, g[i]);
		regions[i] = close_region(p, open, g[i], how);
	}
	build_if(p->b, refmap_get(p->b, &p->map, inst_arg(p->f, in, 0)), regions[0], regions[1],
	         results);
	set_results(p, in, how, results);
}

/* Emits both sides, one after the other. */
static void emit_either(Sparsity *p, const Inst *in) {
	const Region *g[2] = {inst_region(p->f, in, 0), inst_region(p->f, in, 1)};
	p->perhaps++;
	emit_region(p, g[0]);
	emit_region(p, g[1]);
	p->perhaps--;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k), x = region_result(p, g[0], k),
				  y = region_result(p, g[1], k);
		Ref s = REF_NONE;
		if (sparsity_binding_time(p, r) == BT_ACTIVE) {
			sparsity_sets_type(p, r); /* checks that its extents do not depend on the point */
			s = sparsity_join(p, sparsity_sets(p, x), sparsity_sets(p, y));
		} else if (sparsity_binding_time(p, r) < BT_DYNAMIC) s = refmap_get(p->b, &p->map, x);
		if (s != REF_NONE) refmap_set(&p->map, r, s);
	}
}

/* ---- loops --------------------------------------------------------------- */

static OpenRegion *open_loop(Sparsity *p, const Region *g, uint32_t skip, const Crossing *how) {
	TypeId *types = ARENA_ARRAY(p->a, TypeId, g->nparams + 1u);
	Ref *params = ARENA_ARRAY(p->a, Ref, g->nparams + 1u);
	uint32_t n = 0;
	if (skip) types[n++] = type_scalar(p->c, DT_I64);
	for (uint32_t k = skip; k < g->nparams; k++)
		if (how[k - skip] != CROSS_NOT)
			types[n++] = crossing_type(p, how[k - skip], ref_value(g->params + k));
	OpenRegion *open = build_region_begin(p->b, n, types, params);
	n = 0;
	if (skip) refmap_set(&p->map, ref_value(g->params), params[n++]);
	for (uint32_t k = skip; k < g->nparams; k++) {
		if (how[k - skip] != CROSS_NOT) refmap_set(&p->map, ref_value(g->params + k), params[n++]);
		else p->map.values[g->params + k] = REF_NONE;
	}
	return open;
}

static void emit_loop(Sparsity *p, const Inst *in) {
	const bool counted = in->op == OP_FOR;
	const Region *body = inst_region(p->f, in, !counted);
	Crossing *how = ARENA_ARRAY(p->a, Crossing, in->nresults + 1u);
	Ref *init = ARENA_ARRAY(p->a, Ref, in->nresults + 1u),
		*results = ARENA_ARRAY(p->a, Ref, in->nresults + 1u);
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref param = ref_value(body->params + counted + k),
				  from = inst_arg(p->f, in, k + counted);
		how[k] = crossing(p, param, from, region_result(p, body, k));
		if (how[k] == CROSS_NOT && ref_type(p->f, param) != ref_type(p->f, inst_result(in, k)))
			how[k] = tensor(p, param) ? CROSS_SHAPE : CROSS_NOT;
		if (how[k] != CROSS_NOT) init[n++] = crossed(p, how[k], from);
	}
	RegionId condition = 0;
	if (!counted) {
		const Region *g = inst_region(p->f, in, 0);
		OpenRegion *open = open_loop(p, g, 0, how);
		emit_region(p, g);
		const Ref go_on = refmap_get(p->b, &p->map, region_result(p, g, 0));
		condition = build_region_end(p->b, open, 1, &go_on);
	}
	OpenRegion *open = open_loop(p, body, counted, how);
	emit_region(p, body);
	const RegionId turn = close_region(p, open, body, how);
	if (counted)
		build_for(p->b, refmap_get(p->b, &p->map, inst_arg(p->f, in, 0)), n, init, turn, results);
	else build_while(p->b, n, init, condition, turn, results);
	set_results(p, in, how, results);
}

/* A loop with an unknown trip count: its body runs on the sets until none of
 * them grows. */
static void emit_closure(Sparsity *p, const Inst *in) {
	const bool counted = in->op == OP_FOR;
	const Region *body = inst_region(p->f, in, !counted);
	const TypeId flag = type_scalar(p->c, DT_BOOL);
	Ref *init = ARENA_ARRAY(p->a, Ref, in->nresults + 2u),
		*params = ARENA_ARRAY(p->a, Ref, in->nresults + 2u);
	TypeId *types = ARENA_ARRAY(p->a, TypeId, in->nresults + 2u);
	uint32_t n = 0;
	if (counted) p->map.values[body->params] = REF_NONE;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref param = ref_value(body->params + counted + k),
				  from = inst_arg(p->f, in, k + counted);
		const BindingTime l = sparsity_binding_time(p, param);
		p->map.values[REF_INDEX(param)] = REF_NONE;
		/* the same in every iteration */
		if (l < BT_DYNAMIC) refmap_set(&p->map, param, refmap_get(p->b, &p->map, from));
		if (l != BT_ACTIVE) continue;
		types[n] = sparsity_sets_type(p, param);
		init[n++] = sparsity_full(p, from);
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (sparsity_binding_time(p, r) < BT_DYNAMIC)
			refmap_set(&p->map, r, refmap_get(p->b, &p->map, inst_arg(p->f, in, k + counted)));
	}
	if (!n) return;
	types[n] = flag;
	init[n] = build_bool(p->b, true);

	OpenRegion *open = build_region_begin(p->b, n + 1, types, params);
	const RegionId condition = build_region_end(p->b, open, 1, &params[n]);
	open = build_region_begin(p->b, n + 1, types, params);
	uint32_t at = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref param = ref_value(body->params + counted + k);
		if (sparsity_binding_time(p, param) == BT_ACTIVE) refmap_set(&p->map, param, params[at++]);
	}
	p->perhaps++;
	emit_region(p, body);
	p->perhaps--;
	Ref *next = ARENA_ARRAY(p->a, Ref, n + 1u), more = REF_NONE;
	at = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (sparsity_binding_time(p, ref_value(body->params + counted + k)) != BT_ACTIVE) continue;
		next[at] = sparsity_join(p, params[at], sparsity_sets(p, region_result(p, body, k)));
		const Ref grown = index_sets_build(p->b, SETS_DIFFER, 2, (Ref[]){params[at], next[at]});
		more = more == REF_NONE ? grown : build2(p->b, OP_MAX, more, grown);
		at++;
	}
	next[n] = more;
	const RegionId turn = build_region_end(p->b, open, n + 1, next);
	Ref *results = ARENA_ARRAY(p->a, Ref, n + 1u);
	build_while(p->b, n + 1, init, condition, turn, results);
	at = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (sparsity_binding_time(p, ref_value(body->params + counted + k)) != BT_ACTIVE) continue;
		if (sparsity_binding_time(p, inst_result(in, k)) == BT_ACTIVE)
			refmap_set(&p->map, inst_result(in, k), results[at]);
		at++;
	}
}

/* ---- instructions -------------------------------------------------------- */

static void emit_inst(Sparsity *p, const Inst *in) {
	bool active = false, computed = true;
	build_at(p->b, in->span);
	build_chain(p->b, in->chain);
	if ((in->op == OP_FAIL || in->op == OP_WARN) && p->perhaps) return;
	if (sparsity_plain(p, in)) {
		build_copy_inst(p->b, &p->map, in);
		return;
	}
	const bool uncertain = p->uncertain[in - p->f->insts.at];
	switch ((Op)in->op) {
	case OP_IF:
		if (uncertain) emit_either(p, in);
		else emit_if(p, in);
		return;
	case OP_TRY: emit_either(p, in); return;
	case OP_FOR:
	case OP_WHILE:
		if (uncertain) emit_closure(p, in);
		else emit_loop(p, in);
		return;
	default: break;
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		active |= sparsity_binding_time(p, inst_result(in, k)) == BT_ACTIVE;
		computed &= sparsity_binding_time(p, inst_result(in, k)) < BT_DYNAMIC;
	}
	if (active) sparsity_rule(p, in);
	else if (in->nresults && computed && sparsity_is_zero(p, in))
		refmap_set(&p->map, inst_result(in, 0),
		           build_zeros(p->b, sparsity_type(p, ref_type(p->f, inst_result(in, 0)))));
}

static void emit_region(Sparsity *p, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		emit_inst(p, &p->f->insts.at[p->f->inst_order.at[g->insts + i]]);
}

/* ---- the transform ------------------------------------------------------- */

/* i32: 1 + the index of each element of the input. */
static Ref units(Sparsity *p, Ref dx) {
	const Type t = *type_of(p->c, refmap_type(p->b, &p->map, ref_type(p->f, dx)));
	Dim n = dim_const(p->c, 1);
	for (uint32_t k = 0; k < t.rank; k++) n = dim_mul(p->c, n, t.dims[k]);
	const Ref at = build_iota(p->b, DT_I32, n);
	const Ref one =
		build_broadcast_scalar(p->b, build_scalar(p->b, DT_I32, 1), ref_type(build_fn(p->b), at));
	return build_reshape(p->b, build2(p->b, OP_ADD, at, one), t.rank, t.dims);
}

static void make_sparsity(Ctx *c, Transform *d) {
	Fn *f = d->from;
	const uint32_t nparams = fn_nparams(f);
	const uint32_t nresults = fn_nresults(f);
	bool *result_active = ARENA_ARRAY(d->scratch, bool, nresults + 1u);
	Fn *jvp = ad_jvp(c, f, d->mask, result_active), *flat = fn_inline_for_execution(c, jvp);
	if (flat) transform_own(d, flat);
	Sparsity p = {.c = c, .f = flat ? flat : jvp, .a = d->scratch};
	const Fn *g = p.f;
	p.binding_time = ARENA_ARRAY(p.a, uint8_t, g->vals.n + 1u);
	p.uncertain = ARENA_ARRAY(p.a, bool, g->insts.n + 1u);
	p.known = ARENA_ARRAY(p.a, bool, g->syms.n + 1u);
	p.lost = ARENA_ARRAY(p.a, InstId, g->syms.n + 1u);
	p.uses = ARENA_ARRAY(p.a, uint32_t, g->vals.n + 1u);
	p.user = ARENA_ARRAY(p.a, InstId, g->vals.n + 1u);
	p.waiting = ARENA_ARRAY(p.a, UnionOperands *, g->vals.n + 1u);
	fn_count_uses(g, p.uses);
	for (uint32_t i = 0; i < g->vals.n; i++) p.user[i] = NO_INST;
	for (InstId i = 0; i < g->insts.n; i++)
		for (uint32_t k = 0; k < g->insts.at[i].nargs; k++)
			if (ref_is_value(inst_arg(g, &g->insts.at[i], k)))
				p.user[REF_INDEX(inst_arg(g, &g->insts.at[i], k))] = i;
	for (uint32_t k = 0; k < nparams; k++) {
		const Type *t = ref_ty(g, fn_param(g, k));
		const bool number = t->kind == TY_TENSOR && !t->rank && dtype_is_inexact((Dtype)t->dtype);
		p.binding_time[REF_INDEX(fn_param(g, k))] = d->mask[k] || k >= d->order ? BT_DYNAMIC
		                                            : number                    ? BT_SCALAR
		                                                                        : BT_STATIC;
	}
	const Ref dx = fn_param(g, nparams);
	p.binding_time[REF_INDEX(dx)] = BT_ACTIVE;
	sparsity_find_binding_times(&p);

	p.b = build_begin(c, transform_name(c, f, "sparsity"), f->span, g);
	build_derivative(p.b);
	p.map = refmap_new(p.b, g, true);
	for (uint32_t k = 0; k < nparams; k++) {
		const Val *v = &g->vals.at[REF_INDEX(fn_param(g, k))];
		refmap_set(&p.map, fn_param(g, k), build_param(p.b, v->type, v->name));
	}
	refmap_set(&p.map, dx, units(&p, dx));
	emit_region(&p, &g->regions.at[0]);
	Ref *sets = ARENA_ARRAY(p.a, Ref, nresults + 1u);
	uint32_t n = 0, at = nresults;
	for (uint32_t k = 0; k < nresults; k++) {
		const Ref y = fn_result(g, k), dy = result_active[k] ? fn_result(g, at++) : REF_NONE;
		if (!type_has_tangent(c, ref_type(g, y))) continue;
		sets[n++] =
			dy != REF_NONE ? sparsity_full(&p, dy) : build_zeros(p.b, sparsity_sets_type(&p, y));
	}
	d->fn = transform_own(d, build_end(p.b, n, sets));
}

Fn *ad_sparsity(Ctx *c, Fn *f, const bool *active, uint32_t ncaptured) {
	return transform_get(c, f, TR_SPARSITY, ncaptured, active, make_sparsity)->fn;
}
