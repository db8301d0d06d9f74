/* vtk_write.c - writes VTK's XML files for ParaView: image data (.vti) and
 * unstructured grids (.vtu), with appended raw data.
 *
 * Needs: data/internal.h, zlib.
 *
 * Contract: x is the first axis of an array and the fastest in the file. VTK
 * has no booleans and complex numbers. They are written as bytes and pairs,
 * with an attribute that vtk_read.c recognises.
 */
#include "data/internal.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { ARRAYS_MOST = 1000, BLOCK = 1 << 18 };

/* An appended array: its elements in file order, and the position of its offset
 * in the file. */
typedef struct AppendedArray {
	Tensor *t;
	uint64_t offset_at;
} AppendedArray;

typedef struct Writer {
	OutputFile *out;
	Ctx *c;
	bool compress;
	AppendedArray *pieces;
	uint32_t n;
} Writer;

static Value get(Ctx *c, Value record, const char *name) {
	Atom a;
	return record.kind == V_RECORD && atom_try(c, name, strlen(name), &a)
	           ? value_field(record, a)
	           : (Value){.kind = V_UNSET};
}

static Status no_memory(Writer *w) {
	return w->out->status = data_no_memory(w->c, w->out->path, 64);
}

/* Writes a name into a quoted attribute. */
static void put_name(OutputFile *out, const char *name, size_t n) {
	char plain[1200];
	if (n > 390) n = 390;
	size_t k = name_escape(name, n, plain, sizeof plain);
	for (size_t i = 0; i < k; i++) {
		if (plain[i] == '"') output_str(out, "%22");
		else if (plain[i] == '<') output_str(out, "%3C");
		else if (plain[i] == '&') output_str(out, "%26");
		else output_add(out, plain + i, 1);
	}
}

/* Writes the DataArray element of an array. Takes t, whose elements are in file
 * order. `more`: further attributes. */
static Status put_array(Writer *w, const char *name, size_t n, Tensor *t, int64_t components,
                        const char *more) {
	static const char *const types[DT_COUNT] = {"UInt8",   "Int32",   "Int64",  "Float32",
	                                            "Float64", "Float32", "Float64"};
	OutputFile *out = w->out;
	if (!t) return no_memory(w);
	if (w->n == ARRAYS_MOST) {
		tensor_unref(t);
		return output_bad(out, "more than %d arrays", ARRAYS_MOST);
	}
	const Dtype d = (Dtype)t->dtype;
	output_format(out, "        <DataArray type=\"%s\" Name=\"", types[d]);
	put_name(out, name, n);
	output_format(out, "\" NumberOfComponents=\"%lld\"%s%s format=\"appended\" offset=\"",
	              (long long)components * (dtype_is_complex(d) ? 2 : 1),
	              d == DT_BOOL          ? " atled=\"bool\""
	              : dtype_is_complex(d) ? " atled=\"complex\""
	                                    : "",
	              more);
	w->pieces[w->n++] = (AppendedArray){t, out->at};
	output_str(out, "00000000000000000000\"/>\n");
	return out->status;
}

/* Reverses the first `rank` axes of x, so that x varies fastest. */
static Tensor *turned(Ctx *c, Value x, uint32_t rank) {
	Tensor *t = value_to_tensor(c, x);
	if (!t) return NULL;
	int64_t shape[MAX_RANK], stride[MAX_RANK];
	for (uint32_t i = 0; i < t->rank; i++) {
		const uint32_t from = i < rank ? rank - 1 - i : i;
		shape[i] = t->shape[from];
		stride[i] = t->stride[from];
	}
	Tensor *view = tensor_view(c, t, t->rank, shape, stride, 0),
		   *whole = view ? tensor_contiguous(c, view) : NULL;
	tensor_unref(view);
	tensor_unref(t);
	return whole;
}

/* Writes PointData or CellData. Every field must have the grid's extents, and
 * may have one more axis for components. */
static Status put_fields(Writer *w, const char *section, Value record, uint32_t rank,
                         const int64_t *lengths) {
	OutputFile *out = w->out;
	output_format(out, "      <%s>\n", section);
	const RecordObject *r = record.kind == V_RECORD ? (const RecordObject *)record.object : NULL;
	for (uint32_t i = 0; r && i < r->head.n && out->status == ST_OK; i++) {
		const Value v = r->fields[i].value;
		const char *name = atom_text(w->c, r->fields[i].name);
		bool fits = value_is_array(v) && (value_rank(v) == rank || value_rank(v) == rank + 1);
		for (uint32_t k = 0; fits && k < rank; k++) fits = v.tensor->shape[k] == lengths[k];
		if (!fits)
			return output_bad(out,
			                  "%s: the field %.60s is no array on the grid: it wants its lengths, "
			                  "and at most one axis more",
			                  section, name);
		const bool vector = value_rank(v) > rank;
		if (vector && v.tensor->shape[rank] < 1)
			return output_bad(out, "%s: the field %.60s has no components", section, name);
		put_array(w, name, atom_length(w->c, r->fields[i].name), turned(w->c, v, rank),
		          vector ? v.tensor->shape[rank] : 1, vector ? " atled_vector=\"1\"" : "");
	}
	output_format(out, "      </%s>\n", section);
	return out->status;
}

static void put8(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

static Status put_packed(Writer *w, const Tensor *t, uint64_t bytes) {
	OutputFile *out = w->out;
	const uint64_t blocks = (bytes + BLOCK - 1) / BLOCK, head = (3 + blocks) * 8, at = out->at;
	uint8_t *header = heap_alloc(w->c, head);
	const uLong most = compressBound(BLOCK);
	uint8_t *piece = heap_alloc(w->c, most);
	if (!header || !piece) no_memory(w);
	else {
		memset(header, 0, head);
		output_add(out, header, head);
		put8(header, blocks);
		put8(header + 8, BLOCK);
		put8(header + 16, bytes % BLOCK);
		for (uint64_t i = 0; i < blocks && out->status == ST_OK; i++) {
			const uint64_t n = i + 1 < blocks || bytes % BLOCK == 0 ? BLOCK : bytes % BLOCK;
			uLongf packed = most;
			if (compress2(piece, &packed, (const Bytef *)t->data + i * BLOCK, (uLong)n, 6) != Z_OK)
				no_memory(w);
			put8(header + 24 + 8 * i, packed);
			output_add(out, piece, packed);
			if (out->status == ST_OK) out->status = ctx_poll(w->c, BLOCK / 16);
		}
		output_patch(out, at, header, head);
	}
	if (header) heap_free(w->c, header, head);
	if (piece) heap_free(w->c, piece, most);
	return out->status;
}

static Status put_appended(Writer *w) {
	OutputFile *out = w->out;
	output_str(out, "  <AppendedData encoding=\"raw\">\n_");
	const uint64_t first = out->at;
	for (uint32_t i = 0; i < w->n && out->status == ST_OK; i++) {
		const Tensor *t = w->pieces[i].t;
		const uint64_t bytes = (uint64_t)t->count * dtype_size((Dtype)t->dtype);
		char digits[24];
		snprintf(digits, sizeof digits, "%020llu", (unsigned long long)(out->at - first));
		output_patch(out, w->pieces[i].offset_at, digits, 20);
		if (w->compress) put_packed(w, t, bytes);
		else {
			output_add(out, &bytes, 8);
			output_add(out, t->data, bytes);
		}
	}
	output_str(out, "\n  </AppendedData>\n</VTKFile>\n");
	return out->status;
}

static Status whole_file(OutputFile *out, const IoOptions *o, const char *type, Value v,
                         Status (*body)(Writer *w, Value v)) {
	if (out->direct) return output_bad(out, "this format cannot be written to a pipe");
	Writer w = {.out = out, .c = out->c, .compress = o->compress};
	w.pieces = heap_alloc(w.c, (ARRAYS_MOST + 8) * sizeof *w.pieces);
	if (!w.pieces) return no_memory(&w);
	output_format(out,
	              "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" byte_order=\"%s\" "
	              "header_type=\"UInt64\"%s>\n",
	              type, machine_is_little() ? "LittleEndian" : "BigEndian",
	              o->compress ? " compressor=\"vtkZLibDataCompressor\"" : "");
	if (body(&w, v) == ST_OK) put_appended(&w);
	for (uint32_t i = 0; i < w.n; i++) tensor_unref(w.pieces[i].t);
	heap_free(w.c, w.pieces, (ARRAYS_MOST + 8) * sizeof *w.pieces);
	return out->status;
}

/* ---- images -------------------------------------------------------------- */

/* Reads n numbers from a field of the record; keeps the defaults if it is
 * missing. */
static bool numbers(Ctx *c, Value record, const char *name, uint32_t n, double *to) {
	Value v = get(c, record, name);
	if (v.kind == V_UNSET || v.kind == V_NONE) return true;
	if (v.kind == V_SCALAR && n == 1) return value_as_f64(v, to);
	if (v.kind == V_TUPLE || v.kind == V_LIST) {
		if (v.object->n != n) return false;
		for (uint32_t i = 0; i < n; i++)
			if (!value_as_f64(((const SeqObject *)v.object)->items[i], &to[i])) return false;
		return true;
	}
	if (v.kind != V_TENSOR || v.tensor->rank != 1 || v.tensor->shape[0] != n) return false;
	for (int64_t i = 0; i < n; i++) to[i] = tensor_get(v.tensor, &i);
	return true;
}

static Status image(Writer *w, Value v) {
	OutputFile *out = w->out;
	Ctx *c = w->c;
	Value point = get(c, v, "point"), cell = get(c, v, "cell"), dims = get(c, v, "dims");
	const bool told = point.kind == V_RECORD || cell.kind == V_RECORD;
	if (!told) { /* a record of fields, or a single field */
		point = v;
		cell = (Value){.kind = V_UNSET};
	}
	const RecordObject *r = point.kind == V_RECORD ? (const RecordObject *)point.object : NULL;
	Value first = r && r->head.n ? r->fields[0].value : v;
	uint32_t rank = 0;
	double lengths[3] = {1, 1, 1}, origin[3] = {0}, spacing[3] = {1, 1, 1};
	if (told && (dims.kind == V_TENSOR || dims.kind == V_TUPLE || dims.kind == V_LIST)) {
		rank = dims.kind == V_TENSOR ? (uint32_t)dims.tensor->count : dims.object->n;
		if (rank < 1 || rank > 3 || !numbers(c, v, "dims", rank, lengths))
			return output_bad(out, "dims are one to three lengths");
	} else {
		/* the field with the fewest axes determines the grid */
		for (uint32_t i = 0; r && i < r->head.n; i++) {
			Value f = r->fields[i].value;
			if (value_is_array(f) && value_is_array(first) && value_rank(f) < value_rank(first))
				first = f;
		}
		rank = value_is_array(first) ? value_rank(first) : 0;
		if (rank < 1 || rank > 3)
			return output_bad(out, "an image is an array of one to three axes, a record of such "
			                       "arrays, or a record (origin, spacing, dims, point, cell)");
		for (uint32_t i = 0; i < rank; i++) lengths[i] = (double)first.tensor->shape[i];
	}
	if (told &&
	    (!numbers(c, v, "origin", rank, origin) || !numbers(c, v, "spacing", rank, spacing)))
		return output_bad(out, "origin and spacing are as many numbers as the grid has axes");
	int64_t points[3], cells[3];
	for (int i = 0; i < 3; i++) {
		if (!(lengths[i] >= 1 && lengths[i] <= 1e12))
			return output_bad(out, "an image has at least one point along each axis");
		points[i] = (int64_t)lengths[i];
		cells[i] = points[i] > 1 ? points[i] - 1 : 1;
	}
	char text[3][40], at[3][40];
	for (int i = 0; i < 3; i++) number_print(text[i], spacing[i]), number_print(at[i], origin[i]);
	output_format(out,
	              "  <ImageData WholeExtent=\"0 %lld 0 %lld 0 %lld\" Origin=\"%s %s %s\" "
	              "Spacing=\"%s %s %s\">\n",
	              (long long)points[0] - 1, (long long)points[1] - 1, (long long)points[2] - 1,
	              at[0], at[1], at[2], text[0], text[1], text[2]);
	output_format(out,
	              "    <FieldData>\n      <DataArray type=\"Int32\" Name=\"atled_axes\" "
	              "NumberOfTuples=\"1\" format=\"ascii\">%u</DataArray>\n    </FieldData>\n",
	              rank);
	output_format(out, "    <Piece Extent=\"0 %lld 0 %lld 0 %lld\">\n", (long long)points[0] - 1,
	              (long long)points[1] - 1, (long long)points[2] - 1);
	Value single = {.kind = V_UNSET};
	if (!r && !told) {
		Fields f;
		fields_init(&f, c);
		fields_add(&f, "values", 6, value_ref(v));
		point = single = fields_record(&f);
		if (single.kind == V_UNSET) return no_memory(w);
	}
	put_fields(w, "PointData", point, rank, points);
	if (out->status == ST_OK) put_fields(w, "CellData", cell, rank, cells);
	value_unref(single);
	output_str(out, "    </Piece>\n  </ImageData>\n");
	return out->status;
}

Status vti_write(OutputFile *out, const IoOptions *o, Value v) {
	return whole_file(out, o, "ImageData", v, image);
}

/* ---- grids --------------------------------------------------------------- */

static Tensor *whole_i64(Ctx *c, Value v) {
	Tensor *t = value_to_tensor(c, v),
		   *made = t && t->dtype != DT_I64 ? tensor_new(c, DT_I64, t->rank, t->shape) : t;
	if (made && made != t) {
		tensor_convert_into(made, t);
		tensor_unref(t);
	}
	Tensor *flat = made ? tensor_contiguous(c, made) : NULL;
	tensor_unref(made);
	return flat;
}

static bool whole_numbers(Value v) { return value_is_array(v) && dtype_is_int(value_dtype(v)); }

static Status grid(Writer *w, Value v) {
	OutputFile *out = w->out;
	Ctx *c = w->c;
	Value points = get(c, v, "points"), cells = get(c, v, "cells"), offsets = get(c, v, "offsets"),
		  types = get(c, v, "types");
	if (points.kind != V_TENSOR || points.tensor->rank != 2 || points.tensor->shape[1] < 1 ||
	    points.tensor->shape[1] > 3 || dtype_is_complex(value_dtype(points)))
		return output_bad(out, "a grid is a record (points, cells, types, point, cell), with "
		                       "points f64[n, 3] (or 2 or 1)");
	const int64_t n = points.tensor->shape[0], columns = points.tensor->shape[1];
	int64_t m = n, k = 1;
	const bool none = cells.kind == V_UNSET || cells.kind == V_NONE,
			   flat = !none && value_is_array(cells) && value_rank(cells) == 1;
	if (!none && (!whole_numbers(cells) || cells.kind != V_TENSOR || value_rank(cells) > 2))
		return output_bad(out, "cells are integers: a matrix with a cell in each row, or a "
		                       "vector with `offsets`");
	if (flat && (!whole_numbers(offsets) || offsets.kind != V_TENSOR || value_rank(offsets) != 1)) {
		if (cells.tensor->count || offsets.kind != V_UNSET)
			return output_bad(out, "cells in a vector need `offsets`: where each cell ends in it");
	}
	if (flat) m = offsets.kind == V_TENSOR ? offsets.tensor->shape[0] : 0;
	else if (!none) m = cells.tensor->shape[0], k = cells.tensor->shape[1];
	/* coordinates, padded to three columns */
	const bool single = value_dtype(points) == DT_F32;
	Tensor *xyz = tensor_zeros(c, single ? DT_F32 : DT_F64, 2, (int64_t[]){n, 3});
	if (!xyz) return no_memory(w);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < columns; j++) {
			const double x = tensor_get(points.tensor, (int64_t[]){i, j});
			if (single) ((float *)(void *)xyz->data)[3 * i + j] = (float)x;
			else ((double *)(void *)xyz->data)[3 * i + j] = x;
		}
	output_format(out,
	              "  <UnstructuredGrid>\n    <Piece NumberOfPoints=\"%lld\" "
	              "NumberOfCells=\"%lld\">\n      <Points>\n",
	              (long long)n, (long long)m);
	put_array(w, "Points", 6, xyz, 3,
	          columns == 2   ? " atled_columns=\"2\""
	          : columns == 1 ? " atled_columns=\"1\""
	                         : "");
	output_str(out, "      </Points>\n      <Cells>\n");
	Tensor *connect = none ? tensor_new(c, DT_I64, 1, &n) : whole_i64(c, cells),
		   *ends = flat && offsets.kind == V_TENSOR ? whole_i64(c, offsets)
	                                                : tensor_new(c, DT_I64, 1, &m),
		   *what = tensor_new(c, DT_I64, 1, &m);
	Status st = connect && ends && what ? ST_OK : no_memory(w);
	if (st == ST_OK) {
		int64_t *p = (int64_t *)(void *)connect->data, *e = (int64_t *)(void *)ends->data,
				*t = (int64_t *)(void *)what->data, given = 0;
		for (int64_t i = 0; none && i < n; i++) p[i] = i;
		for (int64_t i = 0; !flat && i < m; i++) e[i] = (i + 1) * k;
		for (int64_t i = 0, before = 0; i < m && st == ST_OK; before = e[i++]) {
			if (e[i] < before || e[i] > connect->count)
				st = output_bad(out, "offset %lld of a cell goes back, or beyond the cells",
				                (long long)i);
			const int64_t size = e[i] - before;
			t[i] = size == 1   ? 1
			       : size == 2 ? 3
			       : size == 3 ? 5
			       : size == 4 ? (columns == 2 ? 9 : 10)
			       : size == 5 ? 14
			       : size == 6 ? 13
			       : size == 8 ? 12
			                   : 2;
		}
		for (int64_t i = 0; i < connect->count && st == ST_OK; i++)
			if (p[i] < 0 || p[i] >= n)
				st = output_bad(out, "a cell has point %lld, and there are %lld points",
				                (long long)p[i], (long long)n);
		if (types.kind == V_SCALAR && value_as_i64(types, &given))
			for (int64_t i = 0; i < m; i++) t[i] = given;
		else if (types.kind == V_TENSOR && whole_numbers(types) && types.tensor->rank == 1 &&
		         types.tensor->shape[0] == m)
			for (int64_t i = 0; i < m; i++) t[i] = (int64_t)tensor_get(types.tensor, &i);
		else if (types.kind != V_UNSET && types.kind != V_NONE)
			st = output_bad(out, "types is one of VTK's numbers for cells, or one for each cell");
	}
	if (st != ST_OK) {
		tensor_unref(connect);
		tensor_unref(ends);
		tensor_unref(what);
		return st;
	}
	Tensor *bytes = tensor_new(c, DT_BOOL, 1, &m); /* VTK requires byte types */
	for (int64_t i = 0; bytes && i < m; i++)
		((uint8_t *)bytes->data)[i] = (uint8_t)((int64_t *)(void *)what->data)[i];
	tensor_unref(what);
	put_array(w, "connectivity", 12, connect, 1, "");
	put_array(w, "offsets", 7, ends, 1, "");
	if (!bytes) return no_memory(w);
	output_str(out, "        <DataArray type=\"UInt8\" Name=\"types\" NumberOfComponents=\"1\" "
	                "format=\"appended\" offset=\"");
	w->pieces[w->n++] = (AppendedArray){bytes, out->at};
	output_str(out, "00000000000000000000\"/>\n      </Cells>\n");
	put_fields(w, "PointData", get(c, v, "point"), 1, &n);
	if (out->status == ST_OK) put_fields(w, "CellData", get(c, v, "cell"), 1, &m);
	output_str(out, "    </Piece>\n  </UnstructuredGrid>\n");
	return out->status;
}

Status vtu_write(OutputFile *out, const IoOptions *o, Value v) {
	return whole_file(out, o, "UnstructuredGrid", v, grid);
}
