/* newton.c - C reference: Newton iterations for many 3 x 3 systems.
 *
 * Method: GROUP vectors of systems at once; Gaussian elimination with partial
 * pivoting by selection, without branches.
 *
 * Needs: limit.h, vec.h.
 */
#include "limit.h"
#include "vec.h"

#define TURNS 10
/* interleaved vectors of systems, since the iterations of one depend on each
 * other */
#define GROUP 2

/* Swaps rows p and q if q's element in the column is larger. */
INLINE void pivot(vd a[3][4], int p, int q, int column) {
	vd x = a[p][column], y = a[q][column];
	vl swap = x * x < y * y;
	UNROLL for (int j = column; j < 4; j++) {
		vd u = a[p][j], v = a[q][j];
		a[p][j] = vd_if(swap, v, u), a[q][j] = vd_if(swap, u, v);
	}
}

INLINE void turn(vd *v, const vd *p) {
	vd x = v[0], y = v[1], z = v[2];
	vd a[3][4] = {{x + x, y + y, z + z, x * x + y * y + z * z - p[0]},
	              {y * z, x * z, x * y, x * y * z - p[1]},
	              {vd_set(1), -(y + y), vd_set(1), x - y * y + z - p[2]}};
	pivot(a, 0, 1, 0), pivot(a, 0, 2, 0);
	vd f = 1.0 / a[0][0], m1 = a[1][0] * f, m2 = a[2][0] * f;
	UNROLL for (int j = 1; j < 4; j++) a[1][j] -= m1 * a[0][j], a[2][j] -= m2 * a[0][j];
	pivot(a, 1, 2, 1);
	vd g = 1.0 / a[1][1], m = a[2][1] * g;
	UNROLL for (int j = 2; j < 4; j++) a[2][j] -= m * a[1][j];
	vd dz = a[2][3] / a[2][2], dy = (a[1][3] - a[1][2] * dz) * g,
	   dx = (a[0][3] - a[0][1] * dy - a[0][2] * dz) * f;
	v[0] = x - dx, v[1] = y - dy, v[2] = z - dz;
}

static void newton_part(int part, int parts, void *ud) {
	Case *c = ud;
	int64_t from, to;
	limit_share(c->n, GROUP * VD, part, parts, &from, &to);
	const double *start = c->in[0].data, *right = c->in[1].data;
	double *out = c->out[0].data;
	for (int64_t i = from; i < to; i += GROUP * VD) {
		double lanes[2][3][GROUP * VD];
		vd v[GROUP][3], p[GROUP][3];
		for (int k = 0; k < GROUP * VD; k++)
			for (int j = 0; j < 3; j++) {
				int64_t q = (i + k < to ? i + k : to - 1) * 3 + j;
				lanes[0][j][k] = start[q], lanes[1][j][k] = right[q];
			}
		for (int g = 0; g < GROUP; g++)
			for (int j = 0; j < 3; j++)
				v[g][j] = vd_load(lanes[0][j] + g * VD), p[g][j] = vd_load(lanes[1][j] + g * VD);
		for (int k = 0; k < TURNS; k++)
			for (int g = 0; g < GROUP; g++) turn(v[g], p[g]);
		for (int k = 0; k < GROUP * VD && i + k < to; k++)
			for (int j = 0; j < 3; j++) out[(i + k) * 3 + j] = v[k / VD][j][k % VD];
	}
}
static void newton_run(Case *c) { limit_parallel(c->threads, newton_part, c); }

static void newton_setup(Case *c) {
	static const double near[2][3] = {{1, 2, 3}, {14, 6, 0}};
	c->lengths[0] = c->n;
	for (int a = 0; a < 2; a++) {
		c->in[a] = limit_array(REAL64, c->n, 3, 0);
		limit_fill(&c->in[a], 70 + (uint64_t)a, a ? -0.3 : -0.1, a ? 0.3 : 0.1);
		for (int64_t i = 0; i < 3 * c->n; i++) ((double *)c->in[a].data)[i] += near[a][i % 3];
	}
	c->out[0] = limit_array(REAL64, c->n, 3, 0);
	c->ins = 2, c->outs = 1;
}

const Row newton_rows[] = {
	{.name = "newton",
     .title = "map of 10 Newton iterations over 1e4 systems 3 x 3",
     .program = "newton",
     .function = "solve_all",
     .type = "(f64[n, 3], f64[n, 3]) -> f64[n, 3]",
     .goal = 1.3,
     .tolerance = 1e-12,
     .full = 10000,
     .quick = 200,
     .setup = newton_setup,
     .run = newton_run},
	{0},
};
