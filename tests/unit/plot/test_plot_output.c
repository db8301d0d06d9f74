/* test_plot_output.c - unit tests of the layout and output of figures.
 *
 * Covers PNG, SVG, files and terminal output.
 *
 * Needs: repl/plot/, libpng.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/figures.h"

#include <locale.h>
#include <png.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- layout -------------------------------------------------------------- */

/* No text overlaps another or leaves the picture. */
static void check_texts_of(Figure *f, double width, double height) {
	Scene s;
	PlotStatus status = figure_scene(f, width, height, 0.5, &s);
	CHECK(status == PLOT_OK || status == PLOT_TOO_SMALL);
	if (!status) check_texts(&s, 0.5);
	plot_arena_free(&s.arena);
}

static void test_layout(Test *t, const Data *d) {
	for (int k = 0; k < 3; k++) {
		Figure *f = makers[k](d, NULL);
		for (int i = 0; i < 60; i++)
			check_texts_of(f, 200 + 900 * uniform(t), 150 + 700 * uniform(t));
		figure_free(f);
	}
	for (int i = 0; i < 200; i++) { /* ticks of every magnitude on both axes */
		double x[2], y[2], z[2] = {uniform(t), 1e6 * uniform(t)};
		for (int a = 0; a < 2; a++) {
			double *v = a ? y : x, size = pow(10, -12 + 24 * uniform(t));
			v[0] = (uniform(t) - 0.5) * size;
			v[1] = v[0] + size * pow(10, -8 * uniform(t));
		}
		Figure *f = figure_new(NULL, 1, 1);
		panel_title(f, 0, "title");
		panel_label(f, 0, PLOT_X, "abscissa");
		panel_label(f, 0, PLOT_Y, "ordinate");
		if (i % 2) panel_field(f, 0, &(PlotField){.x = x, .z = z, .nx = 2, .ny = 1});
		else panel_line(f, 0, &(PlotSeries){.x = x, .y = y, .n = 2});
		check_texts_of(f, 480, 340);
		figure_free(f);
	}

	/* The legend goes where no line is: lines through three corners leave the
	 * fourth. */
	for (int free_corner = 0; free_corner < 4; free_corner++) {
		double x[60], y[60];
		int n = 0;
		for (int c = 0; c < 4; c++)
			for (int i = 0; c != free_corner && i < 20; i++) {
				x[n] = c % 2 ? 1 - i * 0.01 : i * 0.01;
				y[n++] = c / 2 ? 1 - i % 5 * 0.02 : i % 5 * 0.02;
			}
		Figure *f = figure_new(NULL, 1, 1);
		panel_scatter(f, 0, &(PlotSeries){.x = x, .y = y, .n = (size_t)n, .label = "points"});
		Scene s;
		CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
		const PlotPrimitive *text = NULL;
		for (const PlotPrimitive *p = s.first; p; p = p->next)
			if (p->kind == PRIM_TEXT && !strcmp(p->text, "points")) text = p;
		CHECK(text != NULL);
		if (text) {
			CHECK((text->points[0].x > 260) == (free_corner % 2 == 1));
			CHECK((text->points[0].y < 170) == (free_corner / 2 == 1));
		}
		plot_arena_free(&s.arena);
		figure_free(f);
	}

	Figure *f = figure_new(NULL, 16, 16);
	panel_title(f, 0, "one");
	Scene s;
	CHECK(figure_scene(f, 300, 300, 2, &s) == PLOT_TOO_SMALL && *figure_error(f));
	plot_arena_free(&s.arena);
	figure_free(f);
}

/* ---- PNG ----------------------------------------------------------------- */

typedef struct Image {
	int width, height;
	unsigned char *rgb;
} Image;

static Image read_png(const char *path) {
	Image out = {0};
	png_image image = {.version = PNG_IMAGE_VERSION};
	if (!png_image_begin_read_from_file(&image, path)) return out;
	image.format = PNG_FORMAT_RGB;
	out.rgb = malloc(PNG_IMAGE_SIZE(image));
	if (png_image_finish_read(&image, NULL, out.rgb, 0, NULL)) {
		out.width = (int)image.width;
		out.height = (int)image.height;
	}
	png_image_free(&image);
	return out;
}

static bool pixel_is(const Image *im, int x, int y, PlotColour c, int slack) {
	if (x < 0 || y < 0 || x >= im->width || y >= im->height) return false;
	const unsigned char *p = im->rgb + 3 * ((size_t)y * (size_t)im->width + (size_t)x);
	return abs(p[0] - c.r) <= slack && abs(p[1] - c.g) <= slack && abs(p[2] - c.b) <= slack;
}

static int count_pixels(const Image *im, PlotColour c) {
	int n = 0;
	for (int y = 0; y < im->height; y++)
		for (int x = 0; x < im->width; x++) n += pixel_is(im, x, y, c, 4);
	return n;
}

static void test_png(Test *t, const Data *d) {
	char path[300];
	file_in(t, "a.png", path);
	Figure *f = figure_lines(d, NULL);
	CHECK(figure_write_png(f, path, 0, 0) == PLOT_OK);
	Image im = read_png(path);
	CHECK(im.width == 960 && im.height == 680);
	for (int k = 0; k < 3; k++) CHECK(count_pixels(&im, plot_series_colour(k)) > 400);
	CHECK(count_pixels(&im, plot_series_colour(4)) == 0);
	CHECK(count_pixels(&im, (PlotColour){255, 255, 255, 255}) > 960 * 680 / 2);

	/* Picture and scene agree: each line has its colour in the pixels of its
	 * points, unless a later line covers them. */
	Scene s;
	CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	int on = 0, all = 0;
	for (const PlotPrimitive *p = s.first; p; p = p->next) {
		if (p->kind != PRIM_LINE || p->n < 50) continue;
		for (size_t i = 10; i + 10 < p->n; i++) {
			bool hit = false;
			for (int k = 0; k < 3; k++)
				hit = hit || pixel_is(&im, (int)(p->points[i].x * 2), (int)(p->points[i].y * 2),
				                      plot_series_colour(k), 12);
			on += hit;
			all++;
		}
	}
	CHECK(all > 500 && on == all);
	plot_arena_free(&s.arena);
	free(im.rgb);
	CHECK(figure_write_png(f, path, 333, 777) == PLOT_OK);
	im = read_png(path);
	CHECK(im.width == 333 && im.height == 777);
	free(im.rgb);
	figure_free(f);

	/* A thick horizontal line with a gap: coloured where there is data, white
	 * in the gap. */
	double x[5] = {0, 1, 2, 3, 4}, y[5] = {1, 1, NAN, 1, 1};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_line(f, 0, &(PlotSeries){.x = x, .y = y, .n = 5, .colour = 1, .width = 6}) ==
	      PLOT_OK);
	CHECK(panel_limits(f, 0, PLOT_Y, 0, 2) == PLOT_OK);
	CHECK(figure_write_png(f, path, 960, 680) == PLOT_OK);
	im = read_png(path);
	CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	PlotRect plot = {0};
	for (const PlotPrimitive *p = s.first; p; p = p->next)
		if (p->clip) plot = *p->clip;
	for (int i = 1; i < 80; i++) {
		double u = i / 80.0 * 4;
		int px = (int)((plot.x0 + u / 4 * (plot.x1 - plot.x0)) * 2), py = (int)(plot.y0 + plot.y1);
		bool data = u < 0.95 || u > 3.05, gap = u > 1.1 && u < 2.9;
		CHECK(!data || pixel_is(&im, px, py, plot_series_colour(1), 4));
		CHECK(!gap || pixel_is(&im, px, py, (PlotColour){255, 255, 255, 255}, 4));
	}
	CHECK(count_pixels(&im, plot_series_colour(1)) > 2000);
	plot_arena_free(&s.arena);
	free(im.rgb);
	figure_free(f);

	/* A field: the colours of its samples at their positions. */
	double z[4] = {0, 1, 2, 3};
	f = figure_new(NULL, 1, 1);
	CHECK(panel_field(f, 0, &(PlotField){.z = z, .nx = 2, .ny = 2, .cells = true}) == PLOT_OK);
	CHECK(figure_write_png(f, path, 960, 680) == PLOT_OK);
	im = read_png(path);
	CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
	PlotColour map[256];
	plot_map_colours(PLOT_MAP_SEQUENTIAL, map);
	const PlotPrimitive *image = NULL;
	for (const PlotPrimitive *p = s.last = s.first; p; p = p->next)
		if (p->kind == PRIM_IMAGE && !image) image = p;
	CHECK(image != NULL);
	for (int k = 0; image && k < 4; k++) {
		double px = image->rect.x0 + (k / 2 ? 0.75 : 0.25) * (image->rect.x1 - image->rect.x0);
		double py = image->rect.y0 + (k % 2 ? 0.25 : 0.75) * (image->rect.y1 - image->rect.y0);
		CHECK(pixel_is(&im, (int)(px * 2), (int)(py * 2),
		               map[(int)(k / 3.0 * (PLOT_MAP_COLOURS - 1) + 0.5)], 1));
	}
	plot_arena_free(&s.arena);
	free(im.rgb);
	CHECK(figure_write_png(f, path, 15, 100) == PLOT_BAD_ARGUMENT &&
	      figure_write_png(f, path, 100, 20000) == PLOT_BAD_ARGUMENT);
	CHECK(figure_write_png(f, path, 16384, 16384) == PLOT_BAD_ARGUMENT &&
	      figure_write_png(f, path, 4000, 16) == PLOT_TOO_SMALL);
	CHECK(figure_write_png(f, NULL, 0, 0) == PLOT_BAD_ARGUMENT);
	figure_free(f);
	unlink(path);
}

/* ---- SVG ----------------------------------------------------------------- */

static void test_svg(Test *t, const Data *d) {
	char path[300];
	file_in(t, "a.svg", path);
	CHECK(well_formed("<a><b c=\"1\"/>x &amp; y</a>") == 2);
	CHECK(well_formed("<a><b></a></b>") < 0 && well_formed("<a b=1/>") < 0 &&
	      well_formed("<a>&</a>") < 0 && well_formed("<a/><a/>") < 0);
	CHECK(well_formed("<a b=\"1\" b=\"2\"/>") < 0 && well_formed("<a>\xff</a>") < 0 &&
	      well_formed("<a>") < 0);
	for (int k = 0; k < 3; k++) {
		Figure *f = makers[k](d, NULL);
		CHECK(figure_write_svg(f, path) == PLOT_OK);
		size_t n = 0;
		char *text = read_whole(path, &n);
		CHECK(text && well_formed(text) > 40);
		if (text && k == 0) {
			CHECK(strstr(text, ">Burgers equation, ν = 0.01/π</text>") != NULL);
			CHECK(strstr(text, "rotate(-90 ") && strstr(text, ">u(t, x)</text>") &&
			      strstr(text, "#0068b2"));
			CHECK(n < 60000);
		}
		if (text && k == 1) {
			CHECK(strstr(text, "&amp; &lt;more&gt;") &&
			      strstr(text, "data:image/png;base64,iVBOR"));
			CHECK(strstr(text, "<tspan dy=") && strstr(text, "stroke-dasharray") &&
			      strstr(text, "<circle") && strstr(text, "clip-path"));
		}
		free(text);
		figure_free(f);
	}

	/* Hostile strings: control characters, invalid UTF-8, unclosed markup, and
	 * a very long string. */
	char *longer = malloc(100001);
	memset(longer, 'w', 100000);
	longer[100000] = 0;
	const char *const hostile[6] = {"a\x01\x1b[31m\x7f\xc2\x85z",
	                                "\xff\xfe\xed\xa0\x80 \xef\xbf\xbf]]>",
	                                "^{_{^{x",
	                                "}}}{{{^{}",
	                                "<script>\"'&",
	                                longer};
	for (int i = 0; i < 6; i++) {
		Figure *f = figure_new(NULL, 1, 1);
		double y[2] = {0, 1};
		figure_title(f, hostile[i]);
		panel_title(f, 0, hostile[i]);
		for (int a = 0; a < 3; a++) panel_label(f, 0, (PlotAxis)a, hostile[i]);
		CHECK(panel_line(f, 0, &(PlotSeries){.y = y, .n = 2, .label = hostile[i]}) == PLOT_OK);
		CHECK(figure_write_svg(f, path) == PLOT_OK);
		size_t n = 0;
		char *text = read_whole(path, &n);
		CHECK(text && (well_formed(text) > 20 || strstr(text, "\xef\xbf\xbd")));
		CHECK(text && !strstr(text, "<script") && !strchr(text, '\x1b'));
		free(text);
		char png[300];
		CHECK(figure_write_png(f, file_in(t, "a.png", png), 300, 200) == PLOT_OK);
		unlink(png);
		figure_free(f);
	}
	free(longer);

	/* A locale with decimal commas changes nothing. */
	Figure *f = figure_lines(d, NULL);
	size_t n1 = 0, n2 = 0;
	CHECK(figure_write_svg(f, path) == PLOT_OK);
	char *plain = read_whole(path, &n1);
	if (setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8")) {
		CHECK(figure_write_svg(f, path) == PLOT_OK);
		char *local = read_whole(path, &n2);
		CHECK(plain && local && n1 == n2 && !memcmp(plain, local, n1));
		free(local);
		setlocale(LC_ALL, "C");
	}
	free(plain);
	figure_free(f);
	unlink(path);
}

/* ---- files --------------------------------------------------------------- */

static void test_files(Test *t, const Data *d) {
	char path[300], other[300];
	Figure *f = figure_panels(d, NULL);
	CHECK(files_in_folder(t) == 0);
	CHECK(figure_write_svg(f, file_in(t, "missing/a.svg", path)) == PLOT_IO_ERROR &&
	      strstr(figure_error(f), "missing"));
	CHECK(figure_write_png(f, file_in(t, "missing/a.png", path), 0, 0) == PLOT_IO_ERROR);
	CHECK(figure_write_svg(f, t->folder) == PLOT_IO_ERROR &&
	      figure_write_svg(f, "") == PLOT_IO_ERROR);
	CHECK(files_in_folder(t) == 0);

	/* Writing must not replace a device. */
	CHECK(figure_write_svg(f, "/dev/null") == PLOT_IO_ERROR);
	struct stat st;
	CHECK(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));

	/* A disk that is full after 100 bytes: the old file is intact, and no other
	 * file appears. */
	file_in(t, "kept.svg", path);
	FILE *file = fopen(path, "w");
	if (file) {
		fputs("old", file);
		fclose(file);
	}
	struct rlimit old, small = {100, 100};
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &small));
	PlotStatus svg = figure_write_svg(f, path),
			   png = figure_write_png(f, file_in(t, "new.png", other), 0, 0);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, handler);
	CHECK(svg == PLOT_IO_ERROR && png == PLOT_IO_ERROR && *figure_error(f));
	CHECK(files_in_folder(t) == 1);
	size_t n = 0;
	char *text = read_whole(path, &n);
	CHECK(text && !strcmp(text, "old"));
	free(text);

	/* A symbolic link stays a link; its target is replaced. */
	file_in(t, "link.svg", other);
	CHECK(!symlink(path, other));
	CHECK(figure_write_svg(f, other) == PLOT_OK);
	CHECK(!lstat(other, &st) && S_ISLNK(st.st_mode));
	text = read_whole(path, &n);
	CHECK(text && well_formed(text) > 40);
	free(text);
	CHECK(files_in_folder(t) == 2);
	unlink(other);
	unlink(path);

	/* A name without a folder refers to the current folder. */
	char *here = getcwd(NULL, 0);
	CHECK(here && !chdir(t->folder));
	CHECK(figure_write_svg(f, "bare.svg") == PLOT_OK && files_in_folder(t) == 1);
	unlink("bare.svg");
	CHECK(!chdir(here));
	free(here);
	figure_free(f);
}

/* ---- terminal ------------------------------------------------------------ */

static void test_terminal(Test *t, const Data *d) {
	for (int k = 0; k < 3; k++) {
		Figure *f = makers[k](d, NULL);
		for (int i = 0; i < 120; i++) {
			int columns = 20 + (int)(uniform(t) * 180), rows = 6 + (int)(uniform(t) * 60);
			bool colour = i % 2;
			Text out = {0};
			CHECK(figure_write_terminal(f, columns, rows, colour, take_text, &out) == PLOT_OK);
			int lines = check_lines(&out, columns, colour), panels = k == 0 ? 1 : k == 1 ? 3 : 2;
			CHECK(out.calls == 1 && (lines <= rows || (panels > 1 && lines <= panels * rows + 1)));
			if (columns >= 120 && rows >= 40) CHECK(lines <= rows);
			free(out.at);
		}
		Text none = {0};
		CHECK(figure_write_terminal(f, 19, 20, false, take_text, &none) == PLOT_TOO_SMALL &&
		      none.calls == 0);
		CHECK(figure_write_terminal(f, 80, 5, false, take_text, &none) == PLOT_TOO_SMALL &&
		      none.calls == 0);
		CHECK(figure_write_terminal(f, 80, 20, false, NULL, NULL) == PLOT_BAD_ARGUMENT);
		Text huge = {0};
		CHECK(figure_write_terminal(f, 1000000, 1000000, false, take_text, &huge) == PLOT_OK);
		free(huge.at);
		figure_free(f);
	}

	Figure *f = figure_lines(d, NULL);
	Text out = {0};
	CHECK(figure_write_terminal(f, 80, 24, false, take_text, &out) == PLOT_OK);
	CHECK(out.at && strstr(out.at, "Burgers") && strstr(out.at, "u(t, x)") &&
	      strstr(out.at, "t = 0.5") && strstr(out.at, "-1.0"));
	int dots = 0;
	for (const char *p = out.at; p && *p;) {
		uint32_t c = plot_utf8(&p);
		dots += c > 0x2800 && c <= 0x28ff;
	}
	CHECK(dots > 100);
	free(out.at);
	figure_free(f);

	f = figure_panels(d, NULL);
	out = (Text){0};
	CHECK(figure_write_terminal(f, 100, 50, true, take_text, &out) == PLOT_OK);
	CHECK(out.at && strstr(out.at, "uₜ + u uₓ = ν uₓₓ") && strstr(out.at, "▀") &&
	      strstr(out.at, "48;5;") && strstr(out.at, "10⁻"));
	free(out.at);
	figure_free(f);

	/* Wide and combining characters have the right number of columns. */
	f = figure_new(NULL, 1, 1);
	panel_title(f, 0, "漢字漢字漢字漢字漢字漢字漢字漢字漢字");
	panel_label(f, 0, PLOT_X, "u\xcc\x82 at x^{abc} and y^{q}");
	double y[3] = {1, 2, 3};
	panel_line(f, 0, &(PlotSeries){.y = y, .n = 3, .label = "漢字 of the first, which is long"});
	out = (Text){0};
	CHECK(figure_write_terminal(f, 24, 12, true, take_text, &out) == PLOT_OK);
	check_lines(&out, 24, true);
	CHECK(out.at && strstr(out.at, "…") && strstr(out.at, "^(abc)"));
	free(out.at);
	figure_free(f);
}

int main(void) {
	Test test = {.seed = 14550509457412108041ull}, *t = &test;
	Data *d = calloc(1, sizeof *d);
	if (!d || !test_begin(t, "test_plot_output")) return 1;
	fill_data(d);
	test_layout(t, d);
	test_png(t, d);
	test_svg(t, d);
	test_files(t, d);
	test_terminal(t, d);
	free(d);
	return test_end(t);
}
