/* arrays.c - builtins on arrays.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - Each builtin checks its arguments and reports errors in the user's terms.
 * - Functions that the language can express are in stdlib/ instead.
 */
#include "parser/builtins/table.h"

#include <stdio.h>

/* ---- element-wise -------------------------------------------------------- */

BUILTIN(elementwise) {
	UNUSED;
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_DYN)
			return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
			                       call->span);
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_FUNCTION)
			return av_builtin(sp, "_compose", 2,
			                  (Av *[]){av_builtin(sp, self->name, 0, NULL), call->args[0]});
	return sp_elementwise(sp, self->op, call->n, call->args, call->span);
}

/* _each(name, x, ...): a host function of scalars, applied to each element in
 * f64. For single precision the result is rounded. */
BUILTIN(each) {
	UNUSED;
	const char *name = sp_want_string(sp, call->args[0], call->spans[0], "a function's name");
	const HostDef *def = host_find(sp->c, arena_printf(sp->a, "each.%s", name));
	const uint32_t n = call->n - 1;
	if (!def || def->nargs != n)
		sp_fail(sp, E_HOST, call->span, "there is no function `%s` of %u numbers here", name, n);
	for (uint32_t i = 1; i <= n; i++)
		if (call->args[i]->kind == AV_DYN)
			return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
			                       call->span);
	Av *x[MAX_RANK];
	Ref r[MAX_RANK], y;
	bool weak = true;
	Dtype d = DT_BOOL;
	for (uint32_t i = 0; i < n; i++) {
		x[i] = sp_want_array(sp, call->args[1 + i], sp_user_place(sp, call->span), name);
		weak = weak && x[i]->weak;
		if (dtype_is_complex((Dtype)ty(sp, x[i]->ref)->dtype)) {
			Diag *e = diag_error(sp->c, E_DTYPE, sp_user_place(sp, call->span),
			                     "`%s` takes real numbers, not %s", name, sp_type_text(sp, x[i]));
			diag_hint(sp->c, e, "real(z), imag(z) or abs(z)");
			sp_throw(sp);
		}
	}
	/* The result is f32 if an f32 meets only f32, weak numbers and integers. */
	for (uint32_t i = 0; i < n; i++) {
		const Dtype di = (Dtype)ty(sp, x[i]->ref)->dtype;
		if (di == DT_F32 && d != DT_F64) d = DT_F32;
		if (di == DT_F64 && !x[i]->weak) d = DT_F64;
		r[i] = sp_to_dtype(sp, x[i], DT_F64);
	}
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i < n; i++)
			sp_broadcast_pair(sp, &r[0], &r[i], x[0], x[i], sp_user_place(sp, call->span),
			                  "combine");
	sp_at(sp, call->span);
	build_host(sp->b, host_call_intern(sp->c, def, 0, NULL, 0, NULL), n, r, &y, 1);
	Av *v = av_array(sp, d == DT_F32 ? build_convert(sp->b, y, DT_F32) : y);
	v->weak = weak;
	return v;
}

BUILTIN(where) {
	UNUSED;
	Av *c = sp_want_array(sp, call->args[0], call->spans[0], "where"),
	   *x = sp_want_array(sp, call->args[1], call->spans[1], "where"),
	   *y = sp_want_array(sp, call->args[2], call->spans[2], "where");
	if (ty(sp, c->ref)->dtype != DT_BOOL)
		sp_fail(sp, E_TYPE, call->spans[0], "the first argument of `where` is a condition, not %s",
		        sp_type_text(sp, c));
	Dtype d = sp_common_dtype(sp, x, y);
	Ref rc = c->ref, rx = sp_to_dtype(sp, x, d), ry = sp_to_dtype(sp, y, d);
	for (int pass = 0; pass < 2; pass++) {
		sp_broadcast_pair(sp, &rx, &ry, x, y, call->span, "choose between");
		sp_broadcast_pair(sp, &rc, &rx, c, x, call->span, "choose between");
	}
	sp_broadcast_pair(sp, &rc, &ry, c, y, call->span, "choose between");
	Av *v = av_array(sp, build_select(sp->b, rc, rx, ry));
	v->weak = x->weak && y->weak;
	return v;
}

BUILTIN(convert) {
	UNUSED;
	Dtype d = DT_F64;
	dtype_from_name(self->name, &d);
	Av *x = call->args[0];
	if (x->kind == AV_STRING) return sp_number_of(sp, x, d, sp_user_place(sp, call->span));
	x = sp_want_array(sp, x, call->spans[0], self->name);
	if (dtype_is_complex((Dtype)ty(sp, x->ref)->dtype) && !dtype_is_complex(d) && d != DT_BOOL) {
		Diag *e = diag_error(sp->c, E_DTYPE, call->spans[0], "a complex number does not become %s",
		                     dtype_name(d));
		diag_hint(sp->c, e, "real(z) or abs(z)");
		sp_throw(sp);
	}
	return av_array(sp, build_convert(sp->b, x->ref, d));
}

BUILTIN(rounding) {
	if (call->n == 2) return sp_call_library(sp, "_round_to", 2, call->args, call->span);
	return elementwise(sp, self, ncaptured, captured, call);
}

/* ---- shapes -------------------------------------------------------------- */

/* Dims from arguments: integers, or one tuple or vector of them. */
static void sp_want_dims(Sp *sp, const CallArguments *call, uint32_t first, uint32_t *rank,
                         Dim *dims) {
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
	sp_want_dims(sp, call, first, &rank, dims);
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

static int axis_argument(Sp *sp, const CallArguments *call, const char *name, int rank,
                         int fallback) {
	Av *a = call_named(call, name, sp->c);
	if (!a) return fallback;
	Span at = call->span;
	for (uint32_t i = 0; i < call->nnamed; i++)
		if (call->named[i] == a) at = call->named_spans[i];
	int64_t k = sp_want_int(sp, a, at, "an axis"), axis = k < 0 ? k + rank : k;
	if (axis < 0 || axis >= rank)
		sp_fail(sp, E_RANK, at, "no axis %lld: there %s %d, counted from 0", (long long)k,
		        rank == 1 ? "is" : "are", rank);
	return (int)axis;
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
		int rank = ty(sp, r->ref)->rank, axis = axis_argument(sp, call, "axis", rank, 0),
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
	sp_want_dims(sp, call, 1, &rank, dims);
	Av like = {
		.kind = AV_ARRAY,
		.ref = build_zeros(sp->b, type_tensor(sp->c, (Dtype)ty(sp, x->ref)->dtype, rank, dims))};
	return av_array(sp,
	                sp_broadcast_into(sp, x->ref, rank, dims, call->span,
	                                  arena_printf(sp->a, "cannot broadcast %s to %s",
	                                               sp_type_text(sp, x), sp_type_text(sp, &like))));
}

/* ---- reductions ---------------------------------------------------------- */

static void reduction_axes(Sp *sp, const CallArguments *call, int rank, uint32_t *n, int *axes) {
	Av *a = call_named(call, "axis", sp->c);
	if (!a) {
		*n = (uint32_t)rank;
		for (int i = 0; i < rank; i++) axes[i] = i;
		return;
	}
	int64_t given[MAX_RANK];
	Span at = call->span;
	for (uint32_t i = 0; i < call->nnamed; i++)
		if (call->named[i] == a) at = call->named_spans[i];
	sp_want_ints(sp, a, at, "an axis", n, given, MAX_RANK);
	bool use[MAX_RANK] = {false};
	for (uint32_t i = 0; i < *n; i++) {
		int64_t k = given[i] < 0 ? given[i] + rank : given[i];
		if (k < 0 || k >= rank)
			sp_fail(sp, E_RANK, at, "no axis %lld: there %s %d, counted from 0",
			        (long long)given[i], rank == 1 ? "is" : "are", rank);
		use[k] = true;
	}
	*n = 0;
	for (int i = 0; i < rank; i++)
		if (use[i]) axes[(*n)++] = i;
}

/* With keepdims, the reduced axes return with extent 1. t: the type before the
 * reduction. */
static Ref keep_axes(Sp *sp, const CallArguments *call, Ref out, Type t, uint32_t n,
                     const int *axes) {
	Av *keep = call_named(call, "keepdims", sp->c);
	if (!keep || !sp_want_bool(sp, keep, call->span, "keepdims")) return out;
	for (uint32_t i = 0; i < n; i++) t.dims[axes[i]] = dim_const(sp->c, 1);
	return build_reshape(sp->b, out, t.rank, t.dims);
}

BUILTIN(reduce) {
	UNUSED;
	bool is_max = self->op == OP_REDUCE_MAX, is_min = self->op == OP_REDUCE_MIN,
		 logical = self->name[0] == 'a';
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_DYN)
			return sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args,
			                       call->span);
	if (call->n == 2) {
		if (!is_max && !is_min)
			sp_fail(sp, E_ARITY, call->span, "`%s` takes 1 argument; the axis is named: axis = 0",
			        self->name);
		return sp_elementwise(sp, is_max ? OP_MAX : OP_MIN, 2, call->args, call->span);
	}
	if (call->n > 2) {
		Av *v = call->args[0];
		for (uint32_t i = 1; i < call->n; i++)
			v = sp_elementwise(sp, is_max ? OP_MAX : OP_MIN, 2, (Av *[]){v, call->args[i]},
			                   call->span);
		return v;
	}
	if (av_is_sparse(sp->c, call->args[0]) && self->op == OP_REDUCE_SUM) {
		Av *axis = call_named(call, "axis", sp->c);
		return sp_call_library(sp, "_sparse_sum", 2,
		                       (Av *[]){call->args[0], axis ? axis : av_none(sp)}, call->span);
	}
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	Ref r = x->ref;
	if (logical && ty(sp, r)->dtype != DT_BOOL)
		sp_fail(sp, E_TYPE, call->spans[0], "`%s` takes conditions, not %s", self->name,
		        sp_type_text(sp, x));
	if (!logical && ty(sp, r)->dtype == DT_BOOL) r = build_convert(sp->b, r, DT_I64);
	if (dtype_is_complex((Dtype)ty(sp, r)->dtype) && (is_max || is_min))
		sp_fail(sp, E_DTYPE, call->spans[0], "complex numbers have no order");
	uint32_t n;
	int axes[MAX_RANK];
	Type t = *ty(sp, r);
	reduction_axes(sp, call, t.rank, &n, axes);
	return av_array(sp, keep_axes(sp, call, build_reduce(sp->b, self->op, r, n, axes), t, n, axes));
}

BUILTIN(argmax) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	Ref r = x->ref;
	Type t = *ty(sp, r);
	if (t.dtype == DT_BOOL) r = build_convert(sp->b, r, DT_I64);
	if (dtype_is_complex((Dtype)t.dtype))
		sp_fail(sp, E_DTYPE, call->spans[0], "complex numbers have no order");
	if (t.rank == 0) sp_fail(sp, E_RANK, call->spans[0], "`%s` takes an array", self->name);
	int axis = axis_argument(sp, call, "axis", t.rank, -1), gone[MAX_RANK] = {axis};
	uint32_t ngone = 1;
	if (axis < 0) {
		Dim total = dim_const(sp->c, 1);
		for (uint32_t i = 0; i < t.rank; i++) total = dim_mul(sp->c, total, t.dims[i]);
		r = build_reshape(sp->b, r, 1, &total);
		axis = 0;
		for (ngone = 0; ngone < t.rank; ngone++) gone[ngone] = (int)ngone;
	}
	if (!strcmp(self->name, "argmin")) r = build1(sp->b, OP_NEG, r);
	Ref out = build(sp->b, OP_ARGMAX, 1, &r, attr_intern(sp->c, (int64_t[]){axis}, 1), NULL);
	return av_array(sp, keep_axes(sp, call, out, t, ngone, gone));
}

BUILTIN(cumulative) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	if (ty(sp, x->ref)->rank == 0)
		sp_fail(sp, E_RANK, call->spans[0], "`%s` takes an array", self->name);
	Ref r = ty(sp, x->ref)->dtype == DT_BOOL ? build_convert(sp->b, x->ref, DT_I64) : x->ref;
	int axis = axis_argument(sp, call, "axis", ty(sp, r)->rank, 0);
	Av *reverse = call_named(call, "reverse", sp->c);
	int64_t words[2] = {axis, reverse ? sp_want_bool(sp, reverse, call->span, "reverse") : 0};
	return av_array(sp, build(sp->b, self->op, 1, &r, attr_intern(sp->c, words, 2), NULL));
}

BUILTIN(sorting) {
	UNUSED;
	if (!strcmp(self->name, "sort") && sp_is_texts(call->args[0])) return sp_sort_texts(sp, call);
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	int rank = ty(sp, x->ref)->rank;
	if (rank == 0) sp_fail(sp, E_RANK, call->spans[0], "`%s` takes an array", self->name);
	if (dtype_is_complex((Dtype)ty(sp, x->ref)->dtype))
		sp_fail(sp, E_DTYPE, call->spans[0], "complex numbers have no order");
	int axis = axis_argument(sp, call, "axis", rank, rank - 1);
	Av *descending = call_named(call, "descending", sp->c);
	int64_t words[2] = {rank - 1,
	                    descending ? sp_want_bool(sp, descending, call->span, "descending") : 0};
	int perm[MAX_RANK];
	for (int i = 0; i < rank; i++) perm[i] = i;
	perm[axis] = rank - 1;
	perm[rank - 1] = axis;
	Ref r = build_transpose(sp->b, x->ref, perm);
	Ref order = build(sp->b, OP_ARGSORT, 1, &r, attr_intern(sp->c, words, 2), NULL);
	if (!strcmp(self->name, "argsort")) return av_array(sp, build_transpose(sp->b, order, perm));
	return av_array(
		sp, build_transpose(sp->b, build_gather(sp->b, r, order, rank - 1, rank - 1), perm));
}

BUILTIN(nonzero) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "findall");
	if (ty(sp, x->ref)->dtype != DT_BOOL || ty(sp, x->ref)->rank != 1)
		sp_fail(sp, E_TYPE, call->spans[0], "`findall` takes a vector of conditions, not %s",
		        sp_type_text(sp, x));
	SymId sym = build_sym(sp->b, sp_words(sp, "sum(", call->spans[0], ")"), build_span(sp->b));
	Dim length = dim_sym(sp->c, sym);
	TypeId t = type_tensor(sp->c, DT_I64, 1, &length);
	return av_array(sp, build_typed(sp->b, OP_NONZERO, 1, &x->ref,
	                                attr_intern(sp->c, (int64_t[]){length}, 1), 1, &t, NULL));
}

/* ---- linear algebra ------------------------------------------------------ */

static Ref want_matrix(Sp *sp, const CallArguments *call, uint32_t i, const char *what,
                       bool square) {
	Av *x = sp_want_array(sp, call->args[i], call->spans[i], what);
	Type t = *ty(sp, x->ref);
	const char *who = what[0] == '_' ? "this" : arena_printf(sp->a, "`%s`", what);
	if (t.rank < 2)
		sp_fail(sp, E_RANK, call->spans[i], "%s takes a matrix, not %s", who, sp_type_text(sp, x));
	Ref r = dtype_is_inexact((Dtype)t.dtype) ? x->ref : build_convert(sp->b, x->ref, DT_F64);
	if (square) {
		Atom msg = atom_f(sp->c, "%s takes a square matrix, not %s", who, sp_type_text(sp, x));
		if (!build_unify(sp->b, t.dims[t.rank - 2], t.dims[t.rank - 1], msg))
			sp_fail(sp, E_SHAPE, call->spans[i], "%s", atom_text(sp->c, msg));
	}
	return r;
}

BUILTIN(factorisation) {
	UNUSED;
	Ref r = want_matrix(sp, call, 0, self->name, self->op != OP_QR && self->op != OP_SVD),
		results[3];
	const Type t = *ty(sp, r);
	int64_t excess;
	if (self->op == OP_QR &&
	    dim_is_const(sp->c, dim_sub(sp->c, t.dims[t.rank - 2], t.dims[t.rank - 1]), &excess) &&
	    excess < 0) {
		Diag *d = diag_error(sp->c, E_SHAPE, call->spans[0],
		                     "`qr` takes a matrix with at least as many rows as columns, not %s",
		                     sp_type_text(sp, av_array(sp, r)));
		diag_hint(sp->c, d, "qr(A') factorises the adjoint");
		ctx_throw(sp->c, ST_ERROR);
	}
	build(sp->b, self->op, 1, &r, 0, results);
	if (prims[self->op].nres == 1) return av_array(sp, results[0]);
	Av *items[3];
	for (int i = 0; i < prims[self->op].nres; i++) items[i] = av_array(sp, results[i]);
	return av_seq(sp, AV_TUPLE, (uint32_t)prims[self->op].nres, items);
}

BUILTIN(trisolve) {
	UNUSED;
	Ref t = want_matrix(sp, call, 0, "trisolve", true);
	Av *b = sp_want_array(sp, call->args[1], call->spans[1], "trisolve"), *ta = av_array(sp, t);
	Dtype d = sp_common_dtype(sp, ta, b);
	t = sp_to_dtype(sp, ta, d);
	Ref rb = sp_to_dtype(sp, b, d);
	Type tb = *ty(sp, rb), tt = *ty(sp, t);
	bool vector = tb.rank + 1 == tt.rank;
	if (!vector && tb.rank != tt.rank)
		sp_fail(sp, E_RANK, call->spans[1], "cannot solve %s for %s", sp_type_text(sp, ta),
		        sp_type_text(sp, b));
	Atom what = atom_f(sp->c, "cannot solve %s for %s", sp_type_text(sp, ta), sp_type_text(sp, b));
	if (!build_unify(sp->b, tt.dims[tt.rank - 1], tb.dims[vector ? tb.rank - 1 : tb.rank - 2],
	                 what))
		sp_fail(sp, E_SHAPE, call->span, "%s", atom_text(sp->c, what));
	if (vector) {
		Dim dims[MAX_RANK];
		for (uint32_t i = 0; i < tb.rank; i++) dims[i] = build_canon(sp->b, tb.dims[i]);
		dims[tb.rank] = dim_const(sp->c, 1);
		rb = build_reshape(sp->b, rb, tb.rank + 1u, dims);
	}
	int64_t words[3];
	static const char *const names[3] = {"lower", "adjoint", "unit"};
	for (int i = 0; i < 3; i++) {
		Av *o = call_named(call, names[i], sp->c);
		words[i] = o ? sp_want_bool(sp, o, call->span, names[i]) : i == 0;
	}
	Ref r = build(sp->b, OP_TRISOLVE, 2, (Ref[]){t, rb}, attr_intern(sp->c, words, 3), NULL);
	return av_array(sp, vector ? build_reshape(sp->b, r, tb.rank, tb.dims) : r);
}

/* _solved(A, F, p, b, x): x, the solution of A x = b that was computed with the
 * packed LU factorisation F of A and its permutation p. */
BUILTIN(solved) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[4], call->spans[4], "linsolve"),
	   *b = sp_want_array(sp, call->args[3], call->spans[3], "linsolve");
	const Dtype d = (Dtype)ty(sp, x->ref)->dtype;
	Ref args[5] = {[2] = sp_want_array(sp, call->args[2], call->spans[2], "linsolve")->ref,
	               [3] = sp_to_dtype(sp, b, d),
	               [4] = x->ref};
	for (uint32_t k = 0; k < 2; k++)
		args[k] = sp_to_dtype(sp, av_array(sp, want_matrix(sp, call, k, "linsolve", true)), d);
	Type t = *ty(sp, args[4]);
	const bool vector = t.rank + 1 == ty(sp, args[0])->rank;
	for (uint32_t k = 3; k < 5 && vector; k++) {
		Dim dims[MAX_RANK];
		for (uint32_t i = 0; i < t.rank; i++) dims[i] = build_canon(sp->b, t.dims[i]);
		dims[t.rank] = dim_const(sp->c, 1);
		args[k] = build_reshape(sp->b, args[k], t.rank + 1u, dims);
	}
	const int64_t word = 0;
	Ref r = build(sp->b, OP_SOLVED, 5, args, attr_intern(sp->c, &word, 1), NULL);
	return av_array(sp, vector ? build_reshape(sp->b, r, t.rank, t.dims) : r);
}

/* _right_side(A, b): b, checked to have as many rows as A. */
BUILTIN(right_side) {
	UNUSED;
	Av *a = sp_want_array(sp, call->args[0], call->spans[0], "linsolve"),
	   *b = sp_want_array(sp, call->args[1], call->spans[1], "linsolve");
	Type ta = *ty(sp, a->ref), tb = *ty(sp, b->ref);
	const char *what =
		arena_printf(sp->a, "cannot solve %s for %s", sp_type_text(sp, a), sp_type_text(sp, b));
	bool fits = ta.rank >= 2 && tb.rank >= 1 && tb.rank <= 2;
	fits = fits && build_unify(sp->b, ta.dims[ta.rank - 2], tb.dims[0], atom(sp->c, what));
	if (!fits) sp_fail(sp, E_SHAPE, call->span, "%s", what);
	return b;
}

BUILTIN(fourier) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	Type t = *ty(sp, x->ref);
	if (t.rank == 0) sp_fail(sp, E_RANK, call->spans[0], "`%s` takes an array", self->name);
	Ref r = build_convert(sp->b, x->ref, t.dtype == DT_F32 || t.dtype == DT_C64 ? DT_C64 : DT_C128);
	int64_t words[2] = {axis_argument(sp, call, "axis", t.rank, t.rank - 1), self->name[0] == 'i'};
	return av_array(sp, build(sp->b, OP_FFT, 1, &r, attr_intern(sp->c, words, 2), NULL));
}

/* ---- random numbers ------------------------------------------------------ */

static Ref random_uniform(Sp *sp, uint32_t rank, const Dim *dims, Span at) {
	Ref rng, io, results[2];
	sp_effects(sp, &rng, &io, at);
	int64_t words[MAX_RANK + 1] = {rank};
	for (uint32_t i = 0; i < rank; i++) words[1 + i] = dims[i];
	build(sp->b, OP_RANDOM, 1, &rng, attr_intern(sp->c, words, rank + 1), results);
	sp_set_effects(sp, results[1], REF_NONE);
	/* The upper 53 bits as an integer in [-2^52, 2^52), moved to [0, 1). */
	TypeId ti = ref_type(build_fn(sp->b), results[0]);
	Ref k = build2(sp->b, OP_FLOORDIV, results[0], build_full(sp->b, ti, 2048));
	Ref x = build_convert(sp->b, k, DT_F64);
	TypeId tf = ref_type(build_fn(sp->b), x);
	x = build2(sp->b, OP_ADD, x, build_full(sp->b, tf, 4503599627370496.0));
	return build2(sp->b, OP_MUL, x, build_full(sp->b, tf, 0x1p-53));
}

BUILTIN(random) {
	UNUSED;
	uint32_t rank = 0;
	Dim dims[MAX_RANK];
	sp_want_dims(sp, call, 0, &rank, dims);
	Ref u = random_uniform(sp, rank, dims, call->span);
	if (!strcmp(self->name, "rand")) return av_array(sp, u);
	/* Box and Muller 1958: sqrt(-2 log(1 - u)) cos(2 pi v). */
	Ref v = random_uniform(sp, rank, dims, call->span);
	TypeId t = ref_type(build_fn(sp->b), u);
	Ref r = build1(sp->b, OP_SQRT,
	               build2(sp->b, OP_MUL, build_full(sp->b, t, -2),
	                      build1(sp->b, OP_LOG1P, build1(sp->b, OP_NEG, u))));
	return av_array(
		sp, build2(sp->b, OP_MUL, r,
	               build1(sp->b, OP_COS,
	                      build2(sp->b, OP_MUL, build_full(sp->b, t, 6.283185307179586), v))));
}

BUILTIN(seed) {
	UNUSED;
	Ref n = sp_scalar(sp, call->args[0], DT_I64, call->spans[0], "a seed");
	Ref rng, io;
	sp_effects(sp, &rng, &io, call->span);
	Dim one = dim_const(sp->c, 1);
	Ref parts[2] = {build_reshape(sp->b, n, 1, &one),
	                build_reshape(sp->b, build_i64(sp->b, 0), 1, &one)};
	sp_set_effects(sp, build_concat(sp->b, 2, parts, 0), REF_NONE);
	return av_none(sp);
}

/* ---- the table ----------------------------------------------------------- */

/* The element-wise primitives that users call by name come from prims.def. */
const Builtin builtins_array[] = {
#define USER_CALL(NAME, N, ID, DOC)                                                                \
	{.name = NAME, .min_args = N, .max_args = N, .run = elementwise, .op = OP_##ID, .doc = DOC},
#define USER_SIGN(NAME, N, ID, DOC)
#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	USER_##USER(name, 1, ID, doc)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	USER_##USER(name, 2, ID, doc)
#include "lang/ir/prims.def"
	{.name = "round",
     .min_args = 1,
     .max_args = 2,
     .run = rounding,
     .op = OP_ROUND,
     .doc = "round(x): nearest integer, ties to even; round(x, n): to n decimal places"},
	{.name = "stop_gradient",
     .min_args = 1,
     .max_args = 1,
     .run = elementwise,
     .op = OP_STOP,
     .doc = "stop_gradient(x): x, without a derivative"},
	{.name = "_each", .min_args = 2, .max_args = 6, .run = each},
	{.name = "bitshift",
     .min_args = 2,
     .max_args = 2,
     .run = elementwise,
     .op = OP_SHIFT,
     .doc = "bitshift(x, n): the bits of integers moved up by n places, down by -n; zeros "
            "come in"},
	{.name = "where",
     .min_args = 3,
     .max_args = 3,
     .run = where,
     .doc = "where(c, a, b): a where c is true, else b, element by element"},
	{.name = "bool",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "bool(x): whether x is not 0"},
	{.name = "i32",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "i32(x): integer of 32 bits, truncated"},
	{.name = "i64",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "i64(x): integer of 64 bits, truncated"},
	{.name = "f32",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "f32(x): real number of single precision"},
	{.name = "f64",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "f64(x): real number of double precision"},
	{.name = "c64",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "c64(x): complex number of single precision"},
	{.name = "c128",
     .min_args = 1,
     .max_args = 1,
     .run = convert,
     .doc = "c128(x): complex number of double precision"},
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
	{.name = "sum",
     .min_args = 1,
     .max_args = 1,
     .named = "axis keepdims",
     .run = reduce,
     .op = OP_REDUCE_SUM,
     .doc = "sum(x; axis, keepdims = false), sum(e for i in r)"},
	{.name = "prod",
     .min_args = 1,
     .max_args = 1,
     .named = "axis keepdims",
     .run = reduce,
     .op = OP_REDUCE_PROD,
     .doc = "prod(x; axis, keepdims = false): product"},
	{.name = "max",
     .min_args = 1,
     .max_args = -1,
     .named = "axis keepdims",
     .run = reduce,
     .op = OP_REDUCE_MAX,
     .doc =
         "max(x; axis, keepdims = false): largest element; max(x, y): larger, element by element"},
	{.name = "min",
     .min_args = 1,
     .max_args = -1,
     .named = "axis keepdims",
     .run = reduce,
     .op = OP_REDUCE_MIN,
     .doc = "min(x; axis, keepdims = false): smallest element; min(x, y): smaller, element by "
            "element"},
	{.name = "any",
     .min_args = 1,
     .max_args = 1,
     .named = "axis keepdims",
     .run = reduce,
     .op = OP_REDUCE_MAX,
     .doc = "any(c; axis, keepdims = false): whether one is true"},
	{.name = "all",
     .min_args = 1,
     .max_args = 1,
     .named = "axis keepdims",
     .run = reduce,
     .op = OP_REDUCE_MIN,
     .doc = "all(c; axis, keepdims = false): whether each is true"},
	{.name = "argmax",
     .min_args = 1,
     .max_args = 1,
     .named = "axis keepdims",
     .run = argmax,
     .doc = "argmax(x; axis, keepdims = false): index of the first largest element"},
	{.name = "argmin",
     .min_args = 1,
     .max_args = 1,
     .named = "axis keepdims",
     .run = argmax,
     .doc = "argmin(x; axis, keepdims = false): index of the first smallest element"},
	{.name = "cumsum",
     .min_args = 1,
     .max_args = 1,
     .named = "axis reverse",
     .run = cumulative,
     .op = OP_CUMSUM,
     .doc = "cumsum(x; axis = 0, reverse = false): running sum"},
	{.name = "cumprod",
     .min_args = 1,
     .max_args = 1,
     .named = "axis reverse",
     .run = cumulative,
     .op = OP_CUMPROD,
     .doc = "cumprod(x; axis = 0, reverse = false): running product"},
	{.name = "sort",
     .min_args = 1,
     .max_args = 1,
     .named = "axis descending",
     .run = sorting,
     .doc = "sort(x; axis = -1, descending = false): stable, NaN last; a list of strings in the "
            "order of their characters"},
	{.name = "argsort",
     .min_args = 1,
     .max_args = 1,
     .named = "axis descending",
     .run = sorting,
     .doc = "argsort(x; axis = -1, descending = false): the permutation that sorts"},
	{.name = "findall",
     .min_args = 1,
     .max_args = 1,
     .run = nonzero,
     .doc = "findall(c): indices where a vector of conditions is true"},
	{.name = "cholesky",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_CHOLESKY,
     .doc = "cholesky(A): lower L with L L' = A"},
	{.name = "_lu", .min_args = 1, .max_args = 1, .run = factorisation, .op = OP_LU},
	{.name = "_solved", .min_args = 5, .max_args = 5, .run = solved},
	{.name = "_right_side", .min_args = 2, .max_args = 2, .run = right_side},
	{.name = "qr",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_QR,
     .doc = "qr(A): (Q, R), reduced, diagonal of R positive"},
	{.name = "eigh",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_EIGH,
     .doc = "eigh(A): (ascending eigenvalues, eigenvectors in columns) of a symmetric or Hermitian "
            "matrix"},
	{.name = "eig",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_EIG,
     .doc = "eig(A): (complex eigenvalues, eigenvectors in columns)"},
	{.name = "svd",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_SVD,
     .doc = "svd(A): (U, s, V) with A = U diag(s) V', reduced"},
	{.name = "trisolve",
     .min_args = 2,
     .max_args = 2,
     .named = "lower adjoint unit",
     .run = trisolve,
     .doc =
         "trisolve(T, b; lower = true, adjoint = false, unit = false): T x = b with T triangular"},
	{.name = "fft",
     .min_args = 1,
     .max_args = 1,
     .named = "axis",
     .run = fourier,
     .doc = "fft(x; axis = -1): discrete Fourier transform"},
	{.name = "ifft",
     .min_args = 1,
     .max_args = 1,
     .named = "axis",
     .run = fourier,
     .doc = "ifft(x; axis = -1): inverse of fft"},
	{.name = "rand",
     .min_args = 0,
     .max_args = -1,
     .run = random,
     .doc = "rand(n, m, ...): uniform in [0, 1)"},
	{.name = "randn",
     .min_args = 0,
     .max_args = -1,
     .run = random,
     .doc = "randn(n, m, ...): standard normal"},
	{.name = "seed",
     .min_args = 1,
     .max_args = 1,
     .run = seed,
     .doc = "seed(n): starts the random numbers anew"},
	{.name = NULL},
};
