/* test_plot_kinds.c - unit tests of the kinds of layers and of animations.
 *
 * Covers the extent and ink of layers, contours, perspective, animations,
 * legends and labels, terminal output, degenerate data and allocation failure.
 *
 * Needs: repl/plot/, libpng.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/help.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool near_to(double a, double b, double slack) { return fabs(a - b) <= slack; }

/* ---- one figure of every kind -------------------------------------------- */

enum { N = 24, NX = 21, NY = 17, KINDS = PLOT_SCATTER_3D + 1 };

typedef struct Data {
	double x[N], y[N], z[N], e[N], gx[NX], gy[NY], bowl[NX * NY], u[NX * NY], v[NX * NY];
} Data;

static void fill_data(Data *d) {
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

static PlotLayer layer_of(const Data *d, PlotKind kind) {
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

static Figure *figure_of(const PlotLayer *l) {
	Figure *f = figure_new(NULL, 1, 1);
	if (f && panel_layer(f, 0, l)) {
		figure_free(f);
		return NULL;
	}
	return f;
}

/* ---- extent of layers ---------------------------------------------------- */

static void test_axes(const Data *d) {
	PlotAxes a;
	double y[3] = {1, 4, 2}, x[3] = {0, 1, 2}, low[3] = {0.5, 0.5, 0.5};
	PlotLayer l = {.kind = PLOT_BARS, .s = {.x = x, .y = y, .n = 3}};
	Figure *f = figure_of(&l);
	CHECK(f && panel_axes(f, 0, &a) == PLOT_OK);
	CHECK(a.axis[1].lo == 0 && a.axis[1].hi > 4); /* bars stand on their axis */
	CHECK(a.axis[0].lo < -0.4 && a.axis[0].hi > 2.4);
	figure_free(f);
	l.sideways = true;
	f = figure_of(&l);
	CHECK(f && panel_axes(f, 0, &a) == PLOT_OK && a.axis[0].lo == 0 && a.axis[0].hi > 2);
	figure_free(f);
	l = (PlotLayer){.kind = PLOT_ERRORS, .s = {.x = x, .y = y, .n = 3}, .a = low, .b = low};
	f = figure_of(&l);
	CHECK(f && panel_axes(f, 0, &a) == PLOT_OK && a.axis[1].lo < 0.5 && a.axis[1].hi > 4.5 &&
	      a.axis[1].hi < 5);
	figure_free(f);
	/* A rule extends its own axis and not the other. */
	f = figure_new(NULL, 1, 1);
	double far = 100;
	CHECK(panel_line(f, 0, &(PlotSeries){.x = x, .y = y, .n = 3}) == PLOT_OK);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_RULES, .s = {.y = &far, .n = 1}}) == PLOT_OK);
	CHECK(panel_axes(f, 0, &a) == PLOT_OK && a.axis[1].hi > 100 && a.axis[0].hi == 2);
	figure_free(f);
	/* Samples that a logarithmic axis cannot show are counted. */
	double mixed[5] = {-1, 0, 1, 2, NAN};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = mixed, .n = 5}) == PLOT_OK &&
	      panel_scale(f, 0, PLOT_Y, PLOT_LOG) == PLOT_OK);
	CHECK(panel_axes(f, 0, &a) == PLOT_OK && a.left_out == 2);
	Scene s;
	bool said = false;
	CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	for (const PlotPrimitive *p = s.first; p; p = p->next)
		said = said || (p->kind == PRIM_TEXT && strstr(p->text, "2 values"));
	CHECK(said);
	plot_arena_free(&s.arena);
	figure_free(f);
	/* A graph of a function fills the axis from side to side. A curve that
	 * turns back has margins beyond its extreme points. */
	double back[3] = {0, 2, 1};
	for (int turns = 0; turns < 2; turns++) {
		f = figure_new(NULL, 1, 1);
		CHECK(panel_line(f, 0, &(PlotSeries){.x = turns ? back : x, .y = y, .n = 3}) == PLOT_OK &&
		      panel_axes(f, 0, &a) == PLOT_OK);
		CHECK(turns ? a.axis[0].lo < -0.05 && a.axis[0].hi > 2.05
		            : a.axis[0].lo == 0 && a.axis[0].hi == 2);
		figure_free(f);
	}
	/* Every measurement has its marker, however many there are: 120 error bars,
	 * 120 markers. */
	double many[120], height[120], error[120];
	for (int i = 0; i < 120; i++) many[i] = 0.05 * i, height[i] = sin(many[i]), error[i] = 0.05;
	l = (PlotLayer){.kind = PLOT_ERRORS,
	                .s = {.x = many, .y = height, .n = 120, .marker = PLOT_MARKER_CIRCLE},
	                .a = error,
	                .b = error};
	f = figure_of(&l);
	size_t marked = 0;
	CHECK(f && figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	for (const PlotPrimitive *p = s.first; p; p = p->next)
		marked += p->kind == PRIM_MARKERS ? p->n : 0;
	CHECK(marked == 120);
	plot_arena_free(&s.arena);
	figure_free(f);
	/* A unit of y is as long as a unit of x. */
	for (int wide = 0; wide < 2; wide++) {
		f = figure_new(NULL, 1, 1);
		CHECK(panel_line(f, 0, &(PlotSeries){.x = d->y, .y = d->z, .n = N}) == PLOT_OK &&
		      panel_aspect(f, 0, 1) == PLOT_OK);
		CHECK(figure_scene(f, wide ? 700 : 300, wide ? 250 : 600, 4, &s) == PLOT_OK);
		CHECK(panel_axes(f, 0, &a) == PLOT_OK);
		PlotRect r = {0};
		for (const PlotPrimitive *p = s.first; p; p = p->next)
			if (p->clip) r = *p->clip;
		double ux = (r.x1 - r.x0) / (a.axis[0].hi - a.axis[0].lo),
			   uy = (r.y1 - r.y0) / (a.axis[1].hi - a.axis[1].lo);
		CHECK(near_to(ux / uy, 1, 0.02));
		plot_arena_free(&s.arena);
		figure_free(f);
	}
}

/* ---- polygons ------------------------------------------------------------ */

/* Returns the ink of one polygon in pixels. */
static double ink_of_polygon(const PlotPoint *at, size_t n, int size) {
	Scene s = {
		.arena = {&plot_malloc, NULL, false}, .width = size, .height = size, .resolution = 1};
	PlotArena arena = {&plot_malloc, NULL, false};
	Raster r;
	scene_polygon(&s, at, n, (PlotColour){0, 0, 0, 255});
	double ink = 0;
	if (raster_scene(&s, size, size, &arena, &r))
		for (int i = 0; i < size * size; i++) ink += (255 - r.rgb[3 * i]) / 255.0;
	plot_arena_free(&s.arena);
	plot_arena_free(&arena);
	return ink;
}

/* The right-hand axis: only its own layers extend it, and its limits, scale and
 * labels are its own. */
static void test_right_axis(Test *t, const Data *d) {
	Figure *f = figure_new(NULL, 1, 1);
	PlotAxes axes;
	double high[N], low = 0, top = 0;
	for (int i = 0; i < N; i++) high[i] = 1000 + i;
	PlotLayer left = {.kind = PLOT_LINE, .s = {.x = d->x, .y = d->y, .n = N, .label = "left"}};
	PlotLayer right = {
		.kind = PLOT_BARS, .s = {.x = d->x, .y = high, .n = N, .label = "right"}, .right = true};
	CHECK(!panel_layer(f, 0, &left) && !panel_axes(f, 0, &axes) && !axes.right);
	CHECK(!panel_reach(f, 0, PLOT_Y2, &low, &top));
	CHECK(!panel_layer(f, 0, &right) && !panel_axes(f, 0, &axes) && axes.right);
	CHECK(axes.axis[PLOT_Y].hi < 4 && axes.axis[PLOT_Y2].lo == 0 && axes.axis[PLOT_Y2].hi > 1023);
	CHECK(panel_reach(f, 0, PLOT_Y2, &low, &top) && low == 0 && top == 1023);
	CHECK(!panel_scale(f, 0, PLOT_Y2, PLOT_LOG) && !panel_axes(f, 0, &axes) &&
	      axes.axis[PLOT_Y2].log && !axes.axis[PLOT_Y].log);
	CHECK(!panel_limits(f, 0, PLOT_Y2, 2000, 10) && panel_fixed(f, 0, PLOT_Y2) &&
	      !panel_fixed(f, 0, PLOT_Y));
	CHECK(!panel_axes(f, 0, &axes) && axes.axis[PLOT_Y2].turned && axes.axis[PLOT_Y2].lo == 10 &&
	      axes.axis[PLOT_Y2].hi == 2000);
	const double at[2] = {100, 1000};
	const char *const texts[2] = {"low", "high"};
	CHECK(!panel_ticks(f, 0, PLOT_Y2, 2, at, texts) &&
	      panel_ticks(f, 0, PLOT_Z, 2, at, texts) == PLOT_BAD_ARGUMENT);
	CHECK(!panel_label(f, 0, PLOT_Y2, "at the right") &&
	      panel_label(f, 0, (PlotAxis)4, "nowhere") == PLOT_BAD_ARGUMENT);
	char path[300];
	CHECK(!figure_write_svg(f, file_in(t, "right.svg", path)));
	FILE *in = fopen(path, "rb");
	static char svg[200000];
	size_t n = in ? fread(svg, 1, sizeof svg - 1, in) : 0;
	if (in) fclose(in);
	svg[n] = 0;
	CHECK(strstr(svg, ">at the right<") && strstr(svg, ">low<") && strstr(svg, ">high<"));
	CHECK(panel_limits(f, 0, PLOT_Y2, -1, 10) == PLOT_OK && figure_check(f) == PLOT_BAD_DATA &&
	      strstr(figure_error(f), "right-hand y"));
	unlink(path);
	figure_free(f);
}

static void test_polygons(Test *t) {
	/* Areas are exact up to the antialiasing of pixels. The oracle is the
	 * shoelace formula, for random triangles and stars. */
	for (int k = 0; k < 60; k++) {
		PlotPoint at[40];
		int n = 3 + k % 30;
		double area = 0;
		for (int i = 0; i < n; i++) {
			double angle = 2 * PLOT_PI * i / n, r = 12 + 30 * uniform(t);
			at[i] = (PlotPoint){50.3 + r * cos(angle), 49.6 + r * sin(angle)};
		}
		for (int i = 0; i < n; i++)
			area += at[i].x * at[(i + 1) % n].y - at[(i + 1) % n].x * at[i].y;
		CHECK(near_to(ink_of_polygon(at, (size_t)n, 100), fabs(area) / 2, 3));
	}
	/* A ring inside another is a hole; a second ring beside it is not. */
	const PlotPoint gap = {NAN, NAN};
	PlotPoint two[] = {{10, 10}, {60, 10}, {60, 60}, {10, 60}, gap,      {20, 20}, {40, 20},
	                   {40, 40}, {20, 40}, gap,      {70, 70}, {80, 70}, {80, 80}, {70, 80}};
	CHECK(near_to(ink_of_polygon(two, sizeof two / sizeof *two, 100), 2500 - 400 + 100, 1));
	/* A polygon with many vertices has the right area. */
	static PlotPoint many[60001];
	for (int i = 0; i < 60001; i++) {
		double angle = 2 * PLOT_PI * i / 60001;
		many[i] = (PlotPoint){50 + (40 + sin(900 * angle)) * cos(angle),
		                      50 + (40 + sin(900 * angle)) * sin(angle)};
	}
	CHECK(near_to(ink_of_polygon(many, 60001, 100), PLOT_PI * 1600.5, 6));
}

/* ---- contours ------------------------------------------------------------ */

static void test_contours(const Data *d) {
	double level = 1;
	PlotLayer l = layer_of(d, PLOT_CONTOURS);
	l.labelled = false;
	l.s.label = NULL;
	l.levels = &level;
	l.nlevels = 1;
	Figure *f = figure_of(&l);
	Scene s;
	PlotAxes a;
	CHECK(f && figure_scene(f, 500, 500, 2, &s) == PLOT_OK && panel_axes(f, 0, &a) == PLOT_OK);
	/* One closed line, close to the circle of radius 1. */
	int lines = 0;
	double worst = 0, length = 0;
	for (const PlotPrimitive *p = s.first; p; p = p->next) {
		if (p->kind != PRIM_LINE || !p->clip || p->n < 10) continue;
		lines++;
		const PlotRect *r = p->clip;
		CHECK(hypot(p->points[0].x - p->points[p->n - 1].x,
		            p->points[0].y - p->points[p->n - 1].y) < 0.01);
		for (size_t i = 0; i < p->n; i++) {
			double x = a.axis[0].lo +
			           (p->points[i].x - r->x0) / (r->x1 - r->x0) * (a.axis[0].hi - a.axis[0].lo);
			double y = a.axis[1].hi -
			           (p->points[i].y - r->y0) / (r->y1 - r->y0) * (a.axis[1].hi - a.axis[1].lo);
			worst = plot_max(worst, fabs(hypot(x, y) - 1));
			if (i)
				length += hypot((p->points[i].x - p->points[i - 1].x) / (r->x1 - r->x0) * 4,
				                (p->points[i].y - p->points[i - 1].y) / (r->y1 - r->y0) * 4);
		}
	}
	CHECK(lines == 1 && worst < 0.01 && near_to(length, 2 * PLOT_PI, 0.05));
	plot_arena_free(&s.arena);
	figure_free(f);

	/* The number of levels is met as closely as round steps allow: within a
	 * factor of 1.7. */
	double many[PLOT_LEVELS];
	PlotItem item = {.kind = PLOT_CONTOURS};
	PlotSpan z = {-6.5, 8.1, false, false};
	for (int wanted = 3; wanted <= 20; wanted++) {
		item.more.scale = wanted;
		int n = contour_levels(&item, &z, many);
		CHECK(n <= 1.7 * wanted && n >= wanted / 1.7);
	}
	item.more.scale = 14;
	CHECK(contour_levels(&item, &z, many) == 15 && many[0] == -6 && many[14] == 8);

	/* The area above the level is everything except a disc. */
	l.filled = true;
	f = figure_of(&l);
	PlotArena arena = {&plot_malloc, NULL, false};
	Raster r;
	CHECK(f && figure_scene(f, 500, 500, 2, &s) == PLOT_OK && panel_axes(f, 0, &a) == PLOT_OK);
	CHECK(raster_scene(&s, 1000, 1000, &arena, &r));
	PlotRect plot = {0};
	for (const PlotPrimitive *p = s.first; p; p = p->next)
		if (p->clip) plot = *p->clip;
	PlotColour map[256];
	plot_map_colours(PLOT_MAP_SEQUENTIAL, map);
	PlotColour below = map[contour_band(&a.axis[PLOT_Z], &level, 1, 0)],
			   above = map[contour_band(&a.axis[PLOT_Z], &level, 1, 1)];
	int wrong = 0, disc = 0, inside = 0;
	for (int y = (int)(2 * plot.y0) + 8; y < (int)(2 * plot.y1) - 8; y++)
		for (int x = (int)(2 * plot.x0) + 8; x < (int)(2 * plot.x1) - 8; x++) {
			double u = -2 + 4 * ((x + 0.5) / 2 - plot.x0) / (plot.x1 - plot.x0),
				   v = 2 - 4 * ((y + 0.5) / 2 - plot.y0) / (plot.y1 - plot.y0);
			const uint8_t *c = r.rgb + 3 * (y * 1000 + x);
			bool in = c[0] == below.r && c[1] == below.g && c[2] == below.b,
				 out = c[0] == above.r && c[1] == above.g && c[2] == above.b;
			if (fabs(hypot(u, v) - 1) > 0.03) wrong += hypot(u, v) < 1 ? !in : !out;
			disc += in;
			inside++;
		}
	CHECK(wrong == 0 && disc > 0 && inside > 100000);
	plot_arena_free(&arena);
	plot_arena_free(&s.arena);
	figure_free(f);

	/* A saddle: the mean of the corners decides which two corners are
	 * connected. */
	for (int high = 0; high < 2; high++) {
		/* z[0][0] and z[1][1] are high, the means are 0.5 and 0.35. */
		double corner[4] = {1, 0, 0, high ? 1.0 : 0.4}, half = 0.3;
		PlotLayer one = {.kind = PLOT_CONTOURS,
		                 .grid = {.z = corner, .nx = 2, .ny = 2},
		                 .levels = &half,
		                 .nlevels = 1};
		f = figure_of(&one);
		CHECK(f && figure_scene(f, 300, 300, 2, &s) == PLOT_OK);
		int parts = 0;
		for (const PlotPrimitive *p = s.first; p; p = p->next)
			parts += p->kind == PRIM_LINE && p->clip;
		CHECK(parts == 2);
		plot_arena_free(&s.arena);
		figure_free(f);
	}

	/* Labels show their level's value, each line has a gap for its own label,
	 * and no label overlaps another. */
	l = layer_of(d, PLOT_CONTOURS);
	f = figure_of(&l);
	CHECK(f && figure_scene(f, 500, 400, 2, &s) == PLOT_OK);
	PlotPoint places[50];
	int labels = 0;
	for (const PlotPrimitive *p = s.first; p; p = p->next) {
		if (p->kind != PRIM_TEXT || !p->clip) continue;
		double v = strtod(p->text, NULL);
		CHECK(v >= 1 && v <= 8 && v == floor(v));
		if (labels < 50) places[labels++] = p->points[0];
	}
	CHECK(labels >= 4);
	bool clear = true;
	for (int i = 0; i < labels; i++)
		for (int k = 0; k < i; k++)
			clear = clear && hypot(places[i].x - places[k].x, places[i].y - places[k].y) > 12;
	CHECK(clear);
	plot_arena_free(&s.arena);
	figure_free(f);

	/* A missing sample is a hole. */
	double holed[NX * NY];
	memcpy(holed, d->bowl, sizeof holed);
	holed[10 * NY + 8] = NAN;
	l = layer_of(d, PLOT_CONTOURS);
	l.filled = true;
	l.grid.z = holed;
	f = figure_of(&l);
	PlotArena more = {&plot_malloc, NULL, false};
	CHECK(f && figure_scene(f, 500, 500, 2, &s) == PLOT_OK &&
	      raster_scene(&s, 1000, 1000, &more, &r));
	for (const PlotPrimitive *p = s.first; p; p = p->next)
		if (p->clip) plot = *p->clip;
	const uint8_t *middle =
		r.rgb + 3 * ((int)(plot.y0 + plot.y1) * 1000 + (int)(plot.x0 + plot.x1));
	CHECK(middle[0] == 255 && middle[1] == 255 && middle[2] == 255);
	plot_arena_free(&more);
	plot_arena_free(&s.arena);
	figure_free(f);
}

/* ---- pixels at known positions ------------------------------------------- */

typedef struct Shot {
	Scene s;
	PlotArena arena;
	Raster r;
	PlotAxes a;
	PlotRect plot;
} Shot;

static bool shoot(Figure *f, Shot *out) {
	*out = (Shot){.arena = {&plot_malloc, NULL, false}};
	if (!f || figure_scene(f, 480, 340, 2, &out->s) || panel_axes(f, 0, &out->a) ||
	    !raster_scene(&out->s, 960, 680, &out->arena, &out->r))
		return false;
	for (const PlotPrimitive *p = out->s.first; p; p = p->next)
		if (p->clip) out->plot = *p->clip;
	/* Points have no clip rectangle: take the frame. */
	for (const PlotPrimitive *p = out->s.first; p && !(out->plot.x1 > 0); p = p->next)
		if (p->kind == PRIM_LINE && p->n == 5)
			out->plot = (PlotRect){p->points[0].x, p->points[0].y, p->points[2].x, p->points[2].y};
	return true;
}

static void put_away(Shot *s, Figure *f) {
	plot_arena_free(&s->arena);
	plot_arena_free(&s->s.arena);
	figure_free(f);
}

static bool coloured(const Shot *s, double x, double y, PlotColour c, int slack) {
	double px = 2 * (s->plot.x0 + span_place(&s->a.axis[0], x) * (s->plot.x1 - s->plot.x0));
	double py = 2 * (s->plot.y1 - span_place(&s->a.axis[1], y) * (s->plot.y1 - s->plot.y0));
	if (!(px >= 0 && py >= 0 && px < 960 && py < 680)) return false;
	const uint8_t *p = s->r.rgb + 3 * ((int)py * 960 + (int)px);
	return abs(p[0] - c.r) <= slack && abs(p[1] - c.g) <= slack && abs(p[2] - c.b) <= slack;
}

static void test_pixels(void) {
	const PlotColour white = {255, 255, 255, 255}, blue = plot_series_colour(0),
					 pale = {179, 209, 232, 255};
	double x[3] = {0, 1, 2}, y[3] = {1, -2, 3}, other[3] = {2, 0, 4};
	Shot s;
	PlotLayer l = {.kind = PLOT_BARS, .s = {.x = x, .y = y, .n = 3, .colour = PLOT_COLOUR_AUTO}};
	Figure *f = figure_of(&l);
	CHECK(shoot(f, &s));
	for (int i = 0; i < 3; i++) {
		CHECK(coloured(&s, x[i], y[i] / 2, blue, 0) &&
		      coloured(&s, x[i] + 0.35, y[i] * 0.9, blue, 0));
		CHECK(coloured(&s, x[i], y[i] * 1.05, white, 0) &&
		      coloured(&s, x[i] + 0.5, y[i] / 2, white, 0));
	}
	put_away(&s, f);

	l = (PlotLayer){.kind = PLOT_BAND, .s = {.x = x, .y = y, .n = 3, .colour = 0}, .a = other};
	f = figure_of(&l);
	CHECK(shoot(f, &s));
	for (double u = 0.05; u < 1.95; u += 0.1) {
		int i = (int)u;
		double w = u - i, low = y[i] + w * (y[i + 1] - y[i]),
			   high = other[i] + w * (other[i + 1] - other[i]);
		CHECK(coloured(&s, u, (low + high) / 2, pale, 3) && coloured(&s, u, high + 0.3, white, 0) &&
		      coloured(&s, u, low - 0.3, white, 0));
	}
	put_away(&s, f);

	double e[3] = {0.5, 0.5, 0.5};
	l = (PlotLayer){.kind = PLOT_ERRORS,
	                .s = {.x = x, .y = y, .n = 3, .colour = 1, .marker = PLOT_MARKER_CIRCLE},
	                .a = e,
	                .b = e};
	f = figure_of(&l);
	CHECK(shoot(f, &s));
	for (int i = 0; i < 3; i++)
		CHECK(coloured(&s, x[i], y[i] + 0.35, plot_series_colour(1), 90) &&
		      coloured(&s, x[i], y[i], plot_series_colour(1), 2) &&
		      coloured(&s, x[i] + 0.1, y[i] + 0.3, white, 0));
	put_away(&s, f);

	double at = 1;
	f = figure_of(
		&(PlotLayer){.kind = PLOT_RULES, .s = {.x = &at, .n = 1, .colour = 2, .width = 4}});
	CHECK(f && panel_limits(f, 0, PLOT_X, 0, 2) == PLOT_OK &&
	      panel_limits(f, 0, PLOT_Y, 0, 1) == PLOT_OK && shoot(f, &s));
	for (double v = 0.1; v < 0.95; v += 0.1)
		CHECK(coloured(&s, 1, v, plot_series_colour(2), 2) && coloured(&s, 1.1, v, white, 0));
	put_away(&s, f);

	/* An arrow starts at its point, ends where the scale says, and is thin. */
	double ax = 0.5, ay = 0.5, u = 60, v = 0;
	f = figure_of(&(PlotLayer){.kind = PLOT_ARROWS,
	                           .s = {.x = &ax, .y = &ay, .n = 1, .colour = 3, .width = 3},
	                           .a = &u,
	                           .b = &v,
	                           .scale = 1});
	CHECK(f && panel_limits(f, 0, PLOT_X, 0, 1) == PLOT_OK &&
	      panel_limits(f, 0, PLOT_Y, 0, 1) == PLOT_OK && shoot(f, &s));
	double unit = 1 / (s.plot.x1 - s.plot.x0);
	CHECK(coloured(&s, 0.5 + 20 * unit, 0.5, plot_series_colour(3), 2) &&
	      coloured(&s, 0.5 + 57 * unit, 0.5, plot_series_colour(3), 40));
	CHECK(coloured(&s, 0.5 + 63 * unit, 0.5, white, 0) &&
	      coloured(&s, 0.5 - 4 * unit, 0.5, white, 0));
	put_away(&s, f);

	/* Colours of points by value. */
	double c[3] = {0, 0.5, 1};
	f = figure_of(&(PlotLayer){
		.kind = PLOT_SCATTER, .s = {.x = x, .y = y, .n = 3, .marker = PLOT_MARKER_CIRCLE}, .c = c});
	CHECK(shoot(f, &s));
	PlotColour map[256];
	plot_map_colours(PLOT_MAP_SEQUENTIAL, map);
	for (int i = 0; i < 3; i++)
		CHECK(coloured(&s, x[i], y[i], map[(int)(c[i] * (PLOT_MAP_COLOURS - 1) + 0.5)], 1));
	put_away(&s, f);
}

/* ---- streamlines --------------------------------------------------------- */

static void test_flow(const Data *d) {
	PlotLayer l = layer_of(d, PLOT_FLOW);
	l.s.label = NULL;
	Figure *f = figure_of(&l);
	Shot s;
	CHECK(f && panel_aspect(f, 0, 1) == PLOT_OK && shoot(f, &s));
	/* The field rotates around 0: along every line the distance from 0 is
	 * constant. */
	int lines = 0;
	double worst = 0, cx = (s.plot.x0 + s.plot.x1) / 2, cy = (s.plot.y0 + s.plot.y1) / 2;
	for (const PlotPrimitive *p = s.s.first; p; p = p->next) {
		if (p->kind != PRIM_LINE || !p->clip || p->n < 5) continue;
		lines++;
		double r = hypot(p->points[0].x - cx, p->points[0].y - cy);
		for (size_t i = 0; i < p->n; i++)
			worst = plot_max(worst, fabs(hypot(p->points[i].x - cx, p->points[i].y - cy) - r));
	}
	CHECK(lines >= 8 && worst < 1.5);
	put_away(&s, f);
}

/* ---- perspective --------------------------------------------------------- */

static void test_solid(void) {
	/* A high wall in front hides the low floor. Seen from the side of the wall,
	 * its colour is in the middle. */
	double z[9 * 9];
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < 9; i++)
			for (int j = 0; j < 9; j++) z[i * 9 + j] = i >= 7 ? 1 : 0;
		Figure *f = figure_of(&(PlotLayer){.kind = PLOT_SURFACE,
		                                   .grid = {.z = z, .nx = 9, .ny = 9},
		                                   .s.colour = PLOT_COLOUR_AUTO});
		CHECK(f && panel_view(f, 0, side ? 180 : 0, 8) == PLOT_OK);
		Shot s;
		CHECK(shoot(f, &s));
		PlotColour map[256];
		plot_map_colours(PLOT_MAP_SEQUENTIAL, map);
		int polygons = 0;
		for (const PlotPrimitive *p = s.s.first; p; p = p->next)
			polygons += p->kind == PRIM_POLYGON;
		CHECK(polygons == 3 + 64);
		put_away(&s, f);
	}
	double x = 0, y = 0, zz = 0;
	Figure *f = figure_of(&(PlotLayer){
		.kind = PLOT_SCATTER_3D,
		.s = {.x = &x, .y = &y, .n = 1, .colour = 1, .marker = PLOT_MARKER_CIRCLE, .width = 12},
		.a = &zz});
	Shot s;
	CHECK(f && panel_limits(f, 0, PLOT_X, -1, 1) == PLOT_OK &&
	      panel_limits(f, 0, PLOT_Y, -1, 1) == PLOT_OK &&
	      panel_limits(f, 0, PLOT_Z, -1, 1) == PLOT_OK);
	CHECK(shoot(f, &s));
	bool there = false;
	for (const PlotPrimitive *p = s.s.first; p; p = p->next)
		if (p->kind == PRIM_MARKERS)
			there = p->n == 1 && p->points[0].x > 100 && p->points[0].x < 380;
	CHECK(there);
	put_away(&s, f);
	/* Nothing is drawn outside the axes. */
	f = figure_of(&(PlotLayer){.kind = PLOT_SCATTER_3D,
	                           .s = {.x = &x, .y = &y, .n = 1, .marker = PLOT_MARKER_CIRCLE},
	                           .a = &zz});
	CHECK(f && panel_limits(f, 0, PLOT_Z, 1, 2) == PLOT_OK && shoot(f, &s));
	there = false;
	for (const PlotPrimitive *p = s.s.first; p; p = p->next)
		there = there || p->kind == PRIM_MARKERS;
	CHECK(!there);
	put_away(&s, f);
	f = figure_of(&(PlotLayer){.kind = PLOT_SURFACE, .grid = {.z = z, .nx = 9, .ny = 9}});
	CHECK(panel_line(f, 0, &(PlotSeries){.y = z, .n = 9}) == PLOT_BAD_ARGUMENT &&
	      panel_view(f, 0, 0, 91) == PLOT_BAD_ARGUMENT &&
	      panel_view(f, 0, NAN, 0) == PLOT_BAD_ARGUMENT);
	figure_free(f);
}

/* ---- labels and legends -------------------------------------------------- */

static void test_labels(Test *t, const Data *d) {
	for (int round = 0; round < 400; round++) {
		PlotKind kind = (PlotKind)(round % KINDS);
		PlotLayer l = layer_of(d, kind);
		double x[N], y[N], z[N], gx[NX], gy[NY], gz[NX * NY];
		double size[3], shift[3];
		for (int a = 0; a < 3; a++) {
			size[a] = pow(10, -9 + 18 * uniform(t));
			shift[a] = (uniform(t) - 0.5) * size[a] * pow(10, 3 * uniform(t));
		}
		for (int i = 0; i < N; i++)
			x[i] = d->x[i] * size[0] + shift[0], y[i] = d->y[i] * size[1] + shift[1],
			z[i] = d->z[i] * size[2] + shift[2];
		for (int i = 0; i < NX; i++) gx[i] = d->gx[i] * size[0] + shift[0];
		for (int j = 0; j < NY; j++) gy[j] = d->gy[j] * size[1] + shift[1];
		for (int i = 0; i < NX * NY; i++) gz[i] = d->bowl[i] * size[2] + shift[2];
		if (l.s.x) l.s.x = x;
		if (l.s.y) l.s.y = y;
		if (l.a && kind != PLOT_ERRORS) l.a = kind == PLOT_BAND ? y : z;
		if (l.grid.z)
			l.grid.x = gx, l.grid.y = gy,
			l.grid.z = kind == PLOT_SURFACE || kind == PLOT_CONTOURS ? gz : l.grid.z;
		l.labelled = false;
		l.filled = round % 2;
		Figure *f = figure_of(&l);
		CHECK(f != NULL);
		if (!f) continue;
		panel_title(f, 0, "A title of some length");
		panel_label(f, 0, PLOT_X, round % 3 ? "x" : "a longer label of the abscissa / 10^{3} m");
		panel_label(f, 0, PLOT_Y, round % 4 ? "y" : "a longer label of the ordinate / s");
		panel_label(f, 0, PLOT_Z, "z");
		Scene s;
		PlotStatus status = figure_scene(f, 260 + 500 * uniform(t), 200 + 400 * uniform(t), 2, &s);
		CHECK(status == PLOT_OK || status == PLOT_TOO_SMALL);
		if (!status) check_texts(&s, 1);
		plot_arena_free(&s.arena);
		figure_free(f);
	}
	/* Tick names are truncated to the space they have. */
	static const char *const names[6] = {
		"Monday of the first week",   "Tuesday", "Wednesday, which is long", "Thursday", "Friday",
		"Σάββατο and Sunday together"};
	double at[6] = {0, 1, 2, 3, 4, 5}, h[6] = {3, 1, 2, 5, 4, 2};
	for (int k = 0; k < 40; k++) {
		PlotLayer l = {.kind = PLOT_BARS,
		               .s = {.x = k % 2 ? h : at, .y = k % 2 ? at : h, .n = 6},
		               .sideways = k % 2};
		Figure *f = figure_of(&l);
		CHECK(f && panel_ticks(f, 0, k % 2 ? PLOT_Y : PLOT_X, 6, at, names) == PLOT_OK);
		Scene s;
		PlotStatus status = figure_scene(f, 220 + 600 * uniform(t), 160 + 400 * uniform(t), 2, &s);
		CHECK(status == PLOT_OK || status == PLOT_TOO_SMALL);
		if (!status) check_texts(&s, 1);
		plot_arena_free(&s.arena);
		figure_free(f);
	}
	double wrong[2] = {1, 1};
	Figure *f = figure_new(NULL, 1, 1);
	CHECK(panel_ticks(f, 0, PLOT_X, 2, wrong, names) == PLOT_BAD_ARGUMENT &&
	      panel_ticks(f, 0, PLOT_Z, 0, NULL, NULL) == PLOT_BAD_ARGUMENT);
	CHECK(panel_ticks(f, 0, PLOT_X, 0, NULL, NULL) == PLOT_OK);
	figure_free(f);
}

/* When a corner is empty, nothing is drawn under the legend, for markers, bars
 * and bands as for lines. */
static void test_legends(Test *t) {
	for (int round = 0; round < 60; round++) {
		int corner = round % 4;
		PlotKind kind = round % 3 == 0 ? PLOT_BARS : round % 3 == 1 ? PLOT_BAND : PLOT_STEMS;
		double x[30], y[30], a[30];
		for (int i = 0; i < 30; i++) {
			x[i] = i;
			/* The free corner is at the side of the small values. */
			double up = corner & 2 ? 1 : -1;
			double rise = (corner & 1 ? 29 - i : i) / 29.0;
			y[i] = up * (0.05 + rise * rise * rise * (0.9 + 0.1 * uniform(t)));
			a[i] = 0;
		}
		PlotLayer l = {
			.kind = kind,
			.s = {.x = x, .y = y, .n = 30, .label = "the data", .colour = PLOT_COLOUR_AUTO},
			.a = kind == PLOT_STEMS ? NULL : a};
		Figure *f = figure_of(&l);
		Scene s;
		CHECK(f && figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
		PlotRect legend = {0};
		for (const PlotPrimitive *p = s.first; p; p = p->next)
			if (p->kind == PRIM_TEXT && !strcmp(p->text, "the data")) legend = text_box(p);
		CHECK(legend.x1 > legend.x0);
		bool covered = false;
		for (const PlotPrimitive *p = s.first; p; p = p->next) {
			if (!p->clip) continue;
			for (size_t i = 0; i < p->n; i++)
				covered =
					covered || (p->points[i].x > legend.x0 - 30 && p->points[i].x < legend.x1 &&
				                p->points[i].y > legend.y0 && p->points[i].y < legend.y1);
		}
		CHECK(!covered);
		plot_arena_free(&s.arena);
		figure_free(f);
	}
}

/* ---- animations ---------------------------------------------------------- */

static Figure *frame_of(double phase, double y[50]) {
	for (int i = 0; i < 50; i++) y[i] = sin(0.2 * i + phase);
	Figure *f = figure_new(NULL, 1, 1);
	figure_size(f, 200, 150);
	panel_line(f, 0, &(PlotSeries){.y = y, .n = 50, .colour = PLOT_COLOUR_AUTO});
	panel_limits(f, 0, PLOT_Y, -1.1, 1.1);
	return f;
}

static bool write_film(const char *path, bool gif, int frames, int given) {
	Film *film = film_begin(NULL, path, gif, frames, 20);
	char error[320];
	double y[50];
	for (int k = 0; k < given; k++) {
		Figure *f = frame_of(0.3 * k, y);
		CHECK(film_add(film, f, 96) == PLOT_OK);
		figure_free(f);
	}
	return film_end(film, error, sizeof error) == PLOT_OK;
}

static uint32_t be32(const unsigned char *p) {
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Composes the frames of an animated PNG and compares them with pictures drawn
 * directly. */
static void check_apng(const char *path, int frames) {
	size_t n = 0;
	unsigned char *bytes = (unsigned char *)read_whole(path, &n), *canvas = calloc(200 * 150, 3);
	int seen = 0, sequence = 0;
	bool order = true, same = true, ended = false;
	unsigned char header[25 + 100];
	size_t head = 0;
	for (size_t at = 8; bytes && at + 12 <= n;) {
		uint32_t size = be32(bytes + at);
		const unsigned char *name = bytes + at + 4, *data = bytes + at + 8;
		if (!memcmp(name, "IHDR", 4)) {
			CHECK(be32(data) == 200 && be32(data + 4) == 150);
			memcpy(header, bytes + at, 25);
			head = 25;
		}
		if (!memcmp(name, "acTL", 4)) CHECK(be32(data) == (uint32_t)frames && be32(data + 4) == 0);
		if (!memcmp(name, "fcTL", 4)) {
			order = order && be32(data) == (uint32_t)sequence++;
			uint32_t w = be32(data + 4), h = be32(data + 8), x = be32(data + 12),
					 y = be32(data + 16);
			/* A PNG of this frame alone, which libpng can read. */
			size_t cap = n + 1000, m = 0;
			unsigned char *png = malloc(cap);
			memcpy(png, bytes, 8);
			memcpy(png + 8, header, head);
			m = 8 + head;
			for (int k = 0; k < 4; k++) {
				png[16 + k] = (unsigned char)(w >> (24 - 8 * k));
				png[20 + k] = (unsigned char)(h >> (24 - 8 * k));
			}
			uint32_t c = 0xffffffffu;
			for (size_t k = 12; k < 29; k++) {
				c ^= png[k];
				for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
			}
			c ^= 0xffffffffu;
			for (int k = 0; k < 4; k++) png[29 + k] = (unsigned char)(c >> (24 - 8 * k));
			for (size_t next = at + 12 + size; next + 12 <= n;) {
				uint32_t len = be32(bytes + next);
				bool later = !memcmp(bytes + next + 4, "fdAT", 4),
					 first = !memcmp(bytes + next + 4, "IDAT", 4);
				if (!later && !first) break;
				if (later) order = order && be32(bytes + next + 8) == (uint32_t)sequence++;
				uint32_t skip = later ? 4 : 0, body = len - skip;
				for (int k = 0; k < 4; k++)
					png[m + (size_t)k] = (unsigned char)(body >> (24 - 8 * k));
				memcpy(png + m + 4, "IDAT", 4);
				memcpy(png + m + 8, bytes + next + 8 + skip, body);
				c = 0xffffffffu;
				for (size_t k = m + 4; k < m + 8 + body; k++) {
					c ^= png[k];
					for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
				}
				c ^= 0xffffffffu;
				for (int k = 0; k < 4; k++)
					png[m + 8 + body + (size_t)k] = (unsigned char)(c >> (24 - 8 * k));
				m += 12 + body;
				next += 12 + len;
			}
			static const unsigned char end[12] = {0,   0,   0,    0,    'I',  'E',
			                                      'N', 'D', 0xae, 0x42, 0x60, 0x82};
			memcpy(png + m, end, 12);
			m += 12;
			png_image image = {.version = PNG_IMAGE_VERSION};
			bool read = png_image_begin_read_from_memory(&image, png, m);
			image.format = PNG_FORMAT_RGB;
			unsigned char *part = read ? malloc(PNG_IMAGE_SIZE(image)) : NULL;
			read = read && part && png_image_finish_read(&image, NULL, part, 0, NULL) &&
			       image.width == w && image.height == h && x + w <= 200 && y + h <= 150;
			CHECK(read);
			for (uint32_t row = 0; read && row < h; row++)
				memcpy(canvas + 3 * ((y + row) * 200 + x), part + 3 * row * w, 3 * w);
			png_image_free(&image);
			free(part);
			free(png);
			double data_y[50];
			Figure *f = frame_of(0.3 * seen, data_y);
			PlotArena arena = {&plot_malloc, NULL, false};
			Raster r;
			CHECK(figure_raster(f, 200, 150, &arena, &r) == PLOT_OK);
			same = same && !memcmp(r.rgb, canvas, 3 * 200 * 150);
			plot_arena_free(&arena);
			figure_free(f);
			seen++;
		}
		ended = !memcmp(name, "IEND", 4);
		at += 12 + size;
	}
	CHECK(seen == frames && order && same && ended);
	free(bytes);
	free(canvas);
}

/* Decodes one GIF image as specified; returns the number of indices. */
static size_t read_lzw(const unsigned char **p, const unsigned char *end, unsigned char *out,
                       size_t room) {
	static int prefix[4096];
	static unsigned char suffix[4096], stack[4097];
	int smallest = *(*p)++, clear = 1 << smallest, width = smallest + 1, next = clear + 2,
		before = -1, held = 0;
	uint32_t bits = 0;
	size_t n = 0;
	bool done = false;
	unsigned char first = 0;
	while (*p < end && **p) {
		int left = *(*p)++;
		while (left-- > 0 && *p < end) {
			bits |= (uint32_t) * (*p)++ << held;
			held += 8;
			while (held >= width && !done) {
				int code = (int)(bits & ((1u << width) - 1));
				bits >>= width;
				held -= width;
				if (code == clear) {
					width = smallest + 1;
					next = clear + 2;
					before = -1;
					continue;
				}
				if (code == clear + 1) {
					done = true;
					break;
				}
				int depth = 0, c = code;
				if (code > next || (code == next && before < 0)) return 0;
				if (code == next) {
					stack[depth++] = first;
					c = before;
				}
				while (c >= clear) {
					if (depth > 4095) return 0;
					stack[depth++] = suffix[c];
					c = prefix[c];
				}
				first = (unsigned char)c;
				stack[depth++] = first;
				while (depth && n < room) out[n++] = stack[--depth];
				if (before >= 0 && next < 4096) {
					prefix[next] = before;
					suffix[next] = first;
					next++;
					if (next == 1 << width && width < 12) width++;
				}
				before = code;
			}
		}
	}
	if (*p < end) (*p)++;
	return done ? n : 0;
}

static void check_gif(const char *path, int frames) {
	size_t n = 0;
	unsigned char *bytes = (unsigned char *)read_whole(path, &n), *canvas = calloc(200 * 150, 3),
				  *index = malloc(200 * 150);
	CHECK(bytes && n > 800 && !memcmp(bytes, "GIF89a", 6) && bytes[6] == 200 && bytes[8] == 150 &&
	      bytes[n - 1] == 0x3b);
	int seen = 0;
	double worst = 0;
	const unsigned char *p = bytes + 13, *end = bytes + n;
	while (bytes && p < end && *p != 0x3b) {
		if (*p == 0x21) {
			for (p += 2; p < end && *p; p += *p + 1) {}
			p++;
			continue;
		}
		if (*p != 0x2c) break;
		int x = p[1] | p[2] << 8, y = p[3] | p[4] << 8, w = p[5] | p[6] << 8, h = p[7] | p[8] << 8;
		CHECK(p[9] == 0x87 && x + w <= 200 && y + h <= 150);
		const unsigned char *colours = p + 10;
		p += 10 + 768;
		size_t got = read_lzw(&p, end, index, 200 * 150);
		CHECK(got == (size_t)w * (size_t)h);
		if (got != (size_t)w * (size_t)h) break;
		for (int row = 0; row < h; row++)
			for (int column = 0; column < w; column++)
				memcpy(canvas + 3 * ((y + row) * 200 + x + column),
				       colours + 3 * index[row * w + column], 3);
		double data_y[50];
		Figure *f = frame_of(0.3 * seen, data_y);
		PlotArena arena = {&plot_malloc, NULL, false};
		Raster r;
		CHECK(figure_raster(f, 200, 150, &arena, &r) == PLOT_OK);
		for (int i = 0; i < 3 * 200 * 150; i++) worst = plot_max(worst, abs(r.rgb[i] - canvas[i]));
		plot_arena_free(&arena);
		figure_free(f);
		seen++;
	}
	/* So few colours are exact up to their rounding to five bits. */
	CHECK(seen == frames && worst <= 8);
	free(bytes);
	free(canvas);
	free(index);
}

static void test_films(Test *t) {
	char path[300];
	CHECK(write_film(file_in(t, "a.png", path), false, 5, 5));
	check_apng(path, 5);
	unlink(path);
	CHECK(write_film(file_in(t, "a.gif", path), true, 5, 5));
	check_gif(path, 5);
	unlink(path);
	/* A frame equal to the previous one, a single frame, and a noisy one that
	 * fills the code table. */
	CHECK(write_film(path, true, 1, 1));
	check_gif(path, 1);
	unlink(path);
	double y[50], *noise = malloc(300 * 200 * sizeof *noise);
	for (int i = 0; i < 300 * 200; i++) noise[i] = uniform(t);
	Film *film = film_begin(NULL, path, true, 2, 1000);
	char error[320];
	for (int k = 0; k < 2; k++) {
		Figure *f = figure_new(NULL, 1, 1);
		CHECK(panel_field(f, 0, &(PlotField){.z = noise, .nx = 300, .ny = 200, .cells = true}) ==
		      PLOT_OK);
		CHECK(film_add(film, f, 96) == PLOT_OK);
		figure_free(f);
	}
	CHECK(film_end(film, error, sizeof error) == PLOT_OK);
	size_t n;
	unsigned char *bytes = (unsigned char *)read_whole(path, &n), *index = malloc(480 * 340);
	const unsigned char *p = bytes + 13;
	for (; bytes && *p == 0x21; p++)
		for (p += 2; *p; p += *p + 1) {}
	p += 10 + 768;
	CHECK(bytes && read_lzw(&p, bytes + n, index, 480 * 340) == 480 * 340);
	free(bytes);
	free(index);
	free(noise);
	unlink(path);

	/* Too few frames, too many, or a missing folder: no file. */
	CHECK(!write_film(path, true, 4, 2) && access(path, F_OK));
	CHECK(!write_film(file_in(t, "b.png", path), false, 4, 2) && access(path, F_OK));
	film = film_begin(NULL, path, false, 1, 20);
	Figure *f = frame_of(0, y);
	CHECK(film_add(film, f, 96) == PLOT_OK && film_add(film, f, 96) == PLOT_BAD_ARGUMENT);
	CHECK(film_end(film, error, sizeof error) == PLOT_BAD_ARGUMENT && access(path, F_OK));
	film = film_begin(NULL, "/nonexistent/folder/a.gif", true, 1, 20);
	CHECK(film_add(film, f, 96) == PLOT_IO_ERROR &&
	      film_end(film, error, sizeof error) == PLOT_IO_ERROR && strstr(error, "cannot write"));
	CHECK(!film_begin(NULL, path, true, 0, 20) && !film_begin(NULL, path, true, 3, 0) &&
	      film_end(NULL, error, sizeof error) == PLOT_BAD_ARGUMENT);
	figure_free(f);
	/* The failure of one frame invalidates the animation. */
	film = film_begin(NULL, path, false, 2, 20);
	f = frame_of(0, y);
	CHECK(film_add(film, f, 96) == PLOT_OK);
	panel_scale(f, 0, PLOT_Y, PLOT_LOG);
	CHECK(film_add(film, f, 96) == PLOT_BAD_DATA &&
	      film_end(film, error, sizeof error) == PLOT_BAD_DATA && access(path, F_OK));
	figure_free(f);
}

/* ---- terminal ------------------------------------------------------------ */

static void test_terminal(Test *t, const Data *d) {
	double x[3] = {0, 1, 2}, y[3] = {1, 3, 2};
	static const char *const names[3] = {"one", "two", "three"};
	Figure *f =
		figure_of(&(PlotLayer){.kind = PLOT_BARS, .s = {.x = x, .y = y, .n = 3, .label = "count"}});
	panel_ticks(f, 0, PLOT_X, 3, x, names);
	Text out = {0};
	CHECK(figure_write_terminal(f, 32, 10, false, take_text, &out) == PLOT_OK);
	int full = 0;
	for (const char *p = out.at; p && *p;) full += plot_utf8(&p) == 0x2588;
	CHECK(out.at && strstr(out.at, "one") && strstr(out.at, "three") && strstr(out.at, "count") &&
	      full > 60 && full < 140);
	free(out.at);
	figure_free(f);
	/* Every kind, in many sizes, with and without colour: within its columns,
	 * and not empty. */
	for (int kind = 0; kind < KINDS; kind++) {
		PlotLayer l = layer_of(d, (PlotKind)kind);
		for (int round = 0; round < 12; round++) {
			l.filled = round % 2;
			f = figure_of(&l);
			int columns = 20 + (int)(uniform(t) * 120), rows = 6 + (int)(uniform(t) * 40);
			out = (Text){0};
			CHECK(f && figure_write_terminal(f, columns, rows, round % 3 == 0, take_text, &out) ==
			               PLOT_OK);
			int width = 0, lines = 0, marks = 0;
			bool fits = true;
			for (const char *p = out.at; p && *p;) {
				uint32_t c = plot_utf8(&p);
				if (c == 0x1b) {
					p = strchr(p, 'm') + 1;
					continue;
				}
				if (c == '\n') {
					lines++;
					width = 0;
					continue;
				}
				width += plot_char_columns(c);
				fits = fits && width <= columns;
				marks += c >= 0x2500;
			}
			CHECK(fits && lines <= rows && marks > 10);
			free(out.at);
			figure_free(f);
		}
	}
}

/* ---- degenerate data, allocation failure --------------------------------- */

static void test_degenerate(Test *t, const Data *d) {
	static const double sets[][N] = {{0},
	                                 {5, 5, 5, 5},
	                                 {NAN, NAN, NAN},
	                                 {INFINITY, -INFINITY, 1},
	                                 {1e307, -1e307, 1},
	                                 {4e-324, 0, 1e-310},
	                                 {-1, -2, -3, -4},
	                                 {1e300, 1e-300, 1}};
	char path[300];
	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
			for (int log = 0; log < 3; log++) {
				PlotLayer l = layer_of(d, (PlotKind)kind);
				static double grid[NX * NY];
				for (int i = 0; i < NX * NY; i++) grid[i] = sets[k][i % N];
				if (l.s.x) l.s.x = log == 1 ? sets[k] : d->x;
				if (l.s.y) l.s.y = sets[k];
				if (l.a) l.a = log == 2 ? sets[k] : l.a;
				if (kind == PLOT_ERRORS) l.c = l.d = sets[(k + 1) % 8];
				if (l.grid.z) l.grid.z = grid, l.w = log ? grid : d->v;
				l.filled = log == 1;
				if (kind == PLOT_RULES && k % 2) l.a = sets[(k + 3) % 8];
				Figure *f = figure_of(&l);
				CHECK(f != NULL);
				if (!f) continue;
				figure_size(f, 240, 180);
				if (log == 1) panel_scale(f, 0, PLOT_X, PLOT_LOG);
				if (log == 2) panel_scale(f, 0, PLOT_Y, PLOT_LOG);
				if (k % 2) panel_scale(f, 0, PLOT_Z, PLOT_LOG);
				CHECK(figure_write_png(f, file_in(t, "d.png", path), 240, 180) == PLOT_OK);
				unlink(path);
				CHECK(figure_write_svg(f, file_in(t, "d.svg", path)) == PLOT_OK);
				unlink(path);
				Text out = {0};
				CHECK(figure_write_terminal(f, 50, 14, true, take_text, &out) == PLOT_OK &&
				      out.n > 20);
				free(out.at);
				figure_free(f);
			}
		}
		/* No sample, and one sample. */
		PlotLayer l = layer_of(d, (PlotKind)kind);
		for (size_t n = 0; n < 2 && l.s.n; n++) {
			l.s.n = n;
			Figure *f = figure_of(&l);
			CHECK(f && figure_write_png(f, file_in(t, "d.png", path), 240, 180) == PLOT_OK);
			unlink(path);
			figure_free(f);
		}
		if (l.grid.z) {
			l.grid.nx = l.grid.ny = 1;
			Figure *f = figure_of(&l);
			CHECK(f && figure_write_png(f, file_in(t, "d.png", path), 240, 180) == PLOT_OK);
			unlink(path);
			figure_free(f);
		}
	}
}

static void test_arguments(const Data *d) {
	Figure *f = figure_new(NULL, 1, 1);
	double falling[2] = {2, 1}, v[2] = {0, 1};
	CHECK(panel_layer(f, 0, NULL) == PLOT_BAD_ARGUMENT &&
	      panel_layer(f, 1, &(PlotLayer){.kind = PLOT_LINE}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = (PlotKind)99}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_BAND, .s = {.y = v, .n = 2}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_RULES, .s = {.x = v, .y = v, .n = 2}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_RULES, .s = {.n = 2}}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_TEXT, .s = {.y = v, .n = 1}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_CONTOURS}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0,
	                  &(PlotLayer){.kind = PLOT_FLOW, .grid = {.z = d->u, .nx = NX, .ny = NY}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0,
	                  &(PlotLayer){.kind = PLOT_CONTOURS,
	                               .grid = {.z = d->u, .nx = NX, .ny = NY},
	                               .levels = falling,
	                               .nlevels = 2}) == PLOT_BAD_DATA);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_LINE, .s = {.y = v, .n = 2, .opacity = 2}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_STEMS, .s = {.y = v, .n = 2}, .base = NAN}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_aspect(f, 0, -1) == PLOT_BAD_ARGUMENT &&
	      panel_aspect(f, 0, NAN) == PLOT_BAD_ARGUMENT &&
	      panel_map(f, 0, (PlotMap)50) == PLOT_BAD_ARGUMENT);
	CHECK(figure_check(f) == PLOT_OK && figure_check(NULL) == PLOT_BAD_ARGUMENT &&
	      figure_count(f) == 1);
	panel_scale(f, 0, PLOT_X, PLOT_LOG);
	panel_limits(f, 0, PLOT_X, -1, 1);
	CHECK(figure_check(f) == PLOT_BAD_DATA && *figure_error(f));
	char text[64];
	ticks_number(-1e-7, text, sizeof text);
	CHECK(!strcmp(text, "\xe2\x88\x92"
	                    "10^{\xe2\x88\x92"
	                    "7}"));
	ticks_number(2.5e8, text, sizeof text);
	CHECK(!strcmp(text, "2.5\xc3\x97"
	                    "10^{8}"));
	ticks_number(0.25, text, sizeof text);
	CHECK(!strcmp(text, "0.25"));
	figure_free(f);

	/* The cyclic colour map ends where it begins; the warm one increases in
	 * lightness. */
	PlotColour map[256];
	plot_map_colours(PLOT_MAP_CYCLIC, map);
	CHECK(map[0].r == map[PLOT_MAP_COLOURS - 1].r && map[0].g == map[PLOT_MAP_COLOURS - 1].g &&
	      map[0].b == map[PLOT_MAP_COLOURS - 1].b);
	plot_map_colours(PLOT_MAP_WARM, map);
	bool rises = true;
	for (int i = 4; i < PLOT_MAP_COLOURS; i++)
		rises = rises && 2 * map[i].r + 7 * map[i].g + map[i].b >
		                     2 * map[i - 4].r + 7 * map[i - 4].g + map[i - 4].b;
	CHECK(rises);
	CHECK(plot_series_colour(PLOT_RGB(1, 2, 3)).g == 2 &&
	      plot_ansi_nearest((PlotColour){255, 255, 255, 255}) == 231);
}

static void use_all(Test *t, const Data *d, Meter *m, PlotKind kind, int writer) {
	PlotAllocator alloc = {meter_resize, m};
	char path[300];
	static const char *const names[2] = {"a", "b"};
	double at[2] = {0, 1};
	Figure *f = figure_new(&alloc, 1, 1);
	if (!f) return;
	figure_size(f, 160, 120);
	PlotLayer l = layer_of(d, kind);
	l.filled = writer == 1;
	PlotStatus status = panel_layer(f, 0, &l);
	if (!status) status = panel_ticks(f, 0, PLOT_X, 2, at, names);
	if (!status && writer == 0) status = figure_write_svg(f, file_in(t, "m.svg", path));
	if (!status && writer == 1) status = figure_write_png(f, file_in(t, "m.png", path), 160, 120);
	Text out = {0};
	if (!status && writer == 2) status = figure_write_terminal(f, 40, 12, true, take_text, &out);
	if (!status && writer == 3) {
		char error[320];
		Film *film = film_begin(&alloc, file_in(t, "m.gif", path), true, 1, 10);
		if (film) {
			film_add(film, f, 96);
			film_end(film, error, sizeof error);
		}
	}
	CHECK(status == PLOT_OK || status == PLOT_NO_MEMORY || status == PLOT_TOO_SMALL);
	if (writer != 2) unlink(path);
	free(out.at);
	figure_free(f);
}

static void test_memory(Test *t, const Data *d) {
	for (int kind = 0; kind < KINDS; kind++)
		for (int writer = 0; writer < 4; writer++) {
			Meter whole = {.fail_from = -1};
			use_all(t, d, &whole, (PlotKind)kind, writer);
			CHECK(!whole.held && !whole.blocks && !whole.wrong && whole.calls > 0);
			long step = whole.calls / 60 + 1;
			for (long at = 0; at < whole.calls; at += step) {
				Meter m = {.fail_from = at};
				use_all(t, d, &m, (PlotKind)kind, writer);
				CHECK(!m.held && !m.blocks && !m.wrong);
			}
		}
}

int main(void) {
	Test test = {.seed = 20260702}, *t = &test;
	Data *d = calloc(1, sizeof *d);
	if (!d || !test_begin(t, "test_plot_kinds")) return 1;
	fill_data(d);
	test_axes(d);
	test_right_axis(t, d);
	test_polygons(t);
	test_contours(d);
	test_pixels();
	test_flow(d);
	test_solid();
	test_labels(t, d);
	test_legends(t);
	test_films(t);
	test_terminal(t, d);
	test_degenerate(t, d);
	test_arguments(d);
	test_memory(t, d);
	free(d);
	return test_end(t);
}
