/* loop_collapse.c - loop collapse: when the rows of a block are contiguous, one
 * loop runs over all of them.
 *
 * Needs: loops/loops.h.
 *
 * With lanes along the last inner axis, a row of 20 elements is two whole
 * vectors of 8 and a half-empty one. The half-empty one needs masks, and the
 * loop restarts for each row.
 *
 * Method:
 * - A group qualifies if it accesses only arrays [row, inner axis] and arrays
 *   along the inner axis alone, such as a bias.
 * - The rows of a block become one long row: the row index stays fixed and the
 *   inner index runs on over all rows. Contiguous rows make the addresses
 *   right.
 * - An array along the inner axis alone is read from a copy that repeats its
 *   beginning for another vector, at the index modulo the row's extent. The
 *   loop carries that index.
 *
 * Contract: each element is computed by the same operations as without
 * collapse, so results have the same bits.
 */
#include "backend/native/loops/loops.h"

#define SHORT_ROW 128 /* for longer rows the end of a row costs little */

typedef struct CollapseTest {
	ArrayEmit *e;
	const LoopGroup *g;
	IndexContext ix; /* with `emitting` false */
	VEC(Ref) periods;
	VEC(uint32_t) dense; /* nodes whose scratch must be contiguous */
} CollapseTest;

static bool is_axis(Index i, uint32_t axis) { return i.kind == IX_AXIS && i.axis == axis; }

/* A read at `at` of a materialised value or one from outside. */
static bool leaf_collapses(CollapseTest *j, Ref r, const Index *at) {
	ArrayEmit *e = j->e;
	const LoopNode *n = plan_node(e->p, r);
	const Type t = *ref_ty(e->l->f, r);
	const bool here = n && n->region == (uint32_t)(e->r - e->p->regions.at);
	if (!t.rank) return true;
	if (t.rank == 2) {
		if (t.dims[0] != e->r->row || t.dims[1] != j->g->axes[0] || !is_axis(at[0], ROW_AXIS) ||
		    !is_axis(at[1], 0))
			return false;
		if (here && uses_scratch(e, n))
			VEC_PUSH(e->l->scratch, &j->dense, (uint32_t)(n - e->p->nodes.at));
		return true;
	}
	KRef pointer;
	if (here || t.rank != 1 || t.dims[0] != j->g->axes[0] || !is_axis(at[0], 0) ||
	    !in_memory(e, r, &pointer))
		return false;
	VEC_PUSH(e->l->scratch, &j->periods, r);
	return true;
}

/* Integer operations that may fail. The element that is reported must not
 * depend on the order. */
static bool may_fail(const ArrayEmit *e, const Inst *in) {
	return (in->op == OP_MOD || in->op == OP_FLOORDIV || in->op == OP_POW) &&
	       dtype_is_int((Dtype)ref_ty(e->l->f, inst_arg(e->l->f, in, 1))->dtype);
}

static bool ref_collapses(CollapseTest *j, Ref r, const Index *at);

static bool inst_collapses(CollapseTest *j, const Inst *in, const Index *at) {
	const bool moves =
		in->op == OP_BROADCAST || in->op == OP_STOP || in->op == OP_CONVERT || in->op == OP_SELECT;
	if ((!moves && !prims[in->op].elementwise) || may_fail(j->e, in)) return false;
	for (uint32_t k = 0; k < in->nargs; k++) {
		Index x[MAX_RANK];
		operand_index(&j->ix, in, k, at, x);
		if (!ref_collapses(j, inst_arg(j->e->l->f, in, k), x)) return false;
	}
	return true;
}

static bool ref_collapses(CollapseTest *j, Ref r, const Index *at) {
	Value scalar;
	if (ref_splat(j->e->l->f, r, &scalar)) return true;
	const LoopNode *n = plan_node(j->e->p, r);
	return n && !n->materialised ? inst_collapses(j, node_inst(j->e->p, n), at)
	                             : leaf_collapses(j, r, at);
}

static bool group_collapses(CollapseTest *j) {
	ArrayEmit *e = j->e;
	const LoopGroup *g = j->g;
	int64_t fixed;
	if (g->reduces || g->alone || g->naxes != 1 || dim_number(e->p, g->axes[0], &fixed) ||
	    lower_hint(e->l, g->axes[0], 1000) >= SHORT_ROW)
		return false;
	const Index at[2] = {index_axis(ROW_AXIS), index_axis(0)};
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->kind != NODE_POINT || n->row != 0 || n->nresult != 2 || n->row_sum ||
		    !inst_collapses(j, node_inst(e->p, n), at))
			return false;
		if (uses_scratch(e, n)) VEC_PUSH(e->l->scratch, &j->dense, g->nodes.at[i]);
	}
	return g->nodes.n > 0;
}

void choose_collapsed(ArrayEmit *e) {
	const FusedRegion *r = e->r;
	int64_t block;
	e->periods.n = 0;
	for (uint32_t i = 0; i < r->nodes.n; i++) e->p->nodes.at[r->nodes.at[i]].dense = false;
	for (uint32_t i = 0; i < r->groups.n; i++) {
		LoopGroup *g = &r->groups.at[i];
		CollapseTest j = {.e = e, .g = g, .ix = {.p = e->p}};
		g->collapsed = r->lanes == LANES_INNER &&
		               !(k_is_int(e->k, e->block, &block) && block == 1) && group_collapses(&j);
		if (!g->collapsed) continue;
		for (uint32_t k = 0; k < j.dense.n; k++) e->p->nodes.at[j.dense.at[k]].dense = true;
		for (uint32_t k = 0; k < j.periods.n; k++) {
			bool known = false;
			for (uint32_t q = 0; q < e->periods.n; q++)
				known = known || e->periods.at[q].ref == j.periods.at[k];
			Period p = {.ref = j.periods.at[k]};
			if (!known) VEC_PUSH(e->l->scratch, &e->periods, p);
		}
	}
}

enum { MOST_LANES = 64 };

/* The lanes of an iteration. A group of few operations has four registers,
 * because the loop overhead (the index modulo the row's extent, the form of the
 * stores) takes as long as the operations. Others have 8 or 16 lanes. */
static uint32_t lanes_of(const ArrayEmit *e, const LoopGroup *g) {
	enum { FEW = 4 };
	const uint32_t lanes = g->wide ? 8 : 16,
				   four = 4 * e->k->m->target.vector_bytes / (g->wide ? 8 : 4);
	uint64_t cost = 0;
	for (uint32_t i = 0; i < g->nodes.n; i++) cost += e->p->nodes.at[g->nodes.at[i]].cost;
	return cost <= FEW && four > lanes && four <= MOST_LANES ? four : lanes;
}

void copy_periods(ArrayEmit *e) {
	KBuilder *k = e->k;
	for (uint32_t i = 0; i < e->periods.n; i++) {
		Period *p = &e->periods.at[i];
		const Type t = *ref_ty(e->l->f, p->ref);
		const KType type = ktype_of((Dtype)t.dtype);
		KRef n = lower_dim(e->l, t.dims[0]), from, zero = k_int(k, 0), at[2], params[2];
		if (!in_memory(e, p->ref, &from)) e->l->failed = true;
		KRef room = k_select(k, k_lt(k, zero, n), k_add(k, n, k_int(k, MOST_LANES)), zero);
		p->copy = k_scratch(k, k_mul(k, room, k_int(k, ktype_size(type))));
		k_loop_begin(k, zero, room, 1, 1, &zero, params);
		k_store(k, KM_UNIFORM, p->copy, params[0], k_load(k, type, KM_UNIFORM, from, params[1], 0),
		        0);
		KRef next = k_add(k, params[1], k_int(k, 1));
		next = k_select(k, k_lt(k, next, n), next, zero);
		k_loop_end(k, &next, at);
	}
}

KRef periodic_element(ArrayEmit *e, Ref r) {
	for (uint32_t i = 0; i < e->periods.n; i++)
		if (e->periods.at[i].ref == r)
			return k_load(e->k, ktype_of((Dtype)ref_ty(e->l->f, r)->dtype), KM_UNIT,
			              e->periods.at[i].copy, e->phase, 0);
	return 0;
}

void emit_collapsed_group(ArrayEmit *e, const LoopGroup *g,
                          void (*keep)(ArrayEmit *e, LoopNode *n, const Index *at, KRef value)) {
	KBuilder *k = e->k;
	const uint32_t mark = e->memo.n;
	KRef n = lower_dim(e->l, g->axes[0]), zero = k_int(k, 0), params[2], last;
	const bool varying = false;
	/* The step of one vector for the index modulo the extent, without a
	 * division. */
	KRef length = k_max(k, n, k_int(k, 1)), lanes = k_int(k, lanes_of(e, g));
	KRef step = k_sub(k, lanes, k_mul(k, k_prim2(k, OP_FLOORDIV, lanes, length), length));
	e->row_local = zero;
	e->axes[ROW_AXIS] = (Axis){.base = e->row_start};
	k_vloop_begin(k, lanes_of(e, g), 0, k_mul(k, e->rows, n), 1, &zero, &varying, params);
	e->axes[0] = (Axis){.base = params[0], .lane = k_int(k, 1)};
	e->phase = params[1];
	const Index at[2] = {index_axis(ROW_AXIS), index_axis(0)};
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		LoopNode *node = &e->p->nodes.at[g->nodes.at[i]];
		keep(e, node, at, element_recomputed(e, node, at));
	}
	/* Both candidates follow from the current index, so an iteration waits only
	 * for an addition and a select. */
	KRef back = k_add(k, e->phase, k_sub(k, step, length));
	KRef next = k_select(k, k_lt(k, back, zero), k_add(k, e->phase, step), back);
	k_vloop_end(k, &next, &last);
	e->phase = 0;
	memo_cut(e, mark);
}
