/* read_all.c - the bytes of a file or stream, to its end.
 *
 * Method: reads into room that doubles.
 */
#include "lang/base/read_all.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_MS = 20 /* between two polls */ };

void bytes_free(Ctx *c, AllBytes *b) {
	heap_free(c, b->at, b->cap);
	*b = (AllBytes){.n = 0};
}

static Status fail(Ctx *c, AllBytes *b, Status st) {
	const int why = errno;
	bytes_free(c, b);
	errno = why;
	return st;
}

/* Whether a named pipe still waits for its first writer, or one has come since
 * the read. A read gives no bytes then, as at the end; but there has been no
 * hang-up. */
static bool awaits_writer(int fd) {
	struct stat about;
	struct pollfd state = {.fd = fd, .events = POLLIN};
	if (fstat(fd, &about) || !S_ISFIFO(about.st_mode)) return false;
	return poll(&state, 1, WAIT_MS) == 0 || (state.revents & POLLIN);
}

Status read_all(Ctx *c, int fd, size_t first, AllBytes *out) {
	*out = (AllBytes){.n = 0};
	for (;;) {
		const Status st = ctx_poll(c, 64);
		if (st != ST_OK) return fail(c, out, st);
		if (out->n == out->cap) {
			const size_t more = out->cap ? out->cap * 2 : first;
			uint8_t *larger = heap_resize(c, out->at, out->cap, more);
			if (!larger) {
				fail(c, out, ST_NOMEM);
				out->cap = more;
				return ST_NOMEM;
			}
			out->at = larger;
			out->cap = more;
		}
		const ssize_t got = read(fd, out->at + out->n, out->cap - out->n);
		if (got < 0 && errno == EAGAIN)
			poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, WAIT_MS);
		else if (got < 0 && errno != EINTR) return fail(c, out, ST_ERROR);
		else if (!got && (out->n || !awaits_writer(fd))) return ST_OK;
		else if (got > 0) out->n += (size_t)got;
	}
}
