/* words.c - the words, extents and types of the text form, and their faults.
 *
 * Needs: reader.h.
 *
 * Contract: blanks and comments before a word are skipped.
 */
#include "lang/text/reader.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- errors -------------------------------------------------------------- */

void form_wrong(IrReader *r, size_t start, size_t end, const char *format, ...) {
	va_list args;
	char text[400];
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(r->c, E_SYNTAX, span_made(r->source, (uint32_t)start, (uint32_t)end), "%s", text);
	ctx_throw(r->c, ST_ERROR);
}

void form_enter(IrReader *r) {
	if (++r->depth > FORM_DEPTH) form_wrong(r, r->at, r->at, "nested deeper than %d", FORM_DEPTH);
}
void form_leave(IrReader *r) { r->depth--; }

/* ---- characters and words ------------------------------------------------ */

int form_peek_raw(const IrReader *r) { return r->at < r->n ? (unsigned char)r->text[r->at] : -1; }

void form_skip_blanks(IrReader *r) {
	for (; r->at < r->n; r->at++) {
		if (r->text[r->at] == ';') {
			while (r->at < r->n && r->text[r->at] != '\n') r->at++;
			if (r->at == r->n) return;
		}
		if (!strchr(" \t\r\n", r->text[r->at]) || !r->text[r->at]) return;
	}
}

int form_peek(IrReader *r) {
	form_skip_blanks(r);
	return form_peek_raw(r);
}

bool form_accept(IrReader *r, const char *text) {
	form_skip_blanks(r);
	size_t n = strlen(text);
	if (r->n - r->at < n || memcmp(r->text + r->at, text, n) != 0) return false;
	r->at += n;
	return true;
}

void form_expect(IrReader *r, const char *text) {
	if (!form_accept(r, text)) form_wrong(r, r->at, r->at + 1, "expected `%s`", text);
}

static bool at_ident(IrReader *r) {
	int ch = form_peek(r);
	return ch >= 0 && form_ident_byte((unsigned char)ch, true);
}

size_t form_ident_length(IrReader *r) {
	if (!at_ident(r)) return 0;
	size_t n = 1;
	while (r->at + n < r->n && form_ident_byte((unsigned char)r->text[r->at + n], false)) n++;
	return n;
}

bool form_at_word(IrReader *r, const char *word) {
	size_t n = form_ident_length(r);
	return n == strlen(word) && !memcmp(r->text + r->at, word, n);
}

bool form_accept_word(IrReader *r, const char *word) {
	if (!form_at_word(r, word)) return false;
	r->at += strlen(word);
	return true;
}

Atom form_read_ident(IrReader *r, const char *what) {
	size_t n = form_ident_length(r);
	if (!n) form_wrong(r, r->at, r->at + 1, "expected %s", what);
	r->at += n;
	return atom_n(r->c, r->text + r->at - n, n);
}

/* string := '"' { character | '\' ('"' | '\' | 'n' | 'x' hex hex) } '"' */
char *form_read_string(IrReader *r, size_t *length) {
	size_t start = (form_skip_blanks(r), r->at), n = 0;
	form_expect(r, "\"");
	size_t end = r->at;
	while (end < r->n && r->text[end] != '"' && r->text[end] != '\n')
		end += r->text[end] == '\\' && end + 1 < r->n ? 2 : 1;
	char *out = arena_alloc(r->arena, end - start + 1);
	for (;;) {
		int ch = form_peek_raw(r);
		if (ch < 0 || ch == '\n') form_wrong(r, start, r->at, "a string without an end");
		r->at++;
		if (ch == '"') break;
		if (ch == '\\') {
			ch = form_peek_raw(r);
			r->at += ch >= 0;
			if (ch == 'n') ch = '\n';
			else if (ch == 'x') {
				char hex[3] = {0};
				char *stop = hex;
				for (int i = 0; i < 2 && r->at < r->n; i++) hex[i] = r->text[r->at++];
				ch = hex[0] == '-' || hex[0] == '+' || hex[0] == ' ' ? -1
				                                                     : (int)strtol(hex, &stop, 16);
				if (stop != hex + 2) form_wrong(r, start, r->at, "a bad escape in a string");
			} else if (ch != '"' && ch != '\\')
				form_wrong(r, start, r->at, "a bad escape in a string");
		}
		out[n++] = (char)ch;
	}
	out[n] = 0;
	*length = n;
	return out;
}

/* name := ident | string */
Atom form_read_name(IrReader *r, const char *what) {
	if (form_peek(r) != '"') return form_read_ident(r, what);
	size_t n;
	const char *s = form_read_string(r, &n);
	return atom_n(r->c, s, n);
}

/* int := ['-'] digit {digit} */
int64_t form_read_int(IrReader *r) {
	size_t start = (form_skip_blanks(r), r->at), n = 0;
	char buf[24];
	while (r->at < r->n && n < sizeof buf - 1 &&
	       (strchr("0123456789", r->text[r->at]) || (!n && r->text[r->at] == '-'))) {
		if (!r->text[r->at]) break;
		buf[n++] = r->text[r->at++];
	}
	buf[n] = 0;
	errno = 0;
	char *stop;
	int64_t v = strtoll(buf, &stop, 10);
	if (!n || *stop || stop == buf || errno)
		form_wrong(r, start, r->at + !n, "expected an integer of at most 64 bits");
	return v;
}

uint32_t form_read_u32(IrReader *r) {
	size_t start = (form_skip_blanks(r), r->at);
	int64_t v = form_read_int(r);
	if (v < 0 || v >= UINT32_MAX) form_wrong(r, start, r->at, "%lld is out of range", (long long)v);
	return (uint32_t)v;
}

/* ---- symbols, dims, types ------------------------------------------------ */

/* symlabel := ident ['.' int] */
SymLabel form_read_sym_label(IrReader *r) {
	SymLabel s = {.name = form_read_ident(r, "the name of a symbol"), .suffix = NO_SUFFIX};
	if (form_peek_raw(r) == '.') {
		r->at++;
		s.suffix = form_read_u32(r);
	}
	return s;
}

/* factor := (int | symlabel | '(' dim ')' | 'floor' '(' dim '/' int ')')
 *           ['^' int] */
static Dim read_dim_factor(IrReader *r) {
	Dim d = 0;
	int ch = form_peek(r);
	size_t start = r->at;
	if (ch >= '0' && ch <= '9') d = dim_const(r->c, form_read_int(r));
	else if (form_accept(r, "(")) {
		d = form_read_dim(r);
		form_expect(r, ")");
	} else {
		SymLabel s = form_read_sym_label(r);
		if (s.suffix == NO_SUFFIX && !strcmp(atom_text(r->c, s.name), "floor") &&
		    form_accept(r, "(")) {
			d = form_read_dim(r);
			form_expect(r, "/");
			int64_t by = form_read_int(r);
			if (by <= 0)
				form_wrong(r, start, r->at, "a length is divided by a positive number only");
			form_expect(r, ")");
			d = dim_floordiv(r->c, d, by);
		} else {
			uint32_t i = 0;
			while (i < r->syms.n &&
			       (r->syms.at[i].name != s.name || r->syms.at[i].suffix != s.suffix))
				i++;
			if (i == r->syms.n)
				form_wrong(r, start, r->at,
				           "a symbol that the header of the function does not list");
			d = dim_sym(r->c, i);
		}
	}
	if (!form_accept(r, "^")) return d;
	uint32_t power = form_read_u32(r);
	if (power < 1 || power > 64) form_wrong(r, start, r->at, "a power must lie between 1 and 64");
	Dim result = d;
	while (--power) result = dim_mul(r->c, result, d);
	return result;
}

/* dim := ['-'] product { ('+' | '-') product }
 * product := factor { '*' factor } */
Dim form_read_dim(IrReader *r) {
	form_enter(r);
	Dim sum = dim_const(r->c, 0);
	bool negative = form_accept(r, "-");
	for (;;) {
		Dim product = read_dim_factor(r);
		while (form_accept(r, "*")) product = dim_mul(r->c, product, read_dim_factor(r));
		sum = negative ? dim_sub(r->c, sum, product) : dim_add(r->c, sum, product);
		if (form_accept(r, "+")) negative = false;
		else if (form_accept(r, "-")) negative = true;
		else break;
	}
	form_leave(r);
	return sum;
}

Dtype form_read_dtype(IrReader *r) {
	size_t start = (form_skip_blanks(r), r->at);
	Atom name = form_read_ident(r, "a dtype");
	Dtype d;
	if (!dtype_from_name(atom_text(r->c, name), &d))
		form_wrong(r, start, r->at, "`%s` is not a dtype", atom_text(r->c, name));
	return d;
}

/* type := 'dyn' | 'token' | dtype ['[' dim {',' dim} ']'] */
TypeId form_read_type(IrReader *r) {
	if (form_accept_word(r, "dyn")) return type_dyn(r->c);
	if (form_accept_word(r, "token")) return type_token(r->c);
	Dtype dtype = form_read_dtype(r);
	Dim dims[MAX_RANK];
	uint32_t rank = 0;
	if (form_accept(r, "[")) {
		do {
			size_t start = (form_skip_blanks(r), r->at);
			if (rank == MAX_RANK) form_wrong(r, start, r->at, "more than %d axes", MAX_RANK);
			dims[rank] = form_read_dim(r);
			int64_t length;
			if (dim_is_const(r->c, dims[rank], &length) && length < 0)
				form_wrong(r, start, r->at, "a negative length");
			rank++;
		} while (form_accept(r, ","));
		form_expect(r, "]");
	}
	return type_tensor(r->c, dtype, rank, dims);
}
