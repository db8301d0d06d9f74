/* hdf5_library.h - libhdf5, opened at the first use, and what reading and
 * writing share.
 *
 * Needs: data/internal.h, the headers of HDF5 1.10 to 2.
 *
 * Contract: the library is not thread-safe; whoever calls it holds hdf5_lock,
 * or is a process of its own.
 */
#ifndef ATLED_DATA_HDF5_LIBRARY_H
#define ATLED_DATA_HDF5_LIBRARY_H

#include "data/internal.h"

#include <hdf5.h>
#include <pthread.h>

typedef hid_t hid;
typedef hsize_t hsize;
typedef herr_t herr;

/* The functions, and pointers to the variables. */
typedef struct Hdf5Library {
#define F(name) __typeof__(&(name)) name;
#define V(name) hid *name;
#include "data/hdf5_library.def"
#undef F
#undef V
} Hdf5Library;
extern Hdf5Library h5;
extern pthread_mutex_t hdf5_lock;

/* Returns NULL, or why the library is unavailable. */
const char *hdf5_open_library(void);

/* The innermost reason of the last failure, or "". */
enum { HDF5_REASON = 200 };
void hdf5_reason(char why[HDF5_REASON]);

/* The type of a complex number in memory; `like`: a type in the file with the
 * names of its parts, or -1. */
hid hdf5_complex_type(hid like, bool single);

/* Elements that are read or written in one piece, and the longest name. */
enum { HDF5_SLAB = 1 << 20, HDF5_NAME = 1024 };

/* What the process that reads a file tells. Each item is a tag, and then:
 *   R          fields, each F, its name and an item, up to E
 *   N          nothing
 *   S          a string
 *   L          a number of strings, and these
 *   A          dtype, rank and extents, and the elements in pieces: the number
 *              of their bytes, and these
 *   X          a message; nothing follows
 * Numbers are uint64_t. A name, a string or a message begins with its length.
 * A message instead of a piece has the length HDF5_NO_PIECE before it. */
enum {
	HDF5_RECORD = 'R',
	HDF5_FIELD = 'F',
	HDF5_END = 'E',
	HDF5_NONE = 'N',
	HDF5_STRING = 'S',
	HDF5_LIST = 'L',
	HDF5_ARRAY = 'A',
	HDF5_MESSAGE = 'X'
};
#define HDF5_NO_PIECE UINT64_MAX

/* Writes all of a file to `to`, and ends the process. The file is open as `fd`,
 * or its bytes are `mem`. The caller is a new process that has opened the
 * library. */
void hdf5_tell(int to, int fd, const void *mem, uint64_t size) __attribute__((noreturn));

#endif
