/* line.c - fuzz target: any bytes as keys of the prompt's editor.
 *
 * Method: the editor runs in this process. Its input is a pipe that gets a key
 * when the editor wants one; its output is a pipe to an emulated terminal. The
 * first byte of an input chooses the terminal. Bytes that no UTF-8 contains are
 * marks: TOGETHER, and LOOK for a comparison of the screen. Inputs that the
 * editor returns go to its history, and run nowhere.
 *
 * Contract:
 * - A key causes no crash. The cursor is in the line, and of keys that are
 *   UTF-8, at a character's beginning.
 * - The editor returns complete inputs only.
 * - The screen, of which only changes are painted, is what painting all of it
 *   gives.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"
#include "tests/unit/repl/terminal.h"

#include <fcntl.h>
#include <readline/history.h>
#include <readline/readline.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	TOGETHER = 0xff, /* the keys up to the next one arrive together, as pasted text does */
	LOOK = 0xfe,
	CANCEL = 3,         /* the terminal makes a signal of it */
	LINE_MOST = 1 << 15 /* a longer line ends the input, since only its length is new */
};

/* Readline loses undo lists of the history. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libreadline"; }

static const uint8_t *at, *end; /* the keys that are left */
static int to_editor;           /* the pipe of its keys */
static Terminal screen, expected;
static rl_getc_func_t *editor_key;
static bool in_characters; /* the keys of this input are whole characters */

/* The editor asks for the size of its terminal, which is a pipe here. */
int ioctl(int fd, unsigned long request, ...) {
	va_list args;
	va_start(args, request);
	void *to = va_arg(args, void *);
	va_end(args);
	if (request != TIOCGWINSZ || fd != STDOUT_FILENO)
		return (int)syscall(SYS_ioctl, fd, request, to);
	*(struct winsize *)to = (struct winsize){.ws_row = (unsigned short)screen.rows,
	                                         .ws_col = (unsigned short)screen.columns};
	return 0;
}

/* ---- what must hold between two keys ------------------------------------- */

static void wrong(const char *what) {
	fprintf(stderr, "%s; point %d of %d in: %s\n", what, rl_point, rl_end, rl_line_buffer);
	abort();
}

static void take_output(void) {
	int n = 0;
	fflush(stdout);
	while (!ioctl(screen.fd, FIONREAD, &n) && n > 0) terminal_take(&screen, 0);
}

/* Whether the emulated terminal shows a text as terminals do: all characters
 * have one column. */
static bool is_narrow(const char *text) {
	mbstate_t state = {0};
	for (wchar_t code; *text;) {
		const size_t n = mbrtowc(&code, text, MB_CUR_MAX, &state);
		if (n == (size_t)-1 || n == (size_t)-2 || wcwidth(code) == 0 || wcwidth(code) > 1)
			return false;
		text += n;
	}
	return true;
}

static bool is_narrow_now(void) {
	HIST_ENTRY **list = history_list();
	for (int i = 0; list && list[i]; i++)
		if (!is_narrow(list[i]->line)) return false;
	return is_narrow(rl_line_buffer) && is_narrow(rl_display_prompt);
}

static void wrong_screen(const char *what) {
	fprintf(stderr, "shown, row %d, column %d:\n%s\n", expected.row, expected.column,
	        terminal_text(&expected));
	fprintf(stderr, "painted anew, row %d, column %d:\n%s\n", screen.row, screen.column,
	        terminal_text(&screen));
	wrong(what);
}

static bool same_row(int k, int m) {
	for (int i = 0; i < screen.columns; i++) {
		const Cell *a = &expected.cell[k][i], *b = &screen.cell[m][i];
		const uint32_t x = a->code ? a->code : ' ', y = b->code ? b->code : ' ';
		if (x != y || (x != ' ' && (a->colour != b->colour || a->bold != b->bold))) return false;
	}
	return true;
}

/* Paints the whole screen again and compares it with what was there. */
static void look(void) {
	take_output();
	expected = screen;
	screen_clear();
	rl_redisplay_function();
	take_output();
	const int first = expected.row - screen.row;
	if (expected.column != screen.column) wrong_screen("the cursor is in another column");
	for (int i = 0; i < screen.rows; i++)
		if (i + first >= 0 && i + first < screen.rows && !same_row(i + first, i))
			wrong_screen("the screen shows something else");
}

static void check_line(void) {
	if (rl_point < 0 || rl_point > rl_end || rl_line_buffer[rl_end]) wrong("the cursor is outside");
	/* the kill ring may have pieces of characters from an earlier input */
	if (in_characters && mbstowcs(NULL, rl_line_buffer, 0) != (size_t)-1 &&
	    ((unsigned char)rl_line_buffer[rl_point] & 0xc0) == 0x80)
		wrong("the cursor is inside a character");
}

/* ---- keys ---------------------------------------------------------------- */

/* Whether the keys are UTF-8 between the marks. ESC and a byte are one key. */
static bool are_characters(const uint8_t *key, const uint8_t *stop) {
	mbstate_t state = {0};
	for (bool meta = false; key < stop;) {
		if (*key >= LOOK || !*key) {
			key++;
			continue;
		}
		const size_t n = mbrlen((const char *)key, (size_t)(stop - key), &state);
		if (n == (size_t)-1 || n == (size_t)-2 || (meta && n > 1)) return false;
		meta = *key == 27;
		key += n;
	}
	return true;
}

static void give(const uint8_t *from, size_t n) {
	if (n && write(to_editor, from, n) != (ssize_t)n) abort();
}

/* Gives the editor its next keys, or ^C at the end. */
static void give_next(bool between) {
	while (at < end && *at == LOOK) {
		at++;
		if (between && is_narrow_now()) look();
	}
	if (at == end || rl_end > LINE_MOST) {
		at = end;
		key_cancelled = true;
	} else if (*at == CANCEL) {
		at++;
		key_cancelled = true;
	} else if (*at != TOGETHER) give(at++, 1);
	else {
		const uint8_t *from = ++at;
		while (at < end && *at < LOOK && *at != CANCEL) at++;
		give(from, (size_t)(at - from));
		at += at < end && *at == TOGETHER;
	}
}

static int next_key(FILE *in) {
	int n = 0;
	/* not while a key waits for further ones */
	const bool between = RL_ISSTATE(RL_STATE_READCMD) &&
	                     !RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_NUMERICARG |
	                                 RL_STATE_METANEXT | RL_STATE_MOREINPUT | RL_STATE_MULTIKEY);
	if (between) check_line();
	while (!key_cancelled && !ioctl(STDIN_FILENO, FIONREAD, &n) && !n) give_next(between);
	return editor_key(in);
}

/* ---- inputs -------------------------------------------------------------- */

static void open_pipes(void) {
	int keys[2], output[2];
	if (pipe(keys) || pipe(output) || dup2(keys[0], STDIN_FILENO) < 0) abort();
	to_editor = keys[1];
	fcntl(to_editor, F_SETPIPE_SZ, 1 << 20);
	fcntl(output[1], F_SETPIPE_SZ, 1 << 20);
	screen.fd = output[0];
	expected.fd = output[1];
}

/* The context whose names are completed. */
static void open_context(void) {
	static const char text[] = "record = (alpha = 1, beta = [1.0, 2], gamma = (x = 1, y = 2))\n"
							   "number = 2.5; Δt = 0.1\n"
							   "twice(value, factor = 2) = factor * value\n";
	atled_context *ctx = atled_context_new(NULL);
	if (!ctx || atled_machine(ctx, ATLED_MACHINE_NEVER) != ATLED_OK ||
	    atled_compile(ctx, text, ATLED_ZERO, NULL) != ATLED_OK)
		abort();
	complete_start(ctx);
}

static int prepare(void) {
	setenv("TERM", "xterm", 1);
	setenv("INPUTRC", "/dev/null", 1);
	unsetenv("HOME");
	unsetenv("XDG_STATE_HOME");
	history_open(); /* without a file */
	const int own = dup(STDOUT_FILENO);
	open_pipes();
	open_context();
	return own;
}

/* Makes the editor and the terminal as they are at the start of the program. */
static void begin(uint8_t how) {
	static const struct {
		int rows, columns;
	} sizes[] = {{24, 80}, {4, 20}, {2, 8}, {10, 33}, {3, 200}, {60, 9}};
	static int colour = -1;
	const int fd = screen.fd;
	memset(&screen, 0, sizeof screen);
	screen.fd = fd;
	screen.rows = sizes[(how >> 1) % 6].rows;
	screen.columns = sizes[(how >> 1) % 6].columns;
	clear_history();
	history_keep("x = 1");
	history_keep("f(x) = {\n  x + 1\n}");
	history_keep("print(\"é {x}\") # note");
	if (colour != (how & 1)) {
		colour = how & 1;
		edit_start(colour);
		editor_key = rl_getc_function;
		rl_getc_function = next_key;
	}
	rl_variable_bind("editing-mode", "emacs");
	rl_variable_bind("bell-style", "none");
	rl_variable_bind("keyseq-timeout", "1");
	screen_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static int own, prepared;
	if (!prepared) {
		own = prepare();
		prepared = expected.fd;
	}
	at = data;
	end = data + size;
	fflush(stdout);
	dup2(prepared, STDOUT_FILENO);
	begin(at < end ? *at++ : 0);
	in_characters = are_characters(at, end);
	while (at < end) {
		char *text = edit_read();
		if (!text) break;
		const char *first = text + strspn(text, " ");
		if (*first && *first != ':' && *first != '?' && atled_incomplete(text, strlen(text)))
			wrong("the editor returned an incomplete input");
		if (*first) history_keep(text);
		free(text);
	}
	take_output();
	dup2(own, STDOUT_FILENO);
	return 0;
}
