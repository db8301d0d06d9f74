/* test_scalar.c - unit tests of the semantics of scalars.
 *
 * Needs: lang/ only.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "lang/ir/scalar_expr.h"
#include "tests/unit/support/check.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
	CHECK(i32 == INT32_MAX);
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

int main(void) {
	test_real_rows();
	test_int_rows();
	test_bools_and_comparisons();
	test_table_is_covered();
	test_convert();
	return check_end();
}
