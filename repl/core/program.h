/* program.h - what the files of the program `atled` share: options, the context
 * it drives, showing values and messages.
 *
 * Needs: atled.h and libc. Private to repl/. The program sees the language
 * through atled.h only.
 */
#ifndef ATLED_REPL_CORE_PROGRAM_H
#define ATLED_REPL_CORE_PROGRAM_H

#include "atled.h"
#include <stdbool.h>
#include <stdio.h>

/* Exit codes: stable. */
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
	const char **expressions; /* of -e, in order */
	int nexpressions;
	char **args; /* what follows the command */
	int nargs;
	Colour colour;
	bool json, safe, docs, profile, check_rules, check_only, to_stdout;
	const char *dump; /* NULL: nothing is */
	bool has_seed;
	int64_t seed;
	int threads;
	double time_limit;
	size_t mem_limit;
	uint64_t step_limit;
	const char *filter;
} Options;

/* options.c: reads the command line. false: the program ends with *code (help
 * was shown, or the line was wrong). */
bool options_read(Options *o, int argc, char **argv, int *code);
void options_free(Options *o);

/* A growable text; `failed` sticks. */
typedef struct Buffer {
	char *at; /* zero-terminated once there is any */
	size_t n, cap;
	bool failed;
} Buffer;
void buffer_add(Buffer *b, const char *text, size_t n);
void buffer_str(Buffer *b, const char *text);
void buffer_format(Buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_free(Buffer *b);
void buffer_sink(void *ud, const char *text, size_t n); /* an atled_sink; ud: a Buffer */
/* A whole file ("-": standard input). false: *why says what is wrong. */
bool buffer_read_file(Buffer *b, const char *path, const char **why);

/* session.c: a context as the options want it, and what is said of it. NULL
 * when it cannot be made (said on stderr). */
atled_context *session_open(const Options *o);
void session_close(atled_context *ctx);
/* The same for the last one of the program, which does not wait for machine
 * code that nobody will call any more; then, and after a ^C, session_leave must
 * end the program, when everything has been written. It returns where nothing
 * was left. */
void session_close_last(atled_context *ctx);
void session_leave(int code);
bool use_colour(const Options *o, FILE *f);
void file_sink(void *ud, const char *text, size_t n); /* ud: a FILE */
/* All errors and warnings of the last call, on stderr. */
void session_report(atled_context *ctx, const Options *o);
int session_exit_code(const atled_context *ctx, atled_status st);
/* commands.c: `use` starts from the program's folder; a file that cannot be
 * read, with the exit code. */
atled_status set_folder(atled_context *ctx, const char *path);
int cannot_read(const char *path, const char *why);
void put_json(const char *text, size_t n); /* a text as a JSON string, on standard output */
/* ^C reaches this context while it is set. */
void session_catch_interrupts(atled_context *ctx);

/* display.c: writes a result as the program shows it: small values whole, large
 * arrays by header and corners. Ends without newline. */
void display_value(const atled_value *v, atled_sink sink, void *ud);
/* How wide and high the terminal is that `f` writes to; false, and nothing is
 * written, when it is none or does not say. */
bool terminal_size(FILE *f, int *columns, int *rows);
/* A text of sentences on standard output: lines that are wider than the
 * terminal go on below, at a blank, further in. Lines further in than `code`
 * are programs and stay as they are; what goes to no terminal does, too. */
#define HELP_CODE 4 /* of the help on a name */
void print_text(const char *text, size_t n, int code);

/* commands.c, fmt.c, bench.c, test.c, doc_test.c, repl.c: each gives the exit
 * code. */
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

/* progress.c: how far a long call has come, on standard error. progress_begin:
 * a call begins; progress_clear: before anything else is written to the
 * terminal. */
void progress_on(atled_context *ctx);
void progress_begin(void);
void progress_clear(void);

/* bench.c: what happened between two looks at the figures, in a line: "1.2 ms:
 * 0.4 ms compiling ...". */
typedef struct Clock {
	double from;
	atled_stat stat;
} Clock;
double seconds_now(void);
void clock_start(Clock *k, atled_context *ctx);
void clock_tell(const Clock *k, atled_context *ctx, FILE *out);
/* Calls a function without arguments again and again, and tells how long it
 * takes. */
atled_status bench_function(atled_context *ctx, const atled_value *fn, FILE *out);

/* plot_bridge.c: registers what the library's plot module calls. */
atled_status plot_bridge_install(atled_context *ctx);
/* Shows a picture, as wide and as colourful as `out` allows (NULL: 80 columns,
 * plain); false when v is none. */
bool plot_show(const atled_value *v, FILE *out, atled_sink sink, void *ud);

#endif
