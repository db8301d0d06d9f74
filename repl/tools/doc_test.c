/* doc_test.c - tests of Markdown files: `atled test --docs`.
 *
 * Method: runs each ```dsl block and compares its results with those in the
 * page.
 *
 * Needs: test.h.
 *
 * Guarantees:
 * - The blocks of a file share one session, except those marked `new`.
 * - Each block is at least one test.
 * - A ```text block directly after a program is the whole output of the
 *   program: printed text, results and messages.
 */
#include "repl/tools/test.h"

#include <stdlib.h>
#include <string.h>

typedef struct CodeBlock {
	const char *info; /* the rest of the fence line */
	size_t ninfo;
	const char *text;
	size_t n;
	uint32_t line; /* of the first line of `text` */
	const char *after;
	uint32_t after_line;
} CodeBlock;

/* Finds the next fenced block from `p` on; returns false at the end. */
static bool next_block(const char *p, const char *end, uint32_t line, CodeBlock *b) {
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		if (!stop) stop = end;
		const char *q = p;
		while (q < stop && *q == ' ' && q - p < 4) q++;
		if (stop - q < 3 || strncmp(q, "```", 3)) {
			p = stop < end ? stop + 1 : end;
			line++;
			continue;
		}
		*b = (CodeBlock){.info = q + 3,
		                 .ninfo = (size_t)(stop - q - 3),
		                 .text = stop < end ? stop + 1 : end,
		                 .line = line + 1};
		line++;
		for (p = b->text; p < end; p = stop < end ? stop + 1 : end, line++) {
			stop = memchr(p, '\n', (size_t)(end - p));
			if (!stop) stop = end;
			for (q = p; q < stop && *q == ' ' && q - p < 4;) q++;
			if (stop - q >= 3 && !strncmp(q, "```", 3)) break;
		}
		b->n = (size_t)(p - b->text);
		b->after = stop < end ? stop + 1 : end;
		b->after_line = line + 1;
		return true;
	}
	return false;
}

/* Returns whether the info line of a block contains a word; with `first`, as
 * its first word. */
static bool has_word(const CodeBlock *b, const char *word, bool first) {
	const char *p = b->info, *end = b->info + b->ninfo;
	for (bool at_first = true; p < end; at_first = false) {
		while (p < end && (*p == ' ' || *p == ',' || *p == '\r')) p++;
		const char *start = p;
		while (p < end && *p != ' ' && *p != ',' && *p != '\r') p++;
		if (start == p || (first && !at_first)) break;
		if ((size_t)(p - start) == strlen(word) && !strncmp(start, word, strlen(word))) return true;
	}
	return false;
}

static bool only_blanks(const char *from, const char *to) {
	for (; from < to; from++)
		if (!strchr(" \t\r\n", *from)) return false;
	return true;
}

static void show(void *ud, const atled_value *v, uint32_t line) {
	Tests *t = ud;
	(void)line;
	display_value(v, buffer_sink, &t->said.all);
	buffer_str(&t->said.all, "\n");
}

/* Compares the whole output of a program with the text block. Error messages
 * are part of the output. */
static void test_transcript(Tests *t, const char *path, const CodeBlock *b, const CodeBlock *want) {
	StringBuffer name = {0};
	const char *given = NULL;
	for (size_t i = 0; i + 5 < b->ninfo && !given; i++)
		if (!strncmp(b->info + i, "file=", 5)) given = b->info + i + 5;
	if (given) buffer_add(&name, given, strcspn(given, " ,\r\n"));
	buffer_free(&t->said.all);
	atled_status st = atled_run(t->ctx, b->text, b->n, given ? name.at : "example.dsl", show, t);
	if (st != ATLED_OK) test_errors(t->ctx, &t->said.all);
	if (test_same_text(t->said.all.at, t->said.all.n, want->text, want->n)) t->passed++;
	else
		test_fail(t, path, b->line, "expected\n%.*s  got\n%s", (int)want->n, want->text,
		          t->said.all.at ? t->said.all.at : "nothing\n");
	buffer_free(&t->said.all);
	buffer_free(&name);
}

void test_document(Tests *t, const char *path) {
	StringBuffer text = {0};
	const char *why = NULL;
	if (!buffer_read_file(&text, path, &why)) {
		test_fail(t, path, 0, "%s", why);
		buffer_free(&text);
		return;
	}
	const char *p = text.at, *end = text.at + text.n;
	uint32_t line = 1;
	CodeBlock b, next;
	for (bool more = next_block(p, end, line, &b); more; b = next) {
		more = next_block(b.after, end, b.after_line, &next);
		if (!has_word(&b, "dsl", true)) continue;
		if (has_word(&b, "skip", false)) {
			test_skip(t, path, b.line, "the block says so", strlen("the block says so"));
			continue;
		}
		if (t->ctx && has_word(&b, "new", false)) test_close(t);
		if (!t->ctx && !test_open(t, path)) {
			test_fail(t, path, b.line, "there is no context for it");
			break;
		}
		if (has_word(&b, "check-rules", false)) atled_check_rules(t->ctx, ATLED_RULES_FAIL);
		bool shown = more && has_word(&next, "text", true) && only_blanks(b.after, next.info - 3);
		if (shown) test_transcript(t, path, &b, &next);
		else if (!test_expected_errors(t, path, b.text, b.n, b.line))
			test_text(t, path, b.text, b.n, b.line);
	}
	if (t->ctx) test_close(t);
	buffer_free(&text);
}
