/* figure.c - figures, panels and their contents.
 *
 * Needs: internal.h.
 *
 * Guarantees:
 * - Strings are owned and sanitised.
 * - Series and fields are checked here only; the writers trust them.
 * - A failed call leaves the figure unchanged and sets the error message.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PANEL_WIDTH 400
#define PANEL_HEIGHT 300
#define LARGEST_GRID 16
#define LARGEST_NAMES 200

PlotStatus plot_fail(Figure *f, PlotStatus status, const char *format, ...) {
	va_list args;
	va_start(args, format);
	vsnprintf(f->error, sizeof f->error, format, args);
	va_end(args);
	return status;
}

static PlotStatus no_memory(Figure *f) {
	return plot_fail(f, PLOT_NO_MEMORY, "not enough memory for the plot");
}

/* ---- life cycle ---------------------------------------------------------- */

Figure *figure_new(const PlotAllocator *alloc, int rows, int cols) {
	if (!alloc) alloc = &plot_malloc;
	if (rows < 1 || cols < 1 || rows > LARGEST_GRID || cols > LARGEST_GRID) return NULL;
	Figure *f = plot_resize(alloc, NULL, 0, sizeof *f);
	if (!f) return NULL;
	*f = (Figure){.alloc = *alloc, .rows = rows, .cols = cols};
	size_t bytes = (size_t)(rows * cols) * sizeof *f->panels;
	f->panels = plot_resize(alloc, NULL, 0, bytes);
	if (!f->panels) {
		plot_resize(alloc, f, sizeof *f, 0);
		return NULL;
	}
	memset(f->panels, 0, bytes);
	for (int k = 0; k < rows * cols; k++) {
		f->panels[k].azimuth = -50;
		f->panels[k].elevation = 28;
	}
	return f;
}

static void free_names(const PlotAllocator *alloc, PlotNames *names) {
	for (size_t i = 0; i < names->n; i++) plot_free_text(alloc, names->text[i]);
	if (names->text) plot_resize(alloc, names->text, names->n * sizeof *names->text, 0);
	if (names->at) plot_resize(alloc, names->at, names->n * sizeof *names->at, 0);
	*names = (PlotNames){0};
}

void figure_free(Figure *f) {
	if (!f) return;
	PlotAllocator alloc = f->alloc;
	for (int k = 0; k < f->rows * f->cols; k++) {
		PlotPanel *p = &f->panels[k];
		for (size_t i = 0; i < p->n; i++) {
			plot_free_text(&alloc, (char *)(uintptr_t)p->items[i].s.label);
			plot_free_text(&alloc, (char *)(uintptr_t)p->items[i].more.text);
		}
		for (int a = 0; a < 4; a++) free_names(&alloc, &p->ticks[a]);
		plot_resize(&alloc, p->items, p->cap * sizeof *p->items, 0);
		plot_free_text(&alloc, p->title);
		for (int a = 0; a < 4; a++) plot_free_text(&alloc, p->label[a]);
	}
	plot_resize(&alloc, f->panels, (size_t)(f->rows * f->cols) * sizeof *f->panels, 0);
	plot_free_text(&alloc, f->title);
	plot_resize(&alloc, f, sizeof *f, 0);
}

const char *figure_error(const Figure *f) { return f ? f->error : "there is no figure"; }

/* Layers of these kinds get the next series colour; the others are black by
 * default. */
static bool takes_colour(PlotKind k) {
	return k == PLOT_LINE || k == PLOT_SCATTER || k == PLOT_BAND || k == PLOT_BARS ||
	       k == PLOT_STEMS || k == PLOT_ERRORS || k == PLOT_POLYGON || k == PLOT_LINE_3D ||
	       k == PLOT_SCATTER_3D;
}

/* ---- settings ------------------------------------------------------------ */

static PlotStatus set_text(Figure *f, char **slot, const char *text) {
	char *copy = NULL;
	if (text && *text) {
		copy = plot_copy_text(&f->alloc, text);
		if (!copy) return no_memory(f);
	}
	plot_free_text(&f->alloc, *slot);
	*slot = copy;
	return PLOT_OK;
}

/* Returns the panel, or NULL with the error set. */
static PlotPanel *find_panel(Figure *f, int panel) {
	if (!f) return NULL;
	int n = f->rows * f->cols;
	if (panel >= 0 && panel < n) return &f->panels[panel];
	plot_fail(f, PLOT_BAD_ARGUMENT, "there is no panel %d in a figure of %d", panel, n);
	return NULL;
}

static bool axis_known(Figure *f, PlotAxis axis) {
	if ((int)axis >= 0 && (int)axis <= (int)PLOT_Y2) return true;
	plot_fail(f, PLOT_BAD_ARGUMENT, "there is no axis %d", (int)axis);
	return false;
}

PlotStatus figure_title(Figure *f, const char *text) {
	return f ? set_text(f, &f->title, text) : PLOT_BAD_ARGUMENT;
}

PlotStatus figure_size(Figure *f, double width, double height) {
	if (!f) return PLOT_BAD_ARGUMENT;
	if (!(width >= 80 && width <= 10000 && height >= 80 && height <= 10000))
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "a figure is 80 to 10000 wide and high; %g by %g was asked for", width,
		                 height);
	f->width = width;
	f->height = height;
	return PLOT_OK;
}

void figure_natural_size(const Figure *f, double *width, double *height) {
	*width = f->width > 0 ? f->width : f->cols == 1 ? 480 : PANEL_WIDTH * f->cols;
	*height = f->height > 0 ? f->height
	                        : (f->rows == 1 && f->cols == 1 ? 340 : PANEL_HEIGHT * f->rows) +
	                              (f->title ? 24 : 0);
}

PlotStatus panel_title(Figure *f, int panel, const char *text) {
	PlotPanel *p = find_panel(f, panel);
	return p ? set_text(f, &p->title, text) : PLOT_BAD_ARGUMENT;
}

PlotStatus panel_label(Figure *f, int panel, PlotAxis axis, const char *text) {
	PlotPanel *p = find_panel(f, panel);
	return p && axis_known(f, axis) ? set_text(f, &p->label[axis], text) : PLOT_BAD_ARGUMENT;
}

PlotStatus panel_scale(Figure *f, int panel, PlotAxis axis, PlotScale scale) {
	PlotPanel *p = find_panel(f, panel);
	if (!p || !axis_known(f, axis)) return PLOT_BAD_ARGUMENT;
	if (scale != PLOT_LINEAR && scale != PLOT_LOG)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no scale %d", (int)scale);
	p->scale[axis] = scale;
	return PLOT_OK;
}

PlotStatus panel_limits(Figure *f, int panel, PlotAxis axis, double low, double high) {
	PlotPanel *p = find_panel(f, panel);
	if (!p || !axis_known(f, axis)) return PLOT_BAD_ARGUMENT;
	if (!plot_usable(low) || !plot_usable(high) || low == high)
		return plot_fail(
			f, PLOT_BAD_ARGUMENT,
			"the limits of an axis must be two different finite numbers; got %g and %g", low, high);
	p->low[axis] = low;
	p->high[axis] = high;
	p->fixed[axis] = true;
	return PLOT_OK;
}

PlotStatus panel_legend(Figure *f, int panel, PlotLegend where) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if ((int)where < 0 || (int)where > (int)PLOT_LEGEND_OUTSIDE)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no place %d for a legend", (int)where);
	p->legend = where;
	return PLOT_OK;
}

PlotStatus panel_grid(Figure *f, int panel, bool on) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	p->grid = on;
	return PLOT_OK;
}

PlotStatus panel_aspect(Figure *f, int panel, double ratio) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if (!(ratio >= 0 && ratio <= 1e6) || (ratio > 0 && ratio < 1e-6))
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "the aspect of a plot is a number from 1e-6 to 1e6; got %g", ratio);
	p->aspect = ratio;
	return PLOT_OK;
}

PlotStatus panel_view(Figure *f, int panel, double azimuth, double elevation) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if (!(azimuth >= -1e6 && azimuth <= 1e6) || !(elevation >= -90 && elevation <= 90))
		return plot_fail(
			f, PLOT_BAD_ARGUMENT,
			"a view has an azimuth and an elevation of -90 to 90 degrees; got %g and %g", azimuth,
			elevation);
	p->azimuth = azimuth;
	p->elevation = elevation;
	return PLOT_OK;
}

PlotStatus panel_map(Figure *f, int panel, PlotMap map) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if ((int)map < 0 || (int)map > (int)PLOT_MAP_CYCLIC)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no colour map %d", (int)map);
	p->map = map;
	return PLOT_OK;
}

PlotStatus panel_ticks(Figure *f, int panel, PlotAxis axis, size_t n, const double *at,
                       const char *const *texts) {
	PlotPanel *p = find_panel(f, panel);
	if (!p || !axis_known(f, axis)) return PLOT_BAD_ARGUMENT;
	if (axis == PLOT_Z || (n && (!at || !texts)) || n > LARGEST_NAMES)
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "ticks are set on x or an axis of y, at most %d of them", LARGEST_NAMES);
	for (size_t i = 0; i < n; i++)
		if (!plot_usable(at[i]) || (i && !(at[i] > at[i - 1])))
			return plot_fail(f, PLOT_BAD_ARGUMENT,
			                 "the places of ticks must be finite and rise; number %zu does not", i);
	PlotNames names = {0};
	if (n) {
		names.at = plot_resize(&f->alloc, NULL, 0, n * sizeof *names.at);
		names.text = plot_resize(&f->alloc, NULL, 0, n * sizeof *names.text);
		for (; names.at && names.text && names.n < n; names.n++) {
			names.at[names.n] = at[names.n];
			names.text[names.n] = plot_copy_text(&f->alloc, texts[names.n] ? texts[names.n] : "");
			if (!names.text[names.n]) break;
		}
		if (names.n < n) {
			size_t made = names.n;
			for (size_t i = 0; i < made; i++) plot_free_text(&f->alloc, names.text[i]);
			if (names.text) plot_resize(&f->alloc, names.text, n * sizeof *names.text, 0);
			if (names.at) plot_resize(&f->alloc, names.at, n * sizeof *names.at, 0);
			return no_memory(f);
		}
	}
	free_names(&f->alloc, &p->ticks[axis]);
	p->ticks[axis] = names;
	return PLOT_OK;
}

static bool is_blank(const PlotPanel *p) {
	return !p->n && !p->has_field && !p->title && !p->label[0] && !p->label[1] && !p->label[2];
}

bool figure_shows(const Figure *f, int panel) {
	if (!is_blank(&f->panels[panel])) return true;
	for (int k = 0; k < f->rows * f->cols; k++)
		if (!is_blank(&f->panels[k])) return false;
	return true;
}

int figure_count(const Figure *f) { return f ? f->rows * f->cols : 0; }

bool panel_right(const PlotPanel *p) {
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].more.right) return !p->solid;
	return false;
}

bool panel_coloured(const PlotPanel *p) {
	if (p->has_field) return true;
	for (size_t i = 0; i < p->n; i++) {
		const PlotItem *it = &p->items[i];
		if (it->kind == PLOT_CONTOURS || (it->more.c && it->kind != PLOT_ERRORS)) return true;
	}
	return false;
}

bool panel_has_bar(const PlotPanel *p) {
	if (p->has_field) return true;
	for (size_t i = 0; i < p->n; i++) {
		const PlotItem *it = &p->items[i];
		if (it->more.c && it->kind != PLOT_ERRORS) return true;
		/* Labelled lines, and lines of a single colour, need no bar. */
		if (it->kind == PLOT_CONTOURS &&
		    (it->more.filled || (!it->more.labelled && it->s.colour < 0)))
			return true;
	}
	return false;
}

bool panel_covered(const PlotPanel *p) {
	if (p->has_field) return true;
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].kind == PLOT_CONTOURS && p->items[i].more.filled) return true;
	return false;
}

/* ---- data ---------------------------------------------------------------- */

/* Coordinates must be finite and strictly monotonic. Returns the first index
 * where they are not, or n. */
static size_t first_disorder(const double *x, size_t n) {
	if (!x) return n;
	for (size_t i = 0; i < n; i++) {
		if (!plot_usable(x[i])) return i;
		if (i && (x[1] > x[0] ? !(x[i] > x[i - 1]) : !(x[i] < x[i - 1]))) return i;
	}
	return n;
}

/* Checks the grid of a field and sets its default steps. */
static PlotStatus check_grid(Figure *f, PlotField *z) {
	if (!z->z || !z->nx || !z->ny)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "a field needs at least one value");
	if ((int)z->map < 0 || (int)z->map > (int)PLOT_MAP_CYCLIC)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no colour map %d", (int)z->map);
	for (int a = 0; a < 2; a++) {
		size_t n = a ? z->ny : z->nx, at = first_disorder(a ? z->y : z->x, n);
		if (at < n)
			return plot_fail(f, PLOT_BAD_DATA,
			                 "the %s coordinates of a field must be finite and rise or fall "
			                 "strictly; number %zu does not",
			                 a ? "y" : "x", at);
	}
	if (!z->x_step && !z->y_step) {
		z->x_step = (ptrdiff_t)z->ny;
		z->y_step = 1;
	}
	return PLOT_OK;
}

static bool on_grid(const PlotLayer *l) {
	return l->kind == PLOT_CONTOURS || l->kind == PLOT_FLOW || l->kind == PLOT_SURFACE ||
	       (l->kind == PLOT_ARROWS && l->grid.z);
}

static bool in_space(PlotKind k) {
	return k == PLOT_SURFACE || k == PLOT_LINE_3D || k == PLOT_SCATTER_3D;
}

/* Checks the fields that each kind requires. */
static PlotStatus check_layer(Figure *f, const PlotPanel *p, const PlotLayer *l) {
	const PlotSeries *s = &l->s;
	if ((int)l->kind < 0 || (int)l->kind > (int)PLOT_SCATTER_3D)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no kind of layer %d", (int)l->kind);
	bool grid = on_grid(l), rules = l->kind == PLOT_RULES;
	if (!grid && s->n && (rules ? (!s->x) == (!s->y) : !s->y))
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 rules ? "rules have either x or y" : "a series needs its y values");
	bool second = l->kind == PLOT_BAND || l->kind == PLOT_LINE_3D || l->kind == PLOT_SCATTER_3D ||
	              (l->kind == PLOT_ARROWS && !grid);
	if (second && s->n && (!l->a || (l->kind == PLOT_ARROWS && !l->b)))
		return plot_fail(f, PLOT_BAD_ARGUMENT, "a layer of kind %d needs its further values",
		                 (int)l->kind);
	if ((l->kind == PLOT_FLOW || l->kind == PLOT_ARROWS) && grid && !l->w)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "vectors have two components");
	if (l->kind == PLOT_TEXT && !l->text)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "a text is missing");
	if ((int)s->dash < 0 || (int)s->dash > (int)PLOT_NO_LINE || (int)s->marker < 0 ||
	    (int)s->marker > (int)PLOT_MARKER_AUTO)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no such line or marker style");
	if (!(s->width >= 0 && s->width <= 100))
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "a line or marker is 0 to 100 wide; %g was asked for", s->width);
	if (!(s->opacity >= 0 && s->opacity <= 1))
		return plot_fail(f, PLOT_BAD_ARGUMENT, "an opacity is 0 to 1; %g was asked for",
		                 s->opacity);
	if (!plot_usable(l->base) || !(l->scale >= 0 && l->scale <= PLOT_HUGE))
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "a base is finite and a scale is finite and not negative");
	if ((p->n || p->has_field) && in_space(l->kind) != p->solid)
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "a panel is flat or in space; layers of both kinds do not go together");
	for (size_t i = 0; i < l->nlevels; i++)
		if (!plot_usable(l->levels[i]) || (i && !(l->levels[i] > l->levels[i - 1])))
			return plot_fail(f, PLOT_BAD_DATA,
			                 "levels must be finite and rise; number %zu does not", i);
	if (l->nlevels > PLOT_LEVELS)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there are at most %d levels; %zu were given",
		                 PLOT_LEVELS, l->nlevels);
	return PLOT_OK;
}

/* Returns the smallest distance between neighbouring bars, which determines
 * their width. */
static double smallest_gap(const PlotItem *it) {
	double least = INFINITY;
	for (size_t i = 1; i < it->s.n; i++) {
		double gap = it->more.sideways ? item_y(it, i) - item_y(it, i - 1)
		                               : item_x(it, i) - item_x(it, i - 1);
		if (gap != 0 && plot_usable(gap)) least = plot_min(least, gap < 0 ? -gap : gap);
	}
	return least < INFINITY ? least : 1;
}

PlotStatus panel_layer(Figure *f, int panel, const PlotLayer *layer) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if (!layer) return plot_fail(f, PLOT_BAD_ARGUMENT, "a layer is missing");
	PlotLayer l = *layer;
	const PlotSeries *s = &l.s;
	PlotStatus status = check_layer(f, p, &l);
	if (!status && on_grid(&l)) status = check_grid(f, &l.grid);
	if (status) return status;
	if (p->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 4;
		PlotItem *items =
			plot_resize(&f->alloc, p->items, p->cap * sizeof *items, cap * sizeof *items);
		if (!items) return no_memory(f);
		p->items = items;
		p->cap = cap;
	}
	char *label = NULL, *text = NULL;
	status = set_text(f, &label, s->label);
	if (!status) status = set_text(f, &text, l.text);
	if (status) {
		plot_free_text(&f->alloc, label);
		return status;
	}
	int number = 0; /* index among the layers that take a series colour */
	for (size_t i = 0; i < p->n; i++) number += takes_colour(p->items[i].kind);
	number %= 1024;
	bool scatter = l.kind == PLOT_SCATTER || l.kind == PLOT_SCATTER_3D;
	PlotItem *it = &p->items[p->n++];
	*it = (PlotItem){.kind = l.kind, .s = *s, .more = l};
	it->s.label = label;
	it->more.text = text;
	if (!it->s.x_step) it->s.x_step = 1;
	if (!it->s.y_step) it->s.y_step = 1;
	it->colour = s->colour >= 0 ? s->colour : takes_colour(l.kind) ? number : PLOT_RGB(24, 24, 28);
	/* When the series colours repeat, the dash changes, so that series stay
	 * distinguishable. */
	static const PlotDash rounds[4] = {PLOT_SOLID, PLOT_DASHED, PLOT_DOTTED, PLOT_DASH_DOT};
	it->dash = s->dash == PLOT_DASH_AUTO
	               ? rounds[s->colour < 0 && l.kind == PLOT_LINE ? number / PLOT_COLOURS % 4 : 0]
	               : s->dash;
	it->marker = s->marker == PLOT_MARKER_AUTO || (scatter && s->marker == PLOT_MARKER_NONE)
	                 ? (PlotMarker)(PLOT_MARKER_CIRCLE + number % 7)
	                 : s->marker;
	if (l.kind == PLOT_STEMS && it->marker == PLOT_MARKER_NONE) it->marker = PLOT_MARKER_CIRCLE;
	if (scatter) it->dash = PLOT_NO_LINE;
	bool joined = l.kind == PLOT_LINE || l.kind == PLOT_LINE_3D;
	if (joined && it->dash == PLOT_NO_LINE && it->marker == PLOT_MARKER_NONE)
		it->marker = PLOT_MARKER_CIRCLE;
	if (l.kind == PLOT_BARS) it->more.scale = smallest_gap(it);
	if (in_space(l.kind)) p->solid = true;
	return PLOT_OK;
}

PlotStatus panel_line(Figure *f, int panel, const PlotSeries *s) {
	return s ? panel_layer(f, panel, &(PlotLayer){.kind = PLOT_LINE, .s = *s})
	         : panel_layer(f, panel, NULL);
}
PlotStatus panel_scatter(Figure *f, int panel, const PlotSeries *s) {
	return s ? panel_layer(f, panel, &(PlotLayer){.kind = PLOT_SCATTER, .s = *s})
	         : panel_layer(f, panel, NULL);
}

PlotStatus panel_field(Figure *f, int panel, const PlotField *z) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if (!z) return plot_fail(f, PLOT_BAD_ARGUMENT, "a field needs at least one value");
	if (p->has_field) return plot_fail(f, PLOT_BAD_ARGUMENT, "panel %d has a field already", panel);
	if (p->solid)
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "a panel is flat or in space; layers of both kinds do not go together");
	PlotField grid = *z;
	PlotStatus status = check_grid(f, &grid);
	if (status) return status;
	p->field = grid;
	p->has_field = true;
	return PLOT_OK;
}
