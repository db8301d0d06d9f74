/* layout.c - layout of a figure; calls draw.c to draw the panels.
 *
 * Method: margins depend on tick labels, the labels on the size of the plots,
 * and the size on the margins. A few fixed-point iterations resolve this.
 *
 * Needs: internal.h.
 *
 * Guarantees:
 * - Plots in a column share their left and right edges, plots in a row their
 *   upper and lower ones.
 * - Text does not overlap: tick labels are thinned, long text is shrunk, then
 *   cut.
 * - Plot edges are on whole pixels.
 * - A picture without room for its plots is an error.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const PlotStyle plot_style = {
	.title = 13.5,
	.heading = 12,
	.label = 11,
	.tick = 10,
	.legend = 10,
	.major = 5,
	.minor = 2.8,
	.axis = 0.9,
	.line = 1.7,
	.marker = 6.5,
	.swatch = 26,
	.pad = 6,
	.bar = 12,
	.bar_gap = 10,
};

#define EDGE 5.0        /* margin around the whole picture and between panels */
#define LEAST_PLOT 36.0 /* smallest width and height of a plot */
#define TICK_GAP 4.0    /* between a tick and its label */
#define LABEL_APART 9.0 /* between neighbouring labels on the x axis */
#define ROUNDS 6
#define LEAST_LABEL 15.0 /* with less room for its labels, the legend is omitted */
/* length of ink that a legend may cover before it moves beside the panel */
#define CROWDED 24.0

/* ---- ticks that fit ------------------------------------------------------ */

static bool labels_apart(const PlotTicks *t, const PlotSpan *span, double length) {
	double end = -1e9;
	bool ok = true;
	for (int k = 0; k < t->n; k++) {
		int i = span->turned ? t->n - 1 - k : k;
		double half = font_width(t->major[i].label, plot_style.tick) / 2,
			   at = span_place(span, t->major[i].at) * length;
		if (at - half < end + LABEL_APART) ok = false;
		end = at + half;
	}
	return ok;
}

/* Removes labels that are too near to the previous remaining one. */
static void thin_labels(PlotTicks *t, const PlotSpan *span, double length) {
	double end = -1e9;
	for (int k = 0; k < t->n; k++) {
		int i = span->turned ? t->n - 1 - k : k;
		double half = font_width(t->major[i].label, plot_style.tick) / 2,
			   at = span_place(span, t->major[i].at) * length;
		if (at - half < end + LABEL_APART) t->major[i].label[0] = 0;
		else end = at + half;
	}
}

/* Cuts a label to fit the room. */
static void cut_label(char *label, double room) {
	while (*label && font_width(label, plot_style.tick) > room) {
		size_t n = strlen(label);
		/* the ellipsis of the previous iteration */
		if (n >= 3 && !strcmp(label + n - 3, "\xe2\x80\xa6")) n -= 3;
		do n--;
		while (n && ((unsigned char)label[n] & 0xc0) == 0x80);
		if (!n) {
			*label = 0;
			return;
		}
		memcpy(label + n, "\xe2\x80\xa6", 4);
	}
}

/* Cuts labels to the room between neighbours; with room 0, does not. */
void ticks_named(const PlotNames *names, const PlotSpan *span, double room, PlotTicks *out) {
	out->n = out->minors = 0;
	out->multiplier[0] = 0;
	size_t on = 0, stride;
	for (size_t i = 0; i < names->n; i++)
		on += names->at[i] >= span->lo && names->at[i] <= span->hi;
	stride = on / PLOT_TICKS + 1;
	double before = -1, least = 1;
	for (size_t i = 0, k = 0; i < names->n; i++) {
		if (!(names->at[i] >= span->lo && names->at[i] <= span->hi) || k++ % stride) continue;
		PlotTick *t = &out->major[out->n++];
		t->at = names->at[i];
		size_t n = strlen(names->text[i]);
		if (n > sizeof t->label - 4) n = sizeof t->label - 4;
		while (n && ((unsigned char)names->text[i][n] & 0xc0) == 0x80) n--;
		memcpy(t->label, names->text[i], n);
		t->label[n] = 0;
		double u = span_place(span, t->at);
		if (before >= 0) least = plot_min(least, fabs(u - before));
		before = u;
		if (out->n == PLOT_TICKS) break;
	}
	for (int i = 0; i < out->n && room > 0; i++)
		cut_label(out->major[i].label, plot_max(least * room - LABEL_APART, 8));
}

static void find_x_ticks(const PlotPanel *p, const PlotSpan *span, double width, PlotTicks *out) {
	if (p->ticks[PLOT_X].n) {
		ticks_named(&p->ticks[PLOT_X], span, width, out);
		thin_labels(out, span, width);
		return;
	}
	for (int most = (int)plot_clamp(width / 48, 3, 11); most >= 2; most--) {
		ticks_find(span, most, out);
		if (labels_apart(out, span, width)) return;
	}
	thin_labels(out, span, width);
}

static void find_y_ticks(const PlotNames *names, const PlotSpan *span, double height,
                         PlotTicks *out) {
	if (names && names->n) {
		ticks_named(names, span, 0, out);
		double end = -1e9; /* labels are stacked lines */
		for (int k = 0; k < out->n; k++) {
			PlotTick *t = &out->major[span->turned ? out->n - 1 - k : k];
			double at = span_place(span, t->at) * height;
			cut_label(t->label, 160);
			if (at - end < plot_style.tick * 1.1) t->label[0] = 0;
			else end = at;
		}
		return;
	}
	ticks_find(span, (int)plot_clamp(height / 32, 3, 11), out);
}

static double widest(const PlotTicks *t) {
	double w = 0;
	for (int i = 0; i < t->n; i++) w = plot_max(w, font_width(t->major[i].label, plot_style.tick));
	return w;
}

/* ---- margins ------------------------------------------------------------- */

static double title_room(const PlotPanel *p, const PanelBox *box) {
	const double mark = box->y.multiplier[0] || box->y2.multiplier[0] || box->z.multiplier[0]
	                        ? plot_style.tick * 1.35
	                        : 0;
	if (!p->title) return mark;
	double title = plot_style.heading * 1.45;
	/* The multiplier is at the left of the title's line if both fit there. */
	double taken = font_width(p->title, plot_style.heading) / 2 +
	               plot_max(font_width(box->y.multiplier, plot_style.tick),
	                        font_width(box->y2.multiplier, plot_style.tick)) +
	               12;
	bool beside = taken < (box->plot.x1 - box->plot.x0) / 2;
	return mark && !beside ? title + mark : title;
}

/* Sets the margins that the panel needs with its present ticks. */
static void measure(const PlotPanel *p, PanelBox *box) {
	const PlotStyle *st = &plot_style;
	double out = panel_covered(p) ? st->major : 0, width = box->plot.x1 - box->plot.x0;

	box->left = out + TICK_GAP + widest(&box->y) + EDGE;
	if (p->label[PLOT_Y]) box->left += 5 + st->label * 1.1;

	double ticks = out + TICK_GAP + 2 + st->tick * FONT_CAP, row = ticks + st->label * 1.45;
	bool factor = box->x.multiplier[0];
	box->factor_drop = box->label_drop = row;
	if (factor && p->label[PLOT_X]) { /* side by side if both fit */
		double taken = font_width(p->label[PLOT_X], st->label) / 2 +
		               font_width(box->x.multiplier, st->tick) + 14;
		if (taken > width / 2) box->label_drop = row + st->tick * 1.35;
	}
	double below = (factor || p->label[PLOT_X] ? box->label_drop : ticks) + st->tick * 0.3;
	box->note_drop = 0;
	if (box->axes.left_out) {
		snprintf(box->note, sizeof box->note, "%zu value%s \xe2\x89\xa4 0 not shown",
		         box->axes.left_out, box->axes.left_out > 1 ? "s" : "");
		below += st->tick * 1.3;
		box->note_drop = below - st->tick * 0.3;
	}
	box->bottom = below + EDGE;

	box->top = EDGE + 3 + title_room(p, box);
	if (p->solid) {
		box->left = box->right = box->bottom = EDGE;
		box->z_width = 0;
		if (box->outside) box->right += box->legend_width + 8;
		return;
	}

	double right = 4, left = 0; /* overhang of the outer x labels */
	for (int i = 0; i < box->x.n; i++) {
		double half = font_width(box->x.major[i].label, st->tick) / 2;
		double at = span_place(&box->axes.axis[PLOT_X], box->x.major[i].at) * width;
		right = plot_max(right, at + half - width);
		left = plot_max(left, half - at);
	}
	box->left = plot_max(box->left, left + EDGE);
	box->z_width = box->y2_width = 0;
	if (box->axes.right) {
		box->y2_width = out + TICK_GAP + widest(&box->y2);
		if (p->label[PLOT_Y2]) box->y2_width += 5 + st->label * 1.1;
		right = plot_max(right, box->y2_width);
	}
	if (panel_has_bar(p)) {
		double texts =
			plot_max(widest(&box->z), font_width(box->z.multiplier, st->tick) - st->bar - TICK_GAP);
		box->z_width = st->bar_gap + st->bar + 3 + TICK_GAP + texts;
		if (p->label[PLOT_Z]) box->z_width += 5 + st->label * 1.1;
		right = plot_max(right, box->y2_width + box->z_width);
	}
	box->right = right + EDGE;
	if (box->outside) box->right += box->legend_width + 8;
}

/* Computes the size of the legend's box. Long labels are cut to a share of the
 * plot's width; entries beyond its height are omitted. */
static void measure_legend(const PlotPanel *p, PanelBox *box) {
	const PlotStyle *st = &plot_style;
	double around = 2 * st->pad + st->swatch + 6, width = box->plot.x1 - box->plot.x0,
		   widest_label = 0;
	double room = plot_max(40, 0.55 * width);
	if (!box->outside) room = plot_min(room, width - around - 24);
	int n = legend_entries(p);
	box->legend_width = box->legend_height = 0;
	if (!n || p->legend == PLOT_LEGEND_NONE || room < LEAST_LABEL) return;
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].s.label)
			widest_label = plot_max(widest_label, font_width(p->items[i].s.label, st->legend));
	int fits = (int)((box->plot.y1 - box->plot.y0 - 2 * st->pad - 8) / (st->legend * 1.4));
	if (fits < 1) fits = 1;
	if (n > fits) n = fits;
	/* SVG viewers use other fonts, which may be wider */
	box->legend_width = around + plot_min(1.04 * widest_label, room);
	box->legend_height = 2 * st->pad - 2 + n * st->legend * 1.4;
}

/* ---- the grid ------------------------------------------------------------ */

typedef struct Grid {
	double left[16], right[16], top[16], bottom[16];
	double width, height; /* of each plot */
	double above;         /* room for the figure's title */
} Grid;

static void find_grid(const Figure *f, const PanelBox *boxes, double width, double height,
                      Grid *g) {
	*g = (Grid){.above = f->title ? plot_style.title * 1.75 : 0};
	for (int r = 0; r < f->rows; r++) {
		for (int c = 0; c < f->cols; c++) {
			const PanelBox *b = &boxes[r * f->cols + c];
			g->left[c] = plot_max(g->left[c], b->left);
			g->right[c] = plot_max(g->right[c], b->right);
			g->top[r] = plot_max(g->top[r], b->top);
			g->bottom[r] = plot_max(g->bottom[r], b->bottom);
		}
	}
	g->width = width;
	g->height = height - g->above;
	for (int c = 0; c < f->cols; c++) g->width -= g->left[c] + g->right[c] + (c ? 2 * EDGE : 0);
	for (int r = 0; r < f->rows; r++) g->height -= g->top[r] + g->bottom[r] + (r ? EDGE : 0);
	g->width /= f->cols;
	g->height /= f->rows;
}

static double to_grid(double v, double resolution) {
	return floor(v * resolution + 0.5) / resolution;
}

static void place_plots(const Figure *f, PanelBox *boxes, const Grid *g, double resolution) {
	double y = g->above;
	for (int r = 0; r < f->rows; r++) {
		double x = 0;
		y += g->top[r];
		for (int c = 0; c < f->cols; c++) {
			x += g->left[c];
			PlotRect at = {x, y, x + g->width, y + g->height};
			/* its ticks are inside, so it takes the room of the margins */
			if (f->panels[r * f->cols + c].solid) {
				at.x0 -= g->left[c] - EDGE;
				at.x1 += g->right[c] - EDGE;
				at.y1 += g->bottom[r] - EDGE;
			}
			boxes[r * f->cols + c].plot =
				(PlotRect){to_grid(at.x0, resolution), to_grid(at.y0, resolution),
			               to_grid(at.x1, resolution), to_grid(at.y1, resolution)};
			x += g->width + g->right[c] + 2 * EDGE;
		}
		y += g->height + g->bottom[r] + EDGE;
	}
}

static PlotStatus too_small(Figure *f, const Grid *g) {
	if (g->width >= LEAST_PLOT && g->height >= LEAST_PLOT) return PLOT_OK;
	return plot_fail(f, PLOT_TOO_SMALL,
	                 "the picture has no room for %d by %d panels with their labels", f->rows,
	                 f->cols);
}

/* Shrinks a plot with a fixed aspect ratio in its place, about the centre. */
static void keep_aspect(const PlotPanel *p, PanelBox *b, double resolution) {
	if (!(p->aspect > 0) || p->solid) return;
	const PlotSpan *x = &b->axes.axis[PLOT_X], *y = &b->axes.axis[PLOT_Y];
	double across = x->log ? log10(x->hi / x->lo) : x->hi - x->lo,
		   up = y->log ? log10(y->hi / y->lo) : y->hi - y->lo;
	double width = b->plot.x1 - b->plot.x0, height = b->plot.y1 - b->plot.y0;
	double want = p->aspect * up / across; /* height over width */
	if (!(want > 0 && want < INFINITY)) return;
	double less = plot_max(height > want * width ? height - want * width : 0, 0);
	double narrower = height > want * width ? 0 : width - height / want;
	less = plot_min(less, height - LEAST_PLOT);
	narrower = plot_min(narrower, width - LEAST_PLOT);
	b->plot.x0 = to_grid(b->plot.x0 + narrower / 2, resolution);
	b->plot.x1 = to_grid(b->plot.x1 - narrower / 2, resolution);
	b->plot.y0 = to_grid(b->plot.y0 + less / 2, resolution);
	b->plot.y1 = to_grid(b->plot.y1 - less / 2, resolution);
}

/* Iterates: place the plots, find ticks, measure margins. */
static PlotStatus settle(Figure *f, PanelBox *boxes, const bool *blank, const Scene *s) {
	Grid g;
	int n = f->rows * f->cols;
	for (int round = 0; round < ROUNDS; round++) {
		find_grid(f, boxes, s->width, s->height, &g);
		PlotStatus status = too_small(f, &g);
		if (status) return status;
		place_plots(f, boxes, &g, s->resolution);
		for (int k = 0; k < n; k++) {
			PanelBox *b = &boxes[k];
			if (blank[k]) continue;
			keep_aspect(&f->panels[k], b, s->resolution);
			b->x.n = b->y.n = b->x.minors = b->y.minors = 0;
			b->x.multiplier[0] = b->y.multiplier[0] = 0;
			if (!f->panels[k].solid) {
				find_x_ticks(&f->panels[k], &b->axes.axis[PLOT_X], b->plot.x1 - b->plot.x0, &b->x);
				find_y_ticks(&f->panels[k].ticks[PLOT_Y], &b->axes.axis[PLOT_Y],
				             b->plot.y1 - b->plot.y0, &b->y);
			}
			b->y2.n = b->y2.minors = 0;
			b->y2.multiplier[0] = 0;
			if (b->axes.right)
				find_y_ticks(&f->panels[k].ticks[PLOT_Y2], &b->axes.axis[PLOT_Y2],
				             b->plot.y1 - b->plot.y0, &b->y2);
			b->z.n = b->z.minors = 0;
			b->z.multiplier[0] = 0;
			if (panel_has_bar(&f->panels[k]))
				find_y_ticks(NULL, &b->axes.axis[PLOT_Z], b->plot.y1 - b->plot.y0, &b->z);
			measure_legend(&f->panels[k], b);
			if (round + 1 < ROUNDS) measure(&f->panels[k], b);
		}
	}
	return PLOT_OK;
}

/* Moves legends that would cover much beside the panel. Returns whether any
 * moved. */
static bool move_legends(const Figure *f, PanelBox *boxes, PlotArena *arena) {
	bool moved = false;
	for (int k = 0; k < f->rows * f->cols; k++) {
		const PlotPanel *p = &f->panels[k];
		PanelBox *b = &boxes[k];
		if (!(b->legend_width > 0) || p->legend != PLOT_LEGEND_AUTO) continue;
		PlotPoint place;
		double width = b->plot.x1 - b->plot.x0, height = b->plot.y1 - b->plot.y0;
		bool fits = b->legend_width + 12 < width && b->legend_height + 12 < height;
		if (fits && draw_legend_place(p, b, arena, &place) <= CROWDED) continue;
		/* There is no room beside it either: it covers the least. */
		if (width - b->legend_width < 2.5 * LEAST_PLOT) continue;
		b->outside = moved = true;
	}
	return moved;
}

PlotStatus figure_scene(Figure *f, double width, double height, double resolution, Scene *s) {
	*s = (Scene){.arena = {&f->alloc, NULL, false},
	             .width = width,
	             .height = height,
	             .resolution = resolution};
	const char *why = font_open();
	if (why) return plot_fail(f, PLOT_NO_LIBRARY, CANNOT_DRAW, why);
	int n = f->rows * f->cols;
	s->title = f->title ? f->title : f->panels[0].title;
	PanelBox *boxes = plot_take(&s->arena, (size_t)n, sizeof *boxes);
	bool *blank = plot_take(&s->arena, (size_t)n, sizeof *blank);
	if (!boxes || !blank) return plot_fail(f, PLOT_NO_MEMORY, "not enough memory for the picture");
	for (int k = 0; k < n; k++) {
		blank[k] = !figure_shows(f, k);
		boxes[k].outside =
			f->panels[k].legend == PLOT_LEGEND_OUTSIDE && legend_entries(&f->panels[k]) > 0;
		PlotStatus status = blank[k] ? PLOT_OK : panel_axes(f, k, &boxes[k].axes);
		if (status) return status;
	}
	PlotStatus status = settle(f, boxes, blank, s);
	if (!status && move_legends(f, boxes, &s->arena)) status = settle(f, boxes, blank, s);
	if (status) return status;

	const PlotColour ink = {24, 24, 28, 255};
	if (f->title) {
		double size = plot_style.title;
		const char *title = draw_fit(s, f->title, &size, width - 4 * EDGE);
		scene_text(s, title, width / 2, EDGE + plot_style.title, size, ANCHOR_MIDDLE, ink);
		scene_bold(s);
	}
	for (int k = 0; k < n; k++)
		if (!blank[k]) draw_panel(f, k, &boxes[k], s);
	return s->arena.failed ? plot_fail(f, PLOT_NO_MEMORY, "not enough memory for the picture")
	                       : PLOT_OK;
}

PlotStatus figure_write_drawing(Figure *f, const char *path,
                                const char *(*write)(Scene *s, PlotBuffer *out)) {
	if (!f) return PLOT_BAD_ARGUMENT;
	if (!path) return plot_fail(f, PLOT_BAD_ARGUMENT, "a picture needs a file name");
	double width, height;
	figure_natural_size(f, &width, &height);
	Scene scene;
	PlotBuffer bytes = {.alloc = &f->alloc};
	PlotStatus status = figure_scene(f, width, height, 2, &scene);
	const char *why = status ? NULL : write(&scene, &bytes);
	if (!status && (bytes.failed || (why && !*why)))
		status = plot_fail(f, PLOT_NO_MEMORY, "not enough memory for the picture");
	if (!status && why) status = plot_fail(f, PLOT_NO_LIBRARY, CANNOT_DRAW, why);
	if (!status) status = plot_write_file(path, bytes.at, bytes.n, f->error, sizeof f->error);
	plot_buffer_free(&bytes);
	plot_arena_free(&scene.arena);
	return status;
}
