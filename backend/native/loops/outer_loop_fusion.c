/* outer_loop_fusion.c - outer-loop fusion: adjacent groups of a region become
 * one loop over their common first axis.
 *
 * Needs: loops/loops.h.
 *
 * A mapped model (the 25 components of a mixture, the heads of an attention)
 * has consecutive loops over [25, 10], each for a whole block of rows. Without
 * fusion the intermediate array has all 25 components and spills to L2. Fused,
 * one component is live at a time and stays in L1.
 *
 * Method: groups are fused if they read each other only at their own index on
 * the first axis and none reduces it. A value that no other group reads needs
 * scratch for one iteration. A cheap value that a later fused loop reads is
 * recomputed there.
 *
 * Contract: each element is computed by the same operations in the same order,
 * so results have the same bits.
 */
#include "backend/native/loops/loops.h"

#define CHEAP 4 /* a value of fewer operations is recomputed */

int fused_axis(const LoopNode *n) {
	int axis = n->row == 0 ? 1 : 0;
	return (uint32_t)axis < n->naxes ? axis : -1;
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

const OuterFusion *outer_fusion_of(const FusedRegion *r, uint32_t group) {
	for (uint32_t i = 0; i < r->outer_fusions.n; i++)
		if (r->outer_fusions.at[i].from <= group && group <= r->outer_fusions.at[i].to)
			return &r->outer_fusions.at[i];
	return NULL;
}

/* Is the contraction computed separately for each index on this axis of its
 * nest? */
static bool loops_over(const ArrayPlan *p, const LoopNode *n, int axis) {
	const Inst *in = node_inst(p, n);
	uint32_t nb;
	attr_field(p->l->c, OP_DOT, in->attr, 2, &nb);
	return (uint32_t)axis < nb;
}

/* May the group be part of a fused loop? Then *axis is the loop's axis. */
static bool fusable_outermost(const ArrayPlan *p, const LoopGroup *g, Dim *axis) {
	int64_t fixed;
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[g->nodes.at[i]];
		const int a = fused_axis(n);
		if (n->kind != NODE_POINT && n->kind != NODE_REDUCE) return false;
		if (a < 0 || (uint32_t)a >= n->nresult || dim_number(p, n->axes[a], &fixed)) return false;
		*axis = n->axes[a];
		if (n->contraction == CONTRACTION_NONE) {
			if (g->alone) return false;
			continue;
		}
		if ((n->contraction != CONTRACTION_SHARED_MATRIX &&
		     n->contraction != CONTRACTION_REDUCED_ROWS) ||
		    !loops_over(p, n, a))
			return false;
		if (n->contraction == CONTRACTION_SHARED_MATRIX && n->memory) return false;
		for (uint32_t k = 0; k < n->terms.n; k++) {
			const LoopNode *term = &p->nodes.at[n->terms.at[k]];
			if (fused_axis(term) != a || term->axes[a] != *axis || !loops_over(p, term, a))
				return false;
		}
	}
	return g->nodes.n > 0;
}

/* Does the node read the results of groups from .. only at its own index on the
 * axis? */
static bool reads_own_iteration(const ArrayPlan *p, const LoopNode *n, uint32_t from) {
	for (uint32_t i = 0; i < n->reads.n; i++) {
		const Access *a = &n->reads.at[i];
		const LoopNode *x = &p->nodes.at[a->node];
		if (x->region != n->region || x->group < from) continue;
		const int axis = fused_axis(x);
		if (axis < 0 || a->axis_of[axis] != fused_axis(n)) return false;
	}
	return true;
}

static bool group_reads_own_iteration(const ArrayPlan *p, const LoopGroup *g, uint32_t from) {
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[g->nodes.at[i]];
		if (!reads_own_iteration(p, n, from)) return false;
		for (uint32_t k = 0; k < n->terms.n; k++)
			if (!reads_own_iteration(p, &p->nodes.at[n->terms.at[k]], from)) return false;
	}
	return true;
}

/* Do all reads of x in this region belong to fused loops along the same axis,
 * at x's index? *elsewhere: some loop other than `own` reads it. */
static bool readers_are_fused(const ArrayPlan *p, const FusedRegion *r, uint32_t x,
                              const OuterFusion *own, bool *elsewhere) {
	const LoopNode *nx = &p->nodes.at[x];
	const int axis = fused_axis(nx);
	*elsewhere = false;
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		if (!n->materialised) continue;
		for (uint32_t k = 0; k < n->reads.n; k++) {
			if (n->reads.at[k].node != x) continue;
			if (n->region != nx->region) return false;
			const OuterFusion *s = outer_fusion_of(r, n->group);
			if (!s || s->axis != own->axis || n->reads.at[k].axis_of[axis] != fused_axis(n))
				return false;
			if (s != own) *elsewhere = true;
		}
	}
	return true;
}

/* Is it computed only from values outside the region, so that it can be
 * computed at any time? */
static bool from_outside(const ArrayPlan *p, const LoopNode *n) {
	for (uint32_t i = 0; i < n->reads.n; i++)
		if (p->nodes.at[n->reads.at[i].node].region == n->region) return false;
	return true;
}

static void find_outer_fusions(ArrayPlan *p, FusedRegion *r) {
	for (uint32_t g = 0; g < r->groups.n;) {
		OuterFusion s = {.from = g, .to = g};
		uint32_t members = 0, end = g;
		Dim axis = 0;
		for (; end < r->groups.n; end++) {
			const LoopGroup *group = &r->groups.at[end];
			if (!group->nodes.n) continue; /* its contraction is computed with another one */
			if (!fusable_outermost(p, group, &axis) ||
			    (members && (axis != s.axis || !group_reads_own_iteration(p, group, g))))
				break;
			s.axis = axis;
			s.to = end;
			members++;
		}
		if (members > 1) VEC_PUSH(p->a, &r->outer_fusions, s);
		g = members ? s.to + 1 : end + 1;
	}
}

void choose_outer_fusions(ArrayPlan *p, uint32_t region) {
	FusedRegion *r = &p->regions.at[region];
	if (!r->has_row || r->lanes != LANES_ROWS) return;
	find_outer_fusions(p, r);
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const uint32_t id = r->nodes.at[i];
		LoopNode *n = &p->nodes.at[id];
		const OuterFusion *own = outer_fusion_of(r, n->group);
		bool elsewhere;
		if (!own || !n->scratch || n->memory || n->row_sum ||
		    !readers_are_fused(p, r, id, own, &elsewhere))
			continue;
		if (elsewhere && (n->kind != NODE_POINT || n->cost >= CHEAP || !from_outside(p, n)))
			continue;
		n->fused_local = true;
		for (uint32_t k = 0; k < r->outer_fusions.n && elsewhere; k++) {
			OuterFusion *s = &r->outer_fusions.at[k];
			bool read = false;
			for (uint32_t j = 0; j < r->nodes.n && s != own; j++) {
				const LoopNode *m = &p->nodes.at[r->nodes.at[j]];
				for (uint32_t q = 0; q < m->reads.n; q++)
					read = read ||
					       (m->reads.at[q].node == id && s->from <= m->group && m->group <= s->to);
			}
			if (read) VEC_PUSH(p->a, &s->again, id);
		}
	}
}
