/* replace_file.h - atomic replacement of files.
 *
 * Method: the bytes are written to a new file in the target's folder. When it
 * is complete, it is renamed over the target.
 *
 * Contract:
 * - After a failure the target is unchanged, and the new file is removed.
 * - A symbolic link stays; the file that it points to is replaced.
 * - A replaced file keeps its permissions. The new contents reach the disk
 *   before the old file is gone.
 * - Functions return 0, an errno, or REPLACE_NOT_REGULAR when the path is a
 *   device or a pipe.
 */
#ifndef ATLED_REPL_BASE_REPLACE_FILE_H
#define ATLED_REPL_BASE_REPLACE_FILE_H

#include <limits.h>
#include <stddef.h>

#define REPLACE_NOT_REGULAR (-1)

typedef struct FileReplacement {
	int fd;        /* of the new file; -1: not open */
	int was_there; /* the target existed */
	char target[PATH_MAX], beside[PATH_MAX + 40];
} FileReplacement;

/* After a failure the caller must not close it. */
int replacement_open(FileReplacement *f, const char *path);
int replacement_write(FileReplacement *f, const void *bytes, size_t n);
/* Renames the new file over the target, unless `failed` is an error: then the
 * contents are incomplete. Returns `failed`, or the error of this call. */
int replacement_close(FileReplacement *f, int failed);

/* Opens, writes and closes in one call. */
int replace_file(const char *path, const void *bytes, size_t n);

/* Returns the message of an error number above. */
const char *replacement_error(int number);

#endif
