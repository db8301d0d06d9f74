/* test_ir_text.c - unit tests of the IR's text form.
 *
 * Needs: text_help.h.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "tests/unit/ir/text_help.h"

static void note_ops(const Fn *f, bool *seen) {
	for (uint32_t i = 0; i < f->insts.n; i++) seen[f->insts.at[i].op] = true;
}

static void round_trip(Ctx *c, const char *text, bool *seen) {
	Fn *f = read_fn(c, text);
	CHECK(f);
	if (!f) {
		printf("%s", text);
		show_diags(c);
		return;
	}
	CHECK(f->finished && f->refs >= 1); /* more than one when functions call each other */
	CHECK(fn_verify(f, "reading"));
	if (seen) note_ops(f, seen);
	char *out = print_fn(f);
	CHECK(out && !strcmp(out, text));
	if (!out || strcmp(out, text))
		printf("--- wanted\n%s--- got\n%s", text, out ? out : "(nothing)");
	free(out);
	fn_unref(f);
	show_diags(c);
}

static void test_round_trips(Ctx *c) {
	bool seen[OP_COUNT] = {false};
	for (size_t i = 0; i < NTEXTS; i++) round_trip(c, texts[i], seen);
	for (int op = 1; op < OP_COUNT; op++) {
		if (!prims[op].elementwise) continue;
		for (int d = 0; d < DT_COUNT; d++) {
			if (!(prims[op].kinds & dtype_kind((Dtype)d))) continue;
			const char *in = dtype_name((Dtype)d);
			const char *out = prims[op].result == RESULT_BOOL ? "bool"
			                  : prims[op].result == RESULT_REAL
			                      ? dtype_name(dtype_real_of((Dtype)d))
			                      : in;
			char text[400];
			snprintf(text, sizeof text,
			         "fn @f[n](%%0 x: %s[n], %%1 y: %s[n]) -> (%s[n]) {\n  %%2: %s[n] = %s %%0%s\n "
			         " return %%2\n}\n",
			         in, in, out, out, prims[op].name, prims[op].nargs == 2 ? ", %1" : "");
			round_trip(c, text, seen);
		}
	}
	for (int op = 1; op < OP_COUNT; op++) {
		if (!seen[op] && op != OP_HOST) printf("  no text has %s\n", prims[op].name);
		CHECK(seen[op] || op == OP_HOST);
	}
}

/* The reader accepts any blanks, comments and numbering. */
static void test_reading_is_lenient(Ctx *c) {
	Fn *f = read_fn(c, "; a comment\n  fn @f ( %10 x : f64 [ 3 ] ) -> ( f64[3] ) { ; more\n "
	                   "%7:f64[3]=add %10,%10\nreturn %7 }");
	CHECK(f);
	show_diags(c);
	char *out = f ? print_fn(f) : NULL;
	CHECK(
		out &&
		!strcmp(out,
	            "fn @f(%0 x: f64[3]) -> (f64[3]) {\n  %1: f64[3] = add %0, %0\n  return %1\n}\n"));
	free(out);
	fn_unref(f);
	f = read_fn(c, "fn @f() -> (f64) {\n  return 1e5\n}\n");
	out = f ? print_fn(f) : NULL;
	CHECK(out && strstr(out, "return 100000.0"));
	free(out);
	fn_unref(f);
	show_diags(c);
}

/* ---- malformed text ------------------------------------------------------ */

#define WRAP(body) "fn @f[n](%0: f64[n], %1: f64[n], %2: bool, %3: i64) -> (f64[n]) {\n" body "}\n"
static const char *const bad_texts[] = {
	"",
	"   ",
	"f",
	"fn",
	"fn @",
	"fn @f",
	"fn @f(",
	"fn @f()",
	"fn @f() ->",
	"fn @f() -> (",
	"fn @f() -> () {",
	"fn @f() -> () snapshots(0, 0) {\n  return\n}\n",
	"fn @f() -> () snapshots(1, 1) {\n  return\n}\n",
	"fn @f() -> () by_lane(0) {\n  return\n}\n",
	"fn @f() -> () { return",
	"fn @f() -> () { return } }",
	"fn @f() -> () { return }\nfn @f() -> () { return }\n",
	"garbage fn @f() -> () { return }",
	"fn @f[](%0: f64) -> () { return }",
	"fn @f[n, n]() -> () { return }",
	"fn @f[n](%0: f64[m]) -> () { return }",
	"fn @f(%0: f65) -> () { return }",
	"fn @f(%0: f64[-1]) -> () { return }",
	"fn @f(%0: f64[1,2,3,4,5,6,7,8,9]) -> () { return }",
	"fn @f(%0: f64, %0: f64) -> () { return }",
	"fn @f(%99999999999: f64) -> () { return }",
	"fn @f(%0: f64) -> (f32) { return %0 }",
	"fn @f(%0: f64) -> () { return %0 }",
	"fn @f() -> (f64) { return }",
	"fn @f() -> (f64) { return %5 }",
	"fn @f() -> (i32) { return 3000000000:i32 }",
	"fn @f() -> (i64) { return 99999999999999999999 }",
	"fn @f() -> (i64) { return 1.5:i64 }",
	"fn @f() -> (f64) { return 1.5.5 }",
	"fn @f() -> (f64) { return - }",
	"fn @f() -> (f64) { return 1:c64 }",
	"fn @f() -> (c128) { return complex(1.0) }",
	"fn @f() -> (c128) { return complex(1.0, 2.0):f64 }",
	"fn @f() -> (f64[2]) { return f64[2]{1.0} }",
	"fn @f() -> (f64[2]) { return f64[2]{1.0, 2.0, 3.0} }",
	"fn @f() -> (f64[9]) { return f64[4000000000, 4000000000]{} }",
	"fn @f() -> (bool[1]) { return bool[1]{2} }",
	"fn @f() -> (dyn) { return dyn }",
	"fn @f() -> (dyn) { return dyn \"abc }",
	"fn @f() -> (dyn) { return dyn \"\\q\" }",
	"fn @f() -> (dyn) { return dyn \"\\xg0\" }",
	"fn @f() -> (dyn) { return dyn \"\\",
	"fn @f() -> (dyn) { return dyn (1, }",
	"fn @f() -> (dyn) { return dyn {a 1} }",
	"fn @f() -> (dyn) { return dyn <function g> }",
	"fn @f() -> (dyn) { return dyn range(0, 1, 0) }",
	"fn @f() -> (dyn) { return dyn 1.5 }",
	"fn @f() -> (dyn) { return dyn f64[1]{1.0} }",
	"fn @f[n](%0: f64[n / 2]) -> () { return }",
	"fn @f[n](%0: f64[floor(n/0)]) -> () { return }",
	"fn @f[n](%0: f64[n^99]) -> () { return }",
	"fn @f[n](%0: f64[9223372036854775807*9223372036854775807]) -> () { return }",
	"fn @f[n](%0: f64[(n]) -> () { return }",
	"fn @f[n @1:2](%0: f64[n]) -> () { return }",
	"fn @f() -> () @x { return }",
	WRAP("  %4: f64[n] = nothing %0\n  return %4\n"),
	WRAP("  %4: f64[n] = add %0\n  return %4\n"),
	WRAP("  %4: f64[n] = add %0, %1, %1\n  return %4\n"),
	WRAP("  %4: f64[n] = add %0, %9\n  return %4\n"),
	WRAP("  %4: f64[n] = add %0, %4\n  return %4\n"),
	WRAP("  %4: f64[3] = add %0, %1\n  return %0\n"),
	WRAP("  %4: f64[n], %5: f64[n] = add %0, %1\n  return %4\n"),
	WRAP("  add %0, %1\n  return %0\n"),
	WRAP("  %0: f64[n] = add %0, %1\n  return %0\n"),
	WRAP("  %4: f64[n] = add %0, %2\n  return %0\n"),
	WRAP("  %4: f64 = reduce_sum %0\n  return %0\n"),
	WRAP("  %4: f64 = reduce_sum %0 {}\n  return %0\n"),
	WRAP("  %4: f64 = reduce_sum %0 {axis: [0]}\n  return %0\n"),
	WRAP("  %4: f64 = reduce_sum %0 {axes: 0}\n  return %0\n"),
	WRAP("  %4: f64 = reduce_sum %0 {axes: [0}\n  return %0\n"),
	WRAP("  %4: f64 = reduce_sum %0 {axes: [7]}\n  return %0\n"),
	WRAP("  %4: f64 = reduce_sum %0 {axes: [-1]}\n  return %0\n"),
	WRAP("  %4: f64[n] = convert %0 {to: f128}\n  return %0\n"),
	WRAP("  %4: f64 = call %0 {callee: @g}\n  return %0\n"),
	WRAP("  %4: f64 = call %0 {callee: 3}\n  return %0\n"),
	WRAP("  %4: f64 = call %0 {callee: @f}\n  return %0\n"),
	WRAP("  %4: f64 = host %0 {host: \"cvode\"#77, options: []}\n  return %0\n"),
	WRAP("  %4: f64[n] = if %2 {\n    yield %0\n  }\n  return %4\n"),
	WRAP("  %4: f64[n] = if %2 { yield %0 } { yield %3 }\n  return %4\n"),
	WRAP("  %4: f64[n] = if %0 { yield %0 } { yield %1 }\n  return %4\n"),
	WRAP("  %4: f64[n] = if %2 { yield %0 } { yield %1 } { yield %1 }\n  return %4\n"),
	WRAP("  %4: f64[n] = if %2 { %5: f64[n] = sin %0\n yield %5 } { yield %5 }\n  return %4\n"),
	WRAP("  %4: f64[n] = if %2 { %5: f64[n] = sin %0\n yield %5 } { yield %0 }\n  return %5\n"),
	WRAP("  %4: f64[n] = for %3, %0 { yield %0 }\n  return %4\n"),
	WRAP("  %4: f64[n] = for %3, %0 { (%5: i64, %6: f64[3]): yield %6 }\n  return %4\n"),
	WRAP("  %4: f64[n] = for %3, %0 { (%5: i64, %6: f64[n]): yield %5 }\n  return %4\n"),
	WRAP("  %4: f64[n] = while %0 { (%5: f64[n]): yield %5 } { (%6: f64[n]): yield %6 }\n  return "
         "%4\n"),
	WRAP("  %4: f64[n] = add %0, %1 { yield }\n  return %4\n"),
	WRAP("  %4: f64[n] = add %0, %1 !\n  return %4\n"),
	"fn @f[n, k](%0: f64[n]) -> (f64[k]) {\n  %1: f64[k] = iota {to: f64, length: k}\n  return "
	"%1\n}\n",
	"fn @f[n, m](%0: f64[n], %1: f64[m]) -> (f64[n]) {\n  %2: f64[n] = add %0, %1\n  return "
	"%2\n}\n",
	"fn @f(%0: token, %1: dyn) -> () {\n  %2: token = print %0, %1\n  %3: token = print %0, %1\n  "
	"return\n}\n",
	"fn @f(%0: token, %1: dyn) -> () {\n  for 3 {\n (%2: i64):\n %3: token = print %0, %1\n "
	"yield\n }\n return\n}\n",
	"fn @f() -> (f64) {\n  %0: f64 = call {callee: @g}\n  return %0\n}\nfn @g() -> (f64) {\n  "
	"return 1\n}\n",
};

/* Extents that only the run knows, for which the text states ones that have
 * another meaning. */
static const char *const wrong_extents[] = {
	"fn @f[n](%0: f64[n], %1: bool[n]) -> (f64[n]) {\n"
	"  %2: i64[n] = nonzero %1 {length: n}\n"
	"  %3: f64[n] = gather %0, %2 {axis: 0, batch: 0}\n"
	"  %4: f64[n] = add %3, %0\n"
	"  return %4\n"
	"}\n",
	"fn @f[n](%0: f64[n], %1: bool[n]) -> (f64[6]) {\n"
	"  %2: i64[6] = nonzero %1 {length: 6}\n"
	"  %3: f64[6] = gather %0, %2 {axis: 0, batch: 0}\n"
	"  %4: f64[6] = add %3, %3\n"
	"  return %4\n"
	"}\n",
	"fn @f[n, s](%0: bool[n], %1: bool[n]) -> (i64[s]) {\n"
	"  %2: i64[s] = nonzero %0 {length: s}\n"
	"  %3: i64[s] = nonzero %1 {length: s}\n"
	"  %4: i64[s] = add %2, %3\n"
	"  return %4\n"
	"}\n",
	"fn @f[n, m](%0: f64[n], %1: f64[m], %2: bool) -> (f64[n]) {\n"
	"  %3: f64[n] = if %2 {\n"
	"    yield %1\n"
	"  } {\n"
	"    yield %0\n"
	"  }\n"
	"  %4: f64[n] = add %3, %0\n"
	"  return %4\n"
	"}\n",
	"fn @f[n, m](%0: f64[n], %1: f64[m]) -> (f64[n]) {\n"
	"  %3: f64[n] = try {\n"
	"    yield %1\n"
	"  } {\n"
	"    (%2: dyn):\n"
	"    yield %0\n"
	"  }\n"
	"  %4: f64[n] = add %3, %0\n"
	"  return %4\n"
	"}\n",
	"fn @f[n, s](%0: f64[n], %1: f64[n]) -> (f64[n]) {\n"
	"  %2: f64[n] = for 3, %0 {\n"
	"    (%3: i64, %4: f64[s]):\n"
	"    %5: f64[s + 1] = pad %4 {low: [0], length: [s + 1], stride: [1]}\n"
	"    yield %5\n"
	"  }\n"
	"  %6: f64[n] = add %2, %1\n"
	"  return %6\n"
	"}\n",
	"fn @g[n, s](%0: bool[n]) -> (i64[s]) {\n"
	"  %1: i64[s] = nonzero %0 {length: s}\n"
	"  return %1\n"
	"}\n"
	"fn @f[n](%0: i64[n], %1: bool[n]) -> (i64[n]) {\n"
	"  %2: i64[n] = call %1 {callee: @g}\n"
	"  %3: i64[n] = add %2, %0\n"
	"  return %3\n"
	"}\n",
	"fn @g[n, s, t](%0: bool[n], %1: bool[n]) -> (i64[s + t]) {\n"
	"  %2: i64[s] = nonzero %0 {length: s}\n"
	"  %3: i64[t] = nonzero %1 {length: t}\n"
	"  %4: i64[s + t] = concat %2, %3 {axis: 0}\n"
	"  return %4\n"
	"}\n"
	"fn @f[n](%0: i64[n], %1: bool[n]) -> (i64[n]) {\n"
	"  %2: i64[n] = call %1, %1 {callee: @g}\n"
	"  %3: i64[n] = add %2, %0\n"
	"  return %3\n"
	"}\n",
	"fn @f[n, s](%0: i64[n], %1: bool[n], %2: i64) -> (i64[s]) {\n"
	"  %3: bool = lt %2, 1\n"
	"  %4: i64[s] = if %3 {\n"
	"    %5: i64[s] = nonzero %1 {length: s}\n"
	"    yield %5\n"
	"  } {\n"
	"    %6: i64 = sub %2, 1\n"
	"    %7: i64[n] = call %0, %1, %6 {callee: @f}\n"
	"    %8: i64[n] = add %7, %0\n"
	"    yield %8\n"
	"  }\n"
	"  return %4\n"
	"}\n",
	"fn @odd[n](%0: i64[n], %1: bool[n], %2: i64) -> (i64[n]) {\n"
	"  %3: i64 = sub %2, 1\n"
	"  %4: i64[n] = call %0, %1, %3 {callee: @even}\n"
	"  %5: i64[n] = add %4, %0\n"
	"  return %5\n"
	"}\n"
	"fn @even[n, s](%0: i64[n], %1: bool[n], %2: i64) -> (i64[s]) {\n"
	"  %3: bool = lt %2, 1\n"
	"  %4: i64[s] = if %3 {\n"
	"    %5: i64[s] = nonzero %1 {length: s}\n"
	"    yield %5\n"
	"  } {\n"
	"    %6: i64 = sub %2, 1\n"
	"    %7: i64[n] = call %0, %1, %6 {callee: @odd}\n"
	"    yield %7\n"
	"  }\n"
	"  return %4\n"
	"}\n",
	"fn @f[n, m, k](%0: f64[n, m], %1: f64[k]) -> (f64[k]) {\n"
	"  %2: f64[n, k], %3: f64[k], %4: f64[m, k] = svd %0\n"
	"  %5: f64[k] = add %3, %1\n"
	"  return %5\n"
	"}\n",
	"fn @f[n, m](%0: f64[n], %1: i64) -> (f64[n]) {\n"
	"  bind_dim %1 {dim: n}\n"
	"  %3: f64[n] = add %0, %0\n"
	"  return %3\n"
	"}\n",
};

static void expect_rejected(Ctx *c, const char *text, size_t n) {
	diag_clear(c);
	Fn *f = read_bytes(c, text, n);
	bool good = !f && diag_total(c) > 0 && diag_at(c, 0)->code != E_INTERNAL;
	if (!good) {
		printf("--- accepted, or refused for the wrong reason:\n%.*s\n", (int)n, text);
		show_diags(c);
	}
	CHECK(good);
	if (f) fn_unref(f);
	diag_clear(c);
}

static void test_malformed(Ctx *c) {
	for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++)
		expect_rejected(c, bad_texts[i], strlen(bad_texts[i]));
	for (size_t i = 0; i < sizeof wrong_extents / sizeof *wrong_extents; i++)
		expect_rejected(c, wrong_extents[i], strlen(wrong_extents[i]));
	/* Unbounded nesting of each kind. */
	static const char *const openers[] = {
		"fn @f() -> (dyn) { return dyn ", "(",     "fn @f[n](%0: f64[", "(",
		"fn @f() -> () { try ",           "{ try "};
	for (int k = 0; k < 6; k += 2) {
		size_t head = strlen(openers[k]), step = strlen(openers[k + 1]), n = head + 100000 * step;
		char *text = malloc(n);
		memcpy(text, openers[k], head);
		for (size_t i = 0; i < 100000; i++) memcpy(text + head + i * step, openers[k + 1], step);
		expect_rejected(c, text, n);
		free(text);
	}
}

/* A place in a text that the context does not have is left out: whoever looks
 * all places through would write behind its end. */
static void test_unknown_places(Ctx *c) {
	static const char text[] =
		"fn @f(%0: f64) -> (f64) @4000000000:0:0 {\n  %1: f64 = sin %0 !jvp !@7:4000000000:9 "
		"@1000000:1:2\n  %2: f64 = cos %1 @1:9:3\n  return %2\n}\n";
	Fn *f = read_fn(c, text);
	if (!CHECK(f)) return;
	char *got = print_fn(f);
	CHECK_TEXT(got, "fn @f(%0: f64) -> (f64) {\n  %1: f64 = sin %0 !jvp !@7:0:0\n  %2: f64 = cos "
	                "%1\n  return %2\n}\n");
	bool *mentioned = calloc(sources_end(c), 1);
	if (CHECK(mentioned)) sources_mentioned(c, mentioned);
	free(mentioned);
	free(got);
	fn_unref(f);
}

/* The reader terminates on every mutated text. A text that it accepts verifies
 * and round-trips. */
static void test_mutations(Ctx *c) {
	uint64_t state = 0x9e3779b97f4a7c15u;
	int accepted = 0, bad = 0;
	for (int round = 0; round < 6000; round++) {
#define NEXT()                                                                                     \
	(state = state * 6364136223846793005u + 1442695040888963407u, (uint32_t)(state >> 33))
		const char *base = texts[NEXT() % NTEXTS];
		size_t n = strlen(base);
		char *text = malloc(n * 2 + 64);
		memcpy(text, base, n);
		for (uint32_t edits = 1 + NEXT() % 3; edits-- && n;) {
			size_t at = NEXT() % n, len = 1 + NEXT() % 8;
			if (len > n - at) len = n - at;
			switch (NEXT() % 5) {
			case 0: text[at] = (char)NEXT(); break;
			case 1: text[at] = "%{}[]():,.=@\"0123456789nfe-+!"[NEXT() % 30]; break;
			case 2:
				memmove(text + at, text + at + len, n - at - len);
				n -= len;
				break;
			case 3:
				memmove(text + at + len, text + at, n - at);
				n += len;
				break;
			default: n = at; break;
			}
		}
		Fn *f = read_bytes(c, text, n);
		if (f) {
			accepted++;
			char *first = print_fn(f), *second = NULL;
			Fn *again = first ? read_fn(c, first) : NULL;
			if (again) second = print_fn(again);
			if (!again || !second || strcmp(first, second) || !fn_verify(f, "reading")) {
				bad++;
				printf("--- does not come back:\n%s--- but\n%s\n", first ? first : "",
				       second ? second : "");
				show_diags(c);
			}
			free(first);
			free(second);
			if (again) fn_unref(again);
			fn_unref(f);
		} else if (!diag_total(c)) bad++;
		for (uint32_t i = 0; i < diag_total(c); i++) bad += diag_at(c, i)->code == E_INTERNAL;
		if (bad) show_diags(c);
		diag_clear(c);
		free(text);
	}
	CHECK(!bad && accepted > 100);
}

/* ---- host calls, allocation failure -------------------------------------- */

/* A HOST call is printed by name and number, and is read back where the number
 * is known. */
static void test_host_text(Ctx *c) {
	HostDef def = {.name = "solver"};
	HostId id = host_call_intern(c, &def, 0, NULL, 0, NULL);
	char text[200];
	static const char *const format = "fn @f(%%0: f64) -> (f64) {\n  %%1: f64 = host %%0 {host: "
									  "\"solver\"#%u, options: [1, 2]}\n  return %%1\n}\n";
	snprintf(text, sizeof text, format, id);
	round_trip(c, text, NULL);
	Fn *f = read_fn(c, text);
	Fn *copy = copy_fn(c, f, false);
	char *x = print_fn(copy);
	CHECK(!strcmp(x, text));
	free(x);
	fn_unref(copy);
	fn_unref(f);
}

/* An allocation failure at any point of reading and printing ends in NULL,
 * without a crash or a leak. */
static void test_memory(void) {
	bool done = false;
	for (uint64_t n = 1; !done && n < 3000; n += 1 + n / 16) {
		Ctx *c = ctx_new(NULL);
		SourceId s = source_add(c, "test.ir", texts[5], strlen(texts[5]));
		heap_fail_at(c, n, true);
		Fn *f = fn_read(c, s, NULL);
		if (f) {
			Text text;
			text_init(&text, c);
			fn_print(&text, f);
			done = !text.failed;
			text_free(&text);
			fn_unref(f);
		}
		heap_fail_at(c, 0, false);
		ctx_free(c);
	}
	CHECK(done);
}

static void all_tests(Ctx *c, void *arg) {
	(void)arg;
	test_round_trips(c);
	test_reading_is_lenient(c);
	test_malformed(c);
	test_unknown_places(c);
	test_mutations(c);
	test_host_text(c);
	test_memory();
}

int main(void) { return run_tests(all_tests); }
