/* line.c - reading a line with readline: ^C gives the prompt back, the history has a file.
 *
 * Needs: repl.h, readline. Guarantees: while a line is read, ^C ends it; the terminal is as it was whenever line_read
 * has returned.
 */
#define _GNU_SOURCE
#include "repl/repl.h"

#include <errno.h>
#include <readline/history.h>
#include <readline/readline.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_MOST 10000

static volatile sig_atomic_t pressed;
static bool line_cancelled;
static char *history_path;

static void on_interrupt(int signal_number) {
	(void)signal_number;
	pressed = 1;
}

/* As readline's own, but an interrupt ends the line as the return key does. */
static int get_key(FILE *in) {
	for (;;) {
		if (pressed) {
			pressed = 0;
			line_cancelled = true;
			rl_replace_line("", 0);
			return '\r';
		}
		unsigned char ch;
		ssize_t n = read(fileno(in), &ch, 1);
		if (n == 1) return ch;
		if (n == 0 || errno != EINTR) return EOF;
		if (rl_signal_event_hook) rl_signal_event_hook();
	}
}

char *line_read(const char *prompt, bool *cancelled) {
	struct sigaction action = {.sa_handler = on_interrupt}, before;
	sigemptyset(&action.sa_mask);
	pressed = 0;
	line_cancelled = false;
	sigaction(SIGINT, &action, &before);
	char *line = readline(prompt);
	sigaction(SIGINT, &before, NULL);
	*cancelled = line_cancelled;
	return line;
}

/* Makes the folders of a path. */
static void make_folders(char *path) {
	for (char *p = path + 1; *p; p++) {
		if (*p != '/') continue;
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
}

static void open_history(void) {
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = -1;
	if (state && *state == '/') n = asprintf(&history_path, "%s/atled/history", state);
	else if (home && *home == '/') n = asprintf(&history_path, "%s/.local/state/atled/history", home);
	if (n < 0) {
		history_path = NULL;
		return;
	}
	make_folders(history_path);
	/* with their times, so that a block of several lines is read back as one */
	history_comment_char = '#';
	history_write_timestamps = 1;
	using_history();
	stifle_history(HISTORY_MOST);
	if (read_history(history_path)) { /* there is none yet, or it cannot be read: then none is kept */
		FILE *f = fopen(history_path, "a");
		if (f) fclose(f);
		else {
			free(history_path);
			history_path = NULL;
		}
	} else history_truncate_file(history_path, HISTORY_MOST);
}

void line_remember(const char *text) {
	HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
	if (last && !strcmp(last->line, text)) return;
	add_history(text);
	if (history_path) append_history(1, history_path);
}

void line_start(void) {
	rl_readline_name = "atled";
	rl_catch_signals = 0;
	rl_change_environment = 0;
	rl_getc_function = get_key;
	open_history();
}
