/* vtk_series.c - ParaView's collections (.pvd): a time series of images or
 * grids, with one VTK file per time beside the list file.
 *
 * Needs: data/internal.h, xml.h.
 *
 * Contract:
 * - All files of a series are complete before any is renamed, and the list is
 *   renamed last. If one fails, none is renamed and existing files stay.
 * - The old list is removed before the first rename. A list thus never refers
 *   to the files of another series.
 */
#include "data/xml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIMES_MOST = 100000, NAME = 40 };

static Value get(Ctx *c, Value record, const char *name) {
	Atom a;
	return record.kind == V_RECORD && atom_try(c, name, strlen(name), &a)
	           ? value_field(record, a)
	           : (Value){.kind = V_UNSET};
}

/* ---- writing ------------------------------------------------------------- */

/* The record's fields at the i-th time; their first axis are the times. Returns
 * an owned value, or V_UNSET with *st set if a field does not fit or memory
 * fails. */
static Value at_time(OutputFile *out, Value record, int64_t i, int64_t times, const char *section,
                     Status *st) {
	Fields f;
	fields_init(&f, out->c);
	const RecordObject *r = (const RecordObject *)record.object;
	for (uint32_t k = 0; k < r->head.n && *st == ST_OK; k++) {
		const Value v = r->fields[k].value;
		const char *name = atom_text(out->c, r->fields[k].name);
		if (v.kind != V_TENSOR || v.tensor->rank < 2 || v.tensor->shape[0] != times) {
			*st = output_bad(out,
			                 "%s: the field %.60s is no array whose first axis are the %lld times",
			                 section, name, (long long)times);
			break;
		}
		Tensor *one = tensor_view(out->c, v.tensor, v.tensor->rank - 1, v.tensor->shape + 1,
		                          v.tensor->stride + 1, i * v.tensor->stride[0]);
		if (!one) *st = data_no_memory(out->c, out->path, 64);
		else fields_add(&f, name, atom_length(out->c, r->fields[k].name), value_tensor(one));
	}
	Value made = *st == ST_OK ? fields_record(&f) : (Value){.kind = V_UNSET};
	if (*st == ST_OK && made.kind == V_UNSET) *st = data_no_memory(out->c, out->path, 64);
	fields_free(&f);
	return made;
}

/* The whole record at the i-th time. */
static Value piece_of(OutputFile *out, Value v, int64_t i, int64_t times, Status *st) {
	Fields f;
	fields_init(&f, out->c);
	const RecordObject *r = (const RecordObject *)v.object;
	for (uint32_t k = 0; k < r->head.n && *st == ST_OK; k++) {
		const char *name = atom_text(out->c, r->fields[k].name);
		if (!strcmp(name, "times")) continue;
		const Value own = r->fields[k].value;
		const bool fields =
			(!strcmp(name, "point") || !strcmp(name, "cell")) && own.kind == V_RECORD;
		Value made = fields ? at_time(out, own, i, times, name, st) : value_ref(own);
		if (made.kind != V_UNSET)
			fields_add(&f, name, atom_length(out->c, r->fields[k].name), made);
	}
	Value made = *st == ST_OK ? fields_record(&f) : (Value){.kind = V_UNSET};
	if (*st == ST_OK && made.kind == V_UNSET) *st = data_no_memory(out->c, out->path, 64);
	fields_free(&f);
	return made;
}

/* Length of the path without its extension. *base: the part after the last
 * slash. */
static size_t stem_of(const char *path, const char **base) {
	const char *slash = strrchr(path, '/'), *dot;
	*base = slash ? slash + 1 : path;
	dot = strrchr(*base, '.');
	return dot && dot != *base ? (size_t)(dot - path) : strlen(path);
}

static void put_plain(OutputFile *out, const char *text, size_t n) {
	for (size_t i = 0; i < n; i++)
		if (text[i] == '&') output_str(out, "&amp;");
		else if (text[i] == '<') output_str(out, "&lt;");
		else if (text[i] == '"') output_str(out, "&quot;");
		else output_add(out, text + i, 1);
}

Status pvd_write(OutputFile *out, const IoOptions *o, Value v) {
	Ctx *c = out->c;
	const Value times = get(c, v, "times");
	if (out->direct) return output_bad(out, "a series of files cannot be written to a pipe");
	if (times.kind != V_TENSOR || times.tensor->rank != 1 || times.tensor->count < 1 ||
	    dtype_is_complex((Dtype)times.tensor->dtype))
		return output_bad(out,
		                  "a series is a solution in t, or a record (times, point, ...) as an "
		                  "image or a grid has, whose fields have the times as their first axis");
	const int64_t n = times.tensor->count;
	if (n > TIMES_MOST)
		return output_bad(out, "%lld times are too many files: at most %d", (long long)n,
		                  TIMES_MOST);
	const bool grid = get(c, v, "points").kind != V_UNSET;
	const char *ending = grid ? "vtu" : "vti", *base;
	const size_t stem = stem_of(out->path, &base), before = (size_t)(base - out->path),
				 room = stem + NAME;
	OutputFile *pieces = heap_alloc(c, (size_t)n * sizeof *pieces);
	char *names = heap_alloc(c, (size_t)n * room);
	Status st = pieces && names
	                ? ST_OK
	                : data_no_memory(c, out->path, (uint64_t)n * (room + sizeof *pieces));
	int64_t opened = 0;
	output_str(
		out,
		"<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n  <Collection>\n");
	for (int64_t i = 0; i < n && st == ST_OK; i++) {
		const double t = tensor_get(times.tensor, &i);
		if (!isfinite(t)) {
			st = output_bad(out, "time number %lld is no finite number", (long long)i);
			break;
		}
		char *name = names + (size_t)i * room, said[40];
		snprintf(name, room, "%.*s_%05lld.%s", (int)stem, out->path, (long long)i, ending);
		Value piece = piece_of(out, v, i, n, &st);
		if (st != ST_OK) break;
		st = output_open(&pieces[i], c, name);
		if (st == ST_OK) {
			opened = i + 1;
			st = grid ? vtu_write(&pieces[i], o, piece) : vti_write(&pieces[i], o, piece);
			if (st != ST_OK && pieces[i].status == ST_OK) pieces[i].status = st;
			st = output_settle(&pieces[i]);
		}
		value_unref(piece);
		number_print(said, t);
		output_format(out, "    <DataSet timestep=\"%s\" group=\"\" part=\"0\" file=\"", said);
		put_plain(out, name + before, strlen(name) - before);
		output_str(out, "\"/>\n");
	}
	output_str(out, "  </Collection>\n</VTKFile>\n");
	if (st == ST_OK) st = output_settle(out);
	if (st == ST_OK) output_withdraw(out);
	for (int64_t i = 0; i < opened; i++) { /* each is renamed, or removed */
		if (st != ST_OK && pieces[i].status == ST_OK) pieces[i].status = st;
		Status closed = output_close(&pieces[i]);
		if (st == ST_OK) st = closed;
	}
	heap_free(c, names, (size_t)n * room);
	heap_free(c, pieces, (size_t)n * sizeof *pieces);
	return st;
}

/* ---- reading ------------------------------------------------------------- */

static Status read_piece(Input *in, const IoOptions *o, const XmlNode *n, Value *out) {
	char path[4200];
	XmlText file = xml_attribute(n, "file");
	const char *name = file.at; /* ends with a zero byte */
	if (!file.n) return xml_bad(in, n, "it names no file");
	const char *slash = strrchr(in->path, '/');
	const size_t folder = slash && *name != '/' ? (size_t)(slash + 1 - in->path) : 0;
	if ((size_t)snprintf(path, sizeof path, "%.*s%s", (int)folder, in->path, name) >= sizeof path)
		return xml_bad(in, n, "the name of its file is too long");
	const char *dot = strrchr(name, '.');
	if (!dot || (strcmp(dot, ".vti") && strcmp(dot, ".vtu")))
		return xml_bad(in, n, "files of a series are read from .vti and .vtu files");
	Input piece;
	Status st = input_open(&piece, in->c, path);
	if (st != ST_OK) return st;
	st = vtk_read(&piece, o, out);
	input_close(&piece);
	return st;
}

static Status read_series(Input *in, const IoOptions *o, const XmlNode *root, Value *out) {
	Ctx *c = in->c;
	const XmlNode *all = xml_is(root->name, "VTKFile") ? xml_child(root, "Collection") : NULL;
	if (!all)
		return xml_bad(in, root,
		               "this is no collection of VTK: VTKFile with a Collection is wanted here");
	int64_t n = 0;
	for (const XmlNode *k = all->first; k; k = k->next) n += xml_is(k->name, "DataSet");
	Tensor *times;
	Status st = input_tensor(in, DT_F64, 1, &n, &times);
	if (st != ST_OK) return st;
	ValueList pieces = {.c = c};
	int64_t i = 0;
	for (const XmlNode *k = all->first; k && st == ST_OK; k = k->next) {
		if (!xml_is(k->name, "DataSet")) continue;
		XmlText said = xml_attribute(k, "timestep");
		double t = 0;
		if (!said.at || number_read(said.at, said.at + said.n, &t) != said.at + said.n)
			st = xml_bad(in, k, "it does not say its time");
		Value one = {.kind = V_UNSET};
		if (st == ST_OK) st = read_piece(in, o, k, &one);
		if (st == ST_OK) {
			((double *)(void *)times->data)[i++] = t;
			value_list_add(&pieces, one);
		}
	}
	if (st != ST_OK) {
		value_list_drop(&pieces);
		tensor_unref(times);
		return st;
	}
	Fields f;
	fields_init(&f, c);
	fields_add(&f, "times", 5, value_tensor(times));
	fields_add(&f, "pieces", 6, value_list_end(&pieces));
	*out = fields_record(&f);
	fields_free(&f);
	return out->kind == V_UNSET ? data_no_memory(c, in->path, 64) : ST_OK;
}

Status pvd_read(Input *in, const IoOptions *o, Value *out) {
	XmlTree tree;
	Status st = xml_read(in, &tree);
	if (st == ST_OK) st = read_series(in, o, tree.root, out);
	xml_free(&tree);
	return st;
}
