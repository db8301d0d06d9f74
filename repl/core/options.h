/* options.h - the tables of options and commands, from which help, the man page
 * and completion are made.
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
	const char *arg;    /* NULL: takes none */
	const char *values; /* what completion offers; "" files; NULL nothing */
	const char *help;
} OptionRow;

extern const OptionRow option_rows[];
extern const size_t option_count;

typedef struct CommandRow {
	Command command;
	const char *name, *args, *help;
	int least, most; /* arguments; -1: any number */
} CommandRow;

extern const CommandRow command_rows[];
extern const size_t command_count;

/* shell_completion.c: the completion script for a shell; false: there is none
 * for it. */
bool options_completion(const char *shell, FILE *out);

#endif
