/* arrays.c - builtins that make arrays and change their shape.
 *
 * Needs: table.h.
 *
 * Contract:
 * - Each builtin checks its arguments and reports errors in the user's terms.
 * - Functions that the language can express are in stdlib/ instead.
 */
#include "parser/builtins/table.h"

/* ---- making arrays ------------------------------------------------------- */

/* Dims from arguments: integers, or one tuple or vector of them. */
void builtin_dims(Sp *sp, const CallArguments *call, uint32_t first, uint32_t *rank, Dim *dims) {
	uint32_t n = call->n - first;
	Av **items = call->args + first;
	Span *spans = call->spans + first;
	Span at = call->span;
	if (n == 1 && (items[0]->kind != AV_ARRAY || ty(sp, items[0]->ref)->rank > 0)) {
		at = spans[0];
		spans = NULL;
		if (!sp_static_items(sp, items[0], &n, &items))
			sp_fail(sp, E_TYPE, at, "a shape is given as integers or a tuple of integers");
	}
	if (n > MAX_RANK) sp_fail(sp, E_RANK, at, "an array has at most %d axes", MAX_RANK);
	*rank = n;
	for (uint32_t i = 0; i < n; i++) {
		Span here = spans ? spans[i] : at;
		Ref r = sp_scalar(sp, items[i], DT_I64, here, "a length");
		int64_t v;
		if (av_static_int(sp, av_array(sp, r), &v) && v < -1)
			sp_fail(sp, E_VALUE, here, "a length cannot be %lld", (long long)v);
		dims[i] =
			build_canon(sp->b, build_dim_of(sp->b, r, spans ? sp_words(sp, "", here, "") : 0));
	}
}

/* dtype = i32, or "i32". */
static Dtype dtype_argument(Sp *sp, const CallArguments *call, Dtype fallback) {
	Av *v = call_named(call, "dtype", sp->c);
	if (!v || v->kind == AV_NONE) return fallback;
	Dtype d = fallback;
	const char *name =
		v->kind == AV_STRING || (v->kind == AV_FUNCTION && v->code_kind == CODE_BUILTIN)
			? atom_text(sp->c, v->text)
			: "";
	if (!dtype_from_name(name, &d))
		sp_fail(sp, E_DTYPE, sp_user_place(sp, call->span),
		        "`dtype` is one of bool, i32, i64, f32, f64, c64, c128");
	return d;
}

BUILTIN(filled) {
	UNUSED;
	uint32_t rank, first = strcmp(self->name, "full") ? 0 : 1;
	Dim dims[MAX_RANK];
	builtin_dims(sp, call, first, &rank, dims);
	if (first) {
		Av *x = sp_want_array(sp, call->args[0], call->spans[0], "full");
		x = av_array(sp, build_convert(sp->b, x->ref,
		                               dtype_argument(sp, call, (Dtype)ty(sp, x->ref)->dtype)));
		Av like = {.kind = AV_ARRAY,
		           .ref = build_zeros(
					   sp->b, type_tensor(sp->c, (Dtype)ty(sp, x->ref)->dtype, rank, dims))};
		return av_array(
			sp, sp_broadcast_into(sp, x->ref, rank, dims, call->span,
		                          arena_printf(sp->a, "cannot fill %s with %s",
		                                       sp_type_text(sp, &like), sp_type_text(sp, x))));
	}
	return av_array(sp, build_full(sp->b,
	                               type_tensor(sp->c, dtype_argument(sp, call, DT_F64), rank, dims),
	                               self->name[0] == 'o' ? 1 : 0));
}

BUILTIN(iota) {
	UNUSED;
	Ref n = sp_scalar(sp, call->args[0], DT_I64, call->spans[0], "a length");
	return av_array(
		sp, build_iota(
				sp->b, DT_I64,
				build_canon(sp->b, build_dim_of(sp->b, n, sp_words(sp, "", call->spans[0], "")))));
}

/* The difference of two static ends is an extent only if it fits in 64 bits. */
static void check_range_length(Sp *sp, const Av *range, Span at) {
	int64_t start, stop, span;
	if (!av_static_int(sp, range->items[0], &start) || !av_static_int(sp, range->items[1], &stop))
		return;
	if (__builtin_sub_overflow(stop, start, &span) || span == INT64_MIN)
		sp_fail(sp, E_VALUE, at, "the range %lld..%lld has more numbers than an integer can say",
		        (long long)start, (long long)stop);
}

/* A range as a vector. */
BUILTIN(collect) {
	UNUSED;
	Av *r = call->args[0];
	if (r->kind != AV_RANGE) return sp_want_array(sp, r, call->spans[0], "collect");
	check_range_length(sp, r, call->spans[0]);
	int64_t step;
	Ref start = r->items[0]->ref, stop = r->items[1]->ref, by = r->items[2]->ref, n;
	if (av_static_int(sp, r->items[2], &step) && step == 1) n = build2(sp->b, OP_SUB, stop, start);
	else
		n = build1(sp->b, OP_NEG,
		           build2(sp->b, OP_FLOORDIV,
		                  build1(sp->b, OP_NEG, build2(sp->b, OP_SUB, stop, start)), by));
	n = build2(sp->b, OP_MAX, n, build_i64(sp->b, 0));
	Dim length = build_canon(sp->b, build_dim_of(sp->b, n, 0));
	Ref v = build_iota(sp->b, DT_I64, length);
	TypeId t = ref_type(build_fn(sp->b), v);
	v = build2(sp->b, OP_MUL, v, build_broadcast_scalar(sp->b, by, t));
	return av_array(sp, build2(sp->b, OP_ADD, v, build_broadcast_scalar(sp->b, start, t)));
}

/* ---- shapes -------------------------------------------------------------- */

BUILTIN(len) {
	UNUSED;
	Av *x = call->args[0];
	if (av_is_sparse(sp->c, x))
		return sp_call_library(sp, "_sparse_shape", 1, call->args, call->span)->items[0];
	if (x->kind == AV_TUPLE || x->kind == AV_LIST || x->kind == AV_RECORD) return av_int(sp, x->n);
	if (x->kind == AV_STRING)
		return av_int(sp, text_length(atom_text(sp->c, x->text), atom_length(sp->c, x->text)));
	if (x->kind == AV_DYN)
		return av_array(
			sp,
			sp_scalar(sp, sp_call_dynamic(sp, av_builtin(sp, "len", 0, NULL), 1, &x, call->span),
		              DT_I64, call->span, "a length"));
	x = sp_want_array(sp, x, call->spans[0], "len");
	if (!ty(sp, x->ref)->rank) sp_fail(sp, E_RANK, call->spans[0], "a number has no length");
	return av_array(sp, build_extent(sp->b, build_canon(sp->b, ty(sp, x->ref)->dims[0])));
}

BUILTIN(shape) {
	UNUSED;
	if (av_is_sparse(sp->c, call->args[0])) {
		if (self->name[0] == 'r') return av_int(sp, 2);
		Av *both = sp_call_library(sp, "_sparse_shape", 1, call->args, call->span);
		return strcmp(self->name, "size") ? both
		                                  : sp_elementwise(sp, OP_MUL, 2, both->items, call->span);
	}
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	Type t = *ty(sp, x->ref);
	if (self->name[0] == 'r') return av_int(sp, t.rank);
	if (!strcmp(self->name, "size")) {
		Dim total = dim_const(sp->c, 1);
		for (uint32_t i = 0; i < t.rank; i++)
			total = dim_mul(sp->c, total, build_canon(sp->b, t.dims[i]));
		return av_array(sp, build_extent(sp->b, total));
	}
	Av *items[MAX_RANK];
	for (uint32_t i = 0; i < t.rank; i++)
		items[i] = av_array(sp, build_extent(sp->b, build_canon(sp->b, t.dims[i])));
	return av_seq(sp, AV_TUPLE, t.rank, items);
}

BUILTIN(dtype_name_of) {
	UNUSED;
	Av *x = call->args[0];
	if (av_is_sparse(sp->c, x)) x = av_field(x, atom(sp->c, "values"));
	x = sp_want_array(sp, x, call->spans[0], "dtype");
	return av_string(sp, dtype_name((Dtype)ty(sp, x->ref)->dtype));
}

BUILTIN(reshape) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "reshape");
	uint32_t rank;
	Dim dims[MAX_RANK];
	/* -1 stands for the remaining extent. */
	int64_t given[MAX_RANK];
	uint32_t n = call->n - 1;
	Av **items = call->args + 1;
	if (n == 1 && !(items[0]->kind == AV_ARRAY && ty(sp, items[0]->ref)->rank == 0)) {
		if (!sp_static_items(sp, items[0], &n, &items))
			sp_fail(sp, E_TYPE, call->spans[1],
			        "a shape is given as integers or a tuple of integers");
	}
	if (n > MAX_RANK) sp_fail(sp, E_RANK, call->span, "an array has at most %d axes", MAX_RANK);
	Type t = *ty(sp, x->ref);
	Dim total = dim_const(sp->c, 1), known = dim_const(sp->c, 1);
	for (uint32_t i = 0; i < t.rank; i++)
		total = dim_mul(sp->c, total, build_canon(sp->b, t.dims[i]));
	int open = -1;
	rank = n;
	for (uint32_t i = 0; i < n; i++) {
		if (av_static_int(sp, items[i], &given[i]) && given[i] == -1) {
			if (open >= 0) sp_fail(sp, E_SHAPE, call->span, "only one length can be -1");
			open = (int)i;
			continue;
		}
		dims[i] = build_canon(
			sp->b, build_dim_of(sp->b, sp_scalar(sp, items[i], DT_I64, call->span, "a length"), 0));
		known = dim_mul(sp->c, known, dims[i]);
	}
	if (open >= 0) {
		int64_t k, v;
		if (total == known) dims[open] = dim_const(sp->c, 1);
		else if (dim_is_const(sp->c, known, &k) && k > 0) {
			if (dim_is_const(sp->c, total, &v) && v % k)
				sp_fail(sp, E_SHAPE, call->span,
				        "cannot reshape %s: %lld elements do not divide by %lld",
				        sp_type_text(sp, x), (long long)v, (long long)k);
			dims[open] = dim_floordiv(sp->c, total, k);
		} else {
			Ref q =
				build2(sp->b, OP_FLOORDIV, build_extent(sp->b, total), build_extent(sp->b, known));
			dims[open] = build_canon(sp->b, build_dim_of(sp->b, q, 0));
		}
		known = dim_mul(sp->c, known, dims[open]);
	}
	Av like = {.kind = AV_ARRAY,
	           .ref = build_zeros(sp->b, type_tensor(sp->c, (Dtype)t.dtype, rank, dims))};
	int64_t have, want;
	bool sizes =
		dim_is_const(sp->c, total, &have) && dim_is_const(sp->c, known, &want) && have != want;
	Atom what =
		atom_f(sp->c, "cannot reshape %s to %s", sp_type_text(sp, x), sp_type_text(sp, &like));
	if (sizes)
		sp_fail(sp, E_SHAPE, call->span, "%s: it has %lld element%s, not %lld",
		        atom_text(sp->c, what), (long long)have, have == 1 ? "" : "s", (long long)want);
	if (!build_unify(sp->b, total, known, what))
		sp_fail(sp, E_SHAPE, call->span, "%s", atom_text(sp->c, what));
	return av_array(sp, build_reshape(sp->b, x->ref, rank, dims));
}

BUILTIN(transpose) {
	UNUSED;
	if (av_is_sparse(sp->c, call->args[0]) && call->n == 1)
		return sp_call_library(
			sp, strcmp(self->name, "adjoint") ? "_sparse_transpose" : "_sparse_adjoint", 1,
			call->args, call->span);
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "transpose");
	uint32_t rank = ty(sp, x->ref)->rank, n = 0;
	int64_t given[MAX_RANK];
	int perm[MAX_RANK];
	if (call->n == 1) {
		for (uint32_t i = 0; i < rank; i++) perm[i] = (int)(rank - 1 - i);
	} else {
		if (call->n == 2)
			sp_want_ints(sp, call->args[1], call->spans[1], "an axis", &n, given, MAX_RANK);
		else
			for (uint32_t i = 1; i < call->n && n < MAX_RANK; i++)
				given[n++] = sp_want_int(sp, call->args[i], call->spans[i], "an axis");
		if (n != rank)
			sp_fail(sp, E_RANK, call->span, "%u axes named for %s", n, sp_type_text(sp, x));
		bool seen[MAX_RANK] = {false};
		for (uint32_t i = 0; i < n; i++) {
			int64_t k = given[i] < 0 ? given[i] + rank : given[i];
			if (k < 0 || k >= rank || seen[k])
				sp_fail(sp, E_VALUE, call->span, "the axes of a transpose are each of 0 .. %d once",
				        (int)rank - 1);
			seen[k] = true;
			perm[i] = (int)k;
		}
	}
	Ref r = build_transpose(sp->b, x->ref, perm);
	if (!strcmp(self->name, "adjoint") && dtype_is_complex((Dtype)ty(sp, r)->dtype))
		r = build1(sp->b, OP_CONJ, r);
	return av_array(sp, r);
}

BUILTIN(adjoint) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "'");
	uint32_t rank = ty(sp, x->ref)->rank;
	if (rank > 2) {
		/* A stack of matrices: swap the last two axes. */
		int perm[MAX_RANK];
		for (uint32_t i = 0; i < rank; i++) perm[i] = (int)i;
		perm[rank - 1] = (int)rank - 2;
		perm[rank - 2] = (int)rank - 1;
		Ref r = build_transpose(sp->b, x->ref, perm);
		return av_array(sp,
		                dtype_is_complex((Dtype)ty(sp, r)->dtype) ? build1(sp->b, OP_CONJ, r) : r);
	}
	return transpose(sp, self, ncaptured, captured, call);
}

BUILTIN(concat) {
	UNUSED;
	Av **items = call->args;
	uint32_t n = call->n;
	if (n == 1 && (items[0]->kind == AV_TUPLE || items[0]->kind == AV_LIST)) {
		n = items[0]->n;
		items = items[0]->items;
	}
	if (!strcmp(self->name, "stack")) {
		Av *r = sp_stack(sp, n, items, call->span);
		int rank = ty(sp, r->ref)->rank, axis = builtin_axis(sp, call, "axis", rank, 0),
			perm[MAX_RANK];
		for (int i = 0, k = 1; i < rank; i++) perm[i] = i == axis ? 0 : k++;
		return av_array(sp, build_transpose(sp->b, r->ref, perm));
	}
	int64_t axis = 0;
	Av *a = call_named(call, "axis", sp->c);
	if (a) axis = sp_want_int(sp, a, call->span, "an axis");
	/* Scalars are concatenated as vectors of extent 1. */
	Av **parts = ARENA_ARRAY(sp->a, Av *, n + 1);
	Dim one = dim_const(sp->c, 1);
	for (uint32_t i = 0; i < n; i++) {
		parts[i] = sp_want_array(sp, items[i], call->span, "concat");
		if (ty(sp, parts[i]->ref)->rank == 0)
			parts[i] = av_array(sp, build_reshape(sp->b, parts[i]->ref, 1, &one));
	}
	return sp_concat(sp, n, parts, (int)axis, call->span);
}

/* expand(x, axis): adds an axis of extent 1. */
BUILTIN(expand) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "expand");
	Type t = *ty(sp, x->ref);
	int64_t k = sp_want_int(sp, call->args[1], call->spans[1], "an axis");
	if (k < 0) k += t.rank + 1;
	if (k < 0 || k > t.rank || t.rank == MAX_RANK)
		sp_fail(sp, E_RANK, call->spans[1], "no place for a new axis %lld in %s", (long long)k,
		        sp_type_text(sp, x));
	Dim dims[MAX_RANK];
	for (uint32_t i = 0, m = 0; i <= t.rank; i++)
		dims[i] = i == k ? dim_const(sp->c, 1) : t.dims[m++];
	return av_array(sp, build_reshape(sp->b, x->ref, t.rank + 1u, dims));
}

BUILTIN(broadcast_to) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "broadcast_to");
	uint32_t rank;
	Dim dims[MAX_RANK];
	builtin_dims(sp, call, 1, &rank, dims);
	Av like = {
		.kind = AV_ARRAY,
		.ref = build_zeros(sp->b, type_tensor(sp->c, (Dtype)ty(sp, x->ref)->dtype, rank, dims))};
	return av_array(sp,
	                sp_broadcast_into(sp, x->ref, rank, dims, call->span,
	                                  arena_printf(sp->a, "cannot broadcast %s to %s",
	                                               sp_type_text(sp, x), sp_type_text(sp, &like))));
}

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_array[] = {
	{.name = "zeros",
     .min_args = 0,
     .max_args = -1,
     .named = "dtype",
     .run = filled,
     .doc = "zeros(n, m, ...; dtype = f64): array of zeros; a tuple of lengths works as well"},
	{.name = "ones",
     .min_args = 0,
     .max_args = -1,
     .named = "dtype",
     .run = filled,
     .doc = "ones(n, m, ...; dtype = f64): array of ones"},
	{.name = "full",
     .min_args = 1,
     .max_args = -1,
     .named = "dtype",
     .run = filled,
     .doc = "full(x, n, m, ...; dtype): array with every element x"},
	{.name = "iota",
     .min_args = 1,
     .max_args = 1,
     .run = iota,
     .doc = "iota(n): i64[n], the numbers 0 .. n-1"},
	{.name = "collect",
     .min_args = 1,
     .max_args = 1,
     .run = collect,
     .doc = "collect(r): a range as a vector"},
	{.name = "len",
     .min_args = 1,
     .max_args = 1,
     .run = len,
     .quick = quick_len,
     .doc = "len(x): number of rows of an array, items of a tuple, list or record, characters of a "
            "text"},
	{.name = "shape",
     .min_args = 1,
     .max_args = 1,
     .run = shape,
     .doc = "shape(x): tuple of lengths"},
	{.name = "size",
     .min_args = 1,
     .max_args = 1,
     .run = shape,
     .doc = "size(x): number of elements"},
	{.name = "rank", .min_args = 1, .max_args = 1, .run = shape, .doc = "rank(x): number of axes"},
	{.name = "dtype",
     .min_args = 1,
     .max_args = 1,
     .run = dtype_name_of,
     .doc = "dtype(x): \"f64\" and the like"},
	{.name = "reshape",
     .min_args = 2,
     .max_args = -1,
     .run = reshape,
     .doc = "reshape(x, n, m, ...): the same elements row by row in another shape; one length may "
            "be -1"},
	{.name = "transpose",
     .min_args = 1,
     .max_args = -1,
     .run = transpose,
     .doc = "transpose(x): axes reversed; transpose(x, i, j, ...): axis k of the result is axis "
            "given[k]"},
	{.name = "adjoint",
     .min_args = 1,
     .max_args = 1,
     .run = adjoint,
     .doc = "adjoint(A), A': conjugate transpose of the last two axes"},
	{.name = "concat",
     .min_args = 1,
     .max_args = -1,
     .named = "axis",
     .run = concat,
     .doc = "concat(a, b, ...; axis = 0): joined along an axis"},
	{.name = "stack",
     .min_args = 1,
     .max_args = -1,
     .named = "axis",
     .run = concat,
     .doc = "stack(a, b, ...; axis = 0): joined along a new axis"},
	{.name = "expand",
     .min_args = 2,
     .max_args = 2,
     .run = expand,
     .doc = "expand(x, axis): with a new axis of length 1"},
	{.name = "broadcast_to",
     .min_args = 2,
     .max_args = -1,
     .run = broadcast_to,
     .doc = "broadcast_to(x, n, m, ...): stretched by the rules of broadcasting"},
	{.name = NULL},
};
