/* test_checkpoint.c - unit tests of checkpointed loops.
 *
 * Oracle: the optimal number of iterations by dynamic programming, derivatives
 * by derivative_check.h, peak memory against the budget.
 *
 * Needs: derivative_check.h, parser/session/session.h, solvers/solvers.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "lang/ir/host.h"
#include "parser/session/session.h"
#include "solvers/solvers.h"
#include "tests/unit/autodiff/derivative_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- number of iterations ------------------------------------------------ */

static int64_t ticks; /* of the one thread that runs the test */

static uint32_t tick_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)call;
	(void)nargs;
	if (cap) out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}

static Status tick_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)c;
	(void)call;
	(void)nargs;
	(void)nresults;
	ticks++;
	results[0] = value_f64(args[0].f);
	return ST_OK;
}

static void tick_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                     const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)b;
	(void)call;
	(void)nargs;
	(void)args;
	(void)results;
	result_tangents[0] = tangents[0];
}

static const HostDef tick_def = {
	.name = "tick", .types = tick_types, .eval = tick_eval, .jvp = tick_jvp};

/* s := s + 0.1 sin(tick(s)) x, n times, in a for or a while. The second
 * parameter is n. */
static Fn *ticking(T *t, bool counted) {
	begin(t, counted ? "ticking for" : "ticking while");
	Builder *b = t->b;
	TypeId number = type_scalar(t->c, DT_I64), types[2] = {number, num(t)};
	Ref x = param(t, num(t), "x"), n = param(t, number, "n"), p[2], tick,
		init[2] = {build_i64(b, 0), x}, r[2];
	RegionId cond = 0;
	if (!counted) {
		OpenRegion *open = build_region_begin(b, 2, types, p);
		Ref more = build2(b, OP_LT, p[0], n);
		cond = build_region_end(b, open, 1, &more);
	}
	OpenRegion *open = build_region_begin(b, 2, types, p);
	build_host(b, host_call_intern(t->c, &tick_def, 0, NULL, 0, NULL), 1, &p[1], &tick, 1);
	Ref out[2] = {add(b, p[0], build_i64(b, 1)),
	              add(b, p[1], mul(b, mul(b, build1(b, OP_SIN, tick), x), build_f64(b, 0.1)))};
	RegionId turn = build_region_end(b, open, counted ? 1 : 2, counted ? out + 1 : out);
	if (counted) build_for(b, n, 1, init + 1, turn, r + 1);
	else build_while(b, 2, init, cond, turn, r);
	return end1(t, r[1]);
}

/* Returns the number of recomputed iterations of an optimal schedule, by the
 * recursion itself rather than the closed form. */
static int64_t fewest(int64_t *known, int64_t n, int64_t s, int64_t most) {
	if (n <= 1) return 0;
	if (s == 1) return n * (n - 1) / 2;
	int64_t *at = &known[n * (most + 1) + s];
	if (*at) return *at;
	int64_t best = INT64_MAX;
	for (int64_t m = 1; m < n; m++) {
		int64_t all = m + fewest(known, n - m, s - 1, most) + fewest(known, m, s, most);
		if (all < best) best = all;
	}
	return *at = best;
}

static double slope(T *t, Fn *back, int64_t n) {
	Value args[3] = {value_f64(0.8), value_i64(n), value_f64(1)}, result[1] = {{0}};
	ticks = 0;
	CHECK(run(t, back, args, result));
	double x = NAN;
	value_as_f64(result[0], &x);
	return x;
}

static void test_turns(T *t) {
	static const int64_t snapshots[] = {1, 2, 3, 5, 8, 20};
	static const int64_t lengths[] = {0, 1, 2, 3, 4, 7, 10, 19, 35, 36, 37, 60};
	const bool active[2] = {true, false};
	int64_t *known = calloc(1001 * 21, sizeof *known);
	for (int counted = 0; counted < 2; counted++) {
		Fn *f = ticking(t, counted), *tape = reverse_of(t, f, active);
		for (size_t i = 0; i < sizeof snapshots / sizeof *snapshots; i++) {
			int64_t s = snapshots[i];
			Fn *back = reverse_of(t, ad_checkpoint(t->c, f, s, 0), active);
			for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
				int64_t n = lengths[k], again = fewest(known, n, s, 20);
				double x = slope(t, back, n);
				/* Each iteration is linearised once. A `for` also finds the
				 * final state; a `while` counts its iterations first. */
				int64_t want = n + again + (counted ? n > 0 : n), have = ticks;
				CHECK_MSG(have == want, "n = %d, s = %d: %d turns, %d expected", (int)n, (int)s,
				          (int)have, (int)want);
				double y = slope(t, tape, n);
				CHECK_MSG(ticks == n, "the tape's %d turns of %d", (int)ticks, (int)n);
				CHECK_MSG(fabs(x - y) <= 1e-14 * fabs(y), "n = %d, s = %d: %.17g, not %.17g",
				          (int)n, (int)s, x, y);
			}
			fn_unref(back);
		}
		/* The value in the literature: 1000 iterations with 20 checkpoints. */
		Fn *back = reverse_of(t, ad_checkpoint(t->c, f, 20, 0), active);
		int64_t again = fewest(known, 1000, 20, 20);
		slope(t, back, 1000);
		CHECK(again == 2747 && (double)again / 1000 <= 2.9);
		CHECK(ticks == 1000 + again + (counted ? 1 : 1000));
		fn_unref(back);
		fn_unref(tape);
		fn_unref(f);
	}
	free(known);
}

/* ---- derivatives --------------------------------------------------------- */

/* Forward, reverse and mixed derivatives, like those of any function. */
static void check_checkpointed(T *t, Fn *f, int64_t snapshots, int64_t bytes, uint32_t n,
                               Value *args, uint32_t order) {
	Fn *g = ad_checkpoint(t->c, f, snapshots, bytes);
	fn_ref(g);
	static const Bounds wide = {1e-3, 1e-9, 1e-12, 1e-12};
	check_all(t, g, n, args, order, &wide);
	fn_unref(f);
}

static void test_derivatives(T *t) {
	for (int64_t s = 1; s < 5; s += 2) {
		for (int counted = 0; counted < 2; counted++) {
			Fn *f = ticking(t, counted);
			Value args[2] = {value_f64(0.8), value_i64(4)};
			check_checkpointed(t, f, s, 0, 2, args, 3);
		}
	}
	/* Arrays of any extent that are exchanged, an active array from outside, a
	 * nested loop. */
	for (int64_t s = 0; s < 3; s++) {
		begin(t, "a loop in a loop");
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, vec(t, n), "x"), a = param(t, vec(t, n), "a"),
			w = param(t, vec(t, len(t, 6)), "w"), p[4], q[2], r[2];
		TypeId types[3] = {type_scalar(t->c, DT_I64), vec(t, n), vec(t, n)};
		OpenRegion *open = build_region_begin(b, 3, types, p);
		Ref wi = build_broadcast_scalar(b, element(t, w, p[0]), vec(t, n));
		OpenRegion *inner = build_region_begin(b, 2, types, q);
		Ref next = add(b, build1(b, OP_SIN, mul(b, q[1], p[2])), mul(b, wi, x));
		RegionId turn = build_region_end(b, inner, 1, &next);
		build_for(b, add(b, p[0], build_i64(b, 1)), 1, &p[1], turn, &next);
		Ref out[2] = {p[2], next};
		RegionId body = build_region_end(b, open, 2, out);
		build_for(b, build_i64(b, 5), 2, (Ref[]){x, a}, body, r);
		Fn *f = end(t, 2, r);
		Value args[3] = {vector(t, 3, -1, 1), vector(t, 3, -1, 1), vector(t, 6, -1, 1)};
		check_checkpointed(t, f, s, s ? 0 : 200, 3, args, 2);
	}
}

/* ---- memory -------------------------------------------------------------- */

/* Runs the program and returns its g. most: limit in bytes, 0: none; *peak: the
 * program's peak memory. */
static double in_session(const char *text, size_t most, size_t *peak) {
	Ctx *c = ctx_new(NULL);
	ctx_grant(c, GRANT_ALL);
	backend_init(c);
	autodiff_init(c);
	session_init(c);
	solvers_init(c);
	const size_t before = heap_used(c);
	if (most) heap_set_limit(c, before + most);
	Status s = session_run(session_of(c), "test.dsl", text, strlen(text), NULL, NULL, NULL);
	double x = NAN;
	if (s == ST_OK) value_as_f64(session_get(session_of(c), "g"), &x);
	CHECK(s == ST_OK || s == ST_NOMEM || s == ST_ERROR);
	if (peak) *peak = heap_peak(c) - before;
	ctx_free(c);
	return x;
}

/* 300,000 states of four reals take 9.6 MB, and the tape is a multiple of that.
 * 1 MB holds a part of them. */
static void test_memory(T *t) {
	t->name = "memory";
	const char *loops[] = {"t = 0; while t < 300000 { u = turn(u, w); t += 1 }",
	                       "for t in 0..300000 { u = turn(u, w) }"};
	for (int k = 0; k < 2; k++) {
		char text[600];
		snprintf(text, sizeof text,
		         "turn(u, w) = u + 1e-4 * [u[1], -w * sin(u[0]), u[3], -w * sin(u[2]) * u[0]]\n"
		         "f(w) = { u = [1.0, 0.0, 0.5, 0.2]; %s; sum(u^2) }\ng = grad(%s)(1.3)",
		         loops[k], "f");
		double want = in_session(text, 0, NULL);
		CHECK(isnan(in_session(text, 6 << 20, NULL)));
		char *at = strstr(text, "grad(f)");
		snprintf(at, (size_t)(text + sizeof text - at), "grad(checkpoint(f; memory = 1e6))(1.3)");
		double have = in_session(text, 6 << 20, NULL);
		CHECK_MSG(fabs(have - want) <= 1e-11 * fabs(want), "%.17g, not %.17g", have, want);
	}
}

/* The reverse mode of an integration stores two kinds of data for each step.
 * - Interpolation rows: degree times (n + 1) reals, up to twice that while they
 *   are concatenated.
 * - The state.
 *
 * The internal values of a step, some hundred reals, exist for one step at a
 * time. When states would take more than a quarter of the limit, only as many
 * as fit are stored.
 */
static void test_integrations(T *t) {
	t->name = "integrations";
	static const struct {
		const char *method, *limit;
		int n, degree;
	} rows[] = {{"rk4", "%g", 3, 3},
	            {"tsit5", "max_step = %g, first_step = 1e-4, max_steps = 100000", 3, 4},
	            {"dop853", "max_step = %g, max_steps = 100000", 3, 7},
	            {"rodas5p", "max_step = %g", 3, 4},
	            {"radau5", "max_step = %g", 3, 3},
	            {"radau9", "max_step = %g", 3, 5},
	            {"radau13", "max_step = %g", 3, 7}};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		size_t peak[2];
		const int turns[2] = {2000, 8000};
		const double rows_each = 8.0 * rows[k].degree * (rows[k].n + 1),
					 most = 2.5 * rows_each + 8 * rows[k].n;
		double each = INFINITY;
		/* The two runs are comparable only if both or neither used machine
		 * code. Tries again otherwise. */
		for (int i = 0, turn = 0; turn < 6 && each >= most; turn++, i = turn % 2) {
			char option[100], text[900];
			snprintf(option, sizeof option, rows[k].limit, 1.0 / turns[i]);
			snprintf(
				text, sizeof text,
				"f(p) = ode((t, u) -> [p[0] * (u[1] - u[0]), u[0] * (p[1] - u[2]) - u[1], u[0] * "
				"u[1] - p[2] * u[2]], [1.0, 0, 0], (0.0, 1.0); "
				"method = %s(%s), saveat = [1.0]).values[0, 0]\ng = sum(grad(f)([10.0, 28, 8/3]))",
				rows[k].method, option);
			CHECK(isfinite(in_session(text, 0, &peak[i])));
			if (i) each = ((double)peak[1] - (double)peak[0]) / (turns[1] - turns[0]);
		}
		CHECK_MSG(each < most, "%s: %g bytes for each step, whose rows are %g", rows[k].method,
		          each, rows_each);
	}
}

/* ---- main ---------------------------------------------------------------- */

int main(int argc, char **argv) {
	static const Named tests[] = {{"turns", test_turns},
	                              {"derivatives", test_derivatives},
	                              {"memory", test_memory},
	                              {"integrations", test_integrations}};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
