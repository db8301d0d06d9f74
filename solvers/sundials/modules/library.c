/* library.c - loads SUNDIALS at run time.
 *
 * Method: each function is looked up in all libraries of the package, because
 * their division differs by version. A package with MPI loads UCX, whose
 * initialiser would install signal handlers and start a thread. Environment
 * variables prevent both during loading and are then restored. setenv is not
 * safe while another thread calls getenv; a host with such threads sets the
 * variables itself.
 */
#include "solvers/sundials/modules/library.h"
#include "lang/base/dynlib.h"
#include <pthread.h>
#include <sonames.h>
#include <stdbool.h>
#include <stdlib.h>

Sundials sundials;
static const char *why = "SUNDIALS cannot be loaded; `make deps` installs it";
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const files[] = {SONAMES_SUNDIALS};
enum { NFILES = sizeof files / sizeof *files };

/* UCX settings, applied where the user has set none. */
static const char *const quiet[][2] = {
	{"UCX_HANDLE_ERRORS", "none"}, {"UCX_VFS_ENABLE", "n"}, {"UCX_DEBUG_SIGNO", "0"}};
enum { NQUIET = sizeof quiet / sizeof *quiet };

static bool open_all(void *libraries[NFILES]) {
	bool set[NQUIET] = {false}, all = true;
	for (size_t i = 0; SUNDIALS_WITH_MPI && i < NQUIET; i++) {
		set[i] = !getenv(quiet[i][0]);
		if (set[i]) setenv(quiet[i][0], quiet[i][1], 1);
	}
	for (size_t k = 0; k < NFILES; k++) {
		libraries[k] = dynlib_open(files[k]);
		all = all && libraries[k];
	}
	for (size_t i = 0; i < NQUIET; i++)
		if (set[i]) unsetenv(quiet[i][0]);
	return all;
}

/* SUN_COMM_NULL; in Open MPI it is the address of a variable. */
static bool find_no_comm(void *const libraries[NFILES]) {
#if SUNDIALS_WITH_MPI && defined(OPEN_MPI)
	return dynlib_find(libraries, NFILES, &(DynName){"ompi_mpi_comm_null", &sundials.no_comm}, 1);
#else
	(void)libraries;
	sundials.no_comm = SUN_COMM_NULL;
	return true;
#endif
}

static void open_library(void) {
	void *libraries[NFILES];
	if (!open_all(libraries)) return;
#define NAME(f) DYN_NAME(sundials, f),
	static const DynName names[] = {SUNDIALS_CALLED(NAME)};
#undef NAME
	const bool all = find_no_comm(libraries) &&
	                 dynlib_find(libraries, NFILES, names, sizeof names / sizeof *names);
	why =
		all ? NULL : "the SUNDIALS that is installed here is not the one that Atled was built with";
}

const char *sundials_open(void) {
	pthread_once(&once, open_library);
	return why;
}
