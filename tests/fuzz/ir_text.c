/* ir_text.c - fuzz target: any bytes as the text form of functions.
 *
 * Contract: the result is a diagnostic or a function that verifies.
 */
#include "lang/ir/ir.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct job {
	const uint8_t *data;
	size_t size;
};

static void read_ir(Ctx *c, void *arg) {
	struct job *j = arg;
	Fn *f = fn_read(c, source_add(c, "fuzz.ir", (const char *)j->data, j->size), NULL);
	if (!f) return;
	if (!fn_verify(f, "reading")) abort();
	fn_unref(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	Ctx *c = ctx_new(NULL);
	if (!c) return 0;
	struct job j = {data, size};
	ctx_protect(c, read_ir, &j);
	ctx_free(c);
	return 0;
}
