/* test_kir_modules.c - unit tests of the code generator on whole modules.
 *
 * Covers outlined work, division into objects and functions, compilation on
 * several threads and its time, rejected input.
 * Oracle: plain C, and the same code each time.
 *
 * Needs: help.h.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "tests/unit/codegen/help.h"

/* Returns the processor time of this program, so that other programs do not
 * count. */
static double own_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the compile time of a block of n stores, any of which may alias. */
static double seconds_of_stores(uint32_t n) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KRef at;
	k_function(&b, m, 0);
	k_vloop_begin(&b, target.vector_bytes / 8, 0, k_word(&b, KT_I64, 0), 0, NULL, NULL, &at);
	for (uint32_t i = 0; i < n; i++) {
		KRef place = k_load(&b, KT_I64, KM_UNIFORM, k_buffer(&b, 0), k_int(&b, i), 0);
		k_store(&b, KM_UNIT, k_buffer(&b, 1), k_add(&b, at, place), k_const(&b, KT_F64, i), 0);
	}
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	CodegenOptions options = {.entry = "entry", .level = 2};
	double least = HUGE_VAL;
	for (int turn = 0; turn < 3; turn++) {
		CodegenOutput out;
		const double before = own_seconds();
		CHECK(!codegen(m, &options, &out));
		least = fmin(least, own_seconds() - before);
		free(out.bytes);
	}
	kmodule_free(m);
	return least;
}

/* Eight times the stores take about eight times as long. Without a limit on the
 * scheduler's comparisons the time would be quadratic. */
static void test_long_blocks(void) {
	double ratio = HUGE_VAL;
	/* Tries again, because other programs use the caches, too. */
	for (int turn = 0; turn < 4 && ratio >= 20; turn++)
		ratio = fmin(ratio, seconds_of_stores(2000) / seconds_of_stores(250));
	CHECK(ratio < 20);
}

/* Several threads at once, each with its own module. */
static void *compile_often(void *at) {
	KModule *m = at;
	CodegenOptions options = {.entry = "entry", .level = 2};
	CodegenOutput first, next;
	if (codegen(m, &options, &first)) return at;
	bool same = true;
	for (int k = 0; k < 3; k++) {
		same &= !codegen(m, &options, &next) && next.n == first.n &&
		        !memcmp(next.bytes, first.bytes, first.n);
		free(next.bytes);
	}
	free(first.bytes);
	return same ? NULL : at;
}

static void test_threads(void) {
	pthread_t threads[3];
	KModule *modules[3];
	for (uint32_t k = 0; k < 3; k++) {
		modules[k] = chain_module(k & 1 ? KT_F32 : KT_F64, target.vector_bytes / 8, k & 2);
		if (pthread_create(&threads[k], NULL, compile_often, modules[k])) exit(2);
	}
	for (uint32_t k = 0; k < 3; k++) {
		void *bad;
		pthread_join(threads[k], &bad);
		CHECK(!bad);
		kmodule_free(modules[k]);
	}
}

/* Input that must be rejected, and input that must not be fatal. */
static void test_errors(void) {
	KTarget other = target;
	snprintf(other.cpu, sizeof other.cpu, "pentium");
	KModule *m = kmodule_new(ctx, &other);
	KBuilder b;
	k_function(&b, m, 0);
	k_return(&b, 0, NULL);
	CodegenOptions options = {.entry = "entry"};
	CodegenOutput out;
	CHECK(codegen(m, &options, &out) == -1 && strstr(out.error, "pentium") && !out.bytes);
	kmodule_free(m);
	m = kmodule_new(ctx, &target);
	k_function(&b, m, 0);
	k_result(&b, 0, k_prim1(&b, OP_CONJ, k_const(&b, KT_F64, 1)));
	k_return(&b, 0, NULL);
	CHECK(codegen(m, &options, &out) == -1 && strstr(out.error, "conj"));
	kmodule_free(m);
	/* A frame that may leave no room on any stack. */
	m = kmodule_new(ctx, &target);
	k_function(&b, m, 0);
	k_poll_by_depth(&b, k_int(&b, 0), 1);
	KRef large = k_stack(&b, 5 << 20);
	k_store(&b, KM_UNIFORM, large, k_int(&b, 0), k_const(&b, KT_F64, 1), 0);
	k_return(&b, 0, NULL);
	CHECK(codegen(m, &options, &out) == -1 && strstr(out.error, "a frame of more than 4 MB"));
	kmodule_free(m);
	m = kmodule_new(ctx, &target);
	k_function(&b, m, 0);
	b.span = 17;
	k_result(&b, 0, k_word(&b, KT_F64, 0));
	k_return(&b, 0, NULL);
	options.ir = options.debug_lines = true;
	CHECK(codegen(m, &options, &out) == 0 && strstr(out.bytes, "define i32 @entry") &&
	      strstr(out.bytes, "line: 17"));
	free(out.bytes);
	options.ir = false;
	options.assembly = true;
	CHECK(codegen(m, &options, &out) == 0 && strstr(out.bytes, "entry:"));
	free(out.bytes);
	options.assembly = false;
	CHECK(codegen(m, &options, &out) == 0 && out.n > 64 && !memcmp(out.bytes, "\177ELF", 4));
	free(out.bytes);
	kmodule_free(m);
}

/* out[i] = 2 in[i], the work of one layer, after a loop without a result.
 * `more` adds a computation that is not used. */
static void outlined_work(KBuilder *b, KRef in, KRef out, KRef count, bool more) {
	KMark mark = k_mark(b);
	KRef base;
	k_loop_begin(b, k_int(b, 0), count, 1, 0, NULL, &base);
	k_store(b, KM_UNIFORM, out, base, k_const(b, KT_F64, 0), 0);
	k_loop_end(b, NULL, NULL);
	k_vloop_begin(b, 4, 0, count, 0, NULL, NULL, &base);
	if (more) k_load(b, KT_F64, KM_UNIT, in, k_add(b, base, k_mul(b, count, k_int(b, 3))), 0);
	KRef x = k_load(b, KT_F64, KM_UNIT, in, base, 0);
	k_store(b, KM_UNIT, out, base, k_add(b, x, x), 0);
	k_vloop_end(b, NULL, NULL);
	k_outline(b, mark);
}

/* Equal work becomes one function, even with an unused computation in
 * between. */
static void test_outlined(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef first = k_buffer(&b, 0), second = k_buffer(&b, 1), third = k_buffer(&b, 2),
		 count = k_word(&b, KT_I64, 0);
	outlined_work(&b, first, second, count, false);
	outlined_work(&b, second, third, count, true);
	k_return(&b, 0, NULL);
	CHECK(m->fns.n == 2);
	Code code = compile(m);
	double x[7] = {1, 2, 3, 4, 5, 6, 7}, y[7] = {0}, z[7] = {0};
	bool ok = call(&code, (void *[]){x, y, z}, (int64_t[]){7}, NULL) == 0;
	for (int i = 0; i < 7; i++) ok &= z[i] == 4 * x[i];
	CHECK(ok);
	forget(&code);
}

/* A module of some size: some bodies of parallel loops call functions with the
 * loops, one contains the loops itself. */
enum { LAYERS = 24, LAYER_TERMS = 30, WIDTH = 13 };

static void layer(KBuilder *b, KRef in, KRef out, KRef count, int number) {
	KMark mark = k_mark(b);
	KRef base;
	k_vloop_begin(b, 4, 0, count, 0, NULL, NULL, &base);
	KRef x = k_load(b, KT_F64, KM_UNIT, in, base, 0), sum = k_const(b, KT_F64, number);
	for (int i = 0; i < LAYER_TERMS; i++)
		sum = k_add(b, k_mul(b, sum, x), k_const(b, KT_F64, (number + i) / 16.0));
	if (number % 5 == 0) sum = k_prim1(b, OP_SIN, sum);
	k_store(b, KM_UNIT, out, base, sum, 0);
	k_vloop_end(b, NULL, NULL);
	if (number % 7) k_outline(b, mark);
}

static void layer_in_c(const double *in, double *out, int number) {
	for (int k = 0; k < WIDTH; k++) {
		double sum = number;
		for (int i = 0; i < LAYER_TERMS; i++) sum = sum * in[k] + (number + i) / 16.0;
		out[k] = number % 5 == 0 ? sin(sum) : sum;
	}
}

/* Runs code whose results begin with those of all layers, and compares
 * these. */
static bool layers_agree(const Code *code, double *x, double *y) {
	int64_t words[1 + LAYERS] = {WIDTH};
	double want[WIDTH];
	for (int i = 0; i < LAYERS; i++) words[1 + i] = i;
	bool ok = call(code, (void *[]){x, y}, words, NULL) == 0;
	for (int i = 0; i < LAYERS; i++) {
		layer_in_c(x, want, i);
		for (int k = 0; k < WIDTH; k++)
			ok &= fabs(y[i * WIDTH + k] - want[k]) <= (i % 5 ? 0 : 1e-13);
	}
	return ok;
}

/* The module is split into several objects. Together they are one program, and
 * the same each time. */
static void test_cut(void) {
	CodegenOutput out[2];
	Code code = {0};
	for (int turn = 0; turn < 3; turn++) {
		KModule *m = kmodule_new(ctx, &target);
		KBuilder b;
		k_function(&b, m, 0);
		KRef in = k_buffer(&b, 0), to = k_buffer(&b, 1), count = k_word(&b, KT_I64, 0), at[LAYERS];
		for (int i = 0; i < LAYERS; i++)
			at[i] = k_ptradd(&b, to, k_mul(&b, k_word(&b, KT_I64, 1 + i), count), 8);
		KRef part = k_parallel_begin(&b, k_int(&b, 1));
		for (int i = 0; i < LAYERS; i++)
			if (i % 7) layer(&b, in, k_ptradd(&b, at[i], part, 8), count, i);
		k_parallel_end(&b);
		part = k_parallel_begin(&b, k_int(&b, 1));
		for (int i = 0; i < LAYERS; i += 7) layer(&b, in, k_ptradd(&b, at[i], part, 8), count, i);
		k_parallel_end(&b);
		k_return(&b, 0, NULL);
		if (turn == 2) {
			code = compile(m);
			break;
		}
		CodegenOptions options = {.entry = "entry", .level = level};
		CHECK(codegen(m, &options, &out[turn]) == 0);
		kmodule_free(m);
	}
	CHECK(out[0].n == out[1].n && !memcmp(out[0].bytes, out[1].bytes, out[0].n));
	free(out[0].bytes);
	free(out[1].bytes);
	CHECK(compile_only || (level < 2 ? code.parts == 1 : code.parts == 3));
	double x[WIDTH], y[LAYERS * WIDTH] = {0};
	for (int i = 0; i < WIDTH; i++) x[i] = (i - 6) / 7.0;
	CHECK(layers_agree(&code, x, y));
	forget(&code);
}

/* In a large module, loops of an entry become functions that return the loops'
 * results. So do those of a body that otherwise only passes pointers on. */
static void test_apart(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), to = k_buffer(&b, 1), count = k_word(&b, KT_I64, 0), at[LAYERS],
		 params[2], block;
	for (int i = 0; i < LAYERS; i++)
		at[i] = k_ptradd(&b, to, k_mul(&b, k_word(&b, KT_I64, 1 + i), count), 8);
	for (int i = 0; i < LAYERS; i++)
		if (i % 7) layer(&b, in, at[i], count, i);
	k_parallel_begin(&b, k_int(&b, 1));
	for (int i = 0; i < LAYERS; i++)
		at[i] = k_ptradd(&b, to,
		                 k_add(&b, k_mul(&b, k_word(&b, KT_I64, 1 + i), count), k_int(&b, 0)), 8);
	k_loop_begin(&b, k_int(&b, 0), k_int(&b, 2), 1, 0, NULL, &block);
	for (int i = 0; i < LAYERS; i += 7) layer(&b, in, at[i], count, i);
	k_poll(&b, count);
	k_loop_end(&b, NULL, NULL);
	k_parallel_end(&b);
	/* A sum in lanes, and a product and its number of factors. */
	KRef zero = k_const(&b, KT_F64, 0), init[2] = {k_const(&b, KT_F64, 1), k_int(&b, 0)}, sum,
		 left[2], turn[3];
	const bool varying[1] = {true};
	k_vloop_begin(&b, 4, 0, count, 1, &zero, varying, params);
	KRef next =
		k_select(&b, k_mask(&b),
	             k_add(&b, params[1], k_load(&b, KT_F64, KM_UNIT, in, params[0], 0)), params[1]);
	k_vloop_end(&b, &next, &sum);
	k_store(&b, KM_UNIFORM, to, k_int(&b, LAYERS * WIDTH), k_reduce_lanes(&b, OP_ADD, sum), 0);
	k_loop_begin(&b, k_int(&b, 0), count, 1, 2, init, turn);
	KRef further[2] = {k_mul(&b, turn[1], k_load(&b, KT_F64, KM_UNIFORM, in, turn[0], 0)),
	                   k_add(&b, turn[2], k_int(&b, 1))};
	k_loop_end(&b, further, left);
	k_store(&b, KM_UNIFORM, to, k_int(&b, LAYERS * WIDTH + 1), left[0], 0);
	k_store(&b, KM_UNIFORM, to, k_int(&b, LAYERS * WIDTH + 2), k_convert(&b, left[1], KT_F64), 0);
	k_return(&b, 0, NULL);
	CHECK(text_has(m, "entry.loop0") == (level == 2));
	CHECK(text_has(m, "entry.loop5") == (level == 2)); /* four in the body, two in the entry */
	CHECK(!text_has(m, "entry.loop6"));
	Code code = compile(m);
	double x[WIDTH], y[LAYERS * WIDTH + 3] = {0}, total = 0, product = 1;
	for (int i = 0; i < WIDTH; i++) {
		x[i] = (i - 6.5) / 7.0;
		total += x[i];
		product *= x[i];
	}
	CHECK(layers_agree(&code, x, y));
	CHECK(fabs(y[LAYERS * WIDTH] - total) < 1e-14 && y[LAYERS * WIDTH + 1] == product &&
	      y[LAYERS * WIDTH + 2] == WIDTH);
	forget(&code);
}

/* ---- targets ------------------------------------------------------------- */

static void test_target(void) {
	test_outlined();
	test_apart();
	test_cut();
	test_errors();
}

int main(int argc, char **argv) {
	return run_on_targets(
		argc, argv,
		&(TargetTests){.first = test_threads, .each = test_target, .rest = test_long_blocks});
}
