/* internal.h - what the files of repl/plot share: memory, texts, the figure's
 * records, axes, ticks, font, scene and raster.
 *
 * Needs: plot.h. Guarantees: included by repl/plot/ *.c only; nothing here is
 * visible to a user of plot.h.
 *
 * The road of a picture:  Figure --axes, ticks--> layout --> Scene (a list of
 * primitives) --> svg.c | raster.c + png.c
 *                         Figure --axes, ticks--> terminal.c (a grid of
 *                         character cells)
 * Lengths in a scene are units of 1/96 inch, x to the right, y down.
 */
#ifndef ATLED_REPL_PLOT_INTERNAL_H
#define ATLED_REPL_PLOT_INTERNAL_H

#include "repl/plot/plot.h"
#include "repl/base/replace_file.h"

#define PLOT_PI 3.14159265358979323846
#define PLOT_HUGE 1e307 /* samples beyond this are treated as infinite, so that no span overflows */

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

/* Memory that dies together. plot_take clears; it returns NULL and sets
 * `failed`, for good, when memory or the size fails. */
typedef struct PlotArena {
	const PlotAllocator *alloc;
	struct PlotBlock *blocks;
	bool failed;
} PlotArena;
void *plot_take(PlotArena *a, size_t count, size_t bytes);
/* "" on failure, never NULL */
const char *plot_take_text(PlotArena *a, const char *text, size_t n);
void plot_arena_free(PlotArena *a);

/* Growing bytes. After a failure `failed` stays set and puts do nothing. */
typedef struct PlotBuffer {
	const PlotAllocator *alloc;
	char *at;
	size_t n, cap;
	bool failed;
} PlotBuffer;
void plot_put(PlotBuffer *b, const void *bytes, size_t n);
void plot_puts(PlotBuffer *b, const char *text);
void plot_put_int(PlotBuffer *b, int64_t v);
/* no trailing zeros; any locale; |v| is cut at 1e9 */
void plot_put_fixed(PlotBuffer *b, double v, int decimals);
void plot_buffer_free(PlotBuffer *b);

/* the next character, 0 at the end; U+FFFD for a wrong byte */
uint32_t plot_utf8(const char **p);
size_t plot_utf8_write(uint32_t c, char out[4]); /* bytes written */
int plot_char_columns(uint32_t c);               /* 0, 1 or 2 columns of a terminal */

/* Walks a text with its ^{...} and _{...}: level is +1 in a raised group, -1 in
 * a lowered one, else 0. */
typedef struct PlotCursor {
	const char *at;
	int depth, groups; /* open braces; how many of them are remembered in level[] */
	int level[8];
	int at_depth[8];
} PlotCursor;
uint32_t plot_next(PlotCursor *c, int *level); /* 0 at the end */

/* A clean copy: valid UTF-8, no control characters, at most PLOT_LONGEST_TEXT
 * characters. NULL when memory fails. */
#define PLOT_LONGEST_TEXT 1000
char *plot_copy_text(const PlotAllocator *alloc, const char *text);
void plot_free_text(const PlotAllocator *alloc, char *text);

/* The whole file appears under `path`, or nothing changes. `error` receives the
 * reason. */
PlotStatus plot_write_file(const char *path, const void *bytes, size_t n, char *error,
                           size_t error_cap);

/* ---- figure.c: the records ----------------------------------------------- */

typedef struct PlotItem { /* a layer in its panel, with everything automatic decided */
	PlotKind kind;
	PlotSeries s;   /* s.label is owned */
	PlotLayer more; /* more.text is owned; more.s is not used */
	PlotDash dash;
	PlotMarker marker;
	int colour;
} PlotItem;

typedef struct PlotNames { /* ticks that the caller chose */
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
                  /* false: nothing was put into the panel, but into others,
                   * so its place stays empty */
                  int panel);

static inline double item_x(const PlotItem *it, size_t i) {
	return it->s.x ? it->s.x[(ptrdiff_t)i * it->s.x_step] : (double)i;
}
static inline double item_y(const PlotItem *it, size_t i) {
	return it->s.y[(ptrdiff_t)i * it->s.y_step];
}

bool panel_right(const PlotPanel *p); /* a layer is measured by the axis at the right */
/* something is shown by colour: the z axis has a meaning */
bool panel_coloured(const PlotPanel *p);
bool panel_has_bar(const PlotPanel *p); /* and the reader needs a colour bar for it */
bool panel_covered(const PlotPanel *p); /* the plot is filled to its edges: ticks point outward */
static inline size_t grid_at(const PlotField *g, size_t i, size_t j) {
	return (size_t)((ptrdiff_t)i * g->x_step + (ptrdiff_t)j * g->y_step);
}
static inline double grid_x(const PlotField *g, size_t i) { return g->x ? g->x[i] : (double)i; }
static inline double grid_y(const PlotField *g, size_t j) { return g->y ? g->y[j] : (double)j; }

/* ---- axes.c: ranges, and fields brought to a raster ---------------------- */

typedef struct PlotSpan {
	double lo, hi; /* lo < hi, both usable; positive when log */
	bool log, turned;
} PlotSpan;

typedef struct PlotAxes {
	PlotSpan axis[4];
	bool right;       /* there is a second y axis */
	PlotMap map;      /* decided; meaningful where panel_coloured */
	const char *note; /* what to say in an empty panel, or NULL */
	size_t left_out;  /* samples that are not positive, on a log axis */
} PlotAxes;

PlotStatus panel_axes(Figure *f, int panel, PlotAxes *out);
/* in units of the data, or of what is added to it */
double bar_width(const PlotItem *it, size_t i);
double bar_base(const PlotItem *it, size_t i);

/* Where v lies: 0 at the start of the axis, 1 at its end, beyond for values
 * outside (at most 1e6 away); NaN for a gap.
 */
double span_place(const PlotSpan *s, double v);

/* The panel's field on width*height samples, the first row at the high end of y
 * as drawn. NaN: a missing sample; infinite: outside of the field. */
bool field_resample(const PlotField *z, const PlotAxes *axes, PlotArena *arena, int width,
                    int height, double *out);

/* ---- ticks.c ------------------------------------------------------------- */

#define PLOT_TICKS 24
#define PLOT_MINOR_TICKS 400
typedef struct PlotTick {
	double at;
	char label[64]; /* "" when it has been thinned out */
} PlotTick;
typedef struct PlotTicks {
	int n, minors;
	PlotTick major[PLOT_TICKS]; /* rising, within [lo, hi] up to rounding */
	double minor[PLOT_MINOR_TICKS];
	/* what every label is to be multiplied by or added to, as "×10^{6}"; ""
	 * if nothing */
	char multiplier[160];
} PlotTicks;

/* A number as a label shows it: six figures, a true minus, powers of ten. */
void ticks_number(double v, char *out, size_t cap);
/* At most `most` (2 .. PLOT_TICKS) labelled ticks. */
void ticks_find(const PlotSpan *s, int most, PlotTicks *out);
/* Ticks that the caller chose, those on the axis; room: its length, to which
 * the texts are cut (0: not). */
void ticks_named(const PlotNames *names, const PlotSpan *span, double room, PlotTicks *out);

/* ---- colour.c ------------------------------------------------------------ */

#define PLOT_MAP_COLOURS 253 /* an odd number, so that a diverging map has a middle */
#define PLOT_MAP_MISSING 254 /* a sample that is NaN or infinite: grey */
#define PLOT_MAP_OUTSIDE 255 /* beyond the field: transparent */
PlotColour plot_series_colour(int index);
void plot_map_colours(PlotMap map, PlotColour table[256]);
uint8_t plot_map_index(const PlotSpan *z, double v); /* of a resampled value */
/* the nearest of the 240 fixed colours of a terminal */
void plot_map_ansi(PlotMap map, int16_t table[256]);
int plot_ansi_series(int index); /* readable on dark and on light ground */
int plot_ansi_nearest(PlotColour c);
PlotColour plot_shade(PlotColour c, double light); /* light < 1: darker, > 1: mixed with white */

/* ---- font.c, glyphs.c: texts as strokes ---------------------------------- */

typedef struct PlotGlyph {
	uint32_t code;
	uint8_t advance;    /* in hundredths of the size */
	const char *stroke; /* see glyphs.c */
} PlotGlyph;
const PlotGlyph *glyph_find(uint32_t code);
/* What a character is made of when it has no strokes of its own. */
typedef struct PlotGlyphAlias {
	uint32_t code, base, accent; /* accent 0: none */
	int8_t level;                /* +1: a small raised base; -1: a small lowered one */
} PlotGlyphAlias;
const PlotGlyphAlias *glyph_alias(uint32_t code);

double font_width(const char *text, double size);
/* Sends every piece of every stroke, in the coordinates of the baseline: start
 * of the text at (0, 0), y down. */
/* weight: thickness of the piece over that of normal letters. */
typedef void (*PlotPiece)(void *ud, PlotPoint a, PlotPoint b, double weight);
void font_strokes(const char *text, double size, double pixels_per_unit, PlotPiece piece, void *ud);
#define FONT_STEM 0.082 /* thickness of a stroke over the size */
#define FONT_STEM_BOLD 0.108
#define FONT_SCRIPT 0.72 /* size of raised and lowered text */
#define FONT_RAISE 0.36  /* how far, over the size */
#define FONT_LOWER 0.16
#define FONT_CAP 0.72 /* height of capitals and digits */

/* ---- scene.c ------------------------------------------------------------- */

typedef enum PrimKind { PRIM_LINE, PRIM_POLYGON, PRIM_MARKERS, PRIM_TEXT, PRIM_IMAGE } PrimKind;
typedef enum PlotAnchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } PlotAnchor;

typedef struct Prim {
	struct Prim *next;
	PrimKind kind;
	const PlotRect *clip; /* NULL: the whole picture */
	int clip_number;      /* counts the clips of the scene from 1; 0 with NULL */
	PlotColour colour;
	const PlotPoint *points; /* line, polygon, markers; text: one point on the baseline */
	size_t n;
	double size; /* line: width; markers: width; text: size */
	PlotDash dash;
	PlotMarker marker;
	const char *text;
	PlotAnchor anchor;
	bool bold;
	double angle;  /* text: counter-clockwise, in degrees: 90 reads from bottom to top */
	PlotRect rect; /* image: where */
	int width, height;
	const uint8_t *index;      /* image: width*height */
	const PlotColour *palette; /* 256 */
} Prim;

typedef struct Scene {
	PlotArena arena;
	double width, height;
	double resolution; /* pixels per unit that images are made for and fine lines are aligned to */
	const char *title;
	Prim *first, *last;
	const PlotRect *clip;
	int clips, clip_number;
} Scene;

/* Points are copied, images borrowed. scene_clip holds for what follows, NULL
 * ends it; scene_bold: the last text. */
void scene_clip(Scene *s, const PlotRect *rect);
void scene_line(Scene *s, const PlotPoint *points, size_t n, double width, PlotColour c,
                PlotDash dash);
void scene_segment(Scene *s, double x0, double y0, double x1, double y1, double width,
                   PlotColour c);
/* The inside by the rule of alternate crossings; a point of NaN ends a ring and
 * begins the next. */
void scene_polygon(Scene *s, const PlotPoint *points, size_t n, PlotColour c);
/* whether the point is inside, by that rule */
bool prim_holds(const Prim *polygon, double x, double y);
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
void scene_image(Scene *s, PlotRect r, int width, int height, const uint8_t *index,
                 const PlotColour *palette);

/* Lengths of ink and gap over the line's width; returns how many (0: solid).
 * Ends are round, so ink reaches half a width further. */
int plot_dash_pattern(PlotDash dash, double out[4]);
/* The outline of a marker of width 1 around 0; returns the corners (0: it is
 * made of lines, see marker_bars). */
#define PLOT_MARKER_CORNERS 32
int plot_marker_outline(PlotMarker m, PlotPoint out[PLOT_MARKER_CORNERS]);
int plot_marker_bars(PlotMarker m, PlotPoint out[4]); /* pairs of ends; returns the points */
/* width of the white line around it; 0 for small ones */
double plot_marker_edge(double width);

/* ---- layout.c, draw.c: a figure becomes a scene -------------------------- */

/* The scene's arena is to be freed whatever is returned. */
PlotStatus figure_scene(Figure *f, double width, double height, double resolution, Scene *out);

/* What layout.c and draw.c agree on. */
typedef struct PlotStyle {
	double title, heading, label, tick, legend; /* sizes of texts */
	/* lengths of ticks, widths of lines, marker width */
	double major, minor, axis, line, marker;
	/* legend sample, legend padding, colour bar width and distance */
	double swatch, pad, bar, bar_gap;
} PlotStyle;
extern const PlotStyle plot_style;

typedef struct PanelBox {
	PlotAxes axes;
	PlotTicks x, y, y2, z;
	double left, right, top, bottom; /* margins wanted around the plot */
	double z_width;                  /* of the colour bar with its texts */
	double y2_width;                 /* of the ticks and texts at the right */
	double legend_width, legend_height;
	/* from the plot's lower edge to the baselines of x label and x
	 * multiplier */
	double label_drop, factor_drop;
	double note_drop; /* and of the note on samples that are left out; 0: none */
	char note[80];
	bool outside; /* the legend stands beside the panel */
	PlotRect plot;
} PanelBox;
/* The box as the layer sees it, which may be measured by the axis at the right:
 * `box` itself, or `own`. */
const PanelBox *draw_box(const PanelBox *box, const PlotItem *it, PanelBox *own);
/* Where a sample stands in box->plot; NaN in a coordinate is a gap. */
PlotPoint draw_place(const PanelBox *box, double x, double y);
/* Sends a series as points joined by lines, cut off a little outside of the
 * plot; `start` begins a new run. */
typedef void (*PlotTrace)(void *ud, PlotPoint p, bool start);
void draw_trace(const PanelBox *box, const PlotItem *it, PlotTrace to, void *ud);
/* Everything of the layers that lies under the frame, and what lies over it. */
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
/* Length of ink inside the legend at its best place within the panel; *place
 * receives the upper left corner. */
double draw_legend_place(const PlotPanel *p, const PanelBox *box, PlotArena *arena,
                         PlotPoint *place);
int legend_entries(const PlotPanel *p);
const char *draw_fit(PlotArena *arena, const char *text, double *size,
                     double room); /* shrinks, then cuts with an ellipsis */

/* ---- contour.c, streamlines.c, perspective.c: layers with an algorithm ---- */

#define PLOT_LEVELS 64
/* The levels of a contour layer on this z axis, rising; at most PLOT_LEVELS. */
int contour_levels(const PlotItem *it, const PlotSpan *z, double out[PLOT_LEVELS]);
/* The colour index of the area from level k - 1 to level k, k from 0 (below
 * all) to n. */
uint8_t contour_band(const PlotSpan *z, const double *levels, int n, int k);
void contour_draw(Scene *s, const PanelBox *box, const PlotItem *it);
void flow_draw(Scene *s, const PanelBox *box, const PlotItem *it);
void solid_draw(Scene *s, const PlotPanel *p, const PanelBox *box);

/* ---- svg.c, raster.c, png.c ---------------------------------------------- */

/* Those of replace_file.h, with what went wrong in words. */
PlotStatus plot_file_open(FileReplacement *file, const char *path, char *error, size_t error_cap);
PlotStatus plot_file_close(FileReplacement *file, const char *path, int failed, char *error,
                           size_t error_cap);

typedef struct Raster {
	int width, height;
	uint8_t *rgb; /* 3*width*height, white at first */
} Raster;
/* False when memory fails. rgb comes from the arena. */
bool raster_scene(const Scene *s, int width, int height, PlotArena *arena, Raster *out);

/* The figure as pixels; the arena of the raster is to be freed whatever is
 * returned. */
PlotStatus figure_raster(Figure *f, int width, int height, PlotArena *arena, Raster *out);
/* PNG bytes: palette NULL: rgb, 3 bytes a pixel; else 8-bit indices into 256
 * colours, with alpha. False when memory fails. */
bool png_encode(const PlotAllocator *alloc, int width, int height, const uint8_t *pixels,
                const PlotColour *palette, PlotBuffer *out);

#endif
