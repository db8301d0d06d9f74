/* repl.c - the interactive prompt: reads statements, runs them, shows what they give.
 *
 * Needs: repl.h. Guarantees: a statement that fails or is interrupted changes nothing; where standard input is no
 * terminal it is run as a program.
 */
#include "repl/repl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show(void *ud, const atled_value *v, uint32_t line) {
	Repl *r = ud;
	(void)line;
	display_value(v, file_sink, stdout);
	putchar('\n');
	fflush(stdout);
	atled_value_free(r->ans);
	r->ans = atled_value_copy(v);
}

atled_status repl_run(Repl *r, const char *text, size_t n, const char *name) {
	session_catch_interrupts(r->ctx);
	atled_status st = atled_run(r->ctx, text, n, name, show, r);
	atled_clear_interrupt(r->ctx);
	if (atled_error_count(r->ctx)) session_report(r->ctx, r->options);
	if (r->ans && atled_set(r->ctx, "ans", r->ans) != ATLED_OK) session_report(r->ctx, r->options);
	atled_value_free(r->ans);
	r->ans = NULL;
	return st;
}

/* A prompt that was pasted along. */
static const char *without_prompt(const char *line) {
	static const char *const prompts[] = {"atled> ", "  ...> "};
	for (int i = 0; i < 2; i++)
		if (!strncmp(line, prompts[i], strlen(prompts[i]))) return line + strlen(prompts[i]);
	return line;
}

/* Reads lines until they make a whole. false at the end of the input; an empty text when cancelled. */
static bool read_statement(const Repl *r, Buffer *text) {
	const char *first = r->colour ? "\001\033[1;34m\002atled>\001\033[0m\002 " : "atled> ";
	const char *more = r->colour ? "\001\033[34m\002  ...>\001\033[0m\002 " : "  ...> ";
	do {
		bool cancelled;
		char *line = line_read(text->n ? more : first, &cancelled);
		if (cancelled) {
			free(line);
			text->n = 0;
			if (text->at) text->at[0] = 0;
			return true;
		}
		if (!line) {
			putchar('\n');
			return false;
		}
		if (text->n) buffer_str(text, "\n");
		const char *start = without_prompt(line);
		buffer_str(text, start);
		bool command = text->n == strlen(start) && (start[0] == ':' || start[0] == '?');
		free(line);
		if (command) return true;
	} while (!text->failed && atled_incomplete(text->at, text->n));
	return true;
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
	line_start();
	complete_start(r.ctx);
	printf("atled %s; :help for help\n", ATLED_VERSION_STRING);
	while (!r.leave) {
		Buffer text = {0};
		bool more = read_statement(&r, &text);
		if (text.failed) fputs("out of memory\n", stderr);
		else if (text.n && text.at[strspn(text.at, " \t\n")]) {
			line_remember(text.at);
			if (more && !repl_command(&r, text.at)) {
				char name[24];
				snprintf(name, sizeof name, "<%u>", ++r.line);
				free(r.last);
				r.last = strdup(text.at);
				repl_run(&r, text.at, text.n, name);
			}
		}
		buffer_free(&text);
		if (!more) break;
	}
	free(r.last);
	session_close_last(r.ctx);
	return EXIT_OK;
}
