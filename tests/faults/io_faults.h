/* io_faults.h - system calls on files that fail at a chosen place.
 *
 * Needs: Linux. The program must be linked with its symbols exported, so that
 * shared libraries call these functions, too.
 *
 * Contract: without a fault set, all calls do what the C library's do.
 */
#ifndef ATLED_TESTS_FAULTS_IO_FAULTS_H
#define ATLED_TESTS_FAULTS_IO_FAULTS_H

#include <stdint.h>

typedef enum IoFault {
	IO_FAULT_ERROR,   /* the call fails */
	IO_FAULT_SHORT,   /* a read or write stops halfway; other calls fail */
	IO_FAULT_LASTING, /* the call fails, and so do all later ones of its kind */
	IO_FAULT_COUNT
} IoFault;

/* The n-th call from now fails as told. n = 0: none does. */
void io_fail_at(uint64_t n, IoFault how);
/* The number of calls so far, without those of other processes. */
uint64_t io_calls(void);

#endif
