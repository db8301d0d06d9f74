/* hdf5.c - HDF5 files: records as groups, arrays and strings as datasets,
 * complex numbers and booleans as in h5py.
 *
 * Needs: data/internal.h, the headers of HDF5 1.10 to 2, and libhdf5, which is
 * loaded at the first use.
 *
 * Contract:
 * - Every dtype and rank, and the order of fields, are restored. Lists,
 *   functions and similar values are groups with the attribute `atled_kind`
 *   (value_tree.c).
 * - Errors: cyclic links, links to other files, and datasets stored in other
 *   files.
 * - A lock admits one file at a time, because the library is not thread-safe.
 */
#define _GNU_SOURCE /* memfd_create */
#include "data/internal.h"
#include "lang/base/dynlib.h"

#include <hdf5.h>
#include <pthread.h>
#include <sonames.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef hid_t hid;
typedef hsize_t hsize;
typedef herr_t herr;

/* The functions that are called, and the variables behind the library's
 * constants. */
#define FUNCTIONS(F)                                                                               \
	F(H5open)                                                                                      \
	F(H5dont_atexit)                                                                               \
	F(H5Eset_auto2)                                                                                \
	F(H5Eclear2)                                                                                   \
	F(H5Ewalk2)                                                                                    \
	F(H5Fopen) F(H5Fcreate) F(H5Fclose) F(H5Gcreate2) F(H5Gget_info) F(H5Gget_create_plist)        \
		F(H5Oopen) F(H5Oclose) F(H5Iget_type) F(H5Lget_name_by_idx) F(H5Rcreate) F(H5Dget_space)   \
			F(H5Dget_type) F(H5Dget_create_plist) F(H5Dread) F(H5Dcreate2) F(H5Dwrite) F(H5Dclose) \
				F(H5Dvlen_reclaim) F(H5Sget_simple_extent_type) F(H5Sget_simple_extent_ndims)      \
					F(H5Sget_simple_extent_dims) F(H5Screate) F(H5Screate_simple) F(H5Sclose) F(   \
						H5Sselect_hyperslab) F(H5Tget_class) F(H5Tget_size) F(H5Tget_sign)         \
						F(H5Tget_nmembers) F(H5Tget_member_name) F(H5Tget_member_type) F(          \
							H5Tget_member_value) F(H5free_memory) F(H5Tis_variable_str) F(H5Tcopy) \
							F(H5Tset_size) F(H5Tset_cset) F(H5Tget_cset) F(H5Tset_strpad)          \
								F(H5Tcreate) F(H5Tinsert) F(H5Tenum_create) F(H5Tenum_insert)      \
									F(H5Tclose) F(H5Tget_super) F(H5Acreate2) F(H5Awrite)          \
										F(H5Aexists) F(H5Aopen) F(H5Aread) F(H5Aget_type)          \
											F(H5Aget_space) F(H5Aclose) F(H5Pcreate) F(H5Pclose)   \
												F(H5Pset_chunk) F(H5Pget_chunk) F(H5Pset_deflate)  \
													F(H5Pset_shuffle) F(H5Pget_layout)             \
														F(H5Pget_external_count)                   \
															F(H5Pset_link_creation_order)          \
																F(H5Pget_link_creation_order)      \
																	F(H5Pset_elink_cb)             \
																		F(H5Pset_obj_track_times)

#define VARIABLES(V)                                                                               \
	V(H5T_NATIVE_INT8_g)                                                                           \
	V(H5T_NATIVE_INT32_g)                                                                          \
	V(H5T_NATIVE_INT64_g)                                                                          \
	V(H5T_NATIVE_UINT64_g)                                                                         \
	V(H5T_NATIVE_FLOAT_g)                                                                          \
	V(H5T_NATIVE_DOUBLE_g) V(H5T_C_S1_g) V(H5P_CLS_DATASET_CREATE_ID_g)                            \
		V(H5P_CLS_GROUP_CREATE_ID_g) V(H5P_CLS_FILE_CREATE_ID_g) V(H5P_CLS_LINK_ACCESS_ID_g)

static struct {
#define F(name) __typeof__(&(name)) name;
	FUNCTIONS(F)
#undef F
#define V(name) hid *name;
	VARIABLES(V)
#undef V
} h5;

enum { OBJECTS_MOST = 200000, NAME_MOST = 1024, SLAB = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;

/* Loads the library. Returns NULL, or why it is unavailable. The caller holds
 * the lock. */
static const char *open_library(void) {
	if (library) return NULL;
#define NAME(name) DYN_NAME(h5, name),
	static const DynName names[] = {FUNCTIONS(NAME) VARIABLES(NAME)};
#undef NAME
	void *lib = dynlib_open(SONAME_HDF5);
	if (!lib)
		return "the HDF5 library is not installed here; `make deps` does it, or apt-get install "
			   "libhdf5-dev";
	if (!dynlib_find(&lib, 1, names, sizeof names / sizeof *names))
		return "the HDF5 library that is installed here is not the one that Atled was built with";
	h5.H5dont_atexit();
	if (h5.H5open() < 0) return "the HDF5 library does not start";
	h5.H5Eset_auto2(0, NULL, NULL); /* it would print errors */
	library = lib;
	return NULL;
}

/* The first entry is the innermost. Of what the system said only its words
 * count, and not the time or the address in memory. */
static herr innermost(unsigned n, const H5E_error2_t *e, void *ud) {
	(void)n;
	static const char words[] = "error message = '";
	const char *system = e->desc ? strstr(e->desc, words) : NULL;
	if (system) {
		system += sizeof words - 1;
		snprintf(ud, 200, "%.*s", (int)strcspn(system, "'"), system);
	} else {
		snprintf(ud, 200, "%s", e->desc ? e->desc : "");
	}
	return 1;
}

static Status h5_bad(Input *in, const char *where, const char *what) {
	char why[200] = "";
	h5.H5Ewalk2(0, 0, innermost, why);
	h5.H5Eclear2(0);
	return input_bad(in, "%.200s: %s%s%s", where, what, *why ? ": " : "", why);
}

/* ---- reading ------------------------------------------------------------- */

typedef struct Hdf5Reader {
	Input *in;
	Ctx *c;
	hid lapl;
	uint64_t around[DEEPEST + 2]; /* addresses of the enclosing groups */
	int depth;
	uint32_t objects;
	char path[4096]; /* of the current object, for messages */
} Hdf5Reader;

/* How a type is read: its element type, and the memory type to request. */
typedef struct MemoryType {
	Elem elem;
	hid mem; /* closed by the caller if own */
	bool own;
} MemoryType;

/* Whether the type has the real and imaginary part of a complex number. *part:
 * the larger part's size. */
static bool is_complex(hid type, size_t *part) {
	if (h5.H5Tget_nmembers(type) != 2) return false;
	bool ok = true;
	*part = 0;
	for (unsigned k = 0; k < 2 && ok; k++) {
		char *name = h5.H5Tget_member_name(type, k);
		hid t = h5.H5Tget_member_type(type, k);
		ok = name && t >= 0 && h5.H5Tget_class(t) == H5T_FLOAT &&
		     (!strcmp(name, k ? "i" : "r") || !strcmp(name, k ? "imag" : "real") ||
		      !strcmp(name, k ? "im" : "re"));
		if (ok && h5.H5Tget_size(t) > *part) *part = h5.H5Tget_size(t);
		if (name) h5.H5free_memory(name);
		if (t >= 0) h5.H5Tclose(t);
	}
	return ok;
}

static hid complex_type(hid like, bool single) {
	const size_t size = single ? 4 : 8;
	hid part = single ? *h5.H5T_NATIVE_FLOAT_g : *h5.H5T_NATIVE_DOUBLE_g,
		t = h5.H5Tcreate(H5T_COMPOUND, 2 * size);
	for (unsigned k = 0; k < 2; k++) {
		char *name = like >= 0 ? h5.H5Tget_member_name(like, k) : NULL;
		h5.H5Tinsert(t, name ? name : k ? "i" : "r", k * size, part);
		if (name) h5.H5free_memory(name);
	}
	return t;
}

static bool is_truth(hid type) {
	if (h5.H5Tget_nmembers(type) != 2 || h5.H5Tget_size(type) != 1) return false;
	bool ok = true;
	for (unsigned k = 0; k < 2 && ok; k++) {
		char *name = h5.H5Tget_member_name(type, k);
		signed char value = -1;
		ok = name && h5.H5Tget_member_value(type, k, &value) >= 0 &&
		     (!strcmp(name, "FALSE") ? value == 0 : !strcmp(name, "TRUE") && value == 1);
		if (name) h5.H5free_memory(name);
	}
	return ok;
}

static bool plan_type(hid type, MemoryType *p) {
	size_t part;
	*p = (MemoryType){0};
	int class = h5.H5Tget_class(type);
	hid whole = type;
	if (class == H5T_ENUM) {
		/* with its type in the file */
		if (is_truth(type)) return *p = (MemoryType){EL_BOOL, type, false}, true;
		whole = h5.H5Tget_super(type);
		class = whole >= 0 ? H5T_INTEGER : -1;
	}
	if (class == H5T_INTEGER) {
		const size_t size = h5.H5Tget_size(whole);
		const bool sign = h5.H5Tget_sign(whole) == H5T_SGN_2;
		if (size > 8) return false;
		if (size < 4 || (size == 4 && sign))
			*p = (MemoryType){EL_I32, *h5.H5T_NATIVE_INT32_g, false};
		else if (size < 8 || sign) *p = (MemoryType){EL_I64, *h5.H5T_NATIVE_INT64_g, false};
		else *p = (MemoryType){EL_U64, *h5.H5T_NATIVE_UINT64_g, false};
		if (whole != type) h5.H5Tclose(whole);
		return true;
	}
	if (class == H5T_FLOAT) {
		const bool single = h5.H5Tget_size(type) <= 4;
		*p = (MemoryType){single ? EL_F32 : EL_F64,
		                  single ? *h5.H5T_NATIVE_FLOAT_g : *h5.H5T_NATIVE_DOUBLE_g, false};
		return true;
	}
	if (class == H5T_COMPOUND && is_complex(type, &part)) {
		*p = (MemoryType){part <= 4 ? EL_C64 : EL_C128, complex_type(type, part <= 4), true};
		return p->mem >= 0;
	}
	return false;
}

/* Reads all elements of a dataset as type `mem`, in slabs along the first axis.
 * `size`: bytes of an element in memory. */
static Status read_slabs(Hdf5Reader *r, hid set, hid space, hid mem, uint32_t rank,
                         const int64_t *shape, size_t size, char *to) {
	hsize start[32] = {0}, count[32], chunk[32] = {0};
	int64_t row = 1;
	for (uint32_t i = 0; i < rank; i++) {
		count[i] = (hsize)shape[i];
		if (!shape[i]) return ST_OK;
		if (i) row *= shape[i];
	}
	if (!rank)
		return h5.H5Dread(set, mem, 0, 0, 0, to) < 0
		           ? h5_bad(r->in, r->path, "the elements cannot be read")
		           : ST_OK;
	int64_t rows = SLAB / row > 0 ? SLAB / row : 1;
	hid list = h5.H5Dget_create_plist(set);
	if (list >= 0) {
		/* whole chunks, so that none is decompressed twice */
		if (h5.H5Pget_layout(list) == H5D_CHUNKED && h5.H5Pget_chunk(list, (int)rank, chunk) > 0 &&
		    chunk[0])
			rows = rows / (int64_t)chunk[0] > 0 ? rows / (int64_t)chunk[0] * (int64_t)chunk[0]
			                                    : (int64_t)chunk[0];
		h5.H5Pclose(list);
	}
	Status st = ST_OK;
	for (int64_t i = 0; i < shape[0] && st == ST_OK; i += rows) {
		start[0] = (hsize)i;
		count[0] = (hsize)(shape[0] - i < rows ? shape[0] - i : rows);
		hid part = h5.H5Screate_simple((int)rank, count, NULL);
		bool ok = part >= 0 && h5.H5Sselect_hyperslab(space, 0, start, NULL, count, NULL) >= 0 &&
		          h5.H5Dread(set, mem, part, space, 0, to + (size_t)(i * row) * size) >= 0;
		if (part >= 0) h5.H5Sclose(part);
		if (!ok) st = h5_bad(r->in, r->path, "the elements cannot be read");
		else st = ctx_poll(r->c, count[0] * (uint64_t)row / 8);
		if (rows > shape[0] - i) break;
	}
	return st;
}

static Status read_array(Hdf5Reader *r, hid set, hid space, const MemoryType *p, uint32_t rank,
                         const int64_t *shape, Value *out) {
	Tensor *t;
	Status st = input_tensor(r->in, elem_dtype(p->elem), rank, shape, &t);
	if (st != ST_OK) return st;
	st = read_slabs(r, set, space, p->mem, rank, shape, elem_size(p->elem), t->data);
	if (st == ST_OK && (p->elem == EL_U64 || p->elem == EL_BOOL)) {
		int64_t wrong = elem_convert(p->elem, false, (size_t)t->count, t->data, t->data);
		if (wrong >= 0)
			st = input_bad(r->in,
			               "%.200s: element %lld is 2^63 or more, which no integer here holds",
			               r->path, (long long)wrong);
	}
	if (st == ST_OK) *out = value_from_tensor(t);
	else tensor_unref(t);
	return st;
}

static Status text_of(Hdf5Reader *r, const char *text, size_t n, Value *out) {
	size_t wrong;
	while (n && (text[n - 1] == 0)) n--;
	const char *zero = n ? memchr(text, 0, n) : NULL;
	if (zero) n = (size_t)(zero - text);
	if (!utf8_valid(text, n, &wrong))
		return input_bad(r->in, "%.200s: a string that is not UTF-8", r->path);
	*out = value_string(r->c, text, n);
	return out->kind == V_UNSET ? data_no_memory(r->c, r->in->path, n) : ST_OK;
}

/* Reads the strings of a dataset, or of an attribute if `attribute`. */
static Status read_texts(Hdf5Reader *r, hid from, bool attribute, hid space, hid type,
                         uint32_t rank, const int64_t *shape, Value *out) {
	if (rank > 1) return input_bad(r->in, "%.200s: texts with more than one axis", r->path);
	const uint64_t n = rank ? (uint64_t)shape[0] : 1;
	const bool variable = h5.H5Tis_variable_str(type) > 0;
	const size_t width = variable ? sizeof(char *) : h5.H5Tget_size(type);
	uint64_t bytes;
	if (__builtin_mul_overflow(n, (uint64_t)width, &bytes) || bytes > ((uint64_t)1 << 40) ||
	    n > UINT32_MAX / 2)
		return input_bad(r->in, "%.200s: more texts than fit into memory", r->path);
	if (!variable && bytes > 16 * r->in->size + 4096)
		return input_bad(r->in, "%.200s: more text than the file can hold", r->path);
	char *raw = heap_alloc(r->c, bytes + 1);
	Value *items = heap_alloc(r->c, (n + 1) * sizeof *items);
	Status st = raw && items ? ST_OK : data_no_memory(r->c, r->in->path, bytes);
	hid mem = h5.H5Tcopy(*h5.H5T_C_S1_g);
	h5.H5Tset_size(mem, variable ? (size_t)-1 : width);
	h5.H5Tset_strpad(mem, variable ? 0 : 1);
	h5.H5Tset_cset(mem, h5.H5Tget_cset(type));
	uint64_t made = 0;
	if (raw) memset(raw, 0, bytes + 1);
	if (st == ST_OK) {
		if (n && (attribute ? h5.H5Aread(from, mem, raw) : h5.H5Dread(from, mem, 0, 0, 0, raw)) < 0)
			st = h5_bad(r->in, r->path, "the strings cannot be read");
	}
	for (; made < n && st == ST_OK; made++) {
		const char *text = raw + made * width;
		if (variable) memcpy(&text, raw + made * width, sizeof text);
		st = text_of(r, text ? text : "", variable ? (text ? strlen(text) : 0) : width,
		             &items[made]);
		if (st != ST_OK) break;
		if (made % 4096 == 4095) st = ctx_poll(r->c, 4096);
	}
	if (st == ST_OK) {
		*out = rank ? value_seq(r->c, V_LIST, (uint32_t)n, items) : value_ref(items[0]);
		if (out->kind == V_UNSET) st = data_no_memory(r->c, r->in->path, bytes);
	}
	for (uint64_t i = 0; i < made; i++) value_unref(items[i]);
	if (variable && raw) h5.H5Dvlen_reclaim(mem, space, 0, raw);
	h5.H5Tclose(mem);
	heap_free(r->c, raw, bytes + 1);
	heap_free(r->c, items, (n + 1) * sizeof *items);
	return st;
}

/* Reads a table of compounds as a record of columns. */
static Status read_compound(Hdf5Reader *r, hid set, hid space, hid type, uint32_t rank,
                            const int64_t *shape, Value *out) {
	Fields f;
	fields_init(&f, r->c);
	Status st = ST_OK;
	const int n = h5.H5Tget_nmembers(type);
	for (int k = 0; k < n && st == ST_OK; k++) {
		char *name = h5.H5Tget_member_name(type, (unsigned)k);
		hid member = h5.H5Tget_member_type(type, (unsigned)k);
		MemoryType p;
		Value v = {.kind = V_UNSET};
		size_t wrong;
		if (!name || member < 0 || !utf8_valid(name, strlen(name), &wrong))
			st = h5_bad(r->in, r->path, "a field without a name or type");
		else if (!plan_type(member, &p))
			st = input_bad(r->in, "%.200s: the field %.60s has a type that is not read", r->path,
			               name);
		else {
			hid one = h5.H5Tcreate(H5T_COMPOUND, elem_size(p.elem));
			h5.H5Tinsert(one, name, 0, p.mem);
			MemoryType part = {p.elem, one, true};
			st = read_array(r, set, space, &part, rank, shape, &v);
			h5.H5Tclose(one);
			if (p.own) h5.H5Tclose(p.mem);
			if (st == ST_OK) fields_add(&f, name, strlen(name), v);
			if (st == ST_OK && f.failed) st = data_no_memory(r->c, r->in->path, 64);
		}
		if (name) h5.H5free_memory(name);
		if (member >= 0) h5.H5Tclose(member);
	}
	if (st != ST_OK) {
		fields_free(&f);
		return st;
	}
	*out = fields_record(&f);
	return out->kind == V_UNSET ? data_no_memory(r->c, r->in->path, 64) : ST_OK;
}

static Status read_dataset(Hdf5Reader *r, hid set, Value *out) {
	hid space = h5.H5Dget_space(set), type = h5.H5Dget_type(set),
		list = h5.H5Dget_create_plist(set);
	Status st = ST_OK;
	hsize dims[32] = {0};
	int64_t shape[32];
	int rank = space >= 0 ? h5.H5Sget_simple_extent_ndims(space) : -1;
	if (type < 0 || list < 0 || rank < 0 || rank > 32 ||
	    (rank && h5.H5Sget_simple_extent_dims(space, dims, NULL) < 0))
		st = h5_bad(r->in, r->path, "this dataset cannot be opened");
	else if (h5.H5Pget_external_count(list) > 0 || h5.H5Pget_layout(list) == H5D_VIRTUAL)
		st = input_bad(r->in, "%.200s: the elements lie in another file", r->path);
	for (int i = 0; st == ST_OK && i < rank; i++) {
		if (dims[i] > INT64_MAX)
			st = input_bad(r->in, "%.200s: an axis beyond any memory", r->path);
		else shape[i] = (int64_t)dims[i];
	}
	if (st == ST_OK) {
		MemoryType p;
		const int class = h5.H5Tget_class(type);
		if (h5.H5Sget_simple_extent_type(space) == H5S_NULL) *out = value_none();
		else if (class == H5T_STRING)
			st = read_texts(r, set, false, space, type, (uint32_t)rank, shape, out);
		else if (rank > MAX_RANK)
			st = input_bad(r->in, "%.200s: %d axes, and arrays have at most 8", r->path, rank);
		else if (plan_type(type, &p)) {
			st = read_array(r, set, space, &p, (uint32_t)rank, shape, out);
			if (p.own) h5.H5Tclose(p.mem);
		} else if (class == H5T_COMPOUND)
			st = read_compound(r, set, space, type, (uint32_t)rank, shape, out);
		else
			st = input_bad(r->in, "%.200s: elements of a type that is not read (class %d)", r->path,
			               class);
	}
	if (list >= 0) h5.H5Pclose(list);
	if (type >= 0) h5.H5Tclose(type);
	if (space >= 0) h5.H5Sclose(space);
	return st;
}

/* Reads the attribute atled_kind as the field .kind. */
static Status read_kind(Hdf5Reader *r, hid group, Fields *f) {
	if (h5.H5Aexists(group, "atled_kind") <= 0) return ST_OK;
	hid a = h5.H5Aopen(group, "atled_kind", 0), type = a >= 0 ? h5.H5Aget_type(a) : -1,
		space = a >= 0 ? h5.H5Aget_space(a) : -1;
	Value v = {.kind = V_UNSET};
	Status st = ST_OK;
	if (type < 0 || space < 0 || h5.H5Tget_class(type) != H5T_STRING ||
	    h5.H5Sget_simple_extent_ndims(space) != 0)
		st = h5_bad(r->in, r->path, "the attribute atled_kind is no string");
	else st = read_texts(r, a, true, space, type, 0, NULL, &v);
	if (st == ST_OK) fields_add(f, ".kind", 5, v);
	if (type >= 0) h5.H5Tclose(type);
	if (space >= 0) h5.H5Sclose(space);
	if (a >= 0) h5.H5Aclose(a);
	return st == ST_OK && f->failed ? data_no_memory(r->c, r->in->path, 64) : st;
}

static Status read_group(Hdf5Reader *r, hid group, Value *out);

static Status read_member(Hdf5Reader *r, hid group, const char *name, size_t n, Fields *f) {
	const size_t before = strlen(r->path);
	if (before + n + 2 > sizeof r->path)
		return input_bad(r->in, "%.200s: the names of groups are too long", r->path);
	snprintf(r->path + before, sizeof r->path - before, "%s%s",
	         before && r->path[before - 1] == '/' ? "" : "/", name);
	uint64_t address = 0;
	Status st = ++r->objects > OBJECTS_MOST
	                ? input_bad(r->in, "more than %d groups and datasets", OBJECTS_MOST)
	                : ctx_poll(r->c, 64);
	hid object = st == ST_OK ? h5.H5Oopen(group, name, r->lapl) : -1;
	if (st == ST_OK && (object < 0 || h5.H5Rcreate(&address, group, name, 0, -1) < 0))
		st = h5_bad(r->in, r->path, "this link leads nowhere, or to another file");
	for (int i = 0; i < r->depth && st == ST_OK; i++)
		if (r->around[i] == address)
			st = input_bad(r->in, "%.200s: this link leads back to a group around it", r->path);
	Value v = {.kind = V_UNSET};
	if (st == ST_OK) {
		const int what = h5.H5Iget_type(object);
		if (what == H5I_DATASET) st = read_dataset(r, object, &v);
		else if (what != H5I_GROUP) goto done; /* a named type has no value */
		else if (r->depth >= DEEPEST)
			st = input_bad(r->in, "%.200s: groups nested more than 200 deep", r->path);
		else {
			r->around[r->depth++] = address;
			st = read_group(r, object, &v);
			r->depth--;
		}
	}
	if (st == ST_OK) {
		char plain[NAME_MOST];
		size_t k = name_unescape(name, n, plain, sizeof plain);
		fields_add(f, plain, k, v);
		if (f->failed) st = data_no_memory(r->c, r->in->path, 64);
	}
done:
	if (object >= 0) h5.H5Oclose(object);
	r->path[before] = 0;
	return st;
}

static Status read_group(Hdf5Reader *r, hid group, Value *out) {
	Fields f;
	fields_init(&f, r->c);
	H5G_info_t info = {0};
	unsigned order = 0;
	hid list = h5.H5Gget_create_plist(group);
	if (list >= 0) {
		h5.H5Pget_link_creation_order(list, &order);
		h5.H5Pclose(list);
	}
	Status st = h5.H5Gget_info(group, &info) < 0
	                ? h5_bad(r->in, r->path, "this group cannot be opened")
	                : read_kind(r, group, &f);
	for (hsize i = 0; i < info.nlinks && st == ST_OK; i++) {
		char name[NAME_MOST];
		size_t wrong;
		ssize_t n =
			h5.H5Lget_name_by_idx(group, ".", order & 1 ? 1 : 0, 0, i, name, sizeof name, 0);
		if (n < 0 || (size_t)n >= sizeof name)
			st = h5_bad(r->in, r->path, "a link without a name, or with one that is too long");
		else if (!utf8_valid(name, (size_t)n, &wrong))
			st = input_bad(r->in, "%.200s: a name that is not UTF-8", r->path);
		else st = read_member(r, group, name, (size_t)n, &f);
	}
	if (st != ST_OK) {
		fields_free(&f);
		return st;
	}
	*out = fields_record(&f);
	return out->kind == V_UNSET ? data_no_memory(r->c, r->in->path, 64) : ST_OK;
}

static herr no_other_files(const char *parent, const char *group, const char *file,
                           const char *object, unsigned *flags, hid list, void *ud) {
	(void)parent, (void)group, (void)file, (void)object, (void)flags, (void)list, (void)ud;
	return -1;
}

static Status read_file(Hdf5Reader *r, const char *path, Value *out) {
	hid file = h5.H5Fopen(path, 0, 0);
	if (file < 0) return h5_bad(r->in, "/", "this is no HDF5 file, or a damaged one");
	r->lapl = h5.H5Pcreate(*h5.H5P_CLS_LINK_ACCESS_ID_g);
	if (r->lapl >= 0) h5.H5Pset_elink_cb(r->lapl, no_other_files, NULL);
	hid root = h5.H5Oopen(file, "/", 0);
	Value tree = {.kind = V_UNSET};
	Status st = r->lapl < 0 || root < 0 || h5.H5Rcreate(&r->around[0], file, "/", 0, -1) < 0
	                ? h5_bad(r->in, "/", "the file has no first group")
	                : ST_OK;
	r->depth = 1;
	if (st == ST_OK) st = read_group(r, root, &tree);
	if (root >= 0) h5.H5Oclose(root);
	if (r->lapl >= 0) h5.H5Pclose(r->lapl);
	h5.H5Fclose(file);
	if (st == ST_OK) {
		const char *kind = tree_kind(r->c, tree);
		Atom a;
		if (kind && !strcmp(kind, "value") && atom_try(r->c, "value", 5, &a) &&
		    value_field(tree, a).kind != V_UNSET)
			st = tree_in(r->c, r->in->path, value_field(tree, a), out);
		else st = tree_in(r->c, r->in->path, tree, out);
	}
	value_unref(tree);
	return st;
}

/* One write() takes at most 2 GiB. */
static bool write_all(int fd, const void *bytes, size_t n) {
	for (size_t at = 0; at < n;) {
		const ssize_t more = write(fd, (const char *)bytes + at, n - at);
		if (more <= 0) return false;
		at += (size_t)more;
	}
	return true;
}

Status hdf5_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	pthread_mutex_lock(&lock);
	const char *missing = open_library();
	Status st = missing ? input_bad(in, "%s", missing) : ST_OK;
	int fd = in->fd;
	if (st == ST_OK && fd < 0) { /* bytes in memory or from a pipe */
		fd = memfd_create("hdf5", MFD_CLOEXEC);
		if (fd < 0 || !write_all(fd, in->mem, in->size))
			st = input_bad(in, "the bytes cannot be put into a file of their own");
	}
	uint8_t magic[8];
	if (st == ST_OK && (in->size < 8 || pread(fd, magic, 8, 0) != 8))
		st = input_bad_byte(in, in->size, "the file ends before an HDF5 file could");
	Hdf5Reader *r = heap_alloc(in->c, sizeof *r);
	if (st == ST_OK && !r) st = data_no_memory(in->c, in->path, sizeof *r);
	if (st == ST_OK) {
		*r = (Hdf5Reader){.in = in, .c = in->c, .path = "/"};
		char path[40];
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		st = read_file(r, path, out);
	}
	heap_free(in->c, r, sizeof *r);
	if (fd >= 0 && fd != in->fd) close(fd);
	pthread_mutex_unlock(&lock);
	return st;
}

/* ---- writing ------------------------------------------------------------- */

static Status not_written(OutputFile *out) {
	char why[200] = "";
	h5.H5Ewalk2(0, 0, innermost, why);
	h5.H5Eclear2(0);
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
	default: return complex_type(-1, d == DT_C64);
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
		int64_t rows = SLAB / row > 0 ? SLAB / row : 1;
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
		char name[NAME_MOST];
		Value item = r->fields[i].value;
		const Atom a = r->fields[i].name;
		if (!strcmp(atom_text(out->c, a), ".kind")) {
			st = write_kind(out, group, string_text(item, NULL));
			continue;
		}
		if (3 * atom_length(out->c, a) + 8 > NAME_MOST)
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
	pthread_mutex_lock(&lock);
	const char *missing = open_library();
	Status st = missing ? output_bad(out, "%s", missing) : write_tree(out, o, v);
	pthread_mutex_unlock(&lock);
	if (st != ST_OK && out->status == ST_OK) out->status = st;
	return out->status;
}
