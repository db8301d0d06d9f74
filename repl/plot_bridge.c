/* plot_bridge.c - `_draw(spec)`: what the library's plot module hands over becomes a figure.
 *
 * Needs: program.h, repl/plot/plot.h. The spec is a record: panels, title, rows, cols, file. A panel is a record:
 * title, xlabel, ylabel, logx, logy, series. A series is a record: kind ("line", "scatter", "heat"), x, y, z, label,
 * colour (0, 1, ...), marker (1, 2, ...: see PlotMarker). Any field may be missing, or none. Guarantees: file ends in
 * .svg or .png, or is "" for a picture in text where print goes; without the grant for files none is written.
 */
#include "repl/program.h"
#include "repl/plot/plot.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ARRAYS_MOST 4096

typedef struct Drawing {
	atled_context *ctx;
	Figure *figure;
	double **arrays; /* the samples, alive until the figure is written */
	size_t narrays, cap;
	atled_status status;
} Drawing;

static void fail(Drawing *d, atled_status status, const char *message) {
	if (d->status != ATLED_OK) return;
	d->status = status;
	if (status == ATLED_ERROR) atled_raise(d->ctx, message);
}

static void want(Drawing *d, PlotStatus st) {
	if (st == PLOT_NO_MEMORY) fail(d, ATLED_NOMEM, NULL);
	else if (st != PLOT_OK) fail(d, ATLED_ERROR, figure_error(d->figure));
}

/* ---- fields with defaults ---------------------------------------------------------------------------------------- */

/* A copy of a text field, "" when it is not there. The caller frees it. */
static char *text_field(Drawing *d, const atled_value *record, const char *name) {
	atled_value *v = atled_value_field(record, name);
	const char *text = atled_value_string(v, NULL);
	char *copy = strdup(text ? text : "");
	if (!copy) fail(d, ATLED_NOMEM, NULL);
	atled_value_free(v);
	return copy;
}

static int flag_field(const atled_value *record, const char *name) {
	atled_value *v = atled_value_field(record, name);
	int flag = 0;
	atled_value_bool(v, &flag);
	atled_value_free(v);
	return flag;
}

static int64_t count_field(const atled_value *record, const char *name, int64_t fallback) {
	atled_value *v = atled_value_field(record, name);
	int64_t n;
	if (!atled_value_i64(v, &n)) n = fallback;
	atled_value_free(v);
	return n;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

typedef struct Samples {
	double *at; /* row by row; NULL: not given */
	uint32_t rank;
	size_t shape[2];
} Samples;

static double sample(const atled_array *a, int64_t offset) {
	switch (a->dtype) {
	case ATLED_BOOL: return ((const unsigned char *)a->data)[offset];
	case ATLED_I32: return ((const int32_t *)a->data)[offset];
	case ATLED_I64: return (double)((const int64_t *)a->data)[offset];
	case ATLED_F32: return (double)((const float *)a->data)[offset];
	case ATLED_F64: return ((const double *)a->data)[offset];
	case ATLED_C64: return (double)((const float *)a->data)[2 * offset];
	case ATLED_C128: return ((const double *)a->data)[2 * offset];
	}
	return 0;
}

static double *keep_array(Drawing *d, size_t n) {
	if (d->narrays == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 16;
		double **at = cap <= ARRAYS_MOST ? realloc(d->arrays, cap * sizeof *at) : NULL;
		if (!at) return NULL;
		d->arrays = at;
		d->cap = cap;
	}
	double *array = malloc((n + 1) * sizeof *array);
	if (array) d->arrays[d->narrays++] = array;
	return array;
}

static Samples samples_field(Drawing *d, const atled_value *series, const char *name) {
	Samples s = {0};
	atled_value *v = atled_value_field(series, name);
	atled_tensor *t = v ? atled_value_tensor(v) : NULL;
	atled_array a = {.size = sizeof a};
	if (t && atled_tensor_view(t, &a) == ATLED_OK) {
		if (a.rank > 2) fail(d, ATLED_ERROR, "the samples of a plot have one axis, or two for a field");
		else if (!(s.at = keep_array(d, (size_t)a.count))) fail(d, ATLED_NOMEM, NULL);
		else {
			s.rank = a.rank;
			s.shape[0] = a.rank > 0 ? (size_t)a.shape[0] : 1;
			s.shape[1] = a.rank > 1 ? (size_t)a.shape[1] : 1;
			for (size_t i = 0; i < s.shape[0]; i++)
				for (size_t k = 0; k < s.shape[1]; k++)
					s.at[i * s.shape[1] + k] = sample(&a, (a.rank > 0 ? (int64_t)i * a.strides[0] : 0) +
					                                          (a.rank > 1 ? (int64_t)k * a.strides[1] : 0));
		}
	}
	atled_tensor_free(t);
	atled_value_free(v);
	return s;
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */

static void add_field(Drawing *d, int panel, const atled_value *series) {
	Samples x = samples_field(d, series, "x"), y = samples_field(d, series, "y"), z = samples_field(d, series, "z");
	if (d->status != ATLED_OK) return;
	if (z.rank != 2) {
		fail(d, ATLED_ERROR, "a field is drawn from a matrix z of the lengths of x and y");
		return;
	}
	if ((x.at && x.shape[0] != z.shape[0]) || (y.at && y.shape[0] != z.shape[1])) {
		fail(d, ATLED_ERROR, "the matrix of a field has other lengths than its x and y");
		return;
	}
	PlotField f = {.x = x.at,
	               .y = y.at,
	               .z = z.at,
	               .nx = z.shape[0],
	               .ny = z.shape[1],
	               .x_step = (ptrdiff_t)z.shape[1],
	               .y_step = 1};
	want(d, panel_field(d->figure, panel, &f));
}

static void add_series(Drawing *d, int panel, const atled_value *series) {
	char *kind = text_field(d, series, "kind"), *label = text_field(d, series, "label");
	if (d->status == ATLED_OK && !strcmp(kind, "heat")) add_field(d, panel, series);
	else if (d->status == ATLED_OK) {
		Samples x = samples_field(d, series, "x"), y = samples_field(d, series, "y");
		size_t n = y.shape[0];
		if (d->status == ATLED_OK && (y.rank != 1 || !y.at)) fail(d, ATLED_ERROR, "a curve is drawn from a vector y");
		if (d->status == ATLED_OK && x.at && x.shape[0] != n)
			fail(d, ATLED_ERROR, "the x and y of a curve have different lengths");
		PlotSeries s = {.x = x.at,
		                .y = y.at,
		                .n = n,
		                .label = *label ? label : NULL,
		                .colour = (int)count_field(series, "colour", PLOT_COLOUR_AUTO)};
		if (!strcmp(kind, "scatter")) {
			int64_t marker = count_field(series, "marker", PLOT_MARKER_AUTO);
			s.marker = marker > 0 && marker < PLOT_MARKER_AUTO ? (PlotMarker)marker : PLOT_MARKER_AUTO;
			if (d->status == ATLED_OK) want(d, panel_scatter(d->figure, panel, &s));
		} else if (d->status == ATLED_OK) want(d, panel_line(d->figure, panel, &s));
	}
	free(kind);
	free(label);
}

static void add_text(Drawing *d, int panel, const atled_value *record, const char *name, int axis) {
	char *text = text_field(d, record, name);
	if (text && *text && d->status == ATLED_OK)
		want(d, axis < 0 ? panel_title(d->figure, panel, text) : panel_label(d->figure, panel, (PlotAxis)axis, text));
	free(text);
}

static void add_panel(Drawing *d, int panel, const atled_value *record) {
	add_text(d, panel, record, "title", -1);
	add_text(d, panel, record, "xlabel", PLOT_X);
	add_text(d, panel, record, "ylabel", PLOT_Y);
	if (d->status == ATLED_OK && flag_field(record, "logx")) want(d, panel_scale(d->figure, panel, PLOT_X, PLOT_LOG));
	if (d->status == ATLED_OK && flag_field(record, "logy")) want(d, panel_scale(d->figure, panel, PLOT_Y, PLOT_LOG));
	atled_value *series = atled_value_field(record, "series");
	for (size_t i = 0; i < atled_value_count(series) && d->status == ATLED_OK; i++) {
		atled_value *one = atled_value_item(series, i);
		add_series(d, panel, one);
		atled_value_free(one);
	}
	atled_value_free(series);
}

/* ---- the figure -------------------------------------------------------------------------------------------------- */

static void write_out(void *ud, const char *text, size_t n) { atled_write(ud, text, n); }

static void write_terminal(Drawing *d) {
	struct winsize size;
	int columns = 80, rows = 24;
	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col > 0) {
		columns = size.ws_col < 120 ? size.ws_col : 120;
		if (size.ws_row > 8) rows = size.ws_row - 2 < 30 ? size.ws_row - 2 : 30;
	}
	const Options plain = {0};
	want(d, figure_write_terminal(d->figure, columns, rows, use_colour(&plain, stdout), write_out, d->ctx));
}

static void write_figure(Drawing *d, const char *file) {
	size_t n = strlen(file);
	if (!n) write_terminal(d);
	else if (!(atled_granted(d->ctx) & ATLED_GRANT_FILES)) {
		atled_raise(d->ctx, "writing a picture to a file is not granted here");
		d->status = ATLED_DENIED;
	} else if (n > 4 && !strcasecmp(file + n - 4, ".svg")) want(d, figure_write_svg(d->figure, file));
	else if (n > 4 && !strcasecmp(file + n - 4, ".png")) want(d, figure_write_png(d->figure, file, 0, 0));
	else fail(d, ATLED_ERROR, "a picture's file ends in .svg or .png");
}

static atled_status draw(void *ud, atled_context *ctx, uint32_t nargs, const atled_value *const *args,
                         atled_value **result) {
	(void)ud;
	(void)result;
	if (nargs != 1 || atled_value_kind(args[0]) != ATLED_RECORD) {
		atled_raise(ctx, "_draw takes one record");
		return ATLED_ERROR;
	}
	Drawing d = {.ctx = ctx};
	atled_value *panels = atled_value_field(args[0], "panels");
	int64_t npanels = (int64_t)atled_value_count(panels);
	int64_t cols = count_field(args[0], "cols", 1),
			rows = count_field(args[0], "rows", cols > 0 ? (npanels + cols - 1) / cols : 1);
	char *title = text_field(&d, args[0], "title"), *file = text_field(&d, args[0], "file");
	if (rows < 1 || cols < 1 || rows > 16 || cols > 16 || npanels < 1 || npanels > rows * cols)
		fail(&d, ATLED_ERROR, "the panels of a figure do not fit into its rows and columns, at most 16 of each");
	else if (d.status == ATLED_OK && !(d.figure = figure_new(NULL, (int)rows, (int)cols))) fail(&d, ATLED_NOMEM, NULL);
	if (d.status == ATLED_OK && *title) want(&d, figure_title(d.figure, title));
	for (int64_t i = 0; i < npanels && d.status == ATLED_OK; i++) {
		atled_value *panel = atled_value_item(panels, (size_t)i);
		add_panel(&d, (int)i, panel);
		atled_value_free(panel);
	}
	if (d.status == ATLED_OK) write_figure(&d, file);
	figure_free(d.figure);
	for (size_t i = 0; i < d.narrays; i++) free(d.arrays[i]);
	free(d.arrays);
	free(title);
	free(file);
	atled_value_free(panels);
	return d.status;
}

atled_status plot_bridge_install(atled_context *ctx) { return atled_define_native(ctx, "_draw", draw, NULL); }
