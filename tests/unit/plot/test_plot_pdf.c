/* test_plot_pdf.c - unit tests of PDF files, and of writers in several threads.
 *
 * Covers the structure, metadata and text of a PDF, its agreement with the
 * other formats, errors and allocation failure. pdftotext and pdftoppm
 * (poppler-utils) check text and ink where they are installed.
 *
 * Needs: repl/plot/.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#define _GNU_SOURCE /* memmem */
#include "tests/unit/plot/help.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNUSUAL "ν = 0.01 A&B"

static double x[60], y[2][60];

static void fill_data(void) {
	for (int i = 0; i < 60; i++) {
		x[i] = 0.1 * i;
		y[0][i] = sin(x[i]);
		y[1][i] = exp(-x[i]);
	}
}

static Figure *curves(const PlotAllocator *alloc) {
	static const char *const names[2] = {"sine", "e^{−x}"};
	Figure *f = figure_new(alloc, 1, 1);
	if (!f) return NULL;
	panel_title(f, 0, "Oscillation and decay");
	panel_label(f, 0, PLOT_X, "time");
	panel_label(f, 0, PLOT_Y, "displacement");
	for (int k = 0; k < 2; k++)
		panel_line(f, 0,
		           &(PlotSeries){.x = x,
		                         .y = y[k],
		                         .n = 60,
		                         .label = names[k],
		                         .colour = PLOT_COLOUR_AUTO,
		                         .marker = k ? PLOT_MARKER_CIRCLE : PLOT_MARKER_NONE,
		                         .dash = k ? PLOT_DOTTED : PLOT_SOLID});
	return f;
}

static Figure *field(const PlotAllocator *alloc) {
	static const double z[12] = {0, 1, 2, 3, NAN, 5, 6, 7, 8, 9, 10, 11};
	Figure *f = figure_new(alloc, 1, 1);
	if (!f) return NULL;
	figure_title(f, UNUSUAL);
	panel_field(f, 0, &(PlotField){.z = z, .nx = 4, .ny = 3, .cells = true});
	return f;
}

/* Writes the figure and reads the file. The caller frees the bytes. */
static char *pdf_of(Test *t, Figure *f, size_t *n) {
	char path[300];
	*n = 0;
	CHECK(figure_write_pdf(f, file_in(t, "a.pdf", path)) == PLOT_OK);
	char *bytes = read_whole(path, n);
	CHECK(bytes != NULL);
	unlink(path);
	return bytes;
}

/* strstr in bytes with zeros */
static const char *found(const char *bytes, size_t n, const char *what) {
	return bytes ? memmem(bytes, n, what, strlen(what)) : NULL;
}

static int times_found(const char *bytes, size_t n, const char *what) {
	int times = 0;
	for (const char *p = bytes; (p = found(p, n - (size_t)(p - bytes), what)); p++) times++;
	return times;
}

/* ---- structure ----------------------------------------------------------- */

static void test_structure(Test *t) {
	size_t n;
	Figure *f = curves(NULL);
	char *pdf = pdf_of(t, f, &n);
	CHECK(n > 2000 && n < 60000 && !strncmp(pdf, "%PDF-1.4\n", 9) &&
	      !memcmp(pdf + n - 6, "%%EOF\n", 6));
	CHECK(times_found(pdf, n, "/Type /Page") == 2 && found(pdf, n, "/Count 1"));
	CHECK(times_found(pdf, n, " obj\n") == times_found(pdf, n, "endobj\n"));
	/* 480 by 340 units of 1/96 inch, in points */
	const char *box = found(pdf, n, "/MediaBox [");
	double edges[4] = {0};
	CHECK(box && sscanf(box, "/MediaBox [ %lf %lf %lf %lf", &edges[0], &edges[1], &edges[2],
	                    &edges[3]) == 4);
	CHECK(edges[0] == 0 && edges[1] == 0 && edges[2] == 360 && edges[3] == 255);
	/* letters are an embedded subset of the font with their characters; nothing
	 * is a picture of pixels */
	CHECK(found(pdf, n, "DejaVuSans") && found(pdf, n, "/FontFile2") &&
	      found(pdf, n, "/ToUnicode"));
	CHECK(!found(pdf, n, "/Subtype /Image"));
	CHECK(found(pdf, n, "/Title (Oscillation and decay)") && found(pdf, n, "/Creator (Atled)"));
	free(pdf);
	figure_size(f, 960, 200);
	pdf = pdf_of(t, f, &n);
	CHECK(found(pdf, n, "/MediaBox [ 0 0 720 150 ]"));
	free(pdf);
	figure_free(f);

	/* A field is an image that is not smoothed. The title is in UTF-16. */
	f = field(NULL);
	pdf = pdf_of(t, f, &n);
	CHECK(found(pdf, n, "/Subtype /Image") && !found(pdf, n, "/Interpolate true"));
	CHECK(found(pdf, n, "/Title <FEFF03BD0020003D0020"));
	free(pdf);
	/* Markup is not part of the title. */
	figure_title(f, "u_{t} = u_{xx}");
	pdf = pdf_of(t, f, &n);
	CHECK(found(pdf, n, "/Title (ut = uxx)"));
	free(pdf);
	/* Without a title there is none. */
	figure_title(f, NULL);
	pdf = pdf_of(t, f, &n);
	CHECK(!found(pdf, n, "/Title"));
	free(pdf);
	figure_free(f);
}

static void test_date(Test *t) {
	char *before = getenv("SOURCE_DATE_EPOCH") ? strdup(getenv("SOURCE_DATE_EPOCH")) : NULL;
	Figure *f = curves(NULL);
	size_t n, m;
	setenv("SOURCE_DATE_EPOCH", "1000000000", 1);
	char *pdf = pdf_of(t, f, &n), *again = pdf_of(t, f, &m);
	/* Cairo 1.16 omits the D: */
	CHECK(found(pdf, n, "/CreationDate (D:20010909014640") ||
	      found(pdf, n, "/CreationDate (20010909014640"));
	CHECK(n == m && pdf && again && !memcmp(pdf, again, n));
	free(pdf);
	free(again);
	static const char *const wrong[4] = {"", "x", "-1", "99999999999999999999"};
	for (int k = 0; k < 4; k++) {
		setenv("SOURCE_DATE_EPOCH", wrong[k], 1);
		pdf = pdf_of(t, f, &n);
		CHECK(found(pdf, n, "/CreationDate (D:20"));
		free(pdf);
	}
	/* A locale with decimal commas changes nothing. */
	setenv("SOURCE_DATE_EPOCH", "0", 1);
	pdf = pdf_of(t, f, &n);
	if (setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8")) {
		again = pdf_of(t, f, &m);
		CHECK(n == m && pdf && again && !memcmp(pdf, again, n));
		free(again);
		setlocale(LC_ALL, "C");
	}
	free(pdf);
	if (before) setenv("SOURCE_DATE_EPOCH", before, 1);
	else unsetenv("SOURCE_DATE_EPOCH");
	free(before);
	figure_free(f);
}

/* ---- agreement with the other formats ------------------------------------ */

static bool installed(const char *program) {
	char command[100];
	snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
	return system(command) == 0;
}

/* Runs a command with %s as the path of the PDF and reads what it prints. */
static char *printed(const char *command, const char *path, size_t *n) {
	char line[800];
	snprintf(line, sizeof line, command, path);
	FILE *in = popen(line, "r");
	*n = 0;
	if (!in) return NULL;
	size_t cap = 8 << 20;
	char *out = malloc(cap);
	*n = out ? fread(out, 1, cap - 1, in) : 0;
	if (out) out[*n] = 0;
	pclose(in);
	return out;
}

static void test_text(Test *t) {
	char path[300];
	size_t n;
	Figure *f = curves(NULL);
	CHECK(figure_write_pdf(f, file_in(t, "a.pdf", path)) == PLOT_OK);
	if (!installed("pdftotext")) {
		check_skip("pdftotext is not installed");
	} else {
		char *text = printed("pdftotext -layout '%s' -", path, &n);
		CHECK(text && strstr(text, "Oscillation and decay") && strstr(text, "time") &&
		      strstr(text, "sine") && strstr(text, "−0.5"));
		free(text);
		/* Words lie where the layout, and thus the SVG, has them. */
		text = printed("pdftotext -bbox '%s' -", path, &n);
		Scene s;
		CHECK(figure_scene(f, 480, 340, 2, &s) == PLOT_OK);
		int words = 0;
		for (const PlotPrimitive *p = s.first; p; p = p->next) {
			char end[80];
			if (p->kind != PRIM_TEXT || p->angle != 0 || strpbrk(p->text, " ^")) continue;
			snprintf(end, sizeof end, ">%s</word>", p->text);
			PlotRect want = text_box(p);
			bool there = false;
			for (const char *at = text; (at = strstr(at, end)); at++) {
				const char *word = at;
				while (word > text && *word != '<') word--;
				double x0, y0, x1, y1;
				if (sscanf(word, "<word xMin=\"%lf\" yMin=\"%lf\" xMax=\"%lf\" yMax=\"%lf\"", &x0,
				           &y0, &x1, &y1) != 4)
					continue;
				there =
					there || (fabs(x0 / 0.75 - want.x0) < 0.6 && fabs(x1 / 0.75 - want.x1) < 0.6 &&
				              y0 / 0.75 < want.y0 + 2 && y1 / 0.75 > want.y1 - 2 && y1 - y0 < 20);
			}
			CHECK(there);
			words++;
		}
		CHECK(words > 8);
		plot_arena_free(&s.arena);
		free(text);
	}
	unlink(path);
	figure_free(f);
}

/* The ink of the page is that of the pixels. */
static void test_ink(Test *t) {
	if (!installed("pdftoppm")) {
		check_skip("pdftoppm is not installed");
		return;
	}
	for (int k = 0; k < 2; k++) {
		char path[300];
		size_t n;
		Figure *f = k ? field(NULL) : curves(NULL);
		CHECK(figure_write_pdf(f, file_in(t, "a.pdf", path)) == PLOT_OK);
		char *ppm = printed("pdftoppm -r 192 '%s'", path, &n);
		int width = 0, height = 0, start = 0;
		CHECK(ppm && sscanf(ppm, "P6 %d %d 255%n", &width, &height, &start) == 2 && start);
		CHECK(width == 960 && height == (k ? 728 : 680));
		PlotArena arena = {&plot_malloc, NULL, false};
		Raster r;
		CHECK(figure_raster(f, width, height, &arena, &r) == PLOT_OK);
		const unsigned char *page = (const unsigned char *)ppm + start + 1;
		double off = 0, ink = 0;
		for (int i = 0; i < 3 * width * height; i++) {
			off += abs(page[i] - r.rgb[i]);
			ink += 255 - r.rgb[i];
		}
		CHECK(ink > 0 && off < 0.25 * ink);
		plot_arena_free(&arena);
		free(ppm);
		unlink(path);
		figure_free(f);
	}
}

/* ---- failures ------------------------------------------------------------ */

static void test_errors(Test *t) {
	char path[300];
	Figure *f = curves(NULL);
	CHECK(figure_write_pdf(NULL, "x") == PLOT_BAD_ARGUMENT &&
	      figure_write_pdf(f, NULL) == PLOT_BAD_ARGUMENT);
	CHECK(figure_write_pdf(f, file_in(t, "missing/a.pdf", path)) == PLOT_IO_ERROR &&
	      strstr(figure_error(f), "missing"));
	CHECK(figure_write_pdf(f, t->folder) == PLOT_IO_ERROR &&
	      figure_write_pdf(f, "/dev/null") == PLOT_IO_ERROR);
	panel_scale(f, 0, PLOT_Y, PLOT_LOG);
	panel_limits(f, 0, PLOT_Y, -1, 1);
	CHECK(figure_write_pdf(f, file_in(t, "a.pdf", path)) == PLOT_BAD_DATA &&
	      access(path, F_OK) != 0);
	figure_free(f);

	for (int k = 0; k < 2; k++)
		for (long at = -1, calls = 0; at < calls; at++) {
			Meter m = {.fail_from = at};
			PlotAllocator alloc = {meter_resize, &m};
			f = k ? field(&alloc) : curves(&alloc);
			PlotStatus status = f ? figure_write_pdf(f, file_in(t, "a.pdf", path)) : PLOT_NO_MEMORY;
			CHECK(at < 0 ? status == PLOT_OK
			             : status == PLOT_NO_MEMORY && (!f || *figure_error(f)));
			if (!status) unlink(path);
			figure_free(f);
			CHECK(!m.held && !m.blocks && !m.wrong);
			if (at < 0) calls = m.calls;
		}
}

/* ---- threads ------------------------------------------------------------- */

/* Cairo and libc lock by means that the thread sanitizer does not see in
 * libraries that it did not compile. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "ignore_noninstrumented_modules=1"; }

enum { THREADS = 4, ROUNDS = 6 };

typedef struct Writer {
	Test *test;
	int number;
	size_t hash[ROUNDS]; /* of the files of a round */
} Writer;

static size_t hash_file(const char *path, size_t hash) {
	size_t n;
	char *bytes = read_whole(path, &n);
	for (size_t i = 0; bytes && i < n; i++) hash = hash * 31 + (unsigned char)bytes[i];
	free(bytes);
	unlink(path);
	return hash;
}

static void *write_pictures(void *ud) {
	Writer *w = ud;
	static const char *const endings[4] = {"pdf", "png", "svg", "gif"};
	for (int round = 0; round < ROUNDS; round++) {
		Figure *f = round % 2 ? field(NULL) : curves(NULL);
		for (int k = 0; k < 4; k++) {
			char path[300], name[40], error[320];
			snprintf(name, sizeof name, "%d.%s", w->number, endings[k]);
			file_in(w->test, name, path);
			PlotStatus status = k == 0   ? figure_write_pdf(f, path)
			                    : k == 1 ? figure_write_png(f, path, 240, 180)
			                    : k == 2 ? figure_write_svg(f, path)
			                             : PLOT_OK;
			if (k == 3) {
				Film *film = film_begin(NULL, path, true, 1, 10);
				film_add(film, f, 48);
				status = film_end(film, error, sizeof error);
			}
			w->hash[round] = hash_file(path, w->hash[round] + (status == PLOT_OK));
		}
		figure_free(f);
	}
	return NULL;
}

static void test_threads(Test *t) {
	setenv("SOURCE_DATE_EPOCH", "0", 1);
	Writer w[THREADS + 1];
	pthread_t threads[THREADS];
	bool started[THREADS];
	for (int i = 0; i <= THREADS; i++) w[i] = (Writer){.test = t, .number = i};
	for (int i = 0; i < THREADS; i++)
		started[i] = !pthread_create(&threads[i], NULL, write_pictures, &w[i]);
	for (int i = 0; i < THREADS; i++) CHECK(started[i] && !pthread_join(threads[i], NULL));
	write_pictures(&w[THREADS]);
	for (int i = 0; i < THREADS; i++)
		for (int round = 0; round < ROUNDS; round++)
			CHECK(w[i].hash[round] == w[THREADS].hash[round] && w[i].hash[round]);
	CHECK(w[0].hash[0] == w[0].hash[2] && w[0].hash[0] != w[0].hash[1]);
	unsetenv("SOURCE_DATE_EPOCH");
}

int main(void) {
	Test test = {.seed = 1}, *t = &test;
	if (!test_begin(t, "test_plot_pdf")) return 1;
	fill_data();
	test_threads(t);
	test_structure(t);
	test_date(t);
	test_text(t);
	test_ink(t);
	test_errors(t);
	return test_end(t);
}
