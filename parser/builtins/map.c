/* map.c - builtins that apply a function to each row, item or field.
 *
 * Needs: derivative_site.h, the transforms of ir_services.
 *
 * Method: rows of arrays are computed all at once. The function is specialised
 * for one row, and the transform `batch` of it is called. Items of lists and
 * fields of records are one call each.
 */
#include "parser/builtins/derivative_site.h"

static bool has_range(const Av *v) {
	if (v->kind == AV_RANGE) return true;
	for (uint32_t i = 0; i < v->n; i++)
		if (has_range(v->items[i])) return true;
	return false;
}

/* A value of a row's type that cannot fail, even if there are no rows: the sum
 * of all rows. It is never computed. */
static Ref like_a_row(Sp *sp, Ref x) {
	const Dtype d = (Dtype)ty(sp, x)->dtype;
	const Ref sum = build_reduce(sp->b, OP_REDUCE_SUM,
	                             d == DT_BOOL ? build_convert(sp->b, x, DT_I64) : x, 1, (int[]){0});
	return build_convert(sp->b, sum, d);
}

/* One row of each leaf: the arguments of one call of the mapped function. */
static Av *first_row(Sp *sp, Av *v, Dim *n, const char *name, Span at) {
	uint32_t count = av_count_leaves(v), k = 0;
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, count + 1);
	av_leaves(v, leaves, &k);
	for (uint32_t i = 0; i < count; i++) {
		const Type *t = ty(sp, leaves[i]);
		if (t->kind != TY_TENSOR || t->rank == 0)
			sp_fail(sp, E_RANK, at, "`%s` runs over rows, and %s has none", name,
			        sp_type_text(sp, v));
		Dim d = build_canon(sp->b, t->dims[0]);
		Atom what = atom_f(sp->c, "`%s` runs over arrays of one length", name);
		if (*n == UINT32_MAX) *n = d;
		else if (!build_unify(sp->b, *n, d, what)) {
			char first[64];
			dim_print(sp->c, *n, NULL, NULL, first, sizeof first);
			sp_fail(sp, E_SHAPE, at, "%s: the first has %s, this is %s", atom_text(sp->c, what),
			        first, sp_type_text(sp, v));
		}
		leaves[i] = like_a_row(sp, leaves[i]);
	}
	k = 0;
	return av_rebuild(sp, v, leaves, &k);
}

/* f of each field of records with the same fields, as a record. */
static Av *map_fields(Sp *sp, Av *f, const CallArguments *call) {
	const uint32_t n = call->n - 1;
	const Av *first = call->args[1];
	for (uint32_t i = 0; i < n; i++) {
		const Av *r = call->args[1 + i];
		bool same = r->kind == AV_RECORD && first->kind == AV_RECORD && r->n == first->n;
		for (uint32_t k = 0; same && k < r->n; k++) same = av_field(first, r->names[k]) != NULL;
		if (same) continue;
		Diag *d =
			diag_error(sp->c, E_TYPE, call->spans[1 + i],
		               "`map` over a record takes records with the same fields, not %s beside %s",
		               sp_type_text(sp, r), sp_type_text(sp, first));
		diag_hint(sp->c, d, "map_rows(f, r, ...) runs over the rows of the arrays in a record");
		sp_throw(sp);
	}
	Av **out = ARENA_ARRAY(sp->a, Av *, first->n + 1), **row = ARENA_ARRAY(sp->a, Av *, n);
	for (uint32_t k = 0; k < first->n; k++) {
		for (uint32_t i = 0; i < n; i++) row[i] = av_field(call->args[1 + i], first->names[k]);
		out[k] = sp_call_args(sp, f, n, row, call->span);
	}
	return av_record(sp, first->n, first->names, out);
}

/* ---- over rows ----------------------------------------------------------- */

static _Noreturn void refuse_ranges(Sp *sp, Span at) {
	sp_fail(sp, E_TYPE, at, "`map` makes arrays, and the function gives a range for each row");
}

/* What a function gives for each of n rows when it depends on none of them. A
 * value whose type is not known yet is repeated when it is. */
static Ref repeated(Sp *sp, Ref x, Dim n, Span at) {
	const Type t = *ty(sp, x);
	if (t.kind == TY_DYN) {
		Av *args[2] = {av_dyn(sp, x), av_array(sp, build_extent(sp->b, n))};
		return sp_call_dynamic(sp, av_builtin(sp, "_repeated", 0, NULL), 2, args, at)->ref;
	}
	if (t.kind != TY_TENSOR) return x;
	if (t.rank == MAX_RANK)
		sp_fail(sp, E_RANK, at, "an array has at most %d axes, and this is one of arrays with %d",
		        MAX_RANK, MAX_RANK);
	Dim dims[MAX_RANK] = {n};
	int axes[MAX_RANK] = {0};
	for (int i = 0; i < (int)t.rank; i++) {
		dims[i + 1] = t.dims[i];
		axes[i] = i + 1;
	}
	return build_broadcast(sp->b, x, t.rank + 1, dims, axes);
}

BUILTIN(repeated_rows) {
	UNUSED;
	Av *v = av_strong(sp, call->args[0]);
	const Ref count = sp_want_array(sp, call->args[1], call->span, "map")->ref;
	if (has_range(v)) refuse_ranges(sp, call->span);
	const Dim n = build_dim_of(sp->b, count, atom(sp->c, "rows"));
	uint32_t k = 0;
	Ref *leaves = ARENA_ARRAY(sp->a, Ref, av_count_leaves(v) + 1);
	av_leaves(v, leaves, &k);
	for (uint32_t i = 0; i < k; i++) leaves[i] = repeated(sp, leaves[i], n, call->span);
	k = 0;
	return av_rebuild(sp, v, leaves, &k);
}

static Av *map_rows_of(Sp *sp, const char *name, Av *f, const CallArguments *call);

BUILTIN(map) {
	UNUSED;
	Av *f = sp_keep_rule(sp, want_function(sp, call->args[0], call->spans[0], "map"));
	uint32_t n = call->n - 1;
	if (n == 0) sp_fail(sp, E_ARITY, call->span, "`map` takes a function and what it runs over");
	bool lists = false;
	for (uint32_t i = 0; i < n; i++) {
		const AvKind kind = call->args[1 + i]->kind;
		if (kind == AV_RECORD) return map_fields(sp, f, call);
		lists |= kind == AV_LIST || kind == AV_TUPLE;
	}
	if (lists) {
		Av **out = NULL;
		Av **row = ARENA_ARRAY(sp->a, Av *, n);
		uint32_t len = UINT32_MAX;
		Av ***items = ARENA_ARRAY(sp->a, Av **, n);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t m;
			if (!sp_static_items(sp, call->args[1 + i], &m, &items[i]))
				sp_fail(sp, E_TYPE, call->spans[1 + i],
				        "`map` over a list needs its other arguments as lists");
			if (len != UINT32_MAX && m != len)
				sp_fail(sp, E_SHAPE, call->spans[1 + i],
				        "`map` runs over lists of one length, and these have %u and %u", len, m);
			len = m;
		}
		out = ARENA_ARRAY(sp->a, Av *, len + 1);
		for (uint32_t k = 0; k < len; k++) {
			for (uint32_t i = 0; i < n; i++) row[i] = items[i][k];
			out[k] = sp_call_args(sp, f, n, row, call->span);
		}
		return av_seq(sp, (AvKind)call->args[1]->kind == AV_TUPLE ? AV_TUPLE : AV_LIST, len, out);
	}
	return map_rows_of(sp, "map", f, call);
}

/* As map, but only over rows: those of an array, or of all arrays in a record
 * or tuple. */
BUILTIN(map_rows) {
	UNUSED;
	return map_rows_of(
		sp, "map_rows",
		sp_keep_rule(sp, want_function(sp, call->args[0], call->spans[0], "map_rows")), call);
}

static Av *map_rows_of(Sp *sp, const char *name, Av *f, const CallArguments *call) {
	const uint32_t n = call->n - 1;
	Dim length = UINT32_MAX;
	Av **xs = ARENA_ARRAY(sp->a, Av *, n), **rows = ARENA_ARRAY(sp->a, Av *, n);
	for (uint32_t i = 0; i < n; i++) {
		xs[i] = call->args[1 + i];
		if (xs[i]->kind != AV_RECORD && xs[i]->kind != AV_TUPLE && xs[i]->kind != AV_LIST)
			xs[i] = sp_want_array(sp, xs[i], call->spans[1 + i], name);
		rows[i] = first_row(sp, av_strong(sp, xs[i]), &length, name, call->spans[1 + i]);
	}
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->spans[0],
	                       .n = n,
	                       .args = rows,
	                       .spans = call->spans + 1,
	                       .rows = true};
	Specialisation s = sp_specialise(sp, f, &inner);
	if (has_range(s.result)) refuse_ranges(sp, call->span);
	uint32_t first = 0;
	for (uint32_t i = 0; i < f->n; i++) first += av_count_leaves(f->items[i]);
	bool *batched = ARENA_ARRAY(sp->a, bool, s.nargs + 3);
	Ref *args = ARENA_ARRAY(sp->a, Ref, s.nargs + 2),
		*leaves = ARENA_ARRAY(sp->a, Ref, s.nleaves + 1);
	for (uint32_t i = 0; i < s.nargs; i++) args[i] = s.args[i];
	uint32_t k = 0;
	for (uint32_t i = 0; i < n; i++) av_leaves(xs[i], leaves, &k);
	for (uint32_t i = 0; i < k; i++) {
		int p = s.param_of_leaf[first + i];
		if (p < 0)
			sp_fail(sp, E_NOT_STATIC, call->span,
			        "the mapped function needs to know an element to know a shape");
		args[p] = leaves[i];
		batched[p] = true;
	}
	uint32_t nargs = s.nargs;
	if (s.effects) {
		sp_effects(sp, &args[nargs], &args[nargs + 1], call->span);
		nargs += 2;
	}
	Fn *b = ir_services(sp->c)->batch(sp->c, s.fn, batched);
	Ref *results = ARENA_ARRAY(sp->a, Ref, fn_nresults(b) + 1);
	sp_at(sp, call->span);
	build_call(sp->b, b, nargs, args, results);
	uint32_t nr = av_count_leaves(s.result);
	if (s.effects) {
		Ref rng = results[nr];
		if (ty(sp, rng)->rank == 2) rng = build_gather(sp->b, rng, build_i64(sp->b, 0), 0, 0);
		sp_set_effects(sp, rng, results[nr + 1]);
	}
	for (uint32_t i = 0; i < nr; i++)
		if (ty(sp, results[i])->kind == TY_DYN)
			results[i] = repeated(sp, results[i], length, call->span);
	k = 0;
	return av_rebuild(sp, s.result, results, &k);
}

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_map[] = {
	{.name = "map_rows",
     .min_args = 2,
     .max_args = -1,
     .run = map_rows,
     .doc = "map_rows(f, r, ...): f of each row of all arrays that a record or tuple r is made of, "
            "which are of one length: f sees a record of rows"},
	{.name = "map",
     .min_args = 2,
     .max_args = -1,
     .run = map,
     .doc = "map(f, xs, ...): f of each row, all at once; over tuples, lists and the fields of "
            "records one by one"},
	{.name = "_repeated", .min_args = 2, .max_args = 2, .run = repeated_rows},
	{.name = NULL},
};
