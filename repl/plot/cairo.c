/* cairo.c - drawing of a scene with Cairo: pixels, and PDF files of figures.
 *
 * Method: every primitive is a path that Cairo fills or strokes.
 * - Pixels: letters are filled outlines, at places between pixels, so all
 *   versions of Cairo give the same text. The baselines of upright strings lie
 *   on boundaries of pixels.
 * - PDF: letters are text with its characters, so it can be searched and
 *   copied. A unit of the scene is 0.75 points.
 *
 * Needs: internal.h, a scene with coordinates near the picture, as layout makes
 * it; the headers of Cairo 1.16 or later, and libcairo, which is loaded at the
 * first use.
 *
 * Guarantees:
 * - Nothing is drawn outside a primitive's clip. In pixels the clip is rounded
 *   to whole ones.
 * - A translucent line covers each pixel once, even where it crosses itself.
 * - Pixels and the bytes of a PDF come from the figure's allocator. Cairo
 *   allocates paths and letters by malloc; the callers bound the size of the
 *   picture before.
 * - Any thread may call: pthread_once loads the library, and Cairo locks its
 *   font.
 */
#include "repl/plot/internal.h"
#include "lang/base/dynlib.h"

#include <cairo-ft.h>
#include <cairo-pdf.h>
#include <math.h>
#include <pthread.h>
#include <sonames.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS(F)                                                                               \
	F(cairo_create)                                                                                \
	F(cairo_destroy)                                                                               \
	F(cairo_status)                                                                                \
	F(cairo_status_to_string)                                                                      \
	F(cairo_save)                                                                                  \
	F(cairo_restore)                                                                               \
	F(cairo_scale)                                                                                 \
	F(cairo_translate)                                                                             \
	F(cairo_rotate)                                                                                \
	F(cairo_identity_matrix)                                                                       \
	F(cairo_user_to_device)                                                                        \
	F(cairo_device_to_user)                                                                        \
	F(cairo_new_path)                                                                              \
	F(cairo_new_sub_path)                                                                          \
	F(cairo_move_to)                                                                               \
	F(cairo_line_to)                                                                               \
	F(cairo_close_path)                                                                            \
	F(cairo_arc)                                                                                   \
	F(cairo_rectangle)                                                                             \
	F(cairo_clip)                                                                                  \
	F(cairo_paint)                                                                                 \
	F(cairo_fill)                                                                                  \
	F(cairo_fill_preserve)                                                                         \
	F(cairo_stroke)                                                                                \
	F(cairo_set_source_rgba)                                                                       \
	F(cairo_set_source_surface)                                                                    \
	F(cairo_get_source)                                                                            \
	F(cairo_pattern_set_filter)                                                                    \
	F(cairo_pattern_set_extend)                                                                    \
	F(cairo_set_fill_rule)                                                                         \
	F(cairo_set_line_width)                                                                        \
	F(cairo_set_line_cap)                                                                          \
	F(cairo_set_line_join)                                                                         \
	F(cairo_set_dash)                                                                              \
	F(cairo_font_options_create)                                                                   \
	F(cairo_font_options_destroy)                                                                  \
	F(cairo_font_options_set_hint_style)                                                           \
	F(cairo_font_options_set_hint_metrics)                                                         \
	F(cairo_set_font_options)                                                                      \
	F(cairo_set_font_face)                                                                         \
	F(cairo_set_font_size)                                                                         \
	F(cairo_glyph_path)                                                                            \
	F(cairo_show_text_glyphs)                                                                      \
	F(cairo_ft_font_face_create_for_ft_face)                                                       \
	F(cairo_image_surface_create_for_data)                                                         \
	F(cairo_surface_finish)                                                                        \
	F(cairo_surface_status)                                                                        \
	F(cairo_surface_destroy)                                                                       \
	F(cairo_pdf_surface_create_for_stream)                                                         \
	F(cairo_pdf_surface_restrict_to_version)                                                       \
	F(cairo_pdf_surface_set_metadata)

static struct {
#define F(name) __typeof__(&(name)) name;
	FUNCTIONS(F)
#undef F
} lib;

static cairo_font_face_t *font; /* belongs to the process */
static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
#define NAME(name) DYN_NAME(lib, name),
	static const DynName names[] = {FUNCTIONS(NAME)};
#undef NAME
	if ((missing = font_open())) return;
	void *library = dynlib_open(SONAME_CAIRO);
	if (!dynlib_find(&library, 1, names, sizeof names / sizeof *names)) {
		missing = "Cairo (" SONAME_CAIRO ") cannot be loaded; `make deps` installs it, or apt-get "
				  "install libcairo2";
		return;
	}
	font = lib.cairo_ft_font_face_create_for_ft_face(font_face(), FT_LOAD_NO_HINTING);
}

static const char *cairo_open(void) {
	pthread_once(&once, open_library);
	return missing;
}

/* ---- paths --------------------------------------------------------------- */

typedef struct Sheet {
	cairo_t *cr;
	bool pixels; /* else points of a PDF */
	PlotArena *arena;
} Sheet;

/* Cairo's coordinates end at 2^23. */
#define FARTHEST 4e6

static void set_colour(const Sheet *o, PlotColour c) {
	lib.cairo_set_source_rgba(o->cr, c.r / 255.0, c.g / 255.0, c.b / 255.0, c.a / 255.0);
}

static PlotPoint on_device(const Sheet *o, PlotPoint p) {
	lib.cairo_user_to_device(o->cr, &p.x, &p.y);
	return p;
}

static bool too_far(const Sheet *o, PlotPoint p) {
	p = on_device(o, p);
	return !(fabs(p.x) < FARTHEST && fabs(p.y) < FARTHEST);
}

/* Cairo's time grows faster than the number of edges that a row crosses, so a
 * long opaque line is stroked in pieces of this many points. Their round ends
 * meet as joints do. */
#define PIECE 64

static void draw_line(const Sheet *o, const PlotPrimitive *p) {
	double pattern[4];
	int parts = plot_dash_pattern(p->dash, pattern);
	/* some viewers of PDF omit dashes of length zero */
	for (int i = 0; i < parts; i++) pattern[i] = plot_max(pattern[i] * p->size, 0.01);
	if (p->n == 1 || p->size < 0.02) parts = 0;
	lib.cairo_set_dash(o->cr, pattern, parts, 0);
	lib.cairo_set_line_width(o->cr, p->size);
	set_colour(o, p->colour);
	bool down = false, pieces = o->pixels && !parts && p->colour.a == 255 && p->n > 8 * PIECE;
	for (size_t i = 0; i < p->n; i++) {
		PlotPoint at = p->points[i];
		bool gap = too_far(o, at);
		if (!gap && down) lib.cairo_line_to(o->cr, at.x, at.y);
		if (!gap && down && pieces && i % PIECE == 0) {
			lib.cairo_stroke(o->cr);
			down = false;
		}
		if (!gap && !down) lib.cairo_move_to(o->cr, at.x, at.y);
		down = !gap;
	}
	if (p->n == 1 && down) lib.cairo_line_to(o->cr, p->points[0].x, p->points[0].y); /* a dot */
	lib.cairo_stroke(o->cr);
}

static void draw_polygon(const Sheet *o, const PlotPrimitive *p) {
	bool down = false;
	for (size_t i = 0; i < p->n; i++) {
		PlotPoint at = p->points[i];
		if (at.x != at.x) { /* the end of a ring */
			lib.cairo_close_path(o->cr);
			down = false;
			continue;
		}
		if (too_far(o, at)) {
			at = on_device(o, at);
			at.x = plot_clamp(at.x, -FARTHEST, FARTHEST);
			at.y = plot_clamp(at.y, -FARTHEST, FARTHEST);
			lib.cairo_device_to_user(o->cr, &at.x, &at.y);
		}
		if (down) lib.cairo_line_to(o->cr, at.x, at.y);
		else lib.cairo_move_to(o->cr, at.x, at.y);
		down = true;
	}
	set_colour(o, p->colour);
	lib.cairo_fill(o->cr);
}

/* ---- markers ------------------------------------------------------------- */

/* Draws a filled shape with a white outline that separates overlapping
 * markers. */
static void draw_outline(const Sheet *o, PlotPoint at, double size, const PlotPoint *shape,
                         int corners, double edge, PlotColour c) {
	lib.cairo_new_sub_path(o->cr);
	if (!shape) lib.cairo_arc(o->cr, at.x, at.y, size / 2, 0, 2 * PLOT_PI);
	for (int i = 0; i < corners; i++)
		lib.cairo_line_to(o->cr, at.x + shape[i].x * size, at.y + shape[i].y * size);
	lib.cairo_close_path(o->cr);
	set_colour(o, c);
	if (!(edge > 0)) {
		lib.cairo_fill(o->cr);
		return;
	}
	lib.cairo_fill_preserve(o->cr);
	set_colour(o, (PlotColour){255, 255, 255, 255});
	lib.cairo_stroke(o->cr);
}

static void draw_markers(const Sheet *o, const PlotPrimitive *p) {
	PlotPoint shape[PLOT_MARKER_CORNERS], bars[4];
	int corners = plot_marker_outline(p->marker, shape), ends = plot_marker_bars(p->marker, bars);
	bool circle = p->marker == PLOT_MARKER_CIRCLE;
	double edge = plot_marker_edge(p->size);
	lib.cairo_set_dash(o->cr, NULL, 0, 0);
	lib.cairo_set_line_width(o->cr, ends ? 0.22 * p->size : edge);
	for (size_t k = 0; k < p->n; k++) {
		PlotPoint at = p->points[k];
		if (too_far(o, at)) continue;
		if (corners)
			draw_outline(o, at, p->size, circle ? NULL : shape, circle ? 0 : corners, edge,
			             p->colour);
		for (int i = 0; i + 1 < ends; i += 2) {
			lib.cairo_move_to(o->cr, at.x + bars[i].x * p->size, at.y + bars[i].y * p->size);
			lib.cairo_line_to(o->cr, at.x + bars[i + 1].x * p->size,
			                  at.y + bars[i + 1].y * p->size);
		}
		if (!ends) continue;
		set_colour(o, p->colour);
		lib.cairo_stroke(o->cr);
	}
}

/* ---- texts and images ---------------------------------------------------- */

/* Draws letters of one size. For a PDF `utf8` receives their characters. Bold
 * ones have outlines there, too: a viewer may move hinted text a little. */
static void draw_letters(const Sheet *o, const PlotLetter *letters, size_t n, cairo_glyph_t *glyphs,
                         cairo_text_cluster_t *clusters, char *utf8, bool bold) {
	int bytes = 0;
	for (size_t i = 0; i < n; i++) {
		int length = (int)plot_utf8_write(letters[i].code, utf8 + bytes);
		glyphs[i] = (cairo_glyph_t){letters[i].glyph, letters[i].x, letters[i].y};
		clusters[i] = (cairo_text_cluster_t){length, 1};
		bytes += length;
	}
	lib.cairo_set_font_size(o->cr, letters->size);
	if (!o->pixels)
		lib.cairo_show_text_glyphs(o->cr, utf8, bytes, glyphs, (int)n, clusters, (int)n, 0);
	if (!o->pixels && !bold) return;
	lib.cairo_new_path(o->cr);
	lib.cairo_glyph_path(o->cr, glyphs, (int)n);
	lib.cairo_fill_preserve(o->cr);
	lib.cairo_set_line_width(o->cr, FONT_BOLD * letters->size);
	if (bold) lib.cairo_stroke(o->cr);
	lib.cairo_new_path(o->cr);
}

static void draw_text(const Sheet *o, const PlotPrimitive *p) {
	size_t most = strlen(p->text), n = 0;
	PlotLetter *letters = plot_take(o->arena, most, sizeof *letters);
	cairo_glyph_t *glyphs = plot_take(o->arena, most, sizeof *glyphs);
	cairo_text_cluster_t *clusters = plot_take(o->arena, most, sizeof *clusters);
	char *utf8 = plot_take(o->arena, most, 4);
	if (!letters || !glyphs || !clusters || !utf8 || too_far(o, p->points[0])) return;
	double width = font_place(p->text, p->size, letters, &n);
	PlotPoint at = p->points[0];
	if (o->pixels) {
		lib.cairo_user_to_device(o->cr, &at.x, &at.y);
		if (p->angle == 0) at.y = floor(at.y + 0.5);
		if (p->angle == 90) at.x = floor(at.x + 0.5);
		lib.cairo_device_to_user(o->cr, &at.x, &at.y);
	}
	lib.cairo_save(o->cr);
	lib.cairo_translate(o->cr, at.x, at.y);
	lib.cairo_rotate(o->cr, -p->angle * PLOT_PI / 180);
	lib.cairo_translate(o->cr,
	                    p->anchor == ANCHOR_MIDDLE ? -width / 2
	                    : p->anchor == ANCHOR_END  ? -width
	                                               : 0,
	                    0);
	lib.cairo_set_fill_rule(o->cr, CAIRO_FILL_RULE_WINDING);
	lib.cairo_set_dash(o->cr, NULL, 0, 0);
	set_colour(o, p->colour);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && letters[end].size == letters[i].size;) end++;
		draw_letters(o, letters + i, end - i, glyphs, clusters, utf8, p->bold);
	}
	lib.cairo_restore(o->cr);
}

/* Makes a rectangle the path; in pixels, of whole ones. */
static void add_rect(const Sheet *o, const PlotRect *r) {
	PlotPoint a = on_device(o, (PlotPoint){r->x0, r->y0}),
			  b = on_device(o, (PlotPoint){r->x1, r->y1});
	PlotRect at = {a.x, a.y, b.x, b.y};
	double *edges[4] = {&at.x0, &at.y0, &at.x1, &at.y1};
	for (int i = 0; i < 4; i++) {
		*edges[i] = plot_clamp(*edges[i], -FARTHEST, FARTHEST);
		if (o->pixels) *edges[i] = floor(*edges[i] + 0.5);
	}
	lib.cairo_save(o->cr);
	lib.cairo_identity_matrix(o->cr);
	lib.cairo_rectangle(o->cr, at.x0, at.y0, at.x1 - at.x0, at.y1 - at.y0);
	lib.cairo_restore(o->cr);
}

static void draw_image(const Sheet *o, const PlotPrimitive *p) {
	size_t n = (size_t)p->width * (size_t)p->height;
	uint32_t *pixels = plot_take(o->arena, n, sizeof *pixels), colours[256];
	if (!pixels || !n) return;
	for (int i = 0; i < 256; i++) { /* premultiplied */
		PlotColour c = p->palette[i];
		colours[i] = (uint32_t)c.a << 24 | (uint32_t)(c.r * c.a / 255) << 16 |
		             (uint32_t)(c.g * c.a / 255) << 8 | (uint32_t)(c.b * c.a / 255);
	}
	for (size_t i = 0; i < n; i++) pixels[i] = colours[p->index[i]];
	cairo_surface_t *image = lib.cairo_image_surface_create_for_data(
		(unsigned char *)pixels, CAIRO_FORMAT_ARGB32, p->width, p->height, 4 * p->width);
	lib.cairo_save(o->cr);
	add_rect(o, &p->rect);
	lib.cairo_clip(o->cr);
	lib.cairo_translate(o->cr, p->rect.x0, p->rect.y0);
	lib.cairo_scale(o->cr, (p->rect.x1 - p->rect.x0) / p->width,
	                (p->rect.y1 - p->rect.y0) / p->height);
	lib.cairo_set_source_surface(o->cr, image, 0, 0);
	lib.cairo_pattern_set_filter(lib.cairo_get_source(o->cr), CAIRO_FILTER_NEAREST);
	/* the clip may reach half a pixel beyond the image */
	if (o->pixels) lib.cairo_pattern_set_extend(lib.cairo_get_source(o->cr), CAIRO_EXTEND_PAD);
	lib.cairo_paint(o->cr);
	lib.cairo_restore(o->cr);
	lib.cairo_surface_destroy(image);
}

/* ---- scenes -------------------------------------------------------------- */

static void draw_primitive(const Sheet *o, const PlotPrimitive *p) {
	lib.cairo_set_fill_rule(o->cr, CAIRO_FILL_RULE_EVEN_ODD);
	switch (p->kind) {
	case PRIM_LINE: draw_line(o, p); break;
	case PRIM_POLYGON: draw_polygon(o, p); break;
	case PRIM_MARKERS: draw_markers(o, p); break;
	case PRIM_TEXT: draw_text(o, p); break;
	case PRIM_IMAGE: draw_image(o, p); break;
	}
}

/* Draws the scene on the surface, with `scale` units of the surface for a unit
 * of the scene, and destroys the surface. Returns NULL, or Cairo's message; ""
 * when memory failed. */
static const char *draw_scene(const Scene *s, cairo_surface_t *surface, double scale_x,
                              double scale_y, bool pixels, PlotArena *arena) {
	Sheet sheet = {lib.cairo_create(surface), pixels, arena};
	cairo_font_options_t *options = lib.cairo_font_options_create();
	lib.cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	lib.cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	lib.cairo_set_font_options(sheet.cr, options);
	lib.cairo_font_options_destroy(options);
	lib.cairo_set_font_face(sheet.cr, font);
	lib.cairo_set_line_cap(sheet.cr, CAIRO_LINE_CAP_ROUND);
	lib.cairo_set_line_join(sheet.cr, CAIRO_LINE_JOIN_ROUND);
	set_colour(&sheet, (PlotColour){255, 255, 255, 255});
	lib.cairo_paint(sheet.cr);
	lib.cairo_scale(sheet.cr, scale_x, scale_y);
	int clip = 0;
	for (const PlotPrimitive *p = s->first; p; p = p->next) {
		if (p->clip_number != clip) {
			if (clip) lib.cairo_restore(sheet.cr);
			clip = p->clip_number;
			if (clip) {
				lib.cairo_save(sheet.cr);
				add_rect(&sheet, p->clip);
				lib.cairo_clip(sheet.cr);
			}
		}
		draw_primitive(&sheet, p);
	}
	if (clip) lib.cairo_restore(sheet.cr);
	cairo_status_t status = lib.cairo_status(sheet.cr);
	lib.cairo_destroy(sheet.cr);
	lib.cairo_surface_finish(surface);
	if (!status) status = lib.cairo_surface_status(surface);
	lib.cairo_surface_destroy(surface);
	/* a PDF is written into memory */
	if (arena->failed || status == CAIRO_STATUS_NO_MEMORY || status == CAIRO_STATUS_WRITE_ERROR)
		return "";
	return status ? lib.cairo_status_to_string(status) : NULL;
}

bool raster_scene(const Scene *s, int width, int height, PlotArena *arena, Raster *out) {
	*out = (Raster){.width = width, .height = height, .error = cairo_open()};
	if (out->error) return false;
	size_t n = (size_t)width * (size_t)height;
	uint32_t *pixels = plot_take(arena, n, sizeof *pixels);
	if (!pixels) return false;
	out->rgb = (uint8_t *)pixels;
	out->error =
		draw_scene(s,
	               lib.cairo_image_surface_create_for_data(
					   (unsigned char *)pixels, CAIRO_FORMAT_RGB24, width, height, 4 * width),
	               width / s->width, height / s->height, true, arena);
	if (out->error) {
		if (!*out->error) out->error = NULL;
		return false;
	}
	for (size_t i = 0; i < n; i++) { /* in place: three bytes never pass four */
		uint32_t c = pixels[i];
		out->rgb[3 * i] = (uint8_t)(c >> 16);
		out->rgb[3 * i + 1] = (uint8_t)(c >> 8);
		out->rgb[3 * i + 2] = (uint8_t)c;
	}
	return true;
}

/* ---- PDF ----------------------------------------------------------------- */

#define POINTS 0.75 /* to a unit of 1/96 inch */

static cairo_status_t take_bytes(void *ud, const unsigned char *bytes, unsigned n) {
	PlotBuffer *out = ud;
	plot_put(out, bytes, n);
	return out->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

/* Sets the title, without its markup. */
static void set_title(cairo_surface_t *pdf, const char *text, PlotBuffer *out) {
	PlotBuffer title = {.alloc = out->alloc};
	PlotCursor cursor = {.at = text};
	char utf8[4];
	int level;
	for (uint32_t c; (c = plot_next(&cursor, &level));)
		plot_put(&title, utf8, plot_utf8_write(c, utf8));
	plot_put(&title, "", 1);
	if (title.failed) out->failed = true;
	else lib.cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_TITLE, title.at);
	plot_buffer_free(&title);
}

/* A file that SOURCE_DATE_EPOCH dates is the same on every run. Without the
 * variable Cairo writes the present time. */
static void set_date(cairo_surface_t *pdf) {
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	char *end = NULL, date[40];
	long long seconds = epoch ? strtoll(epoch, &end, 10) : -1;
	time_t at = (time_t)seconds;
	struct tm parts;
	if (seconds < 0 || !end || end == epoch || *end || !gmtime_r(&at, &parts) ||
	    parts.tm_year > 8000)
		return;
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
	lib.cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, date);
}

/* Version 1.4 has transparency, and every reader knows it. */
static const char *write_pdf(Scene *s, PlotBuffer *out) {
	cairo_surface_t *pdf = lib.cairo_pdf_surface_create_for_stream(
		take_bytes, out, POINTS * s->width, POINTS * s->height);
	lib.cairo_pdf_surface_restrict_to_version(pdf, CAIRO_PDF_VERSION_1_4);
	if (s->title) set_title(pdf, s->title, out);
	lib.cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATOR, "Atled");
	set_date(pdf);
	return draw_scene(s, pdf, POINTS, POINTS, false, &s->arena);
}

static const char *write_drawing(Scene *s, PlotBuffer *out) {
	const char *why = cairo_open();
	return why ? why : write_pdf(s, out);
}

PlotStatus figure_write_pdf(Figure *f, const char *path) {
	return figure_write_drawing(f, path, write_drawing);
}
