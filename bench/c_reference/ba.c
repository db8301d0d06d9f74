/* ba.c - C reference: bundle adjustment of ADBench, value and gradient.
 *
 * Method: the sum of squared reprojection errors; gradient by reverse mode.
 * Observations are in the SIMD lanes. Shared data (a camera, a point) are
 * gathered and accumulated lane by lane, in arrays of each thread.
 *
 * Needs: limit.h, vecmath.h. No rotation in the data has angle zero.
 */
#include "limit.h"
#include "vecmath.h"

#define CAMERA 11
#define CAMERAS 49
#define POINTS 7776

typedef struct Sums {
	double value, camera[CAMERAS][CAMERA], point[POINTS][3];
} Sums;

typedef struct Work {
	Sums *sums[256];
} Work;

INLINE vd dot3(const vd *a, const vd *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

INLINE void cross(const vd *a, const vd *b, vd *out) {
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
}

INLINE vd vd_cos(vd x) { return vd_sin(x + 1.57079632679489661923); }

/* Computes one vector of observations; with `gradient`, also the derivatives
 * with respect to camera, point and weight. */
INLINE vd observe(const vd *cam, const vd *x, vd w, const vd *seen, bool gradient, vd *dcam, vd *dx,
                  vd *dw) {
	vd y[3], a[3], ay[3], p[3], e[2], u[2], v[2];
	for (int i = 0; i < 3; i++) y[i] = x[i] - cam[3 + i];
	const vd angle = vd_sqrt(dot3(cam, cam)), inverse = 1.0 / angle, c = vd_cos(angle),
			 s = vd_sin(angle);
	for (int i = 0; i < 3; i++) a[i] = cam[i] * inverse;
	cross(a, y, ay);
	const vd along = dot3(a, y), rest = along * (1.0 - c);
	for (int i = 0; i < 3; i++) p[i] = y[i] * c + ay[i] * s + a[i] * rest;
	const vd depth = 1.0 / p[2];
	u[0] = p[0] * depth, u[1] = p[1] * depth;
	const vd q = u[0] * u[0] + u[1] * u[1], lens = 1.0 + cam[9] * q + cam[10] * q * q,
			 off = 1.0 - w * w;
	for (int i = 0; i < 2; i++) {
		v[i] = u[i] * lens;
		e[i] = v[i] * cam[6] + cam[7 + i] - seen[i];
	}
	const vd square = e[0] * e[0] + e[1] * e[1], value = w * w * square + off * off;
	if (!gradient) return value;

	*dw = 2.0 * w * square - 4.0 * w * off;
	vd de[2], dv[2], du[2], dp[3], da[3], ady[3];
	for (int i = 0; i < 2; i++) de[i] = 2.0 * w * w * e[i];
	dcam[6] = de[0] * v[0] + de[1] * v[1];
	for (int i = 0; i < 2; i++) {
		dcam[7 + i] = de[i];
		dv[i] = de[i] * cam[6];
	}
	const vd dlens = dv[0] * u[0] + dv[1] * u[1], dq = dlens * (cam[9] + 2.0 * cam[10] * q);
	dcam[9] = dlens * q;
	dcam[10] = dlens * q * q;
	for (int i = 0; i < 2; i++) {
		du[i] = dv[i] * lens + 2.0 * dq * u[i];
		dp[i] = du[i] * depth;
	}
	dp[2] = -(dp[0] * u[0] + dp[1] * u[1]);
	/* p = y c + (a x y) s + a (a.y) (1 - c) */
	const vd adp = dot3(a, dp);
	vd dpa[3], ydp[3];
	cross(dp, a, dpa);
	cross(y, dp, ydp);
	for (int i = 0; i < 3; i++) {
		ady[i] = dp[i] * c + dpa[i] * s + a[i] * (adp * (1.0 - c));
		da[i] = ydp[i] * s + (dp[i] * along + y[i] * adp) * (1.0 - c);
	}
	const vd dangle = c * dot3(ay, dp) - s * (dot3(y, dp) - along * adp),
			 radial = dangle - dot3(a, da) * inverse;
	for (int i = 0; i < 3; i++) {
		dcam[i] = da[i] * inverse + a[i] * radial;
		dcam[3 + i] = -ady[i];
		dx[i] = ady[i];
	}
	return value;
}

INLINE void ba_share(Case *c, int part, int parts, bool gradient) {
	Work *work = c->own;
	Sums *g = work->sums[part];
	const double(*cameras)[CAMERA] = c->in[0].data, (*points)[3] = c->in[1].data,
		  *weights = c->in[2].data, (*seen)[2] = c->in[5].data;
	const int64_t *by = c->in[3].data, *at = c->in[4].data;
	double *to_weight = gradient ? c->out[3].data : NULL;
	int64_t from, to;
	vd value = vd_zero();
	if (gradient) memset(g, 0, sizeof *g);
	limit_share(c->n, VD, part, parts, &from, &to);
	for (int64_t o = from; o < to; o += VD) {
		double turned[CAMERA + 3 + 1 + 2 + 1][VD]; /* gathered data, by lanes */
		for (int l = 0; l < VD; l++) {
			const int64_t k = o + l < to ? o + l : to - 1;
			for (int i = 0; i < CAMERA; i++) turned[i][l] = cameras[by[k]][i];
			for (int i = 0; i < 3; i++) turned[CAMERA + i][l] = points[at[k]][i];
			for (int i = 0; i < 2; i++) turned[CAMERA + 3 + i][l] = seen[k][i];
			turned[CAMERA + 5][l] = weights[k];
			turned[CAMERA + 6][l] = o + l < to;
		}
		vd read[CAMERA + 7], dcam[CAMERA], dx[3], dw;
		for (int i = 0; i < CAMERA + 7; i++) read[i] = vd_load(turned[i]);
		const vd *cam = read, *x = read + CAMERA, *s = x + 3, w = read[CAMERA + 5],
				 here = read[CAMERA + 6];
		value += here * observe(cam, x, w, s, gradient, dcam, dx, &dw);
		for (int l = 0; gradient && l < VD && o + l < to; l++) {
			double *camera = g->camera[by[o + l]], *point = g->point[at[o + l]];
			for (int i = 0; i < CAMERA; i++) camera[i] += dcam[i][l];
			for (int i = 0; i < 3; i++) point[i] += dx[i][l];
			to_weight[o + l] = dw[l];
		}
	}
	g->value = vd_sum(value);
}

static void ba_part(int part, int parts, void *ud) {
	Case *c = ud;
	if (c->row->variant) ba_share(c, part, parts, true);
	else ba_share(c, part, parts, false);
}

static void ba_run(Case *c) {
	Work *w = c->own;
	limit_parallel(c->threads, ba_part, c);
	double *value = c->out[0].data;
	*value = 0;
	for (int t = 0; t < c->threads; t++) *value += w->sums[t]->value;
	if (!c->row->variant) return;
	double *camera = c->out[1].data, *point = c->out[2].data;
	memcpy(camera, w->sums[0]->camera, sizeof w->sums[0]->camera);
	memcpy(point, w->sums[0]->point, sizeof w->sums[0]->point);
	for (int t = 1; t < c->threads; t++) {
		const double *own_camera = &w->sums[t]->camera[0][0], *own_point = &w->sums[t]->point[0][0];
		for (size_t i = 0; i < sizeof w->sums[t]->camera / sizeof(double); i++)
			camera[i] += own_camera[i];
		for (size_t i = 0; i < sizeof w->sums[t]->point / sizeof(double); i++)
			point[i] += own_point[i];
	}
}

static void ba_setup(Case *c) {
	Work *w = c->own = limit_memory(sizeof(Work));
	for (int t = 0; t < c->threads; t++) w->sums[t] = limit_memory(sizeof(Sums));
	c->lengths[0] = CAMERAS, c->lengths[1] = POINTS, c->lengths[2] = c->n;
	c->in[0] = limit_array(REAL64, CAMERAS, CAMERA, 0),
	c->in[1] = limit_array(REAL64, POINTS, 3, 0), c->in[2] = limit_array(REAL64, c->n, 0, 0);
	c->in[3] = limit_array(WHOLE64, c->n, 0, 0), c->in[4] = limit_array(WHOLE64, c->n, 0, 0),
	c->in[5] = limit_array(REAL64, c->n, 2, 0);
	limit_fill(&c->in[0], 100, 0.1, 0.4), limit_fill(&c->in[1], 101, 2, 3),
		limit_fill(&c->in[2], 102, 0.5, 1), limit_fill(&c->in[5], 103, -1, 1);
	for (int64_t k = 0; k < c->n; k++) {
		((int64_t *)c->in[3].data)[k] = k * 7 % CAMERAS;
		((int64_t *)c->in[4].data)[k] = k * 31 % POINTS;
	}
	c->ins = 6;
	c->out[0] = limit_array(REAL64, 1, 0, 0), c->out[0].rank = 0;
	for (int i = 1; c->row->variant && i < 4; i++)
		c->out[i] =
			limit_array(REAL64, c->in[i - 1].shape[0], i < 3 ? c->in[i - 1].shape[1] : 0, 0);
	c->outs = c->row->variant ? 4 : 1;
}

#define BA                                                                                         \
	.program = "ba", .goal = 1.5, .tolerance = 1e-11, .full = 31843, .quick = 500,                 \
	.setup = ba_setup, .run = ba_run
#define BA_TYPE "(f64[n, 11], f64[m, 3], f64[p], i64[p], i64[p], f64[p, 2]) -> "

const Row ba_rows[] = {
	{.name = "ba-value",
     .title = "bundle adjustment, 49 cameras, 7776 points, 31843 observations: the value",
     BA,
     .function = "objective",
     .type = BA_TYPE "f64"},
	{.name = "ba",
     .title = "bundle adjustment, value and gradient, 49 cameras, 7776 points, 31843 observations",
     BA,
     .function = "step",
     .type = BA_TYPE "(f64, f64[n, 11], f64[m, 3], f64[p])",
     .variant = 1},
	{0},
};
