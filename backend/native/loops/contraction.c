/* contraction.c - contractions of a plan: the layout of their operands, and the
 * strides for CONTRACT and GEMM of the kernel IR.
 *
 * Needs: loops/loops.h.
 *
 * A contraction here has one contracted axis. In a region it is a product of
 * small matrices for each block of rows:
 *
 *     rows times matrix      y[r, j] = sum_k x[r, k] w[k, j]
 *                            (lanes along the rows: y' = w' x')
 *     columns times columns  s[i, j] += sum_r x[r, i] y[r, j]
 *                            (added to the chunk's sums)
 *     of each row            y[r, i, j] = sum_k u[r, i, k] v[r, k, j]
 *
 * Outside regions it is one large product by the runtime. Further axes that
 * both operands run along are loops around the product.
 */
#include "backend/native/loops/loops.h"

/* An operand in its storage: pointer to its element at the block's first row
 * (or at 0), and strides in elements by its own axes. */
typedef struct Matrix {
	KRef pointer;
	KRef stride[MAX_RANK];
	KType type;
	bool scratch; /* padded along the lanes */
} Matrix;

/* Strides of r, through the transposes between it and `base`. */
static void through_transposes(ArrayEmit *e, Ref r, Ref base, const KRef *base_stride,
                               KRef *stride) {
	uint32_t rank = ref_ty(e->l->f, r)->rank, n;
	if (r == base) {
		memcpy(stride, base_stride, rank * sizeof *stride);
		return;
	}
	const Inst *in = node_inst(e->p, plan_node(e->p, r));
	KRef inner[MAX_RANK];
	through_transposes(e, inst_arg(e->l->f, in, 0), base, base_stride, inner);
	if (in->op == OP_STOP) {
		memcpy(stride, inner, rank * sizeof *stride);
		return;
	}
	const int64_t *perm = attr_field(e->l->c, OP_TRANSPOSE, in->attr, 0, &n);
	for (uint32_t i = 0; i < rank; i++) stride[i] = inner[perm[i]];
}

/* The operand's axis that runs along the nest's axis; -1: none. */
static int axis_along(ArrayEmit *e, Ref r, const Index *at, uint32_t axis) {
	uint32_t rank = ref_ty(e->l->f, r)->rank;
	for (uint32_t i = 0; i < rank; i++)
		if (at[i].kind == IX_AXIS && at[i].axis == axis) return (int)i;
	return -1;
}
static int axis_with_row(ArrayEmit *e, Ref r, const Index *at) {
	return axis_along(e, r, at, ROW_AXIS);
}

/* Copies the operand's block of rows into scratch, computing each element. For
 * operands that are inlined or not in scratch. `fused`: the axis of which only
 * the current iteration of a fused outer loop is copied; -1: none. */
static Matrix copied(ArrayEmit *e, Ref r, int row, int fused, uint32_t scratch_slot) {
	KBuilder *k = e->k;
	Type t = *ref_ty(e->l->f, r);
	Matrix m = {.type = ktype_of((Dtype)t.dtype), .scratch = true};
	bool rows = e->r->lanes == LANES_ROWS;
	KRef s = rows ? e->block : k_int(k, 1), mark_rows = e->row_local;
	for (uint32_t i = t.rank; i-- > 0;) {
		if ((int)i == row) continue;
		m.stride[i] = (int)i == fused ? k_int(k, 0) : s;
		if ((int)i != fused) s = k_mul(k, s, lower_dim(e->l, t.dims[i]));
	}
	if (rows) {
		m.stride[row] = k_int(k, 1);
	} else {
		s = k_shift(k, 0, k_shift(k, 1, k_add(k, s, k_int(k, 15)), k_int(k, 4)), k_int(k, 4));
		m.stride[row] = s;
	}
	m.pointer = e->scratch_slots[scratch_slot - 1];
	uint32_t first = e->memo.n, nopen = 0, mark[MAX_RANK + 1];
	Index at[MAX_RANK];
	uint32_t j = e->outer_fusion ? 1 : 0;
	int lane = -1;
	for (uint32_t i = 0; i < t.rank && !rows; i++)
		if ((int)i != row) lane = (int)i;
	if (!rows) {
		KRef i;
		mark[nopen++] = e->memo.n;
		k_loop_begin(k, k_int(k, 0), e->rows, 1, 0, NULL, &i);
		e->row_local = i;
		e->axes[ROW_AXIS] = (Axis){.base = k_add(k, e->row_start, i)};
	}
	for (uint32_t i = 0; i < t.rank; i++) {
		if ((int)i == row) {
			at[i] = index_axis(ROW_AXIS);
			continue;
		}
		if ((int)i == fused) {
			at[i] = index_axis(0);
			continue;
		}
		at[i] = index_axis(j++);
		if ((int)i == lane) continue;
		KRef index;
		mark[nopen++] = e->memo.n;
		k_loop_begin(k, k_int(k, 0), lower_dim(e->l, t.dims[i]), 1, 0, NULL, &index);
		e->axes[at[i].axis] = (Axis){.base = index};
	}
	KRef base = 0, offset = k_int(k, 0);
	if (rows || lane >= 0) {
		k_vloop_begin(k, ktype_size(m.type) == 8 ? 8 : 16, 0,
		              rows ? e->rows : lower_dim(e->l, t.dims[lane]), 0, NULL, NULL, &base);
		if (rows) {
			e->row_local = base;
			e->axes[ROW_AXIS] = (Axis){.base = k_add(k, e->row_start, base), .lane = k_int(k, 1)};
		} else {
			e->axes[at[lane].axis] = (Axis){.base = base, .lane = k_int(k, 1)};
		}
	}
	KRef value = element_at(e, r, at);
	for (uint32_t i = 0; i < t.rank; i++) {
		KRef index = (int)i == row ? e->row_local : index_base(&e->ix, at[i]);
		offset = k_add(k, offset, k_mul(k, index, m.stride[i]));
	}
	k_store(k, base ? KM_UNIT : KM_UNIFORM, m.pointer, offset, value, 0);
	if (base) k_vloop_end(k, NULL, NULL);
	while (nopen) {
		k_loop_end(k, NULL, NULL);
		memo_cut(e, mark[--nopen]);
	}
	memo_cut(e, first);
	e->row_local = mark_rows;
	return m;
}

/* The whole operand in memory. */
static bool whole_matrix(ArrayEmit *e, Ref r, Matrix *m) {
	Ref base = matrix_operand(e->p, r);
	KRef stride[MAX_RANK];
	Type t = *ref_ty(e->l->f, base);
	*m = (Matrix){.type = ktype_of((Dtype)t.dtype)};
	if (!in_memory(e, base, &m->pointer)) return false;
	memory_strides(e, &t, stride);
	through_transposes(e, r, base, stride, m->stride);
	return true;
}

/* The operand's rows of the current block. */
static Matrix row_matrix(ArrayEmit *e, const LoopNode *product, uint32_t operand, int row) {
	Ref r = inst_arg(e->l->f, node_inst(e->p, product), operand);
	Ref base = matrix_operand(e->p, r);
	const LoopNode *n = plan_node(e->p, base);
	KRef stride[MAX_RANK];
	Matrix m = {.scratch = true};
	if (n && n->materialised && n->region == (uint32_t)(e->r - e->p->regions.at) &&
	    uses_scratch(e, n) && n->scratch_at) {
		m.type = ktype_of((Dtype)ref_ty(e->l->f, base)->dtype);
		m.pointer = n->scratch_at;
		scratch_strides(e, n, stride);
		through_transposes(e, r, base, stride, m.stride);
		return m;
	}
	if (e->r->lanes == LANES_INNER && whole_matrix(e, r, &m)) {
		m.pointer =
			k_ptradd(e->k, m.pointer, k_mul(e->k, e->row_start, m.stride[row]), ktype_size(m.type));
		return m;
	}
	return copied(e, r, row, e->outer_fusion ? fused_operand_axis(e->p, product, operand) : -1,
	              product->copy_slot[operand]);
}

static bool is_one(ArrayEmit *e, KRef x) {
	int64_t v;
	return k_is_int(e->k, x, &v) && v == 1;
}

typedef struct GemmOperands {
	KRef c, c_row, c_col, a, a_row, a_k, b, b_k, b_col, m, n, k;
	int64_t rows, columns, terms; /* m, n and k as expected; terms 0: unknown */
	bool transpose_b;             /* see worth_transposing */
	/* A row that is added to each row of C, for a single product with lanes
	 * over N; 0: none. */
	KRef bias;
} GemmOperands;

/* Does it pay to pack a B stored by columns, so that lanes run over N? Packing
 * costs as much as a few rows. The decision uses the expected extents, not
 * those of the call, because the order of a sum must not change with them. */
static bool worth_transposing(int64_t rows, int64_t columns) { return rows >= 48 && columns >= 8; }

/* Do tiles of five rows waste fewer rows than tiles of `tile` rows? The choice
 * does not affect the bits. */
static bool fit_in_fives(int64_t rows, int64_t tile) {
	return (rows + 4) / 5 * 5 < (rows + tile - 1) / tile * tile;
}

/* Rows of a tile with lanes over N. */
static int64_t tile_rows(const ArrayEmit *e) { return e->k->m->target.registers >= 32 ? 8 : 4; }

/* Chooses the axis of the lanes. Exchanges the operands when only that makes
 * the columns contiguous. The products in `more` have the same shape and
 * strides and are added to the first. */
static void emit_products(ArrayEmit *e, KType t, GemmOperands q, uint32_t flags, KOp op,
                          uint32_t nmore, const GemmOperands *more) {
	bool swapped = false;
	if (op == K_CONTRACT && !(is_one(e, q.b_col) && is_one(e, q.c_col))) {
		if (is_one(e, q.a_row) && is_one(e, q.c_row)) {
			GemmOperands s = {.c = q.c,
			                  .c_row = q.c_col,
			                  .c_col = q.c_row,
			                  .a = q.b,
			                  .a_row = q.b_col,
			                  .a_k = q.b_k,
			                  .b = q.a,
			                  .b_k = q.a_k,
			                  .b_col = q.a_row,
			                  .m = q.n,
			                  .n = q.m,
			                  .k = q.k,
			                  .rows = q.columns,
			                  .columns = q.rows};
			q = s;
			swapped = true;
		}
	}
	if (is_one(e, q.b_col) && is_one(e, q.c_col)) flags |= KF_B_COL_UNIT;
	else if (is_one(e, q.a_k) && is_one(e, q.b_k))
		flags |= q.transpose_b && is_one(e, q.c_col) ? KF_K_UNIT | KF_TRANSPOSE_B : KF_K_UNIT;
	if (!(flags & KF_B_COL_UNIT)) flags &= ~(uint32_t)KF_PADDED;
	const bool lanes_over_k = (flags & (KF_K_UNIT | KF_TRANSPOSE_B)) == KF_K_UNIT;
	if (op == K_CONTRACT && fit_in_fives(lanes_over_k && q.columns > q.rows ? q.columns : q.rows,
	                                     lanes_over_k ? 4 : tile_rows(e)))
		flags |= KF_TILE_5;
	if (op == K_CONTRACT && flags & KF_B_COL_UNIT && !nmore && !q.bias && q.terms == 16 &&
	    q.columns == 64 / (int64_t)ktype_size(t))
		flags |= KF_IN_REGISTERS;
	KRef *operands = ARENA_ARRAY(e->p->a, KRef, 13 + 2 * nmore),
		 first[12] = {q.c, q.c_row, q.c_col, q.a, q.a_row, q.a_k,
	                  q.b, q.b_k,   q.b_col, q.m, q.n,     q.k};
	memcpy(operands, first, sizeof first);
	for (uint32_t i = 0; i < nmore; i++) {
		operands[12 + 2 * i] = swapped ? more[i].b : more[i].a;
		operands[13 + 2 * i] = swapped ? more[i].a : more[i].b;
	}
	if (q.bias) {
		if (swapped || nmore || !is_one(e, q.c_col) || !(flags & (KF_B_COL_UNIT | KF_TRANSPOSE_B)))
			e->l->failed = true;
		operands[12] = q.bias;
		flags |= KF_BIAS;
	}
	k_contract(e->k, op, t, flags, q.bias ? 13 : 12 + 2 * nmore, operands);
}

static void emit_product(ArrayEmit *e, KType t, GemmOperands q, uint32_t flags, KOp op) {
	emit_products(e, t, q, flags, op, 0, NULL);
}

/* ---- triangular and banded matrices -------------------------------------- */

/* Columns of one of some four partial products, in whole tiles; 0: it does not
 * pay. Wide ones multiply more zeros, narrow ones read the rows more often. */
static int64_t band_columns(const ArrayEmit *e, const GemmOperands *q) {
	const int64_t tile = fit_in_fives(q->columns, tile_rows(e)) ? 5 : 4;
	return q->columns < 8 || q->columns > 512 ? 0 : ((q->columns + 3) / 4 + tile - 1) / tile * tile;
}

/* Returns sum + 0, or NaN if one of `rows` consecutive elements from `at` on is
 * not finite. Four vectors are in flight, since each addition waits for the one
 * before. */
static KRef add_doubt(KBuilder *k, KType t, KRef pointer, KRef at, KRef rows, KRef sum) {
	const bool varying = true;
	const KRef zero = k_const(k, t, 0);
	KRef params[2], lanes;
	k_vloop_begin(k, ktype_size(t) == 8 ? 32 : 64, 0, rows, 1, &zero, &varying, params);
	KRef next = k_add(k, params[1],
	                  k_mul(k, k_load(k, t, KM_UNIT, pointer, k_add(k, at, params[0]), 0), zero));
	k_vloop_end(k, &next, &lanes);
	return k_add(k, sum, k_reduce_lanes(k, OP_ADD, lanes));
}

/* The product without the terms outside the band. It is recomputed in full if
 * an omitted factor of a zero is not finite. Such a factor makes the result
 * with the most terms not finite, unless that result omits it too. Only these
 * results and those omitted factors are tested. */
static void banded_product(ArrayEmit *e, KType t, GemmOperands q, uint32_t flags, BandBounds band,
                           int64_t step) {
	KBuilder *k = e->k;
	const KRef zero = k_int(k, 0), one = k_int(k, 1), last = k_sub(k, q.n, one);
	const uint32_t size = ktype_size(t);
	KRef start, sum = k_const(k, t, 0), from = zero, to = q.k;
	k_loop_begin(k, zero, q.n, step, 0, NULL, &start);
	GemmOperands part = q;
	part.n = k_min(k, k_int(k, step), k_sub(k, q.n, start));
	if (band.has_low)
		from = k_max(k, zero, k_min(k, k_sub(k, q.k, one), k_add(k, start, k_int(k, band.low))));
	if (band.has_high)
		to = k_min(k, q.k, k_add(k, k_add(k, start, part.n), k_int(k, band.high - 1)));
	part.k = k_max(k, one, k_sub(k, to, from)); /* At least one, so that C is written. */
	part.c = k_ptradd(k, q.c, k_mul(k, start, q.c_col), size);
	part.a = k_ptradd(k, q.a, k_mul(k, from, q.a_k), size);
	part.b = k_ptradd(k, q.b, k_add(k, k_mul(k, start, q.b_col), k_mul(k, from, q.b_k)), size);
	emit_product(e, t, part, flags, K_CONTRACT);
	k_loop_end(k, NULL, NULL);
	/* For a lower bound the first column has the most terms, for an upper one
	 * the last. */
	const KRef best = band.has_low ? zero : last,
			   edge = k_add(k, best, k_int(k, band.has_low ? band.low : band.high));
	sum = add_doubt(k, t, q.c, k_mul(k, best, q.c_col), q.m, sum);
	KRef rest[2];
	k_loop_begin(k, band.has_low ? zero : k_max(k, zero, edge),
	             band.has_low ? k_min(k, q.k, edge) : q.k, 1, 1, &sum, rest);
	KRef next = add_doubt(k, t, q.a, k_mul(k, rest[0], q.a_k), q.m, rest[1]);
	k_loop_end(k, &next, &sum);
	k_if_begin(k, k_not(k, k_prim2(k, OP_EQ, sum, k_const(k, t, 0))), KF_COLD);
	emit_product(e, t, q, flags, K_CONTRACT);
	k_if_else(k, 0, NULL);
	k_if_end(k, NULL, NULL);
}

/* The matrix of a product of rows times a matrix, its contracted axis and its
 * free one. False if it has other axes or lacks one. */
static bool weights_axes(ArrayEmit *e, const LoopNode *n, Ref *w, uint32_t *along_k,
                         uint32_t *along_free) {
	const Inst *in = node_inst(e->p, n);
	Index at[MAX_AXES], x_at[2][MAX_RANK];
	for (uint32_t i = 0; i < n->naxes; i++)
		at[i] = (int)i == n->row ? index_axis(ROW_AXIS) : index_axis(i);
	dot_indices(e->p, in, at, x_at[0], x_at[1]);
	const Index *wi = x_at[n->swapped ? 0 : 1];
	*w = inst_arg(e->l->f, in, n->swapped ? 0 : 1);
	if (ref_ty(e->l->f, *w)->rank != 2) return false;
	*along_k = wi[0].axis == n->nresult ? 0 : 1;
	*along_free = 1 - *along_k;
	return wi[*along_k].axis == n->nresult && wi[*along_free].axis < n->nresult;
}

/* Packs a matrix whose columns are contiguous (the W' of x @ W') once for each
 * chunk, instead of in each block. The matrix must be small. A chunk must have
 * four blocks, since packing here costs as much as their products' own packing.
 * The decision uses the extents of the first call; it does not affect bits. */
void copy_weights(ArrayEmit *e) {
	enum { MOST_BYTES = 32768, LEAST_ROWS = 4 * 64 * MAX_PARTS };
	KBuilder *k = e->k;
	const FusedRegion *r = e->r;
	const bool pays = r->has_row && lower_hint(e->l, r->row, 1000) >= LEAST_ROWS;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[r->nodes.at[i]];
		n->weights = 0;
		if (!pays) continue;
		Ref w;
		uint32_t along_k, along_free;
		Matrix m;
		if (r->lanes != LANES_INNER || n->contraction != CONTRACTION_SHARED_MATRIX ||
		    !weights_axes(e, n, &w, &along_k, &along_free) || !whole_matrix(e, w, &m))
			continue;
		const int64_t columns = lower_hint(e->l, n->axes[n->nresult - 1], 1000),
					  terms = lower_hint(e->l, n->axes[n->nresult], 1000);
		if (!is_one(e, m.stride[along_k]) || !worth_transposing(64, columns) ||
		    columns * terms * (int64_t)ktype_size(m.type) > MOST_BYTES)
			continue;
		const Type *t = ref_ty(e->l->f, w);
		const int64_t lanes = 64 / ktype_size(m.type);
		const KRef zero = k_int(k, 0), length = lower_dim(e->l, t->dims[along_k]),
				   free_length = lower_dim(e->l, t->dims[along_free]);
		KRef row, column, from = m.pointer;
		n->weights_step = k_mul(
			k, k_prim2(k, OP_FLOORDIV, k_add(k, free_length, k_int(k, lanes - 1)), k_int(k, lanes)),
			k_int(k, lanes));
		n->weights =
			k_scratch(k, k_mul(k, k_mul(k, length, n->weights_step), k_int(k, ktype_size(m.type))));
		k_loop_begin(k, zero, free_length, 1, 0, NULL, &column);
		KRef place = k_mul(k, column, m.stride[along_free]);
		k_loop_begin(k, zero, length, 1, 0, NULL, &row);
		k_store(k, KM_UNIFORM, n->weights, k_add(k, k_mul(k, row, n->weights_step), column),
		        k_load(k, m.type, KM_UNIFORM, from, k_add(k, place, row), 0), 0);
		k_loop_end(k, NULL, NULL);
		k_loop_end(k, NULL, NULL);
	}
}

/* The array along the columns that operand k of an addition of two [row,
 * column] arrays broadcasts to each row; 0: it is none. */
static Ref along_columns(ArrayEmit *e, const Inst *in, uint32_t k, Dim columns) {
	const Index at[2] = {index_axis(ROW_AXIS), index_axis(0)};
	IndexContext ix = {.p = e->p};
	Index x[MAX_RANK], y[MAX_RANK];
	operand_index(&ix, in, k, at, x);
	Ref r = inst_arg(e->l->f, in, k);
	const LoopNode *n = plan_node(e->p, r);
	if (!n || n->materialised || node_inst(e->p, n)->op != OP_BROADCAST) return 0;
	operand_index(&ix, node_inst(e->p, n), 0, x, y);
	r = inst_arg(e->l->f, node_inst(e->p, n), 0);
	const Type *t = ref_ty(e->l->f, r);
	const LoopNode *from = plan_node(e->p, r);
	KRef pointer;
	const bool here =
		from && (!from->materialised || from->region == (uint32_t)(e->r - e->p->regions.at));
	return !here && t->rank == 1 && t->dims[0] == columns && y[0].kind == IX_AXIS &&
	               y[0].axis == 0 && in_memory(e, r, &pointer)
	           ? r
	           : 0;
}

/* Will the product's lanes run over N? */
static bool has_lanes_along_columns(ArrayEmit *e, const LoopNode *n) {
	Ref w;
	uint32_t along_k, along_free;
	Matrix m;
	if (e->k->m->target.vector_bytes < 16 || !weights_axes(e, n, &w, &along_k, &along_free) ||
	    !whole_matrix(e, w, &m))
		return false;
	return is_one(e, m.stride[along_free]) ||
	       (is_one(e, m.stride[along_k]) &&
	        worth_transposing(64, lower_hint(e->l, n->axes[n->nresult - 1], 1000)));
}

/* x @ w + b, where nothing else needs the product: the tiles add b to their
 * finished sums and store the final result, which saves a pass over the block's
 * rows. The operations and their order are the same, so are the bits. Results
 * large enough for non-temporal stores keep their own pass. */
void fuse_bias(ArrayEmit *e) {
	const FusedRegion *r = e->r;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		LoopNode *n = &e->p->nodes.at[r->nodes.at[i]];
		n->sum = 0, n->bias_fused = false;
	}
	for (uint32_t i = 0; i < r->nodes.n && r->lanes == LANES_INNER && !r->product; i++) {
		LoopNode *m = &e->p->nodes.at[r->nodes.at[i]];
		const Inst *in = node_inst(e->p, m);
		if (m->kind != NODE_POINT || in->op != OP_ADD || !m->memory || m->stored_in || m->strip ||
		    m->nresult != 2 || m->naxes != 2 || m->row != 0)
			continue;
		if (r->groups.at[m->group].nodes.n != 1 || outer_fusion_of(r, m->group)) continue;
		for (uint32_t k = 0; k < 2 && !m->bias_fused; k++) {
			LoopNode *n = plan_node(e->p, inst_arg(e->l->f, in, k));
			if (!n || !n->materialised || n->contraction != CONTRACTION_SHARED_MATRIX ||
			    n->region != m->region || n->memory || n->uses != 1 || n->nresult != 2 ||
			    n->row != 0 || outer_fusion_of(r, n->group))
				continue;
			n->bias = along_columns(e, in, 1 - k, m->axes[1]);
			if (!n->bias || !has_lanes_along_columns(e, n)) continue;
			n->sum = (uint32_t)(m - e->p->nodes.at) + 1;
			m->bias_fused = true;
		}
	}
}

/* y[r, ...]: loops over the row operand's other free axes, columns along the
 * matrix's free axis. If `sum` is given, the tiles add the bias and store `sum`
 * instead. */
static void rows_times_matrix(ArrayEmit *e, LoopNode *n, const LoopNode *sum) {
	KBuilder *k = e->k;
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	Index at[MAX_AXES], x_at[2][MAX_RANK];
	for (uint32_t i = 0; i < n->naxes; i++)
		at[i] = (int)i == n->row ? index_axis(ROW_AXIS) : index_axis(i);
	dot_indices(e->p, in, at, x_at[0], x_at[1]);
	uint32_t with = n->swapped ? 1 : 0;
	Ref x = inst_arg(f, in, with), w = inst_arg(f, in, 1 - with);
	const Index *xi = x_at[with], *wi = x_at[1 - with];
	int row = axis_with_row(e, x, xi);
	uint32_t contracted = n->nresult, xrank = ref_ty(f, x)->rank, wrank = ref_ty(f, w)->rank;
	Matrix b = row_matrix(e, n, with, row), a, c = {.type = node_type_of(e, n)};
	if (!whole_matrix(e, w, &a)) {
		e->l->failed = true;
		return;
	}
	/* The result is in scratch, or with lanes along inner axes in its rows in
	 * memory. */
	KRef c_stride[MAX_RANK];
	if (uses_scratch(e, n) && !sum) {
		scratch_strides(e, n, c_stride);
		c.pointer = n->scratch_at;
		c.scratch = true;
	} else {
		Type t = *ref_ty(f, n->ref);
		memory_strides(e, &t, c_stride);
		c.pointer = k_ptradd(k, node_memory(e, sum ? sum : n),
		                     k_mul(k, e->row_start, c_stride[n->row]), ktype_size(c.type));
	}
	uint32_t w_free = 0, w_k = 0, x_k = 0;
	for (uint32_t i = 0; i < wrank; i++) {
		if (wi[i].axis == contracted) w_k = i;
		else if (axis_along(e, x, xi, wi[i].axis) < 0) w_free = i;
	}
	if (n->weights) {
		a.pointer = n->weights;
		a.stride[w_k] = n->weights_step;
		a.stride[w_free] = k_int(k, 1);
	}
	uint32_t free_axis = wi[w_free].axis; /* of the result */
	/* The row operand's other axes. The matrix may share some of them. */
	uint32_t nopen = 0, mark[MAX_RANK];
	KRef x_at0 = b.pointer, c_at0 = c.pointer, w_at0 = a.pointer;
	for (uint32_t i = 0; i < xrank; i++) {
		if ((int)i == row) continue;
		if (xi[i].axis == contracted) {
			x_k = i;
			continue;
		}
		KRef index;
		if (e->outer_fusion && (int)xi[i].axis == fused_axis(n)) {
			index = e->axes[0].base;
		} else {
			mark[nopen++] = e->memo.n;
			k_loop_begin(k, k_int(k, 0), lower_dim(e->l, n->axes[xi[i].axis]), 1, 0, NULL, &index);
		}
		x_at0 = k_ptradd(k, x_at0, k_mul(k, index, b.stride[i]), ktype_size(b.type));
		c_at0 = k_ptradd(k, c_at0, k_mul(k, index, c_stride[xi[i].axis]), ktype_size(c.type));
		int same = axis_along(e, w, wi, xi[i].axis);
		if (same >= 0)
			w_at0 = k_ptradd(k, w_at0, k_mul(k, index, a.stride[same]), ktype_size(a.type));
	}
	KRef length = lower_dim(e->l, n->axes[contracted]),
		 columns = lower_dim(e->l, n->axes[free_axis]);
	/* m runs along the block's rows. emit_product exchanges the operands when
	 * the rows are contiguous. */
	GemmOperands q = {.c = c_at0,
	                  .c_row = c_stride[n->row],
	                  .c_col = c_stride[free_axis],
	                  .a = x_at0,
	                  .a_row = b.stride[row],
	                  .a_k = b.stride[x_k],
	                  .b = w_at0,
	                  .b_k = a.stride[w_k],
	                  .b_col = a.stride[w_free],
	                  .m = e->rows,
	                  .n = columns,
	                  .k = length};
	q.rows = 64, q.columns = lower_hint(e->l, n->axes[free_axis], 1000);
	q.transpose_b = worth_transposing(q.rows, q.columns);
	if (sum && !in_memory(e, n->bias, &q.bias)) e->l->failed = true;
	bool padded = e->r->lanes == LANES_ROWS ? b.scratch && c.scratch : false;
	const BandBounds band = band_of(e->p, w, wi, contracted, free_axis);
	const int64_t step = band_columns(e, &q);
	if (step && band.has_low != band.has_high && is_one(e, q.a_row) && is_one(e, q.c_row))
		banded_product(e, c.type, q, padded ? KF_PADDED : 0, band, step);
	else emit_product(e, c.type, q, padded ? KF_PADDED : 0, K_CONTRACT);
	while (nopen) {
		k_loop_end(k, NULL, NULL);
		memo_cut(e, mark[--nopen]);
	}
	if (uses_scratch(e, n) && n->memory && !sum) copy_to_memory(e, n);
}

/* A separate product of each row's own matrices: loops over the block's rows
 * and over the other axes that both operands run along. */
static void products_of_rows(ArrayEmit *e, LoopNode *n) {
	KBuilder *k = e->k;
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	Index at[MAX_AXES], xi[MAX_RANK], yi[MAX_RANK];
	for (uint32_t i = 0; i < n->naxes; i++)
		at[i] = (int)i == n->row ? index_axis(ROW_AXIS) : index_axis(i);
	dot_indices(e->p, in, at, xi, yi);
	Ref x = inst_arg(f, in, 0), y = inst_arg(f, in, 1);
	Matrix a = row_matrix(e, n, 0, axis_with_row(e, x, xi)),
		   b = row_matrix(e, n, 1, axis_with_row(e, y, yi));
	KRef c_stride[MAX_RANK], c;
	KType t = node_type_of(e, n);
	if (uses_scratch(e, n)) {
		scratch_strides(e, n, c_stride);
		c = n->scratch_at;
	} else {
		Type type = *ref_ty(f, n->ref);
		memory_strides(e, &type, c_stride);
		c = k_ptradd(k, lower_destination(e->l, n->ref), k_mul(k, e->row_start, c_stride[n->row]),
		             ktype_size(t));
	}
	uint32_t nbatch = n->nresult - 2, mark[MAX_AXES], sum = n->nresult;
	for (uint32_t i = 0; i < nbatch; i++) {
		KRef index;
		uint32_t axis = (int)i == n->row ? ROW_AXIS : i;
		mark[i] = e->memo.n;
		k_loop_begin(k, k_int(k, 0), (int)i == n->row ? e->rows : lower_dim(e->l, n->axes[i]), 1, 0,
		             NULL, &index);
		a.pointer = k_ptradd(k, a.pointer, k_mul(k, index, a.stride[axis_along(e, x, xi, axis)]),
		                     ktype_size(a.type));
		b.pointer = k_ptradd(k, b.pointer, k_mul(k, index, b.stride[axis_along(e, y, yi, axis)]),
		                     ktype_size(b.type));
		c = k_ptradd(k, c, k_mul(k, index, c_stride[i]), ktype_size(t));
	}
	GemmOperands q = {.c = c,
	                  .c_row = c_stride[nbatch],
	                  .c_col = c_stride[nbatch + 1],
	                  .a = a.pointer,
	                  .a_row = a.stride[axis_along(e, x, xi, nbatch)],
	                  .a_k = a.stride[axis_along(e, x, xi, sum)],
	                  .b = b.pointer,
	                  .b_k = b.stride[axis_along(e, y, yi, sum)],
	                  .b_col = b.stride[axis_along(e, y, yi, nbatch + 1)],
	                  .m = lower_dim(e->l, n->axes[nbatch]),
	                  .n = lower_dim(e->l, n->axes[nbatch + 1]),
	                  .k = lower_dim(e->l, n->axes[sum])};
	q.rows = lower_hint(e->l, n->axes[nbatch], 1000),
	q.columns = lower_hint(e->l, n->axes[nbatch + 1], 1000),
	q.terms = lower_hint(e->l, n->axes[sum], 1000);
	q.transpose_b = worth_transposing(q.rows, q.columns);
	emit_product(e, t, q, 0, K_CONTRACT);
	for (uint32_t i = nbatch; i-- > 0;) {
		k_loop_end(k, NULL, NULL);
		memo_cut(e, mark[i]);
	}
	if (uses_scratch(e, n) && n->memory) copy_to_memory(e, n);
}

/* The loops open around a product. */
typedef struct OuterLoops {
	uint32_t n, mark[MAX_AXES];
} OuterLoops;

/* A term added to the chunk's sums. Contracted axes other than the row, and
 * axes that both operands run along, become open loops. */
static GemmOperands outer_product(ArrayEmit *e, LoopNode *n, KType t, KRef c, OuterLoops *open) {
	KBuilder *k = e->k;
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	Index at[MAX_AXES], xi[MAX_RANK], yi[MAX_RANK];
	for (uint32_t i = 0; i < n->naxes; i++)
		at[i] = (int)i == n->row ? index_axis(ROW_AXIS) : index_axis(i);
	dot_indices(e->p, in, at, xi, yi);
	Ref x = inst_arg(f, in, 0), y = inst_arg(f, in, 1);
	int x_row = axis_with_row(e, x, xi), y_row = axis_with_row(e, y, yi);
	Matrix a = row_matrix(e, n, 0, x_row), b = row_matrix(e, n, 1, y_row);
	const uint32_t first = n->nresult - 2, second = n->nresult - 1;
	KRef m = lower_dim(e->l, n->axes[first]), columns = lower_dim(e->l, n->axes[second]),
		 c_stride[MAX_RANK];
	Type type = *ref_ty(f, n->ref);
	memory_strides(e, &type, c_stride);
	open->n = 0;
	for (uint32_t i = 0; i < n->naxes; i++) {
		if ((int)i == n->row || i == first || i == second) continue;
		KRef index;
		if (e->outer_fusion && (int)i == fused_axis(n)) {
			index = e->axes[0].base;
		} else {
			open->mark[open->n++] = e->memo.n;
			k_loop_begin(k, k_int(k, 0), lower_dim(e->l, n->axes[i]), 1, 0, NULL, &index);
		}
		if (i < first) c = k_ptradd(k, c, k_mul(k, index, c_stride[i]), ktype_size(t));
		a.pointer = k_ptradd(k, a.pointer, k_mul(k, index, a.stride[axis_along(e, x, xi, i)]),
		                     ktype_size(a.type));
		b.pointer = k_ptradd(k, b.pointer, k_mul(k, index, b.stride[axis_along(e, y, yi, i)]),
		                     ktype_size(b.type));
	}
	GemmOperands q = {.c = c,
	                  .c_row = columns,
	                  .c_col = k_int(k, 1),
	                  .a = a.pointer,
	                  .a_row = a.stride[axis_along(e, x, xi, first)],
	                  .a_k = a.stride[x_row],
	                  .b = b.pointer,
	                  .b_k = b.stride[y_row],
	                  .b_col = b.stride[axis_along(e, y, yi, second)],
	                  .m = m,
	                  .n = columns,
	                  .k = e->rows};
	q.rows = lower_hint(e->l, n->axes[first], 1000),
	q.columns = lower_hint(e->l, n->axes[second], 1000);
	q.transpose_b = worth_transposing(q.rows, q.columns);
	return q;
}

/* Do the operands of the two products have the same layout? */
static bool same_layout(const GemmOperands *p, const GemmOperands *q) {
	return p->c == q->c && p->c_row == q->c_row && p->c_col == q->c_col && p->a_row == q->a_row &&
	       p->a_k == q->a_k && p->b_k == q->b_k && p->b_col == q->b_col && p->m == q->m &&
	       p->n == q->n && p->k == q->k && p->transpose_b == q->transpose_b;
}

/* All terms of the sum. Consecutive terms of equal layout become one
 * instruction, which combines its partial sums once for all of them. */
static void columns_times_columns(ArrayEmit *e, LoopNode *n) {
	enum { TOGETHER = 16 };
	KType t = node_type_of(e, n);
	KRef c = partial_of(e, n);
	GemmOperands run[TOGETHER];
	uint32_t length = 0;
	for (uint32_t i = 0; i <= n->terms.n; i++) {
		LoopNode *term = i ? &e->p->nodes.at[n->terms.at[i - 1]] : n;
		const bool loops = term->naxes > 3;
		if (length && loops)
			emit_products(e, t, run[0], KF_ACCUMULATE, K_CONTRACT, length - 1, run + 1), length = 0;
		OuterLoops open;
		GemmOperands q = outer_product(e, term, t, c, &open);
		if (loops) {
			emit_product(e, t, q, KF_ACCUMULATE, K_CONTRACT);
			while (open.n) {
				k_loop_end(e->k, NULL, NULL);
				memo_cut(e, open.mark[--open.n]);
			}
			continue;
		}
		if (length == TOGETHER || (length && !same_layout(&q, &run[0])))
			emit_products(e, t, run[0], KF_ACCUMULATE, K_CONTRACT, length - 1, run + 1), length = 0;
		run[length++] = q;
	}
	if (length) emit_products(e, t, run[0], KF_ACCUMULATE, K_CONTRACT, length - 1, run + 1);
}

void emit_whole_product(ArrayEmit *e, const LoopNode *n, KRef terms, KRef how) {
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	Index at[MAX_AXES], xi[MAX_RANK], yi[MAX_RANK];
	for (uint32_t i = 0; i < n->naxes; i++) at[i] = index_axis(i);
	dot_indices(e->p, in, at, xi, yi);
	Matrix a, b;
	if (!whole_matrix(e, inst_arg(f, in, 0), &a) || !whole_matrix(e, inst_arg(f, in, 1), &b)) {
		e->l->failed = true;
		return;
	}
	uint32_t x_k = xi[0].axis == 2 ? 0 : 1, y_k = yi[0].axis == 2 ? 0 : 1;
	KRef columns = lower_dim(e->l, n->axes[1]);
	GemmOperands q = {.c = node_memory(e, n),
	                  .c_row = columns,
	                  .c_col = k_int(e->k, 1),
	                  .a = a.pointer,
	                  .a_row = a.stride[1 - x_k],
	                  .a_k = a.stride[x_k],
	                  .b = b.pointer,
	                  .b_k = b.stride[y_k],
	                  .b_col = b.stride[1 - y_k],
	                  .m = lower_dim(e->l, n->axes[0]),
	                  .n = columns,
	                  .k = terms ? terms : lower_dim(e->l, n->axes[2])};
	KRef operands[13] = {q.c,   q.c_row, q.c_col, q.a, q.a_row, q.a_k, q.b,
	                     q.b_k, q.b_col, q.m,     q.n, q.k,     how};
	k_contract(e->k, K_GEMM, node_type_of(e, n), 0, how ? 13 : 12, operands);
}

void emit_contraction(ArrayEmit *e, LoopNode *n) {
	const LoopNode *sum = n->sum ? &e->p->nodes.at[n->sum - 1] : NULL;
	const uint32_t mark = e->memo.n;
	if (n->contraction == CONTRACTION_SHARED_MATRIX && sum && sum->stream_store) {
		k_if_begin(e->k, sum->stream_store, 0);
		rows_times_matrix(e, n, NULL);
		memo_cut(e, mark);
		k_if_else(e->k, 0, NULL);
		rows_times_matrix(e, n, sum);
		memo_cut(e, mark);
		k_if_end(e->k, NULL, NULL);
	} else if (n->contraction == CONTRACTION_SHARED_MATRIX) rows_times_matrix(e, n, sum);
	else if (n->contraction == CONTRACTION_REDUCED_ROWS) columns_times_columns(e, n);
	else if (n->contraction == CONTRACTION_BATCHED) products_of_rows(e, n);
	else emit_whole_product(e, n, 0, 0);
}
