/* test_api_machine.c - unit tests of the public interface: what an engine
 * decides about machine code.
 *
 * Needs: help.h, the library of the code generator.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"
#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64]; /* of this test */
static bool able;       /* there is a code generator */

static const char *below(const char *name) {
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

/* Removes a folder of files; returns their number, or -1 when there is none. */
static int remove_folder(const char *path) {
	DIR *d = opendir(path);
	int n = 0;
	if (!d) return -1;
	for (struct dirent *e; (e = readdir(d));)
		if (*e->d_name != '.') n += !unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(path);
	return n;
}

static T open_with(const atled_engine_config *config) {
	atled_engine *e = atled_engine_new(config);
	T t = {.x = atled_context_new(e)};
	atled_engine_free(e);
	CHECK(t.x);
	return t;
}

static atled_stat stats_of(T *t) {
	atled_stat s = {.size = sizeof s};
	FINE(t, atled_stats(t->x, &s));
	return s;
}

/* Runs a short function, which is worth no compilation. Each `shift` makes
 * another one. */
static void run(T *t, int shift) {
	char text[160];
	snprintf(text, sizeof text,
	         "f(n) = { s = %d.0; for i in 0..n { s = s + 1/(1.0 + i) }; s }\nf(3)", shift);
	CHECK(near(number(t, text), shift + 1 + 1.0 / 2 + 1.0 / 3, 1e-12));
}

static bool runs_natively(T *t, int shift) {
	const uint64_t before = stats_of(t).native_calls;
	run(t, shift);
	return stats_of(t).native_calls > before;
}

/* ---- whether there is any ------------------------------------------------ */

static void test_none(T *unused) {
	(void)unused;
	T t = open_with(&(atled_engine_config){.size = sizeof(atled_engine_config),
	                                       .no_machine_code = 1,
	                                       .environment = 1,
	                                       .code_cache = below("none")});
	static const atled_machine_mode modes[] = {ATLED_MACHINE_WHEN_WORTH, ATLED_MACHINE_ALWAYS};
	for (int i = 0; i < 2; i++) {
		CHECK(atled_machine(t.x, modes[i]) == ATLED_MISUSE);
		const atled_error *e = atled_last_error(t.x);
		CHECK(e && strstr(e->message, "without machine code"));
	}
	FINE(&t, atled_machine(t.x, ATLED_MACHINE_NEVER));
	CHECK(!runs_natively(&t, 1));
	number(&t, "s = 0.0\nfor i in 0..300000 { s = sin(s) + 1.0 }\ns");
	CHECK(stats_of(&t).native_units == 0 && stats_of(&t).units_pending == 0);
	atled_context_free(t.x);
	CHECK(remove_folder(below("none")) == -1);
}

/* ---- the environment ----------------------------------------------------- */

static void test_environment(T *unused) {
	(void)unused;
	atled_engine_config follow = {.size = sizeof follow, .environment = 1}, alone = follow,
						old = follow;
	alone.environment = 0;
	old.size = offsetof(atled_engine_config, wait_seconds);
	old.no_machine_code = 1; /* beyond the size: not read */
	old.code_cache = (const char *)8;
	setenv("ATLED_NATIVE", "always", 1);
	T t = open_with(&follow);
	CHECK(runs_natively(&t, 10) == able);
	FINE(&t, atled_machine(t.x, ATLED_MACHINE_NEVER)); /* the host's word is the last */
	CHECK(!runs_natively(&t, 11));
	atled_context_free(t.x);
	const atled_engine_config *const ignorant[] = {&alone, &old, NULL};
	for (int i = 0; i < 3; i++) {
		t = open_with(ignorant[i]);
		CHECK(!runs_natively(&t, 12 + i));
		atled_context_free(t.x);
	}
	setenv("ATLED_NATIVE", "off", 1);
	for (int i = 0; i < 3; i++) {
		t = open_with(ignorant[i]);
		FINE(&t, atled_machine(t.x, ATLED_MACHINE_ALWAYS));
		CHECK(runs_natively(&t, 15 + i) == able);
		atled_context_free(t.x);
	}
	unsetenv("ATLED_NATIVE");
}

/* ---- waiting ------------------------------------------------------------- */

/* The first call does not wait for its code; a later one has it. */
static void test_later(atled_engine_config config, int shift) {
	T t = open_with(&config);
	FINE(&t, atled_machine(t.x, ATLED_MACHINE_ALWAYS));
	char text[120];
	snprintf(text, sizeof text, "g(n) = { s = %d.0; for i in 0..n { s = s + sin(1.0 * i) }; s }",
	         shift);
	FINE(&t, atled_compile(t.x, text, ATLED_ZERO, "later"));
	const double first = number(&t, "g(20)");
	const uint64_t calls = stats_of(&t).native_calls;
	for (int k = 0; k < 6000 && stats_of(&t).units_pending; k++) usleep(10000);
	CHECK(stats_of(&t).units_pending == 0);
	CHECK(near(number(&t, "g(20)"), first, 1e-12));
	for (int k = 0; k < 6000 && stats_of(&t).units_pending; k++) usleep(10000);
	CHECK(near(number(&t, "g(20)"), first, 1e-12));
	CHECK((stats_of(&t).native_calls > calls) == able);
	atled_context_free(t.x);
}

static void test_waiting(T *unused) {
	(void)unused;
	atled_engine_config config = {.size = sizeof config, .code_cache = "", .background_only = 1};
	test_later(config, 20);
	config.background_only = 0;
	config.wait_seconds = 1e-9;
	test_later(config, 21);
	static const double no_limit[] = {0, -1, 600, (double)NAN};
	for (int i = 0; i < 4; i++) {
		config.wait_seconds = no_limit[i];
		T t = open_with(&config);
		FINE(&t, atled_machine(t.x, ATLED_MACHINE_ALWAYS));
		CHECK(runs_natively(&t, 22 + i) == able);
		atled_context_free(t.x);
	}
}

/* A context that is freed while its code is being made. */
static void test_freed_early(T *unused) {
	(void)unused;
	for (int i = 0; i < 4; i++) {
		T t = open_with(&(atled_engine_config){.size = sizeof(atled_engine_config),
		                                       .background_only = i % 2,
		                                       .wait_seconds = 1e-9,
		                                       .code_cache = ""});
		FINE(&t, atled_machine(t.x, ATLED_MACHINE_ALWAYS));
		run(&t, 30 + i);
		atled_context_free(t.x);
	}
}

/* ---- the cache on disk --------------------------------------------------- */

/* Runs function `shift` in an engine of its own; returns the units found. */
static uint64_t found(const char *cache, int environment, int shift) {
	T t = open_with(&(atled_engine_config){
		.size = sizeof(atled_engine_config), .code_cache = cache, .environment = environment});
	FINE(&t, atled_machine(t.x, ATLED_MACHINE_ALWAYS));
	CHECK(runs_natively(&t, shift));
	const uint64_t n = stats_of(&t).units_found;
	atled_context_free(t.x);
	return n;
}

static void test_cache(T *unused) {
	(void)unused;
	if (!able) return;
	char one[128], two[128];
	snprintf(one, sizeof one, "%s", below("one"));
	snprintf(two, sizeof two, "%s", below("two"));
	CHECK(!found(one, 0, 40) && found(one, 0, 40));
	CHECK(!found(two, 0, 40) && found(two, 1, 40));
	CHECK(remove_folder(one) > 0 && remove_folder(two) > 0);
	/* Without files, or with a folder that cannot be used. */
	static const char *const useless[] = {"", "relative/path", "/proc/nothing", "/dev/null"};
	for (int i = 0; i < 4; i++) CHECK(!found(useless[i], 1, 41) && !found(useless[i], 0, 41));
	/* ATLED_CACHE counts where the host asks for it and names no folder. */
	setenv("XDG_CACHE_HOME", folder, 1);
	setenv("ATLED_CACHE", one, 1);
	CHECK(!found(NULL, 1, 42) && remove_folder(one) > 0);
	CHECK(!found(NULL, 0, 42) && remove_folder(one) == -1 && remove_folder(below("atled")) > 0);
	CHECK(!found(two, 1, 42) && remove_folder(one) == -1 && remove_folder(two) > 0);
	setenv("ATLED_CACHE", "off", 1);
	CHECK(!found(NULL, 1, 43) && remove_folder(below("atled")) == -1);
	CHECK(!found(two, 1, 43) && remove_folder(two) > 0);
	unsetenv("ATLED_CACHE");
	unsetenv("XDG_CACHE_HOME");
	/* Engines with two folders at one time. */
	T a = open_with(&(atled_engine_config){.size = sizeof(atled_engine_config), .code_cache = one});
	FINE(&a, atled_machine(a.x, ATLED_MACHINE_ALWAYS));
	CHECK(runs_natively(&a, 44));
	CHECK(!found(two, 0, 44));
	atled_context_free(a.x);
	CHECK(remove_folder(one) > 0 && remove_folder(two) > 0);
}

/* ---- failing allocations ------------------------------------------------- */

typedef struct Budget {
	int left, blocks;
} Budget;

static void *resize_within(void *ud, void *p, size_t before, size_t bytes) {
	Budget *b = ud;
	(void)before;
	if (!bytes) {
		b->blocks -= p != NULL;
		free(p);
		return NULL;
	}
	if (!b->left) return NULL;
	b->left--;
	void *fresh = realloc(p, bytes);
	b->blocks += fresh && !p;
	return fresh;
}

static void test_failing_memory(T *unused) {
	(void)unused;
	for (int n = 0; n < 4; n++) {
		Budget b = {.left = n};
		char name[16] = "/no/folder";
		atled_engine *e =
			atled_engine_new(&(atled_engine_config){.size = sizeof(atled_engine_config),
		                                            .resize = resize_within,
		                                            .ud = &b,
		                                            .code_cache = name});
		CHECK(!e == (n < 2));
		memset(name, 'x', sizeof name); /* the name was copied */
		atled_engine_free(e);
		CHECK(b.blocks == 0);
	}
}

int main(int argc, char **argv) {
	(void)argc;
	char path[PATH_MAX], full[PATH_MAX];
	const char *slash = strrchr(argv[0], '/');
	snprintf(path, sizeof path, "%.*s/../libatled-codegen.so", slash ? (int)(slash - argv[0]) : 1,
	         slash ? argv[0] : ".");
	if (!getenv("ATLED_CODEGEN") && realpath(path, full)) setenv("ATLED_CODEGEN", full, 1);
	unsetenv("ATLED_NATIVE");
	unsetenv("ATLED_CACHE");
	snprintf(folder, sizeof folder, "/tmp/atled-machine-XXXXXX");
	if (!mkdtemp(folder)) return 1;
	T t = open_with(&(atled_engine_config){.size = sizeof(atled_engine_config), .code_cache = ""});
	FINE(&t, atled_machine(t.x, ATLED_MACHINE_ALWAYS));
	able = runs_natively(&t, 0);
	if (!able) check_skip("no machine code here");
	static const TestCase tests[] = {
		{"none", test_none},       {"environment", test_environment},
		{"waiting", test_waiting}, {"freed early", test_freed_early},
		{"cache", test_cache},     {"failing memory", test_failing_memory},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	atled_context_free(t.x);
	CHECK(!rmdir(folder));
	return check_end();
}
