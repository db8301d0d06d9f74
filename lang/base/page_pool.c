/* page_pool.c - see page_pool.h.
 *
 * Method: one list of free blocks for the process, under a lock, since large
 * blocks are rarely requested. Allocation tries, in order:
 * - the most recent free block of the exact size, whose pages are likely
 *   cached: loops request the same sizes again;
 * - splitting a larger block;
 * - coalescing neighbours, then splitting again;
 * - moving the pages of other free blocks, oldest first, into one new block
 *   (mremap): growing arrays reuse the pages of their smaller predecessors.
 *
 * Blocks of huge pages and of small pages are never mixed, so that no huge page
 * is split. A sanitized build uses malloc for each block, so that use after
 * free is detected.
 */
#define _GNU_SOURCE /* mremap */
#include "lang/base/page_pool.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

void *page_alloc(size_t bytes) { return malloc(bytes); }
void page_free(void *p, size_t bytes) {
	(void)bytes;
	free(p);
}

void page_trim(void) {}

#else

enum { BLOCKS = 256 };
#define HUGE_PAGE ((size_t)2 << 20)

typedef struct PooledBlock {
	void *at;
	size_t bytes; /* mapped size */
	bool huge;    /* consists of huge pages, where the system has them */
} PooledBlock;

static struct {
	pthread_mutex_t lock;
	PooledBlock blocks[BLOCKS]; /* oldest first */
	unsigned n;
	size_t bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The mapped size of a block: whole pages, or whole huge pages from one huge
 * page on. */
static size_t mapped(size_t bytes) {
	size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
	return (bytes + unit - 1) / unit * unit;
}

static bool is_huge(size_t size) { return size >= HUGE_PAGE; }

static void take_out(unsigned i) {
	kept.bytes -= kept.blocks[i].bytes;
	kept.n--;
	for (; i < kept.n; i++) kept.blocks[i] = kept.blocks[i + 1];
}

/* Splits the smallest free block that is large enough: returns its beginning,
 * and keeps its remainder. */
static void *cut(size_t want) {
	unsigned best = kept.n;
	for (unsigned i = kept.n; i-- > 0;)
		if (kept.blocks[i].huge == is_huge(want) && kept.blocks[i].bytes >= want &&
		    (best == kept.n || kept.blocks[i].bytes < kept.blocks[best].bytes))
			best = i;
	if (best == kept.n) return NULL;
	PooledBlock *b = &kept.blocks[best];
	void *p = b->at;
	if (b->bytes == want) {
		take_out(best);
		return p;
	}
	b->at = (char *)p + want;
	b->bytes -= want;
	kept.bytes -= want;
	return p;
}

/* Coalesces adjacent free blocks. Returns whether there were any. */
static bool join(void) {
	bool any = false;
	for (unsigned i = 0; i < kept.n; i++)
		for (unsigned k = 0; k < kept.n; k++) {
			if (i == k || kept.blocks[i].huge != kept.blocks[k].huge ||
			    (char *)kept.blocks[i].at + kept.blocks[i].bytes != (char *)kept.blocks[k].at)
				continue;
			const size_t more = kept.blocks[k].bytes;
			take_out(k);
			if (k < i) i--;
			kept.blocks[i].bytes += more;
			kept.bytes += more;
			any = true;
			k = (unsigned)-1; /* from the beginning: the larger block has another neighbour */
		}
	return any;
}

#ifdef MREMAP_FIXED
/* Moves pages of free blocks to the beginning of the fresh huge pages at p. It
 * takes them from a block's end, so that the block's remainder stays a sequence
 * of whole huge pages. It moves one at a time, since only pages that were
 * mapped together can be moved together. Returns false when p is no longer
 * completely mapped. */
static bool gather(char *p, size_t want) {
	unsigned i = 0;
	while (want && i < kept.n) {
		if (!kept.blocks[i].huge) {
			i++;
			continue;
		}
		PooledBlock *b = &kept.blocks[i];
		const size_t take = b->bytes < want ? b->bytes : want;
		char *from = (char *)b->at + b->bytes - take;
		b->bytes -= take;
		kept.bytes -= take;
		if (!b->bytes) take_out(i);
		for (size_t at = 0; at < take; at += HUGE_PAGE) {
			if (mremap(from + at, HUGE_PAGE, HUGE_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p + at) !=
			    MAP_FAILED)
				continue;
			/* a failed mremap may have unmapped the target */
			munmap(from + at, take - at);
			return mmap(p + at, HUGE_PAGE, PROT_READ | PROT_WRITE,
			            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
		}
		p += take;
		want -= take;
	}
	return true;
}
#endif

void page_trim(void) {
	PooledBlock out[BLOCKS];
	pthread_mutex_lock(&kept.lock);
	unsigned n = kept.n;
	for (unsigned i = 0; i < n; i++) out[i] = kept.blocks[i];
	kept.n = 0;
	kept.bytes = 0;
	pthread_mutex_unlock(&kept.lock);
	while (n--) munmap(out[n].at, out[n].bytes);
}

void *page_alloc(size_t bytes) {
	size_t want = mapped(bytes);
	if (want < bytes) return NULL;
	pthread_mutex_lock(&kept.lock);
	for (unsigned i = kept.n; i-- > 0;) {
		if (kept.blocks[i].bytes != want || kept.blocks[i].huge != is_huge(want)) continue;
		void *p = kept.blocks[i].at;
		take_out(i);
		pthread_mutex_unlock(&kept.lock);
		return p;
	}
	void *found = cut(want);
	if (!found && kept.bytes >= want && join()) found = cut(want);
	pthread_mutex_unlock(&kept.lock);
	if (found) return found;
	/* One extra huge page, so that the block can be aligned to one. */
	size_t spare = is_huge(want) ? HUGE_PAGE : 0;
	if (want + spare < want) return NULL;
	char *p = mmap(NULL, want + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		page_trim();
		p = mmap(NULL, want + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED) return NULL;
	}
	if (!spare) return p;
	size_t before = -(size_t)p & (HUGE_PAGE - 1);
	if (before) munmap(p, before);
	if (before != spare) munmap(p + before + want, spare - before);
	p += before;
#ifdef MADV_HUGEPAGE
	madvise(p, want, MADV_HUGEPAGE);
#endif
#ifdef MREMAP_FIXED
	pthread_mutex_lock(&kept.lock);
	const bool whole = gather(p, want);
	pthread_mutex_unlock(&kept.lock);
	if (!whole) {
		munmap(p, want);
		return NULL;
	}
#endif
	return p;
}

void page_free(void *p, size_t bytes) {
	if (!p) return;
	PooledBlock out[BLOCKS + 1];
	unsigned n = 0;
	size_t size = mapped(bytes);
	pthread_mutex_lock(&kept.lock);
	while (kept.n && (kept.n == BLOCKS || kept.bytes + size > LARGE_KEPT)) {
		out[n++] = kept.blocks[0];
		take_out(0);
	}
	if (size <= LARGE_KEPT) {
		kept.blocks[kept.n++] = (PooledBlock){p, size, is_huge(size)};
		kept.bytes += size;
	} else {
		out[n++] = (PooledBlock){p, size, is_huge(size)};
	}
	pthread_mutex_unlock(&kept.lock);
	while (n--) munmap(out[n].at, out[n].bytes);
}

#endif
