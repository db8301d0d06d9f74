/* dynlib.h - shared libraries opened on first use, and their functions by name.
 *
 * Needs: libc.
 *
 * Contract:
 * - A library stays open until the process ends.
 * - Callers ensure that only one thread fills a table at a time (pthread_once).
 */
#ifndef ATLED_LANG_BASE_DYNLIB_H
#define ATLED_LANG_BASE_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

/* A function or variable, and the pointer in the caller's table that receives
 * its address. */
typedef struct DynName {
	const char *name;
	void *to;
} DynName;
/* The row of a function whose pointer in the table has the function's name. */
#define DYN_NAME(table, function)                                                                  \
	{ #function, &(table).function }

/* Opens the library with this file name; NULL when it is not installed. Its
 * symbols are not visible to other libraries. */
void *dynlib_open(const char *file);
/* The library when it is open already, else NULL. */
void *dynlib_opened(const char *file);
/* Sets n pointers, each from the first library that defines the name; a library
 * may be NULL. Returns false when a name is not found. */
bool dynlib_find(void *const *libraries, size_t nlibraries, const DynName *names, size_t n);

#endif
