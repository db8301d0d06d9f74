/* test_builder.c - unit tests of the builder.
 *
 * Covers folding, value numbering, branches, loops, calls, dead-code
 * elimination, contracts and state.
 *
 * Needs: builder_help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/ir/builder_help.h"

/* ---- constants and folding ----------------------------------------------- */

static void test_constants(T *t) {
	Builder *b = t->b;
	CHECK(build_f64(b, 1) == build_f64(b, 1));
	CHECK(build_f64(b, 0.0) != build_f64(b, -0.0));
	CHECK(build_f64(b, NAN) == build_f64(b, NAN));
	CHECK(build_f64(b, 1) != build_scalar(b, DT_F32, 1));
	CHECK(ints(t, 3, (int64_t[]){1, 2, 3}) == ints(t, 3, (int64_t[]){1, 2, 3}));
	CHECK(ints(t, 3, (int64_t[]){1, 2, 3}) != ints(t, 3, (int64_t[]){1, 2, 4}));
	Value s1 = value_string(t->c, "abc", 3), s2 = value_string(t->c, "abc", 3),
		  s3 = value_string(t->c, "abd", 3);
	CHECK(build_const(b, s1) == build_const(b, s2));
	CHECK(build_const(b, s1) != build_const(b, s3));
	CHECK(ref_type(b->fn, build_const(b, s1)) == type_dyn(t->c));
	value_unref(s1);
	value_unref(s2);
	value_unref(s3);
	for (int i = 0; i < 1000; i++) build_i64(b, i);
	CHECK(b->fn->consts.n > 1000);
	CHECK(build_i64(b, 500) == build_i64(b, 500));
}

static void test_folding(T *t) {
	Builder *b = t->b;
	CHECK(is_f64(t, build2(b, OP_ADD, build_f64(b, 2), build_f64(b, 3)), 5));
	CHECK(is_f64(t, build1(b, OP_EXP, build_f64(b, 1)), exp(1)));
	Ref nan = build2(b, OP_SUB, build_f64(b, INFINITY), build_f64(b, INFINITY));
	/* Not folded: the operation makes the NaN, and nan_check must find it. A
	 * NaN operand folds like any other constant. */
	CHECK(is_op(t, nan, OP_SUB));
	nan = build2(b, OP_SUB, build_f64(b, NAN), build_f64(b, 1));
	CHECK(ref_is_const(nan) && isnan(ref_constant(b->fn, nan)->value.f));
	Ref zero = build1(b, OP_NEG, build_f64(b, 0.0));
	CHECK(ref_is_const(zero) && signbit(ref_constant(b->fn, zero)->value.f));
	Ref bad = build2(b, OP_FLOORDIV, build_i64(b, 1), build_i64(b, 0));
	CHECK(is_op(t, bad, OP_FLOORDIV));
	CHECK(is_i64(t, build_convert(b, build_f64(b, 2.9), DT_I64), 2));
	CHECK(is_f64(t, build_convert(b, build_i64(b, 7), DT_F64), 7));
	Dim n = sym(t, "n");
	TypeId tn = vec(t, DT_F64, n);
	Ref two = build_full(b, tn, 2), sum = build2(b, OP_ADD, two, build_full(b, tn, 3));
	CHECK(is_op(t, two, OP_BROADCAST) && is_f64(t, sum, 5) && ref_type(b->fn, sum) == tn);
	CHECK(is_f64(t, build1(b, OP_SQRT, build_full(b, tn, 4)), 2));
	Ref v = ints(t, 4, (int64_t[]){4, 5, 6, 7});
	CHECK(holds_ints(t, build2(b, OP_MUL, v, build_full(b, ref_type(b->fn, v), 2)), 4,
	                 (int64_t[]){8, 10, 12, 14}));
	CHECK(holds_ints(t, build_gather(b, v, ints(t, 2, (int64_t[]){3, 0}), 0, 0), 2,
	                 (int64_t[]){7, 4}));
	CHECK(is_i64(t, build_gather(b, v, build_i64(b, 2), 0, 0), 6));
	CHECK(is_op(t, build_gather(b, v, build_i64(b, 9), 0, 0), OP_GATHER));
	Dim one = len(t, 1), half = len(t, 2);
	int64_t back = -2;
	CHECK(holds_ints(t, build_slice(b, v, &one, &half, NULL), 2, (int64_t[]){5, 6}));
	Dim last = len(t, 3);
	CHECK(holds_ints(t, build_slice(b, v, &last, &half, &back), 2, (int64_t[]){7, 5}));
	Ref square = build_reshape(b, v, 2, (Dim[]){half, half});
	CHECK(holds_ints(t, build_transpose(b, square, (int[]){1, 0}), 4, (int64_t[]){4, 6, 5, 7}));
	CHECK(holds_ints(t, build_concat(b, 2, (Ref[]){v, build_slice(b, v, &one, &half, NULL)}, 0), 6,
	                 (int64_t[]){4, 5, 6, 7, 5, 6}));
	CHECK(holds_ints(t, build_gather(b, square, ints(t, 1, (int64_t[]){1}), 1, 0), 2,
	                 (int64_t[]){5, 7}));
	CHECK(is_i64(t, build_extent(b, len(t, 12)), 12));
	CHECK(is_op(t, build_extent(b, n), OP_EXTENT));
	Ref x = build_select(b, build_bool(b, true), two, sum);
	CHECK(x == two);
}

/* ---- value numbering ----------------------------------------------------- */

static void test_sharing(T *t) {
	Builder *b = t->b;
	Ref x = param(t, num(t, DT_F64)), y = param(t, num(t, DT_F64)), c = param(t, num(t, DT_BOOL));
	Ref sum = build2(b, OP_ADD, x, y);
	CHECK(build2(b, OP_ADD, y, x) == sum);
	CHECK(build2(b, OP_SUB, x, y) != build2(b, OP_SUB, y, x));
	CHECK(arg_of(t, build2(b, OP_MUL, build_f64(b, 3), x), 1) == build_f64(b, 3));
	OpenRegion *r = build_region_begin(b, 0, NULL, NULL);
	CHECK(build2(b, OP_ADD, x, y) == sum);
	Ref inside = build2(b, OP_MUL, x, y);
	CHECK(build2(b, OP_MUL, x, y) == inside);
	RegionId then_region = build_region_end(b, r, 1, &inside);
	r = build_region_begin(b, 0, NULL, NULL);
	Ref other = build2(b, OP_MUL, x, y);
	CHECK(other != inside);
	RegionId else_region = build_region_end(b, r, 1, &other);
	CHECK(build2(b, OP_MUL, x, y) != inside);
	Ref result;
	build_if(b, c, then_region, else_region, &result);
	CHECK(is_op(t, result, OP_IF));
	for (int i = 0; i < 500; i++) build2(b, OP_MUL, x, build_f64(b, i + 5));
	CHECK(build2(b, OP_ADD, x, y) == sum);
}

/* ---- branches ------------------------------------------------------------ */

static void test_branches(T *t) {
	Builder *b = t->b;
	Dim n = sym(t, "n"), m = sym(t, "m");
	Ref x = param(t, vec(t, DT_F64, n)), y = param(t, vec(t, DT_F64, m)),
		c = param(t, num(t, DT_BOOL));
	/* A branch with a known condition is replaced by its contents. */
	OpenRegion *r = build_region_begin(b, 0, NULL, NULL);
	build_unify(b, n, m, atom(t->c, "lengths"));
	Ref exp_x = build1(b, OP_EXP, x);
	RegionId chosen = build_region_end(b, r, 1, &exp_x);
	CHECK(build_canon(b, m) == m);
	r = build_region_begin(b, 0, NULL, NULL);
	RegionId other = build_region_end(b, r, 1, &y);
	Ref result;
	build_if(b, build_bool(b, true), chosen, other, &result);
	CHECK(result == exp_x && build1(b, OP_EXP, x) == exp_x && build_canon(b, m) == n);
	/* Results of differing extents get fresh symbols; the same pair gets the
	 * same symbol. */
	Dim a = len(t, 20), z = len(t, 30);
	TypeId ta = vec(t, DT_F64, a), tz = vec(t, DT_F64, z);
	r = build_region_begin(b, 0, NULL, NULL);
	Ref xs[4] = {build_zeros(b, ta), build_full(b, ta, 1), build_zeros(b, ta), build_f64(b, 1)};
	RegionId first = build_region_end(b, r, 4, xs);
	r = build_region_begin(b, 0, NULL, NULL);
	Ref ys[4] = {build_zeros(b, tz), build_full(b, tz, 1), build_zeros(b, ta), build_f64(b, 1)};
	RegionId second = build_region_end(b, r, 4, ys);
	Ref out[4];
	build_if(b, c, first, second, out);
	SymId s;
	CHECK(dim_is_sym(t->c, ref_ty(b->fn, out[0])->dims[0], &s));
	CHECK(ref_type(b->fn, out[0]) == ref_type(b->fn, out[1]));
	CHECK(ref_type(b->fn, out[2]) == ta);
	CHECK(out[3] == build_f64(b, 1));
	/* A body that cannot fail needs no handler. */
	r = build_region_begin(b, 0, NULL, NULL);
	Ref safe = build1(b, OP_SIN, x);
	RegionId body = build_region_end(b, r, 1, &safe);
	TypeId dyn = type_dyn(t->c);
	Ref message;
	r = build_region_begin(b, 1, &dyn, &message);
	RegionId handler = build_region_end(b, r, 1, &x);
	build_try(b, body, handler, &result);
	CHECK(result == safe);
	Ref results[] = {result, out[0], out[2]};
	Fn *f = build_end(b, 3, results);
	t->b = NULL;
	CHECK(count_op(f, OP_IF) == 1 && !count_op(f, OP_TRY) && count_op(f, OP_GUARD) == 1);
	fn_unref(f);
}

/* ---- loops --------------------------------------------------------------- */

static void test_loops(T *t) {
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, DT_F64, n)), count = param(t, num(t, DT_I64)),
		s = param(t, num(t, DT_F64));
	/* An array that grows, one that does not, and a loop-invariant value. */
	Dim k = sym(t, "k");
	TypeId types[4] = {num(t, DT_I64), vec(t, DT_F64, k), vec(t, DT_F64, n), num(t, DT_F64)};
	Ref p[4];
	OpenRegion *r = build_region_begin(b, 4, types, p);
	Ref after[3] = {build(b, OP_PUSH, 2, (Ref[]){p[1], p[3]}, 0, NULL),
	                build2(b, OP_MUL, p[2], p[2]), p[3]};
	RegionId body = build_region_end(b, r, 3, after);
	Ref none = build_zeros(b, vec(t, DT_F64, len(t, 0))), init[3] = {none, x, s}, out[3];
	build_for(b, count, 3, init, body, out);
	SymId grown;
	Dim length = ref_ty(b->fn, out[0])->dims[0];
	CHECK(dim_is_sym(t->c, length, &grown) && length != k);
	CHECK(ref_type(b->fn, out[1]) == vec(t, DT_F64, n));
	CHECK(out[2] == s);
	/* A symbol that iterations do not change equals its initial value. */
	Dim j = sym(t, "j");
	TypeId same[2] = {num(t, DT_I64), vec(t, DT_F64, j)};
	r = build_region_begin(b, 2, same, p);
	Ref sine = build1(b, OP_SIN, p[1]);
	body = build_region_end(b, r, 1, &sine);
	Ref kept;
	build_for(b, count, 1, &out[0], body, &kept);
	CHECK(ref_type(b->fn, kept) == ref_type(b->fn, out[0]));
	/* A loop without iterations is removed. */
	r = build_region_begin(b, 2, same, p);
	sine = build1(b, OP_SIN, p[1]);
	body = build_region_end(b, r, 1, &sine);
	Ref unturned;
	build_for(b, build_i64(b, 0), 1, &x, body, &unturned);
	CHECK(unturned == x);
	/* `while` with a symbol in each parameter list, and an extent that a guard
	 * in the body makes equal. */
	Dim w = sym(t, "w");
	TypeId tw = vec(t, DT_F64, w);
	r = build_region_begin(b, 1, &tw, p);
	Ref more = build2(b, OP_LT, build_extent(b, w), count);
	RegionId cond = build_region_end(b, r, 1, &more);
	r = build_region_begin(b, 1, &tw, p);
	Ref doubled = build_concat(b, 2, (Ref[]){p[0], p[0]}, 0);
	body = build_region_end(b, r, 1, &doubled);
	Ref wide;
	build_while(b, 1, &x, cond, body, &wide);
	CHECK(dim_is_sym(t->c, ref_ty(b->fn, wide)->dims[0], &grown) &&
	      ref_ty(b->fn, wide)->dims[0] != n);
	TypeId fixed[2] = {num(t, DT_I64), vec(t, DT_F64, n)};
	r = build_region_begin(b, 2, fixed, p);
	Dim wl = ref_ty(b->fn, wide)->dims[0];
	CHECK(build_unify(b, wl, n, atom(t->c, "loop")));
	Ref fit = build2(b, OP_ADD, p[1], wide);
	body = build_region_end(b, r, 1, &wide);
	(void)fit;
	Ref guarded;
	build_for(b, count, 1, &x, body, &guarded);
	CHECK(ref_type(b->fn, guarded) == vec(t, DT_F64, n));
	Ref results[] = {out[0], out[1], kept, wide, guarded};
	Fn *f = build_end(b, 5, results);
	t->b = NULL;
	CHECK(count_op(f, OP_FOR) == 3 && count_op(f, OP_WHILE) == 1);
	fn_unref(f);
}

/* ---- calls --------------------------------------------------------------- */

/* (x: f64[n], y: f64[n], z: bool[n - 1]) -> (f64[n + 1], i64[k], i64[k]), where
 * k is known only at run time. */
static Fn *make_callee(T *t) {
	Builder *b = build_begin(t->c, atom(t->c, "callee"), 0, NULL);
	Dim n = build_fresh_dim(b, atom(t->c, "n"), 0), k = build_fresh_dim(b, atom(t->c, "k"), 0);
	Ref x = build_param(b, type_tensor(t->c, DT_F64, 1, &n), 0),
		y = build_param(b, type_tensor(t->c, DT_F64, 1, &n), 0);
	Dim less = dim_sub(t->c, n, len(t, 1));
	Ref z = build_param(b, type_tensor(t->c, DT_BOOL, 1, &less), 0);
	Ref sum = build2(b, OP_ADD, x, y);
	int64_t word = k;
	Ref where = build(b, OP_NONZERO, 1, &z, attr_intern(t->c, &word, 1), NULL);
	Ref results[3] = {build(b, OP_PUSH, 2, (Ref[]){sum, build_f64(b, 1)}, 0, NULL), where,
	                  build2(b, OP_ADD, where, where)};
	return build_end(b, 3, results);
}

static void test_calls(T *t) {
	Fn *callee = make_callee(t);
	Builder *b = t->b;
	Dim m = sym(t, "m"), l = sym(t, "l");
	Ref x = param(t, vec(t, DT_F64, m)), y = param(t, vec(t, DT_F64, l));
	Ref z = param(t, vec(t, DT_BOOL, dim_sub(t->c, m, len(t, 1))));
	Ref args[3] = {x, y, z}, out[3], again[3];
	build_call(b, callee, 3, args, out);
	CHECK(count_op(b->fn, OP_GUARD) == 1 && build_same_dim(b, m, l));
	CHECK(ref_type(b->fn, out[0]) == vec(t, DT_F64, dim_add(t->c, build_canon(b, m), len(t, 1))));
	SymId s;
	CHECK(dim_is_sym(t->c, ref_ty(b->fn, out[1])->dims[0], &s) && s > 1);
	CHECK(ref_type(b->fn, out[1]) == ref_type(b->fn, out[2]));
	build_call(b, callee, 3, args, again);
	CHECK(again[1] == out[1]);
	CHECK(callee->refs == 2 && !callee->has_side_effects);
	/* Polynomials are solved for a symbol that never occurs alone. */
	Builder *inner = build_begin(t->c, atom(t->c, "tail"), 0, NULL);
	Dim n = build_fresh_dim(inner, 0, 0), less = dim_sub(t->c, n, len(t, 2));
	Ref p = build_param(inner, type_tensor(t->c, DT_F64, 1, &less), 0);
	Ref zeros = build2(inner, OP_ADD, build_zeros(inner, type_tensor(t->c, DT_F64, 1, &less)), p);
	Fn *tail = build_end(inner, 1, &zeros);
	build_call(b, tail, 1, &x, &again[0]);
	CHECK(build_same_type(b, ref_type(b->fn, again[0]), ref_type(b->fn, x)));
	Ref results[2] = {out[0], out[2]};
	Fn *f = build_end(b, 2, results);
	t->b = NULL;
	/* The unused call of `tail` stays, because n - 2 may be negative in it. */
	CHECK(count_op(f, OP_CALL) == 2 && tail->may_fail && tail->refs == 2 && callee->refs == 2);
	fn_unref(tail);
	FnId id = callee->id;
	fn_unref(callee);
	CHECK(fn_get(t->c, id) != NULL);
	fn_unref(f);
	CHECK(fn_get(t->c, id) == NULL);
}

/* ---- dead code ----------------------------------------------------------- */

static void test_dead_code(T *t) {
	Builder *b = t->b;
	Dim n = sym(t, "n"), k = sym(t, "k"), j = sym(t, "j");
	Ref x = param(t, vec(t, DT_F64, n)), mask = param(t, vec(t, DT_BOOL, n)),
		count = param(t, num(t, DT_I64));
	build1(b, OP_EXP, x);
	build_gather(b, x, count, 0, 0);
	int64_t word = k;
	build(b, OP_NONZERO, 1, &mask, attr_intern(t->c, &word, 1), NULL);
	word = j;
	build(b, OP_NONZERO, 1, &mask, attr_intern(t->c, &word, 1), NULL);
	Ref message = build_const(b, (Value){.kind = V_NONE});
	/* An unused loop without checks is removed; one with a failure stays. */
	TypeId types[2] = {num(t, DT_I64), num(t, DT_F64)};
	Ref p[2], r1[1], init = build_f64(b, 1), out;
	OpenRegion *r = build_region_begin(b, 2, types, p);
	r1[0] = build1(b, OP_SIN, p[1]);
	build_for(b, count, 1, &init, build_region_end(b, r, 1, r1), &out);
	r = build_region_begin(b, 2, types, p);
	r1[0] = build1(b, OP_COS, p[1]);
	word = E_USER;
	build(b, OP_FAIL, 1, &message, attr_intern(t->c, &word, 1), NULL);
	build_for(b, count, 1, &init, build_region_end(b, r, 1, r1), &out);
	/* Operations that may fail stay even if unused. Those that a derivative or
	 * a transform adds (build_unasked) are removed. */
	const bool asked = build_unasked(b, true);
	build_gather(b, x, build_i64(b, 7), 0, 0);
	build_unasked(b, asked);
	build2(b, OP_FLOORDIV, count, build_i64(b, 2));
	Ref length = build_extent(b, k); /* needs the first nonzero, whose result is unused */
	Ref unused = build_f64(b, 1234);
	build2(b, OP_ADD, out, unused);
	Fn *f = build_end(b, 1, &length);
	t->b = NULL;
	CHECK(!count_op(f, OP_EXP) && count_op(f, OP_GATHER) == 1 && !count_op(f, OP_FLOORDIV) &&
	      count_op(f, OP_NONZERO) == 1);
	CHECK(count_op(f, OP_FOR) == 1 && count_op(f, OP_FAIL) == 1 && count_op(f, OP_COS) == 1 &&
	      !count_op(f, OP_SIN));
	CHECK(f->has_side_effects && f->may_fail && !f->effects);
	bool found = false;
	for (uint32_t i = 0; i < f->consts.n; i++)
		found |= f->consts.at[i].value.kind == V_SCALAR && f->consts.at[i].value.f == 1234;
	CHECK(!found);
	/* Program order: the contents of a region precede its owner. */
	bool ordered = true;
	for (uint32_t i = 0; i < f->insts.n; i++)
		for (uint32_t q = 0; q < f->insts.at[i].nregions; q++)
			ordered = ordered && inst_region(f, &f->insts.at[i], q)->owner == i;
	CHECK(ordered);
	fn_unref(f);
}

/* ---- contracts, state ---------------------------------------------------- */

typedef struct Breach {
	T *t;
	int which;
} Breach;

static void breach(Ctx *c, void *arg) {
	Breach *a = arg;
	Builder *b = build_begin(c, atom(c, "wrong"), 0, NULL);
	Dim n = build_fresh_dim(b, atom(c, "n"), 0), m = build_fresh_dim(b, atom(c, "m"), 0);
	Ref x = build_param(b, type_tensor(c, DT_F64, 1, &n), 0),
		y = build_param(b, type_tensor(c, DT_F64, 1, &m), 0);
	switch (a->which) {
	case 0: build2(b, OP_ADD, x, y); break;
	case 1: build2(b, OP_ADD, x, build_f64(b, 1)); break;
	case 2: build1(b, OP_CONJ, x); break;
	case 3: build_matmul(b, x, y); break;
	case 4: build_reshape(b, x, 1, &m); break;
	case 5: build_reduce(b, OP_REDUCE_SUM, x, 2, (int[]){0, 0}); break;
	case 6: build_transpose(b, x, (int[]){1}); break;
	case 7: build(b, OP_CONCAT, 0, NULL, 0, NULL); break;
	case 8: build1(b, OP_CHOLESKY, x); break;
	case 9: build_gather(b, x, x, 0, 0); break;
	case 10:
		build_region_begin(b, 0, NULL, NULL);
		build_end(b, 0, NULL);
		break;
	default: build_broadcast(b, x, 1, &m, (int[]){0});
	}
}

static void test_contracts(T *t) {
	for (int which = 0; which < 12; which++) {
		Breach a = {.t = t, .which = which};
		uint32_t before = diag_total(t->c), mark = build_mark(t->c);
		CHECK(ctx_protect(t->c, breach, &a) == ST_INTERNAL);
		build_unwind(t->c, mark);
		CHECK(diag_total(t->c) == before + 1 && diag_at(t->c, before)->code == E_INTERNAL);
		if (!which) CHECK(strstr(diag_at(t->c, before)->message, "add(f64[n], f64[m])") != NULL);
		diag_truncate(t->c, before);
	}
}

static Status host_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)c, (void)call, (void)nargs, (void)args, (void)nresults, (void)results;
	return ST_ERROR;
}

static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)call, (void)nargs, (void)cap;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}

static void test_state(T *t) {
	Ctx *c = t->c;
	int64_t words[3] = {2, 7, 9};
	CHECK(attr_intern(c, words, 3) == attr_intern(c, words, 3) &&
	      attr_intern(c, words, 2) != attr_intern(c, words, 3));
	CHECK(!attr_intern(c, NULL, 0));
	Words w = {.n = 0};
	words_ints(&w, 2, (int[]){3, 4});
	words_ints(&w, 2, (int[]){5, 6});
	words_ints(&w, 1, (int[]){7});
	words_ints(&w, 0, NULL);
	AttrId a = attr_intern(c, w.at, w.n);
	uint32_t n;
	CHECK(attr_field(c, OP_DOT, a, 1, &n)[1] == 6 && n == 2);
	CHECK(attr_int(c, OP_DOT, a, 2) == 7 && attr_field(c, OP_DOT, a, 3, &n) && n == 0);
	CHECK(!strcmp(chain_text(c, chain_push(c, chain_push(c, 0, "jvp"), "transpose")),
	              "jvp transpose"));
	CHECK(prim_from_name("tanh") == OP_TANH && prim_from_name("nothing") == OP_NONE);
	CHECK(prims[OP_ADD].traits == (TRAIT_COMMUTES | TRAIT_ASSOCIATES) &&
	      prims[OP_SQRT].kinds == (KIND_R | KIND_C));
	Fn *callee = make_callee(t);
	HostDef def = {.name = "probe", .types = host_types, .eval = host_eval};
	HostId id = host_call_intern(c, &def, 1, &callee, 1, words);
	CHECK(host_call_intern(c, &def, 1, &callee, 1, words) == id && callee->refs == 2);
	CHECK(host_call_intern(c, &def, 1, &callee, 2, words) != id && host_call(c, id)->noptions == 1);
	Ref x = param(t, num(t, DT_F64)), out;
	CHECK(build_host(t->b, id, 1, &x, &out, 1) == 1 && is_op(t, out, OP_HOST));
	Ref twice;
	build_host(t->b, id, 1, &x, &twice, 1);
	CHECK(twice != out);
	fn_unref(callee);
	/* Copied symbols keep their meaning; builders nest. */
	Dim k = sym(t, "k");
	Builder *inner = build_begin(c, atom(c, "inner"), 0, t->b->fn);
	Ref p = build_param(inner, type_tensor(c, DT_F64, 1, &k), 0);
	Fn *f = build_end(inner, 1, &p);
	CHECK(f->syms.at[0].name == atom(c, "k") && fn_get(c, f->id) == f);
	fn_unref(f);
	uint32_t mark = build_mark(c);
	build_begin(c, atom(c, "lost"), 0, NULL);
	build_begin(c, atom(c, "lost"), 0, NULL);
	build_unwind(c, mark);
	CHECK(ir_state(c)->open == t->b);
}

static void test_verbatim(T *t) {
	Builder *b = t->b;
	b->verbatim = true;
	Ref x = param(t, num(t, DT_F64)), zero = build_f64(b, 0);
	Ref sum = build2(b, OP_ADD, zero, x), again = build2(b, OP_ADD, zero, x);
	CHECK(sum != again && arg_of(t, sum, 0) == zero);
	Fn *f = build_end(b, 1, &x);
	t->b = NULL;
	CHECK(f->insts.n == 2);
	fn_unref(f);
}

/* ---- allocation failure -------------------------------------------------- */

static void *counted(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	*(int64_t *)ud += (int64_t)new_bytes - (int64_t)(p ? old_bytes : 0);
	if (new_bytes) return realloc(p, new_bytes);
	free(p);
	return NULL;
}

/* Each allocation fails once: nothing leaks, and the only status is
 * ST_NOMEM. */
static void starve(void (*test)(T *t)) {
	for (uint64_t n = 1; n < 4000; n++) {
		int64_t used = 0;
		Ctx *c = ctx_new(&(HostAllocator){.resize = counted, .ud = &used});
		heap_fail_at(c, n, false);
		uint64_t before = heap_allocation_count(c);
		Job j = {.test = test};
		check_pause(true); /* the test's own checks */
		Status s = ctx_protect(c, job_body, &j);
		check_pause(false);
		bool reached = heap_allocation_count(c) - before >= n;
		heap_fail_at(c, 0, false);
		ctx_free(c);
		bool good = used == 0 && s == (reached ? ST_NOMEM : ST_OK);
		CHECK_MSG(good, "allocation %llu: status %d, %lld bytes left", (unsigned long long)n,
		          (int)s, (long long)used);
		if (!reached || !good) break;
	}
}

int main(void) {
	void (*const tests[])(T * t) = {test_constants, test_folding, test_sharing,   test_branches,
	                                test_loops,     test_calls,   test_dead_code, test_contracts,
	                                test_state,     test_verbatim};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) run(tests[i]);
	starve(test_folding);
	starve(test_loops);
	starve(test_calls);
	return check_end();
}
