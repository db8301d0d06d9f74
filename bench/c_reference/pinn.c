/* pinn.c - C reference: a training step of a physics-informed network.
 *
 * Computes the mean square of the residual of the Burgers equation, and its
 * gradient with respect to all weights.
 *
 * Method: Taylor jets forward (value, first derivatives, Laplacian as one
 * scalar), tanh and its derivatives in registers, a hand-written reverse sweep.
 * Blocks of samples stay in the caches. Narrow networks have samples in the
 * SIMD lanes, wide ones neurons.
 *
 * Needs: limit.h, pinn_lanes.h, pinn_rows.h.
 */
#include "limit.h"
#include "vecmath.h"

#define VISCOSITY (0.01 / 3.14159265358979323846)

static void pinn_inputs(Case *c, Element e, int64_t width, int64_t layers, int64_t coords) {
	int64_t weights = width * coords + width + (layers - 1) * (width * width + width) + width + 1;
	c->in[0] = limit_array(e, weights, 0, 0);
	/* the uniform distribution of Glorot and Bengio */
	double size = sqrt(6.0 / (double)(2 * width));
	limit_fill(&c->in[0], 50, -size, size);
	for (int64_t i = 0; i < coords; i++) {
		c->in[1 + i] = limit_array(e, c->n, 0, 0);
		limit_fill(&c->in[1 + i], 51 + (uint64_t)i, i == coords - 1 ? 0 : -1, 1);
	}
	c->ins = (int)(1 + coords);
	c->out[0] = limit_array(e, 1, 0, 0), c->out[0].rank = 0;
	c->out[1] = limit_array(e, weights, 0, 0);
	c->outs = 2;
	/* of the products only: forward, back to the activations, back to the
	 * weights */
	c->flops =
		3.0 * 2.0 * (double)c->n * (double)(coords + 2) * (double)((layers - 1) * width * width);
}

#define REAL double
#define VEC vd
#define LANES VD
#define V(name) vd_##name
#define WIDTH 20
#define LAYERS 8
#define COORDS 2
#define N(name) n20x8_##name
#include "pinn_lanes.h"
#undef N
#undef WIDTH
#undef LAYERS
#define WIDTH 64
#define LAYERS 4
#define SAMPLES 12
#define N(name) n64x4_##name
#include "pinn_rows.h"
#undef N
#undef WIDTH
#undef LAYERS
#undef COORDS
#undef SAMPLES
#define WIDTH 128
#define LAYERS 5
#define COORDS 3
#define SAMPLES 6
#define N(name) n128x5_##name
#include "pinn_rows.h"
#undef N
#undef WIDTH
#undef LAYERS
#undef COORDS
#undef SAMPLES
#undef REAL
#undef VEC
#undef LANES
#undef V

#define REAL float
#define VEC vf
#define LANES VF
#define V(name) vf_##name
#define WIDTH 20
#define LAYERS 8
#define COORDS 2
#define N(name) n20x8f_##name
#include "pinn_lanes.h"
#undef N
#undef WIDTH
#undef LAYERS
#define WIDTH 64
#define LAYERS 4
#define SAMPLES 12
#define N(name) n64x4f_##name
#include "pinn_rows.h"
#undef N
#undef WIDTH
#undef LAYERS
#undef COORDS
#undef SAMPLES
#define WIDTH 128
#define LAYERS 5
#define COORDS 3
#define SAMPLES 12
#define N(name) n128x5f_##name
#include "pinn_rows.h"

#define ROW(label, text, begin, f, tol, small, net)                                                \
	{                                                                                              \
		.name = label, .title = text, .program = "pinn", .start = begin, .function = f,            \
		.goal = 1.4, .tolerance = tol, .full = 10000, .quick = small, .setup = net##_setup,        \
		.run = net##_run                                                                           \
	}

const Row pinn_rows[] = {
	ROW("pinn-20x8", "PINN step, 8 layers of 20, f64, N = 10000", "start_20x8", "step", 1e-10, 400,
        n20x8),
	ROW("pinn-20x8-f32", "PINN step, 8 layers of 20, f32, N = 10000", "start_20x8", "step", 1e-4,
        400, n20x8f),
	ROW("pinn-64x4", "PINN step, 4 layers of 64, f64, N = 10000", "start_64x4", "step", 1e-10, 200,
        n64x4),
	ROW("pinn-64x4-f32", "PINN step, 4 layers of 64, f32, N = 10000", "start_64x4", "step", 1e-4,
        200, n64x4f),
	ROW("pinn-128x5", "PINN step, 5 layers of 128, Laplacian in 2-D, f64, N = 10000", "start_128x5",
        "step_2d", 1e-10, 50, n128x5),
	ROW("pinn-128x5-f32", "PINN step, 5 layers of 128, Laplacian in 2-D, f32, N = 10000",
        "start_128x5", "step_2d", 1e-4, 50, n128x5f),
	{0},
};
