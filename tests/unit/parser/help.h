/* help.h - shared helpers of the parser tests: reading a text in its own
 * context, invariants of trees, tokens and messages.
 *
 * Needs: lang/ and the syntax part of parser/ (lexer, parser, ast).
 * Guarantees: prints each failure with the text that was read.
 */
#ifndef ATLED_TESTS_UNIT_PARSER_HELP_H
#define ATLED_TESTS_UNIT_PARSER_HELP_H

#include "parser/syntax/ast.h"
#include "tests/unit/support/check.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- reading a text in its own context ----------------------------------- */

typedef struct Reading {
	Ctx *c;
	const char *text;
	size_t n;
	Program program;
	bool ok;
} Reading;

static inline void read_body(Ctx *c, void *arg) {
	Reading *r = arg;
	SourceId s = source_add(c, "test.dsl", r->text, r->n);
	r->program = parse_program(c, ctx_arena(c), s, &r->ok);
}

static inline Reading read_bytes(Ctx *c, const char *text, size_t n) {
	Reading r = {.c = c, .text = text, .n = n};
	if (ctx_protect(c, read_body, &r) != ST_OK) {
		printf("a throw out of parse_program, reading: %.*s\n", (int)n, text);
		exit(1);
	}
	return r;
}

static inline Reading read_text(Ctx *c, const char *text) {
	return read_bytes(c, text, strlen(text));
}

/* Returns the trees of a program, one a line. The caller owns the string. */
static inline char *print_program(const Reading *r) {
	Text out;
	text_init(&out, r->c);
	for (uint32_t i = 0; i < r->program.n; i++) {
		if (i) text_str(&out, "\n");
		ast_print(&out, r->c, r->program.items[i]);
	}
	char *copy = calloc(out.n + 1, 1);
	if (out.n) memcpy(copy, out.at, out.n);
	text_free(&out);
	return copy;
}

static inline char *parse_and_print(const char *text, bool *ok) {
	Ctx *c = ctx_new(NULL);
	Reading r = read_text(c, text);
	char *printed = print_program(&r);
	if (ok) *ok = r.ok;
	ctx_free(c);
	return printed;
}

/* ---- invariants of trees ------------------------------------------------- */

typedef struct Walk {
	const Ast *parent;
	uint32_t nodes, last_height;
	bool good;
	size_t n;
} Walk;

static inline void walk_node(void *ud, const Ast *a) {
	Walk *w = ud;
	const Ast *parent = w->parent;
	w->nodes++;
	bool inside =
		!parent || (a->span.start >= parent->span.start && a->span.end <= parent->span.end);
	w->good &= inside && a->span.source && a->span.start <= a->span.end && a->span.end <= w->n;
	w->good &= a->id && (!parent || a->id != parent->id);
	w->parent = a;
	ast_children(a, walk_node, w);
	w->parent = parent;
}

/* Checks that spans of children are within those of their parents, and that ids
 * are set. */
static inline bool trees_are_sound(const Reading *r) {
	Walk w = {.good = true, .n = r->n};
	for (uint32_t i = 0; i < r->program.n; i++) walk_node(&w, r->program.items[i]);
	return w.good;
}

typedef struct Coverage {
	size_t next;
	bool good;
} Coverage;

static inline void cover(void *ud, TokenClass cls, size_t start, size_t end) {
	Coverage *v = ud;
	v->good &= start == v->next && end > start && cls <= TC_ERROR;
	v->next = end;
}

static inline bool tokens_cover(const char *text, size_t n) {
	Coverage v = {0, true};
	parse_tokens(text, n, cover, &v);
	return v.good && v.next == n;
}

static inline bool diags_are_sound(const Reading *r) {
	bool good = r->ok == (diag_count(r->c, SEV_ERROR) == 0);
	for (uint32_t i = 0; i < diag_total(r->c); i++) {
		const Diag *d = diag_at(r->c, i);
		good &=
			d->span.source && d->span.start <= d->span.end && d->span.end <= r->n && d->message[0];
		good &= !d->second.source || (d->second.start < d->second.end && d->second.end <= r->n);
	}
	return good;
}

#endif
