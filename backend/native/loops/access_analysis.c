/* access_analysis.c - the places where the nests of a plan read arrays,
 * relative to their rows.
 *
 * Needs: loops/loops.h.
 *
 * Method: follows the index from a nest through inlined values to materialised
 * values and values from outside, as `element_at` will, but emits nothing. An
 * index component is known if it is an axis of the nest, perhaps plus a
 * constant.
 *
 * Contract:
 * - `leaf` is called for every read of a value that is not inlined, with its
 *   index. A read may be visited more than once.
 * - An inlined instruction that is unknown here ends the analysis with "cannot
 *   be followed".
 */
#include "backend/native/loops/loops.h"

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
