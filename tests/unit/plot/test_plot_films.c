/* test_plot_films.c - unit tests of animations.
 *
 * Oracle: libpng, and a decoder of LZW in this file.
 *
 * Needs: repl/plot/, libpng.
 * Guarantees: writes only into a folder of its own in $TMPDIR or /tmp and
 * removes it. Prints "N passed, N failed"; exit status 1 when anything failed.
 */
#include "tests/unit/plot/help.h"

#include <math.h>
#include <png.h>

static Figure *frame_of(double phase, double y[50]) {
	for (int i = 0; i < 50; i++) y[i] = sin(0.2 * i + phase);
	Figure *f = figure_new(NULL, 1, 1);
	figure_size(f, 200, 150);
	panel_line(f, 0, &(PlotSeries){.y = y, .n = 50, .colour = PLOT_COLOUR_AUTO});
	panel_limits(f, 0, PLOT_Y, -1.1, 1.1);
	return f;
}

static bool write_film(const char *path, bool gif, int frames, int given) {
	Film *film = film_begin(NULL, path, gif, frames, 20);
	char error[320];
	double y[50];
	for (int k = 0; k < given; k++) {
		Figure *f = frame_of(0.3 * k, y);
		CHECK(film_add(film, f, 96) == PLOT_OK);
		figure_free(f);
	}
	return film_end(film, error, sizeof error) == PLOT_OK;
}

static uint32_t be32(const unsigned char *p) {
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Composes the frames of an animated PNG and compares them with pictures drawn
 * directly. */
static void check_apng(const char *path, int frames) {
	size_t n = 0;
	unsigned char *bytes = (unsigned char *)read_whole(path, &n), *canvas = calloc(200 * 150, 3);
	int seen = 0, sequence = 0;
	bool order = true, same = true, ended = false;
	unsigned char header[25 + 100];
	size_t head = 0;
	for (size_t at = 8; bytes && at + 12 <= n;) {
		uint32_t size = be32(bytes + at);
		const unsigned char *name = bytes + at + 4, *data = bytes + at + 8;
		if (!memcmp(name, "IHDR", 4)) {
			CHECK(be32(data) == 200 && be32(data + 4) == 150);
			memcpy(header, bytes + at, 25);
			head = 25;
		}
		if (!memcmp(name, "acTL", 4)) CHECK(be32(data) == (uint32_t)frames && be32(data + 4) == 0);
		if (!memcmp(name, "fcTL", 4)) {
			order = order && be32(data) == (uint32_t)sequence++;
			uint32_t w = be32(data + 4), h = be32(data + 8), x = be32(data + 12),
					 y = be32(data + 16);
			/* A PNG of this frame alone, which libpng can read. */
			size_t cap = n + 1000, m = 0;
			unsigned char *png = malloc(cap);
			memcpy(png, bytes, 8);
			memcpy(png + 8, header, head);
			m = 8 + head;
			for (int k = 0; k < 4; k++) {
				png[16 + k] = (unsigned char)(w >> (24 - 8 * k));
				png[20 + k] = (unsigned char)(h >> (24 - 8 * k));
			}
			uint32_t c = 0xffffffffu;
			for (size_t k = 12; k < 29; k++) {
				c ^= png[k];
				for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
			}
			c ^= 0xffffffffu;
			for (int k = 0; k < 4; k++) png[29 + k] = (unsigned char)(c >> (24 - 8 * k));
			for (size_t next = at + 12 + size; next + 12 <= n;) {
				uint32_t len = be32(bytes + next);
				bool later = !memcmp(bytes + next + 4, "fdAT", 4),
					 first = !memcmp(bytes + next + 4, "IDAT", 4);
				if (!later && !first) break;
				if (later) order = order && be32(bytes + next + 8) == (uint32_t)sequence++;
				uint32_t skip = later ? 4 : 0, body = len - skip;
				for (int k = 0; k < 4; k++)
					png[m + (size_t)k] = (unsigned char)(body >> (24 - 8 * k));
				memcpy(png + m + 4, "IDAT", 4);
				memcpy(png + m + 8, bytes + next + 8 + skip, body);
				c = 0xffffffffu;
				for (size_t k = m + 4; k < m + 8 + body; k++) {
					c ^= png[k];
					for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
				}
				c ^= 0xffffffffu;
				for (int k = 0; k < 4; k++)
					png[m + 8 + body + (size_t)k] = (unsigned char)(c >> (24 - 8 * k));
				m += 12 + body;
				next += 12 + len;
			}
			static const unsigned char end[12] = {0,   0,   0,    0,    'I',  'E',
			                                      'N', 'D', 0xae, 0x42, 0x60, 0x82};
			memcpy(png + m, end, 12);
			m += 12;
			png_image image = {.version = PNG_IMAGE_VERSION};
			bool read = png_image_begin_read_from_memory(&image, png, m);
			image.format = PNG_FORMAT_RGB;
			unsigned char *part = read ? malloc(PNG_IMAGE_SIZE(image)) : NULL;
			read = read && part && png_image_finish_read(&image, NULL, part, 0, NULL) &&
			       image.width == w && image.height == h && x + w <= 200 && y + h <= 150;
			CHECK(read);
			for (uint32_t row = 0; read && row < h; row++)
				memcpy(canvas + 3 * ((y + row) * 200 + x), part + 3 * row * w, 3 * w);
			png_image_free(&image);
			free(part);
			free(png);
			double data_y[50];
			Figure *f = frame_of(0.3 * seen, data_y);
			PlotArena arena = {&plot_malloc, NULL, false};
			Raster r;
			CHECK(figure_raster(f, 200, 150, &arena, &r) == PLOT_OK);
			same = same && !memcmp(r.rgb, canvas, 3 * 200 * 150);
			plot_arena_free(&arena);
			figure_free(f);
			seen++;
		}
		ended = !memcmp(name, "IEND", 4);
		at += 12 + size;
	}
	CHECK(seen == frames && order && same && ended);
	free(bytes);
	free(canvas);
}

/* Decodes one GIF image as specified; returns the number of indices. */
static size_t read_lzw(const unsigned char **p, const unsigned char *end, unsigned char *out,
                       size_t room) {
	static int prefix[4096];
	static unsigned char suffix[4096], stack[4097];
	int smallest = *(*p)++, clear = 1 << smallest, width = smallest + 1, next = clear + 2,
		before = -1, held = 0;
	uint32_t bits = 0;
	size_t n = 0;
	bool done = false;
	unsigned char first = 0;
	while (*p < end && **p) {
		int left = *(*p)++;
		while (left-- > 0 && *p < end) {
			bits |= (uint32_t) * (*p)++ << held;
			held += 8;
			while (held >= width && !done) {
				int code = (int)(bits & ((1u << width) - 1));
				bits >>= width;
				held -= width;
				if (code == clear) {
					width = smallest + 1;
					next = clear + 2;
					before = -1;
					continue;
				}
				if (code == clear + 1) {
					done = true;
					break;
				}
				int depth = 0, c = code;
				if (code > next || (code == next && before < 0)) return 0;
				if (code == next) {
					stack[depth++] = first;
					c = before;
				}
				while (c >= clear) {
					if (depth > 4095) return 0;
					stack[depth++] = suffix[c];
					c = prefix[c];
				}
				first = (unsigned char)c;
				stack[depth++] = first;
				while (depth && n < room) out[n++] = stack[--depth];
				if (before >= 0 && next < 4096) {
					prefix[next] = before;
					suffix[next] = first;
					next++;
					if (next == 1 << width && width < 12) width++;
				}
				before = code;
			}
		}
	}
	if (*p < end) (*p)++;
	return done ? n : 0;
}

static void check_gif(const char *path, int frames) {
	size_t n = 0;
	unsigned char *bytes = (unsigned char *)read_whole(path, &n), *canvas = calloc(200 * 150, 3),
				  *index = malloc(200 * 150);
	CHECK(bytes && n > 800 && !memcmp(bytes, "GIF89a", 6) && bytes[6] == 200 && bytes[8] == 150 &&
	      bytes[n - 1] == 0x3b);
	int seen = 0;
	double worst = 0;
	const unsigned char *p = bytes + 13, *end = bytes + n;
	while (bytes && p < end && *p != 0x3b) {
		if (*p == 0x21) {
			for (p += 2; p < end && *p; p += *p + 1) {}
			p++;
			continue;
		}
		if (*p != 0x2c) break;
		int x = p[1] | p[2] << 8, y = p[3] | p[4] << 8, w = p[5] | p[6] << 8, h = p[7] | p[8] << 8;
		CHECK(p[9] == 0x87 && x + w <= 200 && y + h <= 150);
		const unsigned char *colours = p + 10;
		p += 10 + 768;
		size_t got = read_lzw(&p, end, index, 200 * 150);
		CHECK(got == (size_t)w * (size_t)h);
		if (got != (size_t)w * (size_t)h) break;
		for (int row = 0; row < h; row++)
			for (int column = 0; column < w; column++)
				memcpy(canvas + 3 * ((y + row) * 200 + x + column),
				       colours + 3 * index[row * w + column], 3);
		double data_y[50];
		Figure *f = frame_of(0.3 * seen, data_y);
		PlotArena arena = {&plot_malloc, NULL, false};
		Raster r;
		CHECK(figure_raster(f, 200, 150, &arena, &r) == PLOT_OK);
		for (int i = 0; i < 3 * 200 * 150; i++) worst = plot_max(worst, abs(r.rgb[i] - canvas[i]));
		plot_arena_free(&arena);
		figure_free(f);
		seen++;
	}
	/* So few colours are exact up to their rounding to five bits. */
	CHECK(seen == frames && worst <= 8);
	free(bytes);
	free(canvas);
	free(index);
}

static void test_films(Test *t) {
	char path[300];
	CHECK(write_film(file_in(t, "a.png", path), false, 5, 5));
	check_apng(path, 5);
	unlink(path);
	CHECK(write_film(file_in(t, "a.gif", path), true, 5, 5));
	check_gif(path, 5);
	unlink(path);
	/* A frame equal to the previous one, a single frame, and a noisy one that
	 * fills the code table. */
	CHECK(write_film(path, true, 1, 1));
	check_gif(path, 1);
	unlink(path);
	double y[50], *noise = malloc(300 * 200 * sizeof *noise);
	for (int i = 0; i < 300 * 200; i++) noise[i] = uniform(t);
	Film *film = film_begin(NULL, path, true, 2, 1000);
	char error[320];
	for (int k = 0; k < 2; k++) {
		Figure *f = figure_new(NULL, 1, 1);
		CHECK(panel_field(f, 0, &(PlotField){.z = noise, .nx = 300, .ny = 200, .cells = true}) ==
		      PLOT_OK);
		CHECK(film_add(film, f, 96) == PLOT_OK);
		figure_free(f);
	}
	CHECK(film_end(film, error, sizeof error) == PLOT_OK);
	size_t n;
	unsigned char *bytes = (unsigned char *)read_whole(path, &n), *index = malloc(480 * 340);
	const unsigned char *p = bytes + 13;
	for (; bytes && *p == 0x21; p++)
		for (p += 2; *p; p += *p + 1) {}
	p += 10 + 768;
	CHECK(bytes && read_lzw(&p, bytes + n, index, 480 * 340) == 480 * 340);
	free(bytes);
	free(index);
	free(noise);
	unlink(path);

	/* Too few frames, too many, or a missing folder: no file. */
	CHECK(!write_film(path, true, 4, 2) && access(path, F_OK));
	CHECK(!write_film(file_in(t, "b.png", path), false, 4, 2) && access(path, F_OK));
	film = film_begin(NULL, path, false, 1, 20);
	Figure *f = frame_of(0, y);
	CHECK(film_add(film, f, 96) == PLOT_OK && film_add(film, f, 96) == PLOT_BAD_ARGUMENT);
	CHECK(film_end(film, error, sizeof error) == PLOT_BAD_ARGUMENT && access(path, F_OK));
	film = film_begin(NULL, "/nonexistent/folder/a.gif", true, 1, 20);
	CHECK(film_add(film, f, 96) == PLOT_IO_ERROR &&
	      film_end(film, error, sizeof error) == PLOT_IO_ERROR && strstr(error, "cannot write"));
	CHECK(!film_begin(NULL, path, true, 0, 20) && !film_begin(NULL, path, true, 3, 0) &&
	      film_end(NULL, error, sizeof error) == PLOT_BAD_ARGUMENT);
	figure_free(f);
	/* The failure of one frame invalidates the animation. */
	film = film_begin(NULL, path, false, 2, 20);
	f = frame_of(0, y);
	CHECK(film_add(film, f, 96) == PLOT_OK);
	panel_scale(f, 0, PLOT_Y, PLOT_LOG);
	CHECK(film_add(film, f, 96) == PLOT_BAD_DATA &&
	      film_end(film, error, sizeof error) == PLOT_BAD_DATA && access(path, F_OK));
	figure_free(f);
}

int main(void) {
	Test test = {.seed = 6893458123744296672ull}, *t = &test;
	if (!test_begin(t, "test_plot_films")) return 1;
	test_films(t);
	return test_end(t);
}
