/* fusion.c - the plan of a run of array instructions: materialised values,
 * their nests, and the nests that share a loop.
 *
 * Needs: loops/loops.h.
 *
 * Method: greedy. A nest joins the earliest region and group that its reads
 * allow. This keeps a whole network's forward and backward pass in one region.
 *
 * Contract: sets nest, region and group of every materialised value, such that
 * - a nest reads materialised values of earlier regions, of earlier groups of
 *   its own region at its own row, or of its own group at its own index;
 * - regions with the same row that could be one are one, and so are groups;
 * - a costly value is computed once.
 */
#include "backend/native/loops/loops.h"
#include "backend/native/lower/schedule.h"

/* ---- nodes --------------------------------------------------------------- */

static uint32_t reduced_axes(const ArrayPlan *p, const Inst *in, Dim *out) {
	Ctx *c = p->l->c;
	const Type *x = ref_ty(p->l->f, inst_arg(p->l->f, in, 0));
	uint32_t n = 0;
	if (in->op == OP_ARGMAX) {
		out[0] = x->dims[attr_int(c, OP_ARGMAX, in->attr, 0)];
		return 1;
	}
	const int64_t *axes = attr_field(c, (Op)in->op, in->attr, 0, &n);
	for (uint32_t i = 0; i < n; i++) out[i] = x->dims[axes[i]];
	return n;
}

/* The product of extents if all are small constants, else -1. */
static int64_t fixed_count(const ArrayPlan *p, uint32_t n, const Dim *dims) {
	int64_t count = 1, v;
	for (uint32_t i = 0; i < n; i++) {
		if (!dim_number(p, dims[i], &v)) return -1;
		count *= v;
	}
	return count;
}

static NodeKind kind_of(const ArrayPlan *p, const Inst *in) {
	switch (in->op) {
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX:
	case OP_DOT: return NODE_REDUCE;
	case OP_CUMSUM:
	case OP_CUMPROD: return NODE_SCAN;
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: return NODE_SCATTER;
	case OP_GUARD: return NODE_GUARD;
	case OP_UPDATE: return update_by_box(p->l->f, in) ? NODE_UPDATE : NODE_POINT;
	case OP_CONCAT: {
		int64_t axis = attr_int(p->l->c, OP_CONCAT, in->attr, 0), n;
		for (uint32_t k = 0; k < in->nargs; k++)
			if (!dim_number(p, ref_ty(p->l->f, inst_arg(p->l->f, in, k))->dims[axis], &n))
				return NODE_JOIN;
		return NODE_POINT;
	}
	default: return NODE_POINT;
	}
}

static void make_nodes(ArrayPlan *p) {
	const Fn *f = p->l->f;
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *in = &f->insts.at[p->insts[i]];
		LoopNode n = {.inst = p->insts[i], .kind = kind_of(p, in), .row = -1};
		if (in->nresults) {
			n.ref = inst_result(in, 0);
			p->node_of[in->results] = p->nodes.n + 1;
			n.live_out = p->l->needed[in->results];
			Type t = result_type(p, in);
			n.nresult = t.rank;
			if (n.kind == NODE_UPDATE) t = *ref_ty(f, inst_arg(f, in, 1));
			memcpy(n.axes, t.dims, t.rank * sizeof(Dim));
		}
		n.naxes = n.nresult;
		if (n.kind == NODE_REDUCE) n.naxes += reduced_axes(p, in, n.axes + n.nresult);
		int64_t trip_count = fixed_count(p, n.naxes - n.nresult, n.axes + n.nresult);
		bool inlined = n.kind == NODE_POINT || (n.kind == NODE_REDUCE && in->op != OP_ARGMAX &&
		                                        trip_count >= 0 && trip_count <= 16);
		n.materialised = n.live_out || !inlined || !n.naxes;
		VEC_PUSH(p->a, &p->nodes, n);
	}
}

/* False for instructions that only move elements. These cannot fail at an
 * element; their extents are checked where they are computed. */
static bool computes(const Inst *in) {
	return prims[in->op].elementwise || prims[in->op].effect != EFFECT_PURE;
}

/* An instruction that may fail must run for every element, as in the program.
 * It is materialised if its users would read only some of its elements, or
 * none. */
static void keep_failing(ArrayPlan *p) {
	const Fn *f = p->l->f;
	/* A user reads all its elements. */
	bool *whole = ARENA_ARRAY(p->a, bool, p->nodes.n + 1);
	for (uint32_t i = p->nodes.n; i-- > 0;) {
		LoopNode *n = &p->nodes.at[i];
		const Inst *in = node_inst(p, n);
		n->materialised = n->materialised || (!whole[i] && computes(in) && inst_may_fail(f, in));
		if (!n->materialised && !whole[i]) continue;
		for (uint32_t k = 0; k < in->nargs; k++) {
			const LoopNode *x = plan_node(p, inst_arg(f, in, k));
			const bool some =
				!k && (in->op == OP_SLICE || in->op == OP_GATHER || in->op == OP_UPDATE);
			if (x && !some) whole[x - p->nodes.at] = true;
		}
	}
}

/* Operations for one element, including inlined operands. */
static void cost_node(ArrayPlan *p, LoopNode *n) {
	const Inst *in = node_inst(p, n);
	uint64_t cost = prims[in->op].work;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const LoopNode *x = plan_node(p, inst_arg(p->l->f, in, k));
		if (x && !x->materialised) cost += x->cost;
	}
	int64_t trip_count =
		n->kind == NODE_REDUCE ? fixed_count(p, n->naxes - n->nresult, n->axes + n->nresult) : 1;
	if (trip_count > 0) cost *= (uint64_t)trip_count;
	n->cost = cost > 100000 ? 100000 : (uint32_t)cost;
}

/* ---- rows ---------------------------------------------------------------- */

typedef struct Volume {
	Dim dim;
	double work;
	int64_t length;
	/* Reductions along the last axis of memory run inside it. */
	bool around;
	bool reduced; /* it is itself reduced */
	bool last;    /* memory's last axis in a nest with other long axes */
} Volume;

/* Is the innermost axis of memory reduced or scanned? */
static bool reduces_last(const ArrayPlan *p, const LoopNode *n) {
	const Inst *in = node_inst(p, n);
	if ((n->kind != NODE_REDUCE && n->kind != NODE_SCAN) || in->op == OP_DOT) return false;
	const uint32_t rank = ref_ty(p->l->f, inst_arg(p->l->f, in, 0))->rank;
	if (n->kind == NODE_SCAN || in->op == OP_ARGMAX)
		return rank && attr_int(p->l->c, (Op)in->op, in->attr, 0) == rank - 1;
	uint32_t count;
	const int64_t *axes = attr_field(p->l->c, (Op)in->op, in->attr, 0, &count);
	for (uint32_t i = 0; i < count; i++)
		if (axes[i] == rank - 1) return true;
	return false;
}

/* Is x the better row? The first one wins a tie. plain: no node reduces or
 * multiplies matrices, so lanes run along the last axis. */
static bool better_row(const Volume *x, const Volume *y, bool plain) {
	enum { ROWS_ENOUGH = MAX_PARTS };
	const bool own = x->around && !x->reduced, theirs = y->around && !y->reduced;
	if (own != theirs) return own;
	if (plain && x->last != y->last && (x->last ? y : x)->length >= ROWS_ENOUGH) return y->last;
	return x->length > y->length;
}

static void choose_rows(ArrayPlan *p) {
	VEC(Volume) all = {0};
	int64_t v;
	bool plain = true;
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		if (!n->materialised) continue;
		double work = n->cost + 1;
		uint32_t nlong = 0;
		plain = plain && (n->kind == NODE_POINT || n->kind == NODE_UPDATE || n->kind == NODE_GUARD);
		for (uint32_t k = 0; k < n->naxes; k++) {
			work *= (double)lower_hint(p->l, n->axes[k], 1000);
			nlong += !dim_number(p, n->axes[k], &v);
		}
		for (uint32_t k = 0; k < n->naxes; k++) {
			if (dim_number(p, n->axes[k], &v)) continue;
			uint32_t j = 0;
			while (j < all.n && all.at[j].dim != n->axes[k]) j++;
			if (j == all.n) {
				Volume fresh = {.dim = n->axes[k], .length = lower_hint(p->l, n->axes[k], 1000)};
				VEC_PUSH(p->a, &all, fresh);
			}
			const bool reduced = k >= n->nresult || (n->kind == NODE_SCAN && k + 1 == n->naxes);
			all.at[j].work += work;
			all.at[j].reduced = all.at[j].reduced || reduced;
			all.at[j].around = all.at[j].around || (!reduced && reduces_last(p, n));
			all.at[j].last = all.at[j].last || (nlong > 1 && k + 1 == n->naxes);
		}
	}
	/* Repeatedly takes the longest of the extents with nearly the most work;
	 * among equals the first met, which is an outer axis. Exceptions:
	 * - An axis whose rows are reduced individually (softmax) precedes all
	 *   others. Lanes along the last axis are then contiguous, and a row stays
	 *   in the cache.
	 * - If everything is element-wise, the last axis comes after any other with
	 *   enough rows for all threads, for the same reason. */
	p->rows.n = 0;
	bool *taken = ARENA_ARRAY(p->a, bool, all.n + 1);
	for (uint32_t i = 0; i < all.n; i++) {
		double most = 0;
		for (uint32_t j = 0; j < all.n; j++)
			if (!taken[j] && all.at[j].work > most) most = all.at[j].work;
		uint32_t best = UINT32_MAX;
		for (uint32_t j = 0; j < all.n; j++) {
			if (taken[j] || all.at[j].work < most / 4) continue;
			if (best == UINT32_MAX || better_row(&all.at[j], &all.at[best], plain)) best = j;
		}
		taken[best] = true;
		VEC_PUSH(p->a, &p->rows, all.at[best].dim);
	}
}

/* A concat along the first axis has it as its row only if a long operand is
 * copied or inlined. Materialised operands are computed in place instead
 * (join_in_place). The remaining copies, such as cells outside an end, are a
 * few rows. */
static bool copies_rows(const ArrayPlan *p, const LoopNode *n) {
	const Inst *in = node_inst(p, n);
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref r = inst_arg(p->l->f, in, k);
		const LoopNode *x = plan_node(p, r);
		if (long_axis(p, ref_ty(p->l->f, r)->dims[0]) && (n->live_out || !x || !x->materialised))
			return true;
	}
	return false;
}

static bool may_be_row(const ArrayPlan *p, const LoopNode *n, uint32_t axis) {
	const Inst *in = node_inst(p, n);
	switch (n->kind) {
	case NODE_SCATTER:
	case NODE_GUARD: return false;
	case NODE_SCAN: return axis != (uint32_t)attr_int(p->l->c, (Op)in->op, in->attr, 0);
	case NODE_JOIN:
		return axis != (uint32_t)attr_int(p->l->c, OP_CONCAT, in->attr, 0) ||
		       (!axis && copies_rows(p, n));
	/* A reduction over the row is computed in chunks. Sums, products and
	 * extremes can be combined, positions cannot. */
	case NODE_REDUCE: return in->op != OP_ARGMAX || axis < n->nresult;
	default: return true;
	}
}

/* Smaller fixed extents are not worth a matrix product: their sums are unrolled
 * in registers. */
#define NARROW 6

static bool wide_axis(const ArrayPlan *p, Dim d) {
	int64_t v;
	return !dim_number(p, d, &v) || v >= NARROW;
}

/* From this many multiplications on, a row's own product is a separate
 * contraction instead of one row in each lane. */
#define EACH_WORK 512

/* The kind of contraction for a dot of floats, given the row. */
static ContractionKind contraction_kind(const ArrayPlan *p, LoopNode *n) {
	const Inst *in = node_inst(p, n);
	if (in->op != OP_DOT || n->kind != NODE_REDUCE) return CONTRACTION_NONE;
	Ctx *c = p->l->c;
	const Fn *f = p->l->f;
	const Type *x = ref_ty(f, inst_arg(f, in, 0)), *y = ref_ty(f, inst_arg(f, in, 1));
	uint32_t nc, nb;
	attr_field(c, OP_DOT, in->attr, 0, &nc);
	attr_field(c, OP_DOT, in->attr, 2, &nb);
	if (!nc || !dtype_is_real((Dtype)x->dtype) || n->row < 0) return CONTRACTION_NONE;
	uint32_t xfree = x->rank - nc - nb, yfree = y->rank - nc - nb;
	if ((uint32_t)n->row < nb) {
		if (nc != 1 || xfree != 1 || yfree != 1) return CONTRACTION_NONE;
		double work = 1;
		for (uint32_t i = nb; i < n->naxes; i++) work *= (double)lower_hint(p->l, n->axes[i], 1000);
		return work >= EACH_WORK ? CONTRACTION_BATCHED : CONTRACTION_NONE;
	}
	if ((uint32_t)n->row >= n->nresult)
		return xfree == 1 && yfree == 1 &&
		               (wide_axis(p, n->axes[nb]) || wide_axis(p, n->axes[nb + 1]))
		           ? CONTRACTION_REDUCED_ROWS
		           : CONTRACTION_NONE;
	if (nc != 1 || !wide_axis(p, n->axes[n->nresult])) return CONTRACTION_NONE;
	n->swapped = (uint32_t)n->row >= nb + xfree;
	uint32_t others = n->swapped ? xfree : yfree;
	uint32_t first = nb + (n->swapped ? 0 : xfree);
	return others == 1 && wide_axis(p, n->axes[first]) ? CONTRACTION_SHARED_MATRIX
	                                                   : CONTRACTION_NONE;
}

static bool is_large_product(const ArrayPlan *p, const LoopNode *n) {
	const Inst *in = node_inst(p, n);
	if (in->op != OP_DOT || n->kind != NODE_REDUCE || n->naxes != 3 || n->nresult != 2)
		return false;
	if (!dtype_is_real((Dtype)ref_ty(p->l->f, n->ref)->dtype)) return false;
	uint32_t nb;
	attr_field(p->l->c, OP_DOT, in->attr, 2, &nb);
	if (nb) return false;
	for (uint32_t i = 0; i < 3; i++)
		if (lower_hint(p->l, n->axes[i], 1000) < 192) return false;
	return true;
}

static void choose_row(ArrayPlan *p, LoopNode *n) {
	n->row = -1;
	n->contraction = CONTRACTION_NONE;
	n->row_sum = false;
	if (is_large_product(p, n)) {
		n->contraction = CONTRACTION_GEMM;
		return;
	}
	for (uint32_t i = 0; i < p->rows.n && n->row < 0; i++)
		for (uint32_t k = 0; k < n->naxes && n->row < 0; k++)
			if (n->axes[k] == p->rows.at[i] && may_be_row(p, n, k)) n->row = (int)k;
	n->row_sum = n->row >= (int)n->nresult;
	n->contraction = contraction_kind(p, n);
}

bool joins_rows(const ArrayPlan *p, const LoopNode *n) {
	return n->kind == NODE_JOIN && n->row >= 0 &&
	       n->row == (int)attr_int(p->l->c, OP_CONCAT, node_inst(p, n)->attr, 0);
}

/* ---- regions ------------------------------------------------------------- */

/* The result axis that runs along the region's row; -1: none. */
static int row_of_value(const LoopNode *n) {
	return n->row >= 0 && n->row < (int)n->nresult ? n->row : -1;
}

static bool reads_own_row(const ArrayPlan *p, const LoopNode *n, const Access *a) {
	const LoopNode *x = &p->nodes.at[a->node];
	/* The nest of an update runs over its box, that of a concat over ranges of
	 * its rows. */
	int row = x->kind == NODE_UPDATE || joins_rows(p, x) ? -1 : row_of_value(x);
	return n->row >= 0 && row >= 0 && a->axis_of[row] == n->row;
}

static bool stands_alone(const LoopNode *n) {
	return n->contraction != CONTRACTION_NONE || n->kind == NODE_SCAN || n->kind == NODE_SCATTER ||
	       n->kind == NODE_JOIN || n->kind == NODE_GUARD ||
	       (n->kind == NODE_REDUCE && n->naxes > n->nresult && n->cost >= 100000);
}

static void place_in_region(ArrayPlan *p, uint32_t id) {
	LoopNode *n = &p->nodes.at[id];
	bool has_row = n->row >= 0,
		 whole = n->contraction == CONTRACTION_GEMM || n->kind == NODE_SCATTER;
	Dim row = has_row ? n->axes[n->row] : 0;
	uint32_t least = 0;
	for (uint32_t i = 0; i < n->reads.n; i++) {
		const LoopNode *x = &p->nodes.at[n->reads.at[i].node];
		const FusedRegion *r = &p->regions.at[x->region];
		bool here = r->has_row == has_row && !r->whole && !whole &&
		            (has_row ? r->row == row && reads_own_row(p, n, &n->reads.at[i]) : !x->row_sum);
		uint32_t from = here ? x->region : x->region + 1;
		if (from > least) least = from;
	}
	for (uint32_t i = least; i < p->regions.n && !whole; i++) {
		FusedRegion *r = &p->regions.at[i];
		if (r->has_row != has_row || r->whole || (has_row && r->row != row) ||
		    joins_rows(p, &p->nodes.at[r->nodes.at[0]]) != joins_rows(p, n))
			continue;
		n->region = i;
		VEC_PUSH(p->a, &r->nodes, id);
		return;
	}
	FusedRegion fresh = {.has_row = has_row, .whole = whole, .row = row};
	n->region = p->regions.n;
	VEC_PUSH(p->a, &p->regions, fresh);
	VEC_PUSH(p->a, &p->regions.at[n->region].nodes, id);
}

/* ---- groups -------------------------------------------------------------- */

static uint32_t inner_axes(const LoopNode *n, Dim *out) {
	uint32_t k = 0;
	for (uint32_t i = 0; i < n->naxes; i++)
		if ((int)i != n->row) out[k++] = n->axes[i];
	return k;
}

static uint32_t inner_reduced(const LoopNode *n) {
	return n->naxes - n->nresult - (n->row_sum ? 1u : 0u);
}

/* Does the nest read this value of its own region at its own index, axis by
 * axis? */
static bool reads_own_index(const ArrayPlan *p, const LoopNode *n, const Access *a) {
	const LoopNode *x = &p->nodes.at[a->node];
	uint32_t axis = 0;
	if (x->kind == NODE_UPDATE) return false;
	for (uint32_t i = 0; i < x->nresult; i++) {
		if (row_of_value(x) == (int)i) {
			if (a->axis_of[i] != n->row) return false;
			continue;
		}
		if ((int)axis == n->row) axis++;
		if (a->axis_of[i] != (int)axis++) return false;
	}
	return true;
}

static bool fits_group(const ArrayPlan *p, const LoopGroup *g, const LoopNode *n) {
	if (g->alone || stands_alone(n) || g->stage != n->stage) return false;
	Dim axes[MAX_AXES];
	uint32_t k = inner_axes(n, axes);
	if (k != g->naxes || memcmp(axes, g->axes, k * sizeof *axes)) return false;
	uint32_t reduced = inner_reduced(n);
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *m = &p->nodes.at[g->nodes.at[i]];
		/* Sums over the rows need the loop over lanes innermost, sums over
		 * inner axes need it outermost. Without inner axes it is both. */
		if (k && ((n->row_sum && inner_reduced(m)) || (m->row_sum && reduced))) return false;
		if (reduced && inner_reduced(m) && inner_reduced(m) != reduced) return false;
	}
	return true;
}

static bool tree_is_wide(const ArrayPlan *p, const LoopNode *n);

static bool ref_is_wide(const ArrayPlan *p, Ref r) {
	if (dtype_size((Dtype)ref_ty(p->l->f, r)->dtype) >= 8) return true;
	const LoopNode *x = plan_node(p, r);
	return x && !x->materialised && tree_is_wide(p, x);
}

static bool tree_is_wide(const ArrayPlan *p, const LoopNode *n) {
	const Inst *in = node_inst(p, n);
	if (n->ref && dtype_size((Dtype)ref_ty(p->l->f, n->ref)->dtype) >= 8) return true;
	for (uint32_t k = 0; k < in->nargs; k++)
		if (ref_is_wide(p, inst_arg(p->l->f, in, k))) return true;
	return false;
}

static void place_in_group(ArrayPlan *p, uint32_t region, uint32_t id) {
	FusedRegion *r = &p->regions.at[region];
	LoopNode *n = &p->nodes.at[id];
	uint32_t least = 0;
	for (uint32_t i = 0; i < n->reads.n; i++) {
		const LoopNode *x = &p->nodes.at[n->reads.at[i].node];
		if (x->region != region) continue;
		bool here = x->stage == n->stage && !stands_alone(x) && !stands_alone(n) &&
		            x->naxes == x->nresult && reads_own_index(p, n, &n->reads.at[i]);
		uint32_t from = here ? x->group : x->group + 1;
		if (from > least) least = from;
	}
	for (uint32_t i = least; i < r->groups.n; i++) {
		LoopGroup *g = &r->groups.at[i];
		if (!fits_group(p, g, n)) continue;
		n->group = i;
		g->reduces = g->reduces || inner_reduced(n);
		g->wide = g->wide || tree_is_wide(p, n);
		VEC_PUSH(p->a, &g->nodes, id);
		return;
	}
	LoopGroup fresh = {.stage = n->stage,
	                   .reduces = inner_reduced(n) > 0,
	                   .alone = stands_alone(n),
	                   .wide = tree_is_wide(p, n)};
	fresh.naxes = inner_axes(n, fresh.axes);
	n->group = r->groups.n;
	VEC_PUSH(p->a, &r->groups, fresh);
	VEC_PUSH(p->a, &r->groups.at[n->group].nodes, id);
}

/* ---- one round of planning ----------------------------------------------- */

Ref matrix_operand(const ArrayPlan *p, Ref r) {
	const LoopNode *x = plan_node(p, r);
	while (x && !x->materialised) {
		const Inst *in = node_inst(p, x);
		if (in->op != OP_TRANSPOSE && in->op != OP_STOP) break;
		r = inst_arg(p->l->f, in, 0);
		x = plan_node(p, r);
	}
	return r;
}

typedef struct Pulled {
	uint32_t region, group;
	bool twice, wider;
} Pulled;

/* For each node its only user; NO_NODE if there are several, or the node is a
 * result. */
static uint32_t *only_users(const ArrayPlan *p) {
	enum { NONE_YET = NO_NODE - 1 };
	uint32_t *user = ARENA_ARRAY(p->a, uint32_t, p->nodes.n + 1);
	for (uint32_t i = 0; i < p->nodes.n; i++)
		user[i] = p->nodes.at[i].live_out ? NO_NODE : NONE_YET;
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const Inst *in = node_inst(p, &p->nodes.at[i]);
		for (uint32_t k = 0; k < in->nargs; k++) {
			const LoopNode *x = plan_node(p, inst_arg(p->l->f, in, k));
			if (!x) continue;
			uint32_t *u = &user[x - p->nodes.at];
			*u = *u == NONE_YET || *u == i ? i : NO_NODE;
		}
	}
	for (uint32_t i = 0; i < p->nodes.n; i++)
		if (user[i] == NONE_YET) user[i] = NO_NODE;
	return user;
}

/* Is a value needed only for another one of the same shape that will be
 * materialised? Then only the last value of such a chain is materialised. */
static bool ends_in_another(const ArrayPlan *p, const LoopNode *n, uint32_t user,
                            const Pulled *by) {
	if (user == NO_NODE || n->kind != NODE_POINT) return false;
	const LoopNode *u = &p->nodes.at[user];
	const Op op = (Op)node_inst(p, u)->op;
	if (u->materialised || u->kind != NODE_POINT || !prims[op].elementwise || !prims[op].work ||
	    !(by[user].twice || by[user].wider) || u->nresult != n->nresult)
		return false;
	return !memcmp(u->axes, n->axes, n->nresult * sizeof *n->axes);
}

/* Materialises costly values that more than one loop, or a larger loop nest
 * than their own, would recompute. Returns true when something changed. */
static bool keep_shared(ArrayPlan *p) {
	enum { WORTH = 4 };
	bool changed = false;
	Pulled *by = ARENA_ARRAY(p->a, Pulled, p->nodes.n);
	const uint32_t *user = only_users(p);
	for (uint32_t i = 0; i < p->nodes.n; i++) by[i].region = UINT32_MAX;
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		if (!n->materialised) continue;
		NestVisit v = visit_nest(p, i);
		for (uint32_t k = 0; k < v.inlined_reads.n; k++) {
			const InlinedRead *q = &v.inlined_reads.at[k];
			Pulled *b = &by[q->node];
			if (b->region != UINT32_MAX &&
			    (b->region != n->region || b->group != n->group || stands_alone(n)))
				b->twice = true;
			for (uint32_t j = 0; j < k; j++)
				if (v.inlined_reads.at[j].node == q->node) b->twice = true; /* at another index */
			b->region = n->region;
			b->group = n->group;
			/* Loops of the nest along which the value is constant would repeat
			 * it. */
			const uint32_t along = axes_along(q->axis_of);
			for (uint32_t j = 0; j < n->naxes; j++)
				if (!(along >> j & 1) && long_axis(p, n->axes[j])) b->wider = true;
		}
	}
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		LoopNode *n = &p->nodes.at[i];
		const Inst *in = node_inst(p, n);
		if (n->materialised && n->contraction != CONTRACTION_NONE) {
			for (uint32_t k = 0; k < 2; k++) {
				LoopNode *x = plan_node(p, matrix_operand(p, inst_arg(p->l->f, in, k)));
				/* An operand with the row can be copied into scratch while it
				 * is read. The other must be in memory. */
				bool has_row = n->contraction == CONTRACTION_REDUCED_ROWS ||
				               n->contraction == CONTRACTION_BATCHED ||
				               (n->contraction == CONTRACTION_SHARED_MATRIX && k == n->swapped);
				if (!x || x->materialised || (has_row && x->cost == 0)) continue;
				x->materialised = true;
				changed = true;
			}
		}
		/* Operands come first, so the cost excludes those materialised just
		 * now. */
		cost_node(p, n);
		if (n->materialised || n->kind == NODE_GUARD) continue;
		bool costly = n->cost >= WORTH && prims[in->op].work > 0;
		if (costly && (by[i].twice || by[i].wider) && !ends_in_another(p, n, user[i], by)) {
			n->materialised = true;
			changed = true;
		}
	}
	return changed;
}

static void choose_lanes(ArrayPlan *p, FusedRegion *r) {
	uint32_t contractions = 0, reductions = 0;
	bool inner = false, each = false;
	int64_t longest = 0;
	for (uint32_t i = 0; i < r->groups.n; i++) {
		const LoopGroup *g = &r->groups.at[i];
		for (uint32_t k = 0; k < g->nodes.n; k++) {
			const LoopNode *n = &p->nodes.at[g->nodes.at[k]];
			const ContractionKind m = n->contraction;
			reductions += n->kind == NODE_REDUCE && m == CONTRACTION_NONE && !n->row_sum;
			contractions += m == CONTRACTION_SHARED_MATRIX || m == CONTRACTION_REDUCED_ROWS;
			each = each || m == CONTRACTION_BATCHED;
		}
		for (uint32_t k = 0; k < g->naxes; k++) {
			if (!long_axis(p, g->axes[k])) continue;
			inner = true;
			int64_t n = lower_hint(p->l, g->axes[k], 1000);
			if (n > longest) longest = n;
		}
	}
	/* With this many contractions, lanes along the rows pay for transposing the
	 * arrays in memory. Short inner axes do not fill a vector. */
	const uint32_t enough = longest <= 64 ? 2 : longest <= 1024 ? 3 : UINT32_MAX;
	/* Sums along short inner axes would end in reductions over lanes. */
	const bool across = longest <= 64 && contractions && reductions > 1;
	r->lanes = (!inner && !each) || contractions >= enough || across ? LANES_ROWS : LANES_INNER;
	/* With one row in each lane, products of each row's own matrices are
	 * ordinary sums. */
	for (uint32_t i = 0; i < r->nodes.n && r->lanes == LANES_ROWS; i++) {
		LoopNode *n = &p->nodes.at[r->nodes.at[i]];
		if (n->contraction == CONTRACTION_BATCHED) n->contraction = CONTRACTION_NONE;
	}
}

/* Sets `late` for nodes that depend on the row with the most work, and for all
 * that follow a check of extents. The others are placed first: work on weights
 * alone must not split the loop over samples. */
static void find_late(const ArrayPlan *p, bool *late) {
	bool checked = false;
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		if (!n->materialised) continue;
		checked = checked || n->kind == NODE_GUARD;
		late[i] = checked || !p->rows.n || (n->row >= 0 && n->axes[n->row] == p->rows.at[0]);
		for (uint32_t k = 0; k < n->reads.n && !late[i]; k++) late[i] = late[n->reads.at[k].node];
	}
}

static void plan_round(ArrayPlan *p) {
	bool *late = ARENA_ARRAY(p->a, bool, p->nodes.n + 1);
	p->regions.n = 0;
	for (uint32_t i = 0; i < p->nodes.n; i++) cost_node(p, &p->nodes.at[i]);
	choose_rows(p);
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		LoopNode *n = &p->nodes.at[i];
		n->memory = n->live_out;
		n->scratch = false;
		n->last_group = 0;
		if (!n->materialised) continue;
		choose_row(p, n);
		visit_nest(p, i);
	}
	find_late(p, late);
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < p->nodes.n; i++)
			if (p->nodes.at[i].materialised && late[i] == (pass == 1)) place_in_region(p, i);
	for (uint32_t i = 0; i < p->regions.n; i++) {
		FusedRegion *r = &p->regions.at[i];
		r->groups.n = 0;
		r->slot_elements.n = r->slot_free_from.n = r->transposed.n = r->outer_fusions.n = 0;
		for (uint32_t k = 0; k < r->nodes.n; k++) place_in_group(p, i, r->nodes.at[k]);
		choose_lanes(p, r);
	}
}

/* ---- sums of contractions over the rows ---------------------------------- */

/* The last addition in the chain of additions that starts at the node's only
 * user; NULL: there is none. */
static const LoopNode *sum_of(const ArrayPlan *p, const LoopNode *n, const uint32_t *user) {
	const LoopNode *last = NULL;
	for (;;) {
		if (n->live_out || n->uses != 1) return last;
		n = &p->nodes.at[user[n - p->nodes.at]];
		if (node_inst(p, n)->op != OP_ADD) return last;
		last = n;
	}
}

static bool same_result(const LoopNode *n, const LoopNode *m) {
	bool same = m->materialised && m->contraction == CONTRACTION_REDUCED_ROWS &&
	            m->region == n->region && m->nresult == n->nresult;
	for (uint32_t i = 0; i < n->nresult; i++) same = same && m->axes[i] == n->axes[i];
	return same;
}

/* The gradient of a weight that several channels share is a sum of contractions
 * over the rows. The terms become one contraction with a longer sum, in the
 * group of the last one. */
static void join_terms(ArrayPlan *p) {
	const Fn *f = p->l->f;
	uint32_t *user = ARENA_ARRAY(p->a, uint32_t, p->nodes.n);
	for (uint32_t i = 0; i < p->nodes.n; i++) p->nodes.at[i].uses = 0;
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const Inst *in = node_inst(p, &p->nodes.at[i]);
		for (uint32_t k = 0; k < in->nargs; k++) {
			LoopNode *x = plan_node(p, inst_arg(f, in, k));
			if (!x) continue;
			x->uses++;
			user[x - p->nodes.at] = i;
		}
	}
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		LoopNode *n = &p->nodes.at[i];
		if (!n->materialised || n->contraction != CONTRACTION_REDUCED_ROWS || n->into) continue;
		const LoopNode *sum = sum_of(p, n, user);
		uint32_t last = i;
		for (uint32_t j = i + 1; sum && j < p->nodes.n; j++) {
			const LoopNode *m = &p->nodes.at[j];
			bool same = same_result(n, m);
			if (same && sum_of(p, m, user) == sum && m->group > p->nodes.at[last].group) last = j;
		}
		LoopNode *head = &p->nodes.at[last];
		for (uint32_t j = i; sum && j < p->nodes.n; j++) {
			LoopNode *m = &p->nodes.at[j];
			bool same = same_result(n, m);
			if (m == head || !same || sum_of(p, m, user) != sum) continue;
			m->into = last + 1;
			/* A contraction is alone in its group. */
			p->regions.at[m->region].groups.at[m->group].nodes.n = 0;
			m->group = head->group;
			VEC_PUSH(p->a, &head->terms, j);
		}
	}
}

/* ---- the plan ------------------------------------------------------------ */

ArrayPlan *arrays_plan(Lower *l, const SchedStep *run) {
	ArrayPlan *p = ARENA_NEW(l->scratch, ArrayPlan);
	p->l = l;
	p->a = l->scratch;
	p->n = run->n;
	p->insts = run->insts;
	p->node_of = ARENA_ARRAY(p->a, uint32_t, l->f->vals.n + 1);
	make_nodes(p);
	keep_failing(p);
	/* Each round materialises more values and drops none, so this
	 * terminates. */
	do plan_round(p);
	while (keep_shared(p));
	while (plan_fission(p)) {
		do plan_round(p);
		while (keep_shared(p));
	}
	join_terms(p);
	plan_storage(p, run);
	return p;
}
