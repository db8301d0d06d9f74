/* reductions.c - builtins that compute along axes: reductions, running sums,
 * orders, indices of what is true.
 *
 * Needs: table.h.
 *
 * Contract: as arrays.c.
 */
#include "parser/builtins/table.h"

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
	int axis = builtin_axis(sp, call, "axis", t.rank, -1), gone[MAX_RANK] = {axis};
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
	int axis = builtin_axis(sp, call, "axis", ty(sp, r)->rank, 0);
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
	int axis = builtin_axis(sp, call, "axis", rank, rank - 1);
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

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_reduction[] = {
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
	{.name = NULL},
};
