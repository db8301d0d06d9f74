/* repl.h - what the files of the interactive prompt share.
 *
 * Needs: program.h. Private to repl/.
 */
#ifndef ATLED_REPL_REPL_H
#define ATLED_REPL_REPL_H

#include "repl/program.h"

typedef struct Repl {
	const Options *options;
	atled_context *ctx;
	atled_value *ans; /* the last result of a line, bound when the line is done */
	char *last;       /* the last input that was run; NULL: none */
	unsigned line;    /* inputs so far */
	bool colour, leave;
} Repl;

typedef struct ReplCommand {
	const char *name, *args, *help;
	void (*run)(Repl *r, const char *rest);
} ReplCommand;
extern const ReplCommand repl_commands[]; /* ends with name NULL */

/* repl.c: runs a text as if typed, shows its results and errors. */
atled_status repl_run(Repl *r, const char *text, size_t n, const char *name);

/* repl_commands.c: ?name, ??name and :commands. false: the line is none of these. */
bool repl_command(Repl *r, const char *line);

/* complete.c */
void complete_start(atled_context *ctx);

/* line.c: one line from the terminal, to be freed; NULL at the end of the input. *cancelled: ^C was pressed. */
char *line_read(const char *prompt, bool *cancelled);
void line_start(void);
/* Keeps a text in the history and its file. */
void line_remember(const char *text);

#endif
