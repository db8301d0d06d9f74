/* layers.h - one layer of every kind, for the tests of layers.
 *
 * Needs: help.h.
 */
#ifndef ATLED_TESTS_UNIT_PLOT_LAYERS_H
#define ATLED_TESTS_UNIT_PLOT_LAYERS_H

#include "tests/unit/plot/help.h"

#include <math.h>

enum { N = 24, NX = 21, NY = 17, KINDS = PLOT_SCATTER_3D + 1 };

typedef struct Data {
	double x[N], y[N], z[N], e[N], gx[NX], gy[NY], bowl[NX * NY], u[NX * NY], v[NX * NY];
} Data;

static inline void fill_data(Data *d) {
	for (int i = 0; i < N; i++) {
		d->x[i] = i;
		d->y[i] = 2 + sin(0.5 * i);
		d->z[i] = cos(0.5 * i);
		d->e[i] = 0.25;
	}
	for (int i = 0; i < NX; i++) d->gx[i] = -2 + 4.0 * i / (NX - 1);
	for (int j = 0; j < NY; j++) d->gy[j] = -2 + 4.0 * j / (NY - 1);
	for (int i = 0; i < NX; i++)
		for (int j = 0; j < NY; j++) {
			d->bowl[i * NY + j] = d->gx[i] * d->gx[i] + d->gy[j] * d->gy[j];
			d->u[i * NY + j] = -d->gy[j];
			d->v[i * NY + j] = d->gx[i];
		}
}

static inline PlotLayer layer_of(const Data *d, PlotKind kind) {
	PlotLayer l = {
		.kind = kind,
		.s = {.x = d->x, .y = d->y, .n = N, .label = "data", .colour = PLOT_COLOUR_AUTO}};
	PlotField grid = {.x = d->gx,
	                  .y = d->gy,
	                  .z = kind == PLOT_FLOW || kind == PLOT_ARROWS ? d->u : d->bowl,
	                  .nx = NX,
	                  .ny = NY};
	if (kind == PLOT_FLOW || kind == PLOT_ARROWS || kind == PLOT_CONTOURS || kind == PLOT_SURFACE) {
		l.s.x = l.s.y = NULL;
		l.s.n = 0;
		l.grid = grid;
		l.w = d->v;
		l.labelled = l.mesh = true;
	}
	if (kind == PLOT_BAND) l.a = d->z;
	if (kind == PLOT_LINE_3D || kind == PLOT_SCATTER_3D) l.a = d->z;
	if (kind == PLOT_ERRORS) l.a = l.b = d->e;
	if (kind == PLOT_RULES) {
		l.s.x = NULL;
		l.s.n = 2;
	}
	if (kind == PLOT_TEXT) {
		l.s.n = 1;
		l.s.label = NULL;
		l.text = "a note";
	}
	return l;
}

static inline Figure *figure_of(const PlotLayer *l) {
	Figure *f = figure_new(NULL, 1, 1);
	if (f && panel_layer(f, 0, l)) {
		figure_free(f);
		return NULL;
	}
	return f;
}

#endif
