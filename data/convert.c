/* convert.c - conversion of file elements and decimal numbers; names, records
 * and strings shared by the readers.
 *
 * Needs: data/internal.h.
 *
 * Contract:
 * - Conversions are exact. Every file element has a dtype that holds it, except
 *   u64 values of 2^63 or more, which are reported.
 * - Decimal conversion does not depend on the host's locale.
 */
#include "data/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool machine_is_little(void) {
	const uint16_t one = 1;
	return *(const uint8_t *)&one == 1;
}

size_t elem_size(Elem e) {
	static const unsigned char size[EL_COUNT] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 8, 16};
	return size[e];
}

Dtype elem_dtype(Elem e) {
	static const unsigned char to[EL_COUNT] = {DT_BOOL, DT_I32, DT_I32, DT_I32, DT_I32,
	                                           DT_I32,  DT_I64, DT_I64, DT_I64, DT_F32,
	                                           DT_F32,  DT_F64, DT_C64, DT_C128};
	return (Dtype)to[e];
}

static float half_to_float(uint16_t h) {
	uint32_t sign = (uint32_t)(h >> 15) << 31, e = h >> 10 & 31, m = h & 1023, bits;
	if (e == 31) bits = sign | 0x7f800000u | m << 13;
	else if (e) bits = sign | (e + 112) << 23 | m << 13;
	else {
		float f = ldexpf((float)m, -24);
		return sign ? -f : f;
	}
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

static void swap_parts(uint8_t *p, size_t size) {
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t t = p[i];
		p[i] = p[size - 1 - i];
		p[size - 1 - i] = t;
	}
}

int64_t elem_convert(Elem e, bool swap, size_t n, const void *from, void *to) {
	const uint8_t *f = from;
	uint8_t *t = to;
	const size_t size = elem_size(e), wide = dtype_size(elem_dtype(e));
	const size_t part = e == EL_C64 ? 4 : e == EL_C128 ? 8 : size;
	for (size_t i = 0; i < n; i++, f += size, t += wide) {
		uint8_t raw[16];
		memcpy(raw, f, size);
		if (swap)
			for (size_t k = 0; k < size; k += part) swap_parts(raw + k, part);
		switch (e) {
		case EL_BOOL: *t = raw[0] != 0; break;
		case EL_I8: memcpy(t, &(int32_t){(int8_t)raw[0]}, 4); break;
		case EL_U8: memcpy(t, &(int32_t){raw[0]}, 4); break;
		case EL_I16: {
			int16_t x;
			memcpy(&x, raw, 2);
			memcpy(t, &(int32_t){x}, 4);
			break;
		}
		case EL_U16: {
			uint16_t x;
			memcpy(&x, raw, 2);
			memcpy(t, &(int32_t){x}, 4);
			break;
		}
		case EL_U32: {
			uint32_t x;
			memcpy(&x, raw, 4);
			memcpy(t, &(int64_t){x}, 8);
			break;
		}
		case EL_U64: {
			uint64_t x;
			memcpy(&x, raw, 8);
			if (x > INT64_MAX) return (int64_t)i;
			memcpy(t, &x, 8);
			break;
		}
		case EL_F16: {
			uint16_t x;
			memcpy(&x, raw, 2);
			float y = half_to_float(x);
			memcpy(t, &y, 4);
			break;
		}
		default: memcpy(t, raw, size);
		}
	}
	return -1;
}

/* ---- decimal numbers ----------------------------------------------------- */

/* The decimal point of snprintf and strtod in the current locale. */
static char local_point(void) {
	char text[8];
	snprintf(text, sizeof text, "%.1f", 0.5);
	return text[1];
}

size_t number_print(char out[40], double x) {
	if (x != x) return strlen(strcpy(out, "nan"));
	if (x - x != 0) return strlen(strcpy(out, x > 0 ? "inf" : "-inf"));
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, 40, "%.*g", digits, x);
		if (strtod(out, NULL) == x) break;
	}
	bool whole = true;
	for (char *p = out; *p; p++) {
		if (*p == ',') *p = '.';
		whole &= (*p >= '0' && *p <= '9') || *p == '-';
	}
	if (whole) strcat(out, ".0");
	return strlen(out);
}

const char *number_read(const char *from, const char *end, double *x) {
	const char *p = from;
	char text[64], *long_text = NULL, *to = text;
	if (p < end && (*p == '-' || *p == '+')) p++;
	size_t digits = 0;
	while (p < end && *p >= '0' && *p <= '9') p++, digits++;
	if (p < end && *p == '.') {
		p++;
		while (p < end && *p >= '0' && *p <= '9') p++, digits++;
	}
	if (!digits) return NULL;
	if (p < end && (*p == 'e' || *p == 'E')) {
		const char *q = p + 1;
		if (q < end && (*q == '-' || *q == '+')) q++;
		if (q < end && *q >= '0' && *q <= '9') {
			while (q < end && *q >= '0' && *q <= '9') q++;
			p = q;
		}
	}
	size_t n = (size_t)(p - from);
	if (n >= sizeof text && !(to = long_text = malloc(n + 1))) return NULL;
	memcpy(to, from, n);
	to[n] = 0;
	char point = local_point(), *dot = point == '.' ? NULL : strchr(to, '.');
	if (dot) *dot = point;
	*x = strtod(to, NULL);
	free(long_text);
	return p;
}

/* ---- strings, names, records --------------------------------------------- */

const char *string_text(Value v, size_t *n) {
	if (n) *n = v.kind == V_STRING ? v.object->n : 0;
	return v.kind == V_STRING ? ((const StringObject *)v.object)->text : "";
}

struct try {
	const char *text;
	size_t n;
	Atom out;
};
static void try_body(Ctx *c, void *arg) {
	struct try *t = arg;
	t->out = atom_n(c, t->text, t->n);
}
bool atom_try(Ctx *c, const char *text, size_t n, Atom *out) {
	struct try t = {text, n, 0};
	bool ok = ctx_protect(c, try_body, &t) == ST_OK;
	*out = t.out;
	return ok;
}

void fields_init(Fields *f, Ctx *c) { *f = (Fields){.c = c}; }

void fields_free(Fields *f) {
	for (uint32_t i = 0; i < f->n; i++) value_unref(f->values[i]);
	heap_free(f->c, f->names, f->cap * sizeof *f->names);
	heap_free(f->c, f->values, f->cap * sizeof *f->values);
	*f = (Fields){.c = f->c};
}

int64_t fields_find(const Fields *f, const char *name, size_t n) {
	for (uint32_t i = 0; i < f->n; i++)
		if (atom_length(f->c, f->names[i]) == n && !memcmp(atom_text(f->c, f->names[i]), name, n))
			return i;
	return -1;
}

/* Both lists grow, or neither. */
static bool fields_grow(Fields *f) {
	const uint32_t cap = f->cap ? f->cap * 2 : 8;
	Atom *names = heap_alloc(f->c, cap * sizeof *names);
	Value *values = names ? heap_alloc(f->c, cap * sizeof *values) : NULL;
	if (!values) {
		heap_free(f->c, names, cap * sizeof *names);
		return false;
	}
	for (uint32_t i = 0; i < f->n; i++) names[i] = f->names[i], values[i] = f->values[i];
	heap_free(f->c, f->names, f->cap * sizeof *f->names);
	heap_free(f->c, f->values, f->cap * sizeof *f->values);
	f->names = names;
	f->values = values;
	f->cap = cap;
	return true;
}

void fields_add(Fields *f, const char *name, size_t n, Value v) {
	Atom a;
	if (v.kind == V_UNSET || f->failed || !atom_try(f->c, name, n, &a)) {
		f->failed = true;
		value_unref(v);
		return;
	}
	if (f->n == f->cap && !fields_grow(f)) {
		f->failed = true;
		value_unref(v);
		return;
	}
	f->names[f->n] = a;
	f->values[f->n++] = v;
}

Value fields_record(Fields *f) {
	Value v = f->failed ? (Value){.kind = V_UNSET} : value_record(f->c, f->n, f->names, f->values);
	fields_free(f);
	return v;
}

static bool plain_name_byte(char c) { return c != '/' && c != '%' && (unsigned char)c >= 0x20; }

size_t name_escape(const char *name, size_t n, char *to, size_t cap) {
	size_t k = 0;
	for (size_t i = 0; i < n && k + 4 < cap; i++) {
		if (plain_name_byte(name[i]) && !(i == 0 && name[i] == '.' && strncmp(name, ".kind", n)))
			to[k++] = name[i];
		else k += (size_t)snprintf(to + k, 4, "%%%02X", (unsigned char)name[i]);
	}
	if (!n) k = (size_t)snprintf(to, cap, "%%00");
	to[k] = 0;
	return k;
}

static int hex(char c) {
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	                              : -1;
}

size_t name_unescape(const char *name, size_t n, char *to, size_t cap) {
	size_t k = 0;
	for (size_t i = 0; i < n && k + 1 < cap; i++) {
		if (name[i] == '%' && i + 2 < n && hex(name[i + 1]) >= 0 && hex(name[i + 2]) >= 0) {
			int c = hex(name[i + 1]) * 16 + hex(name[i + 2]);
			if (c) to[k++] = (char)c;
			i += 2;
		} else to[k++] = name[i];
	}
	to[k] = 0;
	return k;
}
