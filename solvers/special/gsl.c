/* gsl.c - loads GSL at run time.
 *
 * Needs: gsl.h.
 *
 * Contract: the table of functions belongs to the process and is filled under
 * pthread_once. The library itself brings its BLAS, which special functions do
 * not call.
 */
#include "solvers/special/gsl.h"
#include "lang/base/dynlib.h"
#include <pthread.h>
#include <sonames.h>
#include <stdbool.h>
#include <stddef.h>

Gsl gsl;
const char *const gsl_missing = "GSL (" SONAME_GSL ") cannot be loaded; `make deps` installs it";

static bool ready;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
#define NAME(f) DYN_NAME(gsl, f),
	static const DynName names[] = {GSL_CALLED(NAME) NAME(gsl_set_error_handler_off)};
#undef NAME
	void *library = dynlib_open(SONAME_GSL);
	if (!dynlib_find(&library, 1, names, sizeof names / sizeof *names)) return;
	gsl.gsl_set_error_handler_off();
	ready = true;
}

int gsl_open(void) {
	pthread_once(&once, open_library);
	return ready;
}
