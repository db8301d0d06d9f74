/* emit_map.c - groups without inner reductions: element-wise nests, and their
 * sums over the rows.
 *
 * Needs: loops/emit.h.
 *
 * Contract:
 * - Sums over the rows are in registers where lanes run along the rows, else in
 *   the chunk's memory.
 * - A vector loop that writes a box is cut where the first whole cache line of
 *   the result begins.
 */
#include "backend/native/loops/emit.h"

/* An accumulator of a sum over the rows. */
typedef struct AccumulatorGroup {
	LoopNode *n;
	int64_t combination;
	/* Number of accumulators: EXTREME_PARTS for an extreme; 0 marks those after
	 * its first. */
	uint32_t nparts;
} AccumulatorGroup;

/* A group while its loops are open. */
typedef struct MapEmit {
	ArrayEmit *e;
	const LoopGroup *g;
	Loops s;
	bool rows;    /* lanes run along the rows */
	bool vectors; /* lanes run along the rows or an inner axis */
	VEC(AccumulatorGroup) sums;
	VEC(KRef) init; /* of the sums */
	uint32_t cost;  /* of all nodes, for one element */
	bool only_sums; /* all nodes are sums over the rows */
	uint32_t nopen, mark[MAX_AXES + 1];
	KRef length, offset; /* of the vector loop; offset 0: none */
} MapEmit;

/* ---- axes and lanes ------------------------------------------------------ */

#define FEW_LANES 8 /* fewer elements are not worth a vector */

/* The lanes of a non-contiguous loop over a few elements would be mostly empty.
 * The last axis takes the lanes instead, if it is longer, although it could be
 * unrolled. */
static void prefer_last_axis(ArrayEmit *e, Loops *s) {
	const uint32_t last = s->naxes ? s->naxes - 1 : 0;
	uint32_t open = s->naxes;
	int64_t n;
	while (open > 0 && s->fixed[open - 1]) open--;
	if (!open || open > last || !dim_number(e->p, s->dims[open - 1], &n) || n >= FEW_LANES ||
	    s->length[last] <= n)
		return;
	s->fixed[last] = false;
	s->combinations /= s->length[last];
}

/* Axes are unrolled while the sums over the rows, one for each combination,
 * stay in registers. */
static int64_t most_combinations(const ArrayEmit *e, const LoopGroup *g) {
	enum { SUMS = 8 };
	int64_t sums = 0;
	for (uint32_t i = 0; i < g->nodes.n; i++) sums += e->p->nodes.at[g->nodes.at[i]].row_sum;
	return !sums ? UNROLL_COUNT : sums < SUMS ? SUMS / sums : 1;
}

/* Stores that cross cache lines cost twice. For a group that writes a box,
 * which may begin anywhere: the number of elements before the first whole line;
 * 0: nothing is gained. `lane`: the group's axis, or ROW_AXIS. The result's
 * memory is assumed to begin with a line, which it nearly always does. */
static KRef update_head(ArrayEmit *e, const LoopGroup *g, const Loops *s, int lane, KRef length) {
	enum { LINE = 64 };
	KBuilder *k = e->k;
	Index inner[MAX_AXES], at[MAX_AXES], whole[MAX_RANK];
	KRef stride[MAX_RANK], position = k_int(k, 0), one = k_int(k, 1);
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->kind != NODE_UPDATE) continue;
		loops_combination(s, 0, inner);
		node_index(n, inner, at);
		const uint32_t last = n->nresult - 1;
		if (at[last].kind != IX_AXIS || at[last].axis != (uint32_t)lane ||
		    inst_side(e->l->f, node_inst(e->p, n), last).stride != 1)
			return 0;
		Axis here = e->axes[lane];
		e->axes[lane] = (Axis){.base = lane == (int)ROW_AXIS ? e->row_start : k_int(k, 0)};
		box_index(e, n, at, whole);
		memory_strides(e, ref_ty(e->l->f, n->ref), stride);
		for (uint32_t a = 0; a < n->nresult; a++)
			position = k_add(k, position, k_mul(k, index_base(&e->ix, whole[a]), stride[a]));
		e->axes[lane] = here;
		KRef beyond = k_sub(k, k_int(k, LINE / ktype_size(node_type_of(e, n))), one);
		return k_min(k, k_logic(k, 0, k_sub(k, k_int(k, 0), position), beyond), length);
	}
	return 0;
}

/* ---- pieces of the vector loop ------------------------------------------- */

/* Opens a loop over n pieces of the vector loop. Returns the piece's number. */
static KRef open_pieces(MapEmit *m, int64_t n) {
	KBuilder *k = m->e->k;
	KRef piece;
	m->mark[m->nopen++] = m->e->memo.n;
	k_loop_begin(k, k_int(k, 0), k_int(k, n), 1, 0, NULL, &piece);
	return piece;
}

/* Nothing written is read, so elements may be computed twice: whole vectors at
 * both ends instead of masks. */
static void overlap_ends(MapEmit *m, KRef head) {
	enum { FIRST, MIDDLE, LAST, PIECES };
	KBuilder *k = m->e->k;
	const int64_t whole = m->g->wide ? 8 : 16;
	const KRef length = m->length;
	if (!head) head = k_int(k, 0);
	const KRef piece = open_pieces(m, PIECES);
	const KRef zero = k_int(k, 0), vector = k_int(k, whole), first = k_prim2(k, OP_EQ, piece, zero),
			   last = k_lt(k, k_int(k, MIDDLE), piece);
	const KRef fits = k_prim2(k, OP_LE, vector, length), rest = k_sub(k, length, head),
			   inside = k_logic(k, 0, rest, k_int(k, -whole));
	const KRef before = k_select(k, fits, k_select(k, k_lt(k, zero, head), vector, zero), length);
	const KRef behind = k_select(k, k_logic(k, 0, fits, k_lt(k, inside, rest)), vector, zero);
	m->offset =
		k_select(k, first, zero, k_select(k, last, k_max(k, zero, k_sub(k, length, vector)), head));
	m->length =
		k_select(k, first, before, k_select(k, last, behind, k_select(k, fits, inside, zero)));
}

/* Two pieces: up to the first whole cache line of the result, then the
 * remainder. */
static void cut_head(MapEmit *m, KRef head) {
	KBuilder *k = m->e->k;
	const KRef piece = open_pieces(m, 2);
	KRef first = k_prim2(k, OP_EQ, piece, k_int(k, 0));
	m->offset = k_select(k, first, k_int(k, 0), head);
	m->length = k_select(k, first, head, k_sub(k, m->length, head));
}

/* ---- the group ----------------------------------------------------------- */

static void open_map_loops(MapEmit *m) {
	ArrayEmit *e = m->e;
	if (!m->rows && e->r->has_row) {
		m->mark[m->nopen++] = e->memo.n;
		open_group_rows(e, m->g);
	}
	for (uint32_t i = e->outer_fusion ? 1 : 0; i < m->s.naxes; i++) {
		if (m->s.fixed[i] || (int)i == m->s.lane) continue;
		m->mark[m->nopen++] = e->memo.n;
		open_loop(e, i, m->s.dims[i]);
	}
}

/* Sums over the rows stay in registers while the lanes run along the rows. */
static void collect_sums(MapEmit *m) {
	ArrayEmit *e = m->e;
	m->only_sums = true;
	for (uint32_t i = 0; i < m->g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[m->g->nodes.at[i]];
		m->cost += n->cost;
		m->only_sums = m->only_sums && n->row_sum;
		for (int64_t c = 0; n->row_sum && m->rows && c < m->s.combinations; c++) {
			const uint32_t nparts = is_extreme(e, n) ? EXTREME_PARTS : 1;
			for (uint32_t part = 0; part < nparts; part++) {
				AccumulatorGroup sum = {n, c, part ? 0 : nparts};
				VEC_PUSH(e->l->scratch, &m->sums, sum);
				VEC_PUSH(e->l->scratch, &m->init,
				         extreme_identity(e, (Op)node_inst(e->p, n)->op, node_type_of(e, n),
				                          (ExtremePart)part));
			}
		}
	}
}

/* The innermost body: every node at every combination of the unrolled axes.
 * old, next: the sums. */
static void map_body(MapEmit *m, const KRef *old, KRef *next) {
	ArrayEmit *e = m->e;
	KBuilder *k = e->k;
	Index inner[MAX_AXES], at[MAX_AXES];
	uint32_t sum = 0;
	for (uint32_t i = 0; i < m->g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[m->g->nodes.at[i]];
		for (int64_t c = 0; c < m->s.combinations; c++) {
			loops_combination(&m->s, c, inner);
			node_index(n, inner, at);
			if (!n->row_sum) {
				KRef value = element_recomputed(e, n, at);
				if (n->nresult) store_element(e, n, at, value);
				else if (!m->vectors) lower_set_small(e->l, n->ref, 1, &value);
				continue;
			}
			KRef term = term_at(e, n, at);
			if (!m->rows) {
				add_to_partial(e, n, at, term);
				continue;
			}
			Op op = (Op)node_inst(e->p, n)->op;
			for (uint32_t part = 0, nparts = m->sums.at[sum].nparts; part < nparts; part++) {
				KRef combined = nparts > 1 ? extreme_next(e, op, (ExtremePart)part, old[sum], term)
				                           : k_prim2(k, fold_prim(op), old[sum], term);
				next[sum] = k_select(k, k_mask(k), combined, old[sum]);
				sum++;
			}
		}
	}
}

/* Adds the lanes of the sums, after the vector loop, to the chunk's memory. */
static void store_sums(MapEmit *m, const KRef *results) {
	ArrayEmit *e = m->e;
	Index inner[MAX_AXES], at[MAX_AXES];
	for (uint32_t i = 0; i < m->sums.n; i++) {
		const AccumulatorGroup *a = &m->sums.at[i];
		if (!a->nparts) continue;
		loops_combination(&m->s, a->combination, inner);
		node_index(a->n, inner, at);
		KRef parts[EXTREME_PARTS];
		for (uint32_t part = 0; part < a->nparts; part++)
			parts[part] = extreme_fold(e, (Op)node_inst(e->p, a->n)->op, (ExtremePart)part,
			                           results[i + part]);
		add_to_partial(e, a->n, at, a->nparts > 1 ? extreme_result(e, parts) : parts[0]);
	}
}

/* The vector loop, in pieces where that gains something. */
static void map_vectors(MapEmit *m) {
	ArrayEmit *e = m->e;
	KBuilder *k = e->k;
	const LoopGroup *g = m->g;
	const uint32_t nsums = m->sums.n, inside = e->memo.n;
	KRef *params = ARENA_ARRAY(e->l->scratch, KRef, nsums + 1),
		 *next = ARENA_ARRAY(e->l->scratch, KRef, nsums + 1),
		 *results = ARENA_ARRAY(e->l->scratch, KRef, nsums + 1);
	bool *varying = ARENA_ARRAY(e->l->scratch, bool, nsums + 1);
	memset(varying, 1, nsums + 1);
	const bool prefetch = !m->rows && prefetches_next_row(e, g);
	m->length = m->rows ? e->rows : lower_dim(e->l, m->s.dims[m->s.lane]);
	if (!nsums) {
		const KRef head = update_head(e, g, &m->s, m->rows ? (int)ROW_AXIS : m->s.lane, m->length);
		if (e->tiled) overlap_ends(m, head);
		else if (head) cut_head(m, head);
	}
	/* Short bodies that only sum need several vectors in flight. */
	bool several = m->rows && m->only_sums && m->cost <= 6 && !e->r->slot_elements.n;
	uint32_t lanes = (g->wide ? 8u : 16u) * (several ? 4u : 1u);
	uint32_t flags = !several && !nsums && group_pads(e, g) ? KF_PADDED : 0;
	k_vloop_begin(k, lanes, flags, m->length, nsums, m->init.at, varying, params);
	KRef base = m->offset ? k_add(k, m->offset, params[0]) : params[0];
	if (m->rows) lanes_along_rows(e, base);
	else e->axes[m->s.lane] = (Axis){.base = base, .lane = k_int(k, 1)};
	if (prefetch) prefetch_next_row(e, lanes);
	map_body(m, params + 1, next);
	k_vloop_end(k, next, results);
	memo_cut(e, inside);
	store_sums(m, results);
}

void emit_map_group(ArrayEmit *e, const LoopGroup *g) {
	const bool rows = e->r->lanes == LANES_ROWS && e->r->has_row;
	MapEmit m = {.e = e, .g = g, .rows = rows};
	m.s = plan_loops(e, g->naxes, g->axes, rows ? most_combinations(e, g) : UNROLL_COUNT);
	if (!rows && !g->reduces) prefer_last_axis(e, &m.s);
	m.s.lane = rows ? -1 : inner_lane(e, g, &m.s);
	m.vectors = rows || m.s.lane >= 0;
	const uint32_t outermost = e->memo.n;
	open_map_loops(&m);
	if (m.vectors) {
		collect_sums(&m);
		map_vectors(&m);
	} else {
		map_body(&m, NULL, NULL);
	}
	while (m.nopen) close_loop(e, m.mark[--m.nopen]);
	if (e->r->has_row) memo_cut(e, outermost);
}
