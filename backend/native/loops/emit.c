/* emit.c - emission of an array plan: regions as parallel loops over blocks of
 * rows, groups of nests in them, and sums over the rows.
 *
 * Needs: loops/loops.h.
 *
 * Contract:
 * - The computation depends on extents, not on the number of threads.
 * - Nothing is allocated inside loops.
 * - A store reaches only elements of its array, or padding that belongs to it.
 * - Every loop body is written as for one element. The vector loops of the
 *   kernel IR make lanes of it.
 */
#include "backend/native/loops/loops.h"

/* ---- open loops ---------------------------------------------------------- */

/* Loops over inner axes of a group. Axes of fixed extent are unrolled in the
 * innermost body while it stays small. */
#define FEW_LANES 8 /* fewer elements are not worth a vector */

typedef struct Loops {
	uint32_t naxes;
	const Dim *dims;
	bool fixed[MAX_AXES]; /* unrolled */
	int64_t length[MAX_AXES];
	int64_t combinations; /* of the unrolled axes' indices */
	int lane;             /* the axis of the lanes; -1: the row, or none */
} Loops;

static Loops plan_loops(ArrayEmit *e, uint32_t naxes, const Dim *dims, int64_t most) {
	Loops s = {.naxes = naxes, .dims = dims, .combinations = 1, .lane = -1};
	for (uint32_t i = naxes; i-- > 0;) {
		s.fixed[i] =
			dim_number(e->p, dims[i], &s.length[i]) && s.combinations * s.length[i] <= most;
		if (s.fixed[i]) s.combinations *= s.length[i];
	}
	return s;
}

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

/* Combination c of indices of the unrolled axes; the other axes are open loops.
 * An axis of extent 0 counts as one of extent 1, so that a sum over it has an
 * accumulator. */
static void combination(const Loops *s, int64_t c, Index *at) {
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

static void open_loop(ArrayEmit *e, uint32_t axis, Dim length) {
	KRef i;
	k_loop_begin(e->k, k_int(e->k, 0), lower_dim(e->l, length), 1, 0, NULL, &i);
	e->axes[axis] = (Axis){.base = i};
}

static void close_loop(ArrayEmit *e, uint32_t mark) {
	k_loop_end(e->k, NULL, NULL);
	e->memo.n = mark;
}

static void open_row_loop(ArrayEmit *e) {
	KRef i;
	k_loop_begin(e->k, k_int(e->k, 0), e->rows, 1, 0, NULL, &i);
	e->row_local = i;
	e->axes[ROW_AXIS] = (Axis){.base = k_add(e->k, e->row_start, i)};
}

/* The same for a group, with the borders of its updates. */
static void open_group_rows(ArrayEmit *e, const LoopGroup *g) {
	open_row_loop(e);
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->kind == NODE_UPDATE) emit_row_border(e, n);
	}
}

static void lanes_along_rows(ArrayEmit *e, KRef base) {
	e->row_local = base;
	e->axes[ROW_AXIS] = (Axis){.base = k_add(e->k, e->row_start, base), .lane = k_int(e->k, 1)};
}

/* A node's index from that of its group: inserts the row, if the node has
 * it. */
static void node_index(const LoopNode *n, const Index *inner, Index *at) {
	uint32_t j = 0;
	for (uint32_t i = 0; i < n->naxes; i++)
		at[i] = (int)i == n->row ? index_axis(ROW_AXIS) : inner[j++];
}

/* ---- sums over the rows -------------------------------------------------- */

KType node_type_of(const ArrayEmit *e, const LoopNode *n) {
	return ktype_of((Dtype)ref_ty(e->l->f, n->ref)->dtype);
}

static KRef result_count(ArrayEmit *e, const LoopNode *n) {
	KRef count = k_int(e->k, 1);
	for (uint32_t i = 0; i < n->nresult; i++)
		count = k_mul(e->k, count, lower_dim(e->l, n->axes[i]));
	return count;
}

KRef partial_of(ArrayEmit *e, const LoopNode *n) {
	KRef all = e->l->slots.at[n->partial - 1].pointer;
	return k_ptradd(e->k, all, k_mul(e->k, e->part, result_count(e, n)),
	                ktype_size(node_type_of(e, n)));
}

static Op join_prim(const ArrayEmit *e, const LoopNode *n) {
	return fold_prim((Op)node_inst(e->p, n)->op);
}

/* Exact extremes of floats (NaN wins, +0 is above -0) for a plain comparison
 * and three bitwise operations an element. Three values are accumulated: the
 * extreme, ignoring NaN and the signs of zeros; the combined sign bits, needed
 * only for a result of zero; and a flag for NaN. The result is assembled at the
 * end. */
typedef enum ExtremePart { EXTREME_VALUE, EXTREME_SIGNS, EXTREME_NAN, EXTREME_PARTS } ExtremePart;

static bool is_extreme(const ArrayEmit *e, const LoopNode *n) {
	Op op = (Op)node_inst(e->p, n)->op;
	KType t = node_type_of(e, n);
	return (op == OP_REDUCE_MAX || op == OP_REDUCE_MIN) && (t == KT_F64 || t == KT_F32);
}

static KType extreme_type(KType t, ExtremePart part) {
	return part == EXTREME_VALUE ? t : t == KT_F64 ? KT_I64 : KT_I32;
}

static KRef extreme_identity(ArrayEmit *e, Op op, KType t, ExtremePart part) {
	if (part == EXTREME_VALUE) return identity_of(e, op, t);
	return k_const(e->k, extreme_type(t, part),
	               part == EXTREME_SIGNS && op == OP_REDUCE_MAX ? -1 : 0);
}

static KRef extreme_next(ArrayEmit *e, Op op, ExtremePart part, KRef old, KRef x) {
	KBuilder *k = e->k;
	bool max = op == OP_REDUCE_MAX;
	KType bits = extreme_type(k_type(k, x), part);
	switch (part) {
	case EXTREME_VALUE: return k_select(k, max ? k_lt(k, old, x) : k_lt(k, x, old), x, old);
	case EXTREME_SIGNS: return k_logic(k, max ? 0 : 1, old, k_bitcast(k, x, bits));
	default:
		return k_logic(
			k, 1, old,
			k_select(k, k_prim2(k, OP_EQ, x, x), k_const(k, bits, 0), k_const(k, bits, -1)));
	}
}

/* Combines two accumulators, or (extreme_fold) the lanes of one. Of the bits
 * only the sign counts. */
static KRef extreme_join(ArrayEmit *e, Op op, ExtremePart part, KRef x, KRef y) {
	if (part == EXTREME_VALUE) return k_prim2(e->k, fold_prim(op), x, y);
	return k_logic(e->k, part == EXTREME_SIGNS && op == OP_REDUCE_MAX ? 0 : 1, x, y);
}

static KRef extreme_fold(ArrayEmit *e, Op op, ExtremePart part, KRef x) {
	if (part == EXTREME_VALUE) return k_reduce_lanes(e->k, fold_prim(op), x);
	return k_reduce_lanes(e->k, part == EXTREME_SIGNS && op == OP_REDUCE_MAX ? OP_MAX : OP_MIN, x);
}

static KRef extreme_result(ArrayEmit *e, const KRef *parts) {
	KBuilder *k = e->k;
	KType t = k_type(k, parts[EXTREME_VALUE]);
	KRef zero = k_const(k, extreme_type(t, EXTREME_SIGNS), 0);
	KRef signed_zero =
		k_select(k, k_lt(k, parts[EXTREME_SIGNS], zero), k_const(k, t, -0.0), k_const(k, t, 0));
	KRef value = k_select(k, k_prim2(k, OP_EQ, parts[EXTREME_VALUE], k_const(k, t, 0)), signed_zero,
	                      parts[EXTREME_VALUE]);
	return k_select(k, k_lt(k, parts[EXTREME_NAN], zero), k_const(k, t, __builtin_nan("")), value);
}

/* Reduces a varying value over the active lanes. */
static KRef fold_lanes(ArrayEmit *e, const LoopNode *n, KRef value, bool mask) {
	if (!k_lanes_of(e->k, value)) return value;
	Op op = (Op)node_inst(e->p, n)->op;
	if (mask) value = k_select(e->k, k_mask(e->k), value, identity_of(e, op, node_type_of(e, n)));
	return k_reduce_lanes(e->k, fold_prim(op), value);
}

/* partial[at] = partial[at] op value. */
static void add_to_partial(ArrayEmit *e, const LoopNode *n, const Index *at, KRef value) {
	KBuilder *k = e->k;
	KType t = node_type_of(e, n);
	KRef stride[MAX_RANK], base = k_int(k, 0), lane = 0;
	Type type = *ref_ty(e->l->f, n->ref);
	memory_strides(e, &type, stride);
	for (uint32_t i = 0; i < n->nresult; i++) {
		base = k_add(k, base, k_mul(k, index_base(&e->ix, at[i]), stride[i]));
		KRef step = index_lane(&e->ix, at[i]);
		if (step) lane = k_mul(k, step, stride[i]);
	}
	KRef to = partial_of(e, n);
	int64_t one;
	if (!lane) {
		if (k_lanes_of(k, value)) value = fold_lanes(e, n, value, true);
		KRef old = k_load(k, t, KM_UNIFORM, to, base, 0);
		k_store(k, KM_UNIFORM, to, base, k_prim2(k, join_prim(e, n), old, value), 0);
		return;
	}
	KMode mode = k_is_int(k, lane, &one) && one == 1 ? KM_UNIT : KM_STRIDED;
	KRef old = k_load(k, t, mode, to, base, lane);
	k_store(k, mode, to, base, k_prim2(k, join_prim(e, n), old, value), lane);
}

static void clear_partial(ArrayEmit *e, const LoopNode *n) {
	KBuilder *k = e->k;
	Op op = (Op)node_inst(e->p, n)->op;
	KType t = node_type_of(e, n);
	KRef to = partial_of(e, n), count = result_count(e, n), i;
	k_loop_begin(k, k_int(k, 0), count, 1, 0, NULL, &i);
	k_store(k, KM_UNIFORM, to, i, identity_of(e, op, t), 0);
	k_loop_end(k, NULL, NULL);
}

/* Combines the chunks' sums in order. */
static void join_partials(ArrayEmit *e, const LoopNode *n, KRef nparts) {
	KBuilder *k = e->k;
	KType t = node_type_of(e, n);
	KRef from = e->l->slots.at[n->partial - 1].pointer, count = result_count(e, n);
	KRef init = identity_of(e, (Op)node_inst(e->p, n)->op, t), params[2], sum;
	if (!n->nresult) {
		k_loop_begin(k, k_int(k, 0), nparts, 1, 1, &init, params);
		KRef next =
			k_prim2(k, join_prim(e, n), params[1], k_load(k, t, KM_UNIFORM, from, params[0], 0));
		k_loop_end(k, &next, &sum);
		lower_set_small(e->l, n->ref, 1, &sum);
		return;
	}
	KRef to = node_memory(e, n), base;
	uint32_t lanes = ktype_size(t) == 8 ? 8 : 16;
	k_vloop_begin(k, lanes, 0, count, 0, NULL, NULL, &base);
	KRef inner[2];
	/* The sums of the next chunk are `count` elements further. */
	KRef spread = k_select(k, k_mask(k), init, init);
	k_loop_begin(k, k_int(k, 0), nparts, 1, 1, &spread, inner);
	KRef at = k_add(k, k_mul(k, inner[0], count), base);
	KRef next = k_prim2(k, join_prim(e, n), inner[1], k_load(k, t, KM_UNIT, from, at, 0));
	k_loop_end(k, &next, &sum);
	k_store(k, KM_UNIT, to, base, sum, 0);
	k_vloop_end(k, NULL, NULL);
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

static bool group_pads(ArrayEmit *e, const LoopGroup *g) {
	if (e->r->lanes != LANES_ROWS) return false;
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->memory && !n->row_sum && n->nresult > 1) return false;
		if (!inst_pads(e, node_inst(e->p, n))) return false;
	}
	return true;
}

/* ---- groups without inner reductions ------------------------------------- */

typedef struct AccumulatorGroup {
	LoopNode *n;
	int64_t combination;
	/* Number of accumulators: EXTREME_PARTS for an extreme; 0 marks those after
	 * its first. */
	uint32_t nparts;
} AccumulatorGroup;

static void keep(ArrayEmit *e, LoopNode *n, const Index *at, KRef value) {
	Index whole[MAX_RANK];
	if (n->kind == NODE_UPDATE) {
		box_index(e, n, at, whole);
		store_memory(e, n, whole, value);
		return;
	}
	if (uses_scratch(e, n)) store_scratch(e, n, at, value);
	if (n->memory && n->nresult) store_memory(e, n, at, value);
}

/* The operand of a sum over the rows, at the nest's index; for a contraction
 * the product of its operands. */
static KRef term_at(ArrayEmit *e, LoopNode *n, const Index *at) {
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	Index x[MAX_RANK], y[MAX_RANK];
	if (in->op == OP_DOT) {
		dot_indices(e->p, in, at, x, y);
		return k_mul(e->k, element_at(e, inst_arg(f, in, 0), x),
		             element_at(e, inst_arg(f, in, 1), y));
	}
	reduce_index(e->p, in, at, x);
	return element_at(e, inst_arg(f, in, 0), x);
}

/* The first of the group's axes that is reduced. Reduced axes are the last ones
 * of any node that reduces. */
static uint32_t first_reduced(const ArrayEmit *e, const LoopGroup *g) {
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

/* The axis along which memory is contiguous for most of the group: the last
 * axis of the array of the first node, or of its operand if it reduces. */
static int inner_lane(ArrayEmit *e, const LoopGroup *g, const Loops *s) {
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
		combination(s, 0, inner);
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

/* Memory would idle while a row is processed in the cache. The first loop along
 * the row after others have read it therefore prefetches the next row. */
static bool prefetches_next_row(ArrayEmit *e, const LoopGroup *g) {
	return e->row_reads.n && g != &e->r->groups.at[0] && goes_along_row(e, g);
}

/* Axes are unrolled while the sums over the rows, one for each combination,
 * stay in registers. */
static int64_t most_combinations(const ArrayEmit *e, const LoopGroup *g) {
	enum { SUMS = 8 };
	int64_t sums = 0;
	for (uint32_t i = 0; i < g->nodes.n; i++) sums += e->p->nodes.at[g->nodes.at[i]].row_sum;
	return !sums ? UNROLL_COUNT : sums < SUMS ? SUMS / sums : 1;
}

static void emit_map_group(ArrayEmit *e, const LoopGroup *g) {
	KBuilder *k = e->k;
	bool rows = e->r->lanes == LANES_ROWS && e->r->has_row;
	Loops s = plan_loops(e, g->naxes, g->axes, rows ? most_combinations(e, g) : UNROLL_COUNT);
	if (!rows && !g->reduces) prefer_last_axis(e, &s);
	s.lane = rows ? -1 : inner_lane(e, g, &s);
	uint32_t outermost = e->memo.n, nopen = 0, mark[MAX_AXES + 1];
	if (!rows && e->r->has_row) {
		mark[nopen++] = e->memo.n;
		open_group_rows(e, g);
	}
	for (uint32_t i = e->outer_fusion ? 1 : 0; i < s.naxes; i++) {
		if (s.fixed[i] || (int)i == s.lane) continue;
		mark[nopen++] = e->memo.n;
		open_loop(e, i, s.dims[i]);
	}
	/* Sums over the rows stay in registers while the lanes run along the
	 * rows. */
	VEC(AccumulatorGroup) sums = {0};
	VEC(KRef) init = {0};
	uint32_t cost = 0;
	bool only_sums = true;
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		cost += n->cost;
		only_sums = only_sums && n->row_sum;
		for (int64_t c = 0; n->row_sum && rows && c < s.combinations; c++) {
			AccumulatorGroup sum = {n, c, is_extreme(e, n) ? EXTREME_PARTS : 1};
			for (uint32_t part = 0; part < sum.nparts; part++) {
				AccumulatorGroup s1 = {n, c, part ? 0 : sum.nparts};
				VEC_PUSH(e->l->scratch, &sums, s1);
				VEC_PUSH(e->l->scratch, &init,
				         extreme_identity(e, (Op)node_inst(e->p, n)->op, node_type_of(e, n),
				                          (ExtremePart)part));
			}
		}
	}
	bool vectors = rows || s.lane >= 0;
	KRef *params = ARENA_ARRAY(e->l->scratch, KRef, sums.n + 1),
		 *next = ARENA_ARRAY(e->l->scratch, KRef, sums.n + 1);
	bool *varying = ARENA_ARRAY(e->l->scratch, bool, sums.n + 1);
	memset(varying, 1, sums.n + 1);
	uint32_t inside = e->memo.n;
	const bool prefetch = vectors && !rows && prefetches_next_row(e, g);
	KRef length = !vectors ? 0
	              : rows   ? e->rows
	                       : lower_dim(e->l, s.dims[s.lane]),
		 head = 0, offset = 0;
	if (vectors && !sums.n) head = update_head(e, g, &s, rows ? (int)ROW_AXIS : s.lane, length);
	const int64_t whole = g->wide ? 8 : 16;
	/* Nothing written is read, so elements may be computed twice: whole vectors
	 * at both ends instead of masks. */
	if (e->tiled && vectors && !sums.n) {
		enum { FIRST, MIDDLE, LAST };
		KRef iteration;
		if (!head) head = k_int(k, 0);
		mark[nopen++] = e->memo.n;
		k_loop_begin(k, k_int(k, FIRST), k_int(k, LAST + 1), 1, 0, NULL, &iteration);
		const KRef zero = k_int(k, 0), vector = k_int(k, whole),
				   first = k_prim2(k, OP_EQ, iteration, zero),
				   last = k_lt(k, k_int(k, MIDDLE), iteration);
		const KRef fits = k_prim2(k, OP_LE, vector, length), rest = k_sub(k, length, head),
				   inside = k_logic(k, 0, rest, k_int(k, -whole));
		const KRef before =
			k_select(k, fits, k_select(k, k_lt(k, zero, head), vector, zero), length);
		const KRef behind = k_select(k, k_logic(k, 0, fits, k_lt(k, inside, rest)), vector, zero);
		offset = k_select(k, first, zero,
		                  k_select(k, last, k_max(k, zero, k_sub(k, length, vector)), head));
		length =
			k_select(k, first, before, k_select(k, last, behind, k_select(k, fits, inside, zero)));
	} else if (head) {
		/* Two iterations: up to the first whole cache line of the result, then
		 * the remainder. */
		KRef iteration;
		mark[nopen++] = e->memo.n;
		k_loop_begin(k, k_int(k, 0), k_int(k, 2), 1, 0, NULL, &iteration);
		KRef first = k_prim2(k, OP_EQ, iteration, k_int(k, 0));
		offset = k_select(k, first, k_int(k, 0), head);
		length = k_select(k, first, head, k_sub(k, length, head));
	}
	if (vectors) {
		/* Short bodies that only sum need several vectors in flight. */
		bool several = rows && only_sums && cost <= 6 && !e->r->slot_elements.n;
		uint32_t lanes = (uint32_t)whole * (several ? 4u : 1u);
		uint32_t flags = !several && !sums.n && group_pads(e, g) ? KF_PADDED : 0;
		k_vloop_begin(k, lanes, flags, length, sums.n, init.at, varying, params);
		KRef base = head ? k_add(k, offset, params[0]) : params[0];
		if (rows) lanes_along_rows(e, base);
		else e->axes[s.lane] = (Axis){.base = base, .lane = k_int(k, 1)};
		if (prefetch) prefetch_next_row(e, lanes);
	}
	Index inner[MAX_AXES], at[MAX_AXES];
	uint32_t sum = 0;
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		for (int64_t c = 0; c < s.combinations; c++) {
			combination(&s, c, inner);
			node_index(n, inner, at);
			if (!n->row_sum) {
				KRef value = element_recomputed(e, n, at);
				if (n->nresult) keep(e, n, at, value);
				else if (!vectors) lower_set_small(e->l, n->ref, 1, &value);
				continue;
			}
			KRef term = term_at(e, n, at);
			if (!rows) {
				add_to_partial(e, n, at, term);
				continue;
			}
			Op op = (Op)node_inst(e->p, n)->op;
			for (uint32_t part = 0, nparts = sums.at[sum].nparts; part < nparts; part++) {
				KRef old = params[1 + sum];
				KRef combined = nparts > 1 ? extreme_next(e, op, (ExtremePart)part, old, term)
				                           : k_prim2(k, fold_prim(op), old, term);
				next[sum++] = k_select(k, k_mask(k), combined, old);
			}
		}
	}
	if (vectors) {
		KRef *results = ARENA_ARRAY(e->l->scratch, KRef, sums.n + 1);
		k_vloop_end(k, next, results);
		e->memo.n = inside;
		for (uint32_t i = 0; i < sums.n; i++) {
			LoopNode *n = sums.at[i].n;
			if (!sums.at[i].nparts) continue;
			combination(&s, sums.at[i].combination, inner);
			node_index(n, inner, at);
			KRef parts[EXTREME_PARTS];
			for (uint32_t part = 0; part < sums.at[i].nparts; part++)
				parts[part] = extreme_fold(e, (Op)node_inst(e->p, n)->op, (ExtremePart)part,
				                           results[i + part]);
			add_to_partial(e, n, at, sums.at[i].nparts > 1 ? extreme_result(e, parts) : parts[0]);
		}
	}
	while (nopen) close_loop(e, mark[--nopen]);
	if (e->r->has_row) e->memo.n = outermost;
}

/* ---- groups that reduce inner axes --------------------------------------- */

typedef struct Accumulator {
	LoopNode *n;
	int64_t combination; /* of the unrolled result axes */
	/* Of several accumulators: ExtremePart; for argmax 0 is the value and 1 its
	 * position. */
	uint32_t part;
} Accumulator;

typedef struct ReduceEmit {
	ArrayEmit *e;
	const LoopGroup *g;
	const Loops *s;
	uint32_t from; /* first reduced axis */
	VEC(Accumulator) accs;
	/* Combinations of unrolled result axes, and of unrolled reduced axes; the
	 * step from one of the former to the next. */
	int64_t outs, ins, step;
} ReduceEmit;

static int64_t fixed_product(const Loops *s, uint32_t from, uint32_t to) {
	int64_t n = 1;
	for (uint32_t i = from; i < to; i++)
		if (s->fixed[i]) n *= s->length[i];
	return n;
}

/* One iteration of the innermost body: every node at every combination of the
 * unrolled axes. */
static void reduce_iteration(ReduceEmit *r, const KRef *old, KRef *next, bool mask) {
	ArrayEmit *e = r->e;
	KBuilder *k = e->k;
	Index inner[MAX_AXES], at[MAX_AXES];
	for (uint32_t i = 0; i < r->g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[r->g->nodes.at[i]];
		if (n->naxes > n->nresult + (n->row_sum ? 1u : 0u)) continue;
		for (int64_t c = 0; c < r->s->combinations; c++) {
			combination(r->s, c, inner);
			node_index(n, inner, at);
			if (n->row_sum) {
				add_to_partial(e, n, at, term_at(e, n, at));
				continue;
			}
			KRef value = element_recomputed(e, n, at);
			keep(e, n, at, value);
		}
	}
	for (uint32_t i = 0; i < r->accs.n; i++) {
		const Accumulator *a = &r->accs.at[i];
		const Inst *in = node_inst(e->p, a->n);
		next[i] = old[i];
		if (a->part) continue; /* computed with the accumulator before it */
		bool extreme = is_extreme(e, a->n);
		for (uint32_t part = 1; extreme && part < EXTREME_PARTS; part++)
			next[i + part] = old[i + part];
		for (int64_t c = 0; c < r->ins; c++) {
			combination(r->s, a->combination * r->step + c, inner);
			node_index(a->n, inner, at);
			if (in->op == OP_ARGMAX) {
				/* The first of the largest; a NaN is above all others. */
				KRef x = term_at(e, a->n, at), best = next[i];
				if (c == 0) next[i + 1] = old[i + 1];
				KRef better = k_lt(k, best, x);
				KType t = k_type(k, x);
				if (t == KT_F64 || t == KT_F32) {
					KRef nan = k_not(k, k_prim2(k, OP_EQ, x, x)),
						 number = k_prim2(k, OP_EQ, best, best);
					better = k_logic(k, 1, better, k_logic(k, 0, nan, number));
				}
				KRef position = index_value(&e->ix, at[a->n->nresult]);
				next[i] = k_select(k, better, x, best);
				next[i + 1] = k_select(k, better, position, next[i + 1]);
				continue;
			}
			if (extreme) {
				KRef x = term_at(e, a->n, at);
				for (uint32_t part = 0; part < EXTREME_PARTS; part++) {
					KRef *to = &next[i + part],
						 more = extreme_next(e, (Op)in->op, (ExtremePart)part, *to, x);
					*to = mask ? k_select(k, k_mask(k), more, *to) : more;
				}
				continue;
			}
			KRef combined;
			bool real = node_type_of(e, a->n) == KT_F64 || node_type_of(e, a->n) == KT_F32;
			if (in->op == OP_DOT && real) {
				Index x[MAX_RANK], y[MAX_RANK];
				dot_indices(e->p, in, at, x, y);
				KRef p = element_at(e, inst_arg(e->l->f, in, 0), x),
					 q = element_at(e, inst_arg(e->l->f, in, 1), y);
				combined = k_muladd(k, p, q, next[i]);
			} else {
				combined = k_prim2(k, fold_prim((Op)in->op), next[i], term_at(e, a->n, at));
			}
			next[i] = mask ? k_select(k, k_mask(k), combined, next[i]) : combined;
		}
		i += in->op == OP_ARGMAX ? 1 : extreme ? EXTREME_PARTS - 1 : 0;
	}
}

/* Loops over the reduced axes that are not unrolled, from `axis` on, carrying
 * the accumulators. */
static void reduce_loops(ReduceEmit *r, uint32_t axis, const KRef *init, KRef *results) {
	ArrayEmit *e = r->e;
	KBuilder *k = e->k;
	uint32_t n = r->accs.n;
	while (axis < r->s->naxes && (r->s->fixed[axis] || (int)axis == r->s->lane)) axis++;
	KRef *params = ARENA_ARRAY(e->l->scratch, KRef, n + 1),
		 *next = ARENA_ARRAY(e->l->scratch, KRef, n + 1);
	uint32_t mark = e->memo.n;
	if (axis < r->s->naxes) {
		k_loop_begin(k, k_int(k, 0), lower_dim(e->l, r->s->dims[axis]), 1, n, init, params);
		e->axes[axis] = (Axis){.base = params[0]};
		reduce_loops(r, axis + 1, params + 1, next);
		k_loop_end(k, next, results);
		e->memo.n = mark;
		return;
	}
	if (r->s->lane < (int)r->from) { /* the loop over lanes is outermost */
		reduce_iteration(r, init, results, false);
		return;
	}
	KRef *fresh = ARENA_ARRAY(e->l->scratch, KRef, n + 1),
		 *lanes = ARENA_ARRAY(e->l->scratch, KRef, n + 1);
	bool *varying = ARENA_ARRAY(e->l->scratch, bool, n + 1);
	memset(varying, 1, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const Accumulator *a = &r->accs.at[i];
		fresh[i] = extreme_identity(e, (Op)node_inst(e->p, a->n)->op, node_type_of(e, a->n),
		                            (ExtremePart)a->part);
	}
	const bool prefetch = prefetches_next_row(e, r->g);
	k_vloop_begin(k, r->g->wide ? 16 : 32, 0, lower_dim(e->l, r->s->dims[r->s->lane]), n, fresh,
	              varying, params);
	e->axes[r->s->lane] = (Axis){.base = params[0], .lane = k_int(k, 1)};
	if (prefetch) prefetch_next_row(e, r->g->wide ? 16 : 32);
	reduce_iteration(r, params + 1, next, true);
	k_vloop_end(k, next, lanes);
	e->memo.n = mark;
	for (uint32_t i = 0; i < n; i++) {
		Op op = (Op)node_inst(e->p, r->accs.at[i].n)->op;
		ExtremePart part = (ExtremePart)r->accs.at[i].part;
		results[i] = extreme_join(e, op, part, init[i], extreme_fold(e, op, part, lanes[i]));
	}
}

/* An extreme of no elements is an error, except for bools: any and all have an
 * answer. */
static void check_empty(ArrayEmit *e, const LoopNode *n) {
	const Inst *in = node_inst(e->p, n);
	if (in->op != OP_REDUCE_MAX && in->op != OP_REDUCE_MIN && in->op != OP_ARGMAX) return;
	if (in->op != OP_ARGMAX && node_type_of(e, n) == KT_BOOL) return;
	KBuilder *k = e->k;
	KRef empty = 0;
	for (uint32_t i = n->nresult; i < n->naxes; i++) {
		int64_t length;
		if (dim_number(e->p, n->axes[i], &length) && length > 0) continue;
		KRef none = k_prim2(k, OP_EQ, lower_dim(e->l, n->axes[i]), k_int(k, 0));
		empty = empty ? k_logic(k, 1, empty, none) : none;
	}
	if (empty) k_fail_if(k, empty, lower_site(e->l, SITE_EMPTY, in), k_int(k, 0), k_int(k, 0));
}

static void emit_reduce_group(ArrayEmit *e, const LoopGroup *g) {
	KBuilder *k = e->k;
	bool rows = e->r->lanes == LANES_ROWS && e->r->has_row;
	Loops s = plan_loops(e, g->naxes, g->axes, UNROLL_COUNT);
	s.lane = rows ? -1 : inner_lane(e, g, &s);
	ReduceEmit r = {.e = e, .g = g, .s = &s, .from = first_reduced(e, g)};
	r.outs = fixed_product(&s, 0, r.from);
	r.ins = fixed_product(&s, r.from, s.naxes);
	r.step = 1;
	for (uint32_t i = r.from; i < s.naxes; i++)
		if (s.fixed[i] && s.length[i] > 0) r.step *= s.length[i];
	uint32_t outermost = e->memo.n, nopen = 0, mark[MAX_AXES + 2];
	bool vectors = rows || (s.lane >= 0 && s.lane < (int)r.from), row_loop = false;
	KRef base;
	if (!rows && e->r->has_row) {
		mark[nopen++] = e->memo.n;
		open_group_rows(e, g);
		row_loop = true;
	}
	uint32_t vmark = e->memo.n;
	if (rows) {
		k_vloop_begin(k, g->wide ? 8 : 16, group_pads(e, g) ? KF_PADDED : 0, e->rows, 0, NULL, NULL,
		              &base);
		lanes_along_rows(e, base);
	}
	for (uint32_t i = e->outer_fusion ? 1 : 0; i < r.from; i++) {
		if (s.fixed[i] || (int)i == s.lane) continue;
		mark[nopen++] = e->memo.n;
		open_loop(e, i, s.dims[i]);
	}
	if (!rows && vectors) {
		vmark = e->memo.n;
		k_vloop_begin(k, g->wide ? 8 : 16, 0, lower_dim(e->l, s.dims[s.lane]), 0, NULL, NULL,
		              &base);
		e->axes[s.lane] = (Axis){.base = base, .lane = k_int(k, 1)};
	}
	VEC(KRef) init = {0};
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[g->nodes.at[i]];
		if (n->naxes == n->nresult + (n->row_sum ? 1u : 0u)) continue;
		Op op = (Op)node_inst(e->p, n)->op;
		KType t =
			op == OP_ARGMAX
				? ktype_of((Dtype)ref_ty(e->l->f, inst_arg(e->l->f, node_inst(e->p, n), 0))->dtype)
				: node_type_of(e, n);
		for (int64_t c = 0; c < r.outs; c++) {
			/* Inside a vector loop the accumulators are vectors from the
			 * start. */
			KRef mask = vectors ? k_mask(k) : 0;
			uint32_t nparts = op == OP_ARGMAX ? 2 : is_extreme(e, n) ? EXTREME_PARTS : 1;
			for (uint32_t part = 0; part < nparts; part++) {
				Accumulator a = {n, c, part};
				KRef first = op != OP_ARGMAX ? extreme_identity(e, op, t, (ExtremePart)part)
				             : part          ? k_int(k, 0)
				                             : identity_of(e, OP_REDUCE_MAX, t);
				VEC_PUSH(e->l->scratch, &r.accs, a);
				VEC_PUSH(e->l->scratch, &init, mask ? k_select(k, mask, first, first) : first);
			}
		}
	}
	KRef *results = ARENA_ARRAY(e->l->scratch, KRef, r.accs.n + 1);
	reduce_loops(&r, r.from, init.at, results);
	Index inner[MAX_AXES], at[MAX_AXES];
	for (uint32_t i = 0; i < r.accs.n; i++) {
		const Accumulator *a = &r.accs.at[i];
		bool argmax = node_inst(e->p, a->n)->op == OP_ARGMAX;
		if (argmax ? !a->part : a->part) continue;
		combination(&s, a->combination * r.step, inner);
		node_index(a->n, inner, at);
		if (!argmax && is_extreme(e, a->n)) results[i] = extreme_result(e, &results[i]);
		if (a->n->row_sum) add_to_partial(e, a->n, at, results[i]);
		else if (a->n->nresult) keep(e, a->n, at, results[i]);
		else lower_set_small(e->l, a->n->ref, 1, &results[i]);
	}
	if (!rows && vectors) {
		k_vloop_end(k, NULL, NULL);
		e->memo.n = vmark;
	}
	while (nopen > (row_loop ? 1u : 0u)) close_loop(e, mark[--nopen]);
	if (rows) {
		k_vloop_end(k, NULL, NULL);
		e->memo.n = vmark;
	}
	if (row_loop) close_loop(e, mark[--nopen]);
	if (e->r->has_row) e->memo.n = outermost;
}

/* ---- scans, scatters, concats -------------------------------------------- */

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
		e->memo.n = o->mark[o->n];
	}
}

static void emit_scan(ArrayEmit *e, const LoopGroup *g, LoopNode *n) {
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
	keep(e, n, at, next);
	k_loop_end(k, &next, &sum);
	e->memo.n = mark;
	close_nest(e, &o);
}

/* Each operand has its own nest. Along the region's row it has those rows of
 * the block that are its own, perhaps none. */
static void emit_join(ArrayEmit *e, const LoopGroup *g, LoopNode *n) {
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
		keep(e, n, to, value);
		close_nest(e, &o);
		before = end;
	}
	e->row_start = start;
	e->rows = rows;
}

#define SCATTER_WORK (1 << 15) /* elements for one chunk */
/* At most, since each chunk reads all indices. */
#define SCATTER_PARTS 2

static void emit_scatter(ArrayEmit *e, const LoopGroup *g, LoopNode *n) {
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
	if (lane >= 0 || parted) e->memo.n = vmark;
	if (parted) {
		k_if_else(k, 0, NULL);
		k_if_end(k, NULL, NULL);
	}
	while (nopen) close_loop(e, mark[--nopen]);
	if (!parted) return;
	k_parallel_end(k);
	e->memo.n = outside_mark;
}

static void emit_guard(ArrayEmit *e, const LoopNode *n) {
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

/* ---- regions ------------------------------------------------------------- */

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
	else if (g->collapsed) emit_collapsed_group(e, g, keep);
	else emit_map_group(e, g);
	if (n->bias_fused) {
		e->memo.n = mark;
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
		e->memo.n = mark;
	}
	for (uint32_t i = s->from; i <= s->to; i++) {
		e->axes[0] = (Axis){.base = index};
		emit_group(e, &e->r->groups.at[i]);
		e->memo.n = mark;
	}
	e->outer_fusion = false;
	k_loop_end(k, NULL, NULL);
}

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
		e->memo.n = mark;
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
	e->memo.n = outside;
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
		e.memo.n = 0; /* computed values are now in storage */
	}
	for (uint32_t i = 0; i < p->nodes.n; i++)
		if (p->nodes.at[i].materialised) give_small(&e, &p->nodes.at[i]);
}
