/* json.c - JSON: records as objects, lists and arrays as arrays, numbers,
 * strings, true, false and null.
 *
 * Needs: data/internal.h. Format: RFC 8259.
 *
 * Contract:
 * - Integers and reals are restored exactly. A real is written with a point or
 *   exponent, an integer without.
 * - A JSON array of numbers, or of such arrays of one shape, is read as an
 *   array.
 * - Values without a JSON form (NaN, infinities, complex numbers, functions)
 *   are refused by the writer. NaN, comments and extra commas are refused by
 *   the reader.
 * - Messages name the line and column.
 */
#include "data/internal.h"

#include <string.h>

/* ---- reading ------------------------------------------------------------- */

typedef struct JsonParser {
	Input *in;
	Ctx *c;
	const char *text, *p, *end;
	int depth;
	size_t polled;
} JsonParser;

static Status bad(JsonParser *j, const char *at, const char *what) {
	uint64_t line = 1, column = 1;
	for (const char *p = j->text; p < at; p++) {
		if (*p == '\n') line++, column = 1;
		else if (((unsigned char)*p & 0xc0) != 0x80) column++;
	}
	return input_bad(j->in, "line %llu, column %llu: %s", (unsigned long long)line,
	                 (unsigned long long)column, what);
}

static void blanks(JsonParser *j) {
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

static int hex4(const char *p, const char *end) {
	int v = 0;
	if (end - p < 4) return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int d = c >= '0' && c <= '9'   ? c - '0'
		        : c >= 'a' && c <= 'f' ? c - 'a' + 10
		        : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                               : -1;
		if (d < 0) return -1;
		v = v * 16 + d;
	}
	return v;
}

static void add_letter(Text *t, uint32_t u) {
	char s[4];
	size_t n = 0;
	if (u < 0x80) s[n++] = (char)u;
	else if (u < 0x800) s[n++] = (char)(0xc0 | u >> 6), s[n++] = (char)(0x80 | (u & 63));
	else if (u < 0x10000)
		s[n++] = (char)(0xe0 | u >> 12), s[n++] = (char)(0x80 | (u >> 6 & 63)),
		s[n++] = (char)(0x80 | (u & 63));
	else
		s[n++] = (char)(0xf0 | u >> 18), s[n++] = (char)(0x80 | (u >> 12 & 63)),
		s[n++] = (char)(0x80 | (u >> 6 & 63)), s[n++] = (char)(0x80 | (u & 63));
	text_add(t, s, n);
}

/* Reads a string; j->p is at the opening quote. */
static Status read_string(JsonParser *j, Text *t) {
	const char *start = j->p++;
	for (;;) {
		const char *from = j->p;
		while (j->p < j->end && *j->p != '"' && *j->p != '\\' && (unsigned char)*j->p >= 0x20)
			j->p++;
		text_add(t, from, (size_t)(j->p - from));
		if (t->failed) return ST_NOMEM;
		if (j->p >= j->end) return bad(j, start, "this string has no end");
		if (*j->p == '"') {
			j->p++;
			return ST_OK;
		}
		if (*j->p != '\\')
			return bad(j, j->p, "a control character in a string; write it as an escape");
		const char *esc = j->p++;
		char c = j->p < j->end ? *j->p++ : 0;
		static const char from_c[] = "\"\\/bfnrt", to_c[] = "\"\\/\b\f\n\r\t";
		const char *k = c ? strchr(from_c, c) : NULL;
		if (k) {
			text_add(t, &to_c[k - from_c], 1);
			continue;
		}
		int u = c == 'u' ? hex4(j->p, j->end) : -1;
		if (u < 0) return bad(j, esc, "an escape that JSON does not have");
		j->p += 4;
		uint32_t letter = (uint32_t)u;
		if (u >= 0xd800 && u < 0xdc00) {
			int low = j->end - j->p >= 6 && j->p[0] == '\\' && j->p[1] == 'u'
			              ? hex4(j->p + 2, j->end)
			              : -1;
			if (low < 0xdc00 || low > 0xdfff) return bad(j, esc, "half of a surrogate pair");
			letter = 0x10000 + (((uint32_t)u & 0x3ff) << 10) + ((uint32_t)low & 0x3ff);
			j->p += 6;
		} else if (u >= 0xdc00 && u < 0xe000) return bad(j, esc, "half of a surrogate pair");
		if (!letter) return bad(j, esc, "a zero character, which no string here holds");
		add_letter(t, letter);
	}
}

static Status read_number(JsonParser *j, Value *out) {
	const char *p = j->p, *start = p;
	bool whole = true;
	if (*p == '-') p++;
	if (p >= j->end || *p < '0' || *p > '9')
		return bad(j, start, "no value of JSON begins like this");
	if (*p == '0' && p + 1 < j->end && p[1] >= '0' && p[1] <= '9')
		return bad(j, start, "a number that begins with 0");
	while (p < j->end && *p >= '0' && *p <= '9') p++;
	if (p < j->end && *p == '.') {
		whole = false;
		p++;
		if (p >= j->end || *p < '0' || *p > '9')
			return bad(j, start, "a number without digits behind the point");
		while (p < j->end && *p >= '0' && *p <= '9') p++;
	}
	if (p < j->end && (*p == 'e' || *p == 'E')) {
		whole = false;
		p++;
		if (p < j->end && (*p == '+' || *p == '-')) p++;
		if (p >= j->end || *p < '0' || *p > '9')
			return bad(j, start, "a number without digits in its exponent");
		while (p < j->end && *p >= '0' && *p <= '9') p++;
	}
	j->p = p;
	if (whole) {
		int64_t v = 0;
		bool minus = *start == '-', over = false;
		for (const char *q = start + minus; q < p && !over; q++)
			over = __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *q - '0', &v);
		if (!minus && !over) over = __builtin_sub_overflow(0, v, &v);
		if (!over) {
			*out = value_i64(v);
			return ST_OK;
		}
	}
	double x;
	if (!number_read(start, p, &x)) return ST_NOMEM;
	if (x - x != 0) return bad(j, start, "a number beyond the largest real number");
	*out = value_f64(x);
	return ST_OK;
}

/* Combines items into one array if they are numbers, booleans, or arrays of one
 * shape; else into a list. */
static Status join(JsonParser *j, uint32_t n, const Value *items, Value *out) {
	bool arrays = true, same = true, bools = true, ints = true;
	for (uint32_t i = 0; i < n && arrays; i++) {
		arrays = value_is_array(items[i]);
		if (!arrays) break;
		Dtype d = value_dtype(items[i]);
		const bool empty = items[i].kind == V_TENSOR && !items[i].tensor->count;
		if (d != DT_BOOL && !empty) bools = false;
		if (d != DT_I64 && !empty) ints = false;
		if (value_rank(items[i]) != value_rank(items[0])) same = false;
		else if (value_rank(items[i]) && !tensor_same_shape(items[i].tensor, items[0].tensor))
			same = false;
	}
	if (!n) {
		int64_t zero = 0;
		Tensor *t = tensor_new(j->c, DT_F64, 1, &zero);
		*out = t ? value_tensor(t) : (Value){.kind = V_UNSET};
		return t ? ST_OK : data_no_memory(j->c, j->in->path, 64);
	}
	/* booleans and numbers do not mix */
	if (arrays && !bools)
		for (uint32_t i = 0; i < n; i++) same &= value_dtype(items[i]) != DT_BOOL;
	if (!arrays || !same || value_rank(items[0]) == MAX_RANK) {
		*out = value_seq(j->c, V_LIST, n, items);
		return out->kind == V_UNSET ? data_no_memory(j->c, j->in->path, n * sizeof(Value)) : ST_OK;
	}
	const uint32_t rank = value_rank(items[0]);
	int64_t shape[MAX_RANK];
	shape[0] = n;
	for (uint32_t i = 0; i < rank; i++) shape[i + 1] = items[0].tensor->shape[i];
	const bool empty = rank && !items[0].tensor->count;
	Dtype d = empty ? value_dtype(items[0]) : bools ? DT_BOOL : ints ? DT_I64 : DT_F64;
	Tensor *t;
	Status st = input_tensor(j->in, d, rank + 1, shape, &t);
	if (st != ST_OK) return st;
	const size_t row = (size_t)(t->count / n) * dtype_size(d);
	for (uint32_t i = 0; i < n; i++) {
		char *to = t->data + i * row;
		if (rank) {
			Tensor from = *items[i].tensor, place = {.dtype = (uint8_t)d,
			                                         .rank = from.rank,
			                                         .contiguous = true,
			                                         .count = from.count,
			                                         .data = to};
			int64_t step = 1;
			for (uint32_t k = from.rank; k-- > 0;) {
				place.shape[k] = from.shape[k];
				place.stride[k] = step;
				step *= from.shape[k];
			}
			if (from.count) {
				if (from.dtype == d) tensor_assign(&place, &from);
				else tensor_convert_into(&place, &from);
			}
		} else if (d == DT_F64) {
			double x = 0;
			value_as_f64(items[i], &x);
			memcpy(to, &x, 8);
		} else memcpy(to, value_scalar_bytes(&items[i]), row);
	}
	*out = value_tensor(t);
	return ST_OK;
}

static Status read_value(JsonParser *j, Value *out);

static Status read_array(JsonParser *j, Value *out) {
	ValueList l = {.c = j->c};
	Status st = ST_OK;
	j->p++;
	blanks(j);
	if (j->p < j->end && *j->p == ']') j->p++;
	else
		for (;;) {
			Value v = {.kind = V_UNSET};
			st = read_value(j, &v);
			if (st != ST_OK) break;
			value_list_add(&l, v);
			if (l.failed) {
				st = data_no_memory(j->c, j->in->path, 2ull * l.cap * sizeof v);
				break;
			}
			blanks(j);
			if (j->p >= j->end) st = bad(j, j->p, "the text ends inside an array");
			else if (*j->p == ']') {
				j->p++;
				break;
			} else if (*j->p != ',') st = bad(j, j->p, "a comma or ] is wanted here");
			if (st != ST_OK) break;
			j->p++;
		}
	if (st == ST_OK) st = join(j, l.n, l.at, out);
	value_list_drop(&l);
	return st;
}

static Status read_object(JsonParser *j, Value *out) {
	Fields f;
	fields_init(&f, j->c);
	Status st = ST_OK;
	j->p++;
	blanks(j);
	if (j->p < j->end && *j->p == '}') j->p++;
	else
		for (;;) {
			blanks(j);
			if (j->p >= j->end || *j->p != '"') {
				st = bad(j, j->p,
				         j->p >= j->end ? "the text ends inside an object"
				                        : "a name in double quotes is wanted here");
				break;
			}
			const char *at = j->p;
			Text name;
			text_init(&name, j->c);
			st = read_string(j, &name);
			if (st == ST_OK && fields_find(&f, name.n ? name.at : "", name.n) >= 0)
				st = bad(j, at, "a second field of this name");
			Value v = {.kind = V_UNSET};
			if (st == ST_OK) {
				blanks(j);
				if (j->p >= j->end || *j->p != ':') st = bad(j, j->p, "a colon is wanted here");
				else j->p++;
			}
			if (st == ST_OK) st = read_value(j, &v);
			if (st == ST_OK) fields_add(&f, name.n ? name.at : "", name.n, v);
			text_free(&name);
			if (st == ST_OK && f.failed) st = data_no_memory(j->c, j->in->path, 64);
			if (st != ST_OK) break;
			blanks(j);
			if (j->p >= j->end) st = bad(j, j->p, "the text ends inside an object");
			else if (*j->p == '}') {
				j->p++;
				break;
			} else if (*j->p != ',') st = bad(j, j->p, "a comma or } is wanted here");
			if (st != ST_OK) break;
			j->p++;
			if (f.n > 10000) {
				st = bad(j, j->p, "an object with more than 10000 fields");
				break;
			}
		}
	if (st != ST_OK) {
		fields_free(&f);
		return st;
	}
	*out = fields_record(&f);
	return out->kind == V_UNSET ? data_no_memory(j->c, j->in->path, 64) : ST_OK;
}

static bool word(JsonParser *j, const char *w) {
	size_t n = strlen(w);
	if ((size_t)(j->end - j->p) < n || memcmp(j->p, w, n)) return false;
	j->p += n;
	return true;
}

static Status read_value(JsonParser *j, Value *out) {
	Status st = ST_OK;
	blanks(j);
	if ((size_t)(j->p - j->text) > j->polled + 65536) {
		j->polled = (size_t)(j->p - j->text);
		st = ctx_poll(j->c, 8192);
		if (st != ST_OK) return st;
	}
	if (j->p >= j->end) return bad(j, j->p, "the text ends where a value is wanted");
	switch (*j->p) {
	case '{':
	case '[':
		if (j->depth >= DEEPEST) return bad(j, j->p, "nested more than 200 deep");
		j->depth++;
		st = *j->p == '{' ? read_object(j, out) : read_array(j, out);
		j->depth--;
		return st;
	case '"': {
		Text t;
		text_init(&t, j->c);
		st = read_string(j, &t);
		if (st == ST_OK) {
			*out = value_string(j->c, t.n ? t.at : "", t.n);
			if (out->kind == V_UNSET) st = data_no_memory(j->c, j->in->path, t.n);
		}
		text_free(&t);
		return st;
	}
	case 't':
		if (word(j, "true")) return *out = value_bool(true), ST_OK;
		break;
	case 'f':
		if (word(j, "false")) return *out = value_bool(false), ST_OK;
		break;
	case 'n':
		if (word(j, "null")) return *out = value_none(), ST_OK;
		break;
	case 'N':
	case 'I': return bad(j, j->p, "JSON has no NaN and no infinities");
	default: return read_number(j, out);
	}
	return bad(j, j->p, "no value of JSON begins like this");
}

Status json_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	char *text;
	size_t n;
	Status st = input_text(in, true, &text, &n);
	if (st != ST_OK) return st;
	JsonParser j = {.in = in, .c = in->c, .text = text, .p = text, .end = text + n};
	st = read_value(&j, out);
	if (st == ST_OK) {
		blanks(&j);
		if (j.p < j.end) {
			st = bad(&j, j.p, "something behind the end of the value");
			value_unref(*out);
			out->kind = V_UNSET;
		}
	}
	input_text_free(in, text);
	return st;
}

/* ---- writing ------------------------------------------------------------- */

static void put_string(OutputFile *out, const char *s, size_t n) {
	output_str(out, "\"");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"') output_str(out, "\\\"");
		else if (c == '\\') output_str(out, "\\\\");
		else if (c == '\n') output_str(out, "\\n");
		else if (c == '\t') output_str(out, "\\t");
		else if (c == '\r') output_str(out, "\\r");
		else if (c < 0x20 || c == 0x7f) output_format(out, "\\u%04x", c);
		else output_add(out, s + i, 1);
	}
	output_str(out, "\"");
}

static Status put_number(OutputFile *out, Dtype d, const char *at) {
	double x;
	switch (d) {
	case DT_BOOL: output_str(out, *at ? "true" : "false"); return out->status;
	case DT_I32: {
		int32_t v;
		memcpy(&v, at, 4);
		output_format(out, "%d", v);
		return out->status;
	}
	case DT_I64: {
		int64_t v;
		memcpy(&v, at, 8);
		output_format(out, "%lld", (long long)v);
		return out->status;
	}
	case DT_F32: {
		float f;
		memcpy(&f, at, 4);
		x = (double)f;
		break;
	}
	case DT_F64: memcpy(&x, at, 8); break;
	default:
		return output_bad(
			out, "JSON has no complex numbers; save real and imaginary parts, or use .npz or .h5");
	}
	if (x - x != 0)
		return output_bad(out, "JSON has no %s; .npz, .h5 and .csv have",
		                  x != x ? "NaN" : "infinities");
	char text[40];
	output_add(out, text, number_print(text, x));
	return out->status;
}

static Status put_array(OutputFile *out, const Tensor *t, uint32_t axis, const char *at,
                        int indent) {
	if (axis == t->rank) return put_number(out, (Dtype)t->dtype, at);
	const bool inner = axis + 1 == t->rank;
	output_str(out, "[");
	for (int64_t i = 0; i < t->shape[axis] && out->status == ST_OK; i++) {
		if (i) output_str(out, inner ? ", " : ",");
		if (!inner && i) output_format(out, "\n%*s", indent + (int)axis + 1, "");
		put_array(out, t, axis + 1, at + i * t->stride[axis] * (int64_t)dtype_size((Dtype)t->dtype),
		          indent);
		if (i % 1024 == 1023 && out->status == ST_OK) out->status = ctx_poll(out->c, 1024);
	}
	output_str(out, "]");
	return out->status;
}

static Status put_value(OutputFile *out, Value v, int depth) {
	if (depth > DEEPEST) return output_bad(out, "this is nested too deeply");
	switch ((ValueKind)v.kind) {
	case V_NONE: output_str(out, "null"); break;
	case V_SCALAR: return put_number(out, value_dtype(v), value_scalar_bytes(&v));
	case V_TENSOR: return put_array(out, v.tensor, 0, v.tensor->data, 2 * depth);
	case V_STRING: {
		size_t n;
		const char *s = string_text(v, &n);
		put_string(out, s, n);
		break;
	}
	case V_RANGE: {
		const RangeObject *r = (const RangeObject *)v.object;
		output_str(out, "[");
		for (int64_t i = r->start; r->step > 0 ? i < r->stop : i > r->stop;) {
			output_format(out, "%s%lld", i == r->start ? "" : ", ", (long long)i);
			if (out->status == ST_OK) out->status = ctx_poll(out->c, 1);
			if (out->status != ST_OK || __builtin_add_overflow(i, r->step, &i)) break;
		}
		output_str(out, "]");
		break;
	}
	case V_TUPLE:
	case V_LIST:
		output_str(out, "[");
		for (uint32_t i = 0; i < v.object->n && out->status == ST_OK; i++) {
			if (i) output_str(out, ", ");
			put_value(out, ((const SeqObject *)v.object)->items[i], depth + 1);
		}
		output_str(out, "]");
		break;
	case V_RECORD: {
		const RecordObject *r = (const RecordObject *)v.object;
		output_str(out, "{");
		for (uint32_t i = 0; i < r->head.n && out->status == ST_OK; i++) {
			output_format(out, "%s\n%*s", i ? "," : "", 2 * depth + 2, "");
			put_string(out, atom_text(out->c, r->fields[i].name),
			           atom_length(out->c, r->fields[i].name));
			output_str(out, ": ");
			put_value(out, r->fields[i].value, depth + 1);
		}
		if (r->head.n) output_format(out, "\n%*s", 2 * depth, "");
		output_str(out, "}");
		break;
	}
	case V_HOST: return output_bad(out, "a host value exists in this process only");
	default: return output_bad(out, "JSON has no functions; .h5 and .npz keep them");
	}
	return out->status;
}

Status json_write(OutputFile *out, const IoOptions *o, Value v) {
	(void)o;
	put_value(out, v, 0);
	output_str(out, "\n");
	return out->status;
}
