/* warm.h - context of the fuzz targets that read programs.
 *
 * Method: making a context and reading the library takes much longer than a
 * short program. All inputs therefore share one context that has read the whole
 * library. rewind.h restores it after each input, so that definitions of one
 * input do not affect the next.
 *
 * Limits: those of rewind.h.
 */
#ifndef ATLED_TESTS_FUZZ_WARM_H
#define ATLED_TESTS_FUZZ_WARM_H

#include "atled.h"
#include "tests/fuzz/rewind.h"

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

/* Returns a context that has read the library and makes no machine code. The
 * caller prepares it further, then calls rewind_keep. */
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
	return ctx;
}

/* Aborts when a diagnostic of the last call is an internal fault. */
static void expect_no_internal_fault(const atled_context *ctx) {
	atled_error e = {.size = sizeof e};
	for (size_t i = 0; i < atled_error_count(ctx); i++)
		if (atled_error_at(ctx, i, &e) == ATLED_OK && !strcmp(e.code, "E0999")) abort();
}

#endif
