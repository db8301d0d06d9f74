/* hdf5_library.c - libhdf5, opened at run time. */
#include "data/hdf5_library.h"
#include "lang/base/dynlib.h"

#include <sonames.h>
#include <stdio.h>
#include <string.h>

Hdf5Library h5;
pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;

const char *hdf5_open_library(void) {
	if (library) return NULL;
	static const DynName names[] = {
#define F(name) DYN_NAME(h5, name),
#define V(name) DYN_NAME(h5, name),
#include "data/hdf5_library.def"
#undef F
#undef V
	};
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
		snprintf(ud, HDF5_REASON, "%.*s", (int)strcspn(system, "'"), system);
	} else {
		snprintf(ud, HDF5_REASON, "%s", e->desc ? e->desc : "");
	}
	return 1;
}

void hdf5_reason(char why[HDF5_REASON]) {
	*why = 0;
	h5.H5Ewalk2(0, 0, innermost, why);
	h5.H5Eclear2(0);
}

hid hdf5_complex_type(hid like, bool single) {
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
