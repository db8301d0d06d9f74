/* text_help.h - shared helpers of the tests of the IR: reading and printing
 * functions, texts that the writer prints, copies, the runner.
 *
 * Needs: lang/builder/, check.h.
 * Guarantees: every primitive except host calls occurs in some text or is
 * element-wise.
 */
#ifndef ATLED_TESTS_UNIT_IR_TEXT_HELP_H
#define ATLED_TESTS_UNIT_IR_TEXT_HELP_H

#include "lang/builder/internal.h"
#include "tests/unit/support/check.h"
#include <stdio.h>
#include <stdlib.h>

static inline char *copy_text(const char *s, size_t n) {
	char *out = malloc(n + 1);
	memcpy(out, s, n);
	out[n] = 0;
	return out;
}

static inline char *print_fn(const Fn *f) {
	Text text;
	text_init(&text, f->ctx);
	fn_print(&text, f);
	char *out = text.failed ? NULL : copy_text(text.at ? text.at : "", text.n);
	text_free(&text);
	return out;
}

static inline Fn *read_bytes(Ctx *c, const char *text, size_t n) {
	return fn_read(c, source_add(c, "test.ir", text, n), NULL);
}
static inline Fn *read_fn(Ctx *c, const char *text) { return read_bytes(c, text, strlen(text)); }

static inline void show_diags(Ctx *c) {
	for (uint32_t i = 0; i < diag_total(c); i++)
		printf("  %s %s\n", diag_code_id(diag_at(c, i)->code), diag_at(c, i)->message);
	diag_clear(c);
}

/* ---- texts --------------------------------------------------------------- */

/* Texts in the form that the writer prints. */
static const char *const texts[] = {
	"fn @empty() -> () {\n  return\n}\n",
	"fn @kept(%0: f64) -> (f64) @1:2:9 snapshots(20, 0) {\n  return %0\n}\n",
	"fn @kept(%0: f64, %1: i64) -> (f64) snapshots(0, 64000000) by_lane(1) {\n  return %0\n}\n",
	"fn @names[n, n.1, _.2, _.3 = \"_\", floor.4, _.5 = \"a b\"](%0 x: f64[n, n.1], %1 \"odd "
	"name\": i32[_.2, "
	"_.3, floor.4, _.5]) -> (f64[n, n.1]) {\n  return %0\n}\n",
	"fn @dims[n, m](%0: f64[n + 1, n*m, 2*n - 2, floor(n/2), n^2 + m - 3]) -> (f64[n + 1, n*m, 2*n "
	"- 2, "
	"floor(n/2), n^2 + m - 3]) {\n  return %0\n}\n",
	"fn @constants() -> (f64, f64, f64, f64, f64, f64, f64, f64) {\n"
	"  return 1.5, -0.0, inf, -inf, nan, nan(0xfff8000000000000), 0.1, 1e+300\n}\n",
	"fn @more() -> (i64, i32, f32, f32, bool, bool, c64, c128, i64, f32, f32) {\n"
	"  return -3, 7:i32, 0.1:f32, nan(0x7f800001):f32, true, false, complex(1.0, -0.0):c64, "
	"complex(nan, 2.5), "
	"-9223372036854775808, -inf:f32, 1.17549e-38:f32\n}\n",
	"fn @tensors() -> (f64[2, 2], bool[3], i64[0], i32[1], f32[2], c128[1], c64[1]) {\n"
	"  return f64[2, 2]{1.0, 2.0, 3.0, -0.0}, bool[3]{true, false, true}, i64[0]{}, i32[1]{-1}, "
	"f32[2]{0.1, "
	"nan(0x7fc00001)}, c128[1]{complex(0.0, 1.0)}, c64[1]{complex(0.5, 0.25)}\n}\n",
	"fn @dyn() -> (dyn, dyn, dyn, dyn, dyn, dyn, dyn, dyn) {\n"
	"  return dyn \"a \\\"quoted\\\" \\\\ line\\n\\x01 naïve\", dyn none, dyn (1, 2.5, (true)), "
	"dyn [], "
	"dyn {a: 1, \"b c\": [_, none]}, dyn range(0, 10, -2), dyn _, dyn token\n}\n",
	"fn @spans[n @1:0:3](%0: f64[n]) -> (f64[n]) @1:2:9 {\n  %1 y: f64[n] = neg %0 !jvp !transpose "
	"@1:4:5\n"
	"  %2: f64[n] = sin %1 @1:4:6\n  %3: f64[n] = cos %2 !batch\n  return %3\n}\n",
	"fn @select[n](%0: bool[n], %1: f64[n]) -> (f64[n], f32[n], f64[n]) {\n  %2: f64[n] = select "
	"%0, %1, %1\n"
	"  %3: f32[n] = convert %2 {to: f32}\n  %4: f64[n] = stop_gradient %2\n  return %2, %3, "
	"%4\n}\n",
	"fn @shapes[n, m](%0: f64[n, m], %1: f64) -> (f64[m, n, 2]) {\n"
	"  %2: f64[n, m, 2] = broadcast %0 {shape: [n, m, 2], axes: [0, 1]}\n"
	"  %3: f64 = broadcast %1 {shape: [], axes: []}\n  %4: f64[n*m, 2] = reshape %2 {shape: [n*m, "
	"2]}\n"
	"  %5: f64[m, n, 2] = transpose %2 {perm: [1, 0, 2]}\n"
	"  %6: f64[n - 2, m] = slice %0 {start: [1, 0], length: [n - 2, m], stride: [1, 1]}\n"
	"  %7: f64[n, m] = pad %6 {low: [1, 0], length: [n, m], stride: [1, 1]}\n"
	"  %8: f64[2*n, m] = concat %0, %7 {axis: 0}\n  %9: f64[n, m] = update %0, %6 {start: [n - 1, "
	"0], stride: [-1, 1]}\n"
	"  return %5\n}\n",
	"fn @indexing[n, k](%0: f64[n, 3], %1: i64[k], %2: f64[k, 3], %3: f64[3]) -> (f64[n, 3], f64[n "
	"+ 1, 3]) {\n"
	"  %4: f64[k, 3] = gather %0, %1 {axis: 0, batch: 0}\n"
	"  %5: f64[n, 3] = scatter_add %0, %1, %4 {axis: 0, batch: 0}\n"
	"  %6: f64[n, 3] = scatter_set %5, %1, %2 {axis: 0, batch: 0}\n  %7: f64[n + 1, 3] = push %0, "
	"%3\n"
	"  return %6, %7\n}\n",
	"fn @reductions[n, m](%0: f64[n, m], %1: f64[m, 3]) -> (f64[n, 3]) {\n"
	"  %2: f64[m] = reduce_sum %0 {axes: [0]}\n  %3: f64 = reduce_prod %0 {axes: [0, 1]}\n"
	"  %4: f64[n] = reduce_max %0 {axes: [1]}\n  %5: f64[n] = reduce_min %0 {axes: [1]}\n"
	"  %6: i64[n] = argmax %0 {axis: 1}\n  %7: f64[n, m] = cumsum %0 {axis: 1, reverse: 0}\n"
	"  %8: f64[n, m] = cumprod %0 {axis: 0, reverse: 1}\n"
	"  %9: f64[n, 3] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
	"  %10: i64[n, m] = argsort %0 {axis: 0, descending: 1}\n  return %9\n}\n",
	"fn @makers[n, k](%0: bool[n], %1: i64[2], %2: c128[n]) -> (i64[k], i64[3, n], i64[2], f64[n], "
	"c128[n]) {\n"
	"  %3: i64[k] = nonzero %0 {length: k}\n  %4: f64[n] = iota {to: f64, length: n}\n"
	"  %5: i64[3, n], %6: i64[2] = random_bits %1 {shape: [3, n]}\n  %7: c128[n] = fft %2 {axis: "
	"0, inverse: 1}\n"
	"  return %3, %5, %6, %4, %7\n}\n",
	"fn @dense[n, k](%0: f64[n, n], %1: f64[n, 2], %2: f64[n, k]) -> (f64[n, 2]) {\n"
	"  %3: f64[n, n] = cholesky %0\n  %4: f64[n, n], %5: i64[n] = lu %0\n  %6: f64[n, 2], %7: "
	"f64[2, 2] = qr %1\n"
	"  %8: f64[n], %9: f64[n, n] = eigh %0\n  %10: c128[n], %11: c128[n, n] = eig %0\n"
	"  %12: f64[n, n], %13: f64[n], %14: f64[n, n] = svd %0\n"
	"  %15: f64[n, 2] = trisolve %3, %1 {lower: 1, adjoint: 0, unit: 0}\n"
	"  %16: f64[n, 2] = solved %0, %4, %5, %1, %15 {adjoint: 1}\n  return %16\n}\n",
	"fn @lengths[n, m, k](%0: f64[n], %1: f64[m], %2: i64) -> (f64[n], i64, f64[k]) {\n"
	"  %3: i64 = extent {dim: n + m}\n  bind_dim %2 {dim: k}\n"
	"  guard {left: n, right: m, what: \"the operands of +\"}\n  %4: f64[n] = add %0, %1\n"
	"  %5: f64[k] = iota {to: f64, length: k}\n  return %4, %3, %5\n}\n",
	"fn @control[n](%0: f64[n], %1: i64, %2: bool) -> (f64[n], f64, f64[n], dyn) {\n  %3: f64[n] = "
	"if %2 {\n"
	"    %4: f64[n] = sin %0\n    yield %4\n  } {\n    yield %0\n  } @1:3:4\n"
	"  %5: f64, %6: f64[n] = for %1, 0.0, %3 {\n    (%7 i: i64, %8 s: f64, %9: f64[n]):\n"
	"    %10: f64 = add %8, 1.0\n    %11: f64[n] = mul %9, %0\n    yield %10, %11\n  }\n"
	"  %12: f64[n] = while %6 {\n    (%13: f64[n]):\n    %14: f64 = reduce_sum %13 {axes: [0]}\n"
	"    %15: bool = lt %14, 10.0\n    yield %15\n  } {\n    (%16: f64[n]):\n    %17: f64[n] = add "
	"%16, %16\n"
	"    yield %17\n  }\n  %18: dyn = try {\n    fail dyn \"no\" {code: 2}\n    yield dyn none\n  "
	"} {\n"
	"    (%19: dyn):\n    yield %19\n  }\n  return %12, %5, %6, %18\n}\n",
	"fn @grow[k, j, r](%0: f64[1]) -> (f64[r]) {\n  %1: f64[r] = for 5, %0 {\n    (%2: i64, %3: "
	"f64[k]):\n"
	"    %4: f64[k + 1] = push %3, 2.0\n    yield %4\n  }\n  return %1\n}\n",
	"fn @inner[n](%0: f64[n]) -> (f64[n]) {\n  %1: f64[n] = exp %0\n  return %1\n}\n\n"
	"fn @inner.1(%0: f64) -> (f64) {\n  %1: f64 = log %0\n  return %1\n}\n\n"
	"fn @outer[m](%0: f64[m], %1: f64) -> (f64[m], f64) {\n  %2: f64[m] = call %0 {callee: "
	"@inner}\n"
	"  %3: f64 = call %1 {callee: @inner.1}\n  %4: f64[m] = call %2 {callee: @inner}\n  return %4, "
	"%3\n}\n",
	"fn @fact(%0: i64) -> (i64) {\n  %1: bool = le %0, 1\n  %2: i64 = if %1 {\n    yield 1\n  } {\n"
	"    %3: i64 = sub %0, 1\n    %4: i64 = call %3 {callee: @fact}\n    %5: i64 = mul %0, %4\n    "
	"yield %5\n"
	"  }\n  return %2\n}\n",
	"fn @odd(%0: i64) -> (bool) {\n  %1: bool = eq %0, 0\n  %2: bool = if %1 {\n    yield false\n  "
	"} {\n"
	"    %3: i64 = sub %0, 1\n    %4: bool = call %3 {callee: @even}\n    yield %4\n  }\n  return "
	"%2\n}\n\n"
	"fn @even(%0: i64) -> (bool) {\n  %1: bool = eq %0, 0\n  %2: bool = if %1 {\n    yield true\n  "
	"} {\n"
	"    %3: i64 = sub %0, 1\n    %4: bool = call %3 {callee: @odd}\n    yield %4\n  }\n  return "
	"%2\n}\n",
	"fn @effects(%0: token, %1: i64[2], %2: dyn, %3: f64) -> (token, i64[2], dyn, f64[3]) {\n"
	"  %4: dyn = box dyn (_, 1), %3\n  %5: token, %6: i64[2], %7: dyn = dynamic %0, %1, %2, %4\n"
	"  %8: f64[3] = unbox %7 {to: f64[3]}\n  %9: dyn = format %3 {template: \"x = {0:.3f}\"}\n"
	"  %10: token = print %5, %9\n  %11: token = start\n  return %10, %6, %7, %8\n}\n",
	"fn @told(%0: i64, %1: f64, %2: dyn) -> () {\n  progress %0, 10, %1 {names: \"loss\"}\n  warn "
	"%2\n  return\n}\n",
};
#define NTEXTS (sizeof texts / sizeof *texts)

/* ---- copying ------------------------------------------------------------- */

/* Copies f through the builder, with the same symbols or with fresh ones. */
static inline Fn *copy_fn(Ctx *c, const Fn *f, bool same_symbols) {
	Builder *b = build_begin(c, f->name, f->span, same_symbols ? f : NULL);
	RefMap m = refmap_new(b, f, same_symbols);
	for (uint32_t i = 0; i < fn_nparams(f); i++)
		refmap_set(&m, fn_param(f, i),
		           build_param(b, refmap_type(b, &m, ref_type(f, fn_param(f, i))),
		                       f->vals.at[REF_INDEX(fn_param(f, i))].name));
	for (uint32_t i = 0; i < f->regions.at[0].ninsts; i++)
		build_copy_inst(b, &m, &f->insts.at[f->inst_order.at[f->regions.at[0].insts + i]]);
	Ref results[16];
	for (uint32_t i = 0; i < fn_nresults(f) && i < 16; i++)
		results[i] = refmap_get(b, &m, fn_result(f, i));
	return build_end(b, fn_nresults(f), results);
}

/* ---- runner -------------------------------------------------------------- */

/* The body of main: runs the tests in one context, which has a source, and ends
 * like check_end. */
static inline int run_tests(void (*tests)(Ctx *c, void *arg)) {
	Ctx *c = ctx_new(NULL);
	source_add(c, "user.dsl", "some user text", 14);
	Status status = c ? ctx_protect(c, tests, NULL) : ST_NOMEM;
	if (status != ST_OK) {
		CHECK_MSG(false, "a throw (status %d) ended the tests", (int)status);
		show_diags(c);
	}
	ctx_free(c);
	return check_end();
}

#endif
