/* poll_watch.h - a bound on the work between two polls, for `make polls`.
 *
 * That build has a call in each basic block of the library's C code, which
 * counts. A thread that executes more blocks than the bound without a poll
 * prints its stack and aborts. In other builds these functions are empty.
 *
 * Contract:
 * - Each thread counts its own work, inside ctx_protect only. So worker threads
 *   are not counted, nor are kernels and foreign libraries.
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
