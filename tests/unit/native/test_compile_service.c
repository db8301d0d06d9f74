/* test_compile_service.c - unit tests of the compile service.
 *
 * Covers the cache in memory and on disk, the code generator's library, and
 * background compilation.
 *
 * Oracle: a C compiler makes a small object and a stand-in for the code
 * generator's library. The stand-in returns that object for every module,
 * counts its calls in a file, and behaves as ATLED_TEST_CODEGEN says.
 *
 * Needs: backend/native/jit/compile_service.h; a C compiler at test time ($CC,
 * else cc).
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/native/jit/compile_service.h"
#include "backend/native/kir/cpu.h"
#include "tests/unit/support/check.h"
#include "lang/base/clock.h"
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER 0
#endif

/* ---- stand-in code generator --------------------------------------------- */

/* Compiles a function of the given name that returns the optimisation level. cc
 * inserts the name and takes a noticeable time, as a real compiler does. */
static const char *const generator =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	"typedef struct { const char *entry; int level; _Bool once, assembly, ir, debug_lines; } "
	"Options;\n"
	"typedef struct { char *bytes; size_t n; char error[256]; double seconds; } Output;\n"
	"int atled_codegen(const void *m, const Options *o, Output *out) {\n"
	"  const char *how = getenv(\"ATLED_TEST_CODEGEN\"), *folder = getenv(\"ATLED_TEST_FOLDER\"), "
	"*cc = getenv(\"CC\");\n"
	"  char name[300], command[2000]; int self;\n"
	"  snprintf(name, sizeof name, \"%s/calls\", folder); FILE *f = fopen(name, \"a\"); if (f) { "
	"fputc('x', f); fclose(f); }\n"
	"  if (how && !strcmp(how, \"fail\")) { strcpy(out->error, \"it was told to fail\"); return "
	"-1; }\n"
	"  if (how && !strcmp(how, \"slow\")) usleep(200000);\n"
	"  if (how && !strcmp(how, \"junk\")) { out->bytes = malloc(100); memset(out->bytes, 7, 100); "
	"out->n = 100; return 0; }\n"
	"  snprintf(name, sizeof name, \"%s/g%p\", folder, (void *)&self);\n"
	"  if (!cc || !*cc) cc = \"cc\";\n"
	"  snprintf(command, sizeof command, \"echo 'int %s(void *c) { return %d; }' | %s -x c -c -O1 "
	"-fPIC -w - -o '%s'\",\n"
	"           o->entry, o->level + 40, cc, name);\n"
	"  if (system(command) || !(f = fopen(name, \"rb\"))) { strcpy(out->error, \"no compiler\"); "
	"return -1; }\n"
	"  out->bytes = malloc(20000); out->n = fread(out->bytes, 1, 20000, f); fclose(f); "
	"unlink(name); return 0; }\n";

static char folder[64], library[100], cache[100];

static bool make_library(const char *text, const char *to) {
	char source[100], command[500];
	snprintf(source, sizeof source, "%s/g.c", folder);
	FILE *f = fopen(source, "w");
	if (!f) return false;
	fputs(text, f);
	fclose(f);
	const char *cc = getenv("CC");
	snprintf(command, sizeof command, "%s -shared -fPIC -O1 -w '%s' -o '%s'", cc && *cc ? cc : "cc",
	         source, to);
	const bool good = !system(command);
	unlink(source);
	return good;
}

/* Returns the number of calls of the generator since the last query. */
static long calls(void) {
	char name[100];
	struct stat st;
	snprintf(name, sizeof name, "%s/calls", folder);
	const long n = stat(name, &st) ? 0 : (long)st.st_size;
	unlink(name);
	return n;
}

static void empty_folder(const char *path) {
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (*e->d_name != '.') unlinkat(dirfd(d), e->d_name, 0);
	if (d) closedir(d);
}

/* A module that contains x, so that modules with different x differ. */
typedef struct Making {
	KModule *m;
	double x;
} Making;

static void make_module(Ctx *c, void *arg) {
	Making *k = arg;
	k->m = kmodule_new(c, native_target());
	KBuilder b;
	k_function(&b, k->m, 0);
	k_result(&b, 0, k_const(&b, KT_F64, k->x));
	k_return(&b, 0, NULL);
}

static KModule *module_of(Ctx *c, double x) {
	Making k = {.x = x};
	return ctx_protect(c, make_module, &k) == ST_OK ? k.m : NULL;
}

static int result_of(NativeCode *code) {
	NativeCall call = {0};
	return code ? native_code_entry(code)(&call) : -1;
}

/* ---- cases --------------------------------------------------------------- */

static const NativeOptions full = {.name = "a function of 2 words", .level = 2},
						   quick = {.level = 0};

static void test_order(void) {
	char why[300] = "";
	Ctx *c = ctx_new(NULL), *d = ctx_new(NULL);
	NativeService *s = native_service_new(c, cache), *t = native_service_new(d, cache);
	CHECK(native_available(s, why, sizeof why));
	KModule *m = module_of(c, 1), *same = module_of(d, 1), *other = module_of(c, 2);
	calls();
	NativeCode *a = native_compile(s, m, &full, why, sizeof why);
	CHECK(a && result_of(a) == 42 && calls() == 1 && native_counters(s)->compiled == 1);
	if (!a) fprintf(stderr, "%s\n", why);
	/* Another context and another module give the same code. */
	NativeCode *b = native_compile(t, same, &full, why, sizeof why);
	CHECK(b == a && calls() == 0 && native_counters(t)->from_memory == 1);
	NativeCode *q = native_compile(s, m, &quick, why, sizeof why);
	CHECK(q && q != a && result_of(q) == 40 && calls() == 1);
	NativeCode *o = native_compile(s, other, &full, why, sizeof why);
	CHECK(o && o != a && calls() == 1);
	CHECK(native_codes_alive() == 3);
	native_code_free(a);
	native_service_free(s);
	kmodule_free(m);
	kmodule_free(other);
	ctx_free(c);
	CHECK(result_of(b) == 42); /* outlives the context that made it */
	native_code_free(b);
	native_code_free(q);
	native_code_free(o);
	native_code_free(NULL);
	CHECK(native_codes_alive() == 0);
	b = native_compile(t, same, &full, why, sizeof why);
	CHECK(b && result_of(b) == 42 && calls() == 0 && native_counters(t)->from_disk == 1 &&
	      native_counters(t)->compiled == 0);
	CHECK(native_counters(t)->code_bytes > 0 && native_counters(t)->load_seconds > 0 &&
	      native_code_bytes(b) > 0);
	native_code_free(b);
	/* Code with another name is separate, because perf and gdb show the
	 * name. */
	const NativeOptions named = {.name = "b", .level = 2};
	b = native_compile(t, same, &named, why, sizeof why);
	CHECK(b && calls() == 1);
	native_code_free(b);
	/* Line numbers are valid in this process only, so the disk cache is neither
	 * read nor written. */
	const NativeOptions lines = {.level = 2, .debug_lines = true};
	for (int i = 0; i < 2; i++) {
		b = native_compile(t, same, &lines, why, sizeof why);
		CHECK(b && calls() == 1);
		native_code_free(b);
	}
	kmodule_free(same);
	native_service_free(t);
	native_service_free(NULL);
	ctx_free(d);
}

/* Cache files that are damaged, or whose content does not load, are compiled
 * again. */
static void test_damage(void) {
	Ctx *c = ctx_new(NULL);
	NativeService *s = native_service_new(c, cache);
	KModule *m = module_of(c, 3);
	native_code_free(native_compile(s, m, &full, NULL, 0));
	CHECK(calls() == 1);
	DIR *d = opendir(cache);
	for (struct dirent *e; d && (e = readdir(d));)
		if (*e->d_name != '.') {
			char name[400];
			snprintf(name, sizeof name, "%s/%s", cache, e->d_name);
			CHECK(!truncate(name, 100));
		}
	if (d) closedir(d);
	NativeCode *code = native_compile(s, m, &full, NULL, 0);
	CHECK(code && result_of(code) == 42 && calls() == 1);
	native_code_free(code);
	native_code_free(native_compile(s, m, &full, NULL, 0));
	CHECK(calls() == 0 && native_counters(s)->from_disk == 1);
	kmodule_free(m);
	native_service_free(s);
	ctx_free(c);
}

/* Services with different folders do not see each other's files. */
static void test_caches(void) {
	char other[120];
	snprintf(other, sizeof other, "%s/other", folder);
	const char *const where[] = {cache, other, "", cache, "not/absolute"};
	static const long expected[] = {1, 1, 1, 0, 1};
	Ctx *c = ctx_new(NULL);
	KModule *m = module_of(c, 5);
	calls();
	for (int i = 0; i < 5; i++) {
		NativeService *s = native_service_new(c, where[i]), *same = native_service_new(c, where[i]);
		CHECK(!native_is_cached(s, m, &full) == expected[i]);
		native_code_free(native_compile(s, m, &full, NULL, 0));
		CHECK(calls() == expected[i]);
		native_service_free(s);
		CHECK(native_is_cached(same, m, &full) == (i != 2 && i != 4));
		native_service_free(same);
	}
	kmodule_free(m);
	ctx_free(c);
	empty_folder(other);
	CHECK(!rmdir(other));
}

static void test_failures(void) {
	char why[300] = "";
	Ctx *c = ctx_new(NULL);
	NativeService *s = native_service_new(c, cache);
	KModule *m = module_of(c, 4);
	setenv("ATLED_TEST_CODEGEN", "fail", 1);
	CHECK(!native_compile(s, m, &full, why, sizeof why) && !strcmp(why, "it was told to fail"));
	setenv("ATLED_TEST_CODEGEN", "junk", 1);
	CHECK(!native_compile(s, m, &full, why, sizeof why) && strstr(why, "ELF"));
	CHECK(!native_compile(s, m, &full, NULL, 0));
	unsetenv("ATLED_TEST_CODEGEN");
	CHECK(native_counters(s)->failed == 3 && native_counters(s)->compiled == 0);
	/* A failure is not cached. */
	NativeCode *code = native_compile(s, m, &full, why, sizeof why);
	CHECK(code && !*why);
	native_code_free(code);
	calls();
	/* No library; a file that is not a library; a library without the
	 * function. */
	static const char *const bad[] = {"/nonexistent/x.so", "relative.so"};
	char path[120];
	for (size_t i = 0; i < 2; i++) {
		setenv("ATLED_CODEGEN", bad[i], 1);
		native_forget_library();
		CHECK(!native_available(s, why, sizeof why) && strstr(why, "native code is off"));
		CHECK(!native_compile(s, m, &full, why, sizeof why) && strstr(why, "native code is off"));
	}
	snprintf(path, sizeof path, "%s/empty.so", folder);
	CHECK(make_library("int nothing;\n", path));
	setenv("ATLED_CODEGEN", path, 1);
	native_forget_library();
	/* The file exists; opening it shows that it cannot be used. */
	CHECK(native_available(s, why, sizeof why));
	CHECK(!native_compile(s, m, &full, why, sizeof why) && strstr(why, "atled_codegen"));
	CHECK(!native_available(s, why, sizeof why));
	unlink(path);
	FILE *f = fopen(path, "w");
	if (f) fclose(f);
	native_forget_library();
	CHECK(!native_compile(s, m, &full, why, sizeof why) && *why);
	unlink(path);
	unsetenv("ATLED_CODEGEN"); /* This test has no library beside it, or a real one. */
	native_forget_library();
	(void)native_available(s, why, sizeof why);
	setenv("ATLED_CODEGEN", library, 1);
	native_forget_library();
	CHECK(native_codegen(why, sizeof why) != NULL);
	heap_fail_at(c, 1, false);
	CHECK(!native_service_new(c, cache));
	heap_fail_at(c, 0, false);
	kmodule_free(m);
	native_service_free(s);
	ctx_free(c);
}

static void test_background(void) {
	char why[300] = "";
	Ctx *c = ctx_new(NULL);
	NativeService *s = native_service_new(c, cache);
	NativeRequest *r[6];
	empty_folder(cache);
	calls();
	for (int i = 0; i < 6; i++) {
		KModule *m = module_of(c, 100 + i);
		r[i] = native_request(s, m, &full);
		CHECK(r[i] != NULL);
	}
	native_request_cancel(r[4]); /* most likely still in the queue */
	CHECK(result_of(native_request_take(r[0], why, sizeof why)) == 42);
	for (int i = 0; i < 3000 && !native_request_done(r[1]); i++) usleep(1000);
	CHECK(native_request_done(r[1]));
	NativeCode *one = native_request_take(r[1], why, sizeof why);
	CHECK(result_of(one) == 42);
	native_code_free(one);
	native_request_cancel(r[5]);
	one = native_request_take(r[2], why, sizeof why);
	CHECK(result_of(one) == 42 && native_counters(s)->compiled >= 3);
	native_code_free(one);
	native_request_cancel(NULL);
	const long n = calls();
	CHECK(n >= 3 && n <= 6);
	/* Waits, so that no thread reads the environment while it changes. */
	for (int i = 0; i < 3000 && !native_request_done(r[3]); i++) usleep(1000);
	/* A failure in the background. */
	setenv("ATLED_TEST_CODEGEN", "fail", 1);
	NativeRequest *bad = native_request(s, module_of(c, 200), &quick);
	CHECK(bad && !native_request_take(bad, why, sizeof why) && !strcmp(why, "it was told to fail"));
	/* Freeing the service cancels all requests and waits for a running one. */
	setenv("ATLED_TEST_CODEGEN", "slow", 1);
	NativeRequest *late[4];
	for (int i = 0; i < 4; i++)
		CHECK((late[i] = native_request(s, module_of(c, 300 + i), &quick)) != NULL);
	usleep(50000);
	native_service_free(s); /* cancels r[3] too */
	unsetenv("ATLED_TEST_CODEGEN");
	CHECK(calls() <= 3);
	ctx_free(c);
	for (int i = 0; i < 3; i++) { /* the holders see the cancellation whenever they ask */
		CHECK(native_request_done(late[i]) && !native_request_take(late[i], why, sizeof why) &&
		      !strcmp(why, "cancelled"));
	}
	native_request_cancel(late[3]);
	CHECK(!native_request_take(r[3], why, sizeof why));
	CHECK(native_codes_alive() == 1); /* the first code was never freed */
	c = ctx_new(NULL);                /* the owner of the cancelled request can get it again */
	s = native_service_new(c, cache);
	KModule *m = module_of(c, 100);
	NativeCode *code = native_compile(s, m, &full, why, sizeof why);
	CHECK(code && native_counters(s)->from_memory == 1);
	native_code_free(code);
	native_code_free(code);
	CHECK(native_codes_alive() == 0);
	kmodule_free(m);
	native_service_free(s);
	ctx_free(c);
}

/* Requests are cancelled one after the other, in the order in which they were
 * made. The queued ones never start, and no cancellation waits. */
static void test_cancelled_in_order(void) {
	enum { MANY = 5 };
	Ctx *c = ctx_new(NULL);
	NativeService *s = native_service_new(c, cache);
	NativeRequest *r[MANY];
	calls();
	setenv("ATLED_TEST_CODEGEN", "slow", 1);
	for (int i = 0; i < MANY; i++)
		CHECK((r[i] = native_request(s, module_of(c, 600 + i), &quick)) != NULL);
	usleep(50000);
	CHECK(native_requests_pending(s) == MANY && !native_request_done(r[0]));
	for (int i = 0; i < MANY; i++) native_request_cancel(r[i]);
	/* The first request is still compiling. */
	CHECK(native_requests_pending(s) == 1 && native_counters(s)->compiled == 0);
	/* A later request is compiled after it. The code of the first is then in
	 * the cache. */
	NativeCode *code = native_request_take(native_request(s, module_of(c, 700), &quick), NULL, 0);
	CHECK(result_of(code) == 40);
	native_code_free(code);
	unsetenv("ATLED_TEST_CODEGEN");
	KModule *m = module_of(c, 600);
	code = native_compile(s, m, &quick, NULL, 0);
	CHECK(code && native_counters(s)->from_memory + native_counters(s)->from_disk == 1);
	native_code_free(code);
	kmodule_free(m);
	CHECK(calls() == 2);
	/* Freeing the service waits for the running request. */
	setenv("ATLED_TEST_CODEGEN", "slow", 1);
	NativeRequest *last = native_request(s, module_of(c, 701), &quick);
	usleep(50000);
	native_request_cancel(last);
	native_service_free(s);
	unsetenv("ATLED_TEST_CODEGEN");
	ctx_free(c);
	CHECK(calls() == 1 && native_codes_alive() == 0);
}

/* Somebody waits for a request with a thread of its own. It does not queue, and
 * an interrupt leaves it behind. */
static void test_apart(void) {
	char why[300] = "";
	Ctx *c = ctx_new(NULL);
	NativeService *s = native_service_new(c, cache);
	calls();
	setenv("ATLED_TEST_CODEGEN", "slow", 1);
	NativeRequest *queued = native_request(s, module_of(c, 801), &quick);
	usleep(50000);
	unsetenv("ATLED_TEST_CODEGEN");
	NativeRequest *r = native_request_apart(s, module_of(c, 800), &quick);
	CHECK(r && native_request_wait(r, HUGE_VAL) && !native_request_done(queued));
	NativeCode *code = native_request_take(r, why, sizeof why);
	CHECK(result_of(code) == 40);
	native_code_free(code);
	CHECK(native_request_wait(queued, HUGE_VAL));
	native_code_free(native_request_take(queued, why, sizeof why));
	/* The wait has an end; the request goes on. */
	setenv("ATLED_TEST_CODEGEN", "slow", 1);
	r = native_request_apart(s, module_of(c, 803), &quick);
	CHECK(r && !native_request_wait(r, clock_seconds() + 0.01) && !native_request_done(r));
	CHECK(!native_request_wait(r, 0) && native_request_wait(r, HUGE_VAL));
	native_code_free(native_request_take(r, why, sizeof why));
	r = native_request_apart(s, module_of(c, 802), &quick);
	ctx_interrupt(c);
	CHECK(r && !native_request_wait(r, HUGE_VAL) && !native_request_done(r));
	native_request_cancel(r);
	CHECK(native_requests_pending(s) == 1);
	ctx_clear_interrupt(c);
	/* The service waits for what was left behind. */
	native_service_free(s);
	unsetenv("ATLED_TEST_CODEGEN");
	ctx_free(c);
	CHECK(calls() == 4 && native_codes_alive() == 0);
}

static void *one_thread(void *arg) {
	uintptr_t wrong = 0;
	for (int round = 0; round < 5; round++) {
		Ctx *c = ctx_new(NULL);
		NativeService *s = native_service_new(c, cache);
		for (int i = 0; i < 10; i++) {
			KModule *m = module_of(c, i % 4 + 400);
			if (i & 1) {
				NativeRequest *r = native_request(s, m, &quick);
				NativeCode *code = r ? native_request_take(r, NULL, 0) : NULL;
				wrong += result_of(code) != 40;
				native_code_free(code);
			} else {
				NativeCode *code = native_compile(s, m, &quick, NULL, 0);
				wrong += result_of(code) != 40;
				native_code_free(code);
				kmodule_free(m);
			}
		}
		NativeRequest *r = native_request(s, module_of(c, 500 + round), &quick);
		if (round & 1) native_request_cancel(r);
		native_service_free(s);
		ctx_free(c);
		if (!(round & 1)) native_request_cancel(r);
	}
	(void)arg;
	return (void *)wrong;
}

static void test_threads(void) {
	pthread_t ids[3];
	for (int i = 0; i < 3; i++) pthread_create(&ids[i], NULL, one_thread, NULL);
	for (int i = 0; i < 3; i++) {
		void *wrong;
		pthread_join(ids[i], &wrong);
		CHECK(!wrong);
	}
	CHECK(native_codes_alive() == 0);
}

static int exit_of(pid_t child) {
	int status = -1;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Children of a process that is compiling in the background, and of one that is
 * not. */
static void test_fork(void) {
	Ctx *c = ctx_new(NULL);
	NativeService *s = native_service_new(c, cache);
	KModule *m = module_of(c, 1000);
	NativeCode *code = native_compile(s, m, &full, NULL, 0);
	pid_t child = fork();
	if (!child) {
		alarm(60);
		NativeCode *again = native_compile(s, m, &full, NULL, 0);
		bool good = again == code && result_of(again) == 42;
		KModule *n = module_of(c, 1001);
		NativeCode *fresh = native_compile(s, n, &full, NULL, 0);
		good = good && result_of(fresh) == 42;
		native_code_free(fresh);
		if (!THREAD_SANITIZER) {
			NativeRequest *r = native_request(s, n, &quick);
			fresh = r ? native_request_take(r, NULL, 0) : NULL;
			good = good && result_of(fresh) == 40;
			native_code_free(fresh);
		}
		native_service_free(s);
		_exit(good ? 0 : 1);
	}
	CHECK(exit_of(child) == 0);
	setenv("ATLED_TEST_CODEGEN", "slow", 1);
	NativeRequest *slow = native_request(s, module_of(c, 1002), &full),
				  *queued = native_request(s, module_of(c, 1003), &full),
				  *apart = native_request_apart(s, module_of(c, 1005), &full);
	usleep(50000);
	child = fork();
	if (!child) {
		char why[300] = "";
		alarm(60);
		bool good = native_request_done(slow) && !native_request_take(slow, why, sizeof why) &&
		            strstr(why, "forked");
		native_request_cancel(queued);
		good = good && native_request_done(apart) && !native_request_take(apart, NULL, 0);
		KModule *n = module_of(c, 1004);
		good = good && !native_compile(s, n, &full, why, sizeof why) && strstr(why, "forked");
		/* Existing code can still be used. */
		NativeCode *again = native_compile(s, m, &full, why, sizeof why);
		good = good && again == code;
		native_service_free(s);
		_exit(good ? 0 : 1);
	}
	CHECK(exit_of(child) == 0);
	NativeCode *made = native_request_take(slow, NULL, 0);
	CHECK(result_of(made) == 42);
	native_code_free(made);
	native_request_cancel(queued);
	native_code_free(native_request_take(apart, NULL, 0));
	unsetenv("ATLED_TEST_CODEGEN");
	native_code_free(code);
	kmodule_free(m);
	native_service_free(s);
	ctx_free(c);
	CHECK(native_codes_alive() == 0);
}

int main(void) {
	snprintf(folder, sizeof folder, "/tmp/atled-compile-XXXXXX");
	if (!mkdtemp(folder)) return 1;
	snprintf(library, sizeof library, "%s/libstandin.so", folder);
	snprintf(cache, sizeof cache, "%s/cache", folder);
	setenv("ATLED_CODEGEN", library, 1);
	setenv("ATLED_TEST_FOLDER", folder, 1);
	const bool able = native_target()->vector_bytes && make_library(generator, library);
	if (able) {
		test_order();
		test_damage();
		test_caches();
		test_failures();
		test_background();
		test_cancelled_in_order();
		test_apart();
		test_threads();
		test_fork();
	} else check_skip("no compiler makes a stand-in for the code generator");
	empty_folder(cache);
	rmdir(cache);
	unlink(library);
	calls();
	CHECK(!rmdir(folder)); /* nothing is left behind */
	return check_end();
}
