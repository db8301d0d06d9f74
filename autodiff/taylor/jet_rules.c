/* jet_rules.c - Taylor series of the structural primitives that are neither
 * linear nor bilinear: indexing, extrema, products.
 *
 * Needs: jet.h.
 *
 * Contract:
 * - There is one rule for each structural primitive with DERIV RULE or STRUCT,
 *   bound through prims.def. A primitive without one does not link.
 * - The rules of control flow and calls are in jet.c, those of the
 *   factorisations in jet_linalg.c.
 */
#include "autodiff/taylor/jet.h"

#define JET_RULE(ID) jet_rule_##ID
#define JET_NONLINEAR(ID) jet_rule_##ID
#define JET_STRUCT(ID) jet_rule_##ID
#define JET_LINEAR(ID) jet_linear
#define JET_BILINEAR(ID) jet_bilinear
#define JET_ZERO(ID) jet_primal
static const JetRule rules[OP_COUNT] = {
#define ST(ID, name, nargs, nres, attr, DERIV, EFFECT, WORK, doc) [OP_##ID] = JET_##DERIV(ID),
#include "lang/ir/prims.def"
};

JetRule jet_rule(Op op) { return rules[op]; }

uint64_t jet_rule_mask(const Jet *j, const Inst *in) {
	uint64_t x = jet_mask(j, inst_arg(j->f, in, 0));
	uint64_t second = in->nargs > 1 ? jet_mask(j, inst_arg(j->f, in, 1)) : 0;
	switch ((Op)in->op) {
	case OP_GATHER:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN: return x;
	case OP_SELECT: return second | jet_mask(j, inst_arg(j->f, in, 2));
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: return x | jet_mask(j, inst_arg(j->f, in, 2));
	case OP_SOLVED:
		return x ? mask_closure(x | jet_mask(j, inst_arg(j->f, in, 3)), j->order)
		         : jet_mask(j, inst_arg(j->f, in, 3));
	case OP_TRISOLVE: return x ? mask_closure(x | second, j->order) : second;
	default: return mask_closure(x, j->order);
	}
}

static Ref arg(const Jet *j, const Inst *in, uint32_t k) { return inst_arg(j->f, in, k); }

/* ---- indexing: linear in the arrays; the index has no series ------------- */

void jet_rule_GATHER(Jet *j, const Inst *in) {
	jet_primal(j, in);
	int axis = (int)attr_int(j->c, OP_GATHER, in->attr, 0),
		batch = (int)attr_int(j->c, OP_GATHER, in->attr, 1);
	Ref index = jet_get(j, arg(j, in, 1), 0);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref x = jet_get(j, arg(j, in, 0), k);
		if (x) jet_set(j, inst_result(in, 0), k, build_gather(j->b, x, index, axis, batch));
	}
}

static void scatter(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Op op = (Op)in->op;
	int axis = (int)attr_int(j->c, op, in->attr, 0), batch = (int)attr_int(j->c, op, in->attr, 1);
	Ref index = jet_get(j, arg(j, in, 1), 0);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref x = jet_get(j, arg(j, in, 0), k), u = jet_get(j, arg(j, in, 2), k);
		if (!x && !u) continue;
		/* Zero updates can be skipped when they are added, not when they are
		 * set. */
		if (u || op == OP_SCATTER_SET)
			x = build_scatter(j->b, op, jet_full(j, arg(j, in, 0), k), index,
			                  jet_full(j, arg(j, in, 2), k), axis, batch);
		jet_set(j, inst_result(in, 0), k, x);
	}
}

void jet_rule_SCATTER_ADD(Jet *j, const Inst *in) { scatter(j, in); }

void jet_rule_SCATTER_SET(Jet *j, const Inst *in) { scatter(j, in); }

/* ---- extrema: the mean of the series of all elements that attain it ------ */

static void extremum(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	uint32_t naxes;
	const int64_t *words = attr_field(j->c, (Op)in->op, in->attr, 0, &naxes);
	Ref x0 = jet_get(j, arg(j, in, 0), 0), y0 = jet_get(j, inst_result(in, 0), 0);
	Type x = *ref_ty(build_fn(b), x0);
	int axes[MAX_RANK], kept[MAX_RANK];
	uint32_t nkept = 0;
	for (uint32_t i = 0, at = 0; i < x.rank; i++) {
		if (at < naxes && words[at] == i) axes[at++] = (int)i;
		else kept[nkept++] = (int)i;
	}
	TypeId wide = ref_type(build_fn(b), x0);
	Ref attained = build2(b, OP_EQ, x0, build_broadcast(b, y0, x.rank, x.dims, kept));
	Ref zeros = build_zeros(b, wide);
	Ref count = build_reduce(b, OP_REDUCE_SUM,
	                         build_select(b, attained, build_full(b, wide, 1), zeros), naxes, axes);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref xk = jet_get(j, arg(j, in, 0), k);
		if (!xk) continue;
		Ref sum = build_reduce(b, OP_REDUCE_SUM, build_select(b, attained, xk, zeros), naxes, axes);
		jet_set(j, inst_result(in, 0), k, build2(b, OP_DIV, sum, count));
	}
}

void jet_rule_REDUCE_MAX(Jet *j, const Inst *in) { extremum(j, in); }

void jet_rule_REDUCE_MIN(Jet *j, const Inst *in) { extremum(j, in); }

/* ---- products along axes ------------------------------------------------- */

/* The factors as rows: the multiplied axes in front, merged into one. */
typedef struct FactorRows {
	Ref x[JET_MAX_ORDER + 1]; /* coefficients, [extent, other axes...] */
	Dim length;
	int64_t known; /* the extent when it is a small constant, else -1 */
	Type row;      /* dims of the other axes */
	TypeId row_type;
} FactorRows;

static Ref to_rows(Builder *b, Ref x, uint32_t nfront, const int *perm, const FactorRows *rows) {
	if (!x) return REF_NONE;
	x = build_transpose(b, x, perm);
	if (nfront == 1) return x;
	Dim shape[MAX_RANK];
	shape[0] = rows->length;
	memcpy(shape + 1, rows->row.dims, sizeof(Dim) * rows->row.rank);
	return build_reshape(b, x, rows->row.rank + 1u, shape);
}

static FactorRows make_rows(Jet *j, Ref from, uint32_t naxes, const int64_t *axes) {
	Builder *b = j->b;
	Type x = *ref_ty(build_fn(b), jet_get(j, from, 0));
	FactorRows rows = {.length = dim_const(j->c, 1), .row = {.kind = TY_TENSOR, .dtype = x.dtype}};
	int perm[MAX_RANK];
	uint32_t n = 0;
	for (uint32_t i = 0; i < naxes; i++) {
		perm[n++] = (int)axes[i];
		rows.length = dim_mul(j->c, rows.length, x.dims[axes[i]]);
	}
	for (uint32_t i = 0; i < x.rank; i++) {
		bool front = false;
		for (uint32_t k = 0; k < naxes; k++) front |= axes[k] == i;
		if (front) continue;
		perm[n++] = (int)i;
		rows.row.dims[rows.row.rank++] = x.dims[i];
	}
	rows.row_type = type_tensor(j->c, (Dtype)x.dtype, rows.row.rank, rows.row.dims);
	if (!dim_is_const(j->c, rows.length, &rows.known) || rows.known > DIM_SMALL) rows.known = -1;
	for (uint32_t k = 0; k <= j->order; k++)
		rows.x[k] = to_rows(b, jet_get(j, from, k), naxes, perm, &rows);
	return rows;
}

static Ref row_at(Builder *b, const FactorRows *rows, Ref x, Ref index) {
	(void)rows;
	return x ? build_gather(b, x, index, 0, 0) : REF_NONE;
}

static NodeId row_leaf(Jet *j, Series *s, const FactorRows *rows, int64_t i) {
	Ref *coef = ARENA_ARRAY(j->scratch, Ref, j->order + 1);
	Dim start[MAX_RANK], length[MAX_RANK];
	for (uint32_t a = 0; a <= rows->row.rank; a++) {
		start[a] = dim_const(j->c, a ? 0 : i);
		length[a] = a ? rows->row.dims[a - 1] : dim_const(j->c, 1);
	}
	for (uint32_t k = 0; k <= j->order; k++)
		if (rows->x[k])
			coef[k] = build_reshape(j->b, build_slice(j->b, rows->x[k], start, length, NULL),
			                        rows->row.rank, rows->row.dims);
	return series_leaf(s, coef);
}

/* A balanced tree of products: n factors need n - 1 of them. */
static NodeId product_tree(Series *s, const NodeId *x, uint32_t n, Dtype dtype) {
	if (n == 1) return x[0];
	NodeId pair[2] = {product_tree(s, x, n / 2, dtype),
	                  product_tree(s, x + n / 2, n - n / 2, dtype)};
	return series_node(s, OP_MUL, 2, pair, dtype, REF_NONE);
}

typedef struct SeriesFactors {
	Builder *b;
	const Ref *of[2];
} SeriesFactors;

static Ref factor(void *ud, uint32_t which, uint32_t k) {
	return ((const SeriesFactors *)ud)->of[which][k];
}

static Ref times(void *ud, Ref x, Ref y) {
	return build2(((const SeriesFactors *)ud)->b, OP_MUL, x, y);
}

/* A loop over the rows that carries the product's series and, for a running
 * product, the array of all of them. It carries only coefficients in the mask
 * of `result`. The results are stored in product[k] and, unless NULL, in
 * running[k]. */
static void product_loop(Jet *j, Ref result, const FactorRows *rows, bool reverse, Ref *product,
                         Ref *running) {
	Builder *b = j->b;
	uint32_t n = 0, slot[JET_MAX_ORDER + 1];
	TypeId types[2 * JET_MAX_ORDER + 3];
	Ref init[2 * JET_MAX_ORDER + 2], params[2 * JET_MAX_ORDER + 3], out[2 * JET_MAX_ORDER + 2];
	Dim shape[MAX_RANK];
	shape[0] = rows->length;
	memcpy(shape + 1, rows->row.dims, sizeof(Dim) * rows->row.rank);
	TypeId whole = type_tensor(j->c, (Dtype)rows->row.dtype, rows->row.rank + 1u, shape);
	uint64_t mask = jet_mask(j, result) | 1;
	types[0] = type_scalar(j->c, DT_I64);
	for (uint32_t k = 0; k <= j->order; k++) {
		if (!(mask >> k & 1)) continue;
		slot[n] = k;
		types[1 + n] = rows->row_type;
		init[n++] = k ? build_zeros(b, rows->row_type) : build_full(b, rows->row_type, 1);
	}
	uint32_t total = running ? 2 * n - 1 : n;
	for (uint32_t i = n; i < total; i++) {
		types[1 + i] = whole;
		init[i] = build_zeros(b, whole);
	}
	OpenRegion *open = build_region_begin(b, 1 + total, types, params);
	Ref index = params[0], now[JET_MAX_ORDER + 1] = {REF_NONE}, row[JET_MAX_ORDER + 1];
	if (reverse)
		index = build2(b, OP_SUB, build2(b, OP_SUB, build_extent(b, rows->length), build_i64(b, 1)),
		               index);
	for (uint32_t i = 0; i < n; i++) now[slot[i]] = params[1 + i];
	for (uint32_t k = 0; k <= j->order; k++) row[k] = row_at(b, rows, rows->x[k], index);
	SeriesFactors f = {b, {now, row}};
	for (uint32_t i = 0; i < n; i++) out[i] = cauchy(b, slot[i], 0, false, factor, times, &f);
	for (uint32_t i = n; i < total; i++)
		out[i] = build_scatter(b, OP_SCATTER_SET, params[1 + i], index, out[i - n + 1], 0, 0);
	RegionId body = build_region_end(b, open, total, out);
	build_for(b, build_extent(b, rows->length), total, init, body, out);
	for (uint32_t i = 0; i < n; i++) product[slot[i]] = out[i];
	for (uint32_t i = n; i < total; i++) running[slot[i - n + 1]] = out[i];
}

void jet_rule_REDUCE_PROD(Jet *j, const Inst *in) {
	jet_primal(j, in);
	uint32_t naxes;
	const int64_t *axes = attr_field(j->c, OP_REDUCE_PROD, in->attr, 0, &naxes);
	FactorRows rows = make_rows(j, arg(j, in, 0), naxes, axes);
	if (!rows.known) return; /* nothing to multiply */
	Ref result = inst_result(in, 0);
	if (rows.known < 0) {
		Ref product[JET_MAX_ORDER + 1] = {REF_NONE};
		product_loop(j, result, &rows, false, product, NULL);
		for (uint32_t k = 1; k <= j->order; k++) jet_set(j, result, k, product[k]);
		return;
	}
	Series *s = series_new(j->c, j->b, j->scratch, j->order, in->span, rows.row_type);
	NodeId factors[DIM_SMALL];
	for (int64_t i = 0; i < rows.known; i++) factors[i] = row_leaf(j, s, &rows, i);
	NodeId product = product_tree(s, factors, (uint32_t)rows.known, (Dtype)rows.row.dtype);
	for (uint32_t k = 1; k <= j->order; k++) jet_set(j, result, k, series_coef(s, product, k));
}

static Ref from_rows(Builder *b, Ref x, int64_t axis, uint32_t rank) {
	int back[MAX_RANK];
	for (uint32_t i = 0; i < rank; i++) back[i] = i == axis ? 0 : (int)i + (i < axis);
	return build_transpose(b, x, back);
}

void jet_rule_CUMPROD(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	int64_t axis = attr_int(j->c, OP_CUMPROD, in->attr, 0);
	bool reverse = attr_int(j->c, OP_CUMPROD, in->attr, 1) != 0;
	FactorRows rows = make_rows(j, arg(j, in, 0), 1, &axis);
	uint32_t rank = rows.row.rank + 1u;
	if (!rows.known) return;
	Ref result = inst_result(in, 0), running[JET_MAX_ORDER + 1] = {REF_NONE};
	if (rows.known < 0) {
		Ref last[JET_MAX_ORDER + 1];
		product_loop(j, result, &rows, reverse, last, running);
	} else {
		Series *s = series_new(j->c, b, j->scratch, j->order, in->span, rows.row_type);
		NodeId at[DIM_SMALL];
		for (int64_t i = 0; i < rows.known; i++) {
			int64_t place = reverse ? rows.known - 1 - i : i,
					before = reverse ? place + 1 : place - 1;
			at[place] = row_leaf(j, s, &rows, place);
			if (i)
				at[place] = series_node(s, OP_MUL, 2, (NodeId[]){at[before], at[place]},
				                        (Dtype)rows.row.dtype, REF_NONE);
		}
		Dim one[MAX_RANK];
		one[0] = dim_const(j->c, 1);
		memcpy(one + 1, rows.row.dims, sizeof(Dim) * rows.row.rank);
		for (uint32_t k = 1; k <= j->order; k++) {
			Ref parts[DIM_SMALL];
			bool any = false;
			for (int64_t i = 0; i < rows.known; i++) any |= series_coef(s, at[i], k) != REF_NONE;
			if (!any) continue;
			for (int64_t i = 0; i < rows.known; i++) {
				Ref x = series_coef(s, at[i], k);
				parts[i] = build_reshape(b, x ? x : build_zeros(b, rows.row_type), rank, one);
			}
			running[k] = build_concat(b, (uint32_t)rows.known, parts, 0);
		}
	}
	for (uint32_t k = 1; k <= j->order; k++)
		if (running[k]) jet_set(j, result, k, from_rows(b, running[k], axis, rank));
}
