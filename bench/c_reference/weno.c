/* weno.c - C reference: Sod's shock tube by finite volumes.
 *
 * Method: the scheme of fv(reconstruct = "weno5") in stdlib/pde/fv/fv.dsl:
 * component-wise WENO of fifth order (Jiang and Shu), Rusanov flux, SSP
 * Runge-Kutta of third order. The step is 0.8 cells of the fastest wave; the
 * last two steps are equal; the ends are outflow boundaries. The wave speed is
 * |u| + c, where the library computes eigenvalues of the flux Jacobian. Fluxes
 * of a block of faces stay in L1.
 *
 * Needs: limit.h, vec.h.
 */
#include "limit.h"
#include "vec.h"

#define GHOST 3
#define MARGIN 32 /* before the first cell; at least GHOST, and whole vectors */
#define BLOCK 256
#define GAMMA 1.4

typedef struct Tube {
	int64_t n;
	double *q[3][3]; /* three states of three arrays */
	double *a;       /* wave speeds */
	double t1, most[64];
} Tube;

/* Computes the values at both faces of the central one of five cells. Both
 * share the smoothness indicators, so three of them and their products
 * suffice. */
INLINE void edges(vd a, vd b, vd c, vd d, vd e, vd *low, vd *high) {
	vd p = a - 2 * b + c, p1 = a - 4 * b + 3 * c, q = b - 2 * c + d, q1 = b - d, r = c - 2 * d + e,
	   r1 = 3 * c - 4 * d + e;
	const double k = 13.0 / 3.0;
	vd x = 4e-6 + k * p * p + p1 * p1, y = 4e-6 + k * q * q + q1 * q1,
	   w = 4e-6 + k * r * r + r1 * r1;
	x *= x, y *= y, w *= w;
	vd i = y * w, j = 6 * x * w, l = x * y, i3 = 3 * i, l3 = 3 * l;
	*high = (i * (2 * a - 7 * b + 11 * c) + j * (-b + 5 * c + 2 * d) + l3 * (2 * c + 5 * d - e)) /
	        (6 * (i + j + l3));
	*low = (l * (2 * e - 7 * d + 11 * c) + j * (-d + 5 * c + 2 * b) + i3 * (2 * c + 5 * b - a)) /
	       (6 * (l + j + i3));
}
INLINE void flux(const vd u[3], vd f[3]) {
	vd v = u[1] / u[0], p = (GAMMA - 1) * (u[2] - 0.5 * u[1] * v);
	f[0] = u[1], f[1] = u[1] * v + p, f[2] = (u[2] + p) * v;
}

static void speeds(const Tube *g, double *const *q, int64_t from, int64_t to) {
	for (int64_t i = from; i < to; i += VD) {
		vd r = 1 / vd_load(q[0] + i), m = vd_load(q[1] + i), v = m * r,
		   p = (GAMMA - 1) * (vd_load(q[2] + i) - 0.5 * m * v);
		vd_store(g->a + i, vd_max(v, -v) + vd_sqrt(GAMMA * p * r));
	}
}

/* Shift by one element across two adjacent vectors: one_before begins with the
 * last element of x, one_behind with its second one. */
#if VD == 8
INLINE vd one_before(vd x, vd y) {
	return __builtin_shufflevector(x, y, 7, 8, 9, 10, 11, 12, 13, 14);
}
INLINE vd one_behind(vd x, vd y) { return __builtin_shufflevector(x, y, 1, 2, 3, 4, 5, 6, 7, 8); }
#elif VD == 4
INLINE vd one_before(vd x, vd y) { return __builtin_shufflevector(x, y, 3, 4, 5, 6); }
INLINE vd one_behind(vd x, vd y) { return __builtin_shufflevector(x, y, 1, 2, 3, 4); }
#else
INLINE vd one_before(vd x, vd y) { return __builtin_shufflevector(x, y, 1, 2); }
INLINE vd one_behind(vd x, vd y) { return __builtin_shufflevector(x, y, 1, 2); }
#endif

/* Computes out = wa base + wb (q + dt L(q)) in cells from .. to - 1, which are
 * whole vectors. A face has the number of the cell above it. Values and fluxes
 * of the previous vector stay in registers. */
static void stage(const Tube *g, double *const *q, double *const *base, double *const *out,
                  double wa, double wb, double dt, bool later, int64_t from, int64_t to) {
	const double by = wb * dt * (double)g->n;
	vd below[3] = {0}, before[3] = {0};
	for (int64_t i = from - VD; i <= to; i += VD) {
		vd l[3], r[3], high[3], fl[3], fr[3], f[3];
		UNROLL for (int c = 0; c < 3; c++) {
			const double *u = q[c] + i;
			edges(vd_load(u - 2), vd_load(u - 1), vd_load(u), vd_load(u + 1), vd_load(u + 2), &r[c],
			      &high[c]);
			l[c] = one_before(below[c], high[c]), below[c] = high[c];
		}
		if (i < from) continue;
		vd a = vd_max(vd_load(g->a + i - 1), vd_load(g->a + i));
		if (later) a = vd_max(a, vd_max(vd_load(g->a + i - 2), vd_load(g->a + i + 1)));
		flux(l, fl), flux(r, fr);
		UNROLL for (int c = 0; c < 3; c++) {
			f[c] = 0.5 * (fl[c] + fr[c]) - 0.5 * a * (r[c] - l[c]);
			if (i > from) {
				vd v = wb * vd_load(q[c] + i - VD) - by * (one_behind(before[c], f[c]) - before[c]);
				if (wa != 0) v += wa * vd_load(base[c] + i - VD);
				vd_store(out[c] + i - VD, v);
			}
			before[c] = f[c];
		}
	}
}

static void tube_part(int part, int parts, void *ud) {
	Case *c = ud;
	Tube *g = c->own;
	int64_t n = g->n, from, to;
	limit_share(n, VD, part, parts, &from, &to);
	for (int k = 0; k < 3; k++)
		for (int64_t i = from; i < to; i++)
			g->q[0][k][i] = k == 1                              ? 0
			                : (double)i + 0.5 < 0.5 * (double)n ? (k ? 2.5 : 1)
			                                                    : (k ? 0.25 : 0.125);
	limit_barrier(parts);
	for (double t = 0; t < g->t1;) {
		double dt = 0, left = g->t1 - t;
		for (int s = 0; s < 3; s++) {
			double *const *q = g->q[s], *const *out = g->q[s == 2 ? 0 : s + 1];
			/* each thread fills the ghost cells that it reads, all with the
			 * same values */
			if (part == 0)
				for (int k = 0; k < 3; k++)
					for (int j = 1; j <= GHOST; j++) q[k][-j] = q[k][j - 1];
			if (part == parts - 1)
				for (int k = 0; k < 3; k++)
					for (int j = 0; j < GHOST + 2 * VD; j++)
						q[k][n + j] = q[k][j < GHOST ? n - 1 - j : n - 1];
			limit_barrier(parts);
			if (s == 0) {
				speeds(g, q, part ? from : -VD, part == parts - 1 ? to + VD : to);
				vd most = vd_zero();
				for (int64_t i = from; i < to; i += VD) most = vd_max(most, vd_load(g->a + i));
				double m = 0;
				for (int k = 0; k < VD; k++) m = most[k] > m ? most[k] : m;
				g->most[part] = m;
				limit_barrier(parts);
				m = 0;
				for (int k = 0; k < parts; k++) m = g->most[k] > m ? g->most[k] : m;
				double pace = m * (double)n / 0.8;
				dt = pace * left <= 1 ? left : pace * left < 2 ? 0.5 * left : 1 / pace;
				t = pace * left <= 1 ? g->t1 : t + dt;
			}
			stage(g, q, g->q[0], out,
			      s == 0   ? 0
			      : s == 1 ? 0.75
			               : 1.0 / 3,
			      s == 0   ? 1
			      : s == 1 ? 0.25
			               : 2.0 / 3,
			      dt, s > 0, from, to);
			limit_barrier(parts);
		}
	}
	for (int k = 0; k < 3; k++)
		memcpy((double *)c->out[0].data + k * n + from, g->q[0][k] + from, (size_t)(to - from) * 8);
}
static void tube_run(Case *c) { limit_parallel(c->threads, tube_part, c); }

static void tube_setup(Case *c) {
	c->lengths[0] = 3, c->lengths[1] = c->n;
	c->in[0] = limit_array(WHOLE64, 1, 0, 0);
	c->in[0].rank = 0;
	*(int64_t *)c->in[0].data = c->n;
	c->out[0] = limit_array(REAL64, 3, c->n, 0);
	c->ins = c->outs = 1;
	Tube *g = c->own = limit_memory(sizeof(Tube));
	/* about 270 steps for any grid */
	g->n = c->n, g->t1 = 100.0 / (double)c->n;
	for (int s = 0; s < 3; s++)
		for (int k = 0; k < 3; k++)
			g->q[s][k] = (double *)limit_memory((size_t)(c->n + 2 * MARGIN) * 8) + MARGIN;
	g->a = (double *)limit_memory((size_t)(c->n + 2 * MARGIN) * 8) + MARGIN;
	if (c->threads > 64 || c->n % VD)
		limit_stop("weno: too many threads, or no integer of vectors of cells");
}

const Row weno_rows[] = {
	{.name = "weno",
     .title = "Sod, WENO5, SSPRK3, 10000 cells",
     .program = "weno",
     .function = "sod",
     .type = "(i64) -> f64[m, n]",
     .goal = 1.3,
     .tolerance = 1e-9,
     .full = 10000,
     .quick = 800,
     .setup = tube_setup,
     .run = tube_run},
	{0},
};
