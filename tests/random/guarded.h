/* guarded.h - memory beside which nobody may read or write.
 *
 * Needs: mmap. Contract: a block of GUARDED_LEAST bytes or more, such as one
 * that holds an array, ends where a page begins that has no access, or begins
 * where one ends, turn about; smaller ones are malloc's. So code that reads or
 * writes outside of an array ends the process. The block is full of what is
 * neither a length, an index nor a number of usual size, so that what is read
 * before it was written is noticed.
 * Costs three calls of the system a block.
 */
#ifndef ATLED_TESTS_RANDOM_GUARDED_H
#define ATLED_TESTS_RANDOM_GUARDED_H

#include "lang/base/context.h"

enum { GUARDED_LEAST = 256 };

extern const HostAllocator guarded_memory;

#endif
