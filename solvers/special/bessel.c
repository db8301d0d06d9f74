/* bessel.c - Bessel functions of real order.
 *
 * Method: Temme's series and Steed's continued fractions (N. M. Temme, J.
 * Comput. Phys. 19, 1975 and 21, 1976; A. R. Barnett, Comput. Phys. Comm. 21,
 * 1981; I. J. Thompson and A. R. Barnett, ibid. 47, 1987). All orders nu are
 * computed in long double by the same method, so results are smooth where nu is
 * nearly an integer.
 *
 * Needs: special.h, gsl.h.
 *
 * Contract: as solvers/special/special.c; |order| at most 100,000.
 */
#include "solvers/special/gsl.h"
#include "solvers/special/special.h"
#include <float.h>

/* Limit on continued-fraction steps; the first fraction needs about x of them.
 * Relative contributions below EPS are neglected. */
enum { MOST_STEPS = 60000 };
static const double MOST_X = 30000;
#define EPS 2e-19L
static const long double HUGE_L = 1e4000L, TINY_L = 1e-4800L;

/* Values of the functions of the first and of the second kind. */
typedef struct Kinds {
	long double first, second;
} Kinds;

/* sin(t)/t and sinh(t)/t at and near 0 */
static long double sine_ratio(long double t) { return fabsl(t) < 1e-10L ? 1 : sinl(t) / t; }
static long double sinh_ratio(long double t) { return fabsl(t) < 1e-10L ? 1 : sinhl(t) / t; }

/* ---- expansions for large x ---------------------------------------------- */

/* Hankel's expansions (DLMF 10.17, 10.40) are accurate to all digits here.
 * Their terms decrease from the first, or from one at most e times larger. They
 * grow again only after they are below exp(-2x). */
static bool far_out(double nu, long double x) { return x > 25 && 4 * x > nu * nu; }

/* J and Y; the phase is applied to sin(x) and cos(x). */
static Kinds far_jy(double nu, long double x) {
	const long double mu = 4.0L * nu * nu;
	long double p = 0, q = 0, term = 1;
	for (int k = 0; k < 120 && fabsl(term) > 1e-22L; k++) {
		*(k % 2 ? &q : &p) += k % 4 < 2 ? term : -term;
		term *= (mu - (2 * k + 1.0L) * (2 * k + 1.0L)) / ((k + 1) * 8.0L * x);
	}
	const long double turn = fmodl(0.5L * nu + 0.25L, 2) * PI_L, c = cosl(turn), s = sinl(turn),
					  cx = cosl(x), sx = sinl(x);
	const long double cosine = cx * c + sx * s, sine = sx * c - cx * s,
					  scale = sqrtl(2 / (PI_L * x));
	return (Kinds){scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)};
}

/* exp(-x) I and exp(x) K */
static Kinds far_ik(double nu, long double x) {
	const long double mu = 4.0L * nu * nu;
	long double i = 0, k = 0, term = 1;
	for (int n = 0; n < 120 && fabsl(term) > 1e-22L; n++) {
		k += term;
		i += n % 2 ? -term : term;
		term *= (mu - (2 * n + 1.0L) * (2 * n + 1.0L)) / ((n + 1) * 8.0L * x);
	}
	return (Kinds){i / sqrtl(2 * PI_L * x), k * sqrtl(PI_L / (2 * x))};
}

/* ---- orders near 0 ------------------------------------------------------- */

/* Temme's series for the second kind at the orders mu and mu + 1, |mu| <= 1/2,
 * 0 < x <= 2. `sign` is -1 for Y and 1 for K. */
static Kinds temme(long double mu, long double x, int sign) {
	long double even, odd_part, ff, p, q;
	reciprocal_gamma(mu, &even, &odd_part);
	const long double half = 0.5L * x, l = -logl(half), e = mu * l,
					  ratio = 1 / sine_ratio(PI_L * mu), up = expl(e);
	const long double above = even + mu * odd_part,
					  below = even - mu * odd_part; /* 1/gamma(1 + mu), 1/gamma(1 - mu) */
	const long double scale = sign < 0 ? 2 / PI_L : 1;
	ff = scale * ratio * (-odd_part * coshl(e) + even * sinh_ratio(e) * l);
	p = 0.5L * scale * up / above;
	q = 0.5L * scale / (up * below);
	const long double turn = 0.5L * PI_L * mu,
					  r = sign < 0 ? PI_L * turn * sine_ratio(turn) * sine_ratio(turn) : 0;
	long double c = 1, sum = ff + r * q, next = p;
	for (int k = 1; k < 200; k++) {
		ff = (k * ff + p + q) / (k * (long double)k - mu * mu);
		c *= sign * half * half / k;
		p /= k - mu;
		q /= k + mu;
		const long double part = c * (ff + r * q);
		sum += part;
		next += c * (p - k * (ff + (sign < 0 ? r * q : 0)));
		if (fabsl(part) < EPS * fabsl(sum) && fabsl(c * p) < EPS * fabsl(next)) break;
	}
	return (Kinds){sign * sum, sign * next / half};
}

/* ---- J and Y ------------------------------------------------------------- */

/* J_{nu+1}/J_nu (`sign` -1) or I_{nu+1}/I_nu (`sign` 1) by the continued
 * fraction DLMF 10.10.1 or 10.33.1, from its convergents. Two successive
 * convergents differ by 1 over the product of their denominators. The sign of
 * the last denominator is that of J_nu. */
static long double ratio_of_orders(double nu, long double x, int sign, int *sign_of_value) {
	const long double step = 2 / x;
	long double b = ((long double)nu + 1) * step, top = 1, before = 0, below = b, below_before = 1;
	for (int k = 0; k < MOST_STEPS; k++) {
		if (EPS * fabsl(below_before * top) > 1) break;
		b += step;
		const long double t = b * top + sign * before, d = b * below + sign * below_before;
		before = top;
		top = t;
		below_before = below;
		below = d;
		if (fabsl(below) > HUGE_L) { /* at this size convergents no longer differ */
			if (fabsl(top) > 1) break;
			before /= HUGE_L;
			top /= HUGE_L;
			below_before /= HUGE_L;
			below /= HUGE_L;
		}
	}
	*sign_of_value = below < 0 ? -1 : 1;
	return top / below;
}

/* (J' + iY')/(J + iY) = p + iq of order mu by the second fraction (DLMF 10.55)
 * and Steed's method, x >= 2. */
static void slope_of_hankel(long double mu, long double x, long double *p, long double *q) {
	long double br = 2 * x, bi = 2, over = 1 / (br * br + bi * bi), dr = br * over, di = -bi * over;
	long double a = 0.25L - mu * mu, part_r = a * dr, part_i = a * di, sum_r = part_r,
				sum_i = part_i;
	for (int k = 2; k < MOST_STEPS; k++) {
		a = (k - 0.5L) * (k - 0.5L) - mu * mu;
		bi += 2;
		const long double nr = br + a * dr, ni = bi + a * di;
		over = 1 / (nr * nr + ni * ni);
		dr = nr * over;
		di = -ni * over;
		const long double tr = br * dr - bi * di - 1, ti = br * di + bi * dr;
		const long double r = tr * part_r - ti * part_i;
		part_i = tr * part_i + ti * part_r;
		part_r = r;
		sum_r += part_r;
		sum_i += part_i;
		if (fabsl(part_r) + fabsl(part_i) <= EPS * x) break;
	}
	*p = -0.5L / x - sum_i / x;
	*q = 1 + sum_r / x;
}

/* nu >= 0, 0 < x <= MOST_X. Downward recurrence takes J from order nu to an
 * order mu near 0, or at the turning point. There the Wronskian gives its
 * scale; upward recurrence gives Y. */
static Kinds steed_jy(double nu, long double x) {
	const int n = x < 2 ? (int)(nu + 0.5) : nu > x ? (int)(nu - x + 1.5) : 0;
	const long double mu = (long double)nu - n, over = 1 / x;
	int sign;
	const long double ratio = ratio_of_orders(nu, x, -1, &sign);
	long double top = sign * TINY_L, j = top, above = ratio * top; /* orders m and m + 1 */
	for (int k = 0; k < n; k++) {
		const long double below = 2 * ((long double)nu - k) * over * j - above;
		above = j;
		j = below;
		if (fabsl(j) > HUGE_L) {
			j /= HUGE_L;
			above /= HUGE_L;
			top /= HUGE_L;
		}
	}
	if (j == 0) j = TINY_L;
	long double at_mu, y, y1;
	if (x < 2) {
		const Kinds t = temme(mu, x, -1);
		y = t.first;
		y1 = t.second;
		at_mu = 2 * over / PI_L / (above / j * y - y1); /* DLMF 10.5.2 */
	} else {
		long double p, q;
		slope_of_hankel(mu, x, &p, &q);
		const long double gamma = (p - (mu * over - above / j)) / q;
		at_mu = copysignl(sqrtl(2 * over / PI_L / (gamma * gamma * q + q)), j);
		y = at_mu * gamma;
		y1 = mu * over * y - (at_mu * gamma * p + at_mu * q);
	}
	for (int k = 1; k <= n; k++) {
		const long double next = 2 * (mu + k) * over * y1 - y;
		y = y1;
		y1 = next;
		if (!isfinite(y1)) { /* the requested order is this one or a higher one */
			y = k < n ? y1 : y;
			break;
		}
	}
	return (Kinds){top * (at_mu / j), y};
}

/* ---- I and K ------------------------------------------------------------- */

/* exp(x) K of the orders mu and mu + 1 for x >= 2, by the continued fraction of
 * K_{mu+1}/K_mu and its normalising sum (Temme 1975). */
static Kinds steed_k(long double mu, long double x) {
	const long double first = 0.25L - mu * mu;
	long double b = 2 * (1 + x), d = 1 / b, part = d, f = d, a = -first, c = first, q = first,
				before = 0, now = 1, sum = 1 + q * part;
	for (int k = 2; k < MOST_STEPS; k++) {
		a -= 2 * (k - 1);
		c = -a * c / k;
		const long double next = (before - b * now) / a;
		before = now;
		now = next;
		q += c * next;
		b += 2;
		d = 1 / (b + a * d);
		part *= b * d - 1;
		f += part;
		sum += q * part;
		if (fabsl(q * part) < EPS * fabsl(sum) && fabsl(part) < EPS * fabsl(f)) break;
	}
	const long double k0 = sqrtl(PI_L / (2 * x)) / sum;
	return (Kinds){k0, k0 * (mu + x + 0.5L - first * f) / x};
}

/* exp(x) K of the order mu near 0 and of mu + 1. */
static Kinds k_near_zero(long double mu, long double x) {
	if (x >= 2) return steed_k(mu, x);
	const Kinds k = temme(mu, x, 1);
	const long double up = expl(x);
	return (Kinds){k.first * up, k.second * up};
}
/* exp(x) K of order mu + n by upward recurrence from mu and mu + 1. */
static long double k_raised(Kinds k, long double mu, int n, long double x) {
	for (int m = 1; m <= n; m++) {
		const long double next = 2 * (mu + m) / x * k.second + k.first;
		k.first = k.second;
		k.second = next;
		if (!isfinite(next)) return m < n ? next : k.first;
	}
	return k.first;
}
/* exp(x) K, nu >= 0, 0 < x <= MOST_X. */
static long double steed_k_of(double nu, long double x) {
	const int n = (int)(nu + 0.5);
	const long double mu = (long double)nu - n;
	return k_raised(k_near_zero(mu, x), mu, n, x);
}
/* exp(-x) I and exp(x) K for the same range. */
static Kinds steed_ik(double nu, long double x) {
	const int n = (int)(nu + 0.5);
	const long double mu = (long double)nu - n, over = 1 / x;
	int sign;
	long double top = TINY_L, i = top, above = ratio_of_orders(nu, x, 1, &sign) * top;
	for (int k = 0; k < n; k++) { /* orders m and m + 1 */
		const long double below = 2 * ((long double)nu - k) * over * i + above;
		above = i;
		i = below;
		if (i > HUGE_L) {
			i /= HUGE_L;
			above /= HUGE_L;
			top /= HUGE_L;
		}
	}
	const Kinds k = k_near_zero(mu, x);
	const long double at_mu = over / (above / i * k.first + k.second); /* DLMF 10.28.2 */
	return (Kinds){top * (at_mu / i), k_raised(k, mu, n, x)};
}

/* ---- the functions ------------------------------------------------------- */

/* Whether Steed's method applies. GSL's Olver expansions handle larger orders
 * and arguments. */
static bool by_steed(double nu, long double x) { return x <= MOST_X && nu <= 1e5; }

/* nu >= 0, x > 0 */
static Kinds jy(double nu, long double x) {
	gsl_sf_result j, y;
	if (far_out(nu, x)) return far_jy(nu, x);
	if (by_steed(nu, x)) return steed_jy(nu, x);
	const double first = gsl_number(gsl.gsl_sf_bessel_Jnu_e(nu, (double)x, &j), &j);
	return (Kinds){first, gsl_number(gsl.gsl_sf_bessel_Ynu_e(nu, (double)x, &y), &y)};
}
static Kinds ik(double nu, long double x) {
	gsl_sf_result i, k;
	if (far_out(nu, x)) return far_ik(nu, x);
	if (by_steed(nu, x)) return steed_ik(nu, x);
	const double first = gsl_number(gsl.gsl_sf_bessel_Inu_scaled_e(nu, (double)x, &i), &i);
	return (Kinds){first, gsl_number(gsl.gsl_sf_bessel_Knu_scaled_e(nu, (double)x, &k), &k)};
}

long double bessel_j_right(double nu, long double x) { return jy(nu, x).first; }

/* exp(x) K alone, nu >= 0, 0 < x < inf. Integer orders recur upwards from GSL's
 * orders 0 and 1. */
static long double k_right(double nu, double x) {
	gsl_sf_result r0, r1;
	if (far_out(nu, x)) return far_ik(nu, x).second;
	if (!by_steed(nu, x)) return ik(nu, x).second;
	if (!whole(nu)) return steed_k_of(nu, x);
	if (nu <= 1) return gsl_number(gsl.gsl_sf_bessel_Kn_scaled_e((int)nu, x, &r0), &r0);
	const Kinds k = {gsl_number(gsl.gsl_sf_bessel_Kn_scaled_e(0, x, &r0), &r0),
	                 gsl_number(gsl.gsl_sf_bessel_Kn_scaled_e(1, x, &r1), &r1)};
	return k_raised(k, 0, (int)nu, x);
}

double bessel_y(const double *p) {
	const double nu = p[0], x = p[1], m = fabs(nu);
	if (isnan(nu + x) || x < 0 || m > 1e5) return NAN;
	if (x == 0)
		return nu >= 0 || whole(nu) ? (nu < 0 && odd(nu) ? INFINITY : -INFINITY)
		       : cos_pi(nu) > 0     ? -INFINITY
		                            : INFINITY;
	if (isinf(x)) return 0;
	if (whole(nu) && m <= 1000 && !far_out(m, x)) return (double)ynl((int)nu, x);
	const Kinds v = jy(m, x);
	if (nu >= 0) return (double)v.second;
	const double s = sin_pi(m), c = cos_pi(m);
	return (double)((s == 0 ? 0 : s * v.first) + (c == 0 ? 0 : c * v.second));
}

double bessel_j(const double *p) {
	const double nu = p[0], x = fabs(p[1]), m = fabs(nu);
	gsl_sf_result r;
	if (isnan(nu + x) || m > 1e5 || (p[1] < 0 && !whole(nu))) return NAN;
	if (isinf(x)) return 0;
	const bool minus = whole(nu) && odd(nu) &&
	                   (p[1] < 0) != (nu < 0); /* J_n(-x) and J_{-n}(x) are (-1)^n J_n(x) */
	double j;
	if (x == 0) {
		if (m == 0 || whole(nu)) return m == 0 ? 1 : 0;
		return nu > 0 ? 0 : sin_pi(m) * INFINITY; /* the sign of 1/gamma(1 + nu) */
	}
	if (m <= 1 && whole(m) && !far_out(m, x))
		j = gsl_number(gsl.gsl_sf_bessel_Jn_e((int)m, x, &r), &r);
	else {
		const Kinds v = jy(m, x);
		const double s = sin_pi(m), c = cos_pi(m);
		j = nu >= 0 || whole(nu)
		        ? (double)v.first
		        : (double)((c == 0 ? 0 : c * v.first) - (s == 0 ? 0 : s * v.second));
	}
	return minus ? -j : j;
}

/* exp(x) K */
double bessel_k_scaled(const double *p) {
	const double nu = fabs(p[0]), x = p[1];
	if (isnan(nu + x) || x < 0 || nu > 1e5) return NAN;
	return x == 0 ? INFINITY : isinf(x) ? 0 : (double)k_right(nu, x);
}
double bessel_k(const double *p) {
	const double nu = fabs(p[0]), x = p[1];
	if (isnan(nu + x) || x < 0 || nu > 1e5) return NAN;
	return x == 0 ? INFINITY : isinf(x) ? 0 : (double)(k_right(nu, x) * expl(-(long double)x));
}
/* exp(-|x|) I, and I itself */
static double of_first_kind(double nu, double at, bool scaled) {
	const double x = fabs(at), m = fabs(nu);
	if (isnan(nu + at) || m > 1e5 || (at < 0 && !whole(nu))) return NAN;
	if (x == 0) {
		if (m == 0 || whole(nu) || nu > 0) return m == 0;
		return sin_pi(m) * INFINITY; /* the sign of 1/gamma(1 + nu) */
	}
	if (isinf(x)) return scaled ? 0 : at < 0 && odd(nu) ? -INFINITY : INFINITY;
	if (m <= 1 && whole(m) && x > 0.1 && !far_out(m, x)) { /* GSL omits exp(-x) near 0 */
		gsl_sf_result r;
		const double i = gsl_number(gsl.gsl_sf_bessel_In_scaled_e((int)m, at, &r), &r),
					 half = scaled ? 1 : exp(0.5 * x);
		return i * half * half;
	}
	const Kinds v = ik(m, x);
	const long double up = scaled ? 1 : expl(x), down = expl(-(long double)x);
	const long double i =
		v.first * up +
		(nu < 0 && !whole(nu) ? 2 / PI_L * sin_pi(m) * v.second * down * (scaled ? down : 1) : 0);
	return (double)(at < 0 && odd(nu) ? -i : i);
}
double bessel_i_scaled(const double *p) { return of_first_kind(p[0], p[1], true); }
double bessel_i(const double *p) { return of_first_kind(p[0], p[1], false); }

/* spherical functions: sqrt(pi/(2x)) times order l + 1/2, l integer */

static bool spherical(const double *p) { return order(p[0]) && p[0] >= 0 && !isnan(p[1]); }

double spherical_j(const double *p) {
	gsl_sf_result r;
	const double l = p[0], x = fabs(p[1]);
	if (!spherical(p)) return NAN;
	const double y = l <= 2 || x == 0 || isinf(x)
	                     ? gsl_number(gsl.gsl_sf_bessel_jl_e((int)l, x, &r), &r)
	                     : (double)(jy(l + 0.5, x).first * sqrtl(PI_L / (2 * x)));
	return p[1] < 0 && odd(l) ? -y : y;
}
double spherical_y(const double *p) {
	const double l = p[0], x = fabs(p[1]);
	if (!spherical(p)) return NAN;
	if (x == 0) return -INFINITY;
	const double y =
		isinf(x) ? 0 : (double)(jy(l + 0.5, x).second * sqrtl(PI_L / (2 * (long double)x)));
	return p[1] < 0 && !odd(l) ? -y : y;
}
double spherical_i(const double *p) {
	const double l = p[0], x = fabs(p[1]);
	if (!spherical(p)) return NAN;
	if (x == 0) return l == 0;
	const double y =
		isinf(x) ? INFINITY
				 : (double)(ik(l + 0.5, x).first * expl(x) * sqrtl(PI_L / (2 * (long double)x)));
	return p[1] < 0 && odd(l) ? -y : y;
}
double spherical_k(const double *p) {
	const double x = p[1];
	if (!spherical(p) || x < 0) return NAN;
	return x == 0     ? INFINITY
	       : isinf(x) ? 0
	                  : (double)(k_right(p[0] + 0.5, x) * expl(-(long double)x) *
	                             sqrtl(PI_L / (2 * (long double)x)));
}

/* ---- Airy functions for x <= -2 by orders 1/3, 2/3 (DLMF 9.6(ii)) ---- */

double airy_left(double x, int which) {
	const long double z = -(long double)x, root = sqrtl(z);
	const Kinds v = jy(which < 2 ? 1.0 / 3 : 2.0 / 3, 2 / 3.0L * z * root);
	const long double third = 1 / sqrtl(3);
	switch (which) {
	case 0: return (double)(0.5L * root * (v.first - third * v.second));
	case 1: return (double)(-0.5L * root * (third * v.first + v.second));
	case 2: return (double)(0.5L * z * (v.first + third * v.second));
	default: return (double)(0.5L * z * (third * v.first - v.second));
	}
}
