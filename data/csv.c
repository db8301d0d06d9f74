/* csv.c - delimited tables: columns separated by commas, tabs or `separator`.
 *
 * Needs: data/internal.h. Format: RFC 4180 (doubled quotes and line breaks
 * inside quoted cells).
 *
 * Contract:
 * - A table with a header is a record of columns. Without a header it is a
 *   matrix if all cells are numeric (one column: a vector), else a record with
 *   the names c0, c1 ...
 * - A column of integers is i64, of other numbers f64 or c128, of true and
 *   false bool, otherwise a list of strings.
 * - Empty cells, NA, N/A, null and NaN among numbers are NaN. Quoted cells are
 *   strings, unless all cells of the file are quoted.
 * - Reals are written with all their bits.
 * - Rows of unequal length and unterminated quotes are errors with their line.
 */
#include "data/internal.h"

#include <stdio.h>
#include <string.h>

typedef struct CsvCell {
	const char *at;
	uint32_t n;
	bool quoted, doubled; /* doubled: contains "" */
	uint32_t line;
} CsvCell;

typedef struct CsvTable {
	Input *in;
	Ctx *c;
	CsvCell *cells;
	uint64_t n, cap;
	uint64_t rows, columns;
} CsvTable;

static Status add_cell(CsvTable *t, CsvCell cell) {
	if (t->n == t->cap) {
		uint64_t cap = t->cap ? t->cap * 2 : 256;
		CsvCell *more = heap_resize(t->c, t->cells, t->cap * sizeof cell, cap * sizeof cell);
		if (!more) return data_no_memory(t->c, t->in->path, cap * sizeof cell);
		t->cells = more;
		t->cap = cap;
	}
	t->cells[t->n++] = cell;
	return ST_OK;
}

static Status split(CsvTable *t, const char *p, const char *end, char sep) {
	uint64_t line = 1;
	const char *polled = p;
	while (p < end) {
		uint64_t first = t->n, row_line = line;
		for (bool more = true; more;) {
			CsvCell cell = {.line = (uint32_t)line};
			if (*p == '"' && p < end) {
				cell.quoted = true;
				cell.at = ++p;
				for (;; p++) {
					if (p >= end)
						return input_bad_line(t->in, cell.line,
						                      "the quote that begins here has no end");
					if (*p == '\n') line++;
					if (*p == '"') {
						if (p + 1 >= end || p[1] != '"') break;
						cell.doubled = true;
						p++;
					}
				}
				if (p - cell.at > INT32_MAX)
					return input_bad_line(t->in, cell.line, "a cell of more than 2 GB");
				cell.n = (uint32_t)(p++ - cell.at);
				while (p < end && *p == ' ' && sep != ' ') p++;
				if (p < end && *p != sep && *p != '\n' && *p != '\r')
					return input_bad_line(t->in, line, "text behind a closing quote");
			} else {
				cell.at = p;
				while (p < end && *p != sep && *p != '\n' && *p != '\r') p++;
				const char *stop = p;
				while (cell.at < stop && (*cell.at == ' ' || *cell.at == '\t')) cell.at++;
				while (stop > cell.at && (stop[-1] == ' ' || stop[-1] == '\t')) stop--;
				if (stop - cell.at > INT32_MAX)
					return input_bad_line(t->in, cell.line, "a cell of more than 2 GB");
				cell.n = (uint32_t)(stop - cell.at);
			}
			Status st = add_cell(t, cell);
			if (st != ST_OK) return st;
			more = p < end && *p == sep;
			if (more) p++;
			if (more && p >= end) { /* a trailing separator: one more empty cell */
				st = add_cell(t, (CsvCell){.at = end, .line = (uint32_t)line});
				if (st != ST_OK) return st;
				more = false;
			}
		}
		if (p < end && *p == '\r') p++;
		if (p < end && *p == '\n') p++;
		line++;
		const uint64_t width = t->n - first;
		if (width == 1 && !t->cells[first].n && !t->cells[first].quoted) { /* an empty line */
			t->n = first;
			continue;
		}
		if (!t->rows) t->columns = width;
		else if (width != t->columns)
			return input_bad_line(t->in, row_line, "%llu cell%s here, and %llu in the first row",
			                      (unsigned long long)width, width == 1 ? "" : "s",
			                      (unsigned long long)t->columns);
		t->rows++;
		if (p - polled > 65536) {
			polled = p;
			Status st = ctx_poll(t->c, 8192);
			if (st != ST_OK) return st;
		}
	}
	return ST_OK;
}

/* ---- kinds of cells ------------------------------------------------------ */

typedef enum Kind { MISSING = 1, TRUTH = 2, WHOLE = 4, REAL = 8, COMPLEX = 16, WORDS = 32 } Kind;

static bool is_word(const char *at, size_t n, const char *word) {
	if (strlen(word) != n) return false;
	for (size_t i = 0; i < n; i++)
		if ((at[i] | 32) != word[i]) return false;
	return true;
}

static bool is_missing(const char *at, size_t n) {
	return !n || (n == 2 && !memcmp(at, "NA", 2)) || (n == 3 && !memcmp(at, "N/A", 3)) ||
	       is_word(at, n, "nan") || is_word(at, n, "null");
}

/* Reads a real number, nan or inf. Returns its end or NULL. */
static const char *real_read(const char *p, const char *end, double *x) {
	const char *q = p;
	bool minus = q < end && *q == '-';
	if (q < end && (*q == '-' || *q == '+')) q++;
	const size_t left = (size_t)(end - q);
	if (left >= 3 && is_word(q, 3, "nan")) return *x = __builtin_nan(""), q + 3;
	if (left >= 8 && is_word(q, 8, "infinity"))
		return *x = minus ? -__builtin_inf() : __builtin_inf(), q + 8;
	if (left >= 3 && is_word(q, 3, "inf"))
		return *x = minus ? -__builtin_inf() : __builtin_inf(), q + 3;
	return number_read(p, end, x);
}

static bool whole_read(const char *p, const char *end, int64_t *out) {
	bool minus = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+')) p++;
	if (p >= end) return false;
	int64_t v = 0;
	for (; p < end; p++)
		if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_sub_overflow(v, *p - '0', &v))
			return false;
	if (!minus && __builtin_sub_overflow((int64_t)0, v, &v)) return false;
	*out = v;
	return true;
}

/* Reads a+bj, a+bi, a+bim or bj, optionally in parentheses. */
static bool complex_read(const char *p, const char *end, double z[2]) {
	if (end - p >= 2 && *p == '(' && end[-1] == ')') p++, end--;
	double x;
	const char *q = real_read(p, end, &x);
	if (!q) return false;
	bool two = q < end && (*q == '+' || *q == '-');
	double y = x;
	if (two) {
		const char *r = real_read(q, end, &y);
		if (!r) return false;
		q = r;
	}
	size_t left = (size_t)(end - q);
	bool unit =
		(left == 1 && (*q == 'j' || *q == 'i')) || (left == 2 && q[0] == 'i' && q[1] == 'm');
	if (!unit) return false;
	z[0] = two ? x : 0;
	z[1] = y;
	return true;
}

static Kind kind_of(const CsvCell *cell, bool quotes_mean) {
	if (cell->quoted && quotes_mean) return WORDS;
	const char *p = cell->at, *end = p + cell->n;
	int64_t whole;
	double x, z[2];
	if (cell->doubled) return WORDS;
	if (is_missing(p, cell->n)) return MISSING;
	if (is_word(p, cell->n, "true") || is_word(p, cell->n, "false")) return TRUTH;
	if (whole_read(p, end, &whole)) return WHOLE;
	const char *q = real_read(p, end, &x);
	if (q == end) return REAL;
	return q && complex_read(p, end, z)           ? COMPLEX
	       : *p == '(' && complex_read(p, end, z) ? COMPLEX
	                                              : WORDS;
}

static Value cell_text(CsvTable *t, const CsvCell *cell) {
	if (!cell->doubled) return value_string(t->c, cell->at, cell->n);
	char *text = heap_alloc(t->c, cell->n + 1);
	if (!text) return (Value){.kind = V_UNSET};
	size_t k = 0;
	for (uint32_t i = 0; i < cell->n; i++) {
		text[k++] = cell->at[i];
		if (cell->at[i] == '"') i++;
	}
	Value v = value_string(t->c, text, k);
	heap_free(t->c, text, cell->n + 1);
	return v;
}

/* Stores a cell as an element of a column of dtype d. */
static void put_cell(const CsvCell *cell, Dtype d, char *to) {
	const char *p = cell->at, *end = p + cell->n;
	double z[2] = {__builtin_nan(""), 0};
	int64_t whole = 0;
	if (d == DT_BOOL) *to = (char)((*p | 32) == 't');
	else if (d == DT_I64) {
		whole_read(p, end, &whole);
		memcpy(to, &whole, 8);
	} else {
		if (!is_missing(p, cell->n)) {
			const char *q = real_read(p, end, &z[0]);
			if (q != end && d == DT_C128) complex_read(p, end, z);
		}
		memcpy(to, z, d == DT_C128 ? 16 : 8);
	}
}

/* The dtype for cells of these kinds; DT_COUNT: strings. */
static Dtype dtype_for(unsigned kinds) {
	if (kinds & WORDS) return DT_COUNT;
	if (kinds & TRUTH) return kinds == TRUTH ? DT_BOOL : DT_COUNT;
	if (kinds & COMPLEX) return DT_C128;
	return kinds == WHOLE ? DT_I64 : DT_F64;
}

static Status read_column(CsvTable *t, uint64_t first, uint64_t column, unsigned kinds,
                          Value *out) {
	const uint64_t n = t->rows - first;
	const Dtype d = dtype_for(kinds);
	if (d == DT_COUNT) {
		Value *items = heap_alloc(t->c, (n + 1) * sizeof *items);
		Status st =
			items && n < UINT32_MAX ? ST_OK : data_no_memory(t->c, t->in->path, n * sizeof *items);
		uint64_t k = 0;
		for (; k < n && st == ST_OK; k++) {
			items[k] = cell_text(t, &t->cells[(first + k) * t->columns + column]);
			if (items[k].kind == V_UNSET) {
				st = data_no_memory(t->c, t->in->path, 64);
				break;
			}
			if (k % 4096 == 4095) st = ctx_poll(t->c, 4096);
		}
		if (st == ST_OK) {
			*out = value_seq(t->c, V_LIST, (uint32_t)n, items);
			if (out->kind == V_UNSET) st = data_no_memory(t->c, t->in->path, n * sizeof *items);
		}
		for (uint64_t i = 0; i < k; i++) value_unref(items[i]);
		heap_free(t->c, items, (n + 1) * sizeof *items);
		return st;
	}
	Tensor *array;
	int64_t shape = (int64_t)n;
	Status st = input_tensor(t->in, d, 1, &shape, &array);
	for (uint64_t k = 0; k < n && st == ST_OK; k++) {
		put_cell(&t->cells[(first + k) * t->columns + column], d, array->data + k * dtype_size(d));
		if (k % 4096 == 4095) st = ctx_poll(t->c, 4096);
	}
	if (st == ST_OK) *out = value_tensor(array);
	else tensor_unref(array);
	return st;
}

static Status read_matrix(CsvTable *t, unsigned kinds, Value *out) {
	const Dtype d = dtype_for(kinds);
	const bool vector = t->columns == 1;
	int64_t shape[2] = {(int64_t)t->rows, (int64_t)t->columns};
	Tensor *array;
	Status st = input_tensor(t->in, d, vector ? 1 : 2, shape, &array);
	for (uint64_t k = 0; k < t->n && st == ST_OK; k++) {
		put_cell(&t->cells[k], d, array->data + k * dtype_size(d));
		if (k % 4096 == 4095) st = ctx_poll(t->c, 4096);
	}
	if (st == ST_OK) *out = value_tensor(array);
	else tensor_unref(array);
	return st;
}

/* Guesses the separator. */
static char guess_separator(Input *in, const char *text, const char *end) {
	const char *dot = strrchr(in->path, '.');
	if (dot && !strcmp(dot, ".tsv")) return '\t';
	bool quoted = false, comma = false, semicolon = false, tab = false;
	for (const char *p = text; p < end && (quoted || *p != '\n'); p++) {
		if (*p == '"') quoted = !quoted;
		else if (!quoted) comma |= *p == ',', semicolon |= *p == ';', tab |= *p == '\t';
	}
	return comma ? ',' : semicolon ? ';' : tab ? '\t' : ',';
}

Status csv_read(Input *in, const IoOptions *o, Value *out) {
	char *text;
	size_t n;
	Status st = input_text(in, true, &text, &n);
	if (st != ST_OK) return st;
	CsvTable t = {.in = in, .c = in->c};
	if (memchr(text, 0, n)) {
		uint64_t line = 1;
		for (const char *p = text; *p; p++) line += *p == '\n';
		st = input_bad_line(in, line, "a zero byte: this is no text");
	}
	if (st == ST_OK)
		st = split(&t, text, text + n,
		           o->separator ? o->separator : guess_separator(in, text, text + n));
	bool quotes_mean = false;
	for (uint64_t i = 0; i < t.n; i++) quotes_mean |= !t.cells[i].quoted;
	if (st == ST_OK) {
		bool header = o->header > 0;
		if (o->header < 0 && t.rows) { /* a header is a row of strings above other rows */
			/* pandas and R leave the header cell of row names empty */
			const bool nameless = !t.cells[0].n && t.columns > 1 && t.rows > 1;
			header = true;
			for (uint64_t k = nameless; k < t.columns; k++)
				header &= kind_of(&t.cells[k], quotes_mean) == WORDS && t.cells[k].n;
			for (uint64_t r = 1; nameless && r < t.rows; r++)
				header &= kind_of(&t.cells[r * t.columns], quotes_mean) != MISSING;
		}
		if (header && !t.rows)
			st = input_bad_line(in, 1, "the file is empty, and a header is wanted");
		unsigned all = 0, *kinds = heap_alloc(in->c, (t.columns + 1) * sizeof *kinds);
		if (!kinds) st = data_no_memory(in->c, in->path, t.columns * sizeof *kinds);
		for (uint64_t k = 0; k < t.columns && st == ST_OK; k++) {
			kinds[k] = 0;
			for (uint64_t r = header; r < t.rows; r++)
				kinds[k] |= kind_of(&t.cells[r * t.columns + k], quotes_mean);
			if (!(kinds[k] & ~(unsigned)MISSING) && kinds[k]) kinds[k] |= REAL;
			all |= kinds[k];
			st = ctx_poll(in->c, t.rows / 8);
		}
		if (st != ST_OK) {
		} else if (!t.rows) {
			int64_t none[2] = {0, 0};
			Tensor *array;
			st = input_tensor(in, DT_F64, 2, none, &array);
			if (st == ST_OK) *out = value_tensor(array);
		} else if (!header && dtype_for(all) != DT_COUNT) st = read_matrix(&t, all, out);
		else if (t.columns > 20000) st = input_bad(in, "a record of more than 20000 columns");
		else {
			Fields f;
			fields_init(&f, in->c);
			for (uint64_t k = 0; k < t.columns && st == ST_OK; k++) {
				char number[24];
				snprintf(number, sizeof number, "c%llu", (unsigned long long)k);
				Value name = header ? cell_text(&t, &t.cells[k])
				                    : value_string(in->c, number, strlen(number)),
					  column = {.kind = V_UNSET};
				size_t len;
				const char *as = string_text(name, &len);
				if (!len) as = number, len = strlen(number);
				if (fields_find(&f, as, len) >= 0)
					st = input_bad_line(in, t.cells[k].line,
					                    "two columns are named %.*s; header = false numbers them",
					                    (int)(len < 60 ? len : 60), as);
				if (st == ST_OK) st = read_column(&t, header, k, kinds[k], &column);
				if (st == ST_OK) fields_add(&f, as, len, column);
				if (st == ST_OK && f.failed) st = data_no_memory(in->c, in->path, 64);
				value_unref(name);
				if (st == ST_OK) st = ctx_poll(in->c, t.columns / 16);
			}
			if (st == ST_OK) {
				*out = fields_record(&f);
				if (out->kind == V_UNSET) st = data_no_memory(in->c, in->path, 64);
			} else fields_free(&f);
		}
		heap_free(in->c, kinds, (t.columns + 1) * sizeof *kinds);
	}
	heap_free(in->c, t.cells, t.cap * sizeof *t.cells);
	input_text_free(in, text);
	return st;
}

/* ---- writing ------------------------------------------------------------- */

static void put_text(OutputFile *out, const char *s, size_t n, char sep, bool always) {
	CsvCell cell = {.at = s, .n = (uint32_t)n};
	bool quote = always || !n || s[0] == ' ' || s[n - 1] == ' ' || memchr(s, sep, n) ||
	             memchr(s, '"', n) || memchr(s, '\n', n) || memchr(s, '\r', n) ||
	             memchr(s, '\t', n) || kind_of(&cell, false) != WORDS;
	if (!quote) {
		output_add(out, s, n);
		return;
	}
	output_str(out, "\"");
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"') output_str(out, "\"");
		output_add(out, s + i, 1);
	}
	output_str(out, "\"");
}

static void put_element(OutputFile *out, Dtype d, const char *at) {
	char text[40];
	double z[2] = {0};
	float f[2];
	switch (d) {
	case DT_BOOL: output_str(out, *at ? "true" : "false"); return;
	case DT_I32: {
		int32_t v;
		memcpy(&v, at, 4);
		output_format(out, "%d", v);
		return;
	}
	case DT_I64: {
		int64_t v;
		memcpy(&v, at, 8);
		output_format(out, "%lld", (long long)v);
		return;
	}
	case DT_F32:
	case DT_C64:
		memcpy(f, at, d == DT_F32 ? 4 : 8);
		z[0] = (double)f[0];
		z[1] = d == DT_C64 ? (double)f[1] : 0;
		break;
	default: memcpy(z, at, d == DT_F64 ? 8 : 16);
	}
	output_add(out, text, number_print(text, z[0]));
	if (!dtype_is_complex(d)) return;
	const size_t n = number_print(text, z[1]);
	if (text[0] != '-') output_str(out, "+");
	output_add(out, text, n);
	output_str(out, "j");
}

/* Whether v is a column: a vector or a list of strings and scalars. *n: its
 * length. */
static bool column_length(Value v, uint64_t *n) {
	if (v.kind == V_TENSOR && v.tensor->rank == 1) return *n = (uint64_t)v.tensor->shape[0], true;
	if (v.kind != V_LIST && v.kind != V_TUPLE) return false;
	for (uint32_t i = 0; i < v.object->n; i++) {
		Value item = ((const SeqObject *)v.object)->items[i];
		if (item.kind != V_STRING && item.kind != V_SCALAR && item.kind != V_NONE) return false;
	}
	return *n = v.object->n, true;
}

static void put_item(OutputFile *out, Value v, uint64_t i, char sep) {
	if (v.kind == V_TENSOR) {
		put_element(out, (Dtype)v.tensor->dtype,
		            v.tensor->data + (int64_t)i * v.tensor->stride[0] *
		                                 (int64_t)dtype_size((Dtype)v.tensor->dtype));
		return;
	}
	Value item = ((const SeqObject *)v.object)->items[i];
	size_t n;
	const char *s = string_text(item, &n);
	if (item.kind == V_STRING) put_text(out, s, n, sep, false);
	else if (item.kind == V_SCALAR) put_element(out, value_dtype(item), value_scalar_bytes(&item));
}

Status csv_write(OutputFile *out, const IoOptions *o, Value v) {
	const char *dot = strrchr(out->path, '.');
	const char sep = o->separator                  ? o->separator
	                 : dot && !strcmp(dot, ".tsv") ? '\t'
	                                               : ',',
			   between[2] = {sep, 0};
	if (v.kind == V_SCALAR) {
		put_element(out, value_dtype(v), value_scalar_bytes(&v));
		output_str(out, "\n");
		return out->status;
	}
	if (v.kind == V_TENSOR && v.tensor->rank <= 2) {
		const Tensor *t = v.tensor;
		const int64_t size = (int64_t)dtype_size((Dtype)t->dtype),
					  columns = t->rank == 2 ? t->shape[1] : 1;
		for (int64_t i = 0; columns && i < t->shape[0] && out->status == ST_OK; i++) {
			for (int64_t k = 0; k < columns; k++) {
				if (k) output_str(out, between);
				put_element(out, (Dtype)t->dtype,
				            t->data +
				                (i * t->stride[0] + (t->rank == 2 ? k * t->stride[1] : 0)) * size);
			}
			output_str(out, "\n");
			if (i % 256 == 255 && out->status == ST_OK)
				out->status = ctx_poll(out->c, 256 * (uint64_t)columns);
		}
		return out->status;
	}
	if (v.kind == V_TENSOR)
		return output_bad(out, "a table has two axes, and this array has %u; .npy holds it",
		                  v.tensor->rank);
	if (v.kind != V_RECORD)
		return output_bad(
			out,
			"a table is a matrix, or a record of columns: save(path, (t = times, u = values))");
	const RecordObject *r = (const RecordObject *)v.object;
	uint64_t rows = 0;
	for (uint32_t k = 0; k < r->head.n; k++) {
		uint64_t n;
		const char *name = atom_text(out->c, r->fields[k].name);
		if (!column_length(r->fields[k].value, &n))
			return output_bad(
				out, "the field %.60s is no column: a vector, or a list of strings and numbers",
				name);
		if (k && n != rows)
			return output_bad(out, "the column %.60s has %llu rows, and %s has %llu", name,
			                  (unsigned long long)n, atom_text(out->c, r->fields[0].name),
			                  (unsigned long long)rows);
		rows = n;
	}
	if (o->header) {
		for (uint32_t k = 0; k < r->head.n; k++) {
			if (k) output_str(out, between);
			put_text(out, atom_text(out->c, r->fields[k].name),
			         atom_length(out->c, r->fields[k].name), sep, false);
		}
		if (r->head.n) output_str(out, "\n");
	}
	for (uint64_t i = 0; i < rows && out->status == ST_OK; i++) {
		for (uint32_t k = 0; k < r->head.n; k++) {
			if (k) output_str(out, between);
			put_item(out, r->fields[k].value, i, sep);
		}
		output_str(out, "\n");
		if (i % 256 == 255 && out->status == ST_OK)
			out->status = ctx_poll(out->c, 256 * (uint64_t)r->head.n);
	}
	return out->status;
}
