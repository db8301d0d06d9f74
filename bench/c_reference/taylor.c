/* taylor.c - C reference: high derivatives of a small network with one input.
 *
 * Method: Taylor coefficients through the layers, with points in the SIMD
 * lanes. The coefficients of VD points stay in L1. A register tile of a product
 * is two units by half of the coefficients. The series of tanh is y' = (1 -
 * y^2) h', with each product of equal series computed once (Griewank and
 * Walther, 2nd ed., section 13.2).
 *
 * Needs: limit.h, vecmath.h.
 */
#include "limit.h"
#include "vecmath.h"

#define WIDTH 32
#define MOST 8 /* the order */

typedef vd Coefficients[WIDTH][MOST + 1];

/* Computes tanh of the series h in place: k y_k = sum_{j=1..k} j h_j g_{k-j}
 * with g = 1 - y^2. */
INLINE void tanh_series(vd *h, int order) {
	vd y[MOST + 1], g[MOST + 1], slope[MOST + 1]; /* slope: j h_j */
	y[0] = vd_tanh(h[0]);
	g[0] = 1.0 - y[0] * y[0];
	UNROLL for (int k = 1; k <= order; k++) {
		slope[k] = (double)k * h[k];
		vd s = slope[k] * g[0];
		UNROLL for (int j = 1; j < k; j++) s += slope[j] * g[k - j];
		y[k] = s * (1.0 / k);
		if (k == order) break;
		vd t = y[0] * y[k];
		UNROLL for (int j = 1; 2 * j < k; j++) t += y[j] * y[k - j];
		t += t;
		if (k % 2 == 0) t += y[k / 2] * y[k / 2];
		g[k] = -t;
	}
	UNROLL for (int k = 0; k <= order; k++) h[k] = y[k];
}

/* Computes coefficients from .. to - 1 of two units of the next layer. */
INLINE void two_units(const double *w0, const double *w1, Coefficients z, vd *h0, vd *h1, int from,
                      int to) {
	vd a[5], b[5];
	UNROLL for (int k = from; k < to; k++) a[k - from] = b[k - from] = vd_zero();
	for (int i = 0; i < WIDTH; i++) {
		const vd p = vd_set(w0[i]), q = vd_set(w1[i]);
		UNROLL for (int k = from; k < to; k++) {
			a[k - from] += p * z[i][k];
			b[k - from] += q * z[i][k];
		}
	}
	UNROLL for (int k = from; k < to; k++) {
		h0[k] = a[k - from];
		h1[k] = b[k - from];
	}
}

INLINE void layer(const double *w, const double *bias, Coefficients z, Coefficients h, int order) {
	for (int j = 0; j < WIDTH; j += 2) {
		const double *w0 = w + j * WIDTH, *w1 = w0 + WIDTH;
		two_units(w0, w1, z, h[j], h[j + 1], 0, order > 4 ? 5 : order + 1);
		if (order > 4) two_units(w0, w1, z, h[j], h[j + 1], 5, order + 1);
		for (int i = j; i < j + 2; i++) {
			h[i][0] += bias[i];
			tanh_series(h[i], order);
		}
	}
}

INLINE void points(Case *c, int64_t from, int64_t to, int order) {
	const double *w1 = c->in[0].data, *b1 = c->in[1].data, *w2 = c->in[2].data, *b2 = c->in[3].data,
				 *w3 = c->in[4].data, *b3 = c->in[5].data, *w4 = c->in[6].data, *x = c->in[7].data;
	double *out = c->out[0].data, factorial = 1;
	for (int k = 2; k <= order; k++) factorial *= k;
	for (int64_t at = from; at < to; at += VD) {
		Coefficients z, h;
		vd s = vd_zero(), here = vd_zero();
		for (int i = 0; i < VD; i++) here[i] = x[at + i < to ? at + i : to - 1];
		for (int i = 0; i < WIDTH; i++) {
			z[i][0] = w1[i] * here + b1[i];
			z[i][1] = vd_set(w1[i]);
			UNROLL for (int k = 2; k <= order; k++) z[i][k] = vd_zero();
			tanh_series(z[i], order);
		}
		layer(w2, b2, z, h, order);
		layer(w3, b3, h, z, order);
		for (int i = 0; i < WIDTH; i++) s += w4[i] * z[i][order];
		s *= factorial;
		for (int i = 0; i < VD && at + i < to; i++) out[at + i] = s[i];
	}
}

static void taylor_part(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to;
	limit_share(c->n, VD, part, parts, &from, &to);
	if (c->row->variant == 4) points(c, from, to, 4);
	else points(c, from, to, 8);
}

static void taylor_run(Case *c) { limit_parallel(c->threads, taylor_part, c); }

static void taylor_setup(Case *c) {
	const double span = 0.306; /* Glorot: sqrt(6 / (32 + 32)) */
	c->lengths[0] = WIDTH, c->lengths[1] = c->n;
	const bool matrix[7] = {[2] = true, [4] = true};
	for (int i = 0; i < 7; i++) {
		c->in[i] = limit_array(REAL64, WIDTH, matrix[i] ? WIDTH : 0, 0);
		limit_fill(&c->in[i], 90 + (uint64_t)i, -span, span);
	}
	c->in[7] = limit_array(REAL64, c->n, 0, 0);
	limit_fill(&c->in[7], 98, -1, 1);
	c->ins = 8;
	c->out[0] = limit_array(REAL64, c->n, 0, 0);
	c->outs = 1;
}

#define TAYLOR(K, FUNCTION)                                                                        \
	.title = "derivative " #K " of a network 1-32-32-32-1, n = 1000", .program = "taylor",         \
	.function = FUNCTION,                                                                          \
	.type = "(f64[w], f64[w], f64[w, w], f64[w], f64[w, w], f64[w], f64[w], f64[n]) -> f64[n]",    \
	.goal = 1.5, .tolerance = 1e-11, .full = 1000, .quick = 200, .variant = K,                     \
	.setup = taylor_setup, .run = taylor_run

const Row taylor_rows[] = {
	{.name = "taylor-4", TAYLOR(4, "fourth")},
	{.name = "taylor-8", TAYLOR(8, "eighth")},
	{0},
};
