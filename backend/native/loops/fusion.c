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

typedef struct InlinedRead {
	uint32_t node;
	int8_t axis_of[MAX_RANK];
} InlinedRead;

typedef struct NestVisit {
	ArrayPlan *p;
	IndexContext ix;
	uint32_t nest; /* the node whose nest is visited */
	VEC(InlinedRead) inlined_reads;
	VEC(Outside) outside;
} NestVisit;

/* ---- nodes --------------------------------------------------------------- */

static Type result_type(const ArrayPlan *p, const Inst *in) {
	return *type_of(p->l->c, p->l->f->vals.at[in->results].type);
}

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

/* ---- reads of a nest ----------------------------------------------------- */

static void follow(const Index *at, uint32_t rank, int8_t *axis_of) {
	for (uint32_t i = 0; i < MAX_RANK; i++)
		axis_of[i] = i < rank && at[i].kind == IX_AXIS ? (int8_t)at[i].axis : -1;
}

uint32_t axes_along(const int8_t *axis_of) {
	uint32_t along = 0;
	for (uint32_t i = 0; i < MAX_RANK; i++)
		if (axis_of[i] >= 0) along |= 1u << axis_of[i];
	return along;
}

static void visit_operands(NestVisit *v, const Inst *in, const Index *at);

static void visit(NestVisit *v, Ref r, const Index *at) {
	ArrayPlan *p = v->p;
	LoopNode *n = plan_node(p, r);
	if (!n) {
		Outside o = {.ref = r};
		follow(at, ref_ty(p->l->f, r)->rank, o.axis_of);
		for (uint32_t i = 0; i < v->outside.n; i++)
			if (v->outside.at[i].ref == r && !memcmp(v->outside.at[i].axis_of, o.axis_of, MAX_RANK))
				return;
		if (ref_is_value(r) && ref_ty(p->l->f, r)->rank) VEC_PUSH(p->a, &v->outside, o);
		return;
	}
	uint32_t id = (uint32_t)(n - p->nodes.at);
	LoopNode *nest = &p->nodes.at[v->nest];
	InlinedRead inlined = {.node = id};
	const uint32_t rank = ref_ty(p->l->f, r)->rank;
	follow(at, rank, inlined.axis_of);
	if (n->materialised) {
		for (uint32_t i = 0; i < nest->reads.n; i++)
			if (nest->reads.at[i].node == id &&
			    !memcmp(nest->reads.at[i].axis_of, inlined.axis_of, MAX_RANK))
				return;
		Access a = {.node = id};
		memcpy(a.axis_of, inlined.axis_of, MAX_RANK);
		VEC_PUSH(p->a, &nest->reads, a);
		return;
	}
	for (uint32_t i = 0; i < v->inlined_reads.n; i++)
		if (v->inlined_reads.at[i].node == id &&
		    !memcmp(v->inlined_reads.at[i].axis_of, inlined.axis_of, MAX_RANK))
			return;
	VEC_PUSH(p->a, &v->inlined_reads, inlined);
	/* Axes that an inlined value sums over are unrolled here, and are none of
	 * the nest's axes. */
	Index all[MAX_AXES];
	for (uint32_t i = 0; i < MAX_AXES; i++) all[i] = i < rank ? at[i] : (Index){.kind = IX_OTHER};
	visit_operands(v, node_inst(p, n), all);
}

static void visit_operands(NestVisit *v, const Inst *in, const Index *at) {
	ArrayPlan *p = v->p;
	const Fn *f = p->l->f;
	Index x[MAX_RANK], y[MAX_RANK];
	const Index unknown = {.kind = IX_OTHER};
	switch (in->op) {
	case OP_DOT:
		dot_indices(p, in, at, x, y);
		visit(v, inst_arg(f, in, 0), x);
		visit(v, inst_arg(f, in, 1), y);
		return;
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX:
		reduce_index(p, in, at, x);
		visit(v, inst_arg(f, in, 0), x);
		return;
	case OP_GATHER: {
		int64_t axis = attr_int(p->l->c, OP_GATHER, in->attr, 0),
				batch = attr_int(p->l->c, OP_GATHER, in->attr, 1);
		uint32_t rank = ref_ty(f, inst_arg(f, in, 0))->rank,
				 extra = ref_ty(f, inst_arg(f, in, 1))->rank - (uint32_t)batch;
		for (uint32_t i = 0; i < rank; i++)
			x[i] = i < axis ? at[i] : i == axis ? unknown : at[i - 1 + extra];
		visit(v, inst_arg(f, in, 0), x);
		operand_index(&v->ix, in, 1, at, y);
		visit(v, inst_arg(f, in, 1), y);
		return;
	}
	case OP_PAD: {
		Type xt = *ref_ty(f, inst_arg(f, in, 0)), yt = result_type(p, in);
		uint32_t n;
		const int64_t *low = attr_field(p->l->c, OP_PAD, in->attr, 0, &n),
					  *stride = attr_field(p->l->c, OP_PAD, in->attr, 2, &n);
		int64_t zero;
		for (uint32_t i = 0; i < xt.rank; i++) {
			bool same = dim_number(p, (Dim)low[i], &zero) && zero == 0 && stride[i] == 1 &&
			            xt.dims[i] == yt.dims[i];
			x[i] = same ? at[i] : unknown;
		}
		visit(v, inst_arg(f, in, 0), x);
		return;
	}
	case OP_UPDATE: {
		const LoopNode *n = plan_node(p, inst_result(in, 0));
		uint32_t rank = ref_ty(f, inst_arg(f, in, 0))->rank;
		bool point = n->kind == NODE_POINT;
		for (uint32_t i = 0; i < rank; i++) {
			x[i] = point ? at[i] : unknown;
			y[i] = !point || side_takes_all(p->l->c, inst_side(f, in, i)) ? at[i] : unknown;
		}
		visit(v, inst_arg(f, in, 0), x);
		visit(v, inst_arg(f, in, 1), y);
		return;
	}
	case OP_CONCAT: {
		int64_t axis = attr_int(p->l->c, OP_CONCAT, in->attr, 0);
		for (uint32_t k = 0; k < in->nargs; k++) {
			Ref r = inst_arg(f, in, k);
			for (uint32_t i = 0; i < ref_ty(f, r)->rank; i++) x[i] = i == axis ? unknown : at[i];
			visit(v, r, x);
		}
		return;
	}
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET:
		for (uint32_t k = 0; k < in->nargs; k++) {
			Ref r = inst_arg(f, in, k);
			for (uint32_t i = 0; i < ref_ty(f, r)->rank; i++) x[i] = unknown;
			visit(v, r, x);
		}
		return;
	case OP_IOTA:
	case OP_EXTENT:
	case OP_GUARD: return;
	default:
		for (uint32_t k = 0; k < in->nargs; k++) {
			operand_index(&v->ix, in, k, at, x);
			visit(v, inst_arg(f, in, k), x);
		}
	}
}

/* Fills n->reads. Returns the inlined values that were visited. */
static NestVisit visit_nest(ArrayPlan *p, uint32_t id) {
	LoopNode *n = &p->nodes.at[id];
	n->reads.n = 0;
	NestVisit v = {.p = p, .nest = id, .ix = {.p = p}};
	Index at[MAX_AXES];
	for (uint32_t i = 0; i < n->naxes; i++) at[i] = index_axis(i);
	const Inst *in = node_inst(p, n);
	if (n->kind == NODE_SCAN) {
		visit(&v, inst_arg(p->l->f, in, 0), at);
		return v;
	}
	visit_operands(&v, in, at);
	return v;
}

OutsideList plan_reads(ArrayPlan *p, uint32_t node) {
	const NestVisit v = visit_nest(p, node);
	return (OutsideList){v.outside.n, v.outside.at};
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

static bool long_axis(const ArrayPlan *p, Dim d) {
	int64_t v;
	return !dim_number(p, d, &v);
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

/* Decides which values are in memory, which in scratch, and for how long. */
static void choose_storage(ArrayPlan *p) {
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		if (!n->materialised) continue;
		for (uint32_t k = 0; k < n->reads.n; k++) {
			LoopNode *x = &p->nodes.at[n->reads.at[k].node];
			if (x->region != n->region || x->row_sum || !p->regions.at[n->region].has_row) {
				x->memory = true;
				continue;
			}
			bool own = x->group == n->group; /* in a register of the same loop */
			if (!own) x->scratch = true;
			if (!own && n->group > x->last_group) x->last_group = n->group;
		}
	}
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		LoopNode *n = &p->nodes.at[i];
		if (!n->materialised || n->kind == NODE_GUARD) continue;
		if (!p->regions.at[n->region].has_row || n->row_sum || n->kind == NODE_UPDATE)
			n->memory = true;
		/* A contraction's result is computed in scratch and copied, unless it
		 * is accumulated over the rows. */
		if (n->contraction == CONTRACTION_SHARED_MATRIX || n->contraction == CONTRACTION_BATCHED) {
			n->scratch = true;
			if (n->last_group < n->group) n->last_group = n->group;
		}
	}
}

bool needs_copy(const ArrayPlan *p, const LoopNode *n, Ref r) {
	const FusedRegion *region = &p->regions.at[n->region];
	const LoopNode *x = plan_node(p, matrix_operand(p, r));
	bool inner = region->lanes == LANES_INNER;
	if (x && x->materialised && x->region == n->region && x->scratch && !(inner && x->memory))
		return false;
	return !inner || (x && !(x->materialised && x->memory));
}

uint32_t scratch_alloc(ArrayPlan *p, FusedRegion *r, Dim elements, uint32_t g, uint32_t last) {
	uint32_t a = 0;
	while (a < r->slot_elements.n &&
	       (r->slot_elements.at[a] != elements || r->slot_free_from.at[a] > g))
		a++;
	if (a == r->slot_elements.n) {
		VEC_PUSH(p->a, &r->slot_elements, elements);
		VEC_PUSH(p->a, &r->slot_free_from, 0u);
	}
	r->slot_free_from.at[a] = last + 1;
	return a;
}

int fused_operand_axis(const ArrayPlan *p, const LoopNode *n, uint32_t operand) {
	Index at[MAX_AXES], x[2][MAX_RANK];
	for (uint32_t i = 0; i < n->naxes; i++) at[i] = index_axis(i);
	dot_indices(p, node_inst(p, n), at, x[0], x[1]);
	const uint32_t rank = ref_ty(p->l->f, inst_arg(p->l->f, node_inst(p, n), operand))->rank;
	for (uint32_t i = 0; i < rank; i++)
		if (x[operand][i].kind == IX_AXIS && (int)x[operand][i].axis == fused_axis(n))
			return (int)i;
	return -1;
}

static void assign_copy_slots(ArrayPlan *p, FusedRegion *r, LoopNode *n, uint32_t g) {
	const Inst *in = node_inst(p, n);
	for (uint32_t k = 0; k < 2; k++) {
		if (n->contraction == CONTRACTION_SHARED_MATRIX && k != n->swapped) continue;
		Ref x = inst_arg(p->l->f, in, k);
		n->copy_slot[k] = 0;
		if (!needs_copy(p, n, x)) continue;
		const Type *t = ref_ty(p->l->f, x);
		Dim dims[MAX_RANK];
		uint32_t m = 0;
		bool passed = false;
		const int fused = outer_fusion_of(r, g) ? fused_operand_axis(p, n, k) : -1;
		for (uint32_t i = 0; i < t->rank; i++) {
			if (t->dims[i] == r->row && !passed) passed = true;
			else if ((int)i != fused) dims[m++] = t->dims[i];
		}
		n->copy_slot[k] = scratch_alloc(p, r, dims_product(p->l->c, m, dims), g, g) + 1;
	}
}

/* Assigns scratch slots. A slot is reused after the last reader of its
 * value. */
static void assign_scratch_slots(ArrayPlan *p, FusedRegion *r) {
	for (uint32_t g = 0; g < r->groups.n; g++) {
		for (uint32_t k = 0; k < r->groups.at[g].nodes.n; k++) {
			LoopNode *n = &p->nodes.at[r->groups.at[g].nodes.at[k]];
			if (n->contraction == CONTRACTION_SHARED_MATRIX ||
			    n->contraction == CONTRACTION_REDUCED_ROWS ||
			    n->contraction == CONTRACTION_BATCHED) {
				assign_copy_slots(p, r, n, g);
				for (uint32_t t = 0; t < n->terms.n; t++)
					assign_copy_slots(p, r, &p->nodes.at[n->terms.at[t]], g);
			}
			if (!n->scratch) continue;
			Dim dims[MAX_AXES];
			uint32_t m = 0, from = g, last = n->last_group > g ? n->last_group : g;
			for (uint32_t i = 0; i < n->nresult; i++)
				if ((int)i != n->row && !(n->fused_local && (int)i == fused_axis(n)))
					dims[m++] = n->axes[i];
			/* A value that outlives an iteration of a fused outer loop is live
			 * for the whole loop, before its group and after its last
			 * reader. */
			const OuterFusion *first = outer_fusion_of(r, g), *end = outer_fusion_of(r, last);
			const bool outlives = !n->fused_local || first != end;
			if (first && outlives) from = first->from;
			if (end && outlives) last = end->to;
			n->scratch_slot = scratch_alloc(p, r, dims_product(p->l->c, m, dims), from, last);
		}
	}
}

/* An array of the run that an update changes in place is computed in the memory
 * of the update's result. */
static void share_memory(ArrayPlan *p, const SchedStep *run) {
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		if (n->kind != NODE_UPDATE) continue;
		LoopNode *x = plan_node(p, inst_arg(p->l->f, node_inst(p, n), 0));
		if (x && x->materialised && x->memory && !x->row_sum && x->nresult &&
		    run_takes_memory(p->l, run, node_inst(p, n)))
			x->stored_in = i + 1;
	}
}

/* The operand of a concat that a value is; the first one if there are
 * several. */
uint32_t join_place(const ArrayPlan *p, const LoopNode *join, Ref part) {
	const Inst *in = node_inst(p, join);
	uint32_t k = 0;
	while (k < in->nargs && inst_arg(p->l->f, in, k) != part) k++;
	return k;
}

bool joins_rows(const ArrayPlan *p, const LoopNode *n) {
	return n->kind == NODE_JOIN && n->row >= 0 &&
	       n->row == (int)attr_int(p->l->c, OP_CONCAT, node_inst(p, n)->attr, 0);
}

/* Computes a long operand of a concat along the first axis in the concat's
 * memory, so that it is not copied. The concat must be in memory, not only in
 * scratch. Neither may be needed after the run: the old content of its
 * destination, a loop's or the caller's, may still be read. */
static void join_in_place(ArrayPlan *p) {
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		const Inst *in = node_inst(p, n);
		if (n->kind != NODE_JOIN || !n->materialised || !n->memory || n->live_out || n->stored_in ||
		    attr_int(p->l->c, OP_CONCAT, in->attr, 0))
			continue;
		for (uint32_t k = 0; k < in->nargs; k++) {
			LoopNode *x = plan_node(p, inst_arg(p->l->f, in, k));
			if (!x || !x->materialised || !x->memory || x->live_out || x->stored_in || x->row_sum ||
			    x->strip || x->into || x->kind != NODE_POINT)
				continue;
			if (x->nresult && long_axis(p, x->axes[0])) x->stored_in = i + 1;
		}
	}
}

/* The step of each region. Regions run in sequence, except that those sharing
 * an earlier region's loop share its step. */
static uint32_t *region_steps(const ArrayPlan *p) {
	uint32_t *step = ARENA_ARRAY(p->a, uint32_t, p->regions.n + 1);
	for (uint32_t i = 1; i < p->regions.n; i++) {
		const FusedRegion *r = &p->regions.at[i];
		step[i] = step[i - 1] + (r->in_sliding_window || r->within ? 0 : 1);
	}
	return step;
}

typedef struct LiveRange {
	uint32_t from, to;
} LiveRange;

/* Lifetimes. A value needed after the run lives to its end. Others live from
 * the step that computes them to the last that reads them, so that values of
 * different steps may share memory. There are no more steps than
 * instructions. */
static LiveRange *node_lives(const ArrayPlan *p, const uint32_t *step, uint32_t from, uint32_t to) {
	LiveRange *life = ARENA_ARRAY(p->a, LiveRange, p->nodes.n + 1);
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		if (!n->materialised) continue;
		life[i] = (LiveRange){from + step[n->region], n->live_out ? to : from + step[n->region]};
		for (uint32_t k = 0; k < n->reads.n; k++) {
			LiveRange *x = &life[n->reads.at[k].node];
			if (x->to < life[i].from) x->to = life[i].from;
		}
	}
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		uint32_t in = i;
		while (p->nodes.at[in].stored_in) in = p->nodes.at[in].stored_in - 1;
		if (life[i].from < life[in].from) life[in].from = life[i].from;
		if (life[i].to > life[in].to) life[in].to = life[i].to;
	}
	return life;
}

static void request_memory(ArrayPlan *p, uint32_t from, uint32_t to) {
	Lower *l = p->l;
	const uint32_t *step = region_steps(p);
	const LiveRange *life = node_lives(p, step, from, to);
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		LoopNode *n = &p->nodes.at[i];
		if (!n->materialised || n->kind == NODE_GUARD || n->into || n->circular) continue;
		/* scalars are registers */
		if (n->memory && n->nresult > 0 && !n->stored_in)
			lower_slot(l, n->ref, life[i].from, life[i].to);
		if (n->strip)
			l->slots.at[l->slot_of[REF_INDEX(n->ref)] - 1].elements = strip_elements(p, n);
		if (!n->row_sum) continue;
		Dim elements =
			dim_mul(l->c, dims_product(l->c, n->nresult, n->axes), dim_const(l->c, MAX_PARTS));
		const uint32_t at = from + step[n->region];
		MemorySlot s = {.elements = elements,
		                .element_bytes = (uint32_t)dtype_size((Dtype)ref_ty(l->f, n->ref)->dtype),
		                .from = at,
		                .to = at};
		VEC_PUSH(l->scratch, &l->slots, s);
		n->partial = l->slots.n;
	}
}

ArrayPlan *arrays_plan(Lower *l, const SchedStep *run) {
	const uint32_t n = run->n;
	ArrayPlan *p = ARENA_NEW(l->scratch, ArrayPlan);
	p->l = l;
	p->a = l->scratch;
	p->n = n;
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
	choose_storage(p);
	for (uint32_t i = 0; i < p->regions.n; i++) {
		choose_outer_fusions(p, i);
		choose_transposed(p, i);
		assign_scratch_slots(p, &p->regions.at[i]);
	}
	share_memory(p, run);
	choose_strips(p);
	join_in_place(p);
	choose_sliding_windows(p);
	request_memory(p, l->position, l->position + n);
	return p;
}
