/* emit_loops.c - the loops of a group: unrolled axes, open loops, the axis of
 * the lanes.
 *
 * Needs: loops/emit.h.
 *
 * Contract:
 * - Axes of fixed extent are unrolled while the body stays small. The other
 *   axes are loops, one of them perhaps with lanes.
 * - A loop's memoised values are dropped when it closes.
 */
#include "backend/native/loops/emit.h"

Loops plan_loops(ArrayEmit *e, uint32_t naxes, const Dim *dims, int64_t most) {
	Loops s = {.naxes = naxes, .dims = dims, .combinations = 1, .lane = -1};
	for (uint32_t i = naxes; i-- > 0;) {
		s.fixed[i] =
			dim_number(e->p, dims[i], &s.length[i]) && s.combinations * s.length[i] <= most;
		if (s.fixed[i]) s.combinations *= s.length[i];
	}
	return s;
}

void loops_combination(const Loops *s, int64_t c, Index *at) {
	for (uint32_t i = s->naxes; i-- > 0;) {
		if (!s->fixed[i]) {
			at[i] = index_axis(i);
			continue;
		}
		const int64_t length = s->length[i] > 0 ? s->length[i] : 1;
		at[i] = index_number(c % length);
		c /= length;
	}
}

void open_loop(ArrayEmit *e, uint32_t axis, Dim length) {
	KRef i;
	k_loop_begin(e->k, k_int(e->k, 0), lower_dim(e->l, length), 1, 0, NULL, &i);
	e->axes[axis] = (Axis){.base = i};
}

void close_loop(ArrayEmit *e, uint32_t mark) {
	k_loop_end(e->k, NULL, NULL);
	memo_cut(e, mark);
}

void open_row_loop(ArrayEmit *e) {
	KRef i;
	k_loop_begin(e->k, k_int(e->k, 0), e->rows, 1, 0, NULL, &i);
	e->row_local = i;
	e->axes[ROW_AXIS] = (Axis){.base = k_add(e->k, e->row_start, i)};
}

void open_group_rows(ArrayEmit *e, const LoopGroup *g) {
	open_row_loop(e);
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->kind == NODE_UPDATE) emit_row_border(e, n);
	}
}

void lanes_along_rows(ArrayEmit *e, KRef base) {
	e->row_local = base;
	e->axes[ROW_AXIS] = (Axis){.base = k_add(e->k, e->row_start, base), .lane = k_int(e->k, 1)};
}

void node_index(const LoopNode *n, const Index *inner, Index *at) {
	uint32_t j = 0;
	for (uint32_t i = 0; i < n->naxes; i++)
		at[i] = (int)i == n->row ? index_axis(ROW_AXIS) : inner[j++];
}

/* ---- lanes --------------------------------------------------------------- */

uint32_t first_reduced(const ArrayEmit *e, const LoopGroup *g) {
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		uint32_t result = 0, reduced = 0;
		for (uint32_t j = 0; j < n->naxes; j++)
			if ((int)j != n->row) {
				if (j < n->nresult) result++;
				else reduced++;
			}
		if (reduced) return result;
	}
	return g->naxes;
}

int inner_lane(ArrayEmit *e, const LoopGroup *g, const Loops *s) {
	int last = -1;
	for (uint32_t i = 0; i < s->naxes; i++)
		if (!s->fixed[i]) last = (int)i;
	if (last < 0 || !g->nodes.n) return -1;
	const LoopNode *n = &e->p->nodes.at[g->nodes.at[0]];
	const Inst *in = node_inst(e->p, n);
	Index at[MAX_AXES], x[MAX_RANK], y[MAX_RANK], inner[MAX_AXES];
	for (uint32_t i = 0; i < s->naxes; i++) inner[i] = index_axis(i);
	node_index(n, inner, at);
	bool argmax = false;
	for (uint32_t i = 0; i < g->nodes.n; i++)
		argmax = argmax || node_inst(e->p, &e->p->nodes.at[g->nodes.at[i]])->op == OP_ARGMAX;
	if (n->kind == NODE_REDUCE && n->naxes > n->nresult) {
		uint32_t rank = ref_ty(e->l->f, inst_arg(e->l->f, in, 0))->rank;
		if (in->op == OP_DOT) {
			uint32_t yrank = ref_ty(e->l->f, inst_arg(e->l->f, in, 1))->rank;
			dot_indices(e->p, in, at, x, y);
			/* The second operand's last axis, which is the result's last,
			 * unless it is the row. */
			if (yrank && y[yrank - 1].kind == IX_AXIS && y[yrank - 1].axis != ROW_AXIS &&
			    !s->fixed[y[yrank - 1].axis])
				return (int)y[yrank - 1].axis;
		} else {
			reduce_index(e->p, in, at, x);
		}
		if (rank && x[rank - 1].kind == IX_AXIS && x[rank - 1].axis != ROW_AXIS &&
		    !s->fixed[x[rank - 1].axis])
			last = (int)x[rank - 1].axis;
	}
	/* Positions are compared in order, so lanes may not run along the reduced
	 * axis. */
	if (argmax && last >= (int)first_reduced(e, g)) return -1;
	return last;
}

/* Memory would idle while a row is processed in the cache. The first loop along
 * the row after others have read it therefore prefetches the next row. */
bool prefetches_next_row(ArrayEmit *e, const LoopGroup *g) {
	return e->row_reads.n && g != &e->r->groups.at[0] && goes_along_row(e, g);
}

/* ---- may lanes run past the end? ----------------------------------------- */

/* With lanes along the rows: true when no inlined operand reads memory with a
 * stride from row to row, or at computed positions. */
static bool tree_pads(ArrayEmit *e, Ref r);

static bool inst_pads(ArrayEmit *e, const Inst *in) {
	if (in->op == OP_GATHER || in->op == OP_PAD || in->op == OP_RESHAPE || in->op == OP_SLICE ||
	    in->op == OP_UPDATE)
		return false;
	for (uint32_t k = 0; k < in->nargs; k++)
		if (!tree_pads(e, inst_arg(e->l->f, in, k))) return false;
	return true;
}

static bool tree_pads(ArrayEmit *e, Ref r) {
	Value scalar;
	if (ref_splat(e->l->f, r, &scalar)) return true;
	const LoopNode *n = plan_node(e->p, r);
	const Type *t = ref_ty(e->l->f, r);
	if (n && !n->materialised) return inst_pads(e, node_inst(e->p, n));
	if (n && n->region == (uint32_t)(e->r - e->p->regions.at) && uses_scratch(e, n)) return true;
	if (t->rank <= 1 || transposed_copy_of(e, r)) return true;
	for (uint32_t i = 0; i < t->rank; i++)
		if (t->dims[i] == e->r->row) return false;
	return true;
}

bool group_pads(ArrayEmit *e, const LoopGroup *g) {
	if (e->r->lanes != LANES_ROWS) return false;
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->memory && !n->row_sum && n->nresult > 1) return false;
		if (!inst_pads(e, node_inst(e->p, n))) return false;
	}
	return true;
}

/* ---- elements ------------------------------------------------------------ */

KType node_type_of(const ArrayEmit *e, const LoopNode *n) {
	return ktype_of((Dtype)ref_ty(e->l->f, n->ref)->dtype);
}

KRef result_count(ArrayEmit *e, const LoopNode *n) {
	KRef count = k_int(e->k, 1);
	for (uint32_t i = 0; i < n->nresult; i++)
		count = k_mul(e->k, count, lower_dim(e->l, n->axes[i]));
	return count;
}

void store_element(ArrayEmit *e, LoopNode *n, const Index *at, KRef value) {
	Index whole[MAX_RANK];
	if (n->kind == NODE_UPDATE) {
		box_index(e, n, at, whole);
		store_memory(e, n, whole, value);
		return;
	}
	if (uses_scratch(e, n)) store_scratch(e, n, at, value);
	if (n->memory && n->nresult) store_memory(e, n, at, value);
}
