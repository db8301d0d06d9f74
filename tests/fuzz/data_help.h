/* data_help.h - common part of the fuzz targets for file readers.
 *
 * Contract: any bytes, read as a file of some format, give a value or a
 * message.
 */
#include "data/io.h"

#include <stdlib.h>

static int read_bytes(const char *format, const uint8_t *data, size_t size) {
	static Ctx *c;
	static int runs;
	if (c && ++runs % 500 == 0) { /* interned names live as long as the context */
		ctx_free(c);
		c = NULL;
	}
	if (!c) {
		c = ctx_new(NULL);
		if (!c) abort();
		heap_set_limit(c, (size_t)256 << 20);
	}
	const size_t before = heap_used(c);
	Value v = {.kind = V_UNSET};
	diag_clear(c);
	ctx_set_time_limit(c, 20);
	Status st = data_read_memory(c, format, "some.file", data, size, &v);
	if (st == ST_OK && v.kind == V_UNSET) abort();
	if (st != ST_OK && v.kind != V_UNSET) abort();
	if (st != ST_OK && !diag_total(c)) abort(); /* an error must have a message */
	value_unref(v);
	diag_clear(c);
	if (heap_used(c) > before + (1 << 20)) abort(); /* a leak */
	return 0;
}
