/* test_prompt.c - tests of the interactive prompt through a pseudo-terminal:
 * keys in, screen out.
 *
 * Needs: the program that $ATLED names; forkpty.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/support/check.h"
#include "tests/unit/repl/terminal.h"
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct T {
	Trial trial;
	int fd;
	pid_t pid;
	char screen[1 << 16]; /* output since the last key, without escape sequences */
	size_t n;
	int escape; /* inside an escape sequence: 1 after ESC, 2 in a CSI, 3 in an OSC */
	int slower;
} T;

static void start(T *t) {
	struct winsize size = {.ws_row = 40, .ws_col = 120};
	t->n = 0;
	t->escape = 0;
	t->pid = forkpty(&t->fd, NULL, NULL, &size);
	if (t->pid == 0) {
		setenv("HOME", t->trial.home, 1);
		setenv("TERM", "xterm", 1);
		setenv("NO_COLOR", "1", 1);
		setenv("INPUTRC", "/dev/null", 1);
		setenv("LC_ALL", "C.UTF-8", 1);
		unsetenv("XDG_STATE_HOME");
		execl(t->trial.program, t->trial.program, (char *)NULL);
		_exit(127);
	}
}

static void put(T *t, char ch) {
	if (t->escape == 1) {
		t->escape = ch == '[' ? 2 : ch == ']' ? 3 : 0;
	} else if (t->escape == 2) {
		if (ch >= '@' && ch <= '~') t->escape = 0;
	} else if (t->escape == 3) {
		if (ch == '\a') t->escape = 0;
	} else if (ch == '\033') t->escape = 1;
	else if (ch != '\a' && ch != '\r' && t->n + 1 < sizeof t->screen) {
		t->screen[t->n++] = ch;
		t->screen[t->n] = 0;
	}
}

/* Reads output for at most `wait` seconds; returns false when the program has
 * ended. */
static bool take(T *t, double wait) {
	struct pollfd p = {.fd = t->fd, .events = POLLIN};
	if (poll(&p, 1, (int)(wait * 1000)) <= 0) return true;
	char bytes[4096];
	ssize_t n = read(t->fd, bytes, sizeof bytes);
	if (n <= 0) return n < 0 && errno == EINTR;
	for (ssize_t i = 0; i < n; i++) put(t, bytes[i]);
	return true;
}

/* Waits until the text is on the screen. */
static bool sees(T *t, const char *text) {
	double end = terminal_seconds() + 10 * t->slower;
	while (!(t->n && strstr(t->screen, text)))
		if (terminal_seconds() > end || !take(t, 0.1)) {
			if (t->n && strstr(t->screen, text)) return true;
			printf("  wanted: %s\n  screen: %s\n", text, t->n ? t->screen : "");
			return false;
		}
	return true;
}

static void keys(T *t, const char *text) {
	t->n = 0;
	t->screen[0] = 0;
	if (write(t->fd, text, strlen(text)) < 0) printf("the program does not read\n");
}

/* Types a line and waits for its output and for the next prompt. */
static bool line(T *t, const char *text, const char *shows) {
	keys(t, text);
	usleep(2000);
	if (write(t->fd, "\r", 1) < 0) return false;
	if (!sees(t, shows)) return false;
	/* The prompt after the output. */
	double end = terminal_seconds() + 10 * t->slower;
	while (terminal_seconds() < end) {
		const char *at = strstr(t->screen, shows), *prompt = NULL;
		for (const char *p = at ? strstr(at + strlen(shows), "atled> ") : NULL; p;
		     p = strstr(p + 1, "atled> "))
			prompt = p;
		if (prompt && !prompt[7]) return true;
		if (!take(t, 0.1)) return false;
	}
	printf("  no prompt after: %s\n  screen: %s\n", text, t->screen);
	return false;
}

static int finish(T *t) {
	int status = 0;
	double end = terminal_seconds() + 10 * t->slower;
	while (terminal_seconds() < end) {
		take(t, 0.05);
		if (waitpid(t->pid, &status, WNOHANG) == t->pid) {
			close(t->fd);
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
	}
	kill(t->pid, SIGKILL);
	waitpid(t->pid, &status, 0);
	close(t->fd);
	return -1;
}

static void test_evaluates(T *t) {
	start(t);
	CHECK(sees(t, "atled> "));
	CHECK(line(t, "1+1", "\n2\n"));
	CHECK(line(t, "ans * 10", "\n20\n"));
	CHECK(line(t, "x = 2.5", ""));
	CHECK(line(t, "x^2;", ""));
	CHECK(!strstr(t->screen, "6.25"));
	CHECK(line(t, "x^2", "\n6.25\n"));
	CHECK(line(t, "[1, 2; 3, 4]", "\n[[1, 2],\n [3, 4]]\n"));
	CHECK(line(t, "zeros(64, 64)", "f64[64, 64]  32 KB"));
	CHECK(line(t, "print(\"said {x}\")", "\nsaid 2.5\n"));
	/* A block over several lines. */
	keys(t, "f(a) = {\r");
	CHECK(sees(t, "  ...> "));
	keys(t, "b = a + 1\r");
	CHECK(sees(t, "  ...> "));
	CHECK(line(t, "b^2 }", ""));
	CHECK(line(t, "f(3)", "\n16\n"));
	CHECK(line(t, "f'(3.0)", "\n8.0\n"));
	/* Prompts that were pasted with the text. */
	CHECK(line(t, "atled> 40 + 2", "\n42\n"));
	keys(t, "\004");
	CHECK(finish(t) == 0);
}

static void test_errors(T *t) {
	start(t);
	CHECK(sees(t, "atled> "));
	CHECK(line(t, "a = 5", ""));
	CHECK(line(t, "a = a + [1, 2] + [1, 2, 3]", "[E0302]"));
	CHECK(strstr(t->screen, "^^^"));
	CHECK(line(t, "a", "\n5\n"));
	CHECK(line(t, "b = nme", "no `nme`"));
	CHECK(line(t, ")", "E010"));
	/* ^C at the prompt, inside a block, and in an endless loop. */
	keys(t, "1 + 12345\003");
	CHECK(sees(t, "\natled> "));
	CHECK(line(t, "6 * 7", "\n42\n"));
	keys(t, "g(x) = {\r");
	CHECK(sees(t, "  ...> "));
	keys(t, "x +\003");
	CHECK(sees(t, "\natled> "));
	CHECK(line(t, "k = 1.0", ""));
	keys(t, "while k > 0 { k = k + 1 }\r");
	usleep(400000);
	take(t, 0);
	double from = terminal_seconds();
	keys(t, "\003");
	CHECK(sees(t, "interrupted"));
	CHECK(sees(t, "atled> "));
	CHECK(terminal_seconds() - from < 0.5 * t->slower);
	CHECK(line(t, "k + a", "\n6.0\n"));
	CHECK(line(t, "5 - 4", "\n1\n"));
	keys(t, ":quit\r");
	CHECK(finish(t) == 0);
}

static void test_completion(T *t) {
	start(t);
	CHECK(sees(t, "atled> "));
	keys(t, "linsp\t");
	CHECK(sees(t, "linspace"));
	CHECK(line(t, "(0, 1, 3)", "\n[0, 0.5, 1]\n"));
	keys(t, "\\alpha\t");
	CHECK(sees(t, "α"));
	CHECK(line(t, " = 3", ""));
	CHECK(line(t, "α + 1", "\n4\n"));
	CHECK(line(t, "rec = (first = 10, second = 20)", ""));
	keys(t, "rec.sec\t");
	CHECK(sees(t, "rec.second"));
	CHECK(line(t, " + 1", "\n21\n"));
	CHECK(line(t, "my_long_name = 7", ""));
	keys(t, "2 * my_l\t");
	CHECK(sees(t, "my_long_name"));
	CHECK(line(t, "", "\n14\n"));
	keys(t, ":he\t");
	CHECK(sees(t, ":help"));
	CHECK(line(t, "", "??name"));
	CHECK(line(t, "?sin", "sine"));
	/* Values with matrices are shown with one component a line and strings in
	 * quotes. Long rows continue after a comma, aligned with their bracket. */
	CHECK(line(t, "(A = [1, 2; 3, 4], s = \"a, \\\"b\", x = 7)",
	           "(A = [[1, 2],\n      [3, 4]],\n s = \"a, \\\"b\",\n x = 7)\n"));
	CHECK(line(t,
	           "(n = iota(17), s = \"a\\nb\", t = "
	           "\"012345678901234567890123456789\\n012345678901234567890123456789\\n\")",
	           "(n = i64[17]  136 B  min 0  max 16\n     [0, 1, 2, ..., 14, 15, 16],\n s = "
	           "\"a\\nb\",\n t = \"012345678901234567890123456789 ...\")\n"));
	CHECK(line(t, "(eye(2), rand(300) * 0)",
	           "([[1, 0],\n  [0, 1]],\n f64[300]  2.3 KB  min 0  max 0  nan 0\n [0, 0, 0, ..., "
	           "0, 0, 0])\n"));
	CHECK(line(t, "zeros(60)", "0, 0,\n 0, 0,"));
	/* Sentences are broken at blanks: no line is wider than the terminal. */
	CHECK(line(t, "?jvp", "along dx"));
	size_t widest = 0;
	for (const char *p = t->screen; *p; p += strcspn(p, "\n") + 1) {
		size_t wide = 0;
		for (const char *q = p; *q && *q != '\n'; q++) wide += ((unsigned char)*q & 0xc0) != 0x80;
		widest = wide > widest ? wide : widest;
		if (!p[strcspn(p, "\n")]) break;
	}
	CHECK(widest > 100 && widest < 120);
	CHECK(line(t, "h(x) = x + 41", ""));
	CHECK(line(t, "??h", "h(x) = x + 41"));
	CHECK(line(t, "?nobody", "no `nobody`"));
	CHECK(line(t, ":type rec", "record (first: i64, second: i64)"));
	CHECK(line(t, ":type [1.0, 2.0] * 2", "f64[2]"));
	CHECK(line(t, ":type (rec, \"a\", h, none, [1.0])",
	           "tuple (record (first: i64, second: i64), string, function, none, f64[1])"));
	CHECK(line(t, ":type none", "none  0 scalar operations"));
	/* Errors refer to the typed text, not to the code that a command adds
	 * around it. */
	CHECK(line(t, ":type 1 +", "<type>:1:4: expected an expression, found the end of the text"));
	CHECK(line(t, ":bench 6 + nothing_here", "<bench>:1:5: no `nothing_here`"));
	CHECK(line(t, ":ir h(2.0)", "add"));
	/* The whole expression is compiled, not only its outermost function. */
	CHECK(line(t, ":ir h(sin(2.0 + rand()))", "sin"));
	CHECK(line(t, ":time h(1)", "\n42\n"));
	CHECK(strstr(t->screen, "scalar operations"));
	CHECK(line(t, ":time h(1)", "compiling"));
	CHECK(line(t, ":plan h(1)", "h: 0 units of machine code"));
	CHECK(line(t, ":native h(1)", "machine code"));
	CHECK(line(t, ":bench 6 * 7", "median"));
	CHECK(line(t, ":bench 6 *", "E010"));
	CHECK(line(t, ":bench error(\"so it is\")", "so it is"));
	CHECK(line(t, ":nan log(2 - 5) * h(2.0)", "gives the first NaN: log(-3.0)"));
	CHECK(!strstr(t->screen, "nan_check"));
	CHECK(line(t, ":nan h(log(1 - my_long_name))",
	           "`log(1 - my_long_name)` gives the first NaN: log(-6.0)"));
	CHECK(line(t, "bad = sqrt(my_long_name - 9) + 1;", ""));
	CHECK(line(t, ":nan", "`sqrt(my_long_name - 9)` gives the first NaN: sqrt(-2.0)"));
	CHECK(line(t, ":nan 3", "no NaN"));
	CHECK(line(t, ":vars", "my_long_name"));
	CHECK(line(t, ":nothing", "no command"));
	CHECK(line(t, ":load", "needs FILE"));
	char path[100], command[140];
	snprintf(path, sizeof path, "%s/loaded.dsl", t->trial.home);
	FILE *f = fopen(path, "w");
	if (f) {
		fputs("loaded = 99\nloaded + 1\n", f);
		fclose(f);
	}
	snprintf(command, sizeof command, ":load %s", path);
	CHECK(line(t, command, "\n100\n"));
	keys(t, "\004");
	CHECK(finish(t) == 0);
}

static void test_history(T *t) {
	start(t);
	CHECK(sees(t, "atled> "));
	CHECK(line(t, "11 * 11", "\n121\n"));
	CHECK(line(t, "\033[A", "\n121\n"));
	keys(t, "p(x) = {\r");
	CHECK(sees(t, "  ...> "));
	CHECK(line(t, "x + 1000 }", ""));
	CHECK(line(t, "p(1)", "\n1001\n"));
	keys(t, "\004");
	CHECK(finish(t) == 0);
	/* The next start restores the history, with the block as one entry. */
	start(t);
	CHECK(sees(t, "atled> "));
	CHECK(line(t, "\033[A\033[A", ""));
	CHECK(line(t, "p(2)", "\n1002\n"));
	CHECK(line(t,
	           "\022"
	           "11 ",
	           /* R. */
	           "\n121\n"));
	keys(t, "\004");
	CHECK(finish(t) == 0);
	char path[100];
	snprintf(path, sizeof path, "%s/.local/state/atled/history", t->trial.home);
	CHECK(!access(path, R_OK));
}

int main(void) {
	static T t;
	int status;
	if (!trial_begin(&t.trial, "repl", &status)) return status;
	t.slower = t.trial.sanitized ? 6 : 1;
	test_evaluates(&t);
	test_errors(&t);
	test_completion(&t);
	test_history(&t);
	return trial_end(&t.trial);
}
