/* guarded.c - implementation of guarded.h: a mapping for each block. */
#include "tests/random/guarded.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 16, NO_NUMBER = 0xa5 };

static size_t page(void) {
	static size_t bytes;
	if (!bytes) bytes = (size_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

static size_t whole(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

static void *take(size_t bytes) {
	if (bytes < GUARDED_LEAST) return malloc(bytes);
	if (bytes > SIZE_MAX / 2) return NULL;
	static atomic_uint taken;
	const size_t room = whole(bytes, page());
	char *map = mmap(NULL, room + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED) return NULL;
	char *at = map + page();
	if (mprotect(at, room, PROT_READ | PROT_WRITE)) abort();
	/* alternates between the guard page after and before */
	if (taken++ % 2) at += room - whole(bytes, ALIGNMENT);
	memset(at, NO_NUMBER, bytes);
	return at;
}

static void give(void *p, size_t bytes) {
	if (bytes < GUARDED_LEAST) {
		free(p);
		return;
	}
	const size_t room = whole(bytes, page());
	char *at = (uintptr_t)p % page() ? (char *)p + whole(bytes, ALIGNMENT) - room : p;
	if (munmap(at - page(), room + 2 * page())) abort();
}

static void *resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	(void)ud;
	void *fresh = new_bytes ? take(new_bytes) : NULL;
	if (new_bytes && !fresh) return NULL;
	if (p && fresh) memcpy(fresh, p, old_bytes < new_bytes ? old_bytes : new_bytes);
	if (p) give(p, old_bytes);
	return fresh;
}

const HostAllocator guarded_memory = {.resize = resize};
