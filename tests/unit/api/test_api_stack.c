/* test_api_stack.c - unit tests of the public interface on stacks of all sizes:
 * threads from 64 kB to 8 MB, coroutines, and recursion of every kind.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 *
 * Method: each stack runs the same programs. Their results and errors must not
 * depend on the stack.
 */
#include "tests/unit/api/help.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

static bool fails_with(T *t, const char *text, atled_status status, const char *code) {
	const atled_status st = atled_compile(t->x, text, ATLED_ZERO, NULL);
	const atled_error *e = atled_last_error(t->x);
	return st == status && e && !strcmp(e->code, code);
}

/* `before` n times, the middle, `after` n times. */
static char *nested(int n, const char *before, const char *middle, const char *after) {
	const size_t b = strlen(before), a = strlen(after), m = strlen(middle);
	char *text = malloc((size_t)n * (a + b) + m + 1), *to = text;
	for (int i = 0; i < n; i++) to = (char *)memcpy(to, before, b) + b;
	to = (char *)memcpy(to, middle, m) + m;
	for (int i = 0; i < n; i++) to = (char *)memcpy(to, after, a) + a;
	*to = 0;
	return text;
}

/* A function that keeps n numbers over its recursive call. */
static char *keeps(int n) {
	char *text = malloc((size_t)n * 80 + 200);
	int at = sprintf(text, "keeps(n) = {\n  if n <= 0.0 { 0.0 } else {\n");
	for (int i = 0; i < n; i++) at += sprintf(text + at, "    a%d = sin(n*%d.0)\n", i, i + 1);
	at += sprintf(text + at, "    r = keeps(n - 1.0)\n    s = r\n");
	for (int i = 0; i < n; i++) at += sprintf(text + at, "    s = 0.5*s + a%d*cos(r + %d)\n", i, i);
	sprintf(text + at, "    s } }\n");
	return text;
}

/* back(again, n) is again(n - 1), called by the host. */
static atled_status back(void *ud, atled_context *x, uint32_t nargs, const atled_value *const *args,
                         atled_value **result) {
	(void)ud;
	double n = -1;
	if (nargs != 2 || !atled_value_f64(args[1], &n)) return ATLED_ERROR;
	atled_value *less = atled_value_of_f64(x, n - 1);
	if (!less) return ATLED_NOMEM;
	const atled_status st =
		n <= 0 ? ATLED_OK : atled_value_call(x, args[0], 1, (const atled_value *[]){less}, result);
	if (n <= 0) *result = less;
	else atled_value_free(less);
	return st;
}

static void run_programs(void) {
	atled_context *x = atled_context_new(NULL);
	if (!CHECK(x)) return;
	T own = {.x = x}, *t = &own;
	FINE(t, atled_grant(x, ATLED_GRANT_ALL));
	FINE(t, atled_compile(x, "f(n) = if n <= 0.0 { 0.0 } else { 1.0 + f(n - 1.0) }", ATLED_ZERO,
	                      NULL));
	CHECK(number(t, "f(1900.0)") == 1900);
	CHECK(fails_with(t, "f(1e9)", ATLED_LIMIT, "E0904"));
	char *text = nested(390, "(", "1.5", ")");
	CHECK(number(t, text) == 1.5);
	free(text);
	text = nested(100000, "(", "1.5", ")");
	CHECK(fails_with(t, text, ATLED_ERROR, "E0106"));
	free(text);
	text = nested(180, "list(", "1.5", ")");
	CHECK(atled_compile(x, text, ATLED_ZERO, NULL) == ATLED_OK);
	free(text);
	text = nested(150, "if a > 0.0 { 1.0 + ", "a", " } else { a }");
	FINE(t, atled_compile(x, "a = 2.0", ATLED_ZERO, NULL));
	CHECK(number(t, text) == 152);
	free(text);
	text = keeps(400);
	FINE(t, atled_compile(x, text, ATLED_ZERO, NULL));
	free(text);
	CHECK(fabs(number(t, "keeps(10.0)")) < 1e3);
	/* Machine code may refuse it, the evaluator may not. */
	CHECK(atled_compile(x, "keeps(1900.0)", ATLED_ZERO, NULL) == ATLED_OK ||
	      !strcmp(atled_last_error(x)->code, "E0904"));
	CHECK(near(number(t, "grad(x -> sum(exp(sin(x))^2))([0.5, 1.0])[0]"),
	           2 * exp(2 * sin(0.5)) * cos(0.5), 1e-12));
	CHECK(near(number(t, "ode((t, y) -> -y, [1.0], (0.0, 1.0)).y(1.0)[0]"), exp(-1), 1e-6));
	CHECK(near(number(t, "sum(inv(eye(60) + 0.01*ones(60, 60)))"), 60 / 1.6, 1e-12));
	FINE(t, atled_define_native(x, "back", back, NULL));
	FINE(t, atled_compile(x, "again(n) = 1.0 + f64(back(again, n))", ATLED_ZERO, NULL));
	CHECK(number(t, "again(20.0)") == 20);
	const atled_status st = atled_compile(x, "again(1e5)", ATLED_ZERO, NULL);
	CHECK(st != ATLED_OK && st != ATLED_INTERNAL);
	CHECK(number(t, "f(3.0)") == 3);
	atled_context_free(x);
}

static void *run_thread(void *ud) {
	(void)ud;
	run_programs();
	return NULL;
}

static void test_threads(void) {
	static const size_t kilobytes[] = {64, 128, 256, 512, 1024, 2048, 8192};
	for (size_t i = 0; i < sizeof kilobytes / sizeof *kilobytes; i++) {
		pthread_attr_t attr;
		pthread_t thread;
		pthread_attr_init(&attr);
		CHECK(!pthread_attr_setstacksize(&attr, kilobytes[i] << 10));
		if (CHECK(!pthread_create(&thread, &attr, run_thread, NULL))) pthread_join(thread, NULL);
		pthread_attr_destroy(&attr);
	}
}

/* ---- coroutines ---------------------------------------------------------- */

enum { COROUTINE_BYTES = 64 << 10 };
static ucontext_t outside, inside;

static void run_coroutine(void) { run_programs(); }

/* A host that runs scripts in coroutines: their stacks are no thread's. */
static void test_coroutine(void) {
	char *stack =
		mmap(NULL, COROUTINE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!CHECK(stack != MAP_FAILED) || !CHECK(!getcontext(&inside))) return;
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = COROUTINE_BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, run_coroutine, 0);
	CHECK(!swapcontext(&outside, &inside));
	munmap(stack, COROUTINE_BYTES);
}

int main(void) {
	run_programs();
	test_threads();
	test_coroutine();
	return check_end();
}
