/* plot_bridge.c - native functions that draw the library's figures.
 *
 * Defines `_picture_draw(figure, file)`, `_picture_check(figure)` and
 * `_picture_film(frames, count, file, rate, dpi)`, and shows a result that is a
 * figure.
 *
 * Needs: program.h, repl/plot/plot.h.
 * - A figure is a record with kind "figure": panels, title, rows, cols, size
 *   (inches), dpi.
 * - A panel is a record: title, xlabel ..., layers.
 * - A layer is a record: kind, label, colour, style, marker ... and the arrays
 *   of its kind. Its field names are those of PlotLayer where PlotLayer has
 *   them.
 * - Any field may be absent, or none.
 *
 * Guarantees:
 * - A file name ends in .svg, .png or .pdf, that of an animation in .png, .apng
 *   or .gif. The name "" draws the figure as text where print writes.
 * - Without the grant for files no file is written.
 * - plot_show returns false for a value that is no figure.
 */
#include "repl/core/program.h"
#include "repl/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ARRAYS_MOST 65536
#define PANELS_MOST 256
#define AXES 4 /* x, y, colours, right y */

typedef struct Drawing {
	Figure *figure;
	double **arrays; /* the samples; they live until the figure is written */
	size_t narrays, cap;
	double dpi;
	atled_status status;
	char error[400];
} Drawing;

static void fail(Drawing *d, atled_status status, const char *message) {
	if (d->status != ATLED_OK) return;
	d->status = status;
	snprintf(d->error, sizeof d->error, "%s", message ? message : "");
}

static void fail_named(Drawing *d, const char *before, const char *name, const char *after) {
	char text[300];
	snprintf(text, sizeof text, "%s\"%.60s\"%s", before, name, after);
	fail(d, ATLED_ERROR, text);
}

static void want(Drawing *d, PlotStatus st) {
	if (st == PLOT_NO_MEMORY) fail(d, ATLED_NOMEM, NULL);
	else if (st != PLOT_OK) fail(d, ATLED_ERROR, figure_error(d->figure));
}

/* ---- fields with defaults ------------------------------------------------ */

/* Returns a copy of a string field, "" when the field is absent. The caller
 * frees it. */
static char *text_field(Drawing *d, const atled_value *record, const char *name) {
	atled_value *v = atled_value_field(record, name);
	const char *text =
		v && atled_value_kind(v) == ATLED_STRING ? atled_value_string(v, NULL) : NULL;
	char *copy = strdup(text ? text : "");
	if (!copy) fail(d, ATLED_NOMEM, NULL);
	atled_value_free(v);
	return copy;
}

static char *marked_text(const char *text);

/* The same for a string that is drawn: its markup is converted. */
static char *drawn_field(Drawing *d, const atled_value *record, const char *name) {
	char *plain = text_field(d, record, name), *text = plain ? marked_text(plain) : NULL;
	if (plain && !text) fail(d, ATLED_NOMEM, NULL);
	free(plain);
	return text;
}

static bool flag_field(const atled_value *record, const char *name) {
	atled_value *v = atled_value_field(record, name);
	int flag = 0;
	if (v) atled_value_bool(v, &flag);
	atled_value_free(v);
	return flag != 0;
}

static double number_field(const atled_value *record, const char *name, double fallback) {
	atled_value *v = atled_value_field(record, name);
	double x = fallback;
	int64_t n;
	if (v && !atled_value_f64(v, &x)) x = atled_value_i64(v, &n) ? (double)n : fallback;
	atled_value_free(v);
	return x;
}

static bool number_of(const atled_value *v, double *out) {
	int64_t n;
	if (atled_value_f64(v, out)) return true;
	if (!atled_value_i64(v, &n)) return false;
	*out = (double)n;
	return true;
}

typedef struct Word {
	const char *name;
	int value;
} Word;

static bool is_letter(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Whether the character is in U+2000 .. U+2BFF: symbols, not letters. */
static bool is_symbol(const char *p) { return (unsigned char)p[0] == 0xe2; }

/* Returns how many bytes from `p` on, after ^ or _, are a superscript or
 * subscript. A superscript is a number with its sign, or one letter. A
 * subscript is up to three letters and digits, after a name of one letter or a
 * symbol. With 0 the ^ or _ is an ordinary character. */
static size_t script_length(const char *text, const char *p, bool raised) {
	size_t n = 0;
	static const char minus[] = "\xe2\x88\x92";
	if (raised) {
		if (*p == '-' || *p == '+') n = 1;
		else if (!strncmp(p, minus, 3)) n = 3;
		size_t sign = n;
		while (is_digit(p[n]) || (n > sign && p[n] == '.' && is_digit(p[n + 1]))) n++;
		if (n > sign) return n;
		if (!is_letter(p[n])) return 0;
		/* the remaining bytes of one character */
		for (n++; p[n - 1] & 0x80 && (p[n] & 0xc0) == 0x80;) n++;
		return is_letter(p[n]) ? 0 : n;
	}
	/* base: the character before the ^ or _; before: the one in front of it */
	const char *base = p - 2;
	while (base > text && (*base & 0xc0) == 0x80) base--;
	if (base < text || *base == ' ' || *base == '_' || is_digit(*base)) return 0;
	if (is_letter(*base) && !is_symbol(base) && base > text &&
	    (is_letter(base[-1]) || is_digit(base[-1]) || base[-1] == '_')) {
		const char *before = base - 1;
		while (before > text && (*before & 0xc0) == 0x80) before--;
		size_t digits = 0;
		while (is_digit(p[digits])) digits++;
		bool number = digits && !is_letter(p[digits]) && p[digits] != '_'; /* as in log_10 */
		/* a word in snake case */
		if (!is_symbol(before) && !number) return 0;
	}
	size_t characters = 0;
	for (; is_letter(p[n]) || is_digit(p[n]); n++) characters += (p[n] & 0xc0) != 0x80;
	return characters <= 3 && p[n] != '_' ? n : 0;
}

/* Converts a string to the markup of plot.h: x^2, 10^-6, u_xx, x^(n+1) and
 * u_(i,j) become groups in braces. (A string of the language would have to
 * escape braces.) The caller frees the result; NULL when memory fails. */
static char *marked_text(const char *text) {
	char *out = malloc(4 * strlen(text) + 1), *at = out;
	if (!out) return NULL;
	for (const char *p = text; *p;) {
		bool mark = (*p == '^' || *p == '_') && p > text && p[1] && p[1] != '{';
		size_t n = 0, skip = 0;
		if (mark && p[1] == '(') {
			int depth = 0;
			for (n = 1; p[n]; n++) {
				depth += p[n] == '(' ? 1 : p[n] == ')' ? -1 : 0;
				if (!depth) break;
			}
			n = p[n] ? n - 2 : 0;
			skip = 1;
		} else if (mark) {
			n = script_length(text, p + 1, *p == '^');
		}
		if (!n) {
			*at++ = *p++;
			continue;
		}
		*at++ = *p;
		*at++ = '{';
		for (const char *q = p + 1 + skip; q < p + 1 + skip + n; q++) {
			if (*q != '-') *at++ = *q;
			else at = (char *)memcpy(at, "\xe2\x88\x92", 3) + 3; /* a typographic minus */
		}
		*at++ = '}';
		p += 1 + n + 2 * skip;
	}
	*at = 0;
	return out;
}

/* Returns the value of a word in a list that ends with the name NULL. For an
 * unknown word it sets the error and returns -1. */
static int word_of(Drawing *d, const char *what, const char *text, const Word *words) {
	for (const Word *w = words; w->name; w++)
		if (!strcasecmp(text, w->name)) return w->value;
	char message[300];
	int n = snprintf(message, sizeof message, "there is no %s \"%.40s\"; it is one of", what, text);
	for (const Word *w = words; w->name && n > 0 && n < 250; w++)
		if (w->name[0])
			n += snprintf(message + n, sizeof message - (size_t)n, "%s %s", w == words ? "" : ",",
			              w->name);
	fail(d, ATLED_ERROR, message);
	return -1;
}

static int word_field(Drawing *d, const atled_value *record, const char *name, const char *what,
                      const Word *words, int fallback) {
	char *text = text_field(d, record, name);
	int value = text && *text ? word_of(d, what, text, words) : fallback;
	free(text);
	return value < 0 ? fallback : value;
}

static const Word dashes[] = {{"solid", PLOT_SOLID},   {"dashed", PLOT_DASHED},
                              {"dotted", PLOT_DOTTED}, {"dashdot", PLOT_DASH_DOT},
                              {"none", PLOT_NO_LINE},  {"-", PLOT_SOLID},
                              {"--", PLOT_DASHED},     {":", PLOT_DOTTED},
                              {"-.", PLOT_DASH_DOT},   {NULL, 0}};
static const Word markers[] = {{"auto", PLOT_MARKER_AUTO},
                               {"circle", PLOT_MARKER_CIRCLE},
                               {"square", PLOT_MARKER_SQUARE},
                               {"diamond", PLOT_MARKER_DIAMOND},
                               {"up", PLOT_MARKER_UP},
                               {"down", PLOT_MARKER_DOWN},
                               {"plus", PLOT_MARKER_PLUS},
                               {"cross", PLOT_MARKER_CROSS},
                               {"none", PLOT_MARKER_NONE},
                               {"o", PLOT_MARKER_CIRCLE},
                               {"s", PLOT_MARKER_SQUARE},
                               {"d", PLOT_MARKER_DIAMOND},
                               {"^", PLOT_MARKER_UP},
                               {"v", PLOT_MARKER_DOWN},
                               {"+", PLOT_MARKER_PLUS},
                               {"x", PLOT_MARKER_CROSS},
                               {NULL, 0}};
static const Word legends[] = {{"auto", PLOT_LEGEND_AUTO},
                               {"none", PLOT_LEGEND_NONE},
                               {"top left", PLOT_LEGEND_TOP_LEFT},
                               {"top right", PLOT_LEGEND_TOP_RIGHT},
                               {"bottom left", PLOT_LEGEND_BOTTOM_LEFT},
                               {"bottom right", PLOT_LEGEND_BOTTOM_RIGHT},
                               {"outside", PLOT_LEGEND_OUTSIDE},
                               {NULL, 0}};
static const Word maps[] = {{"auto", PLOT_MAP_AUTO},
                            {"viridis", PLOT_MAP_SEQUENTIAL},
                            {"sequential", PLOT_MAP_SEQUENTIAL},
                            {"diverging", PLOT_MAP_DIVERGING},
                            {"coolwarm", PLOT_MAP_DIVERGING},
                            {"cyclic", PLOT_MAP_CYCLIC},
                            {"twilight", PLOT_MAP_CYCLIC},
                            {"warm", PLOT_MAP_WARM},
                            {"inferno", PLOT_MAP_WARM},
                            {"grey", PLOT_MAP_GREY},
                            {"gray", PLOT_MAP_GREY},
                            {NULL, 0}};
static const Word colours[] = {{"blue", 0},
                               {"red", 1},
                               {"green", 2},
                               {"purple", 3},
                               {"orange", 4},
                               {"sky", 5},
                               {"grey", 6},
                               {"brown", 7},
                               {"black", PLOT_RGB(24, 24, 28)},
                               {"white", PLOT_RGB(255, 255, 255)},
                               {"gray", 6},
                               {"#rrggbb", -1},
                               {NULL, 0}};
static const Word kinds[] = {{"line", PLOT_LINE},           {"scatter", PLOT_SCATTER},
                             {"band", PLOT_BAND},           {"bars", PLOT_BARS},
                             {"errors", PLOT_ERRORS},       {"stems", PLOT_STEMS},
                             {"rules", PLOT_RULES},         {"arrows", PLOT_ARROWS},
                             {"flow", PLOT_FLOW},           {"contours", PLOT_CONTOURS},
                             {"text", PLOT_TEXT},           {"polygon", PLOT_POLYGON},
                             {"surface", PLOT_SURFACE},     {"line3", PLOT_LINE_3D},
                             {"scatter3", PLOT_SCATTER_3D}, {NULL, 0}};

static int colour_field(Drawing *d, const atled_value *record) {
	atled_value *v = atled_value_field(record, "colour");
	int colour = PLOT_COLOUR_AUTO;
	double number;
	if (v && atled_value_kind(v) == ATLED_STRING) {
		const char *text = atled_value_string(v, NULL);
		size_t digits = text[0] == '#' ? strspn(text + 1, "0123456789abcdefABCDEF") : 0;
		if ((digits == 6 || digits == 3) && !text[1 + digits]) {
			long rgb = strtol(text + 1, NULL, 16);
			colour = digits == 6
			             ? PLOT_RGB(rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255)
			             : PLOT_RGB((rgb >> 8 & 15) * 17, (rgb >> 4 & 15) * 17, (rgb & 15) * 17);
		} else if (*text) {
			colour = word_of(d, "colour", text, colours);
		}
	} else if (v && number_of(v, &number)) {
		if (!(number >= 0 && number < 1e6))
			fail(d, ATLED_ERROR,
			     "a colour is a name, \"#rrggbb\" or the number of one of the eight of series");
		else colour = (int)number;
	}
	atled_value_free(v);
	return colour;
}

/* ---- samples ------------------------------------------------------------- */

typedef struct Samples {
	double *at; /* row-major; NULL: absent */
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
		if (a.rank > 2) fail(d, ATLED_ERROR, "what is plotted has one axis, or two for a field");
		else if (!(s.at = keep_array(d, (size_t)a.count))) fail(d, ATLED_NOMEM, NULL);
		else {
			s.rank = a.rank;
			s.shape[0] = a.rank > 0 ? (size_t)a.shape[0] : 1;
			s.shape[1] = a.rank > 1 ? (size_t)a.shape[1] : 1;
			for (size_t i = 0; i < s.shape[0]; i++)
				for (size_t k = 0; k < s.shape[1]; k++)
					s.at[i * s.shape[1] + k] =
						sample(&a, (a.rank > 0 ? (int64_t)i * a.strides[0] : 0) +
					                   (a.rank > 1 ? (int64_t)k * a.strides[1] : 0));
		}
	}
	atled_tensor_free(t);
	atled_value_free(v);
	return s;
}

/* Reads two scalars from a tuple, a list or an array. Returns false when the
 * field is absent. With `open` either of them may be none, which is stored as
 * NaN. */
static bool pair_field(Drawing *d, const atled_value *record, const char *name, bool open,
                       double out[2]) {
	atled_value *v = atled_value_field(record, name);
	bool given = v && atled_value_kind(v) != ATLED_NONE, good = false;
	if (given && atled_value_kind(v) == ATLED_ARRAY) {
		Samples s = samples_field(d, record, name);
		good = s.at && s.rank == 1 && s.shape[0] == 2;
		if (good) out[0] = s.at[0], out[1] = s.at[1];
	} else if (given && atled_value_count(v) == 2) {
		good = true;
		for (size_t i = 0; i < 2; i++) {
			atled_value *one = atled_value_item(v, i);
			if (open && one && atled_value_kind(one) == ATLED_NONE) out[i] = NAN;
			else good = good && one && number_of(one, &out[i]);
			atled_value_free(one);
		}
	}
	atled_value_free(v);
	if (given && !good) fail_named(d, "", name, " is a pair of numbers");
	return given && good && d->status == ATLED_OK;
}

/* ---- layers -------------------------------------------------------------- */

static size_t vector_field(Drawing *d, const atled_value *layer, const char *name,
                           const double **out, size_t n, bool first) {
	Samples s = samples_field(d, layer, name);
	*out = s.at;
	if (!s.at || d->status != ATLED_OK) return n;
	if (s.rank > 1) fail_named(d, "", name, " of a layer is a vector");
	else if (!first && s.shape[0] != n)
		fail(d, ATLED_ERROR, "the samples of a layer have different lengths");
	return first ? s.shape[0] : n;
}

static void grid_field(Drawing *d, const atled_value *layer, const Samples *x, const Samples *y,
                       PlotField *f) {
	Samples z = samples_field(d, layer, "z");
	if (d->status != ATLED_OK || !z.at) return;
	if (z.rank != 2)
		fail(d, ATLED_ERROR,
		     "a field is drawn from a matrix with a row for each x and a column for each y");
	else if ((x->at && (x->rank != 1 || x->shape[0] != z.shape[0])) ||
	         (y->at && (y->rank != 1 || y->shape[0] != z.shape[1])))
		fail(d, ATLED_ERROR, "the matrix of a field has other lengths than its x and y");
	*f = (PlotField){.x = x->at,
	                 .y = y->at,
	                 .z = z.at,
	                 .nx = z.shape[0],
	                 .ny = z.shape[1],
	                 .x_step = (ptrdiff_t)z.shape[1],
	                 .y_step = 1};
	f->map = (PlotMap)word_field(d, layer, "map", "colour map", maps, PLOT_MAP_AUTO);
	f->cells = flag_field(layer, "cells");
}

static void add_layer(Drawing *d, int panel, const atled_value *layer) {
	char *kind = text_field(d, layer, "kind"), *label = drawn_field(d, layer, "label"),
		 *text = drawn_field(d, layer, "text");
	PlotLayer l = {0};
	bool heat = kind && !strcmp(kind, "heat");
	if (d->status == ATLED_OK && !heat) l.kind = (PlotKind)word_of(d, "kind of layer", kind, kinds);
	Samples x = {0}, y = {0};
	if (d->status == ATLED_OK) x = samples_field(d, layer, "x");
	if (d->status == ATLED_OK) y = samples_field(d, layer, "y");
	if (d->status == ATLED_OK) grid_field(d, layer, &x, &y, &l.grid);
	if (d->status == ATLED_OK && heat) {
		want(d, panel_field(d->figure, panel, &l.grid));
	} else if (d->status == ATLED_OK) {
		size_t n = y.at ? y.shape[0] : x.at ? x.shape[0] : 0;
		if (!l.grid.z) {
			if ((x.at && x.rank > 1) || (y.at && y.rank > 1))
				fail(d, ATLED_ERROR, "the samples of a layer are vectors");
			if (x.at && y.at && x.shape[0] != y.shape[0])
				fail(d, ATLED_ERROR, "the x and y of a curve have different lengths");
			vector_field(d, layer, "a", &l.a, n, false);
			vector_field(d, layer, "b", &l.b, n, false);
			vector_field(d, layer, "c", &l.c, n, false);
			vector_field(d, layer, "d", &l.d, n, false);
		} else {
			Samples w = samples_field(d, layer, "w");
			l.w = w.at;
			if (w.at && (w.rank != 2 || w.shape[0] != l.grid.nx || w.shape[1] != l.grid.ny))
				fail(d, ATLED_ERROR, "the two components of a vector field have different shapes");
		}
		l.nlevels = vector_field(d, layer, "levels", &l.levels, 0, true);
		l.s = (PlotSeries){
			.x = l.grid.z ? NULL : x.at,
			.y = l.grid.z ? NULL : y.at,
			.n = l.grid.z ? 0 : n,
			.label = *label ? label : NULL,
			.colour = colour_field(d, layer),
			.dash = (PlotDash)word_field(d, layer, "style", "line style", dashes, PLOT_DASH_AUTO),
			.marker =
				(PlotMarker)word_field(d, layer, "marker", "marker", markers, PLOT_MARKER_NONE),
			.width = number_field(layer, "width", 0),
			.opacity = number_field(layer, "opacity", 0)};
		l.base = number_field(layer, "base", 0);
		l.scale = number_field(layer, "scale", 0);
		l.sideways = flag_field(layer, "sideways");
		l.filled = flag_field(layer, "filled");
		l.labelled = flag_field(layer, "labelled");
		l.mesh = flag_field(layer, "mesh");
		l.right = flag_field(layer, "right");
		l.text = l.kind == PLOT_TEXT ? text : NULL;
		l.anchor = (int)number_field(layer, "anchor", 0);
		if (d->status == ATLED_OK) want(d, panel_layer(d->figure, panel, &l));
	}
	free(kind);
	free(label);
	free(text);
}

/* ---- panels -------------------------------------------------------------- */

static void add_text(Drawing *d, int panel, const atled_value *record, const char *name, int axis) {
	char *text = drawn_field(d, record, name);
	if (text && *text && d->status == ATLED_OK)
		want(d, axis < 0 ? panel_title(d->figure, panel, text)
		                 : panel_label(d->figure, panel, (PlotAxis)axis, text));
	free(text);
}

/* Sets the positions and labels of the ticks of one axis. */
static void add_ticks(Drawing *d, int panel, const atled_value *record, PlotAxis axis) {
	static const char *const places[4] = {"xticks", "yticks", NULL, "y2ticks"},
							 *const texts_of[4] = {"xnames", "ynames", NULL, "y2names"};
	const double *at;
	size_t n = vector_field(d, record, places[axis], &at, 0, true);
	atled_value *names = atled_value_field(record, texts_of[axis]);
	size_t count = names && atled_value_kind(names) != ATLED_NONE ? atled_value_count(names) : 0;
	if (d->status == ATLED_OK && (at || count)) {
		if (!at) { /* names without positions are at 0, 1, 2 ... */
			double *own = keep_array(d, count);
			for (size_t i = 0; own && i < count; i++) own[i] = (double)i;
			at = own;
			n = count;
		}
		char **texts = calloc(n + 1, sizeof *texts);
		if (!at || !texts) fail(d, ATLED_NOMEM, NULL);
		else if (count && count != n) fail(d, ATLED_ERROR, "there are not as many names as ticks");
		for (size_t i = 0; texts && d->status == ATLED_OK && i < n; i++) {
			atled_value *one = count ? atled_value_item(names, i) : NULL;
			const char *text =
				one && atled_value_kind(one) == ATLED_STRING ? atled_value_string(one, NULL) : NULL;
			char number[40];
			if (!text) snprintf(number, sizeof number, "%g", at[i]);
			texts[i] = marked_text(text ? text : number);
			atled_value_free(one);
			if (!texts[i]) fail(d, ATLED_NOMEM, NULL);
		}
		if (d->status == ATLED_OK)
			want(d, panel_ticks(d->figure, panel, axis, n, at, (const char *const *)texts));
		for (size_t i = 0; texts && i < n; i++) free(texts[i]);
		free(texts);
	}
	atled_value_free(names);
}

static void add_panel(Drawing *d, int panel, const atled_value *record) {
	static const char *const labels[4] = {"xlabel", "ylabel", "zlabel", "y2label"},
							 *const limits[4] = {"xlim", "ylim", "zlim", "y2lim"},
							 *const logs[4] = {"logx", "logy", "logz", "logy2"};
	double pair[2];
	add_text(d, panel, record, "title", -1);
	for (int a = 0; a < 4 && d->status == ATLED_OK; a++) {
		add_text(d, panel, record, labels[a], a);
		if (flag_field(record, logs[a]))
			want(d, panel_scale(d->figure, panel, (PlotAxis)a, PLOT_LOG));
		if (pair_field(d, record, limits[a], true, pair) && pair[0] == pair[0] &&
		    pair[1] == pair[1])
			want(d, panel_limits(d->figure, panel, (PlotAxis)a, pair[0], pair[1]));
	}
	for (int a = 0; a < 4 && d->status == ATLED_OK; a++)
		if (a != PLOT_Z) add_ticks(d, panel, record, (PlotAxis)a);
	if (d->status == ATLED_OK)
		want(d, panel_legend(d->figure, panel,
		                     (PlotLegend)word_field(d, record, "legend", "place for a legend",
		                                            legends, PLOT_LEGEND_AUTO)));
	if (d->status == ATLED_OK)
		want(d,
		     panel_map(d->figure, panel,
		               (PlotMap)word_field(d, record, "map", "colour map", maps, PLOT_MAP_AUTO)));
	if (d->status == ATLED_OK) want(d, panel_grid(d->figure, panel, flag_field(record, "grid")));
	if (d->status == ATLED_OK)
		want(d, panel_aspect(d->figure, panel, number_field(record, "aspect", 0)));
	if (d->status == ATLED_OK && pair_field(d, record, "view", false, pair))
		want(d, panel_view(d->figure, panel, pair[0], pair[1]));
	atled_value *layers = atled_value_field(record, "layers");
	for (size_t i = 0; i < atled_value_count(layers) && d->status == ATLED_OK; i++) {
		atled_value *one = atled_value_item(layers, i);
		add_layer(d, panel, one);
		atled_value_free(one);
	}
	atled_value_free(layers);
	/* Where only one limit is given, the extent of the data gives the other. */
	for (int a = 0; a < 4 && d->status == ATLED_OK; a++) {
		double low, high, given[2];
		if (panel_fixed(d->figure, panel, (PlotAxis)a) ||
		    !pair_field(d, record, limits[a], true, given))
			continue;
		if (!panel_reach(d->figure, panel, (PlotAxis)a, &low, &high)) continue;
		for (int k = 0; k < 2; k++)
			if (given[k] != given[k] && given[1 - k] == given[1 - k])
				given[k] = k ? (high > given[0] ? high : given[0] + 1)
				             : (low < given[1] ? low : given[1] - 1);
		if (given[0] == given[0])
			want(d, panel_limits(d->figure, panel, (PlotAxis)a, given[0], given[1]));
	}
}

/* ---- the figure ---------------------------------------------------------- */

static void close_drawing(Drawing *d) {
	figure_free(d->figure);
	for (size_t i = 0; i < d->narrays; i++) free(d->arrays[i]);
	free(d->arrays);
	d->figure = NULL;
	d->arrays = NULL;
	d->narrays = d->cap = 0;
}

static bool is_figure(const atled_value *v) {
	if (!v || atled_value_kind(v) != ATLED_RECORD) return false;
	atled_value *kind = atled_value_field(v, "kind"), *panels = atled_value_field(v, "panels");
	bool is = kind && panels && atled_value_kind(kind) == ATLED_STRING &&
	          !strcmp(atled_value_string(kind, NULL), "figure");
	atled_value_free(kind);
	atled_value_free(panels);
	return is;
}

/* Makes d->figure from the record. The caller must call close_drawing, even
 * after a failure. */
static void open_drawing(Drawing *d, const atled_value *record) {
	*d = (Drawing){.dpi = 192};
	if (!is_figure(record)) {
		fail(d, ATLED_ERROR, "that is no picture");
		return;
	}
	atled_value *panels = atled_value_field(record, "panels");
	double pair[2], npanels = (double)atled_value_count(panels),
					cols = number_field(record, "cols", 1),
					rows = number_field(record, "rows", cols > 0 ? ceil(npanels / cols) : 1);
	char *title = drawn_field(d, record, "title");
	if (!(rows >= 1 && cols >= 1 && rows <= 16 && cols <= 16 && npanels >= 1 &&
	      npanels <= rows * cols))
		fail(d, ATLED_ERROR,
		     "the panels of a figure do not fit into its rows and columns, at most 16 of each");
	else if (d->status == ATLED_OK && !(d->figure = figure_new(NULL, (int)rows, (int)cols)))
		fail(d, ATLED_NOMEM, NULL);
	if (d->status == ATLED_OK && *title) want(d, figure_title(d->figure, title));
	if (d->status == ATLED_OK && pair_field(d, record, "size", false, pair))
		want(d, figure_size(d->figure, 96 * pair[0], 96 * pair[1]));
	d->dpi = number_field(record, "dpi", 192);
	if (!(d->dpi >= 10 && d->dpi <= 2400)) fail(d, ATLED_ERROR, "dpi is a number from 10 to 2400");
	for (size_t i = 0; i < (size_t)npanels && d->status == ATLED_OK; i++) {
		atled_value *panel = atled_value_item(panels, i);
		add_panel(d, (int)i, panel);
		atled_value_free(panel);
	}
	free(title);
	atled_value_free(panels);
}

/* Draws on at most 120 by 30 characters of the terminal `out`; without a
 * terminal, on 80 by 24. */
static void write_terminal(Drawing *d, FILE *out, PlotSink sink, void *ud) {
	int columns = 80, rows = 24, wide, high;
	if (out && terminal_size(out, &wide, &high)) {
		columns = wide < 120 ? wide : 120;
		if (high > 8) rows = high - 2 < 30 ? high - 2 : 30;
	}
	const Options plain = {0};
	want(d,
	     figure_write_terminal(d->figure, columns, rows, out && use_colour(&plain, out), sink, ud));
}

bool plot_show(const atled_value *v, FILE *out, atled_sink sink, void *ud) {
	if (!is_figure(v)) return false;
	Drawing d;
	open_drawing(&d, v);
	StringBuffer text = {0};
	if (d.status == ATLED_OK) write_terminal(&d, out, buffer_sink, &text);
	/* the caller ends the last line */
	if (d.status == ATLED_OK && text.n) sink(ud, text.at, text.n - 1);
	buffer_free(&text);
	if (d.status != ATLED_OK) {
		static const char before[] = "(a picture that cannot be drawn: ";
		sink(ud, before, strlen(before));
		sink(ud, d.status == ATLED_NOMEM ? "not enough memory" : d.error,
		     strlen(d.status == ATLED_NOMEM ? "not enough memory" : d.error));
		sink(ud, ")", 1);
	}
	close_drawing(&d);
	return true;
}

static bool ends_in(const char *file, const char *end) {
	size_t n = strlen(file), m = strlen(end);
	return n > m && !strcasecmp(file + n - m, end);
}

static void check_grant(Drawing *d, const atled_context *ctx) {
	if (!(atled_granted(ctx) & ATLED_GRANT_FILES))
		fail(d, ATLED_DENIED, "writing a picture to a file is not granted here");
}

static void write_out(void *ud, const char *text, size_t n) { atled_write(ud, text, n); }

static void write_figure(Drawing *d, atled_context *ctx, const char *file) {
	if (!*file) {
		write_terminal(d, stdout, write_out, ctx);
		return;
	}
	check_grant(d, ctx);
	if (d->status != ATLED_OK) return;
	if (ends_in(file, ".svg")) want(d, figure_write_svg(d->figure, file));
	else if (ends_in(file, ".png")) want(d, figure_write_png_dpi(d->figure, file, d->dpi));
	else if (ends_in(file, ".pdf")) want(d, figure_write_pdf(d->figure, file));
	else fail(d, ATLED_ERROR, "a picture's file ends in .svg, .png or .pdf");
}

static atled_status finish(Drawing *d, atled_context *ctx) {
	atled_status status = d->status;
	if (status == ATLED_ERROR || status == ATLED_DENIED) atled_raise(ctx, d->error);
	close_drawing(d);
	return status;
}

/* Checks that the figure can be drawn, so that an error is reported at the call
 * that made it and not where it is shown. */
static atled_status check(void *ud, atled_context *ctx, uint32_t nargs,
                          const atled_value *const *args, atled_value **result) {
	(void)ud;
	(void)result;
	Drawing d = {0};
	if (nargs == 1) open_drawing(&d, args[0]);
	if (d.status == ATLED_OK && d.figure) want(&d, figure_check(d.figure));
	return finish(&d, ctx);
}

static atled_status draw(void *ud, atled_context *ctx, uint32_t nargs,
                         const atled_value *const *args, atled_value **result) {
	(void)ud;
	(void)result;
	Drawing d = {0};
	if (nargs != 2 || atled_value_kind(args[1]) != ATLED_STRING)
		fail(&d, ATLED_ERROR, "the name of a picture's file is a string");
	else open_drawing(&d, args[0]);
	if (d.status == ATLED_OK) write_figure(&d, ctx, atled_value_string(args[1], NULL));
	return finish(&d, ctx);
}

/* ---- animations ---------------------------------------------------------- */

typedef struct DataRange {
	bool any, fixed;
	double low, high;
} DataRange;

/* Returns frame k: an item of a list, or the result of a function of k. The
 * caller frees it. */
static atled_value *frame(Drawing *d, atled_context *ctx, const atled_value *frames, int64_t k) {
	if (atled_value_kind(frames) != ATLED_FUNCTION) {
		atled_value *v = atled_value_item(frames, (size_t)k);
		if (!v) fail(d, ATLED_ERROR, "a frame of the film is missing");
		return v;
	}
	atled_value *number = atled_value_of_i64(ctx, k), *v = NULL;
	const atled_value *args[1] = {number};
	atled_status st = number ? atled_value_call(ctx, frames, 1, args, &v) : ATLED_NOMEM;
	atled_value_free(number);
	if (st != ATLED_OK) {
		d->status = st; /* the context holds its message already */
		d->error[0] = 0;
	}
	return v;
}

/* Computes the extent of the data of all frames, for the axes without fixed
 * limits. */
static void measure_films(Drawing *total, atled_context *ctx, const atled_value *frames,
                          int64_t count, DataRange *reached) {
	for (int64_t k = 0; k < count && total->status == ATLED_OK; k++) {
		atled_value *v = frame(total, ctx, frames, k);
		if (total->status != ATLED_OK) break;
		Drawing d;
		open_drawing(&d, v);
		for (int panel = 0;
		     d.status == ATLED_OK && panel < figure_count(d.figure) && panel < PANELS_MOST; panel++)
			for (int a = 0; a < AXES; a++) {
				DataRange *r = &reached[AXES * panel + a];
				double low, high;
				if (panel_fixed(d.figure, panel, (PlotAxis)a)) r->fixed = true;
				if (!panel_reach(d.figure, panel, (PlotAxis)a, &low, &high)) continue;
				if (!r->any || low < r->low) r->low = low;
				if (!r->any || high > r->high) r->high = high;
				r->any = true;
			}
		if (d.status != ATLED_OK) fail(total, d.status, d.error);
		close_drawing(&d);
		atled_value_free(v);
	}
}

static void shoot_film(Drawing *total, atled_context *ctx, const atled_value *frames, int64_t count,
                       const char *file, double rate, double dpi, const DataRange *reached) {
	Film *film = film_begin(NULL, file, ends_in(file, ".gif"), (int)count, rate);
	if (!film) {
		fail(total, ATLED_NOMEM, NULL);
		return;
	}
	for (int64_t k = 0; k < count && total->status == ATLED_OK; k++) {
		atled_value *v = frame(total, ctx, frames, k);
		if (total->status != ATLED_OK) break;
		Drawing d;
		open_drawing(&d, v);
		for (int i = 0;
		     d.status == ATLED_OK && i < AXES * figure_count(d.figure) && i < AXES * PANELS_MOST;
		     i++) {
			const DataRange *r = &reached[i];
			if (r->any && !r->fixed && r->high > r->low)
				want(&d,
				     panel_limits_loose(d.figure, i / AXES, (PlotAxis)(i % AXES), r->low, r->high));
		}
		if (d.status == ATLED_OK) want(&d, film_add(film, d.figure, dpi));
		if (d.status != ATLED_OK) fail(total, d.status, d.error);
		close_drawing(&d);
		atled_value_free(v);
	}
	char error[400] = "";
	PlotStatus ended = film_end(film, error, sizeof error);
	if (ended) fail(total, ended == PLOT_NO_MEMORY ? ATLED_NOMEM : ATLED_ERROR, error);
}

static atled_status film(void *ud, atled_context *ctx, uint32_t nargs,
                         const atled_value *const *args, atled_value **result) {
	(void)ud;
	(void)result;
	Drawing d = {0};
	int64_t count = 0;
	double rate = 0, dpi = 0;
	const char *file = nargs == 5 && atled_value_kind(args[2]) == ATLED_STRING
	                       ? atled_value_string(args[2], NULL)
	                       : NULL;
	if (nargs != 5 || !atled_value_i64(args[1], &count) || !file || !number_of(args[3], &rate) ||
	    !number_of(args[4], &dpi))
		fail(&d, ATLED_ERROR, "a film has frames, their number, a file, a rate and a resolution");
	else if (!(ends_in(file, ".png") || ends_in(file, ".apng") || ends_in(file, ".gif")))
		fail(&d, ATLED_ERROR, "a film's file ends in .png, .apng or .gif");
	else if (count < 1 || count > 100000) fail(&d, ATLED_ERROR, "a film has 1 to 100000 frames");
	else if (!(rate > 0 && rate <= 1000))
		fail(&d, ATLED_ERROR, "a film shows more than 0 and at most 1000 frames a second");
	else if (!(dpi >= 10 && dpi <= 2400)) fail(&d, ATLED_ERROR, "dpi is a number from 10 to 2400");
	else check_grant(&d, ctx);
	DataRange *reached = calloc(AXES * PANELS_MOST, sizeof *reached);
	if (!reached) fail(&d, ATLED_NOMEM, NULL);
	if (d.status == ATLED_OK) measure_films(&d, ctx, args[0], count, reached);
	if (d.status == ATLED_OK) shoot_film(&d, ctx, args[0], count, file, rate, dpi, reached);
	free(reached);
	/* the error of a frame, already reported */
	if (d.status == ATLED_ERROR && !d.error[0]) return d.status;
	return finish(&d, ctx);
}

atled_status plot_bridge_install(atled_context *ctx) {
	atled_status st = atled_define_native(ctx, "_picture_draw", draw, NULL);
	if (st == ATLED_OK) st = atled_define_native(ctx, "_picture_check", check, NULL);
	return st == ATLED_OK ? atled_define_native(ctx, "_picture_film", film, NULL) : st;
}
