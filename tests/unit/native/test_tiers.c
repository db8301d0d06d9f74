/* test_tiers.c - unit tests of the execution tiers on programs.
 *
 * Oracle: the evaluator and machine code give the same values, the same errors
 * at the same places and the same output. Sums may differ in their last bits.
 * The test also checks that a function is compiled once for all extents, and
 * that a long-running loop continues as machine code.
 *
 * Needs: parser/session/session.h; the code generator's library in the folder
 * above the tests or named by ATLED_CODEGEN. Without it the test is skipped.
 */
#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "backend/native/jit/tier.h"
#include "backend/native/kir/cpu.h"
#include "parser/session/session.h"
#include "solvers/solvers.h"
#include "tests/unit/support/check.h"

#include <unistd.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Run {
	Ctx *c;
	Status st;
	Value last;
	char printed[4096];
	size_t nprinted;
	char said[1024];
} Run;

static void collect(void *ud, const char *text, size_t n) {
	Run *r = ud;
	if (r->nprinted + n >= sizeof r->printed) return;
	memcpy(r->printed + r->nprinted, text, n);
	r->nprinted += n;
}

static void add_said(void *ud, const char *text, size_t n) {
	Run *r = ud;
	size_t have = strlen(r->said);
	if (have + n >= sizeof r->said) return;
	memcpy(r->said + have, text, n);
	r->said[have + n] = 0;
}

static void start(Run *r, NativeMode mode) {
	memset(r, 0, sizeof *r);
	r->c = ctx_new(NULL);
	ctx_grant(r->c, GRANT_ALL);
	ctx_set_output(r->c, collect, r);
	backend_init(r->c);
	autodiff_init(r->c);
	session_init(r->c);
	solvers_init(r->c);
	backend_set_native(r->c, mode);
}

static void go(Run *r, const char *text) {
	diag_clear(r->c);
	value_unref(r->last);
	r->last = (Value){.kind = V_UNSET};
	r->said[0] = 0;
	r->st = session_run(session_of(r->c), "test.dsl", text, strlen(text), NULL, NULL, &r->last);
	for (uint32_t i = 0; i < diag_total(r->c); i++)
		diag_render(r->c, diag_at(r->c, i), false, add_said, r);
}

static void finish(Run *r) {
	value_unref(r->last);
	ctx_free(r->c);
}

static double real_part(Value v) {
	double z[2] = {NAN, 0};
	scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), DT_C128, z);
	return z[0];
}

/* Compares reals to about ten digits, everything else exactly. */
static bool alike(Value a, Value b) {
	if (value_identical(a, b)) return true;
	if (a.kind != b.kind) return false;
	if (a.kind == V_SCALAR) {
		double x = real_part(a), y = real_part(b), eps = a.dtype == DT_F32 ? 1e-4 : 1e-10;
		return a.dtype == b.dtype && dtype_is_real((Dtype)a.dtype) &&
		       ((isnan(x) && isnan(y)) || fabs(x - y) <= eps * fmax(1, fabs(x)));
	}
	if (a.kind == V_TENSOR) {
		const Tensor *x = a.tensor, *y = b.tensor;
		if (x->dtype != y->dtype || !tensor_same_shape(x, y) || dtype_is_complex((Dtype)x->dtype))
			return false;
		int64_t at[MAX_RANK] = {0};
		const double eps = x->dtype == DT_F32 ? 1e-4 : dtype_is_real((Dtype)x->dtype) ? 1e-10 : 0;
		for (int64_t i = 0; i < x->count; i++) {
			double p = tensor_get(x, at), q = tensor_get(y, at);
			if (!(p == q || (isnan(p) && isnan(q)) || fabs(p - q) <= eps * fmax(1, fabs(p))))
				return false;
			for (uint32_t k = x->rank; k-- > 0;) {
				if (++at[k] < x->shape[k]) break;
				at[k] = 0;
			}
		}
		return true;
	}
	if (a.kind != V_TUPLE || a.object->n != b.object->n) return false;
	for (uint32_t i = 0; i < a.object->n; i++)
		if (!alike(((SeqObject *)a.object)->items[i], ((SeqObject *)b.object)->items[i]))
			return false;
	return true;
}

/* Runs the text in both tiers. At least one unit must have run as machine
 * code. */
static void compare(const char *text, Status expected) {
	Run cold, hot;
	start(&cold, NATIVE_OFF);
	start(&hot, NATIVE_ALWAYS);
	go(&cold, text);
	go(&hot, text);
	bool good = cold.st == hot.st && (cold.st != ST_OK || alike(cold.last, hot.last)) &&
	            !strcmp(cold.said, hot.said) && cold.nprinted == hot.nprinted &&
	            !memcmp(cold.printed, hot.printed, cold.nprinted);
	if (!good)
		fprintf(stderr,
		        "differs:\n%s\n-- evaluator, status %d:\n%s-- machine code, status %d:\n%s\n", text,
		        cold.st, cold.said, hot.st, hot.said);
	CHECK(good);
	if (cold.st != expected) fprintf(stderr, "status %d of:\n%s\n%s\n", cold.st, text, cold.said);
	CHECK(cold.st == expected);
	CHECK(!run_counters(cold.c)->native_calls);
	if (!run_counters(hot.c)->native_calls) fprintf(stderr, "nothing native in:\n%s\n", text);
	CHECK(run_counters(hot.c)->native_calls);
	finish(&cold);
	finish(&hot);
}

static const char *const programs[] = {
	/* Short unrolled loops over the elements of small arrays: nested, with
	 * branches on the counter, counted down, and empty. */
	"f(v) = { a = zeros(4); for i in 0..4 { for j in i+1..4 { a[i] += v[j]*v[i]; a[j] -= v[i] } }; "
	"a }\nf([0.3, 0.7, -1.2, 2.5])",
	"f(v) = { a = v; for i in 0..4 { for j in 0..4 { if i == j { a[i] = a[i] + 1 } else { a[j] += "
	"0.1*a[i] } } }; a }\nf([0.3, 0.7, -1.2, 2.5])",
	"f(v, n) = { s = 0.0; for k in 0..n { a = v*k; for i in 0..3 { a[-1 - i] += a[i]^2; s += a[i] "
	"} }; s }\nf([0.3, 0.7, -1.2], 50)",
	"f(v) = { a = v; for i in 0..0 { a[i] = 7.0 }; for i in 0..1 { a[i] = sqrt(a[i]) }; a "
	"}\nf([0.3, 0.7, -1.2])",
	"f(v) = { a = eye(3); for i in 0..3 { for j in 0..3 { for k in 0..3 { a[i, j] += v[k]*v[j] - "
	"v[i] } } }; a }\nf([0.3, 0.7, -1.2])",
	"f(v) = { a = v; n = 0; for i in 0..5 { k = 0; while a[i] > 1 { a[i] = a[i]/2; k += 1 }; n = "
	"n*10 + k }; (a, n) }\nf([0.3, 7.0, 12.0, 1.0, 99.0])",
	"f(v, w) = { s = w; for i in 0..3 { s[i + 10] = s[i]*v[i] + s[20] }; s }\nf([0.3, 0.7, -1.2], "
	"linspace(0, 1, 40))",
	"f(v) = { a = v; for i in 0..4 { a[i] = a[(i + 1) % 4] + i }; a }\ngrad(v -> "
	"sum(f(v)^2))([0.3, 0.7, -1.2, 2.5])",
	/* Scalars and control flow. */
	"f(n) = { s = 0.0; for i in 0..n { s = s + 1/(1.0 + i) }; s }\nf(1000)",
	"f(x) = { n = 0; while x > 1.5 { x = sqrt(x); n = n + 1 }; (x, n) }\nf(1e10)",
	"f(n) = { s = 0; for i in 0..n { for j in 0..i { if (i + j) % 3 == 0 { s = s + i*j } else { s "
	"= s - 1 } } }; s }\nf(40)",
	"f(n) = { s = 0; for i in 0..n { if i == 17 { break }; if i % 2 == 0 { continue }; s = s + i "
	"}; s }\nf(30)",
	"f(a, b) = { while b != 0 { t = a % b; a = b; b = t }; a }\nf(1071, 462)",
	"fib(n) = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }\nfib(17)",
	"ack(m, n) = if m == 0 { n + 1 } else { if n == 0 { ack(m - 1, 1) } else { ack(m - 1, ack(m, n "
	"- 1)) } }\nack(2, 5)",
	"ev(n) = if n == 0 { true } else { od(n - 1) }\nod(n) = if n == 0 { false } else { ev(n - 1) "
	"}\n(ev(20), od(7), ev(5))",
	"f(x) = { s = f32(0); for i in 0..50 { s = s + f32(x)*i }; s }\nf(0.1)",
	"f(n) = { s = i32(1); for i in 0..n { s = s * i32(31) + i32(i) }; s }\nf(30)",
	"f(n) = { ok = true; for i in 0..n { ok = ok and i*i < 5000 or i == 3 }; ok }\nf(60)",
	"f(x) = -7 // x + -7 % x + x^3 + abs(-x) + sign(x)\nf(2)",
	"f(x) = (floor(x), round(x), -x // 0.3, x % -0.7, max(x, 2.0), min(x, 0/x*0))\nf(1.7)",
	"f(x) = sin(x) + cos(x)*tan(x) - exp(-x) + log(x) + sqrt(x) + tanh(x) + atan(x) + erf(x) + "
	"log1p(x) + expm1(x) + cbrt(x) + x^1.7\nf(0.83)",
	"f(n) = { s = 0.0; for i in 0..n { s = s + i }; s }\n(f(0), f(-3), f(1))",
	"f(x) = { n = 0; while x < 0.0 { x = x + 1; n = n + 1 }; n }\n(f(1.0), f(-2.5))",
	/* Small arrays. */
	"f(u) = { for k in 0..100 { u = u + 0.01*[10*(u[1] - u[0]), u[0]*(28 - u[2]) - u[1], u[0]*u[1] "
	"- 8/3*u[2]] }; u }\nf([1.0, 2, 3])",
	"f(A, x) = { for i in 0..20 { x = A @ x; x = x/sqrt(x @ x) }; x }\nf([2, 1.0; 1, 3], [1.0, 0])",
	"f(A) = { for i in 0..5 { A = A @ transpose(A) / sum(A); A = A + transpose(A) }; A }\nf([2, "
	"1.0, 0; 1, 3, 1; 0.5, 1, 1])",
	"f(x) = { s = 0.0; for i in 0..len(x) { s = 2s + x[i] }; s }\nf([3.0, 1, 4, 1, 5])",
	"f(x) = { for i in 0..len(x) { for j in 0..len(x) - 1 { if x[j] > x[j + 1] { t = x[j]; x[j] = "
	"x[j + 1]; x[j + 1] = t } } }; x }\n"
	"(f([5.0, 2, 9, 1, 7, 3]), f([5, 2, 9, 1, 7, 3, 11, -4, 12, 0]))",
	"f(x) = (argmax(x), max(x), min(x), prod(x), cumsum(x), sum(x), mean(x))\nf([3.0, 1, 4, 1, 5, "
	"9, 2, 6])",
	"f(x) = (sum(x; axis = 0), sum(x; axis = 1), max(x; axis = 1), argmax(x; axis = 0), cumsum(x; "
	"axis = 1), x[1], x[.., 2], x[.., ..  by -1])\n"
	"f([1, 7, 3; 4.0, 5, 6])",
	"f(x) = { y = x[[2, 0, 1]]; y[0] += 1; for i in 0..3 { y[i] = y[2 - i] + x[i] }; concat(y, "
	"x[1..], [9.0]) }\nf([3.0, 1, 4])",
	"step(x, v, m) = { for i in 0..3 { for j in i + 1..3 { d = x[i] - x[j]; r = sum(d*d)^1.5; v[i] "
	"= v[i] - d*m[j]/r; v[j] = v[j] + d*m[i]/r } }; (x + 0.1v, v) }\n"
	"f(x, v, m) = { for k in 0..9 { (x, v) = step(x, v, m) }; x }\nf([0.0, 0; 1, 0; 0, 2], [0.0, "
	"0; 0, 1; 1, 0], [1.0, 0.1, 0.2])",
	"f(b) = { for i in 0..5 { b[i] = not b[(i + 1) % 5] or b[0] }; b }\nf([true, false, true, "
	"true, false])",
	/* Large arrays, element by element. */
	"f(n) = { a = ones(n); c = 0; for i in 2..n { if a[i] > 0.5 { c = c + 1; j = i*i; while j < n "
	"{ a[j] = 0.0; j = j + i } } }; c }\nf(1000)",
	"f(n) = { a = zeros(n); for i in 0..n { a[i] = i*i }; for i in 1..n { a[i] += a[i - 1] }; a "
	"}\nf(100)",
	"f(n) = { a = zeros(n); b = a; for i in 0..n { a[i] = i; b[n - 1 - i] = a[i] }; (a, b) "
	"}\nf(100)",
	"f(a) = { b = a; a[3] = 7.0; a[-1] = b[3]; (a, b) }\nf(linspace(0, 1, 50))",
	"f(a) = { s = 0.0; for i in 0..20 { a[i] = a[i] + 1; s = s + a[-i] }; (s, a) }\nx = "
	"linspace(0, 1, 40)\n(f(x), x)",
	"f(a, n) = { for k in 0..n { a = a + 0.1 }; a }\nx = linspace(0, 1, 40)\n(f(x, 0), f(x, 1), "
	"f(x, 2), f(x, 5), x)",
	"f(a, n) = { k = 0; while k < n { a = 0.5*(a + a[.. by -1]^2); k = k + 1 }; a }\nx = "
	"linspace(0, 1, 40)\n(f(x, 0), f(x, 1), f(x, 2), f(x, 3), x)",
	"f(a, b, n) = { for i in 0..n { t = a; a = b; b = t + 0.5*a }; (a, b) }\nf(linspace(0, 1, 50), "
	"linspace(2, 3, 50), 7)",
	"f(a, b, n) = { for i in 0..n { t = a; a = b; b = t }; (a, b) }\nf(linspace(0, 1, 50), "
	"linspace(2, 3, 50), 3)",
	"f(a, n) = { for i in 0..n { if i % 3 == 0 { a = a*1.5 } else { a[i] = 0.0 } }; a "
	"}\nf(linspace(1, 2, 50), 10)",
	"f(a, n) = { for i in 0..n { if a[i] > 0.5 { for j in 0..i { a[j] = a[j] + a[i] } } }; a "
	"}\nf(linspace(0, 1, 50), 50)",
	"f(a, n) = { keep = a; for i in 0..n { b = a; b[i] = 5.0; a = a + 0.1*b; keep[i] = a[i + 1] }; "
	"(a, keep) }\nf(linspace(0, 1, 50), 10)",
	"f(u, n) = { for k in 0..n { v = u; u[1..-1] = v[1..-1] + 0.1*(v[2..] - 2v[1..-1] + v[..-2]) "
	"}; u }\nf(linspace(0, 1, 50)^2, 11)",
	"f(M) = { for i in 0..len(M) { M[i, i] = 1.0; M[i] = M[i]/sum(M[i]); M[0, i] += M[i, 0] }; M "
	"}\nf(reshape(linspace(1, 2, 400), 20, 20))",
	"f(x, k) = { h = zeros(30); for i in 0..len(x) { h[k[i]] += x[i] }; h }\nf(linspace(0, 1, 90), "
	"iota(90) % 30)",
	"f(x) = { best = x[0]; at = 0; for i in 0..len(x) { if x[i] > best { best = x[i]; at = i } }; "
	"(best, at) }\nf(sin(linspace(0, 9, 100)))",
	"f(x, n) = { s = 0.0; for i in 0..n { s = s + sum(x[i..])*x[0] + x[len(x) - 1] }; s "
	"}\nf(linspace(0, 1, 60), 5)",
	"f(x) = { lo = 0; hi = len(x); while hi - lo > 1 { m = (lo + hi) // 2; if x[m] <= 0.3 { lo = m "
	"} else { hi = m } }; lo }\nf(linspace(0, 1, 1001))",
	"f(x, n) = { M = zeros(60, 40); for i in 0..n { x = x*0.9 + sin(x); M[i] = x; M[i + 1] += x; "
	"M[.., i] = M[.., i + 2]*2; M[.., 1] += M[.., i] }; M }\n"
	"f(linspace(0, 1, 40), 30)",
	"f(x, n) = { for i in 0..n { x = x + 0.1*sin(x)*i }; sum(x*x) }\n(grad(f)(linspace(0, 1, 40), "
	"20), grad(f)(linspace(0, 1, 40), 0))",
	"f(x, n) = { i = 0; while i < n { x = x + 0.1*sin(x)*i; i = i + 1 }; sum(x*x) "
	"}\ngrad(f)(linspace(0, 1, 40), 20)",
	/* Whole arrays. */
	"f(a, x) = sum(tanh(a*x) + x^2)\nf(2.0, linspace(0, 1, 1000))",
	"f(W, b, x) = tanh(W @ x + b)\nf(reshape(linspace(-1, 1, 800), 20, 40), linspace(0, 1, 20), "
	"linspace(1, 2, 40))",
	"f(x) = (softmax(x), sum(x; axis = 0), x - mean(x))\nsoftmax(x) = { e = exp(x - max(x)); "
	"e/sum(e) }\nf(sin(linspace(0, 9, 100)))",
	"g(x) = grad(x -> sum(sin(x)*x^2))(x)\ng(linspace(0, 1, 100))",
	"r(x) = sum(100(x[1..] - x[..-1]^2)^2 + (1 - x[..-1])^2)\n(r(linspace(0, 1, 100)), "
	"grad(r)(linspace(0, 1, 100)))",
	"f(x) = { y = x; for i in 0..10 { y = y - 0.01*grad(x -> sum(x^4))(y) }; y }\nf(linspace(0, 1, "
	"50))",
	/* Operations that stay in the evaluator between units. */
	"f(x) = { y = sin(x)*2 + x; print(\"sum {sum(y):.6f}\"); z = sort(y - x); w = cumsum(z*z); "
	"print(\"{sum(w):.6f}\"); w[-1] }\nf(linspace(0, 9, 100))",
	"f(n) = { s = 0.0; for i in 0..n { s = s + sin(i*1.0)*i + i*i*0.5; if i % 4 == 0 { "
	"print(\"{i}: {s:.6f}\") } }; s }\nf(10)",
	"f(n) = { a = zeros(2n); b = ones(n); for i in 0..n { a[i] = b[i]*i; a[n + i] = a[i]*2 }; a "
	"}\nf(40)",
	"f(x) = { m = x[x > 0.5]; s = sum(m*m) + sum(tanh(m)*m); for i in 0..len(m) { s = s + m[i] }; "
	"s }\nf(linspace(0, 1, 50))",
	"f(A, b) = { x = solve(A, b); r = A @ x - b; (sum(r*r) < 1e-20, x*2 + 1, tanh(x)) }\nf([4.0, "
	"1, 0; 1, 3, 1; 0, 1, 5], [1.0, 2, 3])",
	"f(x) = { y = x*2; for i in 0..9 { y = y + sin(y)/(i + 1.0) }; z = 0im; n = 0; while n < 50 "
	"and abs(z) < 2 { z = z*z + y; n = n + 1 }; (y, n) }\nf(0.3)",
	"f(n) = { s = 0.0; for i in 0..n { try { for k in 0..5 { if k + i == 7 { error(\"no\") }; s = "
	"s + sin(k*1.0) } } catch e { s = s + 100 } }; s }\nf(6)",
};

static const char *const failures[] = {
	"f(v) = { s = 0.0; for i in 0..4 { s += v[i + 1] }; s }\nf([0.3, 0.7, -1.2, 2.5])",
	"f(v) = { a = v; for i in 0..4 { for j in i..5 { a[j] += v[i] } }; a }\nf([0.3, 0.7, -1.2, "
	"2.5])",
	"f(v) = { n = 0; for i in 0..3 { n += 6 // (i64(v[i])) }; n }\nf([3.0, 2.0, 0.5])",
	"f(x, i) = { s = 0.0; for k in 0..10 { s = s + x[k + i] }; s }\nf(linspace(0, 1, 30), 25)",
	"f(x, i) = { for k in 0..10 { x[k + i] = 1.0 }; x }\nf(linspace(0, 1, 30), 25)",
	"f(x, i) = { s = 0.0; for k in 0..10 { s = s + x[k - i] }; s }\nf([1.0, 2, 3], 2)",
	"f(a, n) = { s = 0; for k in 0..n { s = s + a // (5 - k) }; s }\nf(100, 9)",
	"f(a, n) = { s = 0; for k in 0..n { s = s + a % (5 - k) }; s }\nf(100, 9)",
	"f(a, n) = { s = 0; for k in 0..n { s = s + a^(5 - k) }; s }\nf(2, 9)",
	"f(n) = { s = 0.0; for k in 0..n { s = s + sqrt(k*1.0); if k == 7 { error(\"seven\") } }; s "
	"}\nf(9)",
	"f(n, x) = { for k in 0..n { x = x/2 + 1; if k == 7 { error(\"step {k}: {x:.3f}\") } }; x "
	"}\nf(9, 3.0)",
	"f(x, y) = { s = 0.0; for i in 0..10 { s = s + sum(x*y) + i }; s }\nf(linspace(0, 1, 30), "
	"linspace(0, 1, 31))",
	"g(x, i) = { y = x*2 + sin(x); y[i] + sum(y) }\nf(x) = { s = 0.0; for i in 25..35 { s = s + "
	"g(x, i) }; s }\nf(linspace(0, 1, 30))",
	("g(x, i) = { s = 0.0; for k in 0..3 { s = s + x[i + k]^2 }; s }\nh(x, i) = { t = g(x, i); u = "
     "g(x, i + 1); t*u + t/u }\n"
     "f(x) = { print(\"before\"); a = h(x, 1); print(\"{a > 0}\"); b = h(x, 99); print(\"after\"); "
     "a + b }\nf(linspace(0, 1, 30))"),
	"f(x) = { print(\"one\"); y = x[3]*2 + sin(x[4]); print(\"two\"); z = x[60]; print(\"three\"); "
	"y + z }\nf(linspace(0, 1, 30))",
	"f(x, n) = { s = 0.0; for i in 0..n { s = s + max(x[i..]) }; s }\nf(linspace(0, 1, 20), 25)",
	/* Recursion: a failure lists the calls that it passed, each with its own
	 * location. */
	"f(n) = if n < 2 { n } else { f(n - 1) % (n - 5) + f(n - 2) }\nf(12)",
	"a(n) = if n < 3 { 7 % n } else { b(n - 1) + b(n - 2) }\nb(n) = if n < 1 { 2 % n } else { a(n "
	"- 2) - c(n - 1) }\nc(n) = b(n) + 1\na(17)",
	"f(n) = if n < 2 { if n == 0 { error(\"none\") }; n } else { f(n - 1) + f(n - 2) }\nf(7)",
	"f(n, x) = if n == 0 { 5 % x } else { f(n - 1, x) + 1 }\ng(m) = { s = 0; for k in 0..m { s = s "
	"+ f(4, 3 - k) }; s }\ng(9)",
	"l(x, i) = x[i]^2*sin(x[i]) + x[i + 1]\nf(x) = { s = 0.0; for i in 0..40 { s = s + l(x, i) + "
	"grad(x -> l(x, i))(x)[i] }; s }\nf(linspace(0, 1, 30))",
};

/* Both tiers report excessive depth at the failing call. Only the evaluator
 * lists the calls around it. */
static void depth(void) {
	const char *text = "f(n) = if n == 0 { 0 } else { 1 + f(n - 1) }\nf(1000000)";
	Run cold, hot;
	start(&cold, NATIVE_OFF);
	start(&hot, NATIVE_ALWAYS);
	go(&cold, text);
	go(&hot, text);
	CHECK(cold.st == ST_LIMIT && hot.st == ST_LIMIT && run_counters(hot.c)->native_calls);
	CHECK(!strncmp(cold.said, hot.said, strcspn(cold.said, "\n")));
	finish(&cold);
	finish(&hot);
}

/* One compilation serves all extents and trip counts. */
static void lengths(void) {
	Run r;
	start(&r, NATIVE_ALWAYS);
	go(&r, "f(x, n) = { s = 0.0; for i in 0..n { s = s + x[i]*sum(x) }; s + sum(tanh(x)*x) "
	       "}\nf(linspace(0, 1, 100), 10)");
	CHECK(r.st == ST_OK);
	go(&r, "f(linspace(0, 1, 200), 20)");
	uint64_t before = run_counters(r.c)->units_compiled, calls = run_counters(r.c)->native_calls;
	for (int n = 30; n < 400; n += 41) {
		char text[80];
		snprintf(text, sizeof text, "f(linspace(0, 1, %d), %d)", n, n / 3);
		go(&r, text);
		CHECK(r.st == ST_OK);
	}
	/* Each statement is a small program of its own. The function is not
	 * compiled again. */
	CHECK(run_counters(r.c)->units_compiled - before <= 10);
	CHECK(run_counters(r.c)->native_calls > calls);
	finish(&r);
}

/* A loop of unknown trip count continues as machine code; so does a loop at top
 * level. */
static void long_loops(void) {
	Run r;
	start(&r, NATIVE_ON);
	go(&r, "x = zeros(100)\ni = 0\nwhile i < 1500000 { x[i % 100] += 0.5*i; i = i + 1 }\nsum(x)");
	CHECK(r.st == ST_OK && r.last.kind == V_SCALAR && r.last.f == 0.5 * 1500000 * 1499999.0 / 2);
	CHECK(run_counters(r.c)->native_calls == 1);
	CHECK(run_counters(r.c)->instructions < 4000000);
	uint64_t before = run_counters(r.c)->instructions;
	go(&r, "c = 0\nfor i in 0..2000000 { if i % 3 == 0 { c = c + i } }\nc");
	CHECK(r.st == ST_OK && r.last.kind == V_SCALAR && r.last.i == 3LL * 666666 * 666667 / 2);
	CHECK(run_counters(r.c)->instructions - before < 1000000);
	finish(&r);
}

/* Integrators call right-hand sides and Jacobians on their own memory. Errors
 * in them are reported as before. */
static const char *const solves[] = {
	"problem decay(k) { domain t in [0, 3]; field a, b; a_t == -k*a + b^2; b_t == k*a - b^2; a == "
	"1 at t = 0; b == 0 at t = 0 }\n"
	"s = solve(decay(2.0), bdf(), saveat = [1.0, 3.0], rtol = 1e-9)\n(s.a(1.0), s.b(3.0), "
	"s.stats.rhs > 20)",
	"problem decay(k) { domain t in [0, 3]; field a, b; a_t == -k*a + b^2; b_t == k*a - b^2; a == "
	"1 at t = 0; b == 0 at t = 0 }\n"
	"grad(k -> solve(decay(k), adams(), saveat = [1.0, 3.0], rtol = 1e-10, atol = "
	"1e-12).a(3.0))(2.0)",
	("f(t, y) = [y[1], -sin(y[0])]\nuse ode\node(f, [0.5, 0.0], (0.0, 4.0); saveat = [1.0, 4.0], "
     "rtol = 1e-9).values"),
};
static const char *const bad_solves[] = {
	"use ode\nw = linspace(0, 1, 5)\nf(t, y) = [w[i64(floor(t*3))], -y[0]]\node(f, [0.5, 0.0], "
	"(0.0, 4.0); saveat = [4.0]).values",
	"use ode\nf(t, y) = { if y[0] > 2 { error(\"too much: {y[0] > 1}\") }; [1 + y[0], y[1]] "
	"}\node(f, [0.5, 0.0], (0.0, 4.0); saveat = [4.0]).values",
};

/* An interrupt stops machine code, and the function runs again afterwards. */
static void interrupts(void) {
	Run r;
	start(&r, NATIVE_ALWAYS);
	go(&r, "f(n) = { s = 0.0; i = 0; while i < n { s = s + sqrt(i*1.0); i = i + 1 }; s }\nf(1000)");
	CHECK(r.st == ST_OK);
	ctx_interrupt_at_poll(r.c, 20);
	go(&r, "f(100000000)");
	ctx_interrupt_at_poll(r.c, 0);
	ctx_clear_interrupt(r.c);
	CHECK(r.st == ST_INTERRUPTED && strstr(r.said, "test.dsl"));
	go(&r, "f(1000)");
	CHECK(r.st == ST_OK);
	ctx_set_step_limit(r.c, ctx_steps(r.c) + 100000);
	go(&r, "f(100000000)");
	CHECK(r.st == ST_LIMIT);
	finish(&r);
}

/* The target's instruction set decides whether a module is too large to
 * optimise. */
static void levels(void) {
	static const struct Size {
		const char *target;
		int n, level;
	} sizes[] = {{"x86-64", 7000, 2}, {"x86-64", 8000, 0}, {"v3", 8000, 2},
	             {"v3", 14500, 2},    {"v3", 15500, 0},    {"v4", 15500, 2},
	             {"neon", 7000, 2},   {"neon", 8000, 0},   {"scalar-shape", 4000, 0}};
	Ctx *c = ctx_new(NULL);
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		KTarget t;
		if (!native_target_named(sizes[k].target, &t)) continue;
		KModule *m = kmodule_new(c, &t);
		KBuilder b;
		k_function(&b, m, 0);
		KRef i, x;
		k_vloop_begin(&b, 8, 0, k_word(&b, KT_I64, 0), 0, NULL, NULL, &i);
		x = k_load(&b, KT_F64, KM_UNIT, k_buffer(&b, 0), i, 0);
		for (int turn = 0; turn < sizes[k].n; turn++) x = k_add(&b, x, x);
		k_store(&b, KM_UNIT, k_buffer(&b, 1), i, x, 0);
		k_vloop_end(&b, NULL, NULL);
		k_return(&b, 0, NULL);
		if (native_level(m) != sizes[k].level)
			printf("%d additions of 8 lanes on %s: level %d\n", sizes[k].n, sizes[k].target,
			       native_level(m));
		CHECK(native_level(m) == sizes[k].level);
		kmodule_free(m);
	}
	ctx_free(c);
}

double native_module_seconds(const KModule *m);
double osr_budget(int64_t from, int64_t to, double seconds);
uint64_t backend_native_pending(Ctx *c);

/* Returns the predicted compile time of a module that applies op n times to
 * each element. */
static double seconds_for(Ctx *c, const KTarget *t, Op op, int n) {
	KModule *m = kmodule_new(c, t);
	KBuilder b;
	k_function(&b, m, 0);
	KRef i, x;
	k_vloop_begin(&b, 8, 0, k_word(&b, KT_I64, 0), 0, NULL, NULL, &i);
	x = k_load(&b, KT_F64, KM_UNIT, k_buffer(&b, 0), i, 0);
	for (int turn = 0; turn < n; turn++) x = op == OP_ADD ? k_add(&b, x, x) : k_prim1(&b, op, x);
	k_store(&b, KM_UNIT, k_buffer(&b, 1), i, x, 0);
	k_vloop_end(&b, NULL, NULL);
	k_return(&b, 0, NULL);
	const double seconds = native_module_seconds(m);
	kmodule_free(m);
	return seconds;
}

/* Compilation is deferred according to its predicted time and the time that it
 * may take. */
static void putting_off(void) {
	Ctx *c = ctx_new(NULL);
	KTarget t;
	if (native_target_named("v4", &t) || native_target_named("neon", &t)) {
		const double nothing = seconds_for(c, &t, OP_ADD, 0),
					 add = seconds_for(c, &t, OP_ADD, 100) - nothing,
					 sine = seconds_for(c, &t, OP_SIN, 100) - nothing;
		CHECK(add > 0 && sine > 8 * add && sine < 20 * add);
		/* At a low optimisation level a sine is compiled as a call. */
		const double many = seconds_for(c, &t, OP_SIN, 40000),
					 few = seconds_for(c, &t, OP_ADD, 40000);
		CHECK(fabs(many - few) < 0.01 * few);
	}
	ctx_free(c);
	/* A thousand iterations remain; the first hundred took half a second. */
	CHECK(osr_budget(100, 1100, 0.5) == 5);
	CHECK(osr_budget(1000, 1001, 8) == 8.0 / 1000); /* one iteration */
	CHECK(osr_budget(64, 0, 0.5) == 0.5);           /* unknown trip count: as long again */
	/* 200 iterations of some 0.3 ms: compiling the 2000 sines of each would
	 * take seconds, so it is deferred. A loop of many cheap iterations is
	 * compiled. */
	char program[40000];
	size_t n = (size_t)snprintf(program, sizeof program, "f(x) = {\n");
	for (int i = 0; i < 2000; i++)
		n += (size_t)snprintf(program + n, sizeof program - n, "x = sin(x)\n");
	snprintf(program + n, sizeof program - n,
	         "x }\nx = zeros(3)\nfor i in 0..200 { x = f(x) }\nx[0]");
	Run r;
	start(&r, NATIVE_ON);
	go(&r, program);
	CHECK(r.st == ST_OK && run_counters(r.c)->units_compiled == 0);
	finish(&r);
	start(&r, NATIVE_ON);
	go(&r, "s = 0.0\nfor i in 0..30000000 { s = sin(s) + 1.0 }\ns");
	CHECK(r.st == ST_OK && run_counters(r.c)->units_compiled > 0);
	finish(&r);
	/* A loop of unknown trip count: each call is shorter than the compilation,
	 * all of them together are longer. */
	n = (size_t)snprintf(program, sizeof program, "f(x) = {\nk = 0\nwhile k < 3000 {\n");
	for (int i = 0; i < 40; i++)
		n += (size_t)snprintf(program + n, sizeof program - n, "x = sin(x) + 0.1\n");
	n += (size_t)snprintf(program + n, sizeof program - n, "k = k + 1\n}\nx }\n");
	for (int i = 0; i < 80; i++)
		n += (size_t)snprintf(program + n, sizeof program - n, "f(%d.0)\n", i);
	setenv("ATLED_CACHE", "off", 1); /* cached code would be used at once */
	start(&r, NATIVE_ON);
	go(&r, program);
	for (int k = 0; k < 6000 && backend_native_pending(r.c); k++) usleep(10000);
	const uint64_t calls = run_counters(r.c)->native_calls, steps = run_counters(r.c)->instructions;
	go(&r, "f(1.0)");
	CHECK(r.st == ST_OK && run_counters(r.c)->native_calls > calls &&
	      run_counters(r.c)->instructions - steps < 1000);
	finish(&r);
}

int main(int argc, char **argv) {
	(void)argc;
	char path[PATH_MAX], full[PATH_MAX];
	const char *slash = strrchr(argv[0], '/');
	snprintf(path, sizeof path, "%.*s/../libatled-codegen.so", slash ? (int)(slash - argv[0]) : 1,
	         slash ? argv[0] : ".");
	if (!getenv("ATLED_CODEGEN") && realpath(path, full)) setenv("ATLED_CODEGEN", full, 1);
	Run r;
	start(&r, NATIVE_ALWAYS);
	go(&r, "f(n) = { s = 0.0; for i in 0..n { s = s + 1/(1.0 + i) }; s }\nf(10)");
	bool there = run_counters(r.c)->native_calls > 0;
	finish(&r);
	if (!there) {
		check_skip("no machine code here");
		return check_end();
	}
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) compare(programs[i], ST_OK);
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) compare(failures[i], ST_ERROR);
	for (size_t i = 0; i < sizeof solves / sizeof *solves; i++) compare(solves[i], ST_OK);
	for (size_t i = 0; i < sizeof bad_solves / sizeof *bad_solves; i++)
		compare(bad_solves[i], ST_ERROR);
	depth();
	lengths();
	long_loops();
	interrupts();
	levels();
	putting_off();
	return check_end();
}
