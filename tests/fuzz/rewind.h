/* rewind.h - host allocator with checkpoint and restore.
 *
 * Use: call rewind_start; make an engine with rewind_resize, and a context in
 * it; call rewind_keep. Then call rewind_back after each input. A context is
 * entirely in its host's memory, so this undoes all effects of an input. The
 * cost is proportional to the pages that the input wrote.
 *
 * Guarantees:
 * - Blocks are not reused before rewind_back.
 * - For the address sanitizer, freed blocks and the gaps between blocks are
 *   poisoned.
 *
 * Limits: one user in a process, whose context has one thread.
 */
#ifndef ATLED_TESTS_FUZZ_REWIND_H
#define ATLED_TESTS_FUZZ_REWIND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REWIND_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define REWIND_POISON 1
#endif
#ifdef REWIND_POISON
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#define poison(p, n) __asan_poison_memory_region((p), (n))
#define unpoison(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define poison(p, n) ((void)(p), (void)(n))
#define unpoison(p, n) ((void)(p), (void)(n))
#endif

#define REWIND_SIZE ((size_t)4 << 30) /* of address space, allocated when touched */
#define REWIND_GAP ((size_t)32)
#define REWIND_PAGE ((size_t)1 << 16)
/* new memory whose pages, and their contents, stay allocated for the next
 * input */
#define REWIND_HELD ((size_t)16 << 20)

/* A block from before rewind_keep that was freed later. */
typedef struct RewindFreed {
	void *p;
	size_t bytes;
} RewindFreed;

static struct {
	char *at;
	size_t used, kept;
	FILE *image; /* image of the first `kept` bytes */
	RewindFreed *freed;
	size_t nfreed, freed_cap;
} rewind_memory;

static inline void rewind_fail(const char *what) {
	perror(what);
	abort();
}

static inline void rewind_start(void) {
	rewind_memory.at = mmap(NULL, REWIND_SIZE, PROT_READ | PROT_WRITE,
	                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (rewind_memory.at == MAP_FAILED) rewind_fail("rewind: no memory");
}

static inline size_t rewind_take(size_t bytes) { return ((bytes + 15) & ~(size_t)15) + REWIND_GAP; }

/* The function for atled_engine_config.resize. */
static void *rewind_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	(void)ud;
	char *q = NULL;
	if (new_bytes) {
		if (new_bytes > REWIND_SIZE || rewind_take(new_bytes) > REWIND_SIZE - rewind_memory.used)
			return NULL;
		q = rewind_memory.at + rewind_memory.used;
		rewind_memory.used += rewind_take(new_bytes);
		poison(q, rewind_take(new_bytes));
		unpoison(q, new_bytes);
	}
	if (!p) return q;
	if (q) memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
	poison(p, old_bytes);
	if ((char *)p < rewind_memory.at + rewind_memory.kept) {
		if (rewind_memory.nfreed == rewind_memory.freed_cap) {
			rewind_memory.freed_cap = rewind_memory.freed_cap * 2 + 64;
			rewind_memory.freed =
				realloc(rewind_memory.freed, rewind_memory.freed_cap * sizeof *rewind_memory.freed);
			if (!rewind_memory.freed) rewind_fail("rewind: no memory");
		}
		rewind_memory.freed[rewind_memory.nfreed++] = (RewindFreed){p, old_bytes};
	}
	return q;
}

/* Copies word by word, because memcpy and write would refuse the poison between
 * blocks. */
__attribute__((no_sanitize("address"))) static inline void
rewind_copy(volatile uint64_t *to, const uint64_t *from, size_t words) {
	for (size_t i = 0; i < words; i++) to[i] = from[i];
}

static inline void rewind_map(void) {
	void *p = mmap(rewind_memory.at, rewind_memory.kept, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_FIXED, fileno(rewind_memory.image), 0);
	if (p == MAP_FAILED) rewind_fail("rewind: cannot map");
}

static inline void rewind_keep(void) {
	size_t n = rewind_memory.used = rewind_memory.kept =
		(rewind_memory.used + REWIND_PAGE - 1) & ~(REWIND_PAGE - 1);
	rewind_memory.image = tmpfile();
	if (!rewind_memory.image || ftruncate(fileno(rewind_memory.image), (off_t)n))
		rewind_fail("rewind: no file");
	void *image = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(rewind_memory.image), 0);
	if (image == MAP_FAILED) rewind_fail("rewind: cannot map");
	rewind_copy(image, (const uint64_t *)(void *)rewind_memory.at, n / sizeof(uint64_t));
	munmap(image, n);
	rewind_map();
#ifdef REWIND_POISON
	/* its pointers into other memory are no leaks */
	__lsan_register_root_region(rewind_memory.at, n);
#endif
}

static inline void rewind_back(void) {
	char *fresh = rewind_memory.at + rewind_memory.kept;
	const size_t n = rewind_memory.used - rewind_memory.kept;
	rewind_map();
	for (size_t i = 0; i < rewind_memory.nfreed; i++)
		unpoison(rewind_memory.freed[i].p, rewind_memory.freed[i].bytes);
	rewind_memory.nfreed = 0;
	if (n > REWIND_HELD) madvise(fresh + REWIND_HELD, n - REWIND_HELD, MADV_DONTNEED);
	poison(fresh, n);
	rewind_memory.used = rewind_memory.kept;
}

#endif
