/* session.h - programs in which an allocation, a poll or a call of the system
 * fails.
 *
 * Method: the paragraphs of a file run one after the other in a context, as
 * statements at a prompt do. First they run without faults, each of them twice.
 * Then, in ever new contexts, each runs with a fault at a random place, and
 * once more without.
 *
 * Guarantees:
 * - A run with a fault ends with the status of the fault, or as if there were
 *   none. The run after it prints the same bytes as without faults.
 * - The context gives back all memory that it took. No file stays open, and
 *   no file is left that a run without faults does not leave.
 */
#ifndef ATLED_TESTS_FAULTS_SESSION_H
#define ATLED_TESTS_FAULTS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Fault {
	FAULT_ONCE,    /* an allocation fails */
	FAULT_FOREVER, /* and so do all after it */
	FAULT_POLL,    /* an interrupt is found at a poll */
	FAULT_IO,      /* a call of the system fails */
	FAULT_COUNT
} Fault;

typedef struct FaultOptions {
	int64_t count; /* runs of each file */
	uint64_t seed;
	double seconds; /* a slower paragraph is left out */
	bool io;        /* failing calls of the system only */
} FaultOptions;

typedef struct FaultReport {
	int64_t runs[FAULT_COUNT], hit[FAULT_COUNT], failed, skipped;
	/* the last fault that was set */
	Fault fault;
	uint64_t at;
	uint32_t line;
} FaultReport;

const char *fault_name(Fault f);

/* Tests the program text[0 .. n), which came from path and may write files in
 * folder. Prints what fails. A program without a paragraph that can be tested
 * is one skipped. */
void fault_session(const char *path, const char *text, size_t n, const char *folder,
                   const FaultOptions *o, FaultReport *r);

#endif
