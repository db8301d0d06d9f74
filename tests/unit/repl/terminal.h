/* terminal.h - a program in a terminal of its own: keys in, screen out. The
 * terminal is emulated: its cells, colours and cursor are what a person would
 * see.
 *
 * Needs: forkpty. Guarantees: nothing waits longer than the limits that it is
 * given.
 */
#ifndef ATLED_TESTS_UNIT_REPL_TERMINAL_H
#define ATLED_TESTS_UNIT_REPL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TERMINAL_ROWS_MOST = 80, TERMINAL_COLUMNS_MOST = 240 };

typedef struct Cell {
	uint32_t code;  /* 0: nothing was written here */
	uint8_t colour; /* 30..37, 90..97 as in SGR; 0 the usual one */
	bool bold, underlined;
} Cell;

typedef struct Terminal {
	int fd, rows, columns, row, column;
	pid_t pid;
	Cell cell[TERMINAL_ROWS_MOST][TERMINAL_COLUMNS_MOST];
	Cell pen;
	int escape; /* 0 none, 1 after ESC, 2 in a CSI, 3 in an OSC */
	char parameters[32];
	int nparameters;
	uint32_t code;
	int more;          /* bytes of a character that are still to come */
	unsigned scrolled; /* lines that went out above */
	unsigned bytes;    /* that came */
	bool unknown;      /* a sequence came that is not emulated: */
	char what[40];
	bool pastes;   /* the program wants to be told of pastes */
	double slower; /* how much longer than usual things may take */
	char text[TERMINAL_ROWS_MOST * (TERMINAL_COLUMNS_MOST * 4 + 1) + 1];
} Terminal;

double terminal_seconds(void);
/* Starts a program; environment: "NAME=value", "-NAME" takes away; NULL ends
 * it. */
void terminal_start(Terminal *t, int rows, int columns, const char *const *arguments,
                    const char *const *environment);
void terminal_resize(Terminal *t, int rows, int columns);
void terminal_keys(Terminal *t, const char *text);
/* Reads what comes within the time; false when the program is gone. */
bool terminal_take(Terminal *t, double seconds);
/* All of the screen, a line each, without blanks at the ends of lines and
 * without empty lines at the end. */
const char *terminal_text(Terminal *t);
const char *terminal_row(Terminal *t, int row);
/* Waits until the text stands somewhere; false, and says what stands there,
 * when it does not come. */
bool terminal_sees(Terminal *t, const char *text);
/* Waits until the screen's last line is this one, and the cursor stands at its
 * end. */
bool terminal_ends(Terminal *t, const char *line);
/* Waits until nothing has come for a while. */
void terminal_settle(Terminal *t);
/* The cell where a text that stands on the screen begins; NULL when it does
 * not. */
const Cell *terminal_find(Terminal *t, const char *text);
int terminal_finish(Terminal *t);

/* A test of the program that $ATLED names, which has a home of its own. */
typedef struct Trial {
	uint32_t passed, failed;
	const char *program;
	char home[64];
	bool sanitized; /* $ATLED_KIND is a build that takes longer for everything */
} Trial;
/* false: there is nothing to try, which has been said, and the exit status is
 * `status`. */
bool trial_begin(Trial *t, const char *name, int *status);
/* Takes the home away and says what passed; the exit status. */
int trial_end(Trial *t);

#endif
