/* text.c - growable strings, and the printing of values, headers and types.
 *
 * Needs: ir.h (IR functions are printed in their text form); the context's
 * heap.
 *
 * Contract:
 * - A failed allocation sets `failed` and leaves the text unchanged, always
 *   with a terminating NUL once it has one.
 * - Numbers can be read back: scalars are printed with the fewest of 15-17
 *   digits that give the same bits, with a decimal point in every locale.
 * - Deep nesting and large shared structures are truncated with "...".
 */
#include "lang/base/value.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef ATLED_STRESS
#define TEXT_FIRST ((size_t)1)
#else
#define TEXT_FIRST ((size_t)128)
#endif

/* ---- UTF-8 --------------------------------------------------------------- */

bool utf8_valid(const char *text, size_t n, size_t *bad) {
	const unsigned char *s = (const unsigned char *)text;
	for (size_t i = 0; i < n;) {
		if (s[i] < 0x80) {
			i++;
			continue;
		}
		uint32_t c = s[i];
		size_t more = c >= 0xf0 && c < 0xf5   ? 3
		              : c >= 0xe0 && c < 0xf0 ? 2
		              : c >= 0xc2 && c < 0xe0 ? 1
		                                      : 0;
		bool ok = more && i + more < n;
		c &= more == 3 ? 7 : more == 2 ? 15 : 31;
		for (size_t k = 1; ok && k <= more; k++) {
			ok = (s[i + k] & 0xc0) == 0x80;
			c = c << 6 | (s[i + k] & 0x3f);
		}
		if (ok)
			ok = !(more == 2 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) &&
			     !(more == 3 && (c < 0x10000 || c > 0x10ffff));
		if (!ok) {
			*bad = i;
			return false;
		}
		i += more + 1;
	}
	return true;
}

/* ---- text ---------------------------------------------------------------- */

void text_init(Text *t, Ctx *c) { *t = (Text){.ctx = c}; }

void text_free(Text *t) {
	heap_free(t->ctx, t->at, t->cap);
	*t = (Text){.ctx = t->ctx};
}

/* Reserves capacity for n more bytes and the terminating NUL. */
static bool reserve(Text *t, size_t n) {
	if (t->failed) return false;
	size_t want = t->n + n + 1;
	if (want <= t->cap && n < SIZE_MAX / 4) return true;
	size_t cap = t->cap ? t->cap * 2 : TEXT_FIRST;
	if (cap < want) cap = want;
	char *at = n < SIZE_MAX / 4 ? heap_resize(t->ctx, t->at, t->cap, cap) : NULL;
	if (!at) {
		t->failed = true;
		return false;
	}
	t->at = at;
	t->cap = cap;
	return true;
}

void text_add(Text *t, const char *s, size_t n) {
	if (!reserve(t, n)) return;
	if (n) memcpy(t->at + t->n, s, n);
	t->n += n;
	t->at[t->n] = 0;
}

void text_str(Text *t, const char *s) { text_add(t, s, strlen(s)); }

void text_format(Text *t, const char *format, ...) {
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	/* usually there is capacity, and one call suffices */
	size_t room = t->failed || !t->at ? 0 : t->cap - t->n;
	int n = vsnprintf(room ? t->at + t->n : NULL, room, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < room) {
		t->n += (size_t)n;
	} else if (n >= 0 && reserve(t, (size_t)n)) {
		vsnprintf(t->at + t->n, (size_t)n + 1, format, again);
		t->n += (size_t)n;
	} else if (room) {
		t->at[t->n] = 0;
	}
	va_end(again);
}

void text_number(Text *t, uint64_t v) {
	char digits[20];
	size_t n = sizeof digits;
	do {
		digits[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	text_add(t, digits + n, sizeof digits - n);
}

/* ---- numbers ------------------------------------------------------------- */

#define NUMBER_MOST 1400 /* the length of "%999.999f" of the largest double */

/* A parsed "{x:-8.3e}". conv 0: none, the default form. */
typedef struct FormatSpec {
	char flags[6];
	int width, precision; /* -1: not given */
	char conv;
} FormatSpec;

static int read_small(const char **p) {
	int v = 0, digits = 0;
	for (; **p >= '0' && **p <= '9'; ++*p, digits++) v = digits < 3 ? v * 10 + (**p - '0') : 1000;
	return digits ? v : -1;
}

static FormatSpec read_spec(const char *s) {
	const FormatSpec none = {.width = -1, .precision = -1};
	FormatSpec spec = none;
	if (!s) return none;
	for (; *s && strchr("-+ #0", *s); s++) {
		size_t n = strlen(spec.flags);
		if (!strchr(spec.flags, *s) && n + 1 < sizeof spec.flags) spec.flags[n] = *s;
	}
	spec.width = read_small(&s);
	if (*s == '.') {
		s++;
		spec.precision = read_small(&s);
		if (spec.precision < 0) spec.precision = 0;
	}
	if (spec.width > 999 || spec.precision > 999) return none;
	if (*s && (!strchr("efgdxs", *s) || s[1])) return none;
	/* without a letter: a precision means %g, a width means %s */
	spec.conv = *s ? *s : spec.precision >= 0 ? 'g' : spec.width >= 0 ? 's' : 0;
	return spec;
}

bool value_spec_valid(const char *spec) { return !*spec || read_spec(spec).conv; }

/* A printf format with the spec's flags (those in `allowed`), its width and
 * precision, and the given conversion. */
static void make_format(char out[40], const FormatSpec *spec, const char *allowed, bool precision,
                        const char *conversion) {
	size_t n = 0;
	out[n++] = '%';
	for (const char *f = spec->flags; *f; f++) {
		if (strchr(allowed, *f)) out[n++] = *f;
	}
	if (spec->width >= 0) n += (size_t)snprintf(out + n, 8, "%d", spec->width);
	if (precision && spec->precision >= 0)
		n += (size_t)snprintf(out + n, 8, ".%d", spec->precision);
	strcpy(out + n, conversion);
}

/* printf uses the locale's decimal separator, but a program's output must not
 * depend on its host. Any characters between the digits that are not part of a
 * number are that separator. */
static void point_only(char *s) {
	s += strspn(s, "0123456789+-. einfaINFAxXpPE");
	if (!*s) return;
	size_t n = strcspn(s, "0123456789+- eE");
	*s = '.';
	memmove(s + 1, s + n, strlen(s + n) + 1);
}

/* Both require formats made by make_format from a checked spec. */
static void print_real_as(char *out, const char *format, double x) {
	snprintf(out, NUMBER_MOST, format, x != x ? NAN : x);
	point_only(out);
}

static void print_int_as(char *out, const char *format, int64_t x) {
	snprintf(out, NUMBER_MOST, format, (long long)x);
}

/* The fewest digits that read back as the same number. */
static void shortest(char *out, double x, bool single) {
	for (int digits = single ? 6 : 15, most = single ? 9 : 17; digits <= most; digits++) {
		snprintf(out, NUMBER_MOST, "%.*g", digits, x != x ? NAN : x);
		double back = strtod(out, NULL);
		if (x != x || back == x || (single && (float)back == (float)x)) break;
	}
	point_only(out);
}

typedef enum ScalarForm {
	FORM_SCALAR, /* 2.0, all digits */
	FORM_PART,   /* 2, all digits: components of a complex scalar */
	FORM_ELEMENT /* 2, six digits */
} ScalarForm;

static void print_real(char *out, double x, bool single, const FormatSpec *spec, ScalarForm form) {
	char format[40];
	switch (spec->conv) {
	case 'e':
	case 'f':
	case 'g':
		make_format(format, spec, "-+ #0", true, (const char[]){spec->conv, 0});
		print_real_as(out, format, x);
		return;
	case 'd': /* a float printed as an integer is rounded */
		make_format(format, spec, "-+ 0", false, ".0f");
		print_real_as(out, format, x);
		return;
	default: break;
	}
	if (form == FORM_ELEMENT) {
		print_real_as(out, "%.6g", x);
		return;
	}
	shortest(out, x, single);
	if (form == FORM_SCALAR && !out[strspn(out, "-0123456789")]) strcat(out, ".0");
}

static void print_int(char *out, int64_t x, const FormatSpec *spec) {
	char format[40];
	switch (spec->conv) {
	case 'e':
	case 'f':
	case 'g':
		make_format(format, spec, "-+ #0", true, (const char[]){spec->conv, 0});
		print_real_as(out, format, (double)x);
		return;
	case 'd':
		make_format(format, spec, "-+ 0", true, "lld");
		print_int_as(out, format, x);
		return;
	case 'x':
		make_format(format, spec, "-#0", true, "llx");
		print_int_as(out, format, x);
		return;
	default: snprintf(out, NUMBER_MOST, "%" PRId64, x);
	}
}

/* The s conversion: truncated to the precision and padded to the width, both in
 * display columns. */
static void add_padded(Text *t, const char *s, size_t n, const FormatSpec *spec) {
	if (spec->conv != 's') {
		text_add(t, s, n);
		return;
	}
	if (spec->precision >= 0) n = text_fitting(s, n, (size_t)spec->precision);
	size_t columns = text_columns(s, n), width = spec->width > 0 ? (size_t)spec->width : 0;
	size_t pad = width > columns ? width - columns : 0;
	bool left = strchr(spec->flags, '-') != NULL;
	for (size_t i = 0; i < pad && !left; i++) text_add(t, " ", 1);
	text_add(t, s, n);
	for (size_t i = 0; i < pad && left; i++) text_add(t, " ", 1);
}

static void add_complex(Text *t, double re, double im, bool single, const FormatSpec *spec,
                        ScalarForm form) {
	char part[NUMBER_MOST], whole[2 * NUMBER_MOST + 8];
	print_real(part, re, single, spec, form == FORM_ELEMENT ? form : FORM_PART);
	size_t n =
		(size_t)snprintf(whole, sizeof whole, "%s %c ", part, signbit(im) && im == im ? '-' : '+');
	print_real(part, im == im ? fabs(im) : im, single, spec,
	           form == FORM_ELEMENT ? form : FORM_PART);
	n += (size_t)snprintf(whole + n, sizeof whole - n, "%sim", part);
	add_padded(t, whole, n, spec);
}

static void add_number(Text *t, Dtype dtype, const void *p, const FormatSpec *spec,
                       ScalarForm form) {
	char number[NUMBER_MOST] = "";
	Value v = value_scalar_from_bytes(dtype, p);
	switch (dtype) {
	case DT_BOOL:
		if (spec->conv == 'd') print_int(number, v.b, spec);
		else strcpy(number, v.b ? "true" : "false");
		break;
	case DT_I32:
		print_int(number, spec->conv == 'x' ? (int64_t)(uint32_t)v.i32 : v.i32, spec);
		break;
	case DT_I64: print_int(number, v.i, spec); break;
	case DT_F32: print_real(number, v.f32, true, spec, form); break;
	case DT_F64: print_real(number, v.f, false, spec, form); break;
	case DT_C64: add_complex(t, crealf(v.c64), cimagf(v.c64), true, spec, form); return;
	case DT_C128: add_complex(t, creal(v.c), cimag(v.c), false, spec, form); return;
	case DT_COUNT: return;
	}
	add_padded(t, number, strlen(number), spec);
}

/* ---- values -------------------------------------------------------------- */

#define PRINT_DEPTH_MOST 64
/* Limits nested containers: with shared parts, the output can exceed any
 * memory. */
#define PRINT_BYTES_MOST ((size_t)16 << 20)

typedef struct ValuePrinter {
	Text *out;
	FormatSpec spec;
	int edge;
	size_t most; /* the length of out at which containers are truncated */
} ValuePrinter;

static void add_axis(ValuePrinter *p, const Tensor *t, uint32_t axis, const char *data) {
	if (axis == t->rank) {
		add_number(p->out, (Dtype)t->dtype, data, &p->spec, FORM_ELEMENT);
		return;
	}
	int64_t n = t->shape[axis], step = t->stride[axis] * (int64_t)dtype_size((Dtype)t->dtype);
	bool cut = p->edge > 0 && n > 2 * (int64_t)p->edge;
	text_str(p->out, "[");
	for (int64_t i = 0; i < n && !p->out->failed; i++) {
		if (cut && i == p->edge) {
			text_str(p->out, ", ...");
			i = n - p->edge;
		}
		if (i) text_str(p->out, ", ");
		add_axis(p, t, axis + 1, data + i * step);
	}
	text_str(p->out, "]");
}

static void add_quoted(Text *t, const char *s, size_t n) {
	text_str(t, "\"");
	for (size_t i = 0, from = 0; i <= n; i++) {
		unsigned char ch = i < n ? (unsigned char)s[i] : 0;
		if (i < n && ch >= 0x20 && ch != 0x7f && ch != '"' && ch != '\\') continue;
		text_add(t, s + from, i - from);
		from = i + 1;
		if (i == n) break;
		if (ch == '"' || ch == '\\') text_format(t, "\\%c", ch);
		else if (ch == '\n') text_str(t, "\\n");
		else if (ch == '\t') text_str(t, "\\t");
		else if (ch == '\r') text_str(t, "\\r");
		else text_format(t, "\\u{%x}", ch);
	}
	text_str(t, "\"");
}

static void add_value(ValuePrinter *p, Value v, int depth);

/* Called between items; returns false when the remaining ones are to be
 * omitted. */
static bool next_item(ValuePrinter *p, uint32_t i, int depth) {
	if (p->out->failed) return false;
	if (i) text_str(p->out, ", ");
	if (depth < PRINT_DEPTH_MOST && p->out->n < p->most) return true;
	text_str(p->out, "...");
	return false;
}

static void add_value(ValuePrinter *p, Value v, int depth) {
	Text *t = p->out;
	switch ((ValueKind)v.kind) {
	case V_UNSET: break;
	case V_NONE: text_str(t, "none"); break;
	case V_SCALAR:
		add_number(t, (Dtype)v.dtype, value_scalar_bytes(&v), &p->spec, FORM_SCALAR);
		break;
	case V_TENSOR:
		if (v.tensor->rank) add_axis(p, v.tensor, 0, v.tensor->data);
		else add_number(t, (Dtype)v.tensor->dtype, v.tensor->data, &p->spec, FORM_SCALAR);
		break;
	case V_STRING: {
		const StringObject *s = (const StringObject *)v.object;
		if (depth) add_quoted(t, s->text, s->head.n);
		else add_padded(t, s->text, s->head.n, &p->spec);
		break;
	}
	case V_RANGE: {
		const RangeObject *r = (const RangeObject *)v.object;
		text_format(t, "%" PRId64 "..%" PRId64, r->start, r->stop);
		if (r->step != 1) text_format(t, " by %" PRId64, r->step);
		break;
	}
	case V_TUPLE:
	case V_LIST: {
		const SeqObject *s = (const SeqObject *)v.object;
		text_str(t, v.kind == V_LIST ? "list(" : "(");
		for (uint32_t i = 0; i < s->head.n && next_item(p, i, depth); i++)
			add_value(p, s->items[i], depth + 1);
		/* (x) would be x in parentheses */
		text_str(t, v.kind == V_TUPLE && s->head.n == 1 ? ",)" : ")");
		break;
	}
	case V_RECORD: {
		const RecordObject *r = (const RecordObject *)v.object;
		text_str(t, "(");
		for (uint32_t i = 0; i < r->head.n && next_item(p, i, depth); i++) {
			text_add(t, atom_text(r->head.ctx, r->fields[i].name),
			         atom_length(r->head.ctx, r->fields[i].name));
			text_str(t, " = ");
			add_value(p, r->fields[i].value, depth + 1);
		}
		text_str(t, ")");
		break;
	}
	case V_FUNCTION:
	case V_PROBLEM: {
		const FunctionObject *f = (const FunctionObject *)v.object;
		const char *name = atom_text(f->head.ctx, f->name);
		if (f->code_kind == CODE_KIND_IR && depth == 0) {
			ctx_hooks(f->head.ctx)->print_code(t, f->code);
			if (t->n && t->at[t->n - 1] == '\n') t->n--;
			break;
		}
		text_str(t, v.kind == V_FUNCTION ? "<function" : "<problem");
		if (*name && *name != '_') { /* the library's internal names are not shown */
			text_str(t, " ");
			text_str(t, name);
		}
		text_str(t, ">");
		break;
	}
	case V_HOST: {
		const HostObject *h = (const HostObject *)v.object;
		text_format(t, "<host %s>", atom_text(h->head.ctx, h->type));
		break;
	}
	case V_TOKEN: text_str(t, "token"); break;
	}
}

void value_print(Text *out, Value v, const char *spec, int edge) {
	ValuePrinter p = {
		.out = out, .spec = read_spec(spec), .edge = edge, .most = out->n + PRINT_BYTES_MOST};
	add_value(&p, v, 0);
}

/* ---- headers ------------------------------------------------------------- */

typedef struct Summary {
	Dtype dtype;
	double min, max;
	int64_t imin, imax;
	/* seen: numbers included in min and max; for bools, the number of true
	 * ones. */
	int64_t seen, nans;
	const Ctx *ctx;
	/* The context was interrupted before all elements were examined. */
	bool cut;
} Summary;

/* For contiguous elements, the usual case of large arrays. */
static void summarise_doubles(Summary *s, int64_t n, const double *x) {
	double least = INFINITY, most = -INFINITY;
	int64_t nans = 0;
	for (int64_t i = 0; i < n; i++) {
		nans += x[i] != x[i];
		least = x[i] < least ? x[i] : least;
		most = x[i] > most ? x[i] : most;
	}
	s->nans += nans;
	if (nans == n) return;
	if (!s->seen || least < s->min) s->min = least;
	if (!s->seen || most > s->max) s->max = most;
	s->seen += n - nans;
}

static void summarise(void *ud, int64_t n, char **ptr, const int64_t *stride) {
	Summary *s = ud;
	const char *p = ptr[0];
	enum { PIECE = 1 << 16 };
	for (; n > PIECE && !s->cut; n -= PIECE, p += PIECE * stride[0]) {
		s->cut = ctx_interrupted(s->ctx);
		char *piece = (char *)(uintptr_t)p;
		if (!s->cut) summarise(s, PIECE, &piece, stride);
	}
	if (s->cut) return;
	if (s->dtype == DT_F64 && stride[0] == (int64_t)sizeof(double)) {
		summarise_doubles(s, n, (const double *)(const void *)p);
		return;
	}
	for (; n > 0; n--, p += stride[0]) {
		Value v = value_scalar_from_bytes(s->dtype, p);
		if (s->dtype == DT_BOOL) {
			s->seen += v.b;
		} else if (dtype_is_int(s->dtype)) {
			int64_t x = s->dtype == DT_I32 ? v.i32 : v.i;
			if (!s->seen || x < s->imin) s->imin = x;
			if (!s->seen || x > s->imax) s->imax = x;
			s->seen++;
		} else {
			double x = 0;
			if (s->dtype == DT_F32) x = v.f32;
			else if (s->dtype == DT_F64) x = v.f;
			else x = s->dtype == DT_C64 ? cabsf(v.c64) : cabs(v.c);
			if (x != x) {
				s->nans++;
				continue;
			}
			if (!s->seen || x < s->min) s->min = x;
			if (!s->seen || x > s->max) s->max = x;
			s->seen++;
		}
	}
}

static void add_bytes(Text *t, double bytes) {
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
	int unit = 0;
	for (; bytes >= 1024 && unit < 6; unit++) bytes /= 1024;
	char number[NUMBER_MOST];
	print_real_as(number, bytes < 9.95 && bytes != floor(bytes) ? "%.1f" : "%.0f", bytes);
	text_format(t, "%s %s", number, units[unit]);
}

static void add_labelled(Text *t, const char *label, double x) {
	char number[NUMBER_MOST];
	print_real_as(number, "%.4g", x);
	text_format(t, "  %s %s", label, number);
}

void value_header(Text *out, Value v) {
	value_type_print(out, v);
	if (v.kind != V_TENSOR) return;
	Summary s = {.dtype = (Dtype)v.tensor->dtype, .ctx = out->ctx};
	text_str(out, "  ");
	add_bytes(out, (double)v.tensor->count * (double)dtype_size(s.dtype));
	/* A broadcast axis repeats the same elements: only one is examined, and
	 * counted as many times. */
	Tensor once = *v.tensor, *walked = &once;
	int64_t repeats = 1;
	for (uint32_t i = 0; i < once.rank && once.count; i++) {
		if (once.stride[i]) continue;
		repeats *= once.shape[i];
		once.count /= once.shape[i];
		once.shape[i] = 1;
	}
	tensor_walk(1, &walked, summarise, &s);
	if (s.cut) return;
	s.nans *= repeats;
	if (s.dtype == DT_BOOL) {
		if (v.tensor->count) text_format(out, "  true %" PRId64, s.seen * repeats);
	} else if (s.seen && dtype_is_int(s.dtype)) {
		text_format(out, "  min %" PRId64 "  max %" PRId64, s.imin, s.imax);
	} else if (s.seen) {
		add_labelled(out, dtype_is_complex(s.dtype) ? "min abs" : "min", s.min);
		add_labelled(out, dtype_is_complex(s.dtype) ? "max abs" : "max", s.max);
	}
	if (s.nans || (s.seen && !dtype_is_int(s.dtype) && s.dtype != DT_BOOL))
		text_format(out, "  nan %" PRId64, s.nans);
}

#define TYPE_ITEMS_MOST 16u
#define TYPE_DEPTH_MOST 8

static void add_type(Text *t, Value v, int depth) {
	static const char *const names[] = {"unset",   "none",  "",     "",       "string",
	                                    "range",   "tuple", "list", "record", "function",
	                                    "problem", "host",  "token"};
	if (v.kind == V_SCALAR) {
		text_str(t, dtype_name((Dtype)v.dtype));
		return;
	}
	if (v.kind == V_TENSOR) {
		text_str(t, dtype_name((Dtype)v.tensor->dtype));
		for (uint32_t i = 0; i < v.tensor->rank; i++)
			text_format(t, "%s%" PRId64, i ? ", " : "[", v.tensor->shape[i]);
		if (v.tensor->rank) text_str(t, "]");
		return;
	}
	text_str(t, names[v.kind]);
	if (v.kind == V_HOST) {
		text_str(t, " ");
		text_str(t, atom_text(v.object->ctx, ((const HostObject *)v.object)->type));
	}
	if (v.kind != V_TUPLE && v.kind != V_LIST && v.kind != V_RECORD) return;
	const RecordObject *r = (const RecordObject *)v.object;
	const SeqObject *s = (const SeqObject *)v.object;
	text_str(t, " (");
	for (uint32_t i = 0; i < v.object->n && !t->failed; i++) {
		if (i) text_str(t, ", ");
		if (i == TYPE_ITEMS_MOST || depth == TYPE_DEPTH_MOST || t->n > PRINT_BYTES_MOST) {
			text_str(t, "...");
			break;
		}
		if (v.kind == V_RECORD) {
			text_str(t, atom_text(r->head.ctx, r->fields[i].name));
			text_str(t, ": ");
			add_type(t, r->fields[i].value, depth + 1);
		} else {
			add_type(t, s->items[i], depth + 1);
		}
	}
	text_str(t, ")");
}

void value_type_print(Text *out, Value v) { add_type(out, v, 0); }
