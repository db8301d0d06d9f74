/* page_pool.h - memory for large arrays: pages that are kept for the next
 * arrays.
 *
 * Needs: nothing. Guarantees: blocks start on a page; sizes are told back by
 * the caller; thread-safe; at most LARGE_KEPT bytes that nobody uses are held.
 * A fresh page from the system costs more than a vector operation on all of its
 * elements (a fault, and clearing it), so an expression over large arrays would
 * spend its time there. Pages of 2 MiB are asked for where the system has them.
 */
#ifndef ATLED_LANG_BASE_PAGE_POOL_H
#define ATLED_LANG_BASE_PAGE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#define LARGE_LEAST ((size_t)128 << 10) /* smaller blocks are malloc's */
#define LARGE_KEPT ((size_t)512 << 20)

static inline bool is_large(size_t bytes) { return bytes >= LARGE_LEAST; }
/* bytes must be large. NULL when there is no memory; the contents are unset. */
void *large_alloc(size_t bytes);
void large_free(void *p, size_t bytes);

#endif
