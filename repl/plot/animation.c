/* animation.c - animations: APNG and GIF, written frame by frame.
 *
 * Method: GIF frames have 256 colours each, chosen by median cut (Heckbert
 * 1982). APNG: W3C PNG specification, third edition, chunks acTL, fcTL and
 * fdAT. GIF: GIF89a with LZW.
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
	bool gif;
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
	*film = (Film){.alloc = *alloc, .gif = gif, .frames = frames};
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
	film->status = plot_file_open(&film->file, path, film->error, sizeof film->error);
	return film;
}

static void put_bytes(Film *film, const void *bytes, size_t n) {
	if (!film->failed) film->failed = replacement_write(&film->file, bytes, n);
}

/* The bounding box of the pixels that changed since the previous frame; at
 * least one pixel. */
typedef struct DirtyRect {
	int x, y, width, height;
} DirtyRect;

static DirtyRect changed_part(const Film *film, const uint8_t *rgb) {
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
	return x0 < x1 ? (DirtyRect){x0, y0, x1 - x0, y1 - y0} : (DirtyRect){0, 0, 1, 1};
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

static void put_frame_control(Film *film, DirtyRect p) {
	uint8_t d[26] = {0};
	put_be32(d, film->sequence++);
	put_be32(d + 4, (uint32_t)p.width);
	put_be32(d + 8, (uint32_t)p.height);
	put_be32(d + 12, (uint32_t)p.x);
	put_be32(d + 16, (uint32_t)p.y);
	d[20] = (uint8_t)(film->delay >> 8);
	d[21] = (uint8_t)film->delay;
	d[22] = 1000 >> 8;
	d[23] = 1000 & 255;
	put_chunk(film, "fcTL", d, sizeof d, NULL, 0);
}

static PlotStatus add_apng(Film *film, Figure *f, const uint8_t *rgb) {
	DirtyRect p =
		film->written ? changed_part(film, rgb) : (DirtyRect){0, 0, film->width, film->height};
	size_t bytes = 3 * (size_t)p.width * (size_t)p.height;
	uint8_t *part = plot_resize(&film->alloc, NULL, 0, bytes);
	PlotBuffer png = {.alloc = &film->alloc};
	if (!part) return plot_fail(f, PLOT_NO_MEMORY, "not enough memory for a frame");
	for (int y = 0; y < p.height; y++)
		memcpy(part + 3 * (size_t)y * (size_t)p.width,
		       rgb + 3 * ((size_t)(p.y + y) * (size_t)film->width + (size_t)p.x),
		       3 * (size_t)p.width);
	bool done = png_encode(&film->alloc, p.width, p.height, part, NULL, &png);
	plot_resize(&film->alloc, part, bytes, 0);
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
	return done ? PLOT_OK : plot_fail(f, PLOT_NO_MEMORY, "not enough memory for a frame");
}

/* ---- GIF ----------------------------------------------------------------- */

#define BINS 32768 /* colours by five bits of each component */

typedef struct ColourBox {
	uint16_t lo[3], hi[3]; /* included, in steps of eight */
	uint64_t count;
} ColourBox;

typedef struct Palette {
	uint32_t count[BINS];
	uint64_t sum[BINS][3];
	uint8_t index[BINS];
	uint8_t colour[256][3];
	int n;
} Palette;

static int bin_of(const uint8_t *p) { return p[0] >> 3 << 10 | p[1] >> 3 << 5 | p[2] >> 3; }

static uint64_t shrink_box(const Palette *p, ColourBox *b) {
	ColourBox tight = {{31, 31, 31}, {0, 0, 0}, 0};
	for (uint16_t r = b->lo[0]; r <= b->hi[0]; r++)
		for (uint16_t g = b->lo[1]; g <= b->hi[1]; g++)
			for (uint16_t c = b->lo[2]; c <= b->hi[2]; c++) {
				uint32_t n = p->count[r << 10 | g << 5 | c];
				if (!n) continue;
				const uint16_t at[3] = {r, g, c};
				for (int k = 0; k < 3; k++) {
					if (at[k] < tight.lo[k]) tight.lo[k] = at[k];
					if (at[k] > tight.hi[k]) tight.hi[k] = at[k];
				}
				tight.count += n;
			}
	*b = tight;
	return tight.count;
}

/* Cuts the box across its longest side at the median pixel. */
static ColourBox cut_box(const Palette *p, ColourBox *b) {
	int side = 0;
	for (int k = 1; k < 3; k++)
		if (b->hi[k] - b->lo[k] > b->hi[side] - b->lo[side]) side = k;
	uint64_t half = 0;
	uint16_t cut = b->lo[side];
	for (uint16_t v = b->lo[side]; v < b->hi[side]; v++) {
		ColourBox slice = *b;
		slice.lo[side] = slice.hi[side] = v;
		ColourBox probe = slice;
		half += shrink_box(p, &probe);
		cut = v;
		if (2 * half >= b->count) break;
	}
	ColourBox upper = *b;
	upper.lo[side] = (uint16_t)(cut + 1);
	b->hi[side] = cut;
	shrink_box(p, b);
	shrink_box(p, &upper);
	return upper;
}

static void make_palette(Palette *p, const uint8_t *rgb, size_t pixels) {
	memset(p, 0, sizeof *p);
	for (size_t i = 0; i < pixels; i++) {
		int bin = bin_of(rgb + 3 * i);
		p->count[bin]++;
		for (int k = 0; k < 3; k++) p->sum[bin][k] += rgb[3 * i + (size_t)k];
	}
	ColourBox boxes[256] = {{{0, 0, 0}, {31, 31, 31}, 0}};
	shrink_box(p, &boxes[0]);
	for (p->n = 1; p->n < 256; p->n++) {
		int best = -1;
		double worth = 0;
		for (int k = 0; k < p->n; k++) {
			const ColourBox *b = &boxes[k];
			int longest = 0;
			for (int c = 0; c < 3; c++)
				if (b->hi[c] - b->lo[c] > longest) longest = b->hi[c] - b->lo[c];
			/* The square root favours rare colours: a thin line has few pixels
			 * but matters. */
			double w = longest * sqrt((double)b->count);
			if (longest && w > worth) worth = w, best = k;
		}
		if (best < 0) break;
		boxes[p->n] = cut_box(p, &boxes[best]);
	}
	for (int k = 0; k < p->n; k++) {
		uint64_t sum[3] = {0}, count = 0;
		for (uint16_t r = boxes[k].lo[0]; r <= boxes[k].hi[0]; r++)
			for (uint16_t g = boxes[k].lo[1]; g <= boxes[k].hi[1]; g++)
				for (uint16_t b = boxes[k].lo[2]; b <= boxes[k].hi[2]; b++) {
					int bin = r << 10 | g << 5 | b;
					p->index[bin] = (uint8_t)k;
					count += p->count[bin];
					for (int c = 0; c < 3; c++) sum[c] += p->sum[bin][c];
				}
		for (int c = 0; c < 3; c++)
			p->colour[k][c] = (uint8_t)(count ? (sum[c] + count / 2) / count : 0);
	}
}

typedef struct Codes { /* packs bits into blocks of at most 255 bytes */
	PlotBuffer *out;
	uint8_t block[256];
	int n, bits;
	uint32_t pending;
} Codes;

static void flush_block(Codes *c) {
	if (!c->n) return;
	uint8_t n = (uint8_t)c->n;
	plot_put(c->out, &n, 1);
	plot_put(c->out, c->block, n);
	c->n = 0;
}

static void put_code(Codes *c, uint32_t code, int width) {
	c->pending |= code << c->bits;
	c->bits += width;
	while (c->bits >= 8) {
		c->block[c->n++] = (uint8_t)c->pending;
		c->pending >>= 8;
		c->bits -= 8;
		if (c->n == 255) flush_block(c);
	}
}

#define CODES 4096

/* LZW with codes of 8 bits initially. A table next[code][byte] would be large,
 * so children are linked lists. */
static void compress_indices(PlotBuffer *out, const uint8_t *index, size_t n) {
	static const int first = 258;
	uint16_t child[CODES], sibling[CODES];
	uint8_t byte[CODES];
	Codes c = {.out = out};
	uint8_t smallest = 8;
	plot_put(out, &smallest, 1);
	int width = 9, next = first;
	memset(child, 0, sizeof child);
	put_code(&c, 256, width);
	uint32_t now = index[0];
	for (size_t i = 1; i < n; i++) {
		uint16_t k = child[now];
		while (k && byte[k] != index[i]) k = sibling[k];
		if (k) {
			now = k;
			continue;
		}
		put_code(&c, now, width);
		if (next < CODES) {
			byte[next] = index[i];
			sibling[next] = child[now];
			child[now] = (uint16_t)next;
			if (next == 1 << width && width < 12) width++;
			next++;
		} else {
			put_code(&c, 256, width);
			memset(child, 0, sizeof child);
			next = first;
			width = 9;
		}
		now = index[i];
	}
	put_code(&c, now, width);
	if (next == 1 << width && width < 12) width++;
	put_code(&c, 257, width);
	if (c.bits) put_code(&c, 0, 8 - c.bits);
	flush_block(&c);
	uint8_t end = 0;
	plot_put(out, &end, 1);
}

static void put_le16(PlotBuffer *b, int v) {
	uint8_t d[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
	plot_put(b, d, 2);
}

static PlotStatus add_gif(Film *film, Figure *f, const uint8_t *rgb) {
	DirtyRect p =
		film->written ? changed_part(film, rgb) : (DirtyRect){0, 0, film->width, film->height};
	size_t pixels = (size_t)p.width * (size_t)p.height;
	PlotArena arena = {&film->alloc, NULL, false};
	Palette *palette = plot_take(&arena, 1, sizeof *palette);
	uint8_t *part = plot_take(&arena, pixels, 3), *index = plot_take(&arena, pixels, 1);
	PlotBuffer out = {.alloc = &film->alloc};
	if (palette && part && index) {
		for (int y = 0; y < p.height; y++)
			memcpy(part + 3 * (size_t)y * (size_t)p.width,
			       rgb + 3 * ((size_t)(p.y + y) * (size_t)film->width + (size_t)p.x),
			       3 * (size_t)p.width);
		make_palette(palette, part, pixels);
		for (size_t i = 0; i < pixels; i++) index[i] = palette->index[bin_of(part + 3 * i)];
		if (!film->written) {
			plot_put(&out, "GIF89a", 6);
			put_le16(&out, film->width);
			put_le16(&out, film->height);
			/* no global colour table */
			plot_put(&out, "\x70\0\0", 3);
			plot_put(&out, "\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19); /* loop forever */
		}
		plot_put(&out, "\x21\xf9\x04\x04", 4); /* the frame is not disposed of */
		put_le16(&out, film->delay < 2 ? 2 : film->delay);
		plot_put(&out, "\0\0\x2c", 3);
		put_le16(&out, p.x);
		put_le16(&out, p.y);
		put_le16(&out, p.width);
		put_le16(&out, p.height);
		plot_put(&out, "\x87", 1); /* a local table of 256 colours */
		plot_put(&out, palette->colour, sizeof palette->colour);
		compress_indices(&out, index, pixels);
		if (film->written + 1 == film->frames) plot_put(&out, "\x3b", 1);
	}
	bool done = !arena.failed && !out.failed;
	if (done) put_bytes(film, out.at, out.n);
	plot_buffer_free(&out);
	plot_arena_free(&arena);
	return done ? PLOT_OK : plot_fail(f, PLOT_NO_MEMORY, "not enough memory for a frame");
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
	if (!status) status = film->gif ? add_gif(film, f, raster.rgb) : add_apng(film, f, raster.rgb);
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
	if (!film->status && film->written == film->frames && !film->gif)
		put_chunk(film, "IEND", NULL, 0, NULL, 0);
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
