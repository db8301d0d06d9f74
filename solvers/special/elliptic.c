/* elliptic.c - elliptic integrals, the moments of their derivatives, and
 * Jacobi's amplitude.
 *
 * Method: Carlson's symmetric forms (DLMF 19.25).
 *
 * Needs: gsl.h, special.h. Contract: as in special.h.
 */
#include "solvers/special/gsl.h"
#include "solvers/special/special.h"
#include <math.h>

static double carlson_f(double x, double y, double z) {
	gsl_sf_result r;
	return gsl_number(gsl.gsl_sf_ellint_RF_e(x, y, z, GSL_PREC_DOUBLE, &r), &r);
}
static double carlson_d(double x, double y, double z) {
	gsl_sf_result r;
	return gsl_number(gsl.gsl_sf_ellint_RD_e(x, y, z, GSL_PREC_DOUBLE, &r), &r);
}
static double carlson_j(double x, double y, double z, double p) {
	gsl_sf_result r;
	return gsl_number(gsl.gsl_sf_ellint_RJ_e(x, y, z, p, GSL_PREC_DOUBLE, &r), &r);
}

double ellip_k(const double *p) {
	return p[0] == 1 ? INFINITY : p[0] < 1 ? carlson_f(0, 1 - p[0], 1) : NAN;
}
double ellip_e(const double *p) {
	return p[0] == 1  ? 1
	       : p[0] < 1 ? carlson_f(0, 1 - p[0], 1) - p[0] / 3 * carlson_d(0, 1 - p[0], 1)
	                  : NAN;
}
/* D = (K - E)/m */
static double ellip_d_whole(double m) {
	return m == 1 ? INFINITY : m < 1 ? carlson_d(0, 1 - m, 1) / 3 : NAN;
}
double ellip_pi(const double *p) {
	const double n = p[0], m = p[1];
	if (isnan(n + m) || m > 1 || n > 1) return NAN;
	if (m == 1 || n == 1) return INFINITY;
	return carlson_f(0, 1 - m, 1) + n / 3 * carlson_j(0, 1 - m, 1, 1 - n);
}

/* phi = turns pi + rest, |rest| <= pi/2; returns turns */
static double half_turns(double phi, double *sine, double *cosine) {
	const double turns = nearbyint(phi / M_PI),
				 rest = turns ? (phi - turns * M_PI) - turns * 1.2246467991473532e-16 : phi;
	*sine = sin(rest);
	*cosine = cos(rest);
	return turns;
}
double ellip_f(const double *p) {
	double s, c;
	const double m = p[1], turns = half_turns(p[0], &s, &c), left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	return s * carlson_f(c * c, left, 1) + (turns ? 2 * turns * ellip_k(&m) : 0);
}
double ellip_d(const double *p) {
	double s, c;
	const double m = p[1], turns = half_turns(p[0], &s, &c), left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	return s * s * s / 3 * carlson_d(c * c, left, 1) + (turns ? 2 * turns * ellip_d_whole(m) : 0);
}
double ellip_e_of(const double *p) {
	double s, c;
	const double m = p[1], turns = half_turns(p[0], &s, &c), left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	const double part =
		m == 1 ? s : s * carlson_f(c * c, left, 1) - m / 3 * s * s * s * carlson_d(c * c, left, 1);
	return part + (turns ? 2 * turns * ellip_e(&m) : 0);
}
double ellip_pi_of(const double *p) {
	double s, c;
	const double n = p[0], m = p[2], turns = half_turns(p[1], &s, &c),
				 left = c * c + (1 - m) * s * s;
	if (!(left >= 0)) return NAN;
	const double at[2] = {n, m};
	return s * carlson_f(c * c, left, 1) +
	       n / 3 * s * s * s * carlson_j(c * c, left, 1, c * c + (1 - n) * s * s) +
	       (turns ? 2 * turns * ellip_pi(at) : 0);
}

#define MOST_DERIVATIVES 1000 /* a practical limit */

/* The integral of sin^(2k+2j) (1 - n sin^2)^(-1-k) delta^(-2j-1) from 0 to the
 * angle with sine s and cosine c, both >= 0. It is the integral of the third
 * kind, differentiated k times with respect to n and j times with respect to m,
 * without constant factors. With sin(t)^2 = s^2/(1 + x) all factors are
 * positive (as in DLMF 19.16(ii)), so nothing cancels for any n and m. The
 * trapezoidal rule in log(x) converges like exp(-2 pi^2/step). */
static double elliptic_moment(double k, double j, double n, double s, double c, double m) {
	const double a = c * c, b = a + (1 - m) * (s * s), d = a + (1 - n) * (s * s),
				 begin = b > 0 ? b : a;
	if (s == 0) return 0;
	if (!(b >= 0) || !(d >= 0)) return NAN;
	/* infinite at the end of the interval */
	if ((b == 0 && j > 0) || d == 0 || begin == 0) return INFINITY;
	double total = 0;
	for (int up = 0; up < 2; up++) {
		const double factor = up ? 2 : 0.5,
					 far = up ? fmax(fmax(a, b), fmax(1, d)) : fmin(begin, d);
		double x = up ? begin : begin * M_SQRT1_2, next = up ? begin * M_SQRT2 : 0.5 * begin;
		while (x > 0 && x < INFINITY) {
			double term = x / (sqrt((x + a) / (x + 1) * (x + b)) * (x + d));
			for (double i = 0; i < j; i++) term /= x + b;
			for (double i = 0; i < k; i++) term /= x + d;
			total += term;
			if ((up ? x > far : x < far) && term <= 1e-18 * total) break;
			const double behind = factor * x;
			x = next;
			next = behind;
		}
	}
	return 0.25 * M_LN2 * pow(s, 2 * (k + j) + 1) * total;
}
double elliptic_slope(const double *p) {
	double s, c;
	const double k = p[0], j = p[1], n = p[2], m = p[4], turns = half_turns(p[3], &s, &c);
	if (isnan(n + p[3] + m) || !(k >= 0 && j >= 0 && k + j <= MOST_DERIVATIVES)) return NAN;
	const double part = copysign(elliptic_moment(k, j, n, fabs(s), c, m), s);
	return part + (turns ? 2 * turns * elliptic_moment(k, j, n, 1, 0, m) : 0);
}

/* am(u | m), m <= 1, by the arithmetic-geometric mean (DLMF 22.20(ii)) */
static long double amplitude(long double u, double m) {
	enum { MOST = 40 };
	if (m == 1) return 2 * atanl(tanhl(0.5L * u));
	long double ratio[MOST], a = 1, b = sqrtl(1 - (long double)m);
	int n = 0;
	while (n < MOST && fabsl(a - b) > 1e-20L * a) {
		const long double mean = 0.5L * (a + b);
		ratio[n++] = 0.5L * (a - b) / mean;
		b = sqrtl(a * b);
		a = mean;
	}
	long double phi = ldexpl(a * u, n);
	while (n-- > 0) phi = 0.5L * (phi + asinl(ratio[n] * sinl(phi)));
	return phi;
}
double jacobi_am(const double *p) {
	return isnan(p[0] + p[1]) || p[1] > 1 ? NAN : (double)amplitude(p[0], p[1]);
}
/* cos of the amplitude; near its zeros it needs more than double precision */
double jacobi_cn(const double *p) {
	return isnan(p[0] + p[1]) || p[1] > 1 ? NAN : (double)cosl(amplitude(p[0], p[1]));
}
