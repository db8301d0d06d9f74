/* test_dependence.c - unit tests of the dependence analysis.
 *
 * The analysis reports the arguments that a function's results depend on, and
 * how.
 *
 * Needs: lang/ only.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "lang/passes/dependence.h"
#include "tests/unit/support/check.h"
#include <stdio.h>
#include <stdlib.h>

/* Reads the function in `text` and prints its dependence: one letter for each
 * argument, with its factors. "a(b)": the results depend on a, with a
 * derivative that b may change. */
static void shows(int line, const char *text, const char *want) {
	Ctx *c = ctx_new(NULL);
	Fn *f = fn_read(c, source_add(c, "test.ir", text, strlen(text)), NULL);
	char got[256] = "";
	if (f) {
		const uint32_t n = fn_nparams(f);
		int32_t number[8];
		for (uint32_t p = 0; p < n && p < 8; p++) number[p] = (int32_t)p;
		Arena *a = arena_new(c);
		const Dependence d = fn_dependence(c, a, f, number, n);
		size_t at = 0;
		for (uint32_t i = 0; i < n; i++) {
			if (!d.depends[i]) continue;
			at += (size_t)snprintf(got + at, sizeof got - at, "%s%c(", at ? " " : "", 'a' + (int)i);
			for (uint32_t k = 0; k < n; k++)
				if (d.factors[i * n + k]) got[at++] = (char)('a' + (int)k);
			got[at++] = ')';
			got[at] = 0;
		}
		arena_free(a);
		fn_unref(f);
	}
	check_text_at(f ? got : "no function", want, "the dependence", __FILE__, line);
	ctx_free(c);
}
#define SHOWS(text, want) shows(__LINE__, text, want)

static void test_arithmetic(void) {
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64 = add %0, %1\n"
	      "  return %2\n"
	      "}",
	      "a() b()");
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64 = mul %0, %1\n"
	      "  return %2\n"
	      "}",
	      "a(b) b(a)");
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64 = div %0, %1\n"
	      "  return %2\n"
	      "}",
	      "a(b) b(ab)");
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64 = sin %0\n"
	      "  %3: f64 = add %2, %1\n"
	      "  return %3\n"
	      "}",
	      "a(a) b()");
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n  %2: f64 = sin %0\n  return %1\n}", "b()");
	/* An integer converted from a real is piecewise constant. */
	SHOWS("fn @f(%0 a: f64) -> (f64) {\n"
	      "  %1: i64 = convert %0 {to: i64}\n"
	      "  %2: f64 = convert %1 {to: f64}\n"
	      "  return %2\n"
	      "}",
	      "a(a)");
}

static void test_choices(void) {
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: bool = lt %0, 5.0\n"
	      "  %3: f64 = select %2, %1, 0.0\n"
	      "  return %3\n"
	      "}",
	      "a(ab) b(a)");
	SHOWS("fn @f(%0 a: f64, %1 b: f64, %2 c: f64) -> (f64) {\n"
	      "  %3: bool = lt %0, 5.0\n"
	      "  %4: f64 = if %3 {\n"
	      "    yield %1\n"
	      "  } {\n"
	      "    yield %2\n"
	      "  }\n"
	      "  return %4\n"
	      "}",
	      "a(abc) b(a) c(a)");
}

static void test_loops(void) {
	/* A carried scalar is multiplied in each iteration: after some iterations
	 * it is a product of all factors. */
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64 = for 3, %0 {\n"
	      "    (%3: i64, %4: f64):\n"
	      "    %5: f64 = mul %4, %1\n"
	      "    yield %5\n"
	      "  }\n"
	      "  return %2\n"
	      "}",
	      "a(b) b(ab)");
	/* Two carried scalars swap: the dependence of one reaches the other in a
	 * later iteration. */
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64, %3: f64 = for 3, %0, 0.0 {\n"
	      "    (%4: i64, %5: f64, %6: f64):\n"
	      "    %7: f64 = add %6, %1\n"
	      "    yield %7, %5\n"
	      "  }\n"
	      "  return %3\n"
	      "}",
	      "a() b()");
	/* The number of iterations affects the result. */
	SHOWS("fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64 = while %1 {\n"
	      "    (%3: f64):\n"
	      "    %4: bool = lt %3, %0\n"
	      "    yield %4\n"
	      "  } {\n"
	      "    (%5: f64):\n"
	      "    %6: f64 = add %5, 1.0\n"
	      "    yield %6\n"
	      "  }\n"
	      "  return %2\n"
	      "}",
	      "a(ab) b(ab)");
}

static void test_calls(void) {
	SHOWS("fn @g(%0 x: f64, %1 y: f64) -> (f64, f64) {\n"
	      "  %2: f64 = mul %0, %1\n"
	      "  return %2, %0\n"
	      "}\n"
	      "\n"

	      "fn @f(%0 a: f64, %1 b: f64, %2 c: f64) -> (f64) {\n"
	      "  %3: f64 = add %1, %2\n"
	      "  %4: f64, %5: f64 = call %0, %3 {callee: @g}\n"
	      "  return %4\n"
	      "}",
	      "a(bc) b(a) c(a)");
	SHOWS("fn @g(%0 x: f64, %1 y: f64) -> (f64, f64) {\n"
	      "  %2: f64 = mul %0, %1\n"
	      "  return %2, %0\n"
	      "}\n"
	      "\n"

	      "fn @f(%0 a: f64, %1 b: f64) -> (f64) {\n"
	      "  %2: f64, %3: f64 = call %0, %1 {callee: @g}\n"
	      "  return %3\n"
	      "}",
	      "a()");
}

int main(void) {
	test_arithmetic();
	test_choices();
	test_loops();
	test_calls();
	return check_end();
}
