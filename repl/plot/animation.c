/* animation.c - animations: APNG and GIF, written frame by frame.
 *
 * Method: APNG has the chunks acTL, fcTL and fdAT of the W3C PNG specification,
 * third edition, around encodings of its frames as PNG. GIF: gif.c.
 *
 * Needs: internal.h, libpng through png_encode.
 *
 * Guarantees:
 * - Only the current and the previous frame are in memory; only changed pixels
 *   are written.
 * - The file is replaced atomically after the last frame. An animation that
 *   fails or is abandoned leaves no file.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Film {
	PlotAllocator alloc;
	FileReplacement file;
	char *path;
	bool is_gif;
	struct GifFileType *gif;    /* from the first frame on */
	PlotBuffer bytes;           /* of the GIF, not yet in the file */
	int frames, written, delay; /* delay: in hundredths of a second (GIF) or thousandths (APNG) */
	int width, height, failed;  /* failed: an errno */
	uint8_t *before;            /* the previous frame, rgb */
	uint32_t sequence;          /* of APNG's chunks */
	uint32_t crc[256];          /* CRC table */
	char error[PLOT_ERROR_TEXT];
	PlotStatus status;
};

Film *film_begin(const PlotAllocator *alloc, const char *path, bool gif, int frames,
                 double per_second) {
	if (!alloc) alloc = &plot_malloc;
	if (!path || frames < 1 || !(per_second > 0)) return NULL;
	Film *film = plot_resize(alloc, NULL, 0, sizeof *film);
	if (!film) return NULL;
	*film = (Film){.alloc = *alloc, .is_gif = gif, .frames = frames};
	film->bytes.alloc = &film->alloc;
	film->file.fd = -1;
	film->path = plot_copy_text(alloc, path);
	film->delay = (int)plot_clamp((gif ? 100 : 1000) / per_second + 0.5, 1, 60000);
	if (!film->path) {
		plot_resize(alloc, film, sizeof *film, 0);
		return NULL;
	}
	for (uint32_t k = 0; k < 256; k++) {
		film->crc[k] = k;
		for (int bit = 0; bit < 8; bit++)
			film->crc[k] = film->crc[k] & 1 ? 0xedb88320u ^ film->crc[k] >> 1 : film->crc[k] >> 1;
	}
	const char *why = gif ? gif_open() : NULL;
	if (why) {
		snprintf(film->error, sizeof film->error, CANNOT_DRAW, why);
		film->status = PLOT_NO_LIBRARY;
	} else {
		film->status = plot_file_open(&film->file, path, film->error, sizeof film->error);
	}
	return film;
}

static void put_bytes(Film *film, const void *bytes, size_t n) {
	if (!film->failed) film->failed = replacement_write(&film->file, bytes, n);
}

/* Returns the bounding box of the pixels that changed since the previous frame,
 * without pixels of its own; at least one pixel. */
static PlotPart changed_part(const Film *film, const uint8_t *rgb) {
	int x0 = film->width, y0 = film->height, x1 = 0, y1 = 0;
	for (int y = 0; y < film->height; y++) {
		const uint8_t *a = film->before + 3 * (size_t)y * (size_t)film->width,
					  *b = rgb + 3 * (size_t)y * (size_t)film->width;
		if (!memcmp(a, b, 3 * (size_t)film->width)) continue;
		int from = 0, to = film->width - 1;
		while (!memcmp(a + 3 * from, b + 3 * from, 3)) from++;
		while (!memcmp(a + 3 * to, b + 3 * to, 3)) to--;
		if (from < x0) x0 = from;
		if (to + 1 > x1) x1 = to + 1;
		if (y < y0) y0 = y;
		y1 = y + 1;
	}
	return x0 < x1 ? (PlotPart){x0, y0, x1 - x0, y1 - y0, NULL} : (PlotPart){0, 0, 1, 1, NULL};
}

/* Copies what a frame has to show. rgb is NULL in the result when memory
 * fails. */
static PlotPart take_part(const Film *film, const uint8_t *rgb, PlotArena *arena) {
	PlotPart p = {0, 0, film->width, film->height, NULL};
	if (film->written) p = changed_part(film, rgb);
	size_t row = 3 * (size_t)p.width;
	uint8_t *part = plot_take(arena, (size_t)p.height, row);
	for (int y = 0; part && y < p.height; y++)
		memcpy(part + (size_t)y * row,
		       rgb + 3 * ((size_t)(p.y + y) * (size_t)film->width + (size_t)p.x), row);
	p.rgb = part;
	return p;
}

/* ---- APNG ---------------------------------------------------------------- */

static void put_be32(uint8_t *at, uint32_t v) {
	for (int k = 0; k < 4; k++) at[k] = (uint8_t)(v >> (24 - 8 * k));
}

static uint32_t crc_over(const Film *film, uint32_t crc, const uint8_t *p, size_t n) {
	for (size_t i = 0; i < n; i++) crc = film->crc[(crc ^ p[i]) & 255] ^ crc >> 8;
	return crc;
}

/* Writes a chunk whose data begins with `head`, of up to 32 bytes. */
static void put_chunk(Film *film, const char *kind, const uint8_t *head, size_t nhead,
                      const uint8_t *data, size_t n) {
	uint8_t size[4], name[4], check[4];
	memcpy(name, kind, 4);
	put_be32(size, (uint32_t)(nhead + n));
	uint32_t crc =
		crc_over(film, crc_over(film, crc_over(film, 0xffffffffu, name, 4), head, nhead), data, n) ^
		0xffffffffu;
	put_be32(check, crc);
	put_bytes(film, size, 4);
	put_bytes(film, name, 4);
	put_bytes(film, head, nhead);
	put_bytes(film, data, n);
	put_bytes(film, check, 4);
}

static void put_frame_control(Film *film, const PlotPart *p) {
	uint8_t d[26] = {0};
	put_be32(d, film->sequence++);
	put_be32(d + 4, (uint32_t)p->width);
	put_be32(d + 8, (uint32_t)p->height);
	put_be32(d + 12, (uint32_t)p->x);
	put_be32(d + 16, (uint32_t)p->y);
	d[20] = (uint8_t)(film->delay >> 8);
	d[21] = (uint8_t)film->delay;
	d[22] = 1000 >> 8;
	d[23] = 1000 & 255;
	put_chunk(film, "fcTL", d, sizeof d, NULL, 0);
}

static bool add_apng(Film *film, const PlotPart *p) {
	PlotBuffer png = {.alloc = &film->alloc};
	bool done = png_encode(&film->alloc, p->width, p->height, p->rgb, NULL, &png);
	/* Takes the chunks from an encoding of the frame as a PNG. */
	for (size_t at = 8; done && at + 12 <= png.n;) {
		const uint8_t *chunk = (const uint8_t *)png.at + at;
		size_t n =
			(size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
		const char *kind = (const char *)chunk + 4;
		bool image = !memcmp(kind, "IDAT", 4);
		if (!film->written && at == 8) put_bytes(film, png.at, 8);
		if (!film->written && !image && memcmp(kind, "IEND", 4)) {
			put_chunk(film, kind, NULL, 0, chunk + 8, n);
			if (at == 8) {
				uint8_t d[8];
				put_be32(d, (uint32_t)film->frames);
				put_be32(d + 4, 0); /* loop forever */
				put_chunk(film, "acTL", d, 8, NULL, 0);
			}
		}
		at += n + 12;
	}
	if (done) {
		put_frame_control(film, p);
		for (size_t at = 8; at + 12 <= png.n;) {
			const uint8_t *chunk = (const uint8_t *)png.at + at;
			size_t n =
				(size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
			if (!memcmp(chunk + 4, "IDAT", 4)) {
				uint8_t number[4];
				put_be32(number, film->sequence);
				if (film->written) film->sequence++;
				put_chunk(film, film->written ? "fdAT" : "IDAT", number, film->written ? 4 : 0,
				          chunk + 8, n);
			}
			at += n + 12;
		}
	}
	plot_buffer_free(&png);
	return done;
}

/* ---- GIF ----------------------------------------------------------------- */

/* Moves what giflib wrote to the file. */
static bool flush_gif(Film *film) {
	if (film->bytes.n) put_bytes(film, film->bytes.at, film->bytes.n);
	film->bytes.n = 0;
	return !film->bytes.failed;
}

static bool add_gif(Film *film, const PlotPart *p, PlotArena *arena) {
	if (!film->written) film->gif = gif_begin(film->width, film->height, &film->bytes);
	return film->gif && gif_frame(film->gif, p, film->delay < 2 ? 2 : film->delay, arena) &&
	       flush_gif(film);
}

/* ---- both formats -------------------------------------------------------- */

PlotStatus film_add(Film *film, Figure *f, double dpi) {
	if (!film || !f) return PLOT_BAD_ARGUMENT;
	if (film->status) return plot_fail(f, film->status, "%s", film->error);
	if (film->written >= film->frames) {
		snprintf(film->error, sizeof film->error, "the film has its %d frames already",
		         film->frames);
		return plot_fail(f, film->status = PLOT_BAD_ARGUMENT, "%s", film->error);
	}
	if (!film->written) {
		double width, height;
		figure_natural_size(f, &width, &height);
		film->width = (int)(width * dpi / 96 + 0.5);
		film->height = (int)(height * dpi / 96 + 0.5);
		if (!(dpi > 0) || film->width < 16 || film->height < 16 || film->width > 8192 ||
		    film->height > 8192)
			return plot_fail(f, PLOT_BAD_ARGUMENT,
			                 "a film is 16 to 8192 pixels wide and high; %d by %d was asked for",
			                 film->width, film->height);
	}
	PlotArena arena = {&film->alloc, NULL, false};
	Raster raster;
	PlotStatus status = figure_raster(f, film->width, film->height, &arena, &raster);
	size_t bytes = 3 * (size_t)film->width * (size_t)film->height;
	if (!status) {
		PlotPart p = take_part(film, raster.rgb, &arena);
		if (!p.rgb || !(film->is_gif ? add_gif(film, &p, &arena) : add_apng(film, &p)))
			status = plot_fail(f, PLOT_NO_MEMORY, "not enough memory for a frame");
	}
	if (!status && !film->before && !(film->before = plot_resize(&film->alloc, NULL, 0, bytes)))
		status = plot_fail(f, PLOT_NO_MEMORY, "not enough memory for a frame");
	if (!status) memcpy(film->before, raster.rgb, bytes);
	if (!status && film->failed)
		status = plot_fail(f, PLOT_IO_ERROR, "cannot write \"%.160s\": %s", film->path,
		                   strerror(film->failed));
	if (!status) film->written++;
	if (status && !film->status) {
		film->status = status;
		snprintf(film->error, sizeof film->error, "%s", figure_error(f));
	}
	plot_arena_free(&arena);
	return status;
}

PlotStatus film_end(Film *film, char *error, size_t error_cap) {
	if (!film) return PLOT_BAD_ARGUMENT;
	if (!film->status && film->written == film->frames && !film->is_gif)
		put_chunk(film, "IEND", NULL, 0, NULL, 0);
	gif_end(film->gif);
	if (!flush_gif(film) && !film->status) {
		film->status = PLOT_NO_MEMORY;
		snprintf(film->error, sizeof film->error, "not enough memory for the film");
	}
	plot_buffer_free(&film->bytes);
	PlotStatus status = film->status;
	if (!status && film->written < film->frames) {
		status = PLOT_BAD_ARGUMENT;
		snprintf(film->error, sizeof film->error, "the film has %d frames of %d", film->written,
		         film->frames);
	}
	if (status) snprintf(error, error_cap, "%s", film->error);
	if (film->file.fd >= 0) {
		char other[PLOT_ERROR_TEXT];
		/* An abandoned animation is treated like one that could not be
		 * written. */
		PlotStatus closed =
			plot_file_close(&film->file, film->path,
		                    film->failed ? film->failed
		                    : status     ? -1
		                                 : 0,
		                    status ? other : error, status ? sizeof other : error_cap);
		if (!status) status = closed;
	}
	PlotAllocator alloc = film->alloc;
	if (film->before)
		plot_resize(&alloc, film->before, 3 * (size_t)film->width * (size_t)film->height, 0);
	plot_free_text(&alloc, film->path);
	plot_resize(&alloc, film, sizeof *film, 0);
	return status;
}
