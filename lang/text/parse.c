/* parse.c - the reader of the text form that print.c writes.
 *
 * Method: recursive descent; each function has its production above it. `;`
 * starts a comment to the end of the line.
 *
 * Needs: builder/internal.h, syntax.h. binary/read.c reads the binary form.
 *
 * Contract:
 * - For any bytes, the result is a verified function, or NULL and a diagnostic
 *   at the faulty location.
 * - Nothing is folded, shared or removed, so that the function prints as it was
 *   written.
 * - Nesting is bounded by FORM_DEPTH.
 */
#include "lang/builder/internal.h"
#include "lang/text/syntax.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Label { /* the label of a function: @name or @name.suffix */
	Atom name;
	uint32_t suffix;
} Label;

typedef enum ParsedFnState { FN_UNREAD, FN_OPEN, FN_READ } ParsedFnState;

typedef struct ParsedFn { /* a function header, found by looking ahead */
	Label label;
	ParsedFnState state;
	size_t start, end; /* end: valid once it has been read */
	FnId id;           /* valid once it is open */
	Fn *fn;            /* owned, valid once it has been read */
} ParsedFn;

typedef struct SymLabel {
	Atom name;
	uint32_t suffix; /* NO_SUFFIX: none */
} SymLabel;
#define NO_SUFFIX UINT32_MAX

typedef struct IrReader {
	Ctx *c;
	Arena *arena;
	SourceId source;
	const char *text;
	size_t n, at;
	VEC(ParsedFn) fns;
	VEC(Value) owned; /* values without another owner yet */
	uint32_t last;    /* index of the function read last */
	bool recursive;   /* a function calls one that is being read */
	/* The function being read: */
	Builder *b;
	VEC(SymLabel) syms;
	VEC(Ref) numbered; /* by number in the text; REF_NONE: undefined, or out of scope */
	/* Numbers in the order of their definition; those of a closed region go out
	 * of scope. */
	VEC(uint32_t) trail;
	uint32_t depth;
} IrReader;

/* ---- errors -------------------------------------------------------------- */

static _Noreturn void __attribute__((format(printf, 4, 5)))
wrong(IrReader *r, size_t start, size_t end, const char *format, ...) {
	va_list args;
	char text[400];
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(r->c, E_SYNTAX, span_made(r->source, (uint32_t)start, (uint32_t)end), "%s", text);
	ctx_throw(r->c, ST_ERROR);
}

static void enter(IrReader *r) {
	if (++r->depth > FORM_DEPTH) wrong(r, r->at, r->at, "nested deeper than %d", FORM_DEPTH);
}
static void leave(IrReader *r) { r->depth--; }

/* ---- characters and words ------------------------------------------------ */

static int peek_raw(const IrReader *r) { return r->at < r->n ? (unsigned char)r->text[r->at] : -1; }

static void skip_blanks(IrReader *r) {
	for (; r->at < r->n; r->at++) {
		if (r->text[r->at] == ';') {
			while (r->at < r->n && r->text[r->at] != '\n') r->at++;
			if (r->at == r->n) return;
		}
		if (!strchr(" \t\r\n", r->text[r->at]) || !r->text[r->at]) return;
	}
}

static int peek(IrReader *r) {
	skip_blanks(r);
	return peek_raw(r);
}

static bool accept(IrReader *r, const char *text) {
	skip_blanks(r);
	size_t n = strlen(text);
	if (r->n - r->at < n || memcmp(r->text + r->at, text, n) != 0) return false;
	r->at += n;
	return true;
}

static void expect(IrReader *r, const char *text) {
	if (!accept(r, text)) wrong(r, r->at, r->at + 1, "expected `%s`", text);
}

static bool at_ident(IrReader *r) {
	int ch = peek(r);
	return ch >= 0 && form_ident_byte((unsigned char)ch, true);
}

static size_t ident_length(IrReader *r) {
	if (!at_ident(r)) return 0;
	size_t n = 1;
	while (r->at + n < r->n && form_ident_byte((unsigned char)r->text[r->at + n], false)) n++;
	return n;
}

static bool at_word(IrReader *r, const char *word) {
	size_t n = ident_length(r);
	return n == strlen(word) && !memcmp(r->text + r->at, word, n);
}

static bool accept_word(IrReader *r, const char *word) {
	if (!at_word(r, word)) return false;
	r->at += strlen(word);
	return true;
}

static Atom read_ident(IrReader *r, const char *what) {
	size_t n = ident_length(r);
	if (!n) wrong(r, r->at, r->at + 1, "expected %s", what);
	r->at += n;
	return atom_n(r->c, r->text + r->at - n, n);
}

/* string := '"' { character | '\' ('"' | '\' | 'n' | 'x' hex hex) } '"' */
static char *read_string(IrReader *r, size_t *length) {
	size_t start = (skip_blanks(r), r->at), n = 0;
	expect(r, "\"");
	size_t end = r->at;
	while (end < r->n && r->text[end] != '"' && r->text[end] != '\n')
		end += r->text[end] == '\\' && end + 1 < r->n ? 2 : 1;
	char *out = arena_alloc(r->arena, end - start + 1);
	for (;;) {
		int ch = peek_raw(r);
		if (ch < 0 || ch == '\n') wrong(r, start, r->at, "a string without an end");
		r->at++;
		if (ch == '"') break;
		if (ch == '\\') {
			ch = peek_raw(r);
			r->at += ch >= 0;
			if (ch == 'n') ch = '\n';
			else if (ch == 'x') {
				char hex[3] = {0};
				char *stop = hex;
				for (int i = 0; i < 2 && r->at < r->n; i++) hex[i] = r->text[r->at++];
				ch = hex[0] == '-' || hex[0] == '+' || hex[0] == ' ' ? -1
				                                                     : (int)strtol(hex, &stop, 16);
				if (stop != hex + 2) wrong(r, start, r->at, "a bad escape in a string");
			} else if (ch != '"' && ch != '\\') wrong(r, start, r->at, "a bad escape in a string");
		}
		out[n++] = (char)ch;
	}
	out[n] = 0;
	*length = n;
	return out;
}

/* name := ident | string */
static Atom read_name(IrReader *r, const char *what) {
	if (peek(r) != '"') return read_ident(r, what);
	size_t n;
	const char *s = read_string(r, &n);
	return atom_n(r->c, s, n);
}

/* int := ['-'] digit {digit} */
static int64_t read_int(IrReader *r) {
	size_t start = (skip_blanks(r), r->at), n = 0;
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
		wrong(r, start, r->at + !n, "expected an integer of at most 64 bits");
	return v;
}

static uint32_t read_u32(IrReader *r) {
	size_t start = (skip_blanks(r), r->at);
	int64_t v = read_int(r);
	if (v < 0 || v >= UINT32_MAX) wrong(r, start, r->at, "%lld is out of range", (long long)v);
	return (uint32_t)v;
}

/* ---- symbols, dims, types ------------------------------------------------ */

/* symlabel := ident ['.' int] */
static SymLabel read_sym_label(IrReader *r) {
	SymLabel s = {.name = read_ident(r, "the name of a symbol"), .suffix = NO_SUFFIX};
	if (peek_raw(r) == '.') {
		r->at++;
		s.suffix = read_u32(r);
	}
	return s;
}

static Dim read_dim(IrReader *r);

/* factor := (int | symlabel | '(' dim ')' | 'floor' '(' dim '/' int ')')
 *           ['^' int] */
static Dim read_dim_factor(IrReader *r) {
	Dim d = 0;
	int ch = peek(r);
	size_t start = r->at;
	if (ch >= '0' && ch <= '9') d = dim_const(r->c, read_int(r));
	else if (accept(r, "(")) {
		d = read_dim(r);
		expect(r, ")");
	} else {
		SymLabel s = read_sym_label(r);
		if (s.suffix == NO_SUFFIX && !strcmp(atom_text(r->c, s.name), "floor") && accept(r, "(")) {
			d = read_dim(r);
			expect(r, "/");
			int64_t by = read_int(r);
			if (by <= 0) wrong(r, start, r->at, "a length is divided by a positive number only");
			expect(r, ")");
			d = dim_floordiv(r->c, d, by);
		} else {
			uint32_t i = 0;
			while (i < r->syms.n &&
			       (r->syms.at[i].name != s.name || r->syms.at[i].suffix != s.suffix))
				i++;
			if (i == r->syms.n)
				wrong(r, start, r->at, "a symbol that the header of the function does not list");
			d = dim_sym(r->c, i);
		}
	}
	if (!accept(r, "^")) return d;
	uint32_t power = read_u32(r);
	if (power < 1 || power > 64) wrong(r, start, r->at, "a power must lie between 1 and 64");
	Dim result = d;
	while (--power) result = dim_mul(r->c, result, d);
	return result;
}

/* dim := ['-'] product { ('+' | '-') product }
 * product := factor { '*' factor } */
static Dim read_dim(IrReader *r) {
	enter(r);
	Dim sum = dim_const(r->c, 0);
	bool negative = accept(r, "-");
	for (;;) {
		Dim product = read_dim_factor(r);
		while (accept(r, "*")) product = dim_mul(r->c, product, read_dim_factor(r));
		sum = negative ? dim_sub(r->c, sum, product) : dim_add(r->c, sum, product);
		if (accept(r, "+")) negative = false;
		else if (accept(r, "-")) negative = true;
		else break;
	}
	leave(r);
	return sum;
}

static Dtype read_dtype(IrReader *r) {
	size_t start = (skip_blanks(r), r->at);
	Atom name = read_ident(r, "a dtype");
	Dtype d;
	if (!dtype_from_name(atom_text(r->c, name), &d))
		wrong(r, start, r->at, "`%s` is not a dtype", atom_text(r->c, name));
	return d;
}

/* type := 'dyn' | 'token' | dtype ['[' dim {',' dim} ']'] */
static TypeId read_type(IrReader *r) {
	if (accept_word(r, "dyn")) return type_dyn(r->c);
	if (accept_word(r, "token")) return type_token(r->c);
	Dtype dtype = read_dtype(r);
	Dim dims[MAX_RANK];
	uint32_t rank = 0;
	if (accept(r, "[")) {
		do {
			size_t start = (skip_blanks(r), r->at);
			if (rank == MAX_RANK) wrong(r, start, r->at, "more than %d axes", MAX_RANK);
			dims[rank] = read_dim(r);
			int64_t length;
			if (dim_is_const(r->c, dims[rank], &length) && length < 0)
				wrong(r, start, r->at, "a negative length");
			rank++;
		} while (accept(r, ","));
		expect(r, "]");
	}
	return type_tensor(r->c, dtype, rank, dims);
}

/* ---- values -------------------------------------------------------------- */

/* The reader's list holds every new value until its function is complete, so
 * that a throw loses none. */
static Value own(IrReader *r, Value v) {
	if (v.kind == V_UNSET || (v.kind == V_TENSOR && !v.tensor)) ctx_throw(r->c, ST_NOMEM);
	r->owned.at[r->owned.n++] = v;
	return v;
}
static void make_room(IrReader *r) { VEC_RESERVE(r->arena, &r->owned, r->owned.n + 1u); }
#define OWN(r, make) (make_room(r), own((r), (make)))

static void release_owned(IrReader *r) {
	while (r->owned.n) value_unref(r->owned.at[--r->owned.n]);
}

typedef struct Literal { /* a literal in all its possible types */
	bool whole;
	int64_t i;
	double f;
	float f32; /* rounded directly, with NaN bits preserved */
} Literal;

/* number := ['-'] (digits ['.' digits] ['e' ['+' | '-'] digits] | 'inf')
 *           | 'nan' ['(' hex ')'] */
static Literal read_number(IrReader *r) {
	size_t start = (skip_blanks(r), r->at), n = 0;
	Literal out = {0};
	if (accept_word(r, "nan")) {
		uint64_t bits = 0x7ff8000000000000u;
		uint32_t narrow = 0x7fc00000u;
		if (peek_raw(r) == '(') {
			r->at++;
			char hex[20] = {0};
			while (r->at < r->n && n < 18 && r->text[r->at] &&
			       strchr("0123456789abcdefABCDEFx", r->text[r->at]))
				hex[n++] = r->text[r->at++];
			expect(r, ")");
			bits = strtoull(hex, NULL, 16);
			narrow = (uint32_t)bits;
		}
		memcpy(&out.f, &bits, sizeof bits);
		memcpy(&out.f32, &narrow, sizeof narrow);
		return out;
	}
	bool negative = accept(r, "-");
	if (accept_word(r, "inf")) {
		out.f = negative ? -__builtin_inf() : __builtin_inf();
		out.f32 = (float)out.f;
		return out;
	}
	char buf[64];
	if (negative) buf[n++] = '-';
	out.whole = true;
	while (r->at < r->n && n < sizeof buf - 1) {
		char ch = r->text[r->at];
		bool sign = (ch == '-' || ch == '+') && n && (buf[n - 1] == 'e' || buf[n - 1] == 'E');
		if (!sign && !(ch >= '0' && ch <= '9') && ch != '.' && ch != 'e' && ch != 'E') break;
		out.whole = out.whole && ch >= '0' && ch <= '9';
		buf[n++] = ch;
		r->at++;
	}
	buf[n] = 0;
	char *stop = buf;
	if (n == negative || buf[negative] < '0' || buf[negative] > '9')
		wrong(r, start, r->at + 1, "expected a number");
	out.f = strtod(buf, &stop);
	if (*stop) wrong(r, start, r->at, "a malformed number");
	out.f32 = strtof(buf, NULL);
	errno = 0;
	if (out.whole) out.i = strtoll(buf, NULL, 10);
	if (out.whole && errno) wrong(r, start, r->at, "an integer of more than 64 bits");
	return out;
}

static void read_part(IrReader *r, bool single, void *out) {
	Literal x = read_number(r);
	if (single) memcpy(out, &x.f32, sizeof x.f32);
	else memcpy(out, &x.f, sizeof x.f);
}

/* complex := 'complex' '(' number ',' number ')'; both precisions are kept,
 * since the dtype comes after it. */
static void read_complex(IrReader *r, Literal part[2]) {
	if (!accept_word(r, "complex")) wrong(r, r->at, r->at + 1, "expected `complex`");
	expect(r, "(");
	part[0] = read_number(r);
	expect(r, ",");
	part[1] = read_number(r);
	expect(r, ")");
}

/* An element of a tensor with known dtype. */
static void read_element(IrReader *r, Dtype d, void *out) {
	size_t start = (skip_blanks(r), r->at);
	switch (d) {
	case DT_BOOL:
		if (!at_word(r, "true") && !at_word(r, "false"))
			wrong(r, start, r->at + 1, "expected true or false");
		*(bool *)out = accept_word(r, "true");
		if (!*(bool *)out) accept_word(r, "false");
		break;
	case DT_I32:
	case DT_I64: {
		int64_t v = read_int(r);
		if (d == DT_I64) *(int64_t *)out = v;
		else if (v < INT32_MIN || v > INT32_MAX) wrong(r, start, r->at, "more than 32 bits");
		else *(int32_t *)out = (int32_t)v;
		break;
	}
	case DT_F32: read_part(r, true, out); break;
	case DT_F64: read_part(r, false, out); break;
	default: {
		Literal part[2];
		read_complex(r, part);
		for (int k = 0; k < 2; k++) {
			if (d == DT_C64) memcpy((float *)out + k, &part[k].f32, sizeof(float));
			else memcpy((double *)out + k, &part[k].f, sizeof(double));
		}
	}
	}
}

/* tensor := dtype '[' [int {',' int}] ']' '{' [element {',' element}] '}' */
static Value read_tensor(IrReader *r) {
	size_t start = r->at;
	Dtype d = read_dtype(r);
	int64_t shape[MAX_RANK];
	uint64_t count = 1;
	uint32_t rank = 0;
	expect(r, "[");
	do {
		if (rank == MAX_RANK) wrong(r, start, r->at, "more than %d axes", MAX_RANK);
		shape[rank] = read_u32(r);
		count *= (uint64_t)shape[rank++];
		/* Each element takes at least one character, which bounds the
		 * allocation that a few bytes of text can cause. */
		if (count > r->n) wrong(r, start, r->at, "more elements than there is text");
	} while (accept(r, ","));
	expect(r, "]");
	expect(r, "{");
	Value v = OWN(r, value_tensor(tensor_zeros(r->c, d, rank, shape)));
	for (uint64_t i = 0; i < count; i++) {
		if (i) expect(r, ",");
		read_element(r, d, v.tensor->data + i * dtype_size(d));
	}
	expect(r, "}");
	return v;
}

/* scalar := 'true' | 'false' | (number | complex) [':' dtype] */
static Value read_scalar(IrReader *r) {
	size_t start = r->at;
	if (accept_word(r, "true")) return value_bool(true);
	if (accept_word(r, "false")) return value_bool(false);
	Literal part[2] = {{0}, {0}};
	bool paired = at_word(r, "complex");
	if (paired) read_complex(r, part);
	else part[0] = read_number(r);
	Dtype d = paired ? DT_C128 : part[0].whole ? DT_I64 : DT_F64;
	if (peek_raw(r) == ':') {
		r->at++;
		d = read_dtype(r);
	}
	Value v = {.kind = V_SCALAR, .dtype = (uint8_t)d};
	bool fits = paired ? dtype_is_complex(d)
	                   : d == DT_F32 || d == DT_F64 || (part[0].whole && dtype_is_int(d));
	if (d == DT_I32 && (part[0].i < INT32_MIN || part[0].i > INT32_MAX)) fits = false;
	if (!fits) wrong(r, start, r->at, "a number that is not of the dtype %s", dtype_name(d));
	switch (d) {
	case DT_I32: v.i32 = (int32_t)part[0].i; break;
	case DT_I64: v.i = part[0].i; break;
	case DT_F32: memcpy(&v.f32, &part[0].f32, sizeof v.f32); break;
	case DT_F64: memcpy(&v.f, &part[0].f, sizeof v.f); break;
	case DT_C64:
		for (int k = 0; k < 2; k++) memcpy((float *)&v.c64 + k, &part[k].f32, sizeof(float));
		break;
	default:
		for (int k = 0; k < 2; k++) memcpy((double *)&v.c + k, &part[k].f, sizeof(double));
	}
	return v;
}

static bool at_tensor(IrReader *r) {
	size_t n = ident_length(r);
	return n && r->at + n < r->n && r->text[r->at + n] == '[';
}

static Value read_value(IrReader *r);

/* sequence := [value {',' value}] close; a record has `name ':'` before each
 * value */
static Value read_items(IrReader *r, ValueKind kind, const char *close) {
	VEC(Value) items = {0};
	VEC(Atom) names = {0};
	enter(r);
	while (!accept(r, close)) {
		if (items.n) expect(r, ",");
		if (kind == V_RECORD) {
			VEC_PUSH(r->arena, &names, read_name(r, "the name of a field"));
			expect(r, ":");
		}
		Value v = read_value(r);
		VEC_PUSH(r->arena, &items, v);
	}
	leave(r);
	if (kind == V_RECORD) return OWN(r, value_record(r->c, items.n, names.at, items.at));
	return OWN(r, value_seq(r->c, kind, items.n, items.at));
}

/* value := '_' | 'none' | 'token' | string | '(' sequence | '[' sequence
 *          | '{' sequence | range | tensor | scalar
 * range := 'range' '(' int ',' int ',' int ')'
 *
 * The value is borrowed from the reader's list.
 */
static Value read_value(IrReader *r) {
	size_t start = (skip_blanks(r), r->at);
	if (accept_word(r, "_")) return (Value){0};
	if (accept_word(r, "none")) return value_none();
	if (accept_word(r, "token")) return (Value){.kind = V_TOKEN};
	if (accept(r, "(")) return read_items(r, V_TUPLE, ")");
	if (accept(r, "[")) return read_items(r, V_LIST, "]");
	if (accept(r, "{")) return read_items(r, V_RECORD, "}");
	if (peek(r) == '"') {
		size_t n;
		const char *s = read_string(r, &n);
		return OWN(r, value_string(r->c, s, n));
	}
	if (peek(r) == '<')
		wrong(r, start, start + 1, "a function value cannot be read back from text");
	if (accept_word(r, "range")) {
		int64_t part[3];
		for (int k = 0; k < 3; k++) {
			expect(r, k ? "," : "(");
			part[k] = read_int(r);
		}
		expect(r, ")");
		if (!part[2]) wrong(r, start, r->at, "a range whose step is 0");
		return OWN(r, value_range(r->c, part[0], part[1], part[2]));
	}
	if (at_tensor(r)) return read_tensor(r);
	return read_scalar(r);
}

/* ---- spans, chains, definitions, operands -------------------------------- */

/* span := '@' int ':' int ':' int, none unless the context has such a text */
static SpanId read_span(IrReader *r) {
	if (!accept(r, "@")) return 0;
	Span s = {.source = read_u32(r)};
	expect(r, ":");
	s.start = read_u32(r);
	expect(r, ":");
	s.end = read_u32(r);
	const bool known = s.source < sources_end(r->c) && source_text(r->c, s.source, NULL);
	return known && s.start <= s.end ? span_intern(r->c, s) : 0;
}

static SpanId known_span(const IrReader *r, SpanId id) { return span_of(r->c, id).source ? id : 0; }

/* chain := { '!' word }. A word for a call has ids of this session; those that
 * it does not have are left out. */
static ChainId read_chain(IrReader *r) {
	ChainId chain = 0;
	while (accept(r, "!")) {
		size_t start = r->at;
		while (r->at < r->n && (unsigned char)r->text[r->at] > ' ') r->at++;
		if (r->at == start) wrong(r, start, start + 1, "expected the name of a transform");
		const char *word = r->text + start;
		const size_t n = r->at - start;
		Atom callee;
		SpanId defined, at;
		chain =
			chain_word_call(word, n, &callee, &defined, &at)
				? chain_push_call(r->c, chain, callee, known_span(r, defined), known_span(r, at))
				: chain_push(r->c, chain, atom_text(r->c, atom_n(r->c, word, n)));
	}
	return chain;
}

typedef struct Def {
	uint32_t number;
	Atom name;
	TypeId type;
	size_t start, end;
} Def;
typedef VEC(Def) Defs;

/* def := '%' int [name] ':' type */
static Def read_def(IrReader *r) {
	Def d = {.start = (skip_blanks(r), r->at)};
	expect(r, "%");
	d.number = read_u32(r);
	if (d.number > r->n)
		wrong(r, d.start, r->at, "a number of a value that is larger than the text is long");
	d.end = r->at;
	if (peek(r) != ':') d.name = read_name(r, "the name of a value, or `:`");
	expect(r, ":");
	d.type = read_type(r);
	return d;
}

static void define(IrReader *r, const Def *d, Ref ref) {
	while (r->numbered.n <= d->number) VEC_PUSH(r->arena, &r->numbered, REF_NONE);
	if (r->numbered.at[d->number] != REF_NONE)
		wrong(r, d->start, d->end, "%%%u is defined twice", d->number);
	r->numbered.at[d->number] = ref;
	VEC_PUSH(r->arena, &r->trail, d->number);
	r->b->fn->vals.at[REF_INDEX(ref)].name = d->name;
}

static void forget(IrReader *r, uint32_t mark) {
	while (r->trail.n > mark) r->numbered.at[r->trail.at[--r->trail.n]] = REF_NONE;
}

/* operand := '%' int | 'dyn' value | tensor | scalar */
static Ref read_operand(IrReader *r) {
	size_t start = (skip_blanks(r), r->at);
	if (accept(r, "%")) {
		uint32_t k = read_u32(r);
		if (k >= r->numbered.n || r->numbered.at[k] == REF_NONE)
			wrong(r, start, r->at, "%%%u is not defined here", k);
		return r->numbered.at[k];
	}
	if (accept_word(r, "dyn")) {
		Value v = read_value(r);
		if (value_is_array(v))
			wrong(r, start, r->at,
			      "an array is not a dyn constant: without `dyn` it is one of its own type");
		return build_const(r->b, v);
	}
	Value v = at_tensor(r) ? read_tensor(r) : read_scalar(r);
	return build_const(r->b, v);
}

typedef VEC(Ref) Refs;

static Refs read_operands(IrReader *r) {
	Refs refs = {0};
	do {
		Ref ref = read_operand(r);
		VEC_PUSH(r->arena, &refs, ref);
	} while (accept(r, ","));
	return refs;
}

/* ---- attributes ---------------------------------------------------------- */

static FnId resolve_callee(IrReader *r);

static int64_t read_attr_word(IrReader *r, char letter) {
	size_t start = (skip_blanks(r), r->at);
	switch (letter) {
	case 'D': return read_dim(r);
	case 'y': return read_type(r);
	case 't': return read_dtype(r);
	case 'a': {
		size_t n;
		const char *s = read_string(r, &n);
		return atom_n(r->c, s, n);
	}
	case 'f': return resolve_callee(r);
	case 'h': {
		size_t n;
		const char *s = read_string(r, &n);
		expect(r, "#");
		uint32_t id = read_u32(r);
		const HostCall *call = host_call(r->c, id);
		if (!call || strcmp(call->def->name, s) != 0)
			wrong(r, start, r->at,
			      "the host function \"%s\" is not known here: host calls cannot be read from text "
			      "alone",
			      s);
		return id;
	}
	default: return read_int(r);
	}
}

/* attributes := '{' name ':' (word | '[' [word {',' word}] ']') {',' ...} '}',
 * in the order of the primitive's schema */
static AttrId read_attrs(IrReader *r, Op op) {
	const char *schema = prims[op].attr;
	VEC(int64_t) words = {0};
	FormField field;
	bool any = false;
	while (form_next_field(&schema, &field)) {
		expect(r, any ? "," : "{");
		any = true;
		size_t start = (skip_blanks(r), r->at), n = ident_length(r);
		if (n != field.name_length || memcmp(r->text + r->at, field.name, n) != 0)
			wrong(r, start, r->at + n, "expected the attribute `%.*s` of %s",
			      (int)field.name_length, field.name, prims[op].name);
		r->at += n;
		expect(r, ":");
		if (!field.list) {
			int64_t w = read_attr_word(r, field.letter);
			VEC_PUSH(r->arena, &words, w);
			continue;
		}
		uint32_t count_at = words.n;
		VEC_PUSH(r->arena, &words, 0);
		expect(r, "[");
		while (!accept(r, "]")) {
			if (words.at[count_at]) expect(r, ",");
			int64_t w = read_attr_word(r, field.letter);
			VEC_PUSH(r->arena, &words, w);
			words.at[count_at]++;
		}
	}
	if (!any) return 0;
	expect(r, "}");
	return attr_intern(r->c, words.at, words.n);
}

/* ---- instructions and regions -------------------------------------------- */

static Refs read_region_body(IrReader *r, const char *end);

/* region := '{' ['(' def {',' def} ')' ':'] {instruction}
 *           'yield' [operand {',' operand}] '}' */
static RegionId read_region(IrReader *r) {
	enter(r);
	uint32_t mark = r->trail.n;
	expect(r, "{");
	Defs defs = {0};
	VEC(TypeId) types = {0};
	if (accept(r, "(")) {
		do {
			Def d = read_def(r);
			VEC_PUSH(r->arena, &defs, d);
			VEC_PUSH(r->arena, &types, d.type);
		} while (accept(r, ","));
		expect(r, ")");
		expect(r, ":");
	}
	Ref *params = ARENA_ARRAY(r->arena, Ref, defs.n + 1u);
	OpenRegion *open = build_region_begin(r->b, defs.n, types.at, params);
	for (uint32_t i = 0; i < defs.n; i++) define(r, &defs.at[i], params[i]);
	Refs results = read_region_body(r, "yield");
	expect(r, "}");
	RegionId id = build_region_end(r->b, open, results.n, results.at);
	forget(r, mark);
	leave(r);
	return id;
}

/* instruction := [def {',' def} '='] op [operand {',' operand}] [attributes]
 *                {region} chain [span] */
static void read_inst(IrReader *r) {
	Builder *b = r->b;
	Defs defs = {0};
	VEC(TypeId) types = {0};
	if (peek(r) == '%') {
		do {
			Def d = read_def(r);
			VEC_PUSH(r->arena, &defs, d);
			VEC_PUSH(r->arena, &types, d.type);
		} while (accept(r, ","));
		expect(r, "=");
	}
	size_t start = (skip_blanks(r), r->at);
	Atom name = read_ident(r, "the name of a primitive");
	size_t end = r->at;
	Op op = prim_from_name(atom_text(r->c, name));
	if (op == OP_NONE) wrong(r, start, end, "`%s` is not a primitive", atom_text(r->c, name));
	Refs args = {0};
	if (prims[op].nargs != 0 && peek(r) != '{') args = read_operands(r);
	AttrId attr = read_attrs(r, op);
	RegionId regions[2];
	uint32_t nregions = 0;
	while (nregions < 2 && peek(r) == '{') regions[nregions++] = read_region(r);
	ChainId chain = read_chain(r);
	SpanId span = read_span(r);

	const TypeId none = 0;
	TypeQuery q = {
		.b = b, .op = op, .nargs = args.n, .args = args.at, .attr = attr, .here = b->region->id};
	q.nregions = nregions;
	q.regions = regions;
	q.stated = types.n ? types.at : &none;
	q.nstated = types.n;
	if (!infer_types(&q))
		wrong(r, start, end, "%s: %s", prims[op].name, q.why ? q.why : "operands that do not fit");
	build_at(b, span);
	build_chain(b, chain);
	InstId id = emit_inst(b, op, args.n, args.at, attr, nregions, regions, types.n, types.at);
	for (uint32_t k = 0; k < defs.n; k++)
		define(r, &defs.at[k], ref_value(b->fn->insts.at[id].results + k));
}

static Refs read_region_body(IrReader *r, const char *end) {
	Refs results = {0};
	while (!accept_word(r, end)) {
		if (peek(r) < 0)
			wrong(r, r->at, r->at, "the text ends inside a region: expected `%s`", end);
		read_inst(r);
	}
	if (peek(r) != '}') results = read_operands(r);
	return results;
}

/* ---- functions ----------------------------------------------------------- */

/* label := '@' name ['.' int] */
static Label read_label(IrReader *r) {
	expect(r, "@");
	Label l = {.name = read_name(r, "the name of a function")};
	if (peek_raw(r) == '.') {
		r->at++;
		l.suffix = read_u32(r);
	}
	return l;
}

/* Finds every `fn @label` at the start of a line, so that functions can call
 * others defined further down. */
static void find_functions(IrReader *r) {
	for (size_t line = 0; line < r->n;) {
		r->at = line;
		while (peek_raw(r) == ' ' || peek_raw(r) == '\t') r->at++;
		size_t start = r->at;
		if (peek_raw(r) == 'f' && accept_word(r, "fn")) {
			ParsedFn e = {.label = read_label(r), .start = start};
			for (uint32_t i = 0; i < r->fns.n; i++)
				if (r->fns.at[i].label.name == e.label.name &&
				    r->fns.at[i].label.suffix == e.label.suffix)
					wrong(r, start, r->at, "two functions of one name");
			VEC_PUSH(r->arena, &r->fns, e);
		}
		const char *next = memchr(r->text + line, '\n', r->n - line);
		line = next ? (size_t)(next - r->text) + 1 : r->n;
	}
}

/* symbols := '[' symlabel ['=' string] [span] {',' ...} ']' */
static void read_symbols(IrReader *r) {
	if (!accept(r, "[")) return;
	do {
		size_t start = (skip_blanks(r), r->at);
		SymLabel s = read_sym_label(r);
		for (uint32_t i = 0; i < r->syms.n; i++)
			if (r->syms.at[i].name == s.name && r->syms.at[i].suffix == s.suffix)
				wrong(r, start, r->at, "a symbol listed twice");
		Atom name = s.suffix != NO_SUFFIX && !strcmp(atom_text(r->c, s.name), "_") ? 0 : s.name;
		if (accept(r, "=")) {
			size_t n;
			const char *text = read_string(r, &n);
			name = atom_n(r->c, text, n);
		}
		VEC_PUSH(r->arena, &r->syms, s);
		build_sym(r->b, name, read_span(r));
	} while (accept(r, ","));
	expect(r, "]");
}

/* function := 'fn' label [symbols] '(' [def {',' def}] ')'
 *             '->' '(' [type {',' type}] ')' [span]
 *             ['snapshots' '(' int ',' int ')'] ['by_lane' '(' int ')'] body
 * body := '{' {instruction} 'return' [operand {',' operand}] '}' */
static void read_function(IrReader *r, uint32_t entry) {
	/* A function may be read while its caller is only partly read. */
	const IrReader caller = *r;
	memset(&r->syms, 0, sizeof r->syms);
	memset(&r->numbered, 0, sizeof r->numbered);
	memset(&r->trail, 0, sizeof r->trail);
	enter(r);
	r->at = r->fns.at[entry].start;
	if (!accept_word(r, "fn")) wrong(r, r->at, r->at + 1, "expected `fn`");
	Label label = read_label(r);
	r->b = build_begin(r->c, label.name, 0, NULL);
	r->b->verbatim = true;
	r->fns.at[entry].state = FN_OPEN;
	r->fns.at[entry].id = r->b->fn->id;
	read_symbols(r);
	expect(r, "(");
	for (bool more = peek(r) != ')'; more; more = accept(r, ",")) {
		Def d = read_def(r);
		define(r, &d, build_param(r->b, d.type, d.name));
	}
	expect(r, ")");
	expect(r, "->");
	expect(r, "(");
	VEC(TypeId) stated = {0};
	for (bool more = peek(r) != ')'; more; more = accept(r, ","))
		VEC_PUSH(r->arena, &stated, read_type(r));
	expect(r, ")");
	r->b->fn->span = read_span(r);
	if (accept_word(r, "snapshots")) {
		int64_t words[2];
		expect(r, "(");
		words[0] = read_int(r);
		expect(r, ",");
		words[1] = read_int(r);
		if ((words[0] > 0) == (words[1] > 0) || words[0] < 0 || words[1] < 0)
			wrong(r, r->at, r->at + 1,
			      "a number of snapshots or of bytes is wanted, and 0 for the other");
		expect(r, ")");
		r->b->fn->checkpoint = attr_intern(r->c, words, 2);
	}
	if (accept_word(r, "by_lane")) {
		expect(r, "(");
		int64_t k = read_int(r);
		if (k < 0 || k >= fn_nparams(r->b->fn))
			wrong(r, r->at, r->at + 1, "there is no such parameter");
		r->b->fn->batch_sequentially_by = (uint32_t)k + 1;
		expect(r, ")");
	}
	expect(r, "{");
	Refs results = read_region_body(r, "return");
	size_t start = (skip_blanks(r), r->at);
	expect(r, "}");
	bool same = results.n == stated.n;
	for (uint32_t i = 0; same && i < results.n; i++)
		same = ref_type(r->b->fn, results.at[i]) == stated.at[i];
	if (!same)
		wrong(r, start, r->at, "what is returned is not what the header of @%s says",
		      atom_text(r->c, label.name));
	ParsedFn *e = &r->fns.at[entry];
	e->fn = build_end(r->b, results.n, results.at);
	e->state = FN_READ;
	e->end = r->at;
	if (!fn_verify(e->fn, "reading")) ctx_throw(r->c, ST_INTERNAL);
	r->b = caller.b;
	r->syms = caller.syms;
	r->numbered = caller.numbered;
	r->trail = caller.trail;
	r->depth = caller.depth;
}

static FnId resolve_callee(IrReader *r) {
	size_t start = (skip_blanks(r), r->at);
	Label label = read_label(r);
	size_t after = r->at;
	for (uint32_t i = 0; i < r->fns.n; i++) {
		const ParsedFn *e = &r->fns.at[i];
		if (e->label.name != label.name || e->label.suffix != label.suffix) continue;
		if (e->state == FN_UNREAD) read_function(r, i);
		r->recursive = r->recursive || e->state == FN_OPEN;
		r->at = after;
		return r->fns.at[i].id;
	}
	wrong(r, start, after, "there is no function @%s in this text", atom_text(r->c, label.name));
}

static void read_all(Ctx *c, void *arg) {
	IrReader *r = arg;
	(void)c;
	find_functions(r);
	r->at = 0;
	while (peek(r) >= 0) {
		uint32_t i = 0;
		while (i < r->fns.n && r->fns.at[i].start != r->at) i++;
		if (i == r->fns.n) wrong(r, r->at, r->at + 1, "expected `fn @name` at the start of a line");
		if (r->fns.at[i].state == FN_UNREAD) read_function(r, i);
		r->at = r->fns.at[i].end;
		r->last = i;
	}
	if (!r->fns.n) wrong(r, 0, r->n, "there is no function in this text");
	/* What an open function gives was not known to its callers. */
	for (uint32_t i = 0; r->recursive && i < r->fns.n; i++)
		if (!fn_verify(r->fns.at[i].fn, "reading")) ctx_throw(r->c, ST_INTERNAL);
}

static void set_up(Ctx *c, void *arg) {
	IrReader *r = arg;
	ir_state(c);
	r->arena = arena_new(c);
}

/* A fault that the verifier finds in a function from text is the text's fault,
 * not an internal error. */
static void blame_text(IrReader *r, uint32_t total) {
	if (diag_total(r->c) <= total) return;
	const Diag *d = diag_at(r->c, total);
	char message[400];
	snprintf(message, sizeof message, "%s", d->message ? d->message : "");
	diag_truncate(r->c, total);
	size_t at = r->at < r->n ? r->at : r->n;
	diag_error(r->c, E_SYNTAX, span_made(r->source, (uint32_t)at, (uint32_t)at), "%s", message);
}

Fn *fn_read(Ctx *c, SourceId source, Status *why) {
	IrReader r = {.c = c, .source = source};
	uint32_t total = diag_total(c);
	r.text = source_text(c, source, &r.n);
	Status status = ctx_protect(c, set_up, &r);
	if (status == ST_OK) {
		uint32_t mark = build_mark(c);
		status = ctx_protect(c, read_all, &r);
		if (status != ST_OK) build_unwind(c, mark);
		if (status == ST_INTERNAL) {
			blame_text(&r, total);
			status = ST_ERROR;
		}
		release_owned(&r);
	}
	Fn *result = NULL;
	for (uint32_t i = 0; i < r.fns.n; i++) {
		Fn *f = r.fns.at[i].fn;
		if (status == ST_OK && i == r.last) result = f;
		else if (f) fn_unref(f);
	}
	if (r.arena) arena_free(r.arena);
	if (status == ST_NOMEM)
		diag_error(c, E_MEMORY, NO_SPAN, "out of memory while reading the text form of a function");
	if (why) *why = status == ST_OK && !result ? ST_ERROR : status;
	return result;
}
