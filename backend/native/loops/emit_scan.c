/* emit_scan.c - scans, concats, scatters and guards: groups of a single node.
 *
 * Needs: loops/emit.h.
 *
 * Contract:
 * - A scan runs in order along its axis. Lanes take another axis.
 * - A scatter adds elements that meet in the order of their indices.
 * - An operand of a concat that is stored in place is not copied.
 */
#include "backend/native/loops/emit.h"

/* ---- the loops of one array ---------------------------------------------- */

/* Opens loops over the axes of an array except `skip`, with lanes along the
 * region's rows or the last long axis. */
typedef struct OpenLoops {
	uint32_t n, mark[MAX_AXES + 2];
	bool vector[MAX_AXES + 2];
} OpenLoops;

static void open_vector(ArrayEmit *e, OpenLoops *o, KRef n, bool wide, KRef *base) {
	o->mark[o->n] = e->memo.n;
	o->vector[o->n++] = true;
	k_vloop_begin(e->k, wide ? 8 : 16, 0, n, 0, NULL, NULL, base);
}

static void open_nest(ArrayEmit *e, OpenLoops *o, uint32_t naxes, const Dim *dims, int row,
                      int skip, bool wide, Index *at) {
	bool rows = row >= 0 && e->r->lanes == LANES_ROWS;
	int lane = -1;
	KRef base;
	int64_t v;
	o->n = 0;
	for (int i = (int)naxes - 1; i >= 0 && lane < 0 && !rows; i--)
		if (i != row && i != skip && !dim_number(e->p, dims[i], &v)) lane = i;
	/* The stride between lanes would be the extent of the scanned axis. */
	if (lane >= 0 && skip > lane) lane = -1;
	if (row >= 0 && !rows) {
		o->mark[o->n] = e->memo.n;
		o->vector[o->n++] = false;
		open_row_loop(e);
	}
	if (rows) {
		open_vector(e, o, e->rows, wide, &base);
		lanes_along_rows(e, base);
	}
	uint32_t j = 0;
	for (int i = 0; i < (int)naxes; i++) {
		if (i == row) {
			at[i] = index_axis(ROW_AXIS);
			continue;
		}
		at[i] = index_axis(j);
		if (i != skip && i != lane) {
			o->mark[o->n] = e->memo.n;
			o->vector[o->n++] = false;
			open_loop(e, j, dims[i]);
		}
		j++;
	}
	if (lane >= 0) {
		open_vector(e, o, lower_dim(e->l, dims[lane]), wide, &base);
		e->axes[at[lane].axis] = (Axis){.base = base, .lane = k_int(e->k, 1)};
	}
}

static void close_nest(ArrayEmit *e, OpenLoops *o) {
	while (o->n) {
		o->n--;
		if (o->vector[o->n]) k_vloop_end(e->k, NULL, NULL);
		else k_loop_end(e->k, NULL, NULL);
		memo_cut(e, o->mark[o->n]);
	}
}

/* ---- scans and concats --------------------------------------------------- */

void emit_scan(ArrayEmit *e, const LoopGroup *g, LoopNode *n) {
	KBuilder *k = e->k;
	const Inst *in = node_inst(e->p, n);
	int64_t axis = attr_int(e->l->c, (Op)in->op, in->attr, 0),
			reverse = attr_int(e->l->c, (Op)in->op, in->attr, 1);
	Index at[MAX_AXES];
	OpenLoops o;
	open_nest(e, &o, n->naxes, n->axes, n->row, (int)axis, g->wide, at);
	KRef length = lower_dim(e->l, n->axes[axis]), params[2],
		 sum = identity_of(e, (Op)in->op, node_type_of(e, n));
	if (k->lanes) sum = k_select(k, k_mask(k), sum, sum);
	k_loop_begin(k, k_int(k, 0), length, 1, 1, &sum, params);
	uint32_t mark = e->memo.n;
	KRef i = reverse ? k_sub(k, k_sub(k, length, k_int(k, 1)), params[0]) : params[0];
	at[axis] = (Index){.kind = IX_OTHER, .base = i};
	KRef next =
		k_prim2(k, fold_prim((Op)in->op), params[1], element_at(e, inst_arg(e->l->f, in, 0), at));
	store_element(e, n, at, next);
	k_loop_end(k, &next, &sum);
	memo_cut(e, mark);
	close_nest(e, &o);
}

/* Each operand has its own nest. Along the region's row it has those rows of
 * the block that are its own, perhaps none. */
void emit_join(ArrayEmit *e, const LoopGroup *g, LoopNode *n) {
	const Inst *in = node_inst(e->p, n);
	KBuilder *k = e->k;
	const bool by_rows = joins_rows(e->p, n);
	const KRef start = e->row_start, rows = e->rows;
	int64_t axis = attr_int(e->l->c, OP_CONCAT, in->attr, 0);
	KRef before = k_int(k, 0);
	for (uint32_t j = 0; j < in->nargs; j++) {
		Ref r = inst_arg(e->l->f, in, j);
		Type t = *ref_ty(e->l->f, r);
		Index at[MAX_AXES], to[MAX_AXES];
		OpenLoops o;
		const LoopNode *part = plan_node(e->p, r);
		const KRef end = k_add(k, before, lower_dim(e->l, t.dims[axis]));
		/* It is already in place. */
		if (part && part->stored_in && &e->p->nodes.at[part->stored_in - 1] == n &&
		    join_place(e->p, n, r) == j) {
			before = end;
			continue;
		}
		if (by_rows) {
			const KRef from = k_max(k, start, before),
					   to_row = k_min(k, k_add(k, start, rows), end);
			e->row_start = k_sub(k, from, before);
			e->rows = k_max(k, k_int(k, 0), k_sub(k, to_row, from));
		}
		open_nest(e, &o, t.rank, t.dims, n->row, -1, g->wide, at);
		KRef value = element_at(e, r, at);
		memcpy(to, at, sizeof to);
		to[axis] = (Index){.kind = IX_OTHER,
		                   .base = k_add(k, index_base(&e->ix, at[axis]), before),
		                   .lane = index_lane(&e->ix, at[axis])};
		store_element(e, n, to, value);
		close_nest(e, &o);
		before = end;
	}
	e->row_start = start;
	e->rows = rows;
}

/* ---- scatters ------------------------------------------------------------ */

#define SCATTER_WORK (1 << 15) /* elements for one chunk */
/* At most, since each chunk reads all indices. */
#define SCATTER_PARTS 2

void emit_scatter(ArrayEmit *e, const LoopGroup *g, LoopNode *n) {
	KBuilder *k = e->k;
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	Ref x = inst_arg(f, in, 0), which = inst_arg(f, in, 1), update = inst_arg(f, in, 2);
	int64_t axis = attr_int(e->l->c, (Op)in->op, in->attr, 0),
			batch = attr_int(e->l->c, (Op)in->op, in->attr, 1);
	KRef to = node_memory(e, n), from;
	Index at[MAX_AXES];
	OpenLoops o;
	if (!in_memory(e, x, &from) || from != to) {
		open_nest(e, &o, n->nresult, n->axes, -1, -1, g->wide, at);
		store_memory(e, n, at, element_at(e, x, at));
		close_nest(e, &o);
	}
	/* Elements are processed in order, except along the rows that are written
	 * whole. */
	Type u = *ref_ty(f, update), index_type = *ref_ty(f, which);
	uint32_t extra = index_type.rank - (uint32_t)batch, first_tail = (uint32_t)axis + extra;
	bool tail = u.rank > first_tail;
	uint32_t nopen = 0, mark[MAX_AXES];
	int lane = tail ? (int)u.rank - 1 : -1;
	/* Each chunk reads all indices and writes the positions in its own range.
	 * Elements that meet are thus added in their order. */
	KRef work = k_int(k, 1), one = k_int(k, 1), length = lower_dim(e->l, n->axes[axis]);
	double expected = 1;
	for (uint32_t i = 0; i < u.rank; i++) {
		work = k_mul(k, work, lower_dim(e->l, u.dims[i]));
		expected *= (double)lower_hint(e->l, u.dims[i], 1);
	}
	const bool parted = expected >= 2 * SCATTER_WORK;
	KRef nparts =
		k_max(k, one, k_min(k, k_int(k, SCATTER_PARTS), k_shift(k, 1, work, k_int(k, 15))));
	_Static_assert(SCATTER_WORK == 1 << 15, "the shift above");
	const uint32_t outside_mark = e->memo.n;
	KRef part = parted ? k_parallel_begin(k, nparts) : k_int(k, 0);
	KRef from_row = parted ? k_prim2(k, OP_FLOORDIV, k_mul(k, part, length), nparts) : 0;
	KRef to_row =
		parted ? k_prim2(k, OP_FLOORDIV, k_mul(k, k_add(k, part, one), length), nparts) : 0;
	Index i_at[MAX_RANK], x_at[MAX_RANK];
	for (uint32_t i = 0; i < u.rank; i++) at[i] = index_axis(i);
	for (uint32_t i = 0; i < u.rank; i++) {
		if ((int)i == lane) continue;
		mark[nopen++] = e->memo.n;
		open_loop(e, i, u.dims[i]);
	}
	for (uint32_t i = 0; i < index_type.rank; i++)
		i_at[i] = i < batch ? at[i] : at[(uint32_t)axis + i - (uint32_t)batch];
	KRef row = k_convert(k, element_at(e, which, i_at), KT_I64);
	KRef outside = k_logic(k, 1, k_lt(k, row, k_int(k, 0)), k_prim2(k, OP_LE, length, row));
	k_fail_if(k, outside, lower_site(e->l, SITE_INDEX, in), row, length);
	uint32_t vmark = e->memo.n;
	if (parted)
		k_if_begin(k, k_logic(k, 0, k_prim2(k, OP_LE, from_row, row), k_lt(k, row, to_row)), 0);
	KRef base;
	if (lane >= 0) {
		k_vloop_begin(k, g->wide ? 8 : 16, 0, lower_dim(e->l, u.dims[lane]), 0, NULL, NULL, &base);
		e->axes[lane] = (Axis){.base = base, .lane = k_int(k, 1)};
	}
	for (uint32_t i = 0; i < n->nresult; i++)
		x_at[i] = i == axis  ? (Index){.kind = IX_OTHER, .base = row}
		          : i < axis ? at[i]
		                     : at[i - 1 + extra];
	KRef value = element_at(e, update, at);
	if (in->op == OP_SCATTER_ADD) {
		KRef stride[MAX_RANK], where = k_int(k, 0);
		Type t = *ref_ty(f, n->ref);
		memory_strides(e, &t, stride);
		for (uint32_t i = 0; i < n->nresult; i++)
			where = k_add(k, where, k_mul(k, index_base(&e->ix, x_at[i]), stride[i]));
		KRef old = k_load(k, node_type_of(e, n), lane >= 0 ? KM_UNIT : KM_UNIFORM, to, where, 0);
		value = k_add(k, old, value);
	}
	store_memory(e, n, x_at, value);
	if (lane >= 0) k_vloop_end(k, NULL, NULL);
	if (lane >= 0 || parted) memo_cut(e, vmark);
	if (parted) {
		k_if_else(k, 0, NULL);
		k_if_end(k, NULL, NULL);
	}
	while (nopen) close_loop(e, mark[--nopen]);
	if (!parted) return;
	k_parallel_end(k);
	memo_cut(e, outside_mark);
}

/* ---- guards and copies --------------------------------------------------- */

void emit_guard(ArrayEmit *e, const LoopNode *n) {
	const Inst *in = node_inst(e->p, n);
	KRef a = lower_dim(e->l, (Dim)attr_int(e->l->c, OP_GUARD, in->attr, 0)),
		 b = lower_dim(e->l, (Dim)attr_int(e->l->c, OP_GUARD, in->attr, 1));
	k_fail_if(e->k, k_not(e->k, k_prim2(e->k, OP_EQ, a, b)), lower_site(e->l, SITE_GUARD, in), a,
	          b);
}

void copy_to_memory(ArrayEmit *e, LoopNode *n) {
	Index at[MAX_AXES];
	OpenLoops o;
	open_nest(e, &o, n->nresult, n->axes, n->row, -1, true, at);
	KRef value = element_at(e, n->ref, at);
	store_memory(e, n, at, value);
	close_nest(e, &o);
}
