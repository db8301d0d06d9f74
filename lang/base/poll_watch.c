/* poll_watch.c - counts executed basic blocks between polls.
 *
 * Needs: poll_watch.h; glibc's backtrace.
 *
 * Contract:
 * - poll_watch.h. Nothing here is compiled into other builds.
 *
 * Method: the compiler inserts calls of __sanitizer_cov_trace_pc
 * (-fsanitize-coverage=trace-pc), but not in this file.
 */
#include "lang/base/poll_watch.h"

#ifdef ATLED_POLLS
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 10000000
enum { FRAMES = 40 };

static __thread struct {
	uint64_t blocks, bound;
	unsigned depth; /* of protected calls; 0: nothing is counted */
} watch;

void __sanitizer_cov_trace_pc(void);

static void report(void) {
	void *at[FRAMES];
	watch.depth = 0;
	fprintf(stderr, "polls: more than %llu basic blocks without a poll:\n",
	        (unsigned long long)watch.bound);
	backtrace_symbols_fd(at, backtrace(at, FRAMES), STDERR_FILENO);
	abort();
}

void __sanitizer_cov_trace_pc(void) {
	if (watch.depth && ++watch.blocks > watch.bound) report();
}

void poll_watch_begin(void) {
	if (!watch.bound) {
		const char *word = getenv("ATLED_POLL_BLOCKS");
		const uint64_t asked = word ? strtoull(word, NULL, 10) : 0;
		watch.bound = asked ? asked : BLOCKS;
	}
	if (!watch.depth++) watch.blocks = 0;
}

void poll_watch_end(void) {
	if (watch.depth) watch.depth--;
}

void poll_watch_reset(void) { watch.blocks = 0; }
#endif
