/* terminal.c - figures as text in a grid of character cells.
 *
 * Lines are braille dots, fields half blocks, axes box-drawing characters.
 *
 * A panel from top to bottom: title, y label, plot with the y axis at its left,
 * x axis, tick labels, x label, legend, colour bar. A low panel omits the less
 * important lines.
 *
 * Needs: internal.h, a terminal with UTF-8.
 *
 * Guarantees:
 * - No line is wider than requested.
 * - Colour codes are closed on the line that opened them.
 * - Without colour, series differ by dashes and fields by shading.
 * - The complete text is sent at once, or not at all.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_COLUMNS 20
#define LEAST_ROWS 6
#define PANEL_COLUMNS 26 /* with fewer columns per panel, panels are stacked */
#define PANEL_ROWS 9
#define LEAST_PLOT_ROWS 3
#define LEGEND_ROWS 3
#define GAP 3 /* columns between panels */
#define PLAIN (-1)
#define FAINT 244

typedef struct CanvasCell {
	uint32_t ch, mark; /* ch 0: blank; mark: a combining character or 0 */
	int16_t ink, ground;
	bool bold, taken; /* taken: the right half of a wide character */
	bool text;        /* part of a string inside the plot */
} CanvasCell;

typedef struct Canvas {
	int width, height;
	CanvasCell *cell;
	bool colour;
	PlotArena *arena;
} Canvas;

static CanvasCell *canvas_at(Canvas *c, int x, int y) {
	return x >= 0 && x < c->width && y >= 0 && y < c->height
	           ? &c->cell[(size_t)y * (size_t)c->width + (size_t)x]
	           : NULL;
}

static void canvas_put(Canvas *c, int x, int y, uint32_t ch, int ink) {
	CanvasCell *cell = canvas_at(c, x, y);
	if (!cell) return;
	cell->ch = ch;
	cell->mark = 0;
	cell->ink = (int16_t)ink;
}

/* ---- strings ------------------------------------------------------------- */

/* Returns the superscript or subscript form of a character, 0 if there is
 * none. */
static uint32_t script_form(uint32_t c, int level) {
	static const struct {
		char from;
		uint16_t up, down;
	} forms[] = {
		{'0', 0x2070, 0x2080}, {'1', 0xb9, 0x2081},   {'2', 0xb2, 0x2082},   {'3', 0xb3, 0x2083},
		{'4', 0x2074, 0x2084}, {'5', 0x2075, 0x2085}, {'6', 0x2076, 0x2086}, {'7', 0x2077, 0x2087},
		{'8', 0x2078, 0x2088}, {'9', 0x2079, 0x2089}, {'+', 0x207a, 0x208a}, {'-', 0x207b, 0x208b},
		{'=', 0x207c, 0x208c}, {'(', 0x207d, 0x208d}, {')', 0x207e, 0x208e}, {'n', 0x207f, 0x2099},
		{'i', 0x2071, 0x1d62}, {'a', 0, 0x2090},      {'e', 0, 0x2091},      {'o', 0, 0x2092},
		{'x', 0, 0x2093},      {'h', 0, 0x2095},      {'k', 0, 0x2096},      {'l', 0, 0x2097},
		{'m', 0, 0x2098},      {'p', 0, 0x209a},      {'s', 0, 0x209b},      {'t', 0, 0x209c},
		{'j', 0, 0x2c7c},      {'r', 0, 0x1d63},      {'u', 0, 0x1d64},      {'v', 0, 0x1d65},
	};
	if (c == 0x2212) c = '-';
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if ((uint32_t)forms[i].from == c) return level > 0 ? forms[i].up : forms[i].down;
	return 0;
}

static void put_char(PlotBuffer *b, uint32_t c) {
	char utf8[4];
	plot_put(b, utf8, plot_utf8_write(c, utf8));
}

/* Writes one superscript or subscript: with such characters if all of them
 * exist, else as ^(...). Moves the cursor after it. */
static void put_group(PlotBuffer *b, PlotCursor *cursor, int level) {
	bool all = true;
	int n = 0, here;
	uint32_t c;
	for (PlotCursor ahead = *cursor, next;
	     next = ahead, (c = plot_next(&next, &here)) && here == level; ahead = next) {
		all = all && script_form(c, level);
		n++;
	}
	if (!all) plot_puts(b, level > 0 ? "^" : "_");
	if (!all && n > 1) plot_puts(b, "(");
	for (int i = 0; i < n; i++) {
		c = plot_next(cursor, &here);
		put_char(b, all ? script_form(c, level) : c);
	}
	if (!all && n > 1) plot_puts(b, ")");
}

/* Returns the string without markup. Never NULL. */
static const char *plain_text(Canvas *canvas, const char *text) {
	PlotBuffer b = {.alloc = canvas->arena->alloc};
	PlotCursor cursor = {.at = text};
	int level;
	for (;;) {
		PlotCursor before = cursor;
		uint32_t c = plot_next(&cursor, &level);
		if (!c) break;
		if (level) {
			cursor = before;
			put_group(&b, &cursor, level);
		} else {
			put_char(&b, c == 0x2212 ? '-' : c);
		}
	}
	const char *copy = b.n ? plot_take_text(canvas->arena, b.at, b.n) : "";
	if (b.failed) canvas->arena->failed = true;
	plot_buffer_free(&b);
	return copy;
}

static int text_columns(const char *text) {
	int n = 0;
	for (uint32_t c; (c = plot_utf8(&text));) n += plot_char_columns(c);
	return n;
}

/* Writes at most `room` columns, the last one an ellipsis when the string is
 * longer. Returns the columns used. */
static int canvas_text(Canvas *c, int x, int y, int room, const char *text, int ink, bool bold) {
	int used = 0, whole = text_columns(text), limit = whole > room ? room - 1 : room;
	CanvasCell *last = NULL;
	for (uint32_t ch; (ch = plot_utf8(&text));) {
		int wide = plot_char_columns(ch);
		if (!wide) {
			if (last) last->mark = ch;
			continue;
		}
		if (used + wide > limit) break;
		canvas_put(c, x + used, y, ch, ink);
		last = canvas_at(c, x + used, y);
		if (last) last->bold = bold;
		CanvasCell *half = wide == 2 ? canvas_at(c, x + used + 1, y) : NULL;
		if (half) half->taken = true;
		used += wide;
	}
	if (whole > room && room > 0) canvas_put(c, x + used++, y, 0x2026, ink);
	return used;
}

static void canvas_centred(Canvas *c, int x, int y, int room, const char *text, int ink,
                           bool bold) {
	int width = text_columns(text);
	canvas_text(c, width < room ? x + (room - width) / 2 : x, y, room, text, ink, bold);
}

/* ---- dots ---------------------------------------------------------------- */

typedef struct DottedLine {
	Canvas *c;
	int x, y, width, height; /* in cells */
	int ink;
	PlotDash dash;
	PlotPoint last;
	double walked; /* along the run, in dots */
} DottedLine;

static void dot(DottedLine *d, double x, double y) {
	static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	int i = (int)floor(x + 0.5), j = (int)floor(y + 0.5);
	if (i < 0 || j < 0 || i >= 2 * d->width || j >= 4 * d->height) return;
	CanvasCell *cell = canvas_at(d->c, d->x + i / 2, d->y + j / 4);
	if (!cell) return;
	if (cell->ch < 0x2800 || cell->ch > 0x28ff) {
		if (cell->ch == 0x2580 && cell->ground == PLAIN)
			cell->ground = cell->ink; /* over a field: keep one of its colours */
		cell->ch = 0x2800;
	}
	cell->ch |= bits[j % 4][i % 2];
	cell->ink = (int16_t)d->ink;
}

static bool dash_inks(PlotDash dash, double walked) {
	double at;
	switch (dash) {
	case PLOT_DASHED: return fmod(walked, 10) < 6;
	case PLOT_DOTTED: return fmod(walked, 3) < 1;
	case PLOT_DASH_DOT: at = fmod(walked, 12); return at < 6 || (at >= 8 && at < 10);
	default: return true;
	}
}

static void dots_point(void *ud, PlotPoint p, bool start) {
	DottedLine *d = ud;
	if (start) {
		d->walked = 0;
		dot(d, p.x, p.y);
	} else {
		double dx = p.x - d->last.x, dy = p.y - d->last.y, reach = plot_max(fabs(dx), fabs(dy));
		int n = (int)ceil(reach);
		for (int i = 1; i <= n; i++) {
			double t = (double)i / n;
			if (dash_inks(d->dash, d->walked + reach * t))
				dot(d, d->last.x + t * dx, d->last.y + t * dy);
		}
		d->walked += reach;
	}
	d->last = p;
}

/* ---- one panel ----------------------------------------------------------- */

typedef struct Pane {
	Canvas *c;
	const PlotPanel *p;
	PanelBox *box;               /* box->plot counts dots, from the first to the last */
	int x, y, width, height;     /* the whole panel, in cells */
	int left, top, across, down; /* the plot */
	int legend_rows;
	bool title, y_label, x_label, bar;
} Pane;

static uint32_t marker_sign(PlotMarker m) {
	static const uint32_t signs[8] = {0, 0x25cf, 0x25a0, 0x25c6, 0x25b2, 0x25bc, '+', 0xd7};
	return (int)m < 8 ? signs[m] : 0;
}

#define SIGNS 120 /* a longer series shows dots instead of markers */

/* Without colour, automatic dashes distinguish the series. */
static PlotDash pane_dash(const Pane *pane, size_t item) {
	static const PlotDash turns[4] = {PLOT_SOLID, PLOT_DASHED, PLOT_DOTTED, PLOT_DASH_DOT};
	const PlotItem *it = &pane->p->items[item];
	return pane->c->colour || it->s.dash != PLOT_DASH_AUTO || it->dash == PLOT_NO_LINE
	           ? it->dash
	           : turns[item % 4];
}

static void draw_layer(Pane *pane, const PlotItem *item);
static void draw_field(Pane *pane, const PlotField *field, const double *levels, int nlevels);

static void draw_series(Pane *pane, size_t item) {
	const PlotItem *it = &pane->p->items[item];
	if (it->kind == PLOT_CONTOURS && it->more.filled) {
		double levels[PLOT_LEVELS];
		int n = contour_levels(it, &pane->box->axes.axis[PLOT_Z], levels);
		draw_field(pane, &it->more.grid, levels, n);
		return;
	}
	if ((it->kind != PLOT_LINE && it->kind != PLOT_SCATTER) || it->more.c) {
		draw_layer(pane, it);
		return;
	}
	DottedLine d = {.c = pane->c,
	                .x = pane->left,
	                .y = pane->top,
	                .width = pane->across,
	                .height = pane->down,
	                .ink = plot_ansi_series(it->colour),
	                .dash = pane_dash(pane, item)};
	PanelBox own;
	const PanelBox *box = draw_box(pane->box, it, &own);
	if (it->dash != PLOT_NO_LINE) draw_trace(box, it, dots_point, &d);
	if (it->marker == PLOT_MARKER_NONE || (it->dash != PLOT_NO_LINE && it->s.n > SIGNS)) return;
	for (size_t i = 0; i < it->s.n; i++) {
		PlotPoint p = draw_place(box, item_x(it, i), item_y(it, i));
		if (!(p.x >= -0.5 && p.x < 2 * pane->across - 0.5 && p.y >= -0.5 &&
		      p.y < 4 * pane->down - 0.5))
			continue;
		if (it->s.n > SIGNS) dot(&d, p.x, p.y);
		else
			canvas_put(pane->c, pane->left + (int)floor(p.x + 0.5) / 2,
			           pane->top + (int)floor(p.y + 0.5) / 4, marker_sign(it->marker), d.ink);
	}
}

static uint32_t shade(double u) {
	static const uint32_t shades[5] = {' ', 0x2591, 0x2592, 0x2593, 0x2588};
	return shades[(int)plot_clamp(u * 5, 0, 4)];
}

/* Draws a field by half cells; with levels, as the areas between them. */
static void draw_field(Pane *pane, const PlotField *field, const double *levels, int nlevels) {
	int width = pane->across, height = 2 * pane->down;
	double *values = plot_take(pane->c->arena, (size_t)width * (size_t)height, sizeof *values);
	if (!values || !field_resample(field, &pane->box->axes, pane->c->arena, width, height, values))
		return;
	const PlotSpan *z = &pane->box->axes.axis[PLOT_Z];
	int16_t palette[256];
	plot_map_ansi(pane->box->axes.map, palette);
	for (int y = 0; y < pane->down; y++) {
		for (int x = 0; x < width; x++) {
			CanvasCell *cell = canvas_at(pane->c, pane->left + x, pane->top + y);
			if (!cell) continue;
			uint8_t half[2];
			double u = 0;
			for (int k = 1; k >= 0; k--) {
				double v = values[(size_t)(2 * y + k) * (size_t)width + (size_t)x];
				half[k] = plot_map_index(z, v);
				if (half[k] < PLOT_MAP_COLOURS) {
					int band = 0;
					while (band < nlevels && levels[band] <= v) band++;
					if (levels) half[k] = contour_band(z, levels, nlevels, band);
					u = levels ? half[k] / (PLOT_MAP_COLOURS - 1.0) : span_place(z, v);
				}
			}
			uint8_t a = half[0], b = half[1];
			if (!pane->c->colour) {
				bool there = a < PLOT_MAP_COLOURS || b < PLOT_MAP_COLOURS;
				cell->ch = there ? shade(u) : a == PLOT_MAP_MISSING ? 0xb7 : ' ';
				continue;
			}
			bool top = a != PLOT_MAP_OUTSIDE, bottom = b != PLOT_MAP_OUTSIDE;
			cell->ch = top ? 0x2580 : bottom ? 0x2584 : 0;
			cell->ink = top || bottom ? palette[top ? a : b] : PLAIN;
			if (top && bottom) cell->ground = palette[b];
		}
	}
}

/* ---- layers drawn through a scene ---------------------------------------- */

#define UNITS 2.8    /* of a scene to a dot: a letter is then about as wide as a cell */
#define SMALL_AREA 7 /* in dots; smaller areas are drawn as dots, not as half cells */

static int ink_of(PlotColour c) {
	for (int k = 0; k < PLOT_COLOURS; k++) {
		PlotColour s = plot_series_colour(k);
		if (s.r == c.r && s.g == c.g && s.b == c.b) return plot_ansi_series(k);
	}
	if (c.r < 80 && c.g < 80 && c.b < 80) return 246;
	/* grey lines of the frame */
	if (c.r > 200 && c.g > 200 && c.b > 200 && abs(c.r - c.b) < 12) return FAINT;
	return plot_ansi_nearest(c);
}

/* Colours the upper or lower half of a cell. */
static void paint_half(CanvasCell *cell, bool lower, int ink) {
	int half[2] = {PLAIN, PLAIN};
	if (cell->ch == 0x2580 || cell->ch == 0x2584) {
		half[cell->ch == 0x2584] = cell->ink;
		half[cell->ch != 0x2584] = cell->ground;
	} else if (cell->ch == 0x2588) {
		half[0] = half[1] = cell->ink;
	}
	half[lower] = ink;
	bool both = half[0] != PLAIN && half[1] != PLAIN;
	cell->ch = both && half[0] == half[1] ? 0x2588 : half[0] != PLAIN ? 0x2580 : 0x2584;
	cell->ink = (int16_t)(half[0] != PLAIN ? half[0] : half[1]);
	cell->ground = (int16_t)(both && half[0] != half[1] ? half[1] : PLAIN);
	cell->mark = 0;
}

static void cells_area(Pane *pane, DottedLine *d, const PlotPrimitive *p) {
	double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
	for (size_t i = 0; i < p->n; i++) {
		if (p->points[i].x != p->points[i].x) continue;
		x0 = plot_min(x0, p->points[i].x / UNITS), x1 = plot_max(x1, p->points[i].x / UNITS);
		y0 = plot_min(y0, p->points[i].y / UNITS), y1 = plot_max(y1, p->points[i].y / UNITS);
	}
	if (!(x0 <= x1)) return;
	/* a box */
	bool upright =
		p->n == 4 && p->points[0].x == p->points[3].x && p->points[0].y == p->points[1].y;
	bool small = x1 - x0 < SMALL_AREA && y1 - y0 < SMALL_AREA && p->n <= 4 && !upright,
		 faint = p->colour.a < 160;
	if ((small && !pane->p->solid) || faint) {
		for (int y = (int)plot_max(y0, 0); y <= plot_min(y1, 4 * pane->down); y++)
			for (int x = (int)plot_max(x0, 0); x <= plot_min(x1, 2 * pane->across); x++)
				if ((!faint || (x + 2 * y) % 4 == 0) && prim_holds(p, x * UNITS, y * UNITS))
					dot(d, x, y);
		return;
	}
	double light = (0.3 * p->colour.r + 0.6 * p->colour.g + 0.1 * p->colour.b) / 255;
	bool series = false;
	for (int k = 0; k < PLOT_COLOURS; k++) series = series || plot_ansi_series(k) == d->ink;
	for (int y = (int)plot_max(y0 / 2, 0); y <= plot_min(y1 / 2 + 1, 2 * pane->down - 1); y++) {
		for (int x = (int)plot_max(x0 / 2, 0); x <= plot_min(x1 / 2 + 1, pane->across - 1); x++) {
			CanvasCell *cell = canvas_at(pane->c, pane->left + x, pane->top + y / 2);
			if (!cell || !prim_holds(p, (2 * x + 0.5) * UNITS, (2 * y + 0.5) * UNITS)) continue;
			if (pane->c->colour || series) paint_half(cell, y % 2, d->ink);
			else cell->ch = light > 0.93 ? ' ' : shade(light);
		}
	}
}

static void cells_text(Pane *pane, const PlotPrimitive *p) {
	const char *text = plain_text(pane->c, p->text);
	int width = text_columns(text), anchor = p->anchor == ANCHOR_MIDDLE ? width / 2
	                                         : p->anchor == ANCHOR_END  ? width
	                                                                    : 0;
	double x = p->points[0].x, y = p->points[0].y;
	if (p->anchor == ANCHOR_START && p->angle == 0) { /* keeps the centre where it was intended */
		x += width * UNITS;
		anchor = width / 2;
	}
	y -= p->angle == 0 ? p->size * 0.35 : 0;
	int column = (int)floor(x / UNITS / 2 + 0.5) - anchor, row = (int)floor(y / UNITS / 4);
	if (column + width > pane->across) column = pane->across - width;
	if (column < 0) column = 0;
	if (row < 0 || row >= pane->down) return;
	/* Does not overwrite other text. */
	for (int k = -1; k <= width; k++) {
		const CanvasCell *cell = canvas_at(pane->c, pane->left + column + k, pane->top + row);
		if (cell && column + k >= 0 && cell->text) return;
	}
	canvas_text(pane->c, pane->left + column, pane->top + row, pane->across - column, text, PLAIN,
	            false);
	for (int k = 0; k < width; k++) {
		CanvasCell *cell = canvas_at(pane->c, pane->left + column + k, pane->top + row);
		if (!cell) continue;
		cell->text = true;
		cell->ground = PLAIN;
	}
}

static void cells_scene(Pane *pane, const Scene *s) {
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		if (p->kind == PRIM_TEXT) {
			cells_text(pane, p);
			continue;
		}
		DottedLine d = {.c = pane->c,
		                .x = pane->left,
		                .y = pane->top,
		                .width = pane->across,
		                .height = pane->down,
		                .ink = ink_of(p->colour),
		                .dash = p->dash};
		bool white = p->colour.r > 250 && p->colour.g > 250 && p->colour.b > 250;
		if (white) continue; /* edges that only separate shapes */
		if (p->kind == PRIM_POLYGON && p->colour.r < 245) cells_area(pane, &d, p);
		if (p->kind == PRIM_LINE && !(pane->p->solid && p->size < 0.65))
			for (size_t i = 0; i < p->n; i++)
				dots_point(&d, (PlotPoint){p->points[i].x / UNITS, p->points[i].y / UNITS}, !i);
		if (p->kind != PRIM_MARKERS) continue;
		for (size_t i = 0; i < p->n; i++) {
			double x = floor(p->points[i].x / UNITS + 0.5), y = floor(p->points[i].y / UNITS + 0.5);
			if (!(x >= 0 && y >= 0 && x < 2 * pane->across && y < 4 * pane->down)) continue;
			if (p->size < 4) dot(&d, x, y);
			else
				canvas_put(pane->c, pane->left + (int)x / 2, pane->top + (int)y / 4,
				           marker_sign(p->marker), d.ink);
		}
	}
}

/* Draws one layer, or with `item` NULL the whole of a panel in perspective. */
static void draw_layer(Pane *pane, const PlotItem *item) {
	PlotPanel one = *pane->p;
	PanelBox *box = plot_take(pane->c->arena, 1, sizeof *box);
	if (!box) return;
	*box = *pane->box;
	box->plot = (PlotRect){0, 0, (2 * pane->across - 1) * UNITS, (4 * pane->down - 1) * UNITS};
	Scene s = {.arena = {pane->c->arena->alloc, NULL, false},
	           .width = box->plot.x1,
	           .height = box->plot.y1,
	           .resolution = 1,
	           .cell = 2 * UNITS};
	if (item) {
		one.items = (PlotItem *)(uintptr_t)item;
		one.n = 1;
		draw_bodies(&s, &one, box);
		draw_points(&s, &one, box);
	} else {
		solid_draw(&s, &one, box);
	}
	cells_scene(pane, &s);
	if (s.arena.failed) pane->c->arena->failed = true;
	plot_arena_free(&s.arena);
}

/* Returns the cell of a position on an axis of n cells with `dots` dots each,
 * -1 outside. */
static int axis_cell(const PlotSpan *s, double at, int n, int dots) {
	double u = span_place(s, at);
	if (!(u > -1e-6 && u < 1 + 1e-6)) return -1;
	return (int)plot_clamp(floor((u * (n * dots - 1) + 0.5) / dots), 0, n - 1);
}

/* Draws the left or the right axis. */
static void draw_y_axis(Pane *pane, bool right) {
	const PlotTicks *t = right ? &pane->box->y2 : &pane->box->y;
	int x = right ? pane->left + pane->across : pane->left - 1, last = -1;
	for (int y = 0; y < pane->down; y++) canvas_put(pane->c, x, pane->top + y, 0x2502, FAINT);
	for (int i = 0; i < t->n; i++) {
		int cell = axis_cell(&pane->box->axes.axis[right ? PLOT_Y2 : PLOT_Y], t->major[i].at,
		                     pane->down, 4);
		if (cell < 0 || (last >= 0 && cell == last)) continue;
		last = cell;
		int y = pane->top + pane->down - 1 - cell;
		const char *text = plain_text(pane->c, t->major[i].label);
		int room = right ? pane->x + pane->width - x - 1 : x - pane->x, width = text_columns(text);
		canvas_put(pane->c, x, y, right ? 0x251c : 0x2524, FAINT);
		if (width <= room)
			canvas_text(pane->c, right ? x + 1 : x - width, y, room, text, PLAIN, false);
	}
}

static void draw_x_axis(Pane *pane) {
	const PlotTicks *t = &pane->box->x;
	const PlotSpan *span = &pane->box->axes.axis[PLOT_X];
	int y = pane->top + pane->down, end = pane->x - 2, right = pane->left + pane->across;
	canvas_put(pane->c, pane->left - 1, y, 0x2514, FAINT);
	for (int x = 0; x < pane->across; x++) canvas_put(pane->c, pane->left + x, y, 0x2500, FAINT);
	if (pane->box->axes.right) canvas_put(pane->c, right, y, 0x2518, FAINT);
	for (int k = 0; k < t->n; k++) {
		int i = span->turned ? t->n - 1 - k : k;
		int cell = axis_cell(span, t->major[i].at, pane->across, 2);
		if (cell < 0) continue;
		canvas_put(pane->c, pane->left + cell, y, 0x252c, FAINT);
		const char *text = plain_text(pane->c, t->major[i].label);
		int width = text_columns(text), x = pane->left + cell - width / 2;
		if (x + width > right) x = right - width;
		if (x < pane->x) x = pane->x;
		if (x < end + 2 || x + width > right) continue;
		canvas_text(pane->c, x, y + 1, width, text, PLAIN, false);
		end = x + width - 1;
	}
}

/* Draws the sample of a series in the legend. */
static int draw_swatch(Pane *pane, int x, int y, size_t item) {
	const PlotItem *it = &pane->p->items[item];
	static const uint32_t looks[5][3] = {{0x2500, 0x2500, 0x2500},
	                                     {0x2500, 0x2500, 0x2500},
	                                     {0x2500, ' ', 0x2500},
	                                     {0xb7, 0xb7, 0xb7},
	                                     {0x2500, 0xb7, 0x2500}};
	PlotDash dash = pane_dash(pane, item);
	bool area = it->kind == PLOT_BARS || it->kind == PLOT_BAND || it->kind == PLOT_POLYGON ||
	            it->kind == PLOT_SURFACE || (it->kind == PLOT_RULES && it->more.a);
	if (area) {
		uint32_t fill = it->kind == PLOT_BARS || it->kind == PLOT_SURFACE ? 0x2588 : 0x2592;
		for (int i = 0; i < 2; i++)
			canvas_put(pane->c, x + i, y, fill, plot_ansi_series(it->colour));
		return 2;
	}
	if (it->kind == PLOT_ARROWS || it->kind == PLOT_FLOW) {
		canvas_put(pane->c, x, y, 0x2192, plot_ansi_series(it->colour));
		return 1;
	}
	int ink = plot_ansi_series(it->colour), n = dash == PLOT_NO_LINE ? 1 : 3;
	for (int i = 0; i < n; i++)
		canvas_put(pane->c, x + i, y, dash == PLOT_NO_LINE ? 0xb7 : looks[dash][i], ink);
	bool sign = it->marker != PLOT_MARKER_NONE && it->s.n <= SIGNS;
	if (sign) canvas_put(pane->c, x + n / 2, y, marker_sign(it->marker), ink);
	return n;
}

/* Draws the legend, or only counts its rows: one entry after another,
 * wrapped. */
static int lay_legend(Pane *pane, int y, int rows, bool draw) {
	int x = 0, row = 0;
	if (pane->p->legend == PLOT_LEGEND_NONE || !legend_entries(pane->p)) return 0;
	for (size_t i = 0; i < pane->p->n; i++) {
		const PlotItem *it = &pane->p->items[i];
		if (!it->s.label) continue;
		const char *text = plain_text(pane->c, it->s.label);
		int width = 4 + text_columns(text);
		if (width > pane->width) width = pane->width;
		if (x && x + width > pane->width) {
			if (row + 1 >= rows) {
				if (draw)
					canvas_put(pane->c, pane->x + (x + 1 < pane->width ? x : pane->width - 1),
					           y + row, 0x2026, FAINT);
				break;
			}
			row++;
			x = 0;
		}
		if (draw) {
			int n = draw_swatch(pane, pane->x + x, y + row, i);
			canvas_text(pane->c, pane->x + x + n + 1, y + row, width - n - 1, text, PLAIN, false);
		}
		x += width + 2;
	}
	return row + 1;
}

static const char *number_text(Canvas *c, double v) {
	char text[40];
	int n = snprintf(text, sizeof text, "%.4g", v);
	for (int i = 0; i < n; i++)
		if (text[i] == ',') text[i] = '.'; /* independent of the locale */
	return plot_take_text(c->arena, text, (size_t)n);
}

static void draw_bar(Pane *pane, int y) {
	const PlotSpan *z = &pane->box->axes.axis[PLOT_Z];
	const char *label = pane->p->label[PLOT_Z] ? plain_text(pane->c, pane->p->label[PLOT_Z]) : "";
	double ends[2] = {z->turned ? z->hi : z->lo, z->turned ? z->lo : z->hi};
	for (int i = 0; i < 2; i++)
		if (!z->log && fabs(ends[i]) < 1e-6 * (z->hi - z->lo))
			ends[i] = 0; /* suppress rounding errors */
	const char *low = number_text(pane->c, ends[0]), *high = number_text(pane->c, ends[1]);
	int room = pane->width - text_columns(low) - text_columns(high) - 2, x = pane->x;
	int cells = room < 24 ? room : 24, for_label = room - cells - 2;
	if (cells < 3) return;
	if (*label && for_label >= 3)
		x += canvas_text(pane->c, x, y, for_label, label, PLAIN, false) + 2;
	x += canvas_text(pane->c, x, y, pane->width, low, PLAIN, false) + 1;
	int16_t palette[256];
	plot_map_ansi(pane->box->axes.map, palette);
	for (int i = 0; i < cells; i++) {
		double u = (i + 0.5) / cells;
		int ink = pane->c->colour ? palette[(int)(u * (PLOT_MAP_COLOURS - 1) + 0.5)] : PLAIN;
		canvas_put(pane->c, x + i, y, pane->c->colour ? 0x2588 : shade(u), ink);
	}
	canvas_text(pane->c, x + cells + 1, y, pane->width, high, PLAIN, false);
}

/* Finds the ticks of a y axis; returns the columns that their labels need. */
static int find_side(Pane *pane, PlotAxis axis, PlotTicks *ticks) {
	const PlotSpan *span = &pane->box->axes.axis[axis];
	int most = pane->down / 3, widest = 0;
	if (pane->p->ticks[axis].n) ticks_named(&pane->p->ticks[axis], span, 0, ticks);
	else ticks_find(span, most < 2 ? 2 : most > 9 ? 9 : most, ticks);
	for (int i = 0; i < ticks->n; i++) {
		int width = text_columns(plain_text(pane->c, ticks->major[i].label));
		if (width > widest) widest = width;
	}
	return widest > (pane->width - 12) / (pane->box->axes.right ? 2 : 1) ? 0 : widest;
}

/* Decides which lines are shown, finds the ticks and the size of the plot. */
static void measure_pane(Pane *pane) {
	const PlotPanel *p = pane->p;
	PanelBox *box = pane->box;
	pane->title = p->title;
	pane->bar = panel_has_bar(p);
	pane->legend_rows = lay_legend(pane, 0, LEGEND_ROWS, false);
	pane->x_label = p->label[PLOT_X] || box->axes.left_out;
	const bool right = box->axes.right;
	pane->y_label = p->label[PLOT_Y] || (right && p->label[PLOT_Y2]);
	if (p->solid) {
		if (pane->height - pane->title - pane->legend_rows < LEAST_PLOT_ROWS) pane->legend_rows = 0;
		if (pane->height - pane->title < LEAST_PLOT_ROWS) pane->title = false;
		pane->x_label = pane->y_label = false;
		pane->left = pane->x;
		pane->top = pane->y + pane->title;
		pane->across = pane->width;
		pane->down = pane->height - pane->title - pane->legend_rows;
		return;
	}
	for (int round = 0; round < 2; round++) { /* a multiplier needs the lines of the labels */
		for (int drop = 0; drop < 7; drop++) {
			pane->down = pane->height - 2 - pane->title - pane->y_label - pane->x_label -
			             pane->legend_rows - pane->bar;
			if (pane->down >= LEAST_PLOT_ROWS) break;
			if (drop == 0 && pane->legend_rows > 1) pane->legend_rows = 1;
			/* the labels would be wrong without it */
			if (drop == 1) pane->x_label = box->x.multiplier[0];
			if (drop == 2) pane->bar = false;
			if (drop == 3) pane->y_label = box->y.multiplier[0] || box->y2.multiplier[0];
			if (drop == 4) pane->legend_rows = 0;
			if (drop == 5) pane->title = false;
		}
		const int widest = find_side(pane, PLOT_Y, &box->y),
				  beside = right ? find_side(pane, PLOT_Y2, &box->y2) + 1 : 0;
		if (!round && (box->y.multiplier[0] || box->y2.multiplier[0])) pane->y_label = true;
		pane->left = pane->x + widest + 1;
		pane->across = pane->width - widest - 1 - beside;
		if (p->ticks[PLOT_X].n) ticks_named(&p->ticks[PLOT_X], &box->axes.axis[PLOT_X], 0, &box->x);
		else ticks_find(&box->axes.axis[PLOT_X], (int)plot_clamp(pane->across / 11, 2, 9), &box->x);
		if (!round && box->x.multiplier[0]) pane->x_label = true;
	}
	pane->top = pane->y + pane->title + pane->y_label;
	const PlotSpan *sx = &box->axes.axis[PLOT_X], *sy = &box->axes.axis[PLOT_Y];
	if (p->aspect > 0 && !sx->log && !sy->log) { /* dots are square */
		double want = p->aspect * (sy->hi - sy->lo) / (sx->hi - sx->lo);
		double wide = 2 * pane->across, high = 4 * pane->down;
		if (high > want * wide)
			pane->down = (int)plot_clamp(want * wide / 4 + 0.5, LEAST_PLOT_ROWS, pane->down);
		else
			pane->across =
				(int)plot_clamp(high / want / 2 + 0.5, plot_min(8, pane->across), pane->across);
	}
	box->plot = (PlotRect){0, 0, 2 * pane->across - 1, 4 * pane->down - 1};
}

/* Returns a label and a multiplier in one line, e.g. "u (×10⁶)". */
static const char *with_multiplier(Canvas *c, const char *label, const char *multiplier) {
	const char *plain = label ? plain_text(c, label) : "", *factor = plain_text(c, multiplier);
	if (!*factor) return plain;
	size_t n = strlen(plain) + strlen(factor) + 4;
	char *both = plot_take(c->arena, n, 1);
	if (!both) return plain;
	if (*plain) snprintf(both, n, "%s (%s)", plain, factor);
	else snprintf(both, n, "%s", factor);
	return both;
}

static void draw_pane(Pane *pane) {
	const PlotPanel *p = pane->p;
	Canvas *c = pane->c;
	measure_pane(pane);
	int y = pane->y;
	if (pane->title)
		canvas_centred(c, pane->left, y++, pane->across, plain_text(c, p->title), PLAIN, true);
	if (pane->y_label) {
		const char *left = with_multiplier(c, p->label[PLOT_Y], pane->box->y.multiplier),
				   *right = pane->box->axes.right
		                        ? with_multiplier(c, p->label[PLOT_Y2], pane->box->y2.multiplier)
		                        : "";
		int room = text_columns(right), most = pane->width / 2;
		if (room > most) room = most;
		canvas_text(c, pane->x, y, pane->width - (room ? room + 1 : 0), left, PLAIN, false);
		if (room) canvas_text(c, pane->x + pane->width - room, y, room, right, PLAIN, false);
	}
	if (p->solid) {
		draw_layer(pane, NULL);
	} else {
		if (p->has_field) draw_field(pane, &p->field, NULL, 0);
		for (size_t i = 0; i < p->n; i++) draw_series(pane, i);
		draw_y_axis(pane, false);
		if (pane->box->axes.right) draw_y_axis(pane, true);
		draw_x_axis(pane);
	}
	if (pane->box->axes.note)
		canvas_centred(c, pane->left, pane->top + pane->down / 2, pane->across,
		               pane->box->axes.note, FAINT, false);
	y = pane->top + pane->down + (p->solid ? 0 : 2);
	if (pane->x_label) {
		const char *text = with_multiplier(c, p->label[PLOT_X], pane->box->x.multiplier);
		size_t n = strlen(text) + 80;
		char *noted = pane->box->axes.left_out ? plot_take(c->arena, n, 1) : NULL;
		if (noted) {
			snprintf(noted, n, "%s%s%zu value%s \xe2\x89\xa4 0 not shown", text,
			         *text ? "  \xc2\xb7  " : "", pane->box->axes.left_out,
			         pane->box->axes.left_out > 1 ? "s" : "");
			text = noted;
		}
		canvas_centred(c, pane->left, y++, pane->across, text, PLAIN, false);
	}
	if (pane->legend_rows) y += lay_legend(pane, y, pane->legend_rows, true);
	if (pane->bar) draw_bar(pane, y);
}

/* ---- the whole figure ---------------------------------------------------- */

static void put_style(PlotBuffer *out, const CanvasCell *cell) {
	plot_puts(out, cell->bold ? "\x1b[0;1" : "\x1b[0");
	if (cell->ink != PLAIN) {
		plot_puts(out, ";38;5;");
		plot_put_int(out, cell->ink);
	}
	if (cell->ground != PLAIN) {
		plot_puts(out, ";48;5;");
		plot_put_int(out, cell->ground);
	}
	plot_puts(out, "m");
}

static void put_row(PlotBuffer *out, Canvas *c, int y) {
	const CanvasCell plain = {.ink = PLAIN, .ground = PLAIN};
	CanvasCell now = plain;
	int end = c->width;
	for (; end > 0; end--) { /* trailing blanks are not written */
		const CanvasCell *cell = canvas_at(c, end - 1, y);
		if ((cell->ch && cell->ch != ' ') || cell->taken || (c->colour && cell->ground != PLAIN))
			break;
	}
	for (int x = 0; x < end; x++) {
		const CanvasCell *cell = canvas_at(c, x, y);
		if (cell->taken) continue;
		bool blank = !cell->ch || cell->ch == ' ';
		CanvasCell want =
			blank && cell->ground == PLAIN ? (now.ground == PLAIN ? now : plain) : *cell;
		if (c->colour &&
		    (want.ink != now.ink || want.ground != now.ground || want.bold != now.bold)) {
			put_style(out, &want);
			now = want;
		}
		put_char(out, cell->ch ? cell->ch : ' ');
		if (cell->mark) put_char(out, cell->mark);
	}
	if (now.ink != PLAIN || now.ground != PLAIN || now.bold) plot_puts(out, "\x1b[0m");
	plot_puts(out, "\n");
}

static PlotStatus draw_panes(Figure *f, Canvas *c, bool stacked, int rows) {
	int title = f->title ? 1 : 0, cols = stacked ? 1 : f->cols, row = 0;
	if (title) canvas_centred(c, 0, 0, c->width, plain_text(c, f->title), PLAIN, true);
	PanelBox *box = plot_take(c->arena, 1, sizeof *box);
	if (!box) return PLOT_NO_MEMORY;
	for (int k = 0; k < f->rows * f->cols; k++) {
		if (!figure_shows(f, k)) continue;
		memset(box, 0, sizeof *box);
		PlotStatus status = panel_axes(f, k, &box->axes);
		if (status) return status;
		int width = (c->width - GAP * (cols - 1)) / cols,
			height = stacked ? rows : (rows - title) / f->rows;
		Pane pane = {.c = c, .p = &f->panels[k], .box = box, .width = width, .height = height};
		pane.x = stacked ? 0 : k % cols * (width + GAP);
		pane.y = title + (stacked ? row++ : k / cols) * height;
		draw_pane(&pane);
	}
	return PLOT_OK;
}

PlotStatus figure_write_terminal(Figure *f, int columns, int rows, bool colour, PlotSink sink,
                                 void *ud) {
	if (!f) return PLOT_BAD_ARGUMENT;
	if (!sink) return plot_fail(f, PLOT_BAD_ARGUMENT, "a text needs somewhere to go");
	if (columns < LEAST_COLUMNS || rows < LEAST_ROWS)
		return plot_fail(f, PLOT_TOO_SMALL,
		                 "a plot needs at least %d columns and %d rows; %d by %d were given",
		                 LEAST_COLUMNS, LEAST_ROWS, columns, rows);
	if (columns > 1000) columns = 1000;
	if (rows > 1000) rows = 1000;
	int title = f->title ? 1 : 0, panels = 0;
	bool stacked =
		f->rows * f->cols > 1 && ((columns - GAP * (f->cols - 1)) / f->cols < PANEL_COLUMNS ||
	                              (rows - title) / f->rows < PANEL_ROWS);
	for (int k = 0; k < f->rows * f->cols; k++) panels += figure_shows(f, k);

	PlotArena arena = {&f->alloc, NULL, false};
	PlotBuffer out = {.alloc = &f->alloc};
	Canvas c = {.width = columns,
	            .height = stacked ? title + panels * rows : rows,
	            .colour = colour,
	            .arena = &arena};
	c.cell = plot_take(&arena, (size_t)c.width * (size_t)c.height, sizeof *c.cell);
	PlotStatus status = c.cell ? PLOT_OK : PLOT_NO_MEMORY;
	for (size_t i = 0; c.cell && i < (size_t)c.width * (size_t)c.height; i++)
		c.cell[i].ink = c.cell[i].ground = PLAIN;
	if (!status) status = draw_panes(f, &c, stacked, rows);
	if (!status) {
		for (int y = 0; y < c.height; y++) put_row(&out, &c, y);
		if (arena.failed || out.failed) status = PLOT_NO_MEMORY;
	}
	if (status == PLOT_NO_MEMORY) plot_fail(f, status, "not enough memory for the plot");
	if (!status) sink(ud, out.at, out.n);
	plot_buffer_free(&out);
	plot_arena_free(&arena);
	return status;
}
