/* draw.c - drawing of one panel into the scene.
 *
 * Draws field, lines, points, frame, ticks, text, legend and colour bar.
 *
 * Needs: internal.h, a PanelBox from layout.c.
 *
 * Guarantees:
 * - Lines are clipped first, so all coordinates are near the panel.
 * - A line of any number of samples becomes at most four points per half pixel
 *   column.
 * - Text stays in the room that layout.c reserved.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <string.h>

static const PlotColour ink = {24, 24, 28, 255}, frame_ink = {48, 48, 52, 255},
						grid_ink = {226, 226, 230, 255};
static const PlotColour faint_ink = {120, 120, 126, 255}, paper = {255, 255, 255, 230},
						border = {196, 196, 202, 255};

#define OUTSIDE 12.0       /* lines are clipped at this distance outside the plot */
#define LARGEST_IMAGE 3072 /* samples along one side of a field; pixels repeat beyond it */
#define ALL_MARKERS 60     /* a line with more samples shows only some markers */
#define MARKER_APART 16.0
#define CELL 5.0        /* of the grid that finds an empty place for the legend */
#define LEGEND_LINE 1.4 /* height of a line over the size of its text */
#define LEGEND_INSET 6.0

/* ---- fitting text -------------------------------------------------------- */

const char *draw_fit(Scene *s, const char *text, double *size, double room) {
	double width = scene_text_width(s, text, *size);
	if (width <= room) return text;
	double smaller = plot_max(0.72, room / width);
	*size *= smaller;
	if (width * smaller <= room * 1.0001) return text;
	/* Cuts before the last character at which the text and an ellipsis fit.
	 * Open markup groups are closed at the end. */
	static const char dots[] = "\xe2\x80\xa6";
	size_t n = strlen(text), keep = 0;
	char *copy = plot_take(&s->arena, n + sizeof dots, 1);
	if (!copy) return "";
	double limit = room - scene_text_width(s, dots, *size);
	for (const char *p = text; *p;) {
		plot_utf8(&p);
		size_t upto = (size_t)(p - text);
		memcpy(copy, text, upto);
		copy[upto] = 0;
		if (scene_text_width(s, copy, *size) > limit) break;
		keep = upto;
	}
	while (keep && (text[keep - 1] == ' ' || text[keep - 1] == '^' || text[keep - 1] == '{'))
		keep--;
	memcpy(copy, text, keep);
	memcpy(copy + keep, dots, sizeof dots);
	return copy;
}

/* ---- from data to positions ---------------------------------------------- */

const PanelBox *draw_box(const PanelBox *box, const PlotItem *it, PanelBox *own) {
	if (!it->more.right) return box;
	*own = *box;
	own->axes.axis[PLOT_Y] = box->axes.axis[PLOT_Y2];
	return own;
}

PlotPoint draw_place(const PanelBox *box, double x, double y) {
	const PlotRect *r = &box->plot;
	if (!plot_usable(x) || !plot_usable(y)) return (PlotPoint){NAN, NAN};
	return (PlotPoint){r->x0 + span_place(&box->axes.axis[PLOT_X], x) * (r->x1 - r->x0),
	                   r->y1 - span_place(&box->axes.axis[PLOT_Y], y) * (r->y1 - r->y0)};
}

bool draw_is_gap(PlotPoint p) { return p.x != p.x || p.y != p.y; }

bool draw_inside(const PlotRect *r, PlotPoint p) {
	return p.x >= r->x0 - 1e-6 && p.x <= r->x1 + 1e-6 && p.y >= r->y0 - 1e-6 && p.y <= r->y1 + 1e-6;
}

/* Clips the segment to the rectangle; false when nothing remains. */
static bool draw_clip(const PlotRect *r, PlotPoint *a, PlotPoint *b) {
	double t0 = 0, t1 = 1, dx = b->x - a->x, dy = b->y - a->y;
	const double step[4] = {-dx, dx, -dy, dy},
				 room[4] = {a->x - r->x0, r->x1 - a->x, a->y - r->y0, r->y1 - a->y};
	for (int i = 0; i < 4; i++) {
		if (step[i] == 0) {
			if (room[i] < 0) return false;
			continue;
		}
		double t = room[i] / step[i];
		if (step[i] < 0) t0 = plot_max(t0, t);
		else t1 = plot_min(t1, t);
	}
	if (t0 > t1) return false;
	PlotPoint from = *a;
	if (t1 < 1) *b = (PlotPoint){from.x + t1 * dx, from.y + t1 * dy};
	if (t0 > 0) *a = (PlotPoint){from.x + t0 * dx, from.y + t0 * dy};
	return true;
}

void draw_trace(const PanelBox *box, const PlotItem *it, PlotTrace to, void *ud) {
	PlotRect room = {box->plot.x0 - OUTSIDE, box->plot.y0 - OUTSIDE, box->plot.x1 + OUTSIDE,
	                 box->plot.y1 + OUTSIDE};
	PlotPoint before = {NAN, NAN};
	bool joined = false; /* the last point sent is `before` */
	for (size_t i = 0; i < it->s.n; i++) {
		PlotPoint now = draw_place(box, item_x(it, i), item_y(it, i));
		if (draw_is_gap(now)) {
			joined = false;
		} else if (draw_is_gap(before)) {
			joined = draw_inside(&room, now);
			if (joined) to(ud, now, true);
		} else {
			PlotPoint a = before, b = now;
			bool seen = draw_clip(&room, &a, &b);
			if (seen && !joined) to(ud, a, true);
			if (seen) to(ud, b, false);
			joined = seen && b.x == now.x && b.y == now.y;
		}
		before = now;
	}
}

/* ---- lines --------------------------------------------------------------- */

/* Collects runs of points. Of each narrow column it keeps the first, lowest,
 * highest and last point. */
typedef struct Runs {
	Scene *s;
	const PlotItem *it;
	PlotColour colour;
	double width, columns; /* columns per unit */
	PlotPoint *at;
	size_t n, cap;
	bool pending; /* a column is open */
	double column;
	PlotPoint first, low, high, last;
	bool low_first; /* the lowest came before the highest */
} Runs;

static void run_add(Runs *r, PlotPoint p) {
	if (r->n && r->at[r->n - 1].x == p.x && r->at[r->n - 1].y == p.y) return;
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 256;
		PlotPoint *more = plot_take(&r->s->arena, cap, sizeof *more);
		if (!more) return;
		if (r->n) memcpy(more, r->at, r->n * sizeof *more);
		r->at = more;
		r->cap = cap;
	}
	r->at[r->n++] = p;
}

static void run_close_column(Runs *r) {
	if (!r->pending) return;
	run_add(r, r->first);
	run_add(r, r->low_first ? r->low : r->high);
	run_add(r, r->low_first ? r->high : r->low);
	run_add(r, r->last);
	r->pending = false;
}

static void run_end(Runs *r) {
	run_close_column(r);
	if (r->n == 1) /* a sample between two gaps: a visible dot */
		scene_line(r->s, r->at, 1, 2.4 * r->width, r->colour, PLOT_SOLID);
	else if (r->n) scene_line(r->s, r->at, r->n, r->width, r->colour, r->it->dash);
	r->n = 0;
}

static void run_point(void *ud, PlotPoint p, bool start) {
	Runs *r = ud;
	if (start) run_end(r);
	double column = floor(p.x * r->columns);
	if (r->pending && column == r->column) {
		if (p.y < r->low.y) {
			r->low = p;
			r->low_first = false;
		}
		if (p.y > r->high.y) {
			r->high = p;
			r->low_first = true;
		}
		r->last = p;
		return;
	}
	run_close_column(r);
	r->pending = true;
	r->column = column;
	r->first = r->low = r->high = r->last = p;
	r->low_first = true;
}

double draw_line_width(const PlotItem *it) {
	if (it->dash == PLOT_NO_LINE || !(it->s.width > 0)) return plot_style.line;
	return plot_max(it->s.width, 0.1);
}

double draw_marker_width(const PlotItem *it) {
	if ((it->dash == PLOT_NO_LINE || it->kind == PLOT_STEMS || it->kind == PLOT_ERRORS) &&
	    it->s.width > 0)
		return plot_max(it->s.width, 0.5);
	/* A cloud of thousands of markers is clearer, and faster to draw, with
	 * small points. */
	if (it->dash == PLOT_NO_LINE && it->s.n > 800)
		return plot_max(2, plot_style.marker * sqrt(800.0 / (double)it->s.n));
	return plot_max(plot_style.marker, draw_line_width(it) * 2.6);
}

void draw_item_line(Scene *s, const PanelBox *box, const PlotItem *it) {
	if (it->dash == PLOT_NO_LINE) return;
	Runs r = {.s = s,
	          .it = it,
	          .colour = draw_colour(it, 1),
	          .width = draw_line_width(it),
	          .columns = 2 * s->resolution};
	scene_clip(s, &box->plot);
	draw_trace(box, it, run_point, &r);
	run_end(&r);
	scene_clip(s, NULL);
}

/* Draws the area between two edges; gaps divide it. Of each narrow column only
 * the extremes of both edges are kept. */
void draw_item_band(Scene *s, const PanelBox *box, const PlotItem *it) {
	Runs edge[2] = {{.s = s, .columns = 2 * s->resolution}, {.s = s, .columns = 2 * s->resolution}};
	PlotColour c = draw_colour(it, 0.3);
	scene_clip(s, &box->plot);
	for (size_t i = 0; i <= it->s.n; i++) {
		PlotPoint p = {NAN, NAN}, q = p;
		if (i < it->s.n) {
			double x = item_x(it, i), y = item_y(it, i), other = it->more.a[i];
			p = draw_place(box, x, y);
			q = it->more.sideways ? draw_place(box, other, y) : draw_place(box, x, other);
		}
		if (!draw_is_gap(p) && !draw_is_gap(q)) {
			run_point(&edge[0], p, false);
			run_point(&edge[1], q, false);
			continue;
		}
		run_close_column(&edge[0]);
		run_close_column(&edge[1]);
		for (size_t k = edge[1].n; k-- > 0;) run_add(&edge[0], edge[1].at[k]);
		if (edge[0].n >= 3) scene_polygon(s, edge[0].at, edge[0].n, c);
		edge[0].n = edge[1].n = 0;
	}
	scene_clip(s, NULL);
}

/* Draws the markers of samples inside the plot. Coincident markers are drawn
 * once. */
void draw_item_markers(Scene *s, const PanelBox *box, const PlotItem *it) {
	if (it->marker == PLOT_MARKER_NONE) return;
	const PlotRect *r = &box->plot;
	bool sparse = it->kind == PLOT_LINE && it->dash != PLOT_NO_LINE && it->s.n > ALL_MARKERS;
	size_t across = (size_t)((r->x1 - r->x0) * 2) + 3, down = (size_t)((r->y1 - r->y0) * 2) + 3,
		   n = 0, cap = 0;
	uint8_t *seen = plot_take(&s->arena, across * down / 8 + 1, 1);
	PlotPoint *at = NULL, last = {-1e9, -1e9};
	for (size_t i = 0; seen && i < it->s.n; i++) {
		PlotPoint p = draw_place(box, item_x(it, i), item_y(it, i));
		if (draw_is_gap(p) || !draw_inside(r, p)) continue;
		if (sparse && hypot(p.x - last.x, p.y - last.y) < MARKER_APART) continue;
		size_t bit = (size_t)plot_max((p.y - r->y0) * 2 + 0.5, 0) * across +
		             (size_t)plot_max((p.x - r->x0) * 2 + 0.5, 0);
		if (seen[bit / 8] & 1u << bit % 8) continue;
		seen[bit / 8] |= (uint8_t)(1u << bit % 8);
		last = p;
		if (n == cap) {
			cap = cap ? cap * 2 : 64;
			PlotPoint *more = plot_take(&s->arena, cap, sizeof *more);
			if (!more) return;
			if (n) memcpy(more, at, n * sizeof *more);
			at = more;
		}
		at[n++] = p;
	}
	scene_markers(s, at, n, it->marker, draw_marker_width(it), draw_colour(it, 1));
}

/* ---- fields -------------------------------------------------------------- */

static void draw_image(Scene *s, PlotRect r, const PlotField *z, const PlotAxes *axes) {
	int width = (int)plot_clamp(floor((r.x1 - r.x0) * s->resolution + 0.5), 1, LARGEST_IMAGE);
	int height = (int)plot_clamp(floor((r.y1 - r.y0) * s->resolution + 0.5), 1, LARGEST_IMAGE);
	size_t n = (size_t)width * (size_t)height;
	double *values = plot_take(&s->arena, n, sizeof *values);
	uint8_t *index = plot_take(&s->arena, n, 1);
	PlotColour *palette = plot_take(&s->arena, 256, sizeof *palette);
	PlotField flat = *z;
	/* the mean of the two ends of a cycle is meaningless */
	flat.cells = z->cells || axes->map == PLOT_MAP_CYCLIC;
	if (!values || !index || !palette ||
	    !field_resample(&flat, axes, &s->arena, width, height, values))
		return;
	for (size_t i = 0; i < n; i++) index[i] = plot_map_index(&axes->axis[PLOT_Z], values[i]);
	plot_map_colours(axes->map, palette);
	scene_image(s, r, width, height, index, palette);
}

/* ---- frame and ticks ----------------------------------------------------- */

/* Round a width, and a position of a line of that width, to whole pixels. */
static double crisp_width(const Scene *s, double w) {
	return plot_max(1, floor(w * s->resolution + 0.5)) / s->resolution;
}

static double crisp_place(const Scene *s, double v, double width) {
	bool odd = (int)(width * s->resolution + 0.5) % 2;
	return odd ? (floor(v * s->resolution + 1e-6) + 0.5) / s->resolution
	           : floor(v * s->resolution + 0.5) / s->resolution;
}

static void draw_ticks_along(Scene *s, const PanelBox *box, PlotAxis axis, double at, double length,
                             bool outward, double w) {
	const PlotRect *r = &box->plot;
	double u = span_place(&box->axes.axis[axis], at);
	if (!(u >= -1e-9 && u <= 1 + 1e-9)) return;
	if (axis == PLOT_X) {
		double x = crisp_place(s, r->x0 + u * (r->x1 - r->x0), w);
		scene_segment(s, x, r->y1, x, outward ? r->y1 + length : r->y1 - length, w, frame_ink);
		if (!outward) scene_segment(s, x, r->y0, x, r->y0 + length, w, frame_ink);
	} else {
		double y = crisp_place(s, r->y1 - u * (r->y1 - r->y0), w);
		if (axis != PLOT_Y2)
			scene_segment(s, r->x0, y, outward ? r->x0 - length : r->x0 + length, y, w, frame_ink);
		if (axis == PLOT_Y2 || (!outward && !box->axes.right))
			scene_segment(s, r->x1, y, outward ? r->x1 + length : r->x1 - length, y, w, frame_ink);
	}
}

static void draw_rectangle(Scene *s, PlotRect r, double w, PlotColour c) {
	double x0 = crisp_place(s, r.x0, w), x1 = crisp_place(s, r.x1, w), y0 = crisp_place(s, r.y0, w),
		   y1 = crisp_place(s, r.y1, w);
	PlotPoint at[5] = {{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}, {x0, y0}};
	scene_line(s, at, 5, w, c, PLOT_SOLID);
}

static void draw_grid(Scene *s, const PanelBox *box) {
	const PlotRect *r = &box->plot;
	double w = crisp_width(s, 0.7);
	for (int i = 0; i < box->x.n; i++) {
		double x = crisp_place(
			s, r->x0 + span_place(&box->axes.axis[PLOT_X], box->x.major[i].at) * (r->x1 - r->x0),
			w);
		if (x > r->x0 + 1 && x < r->x1 - 1) scene_segment(s, x, r->y0, x, r->y1, w, grid_ink);
	}
	for (int i = 0; i < box->y.n; i++) {
		double y = crisp_place(
			s, r->y1 - span_place(&box->axes.axis[PLOT_Y], box->y.major[i].at) * (r->y1 - r->y0),
			w);
		if (y > r->y0 + 1 && y < r->y1 - 1) scene_segment(s, r->x0, y, r->x1, y, w, grid_ink);
	}
}

static void draw_frame(Scene *s, const PlotPanel *p, const PanelBox *box) {
	const PlotStyle *st = &plot_style;
	const PlotRect *r = &box->plot;
	double w = crisp_width(s, st->axis), fine = crisp_width(s, 0.75 * st->axis),
		   out = panel_covered(p) ? st->major : 0;
	for (int i = 0; i < box->x.minors; i++)
		draw_ticks_along(s, box, PLOT_X, box->x.minor[i], st->minor, out > 0, fine);
	for (int i = 0; i < box->y.minors; i++)
		draw_ticks_along(s, box, PLOT_Y, box->y.minor[i], st->minor, out > 0, fine);
	for (int i = 0; i < box->x.n; i++)
		draw_ticks_along(s, box, PLOT_X, box->x.major[i].at, st->major, out > 0, w);
	for (int i = 0; i < box->y.n; i++)
		draw_ticks_along(s, box, PLOT_Y, box->y.major[i].at, st->major, out > 0, w);
	for (int i = 0; i < box->y2.minors; i++)
		draw_ticks_along(s, box, PLOT_Y2, box->y2.minor[i], st->minor, out > 0, fine);
	for (int i = 0; i < box->y2.n; i++) {
		draw_ticks_along(s, box, PLOT_Y2, box->y2.major[i].at, st->major, out > 0, w);
		double y =
			r->y1 - span_place(&box->axes.axis[PLOT_Y2], box->y2.major[i].at) * (r->y1 - r->y0);
		scene_text(s, box->y2.major[i].label, r->x1 + out + 4, y + st->tick * FONT_CAP / 2,
		           st->tick, ANCHOR_START, ink);
	}
	draw_rectangle(s, *r, w, frame_ink);
	for (int i = 0; i < box->x.n; i++) {
		double x =
			r->x0 + span_place(&box->axes.axis[PLOT_X], box->x.major[i].at) * (r->x1 - r->x0);
		scene_text(s, box->x.major[i].label, x, r->y1 + out + 6 + st->tick * FONT_CAP, st->tick,
		           ANCHOR_MIDDLE, ink);
	}
	for (int i = 0; i < box->y.n; i++) {
		double y =
			r->y1 - span_place(&box->axes.axis[PLOT_Y], box->y.major[i].at) * (r->y1 - r->y0);
		scene_text(s, box->y.major[i].label, r->x0 - out - 4, y + st->tick * FONT_CAP / 2, st->tick,
		           ANCHOR_END, ink);
	}
}

static void draw_texts(Scene *s, const PlotPanel *p, const PanelBox *box) {
	const PlotStyle *st = &plot_style;
	const PlotRect *r = &box->plot;
	double width = r->x1 - r->x0, height = r->y1 - r->y0, middle = (r->x0 + r->x1) / 2;
	double aside = panel_has_bar(p) || p->solid || box->outside || box->axes.right
	                   ? 0
	                   : 1.6 * plot_min(box->left, box->right);
	if (p->title) {
		double size = st->heading;
		const char *text = draw_fit(s, p->title, &size, width + aside);
		double taken = font_width(text, size) / 2 +
		               plot_max(font_width(box->y.multiplier, st->tick),
		                        font_width(box->y2.multiplier, st->tick)) +
		               12;
		bool above = ((box->y.multiplier[0] || box->y2.multiplier[0]) && taken >= width / 2) ||
		             (box->z.multiplier[0] && font_width(text, size) > width);
		scene_text(s, text, middle, r->y0 - 7 - (above ? st->tick * 1.35 : 0), size, ANCHOR_MIDDLE,
		           ink);
	}
	scene_text(s, box->y.multiplier, r->x0, r->y0 - 5, st->tick, ANCHOR_START, ink);
	scene_text(s, box->y2.multiplier, r->x1, r->y0 - 5, st->tick, ANCHOR_END, ink);
	if (box->axes.right && p->label[PLOT_Y2] && !p->solid) {
		double size = st->label;
		const char *text = draw_fit(s, p->label[PLOT_Y2], &size, height + 12);
		scene_text_upright(s, text, r->x1 + box->y2_width - st->label * 0.3, (r->y0 + r->y1) / 2,
		                   size, ANCHOR_MIDDLE, ink);
	}
	if (p->label[PLOT_X] && !p->solid) {
		double size = st->label;
		const char *text = draw_fit(s, p->label[PLOT_X], &size, width + aside);
		scene_text(s, text, middle, r->y1 + box->label_drop, size, ANCHOR_MIDDLE, ink);
	}
	scene_text(s, box->x.multiplier, r->x1, r->y1 + box->factor_drop, st->tick, ANCHOR_END, ink);
	if (p->label[PLOT_Y] && !p->solid) {
		double size = st->label;
		const char *text = draw_fit(s, p->label[PLOT_Y], &size, height + 12);
		scene_text_upright(s, text, r->x0 - box->left + 4 + st->label * 0.8, (r->y0 + r->y1) / 2,
		                   size, ANCHOR_MIDDLE, ink);
	}
	if (box->note_drop > 0) {
		double size = st->tick;
		const char *text = draw_fit(s, box->note, &size, width + aside);
		scene_text(s, text, middle, r->y1 + box->note_drop, size, ANCHOR_MIDDLE, faint_ink);
	}
	if (box->axes.note) {
		double size = st->label;
		const char *text = draw_fit(s, box->axes.note, &size, width - 8);
		scene_text(s, text, middle, (r->y0 + r->y1) / 2 + size * FONT_CAP / 2, size, ANCHOR_MIDDLE,
		           faint_ink);
	}
}

/* Gets the levels for the bar of filled contours. Returns 0 when the bar shows
 * the whole map. */
static int bar_levels(const PlotPanel *p, const PlotSpan *z, double levels[PLOT_LEVELS]) {
	const PlotItem *filled = NULL;
	for (size_t i = 0; i < p->n; i++) {
		if (p->items[i].kind == PLOT_CONTOURS && p->items[i].more.filled) filled = &p->items[i];
		if (p->items[i].more.c && p->items[i].kind != PLOT_ERRORS) return 0;
	}
	return filled && !p->has_field && !z->turned ? contour_levels(filled, z, levels) : 0;
}

static void draw_colour_bar(Scene *s, const PlotPanel *p, const PanelBox *box) {
	const PlotStyle *st = &plot_style;
	const double from = box->plot.x1 + box->y2_width + st->bar_gap;
	PlotRect r = {from, box->plot.y0, from + st->bar, box->plot.y1};
	r.x0 = floor(r.x0 * s->resolution + 0.5) / s->resolution;
	r.x1 = floor(r.x1 * s->resolution + 0.5) / s->resolution;
	const PlotSpan *z = &box->axes.axis[PLOT_Z];

	/* One column, from the high end down, in equal steps along the axis as
	 * drawn. */
	int height = (int)plot_clamp(floor((r.y1 - r.y0) * s->resolution + 0.5), 2, 8192);
	uint8_t *index = plot_take(&s->arena, (size_t)height, 1);
	PlotColour *palette = plot_take(&s->arena, 256, sizeof *palette);
	if (!index || !palette) return;
	double levels[PLOT_LEVELS];
	int n = bar_levels(p, z, levels);
	for (int i = 0; i < height; i++) {
		double u = 1 - (i + 0.5) / height;
		index[i] = (uint8_t)(u * (PLOT_MAP_COLOURS - 1) + 0.5);
		if (!n) continue;
		int k = 0;
		while (k < n && span_place(z, levels[k]) <= u) k++;
		index[i] = contour_band(z, levels, n, k);
	}
	plot_map_colours(box->axes.map, palette);
	scene_image(s, r, 1, height, index, palette);

	double w = crisp_width(s, st->axis), fine = crisp_width(s, 0.75 * st->axis);
	for (int i = 0; i < box->z.minors + box->z.n; i++) {
		bool minor = i < box->z.minors;
		double u = span_place(z, minor ? box->z.minor[i] : box->z.major[i - box->z.minors].at);
		if (!(u >= -1e-9 && u <= 1 + 1e-9)) continue;
		double y = crisp_place(s, r.y1 - u * (r.y1 - r.y0), minor ? fine : w);
		scene_segment(s, r.x1, y, r.x1 + (minor ? 2 : 3.5), y, minor ? fine : w, frame_ink);
	}
	draw_rectangle(s, r, w, frame_ink);
	double texts = 0;
	for (int i = 0; i < box->z.n; i++) {
		double y = r.y1 - span_place(z, box->z.major[i].at) * (r.y1 - r.y0);
		scene_text(s, box->z.major[i].label, r.x1 + 7, y + st->tick * FONT_CAP / 2, st->tick,
		           ANCHOR_START, ink);
		texts = plot_max(texts, font_width(box->z.major[i].label, st->tick));
	}
	scene_text(s, box->z.multiplier, r.x0, r.y0 - 5, st->tick, ANCHOR_START, ink);
	if (p->label[PLOT_Z]) {
		double size = st->label;
		const char *text = draw_fit(s, p->label[PLOT_Z], &size, r.y1 - r.y0 + 12);
		scene_text_upright(s, text, r.x1 + 7 + texts + 6 + st->label * 0.8, (r.y0 + r.y1) / 2, size,
		                   ANCHOR_MIDDLE, ink);
	}
}

/* ---- legend -------------------------------------------------------------- */

int legend_entries(const PlotPanel *p) {
	int n = 0;
	for (size_t i = 0; i < p->n && n < 1000; i++) n += p->items[i].s.label != NULL;
	return n;
}

/* Ink per cell of a coarse grid over the plot. */
typedef struct Ink {
	const PlotRect *r;
	int across, down;
	float *cell;
} Ink;

static void ink_add(Ink *k, PlotPoint p, double amount) {
	int x = (int)floor((p.x - k->r->x0) / CELL), y = (int)floor((p.y - k->r->y0) / CELL);
	if (x >= 0 && x < k->across && y >= 0 && y < k->down)
		k->cell[y * k->across + x] += (float)amount;
}

static void ink_stroke(Ink *k, PlotPoint a, PlotPoint b) {
	double length = hypot(b.x - a.x, b.y - a.y);
	if (!(length < 1e5)) return;
	int n = (int)(length / (CELL / 2)) + 1;
	for (int i = 0; i < n; i++) {
		double t = (i + 0.5) / n;
		ink_add(k, (PlotPoint){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)}, length / n);
	}
}

/* Adds an area to every cell whose centre is inside, by the even-odd rule. */
static void ink_area(Ink *k, const PlotPrimitive *p) {
	double top = INFINITY, bottom = -INFINITY;
	for (size_t i = 0; i < p->n; i++)
		if (p->points[i].y == p->points[i].y) {
			top = plot_min(top, p->points[i].y);
			bottom = plot_max(bottom, p->points[i].y);
		}
	if (p->colour.a < 60) return; /* a faint area is likely to cover the whole plot */
	double amount = p->colour.a > 160 ? CELL : CELL * 0.4;
	for (int row = 0; row < k->down; row++) {
		double y = k->r->y0 + (row + 0.5) * CELL;
		if (y < top || y > bottom) continue;
		for (int column = 0; column < k->across; column++) {
			double x = k->r->x0 + (column + 0.5) * CELL;
			if (prim_holds(p, x, y)) ink_add(k, (PlotPoint){x, y}, amount);
		}
	}
}

/* Adds everything that was drawn. */
static void ink_scene(Ink *k, const Scene *s) {
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		if (p->kind == PRIM_POLYGON && p->n < 4000) ink_area(k, p);
		if (p->kind == PRIM_LINE)
			for (size_t i = 0; i + 1 < p->n; i++) ink_stroke(k, p->points[i], p->points[i + 1]);
		if (p->kind == PRIM_MARKERS)
			for (size_t i = 0; i < p->n; i++) ink_add(k, p->points[i], CELL);
		if (p->kind != PRIM_TEXT) continue;
		double width = font_width(p->text, p->size), x = p->points[0].x,
			   y = p->points[0].y - p->size * 0.35;
		x -= p->anchor == ANCHOR_MIDDLE ? width / 2 : p->anchor == ANCHOR_END ? width : 0;
		for (int i = 0; i < 3; i++) ink_stroke(k, (PlotPoint){x, y}, (PlotPoint){x + width, y});
	}
}

static double ink_within(const Ink *k, PlotPoint at, double width, double height) {
	int x0 = (int)floor((at.x - k->r->x0) / CELL),
		x1 = (int)floor((at.x + width - k->r->x0) / CELL);
	int y0 = (int)floor((at.y - k->r->y0) / CELL),
		y1 = (int)floor((at.y + height - k->r->y0) / CELL);
	double sum = 0;
	for (int y = y0 < 0 ? 0 : y0; y <= y1 && y < k->down; y++)
		for (int x = x0 < 0 ? 0 : x0; x <= x1 && x < k->across; x++)
			sum += plot_min(k->cell[y * k->across + x], 2 * CELL);
	return sum;
}

static PlotPoint legend_corner(const PanelBox *box, PlotLegend where) {
	const PlotRect *r = &box->plot;
	double x0 = r->x0 + LEGEND_INSET + 2, x1 = r->x1 - LEGEND_INSET - 2 - box->legend_width;
	double y0 = r->y0 + LEGEND_INSET + 1, y1 = r->y1 - LEGEND_INSET - 1 - box->legend_height;
	bool left = where == PLOT_LEGEND_TOP_LEFT || where == PLOT_LEGEND_BOTTOM_LEFT;
	bool top = where == PLOT_LEGEND_TOP_LEFT || where == PLOT_LEGEND_TOP_RIGHT;
	return (PlotPoint){left ? x0 : x1, top ? y0 : y1};
}

double draw_legend_place(const PlotPanel *p, const PanelBox *box, PlotArena *arena, PlotPoint *at) {
	static const PlotLegend corners[4] = {PLOT_LEGEND_TOP_RIGHT, PLOT_LEGEND_TOP_LEFT,
	                                      PLOT_LEGEND_BOTTOM_RIGHT, PLOT_LEGEND_BOTTOM_LEFT};
	*at = legend_corner(box,
	                    p->legend >= PLOT_LEGEND_TOP_LEFT && p->legend <= PLOT_LEGEND_BOTTOM_RIGHT
	                        ? p->legend
	                        : corners[0]);
	if (p->legend != PLOT_LEGEND_AUTO) return 0;
	Ink k = {.r = &box->plot};
	k.across = (int)((box->plot.x1 - box->plot.x0) / CELL) + 1;
	k.down = (int)((box->plot.y1 - box->plot.y0) / CELL) + 1;
	k.cell = plot_take(arena, (size_t)k.across * (size_t)k.down, sizeof *k.cell);
	if (!k.cell) return 0;
	if (!panel_covered(p)) { /* in a covered plot all places are equal */
		Scene trial = {.arena = {arena->alloc, NULL, false},
		               .width = box->plot.x1,
		               .height = box->plot.y1,
		               .resolution = 1};
		if (p->solid) solid_draw(&trial, p, box);
		else {
			draw_bodies(&trial, p, box);
			draw_points(&trial, p, box);
		}
		ink_scene(&k, &trial);
		if (trial.arena.failed) arena->failed = true;
		plot_arena_free(&trial.arena);
	}
	double best = INFINITY;
	for (int i = 0; i < 4; i++) {
		PlotPoint corner = legend_corner(box, corners[i]);
		double ink_there = ink_within(&k, corner, box->legend_width, box->legend_height);
		if (ink_there < best - 1e-9) {
			best = ink_there;
			*at = corner;
		}
	}
	/* If no corner is free, tries the middles of the sides. */
	double across = box->plot.x1 - box->plot.x0, down = box->plot.y1 - box->plot.y0;
	for (int i = 0; i < 4 && best > 0; i++) {
		PlotPoint corner = legend_corner(box, i == 1   ? PLOT_LEGEND_BOTTOM_RIGHT
		                                      : i == 2 ? PLOT_LEGEND_TOP_LEFT
		                                               : PLOT_LEGEND_TOP_RIGHT);
		if (i < 2) corner.x = box->plot.x0 + (across - box->legend_width) / 2;
		else corner.y = box->plot.y0 + (down - box->legend_height) / 2;
		double ink_there = ink_within(&k, corner, box->legend_width, box->legend_height);
		if (ink_there < best * 0.25) {
			best = ink_there;
			*at = corner;
		}
	}
	return best;
}

/* Draws the sample of a layer in the legend; `at` is its left end. */
static void draw_swatch(Scene *s, const PanelBox *box, const PlotItem *it, PlotPoint at) {
	double width = plot_style.swatch;
	PlotColour c = draw_colour(it, it->kind == PLOT_BAND ? 0.3 : 1);
	PlotPoint ends[2] = {at, {at.x + width, at.y}}, middle = {at.x + width / 2, at.y};
	PlotRect area = {at.x + 2, at.y - 4, at.x + width - 2, at.y + 4};
	bool areas = it->kind == PLOT_BAND || it->kind == PLOT_BARS || it->kind == PLOT_POLYGON ||
	             (it->kind == PLOT_RULES && it->more.a) ||
	             (it->kind == PLOT_CONTOURS && it->more.filled);
	if (it->kind == PLOT_SURFACE || it->kind == PLOT_CONTOURS) {
		PlotColour map[256];
		plot_map_colours(box->axes.map, map);
		if (it->s.colour < 0) c = map[PLOT_MAP_COLOURS / 2];
	}
	if (it->kind == PLOT_SURFACE || areas) {
		scene_box(s, area, it->kind == PLOT_RULES ? draw_colour(it, 0.16) : c);
		return;
	}
	if (it->kind == PLOT_ARROWS || it->kind == PLOT_FLOW) {
		draw_arrow_head(s, ends[0], ends[1], 6, c);
		scene_segment(s, ends[0].x, ends[0].y, ends[1].x - 3, ends[1].y, 1.2, c);
		return;
	}
	if (it->kind == PLOT_ERRORS) {
		scene_segment(s, middle.x, at.y - 5, middle.x, at.y + 5, 1.1, c);
	} else if (it->dash != PLOT_NO_LINE && it->kind != PLOT_TEXT) {
		scene_line(s, ends, 2, plot_min(draw_line_width(it), 5), c, it->dash);
	}
	scene_markers(s, &middle, 1, it->marker, plot_clamp(draw_marker_width(it), 4, 9), c);
}

static void draw_legend(Scene *s, const PlotPanel *p, const PanelBox *box) {
	const PlotStyle *st = &plot_style;
	if (!(box->legend_width > 0)) return;
	PlotPoint at;
	if (box->outside)
		at = (PlotPoint){box->plot.x1 + box->y2_width + box->z_width + 8, box->plot.y0};
	else draw_legend_place(p, box, &s->arena, &at);
	PlotRect r = {at.x, at.y, at.x + box->legend_width, at.y + box->legend_height};
	scene_box(s, r, paper);
	draw_rectangle(s, r, crisp_width(s, 0.7), border);
	double step = st->legend * LEGEND_LINE, y = at.y + st->pad - 1 + step / 2, x = at.x + st->pad;
	double room = box->legend_width - 2 * st->pad - st->swatch - 6 + 0.01;
	int lines = (int)((box->legend_height - 2 * st->pad + 2) / step + 0.5),
		left = legend_entries(p);
	for (size_t i = 0; i < p->n && lines > 0; i++) {
		const PlotItem *it = &p->items[i];
		if (!it->s.label) continue;
		double base = y + st->legend * 0.35;
		if (lines == 1 && left > 1) { /* more entries than room */
			double size = st->legend;
			const char *more = draw_fit(s, "\xe2\x80\xa6 and others", &size, room);
			scene_text(s, more, x + st->swatch + 6, base, size, ANCHOR_START, faint_ink);
			return;
		}
		draw_swatch(s, box, it, (PlotPoint){x, y});
		double size = st->legend;
		const char *text = draw_fit(s, it->s.label, &size, room);
		scene_text(s, text, x + st->swatch + 6, base, size, ANCHOR_START, ink);
		y += step;
		lines--;
		left--;
	}
}

void draw_panel(Figure *f, int panel, const PanelBox *box, Scene *s) {
	const PlotPanel *p = &f->panels[panel];
	if (p->solid) {
		solid_draw(s, p, box);
		draw_texts(s, p, box);
		draw_legend(s, p, box);
		return;
	}
	if (p->has_field) draw_image(s, box->plot, &p->field, &box->axes);
	if (p->grid) draw_grid(s, box);
	draw_bodies(s, p, box);
	draw_frame(s, p, box);
	draw_points(s, p, box);
	if (panel_has_bar(p)) draw_colour_bar(s, p, box);
	draw_texts(s, p, box);
	draw_legend(s, p, box);
}
