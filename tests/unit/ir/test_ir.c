/* test_ir.c - unit tests of scalar semantics, the IR's text form, the verifier,
 * copying and inlining.
 *
 * Needs: lang/ only.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "lang/builder/internal.h"
#include "lang/ir/scalar_expr.h"
#include "tests/unit/support/check.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static char *copy_text(const char *s, size_t n) {
	char *out = malloc(n + 1);
	memcpy(out, s, n);
	out[n] = 0;
	return out;
}

static char *print_fn(const Fn *f) {
	Text text;
	text_init(&text, f->ctx);
	fn_print(&text, f);
	char *out = text.failed ? NULL : copy_text(text.at ? text.at : "", text.n);
	text_free(&text);
	return out;
}

static Fn *read_bytes(Ctx *c, const char *text, size_t n) {
	return fn_read(c, source_add(c, "test.ir", text, n));
}
static Fn *read_fn(Ctx *c, const char *text) { return read_bytes(c, text, strlen(text)); }

static void show_diags(Ctx *c) {
	for (uint32_t i = 0; i < diag_total(c); i++)
		printf("  %s %s\n", diag_code_id(diag_at(c, i)->code), diag_at(c, i)->message);
	diag_clear(c);
}

/* ---- scalars ------------------------------------------------------------- */

typedef struct RealRow {
	Op op;
	double x, y, want; /* want NaN: any NaN; the sign of a zero counts */
} RealRow;

static bool same_real(double a, double b) {
	return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static const RealRow real_rows[] = {
	{OP_NEG, 0.0, 0, -0.0},
	{OP_NEG, INFINITY, 0, -INFINITY},
	{OP_ABS, -2.5, 0, 2.5},
	{OP_ABS, -0.0, 0, 0.0},
	{OP_ABS, NAN, 0, NAN},
	{OP_SIGN, -3, 0, -1},
	{OP_SIGN, -0.0, 0, 0.0},
	{OP_SIGN, INFINITY, 0, 1},
	{OP_SIGN, -INFINITY, 0, -1},
	{OP_SIGN, NAN, 0, NAN},
	{OP_FLOOR, -0.5, 0, -1},
	{OP_FLOOR, 2.0, 0, 2},
	{OP_ROUND, 0.5, 0, 0.0},
	{OP_ROUND, 1.5, 0, 2},
	{OP_ROUND, 2.5, 0, 2},
	{OP_ROUND, -0.5, 0, -0.0},
	{OP_SQRT, 4, 0, 2},
	{OP_SQRT, -1, 0, NAN},
	{OP_CBRT, -8, 0, -2},
	{OP_EXP, 0, 0, 1},
	{OP_EXPM1, -0.0, 0, -0.0},
	{OP_LOG, 0, 0, -INFINITY},
	{OP_LOG, -1, 0, NAN},
	{OP_LOG1P, -1, 0, -INFINITY},
	{OP_SIN, 0, 0, 0},
	{OP_COS, 0, 0, 1},
	{OP_TAN, 0, 0, 0},
	{OP_ASIN, 2, 0, NAN},
	{OP_ACOS, 1, 0, 0},
	{OP_ATAN, -0.0, 0, -0.0},
	{OP_SINH, 0, 0, 0},
	{OP_COSH, 0, 0, 1},
	{OP_TANH, INFINITY, 0, 1},
	{OP_ERF, -INFINITY, 0, -1},
	{OP_ADD, 1, 2, 3},
	{OP_ADD, INFINITY, -INFINITY, NAN},
	{OP_SUB, 1, 2, -1},
	{OP_MUL, -0.0, 3, -0.0},
	{OP_DIV, 1, 0, INFINITY},
	{OP_DIV, 0, 0, NAN},
	{OP_DIV, -1, INFINITY, -0.0},
	{OP_POW, 0, 0, 1},
	{OP_POW, -8, 3, -512},
	{OP_POW, -8, 0.5, NAN},
	{OP_POW, 2, -1, 0.5},
	{OP_ATAN2, 0, 1, 0},
	{OP_ATAN2, -0.0, 1, -0.0},
	{OP_MAX, 1, 2, 2},
	{OP_MAX, NAN, 2, NAN},
	{OP_MAX, 2, NAN, NAN},
	{OP_MAX, 0.0, -0.0, 0.0},
	{OP_MAX, -0.0, 0.0, 0.0},
	{OP_MAX, -0.0, -0.0, -0.0},
	{OP_MAX, -5, -5, -5},
	{OP_MAX, INFINITY, NAN, NAN},
	{OP_MIN, 1, 2, 1},
	{OP_MIN, NAN, 2, NAN},
	{OP_MIN, 2, NAN, NAN},
	{OP_MIN, 0.0, -0.0, -0.0},
	{OP_MIN, -0.0, 0.0, -0.0},
	{OP_MIN, 0.0, 0.0, 0.0},
	{OP_MIN, -5, -5, -5},
	{OP_MOD, 7, 3, 1},
	{OP_MOD, -7, 3, 2},
	{OP_MOD, 7, -3, -2},
	{OP_MOD, -7, -3, -1},
	{OP_MOD, 6, 3, 0.0},
	{OP_MOD, -6, 3, 0.0},
	{OP_MOD, 6, -3, -0.0},
	{OP_MOD, 1, 0, NAN},
	{OP_MOD, INFINITY, 3, NAN},
	{OP_MOD, 5.5, INFINITY, 5.5},
	{OP_MOD, -1, INFINITY, INFINITY},
	{OP_MOD, NAN, 1, NAN},
	{OP_FLOORDIV, 7, 2, 3},
	{OP_FLOORDIV, -7, 2, -4},
	{OP_FLOORDIV, 7, -2, -4},
	{OP_FLOORDIV, 1, 0, INFINITY},
};

static void test_real_rows(void) {
	for (size_t i = 0; i < sizeof real_rows / sizeof *real_rows; i++) {
		const RealRow *r = &real_rows[i];
		double out = 0;
		float x = (float)r->x, y = (float)r->y, out32 = 0;
		bool good = scalar_apply(r->op, DT_F64, &r->x, &r->y, &out) == ST_OK &&
		            same_real(out, r->want) &&
		            scalar_apply(r->op, DT_F32, &x, &y, &out32) == ST_OK &&
		            same_real((double)out32, r->want);
		if (!good)
			printf("  row %zu: %s(%g, %g) = %g, %g\n", i, prims[r->op].name, r->x, r->y, out,
			       (double)out32);
		CHECK(good);
	}
	/* f32 is computed in float: double would round this differently. */
	float a = 1.0f, b = 3.0f, q;
	CHECK(scalar_apply(OP_DIV, DT_F32, &a, &b, &q) == ST_OK && q == a / b);
	CHECK(scalar_apply(OP_SIN, DT_F32, &b, NULL, &q) == ST_OK && q == sinf(b));
}

typedef struct IntRow {
	Op op;
	int64_t x, y;
	bool fails;
	int64_t want;
} IntRow;

static const IntRow int_rows[] = {
	{OP_NEG, 5, 0, false, -5},       {OP_ABS, -5, 0, false, 5},
	{OP_SIGN, -9, 0, false, -1},     {OP_SIGN, 0, 0, false, 0},
	{OP_ADD, 2, 3, false, 5},        {OP_SUB, 2, 3, false, -1},
	{OP_MUL, -4, 3, false, -12},     {OP_POW, 3, 4, false, 81},
	{OP_POW, -2, 3, false, -8},      {OP_POW, 0, 0, false, 1},
	{OP_POW, 5, 1, false, 5},        {OP_POW, 2, -1, true, 0},
	{OP_POW, 1, -1, true, 0},        {OP_POW, 0, -1, true, 0},
	{OP_MAX, -1, 1, false, 1},       {OP_MIN, -1, 1, false, -1},
	{OP_MOD, 7, 3, false, 1},        {OP_MOD, -7, 3, false, 2},
	{OP_MOD, 7, -3, false, -2},      {OP_MOD, -7, -3, false, -1},
	{OP_MOD, 6, -3, false, 0},       {OP_MOD, 5, 0, true, 0},
	{OP_MOD, 5, -1, false, 0},       {OP_FLOORDIV, 7, 3, false, 2},
	{OP_FLOORDIV, -7, 3, false, -3}, {OP_FLOORDIV, 7, -3, false, -3},
	{OP_FLOORDIV, -7, -3, false, 2}, {OP_FLOORDIV, -6, 3, false, -2},
	{OP_FLOORDIV, 1, 0, true, 0},    {OP_FLOORDIV, 5, -1, false, -5},
	{OP_BITAND, 12, 10, false, 8},   {OP_BITAND, -1, 7, false, 7},
	{OP_BITXOR, 12, 10, false, 6},   {OP_BITXOR, -1, 7, false, -8},
	{OP_SHIFT, 3, 2, false, 12},     {OP_SHIFT, 12, -2, false, 3},
	{OP_SHIFT, 5, 0, false, 5},      {OP_SHIFT, 5, 64, false, 0},
	{OP_SHIFT, 5, -70, false, 0},
};

static const IntRow wrap_rows[] = {
	/* 64 bits */
	{OP_NEG, INT64_MIN, 0, false, INT64_MIN},    {OP_ABS, INT64_MIN, 0, false, INT64_MIN},
	{OP_ADD, INT64_MAX, 1, false, INT64_MIN},    {OP_SUB, INT64_MIN, 1, false, INT64_MAX},
	{OP_MUL, INT64_MAX, 2, false, -2},           {OP_POW, 2, 64, false, 0},
	{OP_POW, 3, 41, false, -420491770248316829}, {OP_FLOORDIV, INT64_MIN, -1, false, INT64_MIN},
	{OP_MOD, INT64_MIN, -1, false, 0},           {OP_SHIFT, -1, -60, false, 15},
	{OP_SHIFT, 1, 63, false, INT64_MIN},         {OP_SHIFT, 1, INT64_MIN, false, 0},
};

static void test_int_rows(void) {
	for (size_t i = 0; i < sizeof int_rows / sizeof *int_rows; i++) {
		const IntRow *r = &int_rows[i];
		int64_t out = 0;
		int32_t x = (int32_t)r->x, y = (int32_t)r->y, out32 = 0;
		Status want = r->fails ? ST_ERROR : ST_OK;
		bool good = scalar_apply(r->op, DT_I64, &r->x, &r->y, &out) == want &&
		            (r->fails || out == r->want) &&
		            scalar_apply(r->op, DT_I32, &x, &y, &out32) == want &&
		            (r->fails || out32 == r->want);
		if (!good) printf("  row %zu: %s = %" PRId64 ", %d\n", i, prims[r->op].name, out, out32);
		CHECK(good);
	}
	for (size_t i = 0; i < sizeof wrap_rows / sizeof *wrap_rows; i++) {
		int64_t out = 0;
		const IntRow *r = &wrap_rows[i];
		CHECK(scalar_apply(r->op, DT_I64, &r->x, &r->y, &out) == ST_OK && out == r->want);
	}
	int32_t low = INT32_MIN, high = INT32_MAX, minus = -1, one = 1, two = 2, big = 33, out;
	CHECK(scalar_apply(OP_ADD, DT_I32, &high, &one, &out) == ST_OK && out == INT32_MIN);
	CHECK(scalar_apply(OP_MUL, DT_I32, &high, &high, &out) == ST_OK && out == 1);
	CHECK(scalar_apply(OP_NEG, DT_I32, &low, NULL, &out) == ST_OK && out == INT32_MIN);
	CHECK(scalar_apply(OP_FLOORDIV, DT_I32, &low, &minus, &out) == ST_OK && out == INT32_MIN);
	CHECK(scalar_apply(OP_MOD, DT_I32, &low, &minus, &out) == ST_OK && out == 0);
	CHECK(scalar_apply(OP_POW, DT_I32, &two, &big, &out) == ST_OK && out == 0);
}

static void test_bools_and_comparisons(void) {
	for (int k = 0; k < 4; k++) {
		bool x = k & 1, y = k >> 1, out;
		CHECK(scalar_apply(OP_MAX, DT_BOOL, &x, &y, &out) == ST_OK && out == (x || y));
		CHECK(scalar_apply(OP_MIN, DT_BOOL, &x, &y, &out) == ST_OK && out == (x && y));
		CHECK(scalar_apply(OP_EQ, DT_BOOL, &x, &y, &out) == ST_OK && out == (x == y));
		CHECK(scalar_apply(OP_LT, DT_BOOL, &x, &y, &out) == ST_OK && out == (x < y));
		CHECK(scalar_apply(OP_LE, DT_BOOL, &x, &y, &out) == ST_OK && out == (x <= y));
	}
	double a = NAN, b = 1, zero = 0.0, minus = -0.0;
	bool out = true;
	CHECK(scalar_apply(OP_EQ, DT_F64, &a, &a, &out) == ST_OK && !out);
	CHECK(scalar_apply(OP_LE, DT_F64, &a, &b, &out) == ST_OK && !out);
	CHECK(scalar_apply(OP_EQ, DT_F64, &zero, &minus, &out) == ST_OK && out);
	int64_t i = -1, j = 1;
	CHECK(scalar_apply(OP_LT, DT_I64, &i, &j, &out) == ST_OK && out);
	double _Complex z = __builtin_complex(0.0, 1.0), two = 2, zz;
	double part;
	CHECK(scalar_apply(OP_EQ, DT_C128, &z, &z, &out) == ST_OK && out);
	CHECK(scalar_apply(OP_LT, DT_C128, &z, &z, &out) == ST_INTERNAL);
	CHECK(scalar_apply(OP_ABS, DT_C128, &z, NULL, &zz) == ST_INTERNAL);
	CHECK(scalar_apply(OP_POW, DT_C128, &z, &two, &zz) == ST_OK && creal(zz) == -1 &&
	      cimag(zz) == 0);
	CHECK(scalar_apply(OP_IMAG, DT_C128, &z, NULL, &part) == ST_OK && part == 1);
	CHECK(scalar_apply(OP_CONJ, DT_C128, &z, NULL, &zz) == ST_OK && cimag(zz) == -1);
	zz = -1;
	CHECK(scalar_apply(OP_SQRT, DT_C128, &zz, NULL, &zz) == ST_OK && fabs(cimag(zz) - 1) < 1e-15 &&
	      fabs(creal(zz)) < 1e-15);
	double _Complex nil = 0, half = 0.5;
	CHECK(scalar_apply(OP_POW, DT_C128, &nil, &nil, &zz) == ST_OK && zz == 1);
	CHECK(scalar_apply(OP_POW, DT_C128, &nil, &half, &zz) == ST_OK && zz == 0);
	float _Complex w = __builtin_complex(3.0f, -4.0f);
	float re;
	CHECK(scalar_apply(OP_REAL, DT_C64, &w, NULL, &re) == ST_OK && re == 3);
}

/* Each row supports exactly the dtypes that its KINDS column names. */
static void test_table_is_covered(void) {
	for (int op = 1; op < OP_COUNT; op++) {
		if (!prims[op].elementwise) continue;
		for (int d = 0; d < DT_COUNT; d++) {
			double _Complex x, y, out;
			double half = 0.5;
			scalar_convert(DT_F64, &half, (Dtype)d, &x);
			int64_t two = 2;
			scalar_convert(DT_I64, &two, (Dtype)d, &y);
			Status want = prims[op].kinds & dtype_kind((Dtype)d) ? ST_OK : ST_INTERNAL;
			if (scalar_apply((Op)op, (Dtype)d, &x, &y, &out) != want)
				printf("  %s of %s\n", prims[op].name, dtype_name((Dtype)d));
			CHECK(scalar_apply((Op)op, (Dtype)d, &x, &y, &out) == want);
		}
	}
}

static int64_t to_int(double x, Dtype d) {
	int64_t i64 = 0;
	int32_t i32 = 0;
	if (d == DT_I64) scalar_convert(DT_F64, &x, d, &i64);
	else {
		scalar_convert(DT_F64, &x, d, &i32);
		i64 = i32;
	}
	return i64;
}

static void test_convert(void) {
	CHECK(to_int(2.9, DT_I64) == 2 && to_int(-2.9, DT_I64) == -2 && to_int(NAN, DT_I64) == 0);
	CHECK(to_int(1e300, DT_I64) == INT64_MAX && to_int(-1e300, DT_I64) == INT64_MIN);
	CHECK(to_int(9223372036854774784.0, DT_I64) == INT64_C(9223372036854774784));
	CHECK(to_int(2147483647.5, DT_I32) == INT32_MAX && to_int(2147483648.0, DT_I32) == INT32_MAX);
	CHECK(to_int(-2147483648.5, DT_I32) == INT32_MIN && to_int(INFINITY, DT_I32) == INT32_MAX);
	int64_t big = INT64_C(0x1ffffffff), tie = INT64_C(0x4000004000000001);
	int32_t i32;
	float f32;
	bool b;
	scalar_convert(DT_I64, &big, DT_I32, &i32);
	CHECK(i32 == -1);
	scalar_convert(DT_I64, &tie, DT_F32, &f32);
	/* Rounded once: by way of double it would be the even neighbour. */
	CHECK(f32 == (float)tie);
	double nan_ = NAN, tiny = 1e-300;
	scalar_convert(DT_F64, &nan_, DT_BOOL, &b);
	CHECK(b);
	scalar_convert(DT_F64, &tiny, DT_BOOL, &b);
	CHECK(b);
	double _Complex z = __builtin_complex(0.0, 1.0);
	scalar_convert(DT_C128, &z, DT_BOOL, &b);
	CHECK(b);
	double re;
	scalar_convert(DT_C128, &z, DT_F64, &re);
	CHECK(re == 0);
	b = true;
	scalar_convert(DT_BOOL, &b, DT_C128, &z);
	CHECK(creal(z) == 1 && cimag(z) == 0);
	for (int from = 0; from < DT_COUNT; from++)
		for (int to = 0; to < DT_COUNT; to++) {
			double _Complex x = 0, y = 0, back = 0;
			int64_t one = 1;
			scalar_convert(DT_I64, &one, (Dtype)from, &x);
			scalar_convert((Dtype)from, &x, (Dtype)to, &y);
			scalar_convert((Dtype)to, &y, (Dtype)from, &back);
			CHECK(!memcmp(&x, &back, dtype_size((Dtype)from)));
		}
}

/* ---- the text form ------------------------------------------------------- */

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

/* ---- the verifier -------------------------------------------------------- */

/* f64[n], f64[n], i64 -> a loop with a branch inside, so that every kind of
 * structure occurs. */
static const char *const victim = "fn @victim[n](%0: f64[n], %1: f64[n], %2: i64) -> (f64[n]) {\n"
								  "  %3: f64[n] = add %0, %1\n"
								  "  %4: f64[n] = for %2, %3 {\n"
								  "    (%5: i64, %6: f64[n]):\n"
								  "    %7: bool = lt %5, 3\n"
								  "    %8: f64[n] = if %7 {\n      %9: f64[n] = sin %6\n      "
								  "yield %9\n    } {\n      yield %6\n    }\n"
								  "    yield %8\n  }\n"
								  "  %10: f64 = reduce_sum %4 {axes: [0]}\n"
								  "  %11: f64[n] = broadcast %10 {shape: [n], axes: []}\n"
								  "  return %11\n}\n";

static InstId find_op(const Fn *f, Op op) {
	for (uint32_t i = 0; i < f->insts.n; i++)
		if (f->insts.at[i].op == op) return i;
	return NO_INST;
}

static void break_it(Fn *f, int fault) {
	Inst *add = &f->insts.at[find_op(f, OP_ADD)], *sum = &f->insts.at[find_op(f, OP_REDUCE_SUM)];
	Inst *loop = &f->insts.at[find_op(f, OP_FOR)], *branch = &f->insts.at[find_op(f, OP_IF)];
	Inst *sine = &f->insts.at[find_op(f, OP_SIN)];
	Inst *wide = &f->insts.at[find_op(f, OP_BROADCAST)];
	Ctx *c = f->ctx;
	switch (fault) {
	case 0: f->args.at[add->args] = inst_result(sum, 0); break;  /* used before its definition */
	case 1: f->args.at[sum->args] = inst_result(sine, 0); break; /* from an inner region */
	case 2: f->args.at[add->args] = ref_value(100000); break;
	case 3: f->args.at[add->args] = ref_const(100000); break;
	case 4: f->args.at[add->args] = REF_NONE; break;
	case 5: f->vals.at[add->results].type = type_scalar(c, DT_F64); break;
	case 6: f->vals.at[sum->results].def = 0; break;
	case 7: sum->results = add->results; break; /* defined twice */
	case 8: add->nargs = 1; break;
	case 9:
		add->op = OP_MAX;
		f->vals.at[add->results].type = type_with_dtype(c, f->vals.at[add->results].type, DT_BOOL);
		break;
	case 10: add->op = OP_COUNT; break;
	case 11:
		add->op = OP_CONJ;
		add->nargs = 1;
		break;
	case 12: sum->attr = 0; break;
	case 13: sum->attr = attr_intern(c, (int64_t[]){1, 5}, 2); break;
	case 14: sum->attr = attr_intern(c, (int64_t[]){9, 0}, 2); break;
	case 15: add->parent = 1; break;
	case 16:
		f->inst_order.at[f->regions.at[0].insts + 1] = f->inst_order.at[f->regions.at[0].insts];
		break;
	case 17: f->region_ids.at[branch->regions + 1] = f->region_ids.at[branch->regions]; break;
	case 18: f->region_ids.at[branch->regions] = 1000; break;
	case 19: f->region_ids.at[loop->regions] = 0; break;
	case 20: f->regions.at[f->region_ids.at[loop->regions]].owner = 0; break;
	case 21: f->regions.at[f->region_ids.at[loop->regions]].nresults = 0; break;
	case 22: f->regions.at[f->region_ids.at[loop->regions]].nparams = 1; break;
	case 23: f->regions.at[0].ninsts = 100000; break;
	case 24: f->regions.at[0].results = 100000; break;
	case 25: branch->nregions = 1; break;
	case 26: add->nregions = 1; break;
	case 27: f->vals.at[f->regions.at[0].params].type = type_token(c); break;
	case 28: { /* an extent with an unknown symbol */
		Dim d = dim_sym(c, f->syms.n);
		wide->attr = attr_intern(c, (int64_t[]){1, d, 0}, 3);
		f->vals.at[wide->results].type = type_tensor(c, DT_F64, 1, &d);
		break;
	}
	case 29: f->vals.at[branch->results].index = 7; break;
	case 30: f->args.at[branch->args] = f->args.at[add->args]; break;
	case 31: f->inst_order.at[f->regions.at[0].insts] = 100000; break;
	case 32: add->nresults = 100000; break;
	case 33: add->args = UINT32_MAX - 1; break;
	case 34:
		add->op = OP_CALL;
		add->attr = attr_intern(c, (int64_t[]){1000}, 1);
		break;
	case 35: f->regions.n = 0; break;
	}
}
#define NFAULTS 36

static void test_verifier(Ctx *c) {
	for (int fault = 0; fault < NFAULTS; fault++) {
		Fn *f = read_fn(c, victim);
		CHECK(f && fn_verify(f, "test"));
		if (!f) {
			show_diags(c);
			return;
		}
		/* Restores the fields that were broken, so that everything is freed. */
		Fn kept = *f;
		Arena *a = arena_new(c);
#define KEEP(field)                                                                                \
	void *field = arena_alloc(a, f->field.n * sizeof *f->field.at + 1);                            \
	memcpy(field, f->field.at, f->field.n * sizeof *f->field.at)
		KEEP(vals);
		KEEP(insts);
		KEEP(regions);
		KEEP(args);
		KEEP(inst_order);
		KEEP(region_ids);
		break_it(f, fault);
		diag_clear(c);
		bool caught = !fn_verify(f, "seeding");
		if (!caught) printf("  fault %d is not seen\n", fault);
		CHECK(caught);
		CHECK(diag_total(c) == 1 && diag_at(c, 0)->code == E_INTERNAL &&
		      !strncmp(diag_at(c, 0)->message, "after seeding: ", 15));
		Text text; /* printing a broken function is harmless */
		text_init(&text, c);
		fn_print(&text, f);
		text_free(&text);
		*f = kept;
#define BACK(field) memcpy(f->field.at, field, f->field.n * sizeof *f->field.at)
		BACK(vals);
		BACK(insts);
		BACK(regions);
		BACK(args);
		BACK(inst_order);
		BACK(region_ids);
		diag_clear(c);
		CHECK(fn_verify(f, "mending") && diag_total(c) == 0);
		arena_free(a);
		fn_unref(f);
	}
	Fn *f = read_fn(c, victim);
	break_it(f, 0);
	fn_verify(f, "seeding");
	CHECK(strstr(diag_at(c, 0)->message, ": %3: f64[n] = add %10, %1"));
	diag_clear(c);
	fn_unref(f);
}

/* ---- copying and inlining ------------------------------------------------ */

/* Copies f through the builder, with the same symbols or with fresh ones. */
static Fn *copy_fn(Ctx *c, const Fn *f, bool same_symbols) {
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

static void test_copy(Ctx *c) {
	for (size_t i = 0; i < NTEXTS; i++)
		for (int same = 0; same < 2; same++) {
			Fn *f = read_fn(c, texts[i]);
			Fn *copy = f ? copy_fn(c, f, same) : NULL;
			CHECK(copy && fn_verify(copy, "copying"));
			CHECK(copy && fn_nresults(copy) == fn_nresults(f) && fn_nparams(copy) == fn_nparams(f));
			/* A copy of the copy is identical: nothing is left to simplify. */
			Fn *again = copy ? copy_fn(c, copy, true) : NULL;
			char *x = copy ? print_fn(copy) : NULL, *y = again ? print_fn(again) : NULL;
			CHECK(x && y && !strcmp(x, y));
			if (!x || !y || strcmp(x, y))
				printf("--- copy\n%s--- its copy\n%s", x ? x : "", y ? y : "");
			free(x);
			free(y);
			fn_unref(again);
			fn_unref(copy);
			fn_unref(f);
			show_diags(c);
		}
}

static void test_spans_survive(Ctx *c) {
	Fn *f =
		read_fn(c, "fn @f(%0: f64) -> (f64) {\n  %1 y: f64 = sin %0 !jvp @1:4:5\n  return %1\n}\n");
	Fn *g = copy_fn(c, f, true);
	char *x = print_fn(g);
	CHECK(strstr(x, "%1 y: f64 = sin %0 !jvp @1:4:5\n"));
	free(x);
	/* Inlining puts the builder's chain before the instruction's. */
	Builder *b = build_begin(c, atom(c, "outer"), 0, NULL);
	Ref p = build_param(b, type_scalar(c, DT_F64), 0), r;
	build_chain(b, chain_push(c, 0, "batch"));
	build_inline(b, f, &p, &r);
	CHECK(!strcmp(chain_text(c, build_get_chain(b)), "batch"));
	Fn *h = build_end(b, 1, &r);
	x = print_fn(h);
	CHECK(strstr(x, "sin %0 !batch !jvp @1:4:5\n"));
	free(x);
	fn_unref(f);
	fn_unref(g);
	fn_unref(h);
}

static void test_inline(Ctx *c) {
	/* Symbols take the arguments' extents. Symbols defined inside are fresh for
	 * each call. */
	Fn *f = read_fn(
		c, "fn @f[n, k](%0: f64[n], %1: bool[n]) -> (f64[n], i64[k]) {\n  %2: f64[n] = neg %0\n"
		   "  %3: i64[k] = nonzero %1 {length: k}\n  return %2, %3\n}\n");
	CHECK(f);
	Builder *b = build_begin(c, atom(c, "g"), 0, NULL);
	Dim four = dim_const(c, 4), m = build_fresh_dim(b, atom(c, "m"), 0);
	Ref x4 = build_param(b, type_tensor(c, DT_F64, 1, &four), 0);
	Ref c4 = build_param(b, type_tensor(c, DT_BOOL, 1, &four), 0);
	Ref xm = build_param(b, type_tensor(c, DT_F64, 1, &m), 0),
		cm = build_param(b, type_tensor(c, DT_BOOL, 1, &m), 0);
	Ref r1[2], r2[2];
	build_inline(b, f, (Ref[]){x4, c4}, r1);
	build_inline(b, f, (Ref[]){xm, cm}, r2);
	const Fn *g0 = build_fn(b);
	CHECK(ref_ty(g0, r1[0])->dims[0] == four && ref_ty(g0, r2[0])->dims[0] == m);
	CHECK(ref_ty(g0, r1[1])->dims[0] != ref_ty(g0, r2[1])->dims[0]);
	SymId s;
	CHECK(dim_is_sym(c, ref_ty(g0, r1[1])->dims[0], &s));
	Fn *g = build_end(b, 4, (Ref[]){r1[0], r1[1], r2[0], r2[1]});
	CHECK(fn_verify(g, "inlining"));
	fn_unref(g);
	fn_unref(f);

	/* Equal extents are guarded, and a loop is copied with its regions. */
	f = read_fn(c, victim);
	b = build_begin(c, atom(c, "g"), 0, NULL);
	Dim p = build_fresh_dim(b, atom(c, "p"), 0), q = build_fresh_dim(b, atom(c, "q"), 0);
	Ref xp = build_param(b, type_tensor(c, DT_F64, 1, &p), 0),
		xq = build_param(b, type_tensor(c, DT_F64, 1, &q), 0);
	Ref n = build_param(b, type_scalar(c, DT_I64), 0), r;
	build_inline(b, f, (Ref[]){xp, xq, n}, &r);
	g = build_end(b, 1, &r);
	CHECK(find_op(g, OP_GUARD) != NO_INST && find_op(g, OP_FOR) != NO_INST &&
	      find_op(g, OP_IF) != NO_INST);
	CHECK(fn_verify(g, "inlining"));
	char *out = print_fn(g);
	Fn *again = read_fn(c, out);
	CHECK(again);
	char *out2 = again ? print_fn(again) : NULL;
	CHECK(out2 && !strcmp(out, out2));
	free(out);
	free(out2);
	fn_unref(again);

	uint32_t *uses = calloc(g->vals.n + 1, sizeof *uses);
	fn_count_uses(g, uses);
	uint32_t total = 0;
	for (uint32_t i = 0; i < g->vals.n; i++) total += uses[i];
	CHECK(uses[REF_INDEX(fn_param(g, 0))] == 1 && uses[REF_INDEX(fn_result(g, 0))] == 1 &&
	      total > 8);
	free(uses);
	fn_unref(g);
	fn_unref(f);
	show_diags(c);
}

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
		Fn *f = fn_read(c, s);
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
	test_real_rows();
	test_int_rows();
	test_bools_and_comparisons();
	test_table_is_covered();
	test_convert();
	test_round_trips(c);
	test_reading_is_lenient(c);
	test_malformed(c);
	test_mutations(c);
	test_verifier(c);
	test_copy(c);
	test_spans_survive(c);
	test_inline(c);
	test_host_text(c);
	test_memory();
}

int main(void) {
	Ctx *c = ctx_new(NULL);
	source_add(c, "user.dsl", "some user text", 14);
	Status status = c ? ctx_protect(c, all_tests, NULL) : ST_NOMEM;
	if (status != ST_OK) {
		CHECK_MSG(false, "a throw (status %d) ended the tests", (int)status);
		show_diags(c);
	}
	ctx_free(c);
	return check_end();
}
