/* marks.c - drawing of the layers of a flat panel.
 *
 * Draws bands, bars, error bars, stems, rules, arrows, areas, text, and markers
 * coloured by value.
 *
 * Needs: internal.h, a PanelBox from layout.c.
 *
 * Guarantees:
 * - Gaps are omitted. A shape with a value that a log axis cannot show ends at
 *   the edge of the plot.
 * - Everything but text is clipped to the plot.
 * - The cost is linear in the number of samples.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <string.h>

#define CAP 3.2          /* half the length of an error bar's end cap */
#define LEAST_EDGE 5.0   /* narrower bars have no white edges */
#define ARROW_APART 17.0 /* spacing of the arrows of a grid; closer ones are thinned */
#define ARROW_SHARE 0.95 /* longest arrow over the spacing of the arrows */
#define LEAST_ARROW 1.2  /* shorter arrows are dots */

PlotColour draw_colour(const PlotItem *it, double usual_opacity) {
	PlotColour c = plot_series_colour(it->colour);
	double opacity = it->s.opacity > 0 ? it->s.opacity : usual_opacity;
	c.a = (uint8_t)(plot_clamp(opacity, 0, 1) * 255 + 0.5);
	return c;
}

/* Returns the position of a value along one axis. Values that a log axis cannot
 * show are placed beyond its low end. */
static double place_along(const PanelBox *box, PlotAxis axis, double v) {
	const PlotRect *r = &box->plot;
	const PlotSpan *s = &box->axes.axis[axis];
	double u = span_place(s, v);
	if (u != u && s->log && v <= 0) u = s->turned ? 1.05 : -0.05;
	return axis == PLOT_X ? r->x0 + u * (r->x1 - r->x0) : r->y1 - u * (r->y1 - r->y0);
}

static double on_pixel(const Scene *s, double v) {
	return floor(plot_clamp(v, -1e7, 1e7) * s->resolution + 0.5) / s->resolution;
}

static void draw_bars(Scene *s, const PanelBox *box, const PlotItem *it) {
	PlotColour c = draw_colour(it, 1), white = {255, 255, 255, 255};
	bool sideways = it->more.sideways, below = false;
	for (size_t i = 0; i < it->s.n; i++) {
		double at = sideways ? item_y(it, i) : item_x(it, i),
			   value = sideways ? item_x(it, i) : item_y(it, i);
		double half = bar_width(it, i) / 2, base = bar_base(it, i);
		if (!plot_usable(at) || !plot_usable(value) || !plot_usable(base)) continue;
		PlotAxis along = sideways ? PLOT_Y : PLOT_X, up = sideways ? PLOT_X : PLOT_Y;
		double a0 = place_along(box, along, at - half), a1 = place_along(box, along, at + half);
		double v0 = place_along(box, up, base), v1 = place_along(box, up, value);
		PlotRect r = sideways ? (PlotRect){plot_min(v0, v1), plot_min(a0, a1), plot_max(v0, v1),
		                                   plot_max(a0, a1)}
		                      : (PlotRect){plot_min(a0, a1), plot_min(v0, v1), plot_max(a0, a1),
		                                   plot_max(v0, v1)};
		if (!(r.x1 >= r.x0 && r.y1 >= r.y0)) continue;
		/* Edges on whole pixels leave no seam between adjacent bars. */
		if (sideways) r.y0 = on_pixel(s, r.y0), r.y1 = on_pixel(s, r.y1);
		else r.x0 = on_pixel(s, r.x0), r.x1 = on_pixel(s, r.x1);
		scene_box(s, r, c);
		below = below || value < base;
		if (fabs(a1 - a0) < LEAST_EDGE || c.a < 255) continue;
		PlotPoint edge[5] = {{r.x0, r.y0}, {r.x1, r.y0}, {r.x1, r.y1}, {r.x0, r.y1}, {r.x0, r.y0}};
		scene_line(s, edge, 5, 0.7, white, PLOT_SOLID);
	}
	if (!below) return;
	double zero = place_along(box, sideways ? PLOT_X : PLOT_Y, it->more.base);
	const PlotRect *r = &box->plot;
	if (zero != zero) return;
	if (sideways) scene_segment(s, zero, r->y0, zero, r->y1, 0.8, (PlotColour){48, 48, 52, 255});
	else scene_segment(s, r->x0, zero, r->x1, zero, 0.8, (PlotColour){48, 48, 52, 255});
}

static void draw_errors(Scene *s, const PanelBox *box, const PlotItem *it) {
	PlotColour c = draw_colour(it, 1);
	const PlotLayer *m = &it->more;
	const double width = 1.1;
	for (size_t i = 0; i < it->s.n; i++) {
		double x = item_x(it, i), y = item_y(it, i);
		PlotPoint p = draw_place(box, x, y);
		if (draw_is_gap(p)) continue;
		if (m->a || m->b) {
			double low = place_along(box, PLOT_Y, y - (m->a ? m->a[i] : 0)),
				   high = place_along(box, PLOT_Y, y + (m->b ? m->b[i] : 0));
			if (low == low && high == high) {
				scene_segment(s, p.x, low, p.x, high, width, c);
				if (m->a && m->a[i] > 0) scene_segment(s, p.x - CAP, low, p.x + CAP, low, width, c);
				if (m->b && m->b[i] > 0)
					scene_segment(s, p.x - CAP, high, p.x + CAP, high, width, c);
			}
		}
		if (m->c || m->d) {
			double low = place_along(box, PLOT_X, x - (m->c ? m->c[i] : 0)),
				   high = place_along(box, PLOT_X, x + (m->d ? m->d[i] : 0));
			if (low == low && high == high) {
				scene_segment(s, low, p.y, high, p.y, width, c);
				if (m->c && m->c[i] > 0) scene_segment(s, low, p.y - CAP, low, p.y + CAP, width, c);
				if (m->d && m->d[i] > 0)
					scene_segment(s, high, p.y - CAP, high, p.y + CAP, width, c);
			}
		}
	}
}

static void draw_stems(Scene *s, const PanelBox *box, const PlotItem *it) {
	PlotColour c = draw_colour(it, 1);
	double base = place_along(box, PLOT_Y, it->more.base), left = INFINITY, right = -INFINITY;
	for (size_t i = 0; i < it->s.n; i++) {
		PlotPoint p = draw_place(box, item_x(it, i), item_y(it, i));
		if (draw_is_gap(p)) continue;
		left = plot_min(left, p.x);
		right = plot_max(right, p.x);
		scene_segment(s, p.x, base, p.x, p.y, 1.2, c);
	}
	if (left <= right)
		scene_segment(s, left, base, right, base, 0.9, (PlotColour){120, 120, 126, 255});
}

static void draw_rules(Scene *s, const PanelBox *box, const PlotItem *it) {
	const PlotRect *r = &box->plot;
	bool down = it->s.x != NULL;
	for (size_t i = 0; i < it->s.n; i++) {
		double v = down ? it->s.x[i] : it->s.y[i], at = place_along(box, down ? PLOT_X : PLOT_Y, v);
		if (it->more.a) {
			double to = place_along(box, down ? PLOT_X : PLOT_Y, it->more.a[i]);
			if (at != at || to != to) continue;
			scene_box(s,
			          down ? (PlotRect){plot_min(at, to), r->y0, plot_max(at, to), r->y1}
			               : (PlotRect){r->x0, plot_min(at, to), r->x1, plot_max(at, to)},
			          draw_colour(it, 0.16));
			continue;
		}
		if (at != at || (box->axes.axis[down ? PLOT_X : PLOT_Y].log && !(v > 0))) continue;
		PlotPoint ends[2] = {{down ? at : r->x0, down ? r->y0 : at},
		                     {down ? at : r->x1, down ? r->y1 : at}};
		scene_line(s, ends, 2, it->s.width > 0 ? it->s.width : 1.1, draw_colour(it, 1), it->dash);
	}
}

static void draw_area(Scene *s, const PanelBox *box, const PlotItem *it) {
	PlotPoint *at = plot_take(&s->arena, it->s.n + 1, sizeof *at);
	size_t n = 0;
	if (!at) return;
	for (size_t i = 0; i < it->s.n; i++) {
		PlotPoint p = draw_place(box, item_x(it, i), item_y(it, i));
		if (!draw_is_gap(p) || (n && !draw_is_gap(at[n - 1]))) at[n++] = p;
	}
	if (n >= 3) scene_polygon(s, at, n, draw_colour(it, 0.5));
}

/* ---- arrows -------------------------------------------------------------- */

void draw_arrow_head(Scene *s, PlotPoint from, PlotPoint to, double size, PlotColour c) {
	double dx = to.x - from.x, dy = to.y - from.y, length = hypot(dx, dy);
	if (!(length > 1e-9)) return;
	dx /= length;
	dy /= length;
	double half = 0.36 * size, notch = 0.78 * size;
	PlotPoint at[4] = {to,
	                   {to.x - size * dx - half * dy, to.y - size * dy + half * dx},
	                   {to.x - notch * dx, to.y - notch * dy},
	                   {to.x - size * dx + half * dy, to.y - size * dy - half * dx}};
	scene_polygon(s, at, 4, c);
}

static void draw_one_arrow(Scene *s, PlotPoint from, PlotPoint to, double width, PlotColour c) {
	double length = hypot(to.x - from.x, to.y - from.y);
	if (!(length < 1e6)) return;
	if (length < LEAST_ARROW) {
		scene_line(s, &from, 1, width * 1.3, c, PLOT_SOLID);
		return;
	}
	double head = plot_min(6.5 + width, 0.45 * length + 1), back = 0.7 * head / length;
	scene_segment(s, from.x, from.y, to.x - back * (to.x - from.x), to.y - back * (to.y - from.y),
	              width, c);
	draw_arrow_head(s, from, to, head, c);
}

/* One arrow: its position in the plot and its components along the axes as
 * drawn, per data unit. */
typedef struct Vector {
	PlotPoint at;
	double u, v, value;
} Vector;

static void draw_arrows(Scene *s, const PanelBox *box, const PlotItem *it) {
	const PlotField *g = &it->more.grid;
	const PlotRect *r = &box->plot;
	size_t step_x = 1, step_y = 1, n = it->s.n;
	if (g->z) {
		double most_x = plot_max(2, (r->x1 - r->x0) / ARROW_APART),
			   most_y = plot_max(2, (r->y1 - r->y0) / ARROW_APART);
		step_x = (size_t)ceil((double)g->nx / most_x);
		step_y = (size_t)ceil((double)g->ny / most_y);
		n = ((g->nx - 1) / step_x + 1) * ((g->ny - 1) / step_y + 1);
	}
	Vector *list = plot_take(&s->arena, n + 1, sizeof *list);
	if (!list) return;
	size_t count = 0;
	double longest = 0;
	for (size_t k = 0; k < n; k++) {
		double x, y, u, v;
		if (g->z) {
			size_t across = (g->nx - 1) / step_x + 1, i = k % across * step_x,
				   j = k / across * step_y;
			/* half the remainder of the stride on each side */
			i += (g->nx - 1) % step_x / 2;
			j += (g->ny - 1) % step_y / 2;
			x = grid_x(g, i), y = grid_y(g, j), u = g->z[grid_at(g, i, j)],
			v = it->more.w[grid_at(g, i, j)];
		} else {
			x = item_x(it, k), y = item_y(it, k), u = it->more.a[k], v = it->more.b[k];
		}
		PlotPoint at = draw_place(box, x, y);
		if (draw_is_gap(at) || !draw_inside(r, at) || !plot_usable(u) || !plot_usable(v)) continue;
		list[count++] = (Vector){at, box->axes.axis[0].turned ? -u : u,
		                         box->axes.axis[1].turned ? v : -v, it->more.c ? it->more.c[k] : 0};
		longest = plot_max(longest, hypot(u, v));
	}
	if (!count || !(longest > 0)) return;
	double apart = sqrt((r->x1 - r->x0) * (r->y1 - r->y0) / (double)count);
	if (g->z)
		apart = plot_min(apart, plot_min((r->x1 - r->x0) * (double)step_x / (double)g->nx,
		                                 (r->y1 - r->y0) * (double)step_y / (double)g->ny));
	apart = plot_clamp(apart, 8, 60);
	double unit = it->more.scale > 0 ? 1 / it->more.scale : ARROW_SHARE * apart / longest;
	PlotColour map[256];
	plot_map_colours(box->axes.map, map);
	double width = it->s.width > 0 ? it->s.width : 1.15;
	for (size_t k = 0; k < count; k++) {
		const Vector *a = &list[k];
		PlotColour c = it->more.c ? map[plot_map_index(&box->axes.axis[PLOT_Z], a->value)]
		                          : draw_colour(it, 1);
		/* arrows of a grid are centred, others start at their points */
		PlotPoint half = {a->u * unit / 2, a->v * unit / 2};
		PlotPoint from = g->z ? (PlotPoint){a->at.x - half.x, a->at.y - half.y} : a->at;
		draw_one_arrow(s, from, (PlotPoint){from.x + 2 * half.x, from.y + 2 * half.y}, width, c);
	}
}

/* ---- text ---------------------------------------------------------------- */

static void draw_note(Scene *s, const PanelBox *box, const PlotItem *it) {
	double size = it->s.width > 0 ? it->s.width : plot_style.legend;
	for (size_t i = 0; i < it->s.n; i++) {
		PlotPoint p = draw_place(box, item_x(it, i), item_y(it, i));
		if (draw_is_gap(p) || !draw_inside(&box->plot, p)) continue;
		PlotColour c = draw_colour(it, 1);
		double width = scene_text_width(s, it->more.text, size),
			   shift = (1 - it->more.anchor) * width / 2;
		/* Keeps it inside the plot if possible. */
		double left = plot_clamp(p.x - width + shift, box->plot.x0 + 3,
		                         plot_max(box->plot.x0 + 3, box->plot.x1 - width - 3));
		double gap = it->more.anchor ? 4 * -it->more.anchor : 0, base = p.y + size * FONT_CAP / 2;
		base = plot_clamp(base, box->plot.y0 + size, box->plot.y1 - 4);
		if (it->more.a) {
			PlotPoint to = draw_place(box, it->more.a[i], it->more.b[i]);
			if (!draw_is_gap(to)) {
				/* The arrow starts at the edge of the text's box, towards the
				 * point. */
				PlotRect r = {left - 3, base - size * 0.95, left + width + 3, base + size * 0.3};
				PlotPoint from = {(r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2}, end = to, start = from;
				double dx = to.x - from.x, dy = to.y - from.y;
				double tx = dx != 0 ? (r.x1 - r.x0) / 2 / fabs(dx) : 1e9,
					   ty = dy != 0 ? (r.y1 - r.y0) / 2 / fabs(dy) : 1e9;
				double t = plot_min(tx, ty), length = hypot(dx, dy);
				start = (PlotPoint){from.x + t * dx, from.y + t * dy};
				if (length > 6) end = (PlotPoint){to.x - 3 * dx / length, to.y - 3 * dy / length};
				if (t < 1 && hypot(end.x - start.x, end.y - start.y) > 4)
					draw_one_arrow(s, start, end, 1, c);
			}
			gap = 0;
		}
		scene_text(s, it->more.text, left + gap, base, size, ANCHOR_START, c);
	}
}

/* ---- markers coloured by value ------------------------------------------- */

/* Draws markers grouped by colour and by rising value, so that the highest are
 * on top. */
static void draw_valued(Scene *s, const PanelBox *box, const PlotItem *it) {
	PlotColour map[256];
	plot_map_colours(box->axes.map, map);
	size_t n = it->s.n, start[257] = {0};
	uint8_t *index = plot_take(&s->arena, n + 1, 1);
	PlotPoint *at = plot_take(&s->arena, n + 1, sizeof *at);
	if (!index || !at) return;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i++) {
			PlotPoint p = draw_place(box, item_x(it, i), item_y(it, i));
			if (draw_is_gap(p) || !draw_inside(&box->plot, p)) continue;
			if (!pass) {
				index[i] = plot_map_index(&box->axes.axis[PLOT_Z], it->more.c[i]);
				if (index[i] == PLOT_MAP_OUTSIDE) index[i] = PLOT_MAP_MISSING;
				start[index[i] + 1]++;
			} else {
				at[start[index[i]]++] = p;
			}
		}
		for (int k = 0; !pass && k < 256; k++) start[k + 1] += start[k];
	}
	for (int k = 0; k < 256; k++) { /* start[k] is now the end of group k */
		size_t from = k ? start[k - 1] : 0;
		PlotColour c = map[k];
		c.a = draw_colour(it, 1).a;
		scene_markers(s, at + from, start[k] - from, it->marker, draw_marker_width(it), c);
	}
}

/* ---- all layers ---------------------------------------------------------- */

void draw_bodies(Scene *s, const PlotPanel *p, const PanelBox *whole) {
	PanelBox own;
	for (size_t i = 0; i < p->n; i++) {
		const PlotItem *it = &p->items[i];
		const PanelBox *box = draw_box(whole, it, &own);
		switch (it->kind) {
		case PLOT_LINE: draw_item_line(s, box, it); continue; /* these two clip by themselves */
		case PLOT_BAND: draw_item_band(s, box, it); continue;
		default: break;
		}
		scene_clip(s, &box->plot);
		switch (it->kind) {
		case PLOT_BARS: draw_bars(s, box, it); break;
		case PLOT_ERRORS: draw_errors(s, box, it); break;
		case PLOT_STEMS: draw_stems(s, box, it); break;
		case PLOT_RULES: draw_rules(s, box, it); break;
		case PLOT_ARROWS: draw_arrows(s, box, it); break;
		case PLOT_FLOW: flow_draw(s, box, it); break;
		case PLOT_CONTOURS: contour_draw(s, box, it); break;
		case PLOT_POLYGON: draw_area(s, box, it); break;
		default: break;
		}
		scene_clip(s, NULL);
	}
}

void draw_points(Scene *s, const PlotPanel *p, const PanelBox *whole) {
	PanelBox own;
	for (size_t i = 0; i < p->n; i++) {
		const PlotItem *it = &p->items[i];
		const PanelBox *box = draw_box(whole, it, &own);
		if (it->kind == PLOT_SCATTER && it->more.c) draw_valued(s, box, it);
		else if (it->kind == PLOT_LINE || it->kind == PLOT_SCATTER || it->kind == PLOT_STEMS ||
		         it->kind == PLOT_ERRORS)
			draw_item_markers(s, box, it);
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].kind == PLOT_TEXT)
			draw_note(s, draw_box(whole, &p->items[i], &own), &p->items[i]);
}
