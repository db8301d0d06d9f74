/* loop_fission.c - loop fission: a long dependency chain over vectors becomes
 * several short loops over a block.
 *
 * Needs: loops/loops.h; a plan with regions and groups.
 *
 * Contract: sets LoopNode.stage. Materialises the values that a later stage
 * reads of an earlier one, in scratch of a block of rows that fits in L1.
 *
 * The operations on one element depend on each other, from load to store. The
 * reorder buffer holds about one iteration of a long chain, so a single loop is
 * latency-bound. Many iterations of a short loop overlap. The store and load of
 * each value that crosses a cut are cheap beside that.
 */
#include "backend/native/loops/loops.h"

/* The longest dependency chain of one loop, in the units of WORK in prims.def
 * (about four cycles): one transcendental function and some arithmetic. */
enum { STAGE_LENGTH = 26, WORTH_KEEPING = 2 };

/* The node's value is one scalar for each row of the region. */
static bool is_row_vector(const LoopNode *n, const FusedRegion *r) {
	return n->nresult == 1 && n->naxes == 1 && n->axes[0] == r->row;
}

/* The region consists of loops over vectors only: no inner axes, no group that
 * must be alone. */
static bool is_plain(const ArrayPlan *p, const FusedRegion *r) {
	if (!r->has_row || r->lanes != LANES_ROWS) return false;
	for (uint32_t i = 0; i < r->groups.n; i++)
		if (r->groups.at[i].naxes || r->groups.at[i].alone) return false;
	for (uint32_t i = 0; i < r->nodes.n; i++)
		if (p->nodes.at[r->nodes.at[i]].contraction != CONTRACTION_NONE) return false;
	return true;
}

typedef struct Depth {
	uint32_t stage, length; /* length: of the longest chain in the stage so far */
} Depth;

/* The stage and chain length of each node of the plan, as if it were part of
 * the region. */
static void measure(const ArrayPlan *p, const FusedRegion *r, Depth *depth) {
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[i];
		const Inst *in = node_inst(p, n);
		Depth d = {0};
		for (uint32_t k = 0; k < in->nargs; k++) {
			const LoopNode *x = plan_node(p, inst_arg(p->l->f, in, k));
			if (!x || (x->materialised && &p->regions.at[x->region] != r)) continue;
			const Depth *y = &depth[x - p->nodes.at];
			if (y->stage > d.stage || (y->stage == d.stage && y->length > d.length)) d = *y;
		}
		uint32_t own = n->kind == NODE_POINT ? prims[in->op].work : 0;
		if (d.length && d.length + own > STAGE_LENGTH) d = (Depth){d.stage + 1, 0};
		d.length += own;
		depth[i] = d;
	}
}

bool plan_fission(ArrayPlan *p) {
	bool changed = false;
	Depth *depth = ARENA_ARRAY(p->a, Depth, p->nodes.n + 1);
	for (uint32_t k = 0; k < p->regions.n; k++) {
		const FusedRegion *r = &p->regions.at[k];
		if (!is_plain(p, r)) continue;
		measure(p, r, depth);
		for (uint32_t i = 0; i < r->nodes.n; i++)
			p->nodes.at[r->nodes.at[i]].stage = depth[r->nodes.at[i]].stage;
		for (uint32_t i = 0; i < p->nodes.n; i++) {
			const LoopNode *n = &p->nodes.at[i];
			const Inst *in = node_inst(p, n);
			if (n->materialised && &p->regions.at[n->region] != r) continue;
			for (uint32_t j = 0; j < in->nargs; j++) {
				LoopNode *x = plan_node(p, inst_arg(p->l->f, in, j));
				if (!x || x->materialised || x->kind != NODE_POINT || !is_row_vector(x, r) ||
				    x->cost < WORTH_KEEPING)
					continue;
				if (depth[x - p->nodes.at].stage == depth[i].stage) continue;
				x->materialised = true;
				x->stage = depth[x - p->nodes.at].stage;
				changed = true;
			}
		}
	}
	return changed;
}
