/* options.h - tables of options and commands.
 *
 * Help, the man page and shell completion are generated from them.
 *
 * Needs: program.h. Private to repl/.
 */
#ifndef ATLED_REPL_CORE_OPTIONS_H
#define ATLED_REPL_CORE_OPTIONS_H

#include "repl/core/program.h"

typedef enum OptionId {
	OPT_EVAL,
	OPT_COLOR,
	OPT_JSON,
	OPT_SEED,
	OPT_THREADS,
	OPT_TIME_LIMIT,
	OPT_MEM_LIMIT,
	OPT_STEP_LIMIT,
	OPT_SAFE,
	OPT_CHECK_RULES,
	OPT_FILTER,
	OPT_DOCS,
	OPT_PROFILE,
	OPT_CHECK,
	OPT_STDOUT,
	OPT_DUMP,
	OPT_COMPLETION,
	OPT_MAN,
	OPT_HELP,
	OPT_VERSION
} OptionId;

typedef struct OptionRow {
	OptionId id;
	char letter;
	const char *name;
	const char *arg;    /* NULL: takes no argument */
	const char *values; /* completions: "": file names; NULL: none */
	const char *help;
} OptionRow;

extern const OptionRow option_rows[];
extern const size_t option_count;

typedef struct CommandRow {
	Command command;
	const char *name, *args, *help;
	int least, most; /* number of arguments; -1: unlimited */
} CommandRow;

extern const CommandRow command_rows[];
extern const size_t command_count;

/* shell_completion.c: writes the completion script for a shell. Returns false
 * for an unknown shell. */
bool options_completion(const char *shell, FILE *out);

#endif
