/* test_kir_values.c - unit tests of the values of generated code.
 *
 * Covers primitives, conversions, epilogues, masks, reductions, strides and
 * indices.
 * Oracle: lang's scalar primitives and plain C. Arrays end at a page that may
 * not be touched.
 *
 * Needs: help.h.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "tests/unit/codegen/help.h"

/* ---- primitives ---------------------------------------------------------- */

static const Dtype dtypes[] = {DT_BOOL, DT_I32, DT_I64, DT_F32, DT_F64};

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

/* ---- targets ------------------------------------------------------------- */

static void test_target(void) {
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
}

/* Loops whose full vectors and epilogue share one body. */
static void test_once(void) {
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
}

int main(int argc, char **argv) {
	return run_on_targets(argc, argv, &(TargetTests){.each = test_target, .once = test_once});
}
