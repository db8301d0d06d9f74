/* hdf5_tell.c - the process that reads an HDF5 file: what the file has, told to
 * another process.
 *
 * Needs: data/hdf5_library.h. Neither memory of a context, nor a lock of the
 * program that started the process.
 *
 * Contract:
 * - Errors: cyclic links, links to other files, datasets stored in other files,
 *   elements of types without an equal here. The message names the place in the
 *   file.
 * - The process ends at the first error, and when the library takes longer for
 *   a step than it can need: on some damaged files it does not end.
 */
#include "data/hdf5_library.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	OBJECTS_MOST = 200000,
	STEP_SECONDS = 5,     /* of computing time for an object or a piece */
	AXES_MOST = 32,       /* of HDF5 */
	PIECE_MOST = 16 << 20 /* elements, where whole chunks need more than a slab */
};

typedef struct Teller {
	int to;
	bool in_array; /* pieces of an array are expected */
	uint64_t size; /* of the file */
	hid lapl;
	uint64_t around[DEEPEST + 2]; /* addresses of the enclosing groups */
	int depth;
	uint32_t objects;
	char path[4096]; /* of the current object, for messages */
	size_t held;
	char buffer[1 << 16];
} Teller;

/* How a type is read: its element type, and the memory type to request. */
typedef struct MemoryType {
	Elem elem;
	hid mem; /* closed by the caller if own */
	bool own;
} MemoryType;

/* ---- telling ------------------------------------------------------------- */

static void write_all(const Teller *t, const char *bytes, size_t n) {
	while (n) {
		const ssize_t more = write(t->to, bytes, n);
		if (more <= 0) _exit(1);
		bytes += more;
		n -= (size_t)more;
	}
}

static void flush(Teller *t) {
	write_all(t, t->buffer, t->held);
	t->held = 0;
}

static void put(Teller *t, const void *bytes, size_t n) {
	if (n > sizeof t->buffer - t->held) flush(t);
	if (n > sizeof t->buffer) {
		write_all(t, bytes, n);
		return;
	}
	memcpy(t->buffer + t->held, bytes, n);
	t->held += n;
}

static void put_tag(Teller *t, char tag) { put(t, &tag, 1); }
static void put_number(Teller *t, uint64_t n) { put(t, &n, sizeof n); }
static void put_text(Teller *t, const char *text, size_t n) {
	put_number(t, n);
	put(t, text, n);
}

__attribute__((noreturn, format(printf, 2, 3))) static void fail(Teller *t, const char *format,
                                                                 ...) {
	char what[1000];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	if (t->in_array) put_number(t, HDF5_NO_PIECE);
	else put_tag(t, HDF5_MESSAGE);
	put_text(t, what, strlen(what));
	flush(t);
	_exit(0);
}

__attribute__((noreturn)) static void fail_h5(Teller *t, const char *what) {
	char why[HDF5_REASON];
	hdf5_reason(why);
	fail(t, "%.200s: %s%s%s", t->path, what, *why ? ": " : "", why);
}

/* Allows the next step its computing time; n: the strings in it. A signal ends
 * the process after that. */
static void begin_step(uint64_t n) {
	const struct itimerval most = {.it_value.tv_sec = STEP_SECONDS + (time_t)(n / 100000)};
	setitimer(ITIMER_PROF, &most, NULL);
}

static void *some_bytes(Teller *t, uint64_t n) {
	void *p = malloc(n + 1);
	if (!p) fail(t, "%.200s: %llu bytes do not fit into memory", t->path, (unsigned long long)n);
	return p;
}

/* ---- types --------------------------------------------------------------- */

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
		*p = (MemoryType){part <= 4 ? EL_C64 : EL_C128, hdf5_complex_type(type, part <= 4), true};
		return p->mem >= 0;
	}
	return false;
}

/* ---- arrays -------------------------------------------------------------- */

static void put_header(Teller *t, const MemoryType *p, int rank, const int64_t *shape) {
	put_tag(t, HDF5_ARRAY);
	put_number(t, elem_dtype(p->elem));
	put_number(t, (uint64_t)rank);
	for (int i = 0; i < rank; i++) put_number(t, (uint64_t)shape[i]);
	t->in_array = true;
}

/* Converts n elements in place, and tells them. */
static void put_piece(Teller *t, const MemoryType *p, uint64_t n, void *from) {
	const int64_t wrong =
		p->elem == EL_U64 || p->elem == EL_BOOL ? elem_convert(p->elem, false, n, from, from) : -1;
	if (wrong >= 0)
		fail(t, "%.200s: element %lld is 2^63 or more, which no integer here holds", t->path,
		     (long long)wrong);
	put_number(t, n * elem_size(p->elem));
	put(t, from, n * elem_size(p->elem));
}

/* How a dataset is cut: pieces are `rows` long along the axis, whole along
 * later axes, and one element long along earlier ones. */
typedef struct Pieces {
	int axis;
	int64_t rows, inner; /* inner: elements of a row */
} Pieces;

/* Whole chunks, so that none is decompressed twice, where they are not too
 * large. The product of the extents fits into 64 bits. */
static Pieces cut_of(hid set, int rank, const int64_t *shape) {
	hsize chunk[AXES_MOST] = {0};
	hid list = h5.H5Dget_create_plist(set);
	if (list >= 0) {
		if (h5.H5Pget_layout(list) != H5D_CHUNKED || h5.H5Pget_chunk(list, rank, chunk) <= 0)
			chunk[0] = 0;
		h5.H5Pclose(list);
	}
	Pieces cut = {.axis = rank - 1, .inner = 1};
	while (cut.axis > 0 && cut.inner * shape[cut.axis] <= PIECE_MOST)
		cut.inner *= shape[cut.axis--];
	cut.rows = HDF5_SLAB / cut.inner > 0 ? HDF5_SLAB / cut.inner : 1;
	const int64_t along = chunk[0] ? (int64_t)chunk[cut.axis] : 1;
	if (along > 0 && along <= PIECE_MOST / cut.inner)
		cut.rows = cut.rows > along ? cut.rows / along * along : along;
	return cut;
}

/* Tells the elements of a dataset as type p->mem. */
static void tell_elements(Teller *t, hid set, hid space, const MemoryType *p, int rank,
                          const int64_t *shape) {
	const size_t size = elem_size(p->elem);
	hsize start[AXES_MOST] = {0}, count[AXES_MOST];
	if (!rank) {
		char one[16];
		if (h5.H5Dread(set, p->mem, 0, 0, 0, one) < 0) fail_h5(t, "the elements cannot be read");
		put_piece(t, p, 1, one);
		return;
	}
	const Pieces cut = cut_of(set, rank, shape);
	const int64_t most = cut.rows < shape[cut.axis] ? cut.rows : shape[cut.axis];
	char *piece = some_bytes(t, (uint64_t)(most * cut.inner) * size);
	for (int i = 0; i < rank; i++) count[i] = i < cut.axis ? 1 : (hsize)shape[i];
	for (int i = 0; i >= 0;) {
		const int64_t left = shape[cut.axis] - (int64_t)start[cut.axis];
		count[cut.axis] = (hsize)(left < most ? left : most);
		begin_step(0);
		hid part = h5.H5Screate_simple(rank, count, NULL);
		if (part < 0 || h5.H5Sselect_hyperslab(space, 0, start, NULL, count, NULL) < 0 ||
		    h5.H5Dread(set, p->mem, part, space, 0, piece) < 0)
			fail_h5(t, "the elements cannot be read");
		h5.H5Sclose(part);
		put_piece(t, p, count[cut.axis] * (uint64_t)cut.inner, piece);
		start[cut.axis] += count[cut.axis];
		/* the next piece in the order of rows */
		for (i = cut.axis; i >= 0 && start[i] >= (hsize)shape[i]; i--) {
			start[i] = 0;
			if (i) start[i - 1]++;
		}
	}
	free(piece);
}

static void tell_array(Teller *t, hid set, hid space, const MemoryType *p, int rank,
                       const int64_t *shape) {
	int64_t total = 1;
	bool empty = false;
	for (int i = 0; i < rank; i++) empty |= !shape[i];
	for (int i = 0; i < rank && !empty; i++)
		if (__builtin_mul_overflow(total, shape[i], &total) || total > INT64_MAX / 16)
			fail(t, "%.200s: an array beyond any memory", t->path);
	put_header(t, p, rank, shape);
	if (!empty) tell_elements(t, set, space, p, rank, shape);
	t->in_array = false;
}

/* Tells a table of compounds as a record of columns. */
static void tell_compound(Teller *t, hid set, hid space, hid type, int rank, const int64_t *shape) {
	put_tag(t, HDF5_RECORD);
	const int n = h5.H5Tget_nmembers(type);
	for (int k = 0; k < n; k++) {
		char *name = h5.H5Tget_member_name(type, (unsigned)k);
		hid member = h5.H5Tget_member_type(type, (unsigned)k);
		MemoryType p;
		if (!name || member < 0) fail_h5(t, "a field without a name or type");
		if (!plan_type(member, &p))
			fail(t, "%.200s: the field %.60s has a type that is not read", t->path, name);
		put_tag(t, HDF5_FIELD);
		put_text(t, name, strlen(name));
		hid one = h5.H5Tcreate(H5T_COMPOUND, elem_size(p.elem));
		h5.H5Tinsert(one, name, 0, p.mem);
		const MemoryType part = {p.elem, one, true};
		tell_array(t, set, space, &part, rank, shape);
		h5.H5Tclose(one);
		if (p.own) h5.H5Tclose(p.mem);
		h5.H5free_memory(name);
		h5.H5Tclose(member);
	}
	put_tag(t, HDF5_END);
}

/* ---- strings ------------------------------------------------------------- */

/* Tells a string up to its first zero byte. */
static void put_string(Teller *t, const char *text, size_t n) {
	size_t wrong;
	n = strnlen(text, n);
	if (!utf8_valid(text, n, &wrong)) fail(t, "%.200s: a string that is not UTF-8", t->path);
	put_text(t, text, n);
}

/* Tells the strings of a dataset, or of an attribute if `attribute`. */
static void tell_strings(Teller *t, hid from, bool attribute, hid space, hid type, int rank,
                         const int64_t *shape) {
	if (rank > 1) fail(t, "%.200s: texts with more than one axis", t->path);
	const uint64_t n = rank ? (uint64_t)shape[0] : 1;
	const bool variable = h5.H5Tis_variable_str(type) > 0;
	const size_t width = variable ? sizeof(char *) : h5.H5Tget_size(type);
	uint64_t bytes;
	if (__builtin_mul_overflow(n, (uint64_t)width, &bytes) || bytes > ((uint64_t)1 << 40) ||
	    n > UINT32_MAX / 2)
		fail(t, "%.200s: more texts than fit into memory", t->path);
	if (!variable && bytes > 16 * t->size + 4096)
		fail(t, "%.200s: more text than the file can hold", t->path);
	char *raw = some_bytes(t, bytes);
	memset(raw, 0, bytes + 1);
	hid mem = h5.H5Tcopy(*h5.H5T_C_S1_g);
	h5.H5Tset_size(mem, variable ? (size_t)-1 : width);
	h5.H5Tset_strpad(mem, variable ? 0 : 1);
	h5.H5Tset_cset(mem, h5.H5Tget_cset(type));
	begin_step(n);
	if (n && (attribute ? h5.H5Aread(from, mem, raw) : h5.H5Dread(from, mem, 0, 0, 0, raw)) < 0)
		fail_h5(t, "the strings cannot be read");
	put_tag(t, rank ? HDF5_LIST : HDF5_STRING);
	if (rank) put_number(t, n);
	for (uint64_t i = 0; i < n; i++) {
		const char *text = raw + i * width;
		if (variable) memcpy(&text, raw + i * width, sizeof text);
		put_string(t, text ? text : "", variable ? (text ? strlen(text) : 0) : width);
	}
	if (variable) h5.H5Dvlen_reclaim(mem, space, 0, raw);
	h5.H5Tclose(mem);
	free(raw);
}

/* ---- objects ------------------------------------------------------------- */

static void tell_dataset(Teller *t, hid set) {
	hid space = h5.H5Dget_space(set), type = h5.H5Dget_type(set),
		list = h5.H5Dget_create_plist(set);
	hsize dims[AXES_MOST] = {0};
	int64_t shape[AXES_MOST];
	const int rank = space >= 0 ? h5.H5Sget_simple_extent_ndims(space) : -1;
	if (type < 0 || list < 0 || rank < 0 || rank > AXES_MOST ||
	    (rank && h5.H5Sget_simple_extent_dims(space, dims, NULL) < 0))
		fail_h5(t, "this dataset cannot be opened");
	if (h5.H5Pget_external_count(list) > 0 || h5.H5Pget_layout(list) == H5D_VIRTUAL)
		fail(t, "%.200s: the elements lie in another file", t->path);
	for (int i = 0; i < rank; i++) {
		if (dims[i] > INT64_MAX) fail(t, "%.200s: an axis beyond any memory", t->path);
		shape[i] = (int64_t)dims[i];
	}
	MemoryType p;
	const int class = h5.H5Tget_class(type);
	if (h5.H5Sget_simple_extent_type(space) == H5S_NULL) put_tag(t, HDF5_NONE);
	else if (class == H5T_STRING) tell_strings(t, set, false, space, type, rank, shape);
	else if (rank > MAX_RANK) fail(t, "%.200s: %d axes, and arrays have at most 8", t->path, rank);
	else if (plan_type(type, &p)) {
		tell_array(t, set, space, &p, rank, shape);
		if (p.own) h5.H5Tclose(p.mem);
	} else if (class == H5T_COMPOUND) tell_compound(t, set, space, type, rank, shape);
	else fail(t, "%.200s: elements of a type that is not read (class %d)", t->path, class);
	h5.H5Pclose(list);
	h5.H5Tclose(type);
	h5.H5Sclose(space);
}

/* Tells the attribute atled_kind as the field .kind. */
static void tell_kind(Teller *t, hid group) {
	if (h5.H5Aexists(group, "atled_kind") <= 0) return;
	hid a = h5.H5Aopen(group, "atled_kind", 0), type = a >= 0 ? h5.H5Aget_type(a) : -1,
		space = a >= 0 ? h5.H5Aget_space(a) : -1;
	if (type < 0 || space < 0 || h5.H5Tget_class(type) != H5T_STRING ||
	    h5.H5Sget_simple_extent_ndims(space) != 0)
		fail_h5(t, "the attribute atled_kind is no string");
	put_tag(t, HDF5_FIELD);
	put_text(t, ".kind", 5);
	tell_strings(t, a, true, space, type, 0, NULL);
	h5.H5Tclose(type);
	h5.H5Sclose(space);
	h5.H5Aclose(a);
}

static void tell_group(Teller *t, hid group);

static void tell_member(Teller *t, hid group, const char *name, size_t n) {
	const size_t before = strlen(t->path);
	if (before + n + 2 > sizeof t->path)
		fail(t, "%.200s: the names of groups are too long", t->path);
	snprintf(t->path + before, sizeof t->path - before, "%s%s",
	         before && t->path[before - 1] == '/' ? "" : "/", name);
	if (++t->objects > OBJECTS_MOST) fail(t, "more than %d groups and datasets", OBJECTS_MOST);
	begin_step(0);
	uint64_t address = 0;
	hid object = h5.H5Oopen(group, name, t->lapl);
	if (object < 0 || h5.H5Rcreate(&address, group, name, 0, -1) < 0)
		fail_h5(t, "this link leads nowhere, or to another file");
	for (int i = 0; i < t->depth; i++)
		if (t->around[i] == address)
			fail(t, "%.200s: this link leads back to a group around it", t->path);
	const int what = h5.H5Iget_type(object);
	if (what == H5I_DATASET || what == H5I_GROUP) { /* a named type has no value */
		char plain[HDF5_NAME];
		put_tag(t, HDF5_FIELD);
		put_text(t, plain, name_unescape(name, n, plain, sizeof plain));
	}
	if (what == H5I_DATASET) tell_dataset(t, object);
	else if (what == H5I_GROUP) {
		if (t->depth >= DEEPEST) fail(t, "%.200s: groups nested more than 200 deep", t->path);
		t->around[t->depth++] = address;
		tell_group(t, object);
		t->depth--;
	}
	h5.H5Oclose(object);
	t->path[before] = 0;
}

static void tell_group(Teller *t, hid group) {
	H5G_info_t info = {0};
	unsigned order = 0;
	hid list = h5.H5Gget_create_plist(group);
	if (list >= 0) {
		h5.H5Pget_link_creation_order(list, &order);
		h5.H5Pclose(list);
	}
	if (h5.H5Gget_info(group, &info) < 0) fail_h5(t, "this group cannot be opened");
	put_tag(t, HDF5_RECORD);
	tell_kind(t, group);
	for (hsize i = 0; i < info.nlinks; i++) {
		char name[HDF5_NAME];
		size_t wrong;
		const ssize_t n =
			h5.H5Lget_name_by_idx(group, ".", order & 1 ? 1 : 0, 0, i, name, sizeof name, 0);
		if (n < 0 || (size_t)n >= sizeof name)
			fail_h5(t, "a link without a name, or with one that is too long");
		if (!utf8_valid(name, (size_t)n, &wrong))
			fail(t, "%.200s: a name that is not UTF-8", t->path);
		tell_member(t, group, name, (size_t)n);
	}
	put_tag(t, HDF5_END);
}

static herr no_other_files(const char *parent, const char *group, const char *file,
                           const char *object, unsigned *flags, hid list, void *ud) {
	(void)parent, (void)group, (void)file, (void)object, (void)flags, (void)list, (void)ud;
	return -1;
}

void hdf5_tell(int to, int fd, const void *mem, uint64_t size) {
	static Teller t; /* too large for the stack of a small thread */
	t = (Teller){.to = to, .size = size, .path = "/", .depth = 1};
	char path[40];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	begin_step(0);
	hid access = 0;
	if (fd < 0) { /* the library reads no pipe */
		access = h5.H5Pcreate(*h5.H5P_CLS_FILE_ACCESS_ID_g);
		h5.H5Pset_fapl_core(access, 1 << 16, false);
		h5.H5Pset_file_image(access, (void *)(uintptr_t)mem, size);
	}
	hid file = h5.H5Fopen(path, 0, access);
	if (file < 0) fail_h5(&t, "this is no HDF5 file, or a damaged one");
	t.lapl = h5.H5Pcreate(*h5.H5P_CLS_LINK_ACCESS_ID_g);
	if (t.lapl >= 0) h5.H5Pset_elink_cb(t.lapl, no_other_files, NULL);
	hid root = h5.H5Oopen(file, "/", 0);
	if (t.lapl < 0 || root < 0 || h5.H5Rcreate(&t.around[0], file, "/", 0, -1) < 0)
		fail_h5(&t, "the file has no first group");
	tell_group(&t, root);
	flush(&t);
	_exit(0);
}
