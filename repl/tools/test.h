/* test.h - what `atled test` shares between programs (test.c) and documents
 * (doc_test.c).
 *
 * Needs: program.h. Private to repl/.
 */
#ifndef ATLED_REPL_TOOLS_TEST_H
#define ATLED_REPL_TOOLS_TEST_H

#include "repl/core/program.h"

/* What a program said: `last` is the last result shown, or what was printed
 * since; `all` is everything since it was cleared. */
typedef struct Transcript {
	Buffer last, all;
	bool shown; /* last holds a result */
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
bool test_same_text(const char *a, size_t na, const char *b, size_t nb); /* but for blanks */
/* the messages of the last call */
void test_errors(atled_context *ctx, Buffer *out);

/* A context for the files beside `path`. */
bool test_open(Tests *t, const char *path);
void test_close(Tests *t);

/* Runs the assertions of a text (at least one test); lines count from
 * first_line. */
void test_text(Tests *t, const char *name, const char *text, size_t n, uint32_t first_line);
/* If the text says which errors it must give (`#! error`), runs that as one
 * test; else false. */
bool test_expected_errors(Tests *t, const char *name, const char *text, size_t n,
                          uint32_t first_line);
/* doc_test.c: the examples of a Markdown file. */
void test_document(Tests *t, const char *path);

#endif
