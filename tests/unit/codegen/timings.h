/* timings.h - timings of the code generator and its code, for
 * test_kir_control --bench.
 *
 * Compares compile times and speeds with C; checks nothing.
 *
 * Needs: help.h; test_kir_control.c, the only file that includes it, after
 * fib_module() and fib_in_c().
 */
#ifndef ATLED_TESTS_UNIT_CODEGEN_TIMINGS_H
#define ATLED_TESTS_UNIT_CODEGEN_TIMINGS_H

static double quickest(const Code *code, void **buffers, int64_t n, int repeats) {
	double best = 1e9;
	int64_t results[4];
	for (int k = 0; k < 15; k++) {
		double begin = now();
		for (int j = 0; j < repeats; j++) call(code, buffers, &n, results);
		double each = (now() - begin) / repeats;
		if (each < best) best = each;
	}
	return best;
}

/* Steps of all Collatz sequences from 1 .. n-1: control flow only. */
static KModule *collatz_module(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef one = k_int(&b, 1), zero = k_int(&b, 0), p[2], q[2], w[2], total, stepped;
	k_loop_begin(&b, one, k_word(&b, KT_I64, 0), 1, 1, &zero, p);
	KRef init[2] = {p[0], p[1]};
	k_while_begin(&b, 2, init, q);
	k_while_body(&b, k_lt(&b, one, q[0]), q);
	k_if_begin(&b, k_prim2(&b, OP_EQ, k_logic(&b, 0, q[0], one), one), 0);
	KRef up = k_add(&b, k_mul(&b, q[0], k_int(&b, 3)), one);
	k_if_else(&b, 1, &up);
	KRef half = k_shift(&b, 1, q[0], one);
	k_if_end(&b, &half, &stepped);
	KRef next[2] = {stepped, k_add(&b, q[1], one)};
	k_while_end(&b, next, w);
	k_loop_end(&b, &w[1], &total);
	k_result(&b, 0, total);
	k_return(&b, 0, NULL);
	return m;
}

static int64_t collatz_in_c(int64_t n) {
	int64_t steps = 0;
	for (int64_t i = 1; i < n; i++)
		for (int64_t x = i; x > 1; steps++) x = x & 1 ? 3 * x + 1 : (int64_t)((uint64_t)x >> 1);
	return steps;
}

/* A damped pendulum by Euler's method on scalars: uniform arithmetic and scalar
 * transcendental functions. */
static KModule *pendulum_module(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef init[2] = {k_const(&b, KT_F64, 1), k_const(&b, KT_F64, 0)}, h = k_const(&b, KT_F64, 1e-3),
		 p[3], done[2];
	k_loop_begin(&b, k_int(&b, 0), k_word(&b, KT_I64, 0), 1, 2, init, p);
	KRef pull = k_add(&b, k_prim1(&b, OP_SIN, p[1]), k_mul(&b, p[2], k_const(&b, KT_F64, 0.1)));
	KRef next[2] = {k_add(&b, p[1], k_mul(&b, h, p[2])), k_sub(&b, p[2], k_mul(&b, h, pull))};
	k_loop_end(&b, next, done);
	k_result(&b, 0, done[0]);
	k_return(&b, 0, NULL);
	return m;
}

static double pendulum_in_c(int64_t n) {
	double x = 1, v = 0;
	for (int64_t i = 0; i < n; i++) {
		double pull = sin(x) + v * 0.1, was = v;
		v = v - 1e-3 * pull;
		x = x + 1e-3 * was;
	}
	return x;
}

static void bench(void) {
	static double x[4096 + 64] __attribute__((aligned(64))),
		y[4096 + 64] __attribute__((aligned(64)));
	void *buffers[2] = {x, y};
	printf("%s, milliseconds of processor time\ntype lanes padded level  compile ms  bytes  "
	       "ns/element\n",
	       target.cpu);
	for (int real = 0; real < 2; real++)
		for (uint32_t wide = 1; wide <= 4; wide *= 2)
			for (uint32_t flags = 0; flags < 2; flags++)
				for (level = 0; level <= 2; level++) {
					KType t = real ? KT_F32 : KT_F64;
					uint32_t lanes = target.vector_bytes / ktype_size(t) * wide;
					double ms = 1e9;
					Code code = {0};
					for (int k = 0; k < 7; k++) {
						forget(&code);
						code = compile(chain_module(t, lanes, flags));
						if (code.seconds * 1e3 < ms) ms = code.seconds * 1e3;
					}
					for (int k = 0; k < 4096; k++)
						if (real) ((float *)x)[k] = (float)random_number(-2, 2);
						else x[k] = random_number(-2, 2);
					printf("%s %5u %6u %5d %11.2f %6zu %11.3f\n", real ? "f32 " : "f64 ", lanes,
					       flags, level, ms, code.bytes,
					       quickest(&code, buffers, 1000, 300) / 1000 * 1e9);
					forget(&code);
				}
	volatile double sink = 0;
	for (int which = 0; which < 3; which++) {
		const int64_t n = which == 0 ? 35 : which == 1 ? 300000 : 100000;
		double in_c = 1e9;
		for (int k = 0; k < 5; k++) {
			double begin = now();
			sink += which == 0   ? (double)fib_in_c(n)
			        : which == 1 ? (double)collatz_in_c(n)
			                     : pendulum_in_c(n);
			if (now() - begin < in_c) in_c = now() - begin;
		}
		(void)sink;
		printf("%s: C here %.1f ms",
		       which == 0   ? "fib(35)"
		       : which == 1 ? "collatz"
		                    : "pendulum",
		       in_c * 1e3);
		for (level = 0; level <= 2; level++) {
			Code code = {0};
			double ms = 1e9;
			for (int k = 0; k < 5; k++) {
				forget(&code);
				code = compile(which == 0   ? fib_module()
				               : which == 1 ? collatz_module()
				                            : pendulum_module());
				if (code.seconds * 1e3 < ms) ms = code.seconds * 1e3;
			}
			printf("; level %d %.1f ms, compiled in %.2f ms, %zu bytes", level,
			       quickest(&code, NULL, n, 1) * 1e3, ms, code.bytes);
			forget(&code);
		}
		printf("\n");
	}
}

#endif
