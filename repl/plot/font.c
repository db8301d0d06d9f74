/* font.c - the font of all pictures: its file, and the places of the letters of
 * a string.
 *
 * Method: the letters have their natural widths and kerning, without hints.
 * Superscripts and subscripts are smaller letters. An accent without a letter
 * of its own stands centred over the letter before it.
 *
 * Needs: internal.h; the headers of FreeType, and libfreetype, which is loaded
 * at the first use; zlib. The build includes the file that ATLED_FONT names:
 * DejaVu Sans, compressed by gzip. Its licence is in font_licence.txt.
 *
 * Guarantees:
 * - Width and places agree exactly: both come from the same walk over the
 *   string. They are proportional to the size.
 * - A character that the font does not have is an empty box.
 * - Any thread may call: pthread_once opens the font, and a lock guards the
 *   face that measures. The faces belong to the process.
 */
#include "repl/plot/internal.h"
#include "lang/base/dynlib.h"

#include <freetype/freetype.h>
#include <freetype/ftadvanc.h>
#include <pthread.h>
#include <sonames.h>
#include <stdlib.h>
#include <zlib.h>

__asm__(".section .rodata\n"
        "atled_font:\n"
        ".incbin \"" ATLED_FONT "\"\n"
        "atled_font_end:\n"
        ".previous\n");
extern const FT_Byte font_packed[] __asm__("atled_font");
extern const FT_Byte font_packed_end[] __asm__("atled_font_end");

#define FUNCTIONS(F)                                                                               \
	F(FT_Init_FreeType)                                                                            \
	F(FT_New_Memory_Face) F(FT_Get_Char_Index) F(FT_Get_Advance) F(FT_Get_Kerning) F(FT_Load_Glyph)

static struct {
#define F(name) __typeof__(&(name)) name;
	FUNCTIONS(F)
#undef F
} ft;

/* Two faces of one file: this one measures, under the lock; the other one is
 * Cairo's. */
static FT_Face face, cairo_face;
static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The font's file, of *size bytes; NULL when memory fails. */
static FT_Byte *unpack(FT_Long *size) {
	const uintptr_t packed = (uintptr_t)font_packed, n = (uintptr_t)font_packed_end - packed;
	const FT_Byte *last = (const FT_Byte *)(packed + n - 4); /* gzip ends with the size */
	*size =
		(FT_Long)last[0] | (FT_Long)last[1] << 8 | (FT_Long)last[2] << 16 | (FT_Long)last[3] << 24;
	FT_Byte *file = malloc((size_t)*size);
	z_stream z = {.next_in = (FT_Byte *)packed,
	              .avail_in = (uInt)n,
	              .next_out = file,
	              .avail_out = (uInt)*size};
	bool whole = false;
	if (file && inflateInit2(&z, 15 + 16) == Z_OK) {
		whole = inflate(&z, Z_FINISH) == Z_STREAM_END && !z.avail_out;
		inflateEnd(&z);
	}
	if (whole) return file;
	free(file);
	return NULL;
}

static void open_font(void) {
#define NAME(name) DYN_NAME(ft, name),
	static const DynName names[] = {FUNCTIONS(NAME)};
#undef NAME
	void *library = dynlib_open(SONAME_FREETYPE);
	if (!dynlib_find(&library, 1, names, sizeof names / sizeof *names)) {
		missing = "FreeType (" SONAME_FREETYPE ") cannot be loaded; `make deps` installs it, or "
				  "apt-get install libfreetype6";
		return;
	}
	FT_Library all;
	FT_Long size;
	const FT_Byte *file = unpack(&size);
	if (!file) missing = "the font of the pictures does not fit into memory";
	else if (ft.FT_Init_FreeType(&all) || ft.FT_New_Memory_Face(all, file, size, 0, &face) ||
	         ft.FT_New_Memory_Face(all, file, size, 0, &cairo_face))
		missing = "FreeType (" SONAME_FREETYPE ") does not read the font of the pictures";
}

const char *font_open(void) {
	pthread_once(&once, open_font);
	return missing;
}

FT_Face font_face(void) { return cairo_face; }

/* ---- places -------------------------------------------------------------- */

/* The letter before the current one; lengths are in units of the font. */
typedef struct LetterBefore {
	FT_UInt glyph; /* 0: none */
	int level;
	double x, unit;
	FT_Pos left, right, low, high; /* its extent with its accents */
	bool measured;
} LetterBefore;

/* Gets the extent of a glyph's ink. */
static bool extent(FT_UInt glyph, FT_Pos *left, FT_Pos *right, FT_Pos *low, FT_Pos *high) {
	if (ft.FT_Load_Glyph(face, glyph, FT_LOAD_NO_SCALE)) return false;
	const FT_Glyph_Metrics *m = &face->glyph->metrics;
	*left = m->horiBearingX;
	*right = m->horiBearingX + m->width;
	*high = m->horiBearingY;
	*low = m->horiBearingY - m->height;
	return m->width > 0;
}

/* Moves an accent to the middle of the letter before it. In the font it has the
 * height of small letters. Taller letters raise it, accents below go under
 * descenders. */
static void place_accent(LetterBefore *b, PlotLetter *accent) {
	FT_Pos left, right, low, high, x_left, x_right, x_low, x_high = 0;
	if (!b->glyph || !extent(accent->glyph, &left, &right, &low, &high)) return;
	if (!b->measured && !extent(b->glyph, &b->left, &b->right, &b->low, &b->high)) return;
	b->measured = true;
	extent(ft.FT_Get_Char_Index(face, 'x'), &x_left, &x_right, &x_low, &x_high);
	FT_Pos shift = 0;
	if (low >= x_high) shift = b->high > x_high ? b->high - x_high : 0;
	else if (high <= 0) shift = b->low < 0 ? b->low : 0;
	accent->x = b->x + (double)(b->left + b->right - left - right) / 2 * b->unit;
	accent->y -= (double)shift * b->unit;
	if (shift + high > b->high) b->high = shift + high;
	if (shift + low < b->low) b->low = shift + low;
}

double font_place(const char *text, double size, PlotLetter *out, size_t *n) {
	if (n) *n = 0;
	if (font_open()) return 0;
	PlotCursor cursor = {.at = text};
	LetterBefore before = {0};
	double x = 0;
	int level;
	pthread_mutex_lock(&lock);
	for (uint32_t c; (c = plot_next(&cursor, &level));) {
		FT_UInt glyph = ft.FT_Get_Char_Index(face, c);
		bool mark = plot_char_columns(c) == 0;
		if (mark && !glyph) continue; /* an invisible character */
		double own = level ? FONT_SCRIPT * size : size, unit = own / face->units_per_EM;
		PlotLetter letter = {c, glyph, x, 0, own};
		if (level) letter.y = level > 0 ? -FONT_RAISE * size : FONT_LOWER * size;
		FT_Vector kern = {0, 0};
		FT_Fixed advance = 0;
		if (mark) {
			place_accent(&before, &letter);
		} else {
			if (before.glyph && before.level == level)
				ft.FT_Get_Kerning(face, before.glyph, glyph, FT_KERNING_UNSCALED, &kern);
			letter.x = x += (double)kern.x * unit;
			ft.FT_Get_Advance(face, glyph, FT_LOAD_NO_SCALE, &advance);
			before = (LetterBefore){.glyph = glyph, .level = level, .x = x, .unit = unit};
			x += (double)advance * unit;
		}
		if (out) out[(*n)++] = letter;
	}
	pthread_mutex_unlock(&lock);
	return x;
}

double font_width(const char *text, double size) { return font_place(text, size, NULL, NULL); }
