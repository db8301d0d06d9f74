/* streamlines.c - evenly spaced streamlines of a vector field.
 *
 * Method: a mask of cells records which line passed through. Seeds go in rings
 * from the edge of the plot to its centre. A line is integrated in both
 * directions by the midpoint rule in the plane of the picture. It stops at the
 * first cell of another line.
 *
 * Needs: internal.h, a grid checked by figure.c.
 *
 * Guarantees:
 * - The distance between lines is at least about one cell.
 * - Every line ends: at a taken cell, at the edge, where the field is missing
 *   or zero, or after a fixed length.
 * - Lines shorter than a few cells are not drawn.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <string.h>

#define CELL 15.0
#define STEP 1.0
#define LONGEST 5000 /* steps in one direction */
#define SHORTEST 26.0

typedef struct FlowField {
	const PlotField *g;
	const double *w;
	double *px, *py; /* positions of the grid lines, rising or falling */
	double *dx, *dy; /* lengths in the picture over those in the data */
	PlotRect r;
	int across, down;
	double cell;
	int *taken; /* number of the line through the cell, 0: none */
	int line;
	PlotPoint *at;
	size_t n;
} FlowField;

/* Returns the interval of the grid lines that contains v, -1 outside. */
static ptrdiff_t find_interval(const double *at, size_t n, double v) {
	bool rises = at[n - 1] > at[0];
	if (!(rises ? v >= at[0] && v <= at[n - 1] : v <= at[0] && v >= at[n - 1])) return -1;
	size_t lo = 0, hi = n - 1;
	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;
		if (rises ? at[mid] <= v : at[mid] >= v) lo = mid;
		else hi = mid;
	}
	return (ptrdiff_t)lo;
}

/* Gets the unit vector of the field in the picture; false where there is
 * none. */
static bool flow_direction(const FlowField *f, PlotPoint p, PlotPoint *out) {
	ptrdiff_t i = find_interval(f->px, f->g->nx, p.x), j = find_interval(f->py, f->g->ny, p.y);
	if (i < 0 || j < 0) return false;
	double s = (p.x - f->px[i]) / (f->px[i + 1] - f->px[i]),
		   t = (p.y - f->py[j]) / (f->py[j + 1] - f->py[j]);
	double u = 0, v = 0;
	for (int k = 0; k < 4; k++) {
		size_t at = grid_at(f->g, (size_t)i + (k & 1), (size_t)j + (k >> 1));
		double weight = (k & 1 ? s : 1 - s) * (k >> 1 ? t : 1 - t);
		u += weight * f->g->z[at];
		v += weight * f->w[at];
	}
	u *= f->dx[i];
	v *= f->dy[j];
	double length = hypot(u, v);
	if (!(length > 0 && length < INFINITY)) return false;
	*out = (PlotPoint){u / length, v / length};
	return true;
}

static int *flow_cell(const FlowField *f, PlotPoint p) {
	int x = (int)floor((p.x - f->r.x0) / f->cell), y = (int)floor((p.y - f->r.y0) / f->cell);
	return x >= 0 && y >= 0 && x < f->across && y < f->down ? &f->taken[y * f->across + x] : NULL;
}

/* Integrates in one direction and appends to f->at. Returns true when the line
 * came back to `p`: it is closed. */
static bool flow_walk(FlowField *f, PlotPoint p, double sign) {
	const PlotPoint start = p;
	/* steps left to reach the start, after the line entered one of its own
	 * cells */
	int *cell = flow_cell(f, p), left = -1;
	const int *last = cell;
	size_t before = 0;
	int stay = 0;
	for (int k = 0; k < LONGEST; k++) {
		PlotPoint a, b;
		if (!flow_direction(f, p, &a)) break;
		PlotPoint middle = {p.x + sign * STEP / 2 * a.x, p.y + sign * STEP / 2 * a.y};
		if (!flow_direction(f, middle, &b)) break;
		if (a.x * b.x + a.y * b.y < 0) break; /* the direction reverses within a step: a sink */
		p = (PlotPoint){p.x + sign * STEP * b.x, p.y + sign * STEP * b.y};
		int *next = flow_cell(f, p);
		if (!next) break;
		if (k > 8 && hypot(p.x - start.x, p.y - start.y) < STEP) {
			f->at[f->n++] = start;
			return true;
		}
		if (next != cell && left < 0) {
			if (*next && *next != f->line) return false;
			if (*next == f->line) {
				left = (int)(1.7 * f->cell / STEP);
				before = f->n;
			}
			*next = f->line;
			cell = next;
		}
		if (left > 0 && --left == 0) break;
		stay = next == last ? stay + 1 : 0;
		last = next;
		if (stay * STEP > 5 * f->cell) break; /* it winds around a point */
		f->at[f->n++] = p;
	}
	if (left >= 0) f->n = before;
	return false;
}

static void flow_line(FlowField *f, Scene *s, const PlotItem *it, PlotPoint seed) {
	int *cell = flow_cell(f, seed);
	if (!cell || *cell) return;
	f->line++;
	*cell = f->line;
	f->n = 0;
	bool closed = flow_walk(f, seed, -1);
	for (size_t k = 0; k < f->n / 2; k++) {
		PlotPoint swap = f->at[k];
		f->at[k] = f->at[f->n - 1 - k];
		f->at[f->n - 1 - k] = swap;
	}
	f->at[f->n++] = seed;
	if (!closed) flow_walk(f, seed, 1);
	if ((double)f->n * STEP < SHORTEST) {
		for (int k = 0; k < f->across * f->down; k++)
			if (f->taken[k] == f->line) f->taken[k] = 0;
		*cell = 0;
		return;
	}
	PlotColour c = draw_colour(it, 1);
	double width = it->s.width > 0 ? it->s.width : 1.15;
	scene_line(s, f->at, f->n, width, c, it->dash);
	size_t middle = f->n / 2;
	PlotPoint from = f->at[middle > 3 ? middle - 3 : 0], to = f->at[middle];
	double length = hypot(to.x - from.x, to.y - from.y);
	if (length > 0) {
		double ahead = 3 / length;
		draw_arrow_head(s, from,
		                (PlotPoint){to.x + ahead * (to.x - from.x), to.y + ahead * (to.y - from.y)},
		                6.5 + width, c);
	}
}

static bool flow_open(FlowField *f, const PanelBox *box, const PlotItem *it, PlotArena *arena) {
	const PlotField *g = &it->more.grid;
	*f = (FlowField){.g = g, .w = it->more.w, .r = box->plot};
	f->cell = CELL / plot_clamp(it->more.scale > 0 ? it->more.scale : 1, 0.1, 6);
	f->across = (int)((f->r.x1 - f->r.x0) / f->cell) + 1;
	f->down = (int)((f->r.y1 - f->r.y0) / f->cell) + 1;
	f->taken = plot_take(arena, (size_t)f->across * (size_t)f->down, sizeof *f->taken);
	f->at = plot_take(arena, 2 * LONGEST + 4, sizeof *f->at);
	for (int a = 0; a < 2; a++) {
		size_t n = a ? g->ny : g->nx;
		double *at = plot_take(arena, n, sizeof *at), *rate = plot_take(arena, n, sizeof *rate);
		if (!at || !rate) return false;
		const PlotSpan *span = &box->axes.axis[a];
		for (size_t k = 0; k < n; k++) {
			double u = span_place(span, a ? grid_y(g, k) : grid_x(g, k));
			at[k] = a ? f->r.y1 - u * (f->r.y1 - f->r.y0) : f->r.x0 + u * (f->r.x1 - f->r.x0);
			if (at[k] != at[k]) return false;
		}
		for (size_t k = 0; k + 1 < n; k++) {
			double from = a ? grid_y(g, k) : grid_x(g, k),
				   to = a ? grid_y(g, k + 1) : grid_x(g, k + 1);
			rate[k] = (at[k + 1] - at[k]) / (to - from);
		}
		if (a) f->py = at, f->dy = rate;
		else f->px = at, f->dx = rate;
	}
	return f->taken && f->at;
}

void flow_draw(Scene *s, const PanelBox *box, const PlotItem *it) {
	PlotArena arena = {s->arena.alloc, NULL, false};
	FlowField f;
	if (it->more.grid.nx >= 2 && it->more.grid.ny >= 2 && flow_open(&f, box, it, &arena)) {
		int rings = (f.across < f.down ? f.across : f.down) / 2 + 1;
		for (int ring = 0; ring < rings; ring++) {
			int x0 = ring, y0 = ring, x1 = f.across - 1 - ring, y1 = f.down - 1 - ring;
			for (int y = y0; y <= y1; y++)
				for (int x = x0; x <= x1; x += y == y0 || y == y1 || x1 == x0 ? 1 : x1 - x0)
					flow_line(
						&f, s, it,
						(PlotPoint){f.r.x0 + (x + 0.5) * f.cell, f.r.y0 + (y + 0.5) * f.cell});
		}
	}
	if (arena.failed) s->arena.failed = true;
	plot_arena_free(&arena);
}
