/* replace_file.h - files that appear whole or not at all.
 *
 * Method: the bytes go to a new file in the target's folder, which is renamed
 * over the target when it is complete.
 * Contract:
 * - After a failure the target is what it was, and the new file is removed.
 * - A symbolic link stays; the file that it leads to is replaced.
 * - A file that is replaced keeps its permissions, and reaches the disk before
 *   the old one is gone.
 * - Results are 0, an errno, or REPLACE_NOT_REGULAR where the path leads to a
 *   device or a pipe.
 */
#ifndef ATLED_REPL_BASE_REPLACE_FILE_H
#define ATLED_REPL_BASE_REPLACE_FILE_H

#include <limits.h>
#include <stddef.h>

#define REPLACE_NOT_REGULAR (-1)

typedef struct FileReplacement {
	int fd;        /* of the new file; -1: none is open */
	int was_there; /* the target existed */
	char target[PATH_MAX], beside[PATH_MAX + 40];
} FileReplacement;

/* After a failure there is nothing to close. */
int replacement_open(FileReplacement *f, const char *path);
int replacement_write(FileReplacement *f, const void *bytes, size_t n);
/* Renames, unless `failed` says that the contents are not complete. It returns
 * `failed`, or what went wrong here. */
int replacement_close(FileReplacement *f, int failed);

/* All three at once. */
int replace_file(const char *path, const void *bytes, size_t n);

/* What went wrong, in words. */
const char *replacement_error(int number);

#endif
