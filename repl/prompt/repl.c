/* repl.c - the interactive prompt: a read-eval-print loop.
 *
 * Needs: repl.h.
 *
 * Guarantees:
 * - A statement that fails or is interrupted changes nothing.
 * - When standard input is no terminal, it is run as a program.
 */
#include "repl/prompt/repl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show(void *ud, const atled_value *v, uint32_t line) {
	Repl *r = ud;
	(void)line;
	progress_clear();
	display_value(v, file_sink, stdout);
	putchar('\n');
	fflush(stdout);
	atled_value_free(r->ans);
	r->ans = atled_value_copy(v);
}

static atled_status run(Repl *r, const char *text, size_t n, const char *name, bool kept) {
	session_catch_interrupts(r->ctx);
	atled_status st = atled_run(r->ctx, text, n, name, show, r);
	atled_clear_interrupt(r->ctx);
	progress_clear();
	if (atled_error_count(r->ctx)) session_report(r->ctx, r->options);
	if (st == ATLED_EXIT) {
		r->leave = true;
		r->exit_code = session_exit_code(r->ctx, st);
	}
	if (kept) script_keep(r, text);
	if (r->ans && atled_set(r->ctx, "ans", r->ans) != ATLED_OK) session_report(r->ctx, r->options);
	atled_value_free(r->ans);
	r->ans = NULL;
	return st;
}

atled_status repl_run(Repl *r, const char *text, size_t n, const char *name) {
	return run(r, text, n, name, false);
}

atled_status repl_run_kept(Repl *r, const char *text, size_t n, const char *name) {
	return run(r, text, n, name, true);
}

static bool complete_text(const char *text) {
	return text[0] == ':' || text[0] == '?' || !atled_incomplete(text, strlen(text));
}

/* Reads a whole input line by line, on a terminal that cannot move its cursor.
 * Returns NULL at the end of the input. */
static char *read_lines(void) {
	StringBuffer text = {0};
	do {
		bool cancelled;
		char *line = line_read(text.n ? more_prompt : first_prompt, &cancelled);
		if (!line || cancelled) {
			buffer_free(&text);
			if (cancelled) return line;
			putchar('\n');
			return NULL;
		}
		if (text.n) buffer_str(&text, "\n");
		char *clean = without_prompts(line, strlen(line));
		buffer_str(&text, clean ? clean : line);
		free(clean);
		free(line);
	} while (!text.failed && !complete_text(text.at));
	return text.at;
}

int command_repl(const Options *o) {
	if (!isatty(STDIN_FILENO)) {
		Options run = *o;
		char *args[] = {"-"};
		run.command = COMMAND_RUN;
		run.args = args;
		run.nargs = 1;
		return command_run(&run);
	}
	Repl r = {.options = o, .ctx = session_open(o), .colour = use_colour(o, stdout)};
	if (!r.ctx) return EXIT_LIMIT;
	const char *term = getenv("TERM");
	const bool plain = !term || !*term || !strcmp(term, "dumb") || !isatty(STDOUT_FILENO);
	if (plain) plain_start();
	else edit_start(r.colour);
	history_open();
	complete_start(r.ctx);
	printf("atled %s; :help for help\n", ATLED_VERSION_STRING);
	while (!r.leave) {
		char *typed = plain ? read_lines() : edit_read(),
			 *text = typed ? without_prompts(typed, strlen(typed)) : NULL;
		free(typed);
		if (!text) break;
		if (text[strspn(text, " \t\n")]) {
			history_keep(text);
			if (!repl_command(&r, text)) {
				char name[24];
				snprintf(name, sizeof name, "<%u>", ++r.line);
				free(r.last);
				r.last = strdup(text);
				repl_run_kept(&r, text, strlen(text), name);
			}
		}
		free(text);
	}
	free(r.last);
	free(r.loaded);
	script_free(&r);
	session_close_last(r.ctx);
	return r.exit_code;
}
