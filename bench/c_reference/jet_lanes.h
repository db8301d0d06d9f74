/* jet_lanes.h - jets of a narrow tanh network, samples in the SIMD lanes.
 *
 * pinn.c and gram.c include it once for each network.
 *
 * Method: each neuron has CHANNELS values: its value, the derivatives with
 * respect to the coordinates (the last of which is time), and the Laplacian
 * over the other coordinates. A block of BLOCK vectors of samples goes through
 * all layers, forward and in reverse, while it is in L1 and L2.
 *
 * Needs: vec.h, vecmath.h; REAL, VEC, LANES and V(name) of the element type,
 * N(name) for names of the network, and WIDTH, LAYERS, COORDS. The weights are
 * one vector: W (row by row), then b, for each layer.
 */

#define CHANNELS (COORDS + 2)
#define BLOCK 4
/* Tile sizes, outputs and channels, for which sums, weights and activations
 * stay in registers. */
#if VECTOR_BYTES == 64
#define TILE 5
#define PART CHANNELS
#define TILE_IN 4
#else
#define TILE 5
#define PART 2
#define TILE_IN 2
#endif

enum { N(weights) = WIDTH * COORDS + WIDTH + (LAYERS - 1) * (WIDTH * WIDTH + WIDTH) + WIDTH + 1 };

typedef struct N(Net) {
	REAL first[WIDTH][COORDS], bias[LAYERS][WIDTH], last[WIDTH], last_bias;
	/* [output][input] and [input][output] */
	REAL w[LAYERS][WIDTH][WIDTH], wt[LAYERS][WIDTH][WIDTH];
} N(Net);

typedef struct N(Block) {
	VEC x[BLOCK][COORDS];
	VEC z[LAYERS][BLOCK][WIDTH][CHANNELS], a[LAYERS][BLOCK][WIDTH][CHANNELS],
		dz[2][BLOCK][WIDTH][CHANNELS];
} N(Block);

static void N(unpack)(N(Net) * net, const REAL *v) {
	memcpy(net->first, v, sizeof net->first), v += WIDTH * COORDS;
	memcpy(net->bias[0], v, sizeof net->bias[0]), v += WIDTH;
	for (int l = 1; l < LAYERS; l++) {
		memcpy(net->w[l], v, sizeof net->w[l]), v += WIDTH * WIDTH;
		memcpy(net->bias[l], v, sizeof net->bias[l]), v += WIDTH;
		for (int j = 0; j < WIDTH; j++)
			for (int k = 0; k < WIDTH; k++) net->wt[l][k][j] = net->w[l][j][k];
	}
	memcpy(net->last, v, sizeof net->last), v += WIDTH;
	net->last_bias = *v;
}

/* Computes tanh of a jet. */
INLINE void N(activate)(VEC *a, const VEC *z) {
	VEC s = V(tanh)(z[0]), s1 = (REAL)1 - s * s, s2 = (REAL)-2 * (s * s1), q = z[1] * z[1];
	UNROLL for (int i = 2; i < COORDS; i++) q += z[i] * z[i];
	a[0] = s;
	UNROLL for (int i = 1; i <= COORDS; i++) a[i] = s1 * z[i];
	a[COORDS + 1] = s1 * z[COORDS + 1] + s2 * q;
}
/* Its reverse: s is the value, da the cotangent of the result. */
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

/* Computes out[j] = sum over k of w[k][from + j] in[k], for TILE values of j
 * and all channels. */
INLINE void N(tile)(VEC (*out)[CHANNELS], const REAL (*w)[WIDTH], int from,
                    const VEC (*in)[CHANNELS]) {
	UNROLL for (int c = 0; c < CHANNELS; c += PART) {
		const int channels = CHANNELS - c < PART ? CHANNELS - c : PART;
		VEC s[TILE][CHANNELS];
		UNROLL for (int j = 0; j < TILE; j++) UNROLL for (int p = 0; p < channels; p++) s[j][p] =
			V(zero)();
		for (int k = 0; k < WIDTH; k++) {
			VEC a[CHANNELS];
			UNROLL for (int p = 0; p < channels; p++) {
				a[p] = in[k][c + p];
				KEEP(a[p]);
			}
			UNROLL for (int j = 0; j < TILE; j++) {
				VEC x = V(set)(w[k][from + j]);
				UNROLL for (int p = 0; p < channels; p++) s[j][p] += x * a[p];
			}
		}
		UNROLL for (int j = 0; j < TILE; j++) UNROLL for (int p = 0; p < channels; p++)
			out[j][c + p] = s[j][p];
	}
}

static __attribute__((noinline)) void N(forward)(const N(Net) * net, N(Block) * b) {
	for (int v = 0; v < BLOCK; v++)
		for (int j = 0; j < WIDTH; j++) {
			VEC *z = b->z[0][v][j];
			z[0] = V(set)(net->bias[0][j]);
			UNROLL for (int i = 0; i < COORDS; i++) {
				VEC w = V(set)(net->first[j][i]);
				z[0] += w * b->x[v][i];
				z[i + 1] = w;
			}
			z[COORDS + 1] = V(zero)();
			N(activate)(b->a[0][v][j], z);
		}
	for (int l = 1; l < LAYERS; l++)
		for (int v = 0; v < BLOCK; v++)
			for (int from = 0; from < WIDTH; from += TILE) {
				VEC z[TILE][CHANNELS];
				N(tile)(z, net->wt[l], from, (const VEC(*)[CHANNELS])b->a[l - 1][v]);
				UNROLL for (int j = 0; j < TILE; j++) {
					z[j][0] += net->bias[l][from + j];
					N(activate)(b->a[l][v][from + j], z[j]);
					UNROLL for (int c = 0; c < CHANNELS; c++) b->z[l][v][from + j][c] = z[j][c];
				}
			}
}

/* Computes the network's value and derivatives for one vector of samples. */
INLINE void N(output)(const N(Net) * net, const N(Block) * b, int v, VEC *u) {
	UNROLL for (int c = 0; c < CHANNELS; c++) u[c] = c == 0 ? V(set)(net->last_bias) : V(zero)();
	for (int k = 0; k < WIDTH; k++) {
		VEC w = V(set)(net->last[k]);
		UNROLL for (int c = 0; c < CHANNELS; c++) u[c] += w * b->a[LAYERS - 1][v][k][c];
	}
}
/* From the cotangent of the output to that of the last layer's arguments. */
INLINE void N(enter)(const N(Net) * net, N(Block) * b, int v, const VEC *du) {
	for (int k = 0; k < WIDTH; k++) {
		VEC w = V(set)(net->last[k]), da[CHANNELS];
		UNROLL for (int c = 0; c < CHANNELS; c++) da[c] = w * du[c];
		N(deactivate)
		(b->dz[(LAYERS - 1) & 1][v][k], da, b->a[LAYERS - 1][v][k][0], b->z[LAYERS - 1][v][k]);
	}
}
/* From layer l to layer l - 1. */
static __attribute__((noinline)) void N(backward)(const N(Net) * net, N(Block) * b, int l) {
	for (int v = 0; v < BLOCK; v++)
		for (int from = 0; from < WIDTH; from += TILE) {
			VEC da[TILE][CHANNELS];
			N(tile)(da, net->w[l], from, (const VEC(*)[CHANNELS])b->dz[l & 1][v]);
			UNROLL for (int k = 0; k < TILE; k++)
				N(deactivate)(b->dz[(l - 1) & 1][v][from + k], da[k], b->a[l - 1][v][from + k][0],
			                  b->z[l - 1][v][from + k]);
		}
}
