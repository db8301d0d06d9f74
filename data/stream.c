/* stream.c - byte files: positioned reads, and atomic replacement on writing.
 *
 * Needs: data/internal.h.
 *
 * Contract:
 * - A read past the end is an error that names the byte.
 * - Output is flushed to the disk before it replaces an existing file, and
 *   removed after any failure.
 * - Devices and pipes are read and written directly. Waiting for the other end
 *   of a pipe answers interrupts and limits. A pipe that nobody reads any more
 *   is an error, not a signal.
 */
#include "data/internal.h"
#include "lang/base/read_all.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIECE = 1 << 20,
	SMALL = 4096,
	WAIT_MS = 20 /* between two polls */
};

static Status bad_at(Ctx *c, const char *path, const char *place, const char *format,
                     va_list args) {
	char what[600];
	vsnprintf(what, sizeof what, format, args);
	diag_error(c, E_FILE, NO_SPAN, "%s%s: %s", path, place, what);
	return ST_ERROR;
}

Status input_bad(const Input *in, const char *format, ...) {
	va_list args;
	va_start(args, format);
	Status st = bad_at(in->c, in->path, "", format, args);
	va_end(args);
	return st;
}

Status input_bad_byte(const Input *in, uint64_t byte, const char *format, ...) {
	char place[40];
	snprintf(place, sizeof place, ": byte %llu", (unsigned long long)byte);
	va_list args;
	va_start(args, format);
	Status st = bad_at(in->c, in->path, place, format, args);
	va_end(args);
	return st;
}

Status input_bad_line(const Input *in, uint64_t line, const char *format, ...) {
	char place[40];
	snprintf(place, sizeof place, ":%llu", (unsigned long long)line);
	va_list args;
	va_start(args, format);
	Status st = bad_at(in->c, in->path, place, format, args);
	va_end(args);
	return st;
}

Status input_bad_place(const Input *in, uint64_t line, uint64_t column, const char *format, ...) {
	char place[60];
	snprintf(place, sizeof place, ":%llu:%llu", (unsigned long long)line,
	         (unsigned long long)column);
	va_list args;
	va_start(args, format);
	Status st = bad_at(in->c, in->path, place, format, args);
	va_end(args);
	return st;
}

Status data_no_memory(Ctx *c, const char *path, uint64_t bytes) {
	diag_error(c, E_MEMORY, NO_SPAN,
	           "%s: %llu bytes of memory are wanted, and there are not so many", path,
	           (unsigned long long)bytes);
	return ST_NOMEM;
}

/* Resolves a leading ~/ to the home directory. */
static const char *resolve(Ctx *c, const char *path, char **made, size_t *bytes) {
	const char *home = getenv("HOME");
	*made = NULL;
	*bytes = 0;
	if (strncmp(path, "~/", 2) || !home) return path;
	*bytes = strlen(home) + strlen(path);
	*made = heap_alloc(c, *bytes);
	if (!*made) return path;
	snprintf(*made, *bytes, "%s%s", home, path + 1);
	return *made;
}

/* ---- reading ------------------------------------------------------------- */

static Status read_stream(Input *in, size_t first) {
	AllBytes b;
	const Status st = read_all(in->c, in->fd, first, &b);
	if (st == ST_ERROR) return input_bad(in, "%s", strerror(errno));
	if (st == ST_NOMEM) return data_no_memory(in->c, in->path, b.cap);
	if (st != ST_OK) return st;
	close(in->fd);
	in->fd = -1;
	in->mem = b.at;
	in->owned = b.cap;
	in->size = b.n;
	return ST_OK;
}

Status input_open(Input *in, Ctx *c, const char *path) {
	*in = (Input){.c = c, .path = path, .fd = -1};
	char *made;
	size_t bytes;
	const char *real = resolve(c, path, &made, &bytes);
	/* do not block on a pipe without a writer */
	in->fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int why = errno;
	heap_free(c, made, bytes);
	struct stat about;
	if (in->fd < 0) {
		char here[400];
		if (why == ENOENT && path[0] != '/' && path[0] != '~' && getcwd(here, sizeof here))
			return input_bad(in, "there is no such file in %s", here);
		return input_bad(in, "%s", strerror(why));
	}
	Status st = ST_OK;
	if (fstat(in->fd, &about)) st = input_bad(in, "%s", strerror(errno));
	else if (S_ISDIR(about.st_mode)) st = input_bad(in, "this is a folder");
	else if (!S_ISREG(about.st_mode)) st = read_stream(in, PIECE);
	/* files of /proc have size 0, whatever they hold */
	else if (!about.st_size) st = read_stream(in, SMALL);
	else in->size = (uint64_t)about.st_size;
	if (st != ST_OK) input_close(in);
	return st;
}

void input_close(Input *in) {
	if (in->fd >= 0) close(in->fd);
	if (in->owned) heap_free(in->c, (void *)in->mem, in->owned);
	in->fd = -1;
	in->mem = NULL;
	in->owned = 0;
}

Status input_read(Input *in, uint64_t at, void *to, uint64_t n) {
	if (at > in->size || n > in->size - at)
		return input_bad_byte(in, in->size, "the file ends here, and %llu more bytes are wanted",
		                      (unsigned long long)(at + n - in->size));
	if (in->fd < 0) {
		if (n) memcpy(to, in->mem + at, n);
		return ST_OK;
	}
	for (uint64_t done = 0; done < n;) {
		size_t piece = n - done < PIECE ? (size_t)(n - done) : PIECE;
		ssize_t got = pread(in->fd, (char *)to + done, piece, (off_t)(at + done));
		if (got < 0 && errno == EINTR) got = 0;
		else if (got < 0) return input_bad_byte(in, at + done, "%s", strerror(errno));
		else if (!got)
			return input_bad_byte(in, at + done, "the file became shorter while it was read");
		done += (uint64_t)got;
		Status st = ctx_poll(in->c, piece / 64);
		if (st != ST_OK) return st;
	}
	return ST_OK;
}

Status input_text(Input *in, bool utf8, char **text, size_t *n) {
	*text = NULL;
	if (in->size >= SIZE_MAX / 2) return data_no_memory(in->c, in->path, in->size);
	*n = (size_t)in->size;
	char *at = heap_alloc(in->c, *n + 1);
	if (!at) return data_no_memory(in->c, in->path, in->size);
	Status st = input_read(in, 0, at, *n);
	at[*n] = 0;
	size_t bad;
	if (st == ST_OK && utf8) {
		if (*n >= 3 && !memcmp(at, "\xef\xbb\xbf", 3)) {
			memmove(at, at + 3, *n - 2);
			*n -= 3;
		}
		if (!utf8_valid(at, *n, &bad)) {
			uint64_t line = 1;
			for (size_t i = 0; i < bad; i++) line += at[i] == '\n';
			st = input_bad_line(in, line, "byte %llu (0x%02x) is not UTF-8",
			                    (unsigned long long)bad, (unsigned char)at[bad]);
		}
	}
	if (st == ST_OK) *text = at;
	else heap_free(in->c, at, (size_t)in->size + 1);
	return st;
}

void input_text_free(Input *in, char *text) {
	if (text) heap_free(in->c, text, (size_t)in->size + 1);
}

Status input_tensor(const Input *in, Dtype dtype, uint32_t rank, const int64_t *shape,
                    Tensor **out) {
	uint64_t count = 1;
	bool empty = false, huge = false;
	for (uint32_t i = 0; i < rank; i++) {
		if (shape[i] < 0) return input_bad(in, "an axis has the length %lld", (long long)shape[i]);
		if (shape[i] == 0) empty = true;
		else if (__builtin_mul_overflow(count, (uint64_t)shape[i], &count)) huge = true;
	}
	if (empty) count = 0;
	huge = (huge && !empty) || count > (uint64_t)INT64_MAX / 16;
	*out = NULL;
	if (huge)
		return input_bad(in, "an array of this shape has more elements than fit into any memory");
	for (uint32_t i = 0; i < rank; i++) /* the other extents of an empty array must be valid, too */
		if (shape[i] > INT64_MAX / 16)
			return input_bad(in, "an axis has the length %lld", (long long)shape[i]);
	*out = tensor_new(in->c, dtype, rank, shape);
	return *out ? ST_OK : data_no_memory(in->c, in->path, count * dtype_size(dtype));
}

/* ---- writing ------------------------------------------------------------- */

Status output_bad(OutputFile *out, const char *format, ...) {
	if (out->status != ST_OK) return out->status;
	va_list args;
	va_start(args, format);
	out->status = bad_at(out->c, out->path, "", format, args);
	va_end(args);
	return out->status;
}

static Status gave_up(OutputFile *out, Status st) {
	if (out->fd >= 0) close(out->fd);
	if (out->beside && !out->direct) unlink(out->beside);
	if (out->target) free(out->target);
	if (out->beside) heap_free(out->c, out->beside, strlen(out->beside) + 1);
	if (out->buffer) heap_free(out->c, out->buffer, PIECE);
	out->fd = -1;
	out->target = out->beside = NULL;
	out->buffer = NULL;
	return st;
}

/* Opens a pipe or a device. A pipe without a reader is waited for. */
static Status open_direct(OutputFile *out) {
	while (out->status == ST_OK && out->fd < 0) {
		out->fd = open(out->target, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
		if (out->fd >= 0 || errno == EINTR) continue;
		if (errno != ENXIO) return output_bad(out, "%s", strerror(errno));
		(void)poll(NULL, 0, WAIT_MS);
		out->status = ctx_poll(out->c, 0);
	}
	return out->status;
}

Status output_open(OutputFile *out, Ctx *c, const char *path) {
	*out = (OutputFile){.c = c, .path = path, .fd = -1};
	char *made;
	size_t bytes;
	const char *real = resolve(c, path, &made, &bytes);
	struct stat about;
	bool there = !stat(real, &about);
	/* replace the target of a symbolic link, not the link */
	out->target = there && S_ISREG(about.st_mode) ? realpath(real, NULL) : strdup(real);
	heap_free(c, made, bytes);
	out->buffer = heap_alloc(c, PIECE);
	if (!out->target || !out->buffer) return gave_up(out, data_no_memory(c, path, PIECE));
	if (there && S_ISDIR(about.st_mode)) return gave_up(out, output_bad(out, "this is a folder"));
	if (there && !S_ISREG(about.st_mode)) {
		out->direct = true;
		return open_direct(out) == ST_OK ? ST_OK : gave_up(out, out->status);
	}
	out->replaces = there && about.st_size;
	if (there && access(out->target, W_OK))
		return gave_up(out, output_bad(out, "%s", strerror(errno)));
	size_t room = strlen(out->target) + 32;
	char *beside = heap_alloc(c, room);
	if (!beside) return gave_up(out, data_no_memory(c, path, room));
	static _Atomic unsigned number;
	for (int tries = 0; tries < 100 && out->fd < 0; tries++) {
		snprintf(beside, room, "%s.%lx-%x", out->target, (unsigned long)getpid(),
		         (unsigned)number++);
		out->fd = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		               there ? about.st_mode & 0777 : 0666);
		if (out->fd < 0 && errno != EEXIST) break;
	}
	int why = errno;
	if (out->fd >= 0 && (out->beside = heap_alloc(c, strlen(beside) + 1)))
		strcpy(out->beside, beside);
	else if (out->fd >= 0) unlink(beside);
	heap_free(c, beside, room);
	if (out->fd < 0)
		return gave_up(
			out,
			output_bad(out, "%s", why == ENOENT ? "the folder does not exist" : strerror(why)));
	if (!out->beside) return gave_up(out, data_no_memory(c, path, room));
	if (there && fchmod(out->fd, about.st_mode & 07777))
		return gave_up(out, output_bad(out, "%s", strerror(errno)));
	return ST_OK;
}

/* write() without the signal SIGPIPE, which would end a host that does not
 * ignore it. */
static ssize_t write_quietly(int fd, const uint8_t *bytes, size_t n) {
	sigset_t pipe, before, pending;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	const ssize_t put = write(fd, bytes, n);
	const int why = errno;
	if (put < 0 && why == EPIPE && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) < 0 && errno == EINTR) {}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return put;
}

static void write_bytes(OutputFile *out, const uint8_t *bytes, size_t n) {
	while (n && out->status == ST_OK) {
		const size_t piece = n < PIECE ? n : PIECE;
		ssize_t put =
			out->direct ? write_quietly(out->fd, bytes, piece) : write(out->fd, bytes, piece);
		if (put < 0 && errno == EINTR) continue;
		if (put < 0 && out->direct && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			(void)poll(&(struct pollfd){.fd = out->fd, .events = POLLOUT}, 1, WAIT_MS);
			out->status = ctx_poll(out->c, 0);
			continue;
		}
		if (put < 0) {
			output_bad(out, "%s", strerror(errno));
			return;
		}
		bytes += put;
		n -= (size_t)put;
		out->written += (uint64_t)put;
		out->status = ctx_poll(out->c, (uint64_t)put / 64);
	}
}

Status output_flush(OutputFile *out) {
	size_t n = out->held;
	out->held = 0;
	write_bytes(out, out->buffer, n);
	return out->status;
}

void output_add(OutputFile *out, const void *bytes, size_t n) {
	if (out->status != ST_OK || !n) return;
	out->at += n;
	if (n >= PIECE - out->held) {
		output_flush(out);
		if (n >= PIECE) {
			write_bytes(out, bytes, n);
			return;
		}
	}
	memcpy(out->buffer + out->held, bytes, n);
	out->held += n;
}

void output_str(OutputFile *out, const char *text) { output_add(out, text, strlen(text)); }

void output_format(OutputFile *out, const char *format, ...) {
	char text[1000];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	output_add(out, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void output_patch(OutputFile *out, uint64_t at, const void *bytes, size_t n) {
	if (output_flush(out) != ST_OK) return;
	if (out->direct) output_bad(out, "this format cannot be written to a pipe");
	else if (pwrite(out->fd, bytes, n, (off_t)at) != (ssize_t)n)
		output_bad(out, "%s", strerror(errno));
}

Status output_settle(OutputFile *out) {
	if (out->status == ST_OK) output_flush(out);
	if (out->status == ST_OK && !out->direct && out->fd >= 0) {
		const bool lost = out->replaces && fsync(out->fd) && errno != EINVAL && errno != ENOSYS;
		/* some file systems report a full disk only at this point */
		if (lost || close(out->fd)) output_bad(out, "%s", strerror(errno));
		if (!lost) out->fd = -1;
	}
	if (out->buffer && out->fd < 0) {
		heap_free(out->c, out->buffer, PIECE);
		out->buffer = NULL;
	}
	return out->status;
}

void output_withdraw(OutputFile *out) {
	if (out->status == ST_OK && !out->direct && out->replaces) unlink(out->target);
}

Status output_close(OutputFile *out) {
	output_settle(out);
	if (out->status == ST_OK && !out->direct) {
		if (rename(out->beside, out->target)) output_bad(out, "%s", strerror(errno));
		else {
			heap_free(out->c, out->beside, strlen(out->beside) + 1);
			out->beside = NULL;
		}
	}
	return gave_up(out, out->status);
}
