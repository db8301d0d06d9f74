/* internal.h - interface shared by the files of repl/plot.
 *
 * Needs: plot.h. Included by repl/plot/ *.c only; nothing here is visible to a
 * user of plot.h.
 *
 * From a figure to output:
 *
 *   Figure --axes, ticks--> layout --> Scene (a list of primitives)
 *                                        --> svg.c | cairo.c (+ png.c, gif.c)
 *   Figure --axes, ticks--> terminal.c (a grid of character cells)
 *
 * Lengths in a scene are units of 1/96 inch, x to the right, y down.
 */
#ifndef ATLED_REPL_PLOT_INTERNAL_H
#define ATLED_REPL_PLOT_INTERNAL_H

#include "repl/plot/plot.h"
#include "repl/base/replace_file.h"

#define PLOT_PI 3.14159265358979323846
#define PLOT_HUGE 1e307 /* samples beyond this count as infinite, so that no span overflows */

static inline double plot_min(double a, double b) { return a < b ? a : b; }
static inline double plot_max(double a, double b) { return a > b ? a : b; }
static inline double plot_clamp(double v, double lo, double hi) {
	return v < lo ? lo : v > hi ? hi : v;
}
/* false for NaN */
static inline bool plot_usable(double v) { return v >= -PLOT_HUGE && v <= PLOT_HUGE; }

typedef struct PlotPoint {
	double x, y;
} PlotPoint;
typedef struct PlotRect {
	double x0, y0, x1, y1;
} PlotRect;
typedef struct PlotColour {
	uint8_t r, g, b, a;
} PlotColour;

/* ---- support.c: memory, bytes, characters, files ------------------------- */

void *plot_resize(const PlotAllocator *alloc, void *p, size_t old_bytes, size_t new_bytes);
extern const PlotAllocator plot_malloc;

/* An arena. plot_take returns zeroed memory. When memory fails or the size
 * overflows, it returns NULL and sets `failed` permanently. */
typedef struct PlotArena {
	const PlotAllocator *alloc;
	struct PlotBlock *blocks;
	bool failed;
} PlotArena;
void *plot_take(PlotArena *a, size_t count, size_t bytes);
/* "" on failure, never NULL */
const char *plot_take_text(PlotArena *a, const char *text, size_t n);
void plot_arena_free(PlotArena *a);

/* A growable byte buffer. After a failure `failed` stays set and puts do
 * nothing. */
typedef struct PlotBuffer {
	const PlotAllocator *alloc;
	char *at;
	size_t n, cap;
	bool failed;
} PlotBuffer;
void plot_put(PlotBuffer *b, const void *bytes, size_t n);
void plot_puts(PlotBuffer *b, const char *text);
void plot_put_int(PlotBuffer *b, int64_t v);
/* no trailing zeros; independent of the locale; |v| is clamped to 1e9 */
void plot_put_fixed(PlotBuffer *b, double v, int decimals);
void plot_buffer_free(PlotBuffer *b);

/* the next character, 0 at the end; U+FFFD for an invalid byte */
uint32_t plot_utf8(const char **p);
size_t plot_utf8_write(uint32_t c, char out[4]); /* returns the bytes written */
int plot_char_columns(uint32_t c);               /* 0, 1 or 2 columns of a terminal */

/* Iterates over a string with its ^{...} and _{...}: level is +1 in a
 * superscript, -1 in a subscript, else 0. */
typedef struct PlotCursor {
	const char *at;
	int depth, groups; /* open braces; how many of them are recorded in level[] */
	int level[8];
	int at_depth[8];
} PlotCursor;
uint32_t plot_next(PlotCursor *c, int *level); /* 0 at the end */

/* Returns a sanitised copy: valid UTF-8, no control characters, at most
 * PLOT_LONGEST_TEXT characters. NULL when memory fails. */
#define PLOT_LONGEST_TEXT 1000
char *plot_copy_text(const PlotAllocator *alloc, const char *text);
void plot_free_text(const PlotAllocator *alloc, char *text);

/* Replaces the file atomically. On failure `error` receives the reason. */
PlotStatus plot_write_file(const char *path, const void *bytes, size_t n, char *error,
                           size_t error_cap);

/* ---- figure.c: figures and panels ---------------------------------------- */

typedef struct PlotItem { /* a layer in its panel, with automatic settings resolved */
	PlotKind kind;
	PlotSeries s;   /* s.label is owned */
	PlotLayer more; /* more.text is owned; more.s is not used */
	PlotDash dash;
	PlotMarker marker;
	int colour;
} PlotItem;

typedef struct PlotNames { /* ticks set by the caller */
	size_t n;
	double *at;
	char **text;
} PlotNames;

typedef struct PlotPanel {
	char *title, *label[4];
	PlotScale scale[4];
	bool fixed[4];
	double low[4], high[4];
	PlotLegend legend;
	bool grid, has_field;
	bool solid; /* drawn in perspective */
	PlotField field;
	PlotMap map;
	double aspect, azimuth, elevation;
	PlotNames ticks[4];
	PlotItem *items;
	size_t n, cap;
} PlotPanel;

#define PLOT_ERROR_TEXT 320
struct Figure {
	PlotAllocator alloc;
	int rows, cols;
	double width, height; /* 0: natural */
	char *title;
	PlotPanel *panels;
	char error[PLOT_ERROR_TEXT];
};

PlotStatus plot_fail(Figure *f, PlotStatus status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void figure_natural_size(const Figure *f, double *width, double *height);
bool figure_shows(const Figure *f,
                  /* false: this panel is empty and others are not, so its place
                   * stays blank */
                  int panel);

static inline double item_x(const PlotItem *it, size_t i) {
	return it->s.x ? it->s.x[(ptrdiff_t)i * it->s.x_step] : (double)i;
}
static inline double item_y(const PlotItem *it, size_t i) {
	return it->s.y[(ptrdiff_t)i * it->s.y_step];
}

bool panel_right(const PlotPanel *p); /* a layer is measured by the right axis */
/* something is shown by colour: the z axis has a meaning */
bool panel_coloured(const PlotPanel *p);
bool panel_has_bar(const PlotPanel *p); /* and the reader needs a colour bar for it */
bool panel_covered(const PlotPanel *p); /* the plot is filled to its edges: ticks point outward */
static inline size_t grid_at(const PlotField *g, size_t i, size_t j) {
	return (size_t)((ptrdiff_t)i * g->x_step + (ptrdiff_t)j * g->y_step);
}
static inline double grid_x(const PlotField *g, size_t i) { return g->x ? g->x[i] : (double)i; }
static inline double grid_y(const PlotField *g, size_t j) { return g->y ? g->y[j] : (double)j; }

/* ---- axes.c: ranges, and resampling of fields ---------------------------- */

typedef struct PlotSpan {
	double lo, hi; /* lo < hi, both usable; positive when log */
	bool log, turned;
} PlotSpan;

typedef struct PlotAxes {
	PlotSpan axis[4];
	bool right;       /* there is a second y axis */
	PlotMap map;      /* resolved; meaningful if panel_coloured */
	const char *note; /* message in an empty panel, or NULL */
	size_t left_out;  /* samples that are not positive, on a log axis */
} PlotAxes;

PlotStatus panel_axes(Figure *f, int panel, PlotAxes *out);
/* in data units */
double bar_width(const PlotItem *it, size_t i);
double bar_base(const PlotItem *it, size_t i);

/* Returns the position of v: 0 at the start of the axis, 1 at its end, outside
 * [0, 1] for values outside (at most 1e6 away). NaN for a gap. */
double span_place(const PlotSpan *s, double v);

/* Resamples the panel's field to width*height, the first row at the high end
 * of y as drawn. NaN marks a missing sample, infinity a sample outside the
 * field. */
bool field_resample(const PlotField *z, const PlotAxes *axes, PlotArena *arena, int width,
                    int height, double *out);

/* ---- ticks.c ------------------------------------------------------------- */

#define PLOT_TICKS 24
#define PLOT_MINOR_TICKS 400
typedef struct PlotTick {
	double at;
	char label[64]; /* "" when it was thinned out */
} PlotTick;
typedef struct PlotTicks {
	int n, minors;
	PlotTick major[PLOT_TICKS]; /* rising, within [lo, hi] up to rounding */
	double minor[PLOT_MINOR_TICKS];
	/* common factor or offset of the labels, as "×10^{6}"; "" if none */
	char multiplier[160];
} PlotTicks;

/* Formats a number as a label: six digits, a typographic minus, powers of
 * ten. */
void ticks_number(double v, char *out, size_t cap);
/* Finds at most `most` (2 .. PLOT_TICKS) labelled ticks. */
void ticks_find(const PlotSpan *s, int most, PlotTicks *out);
/* Takes those ticks of the caller that are on the axis. `room` is the length of
 * the axis; labels are cut to their share of it. With 0 they are not cut. */
void ticks_named(const PlotNames *names, const PlotSpan *span, double room, PlotTicks *out);

/* ---- colour.c ------------------------------------------------------------ */

#define PLOT_MAP_COLOURS 253 /* an odd number, so that a diverging map has a centre */
#define PLOT_MAP_MISSING 254 /* a sample that is NaN or infinite: grey */
#define PLOT_MAP_OUTSIDE 255 /* beyond the field: transparent */
PlotColour plot_series_colour(int index);
void plot_map_colours(PlotMap map, PlotColour table[256]);
uint8_t plot_map_index(const PlotSpan *z, double v); /* of a resampled value */
/* the nearest of the 240 fixed colours of a terminal */
void plot_map_ansi(PlotMap map, int16_t table[256]);
int plot_ansi_series(int index); /* readable on dark and light backgrounds */
int plot_ansi_nearest(PlotColour c);
PlotColour plot_shade(PlotColour c, double light); /* light < 1: darker, > 1: mixed with white */

/* ---- font.c: the font of all pictures ------------------------------------ */

#define FONT_FAMILY "DejaVu Sans"
#define FONT_SCRIPT 0.72 /* size of superscripts and subscripts */
#define FONT_RAISE 0.36  /* vertical shift over the size */
#define FONT_LOWER 0.16
#define FONT_CAP 0.729  /* height of capitals and digits */
#define FONT_BOLD 0.035 /* width of the outline that makes letters bold */

/* Opens the font at the first call. Returns NULL, or why it is unavailable. */
const char *font_open(void);
/* Returns the font for cairo.c after font_open, with FreeType's type. Only
 * Cairo may use it, which has a lock of its own. */
struct FT_FaceRec_ *font_face(void);

typedef struct PlotLetter {
	uint32_t code, glyph; /* a character and its number in the font */
	double x, y, size;    /* from the start of the baseline; y down */
} PlotLetter;
/* Places the letters of a string: at most one for each byte. Returns the width
 * of the string. `out` may be NULL. Before font_open it does nothing. */
double font_place(const char *text, double size, PlotLetter *out, size_t *n);
double font_width(const char *text, double size);

/* ---- scene.c ------------------------------------------------------------- */

typedef enum PrimKind { PRIM_LINE, PRIM_POLYGON, PRIM_MARKERS, PRIM_TEXT, PRIM_IMAGE } PrimKind;
typedef enum PlotAnchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } PlotAnchor;

typedef struct PlotPrimitive {
	struct PlotPrimitive *next;
	PrimKind kind;
	const PlotRect *clip; /* NULL: the whole picture */
	int clip_number;      /* number of the clip in the scene, from 1; 0: none */
	PlotColour colour;
	const PlotPoint *points; /* line, polygon, markers; text: one point on the baseline */
	size_t n;
	double size; /* line: width; markers: width; text: size */
	PlotDash dash;
	PlotMarker marker;
	const char *text;
	PlotAnchor anchor;
	bool bold;
	double angle;  /* text: counter-clockwise in degrees; 90 reads upwards */
	PlotRect rect; /* image: its place */
	int width, height;
	const uint8_t *index;      /* image: width*height */
	const PlotColour *palette; /* 256 entries */
} PlotPrimitive;

typedef struct Scene {
	PlotArena arena;
	double width, height;
	double resolution; /* pixels per unit, for images and alignment of fine lines */
	double cell;       /* width of a character of the terminal; 0: text is in the font */
	const char *title;
	PlotPrimitive *first, *last;
	const PlotRect *clip;
	int clips, clip_number;
} Scene;

/* Points are copied, images borrowed. scene_clip applies to the primitives
 * after it, until NULL ends it. scene_bold applies to the last string. */
void scene_clip(Scene *s, const PlotRect *rect);
void scene_line(Scene *s, const PlotPoint *points, size_t n, double width, PlotColour c,
                PlotDash dash);
void scene_segment(Scene *s, double x0, double y0, double x1, double y1, double width,
                   PlotColour c);
/* Fills by the even-odd rule. A NaN point ends a ring and begins the next. */
void scene_polygon(Scene *s, const PlotPoint *points, size_t n, PlotColour c);
/* whether the point is inside, by the even-odd rule */
bool prim_holds(const PlotPrimitive *polygon, double x, double y);
void scene_box(Scene *s, PlotRect r, PlotColour c);
void scene_markers(Scene *s, const PlotPoint *points, size_t n, PlotMarker m, double width,
                   PlotColour c);
void scene_text(Scene *s, const char *text, double x, double y, double size, PlotAnchor anchor,
                PlotColour c);
void scene_text_upright(Scene *s, const char *text, double x, double y, double size,
                        PlotAnchor anchor, PlotColour c);
void scene_text_turned(Scene *s, const char *text, double x, double y, double size,
                       PlotAnchor anchor, double angle, PlotColour c);
void scene_bold(Scene *s);
double scene_text_width(const Scene *s, const char *text, double size);
void scene_image(Scene *s, PlotRect r, int width, int height, const uint8_t *index,
                 const PlotColour *palette);

/* Gets the lengths of ink and gap over the line's width; returns their number
 * (0: solid). Ends are round, so ink extends by half a width. */
int plot_dash_pattern(PlotDash dash, double out[4]);
/* Gets the outline of a marker of width 1 around 0. Returns the number of
 * corners; 0: the marker consists of lines, see plot_marker_bars. */
#define PLOT_MARKER_CORNERS 32
int plot_marker_outline(PlotMarker m, PlotPoint out[PLOT_MARKER_CORNERS]);
/* pairs of ends; returns the number of points */
int plot_marker_bars(PlotMarker m, PlotPoint out[4]);
/* width of the white outline; 0 for small markers */
double plot_marker_edge(double width);

/* ---- layout.c, draw.c: from a figure to a scene -------------------------- */

/* The caller must free the scene's arena, even after a failure. */
PlotStatus figure_scene(Figure *f, double width, double height, double resolution, Scene *out);
/* Writes a file of the figure in its natural size. `write` appends the file's
 * bytes and returns NULL, "" when memory failed, or why it cannot draw. */
PlotStatus figure_write_drawing(Figure *f, const char *path,
                                const char *(*write)(Scene *s, PlotBuffer *out));

/* Dimensions shared by layout.c and draw.c. */
typedef struct PlotStyle {
	double title, heading, label, tick, legend; /* sizes of text */
	/* lengths of ticks, widths of lines, marker width */
	double major, minor, axis, line, marker;
	/* legend sample, legend padding, colour bar width and distance */
	double swatch, pad, bar, bar_gap;
} PlotStyle;
extern const PlotStyle plot_style;

typedef struct PanelBox {
	PlotAxes axes;
	PlotTicks x, y, y2, z;
	double left, right, top, bottom; /* margins needed around the plot */
	double z_width;                  /* of the colour bar with its labels */
	double y2_width;                 /* of the ticks and labels of the right axis */
	double legend_width, legend_height;
	/* from the plot's lower edge to the baselines of x label and x
	 * multiplier */
	double label_drop, factor_drop;
	double note_drop; /* the same for the note on omitted samples; 0: none */
	char note[80];
	bool outside; /* the legend is beside the panel */
	PlotRect plot;
} PanelBox;
/* Returns the box with the y axis of the layer: `box` itself, or `own` for the
 * right axis. */
const PanelBox *draw_box(const PanelBox *box, const PlotItem *it, PanelBox *own);
/* Returns the position of a sample in box->plot; a NaN coordinate is a gap. */
PlotPoint draw_place(const PanelBox *box, double x, double y);
/* Sends a series as connected points, clipped slightly outside the plot.
 * `start` begins a new run. */
typedef void (*PlotTrace)(void *ud, PlotPoint p, bool start);
void draw_trace(const PanelBox *box, const PlotItem *it, PlotTrace to, void *ud);
/* draw_bodies draws the parts of the layers below the frame, draw_points those
 * above it. */
void draw_bodies(Scene *s, const PlotPanel *p, const PanelBox *box);
void draw_points(Scene *s, const PlotPanel *p, const PanelBox *box);
void draw_item_line(Scene *s, const PanelBox *box, const PlotItem *it);
void draw_item_band(Scene *s, const PanelBox *box, const PlotItem *it);
double draw_marker_width(const PlotItem *it);
void draw_item_markers(Scene *s, const PanelBox *box, const PlotItem *it);
double draw_line_width(const PlotItem *it);
PlotColour draw_colour(const PlotItem *it, double usual_opacity);
bool draw_is_gap(PlotPoint p);
bool draw_inside(const PlotRect *r, PlotPoint p);
void draw_arrow_head(Scene *s, PlotPoint from, PlotPoint to, double size, PlotColour c);
void draw_panel(Figure *f, int panel, const PanelBox *box, Scene *s);
/* Finds the best place of the legend inside the panel; *place is its upper left
 * corner. Returns the length of ink that it covers. */
double draw_legend_place(const PlotPanel *p, const PanelBox *box, PlotArena *arena,
                         PlotPoint *place);
int legend_entries(const PlotPanel *p);
const char *draw_fit(Scene *s, const char *text, double *size,
                     double room); /* shrinks, then cuts with an ellipsis */

/* ---- contour.c, streamlines.c, perspective.c ----------------------------- */

#define PLOT_LEVELS 64
/* Gets the levels of a contour layer on this z axis, rising; at most
 * PLOT_LEVELS. */
int contour_levels(const PlotItem *it, const PlotSpan *z, double out[PLOT_LEVELS]);
/* Returns the colour index of the area from level k - 1 to level k, with k from
 * 0 (below all levels) to n. */
uint8_t contour_band(const PlotSpan *z, const double *levels, int n, int k);
void contour_draw(Scene *s, const PanelBox *box, const PlotItem *it);
void flow_draw(Scene *s, const PanelBox *box, const PlotItem *it);
void solid_draw(Scene *s, const PlotPanel *p, const PanelBox *box);

/* ---- svg.c, cairo.c, png.c, gif.c ---------------------------------------- */

/* As in replace_file.h, with a message in `error`. */
PlotStatus plot_file_open(FileReplacement *file, const char *path, char *error, size_t error_cap);
PlotStatus plot_file_close(FileReplacement *file, const char *path, int failed, char *error,
                           size_t error_cap);

#define CANNOT_DRAW "the picture cannot be drawn: %s" /* the message of PLOT_NO_LIBRARY */

typedef struct Raster {
	int width, height;
	uint8_t *rgb;      /* 3*width*height */
	const char *error; /* after a failure: the reason, or NULL when memory failed */
} Raster;
/* Draws on white. Returns false on failure. rgb belongs to the arena. */
bool raster_scene(const Scene *s, int width, int height, PlotArena *arena, Raster *out);

/* Draws the figure as pixels. The caller must free the arena, even after a
 * failure. */
PlotStatus figure_raster(Figure *f, int width, int height, PlotArena *arena, Raster *out);
/* Encodes a PNG. With palette NULL the pixels are rgb, 3 bytes each; else they
 * are 8-bit indices into 256 colours with alpha. Returns false when memory
 * fails. */
bool png_encode(const PlotAllocator *alloc, int width, int height, const uint8_t *pixels,
                const PlotColour *palette, PlotBuffer *out);

typedef struct PlotPart { /* a part of a frame */
	int x, y, width, height;
	const uint8_t *rgb; /* 3*width*height */
} PlotPart;
/* Opens giflib at the first call. Returns NULL, or why it is unavailable. */
const char *gif_open(void);
/* Begins a GIF after gif_open. What is written goes to `out`, which must stay
 * where it is until gif_end. NULL when memory fails. */
struct GifFileType *gif_begin(int width, int height, PlotBuffer *out);
/* Adds a frame, shown for `delay` hundredths of a second. The arena gets its
 * indices. Returns false when memory fails. */
bool gif_frame(struct GifFileType *gif, const PlotPart *p, int delay, PlotArena *arena);
/* Writes the end and frees it; NULL is allowed. */
void gif_end(struct GifFileType *gif);

#endif
