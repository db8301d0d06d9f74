/* test_eval_limits.c - unit tests of what stops the evaluator.
 *
 * Covers allocation failure, interrupts and budgets, on one thread and on
 * several.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "lang/base/parallel.h"
#include "tests/unit/eval/help.h"

/* A mixture of operations, with failing ones inside try. */
static void make_mixture(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Builder *b = t->b;
	Dim n = build_fresh_dim(b, atom(t->c, "n"), 0);
	Ref a = ev_param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, n})),
		k = ev_param(t, ev_num(t, DT_I64)), r[6], p[2], q;
	Ref at_ = build_transpose(b, a, (int[]){1, 0});
	Ref s = build_matmul(b, a, at_);
	Ref z = build2(b, OP_ADD, build1(b, OP_TANH, at_), s);
	r[0] = build_reduce(b, OP_REDUCE_SUM, z, 1, (int[]){0});
	OpenRegion *o =
		build_region_begin(b, 2, (TypeId[]){ev_num(t, DT_I64), ref_type(build_fn(b), r[0])}, p);
	Ref u = build2(b, OP_ADD, p[1], build_gather(b, a, p[0], 0, 0));
	build_for(b, k, 1, &r[0], build_region_end(b, o, 1, &u), &r[0]);
	build(b, OP_LU, 1, &z, 0, r + 1); /* r[1], r[2] */
	r[2] = build(b, OP_ARGSORT, 1, &r[0], attr_intern(t->c, (int64_t[]){0, 0}, 2), NULL);
	o = build_region_begin(b, 0, NULL, NULL);
	Ref w = build_gather(b, build2(b, OP_MUL, s, s), build_i64(b, 1000000), 0, 0);
	RegionId body = build_region_end(b, o, 1, &w);
	TypeId dyn = type_dyn(t->c);
	o = build_region_begin(b, 1, &dyn, &q);
	w = build_gather(b, s, k, 0, 0);
	RegionId handler = build_region_end(b, o, 1, &w);
	build_try(b, body, handler, &r[3]);
	r[4] = build(b, OP_PUSH, 2, (Ref[]){a, r[3]}, 0, NULL);
	r[5] =
		build(b, OP_FORMAT, 1, &r[0], attr_intern(t->c, (int64_t[]){atom(t->c, "{0}")}, 1), NULL);
	t->f = build_end(b, 6, r);
}

static bool same_results(const Value *a, const Value *b, uint32_t n) {
	bool good = true;
	for (uint32_t k = 0; k < n; k++) good = good && value_identical(a[k], b[k]);
	return good;
}

static void test_allocation_failure(T *t) {
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(30, 30), -1, 1)), value_i64(7)},
		  want[6], r[6];
	if (!ev_build_it(t, make_mixture, NULL)) return;
	CHECK(ev_call(t, args, want) == ST_OK);
	bool good = true;
	for (int forever = 0; forever < 2; forever++) {
		for (uint64_t n = 1; n < 2000; n++) {
			size_t used = heap_used(t->c);
			heap_fail_at(t->c, n, forever);
			Status st = ev_call(t, args, r);
			heap_fail_at(t->c, 0, false);
			if (st == ST_OK) {
				good = good && same_results(want, r, 6) && n > 10;
				ev_drop(r, 6);
				break;
			}
			if (st != ST_NOMEM || !diag_total(t->c) || diag_at(t->c, 0)->code != E_MEMORY)
				printf("allocation %llu: status %d\n", (unsigned long long)n, (int)st),
					ev_show_diags(t);
			good = good && st == ST_NOMEM && r[0].kind == V_UNSET && diag_total(t->c) > 0 &&
			       diag_at(t->c, 0)->code == E_MEMORY;
			diag_clear(t->c);
			if (heap_used(t->c) > used + 4096)
				printf("allocation %llu leaks %zu bytes\n", (unsigned long long)n,
				       heap_used(t->c) - used);
			good = good && heap_used(t->c) <= used + 4096; /* diag.c may keep its grown buffer */
		}
	}
	CHECK(good);
	CHECK(ev_call(t, args, r) == ST_OK && same_results(want, r, 6));
	ev_drop(r, 6);
	/* Preparation may fail as well. */
	fn_unref(t->f);
	Status st = ST_NOMEM;
	for (uint64_t n = 1; st == ST_NOMEM && n < 100 && ev_build_it(t, make_mixture, NULL); n++) {
		size_t used = heap_used(t->c);
		heap_fail_at(t->c, n, false);
		Code *code = code_of(t->c, t->f);
		heap_fail_at(t->c, 0, false);
		st = code ? ST_OK : ST_NOMEM;
		if (!code) CHECK(heap_used(t->c) == used);
		diag_clear(t->c);
		fn_unref(t->f);
	}
	CHECK(st == ST_OK);
	ev_drop(want, 6);
	ev_drop(args, 1);
}

static void test_interrupts(T *t) {
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(60, 60), -1, 1)), value_i64(50)},
		  want[6], r[6];
	if (!ev_build_it(t, make_mixture, NULL)) return;
	CHECK(ev_call(t, args, want) == ST_OK);
	uint64_t n = 1;
	bool good = true;
	for (; n < 10000; n++) {
		size_t used = heap_used(t->c);
		ctx_interrupt_at_poll(t->c, n);
		Status st = ev_call(t, args, r);
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
		if (st == ST_OK) break;
		good = good && st == ST_INTERRUPTED && diag_total(t->c) == 1 &&
		       diag_at(t->c, 0)->code == E_INTERRUPT && heap_used(t->c) <= used + 4096;
		diag_clear(t->c);
	}
	CHECK(good && n > 10 && same_results(want, r, 6));
	ev_drop(r, 6);
	ctx_set_step_limit(t->c, 2000);
	CHECK(ev_failed_with(t, ev_call(t, args, r), ST_LIMIT, E_BUDGET, NULL));
	ctx_set_step_limit(t->c, 0);
	CHECK(ev_call(t, args, r) == ST_OK && same_results(want, r, 6));
	ev_drop(r, 6);
	ev_drop(want, 6);
	ev_drop(args, 1);
	fn_unref(t->f);
}

static void make_endless(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref n = ev_param(t, ev_num(t, DT_I64)), q, r;
	TypeId type = ev_num(t, DT_I64);
	OpenRegion *o = build_region_begin(t->b, 1, &type, &q);
	Ref more = build2(t->b, OP_LE, build_i64(t->b, 0), build2(t->b, OP_MOD, q, build_i64(t->b, 3)));
	RegionId cond = build_region_end(t->b, o, 1, &more);
	o = build_region_begin(t->b, 1, &type, &q);
	Ref next = build2(t->b, OP_ADD, q, n);
	RegionId body = build_region_end(t->b, o, 1, &next);
	build_while(t->b, 1, &n, cond, body, &r);
	t->f = build_end(t->b, 1, &r);
}

static void test_endless(T *t) {
	Value one = value_i64(1), r;
	ctx_set_time_limit(t->c, 0.05);
	CHECK(ev_failed_with(t, ev_once(t, make_endless, NULL, &one, &r), ST_LIMIT, E_BUDGET, "time"));
	ctx_set_time_limit(t->c, 0);
}

static void make_large(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Dim n = build_fresh_dim(t->b, 0, 0), m = build_fresh_dim(t->b, 0, 0);
	Ref x = ev_param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, m})), r[4];
	Ref xt = build_transpose(t->b, x, (int[]){1, 0});
	r[0] = build2(t->b, OP_MUL, build1(t->b, OP_SIN, x), x);
	r[1] = build_matmul(t->b, r[0], xt);
	r[2] = build_reduce(t->b, OP_REDUCE_SUM, r[0], 2, (int[]){0, 1});
	r[3] = build1(t->b, OP_EXP, xt);
	t->f = build_end(t->b, 4, r);
}

static void test_threads(T *t) {
	Value x = value_tensor(ev_tensor(t, DT_F64, SHAPE(1100, 300), -1, 1)), want[4], r[4];
	if (!ev_build_it(t, make_large, NULL)) return;
	parallel_set_threads(t->c, 1);
	CHECK(ev_call(t, &x, want) == ST_OK);
	for (int threads = 0; threads < 5; threads++) {
		parallel_set_threads(t->c, threads);
		for (int again = 0; again < 3; again++) {
			CHECK(ev_call(t, &x, r) == ST_OK && same_results(want, r, 4));
			ev_drop(r, 4);
		}
		ctx_interrupt_at_poll(t->c, 7);
		CHECK(ev_failed_with(t, ev_call(t, &x, r), ST_INTERRUPTED, E_INTERRUPT, NULL));
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
	}
	parallel_set_threads(t->c, 0);
	ev_drop(want, 4);
	ev_drop(&x, 1);
	fn_unref(t->f);
}

int main(void) {
	static const TestCase tests[] = {
		{"allocation failure", test_allocation_failure},
		{"interrupts", test_interrupts},
		{"endless", test_endless},
		{"threads", test_threads},
	};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
