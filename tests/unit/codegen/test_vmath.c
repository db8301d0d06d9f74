/* test_vmath.c - accuracy tests of the vector library of transcendental
 * functions.
 *
 * Oracle: MPFR. The test checks errors in units in the last place, special
 * values, and that results are the same for all widths and machines. An error
 * is |result - exact value| divided by the distance of floats at the correctly
 * rounded value, denormals included.
 *
 * Needs: the loops of backend/vmath/loops.h; MPFR. Without the loops (no
 * clang-19 at build time) or MPFR's header the test reports this and is
 * skipped.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 *
 * Usage: test_vmath [--full] [--table] [--bits] [NAME...]
 * - --bits prints the table of results on all machines, in the form of this
 *   file.
 * - --full (or ATLED_VMATH_FULL=1) uses 10^7 arguments for each function and,
 *   for f32, every 1009th of all bit patterns. It takes a quarter of an hour.
 * - --table prints the largest error of each function and its time for one
 *   element.
 * - NAMEs select functions.
 */
#include <float.h>
#include "tests/unit/support/check.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if !__has_include(<mpfr.h>)
int main(void) {
	check_skip("the vector maths is not tested, since MPFR's header is missing");
	return check_end();
}
#else
#include "backend/vmath/loops.h"
#include <mpfr.h>

/* The library's loops that the evaluator uses. */
#if defined(WITH_VMATH) && defined(__x86_64__)
extern const VmathLoop vmath_for_avx2[], vmath_for_avx512[];
#elif defined(WITH_VMATH)
extern const VmathLoop vmath_for_neon[];
#endif

static bool full, table;

/* ---- the functions ------------------------------------------------------- */

enum Arguments {
	PLAIN,  /* spread over [lo, hi], and over [-near, near] */
	ANGLES, /* also next to multiples of pi/2 */
	POWERS, /* x^y neither far too large nor far too small */
	PLANE,  /* any two */
};

typedef struct Function {
	const char *name;
	double bound; /* units in the last place */
	enum Arguments arguments;
	double lo, hi, near;
	double lo32, hi32;
	int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
	int (*exact2)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
	double (*libm)(double);
	double (*libm2)(double, double);
	long double (*long_libm)(long double);
	long double (*long_libm2)(long double, long double);
} Function;

#define ONE(name) mpfr_##name, 0, name, 0, name##l, 0
#define TWO(name) 0, mpfr_##name, 0, name, 0, name##l

static const Function functions[] = {
	{"sqrt", 0.5, PLAIN, 0, 1e6, 4, 0, 1e6, ONE(sqrt)},
	{"cbrt", 1, PLAIN, -1e6, 1e6, 8, -1e6, 1e6, ONE(cbrt)},
	{"exp", 2, PLAIN, -746, 711, 2, -105, 90, ONE(exp)},
	{"expm1", 2, PLAIN, -40, 711, 1, -20, 90, ONE(expm1)},
	{"log", 2, PLAIN, 0, 4, 1, 0, 4, ONE(log)},
	{"log1p", 2, PLAIN, -1, 4, 0.5, -1, 4, ONE(log1p)},
	{"sin", 2, ANGLES, -100, 100, 4, -100, 100, ONE(sin)},
	{"cos", 2, ANGLES, -100, 100, 4, -100, 100, ONE(cos)},
	{"tan", 2, ANGLES, -100, 100, 4, -100, 100, ONE(tan)},
	{"asin", 2, PLAIN, -1, 1, 0.5, -1, 1, ONE(asin)},
	{"acos", 2, PLAIN, -1, 1, 0.5, -1, 1, ONE(acos)},
	{"atan", 2, PLAIN, -50, 50, 1.5, -50, 50, ONE(atan)},
	{"sinh", 2, PLAIN, -711, 711, 2, -90, 90, ONE(sinh)},
	{"cosh", 2, PLAIN, -711, 711, 2, -90, 90, ONE(cosh)},
	{"tanh", 2, PLAIN, -21, 21, 1, -11, 11, ONE(tanh)},
	{"erf", 2, PLAIN, -6.5, 6.5, 1, -4.5, 4.5, ONE(erf)},
	{"pow", 1, POWERS, 0, 0, 0, 0, 0, TWO(pow)},
	{"atan2", 2, PLANE, 0, 0, 0, 0, 0, TWO(atan2)},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const VmathLoop *const widths[] = {vmath_loops_1, vmath_loops_2, vmath_loops_4,
                                          vmath_loops_8};
static const int width_lanes[] = {1, 2, 4, 8};

static const VmathLoop *find(int width, const char *name) {
	const VmathLoop *l = widths[width];
	while (l->name && strcmp(l->name, name)) l++;
	return l->name ? l : NULL;
}

/* ---- arguments ----------------------------------------------------------- */

/* splitmix64: the same arguments in every run. */
static uint64_t random_state;
static uint64_t random_bits(void) {
	uint64_t z = random_state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}
static double uniform(double lo, double hi) {
	return lo + (hi - lo) * ((double)(random_bits() >> 11) * 0x1p-53);
}

static double f64_of(uint64_t bits) {
	double x;
	memcpy(&x, &bits, 8);
	return x;
}
static float f32_of(uint32_t bits) {
	float x;
	memcpy(&x, &bits, 4);
	return x;
}

static double any_bits(int bits) {
	return bits == 64 ? f64_of(random_bits()) : (double)f32_of((uint32_t)random_bits());
}

/* Exponents uniformly distributed from 2^lo to 2^hi, both signs. */
static double spread(double lo, double hi) {
	double x = exp2(floor(uniform(lo, hi))) * uniform(1, 2);
	return random_bits() & 1 ? -x : x;
}

/* Returns a float next to a multiple of pi/2. For large multiples a double is
 * close only by chance, so the search starts from one. */
static double near_turn(int bits) {
	double k = floor(exp2(uniform(0, bits == 64 ? 32 : 18)));
	double x = (double)(k * 1.57079632679489661923132169163975144L);
	x = bits == 64 ? x : (double)(float)x;
	for (int step = (int)(random_bits() % 5) - 2; step; step += step < 0 ? 1 : -1)
		x = bits == 64 ? nextafter(x, step < 0 ? 0 : INFINITY)
		               : (double)nextafterf((float)x, step < 0 ? 0 : INFINITY);
	return x;
}

static void argument(const Function *f, int bits, double *x, double *y) {
	int way = (int)(random_bits() % 10);
	*x = *y = 0;
	switch (f->arguments) {
	case PLAIN:
	case ANGLES: {
		double lo = bits == 64 ? f->lo : f->lo32, hi = bits == 64 ? f->hi : f->hi32;
		if (way < 3) *x = uniform(lo, hi);
		else if (way < 6) *x = uniform(-f->near, f->near);
		else if (way < 8) *x = spread(-30, ceil(log2(fmax(fabs(lo), fabs(hi)))));
		else *x = any_bits(bits);
		if (f->libm == log && way >= 3 && way < 6) *x = 1 + *x / 8;
		if (f->libm == acos && way == 3) *x = copysign(1 - exp2(uniform(-20, 0)), *x);
		if (f->arguments == ANGLES && way == 1) *x = near_turn(bits);
		if (f->arguments == ANGLES && way == 2) *x = spread(0, bits == 64 ? 40 : 20);
		break;
	}
	case POWERS: {
		double limit = bits == 64 ? uniform(-746, 711) : uniform(-105, 90);
		if (way < 3) *x = uniform(0, 3);
		else if (way < 5) *x = 1 + spread(bits == 64 ? -40 : -20, -3);
		else *x = fabs(any_bits(bits));
		if (bits == 32) *x = (float)*x;
		*y = limit / log(*x);
		if (way == 8) *x = -fabs(*x), *y = floor(*y);
		if (way == 9) *x = spread(-4, 4), *y = floor(uniform(-40, 40)) * 0.5;
		if (way == 5) *y = any_bits(bits);
		break;
	}
	case PLANE:
		*x = spread(-20, 20), *y = spread(-20, 20);
		if (way < 2) *x = *y * uniform(0, 3);
		else if (way < 4) *x = any_bits(bits);
		else if (way < 6) *x = any_bits(bits), *y = any_bits(bits);
	}
	if (bits == 32) *x = (float)*x, *y = (float)*y;
}

static const double special[] = {
	0.0,
	-0.0,
	INFINITY,
	-INFINITY,
	NAN,
	1,
	-1,
	0.5,
	-0.5,
	2,
	-2,
	3,
	-3,
	1.0 / 3,
	-1.0 / 3,
	1.5,
	-1.5,
	4,
	8,
	-8,
	27,
	64,
	0x1p-1022,
	-0x1p-1022,
	0x1p-1074,
	-0x1p-1074,
	0x1.fffffffffffffp-1023,
	0x1.fffffffffffffp1023,
	-0x1.fffffffffffffp1023,
	0x1p-126,
	-0x1p-126,
	0x1p-149,
	-0x1p-149,
	0x1.fffffep127,
	-0x1.fffffep127,
	0x1p-54,
	-0x1p-54,
	0x1p-25,
	-0x1p-25,
	0x1.fffffffffffffp-1,
	-0x1.fffffffffffffp-1,
	0x1.0000000000001p0,
	0x1.fffffep-1,
	-0x1.fffffep-1,
	0x1.000002p0,
	709.78271289338397,
	709.782712893384,
	710.4758600739439,
	710.47586007394398,
	-745.13321910194122,
	-745.1332191019411,
	-708.39641853226408,
	88.72283,
	88.722839,
	89.415985,
	-103.97207,
	-103.97208,
	-87.336544,
	0x1p52,
	0x1p53,
	-0x1p53,
	9007199254740993.0,
	9007199254740995.0,
	0x1p23,
	0x1p24,
	16777215,
	-16777215,
	0x1p30,
	0x1.0000000000001p30,
	-0x1p31,
	1e5,
	100001,
	1e22,
	1e300,
	0x1.6ac5b262ca1ffp849,
	0x1.921fb54442d18p0,
	0x1.921fb54442d18p1,
	0x1.921fb6p0,
	0x1.921fb6p1,
	0x1.921fb54442d18p-1,
	16,
	32,
	37.5,
	19.0619,
	20,
	21,
	9.011,
	10,
	11,
	0.85,
	0.84999999,
	5.9,
	6,
	6.5,
	3.9,
	4.1,
	-37,
	-36.7,
	-17.4,
	0x1.6a09e667f3bcdp-1,
	0x1.6a09e6p-1,
	0x1.6a09e667f3bccp-1,
	1e-8,
	-1e-8,
	1e-300,
	1e-310,
	1e-40,
};
enum { SPECIALS = sizeof special / sizeof *special };

/* ---- errors -------------------------------------------------------------- */

static double libm(const Function *f, double x, double y) {
	return f->libm ? f->libm(x) : f->libm2(x, y);
}

/* Returns the error of `got` = f(x, y); 1e300 where one is NaN, infinite or
 * zero with the wrong sign and the other is not. */
static double error_of(const Function *f, int bits, double x, double y, double got) {
	static mpfr_t mx, my, exact, rest;
	static bool ready;
	if (!ready) {
		mpfr_inits2(53, mx, my, (mpfr_ptr)0);
		mpfr_init2(exact, 120);
		mpfr_init2(rest, 240);
		ready = true;
	}
	const int precision = bits == 64 ? 53 : 24, highest = bits == 64 ? 1023 : 127,
			  lowest = bits == 64 ? -1022 : -126;
	mpfr_set_prec(exact, bits == 64 ? 120 : 80);
	mpfr_set_d(mx, x, MPFR_RNDN);
	mpfr_set_d(my, y, MPFR_RNDN);
	if (f->exact) f->exact(exact, mx, MPFR_RNDN);
	else f->exact2(exact, mx, my, MPFR_RNDN);
	if (mpfr_nan_p(exact) || isnan(got)) return mpfr_nan_p(exact) && isnan(got) ? 0 : 1e300;
	if (mpfr_zero_p(exact) && (got == 0 || isinf(got)))
		return got == 0 && !signbit(got) == !mpfr_signbit(exact) ? 0 : 1e300;
	double value = mpfr_get_d(exact, MPFR_RNDN);
	if (bits == 32) value = (double)mpfr_get_flt(exact, MPFR_RNDN);
	if (got == 0 && !signbit(got) != !mpfr_signbit(exact)) return 1e300;
	if (isinf(value) && value == got) return 0;
	if (mpfr_inf_p(exact)) return 1e300;
	int e = value == 0 ? lowest : isinf(value) ? highest : ilogb(value);
	if (e < lowest) e = lowest;
	if (isinf(got)) { /* as if it were the next power of two */
		mpfr_set_si_2exp(rest, got > 0 ? 1 : -1, highest + 1, MPFR_RNDN);
		mpfr_sub(rest, rest, exact, MPFR_RNDN);
	} else {
		mpfr_set_d(rest, got, MPFR_RNDN);
		if (isinf(value)) mpfr_set_si_2exp(exact, value > 0 ? 1 : -1, highest + 1, MPFR_RNDN);
		mpfr_sub(rest, rest, exact, MPFR_RNDN);
	}
	mpfr_mul_2si(rest, rest, precision - 1 - e, MPFR_RNDN);
	return fabs(mpfr_get_d(rest, MPFR_RNDN));
}

/* Returns whether the error is certainly below the limit, by the C library's
 * long double, which has 11 more bits than double. This avoids most of the slow
 * MPFR evaluations. MPFR is still used for a possible largest error, for one
 * argument in sixteen, and where long double is no better than double. */
static bool surely_below(const Function *f, int bits, double x, double y, double got,
                         double limit) {
	const int precision = bits == 64 ? 53 : 24, lowest = bits == 64 ? -1022 : -126;
	if (LDBL_MANT_DIG < 64 || !isfinite(got)) return false;
	long double value =
		f->long_libm ? f->long_libm((long double)x) : f->long_libm2((long double)x, (long double)y);
	if (!(fabsl(value) < (bits == 64 ? (long double)DBL_MAX : (long double)FLT_MAX)) || value == 0)
		return false;
	int e = ilogbl(value);
	return e > lowest && ldexpl(fabsl((long double)got - value), precision - 1 - e) < limit - 0.02L;
}

/* Batches with arrays of both precisions; the loops take one batch at a
 * time. */
enum { BATCH = 4096 };
static double x64[BATCH], y64[BATCH], out64[4][BATCH];
static float x32[BATCH], y32[BATCH], out32[4][BATCH];

static double result(int width, int bits, int i) {
	return bits == 64 ? out64[width][i] : (double)out32[width][i];
}

typedef struct Worst {
	double error, x, y, got;
	bool widths_differ;
	double differ_x, differ_y;
} Worst;

static bool same(double a, double b) {
	return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* Runs every width over the n arguments in the arrays and measures the errors.
 * n need not be a multiple of 16. */
static void measure(const Function *f, int bits, int n, Worst *w) {
	int whole = (n + 15) & ~15;
	for (int i = n; i < whole; i++) {
		x64[i] = y64[i] = 1;
		x32[i] = y32[i] = 1;
	}
	for (int v = 0; v < 4; v++) {
		const VmathLoop *l = find(v, f->name);
		if (bits == 64) l->f64(out64[v], x64, y64, whole);
		else l->f32(out32[v], x32, y32, whole);
	}
	for (int i = 0; i < n; i++) {
		double x = bits == 64 ? x64[i] : (double)x32[i], y = bits == 64 ? y64[i] : (double)y32[i],
			   got = result(2, bits, i);
		for (int v = 0; v < 4; v++)
			if (!same(result(v, bits, i), got) && !w->widths_differ)
				w->widths_differ = true, w->differ_x = x, w->differ_y = y;
		if (i % 16 && surely_below(f, bits, x, y, got, w->error)) continue;
		double error = error_of(f, bits, x, y, got);
		if (error > w->error)
			*w = (Worst){error, x, y, got, w->widths_differ, w->differ_x, w->differ_y};
	}
}

static void put(int bits, int i, double x, double y) {
	if (bits == 64) x64[i] = x, y64[i] = y;
	else x32[i] = (float)x, y32[i] = (float)y;
}

/* ---- special values ------------------------------------------------------ */

/* Values of Annex F, and others that are expected to be exact. */
typedef struct Exact {
	const char *name;
	double x, y, result;
} Exact;
static const Exact exact[] = {
	{"exp", 0.0, 0, 1},
	{"exp", -0.0, 0, 1},
	{"exp", -INFINITY, 0, 0},
	{"exp", INFINITY, 0, INFINITY},
	{"exp", 1000, 0, INFINITY},
	{"exp", -1000, 0, 0.0},
	{"expm1", -0.0, 0, -0.0},
	{"expm1", 0.0, 0, 0.0},
	{"expm1", -INFINITY, 0, -1},
	{"expm1", INFINITY, 0, INFINITY},
	{"log", 1, 0, 0.0},
	{"log", 0.0, 0, -INFINITY},
	{"log", -0.0, 0, -INFINITY},
	{"log", -1, 0, NAN},
	{"log", INFINITY, 0, INFINITY},
	{"log", -INFINITY, 0, NAN},
	{"log1p", -1, 0, -INFINITY},
	{"log1p", -0.0, 0, -0.0},
	{"log1p", -2, 0, NAN},
	{"log1p", INFINITY, 0, INFINITY},
	{"sin", -0.0, 0, -0.0},
	{"sin", 0.0, 0, 0.0},
	{"sin", INFINITY, 0, NAN},
	{"cos", 0.0, 0, 1},
	{"cos", -0.0, 0, 1},
	{"cos", 1e-20, 0, 1},
	{"cos", -INFINITY, 0, NAN},
	{"tan", -0.0, 0, -0.0},
	{"tan", INFINITY, 0, NAN},
	{"asin", -0.0, 0, -0.0},
	{"asin", 1.5, 0, NAN},
	{"acos", 1, 0, 0.0},
	{"acos", -2, 0, NAN},
	{"atan", -0.0, 0, -0.0},
	{"sinh", -0.0, 0, -0.0},
	{"sinh", -INFINITY, 0, -INFINITY},
	{"cosh", 0.0, 0, 1},
	{"cosh", -INFINITY, 0, INFINITY},
	{"tanh", -0.0, 0, -0.0},
	{"tanh", INFINITY, 0, 1},
	{"tanh", -INFINITY, 0, -1},
	{"tanh", 30, 0, 1},
	{"erf", -0.0, 0, -0.0},
	{"erf", INFINITY, 0, 1},
	{"erf", -INFINITY, 0, -1},
	{"erf", 7, 0, 1},
	{"cbrt", -0.0, 0, -0.0},
	{"cbrt", -8, 0, -2},
	{"cbrt", 27, 0, 3},
	{"cbrt", 1e15, 0, 1e5},
	{"cbrt", -INFINITY, 0, -INFINITY},
	{"cbrt", 1, 0, 1},
	{"sqrt", -0.0, 0, -0.0},
	{"sqrt", -1, 0, NAN},
	{"sqrt", INFINITY, 0, INFINITY},
	{"pow", NAN, 0.0, 1},
	{"pow", NAN, -0.0, 1},
	{"pow", 1, NAN, 1},
	{"pow", 1, INFINITY, 1},
	{"pow", -1, INFINITY, 1},
	{"pow", -1, -INFINITY, 1},
	{"pow", -8, 1.0 / 3, NAN},
	{"pow", -2, 3, -8},
	{"pow", -2, 2, 4},
	{"pow", 0.0, -1, INFINITY},
	{"pow", -0.0, -1, -INFINITY},
	{"pow", -0.0, -3, -INFINITY},
	{"pow", -0.0, -2, INFINITY},
	{"pow", -0.0, -0.5, INFINITY},
	{"pow", -0.0, 3, -0.0},
	{"pow", -0.0, 2, 0.0},
	{"pow", -0.0, 0.5, 0.0},
	{"pow", 0.5, -INFINITY, INFINITY},
	{"pow", 0.5, INFINITY, 0.0},
	{"pow", 2, INFINITY, INFINITY},
	{"pow", 2, -INFINITY, 0.0},
	{"pow", -2, INFINITY, INFINITY},
	{"pow", -0.5, INFINITY, 0.0},
	{"pow", -INFINITY, 3, -INFINITY},
	{"pow", -INFINITY, -3, -0.0},
	{"pow", -INFINITY, 2.5, INFINITY},
	{"pow", -INFINITY, -2, 0.0},
	{"pow", INFINITY, -1, 0.0},
	{"pow", INFINITY, 0.5, INFINITY},
	{"pow", 0.0, -INFINITY, INFINITY},
	{"pow", 0.0, INFINITY, 0.0},
	{"pow", 3, 4, 81},
	{"pow", 10, 3, 1000},
	{"pow", 7, 1, 7},
	{"pow", 4, 0.5, 2},
	{"pow", 4, -0.5, 0.5},
	{"pow", 2, -149, 0x1p-149},
	{"pow", -1, 16777215, -1},
	{"pow", -1, 16777216, 1},
	{"pow", NAN, 2, NAN},
	{"pow", 2, NAN, NAN},
	{"pow", 5, 2, 25},
	{"pow", 1.5, 2, 2.25},
	{"pow", -3, -1, -1.0 / 3},
	{"atan2", 0.0, 1, 0.0},
	{"atan2", -0.0, 1, -0.0},
	{"atan2", 0.0, 0.0, 0.0},
	{"atan2", -0.0, 0.0, -0.0},
	{"atan2", 0.0, INFINITY, 0.0},
	{"atan2", -1, INFINITY, -0.0},
	{"atan2", NAN, 1, NAN},
	{"atan2", 1, NAN, NAN},
	{"atan2", NAN, INFINITY, NAN},
	{"atan2", 0.0, NAN, NAN},
};

static double call(const char *name, int bits, double x, double y) {
	for (int i = 0; i < 16; i++) put(bits, i, x, y);
	const VmathLoop *l = find(2, name);
	if (bits == 64) l->f64(out64[2], x64, y64, 16);
	else l->f32(out32[2], x32, y32, 16);
	return result(2, bits, 5);
}

static void check_exact(const Function *f, int bits) {
	for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
		if (strcmp(exact[i].name, f->name)) continue;
		double y = bits == 64 ? exact[i].y : (double)(float)exact[i].y,
			   want = bits == 64 ? exact[i].result : (double)(float)exact[i].result;
		double got = call(f->name, bits, exact[i].x, y);
		CHECK_MSG(same(got, want), "%s f%d: (%g, %g) is %a, not %a", f->name, bits, exact[i].x, y,
		          got, want);
	}
}

/* All special arguments, or pairs of them: the C library's value where it is
 * zero, infinite or NaN, else within the bound. */
static void check_specials(const Function *f, int bits) {
	int wrong = 0, in_batch = 0;
	Worst w = {0};
	double worst_x = 0, worst_y = 0;
	for (int j = 0; j < (f->libm2 ? SPECIALS : 1); j++) {
		for (int i = 0; i < SPECIALS; i++) put(bits, i, special[i], special[j]);
		in_batch = SPECIALS;
		measure(f, bits, in_batch, &w);
		for (int i = 0; i < SPECIALS; i++) {
			double x = bits == 64 ? x64[i] : (double)x32[i],
				   y = bits == 64 ? y64[i] : (double)y32[i];
			double want = libm(f, x, y), got = result(2, bits, i);
			if (bits == 32) {
				/* An f64 result that f32 cannot represent does not determine
				 * zeros and infinities there. The measured error does. */
				if (want != 0 && !isinf(want) && !isnan(want)) continue;
			}
			if ((want == 0 || isinf(want) || isnan(want)) && !same(want, got) &&
			    fabs(want) != 0x1p-1074) {
				if (bits == 64 && want == 0 && fabs(got) == 0x1p-1074) continue;
				wrong++, worst_x = x, worst_y = y;
			}
		}
	}
	CHECK_MSG(!wrong, "%s f%d: %d special values differ from C's, such as at (%a, %a)", f->name,
	          bits, wrong, worst_x, worst_y);
	CHECK_MSG(w.error <= f->bound, "%s f%d: error of %.3g units at the special value (%a, %a): %a",
	          f->name, bits, w.error, w.x, w.y, w.got);
	CHECK_MSG(!w.widths_differ, "%s f%d: widths differ at the special value (%a, %a)", f->name,
	          bits, w.differ_x, w.differ_y);
}

/* ---- the same bits on every machine -------------------------------------- */

/* For each function, for f64 and f32: a hash of its results for arguments that
 * are the same on every machine (--bits). */
static const struct Bits {
	const char *name;
	uint64_t of[2];
} bits_of[] = {
	{"sqrt", {0x071296c30e139960, 0xcd6cfc803e068bc3}},
	{"cbrt", {0x7e366c420899e3ca, 0xc2e981f29fa8591c}},
	{"exp", {0x445816cd739bf4f3, 0x7e846846193ec77e}},
	{"expm1", {0x8870cae75eded49c, 0x27dc7b44795dffe8}},
	{"log", {0x6d199c1b7685bcfa, 0xed74168416cc5dcf}},
	{"log1p", {0x9e81ebc65f9014c0, 0x6cc2144404512465}},
	{"sin", {0xb88ef3e086637447, 0xaf66e3f71a05c24d}},
	{"cos", {0x1e0e6c76e4d4dc27, 0xf4c443c6ad3fb987}},
	{"tan", {0x78741f47489aec41, 0xb91b05baab32f23a}},
	{"asin", {0x0efc42e3905a4815, 0x3d172720682cdf70}},
	{"acos", {0xab47e622d3b5b653, 0xd4659aef28c53f09}},
	{"atan", {0x8d10fd220dca5540, 0x38c8db939045dfd9}},
	{"sinh", {0xf0681880fa0724e2, 0xca9807617b735c9d}},
	{"cosh", {0xf6b5e47b7dd00003, 0x65b4a8f02e48958d}},
	{"tanh", {0xf71f6289d7eb0efe, 0xc6fb1f5f6c32429d}},
	{"erf", {0xdf4cdd9ae94d8df3, 0x829c1bd02d10a025}},
	{"pow", {0xe1f60c8fe4ffa14e, 0x4a8c446ee800dd4a}},
	{"atan2", {0x9dd5330c4b0f40fb, 0xab538ed09ed39d99}},
};

/* Computes arguments by exact arithmetic only, because the C library's
 * functions and long double differ between machines. */
static void plain_argument(const Function *f, int bits, double *x, double *y) {
	const uint64_t way = random_bits() % 4;
	const double lo = f->libm2     ? -20
	                  : bits == 64 ? f->lo
	                               : f->lo32,
				 hi = f->libm2     ? 20
	                  : bits == 64 ? f->hi
	                               : f->hi32;
	*x = way == 0 ? any_bits(bits) : way == 1 ? special[random_bits() % SPECIALS] : uniform(lo, hi);
	*y = way == 0   ? any_bits(bits)
	     : way == 1 ? special[random_bits() % SPECIALS]
	                : uniform(-20, 20);
}

static uint64_t mixed(uint64_t h, double x) {
	uint64_t bits = 0x7ff8000000000000; /* a NaN's sign and payload depend on the machine */
	if (!isnan(x)) memcpy(&bits, &x, 8);
	h = (h ^ bits) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

static uint64_t results_of(const VmathLoop *loops, const Function *f, int bits) {
	uint64_t h = 0;
	random_state = 1;
	while (strcmp(loops->name, f->name)) loops++;
	for (int turn = 0; turn < 8; turn++) {
		for (int i = 0; i < BATCH; i++) {
			double x, y;
			plain_argument(f, bits, &x, &y);
			put(bits, i, x, y);
		}
		if (bits == 64) loops->f64(out64[0], x64, y64, BATCH);
		else loops->f32(out32[0], x32, y32, BATCH);
		for (int i = 0; i < BATCH; i++) h = mixed(h, result(0, bits, i));
	}
	return h;
}

/* Uses the loops of all widths, and the evaluator's loops that this machine
 * runs. */
static void check_bits(const Function *f, int bits) {
	uint64_t want = 0;
	for (size_t i = 0; i < sizeof bits_of / sizeof *bits_of; i++)
		if (!strcmp(bits_of[i].name, f->name)) want = bits_of[i].of[bits == 32];
	for (int v = 0; v < 4; v++)
		CHECK_MSG(results_of(widths[v], f, bits) == want,
		          "%s f%d: other bits than elsewhere with %d lanes", f->name, bits, width_lanes[v]);
#if defined(WITH_VMATH) && defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		CHECK_MSG(results_of(vmath_for_avx2, f, bits) == want,
		          "%s f%d: other bits than elsewhere in the evaluator, with AVX2", f->name, bits);
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		CHECK_MSG(results_of(vmath_for_avx512, f, bits) == want,
		          "%s f%d: other bits than elsewhere in the evaluator, with AVX-512", f->name,
		          bits);
#elif defined(WITH_VMATH)
	CHECK_MSG(results_of(vmath_for_neon, f, bits) == want,
	          "%s f%d: other bits than elsewhere in the evaluator, with NEON", f->name, bits);
#endif
}

static void print_bits(void) {
	for (int k = 0; k < FUNCTIONS; k++)
		printf("\t{\"%s\", {0x%016llx, 0x%016llx}},\n", functions[k].name,
		       (unsigned long long)results_of(widths[0], &functions[k], 64),
		       (unsigned long long)results_of(widths[0], &functions[k], 32));
}

/* ---- timings and main ---------------------------------------------------- */

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the ns for one element: the best of many runs, with typical arguments
 * in the first-level cache. */
static double time_of(const Function *f, int bits, int width) {
	enum { N = 1024, TIMES = 200 };
	for (int i = 0; i < N; i++) {
		double near = f->near > 0 ? f->near : 1;
		put(bits, i,
		    f->libm == log || f->libm == sqrt || f->libm2 ? uniform(0.1, 4) : uniform(-near, near),
		    uniform(-3, 3));
	}
	const VmathLoop *l = find(width, f->name);
	double best = 1e9;
	for (int run = 0; run < 30; run++) {
		double start = now();
		for (int i = 0; i < TIMES; i++) {
			if (bits == 64) l->f64(out64[0], x64, y64, N);
			else l->f32(out32[0], x32, y32, N);
		}
		best = fmin(best, (now() - start) / TIMES / N);
	}
	return best * 1e9;
}

static void check_random(const Function *f, int bits, Worst *w) {
	long n = full ? 10000000 : 200000;
	for (long done = 0; done < n; done += BATCH) {
		for (int i = 0; i < BATCH; i++) {
			double x, y;
			argument(f, bits, &x, &y);
			put(bits, i, x, y);
		}
		measure(f, bits, BATCH, w);
	}
	if (full && bits == 32 && f->libm) {
		int i = 0;
		for (uint64_t b = 0; b < (uint64_t)1 << 32; b += 1009) {
			x32[i++] = f32_of((uint32_t)b);
			if (i == BATCH) {
				measure(f, bits, i, w);
				i = 0;
			}
		}
		if (i) measure(f, bits, i, w);
	}
	CHECK_MSG(w->error <= f->bound, "%s f%d: error of %.3g units at (%a, %a) = (%g, %g): %a",
	          f->name, bits, w->error, w->x, w->y, w->x, w->y, w->got);
	CHECK_MSG(!w->widths_differ, "%s f%d: widths differ at (%a, %a)", f->name, bits, w->differ_x,
	          w->differ_y);
}

int main(int n, char **words) {
	full = getenv("ATLED_VMATH_FULL") != NULL;
	bool chosen = false, bits_asked = false;
	for (int i = 1; i < n; i++) {
		if (!strcmp(words[i], "--full")) full = true;
		else if (!strcmp(words[i], "--table")) table = true;
		else if (!strcmp(words[i], "--bits")) bits_asked = true;
		else chosen = true;
	}
	if (!widths[0]) {
		check_skip(
			"the vector maths is not tested, since clang-19 was missing when this was built");
		return check_end();
	}
	if (bits_asked) {
		print_bits();
		return 0;
	}
	if (table)
		printf("%-8s %9s %9s   ns for one element, f64 in vectors of 1 2 4, f32 of 1 8\n", "",
		       "ulp f64", "ulp f32");
	for (int k = 0; k < FUNCTIONS; k++) {
		const Function *f = &functions[k];
		bool wanted = !chosen;
		for (int i = 1; i < n; i++) wanted |= !strcmp(words[i], f->name);
		if (!wanted) continue;
		for (int v = 0; v < 4; v++)
			CHECK_MSG(find(v, f->name) != NULL, "%s is not in the loops of %d lanes", f->name,
			          width_lanes[v]);
		Worst worst[2];
		memset(worst, 0, sizeof worst);
		for (int p = 0; p < 2; p++) {
			int bits = p ? 32 : 64;
			random_state = (uint64_t)k;
			check_exact(f, bits);
			check_specials(f, bits);
			check_random(f, bits, &worst[p]);
			check_bits(f, bits);
		}
		if (table) {
			printf("%-8s %9.3f %9.3f  ", f->name, worst[0].error, worst[1].error);
			printf("%8.2f %7.2f %7.2f  %8.2f %7.2f\n", time_of(f, 64, 0), time_of(f, 64, 1),
			       time_of(f, 64, 2), time_of(f, 32, 0), time_of(f, 32, 2));
			fflush(stdout);
		}
	}
	return check_end();
}
#endif
