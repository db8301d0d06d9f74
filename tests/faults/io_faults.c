/* io_faults.c - implementation of io_faults.h.
 *
 * Method: definitions in the program hide those of the C library. They ask the
 * kernel by syscall().
 */
#define _GNU_SOURCE /* for syscall */
#include "tests/faults/io_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

typedef enum Call { CALL_OPEN, CALL_READ, CALL_WRITE, CALL_SYNC, CALL_CLOSE, CALL_RENAME } Call;

/* EMFILE: the process has too many open files; ENOSPC: the disk is full. */
static const int error_of[] = {[CALL_OPEN] = EMFILE, [CALL_READ] = EIO,  [CALL_WRITE] = ENOSPC,
                               [CALL_SYNC] = EIO,    [CALL_CLOSE] = EIO, [CALL_RENAME] = EIO};

static atomic_ullong calls, fail_at;  /* fail_at counts as calls does; 0: never */
static atomic_int fault, broken = -1; /* broken: the kind of call that fails for good */

void io_fail_at(uint64_t n, IoFault how) {
	broken = -1;
	fault = (int)how;
	fail_at = n ? calls + n : 0;
}

uint64_t io_calls(void) { return calls; }

/* Counts a call and returns whether its fault is due. */
static bool is_due(Call call) {
	const unsigned long long number = ++calls;
	if (broken == (int)call) return true;
	if (!fail_at || number != fail_at) return false;
	if (fault == IO_FAULT_LASTING) broken = (int)call;
	return true;
}

static bool fails(Call call) {
	if (!is_due(call)) return false;
	errno = error_of[call];
	return true;
}

/* Shortens *n, or returns whether the transfer fails. */
static bool transfer_fails(Call call, size_t *n) {
	if (!is_due(call)) return false;
	if (fault == IO_FAULT_SHORT && *n > 1) {
		*n /= 2;
		return false;
	}
	errno = error_of[call];
	return true;
}

int open(const char *path, int flags, ...) {
	va_list args;
	va_start(args, flags);
	const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (fails(CALL_OPEN)) return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void *at, size_t n) {
	return transfer_fails(CALL_READ, &n) ? -1 : syscall(SYS_read, fd, at, n);
}

ssize_t pread(int fd, void *at, size_t n, off_t from) {
	return transfer_fails(CALL_READ, &n) ? -1 : syscall(SYS_pread64, fd, at, n, from);
}

ssize_t write(int fd, const void *at, size_t n) {
	return transfer_fails(CALL_WRITE, &n) ? -1 : syscall(SYS_write, fd, at, n);
}

ssize_t pwrite(int fd, const void *at, size_t n, off_t to) {
	return transfer_fails(CALL_WRITE, &n) ? -1 : syscall(SYS_pwrite64, fd, at, n, to);
}

int ftruncate(int fd, off_t n) {
	return fails(CALL_WRITE) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int fsync(int fd) { return fails(CALL_SYNC) ? -1 : (int)syscall(SYS_fsync, fd); }

/* The file is closed even then, as Linux does it. */
int close(int fd) {
	const bool failing = fails(CALL_CLOSE);
	const int result = (int)syscall(SYS_close, fd);
	if (failing) errno = error_of[CALL_CLOSE];
	return failing ? -1 : result;
}

int rename(const char *from, const char *to) {
	return fails(CALL_RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
