/* commands.c - the commands run, check, ir, explain, info and doc.
 *
 * Needs: program.h. The build embeds docs/reference/errors.md if it exists.
 *
 * Guarantees: each command returns the exit code; results go to stdout,
 * everything else to stderr.
 */
#define _GNU_SOURCE /* for memmem, strchrnul */
#include "repl/core/program.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <unistd.h>

static void show(void *ud, const atled_value *v, uint32_t line) {
	(void)ud;
	(void)line;
	progress_clear();
	display_value(v, file_sink, stdout);
	putchar('\n');
	if (isatty(STDOUT_FILENO)) fflush(stdout);
}

atled_status set_folder(atled_context *ctx, const char *path) {
	const char *slash = strrchr(path, '/');
	if (!slash || !strcmp(path, "-")) return ATLED_OK;
	StringBuffer folder = {0};
	buffer_add(&folder, path, slash == path ? 1 : (size_t)(slash - path));
	atled_status st = folder.failed ? ATLED_NOMEM : atled_folder(ctx, folder.at);
	buffer_free(&folder);
	return st;
}

int cannot_read(const char *path, const char *why) {
	fflush(stdout);
	fprintf(stderr, "atled: %s: %s\n", path, why);
	return EXIT_USAGE;
}

static const char *shown_name(const char *path) { return strcmp(path, "-") ? path : "<stdin>"; }

/* Binds `args` to the list of the arguments after the file name. */
static atled_status set_args(atled_context *ctx, int n, char **args) {
	const atled_value **items = calloc((size_t)n + 1, sizeof *items);
	if (!items) return ATLED_NOMEM;
	bool ok = true;
	for (int i = 0; i < n; i++)
		ok &= (items[i] = atled_value_of_string(ctx, args[i], ATLED_ZERO)) != NULL;
	atled_value *list = ok ? atled_value_of_items(ctx, ATLED_LIST, (size_t)n, items) : NULL;
	atled_status st = list ? atled_set(ctx, "args", list) : ATLED_NOMEM;
	atled_value_free(list);
	for (int i = 0; i < n; i++) atled_value_free((atled_value *)(uintptr_t)items[i]);
	free(items);
	return st;
}

int command_run(const Options *o) {
	StringBuffer text = {0};
	const char *why = NULL;
	if (!o->nexpressions && !buffer_read_file(&text, o->args[0], &why)) {
		buffer_free(&text);
		return cannot_read(o->args[0], why);
	}
	atled_context *ctx = session_open(o);
	if (!ctx) return EXIT_LIMIT;
	session_catch_interrupts(ctx);
	atled_status st = ATLED_OK;
	if (o->nexpressions) {
		for (int i = 0; i < o->nexpressions && st == ATLED_OK; i++) {
			st = atled_run(ctx, o->expressions[i], ATLED_ZERO, "<expression>", show, NULL);
			if (st == ATLED_OK && atled_error_count(ctx)) session_report(ctx, o);
		}
	} else {
		st = set_folder(ctx, o->args[0]);
		if (st == ATLED_OK && o->nargs > 1) st = set_args(ctx, o->nargs - 1, o->args + 1);
		if (st == ATLED_OK)
			st = atled_run(ctx, text.at, text.n, shown_name(o->args[0]), show, NULL);
		if (st == ATLED_OK && atled_error_count(ctx)) session_report(ctx, o);
	}
	if (st != ATLED_OK) session_report(ctx, o);
	int code = session_exit_code(ctx, st);
	session_close_last(ctx);
	buffer_free(&text);
	return code;
}

int command_check(const Options *o) {
	int code = EXIT_OK;
	for (int i = 0; i < o->nargs; i++) {
		StringBuffer text = {0};
		const char *why = NULL;
		if (!buffer_read_file(&text, o->args[i], &why)) code = cannot_read(o->args[i], why);
		else {
			atled_context *ctx = session_open(o);
			if (!ctx) code = EXIT_LIMIT;
			else {
				session_catch_interrupts(ctx);
				atled_status st = set_folder(ctx, o->args[i]);
				if (st == ATLED_OK) st = atled_check(ctx, text.at, text.n, shown_name(o->args[i]));
				if (atled_error_count(ctx)) session_report(ctx, o);
				int this_code = session_exit_code(ctx, st);
				if (this_code == EXIT_SCRIPT) this_code = EXIT_COMPILE;
				if (this_code != EXIT_OK) code = this_code;
				session_close(ctx);
			}
		}
		buffer_free(&text);
	}
	return code;
}

/* ---- ir ------------------------------------------------------------------ */

typedef struct Functions {
	StringBuffer names; /* one name a line */
} Functions;

static void note_function(void *ud, const char *name, const atled_value *v) {
	Functions *f = ud;
	if (atled_value_kind(v) == ATLED_FUNCTION) buffer_format(&f->names, "%s\n", name);
}

/* Accepts NAME, or NAME and a type: "f(f64[n], f64)". */
static atled_status show_ir(atled_context *ctx, const char *what) {
	const char *bracket = strchr(what, '(');
	StringBuffer name = {0};
	buffer_add(&name, what, bracket ? (size_t)(bracket - what) : strlen(what));
	while (name.n && name.at[name.n - 1] == ' ') name.at[--name.n] = 0;
	atled_function *fn = NULL;
	atled_status st = name.failed ? ATLED_NOMEM : atled_lookup(ctx, name.at, bracket, &fn);
	if (st == ATLED_OK) st = atled_ir(ctx, fn, NULL, file_sink, stdout);
	atled_function_free(fn);
	buffer_free(&name);
	return st;
}

int command_ir(const Options *o) {
	StringBuffer text = {0};
	const char *why = NULL;
	if (!buffer_read_file(&text, o->args[0], &why)) return cannot_read(o->args[0], why);
	atled_context *ctx = session_open(o);
	if (!ctx) return EXIT_LIMIT;
	session_catch_interrupts(ctx);
	atled_status st = set_folder(ctx, o->args[0]);
	if (st == ATLED_OK) st = atled_run(ctx, text.at, text.n, shown_name(o->args[0]), NULL, NULL);
	int code = EXIT_OK;
	if (st == ATLED_OK && o->nargs > 1) st = show_ir(ctx, o->args[1]);
	else if (st == ATLED_OK) {
		Functions f = {0};
		st = atled_variables(ctx, note_function, &f);
		for (char *p = f.names.at; p && *p && st == ATLED_OK;) {
			char *end = strchr(p, '\n');
			*end = 0;
			if (show_ir(ctx, p) == ATLED_OK) putchar('\n');
			else {
				session_report(ctx, o);
				code = EXIT_COMPILE;
			}
			p = end + 1;
		}
		buffer_free(&f.names);
	}
	if (st != ATLED_OK) {
		session_report(ctx, o);
		code = session_exit_code(ctx, st);
	}
	session_close(ctx);
	buffer_free(&text);
	return code;
}

/* ---- explain: pages of docs/reference/errors.md -------------------------- */

#if __has_include("docs/reference/errors.md")
__asm__(".section .rodata\n"
        "atled_error_pages:\n"
        ".incbin \"docs/reference/errors.md\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char pages[] __asm__("atled_error_pages");
#else
static const char pages[] = "";
#endif

/* Returns the heading level of a line, 0 for other lines. A comment in an
 * example program is no heading. */
static size_t heading_level(const char *line, bool *in_code) {
	if (!strncmp(line, "```", 3)) *in_code = !*in_code;
	size_t level = strspn(line, "#");
	return !*in_code && line[level] == ' ' ? level : 0;
}

/* Returns the page of an error code: from its heading to the next heading of
 * the same or a higher level. */
static const char *find_page(const char *code, size_t *n) {
	bool in_code = false;
	for (const char *line = pages; *line;) {
		const char *end = strchrnul(line, '\n');
		size_t level = heading_level(line, &in_code);
		if (level && memmem(line, (size_t)(end - line), code, strlen(code))) {
			const char *next = end;
			while (*next) {
				size_t other = heading_level(next + 1, &in_code);
				if (!next[1] || (other && other <= level)) break;
				next = strchrnul(next + 1, '\n');
			}
			*n = (size_t)(next - line);
			return line;
		}
		line = *end ? end + 1 : end;
	}
	return NULL;
}

void put_json(const char *text, size_t n) {
	putchar('"');
	for (size_t i = 0; i < n; i++) {
		const unsigned char ch = (unsigned char)text[i];
		if (ch == '"' || ch == '\\') printf("\\%c", ch);
		else if (ch == '\n') fputs("\\n", stdout);
		else if (ch < 32) printf("\\u%04x", ch);
		else putchar(ch);
	}
	putchar('"');
}

/* Writes one object a line: {"code": ..., "title": ..., "page": ...}. */
static void explain_json(const char *code, const char *title) {
	size_t n;
	const char *page = find_page(code, &n);
	fputs("{\"code\":", stdout);
	put_json(code, strlen(code));
	fputs(",\"title\":", stdout);
	put_json(title, strlen(title));
	if (page) {
		fputs(",\"page\":", stdout);
		put_json(page, n);
	}
	puts("}");
}

int command_explain(const Options *o) {
	const char *code, *title;
	for (size_t i = 0; atled_error_kind(i, &code, &title); i++) {
		if (o->json && (!o->nargs || !strcasecmp(o->args[0], code))) {
			explain_json(code, title);
			if (o->nargs) return EXIT_OK;
		} else if (!o->nargs) printf("%s  %s\n", code, title);
		else if (!strcasecmp(o->args[0], code)) {
			size_t n;
			const char *page = find_page(code, &n);
			if (page) printf("%.*s\n", (int)n, page);
			else printf("%s: %s\n", code, title);
			return EXIT_OK;
		}
	}
	if (!o->nargs) return EXIT_OK;
	fprintf(stderr, "atled: there is no error code `%s`; `atled explain` lists them\n", o->args[0]);
	return EXIT_USAGE;
}

/* ---- info, doc ----------------------------------------------------------- */

static void put_json_name(void *ud, const char *name, const atled_value *v) {
	bool *first = ud;
	(void)v;
	printf("%s\"%s\"", *first ? "" : ",", name);
	*first = false;
}

/* Writes the keywords of the language and the names of the library, for
 * editors. */
static bool put_words(const Options *o) {
	atled_context *ctx = session_open(o);
	if (!ctx) return false;
	const char *word;
	fputs(",\"keywords\":[", stdout);
	for (size_t i = 0; (word = atled_keyword(i)); i++) printf("%s\"%s\"", i ? "," : "", word);
	fputs("],\"names\":[", stdout);
	bool first = true;
	atled_status st = atled_library_names(ctx, put_json_name, &first);
	putchar(']');
	session_close(ctx);
	return st == ATLED_OK;
}

int command_info(const Options *o) {
	struct utsname u;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (uname(&u)) memset(&u, 0, sizeof u);
	const char *compiler = __VERSION__;
	if (o->json) {
		printf("{\"version\":\"%s\",\"system\":\"%s\",\"machine\":\"%s\",\"processors\":%ld,"
		       "\"compiler\":\"%s\"",
		       ATLED_VERSION_STRING, u.sysname, u.machine, processors, compiler);
		bool all = put_words(o);
		puts("}");
		return all ? EXIT_OK : EXIT_LIMIT;
	}
	printf("version     %s\nsystem      %s %s\nprocessors  %ld\ncompiler    %s\n",
	       ATLED_VERSION_STRING, u.sysname, u.machine, processors, compiler);
	return EXIT_OK;
}

static void doc_json(const char *name, const StringBuffer *text) {
	size_t n = text->n;
	while (n && text->at[n - 1] == '\n') n--;
	fputs("{\"name\":", stdout);
	put_json(name, strlen(name));
	fputs(",\"help\":", stdout);
	put_json(text->at, n);
	puts("}");
}

int command_doc(const Options *o) {
	atled_context *ctx = session_open(o);
	if (!ctx) return EXIT_LIMIT;
	int code = EXIT_OK;
	for (int i = 0; i < o->nargs; i++) {
		StringBuffer text = {0};
		atled_status st = atled_help(ctx, o->args[i], 0, buffer_sink, &text);
		if (st == ATLED_OK && text.failed) st = ATLED_NOMEM;
		if (st != ATLED_OK) {
			session_report(ctx, o);
			code = EXIT_USAGE;
		} else if (o->json) doc_json(o->args[i], &text);
		else {
			if (i) putchar('\n');
			print_text(text.at, text.n, HELP_CODE);
		}
		buffer_free(&text);
	}
	session_close(ctx);
	return code;
}
