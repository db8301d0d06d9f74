/* test_ir_binary.c - unit tests of the binary form of functions.
 *
 * Oracle: a written function is read back identically, in this session and in
 * another; damaged bytes are rejected.
 *
 * Needs: the modules of a session, tests/language, tests/derivatives,
 * tests/fuzz/corpus/ir_binary/form.air.
 * Guarantees: the last line is `N passed, N failed`.
 * Usage: `test_ir_binary FILE...` takes every function of the programs in these
 * files instead of the built-in few. `test_ir_binary --write FILE` writes the
 * sample that fixes the form.
 */
#include "lang/builder/internal.h"
#include "lang/binary/format.h"
#include "tests/unit/support/check.h"
#include "tests/unit/parser/session_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE "tests/fuzz/corpus/ir_binary/form.air"

static char *read_file(const char *path, size_t *n) {
	FILE *in = fopen(path, "rb");
	char *text = NULL;
	long size = in && !fseek(in, 0, SEEK_END) ? ftell(in) : -1;
	*n = 0;
	if (size >= 0 && !fseek(in, 0, SEEK_SET) && (text = malloc((size_t)size + 1))) {
		*n = fread(text, 1, (size_t)size, in);
		text[*n] = 0;
	}
	if (in) fclose(in);
	return text;
}

static bool same_text(const Text *x, const Text *y) {
	return !x->failed && !y->failed && x->n == y->n && !memcmp(x->at, y->at, x->n);
}

/* ---- every function of a session ----------------------------------------- */

static int whole, refused;

/* Read back in its own session, the function prints the same. In a fresh
 * session a function without functions among its constants is written as the
 * same bytes. */
static void round_trip(Fn *f) {
	Ctx *c = f->ctx;
	Text bytes, before, after;
	text_init(&bytes, c);
	text_init(&before, c);
	text_init(&after, c);
	const uint32_t total = diag_total(c);
	if (fn_store(&bytes, f, value_none()) != ST_OK) {
		CHECK(diag_total(c) > total && diag_at(c, total)->code == E_FILE);
		refused++;
	} else {
		Fn *g = fn_load(c, "same.air", bytes.at, bytes.n, NULL);
		CHECK(g != NULL);
		fn_print(&before, f);
		if (g) fn_print(&after, g);
		CHECK(same_text(&before, &after));
		if (g) fn_unref(g);
		Ctx *other = ctx_new(NULL);
		Fn *h = fn_load(other, "other.air", bytes.at, bytes.n, NULL);
		Text again;
		text_init(&again, other);
		if (h) {
			CHECK(fn_store(&again, h, value_none()) == ST_OK);
			CHECK(same_text(&bytes, &again));
			fn_unref(h);
		} else
			CHECK(strstr(diag_at(other, 0)->message, "functions as values cannot be read here") ||
			      strstr(diag_at(other, 0)->message, "of the program around is not known here"));
		text_free(&again);
		ctx_free(other);
		whole++;
	}
	diag_truncate(c, total);
	text_free(&bytes);
	text_free(&before);
	text_free(&after);
}

static void functions_of(const char *path) {
	size_t n;
	char *text = read_file(path, &n);
	CHECK(text != NULL);
	if (!text) return;
	Ctx *c = open_session();
	session_set_folder(session_of(c), "tests/language");
	session_run(session_of(c), path, text, n, NULL, NULL, NULL);
	diag_clear(c);
	check_in(path);
	for (FnId i = 1; i < fn_next(c); i++) {
		Fn *f = fn_get(c, i);
		if (!f || !f->finished || f->refs > UINT32_MAX / 4) continue;
		fn_ref(f);
		round_trip(f);
		fn_unref(f);
	}
	check_in(NULL);
	ctx_free(c);
	free(text);
}

/* ---- every kind of content ----------------------------------------------- */

static const char everything[] =
	"fn @even(%0 n: i64) -> (bool) @1:0:4 {\n  %1: bool = eq %0, 0\n  %2: bool = if %1 {\n    "
	"yield true\n  } {\n    %3: i64 = sub %0, 1\n    %4: bool = call %3 {callee: @odd}\n    yield "
	"%4\n  }\n  return %2\n}\n"
	"fn @odd(%0 n: i64) -> (bool) {\n  %1: bool = call %0 {callee: @even}\n  %2: bool = eq %1, "
	"false\n  return %2\n}\n"
	"fn @\"an odd name\"[n, m.1 = \"m\" @1:3:9, _.2](%0 x: f64[n, 3], %1: i64, %2: f64[n*m.1 + "
	"floor((n + 2*m.1)/5) - 1], %3: f64[m.1], %4: f64[_.2]) -> (f64[n, 3], bool, dyn) @1:0:40 "
	"snapshots(5, 0) by_lane(1) {\n"
	"  %5: f64[n, 3] = for %1, %0 {\n    (%6: i64, %7 y: f64[n, 3]):\n    %8: f64[n, 3] = mul %7, "
	"%7 !jvp !transpose @1:10:14\n    yield %8\n  }\n"
	"  %9: f64[16] = mul f64[16]{1.0, 2.0, 3.0, nan, inf, -0.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, "
	"13.0, 14.0, 15.0, 16.0}, f64[16]{1.0, 2.0, 3.0, nan(0x7ff8000000000012), inf, -0.0, 7.0, 8.0, "
	"9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0}\n"
	"  %10: c64[2] = mul c64[2]{complex(1.0, 2.0), complex(nan, -inf)}, c64[2]{complex(1.0, 2.0), "
	"complex(0.5, 0.25)}\n"
	"  %11: f32 = add 1.5:f32, nan(0x7fc00001):f32\n  %12: i32 = add 7:i32, -8:i32\n  %13: bool[3] "
	"= max bool[3]{true, false, true}, bool[3]{false, false, true}\n"
	"  %14: bool = call %1 {callee: @even}\n"
	"  return %5, %14, dyn {a: none, b: (_, \"text\", [range(1, 20, 3), 2:i32]), c: complex(1.0, "
	"2.0)}\n}\n";

static Fn *read_everything(Ctx *c) {
	Fn *f = fn_read(c, source_add(c, "form.ir", everything, sizeof everything - 1), NULL);
	for (uint32_t i = 0; i < diag_total(c); i++)
		printf("%u: %s\n", diag_at(c, i)->span.start, diag_at(c, i)->message);
	return f;
}

static void write_everything(Ctx *c, Text *out) {
	source_add(c, "user.dsl", "some text of a user, forty letters long", 39);
	Fn *f = read_everything(c);
	const Atom names[2] = {atom(c, "name"), atom(c, "weights")};
	const int64_t shape[2] = {4, 5};
	Tensor *t = tensor_zeros(c, DT_F64, 2, shape);
	for (int i = 0; i < 20; i++) ((double *)(void *)t->data)[i] = 0.1 * i;
	const Value items[2] = {value_string(c, "what goes with it", 17), value_tensor(t)},
				about = value_record(c, 2, names, items);
	CHECK(f && fn_store(out, f, about) == ST_OK);
	value_unref(about);
	value_unref(items[0]);
	value_unref(items[1]);
	if (f) fn_unref(f);
}

static void test_everything(void) {
	Ctx *c = ctx_new(NULL), *d = ctx_new(NULL);
	Text bytes, text, again;
	text_init(&bytes, c);
	text_init(&text, c);
	text_init(&again, d);
	write_everything(c, &bytes);
	Value about;
	Fn *f = fn_load(c, "form.air", bytes.at, bytes.n, &about), *first = read_everything(c);
	CHECK(f && first);
	if (f && first) {
		Text want;
		text_init(&want, c);
		fn_print(&text, f);
		fn_print(&want, first);
		CHECK(same_text(&text, &want));
		CHECK(f->checkpoint == first->checkpoint && f->batch_sequentially_by == 2);
		text_free(&want);
		fn_unref(f);
		fn_unref(first);
		const Value w = value_field(about, atom(c, "weights"));
		CHECK(w.kind == V_TENSOR && w.tensor->count == 20 &&
		      ((double *)(void *)w.tensor->data)[19] == 0.1 * 19);
		/* Arrays are aligned, so that a mapped file could be read in place. */
		const uint64_t arrays = binary_load((unsigned char *)bytes.at + AT_ARRAYS, 8);
		CHECK(arrays % 64 == 0 && bytes.n % 64 == 0 && bytes.n - arrays == 128 + 128 + 192);
		value_unref(about);
	}
	Fn *g = fn_load(d, "form.air", bytes.at, bytes.n, &about);
	CHECK(g && fn_store(&again, g, about) == ST_OK && same_text(&bytes, &again));
	CHECK(!strcmp(source_name(d, 1), "user.dsl"));
	if (g) {
		value_unref(about);
		fn_unref(g);
	}
	text_free(&bytes);
	text_free(&text);
	text_free(&again);
	ctx_free(d);
	ctx_free(c);
}

/* Files of an older Atled stay readable, or the version changes: the sample
 * changes only with BINARY_VERSION. */
static void test_golden(void) {
	size_t n;
	char *file = read_file(SAMPLE, &n);
	CHECK(file && n > HEAD_BYTES);
	if (!file) return;
	CHECK(binary_load((unsigned char *)file + AT_VERSION, 4) == BINARY_FIRST);
	Ctx *c = ctx_new(NULL);
	Text now;
	text_init(&now, c);
	write_everything(c, &now);
	CHECK(now.n == n && !memcmp(now.at, file, n));
	Value about;
	Fn *f = fn_load(c, SAMPLE, file, n, &about);
	CHECK(f != NULL);
	if (f) {
		value_unref(about);
		fn_unref(f);
	}
	text_free(&now);
	ctx_free(c);
	free(file);
}

/* ---- damage -------------------------------------------------------------- */

/* Checks that the bytes give one error with their offset, or a function that
 * verifies. */
static bool refused_or_whole(Ctx *c, const unsigned char *bytes, size_t n, bool *accepted) {
	Value about;
	diag_clear(c);
	Fn *f = fn_load(c, "bad.air", bytes, n, &about);
	*accepted = f != NULL;
	if (!f) {
		const bool said = diag_total(c) >= 1 && diag_at(c, 0)->code == E_FILE &&
		                  strstr(diag_at(c, 0)->message, "bad.air: byte ");
		if (!said)
			printf("%s %s\n", diag_total(c) ? diag_code_id(diag_at(c, 0)->code) : "nothing said",
			       diag_total(c) ? diag_at(c, 0)->message : "");
		return said;
	}
	const bool good = fn_verify(f, "reading");
	value_unref(about);
	fn_unref(f);
	return good;
}

static void seal(unsigned char *bytes, size_t n) {
	binary_put(bytes + AT_LENGTH, 8, n);
	binary_put(bytes + AT_CHECKSUM, 8, binary_checksum(bytes, n));
}

static void test_damage(void) {
	Ctx *c = ctx_new(NULL);
	Text bytes;
	text_init(&bytes, c);
	write_everything(c, &bytes);
	const size_t n = bytes.n;
	int bad = 0, wrongly = 0, flips = 0;
	bool accepted;
	for (size_t cut = 0; cut < n; cut++) { /* Truncated: as it is, and with a corrected header. */
		unsigned char *copy = malloc(cut + 1);
		memcpy(copy, bytes.at, cut);
		bad += !refused_or_whole(c, copy, cut, &accepted);
		wrongly += accepted;
		if (cut >= HEAD_BYTES && cut % 8 == 0) {
			seal(copy, cut);
			if (binary_load(copy + AT_ARRAYS, 8) > cut) binary_put(copy + AT_ARRAYS, 8, cut);
			seal(copy, cut);
			bad += !refused_or_whole(c, copy, cut, &accepted);
			wrongly += accepted;
		}
		free(copy);
	}
	CHECK(!bad && !wrongly);
	unsigned char *copy = malloc(n);
	/* One bit flipped: the checksum detects it. With a corrected checksum the
	 * reader rejects the file or returns a function that verifies. */
	for (size_t bit = 0; bit < 8 * n; bit++) {
		memcpy(copy, bytes.at, n);
		copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
		bad += !refused_or_whole(c, copy, n, &accepted);
		wrongly += accepted;
		if (bit / 8 < HEAD_BYTES ||
		    (bit / 8 >= binary_load((unsigned char *)bytes.at + AT_ARRAYS, 8) && bit % 64))
			continue;
		seal(copy, n);
		bad += !refused_or_whole(c, copy, n, &accepted);
		flips += accepted;
	}
	CHECK(!bad && !wrongly && flips > 100);
	if (bad) printf("%d damaged files went wrong\n", bad);
	free(copy);
	text_free(&bytes);
	ctx_free(c);
}

static void test_memory(void) {
	Ctx *w = ctx_new(NULL);
	Text bytes;
	text_init(&bytes, w);
	write_everything(w, &bytes);
	bool loaded = false, stored = false;
	for (uint64_t n = 1; !(loaded && stored) && n < 3000; n += 1 + n / 16) {
		Ctx *c = ctx_new(NULL);
		Value about;
		heap_fail_at(c, n, true);
		Fn *f = fn_load(c, "form.air", bytes.at, bytes.n, &about);
		heap_fail_at(c, 0, false);
		loaded |= f != NULL;
		if (f) {
			Text out;
			text_init(&out, c);
			heap_fail_at(c, n, true);
			const Status st = fn_store(&out, f, about);
			heap_fail_at(c, 0, false);
			CHECK(st == ST_OK ? same_text(&out, &bytes) : st == ST_NOMEM);
			stored |= st == ST_OK;
			text_free(&out);
			value_unref(about);
			fn_unref(f);
		}
		ctx_free(c);
	}
	CHECK(loaded && stored);
	text_free(&bytes);
	ctx_free(w);
}

int main(int argc, char **argv) {
	static const char *const some[] = {"ir_values",  "functions", "strings",
	                                   "reflection", "complex",   "updates",
	                                   "integers",   "literals",  "indexing"};
	if (argc == 3 && !strcmp(argv[1], "--write")) {
		Ctx *c = ctx_new(NULL);
		Text out;
		text_init(&out, c);
		write_everything(c, &out);
		FILE *to = fopen(argv[2], "wb");
		const bool good = to && fwrite(out.at, 1, out.n, to) == out.n && !fclose(to);
		text_free(&out);
		ctx_free(c);
		return !good;
	}
	test_everything();
	test_golden();
	test_damage();
	test_memory();
	for (int i = 1; i < argc; i++) functions_of(argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof some / sizeof *some; i++) {
		char path[100];
		snprintf(path, sizeof path, "tests/language/%s.dsl", some[i]);
		functions_of(path);
	}
	CHECK(whole > (argc == 1 ? 100 : 0));
	printf("%d functions came back, %d hold what a file cannot\n", whole, refused);
	return check_end();
}
