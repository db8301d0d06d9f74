/* map_vectorise.c - vectorised maps: each lane runs the program for one row.
 *
 * Needs: schedule.h; scalarise.c for the instructions, which see one row.
 *
 * Method: `map` of a function on small values adds one axis, the row, that the
 * function never reads across. Such instructions are done row by row. A
 * parallel loop over blocks contains a vector loop over a block's rows, and
 * inside it runs the program as it was before mapping. A loop of the program
 * thus carries registers instead of arrays.
 *
 * Tapes. The values that a derivative saves in each iteration form an array
 * with an axis of iterations beside that of rows. It stays in memory. An
 * iteration stores its row's elements there, and later code reads them by the
 * iteration's index. A loop at the step's own level may carry a tape.
 *
 * Masks. Rows may diverge (`while`, `if` and `for` under map,
 * autodiff/batch/batch.c). Then a mask marks the active rows, and inactive rows
 * keep their values: every result is select(mask, new, old). Additional
 * iterations therefore do not affect an inactive row, and "some row is active"
 * may be tested for each vector separately. Inactive rows are fed the operands
 * of an active row (gather by select(mask, iota, argmax(mask))). Here it is an
 * active row of the same vector. Where inactive rows can neither fail nor loop
 * forever, they keep their operands.
 *
 * Lanes. Small arrays of a loop may share an axis of fixed extent, such as
 * f64[2, 14] and f64[14]. They are treated in the same way: the axis takes the
 * place of the rows, and all of it is in one vector. Sums over it reduce the
 * lanes to one uniform scalar. Here, a value without the axis may therefore
 * depend on values with it, be carried, and be a result. There are no masks.
 * Any other instruction that reads across the axis is rejected.
 */
#include "backend/native/lower/schedule.h"
#include <math.h>

#define ROW_COUNT 64          /* elements of one row of a value */
#define ROWS_WORK 6000        /* element operations that may be emitted */
#define BLOCK_ROWS 256        /* rows between two polls */
#define TRIP_COUNT_GUESSED 16 /* assumed trip count of a loop, where unknown */
#define MASKS_MOST 8          /* nested */
#define LANES_LEAST 4         /* extent of an axis that becomes a vector */
#define LANES_MOST 32
#define LENGTHS_MOST 8       /* candidates */
#define LANES_WORK 4         /* element-wise operations from which on it pays */
#define UNROLL_TRIP_COUNT 16 /* iterations of an unrolled loop, at most */
#define UNROLL_WORK 1500     /* operations it may become */

/* ---- values -------------------------------------------------------------- */

/* Whether an extent is unknown or too large for registers. */
static bool is_long(Ctx *c, Dim d) {
	int64_t v;
	return !dim_is_const(c, d, &v) || v > SMALL_COUNT;
}

/* Whether t is a tensor whose axes other than `row` have few fixed elements. */
static bool row_type(Ctx *c, TypeId t, Dim row, bool *has_row) {
	const Type *ty = type_of(c, t);
	*has_row = false;
	if (ty->kind != TY_TENSOR || dtype_is_complex((Dtype)ty->dtype)) return false;
	int64_t count = 1, n;
	for (uint32_t i = 0; i < ty->rank; i++) {
		if (ty->dims[i] == row) {
			if (*has_row) return false;
			*has_row = true;
			continue;
		}
		if (!dim_is_const(c, ty->dims[i], &n) || n < 0 || n > ROW_COUNT) return false;
		count *= n;
		if (count > ROW_COUNT) return false;
	}
	return *has_row || type_is_small(c, t, NULL);
}

/* Finds the extent of the only long axis; false when there are none or
 * several. */
static bool only_long(Ctx *c, TypeId t, Dim *row) {
	const Type *ty = type_of(c, t);
	uint32_t n = 0;
	for (uint32_t i = 0; ty->kind == TY_TENSOR && i < ty->rank; i++)
		if (is_long(c, ty->dims[i])) {
			*row = ty->dims[i];
			n++;
		}
	return n == 1;
}

bool rows_take_factor(const Fn *f, const Inst *in, Dim *row) {
	Ctx *c = f->ctx;
	bool has = false;
	const TypeId first = ref_type(f, inst_arg(f, in, 0));
	if (!factor_takes_type(c, in, first) || !only_long(c, first, row)) return false;
	for (uint32_t k = 0; k < in->nargs + in->nresults; k++) {
		const TypeId t =
			ref_type(f, k < in->nargs ? inst_arg(f, in, k) : inst_result(in, k - in->nargs));
		const Type *ty = type_of(c, t);
		if (!row_type(c, t, *row, &has) || !has) return false;
		/* A row of the permutation is a vector. */
		const uint32_t own = k >= in->nargs && k - in->nargs == 1 ? 1 : 2;
		for (uint32_t i = ty->rank - own; i < ty->rank; i++)
			if (ty->dims[i] == *row) return false;
	}
	return true;
}

/* ---- masks --------------------------------------------------------------- */

/* A boolean for each row, or its negation. */
typedef struct Mask {
	Ref r; /* REF_NONE: none */
	bool off;
} Mask;

static bool same_mask(Mask x, Mask y) { return x.r == y.r && x.off == y.off; }

typedef enum CrossLane { /* recognised operations across the rows */
	                     CROSS_LANE_NONE,
	                     CROSS_LANE_COUNT,     /* number of rows in the mask */
	                     CROSS_LANE_ANY,       /* whether there is one */
	                     CROSS_LANE_FIRST,     /* index of the first */
	                     CROSS_LANE_BROADCAST, /* that index, for each row */
	                     /* Each row's own index if it is in the mask, else the
	                   * first's. */
	                     CROSS_LANE_SAFE_INDEX
} CrossLane;

static bool is_mask(const Lower *l, Ref r) {
	const Type *t = ref_ty(l->f, r);
	return ref_is_value(r) && t->kind == TY_TENSOR && t->dtype == DT_BOOL && t->rank == 1 &&
	       t->dims[0] == l->row;
}

/* The mask that r is, without its negations. */
static Mask mask_from(const Lower *l, Ref r) {
	Mask m = {.r = r};
	Value v;
	for (;;) {
		const Inst *in = ref_inst(l->f, m.r);
		if (!in || in->op != OP_EQ || !is_mask(l, inst_arg(l->f, in, 0))) return m;
		if (!ref_splat(l->f, inst_arg(l->f, in, 1), &v) || v.dtype != DT_BOOL || v.b) return m;
		m.r = inst_arg(l->f, in, 0);
		m.off = !m.off;
	}
}

static bool is_zero(const Lower *l, Ref r) {
	Value v;
	return ref_splat(l->f, r, &v) && v.dtype == DT_I64 && v.i == 0;
}

static bool is_own_number(const Lower *l, Ref r) {
	const Inst *in = ref_inst(l->f, r);
	return in && in->op == OP_IOTA && ref_ty(l->f, r)->dims[0] == l->row;
}

static CrossLane cross_lane_idiom(const Lower *l, Ref r, Mask *mask) {
	const Fn *f = l->f;
	const Inst *in = ref_inst(f, r), *x;
	Ref given;
	if (!in || l->row_lanes) return CROSS_LANE_NONE;
	switch ((Op)in->op) {
	case OP_REDUCE_SUM:
		x = ref_inst(f, inst_arg(f, in, 0));
		if (!x || x->op != OP_CONVERT || ref_ty(f, r)->rank || ref_ty(f, r)->dtype != DT_I64)
			return CROSS_LANE_NONE;
		given = inst_arg(f, x, 0);
		if (!is_mask(l, given)) return CROSS_LANE_NONE;
		*mask = mask_from(l, given);
		return CROSS_LANE_COUNT;
	case OP_LT:
		if (!is_zero(l, inst_arg(f, in, 0))) return CROSS_LANE_NONE;
		return cross_lane_idiom(l, inst_arg(f, in, 1), mask) == CROSS_LANE_COUNT ? CROSS_LANE_ANY
		                                                                         : CROSS_LANE_NONE;
	case OP_ARGMAX:
		given = inst_arg(f, in, 0);
		if (!is_mask(l, given)) return CROSS_LANE_NONE;
		*mask = mask_from(l, given);
		return CROSS_LANE_FIRST;
	case OP_BROADCAST:
		return cross_lane_idiom(l, inst_arg(f, in, 0), mask) == CROSS_LANE_FIRST
		           ? CROSS_LANE_BROADCAST
		           : CROSS_LANE_NONE;
	case OP_SELECT:
		if (!is_mask(l, inst_arg(f, in, 0))) return CROSS_LANE_NONE;
		for (uint32_t k = 0; k < 2; k++) { /* the builder removes a negation by swapping */
			Mask own = mask_from(l, inst_arg(f, in, 0));
			own.off ^= k != 0;
			if (!is_own_number(l, inst_arg(f, in, 1 + k)) ||
			    cross_lane_idiom(l, inst_arg(f, in, 2 - k), mask) != CROSS_LANE_BROADCAST)
				continue;
			return same_mask(own, *mask) ? CROSS_LANE_SAFE_INDEX : CROSS_LANE_NONE;
		}
		return CROSS_LANE_NONE;
	default: return CROSS_LANE_NONE;
	}
}

/* Whether `in` is gather(x, i), where i feeds inactive rows. */
static bool is_feed(const Lower *l, const Inst *in, Mask *mask) {
	if (in->op != OP_GATHER || attr_int(l->c, OP_GATHER, in->attr, 0) ||
	    attr_int(l->c, OP_GATHER, in->attr, 1))
		return false;
	return lower_row_axis(l, inst_arg(l->f, in, 0)) == 0 &&
	       cross_lane_idiom(l, inst_arg(l->f, in, 1), mask) == CROSS_LANE_SAFE_INDEX;
}

/* The mask from which r, a condition for each element, is broadcast. */
static Mask mask_of(const Lower *l, Ref r) {
	const Inst *in = ref_inst(l->f, r);
	if (is_mask(l, r)) return mask_from(l, r);
	if (in && in->op == OP_BROADCAST && lower_row_axis(l, r) == 0 &&
	    is_mask(l, inst_arg(l->f, in, 0)))
		return mask_from(l, inst_arg(l->f, in, 0));
	return (Mask){.r = REF_NONE};
}

static bool same_value(const Lower *l, Ref x, Ref y) {
	Value p, q;
	if (x == y) return true;
	if (!ref_splat(l->f, x, &p) || !ref_splat(l->f, y, &q) || p.dtype != q.dtype ||
	    dtype_is_complex((Dtype)p.dtype))
		return false;
	return !memcmp(value_scalar_bytes(&p), value_scalar_bytes(&q), dtype_size((Dtype)p.dtype));
}

static bool is_nothing(const Lower *l, Ref r) {
	Value v;
	double x;
	return ref_splat(l->f, r, &v) && !dtype_is_complex((Dtype)v.dtype) && value_as_f64(v, &x) &&
	       x == 0;
}

/* Whether `next` equals `old` for rows outside a mask. Sets *mask; if it is set
 * already, the masks must be the same. */
static bool keeps(const Lower *l, Ref next, Ref old, Mask *mask) {
	if (next == old) return true;
	const Inst *in = ref_inst(l->f, next);
	Mask m = {.r = REF_NONE};
	if (in && in->op == OP_SELECT) {
		m = mask_of(l, inst_arg(l->f, in, 0));
		if (!same_value(l, inst_arg(l->f, in, 2), old)) {
			m.off = !m.off;
			if (!same_value(l, inst_arg(l->f, in, 1), old)) return false;
		}
	} else if (in && in->op == OP_ADD &&
	           (inst_arg(l->f, in, 0) == old || inst_arg(l->f, in, 1) == old)) {
		/* The term is zero outside the mask. */
		const Inst *term = ref_inst(l->f, inst_arg(l->f, in, inst_arg(l->f, in, 0) == old));
		if (!term || term->op != OP_SELECT) return false;
		m = mask_of(l, inst_arg(l->f, term, 0));
		if (!is_nothing(l, inst_arg(l->f, term, 2))) {
			m.off = !m.off;
			if (!is_nothing(l, inst_arg(l->f, term, 1))) return false;
		}
	} else if (in && in->op == OP_MIN && is_mask(l, next) &&
	           (inst_arg(l->f, in, 0) == old || inst_arg(l->f, in, 1) == old)) {
		m = mask_from(l, old);
	}
	if (!m.r || (mask->r && !same_mask(*mask, m))) return false;
	*mask = m;
	return true;
}

/* ---- legality ------------------------------------------------------------ */

typedef struct MapVectoriser {
	Lower l;        /* with in_rows */
	uint32_t depth; /* open regions */
	double work;
	/* Element-wise operations on rows, and sums over all rows: as emitted,
	 * without trip counts. */
	double along, joins;
	Mask masks[MASKS_MOST];
	uint32_t nmasks;
} MapVectoriser;

static bool takes_inst(MapVectoriser *w, const Inst *in);
static MapVectoriser taking(const Lower *l, Dim row, uint32_t lanes);

/* ---- tapes --------------------------------------------------------------- */

/* Whether r is an array of rows with too many elements in a row for registers.
 * With a single vector of lanes it need not have rows. */
static bool is_tape(const Lower *l, Ref r) {
	bool row;
	const Type *t = ref_ty(l->f, r);
	return (ref_is_value(r) || ref_constant(l->f, r)) && t->kind == TY_TENSOR &&
	       !dtype_is_complex((Dtype)t->dtype) && (l->row_lanes || lower_row_axis(l, r) >= 0) &&
	       !row_type(l->c, ref_type(l->f, r), l->row, &row);
}

/* Whether `in` is a gather or scatter_set along an axis of a tape, at an index
 * that all rows share. The axes other than that and the row must have few
 * elements. */
static bool at_iteration(const Lower *l, const Inst *in) {
	if ((in->op != OP_GATHER && in->op != OP_SCATTER_SET) || !is_tape(l, inst_arg(l->f, in, 0)))
		return false;
	const Type *t = ref_ty(l->f, inst_arg(l->f, in, 0));
	const int axis = (int)attr_int(l->c, (Op)in->op, in->attr, 0),
			  row = lower_row_axis(l, inst_arg(l->f, in, 0));
	int64_t n;
	if (axis == row || attr_int(l->c, (Op)in->op, in->attr, 1) ||
	    ref_ty(l->f, inst_arg(l->f, in, 1))->rank)
		return false;
	for (int i = 0; i < t->rank; i++)
		if (i != row &&
		    (t->dims[i] == l->row || (i != axis && !dim_is_const(l->c, t->dims[i], &n))))
			return false;
	return true;
}

/* Whether the loop carries result k as a tape that an iteration only writes. */
static bool carries_tape(const Lower *l, const Inst *in, uint32_t k) {
	if (in->op != OP_FOR || !is_tape(l, inst_result(in, k)) ||
	    !ref_is_value(inst_arg(l->f, in, 1 + k)))
		return false;
	const Region *body = inst_region(l->f, in, 0);
	const Ref param = ref_value(body->params + 1 + k), next = l->f->args.at[body->results + k];
	const Inst *write = ref_inst(l->f, next);
	return write && write->op == OP_SCATTER_SET && at_iteration(l, write) &&
	       inst_arg(l->f, write, 0) == param && l->uses[REF_INDEX(param)] == 1 &&
	       l->uses[REF_INDEX(next)] == 1;
}

static bool has_row(const MapVectoriser *w, Ref r) { return lower_row_axis(&w->l, r) >= 0; }

static uint32_t first_of(const Inst *in) { return in->op == OP_FOR; }

static Ref region_result(const Lower *l, const Region *g, uint32_t k) {
	return l->f->args.at[g->results + k];
}

static bool takes_ref(const MapVectoriser *w, Ref r) {
	bool row;
	Mask mask;
	if (!row_type(w->l.c, ref_type(w->l.f, r), w->l.row, &row)) return false;
	return !ref_is_value(r) || cross_lane_idiom(&w->l, r, &mask) == CROSS_LANE_NONE;
}

/* takes_loop checks the tapes among parameters and results. */
static bool takes_region(MapVectoriser *w, const Region *g, bool any_result) {
	bool row, good = true;
	w->depth++;
	for (uint32_t k = 0; k < g->nparams && good; k++)
		good = row_type(w->l.c, w->l.f->vals.at[g->params + k].type, w->l.row, &row) ||
		       is_tape(&w->l, ref_value(g->params + k));
	for (uint32_t i = 0; i < g->ninsts && good; i++)
		good = takes_inst(w, &w->l.f->insts.at[w->l.f->inst_order.at[g->insts + i]]);
	for (uint32_t k = 0; k < g->nresults && good; k++)
		good = any_result || takes_ref(w, region_result(&w->l, g, k)) ||
		       is_tape(&w->l, region_result(&w->l, g, k));
	w->depth--;
	return good;
}

static bool push_mask(MapVectoriser *w, Mask mask) {
	if (w->nmasks == MASKS_MOST) return false;
	w->masks[w->nmasks++] = mask;
	return true;
}

/* The mask of the rows on which an iteration of the body has an effect. */
static Mask body_mask(const Lower *l, const Inst *in, const Region *body) {
	Mask mask = {.r = REF_NONE};
	for (uint32_t k = 0; k < in->nresults && !l->row_lanes; k++)
		if (!keeps(l, region_result(l, body, k), ref_value(body->params + first_of(in) + k), &mask))
			return (Mask){.r = REF_NONE};
	return mask;
}

static bool takes_loop(MapVectoriser *w, const Inst *in) {
	const Lower *l = &w->l;
	const Fn *f = l->f;
	const Region *body = inst_region(f, in, in->op == OP_FOR ? 0 : 1);
	Mask mask = {.r = REF_NONE}, any;
	for (uint32_t k = 0; k < in->nargs; k++) {
		if (takes_ref(w, inst_arg(f, in, k))) continue;
		if (w->depth || k < first_of(in) || !carries_tape(l, in, k - first_of(in))) return false;
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_tape(l, inst_result(in, k)) && (w->depth || !carries_tape(l, in, k))) return false;
	double trip_count = TRIP_COUNT_GUESSED, outside = w->work;
	w->work = 0;
	if (in->op == OP_FOR) {
		const Const *n = ref_constant(f, inst_arg(f, in, 0));
		int64_t known;
		if (n && value_as_i64(n->value, &known)) trip_count = (double)known;
		mask = body_mask(l, in, body);
	} else {
		const Region *test = inst_region(f, in, 0);
		if (!takes_region(w, test, true)) return false;
		Ref go_on = region_result(l, test, 0);
		if (cross_lane_idiom(l, go_on, &any) == CROSS_LANE_ANY) {
			/* The mask must be carried, and be the same for test and body. */
			mask = body_mask(l, in, body);
			if (!mask.r || mask.off || any.off || REF_INDEX(mask.r) < body->params ||
			    REF_INDEX(mask.r) >= body->params + body->nparams)
				return false;
			if (any.r != ref_value(test->params + (REF_INDEX(mask.r) - body->params))) return false;
		} else if (!takes_ref(w, go_on)) {
			return false;
		}
	}
	/* The trip count differs between vectors, so results without rows must be
	 * invariant. */
	for (uint32_t k = 0; k < in->nresults && mask.r; k++)
		if (!has_row(w, inst_result(in, k)) &&
		    region_result(l, body, k) != ref_value(body->params + first_of(in) + k))
			return false;
	if (mask.r && !push_mask(w, mask)) return false;
	if (!takes_region(w, body, false)) return false;
	w->nmasks -= mask.r != REF_NONE;
	w->work = outside + w->work * (trip_count > 1 ? trip_count : 1);
	return true;
}

/* Residuals: the values that a derivative saves in a branch. The branch returns
 * them for all rows, and they are undefined for rows that skip it. This is
 * allowed where only branches of the same mask read them and pass nothing to
 * other rows. */
typedef struct Residuals {
	uint32_t first, n; /* values */
	const bool *is;
	bool read;
} Residuals;

static void look_for_residual(void *ud, Ref r) {
	Residuals *x = ud;
	if (ref_is_value(r) && REF_INDEX(r) - x->first < x->n && x->is[REF_INDEX(r) - x->first])
		x->read = true;
}

static bool takes_branches(MapVectoriser *w, const Inst *in, Mask *mask, bool *residual);

static bool residuals_stay(const MapVectoriser *w, const Inst *in, Mask mask, const bool *is) {
	const Lower *l = &w->l;
	const Fn *f = l->f;
	const Region *g = &f->regions.at[in->parent];
	Residuals x = {.first = in->results, .n = in->nresults, .is = is};
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is[k] && !dtype_is_real((Dtype)ref_ty(f, inst_result(in, k))->dtype)) return false;
	for (uint32_t k = 0; k < g->nresults; k++) look_for_residual(&x, f->args.at[g->results + k]);
	for (uint32_t i = 0; i < g->ninsts && !x.read; i++) {
		const Inst *user = &f->insts.at[f->inst_order.at[g->insts + i]];
		inst_refs(f, user, look_for_residual, &x);
		if (!x.read) continue;
		if (user->op != OP_IF) return false;
		const Region *no = inst_region(f, user, 1);
		x.read = false;
		for (uint32_t k = 0; k < user->nargs; k++) look_for_residual(&x, inst_arg(f, user, k));
		for (uint32_t k = 0; k < no->nresults; k++) look_for_residual(&x, region_result(l, no, k));
		for (uint32_t k = 0; k < no->ninsts; k++)
			inst_refs(f, &f->insts.at[f->inst_order.at[no->insts + k]], look_for_residual, &x);
		MapVectoriser own = taking(l, l->row, l->row_lanes);
		Mask theirs = {.r = REF_NONE};
		bool *residual = ARENA_ARRAY(l->scratch, bool, user->nresults + 1);
		if (x.read || !takes_branches(&own, user, &theirs, residual) || !same_mask(theirs, mask))
			return false;
		for (uint32_t k = 0; k < user->nresults; k++)
			if (residual[k]) return false;
	}
	return !x.read;
}

/* mask: set to the mask of a branch that some rows take; it is active while the
 * branch runs. residual: by result, whether rows outside the mask may get a new
 * value. */
static bool takes_branches(MapVectoriser *w, const Inst *in, Mask *mask, bool *residual) {
	const Lower *l = &w->l;
	const Fn *f = l->f;
	Mask any;
	const Region *yes = inst_region(f, in, 0), *no = inst_region(f, in, 1);
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_tape(l, inst_result(in, k))) return false;
	if (cross_lane_idiom(l, inst_arg(f, in, 0), &any) == CROSS_LANE_ANY) {
		*mask = any;
		for (uint32_t k = 0; k < in->nresults; k++)
			residual[k] = !keeps(l, region_result(l, yes, k), region_result(l, no, k), mask);
		if (!push_mask(w, *mask)) return false;
	} else if (!takes_ref(w, inst_arg(f, in, 0))) {
		return false;
	}
	if (!takes_region(w, yes, false)) return false;
	w->nmasks -= mask->r != REF_NONE;
	return takes_region(w, no, false);
}

static bool takes_if(MapVectoriser *w, const Inst *in) {
	Mask mask = {.r = REF_NONE};
	bool *residual = ARENA_ARRAY(w->l.scratch, bool, in->nresults + 1), any = false;
	if (!takes_branches(w, in, &mask, residual)) return false;
	for (uint32_t k = 0; k < in->nresults; k++) any |= residual[k];
	return !any || residuals_stay(w, in, mask, residual);
}

/* Whether the axes before the row have as many elements in both. */
static bool same_front(const Lower *l, Ref x, Ref y) {
	int64_t front[2] = {1, 1}, n;
	for (uint32_t k = 0; k < 2; k++) {
		const Type *t = ref_ty(l->f, k ? y : x);
		for (int i = 0; i < lower_row_axis(l, k ? y : x); i++)
			front[k] *= dim_is_const(l->c, t->dims[i], &n) ? n : 0;
	}
	return front[0] == front[1];
}

static bool row_untouched(const Lower *l, const Inst *in) {
	const Ref x = inst_arg(l->f, in, 0), y = inst_result(in, 0);
	const int row = lower_row_axis(l, x);
	uint32_t n;
	int64_t start;
	if (row != lower_row_axis(l, y) ||
	    (in->op == OP_UPDATE && row != lower_row_axis(l, inst_arg(l->f, in, 1))))
		return false;
	if (row < 0) return true;
	if (!dim_is_const(l->c, (Dim)attr_field(l->c, (Op)in->op, in->attr, 0, &n)[row], &start) ||
	    start)
		return false;
	return attr_field(l->c, (Op)in->op, in->attr, in->op == OP_UPDATE ? 1 : 2, &n)[row] == 1;
}

static bool in_list(uint32_t n, const int64_t *list, int64_t x, uint32_t *where) {
	for (uint32_t k = 0; k < n; k++)
		if (list[k] == x) {
			*where = k;
			return true;
		}
	return false;
}

static bool dot_by_rows(const Lower *l, const Inst *in) {
	uint32_t n[4], at[2] = {0, 0};
	const int64_t *list[4];
	for (uint32_t k = 0; k < 4; k++) list[k] = attr_field(l->c, OP_DOT, in->attr, k, &n[k]);
	const int row[2] = {lower_row_axis(l, inst_arg(l->f, in, 0)),
	                    lower_row_axis(l, inst_arg(l->f, in, 1))};
	for (uint32_t k = 0; k < 2; k++)
		if (row[k] >= 0 && in_list(n[k], list[k], row[k], &at[k])) return false;
	const bool x = row[0] >= 0 && in_list(n[2], list[2], row[0], &at[0]),
			   y = row[1] >= 0 && in_list(n[3], list[3], row[1], &at[1]);
	return row[0] >= 0 && row[1] >= 0 ? x && y && at[0] == at[1] : !x && !y;
}

static bool index_by_rows(const Lower *l, const Inst *in) {
	const int axis = (int)attr_int(l->c, (Op)in->op, in->attr, 0),
			  batch = (int)attr_int(l->c, (Op)in->op, in->attr, 1);
	const int x = lower_row_axis(l, inst_arg(l->f, in, 0)),
			  i = lower_row_axis(l, inst_arg(l->f, in, 1));
	if (x >= 0 && i >= 0) return x == i && x < batch;
	if (x >= 0) return x != axis && x >= batch;
	return in->op == OP_GATHER && i >= batch;
}

static bool takes_rows(const Lower *l, const Inst *in) {
	const Fn *f = l->f;
	const Ref out = inst_result(in, 0);
	uint32_t n, count;
	Dim row;
	const int at = lower_row_axis(l, out),
			  from = in->nargs ? lower_row_axis(l, inst_arg(f, in, 0)) : -1;
	if (prims[in->op].elementwise) return true;
	switch ((Op)in->op) {
	case OP_SELECT:
	case OP_CONVERT:
	case OP_STOP:
	case OP_TRANSPOSE:
	case OP_IOTA: return true;
	case OP_BROADCAST:
		return from < 0 || attr_field(l->c, OP_BROADCAST, in->attr, 1, &n)[from] == at;
	case OP_RESHAPE: return at >= 0 && from >= 0 && same_front(l, inst_arg(f, in, 0), out);
	case OP_SLICE:
	case OP_PAD:
	case OP_UPDATE:
		if (!row_untouched(l, in)) return false;
		break;
	case OP_CONCAT:
		if (attr_int(l->c, OP_CONCAT, in->attr, 0) == at) return false;
		break;
	case OP_ARGMAX:
	case OP_CUMSUM:
	case OP_CUMPROD:
		if (attr_int(l->c, (Op)in->op, in->attr, 0) == from) return false;
		break;
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN: break;
	case OP_DOT:
		if (!dot_by_rows(l, in)) return false;
		break;
	case OP_GATHER:
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET:
		if (!index_by_rows(l, in)) return false;
		break;
	case OP_LU:
	case OP_CHOLESKY:
	case OP_TRISOLVE: return rows_take_factor(f, in, &row) && row == l->row;
	default: return false;
	}
	count = lower_shape(l, out).count;
	return small_rule(l, in, count);
}

/* Whether `in` reads elements of an array that all rows share and that is too
 * large for registers. It is in memory, since values computed by rows are
 * small. */
static bool is_lookup(const Lower *l, const Inst *in) {
	if (in->op != OP_GATHER || attr_int(l->c, OP_GATHER, in->attr, 1)) return false;
	const Ref x = inst_arg(l->f, in, 0);
	const Type *t = ref_ty(l->f, x);
	const int64_t axis = attr_int(l->c, OP_GATHER, in->attr, 0);
	int64_t n;
	if (type_is_small(l->c, ref_type(l->f, x), NULL) || dtype_is_complex((Dtype)t->dtype))
		return false;
	for (uint32_t i = 0; i < t->rank; i++)
		if (t->dims[i] == l->row || (i != axis && !dim_is_const(l->c, t->dims[i], &n)))
			return false;
	return true;
}

static bool takes_lookup(MapVectoriser *w, const Inst *in) {
	const Ref out = inst_result(in, 0), index = inst_arg(w->l.f, in, 1);
	bool row;
	if (!takes_ref(w, index) || !row_type(w->l.c, ref_type(w->l.f, out), w->l.row, &row) ||
	    row != has_row(w, index))
		return false;
	w->work += 2 * lower_shape(&w->l, out).count;
	return true;
}

static bool takes_iteration(MapVectoriser *w, const Inst *in) {
	const Lower *l = &w->l;
	bool row;
	const Ref x = in->op == OP_GATHER ? inst_result(in, 0) : inst_arg(l->f, in, 2);
	w->work += 2;
	return takes_ref(w, inst_arg(l->f, in, 1)) && row_type(l->c, ref_type(l->f, x), l->row, &row) &&
	       (row || l->row_lanes) && ref_is_value(x);
}

/* Whether `in` reduces over the axis in the lanes. */
static bool reduces_lanes(const Lower *l, const Inst *in) {
	uint32_t n[2], at[2];
	const int64_t *axes[2];
	int row[2];
	if (!l->row_lanes) return false;
	switch ((Op)in->op) {
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
		axes[0] = attr_field(l->c, (Op)in->op, in->attr, 0, &n[0]);
		return in_list(n[0], axes[0], lower_row_axis(l, inst_arg(l->f, in, 0)), &at[0]);
	case OP_DOT:
		for (uint32_t k = 0; k < 2; k++) {
			axes[k] = attr_field(l->c, OP_DOT, in->attr, k, &n[k]);
			row[k] = lower_row_axis(l, inst_arg(l->f, in, k));
			if (row[k] < 0 || !in_list(n[k], axes[k], row[k], &at[k])) return false;
		}
		return at[0] == at[1];
	default: return false;
	}
}

/* Whether the values that become the instruction's results have the row at the
 * same axis as these. An extent that only a guard makes equal differs here. */
static bool rows_alike(const MapVectoriser *w, const Inst *in) {
	const Fn *f = w->l.f;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const int row = lower_row_axis(&w->l, inst_result(in, k));
		if (in->op != OP_IF && lower_row_axis(&w->l, inst_arg(f, in, first_of(in) + k)) != row)
			return false;
		for (uint32_t r = in->op == OP_WHILE; r < in->nregions; r++)
			if (lower_row_axis(&w->l, region_result(&w->l, inst_region(f, in, r), k)) != row)
				return false;
	}
	return true;
}

static bool takes_inst(MapVectoriser *w, const Inst *in) {
	const Lower *l = &w->l;
	const Fn *f = l->f;
	Mask mask;
	bool rows = false, row;
	/* Its users must recognise it. */
	if (in->nresults && cross_lane_idiom(l, inst_result(in, 0), &mask) != CROSS_LANE_NONE)
		return true;
	if (in->op == OP_FOR || in->op == OP_WHILE || in->op == OP_IF) {
		for (uint32_t k = 0; k < in->nresults; k++)
			if (!row_type(l->c, ref_type(f, inst_result(in, k)), l->row, &row) &&
			    !is_tape(l, inst_result(in, k)))
				return false;
		return rows_alike(w, in) && (in->op == OP_IF ? takes_if(w, in) : takes_loop(w, in));
	}
	if (in->nregions || in->op == OP_CALL || in->op == OP_FAIL || in->op == OP_FORMAT) return false;
	if (is_feed(l, in, &mask)) {
		for (uint32_t k = 0; k < w->nmasks; k++)
			if (same_mask(w->masks[k], mask)) return takes_ref(w, inst_arg(f, in, 0));
		return false;
	}
	if (at_iteration(l, in)) return (w->depth || in->op == OP_GATHER) && takes_iteration(w, in);
	if (is_lookup(l, in)) return takes_lookup(w, in);
	double work = 1;
	for (uint32_t k = 0; k < in->nargs; k++) {
		if (!takes_ref(w, inst_arg(f, in, k))) return false;
		rows = rows || has_row(w, inst_arg(f, in, k));
		const double n = lower_shape(l, inst_arg(f, in, k)).count;
		if (n > work) work = n;
	}
	const bool joins = reduces_lanes(l, in);
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (!row_type(l->c, ref_type(f, inst_result(in, k)), l->row, &row) ||
		    (joins ? row : row < rows))
			return false;
		rows = rows || row;
	}
	if (joins) {
		w->joins += lower_shape(l, inst_result(in, 0)).count;
		return small_rule(l, in, lower_shape(l, inst_result(in, 0)).count);
	}
	if (rows && prims[in->op].elementwise) w->along += work;
	if (in->op == OP_LU || in->op == OP_CHOLESKY || in->op == OP_TRISOLVE) work *= FACTOR_ROWS;
	if (in->op == OP_DOT) work *= lower_shape(l, inst_result(in, 0)).count;
	w->work += work;
	return rows ? takes_rows(l, in) : small_takes(l, in);
}

/* Emitted operations: loops count once. */
static double written(const MapVectoriser *w, const Inst *in) {
	double n = 1;
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *g = inst_region(w->l.f, in, k);
		for (uint32_t i = 0; i < g->ninsts; i++)
			n += written(w, &w->l.f->insts.at[w->l.f->inst_order.at[g->insts + i]]);
	}
	for (uint32_t k = 0; !in->nregions && !is_lookup(&w->l, in) && k < in->nargs; k++)
		if (!is_tape(&w->l, inst_arg(w->l.f, in, k)))
			n += lower_shape(&w->l, inst_arg(w->l.f, in, k)).count;
	return in->op == OP_LU ? n * FACTOR_ROWS : n;
}

static MapVectoriser taking(const Lower *l, Dim row, uint32_t lanes) {
	MapVectoriser w = {.l = *l};
	w.l.in_rows = true;
	w.l.row = row;
	w.l.row_lanes = lanes;
	return w;
}

bool map_is_vectorisable(const Lower *l, const Inst *in, Dim row) {
	MapVectoriser w = taking(l, row, 0);
	Mask mask;
	if (!in->nresults || !takes_inst(&w, in)) return false;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref out = inst_result(in, k);
		if (cross_lane_idiom(&w.l, out, &mask) != CROSS_LANE_NONE) return false;
		if (has_row(&w, out)) continue;
		/* A result without rows must be invariant or unused: rows would have
		 * different values. */
		if (in->op != OP_FOR && in->op != OP_WHILE) return false;
		const Region *body = inst_region(l->f, in, in->op == OP_FOR ? 0 : 1);
		if (l->uses[REF_INDEX(out)] &&
		    region_result(l, body, k) != ref_value(body->params + first_of(in) + k))
			return false;
	}
	return written(&w, in) <= ROWS_WORK;
}

bool value_is_tape(const Lower *l, Ref r, const SchedStep *p) {
	const MapVectoriser w = taking(l, p->row, p->lanes);
	return is_tape(&w.l, r);
}

bool operand_fills_tape(const Lower *l, const Inst *in, uint32_t k, const SchedStep *p) {
	return in->op == OP_FOR && k && value_is_tape(l, inst_result(in, k - 1), p) &&
	       tape_needs_fill(l, in, k - 1);
}

bool is_cross_row_idiom(const Lower *l, const Inst *in, Dim row) {
	const MapVectoriser w = taking(l, row, 0);
	Mask mask;
	return in->nresults && cross_lane_idiom(&w.l, inst_result(in, 0), &mask) != CROSS_LANE_NONE;
}

bool map_needs_vector(const Lower *l, const Inst *in, Dim *row) {
	if (in->op == OP_LU || in->op == OP_CHOLESKY || in->op == OP_TRISOLVE)
		return rows_take_factor(l->f, in, row);
	if (in->op != OP_FOR && in->op != OP_WHILE && in->op != OP_IF) return false;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (only_long(l->c, ref_type(l->f, inst_result(in, k)), row))
			return map_is_vectorisable(l, in, *row);
	return false;
}

/* The extents of the last axes of arrays in the region, the largest first,
 * without duplicates. */
typedef struct Lengths {
	uint32_t n;
	int64_t at[LENGTHS_MOST];
} Lengths;

static void note_lengths(const Lower *l, const Region *g, Lengths *out) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &l->f->insts.at[l->f->inst_order.at[g->insts + i]];
		for (uint32_t k = 0; k < in->nregions; k++) note_lengths(l, inst_region(l->f, in, k), out);
		const Type *t = in->nresults ? ref_ty(l->f, inst_result(in, 0)) : NULL;
		int64_t n;
		uint32_t at = 0;
		if (!prims[in->op].elementwise || t->kind != TY_TENSOR || !t->rank ||
		    !dim_is_const(l->c, t->dims[t->rank - 1], &n))
			continue;
		if (n < LANES_LEAST || n > LANES_MOST) continue;
		while (at < out->n && out->at[at] > n) at++;
		if ((at < out->n && out->at[at] == n) || out->n == LENGTHS_MOST) continue;
		memmove(&out->at[at + 1], &out->at[at], (out->n++ - at) * sizeof *out->at);
		out->at[at] = n;
	}
}

bool axis_is_vectorisable(const Lower *l, const Inst *in, Dim *row, uint32_t *lanes) {
	Lengths lengths = {0};
	if ((in->op != OP_FOR && in->op != OP_WHILE) || l->k.m->target.vector_bytes < 16) return false;
	for (uint32_t k = 0; k < in->nregions; k++) note_lengths(l, inst_region(l->f, in, k), &lengths);
	for (uint32_t k = 0; k < lengths.n; k++) {
		*row = dim_const(l->c, lengths.at[k]);
		for (*lanes = LANES_LEAST; *lanes < lengths.at[k]; *lanes *= 2) {}
		MapVectoriser w = taking(l, *row, *lanes);
		/* Reducing the lanes of a vector costs as much as a few operations on
		 * it. */
		if (takes_inst(&w, in) && written(&w, in) <= ROWS_WORK && w.along >= LANES_WORK &&
		    w.along >= 2 * w.joins)
			return true;
	}
	return false;
}

/* ---- emission ------------------------------------------------------------ */

typedef struct RowsEmit {
	Lower *l;
	bool feeds; /* inactive rows could fail, or not terminate */
	KRef base;  /* row index of lane 0 */
} RowsEmit;

static void emit_inst(RowsEmit *e, const Inst *in);

static KRef *room(Lower *l, uint32_t n) { return ARENA_ARRAY(l->scratch, KRef, n + 1); }

static const Inst *inst_in(const Lower *l, const Region *g, uint32_t i) {
	return &l->f->insts.at[l->f->inst_order.at[g->insts + i]];
}

/* Makes x varying. */
static KRef spread(KBuilder *b, KRef x) {
	return k_lanes_of(b, x) ? x : k_select(b, k_mask(b), x, x);
}

/* Whether the mask's rows are available. They are not when the mask was made,
 * and reduced across rows, before this step. */
static bool is_here(RowsEmit *e, Mask mask) {
	return lower_place(e->l, mask.r)->kind == PLACE_SMALL;
}

/* The active lanes whose rows are in the mask. */
static KRef rows_in(RowsEmit *e, Mask mask) {
	KBuilder *b = &e->l->k;
	if (!is_here(e, mask)) {
		e->l->failed = true;
		return k_mask(b);
	}
	KRef x = lower_place(e->l, mask.r)->elements[0];
	return k_logic(b, 0, k_mask(b), mask.off ? k_not(b, x) : x);
}

static KRef any_row(RowsEmit *e, Mask mask) {
	return k_reduce_lanes(&e->l->k, OP_MAX, rows_in(e, mask));
}

/* x where the mask holds, elsewhere the x of a lane where it holds. */
static void emit_feed(RowsEmit *e, const Inst *in, Mask mask) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const Storage *x = lower_place(l, inst_arg(l->f, in, 0));
	KRef *out = room(l, x->count);
	KRef chosen = e->feeds ? rows_in(e, mask) : 0,
		 lane = e->feeds ? k_reduce_lanes(b, OP_MIN,
	                                      k_select(b, chosen, k_lane(b), k_int(b, b->lanes - 1)))
	                     : 0;
	for (uint32_t i = 0; i < x->count; i++) {
		out[i] = x->elements[i];
		if (!e->feeds || !k_lanes_of(b, out[i])) continue;
		KRef at = k_stack(b, (int64_t)b->lanes * ktype_size(k_type(b, out[i])));
		k_store(b, KM_UNIT, at, k_int(b, 0), out[i], 0);
		out[i] = k_select(b, chosen, out[i], k_load(b, k_type(b, out[i]), KM_UNIFORM, at, lane, 0));
	}
	lower_set_small(l, inst_result(in, 0), x->count, out);
}

static void emit_lookup(RowsEmit *e, const Inst *in) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const Type x = *ref_ty(l->f, inst_arg(l->f, in, 0));
	const Storage *from = lower_place(l, inst_arg(l->f, in, 0)),
				  *index = lower_place(l, inst_arg(l->f, in, 1));
	const int64_t axis = attr_int(l->c, OP_GATHER, in->attr, 0);
	const KType t = lower_ktype(l, inst_result(in, 0));
	int64_t outer = 1, row = 1, v;
	for (int64_t i = 0; i < x.rank; i++)
		if (i != axis) *(i < axis ? &outer : &row) *= dim_is_const(l->c, x.dims[i], &v) ? v : 1;
	l->failed |= from->kind != PLACE_MEMORY;
	KRef length = lower_dim(l, x.dims[axis]),
		 *out = room(l, (uint32_t)(outer * row) * index->count), *checked = room(l, index->count);
	uint32_t n = 0;
	for (uint32_t j = 0; j < index->count; j++) {
		checked[j] = k_convert(b, index->elements[j], KT_I64);
		KRef bad =
			k_logic(b, 1, k_lt(b, checked[j], k_int(b, 0)), k_prim2(b, OP_LE, length, checked[j]));
		k_fail_if(b, bad, lower_site(l, SITE_INDEX, in), checked[j], length);
	}
	for (int64_t o = 0; o < outer; o++)
		for (uint32_t j = 0; j < index->count; j++)
			for (int64_t r = 0; r < row; r++) {
				KRef at = k_add(b, checked[j], k_mul(b, length, k_int(b, o)));
				at = k_add(b, k_mul(b, at, k_int(b, row)), k_int(b, r));
				out[n++] =
					k_load(b, t, k_lanes_of(b, at) ? KM_INDEXED : KM_UNIFORM, from->pointer, at, 0);
			}
	lower_set_small(l, inst_result(in, 0), n, out);
}

static void emit_region(RowsEmit *e, const Region *g, const bool *which, bool wanted) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (!which || which[i] == wanted) emit_inst(e, inst_in(e->l, g, i));
}

/* Marks the instructions, by position in the region, that r depends on. */
static void need(const Lower *l, const Region *g, Ref r, bool *needs);

typedef struct Needing {
	const Lower *l;
	const Region *g;
	bool *needs;
} Needing;

static void need_ref(void *ud, Ref r) {
	Needing *n = ud;
	need(n->l, n->g, r, n->needs);
}

static void need(const Lower *l, const Region *g, Ref r, bool *needs) {
	const Inst *in = ref_inst(l->f, r);
	for (uint32_t i = 0; in && i < g->ninsts; i++) {
		if (inst_in(l, g, i) != in || needs[i]) continue;
		needs[i] = true;
		Needing n = {l, g, needs};
		inst_refs(l->f, in, need_ref, &n);
	}
}

/* Writes the kernel values of r that a loop carries to `at`, and returns their
 * number. spreads: values with rows become varying. */
static uint32_t flat(RowsEmit *e, Ref r, bool spreads, KRef *at) {
	if (is_tape(e->l, r)) return 0;
	const Storage *p = lower_place(e->l, r);
	const bool varying = spreads && lower_row_axis(e->l, r) >= 0;
	const uint32_t n = lower_shape(e->l, r).count;
	/* A constant along the rows must be one scalar; otherwise the loop cannot
	 * be done by rows. */
	if (p->count != n) {
		bool one = p->count > 0;
		for (uint32_t i = 1; i < p->count; i++) one = one && p->elements[i] == p->elements[0];
		e->l->failed |= !one;
		const KRef first = one ? p->elements[0] : k_bits(&e->l->k, lower_ktype(e->l, r), 0);
		for (uint32_t i = 0; i < n; i++) at[i] = varying ? spread(&e->l->k, first) : first;
		return n;
	}
	for (uint32_t i = 0; i < p->count; i++)
		at[i] = varying ? spread(&e->l->k, p->elements[i]) : p->elements[i];
	return p->count;
}

/* Tapes are not carried in kernel values. */
static uint32_t count_of(const Lower *l, Ref r) {
	return is_tape(l, r) ? 0 : lower_shape(l, r).count;
}

/* Sets parameters or results, from value `first` on, to the carried values
 * `at`. */
static void set_carried(RowsEmit *e, const Inst *in, uint32_t first, const KRef *at) {
	Lower *l = e->l;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const uint32_t n = count_of(l, inst_result(in, k));
		if (is_tape(l, inst_result(in, k)))
			lower_set_memory(l, ref_value(first + k), lower_destination(l, inst_result(in, k)));
		else lower_set_small(l, ref_value(first + k), n, at);
		at += n;
	}
}

static uint32_t carried(RowsEmit *e, const Inst *in, KRef *init) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nresults; k++)
		n += flat(e, inst_arg(e->l->f, in, first_of(in) + k), true, init + n);
	return n;
}

static uint32_t carried_most(const Lower *l, const Inst *in) {
	uint32_t n = 1;
	for (uint32_t k = 0; k < in->nresults; k++) n += count_of(l, inst_result(in, k));
	return n;
}

static uint32_t region_work(const Lower *l, const Region *g) {
	double n = 1;
	const MapVectoriser w = taking(l, l->row, l->row_lanes);
	for (uint32_t i = 0; i < g->ninsts; i++) n += written(&w, inst_in(l, g, i));
	n *= 8;
	return n < 1e6 ? (uint32_t)n : 1000000;
}

/* Emits one iteration. A body with a mask runs where some row of the vector is
 * active. */
static void emit_iteration(RowsEmit *e, const Inst *in, const Region *body, Mask mask, uint32_t n,
                           const KRef *old, KRef *next) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	uint32_t m = 0;
	if (!mask.r) {
		emit_region(e, body, NULL, false);
		for (uint32_t k = 0; k < in->nresults; k++)
			m += flat(e, region_result(l, body, k), false, next + m);
		return;
	}
	bool *needs = ARENA_ARRAY(l->scratch, bool, body->ninsts + 1);
	need(l, body, mask.r, needs);
	emit_region(e, body, needs, true);
	KRef *yes = room(l, n), *no = room(l, n);
	k_if_begin(b, any_row(e, mask), 0);
	emit_region(e, body, needs, false);
	for (uint32_t k = 0; k < in->nresults; k++)
		m += flat(e, region_result(l, body, k), true, yes + m);
	k_if_else(b, n, yes);
	for (uint32_t i = 0; i < n; i++) no[i] = old[i];
	k_if_end(b, no, next);
}

/* Whether an instruction selects a register by a computed index. */
static bool picks(const Lower *l, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = inst_in(l, g, i);
		for (uint32_t k = 0; k < in->nregions; k++)
			if (picks(l, inst_region(l->f, in, k))) return true;
		if (in->op != OP_GATHER && in->op != OP_SCATTER_ADD && in->op != OP_SCATTER_SET) continue;
		if (!ref_is_const(inst_arg(l->f, in, 1)) && !is_tape(l, inst_arg(l->f, in, 0)) &&
		    !is_lookup(l, in))
			return true;
	}
	return false;
}

/* Whether to unroll: a short loop that selects by its counter has constant
 * indices then. */
static bool is_unrolled(const Lower *l, const Inst *in, const Region *body, KRef count) {
	const MapVectoriser w = taking(l, l->row, l->row_lanes);
	int64_t trip_count;
	return k_is_int(&l->k, count, &trip_count) && trip_count > 0 &&
	       trip_count <= UNROLL_TRIP_COUNT && written(&w, in) * (double)trip_count <= UNROLL_WORK &&
	       picks(l, body);
}

static void emit_for(RowsEmit *e, const Inst *in) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const Region *body = inst_region(l->f, in, 0);
	const uint32_t most = carried_most(l, in);
	KRef *init = room(l, most), *params = room(l, most), *next = room(l, most),
		 *out = room(l, most);
	KRef count = lower_place(l, inst_arg(l->f, in, 0))->elements[0];
	const uint32_t n = carried(e, in, init), work = region_work(l, body);
	if (is_unrolled(l, in, body, count)) {
		int64_t trip_count = 0;
		k_is_int(b, count, &trip_count);
		for (int64_t iteration = 0; iteration < trip_count; iteration++) {
			KRef counter = k_int(b, iteration);
			next = room(l, most);
			lower_set_small(l, ref_value(body->params), 1, &counter);
			set_carried(e, in, body->params + 1, init);
			emit_iteration(e, in, body, body_mask(l, in, body), n, init, next);
			init = next;
		}
		set_carried(e, in, in->results, init);
		return;
	}
	if (l->row_lanes) lower_progress(l, in, true);
	l->loops += l->row_lanes > 0;
	k_loop_begin(b, k_int(b, 0), count, 1, n, init, params);
	lower_set_small(l, ref_value(body->params), 1, params);
	set_carried(e, in, body->params + 1, params + 1);
	int64_t known;
	if (!k_is_int(b, count, &known) || known * work > POLL_WORK)
		lower_poll(l, params[0], count, work);
	emit_iteration(e, in, body, body_mask(l, in, body), n, params + 1, next);
	k_loop_end(b, next, out);
	l->loops -= l->row_lanes > 0;
	if (l->row_lanes) lower_progress(l, in, false);
	set_carried(e, in, in->results, out);
}

static void emit_while(RowsEmit *e, const Inst *in) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const Region *test = inst_region(l->f, in, 0), *body = inst_region(l->f, in, 1);
	const uint32_t most = carried_most(l, in);
	KRef *init = room(l, most), *at = room(l, most), *next = room(l, most), *out = room(l, most);
	uint32_t n = carried(e, in, init);
	const uint32_t counter = n++;
	init[counter] = k_int(b, 0);
	Mask any;
	if (l->row_lanes) lower_progress(l, in, true);
	l->loops += l->row_lanes > 0;
	k_while_begin(b, n, init, at);
	set_carried(e, in, test->params, at);
	emit_region(e, test, NULL, false);
	const Ref go_on = region_result(l, test, 0);
	KRef c = cross_lane_idiom(l, go_on, &any) == CROSS_LANE_ANY
	             ? any_row(e, any)
	             : lower_place(l, go_on)->elements[0];
	k_while_body(b, c, at);
	set_carried(e, in, body->params, at);
	lower_poll(l, at[counter], k_int(b, -1), region_work(l, test) + region_work(l, body));
	emit_iteration(e, in, body, (Mask){.r = REF_NONE}, n, at, next);
	next[counter] = k_add(b, at[counter], k_int(b, 1));
	k_while_end(b, next, out);
	l->loops -= l->row_lanes > 0;
	if (l->row_lanes) lower_progress(l, in, false);
	set_carried(e, in, in->results, out);
}

static void emit_if(RowsEmit *e, const Inst *in) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const uint32_t most = carried_most(l, in);
	KRef *values[2] = {room(l, most), room(l, most)}, *out = room(l, most);
	Mask any;
	/* Tests the rows of this vector where the mask is available. Otherwise uses
	 * the condition from before this step, which covers all vectors. */
	const Storage *all = lower_place(l, inst_arg(l->f, in, 0));
	const bool parts = cross_lane_idiom(l, inst_arg(l->f, in, 0), &any) == CROSS_LANE_ANY &&
	                   (is_here(e, any) || all->kind != PLACE_SMALL);
	k_if_begin(b, parts ? any_row(e, any) : all->elements[0], 0);
	for (uint32_t r = 0; r < 2; r++) {
		const Region *g = inst_region(l->f, in, r);
		uint32_t n = 0;
		emit_region(e, g, NULL, false);
		for (uint32_t k = 0; k < in->nresults; k++)
			n += flat(e, region_result(l, g, k), true, values[r] + n);
		if (!r) k_if_else(b, n, values[0]);
	}
	k_if_end(b, values[1], out);
	set_carried(e, in, in->results, out);
}

/* Reads or writes one iteration's elements of a tape. */
static void emit_at_iteration(RowsEmit *e, const Inst *in) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const bool reads = in->op == OP_GATHER;
	const Type t = *ref_ty(l->f, inst_arg(l->f, in, 0));
	const int axis = (int)attr_int(l->c, (Op)in->op, in->attr, 0),
			  row = lower_row_axis(l, inst_arg(l->f, in, 0));
	const Storage *tape = lower_place(l, inst_arg(l->f, in, 0));
	KRef iteration = k_convert(b, lower_place(l, inst_arg(l->f, in, 1))->elements[0], KT_I64),
		 length = lower_dim(l, t.dims[axis]);
	KRef bad = k_logic(b, 1, k_lt(b, iteration, k_int(b, 0)), k_prim2(b, OP_LE, length, iteration)),
		 stride[MAX_RANK];
	k_fail_if(b, bad, lower_site(l, SITE_INDEX, in), iteration, length);
	l->failed |= tape->kind != PLACE_MEMORY;
	int64_t count = 1, n, unit;
	for (int i = t.rank; i-- > 0;) {
		stride[i] =
			i + 1 < t.rank ? k_mul(b, stride[i + 1], lower_dim(l, t.dims[i + 1])) : k_int(b, 1);
		if (i != axis && i != row) count *= dim_is_const(l->c, t.dims[i], &n) ? n : 1;
	}
	const bool along = row < 0 || (k_is_int(b, stride[row], &unit) && unit == 1);
	const KMode mode = row < 0 ? KM_UNIFORM : along ? KM_UNIT : KM_STRIDED;
	const KRef step = along ? 0 : stride[row], first = k_mul(b, iteration, stride[axis]),
			   start = row < 0 ? first : k_add(b, first, k_mul(b, e->base, stride[row]));
	const KRef *x = reads ? NULL : lower_place(l, inst_arg(l->f, in, 2))->elements;
	KRef *out = room(l, (uint32_t)count);
	for (int64_t k = 0; k < count; k++) {
		int64_t rest = k;
		KRef at = start;
		for (int i = t.rank; i-- > 0;) {
			if (i == axis || i == row || !dim_is_const(l->c, t.dims[i], &n)) continue;
			at = k_add(b, at, k_mul(b, k_int(b, rest % n), stride[i]));
			rest /= n;
		}
		if (reads)
			out[k] = k_load(b, lower_ktype(l, inst_result(in, 0)), mode, tape->pointer, at, step);
		else k_store(b, mode, tape->pointer, at, x[k], step);
	}
	if (reads) lower_set_small(l, inst_result(in, 0), (uint32_t)count, out);
	else lower_set_memory(l, inst_result(in, 0), tape->pointer);
}

/* The neutral element of a reduction. */
static KRef nothing_of(KBuilder *b, Op op, KType t) {
	if (op == OP_ADD || op == OP_MUL) return k_const(b, t, op == OP_MUL);
	if (t == KT_F64 || t == KT_F32) return k_const(b, t, op == OP_MAX ? -INFINITY : INFINITY);
	if (t == KT_BOOL) return k_bits(b, t, op == OP_MIN);
	const int64_t least = t == KT_I32 ? INT32_MIN : INT64_MIN;
	return k_bits(b, t, (uint64_t)(op == OP_MAX ? least : -(least + 1)));
}

/* Each lane reduces its own elements, then the lanes are reduced. */
static void emit_join(RowsEmit *e, const Inst *in) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const Op op = in->op == OP_REDUCE_PROD  ? OP_MUL
	              : in->op == OP_REDUCE_MAX ? OP_MAX
	              : in->op == OP_REDUCE_MIN ? OP_MIN
	                                        : OP_ADD;
	lower_small(l, in);
	const Storage own = *lower_place(l, inst_result(in, 0));
	KRef *out = room(l, own.count);
	for (uint32_t i = 0; i < own.count; i++)
		out[i] = k_reduce_lanes(
			b, op,
			k_select(b, k_mask(b), own.elements[i], nothing_of(b, op, k_type(b, own.elements[i]))));
	lower_set_small(l, inst_result(in, 0), own.count, out);
}

static void emit_inst(RowsEmit *e, const Inst *in) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	Mask mask;
	if (in->nresults && cross_lane_idiom(l, inst_result(in, 0), &mask) != CROSS_LANE_NONE) return;
	b->span = in->span;
	b->origin = (uint32_t)(in - l->f->insts.at) + 1;
	if (in->op == OP_FOR) emit_for(e, in);
	else if (in->op == OP_WHILE) emit_while(e, in);
	else if (in->op == OP_IF) emit_if(e, in);
	else if (is_feed(l, in, &mask)) emit_feed(e, in, mask);
	else if (at_iteration(l, in)) emit_at_iteration(e, in);
	else if (is_lookup(l, in)) emit_lookup(e, in);
	else if (reduces_lanes(l, in)) emit_join(e, in);
	else if (in->op == OP_IOTA && lower_row_axis(l, inst_result(in, 0)) >= 0) {
		KRef number = k_convert(b, l->row_number, lower_ktype(l, inst_result(in, 0)));
		lower_set_small(l, inst_result(in, 0), 1, &number);
		/* Progress is not reported: many rows have no single value. */
	} else if (in->op != OP_PROGRESS || l->row_lanes) lower_small(l, in);
}

/* ---- memory -------------------------------------------------------------- */

typedef struct Inputs {
	Lower *l;
	bool *inside, *met; /* by value */
	VEC(Ref) list;
} Inputs;

static void mark_inside(Inputs *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nresults; k++) s->inside[in->results + k] = true;
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(s->l->f, in, r);
		for (uint32_t k = 0; k < g->nparams; k++) s->inside[g->params + k] = true;
		for (uint32_t i = 0; i < g->ninsts; i++) mark_inside(s, inst_in(s->l, g, i));
	}
}

static void note_input(void *ud, Ref r) {
	Inputs *s = ud;
	if (!ref_is_value(r) && !ref_constant(s->l->f, r)) return;
	if (lower_row_axis(s->l, r) < 0 || is_tape(s->l, r)) return;
	if (ref_is_value(r)) {
		if (s->inside[REF_INDEX(r)] || s->met[REF_INDEX(r)]) return;
		s->met[REF_INDEX(r)] = true;
	}
	for (uint32_t i = 0; i < s->list.n && !ref_is_value(r); i++)
		if (s->list.at[i] == r) return;
	VEC_PUSH(s->l->scratch, &s->list, r);
}

/* The index of element i for the row in lane 0; *step is the distance between
 * rows. */
static KRef element_at(RowsEmit *e, Ref r, uint32_t i, int64_t *step) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const Type t = *ref_ty(l->f, r);
	int64_t inner = 1, n;
	for (int a = lower_row_axis(l, r) + 1; a < t.rank; a++)
		inner *= dim_is_const(l->c, t.dims[a], &n) ? n : 1;
	KRef row = e->base;
	if (i / inner) row = k_add(b, row, k_mul(b, lower_dim(l, l->row), k_int(b, i / inner)));
	*step = inner;
	return k_add(b, k_mul(b, row, k_int(b, inner)), k_int(b, i % inner));
}

static void load_rows(RowsEmit *e, Ref r, KRef pointer) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const uint32_t n = count_of(l, r);
	KRef *x = room(l, n);
	for (uint32_t i = 0; i < n; i++) {
		int64_t step;
		KRef at = element_at(e, r, i, &step);
		x[i] = step == 1 ? k_load(b, lower_ktype(l, r), KM_UNIT, pointer, at, 0)
		                 : k_load(b, lower_ktype(l, r), KM_STRIDED, pointer, at, k_int(b, step));
	}
	lower_set_small(l, r, n, x);
}

static void store_rows(RowsEmit *e, Ref r, KRef to) {
	Lower *l = e->l;
	KBuilder *b = &l->k;
	const Storage *p = lower_place(l, r);
	for (uint32_t i = 0; i < p->count; i++) {
		int64_t step;
		KRef at = element_at(e, r, i, &step);
		k_store(b, step == 1 ? KM_UNIT : KM_STRIDED, to, at, p->elements[i],
		        step == 1 ? 0 : k_int(b, step));
	}
}

/* ---- a run --------------------------------------------------------------- */

/* Whether an inactive row could fail or not terminate. */
static bool has_hazard(const Lower *l, const Inst *in, bool masked) {
	Mask mask;
	if (in->nresults && cross_lane_idiom(l, inst_result(in, 0), &mask) != CROSS_LANE_NONE)
		return false;
	if (!in->nregions) return masked && flow_may_fail(l->f, in) && !is_feed(l, in, &mask);
	if (masked && in->op == OP_WHILE) return true;
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(l->f, in, r);
		for (uint32_t i = 0; i < g->ninsts; i++)
			if (has_hazard(l, inst_in(l, g, i), true)) return true;
	}
	return false;
}

static bool has_wide(const Lower *l, const Inst *in) {
	for (uint32_t k = 0; k < in->nresults; k++)
		if (ref_ty(l->f, inst_result(in, k))->dtype == DT_F64) return true;
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(l->f, in, r);
		for (uint32_t i = 0; i < g->ninsts; i++)
			if (has_wide(l, inst_in(l, g, i))) return true;
	}
	return false;
}

/* Whether there is only arithmetic, with the same trip counts for all rows. */
static bool is_arithmetic(const Lower *l, const Inst *in) {
	if (in->op == OP_WHILE || (prims[in->op].traits & TRAIT_MATHS)) return false;
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(l->f, in, r);
		for (uint32_t i = 0; i < g->ninsts; i++)
			if (!is_arithmetic(l, inst_in(l, g, i))) return false;
	}
	return true;
}

/* A row's operations mostly wait for each other, so rows of f64 take two
 * registers at a time, or four where there is only arithmetic. The additional
 * spills cost less than the latency. Four are too many for transcendental
 * functions, which overlap enough with two. They are also too many where trip
 * counts differ, because all rows of a vector wait for the last. */
static uint32_t row_lanes(const Lower *l, bool wide, bool arithmetic) {
	const uint32_t bytes = l->k.m->target.vector_bytes;
	return !wide || bytes >= 64 || (arithmetic && bytes >= 32) ? 16 : 8;
}

/* Stores a small array, whose elements are registers, in the stack frame. */
static KRef laid_down(Lower *l, const Storage *p, KType t, uint32_t lanes) {
	KBuilder *b = &l->k;
	KRef at = k_stack(b, (int64_t)(p->count + lanes) * ktype_size(t));
	for (uint32_t i = 0; i < p->count; i++)
		k_store(b, KM_UNIFORM, at, k_int(b, i), p->elements[i], 0);
	return at;
}

static void take_up(Lower *l, Ref r, KRef from) {
	KBuilder *b = &l->k;
	uint32_t count = 0;
	type_is_small(l->c, ref_type(l->f, r), &count);
	KRef *x = room(l, count);
	for (uint32_t i = 0; i < count; i++)
		x[i] = k_load(b, lower_ktype(l, r), KM_UNIFORM, from, k_int(b, i), 0);
	lower_set_small(l, r, count, x);
}

/* Whether elements along the row are all one value, mostly zero, and need no
 * vector. x gets these values. */
static bool same_in_row(Lower *l, Ref r, const Storage *p, KRef *x) {
	const Type t = *ref_ty(l->f, r);
	const int row = lower_row_axis(l, r);
	int64_t inner = 1, length = 1, n;
	dim_is_const(l->c, l->row, &length);
	for (int a = row + 1; a < t.rank; a++) inner *= dim_is_const(l->c, t.dims[a], &n) ? n : 1;
	for (int64_t i = 0; i < (int64_t)p->count; i++) {
		const int64_t outer = i / (inner * length), own = outer * inner + i % inner;
		if (i / inner % length == 0) x[own] = p->elements[i];
		else if (x[own] != p->elements[i]) return false;
	}
	return true;
}

/* A value that all rows share may have been computed in every lane. Then its
 * lanes are stored in the frame; returns their address and sets *x to
 * `nothing`. Returns 0 for a uniform value. */
static KRef in_first_lane(Lower *l, KRef *x, KRef nothing) {
	KBuilder *b = &l->k;
	if (!k_lanes_of(b, *x)) return 0;
	KRef at = k_stack(b, (int64_t)b->lanes * ktype_size(k_type(b, *x)));
	k_store(b, KM_UNIT, at, k_int(b, 0), *x, 0);
	*x = nothing;
	return at;
}

/* Emits a loop whose rows are one vector. Carried values without the axis leave
 * the vector loop, which has one iteration, as uniform scalars. */
static void lanes_emit(Lower *l, const SchedStep *p) {
	KBuilder *b = &l->k;
	const Fn *f = l->f;
	const Inst *in = &f->insts.at[p->insts[0]];
	RowsEmit e = {.l = l};
	Inputs s = {.l = l,
	            .inside = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1),
	            .met = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1)};
	l->in_rows = true;
	l->row = p->row;
	l->row_lanes = p->lanes;
	mark_inside(&s, in);
	inst_refs(f, in, note_input, &s);
	Storage *before = ARENA_ARRAY(l->scratch, Storage, s.list.n + 1);
	KRef *from = room(l, s.list.n), *to = room(l, in->nresults);
	for (uint32_t i = 0; i < s.list.n; i++) {
		const Ref r = s.list.at[i];
		before[i] = *lower_place(l, r);
		KRef *x = room(l, before[i].count);
		if (before[i].kind == PLACE_MEMORY) from[i] = before[i].pointer;
		else if (same_in_row(l, r, &before[i], x)) lower_set_small(l, r, count_of(l, r), x);
		else from[i] = laid_down(l, &before[i], lower_ktype(l, r), p->lanes);
	}
	uint32_t ncarried = 0, most = 1;
	for (uint32_t k = 0; k < in->nresults; k++) most += count_of(l, inst_result(in, k));
	KRef *init = room(l, most), *params = room(l, most), *out = room(l, most),
		 *first = room(l, most);
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (is_tape(l, r)) {
			lower_begin_tape(l, in, k);
		} else if (lower_row_axis(l, r) < 0) {
			for (uint32_t i = 0; i < count_of(l, r); i++)
				init[ncarried++] = k_const(b, lower_ktype(l, r), 0);
		} else if (type_is_small(l->c, ref_type(f, r), NULL)) {
			int64_t length = 1;
			dim_is_const(l->c, l->row, &length);
			to[k] =
				k_stack(b, (count_of(l, r) * length + p->lanes) * ktype_size(lower_ktype(l, r)));
		} else if (l->needed[REF_INDEX(r)]) {
			to[k] = lower_destination(l, r);
		}
	}
	k_vloop_begin(b, p->lanes, KF_SINGLE_TRIP, lower_dim(l, p->row), ncarried, init, NULL, params);
	e.base = k_int(b, 0);
	l->row_number = k_lane(b);
	for (uint32_t i = 0; i < s.list.n; i++)
		if (from[i]) load_rows(&e, s.list.at[i], from[i]);
	emit_inst(&e, in);
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (is_tape(l, r)) continue;
		if (to[k]) store_rows(&e, r, to[k]);
		else if (lower_row_axis(l, r) < 0) n += flat(&e, r, false, out + n);
	}
	for (uint32_t i = 0; i < ncarried; i++) first[i] = in_first_lane(l, &out[i], init[i]);
	k_vloop_end(b, out, params);
	for (uint32_t i = 0; i < ncarried; i++)
		if (first[i])
			params[i] = k_load(b, k_type(b, init[i]), KM_UNIFORM, first[i], k_int(b, 0), 0);

	for (uint32_t i = 0; i < s.list.n; i++) lower_set_place(l, s.list.at[i], before[i]);
	n = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (is_tape(l, r)) lower_set_memory(l, r, lower_destination(l, r));
		else if (lower_row_axis(l, r) < 0) {
			lower_set_small(l, r, count_of(l, r), params + n);
			n += count_of(l, r);
		} else if (to[k] && type_is_small(l->c, ref_type(f, r), NULL)) take_up(l, r, to[k]);
		else if (to[k]) lower_set_memory(l, r, to[k]);
	}
	l->in_rows = false;
	l->row_lanes = 0;
}

void rows_emit(Lower *l, const SchedStep *p) {
	if (p->lanes) {
		lanes_emit(l, p);
		return;
	}
	KBuilder *b = &l->k;
	const Fn *f = l->f;
	RowsEmit e = {.l = l};
	MapVectoriser w = taking(l, p->row, 0);
	Inputs s = {.l = l,
	            .inside = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1),
	            .met = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1)};
	bool wide = false, arithmetic = true;
	l->in_rows = true;
	l->row = p->row;
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *in = &f->insts.at[p->insts[i]];
		takes_inst(&w, in);
		mark_inside(&s, in);
		e.feeds = e.feeds || has_hazard(l, in, false);
		wide = wide || has_wide(l, in);
		arithmetic = arithmetic && is_arithmetic(l, in);
	}
	for (uint32_t i = 0; i < p->n; i++) inst_refs(f, &f->insts.at[p->insts[i]], note_input, &s);
	Storage *before = ARENA_ARRAY(l->scratch, Storage, s.list.n + 1);
	for (uint32_t i = 0; i < s.list.n; i++) {
		before[i] = *lower_place(l, s.list.at[i]);
		l->failed |= before[i].kind != PLACE_MEMORY;
	}

	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *in = &f->insts.at[p->insts[i]];
		for (uint32_t k = 0; k < in->nresults; k++) {
			if (in->nregions && is_tape(l, inst_result(in, k))) lower_begin_tape(l, in, k);
		}
	}
	KRef n = lower_dim(l, p->row), one = k_int(b, 1), block = k_int(b, BLOCK_ROWS);
	KRef work = k_int(b, w.work < 1e9 ? (int64_t)w.work + 1 : 1000000000);
	KRef nblocks = k_shift(b, 1, k_add(b, n, k_int(b, BLOCK_ROWS - 1)), k_int(b, 8));
	_Static_assert(BLOCK_ROWS == 1 << 8, "the shift above");
	KRef nparts = k_max(b, one, k_shift(b, 1, k_mul(b, n, work), k_int(b, 16)));
	nparts = k_min(b, k_min(b, nparts, k_int(b, MAX_PARTS)), nblocks);
	KRef part = k_parallel_begin(b, nparts), at, base;
	KRef first = k_prim2(b, OP_FLOORDIV, k_mul(b, part, nblocks), nparts);
	KRef last = k_prim2(b, OP_FLOORDIV, k_mul(b, k_add(b, part, one), nblocks), nparts);
	k_loop_begin(b, first, last, 1, 0, NULL, &at);
	KRef start = k_mul(b, at, block), rows = k_min(b, block, k_sub(b, n, start));
	k_vloop_begin(b, row_lanes(l, wide, arithmetic), 0, rows, 0, NULL, NULL, &base);
	e.base = k_add(b, start, base);
	l->row_number = k_add(b, k_lane(b), e.base);
	for (uint32_t i = 0; i < s.list.n; i++) load_rows(&e, s.list.at[i], before[i].pointer);
	for (uint32_t i = 0; i < p->n; i++) emit_inst(&e, &f->insts.at[p->insts[i]]);
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *in = &f->insts.at[p->insts[i]];
		for (uint32_t k = 0; k < in->nresults; k++)
			if (l->needed[in->results + k] && lower_row_axis(l, inst_result(in, k)) >= 0 &&
			    !is_tape(l, inst_result(in, k)))
				store_rows(&e, inst_result(in, k), lower_destination(l, inst_result(in, k)));
	}
	k_vloop_end(b, NULL, NULL);
	k_poll(b, k_mul(b, rows, work));
	k_loop_end(b, NULL, NULL);
	k_parallel_end(b);

	for (uint32_t i = 0; i < s.list.n; i++) lower_set_place(l, s.list.at[i], before[i]);
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *in = &f->insts.at[p->insts[i]];
		for (uint32_t k = 0; k < in->nresults; k++) {
			const Ref out = inst_result(in, k);
			if (lower_row_axis(l, out) >= 0) {
				if (l->needed[REF_INDEX(out)]) lower_set_memory(l, out, lower_destination(l, out));
			} else if (in->nregions && l->uses[REF_INDEX(out)]) {
				const Storage *same = lower_place(l, inst_arg(f, in, first_of(in) + k));
				lower_set_small(l, out, same->count, same->elements);
			}
		}
	}
	l->in_rows = false;
}
