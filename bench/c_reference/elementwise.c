/* elementwise.c - C reference: element-wise rows.
 *
 * Computes a sin(x) + b exp(-x^2), and a chain of 20 operations.
 *
 * Method: one pass, two vectors in flight. Results larger than the caches use
 * streaming stores; small arrays use one thread.
 *
 * Needs: limit.h, vecmath.h.
 */
#include "limit.h"
#include "vecmath.h"

/* With fewer elements another thread does not pay. With more than the second
 * limit the result is not read again from the cache. */
#define THREADS_FROM 8192
#define STREAM_FROM 1000000

static void wave_setup(Case *c) {
	c->lengths[0] = c->n;
	c->in[0] = limit_array(REAL64, 1, 0, 0), c->in[1] = limit_array(REAL64, 1, 0, 0);
	c->in[0].rank = c->in[1].rank = 0;
	((double *)c->in[0].data)[0] = 1.3, ((double *)c->in[1].data)[0] = 0.7;
	c->in[2] = limit_array(REAL64, c->n, 0, 0);
	limit_fill(&c->in[2], 1, -5, 5);
	c->out[0] = limit_array(REAL64, c->n, 0, 0);
	c->ins = 3, c->outs = 1;
}

INLINE vd wave(vd a, vd b, vd x) { return a * vd_sin(x) + b * vd_exp(-(x * x)); }

static void wave_part(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to;
	limit_share(c->n, 8 * VD, part, parts, &from, &to);
	const double *x = c->in[2].data;
	double *y = c->out[0].data;
	vd a = vd_set(*(double *)c->in[0].data), b = vd_set(*(double *)c->in[1].data);
	bool stream = c->n >= STREAM_FROM;
	int64_t i = from;
	if (stream)
		for (; i + 2 * VD <= to; i += 2 * VD) {
			vd u = wave(a, b, vd_load(x + i)), v = wave(a, b, vd_load(x + i + VD));
			vd_stream(y + i, u), vd_stream(y + i + VD, v);
		}
	for (; i + VD <= to; i += VD) vd_store(y + i, wave(a, b, vd_load(x + i)));
	for (; i < to; i++) y[i] = wave(a, b, vd_set(x[i]))[0];
	stream_end();
}
static void wave_run(Case *c) {
	limit_parallel(c->n >= THREADS_FROM ? c->threads : 1, wave_part, c);
}

static void chain_setup(Case *c) {
	c->lengths[0] = c->n;
	c->in[0] = limit_array(REAL64, c->n, 0, 0);
	limit_fill(&c->in[0], 2, -3, 3);
	c->out[0] = limit_array(REAL64, c->n, 0, 0);
	c->ins = 1, c->outs = 1;
}

/* The chain of one element has a long latency, and only few chains fit the
 * reorder buffer. Four short stages over a block keep many elements in
 * flight. */
#define BLOCK 512

static void chain_block(const double *x, double *y, int64_t n, bool stream) {
	_Alignas(64) double b[BLOCK], p[BLOCK], d[BLOCK], h[BLOCK];
	for (int64_t i = 0; i < n; i += VD) {
		vd v = vd_load(x + i), t = vd_tanh(0.5 * v + 0.1);
		vd_store(b + i, t), vd_store(p + i, t * t - 0.3 * v);
	}
	for (int64_t i = 0; i < n; i += VD) {
		vd q = vd_load(p + i), e = vd_exp(-q * q);
		vd_store(d + i, e), vd_store(h + i, e * vd_load(b + i) + (0.5 * vd_load(x + i) + 0.1));
	}
	for (int64_t i = 0; i < n; i += VD) {
		vd f = vd_load(h + i), r = f / vd_sqrt(f * f + 1.0);
		vd_store(h + i, r), vd_store(d + i, r - 0.2 * vd_load(d + i));
	}
	for (int64_t i = 0; i < n; i += VD) {
		vd r = vd_tanh(vd_load(d + i)) * vd_load(p + i) + vd_load(h + i);
		if (stream) vd_stream(y + i, r);
		else vd_store(y + i, r);
	}
}

static void chain_part(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to;
	limit_share(c->n, 8 * VD, part, parts, &from, &to);
	const double *x = c->in[0].data;
	double *y = c->out[0].data;
	int64_t i = from;
	for (; i < to / VD * VD; i += BLOCK)
		chain_block(x + i, y + i, to / VD * VD - i < BLOCK ? to / VD * VD - i : BLOCK,
		            c->n >= STREAM_FROM);
	i = to / VD * VD > from ? to / VD * VD : from;
	if (i < to) {
		double in[VD] = {0}, out[VD];
		memcpy(in, x + i, (size_t)(to - i) * 8);
		chain_block(in, out, VD, false);
		memcpy(y + i, out, (size_t)(to - i) * 8);
	}
	stream_end();
}
static void chain_run(Case *c) {
	limit_parallel(c->n >= THREADS_FROM ? c->threads : 1, chain_part, c);
}

#define CHAIN(label, text, n, small)                                                               \
	{                                                                                              \
		.name = label, .title = text, .program = "elementwise", .function = "chain",               \
		.type = "(f64[n]) -> f64[n]", .goal = 1.15, .tolerance = 1e-14, .full = n, .quick = small, \
		.setup = chain_setup, .run = chain_run                                                     \
	}

const Row elementwise_rows[] = {
	{.name = "wave",
     .title = "a sin x + b exp(-x^2), n = 1e7",
     .program = "elementwise",
     .function = "wave",
     .type = "(f64, f64, f64[n]) -> f64[n]",
     .goal = 1.15,
     .tolerance = 1e-14,
     .full = 10000000,
     .quick = 200000,
     .setup = wave_setup,
     .run = wave_run},
	CHAIN("chain-1e3", "chain of 20 operations, n = 1e3", 1000, 1000),
	CHAIN("chain-1e5", "chain of 20 operations, n = 1e5", 100000, 20000),
	CHAIN("chain-1e7", "chain of 20 operations, n = 1e7", 10000000, 200000),
	{0},
};
