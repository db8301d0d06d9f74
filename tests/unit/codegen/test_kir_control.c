/* test_kir_control.c - unit tests of control flow in generated code.
 *
 * Covers branches and loops, parallel loops, calls, failures, nested loops.
 * Oracle: plain C.
 *
 * Needs: help.h.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 * Usage: --bench prints compile times and speeds instead.
 */
#include "tests/unit/codegen/help.h"

/* Words of every type as arguments and results; shifts, logic, bits, muladd;
 * if, while and nested loops. The oracle is C. */
static void test_control(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	static const KType types[] = {KT_BOOL, KT_I32, KT_I64, KT_F32, KT_F64};
	for (uint32_t k = 0; k < 5; k++) k_result(&b, k, k_word(&b, types[k], k));
	KRef n = k_word(&b, KT_I64, 5);
	/* The length of the Collatz sequence from n, and its largest element. */
	KRef init[3] = {n, k_int(&b, 0), n}, p[3], done[3];
	k_while_begin(&b, 3, init, p);
	k_while_body(&b, k_prim2(&b, OP_LT, k_int(&b, 1), p[0]), p);
	KRef odd = k_prim2(&b, OP_EQ, k_logic(&b, 0, p[0], k_int(&b, 1)), k_int(&b, 1)), stepped;
	k_if_begin(&b, odd, 0);
	KRef up = k_add(&b, k_mul(&b, p[0], k_int(&b, 3)), k_int(&b, 1));
	k_if_else(&b, 1, &up);
	KRef half = k_shift(&b, 1, p[0], k_int(&b, 1));
	k_if_end(&b, &half, &stepped);
	KRef next[3] = {stepped, k_add(&b, p[1], k_int(&b, 1)), k_max(&b, p[2], stepped)};
	k_while_end(&b, next, done);
	k_result(&b, 5, done[1]);
	k_result(&b, 6, done[2]);
	/* Sum of i*j over i < n, j from i in steps of 3. */
	KRef zero = k_int(&b, 0), outer[2], inner[2], total;
	k_loop_begin(&b, zero, n, 1, 1, &zero, outer);
	KRef sum;
	k_loop_begin(&b, outer[0], n, 3, 1, &outer[1], inner);
	KRef more = k_add(&b, inner[1], k_mul(&b, outer[0], inner[0]));
	k_loop_end(&b, &more, &sum);
	k_loop_end(&b, &sum, &total);
	k_result(&b, 7, total);
	k_result(&b, 8, k_shift(&b, 0, k_word(&b, KT_I32, 1), k_int(&b, 3)));
	k_result(&b, 9, k_shift(&b, 2, k_word(&b, KT_I32, 1), k_int(&b, 3)));
	k_result(&b, 10, k_shift(&b, 1, k_word(&b, KT_I32, 1), k_int(&b, 3)));
	KRef f = k_word(&b, KT_F64, 4);
	k_result(&b, 11, k_muladd(&b, f, f, k_const(&b, KT_F64, -1)));
	k_result(&b, 12, k_logic(&b, 2, n, k_logic(&b, 1, n, k_int(&b, 8))));
	/* Stack memory, copy, zero. */
	KRef s = k_stack(&b, 256), a = k_arena(&b, k_int(&b, 256));
	k_zero(&b, s, k_int(&b, 256));
	k_store(&b, KM_UNIFORM, s, k_int(&b, 3), n, 0);
	k_copy(&b, a, k_ptradd(&b, s, k_int(&b, 2), 8), k_int(&b, 64));
	k_result(&b, 13,
	         k_add(&b, k_load(&b, KT_I64, KM_UNIFORM, a, k_int(&b, 1), 0),
	               k_load(&b, KT_I64, KM_UNIFORM, a, k_int(&b, 2), 0)));
	k_result(&b, 14, k_select(&b, k_not(&b, odd == 0 ? odd : k_word(&b, KT_BOOL, 0)), n, zero));
	k_return(&b, 0, NULL);
	Code code = compile(m);
	float narrow = -1.5f;
	double wide = 1 + 0x1p-30;
	int64_t words[6] = {1, -77, INT64_MIN + 5, 0, 0, 27}, results[15];
	memcpy(&words[3], &narrow, 4);
	memcpy(&words[4], &wide, 8);
	CHECK(call(&code, NULL, words, results) == 0);
	CHECK(!memcmp(words, results, 5 * 8));
	CHECK(results[5] == 111 && results[6] == 9232);
	int64_t want = 0;
	for (int64_t i = 0; i < 27; i++)
		for (int64_t j = i; j < 27; j += 3) want += i * j;
	CHECK(results[7] == want);
	CHECK(results[8] == -77 * 8 && results[9] == -77 >> 3 &&
	      results[10] == (int64_t)(int32_t)((uint32_t)-77 >> 3));
	double got;
	memcpy(&got, &results[11], 8);
	CHECK(got == (target.has_fma ? fma(wide, wide, -1) : wide * wide - 1));
	CHECK(results[12] == (27 ^ (27 | 8)) && results[13] == 27 && results[14] == 0);
	words[5] = 0;
	CHECK(call(&code, NULL, words, results) == 0 && results[5] == 0 && results[7] == 0);
	arena_left = 0;
	CHECK(call(&code, NULL, words, results) == 2); /* ST_NOMEM */
	forget(&code);
}

/* Rows of a matrix on "threads": captured pointers, a float, a bool and a
 * constant. One chunk fails; the loop is nested in another. */
static void test_parallel(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	m->nsites = 3;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), rows = k_word(&b, KT_I64, 0),
		 columns = k_word(&b, KT_I64, 1), scale = k_word(&b, KT_F64, 2);
	KRef flip = k_word(&b, KT_BOOL, 3), bad = k_word(&b, KT_I64, 4), i, base;
	k_loop_begin(&b, k_int(&b, 0), k_int(&b, 2), 1, 0, NULL, &i);
	KRef part = k_parallel_begin(&b, rows);
	k_fail_if(&b, k_prim2(&b, OP_LE, bad, part), 2, part, k_int(&b, 5));
	KRef at = k_ptradd(&b, in, k_mul(&b, part, columns), 8),
		 to = k_ptradd(&b, out, k_mul(&b, part, columns), 8);
	KRef room = k_scratch(&b, k_int(&b, 64));
	k_store(&b, KM_UNIFORM, room, k_int(&b, 0), scale, 0);
	k_vloop_begin(&b, target.vector_bytes / 8, 0, columns, 0, NULL, NULL, &base);
	KRef x = k_mul(&b, k_load(&b, KT_F64, KM_UNIT, at, base, 0),
	               k_load(&b, KT_F64, KM_UNIFORM, room, k_int(&b, 0), 0));
	k_store(&b, KM_UNIT, to, base,
	        k_select(&b, flip, k_prim1(&b, OP_NEG, x),
	                 k_prim2(&b, OP_ADD, x, k_convert(&b, i, KT_F64))),
	        0);
	k_vloop_end(&b, NULL, NULL);
	k_parallel_end(&b);
	k_loop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	double x0[7 * 13], y0[7 * 13], factor = 2.5;
	for (int k = 0; k < 7 * 13; k++) x0[k] = random_number(-1, 1);
	int64_t words[5] = {7, 13, 0, 0, 100};
	memcpy(&words[2], &factor, 8);
	for (int f = 0; f < 2; f++) {
		words[3] = f;
		parts_run = 0;
		CHECK(call(&code, (void *[]){x0, y0}, words, NULL) == 0 && parts_run == 14);
		bool ok = true;
		for (int k = 0; k < 7 * 13; k++) ok &= y0[k] == (f ? -(x0[k] * 2.5) : x0[k] * 2.5 + 1);
		CHECK(ok);
	}
	words[4] = 4;
	CHECK(call(&code, (void *[]){x0, y0}, words, NULL) == NATIVE_FAILED_AT_SITE && last.site == 2 &&
	      last.fail_a == 4 && last.fail_b == 5);
	forget(&code);
}

static int64_t fib_in_c(int64_t n) { return n < 2 ? n : fib_in_c(n - 1) + fib_in_c(n - 2); }

static KModule *fib_module(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	uint32_t fib = k_declare(m, 1, (KType[]){KT_I64});
	k_function(&b, m, 0);
	KRef n = k_word(&b, KT_I64, 0), r;
	k_call(&b, fib, 1, &n, &r);
	k_result(&b, 0, r);
	k_return(&b, 0, NULL);
	k_function(&b, m, fib);
	n = k_param(&b, KT_I64);
	k_if_begin(&b, k_prim2(&b, OP_LT, n, k_int(&b, 2)), 0);
	k_if_else(&b, 1, &n);
	KRef x = k_sub(&b, n, k_int(&b, 1)), y = k_sub(&b, n, k_int(&b, 2));
	k_call(&b, fib, 1, &x, &x);
	k_call(&b, fib, 1, &y, &y);
	KRef sum = k_add(&b, x, y);
	k_if_end(&b, &sum, &r);
	k_return(&b, 1, &r);
	return m;
}

/* Recursion to its limit, several results of several types, and a failure
 * through several calls. */
static void test_calls(void) {
	Code code = compile(fib_module());
	int64_t results[8];
	bool ok = true;
	for (int64_t n = 0; n < 25; n++)
		ok &= call(&code, NULL, &n, results) == 0 && results[0] == fib_in_c(n);
	CHECK(ok);
	forget(&code);

	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	m->nsites = 8;
	uint32_t down = k_declare(m, 3, (KType[]){KT_I64, KT_F64, KT_BOOL}),
			 other = k_declare(m, 3, (KType[]){KT_I64, KT_F64, KT_BOOL});
	uint32_t helper = k_declare(m, 0, NULL);
	k_function(&b, m, helper);
	k_poll(&b, k_param(&b, KT_I64));
	k_return(&b, 0, NULL);
	k_function(&b, m, 0);
	KRef args[3] = {k_word(&b, KT_I64, 0), k_const(&b, KT_F64, 1), k_word(&b, KT_I64, 1)}, r[3];
	k_call(&b, helper, 1, args, NULL);
	b.f->insts.at[b.f->insts.n - 1].flags = KF_NO_DEPTH_CHECK;
	k_call(&b, down, 3, args, r);
	for (uint32_t k = 0; k < 3; k++) k_result(&b, k, r[k]);
	k_return(&b, 0, NULL);
	/* down(n, x, trap) = n <= 0 ? (n, x, n == 0) : other(n - 1, x + x, trap),
	 * and the same with the names exchanged. It fails where n == trap. */
	for (uint32_t f = down; f <= other; f++) {
		k_function(&b, m, f);
		KRef n = k_param(&b, KT_I64), x = k_param(&b, KT_F64), trap = k_param(&b, KT_I64),
			 zero = k_int(&b, 0);
		k_poll_by_depth(&b, k_int(&b, 0), 8);
		k_fail_if(&b, k_prim2(&b, OP_EQ, n, trap), 7, n, k_int(&b, f));
		k_if_begin(&b, k_prim2(&b, OP_LE, n, zero), 0);
		KRef end[3] = {n, x, k_prim2(&b, OP_EQ, n, zero)};
		k_if_else(&b, 3, end);
		KRef next[3] = {k_sub(&b, n, k_int(&b, 1)), k_add(&b, x, x), trap}, out[3];
		k_call(&b, f == down ? other : down, 3, next, out);
		k_if_end(&b, out, r);
		k_return(&b, 3, r);
	}
	code = compile(m);
	CHECK(call(&code, NULL, (int64_t[]){10, -1}, results) == 0 && results[0] == 0 &&
	      results[2] == 1);
	double x;
	memcpy(&x, &results[1], 8);
	CHECK(x == 1024);
	CHECK(call(&code, NULL, (int64_t[]){10, 3}, results) == NATIVE_FAILED_AT_SITE &&
	      last.site == 7 && last.fail_a == 3 && last.fail_b == (int64_t)other);
	CHECK(call(&code, NULL, (int64_t[]){1999, -1}, results) == 0);
	CHECK(call(&code, NULL, (int64_t[]){2000, -1}, results) == NATIVE_TOO_DEEP);
	CHECK(call(&code, NULL, (int64_t[]){100000, -1}, results) == NATIVE_TOO_DEEP);
	CHECK(last.depth_left == 2000);
	last = (NativeCall){
		.words = (int64_t[]){0, -1}, .results = results, .poll_left = 1000, .depth_left = 1};
	CHECK(compile_only || (code.entry(&last) == 0 && last.poll_left == 1000));
	/* A frame below may need more than the megabyte that is left. */
	last.depth_left = 2000;
	last.words = (int64_t[]){100, -1};
	last.stack_low = (uintptr_t)__builtin_frame_address(0) - (1 << 20);
	CHECK(compile_only || code.entry(&last) == NATIVE_STACK_SHORT);
	last.stack_low -= 1 << 20;
	CHECK(compile_only || code.entry(&last) == 0);
	forget(&code);
}

/* A check in a vector loop reports its first failing lane, in the main loop and
 * in the epilogue. It ignores lanes past the end. */
static void test_failures(uint32_t flags) {
	uint32_t lanes = target.vector_bytes / 8;
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	m->nsites = 6;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), count = k_word(&b, KT_I64, 0), base;
	k_vloop_begin(&b, lanes, flags, count, 0, NULL, NULL, &base);
	KRef x = k_load(&b, KT_I64, KM_UNIT, in, base, 0);
	k_fail_if(&b, k_prim2(&b, OP_LT, x, k_int(&b, 0)), 5, x, k_add(&b, base, k_lane(&b)));
	k_vloop_end(&b, NULL, NULL);
	k_poll(&b, k_int(&b, 600));
	k_poll(&b, k_word(&b, KT_I64, 1));
	k_return(&b, 0, NULL);
	Code code = compile(m);
	int64_t x0[64];
	bool ok = true;
	for (int64_t n = 0; n < 40; n++)
		for (int64_t bad = 0; bad < n + 3; bad++) {
			for (int64_t k = 0; k < 64; k++)
				x0[k] = k >= bad && (k >= n || k % 2 == bad % 2) ? -k - 1 : k;
			int32_t status = call(&code, (void *[]){x0}, (int64_t[]){n, 0}, NULL);
			ok &= bad < n ? status == NATIVE_FAILED_AT_SITE && last.site == 5 &&
			                    last.fail_a == -bad - 1 && last.fail_b == bad
			              : status == 0;
		}
	CHECK_MSG(ok, "failures in vector loops, flags %u", flags);
	polls = 0;
	CHECK(call(&code, (void *[]){x0}, (int64_t[]){0, 400}, NULL) == 0 && polls == 0 &&
	      last.poll_left == 0);
	CHECK(call(&code, (void *[]){x0}, (int64_t[]){0, 401}, NULL) == 0 && polls == 1 &&
	      last.poll_left == 1000);
	poll_answer = 3;
	CHECK(call(&code, (void *[]){x0}, (int64_t[]){0, 401}, NULL) == 3);
	poll_answer = 0;
	forget(&code);
}

/* Loops in vector loops: column sums by a loop that carries lanes; a branch
 * that gives lanes on one side and a scalar on the other; Newton's method until
 * every lane has converged, which needs a reduction. Vector loops in loops: the
 * carried lanes of one enter the next. */
static void test_nests(void) {
	uint32_t lanes = target.vector_bytes / 8;
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), columns = k_word(&b, KT_I64, 0),
		 rows = k_word(&b, KT_I64, 1), base, p[3], zero = k_const(&b, KT_F64, 0), two;
	two = k_const(&b, KT_F64, 2);
	k_vloop_begin(&b, lanes, 0, columns, 0, NULL, NULL, &base);
	KRef start = k_load(&b, KT_F64, KM_UNIT, in, base, 0), sum, chosen, root;
	k_loop_begin(&b, k_int(&b, 1), rows, 1, 1, &start, p);
	KRef next = k_add(
		&b, p[1], k_load(&b, KT_F64, KM_UNIT, in, k_add(&b, base, k_mul(&b, p[0], columns)), 0));
	k_loop_end(&b, &next, &sum);
	k_if_begin(&b, k_prim2(&b, OP_LT, rows, k_int(&b, 3)), 0);
	k_if_else(&b, 1, &two);
	k_if_end(&b, &sum, &chosen);
	KRef init[2] = {k_add(&b, sum, two), k_bits(&b, KT_BOOL, 1)};
	k_while_begin(&b, 2, init, p);
	k_while_body(&b, p[1], p);
	KRef better =
		k_mul(&b, k_const(&b, KT_F64, 0.5), k_add(&b, p[0], k_prim2(&b, OP_DIV, sum, p[0])));
	KRef moving = k_logic(&b, 0, k_prim2(&b, OP_LT, better, p[0]), k_mask(&b)),
		 again[2] = {k_prim2(&b, OP_MIN, better, p[0]), k_reduce_lanes(&b, OP_MAX, moving)},
		 done[2];
	k_while_end(&b, again, done);
	root = done[0];
	k_store(&b, KM_UNIT, out, base, k_add(&b, chosen, root), 0);
	k_vloop_end(&b, NULL, NULL);
	/* The sum of two rows by lanes carried from one to the other. */
	bool varying[1] = {true};
	KRef lane_sums, all;
	k_vloop_begin(&b, lanes, 0, columns, 1, &zero, varying, p);
	k_vloop_end(
		&b,
		(KRef[]){k_add(&b, p[1],
	                   k_select(&b, k_mask(&b), k_load(&b, KT_F64, KM_UNIT, in, p[0], 0), zero))},
		&lane_sums);
	KRef row = k_ptradd(&b, in, columns, 8);
	k_vloop_begin(&b, lanes, 0, columns, 1, &lane_sums, NULL, p);
	k_vloop_end(
		&b,
		(KRef[]){k_add(&b, p[1],
	                   k_select(&b, k_mask(&b), k_load(&b, KT_F64, KM_UNIT, row, p[0], 0), zero))},
		&all);
	k_result(&b, 0, k_reduce_lanes(&b, OP_ADD, all));
	k_return(&b, 0, NULL);
	Code code = compile(m);
	double x0[40 * 5], y0[40];
	int64_t results[1];
	for (int64_t nrows = 2; nrows <= 5; nrows += 3)
		for (int64_t n = 0; n <= 40; n += 1 + n / 9) {
			double total = 0, got;
			for (int64_t k = 0; k < n * nrows; k++) {
				x0[k] = floor(random_number(1, 9));
				if (k < 2 * n) total += x0[k];
			}
			CHECK(call(&code, (void *[]){x0, y0}, (int64_t[]){n, nrows}, results) == 0);
			bool ok = true;
			for (int64_t k = 0; k < n; k++) {
				double s = 0;
				for (int64_t r = 0; r < nrows; r++) s += x0[r * n + k];
				ok &= fabs(y0[k] - (nrows < 3 ? 2 : s) - sqrt(s)) < 1e-12;
			}
			memcpy(&got, results, 8);
			CHECK(ok && got == total);
		}
	forget(&code);
}

/* ---- targets ------------------------------------------------------------- */

static void test_target(void) {
	static char memory[1 << 16] __attribute__((aligned(64)));
	arena_at = memory;
	arena_left = sizeof memory;
	test_control();
	arena_at = memory;
	arena_left = sizeof memory;
	test_parallel();
	test_calls();
	test_failures(0);
	test_failures(KF_PADDED);
	test_nests();
}

/* Loops whose full vectors and epilogue share one body. */
static void test_once(void) {
	test_failures(0);
	test_failures(KF_PADDED);
	test_nests();
}

#include "tests/unit/codegen/timings.h"

int main(int argc, char **argv) {
	return run_on_targets(argc, argv,
	                      &(TargetTests){.each = test_target, .once = test_once, .bench = bench});
}
