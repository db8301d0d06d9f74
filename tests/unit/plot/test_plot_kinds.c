/* test_plot_kinds.c - unit tests of every kind of layer.
 *
 * Covers labels and legends, terminal output, degenerate data and allocation
 * failure.
 *
 * Needs: repl/plot/.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/layers.h"

/* ---- labels and legends -------------------------------------------------- */

static void test_labels(Test *t, const Data *d) {
	for (int round = 0; round < 400; round++) {
		PlotKind kind = (PlotKind)(round % KINDS);
		PlotLayer l = layer_of(d, kind);
		double x[N], y[N], z[N], gx[NX], gy[NY], gz[NX * NY];
		double size[3], shift[3];
		for (int a = 0; a < 3; a++) {
			size[a] = pow(10, -9 + 18 * uniform(t));
			shift[a] = (uniform(t) - 0.5) * size[a] * pow(10, 3 * uniform(t));
		}
		for (int i = 0; i < N; i++)
			x[i] = d->x[i] * size[0] + shift[0], y[i] = d->y[i] * size[1] + shift[1],
			z[i] = d->z[i] * size[2] + shift[2];
		for (int i = 0; i < NX; i++) gx[i] = d->gx[i] * size[0] + shift[0];
		for (int j = 0; j < NY; j++) gy[j] = d->gy[j] * size[1] + shift[1];
		for (int i = 0; i < NX * NY; i++) gz[i] = d->bowl[i] * size[2] + shift[2];
		if (l.s.x) l.s.x = x;
		if (l.s.y) l.s.y = y;
		if (l.a && kind != PLOT_ERRORS) l.a = kind == PLOT_BAND ? y : z;
		if (l.grid.z)
			l.grid.x = gx, l.grid.y = gy,
			l.grid.z = kind == PLOT_SURFACE || kind == PLOT_CONTOURS ? gz : l.grid.z;
		l.labelled = false;
		l.filled = round % 2;
		Figure *f = figure_of(&l);
		CHECK(f != NULL);
		if (!f) continue;
		panel_title(f, 0, "A title of some length");
		panel_label(f, 0, PLOT_X, round % 3 ? "x" : "a longer label of the abscissa / 10^{3} m");
		panel_label(f, 0, PLOT_Y, round % 4 ? "y" : "a longer label of the ordinate / s");
		panel_label(f, 0, PLOT_Z, "z");
		Scene s;
		PlotStatus status = figure_scene(f, 260 + 500 * uniform(t), 200 + 400 * uniform(t), 2, &s);
		CHECK(status == PLOT_OK || status == PLOT_TOO_SMALL);
		if (!status) check_texts(&s, 1);
		plot_arena_free(&s.arena);
		figure_free(f);
	}
	/* Tick names are truncated to the space they have. */
	static const char *const names[6] = {
		"Monday of the first week",   "Tuesday", "Wednesday, which is long", "Thursday", "Friday",
		"Σάββατο and Sunday together"};
	double at[6] = {0, 1, 2, 3, 4, 5}, h[6] = {3, 1, 2, 5, 4, 2};
	for (int k = 0; k < 40; k++) {
		PlotLayer l = {.kind = PLOT_BARS,
		               .s = {.x = k % 2 ? h : at, .y = k % 2 ? at : h, .n = 6},
		               .sideways = k % 2};
		Figure *f = figure_of(&l);
		CHECK(f && panel_ticks(f, 0, k % 2 ? PLOT_Y : PLOT_X, 6, at, names) == PLOT_OK);
		Scene s;
		PlotStatus status = figure_scene(f, 220 + 600 * uniform(t), 160 + 400 * uniform(t), 2, &s);
		CHECK(status == PLOT_OK || status == PLOT_TOO_SMALL);
		if (!status) check_texts(&s, 1);
		plot_arena_free(&s.arena);
		figure_free(f);
	}
	double wrong[2] = {1, 1};
	Figure *f = figure_new(NULL, 1, 1);
	CHECK(panel_ticks(f, 0, PLOT_X, 2, wrong, names) == PLOT_BAD_ARGUMENT &&
	      panel_ticks(f, 0, PLOT_Z, 0, NULL, NULL) == PLOT_BAD_ARGUMENT);
	CHECK(panel_ticks(f, 0, PLOT_X, 0, NULL, NULL) == PLOT_OK);
	figure_free(f);
}

/* When a corner is empty, nothing is drawn under the legend, for markers, bars
 * and bands as for lines. */
static void test_legends(Test *t) {
	for (int round = 0; round < 60; round++) {
		int corner = round % 4;
		PlotKind kind = round % 3 == 0 ? PLOT_BARS : round % 3 == 1 ? PLOT_BAND : PLOT_STEMS;
		double x[30], y[30], a[30];
		for (int i = 0; i < 30; i++) {
			x[i] = i;
			/* The free corner is at the side of the small values. */
			double up = corner & 2 ? 1 : -1;
			double rise = (corner & 1 ? 29 - i : i) / 29.0;
			y[i] = up * (0.05 + rise * rise * rise * (0.9 + 0.1 * uniform(t)));
			a[i] = 0;
		}
		PlotLayer l = {
			.kind = kind,
			.s = {.x = x, .y = y, .n = 30, .label = "the data", .colour = PLOT_COLOUR_AUTO},
			.a = kind == PLOT_STEMS ? NULL : a};
		Figure *f = figure_of(&l);
		Scene s;
		CHECK(f && figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
		PlotRect legend = {0};
		for (const PlotPrimitive *p = s.first; p; p = p->next)
			if (p->kind == PRIM_TEXT && !strcmp(p->text, "the data")) legend = text_box(p);
		CHECK(legend.x1 > legend.x0);
		bool covered = false;
		for (const PlotPrimitive *p = s.first; p; p = p->next) {
			if (!p->clip) continue;
			for (size_t i = 0; i < p->n; i++)
				covered =
					covered || (p->points[i].x > legend.x0 - 30 && p->points[i].x < legend.x1 &&
				                p->points[i].y > legend.y0 && p->points[i].y < legend.y1);
		}
		CHECK(!covered);
		plot_arena_free(&s.arena);
		figure_free(f);
	}
}

/* ---- terminal ------------------------------------------------------------ */

static void test_terminal(Test *t, const Data *d) {
	double x[3] = {0, 1, 2}, y[3] = {1, 3, 2};
	static const char *const names[3] = {"one", "two", "three"};
	Figure *f =
		figure_of(&(PlotLayer){.kind = PLOT_BARS, .s = {.x = x, .y = y, .n = 3, .label = "count"}});
	panel_ticks(f, 0, PLOT_X, 3, x, names);
	Text out = {0};
	CHECK(figure_write_terminal(f, 32, 10, false, take_text, &out) == PLOT_OK);
	int full = 0;
	for (const char *p = out.at; p && *p;) full += plot_utf8(&p) == 0x2588;
	CHECK(out.at && strstr(out.at, "one") && strstr(out.at, "three") && strstr(out.at, "count") &&
	      full > 60 && full < 140);
	free(out.at);
	figure_free(f);
	/* Every kind, in many sizes, with and without colour: within its columns,
	 * and not empty. */
	for (int kind = 0; kind < KINDS; kind++) {
		PlotLayer l = layer_of(d, (PlotKind)kind);
		for (int round = 0; round < 12; round++) {
			l.filled = round % 2;
			f = figure_of(&l);
			int columns = 20 + (int)(uniform(t) * 120), rows = 6 + (int)(uniform(t) * 40);
			out = (Text){0};
			CHECK(f && figure_write_terminal(f, columns, rows, round % 3 == 0, take_text, &out) ==
			               PLOT_OK);
			int width = 0, lines = 0, marks = 0;
			bool fits = true;
			for (const char *p = out.at; p && *p;) {
				uint32_t c = plot_utf8(&p);
				if (c == 0x1b) {
					p = strchr(p, 'm') + 1;
					continue;
				}
				if (c == '\n') {
					lines++;
					width = 0;
					continue;
				}
				width += plot_char_columns(c);
				fits = fits && width <= columns;
				marks += c >= 0x2500;
			}
			CHECK(fits && lines <= rows && marks > 10);
			free(out.at);
			figure_free(f);
		}
	}
}

/* ---- degenerate data, allocation failure --------------------------------- */

static void test_degenerate(Test *t, const Data *d) {
	static const double sets[][N] = {{0},
	                                 {5, 5, 5, 5},
	                                 {NAN, NAN, NAN},
	                                 {INFINITY, -INFINITY, 1},
	                                 {1e307, -1e307, 1},
	                                 {4e-324, 0, 1e-310},
	                                 {-1, -2, -3, -4},
	                                 {1e300, 1e-300, 1}};
	char path[300];
	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
			for (int log = 0; log < 3; log++) {
				PlotLayer l = layer_of(d, (PlotKind)kind);
				static double grid[NX * NY];
				for (int i = 0; i < NX * NY; i++) grid[i] = sets[k][i % N];
				if (l.s.x) l.s.x = log == 1 ? sets[k] : d->x;
				if (l.s.y) l.s.y = sets[k];
				if (l.a) l.a = log == 2 ? sets[k] : l.a;
				if (kind == PLOT_ERRORS) l.c = l.d = sets[(k + 1) % 8];
				if (l.grid.z) l.grid.z = grid, l.w = log ? grid : d->v;
				l.filled = log == 1;
				if (kind == PLOT_RULES && k % 2) l.a = sets[(k + 3) % 8];
				Figure *f = figure_of(&l);
				CHECK(f != NULL);
				if (!f) continue;
				figure_size(f, 240, 180);
				if (log == 1) panel_scale(f, 0, PLOT_X, PLOT_LOG);
				if (log == 2) panel_scale(f, 0, PLOT_Y, PLOT_LOG);
				if (k % 2) panel_scale(f, 0, PLOT_Z, PLOT_LOG);
				CHECK(figure_write_png(f, file_in(t, "d.png", path), 240, 180) == PLOT_OK);
				unlink(path);
				CHECK(figure_write_svg(f, file_in(t, "d.svg", path)) == PLOT_OK);
				unlink(path);
				Text out = {0};
				CHECK(figure_write_terminal(f, 50, 14, true, take_text, &out) == PLOT_OK &&
				      out.n > 20);
				free(out.at);
				figure_free(f);
			}
		}
		/* No sample, and one sample. */
		PlotLayer l = layer_of(d, (PlotKind)kind);
		for (size_t n = 0; n < 2 && l.s.n; n++) {
			l.s.n = n;
			Figure *f = figure_of(&l);
			CHECK(f && figure_write_png(f, file_in(t, "d.png", path), 240, 180) == PLOT_OK);
			unlink(path);
			figure_free(f);
		}
		if (l.grid.z) {
			l.grid.nx = l.grid.ny = 1;
			Figure *f = figure_of(&l);
			CHECK(f && figure_write_png(f, file_in(t, "d.png", path), 240, 180) == PLOT_OK);
			unlink(path);
			figure_free(f);
		}
	}
}

static void test_arguments(const Data *d) {
	Figure *f = figure_new(NULL, 1, 1);
	double falling[2] = {2, 1}, v[2] = {0, 1};
	CHECK(panel_layer(f, 0, NULL) == PLOT_BAD_ARGUMENT &&
	      panel_layer(f, 1, &(PlotLayer){.kind = PLOT_LINE}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = (PlotKind)99}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_BAND, .s = {.y = v, .n = 2}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_RULES, .s = {.x = v, .y = v, .n = 2}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_RULES, .s = {.n = 2}}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_TEXT, .s = {.y = v, .n = 1}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_CONTOURS}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0,
	                  &(PlotLayer){.kind = PLOT_FLOW, .grid = {.z = d->u, .nx = NX, .ny = NY}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0,
	                  &(PlotLayer){.kind = PLOT_CONTOURS,
	                               .grid = {.z = d->u, .nx = NX, .ny = NY},
	                               .levels = falling,
	                               .nlevels = 2}) == PLOT_BAD_DATA);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_LINE, .s = {.y = v, .n = 2, .opacity = 2}}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_layer(f, 0, &(PlotLayer){.kind = PLOT_STEMS, .s = {.y = v, .n = 2}, .base = NAN}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_aspect(f, 0, -1) == PLOT_BAD_ARGUMENT &&
	      panel_aspect(f, 0, NAN) == PLOT_BAD_ARGUMENT &&
	      panel_map(f, 0, (PlotMap)50) == PLOT_BAD_ARGUMENT);
	CHECK(figure_check(f) == PLOT_OK && figure_check(NULL) == PLOT_BAD_ARGUMENT &&
	      figure_count(f) == 1);
	panel_scale(f, 0, PLOT_X, PLOT_LOG);
	panel_limits(f, 0, PLOT_X, -1, 1);
	CHECK(figure_check(f) == PLOT_BAD_DATA && *figure_error(f));
	char text[64];
	ticks_number(-1e-7, text, sizeof text);
	CHECK(!strcmp(text, "\xe2\x88\x92"
	                    "10^{\xe2\x88\x92"
	                    "7}"));
	ticks_number(2.5e8, text, sizeof text);
	CHECK(!strcmp(text, "2.5\xc3\x97"
	                    "10^{8}"));
	ticks_number(0.25, text, sizeof text);
	CHECK(!strcmp(text, "0.25"));
	figure_free(f);

	/* The cyclic colour map ends where it begins; the warm one increases in
	 * lightness. */
	PlotColour map[256];
	plot_map_colours(PLOT_MAP_CYCLIC, map);
	CHECK(map[0].r == map[PLOT_MAP_COLOURS - 1].r && map[0].g == map[PLOT_MAP_COLOURS - 1].g &&
	      map[0].b == map[PLOT_MAP_COLOURS - 1].b);
	plot_map_colours(PLOT_MAP_WARM, map);
	bool rises = true;
	for (int i = 4; i < PLOT_MAP_COLOURS; i++)
		rises = rises && 2 * map[i].r + 7 * map[i].g + map[i].b >
		                     2 * map[i - 4].r + 7 * map[i - 4].g + map[i - 4].b;
	CHECK(rises);
	CHECK(plot_series_colour(PLOT_RGB(1, 2, 3)).g == 2 &&
	      plot_ansi_nearest((PlotColour){255, 255, 255, 255}) == 231);
}

static void use_all(Test *t, const Data *d, Meter *m, PlotKind kind, int writer) {
	PlotAllocator alloc = {meter_resize, m};
	char path[300];
	static const char *const names[2] = {"a", "b"};
	double at[2] = {0, 1};
	Figure *f = figure_new(&alloc, 1, 1);
	if (!f) return;
	figure_size(f, 160, 120);
	PlotLayer l = layer_of(d, kind);
	l.filled = writer == 1;
	PlotStatus status = panel_layer(f, 0, &l);
	if (!status) status = panel_ticks(f, 0, PLOT_X, 2, at, names);
	if (!status && writer == 0) status = figure_write_svg(f, file_in(t, "m.svg", path));
	if (!status && writer == 1) status = figure_write_png(f, file_in(t, "m.png", path), 160, 120);
	if (!status && writer == 4) status = figure_write_pdf(f, file_in(t, "m.pdf", path));
	Text out = {0};
	if (!status && writer == 2) status = figure_write_terminal(f, 40, 12, true, take_text, &out);
	if (!status && writer == 3) {
		char error[320];
		Film *film = film_begin(&alloc, file_in(t, "m.gif", path), true, 1, 10);
		if (film) {
			film_add(film, f, 96);
			film_end(film, error, sizeof error);
		}
	}
	CHECK(status == PLOT_OK || status == PLOT_NO_MEMORY || status == PLOT_TOO_SMALL);
	if (writer != 2) unlink(path);
	free(out.at);
	figure_free(f);
}

static void test_memory(Test *t, const Data *d) {
	for (int kind = 0; kind < KINDS; kind++)
		for (int writer = 0; writer < 5; writer++) {
			Meter whole = {.fail_from = -1};
			use_all(t, d, &whole, (PlotKind)kind, writer);
			CHECK(!whole.held && !whole.blocks && !whole.wrong && whole.calls > 0);
			long step = whole.calls / 60 + 1;
			for (long at = 0; at < whole.calls; at += step) {
				Meter m = {.fail_from = at};
				use_all(t, d, &m, (PlotKind)kind, writer);
				CHECK(!m.held && !m.blocks && !m.wrong);
			}
		}
}

int main(void) {
	Test test = {.seed = 12995421875088518840ull}, *t = &test;
	Data *d = calloc(1, sizeof *d);
	if (!d || !test_begin(t, "test_plot_kinds")) return 1;
	fill_data(d);
	test_labels(t, d);
	test_legends(t);
	test_terminal(t, d);
	test_degenerate(t, d);
	test_arguments(d);
	test_memory(t, d);
	free(d);
	return test_end(t);
}
