/* access_analysis.c - what the nests of a plan read, and at which indices.
 *
 * Needs: loops/loops.h.
 *
 * Method: follows the index from a nest through inlined values to materialised
 * values and values from outside, as `element_at` will, but emits nothing. An
 * index component is known if it is an axis of the nest. For the reads relative
 * to the row (reach_nest), it may be an axis plus a constant.
 *
 * Contract:
 * - plan_reads and visit_nest find all reads. An index that cannot be followed
 *   is unknown.
 * - `leaf` of reach_nest is called for every read of a value that is not
 *   inlined, with its index. A read may be visited more than once.
 * - In reach_nest, an inlined instruction that is unknown ends the analysis
 *   with "cannot be followed".
 */
#include "backend/native/loops/loops.h"

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

NestVisit visit_nest(ArrayPlan *p, uint32_t id) {
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

/* ---- reads relative to the row ------------------------------------------- */

static bool reaches(Reach *w, Ref r, const Index *at);

static bool same_index(Index x, Index y) {
	return x.kind == y.kind && (x.kind == IX_OTHER || (x.number == y.number &&
	                                                   (x.kind == IX_NUMBER || x.axis == y.axis)));
}

static bool reaches_operands(Reach *w, const Inst *in, const Index *at) {
	const Fn *f = w->p->l->f;
	Ctx *c = w->p->l->c;
	const Index unknown = {.kind = IX_OTHER};
	Index x[MAX_RANK], y[MAX_RANK];
	switch (in->op) {
	case OP_IOTA:
	case OP_EXTENT: return true;
	case OP_DOT:
		dot_indices(w->p, in, at, x, y);
		return reaches(w, inst_arg(f, in, 0), x) && reaches(w, inst_arg(f, in, 1), y);
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN: reduce_index(w->p, in, at, x); return reaches(w, inst_arg(f, in, 0), x);
	case OP_CUMSUM:
	case OP_CUMPROD: return reaches(w, inst_arg(f, in, 0), at);
	/* Outside the padded operand the nearest element is read and its value
	 * discarded. That element is nearer than `low` says. */
	case OP_PAD: {
		const Ref r = inst_arg(f, in, 0);
		uint32_t n;
		const int64_t *low = attr_field(c, OP_PAD, in->attr, 0, &n),
					  *stride = attr_field(c, OP_PAD, in->attr, 2, &n);
		for (uint32_t i = 0; i < ref_ty(f, r)->rank; i++) {
			int64_t by;
			x[i] = unknown;
			if (stride[i] != 1 || !dim_is_const(c, (Dim)low[i], &by)) continue;
			x[i] = at[i];
			if (at[i].kind == IX_AXIS) x[i].number -= by;
			else if (by) x[i] = unknown;
		}
		return reaches(w, r, x);
	}
	case OP_CONCAT:
		for (uint32_t k = 0; k < in->nargs; k++) {
			const Ref r = inst_arg(f, in, k);
			for (uint32_t i = 0; i < ref_ty(f, r)->rank; i++)
				x[i] = i == attr_int(c, OP_CONCAT, in->attr, 0) ? unknown : at[i];
			if (!reaches(w, r, x)) return false;
		}
		return true;
	case OP_UPDATE: {
		const Ref r = inst_arg(f, in, 0);
		for (uint32_t i = 0; i < ref_ty(f, r)->rank; i++)
			y[i] = side_takes_all(c, inst_side(f, in, i)) ? at[i] : unknown;
		return reaches(w, r, at) && reaches(w, inst_arg(f, in, 1), y);
	}
	default:
		if (in->nregions || (!prims[in->op].elementwise && in->op != OP_BROADCAST &&
		                     in->op != OP_RESHAPE && in->op != OP_TRANSPOSE && in->op != OP_SLICE &&
		                     in->op != OP_STOP && in->op != OP_CONVERT && in->op != OP_SELECT))
			return false;
		for (uint32_t k = 0; k < in->nargs; k++) {
			operand_index(&w->ix, in, k, at, x);
			if (!reaches(w, inst_arg(f, in, k), x)) return false;
		}
		return true;
	}
}

static bool reaches(Reach *w, Ref r, const Index *at) {
	if (!ref_is_value(r)) return true;
	const LoopNode *n = plan_node(w->p, r);
	switch (w->leaf(w, r, n, at)) {
	case ACCESS_LEAF: return true;
	case ACCESS_UNKNOWN: return false;
	case ACCESS_DESCEND: break;
	}
	const uint32_t rank = ref_ty(w->p->l->f, r)->rank;
	ReachSeen s = {.ref = r};
	memcpy(s.at, at, rank * sizeof *at);
	for (uint32_t i = 0; i < w->seen.n; i++) {
		bool same = w->seen.at[i].ref == r;
		for (uint32_t k = 0; k < rank && same; k++) same = same_index(w->seen.at[i].at[k], at[k]);
		if (same) return true;
	}
	VEC_PUSH(w->p->a, &w->seen, s);
	/* The axes that an inlined value sums over are no axes of the nest. */
	Index all[MAX_AXES];
	for (uint32_t i = 0; i < MAX_AXES; i++) all[i] = i < rank ? at[i] : (Index){.kind = IX_OTHER};
	return reaches_operands(w, node_inst(w->p, n), all);
}

/* The reads of a concat along its row: an operand whose first row is row k of
 * the concat is read with offset -k. */
static bool reaches_parts(Reach *w, const Inst *in, Index *at) {
	const Fn *f = w->p->l->f;
	Ctx *c = w->p->l->c;
	Dim before = dim_const(c, 0);
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref r = inst_arg(f, in, k);
		int64_t by;
		at[w->row] = dim_is_const(c, before, &by) ? index_axis(w->row) : (Index){.kind = IX_OTHER};
		if (at[w->row].kind == IX_AXIS) at[w->row].number = -by;
		if (!reaches(w, r, at)) return false;
		before = dim_add(c, before, ref_ty(f, r)->dims[w->row]);
	}
	return true;
}

bool reach_nest(Reach *w, const LoopNode *n) {
	const Inst *in = node_inst(w->p, n);
	Index at[MAX_AXES];
	if (n->row < 0 || n->contraction != CONTRACTION_NONE || n->kind == NODE_SCATTER ||
	    n->kind == NODE_GUARD)
		return false;
	for (uint32_t i = 0; i < n->naxes; i++) at[i] = index_axis(i);
	w->ix = (IndexContext){.p = w->p, .shifts = true};
	w->row = (uint32_t)n->row;
	w->seen.n = 0;
	if (n->kind == NODE_JOIN) return joins_rows(w->p, n) && reaches_parts(w, in, at);
	return n->kind == NODE_UPDATE ? reaches(w, inst_arg(w->p->l->f, in, 1), at)
	                              : reaches_operands(w, in, at);
}
