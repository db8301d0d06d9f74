/* test_elf_loader.c - unit tests of the loader of object files.
 *
 * Oracle: loaded code gives the results that the source defines; broken objects
 * are rejected. Broken objects are valid ones truncated at every length or with
 * bytes changed in their structure. They are loaded but not called.
 *
 * Needs: backend/native/jit/elf_loader.h; a C compiler at test time ($CC, else
 * cc), for the objects.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "backend/native/jit/elf_loader.h"
#include "backend/native/jit/codegen.h"
#include "tests/unit/support/check.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

typedef struct Bytes {
	char *at;
	size_t n;
} Bytes;

static Bytes read_file(const char *path) {
	Bytes b = {0};
	FILE *f = fopen(path, "rb");
	if (!f) return b;
	fseek(f, 0, SEEK_END);
	b.n = (size_t)ftell(f);
	rewind(f);
	b.at = malloc(b.n + 1);
	if (!b.at || fread(b.at, 1, b.n, f) != b.n) b.n = 0;
	fclose(f);
	return b;
}

/* Compiles a text; n is 0 on failure. */
static Bytes object_of(const char *text, const char *flags) {
	char source[100], object[100], command[1000];
	snprintf(source, sizeof source, "%s/t.c", folder);
	snprintf(object, sizeof object, "%s/t.o", folder);
	FILE *f = fopen(source, "w");
	if (!f) return (Bytes){0};
	fputs(text, f);
	fclose(f);
	const char *cc = getenv("CC");
	snprintf(command, sizeof command, "%s -c -w -fno-stack-protector -fno-builtin %s '%s' -o '%s'",
	         cc && *cc ? cc : "cc", flags, source, object);
	if (system(command)) return (Bytes){0};
	Bytes b = read_file(object);
	unlink(source);
	unlink(object);
	return b;
}

static const char *const call_record =
	"typedef long long i64;\n"
	"typedef struct { void **buffers; const i64 *words; i64 *results; i64 poll_left, depth_left, "
	"site, a, b; void *runtime; } Call;\n";

/* Every feature that compilers use in objects of this kind. */
static const char *const everything =
	"double floor(double); double fma(double, double, double); float nearbyintf(float);\n"
	"void *memcpy(void *, const void *, unsigned long); void *memset(void *, int, unsigned long); "
	"void atled_rt_zero(void *, i64);\n"
	"static const double table[8] __attribute__((aligned(64))) = {1, 2, 4, 8, 16, 32, 64, 128};\n"
	"static i64 counter = 40; static i64 cleared[1000]; i64 shared_counter = 7;\n"
	"static i64 twice(i64 x) { return 2 * x; }\n"
	"static i64 thrice(i64 x) { return 3 * x; }\n"
	"i64 (*const chosen[2])(i64) = {twice, thrice};\n"
	"__attribute__((noinline)) i64 kind(i64 k) { switch (k) { case 0: return 11; case 1: return 5; "
	"case 2: return 77; case 3: return 2;\n"
	"  case 4: return 9; case 5: return 1; case 6: return 1000; default: return -1; } }\n"
	"int entry(Call *c) {\n"
	"  i64 *o = c->results; double *d = c->buffers[0];\n"
	"  o[0] = ++counter; cleared[c->words[0]] += 3; o[1] = cleared[c->words[0]]; o[2] = "
	"(i64)table[c->words[0] & 7];\n"
	"  o[3] = chosen[c->words[1] & 1](21); o[4] = kind(c->words[0]); d[0] = floor(d[0]); d[1] = "
	"fma(d[1], d[1], 1.0);\n"
	"  memcpy(d + 2, d, 16); memset(d + 4, 0, 8); atled_rt_zero(d + 5, 8); o[5] = "
	"(i64)nearbyintf(2.5f); o[6] = ++shared_counter;\n"
	"  o[7] = (i64)(void *)&table % 64; return 0; }\n";

static void run_everything(const char *flags) {
	char text[4000], error[200] = "";
	snprintf(text, sizeof text, "%s%s", call_record, everything);
	Bytes b = object_of(text, flags);
	CHECK(b.n > 0);
	NativeObject *o = native_load(b.at, b.n, "entry", error, sizeof error);
	if (!o) fprintf(stderr, "%s: %s\n", flags, error);
	CHECK(o != NULL);
	if (o) {
		double d[6] = {2.75, 3, 0, 0, 5, 6};
		void *buffers[1] = {d};
		int64_t words[2] = {6, 1}, results[8] = {0};
		NativeCall call = {.buffers = buffers, .words = words, .results = results};
		CHECK(native_entry(o)(&call) == 0);
		CHECK(results[0] == 41 && results[1] == 3 && results[2] == 64 && results[3] == 63 &&
		      results[4] == 1000);
		CHECK(results[5] == 2 && results[6] == 8 && results[7] == 0);
		CHECK(d[0] == 2 && d[1] == 10 && d[2] == 2 && d[3] == 10 && d[4] == 0 && d[5] == 0);
		CHECK(native_entry(o)(&call) == 0 && results[0] == 42 && results[1] == 6);
		CHECK(native_object_bytes(o) > 0);
		/* Another copy has its own data. */
		NativeObject *p = native_load(b.at, b.n, "entry", error, sizeof error);
		CHECK(p && native_entry(p)(&call) == 0 && results[0] == 41);
		native_unload(o);
		CHECK(p && native_entry(p)(&call) == 0 && results[0] == 42);
		native_unload(p);
	}
	free(b.at);
}

static void test_kinds(void) {
	static const char *const flags[] = {"-O2 -fPIC",
	                                    "-O0 -fPIC",
	                                    "-O2 -fPIC -fno-plt",
	                                    "-O2 -fno-pic -mcmodel=small",
	                                    "-O0 -fno-pic",
	                                    "-Os -fPIE",
	                                    "-O3 -fPIC -ffunction-sections -fdata-sections",
	                                    "-O2 -fPIC -g",
	                                    "-O2 -fPIC -ftree-vectorize"};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) run_everything(flags[i]);
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2")) run_everything("-O2 -fPIC -mavx2 -ftree-vectorize");
#endif
}

static const char *const small = "int entry(Call *c) { static const i64 t[3] = {5, 6, 7}; "
								 "c->results[0] = t[c->words[0]]; return 0; }\n";

static Bytes small_object(void) {
	char text[1000];
	snprintf(text, sizeof text, "%s%s", call_record, small);
	return object_of(text, "-O1 -fPIC");
}

/* Combines two objects as the code generator does; frees both. */
static Bytes joined(Bytes x, Bytes y) {
	NativeParts head = {.magic = NATIVE_PARTS_MAGIC, .n = 2, .bytes = {x.n, y.n}};
	Bytes b = {malloc(sizeof head + x.n + y.n), sizeof head + x.n + y.n};
	if (!b.at) exit(2);
	memcpy(b.at, &head, sizeof head);
	memcpy(b.at + sizeof head, x.at, x.n);
	memcpy(b.at + sizeof head + x.n, y.at, y.n);
	free(x.at);
	free(y.at);
	return b;
}

static Bytes two_objects(void) {
	static const char *const caller =
		"i64 other(i64 x); double floor(double); static i64 five = 5; "
		"__attribute__((visibility(\"hidden\"))) i64 half(i64 x);\n"
		"int entry(Call *c) { i64 (*volatile f)(i64) = half; c->results[0] = other(c->words[0]) + "
		"f(five) + (i64)floor(0.5); return 0; }\n";
	static const char *const callee =
		"double floor(double); static i64 t[3] = {50, 60, 70}; i64 half(i64 x) { return x / 2; }\n"
		"i64 other(i64 x) { return t[x] + half(9) + (i64)floor(1.5); }\n";
	char text[1500];
	snprintf(text, sizeof text, "%s%s", call_record, caller);
	Bytes first = object_of(text, "-O1 -fPIC");
	snprintf(text, sizeof text, "%s%s", call_record, callee);
	Bytes second = object_of(text, "-O1 -fPIC");
	return joined(first, second);
}

static void test_joined(void) {
	Bytes b = two_objects();
	char error[200] = "";
	NativeObject *o = native_load(b.at, b.n, "entry", error, sizeof error);
	if (!o) fprintf(stderr, "joined: %s\n", error);
	int64_t words[1] = {1}, results[1] = {0};
	NativeCall call = {.words = words, .results = results};
	CHECK(o && native_entry(o)(&call) == 0 && results[0] == 60 + 4 + 1 + 2);
	native_unload(o);
	NativeParts head;
	memcpy(&head, b.at, sizeof head);
	/* One object more or fewer than the header says. */
	for (uint64_t n = 0; n <= NATIVE_PARTS_MOST + 1; n++) {
		NativeParts other = head;
		other.n = n;
		memcpy(b.at, &other, sizeof other);
		o = native_load(b.at, b.n, "entry", error, sizeof error);
		CHECK(!o == (n != 2));
		native_unload(o);
	}
	free(b.at);
}

static void refuses(const char *text, const char *flags, const char *entry, const char *word) {
	char all[4000], error[200] = "";
	snprintf(all, sizeof all, "%s%s", call_record, text);
	Bytes b = object_of(all, flags);
	CHECK(b.n > 0);
	NativeObject *o = native_load(b.at, b.n, entry, error, sizeof error);
	CHECK(!o);
	CHECK(strstr(error, word) != NULL);
	if (!strstr(error, word)) fprintf(stderr, "%s\nit says: %s\n", text, error);
	native_unload(o);
	CHECK(!native_load(b.at, b.n, entry, NULL, 0));
	free(b.at);
}

static void test_refusals(void) {
	char error[100];
	refuses(small, "-O1 -fPIC", "another", "no function another");
	refuses("static int entry(Call *c) { return 1; } int (*keep)(Call *) = entry;", "-O1 -fPIC",
	        "entry", "no function");
	refuses("int entry = 3;", "-O1 -fPIC", "entry", "no code");
	refuses("int abort_now(void); int entry(Call *c) { return abort_now(); }", "-O1 -fPIC", "entry",
	        "undefined symbol abort_now");
	refuses("int atled_rt_no(void); int entry(Call *c) { return atled_rt_no(); }", "-O1 -fPIC",
	        "entry", "undefined symbol atled_rt_no");
	refuses("__thread int t; int entry(Call *c) { return t++; }", "-O1 -fPIC", "entry", "threads");
	refuses("volatile int n; static __attribute__((constructor)) void first(void) { n++; } int "
	        "entry(Call *c) { return 0; }",
	        "-O1 -fPIC", "entry", "initialisers");
	refuses("static char big[300000000]; int entry(Call *c) { return big[c->words[0]]++; }",
	        "-O1 -fPIC", "entry", "bad size");
	refuses("static char a[70000000], b[70000000]; int entry(Call *c) { return a[c->words[0]]++ + "
	        "b[c->words[0]]++; }",
	        "-O1 -fPIC -ffunction-sections -fdata-sections", "entry", "more than 128 MB");
	CHECK(!native_load("", 0, "entry", error, sizeof error) && *error);
	CHECK(!native_load("short", 5, "entry", error, sizeof error) && *error);
	char zeros[4096] = {0};
	CHECK(!native_load(zeros, sizeof zeros, "entry", error, sizeof error) && strstr(error, "ELF"));
	/* (The length of this file is not what seek reports; the bytes read are no
	 * object.) */
	Bytes self = read_file("/proc/self/exe");
	if (self.n) CHECK(!native_load(self.at, self.n, "entry", error, sizeof error) && *error);
	free(self.at);
	native_unload(NULL);
}

static uint64_t seed = 88172645463325252u;
static uint64_t random_bits(void) {
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Loads a copy of exactly n bytes, so that a sanitizer detects every read
 * beyond. */
static bool loads(const char *bytes, size_t n) {
	char error[120];
	char *copy = malloc(n ? n : 1);
	if (!copy) return false;
	memcpy(copy, bytes, n);
	NativeObject *o = native_load(copy, n, "entry", error, sizeof error);
	const bool good = o != NULL;
	if (!good && !*error) CHECK_MSG(false, "refused without a reason");
	native_unload(o);
	free(copy);
	return good;
}

/* Frees the bytes. */
static void test_broken(Bytes b) {
	CHECK(b.n > 0 && loads(b.at, b.n));
	int whole = 0;
	for (size_t n = 0; n < b.n; n++) whole += loads(b.at, n);
	CHECK(whole == 0); /* the section table comes last */
	/* Boundary values in the headers of file and sections, symbols and
	 * relocations. */
	static const uint64_t numbers[] = {0,           1,          2,         0x7f,
	                                   0xff,        0x8000,     0xffff,    0x7fffffff,
	                                   0x80000000,  0xffffffff, INT64_MAX, (uint64_t)1 << 63,
	                                   ~(uint64_t)0};
	int loaded = 0, tried = 0;
	for (size_t at = 0; at + 8 <= b.n; at++) {
		char saved[8];
		memcpy(saved, b.at + at, 8);
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
			memcpy(b.at + at, &numbers[i], 1 + random_bits() % 8);
			loaded += loads(b.at, b.n);
			tried++;
			memcpy(b.at + at, saved, 8);
		}
		if (SANITIZED) at += random_bits() % 4;
	}
	for (int i = 0; i < (SANITIZED ? 4000 : 20000); i++) { /* several random bytes */
		char *copy = malloc(b.n);
		if (!copy) break;
		memcpy(copy, b.at, b.n);
		for (uint64_t k = 1 + random_bits() % 6; k--;)
			copy[random_bits() % b.n] = (char)random_bits();
		loaded += loads(copy, b.n);
		tried++;
		free(copy);
	}
	CHECK(loaded > 0 && loaded < tried); /* changes of code or names still load */
	free(b.at);
}

static void test_protection(void) {
	Bytes b = small_object();
	NativeObject *o = native_load(b.at, b.n, "entry", NULL, 0);
	CHECK(o != NULL);
	const NativeEntry entry = o ? native_entry(o) : NULL;
	uintptr_t code;
	memcpy(&code, &entry, sizeof code);
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false, loose = false;
	while (f && fgets(line, sizeof line, f)) {
		unsigned long long lo, hi;
		char rights[5] = "";
		if (sscanf(line, "%llx-%llx %4s", &lo, &hi, rights) != 3) continue;
		if (code >= lo && code < hi) found = !strcmp(rights, "r-xp");
		loose |= rights[1] == 'w' && rights[2] == 'x';
	}
	if (f) fclose(f);
	CHECK(found && !loose);
	native_unload(o);
	free(b.at);
}

static void *load_often(void *arg) {
	const Bytes *b = arg;
	uintptr_t good = 0;
	for (int i = 0; i < 200; i++) {
		NativeObject *o = native_load(b->at, b->n, "entry", NULL, 0);
		int64_t word = i % 3, result = 0;
		NativeCall call = {.words = &word, .results = &result};
		good += o && !native_entry(o)(&call) && result == 5 + word;
		native_unload(o);
	}
	return (void *)good;
}

static void test_threads(void) {
	Bytes b = small_object();
	pthread_t ids[4];
	for (int i = 0; i < 4; i++) pthread_create(&ids[i], NULL, load_often, &b);
	for (int i = 0; i < 4; i++) {
		void *good;
		pthread_join(ids[i], &good);
		CHECK((uintptr_t)good == 200);
	}
	free(b.at);
}

/* The system refuses memory. Runs in a child process, because the limit is
 * permanent. */
static void test_no_memory(void) {
	char text[1000], error[100];
	snprintf(text, sizeof text,
	         "%sstatic char big[100000000]; int entry(Call *c) { return big[c->words[0]]++; }",
	         call_record);
	Bytes b = object_of(text, "-O1 -fPIC");
	CHECK(b.n > 0);
	if (!SANITIZED) {
		const pid_t child = fork();
		if (!child) {
			struct rlimit r = {80000000, 80000000};
			if (setrlimit(RLIMIT_AS, &r) || getrlimit(RLIMIT_AS, &r) || r.rlim_cur != 80000000)
				_exit(2);
			const bool refused =
				!native_load(b.at, b.n, "entry", error, sizeof error) && strstr(error, "no memory");
			_exit(refused ? 0 : 1);
		}
		int status = -1;
		waitpid(child, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 2) { /* processor emulators do this */
			check_skip("want of memory for code: the system does not limit a process's addresses");
		} else CHECK(status == 0);
	}
	free(b.at);
}

static void test_tools(void) {
	Bytes b = small_object();
	char path[64], text[4096] = "";
	snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
	native_notify(NATIVE_NOTIFY_PERF | NATIVE_NOTIFY_GDB);
	NativeObject *o[3];
	for (int i = 0; i < 3; i++) o[i] = native_load(b.at, b.n, "entry", NULL, 0);
	CHECK(o[0] && o[1] && o[2]);
	Bytes map = read_file(path);
	if (map.n && map.n < sizeof text) memcpy(text, map.at, map.n);
	unsigned long long at = 0, n = 0;
	char name[40] = "";
	CHECK(sscanf(text, "%llx %llx %39s", &at, &n, name) == 3 && !strcmp(name, "entry") && n > 0);
	NativeEntry entry = o[0] ? native_entry(o[0]) : NULL;
	CHECK(at == (uintptr_t)entry);
	native_unload(o[1]); /* a middle one, one at an end, the last */
	native_unload(o[2]);
	native_unload(o[0]);
	free(map.at);
	free(b.at);
	unlink(path);
}

static void measure(void) {
	Bytes b = small_object();
	char text[4000];
	snprintf(text, sizeof text, "%s%s", call_record, everything);
	Bytes large = object_of(text, "-O2 -fPIC");
	const Bytes *both[2] = {&b, &large};
	for (int k = 0; k < 2; k++) {
		double best = 1e9;
		for (int round = 0; round < 20; round++) {
			struct timespec t0, t1;
			clock_gettime(CLOCK_MONOTONIC, &t0);
			for (int i = 0; i < 50; i++)
				native_unload(native_load(both[k]->at, both[k]->n, "entry", NULL, 0));
			clock_gettime(CLOCK_MONOTONIC, &t1);
			const double t =
				((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / 50;
			if (t < best) best = t;
		}
		printf("load and unload %zu bytes: %.1f us\n", both[k]->n, best * 1e-3);
	}
	free(b.at);
	free(large.at);
}

int main(void) {
#if defined(__x86_64__) || defined(__aarch64__)
	snprintf(folder, sizeof folder, "/tmp/atled-load-XXXXXX");
	if (!mkdtemp(folder)) return 1;
	Bytes b = small_object();
	const bool compiler = b.n > 0;
	free(b.at);
	if (!compiler) {
		rmdir(folder);
		check_skip("no compiler makes an object");
		return check_end();
	}
	test_kinds();
	test_refusals();
	test_joined();
	test_broken(small_object());
	test_broken(two_objects());
	test_protection();
	test_threads();
	test_no_memory();
	measure();
	test_tools();
	rmdir(folder);
#else
	char error[100];
	CHECK(!native_load("", 0, "entry", error, sizeof error) && *error);
#endif
	return check_end();
}
