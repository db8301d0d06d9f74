/* png.c - PNG encoding in memory, and PNG files of figures.
 *
 * Needs: internal.h, libpng.
 *
 * Guarantees:
 * - No other file uses libpng.
 * - libpng's memory comes from the figure's allocator and is returned on every
 *   path.
 * - libpng's errors are returned as false and never printed.
 * - longjmp crosses only libpng's own frames.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>

/* libpng frees without a size, so each block stores its own. */
#define SIZE_ROOM 16

static png_voidp take(png_structp png, png_alloc_size_t n) {
	const PlotAllocator *alloc = png_get_mem_ptr(png);
	if (n > SIZE_MAX - SIZE_ROOM) return NULL;
	size_t bytes = n + SIZE_ROOM;
	char *p = plot_resize(alloc, NULL, 0, bytes);
	if (!p) return NULL;
	memcpy(p, &bytes, sizeof bytes);
	return p + SIZE_ROOM;
}

static void give(png_structp png, png_voidp p) {
	if (!p) return;
	size_t bytes;
	char *block = (char *)p - SIZE_ROOM;
	memcpy(&bytes, block, sizeof bytes);
	plot_resize(png_get_mem_ptr(png), block, bytes, 0);
}

static void on_error(png_structp png, png_const_charp text) {
	(void)text;
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
	(void)png;
	(void)text;
}

static void on_write(png_structp png, png_bytep bytes, size_t n) {
	PlotBuffer *out = png_get_io_ptr(png);
	plot_put(out, bytes, n);
	if (out->failed) png_error(png, "memory");
}

static void on_flush(png_structp png) { (void)png; }

typedef struct PngImage {
	int width, height;
	const uint8_t *pixels;
	const PlotColour *palette;
} PngImage;

/* Everything after setjmp; no local variable must survive a jump. */
static bool encode(png_structp png, png_infop info, const PngImage *p, PlotBuffer *out) {
	if (setjmp(png_jmpbuf(png))) return false;
	png_set_write_fn(png, out, on_write, on_flush);
	png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8,
	             p->palette ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
	             PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	if (p->palette) {
		png_color colours[256];
		png_byte alpha[256];
		for (int i = 0; i < 256; i++) {
			colours[i] = (png_color){p->palette[i].r, p->palette[i].g, p->palette[i].b};
			alpha[i] = p->palette[i].a;
		}
		png_set_PLTE(png, info, colours, 256);
		png_set_tRNS(png, info, alpha, 256, NULL);
	}
	png_set_sRGB(png, info, PNG_sRGB_INTENT_RELATIVE);
	png_write_info(png, info);
	size_t stride = (size_t)p->width * (p->palette ? 1 : 3);
	for (int y = 0; y < p->height; y++) png_write_row(png, p->pixels + (size_t)y * stride);
	png_write_end(png, info);
	return true;
}

bool png_encode(const PlotAllocator *alloc, int width, int height, const uint8_t *pixels,
                const PlotColour *palette, PlotBuffer *out) {
	PngImage picture = {width, height, pixels, palette};
	png_structp png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning,
	                                            (png_voidp)(uintptr_t)alloc, take, give);
	if (!png) return false;
	png_infop info = png_create_info_struct(png);
	bool done = info && encode(png, info, &picture, out);
	png_destroy_write_struct(&png, &info);
	return done && !out->failed;
}

/* ---- PNG files of figures ------------------------------------------------ */

#define SMALLEST 16
#define LARGEST 16384
#define MOST_PIXELS (1 << 27)

PlotStatus figure_raster(Figure *f, int width, int height, PlotArena *arena, Raster *out) {
	double natural_width, natural_height;
	figure_natural_size(f, &natural_width, &natural_height);
	/* The layout has the natural area with the requested aspect ratio, so that
	 * text scales with the number of pixels. */
	double resolution = sqrt((double)width * height / (natural_width * natural_height));
	Scene scene;
	PlotStatus status =
		figure_scene(f, width / resolution, height / resolution, resolution, &scene);
	if (!status && !raster_scene(&scene, width, height, arena, out))
		status = out->error ? plot_fail(f, PLOT_NO_LIBRARY, CANNOT_DRAW, out->error)
		                    : plot_fail(f, PLOT_NO_MEMORY,
		                                "not enough memory for a picture of %d by %d pixels", width,
		                                height);
	plot_arena_free(&scene.arena);
	return status;
}

PlotStatus figure_write_png(Figure *f, const char *path, int width, int height) {
	if (!f) return PLOT_BAD_ARGUMENT;
	if (!path) return plot_fail(f, PLOT_BAD_ARGUMENT, "a picture needs a file name");
	double natural_width, natural_height;
	figure_natural_size(f, &natural_width, &natural_height);
	if (!width && !height) {
		width = (int)plot_clamp(2 * natural_width, SMALLEST, LARGEST);
		height = (int)plot_clamp(2 * natural_height, SMALLEST, LARGEST);
	}
	if (width < SMALLEST || height < SMALLEST || width > LARGEST || height > LARGEST ||
	    (int64_t)width * height > MOST_PIXELS)
		return plot_fail(f, PLOT_BAD_ARGUMENT,
		                 "a picture is %d to %d pixels wide and high, and at most %d in all; %d by "
		                 "%d was asked for",
		                 SMALLEST, LARGEST, MOST_PIXELS, width, height);

	Raster raster;
	PlotArena arena = {&f->alloc, NULL, false};
	PlotBuffer bytes = {.alloc = &f->alloc};
	PlotStatus status = figure_raster(f, width, height, &arena, &raster);
	if (!status && !png_encode(&f->alloc, width, height, raster.rgb, NULL, &bytes))
		status = plot_fail(f, PLOT_NO_MEMORY, "not enough memory for a picture of %d by %d pixels",
		                   width, height);
	if (!status) status = plot_write_file(path, bytes.at, bytes.n, f->error, sizeof f->error);
	plot_buffer_free(&bytes);
	plot_arena_free(&arena);
	return status;
}

PlotStatus figure_write_png_dpi(Figure *f, const char *path, double dpi) {
	if (!f) return PLOT_BAD_ARGUMENT;
	double width, height;
	figure_natural_size(f, &width, &height);
	if (!(dpi > 0 && dpi <= 1e6))
		return plot_fail(f, PLOT_BAD_ARGUMENT, "dpi is a number greater than 0; got %g", dpi);
	return figure_write_png(f, path, (int)plot_clamp(width * dpi / 96 + 0.5, 1, 1e6),
	                        (int)plot_clamp(height * dpi / 96 + 0.5, 1, 1e6));
}
