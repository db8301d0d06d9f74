/* check.h - the checks of the unit tests and their counts.
 *
 * CHECK(x) counts, goes on after a failure and has the value of x, so that
 * `if (!CHECK(p)) return;` works. CHECK_MSG(x, format, ...) prints a text
 * besides. main ends with `return check_end();`.
 *
 * Needs: nothing.
 * Guarantees: prints for a failure only, "FILE:LINE: failed: EXPRESSION" and
 * what belongs to it. A program has one set of counts, which threads may share.
 */
#ifndef ATLED_TESTS_UNIT_SUPPORT_CHECK_H
#define ATLED_TESTS_UNIT_SUPPORT_CHECK_H

#include <stdbool.h>

#define CHECK(x) check_at((x), #x, __FILE__, __LINE__)
#define CHECK_MSG(x, ...) check_msg_at((x), #x, __FILE__, __LINE__, __VA_ARGS__)
/* The two texts are equal; otherwise prints both. */
#define CHECK_TEXT(got, want) check_text_at((got), (want), #got, __FILE__, __LINE__)

/* The checks of a helper that is called with the place of its caller. */
bool check_at(bool good, const char *what, const char *file, int line);
bool check_msg_at(bool good, const char *what, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
bool check_text_at(const char *got, const char *want, const char *what, const char *file, int line);

/* Names the case that is tested from now on, which failures print; NULL:
 * none. */
void check_in(const char *name);
/* While paused, checks neither count nor print. */
void check_pause(bool pause);
/* Counts something that cannot be tested here, and prints why. */
void check_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "N passed, N failed", with ", N skipped" where there are any. Returns
 * the exit status of the test. */
int check_end(void);

/* 1 where addresses or threads are watched, which takes time and memory that
 * some tests measure. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
