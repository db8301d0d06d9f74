/* fmt.c - source formatter: `atled fmt`.
 *
 * Needs: program.h.
 *
 * Guarantees:
 * - A file is replaced atomically, and only when its layout changes.
 * - A file with a syntax error is not changed.
 * - With --check no file is written; the exit code says whether one would
 *   change.
 */
#define _GNU_SOURCE
#include "repl/core/program.h"
#include "repl/base/replace_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Formatter {
	const Options *options;
	unsigned differ, seen;
	int code;
} Formatter;

static void worst(Formatter *f, int code) {
	if (code != EXIT_OK && (f->code == EXIT_OK || code == EXIT_COMPILE)) f->code = code;
}

static void format_file(Formatter *f, const char *path) {
	const Options *o = f->options;
	StringBuffer text = {0}, out = {0};
	const char *why = NULL;
	bool input = !strcmp(path, "-");
	if (!buffer_read_file(&text, path, &why)) {
		worst(f, cannot_read(path, why));
		buffer_free(&text);
		return;
	}
	atled_context *ctx = session_open(o);
	if (!ctx) worst(f, EXIT_LIMIT);
	else {
		session_catch_interrupts(ctx);
		atled_status st = atled_format(ctx, text.n ? text.at : "", text.n, input ? "<stdin>" : path,
		                               buffer_sink, &out);
		if (st == ATLED_OK && out.failed) st = ATLED_NOMEM;
		if (st != ATLED_OK) {
			session_report(ctx, o);
			int code = session_exit_code(ctx, st);
			worst(f, code == EXIT_SCRIPT ? EXIT_COMPILE : code);
		} else {
			bool same = out.n == text.n && (!out.n || !memcmp(out.at, text.at, out.n));
			f->seen++;
			f->differ += !same;
			if (o->check_only) {
				if (!same) printf("%s\n", input ? "<stdin>" : path);
			} else if (o->to_stdout || input) {
				if (out.n) fwrite(out.at, 1, out.n, stdout);
			} else if (!same) {
				const int failed = replace_file(path, out.at, out.n);
				if (failed) fprintf(stderr, "atled: %s: %s\n", path, replacement_error(failed));
				if (failed) worst(f, EXIT_SCRIPT);
			}
		}
		session_close(ctx);
	}
	buffer_free(&text);
	buffer_free(&out);
}

static bool is_program(const char *name) {
	size_t n = strlen(name);
	return n > 4 && !strcmp(name + n - 4, ".dsl");
}

static int by_name(const struct dirent **a, const struct dirent **b) {
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Formats a file. In a folder, formats the files that end in .dsl and visits
 * the sub-folders. */
static void visit(Formatter *f, const char *path, bool named) {
	struct stat st;
	if (!strcmp(path, "-") || stat(path, &st) || !S_ISDIR(st.st_mode)) {
		if (named || is_program(path)) format_file(f, path);
		return;
	}
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, NULL, by_name);
	if (n < 0) worst(f, cannot_read(path, strerror(errno)));
	for (int i = 0; i < n; i++) {
		char *inner = NULL;
		if (entries[i]->d_name[0] != '.' &&
		    asprintf(&inner, "%s/%s", path, entries[i]->d_name) >= 0) {
			visit(f, inner, false);
			free(inner);
		}
		free(entries[i]);
	}
	free(entries);
}

int command_fmt(const Options *o) {
	Formatter f = {.options = o};
	for (int i = 0; i < o->nargs; i++) visit(&f, o->args[i], true);
	if (o->check_only && f.differ) {
		fprintf(stderr, "%u of %u file%s would be laid out anew\n", f.differ, f.seen,
		        f.seen == 1 ? "" : "s");
		worst(&f, EXIT_SCRIPT);
	}
	return f.code;
}
