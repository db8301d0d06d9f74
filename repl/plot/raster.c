/* raster.c - rasteriser with anti-aliasing.
 *
 * Method: every primitive is drawn into a coverage mask (0 to 255), which then
 * blends its colour over the picture.
 * - Strokes: the coverage follows from the distance of the pixel's centre to
 *   the centre line. The largest value wins, so joints, ends and dots are round
 *   and seamless.
 * - Polygons: the covered area in sixteen slices of each pixel row.
 *
 * Needs: internal.h, a scene with coordinates near the picture, as layout makes
 * it.
 *
 * Guarantees:
 * - Nothing is written outside the picture or a primitive's clip.
 * - A line covers each pixel once, even where it crosses itself.
 * - The cost is proportional to the pixels near ink.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct PixelRect {
	int x0, y0, x1, y1; /* x1, y1 excluded */
} PixelRect;

typedef struct Brush {
	Raster *r;
	double scale_x, scale_y;
	uint8_t *mask; /* zero outside `dirty` */
	float *row;    /* width + 1, zero between uses */
	PixelRect clip, dirty;
	double half; /* half the width of the current stroke, in pixels */
	PlotArena *arena;
	double *cross; /* crossings of a polygon's edges with the slices of rows */
	size_t crossings, *start, slices;
} Brush;

static int pixel_floor(double v) { return (int)floor(plot_clamp(v, -1e8, 1e8)); }

static PixelRect brush_clip(const Brush *b, const PlotRect *clip) {
	PixelRect all = {0, 0, b->r->width, b->r->height};
	if (!clip) return all;
	PixelRect a = {
		pixel_floor(clip->x0 * b->scale_x + 0.5), pixel_floor(clip->y0 * b->scale_y + 0.5),
		pixel_floor(clip->x1 * b->scale_x + 0.5), pixel_floor(clip->y1 * b->scale_y + 0.5)};
	if (a.x0 < 0) a.x0 = 0;
	if (a.y0 < 0) a.y0 = 0;
	if (a.x1 > all.x1) a.x1 = all.x1;
	if (a.y1 > all.y1) a.y1 = all.y1;
	return a;
}

static void brush_touch(Brush *b, int x0, int y0, int x1, int y1) {
	if (x0 < b->dirty.x0) b->dirty.x0 = x0;
	if (y0 < b->dirty.y0) b->dirty.y0 = y0;
	if (x1 > b->dirty.x1) b->dirty.x1 = x1;
	if (y1 > b->dirty.y1) b->dirty.y1 = y1;
}

/* Blends the colour through the mask and clears the mask. */
static void brush_apply(Brush *b, PlotColour c) {
	for (int y = b->dirty.y0; y < b->dirty.y1; y++) {
		uint8_t *mask = b->mask + (size_t)y * (size_t)b->r->width;
		uint8_t *rgb = b->r->rgb + 3 * (size_t)y * (size_t)b->r->width;
		for (int x = b->dirty.x0; x < b->dirty.x1; x++) {
			int a = mask[x];
			if (!a) continue;
			mask[x] = 0;
			if (c.a != 255) a = (a * c.a + 127) / 255;
			uint8_t *p = rgb + 3 * (size_t)x;
			p[0] = (uint8_t)((p[0] * (255 - a) + c.r * a + 127) / 255);
			p[1] = (uint8_t)((p[1] * (255 - a) + c.g * a + 127) / 255);
			p[2] = (uint8_t)((p[2] * (255 - a) + c.b * a + 127) / 255);
		}
	}
	b->dirty = (PixelRect){b->r->width, b->r->height, 0, 0};
}

/* ---- strokes ------------------------------------------------------------- */

/* Draws a segment of a stroke; p and q are in pixels. */
static void brush_piece(Brush *b, PlotPoint p, PlotPoint q) {
	double half = b->half, reach = half + 0.5;
	if (!(fabs(p.x) < 1e7 && fabs(p.y) < 1e7 && fabs(q.x) < 1e7 && fabs(q.y) < 1e7)) return;
	double dx = q.x - p.x, dy = q.y - p.y, length2 = dx * dx + dy * dy;
	int y0 = pixel_floor(plot_min(p.y, q.y) - reach),
		y1 = pixel_floor(plot_max(p.y, q.y) + reach) + 1;
	if (y0 < b->clip.y0) y0 = b->clip.y0;
	if (y1 > b->clip.y1) y1 = b->clip.y1;
	for (int y = y0; y < y1; y++) {
		/* The part of the segment within reach of this row, and from it the
		 * range of columns. */
		double cy = y + 0.5, ta = 0, tb = 1;
		if (fabs(dy) > 1e-9) {
			double t0 = (cy - reach - p.y) / dy, t1 = (cy + reach - p.y) / dy;
			ta = plot_max(0, plot_min(t0, t1));
			tb = plot_min(1, plot_max(t0, t1));
			if (ta > tb) continue;
		}
		double xa = p.x + ta * dx, xb = p.x + tb * dx;
		int x0 = pixel_floor(plot_min(xa, xb) - reach),
			x1 = pixel_floor(plot_max(xa, xb) + reach) + 1;
		if (x0 < b->clip.x0) x0 = b->clip.x0;
		if (x1 > b->clip.x1) x1 = b->clip.x1;
		if (x0 >= x1) continue;
		uint8_t *mask = b->mask + (size_t)y * (size_t)b->r->width;
		for (int x = x0; x < x1; x++) {
			double px = x + 0.5 - p.x, py = cy - p.y;
			double t = length2 > 0 ? plot_clamp((px * dx + py * dy) / length2, 0, 1) : 0;
			double ex = px - t * dx, ey = py - t * dy, d2 = ex * ex + ey * ey;
			if (d2 >= reach * reach) continue;
			double d = sqrt(d2);
			double cover = plot_min(d + 0.5, half) - plot_max(d - 0.5, -half);
			if (cover <= 0) continue;
			uint8_t level = cover >= 1 ? 255 : (uint8_t)(cover * 255 + 0.5);
			if (level > mask[x]) mask[x] = level;
		}
		brush_touch(b, x0, y, x1, y + 1);
	}
}

static PlotPoint to_pixels(const Brush *b, PlotPoint p) {
	return (PlotPoint){p.x * b->scale_x, p.y * b->scale_y};
}

static void draw_dashes(Brush *b, const PlotPrimitive *p, const double *pattern, int parts) {
	int part = 0;
	double left = pattern[0] * p->size; /* of the current ink or gap */
	PlotPoint at = p->points[0];
	if (left <= 0) brush_piece(b, to_pixels(b, at), to_pixels(b, at));
	for (size_t i = 1; i < p->n; i++) {
		double dx = p->points[i].x - at.x, dy = p->points[i].y - at.y, rest = hypot(dx, dy);
		if (!(rest > 0)) continue;
		double ux = dx / rest, uy = dy / rest;
		while (rest > 0) {
			double step = plot_min(rest, left);
			PlotPoint to = {at.x + ux * step, at.y + uy * step};
			if (part % 2 == 0) brush_piece(b, to_pixels(b, at), to_pixels(b, to));
			at = to;
			rest -= step;
			left -= step;
			if (left > 1e-9) continue;
			part = (part + 1) % parts;
			left = pattern[part] * p->size;
			if (left <= 0) { /* a dot */
				brush_piece(b, to_pixels(b, at), to_pixels(b, at));
				part = (part + 1) % parts;
				left = plot_max(pattern[part] * p->size, 1e-3);
			}
		}
		at = p->points[i];
	}
}

static void draw_line(Brush *b, const PlotPrimitive *p) {
	double pattern[4];
	int parts = plot_dash_pattern(p->dash, pattern);
	b->half = p->size * sqrt(b->scale_x * b->scale_y) / 2;
	if (p->n == 1) brush_piece(b, to_pixels(b, p->points[0]), to_pixels(b, p->points[0]));
	else if (parts && p->size > 0) draw_dashes(b, p, pattern, parts);
	else
		for (size_t i = 1; i < p->n; i++)
			brush_piece(b, to_pixels(b, p->points[i - 1]), to_pixels(b, p->points[i]));
	brush_apply(b, p->colour);
}

/* ---- polygons ------------------------------------------------------------ */

#define SLICES 16

/* Adds the length of [x0, x1] to each pixel of the row. */
static void add_run(Brush *b, double x0, double x1, float weight) {
	x0 = plot_clamp(x0, b->clip.x0, b->clip.x1);
	x1 = plot_clamp(x1, b->clip.x0, b->clip.x1);
	if (!(x1 > x0)) return;
	int first = (int)x0, last = (int)x1;
	if (first == last) {
		b->row[first] += weight * (float)(x1 - x0);
		return;
	}
	b->row[first] += weight * (float)(first + 1 - x0);
	for (int x = first + 1; x < last; x++) b->row[x] += weight;
	b->row[last] += weight * (float)(x1 - last);
}

/* Gets the slices whose centres the edge crosses, counted from slice 0 of row
 * y0 and clamped to [0, slices). */
static bool edge_slices(PlotPoint p, PlotPoint q, int y0, int slices, int *from, int *to) {
	double low = plot_min(p.y, q.y), high = plot_max(p.y, q.y);
	/* last excluded */
	double first = ceil((low - y0) * SLICES - 0.5), last = ceil((high - y0) * SLICES - 0.5);
	*from = (int)plot_clamp(first, 0, slices);
	*to = (int)plot_clamp(last, 0, slices);
	return *from < *to;
}

/* Iterates over the edges of all rings: returns the end of the edge from point
 * i. */
static size_t ring_next(const PlotPoint *at, size_t n, size_t i, size_t *start) {
	if (i + 1 < n && at[i + 1].x == at[i + 1].x) return i + 1;
	size_t back = *start;
	*start = i + 2;
	return back;
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Provides memory for the crossings of a polygon; it is reused by later
 * polygons. */
static bool crossing_room(Brush *b, size_t crossings, size_t slices) {
	if (crossings > b->crossings) {
		double *more = plot_take(b->arena, 2 * crossings, sizeof *more);
		if (!more) return false;
		b->cross = more;
		b->crossings = 2 * crossings;
	}
	if (slices + 1 > b->slices) {
		size_t *more = plot_take(b->arena, 2 * slices + 2, sizeof *more);
		if (!more) return false;
		b->start = more;
		b->slices = 2 * slices + 2;
	}
	return true;
}

static void fill_polygon(Brush *b, const PlotPoint *at, size_t n) {
	double top = INFINITY, bottom = -INFINITY, left = INFINITY, right = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		if (at[i].x != at[i].x) continue;
		top = plot_min(top, at[i].y);
		bottom = plot_max(bottom, at[i].y);
		left = plot_min(left, at[i].x);
		right = plot_max(right, at[i].x);
	}
	if (!(top <= bottom)) return;
	int y0 = pixel_floor(top), y1 = pixel_floor(bottom) + 1;
	int x0 = pixel_floor(left), x1 = pixel_floor(right) + 1;
	if (y0 < b->clip.y0) y0 = b->clip.y0;
	if (y1 > b->clip.y1) y1 = b->clip.y1;
	if (x0 < b->clip.x0) x0 = b->clip.x0;
	if (x1 > b->clip.x1) x1 = b->clip.x1;
	if (x0 >= x1 || y0 >= y1) return;

	/* Sorts the crossings into slices by counting sort. */
	int slices = (y1 - y0) * SLICES, from, to;
	size_t total = 0, first = 0;
	for (size_t i = 0; i < n; i++) {
		if (at[i].x != at[i].x) {
			first = i + 1;
			continue;
		}
		if (edge_slices(at[i], at[ring_next(at, n, i, &first)], y0, slices, &from, &to))
			total += (size_t)(to - from);
	}
	if (!total || !crossing_room(b, total, (size_t)slices)) return;
	memset(b->start, 0, ((size_t)slices + 1) * sizeof *b->start);
	for (int pass = 0; pass < 2; pass++) {
		first = 0;
		for (size_t i = 0; i < n; i++) {
			if (at[i].x != at[i].x) {
				first = i + 1;
				continue;
			}
			PlotPoint p = at[i], q = at[ring_next(at, n, i, &first)];
			if (!edge_slices(p, q, y0, slices, &from, &to)) continue;
			for (int k = from; k < to; k++) {
				if (!pass) {
					b->start[k + 1]++;
					continue;
				}
				double y = y0 + (k + 0.5) / SLICES;
				b->cross[b->start[k]++] = p.x + (y - p.y) / (q.y - p.y) * (q.x - p.x);
			}
		}
		if (!pass)
			for (int k = 0; k < slices; k++) b->start[k + 1] += b->start[k];
	}
	size_t before = 0; /* start[k] is now the end of slice k */
	for (int y = y0; y < y1; y++) {
		for (int k = (y - y0) * SLICES; k < (y - y0 + 1) * SLICES; k++) {
			size_t count = b->start[k] - before;
			double *x = b->cross + before;
			before = b->start[k];
			if (count == 2) {
				add_run(b, plot_min(x[0], x[1]), plot_max(x[0], x[1]), 1.0f / SLICES);
				continue;
			}
			if (count > 2) qsort(x, count, sizeof *x, by_value);
			for (size_t i = 0; i + 1 < count; i += 2) add_run(b, x[i], x[i + 1], 1.0f / SLICES);
		}
		uint8_t *mask = b->mask + (size_t)y * (size_t)b->r->width;
		for (int x = x0; x < x1; x++) {
			float cover = b->row[x];
			uint8_t level = cover >= 1 ? 255 : (uint8_t)(cover * 255 + 0.5f);
			if (level > mask[x]) mask[x] = level;
		}
		memset(b->row + x0, 0, (size_t)(x1 - x0 + 1) * sizeof *b->row);
	}
	brush_touch(b, x0, y0, x1, y1);
}

static void draw_polygon(Brush *b, const PlotPrimitive *p, PlotArena *arena) {
	PlotPoint *at = plot_take(arena, p->n, sizeof *at);
	if (!at) return;
	for (size_t i = 0; i < p->n; i++) at[i] = to_pixels(b, p->points[i]);
	fill_polygon(b, at, p->n);
	brush_apply(b, p->colour);
}

/* Draws a filled shape with a white outline that separates overlapping
 * markers. */
static void draw_outline(Brush *b, PlotPoint middle, double size, double edge,
                         const PlotPoint *shape, int corners, PlotColour c) {
	PlotPoint at[PLOT_MARKER_CORNERS];
	for (int i = 0; i < corners; i++)
		at[i] = (PlotPoint){middle.x + shape[i].x * size, middle.y + shape[i].y * size};
	fill_polygon(b, at, (size_t)corners);
	brush_apply(b, c);
	if (!(edge > 0)) return;
	b->half = edge / 2;
	for (int i = 0; i < corners; i++) brush_piece(b, at[i], at[i + 1 < corners ? i + 1 : 0]);
	brush_apply(b, (PlotColour){255, 255, 255, 255});
}

/* The same for a circle, as two brush dots, which is faster. */
static void draw_circle(Brush *b, PlotPoint middle, double size, double edge, PlotColour c) {
	if (edge > 0) {
		b->half = (size + edge) / 2;
		brush_piece(b, middle, middle);
		brush_apply(b, (PlotColour){255, 255, 255, 255});
	}
	b->half = (size - edge) / 2;
	brush_piece(b, middle, middle);
	brush_apply(b, c);
}

static void draw_markers(Brush *b, const PlotPrimitive *p) {
	PlotPoint shape[PLOT_MARKER_CORNERS], bars[4];
	int corners = plot_marker_outline(p->marker, shape), ends = plot_marker_bars(p->marker, bars);
	double scale = sqrt(b->scale_x * b->scale_y), size = p->size * scale,
		   edge = plot_marker_edge(p->size) * scale;
	for (size_t k = 0; k < p->n; k++) {
		PlotPoint middle = to_pixels(b, p->points[k]);
		if (!(fabs(middle.x) < 1e7 && fabs(middle.y) < 1e7)) continue;
		if (p->marker == PLOT_MARKER_CIRCLE) draw_circle(b, middle, size, edge, p->colour);
		else if (corners) draw_outline(b, middle, size, edge, shape, corners, p->colour);
		for (int i = 0; i + 1 < ends; i += 2) {
			PlotPoint from = {middle.x + bars[i].x * size, middle.y + bars[i].y * size};
			PlotPoint to = {middle.x + bars[i + 1].x * size, middle.y + bars[i + 1].y * size};
			b->half = 0.22 * size / 2;
			brush_piece(b, from, to);
		}
		if (ends) brush_apply(b, p->colour);
	}
}

/* ---- texts and images ---------------------------------------------------- */

typedef struct TextBrush {
	Brush *brush;
	PlotPoint origin; /* in pixels */
	double scale;
	double across, along; /* cosine and sine of the angle of rotation */
	double half;          /* half the thickness of normal letters, in pixels */
} TextBrush;

static void text_piece(void *ud, PlotPoint a, PlotPoint b, double weight) {
	TextBrush *t = ud;
	t->brush->half = plot_max(t->half * weight, 0.45); /* keeps small text dark enough */
	PlotPoint p = {a.x * t->scale, a.y * t->scale}, q = {b.x * t->scale, b.y * t->scale};
	p = (PlotPoint){p.x * t->across + p.y * t->along, p.y * t->across - p.x * t->along};
	q = (PlotPoint){q.x * t->across + q.y * t->along, q.y * t->across - q.x * t->along};
	brush_piece(t->brush, (PlotPoint){t->origin.x + p.x, t->origin.y + p.y},
	            (PlotPoint){t->origin.x + q.x, t->origin.y + q.y});
}

static void draw_text(Brush *b, const PlotPrimitive *p) {
	double scale = sqrt(b->scale_x * b->scale_y), width = font_width(p->text, p->size);
	double shift = p->anchor == ANCHOR_MIDDLE ? width / 2 : p->anchor == ANCHOR_END ? width : 0;
	double angle = p->angle * PLOT_PI / 180;
	TextBrush t = {.brush = b,
	               .origin = to_pixels(b, p->points[0]),
	               .scale = scale,
	               .across = cos(angle),
	               .along = sin(angle),
	               .half = p->size * (p->bold ? FONT_STEM_BOLD : FONT_STEM) * scale / 2};
	/* Puts the baseline on a pixel boundary, so that the feet of letters are
	 * sharp. */
	if (p->angle == 90) {
		t.across = 0;
		t.origin.x = floor(t.origin.x + 0.5);
	} else if (p->angle == 0) {
		t.origin.y = floor(t.origin.y + 0.5);
	}
	t.origin.x -= shift * scale * t.across;
	t.origin.y += shift * scale * t.along;
	font_strokes(p->text, p->size, scale, text_piece, &t);
	brush_apply(b, p->colour);
}

static void draw_image(Brush *b, const PlotPrimitive *p) {
	double x0 = p->rect.x0 * b->scale_x, x1 = p->rect.x1 * b->scale_x;
	double y0 = p->rect.y0 * b->scale_y, y1 = p->rect.y1 * b->scale_y;
	PixelRect a = brush_clip(b, &p->rect);
	for (int y = a.y0; y < a.y1; y++) {
		if (y < b->clip.y0 || y >= b->clip.y1) continue;
		int row = (int)plot_clamp((y + 0.5 - y0) / (y1 - y0) * p->height, 0, p->height - 1);
		const uint8_t *index = p->index + (size_t)row * (size_t)p->width;
		for (int x = a.x0; x < a.x1; x++) {
			if (x < b->clip.x0 || x >= b->clip.x1) continue;
			int column = (int)plot_clamp((x + 0.5 - x0) / (x1 - x0) * p->width, 0, p->width - 1);
			PlotColour c = p->palette[index[column]];
			if (!c.a) continue;
			uint8_t *rgb = b->r->rgb + 3 * ((size_t)y * (size_t)b->r->width + (size_t)x);
			rgb[0] = c.r;
			rgb[1] = c.g;
			rgb[2] = c.b;
		}
	}
}

bool raster_scene(const Scene *s, int width, int height, PlotArena *arena, Raster *out) {
	size_t pixels = (size_t)width * (size_t)height;
	*out = (Raster){width, height, plot_take(arena, pixels, 3)};
	Brush b = {
		.r = out, .arena = arena, .scale_x = width / s->width, .scale_y = height / s->height};
	b.mask = plot_take(arena, pixels, 1);
	b.row = plot_take(arena, (size_t)width + 2, sizeof *b.row);
	if (!out->rgb || !b.mask || !b.row) return false;
	memset(out->rgb, 255, 3 * pixels);
	b.dirty = (PixelRect){width, height, 0, 0};
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		b.clip = brush_clip(&b, p->clip);
		switch (p->kind) {
		case PRIM_LINE: draw_line(&b, p); break;
		case PRIM_POLYGON: draw_polygon(&b, p, arena); break;
		case PRIM_MARKERS: draw_markers(&b, p); break;
		case PRIM_TEXT: draw_text(&b, p); break;
		case PRIM_IMAGE: draw_image(&b, p); break;
		}
	}
	return !arena->failed;
}
