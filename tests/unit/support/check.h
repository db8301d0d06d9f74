/* check.h - counting checks, for tests whose counts are the program's:
 * CHECK(condition) goes on after a failure and says where it was.
 *
 * Needs: nothing. Guarantees: every program that includes this has counts of
 * its own, which threads may share. SANITIZED is 1 where addresses or threads
 * are watched, which takes time and memory that some tests measure.
 */
#ifndef ATLED_TESTS_UNIT_SUPPORT_CHECK_H
#define ATLED_TESTS_UNIT_SUPPORT_CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static atomic_int passed, failed;

#define CHECK(x)                                                                                   \
	do {                                                                                           \
		if (x) passed++;                                                                           \
		else {                                                                                     \
			failed++;                                                                              \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #x);                        \
		}                                                                                          \
	} while (0)

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
