/* code_cache.c - a directory of object files.
 *
 * Files are written under a temporary name, then renamed; the least recently
 * used are evicted.
 *
 * Needs: code_cache.h.
 *
 * Contract:
 * - As in code_cache.h.
 * - The directory is opened and checked once. All accesses use its descriptor,
 *   so nobody can replace it in between.
 *
 * A file is a header and the object; its name is the key. The header has the
 * key, too, and reveals a file of another key under this name (a copy, a
 * damaged disk). A file's modification time is its last use, to within an hour,
 * so most hits need not write to the disk.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/native/jit/code_cache.h"
#include "backend/native/kir/abi.h"
#include "backend/native/jit/codegen.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME_BYTES = 80, USED_WITHIN = 3600, LEFT_OVER = 3600, MOST_FILES = 1 << 20 };
#define MOST_OBJECT ((size_t)64 * 1024 * 1024)

typedef struct CacheHeader {
	char magic[8];
	uint32_t codegen, abi;
	uint64_t lo, hi;   /* the key */
	uint64_t bytes;    /* of the object */
	uint64_t checksum; /* of the object */
	uint64_t spare[2];
} CacheHeader;
static const char magic[8] = {'A', 't', 'l', 'e', 'd', 'O', '1', '\n'};

struct NativeCache {
	int directory;
	uint64_t bound;
	pthread_mutex_t lock;
	/* Bytes written since the directory was last scanned. Initially large
	 * enough that the first file causes a scan. */
	uint64_t written;
};

/* ---- hashing ------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t x) {
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *bytes, size_t n) {
	const char *p = bytes;
	h = mix(h, n);
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t x;
		memcpy(&x, p, 8);
		h = mix(h, x);
	}
	uint64_t rest = 0;
	memcpy(&rest, p, n);
	return mix(h, rest);
}

NativeKey native_key(KHash module, const char *cpu, uint64_t options, const char *generator) {
	uint64_t h[2] = {0x243f6a8885a308d3u, 0x13198a2e03707344u};
	for (int i = 0; i < 2; i++) {
		h[i] = mix(mix(h[i], module.lo), module.hi);
		h[i] = mix_bytes(mix_bytes(h[i], cpu, strlen(cpu)), generator, strlen(generator));
		h[i] = mix(mix(mix(h[i], options), CODEGEN_VERSION), NATIVE_ABI_VERSION);
	}
	return (NativeKey){h[0], h[1]};
}

/* ---- the directory ------------------------------------------------------- */

/* Opens a directory that this user owns and nobody else can enter; creates it
 * if missing. Returns -1 otherwise. */
static int open_directory(const char *path) {
	if (*path != '/') return -1;
	mkdir(path, 0700);
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) return -1;
	struct stat st;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077)) return fd;
	close(fd);
	return -1;
}

static int open_default(void) {
	char path[4096];
	const char *base = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int n;
	if (base && *base == '/') {
		n = snprintf(path, sizeof path, "%s", base);
	} else {
		if (!home || *home != '/') return -1;
		n = snprintf(path, sizeof path, "%s/.cache", home);
	}
	if (n < 0 || (size_t)n + sizeof "/atled" > sizeof path) return -1;
	mkdir(path, 0700);
	memcpy(path + n, "/atled", sizeof "/atled");
	return open_directory(path);
}

NativeCache *native_cache_open(const char *directory, uint64_t bound) {
	const int fd = directory ? open_directory(directory) : open_default();
	if (fd < 0) return NULL;
	NativeCache *c = malloc(sizeof *c);
	if (!c) {
		close(fd);
		return NULL;
	}
	*c = (NativeCache){.directory = fd, .bound = bound ? bound : NATIVE_CACHE_BYTES};
	c->written = c->bound;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void native_cache_close(NativeCache *c) {
	if (!c) return;
	close(c->directory);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void file_name(NativeKey key, char name[NAME_BYTES]) {
	snprintf(name, NAME_BYTES, "%016llx%016llx.o", (unsigned long long)key.hi,
	         (unsigned long long)key.lo);
}

/* Whether the file is the cache's: an object, or a temporary file. A process
 * that died may have left the latter incomplete. */
static bool is_ours(const char *name, bool *temporary) {
	const size_t hex = strspn(name, "0123456789abcdef");
	*temporary = hex == 32 && strlen(name) > 36 && !strcmp(name + strlen(name) - 4, ".tmp");
	return *temporary || (hex == 32 && !strcmp(name + 32, ".o"));
}

/* ---- reading ------------------------------------------------------------- */

static bool read_all(int fd, char *to, size_t n) {
	while (n) {
		const ssize_t got = read(fd, to, n);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return false;
		to += got;
		n -= (size_t)got;
	}
	return true;
}

static bool trusted(const struct stat *st) {
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

bool native_cache_load(NativeCache *c, NativeKey key, CachedObject *out) {
	*out = (CachedObject){0};
	if (!c) return false;
	char name[NAME_BYTES];
	file_name(key, name);
	const int fd = openat(c->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) return false;
	struct stat st;
	char *block = NULL;
	CacheHeader h;
	bool good = !fstat(fd, &st) && trusted(&st) && st.st_size > (off_t)sizeof h &&
	            (uint64_t)st.st_size <= MOST_OBJECT;
	const size_t n = good ? (size_t)st.st_size - sizeof h : 0;
	good = good && (block = malloc(n + sizeof h)) && read_all(fd, block, n + sizeof h);
	if (good) {
		memcpy(&h, block, sizeof h);
		good = !memcmp(h.magic, magic, sizeof magic) && h.codegen == CODEGEN_VERSION &&
		       h.abi == NATIVE_ABI_VERSION && h.lo == key.lo && h.hi == key.hi && h.bytes == n &&
		       h.checksum == mix_bytes(key.lo, block + sizeof h, n);
	}
	if (good && time(NULL) - st.st_mtime > USED_WITHIN) futimens(fd, NULL);
	close(fd);
	if (!good) {
		free(block);
		return false;
	}
	*out = (CachedObject){.bytes = block + sizeof h, .n = n, .block = block};
	return true;
}

void native_cache_drop(NativeCache *c, NativeKey key) {
	if (!c) return;
	char name[NAME_BYTES];
	file_name(key, name);
	unlinkat(c->directory, name, 0);
}

/* ---- writing ------------------------------------------------------------- */

static bool write_all(int fd, const void *from, size_t n) {
	const char *p = from;
	while (n) {
		const ssize_t put = write(fd, p, n);
		if (put < 0 && errno == EINTR) continue;
		if (put <= 0) return false;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

typedef struct CacheFile {
	char name[NAME_BYTES];
	struct timespec used;
	uint64_t bytes;
} CacheFile;

static int older_first(const void *x, const void *y) {
	const CacheFile *a = x, *b = y;
	if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

/* Scans the files and removes the least recently used until three quarters of
 * the bound are used. The caller holds the lock. */
static void evict(NativeCache *c) {
	const int fd = openat(c->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d) {
		if (fd >= 0) close(fd);
		return;
	}
	CacheFile *files = NULL;
	size_t n = 0, cap = 0;
	uint64_t total = 0;
	const time_t now = time(NULL);
	for (struct dirent *e; (e = readdir(d)) && n < MOST_FILES;) {
		bool temporary;
		struct stat st;
		if (!is_ours(e->d_name, &temporary) || strlen(e->d_name) >= NAME_BYTES ||
		    fstatat(c->directory, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (temporary && now - st.st_mtime > LEFT_OVER) unlinkat(c->directory, e->d_name, 0);
		if (temporary) continue;
		if (n == cap) {
			cap = cap ? cap * 2 : 64;
			CacheFile *more = realloc(files, cap * sizeof *files);
			if (!more) break;
			files = more;
		}
		files[n] = (CacheFile){.used = st.st_mtim, .bytes = (uint64_t)st.st_size};
		memcpy(files[n++].name, e->d_name, strlen(e->d_name) + 1);
		total += (uint64_t)st.st_size;
	}
	closedir(d);
	c->written = 0;
	if (total > c->bound) {
		qsort(files, n, sizeof *files, older_first);
		for (size_t i = 0; i < n && total > c->bound / 4 * 3; i++)
			if (!unlinkat(c->directory, files[i].name, 0)) total -= files[i].bytes;
	}
	free(files);
}

void native_cache_store(NativeCache *c, NativeKey key, const void *bytes, size_t n) {
	static atomic_uint number;
	if (!c || !n || n > MOST_OBJECT - sizeof(CacheHeader) || n > c->bound) return;
	char name[NAME_BYTES], temporary[NAME_BYTES];
	file_name(key, name);
	snprintf(temporary, sizeof temporary, "%.32s.%ld-%u.tmp", name, (long)getpid(),
	         atomic_fetch_add(&number, 1));
	const int fd =
		openat(c->directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) return;
	CacheHeader h = {.codegen = CODEGEN_VERSION,
	                 .abi = NATIVE_ABI_VERSION,
	                 .lo = key.lo,
	                 .hi = key.hi,
	                 .bytes = n};
	h.checksum = mix_bytes(key.lo, bytes, n);
	memcpy(h.magic, magic, sizeof magic);
	bool good = write_all(fd, &h, sizeof h) && write_all(fd, bytes, n);
	good = !close(fd) && good;
	if (!good || renameat(c->directory, temporary, c->directory, name)) {
		unlinkat(c->directory, temporary, 0);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->written += n + sizeof h;
	if (c->written > c->bound / 16) evict(c);
	pthread_mutex_unlock(&c->lock);
}
