/* shell_completion.c - completion scripts for bash, zsh and fish.
 *
 * Method: the scripts are generated from the tables of options and commands.
 *
 * Needs: options.h.
 *
 * Guarantees: a script names every option and command, and the values of each
 * option.
 */
#include "repl/core/options.h"

#include <string.h>

static void bash_script(FILE *out) {
	fputs("# bash completion for atled, made by atled --completion bash\n_atled() {\n\tlocal "
	      "cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tCOMPREPLY=()\n\tif [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then "
	      "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n\tcase $prev in\n",
	      out);
	for (size_t i = 0; i < option_count; i++) {
		const OptionRow *r = &option_rows[i];
		if (!r->arg) continue;
		fprintf(out, "\t--%s", r->name);
		if (r->letter) fprintf(out, "|-%c", r->letter);
		if (r->values)
			fprintf(out, ") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", r->values);
		else fputs(") return ;;\n", out);
	}
	fputs("\tesac\n\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W '", out);
	for (size_t i = 0; i < option_count; i++)
		fprintf(out, "%s--%s%s", i ? " " : "", option_rows[i].name, option_rows[i].arg ? "=" : "");
	fputs("' -- \"$cur\"))\n\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o "
	      "nospace\n\t\treturn\n\tfi\n\tlocal "
	      "words=\n\t((COMP_CWORD == 1)) && words='",
	      out);
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, "%s%s", i ? " " : "", command_rows[i].name);
	fputs("'\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -X '!*.dsl' -- "
	      "\"$cur\") $(compgen -d -- "
	      "\"$cur\"))\n}\n"
	      "complete -o filenames -F _atled atled\n",
	      out);
}

/* Escapes a string for single quotes of a shell. The characters in `also` get a
 * backslash. */
static void quoted(FILE *out, const char *text, const char *also) {
	for (; *text; text++) {
		if (*text == '\'') fputs("'\\''", out);
		else {
			if (strchr(also, *text)) putc('\\', out);
			putc(*text, out);
		}
	}
}

static void zsh_script(FILE *out) {
	fputs("#compdef atled\n# zsh completion for atled, made by atled --completion zsh\n_atled() "
	      "{\n\tlocal -a commands=(\n",
	      out);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(out, "\t\t'%s:", command_rows[i].name);
		quoted(out, command_rows[i].help, "");
		fputs("'\n", out);
	}
	fputs("\t)\n\t_arguments -S \\\n", out);
	for (size_t i = 0; i < option_count; i++) {
		const OptionRow *r = &option_rows[i];
		for (int letter = 0; letter <= (r->letter != 0); letter++) {
			if (letter) fprintf(out, "\t\t'-%c%s[", r->letter, r->arg ? "+" : "");
			else
				fprintf(out, "\t\t'%s--%s%s[", r->id == OPT_EVAL ? "*" : "", r->name,
				        r->arg ? "=" : "");
			quoted(out, r->help, "[]:");
			fputs("]", out);
			if (r->arg) {
				fprintf(out, ":%s:", r->arg);
				if (r->values && *r->values) fprintf(out, "(%s)", r->values);
				else if (r->values) fputs("_files", out);
			}
			fputs("' \\\n", out);
		}
	}
	fputs("\t\t'1: :_atled_first' '*: :_files'\n}\n_atled_first() {\n\t_describe command "
	      "commands\n\t_files -g '*.dsl'\n}\n_atled \"$@\"\n",
	      out);
}

static void fish_script(FILE *out) {
	fputs("# fish completion for atled, made by atled --completion fish\n", out);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(out, "complete -c atled -n __fish_use_subcommand -a %s -d '", command_rows[i].name);
		quoted(out, command_rows[i].help, "");
		fputs("'\n", out);
	}
	for (size_t i = 0; i < option_count; i++) {
		const OptionRow *r = &option_rows[i];
		fputs("complete -c atled", out);
		if (r->letter) fprintf(out, " -s %c", r->letter);
		fprintf(out, " -l %s", r->name);
		if (r->arg) fputs(r->values && !*r->values ? " -r" : " -x", out);
		if (r->values && *r->values) fprintf(out, " -a '%s'", r->values);
		fputs(" -d '", out);
		quoted(out, r->help, "");
		fputs("'\n", out);
	}
}

bool options_completion(const char *shell, FILE *out) {
	if (!strcmp(shell, "bash")) bash_script(out);
	else if (!strcmp(shell, "zsh")) zsh_script(out);
	else if (!strcmp(shell, "fish")) fish_script(out);
	else return false;
	return true;
}
