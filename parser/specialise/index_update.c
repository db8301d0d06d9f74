/* index_update.c - updates x[i] = v, x[i] += v of arrays and lists.
 *
 * Needs: indexing.h.
 *
 * Contract:
 * - The result is a new value. The written value is broadcast to the part, and
 *   takes the dtype of the array.
 * - Several updates of one element by += add up.
 */
#include "parser/specialise/indexing.h"

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

static Ref scatter(Sp *sp, bool add, Ref x, Ref index, Ref update) {
	return build_scatter(sp->b, add ? OP_SCATTER_ADD : OP_SCATTER_SET, x, index, update, 0, 0);
}

/* The written value, broadcast to this shape. */
static Ref into_place(Sp *sp, const Av *base, const Av *value, Ref v, uint32_t rank,
                      const Dim *shape, Span at) {
	Av place = {.kind = AV_ARRAY,
	            .ref =
	                build_zeros(sp->b, type_tensor(sp->c, (Dtype)ty(sp, v)->dtype, rank, shape))};
	return sp_broadcast_into(sp, v, rank, shape, at,
	                         arena_printf(sp->a, "cannot write %s into %s, a part of %s",
	                                      sp_type_text(sp, value), sp_type_text(sp, &place),
	                                      sp_type_text(sp, base)));
}

/* The part of an array that an update writes, by axis. */
typedef struct UpdateRegion {
	uint32_t rank;
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	bool drop[MAX_RANK]; /* a single index: the written value has no such axis */
} UpdateRegion;

/* x with v in the box, or with v added to the elements there. */
static Ref update_box(Sp *sp, const Av *base, const Av *written, Ref x, const UpdateRegion *box,
                      Ref v, bool add, Span at) {
	Dim shape[MAX_RANK];
	uint32_t rank = 0;
	for (uint32_t i = 0; i < box->rank; i++)
		if (!box->drop[i]) shape[rank++] = box->length[i];
	v = into_place(sp, base, written, v, rank, shape, at);
	if (rank < box->rank) v = build_reshape(sp->b, v, box->rank, box->length);
	if (add)
		v = build2(sp->b, OP_ADD, build_slice(sp->b, x, box->start, box->length, box->stride), v);
	return build_update(sp->b, x, v, box->start, box->stride);
}

static bool box_takes_all(Sp *sp, const UpdateRegion *box, Ref x) {
	int64_t zero;
	for (uint32_t i = 0; i < box->rank; i++) {
		Dim length = build_canon(sp->b, ty(sp, x)->dims[i]);
		if (box->drop[i] || box->stride[i] != 1 || !dim_is_const(sp->c, box->start[i], &zero) ||
		    zero || build_canon(sp->b, box->length[i]) != length)
			return false;
	}
	return true;
}

/* Each of the axes from .. to - 1 has a run-time index; the others are the
 * sides of a box. The row at these indices is gathered, updated and scattered
 * back. */
static Ref update_row(Sp *sp, const Av *base, const Av *written, const UpdateRegion *box,
                      uint32_t from, uint32_t to, const Ref *index, Ref v, bool add, Span at) {
	Ref x = base->ref, row = index[from];
	Type t = *ty(sp, x);
	Dim joined[MAX_RANK];
	uint32_t rank = 0;
	UpdateRegion rest = {.rank = 0};
	for (uint32_t i = 0; i < t.rank; i++) {
		if (i > from && i < to) joined[rank - 1] = dim_mul(sp->c, joined[rank - 1], t.dims[i]);
		else joined[rank++] = t.dims[i];
		if (i >= from && i < to) continue;
		rest.start[rest.rank] = box->start[i];
		rest.length[rest.rank] = box->length[i];
		rest.stride[rest.rank] = box->stride[i];
		rest.drop[rest.rank++] = box->drop[i];
	}
	for (uint32_t i = from; to > from + 1 && i < to; i++) {
		Ref own = index_normalised(sp, index[i], t.dims[i]);
		row = i == from ? own
		                : build2(sp->b, OP_ADD,
		                         build2(sp->b, OP_MUL, row, build_extent(sp->b, t.dims[i])), own);
	}
	x = build_reshape(sp->b, x, rank, joined);
	Ref old = build_gather(sp->b, x, row, (int)from, 0);
	if (box_takes_all(sp, &rest, old)) {
		Dim shape[MAX_RANK];
		for (uint32_t i = 0; i < rest.rank; i++) shape[i] = rest.length[i];
		v = into_place(sp, base, written, v, rest.rank, shape, at);
		x = build_scatter(sp->b, add ? OP_SCATTER_ADD : OP_SCATTER_SET, x, row, v, (int)from, 0);
	} else {
		x = build_scatter(sp->b, OP_SCATTER_SET, x, row,
		                  update_box(sp, base, written, old, &rest, v, add, at), (int)from, 0);
	}
	return build_reshape(sp->b, x, t.rank, t.dims);
}

/* The written value in the dtype of the array. */
static Ref in_own_dtype(Sp *sp, const Av *base, Av *value, Span at) {
	Dtype d = (Dtype)ty(sp, base->ref)->dtype, meet = sp_common_dtype(sp, base, value);
	bool fits = meet == d || (dtype_is_inexact(d) && (value->weak || !dtype_is_complex(meet)));
	if (!fits) {
		Diag *e = diag_error(sp->c, E_DTYPE, at, "cannot write %s into %s", sp_type_text(sp, value),
		                     sp_type_text(sp, base));
		diag_hint(sp->c, e,
		          value->weak ? "%s(...) of the whole array makes room for it"
		                      : "%s(x) converts first",
		          dtype_name(meet));
		sp_throw(sp);
	}
	return sp_to_dtype(sp, value, d);
}

/* `op` of the old value and the written one; `value` itself for AO_NONE. */
static Av *combined(Sp *sp, AstOp op, Av *old, Av *value, Span at) {
	return op == AO_NONE ? value : sp_binary(sp, op, old, value, at, NO_SPAN, NO_SPAN);
}

/* True when `op` cannot fail on elements that a mask excludes. */
static bool never_fails(Sp *sp, AstOp op, const Av *base) {
	return op == AO_NONE || op == AO_ADD || op == AO_SUB || op == AO_MUL ||
	       dtype_is_inexact((Dtype)ty(sp, base->ref)->dtype);
}

/* The rows of `v` that go to the rows `at_true` of `n`; their number is
 * `count`. v has either n rows or `count` rows, which may be decided at run
 * time. If the mask selects all rows, both are the same. */
static Ref rows_taken(Sp *sp, Ref v, Ref at_true, Dim n, Dim count, Span mask_at, Atom what) {
	const Dim length = build_canon(sp->b, ty(sp, v)->dims[0]);
	int64_t k;
	if (length == build_canon(sp->b, n)) return build_gather(sp->b, v, at_true, 0, 0);
	if (dim_is_const(sp->c, length, &k) &&
	    (k == 1 || dim_is_const(sp->c, build_canon(sp->b, n), &k)))
		return v;
	Ref all = build2(sp->b, OP_EQ, build_extent(sp->b, length), build_extent(sp->b, n));
	Ref want = build_select(sp->b, all, build_extent(sp->b, n), build_extent(sp->b, count));
	build_unify(sp->b, length, build_dim_of(sp->b, want, sp_words(sp, "sum(", mask_at, ")")), what);
	TypeId t = ref_type(build_fn(sp->b), at_true);
	return build_gather(sp->b, v,
	                    build_select(sp->b, build_broadcast_scalar(sp->b, all, t), at_true,
	                                 build_iota(sp->b, DT_I64, count)),
	                    0, 0);
}

Av *sp_mask_set(Sp *sp, Av *base, Av *chosen, Span mask_at, AstOp op, Av *value, Span at) {
	const Type t = *ty(sp, base->ref);
	const uint32_t axes = ty(sp, chosen->ref)->rank;
	const char *misfit = arena_printf(sp->a, "a mask of %s for %s", sp_type_text(sp, chosen),
	                                  sp_type_text(sp, base));
	if (axes > t.rank) sp_fail(sp, E_SHAPE, mask_at, "%s", misfit);
	Ref mask = sp_broadcast_into(sp, chosen->ref, axes, t.dims, mask_at, misfit);
	value = sp_want_array(sp, value, at, "an update");
	const Type tv = *ty(sp, value->ref);
	int64_t one;
	bool whole = tv.rank + axes <= t.rank || !axes || (tv.rank == t.rank && axes > 1);
	if (!whole && tv.rank == t.rank) {
		const Dim length = build_canon(sp->b, tv.dims[0]);
		whole = length == build_canon(sp->b, t.dims[0]) ||
		        (dim_is_const(sp->c, length, &one) && one == 1);
	}
	if (whole && never_fails(sp, op, base)) {
		Av *w = combined(sp, op, base, value, at);
		Ref v = into_place(sp, base, w, in_own_dtype(sp, base, w, at), t.rank, t.dims, at);
		int leading[MAX_RANK];
		for (uint32_t i = 0; i < axes; i++) leading[i] = (int)i;
		return av_array(sp,
		                build_select(sp->b, build_broadcast(sp->b, mask, t.rank, t.dims, leading),
		                             v, base->ref));
	}
	if (!whole && tv.rank > t.rank + 1 - axes) {
		Diag *d =
			diag_error(sp->c, E_SHAPE, at, "cannot write %s through a mask of %s into %s",
		               sp_type_text(sp, value), sp_type_text(sp, chosen), sp_type_text(sp, base));
		diag_hint(
			sp->c, d,
			"a number, an array of the whole shape, or one element for each that the mask takes");
		sp_throw(sp);
	}
	/* The rows that the mask covers, and the positions of those it selects. */
	Dim rows[MAX_RANK], part[MAX_RANK];
	const uint32_t rank = index_join_leading(sp, &t, axes, rows);
	memcpy(part, rows, sizeof part);
	Ref x = build_reshape(sp->b, base->ref, rank, rows),
		at_true = index_mask_positions(sp, mask, mask_at);
	part[0] = ty(sp, at_true)->dims[0];
	Ref v = value->ref;
	Av place = {.kind = AV_ARRAY,
	            .ref = build_zeros(sp->b, type_tensor(sp->c, (Dtype)tv.dtype, rank, part))};
	Atom what = atom_f(sp->c, "cannot write %s into %s, what the mask takes of %s",
	                   sp_type_text(sp, value), sp_type_text(sp, &place), sp_type_text(sp, base));
	if (whole && tv.rank)
		v = build_gather(
			sp->b,
			build_reshape(sp->b, sp_broadcast_into(sp, v, t.rank, t.dims, at, misfit), rank, rows),
			at_true, 0, 0);
	else if (tv.rank == rank)
		v = axes == 1 ? rows_taken(sp, v, at_true, rows[0], part[0], mask_at, what) : v;
	Av *taken = av_array(sp, v);
	taken->weak = value->weak;
	taken = combined(
		sp, op, av_array(sp, op == AO_NONE ? x : build_gather(sp->b, x, at_true, 0, 0)), taken, at);
	v = sp_broadcast_into(sp, in_own_dtype(sp, base, taken, at), rank, part, at,
	                      atom_text(sp->c, what));
	return av_array(sp, build_reshape(sp->b, scatter(sp, false, x, at_true, v), t.rank, t.dims));
}

/* A value whose type is known only when it runs, or a sequence at an index that
 * is. */
static Av *update_dynamic(Sp *sp, Av *base, uint32_t n, Av *const *items, Av *value, bool add,
                          Span at) {
	Av **args = ARENA_ARRAY(sp->a, Av *, n + 2), *kind = av_bool(sp, add);
	args[0] = base;
	args[1] = value;
	index_box_items(sp, n, items, args + 2);
	return sp_call_dynamic(sp, av_builtin(sp, "_item_set", 1, &kind), n + 2, args, at);
}

static Av *update_sequence(Sp *sp, Av *base, uint32_t n, Av *const *items, const Span *spans,
                           Av *value, bool add, Span at) {
	if (n == 1 && index_is_late(sp, items[0], spans[0]))
		return update_dynamic(sp, base, n, items, value, add, at);
	int64_t i = sp_want_int(sp, items[0], spans[0], "the index of a list"),
			k = i < 0 ? i + base->n : i;
	if (n != 1) sp_fail(sp, E_RANK, at, "%s has one index", av_kind_text(base));
	if (k < 0 || k >= base->n) index_out_of_range(sp, i, base->n, spans[0]);
	Av *r = av_seq(sp, (AvKind)base->kind, base->n, base->items);
	r->items[k] = add ? sp_binary(sp, AO_ADD, base->items[k], value, at, NO_SPAN, NO_SPAN) : value;
	return r;
}

/* Only a leading index: rows. */
static Ref update_leading(Sp *sp, const Av *base, const Av *written, Av *item, Span item_at, Ref v,
                          bool add, Span at) {
	const Type t = *ty(sp, base->ref);
	bool mask;
	Ref index = index_ref(sp, item, item_at, &mask);
	index = mask ? index_axis_mask(sp, base, index, t.dims[0], item_at)
	             : index_from_the_front(sp, index, build_canon(sp->b, t.dims[0]));
	const Type *ti = ty(sp, index);
	Dim shape[MAX_RANK];
	uint32_t k = 0;
	for (uint32_t i = 0; i < ti->rank; i++) shape[k++] = ti->dims[i];
	for (uint32_t i = 1; i < t.rank; i++) shape[k++] = t.dims[i];
	int64_t c, len;
	if (av_static_int(sp, item, &c) && dim_is_const(sp->c, t.dims[0], &len) &&
	    (c < -len || c >= len))
		index_out_of_range(sp, c, len, item_at);
	return scatter(sp, add, base->ref, index, into_place(sp, base, written, v, k, shape, at));
}

/* The single indices of an update. Those known only at run time lie on axes
 * `from` .. `to` - 1. */
typedef struct SingleIndices {
	uint32_t known, numbers, from, to;
	Ref number[MAX_RANK]; /* by axis */
} SingleIndices;

/* Slices, whole axes and static scalars are a box; run-time scalars go to
 * `single`. Returns false when an item is a mask or an array. */
static bool resolve_box(Sp *sp, const Type *t, Av *const *item, const Span *span, UpdateRegion *box,
                        SingleIndices *single) {
	*box = (UpdateRegion){.rank = t->rank};
	*single = (SingleIndices){.from = t->rank};
	for (uint32_t i = 0; i < t->rank; i++) {
		Dim dim = build_canon(sp->b, t->dims[i]);
		int64_t k, len;
		AxisSlice s = {dim_const(sp->c, 0), dim, 1};
		if (item[i] && item[i]->kind == AV_RANGE) {
			s = index_resolve_slice(sp, item[i], dim, span[i]);
		} else if (item[i] && av_static_int(sp, item[i], &k)) {
			if (dim_is_const(sp->c, dim, &len) && (k < -len || k >= len))
				index_out_of_range(sp, k, len, span[i]);
			s.start = k < 0 ? dim_add(sp->c, dim, dim_const(sp->c, k)) : dim_const(sp->c, k);
			s.length = dim_const(sp->c, 1);
			box->drop[i] = true;
			single->known++;
		} else if (item[i]) {
			bool mask;
			Ref number = index_ref(sp, item[i], span[i], &mask);
			if (mask || ty(sp, number)->rank) return false;
			single->number[i] = index_from_the_front(sp, number, dim);
			if (i < single->from) single->from = i;
			single->to = i + 1;
			single->numbers++;
			continue;
		}
		box->start[i] = s.start;
		box->length[i] = s.length;
		box->stride[i] = s.stride;
	}
	return t->rank > 0;
}

/* Indices by axis: slices and whole axes are independent, index arrays are
 * paired, single numbers have rank 0. */
typedef struct AxisIndices {
	Ref index[MAX_RANK];
	bool own_axis[MAX_RANK], is_array[MAX_RANK];
	uint32_t pair_rank;
	Dim pair_shape[MAX_RANK];
} AxisIndices;

static void resolve_indices(Sp *sp, const Av *base, const Type *t, Av *const *item,
                            const Span *span, AxisIndices *x, Span at) {
	*x = (AxisIndices){.pair_rank = 0};
	uint32_t arrays = 0;
	Ref paired[MAX_RANK];
	for (uint32_t i = 0; i < t->rank; i++) {
		Dim dim = build_canon(sp->b, t->dims[i]);
		if (!item[i] || item[i]->kind == AV_RANGE) {
			x->own_axis[i] = true;
			if (!item[i]) x->index[i] = build_iota(sp->b, DT_I64, dim);
			else {
				AxisSlice s = index_resolve_slice(sp, item[i], dim, span[i]);
				Ref all = build_iota(sp->b, DT_I64, dim);
				x->index[i] = build_slice(sp->b, all, &s.start, &s.length, &s.stride);
			}
			continue;
		}
		bool mask;
		Ref r = index_ref(sp, item[i], span[i], &mask);
		r = mask ? index_axis_mask(sp, base, r, dim, span[i]) : index_from_the_front(sp, r, dim);
		x->index[i] = index_normalised(sp, r, dim);
		x->is_array[i] = ty(sp, x->index[i])->rank > 0;
		if (x->is_array[i]) paired[arrays++] = x->index[i];
	}
	if (!arrays) return;
	index_pair(sp, arrays, paired, at, &x->pair_rank, x->pair_shape);
	uint32_t k = 0;
	for (uint32_t i = 0; i < t->rank; i++)
		if (x->is_array[i]) x->index[i] = paired[k++];
}

/* An update by the linear indices of its elements, for any items. */
static Ref update_elements(Sp *sp, const Av *base, const Av *written, Av *const *item,
                           const Span *span, Ref v, bool add, Span at) {
	const Type t = *ty(sp, base->ref);
	AxisIndices x;
	resolve_indices(sp, base, &t, item, span, &x, at);
	/* The shape of the selection: paired axes take the place of the first index
	 * array. */
	Dim shape[MAX_RANK];
	uint32_t out_rank = 0;
	int place[MAX_RANK], pair_place = -1;
	for (uint32_t i = 0; i < t.rank; i++) {
		if (x.is_array[i] && pair_place < 0) {
			pair_place = (int)out_rank;
			for (uint32_t k = 0; k < x.pair_rank; k++) shape[out_rank++] = x.pair_shape[k];
		}
		place[i] = x.is_array[i] ? pair_place : (int)out_rank;
		if (x.own_axis[i]) shape[out_rank++] = ty(sp, x.index[i])->dims[0];
	}
	TypeId grid = type_tensor(sp->c, DT_I64, out_rank, shape);
	Ref linear = build_zeros(sp->b, grid);
	Dim total = dim_const(sp->c, 1);
	for (uint32_t i = 0; i < t.rank; i++) {
		int axes[MAX_RANK];
		uint32_t r = ty(sp, x.index[i])->rank;
		for (uint32_t k = 0; k < r; k++) axes[k] = place[i] + (int)k;
		Ref spread = build_broadcast(sp->b, x.index[i], out_rank, shape, axes);
		Ref len = build_broadcast_scalar(sp->b, build_extent(sp->b, t.dims[i]), grid);
		linear = build2(sp->b, OP_ADD, build2(sp->b, OP_MUL, linear, len), spread);
		total = dim_mul(sp->c, total, t.dims[i]);
	}
	Ref u = into_place(sp, base, written, v, out_rank, shape, at);
	Ref flat = scatter(sp, add, build_reshape(sp->b, base->ref, 1, &total), linear, u);
	return build_reshape(sp->b, flat, t.rank, t.dims);
}

Av *sp_index_set(Sp *sp, Av *base, uint32_t n, Av *const *items, const Span *spans, Av *value,
                 bool add, Span at) {
	if (base->kind == AV_LIST || base->kind == AV_TUPLE)
		return update_sequence(sp, base, n, items, spans, value, add, at);
	if (base->kind == AV_DYN) return update_dynamic(sp, base, n, items, value, add, at);
	if (base->kind != AV_ARRAY)
		sp_fail(sp, E_TARGET, at, "%s cannot be written into by index", sp_type_text(sp, base));
	value = sp_want_array(sp, value, at, "an update");
	if (sp_is_mask(sp, base, n, items))
		return sp_mask_set(sp, base, items[0], spans[0], add ? AO_ADD : AO_NONE, value, at);
	Ref v = in_own_dtype(sp, base, value, at);
	const Type t = *ty(sp, base->ref);
	Av *item[MAX_RANK];
	Span span[MAX_RANK];
	index_align_items(sp, base, t.rank, n, items, spans, item, span, at);
	bool leading = t.rank && item[0] && item[0]->kind == AV_ARRAY;
	for (uint32_t i = 1; i < t.rank; i++) leading &= item[i] == NULL;
	if (leading) return av_array(sp, update_leading(sp, base, value, item[0], span[0], v, add, at));
	UpdateRegion box;
	SingleIndices single;
	const bool boxes = resolve_box(sp, &t, item, span, &box, &single);
	if (boxes && !single.numbers)
		return av_array(sp, update_box(sp, base, value, base->ref, &box, v, add, at));
	/* With adjacent run-time scalars it is a box of a row. */
	if (boxes && single.numbers + single.known < t.rank &&
	    single.to - single.from == single.numbers)
		return av_array(sp, update_row(sp, base, value, &box, single.from, single.to, single.number,
		                               v, add, at));
	return av_array(sp, update_elements(sp, base, value, item, span, v, add, at));
}
