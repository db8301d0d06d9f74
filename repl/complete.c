/* complete.c - completion at the prompt: names, fields of records, :commands, files, and \alpha by the names that TeX
 * has.
 *
 * Needs: repl.h, readline. Guarantees: asks the context only while nothing runs in it.
 */
#include "repl/repl.h"

#include <readline/readline.h>
#include <stdlib.h>
#include <string.h>

/* ---- letters and signs ------------------------------------------------------------------------------------------- */

typedef struct Symbol {
	const char *name, *text;
} Symbol;

static const Symbol symbols[] = {
	{"Chi", "Χ"},
	{"Delta", "Δ"},
	{"Gamma", "Γ"},
	{"Lambda", "Λ"},
	{"Omega", "Ω"},
	{"Phi", "Φ"},
	{"Pi", "Π"},
	{"Psi", "Ψ"},
	{"Sigma", "Σ"},
	{"Theta", "Θ"},
	{"Upsilon", "Υ"},
	{"Xi", "Ξ"},
	{"alpha", "α"},
	{"beta", "β"},
	{"cdot", "·"},
	{"chi", "χ"},
	{"circ", "∘"},
	{"cross", "×"},
	{"del", "∇"},
	{"delta", "δ"},
	{"dot", "·"},
	{"ell", "ℓ"},
	{"epsilon", "ε"},
	{"eta", "η"},
	{"gamma", "γ"},
	{"ge", "≥"},
	{"geq", "≥"},
	{"hbar", "ℏ"},
	{"in", "∈"},
	{"iota", "ι"},
	{"kappa", "κ"},
	{"lambda", "λ"},
	{"le", "≤"},
	{"leq", "≤"},
	{"mu", "μ"},
	{"nabla", "∇"},
	{"ne", "≠"},
	{"neq", "≠"},
	{"nu", "ν"},
	{"omega", "ω"},
	{"omicron", "ο"},
	{"partial", "∂"},
	{"phi", "φ"},
	{"pi", "π"},
	{"psi", "ψ"},
	{"rho", "ρ"},
	{"sigma", "σ"},
	{"sqrt", "√"},
	{"tau", "τ"},
	{"theta", "θ"},
	{"times", "×"},
	{"to", "→"},
	{"upsilon", "υ"},
	{"varepsilon", "ϵ"},
	{"varphi", "ϕ"},
	{"varpi", "ϖ"},
	{"varrho", "ϱ"},
	{"varsigma", "ς"},
	{"vartheta", "ϑ"},
	{"xi", "ξ"},
	{"zeta", "ζ"},
	/* exponents, read as in mathematics */
	{"^-", "⁻"},
	{"^0", "⁰"},
	{"^1", "¹"},
	{"^2", "²"},
	{"^3", "³"},
	{"^4", "⁴"},
	{"^5", "⁵"},
	{"^6", "⁶"},
	{"^7", "⁷"},
	{"^8", "⁸"},
	{"^9", "⁹"},
	{NULL, NULL},
};

static const char *symbol_find(const char *name, size_t n) {
	for (const Symbol *s = symbols; s->name; s++)
		if (strlen(s->name) == n && !strncmp(s->name, name, n)) return s->text;
	return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef struct Found {
	const char *prefix; /* what the names must start with */
	const char *before; /* what stands before them in the line's word: "r." */
	char **at;
	size_t n, cap;
} Found;

static Found found; /* readline asks for one match after another */
static atled_context *context;

static void add(Found *f, const char *name) {
	if (strncmp(name, f->prefix, strlen(f->prefix)) || (name[0] == '_' && f->prefix[0] != '_')) return;
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 64;
		char **at = realloc(f->at, cap * sizeof *at);
		if (!at) return;
		f->at = at;
		f->cap = cap;
	}
	size_t n = strlen(f->before), k = strlen(name);
	char *copy = malloc(n + k + 1);
	if (!copy) return;
	memcpy(copy, f->before, n);
	memcpy(copy + n, name, k + 1);
	f->at[f->n++] = copy;
}

static void add_name(void *ud, const char *name, const atled_value *v) {
	(void)v;
	add(ud, name);
}

static char *next_found(const char *text, int state) {
	static size_t next;
	(void)text;
	if (!state) next = 0;
	return next < found.n ? found.at[next++] : NULL; /* readline frees it */
}

/* The matches gathered so far, as readline wants them. */
static char **matches(const char *text) {
	char **list = found.n ? rl_completion_matches(text, next_found) : NULL;
	free(found.at);
	found = (Found){0};
	return list;
}

static void add_fields(const char *text, const char *dot) {
	char *base = strndup(text, (size_t)(dot - text)), *before = strndup(text, (size_t)(dot + 1 - text));
	atled_value *v = NULL;
	found.prefix = dot + 1;
	found.before = before ? before : "";
	/* names only: nothing is run for a completion */
	if (base && before && !strpbrk(base, "([{ ") && atled_get(context, base, &v) == ATLED_OK)
		for (size_t i = 0; i < atled_value_count(v) && atled_value_field_name(v, i); i++)
			add(&found, atled_value_field_name(v, i));
	atled_value_free(v);
	free(base);
	found.before = "";
	free(before);
}

static char **complete_symbol(const char *text) {
	const char *exact = symbol_find(text + 1, strlen(text + 1));
	rl_completion_append_character = 0;
	if (exact) {
		char **list = calloc(2, sizeof *list);
		if (list && !(list[0] = strdup(exact))) {
			free(list);
			list = NULL;
		}
		return list;
	}
	found = (Found){.prefix = text + 1, .before = "\\"};
	for (const Symbol *s = symbols; s->name; s++) add(&found, s->name);
	return matches(text);
}

static char **complete(const char *text, int start, int end) {
	(void)end;
	rl_attempted_completion_over = 1;
	rl_completion_append_character = 0;
	if (text[0] == '\\') return complete_symbol(text);
	found = (Found){.prefix = text, .before = ""};
	if (rl_line_buffer[0] == ':') {
		if (start == 0) {
			for (size_t i = 0; repl_commands[i].name; i++) add(&found, repl_commands[i].name);
			rl_completion_append_character = ' ';
			return matches(text);
		}
		if (!strncmp(rl_line_buffer, ":load ", 6)) {
			rl_attempted_completion_over = 0; /* files */
			return NULL;
		}
	}
	bool in_string = false;
	for (int i = 0; i < start; i++)
		if (rl_line_buffer[i] == '"' && (!i || rl_line_buffer[i - 1] != '\\')) in_string = !in_string;
	if (in_string) {
		rl_attempted_completion_over = 0;
		return NULL;
	}
	const char *dot = strrchr(text, '.');
	if (dot) add_fields(text, dot);
	else {
		atled_variables(context, add_name, &found);
		atled_library_names(context, add_name, &found);
		for (size_t i = 0; atled_keyword(i); i++) add(&found, atled_keyword(i));
	}
	return matches(text);
}

void complete_start(atled_context *ctx) {
	context = ctx;
	rl_attempted_completion_function = complete;
	rl_basic_word_break_characters = " \t\n\"'?><=;|&{(+-*/%,[]})~!@";
	rl_completer_word_break_characters = (char *)(uintptr_t)rl_basic_word_break_characters;
	rl_completer_quote_characters = NULL;
	rl_special_prefixes = NULL;
	rl_sort_completion_matches = 1;
}
