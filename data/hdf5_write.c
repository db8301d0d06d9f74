/* hdf5_write.c - writing of HDF5 files: records as groups, arrays and strings
 * as datasets, complex numbers and booleans as in h5py.
 *
 * Needs: data/hdf5_library.h.
 *
 * Contract: lists, functions and similar values are groups with the attribute
 * `atled_kind` (value_tree.c). Groups keep the order of fields.
 */
#include "data/hdf5_library.h"

#include <stdio.h>
#include <string.h>

static Status not_written(OutputFile *out) {
	char why[HDF5_REASON];
	hdf5_reason(why);
	return output_bad(out, "the HDF5 library could not write: %s", why);
}

static hid text_type(void) {
	hid t = h5.H5Tcopy(*h5.H5T_C_S1_g);
	h5.H5Tset_size(t, (size_t)-1);
	h5.H5Tset_cset(t, H5T_CSET_UTF8);
	return t;
}

static hid type_for(Dtype d) {
	signed char truth[2] = {0, 1};
	hid t;
	switch (d) {
	case DT_BOOL:
		t = h5.H5Tenum_create(*h5.H5T_NATIVE_INT8_g);
		h5.H5Tenum_insert(t, "FALSE", &truth[0]);
		h5.H5Tenum_insert(t, "TRUE", &truth[1]);
		return t;
	case DT_I32: return h5.H5Tcopy(*h5.H5T_NATIVE_INT32_g);
	case DT_I64: return h5.H5Tcopy(*h5.H5T_NATIVE_INT64_g);
	case DT_F32: return h5.H5Tcopy(*h5.H5T_NATIVE_FLOAT_g);
	case DT_F64: return h5.H5Tcopy(*h5.H5T_NATIVE_DOUBLE_g);
	default: return hdf5_complex_type(-1, d == DT_C64);
	}
}

static Status write_array(OutputFile *out, const IoOptions *o, hid group, const char *name,
                          Value v) {
	const Dtype d = value_dtype(v);
	const uint32_t rank = value_rank(v);
	Tensor *t = value_to_tensor(out->c, v), *whole = t ? tensor_contiguous(out->c, t) : NULL;
	tensor_unref(t);
	if (!whole) return data_no_memory(out->c, out->path, 64);
	hsize dims[MAX_RANK], chunk[MAX_RANK], start[MAX_RANK] = {0}, count[MAX_RANK];
	int64_t row = 1;
	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = chunk[i] = count[i] = (hsize)whole->shape[i];
		if (i) row *= whole->shape[i];
	}
	hid space = rank ? h5.H5Screate_simple((int)rank, dims, NULL) : h5.H5Screate(H5S_SCALAR),
		type = type_for(d), list = h5.H5Pcreate(*h5.H5P_CLS_DATASET_CREATE_ID_g);
	h5.H5Pset_obj_track_times(list, false); /* equal values give equal files */
	if (o->compress && rank && whole->count) {
		hsize cells = 1;
		for (uint32_t i = rank; i-- > 0;) {
			if (cells >= 65536) chunk[i] = 1;
			else if (cells * chunk[i] > 65536) chunk[i] = 65536 / cells;
			cells *= chunk[i];
		}
		h5.H5Pset_chunk(list, (int)rank, chunk);
		h5.H5Pset_shuffle(list);
		h5.H5Pset_deflate(list, 6);
	}
	hid set = h5.H5Dcreate2(group, name, type, space, 0, list, 0);
	Status st = set < 0 ? not_written(out) : ST_OK;
	if (st == ST_OK && !rank && h5.H5Dwrite(set, type, 0, 0, 0, whole->data) < 0)
		st = not_written(out);
	if (rank && whole->count) {
		int64_t rows = HDF5_SLAB / row > 0 ? HDF5_SLAB / row : 1;
		if (rows < (int64_t)chunk[0] && o->compress) rows = (int64_t)chunk[0];
		else if (o->compress) rows = rows / (int64_t)chunk[0] * (int64_t)chunk[0];
		for (int64_t i = 0; i < whole->shape[0] && st == ST_OK; i += rows) {
			start[0] = (hsize)i;
			count[0] = (hsize)(whole->shape[0] - i < rows ? whole->shape[0] - i : rows);
			hid part = h5.H5Screate_simple((int)rank, count, NULL);
			bool ok = part >= 0 &&
			          h5.H5Sselect_hyperslab(space, 0, start, NULL, count, NULL) >= 0 &&
			          h5.H5Dwrite(set, type, part, space, 0,
			                      whole->data + (size_t)(i * row) * dtype_size(d)) >= 0;
			/* before any other call, which would clear the reason */
			st = ok ? ctx_poll(out->c, count[0] * (uint64_t)row / 8) : not_written(out);
			if (part >= 0) h5.H5Sclose(part);
		}
	}
	if (set >= 0 && h5.H5Dclose(set) < 0 && st == ST_OK) st = not_written(out);
	h5.H5Pclose(list);
	h5.H5Tclose(type);
	h5.H5Sclose(space);
	tensor_unref(whole);
	return st;
}

/* Writes a string or a list of strings. */
static Status write_texts(OutputFile *out, hid group, const char *name, Value v) {
	const uint32_t n = v.kind == V_STRING ? 1 : v.object->n;
	const char **texts = heap_alloc(out->c, (n + 1) * sizeof *texts);
	if (!texts) return data_no_memory(out->c, out->path, n * sizeof *texts);
	for (uint32_t i = 0; i < n; i++)
		texts[i] =
			string_text(v.kind == V_STRING ? v : ((const SeqObject *)v.object)->items[i], NULL);
	hsize dims = n;
	hid space = v.kind == V_STRING ? h5.H5Screate(H5S_SCALAR) : h5.H5Screate_simple(1, &dims, NULL),
		type = text_type(), list = h5.H5Pcreate(*h5.H5P_CLS_DATASET_CREATE_ID_g);
	h5.H5Pset_obj_track_times(list, false);
	hid set = h5.H5Dcreate2(group, name, type, space, 0, list, 0);
	Status st = set < 0 || h5.H5Dwrite(set, type, 0, 0, 0, texts) < 0 ? not_written(out) : ST_OK;
	if (set >= 0) h5.H5Dclose(set);
	h5.H5Pclose(list);
	h5.H5Tclose(type);
	h5.H5Sclose(space);
	heap_free(out->c, texts, (n + 1) * sizeof *texts);
	return st;
}

static Status write_kind(OutputFile *out, hid group, const char *kind) {
	hid type = text_type(), space = h5.H5Screate(H5S_SCALAR),
		a = h5.H5Acreate2(group, "atled_kind", type, space, 0, 0);
	Status st = a < 0 || h5.H5Awrite(a, type, &kind) < 0 ? not_written(out) : ST_OK;
	if (a >= 0) h5.H5Aclose(a);
	h5.H5Sclose(space);
	h5.H5Tclose(type);
	return st;
}

static Status write_group(OutputFile *out, const IoOptions *o, hid group, Value v, hid in_order) {
	const RecordObject *r = (const RecordObject *)v.object;
	Status st = ST_OK;
	for (uint32_t i = 0; i < r->head.n && st == ST_OK; i++) {
		char name[HDF5_NAME];
		Value item = r->fields[i].value;
		const Atom a = r->fields[i].name;
		if (!strcmp(atom_text(out->c, a), ".kind")) {
			st = write_kind(out, group, string_text(item, NULL));
			continue;
		}
		if (3 * atom_length(out->c, a) + 8 > HDF5_NAME)
			return output_bad(out, "a field's name is too long for this format");
		name_escape(atom_text(out->c, a), atom_length(out->c, a), name, sizeof name);
		if (item.kind == V_RECORD) {
			hid inner = h5.H5Gcreate2(group, name, 0, in_order, 0);
			st = inner < 0 ? not_written(out) : write_group(out, o, inner, item, in_order);
			if (inner >= 0) h5.H5Oclose(inner);
		} else
			st = item.kind == V_STRING || item.kind == V_LIST
			         ? write_texts(out, group, name, item)
			         : write_array(out, o, group, name, item);
		if (st == ST_OK) st = ctx_poll(out->c, 64);
	}
	return st;
}

static Status write_tree(OutputFile *out, const IoOptions *o, Value v) {
	Value tree = {.kind = V_UNSET}, whole = v;
	Status st = ST_OK;
	const bool bare = v.kind != V_RECORD;
	if (bare) { /* a single value: a dataset of this name */
		Fields f;
		fields_init(&f, out->c);
		fields_add(&f, "value", 5, value_ref(v));
		whole = fields_record(&f);
		if (whole.kind == V_UNSET) return data_no_memory(out->c, out->path, 64);
	}
	st = tree_out(out->c, out->path, whole, &tree);
	if (bare) value_unref(whole);
	if (st != ST_OK) return st;
	hid create = h5.H5Pcreate(*h5.H5P_CLS_FILE_CREATE_ID_g),
		in_order = h5.H5Pcreate(*h5.H5P_CLS_GROUP_CREATE_ID_g);
	/* tracked and indexed, to preserve the order of fields */
	h5.H5Pset_link_creation_order(create, 3);
	h5.H5Pset_link_creation_order(in_order, 3);
	h5.H5Pset_obj_track_times(in_order, false);
	hid file = h5.H5Fcreate(out->beside, 2, create, 0),
		root = file >= 0 ? h5.H5Oopen(file, "/", 0) : -1;
	st = root < 0 ? not_written(out) : bare ? write_kind(out, root, "value") : ST_OK;
	if (st == ST_OK) st = write_group(out, o, root, tree, in_order);
	if (root >= 0) h5.H5Oclose(root);
	if (file >= 0 && h5.H5Fclose(file) < 0 && st == ST_OK) st = not_written(out);
	h5.H5Pclose(create);
	h5.H5Pclose(in_order);
	value_unref(tree);
	return st;
}

Status hdf5_write(OutputFile *out, const IoOptions *o, Value v) {
	if (out->direct) return output_bad(out, "this format cannot be written to a pipe");
	pthread_mutex_lock(&hdf5_lock);
	const char *missing = hdf5_open_library();
	Status st = missing ? output_bad(out, "%s", missing) : write_tree(out, o, v);
	pthread_mutex_unlock(&hdf5_lock);
	if (st != ST_OK && out->status == ST_OK) out->status = st;
	return out->status;
}
