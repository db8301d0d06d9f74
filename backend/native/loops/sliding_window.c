/* sliding_window.c - sliding-window fusion: consecutive regions of nearly equal
 * row extent share one parallel loop.
 *
 * Needs: loops/loops.h.
 *
 * A region ends where an instruction reads rows beside its own. Those rows are
 * near, at a fixed distance. Example: values at faces, fluxes through faces,
 * differences of fluxes in cells.
 *
 * Method: each chunk of the last region's rows passes through all regions block
 * by block. Of a block, each region computes its rows as far ahead as the later
 * regions read. Intermediate values stay in the L1 of the thread that made
 * them, and threads synchronise once instead of after each region:
 *
 *     values at faces   |----------------|----------|----------|
 *     fluxes            |-------------|----------|----------|
 *     cells             |----------|----------|----------|
 *
 * Here | is the end of a block. Each region continues where it stopped in the
 * block before.
 *
 * - At the start of a chunk some halo rows are recomputed. Neighbouring chunks
 *   write identical values there, since an element's bits do not depend on its
 *   position in a vector.
 * - An array that only these regions read may be in a circular buffer of rows,
 *   one for each chunk. Other arrays are in memory as usual.
 *
 * Contract:
 * - Each element is computed by the same operations as without fusion, so the
 *   bits are the same. Chunks depend on extents alone.
 * - Sums over rows belong to the last region, whose rows are in one chunk each.
 * - Not supported: contractions; in-place updates (others may read the array);
 *   gathers; operations that may fail, since the first failure must be
 *   reported.
 */
#include "backend/native/loops/loops.h"
#include "backend/native/lower/schedule.h"

enum {
	MOST_REGIONS = 8,
	/* Limit of the distance between regions, and of the difference of their
	 * extents. */
	MOST_ROWS = 64,
	/* Minimum rows of a chunk for each halo row; half of it where the number of
	 * chunks is rounded up. */
	LEAST_ROWS = 64,
	ROW_VECTOR = 8 /* with lanes along the rows, distances are whole vectors */
};

/* ---- which regions ------------------------------------------------------- */

typedef struct SlidingFusion {
	ArrayPlan *p;
	/* Regions first .. reader - 1 share the loop; `reader` is under test. */
	uint32_t first, reader;
	/* [region][region that it reads], from `first` on: it reads rows lowest ..
	 * highest relative to its own. */
	bool reads[MOST_REGIONS][MOST_REGIONS];
	int64_t lowest[MOST_REGIONS][MOST_REGIONS], highest[MOST_REGIONS][MOST_REGIONS];
} SlidingFusion;

/* Empty maxima and minima are checked before the loop. */
static bool fails_in_loop(const ArrayPlan *p, const Inst *in) {
	return in->op != OP_REDUCE_MAX && in->op != OP_REDUCE_MIN && flow_may_fail(p->l->f, in);
}

static AccessKind reads_within_halo(Reach *w, Ref r, const LoopNode *n, const Index *at) {
	(void)r;
	SlidingFusion *s = w->ud;
	if (!n) return ACCESS_LEAF;
	if (!n->materialised)
		return fails_in_loop(s->p, node_inst(s->p, n)) ? ACCESS_UNKNOWN : ACCESS_DESCEND;
	if (n->region < s->first || n->region == s->reader) return ACCESS_LEAF;
	if (n->row < 0 || n->row >= (int)n->nresult || at[n->row].kind != IX_AXIS ||
	    at[n->row].axis != w->row)
		return ACCESS_UNKNOWN;
	const uint32_t i = s->reader - s->first, j = n->region - s->first;
	const int64_t by = at[n->row].number;
	if (!s->reads[i][j]) s->lowest[i][j] = s->highest[i][j] = by;
	if (by < s->lowest[i][j]) s->lowest[i][j] = by;
	if (by > s->highest[i][j]) s->highest[i][j] = by;
	s->reads[i][j] = true;
	return ACCESS_LEAF;
}

static bool may_slide(const ArrayPlan *p, const FusedRegion *r, bool last) {
	if (!r->has_row || r->whole || r->product || r->within || r->transposed.n) return false;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const LoopNode *n = &p->nodes.at[r->nodes.at[i]];
		if ((n->kind != NODE_POINT && n->kind != NODE_REDUCE && n->kind != NODE_SCAN &&
		     !joins_rows(p, n)) ||
		    n->contraction != CONTRACTION_NONE || n->strip || n->into)
			return false;
		if ((n->row_sum && !last) ||
		    (n->stored_in && p->nodes.at[n->stored_in - 1].kind != NODE_JOIN) ||
		    fails_in_loop(p, node_inst(p, n)))
			return false;
	}
	return true;
}

/* May region id, the next one, join the loop? */
static bool goes_along(SlidingFusion *s, uint32_t id) {
	ArrayPlan *p = s->p;
	const FusedRegion *r = &p->regions.at[id];
	const uint32_t i = id - s->first;
	int64_t longer;
	if (i >= MOST_REGIONS || !may_slide(p, r, true)) return false;
	if (!dim_is_const(p->l->c, dim_sub(p->l->c, r->row, p->regions.at[s->first].row), &longer) ||
	    longer > MOST_ROWS || longer < -MOST_ROWS)
		return false;
	s->reader = id;
	memset(s->reads[i], 0, sizeof s->reads[i]);
	Reach w = {.p = p, .ud = s, .leaf = reads_within_halo};
	for (uint32_t k = 0; k < r->nodes.n; k++)
		if (!reach_nest(&w, &p->nodes.at[r->nodes.at[k]])) return false;
	bool reads = false;
	for (uint32_t j = 0; j < i; j++) reads = reads || s->reads[i][j];
	return reads;
}

/* Sets `halo_before` and `halo_after` of the regions first .. last. False: too
 * far. */
static bool set_distances(const SlidingFusion *s, uint32_t last) {
	ArrayPlan *p = s->p;
	for (uint32_t id = last + 1; id-- > s->first;) {
		FusedRegion *r = &p->regions.at[id];
		r->halo_before = r->halo_after = 0;
		for (uint32_t q = id + 1; q <= last; q++) {
			const uint32_t i = q - s->first, j = id - s->first;
			if (!s->reads[i][j]) continue;
			const FusedRegion *reader = &p->regions.at[q];
			if (reader->halo_before - s->lowest[i][j] > r->halo_before)
				r->halo_before = reader->halo_before - s->lowest[i][j];
			if (reader->halo_after + s->highest[i][j] > r->halo_after)
				r->halo_after = reader->halo_after + s->highest[i][j];
		}
		if (r->lanes == LANES_ROWS)
			r->halo_after = (r->halo_after + ROW_VECTOR - 1) / ROW_VECTOR * ROW_VECTOR;
		if (r->halo_before > MOST_ROWS || r->halo_after > MOST_ROWS) return false;
	}
	return true;
}

/* Elements of a row where that is a known constant; -1: unknown, or rows are
 * not contiguous. */
static int64_t row_elements(const ArrayPlan *p, const LoopNode *n) {
	int64_t product = 1, v;
	if (n->row != 0) return -1;
	for (uint32_t i = 1; i < n->nresult; i++) {
		if (!dim_number(p, n->axes[i], &v)) return -1;
		product *= v;
	}
	return product;
}

/* Storage folding: marks the arrays that only need a circular buffer. Their
 * rows have few elements, and only regions of this loop read them. */
static void choose_circular_buffers(ArrayPlan *p, uint32_t first, uint32_t last) {
	bool *outside = ARENA_ARRAY(p->a, bool, p->nodes.n + 1);
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		const LoopNode *m = &p->nodes.at[i];
		if (!m->materialised) continue;
		if (m->live_out || m->stored_in || m->row_sum || m->region < first || m->region > last)
			outside[i] = true;
		if (m->stored_in) outside[m->stored_in - 1] = true;
		for (uint32_t k = 0; k < m->reads.n; k++)
			if (m->region < first || m->region > last) outside[m->reads.at[k].node] = true;
	}
	for (uint32_t i = 0; i < p->nodes.n; i++) {
		LoopNode *n = &p->nodes.at[i];
		n->circular = n->circular || (n->materialised && n->memory && n->nresult && !outside[i] &&
		                              row_elements(p, n) > 0);
	}
}

void choose_sliding_windows(ArrayPlan *p) {
	for (uint32_t i = 0; i < p->regions.n; i++) {
		SlidingFusion s = {.p = p, .first = i};
		uint32_t last = i;
		while (last + 1 < p->regions.n && may_slide(p, &p->regions.at[last], false) &&
		       goes_along(&s, last + 1) && set_distances(&s, last + 1))
			last++;
		if (last == i || !set_distances(&s, last)) continue;
		p->regions.at[i].nfollowing = last - i;
		for (uint32_t j = i + 1; j <= last; j++) p->regions.at[j].in_sliding_window = true;
		choose_circular_buffers(p, i, last);
		i = last;
	}
}

/* ---- the loop ------------------------------------------------------------ */

/* A region while its sliding-window loop is open: its part of ArrayEmit. */
typedef struct SlidingRegion {
	const FusedRegion *r;
	RowLoop w;
	KRef block, *scratch_slots;
	uint32_t element_bytes;
	/* Rows of its circular buffers before and after those of a block. */
	int64_t below, above;
	KRef *buffers; /* by node of the region: the circular buffer */
} SlidingRegion;

static void enter(ArrayEmit *e, const SlidingRegion *m) {
	e->r = m->r;
	e->block = m->block;
	e->scratch_slots = m->scratch_slots;
	e->element_bytes = m->element_bytes;
}

/* Is it read by one of the regions first .. last? */
static bool read_later(const ArrayEmit *e, const LoopNode *n, uint32_t first, uint32_t last) {
	for (uint32_t id = first; id <= last; id++) {
		const FusedRegion *r = &e->p->regions.at[id];
		for (uint32_t i = 0; i < r->nodes.n; i++) {
			const LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
			for (uint32_t j = 0; j < m->reads.n; j++)
				if (&e->p->nodes.at[m->reads.at[j].node] == n) return true;
		}
	}
	return false;
}

/* Bytes of a row of the region's arrays in memory. */
static KRef bytes_made(ArrayEmit *e, const FusedRegion *r) {
	Ctx *c = e->l->c;
	Dim sum = dim_const(c, 0);
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[r->nodes.at[i]];
		if (!n->memory || n->row_sum || !n->nresult) continue;
		Dim bytes = dim_const(c, ktype_size(node_type_of(e, n)));
		for (uint32_t k = 0; k < n->nresult; k++)
			if ((int)k != n->row) bytes = dim_mul(c, bytes, n->axes[k]);
		sum = dim_add(c, sum, bytes);
	}
	return lower_dim(e->l, sum);
}

/* Rows of the last region in a block. The regions' arrays for them fill half of
 * L1. If that is few rows, they fill a quarter of L2, up to FEW rows. */
static KRef sliding_block(ArrayEmit *e, KRef bytes) {
	enum { FEW = 64, MANY = 2048 };
	KBuilder *k = e->k;
	const KRef one = k_int(k, 1), few = k_int(k, FEW);
	bytes = k_max(k, bytes, one);
	KRef near = k_prim2(k, OP_FLOORDIV, k_int(k, k->m->target.l1_bytes / 2), bytes),
		 far = k_prim2(k, OP_FLOORDIV, k_int(k, k->m->target.l2_bytes / 4), bytes);
	near = k_min(k, k_shift(k, 0, k_shift(k, 1, near, k_int(k, 4)), k_int(k, 4)), k_int(k, MANY));
	return k_max(k, k_max(k, near, k_min(k, far, few)), one);
}

/* Emits the region's rows from .. to - 1. With scratch, as many at a time as
 * fit there. */
static void member_rows(ArrayEmit *e, const SlidingRegion *m, KRef from, KRef to) {
	KBuilder *k = e->k;
	const KRef zero = k_int(k, 0), count = k_max(k, zero, k_sub(k, to, from));
	if (!m->r->slot_elements.n) {
		e->row_start = from;
		e->rows = count;
		rows_block(e, &m->w);
		return;
	}
	KRef iteration;
	k_loop_begin(
		k, zero,
		k_prim2(k, OP_FLOORDIV, k_add(k, count, k_sub(k, m->block, k_int(k, 1))), m->block), 1, 0,
		NULL, &iteration);
	const KRef done = k_mul(k, iteration, m->block);
	e->row_start = k_add(k, from, done);
	e->rows = k_min(k, m->block, k_sub(k, count, done));
	rows_block(e, &m->w);
	k_loop_end(k, NULL, NULL);
}

/* In each chunk: allocates the circular buffers. Their first row is aligned to
 * a vector, as in memory. */
static void open_circular_buffers(ArrayEmit *e, SlidingRegion *m, Dim last_row, KRef block) {
	KBuilder *k = e->k;
	int64_t longer = 0;
	dim_is_const(e->l->c, dim_sub(e->l->c, m->r->row, last_row), &longer);
	m->below = (m->r->halo_before + ROW_VECTOR - 1) / ROW_VECTOR * ROW_VECTOR;
	m->above = longer > m->r->halo_after ? longer : m->r->halo_after;
	m->buffers = ARENA_ARRAY(e->l->scratch, KRef, m->r->nodes.n + 1);
	for (uint32_t i = 0; i < m->r->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[m->r->nodes.at[i]];
		if (!n->circular) continue;
		const int64_t bytes = row_elements(e->p, n) * ktype_size(node_type_of(e, n));
		m->buffers[i] =
			k_scratch(k, k_mul(k, k_add(k, block, k_int(k, m->below + m->above)), k_int(k, bytes)));
	}
}

/* Moves the circular buffers to the block that begins at row `low`: the rows
 * that earlier blocks computed for it are copied to the start. */
static void advance_circular_buffers(ArrayEmit *e, const SlidingRegion *m, KRef begins, KRef low,
                                     KRef block) {
	KBuilder *k = e->k;
	const KRef zero = k_int(k, 0);
	for (uint32_t i = 0; i < m->r->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[m->r->nodes.at[i]];
		if (!n->circular) continue;
		const KType t = node_type_of(e, n);
		const KRef row = k_int(k, row_elements(e->p, n));
		n->circular_row0 = k_ptradd(
			k, m->buffers[i], k_mul(k, k_sub(k, k_int(k, m->below), low), row), ktype_size(t));
		lower_set_memory(e->l, n->ref, n->circular_row0);
		const KRef count = k_select(k, begins, zero,
		                            k_mul(k, k_int(k, m->below + m->r->halo_after), row)),
				   by = k_mul(k, block, row);
		KRef at;
		k_vloop_begin(k, ktype_size(t) == 8 ? 8 : 16, 0, count, 0, NULL, NULL, &at);
		k_store(k, KM_UNIT, m->buffers[i], at,
		        k_load(k, t, KM_UNIT, m->buffers[i], k_add(k, at, by), 0), 0);
		k_vloop_end(k, NULL, NULL);
	}
}

void emit_sliding_window(ArrayEmit *e, uint32_t region) {
	KBuilder *k = e->k;
	ArrayPlan *p = e->p;
	const uint32_t count = p->regions.at[region].nfollowing + 1, end = region + count - 1,
				   outside = e->memo.n;
	const KRef zero = k_int(k, 0), one = k_int(k, 1);
	SlidingRegion *members = ARENA_ARRAY(e->l->scratch, SlidingRegion, count);
	KRef work = zero, bytes = zero;
	int64_t twice = 1;
	for (uint32_t i = 0; i < count; i++) {
		SlidingRegion *m = &members[i];
		m->r = e->r = &p->regions.at[region + i];
		for (uint32_t j = 0; j < m->r->nodes.n; j++) {
			const LoopNode *n = &p->nodes.at[m->r->nodes.at[j]];
			if (n->memory && n->nresult && !n->circular)
				lower_set_memory(e->l, n->ref, node_memory(e, n));
		}
		rows_elements(e);
		rows_sizes(e, &m->w);
		m->block = e->block;
		m->element_bytes = e->element_bytes;
		for (uint32_t j = 0; j < m->r->nodes.n; j++) {
			LoopNode *n = &p->nodes.at[m->r->nodes.at[j]];
			n->stream_store = read_later(e, n, region + i + 1, end) ? 0 : can_stream_store(e, n);
			n->dense = false;
		}
		for (uint32_t j = 0; j < m->r->groups.n; j++)
			p->regions.at[region + i].groups.at[j].collapsed = false;
		work = k_add(k, work, m->w.work);
		bytes = k_add(k, bytes, bytes_made(e, m->r));
		if (m->r->halo_before + m->r->halo_after > twice)
			twice = m->r->halo_before + m->r->halo_after;
	}
	e->periods.n = 0;
	SlidingRegion *last = &members[count - 1];
	const KRef n = last->w.n, block = sliding_block(e, bytes);
	/* One block even where the last region has no rows, since others may have
	 * some. */
	const KRef nblocks =
		k_max(k, one, k_prim2(k, OP_FLOORDIV, k_add(k, n, k_sub(k, block, one)), block));
	KRef nparts = k_min(k, k_shift(k, 1, k_mul(k, n, work), k_int(k, 16)),
	                    k_prim2(k, OP_FLOORDIV, n, k_int(k, LEAST_ROWS * twice)));
	nparts = k_min(k, chunk_count(k, nparts), nblocks);
	e->part = k_parallel_begin(k, nparts);
	const KRef first_block = k_prim2(k, OP_FLOORDIV, k_mul(k, e->part, nblocks), nparts);
	const KRef end_block =
		k_prim2(k, OP_FLOORDIV, k_mul(k, k_add(k, e->part, one), nblocks), nparts);
	for (uint32_t i = 0; i < count; i++) {
		enter(e, &members[i]);
		rows_part(e, &members[i].w);
		members[i].scratch_slots = e->scratch_slots;
		open_circular_buffers(e, &members[i], last->r->row, block);
	}
	KRef index;
	k_loop_begin(k, first_block, end_block, 1, 0, NULL, &index);
	const KRef begins = k_prim2(k, OP_EQ, index, first_block),
			   ends = k_prim2(k, OP_EQ, k_add(k, index, one), nblocks);
	const KRef low = k_mul(k, index, block), high = k_min(k, n, k_add(k, low, block));
	for (uint32_t i = 0; i < count; i++)
		advance_circular_buffers(e, &members[i], begins, low, block);
	for (uint32_t i = 0; i < count; i++) {
		const SlidingRegion *m = &members[i];
		enter(e, m);
		const KRef goes_on = k_min(k, m->w.n, k_add(k, low, k_int(k, m->r->halo_after))),
				   stops = k_min(k, m->w.n, k_add(k, high, k_int(k, m->r->halo_after)));
		const KRef from = k_select(
			k, begins, k_max(k, zero, k_sub(k, low, k_int(k, m->r->halo_before))), goes_on);
		member_rows(e, m, from, k_select(k, ends, m->w.n, stops));
	}
	k_loop_end(k, NULL, NULL);
	k_parallel_end(k);
	memo_cut(e, outside);
	for (uint32_t i = 0; i < count; i++) {
		enter(e, &members[i]);
		rows_join(e, nparts);
		p->regions.at[region + i].block = block;
	}
}
