/* run.c - fuzz target: any bytes as a program to run.
 *
 * Method: the program runs in the evaluator, with a limit on steps that is the
 * same on every machine. Its only grant is output, which is dropped, so that it
 * reaches no file. Afterwards all its variables are written and described.
 *
 * Contract: the call returns a status of programs within its limits. It causes
 * no crash, hang or internal fault.
 */
#include "tests/fuzz/mutate_text.h"
#include "tests/fuzz/warm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Opens the numerical libraries, which stay open when the context is
 * restored. */
static const char numerics[] =
	"linsolve([2.0, 1; 1, 3], [1.0, 2]); svd([2.0, 1; 1, 3]); fft([1.0, 2, 3])\n"
	"ode((t, y) -> -y, [1.0], (0, 1)).y(1.0)\n"
	"problem p { domain x in [0, 1]\n field u\n u_xx == -1\n u == 0 at x = 0, x = 1 }\n"
	"solve(p, fd(n = 20)).u(0.5)\n";

static atled_context *prepare(void) {
	atled_context *ctx = warm_context();
	if (atled_eval(ctx, numerics, ATLED_ZERO, NULL, NULL) != ATLED_OK) abort();
	if (atled_grant(ctx, ATLED_GRANT_OUTPUT) != ATLED_OK) abort();
	atled_output(ctx, drop, NULL);
	/* the limit of time is for a fault in the counting of steps */
	atled_limits(ctx, &(atled_limit){.size = sizeof(atled_limit),
	                                 .memory = (size_t)1 << 28,
	                                 .steps = 1000000,
	                                 .seconds = 5});
	rewind_keep();
	return ctx;
}

static void show(void *ud, const atled_value *v, uint32_t line) {
	(void)line;
	if (atled_value_write(v, NULL, 3, drop, ud) == ATLED_INTERNAL) abort();
}

static void visit(void *ud, const char *name, const atled_value *v) {
	(void)name;
	if (atled_value_write(v, NULL, 0, drop, ud) == ATLED_INTERNAL) abort();
	if (atled_value_describe(v, 1, drop, ud) == ATLED_INTERNAL) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static atled_context *ctx;
	if (!ctx) ctx = prepare();
#ifdef REWIND_POISON
	/* Memory of numerical libraries is lost with the context that would have
	 * freed it. */
	__lsan_disable();
#endif
	const atled_status st = atled_run(ctx, (const char *)data, size, "fuzz.dsl", show, NULL);
	if (st == ATLED_INTERNAL || st == ATLED_BUSY || st == ATLED_MISUSE) abort();
	expect_no_internal_fault(ctx);
	atled_variables(ctx, visit, NULL);
#ifdef REWIND_POISON
	__lsan_enable();
#endif
	rewind_back();
	return 0;
}
