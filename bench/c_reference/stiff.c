/* stiff.c - C reference: small stiff systems by Radau IIA and RODAS.
 *
 * Method: Hairer and Wanner, Solving Ordinary Differential Equations II.
 * - Radau IIA of order 5 as in RADAU5 (IV.8): two linear systems, one real and
 *   one complex; simplified Newton iterations with convergence monitoring;
 *   starting values from the last step; an error estimate through the real
 *   system; predictive control; reuse of matrices.
 * - RODAS (IV.7) for a larger system and for the 1-D Brusselator.
 *
 * Right-hand sides and Jacobians are written in C. The number of unknowns is a
 * compile-time constant.
 *
 * Needs: limit.h, systems.h.
 *
 * Guarantees: each result is correct to the row's tolerance. The tolerances of
 * the integrators are those at which both sides have that error.
 */
#include "limit.h"
#include "systems.h"

#include <math.h>
#include <string.h>

/* ---- linear systems by columns; p[k] is the pivot row of step k ---------- */

INLINE void factor(int n, double *a, int *p) {
	for (int k = 0; k < n; k++) {
		int m = k;
		for (int i = k + 1; i < n; i++)
			if (fabs(a[k * n + i]) > fabs(a[k * n + m])) m = i;
		p[k] = m;
		double pivot = a[k * n + m];
		a[k * n + m] = a[k * n + k];
		a[k * n + k] = pivot = 1 / pivot;
		for (int i = k + 1; i < n; i++) a[k * n + i] *= -pivot;
		for (int j = k + 1; j < n; j++) {
			double t = a[j * n + m];
			a[j * n + m] = a[j * n + k];
			a[j * n + k] = t;
			if (t != 0)
				for (int i = k + 1; i < n; i++) a[j * n + i] += a[k * n + i] * t;
		}
	}
}

INLINE void solve(int n, const double *a, const int *p, double *b) {
	for (int k = 0; k < n; k++) {
		double t = b[p[k]];
		b[p[k]] = b[k];
		b[k] = t;
		for (int i = k + 1; i < n; i++) b[i] += a[k * n + i] * t;
	}
	for (int k = n; k-- > 0;) {
		double t = b[k] *= a[k * n + k];
		for (int i = 0; i < k; i++) b[i] -= a[k * n + i] * t;
	}
}

INLINE void factor_complex(int n, double *a, double *c, int *p) {
	for (int k = 0; k < n; k++) {
		int m = k;
		for (int i = k + 1; i < n; i++)
			if (fabs(a[k * n + i]) + fabs(c[k * n + i]) > fabs(a[k * n + m]) + fabs(c[k * n + m]))
				m = i;
		p[k] = m;
		double x = a[k * n + m], y = c[k * n + m];
		a[k * n + m] = a[k * n + k];
		c[k * n + m] = c[k * n + k];
		const double d = 1 / (x * x + y * y);
		x *= d;
		y *= -d;
		a[k * n + k] = x;
		c[k * n + k] = y;
		for (int i = k + 1; i < n; i++) {
			const double u = a[k * n + i], v = c[k * n + i];
			a[k * n + i] = -(u * x - v * y);
			c[k * n + i] = -(u * y + v * x);
		}
		for (int j = k + 1; j < n; j++) {
			const double u = a[j * n + m], v = c[j * n + m];
			a[j * n + m] = a[j * n + k];
			c[j * n + m] = c[j * n + k];
			a[j * n + k] = u;
			c[j * n + k] = v;
			if (u == 0 && v == 0) continue;
			for (int i = k + 1; i < n; i++) {
				a[j * n + i] += a[k * n + i] * u - c[k * n + i] * v;
				c[j * n + i] += a[k * n + i] * v + c[k * n + i] * u;
			}
		}
	}
}

INLINE void solve_complex(int n, const double *a, const double *c, const int *p, double *b,
                          double *d) {
	for (int k = 0; k < n; k++) {
		const double u = b[p[k]], v = d[p[k]];
		b[p[k]] = b[k];
		d[p[k]] = d[k];
		b[k] = u;
		d[k] = v;
		for (int i = k + 1; i < n; i++) {
			b[i] += a[k * n + i] * u - c[k * n + i] * v;
			d[i] += a[k * n + i] * v + c[k * n + i] * u;
		}
	}
	for (int k = n; k-- > 0;) {
		const double u = b[k] * a[k * n + k] - d[k] * c[k * n + k],
					 v = b[k] * c[k * n + k] + d[k] * a[k * n + k];
		b[k] = u;
		d[k] = v;
		for (int i = 0; i < k; i++) {
			b[i] -= a[k * n + i] * u - c[k * n + i] * v;
			d[i] -= a[k * n + i] * v + c[k * n + i] * u;
		}
	}
}

/* ---- Radau IIA, order 5 -------------------------------------------------- */

enum { MOST = 20, TURNS = 7 };

static const double T[9] = {9.1232394870892942792E-02,
                            -0.14125529502095420843,
                            -3.0029194105147424492E-02,
                            0.24171793270710701896,
                            0.20412935229379993199,
                            0.38294211275726193779,
                            0.96604818261509293619,
                            1,
                            0};
static const double TI[9] = {
	4.3255798900631553510,   0.33919925181580986954,  0.54177053993587487119,
	-4.1787185915519047273,  -0.32768282076106238708, 0.47662355450055045196,
	-0.50287263494578687595, 2.5719269498556054292,   -0.59603920482822492497};

typedef struct Radau {
	double c1, c2, c1m1, c2m1, c1mc2, alpha, beta, gamma; /* of the method */
	double rtol, atol, newton_tolerance;
	double h, kept_h; /* the step, and the one that con belongs to */
	double faccon, theta;
	double J[MOST * MOST], E1[MOST * MOST], ER[MOST * MOST], EI[MOST * MOST];
	double f0[MOST], z[3][MOST], w[3][MOST], g[3][MOST], x[MOST], scale[MOST], con[3][MOST];
	int p1[MOST], p2[MOST];
} Radau;

INLINE void radau_begin(Radau *r, double h, double rtol, double atol) {
	const double r6 = sqrt(6), p3 = cbrt(9), s81 = cbrt(81), al = (12 - s81 + p3) / 60,
				 be = (s81 + p3) * sqrt(3) / 60, no = al * al + be * be;
	r->c1 = (4 - r6) / 10;
	r->c2 = (4 + r6) / 10;
	r->c1m1 = r->c1 - 1;
	r->c2m1 = r->c2 - 1;
	r->c1mc2 = r->c1 - r->c2;
	r->alpha = al / no;
	r->beta = be / no;
	r->gamma = 1 / ((6 + s81 - p3) / 30);
	r->newton_tolerance = fmax(10 * 2.3e-16 / rtol, fmin(0.03, sqrt(rtol)));
	r->rtol = 0.1 * pow(rtol, 2.0 / 3);
	r->atol = r->rtol * (atol / rtol);
	r->h = r->kept_h = h;
	r->faccon = 1;
	r->theta = 0;
	memset(r->con, 0, sizeof r->con);
}

INLINE void radau_factor(int n, Radau *r) {
	const double a = r->gamma / r->h, b = r->alpha / r->h, c = r->beta / r->h;
	for (int i = 0; i < n * n; i++) {
		r->E1[i] = r->ER[i] = -r->J[i];
		r->EI[i] = 0;
	}
	for (int i = 0; i < n; i++) {
		r->E1[i * n + i] += a;
		r->ER[i * n + i] += b;
		r->EI[i * n + i] = c;
	}
	factor(n, r->E1, r->p1);
	factor_complex(n, r->ER, r->EI, r->p2);
}

/* The starting values of Newton's iteration: zero in the first step, else the
 * collocation polynomial of the last one. */
INLINE void radau_guess(int n, Radau *r, bool first) {
	if (first) {
		memset(r->z, 0, sizeof r->z);
		memset(r->w, 0, sizeof r->w);
		return;
	}
	const double s3 = r->h / r->kept_h, s[3] = {r->c1 * s3, r->c2 * s3, s3};
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 3; k++)
			r->z[k][i] =
				s[k] * (r->con[0][i] +
			            (s[k] - r->c2m1) * (r->con[1][i] + (s[k] - r->c1m1) * r->con[2][i]));
		for (int k = 0; k < 3; k++)
			r->w[k][i] =
				TI[3 * k] * r->z[0][i] + TI[3 * k + 1] * r->z[1][i] + TI[3 * k + 2] * r->z[2][i];
	}
}

/* One iteration: the correction in g; its weighted norm. */
INLINE double radau_correction(int n, Slope f, Radau *r, const double *y) {
	const double a = r->gamma / r->h, b = r->alpha / r->h, c = r->beta / r->h;
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < n; i++) r->x[i] = y[i] + r->z[k][i];
		f(r->x, r->g[k]);
	}
	for (int i = 0; i < n; i++) {
		const double g0 = r->g[0][i], g1 = r->g[1][i], g2 = r->g[2][i];
		const double w1 = r->w[1][i], w2 = r->w[2][i];
		r->g[0][i] = TI[0] * g0 + TI[1] * g1 + TI[2] * g2 - a * r->w[0][i];
		r->g[1][i] = TI[3] * g0 + TI[4] * g1 + TI[5] * g2 - (b * w1 - c * w2);
		r->g[2][i] = TI[6] * g0 + TI[7] * g1 + TI[8] * g2 - (b * w2 + c * w1);
	}
	solve(n, r->E1, r->p1, r->g[0]);
	solve_complex(n, r->ER, r->EI, r->p2, r->g[1], r->g[2]);
	double size = 0;
	for (int i = 0; i < n; i++) {
		const double s = 1 / r->scale[i];
		size +=
			s * s * (r->g[0][i] * r->g[0][i] + r->g[1][i] * r->g[1][i] + r->g[2][i] * r->g[2][i]);
	}
	return sqrt(size / (3 * n));
}

/* Simplified Newton iterations. Returns their number, or 0 when they do not
 * converge; *shrink is then the factor for the step. */
INLINE int radau_newton(int n, Slope f, Radau *r, const double *y, double *shrink) {
	double before = 0, before_quotient = 0;
	r->faccon = pow(fmax(r->faccon, 2.3e-16), 0.8);
	r->theta = 0.001;
	*shrink = 0.5;
	for (int turn = 1; turn <= TURNS; turn++) {
		const double size = radau_correction(n, f, r, y);
		if (turn > 1 && turn < TURNS) {
			const double quotient = size / before;
			r->theta = turn == 2 ? quotient : sqrt(quotient * before_quotient);
			before_quotient = quotient;
			if (r->theta >= 0.99) return 0;
			r->faccon = r->theta / (1 - r->theta);
			const double end =
				r->faccon * size * pow(r->theta, TURNS - 1 - turn) / r->newton_tolerance;
			if (end >= 1) {
				*shrink = 0.8 * pow(fmax(1e-4, fmin(20, end)), -1.0 / (4 + TURNS - 1 - turn));
				return 0;
			}
		}
		before = fmax(size, 2.3e-16);
		for (int i = 0; i < n; i++) {
			for (int k = 0; k < 3; k++) r->w[k][i] += r->g[k][i];
			r->z[0][i] = T[0] * r->w[0][i] + T[1] * r->w[1][i] + T[2] * r->w[2][i];
			r->z[1][i] = T[3] * r->w[0][i] + T[4] * r->w[1][i] + T[5] * r->w[2][i];
			r->z[2][i] = T[6] * r->w[0][i] + r->w[1][i];
		}
		if (r->faccon * size <= r->newton_tolerance) return turn;
	}
	return 0;
}

INLINE double radau_norm(int n, const Radau *r, const double *q) {
	double sum = 0;
	for (int i = 0; i < n; i++) sum += (q[i] / r->scale[i]) * (q[i] / r->scale[i]);
	return fmax(sqrt(sum / n), 1e-10);
}

/* The estimate of the step's error over the tolerance. `careful`: a large one
 * is filtered once more. */
INLINE double radau_error(int n, Slope f, Radau *r, const double *y, bool careful) {
	const double r6 = sqrt(6), e1 = -(13 + 7 * r6) / 3, e2 = (-13 + 7 * r6) / 3, e3 = -1.0 / 3;
	double d[MOST], q[MOST];
	for (int i = 0; i < n; i++) {
		d[i] = (e1 * r->z[0][i] + e2 * r->z[1][i] + e3 * r->z[2][i]) / r->h;
		q[i] = d[i] + r->f0[i];
	}
	solve(n, r->E1, r->p1, q);
	const double error = radau_norm(n, r, q);
	if (error < 1 || !careful) return error;
	for (int i = 0; i < n; i++) r->x[i] = y[i] + q[i];
	f(r->x, q);
	for (int i = 0; i < n; i++) q[i] += d[i];
	solve(n, r->E1, r->p1, q);
	return radau_norm(n, r, q);
}

/* Accepts the step: y, its collocation polynomial and the weights. */
INLINE void radau_accept(int n, Radau *r, double *y) {
	r->kept_h = r->h;
	for (int i = 0; i < n; i++) {
		y[i] += r->z[2][i];
		r->con[0][i] = (r->z[1][i] - r->z[2][i]) / r->c2m1;
		const double ak = (r->z[0][i] - r->z[1][i]) / r->c1mc2;
		r->con[1][i] = (ak - r->con[0][i]) / r->c1m1;
		r->con[2][i] = r->con[1][i] - (ak - r->z[0][i] / r->c1) / r->c2;
		r->scale[i] = r->atol + r->rtol * fabs(y[i]);
	}
}

/* Integrates from 0 to t1; rtol and atol are those of the method's user. */
INLINE void radau(int n, Slope f, Matrix jac, double *y, double t1, double h, double rtol,
                  double atol) {
	Radau r;
	double t = 0, before_h = h, before_error = 1e-2;
	bool first = true, rejected = false, new_jacobian = true, new_factors = true, current = false,
		 last = h >= t1;
	radau_begin(&r, last ? t1 : h, rtol, atol);
	f(y, r.f0);
	for (int i = 0; i < n; i++) r.scale[i] = r.atol + r.rtol * fabs(y[i]);
	for (;;) {
		if (new_jacobian) jac(y, r.J);
		current |= new_jacobian;
		if (new_jacobian || new_factors) radau_factor(n, &r);
		radau_guess(n, &r, first);
		double shrink, error = 0, next = 0;
		const int turn = radau_newton(n, f, &r, y, &shrink);
		if (turn) {
			error = radau_error(n, f, &r, y, first || rejected);
			const double fac = fmin(0.9, 0.9 * (1 + 2 * TURNS) / (turn + 2 * TURNS));
			double quotient = fmax(0.125, fmin(5, sqrt(sqrt(error)) / fac));
			if (error < 1 && !first) {
				const double before = sqrt(sqrt(error * error / before_error));
				quotient = fmax(quotient, fmax(0.125, fmin(5, (before_h / r.h) * before / 0.9)));
			}
			next = r.h / quotient;
		}
		if (!turn || error >= 1) {
			r.h = !turn ? r.h * shrink : first ? 0.1 * r.h : next;
			rejected = true;
			last = false;
			new_jacobian = !current;
			new_factors = true;
			continue;
		}
		before_h = r.h;
		before_error = fmax(1e-2, error);
		t += r.h;
		radau_accept(n, &r, y);
		current = false;
		if (last) return;
		f(y, r.f0);
		if (rejected) next = fmin(next, r.h);
		rejected = first = false;
		if (t + next * 1.0001 >= t1) {
			next = t1 - t;
			last = true;
		}
		const double change = next / r.h;
		new_jacobian = r.theta > 0.001;
		new_factors = last || new_jacobian || change < 1 || change > 1.2;
		if (new_factors) r.h = next;
	}
}

/* ---- RODAS --------------------------------------------------------------- */

enum { MOST_RODAS = 1000 };

static const double RA[5][4] = {
	{0},
	{1.544},
	{0.9466785280815826, 0.2557011698983284},
	{3.314825187068521, 2.896124015972201, 0.9986419139977817},
	{1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950}};
static const double RC[6][5] = {
	{0},
	{-5.6688},
	{-2.430093356833875, -0.2063599157091915},
	{-0.1073529058151375, -9.594562251023355, -20.47028614809616},
	{7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
	{8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
     -6.058818238834054}};

typedef struct Linear { /* of 1 / (h / 4) - J */
	double *j, *m;
	int *p;
} Linear;
/* moved: y has changed */
typedef void (*Prepare)(Linear *l, const double *y, double shift, bool moved);
typedef void (*Back)(const Linear *l, double *b);

/* RODAS of order 4 for y' = f(y) from 0 to t1 (Hairer and Wanner II, IV.7 and
 * IV.10). */
INLINE void rodas(int n, Slope f, Prepare prepare, Back back, Linear *l, double *y, double t1,
                  double h, double rtol, double atol) {
	static double u[6][MOST_RODAS], w[MOST_RODAS], d[MOST_RODAS];
	double t = 0;
	bool rejected = false;
	while (t < t1) {
		if (t + h > t1) h = t1 - t;
		prepare(l, y, 4 / h, !rejected);
		const double s = 1 / h;
		for (int i = 0; i < 6; i++) {
			if (i == 5)
				for (int k = 0; k < n; k++) w[k] += u[4][k];
			else
				for (int k = 0; k < n; k++) {
					double sum = y[k];
					for (int q = 0; q < i; q++) sum += RA[i][q] * u[q][k];
					w[k] = sum;
				}
			f(w, u[i]);
			for (int q = 0; q < i; q++) {
				const double c = RC[i][q] * s;
				for (int k = 0; k < n; k++) u[i][k] += c * u[q][k];
			}
			back(l, u[i]);
		}
		double error = 0;
		for (int k = 0; k < n; k++) {
			d[k] = w[k] + u[5][k];
			const double e = u[5][k] / (atol + rtol * fmax(fabs(y[k]), fabs(d[k])));
			error += e * e;
		}
		error = sqrt(error / n);
		double grow = fmin(6, fmax(0.2, 0.9 * pow(error + 1e-30, -0.25)));
		if (error < 1) {
			t += h;
			memcpy(y, d, (size_t)n * sizeof *y);
			if (rejected) grow = fmin(1, grow);
		}
		rejected = error >= 1;
		h *= grow;
	}
}

/* ---- linear systems of two problems -------------------------------------- */

/* Verwer's problem with a dense matrix. */
INLINE void pollution_prepare(Linear *l, const double *y, double shift, bool moved) {
	if (moved) pollution_j(y, l->j);
	for (int i = 0; i < 400; i++) l->m[i] = -l->j[i];
	for (int i = 0; i < 20; i++) l->m[i * 21] += shift;
	factor(20, l->m, l->p);
}
INLINE void pollution_back(const Linear *l, double *b) { solve(20, l->m, l->p, b); }

/* The Brusselator: block elimination with 2 x 2 blocks, cell by cell. */
INLINE void brusselator_prepare(Linear *l, const double *y, double shift, bool moved) {
	(void)moved;
	double p = 0, q = 0, r = 0, s = 0; /* the inverse of the previous block */
	for (int i = 0; i < CELLS; i++) {
		const double u = y[2 * i], v = y[2 * i + 1];
		const double a = shift - (2 * u * v - 4 - 2 * BETWEEN) - BETWEEN * BETWEEN * p,
					 b = -u * u - BETWEEN * BETWEEN * q;
		const double c = -(3 - 2 * u * v) - BETWEEN * BETWEEN * r,
					 d = shift + u * u + 2 * BETWEEN - BETWEEN * BETWEEN * s,
					 x = 1 / (a * d - b * c);
		l->m[4 * i] = p = d * x;
		l->m[4 * i + 1] = q = -b * x;
		l->m[4 * i + 2] = r = -c * x;
		l->m[4 * i + 3] = s = a * x;
	}
}
INLINE void brusselator_back(const Linear *l, double *b) {
	const double *m = l->m;
	double u = 0, v = 0;
	for (int i = 0; i < CELLS; i++) {
		const double x = b[2 * i] + BETWEEN * u, y = b[2 * i + 1] + BETWEEN * v;
		b[2 * i] = u = m[4 * i] * x + m[4 * i + 1] * y;
		b[2 * i + 1] = v = m[4 * i + 2] * x + m[4 * i + 3] * y;
	}
	for (int i = CELLS - 1; i-- > 0;) {
		const double x = BETWEEN * u, y = BETWEEN * v;
		b[2 * i] = u = b[2 * i] + m[4 * i] * x + m[4 * i + 1] * y;
		b[2 * i + 1] = v = b[2 * i + 1] + m[4 * i + 2] * x + m[4 * i + 3] * y;
	}
}

/* ---- rows ---------------------------------------------------------------- */

static void end_time(Case *c, double t1, int64_t n) {
	c->in[0] = limit_array(REAL64, 1, 0, 0);
	c->in[0].rank = 0;
	*(double *)c->in[0].data = t1;
	c->out[0] = limit_array(REAL64, n, 0, 0);
	c->ins = c->outs = 1;
}

static void robertson_setup(Case *c) { end_time(c, (double)c->n, 3); }
static void robertson_run(Case *c) {
	double *y = c->out[0].data;
	y[0] = 1, y[1] = y[2] = 0;
	radau(3, robertson_f, robertson_j, y, *(const double *)c->in[0].data, 1e-6, 3e-7, 3e-13);
}

static void hires_setup(Case *c) { end_time(c, c->n == 321 ? 321.8122 : (double)c->n, 8); }
static void hires_run(Case *c) {
	double *y = c->out[0].data;
	memset(y, 0, 8 * sizeof *y);
	y[0] = 1, y[7] = 0.0057;
	radau(8, hires_f, hires_j, y, *(const double *)c->in[0].data, 1e-6, 1e-9, 1e-12);
}

static void pollution_setup(Case *c) {
	end_time(c, (double)c->n, 20);
	c->lengths[0] = 20;
}
static void pollution_run(Case *c) {
	static double j[400], m[400];
	static int p[20];
	double *y = c->out[0].data;
	memset(y, 0, 20 * sizeof *y);
	y[1] = 0.2, y[3] = 0.04, y[6] = 0.1, y[7] = 0.3, y[8] = 0.01, y[16] = 0.007;
	rodas(20, pollution_f, pollution_prepare, pollution_back, &(Linear){j, m, p}, y,
	      *(const double *)c->in[0].data, 1e-6, 1e-6, 1e-10);
}

static void brusselator_setup(Case *c) {
	end_time(c, (double)c->n, 2 * CELLS);
	c->lengths[0] = 2 * CELLS;
}
static void brusselator_run(Case *c) {
	static double m[4 * CELLS];
	double *y = c->out[0].data;
	for (int i = 0; i < CELLS; i++) {
		y[2 * i] = 1 + 0.5 * sin(2 * 3.14159265358979323846 * (i + 1) / (CELLS + 1));
		y[2 * i + 1] = 3;
	}
	rodas(2 * CELLS, brusselator_f, brusselator_prepare, brusselator_back, &(Linear){NULL, m, NULL},
	      y, *(const double *)c->in[0].data, 1e-6, 1e-6, 1e-10);
}

/* Sensitivities: the C reference times only the solve, so that the ratio is
 * that of the derivatives to one solve. The derivatives are compared with
 * precomputed differences of accurate solves with respect to the logarithm of
 * each rate. */

static double varied[25]; /* rates */
static void pollution_varied(const double *y, double *f) { pollution_with(varied, y, f); }
static void robertson_varied(const double *y, double *f) { robertson_with(varied, y, f); }

/* Computes k dy/dk for the components first .. first + m - 1 at the end time,
 * by differences of fourth order; out: m for each rate. */
static void by_rates(int n, int rates, const double *at, Slope f, Matrix j, const double *y0,
                     double t1, double atol, int first, int m, double *out) {
	static const double weight[4] = {1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12},
						place[4] = {-2, -1, 1, 2};
	double y[20];
	memcpy(varied, at, (size_t)rates * sizeof *at);
	memset(out, 0, (size_t)(m * rates) * sizeof *out);
	for (int r = 0; r < rates; r++) {
		for (int p = 0; p < 4; p++) {
			varied[r] = at[r] * (1 + 0.004 * place[p]);
			memcpy(y, y0, (size_t)n * sizeof *y);
			radau(n, f, j, y, t1, 1e-6, 1e-12, atol);
			for (int i = 0; i < m; i++) out[r * m + i] += weight[p] * y[first + i] / 0.004;
		}
		varied[r] = at[r];
	}
}

static void rates_in(Case *c, const double *rates, int n, int m) {
	c->in[0] = limit_array(REAL64, n, 0, 0);
	memcpy(c->in[0].data, rates, (size_t)n * sizeof *rates);
	c->out[0] = m == 1 ? limit_array(REAL64, n, 0, 0) : limit_array(REAL64, n, m, 0);
	c->ins = c->outs = 1;
	c->lengths[0] = n;
}

static const double air[20] = {0, 0.2, 0, 0.04, 0, 0, 0.1,   0.3, 0.01, 0,
                               0, 0,   0, 0,    0, 0, 0.007, 0,   0,    0};
static void adjoint_setup(Case *c) {
	rates_in(c, pollution_rates, 25, 1);
	by_rates(20, 25, pollution_rates, pollution_varied, pollution_j, air, (double)c->n, 1e-16, 1, 1,
	         c->out[0].data);
}
static void adjoint_run(Case *c) {
	static double j[400], m[400];
	static int p[20];
	double y[20];
	memcpy(y, air, sizeof y);
	rodas(20, pollution_f, pollution_prepare, pollution_back, &(Linear){j, m, p}, y, (double)c->n,
	      1e-6, 1e-6, 1e-10);
}
static void forward_setup(Case *c) {
	rates_in(c, robertson_rates, 3, 3);
	by_rates(3, 3, robertson_rates, robertson_varied, robertson_j, (const double[]){1, 0, 0},
	         (double)c->n, 1e-18, 0, 3, c->out[0].data);
}
static void forward_run(Case *c) {
	double y[3] = {1, 0, 0};
	radau(3, robertson_f, robertson_j, y, (double)c->n, 1e-6, 3e-7, 3e-13);
}

const Row stiff_rows[] = {
	{.name = "robertson",
     .title = "Robertson's reactions to t = 1e5, error 1e-8",
     .program = "stiff",
     .function = "robertson",
     .type = "(f64) -> f64[3]",
     .goal = 1.5,
     .tolerance = 3e-8,
     .full = 100000,
     .quick = 1000,
     .setup = robertson_setup,
     .run = robertson_run},
	{.name = "hires",
     .title = "HIRES, 8 unknowns, to t = 321.8122, error 1e-8",
     .program = "stiff",
     .function = "hires",
     .type = "(f64) -> f64[8]",
     .goal = 1.5,
     .tolerance = 3e-8,
     .full = 321,
     .quick = 321,
     .setup = hires_setup,
     .run = hires_run},
	{.name = "pollution",
     .title = "POLLU, 20 species, to t = 60 (C: RODAS)",
     .program = "stiff",
     .function = "pollute",
     .type = "(f64) -> f64[n]",
     .goal = 1.5,
     .tolerance = 1e-6,
     .full = 60,
     .quick = 60,
     .setup = pollution_setup,
     .run = pollution_run},
	{.name = "brusselator",
     .title = "Brusselator on a line, 500 cells, to t = 10 (C: RODAS, blocks of 2)",
     .program = "stiff",
     .function = "brusselate",
     .type = "(f64) -> f64[n]",
     .goal = 1.5,
     .tolerance = 1e-5,
     .full = 10,
     .quick = 1,
     .setup = brusselator_setup,
     .run = brusselator_run},
	{.name = "robertson-forward",
     .title = "Robertson to t = 1e5 and its 9 sensitivities (C: the solve)",
     .program = "stiff",
     .function = "robertson_slopes",
     .type = "(f64[3]) -> f64[3, 3]",
     .goal = 4,
     .tolerance = 1e-5,
     .full = 100000,
     .quick = 100000,
     .setup = forward_setup,
     .run = forward_run},
	{.name = "pollution-adjoint",
     .title = "Gradient of POLLU by 25 rates (C: the solve)",
     .program = "stiff",
     .function = "pollute_slopes",
     .type = "(f64[n]) -> f64[n]",
     .goal = 6,
     .tolerance = 1e-4,
     .full = 60,
     .quick = 60,
     .setup = adjoint_setup,
     .run = adjoint_run},
	{0},
};
