/* triangles.c - C reference: finite element assembly for the Poisson equation.
 *
 * Method: linear elements, triangle by triangle, distributed over the threads.
 * Corners are read directly from the arrays; symmetric entries are computed
 * once.
 *
 * Needs: limit.h.
 */
#include "limit.h"

#include <math.h>

/* A square of n x n cells of two triangles each. */
static void triangles_setup(Case *c) {
	const int64_t n = c->n, nodes = (n + 1) * (n + 1), cells = 2 * n * n;
	c->lengths[0] = nodes, c->lengths[1] = cells;
	c->in[0] = limit_array(REAL64, nodes, 2, 0);
	c->in[1] = limit_array(WHOLE64, cells, 3, 0);
	c->out[0] = limit_array(REAL64, cells, 3, 3);
	c->ins = 2, c->outs = 1;
	double *x = c->in[0].data;
	int64_t *t = c->in[1].data;
	for (int64_t i = 0; i <= n; i++)
		for (int64_t j = 0; j <= n; j++) {
			double *p = x + 2 * (i * (n + 1) + j);
			p[0] = (double)i / (double)n + 0.1 / (double)n * sin((double)(3 * i + 5 * j));
			p[1] = (double)j / (double)n + 0.1 / (double)n * cos((double)(4 * i - j));
		}
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			const int64_t a = i * (n + 1) + j, b = a + n + 1,
						  corners[6] = {a, b, b + 1, a, b + 1, a + 1};
			for (int k = 0; k < 6; k++) t[6 * (i * n + j) + k] = corners[k];
		}
}

static void share(int part, int parts, void *ud) {
	const Case *c = ud;
	const double *restrict x = c->in[0].data;
	const int64_t *restrict t = c->in[1].data;
	double *restrict out = c->out[0].data;
	int64_t from, to;
	limit_share(c->lengths[1], 8, part, parts, &from, &to);
	for (int64_t k = from; k < to; k++) {
		const double *p = x + 2 * t[3 * k], *q = x + 2 * t[3 * k + 1], *r = x + 2 * t[3 * k + 2];
		const double ax = r[0] - q[0], ay = r[1] - q[1], bx = p[0] - r[0], by = p[1] - r[1],
					 cx = q[0] - p[0], cy = q[1] - p[1];
		const double f = 0.5 / fabs(ax * by - ay * bx), ab = f * (ax * bx + ay * by),
					 ac = f * (ax * cx + ay * cy), bc = f * (bx * cx + by * cy);
		double *o = out + 9 * k;
		o[0] = f * (ax * ax + ay * ay), o[1] = ab, o[2] = ac;
		o[3] = ab, o[4] = f * (bx * bx + by * by), o[5] = bc;
		o[6] = ac, o[7] = bc, o[8] = f * (cx * cx + cy * cy);
	}
}

static void triangles_run(Case *c) { limit_parallel(c->threads, share, c); }

const Row triangles_rows[] = {
	{.name = "triangles",
     .title = "Poisson by linear elements: the matrices of 999,698 triangles",
     .program = "triangles",
     .function = "local",
     .type = "(f64[n, 2], i64[m, 3]) -> f64[m, 3, 3]",
     .goal = 1.15,
     .tolerance = 1e-12,
     .full = 707,
     .quick = 64,
     .setup = triangles_setup,
     .run = triangles_run},
	{0},
};
