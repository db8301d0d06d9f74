/* hypergeometric.c - the functions 0F1, 1F1, U and 2F1 of real parameters.
 *
 * Needs: special.h, gsl.h. Guarantees: as solvers/special.c states it. A series
 * counts only when its terms show that it kept 13 digits: the methods are tried
 * from the cheap to the dear one, and where none keeps enough the result is
 * NaN. The parameters count as they are given.
 */
#include "solvers/gsl.h"
#include "solvers/special.h"
#include <float.h>
#include <stdint.h>

/* log |gamma(x)| and its sign */
static int sign_gamma(long double x, long double *log_of) {
	int sign;
	*log_of = lgammal_r(x, &sign);
	return sign;
}

/* gamma(p) gamma(q) / (gamma(r) gamma(s)) */
static long double gamma_ratio(long double p, long double q, long double r, long double s) {
	long double l[4];
	if ((r <= 0 && r == roundl(r)) || (s <= 0 && s == roundl(s))) return 0;
	const int sign =
		sign_gamma(p, &l[0]) * sign_gamma(q, &l[1]) * sign_gamma(r, &l[2]) * sign_gamma(s, &l[3]);
	return sign * expl(l[0] + l[1] - l[2] - l[3]);
}

/* ---- sums ---------------------------------------------------------------- */

/* What a series of this many terms gives: the sum, and how much larger its
 * largest term was. NaN when it does not end. */
typedef struct Sum {
	long double value, lost;
} Sum;
static const Sum NO_SUM = {NAN, INFINITY};

static Sum power_series(uint32_t na, const long double *a, uint32_t nb, const long double *b,
                        double x) {
	long double term = 1, sum = 1, largest = 1;
	for (int k = 0; k < 4000; k++) {
		for (uint32_t i = 0; i < na; i++) term *= a[i] + k;
		for (uint32_t i = 0; i < nb; i++) term /= b[i] + k;
		term *= x / (k + 1.0L);
		if (term == 0) return (Sum){sum, largest / fabsl(sum)};
		sum += term;
		if (fabsl(term) > largest) largest = fabsl(term);
		if (!(largest < 1e4000L)) break;
		if (fabsl(term) < 1e-20L * fabsl(sum)) return (Sum){sum, largest / fabsl(sum)};
	}
	return NO_SUM;
}
static bool kept(Sum s) { return s.lost < 1e-13L / LDBL_EPSILON; }

/* Numbers of twice as many digits, as sums of two (Dekker 1971; Knuth, The Art
 * of Computer Programming II, 4.2.2) */
typedef struct Twice {
	double high, low;
} Twice;
static Twice twice_sum(double a, double b) {
	const double s = a + b, part = s - a;
	return (Twice){s, (a - (s - part)) + (b - part)};
}
static Twice twice_add(Twice a, Twice b) {
	const Twice s = twice_sum(a.high, b.high), t = twice_sum(s.high, s.low + a.low + b.low);
	return t;
}
static Twice twice_times(Twice a, Twice b) {
	const double p = a.high * b.high;
	return twice_sum(p, fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high));
}
static Twice twice_over(Twice a, Twice b) {
	const double q = a.high / b.high;
	const Twice rest = twice_add(a, twice_times((Twice){-q, 0}, b));
	return twice_sum(q, (rest.high + rest.low) / b.high);
}
static Twice twice_less(Twice a, Twice b) { return twice_add(a, (Twice){-b.high, -b.low}); }
static Twice twice_of(double x) { return (Twice){x, 0}; }
static long double as_long(Twice a) { return (long double)a.high + a.low; }

/* The power series with thirty digits, for sums whose terms cancel: parameters
 * and x count as they are given, so that a + k is not rounded either. */
static long double lost_in_series(uint32_t na, const double *a, uint32_t nb, const double *b,
                                  double x, double least, Twice *sum) {
	Twice term = {1, 0};
	double largest = 1;
	*sum = term;
	for (int k = 0; k < 12000; k++) {
		for (uint32_t i = 0; i < na; i++) term = twice_times(term, twice_sum(a[i], k));
		for (uint32_t i = 0; i < nb; i++) term = twice_over(term, twice_sum(b[i], k));
		term = twice_over(twice_times(term, twice_of(x)), twice_of(k + 1.0));
		*sum = twice_add(*sum, term);
		largest = fmax(largest, fabs(term.high));
		if (!(largest < 1e290)) break;
		if (fabs(term.high) < 1e-33 * largest || fabs(term.high) < least * fabs(sum->high))
			return largest / fabs(sum->high);
	}
	*sum = twice_of(NAN);
	return INFINITY;
}
static Sum power_series_twice(uint32_t na, const double *a, uint32_t nb, const double *b,
                              double x) {
	Twice sum;
	const long double lost = lost_in_series(na, a, nb, b, x, 1e-18, &sum);
	return (Sum){as_long(sum), lost};
}
static bool kept_twice(Sum s) { return s.lost < 1e18L; }

/* GSL goes through large parameters one by one. */
static bool moderate(double a) { return fabs(a) <= 2000; }
/* GSL's value where its own bound of the error, which is a large one, allows
 * six digits. */
static double if_bounded(int status, const gsl_sf_result *r) {
	const double value = gsl_number(status, r);
	return r->err <= 1e-6 * fabs(value) || !isfinite(value) ? value : NAN;
}

/* ---- 0F1 and 1F1 --------------------------------------------------------- */

double hyp0f1(const double *p) {
	const double b = p[0], x = p[1];
	if (!isfinite(b + x) || pole(b)) return NAN;
	const Sum s = power_series(0, NULL, 1, (long double[]){b}, x);
	if (s.lost < 1e3) return (double)s.value;
	const double nu = b - 1, root = sqrt(fabs(x)), at[2] = {nu, 2 * root};
	long double l;
	const int sign = sign_gamma(b, &l);
	const long double bessel = x > 0    ? bessel_i(at)
	                           : nu < 0 ? bessel_j(at)
	                                    : bessel_j_right(nu, 2 * sqrtl(-(long double)x));
	return (double)(sign * expl(l - nu * 0.5L * logl(fabsl(x))) * bessel);
}

/* The sum of (p)_s (q)_s / s! z^-s up to its smallest term, which is what it
 * leaves open. */
static Sum asymptotic(long double p, long double q, long double z) {
	long double term = 1, sum = 1, last = 1, largest = 1;
	for (int s = 0; s < 4000; s++) {
		term *= (p + s) * (q + s) / ((s + 1) * z);
		if (term == 0) return (Sum){sum, largest / fabsl(sum)};
		if (fabsl(term) > fabsl(last) && s > fabsl(p) + fabsl(q)) break;
		sum += term;
		last = term;
		largest = fmaxl(largest, fabsl(term));
		if (fabsl(term) < 1e-20L * fabsl(sum)) return (Sum){sum, largest / fabsl(sum)};
	}
	return NO_SUM;
}
/* 1F1 of large |x| (DLMF 13.7.2), where the part that the other exponential
 * goes with is below rounding. */
static Sum hyp1f1_far(long double a, long double b, double x) {
	const long double z = fabs(x), p = x > 0 ? a : b - a,
					  q = x > 0 ? b - a : a; /* gamma(p) is under the leading part */
	if (z < 30 || pole((double)p)) return NO_SUM;
	const Sum s = x > 0 ? asymptotic(1 - a, b - a, z) : asymptotic(a, a - b + 1, z);
	long double lb, lp, lq = 0;
	const int sign = sign_gamma(b, &lb) * sign_gamma(p, &lp);
	const bool other = !pole((double)q);
	if (other) sign_gamma(q, &lq);
	if (!kept(s)) return NO_SUM;
	const long double lead = lb - lp - q * logl(z) + logl(fabsl(s.value));
	/* the other part is gamma(b)/gamma(q) exp(-z) z^-p */
	if (other && lb - lq - z - p * logl(z) > lead - 46) return NO_SUM;
	return (Sum){sign * expl(lb - lp - q * logl(z) + (x > 0 ? z : 0)) * s.value, s.lost};
}

double hyp1f1(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	gsl_sf_result r;
	if (!isfinite(a + b + x)) return NAN;
	if (pole(b) && !(pole(a) && a >= b)) return NAN;
	const bool by_kummer =
		x < 0 && !pole(a); /* exp(x) 1F1(b - a, b, -x), whose terms have one sign in the end */
	const Sum s =
		by_kummer ? power_series(1, (long double[]){(long double)b - a}, 1, (long double[]){b}, -x)
				  : power_series(1, (long double[]){a}, 1, (long double[]){b}, x);
	if (kept(s)) return (double)(by_kummer ? s.value * expl(x) : s.value);
	const Sum far = hyp1f1_far(a, b, x);
	if (kept(far)) return (double)far.value;
	const Sum twice = power_series_twice(1, &a, 1, &b, x);
	if (kept_twice(twice)) return (double)twice.value;
	return moderate(a) && moderate(b) ? if_bounded(gsl.gsl_sf_hyperg_1F1_e(a, b, x, &r), &r) : NAN;
}

/* U by the two functions 1F1 it is made of (DLMF 13.2.42), and how much larger
 * they were; b is not whole. */
static Sum hyp_u_near(long double a, long double b, double x) {
	if (b == roundl(b)) return NO_SUM;
	const Sum s = power_series(1, (long double[]){a}, 1, (long double[]){b}, x);
	const Sum t = power_series(1, (long double[]){a - b + 1}, 1, (long double[]){2 - b}, x);
	const long double scale = PI_L / sin_pi((double)b);
	const long double u = scale * gamma_ratio(1, 1, a - b + 1, b) * s.value;
	const long double v = -scale * gamma_ratio(1, 1, a, 2 - b) * powl(x, 1 - b) * t.value;
	return (Sum){u + v, (fabsl(u) * s.lost + fabsl(v) * t.lost) / fabsl(u + v)};
}
double hyp_u(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	gsl_sf_result r;
	if (!isfinite(a + b + x)) return NAN;
	if (x > 0) {
		const Sum far = asymptotic(a, (long double)a - b + 1, -(long double)x);
		if (kept(far)) return (double)(powl(x, -a) * far.value); /* DLMF 13.7.3 */
		const Sum near = hyp_u_near(a, b, x);
		if (kept(near)) return (double)near.value;
	}
	return moderate(a) && moderate(b) ? gsl_number(gsl.gsl_sf_hyperg_U_e(a, b, x, &r), &r) : NAN;
}

/* ---- 2F1 ----------------------------------------------------------------- */

/* From x to y = 1 - x (DLMF 15.8.4), where c - a - b is not nearly whole: two
 * products, and how much larger than their sum they and their series were. The
 * parameters are rounded, so that what is lost counts in doubles. */
static Sum hyp2f1_from_one(double a, double b, double c, double y) {
	const double d = c - a - b, first = 1 - d, second = 1 + d;
	if (fabs(d - round(d)) < 1e-2) return NO_SUM;
	const Sum s = power_series_twice(2, (double[]){a, b}, 1, &first, y),
			  t = power_series_twice(2, (double[]){c - a, c - b}, 1, &second, y);
	const long double u = gamma_ratio(c, d, c - a, c - b) * s.value,
					  v = powl(y, d) * gamma_ratio(c, -d, a, b) * t.value;
	return (Sum){u + v, (fabsl(u) * s.lost + fabsl(v) * t.lost) / fabsl(u + v)};
}

/* One step of the differential equation, y (1 - y) F'' + (c' - (a + b + 1) y)
 * F' = a b F with c' = a + b - c + 1, by F's Taylor series at y: F and F' at y
 * + h, and the largest term that they had. */
static double taylor_step(double a, double b, Twice c1, double y, double h, Twice *f,
                          Twice *slope) {
	const Twice ab = twice_add(twice_sum(a, b), twice_of(1)),
				square = twice_times(twice_of(y), twice_of(y));
	const Twice turn = twice_less(twice_of(1), twice_of(2 * y)),
				pull = twice_less(c1, twice_times(ab, twice_of(y)));
	const Twice once = twice_over(twice_of(h), twice_less(twice_of(y), square)),
				both = twice_times(once, twice_of(h));
	Twice before = *f, now = twice_times(*slope, twice_of(h)), value = twice_add(before, now),
		  change = now; /* the terms k and k + 1; F, and F' h */
	double largest = fmax(fabs(before.high), fabs(now.high));
	for (int k = 0; k < 400; k++) {
		const Twice grown =
			twice_times(twice_times(twice_times(twice_sum(k, a), twice_sum(k, b)), both), before);
		const Twice bent =
			twice_times(twice_times(twice_times(twice_of(k + 1.0),
		                                        twice_add(twice_times(twice_of(k), turn), pull)),
		                            once),
		                now);
		const Twice next = twice_over(twice_less(grown, bent), twice_of((k + 2.0) * (k + 1.0)));
		before = now;
		now = next;
		const Twice of_slope = twice_times(twice_of(k + 2.0), now);
		value = twice_add(value, now);
		change = twice_add(change, of_slope);
		largest = fmax(largest, fabs(of_slope.high));
		if (k > 8 && fabs(of_slope.high) < 1e-33 * largest) break;
	}
	*f = value;
	*slope = twice_over(change, twice_of(h));
	return largest;
}

/* 2F1 at 1 - y, 0 < y < 1/2, whatever c - a - b >= 0 is: from y = 1/2, where
 * the power series converges fast, by steps that each halve y. Both solutions
 * stay bounded on the way, so that errors do; the largest term of all steps
 * says how many digits are left. */
static Sum hyp2f1_by_steps(double a, double b, double c, double y) {
	const double up[2] = {a + 1, b + 1}, up_c = c + 1;
	Twice value, slope;
	const long double lost = lost_in_series(2, (double[]){a, b}, 1, &c, 0.5, 0, &value),
					  lost_slope = lost_in_series(2, up, 1, &up_c, 0.5, 0, &slope);
	if (!(isfinite(value.high) && isfinite(slope.high))) return NO_SUM;
	slope = twice_over(twice_times(twice_times(twice_of(-a), twice_of(b)), slope), twice_of(c));
	const Twice c1 = twice_add(twice_less(twice_sum(a, b), twice_of(c)), twice_of(1));
	double at = 0.5, largest = fmax((double)(lost * fabs(value.high)),
	                                (double)(lost_slope * fabs(slope.high)));
	while (at > y) {
		const double to = fmax(0.5 * at, y);
		largest = fmax(largest, taylor_step(a, b, c1, at, to - at, &value, &slope));
		at = to;
	}
	return (Sum){as_long(value), largest / fabs(value.high)};
}

/* At x = 1 - y, 0 <= x < 1. */
static double hyp2f1_inside(double a, double b, double c, double x, double y) {
	gsl_sf_result r;
	const double d = c - a - b;
	if (x < 0.95) {
		const long double below[1] = {c};
		const Sum s = power_series(2, (long double[]){a, b}, 1, below, x);
		if (s.lost < 1e3) return (double)s.value;
		if (d < 0) { /* Euler: the other sum is the tamer one */
			const Sum t = power_series(2, (long double[]){(long double)c - a, (long double)c - b},
			                           1, below, x);
			if (t.lost < 1e3 || (t.lost < s.lost && kept(t))) return (double)(powl(y, d) * t.value);
		}
		if (kept(s)) return (double)s.value;
		const Sum twice = power_series_twice(2, (double[]){a, b}, 1, &c, x);
		if (kept_twice(twice)) return (double)twice.value;
	}
	const Sum other = hyp2f1_from_one(a, b, c, y);
	if (other.lost < 1e3) return (double)other.value;
	const Sum steps = y > 0.5  ? NO_SUM
	                  : d >= 0 ? hyp2f1_by_steps(a, b, c, y)
	                           : hyp2f1_by_steps(c - a, c - b, c, y);
	if (kept_twice(steps)) return (double)(d >= 0 ? steps.value : powl(y, d) * steps.value);
	return moderate(a) && moderate(b) && moderate(c)
	           ? if_bounded(gsl.gsl_sf_hyperg_2F1_e(a, b, c, x, &r), &r)
	           : NAN;
}

double hyp2f1(const double *p) {
	const double a = p[0], b = p[1], c = p[2], x = p[3];
	if (!isfinite(a + b + c + x)) return NAN;
	const bool ends = pole(a) || pole(b);
	if (pole(c) && !(pole(a) && a >= c) && !(pole(b) && b >= c)) return NAN;
	if (x == 0) return 1;
	if (ends) {
		Sum s = power_series(2, (long double[]){a, b}, 1, (long double[]){c}, x);
		if (kept(s)) return (double)s.value;
		s = power_series_twice(2, (double[]){a, b}, 1, &c, x);
		if (kept_twice(s)) return (double)s.value;
		if (fabs(x) >= 1) return NAN;
	}
	if (x > 1) return NAN;
	if (x == 1) {
		if (!(c - a - b > 0)) return c - a - b == 0 || !pole(c - a) ? INFINITY : NAN;
		return (double)gamma_ratio(c, (long double)c - a - b, (long double)c - a,
		                           (long double)c - b);
	}
	if (x > 0) return hyp2f1_inside(a, b, c, x, 1 - x);
	/* Pfaff: from x < 0 to 0 .. 1, by the smaller parameter; 1 - x/(x - 1) is
	 * 1/(1 - x) to its last digit */
	const double y = 1 / (1 - x), z = x / (x - 1), small = fabs(a) < fabs(b) ? a : b,
				 rest = small == a ? b : a;
	return (double)(powl(1 - (long double)x, -small) * hyp2f1_inside(small, c - rest, c, z, y));
}
