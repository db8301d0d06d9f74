/* batch.c - batching: one function applied to many batch elements at once, with
 * divergent control flow.
 *
 * Needs: batch.h.
 *
 * Contract:
 * - As for ad_batch in autodiff.h. Only primitives are emitted, so every other
 *   transform applies to the result.
 * - A branch that no batch element takes does not run.
 * - When some batch elements skip a branch or an iteration, it still runs for
 *   all. Skipped elements use the operands of an active element, so they cannot
 *   fail or produce a NaN in a derivative.
 * - Branches that only select, add or compare a few scalars run for all batch
 *   elements on their own operands, followed by a select.
 * - Effect chains pass through both branches in sequence.
 * - Instructions with differing extents run sequentially over the batch
 *   elements, and so does a function that starts a random state (a seed).
 */
#include "autodiff/batch/batch.h"
#include <math.h>

#define CHOICE_MOST 12  /* instructions of a branch that is computed for all batch elements */
#define CHOICE_COUNT 32 /* elements of its values */

static void batch_region(Batcher *s, const Region *r);

/* ---- operands and results ------------------------------------------------ */

void batch_no_rule(const Batcher *s, const Inst *in, const char *why) {
	no_rule(s->c, s->f, in, "map", why);
}

static _Noreturn void too_many_axes(const Batcher *s) {
	Diag *d = diag_error(s->c, E_RANK, span_of(s->c, build_span(s->b)),
	                     "an array would need more than %d axes under map", MAX_RANK);
	diag_trace(s->c, d, "map of %s", atom_text(s->c, s->f->name));
	ctx_throw(s->c, ST_ERROR);
}

/* t with the batch axis in front. */
static Type widened(const Batcher *s, const Type *t) {
	if (t->rank >= MAX_RANK) too_many_axes(s);
	Type wide = *t;
	wide.rank++;
	wide.dims[0] = s->n;
	memcpy(wide.dims + 1, t->dims, sizeof(Dim) * t->rank);
	return wide;
}

TypeId batch_type(Batcher *s, TypeId t, bool lanes) {
	t = refmap_type(s->b, &s->map, t);
	Type ty = *type_of(s->c, t);
	if (!lanes || ty.kind != TY_TENSOR) return t;
	ty = widened(s, &ty);
	return type_tensor(s->c, (Dtype)ty.dtype, ty.rank, ty.dims);
}

AttrId batch_attr(Batcher *s, const Inst *in) {
	return attr_subst(s->c, (Op)in->op, in->attr, s->map.dims, s->map.ndims);
}

Ref batch_get(Batcher *s, Ref r) { return refmap_get(s->b, &s->map, r); }

static Ref broadcast_lanes(Batcher *s, Ref x) {
	Type t = *ref_ty(build_fn(s->b), x), wide = widened(s, &t);
	int axes[MAX_RANK];
	for (int i = 0; i < t.rank; i++) axes[i] = i + 1;
	return build_broadcast(s->b, x, wide.rank, wide.dims, axes);
}

/* r with the batch axis, broadcast if it is not batched. */
static Ref batch_full(Batcher *s, const Inst *in, Ref r) {
	Ref x = batch_get(s, r);
	if (batch_lanes(s, r)) return x;
	if (!type_is_tensor(s->c, ref_type(s->f, r)))
		batch_no_rule(s, in,
		              "gives a dynamic value that is one for all lanes here and differs from lane "
		              "to lane there");
	return broadcast_lanes(s, x);
}

Ref batch_arg(Batcher *s, const Inst *in, uint32_t k) {
	return batch_get(s, inst_arg(s->f, in, k));
}

Ref batch_full_arg(Batcher *s, const Inst *in, uint32_t k) {
	return batch_full(s, in, inst_arg(s->f, in, k));
}

/* [n] -> [n, other axes of like] */
static Ref batch_spread(Batcher *s, Ref per_lane, TypeId like) {
	Type t = *type_of(s->c, like);
	return build_broadcast(s->b, per_lane, t.rank, t.dims, (int[]){0});
}

/* As refmap_set, where the axes of the new value may be one further back. Also
 * records the new extents of symbols defined here. */
void batch_set(Batcher *s, Ref r, Ref x) {
	s->map.values[REF_INDEX(r)] = x;
	Type old = *ref_ty(s->f, r), new = *ref_ty(build_fn(s->b), x);
	uint32_t skip = batch_lanes(s, r) ? 1 : 0;
	for (uint32_t i = 0; old.kind == TY_TENSOR && i < old.rank; i++) {
		SymId sym;
		if (!dim_is_sym(s->c, old.dims[i], &sym) || sym >= s->map.ndims) continue;
		Dim now = new.dims[i + skip];
		if (s->map.dims[sym] == UINT32_MAX ||
		    build_canon(s->b, s->map.dims[sym]) != build_canon(s->b, now))
			s->map.dims[sym] = now;
	}
	if (ref_is_value(x)) build_name(s->b, x, s->f->vals.at[REF_INDEX(r)].name);
}

/* ---- bookkeeping of regions ---------------------------------------------- */

/* A copy of the map's dims, and the length of the trail, for restore. */
typedef struct Saved {
	uint32_t mark;
	Dim *dims;
} Saved;

static Saved save(Batcher *s) {
	Saved saved = {s->trail.n, ARENA_ARRAY(s->scratch, Dim, s->map.ndims + 1)};
	if (s->map.ndims) memcpy(saved.dims, s->map.dims, sizeof(Dim) * s->map.ndims);
	return saved;
}

static void restore(Batcher *s, const Saved *saved) {
	while (s->trail.n > saved->mark) {
		BatchUndo u = s->trail.at[--s->trail.n];
		s->map.values[u.value] = u.old;
	}
	if (s->map.ndims) memcpy(s->map.dims, saved->dims, sizeof(Dim) * s->map.ndims);
}

/* Maps r, defined outside, to x until the map is restored. */
static void stand_for(Batcher *s, Ref r, Ref x) {
	BatchUndo u = {REF_INDEX(r), s->map.values[REF_INDEX(r)]};
	VEC_PUSH(s->scratch, &s->trail, u);
	s->map.values[u.value] = x;
}

static Ref region_result(const Batcher *s, const Region *r, uint32_t k) {
	return s->f->args.at[r->results + k];
}

/* Batched values that the regions of an instruction, or a group of
 * instructions, use from outside. */
typedef struct Captured {
	Ref *at;
	uint32_t n;
	bool *seen;
} Captured;

static void capture_value(Batcher *s, const BatchGroup *g, Ref r, Captured *out) {
	if (!batch_lanes(s, r) || out->seen[REF_INDEX(r)] || batch_within(s, r, g)) return;
	out->seen[REF_INDEX(r)] = true;
	out->at[out->n++] = r;
}

static void capture_region(Batcher *s, const BatchGroup *g, const Region *r, Captured *out) {
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &s->f->insts.at[s->f->inst_order.at[r->insts + i]];
		for (uint32_t k = 0; k < in->nargs; k++) capture_value(s, g, inst_arg(s->f, in, k), out);
		for (uint32_t k = 0; k < in->nregions; k++)
			capture_region(s, g, inst_region(s->f, in, k), out);
	}
	for (uint32_t k = 0; k < r->nresults; k++) capture_value(s, g, region_result(s, r, k), out);
}

static Captured captured_new(Batcher *s) {
	return (Captured){.at = ARENA_ARRAY(s->scratch, Ref, s->f->vals.n + 1),
	                  .seen = ARENA_ARRAY(s->scratch, bool, s->f->vals.n + 1)};
}

static Ref choose(Batcher *s, Ref chosen, Ref x, Ref y) {
	return build_select(s->b, batch_spread(s, chosen, ref_type(build_fn(s->b), x)), x, y);
}

/* Maps r to x[index] along the batch axis until the map is restored. With
 * `chosen`, the chosen elements read themselves. The others read values whose
 * results are discarded, so these have no derivative; otherwise reverse mode
 * would sum useless cotangents element by element. */
static void redirect(Batcher *s, const Inst *in, Ref r, Ref chosen, Ref index) {
	if (!type_is_tensor(s->c, ref_type(s->f, r)))
		batch_no_rule(s, in,
		              "uses a dynamic value that differs from lane to lane where lanes part ways");
	Ref x = batch_get(s, r);
	const Dtype t = (Dtype)ref_ty(build_fn(s->b), x)->dtype;
	const bool asked = build_unasked(s->b, true);
	if (!chosen || dtype_is_int(t) || t == DT_BOOL)
		stand_for(s, r, build_gather(s->b, x, index, 0, 0));
	else
		stand_for(s, r,
		          choose(s, chosen, x, build_gather(s->b, build1(s->b, OP_STOP, x), index, 0, 0)));
	build_unasked(s->b, asked);
}

static void redirect_all(Batcher *s, const Inst *in, const Captured *captured, Ref chosen,
                         Ref index) {
	for (uint32_t i = 0; i < captured->n; i++) redirect(s, in, captured->at[i], chosen, index);
}

static Ref any_lane(Batcher *s, Ref chosen) {
	Ref count =
		build_reduce(s->b, OP_REDUCE_SUM, build_convert(s->b, chosen, DT_I64), 1, (int[]){0});
	return build2(s->b, OP_LT, build_i64(s->b, 0), count);
}

/* For each chosen batch element its own index, for the others that of the first
 * chosen one. At least one must be chosen. */
static Ref lane_index(Batcher *s, Ref chosen) {
	int64_t axis = 0;
	const bool asked = build_unasked(s->b, true);
	Ref first = build(s->b, OP_ARGMAX, 1, &chosen, attr_intern(s->c, &axis, 1), NULL),
		lanes = build_iota(s->b, DT_I64, s->n);
	build_unasked(s->b, asked);
	return build_select(s->b, chosen, lanes,
	                    build_broadcast_scalar(s->b, first, ref_type(build_fn(s->b), lanes)));
}

/* Values after divergence must have one shape and be arrays. */
static void check_shape(Batcher *s, const Inst *in, Ref r) {
	if (!type_is_tensor(s->c, ref_type(s->f, r)))
		batch_no_rule(s, in, "gives a dynamic value that differs from lane to lane");
	if (!batch_dims_before(s, in, ref_type(s->f, r)))
		batch_no_rule(s, in, "gives an array whose length differs from lane to lane");
}

/* The value with which the effect chain that leaves as result r entered the
 * instruction. */
static Ref effect_entry(Batcher *s, const Inst *in, Ref r) {
	Ref entry = batch_effect_entry(s, r, in);
	if (!entry)
		batch_no_rule(s, in, "starts a random state or an output of its own where lanes part ways");
	return entry;
}

/* ---- if ------------------------------------------------------------------ */

static void if_together(Batcher *s, const Inst *in) {
	RegionId regions[2];
	for (uint32_t i = 0; i < 2; i++) {
		const Region *r = inst_region(s->f, in, i);
		Saved saved = save(s);
		OpenRegion *open = build_region_begin(s->b, 0, NULL, NULL);
		batch_region(s, r);
		Ref *out = ARENA_ARRAY(s->scratch, Ref, in->nresults + 1);
		for (uint32_t k = 0; k < in->nresults; k++)
			out[k] = batch_lanes(s, inst_result(in, k)) ? batch_full(s, in, region_result(s, r, k))
			                                            : batch_get(s, region_result(s, r, k));
		regions[i] = build_region_end(s->b, open, in->nresults, out);
		restore(s, &saved);
	}
	build_at(s->b, in->span);
	Ref *results = ARENA_ARRAY(s->scratch, Ref, in->nresults + 1);
	build_if(s->b, batch_arg(s, in, 0), regions[0], regions[1], results);
	for (uint32_t k = 0; k < in->nresults; k++) batch_set(s, inst_result(in, k), results[k]);
}

/* Emits if (any element takes the branch) { select(taken, branch, before) }
 * else { before }. The select is inside, so that the test may be applied to a
 * subset of the batch elements. Results with an entry are effect chains. */
static void branch_by_lane(Batcher *s, const Inst *in, uint32_t which, Ref taken, const Ref *before,
                           const Ref *entry, Ref *results) {
	const Region *r = inst_region(s->f, in, which);
	uint32_t n = in->nresults;
	Captured captured = captured_new(s);
	capture_region(s, &(BatchGroup){&in, 1}, r, &captured);
	Ref run = any_lane(s, taken), *out = ARENA_ARRAY(s->scratch, Ref, n + 1);

	Saved saved = save(s);
	OpenRegion *open = build_region_begin(s->b, 0, NULL, NULL);
	if (captured.n) redirect_all(s, in, &captured, taken, lane_index(s, taken));
	batch_region(s, r);
	for (uint32_t k = 0; k < n; k++)
		out[k] = entry[k] ? batch_get(s, region_result(s, r, k))
		                  : choose(s, taken, batch_full(s, in, region_result(s, r, k)), before[k]);
	RegionId taken_region = build_region_end(s->b, open, n, out);
	restore(s, &saved);

	build_at(s->b, in->span);
	open = build_region_begin(s->b, 0, NULL, NULL);
	RegionId skipped = build_region_end(s->b, open, n, before);
	build_if(s->b, run, taken_region, skipped, results);
}

static void if_by_lane(Batcher *s, const Inst *in) {
	uint32_t n = in->nresults;
	Ref taken = batch_arg(s, in, 0), *first = ARENA_ARRAY(s->scratch, Ref, n + 1),
		*second = ARENA_ARRAY(s->scratch, Ref, n + 1);
	Ref *entry = ARENA_ARRAY(s->scratch, Ref, n + 1), *before = ARENA_ARRAY(s->scratch, Ref, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		if (!batch_is_effect(s, inst_result(in, k))) {
			check_shape(s, in, inst_result(in, k));
			before[k] = build_zeros(s->b, batch_type(s, ref_type(s->f, inst_result(in, k)), true));
			continue;
		}
		entry[k] = effect_entry(s, in, region_result(s, inst_region(s->f, in, 0), k));
		if (entry[k] != effect_entry(s, in, region_result(s, inst_region(s->f, in, 1), k)))
			batch_no_rule(
				s, in,
				"has branches with different random states or outputs where lanes part ways");
		before[k] = batch_get(s, entry[k]);
	}
	Ref other = build2(s->b, OP_EQ, taken, build_zeros(s->b, ref_type(build_fn(s->b), taken)));
	branch_by_lane(s, in, 0, taken, before, entry, first);
	Saved saved = save(s);
	for (uint32_t k = 0; k < n; k++)
		if (entry[k] && ref_is_value(entry[k])) stand_for(s, entry[k], first[k]);
	branch_by_lane(s, in, 1, other, first, entry, second);
	restore(s, &saved);
	for (uint32_t k = 0; k < n; k++) batch_set(s, inst_result(in, k), second[k]);
}

static bool without_tangent(const Batcher *s, Ref r) {
	const Dtype t = (Dtype)ref_ty(s->f, r)->dtype;
	return t == DT_BOOL || dtype_is_int(t);
}

/* Whether t is so small that selecting is cheaper than branching. */
static bool is_few(const Batcher *s, const Type *t) {
	int64_t n, count = 1;
	for (uint32_t k = 0; k < t->rank; k++) {
		if (!dim_is_const(s->c, t->dims[k], &n) || n > CHOICE_COUNT) return false;
		count *= n;
	}
	return count <= CHOICE_COUNT;
}

static bool is_choice(Batcher *s, const Inst *in);

/* Whether every batch element may compute this, even one that does not take the
 * branch: it is cheap, cannot fail, and has a finite derivative for all
 * operands. */
static bool is_harmless(Batcher *s, const Inst *in) {
	Value v;
	double x;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (!type_is_tensor(s->c, ref_type(s->f, inst_result(in, k))) ||
		    !is_few(s, ref_ty(s->f, inst_result(in, k))))
			return false;
	switch ((Op)in->op) {
	case OP_NEG:
	case OP_ADD:
	case OP_SUB:
	case OP_SELECT:
	case OP_EQ:
	case OP_LT:
	case OP_LE:
	case OP_STOP:
	case OP_BROADCAST:
	case OP_RESHAPE: return true;
	case OP_MIN:
	case OP_MAX:
	case OP_CONVERT: return without_tangent(s, inst_arg(s->f, in, 0));
	case OP_IF: return is_choice(s, in);
	case OP_MUL:
		for (uint32_t k = 0; k < 2; k++)
			if (ref_splat(s->f, inst_arg(s->f, in, k), &v) && !dtype_is_complex((Dtype)v.dtype) &&
			    value_as_f64(v, &x) && isfinite(x))
				return true;
		return false;
	default: return false;
	}
}

/* Whether both branches are so cheap that they can be replaced by a select. */
static bool is_choice(Batcher *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (batch_is_effect(s, r) || !type_is_tensor(s->c, ref_type(s->f, r)) ||
		    !batch_dims_before(s, in, ref_type(s->f, r)))
			return false;
		if (!is_few(s, ref_ty(s->f, r))) return false;
	}
	for (uint32_t i = 0; i < 2; i++) {
		const Region *r = inst_region(s->f, in, i);
		if (r->ninsts > CHOICE_MOST) return false;
		for (uint32_t k = 0; k < r->ninsts; k++)
			if (!is_harmless(s, &s->f->insts.at[s->f->inst_order.at[r->insts + k]])) return false;
	}
	return true;
}

static void if_chosen(Batcher *s, const Inst *in) {
	Ref *out[2];
	for (uint32_t i = 0; i < 2; i++) {
		const Region *r = inst_region(s->f, in, i);
		Saved saved = save(s);
		batch_region(s, r);
		out[i] = ARENA_ARRAY(s->scratch, Ref, in->nresults + 1);
		for (uint32_t k = 0; k < in->nresults; k++)
			out[i][k] = batch_full(s, in, region_result(s, r, k));
		restore(s, &saved);
	}
	build_at(s->b, in->span);
	Ref taken = batch_arg(s, in, 0);
	for (uint32_t k = 0; k < in->nresults; k++)
		batch_set(s, inst_result(in, k), choose(s, taken, out[0][k], out[1][k]));
}

void batch_IF(Batcher *s, const Inst *in) {
	if (!batch_lanes(s, inst_arg(s->f, in, 0))) if_together(s, in);
	else if (is_choice(s, in)) if_chosen(s, in);
	else if_by_lane(s, in);
}

/* ---- loops --------------------------------------------------------------- */

static void param_types(Batcher *s, const Region *r, TypeId *types) {
	for (uint32_t i = 0; i < r->nparams; i++) {
		Ref p = ref_value(r->params + i);
		types[i] = batch_type(s, ref_type(s->f, p), batch_lanes(s, p));
	}
}

static void set_params(Batcher *s, const Region *r, const Ref *params) {
	for (uint32_t i = 0; i < r->nparams; i++) batch_set(s, ref_value(r->params + i), params[i]);
}

static Ref carried(Batcher *s, const Inst *in, Ref like, Ref r) {
	return batch_lanes(s, like) ? batch_full(s, in, r) : batch_get(s, r);
}

static RegionId condition_together(Batcher *s, const Inst *in) {
	const Region *r = inst_region(s->f, in, 0);
	TypeId *types = ARENA_ARRAY(s->scratch, TypeId, r->nparams + 1);
	Ref *params = ARENA_ARRAY(s->scratch, Ref, r->nparams + 1);
	Saved saved = save(s);
	param_types(s, r, types);
	OpenRegion *open = build_region_begin(s->b, r->nparams, types, params);
	set_params(s, r, params);
	batch_region(s, r);
	Ref go_on = batch_get(s, region_result(s, r, 0));
	RegionId id = build_region_end(s->b, open, 1, &go_on);
	restore(s, &saved);
	return id;
}

static void loop_together(Batcher *s, const Inst *in) {
	bool counted = in->op == OP_FOR;
	const Region *r = inst_region(s->f, in, !counted);
	uint32_t n = in->nresults, skip = counted;
	Ref *init = ARENA_ARRAY(s->scratch, Ref, n + 1),
		*params = ARENA_ARRAY(s->scratch, Ref, r->nparams + 1);
	Ref *out = ARENA_ARRAY(s->scratch, Ref, n + 1);
	TypeId *types = ARENA_ARRAY(s->scratch, TypeId, r->nparams + 1);
	for (uint32_t k = 0; k < n; k++)
		init[k] = carried(s, in, ref_value(r->params + skip + k), inst_arg(s->f, in, skip + k));
	RegionId condition = counted ? 0 : condition_together(s, in);
	Saved saved = save(s);
	param_types(s, r, types);
	OpenRegion *open = build_region_begin(s->b, r->nparams, types, params);
	set_params(s, r, params);
	batch_region(s, r);
	for (uint32_t k = 0; k < n; k++)
		out[k] = carried(s, in, ref_value(r->params + skip + k), region_result(s, r, k));
	RegionId body = build_region_end(s->b, open, n, out);
	restore(s, &saved);
	build_at(s->b, in->span);
	if (counted) build_for(s->b, batch_arg(s, in, 0), n, init, body, out);
	else build_while(s->b, n, init, condition, body, out);
	for (uint32_t k = 0; k < n; k++) batch_set(s, inst_result(in, k), out[k]);
}

/* Inlines the loop's condition for the given carried values. Returns
 * bool[n]. */
static Ref condition_here(Batcher *s, const Inst *in, const Ref *values) {
	const Region *r = inst_region(s->f, in, 0);
	Saved saved = save(s);
	set_params(s, r, values);
	batch_region(s, r);
	Ref go_on = batch_full(s, in, region_result(s, r, 0));
	restore(s, &saved);
	return go_on;
}

static bool is_tape(const Batcher *s, Ref r) { return s->tape[REF_INDEX(r)]; }

/* One iteration for the batch elements that are alive. `values` are the carried
 * values at its beginning, and are replaced by those at its end. The other
 * elements read the body's parameters and captured values of an element that is
 * alive. */
static void turn_by_lane(Batcher *s, const Inst *in, const Region *r, uint32_t skip, Ref alive,
                         Ref *values) {
	uint32_t n = in->nresults;
	Captured captured = captured_new(s);
	capture_region(s, &(BatchGroup){&in, 1}, r, &captured);
	Saved saved = save(s);
	Ref index = lane_index(s, alive);
	redirect_all(s, in, &captured, alive, index);
	for (uint32_t k = 0; k < n; k++) {
		Ref param = ref_value(r->params + skip + k);
		batch_set(s, param, values[k]);
		if (batch_lanes(s, param) && !is_tape(s, param)) redirect(s, in, param, alive, index);
	}
	batch_region(s, r);
	build_at(s->b, in->span);
	for (uint32_t k = 0; k < n; k++) {
		Ref next = region_result(s, r, k);
		/* also for elements that have stopped */
		if (is_tape(s, ref_value(r->params + skip + k))) values[k] = batch_full(s, in, next);
		else if (batch_lanes(s, ref_value(r->params + skip + k)))
			values[k] = choose(s, alive, batch_full(s, in, next), values[k]);
		else values[k] = batch_get(s, next);
	}
	restore(s, &saved);
}

/* The initial carried values. They must keep their shape, since batch elements
 * stop at different times. */
static Ref *by_lane_init(Batcher *s, const Inst *in, const Region *r, uint32_t skip) {
	Ref *init = ARENA_ARRAY(s->scratch, Ref, in->nresults + 2);
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref param = ref_value(r->params + skip + k);
		if (batch_lanes(s, param) && !is_tape(s, param)) check_shape(s, in, param);
		init[k] = carried(s, in, param, inst_arg(s->f, in, skip + k));
	}
	return init;
}

/* Carries the old values, then a flag for each batch element that is alive. */
static void while_by_lane(Batcher *s, const Inst *in) {
	const Region *r = inst_region(s->f, in, 1);
	uint32_t n = in->nresults;
	Ref *init = by_lane_init(s, in, r, 0), *params = ARENA_ARRAY(s->scratch, Ref, n + 2);
	TypeId *types = ARENA_ARRAY(s->scratch, TypeId, n + 2);
	init[n] = condition_here(s, in, init);
	param_types(s, r, types);
	types[n] = ref_type(build_fn(s->b), init[n]);

	OpenRegion *open = build_region_begin(s->b, n + 1, types, params);
	Ref go_on = any_lane(s, params[n]);
	RegionId condition = build_region_end(s->b, open, 1, &go_on);

	open = build_region_begin(s->b, n + 1, types, params);
	Ref alive = params[n];
	turn_by_lane(s, in, r, 0, alive, params);
	/* Elements that have stopped keep their values, so their condition stays
	 * false. The explicit conjunction lets map_idioms.c recognise the
	 * mask. */
	params[n] = build2(s->b, OP_MIN, alive, condition_here(s, in, params));
	RegionId body = build_region_end(s->b, open, n + 1, params);
	build_while(s->b, n + 1, init, condition, body, params);
	for (uint32_t k = 0; k < n; k++) batch_set(s, inst_result(in, k), params[k]);
}

/* Runs as many iterations as the longest batch element needs: the maximum of
 * the counts and 0, which also covers an empty batch. */
static void for_by_lane(Batcher *s, const Inst *in) {
	const Region *r = inst_region(s->f, in, 0);
	uint32_t n = in->nresults;
	Ref count = batch_arg(s, in, 0), *init = by_lane_init(s, in, r, 1),
		*params = ARENA_ARRAY(s->scratch, Ref, n + 2);
	TypeId *types = ARENA_ARRAY(s->scratch, TypeId, n + 2);
	Dim one = dim_const(s->c, 1);
	Ref counts = build_concat(
		s->b, 2, (Ref[]){build_zeros(s->b, type_tensor(s->c, DT_I64, 1, &one)), count}, 0);
	Ref longest = build_reduce(s->b, OP_REDUCE_MAX, counts, 1, (int[]){0});
	Saved saved = save(s);
	param_types(s, r, types);
	OpenRegion *open = build_region_begin(s->b, n + 1, types, params);
	batch_set(s, ref_value(r->params), params[0]);
	Ref alive =
		build2(s->b, OP_LT,
	           build_broadcast_scalar(s->b, params[0], ref_type(build_fn(s->b), count)), count);
	turn_by_lane(s, in, r, 1, alive, params + 1);
	RegionId body = build_region_end(s->b, open, n, params + 1);
	restore(s, &saved);
	build_for(s->b, longest, n, init, body, params);
	for (uint32_t k = 0; k < n; k++) batch_set(s, inst_result(in, k), params[k]);
}

void batch_FOR(Batcher *s, const Inst *in) {
	if (batch_lanes(s, inst_arg(s->f, in, 0))) for_by_lane(s, in);
	else loop_together(s, in);
}

void batch_WHILE(Batcher *s, const Inst *in) {
	if (batch_lanes(s, region_result(s, inst_region(s->f, in, 0), 0))) while_by_lane(s, in);
	else loop_together(s, in);
}

/* ---- sequential execution ------------------------------------------------ */

/* Emits a loop over the batch elements. `leaving` are the results: effect
 * chains, which pass from element to element; batched values, one row for each
 * element; and values that all elements share. */
static void loop_over_lanes(Batcher *s, const BatchGroup *g, uint32_t n, const Ref *leaving) {
	Ref *init = ARENA_ARRAY(s->scratch, Ref, n + 1), *params = ARENA_ARRAY(s->scratch, Ref, n + 1);
	Ref *entry = ARENA_ARRAY(s->scratch, Ref, n + 1), *out = ARENA_ARRAY(s->scratch, Ref, n + 1);
	TypeId *types = ARENA_ARRAY(s->scratch, TypeId, n + 1);
	types[0] = type_scalar(s->c, DT_I64);
	for (uint32_t k = 0; k < n; k++) {
		const Ref r = leaving[k];
		const Inst *in = ref_inst(s->f, r);
		if (batch_is_effect(s, r)) {
			entry[k] = batch_effect_into(s, r, g);
			/* an empty batch leaves it unchanged */
			if (!ref_is_value(entry[k]) && (s->starts || !entry[k])) {
				const Ref given = batch_state_of(s->c, s->f, false);
				if (given && !batch_lanes(s, given)) entry[k] = given;
			}
			const bool is_state = type_is_tensor(s->c, ref_type(s->f, r));
			if (!entry[k] && !is_state) batch_no_rule(s, in, "gives a token without taking one");
			/* A state that each element creates, in a function that has none.
			 * With an empty batch nothing draws from it. */
			init[k] = entry[k] ? batch_get(s, entry[k])
			                   : build_zeros(s->b, batch_type(s, ref_type(s->f, r), false));
		} else {
			check_shape(s, in, r);
			init[k] = build_zeros(s->b, batch_type(s, ref_type(s->f, r), batch_lanes(s, r)));
		}
		types[k + 1] = ref_type(build_fn(s->b), init[k]);
	}
	Captured captured = captured_new(s);
	for (uint32_t i = 0; i < g->n; i++) {
		for (uint32_t k = 0; k < g->at[i]->nargs; k++)
			capture_value(s, g, inst_arg(s->f, g->at[i], k), &captured);
		for (uint32_t k = 0; k < g->at[i]->nregions; k++)
			capture_region(s, g, inst_region(s->f, g->at[i], k), &captured);
	}
	Saved saved = save(s);
	OpenRegion *open = build_region_begin(s->b, n + 1, types, params);
	redirect_all(s, g->at[0], &captured, REF_NONE, params[0]);
	for (uint32_t k = 0; k < n; k++)
		if (entry[k] && ref_is_value(entry[k])) stand_for(s, entry[k], params[k + 1]);
	for (uint32_t i = 0; i < g->n; i++) build_copy_inst(s->b, &s->map, g->at[i]);
	for (uint32_t k = 0; k < n; k++) {
		Ref r = batch_get(s, leaving[k]);
		out[k] = batch_lanes(s, leaving[k])
		             ? build_scatter(s->b, OP_SCATTER_SET, params[k + 1], params[0], r, 0, 0)
		             : r;
	}
	RegionId body = build_region_end(s->b, open, n, out);
	restore(s, &saved);
	build_for(s->b, build_extent(s->b, s->n), n, init, body, out);
	for (uint32_t k = 0; k < n; k++) batch_set(s, leaving[k], out[k]);
}

static void batch_lane_loop(Batcher *s, const Inst *in) {
	Ref *results = ARENA_ARRAY(s->scratch, Ref, in->nresults + 1);
	for (uint32_t k = 0; k < in->nresults; k++) results[k] = inst_result(in, k);
	loop_over_lanes(s, &(BatchGroup){&in, 1}, in->nresults, results);
}

static void mark_used(const Batcher *s, const Inst *in, bool *used) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (ref_is_value(inst_arg(s->f, in, k))) used[REF_INDEX(inst_arg(s->f, in, k))] = true;
	for (uint32_t i = 0; i < in->nregions; i++) {
		const Region *r = inst_region(s->f, in, i);
		for (uint32_t k = 0; k < r->ninsts; k++)
			mark_used(s, &s->f->insts.at[s->f->inst_order.at[r->insts + k]], used);
		for (uint32_t k = 0; k < r->nresults; k++)
			if (ref_is_value(region_result(s, r, k)))
				used[REF_INDEX(region_result(s, r, k))] = true;
	}
}

/* Emits the instructions outside the loop, then the loop over the batch
 * elements. */
static void run_sequentially(Batcher *s, const Region *r, const RaggedRange *range) {
	BatchGroup g = {ARENA_ARRAY(s->scratch, const Inst *, range->end - range->from), 0};
	bool *used = ARENA_ARRAY(s->scratch, bool, s->f->vals.n + 1);
	Ref *leaving = ARENA_ARRAY(s->scratch, Ref, s->f->vals.n + 1);
	uint32_t n = 0;
	for (uint32_t i = range->from; i < range->end; i++) {
		const Inst *in = &s->f->insts.at[s->f->inst_order.at[r->insts + i]];
		if (range->sequential[i]) g.at[g.n++] = in;
		else build_copy_inst(s->b, &s->map, in);
	}
	for (uint32_t i = range->end; i < r->ninsts; i++)
		mark_used(s, &s->f->insts.at[s->f->inst_order.at[r->insts + i]], used);
	for (uint32_t k = 0; k < r->nresults; k++)
		if (ref_is_value(region_result(s, r, k))) used[REF_INDEX(region_result(s, r, k))] = true;
	for (uint32_t i = 0; i < g.n; i++)
		for (uint32_t k = 0; k < g.at[i]->nresults; k++)
			if (used[REF_INDEX(inst_result(g.at[i], k))]) leaving[n++] = inst_result(g.at[i], k);
	build_at(s->b, g.at[0]->span);
	build_chain(s->b, chain_push(s->c, g.at[0]->chain, "map"));
	loop_over_lanes(s, &g, n, leaving);
}

/* Runs all batch elements at once. If one fails, each runs on its own, because
 * the results of the others stand. Effects would be repeated, so with effect
 * chains it is sequential from the start. */
void batch_TRY(Batcher *s, const Inst *in) {
	uint32_t n = in->nresults;
	bool effects = false;
	for (uint32_t k = 0; k < n; k++) effects |= batch_is_effect(s, inst_result(in, k));
	if (effects) {
		batch_lane_loop(s, in);
		return;
	}
	const Region *r = inst_region(s->f, in, 0);
	Ref *out = ARENA_ARRAY(s->scratch, Ref, n + 1), message;
	for (uint32_t k = 0; k < n; k++) check_shape(s, in, inst_result(in, k));
	Saved saved = save(s);
	OpenRegion *open = build_region_begin(s->b, 0, NULL, NULL);
	batch_region(s, r);
	for (uint32_t k = 0; k < n; k++) out[k] = batch_full(s, in, region_result(s, r, k));
	RegionId body = build_region_end(s->b, open, n, out);
	restore(s, &saved);
	TypeId dyn = type_dyn(s->c);
	open = build_region_begin(s->b, 1, &dyn, &message);
	batch_lane_loop(s, in);
	for (uint32_t k = 0; k < n; k++) out[k] = batch_get(s, inst_result(in, k));
	RegionId handler = build_region_end(s->b, open, n, out);
	restore(s, &saved);
	build_at(s->b, in->span);
	build_try(s->b, body, handler, out);
	for (uint32_t k = 0; k < n; k++) batch_set(s, inst_result(in, k), out[k]);
}

/* ---- calls --------------------------------------------------------------- */

void batch_CALL(Batcher *s, const Inst *in) {
	bool any = false;
	for (uint32_t k = 0; k < in->nargs; k++) any |= batch_lanes(s, inst_arg(s->f, in, k));
	/* The callee draws random numbers for each batch element, and no operand
	 * determines the batch extent. */
	if (!any || batch_one_by_one(s, in)) {
		batch_lane_loop(s, in);
		return;
	}
	const Transform *d = batch_callee(s, in);
	uint32_t n = in->nresults;
	Ref *args = ARENA_ARRAY(s->scratch, Ref, in->nargs + 1),
		*results = ARENA_ARRAY(s->scratch, Ref, n + 1);
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = batch_arg(s, in, k);
	if (d->done) {
		build_call(s->b, d->fn, in->nargs, args, results);
	} else {
		TypeId *types = ARENA_ARRAY(s->scratch, TypeId, n + 1);
		for (uint32_t k = 0; k < n; k++)
			types[k] = batch_type(s, ref_type(s->f, inst_result(in, k)),
			                      batch_lanes(s, inst_result(in, k)));
		int64_t word = d->fn->id;
		build_typed(s->b, OP_CALL, in->nargs, args, attr_intern(s->c, &word, 1), n, types, results);
	}
	for (uint32_t k = 0; k < n; k++) {
		Ref r = inst_result(in, k);
		bool has = !d->done || d->result_active[k];
		batch_set(s, r, batch_lanes(s, r) && !has ? broadcast_lanes(s, results[k]) : results[k]);
	}
}

void batch_HOST(Batcher *s, const Inst *in) {
	const HostCall *call = host_call(s->c, (HostId)attr_int(s->c, OP_HOST, in->attr, 0));
	if (!call->def->batch) {
		batch_lane_loop(s, in);
		return;
	}
	Ref *args = ARENA_ARRAY(s->scratch, Ref, in->nargs + 1),
		*results = ARENA_ARRAY(s->scratch, Ref, in->nresults + 1);
	bool *lanes = ARENA_ARRAY(s->scratch, bool, in->nargs + 1);
	for (uint32_t k = 0; k < in->nargs; k++) {
		args[k] = batch_arg(s, in, k);
		lanes[k] = batch_lanes(s, inst_arg(s->f, in, k));
	}
	call->def->batch(s->b, call, s->n, in->nargs, args, lanes, results);
	for (uint32_t k = 0; k < in->nresults; k++) batch_set(s, inst_result(in, k), results[k]);
}

/* ---- the walk ------------------------------------------------------------ */

static void elementwise(Batcher *s, const Inst *in) {
	Ref args[2];
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = batch_full_arg(s, in, k);
	batch_set(s, inst_result(in, 0), build(s->b, (Op)in->op, in->nargs, args, 0, NULL));
}

static void batch_region(Batcher *s, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &s->f->insts.at[s->f->inst_order.at[r->insts + i]];
		const RaggedRange range = batch_ragged_range(s, r, i);
		if (range.end > i) {
			run_sequentially(s, r, &range);
			i = range.end - 1;
			continue;
		}
		if (!batch_involved(s, in)) {
			build_copy_inst(s->b, &s->map, in);
			continue;
		}
		build_at(s->b, in->span);
		build_chain(s->b, chain_push(s->c, in->chain, "map"));
		if (prims[in->op].elementwise) elementwise(s, in);
		else batch_rule((Op)in->op)(s, in);
	}
}

void batch_make(Ctx *c, Transform *d) {
	Fn *f = d->from,
	   *flat = batch_calls_keep_tapes(c, d->scratch, f) || batch_calls_give_lengths(c, f)
	               ? flatten_forward(c, f)
	               : NULL;
	if (flat) f = transform_own(d, flat);
	Batcher s = {.c = c, .f = f, .scratch = d->scratch, .entry = d};
	s.b = build_begin(c, transform_name(c, f, "map"), f->span, f);
	s.map = refmap_new(s.b, f, true);
	s.n = build_fresh_dim(s.b, atom(c, "batch"), f->span);
	uint32_t nparams = fn_nparams(f), nresults = fn_nresults(f);
	for (uint32_t k = 0; k < nparams; k++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		s.map.values[REF_INDEX(fn_param(f, k))] =
			build_param(s.b, batch_type(&s, v->type, d->mask[k]), v->name);
	}
	d->fn = build_fn(s.b);
	batch_analyse(&s);
	batch_region(&s, &f->regions.at[0]);
	Ref *results = ARENA_ARRAY(s.scratch, Ref, nresults + 1);
	/* By result: may be given the batch axis (an array, no random state). */
	bool *widens = ARENA_ARRAY(d->from->arena, bool, nresults + 1);
	d->data = widens;
	for (uint32_t k = 0; k < nresults; k++) {
		Ref r = fn_result(f, k);
		results[k] = batch_get(&s, r);
		d->result_active[k] = batch_lanes(&s, r);
		widens[k] = type_is_tensor(c, ref_type(f, r)) && !batch_is_effect(&s, r);
		/* A recursive call assumes that every result that can be batched is. */
		if (!d->recursive || d->result_active[k] || !widens[k]) continue;
		results[k] = broadcast_lanes(&s, results[k]);
		d->result_active[k] = true;
	}
	d->fn = transform_own(d, build_end(s.b, nresults, results));
	transform_info_set(c, d->fn,
	                   (TransformInfo){.is_jet = transform_info(d->from).is_jet,
	                                   .has_source = true,
	                                   .source = d->from->id});
}

/* The batch with the batch axis in every array but random states (order 1 in
 * the cache): a call of the partial batch, and broadcasts. */
static void make_full(Ctx *c, Transform *d) {
	Fn *f = d->from;
	const Transform *part = transform_get(c, f, TR_BATCH, 0, d->mask, batch_make);
	Fn *g = part->fn;
	uint32_t nparams = fn_nparams(g), nresults = fn_nresults(g);
	Builder *b = build_begin(c, g->name, g->span, g);
	Ref *args = ARENA_ARRAY(d->scratch, Ref, nparams + 1),
		*results = ARENA_ARRAY(d->scratch, Ref, nresults + 1);
	Batcher s = {.c = c, .b = b, .f = f, .scratch = d->scratch};
	for (uint32_t k = 0; k < nparams; k++) {
		args[k] =
			build_param(b, ref_type(g, fn_param(g, k)), g->vals.at[REF_INDEX(fn_param(g, k))].name);
		const Type *t = ref_ty(g, fn_param(g, k));
		if (d->mask[k] && t->kind == TY_TENSOR) s.n = t->dims[0];
	}
	d->fn = build_fn(b);
	build_inline(b, g, args, results);
	for (uint32_t k = 0; k < nresults; k++) {
		d->result_active[k] = ((const bool *)part->data)[k] || part->result_active[k];
		if (d->result_active[k] && !part->result_active[k])
			results[k] = broadcast_lanes(&s, results[k]);
	}
	d->fn = transform_own(d, build_end(b, nresults, results));
}

Fn *ad_batch_partly(Ctx *c, Fn *f, const bool *batched, bool *result_batched) {
	const Transform *d = transform_get(c, f, TR_BATCH, 0, batched, batch_make);
	if (result_batched)
		memcpy(result_batched, d->result_active, fn_nresults(f) * sizeof *result_batched);
	return d->fn;
}

Fn *ad_batch(Ctx *c, Fn *f, const bool *batched) {
	bool any = false, full = true;
	for (uint32_t k = 0; k < fn_nparams(f); k++)
		any |= batched[k] && type_is_tensor(c, ref_type(f, fn_param(f, k)));
	if (!any) {
		diag_error(c, E_INTERNAL, span_of(c, f->span),
		           "map over no array: nothing says how many lanes there are");
		ctx_throw(c, ST_INTERNAL);
	}
	const Transform *d = transform_get(c, f, TR_BATCH, 0, batched, batch_make);
	for (uint32_t k = 0; k < fn_nresults(f); k++)
		full &= d->result_active[k] || !((const bool *)d->data)[k];
	return full ? d->fn : transform_get(c, f, TR_BATCH, 1, batched, make_full)->fn;
}
