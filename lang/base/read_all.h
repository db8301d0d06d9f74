/* read_all.h - the bytes of a file or stream, to its end.
 *
 * Needs: context.h.
 *
 * Contract:
 * - The descriptor may be a file, pipe or device, and non-blocking: while there
 *   are no data, or a named pipe has no writer yet, the reader waits and polls
 *   the context.
 * - It reads what there is, whatever size the file system says: files of /proc
 *   say 0.
 */
#ifndef ATLED_LANG_BASE_READ_ALL_H
#define ATLED_LANG_BASE_READ_ALL_H

#include "lang/base/context.h"

typedef struct AllBytes {
	uint8_t *at; /* heap */
	size_t n, cap;
} AllBytes;

/* Reads fd to its end, with room for `first` bytes at first. On failure
 * out->at is NULL, and no diagnostic is recorded except by the poll. Returns
 * - ST_ERROR with errno when a read fails;
 * - ST_NOMEM when there is no room for out->cap bytes;
 * - the status of the poll that stopped it. */
Status read_all(Ctx *c, int fd, size_t first, AllBytes *out);
void bytes_free(Ctx *c, AllBytes *b);

#endif
