/* dynlib.c - dynlib.h on top of dlopen and dlsym. */
#include "lang/base/dynlib.h"
#include <dlfcn.h>
#include <string.h>

void *dynlib_open(const char *file) { return dlopen(file, RTLD_LAZY | RTLD_LOCAL); }

void *dynlib_opened(const char *file) { return dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD); }

bool dynlib_find(void *const *libraries, size_t nlibraries, const DynName *names, size_t n) {
	bool all = true;
	for (size_t i = 0; i < n; i++) {
		void *at = NULL;
		for (size_t k = 0; k < nlibraries && !at; k++)
			at = libraries[k] ? dlsym(libraries[k], names[i].name) : NULL;
		/* a function pointer, whose type only the caller knows */
		memcpy(names[i].to, &at, sizeof at);
		all = all && at;
	}
	return all;
}
