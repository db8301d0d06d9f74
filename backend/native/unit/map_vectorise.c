/* map_vectorise.c - vectorised maps: each lane runs the program for one row.
 *
 * Needs: map_vectorise.h. map_legality.c decides what is done so, with the
 * idioms of map_idioms.c; map_emit.c emits the program of one row.
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
#include "backend/native/unit/map_vectorise.h"

#define BLOCK_ROWS 256 /* rows between two polls */

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
	const uint32_t n = register_count(l, r);
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
		else if (same_in_row(l, r, &before[i], x)) lower_set_small(l, r, register_count(l, r), x);
		else from[i] = laid_down(l, &before[i], lower_ktype(l, r), p->lanes);
	}
	uint32_t ncarried = 0, most = 1;
	for (uint32_t k = 0; k < in->nresults; k++) most += register_count(l, inst_result(in, k));
	KRef *init = room(l, most), *params = room(l, most), *out = room(l, most),
		 *first = room(l, most);
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (is_tape(l, r)) {
			lower_begin_tape(l, in, k);
		} else if (lower_row_axis(l, r) < 0) {
			for (uint32_t i = 0; i < register_count(l, r); i++)
				init[ncarried++] = k_const(b, lower_ktype(l, r), 0);
		} else if (type_is_small(l->c, ref_type(f, r), NULL)) {
			int64_t length = 1;
			dim_is_const(l->c, l->row, &length);
			to[k] = k_stack(b, (register_count(l, r) * length + p->lanes) *
			                       ktype_size(lower_ktype(l, r)));
		} else if (l->needed[REF_INDEX(r)]) {
			to[k] = lower_destination(l, r);
		}
	}
	int64_t rows = 0;
	dim_is_const(l->c, p->row, &rows); /* axis_is_vectorisable */
	k_vloop_begin(b, p->lanes, KF_SINGLE_TRIP, k_int(b, rows), ncarried, init, NULL, params);
	e.base = k_int(b, 0);
	l->row_number = k_lane(b);
	for (uint32_t i = 0; i < s.list.n; i++)
		if (from[i]) load_rows(&e, s.list.at[i], from[i]);
	rows_emit_inst(&e, in);
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (is_tape(l, r)) continue;
		if (to[k]) store_rows(&e, r, to[k]);
		else if (lower_row_axis(l, r) < 0) n += flatten_rows(&e, r, false, out + n);
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
			lower_set_small(l, r, register_count(l, r), params + n);
			n += register_count(l, r);
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
	MapVectoriser w = map_vectoriser(l, p->row, 0);
	Inputs s = {.l = l,
	            .inside = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1),
	            .met = ARENA_ARRAY(l->scratch, bool, f->vals.n + 1)};
	bool wide = false, arithmetic = true;
	l->in_rows = true;
	l->row = p->row;
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *in = &f->insts.at[p->insts[i]];
		map_takes(&w, in);
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
	for (uint32_t i = 0; i < p->n; i++) rows_emit_inst(&e, &f->insts.at[p->insts[i]]);
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
