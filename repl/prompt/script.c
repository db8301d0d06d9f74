/* script.c - the session as a program, for :save.
 *
 * Needs: repl.h.
 *
 * Guarantees:
 * - The program repeats the session. If a later statement uses `ans`, the
 *   statement that gave this result assigns it.
 * - The file is replaced atomically.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"
#include "repl/base/replace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct KeptStatement {
	char *text;
	bool shown; /* it gave a result */
	bool ends;  /* Its result became `ans`, which is bound when the whole input is done. */
} KeptStatement;

typedef struct Keeper {
	Repl *r;
	const char *text;
} Keeper;

static void keep(void *ud, size_t start, size_t end, int shown) {
	Keeper *k = ud;
	Repl *r = k->r;
	if (r->nkept == r->cap_kept) {
		const size_t cap = r->cap_kept ? 2 * r->cap_kept : 64;
		KeptStatement *at = realloc(r->kept, cap * sizeof *at);
		if (!at) return;
		r->kept = at;
		r->cap_kept = cap;
	}
	char *text = strndup(k->text + start, end - start);
	if (text) r->kept[r->nkept++] = (KeptStatement){text, shown != 0, false};
}

void script_keep(Repl *r, const char *text) {
	const size_t before = r->nkept;
	atled_statements(r->ctx, keep, &(Keeper){r, text});
	for (size_t i = r->nkept; i-- > before;)
		if (r->kept[i].shown) {
			r->kept[i].ends = true;
			break;
		}
}

typedef struct AnswerSearch {
	const char *text;
	bool found;
} AnswerSearch;

static void look(void *ud, atled_token kind, size_t start, size_t end) {
	AnswerSearch *s = ud;
	if (kind == ATLED_TOKEN_NAME && end - start == 3 && !strncmp(s->text + start, "ans", 3))
		s->found = true;
	/* a string may use it between braces */
	if (kind == ATLED_TOKEN_STRING && memmem(s->text + start, end - start, "ans", 3))
		s->found = true;
}

/* Returns whether a later statement uses the i-th result as `ans`. */
static bool is_used(const Repl *r, size_t i) {
	for (size_t k = i + 1; k < r->nkept; k++) {
		AnswerSearch s = {r->kept[k].text, false};
		atled_tokens(s.text, strlen(s.text), look, &s);
		if (s.found) return true;
		if (r->kept[k].ends) return false;
	}
	return false;
}

bool script_write(const Repl *r, const char *path, const char **why) {
	StringBuffer text = {0};
	for (size_t i = 0; i < r->nkept; i++) {
		const KeptStatement *k = &r->kept[i];
		if (k->ends && is_used(r, i)) buffer_format(&text, "ans = %s\nans\n", k->text);
		else buffer_format(&text, "%s\n", k->text);
	}
	const int failed = text.failed ? ENOMEM : replace_file(path, text.at, text.n);
	if (failed) *why = replacement_error(failed);
	buffer_free(&text);
	return !failed;
}

void script_free(Repl *r) {
	for (size_t i = 0; i < r->nkept; i++) free(r->kept[i].text);
	free(r->kept);
	r->kept = NULL;
	r->nkept = r->cap_kept = 0;
}
