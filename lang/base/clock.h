/* clock.h - the monotonic clock, for measurements and time limits.
 *
 * Needs: POSIX.
 *
 * Contract: the origin is arbitrary; differences are accurate to about 50 ns.
 */
#ifndef ATLED_LANG_BASE_CLOCK_H
#define ATLED_LANG_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_nanoseconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double clock_seconds(void) { return 1e-9 * (double)clock_nanoseconds(); }

/* The same clock as of its last tick, at most 4 ms ago on most machines: it is
 * read in a few nanoseconds. */
static inline double clock_seconds_coarse(void) {
	struct timespec t;
#ifdef CLOCK_MONOTONIC_COARSE
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
#else
	clock_gettime(CLOCK_MONOTONIC, &t);
#endif
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time `ns` from now, on the clock of pthread_cond_timedwait. */
static inline struct timespec clock_deadline(int64_t ns) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	ns += t.tv_nsec;
	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	return t;
}

#endif
