/* strip_mining.c - strip mining: a region's rows in strips, each followed by
 * its part of a product, such as J'J without all of J.
 *
 * Needs: loops/loops.h.
 *
 * A matrix with a row for each residual, sample or equation is often computed
 * only to be multiplied by its own transpose (Gauss-Newton,
 * Levenberg-Marquardt, least squares).
 *
 * Method: a region is fused with the whole product that follows it, if the
 * product is summed over the region's rows and nothing else needs its matrices.
 * All threads compute up to STRIP_ROWS rows. While these are in the caches,
 * their product is added to the result.
 *
 * Contract:
 * - A strip is a number of whole blocks that depends on extents and the target
 *   alone, so results do not depend on the number of threads.
 * - Other sums over the region's rows continue from strip to strip, with one
 *   accumulator for each chunk.
 * - The matrices need the memory of one strip.
 */
#include "backend/native/loops/loops.h"

/* Operand k of the product without its transposes, if it can be computed strip
 * by strip: rows of memory that this region writes. Else NULL. */
static LoopNode *stripped(ArrayPlan *p, const LoopNode *product, uint32_t k, uint32_t region) {
	const FusedRegion *r = &p->regions.at[region];
	LoopNode *x = plan_node(p, matrix_operand(p, inst_arg(p->l->f, node_inst(p, product), k)));
	if (!x || !x->materialised || x->region != region || !x->memory || x->live_out ||
	    x->stored_in || x->row_sum || x->nresult != 2)
		return NULL;
	return x->row == 0 && x->axes[0] == r->row && x->axes[1] != r->row ? x : NULL;
}

/* Does a nest read x that is neither the product nor in x's region? Nests of
 * the region read it at the same row. */
static bool is_read_elsewhere(const ArrayPlan *p, const LoopNode *x, const LoopNode *product) {
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *m = &p->nodes.at[i];
		if (!m->materialised || m == product || m->region == x->region) continue;
		for (uint32_t j = 0; j < m->reads.n; j++)
			if (&p->nodes.at[m->reads.at[j].node] == x) return true;
	}
	return false;
}

void choose_strips(ArrayPlan *p) {
	for (uint32_t i = 0; i + 1 < p->regions.n; i++) {
		FusedRegion *r = &p->regions.at[i], *next = r + 1;
		if (!r->has_row || !next->whole || next->nodes.n != 1) continue;
		const LoopNode *product = &p->nodes.at[next->nodes.at[0]];
		if (product->contraction != CONTRACTION_GEMM || product->axes[2] != r->row ||
		    product->axes[0] == r->row || product->axes[1] == r->row || product->stored_in)
			continue;
		bool plain = true;
		for (uint32_t k = 0; k < r->nodes.n; k++)
			plain = plain && p->nodes.at[r->nodes.at[k]].kind != NODE_UPDATE;
		LoopNode *a = stripped(p, product, 0, i), *b = stripped(p, product, 1, i);
		if (!plain || !a || !b || is_read_elsewhere(p, a, product) ||
		    is_read_elsewhere(p, b, product))
			continue;
		a->strip = b->strip = true;
		r->product = next->nodes.at[0] + 1;
		next->within = true;
	}
}

Dim strip_elements(const ArrayPlan *p, const LoopNode *n) {
	return dim_mul(p->l->c, n->axes[1], dim_const(p->l->c, STRIP_ROWS));
}

/* Rebases the memory of everything computed strip by strip: row `start` becomes
 * the first one in memory. */
static void move_memory(ArrayEmit *e, const KRef *base, KRef start) {
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[r->nodes.at[i]];
		if (!n->strip) continue;
		KRef *at = &e->l->slots.at[e->l->slot_of[REF_INDEX(n->ref)] - 1].pointer;
		*at = start ? k_ptradd(k, base[i],
		                       k_sub(k, k_int(k, 0), k_mul(k, start, lower_dim(e->l, n->axes[1]))),
		                       ktype_size(node_type_of(e, n)))
		            : base[i];
		lower_set_memory(e->l, n->ref, *at);
	}
}

void emit_strips(ArrayEmit *e, RowLoop *w) {
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	const LoopNode *product = &e->p->nodes.at[r->product - 1];
	KRef zero = k_int(k, 0), one = k_int(k, 1), strip, part;
	KRef blocks = k_prim2(k, OP_FLOORDIV, k_int(k, STRIP_ROWS), e->block);
	KRef nstrips =
		k_max(k, one, k_prim2(k, OP_FLOORDIV, k_add(k, w->nblocks, k_sub(k, blocks, one)), blocks));
	w->nparts = k_min(k, w->nparts, blocks);
	KRef *base = ARENA_ARRAY(e->l->scratch, KRef, r->nodes.n + 1);
	for (uint32_t i = 0; i < r->nodes.n; i++)
		if (e->p->nodes.at[r->nodes.at[i]].strip)
			base[i] = node_memory(e, &e->p->nodes.at[r->nodes.at[i]]);
	k_loop_begin(k, zero, w->nparts, 1, 0, NULL, &part);
	e->part = part;
	rows_clear(e);
	k_loop_end(k, NULL, NULL);
	w->cleared = true;
	k_loop_begin(k, zero, nstrips, 1, 0, NULL, &strip);
	const uint32_t outside = e->memo.n;
	KRef from = k_mul(k, strip, blocks), to = k_min(k, w->nblocks, k_add(k, from, blocks)),
		 start = k_mul(k, from, e->block);
	KRef rows = k_sub(k, k_min(k, w->n, k_mul(k, to, e->block)), start);
	move_memory(e, base, start);
	emit_row_blocks(e, w, from, to);
	memo_cut(e, outside);
	move_memory(e, base, 0);
	KRef more = k_select(k, k_prim2(k, OP_LT, to, w->nblocks), k_int(k, GEMM_MORE), zero);
	KRef add = k_select(k, k_prim2(k, OP_LT, zero, strip), k_int(k, GEMM_ADD), zero);
	emit_whole_product(e, product, rows, k_add(k, k_int(k, GEMM_STRIPS), k_add(k, more, add)));
	k_loop_end(k, NULL, NULL);
}
