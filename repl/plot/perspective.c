/* perspective.c - panels in perspective: surfaces, curves, points and axes.
 *
 * Method: painter's algorithm, farthest first. The axes become a box of half
 * lengths 1, 1 and HEIGHT around 0, seen from a point at distance EYE.
 *
 * Needs: internal.h, spans of all three axes.
 *
 * Guarantees:
 * - Data outside the axes is omitted.
 * - Tick labels do not overlap.
 * - A surface has at most MOST_SIDE squares along each side.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEIGHT 0.72
/* The distance is larger when seen from above or below, where lines towards the
 * eye are confusing. */
#define EYE 6.5
#define LEAST_EDGE 34.0 /* shorter projected edges of the box have no ticks */
#define MOST_SIDE 150
#define MESH_MOST 64 /* finer surfaces have no mesh lines */
#define LABELS 60

static const PlotColour ink = {24, 24, 28, 255}, frame_ink = {70, 70, 76, 255},
						pane = {246, 246, 249, 255}, pane_edge = {206, 206, 212, 255};

typedef struct Vec {
	double x, y, z;
} Vec;

typedef struct View {
	const PanelBox *box;
	double cos_a, sin_a, cos_e, sin_e;
	double eye;
	double scale, cx, cy; /* from the projected box to the plot */
	PlotRect labels[LABELS];
	int nlabels;
} View;

static double dot3(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

/* Transforms a point to eye coordinates: x to the right, y up, z towards the
 * eye. */
static Vec turn(const View *v, Vec p) {
	double x = -v->sin_a * p.x + v->cos_a * p.y, toward = v->cos_a * p.x + v->sin_a * p.y;
	return (Vec){x, -v->sin_e * toward + v->cos_e * p.z, v->cos_e * toward + v->sin_e * p.z};
}

static PlotPoint project(const View *v, Vec p, double *depth) {
	Vec t = turn(v, p);
	double w = v->eye / (v->eye - t.z);
	if (depth) *depth = t.z;
	return (PlotPoint){v->cx + v->scale * t.x * w, v->cy - v->scale * t.y * w};
}

/* Maps a data point into the box; NaN outside the axes. */
static Vec place(const View *v, double x, double y, double z) {
	const PlotSpan *s = v->box->axes.axis;
	double u[3] = {span_place(&s[0], x), span_place(&s[1], y), span_place(&s[2], z)};
	for (int a = 0; a < 3; a++)
		if (!(u[a] >= -1e-9 && u[a] <= 1 + 1e-9)) return (Vec){NAN, NAN, NAN};
	return (Vec){2 * u[0] - 1, 2 * u[1] - 1, HEIGHT * (2 * u[2] - 1)};
}

static bool missing(Vec p) { return p.x != p.x; }

/* Fits the projected box, with room for ticks and labels, into the plot. */
static void fit_view(View *v) {
	const PlotRect *r = &v->box->plot;
	double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
	v->scale = 1;
	v->cx = v->cy = 0;
	for (int k = 0; k < 8; k++) {
		PlotPoint p =
			project(v, (Vec){k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? HEIGHT : -HEIGHT}, NULL);
		x0 = plot_min(x0, p.x), x1 = plot_max(x1, p.x), y0 = plot_min(y0, p.y),
		y1 = plot_max(y1, p.y);
	}
	double width = r->x1 - r->x0, height = r->y1 - r->y0;
	double side = plot_min(52, 0.18 * width), below = plot_min(44, 0.2 * height),
		   above = plot_min(8, 0.04 * height);
	v->scale =
		plot_max(plot_min((width - 2 * side) / (x1 - x0), (height - below - above) / (y1 - y0)), 1);
	v->cx = (r->x0 + r->x1) / 2 - v->scale * (x0 + x1) / 2;
	v->cy = (r->y0 + above + r->y1 - below) / 2 - v->scale * (y0 + y1) / 2;
}

/* ---- the box of the axes ------------------------------------------------- */

static void draw_face(Scene *s, const View *v, const Vec corner[4]) {
	PlotPoint at[5];
	for (int k = 0; k < 4; k++) at[k] = project(v, corner[k], NULL);
	at[4] = at[0];
	scene_polygon(s, at, 4, pane);
	scene_line(s, at, 5, 0.7, pane_edge, PLOT_SOLID);
}

static double get(Vec p, int axis) { return axis == 0 ? p.x : axis == 1 ? p.y : p.z; }
static void set(Vec *p, int axis, double v) {
	*(axis == 0 ? &p->x : axis == 1 ? &p->y : &p->z) = v;
}
static double half_of(int axis) { return axis == 2 ? HEIGHT : 1; }

/* Returns the side of the box along an axis that is farther from the eye. */
static double far_side(const View *v, int axis) {
	Vec p = {0, 0, 0};
	set(&p, axis, 1);
	return turn(v, p).z > 0 ? -half_of(axis) : half_of(axis);
}

static void draw_panes(Scene *s, const View *v, PlotTicks ticks[3]) {
	for (int a = 0; a < 3; a++) {
		int b = (a + 1) % 3, c = (a + 2) % 3;
		double side = far_side(v, a);
		Vec corner[4];
		for (int k = 0; k < 4; k++) {
			set(&corner[k], a, side);
			set(&corner[k], b, k == 1 || k == 2 ? half_of(b) : -half_of(b));
			set(&corner[k], c, k >= 2 ? half_of(c) : -half_of(c));
		}
		draw_face(s, v, corner);
	}
	for (int a = 0; a < 3; a++) { /* lines at the ticks, on the two panes of the axis */
		for (int i = 0; i < ticks[a].n; i++) {
			double u = span_place(&v->box->axes.axis[a], ticks[a].major[i].at);
			if (!(u > 1e-6 && u < 1 - 1e-6)) continue;
			for (int k = 1; k <= 2; k++) {
				int on = (a + k) % 3, across = (a + 3 - k) % 3;
				Vec p, q;
				set(&p, a, half_of(a) * (2 * u - 1));
				set(&p, on, far_side(v, on));
				q = p;
				set(&p, across, -half_of(across));
				set(&q, across, half_of(across));
				PlotPoint from = project(v, p, NULL), to = project(v, q, NULL);
				scene_segment(s, from.x, from.y, to.x, to.y, 0.6, pane_edge);
			}
		}
	}
}

static bool keep_label(View *v, PlotRect r) {
	for (int k = 0; k < v->nlabels; k++) {
		const PlotRect *q = &v->labels[k];
		if (!(r.x1 + 3 <= q->x0 || q->x1 + 3 <= r.x0 || r.y1 + 1 <= q->y0 || q->y1 + 1 <= r.y0))
			return false;
	}
	if (v->nlabels == LABELS) return false;
	v->labels[v->nlabels++] = r;
	return true;
}

/* Finds the edge of the box that carries the ticks of an axis. */
static void axis_edge(const View *v, int axis, Vec *from, Vec *to, Vec *outward) {
	int b = (axis + 1) % 3, c = (axis + 2) % 3;
	double best = -INFINITY;
	for (int k = 0; k < 4; k++) {
		Vec p = {0, 0, 0}, q;
		set(&p, b, k & 1 ? half_of(b) : -half_of(b));
		set(&p, c, k & 2 ? half_of(c) : -half_of(c));
		PlotPoint at = project(v, p, NULL);
		double worth = axis == 2 ? -at.x : at.y; /* z at the left, x and y below */
		if (axis != 2) {
			int up = b == 2 ? b : c;
			if (get(p, up) != (v->sin_e >= 0 ? -HEIGHT : HEIGHT)) continue; /* on the floor */
			worth = v->sin_e >= 0 ? at.y : -at.y;
		}
		if (!(worth > best)) continue;
		best = worth;
		q = p;
		set(&p, axis, -half_of(axis));
		set(&q, axis, half_of(axis));
		*from = p;
		*to = q;
		*outward = (Vec){0, 0, 0};
		int side = axis == 0 ? 1 : axis == 1 ? 0 : -1;
		if (side >= 0) set(outward, side, get(p, side) > 0 ? 1 : -1);
	}
}

static void draw_axis(Scene *s, View *v, const PlotPanel *p, int axis, const PlotTicks *ticks) {
	const PlotStyle *st = &plot_style;
	Vec from, to, outward;
	axis_edge(v, axis, &from, &to, &outward);
	PlotPoint a = project(v, from, NULL), b = project(v, to, NULL),
			  middle = {(a.x + b.x) / 2, (a.y + b.y) / 2};
	PlotPoint centre = project(v, (Vec){0, 0, 0}, NULL), out = {-1, 0};
	scene_segment(s, a.x, a.y, b.x, b.y, 1, frame_ink);
	if (axis != 2) { /* outward on the floor, as seen */
		Vec m = {(from.x + to.x) / 2, (from.y + to.y) / 2, from.z};
		PlotPoint q = project(v, (Vec){m.x + 0.2 * outward.x, m.y + 0.2 * outward.y, m.z}, NULL),
				  o = project(v, m, NULL);
		double length = hypot(q.x - o.x, q.y - o.y);
		out = length > 1e-6 ? (PlotPoint){(q.x - o.x) / length, (q.y - o.y) / length}
		                    : (PlotPoint){0, 1};
		/* Seen from the side the floor is a line; ticks point down. */
		PlotPoint normal = {-(b.y - a.y), b.x - a.x};
		double n = hypot(normal.x, normal.y);
		if (n > 1e-6) {
			normal = (PlotPoint){normal.x / n, normal.y / n};
			if (normal.x * (middle.x - centre.x) + normal.y * (middle.y - centre.y) < 0)
				normal = (PlotPoint){-normal.x, -normal.y};
			if (out.x * normal.x + out.y * normal.y < 0.35) out = normal;
		}
	}
	double reach = 0, width_of_edge = hypot(b.x - a.x, b.y - a.y);
	if (width_of_edge < LEAST_EDGE) return;
	for (int i = 0; i < ticks->n; i++) {
		double u = span_place(&v->box->axes.axis[axis], ticks->major[i].at);
		if (!(u >= -1e-9 && u <= 1 + 1e-9)) continue;
		Vec m = {from.x + u * (to.x - from.x), from.y + u * (to.y - from.y),
		         from.z + u * (to.z - from.z)};
		PlotPoint at = project(v, m, NULL);
		scene_segment(s, at.x, at.y, at.x + out.x * st->major, at.y + out.y * st->major, 0.9,
		              frame_ink);
		double w = scene_text_width(s, ticks->major[i].label, st->tick), h = st->tick * FONT_CAP;
		/* Puts the nearest point of the label's box at `gap` from the tick. */
		double gap = st->major + 4, x = at.x + out.x * gap + out.x * w / 2,
			   y = at.y + out.y * gap + out.y * h / 2;
		PlotRect r = {x - w / 2, y - h / 2, x + w / 2, y + h / 2};
		if (!keep_label(v, r)) continue;
		scene_text(s, ticks->major[i].label, r.x0, r.y1, st->tick, ANCHOR_START, ink);
		for (int k = 0; k < 4; k++) {
			PlotPoint c = {k & 1 ? r.x1 : r.x0, k & 2 ? r.y1 : r.y0};
			reach = plot_max(reach, (c.x - at.x) * out.x + (c.y - at.y) * out.y);
		}
	}
	const char *text = p->label[axis] ? p->label[axis] : "";
	char both[1200];
	snprintf(both, sizeof both, "%s%s%s%s%s", text, *text && ticks->multiplier[0] ? " (" : "",
	         ticks->multiplier, *text && ticks->multiplier[0] ? ")" : "", "");
	if (!*both) return;
	double size = st->label,
		   angle = axis == 2 ? (scene_text_width(s, both, st->label) < 2 * st->label ? 0 : 90)
	               : scene_text_width(s, both, st->label) < 2 * st->label
	                   ? 0
	                   : atan2(-(b.y - a.y), b.x - a.x) * 180 / PLOT_PI;
	if (angle > 90) angle -= 180;
	if (angle <= -90) angle += 180;
	const char *fitted = draw_fit(s, both, &size, plot_max(width_of_edge * 1.1, 40));
	/* The axis label is as far out as the tick labels, plus half its height. */
	double turned = angle * PLOT_PI / 180, w = scene_text_width(s, fitted, size) / 2,
		   h = size * 0.5;
	double half = fabs(out.x * cos(turned) - out.y * sin(turned)) * w +
	              fabs(out.x * sin(turned) + out.y * cos(turned)) * h;
	if (axis != 2) half = plot_min(half, h + 0.3 * w);
	double far = reach + 5 + half;
	PlotPoint at = {middle.x + out.x * far + sin(turned) * size * FONT_CAP / 2,
	                middle.y + out.y * far + cos(turned) * size * FONT_CAP / 2};
	scene_text_turned(s, fitted, at.x, at.y, size, ANCHOR_MIDDLE, angle, ink);
}

/* ---- contents of the box ------------------------------------------------- */

typedef struct DepthPiece { /* a square, a line segment or a point */
	double depth;
	PlotPoint at[4];
	int n;
	PlotColour fill, line;
	double width;
	PlotMarker marker;
} DepthPiece;

typedef struct DepthPieces {
	PlotArena *arena;
	DepthPiece *at;
	size_t n, cap;
} DepthPieces;

static void add_piece(DepthPieces *list, const DepthPiece *p) {
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 512;
		DepthPiece *more = plot_take(list->arena, cap, sizeof *more);
		if (!more) return;
		if (list->n) memcpy(more, list->at, list->n * sizeof *more);
		list->at = more;
		list->cap = cap;
	}
	list->at[list->n++] = *p;
}

static int by_depth(const void *a, const void *b) {
	const DepthPiece *p = a, *q = b;
	return p->depth < q->depth ? -1 : p->depth > q->depth;
}

/* Returns the brightness of a square, lit from the upper left behind the
 * eye. */
static double light_of(const View *v, const Vec c[4]) {
	Vec e = {c[2].x - c[0].x, c[2].y - c[0].y, c[2].z - c[0].z},
		f = {c[3].x - c[1].x, c[3].y - c[1].y, c[3].z - c[1].z};
	Vec n = turn(v, (Vec){e.y * f.z - e.z * f.y, e.z * f.x - e.x * f.z, e.x * f.y - e.y * f.x});
	double length = sqrt(dot3(n, n));
	if (!(length > 0)) return 1;
	const Vec lamp = {-0.45, 0.62, 0.64};
	return 0.72 + 0.34 * fabs(dot3(n, lamp)) / length;
}

static void add_surface(DepthPieces *list, const View *v, const PlotItem *it) {
	const PlotField *g = &it->more.grid;
	if (g->nx < 2 || g->ny < 2) return;
	/* the last square may be smaller */
	size_t step_x = (g->nx - 2) / MOST_SIDE + 1, step_y = (g->ny - 2) / MOST_SIDE + 1;
	size_t nx = (g->nx - 2) / step_x + 2, ny = (g->ny - 2) / step_y + 2;
	PlotColour map[256];
	plot_map_colours(v->box->axes.map, map);
	bool mesh = it->more.mesh && nx <= MESH_MOST && ny <= MESH_MOST;
	for (size_t i = 0; i + 1 < nx; i++) {
		for (size_t j = 0; j + 1 < ny; j++) {
			Vec corner[4];
			DepthPiece p = {.n = 4};
			double sum = 0, depth = 0;
			bool whole = true;
			for (int k = 0; k < 4 && whole; k++) {
				size_t a = (i + (k == 1 || k == 2)) * step_x, b = (j + (k >= 2)) * step_y;
				if (a > g->nx - 1) a = g->nx - 1;
				if (b > g->ny - 1) b = g->ny - 1;
				double z = g->z[grid_at(g, a, b)], d;
				corner[k] =
					plot_usable(z) ? place(v, grid_x(g, a), grid_y(g, b), z) : (Vec){NAN, NAN, NAN};
				whole = !missing(corner[k]);
				if (!whole) break;
				p.at[k] = project(v, corner[k], &d);
				depth += d / 4;
				sum += span_place(&v->box->axes.axis[PLOT_Z], z) / 4;
			}
			if (!whole) continue;
			PlotColour c = it->s.colour >= 0
			                   ? plot_series_colour(it->colour)
			                   : map[(int)(plot_clamp(sum, 0, 1) * (PLOT_MAP_COLOURS - 1) + 0.5)];
			double light = light_of(v, corner);
			p.depth = depth;
			p.fill = plot_shade(c, light > 1 ? 1 + 0.6 * (light - 1) : light);
			/* an outline in its own colour closes the seam */
			p.line = mesh ? plot_shade(p.fill, 0.72) : p.fill;
			p.width = mesh ? 0.5 : 0.6;
			if (it->s.opacity > 0) p.fill.a = (uint8_t)(it->s.opacity * 255 + 0.5);
			if (it->s.opacity > 0 && it->s.opacity < 1 && !mesh) p.width = 0;
			add_piece(list, &p);
		}
	}
}

/* Adds a line by segments only if a surface may hide parts of it. */
static void add_line(DepthPieces *list, Scene *s, const View *v, const PlotItem *it,
                     bool by_piece) {
	PlotColour c = draw_colour(it, 1);
	double width = draw_line_width(it);
	PlotPoint *run = plot_take(&s->arena, it->s.n + 1, sizeof *run), last = {0, 0};
	size_t n = 0;
	double before = 0;
	if (!run) return;
	for (size_t i = 0; i <= it->s.n; i++) {
		double depth = 0;
		Vec q = i < it->s.n ? place(v, item_x(it, i), item_y(it, i), it->more.a[i])
		                    : (Vec){NAN, NAN, NAN};
		if (missing(q)) {
			if (!by_piece && n) scene_line(s, run, n, n == 1 ? 2.4 * width : width, c, it->dash);
			n = 0;
			continue;
		}
		PlotPoint at = project(v, q, &depth);
		if (n && hypot(at.x - last.x, at.y - last.y) < 0.35) continue;
		if (by_piece && n)
			add_piece(list, &(DepthPiece){.depth = (depth + before) / 2 + 1e-3,
			                              .at = {last, at},
			                              .n = 2,
			                              .line = c,
			                              .width = width});
		run[n++] = at;
		last = at;
		before = depth;
	}
}

static void add_points(DepthPieces *list, const View *v, const PlotItem *it) {
	PlotColour map[256], c = draw_colour(it, 1);
	plot_map_colours(v->box->axes.map, map);
	for (size_t i = 0; i < it->s.n; i++) {
		Vec q = place(v, item_x(it, i), item_y(it, i), it->more.a[i]);
		if (missing(q)) continue;
		DepthPiece p = {.n = 1, .fill = c, .width = draw_marker_width(it), .marker = it->marker};
		p.at[0] = project(v, q, &p.depth);
		p.width *= v->eye / (v->eye - p.depth);
		p.depth += 2e-3;
		if (it->more.c) p.fill = map[plot_map_index(&v->box->axes.axis[PLOT_Z], it->more.c[i])];
		add_piece(list, &p);
	}
}

static void draw_pieces(Scene *s, DepthPieces *list) {
	if (list->n) qsort(list->at, list->n, sizeof *list->at, by_depth);
	for (size_t i = 0; i < list->n; i++) {
		const DepthPiece *p = &list->at[i];
		if (p->n == 4) {
			scene_polygon(s, p->at, 4, p->fill);
			if (!(p->width > 0)) continue;
			PlotPoint edge[5] = {p->at[0], p->at[1], p->at[2], p->at[3], p->at[0]};
			scene_line(s, edge, 5, p->width, p->line, PLOT_SOLID);
		} else if (p->n == 2) {
			scene_line(s, p->at, 2, p->width, p->line, PLOT_SOLID);
		} else {
			scene_markers(s, p->at, 1, p->marker, p->width, p->fill);
		}
	}
}

void solid_draw(Scene *s, const PlotPanel *p, const PanelBox *box) {
	const double azimuth = p->azimuth * PLOT_PI / 180, elevation = p->elevation * PLOT_PI / 180;
	View *v = plot_take(&s->arena, 1, sizeof *v);
	PlotTicks *ticks = plot_take(&s->arena, 3, sizeof *ticks);
	if (!v || !ticks) return;
	*v = (View){.box = box,
	            .cos_a = cos(azimuth),
	            .sin_a = sin(azimuth),
	            .cos_e = cos(elevation),
	            .sin_e = sin(elevation)};
	v->eye = EYE + 600 * plot_max(fabs(v->sin_e) - 0.9, 0);
	fit_view(v);
	for (int a = 0; a < 3; a++) {
		Vec from, to, outward;
		axis_edge(v, a, &from, &to, &outward);
		PlotPoint q = project(v, from, NULL), r = project(v, to, NULL);
		double length = hypot(r.x - q.x, r.y - q.y);
		ticks_find(&box->axes.axis[a], (int)plot_clamp(length / 30, 3, 7), &ticks[a]);
	}
	draw_panes(s, v, ticks);
	PlotArena arena = {s->arena.alloc, NULL, false};
	DepthPieces list = {.arena = &arena};
	bool surface = false;
	for (size_t i = 0; i < p->n; i++) surface = surface || p->items[i].kind != PLOT_LINE_3D;
	for (size_t i = 0; i < p->n; i++) {
		const PlotItem *it = &p->items[i];
		if (it->kind == PLOT_SURFACE) add_surface(&list, v, it);
		if (it->kind == PLOT_LINE_3D) {
			if (it->dash != PLOT_NO_LINE) add_line(&list, s, v, it, surface);
			if (it->marker != PLOT_MARKER_NONE) add_points(&list, v, it);
		}
		if (it->kind == PLOT_SCATTER_3D) add_points(&list, v, it);
	}
	draw_pieces(s, &list);
	if (arena.failed) s->arena.failed = true;
	plot_arena_free(&arena);
	for (int a = 0; a < 3; a++) draw_axis(s, v, p, a, &ticks[a]);
}
