/* jet.c - Taylor mode: truncated power series propagated with the values of a
 * function.
 *
 * Method: two walks. The first finds which coefficients of which values may be
 * nonzero, through branches and loops to a fixed point. The second emits;
 * instructions whose results have no series are copied. Series arithmetic
 * follows Griewank & Walther, Evaluating Derivatives, 2nd ed., chapter 13.
 *
 * Needs: jet.h.
 *
 * Contract:
 * - As for ad_jet in autodiff.h.
 * - A recursive call refers to the function under construction, which then has
 *   series for all inexact results.
 */
#include "autodiff/taylor/jet.h"
#include "autodiff/taylor/nested_jets.h"

static void make_jet(Ctx *c, Transform *d);

/* ---- coefficients -------------------------------------------------------- */

uint64_t jet_mask(const Jet *j, Ref r) { return ref_is_value(r) ? j->mask[REF_INDEX(r)] : 0; }

Ref jet_get(Jet *j, Ref r, uint32_t k) {
	if (!k) return refmap_get(j->b, &j->map, r);
	return ref_is_value(r) ? j->coef[(size_t)REF_INDEX(r) * j->order + k - 1] : REF_NONE;
}

Ref jet_full(Jet *j, Ref r, uint32_t k) {
	Ref x = jet_get(j, r, k);
	return x ? x : build_zeros(j->b, ref_type(build_fn(j->b), jet_get(j, r, 0)));
}

void jet_set(Jet *j, Ref result, uint32_t k, Ref x) {
	if (x && !(j->mask[REF_INDEX(result)] >> k & 1)) {
		diag_error(j->c, E_INTERNAL, span_of(j->c, build_span(j->b)),
		           "a Taylor coefficient that was taken for zero is not");
		ctx_throw(j->c, ST_INTERNAL);
	}
	j->coef[(size_t)REF_INDEX(result) * j->order + k - 1] = x;
}

void jet_primal(Jet *j, const Inst *in) { build_copy_inst(j->b, &j->map, in); }

_Noreturn void jet_no_rule(Jet *j, const Inst *in, const char *why) {
	no_rule(j->c, j->f, in, "jet", why);
}

static bool has_series(const Jet *j, Ref r) {
	return jet_mask(j, r) && type_has_tangent(j->c, ref_type(j->f, r));
}

/* A rule written in the language for this instruction, or NULL. */
static Fn *written_rule(Jet *j, const Inst *in) {
	InstId id = (InstId)(in - j->f->insts.at);
	if (!j->asked[id]) {
		const IrServices *s = ir_services(j->c);
		j->asked[id] = true;
		if (s->structural_rule) j->rule[id] = s->structural_rule(j->c, j->f, in);
		if (j->rule[id]) transform_own(j->entry, j->rule[id]);
	}
	return j->rule[id];
}

/* ---- which coefficients may be nonzero ----------------------------------- */

static uint64_t mask_all(uint32_t order) { return (UINT64_MAX >> (63 - order)) & ~UINT64_C(1); }

/* Both factors have coefficient 0, so a product has the degrees of its factors
 * and their sums. */
static uint64_t mask_product(uint64_t x, uint64_t y, uint32_t order) {
	uint64_t sum = y;
	for (uint32_t k = 1; k <= order; k++)
		if (x >> k & 1) sum |= (y | 1) << k;
	return sum & mask_all(order);
}

uint64_t mask_closure(uint64_t x, uint32_t order) {
	for (uint64_t before = 0; before != x;) {
		before = x;
		x = mask_product(x, x, order);
	}
	return x;
}

static bool mask_join(Jet *j, Ref r, uint64_t m) {
	TypeId t = ref_type(j->f, r);
	if (!ref_is_value(r) || !(type_has_tangent(j->c, t) || t == type_dyn(j->c))) return false;
	uint64_t *now = &j->mask[REF_INDEX(r)], before = *now;
	*now |= m;
	return *now != before;
}

#define FIRST UINT64_C(2) /* only coefficient 1 */
#define STRAIGHT 0x100u   /* flag in an entry's order: parameters have only coefficient 1 */

static void analyse_region(Jet *j, const Region *r);

static uint64_t args_mask(const Jet *j, const Inst *in) {
	uint64_t m = 0;
	for (uint32_t k = 0; k < in->nargs; k++) m |= jet_mask(j, inst_arg(j->f, in, k));
	return m;
}

static void join_region_results(Jet *j, const Inst *in, const Region *r) {
	for (uint32_t k = 0; k < in->nresults; k++)
		mask_join(j, inst_result(in, k), jet_mask(j, j->f->args.at[r->results + k]));
}

static void join_all_results(Jet *j, const Inst *in, uint64_t m) {
	for (uint32_t k = 0; k < in->nresults; k++)
		if (type_has_tangent(j->c, ref_type(j->f, inst_result(in, k))))
			mask_join(j, inst_result(in, k), m);
}

/* The carried values are the operands from `first_arg` on, the results from 0
 * on, and the body's parameters from `skip` on. */
static void analyse_loop(Jet *j, const Inst *in, const Region *body, uint32_t first_arg,
                         uint32_t skip) {
	uint32_t n = in->nresults;
	for (uint32_t k = 0; k < n; k++)
		mask_join(j, ref_value(body->params + skip + k),
		          jet_mask(j, inst_arg(j->f, in, first_arg + k)));
	for (bool changed = true; changed;) {
		changed = false;
		analyse_region(j, body);
		for (uint32_t k = 0; k < n; k++)
			changed |= mask_join(j, ref_value(body->params + skip + k),
			                     jet_mask(j, j->f->args.at[body->results + k]));
	}
	for (uint32_t k = 0; k < n; k++)
		mask_join(j, inst_result(in, k), jet_mask(j, ref_value(body->params + skip + k)));
}

static Transform *callee_jet(Jet *j, const Inst *in) {
	bool *active = ARENA_ARRAY(j->scratch, bool, in->nargs + 1);
	for (uint32_t k = 0; k < in->nargs; k++) active[k] = has_series(j, inst_arg(j->f, in, k));
	const uint32_t straight = j->order > 1 && args_mask(j, in) == FIRST ? STRAIGHT : 0;
	Fn *callee = inst_callee(j->c, in);
	return transform_get(j->c, unoptimised_of(callee), TR_JET, j->order | straight, active,
	                     make_jet);
}

/* Whether the call is to an expansion along a scalar that moves along a
 * straight line here. */
static bool calls_nested_jet(Jet *j, const Inst *in, NestedJet *nested) {
	bool *active = ARENA_ARRAY(j->scratch, bool, in->nargs + 1);
	for (uint32_t k = 0; k < in->nargs; k++) active[k] = has_series(j, inst_arg(j->f, in, k));
	return args_mask(j, in) == FIRST && nested_jet_match(j->c, in, active, j->order, nested);
}

static void analyse_call(Jet *j, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++) {
		Ref r = inst_arg(j->f, in, k);
		if (jet_mask(j, r) && !has_series(j, r))
			jet_no_rule(j, in, "is given a dynamic value that depends on what is differentiated");
	}
	NestedJet nested;
	if (!written_rule(j, in) && calls_nested_jet(j, in, &nested)) {
		for (uint32_t k = 0; k < in->nresults; k++) {
			const Ref r = inst_result(in, k);
			if ((k >= fn_nresults(nested.f) || nested.moves[k]) &&
			    type_has_tangent(j->c, ref_type(j->f, r)))
				mask_join(j, r, mask_all(j->order));
		}
		return;
	}
	/* A callee under construction has series for all results that can have
	 * one. */
	const Transform *d = written_rule(j, in) ? NULL : callee_jet(j, in);
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref r = inst_result(in, k);
		bool moves = d && d->done ? d->result_active[k] : type_has_tangent(j->c, ref_type(j->f, r));
		if (moves) mask_join(j, r, mask_all(j->order));
	}
}

static uint64_t bilinear_mask(const Jet *j, const Inst *in) {
	return mask_product(jet_mask(j, inst_arg(j->f, in, 0)), jet_mask(j, inst_arg(j->f, in, 1)),
	                    j->order);
}

static uint64_t elementwise_mask(const Jet *j, const Inst *in) {
	switch ((Op)in->op) {
	case OP_ABS:
	case OP_MAX:
	case OP_MIN: return args_mask(j, in);
	case OP_DIV:
		if (jet_mask(j, inst_arg(j->f, in, 1))) return mask_closure(args_mask(j, in), j->order);
		return args_mask(j, in);
	default: return mask_closure(args_mask(j, in), j->order);
	}
}

static void analyse_inst(Jet *j, const Inst *in) {
	const Prim *p = &prims[in->op];
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY:
		for (uint32_t k = 0; k < 2; k++) {
			analyse_region(j, inst_region(j->f, in, k));
			join_region_results(j, in, inst_region(j->f, in, k));
		}
		return;
	case OP_FOR: analyse_loop(j, in, inst_region(j->f, in, 0), 1, 1); return;
	/* the condition needs only the values */
	case OP_WHILE: analyse_loop(j, in, inst_region(j->f, in, 1), 0, 0); return;
	default: break;
	}
	uint64_t args = args_mask(j, in);
	if (!args) return;
	switch ((Op)in->op) {
	case OP_CALL: analyse_call(j, in); return;
	case OP_HOST: join_all_results(j, in, mask_all(j->order)); return;
	case OP_BOX: mask_join(j, inst_result(in, 0), args); return;
	case OP_UNBOX:
	case OP_DYNAMIC:
		jet_no_rule(j, in,
		            "takes a value that depends on what is differentiated through a dynamic value, "
		            "where derivatives "
		            "do not follow");
	default: break;
	}
	if (p->elementwise && p->deriv == DERIV_RULE) join_all_results(j, in, elementwise_mask(j, in));
	else if (p->deriv == DERIV_LINEAR) join_all_results(j, in, args_mask(j, in));
	else if (p->deriv == DERIV_BILINEAR) join_all_results(j, in, bilinear_mask(j, in));
	else if (p->deriv == DERIV_RULE)
		join_all_results(j, in, written_rule(j, in) ? mask_all(j->order) : jet_rule_mask(j, in));
}

static void analyse_region(Jet *j, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++)
		analyse_inst(j, &j->f->insts.at[j->f->inst_order.at[r->insts + i]]);
}

/* ---- element-wise, linear and bilinear operations ------------------------ */

static void jet_elementwise(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Ref result = inst_result(in, 0), y0 = jet_get(j, result, 0);
	TypeId type = ref_type(build_fn(j->b), y0);
	Series *s = series_new(j->c, j->b, j->scratch, j->order, in->span, type);
	NodeId args[3];
	Ref *coef = ARENA_ARRAY(j->scratch, Ref, j->order + 1);
	for (uint32_t i = 0; i < in->nargs; i++) {
		for (uint32_t k = 0; k <= j->order; k++) coef[k] = jet_get(j, inst_arg(j->f, in, i), k);
		args[i] = series_leaf(s, coef);
	}
	NodeId y = series_node(s, (Op)in->op, in->nargs, args, (Dtype)type_of(j->c, type)->dtype, y0);
	for (uint32_t k = 1; k <= j->order; k++) jet_set(j, result, k, series_coef(s, y, k));
}

static AttrId mapped_attr(Jet *j, const Inst *in) {
	return attr_subst(j->c, (Op)in->op, in->attr, j->map.dims, j->map.ndims);
}

void jet_linear(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Ref *args = ARENA_ARRAY(j->scratch, Ref, in->nargs);
	Ref result = inst_result(in, 0);
	for (uint32_t k = 1; k <= j->order; k++) {
		bool any = false;
		for (uint32_t i = 0; i < in->nargs; i++)
			any |= jet_get(j, inst_arg(j->f, in, i), k) != REF_NONE;
		if (!any || !jet_mask(j, result)) continue;
		for (uint32_t i = 0; i < in->nargs; i++) args[i] = jet_full(j, inst_arg(j->f, in, i), k);
		jet_set(j, result, k, build(j->b, (Op)in->op, in->nargs, args, mapped_attr(j, in), NULL));
	}
}

typedef struct Contraction {
	Jet *j;
	const Inst *in;
} Contraction;

static Ref contraction_factor(void *ud, uint32_t which, uint32_t k) {
	Contraction *d = ud;
	return jet_get(d->j, inst_arg(d->j->f, d->in, which), k);
}

static Ref contract(void *ud, Ref x, Ref y) {
	Contraction *d = ud;
	return build(d->j->b, (Op)d->in->op, 2, (Ref[]){x, y}, d->in->attr, NULL);
}

/* x.x with no free axes: the two factors commute. */
static bool contracts_itself(const Jet *j, const Inst *in) {
	Ref x = inst_arg(j->f, in, 0);
	if (x != inst_arg(j->f, in, 1)) return false;
	uint32_t nc, nb, other;
	const int64_t *lc = attr_field(j->c, OP_DOT, in->attr, 0, &nc),
				  *rc = attr_field(j->c, OP_DOT, in->attr, 1, &other);
	if (memcmp(lc, rc, nc * sizeof *lc) != 0) return false;
	const int64_t *lb = attr_field(j->c, OP_DOT, in->attr, 2, &nb),
				  *rb = attr_field(j->c, OP_DOT, in->attr, 3, &other);
	return !memcmp(lb, rb, nb * sizeof *lb) && nc + nb == ref_ty(j->f, x)->rank;
}

void jet_bilinear(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Contraction d = {j, in};
	bool same = contracts_itself(j, in);
	for (uint32_t k = 1; k <= j->order; k++)
		jet_set(j, inst_result(in, 0), k,
		        cauchy(j->b, k, 0, same, contraction_factor, contract, &d));
}

/* ---- regions ------------------------------------------------------------- */

static void emit_region(Jet *j, const Region *r);

/* The coefficients that leave or enter a region, value by value. */
typedef struct Border {
	uint32_t n;
	uint32_t *slot; /* index of the result or carried value */
	uint32_t *k;
} Border;

static Border border_new(Jet *j, uint32_t n, Ref (*value)(const Jet *, const void *, uint32_t),
                         const void *ud) {
	Border border = {0};
	border.slot = ARENA_ARRAY(j->scratch, uint32_t, (size_t)n * j->order + 1);
	border.k = ARENA_ARRAY(j->scratch, uint32_t, (size_t)n * j->order + 1);
	for (uint32_t i = 0; i < n; i++) {
		Ref r = value(j, ud, i);
		uint64_t mask = has_series(j, r) ? jet_mask(j, r) : 0;
		for (uint32_t k = 1; k <= j->order; k++) {
			if (!(mask >> k & 1)) continue;
			border.slot[border.n] = i;
			border.k[border.n++] = k;
		}
	}
	return border;
}

static Ref result_of(const Jet *j, const void *ud, uint32_t i) {
	(void)j;
	return inst_result((const Inst *)ud, i);
}

/* The results of a region: values, then coefficients, with zeros where this
 * region has none. */
static Ref *region_results(Jet *j, const Region *r, const Border *border) {
	Ref *out = ARENA_ARRAY(j->scratch, Ref, r->nresults + border->n + 1);
	for (uint32_t i = 0; i < r->nresults; i++)
		out[i] = jet_get(j, j->f->args.at[r->results + i], 0);
	for (uint32_t i = 0; i < border->n; i++)
		out[r->nresults + i] =
			jet_full(j, j->f->args.at[r->results + border->slot[i]], border->k[i]);
	return out;
}

/* Maps the results of the old instruction to the new ones. An extent known only
 * at run time is unified between a value and its series. */
static void take_results(Jet *j, const Inst *in, const Border *border, const Ref *results) {
	Fn *to = build_fn(j->b);
	for (uint32_t i = 0; i < in->nresults; i++) refmap_set(&j->map, inst_result(in, i), results[i]);
	for (uint32_t i = 0; i < border->n; i++) {
		Ref x = results[in->nresults + i];
		Type own = *ref_ty(to, x), wanted = *ref_ty(to, results[border->slot[i]]);
		for (uint32_t a = 0; a < own.rank; a++)
			build_unify(j->b, wanted.dims[a], own.dims[a], atom(j->c, "a value and its series"));
		jet_set(j, inst_result(in, border->slot[i]), border->k[i], x);
	}
}

/* Saves the meaning of symbols that a region redefines. */
static Dim *save_dims(Jet *j) {
	Dim *copy = ARENA_ARRAY(j->scratch, Dim, j->map.ndims + 1);
	if (j->map.ndims) memcpy(copy, j->map.dims, sizeof(Dim) * j->map.ndims);
	return copy;
}

static void restore_dims(Jet *j, const Dim *copy) {
	if (j->map.ndims) memcpy(j->map.dims, copy, sizeof(Dim) * j->map.ndims);
}

/* `if` and `try`: two regions; parameters of the second have no series. */
static void jet_branches(Jet *j, const Inst *in) {
	Border border = border_new(j, in->nresults, result_of, in);
	RegionId regions[2];
	for (uint32_t k = 0; k < 2; k++) {
		const Region *r = inst_region(j->f, in, k);
		Dim *dims = save_dims(j);
		TypeId *types = ARENA_ARRAY(j->scratch, TypeId, r->nparams + 1);
		Ref *params = ARENA_ARRAY(j->scratch, Ref, r->nparams + 1);
		for (uint32_t i = 0; i < r->nparams; i++)
			types[i] = refmap_type(j->b, &j->map, ref_type(j->f, ref_value(r->params + i)));
		OpenRegion *open = build_region_begin(j->b, r->nparams, types, params);
		for (uint32_t i = 0; i < r->nparams; i++)
			refmap_set(&j->map, ref_value(r->params + i), params[i]);
		emit_region(j, r);
		regions[k] =
			build_region_end(j->b, open, r->nresults + border.n, region_results(j, r, &border));
		restore_dims(j, dims);
	}
	build_at(j->b, in->span);
	Ref *results = ARENA_ARRAY(j->scratch, Ref, in->nresults + border.n + 1);
	if (in->op == OP_IF)
		build_if(j->b, jet_get(j, inst_arg(j->f, in, 0), 0), regions[0], regions[1], results);
	else build_try(j->b, regions[0], regions[1], results);
	take_results(j, in, &border, results);
}

void jet_rule_SELECT(Jet *j, const Inst *in) { jet_elementwise(j, in); }

void jet_rule_IF(Jet *j, const Inst *in) { jet_branches(j, in); }

void jet_rule_TRY(Jet *j, const Inst *in) { jet_branches(j, in); }

/* Loops carry the values, then the coefficients that the first walk found. */
static Ref *loop_types(Jet *j, const Inst *in, const Region *r, uint32_t skip, const Border *border,
                       TypeId *types) {
	uint32_t n = in->nresults, first = in->nargs - n;
	Ref *init = ARENA_ARRAY(j->scratch, Ref, n + border->n + 1);
	for (uint32_t i = 0; i < r->nparams; i++)
		types[i] = refmap_type(j->b, &j->map, ref_type(j->f, ref_value(r->params + i)));
	for (uint32_t i = 0; i < n; i++) init[i] = jet_get(j, inst_arg(j->f, in, first + i), 0);
	for (uint32_t i = 0; i < border->n; i++) {
		types[r->nparams + i] = types[skip + border->slot[i]];
		init[n + i] = jet_full(j, inst_arg(j->f, in, first + border->slot[i]), border->k[i]);
	}
	return init;
}

static OpenRegion *open_body(Jet *j, const Region *r, uint32_t skip, const Border *border,
                             const TypeId *types) {
	Ref *params = ARENA_ARRAY(j->scratch, Ref, r->nparams + border->n + 1);
	OpenRegion *open = build_region_begin(j->b, r->nparams + border->n, types, params);
	for (uint32_t i = 0; i < r->nparams; i++) {
		refmap_set(&j->map, ref_value(r->params + i), params[i]);
		build_name(j->b, params[i], j->f->vals.at[r->params + i].name);
	}
	for (uint32_t i = 0; i < border->n; i++)
		jet_set(j, ref_value(r->params + skip + border->slot[i]), border->k[i],
		        params[r->nparams + i]);
	return open;
}

void jet_rule_FOR(Jet *j, const Inst *in) {
	const Region *r = inst_region(j->f, in, 0);
	Border border = border_new(j, in->nresults, result_of, in);
	TypeId *types = ARENA_ARRAY(j->scratch, TypeId, r->nparams + border.n + 1);
	Dim *dims = save_dims(j);
	Ref *init = loop_types(j, in, r, 1, &border, types);
	OpenRegion *open = open_body(j, r, 1, &border, types);
	emit_region(j, r);
	RegionId body =
		build_region_end(j->b, open, r->nresults + border.n, region_results(j, r, &border));
	restore_dims(j, dims);
	build_at(j->b, in->span);
	Ref *results = ARENA_ARRAY(j->scratch, Ref, in->nresults + border.n + 1);
	build_for(j->b, jet_get(j, inst_arg(j->f, in, 0), 0), in->nresults + border.n, init, body,
	          results);
	take_results(j, in, &border, results);
}

void jet_rule_WHILE(Jet *j, const Inst *in) {
	const Region *test = inst_region(j->f, in, 0), *r = inst_region(j->f, in, 1);
	Border border = border_new(j, in->nresults, result_of, in);
	TypeId *types = ARENA_ARRAY(j->scratch, TypeId, r->nparams + border.n + 1);
	Ref *params = ARENA_ARRAY(j->scratch, Ref, r->nparams + border.n + 1);
	Dim *dims = save_dims(j);

	/* The condition uses only values. Its parameters have the body's types with
	 * symbols of their own. */
	Ref *init = loop_types(j, in, test, 0, &border, types);
	OpenRegion *open = build_region_begin(j->b, test->nparams + border.n, types, params);
	for (uint32_t i = 0; i < test->nparams; i++)
		refmap_set(&j->map, ref_value(test->params + i), params[i]);
	for (uint32_t i = 0; i < test->ninsts; i++)
		jet_primal(j, &j->f->insts.at[j->f->inst_order.at[test->insts + i]]);
	Ref go_on = jet_get(j, j->f->args.at[test->results], 0);
	RegionId condition = build_region_end(j->b, open, 1, &go_on);
	restore_dims(j, dims);

	loop_types(j, in, r, 0, &border, types);
	open = open_body(j, r, 0, &border, types);
	emit_region(j, r);
	RegionId body =
		build_region_end(j->b, open, r->nresults + border.n, region_results(j, r, &border));
	restore_dims(j, dims);
	build_at(j->b, in->span);
	Ref *results = ARENA_ARRAY(j->scratch, Ref, in->nresults + border.n + 1);
	build_while(j->b, in->nresults + border.n, init, condition, body, results);
	take_results(j, in, &border, results);
}

/* ---- calls --------------------------------------------------------------- */

static bool known_zero(Builder *b, Ref x) {
	Value v;
	double number;
	return ref_splat(build_fn(b), x, &v) && value_as_f64(v, &number) && number == 0;
}

/* Whether one of coefficients first..last exists. */
static bool some_coefficient(Jet *j, Ref r, uint32_t first, uint32_t last) {
	for (uint32_t k = first; k <= last; k++)
		if (has_series(j, r) && jet_get(j, r, k) != REF_NONE) return true;
	return false;
}

/* y' = R(x, y, x') for a rule R of tangents, so k y_k is coefficient k-1 of R
 * on the series of x, y and x'. The series of x' has the coefficients (i+1)
 * x_{i+1}. The walk goes order by order; the builder merges the work that R
 * repeats for low coefficients. */
static void series_by_rule(Jet *j, const Inst *in, Fn *rule) {
	Builder *b = j->b;
	uint32_t nx = in->nargs, ny = in->nresults, n = 0, m = 0;
	/* The value of f for each parameter of R. */
	Ref *from = ARENA_ARRAY(j->scratch, Ref, 2 * nx + ny + 1);
	bool *active = ARENA_ARRAY(j->scratch, bool, 2 * nx + ny + 1),
		 *moves = ARENA_ARRAY(j->scratch, bool, ny + 1);
	for (uint32_t i = 0; i < nx; i++) from[n++] = inst_arg(j->f, in, i);
	for (uint32_t i = 0; i < ny; i++) from[n++] = inst_result(in, i);
	for (uint32_t i = 0; i < nx; i++)
		if (type_has_tangent(j->c, ref_type(j->f, from[i]))) from[n++] = from[i];
	for (uint32_t i = 0; i < ny; i++) m += type_has_tangent(j->c, ref_type(j->f, from[nx + i]));
	if (fn_nparams(rule) != n || fn_nresults(rule) != m) {
		diag_error(j->c, E_RULE, span_of(j->c, in->span),
		           "the rule `%s` takes %u values and gives %u; it should take %u and give %u",
		           atom_text(j->c, rule->name), fn_nparams(rule), fn_nresults(rule), n, m);
		ctx_throw(j->c, ST_ERROR);
	}
	Ref *args = ARENA_ARRAY(j->scratch, Ref, (size_t)n * (j->order + 1) + 1);
	Ref *results = ARENA_ARRAY(j->scratch, Ref, (size_t)m * (j->order + 1) + 1);
	for (uint32_t k = 1; k <= j->order; k++) {
		Fn *round = rule;
		memset(moves, 0, (ny + 1) * sizeof *moves);
		for (uint32_t i = 0; i < n; i++)
			active[i] = i < nx + ny ? some_coefficient(j, from[i], 1, k - 1)
			                        : some_coefficient(j, from[i], 2, k);
		if (k > 1) round = ad_jet(j->c, rule, k - 1, false, active, moves);
		uint32_t nargs = 0, at = m;
		for (uint32_t i = 0; i < n; i++)
			args[nargs++] = i < nx + ny ? jet_get(j, from[i], 0) : jet_full(j, from[i], 1);
		for (uint32_t i = 0; i < n; i++) {
			bool slope = i >= nx + ny;
			for (uint32_t q = 1; active[i] && q < k; q++)
				args[nargs++] = slope ? zero_scale(b, jet_full(j, from[i], q + 1), q + 1)
				                      : jet_full(j, from[i], q);
		}
		build_inline(b, round, args, results);
		for (uint32_t i = 0, r = 0; i < ny; i++) {
			if (!type_has_tangent(j->c, ref_type(j->f, from[nx + i]))) continue;
			Ref y = REF_NONE;
			if (k == 1) y = results[r];
			else if (moves[r]) y = results[(at += k - 1) - 1];
			r++;
			if (y != REF_NONE && known_zero(b, y)) y = REF_NONE;
			if (has_series(j, from[nx + i])) jet_set(j, from[nx + i], k, zero_scale(b, y, 1.0 / k));
		}
	}
}

static void jet_longer_nested(Jet *j, const Inst *in, const NestedJet *nested) {
	Ref *args = ARENA_ARRAY(j->scratch, Ref, in->nargs + 1),
		*results = ARENA_ARRAY(j->scratch, Ref, in->nresults + 1);
	Ref *further = ARENA_ARRAY(j->scratch, Ref, (size_t)in->nresults * j->order + 1);
	for (uint32_t i = 0; i < in->nargs; i++) args[i] = jet_get(j, inst_arg(j->f, in, i), 0);
	nested_jet_expand(j->c, j->b, j->scratch, nested, args,
	                  jet_full(j, inst_arg(j->f, in, nested->param), 1), j->order, results,
	                  further);
	for (uint32_t i = 0; i < in->nresults; i++) refmap_set(&j->map, inst_result(in, i), results[i]);
	for (uint32_t i = 0; i < in->nresults; i++)
		for (uint32_t k = 1; has_series(j, inst_result(in, i)) && k <= j->order; k++)
			jet_set(j, inst_result(in, i), k, further[i * j->order + k - 1]);
}

void jet_rule_CALL(Jet *j, const Inst *in) {
	Fn *rule = written_rule(j, in);
	if (rule) {
		jet_primal(j, in);
		series_by_rule(j, in, rule);
		return;
	}
	NestedJet nested;
	if (calls_nested_jet(j, in, &nested)) {
		jet_longer_nested(j, in, &nested);
		return;
	}
	const Transform *d = callee_jet(j, in);
	uint32_t n = in->nargs, m = in->nresults;
	Ref *args = ARENA_ARRAY(j->scratch, Ref, (size_t)n * (j->order + 1) + 1);
	Ref *results = ARENA_ARRAY(j->scratch, Ref, (size_t)m * (j->order + 1) + 1);
	for (uint32_t i = 0; i < in->nargs; i++) args[i] = jet_get(j, inst_arg(j->f, in, i), 0);
	for (uint32_t i = 0; i < in->nargs; i++)
		for (uint32_t k = 1; d->mask[i] && k <= (d->order & STRAIGHT ? 1 : j->order); k++)
			args[n++] = jet_full(j, inst_arg(j->f, in, i), k);
	if (d->done) {
		build_call(j->b, d->fn, n, args, results);
	} else {
		TypeId *types = ARENA_ARRAY(j->scratch, TypeId, (size_t)m * (j->order + 1) + 1);
		for (uint32_t i = 0; i < in->nresults; i++)
			types[i] = refmap_type(j->b, &j->map, ref_type(j->f, inst_result(in, i)));
		for (uint32_t i = 0; i < in->nresults; i++)
			for (uint32_t k = 1; has_series(j, inst_result(in, i)) && k <= j->order; k++)
				types[m++] = types[i];
		int64_t word = d->fn->id;
		build_typed(j->b, OP_CALL, n, args, attr_intern(j->c, &word, 1), m, types, results);
	}
	Border border = border_new(j, in->nresults, result_of, in);
	take_results(j, in, &border, results);
}

/* The tangent rule of a host function, as a function of its operands, its
 * results and the tangents of the operands. */
static Fn *host_rule(Jet *j, const Inst *in, const HostCall *call) {
	Builder *b = build_begin(j->c, atom_f(j->c, "%s.jvp", call->def->name), in->span, j->f);
	uint32_t m = 0;
	Ref *x = ARENA_ARRAY(j->scratch, Ref, in->nargs + 1),
		*y = ARENA_ARRAY(j->scratch, Ref, in->nresults + 1);
	Ref *dx = ARENA_ARRAY(j->scratch, Ref, in->nargs + 1),
		*dy = ARENA_ARRAY(j->scratch, Ref, in->nresults + 1);
	for (uint32_t i = 0; i < in->nargs; i++)
		x[i] = build_param(b, ref_type(j->f, inst_arg(j->f, in, i)), 0);
	for (uint32_t i = 0; i < in->nresults; i++)
		y[i] = build_param(b, ref_type(j->f, inst_result(in, i)), 0);
	for (uint32_t i = 0; i < in->nargs; i++) {
		Ref r = inst_arg(j->f, in, i);
		if (!type_has_tangent(j->c, ref_type(j->f, r))) continue;
		Ref t = build_param(b, ref_type(j->f, r), 0);
		if (has_series(j, r)) dx[i] = t;
	}
	build_at(b, in->span);
	call->def->jvp(b, call, in->nargs, x, y, dx, dy);
	for (uint32_t i = 0; i < in->nresults; i++) {
		TypeId t = ref_type(j->f, inst_result(in, i));
		if (type_has_tangent(j->c, t)) dy[m++] = dy[i] ? dy[i] : build_zeros(b, t);
	}
	return transform_own(j->entry, build_end(b, m, dy));
}

void jet_rule_HOST(Jet *j, const Inst *in) {
	const HostCall *call = host_call(j->c, (HostId)attr_int(j->c, OP_HOST, in->attr, 0));
	if (!call->def->jvp) jet_no_rule(j, in, "has no derivative");
	jet_primal(j, in);
	series_by_rule(j, in, host_rule(j, in, call));
}

/* ---- the walk ------------------------------------------------------------ */

static void emit_region(Jet *j, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[r->insts + i]];
		bool series = false;
		for (uint32_t k = 0; k < in->nresults; k++) series |= has_series(j, inst_result(in, k));
		build_at(j->b, in->span);
		if (!series) {
			jet_primal(j, in);
			continue;
		}
		build_chain(j->b, chain_push(j->c, in->chain, "jet"));
		Fn *rule = prims[in->op].deriv == DERIV_RULE && !prims[in->op].elementwise
		               ? written_rule(j, in)
		               : NULL;
		if (rule) {
			jet_primal(j, in);
			series_by_rule(j, in, rule);
		} else if (prims[in->op].elementwise) {
			jet_elementwise(j, in);
		} else {
			jet_rule((Op)in->op)(j, in);
		}
	}
}

static void make_jet(Ctx *c, Transform *d) {
	Fn *f = d->from;
	const bool straight = d->order & STRAIGHT;
	uint32_t order = d->order & ~STRAIGHT, nparams = fn_nparams(f), nresults = fn_nresults(f);
	Jet j = {.c = c, .f = f, .order = order, .scratch = d->scratch, .entry = d};
	j.mask = ARENA_ARRAY(j.scratch, uint64_t, f->vals.n + 1);
	j.coef = ARENA_ARRAY(j.scratch, Ref, (size_t)f->vals.n * order + 1);
	j.rule = ARENA_ARRAY(j.scratch, Fn *, f->insts.n + 1);
	j.asked = ARENA_ARRAY(j.scratch, bool, f->insts.n + 1);
	j.b = build_begin(
		c, transform_name(c, f, arena_printf(j.scratch, straight ? "jet%us" : "jet%u", order)),
		f->span, f);
	j.map = refmap_new(j.b, f, true);
	for (uint32_t i = 0; i < nparams; i++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, i))];
		refmap_set(&j.map, fn_param(f, i), build_param(j.b, v->type, v->name));
	}
	for (uint32_t i = 0; i < nparams; i++) {
		if (!d->mask[i]) continue;
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, i))];
		mask_join(&j, fn_param(f, i), straight ? FIRST : mask_all(order));
		for (uint32_t k = 1; k <= (straight ? 1 : order); k++) {
			Atom name = v->name ? atom_f(c, "%s_%u", atom_text(c, v->name), k) : 0;
			jet_set(&j, fn_param(f, i), k, build_param(j.b, v->type, name));
		}
	}
	d->fn = build_fn(j.b);
	analyse_region(&j, &f->regions.at[0]);
	emit_region(&j, &f->regions.at[0]);

	Ref *results = ARENA_ARRAY(j.scratch, Ref, (size_t)nresults * (order + 1) + 1);
	uint32_t n = nresults;
	for (uint32_t i = 0; i < nresults; i++) results[i] = jet_get(&j, fn_result(f, i), 0);
	for (uint32_t i = 0; i < nresults; i++) {
		/* A recursive call assumes a series for every result that can have
		 * one. */
		bool moves = d->recursive && type_has_tangent(c, ref_type(f, fn_result(f, i)));
		for (uint32_t k = 1; k <= order; k++) moves |= jet_get(&j, fn_result(f, i), k) != REF_NONE;
		d->result_active[i] = moves;
		for (uint32_t k = 1; moves && k <= order; k++)
			results[n++] = jet_full(&j, fn_result(f, i), k);
	}
	d->fn = transform_own(d, build_end(j.b, n, results));
	TransformInfo origin = {.is_jet = true};
	if (straight || order == 1) nested_jet_mark(d, order, &origin);
	transform_info_set(c, d->fn, origin);
}

Fn *ad_jet(Ctx *c, Fn *optimised, uint32_t order, bool straight, const bool *active,
           bool *result_active) {
	Fn *f = unoptimised_of(optimised);
	if (order > JET_MAX_ORDER) {
		diag_error(c, E_VALUE, span_of(c, f->span), "a Taylor series has an order up to %d, not %u",
		           JET_MAX_ORDER, order);
		ctx_throw(c, ST_ERROR);
	}
	if (!order) { /* values only: f itself */
		if (result_active) memset(result_active, 0, fn_nresults(f) * sizeof *result_active);
		return optimised;
	}
	const Transform *d = transform_get(c, f, TR_JET, order | (straight && order > 1 ? STRAIGHT : 0),
	                                   active, make_jet);
	if (result_active)
		memcpy(result_active, d->result_active, fn_nresults(f) * sizeof *result_active);
	return d->fn;
}
