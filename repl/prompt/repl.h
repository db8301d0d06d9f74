/* repl.h - interface shared by the files of the interactive prompt.
 *
 * Needs: program.h. Private to repl/.
 */
#ifndef ATLED_REPL_PROMPT_REPL_H
#define ATLED_REPL_PROMPT_REPL_H

#include "repl/core/program.h"

typedef struct Repl {
	const Options *options;
	atled_context *ctx;
	atled_value *ans; /* the last result of an input, bound when the whole input is done */
	char *last;       /* the last input that was run; NULL: none */
	char *loaded;     /* the file of the last :load; NULL: none */
	struct KeptStatement *kept; /* the statements that succeeded, in order, for :save */
	size_t nkept, cap_kept;
	unsigned line; /* number of inputs so far */
	bool colour, leave;
	int exit_code;
} Repl;

typedef struct ReplCommand {
	const char *name, *args, *help;
	void (*run)(Repl *r, const char *rest);
} ReplCommand;
extern const ReplCommand repl_commands[]; /* ends with name NULL */

/* repl.c: runs an input as if typed; shows its results and errors. */
atled_status repl_run(Repl *r, const char *text, size_t n, const char *name);
/* The same, and records the statements that succeed for :save. */
atled_status repl_run_kept(Repl *r, const char *text, size_t n, const char *name);

/* script.c: the record of the session. script_keep records the statements of
 * the input that ran last. script_write writes them as a program; when it
 * returns false, *why is the reason. */
void script_keep(Repl *r, const char *text);
bool script_write(const Repl *r, const char *path, const char **why);
void script_free(Repl *r);

/* commands.c: runs ?name, ??name or a :command. Returns false for any other
 * line. */
bool repl_command(Repl *r, const char *line);

/* symbols.c: symbol_find returns the character of a TeX name, or NULL.
 * symbol_at returns the i-th pair of all, false after the last. */
const char *symbol_find(const char *name, size_t n);
bool symbol_at(size_t i, const char **name, const char **text);

/* complete.c: completion candidates at the cursor. */
typedef struct Candidate {
	char *text; /* replaces the word */
	char *note; /* its signature or description; NULL: none */
} Candidate;
typedef struct Completions {
	Candidate *at;
	size_t n, cap;
	size_t from; /* start of the word that a candidate replaces */
	char *head;  /* The signature of the function whose arguments are being typed; NULL: none. */
	bool failed;
} Completions;
void complete_start(atled_context *ctx);
void complete_find(const char *text, size_t point, Completions *out);
void complete_free(Completions *c);

/* history.c: earlier inputs, in readline's list and in a file shared by
 * sessions. */
void history_open(void);
void history_keep(const char *text);
/* Returns the continuation of the latest input that begins with `text`, or
 * NULL. */
const char *history_suggestion(const char *text, size_t n);

/* screen.c: the contents of the screen while an input is typed. */
typedef struct ScreenContents {
	/* prompts of the first line and of the others, without escape sequences */
	const char *prompt, *more;
	const char *text;
	size_t n, point;
	const char *ghost;  /* suggestion after the input; NULL: none */
	const char *below;  /* lines below the input; NULL: none */
	bool colour, pairs; /* pairs: mark the brackets at the cursor */
} ScreenContents;
void screen_paint(const ScreenContents *p);
void screen_leave(void); /* moves to a new line below the painted rows, which stay */
void screen_clear(void);
void screen_size(int *rows, int *columns);

/* edit.c: reads an input of one or more lines from the terminal. Returns it for
 * the caller to free, "" after ^C, or NULL at the end of the input. */
void edit_start(bool colour);
char *edit_read(void);

/* keys.c: reads one line on a terminal that cannot move its cursor. */
void plain_start(void);
char *line_read(const char *prompt, bool *cancelled);

/* keys.c, used by both: reads a key as readline does, but returns ^C as a
 * key. */
/* C was pressed and not handled yet */
extern bool key_cancelled;
int key_get(FILE *in);
void keys_setup(void); /* Called once, before readline is used. */
void keys_begin(void); /* signals arrive as keys until keys_end */
bool keys_end(void);   /* returns whether ^C was pressed since */

/* Removes prompts from pasted text. Of a transcript of a session, only the
 * typed lines remain. The caller frees the result. */
char *without_prompts(const char *text, size_t n);
extern const char first_prompt[], more_prompt[];

#endif
