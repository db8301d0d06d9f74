/* figure.c - a figure and what is put into it.
 *
 * Needs: internal.h. Guarantees: texts are owned and clean; series and fields are checked once, here, so that the
 * writers can trust them; a failed call leaves the figure as it was and says why.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PANEL_WIDTH 400
#define PANEL_HEIGHT 300
#define LARGEST_GRID 16

PlotStatus plot_fail(Figure *f, PlotStatus status, const char *format, ...) {
	va_list args;
	va_start(args, format);
	vsnprintf(f->error, sizeof f->error, format, args);
	va_end(args);
	return status;
}

static PlotStatus no_memory(Figure *f) { return plot_fail(f, PLOT_NO_MEMORY, "not enough memory for the plot"); }

/* ---- life ------------------------------------------------------------------------------------ */

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
	return f;
}

void figure_free(Figure *f) {
	if (!f) return;
	PlotAllocator alloc = f->alloc;
	for (int k = 0; k < f->rows * f->cols; k++) {
		PlotPanel *p = &f->panels[k];
		for (size_t i = 0; i < p->n; i++) plot_free_text(&alloc, (char *)(uintptr_t)p->items[i].s.label);
		plot_resize(&alloc, p->items, p->cap * sizeof *p->items, 0);
		plot_free_text(&alloc, p->title);
		for (int a = 0; a < 3; a++) plot_free_text(&alloc, p->label[a]);
	}
	plot_resize(&alloc, f->panels, (size_t)(f->rows * f->cols) * sizeof *f->panels, 0);
	plot_free_text(&alloc, f->title);
	plot_resize(&alloc, f, sizeof *f, 0);
}

const char *figure_error(const Figure *f) { return f ? f->error : "there is no figure"; }

/* ---- settings -------------------------------------------------------------------------------- */

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

/* The panel, or NULL with the error set. */
static PlotPanel *find_panel(Figure *f, int panel) {
	if (!f) return NULL;
	int n = f->rows * f->cols;
	if (panel >= 0 && panel < n) return &f->panels[panel];
	plot_fail(f, PLOT_BAD_ARGUMENT, "there is no panel %d in a figure of %d", panel, n);
	return NULL;
}

static bool axis_known(Figure *f, PlotAxis axis) {
	if ((int)axis >= 0 && (int)axis <= (int)PLOT_Z) return true;
	plot_fail(f, PLOT_BAD_ARGUMENT, "there is no axis %d", (int)axis);
	return false;
}

PlotStatus figure_title(Figure *f, const char *text) { return f ? set_text(f, &f->title, text) : PLOT_BAD_ARGUMENT; }

PlotStatus figure_size(Figure *f, double width, double height) {
	if (!f) return PLOT_BAD_ARGUMENT;
	if (!(width >= 80 && width <= 10000 && height >= 80 && height <= 10000))
		return plot_fail(f, PLOT_BAD_ARGUMENT, "a figure is 80 to 10000 wide and high; %g by %g was asked for", width,
		                 height);
	f->width = width;
	f->height = height;
	return PLOT_OK;
}

void figure_natural_size(const Figure *f, double *width, double *height) {
	*width = f->width > 0 ? f->width : f->cols == 1 ? 480
	                                                : PANEL_WIDTH * f->cols;
	*height =
		f->height > 0 ? f->height : (f->rows == 1 && f->cols == 1 ? 340 : PANEL_HEIGHT * f->rows) + (f->title ? 24 : 0);
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
		return plot_fail(f, PLOT_BAD_ARGUMENT,
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

static bool is_blank(const PlotPanel *p) {
	return !p->n && !p->has_field && !p->title && !p->label[0] && !p->label[1] && !p->label[2];
}

bool figure_shows(const Figure *f, int panel) {
	if (!is_blank(&f->panels[panel])) return true;
	for (int k = 0; k < f->rows * f->cols; k++)
		if (!is_blank(&f->panels[k])) return false;
	return true;
}

/* ---- data ------------------------------------------------------------------------------------ */

static PlotStatus add_series(Figure *f, int panel, const PlotSeries *s, bool scatter) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if (!s || (s->n && !s->y)) return plot_fail(f, PLOT_BAD_ARGUMENT, "a series needs its y values");
	if ((int)s->dash < 0 || (int)s->dash > (int)PLOT_NO_LINE || (int)s->marker < 0 ||
	    (int)s->marker > (int)PLOT_MARKER_AUTO)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no such line or marker style");
	if (!(s->width >= 0 && s->width <= 100))
		return plot_fail(f, PLOT_BAD_ARGUMENT, "a line or marker is 0 to 100 wide; %g was asked for", s->width);
	if (p->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 4;
		PlotItem *items = plot_resize(&f->alloc, p->items, p->cap * sizeof *items, cap * sizeof *items);
		if (!items) return no_memory(f);
		p->items = items;
		p->cap = cap;
	}
	char *label = NULL;
	PlotStatus status = set_text(f, &label, s->label);
	if (status) return status;

	PlotItem *it = &p->items[p->n];
	int number = (int)(p->n++ % 1024);
	*it = (PlotItem){.s = *s};
	it->s.label = label;
	if (!it->s.x_step) it->s.x_step = 1;
	if (!it->s.y_step) it->s.y_step = 1;
	it->colour = s->colour < 0 ? number : s->colour;
	/* When the colours come round again the dashes change, so that every series stays its own. */
	static const PlotDash rounds[4] = {PLOT_SOLID, PLOT_DASHED, PLOT_DOTTED, PLOT_DASH_DOT};
	it->dash = s->dash == PLOT_DASH_AUTO ? rounds[s->colour < 0 ? number / PLOT_COLOURS % 4 : 0] : s->dash;
	it->marker = s->marker == PLOT_MARKER_AUTO || (scatter && s->marker == PLOT_MARKER_NONE)
	                 ? (PlotMarker)(PLOT_MARKER_CIRCLE + number % 7)
	                 : s->marker;
	if (scatter) it->dash = PLOT_NO_LINE;
	if (it->dash == PLOT_NO_LINE && it->marker == PLOT_MARKER_NONE) it->marker = PLOT_MARKER_CIRCLE;
	return PLOT_OK;
}

PlotStatus panel_line(Figure *f, int panel, const PlotSeries *s) { return add_series(f, panel, s, false); }
PlotStatus panel_scatter(Figure *f, int panel, const PlotSeries *s) { return add_series(f, panel, s, true); }

/* Coordinates must be finite and go one way; returns the first index where they do not, or n. */
static size_t first_disorder(const double *x, size_t n) {
	if (!x) return n;
	for (size_t i = 0; i < n; i++) {
		if (!plot_usable(x[i])) return i;
		if (i && (x[1] > x[0] ? !(x[i] > x[i - 1]) : !(x[i] < x[i - 1]))) return i;
	}
	return n;
}

PlotStatus panel_field(Figure *f, int panel, const PlotField *z) {
	PlotPanel *p = find_panel(f, panel);
	if (!p) return PLOT_BAD_ARGUMENT;
	if (!z || !z->z || !z->nx || !z->ny) return plot_fail(f, PLOT_BAD_ARGUMENT, "a field needs at least one value");
	if ((int)z->map < 0 || (int)z->map > (int)PLOT_MAP_GREY)
		return plot_fail(f, PLOT_BAD_ARGUMENT, "there is no colour map %d", (int)z->map);
	if (p->has_field) return plot_fail(f, PLOT_BAD_ARGUMENT, "panel %d has a field already", panel);
	for (int a = 0; a < 2; a++) {
		size_t n = a ? z->ny : z->nx, at = first_disorder(a ? z->y : z->x, n);
		if (at < n)
			return plot_fail(
				f, PLOT_BAD_DATA,
				"the %s coordinates of a field must be finite and rise or fall strictly; number %zu does not",
				a ? "y" : "x", at);
	}
	p->field = *z;
	if (!z->x_step && !z->y_step) {
		p->field.x_step = (ptrdiff_t)z->ny;
		p->field.y_step = 1;
	}
	p->has_field = true;
	return PLOT_OK;
}
