/* program.h - interface shared by the files of the program `atled`.
 *
 * Declares the options, the program's context, the display of values, and
 * messages.
 *
 * Needs: atled.h and libc. Private to repl/: the program uses the language
 * through atled.h only.
 */
#ifndef ATLED_REPL_CORE_PROGRAM_H
#define ATLED_REPL_CORE_PROGRAM_H

#include "atled.h"
#include <stdbool.h>
#include <stdio.h>

/* The exit codes are stable. */
enum {
	EXIT_OK = 0,
	EXIT_SCRIPT = 1,
	EXIT_USAGE = 2,
	EXIT_COMPILE = 3,
	EXIT_TESTS = 4,
	EXIT_LIMIT = 5,
	EXIT_DENIED = 6,
	EXIT_INTERNAL = 70,
	EXIT_INTERRUPTED = 130
};

typedef enum Command {
	COMMAND_REPL,
	COMMAND_RUN,
	COMMAND_CHECK,
	COMMAND_FMT,
	COMMAND_IR,
	COMMAND_TEST,
	COMMAND_BENCH,
	COMMAND_EXPLAIN,
	COMMAND_INFO,
	COMMAND_DOC
} Command;

typedef enum Colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } Colour;

typedef struct Options {
	Command command;
	const char **expressions; /* the arguments of -e, in order */
	int nexpressions;
	char **args; /* the arguments after the command */
	int nargs;
	Colour colour;
	bool json, safe, docs, profile, check_rules, check_only, to_stdout;
	const char *dump; /* the stage to dump; NULL: none */
	bool has_seed;
	int64_t seed;
	int threads;
	double time_limit;
	size_t mem_limit;
	uint64_t step_limit;
	const char *filter;
} Options;

/* options.c: reads the command line into *o. Returns false when the program
 * must end with *code: help was shown, or the command line is wrong. */
bool options_read(Options *o, int argc, char **argv, int *code);
void options_free(Options *o);

/* A growable string. After an allocation fails, `failed` stays true. */
typedef struct StringBuffer {
	char *at; /* zero-terminated when not NULL */
	size_t n, cap;
	bool failed;
} StringBuffer;
void buffer_add(StringBuffer *b, const char *text, size_t n);
void buffer_str(StringBuffer *b, const char *text);
void buffer_format(StringBuffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_free(StringBuffer *b);
void buffer_sink(void *ud, const char *text, size_t n); /* An atled_sink; `ud` is a Buffer. */
/* Appends a whole file; the path "-" is standard input. When it returns false,
 * *why holds the reason. */
bool buffer_read_file(StringBuffer *b, const char *path, const char **why);

/* session.c: returns a new context configured by the options, or NULL after a
 * message on stderr. The caller closes it. */
atled_context *session_open(const Options *o);
void session_close(atled_context *ctx);
/* Closes the program's last context without waiting for pending machine code.
 * After this call, or after ^C, the program writes its output and then calls
 * session_leave, which ends the process. session_leave returns when no context
 * was left open. */
void session_close_last(atled_context *ctx);
void session_leave(int code);
bool use_colour(const Options *o, FILE *f);
void file_sink(void *ud, const char *text, size_t n); /* An atled_sink; `ud` is a FILE. */
/* Writes all errors and warnings of the last call to stderr. */
void session_report(atled_context *ctx, const Options *o);
/* The exit code for the status of a call. After a limit, session_close does not
 * wait for calls that were left behind. */
int session_exit_code(const atled_context *ctx, atled_status st);
/* commands.c: set_folder makes `use` search the folder of the program `path`.
 * cannot_read reports an unreadable file and returns the exit code. */
atled_status set_folder(atled_context *ctx, const char *path);
int cannot_read(const char *path, const char *why);
void put_json(const char *text, size_t n); /* Writes a string as JSON to standard output. */
/* From now on ^C interrupts this context. */
void session_catch_interrupts(atled_context *ctx);

/* display.c: writes a result as the program shows it. Small values are written
 * whole, large arrays as a header and corners. No newline follows. */
void display_value(const atled_value *v, atled_sink sink, void *ud);
/* Gets the size of the terminal that `f` writes to. Returns false, and leaves
 * *columns and *rows alone, when `f` is no terminal or its size is unknown. */
bool terminal_size(FILE *f, int *columns, int *rows);
/* Writes prose to standard output and wraps it at blanks to the terminal's
 * width, with an indent. Lines indented by `code` columns or more are programs
 * and are not wrapped. Nothing is wrapped when the output is no terminal. */
#define HELP_CODE 4 /* for the help on a name */
void print_text(const char *text, size_t n, int code);

/* commands.c, fmt.c, bench.c, test.c, doc_test.c, repl.c: each command returns
 * the exit code. */
int command_run(const Options *o);
int command_check(const Options *o);
int command_fmt(const Options *o);
int command_ir(const Options *o);
int command_explain(const Options *o);
int command_info(const Options *o);
int command_doc(const Options *o);
int command_bench(const Options *o);
int command_test(const Options *o);
int command_repl(const Options *o);

/* progress.c: shows the progress of a long call on standard error. The program
 * calls progress_begin when a call begins, and progress_clear before it writes
 * anything else to the terminal. */
void progress_on(atled_context *ctx);
void progress_begin(void);
void progress_clear(void);

/* bench.c: times a call. clock_tell writes one line about the time since
 * clock_start: "1.2 ms: 0.4 ms compiling ...". */
typedef struct Clock {
	double from;
	atled_stat stat;
} Clock;
double seconds_now(void);
void clock_start(Clock *k, atled_context *ctx);
void clock_tell(const Clock *k, atled_context *ctx, FILE *out);
/* Calls a function without arguments repeatedly and reports its run time. */
atled_status bench_function(atled_context *ctx, const atled_value *fn, FILE *out);

/* plot_bridge.c: registers the native functions of the library's plot
 * module. */
atled_status plot_bridge_install(atled_context *ctx);
/* Draws `v` as text if it is a figure, else returns false. The width and
 * colours suit the terminal `out`; with NULL it draws 80 columns without
 * colour. */
bool plot_show(const atled_value *v, FILE *out, atled_sink sink, void *ud);

#endif
