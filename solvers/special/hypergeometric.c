/* hypergeometric.c - the functions 0F1, 1F1, U and 2F1 of real parameters.
 *
 * Method: methods are tried in order of cost. A series is accepted only if its
 * terms show that it retains 13 digits. If no method does, the result is NaN.
 *
 * Needs: special.h, gsl.h.
 *
 * Contract: as solvers/special/special.c. The given parameters are taken as
 * exact.
 */
#include "solvers/special/gsl.h"
#include "solvers/special/special.h"
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

/* A series' sum, and the ratio of its largest term to the sum. NaN when it does
 * not converge. */
typedef struct SeriesSum {
	long double value, lost;
} SeriesSum;
static const long double TINY_L = 1e-4800L;
static const SeriesSum NO_SUM = {NAN, INFINITY};

static SeriesSum power_series(uint32_t na, const long double *a, uint32_t nb, const long double *b,
                              double x) {
	long double term = 1, sum = 1, largest = 1;
	for (int k = 0; k < 4000; k++) {
		for (uint32_t i = 0; i < na; i++) term *= a[i] + k;
		for (uint32_t i = 0; i < nb; i++) term /= b[i] + k;
		term *= x / (k + 1.0L);
		if (term == 0) return (SeriesSum){sum, largest / fabsl(sum)};
		sum += term;
		if (fabsl(term) > largest) largest = fabsl(term);
		if (!(largest < 1e4000L)) break;
		if (fabsl(term) < 1e-20L * fabsl(sum)) return (SeriesSum){sum, largest / fabsl(sum)};
	}
	return NO_SUM;
}
static bool kept(SeriesSum s) { return s.lost < 1e-13L / LDBL_EPSILON; }

/* Double-double numbers (Dekker 1971; Knuth, The Art of Computer Programming
 * II, 4.2.2). */
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

/* The power series in double-double precision, for sums whose terms cancel. The
 * parameters and x are taken as exact, so that a + k is not rounded. Returns
 * the ratio of the largest term to the sum. */
static long double lost_in_series(uint32_t na, const Twice *a, uint32_t nb, const Twice *b,
                                  double x, double least, Twice *sum) {
	Twice term = {1, 0};
	double largest = 1;
	*sum = term;
	for (int k = 0; k < 12000; k++) {
		const Twice turn = {k, 0};
		for (uint32_t i = 0; i < na; i++) term = twice_times(term, twice_add(a[i], turn));
		for (uint32_t i = 0; i < nb; i++) term = twice_over(term, twice_add(b[i], turn));
		term = twice_over(twice_times(term, twice_of(x)), twice_of(k + 1.0));
		*sum = twice_add(*sum, term);
		largest = fmax(largest, fabs(term.high));
		if (!(largest < 1e290)) break;
		if (fabs(term.high) < 1e-33 * largest || fabs(term.high) < least * fabs(sum->high)) {
			return largest / fabs(sum->high);
		}
	}
	*sum = twice_of(NAN);
	return INFINITY;
}
static SeriesSum power_series_twice(uint32_t na, const Twice *a, uint32_t nb, const Twice *b,
                                    double x) {
	Twice sum;
	const long double lost = lost_in_series(na, a, nb, b, x, 1e-18, &sum);
	return (SeriesSum){as_long(sum), lost};
}
static bool kept_twice(SeriesSum s) { return s.lost < 1e18L; }

/* GSL steps through large parameters one by one. */
static bool moderate(double a) { return fabs(a) <= 2000; }
/* GSL's value if its own error bound, which is pessimistic, guarantees six
 * digits. */
static double if_bounded(int status, const gsl_sf_result *r) {
	const double value = gsl_number(status, r);
	return r->err <= 1e-6 * fabs(value) || !isfinite(value) ? value : NAN;
}

/* ---- 0F1 and 1F1 --------------------------------------------------------- */

double hyp0f1(const double *p) {
	const double b = p[0], x = p[1];
	if (!isfinite(b + x) || pole(b)) return NAN;
	const SeriesSum s = power_series(0, NULL, 1, (long double[]){b}, x);
	if (s.lost < 1e3) return (double)s.value;
	const double nu = b - 1, root = sqrt(fabs(x)), at[2] = {nu, 2 * root};
	long double l;
	const int sign = sign_gamma(b, &l);
	const long double bessel = x > 0    ? bessel_i(at)
	                           : nu < 0 ? bessel_j(at)
	                                    : bessel_j_right(nu, 2 * sqrtl(-(long double)x));
	return (double)(sign * expl(l - nu * 0.5L * logl(fabsl(x))) * bessel);
}

/* The asymptotic sum of (p)_s (q)_s / s! z^-s up to its smallest term, which
 * bounds its error. */
static SeriesSum asymptotic(long double p, long double q, long double z) {
	long double term = 1, sum = 1, last = 1, largest = 1;
	for (int s = 0; s < 4000; s++) {
		term *= (p + s) * (q + s) / ((s + 1) * z);
		if (term == 0) return (SeriesSum){sum, largest / fabsl(sum)};
		if (fabsl(term) > fabsl(last) && s > fabsl(p) + fabsl(q)) break;
		sum += term;
		last = term;
		largest = fmaxl(largest, fabsl(term));
		if (fabsl(term) < 1e-20L * fabsl(sum)) return (SeriesSum){sum, largest / fabsl(sum)};
	}
	return NO_SUM;
}
/* 1F1 for large |x| (DLMF 13.7.2), where the part with the other exponential is
 * below rounding. */
static SeriesSum hyp1f1_far(long double a, long double b, double x) {
	const long double z = fabs(x), p = x > 0 ? a : b - a,
					  q = x > 0 ? b - a : a; /* gamma(p) divides the leading part */
	if (z < 30 || pole((double)p)) return NO_SUM;
	const SeriesSum s = x > 0 ? asymptotic(1 - a, b - a, z) : asymptotic(a, a - b + 1, z);
	long double lb, lp, lq = 0;
	const int sign = sign_gamma(b, &lb) * sign_gamma(p, &lp);
	const bool other = !pole((double)q);
	if (other) sign_gamma(q, &lq);
	if (!kept(s)) return NO_SUM;
	const long double lead = lb - lp - q * logl(z) + logl(fabsl(s.value));
	/* the other part is gamma(b)/gamma(q) exp(-z) z^-p */
	if (other && lb - lq - z - p * logl(z) > lead - 46) return NO_SUM;
	return (SeriesSum){sign * expl(lb - lp - q * logl(z) + (x > 0 ? z : 0)) * s.value, s.lost};
}

double hyp1f1(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	gsl_sf_result r;
	if (!isfinite(a + b + x)) return NAN;
	if (pole(b) && !(pole(a) && a >= b)) return NAN;
	const bool by_kummer =
		x < 0 && !pole(a); /* exp(x) 1F1(b - a, b, -x), whose terms eventually have one sign */
	const SeriesSum s =
		by_kummer ? power_series(1, (long double[]){(long double)b - a}, 1, (long double[]){b}, -x)
				  : power_series(1, (long double[]){a}, 1, (long double[]){b}, x);
	if (kept(s)) return (double)(by_kummer ? s.value * expl(x) : s.value);
	const SeriesSum far = hyp1f1_far(a, b, x);
	if (kept(far)) return (double)far.value;
	if (by_kummer) {
		const Twice less = twice_sum(b, -a);
		const SeriesSum turned = power_series_twice(1, &less, 1, (Twice[]){{b, 0}}, -x);
		if (kept_twice(turned)) return (double)(turned.value * expl(x));
	}
	const SeriesSum twice = power_series_twice(1, (Twice[]){{a, 0}}, 1, (Twice[]){{b, 0}}, x);
	if (kept_twice(twice)) return (double)twice.value;
	return moderate(a) && moderate(b) ? if_bounded(gsl.gsl_sf_hyperg_1F1_e(a, b, x, &r), &r) : NAN;
}

/* U from two functions 1F1 (DLMF 13.2.42), and their size relative to U; b is
 * not an integer. */
static SeriesSum hyp_u_near(long double a, long double b, double x) {
	if (b == roundl(b)) return NO_SUM;
	const SeriesSum s = power_series(1, (long double[]){a}, 1, (long double[]){b}, x);
	const SeriesSum t = power_series(1, (long double[]){a - b + 1}, 1, (long double[]){2 - b}, x);
	const long double scale = PI_L / sin_pi((double)b);
	const long double u = scale * gamma_ratio(1, 1, a - b + 1, b) * s.value;
	const long double v = -scale * gamma_ratio(1, 1, a, 2 - b) * powl(x, 1 - b) * t.value;
	return (SeriesSum){u + v, (fabsl(u) * s.lost + fabsl(v) * t.lost) / fabsl(u + v)};
}
/* U by the recurrence in a, whose minimal solution it is (N. M. Temme, Numer.
 * Math. 41, 1983). The recurrence runs down from a large a + k. The sum of
 * (a)_k (a - b + 1)_k / k! U(a + k, b, x) = x^-a gives the scale. Both factors
 * must be positive, so it is applied at a + m and then runs down to a. The
 * terms fall like exp(-2 sqrt(k x)) k^(2a-b). NaN where the sum needs too many
 * of them. */
static long double hyp_u_by_recurrence(long double a, long double b, long double x) {
	const long double least = fminl(a, a - b + 1), m = least > 0.25L ? 0 : ceill(0.5L - least);
	const long double from = a + m, other = from - b + 1;
	const long double powers = 0.5L * (from + other),
					  root = 25 + powers * logl(1000 + powers * powers);
	if (root * root > 20000 * x) return NAN;
	long double after = 0, w = TINY_L, sum = w;
	for (int k = (int)(20 + root * root / x); k > 0; k--) {
		const long double scale = k / ((from + k - 1) * (other + k - 1));
		const long double before = scale * ((2 * (from + k) + x - b) * w - (k + 1) * after);
		after = w;
		w = before;
		sum += w;
	}
	const long double unit = powl(x, -from) / sum;
	long double u = w * unit, above = after * unit / (from * other);
	for (long double at = from; at > a + 0.5L; at--) {
		const long double below = (2 * at + x - b) * u - at * (at - b + 1) * above;
		above = u;
		u = below;
	}
	return u;
}
double hyp_u(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	gsl_sf_result r;
	if (!isfinite(a + b + x)) return NAN;
	if (x > 0) {
		const SeriesSum far = asymptotic(a, (long double)a - b + 1, -(long double)x);
		if (kept(far)) return (double)(powl(x, -a) * far.value); /* DLMF 13.7.3 */
		const SeriesSum near = hyp_u_near(a, b, x);
		if (near.lost < 1e3L || (kept(near) && x < 1)) return (double)near.value;
		const bool few = moderate(a) && moderate(b);
		const double recurred = few ? (double)hyp_u_by_recurrence(a, b, x) : NAN;
		if (!isnan(recurred)) return recurred;
	}
	return moderate(a) && moderate(b) ? gsl_number(gsl.gsl_sf_hyperg_U_e(a, b, x, &r), &r) : NAN;
}

/* ---- 2F1 ----------------------------------------------------------------- */

/* The exact parameters; c - a and similar differences would lose digits near
 * integers. */
typedef struct Parameters {
	Twice a, b, c;
} Parameters;
static Twice excess(Parameters p) { return twice_less(twice_less(p.c, p.a), p.b); }
/* The parameters after Euler's transformation. */
static Parameters by_euler(Parameters p) {
	return (Parameters){twice_less(p.c, p.a), twice_less(p.c, p.b), p.c};
}

static SeriesSum series_of(Parameters p, double x) {
	return power_series(2, (long double[]){as_long(p.a), as_long(p.b)}, 1,
	                    (long double[]){as_long(p.c)}, x);
}
static SeriesSum series_of_twice(Parameters p, double x) {
	return power_series_twice(2, (Twice[]){p.a, p.b}, 1, &p.c, x);
}

/* From x to y = 1 - x (DLMF 15.8.4), where c - a - b is not nearly an integer:
 * two products, and the size of their terms relative to the sum. */
static SeriesSum hyp2f1_from_one(Parameters p, double y) {
	const Twice less = excess(p);
	const long double a = as_long(p.a), b = as_long(p.b), c = as_long(p.c), d = as_long(less);
	if (fabsl(d - roundl(d)) < 1e-2L) return NO_SUM;
	const Parameters other = by_euler(p);
	const SeriesSum s = series_of_twice((Parameters){p.a, p.b, twice_less(twice_of(1), less)}, y);
	const SeriesSum t =
		series_of_twice((Parameters){other.a, other.b, twice_add(twice_of(1), less)}, y);
	const long double u = gamma_ratio(c, d, c - a, c - b) * s.value;
	const long double v = powl(y, d) * gamma_ratio(c, -d, a, b) * t.value;
	return (SeriesSum){u + v, (fabsl(u) * s.lost + fabsl(v) * t.lost) / fabsl(u + v)};
}

/* One Taylor step of the differential equation y (1 - y) F'' + (c' - (a + b +
 * 1) y) F' = a b F, c' = a + b - c + 1. It advances F and F' from y to y + h,
 * and returns the largest term. */
static double taylor_step(Parameters p, double y, double h, Twice *f, Twice *slope) {
	const Twice ab = twice_add(twice_add(p.a, p.b), twice_of(1)), c1 = twice_less(ab, p.c),
				square = twice_times(twice_of(y), twice_of(y));
	const Twice turn = twice_less(twice_of(1), twice_of(2 * y)),
				pull = twice_less(c1, twice_times(ab, twice_of(y)));
	const Twice once = twice_over(twice_of(h), twice_less(twice_of(y), square)),
				both = twice_times(once, twice_of(h));
	Twice before = *f, now = twice_times(*slope, twice_of(h)), value = twice_add(before, now),
		  change = now; /* terms k and k + 1; F, and F' h */
	double largest = fmax(fabs(before.high), fabs(now.high));
	for (int k = 0; k < 400; k++) {
		const Twice grown = twice_times(
			twice_times(twice_times(twice_add(p.a, twice_of(k)), twice_add(p.b, twice_of(k))),
		                both),
			before);
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

/* 2F1 at 1 - y, 0 < y < 1/2, for any c - a - b. It starts from y = 1/2, where
 * the power series converges fast, and each step halves y. An error grows like
 * the second solution, y^(c-a-b). The largest contribution of all steps bounds
 * the digits lost. */
static SeriesSum hyp2f1_by_steps(Parameters p, double y) {
	const Twice one = twice_of(1), up[2] = {twice_add(p.a, one), twice_add(p.b, one)},
				up_c = twice_add(p.c, one);
	Twice value, slope;
	const long double lost = lost_in_series(2, (Twice[]){p.a, p.b}, 1, &p.c, 0.5, 0, &value);
	const long double lost_slope = lost_in_series(2, up, 1, &up_c, 0.5, 0, &slope);
	if (!(isfinite(value.high) && isfinite(slope.high))) return NO_SUM;
	slope = twice_over(twice_times(twice_times(p.a, p.b), slope), twice_less(twice_of(0), p.c));
	const long double growth = fminl(as_long(excess(p)), 0);
	long double at_stake = fmaxl(lost * fabs(value.high), lost_slope * fabs(slope.high));
	for (double at = 0.5, to; at > y; at = to) {
		to = fmax(0.5 * at, y);
		const double largest = taylor_step(p, at, to - at, &value, &slope);
		at_stake = fmaxl(at_stake * powl(to / at, growth), largest);
	}
	return (SeriesSum){as_long(value), at_stake / fabs(value.high)};
}

/* At x = 1 - y, 0 <= x < 1. */
static long double hyp2f1_inside(Parameters p, double x, double y) {
	gsl_sf_result r;
	const Parameters other = by_euler(p);
	const long double d = as_long(excess(p));
	if (x < 0.95) {
		const SeriesSum s = series_of(p, x);
		if (s.lost < 1e3L) return s.value;
		if (d < 0) { /* after Euler's transformation the sum cancels less */
			const SeriesSum t = series_of(other, x);
			if (t.lost < 1e3L || (t.lost < s.lost && kept(t))) return powl(y, d) * t.value;
		}
		if (kept(s)) return s.value;
		const SeriesSum twice = series_of_twice(p, x);
		if (kept_twice(twice)) return twice.value;
	}
	const SeriesSum at_one = hyp2f1_from_one(p, y);
	if (at_one.lost < 1e3L) return at_one.value;
	if (y < 0.5) {
		SeriesSum steps = hyp2f1_by_steps(p, y);
		if (kept_twice(steps)) return steps.value;
		if (d < 0) steps = hyp2f1_by_steps(other, y);
		if (kept_twice(steps)) return powl(y, d) * steps.value;
	}
	if (at_one.lost < 1e5L) return at_one.value;
	const double a = p.a.high, b = p.b.high, c = p.c.high;
	if (!moderate(a) || !moderate(b) || !moderate(c)) return NAN;
	return if_bounded(gsl.gsl_sf_hyperg_2F1_e(a, b, c, x, &r), &r);
}

double hyp2f1(const double *at) {
	const double a = at[0], b = at[1], c = at[2], x = at[3];
	if (!isfinite(a + b + c + x)) return NAN;
	const Parameters p = {twice_of(a), twice_of(b), twice_of(c)};
	const bool ends = pole(a) || pole(b);
	if (pole(c) && !(pole(a) && a >= c) && !(pole(b) && b >= c)) return NAN;
	if (x == 0) return 1;
	if (ends) {
		SeriesSum s = series_of(p, x);
		if (kept(s)) return (double)s.value;
		s = series_of_twice(p, x);
		if (kept_twice(s)) return (double)s.value;
		if (fabs(x) >= 1) return NAN;
	}
	if (x > 1) return NAN;
	if (x == 1) {
		if (!(c - a - b > 0)) return c - a - b == 0 || !pole(c - a) ? INFINITY : NAN;
		return (double)gamma_ratio(c, as_long(excess(p)), (long double)c - a, (long double)c - b);
	}
	if (x > 0) return (double)hyp2f1_inside(p, x, 1 - x);
	/* Pfaff's transformation from x < 0 to 0 .. 1, by the smaller parameter; 1
	 * - x/(x - 1) is 1/(1 - x) to full accuracy */
	const Twice small = fabs(a) < fabs(b) ? p.a : p.b, rest = fabs(a) < fabs(b) ? p.b : p.a;
	const Parameters turned = {small, twice_less(p.c, rest), p.c};
	return (double)(powl(1 - (long double)x, -small.high) *
	                hyp2f1_inside(turned, x / (x - 1), 1 / (1 - x)));
}
