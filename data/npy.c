/* npy.c - NumPy's .npy: one array, or strings.
 *
 * Needs: data/internal.h. Format: numpy.lib.format, versions 1 to 3.
 *
 * Contract:
 * - Reads every numeric dtype in either byte order and axis order, and strings
 *   (U, S). Dtypes that Atled lacks are widened.
 * - Writes version 1 in the machine's byte order, row-major.
 */
#include "data/internal.h"

#include <stdio.h>
#include <string.h>

enum { HEADER_MOST = 1 << 20, PIECE = 1 << 18 };

typedef struct NpyHeader {
	Elem elem;
	char text;        /* 'U', 'S', or 0 for numbers */
	uint64_t letters; /* characters of a string */
	bool swap, fortran;
	uint32_t rank;
	int64_t shape[32];
} NpyHeader;

static Status bad(const NpyStream *s, uint64_t at, const char *what) {
	if (s->part)
		return input_bad(s->in, "%s: byte %llu: %s", s->part, (unsigned long long)at, what);
	return input_bad_byte(s->in, at, "%s", what);
}

/* The value after 'key': in the header's dictionary; NULL if it is missing. */
static const char *value_of(const char *text, const char *key) {
	const size_t n = strlen(key);
	for (const char *p = text; (p = strstr(p, key)); p += n) {
		if (p == text || (p[-1] != '\'' && p[-1] != '"') || p[n] != p[-1]) continue;
		const char *q = p + n + 1;
		q += strspn(q, " ");
		if (*q == ':') return q + 1 + strspn(q + 1, " ");
	}
	return NULL;
}

static const char *read_descr(const char *p, NpyHeader *h) {
	static const struct {
		const char *code;
		Elem elem;
	} codes[] = {{"b1", EL_BOOL}, {"i1", EL_I8},  {"u1", EL_U8},  {"i2", EL_I16},  {"u2", EL_U16},
	             {"i4", EL_I32},  {"u4", EL_U32}, {"i8", EL_I64}, {"u8", EL_U64},  {"f2", EL_F16},
	             {"f4", EL_F32},  {"f8", EL_F64}, {"c8", EL_C64}, {"c16", EL_C128}};
	if (*p == '[') return "an array of records; save its fields one by one";
	if (*p != '\'' && *p != '"') return "descr is no string";
	char order = p[1];
	if (!strchr("<>=|", order) || !order) return "descr has no byte order";
	const char *code = p + 2, *end = strchr(code, *p);
	if (!end) return "descr has no end";
	h->swap = (order == '>' && machine_is_little()) || (order == '<' && !machine_is_little());
	const size_t n = (size_t)(end - code);
	if (*code == 'O') return "an array of Python objects, which only Python can read";
	if (*code == 'U' || *code == 'S') {
		h->text = *code;
		for (code++; code < end; code++) {
			if (*code < '0' || *code > '9' || h->letters > 100000000)
				return "descr has a strange length of strings";
			h->letters = h->letters * 10 + (uint64_t)(*code - '0');
		}
		return NULL;
	}
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strlen(codes[i].code) == n && !memcmp(codes[i].code, code, n)) {
			h->elem = codes[i].elem;
			return NULL;
		}
	return "a dtype that Atled does not have";
}

static const char *read_shape(const char *p, NpyHeader *h) {
	if (*p != '(') return "shape is no tuple";
	for (p++;;) {
		p += strspn(p, " ,");
		if (*p == ')') return NULL;
		if (*p < '0' || *p > '9') return "shape has something other than numbers in it";
		int64_t n = 0;
		for (; *p >= '0' && *p <= '9'; p++)
			if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
				return "a length beyond any memory";
		if (*p == 'L') p++;
		if (h->rank == 32) return "more axes than NumPy has";
		h->shape[h->rank++] = n;
	}
}

/* Reads fixed-width strings: one string, or a list of them. */
static Status read_texts(NpyStream *s, const NpyHeader *h, Value *out) {
	Ctx *c = s->in->c;
	if (h->rank > 1) return bad(s, s->at, "texts with more than one axis");
	const uint64_t unit = h->text == 'U' ? 4 : 1;
	const uint64_t n = h->rank ? (uint64_t)h->shape[0] : 1, width = h->letters * unit;
	if (width && n > s->left / width)
		return bad(s, s->at, "the file is shorter than its header says");
	if (n > UINT32_MAX / 2 || (!width && n > 1 << 16)) return bad(s, s->at, "too many texts");
	uint8_t *raw = heap_alloc(c, width + 1);
	char *text = heap_alloc(c, h->letters * 4 + 1);
	Value *items = heap_alloc(c, (n + 1) * sizeof *items);
	Status st = raw && text && items ? ST_OK : data_no_memory(c, s->in->path, n * sizeof *items);
	uint64_t made = 0;
	for (; made < n && st == ST_OK; made++) {
		uint64_t at = s->at;
		st = s->read(s, raw, width);
		if (st != ST_OK) break;
		size_t k = 0, last = 0, wrong;
		for (uint64_t i = 0; i < h->letters && st == ST_OK; i++) {
			uint32_t u = raw[i];
			if (unit == 4) {
				memcpy(&u, raw + 4 * i, 4);
				if (h->swap) u = __builtin_bswap32(u);
			}
			if (unit == 1 || u < 0x80) text[k++] = (char)u;
			else if (u < 0x800)
				text[k++] = (char)(0xc0 | u >> 6), text[k++] = (char)(0x80 | (u & 63));
			else if (u < 0x10000)
				text[k++] = (char)(0xe0 | u >> 12), text[k++] = (char)(0x80 | (u >> 6 & 63)),
				text[k++] = (char)(0x80 | (u & 63));
			else if (u < 0x110000)
				text[k++] = (char)(0xf0 | u >> 18), text[k++] = (char)(0x80 | (u >> 12 & 63)),
				text[k++] = (char)(0x80 | (u >> 6 & 63)), text[k++] = (char)(0x80 | (u & 63));
			else st = bad(s, at + 4 * i, "this is no character");
			if (u) last = k;
		}
		if (st == ST_OK && !utf8_valid(text, last, &wrong))
			st = bad(s, at, "a string that is not UTF-8");
		if (st != ST_OK) break;
		items[made] = value_string(c, text, last);
		if (items[made].kind == V_UNSET) {
			st = ST_NOMEM;
			break;
		}
		if (made % 4096 == 4095) st = ctx_poll(c, 4096 + h->letters * 512);
	}
	if (st == ST_OK) {
		*out = h->rank ? value_seq(c, V_LIST, (uint32_t)n, items) : value_ref(items[0]);
		if (out->kind == V_UNSET) st = ST_NOMEM;
	}
	for (uint64_t i = 0; i < made; i++) value_unref(items[i]);
	heap_free(c, raw, width + 1);
	heap_free(c, text, h->letters * 4 + 1);
	heap_free(c, items, (n + 1) * sizeof *items);
	return st;
}

static Status read_numbers(NpyStream *s, const NpyHeader *h, Value *out) {
	Ctx *c = s->in->c;
	if (h->rank > MAX_RANK) return bad(s, s->at, "more than 8 axes");
	int64_t shape[MAX_RANK], back[MAX_RANK] = {0};
	for (uint32_t i = 0; i < h->rank; i++) shape[i] = h->shape[h->fortran ? h->rank - 1 - i : i];
	const size_t size = elem_size(h->elem), wide = dtype_size(elem_dtype(h->elem));
	uint64_t bytes = size;
	for (uint32_t i = 0; i < h->rank; i++)
		if (shape[i] == 0) bytes = 0;
	for (uint32_t i = 0; bytes && i < h->rank; i++)
		if (__builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))
			return bad(s, s->at, "an array of this shape is larger than any memory");
	if (bytes > s->left) {
		char what[120];
		snprintf(what, sizeof what, "the header says %llu bytes of elements, and %llu are left",
		         (unsigned long long)bytes, (unsigned long long)s->left);
		return bad(s, s->at, what);
	}
	Tensor *t;
	Status st = input_tensor(s->in, elem_dtype(h->elem), h->rank, shape, &t);
	if (st != ST_OK) return st;
	const bool direct = size == wide && h->elem != EL_BOOL && h->elem != EL_U64;
	uint8_t *piece = direct ? NULL : heap_alloc(c, PIECE);
	if (!direct && !piece) st = data_no_memory(c, s->in->path, PIECE);
	for (int64_t i = 0; i < t->count && st == ST_OK;) {
		int64_t n = PIECE / (int64_t)size < t->count - i ? PIECE / (int64_t)size : t->count - i;
		char *to = t->data + i * (int64_t)wide;
		uint64_t at = s->at;
		st = s->read(s, direct ? (uint8_t *)to : piece, (size_t)n * size);
		if (st != ST_OK) break;
		if (!direct || h->swap) {
			int64_t wrong =
				elem_convert(h->elem, h->swap, (size_t)n, direct ? (uint8_t *)to : piece, to);
			if (wrong >= 0)
				st = bad(s, at + (uint64_t)wrong * size,
				         "a number of 2^63 or more, which no integer here holds");
		}
		i += n;
		if (st == ST_OK) st = ctx_poll(c, (uint64_t)n / 8);
	}
	heap_free(c, piece, PIECE);
	if (st == ST_OK && h->fortran && h->rank > 1) {
		int64_t step = 1, lengths[MAX_RANK];
		for (uint32_t i = 0; i < h->rank; i++) {
			lengths[i] = h->shape[i];
			back[i] = step;
			step *= lengths[i];
		}
		Tensor *view = tensor_view(c, t, h->rank, lengths, back, 0);
		tensor_unref(t);
		t = view ? tensor_contiguous(c, view) : NULL;
		tensor_unref(view);
		if (!t) return data_no_memory(c, s->in->path, bytes);
	}
	if (st == ST_OK) *out = value_from_tensor(t);
	else tensor_unref(t);
	return st;
}

Status npy_from_stream(NpyStream *s, Value *out) {
	uint8_t head[12];
	NpyHeader h = {0};
	Status st = s->left < 10 ? bad(s, s->at, "too short for an .npy file") : s->read(s, head, 10);
	if (st != ST_OK) return st;
	if (memcmp(head, "\x93NUMPY", 6))
		return bad(s, 0, "this does not begin as an .npy file does (\\x93NUMPY)");
	if (head[6] < 1 || head[6] > 3) return bad(s, 6, "an unknown version of the format");
	uint32_t n = head[8] | (uint32_t)head[9] << 8;
	if (head[6] > 1) {
		st = s->read(s, head + 10, 2);
		if (st != ST_OK) return st;
		n |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
	}
	if (n > s->left) return bad(s, s->at, "the header is longer than the file");
	if (n > HEADER_MOST) return bad(s, 8, "a header of more than a megabyte");
	char *text = heap_alloc(s->in->c, n + 1);
	if (!text) return data_no_memory(s->in->c, s->in->path, n);
	const uint64_t at = s->at;
	st = s->read(s, text, n);
	text[n] = 0;
	if (st == ST_OK && strlen(text) != n)
		st = bad(s, at + strlen(text), "a zero byte in the header");
	if (st == ST_OK) {
		const char *descr = value_of(text, "descr"), *order = value_of(text, "fortran_order"),
				   *shape = value_of(text, "shape"), *what = NULL;
		if (!descr || !order || !shape) what = "the header lacks descr, fortran_order or shape";
		else if (strncmp(order, "True", 4) && strncmp(order, "False", 5))
			what = "fortran_order is neither True nor False";
		if (!what) what = read_descr(descr, &h);
		if (!what) what = read_shape(shape, &h);
		if (what) st = bad(s, at, what);
		else h.fortran = *order == 'T';
	}
	heap_free(s->in->c, text, n + 1);
	if (st != ST_OK) return st;
	return h.text ? read_texts(s, &h, out) : read_numbers(s, &h, out);
}

static Status read_file(NpyStream *s, void *to, size_t n) {
	Status st = input_read((Input *)s->in, s->at, to, n);
	s->at += n;
	s->left -= n < s->left ? n : s->left;
	return st;
}

Status npy_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	NpyStream s = {.read = read_file, .in = in, .left = in->size};
	return npy_from_stream(&s, out);
}

/* ---- writing ------------------------------------------------------------- */

static bool npy_can_hold(Value v) {
	return v.kind == V_SCALAR || v.kind == V_TENSOR || v.kind == V_STRING;
}

static uint32_t next_letter(const unsigned char **p, const unsigned char *end) {
	uint32_t u = *(*p)++;
	if (u < 0x80) return u;
	int more = u >= 0xf0 ? 3 : u >= 0xe0 ? 2 : 1;
	u &= more == 3 ? 7u : more == 2 ? 15u : 31u;
	for (; more && *p < end; more--) u = u << 6 | (*(*p)++ & 63u);
	return u;
}

/* The i-th string of a string or a list. */
static Value text_at(Value v, uint32_t i) {
	return v.kind == V_STRING ? v : ((const SeqObject *)v.object)->items[i];
}

static size_t letters_of(Value text) {
	size_t n, letters = 0;
	const unsigned char *p = (const unsigned char *)string_text(text, &n), *end = p + n;
	for (; p < end; letters++) next_letter(&p, end);
	return letters;
}

Status npy_put(Ctx *c, Value v, void (*put)(void *ud, const void *bytes, size_t n), void *ud,
               uint64_t *bytes) {
	static const char *const descr[DT_COUNT] = {"|b1", "i4", "i8", "f4", "f8", "c8", "c16"};
	char head[400], shape[240] = "", what[40];
	uint64_t body = 0;
	size_t letters = 1;
	const bool text = v.kind == V_STRING || v.kind == V_LIST;
	const uint32_t ntexts = v.kind == V_LIST ? v.object->n : 1;
	if (text) {
		for (uint32_t i = 0; i < ntexts; i++)
			if (letters_of(text_at(v, i)) > letters) letters = letters_of(text_at(v, i));
		snprintf(what, sizeof what, "%cU%zu", machine_is_little() ? '<' : '>', letters);
		if (v.kind == V_LIST) snprintf(shape, sizeof shape, "%u,", ntexts);
		body = 4 * (uint64_t)letters * ntexts;
	} else {
		Dtype d = value_dtype(v);
		snprintf(what, sizeof what, "%s%s",
		         d == DT_BOOL          ? ""
		         : machine_is_little() ? "<"
		                               : ">",
		         descr[d]);
		size_t k = 0;
		for (uint32_t i = 0; i < value_rank(v); i++)
			k += (size_t)snprintf(shape + k, sizeof shape - k, "%lld, ",
			                      (long long)v.tensor->shape[i]);
		if (k > 2 && value_rank(v) > 1) shape[k - 2] = 0;
		if (value_rank(v) == 1) shape[k - 1] = 0;
		body = (uint64_t)(v.kind == V_TENSOR ? v.tensor->count : 1) * dtype_size(d);
	}
	int len = snprintf(head + 10, sizeof head - 10,
	                   "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", what, shape);
	size_t whole = ((size_t)len + 11 + 63) / 64 * 64; /* the data are aligned to 64 bytes */
	memset(head + 10 + len, ' ', whole - 10 - (size_t)len);
	head[whole - 1] = '\n';
	memcpy(head, "\x93NUMPY\x01", 7);
	head[7] = 0;
	head[8] = (char)((whole - 10) & 255);
	head[9] = (char)((whole - 10) >> 8);
	if (bytes) *bytes = whole + body;
	if (!put) return ST_OK;
	put(ud, head, whole);
	if (text) {
		for (uint32_t k = 0; k < ntexts; k++) {
			size_t n;
			const unsigned char *p = (const unsigned char *)string_text(text_at(v, k), &n),
								*end = p + n;
			for (size_t i = 0; i < letters; i++) {
				uint32_t u = p < end ? next_letter(&p, end) : 0;
				put(ud, &u, 4);
			}
		}
		return ST_OK;
	}
	if (v.kind == V_SCALAR) {
		put(ud, value_scalar_bytes(&v), dtype_size(value_dtype(v)));
		return ST_OK;
	}
	Tensor *t = tensor_contiguous(c, v.tensor);
	if (!t) return ST_NOMEM;
	const size_t size = dtype_size((Dtype)t->dtype);
	Status st = ST_OK;
	/* in chunks, to poll for interrupts */
	for (int64_t i = 0; i < t->count && st == ST_OK; i += PIECE) {
		const int64_t n = t->count - i < PIECE ? t->count - i : PIECE;
		put(ud, t->data + i * (int64_t)size, (size_t)n * size);
		st = ctx_poll(c, (uint64_t)n / 8);
	}
	tensor_unref(t);
	return st;
}

static void put_output(void *ud, const void *bytes, size_t n) { output_add(ud, bytes, n); }

Status npy_write(OutputFile *out, const IoOptions *o, Value v) {
	(void)o;
	if (!npy_can_hold(v))
		return output_bad(
			out, "an .npy file holds one array, and this is more; .npz and .h5 hold records");
	Status st = npy_put(out->c, v, put_output, out, NULL);
	if (st != ST_OK && out->status == ST_OK) out->status = st;
	return out->status;
}
