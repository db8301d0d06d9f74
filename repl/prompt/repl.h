/* repl.h - what the files of the interactive prompt share.
 *
 * Needs: program.h. Private to repl/.
 */
#ifndef ATLED_REPL_PROMPT_REPL_H
#define ATLED_REPL_PROMPT_REPL_H

#include "repl/core/program.h"

typedef struct Repl {
	const Options *options;
	atled_context *ctx;
	atled_value *ans;  /* the last result of a line, bound when the line is done */
	char *last;        /* the last input that was run; NULL: none */
	char *loaded;      /* the file of the last :load; NULL: none */
	struct Kept *kept; /* the statements that succeeded, in order: what :save writes */
	size_t nkept, cap_kept;
	unsigned line; /* inputs so far */
	bool colour, leave;
	int exit_code;
} Repl;

typedef struct ReplCommand {
	const char *name, *args, *help;
	void (*run)(Repl *r, const char *rest);
} ReplCommand;
extern const ReplCommand repl_commands[]; /* ends with name NULL */

/* repl.c: runs a text as if typed, shows its results and errors. */
atled_status repl_run(Repl *r, const char *text, size_t n, const char *name);
/* The same, and keeps in the script what succeeded. */
atled_status repl_run_kept(Repl *r, const char *text, size_t n, const char *name);

/* script.c: the statements that succeeded. script_keep: those of the text that
 * ran last; script_write: a program that does them again, false when it cannot
 * be written (*why). */
void script_keep(Repl *r, const char *text);
bool script_write(const Repl *r, const char *path, const char **why);
void script_free(Repl *r);

/* prompt/commands.c: ?name, ??name and :commands. false: the line is none of
 * these. */
bool repl_command(Repl *r, const char *line);

/* symbols.c: the sign that a name of TeX stands for, NULL when there is none;
 * and the i-th of all, false after the last. */
const char *symbol_find(const char *name, size_t n);
bool symbol_at(size_t i, const char **name, const char **text);

/* complete.c: what could stand where the cursor is. */
typedef struct Candidate {
	char *text; /* in place of the word */
	char *note; /* its signature or what it is; NULL: nothing */
} Candidate;
typedef struct Completions {
	Candidate *at;
	size_t n, cap;
	size_t from; /* where the word begins that they replace */
	char *head;  /* the signature of the function whose arguments are being typed; NULL: none */
	bool failed;
} Completions;
void complete_start(atled_context *ctx);
void complete_find(const char *text, size_t point, Completions *out);
void complete_free(Completions *c);

/* history.c: the texts typed so far, in readline's list and in a file that
 * sessions share. */
void history_open(void);
void history_keep(const char *text);
/* What the latest text that begins with this one goes on with; NULL: there is
 * none. */
const char *history_suggestion(const char *text, size_t n);

/* screen.c: what stands on the terminal while a text is typed. */
typedef struct Picture {
	/* before the first line, and before those after it; without escapes */
	const char *prompt, *more;
	const char *text;
	size_t n, point;
	const char *ghost;  /* what is suggested behind the text; NULL: nothing */
	const char *below;  /* lines under the text; NULL: none */
	bool colour, pairs; /* pairs: the brackets at the cursor are marked */
} Picture;
void screen_paint(const Picture *p);
void screen_leave(void); /* to a new line below what was painted, which stays there */
void screen_clear(void);
void screen_size(int *rows, int *columns);

/* edit.c: a text of one or more lines from the terminal, to be freed; NULL at
 * the end of the input. An empty text when ^C was pressed. */
void edit_start(bool colour);
char *edit_read(void);

/* keys.c: the same where the terminal cannot move its cursor, line after line.
 */
void plain_start(void);
char *line_read(const char *prompt, bool *cancelled);

/* Shared by both: reads a key as readline's own does, but ^C comes through as a
 * key. */
extern bool key_cancelled; /* ^C was pressed and nobody has heard of it */
int key_get(FILE *in);
void keys_setup(void); /* once, before readline is used */
void keys_begin(void); /* until keys_end signals are keys */
bool keys_end(void);   /* whether ^C was pressed since */

/* The text without prompts that were pasted along; of a transcript of a session
 * only what was typed. To be freed. */
char *without_prompts(const char *text, size_t n);
extern const char first_prompt[], more_prompt[];

#endif
