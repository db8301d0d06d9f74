/* test_builder.c - unit tests of the builder.
 *
 * Covers folding, value numbering, extents, calls, loops, dead-code elimination
 * and rewrite rules.
 *
 * Needs: lang/ only.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "lang/builder/internal.h"
#include "tests/unit/support/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct T { /* the state of one test */
	Ctx *c;
	Builder *b;
} T;

/* ---- shorthands ---------------------------------------------------------- */

static TypeId vec(T *t, Dtype d, Dim n) { return type_tensor(t->c, d, 1, &n); }

static TypeId mat(T *t, Dtype d, Dim n, Dim m) { return type_tensor(t->c, d, 2, (Dim[]){n, m}); }

static TypeId num(T *t, Dtype d) { return type_scalar(t->c, d); }

static Dim len(T *t, int64_t v) { return dim_const(t->c, v); }

static Dim sym(T *t, const char *name) { return build_fresh_dim(t->b, atom(t->c, name), 0); }

static Ref param(T *t, TypeId type) { return build_param(t->b, type, 0); }

static bool is_f64(T *t, Ref r, double x) {
	Value v;
	return ref_splat(t->b->fn, r, &v) && v.dtype == DT_F64 && v.f == x;
}

static bool is_i64(T *t, Ref r, int64_t x) {
	Value v;
	return ref_splat(t->b->fn, r, &v) && v.dtype == DT_I64 && v.i == x;
}

static bool is_op(T *t, Ref r, Op op) {
	const Inst *in = ref_inst(t->b->fn, r);
	return in && in->op == op;
}

static Ref arg_of(T *t, Ref r, uint32_t k) { return inst_arg(t->b->fn, ref_inst(t->b->fn, r), k); }

static uint32_t count_op(const Fn *f, Op op) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->insts.n; i++) n += f->insts.at[i].op == op;
	return n;
}

static Ref ints(T *t, uint32_t n, const int64_t *x) {
	Tensor *v = tensor_new(t->c, DT_I64, 1, (int64_t[]){n});
	if (!v) ctx_throw(t->c, ST_NOMEM);
	memcpy(v->data, x, n * sizeof *x);
	t->b->pending = v; /* freed with the builder when the next line throws */
	Ref r = build_const(t->b, (Value){.kind = V_TENSOR, .tensor = v});
	t->b->pending = NULL;
	tensor_unref(v);
	return r;
}

static bool holds_ints(T *t, Ref r, uint32_t n, const int64_t *x) {
	const Const *k = ref_constant(t->b->fn, r);
	return k && k->value.kind == V_TENSOR && k->value.tensor->dtype == DT_I64 &&
	       k->value.tensor->count == n && !memcmp(k->value.tensor->data, x, n * sizeof *x);
}

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

/* ---- extents ------------------------------------------------------------- */

static void test_lengths(T *t) {
	Builder *b = t->b;
	Atom what = atom(t->c, "x + y");
	Dim n = sym(t, "n"), m = sym(t, "m"), k = sym(t, "k");
	Ref x = param(t, vec(t, DT_F64, n)), y = param(t, vec(t, DT_F64, m)),
		z = param(t, vec(t, DT_F64, k));
	Ref c = param(t, num(t, DT_BOOL)), i = param(t, num(t, DT_I64));
	CHECK(!build_unify(b, len(t, 2), len(t, 3), what));
	CHECK(!build_unify(b, n, dim_add(t->c, n, len(t, 1)), what));
	CHECK(build_unify(b, n, n, what) && !count_op(b->fn, OP_GUARD));
	/* An equality assumed inside a region holds until its end. */
	OpenRegion *r = build_region_begin(b, 0, NULL, NULL);
	CHECK(build_unify(b, m, n, what) && count_op(b->fn, OP_GUARD) == 1);
	CHECK(build_canon(b, m) == n && build_canon(b, n) == n);
	CHECK(build_unify(b, n, m, what) && count_op(b->fn, OP_GUARD) == 1);
	CHECK(build_same_type(b, ref_type(b->fn, x), ref_type(b->fn, y)));
	Ref sum = build2(b, OP_ADD, x, y);
	CHECK(ref_type(b->fn, sum) == vec(t, DT_F64, n));
	OpenRegion *deeper = build_region_begin(b, 0, NULL, NULL);
	CHECK(build_unify(b, n, len(t, 20), what));
	CHECK(build_canon(b, m) == len(t, 20) && build_canon(b, n) == len(t, 20));
	CHECK(is_i64(t, build_extent(b, m), 20));
	CHECK(!build_unify(b, m, len(t, 21), what));
	build_region_end(b, deeper, 0, NULL);
	CHECK(build_canon(b, m) == n && build_canon(b, n) == n);
	Ref total = build_reduce(b, OP_REDUCE_SUM, sum, 1, (int[]){0});
	RegionId then_region = build_region_end(b, r, 1, &total);
	CHECK(build_canon(b, m) == m);
	r = build_region_begin(b, 0, NULL, NULL);
	Ref zero = build_f64(b, 0);
	build_if(b, c, then_region, build_region_end(b, r, 1, &zero), &total);
	/* Polynomials. */
	CHECK(build_unify(b, k, dim_add(t->c, n, m), what));
	CHECK(build_canon(b, k) == dim_add(t->c, n, m));
	CHECK(build_same_type(b, ref_type(b->fn, build_concat(b, 2, (Ref[]){x, y}, 0)),
	                      ref_type(b->fn, z)));
	Dim nm = dim_mul(t->c, n, m), n2 = dim_mul(t->c, n, n);
	CHECK(build_unify(b, nm, n2, what) && build_same_dim(b, nm, n2));
	OpenRegion *whole = build_region_begin(b, 0, NULL, NULL);
	Dim p = sym(t, "p"), q = sym(t, "q"), v = sym(t, "v"), w = sym(t, "w");
	dims_assume(b, dim_mul(t->c, p, q), dim_mul(t->c, v, w)); /* no symbol can be solved for */
	CHECK(build_same_dim(b, dim_mul(t->c, p, q), dim_mul(t->c, v, w)));
	dims_assume(b, p, len(t, 50));
	CHECK(build_same_dim(b, dim_mul(t->c, q, len(t, 50)), dim_mul(t->c, v, w)));
	build_region_end(b, whole, 0, NULL);
	CHECK(!build_same_dim(b, dim_mul(t->c, p, q), dim_mul(t->c, v, w)));
	/* Consequences of an equality do not depend on the order of its sides. The
	 * example is rows in steps of seven without the first step. */
	for (int turned = 0; turned < 2; turned++) {
		whole = build_region_begin(b, 0, NULL, NULL);
		Dim steps = dim_floordiv(t->c, dim_add(t->c, p, len(t, 6)), 7),
			seven = dim_mul(t->c, steps, len(t, 7));
		Dim all = dim_sub(t->c, p, len(t, 1)), rows = dim_sub(t->c, seven, len(t, 7));
		dims_assume(b, turned ? all : rows, turned ? rows : all);
		CHECK(build_same_dim(b, rows, all) &&
		      build_same_dim(b, dim_sub(t->c, seven, len(t, 6)), p));
		CHECK(build_same_dim(
			b, dim_sub(t->c, q, dim_mul(t->c, seven, len(t, 2))),
			dim_sub(t->c, q, dim_mul(t->c, dim_add(t->c, p, len(t, 6)), len(t, 2)))));
		CHECK(!build_same_dim(b, steps, p) && !build_same_dim(b, seven, p));
		CHECK(build_canon(b, build_canon(b, seven)) == build_canon(b, seven) &&
		      build_canon(b, steps) == steps);
		build_region_end(b, whole, 0, NULL);
	}
	whole = build_region_begin(b, 0, NULL, NULL);
	Dim half = dim_floordiv(t->c, p, 2);
	dims_assume(b, dim_sub(t->c, p, half), half);
	CHECK(build_same_dim(b, dim_sub(t->c, p, half), half) &&
	      build_same_dim(b, dim_mul(t->c, half, len(t, 2)), p));
	build_region_end(b, whole, 0, NULL);
	/* An equality must not make the extent of an existing value negative. It
	 * may in another region. */
	whole = build_region_begin(b, 0, NULL, NULL);
	Dim past = dim_sub(t->c, p, len(t, 2)), first = len(t, 2);
	Ref line = build_iota(b, DT_F64, p);
	build_slice(b, line, &first, &past, NULL);
	CHECK(!build_unify(b, p, dim_mul(t->c, p, len(t, 2)), what) &&
	      !build_unify(b, p, len(t, 1), what) && build_canon(b, p) == p);
	CHECK(build_unify(b, p, len(t, 2), what) && build_canon(b, past) == len(t, 0));
	build_region_end(b, whole, 0, NULL);
	whole = build_region_begin(b, 0, NULL, NULL);
	CHECK(build_unify(b, p, len(t, 1), what) && build_canon(b, p) == len(t, 1));
	build_region_end(b, whole, 0, NULL);
	/* The same holds for a value in a loop body, if the loop certainly runs. A
	 * loop that may have no iteration does not restrict the equality. */
	for (int sure = 0; sure < 2; sure++) {
		whole = build_region_begin(b, 0, NULL, NULL);
		TypeId loop[2] = {num(t, DT_I64), num(t, DT_F64)};
		Ref carried[2], start = build_f64(b, 0), end;
		OpenRegion *body = build_region_begin(b, 2, loop, carried);
		Ref sum = build_reduce(b, OP_REDUCE_SUM,
		                       build_slice(b, build_iota(b, DT_F64, p), &first, &past, NULL), 1,
		                       (int[]){0});
		sum = build2(b, OP_ADD, sum, carried[1]);
		build_for(b, sure ? build_i64(b, 3) : i, 1, &start, build_region_end(b, body, 1, &sum),
		          &end);
		CHECK(build_unify(b, p, dim_mul(t->c, p, len(t, 2)), what) == !sure);
		build_region_end(b, whole, 0, NULL);
	}
	/* No equality makes an extent negative. */
	whole = build_region_begin(b, 0, NULL, NULL);
	uint32_t guards = count_op(b->fn, OP_GUARD);
	Dim odd = dim_add(t->c, dim_mul(t->c, p, len(t, 2)), len(t, 1));
	CHECK(!build_unify(b, odd, p, what) && !build_unify(b, p, odd, what) && build_canon(b, p) == p);
	CHECK(!build_unify(b, dim_mul(t->c, odd, q), dim_sub(t->c, len(t, -3), v), what));
	CHECK(count_op(b->fn, OP_GUARD) == guards &&
	      build_unify(b, q, dim_sub(t->c, p, len(t, 5)), what));
	CHECK(!build_unify(b, q, len(t, -2), what) && !build_unify(b, p, len(t, 3), what));
	CHECK(build_canon(b, q) == dim_sub(t->c, p, len(t, 5)));
	CHECK(build_unify(b, p, len(t, 7), what) && build_canon(b, q) == len(t, 2));
	build_region_end(b, whole, 0, NULL);
	/* Extents of scalars. */
	Ref e = build_extent(b, n);
	CHECK(build_dim_of(b, e, 0) == n);
	Ref twice = build2(b, OP_MUL, build_i64(b, 2), e);
	CHECK(build_dim_of(b, build2(b, OP_ADD, twice, build_i64(b, 1)), 0) ==
	      dim_add(t->c, dim_mul(t->c, n, len(t, 2)), len(t, 1)));
	CHECK(build_dim_of(b, build2(b, OP_SUB, e, build_i64(b, 2)), 0) == dim_sub(t->c, n, len(t, 2)));
	CHECK(build_dim_of(b, build2(b, OP_FLOORDIV, e, build_i64(b, 2)), 0) ==
	      dim_floordiv(t->c, n, 2));
	CHECK(build_dim_of(b, build_i64(b, 40), 0) == len(t, 40));
	Dim d = build_dim_of(b, i, atom(t->c, "d"));
	SymId s;
	CHECK(dim_is_sym(t->c, d, &s) && build_dim_of(b, i, 0) == d && count_op(b->fn, OP_BIND) == 1);
	CHECK(build_dim_of(b, build2(b, OP_ADD, i, build_i64(b, 1)), 0) == dim_add(t->c, d, len(t, 1)));
	/* A bind of a known extent is a definition. */
	Dim known = sym(t, "known");
	int64_t word = known;
	build(b, OP_BIND, 1, &e, attr_intern(t->c, &word, 1), NULL);
	CHECK(build_canon(b, known) == n && count_op(b->fn, OP_BIND) == 1);
	CHECK(ref_type(b->fn, build_iota(b, DT_I64, known)) == vec(t, DT_I64, n));
	Fn *f = build_end(b, 1, &total);
	t->b = NULL;
	CHECK(f->finished && count_op(f, OP_GUARD) == 3 && count_op(f, OP_BIND) == 1);
	fn_unref(f);
}

/* Random equalities that hold for chosen values of the symbols, in any order.
 * The canonical form of every extent has the same value for these symbols,
 * constants stay as they are, and both sides become equal. */
static uint64_t next_random(uint64_t *state) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}
static Dim random_length(T *t, const Dim *syms, uint32_t nsyms, uint64_t *state) {
	Dim d = len(t, 1 + (int64_t)(next_random(state) % 3));
	for (uint64_t i = next_random(state) % 4; i > 0; i--)
		d = dim_mul(t->c, d, syms[next_random(state) % nsyms]);
	return d;
}
static int64_t value_there(T *t, Dim d, const int64_t *lengths, uint32_t n) {
	int64_t v = -1;
	CHECK(dim_eval(t->c, d, lengths, n, &v));
	return v;
}
static void test_equalities(T *t) {
	enum { SYMS = 6, LENGTHS = 60, MANY = 200 };
	Builder *b = t->b;
	Dim syms[SYMS];
	int64_t lengths[SYMS];
	SymId first;
	for (uint32_t i = 0; i < SYMS; i++) {
		syms[i] = sym(t, "s");
		param(t, vec(t, DT_F64, syms[i]));
	}
	CHECK(dim_is_sym(t->c, syms[0], &first) && first == 0);
	uint64_t state = 7;
	for (uint32_t round = 0; round < MANY; round++) {
		OpenRegion *r = build_region_begin(b, 0, NULL, NULL);
		for (uint32_t i = 0; i < SYMS; i++) lengths[i] = 2 + (int64_t)(next_random(&state) % 3);
		Dim all[LENGTHS];
		for (uint32_t i = 0; i < LENGTHS; i++) all[i] = random_length(t, syms, SYMS, &state);
		for (uint32_t i = 0; i < LENGTHS; i++) { /* pairs that are equal for these values */
			const uint32_t j = (uint32_t)(next_random(&state) % LENGTHS);
			const int64_t x = value_there(t, all[i], lengths, SYMS),
						  y = value_there(t, all[j], lengths, SYMS);
			dims_assume(b, all[i], x == y ? all[j] : len(t, x));
			CHECK(build_same_dim(b, all[i], x == y ? all[j] : len(t, x)));
			if (next_random(&state) % 12 == 0) break;
		}
		for (uint32_t i = 0; i < LENGTHS; i++) {
			const Dim d = build_canon(b, all[i]);
			CHECK(value_there(t, d, lengths, SYMS) == value_there(t, all[i], lengths, SYMS) &&
			      build_canon(b, d) == d);
		}
		for (uint32_t i = 1; i < 100; i++) CHECK(build_canon(b, len(t, i)) == len(t, i));
		build_region_end(b, r, 0, NULL);
	}
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

/* ---- rules --------------------------------------------------------------- */

static void test_number_rules(T *t) {
	Builder *b = t->b;
	Ref x = param(t, num(t, DT_F64)), y = param(t, num(t, DT_F64)), i = param(t, num(t, DT_I64)),
		c = param(t, num(t, DT_BOOL));
	Ref z = param(t, num(t, DT_C128)), h = param(t, num(t, DT_F32));
	Ref zero = build_f64(b, 0), one = build_f64(b, 1), neg_x = build1(b, OP_NEG, x);
	CHECK(build2(b, OP_ADD, x, zero) == x && build2(b, OP_ADD, zero, x) == x &&
	      rule_hits(b, "add_zero") == 2);
	CHECK(build2(b, OP_SUB, x, zero) == x && build2(b, OP_MUL, x, one) == x &&
	      build2(b, OP_DIV, x, one) == x);
	CHECK(is_op(t, build2(b, OP_MUL, x, zero), OP_MUL));
	CHECK(is_i64(t, build2(b, OP_MUL, i, build_i64(b, 0)), 0));
	CHECK(build2(b, OP_SUB, zero, x) == neg_x && build1(b, OP_NEG, neg_x) == x);
	CHECK(build2(b, OP_ADD, y, neg_x) == build2(b, OP_SUB, y, x));
	CHECK(build2(b, OP_SUB, y, neg_x) == build2(b, OP_ADD, x, y));
	CHECK(build2(b, OP_MUL, x, build_f64(b, -1)) == neg_x);
	CHECK(build2(b, OP_MUL, neg_x, y) == build1(b, OP_NEG, build2(b, OP_MUL, x, y)));
	CHECK(build2(b, OP_DIV, y, neg_x) == build1(b, OP_NEG, build2(b, OP_DIV, y, x)));
	CHECK(build2(b, OP_MUL, neg_x, build_f64(b, 3)) == build2(b, OP_MUL, x, build_f64(b, -3)));
	CHECK(build1(b, OP_NEG, build2(b, OP_MUL, x, build_f64(b, 3))) ==
	      build2(b, OP_MUL, x, build_f64(b, -3)));
	CHECK(build2(b, OP_DIV, x, build_f64(b, 4)) == build2(b, OP_MUL, x, build_f64(b, 0.25)));
	CHECK(is_op(t, build2(b, OP_DIV, x, build_f64(b, 3)), OP_DIV));
	Ref square = build2(b, OP_MUL, x, x);
	CHECK(is_f64(t, build2(b, OP_POW, x, zero), 1) && build2(b, OP_POW, x, one) == x);
	CHECK(build2(b, OP_POW, x, build_f64(b, 2)) == square);
	CHECK(build2(b, OP_POW, x, build_f64(b, 3)) == build2(b, OP_MUL, square, x));
	CHECK(build2(b, OP_POW, x, build_f64(b, 4)) == build2(b, OP_MUL, square, square));
	CHECK(build2(b, OP_POW, x, build_f64(b, -1)) == build2(b, OP_DIV, one, x));
	CHECK(is_op(t, build2(b, OP_POW, x, build_f64(b, 0.5)), OP_POW));
	CHECK(is_op(t, build2(b, OP_POW, i, build_i64(b, -1)), OP_POW));
	Ref i3 = build2(b, OP_SUB, build2(b, OP_ADD, i, build_i64(b, 5)), build_i64(b, 2));
	CHECK(i3 == build2(b, OP_ADD, i, build_i64(b, 3)) && is_i64(t, build2(b, OP_SUB, i, i), 0));
	CHECK(build2(b, OP_MUL, build2(b, OP_MUL, i, build_i64(b, 5)), build_i64(b, 2)) ==
	      build2(b, OP_MUL, i, build_i64(b, 10)));
	CHECK(build2(b, OP_FLOORDIV, i, build_i64(b, 1)) == i &&
	      is_i64(t, build2(b, OP_MOD, i, build_i64(b, 1)), 0));
	CHECK(build2(b, OP_MAX, x, x) == x && build2(b, OP_MAX, c, build_bool(b, false)) == c);
	CHECK(build2(b, OP_MIN, c, build_bool(b, false)) == build_bool(b, false));
	CHECK(build2(b, OP_EQ, i, i) == build_bool(b, true) && is_op(t, build2(b, OP_EQ, x, x), OP_EQ));
	CHECK(build2(b, OP_LT, x, x) == build_bool(b, false) &&
	      build2(b, OP_LE, i, i) == build_bool(b, true));
	Ref not_c = build2(b, OP_EQ, c, build_bool(b, false));
	CHECK(build2(b, OP_EQ, not_c, build_bool(b, false)) == c &&
	      build2(b, OP_EQ, c, build_bool(b, true)) == c);
	CHECK(build_select(b, c, x, x) == x &&
	      build_select(b, not_c, x, y) == build_select(b, c, y, x));
	CHECK(build_select(b, c, build_bool(b, true), build_bool(b, false)) == c);
	CHECK(build1(b, OP_CONJ, build1(b, OP_CONJ, z)) == z);
	CHECK(build1(b, OP_REAL, build_convert(b, x, DT_C128)) == x);
	CHECK(is_f64(t, build1(b, OP_IMAG, build_convert(b, x, DT_C128)), 0));
	CHECK(build_convert(b, x, DT_F64) == x);
	CHECK(build_convert(b, build_convert(b, c, DT_I64), DT_F64) == build_convert(b, c, DT_F64));
	CHECK(build_convert(b, build_convert(b, h, DT_F64), DT_F32) == h);
	CHECK(
		is_op(t, arg_of(t, build_convert(b, build_convert(b, x, DT_F32), DT_F64), 0), OP_CONVERT));
	CHECK(build1(b, OP_ABS, neg_x) == build1(b, OP_ABS, x));
}

static void test_shape_rules(T *t) {
	Builder *b = t->b;
	Ctx *c = t->c;
	Dim n = sym(t, "n"), m = sym(t, "m"), nm = dim_mul(c, n, m), zero = len(t, 0);
	TypeId tnm = mat(t, DT_F64, n, m);
	Ref x = param(t, tnm), v = param(t, vec(t, DT_F64, m)), s = param(t, num(t, DT_F64)),
		u = param(t, vec(t, DT_F64, m));
	int swap[2] = {1, 0};
	CHECK(build_transpose(b, build_transpose(b, x, swap), swap) == x &&
	      build_transpose(b, x, (int[]){0, 1}) == x);
	CHECK(build_reshape(b, build_reshape(b, x, 1, &nm), 2, (Dim[]){n, m}) == x);
	Ref bs = build_broadcast_scalar(b, s, tnm);
	CHECK(build_transpose(b, bs, swap) == build_broadcast_scalar(b, s, mat(t, DT_F64, m, n)));
	CHECK(build_reshape(b, bs, 1, &nm) == build_broadcast_scalar(b, s, vec(t, DT_F64, nm)));
	Ref bv = build_broadcast(b, v, 2, (Dim[]){n, m}, (int[]){1}),
		bu = build_broadcast(b, u, 2, (Dim[]){n, m}, (int[]){1});
	Ref first = build_broadcast(b, v, 2, (Dim[]){m, n}, (int[]){0});
	CHECK(build_transpose(b, bv, swap) == first);
	CHECK(build_broadcast(b, build_broadcast_scalar(b, s, vec(t, DT_F64, m)), 2, (Dim[]){n, m},
	                      (int[]){1}) == bs);
	/* Computation precedes copying. */
	CHECK(build1(b, OP_EXP, bv) ==
	      build_broadcast(b, build1(b, OP_EXP, v), 2, (Dim[]){n, m}, (int[]){1}));
	CHECK(build2(b, OP_ADD, bv, bu) ==
	      build_broadcast(b, build2(b, OP_ADD, v, u), 2, (Dim[]){n, m}, (int[]){1}));
	Ref scaled = build2(b, OP_MUL, bv, bs);
	CHECK(is_op(t, scaled, OP_BROADCAST) && is_op(t, arg_of(t, scaled, 0), OP_MUL));
	CHECK(is_op(t, build2(b, OP_ADD, bs, bs), OP_BROADCAST) &&
	      is_op(t, build2(b, OP_MUL, x, bs), OP_MUL));
	/* Slices. */
	Dim two = len(t, 2), less = dim_sub(c, n, two), less4 = dim_sub(c, n, len(t, 4)),
		start[2] = {two, zero};
	CHECK(build_slice(b, x, (Dim[]){zero, zero}, (Dim[]){n, m}, NULL) == x);
	CHECK(build_pad(b, x, (Dim[]){zero, zero}, (Dim[]){n, m}, NULL) == x);
	Ref tail = build_slice(b, x, start, (Dim[]){less, m}, NULL);
	CHECK(build_slice(b, tail, start, (Dim[]){less4, m}, NULL) ==
	      build_slice(b, x, (Dim[]){len(t, 4), zero}, (Dim[]){less4, m}, NULL));
	CHECK(build_slice(b, bs, start, (Dim[]){less, m}, NULL) ==
	      build_broadcast_scalar(b, s, mat(t, DT_F64, less, m)));
	CHECK(build_slice(b, bv, start, (Dim[]){less, m}, NULL) ==
	      build_broadcast(b, v, 2, (Dim[]){less, m}, (int[]){1}));
	Ref joined = build_concat(b, 2, (Ref[]){x, tail}, 0);
	CHECK(build_slice(b, joined, (Dim[]){n, zero}, (Dim[]){less, m}, NULL) == tail);
	CHECK(build_concat(b, 1, &x, 0) == x);
	CHECK(build_concat(b, 2, (Ref[]){x, build_zeros(b, mat(t, DT_F64, zero, m))}, 0) == x);
	CHECK(is_f64(t, build_pad(b, build_zeros(b, tnm), start, (Dim[]){dim_add(c, n, two), m}, NULL),
	             0));
	/* Updates of a box. */
	Dim one = len(t, 1), six = dim_sub(c, n, len(t, 6)), four[2] = {len(t, 4), zero};
	Ref own = build_slice(b, x, start, (Dim[]){less4, m}, NULL), part = build1(b, OP_SIN, own),
		w = build_update(b, x, part, start, NULL);
	CHECK(is_op(t, w, OP_UPDATE) && build_slice(b, w, start, (Dim[]){less4, m}, NULL) == part);
	CHECK(build_slice(b, w, (Dim[]){zero, zero}, (Dim[]){two, m}, NULL) ==
	      build_slice(b, x, (Dim[]){zero, zero}, (Dim[]){two, m}, NULL));
	CHECK(build_slice(b, w, (Dim[]){dim_sub(c, n, one), zero}, (Dim[]){one, m}, NULL) ==
	      build_slice(b, x, (Dim[]){dim_sub(c, n, one), zero}, (Dim[]){one, m}, NULL));
	CHECK(build_slice(b, w, four, (Dim[]){six, m}, NULL) ==
	      build_slice(b, part, start, (Dim[]){six, m}, NULL));
	/* Two rows more than the box. */
	CHECK(arg_of(t, build_slice(b, w, start, (Dim[]){less, m}, NULL), 0) == w);
	CHECK(rule_hits(b, "slice_update") == 4);
	CHECK(build_update(b, x, own, start, NULL) == x && build_update(b, w, own, start, NULL) == x &&
	      build_update(b, x, bs, (Dim[]){zero, zero}, NULL) == bs);
	CHECK(build_update(b, x, build_zeros(b, mat(t, DT_F64, zero, m)), start, NULL) == x);
	CHECK(arg_of(t, build_update(b, w, build_zeros(b, mat(t, DT_F64, less4, m)), start, NULL), 0) ==
	      x);
	CHECK(arg_of(t, build_update(b, w, part, four, NULL), 0) == w);
	/* Reductions. */
	CHECK(build_reduce(b, OP_REDUCE_SUM, x, 0, NULL) == x);
	Ref total = build_reduce(b, OP_REDUCE_SUM, x, 2, (int[]){1, 0});
	CHECK(build_reduce(b, OP_REDUCE_SUM, build_reduce(b, OP_REDUCE_SUM, x, 1, (int[]){0}), 1,
	                   (int[]){0}) == total);
	Ref times = build_convert(b, build_extent(b, n), DT_F64);
	CHECK(build_reduce(b, OP_REDUCE_SUM, bv, 1, (int[]){0}) ==
	      build2(b, OP_MUL, v, build_broadcast_scalar(b, times, ref_type(b->fn, v))));
	CHECK(build_reduce(b, OP_REDUCE_SUM, bv, 2, (int[]){0, 1}) ==
	      build2(b, OP_MUL, build_reduce(b, OP_REDUCE_SUM, v, 1, (int[]){0}), times));
	Ref ones = build_full(b, mat(t, DT_F64, len(t, 3), len(t, 5)), 1);
	CHECK(is_f64(t, build_reduce(b, OP_REDUCE_SUM, ones, 2, (int[]){0, 1}), 15));
	Ref unit = build_reshape(b, v, 2, (Dim[]){len(t, 1), m});
	CHECK(build_reduce(b, OP_REDUCE_MAX, unit, 1, (int[]){0}) == v);
	/* Unboxing a value that was boxed unchanged gives the value itself and its
	 * extents. */
	Dim fresh = sym(t, "fresh");
	int64_t word = vec(t, DT_F64, fresh);
	Ref boxed = build(b, OP_BOX, 2, (Ref[]){build_const(b, (Value){.kind = V_UNSET}), v}, 0, NULL);
	CHECK(build(b, OP_UNBOX, 1, &boxed, attr_intern(c, &word, 1), NULL) == v &&
	      build_canon(b, fresh) == m);
}

/* Axes made by a broadcast are added as late as possible. */
static void test_broadcast_rules(T *t) {
	Builder *b = t->b;
	Ctx *c = t->c;
	Dim n = sym(t, "n"), m = sym(t, "m"), k = sym(t, "k"), two = len(t, 2), one = len(t, 1),
		left[] = {n, two, k}, right[] = {n, m, k};
	Ref x = param(t, mat(t, DT_F64, n, m)), w = param(t, mat(t, DT_F64, m, k)),
		a = param(t, vec(t, DT_F64, n)), z = param(t, mat(t, DT_F64, two, k));
	Ref y = param(t, type_tensor(c, DT_F64, 3, left)),
		y2 = param(t, type_tensor(c, DT_F64, 3, right));
	Ref bx = build_broadcast(b, x, 3, (Dim[]){n, two, m}, (int[]){0, 2}),
		first = build_broadcast(b, x, 3, (Dim[]){two, n, m}, (int[]){1, 2});
	/* Free axes of the first operand, of the second, and with a batch axis. */
	Ref xw = build_dot(b, x, w, 1, (int[]){1}, (int[]){0}, 0, NULL, NULL),
		wx = build_dot(b, w, x, 1, (int[]){0}, (int[]){1}, 0, NULL, NULL);
	Ref each = build_dot(b, x, y2, 1, (int[]){1}, (int[]){1}, 1, (int[]){0}, (int[]){0});
	CHECK(build_dot(b, bx, w, 1, (int[]){2}, (int[]){0}, 0, NULL, NULL) ==
	      build_broadcast(b, xw, 3, left, (int[]){0, 2}));
	CHECK(build_dot(b, w, bx, 1, (int[]){0}, (int[]){2}, 0, NULL, NULL) ==
	      build_broadcast(b, wx, 3, (Dim[]){k, n, two}, (int[]){0, 1}));
	CHECK(build_dot(b, first, y2, 1, (int[]){2}, (int[]){1}, 1, (int[]){1}, (int[]){0}) ==
	      build_broadcast(b, each, 3, left, (int[]){0, 2}));
	CHECK(rule_hits(b, "dot_of_broadcast") == 3);
	/* Contracted axes, while at least one other remains. */
	Ref sum = build_reduce(b, OP_REDUCE_SUM, y, 1, (int[]){1});
	CHECK(build_dot(b, bx, y, 2, (int[]){0, 1}, (int[]){0, 1}, 0, NULL, NULL) ==
	      build_dot(b, x, sum, 1, (int[]){0}, (int[]){0}, 0, NULL, NULL));
	CHECK(build_dot(b, y, first, 2, (int[]){1, 0}, (int[]){0, 1}, 0, NULL, NULL) ==
	      build_dot(b, sum, x, 1, (int[]){0}, (int[]){0}, 0, NULL, NULL));
	CHECK(rule_hits(b, "dot_along_broadcast") == 2);
	CHECK(is_op(t, build_dot(b, bx, z, 1, (int[]){1}, (int[]){0}, 0, NULL, NULL), OP_DOT));
	/* Two broadcasts with a common axis; unit axes. */
	Ref ba = build_broadcast(b, a, 3, (Dim[]){n, two, m}, (int[]){0}),
		spread = build_broadcast(b, a, 2, (Dim[]){n, m}, (int[]){0});
	CHECK(build2(b, OP_MUL, ba, bx) ==
	      build_broadcast(b, build2(b, OP_MUL, spread, x), 3, (Dim[]){n, two, m}, (int[]){0, 2}));
	CHECK(build_reshape(b, bx, 4, (Dim[]){n, two, one, m}) ==
	      build_broadcast(b, x, 4, (Dim[]){n, two, one, m}, (int[]){0, 3}));
	Ref column = build_reshape(b, a, 2, (Dim[]){n, one}),
		bc = build_broadcast(b, column, 3, (Dim[]){n, two, one}, (int[]){0, 2});
	CHECK(build_reshape(b, bc, 2, (Dim[]){n, two}) ==
	      build_broadcast(b, a, 2, (Dim[]){n, two}, (int[]){0}));
	CHECK(
		is_op(t, build_reshape(b, bx, 1, (Dim[]){dim_mul(c, dim_mul(c, n, two), m)}), OP_RESHAPE));
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

/* A negative extent is reported as the user's error, whichever operation makes
 * it. */
typedef struct Shorter {
	T *t;
	Fn *f; /* x[n] -> x without its first two rows where c holds, else x */
	int which;
} Shorter;

static void shorter(Ctx *c, void *arg) {
	Shorter *a = arg;
	Builder *b = build_begin(c, atom(c, "short"), 0, NULL);
	Dim one = dim_const(c, 1), minus = dim_const(c, -1);
	Ref x = build_param(b, type_tensor(c, DT_F64, 1, &one), 0), out[2];
	Ref cond = a->which == 3 ? build_bool(b, false) : build_param(b, type_scalar(c, DT_BOOL), 0);
	Dim zero = dim_const(c, 0);
	switch (a->which) {
	case 0: build_call(b, a->f, 2, (Ref[]){cond, x}, out); break;
	case 1: build_inline(b, a->f, (Ref[]){cond, x}, out); break;
	case 2: build_slice(b, x, &zero, &minus, NULL); break;
	case 3: /* the other branch is taken */
		build_inline(b, a->f, (Ref[]){cond, x}, out);
		CHECK(out[0] == x);
		build_abandon(b);
		return;
	default: build_param(b, type_tensor(c, DT_F64, 1, &minus), 0);
	}
}

static void test_negative(T *t) {
	Ctx *c = t->c;
	for (int which = 0; which < 5; which++) {
		Builder *b = build_begin(c, atom(c, "shorter"), 0, NULL);
		Dim n = build_fresh_dim(b, atom(c, "n"), 0), two = dim_const(c, 2),
			less = dim_sub(c, n, two);
		Ref cond = build_param(b, type_scalar(c, DT_BOOL), 0),
			x = build_param(b, type_tensor(c, DT_F64, 1, &n), 0);
		Ref out[2] = {x, REF_NONE};
		if (!which) out[0] = build_slice(b, x, &two, &less, NULL);
		if (which) { /* the `if` hides that its extent is n - 2 */
			OpenRegion *r = build_region_begin(b, 0, NULL, NULL);
			Ref inside = build_slice(b, build1(b, OP_EXP, x), &two, &less, NULL);
			RegionId yes = build_region_end(b, r, 1, &inside);
			r = build_region_begin(b, 0, NULL, NULL);
			build_if(b, cond, yes, build_region_end(b, r, 1, &x), out);
		}
		Shorter a = {.t = t, .which = which};
		a.f = build_end(b, 1, out);
		uint32_t before = diag_total(c), mark = build_mark(c);
		Status st = ctx_protect(c, shorter, &a);
		build_unwind(c, mark);
		CHECK(st == (which == 3 ? ST_OK : ST_ERROR));
		if (which != 3)
			CHECK(diag_total(c) == before + 1 && diag_at(c, before)->code == E_SHAPE &&
			      !strcmp(diag_at(c, before)->message, "a length cannot be negative: -1"));
		diag_truncate(c, before);
		fn_unref(a.f);
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

/* ---- runner -------------------------------------------------------------- */

typedef struct Job {
	void (*test)(T *t);
} Job;

static void job_body(Ctx *c, void *arg) {
	Job *j = arg;
	T t = {.c = c, .b = build_begin(c, atom(c, "test"), 0, NULL)};
	j->test(&t);
	if (t.b) build_abandon(t.b);
}

static void print_text(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

static void run(void (*test)(T *t)) {
	Ctx *c = ctx_new(NULL);
	Job j = {.test = test};
	Status s = ctx_protect(c, job_body, &j);
	if (s != ST_OK || diag_total(c)) {
		CHECK_MSG(false, "a test ended with status %d", (int)s);
		for (uint32_t i = 0; i < diag_total(c); i++)
			diag_render(c, diag_at(c, i), false, print_text, NULL);
	}
	ctx_free(c);
}

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
	void (*const tests[])(T * t) = {
		test_constants,  test_folding,      test_sharing,     test_lengths,
		test_equalities, test_branches,     test_loops,       test_calls,
		test_dead_code,  test_number_rules, test_shape_rules, test_broadcast_rules,
		test_contracts,  test_negative,     test_state,       test_verbatim};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) run(tests[i]);
	starve(test_folding);
	starve(test_loops);
	starve(test_calls);
	return check_end();
}
