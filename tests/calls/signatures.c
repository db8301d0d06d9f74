/* signatures.c - reader of the headings of docs/reference/library.md.
 *
 * Method: a heading holds signatures, separated by commas outside parentheses.
 * `...` and what is optional count as no argument.
 */
#include "tests/calls/signatures.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char start[] = "### `";

const char *part_end(const char *p, const char *end) {
	int depth = 0;
	for (; p < end; p++) {
		if (*p == '(' || *p == '[') depth++;
		if ((*p == ')' || *p == ']') && depth-- == 0) return p;
		if (!depth && (*p == ',' || *p == ';')) return p;
	}
	return end;
}

static void copy_name(char *to, const char *from, const char *end) {
	while (from < end && *from == ' ') from++;
	while (end > from && end[-1] == ' ') end--;
	size_t n = (size_t)(end - from);
	if (n >= NAME_MOST) n = NAME_MOST - 1;
	memcpy(to, from, n);
	to[n] = 0;
}

static void read_option(Signature *s, const char *from, const char *end) {
	const char *equals = memchr(from, '=', (size_t)(end - from));
	char name[NAME_MOST];
	copy_name(name, from, equals ? equals : end);
	if (!name[0] || name[0] == '.' || s->options == OPTIONS_MOST) return;
	memcpy(s->option[s->options++], name, sizeof name);
}

/* Reads what stands between the parentheses. Returns the closing one. */
static const char *read_arguments(Signature *s, const char *p, const char *end) {
	bool named = false;
	for (;;) {
		const char *stop = part_end(p, end);
		if (named) read_option(s, p, stop);
		else if (stop > p && !memchr(p, '.', (size_t)(stop - p)) &&
		         !memchr(p, '=', (size_t)(stop - p)))
			s->arguments++;
		if (stop == end || *stop == ')') return stop;
		named = named || *stop == ';';
		p = stop + 1;
	}
}

static Signature *add(Signatures *all, const char *from, const char *end) {
	Signature s = {.arguments = 0};
	copy_name(s.name, from, end);
	if (!s.name[0] || strpbrk(s.name, " ·×∘=`,")) return NULL;
	for (uint32_t i = 0; i < all->n; i++)
		if (!strcmp(all->at[i].name, s.name)) return NULL;
	Signature *at = realloc(all->at, (all->n + 1) * sizeof *at);
	if (!at) abort();
	all->at = at;
	at[all->n] = s;
	return &at[all->n++];
}

static void read_heading(Signatures *all, const char *p, const char *end) {
	while (p < end) {
		const char *open = memchr(p, '(', (size_t)(end - p));
		if (!open) return;
		Signature ignored = {.arguments = 0};
		Signature *s = add(all, p, open);
		p = read_arguments(s ? s : &ignored, open + 1, end);
		const char *comma = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
		if (!comma) return;
		p = comma + 1;
	}
}

/* Appends a line without what comes out of it. */
static char *append(char *text, const char *line) {
	const size_t old = text ? strlen(text) : 0, n = strlen(line);
	char *to = realloc(text, old + n + 1);
	if (!to) abort();
	memcpy(to + old, line, n + 1);
	char *result = strstr(to + old, "#>");
	if (!result) result = strstr(to + old, "#~");
	if (result) memcpy(result, "\n", 2);
	return to;
}

bool signatures_read(const char *page, Signatures *out) {
	*out = (Signatures){.n = 0};
	FILE *f = fopen(page, "r");
	if (!f) return false;
	char line[2000];
	uint32_t first = 0; /* function of the last heading */
	bool inside = false;
	while (fgets(line, sizeof line, f)) {
		if (!strncmp(line, "```", 3)) {
			inside = !strncmp(line, "```dsl", 6);
		} else if (inside) {
			for (uint32_t i = first; i < out->n; i++)
				out->at[i].example = append(out->at[i].example, line);
		} else if (!strncmp(line, start, sizeof start - 1)) {
			first = out->n;
			const char *from = line + sizeof start - 1, *end = strrchr(line, '`');
			if (end > from) read_heading(out, from, end);
		}
	}
	fclose(f);
	return out->n > 0;
}

void signatures_free(Signatures *all) {
	for (uint32_t i = 0; i < all->n; i++) free(all->at[i].example);
	free(all->at);
	*all = (Signatures){.n = 0};
}
