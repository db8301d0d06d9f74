/* test_batch.c - unit tests of batching.
 *
 * Covers random bits and output under map, host functions, rejected functions.
 * Oracle: one call for each batch element.
 *
 * Needs: taylor_batch_help.h.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "tests/unit/autodiff/taylor_batch_help.h"
#include <stdio.h>

/* ---- effects: random bits and output under map --------------------------- */

typedef struct Output {
	char text[2000];
	size_t n;
} Output;

static void collect(void *ud, const char *text, size_t n) {
	Output *o = ud;
	if (n > sizeof o->text - 1 - o->n) n = sizeof o->text - 1 - o->n;
	memcpy(o->text + o->n, text, n);
	o->n += n;
	o->text[o->n] = 0;
}

static Value state_of(Test *t, int64_t key, int64_t counter) {
	Tensor *x = tensor_new(t->c, DT_I64, 1, (int64_t[]){2});
	((int64_t *)x->data)[0] = key;
	((int64_t *)x->data)[1] = counter;
	return value_tensor(x);
}

static Value vector(Test *t, uint32_t n, const double *x) {
	Tensor *v = tensor_new(t->c, DT_F64, 1, (int64_t[]){n});
	memcpy(v->data, x, n * sizeof *x);
	return value_tensor(v);
}

static void test_random(Test *t) {
	static const double xs[4] = {1, -1, 2, -2};
	bool mask[2] = {false, true}, flags[3] = {false};
	/* Straight-line code, a branch that some elements take, a loop that
	 * elements leave at different times, and a callee. */
	static const char *const texts[] = {
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64, %3: i64[2] = random_bits %0 "
		"{shape: []} return "
		"%3, %2, %1 }",
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: bool = lt 0.0, %1 %3: i64[2], %4: "
		"i64 = if %2 { "
		"%5: i64, %6: i64[2] = random_bits %0 {shape: []} yield %6, %5 } { %7: i64, %8: i64[2] = "
		"random_bits %0 "
		"{shape: []} "
		"%9: i64 = add %7, 1 yield %8, %9 } return %3, %4, %1 }",
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64[2], %3: i64, %4: f64 = while "
		"%0, 0, %1 { (%5: "
		"i64[2], %6: i64, %7: f64): "
		"%8: bool = lt %7, 3.5 yield %8 } { (%9: i64[2], %10: i64, %11: f64): %12: i64, %13: "
		"i64[2] = random_bits %9 "
		"{shape: []} "
		"%14: f64 = add %11, 1.0 yield %13, %12, %14 } return %2, %3, %4 }",
		/* A loop, a branch, a `try`, and a loop inside a branch. */
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: bool = lt 0.0, %1 %3: i64[2], %4: "
		"i64 = if %2 { "
		"%5: i64[2], %6: i64 = for 2, %0, 0 { (%7: i64, %8: i64[2], %9: i64): %10: i64, %11: "
		"i64[2] = random_bits %8 "
		"{shape: []} "
		"yield %11, %10 } yield %5, %6 } { %12: bool = lt %1, -1.5 %13: i64[2], %14: i64 = if %12 "
		"{ %15: i64, %16: "
		"i64[2] = random_bits %0 "
		"{shape: []} yield %16, %15 } { %17: i64[2], %18: i64 = try { %19: i64, %20: i64[2] = "
		"random_bits %0 {shape: "
		"[]} yield %20, %19 } "
		"{ (%21: dyn): yield %0, 7 } yield %17, %18 } %22: i64[2], %23: i64, %24: i64 = while %13, "
		"%14, 0 { (%25: "
		"i64[2], %26: i64, "
		"%27: i64): %28: bool = lt %27, 2 yield %28 } { (%29: i64[2], %30: i64, %31: i64): %32: "
		"i64, %33: i64[2] = "
		"random_bits %29 "
		"{shape: []} %34: i64 = add %31, 1 yield %33, %32, %34 } yield %22, %23 } return %3, %4, "
		"%1 }",
		/* Each element draws its own number of random bits. */
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64 = convert %1 {to: i64} %3: i64 "
		"= add %2, 3 "
		"%4: i64[2], %5: i64 = for %3, %0, 7 { (%6: i64, %7: i64[2], %8: i64): %9: i64, %10: "
		"i64[2] = random_bits %7 "
		"{shape: []} yield %10, %9 } return %4, %5, %1 }",
		"fn @g(%0: i64[2]) -> (i64[2], i64) { %1: i64, %2: i64[2] = random_bits %0 {shape: []} "
		"return %2, %1 }\n"
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: i64[2], %3: i64 = call %0 {callee: "
		"@g} return %2, %3, "
		"%1 }",
		"fn @g(%0: i64[2], %1: f64) -> (i64[2], i64) { %2: bool = lt 0.0, %1 %3: i64[2], %4: i64 = "
		"if %2 { "
		"%5: i64, %6: i64[2] = random_bits %0 {shape: []} yield %6, %5 } { yield %0, 7 } return "
		"%3, %4 }\n"
		"fn @f(%0: i64[2], %1: f64) -> (i64[2], i64, f64) { %2: bool = lt %1, 1.5 %3: i64[2], %4: "
		"i64 = if %2 { "
		"%5: i64[2], %6: i64 = call %0, %1 {callee: @g} yield %5, %6 } { %7: i64, %8: i64[2] = "
		"random_bits %0 {shape: "
		"[]} yield %8, %7 } "
		"return %3, %4, %1 }",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		Fn *f = jb_source(t, texts[i]);
		Ask q = {.f = f, .mask = mask, .flags = flags, .partly = true};
		Fn *batched = jb_protected(t, jb_ask_batch, &q);
		jb_show_diags(t);
		CHECK(batched && !flags[0] && flags[1] && flags[2]);
		Value args[2] = {state_of(t, 5, 0), vector(t, 4, xs)}, results[3];
		if (batched && jb_run(t, batched, args, results)) {
			const int64_t *bits = (const int64_t *)results[1].tensor->data,
						  *state = (const int64_t *)results[0].tensor->data;
			for (int a = 0; a < 4; a++)
				for (int b = 0; b < a; b++) CHECK(bits[a] != bits[b] || bits[a] == 7);
			CHECK(results[0].tensor->count == 2 && state[0] == 5 && state[1] > 0);
			jb_drop(3, results);
		} else {
			CHECK(false);
		}
		jb_drop(2, args);
		/* ad_batch adds the batch axis to every array except the state. */
		batched = jb_batch_of(t, f, mask);
		CHECK(batched && ref_ty(batched, fn_result(batched, 0))->rank == 1 &&
		      ref_ty(batched, fn_result(batched, 2))->rank == 1);
		fn_unref(f);
	}
}

static void test_output(Test *t) {
	static const double xs[3] = {1, -2, 3}, positive[2] = {4, 5};
	Fn *f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: bool = lt 0.0, %1 %3: "
	                     "token, %4: f64 = if %2 { "
	                     "%5: dyn = format %1 {template: \"positive {0}\"} %6: token = print %0, "
	                     "%5 %7: f64 = sqrt %1 yield %6, %7 } { "
	                     "%8: token = print %0, dyn \"negative\" %9: f64 = neg %1 yield %8, %9 } "
	                     "%10: token = print %3, dyn \"end\" return %10, %4 }");
	bool mask[2] = {false, true};
	Fn *batched = jb_batch_of(t, f, mask);
	CHECK(batched);
	Output out = {.n = 0};
	ctx_set_output(t->c, collect, &out);
	Value args[2] = {{.kind = V_TOKEN}, vector(t, 3, xs)}, results[2];
	CHECK(batched && jb_run(t, batched, args, results));
	if (batched) {
		CHECK(results[1].kind == V_TENSOR && ((double *)results[1].tensor->data)[1] == 2);
		jb_drop(2, results);
	}
	jb_drop(2, args);
	char *first = strstr(out.text, "positive"), *second = strstr(out.text, "negative"),
		 *third = strstr(out.text, "end");
	CHECK(first && second && third && first < second && second < third);
	/* A branch that no element takes prints nothing. */
	out.n = 0;
	args[1] = vector(t, 2, positive);
	CHECK(batched && jb_run(t, batched, args, results));
	CHECK(strstr(out.text, "positive") && !strstr(out.text, "negative"));
	if (batched) jb_drop(2, results);
	jb_drop(2, args);
	fn_unref(f);
	/* A `try` with output runs one element after the other. */
	f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: token, %3: f64 = try { %4: "
	                 "dyn = format %1 "
	                 "{template: \"x {0}\"} "
	                 "%5: token = print %0, %4 %6: bool = lt %1, 0.0 if %6 { fail dyn \"no\" "
	                 "{code: 1} yield } { yield } "
	                 "yield %5, %1 } "
	                 "{ (%7: dyn): yield %0, 9.0 } return %2, %3 }");
	batched = jb_batch_of(t, f, mask);
	out.n = 0;
	args[1] = vector(t, 3, xs);
	CHECK(batched && jb_run(t, batched, args, results));
	if (batched) {
		const double *y = (const double *)results[1].tensor->data;
		CHECK(y[0] == 1 && y[1] == 9 && y[2] == 3);
		jb_drop(2, results);
	}
	CHECK(strstr(out.text, "x 1") && strstr(out.text, "x 3"));
	jb_drop(2, args);
	fn_unref(f);
	/* A dynamic value carries the arrays of all elements into the output and
	 * into a message. */
	f = jb_source(
		t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: dyn = box dyn (_, 1), %1 %3: token = "
		   "print %0, %2 "
		   "%4: dyn = format %2 {template: \"{0}\"} %5: token = print %3, %4 return %5, %1 }");
	batched = jb_batch_of(t, f, mask);
	out.n = 0;
	args[1] = vector(t, 3, xs);
	CHECK(batched && jb_run(t, batched, args, results));
	if (batched) jb_drop(2, results);
	CHECK(strstr(out.text, "-2") && strstr(out.text, "3"));
	fn_unref(f);
	f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: dyn = box dyn _, %1 %3: bool "
	                 "= lt %1, -1.5 if %3 { "
	                 "fail %2 {code: 1} yield } "
	                 "{ yield } return %0, %1 }");
	batched = jb_protected(t, jb_ask_batch, &(Ask){.f = f, .mask = mask});
	CHECK(batched == NULL && diag_at(t->c, 0)->code ==
	                             /* inside the branch the message would
	                                 * differ between elements */
	                             E_NO_RULE);
	diag_clear(t->c);
	fn_unref(f);
	f = jb_source(t, "fn @f(%0: token, %1: f64) -> (token, f64) { %2: dyn = box dyn _, %1 fail %2 "
	                 "{code: 1} return %0, %1 }");
	batched = jb_batch_of(t, f, mask);
	Code *code = batched ? code_of(t->c, batched) : NULL;
	CHECK(code && code_call(t->c, code, args, results) == ST_ERROR);
	diag_clear(t->c);
	jb_drop(2, args);
	fn_unref(f);
	ctx_set_output(t->c, NULL, NULL);
}

/* ---- host functions ------------------------------------------------------ */

static void test_hosts(Test *t) {
	Fill fill = {-1, 1, 3, 0};
	for (unsigned batch = 0; batch < 2; batch++) {
		Fn *f = jb_host_fn(t, true, batch, false);
		for (unsigned set = 1; f && set < 4; set++) {
			bool mask[2] = {set & 1, set & 2};
			Fn *batched = jb_batch_of(t, f, mask);
			CHECK(batched && jb_count_op(batched, OP_FOR) == 1 - batch);
			for (int64_t lanes = 0; batched && lanes < 4; lanes++)
				CHECK(jb_same_as_single_calls(t, "host", f, batched, mask, &fill, lanes, 1e-15));
		}
		fn_unref(f);
	}
}

/* ---- rejected functions -------------------------------------------------- */

/* Functions and the error of batching them; no word: there is none. */
static const struct {
	const char *text;
	bool mask[3];
	DiagCode code;
	const char *word;
} refused[] = {
	{"fn @f[n, k](%0: bool[n]) -> (i64[k]) { %1: i64[k] = nonzero %0 {length: k} return %1 }",
     {true},
     E_NO_RULE,
     "nonzero"},
	{"fn @f[k](%0: i64) -> (f64[k]) { bind_dim %0 {dim: k} %1: f64[k] = iota {to: f64, length: "
     "k} return %1 }",
     {true},
     E_NO_RULE,
     "bind_dim"},
	{"fn @f(%0: i64[2]) -> (i64) { %1: i64, %2: i64[2] = random_bits %0 {shape: []} return %1 "
     "}",
     {true},
     E_NO_RULE,
     "random state"},
	{"fn @f(%0: token, %1: i64[2], %2: f64) -> (dyn) { %3: dyn = box dyn _, %2 %4: token, %5: "
     "i64[2], %6: dyn = "
     "dynamic %0, %1, %3 "
     "return %6 }",
     {false, false, true},
     E_NO_RULE,
     "known only when it runs"},
	{"fn @f(%0: bool, %1: f64) -> (dyn) { %2: dyn = if %0 { %3: dyn = box dyn _, %1 yield %3 } "
     "{ yield dyn none } "
     "return %2 }",
     {true, false},
     E_NO_RULE,
     "dynamic value"},
	{"fn @f(%0: bool, %1: f64) -> (dyn) { %2: dyn = if %0 { %3: dyn = box dyn _, %1 yield %3 } "
     "{ yield dyn none } "
     "return %2 }",
     {false, true},
     E_NO_RULE,
     "dynamic value"},
	{"fn @f[k, j, r](%0: i64, %1: f64[1]) -> (f64[r]) { %2: f64[r] = for %0, %1 { (%3: i64, "
     "%4: f64[k]): %5: f64[k "
     "+ 1] = push %4, 2.0 "
     "yield %5 } return %2 }",
     {true, false},
     E_NO_RULE,
     "length differs"},
	{"fn @f[r](%0: bool, %1: f64[2], %2: f64[3]) -> (f64[r]) { %3: f64[r] = if %0 { yield %1 } "
     "{ yield %2 } return "
     "%3 }",
     {true, false, false},
     E_NO_RULE,
     "length differs"},
	{"fn @f(%0: f64[1, 1, 1, 1, 1, 1, 1, 1]) -> (f64[1, 1, 1, 1, 1, 1, 1, 1]) { return %0 }",
     {true},
     E_RANK,
     "8 axes"},
	{"fn @f[a](%0: f64[a, 2, 2, 2], %1: f64[a, 2, 2, 2, 2]) -> (f64[2, 2, 2, 2, 2, 2, 2]) { "
     "%2: f64[2, 2, 2, 2, 2, "
     "2, 2] = dot %0, %1 "
     "{lcontract: [0], rcontract: [0], lbatch: [], rbatch: []} %3: f64[2, 2, 2, 2, 2, 2, 2] = "
     "neg %2 return %3 }",
     {true, true, false},
     0,
     NULL},
	{"fn @f(%0: f64[2, 1, 1, 1, 1, 1, 1], %1: i64[2, 2]) -> (f64[2, 2, 1, 1, 1, 1, 1, 1]) { "
     "%2: f64[2, 2, 1, 1, 1, "
     "1, 1, 1] = "
     "gather %0, %1 {axis: 0, batch: 0} return %2 }",
     {false, true},
     E_NO_RULE,
     "8 axes"},
	{"fn @f(%0: f64) -> (f64) { %1: f64[1, 1, 1, 1, 1, 1, 1, 1] = broadcast %0 {shape: [1, 1, "
     "1, 1, 1, 1, 1, 1], "
     "axes: []} "
     "%2: f64 = reduce_sum %1 {axes: [0, 1, 2, 3, 4, 5, 6, 7]} return %2 }",
     {true},
     E_NO_RULE,
     "8 axes"},
	{"fn @f(%0: f64[2, 2, 2, 2], %1: f64[2, 2, 2, 2]) -> (f64[2, 2, 2, 2, 2, 2, 2, 2]) { %2: "
     "f64[2, 2, 2, 2, 2, 2, "
     "2, 2] = dot %0, %1 "
     "{lcontract: [], rcontract: [], lbatch: [], rbatch: []} return %2 }",
     {true, false},
     E_NO_RULE,
     "8 axes"},
	{"fn @f(%0: bool, %1: i64[2], %2: i64[2]) -> (i64[2]) { %3: i64[2] = if %0 { %4: i64, %5: "
     "i64[2] = random_bits "
     "%1 {shape: []} yield "
     "%5 } { %6: i64, %7: i64[2] = random_bits %2 {shape: []} yield %7 } return %3 }",
     {true, false, false},
     E_NO_RULE,
     "different"},
	{"fn @g(%0: dyn) -> (f64) { %1: f64 = unbox %0 {to: f64} return %1 }\nfn @f(%0: f64) -> "
     "(f64) { %1: dyn = box "
     "dyn _, %0 "
     "%2: f64 = call %1 {callee: @g} return %2 }",
     {true},
     E_NO_RULE,
     "no array"},
	{"fn @f(%0: f64) -> (f64) { return %0 }", {false}, E_INTERNAL, "how many lanes"},
};

static void test_refusals(Test *t) {
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		Fn *f = jb_source(t, refused[i].text);
		CHECK(f);
		if (!f) continue;
		Fn *out = jb_protected(t, jb_ask_batch, &(Ask){.f = f, .mask = refused[i].mask});
		const Diag *d = diag_total(t->c) ? diag_at(t->c, 0) : NULL;
		bool good = refused[i].word ? !out && d && d->code == refused[i].code &&
		                                  strstr(d->message, refused[i].word)
		                            : out && !d;
		if (!good) {
			printf("  %s\n", refused[i].text);
			jb_show_diags(t);
		}
		CHECK(good);
		diag_clear(t->c);
		/* A failed transform leaves nothing behind: it fails again in the same
		 * way. */
		if (refused[i].word)
			CHECK(!jb_protected(t, jb_ask_batch, &(Ask){.f = f, .mask = refused[i].mask}));
		diag_clear(t->c);
		fn_unref(f);
	}
}

int main(void) {
	static const TestCase tests[] = {
		{"random", test_random},
		{"output", test_output},
		{"hosts", test_hosts},
		{"refusals", test_refusals},
	};
	return jb_run_tests(sizeof tests / sizeof *tests, tests);
}
