/* explicit.c - C reference: explicit Runge-Kutta integrators.
 *
 * One trajectory of the Lorenz equations by DOP853, and many by Tsit5, one
 * vector of them at a time.
 *
 * Method: stages in registers; zero coefficients are omitted; only exp and log
 * are calls. Step control as in Atled: error limit 1, safety factor 0.9, step
 * ratio between 0.1 and 10. The first step follows Hairer, Norsett and Wanner
 * (II.4), whose book has the coefficients of DOP853. Those of Tsit5 are from
 * Tsitouras 2011.
 *
 * Needs: limit.h, vec.h, vecmath.h.
 */
#include "limit.h"
#include "vec.h"
#include "vecmath.h"
#include <math.h>

/* ---- DOP853, one trajectory ---------------------------------------------- */

/* the last row has the weights of the step */
static const double dop_a[13][12] = {
	{0},
	{0.05260015195876773},
	{0.0197250569845379, 0.0591751709536137},
	{0.02958758547680685, 0, 0.08876275643042054},
	{0.2413651341592667, 0, -0.8845494793282861, 0.924834003261792},
	{0.037037037037037035, 0, 0, 0.17082860872947386, 0.12546768756682242},
	{0.037109375, 0, 0, 0.17025221101954405, 0.06021653898045596, -0.017578125},
	{0.03709200011850479, 0, 0, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402,
     0.008273789163814023},
	{0.6241109587160757, 0, 0, -3.3608926294469414, -0.868219346841726, 27.59209969944671,
     20.154067550477894, -43.48988418106996},
	{0.47766253643826434, 0, 0, -2.4881146199716677, -0.590290826836843, 21.230051448181193,
     15.279233632882423, -33.28821096898486, -0.020331201708508627},
	{-0.9371424300859873, 0, 0, 5.186372428844064, 1.0914373489967295, -8.149787010746927,
     -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196},
	{2.273310147516538, 0, 0, -10.53449546673725, -2.0008720582248625, -17.9589318631188,
     27.94888452941996, -2.8589982771350235, -8.87285693353063, 12.360567175794303,
     0.6433927460157636},
	{0.054293734116568765, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
     0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259},
};
static const double dop_e3[12] = {-0.18980075407240762,
                                  0,
                                  0,
                                  0,
                                  0,
                                  4.450312892752409,
                                  1.8915178993145003,
                                  -5.801203960010585,
                                  -0.4226823213237919,
                                  -0.1521609496625161,
                                  0.20136540080403034,
                                  0.02265179219836082};
static const double dop_e5[12] = {0.01312004499419488,
                                  0,
                                  0,
                                  0,
                                  0,
                                  -1.2251564463762044,
                                  -0.4957589496572502,
                                  1.6643771824549864,
                                  -0.35032884874997366,
                                  0.3341791187130175,
                                  0.08192320648511571,
                                  -0.022355307863886294};

#define N 3

INLINE void slope(const double *u, double *d) {
	d[0] = 10 * (u[1] - u[0]);
	d[1] = u[0] * (28 - u[2]) - u[1];
	d[2] = u[0] * u[1] - 8.0 / 3 * u[2];
}

INLINE void ahead(int s, const double *y, double h, double k[13][N], double *z) {
	UNROLL for (int i = 0; i < N; i++) {
		double sum = dop_a[s][0] * k[0][i];
		UNROLL for (int q = 1; q < s; q++) if (dop_a[s][q] != 0) sum += dop_a[s][q] * k[q][i];
		z[i] = y[i] + h * sum;
	}
}

INLINE double rms(const double *v, const double *scale) {
	double s = 0;
	UNROLL for (int i = 0; i < N; i++) s += (v[i] / scale[i]) * (v[i] / scale[i]);
	return sqrt(s / N);
}

static double first_step(const double *y, double rtol, double atol, double span) {
	double scale[N], f0[N], f1[N], z[N];
	for (int i = 0; i < N; i++) scale[i] = atol + rtol * fabs(y[i]);
	slope(y, f0);
	double d0 = rms(y, scale), d1 = rms(f0, scale),
		   h0 = fmin(span, d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1);
	for (int i = 0; i < N; i++) z[i] = y[i] + h0 * f0[i];
	slope(z, f1);
	for (int i = 0; i < N; i++) z[i] = f1[i] - f0[i];
	double d = fmax(d1, rms(z, scale) / h0);
	return fmin(span, fmin(100 * h0, d <= 1e-15 ? fmax(1e-6, 1e-3 * h0) : pow(0.01 / d, 1.0 / 9)));
}

static void trajectory_run(Case *c) {
	const double end = *(const double *)c->in[0].data, rtol = 1e-8, atol = 1e-10;
	double y[N] = {1, 1, 1}, z[N], k[13][N], t = 0, h = first_step(y, rtol, atol, end), most = 10;
	slope(y, k[0]);
	while (t != end) {
		const int last = end - t <= 1.01 * h;
		if (last) h = end - t;
		UNROLL for (int s = 1; s < 12; s++) {
			ahead(s, y, h, k, z);
			slope(z, k[s]);
		}
		ahead(12, y, h, k, z);
		slope(z, k[12]);
		double s5 = 0, s3 = 0;
		UNROLL for (int i = 0; i < N; i++) {
			double scale = atol + rtol * fmax(fabs(y[i]), fabs(z[i])), five = 0, three = 0;
			UNROLL for (int q = 0; q < 12; q++) {
				if (dop_e5[q] != 0) five += dop_e5[q] * k[q][i];
				if (dop_e3[q] != 0) three += dop_e3[q] * k[q][i];
			}
			s5 += (five / scale) * (five / scale);
			s3 += (three / scale) * (three / scale);
		}
		const double error = h * s5 / sqrt(N * (s5 + 0.01 * s3)),
					 factor = 0.9 * pow(fmax(error, 1e-10), -1.0 / 8);
		if (error <= 1) {
			t = last ? end : t + h;
			for (int i = 0; i < N; i++) y[i] = z[i], k[0][i] = k[12][i];
			h *= fmin(most, factor);
			most = 10;
		} else {
			h *= fmax(0.1, fmin(1, factor));
			most = 1;
		}
	}
	double *out = c->out[0].data;
	for (int i = 0; i < N; i++) out[i] = y[i];
}

static void trajectory_setup(Case *c) {
	c->in[0] = limit_array(REAL64, 1, 0, 0);
	c->in[0].rank = 0;
	*(double *)c->in[0].data = (double)c->n;
	c->out[0] = limit_array(REAL64, N, 0, 0);
	c->ins = c->outs = 1;
}

/* ---- Tsit5, many trajectories -------------------------------------------- */

static const double tsit_a[7][6] = {
	{0},
	{0.161},
	{-0.008480655492356989, 0.335480655492357},
	{2.8971530571054935, -6.359448489975075, 4.3622954328695815},
	{5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525},
	{5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
     -0.028269050394068383},
	{0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
     2.324710524099774},
};
static const double tsit_e[7] = {
	-0.001780011052225777, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629,
	0.5823571654525552,    -0.45808210592918697,   0.015151515151515152};

INLINE vd vd_abs(vd x) { return vd_max(x, -x); }
INLINE int any(vl mask) {
	int64_t found = 0;
	UNROLL for (int i = 0; i < VD; i++) found |= mask[i];
	return found != 0;
}

INLINE void slopes(const vd *u, vd r, vd *d) {
	d[0] = 10 * (u[1] - u[0]);
	d[1] = u[0] * (r - u[2]) - u[1];
	d[2] = u[0] * u[1] - 8.0 / 3 * u[2];
}

INLINE vd sizes(const vd *v, const vd *scale) {
	vd s = vd_zero();
	UNROLL for (int i = 0; i < N; i++) s += (v[i] / scale[i]) * (v[i] / scale[i]);
	return vd_sqrt(s / N);
}

INLINE vd first_steps(const vd *y, vd r, double rtol, double atol, vd span) {
	vd scale[N], f0[N], f1[N], z[N];
	UNROLL for (int i = 0; i < N; i++) scale[i] = atol + rtol * vd_abs(y[i]);
	slopes(y, r, f0);
	vd d0 = sizes(y, scale), d1 = sizes(f0, scale),
	   h0 = vd_min(span, vd_if((d0 < 1e-5) | (d1 < 1e-5), vd_set(1e-6), 0.01 * d0 / d1));
	UNROLL for (int i = 0; i < N; i++) z[i] = y[i] + h0 * f0[i];
	slopes(z, r, f1);
	UNROLL for (int i = 0; i < N; i++) z[i] = f1[i] - f0[i];
	vd d = vd_max(d1, sizes(z, scale) / h0),
	   h1 = vd_exp(vd_log(0.01 / vd_max(d, vd_set(1e-15))) / 6);
	return vd_min(span, vd_min(100 * h0, h1));
}

static void ensemble_part(int part, int parts, void *ud) {
	Case *c = ud;
	const double rtol = 1e-6, atol = 1e-9;
	const vd end = vd_set(1);
	int64_t from, to;
	limit_share(c->n, VD, part, parts, &from, &to);
	const double *rs = c->in[0].data;
	double *out = c->out[0].data;
	for (int64_t at = from; at < to; at += VD) {
		vd r;
		for (int i = 0; i < VD; i++) r[i] = rs[at + i < to ? at + i : to - 1];
		vd y[N] = {vd_set(1), vd_zero(), vd_zero()}, k[7][N], z[N], t = vd_zero(),
		   h = first_steps(y, r, rtol, atol, end), past = vd_set(log(1e-4)), most = vd_set(10);
		vl open = t != end;
		slopes(y, r, k[0]);
		do {
			const vd left = end - t;
			const vl last = left <= 1.01 * h;
			const vd step = vd_if(last, left, h);
			UNROLL for (int s = 1; s < 7; s++) {
				UNROLL for (int i = 0; i < N; i++) {
					vd sum = tsit_a[s][0] * k[0][i];
					UNROLL for (int q = 1; q < s; q++) sum += tsit_a[s][q] * k[q][i];
					z[i] = y[i] + step * sum;
				}
				slopes(z, r, k[s]);
			}
			vd size = vd_zero();
			UNROLL for (int i = 0; i < N; i++) {
				vd e = tsit_e[0] * k[0][i];
				UNROLL for (int q = 1; q < 7; q++) e += tsit_e[q] * k[q][i];
				e = step * e / (atol + rtol * vd_max(vd_abs(y[i]), vd_abs(z[i])));
				size += e * e;
			}
			size = vd_sqrt(size / N);
			const vl taken = size <= 1, move = taken & open;
			const vd le = vd_log(vd_max(size, vd_set(1e-10)));
			const vd grow = 0.9 * vd_exp(-0.17 * le + vd_if(taken, 0.04 * past, vd_zero()));
			const vd next = step * vd_min(vd_max(grow, vd_set(0.1)), vd_if(taken, most, vd_set(1)));
			t = vd_if(move, vd_if(last, end, t + step), t);
			UNROLL for (int i = 0; i < N; i++) y[i] = vd_if(move, z[i], y[i]),
											   k[0][i] = vd_if(move, k[6][i], k[0][i]);
			h = next;
			past = vd_if(taken, vd_max(le, vd_set(log(1e-4))), past);
			most = vd_if(taken, vd_set(10), vd_set(1));
			open = t != end;
		} while (any(open));
		for (int i = 0; i < VD && at + i < to; i++)
			for (int j = 0; j < N; j++) out[(at + i) * N + j] = y[j][i];
	}
}
static void ensemble_run(Case *c) { limit_parallel(c->threads, ensemble_part, c); }

static void ensemble_setup(Case *c) {
	c->lengths[0] = c->n;
	c->in[0] = limit_array(REAL64, c->n, 0, 0);
	limit_fill(&c->in[0], 90, 0, 50);
	c->out[0] = limit_array(REAL64, c->n, N, 0);
	c->ins = c->outs = 1;
}

/* The Lorenz system is chaotic: at t = 100 the result depends on the order of
 * summation. The comparison of the first row only checks that results are on
 * the attractor; tests/ode/explicit.dsl compares digits. */
const Row explicit_rows[] = {
	{.name = "dop853",
     .title = "Lorenz to t = 100 by DOP853, rtol 1e-8",
     .program = "explicit",
     .function = "trajectory",
     .type = "(f64) -> f64[3]",
     .goal = 1.3,
     .tolerance = 3,
     .full = 100,
     .quick = 10,
     .setup = trajectory_setup,
     .run = trajectory_run},
	{.name = "ensemble",
     .title = "1e5 trajectories of Lorenz's equations to t = 1 by Tsit5, rtol 1e-6",
     .program = "explicit",
     .function = "ensemble",
     .type = "(f64[n]) -> f64[n, 3]",
     .goal = 1.3,
     .tolerance = 1e-4,
     .full = 100000,
     .quick = 2000,
     .setup = ensemble_setup,
     .run = ensemble_run},
	{.name = "ensemble-million",
     .title = "1e6 trajectories of Lorenz's equations to t = 1 by Tsit5, rtol 1e-6",
     .program = "explicit",
     .function = "ensemble",
     .type = "(f64[n]) -> f64[n, 3]",
     .goal = 1.3,
     .tolerance = 1e-4,
     .full = 1000000,
     .quick = 5000,
     .setup = ensemble_setup,
     .run = ensemble_run},
	{0},
};
