/* terminal.h - a program in an emulated terminal: keys in, screen out.
 *
 * The emulated cells, colours and cursor are those that a user would see.
 *
 * Needs: forkpty.
 * Guarantees: no function waits longer than its limit.
 */
#ifndef ATLED_TESTS_UNIT_REPL_TERMINAL_H
#define ATLED_TESTS_UNIT_REPL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TERMINAL_ROWS_MOST = 80, TERMINAL_COLUMNS_MOST = 240 };

typedef struct Cell {
	uint32_t code;  /* 0: nothing was written here */
	uint8_t colour; /* 30..37, 90..97 as in SGR; 0: default */
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
	int more;          /* missing bytes of a character */
	unsigned scrolled; /* lines that scrolled out at the top */
	unsigned bytes;    /* received */
	bool unknown;      /* a sequence that is not emulated arrived: */
	char what[40];
	bool pastes;   /* the program requested bracketed paste */
	double slower; /* factor of all time limits */
	char text[TERMINAL_ROWS_MOST * (TERMINAL_COLUMNS_MOST * 4 + 1) + 1];
} Terminal;

double terminal_seconds(void);
/* Starts a program. environment: "NAME=value" sets, "-NAME" removes; NULL ends
 * the list. */
void terminal_start(Terminal *t, int rows, int columns, const char *const *arguments,
                    const char *const *environment);
void terminal_resize(Terminal *t, int rows, int columns);
void terminal_keys(Terminal *t, const char *text);
/* Reads output for at most `seconds`; returns false when the program has
 * ended. */
bool terminal_take(Terminal *t, double seconds);
/* Returns the whole screen, one line a row, without trailing blanks and
 * trailing empty lines. */
const char *terminal_text(Terminal *t);
const char *terminal_row(Terminal *t, int row);
/* Waits until the text is on the screen. Otherwise prints the screen and
 * returns false. */
bool terminal_sees(Terminal *t, const char *text);
/* Waits until the screen's last line is `line` with the cursor at its end. */
bool terminal_ends(Terminal *t, const char *line);
/* Waits until no output has arrived for a while. */
void terminal_settle(Terminal *t);
/* Returns the cell where the text begins on the screen, or NULL. */
const Cell *terminal_find(Terminal *t, const char *text);
int terminal_finish(Terminal *t);

/* A test of the program that $ATLED names, with a home folder of its own. */
typedef struct Trial {
	const char *program;
	char home[64];
	bool sanitized; /* $ATLED_KIND is a build that needs longer for everything */
} Trial;
/* Returns false when there is no program to test; prints the reason and the
 * counts, and sets the exit status. */
bool trial_begin(Trial *t, const char *name, int *status);
/* Removes the home folder and ends like check_end. */
int trial_end(Trial *t);

#endif
