/* gram.c - C reference: Gram matrix J'J of a residual Jacobian.
 *
 * J has the derivatives with respect to all weights of a network.
 *
 * Method: each thread computes the Jacobian of CHUNK samples and packs it into
 * panels of columns. It adds the product to its own Gram matrix (upper
 * triangle) in register-blocked tiles. The matrices are summed at the end; J is
 * never stored as a whole.
 *
 * The second column uses OpenBLAS as a library user would. Each layer of the
 * whole batch is a matrix product, activations are passes between them, J is
 * stored, and the Gram matrix is one call.
 *
 * Needs: limit.h, jet_lanes.h, blas.h.
 */
#include "blas.h"
#include "limit.h"
#include "vecmath.h"

#define VISCOSITY (0.01 / 3.14159265358979323846)
#define REAL double
#define VEC vd
#define LANES VD
#define V(name) vd_##name
#define N(name) gram_##name
#define WIDTH 20
#define LAYERS 3
#define COORDS 3
#include "jet_lanes.h"

#define CHUNK 128
#define PANEL (3 * VD)
#define HIGH VD
#define PANELS ((gram_weights + PANEL - 1) / PANEL)
#define GROUP 8 /* panels of one operand that stay in L2 */

typedef double Panel[CHUNK][PANEL];
typedef struct Thread {
	gram_Block block;
	VEC column[BLOCK][PANELS * PANEL];
	Panel j[PANELS];
	/* the block of G for the rows of one panel and the columns of another */
	VEC g[PANELS][PANELS][PANEL][3];
} Thread;

typedef struct Work {
	gram_Net net;
	Thread *thread[256];
} Work;

/* Computes the derivatives of one vector of residuals with respect to all
 * weights, in the order of the weights. */
static void columns(const gram_Net *net, gram_Block *b, VEC (*out)[PANELS * PANEL]) {
	VEC du[BLOCK][CHANNELS];
	gram_forward(net, b);
	for (int v = 0; v < BLOCK; v++) {
		VEC u[CHANNELS];
		gram_output(net, b, v, u);
		du[v][0] = u[1] + u[2], du[v][1] = du[v][2] = u[0], du[v][COORDS] = vd_set(1),
		du[v][COORDS + 1] = vd_set(-VISCOSITY);
		gram_enter(net, b, v, du[v]);
		VEC *to = out[v] + gram_weights - WIDTH - 1;
		for (int k = 0; k < WIDTH; k++) {
			VEC s = vd_zero();
			UNROLL for (int c = 0; c < CHANNELS; c++) s += du[v][c] * b->a[LAYERS - 1][v][k][c];
			to[k] = s;
		}
		to[WIDTH] = du[v][0];
	}
	for (int l = LAYERS - 1; l > 0; l--) {
		for (int v = 0; v < BLOCK; v++) {
			VEC *to = out[v] + WIDTH * COORDS + WIDTH + (l - 1) * (WIDTH * WIDTH + WIDTH);
			for (int j = 0; j < WIDTH; j++) {
				const VEC *d = b->dz[l & 1][v][j];
				for (int k = 0; k < WIDTH; k++) {
					VEC s = vd_zero();
					UNROLL for (int c = 0; c < CHANNELS; c++) s += d[c] * b->a[l - 1][v][k][c];
					to[j * WIDTH + k] = s;
				}
				to[WIDTH * WIDTH + j] = d[0];
			}
		}
		gram_backward(net, b, l);
	}
	for (int v = 0; v < BLOCK; v++)
		for (int j = 0; j < WIDTH; j++) {
			const VEC *d = b->dz[0][v][j];
			UNROLL for (int i = 0; i < COORDS; i++) out[v][j * COORDS + i] =
				d[0] * b->x[v][i] + d[i + 1];
			out[v][WIDTH * COORDS + j] = d[0];
		}
}

/* Computes g += a' b for HIGH columns of one panel and all of another. */
INLINE void tile(VEC (*g)[3], const double (*a)[PANEL], const double (*b)[PANEL]) {
	VEC s[HIGH][3];
	UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int j = 0; j < 3; j++) s[i][j] = g[i][j];
	for (int k = 0; k < CHUNK; k++) {
		VEC x[3];
		UNROLL for (int j = 0; j < 3; j++) {
			x[j] = vd_load(b[k] + j * VD);
			KEEP(x[j]);
		}
		UNROLL for (int i = 0; i < HIGH; i++) {
			VEC y = vd_set(a[k][i]);
			UNROLL for (int j = 0; j < 3; j++) s[i][j] += y * x[j];
		}
	}
	UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int j = 0; j < 3; j++) g[i][j] = s[i][j];
}

static void gram_part(int part, int parts, void *ud) {
	Case *c = ud;
	Work *w = c->own;
	Thread *t = w->thread[part];
	memset(t->g, 0, sizeof t->g);
	int64_t from, to;
	limit_share(c->n, CHUNK, part, parts, &from, &to);
	for (int64_t q = from; q < to; q += CHUNK) {
		for (int s0 = 0; s0 < CHUNK; s0 += BLOCK * VD) {
			for (int v = 0; v < BLOCK; v++)
				for (int i = 0; i < VD; i++) {
					int64_t s = q + s0 + v * VD + i;
					for (int k = 0; k < COORDS; k++)
						t->block.x[v][k][i] =
							((const double *)c->in[1 + k].data)[s < to ? s : to - 1];
				}
			columns(&w->net, &t->block, t->column);
			for (int p = 0; p < PANELS; p++)
				for (int v = 0; v < BLOCK; v++)
					for (int i = 0; i < VD; i++) {
						bool there = q + s0 + v * VD + i < to;
						double *row = t->j[p][s0 + v * VD + i];
						for (int e = 0; e < PANEL; e++)
							row[e] = there ? t->column[v][p * PANEL + e][i] : 0;
					}
		}
		for (int group = 0; group < PANELS; group += GROUP) {
			int end = group + GROUP < PANELS ? group + GROUP : PANELS;
			for (int p = group; p < PANELS; p++)
				for (int r = group; r < end && r <= p; r++)
					for (int i = 0; i < PANEL; i += HIGH)
						tile(&t->g[r][p][i], (const double(*)[PANEL]) & t->j[r][0][i],
						     (const double(*)[PANEL])t->j[p]);
		}
	}
}

static void gram_run(Case *c) {
	Work *w = c->own;
	gram_unpack(&w->net, c->in[0].data);
	limit_parallel(c->threads, gram_part, c);
	double *out = c->out[0].data;
	for (int r = 0; r < PANELS; r++)
		for (int p = r; p < PANELS; p++)
			for (int i = 0; i < PANEL && r * PANEL + i < gram_weights; i++) {
				VEC s[3];
				UNROLL for (int j = 0; j < 3; j++) {
					s[j] = w->thread[0]->g[r][p][i][j];
					for (int k = 1; k < c->threads; k++) s[j] += w->thread[k]->g[r][p][i][j];
				}
				for (int j = 0; j < PANEL && p * PANEL + j < gram_weights; j++) {
					int64_t row = r * PANEL + i, col = p * PANEL + j;
					out[row * gram_weights + col] = out[col * gram_weights + row] =
						s[j / VD][j % VD];
				}
			}
}

/* ---- through OpenBLAS ---------------------------------------------------- */

/* The whole batch: channel c of neuron j of sample s is at [(c * n + s) * WIDTH
 * + j]. */
typedef struct Batch {
	Case *c;
	gram_Net net;
	double *z[LAYERS], *a[LAYERS], *dz[LAYERS], *da;
	double *du;                      /* of channel c and sample s at [c * n + s] */
	double *j;                       /* [n, gram_weights] */
	double bias[LAYERS][WIDTH * VD]; /* of VD samples */
	int layer;
} Batch;

/* The share of one part: samples in multiples of VD, so that their neurons fill
 * whole vectors. */
static int64_t batch_share(const Batch *b, int part, int parts, int64_t *to) {
	int64_t from;
	limit_share(b->c->n, VD, part, parts, &from, to);
	return from;
}
INLINE void gather(VEC *channel, const double *x, int64_t step) {
	UNROLL for (int c = 0; c < CHANNELS; c++) channel[c] = vd_load(x + c * step);
}
INLINE void spread(double *x, const VEC *channel, int64_t step) {
	UNROLL for (int c = 0; c < CHANNELS; c++) vd_store(x + c * step, channel[c]);
}

static void batch_first(int part, int parts, void *ud) {
	Batch *b = ud;
	int64_t to, n = b->c->n;
	for (int64_t s = batch_share(b, part, parts, &to); s < to; s++)
		for (int j = 0; j < WIDTH; j++) {
			double *z = b->z[0] + s * WIDTH + j, sum = 0;
			for (int i = 0; i < COORDS; i++) {
				sum += b->net.first[j][i] * ((const double *)b->c->in[1 + i].data)[s];
				z[(i + 1) * n * WIDTH] = b->net.first[j][i];
			}
			z[0] = sum, z[(COORDS + 1) * n * WIDTH] = 0;
		}
}

static void batch_activate(int part, int parts, void *ud) {
	Batch *b = ud;
	int64_t to, step = b->c->n * WIDTH;
	for (int64_t s = batch_share(b, part, parts, &to); s < to; s += VD)
		for (int e = 0; e < WIDTH * VD; e += VD) {
			VEC z[CHANNELS], a[CHANNELS];
			gather(z, b->z[b->layer] + s * WIDTH + e, step);
			z[0] += vd_load(b->bias[b->layer] + e);
			vd_store(b->z[b->layer] + s * WIDTH + e, z[0]);
			gram_activate(a, z);
			spread(b->a[b->layer] + s * WIDTH + e, a, step);
		}
}

static void batch_residual(int part, int parts, void *ud) {
	Batch *b = ud;
	int64_t to, n = b->c->n;
	const double *a = b->a[LAYERS - 1];
	for (int64_t s = batch_share(b, part, parts, &to); s < to; s++) {
		double u[CHANNELS] = {b->net.last_bias};
		for (int c = 0; c < CHANNELS; c++)
			for (int k = 0; k < WIDTH; k++) u[c] += b->net.last[k] * a[(c * n + s) * WIDTH + k];
		b->du[s] = u[1] + u[2], b->du[n + s] = b->du[2 * n + s] = u[0], b->du[COORDS * n + s] = 1,
		b->du[(COORDS + 1) * n + s] = -VISCOSITY;
		for (int c = 0; c < CHANNELS; c++)
			for (int k = 0; k < WIDTH; k++)
				b->da[(c * n + s) * WIDTH + k] = b->net.last[k] * b->du[c * n + s];
	}
}

static void batch_deactivate(int part, int parts, void *ud) {
	Batch *b = ud;
	int64_t to, step = b->c->n * WIDTH;
	for (int64_t s = batch_share(b, part, parts, &to) * WIDTH; s < to * WIDTH; s += VD) {
		VEC z[CHANNELS], da[CHANNELS], dz[CHANNELS];
		gather(z, b->z[b->layer] + s, step), gather(da, b->da + s, step);
		gram_deactivate(dz, da, vd_load(b->a[b->layer] + s), z);
		spread(b->dz[b->layer] + s, dz, step);
	}
}

/* Computes the Jacobian row of each sample: products of activations and
 * cotangents, summed over the channels. */
static void batch_rows(int part, int parts, void *ud) {
	Batch *b = ud;
	int64_t to, n = b->c->n;
	for (int64_t s = batch_share(b, part, parts, &to); s < to; s++) {
		double *row = b->j + s * gram_weights;
		for (int j = 0; j < WIDTH; j++)
			for (int i = 0; i < COORDS; i++)
				row[j * COORDS + i] =
					b->dz[0][s * WIDTH + j] * ((const double *)b->c->in[1 + i].data)[s] +
					b->dz[0][((i + 1) * n + s) * WIDTH + j];
		row += WIDTH * COORDS;
		for (int l = 0; l < LAYERS; l++) {
			memcpy(row, b->dz[l] + s * WIDTH, WIDTH * sizeof *row);
			row += WIDTH;
			for (int j = 0; j < (l < LAYERS - 1 ? WIDTH : 1); j++, row += WIDTH) {
				double sum[WIDTH] = {0};
				for (int c = 0; c < CHANNELS; c++) {
					double d =
						l < LAYERS - 1 ? b->dz[l + 1][(c * n + s) * WIDTH + j] : b->du[c * n + s];
					const double *a = b->a[l] + (c * n + s) * WIDTH;
					for (int k = 0; k < WIDTH; k++) sum[k] += d * a[k];
				}
				memcpy(row, sum, sizeof sum);
			}
		}
		*row = b->du[s];
	}
}

static void gram_blas(Case *c) {
	static Batch *b; /* made at the first run, because setup also runs on Atled's side */
	const Blas *blas = limit_blas(c->threads);
	const int64_t n = c->n, all = CHANNELS * n;
	if (!b) {
		b = limit_memory(sizeof *b);
		size_t bytes = (size_t)(all * WIDTH) * sizeof(double);
		for (int l = 0; l < LAYERS; l++)
			b->z[l] = limit_memory(bytes), b->a[l] = limit_memory(bytes),
			b->dz[l] = limit_memory(bytes);
		b->da = limit_memory(bytes), b->du = limit_memory((size_t)all * sizeof(double));
		b->j = limit_memory((size_t)(n * gram_weights) * sizeof(double));
	}
	b->c = c;
	gram_unpack(&b->net, c->in[0].data);
	for (int l = 0; l < LAYERS; l++)
		for (int v = 0; v < VD; v++)
			memcpy(b->bias[l] + v * WIDTH, b->net.bias[l], sizeof b->net.bias[l]);
	limit_parallel(c->threads, batch_first, b);
	for (b->layer = 0; b->layer < LAYERS; b->layer++) {
		if (b->layer)
			blas->vd_gemm(BLAS_ROWS, BLAS_PLAIN, BLAS_TRANSPOSED, (int)all, WIDTH, WIDTH, 1,
			              b->a[b->layer - 1], WIDTH, b->net.w[b->layer][0], WIDTH, 0,
			              b->z[b->layer], WIDTH);
		limit_parallel(c->threads, batch_activate, b);
	}
	limit_parallel(c->threads, batch_residual, b);
	for (b->layer = LAYERS - 1; b->layer >= 0; b->layer--) {
		if (b->layer < LAYERS - 1)
			blas->vd_gemm(BLAS_ROWS, BLAS_PLAIN, BLAS_PLAIN, (int)all, WIDTH, WIDTH, 1,
			              b->dz[b->layer + 1], WIDTH, b->net.w[b->layer + 1][0], WIDTH, 0, b->da,
			              WIDTH);
		limit_parallel(c->threads, batch_deactivate, b);
	}
	limit_parallel(c->threads, batch_rows, b);
	double *out = c->out[0].data;
	blas->vd_syrk(BLAS_ROWS, BLAS_UPPER, BLAS_TRANSPOSED, gram_weights, (int)n, 1, b->j,
	              gram_weights, 0, out, gram_weights);
	for (int i = 0; i < gram_weights; i++)
		for (int j = 0; j < i; j++) out[i * gram_weights + j] = out[j * gram_weights + i];
}

static void gram_setup(Case *c) {
	Work *w = c->own = limit_memory(sizeof(Work));
	for (int k = 0; k < c->threads; k++) w->thread[k] = limit_memory(sizeof(Thread));
	c->in[0] = limit_array(REAL64, gram_weights, 0, 0);
	limit_fill(&c->in[0], 60, -0.4, 0.4);
	for (int i = 0; i < COORDS; i++) {
		c->in[1 + i] = limit_array(REAL64, c->n, 0, 0);
		limit_fill(&c->in[1 + i], 61 + (uint64_t)i, i == COORDS - 1 ? 0 : -1, 1);
	}
	c->ins = 1 + COORDS;
	c->out[0] = limit_array(REAL64, gram_weights, gram_weights, 0);
	c->outs = 1;
	c->flops = (double)c->n * gram_weights * (gram_weights + 1); /* of the triangle */
}

const Row gram_rows[] = {
	{.name = "gram",
     .title = "Jacobian and J'J, N = 8192, P = 941",
     .program = "gram",
     .start = "start",
     .function = "gram",
     .goal = 1.4,
     .tolerance = 1e-12,
     .full = 8192,
     .quick = 256,
     .setup = gram_setup,
     .run = gram_run,
     .other_name = "OpenBLAS",
     .other = gram_blas},
	{0},
};
