/* check.c - fuzz target: any bytes as a program to check.
 *
 * Contract: the input gives messages, or none, within limits of time and
 * memory. It causes no crash, hang or internal fault. Programs are not run.
 */
#include "tests/fuzz/mutate_text.h"
#include "tests/fuzz/warm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static atled_context *prepare(void) {
	atled_context *ctx = warm_context();
	atled_limits(
		ctx, &(atled_limit){.size = sizeof(atled_limit), .memory = (size_t)1 << 29, .seconds = 5});
	rewind_keep();
	return ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static atled_context *ctx;
	if (!ctx) ctx = prepare();
	atled_check(ctx, (const char *)data, size, "fuzz.dsl");
	expect_no_internal_fault(ctx);
	rewind_back();
	return 0;
}
