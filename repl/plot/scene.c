/* scene.c - list of drawing primitives for the writers.
 *
 * Needs: internal.h.
 *
 * Guarantees:
 * - Primitives stay in the order in which they were added; points are copied.
 * - When memory fails, the arena's flag is set and the primitive is omitted.
 *   Callers check once, at the end.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <string.h>

static PlotPrimitive *add(Scene *s, PrimKind kind, PlotColour c) {
	PlotPrimitive *p = plot_take(&s->arena, 1, sizeof *p);
	if (!p) return NULL;
	p->kind = kind;
	p->colour = c;
	p->clip = s->clip;
	p->clip_number = s->clip_number;
	if (s->last) s->last->next = p;
	else s->first = p;
	s->last = p;
	return p;
}

static PlotPrimitive *add_points(Scene *s, PrimKind kind, PlotColour c, const PlotPoint *points,
                                 size_t n) {
	PlotPoint *copy = plot_take(&s->arena, n, sizeof *copy);
	PlotPrimitive *p = copy ? add(s, kind, c) : NULL;
	if (!p) return NULL;
	if (n) memcpy(copy, points, n * sizeof *copy);
	p->points = copy;
	p->n = n;
	return p;
}

void scene_clip(Scene *s, const PlotRect *rect) {
	s->clip = NULL;
	s->clip_number = 0;
	if (!rect) return;
	PlotRect *copy = plot_take(&s->arena, 1, sizeof *copy);
	if (!copy) return;
	*copy = *rect;
	s->clip = copy;
	s->clip_number = ++s->clips;
}

void scene_line(Scene *s, const PlotPoint *points, size_t n, double width, PlotColour c,
                PlotDash dash) {
	if (!n || dash == PLOT_NO_LINE) return;
	PlotPrimitive *p = add_points(s, PRIM_LINE, c, points, n);
	if (!p) return;
	p->size = width;
	p->dash = dash;
}

void scene_segment(Scene *s, double x0, double y0, double x1, double y1, double width,
                   PlotColour c) {
	PlotPoint ends[2] = {{x0, y0}, {x1, y1}};
	scene_line(s, ends, 2, width, c, PLOT_SOLID);
}

bool prim_holds(const PlotPrimitive *p, double x, double y) {
	bool in = false;
	size_t start = 0;
	for (size_t i = 0; i < p->n; i++) {
		PlotPoint a = p->points[i];
		if (a.x != a.x) {
			start = i + 1;
			continue;
		}
		PlotPoint b = i + 1 < p->n && p->points[i + 1].x == p->points[i + 1].x ? p->points[i + 1]
		                                                                       : p->points[start];
		if ((a.y <= y) != (b.y <= y) && a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x) < x) in = !in;
	}
	return in;
}

void scene_polygon(Scene *s, const PlotPoint *points, size_t n, PlotColour c) {
	if (n >= 3 && c.a) add_points(s, PRIM_POLYGON, c, points, n);
}

void scene_box(Scene *s, PlotRect r, PlotColour c) {
	PlotPoint corners[4] = {{r.x0, r.y0}, {r.x1, r.y0}, {r.x1, r.y1}, {r.x0, r.y1}};
	scene_polygon(s, corners, 4, c);
}

void scene_markers(Scene *s, const PlotPoint *points, size_t n, PlotMarker m, double width,
                   PlotColour c) {
	if (!n || m == PLOT_MARKER_NONE) return;
	PlotPrimitive *p = add_points(s, PRIM_MARKERS, c, points, n);
	if (!p) return;
	p->marker = m;
	p->size = width;
}

static PlotPrimitive *add_text(Scene *s, const char *text, double x, double y, double size,
                               PlotAnchor anchor, PlotColour c) {
	if (!text || !*text) return NULL;
	PlotPoint at = {x, y};
	PlotPrimitive *p = add_points(s, PRIM_TEXT, c, &at, 1);
	if (!p) return NULL;
	p->text = plot_take_text(&s->arena, text, strlen(text));
	p->size = size;
	p->anchor = anchor;
	return p;
}

void scene_text(Scene *s, const char *text, double x, double y, double size, PlotAnchor anchor,
                PlotColour c) {
	add_text(s, text, x, y, size, anchor, c);
}

void scene_text_upright(Scene *s, const char *text, double x, double y, double size,
                        PlotAnchor anchor, PlotColour c) {
	scene_text_turned(s, text, x, y, size, anchor, 90, c);
}

void scene_text_turned(Scene *s, const char *text, double x, double y, double size,
                       PlotAnchor anchor, double angle, PlotColour c) {
	PlotPrimitive *p = add_text(s, text, x, y, size, anchor, c);
	if (p) p->angle = angle;
}

void scene_bold(Scene *s) {
	if (s->last && s->last->kind == PRIM_TEXT) s->last->bold = true;
}

double scene_text_width(const Scene *s, const char *text, double size) {
	if (!(s->cell > 0)) return font_width(text, size);
	PlotCursor cursor = {.at = text};
	int level, columns = 0;
	for (uint32_t c; (c = plot_next(&cursor, &level));) columns += plot_char_columns(c);
	return columns * s->cell;
}

void scene_image(Scene *s, PlotRect r, int width, int height, const uint8_t *index,
                 const PlotColour *palette) {
	PlotPrimitive *p = add(s, PRIM_IMAGE, (PlotColour){0, 0, 0, 255});
	if (!p) return;
	p->rect = r;
	p->width = width;
	p->height = height;
	p->index = index;
	p->palette = palette;
}

/* ---- shapes -------------------------------------------------------------- */

int plot_dash_pattern(PlotDash dash, double out[4]) {
	static const double dashed[4] = {4, 3.2, 4, 3.2}, dotted[4] = {0, 2.3, 0, 2.3},
						dash_dot[4] = {5, 2.8, 0, 2.8};
	const double *from = dash == PLOT_DASHED     ? dashed
	                     : dash == PLOT_DOTTED   ? dotted
	                     : dash == PLOT_DASH_DOT ? dash_dot
	                                             : NULL;
	if (!from) return 0;
	memcpy(out, from, 4 * sizeof *out);
	return 4;
}

int plot_marker_outline(PlotMarker m, PlotPoint out[PLOT_MARKER_CORNERS]) {
	/* The widths make all shapes look equally large. */
	static const PlotPoint square[4] = {{-0.44, -0.44}, {0.44, -0.44}, {0.44, 0.44}, {-0.44, 0.44}};
	static const PlotPoint diamond[4] = {{0, -0.62}, {0.62, 0}, {0, 0.62}, {-0.62, 0}};
	static const PlotPoint up[3] = {{0, -0.62}, {0.56, 0.38}, {-0.56, 0.38}};
	static const PlotPoint down[3] = {{0, 0.62}, {-0.56, -0.38}, {0.56, -0.38}};
	const PlotPoint *from = NULL;
	int n = 0;
	switch (m) {
	case PLOT_MARKER_SQUARE: from = square, n = 4; break;
	case PLOT_MARKER_DIAMOND: from = diamond, n = 4; break;
	case PLOT_MARKER_UP: from = up, n = 3; break;
	case PLOT_MARKER_DOWN: from = down, n = 3; break;
	case PLOT_MARKER_CIRCLE:
		n = PLOT_MARKER_CORNERS;
		for (int i = 0; i < n; i++)
			out[i] = (PlotPoint){0.5 * cos(2 * PLOT_PI * i / n), 0.5 * sin(2 * PLOT_PI * i / n)};
		return n;
	default: return 0;
	}
	memcpy(out, from, (size_t)n * sizeof *out);
	return n;
}

int plot_marker_bars(PlotMarker m, PlotPoint out[4]) {
	double r = m == PLOT_MARKER_PLUS ? 0.56 : 0.42;
	static const PlotPoint plus[4] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}},
						   cross[4] = {{-1, -1}, {1, 1}, {-1, 1}, {1, -1}};
	if (m != PLOT_MARKER_PLUS && m != PLOT_MARKER_CROSS) return 0;
	for (int i = 0; i < 4; i++) {
		PlotPoint p = m == PLOT_MARKER_PLUS ? plus[i] : cross[i];
		out[i] = (PlotPoint){p.x * r, p.y * r};
	}
	return 4;
}

double plot_marker_edge(double width) { return width >= 4 ? 0.8 : 0; }
