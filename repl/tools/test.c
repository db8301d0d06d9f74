/* test.c - test runner: `atled test`.
 *
 * Method: runs programs and compares their results with the assertions in their
 * comments. docs/reference/testing.md describes the format.
 *
 * Needs: program.h, test.h.
 *
 * Guarantees:
 * - Each assertion is one test; a file without assertions is one test.
 * - Every failure is printed with its location.
 * - The last line is "N passed, N failed, N skipped".
 * - Each file runs in a new context.
 */
#define _GNU_SOURCE
#include "repl/tools/test.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- output of a program ------------------------------------------------- */

static void transcript_sink(void *ud, const char *text, size_t n) {
	Transcript *t = ud;
	if (t->shown) {
		buffer_free(&t->last);
		t->shown = false;
	}
	buffer_add(&t->last, text, n);
	buffer_add(&t->all, text, n);
}

static void transcript_show(void *ud, const atled_value *v, uint32_t line) {
	Transcript *t = ud;
	(void)line;
	buffer_free(&t->last);
	display_value(v, buffer_sink, &t->last);
	t->shown = true;
	if (t->last.n) buffer_add(&t->all, t->last.at, t->last.n);
	buffer_str(&t->all, "\n");
	atled_value_free(t->value);
	t->value = atled_value_copy(v);
}

static void transcript_clear(Transcript *t) {
	buffer_free(&t->last);
	t->shown = false;
	atled_value_free(t->value);
	t->value = NULL;
}

void test_fail(Tests *t, const char *path, uint32_t line, const char *format, ...) {
	t->failed++;
	fflush(stdout);
	va_list args;
	va_start(args, format);
	char *message = NULL;
	if (!t->options->json) {
		printf("%s:%u: ", path, line);
		vprintf(format, args);
		putchar('\n');
	} else {
		const int n = vasprintf(&message, format, args);
		fputs("{\"file\":", stdout);
		put_json(path, strlen(path));
		printf(",\"line\":%u,\"message\":", line);
		put_json(n >= 0 ? message : "", n >= 0 ? (size_t)n : 0);
		puts("}");
		if (n >= 0) free(message);
	}
	va_end(args);
}

void test_skip(Tests *t, const char *path, uint32_t line, const char *reason, size_t n) {
	t->skipped++;
	if (!t->options->json) {
		if (line) printf("skip: %s:%u: %.*s\n", path, line, (int)n, reason);
		else printf("skip: %s: %.*s\n", path, (int)n, reason);
		return;
	}
	fputs("{\"file\":", stdout);
	put_json(path, strlen(path));
	if (line) printf(",\"line\":%u", line);
	fputs(",\"skipped\":", stdout);
	put_json(reason, n);
	puts("}");
}

static void report_indented(void *ud, const char *text, size_t n) { buffer_add(ud, text, n); }

void test_errors(atled_context *ctx, StringBuffer *out) {
	for (size_t i = 0; i < atled_error_count(ctx); i++)
		atled_error_write(ctx, i, ATLED_ERROR_TEXT, report_indented, out);
}

/* Replaces each run of blanks by one blank, and removes blanks at the ends. */
static void squeeze(const char *text, size_t n, StringBuffer *out) {
	bool blank = false;
	for (size_t i = 0; i < n; i++) {
		if (isspace((unsigned char)text[i])) {
			blank = true;
			continue;
		}
		if (blank && out->n) buffer_str(out, " ");
		blank = false;
		buffer_add(out, text + i, 1);
	}
	buffer_add(out, "", 0);
}

bool test_same_text(const char *a, size_t na, const char *b, size_t nb) {
	StringBuffer x = {0}, y = {0};
	squeeze(a ? a : "", a ? na : 0, &x);
	squeeze(b ? b : "", b ? nb : 0, &y);
	bool same = !x.failed && !y.failed && x.n == y.n && !memcmp(x.at, y.at, x.n);
	buffer_free(&x);
	buffer_free(&y);
	return same;
}

/* ---- numbers ------------------------------------------------------------- */

typedef struct Numbers {
	double *at; /* real and imaginary part of each */
	size_t n, cap;
	bool ok;
} Numbers;

static void push_number(Numbers *v, double re, double im) {
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 64;
		double *at = realloc(v->at, cap * 2 * sizeof *at);
		if (!at) {
			v->ok = false;
			return;
		}
		v->at = at;
		v->cap = cap;
	}
	v->at[2 * v->n] = re;
	v->at[2 * v->n + 1] = im;
	v->n++;
}

static void push_element(Numbers *v, atled_dtype d, const void *data, int64_t i) {
	switch (d) {
	case ATLED_BOOL: push_number(v, ((const unsigned char *)data)[i], 0); break;
	case ATLED_I32: push_number(v, ((const int32_t *)data)[i], 0); break;
	case ATLED_I64: push_number(v, (double)((const int64_t *)data)[i], 0); break;
	case ATLED_F32: push_number(v, (double)((const float *)data)[i], 0); break;
	case ATLED_F64: push_number(v, ((const double *)data)[i], 0); break;
	case ATLED_C64:
		push_number(v, (double)((const float *)data)[2 * i],
		            (double)((const float *)data)[2 * i + 1]);
		break;
	case ATLED_C128:
		push_number(v, ((const double *)data)[2 * i], ((const double *)data)[2 * i + 1]);
		break;
	}
}

static void push_axis(Numbers *v, const atled_array *a, uint32_t axis, int64_t offset) {
	if (axis == a->rank) {
		push_element(v, a->dtype, a->data, offset);
		return;
	}
	for (int64_t i = 0; i < a->shape[axis] && v->ok; i++)
		push_axis(v, a, axis + 1, offset + i * a->strides[axis]);
}

static void push_value(Numbers *v, const atled_value *x, int depth) {
	atled_kind k = atled_value_kind(x);
	if (k == ATLED_ARRAY) {
		atled_array a = {.size = sizeof a};
		atled_tensor *t = atled_value_tensor(x);
		if (t && atled_tensor_view(t, &a) == ATLED_OK) push_axis(v, &a, 0, 0);
		else v->ok = false;
		atled_tensor_free(t);
	} else if ((k == ATLED_TUPLE || k == ATLED_LIST || k == ATLED_RECORD) && depth < 50) {
		for (size_t i = 0; i < atled_value_count(x); i++) {
			atled_value *item = atled_value_item(x, i);
			push_value(v, item, depth + 1);
			atled_value_free(item);
		}
	} else v->ok = false;
}

static bool near(double x, double y, double tol, double *worst) {
	if (x == y || (isnan(x) && isnan(y))) return true;
	double error = fabs(x - y) / fmax(1, fabs(y));
	if (!(error <= *worst)) *worst = error;
	return error <= tol;
}

/* Compares the last value with "EXPR [tol E]". When they differ, *why holds the
 * reason. */
static bool close_enough(Tests *t, const Transcript *said, const char *want, size_t n,
                         StringBuffer *why) {
	double tol = 1e-12;
	for (size_t i = n; i-- > 4;) {
		if (strncmp(want + i - 4, " tol ", 5)) continue;
		char number[64] = "", *end;
		size_t length = n - i - 1;
		if (length < sizeof number) memcpy(number, want + i + 1, length);
		tol = strtod(number, &end);
		while (isspace((unsigned char)*end)) end++;
		if (end == number || *end || !(tol >= 0)) {
			buffer_format(why, "`tol` is followed by a number");
			return false;
		}
		n = i - 4;
		break;
	}
	if (!said->value) {
		buffer_str(why, "there is no result to compare");
		return false;
	}
	atled_value *expected = NULL;
	if (atled_eval(t->ctx, want, n, "<expected>", &expected) != ATLED_OK) {
		buffer_str(why, "the expected value cannot be computed:\n");
		test_errors(t->ctx, why);
		return false;
	}
	Numbers x = {.ok = true}, y = {.ok = true};
	push_value(&x, said->value, 0);
	push_value(&y, expected, 0);
	atled_value_free(expected);
	bool same = x.ok && y.ok && x.n == y.n;
	double worst = 0;
	size_t where = 0;
	for (size_t i = 0; same && i < 2 * x.n; i++) {
		double before = worst;
		near(x.at[i], y.at[i], tol, &worst);
		if (worst > before) where = i / 2;
	}
	if (!same)
		buffer_format(why, "%zu numbers%s expected, %zu%s found", y.n, y.ok ? "" : " (and more)",
		              x.n, x.ok ? "" : " (and what is none)");
	else if (!(worst <= tol)) {
		same = false;
		buffer_format(why, "number %zu is %.17g, expected %.17g: off by %.3g where %.3g is allowed",
		              where, x.at[2 * where], y.at[2 * where], worst, tol);
	}
	free(x.at);
	free(y.at);
	return same;
}

/* ---- assertions ---------------------------------------------------------- */

typedef struct TestMark { /* a comment that is an assertion or directive */
	char kind;            /* > ~ ! */
	bool alone;           /* first on its line */
	size_t start, end;    /* of the text after the two marker characters */
	size_t line_start, line_end;
	uint32_t line;
} TestMark;

typedef struct Marks {
	const char *text;
	size_t n;
	TestMark *at;
	size_t count, cap;
	bool failed;
} Marks;

static void see_token(void *ud, atled_token kind, size_t start, size_t end) {
	Marks *m = ud;
	if (kind != ATLED_TOKEN_COMMENT || end - start < 2 || !strchr(">~!", m->text[start + 1]))
		return;
	/* #!/usr/bin/env atled is no directive */
	if (m->text[start + 1] == '!' && start + 2 < end && m->text[start + 2] == '/') return;
	if (m->count == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 64;
		TestMark *at = realloc(m->at, cap * sizeof *at);
		if (!at) {
			m->failed = true;
			return;
		}
		m->at = at;
		m->cap = cap;
	}
	TestMark k = {.kind = m->text[start + 1],
	              .start = start + 2,
	              .end = end,
	              .line_start = start,
	              .line_end = end};
	while (k.line_start && m->text[k.line_start - 1] != '\n') k.line_start--;
	while (k.line_end < m->n && m->text[k.line_end] != '\n') k.line_end++;
	if (k.line_end < m->n) k.line_end++;
	k.alone = strspn(m->text + k.line_start, " \t") == start - k.line_start;
	size_t from = m->count ? m->at[m->count - 1].start : 0;
	k.line = m->count ? m->at[m->count - 1].line : 1;
	for (size_t i = from; i < start; i++) k.line += m->text[i] == '\n';
	m->at[m->count++] = k;
}

static Marks find_marks(const char *text, size_t n) {
	Marks m = {.text = text, .n = n};
	atled_tokens(text, n, see_token, &m);
	return m;
}

/* Runs a part of a program. Line numbers count from the program's beginning. */
static atled_status run_part(Tests *t, const char *name, const char *text, size_t start, size_t end,
                             uint32_t first_line) {
	StringBuffer part = {0};
	uint32_t line = first_line;
	for (size_t i = 0; i < start; i++) line += text[i] == '\n';
	for (uint32_t i = 1; i < line; i++) buffer_str(&part, "\n");
	buffer_add(&part, text + start, end - start);
	atled_status st = part.failed
	                      ? ATLED_NOMEM
	                      : atled_run(t->ctx, part.at, part.n, name, transcript_show, &t->said);
	buffer_free(&part);
	return st;
}

static bool blank(const char *text, size_t start, size_t end) {
	for (size_t i = start; i < end; i++)
		if (!isspace((unsigned char)text[i])) return false;
	return true;
}

void test_text(Tests *t, const char *name, const char *text, size_t n, uint32_t first_line) {
	Marks m = find_marks(text, n);
	size_t done = 0;
	uint32_t tests = 0;
	for (size_t i = 0; i < m.count; i++) {
		const TestMark *k = &m.at[i];
		if (k->kind == '!') continue;
		StringBuffer want = {0}, why = {0};
		buffer_add(&want, text + k->start, k->end - k->start);
		size_t end = k->line_end;
		uint32_t line = k->line + first_line - 1;
		for (; k->kind == '>' && i + 1 < m.count && m.at[i + 1].kind == '>' && m.at[i + 1].alone &&
		       m.at[i + 1].line_start == end;
		     i++) {
			buffer_str(&want, "\n");
			buffer_add(&want, text + m.at[i + 1].start, m.at[i + 1].end - m.at[i + 1].start);
			end = m.at[i + 1].line_end;
		}
		transcript_clear(&t->said);
		atled_status st = run_part(t, name, text, done, end, first_line);
		done = end;
		tests++;
		if (want.failed) st = ATLED_NOMEM;
		if (st != ATLED_OK) {
			test_errors(t->ctx, &why);
			test_fail(t, name, line, "failed\n%s", why.at ? why.at : "");
		} else if (k->kind == '>') {
			if (test_same_text(want.at, want.n, t->said.last.at, t->said.last.n)) t->passed++;
			else
				test_fail(t, name, line, "expected %s\n  got      %s",
				          want.at + strspn(want.at, " "),
				          t->said.last.at ? t->said.last.at : "nothing");
		} else if (close_enough(t, &t->said, want.at, want.n, &why)) t->passed++;
		else test_fail(t, name, line, "%s", why.at ? why.at : "");
		buffer_free(&want);
		buffer_free(&why);
	}
	if (!tests || !blank(text, done, n)) {
		transcript_clear(&t->said);
		atled_status st = run_part(t, name, text, done, n, first_line);
		if (st != ATLED_OK) {
			StringBuffer why = {0};
			const atled_error *e = atled_last_error(t->ctx);
			uint32_t line = e ? e->line : first_line;
			test_errors(t->ctx, &why);
			test_fail(t, name, line, "failed\n%s", why.at ? why.at : "");
			buffer_free(&why);
		} else if (!tests) t->passed++;
	}
	transcript_clear(&t->said);
	free(m.at);
}

/* ---- files that must fail ------------------------------------------------ */

typedef struct LineReader { /* reads one `#! error` line */
	const char *p, *end;
} LineReader;

static void blanks(LineReader *r) {
	while (r->p < r->end && isspace((unsigned char)*r->p)) r->p++;
}

static bool word(LineReader *r, char *out, size_t cap) {
	blanks(r);
	size_t n = 0;
	while (r->p < r->end && !isspace((unsigned char)*r->p) && *r->p != '"') {
		if (n + 1 < cap) out[n++] = *r->p;
		r->p++;
	}
	out[n] = 0;
	return n > 0;
}

static bool quoted(LineReader *r, char *out, size_t cap) {
	blanks(r);
	if (r->p == r->end || *r->p != '"') return false;
	size_t n = 0;
	for (r->p++; r->p < r->end && *r->p != '"'; r->p++) {
		if (*r->p == '\\' && r->p + 1 < r->end) r->p++;
		if (n + 1 < cap) out[n++] = *r->p;
	}
	if (r->p < r->end) r->p++;
	out[n] = 0;
	return true;
}

/* Compares one expected error with a reported one. */
static void match_error(LineReader r, const atled_error *e, StringBuffer *why) {
	char text[600];
	unsigned line, column, end_line, end_column;
	if (!word(&r, text, sizeof text) || strcmp(text, e->code)) {
		buffer_format(why, "expected the error %s, got %s: %s\n", text, e->code, e->message);
		return;
	}
	for (;;) {
		if (quoted(&r, text, sizeof text)) {
			if (!strstr(e->message, text))
				buffer_format(why, "expected the message \"%s\", got \"%s\"\n", text, e->message);
			continue;
		}
		if (!word(&r, text, sizeof text)) return;
		if (isdigit((unsigned char)text[0])) {
			int n = sscanf(text, "%u:%u-%u:%u", &line, &column, &end_line, &end_column);
			bool fits =
				n >= 2 && line == e->line && column == e->column &&
				(n == 2 || (n == 4 && end_line == e->end_line && end_column == e->end_column));
			if (!fits)
				buffer_format(why, "expected it at %s, got %u:%u-%u:%u (%s)\n", text, e->line,
				              e->column, e->end_line, e->end_column, e->message);
		} else if (!strcmp(text, "second")) {
			int n = word(&r, text, sizeof text) ? sscanf(text, "%u:%u", &line, &column) : 0;
			if (n != 2 || line != e->second_line || column != e->second_column)
				buffer_format(why, "expected the second place %s, got %u:%u\n", text,
				              e->second_line, e->second_column);
			if (quoted(&r, text, sizeof text) && !strstr(e->second ? e->second : "", text))
				buffer_format(why, "expected the second label \"%s\", got \"%s\"\n", text,
				              e->second ? e->second : "");
		} else if (!strcmp(text, "hint") || !strcmp(text, "label") || !strcmp(text, "trace")) {
			const char *have = text[0] == 'h' ? e->hint : text[0] == 'l' ? e->label : e->trace;
			char what[8];
			strcpy(what, text);
			if (!quoted(&r, text, sizeof text) || !strstr(have ? have : "", text))
				buffer_format(why, "expected the %s \"%s\", got \"%s\"\n", what, text,
				              have ? have : "");
		} else buffer_format(why, "`%s` is not known in an error line\n", text);
	}
}

/* Lists the errors, or the warnings, of the last call. */
static size_t list_errors(atled_context *ctx, bool warnings, atled_error *out, size_t cap) {
	size_t n = 0;
	for (size_t i = 0; i < atled_error_count(ctx); i++) {
		atled_error e = {.size = sizeof e};
		if (atled_error_at(ctx, i, &e) != ATLED_OK || (e.warning != 0) != warnings) continue;
		if (n < cap) out[n] = e;
		n++;
	}
	return n;
}

static bool directive(const Marks *m, const TestMark *k, const char *name, LineReader *rest) {
	LineReader r = {m->text + k->start, m->text + k->end};
	char text[16];
	if (k->kind != '!' || !k->alone || !word(&r, text, sizeof text) || strcmp(text, name))
		return false;
	blanks(&r);
	*rest = r;
	return true;
}

bool test_expected_errors(Tests *t, const char *name, const char *text, size_t n,
                          uint32_t first_line) {
	Marks m = find_marks(text, n);
	LineReader want[20], warned[20];
	size_t nwant = 0, nwarned = 0;
	for (size_t i = 0; i < m.count && nwant < 20; i++)
		nwant += directive(&m, &m.at[i], "error", &want[nwant]);
	for (size_t i = 0; i < m.count && nwarned < 20; i++)
		nwarned += directive(&m, &m.at[i], "warning", &warned[nwarned]);
	if (nwant || nwarned) {
		StringBuffer why = {0};
		atled_error got[20];
		transcript_clear(&t->said);
		atled_status st = run_part(t, name, text, 0, n, first_line);
		size_t ngot = list_errors(t->ctx, false, got, 20);
		if (st == ATLED_OK && nwant) buffer_str(&why, "expected an error, but there was none\n");
		for (size_t i = 0; i < nwant && i < ngot; i++) match_error(want[i], &got[i], &why);
		if (st != ATLED_OK && nwant != ngot) {
			buffer_format(&why, "expected %zu error%s, got %zu\n", nwant, nwant == 1 ? "" : "s",
			              ngot);
			test_errors(t->ctx, &why);
		}
		if (nwarned) { /* other warnings are allowed */
			ngot = list_errors(t->ctx, true, got, 20);
			for (size_t i = 0; i < nwarned && i < ngot; i++) match_error(warned[i], &got[i], &why);
			if (nwarned != ngot) {
				buffer_format(&why, "expected %zu warning%s, got %zu\n", nwarned,
				              nwarned == 1 ? "" : "s", ngot);
				test_errors(t->ctx, &why);
			}
		}
		if (why.n) test_fail(t, name, first_line, "%.*s", (int)why.n - 1, why.at);
		else t->passed++;
		buffer_free(&why);
		transcript_clear(&t->said);
	}
	free(m.at);
	return nwant + nwarned > 0;
}

/* ---- files and folders --------------------------------------------------- */

bool test_open(Tests *t, const char *path) {
	t->ctx = session_open(t->options);
	if (!t->ctx) return false;
	session_catch_interrupts(t->ctx);
	const char *slash = strrchr(path, '/');
	StringBuffer folder = {0};
	if (slash) buffer_add(&folder, path, slash == path ? 1 : (size_t)(slash - path));
	atled_status st = atled_output(t->ctx, transcript_sink, &t->said);
	if (st == ATLED_OK && slash) st = folder.failed ? ATLED_NOMEM : atled_folder(t->ctx, folder.at);
	buffer_free(&folder);
	if (st == ATLED_OK) return true;
	test_close(t);
	return false;
}

void test_close(Tests *t) {
	transcript_clear(&t->said);
	buffer_free(&t->said.all);
	session_close(t->ctx);
	t->ctx = NULL;
}

static void test_program(Tests *t, const char *path) {
	StringBuffer text = {0};
	const char *why = NULL;
	if (!buffer_read_file(&text, path, &why)) test_fail(t, path, 0, "%s", why);
	else {
		Marks m = find_marks(text.at, text.n);
		LineReader reason;
		bool skip = m.count && directive(&m, &m.at[0], "skip", &reason);
		if (skip) test_skip(t, path, 0, reason.p, (size_t)(reason.end - reason.p));
		else if (!test_open(t, path)) test_fail(t, path, 0, "there is no context for it");
		else {
			for (size_t i = 0; i < m.count; i++)
				if (directive(&m, &m.at[i], "check-rules", &reason))
					atled_check_rules(t->ctx, ATLED_RULES_FAIL);
			if (!test_expected_errors(t, path, text.at, text.n, 1))
				test_text(t, path, text.at, text.n, 1);
			test_close(t);
		}
		free(m.at);
	}
	buffer_free(&text);
}

static bool has_ending(const char *name, const char *ending) {
	size_t n = strlen(name), k = strlen(ending);
	return n > k && !strcmp(name + n - k, ending);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void visit(Tests *t, const char *path, bool named) {
	struct stat st;
	if (stat(path, &st)) {
		test_fail(t, path, 0, "there is no such file");
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		bool wanted =
			named || (base[0] != '_' && has_ending(base, t->options->docs ? ".md" : ".dsl"));
		if (!wanted || (t->options->filter && !strstr(path, t->options->filter))) return;
		if (t->options->docs) test_document(t, path);
		else test_program(t, path);
		return;
	}
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, NULL, by_name);
	if (n < 0) test_fail(t, path, 0, "cannot be listed");
	for (int i = 0; i < n; i++) {
		char *inner = NULL;
		if (entries[i]->d_name[0] != '.' &&
		    asprintf(&inner, "%s%s%s", path, has_ending(path, "/") ? "" : "/",
		             entries[i]->d_name) >= 0) {
			visit(t, inner, false);
			free(inner);
		}
		free(entries[i]);
	}
	free(entries);
}

int command_test(const Options *o) {
	Tests t = {.options = o};
	if (!o->nargs) visit(&t, o->docs ? "docs" : "tests", false);
	for (int i = 0; i < o->nargs; i++) visit(&t, o->args[i], true);
	printf(o->json ? "{\"passed\":%u,\"failed\":%u,\"skipped\":%u}\n"
	               : "%u passed, %u failed, %u skipped\n",
	       t.passed, t.failed, t.skipped);
	return t.failed ? EXIT_TESTS : EXIT_OK;
}
