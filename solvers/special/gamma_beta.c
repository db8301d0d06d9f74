/* gamma_beta.c - incomplete gamma and beta functions, their densities and
 * inverses.
 *
 * Method: each function is a density times a series or continued fraction with
 * positive terms, in long double. The smaller tail is computed. The larger one
 * is 1 minus it, or a form without that difference where a parameter is small.
 * Sources: DLMF chapter 8; C. Loader, Fast and accurate computation of binomial
 * probabilities (2000) for densities far from 0; N. M. Temme, SIAM J. Math.
 * Anal. 10 (1979) for shapes above SERIES_SHAPE.
 *
 * Needs: special.h. Contract: as solvers/special/special.c.
 */
#include "solvers/special/special.h"
#include <float.h>

enum { MOST_TERMS = 500000 };
/* Above it the series near x = a needs too many terms (about ten times the
 * square root of a). */
static const double SERIES_SHAPE = 1e9;
static const long double HALF_LOG_TWO_PI = 0.918938533204672741780329736405617640L,
						 ROOT_TWO_PI = 2.50662827463100050241576528481104525L;

/* The coefficients of 1/gamma(1 + x), |x| <= 1/2 (DLMF 5.7.1). */
static const long double RECIPROCAL_GAMMA[] = {
	1.0L,
	0.57721566490153286060651209L,
	-0.65587807152025388107701952L,
	-0.042002635034095235529003935L,
	0.1665386113822914895017008L,
	-0.042197734555544336748208301L,
	-0.0096219715278769735621149217L,
	0.0072189432466630995423950103L,
	-0.0011651675918590651121139711L,
	-0.00021524167411495097281572996L,
	0.00012805028238811618615319863L,
	-0.000020134854780788238655689391L,
	-0.0000012504934821426706573453595L,
	0.0000011330272319816958823741296L,
	-0.00000020563384169776071034501541L,
	6.1160951044814158178624987e-9L,
	5.002007644469222930055665e-9L,
	-1.1812745704870201445881266e-9L,
	1.0434267116911005104915403e-10L,
	7.7822634399050712540499373e-12L,
	-3.6968056186422057081878159e-12L,
	5.1003702874544759754790153e-13L,
	-2.0583260535665067832224295e-14L,
	-5.3481225394230179823700173e-15L,
	1.2267786282382607901588938e-15L,
	-1.1812593016974587695137646e-16L,
	1.1866922547516003325797772e-18L,
	1.4123806553180317815558039e-18L,
};
enum { COEFFICIENTS = sizeof RECIPROCAL_GAMMA / sizeof *RECIPROCAL_GAMMA };

void reciprocal_gamma(long double x, long double *even, long double *odd_over_x) {
	const long double s = x * x;
	*even = *odd_over_x = 0;
	for (int k = COEFFICIENTS - 2; k >= 0; k -= 2) {
		*even = *even * s + RECIPROCAL_GAMMA[k];
		*odd_over_x = *odd_over_x * s + RECIPROCAL_GAMMA[k + 1];
	}
}
/* log gamma(1 + a), |a| <= 1/2, with small relative error near 0. */
static long double log_gamma_above_one(long double a) {
	long double sum = 0;
	for (int k = COEFFICIENTS - 1; k > 0; k--) sum = sum * a + RECIPROCAL_GAMMA[k];
	return -log1pl(a * sum);
}

/* log gamma(x) - ((x - 1/2) log x - x + log(2 pi)/2), x > 0: the correction of
 * Stirling's formula (DLMF 5.11.1). */
static long double stirling(long double x) {
	if (x < 10) return lgammal(x) - ((x - 0.5L) * logl(x) - x + HALF_LOG_TWO_PI);
	static const long double c[] = {
		1 / 12.0L,        -1 / 360.0L, 1 / 1260.0L,       -1 / 1680.0L,      1 / 1188.0L,
		-691 / 360360.0L, 1 / 156.0L,  -3617 / 122400.0L, 43867 / 244188.0L, -174611 / 125400.0L};
	const long double s = 1 / (x * x);
	long double sum = 0;
	for (int k = (int)(sizeof c / sizeof *c) - 1; k >= 0; k--) sum = sum * s + c[k];
	return sum / x;
}

/* log(1 + e) - e, without cancellation for small e; `all` is 1 + e. */
static long double log1p_less(long double all, long double e) {
	if (e > 0.5L || e < -0.3L) return logl(all) - e;
	/* log(1 + e) = 2 atanh(e / (2 + e)) */
	const long double r = e / (2 + e), s = r * r;
	long double sum = 0, term = s;
	for (int k = 3; k < 80 && fabsl(term) > 1e-22L * s; k += 2) {
		sum += term / k;
		term *= s;
	}
	return r * (2 * sum - e);
}

/* log B(a, b), a, b > 0. */
static long double log_beta_long(double p, double q) {
	const long double a = p < q ? p : q, b = p < q ? q : p;
	if (b < 10) return lgammal(a) + lgammal(b) - lgammal(a + b);
	const long double corrections = stirling(b) - stirling(a + b);
	if (a < 10)
		return lgammal(a) + corrections + a - a * logl(a + b) + (b - 0.5L) * log1pl(-a / (a + b));
	return HALF_LOG_TWO_PI - 0.5L * logl(b) + stirling(a) + corrections +
	       (a - 0.5L) * logl(a / (a + b)) + b * log1pl(-a / (a + b));
}
double log_beta(const double *x) {
	const double a = fmin(x[0], x[1]), b = fmax(x[0], x[1]);
	if (isnan(x[0] + x[1])) return NAN;
	if (a < 0) { /* log |B|; the sign is lost */
		int sign;
		const long double at_a = lgammal_r(a, &sign), at_b = lgammal_r(b, &sign);
		return (double)(at_a + at_b - lgammal_r((long double)a + b, &sign));
	}
	if (a == 0) return INFINITY;
	if (b == INFINITY) return -INFINITY;
	return (double)log_beta_long(a, b);
}

double beta_of(const double *x) {
	const double a = x[0], b = x[1];
	if (a > 0 && b > 0) {
		if (a == INFINITY || b == INFINITY || a + b > 1000)
			return a + b < INFINITY ? (double)expl(log_beta_long(a, b)) : 0;
		return (double)(tgammal(a) * (tgammal(b) / tgammal((long double)a + b)));
	}
	if (pole(a) || pole(b)) return NAN;
	if (pole(a + b)) return 0;
	int sign_a, sign_b, sign;
	const long double la = lgammal_r(a, &sign_a), lb = lgammal_r(b, &sign_b);
	const long double l = la + lb - lgammal_r((long double)a + b, &sign);
	return (double)(sign_a * sign_b * sign * expl(l));
}

/* ---- the incomplete gamma functions -------------------------------------- */

/* log of x^a e^-x / gamma(a + 1), a > 0 and 0 < x < inf. For large a it uses
 * the distance of x from a, so that no digits are lost. */
static long double log_gamma_weight(double a, double x) {
	if (a < 10) return a * logl(x) - x - lgammal(a + 1.0L);
	return a * log1p_less((long double)x / a, ((long double)x - a) / a) - stirling(a) -
	       0.5L * logl(a) - HALF_LOG_TWO_PI;
}
static long double gamma_weight(double a, double x) { return expl(log_gamma_weight(a, x)); }
double gamma_log_density(const double *p) {
	const double a = p[0], x = p[1];
	if (isnan(a + x) || a <= 0) return NAN;
	if (x < 0 || x == INFINITY || a == INFINITY) return -INFINITY;
	if (x == 0) return a < 1 ? INFINITY : a == 1 ? 0 : -INFINITY;
	if (a < 10) return (double)((a - 1.0L) * logl(x) - x - lgammal(a));
	return (double)(log_gamma_weight(a, x) + logl(a / (long double)x));
}
double gamma_density(const double *p) {
	const double a = p[0], x = p[1];
	if (!(a > 0 && a < INFINITY && x > 0 && x < INFINITY)) return exp(gamma_log_density(p));
	return (double)(gamma_weight(a, x) * a / x);
}

/* The sum of x^k / ((a + 1) ... (a + k)): the lower function divided by the
 * weight (DLMF 8.11.4). */
static long double lower_series(long double a, long double x) {
	long double term = 1, sum = 1;
	for (int k = 1; term > 1e-21L * sum && k < MOST_TERMS; k++) {
		term *= x / (a + k);
		sum += term;
	}
	return sum;
}
/* gamma(a, x) / (x^a e^-x) by the continued fraction DLMF 8.9.2 and Lentz'
 * method. */
static long double upper_fraction(long double a, long double x) {
	long double b = x + 1 - a, f = b, c = b, d = 0;
	if (b == 0) f = c = 1e-4000L;
	for (int k = 1; k < MOST_TERMS; k++) {
		const long double n = -k * (k - a);
		b += 2;
		d = b + n * d;
		c = b + n / c;
		d = 1 / (d == 0 ? 1e-4000L : d);
		f *= c * d;
		if (fabsl(c * d - 1) < 1e-20L) break;
	}
	return 1 / f;
}
/* gamma(a, x), |a| <= 1/2, 0 < x <= 2, without cancellation against gamma(a).
 * It is (gamma(1 + a) - x^a)/a minus x^a times the sum of (-x)^k / ((a + k)
 * k!), k = 1, 2, ... */
static long double upper_near_zero(long double a, long double x) {
	const long double l = logl(x), e = a * l;
	long double sum = 0, term = 1;
	for (int k = 1; k < 60; k++) {
		term *= -x / k;
		sum += term / (a + k);
	}
	const long double slope = a == 0 ? -0.577215664901532860606512L - l
	                                 : (expm1l(log_gamma_above_one(a)) - expm1l(e)) / a;
	return slope - expl(e) * sum;
}

/* Large a: half of erfc and its first correction (DLMF 8.12.3). The next
 * correction is smaller by a factor of 1/a. */
static long double tail_of_large(double a, double x, bool upper) {
	const long double off = ((long double)x - a) / a,
					  half_square = -log1p_less((long double)x / a, off),
					  eta = copysignl(sqrtl(2 * half_square), off);
	const long double c0 = fabsl(off) < 1e-6L ? -1 / 3.0L + eta / 12 : 1 / off - 1 / eta;
	const long double correction = expl(-a * half_square) * c0 / (sqrtl(a) * ROOT_TWO_PI),
					  z = eta * sqrtl(0.5L * a);
	return upper ? 0.5L * erfcl(z) + correction : 0.5L * erfcl(-z) - correction;
}

/* The regularised lower or upper function, a > 0, 0 < x < inf. */
static long double gamma_tail(double a, double x, bool upper) {
	if (a > SERIES_SHAPE && fabs(x - a) < 0.1 * a) return tail_of_large(a, x, upper);
	if (a <= 0.5 && x <= 1 && upper) return upper_near_zero(a, x) * a / tgammal(a + 1.0L);
	if (x < fmax(a, 1)) {
		const long double lower = gamma_weight(a, x) * lower_series(a, x);
		return upper ? 1 - lower : lower;
	}
	const long double above = gamma_weight(a, x) * a * upper_fraction(a, x);
	return upper ? above : 1 - above;
}
static double gamma_tail_of(const double *p, bool upper) {
	const double a = p[0], x = p[1];
	if (isnan(a + x) || a < 0 || x < 0 || (a == INFINITY && x == INFINITY)) return NAN;
	if (x == INFINITY || a == 0) return upper ? 0 : 1;
	if (x == 0 || a == INFINITY) return upper ? 1 : 0;
	return (double)gamma_tail(a, x, upper);
}
double gamma_inc(const double *x) { return gamma_tail_of(x, false); }
double gamma_inc_rest(const double *x) { return gamma_tail_of(x, true); }

/* The integral of t^(a-1) e^-t from 0 to x, a > 0. It may be large where the
 * regularised function underflows. */
double gamma_lower(const double *p) {
	const double a = p[0], x = p[1];
	if (isnan(a + x) || a <= 0 || x < 0 || a == INFINITY) return NAN;
	if (x == 0 || x == INFINITY) return x == 0 ? 0 : tgamma(a);
	if (x < fmax(a, 1)) return (double)(expl(a * logl(x) - x) / a * lower_series(a, x));
	return a > 1700 ? INFINITY : (double)(gamma_tail(a, x, false) * tgammal(a));
}

/* gamma(a, x), also for a <= 0. The continued fraction is used for x >= 1 and
 * for a far below 0. Otherwise the recurrence a gamma(a, x) = gamma(a + 1, x) -
 * x^a e^-x runs down from |a| <= 1/2, where it is stable. */
double gamma_upper(const double *p) {
	const double a = p[0], x = p[1];
	if (isnan(a + x) || x < 0) return NAN;
	if (x == INFINITY) return 0;
	if (x == 0) return a > 0 ? tgamma(a) : INFINITY;
	if (a == -INFINITY) return x < 1 ? INFINITY : 0; /* x^a e^-x / (x - a) */
	if (a > 0.5 || (a > 0 && x > 1)) {
		if (x >= fmax(a, 1)) return (double)(expl(a * logl(x) - x) * upper_fraction(a, x));
		return a > 1700 ? INFINITY : (double)(gamma_tail(a, x, true) * tgammal(a));
	}
	if (x >= 1 || a < -1000) return (double)(expl(a * logl(x) - x) * upper_fraction(a, x));
	const double up = nearbyint(-a);
	const long double near = (long double)a + up, l = logl(x);
	long double g = upper_near_zero(near, x);
	for (double k = 1; k <= up; k++) g = (g - expl((near - k) * l - x)) / (near - k);
	return (double)g;
}

/* ---- the incomplete beta function ---------------------------------------- */

/* x and y = 1 - x, each with full relative accuracy. */
typedef struct ComplementPair {
	long double x, y;
} ComplementPair;
static ComplementPair split_of(double x) { return (ComplementPair){x, 1 - (long double)x}; }
static ComplementPair split_of_odds(double r) {
	return r < 1 ? (ComplementPair){r / (1 + (long double)r), 1 / (1 + (long double)r)}
	             : (ComplementPair){1 / (1 + 1 / (long double)r), 1 / (1 + (long double)r)};
}
static long double log_part(long double x, long double y) {
	return x < 0.5L ? logl(x) : log1pl(-y);
}

/* log of x^a y^b / B(a, b), 0 < x < 1 */
static long double log_beta_weight(double a, double b, ComplementPair at) {
	if (a < 10 || b < 10)
		return a * log_part(at.x, at.y) + b * log_part(at.y, at.x) - log_beta_long(a, b);
	/* (x - a/n) n/a and (y - b/n) n/b are the distances of x and y from the
	 * mean; the smaller of x and y gives the difference */
	const long double n = (long double)a + b, off = at.x < at.y ? at.x * n - a : b - at.y * n;
	const long double l = a * log1p_less(at.x * n / a, off / a) +
	                      b * log1p_less(at.y * n / b, -off / b) + stirling(n) - stirling(a) -
	                      stirling(b);
	return l + 0.5L * logl(a / n * b) - HALF_LOG_TWO_PI;
}
static long double beta_weight(double a, double b, ComplementPair at) {
	return expl(log_beta_weight(a, b, at));
}
/* I_x(a, b) / weight for x below the mean: the even part of the continued
 * fraction DLMF 8.17.22, by Lentz' method. y and the distance from the mean
 * appear explicitly (Didonato and Morris, ACM Trans. Math. Softw. 18, 1992,
 * algorithm 708). NaN when it does not converge. */
static long double beta_fraction(long double a, long double b, long double x, long double y) {
	const long double off = x < y ? a - (a + b) * x : (a + b) * y - b;
	long double f = a / (a + 1) * (off + 1), c = f, d = 0;
	for (int n = 1; n < MOST_TERMS; n++) {
		const long double s = a + 2 * n - 1;
		const long double top = (a + n - 1) / s * ((a + b + n - 1) / s) * (n * x) * ((b - n) * x);
		const long double below =
			n + n * (b - n) * x / s + (a + n) / (s + 2) * (off + 1 + n * (1 + y));
		d = below + top * d;
		c = below + top / c;
		d = 1 / (d == 0 ? 1e-4000L : d);
		f *= c * d;
		if (fabsl(c * d - 1) < 1e-20L) return 1 / f;
	}
	return NAN;
}
/* log gamma(q + p) - log gamma(q), with small relative error for small p. Large
 * q uses Stirling's formula term by term. */
static long double log_gamma_step(long double q, long double p) {
	long double sum = 0;
	for (; q < 30; q++) sum -= log1pl(p / q);
	const long double l = log1pl(p / q);
	static const long double c[] = {1 / 12.0L,   -1 / 360.0L,      1 / 1260.0L, -1 / 1680.0L,
	                                1 / 1188.0L, -691 / 360360.0L, 1 / 156.0L};
	long double power = 1 / q;
	for (int k = 0; k < (int)(sizeof c / sizeof *c); k++, power /= q * q)
		sum += c[k] * power * expm1l(-(2 * k + 1) * l);
	return sum + (q - 0.5L) * l + p * logl(q + p) - p;
}
/* I_x(a, b) for small a, where it is nearly 1, or its complement. Power series
 * (DLMF 8.17.7) with a separate first term, x (b + 1) <= 2. */
static long double beta_of_small(long double a, long double b, long double x, bool upper) {
	const long double first = a * logl(x) - log_gamma_above_one(a) + log_gamma_step(b, a);
	long double sum = 0, term = 1;
	for (int k = 1; k < 2000; k++) {
		term *= (k - b) * x / k;
		sum += term / (a + k);
		if (fabsl(term) < 1e-22L * fabsl(sum)) break;
	}
	const long double rest = expl(first) * a * sum;
	return upper ? -expm1l(first) - rest : expl(first) + rest;
}
static long double beta_tail(double a, double b, ComplementPair at, bool upper) {
	if (a < 0.1 && at.x < 0.9L && at.x * (b + 1) <= 2) return beta_of_small(a, b, at.x, upper);
	if (b < 0.1 && at.y < 0.9L && at.y * (a + 1) <= 2) return beta_of_small(b, a, at.y, !upper);
	const bool left = at.x <= a / ((long double)a + b);
	const long double y = beta_weight(a, b, at) * (left ? beta_fraction(a, b, at.x, at.y)
	                                                    : beta_fraction(b, a, at.y, at.x));
	return left != upper ? y : 1 - y;
}
static bool shapes(double a, double b) { return a > 0 && b > 0 && a < INFINITY && b < INFINITY; }

/* With one shape infinite all mass is at one end: at 1 if that shape is a. */
static double beta_at_ends(double a, double b, bool above_zero, bool at_one, bool upper) {
	if (!(a > 0 && b > 0) || (a == INFINITY && b == INFINITY)) return NAN;
	return (b == INFINITY ? above_zero : at_one) != upper;
}

static double beta_tail_of(const double *p, bool upper) {
	const double a = p[0], b = p[1], x = p[2];
	if (!(x >= 0 && x <= 1)) return NAN;
	return !shapes(a, b)      ? beta_at_ends(a, b, x > 0, x == 1, upper)
	       : x == 0 || x == 1 ? (x == 1) != upper
	                          : (double)beta_tail(a, b, split_of(x), upper);
}
double beta_inc(const double *x) { return beta_tail_of(x, false); }
double beta_inc_rest(const double *x) { return beta_tail_of(x, true); }
/* log of the density's limit x^(a-1) at an end. */
static double log_at_end(double a, double b) {
	return a < 1 ? INFINITY : a == 1 ? log(b) : -INFINITY;
}
double beta_log_density(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	if (!(a > 0 && b > 0) || isnan(x)) return NAN;
	if (!shapes(a, b) || x < 0 || x > 1) return -INFINITY;
	if (x == 0 || x == 1) return x == 0 ? log_at_end(a, b) : log_at_end(b, a);
	const ComplementPair at = split_of(x);
	return (double)(log_beta_weight(a, b, at) - log_part(at.x, at.y) - log_part(at.y, at.x));
}
double beta_density(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	if (!shapes(a, b) || !(x > 0 && x < 1)) return exp(beta_log_density(p));
	const ComplementPair at = split_of(x);
	return (double)(beta_weight(a, b, at) / (at.x * at.y));
}

/* In terms of the odds r, from 0 to infinity. The density is r^(a-1) (1 +
 * r)^-(a+b) / B(a, b). */
static double odds_tail_of(const double *p, bool upper) {
	const double a = p[0], b = p[1], r = p[2];
	if (!(r >= 0)) return NAN;
	if (!shapes(a, b)) return beta_at_ends(a, b, r > 0, r == INFINITY, upper);
	return r == 0 || r == INFINITY ? (r > 0) != upper
	                               : (double)beta_tail(a, b, split_of_odds(r), upper);
}
double odds_inc(const double *x) { return odds_tail_of(x, false); }
double odds_inc_rest(const double *x) { return odds_tail_of(x, true); }
double odds_log_density(const double *p) {
	const double a = p[0], b = p[1], r = p[2];
	if (!(a > 0 && b > 0) || isnan(r)) return NAN;
	if (!shapes(a, b) || r < 0 || r == INFINITY) return -INFINITY;
	return r == 0 ? log_at_end(a, b) : (double)(log_beta_weight(a, b, split_of_odds(r)) - logl(r));
}
double odds_density(const double *p) {
	const double a = p[0], b = p[1], r = p[2];
	if (!shapes(a, b) || !(r > 0 && r < INFINITY)) return exp(odds_log_density(p));
	return (double)(beta_weight(a, b, split_of_odds(r)) / r);
}

/* log probability of k successes in n trials with success probability p */
double binomial_log(const double *x) {
	const double n = x[0], k = x[1], p = x[2];
	if (isnan(n + k + p) || !(k >= 0 && k <= n && p >= 0 && p <= 1))
		return isnan(n + k + p) ? NAN : -INFINITY;
	if (k == 0) return p == 1 && n > 0 ? -INFINITY : (double)(n * log1pl(-(long double)p));
	if (k == n) return (double)(n * logl(p));
	if (p == 0 || p == 1) return -INFINITY;
	const ComplementPair at = split_of(p);
	return (double)(log_beta_weight(k + 1, n - k + 1, at) - log_part(at.x, at.y) -
	                log_part(at.y, at.x) - logl(n + 1.0L));
}

/* ---- inverses ------------------------------------------------------------ */

typedef double Function(const double *x);

/* Solves lower(x) = p for x = e^u, where `lower` increases from 0 to 1 on 0 ..
 * e^most. Bracketed Newton iteration on the logarithm of the smaller tail,
 * which is concave. at[last] is x. */
static double quantile(Function *lower, Function *upper, Function *density, double *at, int last,
                       double p, double u, double most) {
	const double tail = p < 0.5 ? p : 1 - p, wanted = log(tail), sign = p < 0.5 ? 1 : -1;
	double from = -746, to = most;
	for (int k = 0; k < 200; k++) {
		if (!(u > from && u < to)) u = 0.5 * (from + to);
		at[last] = exp(u);
		const double part = (p < 0.5 ? lower : upper)(at), off = sign * (log(part) - wanted);
		if (isnan(part)) return NAN;
		if (off > 0) to = u;
		else from = u;
		const double step = off * part / (density(at) * at[last]);
		if (fabs(step) <= 1e-9 * fmin(1, fabs(u)) || to - from <= 1e-16 * fabs(u))
			break; /* further steps are below rounding */
		u = isfinite(step) ? u - step : NAN;
	}
	/* polish the last digits on x itself */
	double x = at[last];
	for (int k = 0; k < 2; k++) {
		const double part = (p < 0.5 ? lower : upper)(at),
					 step = sign * (part - tail) / density(at);
		if (!(fabs(step) < 1e-3 * x && x - step <= exp(most))) break;
		at[last] = x -= step;
	}
	return x;
}

/* Starts from the Wilson-Hilferty approximation, or from the first term of the
 * series. */
double gamma_inc_inverse(const double *q) {
	const double a = q[0], p = q[1];
	if (!(a > 0 && a < INFINITY) || !(p >= 0 && p <= 1)) return NAN;
	if (p == 0) return 0;
	if (p == 1) return INFINITY;
	const double twice = 2 * p,
				 c = 1 - 1 / (9 * a) - erfc_inverse(&twice) * M_SQRT2 / (3 * sqrt(a));
	double at[2] = {a, 0};
	return quantile(gamma_inc, gamma_inc_rest, gamma_density, at, 1, p,
	                a > 1 && c > 0.1 ? log(a) + 3 * log(c) : (log(p) + lgamma(a + 1)) / a, 709);
}

static bool levels(double a, double b, double p) { return shapes(a, b) && p >= 0 && p <= 1; }
double beta_inc_inverse(const double *q) {
	const double a = q[0], b = q[1], p = q[2];
	if (!levels(a, b, p)) return NAN;
	if (p == 0 || p == 1) return p;
	double at[3] = {a, b, 0};
	return quantile(beta_inc, beta_inc_rest, beta_density, at, 2, p, log(a / (a + b)), 0);
}
double odds_inc_inverse(const double *q) {
	const double a = q[0], b = q[1], p = q[2];
	if (!levels(a, b, p)) return NAN;
	if (p == 0 || p == 1) return p == 0 ? 0 : INFINITY;
	double at[3] = {a, b, 0};
	return quantile(odds_inc, odds_inc_rest, odds_density, at, 2, p, log(a / b), 709);
}
