/* terminal.c - terminal emulation; see terminal.h.
 *
 * Needs: forkpty, poll.
 * Guarantees: sequences that are not emulated are recorded in `unknown`.
 */
#include "tests/unit/repl/terminal.h"
#include "tests/unit/support/check.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double terminal_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void terminal_start(Terminal *t, int rows, int columns, const char *const *arguments,
                    const char *const *environment) {
	const double slower = t->slower;
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	memset(t, 0, sizeof *t);
	t->slower = slower;
	t->rows = rows;
	t->columns = columns;
	t->pid = forkpty(&t->fd, NULL, NULL, &size);
	if (t->pid) return;
	for (; *environment; environment++) {
		if (**environment == '-') unsetenv(*environment + 1);
		else putenv((char *)(uintptr_t)*environment);
	}
	execv(arguments[0], (char **)(uintptr_t)arguments);
	_exit(127);
}

void terminal_resize(Terminal *t, int rows, int columns) {
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	t->rows = rows;
	t->columns = columns;
	if (t->row >= rows) t->row = rows - 1;
	if (t->column >= columns) t->column = columns - 1;
	ioctl(t->fd, TIOCSWINSZ, &size);
}

/* ---- input of the emulator ----------------------------------------------- */

static void down(Terminal *t) {
	if (t->row + 1 < t->rows) {
		t->row++;
		return;
	}
	memmove(t->cell[0], t->cell[1], (size_t)(t->rows - 1) * sizeof t->cell[0]);
	memset(t->cell[t->rows - 1], 0, sizeof t->cell[0]);
	t->scrolled++;
}

static void print(Terminal *t, uint32_t code) {
	if (t->column >= t->columns) {
		t->column = 0;
		down(t);
	}
	t->cell[t->row][t->column] = t->pen;
	t->cell[t->row][t->column++].code = code;
}

static void clear(Terminal *t, int row, int from, int to) {
	for (int i = from; i < to; i++) t->cell[row][i] = (Cell){0};
}

static void sgr(Terminal *t, const int *p, int n) {
	for (int i = 0; i < n; i++) {
		if (p[i] == 0) t->pen = (Cell){0};
		else if (p[i] == 1) t->pen.bold = true;
		else if (p[i] == 4) t->pen.underlined = true;
		else if ((p[i] >= 30 && p[i] <= 37) || (p[i] >= 90 && p[i] <= 97))
			t->pen.colour = (uint8_t)p[i];
		else if (p[i] == 39) t->pen.colour = 0;
		else if (p[i] == 2) t->pen.bold = false;
		else if (p[i] != 22) t->unknown = true;
		else t->pen.bold = false;
	}
}

static void csi(Terminal *t, char final) {
	int p[8] = {0}, n = 1;
	t->parameters[t->nparameters] = 0;
	if (t->parameters[0] == '?') {
		if (!strcmp(t->parameters, "?2004")) t->pastes = final == 'h';
		else t->unknown = true;
		return;
	}
	for (const char *s = t->parameters; *s; s++) {
		if (*s == ';' && n < 8) n++;
		else if (*s >= '0' && *s <= '9') p[n - 1] = 10 * p[n - 1] + *s - '0';
		else t->unknown = true;
	}
	const int one = p[0] ? p[0] : 1;
	switch (final) {
	case 'A': t->row = t->row > one ? t->row - one : 0; break;
	case 'B': t->row = t->row + one < t->rows ? t->row + one : t->rows - 1; break;
	case 'C': t->column = t->column + one < t->columns ? t->column + one : t->columns - 1; break;
	case 'D': t->column = t->column > one ? t->column - one : 0; break;
	case 'H':
		t->row = one - 1 < t->rows ? one - 1 : t->rows - 1;
		t->column = p[1] ? p[1] - 1 : 0;
		break;
	case 'J':
		if (p[0] == 2) {
			for (int i = 0; i < t->rows; i++) clear(t, i, 0, TERMINAL_COLUMNS_MOST);
		} else {
			clear(t, t->row, t->column, TERMINAL_COLUMNS_MOST);
			for (int i = t->row + 1; i < t->rows; i++) clear(t, i, 0, TERMINAL_COLUMNS_MOST);
		}
		break;
	case 'K': clear(t, t->row, p[0] == 2 ? 0 : t->column, TERMINAL_COLUMNS_MOST); break;
	case 'm': sgr(t, p, n); break;
	default: t->unknown = true;
	}
	if (t->unknown && !*t->what) snprintf(t->what, sizeof t->what, "%s%c", t->parameters, final);
}

static void come(Terminal *t, unsigned char ch) {
	if (t->escape == 1) {
		t->escape = ch == '[' ? 2 : ch == ']' ? 3 : 0;
		t->nparameters = 0;
		if (!t->escape) t->unknown = true;
	} else if (t->escape == 2) {
		if (ch >= '@' && ch <= '~') {
			t->escape = 0;
			csi(t, (char)ch);
		} else if (t->nparameters + 1 < (int)sizeof t->parameters)
			t->parameters[t->nparameters++] = (char)ch;
	} else if (t->escape == 3) {
		if (ch == '\a') t->escape = 0;
	} else if (t->more) {
		t->code = t->code << 6 | (ch & 0x3f);
		if (!--t->more) print(t, t->code);
	} else if (ch >= 0xc0) {
		t->more = ch >= 0xf0 ? 3 : ch >= 0xe0 ? 2 : 1;
		t->code = ch & (0x3fu >> t->more);
	} else if (ch == '\033') t->escape = 1;
	else if (ch == '\r') t->column = 0;
	else if (ch == '\n') down(t);
	else if (ch == '\b') t->column -= t->column > 0;
	else if (ch == '\t') t->column = (t->column / 8 + 1) * 8;
	else if (ch >= ' ') print(t, ch);
}

bool terminal_take(Terminal *t, double seconds) {
	struct pollfd p = {.fd = t->fd, .events = POLLIN};
	if (poll(&p, 1, (int)(seconds * 1000)) <= 0) return true;
	unsigned char bytes[16384];
	const ssize_t n = read(t->fd, bytes, sizeof bytes);
	if (n <= 0) return n < 0 && errno == EINTR;
	for (ssize_t i = 0; i < n; i++) come(t, bytes[i]);
	t->bytes += (unsigned)n;
	return true;
}

/* ---- screen contents ----------------------------------------------------- */

static char *put_code(char *to, uint32_t code) {
	if (code < 0x80) *to++ = (char)code;
	else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

static char *put_row(const Terminal *t, char *to, int row) {
	int end = t->columns;
	while (end && (!t->cell[row][end - 1].code || t->cell[row][end - 1].code == ' ')) end--;
	for (int i = 0; i < end; i++)
		to = put_code(to, t->cell[row][i].code ? t->cell[row][i].code : ' ');
	return to;
}

const char *terminal_row(Terminal *t, int row) {
	*put_row(t, t->text, row) = 0;
	return t->text;
}

const char *terminal_text(Terminal *t) {
	char *to = t->text, *end = t->text;
	for (int i = 0; i < t->rows; i++) {
		char *from = to;
		to = put_row(t, to, i);
		if (to > from) end = to + 1;
		*to++ = '\n';
	}
	*end = 0;
	return t->text;
}

const Cell *terminal_find(Terminal *t, const char *text) {
	for (int i = 0; i < t->rows; i++) {
		const char *row = terminal_row(t, i), *at = strstr(row, text);
		if (!at) continue;
		int column = 0;
		for (const char *p = row; p < at; p++) column += ((unsigned char)*p & 0xc0) != 0x80;
		return &t->cell[i][column];
	}
	return NULL;
}

bool terminal_sees(Terminal *t, const char *text) {
	const double end = terminal_seconds() + 10 * t->slower;
	while (!strstr(terminal_text(t), text))
		if (terminal_seconds() > end || !terminal_take(t, 0.05)) {
			if (strstr(terminal_text(t), text)) return true;
			printf("  wanted: %s\n  screen: %s\n", text, terminal_text(t));
			return false;
		}
	return true;
}

static bool ends_now(Terminal *t, const char *line) {
	int last = t->rows - 1;
	while (last > 0 && !*terminal_row(t, last)) last--;
	char want[TERMINAL_COLUMNS_MOST * 4];
	size_t n = strlen(line), columns = 0;
	if (n >= sizeof want) return false;
	memcpy(want, line, n + 1);
	for (size_t i = 0; i < n; i++) columns += ((unsigned char)line[i] & 0xc0) != 0x80;
	while (n && want[n - 1] == ' ') want[--n] = 0;
	return !strcmp(terminal_row(t, last), want) && t->row == last && t->column == (int)columns;
}

bool terminal_ends(Terminal *t, const char *line) {
	const double end = terminal_seconds() + 10 * t->slower;
	while (!ends_now(t, line))
		if (terminal_seconds() > end || !terminal_take(t, 0.05)) {
			if (ends_now(t, line)) return true;
			printf("  wanted as the last line: `%s`\n  cursor: %d, %d\n  screen: %s\n", line,
			       t->row, t->column, terminal_text(t));
			return false;
		}
	return true;
}

void terminal_settle(Terminal *t) {
	const double end = terminal_seconds() + 2 * t->slower;
	for (double quiet = terminal_seconds();
	     terminal_seconds() < end && terminal_seconds() - quiet < 0.05 * t->slower;) {
		const unsigned before = t->bytes;
		if (!terminal_take(t, 0.01)) return;
		if (t->bytes != before) quiet = terminal_seconds();
	}
}

void terminal_keys(Terminal *t, const char *text) {
	for (size_t n = strlen(text); n;) { /* the program may answer before it has read everything */
		const ssize_t k = write(t->fd, text, n < 512 ? n : 512);
		if (k <= 0) {
			printf("the program does not read\n");
			return;
		}
		text += k;
		n -= (size_t)k;
		if (n) terminal_take(t, 0);
	}
}

int terminal_finish(Terminal *t) {
	int status = 0;
	const double end = terminal_seconds() + 10 * t->slower;
	while (terminal_seconds() < end) {
		terminal_take(t, 0.02);
		if (waitpid(t->pid, &status, WNOHANG) == t->pid) {
			while (poll(&(struct pollfd){.fd = t->fd, .events = POLLIN}, 1, 20) > 0 &&
			       terminal_take(t, 0)) {}
			close(t->fd);
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
	}
	kill(t->pid, SIGKILL);
	waitpid(t->pid, &status, 0);
	close(t->fd);
	return -1;
}

/* ---- tests --------------------------------------------------------------- */

bool trial_begin(Trial *t, const char *name, int *status) {
	const char *kind = getenv("ATLED_KIND");
	*t = (Trial){.program = getenv("ATLED"),
	             .sanitized = kind && (!strcmp(kind, "asan") || !strcmp(kind, "tsan") ||
	                                   !strcmp(kind, "stress"))};
	if (!t->program || access(t->program, X_OK)) {
		check_skip("ATLED names no program");
		*status = check_end();
		return false;
	}
	snprintf(t->home, sizeof t->home, "/tmp/atled-%.40s-XXXXXX", name);
	*status = 1;
	if (!mkdtemp(t->home)) return false;
	signal(SIGPIPE, SIG_IGN); /* a program that ended shows by its missing output */
	return true;
}

int trial_end(Trial *t) {
	char command[100];
	snprintf(command, sizeof command, "rm -rf '%s'", t->home);
	if (system(command)) printf("%s is left behind\n", t->home);
	return check_end();
}
