/* parse.c - fuzz target: any bytes as a program to parse.
 *
 * Contract: the input causes no crash, hang or internal fault. Programs are not
 * run.
 */
#include "lang/base/arena.h"
#include "tests/fuzz/mutate_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct job {
	const uint8_t *data;
	size_t size;
};

static void parse(Ctx *c, void *arg) {
	struct job *j = arg;
	SourceId source = source_add(c, "fuzz.dsl", (const char *)j->data, j->size);
	bool ok;
	parse_program(c, ctx_arena(c), source, &ok);
	parse_is_incomplete((const char *)j->data, j->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	Ctx *c = ctx_new(NULL);
	if (!c) return 0;
	struct job j = {data, size};
	ctx_protect(c, parse, &j);
	for (uint32_t i = 0; i < diag_total(c); i++)
		if (diag_at(c, i)->code == E_INTERNAL) abort();
	ctx_free(c);
	return 0;
}
