/* test_kir_vectors.c - unit tests of vectors in generated code.
 *
 * Covers neighbouring loads, rows, checks between loads, the order of
 * instructions, memory that is read and written.
 * Oracle: the same kernel code with other vectors, without optimisation or for
 * other targets gives the same bits.
 *
 * Needs: help.h.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "tests/unit/codegen/help.h"

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

/* ---- targets ------------------------------------------------------------- */

static void test_target(void) {
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
	test_same_bits();
}

/* Loops whose full vectors and epilogue share one body. */
static void test_once(void) {
	test_in_place();
	test_same_bits();
	/* One body instead of two. */
	Code one = compile(chain_module(KT_F64, 8, 0));
	once = false;
	Code two = compile(chain_module(KT_F64, 8, 0));
	CHECK(one.bytes < two.bytes);
	forget(&one);
	forget(&two);
}

int main(int argc, char **argv) {
	return run_on_targets(
		argc, argv, &(TargetTests){.each = test_target, .once = test_once, .rest = test_wide});
}
