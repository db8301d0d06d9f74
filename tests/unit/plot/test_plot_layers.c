/* test_plot_layers.c - unit tests of the extent and ink of layers.
 *
 * Covers axes, polygons, contours, pixels at known positions, streamlines and
 * perspective.
 *
 * Needs: repl/plot/.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/layers.h"

static bool near_to(double a, double b, double slack) { return fabs(a - b) <= slack; }

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

/* The contours of the bowl at its radius 1. */
static PlotLayer circle_of(const Data *d, const double *level) {
	PlotLayer l = layer_of(d, PLOT_CONTOURS);
	l.labelled = false;
	l.s.label = NULL;
	l.levels = level;
	l.nlevels = 1;
	return l;
}

static void check_contour(const Data *d) {
	double level = 1;
	PlotLayer l = circle_of(d, &level);
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
}

/* The number of levels is met as closely as round steps allow: within a factor
 * of 1.7. */
static void check_levels(void) {
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
}

/* The area above the level is everything except a disc. */
static void check_filled_contours(const Data *d) {
	double level = 1;
	PlotLayer l = circle_of(d, &level);
	l.filled = true;
	Figure *f = figure_of(&l);
	PlotArena arena = {&plot_malloc, NULL, false};
	Raster r;
	Scene s;
	PlotAxes a;
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
}

/* A saddle: the mean of the corners decides which two corners are connected. */
static void check_saddles(void) {
	for (int high = 0; high < 2; high++) {
		/* z[0][0] and z[1][1] are high, the means are 0.5 and 0.35. */
		double corner[4] = {1, 0, 0, high ? 1.0 : 0.4}, half = 0.3;
		PlotLayer one = {.kind = PLOT_CONTOURS,
		                 .grid = {.z = corner, .nx = 2, .ny = 2},
		                 .levels = &half,
		                 .nlevels = 1};
		Figure *f = figure_of(&one);
		Scene s;
		CHECK(f && figure_scene(f, 300, 300, 2, &s) == PLOT_OK);
		int parts = 0;
		for (const PlotPrimitive *p = s.first; p; p = p->next)
			parts += p->kind == PRIM_LINE && p->clip;
		CHECK(parts == 2);
		plot_arena_free(&s.arena);
		figure_free(f);
	}
}

/* Labels show their level's value, each line has a gap for its own label, and
 * no label overlaps another. */
static void check_contour_labels(const Data *d) {
	PlotLayer l = layer_of(d, PLOT_CONTOURS);
	Figure *f = figure_of(&l);
	Scene s;
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
}

/* A missing sample is a hole. */
static void check_hole(const Data *d) {
	double holed[NX * NY];
	memcpy(holed, d->bowl, sizeof holed);
	holed[10 * NY + 8] = NAN;
	PlotLayer l = layer_of(d, PLOT_CONTOURS);
	l.filled = true;
	l.grid.z = holed;
	Figure *f = figure_of(&l);
	PlotArena more = {&plot_malloc, NULL, false};
	Scene s;
	Raster r;
	PlotRect plot = {0};
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

static void test_contours(const Data *d) {
	check_contour(d);
	check_levels();
	check_filled_contours(d);
	check_saddles();
	check_contour_labels(d);
	check_hole(d);
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

int main(void) {
	Test test = {.seed = 20260702}, *t = &test;
	Data *d = calloc(1, sizeof *d);
	if (!d || !test_begin(t, "test_plot_layers")) return 1;
	fill_data(d);
	test_axes(d);
	test_right_axis(t, d);
	test_polygons(t);
	test_contours(d);
	test_pixels();
	test_flow(d);
	test_solid();
	free(d);
	return test_end(t);
}
