/* pull.c - the element of a value at an index: loaded if the value is
 * materialised, else computed in the loop.
 *
 * Needs: loops/loops.h.
 *
 * Contract:
 * - In the open loops an element is computed once (a memo keyed by value and
 *   index).
 * - Loads of lanes past the loop's end stay in the padding of their array, or
 *   are masked.
 */
#include "backend/native/loops/loops.h"

/* ---- memory -------------------------------------------------------------- */

bool in_memory(ArrayEmit *e, Ref r, KRef *pointer) {
	const LoopNode *n = plan_node(e->p, r);
	if (n && !(n->materialised && n->memory && n->nresult)) return false;
	if (ref_is_value(r) && e->spilled[REF_INDEX(r)]) {
		*pointer = e->spilled[REF_INDEX(r)];
		return true;
	}
	const Storage *place = lower_place(e->l, r);
	*pointer = place->pointer;
	return place->kind == PLACE_MEMORY;
}

KRef node_memory(ArrayEmit *e, const LoopNode *n) {
	if (n->circular) return n->circular_row0;
	const LoopNode *in = n->stored_in ? &e->p->nodes.at[n->stored_in - 1] : NULL;
	if (!in) return lower_destination(e->l, n->ref);
	if (in->kind != NODE_JOIN) return node_memory(e, in);
	const Inst *join = node_inst(e->p, in);
	KRef before = k_int(e->k, 0);
	for (uint32_t k = 0, place = join_place(e->p, in, n->ref); k < place; k++) {
		const Type *t = ref_ty(e->l->f, inst_arg(e->l->f, join, k));
		before = k_add(e->k, before, lower_dim(e->l, dims_product(e->l->c, t->rank, t->dims)));
	}
	return k_ptradd(e->k, node_memory(e, in), before, ktype_size(node_type_of(e, n)));
}

void memory_strides(ArrayEmit *e, const Type *t, KRef *stride) {
	KRef s = k_int(e->k, 1);
	for (uint32_t i = t->rank; i-- > 0;) {
		stride[i] = s;
		if (i) s = k_mul(e->k, s, lower_dim(e->l, t->dims[i]));
	}
}

bool uses_scratch(const ArrayEmit *e, const LoopNode *n) {
	return n->scratch && !(e->r->lanes == LANES_INNER && n->memory);
}

/* Inner axes are row-major. The row is innermost with lanes along the rows;
 * else it is outermost, with rows rounded up to whole vectors. */
void scratch_strides(ArrayEmit *e, const LoopNode *n, KRef *stride) {
	bool rows = e->r->lanes == LANES_ROWS;
	KRef s = rows ? e->block : k_int(e->k, 1);
	for (uint32_t i = n->nresult; i-- > 0;) {
		if ((int)i == n->row) continue;
		stride[i] = s;
		s = k_mul(e->k, s, lower_dim(e->l, n->axes[i]));
	}
	if (n->fused_local) stride[fused_axis(n)] = k_int(e->k, 0);
	if (n->row < 0) return;
	if (rows) {
		stride[n->row] = k_int(e->k, 1);
		return;
	}
	if (n->dense) {
		stride[n->row] = s;
		return;
	}
	KRef up = k_add(e->k, s, k_int(e->k, 15));
	stride[n->row] = k_shift(e->k, 0, k_shift(e->k, 1, up, k_int(e->k, 4)), k_int(e->k, 4));
}

typedef struct Address {
	KRef base, lane, varying; /* element = base + lane * (lane number) + varying */
} Address;

static Address address(ArrayEmit *e, uint32_t rank, const Index *at, const KRef *stride) {
	KBuilder *k = e->k;
	Address a = {.base = k_int(k, 0)};
	for (uint32_t i = 0; i < rank; i++) {
		if (at[i].kind == IX_OTHER && at[i].varying) {
			KRef v = k_mul(k, at[i].varying, stride[i]);
			a.varying = a.varying ? k_add(k, a.varying, v) : v;
			continue;
		}
		a.base = k_add(k, a.base, k_mul(k, index_base(&e->ix, at[i]), stride[i]));
		KRef lane = index_lane(&e->ix, at[i]);
		if (!lane) continue;
		lane = k_mul(k, lane, stride[i]);
		a.lane = a.lane ? k_add(k, a.lane, lane) : lane;
	}
	if (a.varying) {
		a.varying = k_add(k, a.varying, a.base);
		if (a.lane) a.varying = k_add(k, a.varying, k_mul(k, k_lane(k), a.lane));
	}
	return a;
}

static KRef load_at(ArrayEmit *e, KType t, KRef pointer, Address a) {
	KBuilder *k = e->k;
	int64_t one;
	if (e->nonempty) pointer = k_select(k, e->nonempty, pointer, e->l->nowhere);
	if (a.varying)
		return k_load(k, t, k_lanes_of(k, a.varying) ? KM_INDEXED : KM_UNIFORM, pointer, a.varying,
		              0);
	if (!a.lane) return k_load(k, t, KM_UNIFORM, pointer, a.base, 0);
	if (k_is_int(k, a.lane, &one) && one == 1) return k_load(k, t, KM_UNIT, pointer, a.base, 0);
	return k_load(k, t, KM_STRIDED, pointer, a.base, a.lane);
}

/* exact: write nothing but the array's elements. stream_store: use a
 * non-temporal store where it holds. */
static void store_at(ArrayEmit *e, KRef pointer, Address a, KRef value, bool exact,
                     KRef stream_store) {
	KBuilder *k = e->k;
	int64_t one;
	if (exact && a.lane && !a.varying && k_is_int(k, a.lane, &one) && one == 1) {
		k_store_exact(k, pointer, a.base, value, stream_store);
		return;
	}
	if (a.varying)
		k_store(k, k_lanes_of(k, a.varying) ? KM_INDEXED : KM_UNIFORM, pointer, a.varying, value,
		        0);
	else if (!a.lane) k_store(k, KM_UNIFORM, pointer, a.base, value, 0);
	else if (k_is_int(k, a.lane, &one) && one == 1) k_store(k, KM_UNIT, pointer, a.base, value, 0);
	else k_store(k, KM_STRIDED, pointer, a.base, value, a.lane);
}

/* The index in the block: the row is relative to the block's first row. */
static void local_row(ArrayEmit *e, const LoopNode *n, const Index *at, Index *out) {
	for (uint32_t i = 0; i < n->nresult; i++) {
		out[i] = at[i];
		if ((int)i == n->row)
			out[i] =
				(Index){.kind = IX_OTHER, .base = e->row_local, .lane = e->axes[ROW_AXIS].lane};
	}
}

void store_scratch(ArrayEmit *e, const LoopNode *n, const Index *at, KRef value) {
	Index local[MAX_RANK];
	KRef stride[MAX_RANK];
	local_row(e, n, at, local);
	scratch_strides(e, n, stride);
	store_at(e, n->scratch_at, address(e, n->nresult, local, stride), value, false, 0);
}

void store_memory(ArrayEmit *e, const LoopNode *n, const Index *at, KRef value) {
	KRef stride[MAX_RANK];
	memory_strides(e, ref_ty(e->l->f, n->ref), stride);
	store_at(e, node_memory(e, n), address(e, n->nresult, at, stride), value, true,
	         n->stream_store);
}

/* ---- constants and reductions -------------------------------------------- */

Op fold_prim(Op reduction) {
	switch (reduction) {
	case OP_REDUCE_PROD:
	case OP_CUMPROD: return OP_MUL;
	case OP_REDUCE_MAX: return OP_MAX;
	case OP_REDUCE_MIN: return OP_MIN;
	default: return OP_ADD;
	}
}

KRef identity_of(ArrayEmit *e, Op op, KType t) {
	KBuilder *k = e->k;
	Op prim = fold_prim(op);
	if (prim == OP_ADD) return k_const(k, t, 0);
	if (prim == OP_MUL) return k_const(k, t, 1);
	bool least = prim == OP_MAX;
	switch (t) {
	case KT_BOOL: return k_bits(k, t, least ? 0 : 1);
	case KT_I32: return k_bits(k, t, (uint64_t)(int64_t)(least ? INT32_MIN : INT32_MAX));
	case KT_I64: return k_bits(k, t, (uint64_t)(least ? INT64_MIN : INT64_MAX));
	default: return k_const(k, t, least ? -__builtin_inf() : __builtin_inf());
	}
}

/* ---- computing ----------------------------------------------------------- */

static KType type_of_ref(const ArrayEmit *e, Ref r) {
	return ktype_of((Dtype)ref_ty(e->l->f, r)->dtype);
}

static uint32_t *memo_head(const ArrayEmit *e, Ref r) {
	return &e->memo_heads[r * 0x9e3779b9u >> 7 & (e->nmemo_heads - 1)];
}

static bool memo_find(const ArrayEmit *e, Ref r, uint32_t rank, const Index *at, KRef *value) {
	const Memo *m;
	for (uint32_t i = e->nmemo_heads ? *memo_head(e, r) : 0; i; i = m->before) {
		m = &e->memo.at[i - 1];
		if (m->ref != r) continue;
		bool same = true;
		for (uint32_t j = 0; j < rank && same; j++) same = index_equal(m->at[j], at[j]);
		if (!same) continue;
		*value = m->value;
		return true;
	}
	return false;
}

static void memo_link(ArrayEmit *e, uint32_t k) {
	Memo *m = &e->memo.at[k];
	uint32_t *head = memo_head(e, m->ref);
	m->before = *head;
	*head = k + 1;
}

static void memo_add(ArrayEmit *e, Ref r, uint32_t rank, const Index *at, KRef value) {
	Memo m = {.ref = r, .rank = rank, .value = value};
	for (uint32_t i = 0; i < rank; i++) m.at[i] = at[i];
	VEC_PUSH(e->l->scratch, &e->memo, m);
	if (e->memo.n <= e->nmemo_heads) {
		memo_link(e, e->memo.n - 1);
		return;
	}
	e->nmemo_heads = e->nmemo_heads ? 4 * e->nmemo_heads : 16;
	e->memo_heads = ARENA_ARRAY(e->l->scratch, uint32_t, e->nmemo_heads);
	for (uint32_t k = 0; k < e->memo.n; k++) memo_link(e, k);
}

void memo_cut(ArrayEmit *e, uint32_t n) {
	while (e->memo.n > n) {
		const Memo *m = &e->memo.at[--e->memo.n];
		*memo_head(e, m->ref) = m->before;
	}
}

/* The mask of active lanes for a check in the open loop; 0: all. */
static KRef mask_of(ArrayEmit *e) {
	const KRef mask = e->k->lanes ? k_mask(e->k) : 0;
	return mask && e->nonempty ? k_logic(e->k, 0, mask, e->nonempty) : mask ? mask : e->nonempty;
}

static KRef masked(ArrayEmit *e, KRef condition) {
	KRef mask = mask_of(e);
	return mask ? k_logic(e->k, 0, condition, mask) : condition;
}

static KRef gather_element(ArrayEmit *e, const Inst *in, const Index *at) {
	KBuilder *k = e->k;
	const Fn *f = e->l->f;
	Ref x = inst_arg(f, in, 0), i = inst_arg(f, in, 1);
	int64_t axis = attr_int(e->l->c, OP_GATHER, in->attr, 0),
			batch = attr_int(e->l->c, OP_GATHER, in->attr, 1);
	uint32_t rank = ref_ty(f, x)->rank, extra = ref_ty(f, i)->rank - (uint32_t)batch;
	Index which[MAX_RANK], from[MAX_RANK];
	operand_index(&e->ix, in, 1, at, which);
	KRef row = k_convert(k, element_at(e, i, which), KT_I64);
	KRef length = lower_dim(e->l, ref_ty(f, x)->dims[axis]);
	KRef outside = k_logic(k, 1, k_lt(k, row, k_int(k, 0)), k_prim2(k, OP_LE, length, row));
	k_fail_if(k, masked(e, outside), lower_site(e->l, SITE_INDEX, in), row, length);
	/* The check ignores inactive lanes, so their index is clamped. */
	if (k_lanes_of(k, row) || e->nonempty) row = k_clamp_index(k, outside, row);
	for (uint32_t j = 0; j < rank; j++) {
		if (j != axis) {
			from[j] = j < axis ? at[j] : at[j - 1 + extra];
			continue;
		}
		from[j] = (Index){.kind = IX_OTHER};
		if (k_lanes_of(k, row)) from[j].varying = row;
		else from[j].base = row;
	}
	return element_at(e, x, from);
}

/* Pads and updates clamp an index into their operand. An operand without
 * elements has no valid index: loads then read native_nowhere(), and checks are
 * masked. Values computed under this condition leave the memo, because other
 * reads are not under it. begin_moved returns the state that end_moved
 * restores. */
typedef struct Moved {
	KRef nonempty;
	uint32_t memo;
} Moved;

static Moved begin_moved(const ArrayEmit *e) {
	return (Moved){.nonempty = e->nonempty, .memo = e->memo.n};
}

/* Notes an axis of this extent along which an index was clamped. */
static void moved_along(ArrayEmit *e, Dim length, KRef len) {
	int64_t n;
	if (dim_is_const(e->l->c, length, &n) && n > 0) return;
	const KRef some = k_lt(e->k, k_int(e->k, 0), len);
	e->nonempty = e->nonempty ? k_logic(e->k, 0, e->nonempty, some) : some;
}

static void end_moved(ArrayEmit *e, Moved m) {
	if (e->nonempty != m.nonempty) memo_cut(e, m.memo);
	e->nonempty = m.nonempty;
}

/* Zero outside the padded operand. */
static KRef pad_element(ArrayEmit *e, const Inst *in, const Index *at) {
	KBuilder *k = e->k;
	const Fn *f = e->l->f;
	Ctx *c = e->l->c;
	Ref r = inst_arg(f, in, 0);
	Type x = *ref_ty(f, r), y = *type_of(c, f->vals.at[in->results].type);
	uint32_t n;
	const int64_t *low = attr_field(c, OP_PAD, in->attr, 0, &n),
				  *stride = attr_field(c, OP_PAD, in->attr, 2, &n);
	Index from[MAX_RANK];
	KRef inside = 0;
	KType t = type_of_ref(e, r);
	const Moved moved = begin_moved(e);
	for (uint32_t i = 0; i < x.rank; i++) {
		int64_t zero, length;
		if (dim_is_const(c, (Dim)low[i], &zero) && stride[i] == 1 && at[i].kind == IX_NUMBER &&
		    dim_is_const(c, x.dims[i], &length)) {
			int64_t p = at[i].number - zero;
			if (p < 0 || p >= length) {
				end_moved(e, moved);
				return k_const(k, t, 0);
			}
			from[i] = index_number(p);
			continue;
		}
		if (dim_is_const(c, (Dim)low[i], &zero) && zero == 0 && stride[i] == 1 &&
		    x.dims[i] == y.dims[i]) {
			from[i] = at[i];
			continue;
		}
		KRef p = k_sub(k, index_value(&e->ix, at[i]), lower_dim(e->l, (Dim)low[i]));
		KRef len = lower_dim(e->l, x.dims[i]), fits = 0;
		if (stride[i] != 1) {
			KRef step = k_int(k, stride[i]), q = k_prim2(k, OP_FLOORDIV, p, step);
			fits = k_prim2(k, OP_EQ, k_mul(k, q, step), p);
			p = q;
		}
		KRef in_range = k_logic(k, 0, k_prim2(k, OP_LE, k_int(k, 0), p), k_lt(k, p, len));
		fits = fits ? k_logic(k, 0, fits, in_range) : in_range;
		inside = inside ? k_logic(k, 0, inside, fits) : fits;
		p = k_max(k, k_min(k, p, k_sub(k, len, k_int(k, 1))), k_int(k, 0));
		from[i] = (Index){.kind = IX_OTHER};
		if (k_lanes_of(k, p)) from[i].varying = p;
		else from[i].base = p;
		moved_along(e, x.dims[i], len);
	}
	KRef value = element_at(e, r, from);
	end_moved(e, moved);
	return inside ? k_select(k, inside, value, k_const(k, t, 0)) : value;
}

/* The new values inside the box, else the array. */
static KRef update_element(ArrayEmit *e, const Inst *in, const Index *at) {
	KBuilder *k = e->k;
	const Fn *f = e->l->f;
	Ref x = inst_arg(f, in, 0), v = inst_arg(f, in, 1);
	uint32_t rank = ref_ty(f, x)->rank;
	Index from[MAX_RANK];
	KRef inside = 0;
	const Moved moved = begin_moved(e);
	for (uint32_t i = 0; i < rank; i++) {
		AxisRange s = inst_side(f, in, i);
		int64_t start, length;
		if (side_takes_all(e->l->c, s)) {
			from[i] = at[i];
			continue;
		}
		if (at[i].kind == IX_NUMBER && dim_is_const(e->l->c, s.start, &start) &&
		    dim_is_const(e->l->c, s.length, &length)) {
			int64_t p = at[i].number - start;
			if (p % s.stride || p / s.stride < 0 || p / s.stride >= length) {
				end_moved(e, moved);
				return element_at(e, x, at);
			}
			from[i] = index_number(p / s.stride);
			continue;
		}
		KRef p = k_sub(k, index_value(&e->ix, at[i]), lower_dim(e->l, s.start)),
			 len = lower_dim(e->l, s.length), fits = 0;
		if (s.stride != 1) {
			KRef step = k_int(k, s.stride), q = k_prim2(k, OP_FLOORDIV, p, step);
			fits = k_prim2(k, OP_EQ, k_mul(k, q, step), p);
			p = q;
		}
		KRef in_range = k_logic(k, 0, k_prim2(k, OP_LE, k_int(k, 0), p), k_lt(k, p, len));
		fits = fits ? k_logic(k, 0, fits, in_range) : in_range;
		inside = inside ? k_logic(k, 0, inside, fits) : fits;
		p = k_max(k, k_min(k, p, k_sub(k, len, k_int(k, 1))), k_int(k, 0));
		from[i] = (Index){.kind = IX_OTHER};
		if (k_lanes_of(k, p)) from[i].varying = p;
		else from[i].base = p;
		moved_along(e, s.length, len);
	}
	KRef value = element_at(e, v, from);
	end_moved(e, moved);
	return inside ? k_select(k, inside, value, element_at(e, x, at)) : value;
}

/* Along an axis of fixed extents: the operand is known, or selected by
 * comparisons. */
static KRef concat_element(ArrayEmit *e, const Inst *in, const Index *at) {
	KBuilder *k = e->k;
	const Fn *f = e->l->f;
	int64_t axis = attr_int(e->l->c, OP_CONCAT, in->attr, 0), before = 0, length;
	Index from[MAX_RANK];
	KRef value = 0, position = at[axis].kind == IX_NUMBER ? 0 : index_value(&e->ix, at[axis]);
	for (uint32_t j = 0; j < in->nargs; j++) {
		Ref r = inst_arg(f, in, j);
		Type t = *ref_ty(f, r);
		dim_is_const(e->l->c, t.dims[axis], &length);
		for (uint32_t i = 0; i < t.rank; i++) from[i] = at[i];
		if (!position) {
			if (at[axis].number < before + length) {
				from[axis] = index_number(at[axis].number - before);
				return element_at(e, r, from);
			}
		} else if (length) {
			KRef p = k_sub(k, position, k_int(k, before));
			KRef q = k_max(k, k_min(k, p, k_int(k, length - 1)), k_int(k, 0));
			from[axis] = (Index){.kind = IX_OTHER};
			if (k_lanes_of(k, q)) from[axis].varying = q;
			else from[axis].base = q;
			KRef here = element_at(e, r, from);
			value = value ? k_select(k, k_prim2(k, OP_LE, k_int(k, 0), p), here, value) : here;
		}
		before += length;
	}
	return value
	           ? value
	           : k_const(k, ktype_of((Dtype)type_of(e->l->c, f->vals.at[in->results].type)->dtype),
	                     0);
}

/* A reduction over few or no elements, unrolled. */
static KRef reduction_element(ArrayEmit *e, const LoopNode *n, const Index *at) {
	KBuilder *k = e->k;
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	int64_t length[MAX_AXES], trip_count = 1;
	for (uint32_t i = n->nresult; i < n->naxes; i++) {
		dim_is_const(e->l->c, n->axes[i], &length[i]);
		trip_count *= length[i];
	}
	KType t = ktype_of((Dtype)type_of(e->l->c, f->vals.at[in->results].type)->dtype);
	if ((in->op == OP_REDUCE_MAX || in->op == OP_REDUCE_MIN) && trip_count == 0 && t != KT_BOOL)
		k_fail_if(k, k_bits(k, KT_BOOL, 1), lower_site(e->l, SITE_EMPTY, in), k_int(k, 0),
		          k_int(k, 0));
	KRef sum = 0;
	Index full[MAX_AXES], x[MAX_RANK], y[MAX_RANK];
	for (uint32_t i = 0; i < n->nresult; i++) full[i] = at[i];
	for (int64_t iteration = 0; iteration < trip_count; iteration++) {
		int64_t rest = iteration;
		for (uint32_t i = n->naxes; i-- > n->nresult;) {
			full[i] = index_number(rest % length[i]);
			rest /= length[i];
		}
		KRef term;
		if (in->op == OP_DOT) {
			dot_indices(e->p, in, full, x, y);
			KRef a = element_at(e, inst_arg(f, in, 0), x), b = element_at(e, inst_arg(f, in, 1), y);
			bool real = t == KT_F32 || t == KT_F64;
			if (real && sum) {
				sum = k_muladd(k, a, b, sum);
				continue;
			}
			term = k_mul(k, a, b);
		} else {
			reduce_index(e->p, in, full, x);
			term = element_at(e, inst_arg(f, in, 0), x);
		}
		sum = sum ? k_prim2(k, fold_prim((Op)in->op), sum, term) : term;
	}
	return sum ? sum : identity_of(e, (Op)in->op, t);
}

KRef element_recomputed(ArrayEmit *e, LoopNode *n, const Index *at) {
	const Inst *in = node_inst(e->p, n);
	const Fn *f = e->l->f;
	KBuilder *k = e->k;
	uint32_t rank = n->nresult, span = k->span, origin = k->origin;
	KRef value;
	/* Its nest is the box's, so `at` is no index of the array. */
	if (n->kind == NODE_UPDATE) return element_at(e, inst_arg(f, in, 1), at);
	if (memo_find(e, n->ref, rank, at, &value)) return value;
	k->span = in->span;
	k->origin = n->inst + 1;
	Index x[MAX_RANK];
	switch (in->op) {
	case OP_GATHER: value = gather_element(e, in, at); break;
	case OP_PAD: value = pad_element(e, in, at); break;
	case OP_UPDATE: value = update_element(e, in, at); break;
	case OP_CONCAT: value = concat_element(e, in, at); break;
	case OP_DOT:
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN: value = reduction_element(e, n, at); break;
	case OP_IOTA: value = k_convert(k, index_value(&e->ix, at[0]), type_of_ref(e, n->ref)); break;
	case OP_EXTENT: value = lower_dim(e->l, (Dim)attr_int(e->l->c, OP_EXTENT, in->attr, 0)); break;
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_STOP:
		operand_index(&e->ix, in, 0, at, x);
		value = element_at(e, inst_arg(f, in, 0), x);
		break;
	case OP_CONVERT:
		value = k_convert(k, element_at(e, inst_arg(f, in, 0), at), type_of_ref(e, n->ref));
		break;
	case OP_SELECT: {
		KRef c = element_at(e, inst_arg(f, in, 0), at), a = element_at(e, inst_arg(f, in, 1), at),
			 b = element_at(e, inst_arg(f, in, 2), at);
		value = k_select(k, c, a, b);
		break;
	}
	default: {
		KRef a = element_at(e, inst_arg(f, in, 0), at),
			 b = in->nargs > 1 ? element_at(e, inst_arg(f, in, 1), at) : 0;
		value = lower_element(e->l, in, a, b, mask_of(e));
	}
	}
	k->span = span;
	k->origin = origin;
	memo_add(e, n->ref, rank, at, value);
	return value;
}

/* Loads the element from the region's packed copy, if it is read at the
 * region's own row. */
static bool load_transposed(ArrayEmit *e, Ref r, const Index *at, KRef *value) {
	const TransposedCopy *t = transposed_copy_of(e, r);
	if (!t || at[t->row].kind != IX_AXIS || at[t->row].axis != ROW_AXIS) return false;
	const Type type = *ref_ty(e->l->f, r);
	Index local[MAX_RANK];
	KRef stride[MAX_RANK];
	for (uint32_t i = 0; i < type.rank; i++) {
		local[i] = at[i];
		if (i == t->row)
			local[i] =
				(Index){.kind = IX_OTHER, .base = e->row_local, .lane = e->axes[ROW_AXIS].lane};
		else if (at[i].kind == IX_OTHER && at[i].varying) return false;
	}
	transposed_strides(e, t, stride);
	*value = load_at(e, ktype_of((Dtype)type.dtype), e->scratch_slots[t->scratch_slot],
	                 address(e, type.rank, local, stride));
	return true;
}

static bool is_unit(ArrayEmit *e, Address a) {
	int64_t one;
	return a.lane && !a.varying && k_is_int(e->k, a.lane, &one) && one == 1;
}

bool goes_along_row(const ArrayEmit *e, const LoopGroup *g) {
	const LoopGroup *first = &e->r->groups.at[0];
	return g->naxes == 1 && first->naxes == 1 && g->axes[0] == first->axes[0];
}

static void note_row_read(ArrayEmit *e, Ref r, uint32_t rank, const Index *at, Address a) {
	int64_t block;
	/* Only a loop along the row: the indices of other loops have no value where
	 * the next row is prefetched. */
	if (!e->group || !goes_along_row(e, e->group)) return;
	if (!e->r || !e->r->has_row || e->r->lanes != LANES_INNER ||
	    !k_is_int(e->k, e->block, &block) || block != 1 || !is_unit(e, a))
		return;
	RowRead read = {.ref = r, .rank = rank};
	bool row = false;
	for (uint32_t i = 0; i < rank; i++) {
		row = row || (at[i].kind == IX_AXIS && at[i].axis == ROW_AXIS);
		if (at[i].kind == IX_OTHER) return;
		if (at[i].kind == IX_AXIS && at[i].axis != ROW_AXIS && at[i].axis != 0) return;
		read.at[i] = at[i];
	}
	if (!row) return;
	for (uint32_t i = 0; i < e->row_reads.n; i++) {
		const RowRead *q = &e->row_reads.at[i];
		bool same = q->ref == r;
		for (uint32_t j = 0; j < rank && same; j++) same = index_equal(q->at[j], at[j]);
		if (same) return;
	}
	VEC_PUSH(e->l->scratch, &e->row_reads, read);
}

void prefetch_next_row(ArrayEmit *e, uint32_t lanes) {
	enum { LINE = 64, MOST = 4 };
	KBuilder *k = e->k;
	const Axis here = e->axes[ROW_AXIS];
	e->axes[ROW_AXIS].base = k_add(k, here.base, k_int(k, 1));
	for (uint32_t i = 0; i < e->row_reads.n && i < MOST; i++) {
		const RowRead *q = &e->row_reads.at[i];
		const Type t = *ref_ty(e->l->f, q->ref);
		const KType type = ktype_of((Dtype)t.dtype);
		KRef pointer, stride[MAX_RANK];
		if (!in_memory(e, q->ref, &pointer)) continue;
		memory_strides(e, &t, stride);
		Address a = address(e, q->rank, q->at, stride);
		for (uint32_t l = 0; l < lanes; l += LINE / ktype_size(type))
			k_prefetch(k, type, pointer, k_add(k, a.base, k_int(k, l)));
	}
	e->axes[ROW_AXIS] = here;
	e->row_reads.n = 0;
}

/* A value from outside the plan: a scalar, some registers, or an array. */
static KRef outside_element(ArrayEmit *e, Ref r, const Index *at) {
	const Type *t = ref_ty(e->l->f, r);
	KRef pointer, stride[MAX_RANK];
	const Storage *place = lower_place(e->l, r);
	if (place->kind == PLACE_SMALL) {
		if (place->count == 1) return place->elements[0];
		int64_t offset = 0, length = 0;
		bool numbers = true, inside = true;
		for (uint32_t i = 0; i < t->rank; i++) {
			dim_is_const(e->l->c, t->dims[i], &length);
			numbers = numbers && at[i].kind == IX_NUMBER;
			inside = inside && at[i].number >= 0 && at[i].number < length;
			offset = offset * length + at[i].number;
		}
		/* Outside is only code behind a check that fails. */
		if (numbers && !inside) return k_const(e->k, ktype_of((Dtype)t->dtype), 0);
		if (numbers) return place->elements[offset];
	}
	Type copy = *t;
	if (!in_memory(e, r, &pointer)) {
		/* A small value that was not spilled: planning and emission
		 * disagree. */
		e->l->failed = true;
		return k_const(e->k, ktype_of((Dtype)copy.dtype), 0);
	}
	memory_strides(e, &copy, stride);
	Address a = address(e, copy.rank, at, stride);
	note_row_read(e, r, copy.rank, at, a);
	return load_at(e, ktype_of((Dtype)copy.dtype), pointer, a);
}

KRef element_at(ArrayEmit *e, Ref r, const Index *at) {
	LoopNode *n = plan_node(e->p, r);
	uint32_t rank = ref_ty(e->l->f, r)->rank;
	KRef value, pointer, stride[MAX_RANK];
	Value scalar;
	if (ref_splat(e->l->f, r, &scalar)) {
		/* A constant that is equal in all elements, whatever its shape. */
		if (memo_find(e, r, 0, at, &value)) return value;
		double x = 0;
		KType t = type_of_ref(e, r);
		scalar_convert(scalar.dtype, &scalar.f, DT_F64, &x);
		if (t == KT_I64) value = k_bits(e->k, t, (uint64_t)scalar.i);
		else value = k_const(e->k, t, x);
		memo_add(e, r, 0, at, value);
		return value;
	}
	/* It is included in another term. */
	if (n && n->into) return k_const(e->k, type_of_ref(e, r), 0);
	if (memo_find(e, r, rank, at, &value)) return value;
	value = e->phase ? periodic_element(e, r) : 0;
	if (value) {
		memo_add(e, r, rank, at, value);
		return value;
	}
	if (n && !n->materialised) return element_recomputed(e, n, at);
	if (load_transposed(e, r, at, &value)) {
		memo_add(e, r, rank, at, value);
		return value;
	}
	if (!n) value = outside_element(e, r, at);
	else if (e->r && n->region == (uint32_t)(e->r - e->p->regions.at) && uses_scratch(e, n) &&
	         n->scratch_at) {
		Index local[MAX_RANK];
		local_row(e, n, at, local);
		scratch_strides(e, n, stride);
		value = load_at(e, type_of_ref(e, r), n->scratch_at, address(e, rank, local, stride));
	} else if (in_memory(e, r, &pointer)) {
		Type t = *ref_ty(e->l->f, r);
		memory_strides(e, &t, stride);
		value = load_at(e, ktype_of((Dtype)t.dtype), pointer, address(e, rank, at, stride));
	} else {
		value = outside_element(e, r, at);
	}
	memo_add(e, r, rank, at, value);
	return value;
}
