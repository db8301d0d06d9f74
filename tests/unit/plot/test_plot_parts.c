/* test_plot_parts.c - unit tests of ticks, font, colours and fields.
 *
 * Needs: repl/plot/.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/help.h"

#include <math.h>

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

/* The box around the ink of a string of size 100, from the start of its
 * baseline, y down, and the number of its pixels. */
typedef struct Bounds {
	int x0, y0, x1, y1, pixels;
} Bounds;

static Bounds bounds_of(const char *text) {
	enum { X = 100, Y = 150, WIDTH = 500, HEIGHT = 250 };
	Bounds box = {WIDTH, HEIGHT, -WIDTH, -HEIGHT, 0};
	Scene s = {
		.arena = {&plot_malloc, NULL, false}, .width = WIDTH, .height = HEIGHT, .resolution = 1};
	Raster r;
	scene_text(&s, text, X, Y, 100, ANCHOR_START, (PlotColour){0, 0, 0, 255});
	CHECK(raster_scene(&s, WIDTH, HEIGHT, &s.arena, &r));
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			if (r.rgb[3 * (y * WIDTH + x)] > 200) continue;
			if (x - X < box.x0) box.x0 = x - X;
			if (x + 1 - X > box.x1) box.x1 = x + 1 - X;
			if (y - Y < box.y0) box.y0 = y - Y;
			if (y + 1 - Y > box.y1) box.y1 = y + 1 - Y;
			box.pixels++;
		}
	plot_arena_free(&s.arena);
	return box;
}

/* Returns whether the font has the character. */
static bool has_letter(uint32_t c) {
	char text[8];
	PlotLetter letter[8];
	size_t n;
	text[plot_utf8_write(c, text)] = 0;
	font_place(text, 100, letter, &n);
	return n == 1 && letter->code == c && letter->glyph;
}

static void test_font(void) {
	char text[8];
	CHECK(!font_open());
	for (uint32_t c = 33; c < 127; c++) {
		text[plot_utf8_write(c, text)] = 0;
		Bounds r = bounds_of(text);
		double width = font_width(text, 100);
		CHECK(has_letter(c));
		CHECK(r.pixels > 0 && width >= 20 && width <= 101);
		/* a few letters, as J and f, reach under or over their neighbours */
		CHECK(r.x0 >= -6 && r.x1 <= width + 4 && r.y0 >= -80 && r.y1 <= 25);
	}
	static const char science[] = "αβγδεζηθικλμνξοπρςστυφχψωϑϕϵΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ−×·²³¹⁰⁴⁵⁶⁷⁸"
								  "⁹⁺⁻₀₁₂₃₄₅₆₇₈₉∂∇∫∑∏√∞±÷≤≥≠≈≡∼∝∈"
								  "°′″‖ℓℏħ→←↔⇒…–—äöüßéñÅ⟨⟩⊕⊗µ";
	for (const char *p = science; *p;) {
		uint32_t c = plot_utf8(&p);
		CHECK(has_letter(c));
		text[plot_utf8_write(c, text)] = 0;
		Bounds r = bounds_of(text);
		CHECK(r.pixels > 0 && r.x0 >= -6 && r.x1 <= font_width(text, 100) + 6 && r.y0 >= -95 &&
		      r.y1 <= 25);
	}
	CHECK(font_width("", 10) == 0 && font_width(" ", 10) > 0);
	CHECK(font_width("iii", 10) < font_width("mmm", 10));
	/* Digits have equal widths. */
	CHECK(fabs(font_width("12345", 10) - font_width("67890", 10)) < 1e-9);
	CHECK(font_width("10^{3}", 10) < font_width("103", 10));
	/* Widths are proportional to the size, and kerning is one of them. */
	CHECK(fabs(font_width("AV^{2}", 37) - 3.7 * font_width("AV^{2}", 10)) < 1e-9);
	CHECK(font_width("AV", 10) < font_width("A", 10) + font_width("V", 10) - 0.1);
	/* Small digits are raised alike, as markup and as characters. */
	Bounds marked = bounds_of("^{2}"), single = bounds_of("²"), plain = bounds_of("2");
	CHECK(abs(marked.y0 - single.y0) < 20 && abs(marked.y1 - single.y1) < 10);
	CHECK(marked.y1 < -30 && single.y1 < -30 && plain.y1 >= 0);
	CHECK(bounds_of("x^{2}").y0 < bounds_of("x2").y0 && bounds_of("u_{x}").y1 > bounds_of("ux").y1);
	CHECK(font_width("u_x", 10) > font_width("u_{x}", 10)); /* a bare _ is itself */
	/* A combining accent has no width. It stands over its letter, and higher
	 * over a capital, but an accent below stays there. */
	CHECK(font_width("a\xcc\x82", 10) == font_width("a", 10));
	Bounds small = bounds_of("x\xcc\x82"), tall = bounds_of("X\xcc\x82"),
		   below = bounds_of("X\xcc\xb1");
	CHECK(small.y0 < bounds_of("x").y0 - 10 && small.x1 <= font_width("x", 100) + 1);
	CHECK(tall.y0 < small.y0 - 10 && tall.y0 < bounds_of("X").y0 - 10);
	CHECK(below.y0 == bounds_of("X").y0 && below.y1 > 8);
	CHECK(bounds_of("x\xcc\x82\xcc\x84").y0 < small.y0 - 5); /* a second one over the first */
	/* unknown: a box */
	CHECK(font_width("\xe6\xbc\xa2", 10) > 0 && !has_letter(0x6f22) &&
	      bounds_of("\xe6\xbc\xa2").pixels > 100);
	CHECK(font_width("\xef\xb8\x80", 10) == 0); /* an invisible character */
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

int main(void) {
	Test test = {.seed = 17356646285877306185ull}, *t = &test;
	if (!test_begin(t, "test_plot_parts")) return 1;
	test_ticks(t);
	test_font();
	test_colours();
	test_fields();
	return test_end(t);
}
