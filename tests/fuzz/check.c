/* check.c - fuzz target: any bytes as a program to check.
 *
 * Contract: the input gives messages, or none, within limits of time and
 * memory. It causes no crash, hang or internal fault. Programs are not run.
 *
 * Making a context and reading the library takes much longer than checking a
 * short program. All inputs therefore share one context that has read the whole
 * library. rewind.h restores it before each input, so that definitions of one
 * input do not affect the next.
 */
#include "atled.h"
#include "tests/fuzz/mutate_text.h"
#include "tests/fuzz/rewind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Names {
	char text[1 << 16]; /* each with its zero */
	size_t n;
} Names;

static void note_name(void *ud, const char *name, const atled_value *v) {
	Names *names = ud;
	size_t n = strlen(name) + 1;
	(void)v;
	if (n > sizeof names->text - names->n) abort();
	memcpy(names->text + names->n, name, n);
	names->n += n;
}

static void drop(void *ud, const char *text, size_t n) {
	(void)ud;
	(void)text;
	(void)n;
}

static atled_context *warm_context(void) {
	static Names names;
	rewind_start();
	atled_engine *engine = atled_engine_new(&(atled_engine_config){
		.size = sizeof(atled_engine_config), .resize = rewind_resize, .threads = 1});
	atled_context *ctx = engine ? atled_context_new(engine) : NULL;
	if (!ctx || atled_machine(ctx, ATLED_MACHINE_NEVER) != ATLED_OK) abort();
	atled_library_names(ctx, note_name, &names);
	/* loads the module of the name */
	for (size_t i = 0; i < names.n; i += strlen(names.text + i) + 1)
		atled_help(ctx, names.text + i, 0, drop, NULL);
	atled_limits(
		ctx, &(atled_limit){.size = sizeof(atled_limit), .memory = (size_t)1 << 29, .seconds = 5});
	rewind_keep();
	return ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static atled_context *ctx;
	if (!ctx) ctx = warm_context();
	atled_check(ctx, (const char *)data, size, "fuzz.dsl");
	atled_error e = {.size = sizeof e};
	for (size_t i = 0; i < atled_error_count(ctx); i++)
		if (atled_error_at(ctx, i, &e) == ATLED_OK && !strcmp(e.code, "E0999")) abort();
	rewind_back();
	return 0;
}
