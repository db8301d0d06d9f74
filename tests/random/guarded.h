/* guarded.h - allocator with inaccessible guard pages.
 *
 * Needs: mmap.
 *
 * Contract:
 * - A block of GUARDED_LEAST bytes or more, such as an array, alternately ends
 *   before a guard page or begins after one. An access outside it ends the
 *   process. Smaller blocks come from malloc.
 * - Blocks are filled with a pattern that is no extent, index or ordinary
 *   number, so that a read of uninitialised memory is noticed.
 * - Each block costs three system calls.
 */
#ifndef ATLED_TESTS_RANDOM_GUARDED_H
#define ATLED_TESTS_RANDOM_GUARDED_H

#include "lang/base/context.h"

enum { GUARDED_LEAST = 256 };

extern const HostAllocator guarded_memory;

#endif
