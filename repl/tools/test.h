/* test.h - interface shared by test.c (programs) and doc_test.c (documents).
 *
 * Needs: program.h. Private to repl/.
 */
#ifndef ATLED_REPL_TOOLS_TEST_H
#define ATLED_REPL_TOOLS_TEST_H

#include "repl/core/program.h"

/* The output of a program: `last` is the last result shown, or the text printed
 * since; `all` is everything since transcript_clear. */
typedef struct Transcript {
	StringBuffer last, all;
	bool shown; /* `last` holds a result */
	atled_value *value;
} Transcript;

typedef struct Tests {
	const Options *options;
	atled_context *ctx; /* of the file being tested */
	Transcript said;
	uint32_t passed, failed, skipped;
} Tests;

void test_fail(Tests *t, const char *path, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* line 0: the whole file */
void test_skip(Tests *t, const char *path, uint32_t line, const char *reason, size_t n);
/* ignores differences in blanks */
bool test_same_text(const char *a, size_t na, const char *b, size_t nb);
/* appends the messages of the last call */
void test_errors(atled_context *ctx, StringBuffer *out);

/* Opens a context for tests; `use` searches the folder of `path`. */
bool test_open(Tests *t, const char *path);
void test_close(Tests *t);

/* Runs the assertions of a program (at least one test). Line numbers count from
 * first_line. */
void test_text(Tests *t, const char *name, const char *text, size_t n, uint32_t first_line);
/* If the program has `#! error` lines, runs it as one test and returns true;
 * else returns false. */
bool test_expected_errors(Tests *t, const char *name, const char *text, size_t n,
                          uint32_t first_line);
/* doc_test.c: runs the examples of a Markdown file. */
void test_document(Tests *t, const char *path);

#endif
