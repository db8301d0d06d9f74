/* taylor_batch_cases.h - test functions in the IR's text form: their jets are
 * compared with nested jvp, their batches with single calls.
 *
 * Needs: taylor_batch_help.h.
 * Guarantees: every structural primitive that can be batched and every kind of
 * control flow occurs in some case.
 */
#ifndef ATLED_TESTS_UNIT_AUTODIFF_TAYLOR_BATCH_CASES_H
#define ATLED_TESTS_UNIT_AUTODIFF_TAYLOR_BATCH_CASES_H

#include "tests/unit/autodiff/taylor_batch_help.h"

typedef struct Case {
	const char *name, *text;
	const char *map; /* for each parameter: b may be batched, - not */
	Fill fill;
	double jet;   /* tolerance against nested jvp; 0: not compared */
	double batch; /* tolerance against single calls */
} Case;

#define EXACT 1e-300

static const Case cases[] = {
	{"select, convert, bool",
     "fn @f[n](%0: bool[n], %1: f64[n], %2: f64[n]) -> (f64[n], f32[n], i64[n]) { %3: f64[n] = mul "
     "%1, %2 "
     "%4: f64[n] = select %0, %3, %2 %5: f32[n] = convert %4 {to: f32} %6: bool[n] = lt %1, %2 %7: "
     "i64[n] = convert %6 "
     "{to: i64} "
     "return %4, %5, %7 }",
     "bbb",
     {-2, 2, 3, 0},
     1e-6,
     EXACT},
	{"shapes",
     "fn @f[n, m](%0: f64[n, m], %1: f64[m]) -> (f64[m, n], f64[n - 1, m], f64[n + 3, m], "
     "f64[n*m], f64[2*n, m]) { "
     "%2: f64[n, m] = broadcast %1 {shape: [n, m], axes: [1]} %3: f64[n, m] = mul %0, %2 %4: "
     "f64[m, n] = transpose %3 "
     "{perm: [1, 0]} "
     "%5: f64[n - 1, m] = slice %3 {start: [n - 1, 0], length: [n - 1, m], stride: [-1, 1]} "
     "%6: f64[n + 3, m] = pad %0 {low: [1, 0], length: [n + 3, m], stride: [1, 1]} %7: f64[n*m] = "
     "reshape %3 {shape: "
     "[n*m]} "
     "%8: f64[2*n, m] = concat %0, %2 {axis: 0} return %4, %5, %6, %7, %8 }",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"updates",
     "fn @f[n, m](%0: f64[n, m], %1: f64[m]) -> (f64[n, m], f64[n, m]) { %2: f64[1, m] = reshape "
     "%1 {shape: [1, m]} "
     "%3: f64[n, m] = update %0, %2 {start: [n - 1, m - 1], stride: [1, -1]} %4: f64[n, m] = mul "
     "%3, %0 "
     "%5: f64[n - 1, m] = slice %4 {start: [1, 0], length: [n - 1, m], stride: [1, 1]} "
     "%6: f64[n, m] = update %4, %5 {start: [0, 0], stride: [1, 1]} return %3, %6 }",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"broadcast from 1",
     "fn @f[n](%0: f64[1, n], %1: f64) -> (f64[4, n]) { %2: f64[4, n] = broadcast %0 {shape: [4, "
     "n], axes: [0, 1]} "
     "%3: f64[4, n] = broadcast %1 {shape: [4, n], axes: []} %4: f64[4, n] = mul %2, %3 return %4 "
     "}",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"gather",
     "fn @f[n, m](%0: f64[n, m], %1: i64[m], %2: i64) -> (f64[m, m], f64[n, m], f64[m]) { "
     "%3: f64[m, m] = gather %0, %1 {axis: 0, batch: 0} %4: f64[n, m] = gather %0, %1 {axis: 1, "
     "batch: 0} "
     "%5: f64[m] = gather %0, %2 {axis: 0, batch: 0} %6: f64[m] = mul %5, %5 return %3, %4, %6 }",
     "bbb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"gather, axes together",
     "fn @f[n, m](%0: f64[2, n, m, 2], %1: i64[2, n, 3]) -> (f64[2, n, 3, 2]) { "
     "%2: f64[2, n, 3, 2] = gather %0, %1 {axis: 2, batch: 2} return %2 }",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"gather, a later axis",
     "fn @f[n, m](%0: f64[2, n, m], %1: i64[2, 3]) -> (f64[2, n, 3]) { "
     "%2: f64[2, n, 3] = gather %0, %1 {axis: 2, batch: 1} return %2 }",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"scatter",
     "fn @f[n, m, k](%0: f64[n, m], %1: i64[k], %2: f64[k, m], %3: f64[n, k]) -> (f64[n, m], "
     "f64[n, m], f64[n, m]) { "
     "%4: f64[n, m] = scatter_add %0, %1, %2 {axis: 0, batch: 0} %5: f64[n, m] = scatter_set %0, "
     "%1, %2 {axis: 0, "
     "batch: 0} "
     "%6: f64[n, m] = scatter_add %0, %1, %3 {axis: 1, batch: 0} return %4, %5, %6 }",
     "bbbb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"scatter of what stands still",
     "fn @f[n](%0: f64[n], %1: i64) -> (f64[n], f64[n]) { %2: f64[n] = scatter_set %0, %1, 2.0 "
     "{axis: 0, "
     "batch: 0} %3: f64[n] = scatter_add %0, %1, 2.0 {axis: 0, batch: 0} return %2, %3 }",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"scatter, axes together",
     "fn @f[n](%0: f64[2, n, 4], %1: i64[2, 3], %2: f64[2, n, 3]) -> (f64[2, n, 4], f64[2, n, 4]) "
     "{ "
     "%3: f64[2, n, 4] = scatter_add %0, %1, %2 {axis: 2, batch: 1} %4: f64[2, n, 4] = scatter_set "
     "%0, %1, %2 {axis: "
     "2, batch: 1} "
     "return %3, %4 }",
     "bbb",
     {-2, 2, 4, 0},
     1e-12,
     EXACT},
	{"push",
     "fn @f[n, m](%0: f64[n, m], %1: f64[m]) -> (f64[n + 1, m], f64[m + 1]) { %2: f64[n + 1, m] = "
     "push %0, %1 "
     "%3: f64[m + 1] = push %1, 2.0 return %2, %3 }",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"reductions",
     "fn @f[n, m](%0: f64[n, m, 2]) -> (f64[m], f64[n, 2], f64[m, 2], f64[n, m], i64[n, 2], f64) { "
     "%1: f64[m] = reduce_sum %0 {axes: [0, 2]} %2: f64[n, 2] = reduce_prod %0 {axes: [1]} %3: "
     "f64[m, 2] = reduce_max "
     "%0 {axes: [0]} "
     "%4: f64[n, m] = reduce_min %0 {axes: [2]} %5: i64[n, 2] = argmax %0 {axis: 1} %6: f64 = "
     "reduce_prod %0 {axes: "
     "[0, 1, 2]} "
     "return %1, %2, %3, %4, %5, %6 }",
     "b",
     {-1.5, 1.5, 3, 0},
     1e-11,
     1e-14},
	{"extremes that tie",
     "fn @f[n](%0: f64[n]) -> (f64, f64) { %1: f64[2, n] = broadcast %0 {shape: [2, n], axes: [1]} "
     "%2: f64 = reduce_max %1 {axes: [0, 1]} %3: f64 = reduce_min %1 {axes: [0, 1]} return %2, %3 "
     "}",
     "b",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"bool reductions",
     "fn @f[n, m](%0: bool[n, m]) -> (bool[m], bool[n], i64[n]) { %1: bool[m] = reduce_max %0 "
     "{axes: [0]} "
     "%2: bool[n] = reduce_min %0 {axes: [1]} %3: i64[n] = argmax %0 {axis: 1} return %1, %2, %3 }",
     "b",
     {0, 1, 3, 0},
     0,
     EXACT},
	{"scans",
     "fn @f[n, m](%0: f64[n, m]) -> (f64[n, m], f64[n, m], f64[n, m], f64[n, m], i64[n, m]) { "
     "%1: f64[n, m] = cumsum %0 {axis: 1, reverse: 0} %2: f64[n, m] = cumsum %0 {axis: 0, reverse: "
     "1} "
     "%3: f64[n, m] = cumprod %0 {axis: 1, reverse: 1} %4: f64[n, m] = cumprod %0 {axis: 0, "
     "reverse: 0} "
     "%5: i64[n, m] = argsort %0 {axis: 1, descending: 1} return %1, %2, %3, %4, %5 }",
     "b",
     {-1.5, 1.5, 3, 0},
     1e-11,
     1e-14},
	{"products of known length",
     "fn @f(%0: f64[5], %1: f64[2, 3]) -> (f64, f64[5], f64[5], f64[2, 3], f64[3]) { "
     "%2: f64 = reduce_prod %0 {axes: [0]} %3: f64[5] = cumprod %0 {axis: 0, reverse: 0} %4: "
     "f64[5] = cumprod %0 "
     "{axis: 0, reverse: 1} "
     "%5: f64[2, 3] = cumprod %1 {axis: 1, reverse: 1} %6: f64[3] = reduce_prod %1 {axes: [0]} "
     "return %2, %3, %4, %5, "
     "%6 }",
     "bb",
     {-1.5, 1.5, 3, 0},
     1e-11,
     1e-14},
	{"dot",
     "fn @f[n, m](%0: f64[n, m], %1: f64[m, 3], %2: f64[m]) -> (f64[n, 3], f64[n], f64, f64[m, m], "
     "f64[3, n]) { "
     "%3: f64[n, 3] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []} "
     "%4: f64[n] = dot %0, %2 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []} "
     "%5: f64 = dot %2, %2 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []} "
     "%6: f64[m, m] = dot %2, %2 {lcontract: [], rcontract: [], lbatch: [], rbatch: []} "
     "%7: f64[3, n] = dot %1, %0 {lcontract: [0], rcontract: [1], lbatch: [], rbatch: []} return "
     "%3, %4, %5, %6, %7 }",
     "bbb",
     {-2, 2, 3, 0},
     1e-12,
     1e-13},
	{"dot of batches",
     "fn @f[n, m](%0: f64[n, 2, m], %1: f64[m, 3, 2, n]) -> (f64[2, n, 3], f64[n, 2, m, m, 3, 2], "
     "f64[n]) { "
     "%2: f64[2, n, 3] = dot %0, %1 {lcontract: [2], rcontract: [0], lbatch: [1, 0], rbatch: [2, "
     "3]} "
     "%3: f64[n, 2, m, m, 3, 2] = dot %0, %1 {lcontract: [], rcontract: [], lbatch: [0], rbatch: "
     "[3]} "
     "%4: f64[n] = dot %0, %0 {lcontract: [1, 2], rcontract: [1, 2], lbatch: [0], rbatch: [0]} "
     "return %2, %3, %4 }",
     "bb",
     {-2, 2, 3, 0},
     1e-12,
     1e-13},
	{"iota, extent",
     "fn @f[n](%0: f64[n]) -> (f64[n], i64) { %1: f64[n] = iota {to: f64, length: n} %2: f64[n] = "
     "mul %0, %1 "
     "%3: i64 = extent {dim: n} return %2, %3 }",
     "b",
     {-2, 2, 3, 0},
     1e-12,
     EXACT},
	{"complex",
     "fn @f[n](%0: c128[n], %1: f64[n]) -> (c128[n], f64[n], f64[n], c128[n]) { %2: c128[n] = conj "
     "%0 %3: c128[n] = "
     "exp %2 "
     "%4: f64[n] = real %3 %5: f64[n] = imag %0 %6: f64[n] = mul %5, %4 %7: c128[n] = convert %1 "
     "{to: c128} %8: "
     "c128[n] = mul %7, %3 "
     "%9: c128[n] = sin %8 return %8, %4, %6, %9 }",
     "bb",
     {-1, 1, 3, 0},
     1e-11,
     1e-14},
	{"complex powers",
     "fn @f(%0: c128, %1: c128) -> (c128, c128, c128, c128, c128) { %2: c128 = pow %0, "
     "complex(3.0, 0.0) "
     "%3: c128 = pow %0, complex(0.5, 0.25) %4: c128 = pow %0, %1 %5: c128 = pow %0, complex(-0.5, "
     "0.0) "
     "%6: c128 = sqrt %0 %7: c128 = log %1 %8: c128 = div %6, %7 %9: c128 = tanh %8 return %2, %3, "
     "%4, %5, %9 }",
     "bb",
     {0.5, 1.5, 3, 0},
     1e-9,
     1e-13},
	{"fft",
     "fn @f[n](%0: c128[n, 3]) -> (c128[n, 3], c128[n, 3]) { %1: c128[n, 3] = fft %0 {axis: 0, "
     "inverse: 0} "
     "%2: c128[n, 3] = mul %1, %1 %3: c128[n, 3] = fft %2 {axis: 1, inverse: 1} return %1, %3 }",
     "b",
     {-2, 2, 3, 0},
     1e-12,
     1e-13},
	{"trisolve",
     "fn @f[n](%0: f64[n, n], %1: f64[n, 2]) -> (f64[n, 2], f64[n, 2], f64[n, 2]) { "
     "%2: f64[n, 2] = trisolve %0, %1 {lower: 1, adjoint: 0, unit: 0} %3: f64[n, 2] = trisolve %0, "
     "%1 {lower: 0, "
     "adjoint: 1, unit: 0} "
     "%4: f64[n, 2] = trisolve %0, %1 {lower: 1, adjoint: 0, unit: 1} return %2, %3, %4 }",
     "bb",
     {-0.5, 0.5, 3, 2},
     1e-10,
     1e-13},
	{"trisolve of complex batches",
     "fn @f[n](%0: c128[2, n, n], %1: c128[2, n, 2]) -> (c128[2, n, 2], c128[2, n, 2]) { "
     "%2: c128[2, n, 2] = trisolve %0, %1 {lower: 1, adjoint: 0, unit: 0} %3: c128[2, n, 2] = "
     "trisolve %0, %1 {lower: "
     "0, adjoint: 1, "
     "unit: 0} return %2, %3 }",
     "bb",
     {-0.5, 0.5, 3, 2},
     1e-10,
     1e-13},
	{"cholesky",
     "fn @f[n](%0: f64[n, n]) -> (f64[n, n]) { %1: f64[n, n] = cholesky %0 return %1 }",
     "b",
     {-0.5, 0.5, 3, 3},
     1e-10,
     1e-13},
	{"complex cholesky",
     "fn @f[n](%0: c128[n, n]) -> (c128[n, n]) { %1: c128[n, n] = cholesky %0 return %1 }",
     "b",
     {-0.5, 0.5, 3, 3},
     1e-10,
     1e-13},
	{"lu",
     "fn @f[n](%0: f64[n, n]) -> (f64[n, n], i64[n]) { %1: f64[n, n], %2: i64[n] = lu %0 return "
     "%1, %2 }",
     "b",
     {-1, 1, 3, 1},
     1e-9,
     1e-13},
	{"qr",
     "fn @f(%0: f64[4, 3]) -> (f64[4, 3], f64[3, 3]) { %1: f64[4, 3], %2: f64[3, 3] = qr %0 return "
     "%1, %2 }",
     "b",
     {-2, 2, 3, 0},
     1e-8,
     1e-13},
	{"complex qr",
     "fn @f(%0: c128[3, 2]) -> (c128[3, 2], c128[2, 2]) { %1: c128[3, 2], %2: c128[2, 2] = qr %0 "
     "return %1, %2 }",
     "b",
     {-2, 2, 3, 0},
     1e-8,
     1e-13},
	{"eigh",
     "fn @f[n](%0: f64[n, n]) -> (f64[n], f64[n, n]) { %1: f64[n], %2: f64[n, n] = eigh %0 return "
     "%1, %2 }",
     "b",
     {-0.5, 0.5, 3, 3},
     1e-8,
     1e-12},
	{"complex eigh",
     "fn @f[n](%0: c128[n, n]) -> (f64[n], c128[n, n]) { %1: f64[n], %2: c128[n, n] = eigh %0 "
     "return %1, %2 }",
     "b",
     {-0.5, 0.5, 3, 3},
     1e-8,
     1e-12},
	{"eig",
     "fn @f[n](%0: f64[n, n]) -> (c128[n], c128[n, n]) { %1: c128[n], %2: c128[n, n] = eig %0 "
     "return %1, %2 }",
     "b",
     {-1, 1, 3, 2},
     1e-8,
     1e-12},
	{"complex eig",
     "fn @f[n](%0: c128[n, n]) -> (c128[n], c128[n, n]) { %1: c128[n], %2: c128[n, n] = eig %0 "
     "return %1, %2 }",
     "b",
     {-1, 1, 3, 2},
     1e-8,
     1e-12},
	{"svd",
     "fn @f(%0: f64[4, 3], %1: f64[2, 3]) -> (f64[4, 3], f64[3], f64[3, 3], f64[2, 2], f64[2], "
     "f64[3, 2]) { "
     "%2: f64[4, 3], %3: f64[3], %4: f64[3, 3] = svd %0 %5: f64[2, 2], %6: f64[2], %7: f64[3, 2] = "
     "svd %1 "
     "return %2, %3, %4, %5, %6, %7 }",
     "bb",
     {-2, 2, 3, 0},
     1e-7,
     1e-12},
	{"complex svd",
     "fn @f(%0: c128[3, 2]) -> (c128[3, 2], f64[2], c128[2, 2]) { %1: c128[3, 2], %2: f64[2], %3: "
     "c128[2, 2] = svd %0 "
     "return %1, %2, %3 }",
     "b",
     {-2, 2, 3, 0},
     1e-7,
     1e-12},
	{"box and unbox",
     "fn @f[n](%0: f64[n], %1: f64) -> (f64[n], f64) { %2: dyn = box dyn _, %0 %3: f64[n] = unbox "
     "%2 {to: f64[n]} "
     "%4: f64[n] = broadcast %1 {shape: [n], axes: []} %5: f64[n] = mul %3, %4 return %5, %1 }",
     "bb",
     {-2, 2, 3, 0},
     0,
     EXACT},
	{"mlp",
     "fn @f[n, m](%0: f64[n], %1: f64[n, m], %2: f64[m], %3: f64[m]) -> (f64) { "
     "%4: f64[m] = dot %0, %1 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []} %5: f64[m] "
     "= add %4, %2 %6: "
     "f64[m] = tanh %5 "
     "%7: f64 = dot %6, %3 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []} return %7 }",
     "bbbb",
     {-1, 1, 3, 0},
     1e-11,
     1e-14},
	{"if",
     "fn @f[n](%0: f64[n], %1: f64, %2: bool) -> (f64[n], f64) { %3: f64[n] = broadcast %1 {shape: "
     "[n], axes: []} "
     "%4: f64[n], %5: f64 = if %2 { %6: f64[n] = mul %0, %3 %7: f64 = exp %1 yield %6, %7 } { %8: "
     "f64[n] = sin %0 "
     "yield %8, 2.0 } "
     "return %4, %5 }",
     "bbb",
     {-2, 2, 3, 0},
     1e-11,
     1e-14},
	{"if inside if",
     "fn @f(%0: f64, %1: f64) -> (f64) { %2: bool = lt %0, 0.0 %3: f64 = if %2 { %4: bool = lt %1, "
     "0.0 %5: f64 = if %4 "
     "{ "
     "%6: f64 = mul %0, %1 %7: f64 = sqrt %6 yield %7 } { %8: f64 = neg %0 %9: f64 = log %8 yield "
     "%9 } %10: f64 = mul "
     "%5, %1 yield %10 } "
     "{ %11: f64 = sqrt %0 yield %11 } return %3 }",
     "bb",
     {-2, 2, 3, 0},
     1e-9,
     1e-13},
	{"for",
     "fn @f[n](%0: f64[n], %1: f64[n], %2: i64) -> (f64[n], f64, i64) { %3: f64[n], %4: f64, %5: "
     "i64 = for %2, %0, "
     "0.0, 1 { "
     "(%6: i64, %7: f64[n], %8: f64, %9: i64): %10: f64[n] = mul %7, %1 %11: f64 = reduce_sum %10 "
     "{axes: [0]} %12: f64 "
     "= add %8, %11 "
     "%13: i64 = add %9, %6 yield %10, %12, %13 } return %3, %4, %5 }",
     "bbb",
     {-1.5, 1.5, 5, 0},
     1e-11,
     1e-13},
	{"for that carries what stands still",
     "fn @f(%0: f64, %1: f64, %2: i64) -> (f64, f64) { %3: f64, %4: f64 = for %2, %0, %1 { "
     "(%5: i64, %6: f64, %7: f64): %8: f64 = mul %6, %7 yield %8, %7 } return %3, %4 }",
     "bbb",
     {-1.5, 1.5, 5, 0},
     1e-11,
     1e-13},
	{"for that swaps",
     "fn @f(%0: f64, %1: f64, %2: i64) -> (f64, f64, f64) { %3: f64, %4: f64, %5: f64 = for %2, "
     "1.0, %0, %1 { "
     "(%6: i64, %7: f64, %8: f64, %9: f64): %10: f64 = sin %7 yield %9, %10, %8 } return %3, %4, "
     "%5 }",
     "bbb",
     {-1.5, 1.5, 5, 0},
     1e-11,
     1e-13},
	{"while",
     "fn @f(%0: f64, %1: f64) -> (f64, i64) { %2: f64 = mul %0, %0 %3: f64, %4: i64 = while %2, 0 "
     "{ (%5: f64, %6: "
     "i64): "
     "%7: bool = lt %5, 30.0 yield %7 } { (%8: f64, %9: i64): %10: f64 = mul %1, %1 %11: f64 = add "
     "%8, 1.0 %12: f64 = "
     "add %11, %10 "
     "%13: f64 = mul %12, 1.5 %14: i64 = add %9, 1 yield %13, %14 } return %3, %4 }",
     "bb",
     {-2, 2, 3, 0},
     1e-9,
     1e-13},
	{"while that fails when it goes on too long",
     "fn @f(%0: i64) -> (i64, f64) { %1: i64, %2: f64 = while %0, 0.0 { (%3: i64, %4: f64): "
     "%5: bool = lt 0, %3 yield %5 } { (%6: i64, %7: f64): %8: bool = le %6, 0 if %8 { fail dyn "
     "\"too far\" {code: 1} "
     "yield } { yield } "
     "%9: i64 = sub %6, 1 %10: i64 = floordiv 12, %6 %11: f64 = convert %10 {to: f64} %12: f64 = "
     "add %7, %11 yield %9, "
     "%12 } "
     "return %1, %2 }",
     "b",
     {-2, 2, 6, 0},
     0,
     EXACT},
	{"while that is not entered where it would fail",
     "fn @f(%0: i64, %1: i64) -> (i64, i64) { %2: i64 = mul %0, %1 %3: i64, %4: i64 = "
     "while %2, 0 { (%5: i64, %6: i64): %7: bool = lt 0, %5 yield %7 } { (%8: i64, %9: i64): %10: "
     "i64 = floordiv 60, "
     "%1 "
     "%11: i64 = add %9, %10 %12: i64 = sub %8, 1 yield %12, %11 } return %3, %4 }",
     "bb",
     {-2, 2, 3, 0},
     0,
     EXACT},
	{"while inside for",
     "fn @f(%0: f64, %1: i64) -> (f64) { %2: f64 = for %1, %0 { (%3: i64, %4: f64): %5: f64 = "
     "while %4 { (%6: f64): "
     "%7: bool = lt %6, 1.0 yield %7 } { (%8: f64): %9: f64 = mul %8, %0 %10: f64 = add %9, 0.75 "
     "yield %10 } %11: f64 "
     "= mul %5, 0.25 "
     "yield %11 } return %2 }",
     "bb",
     {0.5, 1.5, 4, 0},
     1e-9,
     1e-13},
	{"while that all lanes leave together",
     "fn @f(%0: f64, %1: f64) -> (f64, i64) { %2: f64, %3: i64, %4: f64 = while %0, 0, 1.0 { (%5: "
     "f64, "
     "%6: i64, %7: f64): %8: bool = lt %6, 3 yield %8 } { (%9: f64, %10: i64, %11: f64): %12: i64 "
     "= add %10, 1 %13: "
     "f64 = mul %9, %1 "
     "%14: f64 = sin %13 %15: f64 = add %11, %9 yield %14, %12, %15 } %16: f64 = add %2, %4 return "
     "%16, %3 }",
     "bb",
     {-2, 2, 3, 0},
     1e-10,
     1e-14},
	{"a branch that would fail",
     "fn @f(%0: i64, %1: f64) -> (i64, f64) { %2: bool = eq %0, 0 %3: i64, %4: f64 = if %2 { yield "
     "0, %1 } { "
     "%5: i64 = floordiv 12, %0 %6: f64 = stop_gradient %1 yield %5, %6 } return %3, %4 }",
     "bb",
     {-2, 2, 3, 0},
     0,
     EXACT},
	{"arrays that grow together",
     "fn @f[k, r](%0: f64[2], %1: f64) -> (f64[r]) { %2: f64[r] = for 3, %0 { (%3: i64, %4: "
     "f64[k]): "
     "%5: f64 = reduce_sum %4 {axes: [0]} %6: f64 = mul %5, %1 %7: f64[k + 1] = push %4, %6 yield "
     "%7 } "
     "%8: f64[r] = iota {to: f64, length: r} %9: f64[r] = mul %2, %8 return %9 }",
     "bb",
     {-1, 1, 3, 0},
     1e-11,
     1e-13},
	{"call",
     "fn @g[k](%0: f64[k], %1: f64[k]) -> (f64[k], f64) { %2: f64[k] = mul %0, %1 %3: f64 = "
     "reduce_sum %1 {axes: [0]} "
     "return %2, %3 }\nfn @f[n](%0: f64[n], %1: f64[n]) -> (f64[n], f64, f64) { %2: f64[n], %3: "
     "f64 = call %0, %1 "
     "{callee: @g} "
     "%4: f64[n], %5: f64 = call %2, %0 {callee: @g} return %4, %3, %5 }",
     "bb",
     {-2, 2, 3, 0},
     1e-11,
     1e-14},
	{"recursion",
     "fn @p(%0: f64, %1: i64) -> (f64) { %2: bool = le %1, 0 %3: f64 = if %2 { yield 1.0 } { %4: "
     "i64 = sub %1, 1 "
     "%5: f64 = call %0, %4 {callee: @p} %6: f64 = mul %0, %5 %7: f64 = sin %6 %8: f64 = add %7, "
     "%0 yield %8 } return "
     "%3 } "
     "\nfn @f(%0: f64, %1: i64) -> (f64) { %2: f64 = call %0, %1 {callee: @p} return %2 }",
     "bb",
     {-2, 2, 5, 0},
     1e-10,
     1e-13},
	{"recursion with a result that all lanes share",
     "fn @p(%0: f64, %1: i64) -> (f64, f64, i64) { %2: bool = le %1, 0 "
     "%3: f64, %4: f64, %5: i64 = if %2 { yield %0, 1.0, 5 } { %6: i64 = sub %1, 1 %7: f64, %8: "
     "f64, %9: i64 = call "
     "%0, %6 {callee: @p} "
     "%10: f64 = mul %7, %0 "
     "%11: f64 = convert %9 {to: f64} %12: f64 = mul %8, %11 yield %10, %12, 5 } return %3, %4, %5 "
     "}",
     "bb",
     {-2, 2, 5, 0},
     1e-10,
     1e-13},
	{"mutual recursion",
     "fn @odd(%0: f64, %1: i64) -> (f64) { %2: bool = le %1, 0 %3: f64 = if %2 { yield 1.0 } { %4: "
     "i64 = sub %1, 1 "
     "%5: f64 = call %0, %4 {callee: @even} %6: f64 = mul %0, %5 yield %6 } return %3 } "
     "\nfn @even(%0: f64, %1: i64) -> (f64) { %2: bool = le %1, 0 %3: f64 = if %2 { yield %0 } { "
     "%4: i64 = sub %1, 1 "
     "%5: f64 = call %0, %4 {callee: @odd} %6: f64 = exp %5 yield %6 } return %3 }",
     "bb",
     {-0.4, 0.4, 5, 0},
     1e-10,
     1e-13},
	{"try",
     "fn @f[n](%0: f64[n], %1: f64) -> (f64[n]) { %2: f64[n] = try { %3: bool = lt %1, 0.0 %4: f64 "
     "= if %3 { fail dyn "
     "\"no\" "
     "{code: 1} yield 1.0 } { %5: f64 = sqrt %1 yield %5 } %6: f64[n] = broadcast %4 {shape: [n], "
     "axes: []} %7: f64[n] "
     "= mul %0, %6 "
     "yield %7 } { (%8: dyn): %9: f64[n] = neg %0 yield %9 } return %2 }",
     "bb",
     {-2, 2, 3, 0},
     1e-9,
     1e-13},
	{"lengths",
     "fn @f[n, m](%0: f64[n], %1: f64[m], %2: f64[4]) -> (f64[n], f64) { guard {left: m, right: 4, "
     "what: \"the "
     "operands of +\"} "
     "%3: f64[4] = mul %1, %2 %4: f64 = reduce_sum %3 {axes: [0]} return %0, %4 }",
     "bbb",
     {-2, 2, 3, 0},
     1e-12,
     1e-14},
};
#define NCASES (sizeof cases / sizeof *cases)

#endif
