/* test_contractions.c - unit tests of contractions in generated code.
 *
 * Oracle: a plain loop in long double, for every form, flag, stride and
 * remainder. Arrays end at a page that may not be touched, and memory between
 * rows of C must not change.
 *
 * Needs: the code generator's library (libatled-codegen.so in the folder above
 * the tests, or named by ATLED_CODEGEN), ld to link its output, native/kir.c.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 * Usage: --bench prints speeds instead: GF/s with the peak of this core and
 * OpenBLAS.
 */
#include "backend/native/kir/abi.h"
#include "backend/native/jit/codegen.h"
#include "backend/native/kir/cpu.h"
#include "tests/unit/support/check.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static CodegenFn codegen;
static Ctx *ctx;

/* ---- compiling ----------------------------------------------------------- */

/* One entry: its form, and the extents that are constants of the code (-1:
 * words of the call). */
typedef struct Entry {
	KType t;
	uint32_t flags;
	int64_t m, n, k;
	const KTarget *target;
	NativeEntry call;
	double ms;
	size_t bytes;
	uint32_t more; /* further products */
} Entry;
enum { PRODUCTS = 4 };

static char folder[] = "/tmp/test_contractions.XXXXXX";

static KModule *make(const Entry *x) {
	KModule *module = kmodule_new(ctx, x->target);
	KBuilder b;
	KRef operands[12 + 2 * PRODUCTS];
	/* operands: c, c_row, c_col, a, a_row, a_k, b, b_k, b_col, m, n, k, then
	 * further a and b. The words are the strides and the extents. */
	k_function(&b, module, 0);
	for (uint32_t i = 0; i < 3; i++) {
		operands[3 * i] = k_buffer(&b, i);
		operands[3 * i + 1] = k_word(&b, KT_I64, 2 * i);
		operands[3 * i + 2] = k_word(&b, KT_I64, 2 * i + 1);
	}
	const int64_t extents[] = {x->m, x->n, x->k};
	for (uint32_t i = 0; i < 3; i++)
		operands[9 + i] = extents[i] >= 0 ? k_int(&b, extents[i]) : k_word(&b, KT_I64, 6 + i);
	for (uint32_t i = 0; i < 2 * x->more; i++) operands[12 + i] = k_buffer(&b, 3 + i);
	if (x->flags & KF_BIAS) operands[12] = k_buffer(&b, 3);
	k_contract(&b, K_CONTRACT, x->t, x->flags, x->flags & KF_BIAS ? 13 : 12 + 2 * x->more,
	           operands);
	k_return(&b, 0, NULL);
	return module;
}

/* Writes the objects of `out` to files: PREFIX_NUMBER.o. */
static bool write_parts(const char *prefix, const CodegenOutput *out) {
	NativeParts head = {.n = 1, .bytes = {out->n}};
	const char *at = out->bytes;
	if (out->n > sizeof head && !memcmp(at, NATIVE_PARTS_MAGIC, sizeof head.magic)) {
		memcpy(&head, at, sizeof head);
		at += sizeof head;
	}
	for (uint64_t k = 0; k < head.n; at += head.bytes[k++]) {
		char path[160];
		snprintf(path, sizeof path, "%s_%u.o", prefix, (unsigned)k);
		FILE *f = fopen(path, "wb");
		if (!f || fwrite(at, 1, head.bytes[k], f) != head.bytes[k] || fclose(f)) return false;
	}
	return true;
}

/* Compiles all entries and links them together. whole: use no precompiled
 * functions. */
static bool compile(Entry *entries, uint32_t n, int level, bool whole) {
	static int batch;
	char path[128], command[512];
	batch++;
	for (uint32_t i = 0; i < n; i++) {
		char name[32];
		KModule *module = make(&entries[i]);
		snprintf(name, sizeof name, "entry_%u", i);
		CodegenOptions options = {.entry = name, .level = level, .whole = whole};
		CodegenOutput out;
		int rc = codegen(module, &options, &out);
		if (getenv("TEST_CONTRACT_IR")) {
			options.ir = true;
			CodegenOutput text;
			if (!codegen(module, &options, &text)) fwrite(text.bytes, 1, text.n, stdout);
		}
		kmodule_free(module);
		if (rc) {
			fprintf(stderr, "test_contractions: %s\n", out.error);
			return false;
		}
		entries[i].ms = out.seconds * 1e3;
		entries[i].bytes = out.n;
		snprintf(path, sizeof path, "%s/%d_%u", folder, batch, i);
		if (!write_parts(path, &out)) return false;
		free(out.bytes);
	}
	/* Modules that were split into several objects share function names with
	 * others. These names are made local to each module. */
	snprintf(command, sizeof command,
	         "cd %s && for f in %d_*_1.o; do [ -e $f ] || continue; e=${f%%_1.o}; ld -r -o "
	         "$e.whole ${e}_*.o && objcopy --localize-hidden $e.whole && rm ${e}_*.o && mv "
	         "$e.whole ${e}_0.o || exit; done",
	         folder, batch);
	if (system(command)) return false;
	snprintf(command, sizeof command, "ld -shared -z noexecstack -o %s/%d.so %s/%d_*.o", folder,
	         batch, folder, batch);
	if (system(command)) return false;
	snprintf(path, sizeof path, "%s/%d.so", folder, batch);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "test_contractions: %s\n", dlerror());
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof name, "entry_%u", i);
		*(void **)&entries[i].call = dlsym(library, name);
		if (!entries[i].call) return false;
	}
	return true;
}

/* ab: A and B of each product, or of one product and its bias. */
static void call(const Entry *x, void *c, int64_t c_row, int64_t c_col, void *const *ab,
                 int64_t a_row, int64_t a_k, int64_t b_k, int64_t b_col, int64_t m, int64_t n,
                 int64_t k) {
	int64_t words[] = {c_row, c_col, a_row, a_k, b_k, b_col, m, n, k};
	void *buffers[1 + 2 * PRODUCTS] = {c};
	memcpy(buffers + 1, ab, (x->flags & KF_BIAS ? 3 : 2 * (1 + x->more)) * sizeof *ab);
	NativeCall record = {
		.buffers = buffers, .words = words, .poll_left = INT64_MAX, .depth_left = 1000};
	if (x->call(&record)) CHECK_MSG(false, "the entry returned a failure");
}

/* ---- correctness --------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;
static uint64_t random_bits(void) {
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}
static int64_t below(int64_t n) { return (int64_t)(random_bits() >> 11) % n; }
static double random_number(void) { return (double)(random_bits() >> 11) * 0x1p-52 - 1; }

/* A block that ends or begins at a page that may not be touched. */
typedef struct Guarded {
	char *map, *at;
	size_t bytes;
} Guarded;
enum { ROOM = 1 << 20 }; /* a multiple of every page size */
static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static Guarded guarded(void) {
	Guarded g = {.map = mmap(NULL, ROOM + 2 * page(), PROT_READ | PROT_WRITE,
	                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
	if (g.map == MAP_FAILED || mprotect(g.map, page(), PROT_NONE) ||
	    mprotect(g.map + page() + ROOM, page(), PROT_NONE))
		exit(2);
	return g;
}
static void place(Guarded *g, size_t bytes, bool at_end) {
	if (bytes > ROOM) exit(2);
	g->bytes = bytes;
	g->at = at_end ? g->map + page() + ROOM - bytes : g->map + page();
}
static Guarded mem_c, mem_a[PRODUCTS], mem_b[PRODUCTS], mem_old;

static double load(KType t, const void *p, int64_t i) {
	return t == KT_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static void store(KType t, void *p, int64_t i, double x) {
	if (t == KT_F64) ((double *)p)[i] = x;
	else ((float *)p)[i] = (float)x;
}

/* The layout of a rows x columns array: its strides and the position of (0, 0),
 * which is not the first when a stride is negative. */
typedef struct Layout {
	int64_t row, col, origin, count;
} Layout;
static Layout layout(int64_t rows, int64_t cols, bool unit_cols, bool unit_rows, int64_t pad_to) {
	Layout l;
	int64_t gap = below(3) ? below(3) * below(6) : 0;
	rows = rows ? rows : 1;
	cols = cols ? cols : 1;
	if (unit_cols || (!unit_rows && below(2))) {
		l.col = unit_cols ? 1 : 1 + below(3);
		l.row = l.col * cols + gap;
		if (pad_to) l.row = (l.row + pad_to - 1) / pad_to * pad_to;
	} else {
		l.row = unit_rows ? 1 : 1 + below(3);
		l.col = l.row * rows + gap;
	}
	l.count = l.row * (rows - 1) + l.col * (cols - 1) + 1;
	if (pad_to && unit_cols) l.count = l.row * rows;
	l.origin = 0;
	if (!unit_cols && !below(4)) {
		l.origin += l.col * (cols - 1);
		l.col = -l.col;
	}
	if (!unit_rows && !pad_to && !below(4)) {
		l.origin += l.row * (rows - 1);
		l.row = -l.row;
	}
	return l;
}

static void check_product(const Entry *x, int64_t m, int64_t n, int64_t k) {
	KType t = x->t;
	uint32_t size = ktype_size(t),
			 lanes = x->target->vector_bytes >= 16 ? x->target->vector_bytes / size : 1;
	bool columns = x->flags & KF_B_COL_UNIT, dots = !columns && x->flags & KF_K_UNIT,
		 padded = x->flags & KF_PADDED;
	int64_t pad = padded && columns ? lanes : 0;
	Layout lc = layout(m, n, columns || x->flags & KF_TRANSPOSE_B, false, pad),
		   la = layout(m, k, dots, false, 0), lb = layout(k, n, columns, dots, pad);
	bool end = below(2);
	place(&mem_c, (size_t)lc.count * size, end);
	place(&mem_old, (size_t)lc.count * size, end);
	void *ab[2 * PRODUCTS];
	for (uint32_t p = 0; p <= x->more; p++) {
		place(&mem_a[p], (size_t)la.count * size, end);
		place(&mem_b[p], (size_t)lb.count * size, end);
		for (int64_t i = 0; i < la.count; i++) store(t, mem_a[p].at, i, random_number());
		for (int64_t i = 0; i < lb.count; i++) store(t, mem_b[p].at, i, random_number());
		ab[2 * p] = mem_a[p].at + la.origin * size;
		ab[2 * p + 1] = mem_b[p].at + lb.origin * size;
	}
	if (x->flags & KF_BIAS) {
		place(&mem_a[1], (size_t)n * size, end);
		ab[2] = mem_a[1].at;
		for (int64_t j = 0; j < n; j++) store(t, ab[2], j, random_number());
	}
	for (int64_t i = 0; i < lc.count; i++) store(t, mem_c.at, i, random_number());
	memcpy(mem_old.at, mem_c.at, mem_c.bytes);
	call(x, mem_c.at + lc.origin * size, lc.row, lc.col, ab, la.row, la.col, lb.row, lb.col, m, n,
	     k);
	double eps = t == KT_F64 ? 0x1p-53 : 0x1p-24;
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			int64_t at = lc.origin + i * lc.row + j * lc.col;
			long double want = x->flags & KF_ACCUMULATE ? load(t, mem_old.at, at) : 0,
						bound = fabsl(want);
			for (int64_t s = 0; s < k * (1 + x->more); s++) {
				const void *a = ab[s / k * 2], *b = ab[s / k * 2 + 1];
				long double product = (long double)load(t, a, i * la.row + s % k * la.col) *
				                      load(t, b, s % k * lb.row + j * lb.col);
				want += product;
				bound += fabsl(product);
			}
			if (x->flags & KF_BIAS) want += load(t, ab[2], j), bound += fabs(load(t, ab[2], j));
			double got = load(t, mem_c.at, at);
			if (!(fabsl(got - want) <= (long double)(k * (1 + x->more) + 3) * eps * bound)) {
				CHECK_MSG(false,
				          "%s flags %u %s extents %lld %lld %lld, %u products: C[%lld,%lld] is "
				          "%.17g, not %.17Lg",
				          t == KT_F64 ? "f64" : "f32", x->flags, x->target->cpu, (long long)m,
				          (long long)n, (long long)k, 1 + x->more, (long long)i, (long long)j, got,
				          want);
				return;
			}
		}
	/* Nothing else has changed. */
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			int64_t at = lc.origin + i * lc.row + j * lc.col;
			memcpy(mem_old.at + at * size, mem_c.at + at * size, size);
		}
	if (padded && columns) {
		int64_t wide = (n + lanes - 1) / lanes * lanes;
		for (int64_t i = 0; i < m; i++)
			memcpy(mem_old.at + (i * lc.row + n) * size, mem_c.at + (i * lc.row + n) * size,
			       (size_t)(wide - n) * size);
	}
	CHECK_MSG(!memcmp(mem_old.at, mem_c.at, mem_c.bytes),
	          "%s flags %u %s extents %lld %lld %lld: wrote outside of C",
	          t == KT_F64 ? "f64" : "f32", x->flags, x->target->cpu, (long long)m, (long long)n,
	          (long long)k);
}

/* A product computed whole or in pieces of rows and columns has the same
 * bits. */
static void check_pieces(const Entry *x, int64_t m, int64_t n, int64_t k) {
	enum { MOST = 70 };
	static double a[MOST * 600], b[MOST * 600], whole[MOST * MOST], pieces[MOST * MOST];
	KType t = x->t;
	bool dots = !(x->flags & KF_B_COL_UNIT) && x->flags & KF_K_UNIT;
	uint32_t size = ktype_size(t);
	for (int64_t i = 0; i < m * k; i++) store(t, a, i, random_number());
	for (int64_t i = 0; i < n * k; i++) store(t, b, i, random_number());
	for (int64_t i = 0; i < m * n; i++) {
		double old = random_number();
		store(t, whole, i, old);
		store(t, pieces, i, old);
	}
	int64_t b_k = dots ? 1 : n, b_col = dots ? k : 1;
	call(x, whole, n, 1, (void *[]){a, b}, k, 1, b_k, b_col, m, n, k);
	for (int64_t i = 0, rows; i < m; i += rows) {
		rows = 1 + below(m - i);
		for (int64_t j = 0, cols; j < n; j += cols) {
			cols = 1 + below(n - j);
			call(x, (char *)pieces + (i * n + j) * size, n, 1,
			     (void *[]){(char *)a + i * k * size, (char *)b + j * b_col * size}, k, 1, b_k,
			     b_col, rows, cols, k);
		}
	}
	CHECK_MSG(!memcmp(whole, pieces, (size_t)(m * n) * size),
	          "%s flags %u %s extents %lld %lld %lld: pieces differ from the whole",
	          t == KT_F64 ? "f64" : "f32", x->flags, x->target->cpu, (long long)m, (long long)n,
	          (long long)k);
}

#if defined(__aarch64__)
static const KTarget neon = {.cpu = "aarch64",
                             .vector_bytes = 16,
                             .registers = 32,
                             .has_fma = true,
                             .l1_bytes = 65536,
                             .l2_bytes = 1048576};
/* Targets with the vector shapes of AVX2 and of AVX-512, and one without
 * vectors. */
static const KTarget narrow = {.cpu = "aarch64",
                               .vector_bytes = 32,
                               .registers = 16,
                               .has_fma = true,
                               .l1_bytes = 32768,
                               .l2_bytes = 524288};
static const KTarget wide = {.cpu = "aarch64",
                             .vector_bytes = 64,
                             .registers = 32,
                             .has_fma = true,
                             .has_masks = true,
                             .l1_bytes = 32768,
                             .l2_bytes = 524288};
static const KTarget scalar = {.cpu = "aarch64",
                               .vector_bytes = 8,
                               .registers = 16,
                               .has_fma = true,
                               .l1_bytes = 32768,
                               .l2_bytes = 262144};
#else
static const KTarget avx2 = {.cpu = "x86-64-v3",
                             .vector_bytes = 32,
                             .registers = 16,
                             .has_fma = true,
                             .l1_bytes = 32768,
                             .l2_bytes = 524288};
static const KTarget avx512 = {.cpu = "x86-64-v4",
                               .vector_bytes = 64,
                               .registers = 32,
                               .has_fma = true,
                               .has_masks = true,
                               .l1_bytes = 32768,
                               .l2_bytes = 1048576};
static const KTarget sse2 = {
	.cpu = "x86-64", .vector_bytes = 16, .registers = 16, .l1_bytes = 32768, .l2_bytes = 262144};
/* Targets with the vector shapes of NEON and, on a machine with AVX2, of
 * AVX-512, and one without vectors. */
static const KTarget neon = {.cpu = "x86-64-v3",
                             .vector_bytes = 16,
                             .registers = 32,
                             .has_fma = true,
                             .l1_bytes = 65536,
                             .l2_bytes = 1048576};
static const KTarget wide = {.cpu = "x86-64-v3",
                             .vector_bytes = 64,
                             .registers = 32,
                             .has_fma = true,
                             .has_masks = true,
                             .l1_bytes = 32768,
                             .l2_bytes = 524288};
static const KTarget scalar = {
	.cpu = "x86-64", .vector_bytes = 8, .registers = 16, .l1_bytes = 32768, .l2_bytes = 262144};
#endif

/* The targets to check: whether the library has precompiled functions for them,
 * and whether they have the forms of check_own_code. */
static const struct Machine {
	const KTarget *target;
	bool precompiled, own_code;
} machines[] = {
#if defined(__aarch64__)
	{&neon, true, true},
	{&narrow, false, true},
	{&wide, false, false},
	{&scalar, false, true},
#else
	{&sse2, true, true},   {&scalar, false, true}, {&avx2, true, true},
	{&wide, false, false}, {&neon, false, true},
#endif
};
enum { MACHINES = sizeof machines / sizeof *machines };

enum { FORMS = 7 };
static const uint32_t forms[FORMS] = {KF_B_COL_UNIT,
                                      KF_K_UNIT,
                                      0,
                                      KF_K_UNIT | KF_TRANSPOSE_B,
                                      KF_B_COL_UNIT | KF_TILE_5,
                                      KF_K_UNIT | KF_TILE_5,
                                      KF_K_UNIT | KF_TRANSPOSE_B | KF_TILE_5};

static void check_target(const KTarget *target) {
	static Entry entries[64];
	uint32_t n = 0;
	static const KType types[] = {KT_F64, KT_F32};
	for (uint32_t t = 0; t < 2; t++)
		for (uint32_t f = 0; f < FORMS; f++)
			for (uint32_t flags = 0; flags < 4; flags++) {
				if (!(forms[f] & KF_B_COL_UNIT) && flags & KF_PADDED) continue;
				entries[n++] = (Entry){
					types[t],
					forms[f] | (flags & 1 ? KF_ACCUMULATE : 0) | (flags & 2 ? KF_PADDED : 0),
					-1,
					-1,
					-1,
					target,
					0,
					0,
					0,
					0};
			}
	if (!compile(entries, n, 2, false)) {
		CHECK_MSG(false, "not compiled for %s", target->cpu);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		const Entry *x = &entries[i];
		for (int64_t a = 0; a <= 10; a++)
			for (int64_t b = 0; b <= 10; b++)
				for (int64_t c = 0; c <= 9; c++) check_product(x, a, b, c);
		for (uint32_t turn = 0; turn < 120; turn++)
			check_product(x, below(50), below(80), below(60));
		/* Every extent up to 40 in each position. */
		for (int64_t a = 1; a <= 40; a++) {
			check_product(x, a, 1 + below(40), 1 + below(40));
			check_product(x, 1 + below(40), a, 1 + below(40));
			check_product(x, 1 + below(40), 1 + below(40), a);
		}
		for (uint32_t turn = 0; turn < 12; turn++) {
			check_product(x, 1 + below(8), 1 + below(20), 150 + below(500));
			check_product(x, 180 + below(40), 1 + below(20), 1 + below(20));
			check_product(x, 1 + below(10), 100 + below(100), 1 + below(20));
			if (!(x->flags & KF_PADDED))
				check_pieces(x, 1 + below(70), 1 + below(70), 1 + below(turn % 2 ? 600 : 40));
		}
	}
}

/* Several products in one sum. */
static void check_sums(const KTarget *target) {
	static Entry entries[2 * FORMS * (PRODUCTS - 1)];
	uint32_t n = 0;
	for (uint32_t f = 0; f < FORMS; f++)
		for (uint32_t more = 1; more < PRODUCTS; more++)
			for (uint32_t accumulate = 0; accumulate < 2; accumulate++)
				entries[n++] = (Entry){more & 1 ? KT_F64 : KT_F32,
				                       forms[f] | (accumulate ? KF_ACCUMULATE : 0),
				                       -1,
				                       -1,
				                       -1,
				                       target,
				                       0,
				                       0,
				                       0,
				                       more};
	if (!compile(entries, n, 2, false)) {
		CHECK_MSG(false, "not compiled for %s", target->cpu);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t turn = 0; turn < 200; turn++)
			check_product(&entries[i], below(30), below(30), below(turn % 10 ? 70 : 700));
}

/* Forms with code of their own: 16 terms by one vector of columns, also in
 * place of a call; a few rows by multiples of four vectors; a bias row added at
 * the end. */
static void check_own_code(const KTarget *target) {
	static const uint32_t flags[] = {KF_B_COL_UNIT, KF_B_COL_UNIT | KF_IN_REGISTERS,
	                                 KF_B_COL_UNIT | KF_BIAS, KF_K_UNIT | KF_TRANSPOSE_B | KF_BIAS,
	                                 KF_B_COL_UNIT | KF_TILE_5 | KF_BIAS};
	/* Without vectors nothing is transposed. */
	const uint32_t some = target->vector_bytes < 16 ? 2 : sizeof flags / sizeof *flags,
				   N = 4 * some;
	static Entry entries[4 * sizeof flags / sizeof *flags];
	for (uint32_t i = 0; i < N; i++)
		entries[i] = (Entry){i & 1 ? KT_F32 : KT_F64,
		                     flags[i / 4] | (i & 2 ? KF_ACCUMULATE : 0),
		                     -1,
		                     -1,
		                     -1,
		                     target,
		                     0,
		                     0,
		                     0,
		                     0};
	if (!compile(entries, N, 2, false)) {
		CHECK_MSG(false, "not compiled for %s", target->cpu);
		return;
	}
	for (uint32_t i = 0; i < N; i++) {
		const int64_t lanes = target->vector_bytes / ktype_size(entries[i].t) > 0
		                          ? target->vector_bytes / ktype_size(entries[i].t)
		                          : 1;
		const int64_t columns[] = {
			lanes,         lanes - 1,     1,         4 * lanes, 8 * lanes,
			4 * lanes - 1, 2 * lanes + 4, lanes + 3, 20,        9 * lanes + 2};
		for (int64_t m = 0; m <= 60; m += m < 20 ? 1 : 5)
			for (uint32_t c = 0; c < sizeof columns / sizeof *columns; c++) {
				check_product(&entries[i], m, columns[c], 16);
				check_product(&entries[i], m, columns[c], c % 5 ? below(30) : 120 + below(200));
			}
	}
}

/* The same with constants in the code. */
static void check_constants(const KTarget *target, int level) {
	static Entry entries[120];
	static const int64_t rows[] = {-1, -1, 1, 2, 3, 5, 8, 24, 9},
						 columns[] = {1,  2,  3,  4,  5,  7,  8,  12, 13,
	                                  16, 20, 24, 28, 33, 40, 64, -1, 96};
	static const int64_t sums[] = {-1, 1, 2, 3, 4, 5, 8, 20, 33, 128, 129, 0};
	uint32_t n = 0;
	/* One row is computed in the widest panels. Here the last panel is partly
	 * past the end. */
	entries[n++] = (Entry){KT_F64, KF_B_COL_UNIT, 1, 31, -1, target, 0, 0, 0, 0};
	entries[n++] = (Entry){KT_F32, KF_B_COL_UNIT | KF_ACCUMULATE, 1, 61, -1, target, 0, 0, 0, 0};
	while (n < sizeof entries / sizeof *entries) {
		uint32_t f = (uint32_t)below(FORMS);
		entries[n++] = (Entry){below(2) ? KT_F64 : KT_F32,
		                       forms[f] | (below(2) ? KF_ACCUMULATE : 0) |
		                           (forms[f] & KF_B_COL_UNIT && below(2) ? KF_PADDED : 0),
		                       rows[below(9)],
		                       columns[below(18)],
		                       sums[below(12)],
		                       target,
		                       0,
		                       0,
		                       0,
		                       0};
	}
	if (!compile(entries, n, level, level == 0)) {
		CHECK_MSG(false, "not compiled for %s", target->cpu);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t turn = 0; turn < 6; turn++) {
			const Entry *x = &entries[i];
			check_product(x, x->m >= 0 ? x->m : below(60), x->n >= 0 ? x->n : below(60),
			              x->k >= 0 ? x->k : below(turn ? 40 : 400));
		}
}

/* Precompiled functions give the same bits as the code generated in their
 * place, for unknown and known extents and at both levels. */
static void check_precompiled(const KTarget *target) {
	enum { N = 10 * FORMS, MOST = 48 };
	static Entry entries[3][N];
	static double c[3][MOST * MOST], a[MOST * MOST], b[MOST * MOST];
	static const int64_t rows[] = {-1, 1, 2, 3, 9},
						 columns[] = {-1, 1, 4, 7, 8, 12, 16, 19, 20, 36};
	for (uint32_t i = 0; i < N; i++) {
		const uint32_t f = i % FORMS;
		const Entry x = {i / FORMS % 2 ? KT_F64 : KT_F32,
		                 forms[f] | (below(2) ? KF_ACCUMULATE : 0),
		                 rows[below(5)],
		                 columns[below(10)],
		                 -1,
		                 target,
		                 0,
		                 0,
		                 0,
		                 0};
		for (uint32_t way = 0; way < 3; way++) entries[way][i] = x;
	}
	if (!compile(entries[0], N, 2, true) || !compile(entries[1], N, 2, false) ||
	    !compile(entries[2], N, 0, false)) {
		CHECK_MSG(false, "not compiled for %s", target->cpu);
		return;
	}
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t turn = 0; turn < 4; turn++) {
			const Entry *x = &entries[0][i];
			const int64_t m = x->m >= 0 ? x->m : 1 + below(MOST),
						  n = x->n >= 0 ? x->n : 1 + below(MOST), k = 1 + below(MOST);
			const bool by_columns = !(x->flags & KF_B_COL_UNIT) && x->flags & KF_K_UNIT;
			for (uint32_t e = 0; e < MOST * MOST; e++) {
				store(x->t, a, e, random_number());
				store(x->t, b, e, random_number());
				store(x->t, c[0], e, random_number());
			}
			memcpy(c[1], c[0], sizeof c[0]);
			memcpy(c[2], c[0], sizeof c[0]);
			for (uint32_t way = 0; way < 3; way++)
				call(&entries[way][i], c[way], n, 1, (void *[]){a, b}, k, 1, by_columns ? 1 : n,
				     by_columns ? k : 1, m, n, k);
			CHECK_MSG(!memcmp(c[0], c[1], sizeof c[0]) && !memcmp(c[0], c[2], sizeof c[0]),
			          "%s flags %u %s extents %lld %lld %lld: precompiled code has another result",
			          x->t == KT_F64 ? "f64" : "f32", x->flags, target->cpu, (long long)m,
			          (long long)n, (long long)k);
		}
}

/* On a target with precompiled functions a product of any form uses them; on
 * another it does not. */
static void check_uses_precompiled(const KTarget *target, bool wanted) {
	for (uint32_t f = 0; f < FORMS; f++)
		for (uint32_t t = 0; t < 2; t++)
			for (int64_t n = -1; n < 80; n += 9) {
				Entry x = {
					t ? KT_F32 : KT_F64, forms[f], n % 2 ? -1 : 1, n, -1, target, 0, 0, 0, 0};
				KModule *module = make(&x);
				/* At level 2 large modules are also split into parts. */
				CodegenOptions options = {.entry = "entry", .level = 1};
				CodegenOutput out;
				const bool made = !codegen(module, &options, &out);
				const bool parts = made && !memcmp(out.bytes, NATIVE_PARTS_MAGIC, 8);
				CHECK_MSG(made && parts == wanted, "%s form %u, %lld columns: %s", target->cpu, f,
				          (long long)n,
				          made ? "precompiled is what should not be, or the other way" : out.error);
				free(out.bytes);
				kmodule_free(module);
			}
}

#if defined(__x86_64__)
/* The code generator can compile for targets that this machine cannot run. */
static void check_compiles(const KTarget *target) {
	for (uint32_t f = 0; f < FORMS; f++)
		for (uint32_t t = 0; t < 2; t++) {
			Entry x = {t ? KT_F32 : KT_F64, forms[f], -1, -1, -1, target, 0, 0, 0, 0};
			KModule *module = make(&x);
			CodegenOptions options = {.entry = "entry", .level = 2};
			CodegenOutput out;
			CHECK_MSG(!codegen(module, &options, &out), "%s: %s", target->cpu, out.error);
			free(out.bytes);
			kmodule_free(module);
		}
}
#endif

/* ---- speed --------------------------------------------------------------- */

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Independent multiply-adds, in GF/s of f64. */
#if defined(__aarch64__)
typedef double Vector __attribute__((vector_size(16)));
#define MULTIPLY_ADD(i) "fmla %" #i ".2d, %10.2d, %10.2d\n\t"
#define IN "+w"
#define FROM "w"
static
#else
typedef double Vector __attribute__((vector_size(32)));
#define MULTIPLY_ADD(i) "vfmadd231pd %10, %10, %" #i "\n\t"
#define IN "+x"
#define FROM "x"
__attribute__((target("avx2,fma"))) static
#endif
	__attribute__((noinline)) double
	peak_once(int64_t turns) {
	Vector y = (Vector){0} + 0.5, x0 = y, x1 = y, x2 = y, x3 = y, x4 = y, x5 = y, x6 = y, x7 = y,
		   x8 = y, x9 = y;
	double start = now();
	for (int64_t i = 0; i < turns; i++)
		__asm__ volatile(
			MULTIPLY_ADD(0) MULTIPLY_ADD(1) MULTIPLY_ADD(2) MULTIPLY_ADD(3) MULTIPLY_ADD(4)
				MULTIPLY_ADD(5) MULTIPLY_ADD(6) MULTIPLY_ADD(7) MULTIPLY_ADD(8) MULTIPLY_ADD(9)
			: IN(x0), IN(x1), IN(x2), IN(x3), IN(x4), IN(x5), IN(x6), IN(x7), IN(x8), IN(x9)
			: FROM(y));
	return (double)turns * 20 * (sizeof y / sizeof(double)) * 1e-9 / (now() - start);
}

static int by_size(const void *x, const void *y) {
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}
static double median(double *x, int n) {
	qsort(x, (size_t)n, sizeof *x, by_size);
	return x[n / 2];
}
static double peak(void) {
	double x[9];
	for (int i = 0; i < 9; i++) x[i] = peak_once(1000000);
	return median(x, 9);
}

enum { ROW_MAJOR = 101, NORMAL = 111, TRANSPOSED = 112 };
typedef void DoubleGemm(int, int, int, int, int, int, double, const double *, int, const double *,
                        int, double, double *, int);
typedef void SingleGemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                        float, float *, int);

/* C = A B in one of four ways: n: all row-major; t: A stored [k, m], as in a
 * gradient; k: B stored [n, k]; d: the same with B transposed. */
typedef struct Shape {
	char way;
	int64_t m, n, k;
} Shape;

static void bench(bool constants) {
	static const Shape shapes[] = {
		{'n', 10000, 20, 20}, {'n', 10000, 64, 64},   {'n', 10000, 128, 128},
		{'k', 10000, 20, 20}, {'k', 10000, 64, 64},   {'k', 10000, 128, 128},
		{'t', 20, 20, 10000}, {'t', 64, 64, 10000},   {'t', 128, 128, 10000},
		{'k', 20, 20, 10000}, {'k', 64, 64, 10000},   {'k', 128, 128, 10000},
		{'d', 10000, 20, 20}, {'d', 10000, 128, 128}, {'d', 64, 64, 128},
		{'d', 128, 128, 64},  {'k', 128, 128, 64},    {'n', 4, 4, 4},
		{'n', 8, 8, 8},       {'n', 16, 16, 16},      {'n', 32, 32, 32},
		{'n', 64, 64, 64},    {'n', 100, 100, 100},   {'n', 128, 128, 128},
		{'n', 200, 200, 200}, {'n', 256, 256, 256},   {'n', 512, 512, 512},
		{'n', 10000, 20, 1},  {'n', 10000, 20, 2},    {'n', 10000, 1, 20},
		{'n', 10000, 3, 20},  {'k', 1, 200, 200},     {'k', 10000, 1, 20}};
	enum { N = sizeof shapes / sizeof *shapes, BATCHES = 5 };
	static Entry entries[2 * N];
#if defined(__aarch64__)
	const KTarget *const best = &neon;
#else
	const KTarget *const best = &avx2;
#endif
	for (int t = 0; t < 2; t++)
		for (int i = 0; i < N; i++) {
			const Shape *s = &shapes[i];
			int64_t c = constants;
			entries[t * N + i] = (Entry){t ? KT_F32 : KT_F64,
			                             s->way == 'k'   ? KF_K_UNIT
			                             : s->way == 'd' ? KF_K_UNIT | KF_TRANSPOSE_B
			                                             : KF_B_COL_UNIT,
			                             c && s->m < 1000 ? s->m : -1,
			                             c && s->n < 1000 ? s->n : -1,
			                             c && s->k < 1000 ? s->k : -1,
			                             best,
			                             0,
			                             0,
			                             0,
			                             0};
		}
	if (!compile(entries, 2 * N, 2, false)) return;
	const char *file = getenv("TEST_CONTRACT_BLAS");
	void *blas = dlopen(file ? file : "libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	DoubleGemm *dgemm = NULL;
	SingleGemm *sgemm = NULL;
	if (blas) {
		*(void **)&dgemm = dlsym(blas, "cblas_dgemm");
		*(void **)&sgemm = dlsym(blas, "cblas_sgemm");
		void (*threads)(int);
		*(void **)&threads = dlsym(blas, "openblas_set_num_threads");
		if (threads) threads(1);
	}
	char *(*core)(void) = NULL;
	if (blas) *(void **)&core = dlsym(blas, "openblas_get_corename");
	printf("OpenBLAS core: %s; extents below 1000 are %s\n", core ? core() : "none",
	       constants ? "constants" : "words");
	printf("%-4s %-3s %18s %8s %6s %8s %7s %7s\n", "type", "way", "m x n x k", "GF/s", "peak",
	       "BLAS", "ms", "bytes");
	size_t most = (size_t)10000 * 128 * 8;
	char *a = aligned_alloc(64, most), *b = aligned_alloc(64, most), *c = aligned_alloc(64, most);
	for (int x = 0; x < 2 * N; x++) {
		const Entry *e = &entries[x];
		const Shape *s = &shapes[x % N];
		for (size_t i = 0; i < most / ktype_size(e->t); i++)
			store(e->t, a, (int64_t)i, 1e-3), store(e->t, b, (int64_t)i, 1e-3),
				store(e->t, c, (int64_t)i, 0);
		double flops = 2.0 * (double)s->m * (double)s->n * (double)s->k, own[BATCHES],
			   other[BATCHES], top[BATCHES];
		int64_t turns = (int64_t)(6e8 / flops) + 1, m = s->m, n = s->n, k = s->k;
		int64_t a_row = s->way == 't' ? 1 : k, a_k = s->way == 't' ? m : 1,
				b_k = s->way == 'k' || s->way == 'd' ? 1 : n, b_col = b_k == 1 ? k : 1;
		for (int batch = 0; batch < BATCHES; batch++) {
			top[batch] = peak_once(300000);
			double start = now();
			for (int64_t i = 0; i < turns; i++)
				call(e, c, n, 1, (void *[]){a, b}, a_row, a_k, b_k, b_col, m, n, k);
			own[batch] = flops * (double)turns * 1e-9 / (now() - start);
			start = now();
			int ta = s->way == 't' ? TRANSPOSED : NORMAL, tb = b_k == 1 ? TRANSPOSED : NORMAL,
				lda = (int)(s->way == 't' ? m : k);
			int ldb = (int)(b_k == 1 ? k : n);
			for (int64_t i = 0; i < turns && dgemm && sgemm; i++) {
				if (e->t == KT_F64)
					dgemm(ROW_MAJOR, ta, tb, (int)m, (int)n, (int)k, 1, (double *)a, lda,
					      (double *)b, ldb, 0, (double *)c, (int)n);
				else
					sgemm(ROW_MAJOR, ta, tb, (int)m, (int)n, (int)k, 1, (float *)a, lda, (float *)b,
					      ldb, 0, (float *)c, (int)n);
			}
			other[batch] = flops * (double)turns * 1e-9 / (now() - start);
		}
		char extents[40];
		snprintf(extents, sizeof extents, "%lld x %lld x %lld", (long long)m, (long long)n,
		         (long long)k);
		double speed = median(own, BATCHES),
			   limit = median(top, BATCHES) * (e->t == KT_F32 ? 2 : 1);
		printf("%-4s %-3c %18s %8.1f %5.0f%% %8.1f %7.2f %7zu\n", e->t == KT_F64 ? "f64" : "f32",
		       s->way, extents, speed, 100 * speed / limit, dgemm ? median(other, BATCHES) : 0,
		       e->ms, e->bytes);
		fflush(stdout);
	}
	free(a);
	free(b);
	free(c);
}

int main(int argc, char **argv) {
	char path[4096];
	const char *where = getenv("ATLED_CODEGEN"), *slash = strrchr(argv[0], '/');
	snprintf(path, sizeof path, "%.*s/../libatled-codegen.so", slash ? (int)(slash - argv[0]) : 1,
	         slash ? argv[0] : ".");
	void *library = dlopen(where ? where : path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "test_contractions: %s\n", dlerror());
		return 1;
	}
	*(void **)&codegen = dlsym(library, "atled_codegen");
	ctx = ctx_new(NULL);
	if (!codegen || !ctx || !mkdtemp(folder)) return 1;
	if (argc > 1 && !strcmp(argv[1], "--bench")) {
		printf("peak %.1f GF/s of f64\n", peak());
		bench(argc > 2 && !strcmp(argv[2], "constants"));
	} else {
		/* All of it takes a minute. */
		const bool all = getenv("LONG");
		mem_c = guarded();
		for (uint32_t i = 0; i < PRODUCTS; i++) {
			mem_a[i] = guarded();
			mem_b[i] = guarded();
		}
		mem_old = guarded();
		for (uint32_t i = 0; i < MACHINES; i++) {
			const struct Machine *m = &machines[i];
			if (!native_target_runs(m->target) || (!all && !m->own_code)) continue;
			check_target(m->target);
			check_sums(m->target);
			if (m->own_code) check_own_code(m->target);
			if (all || m->precompiled) check_constants(m->target, 0);
			check_constants(m->target, 2);
			check_precompiled(m->target);
			check_uses_precompiled(m->target, m->precompiled);
		}
#if defined(__x86_64__)
		if (native_target_runs(&avx512)) {
			check_target(&avx512);
			check_sums(&avx512);
			check_own_code(&avx512);
			check_constants(&avx512, 2);
		}
		check_compiles(&avx512);
		check_uses_precompiled(&avx512, true);
#endif
	}
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command)) CHECK_MSG(false, "%s is left behind", folder);
	ctx_free(ctx);
	return check_end();
}
