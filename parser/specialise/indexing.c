/* indexing.c - x[i], slices, masks and gathers.
 *
 * Needs: indexing.h.
 *
 * Contract:
 * - Indexing has NumPy's semantics: zero-based, negative from the end, several
 *   index arrays are paired.
 * - A static index that is out of range is an error here; the others are
 *   checked at run time.
 */
#include "parser/specialise/indexing.h"

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

/* ---- the items of an index ----------------------------------------------- */

/* The items of an index expression. An open end of a range is AV_UNSET, `...`
 * is AV_NONE. */
Av *sp_index_items(Sp *sp, const Ast *e, Av *base, Av ***items, Span **spans) {
	*items = ARENA_ARRAY(sp->a, Av *, e->index.n + 1);
	*spans = ARENA_ARRAY(sp->a, Span, e->index.n + 1);
	for (uint32_t i = 0; i < e->index.n; i++) {
		const Ast *it = e->index.items[i];
		(*spans)[i] = it->span;
		if (it->kind == A_ELLIPSIS) (*items)[i] = av_none(sp);
		else if (it->kind == A_RANGE) {
			Av *part[3] = {av_new(sp, AV_UNSET), av_new(sp, AV_UNSET), av_int(sp, 1)};
			const Ast *asts[3] = {it->range.lo, it->range.hi, it->range.step};
			for (int k = 0; k < 3; k++)
				if (asts[k])
					part[k] = av_array(sp, sp_scalar(sp, sp_expr(sp, asts[k]), DT_I64,
					                                 asts[k]->span, "the end of a slice"));
			(*items)[i] = av_seq(sp, AV_RANGE, 3, part);
		} else (*items)[i] = sp_expr(sp, it);
	}
	return base;
}

_Noreturn void index_out_of_range(Sp *sp, int64_t i, int64_t n, Span at) {
	sp_fail(sp, E_INDEX, at, "index %lld is out of range for length %lld", (long long)i,
	        (long long)n);
}

static _Noreturn void slice_out_of_range(Sp *sp, int64_t end, int64_t n, Span at) {
	sp_fail(sp, E_INDEX, at, "the end %lld of this slice is out of range for length %lld",
	        (long long)end, (long long)n);
}

uint32_t index_align_items(Sp *sp, const Av *base, uint32_t rank, uint32_t n, Av *const *items,
                           const Span *spans, Av **axis_item, Span *axis_span, Span at) {
	uint32_t said = 0, axis = 0;
	bool dots = false;
	for (uint32_t i = 0; i < n; i++)
		if (items[i]->kind != AV_NONE) said++;
	if (said && !rank)
		sp_fail(sp, E_RANK, at, "a single number has no elements to index: this is %s",
		        sp_type_text(sp, base));
	if (said > rank)
		sp_fail(sp, E_RANK, at, "%u indices for %s, which has %u ax%s", said,
		        sp_type_text(sp, base), rank, rank == 1 ? "is" : "es");
	for (uint32_t i = 0; i < rank; i++) axis_item[i] = NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (items[i]->kind == AV_NONE) {
			if (dots) sp_fail(sp, E_SYNTAX, spans[i], "`...` can stand only once in an index");
			dots = true;
			axis += rank - said;
			continue;
		}
		axis_item[axis] = items[i];
		axis_span[axis++] = spans[i];
	}
	return said;
}

bool sp_is_mask(Sp *sp, const Av *base, uint32_t n, Av *const *items) {
	return base->kind == AV_ARRAY && n == 1 && items[0]->kind == AV_ARRAY &&
	       ty(sp, items[0]->ref)->dtype == DT_BOOL;
}

/* ---- slices -------------------------------------------------------------- */

/* True for an end such as -k of a run-time number k. Each of two such ends may
 * be on either side of 0. */
static bool counts_down(Sp *sp, const Av *end) {
	int64_t v;
	return end->kind == AV_ARRAY && !av_static_int(sp, end, &v) &&
	       build_counts_down(sp->b, end->ref);
}

static bool may_be_negative(Sp *sp, const Av *end) {
	return end->kind == AV_ARRAY && !build_made_of_lengths(sp->b, end->ref) &&
	       sp_may_be_negative(sp, end->ref);
}

/* The position of an end of a slice; a negative number counts from the end. A
 * run-time number is tested for its sign if it may be negative. The others are
 * extents, whose names are worth keeping. With `apart`, this end is a known
 * distance before the other one and is tested only if it counts down. */
static Dim slice_end(Sp *sp, Av *end, Dim n, bool apart, bool *known, int64_t *value) {
	int64_t v;
	*known = false;
	if (av_static_int(sp, end, &v)) {
		Dim d = v < 0 ? dim_add(sp->c, n, dim_const(sp->c, v)) : dim_const(sp->c, v);
		*known = dim_is_const(sp->c, d, value);
		return d;
	}
	const Ref at = counts_down(sp, end) || (!apart && may_be_negative(sp, end))
	                   ? index_from_the_front(sp, end->ref, n)
	                   : end->ref;
	Dim d = build_canon(sp->b, build_dim_of(sp->b, at, 0));
	*known = dim_is_const(sp->c, d, value);
	return d;
}

/* The distance of two run-time ends, if it is simpler than they are. */
static bool slice_length(Sp *sp, const Av *range, bool up, Dim *out) {
	const Av *lo = range->items[0], *hi = range->items[1];
	int64_t v;
	if (lo->kind != AV_ARRAY || hi->kind != AV_ARRAY || av_static_int(sp, lo, &v) ||
	    av_static_int(sp, hi, &v))
		return false;
	if (counts_down(sp, lo) && counts_down(sp, hi)) return false;
	return up ? build_dim_between(sp->b, lo->ref, hi->ref, out)
	          : build_dim_between(sp->b, hi->ref, lo->ref, out);
}

AxisSlice index_resolve_slice(Sp *sp, const Av *range, Dim n, Span at) {
	AxisSlice s;
	s.stride = sp_want_int(sp, range->items[2], at, "the step of a slice");
	if (s.stride == 0) sp_fail(sp, E_VALUE, at, "a slice needs a step other than 0");
	bool up = s.stride > 0, lo_known, hi_known, n_known;
	int64_t lo = 0, hi = 0, len = 0;
	n_known = dim_is_const(sp->c, n, &len);
	Dim lo_dim, hi_dim, between;
	const bool apart = slice_length(sp, range, up, &between);
	if (range->items[0]->kind != AV_UNSET)
		lo_dim = slice_end(sp, range->items[0], n, apart, &lo_known, &lo);
	else {
		lo_dim = up ? dim_const(sp->c, 0) : dim_sub(sp->c, n, dim_const(sp->c, 1));
		lo_known = dim_is_const(sp->c, lo_dim, &lo);
	}
	if (apart) {
		/* A separate extent: the ends may differ between batch elements, the
		 * extent may not. */
		hi_known = false;
		hi_dim = up ? dim_add(sp->c, lo_dim, between) : dim_sub(sp->c, lo_dim, between);
	} else if (range->items[1]->kind != AV_UNSET)
		hi_dim = slice_end(sp, range->items[1], n, false, &hi_known, &hi);
	else {
		hi_dim = up ? n : dim_const(sp->c, -1);
		hi_known = dim_is_const(sp->c, hi_dim, &hi);
	}
	/* Both ends are in 0 .. n; for a negative step in -1 .. n-1, where -1 is
	 * only the open end. */
	const int64_t least = up ? 0 : -1, most = up || !len ? len : len - 1;
	if (n_known && lo_known && (lo < least || lo > most)) slice_out_of_range(sp, lo, len, at);
	if (n_known && hi_known && (hi < least || hi > most)) slice_out_of_range(sp, hi, len, at);
	s.start = lo_dim;
	Dim span = up ? dim_sub(sp->c, hi_dim, lo_dim) : dim_sub(sp->c, lo_dim, hi_dim);
	int64_t step = up ? s.stride : -s.stride, v;
	if (dim_is_const(sp->c, span, &v) && v <= 0) {
		s.start = dim_const(sp->c, 0);
		s.length = dim_const(sp->c, 0);
	} else
		s.length =
			step == 1 ? span
					  : dim_floordiv(sp->c, dim_add(sp->c, span, dim_const(sp->c, step - 1)), step);
	return s;
}

/* ---- index arrays and masks ---------------------------------------------- */

Ref index_axis_mask(Sp *sp, const Av *base, Ref mask, Dim length, Span at) {
	const Type t = *ty(sp, mask);
	if (t.rank != 1)
		sp_fail(sp, E_RANK, at, "beside other indices a mask has one axis, not %u", t.rank);
	Atom what = atom_f(sp->c, "a mask of %s for %s", sp_type_text(sp, av_array(sp, mask)),
	                   sp_type_text(sp, base));
	if (!build_unify(sp->b, length, t.dims[0], what))
		sp_fail(sp, E_SHAPE, at, "%s", atom_text(sp->c, what));
	return index_mask_positions(sp, mask, at);
}

Ref index_ref(Sp *sp, Av *item, Span at, bool *mask) {
	item = sp_want_array(sp, item, at, "an index");
	Dtype d = (Dtype)ty(sp, item->ref)->dtype;
	*mask = d == DT_BOOL;
	if (!*mask && !dtype_is_int(d)) {
		Diag *e = diag_error(sp->c, E_TYPE, at,
		                     "an index is an integer, a range, or an array of them, not %s",
		                     sp_type_text(sp, item));
		if (dtype_is_real(d))
			diag_hint(sp->c, e,
			          "`//` divides integers and gives one; i64(x) makes one of a real number");
		sp_throw(sp);
	}
	return *mask ? item->ref : sp_to_dtype(sp, item, DT_I64);
}

Ref index_from_the_front(Sp *sp, Ref i, Dim length) {
	int64_t k;
	if (av_static_int(sp, av_array(sp, i), &k))
		return k >= 0 ? i : build2(sp->b, OP_ADD, i, build_extent(sp->b, length));
	TypeId t = ref_type(build_fn(sp->b), i);
	Ref n = build_broadcast_scalar(sp->b, build_extent(sp->b, length), t);
	return build_select(sp->b, build2(sp->b, OP_LT, i, build_zeros(sp->b, t)),
	                    build2(sp->b, OP_ADD, i, n), i);
}

Ref index_mask_positions(Sp *sp, Ref mask, Span at) {
	Type t = *ty(sp, mask);
	if (t.rank != 1) {
		Dim total = dim_const(sp->c, 1);
		for (uint32_t i = 0; i < t.rank; i++) total = dim_mul(sp->c, total, t.dims[i]);
		mask = build_reshape(sp->b, mask, 1, &total);
	}
	SymId sym = build_sym(sp->b, sp_words(sp, "sum(", at, ")"), build_span(sp->b));
	Dim length = dim_sym(sp->c, sym);
	int64_t word = length;
	TypeId type = type_tensor(sp->c, DT_I64, 1, &length);
	return build_typed(sp->b, OP_NONZERO, 1, &mask, attr_intern(sp->c, &word, 1), 1, &type, NULL);
}

Ref index_normalised(Sp *sp, Ref i, Dim n) {
	return build_gather(sp->b, build_iota(sp->b, DT_I64, n), i, 0, 0);
}

void index_pair(Sp *sp, uint32_t n, Ref *index, Span at, uint32_t *rank, Dim *shape) {
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i < n; i++) {
			Av *x = av_array(sp, index[0]), *y = av_array(sp, index[i]);
			sp_broadcast_pair(sp, &index[0], &index[i], x, y, at, "pair the indices");
		}
	const Type *t = ty(sp, index[0]);
	*rank = t->rank;
	for (uint32_t i = 0; i < t->rank; i++) shape[i] = t->dims[i];
}

uint32_t index_join_leading(Sp *sp, const Type *t, uint32_t axes, Dim *shape) {
	uint32_t rank = 1;
	shape[0] = dim_const(sp->c, 1);
	for (uint32_t i = 0; i < axes; i++) shape[0] = dim_mul(sp->c, shape[0], t->dims[i]);
	for (uint32_t i = axes; i < t->rank; i++) shape[rank++] = t->dims[i];
	return rank;
}

/* ---- reading ------------------------------------------------------------- */

void index_box_items(Sp *sp, uint32_t n, Av *const *items, Av **boxed) {
	for (uint32_t i = 0; i < n; i++) {
		boxed[i] = items[i];
		if (items[i]->kind == AV_RANGE)
			for (int k = 0; k < 3; k++)
				if (items[i]->items[k]->kind == AV_UNSET) items[i]->items[k] = av_none(sp);
	}
}

static Av *index_dynamic(Sp *sp, Av *base, uint32_t n, Av *const *items, Span at) {
	Av **args = ARENA_ARRAY(sp->a, Av *, n + 1);
	args[0] = base;
	index_box_items(sp, n, items, args + 1);
	return sp_call_dynamic(sp, av_builtin(sp, "_item", 0, NULL), n + 1, args, at);
}

bool index_is_late(Sp *sp, Av *item, Span at) {
	static const char what[] = "the index of a tuple or list";
	int64_t k;
	if (item->kind == AV_RANGE) {
		bool late = false;
		for (int i = 0; i < 3; i++)
			late |= item->items[i]->kind != AV_UNSET && index_is_late(sp, item->items[i], at);
		return late;
	}
	if (item->kind == AV_DYN) return true;
	if (av_static_int(sp, item, &k)) return false;
	const Type *t = item->kind == AV_ARRAY ? ty(sp, item->ref) : NULL;
	if (!t || t->rank || !dtype_is_int((Dtype)t->dtype)) return false;
	sp_ask_static(sp, item->ref, at, what);
	return true;
}

/* Whether the items are arrays of one type. */
static bool are_alike(Sp *sp, const Av *base) {
	const Type *first = NULL;
	for (uint32_t k = 0; k < base->n; k++) {
		if (base->items[k]->kind != AV_ARRAY) return false;
		const Type *t = ty(sp, base->items[k]->ref);
		if (!first) first = t;
		if (t->rank != first->rank || t->dtype != first->dtype) return false;
		for (uint32_t i = 0; i < t->rank; i++)
			if (build_canon(sp->b, t->dims[i]) != build_canon(sp->b, first->dims[i])) return false;
	}
	return first != NULL;
}

static Av *index_sequence(Sp *sp, Av *base, Av *item, Span at) {
	const bool number = item->kind == AV_ARRAY;
	int64_t i;
	/* Arrays of one type are stacked for an index that only the run knows. At
	 * top level there is no function to compile for a known one. */
	const bool alike = number && are_alike(sp, base),
			   stacks = alike && !sp->frame && !av_static_int(sp, item, &i);
	if (stacks || index_is_late(sp, item, at)) {
		if (!alike) return index_dynamic(sp, base, 1, &item, at);
		return sp_index_values(sp, sp_stack(sp, base->n, base->items, at), 1, &item, &at, at);
	}
	if (item->kind == AV_RANGE) {
		int64_t part[3] = {0, base->n, 1};
		for (int k = 2; k >= 0; k--) {
			if (item->items[k]->kind != AV_UNSET) {
				part[k] = sp_want_int(sp, item->items[k], at, "the end of a slice");
				if (k < 2 && part[k] < 0) part[k] += base->n;
			} else if (k < 2 && part[2] < 0)
				part[k] = k ? -1 : (int64_t)base->n - 1; /* from the last one downwards */
		}
		VEC_AVS items = {0};
		if (part[2] == 0) sp_fail(sp, E_VALUE, at, "the step of a slice is not 0");
		const int64_t least = part[2] > 0 ? 0 : -1,
					  most = part[2] > 0 || !base->n ? base->n : base->n - 1;
		for (int k = 0; k < 2; k++)
			if (part[k] < least || part[k] > most) slice_out_of_range(sp, part[k], base->n, at);
		for (int64_t i = part[0]; part[2] > 0 ? i < part[1] : i > part[1]; i += part[2])
			VEC_PUSH(sp->a, &items, base->items[i]);
		return av_seq(sp, (AvKind)base->kind, items.n, items.at);
	}
	i = sp_want_int(sp, item, at, "the index of a tuple or list");
	int64_t k = i < 0 ? i + base->n : i;
	if (k < 0 || k >= base->n) index_out_of_range(sp, i, base->n, at);
	return base->items[k];
}

static Ref drop_axes(Sp *sp, Ref x, const bool *drop) {
	Type t = *ty(sp, x);
	Dim shape[MAX_RANK];
	uint32_t k = 0;
	for (uint32_t i = 0; i < t.rank; i++)
		if (!drop[i]) shape[k++] = t.dims[i];
	return k == t.rank ? x : build_reshape(sp->b, x, k, shape);
}

/* A record is indexed by name; the hint lists the names. */
static _Noreturn void no_parts_by_number(Sp *sp, const Av *record, Span at) {
	Diag *d = diag_error(sp->c, E_TYPE, at, "%s cannot be indexed", sp_type_text(sp, record));
	const char *names = "";
	for (uint32_t i = 0; i < record->n && i < 6; i++)
		names = arena_printf(sp->a, "%s%s.%s", names,
		                     !i                   ? ""
		                     : i + 1 == record->n ? " or "
		                                          : ", ",
		                     atom_text(sp->c, record->names[i]));
	if (record->n)
		diag_hint(sp->c, d, "its fields are taken by name: %s%s", names,
		          record->n > 6 ? " ..." : "");
	sp_throw(sp);
}

static _Noreturn void not_indexable(Sp *sp, const Av *base, Span at) {
	Diag *d = diag_error(sp->c, E_TYPE, at, "%s cannot be indexed", sp_type_text(sp, base));
	if (base->kind == AV_FUNCTION) diag_hint(sp->c, d, "a call is written f(x)");
	sp_throw(sp);
}

static Av *index_sparse(Sp *sp, Av *base, uint32_t n, Av *const *items, Span at) {
	if (n != 2) sp_fail(sp, E_RANK, at, "a sparse matrix has two indices");
	Av *args[3] = {base, items[0], items[1]};
	for (int k = 1; k < 3; k++)
		if (args[k]->kind == AV_RANGE) { /* an open end is `none` */
			Av *ends[3];
			for (int i = 0; i < 3; i++)
				ends[i] = args[k]->items[i]->kind == AV_UNSET ? av_none(sp) : args[k]->items[i];
			args[k] = av_seq(sp, AV_TUPLE, 3, ends);
		}
	return sp_call_library(sp, "_sparse_item", 3, args, at);
}

/* One mask over the first axes: they are merged into one. */
static Av *index_by_mask(Sp *sp, const Av *base, Av *mask, Span mask_at) {
	const Type t = *ty(sp, base->ref);
	const uint32_t axes = ty(sp, mask->ref)->rank;
	const char *misfit =
		arena_printf(sp->a, "a mask of %s for %s", sp_type_text(sp, mask), sp_type_text(sp, base));
	Ref m = sp_broadcast_into(sp, mask->ref, axes, t.dims, mask_at, misfit);
	Dim joined[MAX_RANK];
	const uint32_t rank = index_join_leading(sp, &t, axes, joined);
	return av_array(sp, build_gather(sp->b, build_reshape(sp->b, base->ref, rank, joined),
	                                 index_mask_positions(sp, m, mask_at), 0, 0));
}

/* What an index takes of each axis: a slice, then the elements at `gather`. */
typedef struct AxisReads {
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	bool drop[MAX_RANK]; /* a single index: the result has no such axis */
	bool sliced;         /* on any axis */
	Ref gather[MAX_RANK];
} AxisReads;

/* Axis i, of extent d. Slices and constant indices of known axes become one
 * slice instruction. */
static void read_axis(Sp *sp, const Av *base, uint32_t i, Dim d, Av *item, Span at, AxisReads *r) {
	r->start[i] = dim_const(sp->c, 0);
	r->length[i] = d;
	r->stride[i] = 1;
	r->gather[i] = REF_NONE;
	if (!item) return;
	if (item->kind == AV_RANGE) {
		AxisSlice s = index_resolve_slice(sp, item, d, at);
		r->start[i] = s.start;
		r->length[i] = s.length;
		r->stride[i] = s.stride;
		r->sliced = true;
		return;
	}
	int64_t k, len;
	if (av_static_int(sp, item, &k) && dim_is_const(sp->c, d, &len)) {
		if (k < -len || k >= len) index_out_of_range(sp, k, len, at);
		r->start[i] = dim_const(sp->c, k < 0 ? k + len : k);
		r->length[i] = dim_const(sp->c, 1);
		r->drop[i] = r->sliced = true;
		return;
	}
	bool mask;
	r->gather[i] = index_ref(sp, item, at, &mask);
	r->gather[i] = mask ? index_axis_mask(sp, base, r->gather[i], d, at)
	                    : index_from_the_front(sp, r->gather[i], d);
}

/* Paired indices: their axes move to the place of the first, the indices are
 * linearised, and one gather reads. */
static Ref gather_paired(Sp *sp, Ref x, int arrays, const Ref *array_index, const int *array_axis,
                         Span at) {
	const int first = array_axis[0];
	Type tx = *ty(sp, x);
	int perm[MAX_RANK];
	uint32_t k = 0;
	for (int i = 0; i < first; i++) perm[k++] = i;
	for (int i = 0; i < arrays; i++) perm[k++] = array_axis[i];
	for (int i = first; i < (int)tx.rank; i++) {
		bool used = false;
		for (int m = 0; m < arrays; m++) used |= array_axis[m] == i;
		if (!used) perm[k++] = i;
	}
	x = build_transpose(sp->b, x, perm);
	tx = *ty(sp, x);
	Ref index[MAX_RANK];
	for (int i = 0; i < arrays; i++)
		index[i] = index_normalised(sp, array_index[i], tx.dims[first + i]);
	uint32_t rank;
	Dim shape[MAX_RANK];
	index_pair(sp, (uint32_t)arrays, index, at, &rank, shape);
	Ref linear = index[0];
	Dim total = tx.dims[first];
	for (int i = 1; i < arrays; i++) {
		Ref len = build_broadcast_scalar(sp->b, build_extent(sp->b, tx.dims[first + i]),
		                                 ref_type(build_fn(sp->b), linear));
		linear = build2(sp->b, OP_ADD, build2(sp->b, OP_MUL, linear, len), index[i]);
		total = dim_mul(sp->c, total, tx.dims[first + i]);
	}
	Dim joined[MAX_RANK];
	k = 0;
	for (int i = 0; i < first; i++) joined[k++] = tx.dims[i];
	joined[k++] = total;
	for (uint32_t i = (uint32_t)(first + arrays); i < tx.rank; i++) joined[k++] = tx.dims[i];
	return build_gather(sp->b, build_reshape(sp->b, x, k, joined), linear, first, 0);
}

/* The gathers, in terms of the axes that the slice has left. Scalars come
 * first, so that their axes vanish. */
static Ref gather_axes(Sp *sp, Ref x, uint32_t rank, const AxisReads *r, Span at) {
	int axis = 0, arrays = 0;
	Ref array_index[MAX_RANK];
	int array_axis[MAX_RANK];
	for (uint32_t i = 0; i < rank; i++) {
		if (r->drop[i]) continue;
		if (r->gather[i] != REF_NONE && ty(sp, r->gather[i])->rank == 0) {
			x = build_gather(sp->b, x, r->gather[i], axis, 0);
			continue;
		}
		if (r->gather[i] != REF_NONE) {
			array_index[arrays] = r->gather[i];
			array_axis[arrays++] = axis;
		}
		axis++;
	}
	if (arrays == 1) return build_gather(sp->b, x, array_index[0], array_axis[0], 0);
	return arrays > 1 ? gather_paired(sp, x, arrays, array_index, array_axis, at) : x;
}

static Av *index_array(Sp *sp, const Av *base, uint32_t n, Av *const *items, const Span *spans,
                       Span at) {
	Ref x = base->ref;
	const Type t = *ty(sp, x);
	Av *item[MAX_RANK];
	Span span[MAX_RANK];
	index_align_items(sp, base, t.rank, n, items, spans, item, span, at);
	AxisReads r = {.sliced = false};
	for (uint32_t i = 0; i < t.rank; i++)
		read_axis(sp, base, i, build_canon(sp->b, t.dims[i]), item[i], span[i], &r);
	if (r.sliced) x = build_slice(sp->b, x, r.start, r.length, r.stride);
	x = drop_axes(sp, x, r.drop);
	return av_array(sp, gather_axes(sp, x, t.rank, &r, at));
}

Av *sp_index_values(Sp *sp, Av *base, uint32_t n, Av *const *items, const Span *spans, Span at) {
	if (base->kind == AV_UNSET) return base;
	if (base->kind == AV_TUPLE || base->kind == AV_LIST) {
		if (n != 1) sp_fail(sp, E_RANK, at, "%s has one index", av_kind_text(base));
		return index_sequence(sp, base, items[0], spans[0]);
	}
	if (base->kind == AV_STRING) {
		if (n != 1) sp_fail(sp, E_RANK, at, "a string has one index");
		return sp_text_item(sp, base, items[0], spans[0]);
	}
	if (base->kind == AV_DYN) return index_dynamic(sp, base, n, items, at);
	if (base->kind == AV_RANGE) base = sp_want_array(sp, base, at, "an index");
	if (av_is_sparse(sp->c, base)) return index_sparse(sp, base, n, items, at);
	if (base->kind == AV_RECORD) no_parts_by_number(sp, base, at);
	if (base->kind != AV_ARRAY) not_indexable(sp, base, at);
	const uint32_t axes = sp_is_mask(sp, base, n, items) ? ty(sp, items[0]->ref)->rank : 0;
	if (axes > 1 && axes <= ty(sp, base->ref)->rank)
		return index_by_mask(sp, base, items[0], spans[0]);
	return index_array(sp, base, n, items, spans, at);
}

Av *sp_index(Sp *sp, const Ast *e) {
	Av *base = sp_expr(sp, e->index.base), **items;
	Span *spans;
	sp_index_items(sp, e, base, &items, &spans);
	sp_at(sp, e->span);
	return sp_index_values(sp, base, e->index.n, items, spans, e->span);
}
