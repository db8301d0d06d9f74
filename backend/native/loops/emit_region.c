/* emit_region.c - emission of an array plan: regions as parallel loops over
 * blocks of rows, and the groups of nests in them.
 *
 * Needs: loops/emit.h.
 *
 * Contract:
 * - The computation depends on extents, not on the number of threads.
 * - Nothing is allocated inside loops.
 * - A store reaches only elements of its array, or padding that belongs to it.
 * - Every loop body is written as for one element. The vector loops of the
 *   kernel IR make lanes of it.
 */
#include "backend/native/loops/emit.h"

/* ---- groups -------------------------------------------------------------- */

static void emit_group(ArrayEmit *e, const LoopGroup *g) {
	if (!g->nodes.n) return; /* its contraction is computed with another one */
	LoopNode *n = &e->p->nodes.at[g->nodes.at[0]];
	const uint32_t span = e->k->span, mark = e->memo.n;
	if (n->bias_fused && !n->stream_store) return; /* fused into its contraction */
	e->group = g;
	if (n->bias_fused) k_if_begin(e->k, n->stream_store, 0);
	e->k->span = node_inst(e->p, n)->span;
	if (n->contraction != CONTRACTION_NONE) emit_contraction(e, n);
	else if (n->kind == NODE_SCAN) emit_scan(e, g, n);
	else if (n->kind == NODE_JOIN) emit_join(e, g, n);
	else if (n->kind == NODE_SCATTER) emit_scatter(e, g, n);
	else if (n->kind == NODE_GUARD) emit_guard(e, n);
	else if (g->reduces) emit_reduce_group(e, g);
	else if (g->collapsed) emit_collapsed_group(e, g, store_element);
	else emit_map_group(e, g);
	if (n->bias_fused) {
		memo_cut(e, mark);
		k_if_else(e->k, 0, NULL);
		k_if_end(e->k, NULL, NULL);
	}
	e->k->span = span;
	e->group = NULL;
}

/* The groups of a fused outer loop, in each of its iterations. */
static void emit_outer_fusion(ArrayEmit *e, const OuterFusion *s) {
	KBuilder *k = e->k;
	const uint32_t mark = e->memo.n;
	KRef index;
	k_loop_begin(k, k_int(k, 0), lower_dim(e->l, s->axis), 1, 0, NULL, &index);
	e->outer_fusion = true;
	for (uint32_t i = 0; i < s->again.n; i++) {
		const LoopNode *n = &e->p->nodes.at[s->again.at[i]];
		const LoopGroup *own = &e->r->groups.at[n->group];
		LoopGroup g = {
			.naxes = own->naxes, .wide = own->wide, .nodes = {.n = 1, .at = &s->again.at[i]}};
		memcpy(g.axes, own->axes, sizeof g.axes);
		e->axes[0] = (Axis){.base = index};
		emit_group(e, &g);
		memo_cut(e, mark);
	}
	for (uint32_t i = s->from; i <= s->to; i++) {
		e->axes[0] = (Axis){.base = index};
		emit_group(e, &e->r->groups.at[i]);
		memo_cut(e, mark);
	}
	e->outer_fusion = false;
	k_loop_end(k, NULL, NULL);
}

/* ---- sizes --------------------------------------------------------------- */

/* Rows in a block. With lanes along the rows, as many as keep scratch near the
 * size of L2. Contractions over a block's rows want long blocks, and exceeding
 * L2 by half costs nothing. A block of plain vectors is long, which amortises
 * the work done once for each block. */
static KRef block_rows(ArrayEmit *e, KRef row_bytes) {
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	uint32_t budget = e->k->m->target.l2_bytes / 2 * 3;
	bool contracts = false;
	for (uint32_t i = 0; i < r->nodes.n; i++)
		contracts = contracts || e->p->nodes.at[r->nodes.at[i]].contraction != CONTRACTION_NONE;
	/* Few rows get shorter blocks, so that threads have equal shares. */
	if (!r->slot_elements.n && r->lanes == LANES_ROWS) {
		KRef share =
			k_shift(k, 0,
		            k_shift(k, 1, k_add(k, lower_dim(e->l, r->row), k_int(k, 16 * MAX_PARTS - 1)),
		                    k_int(k, 8)),
		            k_int(k, 4));
		_Static_assert(16 * MAX_PARTS == 1 << 8, "the shift above");
		return k_max(k, k_int(k, 256), k_min(k, share, k_int(k, 2048)));
	}
	if (!r->slot_elements.n) return k_int(k, contracts ? 64 : 1);
	if (r->lanes == LANES_INNER && !contracts) return k_int(k, 1);
	bool plain = r->lanes == LANES_ROWS;
	for (uint32_t i = 0; i < r->groups.n; i++)
		plain = plain && !r->groups.at[i].naxes && !r->groups.at[i].alone;
	/* After loop fission: scratch in L1, and blocks long enough to amortise the
	 * loops' ends. */
	if (plain) {
		KRef most = k_prim2(k, OP_FLOORDIV, k_int(k, e->k->m->target.l1_bytes / 2),
		                    k_max(k, row_bytes, k_int(k, 1)));
		most = k_shift(k, 0, k_shift(k, 1, most, k_int(k, 4)), k_int(k, 4));
		return k_max(k, k_min(k, most, k_int(k, 2048)), k_int(k, 64));
	}
	KRef fit = k_prim2(k, OP_FLOORDIV, k_int(k, budget), k_max(k, row_bytes, k_int(k, 1)));
	if (r->lanes == LANES_INNER) {
		/* With few rows, as in small products, a block has half of them, for
		 * two threads, in multiples of eight, for the tiles. */
		KRef half = k_add(
			k,
			k_shift(k, 0,
		            k_shift(k, 1, k_add(k, lower_dim(e->l, r->row), k_int(k, 7)), k_int(k, 4)),
		            k_int(k, 3)),
			k_int(k, 8));
		return k_max(k, k_min(k, fit, k_min(k, k_int(k, 64), k_max(k, half, k_int(k, 16)))),
		             k_int(k, 4));
	}
	fit = k_shift(k, 0, k_shift(k, 1, fit, k_int(k, 4)), k_int(k, 4));
	return k_max(k, k_min(k, fit, k_int(k, 128)), k_int(k, contracts ? 64 : 16));
}

/* Approximate operations for one row, which decide the number of chunks. The
 * caller of the unit evaluates this polynomial of extents. */
static KRef row_work(ArrayEmit *e) {
	Ctx *c = e->l->c;
	Dim sum = dim_const(c, 0);
	for (uint32_t i = 0; i < e->r->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[e->r->nodes.at[i]];
		Dim work = dim_const(c, (int64_t)n->cost + 1);
		for (uint32_t j = 0; j < n->naxes; j++)
			if ((int)j != n->row) work = dim_mul(c, work, n->axes[j]);
		sum = dim_add(c, sum, work);
	}
	return lower_dim(e->l, sum);
}

/* Bytes of scratch for a row before scratch slot a; for all slots if a is their
 * number. */
static KRef slot_offset(ArrayEmit *e, uint32_t a) {
	KBuilder *k = e->k;
	Ctx *c = e->l->c;
	if (e->r->lanes == LANES_ROWS) {
		Dim elements = dim_const(c, 0);
		for (uint32_t i = 0; i < a; i++) elements = dim_add(c, elements, e->r->slot_elements.at[i]);
		return k_mul(k, lower_dim(e->l, elements), k_int(k, e->element_bytes));
	}
	KRef sum = k_int(k, 0); /* rows are rounded up to whole vectors */
	for (uint32_t i = 0; i < a; i++) {
		KRef elements = k_add(k, lower_dim(e->l, e->r->slot_elements.at[i]), k_int(k, 15));
		sum = k_add(k, sum, k_shift(k, 0, k_shift(k, 1, elements, k_int(k, 4)), k_int(k, 4)));
	}
	return k_mul(k, sum, k_int(k, e->element_bytes));
}

/* Large arrays that the region does not read again. A line that is written
 * whole need not be read first, and evicts nothing. */
KRef can_stream_store(ArrayEmit *e, const LoopNode *n) {
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	uint32_t at = k->m->target.stream_bytes;
	/* A box ends inside cache lines. */
	if (!at || !n->memory || !n->nresult || n->row_sum || n->contraction != CONTRACTION_NONE ||
	    n->kind == NODE_UPDATE)
		return 0;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
		for (uint32_t j = 0; j < m->reads.n; j++)
			if (&e->p->nodes.at[m->reads.at[j].node] == n) return 0;
	}
	return k_prim2(k, OP_LE, k_int(k, at / ktype_size(node_type_of(e, n))), result_count(e, n));
}

/* Powers of two give two or four threads equal shares. */
KRef chunk_count(KBuilder *k, KRef n) {
	KRef parts = k_int(k, MAX_PARTS);
	for (int64_t some = MAX_PARTS / 2; some > 2; some /= 2)
		parts = k_select(k, k_prim2(k, OP_LE, n, k_int(k, some)), k_int(k, some), parts);
	return k_select(k, k_prim2(k, OP_LE, n, k_int(k, 2)), k_max(k, n, k_int(k, 1)), parts);
}

void rows_sizes(ArrayEmit *e, RowLoop *w) {
	enum { PART_WORK = 1 << 16 };
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	w->n = lower_dim(e->l, r->row);
	w->row_bytes = slot_offset(e, r->slot_elements.n);
	e->block = block_rows(e, w->row_bytes);
	if (r->product) e->block = k_min(k, e->block, k_int(k, STRIP_ROWS));
	KRef one = k_int(k, 1);
	w->nblocks = k_prim2(k, OP_FLOORDIV, k_add(k, w->n, k_sub(k, e->block, one)), e->block);
	w->work = row_work(e);
	w->nparts =
		k_min(k, chunk_count(k, k_shift(k, 1, k_mul(k, w->n, w->work), k_int(k, 16))), w->nblocks);
	_Static_assert(PART_WORK == 1 << 16, "the shift above");
}

void rows_elements(ArrayEmit *e) {
	const FusedRegion *r = e->r;
	e->element_bytes = 4;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
		check_empty(e, m);
		if (m->ref && ktype_size(node_type_of(e, m)) > e->element_bytes)
			e->element_bytes = ktype_size(node_type_of(e, m));
	}
	for (uint32_t i = 0; i < r->transposed.n; i++) {
		const uint32_t size =
			(uint32_t)dtype_size((Dtype)ref_ty(e->l->f, r->transposed.at[i].ref)->dtype);
		if (size > e->element_bytes) e->element_bytes = size;
	}
}

/* ---- the pieces of a region's loop --------------------------------------- */

void emit_row_borders(ArrayEmit *e) {
	const FusedRegion *r = e->r;
	for (uint32_t i = 0; i < r->nodes.n; i++)
		if (e->p->nodes.at[r->nodes.at[i]].kind == NODE_UPDATE)
			emit_border(e, &e->p->nodes.at[r->nodes.at[i]]);
}

void rows_clear(ArrayEmit *e) {
	const FusedRegion *r = e->r;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
		if (!m->row_sum || m->into) continue;
		KMark before = k_mark(e->k);
		clear_partial(e, m);
		k_outline(e->k, before);
	}
}

void rows_part(ArrayEmit *e, const RowLoop *w) {
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	if (r->slot_elements.n) {
		KRef at = k_scratch(k, k_mul(k, w->row_bytes, e->block));
		e->scratch_slots = ARENA_ARRAY(e->l->scratch, KRef, r->slot_elements.n);
		for (uint32_t a = 0; a < r->slot_elements.n; a++)
			e->scratch_slots[a] = k_ptradd(k, at, k_mul(k, slot_offset(e, a), e->block), 1);
		for (uint32_t i = 0; i < r->nodes.n; i++) {
			LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
			m->scratch_at = m->scratch ? e->scratch_slots[m->scratch_slot] : 0;
		}
	}
	if (!w->cleared) rows_clear(e);
	copy_periods(e);
	copy_weights(e);
}

void rows_block(ArrayEmit *e, const RowLoop *w) {
	enum { OUTLINE_GROUPS = 6 };
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	e->row_reads.n = 0;
	emit_transposed_copies(e);
	for (uint32_t i = 0; i < r->groups.n; i++) {
		uint32_t mark = e->memo.n;
		KMark before = k_mark(k);
		const OuterFusion *outer_fusion = outer_fusion_of(r, i);
		if (outer_fusion) emit_outer_fusion(e, outer_fusion), i = outer_fusion->to;
		else emit_group(e, &r->groups.at[i]);
		if (r->groups.n >= OUTLINE_GROUPS) k_outline(k, before);
		memo_cut(e, mark);
	}
	e->transposed = false;
	k_poll(k, k_mul(k, e->rows, w->work));
}

void emit_row_blocks(ArrayEmit *e, const RowLoop *w, KRef from, KRef to) {
	KBuilder *k = e->k;
	int64_t begin;
	const bool all = k_is_int(k, from, &begin) && !begin;
	KRef count = all ? to : k_sub(k, to, from);
	e->part = k_parallel_begin(k, w->nparts);
	KRef first = k_prim2(k, OP_FLOORDIV, k_mul(k, e->part, count), w->nparts);
	KRef last = k_prim2(k, OP_FLOORDIV, k_mul(k, k_add(k, e->part, k_int(k, 1)), count), w->nparts);
	rows_part(e, w);
	KRef block;
	k_loop_begin(k, all ? first : k_add(k, from, first), all ? last : k_add(k, from, last), 1, 0,
	             NULL, &block);
	e->row_start = k_mul(k, block, e->block);
	e->rows = k_min(k, e->block, k_sub(k, w->n, e->row_start));
	rows_block(e, w);
	k_loop_end(k, NULL, NULL);
	k_parallel_end(k);
}

void rows_join(ArrayEmit *e, KRef nparts) {
	const FusedRegion *r = e->r;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
		m->scratch_at = 0;
		if (!m->row_sum || m->into) continue;
		KMark before = k_mark(e->k);
		join_partials(e, m, nparts);
		if (m->nresult) k_outline(e->k, before);
	}
}

/* ---- plans --------------------------------------------------------------- */

static void emit_rows(ArrayEmit *e) {
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	RowLoop w = {0};
	rows_elements(e);
	emit_row_borders(e);
	rows_sizes(e, &w);
	uint32_t outside = e->memo.n;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
		m->stream_store = m->strip ? 0 : can_stream_store(e, m);
	}
	fuse_bias(e);
	choose_collapsed(e);
	if (r->product) emit_strips(e, &w);
	else emit_row_blocks(e, &w, k_int(k, 0), w.nblocks);
	memo_cut(e, outside);
	rows_join(e, w.nparts);
}

/* Stores small values from outside to memory, since a computed index may read
 * them. */
void spill_live_ins(ArrayEmit *e) {
	const Fn *f = e->l->f;
	for (uint32_t i = 0; i < e->p->n; i++) {
		const Inst *in = &f->insts.at[e->p->insts[i]];
		for (uint32_t j = 0; j < in->nargs; j++) {
			Ref r = inst_arg(f, in, j);
			if (!ref_is_value(r) || plan_node(e->p, r) || e->spilled[REF_INDEX(r)]) continue;
			const Storage *place = lower_place(e->l, r);
			if (place->kind != PLACE_SMALL || place->count < 2) continue;
			KType t = ktype_of((Dtype)ref_ty(f, r)->dtype);
			KRef at = k_stack(e->k, (int64_t)place->count * ktype_size(t) + 64);
			for (uint32_t n = 0; n < place->count; n++)
				k_store(e->k, KM_UNIFORM, at, k_int(e->k, n), place->elements[n], 0);
			e->spilled[REF_INDEX(r)] = at;
		}
	}
}

/* Loads results that are needed in registers. */
static void give_small(ArrayEmit *e, const LoopNode *n) {
	uint32_t count;
	if (!n->live_out || !n->memory || !n->nresult ||
	    !type_is_small(e->l->c, ref_type(e->l->f, n->ref), &count))
		return;
	KRef from = node_memory(e, n), elements[SMALL_COUNT];
	for (uint32_t i = 0; i < count; i++)
		elements[i] = k_load(e->k, node_type_of(e, n), KM_UNIFORM, from, k_int(e->k, i), 0);
	lower_set_small(e->l, n->ref, count, elements);
}

void emit_begin(ArrayEmit *e, Lower *l, ArrayPlan *p) {
	*e = (ArrayEmit){.p = p, .l = l, .k = &l->k, .ix = {.p = p, .emitting = true}};
	e->ix.axes = e->axes;
	e->spilled = ARENA_ARRAY(l->scratch, KRef, l->f->vals.n + 1);
}

void arrays_emit(Lower *l, ArrayPlan *p) {
	ArrayEmit e;
	emit_begin(&e, l, p);
	spill_live_ins(&e);
	check_run(&e);
	for (uint32_t i = 0; i < p->regions.n; i++) {
		const FusedRegion *r = e.r = &p->regions.at[i];
		for (uint32_t k = 0; k < r->nodes.n; k++) {
			const LoopNode *n = &p->nodes.at[r->nodes.at[k]];
			if (n->memory && n->nresult && !n->into && !n->circular)
				lower_set_memory(l, n->ref, node_memory(&e, n));
		}
		if (r->within || r->in_sliding_window) {
			/* emitted with an earlier region */
		} else if (r->nfollowing) {
			emit_sliding_window(&e, i);
		} else if (r->has_row) {
			if (r->product) {
				const LoopNode *n = &p->nodes.at[r->product - 1];
				lower_set_memory(l, n->ref, node_memory(&e, n));
			}
			emit_rows(&e);
			p->regions.at[i].block = e.block;
		} else {
			for (uint32_t k = 0; k < r->nodes.n; k++) check_empty(&e, &p->nodes.at[r->nodes.at[k]]);
			for (uint32_t g = 0; g < r->groups.n; g++) {
				const LoopGroup *group = &r->groups.at[g];
				for (uint32_t k = 0; k < group->nodes.n; k++)
					if (p->nodes.at[group->nodes.at[k]].kind == NODE_UPDATE)
						emit_border(&e, &p->nodes.at[group->nodes.at[k]]);
				emit_group(&e, group);
			}
		}
		e.r = NULL;
		memo_cut(&e, 0); /* computed values are now in storage */
	}
	for (uint32_t i = 0; i < p->nodes.n; i++)
		if (p->nodes.at[i].materialised) give_small(&e, &p->nodes.at[i]);
}
