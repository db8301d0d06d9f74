/* storage.c - the memory of a plan's values: arrays, scratch, and how long.
 *
 * Needs: loops/loops.h; a plan with regions and groups.
 *
 * Contract:
 * - A value that something outside its region needs, or that is not read at its
 *   own row, is in memory. Others are in scratch, or in registers of one loop.
 * - A scratch slot is reused after the last reader of its value.
 * - Values share memory only if their lifetimes are disjoint, or one is
 *   computed in place of the other.
 */
#include "backend/native/loops/loops.h"
#include "backend/native/lower/schedule.h"

/* ---- memory or scratch --------------------------------------------------- */

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

/* ---- scratch slots ------------------------------------------------------- */

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

/* ---- values in the memory of others -------------------------------------- */

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

/* ---- lifetimes ----------------------------------------------------------- */

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

void plan_storage(ArrayPlan *p, const struct SchedStep *run) {
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
	request_memory(p, p->l->position, p->l->position + p->n);
}
