/* dynlib.h - libraries that are opened when first needed, and their functions
 * by name.
 *
 * Needs: libc. Contract:
 *   - a library stays open to the end of the process;
 *   - callers see to it that one thread at a time fills a table (pthread_once).
 */
#ifndef ATLED_LANG_BASE_DYNLIB_H
#define ATLED_LANG_BASE_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

/* A function or variable and the pointer in the caller's table that it goes to.
 */
typedef struct DynName {
	const char *name;
	void *to;
} DynName;
/* The row of a function whose pointer in the table has its name. */
#define DYN_NAME(table, function)                                                                  \
	{ #function, &(table).function }

/* The library with this file name; NULL when it is not installed. Its symbols
 * stay out of other libraries' sight. */
void *dynlib_open(const char *file);
/* The library when somebody has opened it before, else NULL. */
void *dynlib_opened(const char *file);
/* Sets n pointers, each from the first of the libraries that has the name; a
 * library may be NULL. False when a name is nowhere. */
bool dynlib_find(void *const *libraries, size_t nlibraries, const DynName *names, size_t n);

#endif
