/* transposed_copy.c - transposed copy (packing) of arrays from outside a region
 * that its loops read with a stride.
 *
 * Needs: loops/loops.h.
 *
 * With lanes along the rows, an array [row, axis] in memory is read with a
 * stride, one load for each lane. A loop over further axes (the distance of
 * each row to each of 25 means) would repeat that in every iteration.
 *
 * Method: where that happens, a block's rows are first copied into scratch with
 * the region's own layout, [axis][row in block].
 *
 * Contract: only reads at the region's own row use the copy, which has the same
 * bits.
 */
#include "backend/native/loops/loops.h"

/* Elements of a row, at most: the copy should fit in the first caches with the
 * values computed from it. */
#define MOST_TRANSPOSED 256

/* The array's axis that is the region's row. False unless there is exactly one,
 * and it is not the last. */
static bool row_axis(const ArrayPlan *p, Dim row, Ref ref, uint32_t *axis) {
	const Type *t = ref_ty(p->l->f, ref);
	uint32_t found = 0;
	for (uint32_t i = 0; i < t->rank; i++)
		if (t->dims[i] == row) found++, *axis = i;
	return found == 1 && *axis + 1 < t->rank && dtype_is_real((Dtype)t->dtype);
}

static double row_elements(const ArrayPlan *p, Ref ref, uint32_t row) {
	const Type *t = ref_ty(p->l->f, ref);
	double n = 1;
	for (uint32_t i = 0; i < t->rank; i++)
		if (i != row) n *= (double)lower_hint(p->l, t->dims[i], 1000);
	return n;
}

/* How often nest n loads an element of an array with this axis_of. Each
 * iteration of a loop that the array does not run along loads it again, unless
 * the loop is unrolled. A contraction copies its operands into scratch once. */
static double times_loaded(const ArrayPlan *p, const LoopNode *n, const int8_t *axis_of) {
	const uint32_t along = axes_along(axis_of);
	double times = 1;
	int64_t fixed;
	for (uint32_t k = 0; k < n->naxes && n->contraction == CONTRACTION_NONE; k++)
		if ((int)k != n->row && !(along >> k & 1) && !dim_number(p, n->axes[k], &fixed))
			times *= (double)lower_hint(p->l, n->axes[k], 1000);
	return times;
}

static void transpose(ArrayPlan *p, FusedRegion *r, Ref ref, uint32_t row) {
	const Type type = *ref_ty(p->l->f, ref);
	Dim dims[MAX_RANK];
	uint32_t m = 0;
	for (uint32_t i = 0; i < r->transposed.n; i++)
		if (r->transposed.at[i].ref == ref) return;
	for (uint32_t k = 0; k < type.rank; k++)
		if (k != row) dims[m++] = type.dims[k];
	TransposedCopy t = {.ref = ref,
	                    .row = row,
	                    .scratch_slot =
	                        scratch_alloc(p, r, dims_product(p->l->c, m, dims), 0, r->groups.n)};
	VEC_PUSH(p->a, &r->transposed, t);
}

void choose_transposed(ArrayPlan *p, uint32_t region) {
	FusedRegion *r = &p->regions.at[region];
	if (!r->has_row || r->lanes != LANES_ROWS) return;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		const uint32_t id = r->nodes.at[i];
		const OutsideList list = plan_reads(p, id);
		const LoopNode *n = &p->nodes.at[id];
		for (uint32_t k = 0; k < list.n + n->reads.n && n->row >= 0; k++) {
			const Access *a = k < list.n ? NULL : &n->reads.at[k - list.n];
			const int8_t *axis_of = a ? a->axis_of : list.at[k].axis_of;
			const Ref ref = a ? p->nodes.at[a->node].ref : list.at[k].ref;
			uint32_t row = 0;
			if ((a && p->nodes.at[a->node].region == region) || !ref ||
			    !row_axis(p, r->row, ref, &row) || axis_of[row] != n->row)
				continue;
			if (times_loaded(p, n, axis_of) >= 2 && row_elements(p, ref, row) <= MOST_TRANSPOSED)
				transpose(p, r, ref, row);
		}
	}
}

const TransposedCopy *transposed_copy_of(const ArrayEmit *e, Ref r) {
	for (uint32_t i = 0; e->transposed && i < e->r->transposed.n; i++)
		if (e->r->transposed.at[i].ref == r) return &e->r->transposed.at[i];
	return NULL;
}

void transposed_strides(ArrayEmit *e, const TransposedCopy *t, KRef *stride) {
	const Type type = *ref_ty(e->l->f, t->ref);
	KRef s = e->block;
	for (uint32_t i = type.rank; i-- > 0;) {
		if (i == t->row) {
			stride[i] = k_int(e->k, 1);
			continue;
		}
		stride[i] = s;
		s = k_mul(e->k, s, lower_dim(e->l, type.dims[i]));
	}
}

static void copy_one(ArrayEmit *e, const TransposedCopy *t) {
	KBuilder *k = e->k;
	const Type type = *ref_ty(e->l->f, t->ref);
	KRef stride[MAX_RANK], to = k_int(k, 0), base;
	Index at[MAX_RANK];
	uint32_t axis = 0, open = 0, mark[MAX_RANK];
	transposed_strides(e, t, stride);
	for (uint32_t i = 0; i < type.rank; i++) {
		if (i == t->row) {
			at[i] = index_axis(ROW_AXIS);
			continue;
		}
		KRef index;
		mark[open++] = e->memo.n;
		k_loop_begin(k, k_int(k, 0), lower_dim(e->l, type.dims[i]), 1, 0, NULL, &index);
		at[i] = index_axis(axis);
		e->axes[axis++] = (Axis){.base = index};
		to = k_add(k, to, k_mul(k, index, stride[i]));
	}
	const uint32_t inside = e->memo.n;
	k_vloop_begin(k, dtype_size((Dtype)type.dtype) == 8 ? 8 : 16, 0, e->rows, 0, NULL, NULL, &base);
	e->row_local = base;
	e->axes[ROW_AXIS] = (Axis){.base = k_add(k, e->row_start, base), .lane = k_int(k, 1)};
	k_store(k, KM_UNIT, e->scratch_slots[t->scratch_slot], k_add(k, to, base),
	        element_at(e, t->ref, at), 0);
	k_vloop_end(k, NULL, NULL);
	memo_cut(e, inside);
	while (open) {
		k_loop_end(k, NULL, NULL);
		memo_cut(e, mark[--open]);
	}
}

void emit_transposed_copies(ArrayEmit *e) {
	e->transposed = false;
	for (uint32_t i = 0; i < e->r->transposed.n; i++) {
		const uint32_t mark = e->memo.n;
		KMark before = k_mark(e->k);
		copy_one(e, &e->r->transposed.at[i]);
		k_outline(e->k, before);
		memo_cut(e, mark);
	}
	e->transposed = true;
}
