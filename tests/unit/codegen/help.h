/* help.h - shared helpers of the code generator tests: a counting runtime,
 * compiled code, guarded memory, targets.
 *
 * Needs: the code generator's library (libatled-codegen.so in the folder above
 * the tests, or named by ATLED_CODEGEN), cc and ld to link its output,
 * native/kir.c and native/target.c.
 * Guarantees: results end at a page that may not be touched; this file does not
 * depend on the meaning of kernel code.
 */
#ifndef ATLED_TESTS_UNIT_CODEGEN_HELP_H
#define ATLED_TESTS_UNIT_CODEGEN_HELP_H

#include "backend/native/kir/abi.h"
#include "backend/native/jit/codegen.h"
#include "backend/native/kir/cpu.h"
#include "backend/vmath/payne_hanek.h"
#include "tests/unit/support/check.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static CodegenFn codegen;
static Ctx *ctx;
static KTarget target;
static int level;
static bool once; /* CodegenOptions.once */
/* For a target that this machine cannot run: only the checks of compile()
 * count. */
static bool compile_only;
static char folder[] = "/tmp/test_kir.XXXXXX";

/* Processor time of this thread, so that other programs do not count. */
static inline double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- runtime: serial, with counters -------------------------------------- */

static int64_t polls, parts_run;
static int32_t poll_answer;
static char *arena_at;
static size_t arena_left;

static inline int32_t rt_parallel(NativeCall *call, NativeBody body, void *env, int64_t nparts) {
	int32_t first = 0;
	for (int64_t part = 0; part < nparts; part++) {
		NativeCall mine = *call; /* each worker has its own record */
		int32_t status = body(&mine, env, part);
		parts_run++;
		if (status && !first) {
			first = status;
			call->site = mine.site;
			call->fail_a = mine.fail_a;
			call->fail_b = mine.fail_b;
		}
	}
	return first;
}
static inline int32_t rt_poll(NativeCall *call) {
	polls++;
	call->poll_left = 1000;
	return poll_answer;
}
static inline void *rt_arena(NativeCall *call, int64_t bytes) {
	(void)call;
	if (bytes < 0 || (size_t)bytes > arena_left) return NULL;
	void *at = arena_at;
	size_t taken = ((size_t)bytes + 127) & ~(size_t)63;
	arena_at += taken;
	arena_left -= taken;
	return at;
}
static inline void rt_copy(void *to, const void *from, int64_t bytes) {
	memcpy(to, from, (size_t)bytes);
}
static inline void rt_zero(void *at, int64_t bytes) { memset(at, 0, (size_t)bytes); }
static inline int32_t rt_gemm(NativeCall *call, double *c, int64_t c_row, int64_t c_col,
                              const double *a, int64_t a_row, int64_t a_k, const double *b,
                              int64_t b_k, int64_t b_col, int64_t m, int64_t n, int64_t k,
                              int32_t accumulate, const NativeTiles *tiles) {
	(void)call, (void)tiles;
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double s = accumulate ? c[i * c_row + j * c_col] : 0;
			for (int64_t l = 0; l < k; l++) s += a[i * a_row + l * a_k] * b[l * b_k + j * b_col];
			c[i * c_row + j * c_col] = s;
		}
	return 0;
}

/* ---- compiling ----------------------------------------------------------- */

/* Jumps through a table, in the order of `runtime`. The table is filled when
 * the code is loaded. */
static const char *const runtime_names[] = {"parallel", "poll", "arena",    "scratch",
                                            "copy",     "zero", "gemm_f64", "huge_angle"};
static void *const runtime[] = {
	(void *)rt_parallel, (void *)rt_poll, (void *)rt_arena, (void *)rt_arena,
	(void *)rt_copy,     (void *)rt_zero, (void *)rt_gemm,  (void *)atled_rt_huge_angle};
enum { NRUNTIME = sizeof runtime / sizeof *runtime };

static inline bool make_stubs(void) {
	char path[128], command[256];
	snprintf(path, sizeof path, "%s/stubs.s", folder);
	FILE *f = fopen(path, "w");
	if (!f) return false;
	fprintf(f,
	        ".section .note.GNU-stack,\"\",@progbits\n.bss\n.balign 8\n.globl "
	        "runtime_table\nruntime_table: .skip %d\n.text\n",
	        8 * NRUNTIME);
	for (int i = 0; i < NRUNTIME; i++) {
		fprintf(f, ".globl atled_rt_%s\n.hidden atled_rt_%s\natled_rt_%s: ", runtime_names[i],
		        runtime_names[i], runtime_names[i]);
#if defined(__aarch64__)
		fprintf(f, "adrp x16, table+%d\nldr x16, [x16, :lo12:table+%d]\nbr x16\n", 8 * i, 8 * i);
#else
		fprintf(f, "jmp *table+%d(%%rip)\n", 8 * i);
#endif
	}
	fprintf(f, ".hidden table\n.set table, runtime_table\n");
	fclose(f);
	snprintf(command, sizeof command, "cc -c %s -o %s/stubs.o", path, folder);
	return system(command) == 0;
}

typedef struct Code {
	NativeEntry entry;
	void *library;
	size_t bytes;
	double seconds;
	uint32_t parts;
} Code;

static inline bool write_object(int number, uint32_t part, const char *bytes, size_t n) {
	char path[128];
	snprintf(path, sizeof path, "%s/%d-%u.o", folder, number, part);
	FILE *f = fopen(path, "wb");
	return f && fwrite(bytes, 1, n, f) == n && !fclose(f);
}

/* Writes a file for each object and returns their number. */
static inline uint32_t write_objects(int number, const CodegenOutput *out) {
	NativeParts head;
	if (out->n < sizeof head || memcmp(out->bytes, NATIVE_PARTS_MAGIC, sizeof head.magic))
		return write_object(number, 0, out->bytes, out->n);
	memcpy(&head, out->bytes, sizeof head);
	size_t at = sizeof head;
	for (uint32_t k = 0; k < head.n; at += head.bytes[k++])
		if (!write_object(number, k, out->bytes + at, head.bytes[k])) return 0;
	return at == out->n ? (uint32_t)head.n : 0;
}

static inline Code compiled(KModule *m) {
	static int number;
	Code code = {0};
	char where[100];
	snprintf(where, sizeof where, "%s, level %d%s", target.cpu, level, once ? ", once" : "");
	check_in(where);
	Text why = {0};
	text_init(&why, ctx);
	bool ok = kmodule_verify(m, &why);
	CHECK_MSG(ok, "verify: %s", why.at ? why.at : "");
	if (getenv("TEST_CODEGEN_KIR")) {
		Text text = {0};
		text_init(&text, ctx);
		kmodule_print(&text, m);
		fputs(text.at ? text.at : "", stdout);
		text_free(&text);
	}
	text_free(&why);
	if (getenv("TEST_CODEGEN_IR") || getenv("TEST_CODEGEN_ASM")) {
		CodegenOptions options = {.entry = "entry",
		                          .level = level,
		                          .once = once,
		                          .ir = getenv("TEST_CODEGEN_IR"),
		                          .assembly = true};
		CodegenOutput out;
		if (!codegen(m, &options, &out)) fputs(out.bytes, stdout);
		free(out.bytes);
	}
	CodegenOptions options = {.entry = "entry",
	                          .level = level,
	                          .once = once,
	                          .debug_lines = getenv("TEST_CODEGEN_LINES")};
	CodegenOutput out;
	double begin = now();
	int rc = codegen(m, &options, &out);
	code.seconds = now() - begin;
	kmodule_free(m);
	CHECK_MSG(rc == 0, "codegen: %s", out.error);
	if (rc) return code;
	char path[128], command[512];
	number++;
	code.parts = write_objects(number, &out);
	free(out.bytes);
	if (!code.parts) return code;
	/* Symbols are resolved in this program when the library is loaded. Linking
	 * against the C library would take longer than everything else. */
	const char *defined = compile_only ? "-z defs -lm -lc" : "";
	snprintf(command, sizeof command,
	         "exec ld -shared -z noexecstack -o %s/%d.so %s/%d-*.o %s/stubs.o %s", folder, number,
	         folder, number, folder, defined);
	if (system(command)) {
		CHECK_MSG(false, "the object does not link");
		return code;
	}
	snprintf(path, sizeof path, "%s/%d.so", folder, number);
	if (compile_only) return code;
	code.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!code.library) {
		CHECK_MSG(false, "%s", dlerror());
		return code;
	}
	*(void **)&code.entry = dlsym(code.library, "entry");
	void **table = dlsym(code.library, "runtime_table");
	memcpy(table, runtime, sizeof runtime);
	code.bytes = out.n;
	return code;
}

/* Compiles the module and frees it. The entry is NULL on failure. */
static inline Code compile(KModule *m) {
	check_pause(false);
	const Code code = compiled(m);
	check_pause(compile_only);
	return code;
}

static inline void forget(Code *code) {
	if (code->library) dlclose(code->library);
	*code = (Code){0};
}

static NativeCall last; /* the record after the last call */
static inline int32_t call(const Code *code, void **buffers, const int64_t *words,
                           int64_t *results) {
	if (!code->entry) return -1;
	last = (NativeCall){.buffers = buffers,
	                    .words = words,
	                    .results = results,
	                    .poll_left = 1000,
	                    .depth_left = 2000,
	                    .site = -1};
	return code->entry(&last);
}

/* ---- memory that ends at a page that may not be touched ------------------ */

enum { ROOM = 1 << 16 }; /* a multiple of every page size */
static inline size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static inline char *guarded(void) {
	char *map =
		mmap(NULL, ROOM + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || mprotect(map + ROOM, page(), PROT_NONE)) exit(2);
	return map;
}
/* Returns the last `bytes` bytes before the page. */
static inline void *at_end(char *map, size_t bytes) {
	memset(map, 0xa5, ROOM);
	return map + ROOM - bytes;
}
static inline bool untouched(const char *map, size_t bytes) {
	for (size_t i = 0; i < ROOM - bytes; i++)
		if ((unsigned char)map[i] != 0xa5) return false;
	return true;
}

/* ---- data and modules ---------------------------------------------------- */

static uint64_t seed = 88172645463325252u;
static inline uint64_t random_bits(void) {
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}
static inline double random_number(double lo, double hi) {
	return lo + (hi - lo) * ((double)(random_bits() >> 11) * 0x1p-53);
}

static inline void put(Dtype d, void *at, double x) {
	double v = x;
	scalar_convert(DT_F64, &v, d, at);
}

static inline bool text_has(const KModule *m, const char *word) {
	CodegenOptions options = {.entry = "entry", .level = level, .assembly = true};
	CodegenOutput out;
	const bool has = !codegen(m, &options, &out) && strstr(out.bytes, word);
	free(out.bytes);
	return has;
}

/* Twenty operations on x, among them tanh and exp, and a read of y. */
static inline KRef chain(KBuilder *b, KType t, KRef x, KRef y) {
	KRef c = k_const(b, t, 0.7), d = k_const(b, t, 1.3), one = k_const(b, t, 1);
	KRef u = k_add(b, k_mul(b, x, c), y), v = k_sub(b, k_mul(b, y, d), x);
	KRef w = k_prim1(b, OP_TANH, u), e = k_prim1(b, OP_EXP, k_prim1(b, OP_NEG, k_mul(b, v, v)));
	KRef p = k_add(b, k_mul(b, w, e), one), q = k_sub(b, one, k_mul(b, w, w));
	KRef r = k_prim2(b, OP_DIV, k_add(b, k_mul(b, p, q), e), k_add(b, one, k_mul(b, u, u)));
	return k_add(b, k_mul(b, r, c), k_max(b, p, k_mul(b, q, d)));
}

static inline KModule *chain_module(KType t, uint32_t lanes, uint32_t flags) {
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

/* ---- runner -------------------------------------------------------------- */

/* The checks of a program; NULL: none. */
typedef struct TargetTests {
	void (*first)(void); /* for this machine's target, before everything else */
	void (*each)(void);  /* for each target and level */
	void (*once)(void);  /* for each target, with `once` at level 0 */
	void (*rest)(void);  /* for this machine's target */
	void (*bench)(void); /* --bench prints instead of checking */
} TargetTests;

/* The body of main. Each target that this machine runs is tested at both
 * levels. TEST_ONLY names one target, or "rest" for the checks of no target or
 * of all of them. */
static inline int run_on_targets(int argc, char **argv, const TargetTests *tests) {
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
		fprintf(stderr, "%s: %s\n", argv[0], dlerror());
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
	if (tests->bench && argc > 1 && !strcmp(argv[1], "--bench")) {
		tests->bench();
		return 0;
	}
	const char *only = getenv("TEST_ONLY");
	const bool rest = !only || !strcmp(only, "rest");
	if (rest && tests->first) tests->first();
	for (int k = 0; k < NAMES; k++) {
		if ((only && strcmp(names[k], only)) || !native_target_named(names[k], &target)) continue;
		compile_only = !native_target_runs(&target);
		check_pause(compile_only);
		for (level = compile_only || strstr(names[k], "shape") ? 2 : 0; level <= 2; level += 2)
			if (tests->each) tests->each();
		if (compile_only || !tests->once) continue;
		level = 0;
		once = true;
		tests->once();
		once = false;
	}
	compile_only = false;
	check_pause(false);
	target = *native_target();
	if (rest && tests->rest) tests->rest();
	ctx_free(ctx);
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command)) CHECK_MSG(false, "%s is left behind", folder);
	return check_end();
}

#endif
