/* special.c - table of special functions, and their values where GSL falls
 * short.
 *
 * Needs: elementwise.h, gsl.h, special.h.
 *
 * Contract:
 * - Every function is defined for every double: NaN where it has no real value
 *   and for NaN; an infinity or NaN at a pole.
 * - Definitions are those of the NIST Handbook (dlmf.nist.gov). Elliptic
 *   integrals take the parameter m = k^2.
 * - Integer orders are doubles with integer values. Like the orders of Bessel
 *   functions they are limited to 100,000 in absolute value. Polynomials of
 *   negative order are 0, as in their recurrences.
 */
#include "solvers/special/elementwise.h"
#include "solvers/special/gsl.h"
#include "solvers/special/special.h"
#include <complex.h>
#include <float.h>
#include <math.h>

double cos_pi(double x) {
	x = fabs(fmod(x, 2));
	if (x > 1) x = 2 - x;
	return x > 0.5 ? -sin(M_PI * (x - 0.5)) : x > 0.25 ? sin(M_PI * (0.5 - x)) : cos(M_PI * x);
}
double sin_pi(double x) {
	x = fmod(x, 2);
	if (x > 1) x -= 2;
	else if (x < -1) x += 2;
	return x > 0.5 ? sin(M_PI * (1 - x)) : x < -0.5 ? -sin(M_PI * (1 + x)) : sin(M_PI * x);
}

/* A GSL function of one and of two arguments. */
#define BY_GSL1(name, f)                                                                           \
	static double name(const double *x) {                                                          \
		gsl_sf_result r;                                                                           \
		return isnan(x[0]) ? NAN : gsl_number(gsl.f(x[0], &r), &r);                                \
	}
#define BY_GSL2(name, f)                                                                           \
	static double name(const double *x) {                                                          \
		gsl_sf_result r;                                                                           \
		return isnan(x[0] + x[1]) ? NAN : gsl_number(gsl.f(x[0], x[1], &r), &r);                   \
	}

/* ---- the gamma function and its family ----------------------------------- */

static double gamma_of(const double *x) {
	return x[0] == nearbyint(x[0]) && x[0] <= 0 ? NAN : tgamma(x[0]);
}
static double log_gamma(const double *x) {
	int sign;
	return lgamma_r(x[0], &sign);
}

static double digamma(const double *x) {
	gsl_sf_result r;
	if (x[0] == INFINITY) return INFINITY;
	if (!isfinite(x[0]) || (whole(x[0]) && x[0] <= 0)) return NAN;
	if (x[0] > -2) return gsl_number(gsl.gsl_sf_psi_e(x[0], &r), &r);
	/* reflection, DLMF 5.5.4, with an exact remainder */
	return gsl_number(gsl.gsl_sf_psi_e(1 - x[0], &r), &r) - M_PI * cos_pi(x[0]) / sin_pi(x[0]);
}

/* psi_n(x), shifted to x > 0 by its recurrence. */
static double polygamma(const double *x) {
	double n = x[0], at = x[1], sum = 0;
	gsl_sf_result r;
	if (n == 0) return digamma(x + 1);
	if (!order(n) || n < 0 || isnan(at) || (at <= 0 && whole(at))) return NAN;
	if (at == INFINITY) return 0;
	/* the first term of the asymptotic series (DLMF 5.15.8), where GSL
	 * underflows too early */
	if (n == 1 && at > 1e17) return 1 / at;
	if (n == 1) return gsl_number(gsl.gsl_sf_psi_1_e(at, &r), &r);
	if (at < -1000) return NAN;
	const double scale = tgamma(n + 1), sign = fmod(n, 2) == 0 ? -1 : 1;
	for (; at < 0; at += 1) sum += sign * scale * pow(at, -n - 1);
	return sum + gsl_number(gsl.gsl_sf_psi_n_e((int)n, at, &r), &r);
}

/* psi_n(a + b) - psi_n(a) without cancellation for small b/a. The recurrence
 * shifts it to where the asymptotic series (DLMF 5.15.8) holds; the powers are
 * then subtracted one by one. */
static double polygamma_rise(const double *x) {
	const double n = x[0], a = x[1], b = x[2];
	if (!order(n) || n < 0 || n > 100 || isnan(a + b)) return NAN;
	if (!(a > 0 && a + b > 0) || isinf(a) || isinf(b)) {
		const double to[2] = {n, a + b}, from[2] = {n, a};
		return polygamma(to) - polygamma(from);
	}
	/* B_2j / (2j)!; each term also has a factor (2j + n - 1)! and a power */
	static const long double over[] = {1.0L / 12,
	                                   -1.0L / 720,
	                                   1.0L / 30240,
	                                   -1.0L / 1209600,
	                                   1.0L / 47900160,
	                                   -691.0L / 1307674368000.0L,
	                                   1.0L / 74724249600.0L,
	                                   -3617.0L / 10670622842880000.0L,
	                                   43867.0L / 5109094217170944000.0L};
	long double at = a, sum = 0, factor = 1; /* factor: n!, then (2j + n - 1)! */
	for (double k = 2; k <= n; k++) factor *= k;
	for (; fminl(at, at + b) < 20 + n; at++) {
		const long double way = log1pl(b / at);
		sum -= factor * expm1l(-(n + 1) * way) / powl(at, n + 1);
	}
	const long double way = log1pl(b / at);
	sum += n == 0 ? way : -factor / n * expm1l(-n * way) / powl(at, n);
	sum -= factor * expm1l(-(n + 1) * way) / (2 * powl(at, n + 1));
	factor *= n + 1;
	for (int j = 1; j <= 9; j++) {
		sum -= over[j - 1] * factor * expm1l(-(n + 2 * j) * way) / powl(at, n + 2 * j);
		factor *= (n + 2 * j) * (n + 2 * j + 1);
	}
	return (double)(odd(n) ? -sum : sum);
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

/* ---- the error function and its family ----------------------------------- */

static double erfc_of(const double *x) { return erfc(x[0]); }
/* P(X > x) of the standard normal distribution */
static double normal_tail(const double *x) {
	/* corrects the rounding of z/sqrt(2) by the derivative of erfc; it matters
	 * in the far tail */
	const double z = x[0], root = 0.70710678118654752440, low = -4.8336466567264567e-17,
				 t = z * root;
	const double rest = fma(z, root, -t) + z * low;
	return fabs(z) < 40 ? 0.5 * erfc(t) - 0.56418958354775628695 * exp(-t * t) * rest
	       : z > 0      ? 0
	       : z < 0      ? 1
	                    : NAN;
}
/* sin(pi x)/(pi x) */
static double sinc(const double *x) {
	return x[0] == 0 ? 1 : isinf(x[0]) ? 0 : sin_pi(x[0]) / (M_PI * x[0]);
}

/* exp(x^2), corrected for the rounding error of x^2. */
static double exp_square(double x) {
	const double s = x * x;
	return isinf(s) ? s : exp(s) * (1 + fma(x, x, -s));
}

static double erfcx(const double *p) {
	const double x = p[0];
	if (x < 8) return exp_square(x) * erfc(x);
	/* continued fraction, evaluated backwards */
	double f = x;
	for (int k = 40; k > 0; k--) f = x + 0.5 * k / f;
	return 1 / (f * 1.7724538509055160273);
}

/* exp(x^2) times the n-th repeated integral of erfc (DLMF 7.18), which gives
 * the derivatives of erfcx without cancellation. x < 0.1: the recurrence;
 * otherwise the continued fraction, evaluated backwards. */
static double erfcx_integral(const double *p) {
	const double n = p[0], x = p[1], start[1] = {x};
	if (!order(n) || n < 0 || isnan(x)) return NAN;
	if (x < 0.1) {
		long double last = 1.1283791670955125739L, now = erfcx(start);
		for (double k = 1; k <= n; k++) {
			const long double next = isinf(now) ? now : (last - 2 * (long double)x * now) / (2 * k);
			last = now;
			now = next;
		}
		return (double)now;
	}
	long double ratio = 0, product = erfcx(start);
	for (double k = floor(n + 20 + 300 / (x * x)); k > 0; k--) {
		ratio = 1 / (2 * ((long double)x + k * ratio + ratio));
		if (k <= n) product *= ratio;
	}
	return (double)product;
}

/* The y with erfc(y) = q, q <= 1/2, by Newton's method on log erfc, whose
 * derivative varies slowly. */
static double erfc_inverse_small(double q) {
	if (q == 0) return INFINITY;
	const double l = -log(q);
	double y = l > 1 ? sqrt(l - 0.5 * log(l) - 0.2) : 0.5;
	for (int k = 0; k < 60; k++) {
		const double x[1] = {y}, scaled = erfcx(x);
		/* sqrt(pi)/2 */
		const double step = (log(scaled) - y * y + l) * scaled * 0.88622692545275801365;
		y += step;
		if (fabs(step) <= 2e-16 * fabs(y)) break;
	}
	/* polish the last digits on erfc itself */
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
double erfc_inverse(const double *x) {
	const double q = x[0];
	if (!(q >= 0 && q <= 2)) return NAN;
	return q <= 0.5  ? erfc_inverse_small(q)
	       : q < 1.5 ? erf_inverse_middle(1 - q)
	                 : -erfc_inverse_small(2 - q);
}

/* Fresnel integrals: the series near 0, else the continued fraction of the
 * complementary error function (Press et al., Numerical Recipes, 6.9). */
static void fresnel(double x, double *c, double *s) {
	const double a = fabs(x);
	if (isnan(x) || a > 1e8) {
		*c = *s = isnan(x) ? NAN : copysign(0.5, x); /* exact to rounding */
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
	/* t = pi a^2/2, reduced modulo 2 pi by removing multiples of 4 from a^2 */
	const double square = a * a, low = fma(a, a, -square), turns = 4 * floor(square / 4),
				 angle = M_PI_2 * (square - turns + low), pix2 = M_PI * square;
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
static double fresnel_c(const double *x) {
	double c, s;
	fresnel(x[0], &c, &s);
	return c;
}
static double fresnel_s(const double *x) {
	double c, s;
	fresnel(x[0], &c, &s);
	return s;
}

BY_GSL1(dawson, gsl_sf_dawson_e)
/* The n-th derivative of Dawson's function by the recurrence, or by the
 * differentiated asymptotic series (DLMF 7.12.5) where the recurrence
 * cancels. */
static double dawson_slope(const double *p) {
	const double n = p[0], x = p[1], far = fabs(x);
	if (!order(n) || n < 0 || isnan(x)) return NAN;
	if (far < 7 || far * far < 4 * n) {
		long double last = 0, now = dawson(p + 1);
		for (double k = 0; k < n; k++) {
			const long double next = (k == 0 ? 1 : 0) - 2 * (long double)x * now - 2 * k * last;
			last = now;
			now = next;
		}
		return (double)now;
	}
	long double term = 0.5L / far, sum = 0;
	for (double k = 1; k <= n; k++) term *= k / (long double)far;
	for (double k = 0; k < 100; k++) {
		sum += term;
		const long double next = term * (k + 0.5L) * (2 * k + 1 + n) * (2 * k + 2 + n) /
		                         ((2 * k + 1) * (2 * k + 2) * far * far);
		if (next < 1e-20L * sum || next > term) break;
		term = next;
	}
	return (double)(x < 0 || odd(n) ? -sum : sum);
}
/* share * Ei(x) for large |x| by the asymptotic series (DLMF 6.12.2). The
 * exponential is applied in two halves. GSL overflows too early and returns the
 * wrong sign. */
static double exp_int_i_far(double share, double x) {
	if (isinf(x)) return x > 0 ? INFINITY : 0;
	const double root = exp(0.5 * x);
	double sum = 0, term = 1;
	for (int k = 1; fabs(term) > 1e-18; k++) {
		sum += term;
		term *= k / x;
	}
	return root * (share * sum / x) * root;
}
static double exp_int_i(const double *x) {
	gsl_sf_result r;
	return isnan(x[0])        ? NAN
	       : fabs(x[0]) > 690 ? exp_int_i_far(1, x[0])
	                          : gsl_number(gsl.gsl_sf_expint_Ei_e(x[0], &r), &r);
}
static double sin_int(const double *x) {
	gsl_sf_result r;
	return isnan(x[0])   ? NAN
	       : isinf(x[0]) ? copysign(M_PI_2, x[0])
	                     : gsl_number(gsl.gsl_sf_Si_e(x[0], &r), &r);
}
/* Large x use the asymptotic series of the auxiliary functions (DLMF 6.12.3,
 * 6.12.4), where GSL loses digits of sin and cos. */
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
/* half of Ei(|x|) for large |x| */
static double sinh_int(const double *x) {
	gsl_sf_result r;
	return isnan(x[0])        ? NAN
	       : fabs(x[0]) > 690 ? copysign(exp_int_i_far(0.5, fabs(x[0])), x[0])
	                          : gsl_number(gsl.gsl_sf_Shi_e(x[0], &r), &r);
}
static double cosh_int(const double *x) {
	gsl_sf_result r;
	return isnan(x[0])        ? NAN
	       : fabs(x[0]) > 690 ? exp_int_i_far(0.5, fabs(x[0]))
	                          : gsl_number(gsl.gsl_sf_Chi_e(x[0], &r), &r);
}

/* E_n(x), n >= 1. x > 1: the continued fraction (DLMF 8.19.17) by Lentz'
 * method, with exp(-x) as a separate factor to avoid underflow. Otherwise the
 * series 8.19.8, whose term k = n - 1 contains the logarithm. */
static double exp_int_above(double n, double x) {
	if (x > 1) {
		long double b = x + (long double)n, f = b, c = b, d = 0;
		for (int k = 1; k < 10000; k++) {
			const long double a = -k * (n - 1 + k);
			b += 2;
			d = 1 / (b + a * d);
			c = b + a / c;
			f *= c * d;
			if (fabsl(c * d - 1) < 1e-20L) break;
		}
		return (double)(expl(-(long double)x) / f);
	}
	const int m = (int)n - 1;
	long double sum = 0, term = 1, psi = -0.577215664901532860606512L;
	for (int k = 0; k < 60 || k <= m; k++) {
		if (k == m) {
			for (int i = 1; i <= m; i++) psi += 1.0L / i;
			sum += term * (psi - logl(x));
		} else sum -= term / (k - m);
		term *= -(long double)x / (k + 1);
		if (k > m && fabsl(term) < 1e-21L * fabsl(sum)) break;
		if (k < m && fabsl(term) < 1e-40L) break; /* the logarithmic term is negligible */
	}
	return (double)sum;
}

/* E_n(x) for x > 0, and for all x if n = 1. Orders below 0 use n E_{n+1} =
 * exp(-x) - x E_n. */
static double exp_int(const double *p) {
	const double n = p[0], x = p[1];
	gsl_sf_result r;
	if (!order(n) || isnan(x)) return NAN;
	if (x == INFINITY) return 0;
	if (n == 1 && x < -690) return -exp_int_i_far(1, -x);
	if (n == 1 && x < 700) return x == 0 ? INFINITY : gsl_number(gsl.gsl_sf_expint_E1_e(x, &r), &r);
	if (x < 0) return NAN;
	if (x == 0) return n > 1 ? 1 / (n - 1) : INFINITY;
	if (n >= 1) return exp_int_above(n, x);
	const long double down = expl(-(long double)x);
	long double e = down / x;
	for (double k = -1; k >= n; k--) e = (down - k * e) / x;
	return (double)e;
}

/* ---- Airy functions ------------------------------------------------------ */

/* GSL's phase is rounded for negative x. */
#define AIRY(name, f, which)                                                                       \
	static double name(const double *x) {                                                          \
		gsl_sf_result r;                                                                           \
		if (isnan(x[0])) return NAN;                                                               \
		if (x[0] <= -2 && x[0] > -1e100) return airy_left(x[0], which);                            \
		return gsl_number(gsl.f(x[0], GSL_PREC_DOUBLE, &r), &r);                                   \
	}
AIRY(airy_ai, gsl_sf_airy_Ai_e, 0)
AIRY(airy_bi, gsl_sf_airy_Bi_e, 1)
AIRY(airy_ai_slope, gsl_sf_airy_Ai_deriv_e, 2)
AIRY(airy_bi_slope, gsl_sf_airy_Bi_deriv_e, 3)

/* ---- orthogonal polynomials, by their recurrences (DLMF 18.9) ------------ */

static double gegenbauer_of(double n, long double l, long double x) {
	if (!order(n) || isnan(l + x)) return NAN;
	if (n < 0) return 0;
	long double last = 0, now = 1;
	for (double k = 0; k < n; k++) {
		const long double next = (2 * (k + l) * x * now - (k - 1 + 2 * l) * last) / (k + 1);
		last = now;
		now = next;
	}
	return (double)now;
}
static double gegenbauer(const double *p) { return gegenbauer_of(p[0], p[1], p[2]); }
static double legendre(const double *p) { return gegenbauer_of(p[0], 0.5, p[1]); }
static double chebyshev_u(const double *p) { return gegenbauer_of(p[0], 1, p[1]); }
static double chebyshev_t(const double *p) {
	if (!order(p[0]) || isnan(p[1])) return NAN;
	if (p[0] < 0) return 0;
	const long double x = p[1];
	long double last = x, now = 1; /* T_{-1} = T_1 */
	for (double k = 0; k < p[0]; k++) {
		const long double next = 2 * x * now - last;
		last = now;
		now = next;
	}
	return (double)now;
}
static double hermite(const double *p) {
	if (!order(p[0]) || isnan(p[1])) return NAN;
	if (p[0] < 0) return 0;
	long double last = 0, now = 1;
	for (double k = 0; k < p[0]; k++) {
		const long double next = 2 * (long double)p[1] * now - 2 * k * last;
		last = now;
		now = next;
	}
	return (double)now;
}
static double laguerre(const double *p) {
	const long double a = p[1], x = p[2];
	if (!order(p[0]) || isnan(a + x)) return NAN;
	if (p[0] < 0) return 0;
	long double last = 0, now = 1;
	for (double k = 0; k < p[0]; k++) {
		const long double next = ((2 * k + 1 + a - x) * now - (k + a) * last) / (k + 1);
		last = now;
		now = next;
	}
	return (double)now;
}
/* The sum DLMF 18.5.8, valid for all a and b; n <= JACOBI_SUM. Its terms are
 * products from both ends, which avoids divisions by 0. */
enum { JACOBI_SUM = 301 };
static long double jacobi_sum(double n, long double a, long double b, long double x) {
	const int last = (int)n;
	long double above[JACOBI_SUM + 1], below = 1, sum = 0;
	above[last] = 1;
	for (int s = last; s > 0; s--)
		above[s - 1] = above[s] * (s + a) / (last - s + 1) * 0.5L * (x + 1);
	for (int s = 0; s <= last; s++) {
		sum += above[s] * below;
		below *= (last - s + b) / (s + 1) * 0.5L * (x - 1);
	}
	return sum;
}
static double jacobi(const double *p) {
	const long double a = p[1], b = p[2], x = p[3];
	if (!order(p[0]) || isnan(a + b + x)) return NAN;
	if (p[0] < 0) return 0;
	if (p[0] == 0) return 1;
	/* the recurrence divides by k + a + b + 1 and 2k + a + b; it starts after
	 * their zeros */
	const double first = a + b < -1 ? fmin(ceil((double)-(a + b)), JACOBI_SUM - 1) : 0;
	if (p[0] <= first + 1) return (double)jacobi_sum(p[0], a, b, x);
	long double last = jacobi_sum(first, a, b, x), now = jacobi_sum(first + 1, a, b, x);
	for (double k = first + 1; k < p[0]; k++) {
		const long double s = 2 * k + a + b, turn = (s + 1) * (s * (s + 2) * x + a * a - b * b);
		const long double next = (turn * now - 2 * (k + a) * (k + b) * (s + 2) * last) /
		                         (2 * (k + 1) * (k + a + b + 1) * s);
		last = now;
		now = next;
	}
	return (double)now;
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
/* Y_l^m(theta, 0), theta the polar angle; 0 if |m| > l */
static double spherical_part(const double *p) {
	const double l = p[0], m = fabs(p[1]);
	gsl_sf_result r;
	if (!order(l) || !order(m) || l < 0 || !isfinite(p[2])) return NAN;
	if (m > l) return 0;
	/* beyond the poles sin changes sign, which GSL's |sin| ignores */
	const double y = gsl_number(gsl.gsl_sf_legendre_sphPlm_e((int)l, (int)m, cos(p[2]), &r), &r);
	return odd(m) && (p[1] < 0) != (sin(p[2]) < 0) ? -y : y;
}

/* ---- other functions ----------------------------------------------------- */

/* zeta(s) for s far below 0, where GSL overflows early. Reflection (DLMF
 * 25.4.2), whose zeta(1 - s) is 1 to rounding. */
static double zeta_left(double s) {
	if (fmod(s, 2) == 0) return 0;
	long double product = 2 * sin_pi(0.5 * s), t = 1 - (long double)s;
	const long double turn = 6.283185307179586476925287L;
	for (; t > 100 && isfinite((double)product); t--) product *= (t - 1) / turn;
	return (double)(product * tgammal(fminl(t, 100)) * powl(turn, -fminl(t, 100)));
}
static double zeta(const double *x) {
	gsl_sf_result r;
	if (x[0] < -160) return zeta_left(x[0]);
	return x[0] == 1 || x[0] == INFINITY ? (x[0] == 1 ? INFINITY : 1)
	       : isnan(x[0])                 ? NAN
	                                     : gsl_number(gsl.gsl_sf_zeta_e(x[0], &r), &r);
}
BY_GSL2(hurwitz, gsl_sf_hzeta_e)
BY_GSL1(dilog, gsl_sf_dilog_e)
BY_GSL1(clausen, gsl_sf_clausen_e)

/* The w of w exp(w) = x near the branch point -1/e (series DLMF 4.13.6). p =
 * sqrt(2 (e x + 1)) for the upper branch, and its negative for the lower. */
static long double lambert_near_branch(long double p) {
	static const long double c[] = {-1,
	                                1,
	                                -1 / 3.0L,
	                                11 / 72.0L,
	                                -43 / 540.0L,
	                                769 / 17280.0L,
	                                -221 / 8505.0L,
	                                680863 / 43545600.0L,
	                                -1963 / 204120.0L,
	                                226287557 / 37623398400.0L};
	long double w = 0;
	for (int k = (int)(sizeof c / sizeof *c) - 1; k >= 0; k--) w = w * p + c[k];
	return w;
}
/* Halley's method on w exp(w) - x. Far from 0, Newton's method on w + log w -
 * log x, which does not overflow. */
static double lambert_of(double x, bool below) {
	/* 1/e is the double below plus this low part */
	const long double e = 2.71828182845904523536028747135266250L,
					  low = -1.24287536727883631686e-17L;
	const long double above = ((long double)x + 0.36787944117144233) + low,
					  p = above > 0 ? sqrtl(2 * e * above) : 0, signed_p = below ? -p : p;
	if (above < -4e-17L) return NAN; /* the rounded -1/e itself is not left of the branch point */
	if (p < 0.01L) return (double)lambert_near_branch(signed_p);
	const long double l = logl(fabsl(x));
	long double w = p < 1   ? lambert_near_branch(signed_p)
	                : below ? l - logl(-l)
	                : x < 3 ? log1pl(x) * (1 - log1pl(log1pl(x)) / (2 + log1pl(x)))
	                        : l - logl(l);
	for (int k = 0; k < 60; k++) {
		long double step;
		if (fabsl(w) > 4) step = (w + logl(fabsl(w)) - l) / (1 + 1 / w);
		else {
			const long double grown = expl(w), off = w * grown - x;
			step = off / (grown * (w + 1) - (w + 2) * off / (2 * w + 2));
		}
		w -= step;
		if (fabsl(step) <= 1e-18L * fabsl(w)) break;
	}
	return (double)w;
}
static double lambert(const double *x) {
	return isnan(x[0]) || x[0] == 0 || x[0] == INFINITY ? x[0]
	       : fabs(x[0]) < 1e-20                         ? x[0]
	                                                    : lambert_of(x[0], false);
}
static double lambert_lower(const double *x) {
	return x[0] == 0 ? -INFINITY : x[0] < 0 ? lambert_of(x[0], true) : NAN;
}

const EachRow each_rows[] = {
	{"gamma", 1, gamma_of, false},
	{"lgamma", 1, log_gamma, false},
	{"digamma", 1, digamma, true},
	{"polygamma", 2, polygamma, true},
	{"polygamma_rise", 3, polygamma_rise, true},
	{"beta", 2, beta_of, false},
	{"lbeta", 2, log_beta, false},
	{"gamma_density", 2, gamma_density, false},
	{"beta_density", 3, beta_density, false},
	{"gamma_log_density", 2, gamma_log_density, false},
	{"beta_log_density", 3, beta_log_density, false},
	{"odds_log_density", 3, odds_log_density, false},
	{"odds_density", 3, odds_density, false},
	{"odds_inc", 3, odds_inc, false},
	{"odds_inc_rest", 3, odds_inc_rest, false},
	{"odds_inc_inverse", 3, odds_inc_inverse, false},
	{"gammainc", 2, gamma_inc, false},
	{"gammaincc", 2, gamma_inc_rest, false},
	{"gamma_lower", 2, gamma_lower, false},
	{"gamma_upper", 2, gamma_upper, false},
	{"gammaincinv", 2, gamma_inc_inverse, false},
	{"betainc", 3, beta_inc, false},
	{"betaincc", 3, beta_inc_rest, false},
	{"betaincinv", 3, beta_inc_inverse, false},
	{"binomial", 2, binomial, false},
	{"factorial", 1, factorial, false},
	{"normal_tail", 1, normal_tail, false},
	{"sinc", 1, sinc, false},
	{"binomial_log", 3, binomial_log, false},
	{"erfc", 1, erfc_of, false},
	{"erfcx", 1, erfcx, false},
	{"erfcx_integral", 2, erfcx_integral, false},
	{"erfinv", 1, erf_inverse, false},
	{"erfcinv", 1, erfc_inverse, false},
	{"dawson", 1, dawson, true},
	{"dawson_slope", 2, dawson_slope, true},
	{"fresnelc", 1, fresnel_c, false},
	{"fresnels", 1, fresnel_s, false},
	{"expint", 2, exp_int, true},
	{"expinti", 1, exp_int_i, true},
	{"sinint", 1, sin_int, true},
	{"cosint", 1, cos_int, true},
	{"sinhint", 1, sinh_int, true},
	{"coshint", 1, cosh_int, true},
	{"besselj", 2, bessel_j, true},
	{"bessely", 2, bessel_y, true},
	{"besseli", 2, bessel_i, true},
	{"besselk", 2, bessel_k, true},
	{"besseli_scaled", 2, bessel_i_scaled, true},
	{"besselk_scaled", 2, bessel_k_scaled, true},
	{"sphericalj", 2, spherical_j, true},
	{"sphericaly", 2, spherical_y, true},
	{"sphericali", 2, spherical_i, true},
	{"sphericalk", 2, spherical_k, true},
	{"airyai", 1, airy_ai, true},
	{"airybi", 1, airy_bi, true},
	{"airyaiprime", 1, airy_ai_slope, true},
	{"airybiprime", 1, airy_bi_slope, true},
	{"ellipk", 1, ellip_k, true},
	{"ellipe", 1, ellip_e, true},
	{"ellipf", 2, ellip_f, true},
	{"ellipeinc", 2, ellip_e_of, true},
	{"ellipd", 2, ellip_d, true},
	{"ellippi", 2, ellip_pi, true},
	{"ellippiinc", 3, ellip_pi_of, true},
	{"elliptic_slope", 5, elliptic_slope, false},
	{"jacobiam", 2, jacobi_am, false},
	{"jacobicn", 2, jacobi_cn, false},
	{"hyp0f1", 2, hyp0f1, true},
	{"hyp1f1", 3, hyp1f1, true},
	{"hypu", 3, hyp_u, true},
	{"hyp2f1", 4, hyp2f1, true},
	{"legendre", 2, legendre, false},
	{"assoclegendre", 3, legendre_of_order, false},
	{"spherical_part", 3, spherical_part, true},
	{"hermite", 2, hermite, false},
	{"laguerre", 3, laguerre, false},
	{"chebyshevt", 2, chebyshev_t, false},
	{"chebyshevu", 2, chebyshev_u, false},
	{"gegenbauer", 3, gegenbauer, false},
	{"jacobi", 4, jacobi, false},
	{"zeta", 1, zeta, true},
	{"hurwitz", 2, hurwitz, true},
	{"dilog", 1, dilog, true},
	{"clausen", 1, clausen, true},
	{"lambertw", 1, lambert, false},
	{"lambertw_lower", 1, lambert_lower, false},
	{.name = NULL},
};
