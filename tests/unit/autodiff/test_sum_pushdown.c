/* test_sum_pushdown.c - unit tests of pushing sums below contractions.
 *
 * Oracle: the expected operation counts of the resulting functions, and no
 * change where the pass does not apply.
 *
 * Needs: lang/, autodiff/.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "autodiff/optimise/sum_pushdown.h"
#include "tests/unit/support/check.h"
#include <stdio.h>
#include <stdlib.h>

static Fn *read(Ctx *c, const char *text) {
	Fn *f = fn_read(c, source_add(c, "test.ir", text, strlen(text)), NULL);
	for (uint32_t i = 0; !f && i < diag_total(c); i++) printf("  %s\n", diag_at(c, i)->message);
	if (!f) abort();
	return f;
}

static uint32_t count(const Fn *f, Op op) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->insts.n; i++) n += f->insts.at[i].op == op;
	return n;
}

static double cost(const Fn *f) {
	int64_t lengths[8] = {10, 10, 10, 10, 10, 10, 10, 10};
	return fn_cost(f, lengths, 8);
}

/* Returns the function with its sums moved (NULL: none moved), and its cost
 * before and after. */
static Fn *moved(Ctx *c, const char *text, double *before, double *after) {
	Fn *f = read(c, text);
	Arena *scratch = arena_new(c);
	Fn *g = push_sums_down(c, f, scratch);
	*before = cost(f);
	*after = g ? cost(g) : *before;
	if (g) CHECK(fn_verify(g, "push_sums_down"));
	arena_free(scratch);
	fn_unref(f);
	return g;
}

static void forget(Fn *f) {
	if (f) fn_unref(f);
}

/* ---- axes ---------------------------------------------------------------- */

static void test_axes(Ctx *c) {
	double before, after;
	/* sum_d x_d W: 10 sums of 7 and one product. */
	Fn *g = moved(
		c,
		"fn @f[n](%0 x: f64[n, 7], %1 w: f64[7, 7]) -> (f64[7]) {\n"
		"  %2: f64[n, 7] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
		"  %3: f64[7] = reduce_sum %2 {axes: [0]}\n  return %3\n}\n",
		&before, &after);
	CHECK(g && before == 10 * 98 + 70 && after == 98 + 70);
	forget(g);
	/* Through a transposition, a factor without the axis, a slice, a row, and a
	 * sum over another axis. */
	g = moved(
		c,
		"fn @f[n](%0 x: f64[n, 7], %1 w: f64[7, 6], %2 a: f64[6]) -> (f64) {\n"
		"  %3: f64[6, n] = dot %1, %0 {lcontract: [0], rcontract: [1], lbatch: [], rbatch: []}\n"
		"  %4: f64[n, 6] = transpose %3 {perm: [1, 0]}\n"
		"  %5: f64[n, 6] = broadcast %2 {shape: [n, 6], axes: [1]}\n"
		"  %6: f64[n, 6] = mul %4, %5\n"
		"  %7: f64[n, 4] = slice %6 {start: [0, 2], length: [n, 4], stride: [1, 1]}\n"
		"  %8: f64[n] = reduce_sum %7 {axes: [1]}\n"
		"  %9: f64 = reduce_sum %8 {axes: [0]}\n  return %9\n}\n",
		&before, &after);
	CHECK(g && count(g, OP_DOT) == 1 && after == 70 + 84 + 6 + 4);
	forget(g);
	/* Both operands have summed axes of their own. */
	g = moved(
		c,
		"fn @f[n, m](%0 x: f64[n, 7], %1 y: f64[m, 7]) -> (f64) {\n"
		"  %2: f64[n, m] = dot %0, %1 {lcontract: [1], rcontract: [1], lbatch: [], rbatch: []}\n"
		"  %3: f64 = reduce_sum %2 {axes: [0, 1]}\n  return %3\n}\n",
		&before, &after);
	CHECK(g && after == 70 + 70 + 14);
	forget(g);
	/* A product of two factors that vary along the axis stays. Its invariant
	 * factor is taken out of the sum. */
	g = moved(
		c,
		"fn @f[n](%0 x: f64[n, 7], %1 w: f64[7, 7], %2 a: f64[7]) -> (f64[7]) {\n"
		"  %3: f64[n, 7] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
		"  %4: f64[n, 7] = mul %0, %0\n"
		"  %5: f64[n, 7] = broadcast %2 {shape: [n, 7], axes: [1]}\n"
		"  %6: f64[n, 7] = mul %4, %5\n"
		"  %7: f64[n, 7] = add %3, %6\n"
		"  %8: f64[7] = reduce_sum %7 {axes: [0]}\n  return %8\n}\n",
		&before, &after);
	CHECK(g && after == 98 + 70 + 70 + 70 + 7 + 7);
	forget(g);
}

/* ---- terms one by one ---------------------------------------------------- */

static void test_terms(Ctx *c) {
	double before, after;
	Fn *g =
		moved(c,
	          "fn @f(%0 w: f64[7, 7], %1 x: f64[7], %2 y: f64[7], %3 z: f64[7], %4 a: f64) -> "
	          "(f64[7]) {\n"
	          "  %5: f64[7] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
	          "  %6: f64[7] = dot %0, %2 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
	          "  %7: f64[7] = dot %0, %3 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
	          "  %8: f64[7] = broadcast %4 {shape: [7], axes: []}\n"
	          "  %9: f64[7] = mul %6, %8\n"
	          "  %10: f64[7] = sub %5, %9\n"
	          "  %11: f64[7] = add %10, %7\n  return %11\n}\n",
	          &before, &after);
	CHECK(g && count(g, OP_DOT) == 1 && after == 98 + 7 + 7 + 7);
	forget(g);
	/* A vector from the right and one from the left, through the same axis of
	 * the matrix. */
	g = moved(c,
	          "fn @f(%0 w: f64[7, 6], %1 x: f64[6], %2 y: f64[6]) -> (f64[7]) {\n"
	          "  %3: f64[7] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
	          "  %4: f64[7] = dot %2, %0 {lcontract: [0], rcontract: [1], lbatch: [], rbatch: []}\n"
	          "  %5: f64[7] = sub %3, %4\n  return %5\n}\n",
	          &before, &after);
	CHECK(g && count(g, OP_DOT) == 1 && after == 84 + 6);
	forget(g);
	/* Through the other axis it is another operation. */
	g = moved(c,
	          "fn @f(%0 w: f64[7, 7], %1 x: f64[7], %2 y: f64[7]) -> (f64[7]) {\n"
	          "  %3: f64[7] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
	          "  %4: f64[7] = dot %0, %2 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n"
	          "  %5: f64[7] = add %3, %4\n  return %5\n}\n",
	          &before, &after);
	CHECK(!g);
	forget(g);
}

/* ---- unchanged functions ------------------------------------------------- */

static void test_stays(Ctx *c) {
	double before, after;
	/* The product has another use. */
	Fn *g = moved(
		c,
		"fn @f[n](%0 x: f64[n, 7], %1 w: f64[7, 7]) -> (f64[7], f64[n, 7]) {\n"
		"  %2: f64[n, 7] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
		"  %3: f64[7] = reduce_sum %2 {axes: [0]}\n  return %3, %2\n}\n",
		&before, &after);
	CHECK(!g);
	forget(g);
	/* No contraction: the order of an element-wise sum must stay as written. */
	g = moved(c,
	          "fn @f[n](%0 x: f64[n, 7], %1 a: f64[7]) -> (f64[7]) {\n"
	          "  %2: f64[n, 7] = broadcast %1 {shape: [n, 7], axes: [1]}\n"
	          "  %3: f64[n, 7] = mul %0, %2\n"
	          "  %4: f64[7] = reduce_sum %3 {axes: [0]}\n  return %4\n}\n",
	          &before, &after);
	CHECK(!g);
	forget(g);
	/* Both operands share the summed axis. */
	g = moved(
		c,
		"fn @f[n](%0 x: f64[n, 7], %1 w: f64[n, 7, 7]) -> (f64[7]) {\n"
		"  %2: f64[n, 7] = dot %0, %1 {lcontract: [1], rcontract: [1], lbatch: [0], rbatch: [0]}\n"
		"  %3: f64[7] = reduce_sum %2 {axes: [0]}\n  return %3\n}\n",
		&before, &after);
	CHECK(!g);
	forget(g);
	/* A product outside a loop is not moved into it. */
	g = moved(
		c,
		"fn @f(%0 x: f64[7], %1 w: f64[7, 7], %2 k: i64) -> (f64[7]) {\n"
		"  %3: f64[7] = dot %1, %0 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
		"  %4: f64[7] = for %2, %0 {\n    (%5: i64, %6: f64[7]):\n"
		"    %7: f64[7] = dot %1, %6 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
		"    %8: f64[7] = add %3, %7\n    yield %8\n  }\n  return %4\n}\n",
		&before, &after);
	CHECK(!g);
	forget(g);
}

int main(void) {
	Ctx *c = ctx_new(NULL);
	if (!c) return 2;
	autodiff_init(c);
	test_axes(c);
	test_terms(c);
	test_stays(c);
	ctx_free(c);
	return check_end();
}
