/* check.c - any bytes as a program to check, never run: messages, or none, within limits of time and memory. No crash, no hang, no internal fault. */
#include "atled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static atled_context *ctx; /* what a text defines stays with it: a new one every now and then keeps inputs apart and memory small */
	static int uses;
	if (ctx && uses++ == 50) {
		atled_context_free(ctx);
		ctx = NULL;
		uses = 0;
	}
	if (!ctx) {
		ctx = atled_context_new(NULL);
		if (!ctx) return 0;
		atled_limits(ctx, &(atled_limit){.size = sizeof(atled_limit), .memory = (size_t)1 << 30, .seconds = 5});
	}
	atled_check(ctx, (const char *)data, size, "fuzz.dsl");
	atled_error e = {.size = sizeof e};
	for (size_t i = 0; i < atled_error_count(ctx); i++) {
		if (atled_error_at(ctx, i, &e) == ATLED_OK && !strcmp(e.code, "E0999")) abort();
	}
	return 0;
}
