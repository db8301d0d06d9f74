/* options.c - command-line parser, help and man page.
 *
 * Method: one table of options and one of commands, see options.h.
 *
 * Guarantees: an unknown option or command is refused with a message and exit
 * code 2.
 */
#include "repl/core/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const OptionRow option_rows[] = {
	{OPT_EVAL, 'e', "eval", "EXPR", NULL,
     "run EXPR and show its result; may be given several times"},
	{OPT_COLOR, 0, "color", "WHEN", "auto always never",
     "colour in messages: auto (where it is a terminal), always, never"},
	{OPT_JSON, 0, "json", NULL, NULL,
     "messages, and what bench, doc, explain, info and test tell, as JSON, an object a line"},
	{OPT_SEED, 0, "seed", "N", NULL, "start of the random numbers; 0 when not given"},
	{OPT_THREADS, 0, "threads", "N", NULL,
     "threads for large operations; the processors when not given. Results do not depend on it"},
	{OPT_TIME_LIMIT, 0, "time-limit", "SECONDS", NULL, "stop after this time, with exit code 5"},
	{OPT_MEM_LIMIT, 0, "mem-limit", "SIZE", NULL,
     "stop when more memory than this is wanted: bytes, or with K, M, G"},
	{OPT_STEP_LIMIT, 0, "step-limit", "N", NULL,
     "stop after this much work, counted the same on every machine"},
	{OPT_SAFE, 0, "safe", NULL, NULL,
     "programs may print, but not read or write files or see the clock"},
	{OPT_CHECK_RULES, 0, "check-rules", NULL, NULL,
     "compare derivative rules with differences of their functions when these first run: a wrong "
     "one is an error"},
	{OPT_FILTER, 0, "filter", "TEXT", NULL, "test: only the files whose path contains TEXT"},
	{OPT_DOCS, 0, "docs", NULL, NULL,
     "test: the arguments are Markdown files, or folders of them, whose examples are run"},
	{OPT_PROFILE, 0, "profile", NULL, NULL,
     "bench: also the time of each piece of machine code, by lines"},
	{OPT_CHECK, 0, "check", NULL, NULL,
     "fmt: write nothing, name the files that would change; exit code 1 when there are any"},
	{OPT_STDOUT, 0, "stdout", NULL, NULL,
     "fmt: write the result to standard output, not to the file"},
	{OPT_DUMP, 0, "dump", "STAGE", "kir",
     "for developers: write what is compiled, as kernel code (kir), to standard error"},
	{OPT_COMPLETION, 0, "completion", "SHELL", "bash zsh fish",
     "write a completion script for a shell: bash, zsh, fish"},
	{OPT_MAN, 0, "man", NULL, NULL, "write the manual page"},
	{OPT_HELP, 'h', "help", NULL, NULL, "show this help"},
	{OPT_VERSION, 'V', "version", NULL, NULL, "show the version"},
};
#define NROWS (sizeof option_rows / sizeof *option_rows)
const size_t option_count = NROWS;

const CommandRow command_rows[] = {
	{COMMAND_RUN, "run", "FILE [ARG...]",
     "run a program; `run` may be left out; FILE - is standard input", 1, -1},
	{COMMAND_CHECK, "check", "FILE...", "look for mistakes without running", 1, -1},
	{COMMAND_FMT, "fmt", "FILE|DIR...", "lay programs out in the one style; - is standard input", 1,
     -1},
	{COMMAND_IR, "ir", "FILE [NAME]",
     "show the intermediate form of a function, or of all that say their types", 1, 2},
	{COMMAND_TEST, "test", "[DIR|FILE...]",
     "run test files: each expression is compared with what stands after it", 0, -1},
	{COMMAND_BENCH, "bench", "FILE",
     "time the statements of a program, compiling apart from running", 1, 1},
	{COMMAND_EXPLAIN, "explain", "[CODE]",
     "what an error code like E0302 stands for; without CODE, all of them", 0, 1},
	{COMMAND_INFO, "info", "", "version, limits and what this build has", 0, 0},
	{COMMAND_DOC, "doc", "NAME...", "help on functions of the library", 1, -1},
};
#define NCOMMANDS (sizeof command_rows / sizeof *command_rows)
const size_t command_count = NCOMMANDS;

static const char *const exit_codes[][2] = {
	{"0", "all went well"},
	{"1", "the program failed while it ran"},
	{"2", "the command line is wrong"},
	{"3", "the program did not compile"},
	{"4", "tests failed"},
	{"5", "a limit was reached"},
	{"6", "something was not granted"},
	{"70", "a fault in Atled"},
	{"130", "interrupted by ^C"},
};
#define NCODES (sizeof exit_codes / sizeof *exit_codes)

/* ---- help ---------------------------------------------------------------- */

static void option_head(const OptionRow *r, char *out, size_t cap) {
	char letter[8] = "";
	if (r->letter) snprintf(letter, sizeof letter, "-%c, ", r->letter);
	snprintf(out, cap, "%s--%s%s%s", letter, r->name, r->arg ? "=" : "", r->arg ? r->arg : "");
}

static void help(FILE *out) {
	fputs("usage: atled [OPTION...]                  the interactive prompt\n"
	      "       atled [OPTION...] FILE [ARG...]    run a program (- is standard input)\n"
	      "       atled [OPTION...] -e EXPR...\n"
	      "       atled [OPTION...] COMMAND ...\n\ncommands:\n",
	      out);
	char head[80];
	for (size_t i = 0; i < NCOMMANDS; i++) {
		snprintf(head, sizeof head, "%s %s", command_rows[i].name, command_rows[i].args);
		fprintf(out, "  %-22s %s\n", head, command_rows[i].help);
	}
	fputs("\noptions:\n", out);
	for (size_t i = 0; i < NROWS; i++) {
		option_head(&option_rows[i], head, sizeof head);
		fprintf(out, "  %-22s %s\n", head, option_rows[i].help);
	}
	fputs("\nexit codes:\n", out);
	for (size_t i = 0; i < NCODES; i++)
		fprintf(out, "  %-22s %s\n", exit_codes[i][0], exit_codes[i][1]);
}

/* Writes a string for roff. Escapes a leading dot, and writes hyphens of
 * options as minus signs. */
static void roff(FILE *out, const char *text, bool minus) {
	for (const char *p = text; *p; p++) {
		if (*p == '\\') fputs("\\e", out);
		else if (*p == '-' && minus) fputs("\\-", out);
		else if ((*p == '.' || *p == '\'') && p == text) fprintf(out, "\\&%c", *p);
		else if (*p == '`') fputs("\\(lq", out);
		else putc(*p, out);
	}
}

static void options_man(FILE *out) {
	fprintf(out,
	        ".TH ATLED 1 \"\" \"atled %s\" \"User Commands\"\n.SH NAME\natled \\- a differentiable "
	        "language for "
	        "scientific computing\n",
	        ATLED_VERSION_STRING);
	fputs(".SH SYNOPSIS\n.B atled\n[\\fIOPTION\\fR...] [\\fIFILE\\fR [\\fIARG\\fR...]]\n.br\n.B "
	      "atled\n[\\fIOPTION\\fR...] "
	      "\\fB\\-e\\fR \\fIEXPR\\fR...\n.br\n.B atled\n[\\fIOPTION\\fR...] \\fICOMMAND\\fR ...\n",
	      out);
	fputs(
		".SH DESCRIPTION\nRuns programs of the language Atled. Without a file and without a "
		"command it reads from a "
		"prompt when standard\n"
		"input is a terminal, and otherwise a program from standard input. Results go to standard "
		"output, messages "
		"to standard\nerror.\n"
		"In a program, the variable args is the list of the arguments after FILE.\n.SH COMMANDS\n",
		out);
	for (size_t i = 0; i < NCOMMANDS; i++) {
		fprintf(out, ".TP\n.B %s", command_rows[i].name);
		if (*command_rows[i].args) {
			fputs(" \\fI", out);
			roff(out, command_rows[i].args, true);
			fputs("\\fR", out);
		}
		putc('\n', out);
		roff(out, command_rows[i].help, false);
		putc('\n', out);
	}
	fputs(".SH OPTIONS\n", out);
	for (size_t i = 0; i < NROWS; i++) {
		const OptionRow *r = &option_rows[i];
		fputs(".TP\n", out);
		if (r->letter) fprintf(out, "\\fB\\-%c\\fR, ", r->letter);
		fputs("\\fB\\-\\-", out);
		roff(out, r->name, true);
		fputs("\\fR", out);
		if (r->arg) fprintf(out, "=\\fI%s\\fR", r->arg);
		putc('\n', out);
		roff(out, r->help, false);
		putc('\n', out);
	}
	fputs(".SH EXIT STATUS\n", out);
	for (size_t i = 0; i < NCODES; i++) {
		fprintf(out, ".TP\n.B %s\n", exit_codes[i][0]);
		roff(out, exit_codes[i][1], false);
		putc('\n', out);
	}
	fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nwhen set, no colour where nothing else is said\n"
	      ".TP\n.B XDG_STATE_HOME\nfolder of atled/history, the lines typed at the prompt; "
	      "~/.local/state when not set\n"
	      ".TP\n.B ATLED_NATIVE\noff: no machine code; on, as when not set: where it pays; always: "
	      "everywhere, for tests\n"
	      ".TP\n.B ATLED_PERF\nwhen 1, /tmp/perf\\-PID.map names machine code for perf(1)\n"
	      ".TP\n.B ATLED_GDB\nwhen 1, machine code is made known to gdb(1)\n",
	      out);
}

/* ---- reading ------------------------------------------------------------- */

static bool wrong(int *code, const char *format, const char *a, const char *b) {
	fputs("atled: ", stderr);
	fprintf(stderr, format, a, b);
	fputs("\ntry `atled --help`\n", stderr);
	*code = EXIT_USAGE;
	return false;
}

static bool read_number(const char *text, double *out) {
	char *end;
	errno = 0;
	*out = strtod(text, &end);
	return *text && !*end && !errno && isfinite(*out) && *out >= 0;
}

static bool read_whole(const char *text, int64_t *out) {
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	*out = v;
	return *text && !*end && !errno;
}

static bool read_size(const char *text, size_t *out) {
	char number[40];
	size_t n = strlen(text);
	double unit = 1, v;
	if (!n || n >= sizeof number) return false;
	memcpy(number, text, n + 1);
	if (n > 1 && (number[n - 1] == 'B' || number[n - 1] == 'b')) number[--n] = 0;
	switch (number[n - 1]) {
	case 'k':
	case 'K': unit = 1024; break;
	case 'm':
	case 'M': unit = 1048576; break;
	case 'g':
	case 'G': unit = 1073741824; break;
	case 't':
	case 'T': unit = 1099511627776.0; break;
	default: break;
	}
	if (unit > 1) number[--n] = 0;
	if (!read_number(number, &v) || v * unit > 1e18 || v * unit < 1) return false;
	*out = (size_t)(v * unit);
	return true;
}

/* Applies one option. Returns false when the program must end with *code. */
static bool apply(Options *o, const OptionRow *r, const char *value, int *code) {
	int64_t whole = 0;
	double number = 0;
	const char *bad = "--%s cannot be `%s`";
	switch (r->id) {
	case OPT_EVAL: o->expressions[o->nexpressions++] = value; break;
	case OPT_COLOR:
		if (!strcmp(value, "auto")) o->colour = COLOUR_AUTO;
		else if (!strcmp(value, "always")) o->colour = COLOUR_ALWAYS;
		else if (!strcmp(value, "never")) o->colour = COLOUR_NEVER;
		else return wrong(code, bad, r->name, value);
		break;
	case OPT_JSON: o->json = true; break;
	case OPT_SEED:
		if (!read_whole(value, &o->seed)) return wrong(code, bad, r->name, value);
		o->has_seed = true;
		break;
	case OPT_THREADS:
		if (!read_whole(value, &whole) || whole < 0 || whole > 4096)
			return wrong(code, bad, r->name, value);
		o->threads = (int)whole;
		break;
	case OPT_TIME_LIMIT:
		if (!read_number(value, &number) || number <= 0) return wrong(code, bad, r->name, value);
		o->time_limit = number;
		break;
	case OPT_MEM_LIMIT:
		if (!read_size(value, &o->mem_limit)) return wrong(code, bad, r->name, value);
		break;
	case OPT_STEP_LIMIT:
		if (!read_number(value, &number) || number < 1 || number > 1e18)
			return wrong(code, bad, r->name, value);
		o->step_limit = (uint64_t)number;
		break;
	case OPT_SAFE: o->safe = true; break;
	case OPT_CHECK_RULES: o->check_rules = true; break;
	case OPT_FILTER: o->filter = value; break;
	case OPT_DOCS: o->docs = true; break;
	case OPT_PROFILE: o->profile = true; break;
	case OPT_CHECK: o->check_only = true; break;
	case OPT_STDOUT: o->to_stdout = true; break;
	case OPT_DUMP:
		if (strcmp(value, "kir")) return wrong(code, bad, r->name, value);
		o->dump = value;
		break;
	case OPT_COMPLETION:
		if (!options_completion(value, stdout)) return wrong(code, bad, r->name, value);
		*code = EXIT_OK;
		return false;
	case OPT_MAN:
		options_man(stdout);
		*code = EXIT_OK;
		return false;
	case OPT_HELP:
		help(stdout);
		*code = EXIT_OK;
		return false;
	case OPT_VERSION:
		printf("atled %s\n", ATLED_VERSION_STRING);
		*code = EXIT_OK;
		return false;
	}
	return true;
}

/* Returns the option that a word names, or NULL. *value is the start of its
 * value, or NULL when the value is the next word. */
static const OptionRow *find_option(const char *word, const char **value) {
	*value = NULL;
	for (size_t i = 0; i < NROWS; i++) {
		const OptionRow *r = &option_rows[i];
		size_t n = strlen(r->name);
		if (word[1] == '-' && !strncmp(word + 2, r->name, n) &&
		    (word[2 + n] == '=' || !word[2 + n])) {
			if (word[2 + n]) *value = word + 3 + n;
			return r;
		}
		if (r->letter && word[1] == r->letter && (!word[2] || r->arg)) {
			if (word[2]) *value = word + 2;
			return r;
		}
	}
	return NULL;
}

bool options_read(Options *o, int argc, char **argv, int *code) {
	*o = (Options){0};
	o->expressions = calloc((size_t)argc + 1, sizeof *o->expressions);
	if (!o->expressions) {
		fputs("atled: out of memory\n", stderr);
		*code = EXIT_LIMIT;
		return false;
	}
	char **words = argv; /* Operands are moved to the front of argv. */
	int nwords = 0;
	bool is_script = false;
	for (int i = 1; i < argc; i++) {
		char *word = argv[i];
		if (is_script || word[0] != '-' || !word[1]) {
			/* All words after a program's name are arguments of the program. */
			if (!nwords && !o->nexpressions) {
				bool command = false;
				for (size_t k = 0; k < NCOMMANDS; k++)
					if (!strcmp(word, command_rows[k].name)) {
						o->command = command_rows[k].command;
						command = true;
					}
				if (!command) {
					o->command = COMMAND_RUN;
					words[nwords++] = "run";
					is_script = true;
				}
			} else if (nwords == 1 && o->command == COMMAND_RUN) is_script = true;
			words[nwords++] = word;
			/* Prepending `run` may overwrite an unread word unless i is 0, the
			 * program's own name. */
			continue;
		}
		if (!strcmp(word, "--")) {
			for (i++; i < argc; i++) {
				if (!nwords) {
					o->command = COMMAND_RUN;
					words[nwords++] = "run";
				}
				words[nwords++] = argv[i];
			}
			break;
		}
		const char *value;
		const OptionRow *r = find_option(word, &value);
		if (!r) return wrong(code, "there is no option %s%s", word, "");
		if (!r->arg && value) return wrong(code, "--%s takes no value%s", r->name, "");
		if (r->arg && !value) {
			if (++i == argc) return wrong(code, "--%s needs %s", r->name, r->arg);
			value = argv[i];
		}
		if (!apply(o, r, value, code)) return false;
	}
	o->args = words + (nwords > 0);
	o->nargs = nwords > 0 ? nwords - 1 : 0;
	if (o->nexpressions) {
		if (nwords) return wrong(code, "-e and `%s` do not go together%s", words[0], "");
		o->command = COMMAND_RUN;
		return true;
	}
	for (size_t k = 0; k < NCOMMANDS && nwords; k++) {
		const CommandRow *c = &command_rows[k];
		if (c->command != o->command) continue;
		if (o->nargs < c->least || (c->most >= 0 && o->nargs > c->most))
			return wrong(code, "usage: atled %s %s", c->name, c->args);
	}
	return true;
}

void options_free(Options *o) { free(o->expressions); }
