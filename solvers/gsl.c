/* gsl.c - GSL, opened at run time.
 *
 * Needs: gsl.h. The handle is a thing of the process and filled under pthread_once. Its BLAS, which special functions do not call, comes along as
 * the library asks for it.
 */
#include "solvers/gsl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sonames.h>
#include <stdbool.h>
#include <stddef.h>

Gsl gsl;
const char *const gsl_missing = "GSL (" SONAME_GSL ") cannot be loaded; `make deps` installs it";

static bool ready;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
	void *library = dlopen(SONAME_GSL, RTLD_LAZY | RTLD_LOCAL);
	if (!library) return;
	bool all = true;
#define FIND(f) all = (*(void **)&gsl.f = dlsym(library, #f)) && all;
	GSL_CALLED(FIND)
	FIND(gsl_set_error_handler_off)
#undef FIND
	if (!all) return;
	gsl.gsl_set_error_handler_off();
	ready = true;
}

int gsl_open(void) {
	pthread_once(&once, open_library);
	return ready;
}
