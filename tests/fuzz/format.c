/* format.c - fuzz target: any bytes as a program to format.
 *
 * Contract: the result is a syntax error or an equivalent program. The
 * formatter checks equivalence itself; here its report that the check failed is
 * a fault.
 */
#include "tests/fuzz/mutate_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	Ctx *c = ctx_new(NULL);
	if (!c) return 0;
	Text out;
	text_init(&out, c);
	format_program(c, "fuzz.dsl", (const char *)data, size, &out);
	text_free(&out);
	for (uint32_t i = 0; i < diag_total(c); i++)
		if (diag_at(c, i)->code == E_INTERNAL) abort();
	ctx_free(c);
	return 0;
}
