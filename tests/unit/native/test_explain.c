/* test_explain.c - unit tests of plan(f, x) and of the op counter.
 *
 * Oracle: known loops, lines and counts, and kernel code of hand-made loops.
 * Nothing is compiled, so no code generator is needed. On a machine without
 * machine code plans say so, and only the counting is tested.
 *
 * Needs: parser/session/session.h, op_counter.h.
 */
#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "backend/native/kir/op_counter.h"
#include "backend/native/kir/cpu.h"
#include "parser/session/session.h"
#include "solvers/solvers.h"
#include "tests/unit/support/check.h"

#include <stdio.h>
#include <string.h>

/* ---- counting ------------------------------------------------------------ */

typedef struct Counting {
	int which;
	int64_t n;
	bool known;
	KCost cost;
} Counting;

static KRef work(KBuilder *b, KRef x) { return k_prim2(b, OP_ADD, x, k_prim2(b, OP_MUL, x, x)); }

static void count(Ctx *c, void *arg) {
	Counting *k = arg;
	KModule *m = kmodule_new(c, native_target());
	Arena *scratch = arena_new(c);
	KBuilder b;
	k_function(&b, m, 0);
	KRef n = k_word(&b, KT_I64, 0), zero = k_int(&b, 0), p[2], q[2], x = k_const(&b, KT_F64, 2),
		 at = k_buffer(&b, 0);
	switch (k->which) {
	case 0: /* n times two operations */
		k_loop_begin(&b, zero, n, 1, 1, &x, p);
		p[1] = work(&b, p[1]);
		k_loop_end(&b, &p[1], &x);
		break;
	case 1: /* a triangle: 2 (0 + 1 + ... + n-1) */
		k_loop_begin(&b, zero, n, 1, 1, &x, p);
		k_loop_begin(&b, zero, p[0], 1, 1, &p[1], q);
		q[1] = work(&b, q[1]);
		k_loop_end(&b, &q[1], &p[1]);
		k_loop_end(&b, &p[1], &x);
		break;
	case 2: /* elements, and blocks of 64 with a shorter last one */
		k_arena(&b, k_mul(&b, n, k_int(&b, 8)));
		k_loop_begin(&b, zero, n, 64, 0, NULL, p);
		k_vloop_begin(&b, 8, 0, k_min(&b, k_int(&b, 64), k_sub(&b, n, p[0])), 0, NULL, NULL, q);
		k_store(&b, KM_UNIT, at, q[0], work(&b, k_load(&b, KT_F64, KM_UNIT, at, q[0], 0)), 0);
		k_vloop_end(&b, NULL, NULL);
		k_loop_end(&b, NULL, NULL);
		break;
	default: { /* chunks with scratch, with a product in each */
		KRef part = k_parallel_begin(&b, n);
		KRef s = k_scratch(&b, k_int(&b, 1024)), one = k_int(&b, 1), four = k_int(&b, 4);
		(void)part;
		KRef operands[12] = {s, four, one, s, four, one, s, four, one, four, four, four};
		k_contract(&b, K_CONTRACT, KT_F64, 0, 12, operands);
		k_parallel_end(&b);
	}
	}
	k_return(&b, 0, NULL);
	k->cost = kmodule_count_ops(m, 1, &(KNumber){.v = k->n, .known = k->known}, scratch);
	k->cost.values = NULL;
	arena_free(scratch);
	kmodule_free(m);
}

static KCost counted(Ctx *c, int which, int64_t n, bool known) {
	Counting k = {.which = which, .n = n, .known = known};
	CHECK(ctx_protect(c, count, &k) == ST_OK);
	return k.cost;
}

static void test_counting(Ctx *c) {
	for (int64_t n = 0; n < 300; n += n < 5 ? 1 : 37) {
		CHECK(counted(c, 0, n, true).flops == 2.0 * (double)n && counted(c, 0, n, true).exact);
		const double triangle = counted(c, 1, n, true).flops, want = (double)(n * (n - 1));
		CHECK(triangle >= want * 0.98 && triangle <= want * 1.02);
		KCost blocks = counted(c, 2, n, true);
		CHECK(blocks.flops == 2.0 * (double)n && blocks.arena_bytes == 8.0 * (double)n &&
		      blocks.exact);
	}
	const KCost parts = counted(c, 3, 5, true);
	CHECK(parts.flops == 5 * 2 * 64 && parts.scratch_bytes == 1024 && parts.exact);
	CHECK(!counted(c, 0, 0, false).exact && counted(c, 0, 0, false).flops == 2);
	CHECK(!counted(c, 2, 0, false).exact);
}

/* ---- plans --------------------------------------------------------------- */

typedef struct Run {
	Ctx *c;
	char text[32768];
	size_t n;
} Run;

static void collect(void *ud, const char *text, size_t n) {
	Run *r = ud;
	if (r->n + n >= sizeof r->text) return;
	memcpy(r->text + r->n, text, n);
	r->n += n;
	r->text[r->n] = 0;
}

static const char *said(Run *r, const char *program) {
	r->n = 0;
	r->text[0] = 0;
	Value last = {.kind = V_UNSET};
	CHECK(session_run(session_of(r->c), "test.dsl", program, strlen(program), NULL, NULL, &last) ==
	      ST_OK);
	value_unref(last);
	return r->text;
}

typedef struct Said {
	const char *program, *parts[8];
} Said;
static const Said plans[] = {
	{"f(x) =\n  sum(sin(x) * x)\nprint(plan(f, ones(1000)))",
     {"f: 1 unit of machine code; arguments 8 kB, results 8 B", "parallel over 1000 rows",
      "3 fused: sum, mul, sin over 1000, 3 kflop", "\n  2 "}},
	{"net(w, x) = tanh(x @ w)\nf(w, x) = sum(net(w, x)^2)\nprint(plan(grad(f), randn(20, 30), "
     "randn(5000, 20)))",
     {"1 unit of machine code", "parallel over 5000 rows",
      "matrix product of the rows: [5000 x 20] by [20 x 30]", "matrix product summed over the rows",
      "tanh", "scratch", "for each thread"}},
	{"f(x, w, b) = tanh(x @ w' + b)\nprint(plan(f, ones(1000, 20), ones(20, 20), ones(20)))",
     {"matrix product of the rows: [1000 x 20] by [20 x 20]",
      "2 fused: tanh, add over 1000 x 20, 40 kflop, rows one after the other in one loop -> "
      "memory"}},
	{"f(x, w, b) = tanh(x @ w' + b)\nprint(plan(f, ones(1000, 20), ones(200, 20), ones(200)))",
     {"2 fused: tanh, add over 1000 x 200, 400 kflop -> memory"}},
	{"f(x, w, b) = tanh(x @ w' + expand(b, 1))\nprint(plan(f, ones(1000, 20), ones(20, 20), "
     "ones(1000)))",
     {"2 fused: tanh, add over 1000 x 20, 40 kflop -> memory"}},
	{"f(x) = { e = exp(x - expand(max(x; axis = 1), 1)); e / sum(e; axis = 1, keepdims = true) "
     "}\nprint(plan(f, ones(70, 1000)))",
     {"parallel over 70 rows", "vectors along the last axis", "memory 0 B"}},
	{"f(x) = exp(x - mean(x; axis = 0))\nprint(plan(f, ones(1000, 70)))",
     {"parallel over 1000 rows"}},
	{"f(A, B) = exp(A) * B + 1\nprint(plan(f, ones(100, 2000), ones(100, 2000)))",
     {"parallel over 100 rows", "vectors along the last axis", "over 100 x 2000"}},
	{"f(A, B) = exp(A) * B + 1\nprint(plan(f, ones(2, 5, 2000), ones(2, 5, 2000)))",
     {"parallel over 2000 rows"}},
	{"f(A, B) = sin(A @ B)\nprint(plan(f, ones(400, 300), ones(300, 500)))",
     {"matrix product ", ": [400 x 300] by [300 x 500]", "sin over 400 x 500"}},
	{"f(u) = {\n  v = u\n  for i in 0..100 { v = v + sin(max(v) * v) }\n  v\n}\nprint(plan(f, "
     "ones(1000)))",
     {"for 100 turns; carries 1 in two places that are swapped", "3 fused: add, sin, mul over 1000",
      "\n  3 "}},
	{"f(u) = {\n  v = u\n  for i in 0..100 { v = v + sin(v) }\n  v\n}\nprint(plan(f, ones(1000)))",
     {"parallel over 1000 rows, each in registers, vectors along the rows\n  3               for "
      "100 turns; carries registers",
      "\n  3                 2 operations in registers"}},
	{"f(A) = linsolve(A, [1.0, 2])\ng(A) = map(f, A)\nprint(plan(g, ones(500, 2, 2)))",
     {"g: 1 unit of machine code; arguments 16 kB, results 8 kB",
      "parallel over 500 rows, each in registers, vectors along the rows"}},
	{"f(u) = {\n  for i in 0..100 { u[1..-1] = 0.5u[1..-1] + sin(i); u[0] = u[1]; u[-3..] = 1 }\n  "
     "u\n}\nprint(plan(f, ones(1000)))",
     {"for 100 turns; carries 1 changed in place", "3 fused: update, add, mul over 998",
      "elements changed where they lie"}},
	{"f(v) = { a = zeros(len(v)); for i in 0..len(v) { if v[i] > 0.2 { if v[i] < 0.8 { a[i] = 1.0 "
     "} } }; a }\nprint(plan(f, ones(1000)))",
     {"for; carries 1 changed in place", "elements changed where they lie"}},
	{"f(A, n) = { for i in 0..n { for j in 0..n { A[i, j] = A[j, i] + i } }; A }\nprint(plan(f, "
     "ones(100, 100), 100))",
     {"for; carries 1 changed in place", "elements changed where they lie"}},
	{"f(u, n) = {\n  for i in 0..n { u[1..-1, 1..-1] += u[2.., 1..-1] * u[1..-1, ..-2]; u[.., 0] = "
     "u[.., 1] }\n  u\n}\nprint(plan(f, ones(100, 100), 10))",
     {"for; carries 1 in two places that are swapped", "3 fused: update, add, mul over 98 x 98",
      "update, gather over 100 x 1", "memory 80 kB"}},
	{"f(u, n) = { for i in 0..n { u[1..-1, 1..-1] += 0.1*(u[2.., 1..-1] + u[..-2, 2..]) }; u "
     "}\nprint(plan(f, ones(300, 302), 10))",
     {"for; carries 1 in two places that are swapped; several turns at once, tile by tile",
      "parallel over 298 rows", "268 kflop", "memory 725 kB"}},
	{"f(u) = { for i in 0..64 { u[1..-1] = 0.5u[1..-1] + u[2..]*sin(i) }; u }\nprint(plan(f, "
     "ones(100002)))",
     {"for 64 turns; carries 1 in two places that are swapped; several turns at once, tile by tile",
      "19 Mflop"}},
	{"f(u, n) = { for i in 0..n { u = concat(u[1..], u[..1]) + 0.5u }; u }\nprint(plan(f, "
     "ones(300), 10))",
     {"carries 1 in two places that are swapped\n"}},
	{"f(x) = { y = exp(x); y[5..-5] *= 3; y[..50] = y[50..100]; y }\nprint(plan(f, ones(1000)))",
     {"memory 0 B"}},
	{"f(n) = { a = 1.0; b = 2.0; for i in 0..n { (a, b) = (b, sin(a)) }; a }\nprint(plan(f, 10))",
     {"carries 2 in registers", "loops of unknown length counted once"}},
	{"f(L, m, x) = sum(log(sum(map((L, m) -> exp(-sum(((x - m) @ L')^2; axis = 1)), L, m); axis = "
     "0)))\n"
     "print(plan(grad(f), ones(25, 10, 10), ones(25, 10), ones(1000, 10)))",
     {"over 1000 rows, 128 at a time, vectors along the rows", "turn by turn over 25\n",
      "matrix product summed over the rows"}},
	{"f(A, b) = sum(exp(linsolve(A, b)))\nprint(plan(f, ones(30, 30), ones(30)))",
     {"matrix factorised in memory", "triangular system in memory", "exp"}},
	{"f(A) = sum(exp(eigh(A)[0]))\nprint(plan(f, ones(30, 30)))",
     {"of the evaluator: a library routine of linear algebra", "exp"}},
	{"f(z) = sum(real(fft(z)))\nprint(plan(f, ones(64)))", {"Fourier", "complex numbers"}},
	{"f(x) = { print(x); sort(sin(x) * exp(x)) }\nprint(plan(f, ones(100)))",
     {"printing", "sorting", "3 fused: mul, sin, exp"}},
	{"f(k) = ode((t, y) -> -k*y, [1.0, 2.0], (0.0, 1.0); method = bdf()).values\nprint(plan(f, "
     "2.0))",
     {"a solver", "handed to `"}},
	{"fib(n) = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }\nprint(plan(fib, 20))",
     {"calls `fib`, a recursive function"}},
	{"f(x) = sin(x)*exp(0.3x)\nh(x) = f''(x)*x^2\nprint(plan(h', 0.2))",
     {"derivatives\n  f by x: Taylor expansion to order 3, 34 operations\n  h by x: forward "
      "derivative,",
      "taken once: 32 operations"}},
	{"g(x, y) = exp(sin(x*y)*x)/(1 + x^2 + y^2)\nf(x, y) = (s -> g(s, y))''(x) + 2(s -> (r -> g(r, "
     "s))'(x))'(y) + (s -> g(x, s))''(y)\nprint(plan(f, 0.1, 0.2))",
     {"  mixed derivatives from expansions along (1, 1) to order 2; nested they would be 79 "
      "operations in all\n",
      "taken once: 37 operations"}},
	{"g(x, y) = exp(sin(x*y)*x)/(1 + x^2 + y^2)\nd(f, k, l) = (x, y) -> nth_derivative(t -> "
     "nth_derivative(s -> f(s, t), x, k), y, l)\n"
     "f(x, y) = d(g, 4, 0)(x, y) + 2d(g, 2, 2)(x, y) + d(g, 0, 4)(x, y)\nprint(plan(f, 0.1, 0.2))",
     {"  mixed derivatives nested; from expansions along (1, 0) to order 4, (1, 1.732) to order 4, "
      "(1, -1.732) to order 4 they would be 222 operations in all\n",
      "taken once: 201 operations"}},
	{"f(x) = sin(x)*exp(0.3x)\nloss(w) = sum(map(f'', w))\nprint(plan(grad(loss), ones(9)))",
     {"  loss: forward sweep of reverse mode",
      "  f by x: Taylor expansion to order 2, in the sweeps\n", "  loss: backward sweep"}},
	{"f(x, n) = { for i in 0..n { x = x - 0.1*sin(x)*exp(-x^2) }; x }\nprint(plan(f, ones(14), "
     "100))",
     {"14 elements in one vector, which the loop has in registers\n  1               for; carries "
      "registers",
      "memory 0 B"}},
	{"f(x, t) = { s = 0.0; for i in 0..len(t) { x = sin(x)*t[i]; s += sum(x^2)/(1 + sum(exp(-x))) "
     "}; s }\nprint(plan(grad(f), ones(6), ones(300, 6)))",
     /* No tape is filled. */
     {"scratch 0 B for each thread\n                6 elements in one vector, which the loop has "
      "in registers",
      "for; carries registers"}},
	{"f(w, x, n) = { for i in 0..n { x = w[2..5]*x*w[-1 - i] + w[i] }; sum(x) }\ng(w, x, n) = "
     "grad(x -> f(w, x, n))(x)\nprint(ir(g, ones(9), ones(3), 5))",
     /* No tape: views of w are recomputed. */
     {"fn.jvp.linear.transpose\"(%0 w: f64[9], %1 n: i64, %2: f64) -> (f64[3])"}},
	{"f(x, n) = { for i in 0..n { x = concat(x[1..], x[..1])*1.5 - sin(x)*exp(-x^2) }; x "
     "}\nprint(plan(f, ones(6), 100))",
     {"\n  1             for; carries 1 in registers"}},
	{"f(a, n) = { for i in 0..n { a = a' * 0.9 + sin(a)*exp(-a^2) }; a }\nprint(plan(f, ones(5, "
     "5), 100))",
     {"\n  1             for; carries 1 in registers"}},
	{"f(x, n) = { for i in 0..n { x = x + 1 }; x }\nprint(plan(f, ones(14), 100))",
     {"\n  1             for; carries 1 in registers"}},
	{"f(r) = { s = r · r; if s > 0 { sqrt(s)*r[0] } else { r[1] } }\nprint(plan(grad(rs -> "
     "sum(map(f, rs)^2)), ones(500, 3)))",
     {"parallel over 500 rows, each in registers, vectors along the rows",
      "memory 0 B, scratch 0 B"}},
	{"f(n) = { x = ones(n); plan(v -> sum(sin(v)), x) }\nprint(f(200))", {"1 unit", "sin over n"}},
};

static void test_plan(Run *r, const Said *s) {
	const char *text = said(r, s->program);
	for (size_t k = 0; k < 8 && s->parts[k]; k++) {
		CHECK_MSG(strstr(text, s->parts[k]), "%s: not in the plan: \"%s\"\n%s", s->program,
		          s->parts[k], text);
	}
}

static void test_plans(Run *r) {
	for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) test_plan(r, &plans[i]);
	/* A matrix product alone stays in the evaluator when both engines call
	 * BLAS. */
	static const char product[] = "f(A, B) = A @ B\nprint(plan(f, ones(300, 300), ones(300, 300)))";
	const Said by_blas = {product, {"0 units", "a matrix product, through BLAS"}},
			   by_tiles = {product,
	                       {"1 unit", "matrix product by tiles: [300 x 300] by [300 x 300]"}};
	test_plan(r, ktarget_has_large_tiles(native_target()) ? &by_tiles : &by_blas);
}

int main(void) {
	Run r = {.c = ctx_new(NULL)};
	ctx_grant(r.c, GRANT_ALL);
	ctx_set_output(r.c, collect, &r);
	backend_init(r.c);
	autodiff_init(r.c);
	solvers_init(r.c);
	session_init(r.c);
	test_counting(r.c);
	if (native_target()->vector_bytes) test_plans(&r);
	ctx_free(r.c);
	return check_end();
}
