/* gmm.c - C reference: the Gaussian mixture model (GMM) of ADBench.
 *
 * Computes the log-likelihood and its gradient, with gamma = 1 and m = 0.
 *
 * Method: samples in the SIMD lanes. A thread computes the value of its samples
 * and, while the exponents are in its cache, the gradient. Sums of the gradient
 * are in register tiles over GROUP vectors of samples.
 *
 * Needs: limit.h, vecmath.h.
 */
#include "limit.h"
#include "vecmath.h"

#define D 10
#define K 25
#define P (D * (D + 1) / 2)
#define GROUP 8 /* vectors of samples at once */

typedef struct Sums {
	/* of y = Q (x - mean), times the component's share of each sample */
	vd weight[K], y[K][D], yc[K][D][D], value;
} Sums;

typedef struct Work {
	double q[K][D][D], constant[K]; /* lower triangles; the terms before the square */
	Sums *sums[256];
} Work;

INLINE void products(const double (*q)[D], const vd *c, vd *y) {
	UNROLL for (int r = 0; r < D; r++) {
		vd s = q[r][0] * c[0];
		UNROLL for (int j = 1; j <= r; j++) s += q[r][j] * c[j];
		y[r] = s;
	}
}

static void gmm_part(int part, int parts, void *ud) {
	Case *c = ud;
	Work *w = c->own;
	Sums *g = w->sums[part];
	memset(g, 0, sizeof *g);
	const double(*mean)[D] = (const double(*)[D])c->in[1].data,
		  (*samples)[D] = (const double(*)[D])c->in[3].data;
	int64_t from, to;
	limit_share(c->n, GROUP * VD, part, parts, &from, &to);
	for (int64_t s0 = from; s0 < to; s0 += GROUP * VD) {
		vd x[GROUP][D], e[K][GROUP], y[GROUP][D], ce[GROUP][D];
		for (int v = 0; v < GROUP; v++)
			for (int i = 0; i < VD; i++) {
				int64_t s = s0 + v * VD + i < to ? s0 + v * VD + i : to - 1;
				for (int j = 0; j < D; j++) x[v][j][i] = samples[s][j];
			}
		for (int k = 0; k < K; k++)
			for (int v = 0; v < GROUP; v++) {
				vd d[D], z[D], s = vd_zero();
				UNROLL for (int j = 0; j < D; j++) d[j] = x[v][j] - mean[k][j];
				products(w->q[k], d, z);
				UNROLL for (int j = 0; j < D; j++) s += z[j] * z[j];
				e[k][v] = w->constant[k] - 0.5 * s;
			}
		for (int v = 0; v < GROUP; v++) {
			vd m = e[0][v], s = vd_zero(), there = vd_zero();
			for (int k = 1; k < K; k++) m = vd_max(m, e[k][v]);
			for (int k = 0; k < K; k++) {
				e[k][v] = vd_exp(e[k][v] - m);
				s += e[k][v];
			}
			for (int i = 0; i < VD; i++) there[i] = s0 + v * VD + i < to;
			g->value += there * (m + vd_log(s));
			vd share = there / s;
			for (int k = 0; k < K; k++) e[k][v] *= share;
		}
		if (!c->row->variant) continue;
		for (int k = 0; k < K; k++) {
			for (int v = 0; v < GROUP; v++) {
				vd z[D];
				UNROLL for (int j = 0; j < D; j++) ce[v][j] = x[v][j] - mean[k][j];
				products(w->q[k], ce[v], z);
				g->weight[k] += e[k][v];
				UNROLL for (int j = 0; j < D; j++) {
					y[v][j] = e[k][v] * z[j];
					g->y[k][j] += y[v][j];
				}
			}
			/* the lower triangle of y c' in tiles of two rows */
			UNROLL for (int r = 0; r < D; r += 2) {
				vd s[2][D];
				UNROLL for (int j = 0; j < r + 2; j++) s[0][j] = g->yc[k][r][j],
													   s[1][j] = g->yc[k][r + 1][j];
				for (int v = 0; v < GROUP; v++) {
					vd y0 = y[v][r], y1 = y[v][r + 1];
					UNROLL for (int j = 0; j < r + 2; j++) s[0][j] += y0 * ce[v][j],
						s[1][j] += y1 * ce[v][j];
				}
				UNROLL for (int j = 0; j < r + 2; j++) g->yc[k][r][j] = s[0][j],
													   g->yc[k][r + 1][j] = s[1][j];
			}
		}
	}
}

static void gmm_run(Case *c) {
	Work *w = c->own;
	const double *alpha = c->in[0].data, (*icf)[P] = (const double(*)[P])c->in[2].data;
	double prior = 0, largest = alpha[0], total = 0, n = (double)c->n;
	for (int k = 0; k < K; k++) {
		int at = D;
		double s = 0;
		for (int j = 0; j < D; j++) {
			w->q[k][j][j] = exp(icf[k][j]);
			s += icf[k][j];
			prior += 0.5 * w->q[k][j][j] * w->q[k][j][j];
			for (int r = j + 1; r < D; r++) w->q[k][r][j] = icf[k][at++];
		}
		for (int j = D; j < P; j++) prior += 0.5 * icf[k][j] * icf[k][j];
		w->constant[k] = alpha[k] + s;
		largest = fmax(largest, alpha[k]);
	}
	limit_parallel(c->threads, gmm_part, c);
	Sums *g = w->sums[0];
	for (int t = 1; t < c->threads; t++)
		for (size_t i = 0; i < sizeof *g / sizeof(vd); i++) ((vd *)g)[i] += ((vd *)w->sums[t])[i];
	for (int k = 0; k < K; k++) total += exp(alpha[k] - largest);
	/* As in the program, omits the terms of the constants of the Wishart and
	 * normal distributions that depend on the sizes only. */
	*(double *)c->out[0].data = vd_sum(g->value) - n * (largest + log(total)) + prior -
	                            n * D * 0.5 * log(2 * 3.14159265358979323846);
	if (!c->row->variant) return;
	double *to_alpha = c->out[1].data, *to_mean = c->out[2].data, *to_icf = c->out[3].data;
	for (int k = 0; k < K; k++) {
		double weight = vd_sum(g->weight[k]), y[D];
		*to_alpha++ = weight - n * exp(alpha[k] - largest) / total;
		for (int r = 0; r < D; r++) y[r] = vd_sum(g->y[k][r]);
		for (int j = 0; j < D; j++) {
			double s = 0;
			for (int r = j; r < D; r++) s += w->q[k][r][j] * y[r];
			*to_mean++ = s;
		}
		for (int j = 0; j < D; j++) {
			double d = w->q[k][j][j];
			*to_icf++ = weight - vd_sum(g->yc[k][j][j]) * d + d * d;
		}
		int at = D;
		for (int j = 0; j < D; j++)
			for (int r = j + 1; r < D; r++) *to_icf++ = icf[k][at++] - vd_sum(g->yc[k][r][j]);
	}
}

static void gmm_setup(Case *c) {
	Work *w = c->own = limit_memory(sizeof(Work));
	for (int t = 0; t < c->threads; t++) w->sums[t] = limit_memory(sizeof(Sums));
	c->lengths[0] = K, c->lengths[1] = D, c->lengths[2] = P, c->lengths[3] = c->n;
	c->in[0] = limit_array(REAL64, K, 0, 0), c->in[1] = limit_array(REAL64, K, D, 0),
	c->in[2] = limit_array(REAL64, K, P, 0), c->in[3] = limit_array(REAL64, c->n, D, 0);
	limit_fill(&c->in[0], 80, -1, 1), limit_fill(&c->in[1], 81, 0, 1),
		limit_fill(&c->in[2], 82, -0.5, 0.5), limit_fill(&c->in[3], 83, -1.5, 1.5);
	c->ins = 4;
	c->out[0] = limit_array(REAL64, 1, 0, 0), c->out[0].rank = 0;
	for (int i = 1; c->row->variant && i < 4; i++)
		c->out[i] =
			limit_array(REAL64, c->in[i - 1].shape[0], i > 1 ? c->in[i - 1].shape[1] : 0, 0);
	c->outs = c->row->variant ? 4 : 1;
}

const Row gmm_rows[] = {
	{.name = "gmm-value",
     .title = "mixture of Gaussians, n = 1000, d = 10, K = 25: the value",
     .program = "gmm",
     .function = "objective",
     .type = "(f64[k], f64[k, d], f64[k, p], f64[n, d]) -> f64",
     .goal = 1.5,
     .tolerance = 1e-11,
     .full = 1000,
     .quick = 200,
     .setup = gmm_setup,
     .run = gmm_run},
	{.name = "gmm",
     .title = "mixture of Gaussians, value and gradient, n = 1000, d = 10, K = 25",
     .program = "gmm",
     .function = "step",
     .type = "(f64[k], f64[k, d], f64[k, p], f64[n, d]) -> (f64, f64[k], f64[k, d], f64[k, p])",
     .goal = 1.5,
     .tolerance = 1e-11,
     .full = 1000,
     .quick = 200,
     .variant = 1,
     .setup = gmm_setup,
     .run = gmm_run},
	{0},
};
