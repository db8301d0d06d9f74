/* poll_watch.h - a watch on the work between two polls, in builds for it.
 *
 * `make polls` builds with a call in each basic block of our C code. The call
 * counts. A thread that runs a protected call and executes more blocks than the
 * bound without a poll prints its stack and aborts. In other builds these
 * functions are empty.
 *
 * Contract:
 * - Work is counted for each thread alone, between the outermost ctx_protect
 *   and its end. Worker threads and libraries are not counted.
 * - ATLED_POLL_BLOCKS is the bound; the default is what takes about 10 ms.
 */
#ifndef ATLED_LANG_BASE_POLL_WATCH_H
#define ATLED_LANG_BASE_POLL_WATCH_H

#ifdef ATLED_POLLS
void poll_watch_begin(void); /* counts nest */
void poll_watch_end(void);
void poll_watch_reset(void); /* the thread has polled */
#else
static inline void poll_watch_begin(void) {}
static inline void poll_watch_end(void) {}
static inline void poll_watch_reset(void) {}
#endif

#endif
