/* page_pool.h - the allocator of large arrays, which reuses pages.
 *
 * Needs: nothing.
 *
 * Contract:
 * - Blocks are page-aligned; the caller passes the size back on free.
 * - Thread-safe.
 * - At most LARGE_KEPT bytes of unused blocks are held.
 * - Huge pages of 2 MiB are requested where the system has them.
 *
 * Reuse pays because a fresh page costs a page fault and zeroing, more than a
 * vector operation on all of its elements.
 */
#ifndef ATLED_LANG_BASE_PAGE_POOL_H
#define ATLED_LANG_BASE_PAGE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#define LARGE_LEAST ((size_t)128 << 10) /* smaller blocks use malloc */
#define LARGE_KEPT ((size_t)512 << 20)

static inline bool is_large(size_t bytes) { return bytes >= LARGE_LEAST; }
/* bytes must be at least LARGE_LEAST. NULL when memory fails; the contents are
 * undefined. */
void *page_alloc(size_t bytes);
void page_free(void *p, size_t bytes);
void page_trim(void); /* gives unused blocks back to the system */

#endif
