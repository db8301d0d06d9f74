/* types.c - types of functions as strings: "(f64[n], f64[n + 1, 3]) -> f64[n]".
 *
 * Needs: api.h.
 *
 * Contract: symbols are numbered and named in order of appearance. A compound
 * extent mentions only symbols that appeared alone before it. One pass over the
 * arguments in order therefore binds every extent.
 */
#include "api/api.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct SignatureReader {
	Ctx *c;
	const char *text, *p;
	Signature s;
	bool bound[TYPE_SYMS]; /* appeared alone in an argument */
	bool results;
} SignatureReader;

static _Noreturn void bad(SignatureReader *r, const char *what) {
	Diag *d = diag_error(r->c, E_ANNOTATION, NO_SPAN, "%s in the type \"%s\" at character %d", what,
	                     r->text, (int)(r->p - r->text) + 1);
	diag_hint(r->c, d, "a type is like \"(f64[n, 3], i64) -> f64[n]\"");
	api_of(r->c)->misuse = true;
	ctx_throw(r->c, ST_ERROR);
}

static void blanks(SignatureReader *r) {
	while (*r->p == ' ' || *r->p == '\t' || *r->p == '\n') r->p++;
}

static bool eat(SignatureReader *r, const char *mark) {
	blanks(r);
	size_t n = strlen(mark);
	if (strncmp(r->p, mark, n)) return false;
	r->p += n;
	return true;
}

static bool is_letter(char ch) {
	return ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	       (unsigned char)ch >= 0x80;
}
static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }

static size_t name_length(const char *p) {
	size_t n = 0;
	if (is_letter(*p))
		while (is_letter(p[n]) || is_digit(p[n])) n++;
	return n;
}

static SymId symbol(SignatureReader *r, const char *name, size_t n) {
	Atom a = atom_n(r->c, name, n);
	for (uint32_t i = 0; i < r->s.nsyms; i++)
		if (r->s.syms[i] == a) return i;
	if (r->s.nsyms == TYPE_SYMS) bad(r, "too many names of lengths");
	r->s.syms[r->s.nsyms] = a;
	return r->s.nsyms++;
}

/* integer | name | integer name | factor * factor */
static Dim read_term(SignatureReader *r) {
	Dim d = 0;
	bool any = false;
	do {
		blanks(r);
		Dim factor;
		size_t n = name_length(r->p);
		if (n) {
			factor = dim_sym(r->c, symbol(r, r->p, n));
			r->p += n;
		} else if (is_digit(*r->p)) {
			int64_t v = 0;
			for (; is_digit(*r->p); r->p++)
				if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *r->p - '0', &v))
					bad(r, "a length that is too large");
			factor = dim_const(r->c, v);
			n = name_length(r->p);
			if (n) {
				factor = dim_mul(r->c, factor, dim_sym(r->c, symbol(r, r->p, n)));
				r->p += n;
			}
		} else bad(r, "a length is missing");
		d = any ? dim_mul(r->c, d, factor) : factor;
		any = true;
	} while (eat(r, "*"));
	return d;
}

typedef struct Unbound {
	const SignatureReader *r;
	bool found;
} Unbound;

static void see_unbound(void *ud, SymId s) {
	Unbound *u = ud;
	if (!u->r->bound[s]) u->found = true;
}

static Dim read_dim(SignatureReader *r) {
	Dim d = read_term(r);
	for (;;) {
		if (eat(r, "+")) d = dim_add(r->c, d, read_term(r));
		else if (r->p[0] == '-' && r->p[1] != '>') {
			r->p++;
			d = dim_sub(r->c, d, read_term(r));
		} else break;
		blanks(r);
	}
	SymId s;
	if (dim_is_sym(r->c, d, &s)) {
		if (!r->results) r->bound[s] = true;
		return d;
	}
	Unbound u = {.r = r};
	dim_each_sym(r->c, d, see_unbound, &u);
	if (u.found) bad(r, "a length made of a name that has not stood alone before,");
	return d;
}

static TypeId read_type(SignatureReader *r) {
	blanks(r);
	size_t n = name_length(r->p);
	char word[8] = "";
	if (n < sizeof word) memcpy(word, r->p, n);
	Dtype dtype;
	if (!n || n >= sizeof word || !dtype_from_name(word, &dtype))
		bad(r, "no dtype (bool, i32, i64, f32, f64, c64, c128)");
	r->p += n;
	Dim dims[MAX_RANK];
	uint32_t rank = 0;
	if (eat(r, "[")) {
		if (!eat(r, "]")) {
			do {
				if (rank == MAX_RANK) bad(r, "more than 8 axes");
				dims[rank++] = read_dim(r);
			} while (eat(r, ","));
			if (!eat(r, "]")) bad(r, "a `]` is missing");
		}
	}
	return type_tensor(r->c, dtype, rank, dims);
}

/* An argument may be written `name: type`. */
static TypeId read_argument(SignatureReader *r) {
	blanks(r);
	size_t n = name_length(r->p);
	const char *after = r->p + n;
	while (*after == ' ') after++;
	if (n && *after == ':') r->p = after + 1;
	return read_type(r);
}

static void read_list(SignatureReader *r, TypeId *out, uint32_t *n,
                      TypeId (*one)(SignatureReader *r)) {
	if (eat(r, ")")) return;
	do {
		if (*n == TYPE_PLACES) bad(r, "too many places");
		out[(*n)++] = one(r);
	} while (eat(r, ","));
	if (!eat(r, ")")) bad(r, "a `)` is missing");
}

Signature signature_read(Ctx *c, Arena *a, const char *text) {
	SignatureReader r = {.c = c, .text = text, .p = text};
	TypeId in[TYPE_PLACES], out[TYPE_PLACES];
	Atom syms[TYPE_SYMS];
	r.s = (Signature){.in = in, .out = out, .syms = syms};
	if (!eat(&r, "(")) bad(&r, "a `(` is missing");
	read_list(&r, in, &r.s.nin, read_argument);
	r.results = true;
	if (eat(&r, "->")) {
		r.s.has_results = true;
		if (eat(&r, "(")) read_list(&r, out, &r.s.nout, read_type);
		else out[r.s.nout++] = read_type(&r);
	}
	blanks(&r);
	if (*r.p) bad(&r, "something more");
	Signature s = r.s;
	s.in = ARENA_ARRAY(a, TypeId, s.nin + 1);
	s.out = ARENA_ARRAY(a, TypeId, s.nout + 1);
	s.syms = ARENA_ARRAY(a, Atom, TYPE_SYMS);
	memcpy(s.in, in, s.nin * sizeof *in);
	memcpy(s.out, out, s.nout * sizeof *out);
	memcpy(s.syms, syms, s.nsyms * sizeof *syms);
	return s;
}

/* ---- printing ------------------------------------------------------------ */

typedef struct SignatureNames {
	Ctx *c;
	const Signature *s;
} SignatureNames;

static const char *sym_name(void *ud, SymId s) {
	const SignatureNames *n = ud;
	return s < n->s->nsyms ? atom_text(n->c, n->s->syms[s]) : "?";
}

const char *signature_type_text(Ctx *c, const Signature *s, TypeId t, char *buf, size_t cap) {
	SignatureNames names = {c, s};
	type_print(c, t, sym_name, &names, buf, cap);
	return buf;
}

static void write_list(Ctx *c, const Signature *s, uint32_t n, const TypeId *types, bool brackets,
                       Text *out) {
	char buf[300];
	if (brackets) text_str(out, "(");
	for (uint32_t i = 0; i < n; i++) {
		if (i) text_str(out, ", ");
		text_str(out, signature_type_text(c, s, types[i], buf, sizeof buf));
	}
	if (brackets) text_str(out, ")");
}

void signature_write(Ctx *c, const Signature *s, Text *out) {
	write_list(c, s, s->nin, s->in, true, out);
	text_str(out, " -> ");
	write_list(c, s, s->nout, s->out, s->nout != 1, out);
}

const char *array_type_text(int dtype, uint32_t rank, const int64_t *shape, char *buf, size_t cap) {
	size_t n = (size_t)snprintf(buf, cap, "%s", dtype_name((Dtype)dtype));
	for (uint32_t i = 0; i < rank && n < cap; i++)
		n += (size_t)snprintf(buf + n, cap - n, "%s%" PRId64, i ? ", " : "[", shape[i]);
	if (rank && n < cap) snprintf(buf + n, cap - n, "]");
	return buf;
}

/* ---- matching shapes ----------------------------------------------------- */

bool signature_match(Ctx *c, TypeId declared, uint32_t rank, const int64_t *shape,
                     int64_t *values) {
	const Type t = *type_of(c, declared);
	if (t.rank != rank) return false;
	for (uint32_t i = 0; i < rank; i++) {
		SymId s;
		int64_t want;
		if (dim_is_sym(c, t.dims[i], &s) && values[s] < 0) values[s] = shape[i];
		else if (!dim_eval(c, t.dims[i], values, TYPE_SYMS, &want) || want != shape[i])
			return false;
	}
	return true;
}

bool signature_shape(Ctx *c, TypeId declared, const int64_t *values, int64_t *shape) {
	const Type t = *type_of(c, declared);
	for (uint32_t i = 0; i < t.rank; i++)
		if (!dim_eval(c, t.dims[i], values, TYPE_SYMS, &shape[i]) || shape[i] < 0) return false;
	return true;
}
