/* keys.c - keys from the terminal, and line input without cursor movement.
 *
 * Needs: repl.h, readline.
 *
 * Guarantees:
 * - While an input is read, ^C is a key.
 * - The terminal has its original settings whenever line_read has returned.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <readline/readline.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char first_prompt[] = "atled> ", more_prompt[] = "  ...> ";
bool key_cancelled;

static volatile sig_atomic_t pressed, resized;
static int later = EOF; /* a key that came after a ^C that is not handled yet */
static struct sigaction interrupt_before, resize_before;

static void on_interrupt(int signal_number) {
	(void)signal_number;
	pressed = 1;
}

static void on_resize(int signal_number) {
	(void)signal_number;
	resized = 1;
}

void keys_setup(void) {
	rl_readline_name = "atled";
	rl_catch_signals = 0;
	rl_catch_sigwinch = 0;
	rl_change_environment = 0;
	/* Allows Greek letters in names when the environment sets no locale. */
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
	rl_initialize();
	/* Otherwise readline rebinds the terminal's special keys at every prompt,
	 * over our bindings. */
	rl_variable_bind("bind-tty-special-chars", "off");
}

void keys_begin(void) {
	struct sigaction action = {.sa_handler = on_interrupt};
	sigemptyset(&action.sa_mask);
	pressed = 0;
	key_cancelled = false;
	sigaction(SIGINT, &action, &interrupt_before);
	action.sa_handler = on_resize;
	sigaction(SIGWINCH, &action, &resize_before);
}

bool keys_end(void) {
	sigaction(SIGINT, &interrupt_before, NULL);
	sigaction(SIGWINCH, &resize_before, NULL);
	return key_cancelled || pressed;
}

int key_get(FILE *in) {
	for (;;) {
		if (pressed) {
			pressed = 0;
			key_cancelled = true;
		}
		/* every call returns ^C until keys_begin, so that no key binding can
		 * swallow it */
		if (key_cancelled) return 3;
		if (later != EOF) {
			const int key = later;
			later = EOF;
			return key;
		}
		if (resized) {
			resized = 0;
			rl_resize_terminal();
		}
		unsigned char ch;
		const ssize_t n = read(fileno(in), &ch, 1);
		if (n == 1 && !pressed) return ch;
		/* ^C empties the terminal's queue, so a key read at the same time was
		 * pressed after it. */
		if (n == 1) later = ch;
		else if (n == 0 || errno != EINTR) return EOF;
	}
}

/* ---- pasted prompts ------------------------------------------------------ */

static size_t prompt_of(const char *line) {
	if (!strncmp(line, first_prompt, sizeof first_prompt - 1)) return sizeof first_prompt - 1;
	return strncmp(line, more_prompt, sizeof more_prompt - 1) ? 0 : sizeof more_prompt - 1;
}

char *without_prompts(const char *text, size_t n) {
	char *copy = malloc(n + 1);
	if (!copy) return NULL;
	memcpy(copy, text, n);
	copy[n] = 0;
	const char *first = copy;
	while (*first == '\n') first++;
	if (!prompt_of(first)) return copy;
	/* A transcript: lines without a prompt are output, not input. */
	char *to = copy;
	for (const char *line = first; *line;) {
		const char *end = strchrnul(line, '\n');
		const size_t skip = prompt_of(line);
		if (skip) {
			if (to > copy) *to++ = '\n';
			memmove(to, line + skip, (size_t)(end - line) - skip);
			to += (size_t)(end - line) - skip;
		}
		line = *end ? end + 1 : end;
	}
	*to = 0;
	return copy;
}

/* ---- reading a line ------------------------------------------------------ */

static int cancel(int count, int key) {
	(void)count;
	(void)key;
	rl_replace_line("", 0);
	rl_point = 0;
	return rl_newline(1, '\r');
}

void plain_start(void) {
	keys_setup();
	rl_variable_bind("enable-bracketed-paste", "off");
	rl_getc_function = key_get;
	rl_bind_key(3, cancel);
	rl_bind_key('\t', rl_tab_insert);
}

char *line_read(const char *prompt, bool *cancelled) {
	keys_begin();
	char *line = readline(prompt);
	*cancelled = keys_end();
	return line;
}
