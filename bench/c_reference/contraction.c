/* contraction.c - C reference: matrix products.
 *
 * Products of squares, batches of small products, and layers x @ W' + b of
 * narrow matrices, with and without tanh.
 *
 * Method: squares from 256 on use OpenBLAS with its best core type for this
 * machine. Smaller and narrow products are ours; their second column is
 * OpenBLAS, with a vectorised pass for bias and tanh.
 *
 * Needs: limit.h, contraction_kernel.h, blas.h.
 */
#include "blas.h"
#include "limit.h"
#include "vecmath.h"

#define REAL double
#define VEC vd
#define LANES VD
#define V(name) vd_##name
#include "contraction_kernel.h"
#undef REAL
#undef VEC
#undef LANES
#undef V
#undef MORE
#define REAL float
#define VEC vf
#define LANES VF
#define V(name) vf_##name
#include "contraction_kernel.h"

static bool single(const Row *row) { return row->type[1] == 'f' && row->type[2] == '3'; }

static void square_setup(Case *c) {
	int64_t n = c->row->variant;
	Element e = single(c->row) ? REAL32 : REAL64;
	bool many = c->n > 1;
	for (int k = 0; k < 2; k++) {
		c->in[k] = many ? limit_array(e, c->n, n, n) : limit_array(e, n, n, 0);
		limit_fill(&c->in[k], 30 + (uint64_t)k, -1, 1);
	}
	c->out[0] = many ? limit_array(e, c->n, n, n) : limit_array(e, n, n, 0);
	if (!many && n <= 128) c->own = limit_memory((size_t)((n + 64) * (n + 64)) * 8);
	c->ins = 2, c->outs = 1;
	int names = 0;
	if (many) c->lengths[names++] = c->n;
	c->lengths[names++] = n;
	c->flops = 2.0 * (double)(c->n * n) * (double)(n * n);
}

static void layer_setup(Case *c) {
	int64_t n = c->row->variant;
	Element e = single(c->row) ? REAL32 : REAL64;
	c->in[0] = limit_array(e, c->n, n, 0), c->in[1] = limit_array(e, n, n, 0),
	c->in[2] = limit_array(e, n, 0, 0);
	limit_fill(&c->in[0], 33, -1, 1), limit_fill(&c->in[1], 34, -0.4, 0.4),
		limit_fill(&c->in[2], 35, -0.2, 0.2);
	c->out[0] = limit_array(e, c->n, n, 0);
	c->own = limit_memory((size_t)((n + 64) * (n + 64)) * 8);
	c->ins = 3, c->outs = 1;
	c->lengths[0] = c->n, c->lengths[1] = n;
	c->flops = 2.0 * (double)c->n * (double)(n * n);
}

#define SQUARE(label, text, t, f, count, small, v, to, ours, more, more_run, tol)                  \
	{                                                                                              \
		.name = label, .title = text, .program = "contraction", .function = f, .type = t,          \
		.goal = to, .tolerance = tol, .full = count, .quick = small, .variant = v,                 \
		.setup = square_setup, .run = ours, .other_name = more, .other = more_run                  \
	}
#define SMALL64(v, f, t, count, few, text)                                                         \
	SQUARE("matmul-" #v, text, t, f, count, few, v, 1.15, vd_product_run, "OpenBLAS", vd_blas_run, \
	       1e-13)
#define SMALL32(v, f, t, count, few, text)                                                         \
	SQUARE("matmul-" #v "-f32", text, t, f, count, few, v, 1.15, vf_product_run, "OpenBLAS",       \
	       vf_blas_run, 1e-5)
#define LARGE64(v)                                                                                 \
	SQUARE("matmul-" #v, #v " x " #v " f64", "(f64[n, n], f64[n, n]) -> f64[n, n]", "matmul", 1,   \
	       1, v, 1.02, vd_blas_run, NULL, NULL, 1e-12)
#define LARGE32(v)                                                                                 \
	SQUARE("matmul-" #v "-f32", #v " x " #v " f32", "(f32[n, n], f32[n, n]) -> f32[n, n]",         \
	       "matmul", 1, 1, v, 1.02, vf_blas_run, NULL, NULL, 1e-4)
#define AFFINE(v, suffix, t, tol, ours, blas_side)                                                 \
	NARROW("affine-" #v suffix, "x @ W' + b, 10000 x " #v " x " #v " " t, "affine", v, t, tol,     \
	       ours, blas_side)
#define LAYER(v, suffix, t, tol, ours, blas_side)                                                  \
	NARROW("layer-" #v suffix, "tanh(x @ W' + b), 10000 x " #v " x " #v " " t, "layer", v, t, tol, \
	       ours, blas_side)
#define NARROW(label, text, f, v, t, tol, ours, blas_side)                                         \
	{                                                                                              \
		.name = label, .title = text, .program = "contraction", .function = f,                     \
		.type = "(" t "[m, k], " t "[k, k], " t "[k]) -> " t "[m, k]", .goal = 1.15,               \
		.tolerance = tol, .full = 10000, .quick = 1000, .variant = v, .setup = layer_setup,        \
		.run = ours, .other_name = "OpenBLAS", .other = blas_side                                  \
	}

const Row contraction_rows[] = {
	SMALL64(16, "matmuls", "(f64[q, n, n], f64[q, n, n]) -> f64[q, n, n]", 1000, 100,
            "1000 products 16 x 16 f64"),
	SMALL32(16, "matmuls", "(f32[q, n, n], f32[q, n, n]) -> f32[q, n, n]", 1000, 100,
            "1000 products 16 x 16 f32"),
	SMALL64(32, "matmuls", "(f64[q, n, n], f64[q, n, n]) -> f64[q, n, n]", 1000, 100,
            "1000 products 32 x 32 f64"),
	SMALL32(32, "matmuls", "(f32[q, n, n], f32[q, n, n]) -> f32[q, n, n]", 1000, 100,
            "1000 products 32 x 32 f32"),
	SMALL64(64, "matmul", "(f64[n, n], f64[n, n]) -> f64[n, n]", 1, 1, "64 x 64 f64"),
	SMALL32(64, "matmul", "(f32[n, n], f32[n, n]) -> f32[n, n]", 1, 1, "64 x 64 f32"),
	SMALL64(128, "matmul", "(f64[n, n], f64[n, n]) -> f64[n, n]", 1, 1, "128 x 128 f64"),
	SMALL32(128, "matmul", "(f32[n, n], f32[n, n]) -> f32[n, n]", 1, 1, "128 x 128 f32"),
	LARGE64(256),
	LARGE32(256),
	LARGE64(512),
	LARGE32(512),
	LARGE64(1024),
	LARGE32(1024),
	LARGE64(2048),
	LARGE32(2048),
	AFFINE(20, "", "f64", 1e-13, vd_product_run, vd_blas_run),
	AFFINE(20, "-f32", "f32", 1e-5, vf_product_run, vf_blas_run),
	LAYER(20, "", "f64", 1e-13, vd_product_run, vd_blas_run),
	LAYER(20, "-f32", "f32", 1e-5, vf_product_run, vf_blas_run),
	LAYER(64, "", "f64", 1e-13, vd_product_run, vd_blas_run),
	LAYER(64, "-f32", "f32", 1e-5, vf_product_run, vf_blas_run),
	LAYER(128, "", "f64", 1e-13, vd_product_run, vd_blas_run),
	LAYER(128, "-f32", "f32", 1e-5, vf_product_run, vf_blas_run),
	{0},
};
