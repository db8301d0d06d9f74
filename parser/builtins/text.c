/* text.c - builtins on strings: search, split, join, conversion, reading; the
 * clock.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - Characters are those of Unicode; a byte that is not UTF-8 counts as one.
 * - A function of static strings is computed at specialisation time. For
 *   others, the same function runs at run time.
 * - A failure occurs at run time, so `try` catches it.
 * - The public names and their help are in stdlib/core/text.dsl.
 */
#include "parser/builtins/table.h"
#include "lang/base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Longer lists are not made at specialisation time, because a loop over them
 * would be unrolled. */
enum { LONG_LIST = 64 };

/* ---- characters ---------------------------------------------------------- */

typedef struct StringView {
	const char *at;
	size_t n;
} StringView;

static bool is_text(Value v) { return v.kind == V_STRING; }

static StringView chunk_of(Value v) {
	const StringObject *s = (const StringObject *)v.object;
	return (StringView){s->text, s->head.n};
}

/* The number of bytes of the character at p. */
static size_t char_bytes(const char *p, const char *end) {
	const unsigned char c = (unsigned char)*p;
	const size_t n = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
	if (n > (size_t)(end - p)) return 1;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80) return 1;
	return n;
}

static int64_t char_count(StringView s) {
	int64_t n = 0;
	for (const char *p = s.at, *end = s.at + s.n; p < end; p += char_bytes(p, end)) n++;
	return n;
}

/* The code point of the n bytes at p; for a byte that is not UTF-8, the
 * byte. */
static uint32_t char_code(const char *p, size_t n) {
	const unsigned char *u = (const unsigned char *)p;
	switch (n) {
	case 2: return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
	case 3: return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
	case 4:
		return (u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
	default: return u[0];
	}
}

static size_t char_write(uint32_t c, char out[4]) {
	if (c < 0x80) return out[0] = (char)c, 1;
	if (c < 0x800) return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3f)), 2;
	if (c < 0x10000)
		return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 0x3f)),
		       out[2] = (char)(0x80 | (c & 0x3f)), 3;
	return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 0x3f)),
	       out[2] = (char)(0x80 | (c >> 6 & 0x3f)), out[3] = (char)(0x80 | (c & 0x3f)), 4;
}

/* Blocks of letters whose capitals are `below` code points before them.
 * `paired`: capital and small letter alternate, the capital even. */
static const struct {
	uint32_t first, last, below;
	bool paired;
} small_letters[] = {{'a', 'z', 32, false},     {0xe0, 0xf6, 32, false},
                     {0xf8, 0xfe, 32, false},   {0x100, 0x12f, 1, true},
                     {0x3b1, 0x3c1, 32, false}, {0x3c3, 0x3c9, 32, false},
                     {0x430, 0x44f, 32, false}, {0x450, 0x45f, 80, false}};

static uint32_t in_case(uint32_t c, bool upper) {
	if (upper && c == 0x3c2) return 0x3a3; /* final sigma */
	for (size_t k = 0; k < sizeof small_letters / sizeof *small_letters; k++) {
		const uint32_t first = small_letters[k].first, last = small_letters[k].last,
					   below = small_letters[k].below;
		if (small_letters[k].paired) {
			if (c >= first && c <= last) return upper ? c & ~1u : c | 1u;
		} else if (upper && c >= first && c <= last) return c - below;
		else if (!upper && c >= first - below && c <= last - below) return c + below;
	}
	return c;
}

/* ---- the functions: values to a value or a message ----------------------- */

/* Stores a message, which is the reason of a failure. */
static Status refuse(Ctx *c, Value *result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static Status refuse(Ctx *c, Value *result, const char *format, ...) {
	char message[256];
	va_list args;
	va_start(args, format);
	const int n = vsnprintf(message, sizeof message, format, args);
	va_end(args);
	*result = value_string(c, message,
	                       n < 0                        ? 0
	                       : (size_t)n < sizeof message ? (size_t)n
	                                                    : sizeof message - 1);
	return result->kind == V_UNSET ? ST_NOMEM : ST_ERROR;
}

static Status want_texts(Ctx *c, uint32_t n, const Value *args, Value *result, const char *who) {
	for (uint32_t i = 0; i < n; i++)
		if (!is_text(args[i])) return refuse(c, result, "%s takes a string", who);
	return ST_OK;
}
#define WANT_TEXTS(N, WHO)                                                                         \
	do {                                                                                           \
		(void)ud;                                                                                  \
		(void)n;                                                                                   \
		const Status st_ = want_texts(c, N, args, result, WHO);                                    \
		if (st_ != ST_OK) return st_;                                                              \
	} while (0)
#define FUNCTION(NAME)                                                                             \
	static Status NAME(void *ud, Ctx *c, uint32_t n, const Value *args, Value *result)

static Status give(Value *result, Value v) {
	*result = v;
	return v.kind == V_UNSET ? ST_NOMEM : ST_OK;
}

/* A loop over the bytes of strings, which polls. */
typedef struct Pace {
	Ctx *c;
	Status st; /* of the poll that stopped it */
} Pace;

static bool goes_on(Pace *p, size_t bytes) {
	p->st = ctx_poll(p->c, 1 + bytes / 8);
	return p->st == ST_OK;
}

static Status give_text(const Pace *p, Value *result, Text *t) {
	Status st = t->failed ? ST_NOMEM : p->st;
	if (st == ST_OK) *result = value_string(p->c, t->n ? t->at : "", t->n);
	if (st == ST_OK && result->kind == V_UNSET) st = ST_NOMEM;
	text_free(t);
	return st;
}

static void items_text(ValueList *l, const char *from, const char *to) {
	value_list_add(l, value_string(l->c, from, (size_t)(to - from)));
}

static Status give_items(const Pace *p, ValueList *l, Value *result) {
	*result = value_list_end(l);
	if (p->st == ST_OK) return result->kind == V_UNSET ? ST_NOMEM : ST_OK;
	value_unref(*result);
	*result = (Value){.kind = V_UNSET};
	return p->st;
}

/* The next occurrence of `part` from p on, or NULL. */
static const char *next_of(const char *p, const char *end, StringView part) {
	for (; (size_t)(end - p) >= part.n; p++) {
		p = memchr(p, part.at[0], (size_t)(end - p) - part.n + 1);
		if (!p) return NULL;
		if (!memcmp(p, part.at, part.n)) return p;
	}
	return NULL;
}

FUNCTION(text_split) {
	WANT_TEXTS(2, "split");
	const StringView s = chunk_of(args[0]), by = chunk_of(args[1]);
	if (!by.n)
		return refuse(c, result,
		              "split needs a separator that is not empty; chars(s) has the characters");
	ValueList l = {.c = c};
	Pace pace = {.c = c};
	const char *p = s.at, *end = s.at + s.n, *q;
	for (; (q = next_of(p, end, by)) && goes_on(&pace, (size_t)(q - p)); p = q + by.n)
		items_text(&l, p, q);
	items_text(&l, p, end);
	return give_items(&pace, &l, result);
}

static bool is_blank(char x) { return x == ' ' || (x >= '\t' && x <= '\r'); }

FUNCTION(text_words) {
	WANT_TEXTS(1, "split");
	const StringView s = chunk_of(args[0]);
	ValueList l = {.c = c};
	Pace pace = {.c = c};
	for (const char *p = s.at, *end = s.at + s.n; p < end && goes_on(&pace, 16);) {
		while (p < end && is_blank(*p)) p++;
		const char *from = p;
		while (p < end && !is_blank(*p)) p++;
		if (p > from) items_text(&l, from, p);
	}
	return give_items(&pace, &l, result);
}

FUNCTION(text_lines) {
	WANT_TEXTS(1, "lines");
	const StringView s = chunk_of(args[0]);
	ValueList l = {.c = c};
	Pace pace = {.c = c};
	for (const char *p = s.at, *end = s.at + s.n; p < end && goes_on(&pace, 16);) {
		const char *stop = memchr(p, '\n', (size_t)(end - p)), *last = stop ? stop : end;
		items_text(&l, p, last > p && stop && last[-1] == '\r' ? last - 1 : last);
		p = stop ? stop + 1 : end;
	}
	return give_items(&pace, &l, result);
}

FUNCTION(text_chars) {
	WANT_TEXTS(1, "chars");
	const StringView s = chunk_of(args[0]);
	ValueList l = {.c = c};
	Pace pace = {.c = c};
	for (const char *p = s.at, *end = s.at + s.n; p < end && goes_on(&pace, 16);) {
		const char *from = p;
		p += char_bytes(p, end);
		items_text(&l, from, p);
	}
	return give_items(&pace, &l, result);
}

FUNCTION(text_join) {
	(void)ud, (void)n;
	if (!is_text(args[1])) return refuse(c, result, "join takes a separator that is a string");
	const StringView by = chunk_of(args[1]);
	Pace pace = {.c = c};
	Text t;
	text_init(&t, c);
	if (args[0].kind == V_LIST || args[0].kind == V_TUPLE) {
		const SeqObject *l = (const SeqObject *)args[0].object;
		for (uint32_t i = 0; i < l->head.n && goes_on(&pace, by.n); i++) {
			if (i) text_add(&t, by.at, by.n);
			value_print(&t, l->items[i], "", 0);
		}
	} else if (args[0].kind == V_TENSOR && args[0].tensor->rank == 1) {
		const Tensor *x = args[0].tensor;
		const int64_t size = (int64_t)dtype_size((Dtype)x->dtype);
		for (int64_t i = 0; i < x->shape[0] && goes_on(&pace, by.n); i++) {
			if (i) text_add(&t, by.at, by.n);
			value_print(&t,
			            value_scalar_from_bytes((Dtype)x->dtype,
			                                    (const char *)x->data + i * x->stride[0] * size),
			            "", 0);
		}
	} else {
		text_free(&t);
		return refuse(c, result, "join takes a list or tuple of strings, or a vector");
	}
	return give_text(&pace, result, &t);
}

FUNCTION(text_replace) {
	WANT_TEXTS(3, "replace");
	const StringView s = chunk_of(args[0]), from = chunk_of(args[1]), to = chunk_of(args[2]);
	if (!from.n) return refuse(c, result, "replace needs a part that is not empty");
	Pace pace = {.c = c};
	Text t;
	text_init(&t, c);
	const char *p = s.at, *end = s.at + s.n, *q;
	for (; (q = next_of(p, end, from)) && goes_on(&pace, (size_t)(q - p) + to.n); p = q + from.n) {
		text_add(&t, p, (size_t)(q - p));
		text_add(&t, to.at, to.n);
	}
	text_add(&t, p, (size_t)(end - p));
	return give_text(&pace, result, &t);
}

FUNCTION(text_count) {
	WANT_TEXTS(2, "count");
	const StringView s = chunk_of(args[0]), part = chunk_of(args[1]);
	if (!part.n) return refuse(c, result, "count needs a part that is not empty");
	Pace pace = {.c = c};
	int64_t times = 0;
	for (const char *p = s.at, *end = s.at + s.n;
	     (p = next_of(p, end, part)) && goes_on(&pace, part.n); p += part.n)
		times++;
	return pace.st == ST_OK ? give(result, value_i64(times)) : pace.st;
}

/* The position, in characters, of the first occurrence of a part at or after
 * position args[2]; -1: none. */
FUNCTION(text_find) {
	WANT_TEXTS(2, "find");
	const StringView s = chunk_of(args[0]), part = chunk_of(args[1]);
	int64_t start;
	if (!value_as_i64(args[2], &start)) return refuse(c, result, "find starts at an integer");
	const char *p = s.at, *end = s.at + s.n, *q;
	int64_t at = 0;
	if (start < 0) start += char_count(s);
	Pace pace = {.c = c};
	for (; p < end && at < start && goes_on(&pace, 1); at++) p += char_bytes(p, end);
	if (pace.st != ST_OK) return pace.st;
	q = part.n ? next_of(p, end, part) : p;
	if (!q) return give(result, value_i64(-1));
	return give(result, value_i64(at + char_count((StringView){p, (size_t)(q - p)})));
}

static bool same_item(Value a, Value b) {
	if (is_text(a) && is_text(b))
		return a.object->n == b.object->n && !memcmp(chunk_of(a).at, chunk_of(b).at, a.object->n);
	double x, y;
	return value_as_f64(a, &x) && value_as_f64(b, &y) && x == y;
}

/* True for a part of a string, or for an item (string or number) of a list or
 * tuple. */
FUNCTION(text_contains) {
	if (args[0].kind == V_LIST || args[0].kind == V_TUPLE) {
		const SeqObject *l = (const SeqObject *)args[0].object;
		uint32_t i = 0;
		Pace pace = {.c = c};
		while (i < l->head.n && !same_item(l->items[i], args[1]) && goes_on(&pace, 16)) i++;
		if (pace.st != ST_OK) return pace.st;
		return give(result, value_bool(i < l->head.n));
	}
	WANT_TEXTS(2, "contains");
	const StringView s = chunk_of(args[0]), part = chunk_of(args[1]);
	return give(result, value_bool(!part.n || next_of(s.at, s.at + s.n, part)));
}

FUNCTION(text_starts) {
	WANT_TEXTS(2, "starts_with");
	const StringView s = chunk_of(args[0]), part = chunk_of(args[1]);
	return give(result, value_bool(part.n <= s.n && !memcmp(s.at, part.at, part.n)));
}

FUNCTION(text_ends) {
	WANT_TEXTS(2, "ends_with");
	const StringView s = chunk_of(args[0]), part = chunk_of(args[1]);
	return give(result, value_bool(part.n <= s.n && !memcmp(s.at + s.n - part.n, part.at, part.n)));
}

/* args[1]: true for capitals. */
FUNCTION(text_case) {
	WANT_TEXTS(1, "upper or lower");
	const StringView s = chunk_of(args[0]);
	bool upper = false;
	value_as_bool(args[1], &upper);
	Pace pace = {.c = c};
	Text t;
	text_init(&t, c);
	for (const char *p = s.at, *end = s.at + s.n; p < end && goes_on(&pace, 4);) {
		const size_t k = char_bytes(p, end);
		char out[4];
		if (k == 1 && (unsigned char)*p >= 0x80) text_add(&t, p, 1);
		else text_add(&t, out, char_write(in_case(char_code(p, k), upper), out));
		p += k;
	}
	return give_text(&pace, result, &t);
}

/* args[1]: 1 at the start, 2 at the end, 3 both. */
FUNCTION(text_trim) {
	WANT_TEXTS(1, "trim");
	const StringView s = chunk_of(args[0]);
	int64_t where = 3;
	value_as_i64(args[1], &where);
	const char *p = s.at, *end = s.at + s.n;
	while ((where & 1) && p < end && is_blank(*p)) p++;
	while ((where & 2) && end > p && is_blank(end[-1])) end--;
	return give(result, value_string(c, p, (size_t)(end - p)));
}

FUNCTION(text_repeat) {
	WANT_TEXTS(1, "repeat");
	const StringView s = chunk_of(args[0]);
	int64_t times;
	if (!value_as_i64(args[1], &times) || times < 0)
		return refuse(c, result,
		              "a string is repeated a number of times, an integer that is not negative");
	Pace pace = {.c = c};
	Text t;
	text_init(&t, c);
	if (s.n && (uint64_t)times > (uint64_t)UINT32_MAX / s.n) {
		text_free(&t);
		return refuse(c, result, "a string of more than 4 GB");
	}
	for (int64_t i = 0; i < times && s.n && !t.failed && goes_on(&pace, s.n); i++)
		text_add(&t, s.at, s.n);
	return give_text(&pace, result, &t);
}

/* args: string, width, fill character, true to fill before the string. */
FUNCTION(text_pad) {
	WANT_TEXTS(1, "padding");
	if (!is_text(args[2]) || char_count(chunk_of(args[2])) != 1)
		return refuse(c, result, "a string is padded with one character");
	const StringView s = chunk_of(args[0]), by = chunk_of(args[2]);
	int64_t width;
	bool front = false;
	if (!value_as_i64(args[1], &width) || width > INT32_MAX)
		return refuse(c, result, "a width is an integer");
	value_as_bool(args[3], &front);
	Pace pace = {.c = c};
	Text t;
	text_init(&t, c);
	if (!front) text_add(&t, s.at, s.n);
	for (int64_t k = char_count(s); k < width && !t.failed && goes_on(&pace, by.n); k++)
		text_add(&t, by.at, by.n);
	if (front) text_add(&t, s.at, s.n);
	return give_text(&pace, result, &t);
}

static int text_order(const void *a, const void *b) {
	const StringView x = chunk_of(*(const Value *)a), y = chunk_of(*(const Value *)b);
	const int order = memcmp(x.at, y.at, x.n < y.n ? x.n : y.n);
	return order ? order : (x.n > y.n) - (x.n < y.n);
}

/* args: list or tuple, true for descending order. */
FUNCTION(text_sort) {
	(void)ud, (void)n;
	bool down = false, texts = args[0].kind == V_LIST || args[0].kind == V_TUPLE;
	value_as_bool(args[1], &down);
	const SeqObject *l = (const SeqObject *)args[0].object;
	for (uint32_t i = 0; texts && i < l->head.n; i++) texts = is_text(l->items[i]);
	if (!texts) return refuse(c, result, "sort takes an array, or a list of strings");
	const uint32_t m = l->head.n;
	Value *items = heap_alloc(c, (m + 1) * sizeof *items);
	if (!items) return ST_NOMEM;
	memcpy(items, l->items, m * sizeof *items);
	/* Equal strings are identical: any sort is stable. */
	qsort(items, m, sizeof *items, text_order);
	for (uint32_t i = 0; down && i < m / 2; i++) {
		const Value v = items[i];
		items[i] = items[m - 1 - i];
		items[m - 1 - i] = v;
	}
	*result = value_seq(c, (ValueKind)args[0].kind, m, items);
	heap_free(c, items, (m + 1) * sizeof *items);
	return result->kind == V_UNSET ? ST_NOMEM : ST_OK;
}

FUNCTION(text_codes) {
	WANT_TEXTS(1, "codes");
	const StringView s = chunk_of(args[0]);
	const int64_t count = char_count(s);
	Tensor *t = tensor_new(c, DT_I64, 1, &count);
	if (!t) return ST_NOMEM;
	int64_t *out = (int64_t *)(void *)t->data;
	for (const char *p = s.at, *end = s.at + s.n; p < end;) {
		const size_t k = char_bytes(p, end);
		*out++ = char_code(p, k);
		p += k;
	}
	return give(result, value_tensor(t));
}

FUNCTION(text_of_codes) {
	(void)ud, (void)n;
	Tensor *given = value_is_array(args[0]) ? value_to_tensor(c, args[0]) : NULL;
	if (!given) return refuse(c, result, "from_codes takes integers");
	Pace pace = {.c = c};
	Text t;
	text_init(&t, c);
	Status st = given->rank <= 1 && dtype_is_int((Dtype)given->dtype)
	                ? ST_OK
	                : refuse(c, result, "from_codes takes integers");
	for (int64_t i = 0; st == ST_OK && i < given->count; i++) {
		const double code = tensor_get(given, &i);
		char out[4];
		if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			st = refuse(c, result, "%.0f is no character", code);
		else text_add(&t, out, char_write((uint32_t)code, out));
	}
	tensor_unref(given);
	if (st == ST_OK) return give_text(&pace, result, &t);
	text_free(&t);
	return st;
}

/* The characters args[1] <= k < args[2], every args[3]-th. args[4]: a single
 * one, which must exist. none: from the start, or to the end. */
FUNCTION(text_slice) {
	WANT_TEXTS(1, "an index");
	const StringView s = chunk_of(args[0]);
	const int64_t count = char_count(s);
	int64_t from = 0, to = count, by = 1;
	bool one = false;
	value_as_bool(args[4], &one);
	value_as_i64(args[3], &by);
	if (!by) return refuse(c, result, "the step of a slice is not 0");
	if (by < 0) {
		from = count - 1;
		to = -1;
	}
	int64_t k;
	if (value_as_i64(args[1], &k)) from = k < 0 ? k + count : k;
	if (one) {
		if (from < 0 || from >= count)
			return refuse(c, result, "index %lld is out of range for a string of %lld characters",
			              (long long)k, (long long)count);
		to = from + 1;
	} else if (value_as_i64(args[2], &k)) to = k < 0 ? k + count : k;
	if (by > 0 && (from < 0 || from > count || to < 0 || to > count))
		return refuse(c, result,
		              "the slice %lld..%lld is out of range for a string of %lld characters",
		              (long long)from, (long long)to, (long long)count);
	if (by < 0 && (from < -1 || from >= count || to < -1))
		return refuse(c, result,
		              "the slice from %lld is out of range for a string of %lld characters",
		              (long long)from, (long long)count);
	/* The start of each character. */
	size_t *starts = heap_alloc(c, ((size_t)count + 1) * sizeof *starts), at = 0;
	if (!starts) return ST_NOMEM;
	for (int64_t i = 0; i < count; i++) {
		starts[i] = at;
		at += char_bytes(s.at + at, s.at + s.n);
	}
	starts[count] = s.n;
	Pace pace = {.c = c};
	Text t;
	text_init(&t, c);
	if (by == 1) {
		if (from < to) text_add(&t, s.at + starts[from], starts[to] - starts[from]);
	} else
		for (int64_t i = from; by > 0 ? i < to : i > to; i += by)
			text_add(&t, s.at + starts[i], starts[i + 1] - starts[i]);
	heap_free(c, starts, ((size_t)count + 1) * sizeof *starts);
	return give_text(&pace, result, &t);
}

/* Copies text without surrounding blanks and without _ between digits, for
 * strtod. Returns false when it is too long for a number. */
static bool plain_number(StringView s, char out[64], size_t *n) {
	while (s.n && is_blank(s.at[0])) s.at++, s.n--;
	while (s.n && is_blank(s.at[s.n - 1])) s.n--;
	*n = 0;
	for (size_t i = 0; i < s.n; i++) {
		const bool between = i && i + 1 < s.n && isdigit((unsigned char)s.at[i - 1]) &&
		                     isdigit((unsigned char)s.at[i + 1]);
		if (s.at[i] == '_' && between) continue;
		if (*n == 63) return false;
		out[(*n)++] = s.at[i];
	}
	out[*n] = 0;
	return *n > 0;
}

/* Reads a number, written as a literal or as print writes it. */
static bool read_number(StringView s, Dtype d, Value *out, const char **why) {
	char text[64], *end;
	size_t n;
	*why = "";
	if (!plain_number(s, text, &n)) return false;
	if (d == DT_BOOL) {
		const bool yes = !strcmp(text, "true");
		*out = value_bool(yes);
		return yes || !strcmp(text, "false");
	}
	errno = 0;
	if (dtype_is_int(d)) {
		const bool sign = text[0] == '-' || text[0] == '+';
		const bool radix = text[sign] == '0' && text[sign + 1] && strchr("xXbBoO", text[sign + 1]);
		const int base = !radix                         ? 10
		                 : strchr("xX", text[sign + 1]) ? 16
		                 : strchr("bB", text[sign + 1]) ? 2
		                                                : 8;
		if (radix) memmove(text + sign, text + sign + 2, n - sign - 1);
		if (!isalnum((unsigned char)text[sign])) return false;
		const long long x = strtoll(text, &end, base);
		if (*end) return false;
		if (errno || (d == DT_I32 && (x < INT32_MIN || x > INT32_MAX))) {
			*why = ": it is too large";
			return false;
		}
		*out = value_i64(x);
		if (d == DT_I32) {
			const int32_t y = (int32_t)x;
			*out = value_scalar_from_bytes(d, &y);
		}
		return true;
	}
	/* The decimal point is a point in every locale. strtod is given the point
	 * of the host's locale. */
	const char *sign = text[0] == '-' || text[0] == '+' ? text + 1 : text;
	if (!isdigit((unsigned char)sign[0]) && sign[0] != '.' && strcmp(sign, "inf") &&
	    strcmp(sign, "nan"))
		return false;
	if (strpbrk(sign, "xX")) return false;
	char *point = strchr(text, '.');
	char form[8];
	snprintf(form, sizeof form, "%.1f", 0.5);
	if (point) *point = form[1];
	const double x = strtod(text, &end);
	if (*end || end == text) return false;
	const float y = (float)x;
	const double _Complex z = x;
	const float _Complex w = y;
	switch (d) {
	case DT_F32: *out = value_scalar_from_bytes(d, &y); break;
	case DT_C64: *out = value_scalar_from_bytes(d, &w); break;
	case DT_C128: *out = value_scalar_from_bytes(d, &z); break;
	default: *out = value_f64(x);
	}
	return true;
}

/* args: the dtype's code, a string or a number. */
FUNCTION(number_of) {
	(void)ud, (void)n;
	int64_t code = DT_F64;
	value_as_i64(args[0], &code);
	const Dtype d = (Dtype)code;
	const Value v = args[1];
	if (v.kind == V_STRING) {
		const char *why;
		if (read_number(chunk_of(v), d, result, &why)) return ST_OK;
		const StringView s = chunk_of(v);
		size_t shown = 0; /* the start of a long one, in whole characters */
		while (shown < s.n && shown < 60) shown += char_bytes(s.at + shown, s.at + s.n);
		return refuse(c, result, "cannot read \"%.*s%s\" as %s%s", (int)shown, s.at,
		              shown < s.n ? "..." : "", dtype_name(d), why);
	}
	if (!value_is_array(v) ||
	    (dtype_is_complex(value_dtype(v)) && !dtype_is_complex(d) && d != DT_BOOL))
		return refuse(c, result, "this value does not become %s", dtype_name(d));
	Tensor *from = value_to_tensor(c, v),
		   *to = from ? tensor_new(c, d, from->rank, from->shape) : NULL;
	if (to) tensor_convert_into(to, from);
	if (from) tensor_unref(from);
	return to ? give(result, value_from_tensor(to)) : ST_NOMEM;
}

FUNCTION(clock_now) {
	(void)ud, (void)n, (void)args;
	if (!ctx_granted(c, GRANT_CLOCK)) {
		diag_error(c, E_DENIED, NO_SPAN, "reading the clock is not granted here");
		return ST_DENIED;
	}
	*result = value_f64(clock_seconds());
	return ST_OK;
}

/* ---- calling them -------------------------------------------------------- */

/* The value of a static argument; V_UNSET when it is not static. */
static Value known_value(Sp *sp, const Av *v) {
	if (v->kind == AV_STRING || v->kind == AV_NONE) return av_to_value(sp->c, v, NULL, NULL);
	if (v->kind == AV_ARRAY) {
		const Const *k = ref_constant(build_fn(sp->b), v->ref);
		return k ? value_ref(k->value) : (Value){.kind = V_UNSET};
	}
	Value out = {.kind = V_UNSET};
	if ((v->kind != AV_LIST && v->kind != AV_TUPLE) || v->n > LONG_LIST) return out;
	Value items[LONG_LIST];
	uint32_t k = 0;
	for (; k < v->n; k++)
		if ((items[k] = known_value(sp, v->items[k])).kind == V_UNSET) break;
	if (k == v->n) out = value_seq(sp->c, v->kind == AV_LIST ? V_LIST : V_TUPLE, k, items);
	while (k-- > 0) value_unref(items[k]);
	return out;
}

/* The result for static arguments. NULL when they are not static, when the
 * function fails, or when it returns a long list: it is then called at run
 * time. */
static Av *now(Sp *sp, const Builtin *self, const CallArguments *call) {
	enum { MOST = 5 };
	Value args[MOST], result = {.kind = V_UNSET};
	uint32_t n = 0;
	Av *r = NULL;
	while (n < call->n && n < MOST && (args[n] = known_value(sp, call->args[n])).kind != V_UNSET)
		n++;
	if (n == call->n && self->native(NULL, sp->c, n, args, &result) == ST_OK &&
	    (result.kind != V_LIST || result.object->n <= LONG_LIST))
		r = av_of_value(sp, result);
	value_unref(result);
	for (uint32_t i = 0; i < n; i++) value_unref(args[i]);
	return r;
}

static Av *unboxed_vector(Sp *sp, Av *v, Dtype d) {
	const Dim length = dim_sym(sp->c, build_sym(sp->b, 0, build_span(sp->b)));
	const TypeId t = type_tensor(sp->c, d, 1, &length);
	return av_array(sp, build_typed(sp->b, OP_UNBOX, 1, &v->ref,
	                                attr_intern(sp->c, (int64_t[]){t}, 1), 1, &t, NULL));
}

static Av *text_function(Sp *sp, const Builtin *self, uint32_t ncaptured, Av *const *captured,
                         const CallArguments *call) {
	UNUSED;
	const Span at = sp_user_place(sp, call->span);
	for (uint32_t i = 0; i < call->n; i++)
		if (call->args[i]->kind == AV_FUNCTION || call->args[i]->kind == AV_RECORD)
			sp_fail(sp, E_TYPE, at, "text is wanted here, not %s", sp_type_text(sp, call->args[i]));
	Av *r = self->native == clock_now ? NULL : now(sp, self, call);
	if (r) return r;
	r = sp_call_dynamic(sp, av_builtin(sp, self->name, 0, NULL), call->n, call->args, at);
	if (self->native == text_codes) return unboxed_vector(sp, r, DT_I64);
	if (self->native == text_count || self->native == text_find)
		return av_array(sp, sp_scalar(sp, r, DT_I64, at, "a count"));
	if (self->native == text_contains || self->native == text_starts || self->native == text_ends)
		return av_array(sp, sp_scalar(sp, r, DT_BOOL, at, "an answer"));
	if (self->native == clock_now) return av_array(sp, sp_scalar(sp, r, DT_F64, at, "a time"));
	return r;
}

int64_t text_length(const char *text, size_t n) { return char_count((StringView){text, n}); }

Av *sp_text_item(Sp *sp, Av *text, Av *item, Span at) {
	Av *args[5] = {text, av_none(sp), av_none(sp), av_int(sp, 1),
	               av_bool(sp, item->kind != AV_RANGE)};
	if (item->kind == AV_RANGE) {
		for (int k = 0; k < 3; k++)
			if (item->items[k]->kind != AV_UNSET && item->items[k]->kind != AV_NONE)
				args[1 + k] = item->items[k];
	} else if (item->kind == AV_ARRAY && ref_ty(build_fn(sp->b), item->ref)->rank == 0 &&
	           dtype_is_int((Dtype)ref_ty(build_fn(sp->b), item->ref)->dtype)) {
		args[1] = item;
	} else
		sp_fail(sp, E_TYPE, at, "the index of a string is an integer or a range, not %s",
		        sp_type_text(sp, item));
	const Span spans[5] = {at, at, at, at, at};
	return sp_call(
		sp, av_builtin(sp, "_text_slice", 0, NULL),
		&(CallArguments){
			.span = at, .callee_span = at, .n = 5, .args = args, .spans = (Span *)spans});
}

bool quick_len(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result) {
	(void)c, (void)self;
	if (n != 1) return false;
	const Value v = args[0];
	if (v.kind == V_STRING) *result = value_i64(char_count(chunk_of(v)));
	else if (v.kind == V_LIST || v.kind == V_TUPLE) *result = value_i64(v.object->n);
	else if (v.kind == V_TENSOR && v.tensor->rank) *result = value_i64(v.tensor->shape[0]);
	else return false;
	return true;
}

bool quick_item(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result) {
	(void)self;
	int64_t k;
	if (n != 2 || !value_as_i64(args[1], &k)) return false;
	if (args[0].kind == V_LIST || args[0].kind == V_TUPLE) {
		const SeqObject *l = (const SeqObject *)args[0].object;
		if (k < 0) k += l->head.n;
		if (k < 0 || k >= (int64_t)l->head.n) return false; /* the error is reported elsewhere */
		*result = value_ref(l->items[k]);
		return true;
	}
	if (args[0].kind != V_STRING) return false;
	const StringView s = chunk_of(args[0]);
	if (k < 0) k += char_count(s);
	const char *p = s.at, *end = s.at + s.n;
	for (; p < end && k > 0; k--) p += char_bytes(p, end);
	if (k || p == end) return false;
	*result = value_string(c, p, char_bytes(p, end));
	return true;
}

bool quick_item_set(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result) {
	(void)c;
	int64_t k;
	if (n != 3 || !value_as_i64(args[2], &k) || self->captured[0].value.b ||
	    (args[0].kind != V_LIST && args[0].kind != V_TUPLE))
		return false;
	if (k < 0) k += args[0].object->n;
	if (k < 0 || k >= (int64_t)args[0].object->n) return false; /* as quick_item */
	*result = value_seq_replaced(&args[0], (uint32_t)k, args[1]);
	return true;
}

bool quick_push(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result) {
	(void)c, (void)self;
	if (n != 2 || (args[0].kind != V_LIST && args[0].kind != V_TUPLE)) return false;
	*result = value_seq_with(&args[0], args[1]);
	return true;
}

bool quick_part(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result) {
	(void)c, (void)self;
	int64_t i, count;
	if (n != 3 || !value_as_i64(args[1], &i) || !value_as_i64(args[2], &count)) return false;
	if ((args[0].kind != V_LIST && args[0].kind != V_TUPLE) || args[0].object->n != count ||
	    i < 0 || i >= count)
		return false;
	*result = value_ref(((const SeqObject *)args[0].object)->items[i]);
	return true;
}

bool quick_operator(Ctx *c, const FunctionObject *self, uint32_t n, Value *args, Value *result) {
	(void)c;
	if (n != 2 || args[0].kind != args[1].kind || !self->head.n ||
	    !is_text(self->captured[0].value))
		return false;
	const char *name = chunk_of(self->captured[0].value).at;
	if (args[0].kind == V_HOST) {
		const bool same = args[0].object == args[1].object, equal = !strcmp(name, "==");
		if (equal || !strcmp(name, "!=")) *result = value_bool(same == equal);
		return result->kind != V_UNSET;
	}
	if (!is_text(args[0])) return false;
	if (!strcmp(name, "+")) {
		const StringView more = chunk_of(args[1]);
		*result = value_string_with(&args[0], more.at, more.n);
		return true;
	}
	const int order = text_order(&args[0], &args[1]);
	if (!strcmp(name, "==")) *result = value_bool(!order);
	else if (!strcmp(name, "!=")) *result = value_bool(order);
	else if (!strcmp(name, "<")) *result = value_bool(order < 0);
	else if (!strcmp(name, "<=")) *result = value_bool(order <= 0);
	else if (!strcmp(name, ">")) *result = value_bool(order > 0);
	else if (!strcmp(name, ">=")) *result = value_bool(order >= 0);
	else return false;
	return true;
}

bool sp_is_texts(const Av *v) {
	if (v->kind == AV_DYN) return true;
	if (v->kind != AV_LIST && v->kind != AV_TUPLE) return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (v->items[i]->kind != AV_STRING && v->items[i]->kind != AV_DYN) return false;
	return v->n > 0;
}

Av *sp_sort_texts(Sp *sp, const CallArguments *call) {
	Av *down = call_named(call, "descending", sp->c);
	const Span spans[2] = {call->spans[0], call->spans[0]};
	CallArguments inner = {.span = call->span,
	                       .callee_span = call->callee_span,
	                       .n = 2,
	                       .args = (Av *[]){call->args[0], down ? down : av_bool(sp, false)},
	                       .spans = (Span *)spans};
	return sp_call(sp, av_builtin(sp, "_text_sort", 0, NULL), &inner);
}

Av *sp_number_of(Sp *sp, Av *v, Dtype d, Span at) {
	Av *r =
		sp_call_dynamic(sp, av_builtin(sp, "_number", 0, NULL), 2, (Av *[]){av_int(sp, d), v}, at);
	return av_array(sp, sp_scalar(sp, r, d, at, "a number"));
}

#define TEXT(fname, N, function)                                                                   \
	{ .name = fname, .min_args = N, .max_args = N, .run = text_function, .native = function }
const Builtin builtins_text[] = {
	TEXT("_text_split", 2, text_split),
	TEXT("_text_words", 1, text_words),
	TEXT("_text_lines", 1, text_lines),
	TEXT("_text_chars", 1, text_chars),
	TEXT("_text_join", 2, text_join),
	TEXT("_text_replace", 3, text_replace),
	TEXT("_text_count", 2, text_count),
	TEXT("_text_find", 3, text_find),
	TEXT("_text_contains", 2, text_contains),
	TEXT("_text_starts", 2, text_starts),
	TEXT("_text_ends", 2, text_ends),
	TEXT("_text_case", 2, text_case),
	TEXT("_text_trim", 2, text_trim),
	TEXT("_text_repeat", 2, text_repeat),
	TEXT("_text_pad", 4, text_pad),
	TEXT("_text_codes", 1, text_codes),
	TEXT("_text_sort", 2, text_sort),
	TEXT("_text_of_codes", 1, text_of_codes),
	TEXT("_text_slice", 5, text_slice),
	TEXT("_number", 2, number_of),
	{.name = "clock",
     .min_args = 0,
     .max_args = 0,
     .run = text_function,
     .native = clock_now,
     .doc = "clock(): seconds since some moment in the past, for measuring: the difference of two. "
            "What stands between them is done between them, unless nothing wants what it gives or "
            "the loop around them does not change it"},
	{.name = NULL},
};
