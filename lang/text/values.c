/* values.c - the values of the text form.
 *
 * Needs: reader.h.
 *
 * Contract: the reader owns what has been read until it ends.
 */
#include "lang/text/reader.h"
#include <errno.h>
#include <stdlib.h>

/* The reader's list holds every new value until its function is complete, so
 * that a throw loses none. */
static Value own(IrReader *r, Value v) {
	if (v.kind == V_UNSET || (v.kind == V_TENSOR && !v.tensor)) ctx_throw(r->c, ST_NOMEM);
	r->owned.at[r->owned.n++] = v;
	return v;
}
static void make_room(IrReader *r) { VEC_RESERVE(r->arena, &r->owned, r->owned.n + 1u); }
#define OWN(r, make) (make_room(r), own((r), (make)))

void form_release_owned(IrReader *r) {
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
	size_t start = (form_skip_blanks(r), r->at), n = 0;
	Literal out = {0};
	if (form_accept_word(r, "nan")) {
		uint64_t bits = 0x7ff8000000000000u;
		uint32_t narrow = 0x7fc00000u;
		if (form_peek_raw(r) == '(') {
			r->at++;
			char hex[20] = {0};
			while (r->at < r->n && n < 18 && r->text[r->at] &&
			       strchr("0123456789abcdefABCDEFx", r->text[r->at]))
				hex[n++] = r->text[r->at++];
			form_expect(r, ")");
			bits = strtoull(hex, NULL, 16);
			narrow = (uint32_t)bits;
		}
		memcpy(&out.f, &bits, sizeof bits);
		memcpy(&out.f32, &narrow, sizeof narrow);
		return out;
	}
	bool negative = form_accept(r, "-");
	if (form_accept_word(r, "inf")) {
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
		form_wrong(r, start, r->at + 1, "expected a number");
	out.f = strtod(buf, &stop);
	if (*stop) form_wrong(r, start, r->at, "a malformed number");
	out.f32 = strtof(buf, NULL);
	errno = 0;
	if (out.whole) out.i = strtoll(buf, NULL, 10);
	if (out.whole && errno) form_wrong(r, start, r->at, "an integer of more than 64 bits");
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
	if (!form_accept_word(r, "complex")) form_wrong(r, r->at, r->at + 1, "expected `complex`");
	form_expect(r, "(");
	part[0] = read_number(r);
	form_expect(r, ",");
	part[1] = read_number(r);
	form_expect(r, ")");
}

/* An element of a tensor with known dtype. */
static void read_element(IrReader *r, Dtype d, void *out) {
	size_t start = (form_skip_blanks(r), r->at);
	switch (d) {
	case DT_BOOL:
		if (!form_at_word(r, "true") && !form_at_word(r, "false"))
			form_wrong(r, start, r->at + 1, "expected true or false");
		*(bool *)out = form_accept_word(r, "true");
		if (!*(bool *)out) form_accept_word(r, "false");
		break;
	case DT_I32:
	case DT_I64: {
		int64_t v = form_read_int(r);
		if (d == DT_I64) *(int64_t *)out = v;
		else if (v < INT32_MIN || v > INT32_MAX) form_wrong(r, start, r->at, "more than 32 bits");
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
Value form_read_tensor(IrReader *r) {
	size_t start = r->at;
	Dtype d = form_read_dtype(r);
	int64_t shape[MAX_RANK];
	uint64_t count = 1;
	uint32_t rank = 0;
	form_expect(r, "[");
	do {
		if (rank == MAX_RANK) form_wrong(r, start, r->at, "more than %d axes", MAX_RANK);
		shape[rank] = form_read_u32(r);
		count *= (uint64_t)shape[rank++];
		/* Each element takes at least one character, which bounds the
		 * allocation that a few bytes of text can cause. */
		if (count > r->n) form_wrong(r, start, r->at, "more elements than there is text");
	} while (form_accept(r, ","));
	form_expect(r, "]");
	form_expect(r, "{");
	Value v = OWN(r, value_tensor(tensor_zeros(r->c, d, rank, shape)));
	for (uint64_t i = 0; i < count; i++) {
		if (i) form_expect(r, ",");
		read_element(r, d, v.tensor->data + i * dtype_size(d));
	}
	form_expect(r, "}");
	return v;
}

/* scalar := 'true' | 'false' | (number | complex) [':' dtype] */
Value form_read_scalar(IrReader *r) {
	size_t start = r->at;
	if (form_accept_word(r, "true")) return value_bool(true);
	if (form_accept_word(r, "false")) return value_bool(false);
	Literal part[2] = {{0}, {0}};
	bool paired = form_at_word(r, "complex");
	if (paired) read_complex(r, part);
	else part[0] = read_number(r);
	Dtype d = paired ? DT_C128 : part[0].whole ? DT_I64 : DT_F64;
	if (form_peek_raw(r) == ':') {
		r->at++;
		d = form_read_dtype(r);
	}
	Value v = {.kind = V_SCALAR, .dtype = (uint8_t)d};
	bool fits = paired ? dtype_is_complex(d)
	                   : d == DT_F32 || d == DT_F64 || (part[0].whole && dtype_is_int(d));
	if (d == DT_I32 && (part[0].i < INT32_MIN || part[0].i > INT32_MAX)) fits = false;
	if (!fits) form_wrong(r, start, r->at, "a number that is not of the dtype %s", dtype_name(d));
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

bool form_at_tensor(IrReader *r) {
	size_t n = form_ident_length(r);
	return n && r->at + n < r->n && r->text[r->at + n] == '[';
}

/* sequence := [value {',' value}] close; a record has `name ':'` before each
 * value */
static Value read_items(IrReader *r, ValueKind kind, const char *close) {
	VEC(Value) items = {0};
	VEC(Atom) names = {0};
	form_enter(r);
	while (!form_accept(r, close)) {
		if (items.n) form_expect(r, ",");
		if (kind == V_RECORD) {
			VEC_PUSH(r->arena, &names, form_read_name(r, "the name of a field"));
			form_expect(r, ":");
		}
		Value v = form_read_value(r);
		VEC_PUSH(r->arena, &items, v);
	}
	form_leave(r);
	if (kind == V_RECORD) return OWN(r, value_record(r->c, items.n, names.at, items.at));
	return OWN(r, value_seq(r->c, kind, items.n, items.at));
}

/* value := '_' | 'none' | 'token' | string | '(' sequence | '[' sequence
 *          | '{' sequence | range | tensor | scalar
 * range := 'range' '(' int ',' int ',' int ')'
 *
 * The value is borrowed from the reader's list.
 */
Value form_read_value(IrReader *r) {
	size_t start = (form_skip_blanks(r), r->at);
	if (form_accept_word(r, "_")) return (Value){0};
	if (form_accept_word(r, "none")) return value_none();
	if (form_accept_word(r, "token")) return (Value){.kind = V_TOKEN};
	if (form_accept(r, "(")) return read_items(r, V_TUPLE, ")");
	if (form_accept(r, "[")) return read_items(r, V_LIST, "]");
	if (form_accept(r, "{")) return read_items(r, V_RECORD, "}");
	if (form_peek(r) == '"') {
		size_t n;
		const char *s = form_read_string(r, &n);
		return OWN(r, value_string(r->c, s, n));
	}
	if (form_peek(r) == '<')
		form_wrong(r, start, start + 1, "a function value cannot be read back from text");
	if (form_accept_word(r, "range")) {
		int64_t part[3];
		for (int k = 0; k < 3; k++) {
			form_expect(r, k ? "," : "(");
			part[k] = form_read_int(r);
		}
		form_expect(r, ")");
		if (!part[2]) form_wrong(r, start, r->at, "a range whose step is 0");
		return OWN(r, value_range(r->c, part[0], part[1], part[2]));
	}
	if (form_at_tensor(r)) return form_read_tensor(r);
	return form_read_scalar(r);
}
