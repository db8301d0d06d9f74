/* complete.c - completion at the cursor.
 *
 * Candidates are names in scope, fields of records, names of arguments,
 * modules, files, :commands, and \alpha by TeX names; each with its signature.
 *
 * Needs: repl.h; readline for file names.
 *
 * Guarantees: the context is used only while nothing runs in it. The only code
 * that a completion runs is the definitions of a library module that was not
 * used before.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"

#include <readline/readline.h>
#include <readline/tilde.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NOTES_MOST 60 /* with more candidates only names are shown */
#define NOTE_CHARS 200

static atled_context *context;

/* ---- gathering candidates ------------------------------------------------ */

typedef struct Gather {
	Completions *out;
	const char *prefix; /* prefix of the names */
	const char *before; /* part of the word in front of them: "r." */
	const char *after;  /* appended to a name: "(" or "" */
	size_t nprefix;
} Gather;

static void keep(Gather *g, const char *name, const char *note) {
	Completions *c = g->out;
	if (strncmp(name, g->prefix, g->nprefix) || (name[0] == '_' && g->prefix[0] != '_')) return;
	if (c->n == c->cap) {
		const size_t cap = c->cap ? c->cap * 2 : 64;
		Candidate *at = realloc(c->at, cap * sizeof *at);
		if (!at) {
			c->failed = true;
			return;
		}
		c->at = at;
		c->cap = cap;
	}
	StringBuffer text = {0};
	buffer_format(&text, "%s%s%s", g->before, name, g->after);
	if (text.failed) {
		c->failed = true;
		return;
	}
	c->at[c->n++] = (Candidate){text.at, note ? strdup(note) : NULL};
}

static Gather gather(Completions *out, const char *text, size_t from, size_t point, char **word) {
	out->from = from;
	*word = strndup(text + from, point - from);
	return (Gather){.out = out,
	                .prefix = *word ? *word : "",
	                .before = "",
	                .after = "",
	                .nprefix = *word ? point - from : 0};
}

static int by_text(const void *a, const void *b) {
	return strcmp(((const Candidate *)a)->text, ((const Candidate *)b)->text);
}

static void sort(Completions *c) {
	if (!c->n) return;
	qsort(c->at, c->n, sizeof *c->at, by_text);
	size_t k = 1;
	for (size_t i = 1; i < c->n; i++) {
		if (!strcmp(c->at[i].text, c->at[k - 1].text)) {
			free(c->at[i].text);
			free(c->at[i].note);
		} else c->at[k++] = c->at[i];
	}
	c->n = k;
}

/* ---- position of the cursor ---------------------------------------------- */

static bool in_name(char ch) {
	const unsigned char c = (unsigned char)ch;
	return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

enum { NESTED_MOST = 16 };
typedef struct CursorContext {
	bool in_string, in_comment;
	size_t string; /* where the contents of the string begin */
} CursorContext;

/* Finds out whether the cursor is in a string or comment. Strings may hold
 * programs between braces, and these hold strings in turn. */
static CursorContext find_place(const char *text, size_t point) {
	/* open braces in the program inside the string of each level */
	int braces[NESTED_MOST], level = 0;
	size_t begins[NESTED_MOST] = {0};
	CursorContext p = {0};
	braces[0] = 0;
	for (size_t i = 0; i < point; i++) {
		const char ch = text[i];
		if (p.in_comment) p.in_comment = ch != '\n';
		else if (p.in_string) {
			if (ch == '\\') i++;
			else if (ch == '"') p.in_string = false;
			else if (ch == '{' && level + 1 < NESTED_MOST) {
				begins[level++] = p.string;
				braces[level] = 0;
				p.in_string = false;
			}
		} else if (ch == '"') {
			p.in_string = true;
			p.string = i + 1;
		} else if (ch == '#') p.in_comment = true;
		else if (ch == '{') braces[level]++;
		else if (ch == '}' && braces[level] > 0) braces[level]--;
		else if (ch == '}' && level) {
			p.string = begins[--level];
			p.in_string = true;
		}
	}
	return p;
}

/* Finds the call whose arguments contain the cursor, and where its name begins
 * and ends. Returns false when there is none. */
static bool find_call(const char *text, size_t point, size_t *from, size_t *to) {
	int depth = 0;
	for (size_t i = point; i-- > 0;) {
		if (strchr(")]}", text[i])) depth++;
		else if (strchr("([{", text[i]) && depth-- == 0) {
			if (text[i] != '(') return false;
			for (*to = *from = i; *from && (in_name(text[*from - 1]) || text[*from - 1] == '.');)
				--*from;
			return *from < *to;
		}
	}
	return false;
}

/* ---- signatures and values ----------------------------------------------- */

static char *signature(const char *name) {
	StringBuffer text = {0};
	if (atled_signature(context, name, buffer_sink, &text) != ATLED_OK || text.failed || !text.n) {
		buffer_free(&text);
		return NULL;
	}
	if (text.n > NOTE_CHARS) {
		size_t n = NOTE_CHARS;
		while (n && ((unsigned char)text.at[n] & 0xc0) == 0x80) n--;
		text.at[n] = 0;
	}
	return text.at;
}

/* Adds the names of the arguments in "f(x, y; axis = -1)". A name ends at a
 * comma, semicolon, equals sign, colon or bracket. */
static void add_arguments(Gather *g, const char *head) {
	const char *p = strchr(head, '(');
	int depth = 0;
	for (bool fresh = true; p && *p; p++) {
		if (strchr("([{", *p)) depth++;
		else if (strchr(")]}", *p) && --depth == 0) return;
		else if (depth == 1 && (*p == ',' || *p == ';')) fresh = true;
		else if (depth == 1 && fresh && in_name(*p)) {
			size_t n = 0;
			while (in_name(p[n])) n++;
			char *name = strndup(p, n);
			size_t rest = n;
			for (int inside = 0; p[rest] && (inside || !strchr(",;)", p[rest])); rest++)
				inside += strchr("([{", p[rest]) ? 1 : strchr(")]}", p[rest]) ? -1 : 0;
			char *note = strndup(p, rest);
			if (name && note) keep(g, name, note);
			free(name);
			free(note);
			p += n - 1;
			fresh = false;
		}
	}
}

static void add_name(void *ud, const char *name, const atled_value *v) {
	if (v && atled_value_kind(v) != ATLED_FUNCTION) {
		StringBuffer note = {0};
		atled_value_describe(v, 0, buffer_sink, &note);
		keep(ud, name, note.failed ? NULL : note.at);
		buffer_free(&note);
	} else keep(ud, name, NULL);
}

/* Returns the value of a.b.c up to the last dot, or NULL. Only looks values up;
 * runs nothing. */
static atled_value *value_at(const char *path, const char *end) {
	const char *dot = memchr(path, '.', (size_t)(end - path));
	if (!dot) dot = end;
	char *name = strndup(path, (size_t)(dot - path));
	atled_value *v = NULL;
	if (!name || atled_get(context, name, &v) != ATLED_OK) v = NULL;
	free(name);
	while (v && dot < end) {
		const char *from = dot + 1;
		dot = memchr(from, '.', (size_t)(end - from));
		if (!dot) dot = end;
		name = strndup(from, (size_t)(dot - from));
		atled_value *item = name ? atled_value_field(v, name) : NULL;
		free(name);
		atled_value_free(v);
		v = item;
	}
	return v;
}

static void add_fields(Gather *g, const char *word, const char *dot) {
	char *before = strndup(word, (size_t)(dot + 1 - word)),
		 *module = strndup(word, (size_t)(dot - word));
	g->prefix = dot + 1;
	g->nprefix = strlen(dot + 1);
	if (before && module) {
		g->before = before;
		atled_value *v = value_at(word, dot);
		for (size_t i = 0; v && i < atled_value_count(v) && atled_value_field_name(v, i); i++) {
			atled_value *item = atled_value_item(v, i);
			StringBuffer note = {0};
			if (item) atled_value_describe(item, 0, buffer_sink, &note);
			keep(g, atled_value_field_name(v, i), note.at);
			buffer_free(&note);
			atled_value_free(item);
		}
		if (!v) atled_module_names(context, module, add_name, g);
		atled_value_free(v);
	}
	sort(g->out);
	free(before);
	free(module);
}

/* ---- kinds of candidates ------------------------------------------------- */

static void complete_symbol(Completions *out, const char *text, size_t from, size_t point) {
	char *word;
	Gather g = gather(out, text, from, point, &word);
	const char *exact = word ? symbol_find(word + 1, strlen(word + 1)) : NULL, *name, *sign;
	if (exact) {
		g.nprefix = 0;
		keep(&g, exact, NULL);
	} else if (word) {
		g.prefix++;
		g.nprefix--;
		g.before = "\\";
		for (size_t i = 0; symbol_at(i, &name, &sign); i++) keep(&g, name, sign);
		if (out->n == 1) { /* a single candidate: insert the character itself */
			free(out->at[0].text);
			free(out->at[0].note);
			out->n = 0;
			g.before = "";
			g.nprefix = 0;
			for (size_t i = 0; symbol_at(i, &name, &sign); i++)
				if (!strncmp(name, word + 1, strlen(word + 1))) keep(&g, sign, NULL);
		}
	}
	free(word);
}

static void complete_file(Completions *out, const char *text, size_t from, size_t point,
                          bool string) {
	char *word;
	Gather g = gather(out, text, from, point, &word);
	g.nprefix = 0;
	rl_filename_completion_desired = 1;
	char *name;
	for (int state = 0; word && (name = rl_filename_completion_function(word, state)); state = 1) {
		char *path = tilde_expand_word(name);
		struct stat what;
		const bool is_folder = path && !stat(path, &what) && S_ISDIR(what.st_mode);
		free(path);
		g.after = is_folder ? "/" : string ? "\"" : "";
		keep(&g, name, NULL);
		free(name);
	}
	sort(out);
	free(word);
}

static void complete_command(Completions *out, const char *text, size_t from, size_t point) {
	char *word;
	Gather g = gather(out, text, from, point, &word);
	g.after = " ";
	for (size_t i = 0; repl_commands[i].name; i++) {
		StringBuffer note = {0};
		buffer_format(&note, "%s%s%s", repl_commands[i].args, *repl_commands[i].args ? "  " : "",
		              repl_commands[i].help);
		keep(&g, repl_commands[i].name, note.at);
		buffer_free(&note);
	}
	free(word);
}

typedef struct Own {
	Gather *g;
	const char *text;
	size_t from; /* start of the word that is completed */
} Own;

/* Adds names of the input itself: arguments and variables of a block that has
 * not run yet. */
static void add_own(void *ud, atled_token kind, size_t start, size_t end) {
	const Own *o = ud;
	if (kind != ATLED_TOKEN_NAME || start == o->from || end - start <= o->g->nprefix ||
	    strncmp(o->text + start, o->g->prefix, o->g->nprefix))
		return;
	char *name = strndup(o->text + start, end - start);
	if (name) keep(o->g, name, NULL);
	free(name);
}

static void complete_name(Completions *out, const char *text, size_t from, size_t point) {
	char *word, *call = NULL;
	size_t call_from, call_to;
	Gather g = gather(out, text, from, point, &word);
	if (!word) return;
	/* names of arguments come first */
	if (find_call(text, from, &call_from, &call_to) &&
	    (call = strndup(text + call_from, call_to - call_from))) {
		out->head = signature(call);
		g.after = " = ";
		if (out->head) add_arguments(&g, out->head);
		g.after = "";
		free(call);
	}
	const size_t arguments = out->n;
	if (!*word && out->head) { /* Nothing is typed yet: offer only the arguments. */
		free(word);
		return;
	}
	if (*word) {
		free(out->head);
		out->head = NULL;
	}
	atled_tokens(text, strlen(text), add_own, &(Own){&g, text, from});
	atled_variables(context, add_name, &g);
	atled_library_names(context, add_name, &g);
	for (size_t i = 0; atled_keyword(i); i++) keep(&g, atled_keyword(i), "a word of the language");
	if (!arguments) sort(out);
	else if (out->n > arguments) {
		Completions rest = {.at = out->at + arguments, .n = out->n - arguments};
		sort(&rest);
		out->n = arguments + rest.n;
	}
	free(word);
	for (size_t i = arguments; i < out->n && out->n <= NOTES_MOST; i++)
		if (!out->at[i].note) out->at[i].note = signature(out->at[i].text);
}

void complete_find(const char *text, size_t point, Completions *out) {
	*out = (Completions){.from = point};
	const size_t skip = strspn(text, " ");
	size_t from = point;
	/* name; a superscript or subscript mark may precede the name */
	while (from > skip && (in_name(text[from - 1]) || strchr("^+-=()", text[from - 1])) &&
	       text[from - 1] != '\\')
		from--;
	if (from > 0 && text[from - 1] == '\\') {
		complete_symbol(out, text, from - 1, point);
		return;
	}
	if (text[skip] == ':') {
		const size_t end = skip + strcspn(text + skip, " ");
		if (point <= end) {
			complete_command(out, text, skip, point);
			return;
		}
		for (size_t i = 0; repl_commands[i].name; i++)
			if (strlen(repl_commands[i].name) == end - skip &&
			    !strncmp(repl_commands[i].name, text + skip, end - skip) &&
			    strstr(repl_commands[i].args, "FILE")) {
				complete_file(out, text, end + strspn(text + end, " "), point, false);
				return;
			}
	}
	const CursorContext place = find_place(text, point);
	if (place.in_comment) return;
	if (place.in_string) {
		complete_file(out, text, place.string, point, true);
		return;
	}
	for (from = point; from > 0 && (in_name(text[from - 1]) || (text[from - 1] == '.' && from > 1 &&
	                                                            in_name(text[from - 2])));)
		from--;
	/* modules after `use` */
	size_t before = from;
	while (before > 0 && text[before - 1] == ' ') before--;
	char *word;
	if (before >= 3 && before < from && !strncmp(text + before - 3, "use", 3) &&
	    (before == 3 || !in_name(text[before - 4]))) {
		Gather g = gather(out, text, from, point, &word);
		atled_modules(context, add_name, &g);
		sort(out);
		free(word);
		return;
	}
	Gather g = gather(out, text, from, point, &word);
	const char *dot = word ? strrchr(word, '.') : NULL;
	if (dot && !(word[0] >= '0' && word[0] <= '9')) add_fields(&g, word, dot);
	else if (word && !(word[0] >= '0' && word[0] <= '9')) complete_name(out, text, from, point);
	free(word);
}

void complete_free(Completions *c) {
	for (size_t i = 0; i < c->n; i++) {
		free(c->at[i].text);
		free(c->at[i].note);
	}
	free(c->at);
	free(c->head);
	*c = (Completions){0};
}

void complete_start(atled_context *ctx) { context = ctx; }
