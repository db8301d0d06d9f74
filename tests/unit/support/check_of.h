/* check_of.h - counting checks of a test that carries its counts with it: any
 * struct with `passed` and `failed`.
 *
 * Needs: nothing. Guarantees: prints a line for each failure only, with the
 * file and line of the check.
 */
#ifndef ATLED_TESTS_UNIT_SUPPORT_CHECK_OF_H
#define ATLED_TESTS_UNIT_SUPPORT_CHECK_OF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static inline void check_of(uint32_t *passed, uint32_t *failed, bool good, const char *what,
                            const char *file, int line) {
	if (good) {
		++*passed;
		return;
	}
	++*failed;
	printf("%s:%d: %s\n", file, line, what);
}
/* As if it stood on that line. */
#define CHECK_AT(counts, good, what, line)                                                         \
	check_of(&(counts)->passed, &(counts)->failed, (good), (what), __FILE__, (line))
#define CHECK_OF(counts, x) CHECK_AT(counts, x, #x, __LINE__)

#endif
