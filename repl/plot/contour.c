/* contour.c - contour lines and the areas between them.
 *
 * Method: marching squares. A saddle square is decided by the mean of its
 * corners. Areas are drawn from the lowest up, each over the previous, so that
 * no seam is visible.
 *
 * Edges of squares are numbered: 2*node towards the next node along x,
 * 2*node + 1 along y. For areas the grid gets a border of nodes below every
 * level, which closes every line.
 *
 * Needs: internal.h, a grid checked by figure.c.
 *
 * Guarantees:
 * - Lines are connected as far as possible, and closed where possible.
 * - Squares with a missing corner are omitted.
 * - The cost is the size of the grid times the number of levels.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <string.h>

#define LEVELS_WANTED 9
#define LABEL_EVERY 320.0 /* length of line for one label */
#define LABEL_STRAIGHT 0.93
#define LABEL_APART 12.0

/* Gets the round values inside the axis, from a tick search with at most `most`
 * ticks. */
static int levels_of_ticks(const PlotSpan *z, int most, double *out) {
	PlotTicks ticks;
	int n = 0;
	ticks_find(z, most, &ticks);
	for (int i = 0; i < ticks.n; i++) {
		double u = span_place(z, ticks.major[i].at);
		if (u > 1e-9 && u < 1 - 1e-9) out[n++] = ticks.major[i].at;
	}
	return n;
}

/* Automatic levels are round. Of the two nearest counts, takes the one closer
 * to LEVELS_WANTED. */
int contour_levels(const PlotItem *it, const PlotSpan *z, double out[PLOT_LEVELS]) {
	const PlotLayer *m = &it->more;
	if (m->nlevels) {
		memcpy(out, m->levels, m->nlevels * sizeof *out);
		return (int)m->nlevels;
	}
	int wanted = m->scale > 0 ? (int)plot_clamp(m->scale + 0.5, 2, PLOT_TICKS) : LEVELS_WANTED;
	double finer[PLOT_TICKS];
	int n = levels_of_ticks(z, wanted, out), more = levels_of_ticks(z, 2 * wanted, finer);
	if (more - wanted >= wanted - n) return n;
	memcpy(out, finer, (size_t)more * sizeof *out);
	return more;
}

uint8_t contour_band(const PlotSpan *z, const double *levels, int n, int k) {
	double low = k > 0 ? span_place(z, levels[k - 1]) : 0,
		   high = k < n ? span_place(z, levels[k]) : 1;
	double u = (plot_clamp(low, 0, 1) + plot_clamp(high, 0, 1)) / 2;
	return (uint8_t)((u == u ? u : 0) * (PLOT_MAP_COLOURS - 1) + 0.5);
}

/* ---- marching squares ---------------------------------------------------- */

typedef struct MarchingSquares {
	const PlotField *g;
	bool rim, log;
	size_t nx, ny; /* nodes, with the border */
	double *px, *py, level;
	uint8_t *seen; /* one bit for each edge */
	PlotArena *arena;
	PlotPoint *at;
	size_t n, cap;
} MarchingSquares;

static double node_value(const MarchingSquares *m, size_t i, size_t j) {
	if (m->rim) {
		if (!i || !j || i + 1 == m->nx || j + 1 == m->ny) return -INFINITY;
		i--, j--;
	}
	double v = m->g->z[grid_at(m->g, i, j)];
	bool good = plot_usable(v) && !(m->log && v <= 0) && m->px[i + m->rim] == m->px[i + m->rim] &&
	            m->py[j + m->rim] == m->py[j + m->rim];
	return good ? v : m->rim ? -INFINITY : NAN;
}

static bool march_open(MarchingSquares *m, const PanelBox *box, const PlotItem *it, bool rim,
                       PlotArena *arena) {
	const PlotField *g = &it->more.grid;
	*m = (MarchingSquares){.g = g,
	                       .rim = rim,
	                       .log = box->axes.axis[PLOT_Z].log,
	                       .nx = g->nx + 2 * rim,
	                       .ny = g->ny + 2 * rim,
	                       .arena = arena};
	m->px = plot_take(arena, m->nx, sizeof *m->px);
	m->py = plot_take(arena, m->ny, sizeof *m->py);
	m->seen = plot_take(arena, m->nx * m->ny / 4 + 1, 1);
	if (!m->px || !m->py || !m->seen) return false;
	const PlotRect *r = &box->plot;
	for (size_t k = 0; k < m->nx; k++) {
		size_t i = rim ? (k ? k - 1 : 0) : k;
		double u = span_place(&box->axes.axis[PLOT_X], grid_x(g, i < g->nx ? i : g->nx - 1));
		m->px[k] = r->x0 + u * (r->x1 - r->x0);
	}
	for (size_t k = 0; k < m->ny; k++) {
		size_t j = rim ? (k ? k - 1 : 0) : k;
		double u = span_place(&box->axes.axis[PLOT_Y], grid_y(g, j < g->ny ? j : g->ny - 1));
		m->py[k] = r->y1 - u * (r->y1 - r->y0);
	}
	return true;
}

static void march_point(MarchingSquares *m, PlotPoint p) {
	if (m->n && m->at[m->n - 1].x == p.x && m->at[m->n - 1].y == p.y) return;
	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 256;
		PlotPoint *more = plot_take(m->arena, cap, sizeof *more);
		if (!more) return;
		if (m->n) memcpy(more, m->at, m->n * sizeof *more);
		m->at = more;
		m->cap = cap;
	}
	m->at[m->n++] = p;
}

static void edge_ends(const MarchingSquares *m, size_t edge, size_t *i, size_t *j, size_t *i2,
                      size_t *j2) {
	size_t node = edge / 2;
	*i = node / m->ny;
	*j = node % m->ny;
	*i2 = *i + !(edge & 1);
	*j2 = *j + (edge & 1);
}

static bool edge_crossed(const MarchingSquares *m, size_t edge) {
	size_t i, j, i2, j2;
	edge_ends(m, edge, &i, &j, &i2, &j2);
	if (i2 >= m->nx || j2 >= m->ny) return false;
	double a = node_value(m, i, j), b = node_value(m, i2, j2);
	return a == a && b == b && (a >= m->level) != (b >= m->level);
}

static PlotPoint edge_place(const MarchingSquares *m, size_t edge) {
	size_t i, j, i2, j2;
	edge_ends(m, edge, &i, &j, &i2, &j2);
	double a = node_value(m, i, j), b = node_value(m, i2, j2), t;
	if (a == -INFINITY) t = 1;
	else if (b == -INFINITY) t = 0;
	else if (m->log) t = log(m->level / a) / log(b / a);
	else t = (m->level / 2 - a / 2) / (b / 2 - a / 2);
	t = plot_clamp(t, 0, 1);
	return (PlotPoint){m->px[i] + t * (m->px[i2] - m->px[i]),
	                   m->py[j] + t * (m->py[j2] - m->py[j])};
}

/* Returns the edge by which the line leaves square (i, j) that it enters by
 * `entry`; SIZE_MAX when it ends there. */
static size_t square_exit(const MarchingSquares *m, size_t i, size_t j, size_t entry) {
	if (i + 1 >= m->nx || j + 1 >= m->ny) return SIZE_MAX;
	double a = node_value(m, i, j), b = node_value(m, i + 1, j), c = node_value(m, i + 1, j + 1),
		   d = node_value(m, i, j + 1);
	if (a != a || b != b || c != c || d != d) return SIZE_MAX;
	size_t node = i * m->ny + j;
	size_t low = 2 * node, left = 2 * node + 1, high = 2 * (node + 1),
		   right = 2 * (node + m->ny) + 1;
	bool up[4] = {a >= m->level, b >= m->level, c >= m->level, d >= m->level};
	const size_t edges[4] = {low, right, high, left};
	int crossed = 0;
	for (int k = 0; k < 4; k++) crossed += up[k] != up[(k + 1) % 4];
	if (crossed == 4) {
		bool middle = a / 4 + b / 4 + c / 4 + d / 4 >= m->level;
		if (up[0] == middle)
			return entry == low ? right : entry == right ? low : entry == high ? left : high;
		return entry == low ? left : entry == left ? low : entry == high ? right : high;
	}
	for (int k = 0; k < 4; k++)
		if (edges[k] != entry && up[k] != up[(k + 1) % 4]) return edges[k];
	return SIZE_MAX;
}

static bool edge_mark(MarchingSquares *m, size_t edge) { /* true the first time */
	uint8_t bit = (uint8_t)(1u << edge % 8);
	if (m->seen[edge / 8] & bit) return false;
	m->seen[edge / 8] |= bit;
	return true;
}

/* Follows the line from an edge into the square on one side of it. Returns
 * whether it is closed. */
static bool march_along(MarchingSquares *m, size_t edge, bool forward) {
	size_t start = edge, i = edge / 2 / m->ny, j = edge / 2 % m->ny;
	if (!forward) {
		if (edge & 1 ? !i : !j) return false;
		i -= edge & 1;
		j -= !(edge & 1);
	}
	for (;;) {
		size_t exit = square_exit(m, i, j, edge);
		if (exit == SIZE_MAX) return false;
		march_point(m, edge_place(m, exit));
		if (exit == start) return true;
		if (!edge_mark(m, exit)) return false;
		/* Continues in the square on the other side of the exit. */
		size_t ei = exit / 2 / m->ny, ej = exit / 2 % m->ny;
		bool back = ei == i && ej == j;
		if (back && (exit & 1 ? !ei : !ej)) return false;
		i = back && (exit & 1) ? ei - 1 : ei;
		j = back && !(exit & 1) ? ej - 1 : ej;
		edge = exit;
	}
}

typedef void (*LineFn)(void *ud, PlotPoint *at, size_t n, bool closed);

/* Sends every line of m->level. */
static void march_level(MarchingSquares *m, LineFn line, void *ud) {
	memset(m->seen, 0, m->nx * m->ny / 4 + 1);
	for (size_t edge = 0; edge < 2 * m->nx * m->ny; edge++) {
		if (m->seen[edge / 8] & 1u << edge % 8 || !edge_crossed(m, edge)) continue;
		edge_mark(m, edge);
		m->n = 0;
		march_point(m, edge_place(m, edge));
		bool closed = march_along(m, edge, true);
		if (!closed) {
			for (size_t k = 0; k < m->n / 2; k++) {
				PlotPoint swap = m->at[k];
				m->at[k] = m->at[m->n - 1 - k];
				m->at[m->n - 1 - k] = swap;
			}
			march_along(m, edge, false);
		}
		if (m->n >= 2 && !m->arena->failed) line(ud, m->at, m->n, closed);
	}
}

/* ---- areas --------------------------------------------------------------- */

typedef struct Rings {
	PlotArena *arena;
	PlotPoint *at;
	size_t n, cap;
} Rings;

static void add_ring(void *ud, PlotPoint *at, size_t n, bool closed) {
	Rings *r = ud;
	(void)closed;
	if (n < 3) return;
	if (r->n + n + 1 > r->cap) {
		size_t cap = 2 * (r->n + n + 1);
		PlotPoint *more = plot_take(r->arena, cap, sizeof *more);
		if (!more) return;
		if (r->n) memcpy(more, r->at, r->n * sizeof *more);
		r->at = more;
		r->cap = cap;
	}
	if (r->n) r->at[r->n++] = (PlotPoint){NAN, NAN};
	memcpy(r->at + r->n, at, n * sizeof *at);
	r->n += n;
}

static void draw_areas(Scene *s, const PanelBox *box, const PlotItem *it, const double *levels,
                       int n) {
	const PlotSpan *z = &box->axes.axis[PLOT_Z];
	PlotArena arena = {s->arena.alloc, NULL, false};
	PlotColour map[256];
	plot_map_colours(box->axes.map, map);
	MarchingSquares m;
	if (march_open(&m, box, it, true, &arena)) {
		Rings rings = {.arena = &arena};
		for (int k = 0; k <= n; k++) {
			m.level = k ? levels[k - 1] : -PLOT_HUGE * 10;
			rings.n = 0;
			march_level(&m, add_ring, &rings);
			PlotColour c = map[contour_band(z, levels, n, k)];
			if (it->s.opacity > 0) c.a = (uint8_t)(it->s.opacity * 255 + 0.5);
			if (rings.n) scene_polygon(s, rings.at, rings.n, c);
		}
	}
	if (arena.failed) s->arena.failed = true;
	plot_arena_free(&arena);
}

/* ---- labelled lines ------------------------------------------------------ */

#define MOST_LABELS 200

typedef struct LabelledLines {
	Scene *s;
	const PanelBox *box;
	const PlotItem *it;
	PlotColour colour;
	char text[64];
	double width; /* of the text; 0: no labels */
	PlotPoint taken[MOST_LABELS];
	double reach[MOST_LABELS];
	int labels;
} LabelledLines;

/* Returns the point at distance d along the line. */
static PlotPoint along(const PlotPoint *at, const double *length, size_t n, double d) {
	size_t lo = 0, hi = n - 1;
	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;
		if (length[mid] <= d) lo = mid;
		else hi = mid;
	}
	double gap = length[hi] - length[lo],
		   t = gap > 0 ? plot_clamp((d - length[lo]) / gap, 0, 1) : 0;
	return (PlotPoint){at[lo].x + t * (at[hi].x - at[lo].x), at[lo].y + t * (at[hi].y - at[lo].y)};
}

/* Returns the quality of a label at d; 0: not possible. */
static double label_worth(const LabelledLines *l, const PlotPoint *at, const double *length,
                          size_t n, double d) {
	double half = l->width / 2 + 2;
	PlotPoint a = along(at, length, n, d - half), b = along(at, length, n, d + half),
			  m = along(at, length, n, d);
	const PlotRect *r = &l->box->plot;
	PlotRect room = {r->x0 + 8, r->y0 + 8, r->x1 - 8, r->y1 - 8};
	if (!draw_inside(&room, a) || !draw_inside(&room, b)) return 0;
	double straight = hypot(b.x - a.x, b.y - a.y) / (2 * half);
	if (straight < LABEL_STRAIGHT) return 0;
	double apart = INFINITY;
	for (int k = 0; k < l->labels; k++)
		apart =
			plot_min(apart, hypot(l->taken[k].x - m.x, l->taken[k].y - m.y) - l->reach[k] - half);
	if (apart < LABEL_APART) return 0;
	double level = fabs(b.x - a.x) / (2 * half); /* level text reads best */
	return straight + 0.15 * level + 0.1 * plot_min(apart, 60) / 60;
}

static void put_label(LabelledLines *l, PlotPoint a, PlotPoint b) {
	double angle = atan2(-(b.y - a.y), b.x - a.x) * 180 / PLOT_PI, size = plot_style.tick * 0.9;
	if (angle > 90) angle -= 180;
	if (angle <= -90) angle += 180;
	double turn = angle * PLOT_PI / 180, down = size * FONT_CAP / 2;
	PlotPoint m = {(a.x + b.x) / 2 + sin(turn) * down, (a.y + b.y) / 2 + cos(turn) * down};
	scene_text_turned(l->s, l->text, m.x, m.y, size, ANCHOR_MIDDLE, angle,
	                  plot_shade(l->colour, 0.8));
}

static void draw_part(LabelledLines *l, const PlotPoint *at, const double *length, size_t n,
                      double from, double to) {
	PlotPoint *part = plot_take(&l->s->arena, n + 2, sizeof *part);
	if (!part || to <= from) return;
	size_t count = 0;
	part[count++] = along(at, length, n, from);
	for (size_t i = 0; i < n; i++)
		if (length[i] > from && length[i] < to) part[count++] = at[i];
	part[count++] = along(at, length, n, to);
	scene_line(l->s, part, count, l->it->s.width > 0 ? l->it->s.width : 1.2, l->colour,
	           l->it->dash);
}

static void draw_level_line(void *ud, PlotPoint *at, size_t n, bool closed) {
	LabelledLines *l = ud;
	(void)closed;
	double *length = plot_take(&l->s->arena, n, sizeof *length);
	if (!length) return;
	for (size_t i = 1; i < n; i++)
		length[i] = length[i - 1] + hypot(at[i].x - at[i - 1].x, at[i].y - at[i - 1].y);
	double whole = length[n - 1], from = 0, need = l->width + 8;
	int wanted = l->width > 0 && whole > 4 * need + 40 ? (int)plot_max(1, whole / LABEL_EVERY) : 0;
	for (int k = 0; k < wanted && l->labels < MOST_LABELS; k++) {
		double low = whole * k / wanted + need, high = whole * (k + 1) / wanted - need, best = 0,
			   where = 0;
		for (double d = plot_max(low, from + need); d <= high; d += 5) {
			double worth = label_worth(l, at, length, n, d);
			if (worth > best) best = worth, where = d;
		}
		if (!(best > 0)) continue;
		double half = l->width / 2 + 3;
		draw_part(l, at, length, n, from, where - half);
		put_label(l, along(at, length, n, where - half), along(at, length, n, where + half));
		l->taken[l->labels] = along(at, length, n, where);
		l->reach[l->labels++] = half;
		from = where + half;
	}
	draw_part(l, at, length, n, from, whole);
}

/* Darkens light colours of a map for lines on white. */
static PlotColour readable(PlotColour c) {
	double light = (0.3 * c.r + 0.59 * c.g + 0.11 * c.b) / 255;
	return light > 0.62 ? plot_shade(c, 0.62 / light) : c;
}

static void draw_lines(Scene *s, const PanelBox *box, const PlotItem *it, const double *levels,
                       int n) {
	const PlotSpan *z = &box->axes.axis[PLOT_Z];
	PlotArena arena = {s->arena.alloc, NULL, false};
	PlotColour map[256];
	plot_map_colours(box->axes.map, map);
	LabelledLines *l = plot_take(&arena, 1, sizeof *l);
	MarchingSquares m;
	if (l && march_open(&m, box, it, false, &arena)) {
		*l = (LabelledLines){.s = s, .box = box, .it = it};
		for (int k = 0; k < n; k++) {
			double u = span_place(z, levels[k]);
			uint8_t index =
				(uint8_t)(plot_clamp(u == u ? u : 0, 0, 1) * (PLOT_MAP_COLOURS - 1) + 0.5);
			l->colour = it->s.colour >= 0 ? draw_colour(it, 1) : readable(map[index]);
			ticks_number(levels[k], l->text, sizeof l->text);
			l->width = it->more.labelled ? scene_text_width(s, l->text, plot_style.tick * 0.9) : 0;
			m.level = levels[k];
			march_level(&m, draw_level_line, l);
		}
	}
	if (arena.failed) s->arena.failed = true;
	plot_arena_free(&arena);
}

void contour_draw(Scene *s, const PanelBox *box, const PlotItem *it) {
	double levels[PLOT_LEVELS];
	if (it->more.grid.nx < 2 || it->more.grid.ny < 2) return;
	int n = contour_levels(it, &box->axes.axis[PLOT_Z], levels);
	if (it->more.filled) draw_areas(s, box, it, levels, n);
	else draw_lines(s, box, it, levels, n);
}
