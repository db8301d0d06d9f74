/* vtk_read.c - reads VTK's XML files: image data (.vti) and unstructured grids
 * (.vtu).
 *
 * Needs: data/internal.h, xml.h, zlib.
 *
 * Contract:
 * - Arrays may be ASCII, inline base64, or appended (raw or base64). All
 *   numeric types, both byte orders and zlib compression are supported.
 * - An image is a record (origin, spacing, dims, point, cell); x is the first
 *   axis of its arrays.
 * - A grid is a record (points, cells, types, point, cell), with `offsets` if
 *   cells have different numbers of points.
 * - A file must have one piece.
 */
#include "data/xml.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct VtkFile {
	Input *in;
	Ctx *c;
	const XmlNode *root;
	bool wide; /* 8-byte lengths */
	bool swap, packed;
	const char *appended, *end; /* from the mark _ to the file's end; NULL: no appended data */
	bool appended_base64;
} VtkFile;

/* The bytes of an array, raw or base64. */
typedef struct Bytes {
	const char *p, *end;
	bool base64;
	uint8_t left[3];
	int nleft;
} Bytes;

static int digit(char c) {
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'             ? 62
	       : c == '/'             ? 63
	                              : -1;
}

static bool bytes_read(Bytes *b, void *to, uint64_t n) {
	uint8_t *out = to;
	if (!b->base64) {
		if (n > (uint64_t)(b->end - b->p)) return false;
		if (n) memcpy(out, b->p, n);
		b->p += n;
		return true;
	}
	while (n) {
		/* a group of four characters; padding ends a run, after which another
		 * may follow */
		if (!b->nleft) {
			int v[4], k = 0, pad = 0;
			for (; k < 4; k++) {
				while (b->p < b->end &&
				       (*b->p == ' ' || *b->p == '\n' || *b->p == '\r' || *b->p == '\t'))
					b->p++;
				if (b->p >= b->end) return false;
				if (*b->p == '=') v[k] = 0, pad++;
				else if (pad || (v[k] = digit(*b->p)) < 0) return false;
				b->p++;
			}
			if (pad > 2) return false;
			const uint8_t raw[3] = {(uint8_t)(v[0] << 2 | v[1] >> 4),
			                        (uint8_t)(v[1] << 4 | v[2] >> 2), (uint8_t)(v[2] << 6 | v[3])};
			b->nleft = 3 - pad;
			memcpy(b->left, raw, 3);
		}
		*out++ = b->left[0];
		b->left[0] = b->left[1];
		b->left[1] = b->left[2];
		b->nleft--;
		n--;
	}
	return true;
}

static bool read_length(VtkFile *f, Bytes *b, uint64_t *n) {
	uint8_t raw[8];
	if (!bytes_read(b, raw, f->wide ? 8 : 4)) return false;
	uint32_t narrow;
	memcpy(n, raw, 8);
	memcpy(&narrow, raw, 4);
	if (!f->wide) *n = f->swap ? __builtin_bswap32(narrow) : narrow;
	else if (f->swap) *n = __builtin_bswap64(*n);
	return true;
}

static Status bad(VtkFile *f, const XmlNode *n, const char *what) {
	return xml_bad(f->in, n, what);
}

static bool to_int(XmlText t, int64_t *out) {
	bool minus = t.n && *t.at == '-';
	int64_t v = 0;
	if (!t.at || t.n == (size_t)minus) return false;
	for (size_t i = minus; i < t.n; i++)
		if (t.at[i] < '0' || t.at[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, t.at[i] - '0', &v))
			return false;
	*out = minus ? -v : v;
	return true;
}

/* Parses numbers separated by blanks; returns their count, at most cap. */
static uint32_t to_reals(XmlText t, double *out, uint32_t cap) {
	if (!t.at) return 0;
	const char *p = t.at, *end = t.at + t.n;
	uint32_t n = 0;
	while (n < cap && p < end) {
		while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
		const char *q = p < end ? number_read(p, end, &out[n]) : NULL;
		if (!q) break;
		n++;
		p = q;
	}
	return n;
}

static bool elem_named(XmlText t, Elem *e) {
	static const struct {
		const char *name;
		Elem e;
	} names[] = {{"Int8", EL_I8},     {"UInt8", EL_U8},   {"Int16", EL_I16}, {"UInt16", EL_U16},
	             {"Int32", EL_I32},   {"UInt32", EL_U32}, {"Int64", EL_I64}, {"UInt64", EL_U64},
	             {"Float32", EL_F32}, {"Float64", EL_F64}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (t.at && xml_is(t, names[i].name)) return *e = names[i].e, true;
	return false;
}

/* ---- arrays -------------------------------------------------------------- */

static Status from_raw(VtkFile *f, const XmlNode *n, Elem e, const uint8_t *raw, uint64_t bytes,
                       Tensor **out) {
	const int64_t count = (int64_t)(bytes / elem_size(e));
	if (bytes % elem_size(e))
		return bad(f, n, "a number of bytes that holds no whole number of elements");
	Status st = input_tensor(f->in, elem_dtype(e), 1, &count, out);
	if (st != ST_OK) return st;
	if (elem_convert(e, f->swap, (size_t)count, raw, (*out)->data) >= 0) {
		tensor_unref(*out);
		*out = NULL;
		return bad(f, n, "a number of 2^63 or more, which no integer here holds");
	}
	return ST_OK;
}

static Status read_packed(VtkFile *f, const XmlNode *n, Elem e, Bytes *b, Tensor **out) {
	uint64_t blocks, size, last, *packed = NULL, total = 0, most = 0;
	if (!read_length(f, b, &blocks) || !read_length(f, b, &size) || !read_length(f, b, &last))
		return bad(f, n, "the data end inside their header");
	const uint64_t left = (uint64_t)(b->end - b->p);
	if (blocks > left || last > size || (blocks && __builtin_mul_overflow(blocks, size, &total)))
		return bad(f, n, "the header of the packed data is damaged");
	if (blocks && last) total = total - size + last;
	if (total / 1100 > left) return bad(f, n, "the header of the packed data is damaged");
	if (!(packed = heap_alloc(f->c, (blocks + 1) * sizeof *packed)))
		return data_no_memory(f->c, f->in->path, blocks * sizeof *packed);
	Status st = ST_OK;
	for (uint64_t i = 0; i < blocks && st == ST_OK; i++) {
		if (!read_length(f, b, &packed[i]) || packed[i] > left)
			st = bad(f, n, "the header of the packed data is damaged");
		else if (packed[i] > most) most = packed[i];
	}
	uint8_t *raw = st == ST_OK ? heap_alloc(f->c, total + 1) : NULL,
			*piece = raw ? heap_alloc(f->c, most + 1) : NULL;
	if (st == ST_OK && !piece) st = data_no_memory(f->c, f->in->path, total);
	uint64_t at = 0;
	for (uint64_t i = 0; i < blocks && st == ST_OK; i++) {
		const uint64_t want = i + 1 == blocks && last ? last : size;
		uLongf got = (uLongf)want;
		if (!bytes_read(b, piece, packed[i])) st = bad(f, n, "the packed data end too early");
		else if (uncompress(raw + at, &got, piece, (uLong)packed[i]) != Z_OK || got != want)
			st = bad(f, n, "the packed data are damaged");
		else st = ctx_poll(f->c, want / 16);
		at += want;
	}
	if (st == ST_OK) st = from_raw(f, n, e, raw, total, out);
	if (raw) heap_free(f->c, raw, total + 1);
	if (piece) heap_free(f->c, piece, most + 1);
	heap_free(f->c, packed, (blocks + 1) * sizeof *packed);
	return st;
}

static Status read_binary(VtkFile *f, const XmlNode *n, Elem e, Bytes *b, Tensor **out) {
	if (f->packed) return read_packed(f, n, e, b, out);
	uint64_t bytes;
	if (!read_length(f, b, &bytes)) return bad(f, n, "the data end inside their header");
	if (bytes > (uint64_t)(b->end - b->p) + 3)
		return bad(f, n, "the header says more bytes than the file has");
	uint8_t *raw = heap_alloc(f->c, bytes + 1);
	if (!raw) return data_no_memory(f->c, f->in->path, bytes);
	Status st = bytes_read(b, raw, bytes)
	                ? ctx_poll(f->c, bytes / 16)
	                : bad(f, n, "the data end too early, or have letters that are no base64");
	if (st == ST_OK) st = from_raw(f, n, e, raw, bytes, out);
	heap_free(f->c, raw, bytes + 1);
	return st;
}

static Status read_ascii(VtkFile *f, const XmlNode *n, Elem e, Tensor **out) {
	const char *p = n->text.at, *end = p + n->text.n; /* set for every element */
	int64_t count = 0;
	for (const char *q = p; q < end;) {
		while (q < end && (unsigned char)*q <= ' ') q++;
		if (q < end) count++;
		while (q < end && (unsigned char)*q > ' ') q++;
	}
	const Dtype d = elem_dtype(e);
	Status st = input_tensor(f->in, d, 1, &count, out);
	for (int64_t i = 0; i < count && st == ST_OK; i++) {
		while ((unsigned char)*p <= ' ') p++;
		const char *stop = p;
		while (stop < end && (unsigned char)*stop > ' ') stop++;
		char *to = (*out)->data + i * (int64_t)dtype_size(d);
		bool ok;
		if (dtype_is_int(d)) {
			int64_t v = 0;
			ok = to_int((XmlText){p, (size_t)(stop - p)}, &v) &&
			     (d == DT_I64 || (v >= INT32_MIN && v <= INT32_MAX));
			if (d == DT_I64) memcpy(to, &v, 8);
			else memcpy(to, &(int32_t){(int32_t)v}, 4);
		} else {
			double x = 0;
			const size_t len = (size_t)(stop - p);
			bool minus = *p == '-', nan = false, inf = false;
			if (len - minus == 3)
				nan = !memcmp(p + minus, "nan", 3) || !memcmp(p + minus, "NaN", 3),
				inf = !memcmp(p + minus, "inf", 3);
			ok = nan || inf || number_read(p, stop, &x) == stop;
			if (nan) x = __builtin_nan("");
			if (inf) x = minus ? -__builtin_inf() : __builtin_inf();
			if (d == DT_F64) memcpy(to, &x, 8);
			else memcpy(to, &(float){(float)x}, 4);
		}
		p = stop;
		if (!ok)
			st = bad(f, n, "something among the numbers that is none, or does not fit their type");
		if (i % 4096 == 4095 && st == ST_OK) st = ctx_poll(f->c, 4096);
	}
	if (st != ST_OK) {
		tensor_unref(*out);
		*out = NULL;
	}
	return st;
}

/* Reads a DataArray as a vector, with its number of components. */
static Status read_array(VtkFile *f, const XmlNode *n, Tensor **out, int64_t *components) {
	Elem e;
	*out = NULL;
	*components = 1;
	XmlText of = xml_attribute(n, "NumberOfComponents"), format = xml_attribute(n, "format");
	if (!elem_named(xml_attribute(n, "type"), &e))
		return bad(f, n, "an array whose type is no type of numbers");
	if (of.at && (!to_int(of, components) || *components < 1 || *components > 1000000))
		return bad(f, n, "a strange number of components");
	Status st;
	if (!format.at || xml_is(format, "ascii")) st = read_ascii(f, n, e, out);
	else if (xml_is(format, "binary")) {
		Bytes b = {.p = n->text.at, .end = n->text.at + n->text.n, .base64 = true};
		st = read_binary(f, n, e, &b, out);
	} else if (xml_is(format, "appended")) {
		int64_t offset;
		if (!f->appended)
			return bad(f, n, "the array is appended, and the file has no AppendedData");
		if (!to_int(xml_attribute(n, "offset"), &offset) || offset < 0 ||
		    offset > f->end - f->appended)
			return bad(f, n, "an offset that is not within the file");
		Bytes b = {.p = f->appended + offset, .end = f->end, .base64 = f->appended_base64};
		st = read_binary(f, n, e, &b, out);
	} else return bad(f, n, "an unknown format of data");
	XmlText as = xml_attribute(n, "atled");
	if (st != ST_OK || !as.at) return st;
	/* dtypes that VTK lacks */
	Tensor *t = *out, *made = NULL;
	if (xml_is(as, "bool")) {
		made = tensor_new(f->c, DT_BOOL, 1, t->shape);
		if (made) tensor_convert_into(made, t);
	} else if (dtype_is_real((Dtype)t->dtype) && xml_is(as, "complex") && t->count % 2 == 0 &&
	           *components % 2 == 0) {
		int64_t half = t->count / 2;
		made = tensor_new(f->c, dtype_complex_of((Dtype)t->dtype), 1, &half);
		if (made && half)
			memcpy(made->data, t->data, (size_t)half * dtype_size((Dtype)made->dtype));
		*components /= 2;
	} else return ST_OK;
	tensor_unref(t);
	*out = made;
	return made ? ST_OK : data_no_memory(f->c, f->in->path, 64);
}

/* ---- grids --------------------------------------------------------------- */

/* Reshapes the vector to (lengths[rank-1], ..., lengths[0], components) and
 * reverses the grid's axes, so that x is the first. drop_one: omits a single
 * component. Takes t. */
static Status in_shape(VtkFile *f, const XmlNode *n, Tensor *t, uint32_t rank,
                       const int64_t *lengths, int64_t components, bool drop_one, Value *out) {
	int64_t want = components, shape[MAX_RANK], stride[MAX_RANK], step = components;
	for (uint32_t i = 0; i < rank; i++)
		if (__builtin_mul_overflow(want, lengths[i], &want)) want = -1;
	if (want != t->count) {
		tensor_unref(t);
		return bad(f, n, "an array with another number of elements than its grid has");
	}
	for (uint32_t i = 0; i < rank; i++) {
		shape[i] = lengths[i];
		stride[i] = step;
		step *= lengths[i];
	}
	uint32_t axes = rank;
	if (!drop_one || components > 1) {
		shape[axes] = components;
		stride[axes++] = 1;
	}
	Tensor *view = tensor_view(f->c, t, axes, shape, stride, 0),
		   *whole = view ? tensor_contiguous(f->c, view) : NULL;
	tensor_unref(view);
	tensor_unref(t);
	if (!whole) return data_no_memory(f->c, f->in->path, (uint64_t)want * 8);
	*out = value_from_tensor(whole);
	return ST_OK;
}

/* Reads PointData or CellData as a record of arrays. */
static Status read_fields(VtkFile *f, const XmlNode *piece, const char *section, uint32_t rank,
                          const int64_t *lengths, Value *out) {
	Fields fields;
	fields_init(&fields, f->c);
	Status st = ST_OK;
	const XmlNode *data = xml_child(piece, section);
	for (const XmlNode *n = data ? data->first : NULL; n && st == ST_OK; n = n->next) {
		if (!xml_is(n->name, "DataArray")) continue;
		XmlText name = xml_attribute(n, "Name"), single = xml_attribute(n, "atled_vector");
		Tensor *t;
		int64_t components;
		Value v = {.kind = V_UNSET};
		char plain[1024];
		if (!name.at || name.n >= sizeof plain)
			st = bad(f, n, "an array without a name, or with one of more than 1023 bytes");
		if (st == ST_OK) st = read_array(f, n, &t, &components);
		if (st == ST_OK) st = in_shape(f, n, t, rank, lengths, components, !single.at, &v);
		if (st != ST_OK) break;
		size_t k = name_unescape(name.at, name.n, plain, sizeof plain);
		if (fields_find(&fields, plain, k) >= 0) {
			value_unref(v);
			st = bad(f, n, "a second array of this name");
		} else fields_add(&fields, plain, k, v);
		if (st == ST_OK && fields.failed) st = data_no_memory(f->c, f->in->path, 64);
	}
	if (st != ST_OK) {
		fields_free(&fields);
		return st;
	}
	*out = fields_record(&fields);
	return out->kind == V_UNSET ? data_no_memory(f->c, f->in->path, 64) : ST_OK;
}

static Value vector_of(Ctx *c, Dtype d, int64_t n, const void *from) {
	Tensor *t = tensor_new(c, d, 1, &n);
	if (t && n) memcpy(t->data, from, (size_t)n * dtype_size(d));
	return t ? value_tensor(t) : (Value){.kind = V_UNSET};
}

static Status only_piece(VtkFile *f, const XmlNode *grid, const XmlNode **piece) {
	*piece = xml_child(grid, "Piece");
	if (!*piece) return bad(f, grid, "there is no Piece in it");
	for (const XmlNode *n = (*piece)->next; n; n = n->next)
		if (xml_is(n->name, "Piece"))
			return bad(f, n, "a file of several pieces, of which only one is read");
	return ST_OK;
}

static Status give(VtkFile *f, Fields *r, Status st, Value *out) {
	if (st == ST_OK) {
		*out = fields_record(r);
		if (out->kind == V_UNSET) st = data_no_memory(f->c, f->in->path, 64);
	} else fields_free(r);
	return st;
}

static Status read_image(VtkFile *f, const XmlNode *grid, Value *out) {
	double extent[6] = {0}, part[6], origin[3] = {0}, spacing[3] = {1, 1, 1};
	const XmlNode *piece;
	if (to_reals(xml_attribute(grid, "WholeExtent"), extent, 6) != 6)
		return bad(f, grid, "WholeExtent is not six numbers");
	if (xml_attribute(grid, "Origin").at && to_reals(xml_attribute(grid, "Origin"), origin, 3) != 3)
		return bad(f, grid, "Origin is not three numbers");
	if (xml_attribute(grid, "Spacing").at &&
	    to_reals(xml_attribute(grid, "Spacing"), spacing, 3) != 3)
		return bad(f, grid, "Spacing is not three numbers");
	Status st = only_piece(f, grid, &piece);
	if (st != ST_OK) return st;
	if (to_reals(xml_attribute(piece, "Extent"), part, 6) != 6 || memcmp(part, extent, sizeof part))
		return bad(f, piece, "its Extent is not that of the whole");
	int64_t points[3], cells[3];
	for (int i = 0; i < 3; i++) {
		const double n = extent[2 * i + 1] - extent[2 * i] + 1;
		if (!(n >= 0 && n <= 1e12)) return bad(f, grid, "an extent of strange size");
		points[i] = (int64_t)n;
		cells[i] = points[i] > 1 ? points[i] - 1 : points[i];
		origin[i] += extent[2 * i] * spacing[i];
	}
	uint32_t rank = 3;
	int64_t said;
	const XmlNode *field = xml_child(grid, "FieldData");
	for (const XmlNode *n = field ? field->first : NULL; n; n = n->next)
		if (xml_attribute(n, "Name").at && xml_is(xml_attribute(n, "Name"), "atled_axes") &&
		    to_int((XmlText){n->text.at, n->text.n}, &said) && said >= 1 && said <= 3)
			rank = 100 + (uint32_t)said;
	if (rank > 100) rank -= 100;
	else
		while (rank > 1 && points[rank - 1] == 1) rank--;
	for (uint32_t i = rank; i < 3; i++)
		if (points[i] != 1) rank = i + 1;
	Fields r;
	fields_init(&r, f->c);
	fields_add(&r, "origin", 6, vector_of(f->c, DT_F64, rank, origin));
	fields_add(&r, "spacing", 7, vector_of(f->c, DT_F64, rank, spacing));
	fields_add(&r, "dims", 4, vector_of(f->c, DT_I64, rank, points));
	Value v;
	st = read_fields(f, piece, "PointData", rank, points, &v);
	if (st == ST_OK) fields_add(&r, "point", 5, v);
	if (st == ST_OK) st = read_fields(f, piece, "CellData", rank, cells, &v);
	if (st == ST_OK) fields_add(&r, "cell", 4, v);
	return give(f, &r, st, out);
}

/* Reads an element's array, or that with the given name, as i64 or f64. f32 is
 * not widened. */
static Status named_array(VtkFile *f, const XmlNode *of, const char *name, Dtype d, Tensor **out,
                          int64_t *components, const XmlNode **which) {
	*out = NULL;
	for (const XmlNode *n = of ? of->first : NULL; n; n = n->next) {
		if (!xml_is(n->name, "DataArray") ||
		    (name && !(xml_attribute(n, "Name").at && xml_is(xml_attribute(n, "Name"), name))))
			continue;
		*which = n;
		Tensor *t;
		Status st = read_array(f, n, &t, components);
		if (st != ST_OK) return st;
		if (t->dtype == d || dtype_is_complex((Dtype)t->dtype) ||
		    (d == DT_I64 && !dtype_is_int((Dtype)t->dtype))) {
			*out = t;
			if (t->dtype == d || (d == DT_F64 && t->dtype == DT_F32)) return ST_OK;
			tensor_unref(t);
			*out = NULL;
			return bad(f, n, "an array of the wrong type for its place");
		}
		if (d == DT_F64 && t->dtype == DT_F32) return *out = t, ST_OK;
		Tensor *made = tensor_new(f->c, d, t->rank, t->shape);
		if (made) tensor_convert_into(made, t);
		tensor_unref(t);
		*out = made;
		return made ? ST_OK : data_no_memory(f->c, f->in->path, 64);
	}
	return of ? bad(f, of, "an array is missing in it")
	          : input_bad(f->in, "a part of the grid is missing: Points or Cells");
}

static Status read_grid(VtkFile *f, const XmlNode *grid, Value *out) {
	const XmlNode *piece, *where = NULL, *cells;
	int64_t points, ncells, components;
	Status st = only_piece(f, grid, &piece);
	if (st != ST_OK) return st;
	if (!to_int(xml_attribute(piece, "NumberOfPoints"), &points) ||
	    !to_int(xml_attribute(piece, "NumberOfCells"), &ncells) || points < 0 || ncells < 0)
		return bad(f, piece, "it does not say its numbers of points and cells");
	Fields r;
	fields_init(&r, f->c);
	Tensor *t = NULL, *offsets = NULL, *types = NULL;
	Value v = {.kind = V_UNSET};
	st = named_array(f, xml_child(piece, "Points"), NULL, DT_F64, &t, &components, &where);
	if (st == ST_OK && components != 3) {
		tensor_unref(t);
		st = bad(f, where, "points have three components");
	}
	if (st == ST_OK) st = in_shape(f, where, t, 1, &points, 3, false, &v);
	if (st == ST_OK) {
		int64_t columns;
		/* the number of columns given to the writer */
		if (to_int(xml_attribute(where, "atled_columns"), &columns) &&
		    (columns == 1 || columns == 2)) {
			Tensor *few = tensor_view(f->c, v.tensor, 2, (int64_t[]){points, columns},
			                          v.tensor->stride, 0),
				   *whole = few ? tensor_contiguous(f->c, few) : NULL;
			tensor_unref(few);
			value_unref(v);
			v = whole ? value_tensor(whole) : (Value){.kind = V_UNSET};
		}
		fields_add(&r, "points", 6, v);
	}
	cells = xml_child(piece, "Cells");
	t = NULL;
	if (st == ST_OK) st = named_array(f, cells, "connectivity", DT_I64, &t, &components, &where);
	if (st == ST_OK) st = named_array(f, cells, "offsets", DT_I64, &offsets, &components, &where);
	if (st == ST_OK) st = named_array(f, cells, "types", DT_I64, &types, &components, &where);
	if (st == ST_OK && (offsets->count != ncells || types->count != ncells))
		st = bad(f, cells, "offsets and types are not as many as there are cells");
	if (st == ST_OK) {
		const int64_t *o = (const int64_t *)(const void *)offsets->data,
					  *p = (const int64_t *)(const void *)t->data;
		const int64_t k = ncells ? o[0] : 0;
		bool alike = true;
		for (int64_t i = 0, before = 0; i < ncells && st == ST_OK; before = o[i++]) {
			if (o[i] < before || o[i] > t->count)
				st = bad(f, cells, "an offset that goes back, or beyond the connectivity");
			else alike &= o[i] - before == k;
		}
		for (int64_t i = 0; i < t->count && st == ST_OK; i++)
			if (p[i] < 0 || p[i] >= points)
				st = bad(f, cells, "a cell with a point that there is not");
		if (st == ST_OK && (ncells ? o[ncells - 1] : 0) != t->count)
			st = bad(f, cells, "a connectivity longer than the offsets say");
		if (st == ST_OK) {
			int64_t shape[2] = {ncells, k}, stride[2] = {k, 1};
			Tensor *matrix =
				alike && ncells ? tensor_view(f->c, t, 2, shape, stride, 0) : tensor_ref(t);
			fields_add(&r, "cells", 5, matrix ? value_tensor(matrix) : (Value){.kind = V_UNSET});
			if (!alike) fields_add(&r, "offsets", 7, value_tensor(tensor_ref(offsets)));
			fields_add(&r, "types", 5, value_tensor(tensor_ref(types)));
		}
	}
	tensor_unref(t);
	tensor_unref(offsets);
	tensor_unref(types);
	if (st == ST_OK) st = read_fields(f, piece, "PointData", 1, &points, &v);
	if (st == ST_OK) fields_add(&r, "point", 5, v);
	if (st == ST_OK) st = read_fields(f, piece, "CellData", 1, &ncells, &v);
	if (st == ST_OK) fields_add(&r, "cell", 4, v);
	return give(f, &r, st, out);
}

static Status read_file(VtkFile *f, Value *out) {
	const XmlNode *root = f->root, *appended;
	if (!xml_is(root->name, "VTKFile"))
		return bad(f, root, "this is no file of VTK: VTKFile is wanted here");
	XmlText order = xml_attribute(root, "byte_order"), lengths = xml_attribute(root, "header_type"),
			packing = xml_attribute(root, "compressor");
	f->swap = order.at && xml_is(order, machine_is_little() ? "BigEndian" : "LittleEndian");
	f->wide = lengths.at && xml_is(lengths, "UInt64");
	f->packed = packing.at != NULL && packing.n;
	if (f->packed && !xml_is(packing, "vtkZLibDataCompressor"))
		return bad(f, root, "packed by something other than zlib");
	if ((appended = xml_child(root, "AppendedData"))) {
		XmlText encoding = xml_attribute(appended, "encoding");
		const char *mark = memchr(f->appended, '_', (size_t)(f->end - f->appended));
		if (!mark) return bad(f, appended, "the mark _ is missing");
		f->appended = mark + 1;
		f->appended_base64 = encoding.at && xml_is(encoding, "base64");
	} else f->appended = NULL;
	const XmlNode *grid;
	if ((grid = xml_child(root, "ImageData"))) return read_image(f, grid, out);
	if ((grid = xml_child(root, "UnstructuredGrid"))) return read_grid(f, grid, out);
	return bad(f, root, "neither ImageData nor UnstructuredGrid, which are what is read");
}

Status vtk_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	XmlTree tree;
	Status st = xml_read(in, &tree);
	const uint64_t bytes = st == ST_OK && tree.appended ? in->size - tree.appended : 0;
	char *appended = st == ST_OK ? heap_alloc(in->c, bytes + 1) : NULL;
	if (st == ST_OK && !appended) st = data_no_memory(in->c, in->path, bytes);
	if (st == ST_OK) st = input_read(in, in->size - bytes, appended, bytes);
	if (st == ST_OK) {
		VtkFile f = {
			.in = in, .c = in->c, .root = tree.root, .appended = appended, .end = appended + bytes};
		st = read_file(&f, out);
	}
	if (appended) heap_free(in->c, appended, bytes + 1);
	xml_free(&tree);
	return st;
}
