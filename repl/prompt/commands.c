/* commands.c - commands of the prompt: ?name, ??name and :commands.
 *
 * Needs: repl.h.
 *
 * Guarantees: a command that fails reports the reason on stderr and changes
 * nothing.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void report(Repl *r, atled_status st) {
	if (st != ATLED_OK) session_report(r->ctx, r->options);
}

static bool is_name(const char *text) {
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		unsigned char ch = (unsigned char)text[i];
		if (ch < 0x80 && ch != '_' && !(ch >= 'a' && ch <= 'z') && !(ch >= 'A' && ch <= 'Z') &&
		    !(i && ch >= '0' && ch <= '9'))
			return false;
	}
	return n > 0;
}

/* If the text is one call "f(x, y)", returns its opening bracket, else NULL. */
static const char *call_bracket(const char *text) {
	const char *open = strchr(text, '(');
	if (!open || open == text || text[strlen(text) - 1] != ')') return NULL;
	char *name = strndup(text, (size_t)(open - text));
	bool good = name && is_name(name);
	free(name);
	int depth = 0;
	for (const char *p = open; good && *p; p++) {
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (!depth && p[1]) good = false;
	}
	return good && depth == 0 ? open : NULL;
}

/* Checks an expression before a command wraps it in a function, so that errors
 * refer to the text that was typed. */
static bool is_sound(Repl *r, const char *rest, const char *name) {
	atled_status st = atled_check(r->ctx, rest, strlen(rest), name);
	report(r, st);
	return st == ATLED_OK;
}

/* Returns whether the arguments are only names and numbers. Arguments that
 * compute belong to the inspected expression. */
static bool plain_arguments(const char *open) { return !open[1 + strcspn(open + 1, "(+*/^@{|>")]; }

/* Runs what(f, x) for a call f(x), and what(() -> e) for any other expression
 * e. */
static void look_at(Repl *r, const char *what, const char *rest) {
	if (!is_sound(r, rest, "<look>")) return;
	StringBuffer text = {0};
	const char *open = call_bracket(rest);
	if (open && !plain_arguments(open)) open = NULL;
	bool empty = open && strspn(open + 1, " \t") == strlen(open + 1) - 1;
	if (open)
		buffer_format(&text, "%s(%.*s%s%s", what, (int)(open - rest), rest, empty ? "" : ", ",
		              open + 1);
	else buffer_format(&text, "%s(() -> (\n%s\n))", what, rest);
	if (!text.failed) repl_run(r, text.at, text.n, "<look>");
	buffer_free(&text);
}

static void show_ir(Repl *r, const char *rest) { look_at(r, "ir", rest); }

static void show_plan(Repl *r, const char *rest) { look_at(r, "plan", rest); }

static void show_native(Repl *r, const char *rest) { look_at(r, "native", rest); }

/* Returns the expression of an input, without `name =` and without a final `;`.
 * The caller frees it. */
static char *right_side(const char *input) {
	size_t name = 0;
	while (*input == ' ') input++;
	while (input[name] == '_' || (input[name] >= '0' && input[name] <= '9') ||
	       ((input[name] | 32) >= 'a' && (input[name] | 32) <= 'z') || input[name] & 0x80)
		name++;
	const char *equals = input + name + strspn(input + name, " ");
	char *text = strdup(name && equals[0] == '=' && equals[1] != '=' ? equals + 1 : input);
	for (size_t n = text ? strlen(text) : 0; n && strchr(" \t\n;", text[n - 1]);) text[--n] = 0;
	return text;
}

/* Runs nan_check on an expression, or on the last input. Its result is
 * discarded: its printed report is the answer. */
static void show_nan(Repl *r, const char *rest) {
	char *last = *rest ? NULL : right_side(r->last ? r->last : "");
	if (!*rest && (!last || !*last)) fputs("there is no input yet to look at\n", stderr);
	else {
		StringBuffer text = {0};
		/* As a lambda, the arguments of a call are checked too. The expression
		 * has its own line because messages show that line. */
		buffer_format(&text, "nan_check(() -> (\n%s\n));", *rest ? rest : last);
		if (!text.failed && is_sound(r, *rest ? rest : last, "<nan>"))
			repl_run(r, text.at, text.n, "<nan>");
		buffer_free(&text);
	}
	free(last);
}

static void show_type(Repl *r, const char *rest) {
	atled_value *v = NULL;
	if (!is_sound(r, rest, "<type>")) return;
	atled_status st = ATLED_OK;
	if (!is_name(rest) || atled_get(r->ctx, rest, &v) != ATLED_OK)
		st = atled_type(r->ctx, rest, ATLED_ZERO, file_sink, stdout);
	if (v) atled_value_describe(v, 1, file_sink, stdout);
	atled_value_free(v);
	if (st == ATLED_OK) putchar('\n');
	report(r, st);
}

static void show_time(Repl *r, const char *rest) {
	Clock k;
	clock_start(&k, r->ctx);
	if (repl_run(r, rest, strlen(rest), "<time>") == ATLED_OK) clock_tell(&k, r->ctx, stdout);
}

static void show_bench(Repl *r, const char *rest) {
	StringBuffer text = {0};
	atled_value *fn = NULL;
	if (!is_sound(r, rest, "<bench>")) return;
	buffer_format(&text, "() -> (\n%s\n)", rest);
	session_catch_interrupts(r->ctx);
	atled_status st =
		text.failed ? ATLED_NOMEM : atled_eval(r->ctx, text.at, text.n, "<bench>", &fn);
	if (st == ATLED_OK) st = bench_function(r->ctx, fn, stdout);
	atled_clear_interrupt(r->ctx);
	report(r, st);
	atled_value_free(fn);
	buffer_free(&text);
}

static void show_variable(void *ud, const char *name, const atled_value *v) {
	(void)ud;
	printf("%-12s ", name);
	atled_value_describe(v, 1, file_sink, stdout);
	putchar('\n');
}

static void show_variables(Repl *r, const char *rest) {
	(void)rest;
	report(r, atled_variables(r->ctx, show_variable, NULL));
}

/* Expands "~/" in a path as a shell does. The caller frees the result. */
static char *path_of(const char *rest) {
	const char *home = rest[0] == '~' && rest[1] == '/' ? getenv("HOME") : NULL;
	StringBuffer path = {0};
	buffer_format(&path, "%s%s", home ? home : "", home ? rest + 1 : rest);
	return path.at;
}

static void run_file(Repl *r, const char *path) {
	StringBuffer text = {0};
	const char *why = NULL;
	if (!buffer_read_file(&text, path, &why)) fprintf(stderr, "%s: %s\n", path, why);
	else repl_run_kept(r, text.at, text.n, path);
	buffer_free(&text);
}

static void load(Repl *r, const char *rest) {
	char *path = path_of(rest);
	if (!path) return;
	free(r->loaded);
	r->loaded = path;
	run_file(r, path);
}

static void reload(Repl *r, const char *rest) {
	(void)rest;
	if (r->loaded) run_file(r, r->loaded);
	else fputs("no file was loaded yet\n", stderr);
}

/* Runs a shell command and returns its exit code. ^C reaches the command while
 * this program waits. */
static int shell(const char *command) {
	fflush(stdout);
	const int status = system(command);
	return status < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void run_shell(Repl *r, const char *rest) {
	if (r->options->safe) {
		fputs("--safe grants no commands\n", stderr);
		return;
	}
	const int code = shell(rest);
	if (code) fprintf(stderr, "exit status %d\n", code);
}

/* Quotes the path, so that the editor gets it as one argument. */
static bool run_editor(const char *path) {
	const char *editor = getenv("VISUAL");
	if (!editor || !*editor) editor = getenv("EDITOR");
	if (!editor || !*editor) editor = "vi";
	StringBuffer command = {0};
	buffer_format(&command, "%s '", editor);
	for (const char *p = path; *p; p++) {
		if (*p == '\'') buffer_str(&command, "'\\''");
		else buffer_add(&command, p, 1);
	}
	buffer_str(&command, "'");
	const int code = command.failed ? -1 : shell(command.at);
	if (code) fprintf(stderr, "%s: exit status %d\n", editor, code);
	buffer_free(&command);
	return code == 0;
}

/* Edits a file and runs it. Without a file, edits the last input in a temporary
 * file. */
static void edit(Repl *r, const char *rest) {
	if (r->options->safe) {
		fputs("--safe grants no commands\n", stderr);
		return;
	}
	if (*rest || r->loaded) {
		char *path = *rest ? path_of(rest) : strdup(r->loaded);
		if (path && run_editor(path) && !access(path, R_OK)) load(r, path);
		free(path);
		return;
	}
	const char *folder = getenv("TMPDIR");
	StringBuffer path = {0}, text = {0};
	buffer_format(&path, "%s/atled-XXXXXX.dsl", folder && *folder ? folder : "/tmp");
	const int fd = path.failed ? -1 : mkstemps(path.at, 4);
	const char *last = r->last ? r->last : "", *why = NULL;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) perror(path.at ? path.at : "a file for the editor");
	else {
		fprintf(f, "%s\n", last);
		if (fclose(f)) perror(path.at);
		else if (run_editor(path.at) && buffer_read_file(&text, path.at, &why)) {
			while (text.n && strchr(" \n", text.at[text.n - 1])) text.at[--text.n] = 0;
			if (text.n) {
				printf("%s\n", text.at);
				history_keep(text.at);
				free(r->last);
				r->last = strdup(text.at);
				repl_run_kept(r, text.at, text.n, "<edited>");
			}
		}
		unlink(path.at);
	}
	buffer_free(&path);
	buffer_free(&text);
}

static void save(Repl *r, const char *rest) {
	char *path = path_of(rest);
	const char *why = "out of memory";
	if (r->options->safe) fputs("--safe grants no files\n", stderr);
	else if (!path || !script_write(r, path, &why)) fprintf(stderr, "%s: %s\n", rest, why);
	else printf("%zu statement%s in %s\n", r->nkept, r->nkept == 1 ? "" : "s", path);
	free(path);
}

static void show_help(Repl *r, const char *rest) {
	(void)r;
	(void)rest;
	StringBuffer text = {0};
	buffer_str(
		&text,
		"expressions show their result, unless they end in `;`; `ans` is the last one\n"
		"?name                help on a name\n??name               the text of its definition\n");
	for (const ReplCommand *c = repl_commands; c->name; c++) {
		char head[40];
		snprintf(head, sizeof head, "%s %s", c->name, c->args);
		buffer_format(&text, "%-20s %s\n", head, c->help);
	}
	buffer_str(
		&text,
		"TAB                  completes names, arguments, fields, modules, files, and \\alpha to "
		"α\n"
		"→, ^E                accept the grey suggestion; Alt-F its next word\n"
		"↑ ↓                  move in a block of lines, then through the history; ^R searches it\n"
		"Alt-Return           a new line where the text is whole already\n"
		"^C                   stop what runs, or drop what is typed\n");
	if (!text.failed) print_text(text.at, text.n, HELP_CODE);
	buffer_free(&text);
}

static void quit(Repl *r, const char *rest) {
	(void)rest;
	r->leave = true;
}

const ReplCommand repl_commands[] = {
	{":bench", "EXPR", "run many times: median and spread, compiling apart", show_bench},
	{":edit", "[FILE]",
     "change a file in $EDITOR, and run it; without FILE the one loaded last, or the last input",
     edit},
	{":help", "", "this list", show_help},
	{":ir", "EXPR", "the intermediate form of an expression, or of f for f(x)", show_ir},
	{":load", "FILE", "run a file here", load},
	{":nan", "[EXPR]", "which operation gives the first NaN of an expression, or of the last input",
     show_nan},
	{":native", "EXPR", "the machine code of an expression, or of f for f(x), as assembly",
     show_native},
	{":plan", "EXPR", "the same in words: loops, what is fused, where values are kept", show_plan},
	{":quit", "", "leave; so does ^D", quit},
	{":reload", "", "run the file loaded last again", reload},
	{":save", "FILE", "write the session as a program: the statements that succeeded, in order",
     save},
	{":sh", "COMMAND", "run a command of the shell", run_shell},
	{":time", "EXPR", "run and say how long it took, compiling apart", show_time},
	{":type", "EXPR", "type, shape and cost, without running", show_type},
	{":vars", "", "the variables", show_variables},
	{NULL, NULL, NULL, NULL},
};

static void explain_name(Repl *r, const char *name, bool source) {
	StringBuffer text = {0};
	report(r, atled_help(r->ctx, name, source, source ? file_sink : buffer_sink,
	                     source ? (void *)stdout : &text));
	if (text.n && !text.failed) print_text(text.at, text.n, HELP_CODE);
	buffer_free(&text);
}

bool repl_command(Repl *r, const char *line) {
	while (*line == ' ') line++;
	if (*line != ':' && *line != '?') return false;
	char *copy = strdup(line);
	if (!copy) return true;
	for (size_t n = strlen(copy); n && strchr(" \t\n;", copy[n - 1]);) copy[--n] = 0;
	if (*copy == '?') {
		bool source = copy[1] == '?';
		const char *name = copy + 1 + source;
		while (*name == ' ') name++;
		if (*name) explain_name(r, name, source);
		else show_help(r, "");
	} else {
		size_t n = strcspn(copy, " \t");
		const char *rest = copy + n + strspn(copy + n, " \t");
		const ReplCommand *c = repl_commands;
		while (c->name && (strncmp(c->name, copy, n) || strlen(c->name) != n)) c++;
		if (!c->name) fprintf(stderr, "there is no command %.*s; :help lists them\n", (int)n, copy);
		else if (*c->args && *c->args != '[' && !*rest)
			fprintf(stderr, "%s needs %s\n", c->name, c->args);
		else c->run(r, rest);
	}
	fflush(stdout);
	free(copy);
	return true;
}
