/* axes.c - axis ranges, positions on an axis, and resampling of fields.
 *
 * Needs: internal.h, a figure whose series and fields were checked by figure.c.
 *
 * Guarantees:
 * - Every span has finite lo < hi, far enough apart for ticks, and positive on
 *   a log axis, for any data.
 * - NaN, infinite samples, and samples not positive on a log axis are gaps.
 * - Resampling makes one pass over the field.
 */
#include "repl/plot/internal.h"

#include <math.h>

#define LINE_MARGIN 0.05 /* margin beyond the data, over the length of the axis */
#define POINT_MARGIN 0.04
#define ARROW_MARGIN 0.14 /* arrows extend beyond their starting points */
/* smallest ratio of the two extremes for a diverging map */
#define DIVERGING_FROM 0.1

/* ---- ranges -------------------------------------------------------------- */

typedef struct Extent {
	double lo, hi; /* lo > hi: empty */
} Extent;

static void extent_add(Extent *e, double v, bool log) {
	if (!plot_usable(v) || (log && v <= 0)) return;
	if (v < e->lo) e->lo = v;
	if (v > e->hi) e->hi = v;
}

/* Returns a coordinate of a field in the measure of the axis (a logarithm on a
 * log axis). */
static double field_coordinate(const double *x, size_t i, bool log) {
	double v = x ? x[i] : (double)i;
	return log ? log10(v) : v;
}

static double measure_back(double v, bool log) { return log ? pow(10, v) : v; }

/* Adds the range of a field: its outermost points, or the outer edges of its
 * outermost cells. */
static void extent_add_field(Extent *e, const double *x, size_t n, bool cells, bool log) {
	size_t first = 0;
	if (log) /* coordinates at or below zero are outside a log axis */
		while (first < n && !(field_coordinate(x, first, false) > 0)) first++;
	if (log && x && n > 1 && x[n - 1] < x[0])
		while (n > first && !(x[n - 1] > 0)) n--;
	if (first >= n) return;
	double a = field_coordinate(x, first, log), b = field_coordinate(x, n - 1, log);
	if (cells && n - first > 1) {
		double a2 = field_coordinate(x, first + 1, log), b2 = field_coordinate(x, n - 2, log);
		a += (a - a2) / 2;
		b += (b - b2) / 2;
	} else if (n - first == 1 && !log) {
		a -= 0.5;
		b += 0.5;
	}
	extent_add(e, measure_back(a, log), log);
	extent_add(e, measure_back(b, log), log);
}

/* Widens a span until ticks are distinguishable, and adds the margin. */
static void span_open(PlotSpan *s, double margin) {
	if (s->log) {
		double a = log10(s->lo), b = log10(s->hi);
		if (b - a < 1e-6) {
			a -= 0.5;
			b += 0.5;
		} else {
			double room = (b - a) * margin;
			a -= room;
			b += room;
		}
		s->lo = pow(10, plot_max(a, -306));
		s->hi = pow(10, plot_min(b, 307.9));
		return;
	}
	double size = plot_max(fabs(s->lo), fabs(s->hi));
	double least = plot_max(size * 1e-12, 1e-290);
	if (s->hi - s->lo < least) {
		double middle = s->lo / 2 + s->hi / 2;
		double half = size < 1e-280 ? 1 : size * 0.1;
		s->lo = middle - half;
		s->hi = middle + half;
	} else {
		double room = (s->hi - s->lo) * margin;
		s->lo -= room;
		s->hi += room;
	}
}

/* Takes the limits set by the caller, unless the axis cannot show them. */
static PlotStatus fixed_span(Figure *f, int panel, int axis, PlotSpan *s) {
	static const char *const names[4] = {"x", "y", "colour", "right-hand y"};
	const PlotPanel *p = &f->panels[panel];
	double lo = p->low[axis], hi = p->high[axis];
	s->turned = lo > hi;
	s->lo = s->turned ? hi : lo;
	s->hi = s->turned ? lo : hi;
	if (s->log && !(s->lo > 0))
		return plot_fail(f, PLOT_BAD_DATA,
		                 "panel %d: the limits of the logarithmic %s axis must be greater than 0",
		                 panel, names[axis]);
	double size = plot_max(fabs(s->lo), fabs(s->hi));
	bool near = s->log ? log10(s->hi) - log10(s->lo) < 1e-9
	                   : s->hi - s->lo < plot_max(size * 1e-13, 1e-300);
	if (near)
		return plot_fail(f, PLOT_BAD_DATA,
		                 "panel %d: the limits of the %s axis are too close together", panel,
		                 names[axis]);
	return PLOT_OK;
}

/* ---- ranges of layers ---------------------------------------------------- */

/* Returns the width of bar i: as given, or eight tenths of the smallest
 * distance between bars. */
double bar_width(const PlotItem *it, size_t i) {
	if (it->more.b) return fabs(it->more.b[i]);
	return it->s.n > 1 ? 0.8 * it->more.scale : 0.8;
}

double bar_base(const PlotItem *it, size_t i) { return it->more.a ? it->more.a[i] : it->more.base; }

/* Receives one point of a layer; a NaN coordinate adds nothing to its axis. */
typedef void (*PointVisit)(void *ud, double x, double y);

static void grid_reach(const PlotField *g, PointVisit to, void *ud) {
	for (size_t i = 0; i < g->nx; i++) to(ud, grid_x(g, i), NAN);
	for (size_t j = 0; j < g->ny; j++) to(ud, NAN, grid_y(g, j));
}

static void item_reach(const PlotItem *it, PointVisit to, void *ud) {
	const PlotLayer *m = &it->more;
	if (it->kind == PLOT_CONTOURS || it->kind == PLOT_FLOW ||
	    (it->kind == PLOT_ARROWS && m->grid.z)) {
		grid_reach(&m->grid, to, ud);
		return;
	}
	for (size_t i = 0; i < it->s.n; i++) {
		if (it->kind == PLOT_RULES) {
			double at = it->s.x ? it->s.x[i] : it->s.y[i];
			for (int k = 0; k < (m->a ? 2 : 1); k++)
				to(ud, it->s.x ? (k ? m->a[i] : at) : NAN, it->s.x ? NAN : (k ? m->a[i] : at));
			continue;
		}
		double x = item_x(it, i), y = item_y(it, i);
		if (it->kind == PLOT_BARS) {
			double half = bar_width(it, i) / 2, base = bar_base(it, i);
			for (int k = 0; k < 4; k++) {
				double along = k & 1 ? half : -half;
				to(ud, m->sideways ? (k & 2 ? base : x) : x + along,
				   m->sideways ? y + along : (k & 2 ? base : y));
			}
			continue;
		}
		to(ud, x, y);
		if (it->kind == PLOT_BAND) to(ud, m->sideways ? m->a[i] : x, m->sideways ? y : m->a[i]);
		if (it->kind == PLOT_STEMS) to(ud, x, m->base);
		if (it->kind == PLOT_TEXT && m->a) to(ud, m->a[i], m->b[i]);
		if (it->kind != PLOT_ERRORS) continue;
		if (m->a) to(ud, x, y - m->a[i]);
		if (m->b) to(ud, x, y + m->b[i]);
		if (m->c) to(ud, x - m->c[i], y);
		if (m->d) to(ud, x + m->d[i], y);
	}
}

typedef struct ExtentSearch {
	const PlotPanel *p;
	Extent e;
	int axis;   /* 0: x; 1: y */
	PlotAxis y; /* the y axis of the layer */
	bool log[2];
} ExtentSearch;

static void reach_point(void *ud, double x, double y) {
	ExtentSearch *r = ud;
	double at[2] = {x, y};
	if (!plot_usable(at[r->axis])) return;
	for (int a = 0; a < 2; a++) {
		bool silent = at[a] != at[a] && a != r->axis;
		if (!silent && (!plot_usable(at[a]) || (r->log[a] && at[a] <= 0))) return;
	}
	/* points outside fixed limits of the other axis do not extend this one */
	const int across = 1 - r->axis, other = across ? (int)r->y : PLOT_X;
	const PlotPanel *p = r->p;
	if (p->fixed[other] && (at[across] < plot_min(p->low[other], p->high[other]) ||
	                        at[across] > plot_max(p->low[other], p->high[other])))
		return;
	extent_add(&r->e, at[r->axis], false);
}

/* Unlike in grids, a NaN coordinate of a series omits the whole sample. */
static void reach_series(ExtentSearch *r, const PlotItem *it) {
	for (size_t i = 0; i < it->s.n; i++) {
		double x = item_x(it, i), y = item_y(it, i);
		if (x == x && y == y) reach_point(r, x, y);
	}
}

static PlotAxis item_axis(const PlotItem *it) { return it->more.right ? PLOT_Y2 : PLOT_Y; }

static Extent data_extent(const PlotPanel *p, PlotAxis axis) {
	ExtentSearch r = {
		p, {INFINITY, -INFINITY}, axis != PLOT_X, PLOT_Y, {p->scale[PLOT_X] == PLOT_LOG, false}};
	for (size_t k = 0; k < p->n; k++) {
		const PlotItem *it = &p->items[k];
		if (axis != PLOT_X && item_axis(it) != axis) continue;
		r.y = item_axis(it);
		r.log[1] = p->scale[r.y] == PLOT_LOG;
		if (it->kind == PLOT_LINE || it->kind == PLOT_SCATTER) reach_series(&r, it);
		else item_reach(it, reach_point, &r);
	}
	return r.e;
}

static size_t count_left_out(const PlotPanel *p) {
	size_t n = 0;
	for (size_t k = 0; k < p->n; k++) {
		const PlotItem *it = &p->items[k];
		const bool log[2] = {p->scale[PLOT_X] == PLOT_LOG, p->scale[item_axis(it)] == PLOT_LOG};
		if (it->kind > PLOT_STEMS || it->kind == PLOT_RULES || !(log[0] || log[1])) continue;
		for (size_t i = 0; i < it->s.n; i++) {
			double x = item_x(it, i), y = item_y(it, i);
			n += plot_usable(x) && plot_usable(y) && ((log[0] && x <= 0) || (log[1] && y <= 0));
		}
	}
	return n;
}

/* Returns whether bars have their base at `at`: then there is no margin below
 * it. */
static bool stands_on(const PlotPanel *p, PlotAxis axis, double at) {
	for (size_t k = 0; k < p->n; k++) {
		const PlotItem *it = &p->items[k];
		if (it->kind != PLOT_BARS || (it->more.sideways ? PLOT_X : item_axis(it)) != axis) continue;
		for (size_t i = 0; i < it->s.n; i++)
			if (bar_base(it, i) == at) return true;
	}
	return false;
}

static void add_values(Extent *e, const PlotField *g, bool log) {
	for (size_t i = 0; i < g->nx; i++)
		for (size_t j = 0; j < g->ny; j++) extent_add(e, g->z[grid_at(g, i, j)], log);
}

static PlotStatus colour_span(Figure *f, int panel, PlotAxes *out) {
	const PlotPanel *p = &f->panels[panel];
	PlotSpan *s = &out->axis[PLOT_Z];
	PlotMap map = p->map != PLOT_MAP_AUTO ? p->map : p->field.map;
	for (size_t k = 0; k < p->n && map == PLOT_MAP_AUTO; k++) map = p->items[k].more.grid.map;
	out->map = map == PLOT_MAP_AUTO ? PLOT_MAP_SEQUENTIAL : map;
	if (p->fixed[PLOT_Z]) {
		PlotStatus status = fixed_span(f, panel, PLOT_Z, s);
		if (status) return status;
		if (map == PLOT_MAP_AUTO && s->lo < 0 && s->hi > 0 && fabs(s->lo + s->hi) < 1e-9 * s->hi)
			out->map = PLOT_MAP_DIVERGING;
		return PLOT_OK;
	}
	Extent e = {INFINITY, -INFINITY};
	if (p->has_field) add_values(&e, &p->field, s->log);
	for (size_t k = 0; k < p->n; k++) {
		const PlotItem *it = &p->items[k];
		if (it->kind == PLOT_CONTOURS) add_values(&e, &it->more.grid, s->log);
		for (size_t i = 0; it->more.c && it->kind != PLOT_ERRORS && i < it->s.n; i++)
			extent_add(&e, it->more.c[i], s->log);
	}
	if (e.lo > e.hi) {
		e = s->log ? (Extent){1, 10} : (Extent){0, 1};
		out->note = s->log ? "no positive values" : "no finite values";
	}
	if (map == PLOT_MAP_AUTO && !s->log && e.lo < 0 && e.hi > 0 &&
	    plot_min(-e.lo, e.hi) > DIVERGING_FROM * plot_max(-e.lo, e.hi))
		out->map = PLOT_MAP_DIVERGING;
	if (out->map == PLOT_MAP_DIVERGING && !s->log) {
		double reach = plot_max(fabs(e.lo), fabs(e.hi));
		e = (Extent){-reach, reach};
	}
	s->lo = e.lo;
	s->hi = e.hi;
	span_open(s, 0);
	return PLOT_OK;
}

/* Returns the range of one axis of a panel in perspective. */
static Extent solid_extent(const PlotPanel *p, int axis, bool log) {
	Extent e = {INFINITY, -INFINITY};
	for (size_t k = 0; k < p->n; k++) {
		const PlotItem *it = &p->items[k];
		const PlotField *g = &it->more.grid;
		if (it->kind == PLOT_SURFACE) {
			for (size_t i = 0; axis == 0 && i < g->nx; i++) extent_add(&e, grid_x(g, i), log);
			for (size_t j = 0; axis == 1 && j < g->ny; j++) extent_add(&e, grid_y(g, j), log);
			if (axis == 2) add_values(&e, g, log);
			continue;
		}
		for (size_t i = 0; i < it->s.n; i++)
			extent_add(&e, axis == 2 ? it->more.a[i] : axis ? item_y(it, i) : item_x(it, i), log);
	}
	return e;
}

static PlotStatus solid_axes(Figure *f, int panel, PlotAxes *out) {
	const PlotPanel *p = &f->panels[panel];
	for (int a = 0; a < 3; a++) {
		PlotSpan *s = &out->axis[a];
		if (p->fixed[a]) {
			PlotStatus status = fixed_span(f, panel, a, s);
			if (status) return status;
			continue;
		}
		Extent e = solid_extent(p, a, s->log);
		if (e.lo > e.hi) {
			out->note = s->log ? "no positive data" : "no finite data";
			e = (Extent){s->log ? 0.1 : 0, 1};
		}
		s->lo = e.lo;
		s->hi = e.hi;
		span_open(s, a == PLOT_Z ? 0.02 : 0);
	}
	PlotMap map = p->map;
	for (size_t k = 0; k < p->n && map == PLOT_MAP_AUTO; k++) map = p->items[k].more.grid.map;
	out->map = map == PLOT_MAP_AUTO ? PLOT_MAP_SEQUENTIAL : map;
	return PLOT_OK;
}

/* Returns whether x goes back and forth: the curve is no graph of a function
 * and needs a margin at the sides. */
static bool line_turns(const PlotItem *it, bool log) {
	if (it->kind != PLOT_LINE || !it->s.x) return false;
	bool rises = false, falls = false;
	double last = NAN;
	for (size_t i = 0; i < it->s.n && !(rises && falls); i++) {
		double x = it->s.x[i];
		if (!plot_usable(x) || (log && x <= 0)) continue;
		rises = rises || x > last;
		falls = falls || x < last;
		last = x;
	}
	return rises && falls;
}

/* Returns the margin beyond the data at either end of an axis, over its
 * length. */
static double axis_margin(const PlotPanel *p, PlotAxis axis) {
	bool points = false, arrows = false, turns = false, tight = p->has_field;
	for (size_t k = 0; k < p->n; k++) {
		const PlotItem *it = &p->items[k];
		points = points || it->marker != PLOT_MARKER_NONE || it->kind == PLOT_BARS ||
		         it->kind == PLOT_ARROWS || it->kind == PLOT_ERRORS;
		arrows = arrows || (it->kind == PLOT_ARROWS && !it->more.grid.z);
		tight = tight || it->kind == PLOT_CONTOURS || it->kind == PLOT_FLOW;
		turns = turns || (axis == PLOT_X && line_turns(it, p->scale[PLOT_X] == PLOT_LOG));
	}
	if (tight && axis != PLOT_Y2) return 0;
	return arrows                    ? ARROW_MARGIN
	       : axis != PLOT_X || turns ? LINE_MARGIN
	       : points                  ? POINT_MARGIN
	                                 : 0;
}

PlotStatus panel_axes(Figure *f, int panel, PlotAxes *out) {
	const PlotPanel *p = &f->panels[panel];
	*out = (PlotAxes){.map = PLOT_MAP_SEQUENTIAL};
	for (int a = 0; a < 4; a++) out->axis[a] = (PlotSpan){0, 1, p->scale[a] == PLOT_LOG, false};
	if (p->solid) return solid_axes(f, panel, out);
	bool any = false, log = false;
	for (size_t k = 0; k < p->n; k++) any = any || p->items[k].s.n || p->items[k].more.grid.z;
	out->right = panel_right(p);
	bool seen = false, given = true;
	for (int k = 0; k < (out->right ? 3 : 2); k++) {
		const PlotAxis a = k == 2 ? PLOT_Y2 : (PlotAxis)k;
		PlotSpan *s = &out->axis[a];
		Extent e = data_extent(p, a);
		bool from_lines = e.lo <= e.hi;
		if (p->has_field && a != PLOT_Y2)
			extent_add_field(&e, a ? p->field.y : p->field.x, a ? p->field.ny : p->field.nx,
			                 p->field.cells, s->log);
		bool empty = e.lo > e.hi;
		seen = seen || from_lines || (p->has_field && !empty);
		log = log || s->log;
		given = given && p->fixed[a];
		if (p->fixed[a]) {
			PlotStatus status = fixed_span(f, panel, a, s);
			if (status) return status;
			continue;
		}
		s->lo = empty ? (s->log ? 0.1 : 0) : e.lo;
		s->hi = empty ? 1 : e.hi;
		double margin = empty ? 0 : axis_margin(p, a);
		span_open(s, margin);
		if (!empty && e.hi > e.lo && margin > 0) {
			if (stands_on(p, a, e.lo)) s->lo = e.lo;
			if (stands_on(p, a, e.hi)) s->hi = e.hi;
		}
	}
	if (!seen && !(any && given))
		out->note = !any && !p->has_field ? "no data" : log ? "no positive data" : "no finite data";
	out->left_out = seen ? count_left_out(p) : 0;
	return panel_coloured(p) ? colour_span(f, panel, out) : PLOT_OK;
}

PlotStatus figure_check(Figure *f) {
	PlotStatus status = f ? PLOT_OK : PLOT_BAD_ARGUMENT;
	PlotAxes axes;
	for (int k = 0; !status && k < figure_count(f); k++) status = panel_axes(f, k, &axes);
	return status;
}

bool panel_reach(Figure *f, int panel, PlotAxis axis, double *low, double *high) {
	if (!f || panel < 0 || panel >= figure_count(f)) return false;
	const PlotPanel *p = &f->panels[panel];
	Extent e = {INFINITY, -INFINITY};
	if (p->solid) {
		if (axis == PLOT_Y2) return false;
		e = solid_extent(p, (int)axis, p->scale[axis] == PLOT_LOG);
	} else if (axis == PLOT_Z) {
		PlotAxes axes;
		if (!panel_coloured(p) || panel_axes(f, panel, &axes) || axes.note) return false;
		e = (Extent){axes.axis[PLOT_Z].lo, axes.axis[PLOT_Z].hi};
	} else {
		e = data_extent(p, axis);
		if (p->has_field && axis != PLOT_Y2)
			extent_add_field(&e, axis ? p->field.y : p->field.x, axis ? p->field.ny : p->field.nx,
			                 p->field.cells, p->scale[axis] == PLOT_LOG);
	}
	*low = e.lo;
	*high = e.hi;
	return e.lo <= e.hi;
}

bool panel_fixed(const Figure *f, int panel, PlotAxis axis) {
	return f && panel >= 0 && panel < figure_count(f) && f->panels[panel].fixed[axis];
}

PlotStatus panel_limits_loose(Figure *f, int panel, PlotAxis axis, double low, double high) {
	if (!f || panel < 0 || panel >= figure_count(f)) return PLOT_BAD_ARGUMENT;
	const PlotPanel *p = &f->panels[panel];
	if (p->fixed[axis]) return PLOT_OK;
	PlotSpan s = {low, high, p->scale[axis] == PLOT_LOG, false};
	if (s.log && !(low > 0)) return PLOT_OK;
	span_open(&s, p->solid || axis == PLOT_Z ? 0 : axis_margin(p, axis));
	return panel_limits(f, panel, axis, s.lo, s.hi);
}

double span_place(const PlotSpan *s, double v) {
	/* not plot_usable: ticks may lie beyond the largest data */
	if (!isfinite(v) || (s->log && v <= 0)) return NAN;
	double u = s->log ? (log10(v) - log10(s->lo)) / (log10(s->hi) - log10(s->lo))
	                  : (v / 2 - s->lo / 2) / (s->hi / 2 - s->lo / 2);
	if (s->turned) u = 1 - u;
	return plot_clamp(u, -1e6, 1e6);
}

/* ---- fields -------------------------------------------------------------- */

/* The samples of one axis of a field that make up one sample of the raster. */
typedef struct Pick {
	size_t first, last; /* first > last: none */
	double
		/* weight of `last` when last == first + 1 and interpolating; else the
		 * mean of first .. last is taken */
		weight;
	bool blend;
} Pick;

/* Computes the positions of the field's points (or of the n + 1 edges of cells)
 * along the axis, rising. *backwards: the order was reversed. */
static double *field_places(const double *x, size_t n, bool cells, const PlotSpan *s,
                            PlotArena *arena, bool *backwards) {
	size_t count = cells ? n + 1 : n;
	double *at = plot_take(arena, count, sizeof *at);
	if (!at) return NULL;
	PlotSpan measured = {s->log ? log10(s->lo) : s->lo, s->log ? log10(s->hi) : s->hi, false,
	                     s->turned};
	for (size_t i = 0; i < n; i++) {
		double v = x ? x[i] : (double)i;
		v = s->log ? (v > 0 ? log10(v) : -1e4) : v;
		at[i] = span_place(&measured, v);
	}
	if (cells) {
		if (n == 1) {
			double half = s->log ? 0.5 : 0.5 / plot_max(s->hi - s->lo, 1e-300);
			at[1] = at[0] + half;
			at[0] -= half;
		} else {
			double last = at[n - 1] + (at[n - 1] - at[n - 2]) / 2, before = at[0];
			at[0] -= (at[1] - at[0]) / 2;
			for (size_t i = 1; i < n; i++) {
				double here = at[i];
				at[i] = (before + here) / 2;
				before = here;
			}
			at[n] = last;
		}
	}
	*backwards = at[count - 1] < at[0];
	for (size_t i = 0; *backwards && i < count / 2; i++) {
		double swap = at[i];
		at[i] = at[count - 1 - i];
		at[count - 1 - i] = swap;
	}
	return at;
}

static Pick *field_picks(const double *x, size_t n, bool cells, const PlotSpan *s, PlotArena *arena,
                         int count) {
	bool backwards = false;
	cells = cells || n == 1;
	double *at = field_places(x, n, cells, s, arena, &backwards);
	Pick *picks = plot_take(arena, (size_t)count, sizeof *picks);
	if (!at || !picks) return NULL;
	size_t points = cells ? n + 1 : n, j = 0;
	for (int k = 0; k < count; k++) {
		Pick *pick = &picks[k];
		double lo = (double)k / count, hi = (k + 1.0) / count, middle = (k + 0.5) / count;
		*pick = (Pick){1, 0, 0, false};
		double slack = 0.5 / count;
		if (middle < at[0] - (cells ? 0 : slack) || middle > at[points - 1] + (cells ? 0 : slack))
			continue;
		while (j + 2 < points && at[j + 1] <= middle) j++;
		size_t first = j, last = j;
		while (first > 0 && at[first] > lo && (cells || at[first - 1] >= lo)) first--;
		if (!cells && at[first] < lo) first++;
		while (last + 1 < (cells ? n : points) && at[last + 1] < hi) last++;
		if (cells) {
			/* Takes the mean only when the sample covers several whole cells;
			 * else the cell in the centre. */
			bool several = last >= first + 2;
			*pick = (Pick){several ? first : j, several ? last : j, 0, false};
		} else if (last >= first + 2 && last < points) {
			*pick = (Pick){first, last, 0, false};
		} else {
			double gap = at[j + 1] - at[j];
			*pick = (Pick){j, j + 1, gap > 0 ? plot_clamp((middle - at[j]) / gap, 0, 1) : 0, true};
		}
		if (backwards) {
			size_t swap = n - 1 - pick->first;
			pick->first = n - 1 - pick->last;
			pick->last = swap;
			pick->weight = 1 - pick->weight;
		}
	}
	return picks;
}

static double field_mean(const PlotField *z, const Pick *px, const Pick *py, bool log) {
	double sum = 0, weights = 0;
	double nearest = 0, nearest_weight = -1;
	for (size_t i = px->first; i <= px->last; i++) {
		for (size_t j = py->first; j <= py->last; j++) {
			double v = z->z[(ptrdiff_t)i * z->x_step + (ptrdiff_t)j * z->y_step];
			double wx = !px->blend ? 1 : i == px->first ? 1 - px->weight : px->weight;
			double wy = !py->blend ? 1 : j == py->first ? 1 - py->weight : py->weight;
			double w = wx * wy;
			bool good = plot_usable(v) && !(log && v <= 0);
			if (w > nearest_weight) {
				nearest_weight = w;
				nearest = good ? v : NAN;
			}
			if (!good || !(w > 0)) continue;
			sum += w * (log ? log10(v) : v);
			weights += w;
		}
	}
	/* a missing sample owns the area nearest to it */
	if (px->blend && py->blend && nearest != nearest) return NAN;
	if (!(weights > 0)) return NAN;
	return log ? pow(10, sum / weights) : sum / weights;
}

bool field_resample(const PlotField *z, const PlotAxes *axes, PlotArena *arena, int width,
                    int height, double *out) {
	Pick *px = field_picks(z->x, z->nx, z->cells, &axes->axis[PLOT_X], arena, width);
	Pick *py = field_picks(z->y, z->ny, z->cells, &axes->axis[PLOT_Y], arena, height);
	if (!px || !py) return false;
	for (int row = 0; row < height; row++) {
		const Pick *y = &py[height - 1 - row];
		for (int column = 0; column < width; column++) {
			bool inside = px[column].first <= px[column].last && y->first <= y->last;
			out[(size_t)row * (size_t)width + (size_t)column] =
				inside ? field_mean(z, &px[column], y, axes->axis[PLOT_Z].log) : INFINITY;
		}
	}
	return true;
}
