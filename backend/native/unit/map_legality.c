/* map_legality.c - legality of vectorised maps: which instructions can be done
 * by rows, and which loops by lanes of one axis.
 *
 * Needs: map_vectorise.h.
 *
 * Contract:
 * - No accepted instruction reads across rows, except in an idiom whose users
 *   recognise it, or as a sum over lanes.
 * - A value without rows is the same for all rows.
 * - A loop with a mask stops for each vector separately, so its results without
 *   rows are invariant.
 */
#include "backend/native/unit/map_vectorise.h"

#define ROWS_WORK 6000        /* element operations that may be emitted */
#define TRIP_COUNT_GUESSED 16 /* assumed trip count of a loop, where unknown */
#define LANES_LEAST 4         /* extent of an axis that becomes a vector */
#define LANES_MOST 32
#define LENGTHS_MOST 8 /* candidates */
#define LANES_WORK 4   /* element-wise operations from which on it pays */

/* ---- values -------------------------------------------------------------- */

/* Whether an extent is unknown or too large for registers. */
static bool is_long(Ctx *c, Dim d) {
	int64_t v;
	return !dim_is_const(c, d, &v) || v > SMALL_COUNT;
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

static bool has_row(const MapVectoriser *w, Ref r) { return lower_row_axis(&w->l, r) >= 0; }

/* ---- regions and loops --------------------------------------------------- */

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
		good = map_takes(w, &w->l.f->insts.at[w->l.f->inst_order.at[g->insts + i]]);
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

/* ---- branches ------------------------------------------------------------ */

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
		MapVectoriser own = map_vectoriser(l, l->row, l->row_lanes);
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
			residual[k] =
				!keeps_outside(l, region_result(l, yes, k), region_result(l, no, k), mask);
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

/* ---- instructions -------------------------------------------------------- */

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

bool reduces_lanes(const Lower *l, const Inst *in) {
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

bool map_takes(MapVectoriser *w, const Inst *in) {
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

double written_work(const MapVectoriser *w, const Inst *in) {
	double n = 1;
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *g = inst_region(w->l.f, in, k);
		for (uint32_t i = 0; i < g->ninsts; i++)
			n += written_work(w, &w->l.f->insts.at[w->l.f->inst_order.at[g->insts + i]]);
	}
	for (uint32_t k = 0; !in->nregions && !is_lookup(&w->l, in) && k < in->nargs; k++)
		if (!is_tape(&w->l, inst_arg(w->l.f, in, k)))
			n += lower_shape(&w->l, inst_arg(w->l.f, in, k)).count;
	return in->op == OP_LU ? n * FACTOR_ROWS : n;
}

MapVectoriser map_vectoriser(const Lower *l, Dim row, uint32_t lanes) {
	MapVectoriser w = {.l = *l};
	w.l.in_rows = true;
	w.l.row = row;
	w.l.row_lanes = lanes;
	return w;
}

/* ---- the checks ---------------------------------------------------------- */

bool map_is_vectorisable(const Lower *l, const Inst *in, Dim row) {
	MapVectoriser w = map_vectoriser(l, row, 0);
	Mask mask;
	if (!in->nresults || !map_takes(&w, in)) return false;
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
	return written_work(&w, in) <= ROWS_WORK;
}

bool value_is_tape(const Lower *l, Ref r, const SchedStep *p) {
	const MapVectoriser w = map_vectoriser(l, p->row, p->lanes);
	return is_tape(&w.l, r);
}

bool operand_fills_tape(const Lower *l, const Inst *in, uint32_t k, const SchedStep *p) {
	return in->op == OP_FOR && k && value_is_tape(l, inst_result(in, k - 1), p) &&
	       tape_needs_fill(l, in, k - 1);
}

bool is_cross_row_idiom(const Lower *l, const Inst *in, Dim row) {
	const MapVectoriser w = map_vectoriser(l, row, 0);
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
		MapVectoriser w = map_vectoriser(l, *row, *lanes);
		/* Reducing the lanes of a vector costs as much as a few operations on
		 * it. */
		if (map_takes(&w, in) && written_work(&w, in) <= ROWS_WORK && w.along >= LANES_WORK &&
		    w.along >= 2 * w.joins)
			return true;
	}
	return false;
}
