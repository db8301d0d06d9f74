/* loop_fission.c - long chains of operations on vectors, cut into stages:
 * several short loops over a block in place of one long one.
 *
 * Needs: loops/loops.h; a plan whose regions and groups stand. Establishes:
 * Node.stage, and keeps what a later stage needs of an earlier one (in scratch,
 * a block of rows in the first cache).
 *
 * Why. Lanes are independent, but the operations on one element follow each
 * other: tanh of exp of tanh takes some 300 cycles from load to store. A
 * processor looks a few hundred instructions ahead, which is one turn of such a
 * loop, so it waits for that turn's results most of the time. In a short loop
 * many turns fit the window and go on side by side. A store and a load for each
 * value that crosses are cheap beside that (Zen 3, the chain of 20 operations
 * of the benches: see docs/reference/performance.md).
 */
#include "backend/native/loops/loops.h"

/* Along a dependency chain, in the units of WORK in prims.def (about four
 * cycles): what one loop may hold. One function of the vector maths and some
 * arithmetic. */
enum { STAGE_LENGTH = 26, WORTH_KEEPING = 2 };

/* The node's value is one number for each row of the region. */
static bool is_row_vector(const Node *n, const RowRegion *r) {
	return n->nresult == 1 && n->naxes == 1 && n->axes[0] == r->row;
}

/* Regions that are nothing but loops over vectors: no inner axes, nothing that
 * stands alone. */
static bool is_plain(const ArrayPlan *p, const RowRegion *r) {
	if (!r->has_row || r->lanes != LANES_ROWS) return false;
	for (uint32_t i = 0; i < r->groups.n; i++)
		if (r->groups.at[i].naxes || r->groups.at[i].alone) return false;
	for (uint32_t i = 0; i < r->nodes.n; i++)
		if (p->nodes.at[r->nodes.at[i]].macro != MACRO_NONE) return false;
	return true;
}

typedef struct Depth {
	uint32_t stage, length; /* length: of the longest chain within the stage */
} Depth;

/* How deep each node of the plan lies, were it part of the region. */
static void measure(const ArrayPlan *p, const RowRegion *r, Depth *depth) {
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const Node *n = &p->nodes.at[i];
		const Inst *in = node_inst(p, n);
		Depth d = {0};
		for (uint32_t k = 0; k < in->nargs; k++) {
			const Node *x = plan_node(p, inst_arg(p->l->f, in, k));
			if (!x || (x->kept && &p->regions.at[x->region] != r)) continue;
			const Depth *y = &depth[x - p->nodes.at];
			if (y->stage > d.stage || (y->stage == d.stage && y->length > d.length)) d = *y;
		}
		uint32_t own = n->kind == NODE_POINT ? prims[in->op].work : 0;
		if (d.length && d.length + own > STAGE_LENGTH) d = (Depth){d.stage + 1, 0};
		d.length += own;
		depth[i] = d;
	}
}

bool plan_stages(ArrayPlan *p) {
	bool changed = false;
	Depth *depth = ARENA_ARRAY(p->a, Depth, p->nodes.n + 1);
	for (uint32_t k = 0; k < p->regions.n; k++) {
		const RowRegion *r = &p->regions.at[k];
		if (!is_plain(p, r)) continue;
		measure(p, r, depth);
		for (uint32_t i = 0; i < r->nodes.n; i++)
			p->nodes.at[r->nodes.at[i]].stage = depth[r->nodes.at[i]].stage;
		for (uint32_t i = 0; i < p->nodes.n; i++) {
			const Node *n = &p->nodes.at[i];
			const Inst *in = node_inst(p, n);
			if (n->kept && &p->regions.at[n->region] != r) continue;
			for (uint32_t j = 0; j < in->nargs; j++) {
				Node *x = plan_node(p, inst_arg(p->l->f, in, j));
				if (!x || x->kept || x->kind != NODE_POINT || !is_row_vector(x, r) ||
				    x->cost < WORTH_KEEPING)
					continue;
				if (depth[x - p->nodes.at].stage == depth[i].stage) continue;
				x->kept = true;
				x->stage = depth[x - p->nodes.at].stage;
				changed = true;
			}
		}
	}
	return changed;
}
