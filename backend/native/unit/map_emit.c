/* map_emit.c - the program of one row: instructions, loops and branches of a
 * vectorised map.
 *
 * Needs: map_vectorise.h; scalarise.c for the instructions, which see one row.
 *
 * Contract:
 * - A value with rows is one varying kernel value for each element of a row.
 * - A body with a mask runs where some row of the vector is active, and changes
 *   no inactive row.
 * - Rows past the last one may be computed. They neither fail nor store.
 */
#include "backend/native/unit/map_vectorise.h"
#include <math.h>

#define UNROLL_TRIP_COUNT 16 /* iterations of an unrolled loop, at most */
#define UNROLL_WORK 1500     /* operations it may become */

/* ---- rows of a mask ------------------------------------------------------ */

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

/* ---- feeds and lookups --------------------------------------------------- */

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

/* ---- loops and branches -------------------------------------------------- */

static void emit_region(RowsEmit *e, const Region *g, const bool *which, bool wanted) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (!which || which[i] == wanted) rows_emit_inst(e, inst_in(e->l, g, i));
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

uint32_t flatten_rows(RowsEmit *e, Ref r, bool spreads, KRef *at) {
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

uint32_t register_count(const Lower *l, Ref r) {
	return is_tape(l, r) ? 0 : lower_shape(l, r).count;
}

/* Sets parameters or results, from value `first` on, to the carried values
 * `at`. */
static void set_carried(RowsEmit *e, const Inst *in, uint32_t first, const KRef *at) {
	Lower *l = e->l;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const uint32_t n = register_count(l, inst_result(in, k));
		if (is_tape(l, inst_result(in, k)))
			lower_set_memory(l, ref_value(first + k), lower_destination(l, inst_result(in, k)));
		else lower_set_small(l, ref_value(first + k), n, at);
		at += n;
	}
}

static uint32_t carried(RowsEmit *e, const Inst *in, KRef *init) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nresults; k++)
		n += flatten_rows(e, inst_arg(e->l->f, in, first_of(in) + k), true, init + n);
	return n;
}

static uint32_t carried_most(const Lower *l, const Inst *in) {
	uint32_t n = 1;
	for (uint32_t k = 0; k < in->nresults; k++) n += register_count(l, inst_result(in, k));
	return n;
}

static uint32_t region_work(const Lower *l, const Region *g) {
	double n = 1;
	const MapVectoriser w = map_vectoriser(l, l->row, l->row_lanes);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = inst_in(l, g, i);
		n += written_work(&w, in);
		if (in->op == OP_FOR)
			n += lower_unpolled(l, in, region_work(l, inst_region(l->f, in, 0))) / 8;
	}
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
			m += flatten_rows(e, region_result(l, body, k), false, next + m);
		return;
	}
	bool *needs = ARENA_ARRAY(l->scratch, bool, body->ninsts + 1);
	need(l, body, mask.r, needs);
	emit_region(e, body, needs, true);
	KRef *yes = room(l, n), *no = room(l, n);
	k_if_begin(b, any_row(e, mask), 0);
	emit_region(e, body, needs, false);
	for (uint32_t k = 0; k < in->nresults; k++)
		m += flatten_rows(e, region_result(l, body, k), true, yes + m);
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
	const MapVectoriser w = map_vectoriser(l, l->row, l->row_lanes);
	int64_t trip_count;
	return k_is_int(&l->k, count, &trip_count) && trip_count > 0 &&
	       trip_count <= UNROLL_TRIP_COUNT &&
	       written_work(&w, in) * (double)trip_count <= UNROLL_WORK && picks(l, body);
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
	const bool polls = lower_polls(l, in, work);
	if (polls) lower_poll(l, params[0], count, work);
	emit_iteration(e, in, body, body_mask(l, in, body), n, params + 1, next);
	k_loop_end(b, next, out);
	l->loops -= l->row_lanes > 0;
	if (polls) lower_poll_rest(l, count, work);
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
	const uint32_t work = region_work(l, test) + region_work(l, body);
	lower_poll(l, at[counter], k_int(b, -1), work);
	emit_iteration(e, in, body, (Mask){.r = REF_NONE}, n, at, next);
	next[counter] = k_add(b, at[counter], k_int(b, 1));
	k_while_end(b, next, out);
	l->loops -= l->row_lanes > 0;
	lower_poll_rest(l, out[counter], work);
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
			n += flatten_rows(e, region_result(l, g, k), true, values[r] + n);
		if (!r) k_if_else(b, n, values[0]);
	}
	k_if_end(b, values[1], out);
	set_carried(e, in, in->results, out);
}

/* ---- tapes --------------------------------------------------------------- */

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

/* ---- sums over lanes ----------------------------------------------------- */

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

/* ---- instructions -------------------------------------------------------- */

void rows_emit_inst(RowsEmit *e, const Inst *in) {
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
