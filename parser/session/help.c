/* help.c - help on a name: its signature, the comment above its definition, its
 * text, its rules.
 *
 * Needs: specialise/internal.h, the embedded texts of the library.
 *
 * Contract: runs nothing but the library module that defines the name, when
 * that is first needed.
 */
#include "parser/session/session.h"
#include "parser/specialise/internal.h"

/* The start of the line before the one that starts at `at`; 0 at the start of
 * the text. */
static uint32_t line_before(const char *text, uint32_t at) {
	if (at) at--;
	while (at > 0 && text[at - 1] != '\n') at--;
	return at;
}

/* Adds the comment lines from `first` up to `end`, without their marks. */
static void comment_lines(Text *out, const char *text, uint32_t first, uint32_t end) {
	while (first < end && text[first] == '#') {
		const char *p = text + first + 1, *stop = memchr(p, '\n', end - first - 1);
		if (!stop) stop = text + end;
		if (*p == ' ') p++;
		text_add(out, p, stop > p ? (size_t)(stop - p) : 0);
		text_str(out, "\n");
		first = (uint32_t)(stop - text) + 1;
	}
}

/* True when the first line of a comment shows a call of the function. The
 * comment is then the complete help. */
static bool comment_signs(const char *text, uint32_t first, const char *name) {
	const size_t n = strlen(name);
	for (const char *p = text + first + 1; text[first] == '#' && *p != '\n'; p++)
		if (!strncmp(p, name, n) && p[n] == '(' && (p[-1] == ' ' || p[-1] == ',')) return true;
	return false;
}

/* The doc comment of a definition: the comment lines directly above it. A
 * comment above neighbouring definitions, without blank lines between, counts
 * if it shows a call of this one. Stores its end and returns its start, which
 * are equal if there is none. */
static uint32_t comment_above(const char *text, uint32_t start, const char *name, uint32_t *end) {
	uint32_t first = start, line = line_before(text, start);
	while (first > 0 && text[line] != '#' && text[line] != '\n') {
		first = line;
		line = line_before(text, line);
	}
	*end = first;
	while (first > 0 && text[line] == '#') {
		first = line;
		line = line_before(text, line);
	}
	if (*end != start && first != *end && !comment_signs(text, first, name)) first = *end;
	return first;
}

/* Adds the details and example of a builtin: the lines below "# NAME" in the
 * text `builtins`. */
static void builtin_details(const char *name, Text *out) {
	for (uint32_t k = 0; library_texts[k].name; k++) {
		if (strcmp(library_texts[k].name, "builtins")) continue;
		const char *text = library_text(&library_texts[k]);
		if (!text) return;
		const size_t n = strlen(name);
		for (const char *p = text; (p = strstr(p, name)) != NULL; p += n)
			if (p >= text + 2 && p[-1] == ' ' && p[-2] == '#' && p[n] == '\n') {
				comment_lines(out, text, (uint32_t)(p + n + 1 - text),
				              (uint32_t)library_texts[k].size);
				return;
			}
	}
}

/* The length of "name(...)" at the start of a text; 0 when it starts
 * otherwise. */
static size_t call_length(const char *text, size_t n, const char *name) {
	const size_t k = strlen(name);
	if (n <= k || strncmp(text, name, k) || text[k] != '(') return 0;
	int depth = 0;
	for (size_t i = k; i < n && text[i] != '\n'; i++) {
		if (strchr("([{", text[i])) depth++;
		else if (strchr(")]}", text[i]) && --depth == 0) return i + 1;
	}
	return 0;
}

/* Adds a definition up to its equals sign, or its first line. */
static void definition_head(Text *out, const char *text, size_t n, const char *name) {
	size_t k = call_length(text, n, name);
	if (!k) {
		const char *end = memchr(text, '\n', n);
		k = end ? (size_t)(end - text) : n;
	}
	text_add(out, text, k);
}

typedef struct RestOptions {
	Session *s;
	Text *out;
	VEC(Atom) seen;
} RestOptions;

static const Ast *find_option(void *ud, const Ast *in, Atom name) {
	return rest_find(((RestOptions *)ud)->s, in, name);
}

static void add_option(void *ud, const Param *p, Atom name) {
	RestOptions *o = ud;
	for (uint32_t i = 0; i < o->seen.n; i++)
		if (o->seen.at[i] == name) return;
	if (o->seen.n) text_str(o->out, ", ");
	VEC_PUSH(ctx_arena(ctx_of_session(o->s)), &o->seen, name);
	size_t n;
	const char *text = p ? source_text(ctx_of_session(o->s), p->span.source, &n) : NULL;
	for (uint32_t i = p ? p->span.start : 0; p && i < p->span.end; i++) { /* on one line */
		if (text[i] == '\n') text_str(o->out, " ");
		else if (text[i] != ' ' || text[i - 1] != '\n') text_add(o->out, text + i, 1);
	}
	if (!p) text_str(o->out, atom_text(ctx_of_session(o->s), name));
}

/* Adds the head of a definition, with the arguments that it accepts in place of
 * `...options`. */
static bool head_with_options(Session *s, const Ast *e, Text *out, const char *name) {
	const Param *rest = e->kind != A_PROBLEM && e->function.nparams
	                        ? &e->function.params[e->function.nparams - 1]
	                        : NULL;
	size_t n;
	const char *text = source_text(ctx_of_session(s), e->span.source, &n) + e->span.start;
	const size_t k = call_length(text, e->span.end - e->span.start, name);
	if (!rest || !rest->rest || !rest->named || !k || e->span.start + k < rest->span.end)
		return false;
	text_add(out, text, rest->span.start - e->span.start);
	RestOptions o = {.s = s, .out = out};
	const bool all = rest_each(ctx_of_session(s), e, find_option, add_option, &o);
	if (!all)
		text_format(out, "%s...%s", o.seen.n ? ", " : "", atom_text(ctx_of_session(s), rest->name));
	text_str(out, ")");
	return true;
}

bool session_signature(Session *s, const char *name, Text *out) {
	Value v = session_get(s, name);
	if (v.kind == V_UNSET) return false;
	if (v.kind != V_FUNCTION && v.kind != V_PROBLEM) {
		value_header(out, v);
		return true;
	}
	const FunctionObject *f = (const FunctionObject *)v.object;
	if (f->code_kind == CODE_AST) {
		const Ast *e = f->code;
		size_t n;
		const char *text = source_text(ctx_of_session(s), e->span.source, &n);
		if (!head_with_options(s, e, out, name))
			definition_head(out, text + e->span.start, e->span.end - e->span.start, name);
	} else if (f->code_kind == CODE_BUILTIN && ((const Builtin *)f->code)->doc) {
		const char *doc = ((const Builtin *)f->code)->doc, *colon = strstr(doc, ": ");
		const size_t n = call_length(doc, strlen(doc), name);
		text_add(out, doc, n ? n : colon ? (size_t)(colon - doc) : strlen(doc));
	} else text_format(out, "%s: a function of the host program", name);
	return true;
}

bool session_help(Session *s, const char *name, Text *out, bool source) {
	Value v = session_get(s, name);
	if (v.kind == V_FUNCTION || v.kind == V_PROBLEM) {
		const FunctionObject *f = (const FunctionObject *)v.object;
		if (f->code_kind == CODE_AST) {
			const Ast *e = f->code;
			size_t n;
			const char *text = source_text(ctx_of_session(s), e->span.source, &n);
			if (source) {
				text_add(out, text + e->span.start, e->span.end - e->span.start);
				text_str(out, "\n");
				return true;
			}
			uint32_t comment_end;
			const uint32_t comment = comment_above(text, e->span.start, name, &comment_end);
			if (!comment_signs(text, comment, name)) {
				session_signature(s, name, out);
				text_str(out, "\n");
			}
			comment_lines(out, text, comment, comment_end);
		} else if (f->code_kind == CODE_BUILTIN) {
			const Builtin *b = f->code;
			text_format(out, "%s\n", b->doc ? b->doc : name);
			builtin_details(name, out);
			if (source) text_str(out, "it is built in: its definition is not in the language\n");
			session_library_module(s, "calculus"); /* contains its rule */
		} else text_format(out, "%s: a function of the host program\n", name);
		const Ast *rules[16];
		const uint32_t nrules = session_rules_named(s, name, rules, 16);
		for (uint32_t i = 0; i < nrules; i++) {
			Span r = rules[i]->span;
			size_t n;
			const char *text = source_text(ctx_of_session(s), r.source, &n);
			text_add(out, text + r.start, r.end - r.start);
			text_str(out, "\n");
		}
		return true;
	}
	if (v.kind != V_UNSET) {
		value_header(out, v);
		text_str(out, "\n");
		return true;
	}
	return false;
}
