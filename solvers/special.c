/* special.c - the table of special functions: which there are, and what each does where the library that computes it does not go.
 *
 * Needs: elementwise.h, gsl.h. Guarantees: every function is defined for every number: where it has no real value it is NaN, at a pole an infinity or NaN,
 * and NaN for NaN. Definitions are those of the NIST Handbook (dlmf.nist.gov), elliptic integrals by the parameter m = k^2. Orders that must be whole are
 * whole numbers in a double, and like those of Bessel functions up to 100,000 in size; the polynomials are 0 for negative orders, as their recurrences
 * want it.
 */
#include "solvers/elementwise.h"
#include "solvers/gsl.h"
#include <complex.h>
#include <float.h>
#include <math.h>

static const double ROOT_TWO_PI = 2.506628274631000502, HALF_LOG_TWO_PI = 0.91893853320467274178;

static bool whole(double x) { return x == nearbyint(x) && fabs(x) < 1e15; }
/* Of a degree or order for which something is done again and again; beyond, the function is NaN. */
static bool order(double x) { return whole(x) && fabs(x) <= 1e5; }

/* cos(pi x) and sin(pi x), exact where they are 0 and 1. */
static double cos_pi(double x) {
	x = fabs(fmod(x, 2));
	if (x > 1) x = 2 - x;
	return x > 0.5 ? -sin(M_PI * (x - 0.5)) : x > 0.25 ? sin(M_PI * (0.5 - x)) : cos(M_PI * x);
}
static double sin_pi(double x) {
	x = fmod(x, 2);
	if (x > 1) x -= 2;
	else if (x < -1) x += 2;
	return x > 0.5 ? sin(M_PI * (1 - x)) : x < -0.5 ? -sin(M_PI * (1 + x)) : sin(M_PI * x);
}

/* A function of GSL of one and of two numbers. */
#define BY_GSL1(name, f) \
	static double name(const double *x) { gsl_sf_result r; return isnan(x[0]) ? NAN : gsl_number(gsl.f(x[0], &r), &r); }
#define BY_GSL2(name, f) \
	static double name(const double *x) { gsl_sf_result r; return isnan(x[0] + x[1]) ? NAN : gsl_number(gsl.f(x[0], x[1], &r), &r); }

/* ---- the gamma function and its family ----------------------------------------------------------------------------------------------- */

static double gamma_of(const double *x) { return x[0] == nearbyint(x[0]) && x[0] <= 0 ? NAN : tgamma(x[0]); }
static double log_gamma(const double *x) {
	int sign;
	return lgamma_r(x[0], &sign);
}

static double digamma(const double *x) {
	gsl_sf_result r;
	if (x[0] == INFINITY) return INFINITY;
	if (!isfinite(x[0]) || (whole(x[0]) && x[0] <= 0)) return NAN;
	if (x[0] > -2) return gsl_number(gsl.gsl_sf_psi_e(x[0], &r), &r);
	return gsl_number(gsl.gsl_sf_psi_e(1 - x[0], &r), &r) - M_PI * cos_pi(x[0]) / sin_pi(x[0]); /* DLMF 5.5.4, with an exact remainder */
}

/* psi_n(x), moved to the right of 0 by its recurrence. */
static double polygamma(const double *x) {
	double n = x[0], at = x[1], sum = 0;
	gsl_sf_result r;
	if (n == 0) return digamma(x + 1);
	if (!order(n) || n < 0 || isnan(at) || (at <= 0 && whole(at))) return NAN;
	if (at == INFINITY) return 0;
	if (n == 1) return gsl_number(gsl.gsl_sf_psi_1_e(at, &r), &r);
	if (at < -1000) return NAN;
	const double scale = tgamma(n + 1), sign = fmod(n, 2) == 0 ? -1 : 1;
	for (; at < 0; at += 1) sum += sign * scale * pow(at, -n - 1);
	return sum + gsl_number(gsl.gsl_sf_psi_n_e((int)n, at, &r), &r);
}

/* log Γ(x) - ((x - 1/2) log x - x + log(2π)/2), x > 0: the correction of Stirling's formula. */
static double stirling(double x) {
	if (x < 10) return lgamma(x) - ((x - 0.5) * log(x) - x + HALF_LOG_TWO_PI);
	const double s = 1 / (x * x);
	return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s * (1.0 / 1188 - s * (691.0 / 360360 - s * (1.0 / 156))))))) / x;
}

/* log(1 + e) - e, without cancellation for small e; `whole` is 1 + e. */
static double log1p_less(double whole, double e) {
	if (fabs(e) > 0.3) return log(whole) - e;
	/* log(1 + e) = 2 atanh(e / (2 + e)) */
	const double r = e / (2 + e), s = r * r;
	double sum = 0, term = s;
	for (int k = 3; k < 60 && fabs(term) > 1e-18; k += 2) {
		sum += term / k;
		term *= s;
	}
	return r * (2 * sum - e);
}

/* log B(a, b); Γ(a)/Γ(a + b) for large a + b by the difference of the corrections. */
static double log_beta(const double *x) {
	const double a = x[0] < x[1] ? x[0] : x[1], b = x[0] < x[1] ? x[1] : x[0];
	if (isnan(a + b)) return NAN;
	if (a < 0 || b < 10) { /* also where a sign is lost */
		int sign;
		return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
	}
	if (a == 0) return INFINITY;
	if (b == INFINITY) return -INFINITY;
	const double corrections = stirling(b) - stirling(a + b);
	if (a < 10) return lgamma(a) + corrections + a - a * log(a + b) + (b - 0.5) * log1p(-a / (a + b));
	return HALF_LOG_TWO_PI - 0.5 * log(b) + stirling(a) + corrections + (a - 0.5) * log(a / (a + b)) + b * log1p(-a / (a + b));
}

static double beta_of(const double *x) {
	const double a = x[0], b = x[1];
	if (a > 0 && b > 0) return a + b < 100 ? tgamma(a) * (tgamma(b) / tgamma(a + b)) : exp(log_beta(x));
	if ((a <= 0 && whole(a)) || (b <= 0 && whole(b))) return NAN;
	if (a + b <= 0 && whole(a + b)) return 0;
	int sa, sb, sab;
	const double l = lgamma_r(a, &sa) + lgamma_r(b, &sb) - lgamma_r(a + b, &sab);
	return sa * sb * sab * exp(l);
}

/* x^(a-1) e^-x / Γ(a), the density of the gamma distribution, by what it is away from its peak (Loader, Fast and accurate computation of binomial
 * probabilities, 2000), so that large a costs no digits. */
static double gamma_density(const double *p) {
	const double a = p[0], x = p[1];
	if (isnan(a + x) || a <= 0) return NAN;
	if (x < 0 || x == INFINITY) return 0;
	if (x == 0) return a < 1 ? INFINITY : a == 1 ? 1 : 0;
	if (a < 10) return exp((a - 1) * log(x) - x) / tgamma(a);
	/* log of x^a e^-x / Γ(a + 1) sqrt(2 π a) is a (log(1 + e) - e) - stirling, e = (x - a)/a */
	return sqrt(a) / (x * ROOT_TWO_PI) * exp(a * log1p_less(x / a, (x - a) / a) - stirling(a));
}

/* x^(a-1) (1-x)^(b-1) / B(a, b) */
static double beta_density(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	if (isnan(a + b + x) || a <= 0 || b <= 0) return NAN;
	if (x < 0 || x > 1) return 0;
	if (x == 0) return a < 1 ? INFINITY : a == 1 ? b : 0;
	if (x == 1) return b < 1 ? INFINITY : b == 1 ? a : 0;
	if (a < 10 || b < 10) return exp((a - 1) * log(x) + (b - 1) * log1p(-x) - log_beta(p));
	const double n = a + b, far = (x * n - a) / a, other = ((1 - x) * n - b) / b; /* 1 + far = x n/a, 1 + other = (1 - x) n/b */
	const double l = a * log1p_less(x * n / a, far) + b * log1p_less((1 - x) * n / b, other) + stirling(n) - stirling(a) - stirling(b);
	return sqrt(a * b / n) / ROOT_TWO_PI / (x * (1 - x)) * exp(l);
}

/* P(a, x), or Q(a, x), of a large a, where GSL gives some eight digits near x = a: the density times the series of the lower (DLMF 8.11.4) or the continued
 * fraction of the upper function (8.9.2), whichever side x is on. Both take some sqrt(a) terms there. */
static bool large_shape(double a) { return a > 100 && a < 1e8; }
static double gamma_inc_large(const double *p, bool upper) {
	const double a = p[0], x = p[1], density = gamma_density(p);
	if (x < a) {
		double term = 1, sum = 1;
		for (double k = 1; term > 1e-17 * sum && k < 1e6; k++) {
			term *= x / (a + k);
			sum += term;
		}
		const double y = density * x / a * sum;
		return upper ? 1 - y : y;
	}
	/* Lentz' method: f = b0 - 1(1 - a)/(b1 - 2(2 - a)/(b2 - ... */
	double b = x + 1 - a, f = b, c = b, d = 0;
	for (double k = 1; k < 1e6; k++) {
		const double n = -k * (k - a);
		b += 2;
		d = 1 / (b + n * d);
		c = b + n / c;
		f *= c * d;
		if (fabs(c * d - 1) < 1e-16) break;
	}
	const double y = density * x / f;
	return upper ? y : 1 - y;
}
static double gamma_inc(const double *x) {
	gsl_sf_result r;
	if (isnan(x[0] + x[1]) || x[0] < 0 || x[1] < 0) return NAN;
	if (x[1] == INFINITY || x[0] == 0) return 1;
	return large_shape(x[0]) ? gamma_inc_large(x, false) : gsl_number(gsl.gsl_sf_gamma_inc_P_e(x[0], x[1], &r), &r);
}
static double gamma_inc_rest(const double *x) {
	gsl_sf_result r;
	if (isnan(x[0] + x[1]) || x[0] < 0 || x[1] < 0) return NAN;
	if (x[1] == INFINITY || x[0] == 0) return 0;
	return large_shape(x[0]) ? gamma_inc_large(x, true) : gsl_number(gsl.gsl_sf_gamma_inc_Q_e(x[0], x[1], &r), &r);
}
/* Γ(a, x) of a <= 0, which GSL gives to some seven digits only: E_n where a is whole, the continued fraction (DLMF 8.9.2) right of 1, else a Γ(a, x) =
 * Γ(a + 1, x) - x^a exp(-x) down from an a above 0. */
static double gamma_upper(const double *p) {
	double a = p[0];
	const double x = p[1];
	gsl_sf_result r;
	if (isnan(a + x) || x < 0) return NAN;
	if (a > 0) return gsl_number(gsl.gsl_sf_gamma_inc_e(a, x, &r), &r);
	if (x == 0) return INFINITY;
	if (whole(a) && a > -100) return pow(x, a) * (a == 0 ? gsl_number(gsl.gsl_sf_expint_E1_e(x, &r), &r) : gsl_number(gsl.gsl_sf_expint_En_e((int)(1 - a), x, &r), &r));
	if (x >= 1 || a <= -100) {
		double f = x + 401 - a;
		for (int m = 200; m > 0; m--) f = x + 2 * m - 1 - a - m * (m - a) / f;
		return pow(x, a) * exp(-x) / f;
	}
	const double up = ceil(-a);
	double g = gsl_number(gsl.gsl_sf_gamma_inc_e(a + up, x, &r), &r);
	for (double k = up - 1; k >= 0; k--) g = (g - pow(x, a + k) * exp(-x)) / (a + k);
	return g;
}

/* I_x(a, b) of large parameters, for which GSL takes too few terms: the density times the continued fraction (DLMF 8.17.22), x left of the mean. */
static double beta_inc_large(double a, double b, double x) {
	double f = 1, c = 1, d = 0;
	for (double m = 0; m < 1e6; m++) {
		double n = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / (1 + n * d);
		c = 1 + n / c;
		f *= c * d;
		n = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2));
		d = 1 / (1 + n * d);
		c = 1 + n / c;
		f *= c * d;
		if (fabs(c * d - 1) < 1e-16) break;
	}
	const double at[3] = {a, b, x};
	return beta_density(at) * x * (1 - x) / (a * f);
}
/* The lower tail, or the upper one, in full accuracy. */
static double beta_tail(const double *p, bool upper) {
	const double a = p[0], b = p[1], x = p[2];
	gsl_sf_result r;
	if (isnan(a + b + x) || a <= 0 || b <= 0 || x < 0 || x > 1) return NAN;
	if (x == 0 || x == 1) return (x == 1) != upper;
	if (a + b > 200 && a + b < 1e9) {
		const bool left = x <= (a + 1) / (a + b + 2);
		const double y = left ? beta_inc_large(a, b, x) : beta_inc_large(b, a, 1 - x);
		return left != upper ? y : 1 - y;
	}
	if (!upper) return gsl_number(gsl.gsl_sf_beta_inc_e(a, b, x, &r), &r);
	return x < 0.01 ? 1 - gsl_number(gsl.gsl_sf_beta_inc_e(a, b, x, &r), &r) : gsl_number(gsl.gsl_sf_beta_inc_e(b, a, 1 - x, &r), &r);
}
static double beta_inc(const double *x) { return beta_tail(x, false); }
static double beta_inc_rest(const double *x) { return beta_tail(x, true); }

/* x = e^u with lower(x) = p, where `lower` rises from 0 to 1 on 0 .. e^most: Newton's method on the logarithm of the smaller tail, which is concave, inside a
 * bracket. at[last] is x. */
static double quantile(double (*lower)(const double *), double (*upper)(const double *), double (*density)(const double *), double *at, int last, double p, double u, double most) {
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
		if (fabs(step) <= 1e-9 * fmin(1, fabs(u)) || to - from <= 1e-16 * fabs(u)) break; /* the steps left are below rounding */
		u = isfinite(step) ? u - step : NAN;
	}
	/* the last digits, on x itself */
	double x = at[last];
	for (int k = 0; k < 2; k++) {
		const double part = (p < 0.5 ? lower : upper)(at), step = sign * (part - tail) / density(at);
		if (!(fabs(step) < 1e-3 * x && x - step <= exp(most))) break;
		at[last] = x -= step;
	}
	return x;
}

/* x with P(a, x) = p; begins with the approximation of Wilson and Hilferty, or what the first term of the series gives */
static double erfc_inverse(const double *x);
static double gamma_inc_inverse(const double *q) {
	const double a = q[0], p = q[1];
	if (!(a > 0 && a < INFINITY) || !(p >= 0 && p <= 1)) return NAN;
	if (p == 0) return 0;
	if (p == 1) return INFINITY;
	const double twice = 2 * p, c = 1 - 1 / (9 * a) - erfc_inverse(&twice) * M_SQRT2 / (3 * sqrt(a));
	double at[2] = {a, 0};
	return quantile(gamma_inc, gamma_inc_rest, gamma_density, at, 1, p, a > 1 && c > 0.1 ? log(a) + 3 * log(c) : (log(p) + lgamma(a + 1)) / a, 709);
}

static double beta_inc_inverse(const double *q) {
	const double a = q[0], b = q[1], p = q[2];
	if (!(a > 0 && b > 0 && a + b < INFINITY) || !(p >= 0 && p <= 1)) return NAN;
	if (p == 0 || p == 1) return p;
	double at[3] = {a, b, 0};
	return quantile(beta_inc, beta_inc_rest, beta_density, at, 2, p, log(a / (a + b)), 0);
}

/* n (n-1) ... (n-k+1) / k! */
static double binomial(const double *x) {
	double n = x[0], k = x[1];
	if (isnan(n + k)) return NAN;
	if (whole(k)) {
		if (k < 0) return 0;
		if (whole(n) && n >= 0 && k > n - k) k = n - k;
		if (k < 0) return 0;
		if (k <= 300) {
			double product = 1;
			for (double i = 1; i <= k; i++) {
				product = product * (n - k + i) / i;
				if (whole(n) && fabs(product) < 4e15) product = nearbyint(product);
			}
			return product;
		}
	}
	const double at[2] = {n - k + 1, k + 1};
	return 1 / ((n + 1) * beta_of(at));
}

static double factorial(const double *x) {
	if (!whole(x[0]) || x[0] < 0 || x[0] > 25) return gamma_of((double[]){x[0] + 1});
	double product = 1;
	for (double i = 2; i <= x[0]; i++) product *= i;
	return product;
}

/* ---- the error function and its family ------------------------------------------------------------------------------------------------ */

static double erfc_of(const double *x) { return erfc(x[0]); }

/* exp(x^2) with the rounding error of x^2 made good. */
static double exp_square(double x) {
	const double s = x * x;
	return isinf(s) ? s : exp(s) * (1 + fma(x, x, -s));
}

static double erfcx(const double *p) {
	const double x = p[0];
	if (x < 8) return exp_square(x) * erfc(x);
	/* continued fraction, from its far end */
	double f = x;
	for (int k = 40; k > 0; k--) f = x + 0.5 * k / f;
	return 1 / (f * 1.7724538509055160273);
}

/* y with erfc(y) = q, q <= 1/2: Newton's method on log erfc, whose slope changes slowly. */
static double erfc_inverse_small(double q) {
	if (q == 0) return INFINITY;
	const double l = -log(q);
	double y = l > 1 ? sqrt(l - 0.5 * log(l) - 0.2) : 0.5;
	for (int k = 0; k < 60; k++) {
		const double x[1] = {y}, scaled = erfcx(x);
		const double step = (log(scaled) - y * y + l) * scaled * 0.88622692545275801365; /* sqrt(pi)/2 */
		y += step;
		if (fabs(step) <= 2e-16 * fabs(y)) break;
	}
	/* the last digits from the value itself */
	const double x[1] = {y}, value = erfc(y);
	return value > 0 ? y + (value - q) / q * erfcx(x) * 0.88622692545275801365 : y;
}
static double erf_inverse_middle(double p) { /* |p| < 1/2 */
	double y = 0.88622692545275801365 * p;
	for (int k = 0; k < 60; k++) {
		const double step = (erf(y) - p) * 0.88622692545275801365 * exp(y * y);
		y -= step;
		if (fabs(step) <= 1e-16 * fabs(y)) break;
	}
	return y;
}
static double erf_inverse(const double *x) {
	const double p = x[0];
	if (!(fabs(p) <= 1)) return NAN;
	return fabs(p) < 0.5 ? erf_inverse_middle(p) : copysign(erfc_inverse_small(1 - fabs(p)), p);
}
static double erfc_inverse(const double *x) {
	const double q = x[0];
	if (!(q >= 0 && q <= 2)) return NAN;
	return q <= 0.5 ? erfc_inverse_small(q) : q < 1.5 ? erf_inverse_middle(1 - q) : -erfc_inverse_small(2 - q);
}

/* Fresnel's integrals: the series near 0, else the continued fraction of the complementary error function (Press et al., Numerical Recipes, 6.9). */
static void fresnel(double x, double *c, double *s) {
	const double a = fabs(x);
	if (isnan(x) || a > 1e8) {
		*c = *s = isnan(x) ? NAN : copysign(0.5, x); /* to rounding */
		return;
	}
	if (a < 1.5) {
		const double t = M_PI_2 * a * a;
		double term = a, cs = 0, sn = 0;
		for (int k = 0; k < 60; k++) {
			const double part = term / (2 * k + 1);
			switch (k & 3) {
			case 0: cs += part; break;
			case 1: sn += part; break;
			case 2: cs -= part; break;
			default: sn -= part;
			}
			if (part < 1e-18 * a * (a < 1e-3 ? t * t : 1)) break;
			term *= t / (k + 1);
		}
		*c = copysign(cs, x);
		*s = copysign(sn, x);
		return;
	}
	/* t = pi a^2/2 exactly enough: its whole turns are taken out of a^2 */
	const double square = a * a, low = fma(a, a, -square), turns = 4 * floor(square / 4), angle = M_PI_2 * (square - turns + low), pix2 = M_PI * square;
	double _Complex b = 1 - I * pix2, cc = 1e300, d = 1 / b, h = d;
	double n = -1;
	for (int k = 2; k < 200; k++) {
		n += 2;
		const double at = -n * (n + 1);
		b += 4;
		d = 1 / (at * d + b);
		cc = b + at / cc;
		const double _Complex del = cc * d;
		h *= del;
		if (fabs(creal(del) - 1) + fabs(cimag(del)) < 1e-16) break;
	}
	h *= a - I * a;
	const double _Complex cs = (0.5 + 0.5 * I) * (1 - (cos(angle) + I * sin(angle)) * h);
	*c = copysign(creal(cs), x);
	*s = copysign(cimag(cs), x);
}
static double fresnel_c(const double *x) { double c, s; fresnel(x[0], &c, &s); return c; }
static double fresnel_s(const double *x) { double c, s; fresnel(x[0], &c, &s); return s; }

BY_GSL1(dawson, gsl_sf_dawson_e)
static double exp_int_i(const double *x) {
	gsl_sf_result r;
	return isnan(x[0]) ? NAN : x[0] > 720 ? INFINITY : gsl_number(gsl.gsl_sf_expint_Ei_e(x[0], &r), &r); /* of too large a number GSL tells the sign wrong */
}
BY_GSL1(sin_int, gsl_sf_Si_e)
/* For large x by the asymptotic series of the auxiliary functions (DLMF 6.12.3, 6.12.4), where GSL loses digits of sin and cos. */
static double cos_int(const double *p) {
	const double x = p[0], s = 1 / (x * x);
	gsl_sf_result r;
	if (!(x > 60)) return isnan(x) ? NAN : gsl_number(gsl.gsl_sf_Ci_e(x, &r), &r);
	if (isinf(x)) return 0;
	double f = 0, g = 0, term = 1;
	for (int k = 1; fabs(term) > 1e-18; k += 2) {
		f += term;
		g += k * term;
		term *= -(k * (k + 1.0)) * s;
	}
	return (f * sin(x) - g / x * cos(x)) / x;
}
BY_GSL1(sinh_int, gsl_sf_Shi_e)
BY_GSL1(cosh_int, gsl_sf_Chi_e)

/* E_n(x) of x > 0, and of all x for n = 1; of orders below 0 by n E_{n+1} = exp(-x) - x E_n. */
static double exp_int(const double *p) {
	const double n = p[0], x = p[1];
	gsl_sf_result r;
	if (!order(n) || isnan(x)) return NAN;
	if (n == 1) return x == 0 ? INFINITY : x < -720 ? -INFINITY : gsl_number(gsl.gsl_sf_expint_E1_e(x, &r), &r);
	if (x < 0) return NAN;
	if (x == 0) return n > 1 ? 1 / (n - 1) : INFINITY;
	if (n > 1) return gsl_number(gsl.gsl_sf_expint_En_e((int)n, x, &r), &r);
	double e = exp(-x) / x;
	for (double k = -1; k >= n; k--) e = (exp(-x) - k * e) / x;
	return e;
}

/* ---- Bessel functions -------------------------------------------------------------------------------------------------------------------- */

/* Hankel's expansion (DLMF 10.17.3, 10.17.4): J and Y of large x, whose sine and cosine are those of x itself. */
static bool far_out(double nu, double x) { return x > 1000 && x > 20 * nu * nu; }
static double hankel(double nu, double x, bool second) {
	const long double mu = 4.0L * nu * nu;
	long double p = 0, q = 0, term = 1;
	for (int k = 0; k < 60 && fabsl(term) > 1e-21L; k++) {
		*(k % 2 ? &q : &p) += k % 4 < 2 ? term : -term;
		term *= (mu - (2 * k + 1.0L) * (2 * k + 1.0L)) / ((k + 1) * 8.0L * x);
	}
	const long double pi = 3.14159265358979323846264338327950288L, turn = fmodl(0.5L * nu + 0.25L, 2) * pi, c = cosl(turn), s = sinl(turn), cx = cosl(x), sx = sinl(x);
	const long double cosine = cx * c + sx * s, sine = sx * c - cx * s;
	return (double)(sqrtl(2 / (pi * x)) * (second ? p * sine + q * cosine : p * cosine - q * sine));
}

static double bessel_j(const double *p);
static double bessel_y(const double *p) {
	const double nu = p[0], x = p[1];
	gsl_sf_result r;
	if (isnan(nu + x) || x < 0 || fabs(nu) > 1e5) return NAN;
	if (x == 0) return nu >= 0 || whole(nu) ? (nu < 0 && fmod(nu, 2) != 0 ? INFINITY : -INFINITY) : cos_pi(nu) > 0 ? -INFINITY : INFINITY;
	if (far_out(nu, x)) return isinf(x) ? 0 : hankel(nu, x, true);
	if (whole(nu)) return fabs(nu) <= 1000 ? (double)ynl((int)nu, x) : gsl_number(gsl.gsl_sf_bessel_Yn_e((int)nu, x, &r), &r);
	if (nu > 0) return gsl_number(gsl.gsl_sf_bessel_Ynu_e(nu, x, &r), &r);
	const double up[2] = {-nu, x}, s = sin_pi(-nu), c = cos_pi(-nu);
	return (s == 0 ? 0 : s * bessel_j(up)) + (c == 0 ? 0 : c * bessel_y(up));
}
static double bessel_j(const double *p) {
	const double nu = p[0], x = p[1];
	gsl_sf_result r;
	if (isnan(nu + x) || fabs(nu) > 1e5) return NAN;
	if (isinf(x)) return x > 0 || whole(nu) ? 0 : NAN;
	if (far_out(nu, fabs(x)) && (x > 0 || whole(nu))) return x < 0 && fmod(nu, 2) != 0 ? -hankel(nu, -x, false) : hankel(nu, fabs(x), false);
	if (whole(nu)) return gsl_number(gsl.gsl_sf_bessel_Jn_e((int)nu, x, &r), &r);
	if (x < 0) return NAN;
	if (nu > 0) return gsl_number(gsl.gsl_sf_bessel_Jnu_e(nu, x, &r), &r);
	const double up[2] = {-nu, x}, s = sin_pi(-nu), c = cos_pi(-nu);
	return (c == 0 ? 0 : c * bessel_j(up)) - (s == 0 ? 0 : s * bessel_y(up));
}
/* exp(x) K_nu(x) */
static double bessel_k_scaled(const double *p) {
	const double nu = fabs(p[0]), x = p[1];
	gsl_sf_result r;
	if (isnan(nu + x) || x < 0 || nu > 1e5) return NAN;
	if (x == 0) return INFINITY;
	if (nu > 1 && nu <= 1000 && whole(nu)) { /* the recurrence, which keeps the digits of its beginning in long doubles */
		gsl_sf_result r1;
		long double before = gsl_number(gsl.gsl_sf_bessel_Kn_scaled_e(0, x, &r), &r), k = gsl_number(gsl.gsl_sf_bessel_Kn_scaled_e(1, x, &r1), &r1);
		for (int n = 1; n < (int)nu; n++) {
			const long double next = before + 2 * n / (long double)x * k;
			before = k;
			k = next;
		}
		return (double)k;
	}
	if (whole(nu)) return gsl_number(gsl.gsl_sf_bessel_Kn_scaled_e((int)nu, x, &r), &r);
	return gsl_number(gsl.gsl_sf_bessel_Knu_scaled_e(nu, x, &r), &r);
}
/* exp(-|x|) I_nu(x) */
static double bessel_i_scaled(const double *p) {
	const double nu = p[0], x = p[1];
	gsl_sf_result r;
	if (isnan(nu + x) || fabs(nu) > 1e5) return NAN;
	if (whole(nu)) return gsl_number(gsl.gsl_sf_bessel_In_scaled_e((int)nu, x, &r), &r);
	if (x < 0) return NAN;
	if (nu > 0) return gsl_number(gsl.gsl_sf_bessel_Inu_scaled_e(nu, x, &r), &r);
	const double up[2] = {-nu, x};
	return bessel_i_scaled(up) + 2 / M_PI * sin_pi(-nu) * exp(-2 * x) * bessel_k_scaled(up);
}
static double bessel_i(const double *p) { const double h = exp(0.5 * fabs(p[1])); return bessel_i_scaled(p) * h * h; }
static double bessel_k(const double *p) { const double h = exp(-0.5 * p[1]); return bessel_k_scaled(p) * h * h; }

static double odd(double l) { return fmod(l, 2) != 0; }
#define SPHERICAL(name, f, at_negative) \
	static double name(const double *p) { \
		gsl_sf_result r; \
		if (!order(p[0]) || p[0] < 0 || isnan(p[1])) return NAN; \
		const double y = gsl_number(gsl.f((int)p[0], fabs(p[1]), &r), &r); \
		return p[1] < 0 ? (at_negative) * y : y; \
	}
SPHERICAL(spherical_j, gsl_sf_bessel_jl_e, odd(p[0]) ? -1 : 1)
SPHERICAL(spherical_i_scaled, gsl_sf_bessel_il_scaled_e, odd(p[0]) ? -1 : 1)
SPHERICAL(spherical_y_right, gsl_sf_bessel_yl_e, odd(p[0]) ? 1 : -1)
SPHERICAL(spherical_k_scaled_right, gsl_sf_bessel_kl_scaled_e, NAN)
static double spherical_y(const double *p) { return p[1] == 0 && whole(p[0]) && p[0] >= 0 ? -INFINITY : spherical_y_right(p); }
static double spherical_k(const double *p) { return p[1] == 0 && whole(p[0]) && p[0] >= 0 ? INFINITY : spherical_k_scaled_right(p) * exp(-p[1]); }
static double spherical_i(const double *p) { const double h = exp(0.5 * fabs(p[1])); return spherical_i_scaled(p) * h * h; }

#define AIRY(name, f) \
	static double name(const double *x) { gsl_sf_result r; return isnan(x[0]) ? NAN : gsl_number(gsl.f(x[0], GSL_PREC_DOUBLE, &r), &r); }
AIRY(airy_ai, gsl_sf_airy_Ai_e)
AIRY(airy_bi, gsl_sf_airy_Bi_e)
AIRY(airy_ai_slope, gsl_sf_airy_Ai_deriv_e)
AIRY(airy_bi_slope, gsl_sf_airy_Bi_deriv_e)

/* ---- elliptic integrals, in Carlson's symmetric forms (DLMF 19.25) ---------------------------------------------------------------------------- */

static double carlson_f(double x, double y, double z) { gsl_sf_result r; return gsl_number(gsl.gsl_sf_ellint_RF_e(x, y, z, GSL_PREC_DOUBLE, &r), &r); }
static double carlson_d(double x, double y, double z) { gsl_sf_result r; return gsl_number(gsl.gsl_sf_ellint_RD_e(x, y, z, GSL_PREC_DOUBLE, &r), &r); }
static double carlson_j(double x, double y, double z, double p) { gsl_sf_result r; return gsl_number(gsl.gsl_sf_ellint_RJ_e(x, y, z, p, GSL_PREC_DOUBLE, &r), &r); }

static double ellip_k(const double *p) { return p[0] == 1 ? INFINITY : p[0] < 1 ? carlson_f(0, 1 - p[0], 1) : NAN; }
static double ellip_e(const double *p) { return p[0] == 1 ? 1 : p[0] < 1 ? carlson_f(0, 1 - p[0], 1) - p[0] / 3 * carlson_d(0, 1 - p[0], 1) : NAN; }
/* D = (K - E)/m */
static double ellip_d_whole(double m) { return m == 1 ? INFINITY : m < 1 ? carlson_d(0, 1 - m, 1) / 3 : NAN; }
static double ellip_pi(const double *p) {
	const double n = p[0], m = p[1];
	if (isnan(n + m) || m > 1 || n > 1) return NAN;
	if (m == 1 || n == 1) return INFINITY;
	return carlson_f(0, 1 - m, 1) + n / 3 * carlson_j(0, 1 - m, 1, 1 - n);
}

/* phi = turns pi + rest, |rest| <= pi/2 */
static double half_turns(double phi, double *sine, double *cosine) {
	const double turns = nearbyint(phi / M_PI), rest = turns ? (phi - turns * M_PI) - turns * 1.2246467991473532e-16 : phi;
	*sine = sin(rest);
	*cosine = cos(rest);
	return turns;
}
static double ellip_f(const double *p) {
	double s, c;
	const double m = p[1], turns = half_turns(p[0], &s, &c), left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	return s * carlson_f(c * c, left, 1) + (turns ? 2 * turns * ellip_k(&m) : 0);
}
static double ellip_d(const double *p) {
	double s, c;
	const double m = p[1], turns = half_turns(p[0], &s, &c), left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	return s * s * s / 3 * carlson_d(c * c, left, 1) + (turns ? 2 * turns * ellip_d_whole(m) : 0);
}
static double ellip_e_of(const double *p) {
	double s, c;
	const double m = p[1], turns = half_turns(p[0], &s, &c), left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	const double part = m == 1 ? s : s * carlson_f(c * c, left, 1) - m / 3 * s * s * s * carlson_d(c * c, left, 1);
	return part + (turns ? 2 * turns * ellip_e(&m) : 0);
}
static double ellip_pi_of(const double *p) {
	double s, c;
	const double n = p[0], m = p[2], turns = half_turns(p[1], &s, &c), left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	const double at[2] = {n, m};
	return s * carlson_f(c * c, left, 1) + n / 3 * s * s * s * carlson_j(c * c, left, 1, c * c + (1 - n) * s * s) + (turns ? 2 * turns * ellip_pi(at) : 0);
}

/* am(u | m), m <= 1, by the arithmetic-geometric mean (DLMF 22.20(ii)) */
static double jacobi_am(const double *p) {
	enum { MOST = 40 };
	const double u = p[0], m = p[1];
	if (isnan(u + m) || m > 1) return NAN;
	if (m == 1) return 2 * atan(tanh(0.5 * u));
	double ratio[MOST], a = 1, b = sqrt(1 - m);
	int n = 0;
	while (n < MOST && fabs(a - b) > 1e-16 * a) {
		const double mean = 0.5 * (a + b);
		ratio[n++] = 0.5 * (a - b) / mean;
		b = sqrt(a * b);
		a = mean;
	}
	double phi = ldexp(a * u, n);
	while (n-- > 0) phi = 0.5 * (phi + asin(ratio[n] * sin(phi)));
	return phi;
}

/* ---- hypergeometric functions ------------------------------------------------------------------------------------------------------------- */

static bool pole(double x) { return x <= 0 && whole(x); }
static double sign_gamma(double x, double *log_of) {
	int sign;
	*log_of = lgamma_r(x, &sign);
	return sign;
}

/* What a series of this many terms gives: the sum, and how much larger its largest term was. NaN when it does not end. */
typedef struct Sum {
	double value, lost;
} Sum;

static Sum power_series(uint32_t na, const double *a, uint32_t nb, const double *b, double x) {
	long double term = 1, sum = 1, largest = 1;
	for (int k = 0; k < 4000; k++) {
		for (uint32_t i = 0; i < na; i++) term *= (long double)a[i] + k;
		for (uint32_t i = 0; i < nb; i++) term /= (long double)b[i] + k;
		term *= x / (k + 1.0L);
		if (term == 0) return (Sum){(double)sum, (double)(largest / fabsl(sum))};
		sum += term;
		if (fabsl(term) > largest) largest = fabsl(term);
		if (!(largest < 1e4000L)) break;
		if (fabsl(term) < 1e-20L * fabsl(sum)) return (Sum){(double)sum, (double)(largest / fabsl(sum))};
	}
	return (Sum){NAN, INFINITY};
}

/* Numbers of twice as many digits, as sums of two (Dekker 1971; Knuth, The Art of Computer Programming II, 4.2.2) */
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

/* The same series with thirty digits, for sums whose terms cancel: parameters and x count as they are given, so that a + k is not rounded either. */
static Sum power_series_twice(uint32_t na, const double *a, uint32_t nb, const double *b, double x) {
	Twice term = {1, 0}, sum = {1, 0};
	double largest = 1;
	for (int k = 0; k < 12000; k++) {
		for (uint32_t i = 0; i < na; i++) term = twice_times(term, twice_sum(a[i], k));
		for (uint32_t i = 0; i < nb; i++) term = twice_over(term, twice_sum(b[i], k));
		term = twice_over(twice_times(term, (Twice){x, 0}), (Twice){k + 1.0, 0});
		sum = twice_add(sum, term);
		largest = fmax(largest, fabs(term.high));
		if (!(largest < 1e290)) break;
		if (fabs(term.high) < 1e-33 * largest || fabs(term.high) < 1e-18 * fabs(sum.high)) return (Sum){sum.high, largest / fabs(sum.high)};
	}
	return (Sum){NAN, INFINITY};
}
static bool kept_twice(const Sum *s) { return s->lost < 1e18; }

/* GSL goes through large parameters one by one. */
static bool moderate(double a) { return fabs(a) <= 2000; }

/* As far as its own series in long doubles costs no more than three digits it is taken; else GSL's methods, but where the sum keeps 13 digits all the same. */
static bool kept(const Sum *s) { return s->lost < 1e-13 / LDBL_EPSILON; }

static double hyp1f1(const double *p) {
	const double a = p[0], b = p[1], x = p[2];
	gsl_sf_result r;
	if (!isfinite(a + b + x)) return NAN;
	if (pole(b) && !(pole(a) && a >= b)) return NAN;
	const Sum s = x < 0 && !pole(a) ? power_series(1, (double[]){b - a}, 1, &b, -x) : power_series(1, &a, 1, &b, x); /* Kummer */
	if (kept(&s)) return x < 0 && !pole(a) ? s.value * exp(x) : s.value;
	const Sum whole = power_series_twice(1, &a, 1, &b, x);
	if (kept_twice(&whole)) return whole.value;
	return moderate(a) && moderate(b) ? gsl_number(gsl.gsl_sf_hyperg_1F1_e(a, b, x, &r), &r) : NAN;
}
static double hyp0f1(const double *p) {
	const double b = p[0], x = p[1];
	if (!isfinite(b + x) || pole(b)) return NAN;
	const Sum s = power_series(0, NULL, 1, &b, x);
	if (s.lost < 1e3) return s.value;
	const double nu = b - 1, root = sqrt(fabs(x)), at[2] = {nu, 2 * root};
	double l;
	const double sign = sign_gamma(b, &l);
	return sign * exp(l - nu * log(root)) * (x > 0 ? bessel_i(at) : bessel_j(at));
}
static double hyp_u(const double *p) {
	gsl_sf_result r;
	return moderate(p[0]) && moderate(p[1]) && !isnan(p[2]) ? gsl_number(gsl.gsl_sf_hyperg_U_e(p[0], p[1], p[2], &r), &r) : NAN;
}

/* From x to 1 - x (DLMF 15.8.4), where c - a - b is not whole: two products, and how much larger than their sum they and their series were */
static double gamma_ratio(double p, double q, double r, double s) { /* G(p) G(q) / (G(r) G(s)) */
	double l[4];
	if (pole(r) || pole(s)) return 0;
	const double sign = sign_gamma(p, &l[0]) * sign_gamma(q, &l[1]) * sign_gamma(r, &l[2]) * sign_gamma(s, &l[3]);
	return sign * exp(l[0] + l[1] - l[2] - l[3]);
}
static Sum hyp2f1_from_one(double a, double b, double c, double x) {
	const double d = c - a - b, first = 1 - d, second = 1 + d;
	if (fabs(d - round(d)) < 1e-2) return (Sum){NAN, INFINITY};
	const Sum s = power_series_twice(2, (double[]){a, b}, 1, &first, 1 - x), t = power_series_twice(2, (double[]){c - a, c - b}, 1, &second, 1 - x);
	const double u = gamma_ratio(c, d, c - a, c - b) * s.value, v = pow(1 - x, d) * gamma_ratio(c, -d, a, b) * t.value;
	/* the parameters are rounded, so that what is lost counts in doubles */
	return (Sum){u + v, (fabs(u) * s.lost + fabs(v) * t.lost) / fabs(u + v)};
}

static double hyp2f1_inside(double a, double b, double c, double x) { /* 0 <= x < 1, and short sums */
	gsl_sf_result r;
	const Sum s = power_series(2, (double[]){a, b}, 1, &c, x);
	if (s.lost < 1e3) return s.value;
	if (c - a - b < 0) { /* Euler: the other sum is the tamer one */
		const Sum t = power_series(2, (double[]){c - a, c - b}, 1, &c, x);
		if (t.lost < 1e3 || (t.lost < s.lost && kept(&t))) return pow(1 - x, c - a - b) * t.value;
	}
	if (kept(&s)) return s.value;
	const Sum whole = power_series_twice(2, (double[]){a, b}, 1, &c, x);
	if (kept_twice(&whole)) return whole.value;
	const Sum other = hyp2f1_from_one(a, b, c, x);
	if (other.lost < 1e4) return other.value;
	return moderate(a) && moderate(b) && moderate(c) ? gsl_number(gsl.gsl_sf_hyperg_2F1_e(a, b, c, x, &r), &r) : NAN;
}
static double hyp2f1(const double *p) {
	const double a = p[0], b = p[1], c = p[2], x = p[3];
	if (!isfinite(a + b + c + x)) return NAN;
	const bool ends = pole(a) || pole(b);
	if (pole(c) && !(pole(a) && a >= c) && !(pole(b) && b >= c)) return NAN;
	if (x == 0) return 1;
	if (ends) {
		const Sum s = power_series(2, (double[]){a, b}, 1, &c, x);
		if (s.lost < 1e6 || fabs(x) >= 1) return s.value;
	}
	if (x > 1) return NAN;
	if (x == 1) {
		if (!(c - a - b > 0)) return c - a - b == 0 || !pole(c - a) ? INFINITY : NAN;
		if (pole(c - a) || pole(c - b)) return 0;
		double l[4];
		const double sign = sign_gamma(c, &l[0]) * sign_gamma(c - a - b, &l[1]) * sign_gamma(c - a, &l[2]) * sign_gamma(c - b, &l[3]);
		return sign * exp(l[0] + l[1] - l[2] - l[3]);
	}
	/* Pfaff: from x < 0 to 0 .. 1, by the parameter that leaves the smaller ones */
	if (x < 0) return fabs(a) < fabs(b) ? pow(1 - x, -a) * hyp2f1_inside(a, c - b, c, x / (x - 1)) : pow(1 - x, -b) * hyp2f1_inside(c - a, b, c, x / (x - 1));
	return hyp2f1_inside(a, b, c, x);
}

/* ---- orthogonal polynomials, by their recurrences (DLMF 18.9) --------------------------------------------------------------------------------- */

static double gegenbauer_of(double n, double l, double x) {
	if (!order(n) || isnan(l + x)) return NAN;
	if (n < 0) return 0;
	double last = 0, now = 1;
	for (double k = 0; k < n; k++) {
		const double next = (2 * (k + l) * x * now - (k + 2 * l - 1) * last) / (k + 1);
		last = now;
		now = next;
	}
	return now;
}
static double gegenbauer(const double *p) { return gegenbauer_of(p[0], p[1], p[2]); }
static double legendre(const double *p) { return gegenbauer_of(p[0], 0.5, p[1]); }
static double chebyshev_u(const double *p) { return gegenbauer_of(p[0], 1, p[1]); }
static double chebyshev_t(const double *p) {
	if (!order(p[0]) || isnan(p[1])) return NAN;
	const double n = fabs(p[0]), x = p[1];
	double last = x, now = 1; /* T_{-1} = T_1 */
	for (double k = 0; k < n; k++) {
		const double next = 2 * x * now - last;
		last = now;
		now = next;
	}
	return now;
}
static double hermite(const double *p) {
	if (!order(p[0]) || isnan(p[1])) return NAN;
	if (p[0] < 0) return 0;
	double last = 0, now = 1;
	for (double k = 0; k < p[0]; k++) {
		const double next = 2 * p[1] * now - 2 * k * last;
		last = now;
		now = next;
	}
	return now;
}
static double laguerre(const double *p) {
	const double a = p[1], x = p[2];
	if (!order(p[0]) || isnan(a + x)) return NAN;
	if (p[0] < 0) return 0;
	double last = 0, now = 1;
	for (double k = 0; k < p[0]; k++) {
		const double next = ((2 * k + 1 + a - x) * now - (k + a) * last) / (k + 1);
		last = now;
		now = next;
	}
	return now;
}
static double jacobi(const double *p) {
	const double a = p[1], b = p[2], x = p[3];
	if (!order(p[0]) || isnan(a + b + x)) return NAN;
	if (p[0] < 0) return 0;
	if (p[0] == 0) return 1;
	double last = 1, now = (a + 1) + (a + b + 2) * 0.5 * (x - 1);
	for (double k = 1; k < p[0]; k++) {
		const double s = 2 * k + a + b, next = ((s + 1) * (s * (s + 2) * x + a * a - b * b) * now - 2 * (k + a) * (k + b) * (s + 2) * last) / (2 * (k + 1) * (k + a + b + 1) * s);
		last = now;
		now = next;
	}
	return now;
}
/* P_l^m(x) with the phase (-1)^m, |x| <= 1 */
static double legendre_of_order(const double *p) {
	const double l = p[0], m = fabs(p[1]), x = p[2];
	if (!order(l) || !order(m) || l < 0 || !(fabs(x) <= 1)) return NAN;
	if (m > l) return 0;
	double now = 1, last = 0;
	const double s = sqrt((1 - x) * (1 + x));
	for (double k = 1; k <= m; k++) now *= -(2 * k - 1) * s;
	for (double k = m; k < l; k++) {
		const double next = ((2 * k + 1) * x * now - (k + m) * last) / (k - m + 1);
		last = now;
		now = next;
	}
	if (p[1] >= 0) return now;
	for (double k = l - m + 1; k <= l + m; k++) now /= k;
	return odd(m) ? -now : now;
}
/* Y_l^m(theta, 0), theta the angle from the pole: 0 where |m| > l */
static double spherical_part(const double *p) {
	const double l = p[0], m = fabs(p[1]);
	gsl_sf_result r;
	if (!order(l) || !order(m) || l < 0 || !isfinite(p[2])) return NAN;
	if (m > l) return 0;
	/* beyond the poles the sine changes its sign, which |sin| does not show */
	const double y = gsl_number(gsl.gsl_sf_legendre_sphPlm_e((int)l, (int)m, cos(p[2]), &r), &r);
	return odd(m) && (p[1] < 0) != (sin(p[2]) < 0) ? -y : y;
}

/* ---- others ---------------------------------------------------------------------------------------------------------------------------------- */

static double zeta(const double *x) {
	gsl_sf_result r;
	return x[0] == 1 || x[0] == INFINITY ? (x[0] == 1 ? INFINITY : 1) : isnan(x[0]) ? NAN : gsl_number(gsl.gsl_sf_zeta_e(x[0], &r), &r);
}
BY_GSL2(hurwitz, gsl_sf_hzeta_e)
BY_GSL1(dilog, gsl_sf_dilog_e)
BY_GSL1(clausen, gsl_sf_clausen_e)
BY_GSL1(lambert, gsl_sf_lambert_W0_e)
BY_GSL1(lambert_lower_of, gsl_sf_lambert_Wm1_e)
static double lambert_lower(const double *x) { return x[0] == 0 ? -INFINITY : x[0] < 0 ? lambert_lower_of(x) : NAN; }

const EachRow each_rows[] = {
	{"gamma", 1, gamma_of, false}, {"lgamma", 1, log_gamma, false}, {"digamma", 1, digamma, true}, {"polygamma", 2, polygamma, true},
	{"beta", 2, beta_of, false}, {"lbeta", 2, log_beta, false}, {"gamma_density", 2, gamma_density, false}, {"beta_density", 3, beta_density, false},
	{"gammainc", 2, gamma_inc, true}, {"gammaincc", 2, gamma_inc_rest, true}, {"gamma_upper", 2, gamma_upper, true}, {"gammaincinv", 2, gamma_inc_inverse, true},
	{"betainc", 3, beta_inc, true}, {"betaincinv", 3, beta_inc_inverse, true}, {"binomial", 2, binomial, false}, {"factorial", 1, factorial, false},
	{"erfc", 1, erfc_of, false}, {"erfcx", 1, erfcx, false}, {"erfinv", 1, erf_inverse, false}, {"erfcinv", 1, erfc_inverse, false}, {"dawson", 1, dawson, true},
	{"fresnelc", 1, fresnel_c, false}, {"fresnels", 1, fresnel_s, false}, {"expint", 2, exp_int, true}, {"expinti", 1, exp_int_i, true},
	{"sinint", 1, sin_int, true}, {"cosint", 1, cos_int, true}, {"sinhint", 1, sinh_int, true}, {"coshint", 1, cosh_int, true},
	{"besselj", 2, bessel_j, true}, {"bessely", 2, bessel_y, true}, {"besseli", 2, bessel_i, true}, {"besselk", 2, bessel_k, true},
	{"besseli_scaled", 2, bessel_i_scaled, true}, {"besselk_scaled", 2, bessel_k_scaled, true},
	{"sphericalj", 2, spherical_j, true}, {"sphericaly", 2, spherical_y, true}, {"sphericali", 2, spherical_i, true}, {"sphericalk", 2, spherical_k, true},
	{"airyai", 1, airy_ai, true}, {"airybi", 1, airy_bi, true}, {"airyaiprime", 1, airy_ai_slope, true}, {"airybiprime", 1, airy_bi_slope, true},
	{"ellipk", 1, ellip_k, true}, {"ellipe", 1, ellip_e, true}, {"ellipf", 2, ellip_f, true}, {"ellipeinc", 2, ellip_e_of, true}, {"ellipd", 2, ellip_d, true},
	{"ellippi", 2, ellip_pi, true}, {"ellippiinc", 3, ellip_pi_of, true}, {"jacobiam", 2, jacobi_am, false},
	{"hyp0f1", 2, hyp0f1, true}, {"hyp1f1", 3, hyp1f1, true}, {"hypu", 3, hyp_u, true}, {"hyp2f1", 4, hyp2f1, true},
	{"legendre", 2, legendre, false}, {"assoclegendre", 3, legendre_of_order, false}, {"spherical_part", 3, spherical_part, true}, {"hermite", 2, hermite, false},
	{"laguerre", 3, laguerre, false}, {"chebyshevt", 2, chebyshev_t, false}, {"chebyshevu", 2, chebyshev_u, false}, {"gegenbauer", 3, gegenbauer, false}, {"jacobi", 4, jacobi, false},
	{"zeta", 1, zeta, true}, {"hurwitz", 2, hurwitz, true}, {"dilog", 1, dilog, true}, {"clausen", 1, clausen, true}, {"lambertw", 1, lambert, true}, {"lambertw_lower", 1, lambert_lower, true},
	{.name = NULL},
};
