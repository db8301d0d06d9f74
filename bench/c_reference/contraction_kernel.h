/* contraction_kernel.h - register-blocked small and narrow matrix products.
 *
 * contraction.c includes it once for each element type.
 *
 * Method: a tile of sums stays in registers along the whole contracted axis,
 * and gets bias and tanh there. Only a transposed weight matrix, which is
 * small, is packed.
 *
 * Needs: vec.h, vecmath.h, blas.h; REAL, VEC, LANES and the prefix macro
 * V(name) of the type.
 */

/* With 16 registers, 12 sums leave room for the operands; with 32, 24 sums
 * do. */
#if VECTOR_BYTES == 64
#define MORE 2
#else
#define MORE 1
#endif

typedef struct V(Product) {
	const REAL *a, *b, *bias; /* a[m, k]; b[k, n]; bias NULL: neither bias nor tanh */
	bool plain;               /* a bias, but no tanh */
	REAL *c;                  /* c[m, n] */
	int64_t m, k, n;
	/* b[i, j] of a panel that begins at column c is b[c * step + i * ldb + (j -
	 * c)], padded to whole panels */
	int64_t ldb, step;
	int64_t copies; /* number of consecutive products of this size */
} V(Product);

/* values of `after`: nothing, the bias, or the bias and tanh */
enum { V(NOTHING), V(BIAS), V(TANH) };

INLINE void V(tile)(const int rows, const int vecs, const int after, const V(Product) * p,
                    const REAL *a, const REAL *b, int64_t column, REAL *c) {
	VEC s[16][5]; /* rows x vecs of them are used, in registers */
	UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vecs; j++) s[i][j] =
		after ? V(load)(p->bias + column + j * LANES) : V(zero)();
	for (int64_t k = 0; k < p->k; k++) {
		VEC w[5];
		UNROLL for (int j = 0; j < vecs; j++) {
			w[j] = V(load)(b + k * p->ldb + j * LANES);
			KEEP(w[j]);
		}
		UNROLL for (int i = 0; i < rows; i++) {
			VEC x = V(set)(a[i * p->k + k]);
			UNROLL for (int j = 0; j < vecs; j++) s[i][j] += x * w[j];
		}
	}
	if (after == V(TANH))
		UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vecs; j++) s[i][j] =
			V(tanh)(s[i][j]);
	int64_t room = p->n - column;
	if (room >= vecs * LANES) {
		UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vecs; j++)
			V(store)(c + i * p->n + j * LANES, s[i][j]);
	} else {
		REAL out[5 * LANES];
		UNROLL for (int i = 0; i < rows; i++) {
			for (int j = 0; j < vecs; j++) V(store)(out + j * LANES, s[i][j]);
			memcpy(c + i * p->n, out, (size_t)room * sizeof(REAL));
		}
	}
}

/* Computes rows from .. to - 1, all columns, in panels of `vecs` vectors.
 * Blocks of rows keep their part of `a` in L1. */
INLINE void V(panels)(const int rows, const int vecs, const int after, const V(Product) * p,
                      int64_t from, int64_t to) {
	int64_t fit = 16384 / (p->k * (int64_t)sizeof(REAL)) / rows, block = (fit > 1 ? fit : 1) * rows;
	for (int64_t r0 = from; r0 < to; r0 += block) {
		int64_t r1 = r0 + block < to ? r0 + block : to;
		for (int64_t column = 0; column < p->n; column += vecs * LANES) {
			int64_t r = r0;
			for (; r + rows <= r1; r += rows) V(tile)
			(rows, vecs, after, p, p->a + r * p->k, p->b + column * p->step, column,
			 p->c + r * p->n + column);
			for (; r < r1; r++) V(tile)
			(1, vecs, after, p, p->a + r * p->k, p->b + column * p->step, column,
			 p->c + r * p->n + column);
		}
	}
}

/* Chooses the tile: minimal padding, and as many sums as fit the registers. */
static int V(tile_vectors)(int64_t n) {
	int64_t vectors = (n + LANES - 1) / LANES;
	return vectors == 1 ? 1 : vectors == 5 ? 5 : vectors % 3 == 0 ? 3 : 2;
}

static __attribute__((noinline)) void V(product_rows)(const V(Product) * p, int64_t from,
                                                      int64_t to) {
	const int after = !p->bias ? V(NOTHING) : p->plain ? V(BIAS) : V(TANH);
	switch (V(tile_vectors)(p->n)) {
	case 1:
		if (after == V(TANH)) V(panels)(8 * MORE, 1, V(TANH), p, from, to);
		else if (after) V(panels)(8 * MORE, 1, V(BIAS), p, from, to);
		else V(panels)(8 * MORE, 1, V(NOTHING), p, from, to);
		break;
	case 2:
		if (after == V(TANH)) V(panels)(6 * MORE, 2, V(TANH), p, from, to);
		else if (after) V(panels)(6 * MORE, 2, V(BIAS), p, from, to);
		else V(panels)(6 * MORE, 2, V(NOTHING), p, from, to);
		break;
	case 3:
		if (after == V(TANH)) V(panels)(4 * MORE, 3, V(TANH), p, from, to);
		else if (after) V(panels)(4 * MORE, 3, V(BIAS), p, from, to);
		else V(panels)(4 * MORE, 3, V(NOTHING), p, from, to);
		break;
	default:
		if (after == V(TANH)) V(panels)(2 * MORE, 5, V(TANH), p, from, to);
		else if (after) V(panels)(2 * MORE, 5, V(BIAS), p, from, to);
		else V(panels)(2 * MORE, 5, V(NOTHING), p, from, to);
	}
}

static void V(product_part)(int part, int parts, void *ud) {
	const V(Product) *p = ud;
	int64_t from, to;
	if (p->copies > 1) {
		limit_share(p->copies, 1, part, parts, &from, &to);
		for (int64_t q = from; q < to; q++) {
			V(Product) one = *p;
			one.a += q * p->m * p->k, one.b += q * p->k * p->n, one.c += q * p->m * p->n;
			V(product_rows)(&one, 0, p->m);
		}
		return;
	}
	limit_share(p->m, 24, part, parts, &from, &to);
	V(product_rows)(p, from, to);
}

/* Packs b, or its transpose, into panels, because a row length of a large power
 * of two causes cache conflicts. */
static void V(pack)(V(Product) * p, bool transposed, REAL *to) {
	int64_t width = V(tile_vectors)(p->n) * LANES;
	for (int64_t column = 0; column < p->n; column += width)
		for (int64_t k = 0; k < p->k; k++)
			for (int64_t j = column; j < column + width && j < p->n; j++)
				to[column * p->k + k * width + (j - column)] =
					transposed ? p->b[j * p->k + k] : p->b[k * p->n + j];
	p->b = to, p->ldb = width, p->step = p->k;
}

/* All kinds of rows: products of squares, x @ W' + b, and its tanh. */
static void V(product_run)(Case *c) {
	const Row *row = c->row;
	V(Product) p = {.a = c->in[0].data, .b = c->in[1].data, .c = c->out[0].data, .copies = 1};
	p.k = p.n = row->variant;
	REAL *packed = c->own, *bias = packed + p.k * (p.n + 64);
	if (c->ins == 3) {
		p.m = c->n;
		V(pack)(&p, true, packed);
		memcpy(bias, c->in[2].data, (size_t)p.n * sizeof(REAL));
		p.bias = bias, p.plain = !strcmp(row->function, "affine");
	} else {
		p.m = p.n;
		if (c->n > 1) p.copies = c->n, p.ldb = p.n, p.step = 1;
		else V(pack)(&p, false, packed);
	}
	limit_parallel(c->threads, V(product_part), &p);
}

/* ---- through OpenBLAS ---------------------------------------------------- */

static void V(tanh_part)(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to, n = c->row->variant;
	limit_share(c->n, 1, part, parts, &from, &to);
	for (int64_t r = from; r < to; r++) {
		REAL *y = (REAL *)c->out[0].data + r * n;
		const REAL *b = c->in[2].data;
		int64_t j = 0;
		if (!strcmp(c->row->function, "affine")) {
			for (; j < n; j++) y[j] += b[j];
			continue;
		}
		for (; j + LANES <= n; j += LANES)
			V(store)(y + j, V(tanh)(V(load)(y + j) + V(load)(b + j)));
		for (; j < n; j++) y[j] = V(tanh)(V(set)(y[j] + b[j]))[0];
	}
}

static void V(blas_run)(Case *c) {
	const Blas *blas = limit_blas(c->threads);
	int n = c->row->variant;
	int64_t copies = c->ins == 2 && c->in[0].rank == 3 ? c->n : 1;
	for (int64_t q = 0; q < copies; q++) {
		const REAL *a = (const REAL *)c->in[0].data + q * n * n,
				   *b = (const REAL *)c->in[1].data + q * n * n;
		REAL *out = (REAL *)c->out[0].data + q * n * n;
		blas->V(gemm)(BLAS_ROWS, BLAS_PLAIN, c->ins == 3 ? BLAS_TRANSPOSED : BLAS_PLAIN,
		              c->ins == 3 ? (int)c->n : n, n, n, 1, a, n, b, n, 0, out, n);
	}
	if (c->ins == 3) limit_parallel(c->threads, V(tanh_part), c);
}
