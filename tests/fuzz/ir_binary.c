/* ir_binary.c - fuzz target: any bytes as the binary form of functions.
 *
 * Contract: the result is a diagnostic that names the byte, or a function that
 * verifies and is written as the same bytes again.
 *
 * The target first corrects size and checksum, because otherwise hardly any
 * input would pass the header.
 */
#include "lang/binary/format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct job {
	unsigned char *bytes;
	size_t size;
};

static void load(Ctx *c, void *arg) {
	struct job *j = arg;
	Value about;
	Fn *f = fn_load(c, "fuzz.air", j->bytes, j->size, &about);
	if (!f) {
		if (!diag_total(c)) abort(); /* an error must have a message */
		return;
	}
	if (!fn_verify(f, "reading")) abort();
	Text once, again;
	text_init(&once, c);
	text_init(&again, c);
	Status st = fn_store(&once, f, about);
	if (st == ST_OK) {
		Value same;
		Fn *g = fn_load(c, "again.air", once.at, once.n, &same);
		if (!g || fn_store(&again, g, same) != ST_OK || once.n != again.n ||
		    memcmp(once.at, again.at, once.n) != 0)
			abort();
		value_unref(same);
		fn_unref(g);
	} else if (st != ST_ERROR) abort();
	text_free(&once);
	text_free(&again);
	value_unref(about);
	fn_unref(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	Ctx *c = ctx_new(NULL);
	size_t whole = size & ~(size_t)7;
	unsigned char *bytes = malloc(whole + 1);
	if (!c || !bytes) abort();
	memcpy(bytes, data, whole);
	if (whole >= HEAD_BYTES) {
		memcpy(bytes, BINARY_MAGIC, 8);
		binary_put(bytes + AT_LENGTH, 8, whole);
		binary_put(bytes + AT_CHECKSUM, 8, binary_checksum(bytes, whole));
	}
	heap_set_limit(c, (size_t)512 << 20);
	ctx_protect(c, load, &(struct job){bytes, whole});
	ctx_free(c);
	free(bytes);
	return 0;
}
