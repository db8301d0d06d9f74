/* test_parallel_kernels.c - unit tests of parallel and vector kernels on long
 * arrays and special values.
 *
 * Covers extremes, transcendental functions, cumulative sums, results in the
 * caller's memory and streaming stores.
 *
 * Oracle: plain loops or defining equations. Each program runs in the evaluator
 * and, where there is a code generator, as machine code. It uses 1, 2 and 3
 * threads and extents around the boundaries of vectors, blocks and chunks. The
 * number of threads must not change a bit.
 *
 * Needs: help.h.
 */
#include "tests/unit/eval/help.h"
#include "backend/numlib/blocked_factor.h"
#include "backend/kernels/kernels.h"
#include "backend/kernels/vector_math.h"
#include "lang/base/parallel.h"
#include <string.h>

typedef struct Program {
	Fn *f;
	NativeMode mode;
} Program;

static Program program(T *t, const char *text, NativeMode mode) {
	Program p = {fn_read(t->c, source_add(t->c, "program", text, strlen(text)), NULL), mode};
	if (!p.f) ev_show_diags(t);
	CHECK(p.f != NULL);
	return p;
}

static bool run(T *t, const Program *p, int threads, const Value *args, Tensor *const *places,
                Value *results) {
	backend_set_native(t->c, p->mode);
	parallel_set_threads(t->c, threads);
	Status st = p->f ? code_call_into(t->c, code_of(t->c, p->f), args, places, results) : ST_ERROR;
	parallel_set_threads(t->c, 0);
	if (st != ST_OK) ev_show_diags(t);
	return st == ST_OK;
}

static const NativeMode modes[2] = {NATIVE_OFF, NATIVE_ALWAYS};

static const void *bytes_of(const Value *v, size_t *n) {
	*n = v->kind == V_TENSOR ? (size_t)v->tensor->count * dtype_size((Dtype)v->tensor->dtype) : 8;
	return v->kind == V_TENSOR ? (const void *)v->tensor->data : &v->i;
}

static bool same_bits(const Value *a, const Value *b) {
	size_t n, m;
	const void *x = bytes_of(a, &n), *y = bytes_of(b, &m);
	return n == m && !memcmp(x, y, n);
}

/* ---- extremes ------------------------------------------------------------ */

/* max of two scalars as the language defines it. */
static double largest(double x, double y) {
	if (isnan(x) || isnan(y)) return NAN;
	if (x == y) return signbit(x) ? y : x;
	return x > y ? x : y;
}

static bool same_number(double x, double y) {
	return isnan(x) ? isnan(y) : x == y && !signbit(x) == !signbit(y);
}

static double at(const Value *v, int64_t i) {
	if (v->kind == V_SCALAR) return v->dtype == DT_F32 ? (double)v->f32 : v->f;
	return v->tensor->dtype == DT_F32 ? (double)((const float *)(const void *)v->tensor->data)[i]
	                                  : ((const double *)(const void *)v->tensor->data)[i];
}

/* Kinds of contents: any values; none above 0, with zeros of both signs; zeros;
 * only -0; only -inf; each again with one NaN. */
enum { CONTENTS = 10 };
static double odd_number(T *t, int kind) {
	switch (kind % (CONTENTS / 2)) {
	case 0: return ev_uniform(t, -3, 3);
	case 1: return ev_below(t, 3) ? -ev_uniform(t, 0, 2) : ev_below(t, 8) ? -0.0 : 0.0;
	case 2: return ev_below(t, 40) ? -0.0 : 0.0;
	case 3: return -0.0;
	default: return ev_below(t, 2) ? -INFINITY : -1e300;
	}
}

static Value odd_numbers(T *t, Dtype d, int kind, bool negated, uint32_t rank,
                         const int64_t *shape) {
	Tensor *x = tensor_new(t->c, d, rank, shape);
	const int64_t nan = kind >= CONTENTS / 2 && x->count ? ev_below(t, x->count) : -1;
	for (int64_t i = 0; i < x->count; i++) {
		double v = i == nan ? NAN : odd_number(t, kind);
		ev_put(d, x->data + i * (int64_t)dtype_size(d), negated ? -v : v, 0);
	}
	return value_tensor(x);
}

/* max and min of all elements, along rows and down columns, of x and of a
 * product. */
static const char extremes[] =
	"fn @f[n, m](%0: f64[n, m], %1: f64) -> (f64, f64, f64[n], f64[n], f64[m], f64[m]) {\n"
	"  %2: f64[n, m] = broadcast %1 {shape: [n, m], axes: []}\n  %3: f64[n, m] = mul %0, %2\n"
	"  %4: f64 = reduce_max %3 {axes: [0, 1]}\n  %5: f64 = reduce_min %3 {axes: [0, 1]}\n"
	"  %6: f64[n] = reduce_max %3 {axes: [1]}\n  %7: f64[n] = reduce_min %3 {axes: [1]}\n"
	"  %8: f64[m] = reduce_max %3 {axes: [0]}\n  %9: f64[m] = reduce_min %3 {axes: [0]}\n  return "
	"%4, %5, %6, %7, %8, %9\n}\n";
static const char extremes_of_one[] =
	"fn @f[n](%0: f32[n], %1: f64[n]) -> (f32, f32, f64, f64) {\n  %2: f32 = reduce_max %0 {axes: "
	"[0]}\n  %3: f32 = reduce_min %0 {axes: [0]}\n"
	"  %4: f64 = reduce_max %1 {axes: [0]}\n  %5: f64 = reduce_min %1 {axes: [0]}\n  return %2, "
	"%3, %4, %5\n}\n";

static bool matrix_is_right(const Value *x, const Value *r, int64_t n, int64_t m) {
	double all[2] = {-INFINITY, -INFINITY};
	bool good = true;
	for (int64_t i = 0; i < n; i++) {
		double row[2] = {-INFINITY, -INFINITY};
		for (int64_t j = 0; j < m; j++)
			for (int k = 0; k < 2; k++)
				row[k] = largest(row[k], k ? -at(x, i * m + j) : at(x, i * m + j));
		for (int k = 0; k < 2; k++) {
			good = good && same_number(k ? -row[k] : row[k], at(&r[2 + k], i));
			all[k] = largest(all[k], row[k]);
		}
	}
	for (int64_t j = 0; j < m; j++) {
		double column[2] = {-INFINITY, -INFINITY};
		for (int64_t i = 0; i < n; i++)
			for (int k = 0; k < 2; k++)
				column[k] = largest(column[k], k ? -at(x, i * m + j) : at(x, i * m + j));
		for (int k = 0; k < 2; k++)
			good = good && same_number(k ? -column[k] : column[k], at(&r[4 + k], j));
	}
	return good && same_number(all[0], at(&r[0], 0)) && same_number(-all[1], at(&r[1], 0));
}

static void test_extremes(T *t) {
	static const int64_t shapes[][2] = {{1, 1},   {3, 7},    {5, 8},    {4, 33},
	                                    {70, 17}, {1, 1000}, {2000, 2}, {300, 129}};
	for (int k = 0; k < 2; k++) {
		Program p = program(t, extremes, modes[k]);
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
			for (int kind = 0; kind < 2 * CONTENTS; kind++) {
				Value args[2] = {odd_numbers(t, DT_F64, kind % CONTENTS, kind >= CONTENTS, 2,
				                             shapes[s]),
				                 value_f64(1)},
					  r[6], one[6];
				if (!run(t, &p, 3, args, NULL, r) || !run(t, &p, 1, args, NULL, one)) {
					CHECK(false);
					continue;
				}
				const bool good = matrix_is_right(&args[0], r, shapes[s][0], shapes[s][1]);
				if (!good)
					printf("mode %d, contents %d, %lld x %lld\n", k, kind, (long long)shapes[s][0],
					       (long long)shapes[s][1]);
				CHECK(good);
				for (int i = 0; i < 6; i++) CHECK(same_bits(&r[i], &one[i]));
				ev_drop(r, 6);
				ev_drop(one, 6);
				ev_drop(args, 2);
			}
		if (p.f) fn_unref(p.f);
	}
}

static void test_extremes_of_one(T *t) {
	Program p = program(t, extremes_of_one, NATIVE_OFF);
	for (int64_t n = 1; n < 140000; n = n < 70 ? n + 1 : n * 5 + 3)
		for (int kind = 0; kind < 2 * CONTENTS; kind++) {
			Value args[2] = {odd_numbers(t, DT_F32, kind % CONTENTS, kind >= CONTENTS, 1, &n),
			                 odd_numbers(t, DT_F64, kind % CONTENTS, kind >= CONTENTS, 1, &n)},
				  r[4];
			bool good = run(t, &p, 2, args, NULL, r);
			for (int k = 0; k < 4 && good; k++) {
				double want = -INFINITY;
				for (int64_t i = 0; i < n; i++)
					want = largest(want, k % 2 ? -at(&args[k / 2], i) : at(&args[k / 2], i));
				good = same_number(k % 2 ? -want : want, at(&r[k], 0));
			}
			if (!good) printf("contents %d, %lld\n", kind, (long long)n);
			CHECK(good);
			ev_drop(r, 4);
			ev_drop(args, 2);
		}
	if (p.f) fn_unref(p.f);
}

/* One element decides at any position: the largest of many, the only +0 among
 * -0, a NaN. */
static void test_one_element_decides(T *t) {
	Program p = program(t, extremes_of_one, NATIVE_OFF);
	static const int64_t lengths[] = {8191, 8192, 8200, 16384, 24575, 40003, 65536, 65569};
	static const double others[] = {-1, -0.0, -3}, ones[] = {2, 0.0, NAN};
	for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
		for (int kind = 0; kind < 6; kind++) {
			const int64_t n = lengths[l];
			const double sign = kind < 3 ? 1 : -1, other = sign * others[kind % 3],
						 one = sign * ones[kind % 3];
			Value args[2], r[4];
			for (int k = 0; k < 2; k++) {
				Tensor *x = tensor_new(t->c, k ? DT_F64 : DT_F32, 1, &n);
				for (int64_t i = 0; i < n; i++)
					ev_put((Dtype)x->dtype, x->data + i * (k ? 8 : 4), other, 0);
				args[k] = value_tensor(x);
			}
			bool good = true;
			for (int64_t from = 0; from < n && good; from += 1 + ev_below(t, n / 20)) {
				for (int k = 0; k < 2; k++)
					ev_put(k ? DT_F64 : DT_F32, args[k].tensor->data + from * (k ? 8 : 4), one, 0);
				good = run(t, &p, 2, args, NULL, r);
				for (int k = 0; k < 2 && good; k++)
					good = same_number(at(&r[2 * k + (kind < 3 ? 0 : 1)], 0), one);
				for (int k = 0; k < 2; k++)
					ev_put(k ? DT_F64 : DT_F32, args[k].tensor->data + from * (k ? 8 : 4), other,
					       0);
				if (!good)
					printf("kind %d, element %lld of %lld\n", kind, (long long)from, (long long)n);
			}
			CHECK(good);
			ev_drop(args, 2);
		}
	if (p.f) fn_unref(p.f);
}

/* ---- transcendental functions -------------------------------------------- */

/* Ordinary arguments and special ones: zeros, infinities, NaN, subnormal, huge,
 * the ends of domains. */
static double argument(T *t, Dtype d, int64_t i) {
	const double least = d == DT_F32 ? 0x1p-149 : 0x1p-1074,
				 most = d == DT_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
	const double special[] = {0,    INFINITY, NAN,  least,    1000 * least, most, 1,
	                          0.5,  709.9,    88.8, 745.2,    103.9,        1e5,  1e15,
	                          1e22, 1e-9,     M_PI, M_PI / 2, 20,           9.1};
	enum { SPECIAL = sizeof special / sizeof *special };
	const double sign = ev_below(t, 2) ? -1 : 1;
	switch (i % 4) {
	case 0: return sign * special[ev_below(t, SPECIAL)];
	case 1: return ev_uniform(t, -1, 1);
	case 2: return ev_uniform(t, -20, 20);
	default: return sign * exp(ev_uniform(t, -80, 80));
	}
}

static Value arguments(T *t, Dtype d, int64_t n) {
	Tensor *x = tensor_new(t->c, d, 1, &n);
	for (int64_t i = 0; i < n; i++)
		ev_put(d, x->data + i * (int64_t)dtype_size(d), argument(t, d, i), 0);
	return value_tensor(x);
}

/* The evaluator's array loops and machine code use the same functions. They
 * agree in every bit at every extent, except for the payload of a NaN. The test
 * is skipped without a code generator, or where the evaluator lacks these
 * loops. */
static void test_maths(T *t) {
	static const char *const names[] = {"cbrt", "exp",  "expm1", "log",  "log1p", "sin",
	                                    "cos",  "tan",  "asin",  "acos", "atan",  "sinh",
	                                    "cosh", "tanh", "erf",   "atan2"};
	static const int64_t lengths[] = {1, 7, 8, 15, 16, 17, 33, 255, 256, 257, 1000, 5003};
	double zero = 0, one;
	if (!kernel_maths_f64(OP_SIN, 1, &one, &zero, NULL, 0)) return;
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		/* f64 and f32; with two arrays, and with an array and a scalar. */
		for (int form = 0; form < 4; form++) {
			const bool two = !strcmp(names[k], "atan2"), number = form > 1;
			if (number && !two) continue;
			const Dtype d = form % 2 ? DT_F32 : DT_F64;
			const char *type = form % 2 ? "f32" : "f64";
			char text[400]; /* two instructions: the evaluator would run a single one */
			if (!two)
				snprintf(text, sizeof text,
				         "fn @f[n](%%0: %s[n]) -> (%s[n], %s[n]) {\n  %%1: %s[n] = %s %%0\n  %%2: "
				         "%s[n] = neg %%1\n  return %%1, %%2\n}\n",
				         type, type, type, type, names[k], type);
			else if (!number)
				snprintf(text, sizeof text,
				         "fn @f[n](%%0: %s[n], %%1: %s[n]) -> (%s[n], %s[n]) {\n  %%2: %s[n] = %s "
				         "%%0, %%1\n  %%3: %s[n] = neg %%2\n  return %%2, %%3\n}\n",
				         type, type, type, type, type, names[k], type);
			else
				snprintf(text, sizeof text,
				         "fn @f[n](%%0: %s[n], %%1: %s) -> (%s[n], %s[n]) {\n  %%2: %s[n] = "
				         "broadcast %%1 {shape: [n], axes: []}\n  %%3: %s[n] = %s %%0, %%2\n"
				         "  %%4: %s[n] = %s %%2, %%0\n  return %%3, %%4\n}\n",
				         type, type, type, type, type, type, names[k], type, names[k]);
			Program p[2] = {program(t, text, modes[0]), program(t, text, modes[1])};
			for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
				Value args[2] = {arguments(t, d, lengths[l]), {0}}, r[2][2];
				args[1] = !number       ? arguments(t, d, lengths[l])
				          : d == DT_F32 ? (Value){.kind = V_SCALAR, .dtype = DT_F32, .f32 = 0.75f}
				                        : value_f64(0.75);
				const bool good =
					run(t, &p[0], 1, args, NULL, r[0]) && run(t, &p[1], 1, args, NULL, r[1]);
				CHECK(good);
				for (int j = 0; j < 2 && good; j++) {
					int64_t wrong = -1;
					for (int64_t i = 0; i < lengths[l] && wrong < 0; i++)
						if (!same_number(at(&r[0][j], i), at(&r[1][j], i))) wrong = i;
					if (wrong >= 0)
						printf("%s of %s, length %lld: of %.17g %.17g and %.17g\n", names[k], type,
						       (long long)lengths[l], at(&args[0], wrong), at(&r[0][j], wrong),
						       at(&r[1][j], wrong));
					CHECK(wrong < 0);
				}
				if (good) ev_drop(r[0], 2), ev_drop(r[1], 2);
				ev_drop(args, 2);
			}
			for (int m = 0; m < 2; m++)
				if (p[m].f) fn_unref(p[m].f);
		}
}

/* ---- cumulative sums ----------------------------------------------------- */

static Program running(T *t, const char *type, bool flat, int axis, bool reverse) {
	char text[300], shape[40];
	snprintf(shape, sizeof shape, "%s[%s]", type, flat ? "n" : "n, m");
	snprintf(text, sizeof text,
	         "fn @f[n%s](%%0: %s) -> (%s) {\n  %%1: %s = cumsum %%0 {axis: %d, reverse: %d}\n  "
	         "return %%1\n}\n",
	         flat ? "" : ", m", shape, shape, shape, axis, reverse);
	return program(t, text, NATIVE_OFF);
}

/* Integers: every order of summation gives the same result. */
static bool whole_sums_are_right(const Tensor *x, const Tensor *y, int64_t lines, int64_t length,
                                 int64_t step, bool reverse) {
	const int64_t between = step == 1 ? length : 1;
	double _Complex a, b;
	for (int64_t l = 0; l < lines; l++) {
		double _Complex sum = 0;
		for (int64_t k = 0; k < length; k++) {
			const int64_t i = l * between + (reverse ? length - 1 - k : k) * step;
			const int64_t index[2] = {i / (x->rank > 1 ? x->shape[1] : x->shape[0] + 1),
			                          x->rank > 1 ? i % x->shape[1] : 0},
						  *of = x->rank > 1 ? index : &i;
			a = ev_at(x, of);
			b = ev_at(y, of);
			sum += a;
			if (creal(b) != creal(sum) || cimag(b) != cimag(sum)) return false;
		}
	}
	return true;
}

static void test_running_sums(T *t) {
	static const int64_t lengths[] = {1,    2,    7,    8,    9,    1031,  1032, 1033,
	                                  1034, 1035, 1039, 2064, 4095, 4096,  4097, 4098,
	                                  5129, 8191, 8192, 8193, 8200, 16511, 70001};
	static const struct {
		Dtype d;
		const char *name;
	} types[] = {{DT_I32, "i32"}, {DT_I64, "i64"}, {DT_F32, "f32"},
	             {DT_F64, "f64"}, {DT_C64, "c64"}, {DT_C128, "c128"}};
	for (size_t d = 0; d < sizeof types / sizeof *types; d++)
		for (int form = 0; form < 3; form++) /* one vector, rows, columns */
			for (int reverse = 0; reverse < 2; reverse++) {
				Program p = running(t, types[d].name, form == 0, form == 1, reverse);
				for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
					const int64_t n = lengths[k], lines = form ? 3 : 1,
								  shape[2] = {form == 1 ? lines : n, form == 1 ? n : lines};
					Tensor *x = tensor_new(t->c, types[d].d, form ? 2 : 1, shape);
					for (int64_t i = 0; i < x->count; i++)
						ev_put(types[d].d, x->data + i * (int64_t)dtype_size(types[d].d),
						       (double)(ev_below(t, 9) - 4), (double)(ev_below(t, 9) - 4));
					Value arg = value_tensor(x), r;
					bool good = run(t, &p, 1 + (int)(k % 3), &arg, NULL, &r);
					good = good && whole_sums_are_right(x, r.tensor, lines, n,
					                                    form == 2 ? lines : 1, reverse);
					if (!good)
						printf("%s, form %d, reverse %d, length %lld\n", types[d].name, form,
						       reverse, (long long)n);
					CHECK(good);
					ev_drop(&r, 1);
					ev_drop(&arg, 1);
				}
				if (p.f) fn_unref(p.f);
			}
}

/* Rounded sums are close to the exact ones. They never decrease where no
 * element is negative. Their bits do not depend on the threads, and results may
 * be in the caller's memory or over the operand. */
static void test_running_rounding(T *t) {
	for (int reverse = 0; reverse < 2; reverse++) {
		Program p = running(t, "f64", true, 0, reverse);
		for (int64_t n = 8000; n < 3000000; n *= 6) {
			Tensor *x = ev_tensor(t, DT_F64, SHAPE(n), 0, 1);
			for (int64_t i = 0; i < n; i += 3) ((double *)(void *)x->data)[i] *= 1e-14;
			Value arg = value_tensor(x), r[3];
			Tensor *place = tensor_new(t->c, DT_F64, SHAPE(n));
			bool good = true;
			for (int k = 0; k < 3; k++)
				good = run(t, &p, k + 1, &arg, k == 2 ? &place : NULL, &r[k]) && good;
			CHECK(good && r[2].tensor == place && same_bits(&r[0], &r[1]) &&
			      same_bits(&r[0], &r[2]));
			long double sum = 0;
			double before = 0;
			bool near = true, rising = true;
			for (int64_t k = 0; k < n && good; k++) {
				const int64_t i = reverse ? n - 1 - k : k;
				sum += at(&arg, i);
				const double y = at(&r[0], i);
				near = near && fabsl(y - sum) <= 2e-13L * sum;
				rising = rising && y >= before;
				before = y;
			}
			CHECK(near && rising);
			ev_drop(r, 3);
			ev_drop(&arg, 1);
			tensor_unref(place);
		}
		if (p.f) fn_unref(p.f);
	}
}

/* Alignment, streaming stores and vector width do not change a bit of a chunk's
 * sums. The chunk's total is its last sum. */
static void test_running_places(T *t) {
	static const int64_t lengths[] = {1000, 1033, 4000, 4095, SCAN_PART};
	static const Dtype types[] = {DT_F32, DT_F64, DT_C64, DT_C128};
	_Alignas(64) static char x[SCAN_PART * 16], first[SCAN_PART * 16], again[SCAN_PART * 16 + 64];
	for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
		const int64_t size = (int64_t)dtype_size(types[d]);
		for (int64_t i = 0; i < SCAN_PART; i++)
			ev_put(types[d], x + i * size, (double)ev_below(t, 1000) * 1e-3,
			       (double)ev_below(t, 1000) / 7);
		for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
			for (int reverse = 0; reverse < 2; reverse++) {
				const int64_t n = lengths[k];
				char total[16];
				kernel_scan_sums(types[d], n, x, NULL, first, NULL, reverse, false);
				kernel_scan_total(types[d], n, x, total, reverse);
				CHECK(!memcmp(total, first + (reverse ? 0 : n - 1) * size, (size_t)size));
				kernel_scan_sums(types[d], n, x, x, first, NULL, reverse, false);
				for (int64_t offset = 0; offset <= 64; offset += size) {
					kernel_scan_sums(types[d], n, x, x, again + offset, x, reverse, true);
					CHECK(!memcmp(first, again + offset, (size_t)(n * size)));
				}
			}
	}
}

/* ---- sums of long arrays ------------------------------------------------- */

static void test_long_sums(T *t) {
	Program p = program(
		t,
		"fn @f[n](%0: f64[n], %1: f64[n]) -> (f64, f64) {\n  %2: f64 = reduce_sum %0 {axes: [0]}\n"
		"  %3: f64 = dot %0, %1 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n  return "
		"%2, %3\n}\n",
		NATIVE_OFF);
	static const int64_t lengths[] = {65535, 65536, 65537, 131072, 131073, 1000003};
	for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(lengths[k]), 0, 1)),
		                 value_tensor(ev_tensor(t, DT_F64, SHAPE(lengths[k]), 0, 1))},
			  r[3][2];
		bool good = true;
		for (int threads = 1; threads <= 3; threads++)
			good = run(t, &p, threads, args, NULL, r[threads - 1]) && good;
		long double sum = 0, dot = 0;
		for (int64_t i = 0; i < lengths[k]; i++) {
			sum += at(&args[0], i);
			dot += (long double)at(&args[0], i) * at(&args[1], i);
		}
		CHECK(good && fabsl(r[0][0].f - sum) <= 1e-14L * sum &&
		      fabsl(r[0][1].f - dot) <= 1e-14L * dot);
		for (int i = 0; i < 2; i++)
			CHECK(same_bits(&r[0][i], &r[1][i]) && same_bits(&r[0][i], &r[2][i]));
		ev_drop(args, 2);
	}
	if (p.f) fn_unref(p.f);
}

/* scatter_add adds in index order: the bits of a plain loop, for every engine
 * and number of threads. */
static void test_scatters(T *t) {
	static const int64_t lengths[] = {100, 30000, 70001}, widths[] = {1, 3, 11}, rows = 777;
	for (int tail = 0; tail < 2; tail++)
		for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
			for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
				for (int m = 0; m < 2; m++) {
					if (!tail && w) continue;
					const int64_t n = lengths[k], width = tail ? widths[w] : 1;
					Program p = program(
						t,
						tail ? "fn @f[n, m, w](%0: f64[m, w], %1: i64[n], %2: f64[n, w]) -> "
							   "(f64[m, w]) {\n"
							   "  %3: f64[m, w] = scatter_add %0, %1, %2 {axis: 0, batch: 0}\n  "
							   "return %3\n}\n"
							 : "fn @f[n, m](%0: f64[m], %1: i64[n], %2: f64[n]) -> (f64[m]) {\n"
							   "  %3: f64[m] = scatter_add %0, %1, %2 {axis: 0, batch: 0}\n  "
							   "return %3\n}\n",
						modes[m]);
					const int rank = tail ? 2 : 1;
					const int64_t to[2] = {rows, width}, from[2] = {n, width};
					Tensor *x = tensor_new(t->c, DT_F64, rank, to),
						   *at_row = tensor_new(t->c, DT_I64, 1, &n),
						   *u = tensor_new(t->c, DT_F64, rank, from);
					double *sum = malloc((size_t)(rows * width) * sizeof *sum),
						   *of = (double *)(void *)x->data, *add = (double *)(void *)u->data;
					int64_t *row = (int64_t *)(void *)at_row->data;
					for (int64_t i = 0; i < rows * width; i++) of[i] = sum[i] = sin((double)i);
					for (int64_t i = 0; i < n; i++) row[i] = (i * i * 31 + 7 * i) % rows;
					for (int64_t i = 0; i < n * width; i++)
						sum[row[i / width] * width + i % width] += add[i] = sin(0.37 * (double)i);
					Value args[3] = {value_tensor(x), value_tensor(at_row), value_tensor(u)}, r;
					for (int threads = 1; threads <= 3; threads++) {
						const bool good = run(t, &p, threads, args, NULL, &r);
						CHECK(good &&
						      !memcmp(r.tensor->data, sum, (size_t)(rows * width) * sizeof *sum));
						if (good) ev_drop(&r, 1);
					}
					free(sum);
					ev_drop(args, 3);
					if (p.f) fn_unref(p.f);
				}
}

/* The specified order of a sum: 16 partial sums within a block of 1024, then a
 * tree over the blocks. Pieces of 64 blocks are combined first. Changes to the
 * kernels must not change a bit. */
enum { LANES = 16, BLOCK = 1024, PIECE = 64 * BLOCK };
#define TREE(T)                                                                                    \
	static T tree_##T(const T *x, int64_t n) {                                                     \
		if (n > BLOCK) {                                                                           \
			const int64_t half = (n / BLOCK + 1) / 2 * BLOCK;                                      \
			return tree_##T(x, half) + tree_##T(x + half, n - half);                               \
		}                                                                                          \
		T sum[LANES] = {0};                                                                        \
		if (n < 2 * LANES) {                                                                       \
			for (int64_t i = 0; i < n; i++) sum[0] = i ? sum[0] + x[i] : x[i];                     \
			return sum[0];                                                                         \
		}                                                                                          \
		for (int64_t i = 0; i < n; i++) sum[i % LANES] = i < LANES ? x[i] : sum[i % LANES] + x[i]; \
		for (int half = LANES / 2; half; half /= 2)                                                \
			for (int l = 0; l < half; l++) sum[l] += sum[l + half];                                \
		return sum[0];                                                                             \
	}                                                                                              \
	static T sum_##T(const void *data, int64_t n) {                                                \
		const T *x = data;                                                                         \
		T pieces[BLOCK];                                                                           \
		int64_t count = 0;                                                                         \
		for (int64_t i = 0; i < n; i += PIECE)                                                     \
			pieces[count++] = tree_##T(x + i, n - i < PIECE ? n - i : PIECE);                      \
		return tree_##T(pieces, count);                                                            \
	}
TREE(float)
TREE(double)

static void test_order_of_sums(T *t) {
	Program p = program(t,
	                    "fn @f[n](%0: f32[n], %1: f64[n]) -> (f32, f64) {\n  %2: f32 = reduce_sum "
	                    "%0 {axes: [0]}\n  %3: f64 = reduce_sum %1 {axes: [0]}\n"
	                    "  return %2, %3\n}\n",
	                    NATIVE_OFF);
	static const int64_t lengths[] = {1,     15,    16,    17,    31,    32,    33,
	                                  1000,  1023,  1024,  1025,  2048,  3072,  4095,
	                                  4096,  4097,  5120,  7168,  8192,  12288, 20480,
	                                  24576, 28672, 65535, 65536, 65537, 69632, 300000};
	for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		Value args[2] = {value_tensor(ev_tensor(t, DT_F32, SHAPE(lengths[k]), -1, 1)),
		                 value_tensor(ev_tensor(t, DT_F64, SHAPE(lengths[k]), -1, 1))},
			  r[2];
		bool good = run(t, &p, 1 + (int)(k % 3), args, NULL, r);
		const float want = sum_float(args[0].tensor->data, lengths[k]);
		const double want64 = sum_double(args[1].tensor->data, lengths[k]);
		good = good && !memcmp(&want, &r[0].f32, sizeof want) &&
		       !memcmp(&want64, &r[1].f, sizeof want64);
		if (!good) printf("length %lld\n", (long long)lengths[k]);
		CHECK(good);
		ev_drop(args, 2);
	}
	if (p.f) fn_unref(p.f);
}

/* ---- results in the caller's memory -------------------------------------- */

/* A chain that needs several loops, and an outer product. */
static const char chain[] =
	"fn @f[n](%0: f64[n], %1: f64[n]) -> (f64[n], f64[n]) {\n  %2: f64[n] = add %0, %1\n  %3: "
	"f64[n] = tanh %2\n  %4: f64[n] = mul %3, %0\n  %5: f64[n] = exp %4\n"
	"  %6: f64[n] = div %5, %3\n  %7: f64[n] = sub %6, %2\n  %8: f64[n] = sin %7\n  %9: f64[n] = "
	"mul %8, %5\n  %10: f64[n] = tanh %9\n  %11: f64[n] = add %10, %4\n"
	"  return %9, %11\n}\n";
static const char fill = 0x5a;

static bool untouched(const char *p, size_t n) {
	for (size_t i = 0; i < n; i++)
		if (p[i] != fill) return false;
	return true;
}

/* Results inside a buffer whose other bytes must not change, at any element
 * alignment. Extents include short ones and one that uses streaming stores. */
static void test_places(T *t) {
	static const int64_t lengths[] = {1, 5, 8, 63, 64, 65, 287, 288, 289, 4095, 20011, 2100003};
	enum { BEFORE = 256, AFTER = 256 };
	for (int mode = 0; mode < 2; mode++) {
		Program p = program(t, chain, modes[mode]);
		for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
			const int64_t n = lengths[k];
			const size_t bytes = (size_t)n * 8;
			Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(n), 0.1, 2)),
			                 value_tensor(ev_tensor(t, DT_F64, SHAPE(n), 0.1, 2))},
				  want[2], r[2];
			if (!run(t, &p, 1, args, NULL, want)) {
				CHECK(false);
				continue;
			}
			char *memory[2] = {malloc(BEFORE + bytes + AFTER + 64),
			                   malloc(BEFORE + bytes + AFTER + 64)};
			for (size_t shift = 0; shift<64; shift += n> 100000 ? 24 : 8) {
				Tensor *places[2];
				char *from[2];
				for (int i = 0; i < 2; i++) {
					memset(memory[i], fill, BEFORE + bytes + AFTER + 64);
					from[i] = memory[i] + BEFORE - ((uintptr_t)memory[i] & 63) + (i ? 0 : shift);
					places[i] = tensor_wrap(t->c, DT_F64, 1, &n, NULL, from[i], true, NULL, NULL);
				}
				bool good = run(t, &p, 3, args, places, r);
				for (int i = 0; i < 2 && good; i++) {
					good = same_bits(&want[i], &r[i]) &&
					       untouched(memory[i], (size_t)(from[i] - memory[i])) &&
					       untouched(from[i] + bytes, AFTER);
					/* The result is in the given place, unless the end of a
					 * vector is on another page. */
					const uintptr_t last = (uintptr_t)(from[i] + bytes) & 4095;
					if (mode && run_counters(t->c)->native_calls)
						CHECK(r[i].tensor == places[i] || last < 64 || last > 4096 - 64);
				}
				if (!good) printf("mode %d, length %lld, shift %zu\n", mode, (long long)n, shift);
				CHECK(good);
				ev_drop(r, 2);
				for (int i = 0; i < 2; i++) tensor_unref(places[i]);
			}
			for (int i = 0; i < 2; i++) free(memory[i]);
			ev_drop(want, 2);
			ev_drop(args, 2);
		}
		if (p.f) fn_unref(p.f);
	}
}

/* Results that cannot use the caller's memory: an operand of another
 * instruction, a result that occurs twice, a place of another shape. The values
 * are right all the same. */
static void test_places_refused(T *t) {
	for (int mode = 0; mode < 2; mode++) {
		Program p =
			program(t,
		            "fn @f[n](%0: f64[n], %1: f64[n]) -> (f64[n], i64[n], i64[n]) {\n  %2: f64[n] "
		            "= add %0, %1\n  %3: f64[n] = tanh %2\n"
		            "  %4: i64[n] = argsort %3 {axis: 0, descending: 0}\n  return %3, %4, %4\n}\n",
		            modes[mode]);
		if (!p.f) continue;
		const int64_t n = 3000, other = 2999;
		Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(n), -1, 1)),
		                 value_tensor(ev_tensor(t, DT_F64, SHAPE(n), -1, 1))},
			  want[3], r[3];
		Tensor *places[3] = {tensor_new(t->c, DT_F64, 1, &n), tensor_new(t->c, DT_I64, 1, &other),
		                     tensor_new(t->c, DT_I64, 1, &n)};
		CHECK(run(t, &p, 2, args, NULL, want) && run(t, &p, 2, args, places, r));
		CHECK(r[0].tensor != places[0] && r[1].tensor != places[1]);
		for (int i = 0; i < 3; i++) CHECK(same_bits(&want[i], &r[i]));
		ev_drop(want, 3);
		ev_drop(r, 3);
		ev_drop(args, 2);
		for (int i = 0; i < 3; i++) tensor_unref(places[i]);
		fn_unref(p.f);
	}
}

/* A matrix product is computed in the caller's memory when that is no
 * operand's: single, batched and with a vector. */
static void test_products_in_place(T *t) {
	Program p =
		program(t,
	            "fn @f[b, m, n, k](%0: f64[b, m, k], %1: f64[b, k, n]) -> (f64[b, m, n]) {\n"
	            "  %2: f64[b, m, n] = dot %0, %1 {lcontract: [2], rcontract: [1], lbatch: [0], "
	            "rbatch: [0]}\n  return %2\n}\n",
	            NATIVE_OFF);
	static const int64_t sizes[][4] = {{1, 5, 7, 3},    {3, 40, 30, 50},   {1, 300, 1, 70},
	                                   {1, 1, 300, 70}, {1, 300, 280, 64}, {2, 257, 129, 33},
	                                   {2, 3, 4, 0}};
	for (size_t k = 0; p.f && k < sizeof sizes / sizeof *sizes; k++) {
		const int64_t *s = sizes[k], shape[3] = {s[0], s[1], s[2]};
		const size_t bytes = (size_t)(s[0] * s[1] * s[2]) * 8;
		Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(s[0], s[1], s[3]), -1, 1)),
		                 value_tensor(ev_tensor(t, DT_F64, SHAPE(s[0], s[3], s[2]), -1, 1))},
			  want, r;
		char *memory = malloc(bytes + 128);
		memset(memory, fill, bytes + 128);
		Tensor *place = tensor_wrap(t->c, DT_F64, 3, shape, NULL, memory + 64, true, NULL, NULL);
		CHECK(run(t, &p, 1, args, NULL, &want) && run(t, &p, 2, args, &place, &r));
		CHECK(r.tensor == place && same_bits(&want, &r) && untouched(memory, 64) &&
		      untouched(memory + 64 + bytes, 64));
		ev_drop(&want, 1);
		ev_drop(&r, 1);
		ev_drop(args, 2);
		tensor_unref(place);
		free(memory);
	}
	/* Over an operand: computed elsewhere. */
	const int64_t n = 70, shape[3] = {1, n, n};
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(1, n, n), -1, 1)),
	                 value_tensor(ev_tensor(t, DT_F64, SHAPE(1, n, n), -1, 1))},
		  want, r;
	Tensor *place =
		tensor_wrap(t->c, DT_F64, 3, shape, NULL, args[1].tensor->data, true, NULL, NULL);
	CHECK(run(t, &p, 1, args, NULL, &want) && run(t, &p, 1, args, &place, &r) &&
	      r.tensor != place && same_bits(&want, &r));
	ev_drop(&want, 1);
	ev_drop(&r, 1);
	tensor_unref(place);
	ev_drop(args, 2);
	if (p.f) fn_unref(p.f);
}

/* ---- blocked QR ---------------------------------------------------------- */

/* a and q are rows x columns, column by column; r is columns x columns. Returns
 * the largest difference of Q R from a and of QᴴQ from 1. */
static double worst_of_qr(int64_t rows, int64_t columns, const double *a, const double *q,
                          const double *r) {
	double worst = 0;
	for (int64_t j = 0; j < columns; j++)
		for (int64_t i = 0; i < rows; i += 7) {
			double sum = 0;
			for (int64_t k = 0; k <= j; k++) sum += q[k * rows + i] * r[j * columns + k];
			worst = fmax(worst, fabs(sum - a[j * rows + i]));
		}
	for (int64_t j = 0; j < columns; j++)
		for (int64_t k = 0; k <= j; k += 5) {
			double sum = 0;
			for (int64_t i = 0; i < rows; i++) sum += q[k * rows + i] * q[j * rows + i];
			worst = fmax(worst, fabs(sum - (j == k)));
		}
	return worst;
}

/* One panel, several, a narrow last one, and so many rows that panels are
 * narrow. R is bit-identical with and without Q and for any number of threads.
 * Interrupts and allocation failures are returned as their status. */
static void test_qr_panels(T *t) {
	static const int64_t sizes[][2] = {{1, 1},     {40, 32},   {33, 33},    {130, 65},
	                                   {400, 257}, {300, 300}, {140000, 20}};
	static const Dtype types[] = {DT_F64, DT_C128, DT_F32, DT_C64};
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
		for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
			const int64_t rows = sizes[n][0], columns = sizes[n][1],
						  size = (int64_t)dtype_size(types[d]);
			const size_t bytes = (size_t)(rows * columns * size),
						 r_bytes = (size_t)(columns * columns * size);
			char *a = malloc(bytes), *q = malloc(bytes), *first = malloc(bytes),
				 *r = malloc(r_bytes), *want = malloc(r_bytes);
			for (int64_t i = 0; i < rows * columns; i++)
				ev_put(types[d], a + i * size, (double)ev_below(t, 2001) * 1e-3 - 1,
				       (double)ev_below(t, 2001) * 1e-3 - 1);
			for (int k = 0; k < 6; k++) {
				int info = 1;
				memcpy(q, a, bytes);
				parallel_set_threads(t->c, 1 + k / 2);
				CHECK(blocked_qr(t->c, types[d], rows, columns, q, k ? r : want, k % 2 == 0,
				                 &info) == ST_OK &&
				      !info);
				if (!k) memcpy(first, q, bytes);
				else CHECK(!memcmp(r, want, r_bytes));
				if (k % 2 == 0) CHECK(!memcmp(q, first, bytes));
			}
			if (types[d] == DT_F64)
				CHECK(worst_of_qr(rows, columns, (double *)(void *)a, (double *)(void *)first,
				                  (double *)(void *)want) < 1e-12 * sqrt((double)rows));
			if (columns > 256) {
				int info;
				ctx_interrupt_at_poll(t->c, 3);
				CHECK(blocked_qr(t->c, types[d], rows, columns, q, r, false, &info) ==
				          ST_INTERRUPTED &&
				      !info);
				ctx_interrupt_at_poll(t->c, 0);
				ctx_clear_interrupt(t->c);
				diag_clear(t->c);
				heap_fail_at(t->c, 1, false);
				CHECK(blocked_qr(t->c, types[d], rows, columns, q, r, false, &info) == ST_NOMEM);
				heap_fail_at(t->c, 0, false);
			}
			parallel_set_threads(t->c, 0);
			free(a), free(q), free(first), free(r), free(want);
		}
}

/* ---- blocked LU, Cholesky and triangular solves -------------------------- */

static double _Complex value_at(Dtype d, const char *a, int64_t i) {
	switch (d) {
	case DT_F32: return ((const float *)(const void *)a)[i];
	case DT_F64: return ((const double *)(const void *)a)[i];
	case DT_C64: return ((const float _Complex *)(const void *)a)[i];
	default: return ((const double _Complex *)(const void *)a)[i];
	}
}

/* Returns element i, j of L U when both are stored in one matrix (unit: L has a
 * unit diagonal), or of L Lᴴ. */
static double _Complex of_product(Dtype d, int64_t n, const char *f, int64_t i, int64_t j,
                                  bool own) {
	double _Complex sum = 0;
	const int64_t last = i < j ? i : j;
	for (int64_t k = 0; k <= last; k++) {
		const double _Complex l = !own && k == i ? 1 : value_at(d, f, i * n + k),
							  u = own ? conj(value_at(d, f, j * n + k)) : value_at(d, f, k * n + j);
		sum += l * u;
	}
	return sum;
}

/* Fills an n x n matrix with values in -1 .. 1. `definite` makes it Hermitian
 * and positive definite by its diagonal. */
static void fill_square(T *t, Dtype d, int64_t n, char *a, bool definite) {
	const int64_t size = (int64_t)dtype_size(d);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= (definite ? i : n - 1); j++) {
			const double re = (double)ev_below(t, 2001) * 1e-3 - 1,
						 im = definite && i == j ? 0 : (double)ev_below(t, 2001) * 1e-3 - 1;
			ev_put(d, a + (i * n + j) * size, definite && i == j ? 2.0 * (double)n : re, im);
			if (definite) ev_put(d, a + (j * n + i) * size, i == j ? 2.0 * (double)n : re, -im);
		}
}

/* A factorisation with 1, 2 and 3 threads is bit-identical. Its product is the
 * matrix with rows exchanged as the pivots say. */
static void check_factors(T *t, Dtype d, int64_t n, bool definite) {
	const size_t bytes = (size_t)(n * n) * dtype_size(d);
	char *a = malloc(bytes), *f = malloc(bytes), *first = malloc(bytes);
	int *pivots = malloc((size_t)n * sizeof *pivots), *kept = malloc((size_t)n * sizeof *kept),
		info = 1;
	int64_t *rows = malloc((size_t)n * sizeof *rows);
	fill_square(t, d, n, a, definite);
	for (uint32_t threads = 1; threads <= 3; threads++) {
		memcpy(f, a, bytes);
		memset(pivots, 0, (size_t)n * sizeof *pivots);
		parallel_set_threads(t->c, threads);
		CHECK((definite ? blocked_cholesky(t->c, d, n, f, &info)
		                : blocked_lu(t->c, d, n, f, pivots, &info)) == ST_OK &&
		      !info);
		for (int64_t i = 0; i < n && definite; i++)
			memset(f + (i * n + i + 1) * (int64_t)dtype_size(d), 0,
			       (size_t)(n - 1 - i) * dtype_size(d));
		if (threads == 1) memcpy(first, f, bytes), memcpy(kept, pivots, (size_t)n * sizeof *pivots);
		else CHECK(!memcmp(f, first, bytes) && !memcmp(pivots, kept, (size_t)n * sizeof *pivots));
	}
	for (int64_t i = 0; i < n; i++) rows[i] = i;
	for (int64_t i = 0; i < n && !definite; i++) {
		const int64_t with = pivots[i] - 1, row = rows[i];
		rows[i] = rows[with];
		rows[with] = row;
	}
	double worst = 0, multiplier = 0;
	const int64_t step = n < 120 ? 1 : 7;
	for (int64_t i = 0; i < n; i += step)
		for (int64_t j = 0; j < n; j += step) {
			worst = fmax(
				worst, cabs(of_product(d, n, f, i, j, definite) - value_at(d, a, rows[i] * n + j)));
			if (!definite && j < i)
				multiplier = fmax(multiplier, fmax(fabs(creal(value_at(d, f, i * n + j))),
				                                   fabs(cimag(value_at(d, f, i * n + j)))));
		}
	CHECK(worst < (dtype_real_of(d) == DT_F32 ? 2e-5 : 4e-14) * (double)n && multiplier <= 1.4143);
	/* An interrupt and an allocation failure. */
	if (n > 256) {
		ctx_interrupt_at_poll(t->c, 3);
		memcpy(f, a, bytes);
		CHECK((definite ? blocked_cholesky(t->c, d, n, f, &info)
		                : blocked_lu(t->c, d, n, f, pivots, &info)) == ST_INTERRUPTED &&
		      !info);
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
		diag_clear(t->c);
		heap_fail_at(t->c, 1, false);
		CHECK((definite ? blocked_cholesky(t->c, d, n, f, &info)
		                : blocked_lu(t->c, d, n, f, pivots, &info)) == ST_NOMEM);
		heap_fail_at(t->c, 0, false);
	}
	/* A failing pivot in the first block, the last and between: a zero column
	 * (LU), a negative diagonal element (Cholesky). */
	for (int64_t k = 0; k < 3; k++) {
		const int64_t place = k * (n - 1) / 2;
		memcpy(f, a, bytes);
		for (int64_t i = 0; i < n && !definite; i++)
			ev_put(d, f + (i * n + place) * (int64_t)dtype_size(d), 0, 0);
		if (definite) ev_put(d, f + place * (n + 1) * (int64_t)dtype_size(d), -1, 0);
		CHECK((definite ? blocked_cholesky(t->c, d, n, f, &info)
		                : blocked_lu(t->c, d, n, f, pivots, &info)) == ST_ERROR &&
		      info == place + 1);
	}
	parallel_set_threads(t->c, 0);
	free(a), free(f), free(first), free(pivots), free(kept), free(rows);
}

/* op(T) X = B with one strip of columns or several, by rows or by blocks. T X
 * reproduces B, and results are bit-identical for any number of threads. */
static void check_trisolve(T *t, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint,
                           bool unit) {
	const int64_t size = (int64_t)dtype_size(d);
	const size_t bytes = (size_t)(n * r * size);
	char *m = malloc((size_t)(n * n * size)), *b = malloc(bytes), *x = malloc(bytes),
		 *first = malloc(bytes);
	fill_square(t, d, n, m, false);
	/* The other triangle is never read, nor a diagonal that is taken to be
	 * ones. */
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			if (i == j) ev_put(d, m + (i * n + j) * size, unit ? NAN : 4, 0);
			else if ((j > i) == lower) ev_put(d, m + (i * n + j) * size, NAN, 0);
			else
				ev_put(d, m + (i * n + j) * size, creal(value_at(d, m, i * n + j)) / (double)n,
				       cimag(value_at(d, m, i * n + j)) / (double)n);
		}
	for (int64_t i = 0; i < n * r; i++)
		ev_put(d, b + i * size, (double)ev_below(t, 2001) * 1e-3 - 1,
		       (double)ev_below(t, 2001) * 1e-3 - 1);
	for (uint32_t threads = 1; threads <= 3; threads++) {
		memcpy(x, b, bytes);
		parallel_set_threads(t->c, threads);
		CHECK(blocked_trisolve(t->c, d, n, r, lower, adjoint, unit, m, x) == ST_OK);
		if (threads == 1) memcpy(first, x, bytes);
		else CHECK(!memcmp(x, first, bytes));
	}
	parallel_set_threads(t->c, 0);
	double worst = 0;
	for (int64_t i = 0; i < n; i += n < 100 ? 1 : 41)
		for (int64_t j = 0; j < r; j += r < 100 ? 1 : 37) {
			double _Complex sum = 0;
			for (int64_t k = 0; k < n; k++) {
				const bool stored = adjoint ? (lower ? k >= i : k <= i) : lower ? k <= i : k >= i;
				const double _Complex e = k == i && unit ? 1
				                          : !stored      ? 0
				                          : adjoint      ? conj(value_at(d, m, k * n + i))
				                                         : value_at(d, m, i * n + k);
				if (stored) sum += e * value_at(d, x, k * r + j);
			}
			worst = fmax(worst, cabs(sum - value_at(d, b, i * r + j)));
		}
	CHECK(worst < (dtype_real_of(d) == DT_F32 ? 1e-4 : 1e-12));
	free(m), free(b), free(x), free(first);
}

static void test_factor_blocks(T *t) {
	static const Dtype types[] = {DT_F64, DT_C128, DT_F32, DT_C64};
	static const int64_t sizes[] = {1,  15, 16, 17, 25,  32,  47,  48,
	                                49, 95, 96, 97, 112, 150, 300, 1040};
	for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int definite = 0; definite < 2; definite++)
				if (sizes[k] < 1000 || types[d] == DT_F64)
					check_factors(t, types[d], sizes[k], definite);
		for (int how = 0; how < 8; how++) {
			check_trisolve(t, types[d], 30, 5, how & 1, how & 2, how & 4);
			check_trisolve(t, types[d], 97, 130, how & 1, how & 2, how & 4);
			check_trisolve(t, types[d], 600, dtype_is_complex(types[d]) ? 200 : 800, how & 1,
			               how & 2, how & 4);
		}
	}
}

int main(void) {
	static const TestCase tests[] = {
		{"extremes", test_extremes},
		{"extremes of one", test_extremes_of_one},
		{"one element decides", test_one_element_decides},
		{"maths", test_maths},
		{"running sums", test_running_sums},
		{"running rounding", test_running_rounding},
		{"running sums anywhere", test_running_places},
		{"long sums", test_long_sums},
		{"scatters", test_scatters},
		{"order of sums", test_order_of_sums},
		{"places", test_places},
		{"places refused", test_places_refused},
		{"products in place", test_products_in_place},
		{"QR by panels", test_qr_panels},
		{"LU, Cholesky and triangular solves by blocks", test_factor_blocks},
	};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
