/* test_plot_degenerate.c - unit tests of plotting with degenerate data.
 *
 * Covers data, arguments and allocation failure.
 *
 * Needs: repl/plot/.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/figures.h"

#include <sys/stat.h>

/* ---- degenerate data ----------------------------------------------------- */

static void write_everything(Test *t, Figure *f, PlotStatus want) {
	char path[300];
	Text out = {0};
	CHECK(figure_write_svg(f, file_in(t, "d.svg", path)) == want);
	size_t n = 0;
	char *text = want ? NULL : read_whole(path, &n);
	CHECK(want || (text && well_formed(text) > 10));
	free(text);
	unlink(path);
	CHECK(figure_write_png(f, file_in(t, "d.png", path), 400, 300) == want);
	unlink(path);
	CHECK(figure_write_pdf(f, file_in(t, "d.pdf", path)) == want);
	unlink(path);
	CHECK(figure_write_terminal(f, 60, 16, true, take_text, &out) == want);
	if (!want) check_lines(&out, 60, true);
	CHECK(!want || *figure_error(f));
	free(out.at);
}

static void test_degenerate(Test *t, const Data *d) {
	static const double sets[][6] = {
		{5, 5, 5, 5, 5, 5},
		{0, 0, 0, 0, 0, 0},
		{NAN, NAN, NAN, NAN, NAN, NAN},
		{INFINITY, -INFINITY, 1, NAN, 2, INFINITY},
		{1e308, -1e308, 1e308, 0, 1, 2},
		{1e307, -1e307, 9e306, 0, 1, 2},
		{4e-324, 1e-310, 0, -1e-320, 0, 0},
		{1, 1 + 1e-16, 1 + 4e-16, 1, 1, 1},
		{1e300, 1e-300, 1, 1e100, 1e-100, 3},
		{-1, -2, -3, -4, -5, -6},
		{NAN, 1, NAN, 2, NAN, 3},
		{123456789.125, 123456789.126, 123456789.127, 123456789.125, 123456789.125, 123456789.125},
	};
	const size_t count = sizeof sets / sizeof *sets;
	for (size_t a = 0; a < count; a++) {
		for (size_t b = 0; b < count; b++) {
			for (int log = 0; log < 4; log++) {
				if ((a * count + b + (size_t)log) % 3 && a != b) continue;
				Figure *f = figure_new(NULL, 1, 1);
				panel_scale(f, 0, PLOT_X, log & 1 ? PLOT_LOG : PLOT_LINEAR);
				panel_scale(f, 0, PLOT_Y, log & 2 ? PLOT_LOG : PLOT_LINEAR);
				CHECK(panel_line(f, 0,
				                 &(PlotSeries){.x = sets[a],
				                               .y = sets[b],
				                               .n = 6,
				                               .label = "l",
				                               .marker = PLOT_MARKER_PLUS}) == PLOT_OK);
				CHECK(panel_scatter(f, 0,
				                    &(PlotSeries){.x = sets[b],
				                                  .y = sets[a],
				                                  .n = 1 + (a + b) % 6,
				                                  .label = "p"}) == PLOT_OK);
				write_everything(t, f, PLOT_OK);
				figure_free(f);
			}
		}
		for (int k = 0; k < 8; k++) { /* as fields of several shapes */
			Figure *f = figure_new(NULL, 1, 1);
			figure_size(f, 240, 180);
			panel_scale(f, 0, PLOT_Z, k & 1 ? PLOT_LOG : PLOT_LINEAR);
			panel_scale(f, 0, PLOT_X, k & 2 ? PLOT_LOG : PLOT_LINEAR);
			size_t nx = k & 4 ? 6 : a % 2 ? 1 : 3;
			CHECK(panel_field(
					  f, 0,
					  &(PlotField){.z = sets[a], .nx = nx, .ny = 6 / nx, .cells = a % 3 == 0}) ==
			      PLOT_OK);
			write_everything(t, f, PLOT_OK);
			figure_free(f);
		}
	}

	/* No data, a series without samples, one sample, unusual widths. */
	Figure *f = figure_new(NULL, 1, 1);
	write_everything(t, f, PLOT_OK);
	CHECK(panel_line(f, 0, &(PlotSeries){.n = 0, .label = "none"}) == PLOT_OK);
	write_everything(t, f, PLOT_OK);
	CHECK(
		panel_line(f, 0, &(PlotSeries){.y = d->x, .n = 1, .dash = PLOT_DOTTED, .width = 1e-300}) ==
		PLOT_OK);
	CHECK(panel_line(
			  f, 0,
			  &(PlotSeries){
				  .x = d->x, .y = d->noise, .n = SAMPLES, .dash = PLOT_DOTTED, .width = 1e-300}) ==
	      PLOT_OK);
	CHECK(panel_line(
			  f, 0,
			  &(PlotSeries){
				  .x = d->x, .y = d->noise, .n = SAMPLES, .dash = PLOT_DASH_DOT, .width = 100}) ==
	      PLOT_OK);
	write_everything(t, f, PLOT_OK);
	figure_free(f);
	f = figure_new(NULL, 3, 3);
	write_everything(t, f, PLOT_OK);
	figure_free(f);

	/* Limits far inside or outside the data. */
	static const double limits[][2] = {
		{1e-9, 2e-9}, {-1e300, 1e300}, {0.5, 0.5000001}, {100, 200}, {1, -1}};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		f = figure_lines(d, NULL);
		for (int a = 0; a < 2; a++)
			CHECK(panel_limits(f, 0, (PlotAxis)a, limits[i][0], limits[i][1]) == PLOT_OK);
		write_everything(t, f, PLOT_OK);
		figure_free(f);
	}

	/* A million samples are drawn quickly and in little memory. */
	size_t n = 1000000;
	double *many = malloc(n * sizeof *many);
	for (size_t i = 0; i < n; i++) many[i] = uniform(t);
	f = figure_new(NULL, 1, 2);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = many, .n = n, .marker = PLOT_MARKER_CIRCLE}) ==
	      PLOT_OK);
	CHECK(panel_scatter(f, 1, &(PlotSeries){.x = many, .y = many + n / 2, .n = n / 2}) == PLOT_OK);
	char path[300];
	CHECK(figure_write_svg(f, file_in(t, "m.svg", path)) == PLOT_OK);
	struct stat st;
	CHECK(!stat(path, &st) && st.st_size < 40000000);
	unlink(path);
	figure_free(f);
	free(many);
}

static void test_arguments(Test *t) {
	double v[4] = {1, 2, 3, 3}, bad[3] = {1, NAN, 2};
	CHECK(!figure_new(NULL, 0, 1) && !figure_new(NULL, 1, 17) && !figure_new(NULL, -1, 1));
	figure_free(NULL);
	CHECK(*figure_error(NULL) && figure_title(NULL, "x") == PLOT_BAD_ARGUMENT &&
	      figure_size(NULL, 100, 100) == PLOT_BAD_ARGUMENT);
	CHECK(panel_title(NULL, 0, "x") == PLOT_BAD_ARGUMENT &&
	      figure_write_svg(NULL, "x") == PLOT_BAD_ARGUMENT);
	CHECK(figure_write_png(NULL, "x", 0, 0) == PLOT_BAD_ARGUMENT &&
	      figure_write_terminal(NULL, 80, 20, 0, take_text, NULL) == PLOT_BAD_ARGUMENT);
	Figure *f = figure_new(NULL, 2, 2);
	CHECK(!*figure_error(f));
	CHECK(panel_title(f, 4, "x") == PLOT_BAD_ARGUMENT && strstr(figure_error(f), "no panel 4"));
	CHECK(panel_title(f, -1, "x") == PLOT_BAD_ARGUMENT &&
	      panel_label(f, 0, (PlotAxis)7, "x") == PLOT_BAD_ARGUMENT);
	CHECK(panel_scale(f, 0, PLOT_X, (PlotScale)9) == PLOT_BAD_ARGUMENT &&
	      panel_legend(f, 0, (PlotLegend)99) == PLOT_BAD_ARGUMENT);
	CHECK(panel_limits(f, 0, PLOT_X, 1, 1) == PLOT_BAD_ARGUMENT &&
	      panel_limits(f, 0, PLOT_X, NAN, 1) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, NULL) == PLOT_BAD_ARGUMENT &&
	      panel_line(f, 0, &(PlotSeries){.n = 3}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = v, .n = 3, .width = -1}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = v, .n = 3, .width = NAN}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = v, .n = 3, .dash = (PlotDash)77}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_field(f, 0, NULL) == PLOT_BAD_ARGUMENT &&
	      panel_field(f, 0, &(PlotField){.z = v}) == PLOT_BAD_ARGUMENT);
	CHECK(panel_field(f, 0, &(PlotField){.x = v, .z = v, .nx = 4, .ny = 1}) == PLOT_BAD_DATA &&
	      strstr(figure_error(f), "number 3"));
	CHECK(panel_field(f, 0, &(PlotField){.y = bad, .z = v, .nx = 1, .ny = 3}) == PLOT_BAD_DATA);
	CHECK(panel_field(f, 0, &(PlotField){.z = v, .nx = 2, .ny = 2, .map = (PlotMap)8}) ==
	      PLOT_BAD_ARGUMENT);
	CHECK(panel_field(f, 0, &(PlotField){.z = v, .nx = 2, .ny = 2}) == PLOT_OK);
	CHECK(panel_field(f, 0, &(PlotField){.z = v, .nx = 2, .ny = 2}) == PLOT_BAD_ARGUMENT);
	CHECK(figure_size(f, 10, 100) == PLOT_BAD_ARGUMENT &&
	      figure_size(f, NAN, 100) == PLOT_BAD_ARGUMENT && figure_size(f, 500, 400) == PLOT_OK);
	CHECK(panel_title(f, 1, "limits") == PLOT_OK);
	CHECK(panel_limits(f, 1, PLOT_Y, -1, 1) == PLOT_OK &&
	      panel_scale(f, 1, PLOT_Y, PLOT_LOG) == PLOT_OK);
	write_everything(t, f, PLOT_BAD_DATA);
	CHECK(panel_limits(f, 1, PLOT_Y, 1, 1 + 1e-15) == PLOT_OK);
	write_everything(t, f, PLOT_BAD_DATA);
	CHECK(panel_limits(f, 1, PLOT_Y, 10, 1) == PLOT_OK);
	CHECK(panel_title(f, 1, "") == PLOT_OK && panel_title(f, 1, NULL) == PLOT_OK);
	write_everything(t, f, PLOT_OK);
	figure_free(f);

	/* Strides: a column of a matrix, and a negative stride. */
	double matrix[6] = {1, 10, 2, 20, 3, 30};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = matrix + 1, .n = 3, .y_step = 2}) == PLOT_OK);
	CHECK(panel_line(f, 0, &(PlotSeries){.y = matrix + 4, .n = 3, .y_step = -2}) == PLOT_OK);
	CHECK(item_y(&f->panels[0].items[0], 2) == 30 && item_y(&f->panels[0].items[1], 2) == 1 &&
	      item_x(&f->panels[0].items[1], 2) == 2);
	figure_free(f);
}

/* ---- allocation failure -------------------------------------------------- */

/* Uses the library once; returns true when every step succeeds. */
static bool use(Test *t, const Data *d, Meter *m, int kind) {
	PlotAllocator alloc = {meter_resize, m};
	char path[300];
	Text out = {0};
	Figure *f = makers[1](d, &alloc);
	if (!f) return false;
	figure_size(f, 400, 300);
	PlotStatus status = kind == 0   ? figure_write_svg(f, file_in(t, "o.svg", path))
	                    : kind == 1 ? figure_write_png(f, file_in(t, "o.png", path), 300, 200)
	                    : kind == 3 ? figure_write_pdf(f, file_in(t, "o.pdf", path))
	                                : figure_write_terminal(f, 70, 40, true, take_text, &out);
	CHECK(status == PLOT_OK || (status == PLOT_NO_MEMORY && *figure_error(f) && out.calls == 0));
	if (kind != 2) unlink(path);
	free(out.at);
	figure_free(f);
	return status == PLOT_OK;
}

static void test_memory(Test *t, const Data *d) {
	for (int kind = 0; kind < 4; kind++) {
		Meter whole = {.fail_from = -1};
		CHECK(use(t, d, &whole, kind) && !whole.held && !whole.blocks && !whole.wrong);
		for (int mode = 0; mode < 2; mode++) { /* one failure, then permanent failure */
			for (long at = 0; at < whole.calls; at++) {
				Meter m = {.fail_from = at, .fail_for = mode ? 0 : 1};
				bool done = use(t, d, &m, kind);
				CHECK(!m.held && !m.blocks && !m.wrong);
				CHECK(!mode || !done);
			}
		}
		CHECK(files_in_folder(t) == 0);
	}
}

int main(void) {
	Test test = {.seed = 14989476937469047233ull}, *t = &test;
	Data *d = calloc(1, sizeof *d);
	if (!d || !test_begin(t, "test_plot_degenerate")) return 1;
	fill_data(d);
	test_degenerate(t, d);
	test_arguments(t);
	test_memory(t, d);
	free(d);
	return test_end(t);
}
