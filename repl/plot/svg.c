/* svg.c - SVG writer of a scene.
 *
 * Cairo's own SVG is not used. It draws letters as outlines, which nobody can
 * search or edit, and numbers its ids in each file (glyph0-1, clip1), so that
 * two pictures on one page clash.
 *
 * Needs: internal.h. Viewers that have the font of font.c place the text as in
 * the other formats.
 *
 * Guarantees:
 * - The output is well-formed XML in UTF-8.
 * - Strings are <text> elements, so they can be searched, edited and read
 *   aloud.
 * - Numbers have a point in every locale.
 * - Ids contain a hash of the contents, so that several pictures can share one
 *   page.
 */
#include "repl/plot/internal.h"

#include <string.h>

static void put_escaped(PlotBuffer *b, uint32_t c) {
	char utf8[4];
	switch (c) {
	case '<': plot_puts(b, "&lt;"); return;
	case '>': plot_puts(b, "&gt;"); return;
	case '&': plot_puts(b, "&amp;"); return;
	case '"': plot_puts(b, "&quot;"); return;
	default: plot_put(b, utf8, plot_utf8_write(c, utf8)); return;
	}
}

static void put_attribute(PlotBuffer *b, const char *name, double v, int decimals) {
	plot_put(b, " ", 1);
	plot_puts(b, name);
	plot_puts(b, "=\"");
	plot_put_fixed(b, v, decimals);
	plot_put(b, "\"", 1);
}

static void put_colour(PlotBuffer *b, const char *name, PlotColour c) {
	static const char hex[] = "0123456789abcdef";
	char text[8] = {'#',           hex[c.r >> 4], hex[c.r & 15], hex[c.g >> 4],
	                hex[c.g & 15], hex[c.b >> 4], hex[c.b & 15], 0};
	plot_put(b, " ", 1);
	plot_puts(b, name);
	plot_puts(b, "=\"");
	plot_puts(b, text);
	plot_put(b, "\"", 1);
	if (c.a == 255) return;
	plot_put(b, " ", 1);
	plot_puts(b, name);
	plot_puts(b, "-opacity=\"");
	plot_put_fixed(b, c.a / 255.0, 3);
	plot_put(b, "\"", 1);
}

static void put_point(PlotBuffer *b, PlotPoint p) {
	plot_put_fixed(b, p.x, 2);
	plot_put(b, ",", 1);
	plot_put_fixed(b, p.y, 2);
}

static void put_points(PlotBuffer *b, const PlotPrimitive *p) {
	plot_puts(b, " points=\"");
	for (size_t i = 0; i < p->n; i++) {
		if (i) plot_put(b, " ", 1);
		put_point(b, p->points[i]);
	}
	if (p->n == 1) { /* a dot: a line of length zero with round ends */
		plot_put(b, " ", 1);
		put_point(b, p->points[0]);
	}
	plot_put(b, "\"", 1);
}

static void write_line(PlotBuffer *b, const PlotPrimitive *p) {
	plot_puts(b, "<polyline fill=\"none\"");
	put_colour(b, "stroke", p->colour);
	put_attribute(b, "stroke-width", p->size, 2);
	double pattern[4];
	int parts = plot_dash_pattern(p->dash, pattern);
	if (parts) {
		plot_puts(b, " stroke-dasharray=\"");
		for (int i = 0; i < parts; i++) {
			if (i) plot_put(b, " ", 1);
			double length = pattern[i] * p->size;
			/* some viewers omit dashes of length zero */
			plot_put_fixed(b, length > 0.01 ? length : 0.01, 2);
		}
		plot_put(b, "\"", 1);
	}
	put_points(b, p);
	plot_puts(b, "/>\n");
}

/* Returns the next line if it is the outline of polygon `p`, so that one
 * element can draw both; else NULL. */
static const PlotPrimitive *edge_of(const PlotPrimitive *p) {
	const PlotPrimitive *q = p->next;
	if (!q || q->kind != PRIM_LINE || q->clip_number != p->clip_number || q->n != p->n + 1 ||
	    q->dash > PLOT_SOLID)
		return NULL;
	if (memcmp(q->points, p->points, p->n * sizeof *p->points) ||
	    memcmp(&q->points[p->n], p->points, sizeof *p->points))
		return NULL;
	return q;
}

/* Writes one or several rings, each closed; overlaps of two rings are holes. */
static void write_polygon(PlotBuffer *b, const PlotPrimitive *p, const PlotPrimitive *edge) {
	plot_puts(b, "<path");
	if (edge) {
		put_colour(b, "stroke", edge->colour);
		put_attribute(b, "stroke-width", edge->size, 2);
	} else {
		plot_puts(b, " fill-rule=\"evenodd\"");
	}
	put_colour(b, "fill", p->colour);
	plot_puts(b, " d=\"");
	bool start = true;
	for (size_t i = 0; i < p->n; i++) {
		if (p->points[i].x != p->points[i].x) {
			if (!start) plot_puts(b, "Z");
			start = true;
			continue;
		}
		plot_puts(b, start ? "M" : " ");
		put_point(b, p->points[i]);
		start = false;
	}
	plot_puts(b, start ? "\"/>\n" : "Z\"/>\n");
}

static void write_markers(PlotBuffer *b, const PlotPrimitive *p) {
	PlotPoint shape[PLOT_MARKER_CORNERS], bars[4];
	int corners = plot_marker_outline(p->marker, shape), ends = plot_marker_bars(p->marker, bars);
	plot_puts(b, "<g");
	if (corners) {
		put_colour(b, "fill", p->colour);
		double edge = plot_marker_edge(p->size);
		plot_puts(b, edge > 0 ? " stroke=\"#ffffff\"" : " stroke=\"none\"");
		if (edge > 0) put_attribute(b, "stroke-width", edge, 2);
	} else {
		plot_puts(b, " fill=\"none\"");
		put_colour(b, "stroke", p->colour);
		put_attribute(b, "stroke-width", 0.22 * p->size, 2);
	}
	plot_puts(b, ">\n");
	for (size_t k = 0; k < p->n; k++) {
		PlotPoint at = p->points[k];
		if (p->marker == PLOT_MARKER_CIRCLE) {
			plot_puts(b, "<circle");
			put_attribute(b, "cx", at.x, 2);
			put_attribute(b, "cy", at.y, 2);
			put_attribute(b, "r", p->size / 2, 2);
			plot_puts(b, "/>\n");
			continue;
		}
		plot_puts(b, "<path d=\"");
		const PlotPoint *from = corners ? shape : bars;
		for (int i = 0; i < (corners ? corners : ends); i++) {
			bool lift = corners ? i == 0 : i % 2 == 0;
			plot_puts(b, lift ? "M" : "L");
			put_point(b, (PlotPoint){at.x + from[i].x * p->size, at.y + from[i].y * p->size});
		}
		plot_puts(b, corners ? "Z\"/>\n" : "\"/>\n");
	}
	plot_puts(b, "</g>\n");
}

static void write_text(PlotBuffer *b, const PlotPrimitive *p) {
	PlotPoint at = p->points[0];
	plot_puts(b, "<text");
	put_attribute(b, "x", at.x, 2);
	put_attribute(b, "y", at.y, 2);
	put_attribute(b, "font-size", p->size, 2);
	if (p->anchor != ANCHOR_START)
		plot_puts(b,
		          p->anchor == ANCHOR_MIDDLE ? " text-anchor=\"middle\"" : " text-anchor=\"end\"");
	put_colour(b, "fill", p->colour);
	/* as the other formats do: letters of a bold font would be wider */
	if (p->bold) {
		put_colour(b, "stroke", p->colour);
		put_attribute(b, "stroke-width", FONT_BOLD * p->size, 2);
	}
	if (p->angle != 0) {
		plot_puts(b, " transform=\"rotate(");
		plot_put_fixed(b, -p->angle, 2);
		plot_puts(b, " ");
		plot_put_fixed(b, at.x, 2);
		plot_put(b, " ", 1);
		plot_put_fixed(b, at.y, 2);
		plot_puts(b, ")\"");
	}
	plot_puts(b, ">");
	PlotCursor cursor = {.at = p->text};
	int level, now = 0;
	bool open = false;
	double height = 0; /* current shift of the baseline */
	for (uint32_t c; (c = plot_next(&cursor, &level)); put_escaped(b, c)) {
		if (level == now) continue;
		double target = level > 0 ? FONT_RAISE * p->size : level < 0 ? -FONT_LOWER * p->size : 0;
		if (open) plot_puts(b, "</tspan>");
		plot_puts(b, "<tspan");
		put_attribute(b, "dy", height - target, 2);
		if (level) put_attribute(b, "font-size", FONT_SCRIPT * p->size, 2);
		plot_puts(b, ">");
		height = target;
		now = level;
		open = true;
	}
	if (open) plot_puts(b, "</tspan>");
	plot_puts(b, "</text>\n");
}

static void put_base64(PlotBuffer *b, const uint8_t *bytes, size_t n) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16 | (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
		                 (i + 2 < n ? bytes[i + 2] : 0u);
		char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
		                i + 1 < n ? digits[three >> 6 & 63] : '=',
		                i + 2 < n ? digits[three & 63] : '='};
		plot_put(b, four, 4);
	}
}

static void write_image(PlotBuffer *b, const PlotPrimitive *p) {
	PlotBuffer png = {.alloc = b->alloc};
	if (!png_encode(b->alloc, p->width, p->height, p->index, p->palette, &png)) b->failed = true;
	plot_puts(b, "<image");
	put_attribute(b, "x", p->rect.x0, 2);
	put_attribute(b, "y", p->rect.y0, 2);
	put_attribute(b, "width", p->rect.x1 - p->rect.x0, 2);
	put_attribute(b, "height", p->rect.y1 - p->rect.y0, 2);
	plot_puts(b, " preserveAspectRatio=\"none\" href=\"data:image/png;base64,");
	if (!b->failed) put_base64(b, (const uint8_t *)png.at, png.n);
	plot_puts(b, "\"/>\n");
	plot_buffer_free(&png);
}

/* Makes an eight-digit hash of all points of the scene. */
static void make_stamp(const Scene *s, char out[9]) {
	uint32_t h = 2166136261u;
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		const unsigned char *bytes = (const unsigned char *)p->points;
		for (size_t i = 0; bytes && i < p->n * sizeof *p->points; i++)
			h = (h ^ bytes[i]) * 16777619u;
	}
	for (int i = 0; i < 8; i++) out[i] = "0123456789abcdef"[h >> (28 - 4 * i) & 15];
	out[8] = 0;
}

static void write_clips(PlotBuffer *b, const Scene *s, const char *stamp) {
	int written = 0;
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		if (p->clip_number <= written) continue;
		written = p->clip_number;
		plot_puts(b, "<clipPath id=\"c");
		plot_put_int(b, written);
		plot_puts(b, "-");
		plot_puts(b, stamp);
		plot_puts(b, "\"><rect");
		put_attribute(b, "x", p->clip->x0, 2);
		put_attribute(b, "y", p->clip->y0, 2);
		put_attribute(b, "width", p->clip->x1 - p->clip->x0, 2);
		put_attribute(b, "height", p->clip->y1 - p->clip->y0, 2);
		plot_puts(b, "/></clipPath>\n");
	}
}

static void svg_write(const Scene *s, PlotBuffer *b) {
	char stamp[9];
	make_stamp(s, stamp);
	plot_puts(
		b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"");
	put_attribute(b, "width", s->width, 2);
	put_attribute(b, "height", s->height, 2);
	plot_puts(b, " viewBox=\"0 0 ");
	plot_put_fixed(b, s->width, 2);
	plot_puts(b, " ");
	plot_put_fixed(b, s->height, 2);
	plot_puts(b, "\" font-family=\"'" FONT_FAMILY "', 'Bitstream Vera Sans', Verdana, sans-serif\" "
	             "stroke-linecap=\"round\" stroke-linejoin=\"round\" xml:space=\"preserve\">\n");
	if (s->title && *s->title) {
		plot_puts(b, "<title>");
		PlotCursor cursor = {.at = s->title};
		int level;
		for (uint32_t c; (c = plot_next(&cursor, &level));) put_escaped(b, c);
		plot_puts(b, "</title>\n");
	}
	write_clips(b, s, stamp);
	plot_puts(b, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
	int clip = 0;
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		if (p->clip_number != clip) {
			if (clip) plot_puts(b, "</g>\n");
			clip = p->clip_number;
			if (clip) {
				plot_puts(b, "<g clip-path=\"url(#c");
				plot_put_int(b, clip);
				plot_puts(b, "-");
				plot_puts(b, stamp);
				plot_puts(b, ")\">\n");
			}
		}
		switch (p->kind) {
		case PRIM_LINE: write_line(b, p); break;
		case PRIM_POLYGON: {
			const PlotPrimitive *edge = edge_of(p);
			write_polygon(b, p, edge);
			if (edge) p = edge;
			break;
		}
		case PRIM_MARKERS: write_markers(b, p); break;
		case PRIM_TEXT: write_text(b, p); break;
		case PRIM_IMAGE: write_image(b, p); break;
		}
	}
	if (clip) plot_puts(b, "</g>\n");
	plot_puts(b, "</svg>\n");
}

static const char *write_drawing(Scene *s, PlotBuffer *out) {
	svg_write(s, out);
	return NULL;
}

PlotStatus figure_write_svg(Figure *f, const char *path) {
	return figure_write_drawing(f, path, write_drawing);
}
