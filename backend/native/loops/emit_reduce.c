/* emit_reduce.c - reductions: sums over the rows of a region, and groups that
 * reduce inner axes.
 *
 * Needs: loops/emit.h.
 *
 * Contract:
 * - Each chunk of the loop over rows has its own sums in memory. They are
 *   combined in order afterwards, so results do not depend on the number of
 *   threads.
 * - Accumulators stay in registers through the loops over the reduced axes.
 * - Lanes beyond an axis's end leave their accumulators as they are.
 */
#include "backend/native/loops/emit.h"

/* ---- sums over the rows -------------------------------------------------- */

KRef partial_of(ArrayEmit *e, const LoopNode *n) {
	KRef all = e->l->slots.at[n->partial - 1].pointer;
	return k_ptradd(e->k, all, k_mul(e->k, e->part, result_count(e, n)),
	                ktype_size(node_type_of(e, n)));
}

static Op join_prim(const ArrayEmit *e, const LoopNode *n) {
	return fold_prim((Op)node_inst(e->p, n)->op);
}

KRef term_at(ArrayEmit *e, LoopNode *n, const Index *at) {
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	Index x[MAX_RANK], y[MAX_RANK];
	if (in->op == OP_DOT) {
		dot_indices(e->p, in, at, x, y);
		return k_mul(e->k, element_at(e, inst_arg(f, in, 0), x),
		             element_at(e, inst_arg(f, in, 1), y));
	}
	reduce_index(e->p, in, at, x);
	return element_at(e, inst_arg(f, in, 0), x);
}

/* Reduces a varying value over the active lanes. */
static KRef fold_lanes(ArrayEmit *e, const LoopNode *n, KRef value, bool mask) {
	if (!k_lanes_of(e->k, value)) return value;
	Op op = (Op)node_inst(e->p, n)->op;
	if (mask) value = k_select(e->k, k_mask(e->k), value, identity_of(e, op, node_type_of(e, n)));
	return k_reduce_lanes(e->k, fold_prim(op), value);
}

void add_to_partial(ArrayEmit *e, const LoopNode *n, const Index *at, KRef value) {
	KBuilder *k = e->k;
	KType t = node_type_of(e, n);
	KRef stride[MAX_RANK], base = k_int(k, 0), lane = 0;
	Type type = *ref_ty(e->l->f, n->ref);
	memory_strides(e, &type, stride);
	for (uint32_t i = 0; i < n->nresult; i++) {
		base = k_add(k, base, k_mul(k, index_base(&e->ix, at[i]), stride[i]));
		KRef step = index_lane(&e->ix, at[i]);
		if (step) lane = k_mul(k, step, stride[i]);
	}
	KRef to = partial_of(e, n);
	int64_t one;
	if (!lane) {
		if (k_lanes_of(k, value)) value = fold_lanes(e, n, value, true);
		KRef old = k_load(k, t, KM_UNIFORM, to, base, 0);
		k_store(k, KM_UNIFORM, to, base, k_prim2(k, join_prim(e, n), old, value), 0);
		return;
	}
	KMode mode = k_is_int(k, lane, &one) && one == 1 ? KM_UNIT : KM_STRIDED;
	KRef old = k_load(k, t, mode, to, base, lane);
	k_store(k, mode, to, base, k_prim2(k, join_prim(e, n), old, value), lane);
}

void clear_partial(ArrayEmit *e, const LoopNode *n) {
	KBuilder *k = e->k;
	Op op = (Op)node_inst(e->p, n)->op;
	KType t = node_type_of(e, n);
	KRef to = partial_of(e, n), count = result_count(e, n), i;
	k_loop_begin(k, k_int(k, 0), count, 1, 0, NULL, &i);
	k_store(k, KM_UNIFORM, to, i, identity_of(e, op, t), 0);
	k_loop_end(k, NULL, NULL);
}

void join_partials(ArrayEmit *e, const LoopNode *n, KRef nparts) {
	KBuilder *k = e->k;
	KType t = node_type_of(e, n);
	KRef from = e->l->slots.at[n->partial - 1].pointer, count = result_count(e, n);
	KRef init = identity_of(e, (Op)node_inst(e->p, n)->op, t), params[2], sum;
	if (!n->nresult) {
		k_loop_begin(k, k_int(k, 0), nparts, 1, 1, &init, params);
		KRef next =
			k_prim2(k, join_prim(e, n), params[1], k_load(k, t, KM_UNIFORM, from, params[0], 0));
		k_loop_end(k, &next, &sum);
		lower_set_small(e->l, n->ref, 1, &sum);
		return;
	}
	KRef to = node_memory(e, n), base;
	uint32_t lanes = ktype_size(t) == 8 ? 8 : 16;
	k_vloop_begin(k, lanes, 0, count, 0, NULL, NULL, &base);
	KRef inner[2];
	/* The sums of the next chunk are `count` elements further. */
	KRef spread = k_select(k, k_mask(k), init, init);
	k_loop_begin(k, k_int(k, 0), nparts, 1, 1, &spread, inner);
	KRef at = k_add(k, k_mul(k, inner[0], count), base);
	KRef next = k_prim2(k, join_prim(e, n), inner[1], k_load(k, t, KM_UNIT, from, at, 0));
	k_loop_end(k, &next, &sum);
	k_store(k, KM_UNIT, to, base, sum, 0);
	k_vloop_end(k, NULL, NULL);
}

/* ---- extremes ------------------------------------------------------------ */

bool is_extreme(const ArrayEmit *e, const LoopNode *n) {
	Op op = (Op)node_inst(e->p, n)->op;
	KType t = node_type_of(e, n);
	return (op == OP_REDUCE_MAX || op == OP_REDUCE_MIN) && (t == KT_F64 || t == KT_F32);
}

static KType extreme_type(KType t, ExtremePart part) {
	return part == EXTREME_VALUE ? t : t == KT_F64 ? KT_I64 : KT_I32;
}

KRef extreme_identity(ArrayEmit *e, Op op, KType t, ExtremePart part) {
	if (part == EXTREME_VALUE) return identity_of(e, op, t);
	return k_const(e->k, extreme_type(t, part),
	               part == EXTREME_SIGNS && op == OP_REDUCE_MAX ? -1 : 0);
}

KRef extreme_next(ArrayEmit *e, Op op, ExtremePart part, KRef old, KRef x) {
	KBuilder *k = e->k;
	bool max = op == OP_REDUCE_MAX;
	KType bits = extreme_type(k_type(k, x), part);
	switch (part) {
	case EXTREME_VALUE: return k_select(k, max ? k_lt(k, old, x) : k_lt(k, x, old), x, old);
	case EXTREME_SIGNS: return k_logic(k, max ? 0 : 1, old, k_bitcast(k, x, bits));
	default:
		return k_logic(
			k, 1, old,
			k_select(k, k_prim2(k, OP_EQ, x, x), k_const(k, bits, 0), k_const(k, bits, -1)));
	}
}

/* Combines two accumulators, or (extreme_fold) the lanes of one. Of the bits
 * only the sign counts. */
static KRef extreme_join(ArrayEmit *e, Op op, ExtremePart part, KRef x, KRef y) {
	if (part == EXTREME_VALUE) return k_prim2(e->k, fold_prim(op), x, y);
	return k_logic(e->k, part == EXTREME_SIGNS && op == OP_REDUCE_MAX ? 0 : 1, x, y);
}

KRef extreme_fold(ArrayEmit *e, Op op, ExtremePart part, KRef x) {
	if (part == EXTREME_VALUE) return k_reduce_lanes(e->k, fold_prim(op), x);
	return k_reduce_lanes(e->k, part == EXTREME_SIGNS && op == OP_REDUCE_MAX ? OP_MAX : OP_MIN, x);
}

KRef extreme_result(ArrayEmit *e, const KRef *parts) {
	KBuilder *k = e->k;
	KType t = k_type(k, parts[EXTREME_VALUE]);
	KRef zero = k_const(k, extreme_type(t, EXTREME_SIGNS), 0);
	KRef signed_zero =
		k_select(k, k_lt(k, parts[EXTREME_SIGNS], zero), k_const(k, t, -0.0), k_const(k, t, 0));
	KRef value = k_select(k, k_prim2(k, OP_EQ, parts[EXTREME_VALUE], k_const(k, t, 0)), signed_zero,
	                      parts[EXTREME_VALUE]);
	return k_select(k, k_lt(k, parts[EXTREME_NAN], zero), k_const(k, t, __builtin_nan("")), value);
}

/* ---- groups that reduce inner axes --------------------------------------- */

typedef struct Accumulator {
	LoopNode *n;
	int64_t combination; /* of the unrolled result axes */
	/* Of several accumulators: ExtremePart; for argmax 0 is the value and 1 its
	 * position. */
	uint32_t part;
} Accumulator;

typedef struct ReduceEmit {
	ArrayEmit *e;
	const LoopGroup *g;
	const Loops *s;
	uint32_t from; /* first reduced axis */
	VEC(Accumulator) accs;
	/* Combinations of unrolled result axes, and of unrolled reduced axes; the
	 * step from one of the former to the next. */
	int64_t outs, ins, step;
} ReduceEmit;

static int64_t fixed_product(const Loops *s, uint32_t from, uint32_t to) {
	int64_t n = 1;
	for (uint32_t i = from; i < to; i++)
		if (s->fixed[i]) n *= s->length[i];
	return n;
}

/* One iteration of the innermost body: every node at every combination of the
 * unrolled axes. */
static void reduce_iteration(ReduceEmit *r, const KRef *old, KRef *next, bool mask) {
	ArrayEmit *e = r->e;
	KBuilder *k = e->k;
	Index inner[MAX_AXES], at[MAX_AXES];
	for (uint32_t i = 0; i < r->g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[r->g->nodes.at[i]];
		if (n->naxes > n->nresult + (n->row_sum ? 1u : 0u)) continue;
		for (int64_t c = 0; c < r->s->combinations; c++) {
			loops_combination(r->s, c, inner);
			node_index(n, inner, at);
			if (n->row_sum) {
				add_to_partial(e, n, at, term_at(e, n, at));
				continue;
			}
			KRef value = element_recomputed(e, n, at);
			store_element(e, n, at, value);
		}
	}
	for (uint32_t i = 0; i < r->accs.n; i++) {
		const Accumulator *a = &r->accs.at[i];
		const Inst *in = node_inst(e->p, a->n);
		next[i] = old[i];
		if (a->part) continue; /* computed with the accumulator before it */
		bool extreme = is_extreme(e, a->n);
		for (uint32_t part = 1; extreme && part < EXTREME_PARTS; part++)
			next[i + part] = old[i + part];
		for (int64_t c = 0; c < r->ins; c++) {
			loops_combination(r->s, a->combination * r->step + c, inner);
			node_index(a->n, inner, at);
			if (in->op == OP_ARGMAX) {
				/* The first of the largest; a NaN is above all others. */
				KRef x = term_at(e, a->n, at), best = next[i];
				if (c == 0) next[i + 1] = old[i + 1];
				KRef better = k_lt(k, best, x);
				KType t = k_type(k, x);
				if (t == KT_F64 || t == KT_F32) {
					KRef nan = k_not(k, k_prim2(k, OP_EQ, x, x)),
						 number = k_prim2(k, OP_EQ, best, best);
					better = k_logic(k, 1, better, k_logic(k, 0, nan, number));
				}
				KRef position = index_value(&e->ix, at[a->n->nresult]);
				next[i] = k_select(k, better, x, best);
				next[i + 1] = k_select(k, better, position, next[i + 1]);
				continue;
			}
			if (extreme) {
				KRef x = term_at(e, a->n, at);
				for (uint32_t part = 0; part < EXTREME_PARTS; part++) {
					KRef *to = &next[i + part],
						 more = extreme_next(e, (Op)in->op, (ExtremePart)part, *to, x);
					*to = mask ? k_select(k, k_mask(k), more, *to) : more;
				}
				continue;
			}
			KRef combined;
			bool real = node_type_of(e, a->n) == KT_F64 || node_type_of(e, a->n) == KT_F32;
			if (in->op == OP_DOT && real) {
				Index x[MAX_RANK], y[MAX_RANK];
				dot_indices(e->p, in, at, x, y);
				KRef p = element_at(e, inst_arg(e->l->f, in, 0), x),
					 q = element_at(e, inst_arg(e->l->f, in, 1), y);
				combined = k_muladd(k, p, q, next[i]);
			} else {
				combined = k_prim2(k, fold_prim((Op)in->op), next[i], term_at(e, a->n, at));
			}
			next[i] = mask ? k_select(k, k_mask(k), combined, next[i]) : combined;
		}
		i += in->op == OP_ARGMAX ? 1 : extreme ? EXTREME_PARTS - 1 : 0;
	}
}

/* Loops over the reduced axes that are not unrolled, from `axis` on, carrying
 * the accumulators. */
static void reduce_loops(ReduceEmit *r, uint32_t axis, const KRef *init, KRef *results) {
	ArrayEmit *e = r->e;
	KBuilder *k = e->k;
	uint32_t n = r->accs.n;
	while (axis < r->s->naxes && (r->s->fixed[axis] || (int)axis == r->s->lane)) axis++;
	KRef *params = ARENA_ARRAY(e->l->scratch, KRef, n + 1),
		 *next = ARENA_ARRAY(e->l->scratch, KRef, n + 1);
	uint32_t mark = e->memo.n;
	if (axis < r->s->naxes) {
		k_loop_begin(k, k_int(k, 0), lower_dim(e->l, r->s->dims[axis]), 1, n, init, params);
		e->axes[axis] = (Axis){.base = params[0]};
		reduce_loops(r, axis + 1, params + 1, next);
		k_loop_end(k, next, results);
		memo_cut(e, mark);
		return;
	}
	if (r->s->lane < (int)r->from) { /* the loop over lanes is outermost */
		reduce_iteration(r, init, results, false);
		return;
	}
	KRef *fresh = ARENA_ARRAY(e->l->scratch, KRef, n + 1),
		 *lanes = ARENA_ARRAY(e->l->scratch, KRef, n + 1);
	bool *varying = ARENA_ARRAY(e->l->scratch, bool, n + 1);
	memset(varying, 1, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const Accumulator *a = &r->accs.at[i];
		fresh[i] = extreme_identity(e, (Op)node_inst(e->p, a->n)->op, node_type_of(e, a->n),
		                            (ExtremePart)a->part);
	}
	const bool prefetch = prefetches_next_row(e, r->g);
	k_vloop_begin(k, r->g->wide ? 16 : 32, 0, lower_dim(e->l, r->s->dims[r->s->lane]), n, fresh,
	              varying, params);
	e->axes[r->s->lane] = (Axis){.base = params[0], .lane = k_int(k, 1)};
	if (prefetch) prefetch_next_row(e, r->g->wide ? 16 : 32);
	reduce_iteration(r, params + 1, next, true);
	k_vloop_end(k, next, lanes);
	memo_cut(e, mark);
	for (uint32_t i = 0; i < n; i++) {
		Op op = (Op)node_inst(e->p, r->accs.at[i].n)->op;
		ExtremePart part = (ExtremePart)r->accs.at[i].part;
		results[i] = extreme_join(e, op, part, init[i], extreme_fold(e, op, part, lanes[i]));
	}
}

void check_empty(ArrayEmit *e, const LoopNode *n) {
	const Inst *in = node_inst(e->p, n);
	if (in->op != OP_REDUCE_MAX && in->op != OP_REDUCE_MIN && in->op != OP_ARGMAX) return;
	if (in->op != OP_ARGMAX && node_type_of(e, n) == KT_BOOL) return;
	KBuilder *k = e->k;
	KRef empty = 0;
	for (uint32_t i = n->nresult; i < n->naxes; i++) {
		int64_t length;
		if (dim_number(e->p, n->axes[i], &length) && length > 0) continue;
		KRef none = k_prim2(k, OP_EQ, lower_dim(e->l, n->axes[i]), k_int(k, 0));
		empty = empty ? k_logic(k, 1, empty, none) : none;
	}
	if (empty) k_fail_if(k, empty, lower_site(e->l, SITE_EMPTY, in), k_int(k, 0), k_int(k, 0));
}

void emit_reduce_group(ArrayEmit *e, const LoopGroup *g) {
	KBuilder *k = e->k;
	bool rows = e->r->lanes == LANES_ROWS && e->r->has_row;
	Loops s = plan_loops(e, g->naxes, g->axes, UNROLL_COUNT);
	s.lane = rows ? -1 : inner_lane(e, g, &s);
	ReduceEmit r = {.e = e, .g = g, .s = &s, .from = first_reduced(e, g)};
	r.outs = fixed_product(&s, 0, r.from);
	r.ins = fixed_product(&s, r.from, s.naxes);
	r.step = 1;
	for (uint32_t i = r.from; i < s.naxes; i++)
		if (s.fixed[i] && s.length[i] > 0) r.step *= s.length[i];
	uint32_t outermost = e->memo.n, nopen = 0, mark[MAX_AXES + 2];
	bool vectors = rows || (s.lane >= 0 && s.lane < (int)r.from), row_loop = false;
	KRef base;
	if (!rows && e->r->has_row) {
		mark[nopen++] = e->memo.n;
		open_group_rows(e, g);
		row_loop = true;
	}
	uint32_t vmark = e->memo.n;
	if (rows) {
		k_vloop_begin(k, g->wide ? 8 : 16, group_pads(e, g) ? KF_PADDED : 0, e->rows, 0, NULL, NULL,
		              &base);
		lanes_along_rows(e, base);
	}
	for (uint32_t i = e->outer_fusion ? 1 : 0; i < r.from; i++) {
		if (s.fixed[i] || (int)i == s.lane) continue;
		mark[nopen++] = e->memo.n;
		open_loop(e, i, s.dims[i]);
	}
	if (!rows && vectors) {
		vmark = e->memo.n;
		k_vloop_begin(k, g->wide ? 8 : 16, 0, lower_dim(e->l, s.dims[s.lane]), 0, NULL, NULL,
		              &base);
		e->axes[s.lane] = (Axis){.base = base, .lane = k_int(k, 1)};
	}
	VEC(KRef) init = {0};
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->naxes == n->nresult + (n->row_sum ? 1u : 0u)) continue;
		Op op = (Op)node_inst(e->p, n)->op;
		KType t =
			op == OP_ARGMAX
				? ktype_of((Dtype)ref_ty(e->l->f, inst_arg(e->l->f, node_inst(e->p, n), 0))->dtype)
				: node_type_of(e, n);
		for (int64_t c = 0; c < r.outs; c++) {
			/* Inside a vector loop the accumulators are vectors from the
			 * start. */
			KRef mask = vectors ? k_mask(k) : 0;
			uint32_t nparts = op == OP_ARGMAX ? 2 : is_extreme(e, n) ? EXTREME_PARTS : 1;
			for (uint32_t part = 0; part < nparts; part++) {
				Accumulator a = {n, c, part};
				KRef first = op != OP_ARGMAX ? extreme_identity(e, op, t, (ExtremePart)part)
				             : part          ? k_int(k, 0)
				                             : identity_of(e, OP_REDUCE_MAX, t);
				VEC_PUSH(e->l->scratch, &r.accs, a);
				VEC_PUSH(e->l->scratch, &init, mask ? k_select(k, mask, first, first) : first);
			}
		}
	}
	KRef *results = ARENA_ARRAY(e->l->scratch, KRef, r.accs.n + 1);
	reduce_loops(&r, r.from, init.at, results);
	Index inner[MAX_AXES], at[MAX_AXES];
	for (uint32_t i = 0; i < r.accs.n; i++) {
		const Accumulator *a = &r.accs.at[i];
		bool argmax = node_inst(e->p, a->n)->op == OP_ARGMAX;
		if (argmax ? !a->part : a->part) continue;
		loops_combination(&s, a->combination * r.step, inner);
		node_index(a->n, inner, at);
		if (!argmax && is_extreme(e, a->n)) results[i] = extreme_result(e, &results[i]);
		if (a->n->row_sum) add_to_partial(e, a->n, at, results[i]);
		else if (a->n->nresult) store_element(e, a->n, at, results[i]);
		else lower_set_small(e->l, a->n->ref, 1, &results[i]);
	}
	if (!rows && vectors) {
		k_vloop_end(k, NULL, NULL);
		memo_cut(e, vmark);
	}
	while (nopen > (row_loop ? 1u : 0u)) close_loop(e, mark[--nopen]);
	if (rows) {
		k_vloop_end(k, NULL, NULL);
		memo_cut(e, vmark);
	}
	if (row_loop) close_loop(e, mark[--nopen]);
	if (e->r->has_row) memo_cut(e, outermost);
}
