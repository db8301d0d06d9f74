/* control.c - emission of a unit's steps in order.
 *
 * Branches, loops with their carried values, single elements of arrays in
 * memory.
 *
 * Needs: schedule.h, with the memory of every class known.
 *
 * Contract:
 * - Indices are checked as in the evaluator.
 * - Every loop polls after about POLL_WORK operations.
 * - A loop's result is in the memory of its class.
 */
#include "backend/native/lower/schedule.h"

#define UNROLL_TRIP_COUNT 16 /* iterations of an unrolled loop, at most */
#define UNROLL_SIZE 1024     /* operations it may become */

static const Inst *inst_at(const Lower *l, InstId i) { return &l->f->insts.at[i]; }

static bool is_small(const Lower *l, Ref r) { return type_is_small(l->c, ref_type(l->f, r), NULL); }

static KRef *room(Lower *l, uint32_t n) { return ARENA_ARRAY(l->scratch, KRef, n + 1); }

void lower_copy(Lower *l, Ref like, KRef to, KRef from) {
	if (to == from) return;
	KBuilder *b = &l->k;
	k_copy(
		b, to, from,
		k_mul(b, lower_count(l, ref_type(l->f, like)), k_int(b, ktype_size(lower_ktype(l, like)))));
}

static KRef pointer_of(Lower *l, Ref r) { return lower_place(l, r)->pointer; }

/* Extents that a guard made equal may be written differently. One type may then
 * be in registers and the other in memory. Returns r as the elements of `like`,
 * whose type is small. */
static const KRef *elements_like(Lower *l, Ref r, Ref like, uint32_t *count) {
	KBuilder *b = &l->k;
	const Storage *p = lower_place(l, r);
	type_is_small(l->c, ref_type(l->f, like), count);
	if (p->kind == PLACE_SMALL && p->count == *count) return p->elements;
	KRef *out = room(l, *count);
	l->failed |= p->kind != PLACE_MEMORY;
	for (uint32_t i = 0; i < *count && p->kind == PLACE_MEMORY; i++)
		out[i] = k_load(b, lower_ktype(l, r), KM_UNIFORM, p->pointer, k_int(b, i), 0);
	return out;
}

/* Copies r to memory at `to`. */
static void put_at(Lower *l, Ref r, KRef to) {
	KBuilder *b = &l->k;
	const Storage *p = lower_place(l, r);
	l->failed |= p->kind == PLACE_NONE;
	if (p->kind == PLACE_MEMORY) lower_copy(l, r, to, p->pointer);
	for (uint32_t i = 0; p->kind == PLACE_SMALL && i < p->count; i++)
		k_store(b, KM_UNIFORM, to, k_int(b, i), p->elements[i], 0);
}

/* ---- single elements ----------------------------------------------------- */

typedef struct GatherRows {
	int64_t outer, per_batch, nindex, row;
	KRef length;
	const KRef *index; /* checked */
} GatherRows;

static int64_t fixed(const Lower *l, Dim d) {
	int64_t v = 1;
	dim_is_const(l->c, d, &v);
	return v;
}

/* Emits the check of an index and returns it as i64. */
static KRef checked_index(Lower *l, const Inst *in, KRef given, KRef length) {
	KBuilder *b = &l->k;
	KRef index = k_convert(b, given, KT_I64);
	KRef bad = k_logic(b, 1, k_lt(b, index, k_int(b, 0)), k_prim2(b, OP_LE, length, index));
	k_fail_if(b, bad, lower_site(l, SITE_INDEX, in), index, length);
	return index;
}

static GatherRows open_rows(Lower *l, const Inst *in) {
	Type x = *ref_ty(l->f, inst_arg(l->f, in, 0)), given = *ref_ty(l->f, inst_arg(l->f, in, 1));
	uint32_t axis = (uint32_t)attr_int(l->c, (Op)in->op, in->attr, 0),
			 batch = (uint32_t)attr_int(l->c, (Op)in->op, in->attr, 1);
	GatherRows r = {.outer = 1, .per_batch = 1, .nindex = 1, .row = 1};
	/* The result of a gather is small, and may determine an extent of x. */
	if (in->op == OP_GATHER) {
		const Type *small = ref_ty(l->f, inst_result(in, 0));
		for (uint32_t i = 0; i < axis; i++) x.dims[i] = small->dims[i];
		for (uint32_t i = 1; i < x.rank - axis; i++)
			x.dims[x.rank - i] = small->dims[small->rank - i];
	}
	for (uint32_t i = 0; i < axis; i++) {
		r.outer *= fixed(l, x.dims[i]);
		if (i >= batch) r.per_batch *= fixed(l, x.dims[i]);
	}
	for (uint32_t i = axis + 1; i < x.rank; i++) r.row *= fixed(l, x.dims[i]);
	for (uint32_t i = batch; i < given.rank; i++) r.nindex *= fixed(l, given.dims[i]);
	r.length = lower_dim(l, x.dims[axis]);
	const Storage *at = lower_place(l, inst_arg(l->f, in, 1));
	KRef *index = room(l, at->count);
	for (uint32_t i = 0; i < at->count; i++)
		index[i] = checked_index(l, in, at->elements[i], r.length);
	r.index = index;
	return r;
}

static KRef row_start(Lower *l, const GatherRows *r, int64_t outer, int64_t j) {
	KBuilder *b = &l->k;
	KRef index = r->index[outer / r->per_batch * r->nindex + j];
	if (outer) index = k_add(b, index, k_mul(b, r->length, k_int(b, outer)));
	return k_mul(b, index, k_int(b, r->row));
}

static void direct_gather(Lower *l, const Inst *in) {
	KBuilder *b = &l->k;
	KRef x = pointer_of(l, inst_arg(l->f, in, 0));
	KType t = lower_ktype(l, inst_result(in, 0));
	GatherRows r = open_rows(l, in);
	KRef *out = room(l, SMALL_COUNT);
	uint32_t n = 0;
	for (int64_t o = 0; o < r.outer; o++)
		for (int64_t j = 0; j < r.nindex; j++) {
			KRef at = row_start(l, &r, o, j);
			for (int64_t k = 0; k < r.row; k++)
				out[n++] = k_load(b, t, KM_UNIFORM, x, k_add(b, at, k_int(b, k)), 0);
		}
	lower_set_small(l, inst_result(in, 0), n, out);
}

/* One index for whole rows in memory: a row of u for each position before the
 * axis. */
static void scatter_rows(Lower *l, const Inst *in, KRef to, KRef index) {
	KBuilder *b = &l->k;
	Type x = *ref_ty(l->f, inst_arg(l->f, in, 0));
	uint32_t axis = (uint32_t)attr_int(l->c, (Op)in->op, in->attr, 0);
	KType t = lower_ktype(l, inst_arg(l->f, in, 0));
	const uint32_t bytes = ktype_size(t), lanes = l->k.m->target.vector_bytes / bytes;
	KRef from = pointer_of(l, inst_arg(l->f, in, 2)), outer = k_int(b, 1), row = k_int(b, 1),
		 length = lower_dim(l, x.dims[axis]);
	for (uint32_t i = 0; i < axis; i++) outer = k_mul(b, outer, lower_dim(l, x.dims[i]));
	for (uint32_t i = axis + 1; i < x.rank; i++) row = k_mul(b, row, lower_dim(l, x.dims[i]));
	KRef at;
	k_loop_begin(b, k_int(b, 0), outer, 1, 0, NULL, &at);
	KRef start = k_mul(b, k_add(b, k_mul(b, at, length), index), row), source = k_mul(b, at, row);
	int64_t one;
	if (k_is_int(b, row, &one) && one == 1) {
		KRef value = k_load(b, t, KM_UNIFORM, from, source, 0);
		if (in->op == OP_SCATTER_ADD)
			value = k_add(b, k_load(b, t, KM_UNIFORM, to, start, 0), value);
		k_store(b, KM_UNIFORM, to, start, value, 0);
	} else if (in->op == OP_SCATTER_SET) {
		k_copy(b, k_ptradd(b, to, start, bytes), k_ptradd(b, from, source, bytes),
		       k_mul(b, row, k_int(b, bytes)));
	} else {
		KRef base;
		k_vloop_begin(b, lanes ? lanes : 1, 0, row, 0, NULL, NULL, &base);
		KRef place = k_add(b, start, base);
		KRef sum = k_add(b, k_load(b, t, KM_UNIT, to, place, 0),
		                 k_load(b, t, KM_UNIT, from, k_add(b, source, base), 0));
		k_store(b, KM_UNIT, to, place, sum, 0);
		k_vloop_end(b, NULL, NULL);
	}
	k_loop_end(b, NULL, NULL);
	k_poll(b, k_mul(b, outer, row));
}

static void direct_scatter(Lower *l, const Inst *in) {
	KBuilder *b = &l->k;
	Ref result = inst_result(in, 0), x = inst_arg(l->f, in, 0);
	if (!is_small(l, inst_arg(l->f, in, 2))) {
		KRef length = lower_dim(l, ref_ty(l->f, x)->dims[attr_int(l->c, (Op)in->op, in->attr, 0)]);
		KRef index =
			checked_index(l, in, lower_place(l, inst_arg(l->f, in, 1))->elements[0], length);
		if (!l->needed[REF_INDEX(result)]) return;
		KRef whole = lower_destination(l, result);
		lower_copy(l, x, whole, pointer_of(l, x));
		scatter_rows(l, in, whole, index);
		lower_set_memory(l, result, whole);
		return;
	}
	const Storage *u = lower_place(l, inst_arg(l->f, in, 2));
	GatherRows r = open_rows(l, in);
	if (!l->needed[REF_INDEX(result)]) return; /* only its checks are needed */
	KRef to = lower_destination(l, result);
	KType t = lower_ktype(l, result);
	lower_copy(l, x, to, pointer_of(l, x));
	uint32_t n = 0;
	for (int64_t o = 0; o < r.outer; o++)
		for (int64_t j = 0; j < r.nindex; j++) {
			KRef at = row_start(l, &r, o, j);
			for (int64_t k = 0; k < r.row; k++, n++) {
				KRef place = k_add(b, at, k_int(b, k)), value = u->elements[n];
				if (in->op == OP_SCATTER_ADD)
					value = k_add(b, k_load(b, t, KM_UNIFORM, to, place, 0), value);
				k_store(b, KM_UNIFORM, to, place, value, 0);
			}
		}
	lower_set_memory(l, result, to);
}

/* The indices of a box's elements, for fixed extents, in row-major order. */
static KRef *box_positions(Lower *l, const Inst *in, uint32_t count, const Type *box,
                           const Type *whole) {
	KBuilder *b = &l->k;
	KRef start[MAX_RANK], stride[MAX_RANK], size = k_int(b, 1), *at = room(l, count);
	lower_check_sides(l, in);
	for (uint32_t i = whole->rank; i-- > 0;) {
		start[i] = lower_dim(l, inst_side(l->f, in, i).start);
		stride[i] = size;
		size = k_mul(b, size, lower_dim(l, whole->dims[i]));
	}
	for (uint32_t e = 0; e < count; e++) {
		int64_t rest = e;
		at[e] = k_int(b, 0);
		for (uint32_t i = whole->rank; i-- > 0;) {
			int64_t n = fixed(l, box->dims[i]), k = rest % n;
			rest /= n;
			at[e] = k_add(b, at[e],
			              k_mul(b, k_add(b, start[i], k_int(b, k * inst_side(l->f, in, i).stride)),
			                    stride[i]));
		}
	}
	return at;
}

static void direct_slice(Lower *l, const Inst *in) {
	Ref x = inst_arg(l->f, in, 0), result = inst_result(in, 0);
	Type whole = *ref_ty(l->f, x), box = *ref_ty(l->f, result);
	uint32_t count;
	type_is_small(l->c, ref_type(l->f, result), &count);
	KRef *at = box_positions(l, in, count, &box, &whole), *out = room(l, count),
		 from = pointer_of(l, x);
	for (uint32_t e = 0; e < count; e++)
		out[e] = k_load(&l->k, lower_ktype(l, result), KM_UNIFORM, from, at[e], 0);
	lower_set_small(l, result, count, out);
}

static void direct_update(Lower *l, const Inst *in) {
	Ref x = inst_arg(l->f, in, 0), v = inst_arg(l->f, in, 1), result = inst_result(in, 0);
	Type whole = *ref_ty(l->f, x), box = *ref_ty(l->f, v);
	const Storage *u = lower_place(l, v);
	KRef *at = box_positions(l, in, u->count, &box, &whole);
	if (!l->needed[REF_INDEX(result)]) return; /* only its checks are needed */
	KRef to = lower_destination(l, result);
	lower_copy(l, x, to, pointer_of(l, x));
	for (uint32_t e = 0; e < u->count; e++)
		k_store(&l->k, KM_UNIFORM, to, at[e], u->elements[e], 0);
	lower_set_memory(l, result, to);
}

/* ---- branches ------------------------------------------------------------ */

static bool always_fails(const Lower *l, const Sched *s) {
	for (uint32_t i = 0; i < s->steps.n; i++)
		if (s->steps.at[i]->kind == SCHED_SCALAR && inst_at(l, s->steps.at[i]->inst)->op == OP_FAIL)
			return true;
	return false;
}

/* Emits a branch. Small results go to `flat`, arrays to their memory. Returns
 * the number of values in `flat`. */
static uint32_t emit_branch(Lower *l, const Inst *in, const Sched *s, KRef *flat) {
	uint32_t n = 0;
	lower_steps(l, s);
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref from = l->f->args.at[s->region->results + k];
		if (is_small(l, inst_result(in, k))) {
			uint32_t count;
			const KRef *elements = elements_like(l, from, inst_result(in, k), &count);
			for (uint32_t i = 0; i < count; i++) flat[n++] = elements[i];
		} else if (l->needed[in->results + k]) {
			put_at(l, from, lower_destination(l, inst_result(in, k)));
		}
	}
	return n;
}

static uint32_t flat_count(const Lower *l, const Inst *in) {
	uint32_t n = 0, count;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (type_is_small(l->c, ref_type(l->f, inst_result(in, k)), &count)) n += count;
	return n;
}

static void emit_if(Lower *l, const SchedStep *p, const Inst *in) {
	KBuilder *b = &l->k;
	uint32_t n = flat_count(l, in);
	KRef *first = room(l, n), *second = room(l, n), *out = room(l, n);
	KRef c = lower_place(l, inst_arg(l->f, in, 0))->elements[0];
	bool taken;
	if (k_is_bool(b, c, &taken)) {
		emit_branch(l, in, p->regions[taken ? 0 : 1], out);
	} else {
		k_if_begin(b, c, always_fails(l, p->regions[0]) ? KF_COLD : 0);
		emit_branch(l, in, p->regions[0], first);
		k_if_else(b, n, first);
		emit_branch(l, in, p->regions[1], second);
		k_if_end(b, second, out);
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		uint32_t count;
		if (type_is_small(l->c, ref_type(l->f, inst_result(in, k)), &count)) {
			lower_set_small(l, inst_result(in, k), count, out);
			out += count;
		} else if (l->needed[in->results + k]) {
			lower_set_memory(l, inst_result(in, k), lower_destination(l, inst_result(in, k)));
		}
	}
}

/* ---- tapes --------------------------------------------------------------- */

/* Sets all elements to one scalar. */
static void fill(Lower *l, Ref like, KRef to, const Value *v) {
	KBuilder *b = &l->k;
	const KType t = lower_ktype(l, like);
	double x = 0;
	int64_t whole = 0;
	value_as_f64(*v, &x);
	value_as_i64(*v, &whole);
	KRef value = t == KT_F64 || t == KT_F32 ? k_const(b, t, x)
	                                        : k_bits(b, t, t == KT_BOOL ? v->b : (uint64_t)whole),
		 base;
	k_vloop_begin(b, t == KT_F64 || t == KT_I64 ? 8 : 16, 0, lower_count(l, ref_type(l->f, like)),
	              0, NULL, NULL, &base);
	k_store(b, KM_UNIT, to, base, value, 0);
	k_vloop_end(b, NULL, NULL);
}

/* Initialises the tape with its contents before the loop. These are mostly one
 * scalar. If each iteration writes the elements at its own index, the tape is
 * filled only when there are fewer iterations than places. */
void lower_begin_tape(Lower *l, const Inst *in, uint32_t k) {
	KBuilder *b = &l->k;
	const Fn *f = l->f;
	const Ref tape = inst_result(in, k), init = inst_arg(f, in, 1 + k);
	const Storage *first = lower_place(l, init);
	KRef to = lower_destination(l, tape);
	Value v;
	if (!tape_needs_fill(l, in, k)) {
		l->failed |= first->kind != PLACE_MEMORY;
		lower_copy(l, tape, to, first->pointer);
		return;
	}
	/* The incoming array is not used: it may belong to another use, or not have
	 * been computed. */
	const Region *body = inst_region(f, in, 0);
	const Inst *write = ref_inst(f, f->args.at[body->results + k]);
	const Dim length = ref_ty(f, tape)->dims[attr_int(l->c, OP_SCATTER_SET, write->attr, 0)];
	const bool by_iteration = inst_arg(f, write, 1) == ref_value(body->params);
	ref_splat(f, init, &v);
	if (by_iteration)
		k_if_begin(
			b, k_lt(b, lower_place(l, inst_arg(f, in, 0))->elements[0], lower_dim(l, length)), 0);
	fill(l, tape, to, &v);
	if (!by_iteration) return;
	k_if_else(b, 0, NULL);
	k_if_end(b, NULL, NULL);
}

/* ---- loops --------------------------------------------------------------- */

typedef struct Looping {
	Lower *l;
	const SchedStep *p;
	const Inst *in;
	uint32_t first;   /* operand of the first carried value */
	uint32_t n;       /* values carried by the kernel IR's loop */
	uint32_t counter; /* the one that counts iterations, for polls; UINT32_MAX: none */
	KRef *init, *at, *next;
} Looping;

/* Collects the initial values of the kernel IR's loop. Arrays that the loop
 * changes in place are copied to their memory. */
static void collect_init(Looping *w, bool odd_known, KRef odd) {
	Lower *l = w->l;
	KBuilder *b = &l->k;
	for (uint32_t k = 0; k < w->in->nresults; k++) {
		Ref init = inst_arg(l->f, w->in, w->first + k), out = inst_result(w->in, k);
		const Storage *p = lower_place(l, init);
		switch (w->p->carries[k].kind) {
		case CARRY_SMALL: {
			uint32_t count;
			const KRef *elements = elements_like(l, init, out, &count);
			for (uint32_t i = 0; i < count; i++) w->init[w->n++] = elements[i];
			break;
		}
		case CARRY_INVARIANT: break;
		case CARRY_INPLACE: put_at(l, init, lower_destination(l, out)); break;
		case CARRY_DOUBLE_BUFFER: {
			KRef first = lower_destination(l, out),
				 second = l->root->slots.at[w->p->carries[k].other - 1].pointer;
			KRef *present = &w->init[w->n++];
			/* With an even trip count the first iteration writes to the second
			 * buffer, so that the last one writes to the result's. */
			if (odd_known) {
				KRef x = k_select(b, odd, first, second), y = k_select(b, odd, second, first);
				first = x;
				second = y;
			}
			w->init[w->n++] = first;
			w->init[w->n++] = second;
			*present = p->kind == PLACE_MEMORY ? p->pointer : second;
			if (p->kind != PLACE_MEMORY) put_at(l, init, second);
			break;
		}
		}
	}
}

/* Sets the places of a region's parameters from the kernel values `at`. */
static void set_params(Looping *w, const Region *r, uint32_t skip, bool body) {
	Lower *l = w->l;
	const KRef *at = w->at;
	for (uint32_t k = 0; k < w->in->nresults; k++) {
		Ref param = ref_value(r->params + skip + k), out = inst_result(w->in, k);
		uint32_t count;
		switch (w->p->carries[k].kind) {
		case CARRY_SMALL:
			type_is_small(l->c, ref_type(l->f, param), &count);
			lower_set_small(l, param, count, at);
			at += count;
			break;
		case CARRY_INVARIANT:
			lower_set_memory(l, param, pointer_of(l, inst_arg(l->f, w->in, w->first + k)));
			break;
		case CARRY_INPLACE: lower_set_memory(l, param, lower_destination(l, out)); break;
		case CARRY_DOUBLE_BUFFER:
			lower_set_memory(l, param, at[0]);
			if (body && w->p->carries[k].direct) {
				Ref result = l->f->args.at[r->results + k];
				l->flow->classes[flow_class(l, REF_INDEX(result))].dynamic = at[1];
			}
			at += 3;
			break;
		}
	}
}

static void collect_next(Looping *w, const Region *r) {
	Lower *l = w->l;
	const KRef *at = w->at;
	uint32_t n = 0;
	for (uint32_t k = 0; k < w->in->nresults; k++) {
		Ref result = l->f->args.at[r->results + k];
		switch (w->p->carries[k].kind) {
		case CARRY_SMALL: {
			uint32_t count;
			const KRef *elements = elements_like(l, result, inst_result(w->in, k), &count);
			for (uint32_t i = 0; i < count; i++) w->next[n++] = elements[i];
			at += count;
			break;
		}
		case CARRY_INVARIANT: break;
		case CARRY_INPLACE: put_at(l, result, lower_destination(l, inst_result(w->in, k))); break;
		case CARRY_DOUBLE_BUFFER:
			put_at(l, result, at[1]);
			w->next[n++] = at[1];
			w->next[n++] = at[2];
			w->next[n++] = at[1];
			at += 3;
			break;
		}
	}
}

/* Sets the places of the loop's results from the values in `at`. untouched: the
 * current array of a pair is not in the result's memory. */
static void set_results(Looping *w, KRef untouched) {
	Lower *l = w->l;
	KBuilder *b = &l->k;
	const KRef *at = w->at;
	for (uint32_t k = 0; k < w->in->nresults; k++) {
		Ref out = inst_result(w->in, k);
		uint32_t count;
		switch (w->p->carries[k].kind) {
		case CARRY_SMALL:
			type_is_small(l->c, ref_type(l->f, out), &count);
			lower_set_small(l, out, count, at);
			at += count;
			break;
		case CARRY_INVARIANT: {
			KRef from = pointer_of(l, inst_arg(l->f, w->in, w->first + k));
			lower_set_memory(l, out, from);
			break;
		}
		case CARRY_INPLACE: lower_set_memory(l, out, lower_destination(l, out)); break;
		case CARRY_DOUBLE_BUFFER: {
			KRef to = lower_destination(l, out);
			k_if_begin(b, untouched, 0);
			lower_copy(l, out, to, at[0]);
			k_if_else(b, 0, NULL);
			k_if_end(b, NULL, NULL);
			lower_set_memory(l, out, to);
			at += 3;
			break;
		}
		}
	}
}

static uint32_t flat_size(const Looping *w) {
	uint32_t n = 2;
	for (uint32_t k = 0; k < w->in->nresults; k++) {
		uint32_t count = 3;
		type_is_small(w->l->c, ref_type(w->l->f, inst_result(w->in, k)), &count);
		n += count;
	}
	return n;
}

/* Iterations between two polls: a power of two. */
static int64_t poll_period(uint32_t work) {
	int64_t trip_count = 1;
	while (trip_count * 2 * work <= POLL_WORK) trip_count *= 2;
	return trip_count;
}

void lower_poll(Lower *l, KRef iteration, KRef trip_count, uint32_t work) {
	KBuilder *b = &l->k;
	const bool outermost = l == l->root && l->loops == 1;
	int64_t each = poll_period(work);
	if (each == 1) {
		if (outermost) k_iteration(b, iteration, trip_count);
		k_poll(b, k_int(b, work));
		return;
	}
	KRef now = k_prim2(b, OP_EQ, k_logic(b, 0, iteration, k_int(b, each - 1)), k_int(b, each - 1));
	k_if_begin(b, now, KF_COLD);
	if (outermost) k_iteration(b, iteration, trip_count);
	k_poll(b, k_int(b, each * work));
	k_if_else(b, 0, NULL);
	k_if_end(b, NULL, NULL);
}

void lower_poll_rest(Lower *l, KRef trip_count, uint32_t work) {
	KBuilder *b = &l->k;
	const int64_t each = poll_period(work);
	if (each == 1) return;
	KRef rest = k_logic(b, 0, k_max(b, trip_count, k_int(b, 0)), k_int(b, each - 1));
	int64_t known;
	if (k_is_int(b, rest, &known) && known == 0) return;
	k_poll(b, k_mul(b, rest, k_int(b, work)));
}

static bool known_trip_count(const Lower *l, const Inst *in, int64_t *trip_count) {
	const Const *c = ref_constant(l->f, inst_arg(l->f, in, 0));
	return c && value_as_i64(c->value, trip_count);
}

bool lower_polls(const Lower *l, const Inst *in, uint32_t work) {
	int64_t trip_count;
	return !known_trip_count(l, in, &trip_count) || trip_count > POLL_WORK / work;
}

double lower_unpolled(const Lower *l, const Inst *in, uint32_t work) {
	int64_t trip_count;
	if (!known_trip_count(l, in, &trip_count) || trip_count > POLL_WORK / work) return 0;
	return trip_count > 0 ? (double)trip_count * work : 0;
}

void lower_progress(Lower *l, const Inst *in, bool begins) {
	if (loop_reports(l->f, in))
		k_progress(&l->k, begins ? PROGRESS_ENTER : PROGRESS_LEAVE, 0, NULL);
}

/* ---- unrolling of short loops -------------------------------------------- */

typedef struct UnrollCost {
	double size; /* operations */
	/* Registers are selected by a computed index, which costs one operation for
	 * each of them. */
	bool indexes;
	bool runs; /* array instructions: must be emitted only once */
} UnrollCost;

static void add_written(const Lower *l, const Sched *s, double times, UnrollCost *w) {
	for (uint32_t i = 0; i < s->steps.n; i++) {
		const SchedStep *p = s->steps.at[i];
		w->runs |= p->kind == SCHED_LOOPS;
		if (p->kind == SCHED_LOOPS) continue;
		const Inst *in = inst_at(l, p->inst);
		const bool scatters = in->op == OP_SCATTER_ADD || in->op == OP_SCATTER_SET;
		uint32_t count = 1;
		if (in->nresults)
			type_is_small(l->c,
			              ref_type(l->f, scatters ? inst_arg(l->f, in, 2) : inst_result(in, 0)),
			              &count);
		w->size += times * count;
		if (p->kind == SCHED_SCALAR && (scatters || in->op == OP_GATHER))
			w->indexes |= !ref_is_const(inst_arg(l->f, in, 1));
		if (p->kind != SCHED_CONTROL) continue;
		double inner = 1;
		if (in->op == OP_FOR) {
			const Const *trip_count = ref_constant(l->f, inst_arg(l->f, in, 0));
			if (!trip_count || !value_as_f64(trip_count->value, &inner))
				inner = UNROLL_TRIP_COUNT / 4;
		}
		for (uint32_t r = 0; r < (in->op == OP_FOR ? 1 : 2); r++)
			add_written(l, p->regions[r], times * inner, w);
	}
}

/* Whether to unroll a short loop over elements of small arrays. With a known
 * counter, their registers need no selection. */
static bool is_unrolled(const Lower *l, const SchedStep *p, const Inst *in, int64_t trip_count) {
	if (trip_count < 1 || trip_count > UNROLL_TRIP_COUNT) return false;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (p->carries[k].kind == CARRY_DOUBLE_BUFFER) return false;
	UnrollCost w = {0};
	add_written(l, p->regions[0], 1, &w);
	return w.indexes && !w.runs && w.size * (double)trip_count <= UNROLL_SIZE;
}

static void emit_unrolled(Looping *w, int64_t trip_count) {
	Lower *l = w->l;
	KBuilder *b = &l->k;
	const uint32_t size = flat_size(w);
	const Sched *body = w->p->regions[0];
	const uint32_t work = flow_work(l, body);
	const bool polls = trip_count > POLL_WORK / work;
	w->init = w->at = room(l, size);
	collect_init(w, false, 0);
	for (int64_t iteration = 0; iteration < trip_count; iteration++) {
		KRef counter = k_int(b, iteration);
		w->next = room(l, size);
		lower_set_small(l, ref_value(body->region->params), 1, &counter);
		set_params(w, body->region, 1, true);
		if (polls) k_poll(b, k_int(b, work));
		lower_steps(l, body);
		collect_next(w, body->region);
		w->at = w->next;
	}
	set_results(w, 0);
}

/* Emits blocks of iterations as time tiles. All carried values are arrays in
 * two buffers. */
static void emit_tiled(Looping *w, KRef count, KRef *params, KRef *out) {
	Lower *l = w->l;
	KBuilder *b = &l->k;
	const KRef zero = k_int(b, 0), one = k_int(b, 1), most = time_tiling_depth(l, w->p->tiling);
	const KRef blocks = k_prim2(b, OP_FLOORDIV, k_add(b, count, k_sub(b, most, one)), most);
	k_loop_begin(b, zero, blocks, 1, w->n, w->init, params);
	w->at = params + 1;
	const KRef from = k_mul(b, params[0], most), trip_count = k_min(b, most, k_sub(b, count, from));
	set_params(w, w->p->regions[0]->region, 1, true);
	k_poll(b, k_mul(b, trip_count, k_int(b, flow_work(l, w->p->regions[0]))));
	time_tiling_emit(l, w->p, w->p->tiling, from, trip_count, most, w->at);
	const KRef odd = k_prim2(b, OP_EQ, k_logic(b, 0, trip_count, one), one);
	for (uint32_t i = 0; i < w->n; i += 3) {
		w->next[i] = w->next[i + 2] = k_select(b, odd, w->at[i + 1], w->at[i + 2]);
		w->next[i + 1] = k_select(b, odd, w->at[i + 2], w->at[i + 1]);
	}
	k_loop_end(b, w->next, out);
}

static void emit_for(Lower *l, const SchedStep *p, const Inst *in) {
	KBuilder *b = &l->k;
	Looping w = {.l = l, .p = p, .in = in, .first = 1, .counter = UINT32_MAX};
	uint32_t size = flat_size(&w);
	const Sched *body = p->regions[0];
	KRef count = lower_place(l, inst_arg(l->f, in, 0))->elements[0];
	int64_t trip_count;
	if (k_is_int(b, count, &trip_count) && is_unrolled(l, p, in, trip_count)) {
		emit_unrolled(&w, trip_count);
		return;
	}
	w.init = room(l, size);
	w.next = room(l, size);
	w.at = room(l, size);
	KRef *params = room(l, size);
	KRef odd = k_prim2(b, OP_EQ, k_logic(b, 0, count, k_int(b, 1)), k_int(b, 1));
	collect_init(&w, true, odd);
	if (p->tiling) {
		KRef *ends = room(l, size);
		emit_tiled(&w, count, params, ends);
		w.at = ends;
		set_results(&w, k_prim2(b, OP_LE, count, k_int(b, 0)));
		return;
	}
	lower_progress(l, in, true);
	l->loops++;
	k_loop_begin(b, k_int(b, 0), count, 1, w.n, w.init, params);
	w.at = params + 1;
	lower_set_small(l, ref_value(body->region->params), 1, params);
	set_params(&w, body->region, 1, true);
	const uint32_t work = flow_work(l, body);
	const bool polls = lower_polls(l, in, work);
	if (polls) lower_poll(l, params[0], count, work);
	lower_steps(l, body);
	collect_next(&w, body->region);
	KRef *out = room(l, size);
	k_loop_end(b, w.next, out);
	l->loops--;
	if (polls) lower_poll_rest(l, count, work);
	lower_progress(l, in, false);
	w.at = out;
	set_results(&w, k_prim2(b, OP_LE, count, k_int(b, 0)));
}

static void emit_while(Lower *l, const SchedStep *p, const Inst *in) {
	KBuilder *b = &l->k;
	Looping w = {.l = l, .p = p, .in = in, .first = 0};
	uint32_t size = flat_size(&w);
	w.init = room(l, size);
	w.next = room(l, size);
	w.at = room(l, size);
	KRef *out = room(l, size);
	collect_init(&w, false, 0);
	w.counter = w.n;
	w.init[w.n++] = k_int(b, 0);
	lower_progress(l, in, true);
	l->loops++;
	k_while_begin(b, w.n, w.init, w.at);
	set_params(&w, p->regions[0]->region, 0, false);
	lower_steps(l, p->regions[0]);
	KRef go_on = lower_place(l, l->f->args.at[p->regions[0]->region->results])->elements[0];
	k_while_body(b, go_on, w.at);
	set_params(&w, p->regions[1]->region, 0, true);
	KRef iteration = w.at[w.counter];
	const uint32_t work = flow_work(l, p->regions[0]) + flow_work(l, p->regions[1]);
	lower_poll(l, iteration, k_int(b, -1), work);
	lower_steps(l, p->regions[1]);
	collect_next(&w, p->regions[1]->region);
	w.next[w.counter] = k_add(b, iteration, k_int(b, 1));
	k_while_end(b, w.next, out);
	l->loops--;
	lower_poll_rest(l, out[w.counter], work);
	lower_progress(l, in, false);
	w.at = out;
	/* An odd trip count ends in the result's memory. */
	KRef odd = k_prim2(b, OP_EQ, k_logic(b, 0, out[w.counter], k_int(b, 1)), k_int(b, 1));
	set_results(&w, k_not(b, odd));
}

/* ---- steps --------------------------------------------------------------- */

void lower_steps(Lower *l, const Sched *s) {
	for (uint32_t i = 0; i < s->steps.n; i++) {
		const SchedStep *p = s->steps.at[i];
		l->position = p->from;
		if (p->kind == SCHED_LOOPS) {
			arrays_emit(l, p->plan);
			continue;
		}
		if (p->kind == SCHED_VECTOR_MAP) {
			rows_emit(l, p);
			continue;
		}
		const Inst *in = inst_at(l, p->inst);
		l->k.span = in->span;
		l->k.origin = p->inst + 1;
		switch (p->kind) {
		case SCHED_SCALAR:
			if (in->op == OP_CALL) lower_call(l, in);
			else lower_small(l, in);
			break;
		case SCHED_MATRIX: lower_matrix(l, in); break;
		case SCHED_ALIAS:
			lower_set_memory(l, inst_result(in, 0), pointer_of(l, inst_arg(l->f, in, 0)));
			break;
		case SCHED_ELEMENT:
			if (in->op == OP_GATHER) direct_gather(l, in);
			else if (in->op == OP_SLICE) direct_slice(l, in);
			else if (in->op == OP_UPDATE) direct_update(l, in);
			else direct_scatter(l, in);
			break;
		default:
			if (in->op == OP_IF) emit_if(l, p, in);
			else if (in->op == OP_FOR) emit_for(l, p, in);
			else emit_while(l, p, in);
		}
	}
}
