/* gif.c - frames of a GIF animation, written by giflib.
 *
 * Method: each frame has its own table of 256 colours, chosen by median cut
 * (Heckbert 1982). giflib packs the indices. Its quantiser turns white into a
 * light grey, and not every build of giflib has it.
 *
 * Needs: internal.h; the header of giflib 5, and libgif, which is loaded at the
 * first use.
 *
 * Guarantees:
 * - The bytes and the colours of a frame are in memory of the caller's
 *   allocator. giflib itself allocates a fixed amount by malloc.
 * - Any thread may call: pthread_once loads the library.
 */
#include "repl/plot/internal.h"
#include "lang/base/dynlib.h"

#include <gif_lib.h>
#include <math.h>
#include <pthread.h>
#include <sonames.h>
#include <string.h>

#define FUNCTIONS(F)                                                                               \
	F(EGifOpen)                                                                                    \
	F(EGifSetGifVersion)                                                                           \
	F(EGifPutScreenDesc)                                                                           \
	F(EGifPutExtensionLeader)                                                                      \
	F(EGifPutExtensionBlock)                                                                       \
	F(EGifPutExtensionTrailer)                                                                     \
	F(EGifPutExtension)                                                                            \
	F(EGifPutImageDesc)                                                                            \
	F(EGifPutLine)                                                                                 \
	F(EGifCloseFile)

static struct {
#define F(name) __typeof__(&(name)) name;
	FUNCTIONS(F)
#undef F
} lib;

static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
#define NAME(name) DYN_NAME(lib, name),
	static const DynName names[] = {FUNCTIONS(NAME)};
#undef NAME
	void *library = dynlib_open(SONAME_GIF);
	if (!dynlib_find(&library, 1, names, sizeof names / sizeof *names))
		missing = "giflib (" SONAME_GIF ") cannot be loaded; `make deps` installs it, or apt-get "
				  "install libgif7";
}

const char *gif_open(void) {
	pthread_once(&once, open_library);
	return missing;
}

/* ---- colours ------------------------------------------------------------- */

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

/* ---- the file ------------------------------------------------------------ */

static int take_bytes(GifFileType *gif, const GifByteType *bytes, int n) {
	PlotBuffer *out = gif->UserData;
	plot_put(out, bytes, (size_t)n);
	return out->failed ? 0 : n;
}

GifFileType *gif_begin(int width, int height, PlotBuffer *out) {
	int error;
	GifFileType *gif = lib.EGifOpen(out, take_bytes, &error);
	if (!gif) return NULL;
	lib.EGifSetGifVersion(gif, true);
	/* no global colours; the application block makes players loop forever */
	if (lib.EGifPutScreenDesc(gif, width, height, 8, 0, NULL) &&
	    lib.EGifPutExtensionLeader(gif, APPLICATION_EXT_FUNC_CODE) &&
	    lib.EGifPutExtensionBlock(gif, 11, "NETSCAPE2.0") &&
	    lib.EGifPutExtensionBlock(gif, 3, "\1\0") && lib.EGifPutExtensionTrailer(gif))
		return gif;
	gif_end(gif);
	return NULL;
}

bool gif_frame(GifFileType *gif, const PlotPart *p, int delay, PlotArena *arena) {
	size_t pixels = (size_t)p->width * (size_t)p->height;
	Palette *palette = plot_take(arena, 1, sizeof *palette);
	uint8_t *index = plot_take(arena, pixels, 1);
	if (!palette || !index) return false;
	make_palette(palette, p->rgb, pixels);
	for (size_t i = 0; i < pixels; i++) index[i] = palette->index[bin_of(p->rgb + 3 * i)];
	GifColorType colours[256];
	for (int k = 0; k < 256; k++)
		colours[k] =
			(GifColorType){palette->colour[k][0], palette->colour[k][1], palette->colour[k][2]};
	const ColorMapObject map = {256, 8, false, colours};
	/* the frame stays when the next one comes */
	const uint8_t control[4] = {DISPOSE_DO_NOT << 2, (uint8_t)delay, (uint8_t)(delay >> 8), 0};
	return lib.EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, control) &&
	       lib.EGifPutImageDesc(gif, p->x, p->y, p->width, p->height, false, &map) &&
	       lib.EGifPutLine(gif, index, (int)pixels);
}

void gif_end(GifFileType *gif) {
	int error;
	if (gif) lib.EGifCloseFile(gif, &error);
}
