/* pinn_rows.h - loss and gradient of a wide network, neurons in the SIMD lanes.
 *
 * pinn.c includes it once for each network of the Burgers equation in one or
 * two coordinates.
 *
 * Method: the CHANNELS values of a sample in a layer are as many rows. Each
 * layer is then one product of a block of rows with the packed weights. The
 * block stays in L2 through all layers and back. In f32 the sums of the
 * gradient are moved to others every few hundred samples, for accuracy.
 *
 * Needs: vec.h, vecmath.h; REAL, VEC, LANES, V(name), N(name), WIDTH (a
 * multiple of 2 LANES), LAYERS, COORDS, and SAMPLES of a block.
 */

#define CHANNELS (COORDS + 2)
#define ROWS (SAMPLES * CHANNELS)
#define PAIR (2 * LANES)
#define PANELS (WIDTH / PAIR)
#define PER_ROW (WIDTH / LANES)
#if VECTOR_BYTES == 64
#define HIGH 12
#else
#define HIGH 6
#endif

enum { N(weights) = WIDTH * COORDS + WIDTH + (LAYERS - 1) * (WIDTH * WIDTH + WIDTH) + WIDTH + 1 };

typedef VEC N(Row)[PER_ROW];

typedef struct N(Sums) {
	VEC w[LAYERS][PANELS][WIDTH][2]; /* [panel of outputs][input] */
	N(Row) bias[LAYERS], first[COORDS], last;
	VEC loss; /* lane 0: of the residual; lane 1: the last bias */
} N(Sums);

typedef struct N(Thread) {
	N(Row) z[LAYERS][ROWS], a[LAYERS][ROWS], dz[2][ROWS];
	N(Sums) now, all;
} N(Thread);

typedef struct N(Work) {
	VEC ahead[LAYERS][PANELS][WIDTH][2], back[LAYERS][PANELS][WIDTH][2];
	N(Row) first[COORDS], bias[LAYERS], last;
	REAL last_bias;
	N(Thread) * thread[256];
} N(Work);

static void N(unpack)(N(Work) * w, const REAL *v) {
	for (int j = 0; j < WIDTH; j++)
		for (int i = 0; i < COORDS; i++) w->first[i][j / LANES][j % LANES] = *v++;
	for (int l = 0; l < LAYERS; l++) {
		if (l > 0)
			for (int j = 0; j < WIDTH; j++)
				for (int k = 0; k < WIDTH; k++) {
					w->ahead[l][j / PAIR][k][j % PAIR / LANES][j % LANES] = *v;
					w->back[l][k / PAIR][j][k % PAIR / LANES][k % LANES] = *v++;
				}
		memcpy(w->bias[l], v, WIDTH * sizeof(REAL)), v += WIDTH;
	}
	memcpy(w->last, v, WIDTH * sizeof(REAL)), v += WIDTH;
	w->last_bias = *v;
}

INLINE void N(activate)(VEC *a, const VEC *z) {
	VEC s = V(tanh)(z[0]), s1 = (REAL)1 - s * s, s2 = (REAL)-2 * (s * s1), q = z[1] * z[1];
	UNROLL for (int i = 2; i < COORDS; i++) q += z[i] * z[i];
	a[0] = s;
	UNROLL for (int i = 1; i <= COORDS; i++) a[i] = s1 * z[i];
	a[COORDS + 1] = s1 * z[COORDS + 1] + s2 * q;
}
INLINE void N(deactivate)(VEC *dz, const VEC *da, VEC s, const VEC *z) {
	VEC s1 = (REAL)1 - s * s, s2 = (REAL)-2 * (s * s1), s3 = s1 * ((REAL)6 * (s * s) - (REAL)2);
	VEC top = da[COORDS + 1], q = z[1] * z[1], m = z[COORDS + 1] * top, twice = (s2 + s2) * top;
	UNROLL for (int i = 2; i < COORDS; i++) q += z[i] * z[i];
	UNROLL for (int i = 1; i <= COORDS; i++) m += z[i] * da[i];
	UNROLL for (int i = 1; i < COORDS; i++) dz[i] = s1 * da[i] + twice * z[i];
	dz[COORDS] = s1 * da[COORDS];
	dz[COORDS + 1] = s1 * top;
	dz[0] = s1 * da[0] + s2 * m + s3 * (q * top);
}

INLINE void N(high)(const int high, N(Row) * out, const REAL *in, const VEC (*w)[2], int panel) {
	VEC s[HIGH][2];
	UNROLL for (int r = 0; r < high; r++) s[r][0] = s[r][1] = V(zero)();
	for (int k = 0; k < WIDTH; k++) {
		VEC w0 = w[k][0], w1 = w[k][1];
		KEEP(w0);
		KEEP(w1);
		UNROLL for (int r = 0; r < high; r++) {
			VEC x = V(set)(in[r * WIDTH + k]);
			s[r][0] += x * w0, s[r][1] += x * w1;
		}
	}
	UNROLL for (int r = 0; r < high; r++) out[r][2 * panel] = s[r][0],
													 out[r][2 * panel + 1] = s[r][1];
}
/* Computes out = in times the packed weights, for all rows of the block. */
static __attribute__((noinline)) void N(product)(N(Row) * out, const N(Row) * in,
                                                 const VEC (*w)[WIDTH][2]) {
	for (int panel = 0; panel < PANELS; panel++) {
		int r = 0;
		for (; r + HIGH <= ROWS; r += HIGH)
			N(high)(HIGH, out + r, (const REAL *)in[r], w[panel], panel);
		for (; r < ROWS; r++) N(high)(1, out + r, (const REAL *)in[r], w[panel], panel);
	}
}

static __attribute__((noinline)) void N(up)(N(Row) * a, N(Row) * z, const N(Row) bias) {
	for (int s = 0; s < SAMPLES; s++, a += CHANNELS, z += CHANNELS)
		for (int j = 0; j < PER_ROW; j++) {
			VEC in[CHANNELS], out[CHANNELS];
			z[0][j] += bias[j];
			UNROLL for (int c = 0; c < CHANNELS; c++) in[c] = z[c][j];
			N(activate)(out, in);
			UNROLL for (int c = 0; c < CHANNELS; c++) a[c][j] = out[c];
		}
}
static __attribute__((noinline)) void N(down)(N(Row) * d, const N(Row) * a, const N(Row) * z) {
	for (int s = 0; s < SAMPLES; s++, d += CHANNELS, a += CHANNELS, z += CHANNELS)
		for (int j = 0; j < PER_ROW; j++) {
			VEC in[CHANNELS], out[CHANNELS], at[CHANNELS];
			UNROLL for (int c = 0; c < CHANNELS; c++) in[c] = d[c][j], at[c] = z[c][j];
			N(deactivate)(out, in, a[0][j], at);
			UNROLL for (int c = 0; c < CHANNELS; c++) d[c][j] = out[c];
		}
}

INLINE void N(wide)(const int high, VEC (*sums)[2], const REAL *a, const VEC *d) {
	VEC s[HIGH][2];
	UNROLL for (int k = 0; k < high; k++) s[k][0] = sums[k][0], s[k][1] = sums[k][1];
	for (int r = 0; r < ROWS; r++) {
		VEC d0 = d[r * PER_ROW], d1 = d[r * PER_ROW + 1];
		KEEP(d0);
		KEEP(d1);
		UNROLL for (int k = 0; k < high; k++) {
			VEC x = V(set)(a[r * WIDTH + k]);
			s[k][0] += x * d0, s[k][1] += x * d1;
		}
	}
	UNROLL for (int k = 0; k < high; k++) sums[k][0] = s[k][0], sums[k][1] = s[k][1];
}
/* The gradient of layer l's weights. */
static __attribute__((noinline)) void N(gather)(N(Thread) * t, int l) {
	const N(Row) *d = (const N(Row) *)t->dz[l & 1];
	for (int s = 0; s < SAMPLES; s++)
		for (int j = 0; j < PER_ROW; j++) t->now.bias[l][j] += d[s * CHANNELS][j];
	const REAL *a = (const REAL *)t->a[l - 1];
	for (int panel = 0; panel < PANELS; panel++) {
		int k = 0;
		for (; k + HIGH <= WIDTH; k += HIGH)
			N(wide)(HIGH, &t->now.w[l][panel][k], a + k, (const VEC *)d + 2 * panel);
		N(wide)(WIDTH % HIGH, &t->now.w[l][panel][k], a + k, (const VEC *)d + 2 * panel);
	}
}

static void N(empty)(N(Thread) * t) {
	VEC *from = (VEC *)&t->now, *to = (VEC *)&t->all;
	for (size_t i = 0; i < sizeof t->now / sizeof(VEC); i++) to[i] += from[i], from[i] = V(zero)();
}

/* The residual u_t + u (u_x + u_y) - nu Lap u, and the cotangents of its square
 * for the last layer. */
static __attribute__((noinline)) void N(residual)(const N(Work) * w, N(Thread) * t, int64_t left,
                                                  int64_t samples) {
	for (int s = 0; s < SAMPLES; s++) {
		const N(Row) *a = (const N(Row) *)t->a[LAYERS - 1] + s * CHANNELS,
					 *z = (const N(Row) *)t->z[LAYERS - 1] + s * CHANNELS;
		N(Row) *d = t->dz[(LAYERS - 1) & 1] + s * CHANNELS;
		VEC sum[CHANNELS];
		REAL u[CHANNELS], du[CHANNELS], along = 0;
		UNROLL for (int c = 0; c < CHANNELS; c++) sum[c] = V(zero)();
		for (int j = 0; j < PER_ROW; j++) UNROLL
		for (int c = 0; c < CHANNELS; c++) sum[c] += w->last[j] * a[c][j];
		UNROLL for (int c = 0; c < CHANNELS; c++) u[c] = V(sum)(sum[c]);
		u[0] += w->last_bias;
		for (int i = 1; i < COORDS; i++) along += u[i];
		REAL r = s < left ? u[COORDS] + u[0] * along - (REAL)VISCOSITY * u[COORDS + 1] : 0,
			 dr = r * (REAL)(2.0 / (double)samples);
		du[0] = dr * along;
		for (int i = 1; i < COORDS; i++) du[i] = dr * u[0];
		du[COORDS] = dr, du[COORDS + 1] = (REAL)-VISCOSITY * dr;
		t->now.loss[0] += r * r, t->now.loss[1] += du[0];
		for (int j = 0; j < PER_ROW; j++) {
			VEC da[CHANNELS], at[CHANNELS], out[CHANNELS];
			UNROLL for (int c = 0; c < CHANNELS; c++) {
				VEC x = V(set)(du[c]);
				da[c] = w->last[j] * x, at[c] = z[c][j];
				t->now.last[j] += x * a[c][j];
			}
			N(deactivate)(out, da, a[0][j], at);
			UNROLL for (int c = 0; c < CHANNELS; c++) d[c][j] = out[c];
		}
	}
}

static void N(part)(int part, int parts, void *ud) {
	Case *c = ud;
	N(Work) *w = c->own;
	N(Thread) *t = w->thread[part];
	memset(&t->now, 0, sizeof t->now), memset(&t->all, 0, sizeof t->all);
	int64_t from, to;
	limit_share(c->n, SAMPLES, part, parts, &from, &to);
	for (int64_t q = from, blocks = 1; q < to; q += SAMPLES, blocks++) {
		REAL x[SAMPLES][COORDS];
		for (int s = 0; s < SAMPLES; s++)
			for (int i = 0; i < COORDS; i++)
				x[s][i] = ((const REAL *)c->in[1 + i].data)[q + s < to ? q + s : to - 1];
		for (int s = 0; s < SAMPLES; s++)
			for (int j = 0; j < PER_ROW; j++) {
				N(Row) *z = t->z[0] + s * CHANNELS;
				z[0][j] = V(zero)();
				UNROLL for (int i = 0; i < COORDS; i++) z[0][j] += V(set)(x[s][i]) * w->first[i][j],
					z[i + 1][j] = w->first[i][j];
				z[COORDS + 1][j] = V(zero)();
			}
		N(up)(t->a[0], t->z[0], w->bias[0]);
		for (int l = 1; l < LAYERS; l++) {
			N(product)(t->z[l], (const N(Row) *)t->a[l - 1], (const VEC(*)[WIDTH][2])w->ahead[l]);
			N(up)(t->a[l], t->z[l], w->bias[l]);
		}
		N(residual)(w, t, to - q, c->n);
		for (int l = LAYERS - 1; l > 0; l--) {
			N(gather)(t, l);
			N(product)
			(t->dz[(l - 1) & 1], (const N(Row) *)t->dz[l & 1], (const VEC(*)[WIDTH][2])w->back[l]);
			N(down)(t->dz[(l - 1) & 1], (const N(Row) *)t->a[l - 1], (const N(Row) *)t->z[l - 1]);
		}
		for (int s = 0; s < SAMPLES; s++)
			for (int j = 0; j < PER_ROW; j++) {
				const N(Row) *d = (const N(Row) *)t->dz[0] + s * CHANNELS;
				t->now.bias[0][j] += d[0][j];
				UNROLL for (int i = 0; i < COORDS; i++) t->now.first[i][j] +=
					V(set)(x[s][i]) * d[0][j] + d[i + 1][j];
			}
		if (sizeof(REAL) == 4 && blocks % (256 / SAMPLES) == 0) N(empty)(t);
	}
	N(empty)(t);
}

static void N(run)(Case *c) {
	N(Work) *w = c->own;
	N(unpack)(w, c->in[0].data);
	limit_parallel(c->threads, N(part), c);
	N(Sums) *all = &w->thread[0]->all;
	for (int k = 1; k < c->threads; k++) {
		const VEC *from = (const VEC *)&w->thread[k]->all;
		for (size_t i = 0; i < sizeof *all / sizeof(VEC); i++) ((VEC *)all)[i] += from[i];
	}
	*(REAL *)c->out[0].data = all->loss[0] / (REAL)c->n;
	REAL *g = c->out[1].data;
	for (int j = 0; j < WIDTH; j++)
		for (int i = 0; i < COORDS; i++) *g++ = all->first[i][j / LANES][j % LANES];
	for (int l = 0; l < LAYERS; l++) {
		for (int j = 0; l > 0 && j < WIDTH; j++)
			for (int k = 0; k < WIDTH; k++)
				*g++ = all->w[l][j / PAIR][k][j % PAIR / LANES][j % LANES];
		memcpy(g, all->bias[l], WIDTH * sizeof(REAL)), g += WIDTH;
	}
	memcpy(g, all->last, WIDTH * sizeof(REAL)), g += WIDTH;
	*g = all->loss[1];
}

static void N(setup)(Case *c) {
	N(Work) *w = c->own = limit_memory(sizeof(N(Work)));
	for (int k = 0; k < c->threads; k++) w->thread[k] = limit_memory(sizeof(N(Thread)));
	pinn_inputs(c, sizeof(REAL) == 4 ? REAL32 : REAL64, WIDTH, LAYERS, COORDS);
}

#undef CHANNELS
#undef ROWS
#undef PAIR
#undef PANELS
#undef PER_ROW
#undef HIGH
