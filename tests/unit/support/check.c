/* check.c - the counts of the unit tests' checks; see check.h.
 *
 * Needs: check.h.
 * Guarantees: the lines of a failure are printed and flushed together, so that
 * they remain when the process dies, and no child prints them again.
 */
#include "tests/unit/support/check.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int passed, failed, skipped;
static atomic_bool paused;
static char inside[160]; /* the case that is tested */

/* Returns whether there is a failure to print. */
static bool count(bool good) {
	if (paused) return false;
	if (good) passed++;
	else failed++;
	return !good;
}

static void begin_failure(const char *what, const char *file, int line) {
	flockfile(stdout);
	printf("%s:%d: failed: %s\n", file, line, what);
	if (*inside) printf("  in %s\n", inside);
}

static void end_failure(void) {
	fflush(stdout);
	funlockfile(stdout);
}

bool check_at(bool good, const char *what, const char *file, int line) {
	if (count(good)) {
		begin_failure(what, file, line);
		end_failure();
	}
	return good;
}

bool check_msg_at(bool good, const char *what, const char *file, int line, const char *format,
                  ...) {
	if (count(good)) {
		va_list args;
		begin_failure(what, file, line);
		printf("  ");
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
		end_failure();
	}
	return good;
}

bool check_text_at(const char *got, const char *want, const char *what, const char *file,
                   int line) {
	return check_msg_at(!strcmp(got, want), what, file, line, "got:  %s\n  want: %s", got, want);
}

void check_in(const char *name) { snprintf(inside, sizeof inside, "%s", name ? name : ""); }

void check_pause(bool pause) { paused = pause; }

void check_skip(const char *format, ...) {
	skipped++;
	va_list args;
	va_start(args, format);
	printf("skip: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

int check_end(void) {
	printf("%d passed, %d failed", passed, failed);
	if (skipped) printf(", %d skipped", skipped);
	printf("\n");
	return failed != 0;
}
