/* replace_file.c - implementation of replace_file.h.
 *
 * Needs: POSIX files.
 */
#define _GNU_SOURCE /* for O_CLOEXEC, realpath */
#include "repl/base/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 100, SUFFIX = 40, MOST_AT_ONCE = 1 << 30 };

const char *replacement_error(int number) {
	return number == REPLACE_NOT_REGULAR ? "not a regular file" : strerror(number);
}

/* Follows symbolic links. Refuses a target that is no regular file, since a
 * rename would destroy it. */
static int resolve(FileReplacement *f, const char *path, struct stat *there) {
	const size_t n = strlen(path);
	if (!n) return ENOENT;
	if (n >= PATH_MAX - SUFFIX) return ENAMETOOLONG;
	memcpy(f->target, path, n + 1);
	f->was_there = 0;
	if (lstat(path, there)) return errno == ENOENT ? 0 : errno;
	if (S_ISLNK(there->st_mode)) {
		if (!realpath(path, f->target) || lstat(f->target, there)) return errno;
		if (strlen(f->target) >= PATH_MAX - SUFFIX) return ENAMETOOLONG;
	}
	f->was_there = 1;
	if (S_ISDIR(there->st_mode)) return EISDIR;
	return S_ISREG(there->st_mode) ? 0 : REPLACE_NOT_REGULAR;
}

int replacement_open(FileReplacement *f, const char *path) {
	struct stat there;
	f->fd = -1;
	const int failed = resolve(f, path, &there);
	if (failed) return failed;
	if (f->was_there && access(f->target, W_OK)) return errno;
	const mode_t mode = f->was_there ? there.st_mode & 07777 : 0666;
	for (int attempt = 0; attempt < ATTEMPTS && f->fd < 0; attempt++) {
		snprintf(f->beside, sizeof f->beside, "%s.%ld-%d.tmp", f->target, (long)getpid(), attempt);
		f->fd = open(f->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (f->fd < 0 && errno != EEXIST && errno != EINTR) break;
	}
	if (f->fd < 0) return errno;
	/* open() subtracts the umask; a replaced file keeps its mode. */
	return f->was_there && fchmod(f->fd, mode) ? replacement_close(f, errno) : 0;
}

int replacement_write(FileReplacement *f, const void *bytes, size_t n) {
	const char *at = bytes;
	while (n) {
		const ssize_t done = write(f->fd, at, n > MOST_AT_ONCE ? MOST_AT_ONCE : n);
		if (done < 0 && errno == EINTR) continue;
		if (done <= 0) return done ? errno : EIO;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

int replacement_close(FileReplacement *f, int failed) {
	if (!failed && f->was_there && fsync(f->fd) && errno != EINVAL && errno != ENOSYS)
		failed = errno;
	if (close(f->fd) && !failed && errno != EINTR) failed = errno;
	f->fd = -1;
	if (!failed && rename(f->beside, f->target)) failed = errno;
	if (failed) unlink(f->beside);
	return failed;
}

int replace_file(const char *path, const void *bytes, size_t n) {
	FileReplacement f;
	const int failed = replacement_open(&f, path);
	return failed ? failed : replacement_close(&f, replacement_write(&f, bytes, n));
}
