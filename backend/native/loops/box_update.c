/* box_update.c - boxes of arrays: the ranges of slice, pad and update, and the
 * unmodified border of an update.
 *
 * Needs: loops/loops.h.
 *
 * Contract:
 * - Nothing outside an axis is read or written: ranges that are not provably
 *   inside are checked first.
 * - Where strides are 1 or -1, the border and the box of an update together
 *   cover the array, each element once.
 * - Nothing is copied where the updated array is already in the result's
 *   memory.
 */
#include "backend/native/loops/loops.h"
#include "backend/native/lower/schedule.h"

/* ---- sides --------------------------------------------------------------- */

AxisRange inst_side(const Fn *f, const Inst *in, uint32_t axis) {
	Ctx *c = f->ctx;
	uint32_t n;
	const Dim x = ref_ty(f, inst_arg(f, in, 0))->dims[axis],
			  y = ref_ty(f, inst_result(in, 0))->dims[axis];
	const int strides = in->op == OP_UPDATE ? 1 : 2;
	AxisRange s = {
		.start = (Dim)attr_field(c, (Op)in->op, in->attr, 0, &n)[axis], .length = x, .whole = y};
	s.stride = attr_field(c, (Op)in->op, in->attr, (uint32_t)strides, &n)[axis];
	if (in->op == OP_SLICE) s = (AxisRange){s.start, y, x, s.stride};
	else if (in->op == OP_UPDATE) s.length = ref_ty(f, inst_arg(f, in, 1))->dims[axis];
	return s;
}

static bool at_least_zero(Ctx *c, Dim d) {
	int64_t v;
	SymId s;
	return (dim_is_const(c, d, &v) && v >= 0) || dim_is_sym(c, d, &s);
}

/* Whether positions can be reckoned with; only a file holds other strides. */
static bool has_usual_stride(AxisRange s) { return s.stride >= INT32_MIN && s.stride <= INT32_MAX; }

/* The lowest and the highest position of a side that is not empty. */
static Dim side_low(Ctx *c, AxisRange s) {
	if (s.stride > 0) return s.start;
	return dim_add(c, s.start,
	               dim_mul(c, dim_sub(c, s.length, dim_const(c, 1)), dim_const(c, s.stride)));
}
static Dim side_high(Ctx *c, AxisRange s) {
	if (s.stride < 0) return s.start;
	return dim_add(c, s.start,
	               dim_mul(c, dim_sub(c, s.length, dim_const(c, 1)), dim_const(c, s.stride)));
}

static bool side_fits(Ctx *c, AxisRange s) {
	int64_t none;
	if (dim_is_const(c, s.length, &none) && !none) return true;
	return has_usual_stride(s) && at_least_zero(c, side_low(c, s)) &&
	       at_least_zero(c, dim_sub(c, dim_sub(c, s.whole, dim_const(c, 1)), side_high(c, s)));
}

bool side_takes_all(Ctx *c, AxisRange s) {
	int64_t zero;
	return s.stride == 1 && s.length == s.whole && dim_is_const(c, s.start, &zero) && !zero;
}

bool sides_apart(Ctx *c, AxisRange x, AxisRange y) {
	int64_t nx, ny;
	if (dim_is_const(c, x.length, &nx) && nx == 0) return true;
	if (dim_is_const(c, y.length, &ny) && ny == 0) return true;
	if (!has_usual_stride(x) || !has_usual_stride(y)) return false;
	int64_t gap;
	const Dim one = dim_const(c, 1);
	return (dim_is_const(c, dim_sub(c, side_low(c, x), dim_add(c, side_high(c, y), one)), &gap) &&
	        gap >= 0) ||
	       (dim_is_const(c, dim_sub(c, side_low(c, y), dim_add(c, side_high(c, x), one)), &gap) &&
	        gap >= 0);
}

/* An update is computed element by element only where the box's position is
 * known, or is cheap to test because the axis is short. */
bool update_by_box(const Fn *f, const Inst *in) {
	const Type *t = ref_ty(f, inst_arg(f, in, 0));
	int64_t v;
	for (uint32_t i = 0; i < t->rank; i++)
		if (!side_takes_all(f->ctx, inst_side(f, in, i)) &&
		    !(dim_is_const(f->ctx, t->dims[i], &v) && v <= DIM_SMALL))
			return true;
	return false;
}

/* Whether the first position of a side is not on the axis, or the steps from
 * there to the end of the axis are too few. Nothing overflows when the first
 * position is on the axis. */
static KRef leaves_axis(Lower *l, AxisRange s, KRef length) {
	KBuilder *k = &l->k;
	const KRef zero = k_int(k, 0), one = k_int(k, 1), first = lower_dim(l, s.start),
			   whole = lower_dim(l, s.whole);
	KRef room = s.stride > 0 ? k_sub(k, k_sub(k, whole, one), first) : first;
	const int64_t step = s.stride == INT64_MIN ? INT64_MAX : s.stride < 0 ? -s.stride : s.stride;
	if (step != 1) room = k_prim2(k, OP_FLOORDIV, room, k_int(k, step));
	const KRef misses = k_logic(k, 1, k_lt(k, first, zero), k_prim2(k, OP_LE, whole, first));
	return k_logic(k, 1, misses, k_lt(k, room, k_sub(k, length, one)));
}

void lower_check_sides(Lower *l, const Inst *in) {
	KBuilder *k = &l->k;
	uint32_t rank = ref_ty(l->f, inst_result(in, 0))->rank;
	for (uint32_t i = 0; i < rank; i++) {
		AxisRange s = inst_side(l->f, in, i);
		bool fits = side_fits(l->c, s), known = at_least_zero(l->c, s.length);
		if (fits && known) continue;
		KRef zero = k_int(k, 0), length = lower_dim(l, s.length), bad = k_lt(k, length, zero);
		if (!fits) {
			const KRef outside = leaves_axis(l, s, length);
			bad = k_logic(k, 1, bad, k_logic(k, 0, k_lt(k, zero, length), outside));
		}
		k_fail_if(k, bad, lower_site(l, SITE_SLICE, in), k_int(k, i), zero);
	}
}

void check_run(ArrayEmit *e) {
	const Fn *f = e->l->f;
	for (uint32_t i = 0; i < e->p->n; i++) {
		const Inst *in = &f->insts.at[e->p->insts[i]];
		e->k->span = in->span;
		if (in->op == OP_SLICE || in->op == OP_PAD || in->op == OP_UPDATE)
			lower_check_sides(e->l, in);
	}
}

/* ---- updates ------------------------------------------------------------- */

void box_index(ArrayEmit *e, const LoopNode *n, const Index *at, Index *out) {
	const Inst *in = node_inst(e->p, n);
	for (uint32_t i = 0; i < n->nresult; i++) {
		AxisRange s = inst_side(e->l->f, in, i);
		out[i] = index_affine(&e->ix, at[i], s.start, s.stride);
	}
}

/* Along one axis: the positions low .. high - 1 of the box, and the axis's
 * extent. */
typedef struct Bounds {
	KRef low, high, length;
	bool all;
} Bounds;

static Bounds bounds_of(ArrayEmit *e, const Inst *in, uint32_t i) {
	KBuilder *k = e->k;
	AxisRange s = inst_side(e->l->f, in, i);
	Bounds b = {.all = side_takes_all(e->l->c, s), .length = lower_dim(e->l, s.whole)};
	KRef zero = k_int(k, 0), length = lower_dim(e->l, s.length), low = lower_dim(e->l, s.start);
	if (b.all) return (Bounds){zero, b.length, b.length, true};
	if (s.stride < 0) low = k_sub(k, low, k_sub(k, length, k_int(k, 1)));
	/* An empty box may start anywhere. */
	b.low = k_min(k, k_max(k, low, zero), b.length);
	b.high = k_min(k, k_add(k, b.low, k_max(k, length, zero)), b.length);
	return b;
}

/* Copies x's elements at positions from[i] .. to[i] - 1 of each axis, lanes
 * along the last axis. If `first` is 1, axis 0 is an open loop of the
 * caller. */
static void copy_block(ArrayEmit *e, const LoopNode *n, uint32_t first, const KRef *from,
                       const KRef *to, Index *at) {
	enum { LANES = 8 };
	KBuilder *k = e->k;
	const uint32_t rank = n->nresult, last = rank - 1;
	uint32_t mark = e->memo.n;
	KRef i, base;
	for (uint32_t a = first; a < last; a++) {
		k_loop_begin(k, from[a], to[a], 1, 0, NULL, &i);
		at[a] = (Index){.kind = IX_OTHER, .base = i};
	}
	k_vloop_begin(k, ktype_size(node_type_of(e, n)) == 8 ? LANES : 2 * LANES, 0,
	              k_sub(k, to[last], from[last]), 0, NULL, NULL, &base);
	at[last] = (Index){.kind = IX_OTHER, .base = k_add(k, from[last], base), .lane = k_int(k, 1)};
	store_memory(e, n, at, element_at(e, inst_arg(e->l->f, node_inst(e->p, n), 0), at));
	k_vloop_end(k, NULL, NULL);
	for (uint32_t a = first; a < last; a++) k_loop_end(k, NULL, NULL);
	memo_cut(e, mark);
}

/* The same, in parallel over axis 0. */
static void copy_parallel(ArrayEmit *e, const LoopNode *n, KRef *from, KRef *to) {
	enum { PART_WORK_LOG = 16 };
	KBuilder *k = e->k;
	KRef one = k_int(k, 1), elements = k_int(k, 1), count = k_sub(k, to[0], from[0]);
	for (uint32_t i = 0; i < n->nresult; i++)
		elements = k_mul(k, elements, k_sub(k, to[i], from[i]));
	KRef nparts = k_max(
		k, one,
		k_min(k, k_min(k, k_shift(k, 1, elements, k_int(k, PART_WORK_LOG)), k_int(k, MAX_PARTS)),
	          count));
	KRef part = k_parallel_begin(k, nparts);
	KRef low = k_prim2(k, OP_FLOORDIV, k_mul(k, part, count), nparts),
		 high = k_prim2(k, OP_FLOORDIV, k_mul(k, k_add(k, part, one), count), nparts);
	KRef begin[MAX_RANK], end[MAX_RANK];
	Index at[MAX_RANK];
	memcpy(begin, from, sizeof begin);
	memcpy(end, to, sizeof end);
	begin[0] = k_add(k, from[0], low);
	end[0] = k_add(k, from[0], high);
	copy_block(e, n, 0, begin, end, at);
	k_parallel_end(k);
}

static bool stays(ArrayEmit *e, const LoopNode *n) {
	KRef from;
	return in_memory(e, inst_arg(e->l->f, node_inst(e->p, n), 0), &from) &&
	       from == node_memory(e, n);
}

/* The two arrays may be the same at run time. Only lower_copy, of the whole
 * array, tests for that. */
static bool may_stay(ArrayEmit *e, const LoopNode *n) {
	const LoopNode *last = n;
	while (last->stored_in) last = &e->p->nodes.at[last->stored_in - 1];
	return lower_may_reuse(e->l, inst_arg(e->l->f, node_inst(e->p, n), 0), last->ref);
}

static bool is_dense(const ArrayEmit *e, const Inst *in, uint32_t rank) {
	for (uint32_t i = 0; i < rank; i++) {
		int64_t stride = inst_side(e->l->f, in, i).stride;
		if (stride != 1 && stride != -1) return false;
	}
	return true;
}

bool border_by_rows(ArrayEmit *e, const LoopNode *n) {
	return !e->tiled && e->r->has_row && e->r->lanes == LANES_INNER && n->row == 0 &&
	       n->nresult > 1 && is_dense(e, node_inst(e->p, n), n->nresult);
}

/* The border is cut at the box's ends axis by axis. At each axis only the box's
 * range of the earlier axes remains. */
void emit_border(ArrayEmit *e, const LoopNode *n) {
	const Inst *in = node_inst(e->p, n);
	KRef array;
	if (stays(e, n)) return;
	if (may_stay(e, n) && in_memory(e, inst_arg(e->l->f, in, 0), &array)) {
		lower_copy(e->l, n->ref, node_memory(e, n), array);
		return;
	}
	KRef from[MAX_RANK], to[MAX_RANK];
	Bounds b[MAX_RANK];
	for (uint32_t i = 0; i < n->nresult; i++) {
		b[i] = bounds_of(e, in, i);
		from[i] = k_int(e->k, 0);
		to[i] = b[i].length;
	}
	if (!is_dense(e, in, n->nresult)) {
		copy_parallel(e, n, from, to);
		return;
	}
	const uint32_t naxes = border_by_rows(e, n) ? 1 : n->nresult;
	for (uint32_t a = 0; a < naxes; a++) {
		if (b[a].all) continue;
		to[a] = b[a].low;
		copy_parallel(e, n, from, to);
		from[a] = b[a].high;
		to[a] = b[a].length;
		copy_parallel(e, n, from, to);
		from[a] = b[a].low;
		to[a] = b[a].high;
	}
}

/* In the open loop over the box's rows: copies the elements beside the box in
 * this row. */
void emit_row_border(ArrayEmit *e, const LoopNode *n) {
	const Inst *in = node_inst(e->p, n);
	if (stays(e, n) || may_stay(e, n) || !border_by_rows(e, n)) return;
	KRef from[MAX_RANK], to[MAX_RANK];
	Index at[MAX_RANK], row = index_axis(ROW_AXIS);
	Bounds b[MAX_RANK];
	AxisRange s = inst_side(e->l->f, in, 0);
	for (uint32_t i = 1; i < n->nresult; i++) {
		b[i] = bounds_of(e, in, i);
		from[i] = k_int(e->k, 0);
		to[i] = b[i].length;
	}
	at[0] = index_affine(&e->ix, row, s.start, s.stride);
	for (uint32_t a = 1; a < n->nresult; a++) {
		if (b[a].all) continue;
		to[a] = b[a].low;
		copy_block(e, n, 1, from, to, at);
		from[a] = b[a].high;
		to[a] = b[a].length;
		copy_block(e, n, 1, from, to, at);
		from[a] = b[a].low;
		to[a] = b[a].high;
	}
}
