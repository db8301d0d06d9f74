/* colour.c - colours of series and colour maps of fields.
 *
 * Method: a map interpolates a few points in a perceptual space (lightness,
 * chroma, hue of Oklab). Colours outside the screen's gamut lose chroma, never
 * lightness.
 *
 * Needs: internal.h.
 *
 * Guarantees:
 * - The first eight series colours are distinguishable in print and with any
 *   common colour blindness.
 * - The lightness of the sequential map rises uniformly.
 * - The diverging map is equally light at equal distances from its white
 *   centre.
 */
#include "repl/plot/internal.h"

#include <math.h>

PlotColour plot_series_colour(int index) {
	/* Blue, vermilion, green, purple, amber, sky, charcoal, umber: neighbours
	 * differ in lightness as well as in hue. */
	static const PlotColour colours[PLOT_COLOURS] = {
		{0, 104, 178, 255}, {213, 84, 0, 255},   {0, 150, 110, 255}, {190, 100, 160, 255},
		{224, 152, 0, 255}, {86, 176, 230, 255}, {64, 64, 68, 255},  {132, 86, 46, 255},
	};
	if (index & 0x1000000)
		return (PlotColour){(uint8_t)(index >> 16), (uint8_t)(index >> 8), (uint8_t)index, 255};
	int k = index % PLOT_COLOURS;
	return colours[k < 0 ? k + PLOT_COLOURS : k];
}

PlotColour plot_shade(PlotColour c, double light) {
	double white = light > 1 ? plot_min(light - 1, 1) : 0,
		   keep = light < 1 ? plot_max(light, 0) : 1;
	uint8_t *part[3] = {&c.r, &c.g, &c.b};
	for (int i = 0; i < 3; i++)
		*part[i] = (uint8_t)(*part[i] * keep * (1 - white) + 255 * white + 0.5);
	return c;
}

/* ---- perceptual space ---------------------------------------------------- */

typedef struct Shade {
	double light, chroma, hue; /* hue in degrees */
} Shade;

typedef struct LinearColour {
	double r, g, b;
} LinearColour;

static LinearColour oklab_to_linear(double light, double a, double b) {
	double l = light + 0.3963377774 * a + 0.2158037573 * b;
	double m = light - 0.1055613458 * a - 0.0638541728 * b;
	double s = light - 0.0894841775 * a - 1.2914855480 * b;
	l = l * l * l;
	m = m * m * m;
	s = s * s * s;
	return (LinearColour){4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
	                      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
	                      -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

static bool shown(LinearColour c) {
	return plot_min(c.r, plot_min(c.g, c.b)) >= 0 && plot_max(c.r, plot_max(c.g, c.b)) <= 1;
}

static uint8_t screen_byte(double v) {
	v = plot_clamp(v, 0, 1);
	v = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
	return (uint8_t)(v * 255 + 0.5);
}

static PlotColour oklab_colour(double light, double a, double b) {
	double keep = 1;
	if (!shown(oklab_to_linear(light, a, b))) {
		double lo = 0, hi = 1;
		for (int i = 0; i < 20; i++) {
			keep = (lo + hi) / 2;
			if (shown(oklab_to_linear(light, keep * a, keep * b))) lo = keep;
			else hi = keep;
		}
		keep = lo;
	}
	LinearColour c = oklab_to_linear(light, keep * a, keep * b);
	return (PlotColour){screen_byte(c.r), screen_byte(c.g), screen_byte(c.b), 255};
}

/* ---- maps ---------------------------------------------------------------- */

/* Cubic Hermite interpolation at equidistant points, with central differences
 * as derivatives. */
static double through(double before, double from, double to, double after, double t) {
	double slope0 = (to - before) / 2, slope1 = (after - from) / 2;
	double t2 = t * t, t3 = t2 * t;
	return (2 * t3 - 3 * t2 + 1) * from + (t3 - 2 * t2 + t) * slope0 + (3 * t2 - 2 * t3) * to +
	       (t3 - t2) * slope1;
}

static PlotColour shade_at(const Shade *points, int n, double t) {
	double at = t * (n - 1);
	int k = (int)at;
	if (k > n - 2) k = n - 2;
	double part = at - k, a[4], b[4];
	for (int i = 0; i < 4; i++) {
		int j = k - 1 + i;
		const Shade *s = &points[j < 0 ? 0 : j > n - 1 ? n - 1 : j];
		a[i] = s->chroma * cos(s->hue * PLOT_PI / 180);
		b[i] = s->chroma * sin(s->hue * PLOT_PI / 180);
	}
	double light =
		/* piecewise linear: exactly uniform */
		points[k].light + part * (points[k + 1].light - points[k].light);
	return oklab_colour(light, through(a[0], a[1], a[2], a[3], part),
	                    through(b[0], b[1], b[2], b[3], part));
}

void plot_map_colours(PlotMap map, PlotColour table[256]) {
	static const Shade sequential[7] = {
		{0.270, 0.120, 308}, {0.378, 0.130, 287}, {0.486, 0.108, 252}, {0.594, 0.100, 205},
		{0.702, 0.135, 163}, {0.810, 0.185, 134}, {0.918, 0.185, 106},
	};
	static const Shade diverging[7] = {
		{0.380, 0.135, 264}, {0.580, 0.145, 254}, {0.770, 0.090, 242}, {0.960, 0.003, 90},
		{0.770, 0.115, 52},  {0.580, 0.170, 36},  {0.380, 0.150, 25},
	};
	static const Shade grey[2] = {{0.10, 0, 0}, {0.98, 0, 0}};
	static const Shade warm[7] = {
		{0.140, 0.020, 300}, {0.275, 0.120, 305}, {0.410, 0.165, 340}, {0.545, 0.185, 12},
		{0.680, 0.180, 42},  {0.815, 0.150, 72},  {0.950, 0.095, 100},
	};
	/* Light in the centre, dark at both ends, blue in the first half and red in
	 * the second. */
	static const Shade cyclic[9] = {
		{0.300, 0.055, 325}, {0.430, 0.130, 280}, {0.580, 0.110, 250},
		{0.760, 0.060, 225}, {0.910, 0.015, 120}, {0.760, 0.075, 55},
		{0.580, 0.125, 32},  {0.430, 0.125, 8},   {0.300, 0.055, 325},
	};
	const Shade *points = map == PLOT_MAP_DIVERGING ? diverging
	                      : map == PLOT_MAP_GREY    ? grey
	                      : map == PLOT_MAP_WARM    ? warm
	                      : map == PLOT_MAP_CYCLIC  ? cyclic
	                                                : sequential;
	int n = map == PLOT_MAP_GREY ? 2 : map == PLOT_MAP_CYCLIC ? 9 : 7;
	for (int i = 0; i < PLOT_MAP_COLOURS; i++)
		table[i] = shade_at(points, n, (double)i / (PLOT_MAP_COLOURS - 1));
	table[PLOT_MAP_COLOURS] = table[PLOT_MAP_COLOURS - 1];
	table[PLOT_MAP_MISSING] =
		map == PLOT_MAP_GREY ? (PlotColour){232, 208, 178, 255} : (PlotColour){204, 204, 208, 255};
	table[PLOT_MAP_OUTSIDE] = (PlotColour){255, 255, 255, 0};
}

uint8_t plot_map_index(const PlotSpan *z, double v) {
	if (v > PLOT_HUGE || v < -PLOT_HUGE) return PLOT_MAP_OUTSIDE;
	double u = span_place(z, v);
	if (u != u) return PLOT_MAP_MISSING;
	return (uint8_t)(plot_clamp(u, 0, 1) * (PLOT_MAP_COLOURS - 1) + 0.5);
}

/* ---- terminals ----------------------------------------------------------- */

typedef struct Lab {
	double light, a, b;
} Lab;

static double light_of(uint8_t byte) {
	double v = byte / 255.0;
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static Lab lab_of(PlotColour c) {
	double r = light_of(c.r), g = light_of(c.g), b = light_of(c.b);
	double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
	double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
	double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
	return (Lab){0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
	             1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
	             0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

/* Returns colour 16 .. 255 of a terminal: a cube of 6 by 6 by 6, then 24
 * greys. */
static PlotColour ansi_shown(int n) {
	static const uint8_t level[6] = {0, 95, 135, 175, 215, 255};
	if (n >= 232)
		return (PlotColour){(uint8_t)(8 + 10 * (n - 232)), (uint8_t)(8 + 10 * (n - 232)),
		                    (uint8_t)(8 + 10 * (n - 232)), 255};
	n -= 16;
	return (PlotColour){level[n / 36], level[n / 6 % 6], level[n % 6], 255};
}

void plot_map_ansi(PlotMap map, int16_t table[256]) {
	PlotColour palette[256];
	Lab known[256];
	plot_map_colours(map, palette);
	for (int n = 16; n < 256; n++) known[n] = lab_of(ansi_shown(n));
	for (int i = 0; i < 256; i++) {
		Lab want = lab_of(palette[i]);
		double best = INFINITY;
		/* the perceptually nearest, so that the hue of a map does not jump */
		for (int n = 16; n < 256; n++) {
			double dl = known[n].light - want.light, da = known[n].a - want.a,
				   db = known[n].b - want.b;
			double distance = dl * dl + 2 * (da * da + db * db);
			if (distance >= best) continue;
			best = distance;
			table[i] = (int16_t)n;
		}
	}
}

int plot_ansi_nearest(PlotColour c) {
	Lab want = lab_of(c);
	int best = 16;
	double least = INFINITY;
	for (int n = 16; n < 256; n++) {
		Lab known = lab_of(ansi_shown(n));
		double dl = known.light - want.light, da = known.a - want.a, db = known.b - want.b;
		double distance = dl * dl + 2 * (da * da + db * db);
		if (distance >= least) continue;
		least = distance;
		best = n;
	}
	return best;
}

int plot_ansi_series(int index) {
	if (index & 0x1000000) { /* black and near-black would vanish on a dark background */
		PlotColour c = plot_series_colour(index);
		return c.r < 60 && c.g < 60 && c.b < 60 ? 246 : plot_ansi_nearest(c);
	}
	/* The order of plot_series_colour, lighter where that would vanish on a
	 * dark background. */
	static const int colours[PLOT_COLOURS] = {33, 202, 36, 170, 178, 75, 246, 137};
	int k = index % PLOT_COLOURS;
	return colours[k < 0 ? k + PLOT_COLOURS : k];
}
