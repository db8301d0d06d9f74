/* test_direct_call.c - unit tests of direct calls of a function that is a
 * single unit of machine code.
 *
 * Oracle: plain loops for the values. Direct calls use the caller's memory,
 * make no allocation and report failures like any call.
 *
 * Needs: help.h, backend/eval/code.h; the code generator's library in the
 * folder above the tests or named by ATLED_CODEGEN. Without it the test is
 * skipped.
 */
#include "tests/unit/eval/help.h"

#include <limits.h>
#include <string.h>

enum { N = 37 };

/* f(t, y[n], w[n], k) = (t*y + w, sum(y), y[k]) */
static void make_sums(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Builder *b = t->b;
	Dim n = build_fresh_dim(b, atom(t->c, "n"), 0);
	const TypeId vec = ev_vec_of(t, DT_F64, n);
	Ref time = ev_param(t, ev_num(t, DT_F64)), y = ev_param(t, vec), w = ev_param(t, vec),
		k = ev_param(t, ev_num(t, DT_I64));
	Ref ty = build2(b, OP_MUL, build_broadcast_scalar(b, time, vec), y);
	Ref results[3] = {build2(b, OP_ADD, ty, w), build_reduce(b, OP_REDUCE_SUM, y, 1, (int[]){0}),
	                  build_gather(b, y, k, 0, 0)};
	t->f = build_end(b, 3, results);
}

/* f(y) = (y, exp(2y)): one result is an argument. */
static void make_same(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref y = ev_param(t, ev_vec(t, DT_F64, N));
	Ref results[2] = {y, build1(t->b, OP_EXP, build2(t->b, OP_ADD, y, y))};
	t->f = build_end(t->b, 2, results);
}

/* An ordinary call first, which compiles the function, then the direct call. */
static DirectCall *begin(T *t, const Value *args, uint32_t nresults, bool *never) {
	Value results[4];
	Code *code = code_of(t->c, t->f);
	CHECK(code && !direct_begin(t->c, code, args, never) && !*never); /* not yet compiled */
	CHECK(code_call(t->c, code, args, results) == ST_OK);
	ev_drop(results, nresults);
	return direct_begin(t->c, code, args, never);
}

static Value vector(T *t, int64_t n) { return value_tensor(ev_tensor(t, DT_F64, SHAPE(n), -1, 1)); }

static double element(Value v, int64_t i) { return tensor_get(v.tensor, &i); }

static void check_sums(const Value *args, const Value *r, const Tensor *first) {
	double sum = 0, worst = 0;
	for (int64_t i = 0; i < args[1].tensor->count; i++) {
		sum += element(args[1], i);
		worst = fmax(worst, fabs(tensor_get(first, &i) -
		                         (args[0].f * element(args[1], i) + element(args[2], i))));
	}
	CHECK(worst < 1e-15);
	CHECK(r[1].kind == V_SCALAR && fabs(r[1].f - sum) < 1e-13);
	CHECK(r[2].kind == V_SCALAR && r[2].f == element(args[1], args[3].i));
}

static void values(T *t) {
	if (!ev_build_it(t, make_sums, NULL)) return;
	Value args[4] = {value_f64(0.5), vector(t, N), vector(t, N), value_i64(3)};
	Tensor *into = ev_tensor(t, DT_F64, SHAPE(N), 0, 0);
	const Value *r;
	bool never;
	DirectCall *d = begin(t, args, 3, &never);
	CHECK(d);
	if (!d) return;
	CHECK(direct_call(d, args, NULL, &r) == ST_OK);
	check_sums(args, r, r[0].tensor);
	/* Other values, other memory and a place for the first result: nothing is
	 * allocated. */
	Value other = vector(t, N), before = args[1];
	uint64_t allocations = heap_allocation_count(t->c), calls = run_counters(t->c)->native_calls;
	for (int i = 0; i < 50; i++) {
		args[0] = value_f64(i * 0.1);
		args[1] = i % 2 ? other : before;
		args[3] = value_i64(i % N);
		CHECK(direct_call(d, args, i % 3 ? into : NULL, &r) == ST_OK);
		check_sums(args, r, i % 3 ? into : r[0].tensor);
	}
	CHECK(heap_allocation_count(t->c) == allocations);
	CHECK(run_counters(t->c)->native_calls == calls + 50);

	/* A result with another reference is not overwritten. */
	CHECK(direct_call(d, args, NULL, &r) == ST_OK);
	Value kept = value_ref(r[0]);
	double was = element(kept, 5);
	args[0] = value_f64(-7);
	CHECK(direct_call(d, args, NULL, &r) == ST_OK);
	CHECK(element(kept, 5) == was && element(r[0], 5) != was);
	value_unref(kept);

	/* A strided operand falls back to the ordinary call. */
	Tensor *wide = ev_tensor(t, DT_F64, SHAPE(N, 2), -1, 1);
	Value gaps = value_tensor(tensor_view(t->c, wide, 1, (int64_t[]){N}, (int64_t[]){2}, 0));
	args[1] = gaps;
	CHECK(direct_call(d, args, into, &r) == ST_OK);
	check_sums(args, r, into);
	/* So do other extents when no place was given. */
	Value longer[4] = {value_f64(2), vector(t, 2 * N), vector(t, 2 * N), value_i64(0)};
	CHECK(direct_call(d, longer, NULL, &r) == ST_OK);
	check_sums(longer, r, r[0].tensor);
	args[1] = before;
	CHECK(direct_call(d, args, NULL, &r) == ST_OK);
	check_sums(args, r, r[0].tensor);

	/* A failing check is reported like that of any call. The next call
	 * succeeds. */
	args[3] = value_i64(N);
	Status st = direct_call(d, args, into, &r);
	CHECK(ev_failed_with(t, st, ST_ERROR, E_INDEX, "37"));
	args[3] = value_i64(N - 1);
	CHECK(direct_call(d, args, into, &r) == ST_OK);
	check_sums(args, r, into);

	fn_unref(t->f); /* the direct call holds a reference */
	CHECK(direct_call(d, args, into, &r) == ST_OK);
	direct_end(d);
	ev_drop(args, 3);
	ev_drop(longer, 3);
	value_unref(other);
	value_unref(gaps);
	tensor_unref(wide);
	tensor_unref(into);
}

static void not_possible(T *t) {
	if (!ev_build_it(t, make_same, NULL)) return;
	Value args[1] = {vector(t, N)};
	bool never;
	CHECK(!begin(t, args, 2, &never) && never);
	ev_drop(args, 1);
	fn_unref(t->f);
	CHECK(!diag_total(t->c));
}

/* Each allocation of the preparation fails once. */
static void memory(T *t) {
	if (!ev_build_it(t, make_sums, NULL)) return;
	Value args[4] = {value_f64(0.5), vector(t, N), vector(t, N), value_i64(3)}, results[3];
	bool never;
	Code *code = code_of(t->c, t->f);
	CHECK(code_call(t->c, code, args, results) == ST_OK);
	ev_drop(results, 3);
	heap_fail_at(t->c, 1, false);
	DirectCall *d = direct_begin(t->c, code, args, &never);
	CHECK(!d && never && !diag_total(t->c));
	/* Includes the diagnostics buffer that the context keeps. */
	const size_t used = heap_used(t->c);
	for (uint64_t n = 1; n < 40 && !d; n++) {
		heap_fail_at(t->c, n, false);
		d = direct_begin(t->c, code, args, &never);
		heap_fail_at(t->c, 0, false);
		if (!d) CHECK(heap_used(t->c) == used && never && !diag_total(t->c));
	}
	CHECK(d);
	direct_end(d);
	CHECK(heap_used(t->c) == used);
	ev_drop(args, 3);
	fn_unref(t->f);
}

static void in_machine_code(T *t, void (*test)(T *t)) {
	backend_set_native(t->c, NATIVE_ALWAYS);
	test(t);
}
static void run_values(T *t) { in_machine_code(t, values); }
static void run_not_possible(T *t) { in_machine_code(t, not_possible); }
static void run_memory(T *t) { in_machine_code(t, memory); }

int main(int argc, char **argv) {
	(void)argc;
	char path[PATH_MAX], full[PATH_MAX];
	const char *slash = strrchr(argv[0], '/');
	snprintf(path, sizeof path, "%.*s/../libatled-codegen.so", slash ? (int)(slash - argv[0]) : 1,
	         slash ? argv[0] : ".");
	if (!getenv("ATLED_CODEGEN") && realpath(path, full)) setenv("ATLED_CODEGEN", full, 1);
	if (!getenv("ATLED_CODEGEN")) {
		check_skip("no machine code here");
		return check_end();
	}
	const TestCase tests[] = {
		{"values", run_values}, {"not possible", run_not_possible}, {"memory", run_memory}};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
