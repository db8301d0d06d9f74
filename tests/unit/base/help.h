/* help.h - shared helper of the lang/base tests: a counting allocator.
 *
 * Needs: lang/base/value.h, check.h.
 */
#ifndef ATLED_TESTS_UNIT_BASE_HELP_H
#define ATLED_TESTS_UNIT_BASE_HELP_H

#include "lang/base/value.h"
#include "tests/unit/support/check.h"
#include <stdio.h>
#include <stdlib.h>

/* An allocator that counts live blocks and bytes. It sets `wrong` when a caller
 * passes a size that differs from the allocated size. */
typedef struct Counting {
	long blocks;
	size_t bytes;
	bool wrong;
	long fail_after; /* allocations that still succeed; -1: all */
} Counting;

static inline void *counting_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	Counting *k = ud;
	size_t *head = p ? (size_t *)p - 2 : NULL;
	if (head && *head != old_bytes) k->wrong = true;
	if (!new_bytes) {
		if (head) {
			k->blocks--;
			k->bytes -= old_bytes;
			free(head);
		}
		return NULL;
	}
	if (k->fail_after == 0) return NULL;
	if (k->fail_after > 0) k->fail_after--;
	size_t *grown = realloc(head, new_bytes + 2 * sizeof *head);
	if (!grown) return NULL;
	k->blocks += !p;
	k->bytes += new_bytes - old_bytes;
	*grown = new_bytes;
	return grown + 2;
}

#endif
