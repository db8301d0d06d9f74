/* help.h - shared helpers of the code generator tests: a counting runtime,
 * compiled code, guarded memory.
 *
 * Needs: what test_kir_semantics.c needs; only that file includes it.
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
static char folder[] = "/tmp/test_kir_semantics.XXXXXX";

/* Processor time of this thread, so that other programs do not count. */
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- runtime: serial, with counters -------------------------------------- */

static int64_t polls, parts_run;
static int32_t poll_answer;
static char *arena_at;
static size_t arena_left;

static int32_t rt_parallel(NativeCall *call, NativeBody body, void *env, int64_t nparts) {
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
static int32_t rt_poll(NativeCall *call) {
	polls++;
	call->poll_left = 1000;
	return poll_answer;
}
static void *rt_arena(NativeCall *call, int64_t bytes) {
	(void)call;
	if (bytes < 0 || (size_t)bytes > arena_left) return NULL;
	void *at = arena_at;
	size_t taken = ((size_t)bytes + 127) & ~(size_t)63;
	arena_at += taken;
	arena_left -= taken;
	return at;
}
static void rt_copy(void *to, const void *from, int64_t bytes) { memcpy(to, from, (size_t)bytes); }
static void rt_zero(void *at, int64_t bytes) { memset(at, 0, (size_t)bytes); }
static int32_t rt_gemm(NativeCall *call, double *c, int64_t c_row, int64_t c_col, const double *a,
                       int64_t a_row, int64_t a_k, const double *b, int64_t b_k, int64_t b_col,
                       int64_t m, int64_t n, int64_t k, int32_t accumulate,
                       const NativeTiles *tiles) {
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

static bool make_stubs(void) {
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

static bool write_object(int number, uint32_t part, const char *bytes, size_t n) {
	char path[128];
	snprintf(path, sizeof path, "%s/%d-%u.o", folder, number, part);
	FILE *f = fopen(path, "wb");
	return f && fwrite(bytes, 1, n, f) == n && !fclose(f);
}

/* Writes a file for each object and returns their number. */
static uint32_t write_objects(int number, const CodegenOutput *out) {
	NativeParts head;
	if (out->n < sizeof head || memcmp(out->bytes, NATIVE_PARTS_MAGIC, sizeof head.magic))
		return write_object(number, 0, out->bytes, out->n);
	memcpy(&head, out->bytes, sizeof head);
	size_t at = sizeof head;
	for (uint32_t k = 0; k < head.n; at += head.bytes[k++])
		if (!write_object(number, k, out->bytes + at, head.bytes[k])) return 0;
	return at == out->n ? (uint32_t)head.n : 0;
}

static Code compiled(KModule *m) {
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
static Code compile(KModule *m) {
	check_pause(false);
	const Code code = compiled(m);
	check_pause(compile_only);
	return code;
}

static void forget(Code *code) {
	if (code->library) dlclose(code->library);
	*code = (Code){0};
}

static NativeCall last; /* the record after the last call */
static int32_t call(const Code *code, void **buffers, const int64_t *words, int64_t *results) {
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
static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static char *guarded(void) {
	char *map =
		mmap(NULL, ROOM + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || mprotect(map + ROOM, page(), PROT_NONE)) exit(2);
	return map;
}
/* Returns the last `bytes` bytes before the page. */
static void *at_end(char *map, size_t bytes) {
	memset(map, 0xa5, ROOM);
	return map + ROOM - bytes;
}
static bool untouched(const char *map, size_t bytes) {
	for (size_t i = 0; i < ROOM - bytes; i++)
		if ((unsigned char)map[i] != 0xa5) return false;
	return true;
}

static uint64_t seed = 88172645463325252u;
static uint64_t random_bits(void) {
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}
static double random_number(double lo, double hi) {
	return lo + (hi - lo) * ((double)(random_bits() >> 11) * 0x1p-53);
}

#endif
