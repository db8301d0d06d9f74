/* reduction.c - C reference: memory-bound rows.
 *
 * Triad, sum, dot, max, softmax and layer norm over rows, cumulative sum.
 *
 * Method: every input is read once from memory. A row of softmax and layer norm
 * stays in L1 between its passes. Results use streaming stores. Sums use 8
 * vectors and differ from sums from left to right by rounding only.
 *
 * Needs: limit.h, vecmath.h.
 */
#include "limit.h"
#include "vecmath.h"

#define WIDTH 1024
/* Elements of a thread's chunk in the cumulative sum, which is read twice, the
 * second time from the cache. */
#define CHUNK 8192

typedef struct Sums {
	_Alignas(64) double at[256][8];
} Sums;

static void make(Case *c, int inputs, bool number) {
	c->lengths[0] = c->n;
	c->own = limit_memory(sizeof(Sums));
	for (int k = 0; k < inputs; k++) {
		c->in[k] = limit_array(REAL64, c->n, 0, 0);
		limit_fill(&c->in[k], 10 + (uint64_t)k, -1, 1);
	}
	c->ins = inputs;
	c->out[0] = limit_array(REAL64, number ? 1 : c->n, 0, 0);
	if (number) c->out[0].rank = 0;
	c->outs = 1;
}

/* ---- triad --------------------------------------------------------------- */

static void triad_setup(Case *c) {
	make(c, 2, false);
	c->bytes = 24.0 * (double)c->n;
}
static void triad_part(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to;
	limit_share(c->n, 8 * VD, part, parts, &from, &to);
	const double *b = c->in[0].data, *d = c->in[1].data;
	double *a = c->out[0].data;
	int64_t i = from;
	for (; i + VD <= to; i += VD) vd_stream(a + i, vd_load(b + i) + 3.0 * vd_load(d + i));
	for (; i < to; i++) a[i] = b[i] + 3.0 * d[i];
	stream_end();
}
static void triad_run(Case *c) { limit_parallel(c->threads, triad_part, c); }

/* ---- reductions to a scalar ---------------------------------------------- */

typedef double (*Fold)(const double *x, const double *y, int64_t n);
typedef struct Folding {
	Case *c;
	Fold fold;
} Folding;

static double fold_sum(const double *x, const double *y, int64_t n) {
	(void)y;
	vd s[8];
	UNROLL for (int k = 0; k < 8; k++) s[k] = vd_zero();
	const int64_t whole = n / (8 * VD) * (8 * VD);
	for (int64_t i = 0; i < whole; i += 8 * VD) UNROLL
	for (int k = 0; k < 8; k++) s[k] += vd_load(x + i + k * VD);
	double rest = 0;
	for (int64_t i = whole; i < n; i++) rest += x[i];
	return vd_sum(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) + rest;
}
static double fold_dot(const double *x, const double *y, int64_t n) {
	vd s[8];
	UNROLL for (int k = 0; k < 8; k++) s[k] = vd_zero();
	const int64_t whole = n / (8 * VD) * (8 * VD);
	for (int64_t i = 0; i < whole; i += 8 * VD) UNROLL
	for (int k = 0; k < 8; k++) s[k] += vd_load(x + i + k * VD) * vd_load(y + i + k * VD);
	double rest = 0;
	for (int64_t i = whole; i < n; i++) rest += x[i] * y[i];
	return vd_sum(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) + rest;
}
static double fold_max(const double *x, const double *y, int64_t n) {
	(void)y;
	vd s[8];
	UNROLL for (int k = 0; k < 8; k++) s[k] = vd_set(-INFINITY);
	const int64_t whole = n / (8 * VD) * (8 * VD);
	for (int64_t i = 0; i < whole; i += 8 * VD) UNROLL
	for (int k = 0; k < 8; k++) s[k] = vd_max(s[k], vd_load(x + i + k * VD));
	double m = -INFINITY;
	for (int64_t i = whole; i < n; i++) m = x[i] > m ? x[i] : m;
	UNROLL for (int k = 1; k < 8; k++) s[0] = vd_max(s[0], s[k]);
	double v = vd_largest(s[0]);
	return v > m ? v : m;
}
static void fold_part(int part, int parts, void *ud) {
	Folding *f = ud;
	int64_t from, to;
	limit_share(f->c->n, 8 * VD, part, parts, &from, &to);
	const double *x = f->c->in[0].data, *y = f->c->ins > 1 ? f->c->in[1].data : x;
	((Sums *)f->c->own)->at[part][0] = f->fold(x + from, y + from, to - from);
}
static void run_fold(Case *c, Fold fold, bool largest) {
	Folding f = {c, fold};
	limit_parallel(c->threads, fold_part, &f);
	const Sums *s = c->own;
	double r = s->at[0][0];
	for (int k = 1; k < c->threads; k++) r = largest ? fmax(r, s->at[k][0]) : r + s->at[k][0];
	*(double *)c->out[0].data = r;
}
static void one_setup(Case *c) {
	make(c, c->row->variant, true);
	/* a sum near 0 would compare rounding errors only */
	for (int k = 0; k < c->ins; k++) limit_fill(&c->in[k], 10 + (uint64_t)k, 0, 1);
	c->bytes = 8.0 * c->row->variant * (double)c->n;
}
static void sum_run(Case *c) { run_fold(c, fold_sum, false); }
static void dot_run(Case *c) { run_fold(c, fold_dot, false); }
static void max_run(Case *c) { run_fold(c, fold_max, true); }

/* ---- over rows ----------------------------------------------------------- */

static void rows_setup(Case *c) {
	c->lengths[0] = c->n, c->lengths[1] = WIDTH;
	c->in[0] = limit_array(REAL64, c->n, WIDTH, 0);
	limit_fill(&c->in[0], 20, -4, 4);
	c->out[0] = limit_array(REAL64, c->n, WIDTH, 0);
	c->ins = c->outs = 1;
	if (c->row->variant) {
		c->in[1] = limit_array(REAL64, WIDTH, 0, 0), c->in[2] = limit_array(REAL64, WIDTH, 0, 0);
		limit_fill(&c->in[1], 21, 0.5, 1.5), limit_fill(&c->in[2], 22, -0.5, 0.5);
		c->ins = 3;
	}
	c->bytes = 16.0 * WIDTH * (double)c->n;
}
static void softmax_part(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to;
	limit_share(c->n, 1, part, parts, &from, &to);
	_Alignas(64) double e[WIDTH];
	for (int64_t r = from; r < to; r++) {
		const double *x = (const double *)c->in[0].data + r * WIDTH;
		double *y = (double *)c->out[0].data + r * WIDTH;
		vd m = vd_set(fold_max(x, x, WIDTH)), s0 = vd_zero(), s1 = vd_zero();
		for (int i = 0; i < WIDTH; i += 2 * VD) {
			/* prefetches the next row, because memory would idle here */
			__builtin_prefetch(x + WIDTH + i);
			vd u = vd_exp(vd_load(x + i) - m), v = vd_exp(vd_load(x + i + VD) - m);
			vd_store(e + i, u), vd_store(e + i + VD, v);
			s0 += u, s1 += v;
		}
		vd scale = vd_set(1 / vd_sum(s0 + s1));
		for (int i = 0; i < WIDTH; i += VD) vd_stream(y + i, vd_load(e + i) * scale);
	}
	stream_end();
}
static void softmax_run(Case *c) { limit_parallel(c->threads, softmax_part, c); }

static void norm_part(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to;
	limit_share(c->n, 1, part, parts, &from, &to);
	const double *gain = c->in[1].data, *shift = c->in[2].data;
	for (int64_t r = from; r < to; r++) {
		const double *x = (const double *)c->in[0].data + r * WIDTH;
		double *y = (double *)c->out[0].data + r * WIDTH;
		vd mean = vd_set(fold_sum(x, x, WIDTH) / WIDTH),
		   s[4] = {vd_zero(), vd_zero(), vd_zero(), vd_zero()};
		for (int i = 0; i < WIDTH; i += 4 * VD) UNROLL
		for (int k = 0; k < 4; k++) {
			__builtin_prefetch(x + WIDTH + i + k * VD);
			vd d = vd_load(x + i + k * VD) - mean;
			s[k] += d * d;
		}
		vd scale = vd_set(1 / sqrt(vd_sum((s[0] + s[1]) + (s[2] + s[3])) / WIDTH + 1e-5));
		for (int i = 0; i < WIDTH; i += VD)
			vd_stream(y + i,
			          (vd_load(x + i) - mean) * scale * vd_load(gain + i) + vd_load(shift + i));
	}
	stream_end();
}
static void norm_run(Case *c) { limit_parallel(c->threads, norm_part, c); }

/* ---- cumulative sum ------------------------------------------------------ */

static void running_setup(Case *c) {
	make(c, 1, false);
	c->bytes = 16.0 * (double)c->n;
}

/* Prefix sum within the vector. */
INLINE vd prefix(vd x) {
#if VD == 4
	const vd zero = vd_zero();
	x += __builtin_shufflevector(x, zero, 4, 0, 1, 2);
	x += __builtin_shufflevector(x, zero, 4, 4, 0, 1);
#elif VD == 8
	const vd zero = vd_zero();
	x += __builtin_shufflevector(x, zero, 8, 0, 1, 2, 3, 4, 5, 6);
	x += __builtin_shufflevector(x, zero, 8, 8, 0, 1, 2, 3, 4, 5);
	x += __builtin_shufflevector(x, zero, 8, 8, 8, 8, 0, 1, 2, 3);
#else
	for (int i = 1; i < VD; i++) x[i] += x[i - 1];
#endif
	return x;
}

/* All threads process the array together, each with its chunk of a section. A
 * thread first sums its chunk, and after a barrier writes it with the sums of
 * the earlier chunks. The sums alternate between two places, so that one
 * barrier per section is enough. */
static void running_part(int part, int parts, void *ud) {
	Case *c = ud;
	Sums *sums = c->own;
	const double *x = c->in[0].data;
	double *y = c->out[0].data, before = 0;
	for (int64_t base = 0, turn = 0; base < c->n; base += (int64_t)parts * CHUNK, turn++) {
		int64_t from = base + part * CHUNK, to = from + CHUNK < c->n ? from + CHUNK : c->n;
		sums->at[part][turn % 2] = from < to ? fold_sum(x + from, x, to - from) : 0;
		limit_barrier(parts);
		double total = before;
		for (int k = 0; k < part; k++) total += sums->at[k][turn % 2];
		vd carry = vd_set(total);
		int64_t i = from;
		for (; i + VD <= to; i += VD) {
			vd p = prefix(vd_load(x + i));
			vd_stream(y + i, p + carry);
			carry += p[VD - 1];
		}
		for (double s = carry[0]; i < to; i++) y[i] = s += x[i];
		for (int k = 0; k < parts; k++) before += sums->at[k][turn % 2];
	}
	stream_end();
}
static void running_run(Case *c) { limit_parallel(c->threads, running_part, c); }

#define ROW(label, text, f, t, big, small, v, s, r)                                                \
	{                                                                                              \
		.name = label, .title = text, .program = "reduction", .function = f, .type = t,            \
		.goal = 1.15, .tolerance = 1e-12, .full = big, .quick = small, .variant = v, .setup = s,   \
		.run = r                                                                                   \
	}

const Row reduction_rows[] = {
	ROW("triad", "triad b + 3c, n = 1e7", "triad", "(f64[n], f64[n]) -> f64[n]", 10000000, 500000,
        0, triad_setup, triad_run),
	ROW("sum", "sum, n = 1e7", "total", "(f64[n]) -> f64", 10000000, 500000, 1, one_setup, sum_run),
	ROW("dot", "dot product, n = 1e7", "product", "(f64[n], f64[n]) -> f64", 10000000, 500000, 2,
        one_setup, dot_run),
	ROW("max", "max, n = 1e7", "largest", "(f64[n]) -> f64", 10000000, 500000, 1, one_setup,
        max_run),
	ROW("softmax", "softmax over rows, 8192 x 1024", "softmax", "(f64[n, m]) -> f64[n, m]", 8192,
        128, 0, rows_setup, softmax_run),
	ROW("layernorm", "layer norm over rows, 8192 x 1024", "layer_norm",
        "(f64[n, m], f64[m], f64[m]) -> f64[n, m]", 8192, 128, 1, rows_setup, norm_run),
	ROW("cumsum", "cumulative sum, n = 1e7", "running", "(f64[n]) -> f64[n]", 10000000, 500000, 0,
        running_setup, running_run),
	{0},
};
