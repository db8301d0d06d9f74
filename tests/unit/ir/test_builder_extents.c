/* test_builder_extents.c - unit tests of the builder's extents.
 *
 * Covers equalities and their consequences, negative extents, extents of
 * scalars.
 *
 * Needs: builder_help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/ir/builder_help.h"

/* Consequences of an equality do not depend on the order of its sides. The
 * example is rows in steps of seven without the first step. */
static void check_consequences(T *t, Dim p, Dim q) {
	Builder *b = t->b;
	for (int turned = 0; turned < 2; turned++) {
		OpenRegion *whole = build_region_begin(b, 0, NULL, NULL);
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
	OpenRegion *whole = build_region_begin(b, 0, NULL, NULL);
	Dim half = dim_floordiv(t->c, p, 2);
	dims_assume(b, dim_sub(t->c, p, half), half);
	CHECK(build_same_dim(b, dim_sub(t->c, p, half), half) &&
	      build_same_dim(b, dim_mul(t->c, half, len(t, 2)), p));
	build_region_end(b, whole, 0, NULL);
}

/* An equality must not make the extent of an existing value negative. It may in
 * another region. */
static void check_negative(T *t, Dim p, Dim q, Dim v, Ref i, Atom what) {
	Builder *b = t->b;
	OpenRegion *whole = build_region_begin(b, 0, NULL, NULL);
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
}

/* Extents of scalars. */
static void check_scalars(T *t, Dim n, Ref i) {
	Builder *b = t->b;
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
}

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
	check_consequences(t, p, q);
	check_negative(t, p, q, v, i, what);
	check_scalars(t, n, i);
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

/* ---- negative extents ---------------------------------------------------- */

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

int main(void) {
	void (*const tests[])(T * t) = {test_lengths, test_equalities, test_negative};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) run(tests[i]);
	return check_end();
}
