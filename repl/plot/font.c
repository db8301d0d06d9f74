/* font.c - measuring and drawing of strings with the built-in stroke font.
 *
 * Needs: internal.h, the glyphs of glyphs.c.
 *
 * Guarantees:
 * - Width and strokes agree exactly: both use the same walk over the string.
 * - A character without a glyph is drawn as an empty box.
 * - Curves are flattened according to the number of pixels they cover.
 */
#include "repl/plot/internal.h"

#include <math.h>

#define MISSING_WIDTH 60
#define ACCENT_LIFT 17 /* over tall letters */

/* One character at its place, in units of the text. */
typedef struct PlacedGlyph {
	const char *stroke;
	double x, y, scale; /* y up from the baseline; scale: units per hundredth */
	double weight;      /* superscripts and subscripts are a little thinner */
} PlacedGlyph;

static bool is_tall(uint32_t c) {
	static const char low[] = "acegijmnopqrsuvwxyz";
	if (c >= 'a' && c <= 'z') {
		for (const char *p = low; *p; p++)
			if ((uint32_t)*p == c) return false;
		return true;
	}
	return c < 0x3b1 ? c != 0x131 && c != 0xe6 && c != 0xf8 : c > 0x2200;
}

typedef void (*PlacedFn)(void *ud, const PlacedGlyph *p);

/* Calls `each` for every glyph of the string and returns the string's width. */
static double walk_text(const char *text, double size, PlacedFn each, void *ud) {
	PlotCursor cursor = {.at = text};
	double x = 0, centre = 0;
	bool tall = false;
	int level;
	for (uint32_t c; (c = plot_next(&cursor, &level));) {
		const PlotGlyphAlias *alias = glyph_alias(c);
		uint32_t base = alias ? alias->base : c;
		int8_t own_level = alias ? alias->level : 0;
		double scale = size / 100, y = level > 0   ? FONT_RAISE * size
		                               : level < 0 ? -FONT_LOWER * size
		                                           : 0;
		if (level) scale *= FONT_SCRIPT;
		if (own_level) {
			y += (own_level > 0 ? FONT_RAISE : -FONT_LOWER) * scale * 100;
			scale *= FONT_SCRIPT;
		}
		const PlotGlyph *g = glyph_find(base);
		PlacedGlyph p = {g ? g->stroke : "M 9 4 L 51 4 L 51 68 L 9 68 L 9 4", x, y, scale,
		                 0.4 + 0.6 * scale * 100 / size};
		double advance = (g ? g->advance : MISSING_WIDTH) * scale;
		bool accent = g && !g->advance;
		if (accent) {
			p.x = centre;
			if (tall && base != 0x327) p.y += ACCENT_LIFT * scale;
		} else if (plot_char_columns(c) == 0) {
			continue; /* an invisible mark without a glyph */
		} else {
			centre = x + advance / 2;
			tall = is_tall(base);
		}
		if (each) each(ud, &p);
		if (each && alias && alias->accent) {
			const PlotGlyph *mark = glyph_find(alias->accent);
			PlacedGlyph over = {mark ? mark->stroke : "", centre, y, scale, p.weight};
			if (tall && alias->accent != 0x327) over.y += ACCENT_LIFT * scale;
			each(ud, &over);
		}
		x += advance;
	}
	return x;
}

double font_width(const char *text, double size) { return walk_text(text, size, NULL, NULL); }

/* ---- strokes ------------------------------------------------------------- */

static bool read_number(const char **p, double *out) {
	const char *s = *p;
	while (*s == ' ') s++;
	double sign = 1, v = 0;
	if (*s == '-') {
		sign = -1;
		s++;
	}
	if (*s < '0' || *s > '9') return false;
	while (*s >= '0' && *s <= '9') v = v * 10 + (*s++ - '0');
	if (*s == '.')
		for (double unit = 0.1; *++s >= '0' && *s <= '9'; unit /= 10) v += unit * (*s - '0');
	*out = sign * v;
	*p = s;
	return true;
}

typedef struct Pen {
	PlotPiece piece;
	void *ud;
	double pixels; /* per unit */
	const PlacedGlyph *where;
	PlotPoint at; /* in hundredths */
	bool down;
} Pen;

static PlotPoint pen_place(const Pen *pen, PlotPoint p) {
	return (PlotPoint){pen->where->x + p.x * pen->where->scale,
	                   -(pen->where->y + p.y * pen->where->scale)};
}

static void pen_to(Pen *pen, double x, double y) {
	PlotPoint to = {x, y};
	if (pen->down && (to.x != pen->at.x || to.y != pen->at.y))
		pen->piece(pen->ud, pen_place(pen, pen->at), pen_place(pen, to), pen->where->weight);
	pen->at = to;
	pen->down = true;
}

static void pen_arc(Pen *pen, const double v[6]) {
	double from = v[4] * PLOT_PI / 180, sweep = (v[5] - v[4]) * PLOT_PI / 180;
	double radius = plot_max(v[2], v[3]) * pen->where->scale * pen->pixels;
	int n = (int)plot_clamp(ceil(fabs(sweep) / sqrt(0.3 / plot_max(radius, 0.3))), 6, 160);
	for (int i = 0; i <= n; i++) {
		double angle = from + sweep * i / n;
		pen_to(pen, v[0] + v[2] * cos(angle), v[1] + v[3] * sin(angle));
	}
}

static void pen_curve(Pen *pen, const double v[6]) {
	PlotPoint a = pen->at;
	double length = hypot(v[0] - a.x, v[1] - a.y) + hypot(v[2] - v[0], v[3] - v[1]) +
	                hypot(v[4] - v[2], v[5] - v[3]);
	int n = (int)plot_clamp(ceil(1.5 * sqrt(length * pen->where->scale * pen->pixels)), 5, 80);
	for (int i = 1; i <= n; i++) {
		double t = (double)i / n, s = 1 - t;
		double c0 = s * s * s, c1 = 3 * s * s * t, c2 = 3 * s * t * t, c3 = t * t * t;
		pen_to(pen, c0 * a.x + c1 * v[0] + c2 * v[2] + c3 * v[4],
		       c0 * a.y + c1 * v[1] + c2 * v[3] + c3 * v[5]);
	}
}

static void pen_dot(Pen *pen, double x, double y) {
	const double r = 1.4; /* a dot is a little wider than a stroke */
	pen->down = false;
	pen_to(pen, x - r, y);
	pen_to(pen, x + r, y);
	pen->down = false;
	pen_to(pen, x, y - r);
	pen_to(pen, x, y + r);
	pen->down = false;
}

static void draw_placed(void *ud, const PlacedGlyph *p) {
	Pen *pen = ud;
	pen->where = p;
	pen->down = false;
	char command = 0;
	for (const char *s = p->stroke; *s;) {
		if (*s == ' ') {
			s++;
			continue;
		}
		if (*s >= 'A' && *s <= 'Z') {
			command = *s++;
			if (command == 'M') pen->down = false;
			continue;
		}
		int want = command == 'A' || command == 'C' ? 6 : 2;
		double v[6] = {0};
		for (int i = 0; i < want; i++)
			if (!read_number(&s, &v[i])) return;
		if (command == 'A') pen_arc(pen, v);
		else if (command == 'C') pen_curve(pen, v);
		else if (command == 'D') pen_dot(pen, v[0], v[1]);
		else pen_to(pen, v[0], v[1]);
	}
}

void font_strokes(const char *text, double size, double pixels_per_unit, PlotPiece piece,
                  void *ud) {
	Pen pen = {.piece = piece, .ud = ud, .pixels = pixels_per_unit};
	walk_text(text, size, draw_placed, &pen);
}
