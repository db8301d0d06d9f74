/* test_kir_semantics.c - unit tests of the semantics of generated code.
 *
 * Oracle: lang's scalar primitives and plain C. Each target that this machine
 * runs is tested at both levels. Arrays end at a page that may not be touched.
 *
 * Needs: the code generator's library (libatled-codegen.so in the folder above
 * the tests, or named by ATLED_CODEGEN), cc and ld to link its output,
 * native/kir.c and native/target.c.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 * Usage: TEST_ONLY names one target, or "rest" for the checks of no target or
 * of all of them. --bench prints compile times and speeds instead.
 */
#include "tests/unit/codegen/help.h"

/* ---- primitives ---------------------------------------------------------- */

static const Dtype dtypes[] = {DT_BOOL, DT_I32, DT_I64, DT_F32, DT_F64};

static void put(Dtype d, void *at, double x) {
	double v = x;
	scalar_convert(DT_F64, &v, d, at);
}

/* Special values, then values of every magnitude, then small ones. */
static void fill(Dtype d, char *at, int n, double lo, double hi, int shift) {
	static const double special[] = {
		0.0,  -0.0, 1, -1,   INFINITY, -INFINITY, NAN,    2,  -2,   0.5,
		-0.5, 2.5,  3, -3.5, 1e300,    -1e300,    1e-310, 64, 1e17, 4503599627370497.5};
	static const int64_t whole[] = {0, 1,         -1,        2,         -2,        3,  -3,
	                                7, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 63, 64};
	size_t size = dtype_size(d);
	for (int i = 0; i < n; i++) {
		int k = i / (shift ? 23 : 1) % 23;
		void *to = at + (size_t)i * size;
		double x = random_number(lo, hi);
		int64_t w = (int64_t)random_number(-9, 9);
		switch (d) {
		case DT_BOOL: *(bool *)to = random_bits() & 1; break;
		case DT_I32: *(int32_t *)to = (int32_t)(k < 14 ? whole[k] : w); break;
		case DT_I64:
			*(int64_t *)to = k < 14 ? whole[k] : i % 7 == 0 ? (int64_t)random_bits() : w;
			break;
		default: put(d, to, k < 20 ? special[k] : k == 20 ? x * 1e6 : x);
		}
	}
}

static int64_t as_ordered(Dtype d, const void *at) {
	int64_t bits;
	int32_t low;
	if (d == DT_F32) {
		memcpy(&low, at, 4);
		return low < 0 ? INT32_MIN - (int64_t)low : low;
	}
	memcpy(&bits, at, 8);
	return bits < 0 ? INT64_MIN - bits : bits;
}

/* Returns the distance in units of the last place. It is 0 for two NaNs and
 * infinite when only one is NaN. */
static double distance(Dtype d, const void *x, const void *y) {
	if (d != DT_F32 && d != DT_F64) return memcmp(x, y, dtype_size(d)) ? INFINITY : 0;
	double p, q;
	scalar_convert(d, x, DT_F64, &p);
	scalar_convert(d, y, DT_F64, &q);
	if (p != p || q != q) return (p != p) == (q != q) ? 0 : INFINITY;
	return fabs((double)((__int128)as_ordered(d, x) - as_ordered(d, y)));
}

static double to_double(Dtype d, const void *x) {
	double v;
	scalar_convert(d, x, DT_F64, &v);
	return v;
}

/* Returns the allowed error. Transcendental functions use the vector library
 * and need not agree to the bit; for some the C library's own error counts
 * too. */
static double allowed(Op op) {
	switch (op) {
	case OP_CBRT:
	case OP_EXP:
	case OP_EXPM1:
	case OP_LOG:
	case OP_LOG1P:
	case OP_SIN:
	case OP_COS:
	case OP_TAN:
	case OP_ASIN:
	case OP_ACOS:
	case OP_ATAN:
	case OP_SINH:
	case OP_COSH:
	case OP_TANH:
	case OP_ERF:
	case OP_POW:
	case OP_ATAN2: return 4;
	default: return 0;
	}
}

enum { N_PRIM = 23 * 23 + 5 };

/* All primitives that take dtype d in one kernel: buffers 0 and 1 are the
 * operands, 2 + k the results of the k-th. lanes 0: a plain loop on uniform
 * values. */
static void test_prims(Dtype d, uint32_t lanes) {
	Op list[OP_COUNT];
	uint32_t n = 0;
	for (int op = 1; op < OP_COUNT; op++)
		if (prims[op].elementwise && prims[op].kinds & dtype_kind(d)) list[n++] = (Op)op;
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KType t = ktype_of(d);
	k_function(&b, m, 0);
	KRef in[2] = {k_buffer(&b, 0), k_buffer(&b, 1)}, out[OP_COUNT], count = k_word(&b, KT_I64, 0),
		 i;
	for (uint32_t k = 0; k < n; k++) out[k] = k_buffer(&b, 2 + k);
	KMode mode = lanes ? KM_UNIT : KM_UNIFORM;
	if (lanes) k_vloop_begin(&b, lanes, 0, count, 0, NULL, NULL, &i);
	else k_loop_begin(&b, k_int(&b, 0), count, 1, 0, NULL, &i);
	KRef x = k_load(&b, t, mode, in[0], i, 0), y = k_load(&b, t, mode, in[1], i, 0);
	for (uint32_t k = 0; k < n; k++) {
		KRef r = prims[list[k]].nargs == 2 ? k_prim2(&b, list[k], x, y) : k_prim1(&b, list[k], x);
		k_store(&b, mode, out[k], i, r, 0);
	}
	if (lanes) k_vloop_end(&b, NULL, NULL);
	else k_loop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	if (!code.entry) return;

	static char memory[2 + OP_COUNT][(N_PRIM + 64) * 8] __attribute__((aligned(64)));
	void *buffers[2 + OP_COUNT];
	for (uint32_t k = 0; k < 2 + n; k++) buffers[k] = memory[k];
	size_t size = dtype_size(d);
	for (int round = 0; round < 2; round++) {
		/* The second round uses each primitive's own domain from prims.def. */
		for (uint32_t k = 0; k < (round ? n : 1); k++) {
			const Prim *own = &prims[list[k]];
			if (round && !(d == DT_F32 || d == DT_F64)) break;
			fill(d, memory[0], N_PRIM, own->lo, own->hi, 0);
			fill(d, memory[1], N_PRIM, own->lo, own->hi, 1);
			for (int e = 0; round && e < N_PRIM; e++) {
				put(d, memory[0] + (size_t)e * size, random_number(own->lo, own->hi));
				put(d, memory[1] + (size_t)e * size, random_number(own->lo, own->hi));
			}
			CHECK(call(&code, buffers, (int64_t[]){N_PRIM}, NULL) == 0);
			for (uint32_t j = round ? k : 0; j < (round ? k + 1 : n); j++) {
				int bad = 0, first = 0;
				double worst = 0;
				Dtype rd = prims[list[j]].result == RESULT_BOOL ? DT_BOOL : d;
				for (int e = 0; e < N_PRIM; e++) {
					uint64_t want = 0;
					const char *px = memory[0] + (size_t)e * size,
							   *py = memory[1] + (size_t)e * size,
							   *got = memory[2 + j] + (size_t)e * dtype_size(rd);
					if (scalar_apply(list[j], d, px, py, &want)) continue;
					double off = distance(rd, got, &want);
					if (off > worst) worst = off;
					if (off > allowed(list[j]) && !bad++) first = e;
				}
				uint64_t want = 0;
				const char *px = memory[0] + (size_t)first * size,
						   *py = memory[1] + (size_t)first * size,
						   *got = memory[2 + j] + (size_t)first * dtype_size(rd);
				scalar_apply(list[j], d, px, py, &want);
				CHECK_MSG(!bad,
				          "%s of %s, lanes %u: %d wrong, first x=%.17g y=%.17g got %.17g want "
				          "%.17g (%g ulp)",
				          prims[list[j]].name, dtype_name(d), lanes, bad, to_double(d, px),
				          to_double(d, py), to_double(rd, got), to_double(rd, &want), worst);
			}
		}
	}
	forget(&code);
}

/* ---- conversions --------------------------------------------------------- */

/* From d to every dtype: buffer 0 in, 1 + k out; lanes 0: uniform. */
static void test_convert(Dtype d, uint32_t lanes) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out[5], count = k_word(&b, KT_I64, 0), i;
	for (uint32_t k = 0; k < 5; k++) out[k] = k_buffer(&b, 1 + k);
	KMode mode = lanes ? KM_UNIT : KM_UNIFORM;
	if (lanes) k_vloop_begin(&b, lanes, 0, count, 0, NULL, NULL, &i);
	else k_loop_begin(&b, k_int(&b, 0), count, 1, 0, NULL, &i);
	KRef x = k_load(&b, ktype_of(d), mode, in, i, 0);
	for (uint32_t k = 0; k < 5; k++)
		k_store(&b, mode, out[k], i, k_convert(&b, x, ktype_of(dtypes[k])), 0);
	if (lanes) k_vloop_end(&b, NULL, NULL);
	else k_loop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	static char memory[6][(N_PRIM + 64) * 8] __attribute__((aligned(64)));
	void *buffers[6] = {memory[0], memory[1], memory[2], memory[3], memory[4], memory[5]};
	static const double edges[] = {2147483647.0,
	                               2147483648.0,
	                               2147483647.5,
	                               -2147483648.0,
	                               -2147483648.5,
	                               -2147483649.0,
	                               9223372036854775807.0,
	                               -9223372036854775808.0,
	                               9.3e18,
	                               -9.3e18,
	                               0.99,
	                               -0.99,
	                               16777217,
	                               3e38,
	                               4e38,
	                               1e-46};
	size_t size = dtype_size(d);
	fill(d, memory[0], N_PRIM, -1e10, 1e10, 0);
	for (uint32_t k = 0; k < sizeof edges / sizeof *edges; k++)
		put(d, memory[0] + (30 + k) * size, edges[k]);
	CHECK(call(&code, buffers, (int64_t[]){N_PRIM}, NULL) == 0);
	for (uint32_t k = 0; k < 5; k++) {
		int bad = 0;
		for (int e = 0; e < N_PRIM; e++) {
			uint64_t want = 0;
			const char *px = memory[0] + (size_t)e * size,
					   *got = memory[1 + k] + (size_t)e * dtype_size(dtypes[k]);
			scalar_convert(d, px, dtypes[k], &want);
			if (distance(dtypes[k], got, &want) != 0 && !bad++)
				CHECK_MSG(false, "%s to %s, lanes %u: %.17g gives %.17g", dtype_name(d),
				          dtype_name(dtypes[k]), lanes, to_double(d, px),
				          to_double(dtypes[k], got));
		}
		CHECK(!bad);
	}
	forget(&code);
}

/* ---- epilogues, masks, reductions ---------------------------------------- */

/* out[i] = x[i] + x[i] (or of bools), and the sum (or any) of x by carried
 * lanes and a reduction, for every extent. */
static void test_tails(Dtype d, uint32_t lanes, uint32_t flags) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KType t = ktype_of(d);
	Op op = d == DT_BOOL ? OP_MAX : OP_ADD;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), count = k_word(&b, KT_I64, 0),
		 init = k_const(&b, t, 0), params[2], sum;
	k_vloop_begin(&b, lanes, flags, count, 1, &init, (bool[]){true}, params);
	KRef x = k_load(&b, t, KM_UNIT, in, params[0], 0);
	k_store(&b, KM_UNIT, out, params[0], k_prim2(&b, op, x, x), 0);
	KRef next = k_select(&b, k_mask(&b), k_prim2(&b, op, params[1], x), params[1]);
	k_vloop_end(&b, &next, &sum);
	k_result(&b, 0, k_reduce_lanes(&b, op, sum));
	k_return(&b, 0, NULL);
	Code code = compile(m);
	if (compile_only) return;
	char *from = guarded(), *to = guarded();
	size_t size = dtype_size(d);
	bool ok = true;
	for (int64_t n = 0; n <= 3 * lanes + 1; n++) {
		size_t room = flags & KF_PADDED ? 64 + lanes * size : 0, bytes = (size_t)n * size;
		char *x0 = at_end(from, bytes + room), *y0 = at_end(to, bytes + room);
		double lane[64] = {0};
		for (int64_t e = 0; e < n; e++) {
			double v = d == DT_BOOL ? e == n / 2 : floor(random_number(-99, 99));
			put(d, x0 + (size_t)e * size, v);
			lane[e % lanes] += v;
		}
		int64_t result = -1;
		ok &= call(&code, (void *[]){x0, y0}, (int64_t[]){n}, &result) == 0;
		for (int64_t e = 0; e < n; e++)
			ok &= to_double(d, y0 + (size_t)e * size) ==
			      to_double(d, x0 + (size_t)e * size) * (d == DT_BOOL ? 1 : 2);
		ok &= untouched(to, bytes + room);
		double want = 0;
		for (uint32_t l = 0; l < lanes; l++) want += lane[l];
		uint64_t word = 0;
		put(d, &word, want);
		if (d == DT_I32) word = (uint64_t)(int64_t)(int32_t)word;
		if (word != (uint64_t)result && ok) {
			CHECK_MSG(false, "sum of %lld %s in %u lanes, flags %u: %llx, not %llx", (long long)n,
			          dtype_name(d), lanes, flags, (unsigned long long)result,
			          (unsigned long long)word);
			ok = false;
		}
	}
	CHECK_MSG(ok, "tails of %s in %u lanes, flags %u", dtype_name(d), lanes, flags);
	munmap(from, ROOM + page());
	munmap(to, ROOM + page());
	forget(&code);
}

/* out[i] = x[i] + x[i], where[i] = i, without carried values, for every extent.
 * The epilogue may use half vectors. An inner loop carries a value too. */
static void test_rests(Dtype d, uint32_t lanes) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KType t = ktype_of(d);
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), where = k_buffer(&b, 2),
		 count = k_word(&b, KT_I64, 0), base, p[2], twice;
	k_vloop_begin(&b, lanes, 0, count, 0, NULL, NULL, &base);
	KRef x = k_load(&b, t, KM_UNIT, in, base, 0),
		 none = k_select(&b, k_mask(&b), k_const(&b, t, 0), x);
	k_loop_begin(&b, k_int(&b, 0), k_int(&b, 2), 1, 1, &none, p);
	KRef more = k_prim2(&b, d == DT_BOOL ? OP_MAX : OP_ADD, p[1], x);
	k_loop_end(&b, &more, &twice);
	k_store_exact(&b, out, base, twice, 0);
	k_store(&b, KM_UNIT, where, base, k_add(&b, base, k_lane(&b)), 0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	if (compile_only) return;
	char *from = guarded(), *to = guarded(), *places = guarded();
	const size_t size = dtype_size(d);
	bool ok = true;
	for (int64_t n = 0; n <= 3 * lanes + 1; n++) {
		const size_t bytes = (size_t)n * size;
		char *x0 = at_end(from, bytes), *y0 = at_end(to, bytes),
			 *z0 = at_end(places, (size_t)n * 8);
		for (int64_t e = 0; e < n; e++)
			put(d, x0 + (size_t)e * size,
			    d == DT_BOOL ? e % 3 == 0 : floor(random_number(-99, 99)));
		ok &= call(&code, (void *[]){x0, y0, z0}, (int64_t[]){n}, NULL) == 0;
		for (int64_t e = 0; e < n; e++) {
			ok &= to_double(d, y0 + (size_t)e * size) ==
			      to_double(d, x0 + (size_t)e * size) * (d == DT_BOOL ? 1 : 2);
			ok &= ((const int64_t *)(const void *)z0)[e] == e;
		}
		ok &= untouched(to, bytes) && untouched(places, (size_t)n * 8);
	}
	CHECK_MSG(ok, "rests of %s in %u lanes", dtype_name(d), lanes);
	munmap(from, ROOM + page());
	munmap(to, ROOM + page());
	munmap(places, ROOM + page());
	forget(&code);
}

/* Reductions combine halves in a fixed order, so rounding is fixed too. */
static void test_folds(Dtype d, uint32_t lanes) {
	static const Op ops[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KType t = ktype_of(d);
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), base, n = k_int(&b, lanes);
	k_vloop_begin(&b, lanes, 0, n, 0, NULL, NULL, &base);
	KRef x = k_load(&b, t, KM_UNIT, in, base, 0);
	uint32_t from = d == DT_BOOL ? 2 : 0;
	for (uint32_t k = from; k < 4; k++) k_result(&b, k, k_reduce_lanes(&b, ops[k], x));
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	size_t size = dtype_size(d);
	for (int round = 0; round < 20; round++) {
		uint64_t x0[64], results[4], tree[64];
		for (uint32_t l = 0; l < lanes; l++)
			put(d, (char *)x0 + l * size,
			    d == DT_BOOL                       ? (double)(random_bits() & 1)
			    : round % 5 == 4 && l == lanes / 2 ? NAN
			                                       : random_number(-9, 9));
		CHECK(call(&code, (void *[]){x0}, NULL, (int64_t *)results) == 0);
		for (uint32_t k = from; k < 4; k++) {
			memcpy(tree, x0, lanes * size);
			for (uint32_t half = lanes / 2; half; half /= 2)
				for (uint32_t l = 0; l < half; l++)
					scalar_apply(ops[k], d, (char *)tree + l * size,
					             (char *)tree + (l + half) * size, (char *)tree + l * size);
			CHECK_MSG(distance(d, &results[k], tree) == 0,
			          "fold %s of %s in %u lanes: %.17g not %.17g", prims[ops[k]].name,
			          dtype_name(d), lanes, to_double(d, &results[k]), to_double(d, tree));
		}
	}
	forget(&code);
}

/* Stores write only the loop's elements although its loads may read more. They
 * are normal or streaming, at any alignment. Prefetches refer to addresses past
 * the array. */
static void test_exact(Dtype d, uint32_t lanes) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KType t = ktype_of(d);
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), count = k_word(&b, KT_I64, 0),
		 past = k_word(&b, KT_BOOL, 1), base;
	k_vloop_begin(&b, lanes, KF_PADDED, count, 0, NULL, NULL, &base);
	KRef x = k_load(&b, t, KM_UNIT, in, base, 0);
	k_prefetch(&b, t, in, k_add(&b, base, k_int(&b, 1 << 20)));
	k_store_exact(&b, out, base, x, past);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	char *from = guarded(), *to = guarded();
	size_t size = dtype_size(d);
	bool ok = true;
	for (int64_t n = 0; n <= 3 * lanes + 3; n++)
		for (int64_t how = 0; how < 2; how++)
			for (size_t shift = 0; shift < 64; shift += 16) {
				size_t bytes = (size_t)n * size;
				char *x0 = at_end(from, bytes + 64 + lanes * size), *y0 = at_end(to, bytes + shift);
				for (int64_t e = 0; e < n; e++)
					put(d, x0 + (size_t)e * size,
					    d == DT_BOOL ? (double)(random_bits() & 1) : (double)(e + 1));
				memset(y0, 0x5a, bytes + shift);
				ok &= call(&code, (void *[]){x0, y0}, (int64_t[]){n, how}, NULL) == 0 &&
				      !memcmp(x0, y0, bytes);
				for (size_t i = 0; i < shift; i++) ok &= y0[bytes + i] == 0x5a;
			}
	CHECK(ok);
	forget(&code);
}

/* ---- strides, indices ---------------------------------------------------- */

/* out[start + i*to_stride] = x[first + i*from_stride]; the strides are
 * constants of the code or words. */
static void test_strides(Dtype d, uint32_t lanes, int64_t from_stride, int64_t to_stride,
                         bool known) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KType t = ktype_of(d);
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), count = k_word(&b, KT_I64, 0),
		 first = k_word(&b, KT_I64, 1), start = k_word(&b, KT_I64, 2), base;
	KRef fs = known ? k_int(&b, from_stride) : k_word(&b, KT_I64, 3),
		 ts = known ? k_int(&b, to_stride) : k_word(&b, KT_I64, 4);
	k_vloop_begin(&b, lanes, KF_PADDED, count, 0, NULL, NULL, &base);
	KRef x = k_load(&b, t, KM_STRIDED, in, k_add(&b, first, k_mul(&b, base, fs)), fs);
	k_store(&b, KM_STRIDED, out, k_add(&b, start, k_mul(&b, base, ts)), x, ts);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	char *from = guarded(), *to = guarded();
	size_t size = dtype_size(d);
	bool ok = true;
	for (int64_t n = 0; n <= 2 * lanes + 3; n++) {
		int64_t fspan = n ? llabs(from_stride) * (n - 1) + 1 : 0,
				tspan = n ? llabs(to_stride) * (n - 1) + 1 : 0;
		char *x0 = at_end(from, (size_t)fspan * size), *y0 = at_end(to, (size_t)tspan * size);
		char was[ROOM / 8];
		for (int64_t e = 0; e < fspan; e++)
			put(d, x0 + (size_t)e * size,
			    d == DT_BOOL ? (double)(random_bits() & 1) : (double)(e + 1));
		memcpy(was, y0, (size_t)tspan * size);
		int64_t f0 = from_stride < 0 ? fspan - 1 : 0, t0 = to_stride < 0 ? tspan - 1 : 0;
		ok &= call(&code, (void *[]){x0, y0}, (int64_t[]){n, f0, t0, from_stride, to_stride},
		           NULL) == 0;
		for (int64_t e = 0; e < n; e++)
			if (to_stride || e == n - 1) {
				ok &= !memcmp(y0 + (size_t)(t0 + e * to_stride) * size,
				              x0 + (size_t)(f0 + e * from_stride) * size, size);
				memcpy(was + (size_t)(t0 + e * to_stride) * size,
				       y0 + (size_t)(t0 + e * to_stride) * size, size);
			}
		ok &= !memcmp(was, y0, (size_t)tspan * size) && untouched(to, (size_t)tspan * size);
	}
	CHECK_MSG(ok, "strides %lld to %lld of %s in %u lanes, known %d", (long long)from_stride,
	          (long long)to_stride, dtype_name(d), lanes, known);
	munmap(from, ROOM + page());
	munmap(to, ROOM + page());
	forget(&code);
}

/* out[j[i]] = x[j[i]] over a permutation; then, of equal indices, the last one
 * wins. */
static void test_indices(Dtype d, uint32_t lanes) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KType t = ktype_of(d);
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), index = k_buffer(&b, 2),
		 count = k_word(&b, KT_I64, 0), base;
	k_vloop_begin(&b, lanes, 0, count, 0, NULL, NULL, &base);
	KRef j = k_load(&b, KT_I64, KM_UNIT, index, base, 0);
	k_store(&b, KM_INDEXED, out, j, k_load(&b, t, KM_INDEXED, in, j, 0), 0);
	KRef place = k_add(&b, count, k_logic(&b, 0, j, k_int(&b, 1))); /* count or count + 1 */
	k_store(&b, KM_INDEXED, out, place, k_load(&b, t, KM_UNIT, in, base, 0), 0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	char *from = guarded(), *to = guarded(), *where = guarded();
	size_t size = dtype_size(d);
	bool ok = true;
	for (int64_t n = 0; n <= 2 * lanes + 3; n++) {
		char *x0 = at_end(from, (size_t)n * size), *y0 = at_end(to, (size_t)(n + 2) * size);
		int64_t *j0 = at_end(where, (size_t)n * 8), last_of[2] = {-1, -1};
		for (int64_t e = 0; e < n; e++) {
			put(d, x0 + (size_t)e * size,
			    d == DT_BOOL ? (double)(random_bits() & 1) : (double)(e + 1));
			j0[e] = e;
		}
		for (int64_t e = n - 1; e > 0; e--) {
			int64_t k = (int64_t)(random_bits() % (uint64_t)(e + 1)), swap = j0[e];
			j0[e] = j0[k];
			j0[k] = swap;
		}
		for (int64_t e = 0; e < n; e++) last_of[j0[e] & 1] = e;
		ok &= call(&code, (void *[]){x0, y0, j0}, (int64_t[]){n}, NULL) == 0;
		ok &= !memcmp(x0, y0, (size_t)n * size) && untouched(to, (size_t)(n + 2) * size);
		for (int k = 0; k < 2; k++)
			if (last_of[k] >= 0)
				ok &= !memcmp(y0 + (size_t)(n + k) * size, x0 + (size_t)last_of[k] * size, size);
	}
	CHECK_MSG(ok, "indices of %s in %u lanes", dtype_name(d), lanes);
	munmap(from, ROOM + page());
	munmap(to, ROOM + page());
	munmap(where, ROOM + page());
	forget(&code);
}

/* ---- control ------------------------------------------------------------- */

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

/* A long block of every kind of instruction that can be split into vectors,
 * with two checks inside. */
static Code long_stretch(KType t, uint32_t lanes) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	m->nsites = 6;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), count = k_word(&b, KT_I64, 0), base;
	k_vloop_begin(&b, lanes, 0, count, 0, NULL, NULL, &base);
	KRef x = k_load(&b, t, KM_UNIT, in, base, 0), at = k_add(&b, base, k_lane(&b)),
		 y = k_convert(&b, at, t), odd = 0, z = k_const(&b, t, 1);
	for (int k = 0; k < 12; k++) {
		y = k_add(&b, k_mul(&b, y, k_const(&b, t, 0.25)),
		          k_prim2(&b, OP_DIV, x, k_const(&b, t, k + 3)));
		KRef less = k_lt(&b, y, x);
		odd = odd ? k_logic(&b, k % 3, odd, less) : less;
		z = k_select(&b, odd, k_sub(&b, z, y), k_prim1(&b, OP_FLOOR, k_add(&b, x, z)));
		if (k == 4)
			k_fail_if(&b, k_prim2(&b, OP_EQ, x, k_const(&b, t, -7)), 3, at,
			          k_shift(&b, 0, at, k_int(&b, 1)));
		if (k == 8)
			k_fail_if(&b, k_logic(&b, 0, k_mask(&b), k_lt(&b, x, k_const(&b, t, -8))), 4,
			          k_convert(&b, x, KT_I64), at);
	}
	KRef whole = k_prim1(&b, OP_NEG, k_convert(&b, k_muladd(&b, z, x, y), KT_I64));
	k_store(&b, KM_UNIT, out, base, k_select(&b, odd, k_convert(&b, whole, t), z), 0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	return compile(m);
}

/* Results and failures are bit-identical however many registers a vector
 * takes. */
static void test_stretch(Dtype d) {
	const uint32_t one = target.vector_bytes / (uint32_t)dtype_size(d);
	if (one < 2) return;
	static char memory[3][70 * 8] __attribute__((aligned(64)));
	Code plain = long_stretch(ktype_of(d), one);
	for (uint32_t times = 2; times <= 4; times *= 2) {
		Code code = long_stretch(ktype_of(d), times * one);
		bool same = true, told = true;
		for (int64_t n = 0; n < 70; n++) {
			for (int64_t k = 0; k < 70; k++)
				put(d, memory[0] + (size_t)k * dtype_size(d), random_number(-3, 3));
			memset(memory[1], 1, sizeof memory[1]);
			memset(memory[2], 1, sizeof memory[2]);
			same &= call(&plain, (void *[]){memory[0], memory[1]}, (int64_t[]){n}, NULL) == 0;
			same &= call(&code, (void *[]){memory[0], memory[2]}, (int64_t[]){n}, NULL) == 0;
			same &= !memcmp(memory[1], memory[2], sizeof memory[1]);
			for (int64_t bad = 0; bad < n; bad += 3) {
				const int first = bad % 2;
				put(d, memory[0] + (size_t)bad * dtype_size(d), first ? -7 : -9);
				told &= call(&code, (void *[]){memory[0], memory[2]}, (int64_t[]){n}, NULL) ==
				            NATIVE_FAILED_AT_SITE &&
				        last.site == (first ? 3 : 4);
				told &= last.fail_a == (first ? bad : -9) && last.fail_b == (first ? 2 * bad : bad);
				put(d, memory[0] + (size_t)bad * dtype_size(d), 1);
			}
		}
		CHECK_MSG(same, "a long stretch of %s on vectors of %u registers", dtype_name(d), times);
		CHECK_MSG(told, "failures in a long stretch of %s on vectors of %u registers",
		          dtype_name(d), times);
		forget(&code);
	}
	forget(&plain);
}

/* Loads around an element in random order, with a store in between. */
static KModule *stencil(KType t, uint32_t lanes, uint64_t seed) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef from[2] = {k_buffer(&b, 0), k_buffer(&b, 1)}, row = k_word(&b, KT_I64, 1),
		 n = k_word(&b, KT_I64, 0), base;
	k_vloop_begin(&b, lanes, 0, n, 0, NULL, NULL, &base);
	KRef sum = k_const(&b, t, 1), here = k_add(&b, row, base);
	for (int k = 0; k < 16; k++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		const uint32_t r = (uint32_t)(seed >> 33);
		if (k % 8 == 7) {
			k_store(&b, KM_UNIT, from[1], here, sum, 0);
			continue;
		}
		KRef at = r & 8 ? k_sub(&b, here, k_int(&b, 2 - (int)(r % 5)))
		                : k_add(&b, row, k_add(&b, base, k_int(&b, (int)(r % 5) - 2)));
		sum = k_add(&b, k_mul(&b, sum, k_const(&b, t, 3)),
		            r >> 4 & 3 ? k_load(&b, t, KM_UNIT, from[0], at, 0)
		                       : k_load(&b, t, KM_UNIT, from[1], here, 0));
	}
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	return m;
}

/* Loads that are built from neighbouring loads equal separate loads. Nothing
 * past the array is read. */
static void test_neighbours(Dtype d, uint32_t lanes) {
	const int as_asked = level;
	const size_t size = dtype_size(d), bytes = 80 * size;
	char *from = guarded(), *to = guarded();
	bool same = true;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		/* Full vectors and remainders; several iterations, one and none. */
		static const int64_t lengths[] = {76, 71, 66, 32, 17, 8, 3, 0};
		enum { LENGTHS = sizeof lengths / sizeof *lengths };
		static char result[2][LENGTHS][80 * 8];
		for (int which = 0; which < 2; which++) {
			level = which ? as_asked : 0;
			Code code = compile(stencil(ktype_of(d), lanes, seed));
			for (int k = 0; k < LENGTHS; k++) {
				const int64_t n = lengths[k];
				char *x = at_end(from, (size_t)(n + 4) * size),
					 *y = at_end(to, (size_t)(n + 4) * size);
				for (int64_t i = 0; i < n + 4; i++)
					put(d, x + (size_t)i * size, (double)(i * i % 17)),
						put(d, y + (size_t)i * size, (double)(i % 5));
				same &= call(&code, (void *[]){x, y}, (int64_t[]){n, 2}, NULL) == 0;
				memset(result[which][k], 0, bytes);
				memcpy(result[which][k], y, (size_t)(n + 4) * size);
			}
			forget(&code);
		}
		same &= !memcmp(result[0], result[1], sizeof result[0]);
	}
	level = as_asked;
	CHECK_MSG(same, "neighbours of %s, %u lanes", dtype_name(d), lanes);
}

enum { ROWS = 9, MOST_IN_ROW = 19 };

/* Loads all elements of row j[i] in a permuted order and stores them as
 * to[k][i], some of them twice. Stores between the loads keep some loads from
 * being adjacent in the code. */
static KModule *rows_of_numbers(KType t, uint32_t lanes, int width) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef from = k_buffer(&b, 0), to = k_buffer(&b, 1), which = k_buffer(&b, 2),
		 n = k_word(&b, KT_I64, 0), base, x[MOST_IN_ROW];
	k_vloop_begin(&b, lanes, 0, n, 0, NULL, NULL, &base);
	KRef row = k_mul(&b, k_load(&b, KT_I64, KM_UNIT, which, base, 0), k_int(&b, width));
	for (int k = 0; k < width; k++) {
		const int at = (5 * k + 2) % width;
		x[at] = k_load(&b, t, KM_INDEXED, from, k_add(&b, row, k_int(&b, at)), 0);
		if (k % 7 == 6)
			k_store(&b, KM_UNIT, to, k_add(&b, base, k_mul(&b, n, k_int(&b, at))), x[at], 0);
	}
	for (int k = 0; k < width; k++)
		k_store(&b, KM_UNIT, to, k_add(&b, base, k_mul(&b, n, k_int(&b, k))), x[k], 0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	return m;
}

/* Each lane loads a row of its own. The values are those of the array, and
 * nothing outside is read, though its last row is used. */
static void test_rows(Dtype d, uint32_t lanes) {
	const size_t size = dtype_size(d);
	char *from = guarded(), *to = guarded();
	bool same = true;
	/* No multiples of five, so that 5 k + 2 visits every element of a row. */
	static const int widths[] = {2, 3, 11, MOST_IN_ROW};
	for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
		const int width = widths[w];
		Code code = compile(rows_of_numbers(ktype_of(d), lanes, width));
		for (int64_t n = 0; n <= 37; n += 1 + n / 3) {
			char *x = at_end(from, (size_t)(ROWS * width) * size),
				 *y = at_end(to, (size_t)(n * width) * size);
			int64_t which[64];
			for (int i = 0; i < ROWS * width; i++) put(d, x + (size_t)i * size, i + 1);
			for (int64_t i = 0; i < n; i++)
				which[i] = i % 4 ? (int64_t)(random_bits() % ROWS) : i % 8 ? ROWS - 1 : 0;
			same &= call(&code, (void *[]){x, y, which}, (int64_t[]){n}, NULL) == 0;
			for (int64_t i = 0; i < n; i++)
				for (int k = 0; k < width; k++)
					same &= !memcmp(y + (size_t)(k * n + i) * size,
					                x + (size_t)(which[i] * width + k) * size, size);
		}
		forget(&code);
	}
	CHECK_MSG(same, "rows of %s at places of %u lanes", dtype_name(d), lanes);
	munmap(from, ROOM + page());
	munmap(to, ROOM + page());
}

/* Loads from two rows by two index lists. Checks of both lists and a store
 * elsewhere separate the loads. With `pairs` the loads are pairs at a checked
 * index. Without it they are an element and, after a check of its own, the next
 * one. `to` receives the first elements by list 0, the second elements by list
 * 0, then the first elements by list 1. */
static KModule *checked_rows(KType t, uint32_t lanes, bool pairs) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	m->nsites = 3;
	k_function(&b, m, 0);
	KRef from = k_buffer(&b, 0), to = k_buffer(&b, 1),
		 lists[2] = {k_buffer(&b, 2), k_buffer(&b, 3)}, n = k_word(&b, KT_I64, 0),
		 length = k_word(&b, KT_I64, 1), base, at[2], x[3];
	KRef room = k_stack(&b, 64 * 8);
	k_vloop_begin(&b, lanes, 0, n, 0, NULL, NULL, &base);
	KRef inside = k_mask(&b), zero = k_int(&b, 0);
	for (int k = 0; k < 2; k++) {
		KRef place = k_load(&b, KT_I64, KM_UNIT, lists[k], base, 0),
			 outside = k_logic(&b, 1, k_lt(&b, place, zero), k_prim2(&b, OP_LE, length, place));
		k_fail_if(&b, k_logic(&b, 0, outside, inside), k, place, length);
		at[k] = pairs ? k_mul(&b, k_clamp_index(&b, outside, place), k_int(&b, 2))
		              : k_select(&b, outside, zero, place);
		x[k] = k_load(&b, t, KM_INDEXED, from, at[k], 0);
	}
	k_store(&b, KM_UNIT, room, base, x[0], 0);
	KRef next = k_add(&b, at[0], k_int(&b, 1)), beyond = k_prim2(&b, OP_LE, length, next);
	if (!pairs) k_fail_if(&b, k_logic(&b, 0, beyond, inside), 2, next, length);
	x[2] = k_load(&b, t, KM_INDEXED, from, pairs ? next : k_select(&b, beyond, zero, next), 0);
	k_store(&b, KM_UNIT, to, base, k_load(&b, t, KM_UNIT, room, base, 0), 0);
	k_store(&b, KM_UNIT, to, k_add(&b, base, n), x[2], 0);
	k_store(&b, KM_UNIT, to, k_add(&b, base, k_add(&b, n, n)), x[1], 0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	return m;
}

/* A check between two loads of a row does not separate them. A check that a
 * load needs is made before it. The last element of the array is at a page that
 * cannot be read. */
static void test_checked_rows(Dtype d, uint32_t lanes) {
	const size_t size = dtype_size(d);
	char *from = guarded(), *to = guarded();
	bool same = true;
	for (int pairs = 0; pairs < 2; pairs++) {
		Code code = compile(checked_rows(ktype_of(d), lanes, pairs));
		const int width = pairs ? 2 : 1;
		for (int64_t n = 0; n <= 37; n += 1 + n / 3)
			for (int64_t wrong = -1; wrong < n; wrong += 1 + n / 5) {
				char *x = at_end(from, (size_t)(ROWS * width) * size),
					 *y = at_end(to, (size_t)(3 * n) * size);
				int64_t lists[2][64];
				for (int i = 0; i < ROWS * width; i++) put(d, x + (size_t)i * size, i + 1);
				for (int64_t i = 0; i < n; i++) {
					lists[0][i] = (int64_t)(random_bits() % (uint64_t)(pairs ? ROWS : ROWS - 1));
					lists[1][i] = i % 3 ? ROWS - 1 : 0;
				}
				if (wrong >= 0) lists[pairs][wrong] = pairs ? ROWS + 5 * wrong : ROWS - 1;
				same &= (call(&code, (void *[]){x, y, lists[0], lists[1]}, (int64_t[]){n, ROWS},
				              NULL) == 0) == (wrong < 0);
				for (int64_t i = 0; i < n && wrong < 0; i++)
					for (int k = 0; k < 3; k++)
						same &=
							!memcmp(y + (size_t)(k * n + i) * size,
						            x + (size_t)(lists[k == 2][i] * width + (k == 1)) * size, size);
			}
		forget(&code);
	}
	CHECK_MSG(same, "checked rows of %s at places of %u lanes", dtype_name(d), lanes);
	munmap(from, ROOM + page());
	munmap(to, ROOM + page());
}

/* Values that use each other at random, some several times: many more than
 * there are registers. */
static KModule *tangle(KType t, uint64_t seed) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	KRef v[208], out;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0);
	out = k_buffer(&b, 1);
	for (int k = 0; k < 8; k++) v[k] = k_load(&b, t, KM_UNIFORM, in, k_int(&b, k), 0);
	for (int k = 8; k < 208; k++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		const uint32_t r = (uint32_t)(seed >> 33);
		const KRef x = v[k - 1 - (int)(r % 8 % (uint32_t)k)],
				   y = v[r / 8 % 4 ? (r / 32) % (uint32_t)k : (uint32_t)k - 1];
		switch (r >> 20 & 7) {
		case 0: v[k] = k_mul(&b, x, k_const(&b, t, 0.5 + k)); break;
		case 1: v[k] = k_prim2(&b, OP_DIV, x, k_add(&b, k_mul(&b, y, y), k_const(&b, t, 1))); break;
		case 2: v[k] = k_select(&b, k_lt(&b, x, y), k_sub(&b, y, x), y); break;
		case 3: v[k] = k_mul(&b, k_prim1(&b, OP_NEG, x), k_const(&b, t, 1.0 / 3)); break;
		case 4: v[k] = k_sub(&b, x, x); break;
		default:
			v[k] =
				k_add(&b, k_mul(&b, x, k_const(&b, t, 0.25)), k_mul(&b, y, k_const(&b, t, 0.625)));
		}
	}
	for (int k = 0; k < 20; k++) k_store(&b, KM_UNIFORM, out, k_int(&b, k), v[207 - 7 * k], 0);
	k_return(&b, 0, NULL);
	return m;
}

/* Reordered instructions give the same values as in program order. */
static void test_order(Dtype d) {
	const int as_asked = level;
	bool same = true;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		char from[64], to[2][160];
		for (int k = 0; k < 8; k++) put(d, from + (size_t)k * dtype_size(d), random_number(-3, 3));
		for (int which = 0; which < 2; which++) {
			level = which ? as_asked : 0;
			Code code = compile(tangle(ktype_of(d), seed));
			memset(to[which], 0, sizeof to[which]);
			same &= call(&code, (void *[]){from, to[which]}, NULL, NULL) == 0;
			forget(&code);
		}
		same &= !memcmp(to[0], to[1], sizeof to[0]);
	}
	level = as_asked;
	CHECK_MSG(same, "a long stretch of numbers of %s", dtype_name(d));
}

/* An output in the memory of its input, which is read again after the store;
 * two outputs; memory of the call. */
static void test_in_place(void) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	uint32_t lanes = target.vector_bytes / 8;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), two = k_buffer(&b, 2),
		 n = k_word(&b, KT_I64, 0), base;
	KRef hold = k_arena(&b, k_mul(&b, n, k_int(&b, 8)));
	k_vloop_begin(&b, lanes, 0, n, 0, NULL, NULL, &base);
	KRef x = k_load(&b, KT_F64, KM_UNIT, in, base, 0);
	k_store(&b, KM_UNIT, hold, base, x, 0);
	k_store(&b, KM_UNIT, out, base, k_add(&b, x, k_const(&b, KT_F64, 1)), 0);
	KRef again = k_load(&b, KT_F64, KM_UNIT, in, base, 0); /* the new value where out is in */
	k_store(&b, KM_UNIT, two, base, k_sub(&b, again, k_load(&b, KT_F64, KM_UNIT, hold, base, 0)),
	        0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	Code code = compile(m);
	static char memory[4096] __attribute__((aligned(64)));
	double x0[31], y0[31];
	for (int k = 0; k < 31; k++) x0[k] = k;
	arena_at = memory;
	arena_left = sizeof memory;
	CHECK(call(&code, (void *[]){x0, x0, y0}, (int64_t[]){31}, NULL) == 0);
	bool ok = true;
	for (int k = 0; k < 31; k++) ok &= x0[k] == k + 1 && y0[k] == 1;
	CHECK(ok);
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

/* Twenty operations on x, among them tanh and exp, and a read of y. */
static KRef chain(KBuilder *b, KType t, KRef x, KRef y) {
	KRef c = k_const(b, t, 0.7), d = k_const(b, t, 1.3), one = k_const(b, t, 1);
	KRef u = k_add(b, k_mul(b, x, c), y), v = k_sub(b, k_mul(b, y, d), x);
	KRef w = k_prim1(b, OP_TANH, u), e = k_prim1(b, OP_EXP, k_prim1(b, OP_NEG, k_mul(b, v, v)));
	KRef p = k_add(b, k_mul(b, w, e), one), q = k_sub(b, one, k_mul(b, w, w));
	KRef r = k_prim2(b, OP_DIV, k_add(b, k_mul(b, p, q), e), k_add(b, one, k_mul(b, u, u)));
	return k_add(b, k_mul(b, r, c), k_max(b, p, k_mul(b, q, d)));
}

static KModule *chain_module(KType t, uint32_t lanes, uint32_t flags) {
	KModule *m = kmodule_new(ctx, &target);
	KBuilder b;
	k_function(&b, m, 0);
	KRef in = k_buffer(&b, 0), out = k_buffer(&b, 1), n = k_word(&b, KT_I64, 0), base;
	k_vloop_begin(&b, lanes, flags, n, 0, NULL, NULL, &base);
	KRef x = k_load(&b, t, KM_UNIT, in, base, 0),
		 y = k_load(&b, t, KM_UNIT, in, k_add(&b, base, n), 0);
	k_store(&b, KM_UNIT, out, base, chain(&b, t, x, y), 0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	return m;
}

/* An element's result does not depend on the number of lanes, its position or
 * the padding. */
static void test_same_bits(void) {
	static double x[160] __attribute__((aligned(64))), y[128] __attribute__((aligned(64))),
		first[128];
	for (int real = 0; real < 2; real++) {
		KType t = real ? KT_F32 : KT_F64;
		bool ok = true, any = false;
		for (int k = 0; k < 160; k++) {
			double v = k < 77 ? 0.37 : k < 144 ? random_number(-2, 2) : 0;
			if (real) ((float *)x)[k] = (float)v;
			else x[k] = v;
		}
		for (uint32_t lanes = 1; lanes <= 4 * target.vector_bytes / ktype_size(t); lanes *= 4)
			for (uint32_t flags = 0; flags < 2; flags++) {
				Code code = compile(chain_module(t, lanes, flags));
				memset(y, 0, sizeof y);
				CHECK(call(&code, (void *[]){x, y}, (int64_t[]){77}, NULL) == 0);
				if (!any) memcpy(first, y, sizeof y);
				ok &= !memcmp(first, y, 77 * ktype_size(t));
				any = true;
				forget(&code);
			}
		CHECK_MSG(ok, "the same bits in every number of lanes, f%d", real ? 32 : 64);
	}
	/* The code is the same each time, too. */
	CodegenOptions options = {.entry = "entry", .level = level};
	CodegenOutput one, two;
	KModule *m = chain_module(KT_F64, target.vector_bytes / 8, 0);
	CHECK(!codegen(m, &options, &one) && !codegen(m, &options, &two) && one.n == two.n &&
	      !memcmp(one.bytes, two.bytes, one.n));
	free(one.bytes);
	free(two.bytes);
	kmodule_free(m);
}

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

static bool text_has(const KModule *m, const char *word) {
	CodegenOptions options = {.entry = "entry", .level = level, .assembly = true};
	CodegenOutput out;
	const bool has = !codegen(m, &options, &out) && strstr(out.bytes, word);
	free(out.bytes);
	return has;
}

/* The code uses the target's registers. For AVX-512: vectors, masks in the
 * epilogue, neighbouring loads by a permutation of two registers. For NEON:
 * vectors. The same kernel code gives the same bits for the shape of AVX-512,
 * without vectors, and for this machine's own target. */
static void test_wide(void) {
	static const char *const names[] = {"v3", "neon", "v4-shape", "neon-shape", "scalar-shape"};
	enum { NAMES = sizeof names / sizeof *names };
	const KTarget own = target;
	level = 2;
	const bool neon = native_target_named("neon", &target);
	CHECK(neon || native_target_named("v4", &target));
	KModule *m = stencil(KT_F64, 16, 2);
	if (neon) CHECK(text_has(m, ".2d"));
	else
		CHECK(text_has(m, "%zmm") && (text_has(m, "vpermt2pd") || text_has(m, "valignq")) &&
		      text_has(m, "{%k"));
	kmodule_free(m);
	static double x[300], y[NAMES][300];
	for (uint64_t seed = 1; seed <= 4; seed++) {
		int made = 0;
		for (int k = 0; k < NAMES; k++) {
			if (!native_target_named(names[k], &target) || !native_target_runs(&target)) continue;
			Code code = compile(stencil(KT_F64, 16, seed));
			for (int i = 0; i < 300; i++) x[i] = (i * i % 23 - 11) / 7.0, y[made][i] = i % 5;
			CHECK(call(&code, (void *[]){x, y[made]}, (int64_t[]){291, 2}, NULL) == 0 &&
			      !memcmp(y[made], y[0], sizeof y[0]));
			made++;
			forget(&code);
		}
	}
	target = own;
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

/* Loops whose full vectors and epilogue share one body. */
static void test_once(void) {
	static char memory[1 << 16] __attribute__((aligned(64)));
	arena_at = memory;
	arena_left = sizeof memory;
	once = true;
	level = 0;
	for (int d = 0; d < 5; d++) {
		uint32_t lanes = target.vector_bytes / (uint32_t)dtype_size(dtypes[d]);
		if (lanes > 16) lanes = 16;
		for (uint32_t l = 2; l <= 2 * lanes; l *= lanes > 2 ? lanes / 2 : 2) {
			test_tails(dtypes[d], l, 0);
			test_tails(dtypes[d], l, KF_PADDED);
			test_exact(dtypes[d], l);
			test_rests(dtypes[d], l);
			test_folds(dtypes[d], l);
		}
		test_indices(dtypes[d], lanes);
		test_strides(dtypes[d], lanes, -2, 3, false);
	}
	arena_at = memory;
	arena_left = sizeof memory;
	test_failures(0);
	test_failures(KF_PADDED);
	test_in_place();
	test_nests();
	test_same_bits();
	/* One body instead of two. */
	Code one = compile(chain_module(KT_F64, 8, 0));
	once = false;
	Code two = compile(chain_module(KT_F64, 8, 0));
	CHECK(one.bytes < two.bytes);
	forget(&one);
	forget(&two);
}

static void test_target(void) {
	static char memory[1 << 16] __attribute__((aligned(64)));
	for (int d = 0; d < 5; d++) {
		uint32_t lanes = target.vector_bytes / (uint32_t)dtype_size(dtypes[d]);
		if (lanes > 16) lanes = 16;
		test_prims(dtypes[d], 0);
		test_prims(dtypes[d], lanes);
		if (level) test_prims(dtypes[d], 2 * lanes);
		test_convert(dtypes[d], 0);
		test_convert(dtypes[d], lanes);
		for (uint32_t l = 1; l <= 2 * lanes; l *= l == 1 && lanes > 2 ? lanes / 2 : 2) {
			test_tails(dtypes[d], l, 0);
			test_tails(dtypes[d], l, KF_PADDED);
			test_exact(dtypes[d], l);
			test_rests(dtypes[d], l);
			if (l > 1) test_folds(dtypes[d], l);
		}
		test_indices(dtypes[d], lanes);
		for (int64_t stride = -2; stride <= 5; stride++) {
			test_strides(dtypes[d], lanes, stride, 1, true);
			if (stride) test_strides(dtypes[d], lanes, 1, stride, true);
		}
		test_strides(dtypes[d], lanes, -3, 3, false);
	}
	arena_at = memory;
	arena_left = sizeof memory;
	test_control();
	arena_at = memory;
	arena_left = sizeof memory;
	test_parallel();
	test_calls();
	test_failures(0);
	test_failures(KF_PADDED);
	test_stretch(DT_F64);
	test_stretch(DT_F32);
	if (level) test_order(DT_F64);
	for (uint32_t lanes = 4; level && lanes <= 16; lanes *= 2) {
		test_neighbours(DT_F64, lanes);
		test_neighbours(DT_F32, lanes);
		test_neighbours(DT_I64, lanes);
		test_rows(DT_F64, lanes);
		test_rows(DT_F32, lanes);
		test_rows(DT_I64, lanes);
		test_checked_rows(DT_F64, lanes);
		test_checked_rows(DT_F32, lanes);
	}
	if (level) test_order(DT_F32);
	test_in_place();
	test_outlined();
	test_apart();
	test_cut();
	test_nests();
	test_same_bits();
	test_errors();
}

#include "tests/unit/codegen/timings.h"

int main(int argc, char **argv) {
	char path[512];
	const char *library = getenv("ATLED_CODEGEN"), *slash = strrchr(argv[0], '/');
	snprintf(path, sizeof path, "%.*s/../libatled-codegen.so", slash ? (int)(slash - argv[0]) : 1,
	         slash ? argv[0] : ".");
	if (!library && access(path, F_OK)) {
		check_skip("there is no %s", path);
		return check_end();
	}
	void *so = dlopen(library ? library : path, RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		fprintf(stderr, "test_kir_semantics: %s\n", dlerror());
		return 1;
	}
	*(void **)&codegen = dlsym(so, "atled_codegen");
	if (!codegen || !mkdtemp(folder) || !make_stubs()) return 1;
	ctx = ctx_new(NULL);
	/* Targets of this architecture; then the lanes, registers and masks of
	 * others, and no vectors at all, with this machine's instructions. */
	static const char *const names[] = {"x86-64",   "v3",         "v4",          "neon",
	                                    "v4-shape", "neon-shape", "scalar-shape"};
	enum { NAMES = sizeof names / sizeof *names };
	target = *native_target();
	if (argc > 1 && !strcmp(argv[1], "--bench")) {
		bench();
		return 0;
	}
	const char *only = getenv("TEST_ONLY");
	const bool rest = !only || !strcmp(only, "rest");
	if (rest) test_threads();
	for (int k = 0; k < NAMES; k++) {
		if ((only && strcmp(names[k], only)) || !native_target_named(names[k], &target)) continue;
		compile_only = !native_target_runs(&target);
		check_pause(compile_only);
		for (level = compile_only || strstr(names[k], "shape") ? 2 : 0; level <= 2; level += 2)
			test_target();
		if (!compile_only) test_once();
	}
	compile_only = false;
	check_pause(false);
	target = *native_target();
	if (rest) {
		test_wide();
		target = *native_target();
		test_long_blocks();
	}
	ctx_free(ctx);
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command)) CHECK_MSG(false, "%s is left behind", folder);
	return check_end();
}
