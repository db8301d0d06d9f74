/* test_plot.c - unit tests of the plotting module.
 *
 * Covers ticks, font, colours, fields, layout, SVG, PNG, terminal output,
 * files, and allocation failure.
 *
 * Needs: repl/plot/, libpng.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/help.h"

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <png.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int files_in_folder(Test *t) {
	int n = 0;
	DIR *d = opendir(t->folder);
	if (!d) return -1;
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n;
}

/* ---- ticks --------------------------------------------------------------- */

/* Returns the value of a label. Minus signs, powers of ten and their products
 * are understood. */
static double label_value(const char *label) {
	char plain[200];
	size_t n = 0;
	for (const char *p = label; *p && n < sizeof plain - 4;) {
		uint32_t c = plot_utf8(&p);
		plain[n++] = c == 0x2212 ? '-' : c == 0xd7 ? '*' : (char)c;
	}
	plain[n] = 0;
	char *power = strstr(plain, "10^{");
	if (!power) return strtod(plain, NULL);
	double scale = pow(10, atoi(power + 4));
	double sign = plain[0] == '-' && power == plain + 1 ? -1 : 1;
	return power[0] && power > plain && power[-1] == '*' ? strtod(plain, NULL) * scale
	                                                     : sign * scale;
}

/* Factor and offset of a multiplier: "×10^{-3}", "+ 10^{9}", "×10^{-7} -
 * 1.5". */
static void multiplier_value(const char *text, double *factor, double *offset) {
	*factor = 1;
	*offset = 0;
	const char *rest = text;
	if (strncmp(text, "\xc3\x97", 2) == 0) {
		*factor = label_value(text + 2);
		rest = strchr(text, ' ');
	}
	if (!rest || !*rest) return;
	if (*rest == ' ') rest++;
	double sign = *rest == '+' ? 1 : -1;
	rest = strchr(rest, ' ');
	if (rest) *offset = sign * label_value(rest + 1);
}

static void check_ticks(double lo, double hi, int most, bool log) {
	PlotSpan span = {lo, hi, log, false};
	PlotTicks ticks;
	ticks_find(&span, most, &ticks);
	CHECK(ticks.n <= most);
	CHECK(ticks.n >= (most >= 5 ? 2 : log ? 0 : 1) || (log && hi / lo < 1.2));
	double factor, offset, room = log ? 0 : (hi - lo) * 1e-8;
	multiplier_value(ticks.multiplier, &factor, &offset);
	bool inside = true, rising = true, exact = true, unique = true;
	for (int i = 0; i < ticks.n; i++) {
		double at = ticks.major[i].at;
		inside = inside && (log ? at >= lo * 0.999999 && at <= hi * 1.000001
		                        : at >= lo - room && at <= hi + room);
		rising = rising && (!i || at > ticks.major[i - 1].at);
		for (int j = 0; j < i; j++)
			unique = unique && strcmp(ticks.major[i].label, ticks.major[j].label);
		double said = label_value(ticks.major[i].label) * factor + offset;
		double grain = plot_max(fabs(at), fabs(offset)) * 1e-14 + (log ? 0 : (hi - lo) * 1e-9);
		exact = exact && fabs(said - at) <= grain;
		CHECK(strlen(ticks.major[i].label) < 30);
	}
	CHECK(inside);
	CHECK(rising);
	CHECK(unique);
	CHECK(exact);
	if (!exact)
		printf("  [%.17g, %.17g] most %d log %d: %s %s\n", lo, hi, most, log, ticks.major[0].label,
		       ticks.multiplier);
	if (!log && ticks.n >= 2) {
		double step = ticks.major[1].at - ticks.major[0].at, e = floor(log10(step) + 1e-6),
			   m = step / pow(10, e);
		bool round = fabs(m - 1) < 1e-3 || fabs(m - 2) < 1e-3 || fabs(m - 5) < 1e-3;
		CHECK(round || (hi - lo) < 1e-11 * fabs(hi) || e < -300);
	}
	bool minors = true;
	for (int i = 0; i < ticks.minors; i++)
		minors = minors && ticks.minor[i] >= lo && ticks.minor[i] <= hi;
	CHECK(minors);
}

static void test_ticks(Test *t) {
	PlotTicks ticks;
	PlotSpan unit = {0, 1, false, false};
	ticks_find(&unit, 6, &ticks);
	CHECK(ticks.n == 6 && !strcmp(ticks.major[1].label, "0.2") &&
	      !strcmp(ticks.major[5].label, "1.0"));
	PlotSpan around = {-1, 1, false, false};
	ticks_find(&around, 5, &ticks);
	CHECK(ticks.n == 5 &&
	      !strcmp(ticks.major[0].label, "\xe2\x88\x92"
	                                    "1.0") &&
	      !strcmp(ticks.major[2].label, "0.0"));
	PlotSpan decades = {1e-9, 1, true, false};
	ticks_find(&decades, 12, &ticks);
	CHECK(ticks.n == 10 &&
	      !strcmp(ticks.major[0].label, "10^{\xe2\x88\x92"
	                                    "9}") &&
	      !strcmp(ticks.major[9].label, "10^{0}"));
	CHECK(ticks.minors >= 70);
	PlotSpan large = {0, 3e6, false, false};
	ticks_find(&large, 5, &ticks);
	CHECK(!strcmp(ticks.multiplier, "\xc3\x97"
	                                "10^{6}") &&
	      !strcmp(ticks.major[ticks.n - 1].label, "3"));
	PlotSpan offset = {1e9 - 0.3, 1e9 + 0.3, false, false};
	ticks_find(&offset, 6, &ticks);
	CHECK(!strcmp(ticks.multiplier, "+ 10^{9}"));
	ticks_find(&unit, -3, &ticks);
	CHECK(ticks.n <= 2);
	ticks_find(&unit, 1000, &ticks);
	CHECK(ticks.n <= PLOT_TICKS);

	static const double hard[][2] = {
		{0, 1e-300},  {-1e307, 1e307},     {1e306, 1.0001e306}, {0.1, 0.1000001}, {-5e-5, 5e-5},
		{99999, 1e5}, {123456, 123456.01}, {-1e9 - 1, -1e9},    {0, 7},           {1e15, 1e15 + 64},
	};
	for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
		for (int most = 2; most <= 12; most++) check_ticks(hard[i][0], hard[i][1], most, false);
	for (int i = 0; i < 3000; i++) {
		double size = pow(10, -200 + 400 * uniform(t)), middle = (uniform(t) - 0.5) * size;
		double span = size * pow(10, -10 * uniform(t));
		check_ticks(middle - span, middle + span, 2 + (int)(uniform(t) * 11), false);
		double lo = pow(10, -250 + 400 * uniform(t)),
			   hi = lo * pow(10, uniform(t) < 0.5 ? 2 * uniform(t) + 0.1 : 100 * uniform(t) + 0.1);
		check_ticks(lo, hi, 2 + (int)(uniform(t) * 11), true);
	}
}

/* ---- font and colours ---------------------------------------------------- */

typedef struct Bounds {
	double x0, y0, x1, y1;
	int pieces;
} Bounds;

static void grow(void *ud, PlotPoint a, PlotPoint b, double weight) {
	Bounds *r = ud;
	(void)weight;
	r->x0 = plot_min(r->x0, plot_min(a.x, b.x));
	r->y0 = plot_min(r->y0, plot_min(a.y, b.y));
	r->x1 = plot_max(r->x1, plot_max(a.x, b.x));
	r->y1 = plot_max(r->y1, plot_max(a.y, b.y));
	r->pieces++;
}

static Bounds bounds_of(const char *text) {
	Bounds r = {1e9, 1e9, -1e9, -1e9, 0};
	font_strokes(text, 100, 0.2, grow, &r);
	return r;
}

static void test_font(void) {
	char text[8];
	for (uint32_t c = 33; c < 127; c++) {
		text[plot_utf8_write(c, text)] = 0;
		Bounds r = bounds_of(text);
		double width = font_width(text, 100);
		CHECK(glyph_find(c) != NULL);
		CHECK(r.pieces > 0 && width >= 20 && width <= 100);
		CHECK(r.x0 >= 0 && r.x1 <= width && r.y0 >= -80 && r.y1 <= 20);
	}
	static const char science[] = "αβγδεζηθικλμνξοπρςστυφχψωϑϕϵΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ−×·²³¹⁰⁴⁵⁶⁷⁸"
								  "⁹⁺⁻₀₁₂₃₄₅₆₇₈₉∂∇∫∑∏√∞±÷≤≥≠≈≡∼∝∈"
								  "°′″‖ℓℏħ→←↔⇒…–—äöüßéñÅ⟨⟩⊕⊗µ";
	for (const char *p = science; *p;) {
		uint32_t c = plot_utf8(&p);
		const PlotGlyphAlias *alias = glyph_alias(c);
		CHECK(glyph_find(alias ? alias->base : c) != NULL);
		text[plot_utf8_write(c, text)] = 0;
		Bounds r = bounds_of(text);
		CHECK(r.pieces > 0 && r.x0 >= -1 && r.x1 <= font_width(text, 100) + 1 && r.y0 >= -95 &&
		      r.y1 <= 25);
	}
	CHECK(font_width("", 10) == 0 && font_width(" ", 10) > 0);
	CHECK(font_width("iii", 10) < font_width("mmm", 10));
	/* Digits have equal widths. */
	CHECK(fabs(font_width("12345", 10) - font_width("67890", 10)) < 1e-9);
	CHECK(font_width("10^{3}", 10) < font_width("103", 10));
	CHECK(fabs(font_width("x^{2}", 10) - font_width("x²", 10)) < 1e-9);
	CHECK(bounds_of("x^{2}").y0 < bounds_of("x2").y0 && bounds_of("u_{x}").y1 > bounds_of("ux").y1);
	CHECK(font_width("u_x", 10) > font_width("u_{x}", 10)); /* a bare _ is itself */
	/* A combining accent has no width. */
	CHECK(font_width("a\xcc\x82", 10) == font_width("a", 10));
	CHECK(font_width("\xe6\xbc\xa2", 10) > 0); /* unknown: a box */
	CHECK(font_width("^{", 10) == 0 && font_width("^{^{^{^{^{^{^{^{^{^{x", 10) > 0);
	CHECK(fabs(font_width("^{f{a}}b", 10) - font_width("^{f{a}}", 10) - font_width("b", 10)) <
	      1e-9);

	static const char bad[] = "\xff\xc0\xaf\xed\xa0\x80\xf5\xe2\x82x";
	int characters = 0, wrong = 0;
	for (const char *p = bad; *p; characters++) wrong += plot_utf8(&p) == 0xfffd;
	CHECK(characters == 10 && wrong == 9);
}

static double luminance(PlotColour c) {
	double v[3] = {c.r / 255.0, c.g / 255.0, c.b / 255.0};
	for (int i = 0; i < 3; i++)
		v[i] = v[i] <= 0.04045 ? v[i] / 12.92 : pow((v[i] + 0.055) / 1.055, 2.4);
	return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
}

static void test_colours(void) {
	PlotColour map[256];
	const PlotMap maps[2] = {PLOT_MAP_SEQUENTIAL, PLOT_MAP_GREY};
	for (int m = 0; m < 2; m++) {
		plot_map_colours(maps[m], map);
		bool rises = true;
		for (int i = 4; i < PLOT_MAP_COLOURS; i++)
			rises = rises && luminance(map[i]) > luminance(map[i - 4]);
		CHECK(rises);
		CHECK(luminance(map[0]) < 0.03 && luminance(map[PLOT_MAP_COLOURS - 1]) > 0.6);
	}
	plot_map_colours(PLOT_MAP_DIVERGING, map);
	PlotColour middle = map[PLOT_MAP_COLOURS / 2];
	CHECK(abs(middle.r - middle.g) < 6 && abs(middle.g - middle.b) < 6 && luminance(middle) > 0.8);
	CHECK(map[0].b > map[0].r && map[PLOT_MAP_COLOURS - 1].r > map[PLOT_MAP_COLOURS - 1].b);
	CHECK(map[PLOT_MAP_OUTSIDE].a == 0 && map[PLOT_MAP_MISSING].a == 255);
	for (int i = 0; i < PLOT_COLOURS; i++) {
		PlotColour a = plot_series_colour(i);
		CHECK(luminance(a) < 0.5); /* readable on white */
		for (int j = 0; j < i; j++) {
			PlotColour b = plot_series_colour(j);
			CHECK(abs(a.r - b.r) + abs(a.g - b.g) + abs(a.b - b.b) > 70);
		}
		CHECK(plot_series_colour(i + PLOT_COLOURS).g == a.g && plot_ansi_series(i) >= 16);
	}
	CHECK(plot_series_colour(-1).a == 255);
	PlotSpan z = {-2, 2, false, false};
	CHECK(plot_map_index(&z, -2) == 0 && plot_map_index(&z, 0) == PLOT_MAP_COLOURS / 2 &&
	      plot_map_index(&z, 99) == PLOT_MAP_COLOURS - 1);
	CHECK(plot_map_index(&z, NAN) == PLOT_MAP_MISSING &&
	      plot_map_index(&z, INFINITY) == PLOT_MAP_OUTSIDE);
}

/* ---- fields -------------------------------------------------------------- */

static void test_fields(void) {
	enum { NX = 7, NY = 5, W = 60, H = 40 };
	double x[NX] = {-1, -0.7, -0.1, 0, 0.4, 0.9, 1}, y[NY] = {0, 1, 3, 3.5, 4}, z[NX * NY],
		   down[NX], out[W * H];
	for (int i = 0; i < NX; i++)
		for (int j = 0; j < NY; j++) z[i * NY + j] = 2 * x[i] - 3 * y[j];
	for (int i = 0; i < NX; i++) down[i] = x[NX - 1 - i];
	PlotArena arena = {&plot_malloc, NULL, false};
	Figure *f = figure_new(NULL, 1, 1);
	PlotAxes axes;

	/* Interpolation reproduces a linear function exactly on uneven
	 * coordinates. */
	CHECK(panel_field(f, 0, &(PlotField){.x = x, .y = y, .z = z, .nx = NX, .ny = NY}) == PLOT_OK);
	CHECK(panel_axes(f, 0, &axes) == PLOT_OK);
	CHECK(axes.axis[0].lo == -1 && axes.axis[0].hi == 1 && axes.axis[1].hi == 4 &&
	      axes.map == PLOT_MAP_DIVERGING);
	CHECK(field_resample(&f->panels[0].field, &axes, &arena, W, H, out));
	double worst = 0;
	for (int r = 0; r < H; r++)
		for (int c = 0; c < W; c++)
			worst = plot_max(worst, fabs(out[r * W + c] - (2 * (-1 + 2 * (c + 0.5) / W) -
			                                               3 * (4 - 4 * (r + 0.5) / H))));
	CHECK(worst < 1e-12);

	/* Descending coordinates and a reversed axis change only the order. */
	PlotField turned = f->panels[0].field;
	turned.x = down;
	double back[NX * NY];
	for (int i = 0; i < NX; i++) memcpy(back + i * NY, z + (NX - 1 - i) * NY, NY * sizeof *z);
	turned.z = back;
	double again[W * H];
	CHECK(field_resample(&turned, &axes, &arena, W, H, again));
	worst = 0;
	for (int i = 0; i < W * H; i++) worst = plot_max(worst, fabs(out[i] - again[i]));
	CHECK(worst < 1e-12);
	axes.axis[0].turned = true;
	CHECK(field_resample(&turned, &axes, &arena, W, H, again));
	worst = 0;
	for (int r = 0; r < H; r++)
		for (int c = 0; c < W; c++)
			worst = plot_max(worst, fabs(out[r * W + c] - again[r * W + W - 1 - c]));
	CHECK(worst < 1e-12);
	figure_free(f);

	/* Cells are flat. A missing cell leaves only itself empty, and nothing is
	 * drawn beyond the field. */
	double cells[6] = {1, 2, 3, NAN, 5, 6};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_field(f, 0, &(PlotField){.z = cells, .nx = 3, .ny = 2, .cells = true}) == PLOT_OK);
	CHECK(panel_limits(f, 0, PLOT_X, -0.5, 3.5) == PLOT_OK);
	CHECK(panel_axes(f, 0, &axes) == PLOT_OK);
	CHECK(axes.axis[1].lo == -0.5 && axes.axis[1].hi == 1.5);
	CHECK(field_resample(&f->panels[0].field, &axes, &arena, 8, 4, out));
	CHECK(out[3 * 8 + 0] == 1 && out[3 * 8 + 1] == 1 && out[0] == 2 && out[3 * 8 + 2] == 3 &&
	      out[3 * 8 + 5] == 5);
	CHECK(isnan(out[2]) && isnan(out[3]) && isinf(out[6]) && isinf(out[7]) && out[5] == 6);
	figure_free(f);

	/* Several samples in one pixel are averaged: a checkerboard is grey. */
	static double board[400 * 400];
	for (int i = 0; i < 400 * 400; i++) board[i] = (i / 400 + i) % 2 ? 1 : -1;
	for (int flat = 0; flat < 2; flat++) {
		f = figure_new(NULL, 1, 1);
		CHECK(panel_field(f, 0, &(PlotField){.z = board, .nx = 400, .ny = 400, .cells = flat}) ==
		      PLOT_OK);
		CHECK(panel_axes(f, 0, &axes) == PLOT_OK && axes.map == PLOT_MAP_DIVERGING);
		CHECK(field_resample(&f->panels[0].field, &axes, &arena, 20, 20, out));
		worst = 0;
		for (int i = 0; i < 400; i++) worst = plot_max(worst, fabs(out[i]));
		CHECK(worst < 0.02);
		figure_free(f);
	}

	/* Data of both signs is centred on 0; data of one sign is not. */
	double both[2] = {-1, 3}, one[2] = {-0.01, 3};
	f = figure_new(NULL, 1, 2);
	CHECK(panel_field(f, 0, &(PlotField){.z = both, .nx = 2, .ny = 1}) == PLOT_OK);
	CHECK(panel_field(f, 1, &(PlotField){.z = one, .nx = 2, .ny = 1}) == PLOT_OK);
	CHECK(panel_axes(f, 0, &axes) == PLOT_OK && axes.axis[2].lo == -3 && axes.axis[2].hi == 3);
	CHECK(panel_axes(f, 1, &axes) == PLOT_OK && axes.axis[2].lo == -0.01 &&
	      axes.map == PLOT_MAP_SEQUENTIAL);
	figure_free(f);
	plot_arena_free(&arena);
}

/* ---- figures for visual inspection --------------------------------------- */

enum { SAMPLES = 201, TIMES = 41 };
typedef struct Data {
	double x[SAMPLES], t[TIMES], u[TIMES][SAMPLES], h[7], e[3][7], noise[2000];
} Data;

static void fill_data(Test *t, Data *d) {
	for (int i = 0; i < SAMPLES; i++) d->x[i] = -1 + 2.0 * i / (SAMPLES - 1);
	for (int j = 0; j < TIMES; j++) {
		d->t[j] = (double)j / (TIMES - 1);
		for (int i = 0; i < SAMPLES; i++)
			d->u[j][i] =
				-sin(PLOT_PI * d->x[i]) * exp(-d->t[j]) + 0.2 * tanh(20 * d->x[i] * d->t[j]);
	}
	for (int i = 0; i < 7; i++) {
		d->h[i] = pow(2, -2 - i);
		for (int k = 0; k < 3; k++) d->e[k][i] = 0.3 * pow(d->h[i], k + 1);
	}
	for (int i = 0; i < 2000; i++) d->noise[i] = uniform(t) - 0.5;
}

static Figure *figure_lines(const Data *d, const PlotAllocator *alloc) {
	static const char *const names[3] = {"t = 0", "t = 0.5", "t = 1"};
	Figure *f = figure_new(alloc, 1, 1);
	if (!f) return NULL;
	panel_title(f, 0, "Burgers equation, ν = 0.01/π");
	panel_label(f, 0, PLOT_X, "x");
	panel_label(f, 0, PLOT_Y, "u(t, x)");
	for (int k = 0; k < 3; k++) {
		PlotSeries s = {.x = d->x,
		                .y = d->u[k * 20],
		                .n = SAMPLES,
		                .label = names[k],
		                .colour = PLOT_COLOUR_AUTO};
		panel_line(f, 0, &s);
	}
	return f;
}

static Figure *figure_panels(const Data *d, const PlotAllocator *alloc) {
	Figure *f = figure_new(alloc, 2, 2);
	if (!f) return NULL;
	figure_title(f, "u_{t} + u u_{x} = ν u_{xx} & <more>");
	panel_title(f, 0, "solution");
	panel_label(f, 0, PLOT_X, "x");
	panel_label(f, 0, PLOT_Y, "t");
	panel_label(f, 0, PLOT_Z, "u(t, x)");
	panel_field(f, 0,
	            &(PlotField){.x = d->x,
	                         .y = d->t,
	                         .z = &d->u[0][0],
	                         .nx = SAMPLES,
	                         .ny = TIMES,
	                         .x_step = 1,
	                         .y_step = SAMPLES});
	panel_line(
		f, 1,
		&(PlotSeries){
			.y = d->noise, .n = 2000, .label = "noise", .colour = PLOT_COLOUR_AUTO, .width = 0.5});
	panel_scatter(f, 1,
	              &(PlotSeries){.x = d->noise,
	                            .y = d->noise + 9,
	                            .n = 50,
	                            .label = "points",
	                            .colour = PLOT_COLOUR_AUTO});
	panel_scale(f, 2, PLOT_X, PLOT_LOG);
	panel_scale(f, 2, PLOT_Y, PLOT_LOG);
	panel_title(
		f, 2,
		"a long title of a convergence plot that has to be made smaller or cut somewhere to fit");
	panel_label(f, 2, PLOT_Y, "‖u_{h} − u‖");
	panel_grid(f, 2, true);
	for (int k = 0; k < 3; k++) {
		PlotSeries s = {.x = d->h,
		                .y = d->e[k],
		                .n = 7,
		                .label = "order",
		                .colour = PLOT_COLOUR_AUTO,
		                .marker = PLOT_MARKER_AUTO,
		                .dash = (PlotDash)(PLOT_DASHED + k)};
		panel_line(f, 2, &s);
	}
	return f; /* the fourth panel stays empty */
}

static Figure *figure_awkward(const Data *d, const PlotAllocator *alloc) {
	Figure *f = figure_new(alloc, 1, 2);
	if (!f) return NULL;
	static double far[SAMPLES], small[SAMPLES];
	for (int i = 0; i < SAMPLES; i++) {
		far[i] = 1e9 + 0.3 * d->x[i];
		small[i] = 1e-7 * d->x[i];
	}
	panel_title(f, 0, "offsets and factors on both axes");
	panel_label(f, 0, PLOT_X, "a label of some length for x / m");
	panel_line(f, 0,
	           &(PlotSeries){.x = small, .y = far, .n = SAMPLES, .label = "straight", .colour = 9});
	panel_legend(f, 1, PLOT_LEGEND_OUTSIDE);
	panel_limits(f, 1, PLOT_X, 0.5, -0.5);
	for (int k = 0; k < 12; k++) {
		PlotSeries s = {.x = d->x,
		                .y = d->u[3 * k],
		                .n = SAMPLES,
		                .label = "one of a great many entries, with a long name",
		                .colour = PLOT_COLOUR_AUTO};
		panel_line(f, 1, &s);
	}
	return f;
}

typedef Figure *(*MakeFigure)(const Data *d, const PlotAllocator *alloc);
static const MakeFigure makers[3] = {figure_lines, figure_panels, figure_awkward};

/* ---- layout -------------------------------------------------------------- */

/* No text overlaps another or leaves the picture. */
static void check_texts_of(Figure *f, double width, double height) {
	Scene s;
	PlotStatus status = figure_scene(f, width, height, 0.5, &s);
	CHECK(status == PLOT_OK || status == PLOT_TOO_SMALL);
	if (!status) check_texts(&s, 0.5);
	plot_arena_free(&s.arena);
}

static void test_layout(Test *t, const Data *d) {
	for (int k = 0; k < 3; k++) {
		Figure *f = makers[k](d, NULL);
		for (int i = 0; i < 60; i++)
			check_texts_of(f, 200 + 900 * uniform(t), 150 + 700 * uniform(t));
		figure_free(f);
	}
	for (int i = 0; i < 200; i++) { /* ticks of every magnitude on both axes */
		double x[2], y[2], z[2] = {uniform(t), 1e6 * uniform(t)};
		for (int a = 0; a < 2; a++) {
			double *v = a ? y : x, size = pow(10, -12 + 24 * uniform(t));
			v[0] = (uniform(t) - 0.5) * size;
			v[1] = v[0] + size * pow(10, -8 * uniform(t));
		}
		Figure *f = figure_new(NULL, 1, 1);
		panel_title(f, 0, "title");
		panel_label(f, 0, PLOT_X, "abscissa");
		panel_label(f, 0, PLOT_Y, "ordinate");
		if (i % 2) panel_field(f, 0, &(PlotField){.x = x, .z = z, .nx = 2, .ny = 1});
		else panel_line(f, 0, &(PlotSeries){.x = x, .y = y, .n = 2});
		check_texts_of(f, 480, 340);
		figure_free(f);
	}

	/* The legend goes where no line is: lines through three corners leave the
	 * fourth. */
	for (int free_corner = 0; free_corner < 4; free_corner++) {
		double x[60], y[60];
		int n = 0;
		for (int c = 0; c < 4; c++)
			for (int i = 0; c != free_corner && i < 20; i++) {
				x[n] = c % 2 ? 1 - i * 0.01 : i * 0.01;
				y[n++] = c / 2 ? 1 - i % 5 * 0.02 : i % 5 * 0.02;
			}
		Figure *f = figure_new(NULL, 1, 1);
		panel_scatter(f, 0, &(PlotSeries){.x = x, .y = y, .n = (size_t)n, .label = "points"});
		Scene s;
		CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
		const PlotPrimitive *text = NULL;
		for (const PlotPrimitive *p = s.first; p; p = p->next)
			if (p->kind == PRIM_TEXT && !strcmp(p->text, "points")) text = p;
		CHECK(text != NULL);
		if (text) {
			CHECK((text->points[0].x > 260) == (free_corner % 2 == 1));
			CHECK((text->points[0].y < 170) == (free_corner / 2 == 1));
		}
		plot_arena_free(&s.arena);
		figure_free(f);
	}

	Figure *f = figure_new(NULL, 16, 16);
	panel_title(f, 0, "one");
	Scene s;
	CHECK(figure_scene(f, 300, 300, 2, &s) == PLOT_TOO_SMALL && *figure_error(f));
	plot_arena_free(&s.arena);
	figure_free(f);
}

/* ---- PNG ----------------------------------------------------------------- */

typedef struct Image {
	int width, height;
	unsigned char *rgb;
} Image;

static Image read_png(const char *path) {
	Image out = {0};
	png_image image = {.version = PNG_IMAGE_VERSION};
	if (!png_image_begin_read_from_file(&image, path)) return out;
	image.format = PNG_FORMAT_RGB;
	out.rgb = malloc(PNG_IMAGE_SIZE(image));
	if (png_image_finish_read(&image, NULL, out.rgb, 0, NULL)) {
		out.width = (int)image.width;
		out.height = (int)image.height;
	}
	png_image_free(&image);
	return out;
}

static bool pixel_is(const Image *im, int x, int y, PlotColour c, int slack) {
	if (x < 0 || y < 0 || x >= im->width || y >= im->height) return false;
	const unsigned char *p = im->rgb + 3 * ((size_t)y * (size_t)im->width + (size_t)x);
	return abs(p[0] - c.r) <= slack && abs(p[1] - c.g) <= slack && abs(p[2] - c.b) <= slack;
}

static int count_pixels(const Image *im, PlotColour c) {
	int n = 0;
	for (int y = 0; y < im->height; y++)
		for (int x = 0; x < im->width; x++) n += pixel_is(im, x, y, c, 4);
	return n;
}

static void test_png(Test *t, const Data *d) {
	char path[300];
	file_in(t, "a.png", path);
	Figure *f = figure_lines(d, NULL);
	CHECK(figure_write_png(f, path, 0, 0) == PLOT_OK);
	Image im = read_png(path);
	CHECK(im.width == 960 && im.height == 680);
	for (int k = 0; k < 3; k++) CHECK(count_pixels(&im, plot_series_colour(k)) > 400);
	CHECK(count_pixels(&im, plot_series_colour(4)) == 0);
	CHECK(count_pixels(&im, (PlotColour){255, 255, 255, 255}) > 960 * 680 / 2);

	/* Picture and scene agree: each line has its colour in the pixels of its
	 * points, unless a later line covers them. */
	Scene s;
	CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	int on = 0, all = 0;
	for (const PlotPrimitive *p = s.first; p; p = p->next) {
		if (p->kind != PRIM_LINE || p->n < 50) continue;
		for (size_t i = 10; i + 10 < p->n; i++) {
			bool hit = false;
			for (int k = 0; k < 3; k++)
				hit = hit || pixel_is(&im, (int)(p->points[i].x * 2), (int)(p->points[i].y * 2),
				                      plot_series_colour(k), 12);
			on += hit;
			all++;
		}
	}
	CHECK(all > 500 && on == all);
	plot_arena_free(&s.arena);
	free(im.rgb);
	CHECK(figure_write_png(f, path, 333, 777) == PLOT_OK);
	im = read_png(path);
	CHECK(im.width == 333 && im.height == 777);
	free(im.rgb);
	figure_free(f);

	/* A thick horizontal line with a gap: coloured where there is data, white
	 * in the gap. */
	double x[5] = {0, 1, 2, 3, 4}, y[5] = {1, 1, NAN, 1, 1};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_line(f, 0, &(PlotSeries){.x = x, .y = y, .n = 5, .colour = 1, .width = 6}) ==
	      PLOT_OK);
	CHECK(panel_limits(f, 0, PLOT_Y, 0, 2) == PLOT_OK);
	CHECK(figure_write_png(f, path, 960, 680) == PLOT_OK);
	im = read_png(path);
	CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	PlotRect plot = {0};
	for (const PlotPrimitive *p = s.first; p; p = p->next)
		if (p->clip) plot = *p->clip;
	for (int i = 1; i < 80; i++) {
		double u = i / 80.0 * 4;
		int px = (int)((plot.x0 + u / 4 * (plot.x1 - plot.x0)) * 2), py = (int)(plot.y0 + plot.y1);
		bool data = u < 0.95 || u > 3.05, gap = u > 1.1 && u < 2.9;
		CHECK(!data || pixel_is(&im, px, py, plot_series_colour(1), 4));
		CHECK(!gap || pixel_is(&im, px, py, (PlotColour){255, 255, 255, 255}, 4));
	}
	CHECK(count_pixels(&im, plot_series_colour(1)) > 2000);
	plot_arena_free(&s.arena);
	free(im.rgb);
	figure_free(f);

	/* A field: the colours of its samples at their positions. */
	double z[4] = {0, 1, 2, 3};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_field(f, 0, &(PlotField){.z = z, .nx = 2, .ny = 2, .cells = true}) == PLOT_OK);
	CHECK(figure_write_png(f, path, 960, 680) == PLOT_OK);
	im = read_png(path);
	CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	PlotColour map[256];
	plot_map_colours(PLOT_MAP_SEQUENTIAL, map);
	const PlotPrimitive *image = NULL;
	for (const PlotPrimitive *p = s.last = s.first; p; p = p->next)
		if (p->kind == PRIM_IMAGE && !image) image = p;
	CHECK(image != NULL);
	for (int k = 0; image && k < 4; k++) {
		double px = image->rect.x0 + (k / 2 ? 0.75 : 0.25) * (image->rect.x1 - image->rect.x0);
		double py = image->rect.y0 + (k % 2 ? 0.25 : 0.75) * (image->rect.y1 - image->rect.y0);
		CHECK(pixel_is(&im, (int)(px * 2), (int)(py * 2),
		               map[(int)(k / 3.0 * (PLOT_MAP_COLOURS - 1) + 0.5)], 1));
	}
	plot_arena_free(&s.arena);
	free(im.rgb);
	CHECK(figure_write_png(f, path, 15, 100) == PLOT_BAD_ARGUMENT &&
	      figure_write_png(f, path, 100, 20000) == PLOT_BAD_ARGUMENT);
	CHECK(figure_write_png(f, path, 16384, 16384) == PLOT_BAD_ARGUMENT &&
	      figure_write_png(f, path, 4000, 16) == PLOT_TOO_SMALL);
	CHECK(figure_write_png(f, NULL, 0, 0) == PLOT_BAD_ARGUMENT);
	figure_free(f);
	unlink(path);
}

/* ---- SVG ----------------------------------------------------------------- */

static bool name_character(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == ':' || c == '_';
}

/* Skips one of the five predefined entities; returns false when there is
 * none. */
static bool entity(const char **p) {
	static const char *const known[5] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
	for (int i = 0; i < 5; i++) {
		if (strncmp(*p, known[i], strlen(known[i]))) continue;
		*p += strlen(known[i]);
		return true;
	}
	return false;
}

/* A small XML checker: tags nest, attributes are quoted and not repeated, text
 * is clean. Returns the number of elements, -1 on an error. */
static int well_formed(const char *p) {
	char open[32][24];
	int depth = 0, elements = 0, roots = 0;
	for (const char *q = p; *q;)
		if (plot_utf8(&q) == 0xfffd) return -1;
	if (!strncmp(p, "<?xml ", 6)) p = strstr(p, "?>") ? strstr(p, "?>") + 2 : "";
	while (*p) {
		if (*p == '&') {
			if (!depth || !entity(&p)) return -1;
			continue;
		}
		if (*p != '<') {
			if (*p == '>' || ((unsigned char)*p < 32 && *p != '\n') || (!depth && *p != '\n'))
				return -1;
			p++;
			continue;
		}
		bool closing = p[1] == '/';
		p += closing ? 2 : 1;
		char name[24] = "";
		int n = 0;
		while (name_character(*p) && n < 23) name[n++] = *p++;
		if (!n) return -1;
		if (closing) {
			if (!depth || strcmp(open[--depth], name) || *p++ != '>') return -1;
			continue;
		}
		char seen[16][24];
		int attributes = 0;
		while (*p == ' ') {
			char attribute[24] = "";
			for (n = 0, p++; name_character(*p) && n < 23;) attribute[n++] = *p++;
			if (!n || *p++ != '=' || *p++ != '"') return -1;
			while (*p && *p != '"') {
				if (*p == '<' || (*p == '&' && !entity(&p))) return -1;
				if (*p != '"') p++;
			}
			if (*p++ != '"') return -1;
			for (int i = 0; i < attributes; i++)
				if (!strcmp(seen[i], attribute)) return -1;
			if (attributes == 16) return -1;
			strcpy(seen[attributes++], attribute);
		}
		elements++;
		if (!depth && roots++) return -1;
		if (*p == '/') {
			if (p[1] != '>') return -1;
			p += 2;
			continue;
		}
		if (*p++ != '>' || depth == 32) return -1;
		strcpy(open[depth++], name);
	}
	return depth || roots != 1 ? -1 : elements;
}

static void test_svg(Test *t, const Data *d) {
	char path[300];
	file_in(t, "a.svg", path);
	CHECK(well_formed("<a><b c=\"1\"/>x &amp; y</a>") == 2);
	CHECK(well_formed("<a><b></a></b>") < 0 && well_formed("<a b=1/>") < 0 &&
	      well_formed("<a>&</a>") < 0 && well_formed("<a/><a/>") < 0);
	CHECK(well_formed("<a b=\"1\" b=\"2\"/>") < 0 && well_formed("<a>\xff</a>") < 0 &&
	      well_formed("<a>") < 0);
	for (int k = 0; k < 3; k++) {
		Figure *f = makers[k](d, NULL);
		CHECK(figure_write_svg(f, path) == PLOT_OK);
		size_t n = 0;
		char *text = read_whole(path, &n);
		CHECK(text && well_formed(text) > 40);
		if (text && k == 0) {
			CHECK(strstr(text, ">Burgers equation, ν = 0.01/π</text>") != NULL);
			CHECK(strstr(text, "rotate(-90 ") && strstr(text, ">u(t, x)</text>") &&
			      strstr(text, "#0068b2"));
			CHECK(n < 60000);
		}
		if (text && k == 1) {
			CHECK(strstr(text, "&amp; &lt;more&gt;") &&
			      strstr(text, "data:image/png;base64,iVBOR"));
			CHECK(strstr(text, "<tspan dy=") && strstr(text, "stroke-dasharray") &&
			      strstr(text, "<circle") && strstr(text, "clip-path"));
		}
		free(text);
		figure_free(f);
	}

	/* Hostile strings: control characters, invalid UTF-8, unclosed markup, and
	 * a very long string. */
	char *longer = malloc(100001);
	memset(longer, 'w', 100000);
	longer[100000] = 0;
	const char *const hostile[6] = {"a\x01\x1b[31m\x7f\xc2\x85z",
	                                "\xff\xfe\xed\xa0\x80 \xef\xbf\xbf]]>",
	                                "^{_{^{x",
	                                "}}}{{{^{}",
	                                "<script>\"'&",
	                                longer};
	for (int i = 0; i < 6; i++) {
		Figure *f = figure_new(NULL, 1, 1);
		double y[2] = {0, 1};
		figure_title(f, hostile[i]);
		panel_title(f, 0, hostile[i]);
		for (int a = 0; a < 3; a++) panel_label(f, 0, (PlotAxis)a, hostile[i]);
		CHECK(panel_line(f, 0, &(PlotSeries){.y = y, .n = 2, .label = hostile[i]}) == PLOT_OK);
		CHECK(figure_write_svg(f, path) == PLOT_OK);
		size_t n = 0;
		char *text = read_whole(path, &n);
		CHECK(text && (well_formed(text) > 20 || strstr(text, "\xef\xbf\xbd")));
		CHECK(text && !strstr(text, "<script") && !strchr(text, '\x1b'));
		free(text);
		char png[300];
		CHECK(figure_write_png(f, file_in(t, "a.png", png), 300, 200) == PLOT_OK);
		unlink(png);
		figure_free(f);
	}
	free(longer);

	/* A locale with decimal commas changes nothing. */
	Figure *f = figure_lines(d, NULL);
	size_t n1 = 0, n2 = 0;
	CHECK(figure_write_svg(f, path) == PLOT_OK);
	char *plain = read_whole(path, &n1);
	if (setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8")) {
		CHECK(figure_write_svg(f, path) == PLOT_OK);
		char *local = read_whole(path, &n2);
		CHECK(plain && local && n1 == n2 && !memcmp(plain, local, n1));
		free(local);
		setlocale(LC_ALL, "C");
	}
	free(plain);
	figure_free(f);
	unlink(path);
}

/* ---- files --------------------------------------------------------------- */

static void test_files(Test *t, const Data *d) {
	char path[300], other[300];
	Figure *f = figure_panels(d, NULL);
	CHECK(files_in_folder(t) == 0);
	CHECK(figure_write_svg(f, file_in(t, "missing/a.svg", path)) == PLOT_IO_ERROR &&
	      strstr(figure_error(f), "missing"));
	CHECK(figure_write_png(f, file_in(t, "missing/a.png", path), 0, 0) == PLOT_IO_ERROR);
	CHECK(figure_write_svg(f, t->folder) == PLOT_IO_ERROR &&
	      figure_write_svg(f, "") == PLOT_IO_ERROR);
	CHECK(files_in_folder(t) == 0);

	/* Writing must not replace a device. */
	CHECK(figure_write_svg(f, "/dev/null") == PLOT_IO_ERROR);
	struct stat st;
	CHECK(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));

	/* A disk that is full after 100 bytes: the old file is intact, and no other
	 * file appears. */
	file_in(t, "kept.svg", path);
	FILE *file = fopen(path, "w");
	if (file) {
		fputs("old", file);
		fclose(file);
	}
	struct rlimit old, small = {100, 100};
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &small));
	PlotStatus svg = figure_write_svg(f, path),
			   png = figure_write_png(f, file_in(t, "new.png", other), 0, 0);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, handler);
	CHECK(svg == PLOT_IO_ERROR && png == PLOT_IO_ERROR && *figure_error(f));
	CHECK(files_in_folder(t) == 1);
	size_t n = 0;
	char *text = read_whole(path, &n);
	CHECK(text && !strcmp(text, "old"));
	free(text);

	/* A symbolic link stays a link; its target is replaced. */
	file_in(t, "link.svg", other);
	CHECK(!symlink(path, other));
	CHECK(figure_write_svg(f, other) == PLOT_OK);
	CHECK(!lstat(other, &st) && S_ISLNK(st.st_mode));
	text = read_whole(path, &n);
	CHECK(text && well_formed(text) > 40);
	free(text);
	CHECK(files_in_folder(t) == 2);
	unlink(other);
	unlink(path);

	/* A name without a folder refers to the current folder. */
	char *here = getcwd(NULL, 0);
	CHECK(here && !chdir(t->folder));
	CHECK(figure_write_svg(f, "bare.svg") == PLOT_OK && files_in_folder(t) == 1);
	unlink("bare.svg");
	CHECK(!chdir(here));
	free(here);
	figure_free(f);
}

/* ---- terminal ------------------------------------------------------------ */

/* Checks widths and colour codes; returns the number of lines. */
static int check_lines(const Text *text, int columns, bool colour) {
	int lines = 0, width = 0;
	bool open = false, fits = true, closed = true, codes = true;
	for (const char *p = text->at; p && *p;) {
		uint32_t c = plot_utf8(&p);
		codes = codes && c != 0xfffd && (colour || c != 0x1b);
		if (c == 0x1b) {
			open = strncmp(p, "[0m", 3) != 0;
			p = strchr(p, 'm');
			p = p ? p + 1 : "";
			continue;
		}
		if (c == '\n') {
			lines++;
			closed = closed && !open;
			width = 0;
			continue;
		}
		width += plot_char_columns(c);
		fits = fits && width <= columns;
	}
	CHECK(fits);
	CHECK(closed);
	CHECK(codes);
	return lines;
}

static void test_terminal(Test *t, const Data *d) {
	for (int k = 0; k < 3; k++) {
		Figure *f = makers[k](d, NULL);
		for (int i = 0; i < 120; i++) {
			int columns = 20 + (int)(uniform(t) * 180), rows = 6 + (int)(uniform(t) * 60);
			bool colour = i % 2;
			Text out = {0};
			CHECK(figure_write_terminal(f, columns, rows, colour, take_text, &out) == PLOT_OK);
			int lines = check_lines(&out, columns, colour), panels = k == 0 ? 1 : k == 1 ? 3 : 2;
			CHECK(out.calls == 1 && (lines <= rows || (panels > 1 && lines <= panels * rows + 1)));
			if (columns >= 120 && rows >= 40) CHECK(lines <= rows);
			free(out.at);
		}
		Text none = {0};
		CHECK(figure_write_terminal(f, 19, 20, false, take_text, &none) == PLOT_TOO_SMALL &&
		      none.calls == 0);
		CHECK(figure_write_terminal(f, 80, 5, false, take_text, &none) == PLOT_TOO_SMALL &&
		      none.calls == 0);
		CHECK(figure_write_terminal(f, 80, 20, false, NULL, NULL) == PLOT_BAD_ARGUMENT);
		Text huge = {0};
		CHECK(figure_write_terminal(f, 1000000, 1000000, false, take_text, &huge) == PLOT_OK);
		free(huge.at);
		figure_free(f);
	}

	Figure *f = figure_lines(d, NULL);
	Text out = {0};
	CHECK(figure_write_terminal(f, 80, 24, false, take_text, &out) == PLOT_OK);
	CHECK(out.at && strstr(out.at, "Burgers") && strstr(out.at, "u(t, x)") &&
	      strstr(out.at, "t = 0.5") && strstr(out.at, "-1.0"));
	int dots = 0;
	for (const char *p = out.at; p && *p;) {
		uint32_t c = plot_utf8(&p);
		dots += c > 0x2800 && c <= 0x28ff;
	}
	CHECK(dots > 100);
	free(out.at);
	figure_free(f);

	f = figure_panels(d, NULL);
	out = (Text){0};
	CHECK(figure_write_terminal(f, 100, 50, true, take_text, &out) == PLOT_OK);
	CHECK(out.at && strstr(out.at, "uₜ + u uₓ = ν uₓₓ") && strstr(out.at, "▀") &&
	      strstr(out.at, "48;5;") && strstr(out.at, "10⁻"));
	free(out.at);
	figure_free(f);

	/* Wide and combining characters have the right number of columns. */
	f = figure_new(NULL, 1, 1);
	panel_title(f, 0, "漢字漢字漢字漢字漢字漢字漢字漢字漢字");
	panel_label(f, 0, PLOT_X, "u\xcc\x82 at x^{abc} and y^{q}");
	double y[3] = {1, 2, 3};
	panel_line(f, 0, &(PlotSeries){.y = y, .n = 3, .label = "漢字 of the first, which is long"});
	out = (Text){0};
	CHECK(figure_write_terminal(f, 24, 12, true, take_text, &out) == PLOT_OK);
	check_lines(&out, 24, true);
	CHECK(out.at && strstr(out.at, "…") && strstr(out.at, "^(abc)"));
	free(out.at);
	figure_free(f);
}

/* ---- degenerate data ----------------------------------------------------- */

static void write_everything(Test *t, Figure *f, PlotStatus want) {
	char path[300];
	Text out = {0};
	CHECK(figure_write_svg(f, file_in(t, "d.svg", path)) == want);
	size_t n = 0;
	char *text = want ? NULL : read_whole(path, &n);
	CHECK(want || (text && well_formed(text) > 10));
	free(text);
	unlink(path);
	CHECK(figure_write_png(f, file_in(t, "d.png", path), 400, 300) == want);
	unlink(path);
	CHECK(figure_write_terminal(f, 60, 16, true, take_text, &out) == want);
	if (!want) check_lines(&out, 60, true);
	CHECK(!want || *figure_error(f));
	free(out.at);
}

static void test_degenerate(Test *t, const Data *d) {
	static const double sets[][6] = {
		{5, 5, 5, 5, 5, 5},
		{0, 0, 0, 0, 0, 0},
		{NAN, NAN, NAN, NAN, NAN, NAN},
		{INFINITY, -INFINITY, 1, NAN, 2, INFINITY},
		{1e308, -1e308, 1e308, 0, 1, 2},
		{1e307, -1e307, 9e306, 0, 1, 2},
		{4e-324, 1e-310, 0, -1e-320, 0, 0},
		{1, 1 + 1e-16, 1 + 4e-16, 1, 1, 1},
		{1e300, 1e-300, 1, 1e100, 1e-100, 3},
		{-1, -2, -3, -4, -5, -6},
		{NAN, 1, NAN, 2, NAN, 3},
		{123456789.125, 123456789.126, 123456789.127, 123456789.125, 123456789.125, 123456789.125},
	};
	const size_t count = sizeof sets / sizeof *sets;
	for (size_t a = 0; a < count; a++) {
		for (size_t b = 0; b < count; b++) {
			for (int log = 0; log < 4; log++) {
				if ((a * count + b + (size_t)log) % 3 && a != b) continue;
				Figure *f = figure_new(NULL, 1, 1);
				panel_scale(f, 0, PLOT_X, log & 1 ? PLOT_LOG : PLOT_LINEAR);
				panel_scale(f, 0, PLOT_Y, log & 2 ? PLOT_LOG : PLOT_LINEAR);
				CHECK(panel_line(f, 0,
				                 &(PlotSeries){.x = sets[a],
				                               .y = sets[b],
				                               .n = 6,
				                               .label = "l",
				                               .marker = PLOT_MARKER_PLUS}) == PLOT_OK);
				CHECK(panel_scatter(f, 0,
				                    &(PlotSeries){.x = sets[b],
				                                  .y = sets[a],
				                                  .n = 1 + (a + b) % 6,
				                                  .label = "p"}) == PLOT_OK);
				write_everything(t, f, PLOT_OK);
				figure_free(f);
			}
		}
		for (int k = 0; k < 8; k++) { /* as fields of several shapes */
			Figure *f = figure_new(NULL, 1, 1);
			figure_size(f, 240, 180);
			panel_scale(f, 0, PLOT_Z, k & 1 ? PLOT_LOG : PLOT_LINEAR);
			panel_scale(f, 0, PLOT_X, k & 2 ? PLOT_LOG : PLOT_LINEAR);
			size_t nx = k & 4 ? 6 : a % 2 ? 1 : 3;
			CHECK(panel_field(
					  f, 0,
					  &(PlotField){.z = sets[a], .nx = nx, .ny = 6 / nx, .cells = a % 3 == 0}) ==
			      PLOT_OK);
			write_everything(t, f, PLOT_OK);
			figure_free(f);
		}
	}

	/* No data, a series without samples, one sample, unusual widths. */
	Figure *f = figure_new(NULL, 1, 1);
	write_everything(t, f, PLOT_OK);
	CHECK(panel_line(f, 0, &(PlotSeries){.n = 0, .label = "none"}) == PLOT_OK);
	write_everything(t, f, PLOT_OK);
	CHECK(
		panel_line(f, 0, &(PlotSeries){.y = d->x, .n = 1, .dash = PLOT_DOTTED, .width = 1e-300}) ==
		PLOT_OK);
	CHECK(panel_line(
			  f, 0,
			  &(PlotSeries){
				  .x = d->x, .y = d->noise, .n = SAMPLES, .dash = PLOT_DOTTED, .width = 1e-300}) ==
	      PLOT_OK);
	CHECK(panel_line(
			  f, 0,
			  &(PlotSeries){
				  .x = d->x, .y = d->noise, .n = SAMPLES, .dash = PLOT_DASH_DOT, .width = 100}) ==
	      PLOT_OK);
	write_everything(t, f, PLOT_OK);
	figure_free(f);
	f = figure_new(NULL, 3, 3);
	write_everything(t, f, PLOT_OK);
	figure_free(f);

	/* Limits far inside or outside the data. */
	static const double limits[][2] = {
		{1e-9, 2e-9}, {-1e300, 1e300}, {0.5, 0.5000001}, {100, 200}, {1, -1}};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		f = figure_lines(d, NULL);
		for (int a = 0; a < 2; a++)
			CHECK(panel_limits(f, 0, (PlotAxis)a, limits[i][0], limits[i][1]) == PLOT_OK);
		write_everything(t, f, PLOT_OK);
		figure_free(f);
	}

	/* A million samples are drawn quickly and in little memory. */
	size_t n = 1000000;
	double *many = malloc(n * sizeof *many);
	for (size_t i = 0; i < n; i++) many[i] = uniform(t);
	f = figure_new(NULL, 1, 2);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = many, .n = n, .marker = PLOT_MARKER_CIRCLE}) ==
	      PLOT_OK);
	CHECK(panel_scatter(f, 1, &(PlotSeries){.x = many, .y = many + n / 2, .n = n / 2}) == PLOT_OK);
	char path[300];
	CHECK(figure_write_svg(f, file_in(t, "m.svg", path)) == PLOT_OK);
	struct stat st;
	CHECK(!stat(path, &st) && st.st_size < 40000000);
	unlink(path);
	figure_free(f);
	free(many);
}

static void test_arguments(Test *t) {
	double v[4] = {1, 2, 3, 3}, bad[3] = {1, NAN, 2};
	CHECK(!figure_new(NULL, 0, 1) && !figure_new(NULL, 1, 17) && !figure_new(NULL, -1, 1));
	figure_free(NULL);
	CHECK(*figure_error(NULL) && figure_title(NULL, "x") == PLOT_BAD_ARGUMENT &&
	      figure_size(NULL, 100, 100) == PLOT_BAD_ARGUMENT);
	CHECK(panel_title(NULL, 0, "x") == PLOT_BAD_ARGUMENT &&
	      figure_write_svg(NULL, "x") == PLOT_BAD_ARGUMENT);
	CHECK(figure_write_png(NULL, "x", 0, 0) == PLOT_BAD_ARGUMENT &&
	      figure_write_terminal(NULL, 80, 20, 0, take_text, NULL) == PLOT_BAD_ARGUMENT);
	Figure *f = figure_new(NULL, 2, 2);
	CHECK(!*figure_error(f));
	CHECK(panel_title(f, 4, "x") == PLOT_BAD_ARGUMENT && strstr(figure_error(f), "no panel 4"));
	CHECK(panel_title(f, -1, "x") == PLOT_BAD_ARGUMENT &&
	      panel_label(f, 0, (PlotAxis)7, "x") == PLOT_BAD_ARGUMENT);
	CHECK(panel_scale(f, 0, PLOT_X, (PlotScale)9) == PLOT_BAD_ARGUMENT &&
	      panel_legend(f, 0, (PlotLegend)99) == PLOT_BAD_ARGUMENT);
	CHECK(panel_limits(f, 0, PLOT_X, 1, 1) == PLOT_BAD_ARGUMENT &&
	      panel_limits(f, 0, PLOT_X, NAN, 1) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, NULL) == PLOT_BAD_ARGUMENT &&
	      panel_line(f, 0, &(PlotSeries){.n = 3}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = v, .n = 3, .width = -1}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = v, .n = 3, .width = NAN}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = v, .n = 3, .dash = (PlotDash)77}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_field(f, 0, NULL) == PLOT_BAD_ARGUMENT &&
	      panel_field(f, 0, &(PlotField){.z = v}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_field(f, 0, &(PlotField){.x = v, .z = v, .nx = 4, .ny = 1}) == PLOT_BAD_DATA &&
	      strstr(figure_error(f), "number 3"));
	CHECK(panel_field(f, 0, &(PlotField){.y = bad, .z = v, .nx = 1, .ny = 3}) == PLOT_BAD_DATA);
	CHECK(panel_field(f, 0, &(PlotField){.z = v, .nx = 2, .ny = 2, .map = (PlotMap)8}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_field(f, 0, &(PlotField){.z = v, .nx = 2, .ny = 2}) == PLOT_OK);
	CHECK(panel_field(f, 0, &(PlotField){.z = v, .nx = 2, .ny = 2}) == PLOT_BAD_ARGUMENT);
	CHECK(figure_size(f, 10, 100) == PLOT_BAD_ARGUMENT &&
	      figure_size(f, NAN, 100) == PLOT_BAD_ARGUMENT && figure_size(f, 500, 400) == PLOT_OK);
	CHECK(panel_title(f, 1, "limits") == PLOT_OK);
	CHECK(panel_limits(f, 1, PLOT_Y, -1, 1) == PLOT_OK &&
	      panel_scale(f, 1, PLOT_Y, PLOT_LOG) == PLOT_OK);
	write_everything(t, f, PLOT_BAD_DATA);
	CHECK(panel_limits(f, 1, PLOT_Y, 1, 1 + 1e-15) == PLOT_OK);
	write_everything(t, f, PLOT_BAD_DATA);
	CHECK(panel_limits(f, 1, PLOT_Y, 10, 1) == PLOT_OK);
	CHECK(panel_title(f, 1, "") == PLOT_OK && panel_title(f, 1, NULL) == PLOT_OK);
	write_everything(t, f, PLOT_OK);
	figure_free(f);

	/* Strides: a column of a matrix, and a negative stride. */
	double matrix[6] = {1, 10, 2, 20, 3, 30};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = matrix + 1, .n = 3, .y_step = 2}) == PLOT_OK);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = matrix + 4, .n = 3, .y_step = -2}) == PLOT_OK);
	CHECK(item_y(&f->panels[0].items[0], 2) == 30 && item_y(&f->panels[0].items[1], 2) == 1 &&
	      item_x(&f->panels[0].items[1], 2) == 2);
	figure_free(f);
}

/* ---- allocation failure -------------------------------------------------- */

/* Uses the library once; returns true when every step succeeds. */
static bool use(Test *t, const Data *d, Meter *m, int kind) {
	PlotAllocator alloc = {meter_resize, m};
	char path[300];
	Text out = {0};
	Figure *f = makers[1](d, &alloc);
	if (!f) return false;
	figure_size(f, 400, 300);
	PlotStatus status = kind == 0   ? figure_write_svg(f, file_in(t, "o.svg", path))
	                    : kind == 1 ? figure_write_png(f, file_in(t, "o.png", path), 300, 200)
	                                : figure_write_terminal(f, 70, 40, true, take_text, &out);
	CHECK(status == PLOT_OK || (status == PLOT_NO_MEMORY && *figure_error(f) && out.calls == 0));
	if (kind < 2) unlink(path);
	free(out.at);
	figure_free(f);
	return status == PLOT_OK;
}

static void test_memory(Test *t, const Data *d) {
	for (int kind = 0; kind < 3; kind++) {
		Meter whole = {.fail_from = -1};
		CHECK(use(t, d, &whole, kind) && !whole.held && !whole.blocks && !whole.wrong);
		for (int mode = 0; mode < 2; mode++) { /* one failure, then permanent failure */
			for (long at = 0; at < whole.calls; at++) {
				Meter m = {.fail_from = at, .fail_for = mode ? 0 : 1};
				bool done = use(t, d, &m, kind);
				CHECK(!m.held && !m.blocks && !m.wrong);
				CHECK(!mode || !done);
			}
		}
		CHECK(files_in_folder(t) == 0);
	}
}

int main(void) {
	Test test = {.seed = 20260601}, *t = &test;
	Data *d = calloc(1, sizeof *d);
	if (!d || !test_begin(t, "test_plot")) return 1;
	fill_data(t, d);
	test_ticks(t);
	test_font();
	test_colours();
	test_fields();
	test_layout(t, d);
	test_png(t, d);
	test_svg(t, d);
	test_files(t, d);
	test_terminal(t, d);
	test_degenerate(t, d);
	test_arguments(t);
	test_memory(t, d);
	free(d);
	return test_end(t);
}
