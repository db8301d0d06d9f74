/* pinn_lanes.h - loss and gradient of a narrow network, samples in lanes.
 *
 * pinn.c includes it once for each network of the Burgers equation, with the
 * names that jet_lanes.h needs.
 *
 * Method: gradients are summed lane by lane over the blocks of a thread and
 * reduced once. In f32 the sums are moved to others every few hundred samples,
 * for accuracy.
 */

#include "jet_lanes.h"

typedef struct N(Sums) {
	VEC w[LAYERS][WIDTH][WIDTH], bias[LAYERS][WIDTH], first[WIDTH][COORDS], last[WIDTH], last_bias,
		loss;
} N(Sums);

typedef struct N(Thread) {
	N(Block) block;
	N(Sums) now, all;
} N(Thread);

typedef struct N(Work) {
	N(Net) net;
	N(Thread) * thread[256];
} N(Work);

static void N(empty)(N(Thread) * t) {
	VEC *from = (VEC *)&t->now, *to = (VEC *)&t->all;
	for (size_t i = 0; i < sizeof t->now / sizeof(VEC); i++) to[i] += from[i], from[i] = V(zero)();
}

/* The residual u_t + u u_x - nu u_xx, and the cotangents of its square. */
static __attribute__((noinline)) void N(residual)(const N(Net) * net, N(Block) * b, N(Sums) * g,
                                                  int64_t left, int64_t samples) {
	for (int v = 0; v < BLOCK; v++) {
		VEC u[CHANNELS], du[CHANNELS];
		N(output)(net, b, v, u);
		VEC r = u[COORDS] + u[0] * u[1] - (REAL)VISCOSITY * u[COORDS + 1];
		for (int i = 0; i < LANES; i++)
			if (v * LANES + i >= left) r[i] = 0;
		g->loss += r * r;
		VEC dr = r * (REAL)(2.0 / (double)samples);
		du[0] = dr * u[1], du[1] = dr * u[0], du[COORDS] = dr,
		du[COORDS + 1] = (REAL)-VISCOSITY * dr;
		g->last_bias += du[0];
		for (int k = 0; k < WIDTH; k++) UNROLL
		for (int c = 0; c < CHANNELS; c++) g->last[k] += du[c] * b->a[LAYERS - 1][v][k][c];
		N(enter)(net, b, v, du);
	}
}

/* The gradient of layer l's weights: cotangents times activations, summed over
 * samples and channels. */
static __attribute__((noinline)) void N(gather)(const N(Block) * b, N(Sums) * g, int l) {
	for (int j = 0; j < WIDTH; j++)
		for (int v = 0; v < BLOCK; v++) g->bias[l][j] += b->dz[l & 1][v][j][0];
	for (int j = 0; j < WIDTH; j += TILE)
		for (int k = 0; k < WIDTH; k += TILE_IN) {
			VEC s[TILE][TILE_IN];
			UNROLL for (int p = 0; p < TILE; p++) UNROLL for (int q = 0; q < TILE_IN; q++) s[p][q] =
				g->w[l][j + p][k + q];
			for (int v = 0; v < BLOCK; v++) UNROLL
			for (int c = 0; c < CHANNELS; c++) {
				VEC a[TILE_IN];
				UNROLL for (int q = 0; q < TILE_IN; q++) {
					a[q] = b->a[l - 1][v][k + q][c];
					KEEP(a[q]);
				}
				UNROLL for (int p = 0; p < TILE; p++) {
					VEC d = b->dz[l & 1][v][j + p][c];
					KEEP(d);
					UNROLL for (int q = 0; q < TILE_IN; q++) s[p][q] += d * a[q];
				}
			}
			UNROLL for (int p = 0; p < TILE; p++) UNROLL for (int q = 0; q < TILE_IN; q++)
				g->w[l][j + p][k + q] = s[p][q];
		}
}

static void N(gather_first)(const N(Block) * b, N(Sums) * g) {
	for (int j = 0; j < WIDTH; j++)
		for (int v = 0; v < BLOCK; v++) {
			const VEC *d = b->dz[0][v][j];
			g->bias[0][j] += d[0];
			UNROLL for (int i = 0; i < COORDS; i++) g->first[j][i] += d[0] * b->x[v][i] + d[i + 1];
		}
}

static void N(part)(int part, int parts, void *ud) {
	Case *c = ud;
	N(Work) *w = c->own;
	N(Thread) *t = w->thread[part];
	memset(&t->now, 0, sizeof t->now), memset(&t->all, 0, sizeof t->all);
	int64_t from, to;
	limit_share(c->n, BLOCK * LANES, part, parts, &from, &to);
	for (int64_t s = from, blocks = 1; s < to; s += BLOCK * LANES, blocks++) {
		for (int v = 0; v < BLOCK; v++)
			for (int i = 0; i < LANES; i++) {
				int64_t q = s + v * LANES + i < to ? s + v * LANES + i : to - 1;
				for (int k = 0; k < COORDS; k++)
					t->block.x[v][k][i] = ((const REAL *)c->in[1 + k].data)[q];
			}
		N(forward)(&w->net, &t->block);
		N(residual)(&w->net, &t->block, &t->now, to - s, c->n);
		for (int l = LAYERS - 1; l > 0; l--) {
			N(gather)(&t->block, &t->now, l);
			N(backward)(&w->net, &t->block, l);
		}
		N(gather_first)(&t->block, &t->now);
		if (sizeof(REAL) == 4 && blocks % (256 / (BLOCK * LANES)) == 0) N(empty)(t);
	}
	N(empty)(t);
}

static REAL N(join)(const Case *c, size_t at) {
	const N(Work) *w = c->own;
	VEC s = V(zero)();
	for (int k = 0; k < c->threads; k++) s += *(const VEC *)((const char *)&w->thread[k]->all + at);
	return V(sum)(s);
}

static void N(run)(Case *c) {
	N(Work) *w = c->own;
	N(unpack)(&w->net, c->in[0].data);
	limit_parallel(c->threads, N(part), c);
	REAL *g = c->out[1].data;
	*(REAL *)c->out[0].data = N(join)(c, offsetof(N(Sums), loss)) / (REAL)c->n;
	for (int j = 0; j < WIDTH; j++)
		for (int i = 0; i < COORDS; i++)
			*g++ = N(join)(c, offsetof(N(Sums), first) + (size_t)(j * COORDS + i) * sizeof(VEC));
	for (int l = 0; l < LAYERS; l++) {
		for (int j = 0; l > 0 && j < WIDTH * WIDTH; j++)
			*g++ = N(join)(c, offsetof(N(Sums), w) + (size_t)(l * WIDTH * WIDTH + j) * sizeof(VEC));
		for (int j = 0; j < WIDTH; j++)
			*g++ = N(join)(c, offsetof(N(Sums), bias) + (size_t)(l * WIDTH + j) * sizeof(VEC));
	}
	for (int k = 0; k < WIDTH; k++)
		*g++ = N(join)(c, offsetof(N(Sums), last) + (size_t)k * sizeof(VEC));
	*g = N(join)(c, offsetof(N(Sums), last_bias));
}

static void N(setup)(Case *c) {
	N(Work) *w = c->own = limit_memory(sizeof(N(Work)));
	for (int k = 0; k < c->threads; k++) w->thread[k] = limit_memory(sizeof(N(Thread)));
	pinn_inputs(c, sizeof(REAL) == 4 ? REAL32 : REAL64, WIDTH, LAYERS, COORDS);
}

#undef CHANNELS
#undef BLOCK
#undef TILE
#undef PART
#undef TILE_IN
