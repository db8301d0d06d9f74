/* figures.h - figures that several plotting tests draw, and checks of what is
 * written.
 *
 * Needs: help.h.
 */
#ifndef ATLED_TESTS_UNIT_PLOT_FIGURES_H
#define ATLED_TESTS_UNIT_PLOT_FIGURES_H

#include "tests/unit/plot/help.h"

#include <dirent.h>
#include <math.h>

/* ---- figures ------------------------------------------------------------- */

enum { SAMPLES = 201, TIMES = 41 };
typedef struct Data {
	double x[SAMPLES], t[TIMES], u[TIMES][SAMPLES], h[7], e[3][7], noise[2000];
} Data;

static inline void fill_data(Data *d) {
	Test noise = {.seed = 20260601};
	for (int i = 0; i < SAMPLES; i++) d->x[i] = -1 + 2.0 * i / (SAMPLES - 1);
	for (int j = 0; j < TIMES; j++) {
		d->t[j] = (double)j / (TIMES - 1);
		for (int i = 0; i < SAMPLES; i++)
			d->u[j][i] =
				-sin(PLOT_PI * d->x[i]) * exp(-d->t[j]) + 0.2 * tanh(20 * d->x[i] * d->t[j]);
	}
	for (int i = 0; i < 7; i++) {
		d->h[i] = pow(2, -2 - i);
		for (int k = 0; k < 3; k++) d->e[k][i] = 0.3 * pow(d->h[i], k + 1);
	}
	for (int i = 0; i < 2000; i++) d->noise[i] = uniform(&noise) - 0.5;
}

static inline Figure *figure_lines(const Data *d, const PlotAllocator *alloc) {
	static const char *const names[3] = {"t = 0", "t = 0.5", "t = 1"};
	Figure *f = figure_new(alloc, 1, 1);
	if (!f) return NULL;
	panel_title(f, 0, "Burgers equation, ν = 0.01/π");
	panel_label(f, 0, PLOT_X, "x");
	panel_label(f, 0, PLOT_Y, "u(t, x)");
	for (int k = 0; k < 3; k++) {
		PlotSeries s = {.x = d->x,
		                .y = d->u[k * 20],
		                .n = SAMPLES,
		                .label = names[k],
		                .colour = PLOT_COLOUR_AUTO};
		panel_line(f, 0, &s);
	}
	return f;
}

static inline Figure *figure_panels(const Data *d, const PlotAllocator *alloc) {
	Figure *f = figure_new(alloc, 2, 2);
	if (!f) return NULL;
	figure_title(f, "u_{t} + u u_{x} = ν u_{xx} & <more>");
	panel_title(f, 0, "solution");
	panel_label(f, 0, PLOT_X, "x");
	panel_label(f, 0, PLOT_Y, "t");
	panel_label(f, 0, PLOT_Z, "u(t, x)");
	panel_field(f, 0,
	            &(PlotField){.x = d->x,
	                         .y = d->t,
	                         .z = &d->u[0][0],
	                         .nx = SAMPLES,
	                         .ny = TIMES,
	                         .x_step = 1,
	                         .y_step = SAMPLES});
	panel_line(
		f, 1,
		&(PlotSeries){
			.y = d->noise, .n = 2000, .label = "noise", .colour = PLOT_COLOUR_AUTO, .width = 0.5});
	panel_scatter(f, 1,
	              &(PlotSeries){.x = d->noise,
	                            .y = d->noise + 9,
	                            .n = 50,
	                            .label = "points",
	                            .colour = PLOT_COLOUR_AUTO});
	panel_scale(f, 2, PLOT_X, PLOT_LOG);
	panel_scale(f, 2, PLOT_Y, PLOT_LOG);
	panel_title(
		f, 2,
		"a long title of a convergence plot that has to be made smaller or cut somewhere to fit");
	panel_label(f, 2, PLOT_Y, "‖u_{h} − u‖");
	panel_grid(f, 2, true);
	for (int k = 0; k < 3; k++) {
		PlotSeries s = {.x = d->h,
		                .y = d->e[k],
		                .n = 7,
		                .label = "order",
		                .colour = PLOT_COLOUR_AUTO,
		                .marker = PLOT_MARKER_AUTO,
		                .dash = (PlotDash)(PLOT_DASHED + k)};
		panel_line(f, 2, &s);
	}
	return f; /* the fourth panel stays empty */
}

static inline Figure *figure_awkward(const Data *d, const PlotAllocator *alloc) {
	Figure *f = figure_new(alloc, 1, 2);
	if (!f) return NULL;
	static double far[SAMPLES], small[SAMPLES];
	for (int i = 0; i < SAMPLES; i++) {
		far[i] = 1e9 + 0.3 * d->x[i];
		small[i] = 1e-7 * d->x[i];
	}
	panel_title(f, 0, "offsets and factors on both axes");
	panel_label(f, 0, PLOT_X, "a label of some length for x / m");
	panel_line(f, 0,
	           &(PlotSeries){.x = small, .y = far, .n = SAMPLES, .label = "straight", .colour = 9});
	panel_legend(f, 1, PLOT_LEGEND_OUTSIDE);
	panel_limits(f, 1, PLOT_X, 0.5, -0.5);
	for (int k = 0; k < 12; k++) {
		PlotSeries s = {.x = d->x,
		                .y = d->u[3 * k],
		                .n = SAMPLES,
		                .label = "one of a great many entries, with a long name",
		                .colour = PLOT_COLOUR_AUTO};
		panel_line(f, 1, &s);
	}
	return f;
}

typedef Figure *(*MakeFigure)(const Data *d, const PlotAllocator *alloc);
static const MakeFigure makers[3] = {figure_lines, figure_panels, figure_awkward};

/* ---- checks -------------------------------------------------------------- */

static inline int files_in_folder(Test *t) {
	int n = 0;
	DIR *d = opendir(t->folder);
	if (!d) return -1;
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n;
}

static inline bool name_character(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == ':' || c == '_';
}

/* Skips one of the five predefined entities; returns false when there is
 * none. */
static inline bool entity(const char **p) {
	static const char *const known[5] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
	for (int i = 0; i < 5; i++) {
		if (strncmp(*p, known[i], strlen(known[i]))) continue;
		*p += strlen(known[i]);
		return true;
	}
	return false;
}

/* A small XML checker: tags nest, attributes are quoted and not repeated, text
 * is clean. Returns the number of elements, -1 on an error. */
static inline int well_formed(const char *p) {
	char open[32][24];
	int depth = 0, elements = 0, roots = 0;
	for (const char *q = p; *q;)
		if (plot_utf8(&q) == 0xfffd) return -1;
	if (!strncmp(p, "<?xml ", 6)) p = strstr(p, "?>") ? strstr(p, "?>") + 2 : "";
	while (*p) {
		if (*p == '&') {
			if (!depth || !entity(&p)) return -1;
			continue;
		}
		if (*p != '<') {
			if (*p == '>' || ((unsigned char)*p < 32 && *p != '\n') || (!depth && *p != '\n'))
				return -1;
			p++;
			continue;
		}
		bool closing = p[1] == '/';
		p += closing ? 2 : 1;
		char name[24] = "";
		int n = 0;
		while (name_character(*p) && n < 23) name[n++] = *p++;
		if (!n) return -1;
		if (closing) {
			if (!depth || strcmp(open[--depth], name) || *p++ != '>') return -1;
			continue;
		}
		char seen[16][24];
		int attributes = 0;
		while (*p == ' ') {
			char attribute[24] = "";
			for (n = 0, p++; name_character(*p) && n < 23;) attribute[n++] = *p++;
			if (!n || *p++ != '=' || *p++ != '"') return -1;
			while (*p && *p != '"') {
				if (*p == '<' || (*p == '&' && !entity(&p))) return -1;
				if (*p != '"') p++;
			}
			if (*p++ != '"') return -1;
			for (int i = 0; i < attributes; i++)
				if (!strcmp(seen[i], attribute)) return -1;
			if (attributes == 16) return -1;
			strcpy(seen[attributes++], attribute);
		}
		elements++;
		if (!depth && roots++) return -1;
		if (*p == '/') {
			if (p[1] != '>') return -1;
			p += 2;
			continue;
		}
		if (*p++ != '>' || depth == 32) return -1;
		strcpy(open[depth++], name);
	}
	return depth || roots != 1 ? -1 : elements;
}

/* Checks widths and colour codes; returns the number of lines. */
static inline int check_lines(const Text *text, int columns, bool colour) {
	int lines = 0, width = 0;
	bool open = false, fits = true, closed = true, codes = true;
	for (const char *p = text->at; p && *p;) {
		uint32_t c = plot_utf8(&p);
		codes = codes && c != 0xfffd && (colour || c != 0x1b);
		if (c == 0x1b) {
			open = strncmp(p, "[0m", 3) != 0;
			p = strchr(p, 'm');
			p = p ? p + 1 : "";
			continue;
		}
		if (c == '\n') {
			lines++;
			closed = closed && !open;
			width = 0;
			continue;
		}
		width += plot_char_columns(c);
		fits = fits && width <= columns;
	}
	CHECK(fits);
	CHECK(closed);
	CHECK(codes);
	return lines;
}

#endif
