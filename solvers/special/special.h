/* special.h - shared declarations of the special functions, with long double
 * helpers.
 *
 * Needs: nothing.
 *
 * Contract: each function is defined for every double, as
 * solvers/special/special.c states. long double has 64 or 113 bits (x86-64,
 * aarch64). The extra digits absorb the errors of powers, logarithms and
 * cancelling sums.
 */
#ifndef ATLED_SOLVERS_SPECIAL_SPECIAL_H
#define ATLED_SOLVERS_SPECIAL_SPECIAL_H

#include <math.h>
#include <stdbool.h>

static const long double PI_L = 3.14159265358979323846264338327950288L;

static inline bool whole(double x) { return x == nearbyint(x) && fabs(x) < 1e15; }
static inline bool odd(double n) { return fmod(n, 2) != 0; }
/* Whether the gamma function has a pole at x. */
static inline bool pole(double x) { return x <= 0 && whole(x); }
/* Whether x is a degree or order within the limits of iteration; beyond them
 * functions are NaN. */
static inline bool order(double x) { return whole(x) && fabs(x) <= 1e5; }

/* cos(pi x) and sin(pi x), exact where they are 0 or 1 (special.c). */
double cos_pi(double x);
double sin_pi(double x);

/* ---- gamma_beta.c: incomplete functions and their inverses --------------- */

/* The even and the odd part of 1/gamma(1 + x), |x| <= 1/2, the latter divided
 * by x. */
void reciprocal_gamma(long double x, long double *even, long double *odd_over_x);
double log_beta(const double *x);
double beta_of(const double *x);
double gamma_density(const double *x);
double gamma_log_density(const double *x);
double gamma_inc(const double *x);
double gamma_inc_rest(const double *x);
double gamma_lower(const double *x);
double gamma_upper(const double *x);
double gamma_inc_inverse(const double *x);
double beta_density(const double *x);
double beta_log_density(const double *x);
double beta_inc(const double *x);
double beta_inc_rest(const double *x);
double beta_inc_inverse(const double *x);
double binomial_log(const double *x);
/* The same in terms of the odds r = x/(1 - x), which resolve both ends of 0 ..
 * 1. */
double odds_density(const double *x);
double odds_log_density(const double *x);
double odds_inc(const double *x);
double odds_inc_rest(const double *x);
double odds_inc_inverse(const double *x);
double erfc_inverse(const double *x); /* special.c */

/* ---- bessel.c: Bessel functions of real order */

double bessel_j(const double *x);
double bessel_y(const double *x);
double bessel_i(const double *x);
double bessel_k(const double *x);
double bessel_i_scaled(const double *x);
double bessel_k_scaled(const double *x);
/* J for nu >= 0 and x > 0 */
long double bessel_j_right(double nu, long double x);
/* Ai, Bi, Ai', Bi' for x <= -2 */
double airy_left(double x, int which);
double spherical_j(const double *x);
double spherical_y(const double *x);
double spherical_i(const double *x);
double spherical_k(const double *x);

/* ---- hypergeometric.c */

double hyp0f1(const double *x);
double hyp1f1(const double *x);
double hyp_u(const double *x);
double hyp2f1(const double *x);

/* ---- elliptic.c: elliptic integrals, by the parameter m */

double ellip_k(const double *p);
double ellip_e(const double *p);
double ellip_f(const double *p);
double ellip_d(const double *p);
double ellip_e_of(const double *p);
double ellip_pi(const double *p);
double ellip_pi_of(const double *p);
/* the k-th derivative of ellippiinc with respect to n and the j-th with respect
 * to m; arguments k, j, n, phi, m */
double elliptic_slope(const double *p);
double jacobi_am(const double *p);
double jacobi_cn(const double *p);

#endif
