/* axes.c - builtins on axis numbers, extents, rows along an axis, and static
 * values.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - As arrays.c.
 * - stdlib/core/arrays.dsl uses these builtins. A library function that takes
 *   an axis, or an option that determines the type of its result, requests the
 *   static value here. It is then compiled for that value.
 */
#include "parser/builtins/table.h"

/* Argument i as an axis number; negative ones count from the last axis. */
static int want_axis(Sp *sp, const CallArguments *call, uint32_t i, int rank) {
	const Span at = sp_user_place(sp, call->spans[i]);
	const int64_t k = sp_want_int(sp, call->args[i], at, "an axis"), axis = k < 0 ? k + rank : k;
	if (axis < 0 || axis >= rank)
		sp_fail(sp, E_RANK, at, "no axis %lld: there %s %d, counted from 0", (long long)k,
		        rank == 1 ? "is" : "are", rank);
	return (int)axis;
}

int builtin_axis(Sp *sp, const CallArguments *call, const char *name, int rank, int fallback) {
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

/* _axis(x, k): the axis k of x, counted from 0. */
BUILTIN(axis) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], sp_user_place(sp, call->spans[0]), "this function");
	return av_int(sp, want_axis(sp, call, 1, ty(sp, x->ref)->rank));
}

/* _known(v, what): an integer or boolean as a static value; anything that is
 * not an array as it is. */
BUILTIN(known) {
	UNUSED;
	Av *v = call->args[0];
	if (v->kind != AV_ARRAY) return v;
	const Span at = sp_user_place(sp, call->spans[0]);
	const char *what = sp_want_string(sp, call->args[1], call->spans[1], "a description");
	if (ty(sp, v->ref)->dtype == DT_BOOL) return av_bool(sp, sp_want_bool(sp, v, at, what));
	return av_int(sp, sp_want_int(sp, v, at, what));
}

BUILTIN(moveaxis) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	const int rank = ty(sp, x->ref)->rank, from = want_axis(sp, call, 1, rank),
			  to = want_axis(sp, call, 2, rank);
	int perm[MAX_RANK];
	if (!strcmp(self->name, "swapaxes")) {
		for (int i = 0; i < rank; i++) perm[i] = i == from ? to : i == to ? from : i;
	} else
		for (int i = 0, k = 0; i < rank; i++) {
			if (k == from) k++;
			perm[i] = i == to ? from : k++;
		}
	return av_array(sp, build_transpose(sp->b, x->ref, perm));
}

BUILTIN(squeeze) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "squeeze"),
	   *axes = call_named(call, "axis", sp->c);
	Type t = *ty(sp, x->ref);
	bool gone[MAX_RANK] = {false};
	const Dim one = dim_const(sp->c, 1);
	if (axes && axes->kind != AV_NONE) {
		int64_t given[MAX_RANK];
		uint32_t n;
		const Span at = sp_user_place(sp, call->span);
		sp_want_ints(sp, axes, at, "an axis", &n, given, MAX_RANK);
		for (uint32_t i = 0; i < n; i++) {
			const int64_t k = given[i] < 0 ? given[i] + t.rank : given[i];
			if (k < 0 || k >= t.rank)
				sp_fail(sp, E_RANK, at, "no axis %lld: there %s %u, counted from 0",
				        (long long)given[i], t.rank == 1 ? "is" : "are", t.rank);
			const char *message =
				arena_printf(sp->a, "cannot squeeze axis %lld of %s: its length is not 1",
			                 (long long)given[i], sp_type_text(sp, x));
			if (!build_unify(sp->b, t.dims[k], one, atom(sp->c, message)))
				sp_fail(sp, E_SHAPE, at, "%s", message);
			gone[k] = true;
		}
	} else
		for (uint32_t i = 0; i < t.rank; i++) gone[i] = build_canon(sp->b, t.dims[i]) == one;
	Dim dims[MAX_RANK];
	uint32_t rank = 0;
	for (uint32_t i = 0; i < t.rank; i++)
		if (!gone[i]) dims[rank++] = build_canon(sp->b, t.dims[i]);
	return av_array(sp, build_reshape(sp->b, x->ref, rank, dims));
}

/* _gather(x, i, axis): rows of x along an axis. _gather_along(x, i, axis):
 * x[.., i[..], ..], where i has the other axes of x as well. */
BUILTIN(gather) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], "this function"),
	   *i = sp_want_array(sp, call->args[1], call->spans[1], "this function");
	const Span at = sp_user_place(sp, call->spans[1]);
	if (!dtype_is_int((Dtype)ty(sp, i->ref)->dtype))
		sp_fail(sp, E_TYPE, at, "an index is an integer, not %s", sp_type_text(sp, i));
	const int rank = ty(sp, x->ref)->rank, k = want_axis(sp, call, 2, rank);
	Ref index = build_convert(sp->b, i->ref, DT_I64);
	if (!strcmp(self->name, "_gather")) {
		if (rank - 1 + ty(sp, index)->rank > MAX_RANK)
			sp_fail(sp, E_RANK, at, "an array has at most %d axes", MAX_RANK);
		return av_array(sp, build_gather(sp->b, x->ref, index, k, 0));
	}
	const Type tx = *ty(sp, x->ref), ti = *ty(sp, index);
	const char *message = arena_printf(sp->a, "cannot take %s along an axis of %s",
	                                   sp_type_text(sp, i), sp_type_text(sp, x));
	bool fits = ti.rank == tx.rank;
	for (int a = 0; fits && a < rank; a++)
		fits = a == k || build_unify(sp->b, tx.dims[a], ti.dims[a], atom(sp->c, message));
	if (!fits) sp_fail(sp, E_SHAPE, at, "%s", message);
	int perm[MAX_RANK];
	for (int a = 0; a < rank; a++) perm[a] = a;
	perm[k] = rank - 1;
	perm[rank - 1] = k;
	Ref r = build_gather(sp->b, build_transpose(sp->b, x->ref, perm),
	                     build_transpose(sp->b, index, perm), rank - 1, rank - 1);
	return av_array(sp, build_transpose(sp->b, r, perm));
}

const Builtin builtins_axes[] = {
	{.name = "moveaxis",
     .min_args = 3,
     .max_args = 3,
     .run = moveaxis,
     .doc = "moveaxis(x, from, to): axis `from` becomes axis `to`, the others keep their order"},
	{.name = "swapaxes",
     .min_args = 3,
     .max_args = 3,
     .run = moveaxis,
     .doc = "swapaxes(x, i, j): axes i and j change places"},
	{.name = "squeeze",
     .min_args = 1,
     .max_args = 1,
     .named = "axis",
     .run = squeeze,
     .doc = "squeeze(x; axis): without its axes of length 1, or without this one (or these), whose "
            "length must be 1"},
	{.name = "_axis", .min_args = 2, .max_args = 2, .run = axis},
	{.name = "_known", .min_args = 2, .max_args = 2, .run = known},
	{.name = "_gather", .min_args = 3, .max_args = 3, .run = gather},
	{.name = "_gather_along", .min_args = 3, .max_args = 3, .run = gather},
	{.name = NULL},
};
