/* test_code_cache.c - unit tests of the on-disk cache of compiled objects.
 *
 * Oracle: a stored object is read back identically; any other content of the
 * folder is a miss.
 *
 * Needs: backend/native/jit/code_cache.h.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks. The test works in its own folders under /tmp.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/native/jit/code_cache.h"
#include "tests/unit/support/check.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64], path[300];

static NativeKey key_of(uint64_t k) {
	return native_key((KHash){k, ~k}, "x86-64-v3", 2, "a generator");
}

/* Returns the file name of a key. */
static const char *file_of(const char *where, NativeKey k) {
	snprintf(path, sizeof path, "%s/%016llx%016llx.o", where, (unsigned long long)k.hi,
	         (unsigned long long)k.lo);
	return path;
}

static int files_in(const char *where, const char *ending) {
	int n = 0;
	DIR *d = opendir(where);
	for (struct dirent *e; d && (e = readdir(d));) {
		const size_t all = strlen(e->d_name), end = strlen(ending);
		n += *e->d_name != '.' && all >= end && !strcmp(e->d_name + all - end, ending);
	}
	if (d) closedir(d);
	return n;
}

static void empty(const char *where) {
	DIR *d = opendir(where);
	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlinkat(dirfd(d), e->d_name, 0);
	if (d) closedir(d);
}

static void remove_folder(const char *where) {
	empty(where);
	rmdir(where);
}

static const char *below(const char *name) {
	static char at[4][200];
	static int turn;
	char *p = at[turn++ % 4];
	snprintf(p, sizeof at[0], "%s/%s", folder, name);
	return p;
}

static void fill(char *bytes, size_t n, uint64_t seed) {
	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (char)(seed >> 56);
	}
}

static bool holds(NativeCache *c, NativeKey k, const char *bytes, size_t n) {
	CachedObject o;
	if (!native_cache_load(c, k, &o)) return false;
	const bool same = o.n == n && !memcmp(o.bytes, bytes, n);
	free(o.block);
	return same;
}

static bool misses(NativeCache *c, NativeKey k) {
	CachedObject o;
	const bool hit = native_cache_load(c, k, &o);
	free(o.block);
	return !hit && !o.bytes && !o.block;
}

/* ---- keys ---------------------------------------------------------------- */

static bool same_key(NativeKey a, NativeKey b) { return a.lo == b.lo && a.hi == b.hi; }

static void test_keys(void) {
	const NativeKey k = native_key((KHash){1, 2}, "x86-64-v3", 0, "g");
	CHECK(same_key(k, native_key((KHash){1, 2}, "x86-64-v3", 0, "g")));
	CHECK(!same_key(k, native_key((KHash){2, 1}, "x86-64-v3", 0, "g")));
	CHECK(!same_key(k, native_key((KHash){1, 3}, "x86-64-v3", 0, "g")));
	CHECK(!same_key(k, native_key((KHash){1, 2}, "x86-64-v4", 0, "g")));
	CHECK(!same_key(k, native_key((KHash){1, 2}, "x86-64-v3", 1, "g")));
	CHECK(!same_key(k, native_key((KHash){1, 2}, "x86-64-v3", 0, "h")));
	CHECK(!same_key(native_key((KHash){1, 2}, "ab", 0, "c"),
	                native_key((KHash){1, 2}, "a", 0, "bc")));
	CHECK(k.lo != k.hi);
	for (uint64_t i = 0; i < 100; i++)
		for (uint64_t j = 0; j < i; j++)
			if (key_of(i).lo == key_of(j).lo || key_of(i).hi == key_of(j).hi)
				CHECK_MSG(false, "keys %d and %d", (int)i, (int)j);
}

/* ---- contents ------------------------------------------------------------ */

static void test_contents(void) {
	char where[120];
	snprintf(where, sizeof where, "%s/contents", folder);
	NativeCache *c = native_cache_open(where, 0);
	CHECK(c != NULL);
	struct stat st;
	CHECK(!stat(where, &st) && (st.st_mode & 0777) == 0700);
	static char bytes[100000];
	static const size_t sizes[] = {1, 7, 8, 9, 63, 64, 65, 4096, 100000};
	for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		fill(bytes, sizes[i], i);
		CHECK(misses(c, key_of(i)));
		native_cache_store(c, key_of(i), bytes, sizes[i]);
		CHECK(holds(c, key_of(i), bytes, sizes[i]));
	}
	CHECK(files_in(where, ".o") == 9 && files_in(where, ".tmp") == 0);
	NativeCache *again = native_cache_open(where, 0);
	CHECK(again && holds(again, key_of(8), bytes, 100000));
	native_cache_close(again);
	fill(bytes, 50, 77); /* the same name again: the later one stays */
	native_cache_store(c, key_of(8), bytes, 50);
	CHECK(holds(c, key_of(8), bytes, 50));
	native_cache_drop(c, key_of(8));
	CHECK(misses(c, key_of(8)));
	native_cache_store(c, key_of(20), bytes, 0);
	CHECK(misses(c, key_of(20)));
	CHECK(misses(NULL, key_of(0)));
	native_cache_store(NULL, key_of(0), bytes, 10);
	native_cache_drop(NULL, key_of(0));
	native_cache_close(c);
	native_cache_close(NULL);
	remove_folder(where);
}

static void write_file(const char *name, const char *bytes, size_t n) {
	FILE *f = fopen(name, "wb");
	if (!f) return;
	fwrite(bytes, 1, n, f);
	fclose(f);
	chmod(name, 0600);
}

/* Files that were damaged or changed. */
static void test_damage(void) {
	char where[120];
	snprintf(where, sizeof where, "%s/damage", folder);
	NativeCache *c = native_cache_open(where, 0);
	char bytes[100], whole[1000];
	fill(bytes, sizeof bytes, 5);
	const NativeKey k = key_of(5);
	native_cache_store(c, k, bytes, sizeof bytes);
	file_of(where, k);
	FILE *f = fopen(path, "rb");
	const size_t n = f ? fread(whole, 1, sizeof whole, f) : 0;
	if (f) fclose(f);
	CHECK(n > sizeof bytes && n < sizeof whole);
	int hits = 0;
	for (size_t i = 0; i < n; i++) { /* the spare bytes of the header have no meaning */
		whole[i] ^= 0x10;
		write_file(path, whole, n);
		whole[i] ^= 0x10;
		hits += holds(c, k, bytes, sizeof bytes);
		if (i >= n - sizeof bytes) CHECK(misses(c, k));
	}
	CHECK(hits <= 16);
	for (size_t i = 0; i < n; i++) {
		write_file(path, whole, i);
		CHECK(misses(c, k));
	}
	write_file(path, whole, n);
	CHECK(holds(c, k, bytes, sizeof bytes));
	whole[n] = 0;
	write_file(path, whole, n + 1);
	CHECK(misses(c, k));
	/* Another key's file under this name. */
	native_cache_store(c, key_of(6), bytes, sizeof bytes);
	char other[300];
	snprintf(other, sizeof other, "%s", file_of(where, key_of(6)));
	file_of(where, k);
	CHECK(!rename(other, path) && misses(c, k));
	/* Files that other users may write. */
	native_cache_store(c, k, bytes, sizeof bytes);
	static const mode_t modes[] = {0620, 0602, 0666, 0777};
	for (size_t i = 0; i < 4; i++) {
		chmod(path, modes[i]);
		CHECK(misses(c, k));
	}
	chmod(path, 0644);
	CHECK(holds(c, k, bytes, sizeof bytes));
	if (!geteuid()) {
		CHECK(!chown(path, 12345, 12345) && misses(c, k));
		CHECK(!chown(path, 0, 0) && holds(c, k, bytes, sizeof bytes));
	}
	/* Entries that are not regular files. */
	snprintf(other, sizeof other, "%s/elsewhere", where);
	CHECK(!rename(path, other) && !symlink(other, path) && misses(c, k));
	unlink(path);
	CHECK(!mkfifo(path, 0600) && misses(c, k)); /* does not block */
	unlink(path);
	CHECK(!mkdir(path, 0700) && misses(c, k));
	native_cache_store(c, k, bytes, sizeof bytes); /* cannot be stored; harmless */
	CHECK(misses(c, k) && files_in(where, ".tmp") == 0);
	rmdir(path);
	native_cache_close(c);
	remove_folder(where);
}

/* ---- folders ------------------------------------------------------------- */

static bool opens(void) {
	NativeCache *c = native_cache_open(NULL, 0);
	native_cache_close(c);
	return c != NULL;
}

static void test_folders(void) {
	char where[120];
	snprintf(where, sizeof where, "%s/folders", folder);
	static const mode_t modes[] = {0755, 0750, 0707, 0777, 0711};
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		mkdir(where, 0700);
		chmod(where, modes[i]);
		NativeCache *c = native_cache_open(where, 0);
		CHECK(!c);
		native_cache_close(c);
		rmdir(where);
	}
	if (!geteuid()) {
		mkdir(where, 0700);
		NativeCache *c = chown(where, 12345, 12345) ? NULL : native_cache_open(where, 0);
		CHECK(!c);
		native_cache_close(c);
		rmdir(where);
	}
	CHECK(!native_cache_open("", 0));
	CHECK(!native_cache_open("relative/path", 0));
	CHECK(!native_cache_open("/proc/nothing/here", 0));
	CHECK(!native_cache_open("/dev/null", 0));
	mkdir(where, 0700);
	const char *link = below("link");
	CHECK(!symlink(where, link) && !native_cache_open(link, 0));
	unlink(link);
	rmdir(where);
	/* The user's folder. */
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", folder, 1);
	CHECK(opens() && !rmdir(below(".cache/atled")) && !rmdir(below(".cache")));
	setenv("XDG_CACHE_HOME", where, 1);
	CHECK(opens() && !rmdir(below("folders/atled")) && !rmdir(where));
	setenv("XDG_CACHE_HOME", "relative", 1); /* a relative path is ignored */
	CHECK(opens() && !rmdir(below(".cache/atled")) && !rmdir(below(".cache")));
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "", 1);
	CHECK(!opens());
	unsetenv("HOME");
	CHECK(!opens());
	char longer[5000];
	memset(longer, 'x', sizeof longer - 1);
	longer[0] = '/';
	longer[sizeof longer - 1] = 0;
	setenv("HOME", longer, 1);
	CHECK(!opens());
	setenv("HOME", folder, 1);
}

/* ---- size limit ---------------------------------------------------------- */

static void set_age(const char *name, time_t seconds) {
	struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
	utimensat(AT_FDCWD, name, t, 0);
}

static void test_bound(void) {
	char where[120];
	snprintf(where, sizeof where, "%s/bound", folder);
	enum { EACH = 10000, FILES = 30 };
	static char bytes[EACH];
	NativeCache *c = native_cache_open(where, 100000);
	/* Foreign files are neither counted nor removed. */
	write_file(below("bound/notes.txt"), bytes, 200000 < EACH ? 0 : EACH);
	write_file(below("bound/0123456789abcdef0123456789abcdef.1-1.tmp"), bytes, 100);
	write_file(below("bound/0123456789abcdef0123456789abcdef.2-2.tmp"), bytes, 100);
	set_age(below("bound/0123456789abcdef0123456789abcdef.1-1.tmp"), 100000);
	for (uint64_t i = 0; i < FILES; i++) {
		fill(bytes, EACH, i);
		native_cache_store(c, key_of(i), bytes, EACH);
		CHECK(holds(c, key_of(i), bytes, EACH));
		set_age(file_of(where, key_of(i)), (time_t)(10000 - 100 * (int)i));
		if (i) { /* file 0 is used in every iteration */
			fill(bytes, EACH, 0);
			CHECK(holds(c, key_of(0), bytes, EACH));
		}
	}
	const int kept = files_in(where, ".o");
	CHECK(kept >= 6 && kept <= 11);
	int gap = 0; /* the most recent files stay */
	for (uint64_t i = 1; i < FILES; i++) {
		fill(bytes, EACH, i);
		const bool here = holds(c, key_of(i), bytes, EACH);
		if (!here) CHECK(i < FILES - 5);
		gap += here && i < FILES - 11;
	}
	CHECK(gap == 0);
	/* The new temporary file stays: another process may be writing it. */
	CHECK(!access(below("bound/notes.txt"), F_OK) && files_in(where, ".tmp") == 1);
	static char large[200000];
	native_cache_store(c, key_of(99), large, sizeof large); /* larger than the limit */
	CHECK(misses(c, key_of(99)));
	native_cache_close(c);
	remove_folder(where);
}

/* ---- concurrency and full disks ------------------------------------------ */

static void *share(void *arg) {
	NativeCache *c = arg;
	char bytes[3000];
	uintptr_t wrong = 0, hits = 0;
	for (uint64_t i = 0; i < 300; i++) {
		const uint64_t k = i * 7 % 20;
		fill(bytes, sizeof bytes, k);
		CachedObject o;
		if (native_cache_load(c, key_of(k), &o)) {
			hits++;
			wrong += o.n != sizeof bytes || memcmp(o.bytes, bytes, sizeof bytes);
			free(o.block);
		}
		if (i % 3) native_cache_store(c, key_of(k), bytes, sizeof bytes);
		if (i % 10 == 9) native_cache_drop(c, key_of((k + 1) % 20));
	}
	return (void *)(hits ? wrong : 1000);
}

static void test_many(void) {
	char where[120];
	snprintf(where, sizeof where, "%s/many", folder);
	NativeCache *c = native_cache_open(where, 40000);
	pid_t children[2];
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i]) continue;
		NativeCache *own = native_cache_open(where, 40000);
		_exit(own && !share(own) ? 0 : 1);
	}
	pthread_t ids[4];
	for (int i = 0; i < 4; i++) pthread_create(&ids[i], NULL, share, c);
	for (int i = 0; i < 4; i++) {
		void *wrong;
		pthread_join(ids[i], &wrong);
		CHECK(!wrong);
	}
	for (int i = 0; i < 2; i++) {
		int status = -1;
		waitpid(children[i], &status, 0);
		CHECK(status == 0);
	}
	CHECK(files_in(where, ".tmp") == 0);
	native_cache_close(c);
	remove_folder(where);
}

/* A file cannot be written completely. The test runs in a child process,
 * because the limit is permanent. */
static void test_full(void) {
	char where[120];
	snprintf(where, sizeof where, "%s/full", folder);
	const pid_t child = fork();
	if (!child) {
		signal(SIGXFSZ, SIG_IGN);
		struct rlimit r = {500, 500};
		setrlimit(RLIMIT_FSIZE, &r);
		static char bytes[2000];
		NativeCache *c = native_cache_open(where, 0);
		native_cache_store(c, key_of(1), bytes, sizeof bytes);
		const bool good = c && misses(c, key_of(1)) && files_in(where, "") == 0;
		native_cache_store(c, key_of(2), bytes, 100);
		_exit(good && holds(c, key_of(2), bytes, 100) ? 0 : 1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	CHECK(status == 0);
	remove_folder(where);
	/* The folder is removed while the cache is open. */
	NativeCache *c = native_cache_open(where, 0);
	rmdir(where);
	char bytes[10] = {1};
	native_cache_store(c, key_of(1), bytes, sizeof bytes);
	CHECK(c && misses(c, key_of(1)));
	native_cache_close(c);
}

static void measure(void) {
	char where[120];
	snprintf(where, sizeof where, "%s/time", folder);
	NativeCache *c = native_cache_open(where, 0);
	static char bytes[5000];
	native_cache_store(c, key_of(1), bytes, sizeof bytes);
	double best = 1e9;
	for (int round = 0; round < 20; round++) {
		struct timespec t0, t1;
		clock_gettime(CLOCK_MONOTONIC, &t0);
		for (int i = 0; i < 50; i++) (void)holds(c, key_of(1), bytes, sizeof bytes);
		clock_gettime(CLOCK_MONOTONIC, &t1);
		const double t =
			((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / 50;
		if (t < best) best = t;
	}
	printf("read and check 5000 bytes: %.1f us\n", best * 1e-3);
	native_cache_close(c);
	remove_folder(where);
}

int main(void) {
	snprintf(folder, sizeof folder, "/tmp/atled-cache-XXXXXX");
	if (!mkdtemp(folder)) return 1;
	test_keys();
	test_contents();
	test_damage();
	test_folders();
	test_bound();
	test_many();
	test_full();
	measure();
	CHECK(!rmdir(folder)); /* nothing is left behind */
	return check_end();
}
