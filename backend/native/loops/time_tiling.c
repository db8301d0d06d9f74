/* time_tiling.c - time tiling (split tiling): several iterations of a `for`
 * whose arrays are recomputed by stencils along one axis.
 *
 * Needs: loops/loops.h, schedule.h.
 *
 * Arrays larger than L2 would stream through it once in each iteration. A row
 * of the next iteration needs only rows of this one at most `reach` away. Many
 * iterations of some rows can therefore be computed while those rows are in the
 * cache.
 *
 * Method: the loop is cut into blocks of iterations, and the rows of each block
 * into tiles of two kinds:
 *
 *     iteration   first kind              second kind
 *        3           ____     ____          \    /
 *        2         _/    \___/    \_         \  /
 *        1        /       \ /       \         \/
 *
 * - With each iteration, a tile of the first kind gets narrower by `skew` rows
 *   at either end, except at the ends of the axis. A tile of the second kind
 *   fills the gap between two. All tiles of a kind are one parallel loop.
 * - In a tile, fronts of rows advance along the axis. Iteration t lags by
 *   t * skew rows. All iterations of one front precede the next front.
 * - The loop's two buffers suffice. Iteration t + 2 overwrites a row of
 *   iteration t, which iteration t + 1 needs within `reach` of it. Those rows
 *   are computed by then: the iterations of a front are in order, and the
 *   narrowing tile leaves what the gap beside it reads.
 *
 * Contract:
 * - Each element is computed once, by the same operations as without tiling.
 *   Results have the same bits and do not depend on the number of threads.
 * - Not supported in an iteration: loop-carried scalars, sums over the rows,
 *   checks that may fail, several loops in sequence, gathers.
 */
#include "backend/native/loops/loops.h"
#include "backend/native/lower/schedule.h"

#define DEPTH_LIMIT 32

struct TimeTiling {
	ArrayPlan *plan;
	const FusedRegion *region;
	int64_t reach; /* rows */
	uint32_t npairs;
	/* Loop-carried arrays that are recomputed in each iteration. */
	uint32_t *pairs;
	/* The nodes that recompute them. */
	const LoopNode **made;
	int64_t *shift; /* row r of the region is row r + shift of the array */
};

/* ---- which loops --------------------------------------------------------- */

typedef struct TileReach {
	const TimeTiling *t;
	const Region *body;
	int64_t most;
} TileReach;

/* A loop-carried array must be read at an index that follows the nest's row.
 * Values of the region itself belong to this iteration, so they must be read at
 * the row itself. */
static AccessKind follows(Reach *w, Ref r, const LoopNode *n, const Index *at) {
	TileReach *u = w->ud;
	for (uint32_t i = 0; i < u->t->npairs; i++) {
		if (r != ref_value(u->body->params + 1 + u->t->pairs[i])) continue;
		const Index row = at[u->t->made[i]->row];
		if (row.kind != IX_AXIS || row.axis != w->row) return ACCESS_UNKNOWN;
		const int64_t by = row.number - u->t->shift[i];
		if (by > u->most) u->most = by;
		if (-by > u->most) u->most = -by;
		return ACCESS_LEAF;
	}
	if (!n) return ACCESS_LEAF; /* loop-invariant */
	if (!n->materialised) return ACCESS_DESCEND;
	const bool there = n->kind != NODE_UPDATE && n->row >= 0 && at[n->row].kind == IX_AXIS &&
	                   at[n->row].axis == w->row && !at[n->row].number;
	return there ? ACCESS_LEAF : ACCESS_UNKNOWN;
}

/* Adds the node that recomputes carried value k in its second buffer. False:
 * there is none of the required form. */
static bool finds_pair(Lower *l, TimeTiling *t, const Region *body, uint32_t k) {
	const LoopNode *n = plan_node(t->plan, l->f->args.at[body->results + k]);
	if (!n || !n->materialised || !n->memory || n->stored_in || n->row < 0 || n->row_sum ||
	    (uint32_t)n->row >= n->nresult)
		return false;
	int64_t shift = 0;
	/* The border of its box never changes, and is copied to both buffers
	 * once. */
	if (n->kind == NODE_UPDATE) {
		const Inst *in = node_inst(t->plan, n);
		const AxisRange s = inst_side(l->f, in, (uint32_t)n->row);
		if (inst_arg(l->f, in, 0) != ref_value(body->params + 1 + k) || s.stride != 1 ||
		    !dim_is_const(l->c, s.start, &shift))
			return false;
	}
	t->pairs[t->npairs] = k;
	t->made[t->npairs] = n;
	t->shift[t->npairs++] = shift;
	return true;
}

const TimeTiling *time_tiling_plan(Lower *l, const SchedStep *p, const Inst *in) {
	const Sched *s = p->regions[0];
	const Region *body = s->region;
	ArrayPlan *plan = NULL;
	for (uint32_t i = 0; i < s->steps.n; i++) {
		const SchedStep *q = s->steps.at[i];
		if (q->kind == SCHED_LOOPS ? plan != NULL : q->kind != SCHED_SCALAR) return NULL;
		if (q->kind == SCHED_LOOPS) plan = q->plan;
		for (uint32_t k = 0; k < (plan && q->kind == SCHED_LOOPS ? q->n : 1); k++)
			if (flow_may_fail(l->f,
			                  &l->f->insts.at[q->kind == SCHED_LOOPS ? q->insts[k] : q->inst]))
				return NULL;
	}
	if (!plan || plan->regions.n != 1 || !plan->regions.at[0].has_row ||
	    plan->regions.at[0].whole || plan->regions.at[0].transposed.n)
		return NULL;
	TimeTiling *t = ARENA_NEW(l->scratch, TimeTiling);
	t->plan = plan;
	t->region = &plan->regions.at[0];
	t->pairs = ARENA_ARRAY(l->scratch, uint32_t, in->nresults + 1);
	t->made = ARENA_ARRAY(l->scratch, const LoopNode *, in->nresults + 1);
	t->shift = ARENA_ARRAY(l->scratch, int64_t, in->nresults + 1);
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Carry *y = &p->carries[k];
		if (y->kind == CARRY_INVARIANT) continue;
		if (y->kind != CARRY_DOUBLE_BUFFER || !y->direct || !finds_pair(l, t, body, k)) return NULL;
	}
	if (!t->npairs) return NULL;
	TileReach u = {.t = t, .body = body};
	Reach w = {.p = plan, .ud = &u, .leaf = follows};
	for (uint32_t i = 0; i < plan->nodes.n; i++) {
		const LoopNode *n = &plan->nodes.at[i];
		if (!n->materialised) continue;
		bool made = !n->memory;
		for (uint32_t k = 0; k < t->npairs; k++) made = made || t->made[k] == n;
		if (!made || n->row_sum || !reach_nest(&w, n)) return NULL;
	}
	t->reach = u.most;
	return t;
}

/* ---- the loop ------------------------------------------------------------ */

/* With lanes along the rows, whole vectors, so that each iteration's rows are
 * aligned. */
static int64_t skew_of(const TimeTiling *t) {
	enum { VECTOR = 16 };
	const int64_t reach = t->reach > 1 ? t->reach : 1;
	return t->region->lanes == LANES_ROWS ? (reach + VECTOR - 1) / VECTOR * VECTOR : reach;
}

static void begin(Lower *l, const TimeTiling *t, ArrayEmit *e, RowLoop *w) {
	emit_begin(e, l, t->plan);
	e->r = t->region;
	e->tiled = true;
	rows_elements(e);
	rows_sizes(e, w);
}

/* Bytes of one row of all recomputed arrays, in both buffers. */
static KRef bytes_of_row(Lower *l, const TimeTiling *t) {
	KBuilder *k = &l->k;
	KRef sum = k_int(k, 0);
	for (uint32_t i = 0; i < t->npairs; i++) {
		const Type type = *ref_ty(l->f, t->made[i]->ref);
		KRef elements = k_int(k, 2 * ktype_size(ktype_of((Dtype)type.dtype)));
		for (uint32_t a = 0; a < type.rank; a++)
			if ((int)a != t->made[i]->row)
				elements = k_mul(k, elements, lower_dim(l, type.dims[a]));
		sum = k_add(k, sum, elements);
	}
	return k_max(k, sum, k_int(k, 1));
}

/* Rows by which a front advances. Without scratch, as many as fill an eighth of
 * L2: each iteration of a front costs some tens of operations, and adjacent
 * rows share their reads in L1. */
static KRef front_rows(ArrayEmit *e, const TimeTiling *t) {
	KBuilder *k = e->k;
	if (t->region->slot_elements.n || t->region->lanes == LANES_ROWS) return e->block;
	return k_max(
		k, e->block,
		k_prim2(k, OP_FLOORDIV, k_int(k, k->m->target.l2_bytes / 8), bytes_of_row(e->l, t)));
}

/* Tile depth: as many iterations as keep the rows between the first and the
 * last of them in half of L2. Tiles of the first kind are at least half as wide
 * in the last iteration. */
KRef time_tiling_depth(Lower *l, const TimeTiling *t) {
	KBuilder *k = &l->k;
	ArrayEmit e;
	RowLoop w = {0};
	begin(l, t, &e, &w);
	const KRef one = k_int(k, 1), skew = k_int(k, skew_of(t));
	KRef fit = k_prim2(k, OP_FLOORDIV, k_int(k, l->k.m->target.l2_bytes / 2), bytes_of_row(l, t));
	fit = k_prim2(k, OP_FLOORDIV,
	              k_sub(k, fit, k_add(k, front_rows(&e, t), k_int(k, 2 * t->reach))), skew);
	KRef wide = k_mul(k, k_prim2(k, OP_FLOORDIV, w.nblocks, w.nparts), e.block);
	wide = k_prim2(k, OP_FLOORDIV, wide, k_int(k, 4 * skew_of(t)));
	wide = k_select(k, k_prim2(k, OP_EQ, w.nparts, one), k_int(k, DEPTH_LIMIT), wide);
	return k_max(k, one, k_min(k, k_min(k, fit, wide), k_int(k, DEPTH_LIMIT)));
}

/* Sets the arrays' memory for iteration `iteration` of the block. Of each
 * array's three pointers, it reads the first in iteration 0, the second in odd
 * ones and the third in later even ones. Odd iterations write the third, even
 * ones the second. */
static void set_places(Lower *l, const TimeTiling *t, const Region *body, const KRef *at,
                       KRef iteration) {
	KBuilder *k = &l->k;
	const KRef odd = k_prim2(k, OP_EQ, k_logic(k, 0, iteration, k_int(k, 1)), k_int(k, 1)),
			   first = k_prim2(k, OP_EQ, iteration, k_int(k, 0));
	for (uint32_t i = 0; i < t->npairs; i++, at += 3) {
		const Ref result = t->made[i]->ref;
		lower_set_memory(l, ref_value(body->params + 1 + t->pairs[i]),
		                 k_select(k, first, at[0], k_select(k, odd, at[1], at[2])));
		l->flow->classes[flow_class(l, REF_INDEX(result))].dynamic = k_select(k, odd, at[2], at[1]);
	}
}

/* Before the first iteration: copies the elements that no iteration changes to
 * both buffers. */
static void emit_borders(ArrayEmit *e, const TimeTiling *t, const Region *body, KRef from_iteration,
                         const KRef *at) {
	KBuilder *k = e->k;
	k_if_begin(k, k_prim2(k, OP_EQ, from_iteration, k_int(k, 0)), 0);
	for (int64_t iteration = 0; iteration < 2; iteration++) {
		KRef from[3];
		for (uint32_t i = 0; i < t->npairs; i++) {
			memcpy(from, at + 3 * i, sizeof from);
			lower_set_memory(e->l, ref_value(body->params + 1 + t->pairs[i]), from[0]);
			e->l->flow->classes[flow_class(e->l, REF_INDEX(t->made[i]->ref))].dynamic =
				from[1 + iteration];
		}
		emit_row_borders(e);
		memo_cut(e, 0);
	}
	k_if_else(k, 0, NULL);
	k_if_end(k, NULL, NULL);
}

/* One iteration for the open rows, including the scalars that the program
 * computes in registers. */
static void emit_tile_iteration(ArrayEmit *e, const RowLoop *w, const SchedStep *p, KRef number) {
	Lower *l = e->l;
	const Sched *s = p->regions[0];
	lower_set_small(l, ref_value(s->region->params), 1, &number);
	for (uint32_t i = 0; i < s->steps.n; i++) {
		const SchedStep *q = s->steps.at[i];
		l->position = q->from;
		if (q->kind == SCHED_LOOPS) {
			spill_live_ins(e);
			rows_block(e, w);
			continue;
		}
		const Inst *in = &l->f->insts.at[q->inst];
		l->k.span = in->span;
		l->k.origin = q->inst + 1;
		lower_small(l, in);
	}
}

/* at: three pointers for each recomputed array, see set_places. */
void time_tiling_emit(Lower *l, const SchedStep *p, const TimeTiling *t, KRef from, KRef trip_count,
                      KRef most, const KRef *at) {
	KBuilder *k = &l->k;
	const Region *body = p->regions[0]->region;
	const KRef zero = k_int(k, 0), one = k_int(k, 1), skew = k_int(k, skew_of(t)),
			   back = k_int(k, -skew_of(t));
	ArrayEmit e;
	RowLoop w = {0};
	begin(l, t, &e, &w);
	check_run(&e);
	emit_borders(&e, t, body, from, at);
	/* They are read again soon. */
	for (uint32_t i = 0; i < t->region->nodes.n; i++)
		t->plan->nodes.at[t->region->nodes.at[i]].stream_store = 0;
	choose_collapsed(&e);
	const KRef front = front_rows(&e, t),
			   several = k_logic(k, 0, k_lt(k, one, trip_count), k_lt(k, one, w.nparts));
	KRef kind, index, number, iteration;
	k_loop_begin(k, zero, k_select(k, several, k_int(k, 2), one), 1, 0, NULL, &kind);
	const KRef second = k_lt(k, zero, kind);
	e.part = k_parallel_begin(k, k_sub(k, w.nparts, kind));
	const KRef next = k_add(k, e.part, one);
	const KRef begins =
		k_mul(k, k_prim2(k, OP_FLOORDIV, k_mul(k, e.part, w.nblocks), w.nparts), e.block);
	const KRef ends = k_min(
		k, w.n, k_mul(k, k_prim2(k, OP_FLOORDIV, k_mul(k, next, w.nblocks), w.nparts), e.block));
	/* Iteration t has rows low + t * low_by .. high + t * high_by - 1. */
	const KRef low = k_select(k, second, ends, begins), high = ends;
	const KRef low_by =
		k_select(k, second, back, k_select(k, k_prim2(k, OP_EQ, e.part, zero), zero, skew));
	const KRef high_by =
		k_select(k, second, skew, k_select(k, k_prim2(k, OP_EQ, next, w.nparts), zero, back));
	rows_part(&e, &w);
	/* Sized for a full block, although the last may have fewer iterations:
	 * readers of the kernel IR then know the number of fronts without that of
	 * the iterations. */
	const KRef far = k_add(k, high, k_mul(k, k_sub(k, most, one), k_add(k, high_by, skew)));
	const KRef fronts =
		k_prim2(k, OP_FLOORDIV, k_add(k, k_sub(k, far, low), k_sub(k, front, one)), front);
	k_loop_begin(k, zero, fronts, 1, 0, NULL, &index);
	k_loop_begin(k, zero, trip_count, 1, 0, NULL, &iteration);
	const KRef top = k_sub(k, k_add(k, low, k_mul(k, index, front)), k_mul(k, iteration, skew));
	e.row_start = k_max(k, top, k_add(k, low, k_mul(k, iteration, low_by)));
	/* The last chunk may be shorter than the others, so a gap may reach the end
	 * of the axis. */
	const KRef end =
		k_min(k, k_min(k, k_add(k, top, front), w.n), k_add(k, high, k_mul(k, iteration, high_by)));
	e.rows = k_max(k, zero, k_sub(k, end, e.row_start));
	number = k_add(k, from, iteration);
	set_places(l, t, body, at, iteration);
	for (uint32_t i = 0; i < t->npairs; i++)
		lower_set_memory(l, t->made[i]->ref, node_memory(&e, t->made[i]));
	const uint32_t mark = e.memo.n;
	emit_tile_iteration(&e, &w, p, number);
	memo_cut(&e, mark);
	k_loop_end(k, NULL, NULL);
	k_loop_end(k, NULL, NULL);
	k_parallel_end(k);
	k_loop_end(k, NULL, NULL);
	for (uint32_t i = 0; i < t->region->nodes.n; i++)
		t->plan->nodes.at[t->region->nodes.at[i]].scratch_at = 0;
	t->plan->regions.at[0].block = front;
}
